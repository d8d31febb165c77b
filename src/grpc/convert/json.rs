//! JSON that belongs to the caller, carried as text: whether it is JSON, of which kind, and not too deep. It must not know what it says:
//! the text itself is kept and never written anew.

use serde::de::IgnoredAny;

use super::{Path, Problems, limit};
use crate::domain::json::too_deep;

/// Deepest nesting that is taken for JSON; what reads it later may recurse.
pub const MAX_DEPTH: usize = 127;

/// What a JSON text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{...}`
    Object,
    /// `[...]`
    Array,
    /// A string, number, boolean or null.
    Scalar,
}

/// What a text is.
///
/// # Errors
/// When it is not one JSON value, or nested deeper than `max_depth`.
pub fn kind(text: &str, max_depth: usize) -> Result<Kind, String> {
    if let Some(what) = too_deep(text, max_depth) {
        return Err(what);
    }
    // Values that are ignored are skipped without recursion. The message has the place and no content.
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| format!("is not JSON: {error}"))?;
    Ok(match text.trim_start().bytes().next() {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        _ => Kind::Scalar,
    })
}

/// Whether a text is a JSON object.
pub fn is_object(text: &str) -> bool {
    kind(text, MAX_DEPTH) == Ok(Kind::Object)
}

/// A text that must be JSON of any kind.
pub fn any(text: String, at: &Path<'_>, problems: &mut Problems) -> Option<String> {
    match kind(&text, MAX_DEPTH) {
        Ok(_) => Some(text),
        Err(why) => {
            problems.add(at, why);
            None
        }
    }
}

/// A text that must be a JSON object of at most `max_bytes`; absent when it is empty.
pub fn optional_object(
    text: String,
    max_bytes: usize,
    at: &Path<'_>,
    problems: &mut Problems,
) -> Option<Option<String>> {
    if text.is_empty() {
        return Some(None);
    }
    if !limit::bytes(&text, max_bytes, at, problems) {
        return None;
    }
    match kind(&text, MAX_DEPTH) {
        Ok(Kind::Object) => Some(Some(text)),
        Ok(_) => {
            problems.add(at, "must be a JSON object, such as {\"a\":1}");
            None
        }
        Err(why) => {
            problems.add(at, why);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_apart() {
        assert_eq!(kind(" {\"a\":[1e400]}\n", 8), Ok(Kind::Object));
        assert_eq!(kind("[]", 8), Ok(Kind::Array));
        assert_eq!(kind("\"{\"", 0), Ok(Kind::Scalar));
        for text in ["", "{", "{\"path\":\"/tmp/a\"", "{} {}", "nope", "\u{feff}{}"] {
            assert!(kind(text, 8).is_err(), "{text:?}");
        }
    }

    #[test]
    fn b138_depth_is_bounded_without_recursion() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(kind(&nested(127), MAX_DEPTH).is_ok());
        assert_eq!(
            kind(&nested(128), MAX_DEPTH),
            Err("is nested 128 levels deep: at most 127 are taken; make it flatter".to_owned())
        );
        assert!(kind(&nested(100_000), MAX_DEPTH).is_err());
        assert!(kind(&"[".repeat(100_000), usize::MAX).is_err(), "unclosed, and skipped without recursion");
        assert_eq!(kind(r#"["\"[[[[\\", "]"]"#, 1), Ok(Kind::Array), "brackets in strings do not nest");
    }
}
