//! JSON values that follow one another, each ending with its line: what some servers stream instead of events. A value may be printed over
//! several lines. It works on bytes; it must not know what the values mean.

use super::sse::{Event, TooLong};

/// Takes bytes as they come and gives values as they are whole.
#[derive(Debug)]
pub(crate) struct Lines {
    max_bytes: usize,
    value: Vec<u8>,
    depth: usize,
    in_text: bool,
    escaped: bool,
}

impl Lines {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, value: Vec::new(), depth: 0, in_text: false, escaped: false }
    }

    /// Takes the next bytes; appends each value whose line they end.
    ///
    /// # Errors
    /// When a value is over the limit.
    pub(crate) fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), TooLong> {
        for byte in bytes {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_text => self.escaped = true,
                b'"' => self.in_text = !self.in_text,
                _ if self.in_text => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                b'\n' | b'\r' if self.depth == 0 => {
                    self.end(events);
                    continue;
                }
                _ => {}
            }
            if self.value.len() >= self.max_bytes {
                return Err(TooLong);
            }
            self.value.push(*byte);
        }
        Ok(())
    }

    /// The stream is over; the last line need not end.
    pub(crate) fn finish(&mut self, events: &mut Vec<Event>) {
        self.end(events);
    }

    fn end(&mut self, events: &mut Vec<Event>) {
        let data = std::mem::take(&mut self.value);
        (self.depth, self.in_text, self.escaped) = (0, false, false);
        if !data.trim_ascii().is_empty() {
            events.push(Event { name: Vec::new(), data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(reads: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::new(100);
        let mut events = Vec::new();
        for read in reads {
            lines.feed(read, &mut events).unwrap();
        }
        lines.finish(&mut events);
        events.into_iter().map(|event| String::from_utf8(event.data).unwrap()).collect()
    }

    #[test]
    fn a_value_ends_with_its_line_wherever_reads_end() {
        assert_eq!(
            values(&[b"{\"a\":1}\n{\"b\"", b":2}\r\n", b"\n{\"c\":3}"]),
            ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"]
        );
    }

    #[test]
    fn a_value_over_several_lines_is_one_and_brackets_in_texts_are_text() {
        assert_eq!(values(&[b"{\n \"a\": \"]}\\\"\"\n}\n{}\n"]), ["{\n \"a\": \"]}\\\"\"\n}", "{}"]);
    }

    #[test]
    fn a_value_over_the_limit_is_refused() {
        let mut lines = Lines::new(4);
        assert_eq!(lines.feed(b"[12\n]3", &mut Vec::new()), Err(TooLong));
    }
}
