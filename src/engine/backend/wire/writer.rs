//! Writes JSON byte by byte, so that what a caller or a model wrote goes out as it was written and never through a number type. It must
//! not know what it writes.

use super::reader;

/// JSON under way.
pub(crate) struct Writer {
    out: Vec<u8>,
    fresh: bool,
    /// An escape that stands for no character was replaced.
    mended: bool,
}

impl Writer {
    pub(crate) fn new() -> Self {
        Self { out: Vec::new(), fresh: true, mended: false }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// Bytes written so far.
    pub(crate) fn len(&self) -> usize {
        self.out.len()
    }

    pub(crate) fn object(&mut self, fill: impl FnOnce(&mut Self)) {
        self.open(b'{');
        fill(self);
        self.close(b'}');
    }

    pub(crate) fn array(&mut self, fill: impl FnOnce(&mut Self)) {
        self.open(b'[');
        fill(self);
        self.close(b']');
    }

    /// The beginning of an object or array, for where a closure would be in the way.
    pub(crate) fn open(&mut self, bracket: u8) {
        self.separate();
        self.out.push(bracket);
        self.fresh = true;
    }

    pub(crate) fn close(&mut self, bracket: u8) {
        self.out.push(bracket);
        self.fresh = false;
    }

    /// The name of the next value.
    pub(crate) fn key(&mut self, key: &str) -> &mut Self {
        self.text(key);
        self.out.push(b':');
        self.fresh = true;
        self
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.separate();
        self.out.push(b'"');
        self.escape(text);
        self.out.push(b'"');
    }

    /// One text of several.
    pub(crate) fn joined<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) {
        self.separate();
        self.out.push(b'"');
        texts.into_iter().for_each(|text| self.escape(text));
        self.out.push(b'"');
    }

    /// `data:TYPE;base64,BYTES` as one text.
    pub(crate) fn data_url(&mut self, media_type: &str, bytes: &[u8]) {
        self.separate();
        self.out.push(b'"');
        self.escape("data:");
        self.escape(media_type);
        self.escape(";base64,");
        self.base64(bytes);
        self.out.push(b'"');
    }

    /// Bytes in base64, as one text.
    pub(crate) fn base64_text(&mut self, bytes: &[u8]) {
        self.separate();
        self.out.push(b'"');
        self.base64(bytes);
        self.out.push(b'"');
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.token(if value { "true" } else { "false" });
    }

    pub(crate) fn null(&mut self) {
        self.token("null");
    }

    /// JSON that was checked before; escapes that stand for no character are replaced, because strict readers refuse a body with one.
    pub(crate) fn json(&mut self, json: &str) {
        match reader::mend(json) {
            Some(mended) => {
                self.mended = true;
                self.token(mended.trim());
            }
            None => self.token(json.trim()),
        }
    }

    /// Escapes that stand for no character were replaced.
    pub(crate) fn has_mended(&self) -> bool {
        self.mended
    }

    /// What another one wrote, as a value.
    pub(crate) fn value_of(&mut self, other: Self) {
        self.separate();
        self.out.extend_from_slice(&other.out);
        self.mended |= other.mended;
    }

    /// A number, as its own text.
    pub(crate) fn number(&mut self, number: impl std::fmt::Display) {
        self.token(&number.to_string());
    }

    fn token(&mut self, token: &str) {
        self.separate();
        self.out.extend_from_slice(token.as_bytes());
    }

    fn separate(&mut self) {
        if !self.fresh {
            self.out.push(b',');
        }
        self.fresh = false;
    }

    fn escape(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                b'"' => self.out.extend_from_slice(b"\\\""),
                b'\\' => self.out.extend_from_slice(b"\\\\"),
                b'\n' => self.out.extend_from_slice(b"\\n"),
                b'\r' => self.out.extend_from_slice(b"\\r"),
                b'\t' => self.out.extend_from_slice(b"\\t"),
                0..=0x1f => self.out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                _ => self.out.push(byte),
            }
        }
    }

    fn base64(&mut self, bytes: &[u8]) {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        for group in bytes.chunks(3) {
            let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
            let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
            for (place, shift) in [18, 12, 6, 0].into_iter().enumerate() {
                let digit = DIGITS.get((bits >> shift & 63) as usize).copied().unwrap_or(b'=');
                self.out.push(if place <= group.len() { digit } else { b'=' });
            }
        }
    }
}

/// A text as JSON.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = Writer::new();
    out.text(text);
    String::from_utf8_lossy(&out.into_bytes()).into_owned()
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn commas_stand_between_and_nowhere_else() {
        let mut out = Writer::new();
        out.object(|out| {
            out.key("a").array(|out| {
                out.text("x");
                out.null();
                out.object(|_| {});
            });
            out.key("b").bool(true);
            out.key("c").json(" 9007199254740993 ");
        });
        assert_eq!(out.into_bytes(), br#"{"a":["x",null,{}],"b":true,"c":9007199254740993}"#);
    }

    proptest! {
        #[test]
        fn any_text_is_read_back_as_it_was(text: String) {
            let mut out = Writer::new();
            out.text(&text);
            prop_assert_eq!(serde_json::from_slice::<String>(&out.into_bytes()).unwrap(), text);
        }

        #[test]
        fn any_bytes_are_read_back_as_they_were(bytes: Vec<u8>) {
            let mut out = Writer::new();
            out.data_url("image/png", &bytes);
            let url: String = serde_json::from_slice(&out.into_bytes()).unwrap();
            let data = url.strip_prefix("data:image/png;base64,").unwrap();
            prop_assert_eq!(base64::engine::general_purpose::STANDARD.decode(data).unwrap(), bytes);
        }
    }
}
