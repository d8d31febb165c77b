//! JSON that belongs to the caller, carried as text: whether it is JSON, of which kind, and not too deep. It must not know what it says:
//! the text itself is kept and never written anew.

use serde::de::IgnoredAny;

use super::{Path, Problems, limit};
use crate::domain::bounds::Bounds;
use crate::domain::json::{depth, too_deep};

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

/// Whether a text is a JSON object. What a model wrote keeps no bound of the server's own, so that it stays what it was.
pub fn is_object(text: &str) -> bool {
    kind(text, Bounds::CEILINGS.json_levels.max) == Ok(Kind::Object)
}

/// What a text is, of JSON that is nested no deeper than the server takes; what is wrong with it is a problem.
fn taken(text: &str, at: &Path<'_>, problems: &mut Problems) -> Option<Kind> {
    let most = problems.bounds().json_levels;
    match kind(text, most.max) {
        Ok(kind) => Some(kind),
        Err(why) => {
            problems.beyond(most.beyond(depth(text)));
            problems.add(at, why);
            None
        }
    }
}

/// A text that must be JSON of any kind.
pub fn any(text: String, at: &Path<'_>, problems: &mut Problems) -> Option<String> {
    taken(&text, at, problems).map(|_| text)
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
    if taken(&text, at, problems)? == Kind::Object {
        return Some(Some(text));
    }
    problems.add(at, "must be a JSON object, such as {\"a\":1}");
    None
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
        assert!(kind(&nested(127), 127).is_ok());
        assert_eq!(
            kind(&nested(128), 127),
            Err("is nested 128 levels deep: at most 127 are taken; make it flatter".to_owned())
        );
        assert!(kind(&nested(100_000), 127).is_err());
        assert!(kind(&"[".repeat(100_000), usize::MAX).is_err(), "unclosed, and skipped without recursion");
        assert_eq!(kind(r#"["\"[[[[\\", "]"]"#, 1), Ok(Kind::Array), "brackets in strings do not nest");
    }
}
