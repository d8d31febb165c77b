//! How messages are put on the wire: as tonic does it, with smaller buffers to begin with. Thousands of streams that wait keep theirs, and a
//! larger message makes them grow. It must not know what messages say.

use std::marker::PhantomData;

use prost::Message;
use tonic::codec::{BufferSettings, Codec};
use tonic_prost::ProstCodec;

/// What a buffer begins with, in bytes.
const BUFFER: usize = 1024;
/// Bytes of messages that are ready after which they are sent.
const FULL: usize = 32 * 1024;

/// Messages of protobuf.
#[derive(Clone, Copy, Debug)]
pub struct Protobuf<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for Protobuf<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T: Message + Send + 'static, U: Message + Default + Send + 'static> Codec for Protobuf<T, U> {
    type Encode = T;
    type Decode = U;
    type Encoder = <ProstCodec<T, U> as Codec>::Encoder;
    type Decoder = <ProstCodec<T, U> as Codec>::Decoder;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<T, U>::raw_encoder(BufferSettings::new(BUFFER, FULL))
    }

    fn decoder(&mut self) -> Self::Decoder {
        ProstCodec::<T, U>::raw_decoder(BufferSettings::new(BUFFER, FULL))
    }
}
