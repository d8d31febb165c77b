//! gRPC by hand over HTTP/2, for what the usual client does not let through: its own timers, broken frames. It must not know any message.

use std::net::SocketAddr;

use bytes::{Buf, BufMut};
use prost::Message;
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Channel;

use super::server::Running;

/// A message in its frame.
pub(crate) fn frame(message: &impl Message) -> Vec<u8> {
    let body = message.encode_to_vec();
    let mut framed = vec![0];
    framed.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
    framed.extend(body);
    framed
}

/// The error of a call that is refused before it answers anything.
pub(crate) async fn refused(server: &Running, rpc: &str, message: &impl Message, headers: &[(&str, &str)]) -> Status {
    refused_at(server.address(), rpc, frame(message), headers).await
}

/// The same for any bytes.
pub(crate) async fn refused_bytes(server: &Running, rpc: &str, bytes: Vec<u8>, headers: &[(&str, &str)]) -> Status {
    refused_at(server.address(), rpc, bytes, headers).await
}

/// The same for a server that is a process of its own.
pub(crate) async fn refused_at(address: SocketAddr, rpc: &str, bytes: Vec<u8>, headers: &[(&str, &str)]) -> Status {
    let client = reqwest::Client::builder().http2_prior_knowledge().no_proxy().build().unwrap();
    let url = format!("http://{address}/antiphon.v1.{rpc}");
    let mut request = client.post(url).header("content-type", "application/grpc").header("te", "trailers");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = request.body(bytes).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    Status::from_header_map(answer.headers()).expect("an answer that is only a status")
}

/// Bytes as they are, for messages that are known by name only.
#[derive(Clone, Default)]
struct Bytes;

impl Codec for Bytes {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        into.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining()).to_vec()))
    }
}

/// Every answer to a call of any kind, such as `ThreadService/Get`, until it ends; with these headers.
pub(crate) async fn call(
    channel: Channel,
    rpc: &str,
    messages: Vec<Vec<u8>>,
    headers: &[(&'static str, &str)],
) -> Result<Vec<Vec<u8>>, Status> {
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.expect("a server that listens");
    let mut request = tonic::Request::new(tokio_stream::iter(messages));
    for (name, value) in headers {
        request.metadata_mut().insert(*name, value.parse().unwrap());
    }
    let path = format!("/antiphon.v1.{rpc}").parse().unwrap();
    let mut answers = client.streaming(request, path, Bytes).await?.into_inner();
    let mut all = Vec::new();
    while let Some(answer) = answers.message().await? {
        all.push(answer);
    }
    Ok(all)
}
