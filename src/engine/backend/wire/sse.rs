//! Server-sent events from bytes (WHATWG HTML, 9.2.6). It works on bytes and gives bytes: where one read ends says nothing about lines or
//! characters. It must not know what events mean.

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// The field `event`; empty when there was none.
    pub(crate) name: Vec<u8>,
    /// The fields `data`, joined with line feeds.
    pub(crate) data: Vec<u8>,
}

/// An event grew over the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Takes bytes as they come and gives events as they are whole.
#[derive(Debug)]
pub(crate) struct Decoder {
    max_event_bytes: usize,
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    at_start: bool,
    after_cr: bool,
}

const BOM: &[u8] = b"\xef\xbb\xbf";

impl Decoder {
    pub(crate) fn new(max_event_bytes: usize) -> Self {
        Self {
            max_event_bytes,
            line: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            at_start: true,
            after_cr: false,
        }
    }

    /// Takes the next bytes; appends each event that they complete.
    ///
    /// # Errors
    /// When an event is over the limit; nothing is kept of it.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], events: &mut Vec<Event>) -> Result<(), TooLong> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr)
                && let Some(rest) = bytes.strip_prefix(b"\n")
            {
                bytes = rest;
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', bytes);
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            if self.line.len() + self.data.len() + part.len() > self.max_event_bytes {
                return Err(TooLong);
            }
            self.line.extend_from_slice(part);
            match rest.split_first() {
                None => break,
                Some((ending, rest)) => {
                    self.after_cr = *ending == b'\r';
                    bytes = rest;
                    self.end_line(events);
                }
            }
        }
        Ok(())
    }

    /// The stream is over. An event whose last blank line is missing is given all the same: many servers leave it out after the last one.
    pub(crate) fn finish(&mut self, events: &mut Vec<Event>) {
        if !self.line.is_empty() {
            self.end_line(events);
        }
        self.dispatch(events);
    }

    fn end_line(&mut self, events: &mut Vec<Event>) {
        let line = std::mem::take(&mut self.line);
        let mut rest = line.as_slice();
        if std::mem::take(&mut self.at_start) {
            rest = rest.strip_prefix(BOM).unwrap_or(rest);
        }
        if rest.is_empty() {
            self.dispatch(events);
            return;
        }
        let (field, value) = match memchr::memchr(b':', rest) {
            Some(colon) => (rest.get(..colon).unwrap_or_default(), rest.get(colon + 1..).unwrap_or_default()),
            None => (rest, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => self.name = value.to_vec(),
            // Comments (no name before the colon), ids, retry delays and fields to come.
            _ => {}
        }
    }

    fn dispatch(&mut self, events: &mut Vec<Event>) {
        let name = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        if std::mem::take(&mut self.has_data) {
            events.push(Event { name, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(reads: &[&[u8]]) -> Vec<(String, String)> {
        let mut decoder = Decoder::new(1_000);
        let mut events = Vec::new();
        for read in reads {
            decoder.feed(read, &mut events).unwrap();
        }
        decoder.finish(&mut events);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        events.into_iter().map(|event| (text(event.name), text(event.data))).collect()
    }

    fn data(reads: &[&[u8]]) -> Vec<String> {
        decode(reads).into_iter().map(|(_, data)| data).collect()
    }

    #[test]
    fn every_line_end_is_one() {
        assert_eq!(data(&[b"data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d"]), ["a", "b", "c", "d"]);
    }

    #[test]
    fn cr_and_lf_in_two_reads_are_one_line_end() {
        assert_eq!(data(&[b"data: a\r", b"\n", b"data: b\r", b"\n\r", b"\ndata: c\r\n\r", b"\n"]), ["a\nb", "c"]);
    }

    #[test]
    fn comments_and_blank_lines_dispatch_nothing() {
        assert_eq!(data(&[b": ping\n\n:\n\nid: 1\nretry: 5\n\ndata: a\n\n: bye\n\n"]), ["a"]);
    }

    #[test]
    fn the_space_after_the_colon_is_optional_and_only_one_goes() {
        assert_eq!(data(&[b"data:a\n\ndata:  b\n\ndata\n\n"]), ["a", " b", ""]);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_field() {
        assert_eq!(data(&[b"\xef\xbb", b"\xbfdata: a\n\n"]), ["a"]);
    }

    #[test]
    fn names_belong_to_one_event() {
        let events = decode(&[b"event: error\ndata: a\n\ndata: b\n\n"]);
        assert_eq!(events, [("error".to_owned(), "a".to_owned()), (String::new(), "b".to_owned())]);
    }

    #[test]
    fn an_event_over_the_limit_is_refused_before_it_is_held() {
        let mut decoder = Decoder::new(10);
        let mut events = Vec::new();
        assert_eq!(decoder.feed(b"data: 1234", &mut events), Ok(()));
        assert_eq!(decoder.feed(b"5", &mut events), Err(TooLong));
        let mut decoder = Decoder::new(10);
        assert_eq!(decoder.feed(b"data: 123\ndata: 456\n", &mut events), Err(TooLong));
        assert_eq!(events, []);
    }

    proptest! {
        #[test]
        fn where_reads_end_changes_nothing(
            pieces in proptest::collection::vec(
                proptest::sample::select(vec!["data: x", "data:世", "\n", "\r", "\r\n", ": c", "event: e", "\u{feff}", "\n\n"]),
                0..30,
            ),
            cuts in proptest::collection::vec(1_usize..6, 1..40),
        ) {
            let whole = pieces.concat();
            let bytes = whole.as_bytes();
            let mut reads = Vec::new();
            let mut rest = bytes;
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (read, after) = rest.split_at((*cut).min(rest.len()));
                reads.push(read);
                rest = after;
            }
            prop_assert_eq!(decode(&reads), decode(&[bytes]));
        }
    }
}
