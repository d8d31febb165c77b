//! Reads JSON that others wrote: level by level over the raw text, so that nothing recurses, numbers keep their digits, and fields of
//! unexpected types harm nobody. It must not know what the fields mean.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// JSON nested deeper is not valid for us. One less than what `serde_json` reads into a tree, so that whoever comes after can.
pub(crate) const MAX_DEPTH: usize = 127;

/// The text of some bytes, and whether anything in it had to be replaced: bytes that are no UTF-8, and escapes of half a character.
pub(crate) fn clean(bytes: &[u8]) -> (Cow<'_, str>, bool) {
    let text = String::from_utf8_lossy(bytes);
    let mut replaced = matches!(text, Cow::Owned(_));
    let text = match mend(&text) {
        Some(mended) => {
            replaced = true;
            Cow::Owned(mended)
        }
        None => text,
    };
    (text, replaced)
}

/// JSON text in which each escape of half a character (a lone surrogate) is the replacement character instead; absent when there is none.
pub(crate) fn mend(json: &str) -> Option<String> {
    let bytes = json.as_bytes();
    let mut out = String::new();
    let mut kept = 0;
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += found;
        let Some(unit) = escaped_unit(bytes, at) else {
            // A pair of a backslash and what it escapes, so that `\\ud800` is read as what it is.
            at += 2;
            continue;
        };
        let is_pair = (0xD800..0xDC00).contains(&unit)
            && escaped_unit(bytes, at + 6).is_some_and(|second| (0xDC00..0xE000).contains(&second));
        if is_pair {
            at += 12;
            continue;
        }
        if (0xD800..0xE000).contains(&unit) {
            out.push_str(json.get(kept..at)?);
            out.push_str("\\ufffd");
            kept = at + 6;
        }
        at += 6;
    }
    if kept == 0 {
        return None;
    }
    out.push_str(json.get(kept..)?);
    Some(out)
}

fn escaped_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, byte| Some(unit << 4 | (*byte as char).to_digit(16)?))
}

/// The JSON is nested deeper than so many levels.
pub(crate) fn is_deeper(json: &str, levels: usize) -> bool {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => {
                depth += 1;
                if depth > levels {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// It is one JSON value, not nested too deeply.
pub(crate) fn is_json(text: &str) -> bool {
    !is_deeper(text, MAX_DEPTH) && serde_json::from_str::<&RawValue>(text).is_ok()
}

/// It is one JSON object, not nested too deeply.
pub(crate) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && is_json(text)
}

/// A value, not looked into yet.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a>(&'a str);

impl<'a> Value<'a> {
    /// The value that a text is; absent when it is none.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        serde_json::from_str::<&RawValue>(text).ok().map(|raw| Self(raw.get()))
    }

    /// As it was written.
    pub(crate) fn raw(self) -> &'a str {
        self.0
    }

    pub(crate) fn text(self) -> Option<String> {
        if self.0.starts_with('"') { serde_json::from_str(self.0).ok() } else { None }
    }

    /// A text, or anything else as it was written.
    pub(crate) fn text_or_raw(self) -> String {
        self.text().unwrap_or_else(|| self.0.to_owned())
    }

    pub(crate) fn object(self) -> Option<Object<'a>> {
        if self.0.starts_with('{') { serde_json::from_str(self.0).ok() } else { None }
    }

    pub(crate) fn array(self) -> Option<Vec<Value<'a>>> {
        if !self.0.starts_with('[') {
            return None;
        }
        let items: Vec<&RawValue> = serde_json::from_str(self.0).ok()?;
        Some(items.into_iter().map(|raw| Value(raw.get())).collect())
    }

    /// A whole number that is not negative, however it is spelt: 12, 12.0, 1.2e1.
    pub(crate) fn count(self) -> Option<u64> {
        if let Ok(count) = self.0.parse() {
            return Some(count);
        }
        // Above 2^53 a float no longer says which whole number it is.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let float: f64 = self.0.parse().ok()?;
        if !(0.0..=EXACT).contains(&float) || float.fract() != 0.0 {
            return None;
        }
        format!("{float:.0}").parse().ok()
    }

    fn is_null(self) -> bool {
        self.0 == "null"
    }
}

