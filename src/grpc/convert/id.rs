//! Ids in requests. It must not know what they name.

use std::str::FromStr;

use super::{Path, Problems};
use crate::domain::id;

/// An id that must be there.
pub fn required<T: FromStr<Err = id::Error>>(text: &str, at: &Path<'_>, problems: &mut Problems) -> Option<T> {
    let read = text.parse();
    read.map_err(|error: id::Error| {
        if let id::Error::TooLong { given, .. } = error {
            problems.beyond(problems.bounds().id.beyond(given));
        }
        problems.add(at, error.to_string());
    })
    .ok()
}

/// An id that may be absent, and that the caller may have chosen for something new: it keeps the server's own bound as well. What names
/// something that is there does not, as that is found whatever the bound was when it was named.
pub fn chosen<T: FromStr<Err = id::Error>>(text: &str, at: &Path<'_>, problems: &mut Problems) -> Option<Option<T>> {
    let id = optional(text, at, problems)?;
    let (given, most) = (text.chars().count(), problems.bounds().id);
    let Some(beyond) = most.beyond(given) else { return Some(id) };
    problems.beyond(Some(beyond));
    problems.add(at, id::Error::TooLong { given, max: most.max }.to_string());
    None
}

/// An id that may be absent.
pub fn optional<T: FromStr<Err = id::Error>>(text: &str, at: &Path<'_>, problems: &mut Problems) -> Option<Option<T>> {
    if text.is_empty() {
        return Some(None);
    }
    required(text, at, problems).map(Some)
}

/// An id in an answer; empty when absent.
pub fn text(id: Option<impl ToString>) -> String {
    id.map(|id| id.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::{ExchangeId, RunId};

    #[test]
    fn absent_and_wrong_ids_differ() {
        let mut problems = Problems::default();
        assert_eq!(optional::<RunId>("", &Path::ROOT.field("run_id"), &mut problems), Some(None));
        assert_eq!(required::<RunId>("", &Path::ROOT.field("run_id"), &mut problems), None);
        assert_eq!(optional::<ExchangeId>("e1", &Path::ROOT.field("exchange_id"), &mut problems), None);
        let fault = problems.finish().unwrap_err();
        assert_eq!(fault.fields.len(), 2);
        assert_eq!(fault.fields[1].message, "must be an exchange id as this server gave it, a UUID");
    }
}
