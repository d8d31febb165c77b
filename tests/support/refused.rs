//! What an error says, taken apart.

use antiphon::domain::fault::Reason;
use tonic::{Code, Status};
use tonic_types::StatusExt;

/// The reason of an error, with its code.
pub(crate) fn reason(status: &Status) -> String {
    let info = status.get_details_error_info().unwrap_or_else(|| panic!("no ErrorInfo in {status:?}"));
    assert_eq!(info.domain, "antiphon");
    info.reason
}

/// One fact of an error.
pub(crate) fn fact(status: &Status, key: &str) -> String {
    let info = status.get_details_error_info().unwrap_or_else(|| panic!("no ErrorInfo in {status:?}"));
    info.metadata.get(key).cloned().unwrap_or_else(|| panic!("no `{key}` in {:?}: {status:?}", info.metadata))
}

/// The paths of the fields that an error names.
pub(crate) fn fields(status: &Status) -> Vec<String> {
    let request = status.get_details_bad_request().unwrap_or_else(|| panic!("no BadRequest in {status:?}"));
    request.field_violations.into_iter().map(|violation| violation.field).collect()
}

/// Checks code and reason at once.
#[track_caller]
pub(crate) fn is(status: &Status, code: Code, wanted: Reason) {
    assert_eq!((status.code(), reason(status).as_str()), (code, wanted.word()), "{status:?}");
    assert!(!status.message().is_empty(), "an error says what to do: {status:?}");
}