/// The fields of an object, in order.
#[derive(Clone, Debug)]
pub struct Object<'a>(Vec<(String, Value<'a>)>);

impl<'a> Object<'a> {
    /// The field of a name; a null is as good as absent, and of several the last counts.
    pub(crate) fn get(&self, name: &str) -> Option<Value<'a>> {
        let found = self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value);
        found.filter(|value| !value.is_null())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.text()
    }

    pub(crate) fn object(&self, name: &str) -> Option<Object<'a>> {
        self.get(name)?.object()
    }

    pub(crate) fn array(&self, name: &str) -> Option<Vec<Value<'a>>> {
        self.get(name)?.array()
    }

    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        self.get(name)?.count()
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, Value<'a>)> {
        self.0.iter().map(|(key, value)| (key.as_str(), *value))
    }
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some((key, raw)) = map.next_entry::<String, &RawValue>()? {
                    fields.push((key, Value(raw.get())));
                }
                Ok(Object(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_counts_however_they_are_spelt() {
        for (text, count) in [
            ("12", Some(12)),
            ("12.0", Some(12)),
            ("1.2e1", Some(12)),
            ("18446744073709551615", Some(u64::MAX)),
            ("-1", None),
            ("1.5", None),
            ("1e400", None),
            ("\"12\"", None),
        ] {
            assert_eq!(Value::parse(text).unwrap().count(), count, "{text}");
        }
    }

    #[test]
    fn a_null_is_absent_and_the_last_of_two_fields_counts() {
        let object = Value::parse(r#"{"a":null,"b":1,"b":2,"c":{"d":[1e400]}}"#).unwrap().object().unwrap();
        assert!(object.get("a").is_none());
        assert_eq!(object.count("b"), Some(2));
        assert_eq!(object.object("c").unwrap().array("d").unwrap()[0].raw(), "1e400");
    }

    #[test]
    fn half_characters_are_replaced_and_whole_ones_are_not() {
        assert_eq!(mend(r#""a\ud83d\ude00b""#), None);
        assert_eq!(mend(r#""a\ud83db""#).unwrap(), r#""a\ufffdb""#);
        assert_eq!(mend(r#""\ude00\ud83d\ud83d\ude00""#).unwrap(), r#""\ufffd\ufffd\ud83d\ude00""#);
        assert_eq!(mend(r#""\\ud83d""#), None, "an escaped backslash and four letters");
        assert_eq!(mend(r#""\\\ud83d""#).unwrap(), r#""\\\ufffd""#);
        assert_eq!(mend("\"\\"), None);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_said_so() {
        let (text, replaced) = clean(b"\"bad \xff\"");
        assert_eq!((text.as_ref(), replaced), ("\"bad \u{fffd}\"", true));
        assert!(!clean("\"世界\u{fffd}\"".as_bytes()).1, "one that was sent as such is not ours");
    }

    #[test]
    fn depth_is_counted_outside_of_texts_and_without_recursion() {
        assert!(!is_deeper(&"[".repeat(127), 127));
        assert!(is_deeper(&"[".repeat(128), 127));
        assert!(!is_deeper(r#"{"a":"[[[[\"[[["}"#, 1));
        assert!(!is_json(&("[".repeat(100_000) + &"]".repeat(100_000))));
        assert!(is_object(&("{\"a\":".repeat(127) + "1" + &"}".repeat(127))));
    }

    #[test]
    fn what_we_call_valid_can_be_read_into_a_tree() {
        let deepest = "[".repeat(MAX_DEPTH) + &"]".repeat(MAX_DEPTH);
        assert!(is_json(&deepest));
        assert!(serde_json::from_str::<serde_json::Value>(&deepest).is_ok());
    }
}
