//! A page of a streamed history. While it is read each exchange is written as it goes out, so that a page is one piece of memory and not as many as
//! it has texts. It must not know what a page is of.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::encoding::{DecodeContext, WireType, encode_key, encode_varint, encoded_len_varint, key_len, message};
use prost::{DecodeError, Message};

use super::pb::InspectResponse;

/// The number of the only field.
const PAGE: u32 = 1;

/// The next page (`antiphon.v1.StreamInspectResponse`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamInspectResponse {
    /// What of it was given as it is, or everything where it was received.
    pub page: Option<InspectResponse>,
    /// What more it has, written already.
    more: Bytes,
}

impl StreamInspectResponse {
    /// A page, and parts of it that are written already.
    pub(super) fn new(page: InspectResponse, more: Parts) -> Self {
        Self { page: Some(page), more: more.0.freeze() }
    }

    fn page_len(&self) -> Option<usize> {
        let page = self.page.as_ref().map(Message::encoded_len);
        (page.is_some() || !self.more.is_empty()).then(|| page.unwrap_or_default() + self.more.len())
    }
}

/// Parts of a page as they go out: a page is what its parts say, one after the other.
#[derive(Default)]
pub(super) struct Parts(BytesMut);

impl Parts {
    /// One more.
    pub(super) fn push(&mut self, part: &InspectResponse, len: usize) {
        self.0.reserve(len);
        part.encode_raw(&mut self.0);
    }
}

impl Message for StreamInspectResponse {
    fn encode_raw(&self, buffer: &mut impl BufMut) {
        let Some(len) = self.page_len() else { return };
        encode_key(PAGE, WireType::LengthDelimited, buffer);
        encode_varint(len as u64, buffer);
        if let Some(page) = &self.page {
            page.encode_raw(buffer);
        }
        buffer.put_slice(&self.more);
    }

    fn merge_field(
        &mut self,
        number: u32,
        wire_type: WireType,
        buffer: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        match number {
            PAGE => message::merge(wire_type, self.page.get_or_insert_default(), buffer, context),
            _ => prost::encoding::skip_field(wire_type, number, buffer, context),
        }
    }

    fn encoded_len(&self) -> usize {
        self.page_len().map_or(0, |len| key_len(PAGE) + encoded_len_varint(len as u64) + len)
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grpc::pb;

    fn part(number: u64) -> InspectResponse {
        let text = pb::part::Kind::Text(pb::TextPart { text: "word ".repeat(70) });
        let said = pb::Message { parts: vec![pb::Part { kind: Some(text), ..Default::default() }], role: 1 };
        let step = pb::PathStep { exchange_id: number.to_string(), turn: number, ..Default::default() };
        InspectResponse { messages: vec![said.clone(), said], path: vec![step], ..Default::default() }
    }

    #[test]
    fn parts_are_read_as_one_page() {
        let mut expected = InspectResponse { exchange: Some(pb::Exchange::default()), ..Default::default() };
        let begin = expected.clone();
        let mut parts = Parts::default();
        for number in 1..4 {
            let part = part(number);
            parts.push(&part, part.encoded_len());
            expected.messages.extend(part.messages);
            expected.path.extend(part.path);
        }
        let written = StreamInspectResponse::new(begin, parts).encode_to_vec();
        let whole = StreamInspectResponse { page: Some(expected), more: Bytes::new() };
        assert_eq!(StreamInspectResponse::decode(written.as_slice()).unwrap(), whole);
        assert_eq!(written.len(), whole.encoded_len());
        // Fields of a later version are passed over, as everywhere.
        let later = [written.as_slice(), &[0x10, 7]].concat();
        assert_eq!(StreamInspectResponse::decode(later.as_slice()).unwrap(), whole);
        assert!(StreamInspectResponse::default().encode_to_vec().is_empty());
        let empty = StreamInspectResponse { page: Some(InspectResponse::default()), more: Bytes::new() };
        assert_eq!(StreamInspectResponse::decode(empty.encode_to_vec().as_slice()).unwrap(), empty);
        assert!(StreamInspectResponse::decode(&written[..written.len() - 1]).is_err());
    }
}
