//! The way from a fault to a gRPC status: the only place that makes one. It must not know what went wrong, nor show what the fault does not
//! say.
//!
//! A status travels in HTTP trailers, and peers and proxies drop or refuse a list of headers over 8 KiB, with the real error lost. So all
//! that a fault says is cut to fit, the facts first, then the fields, and the message takes what room is left.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Extensions, Status};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt};

use crate::domain::coordination::{CallerFailure, Failure, Outcome};
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::RunId;

#[cfg(test)]
mod tests;

/// Whose reasons they are, in ErrorInfo.
pub const DOMAIN: &str = "antiphon";
/// The header with the run's id.
pub const RUN_ID_HEADER: &str = "antiphon-run-id";
/// The header with the call's id.
pub const REQUEST_ID_HEADER: &str = "antiphon-request-id";
/// The fact that says how many wrong fields are not named.
pub const FIELDS_LEFT_OUT: &str = "fields_left_out";

/// Room for the message, as the trailer has it, and the details; 8 KiB less what else stands there: code, type, ids, and the framing of each.
const MAX_TRAILERS: usize = 7 * 1024;
/// Longest message, in bytes.
const MAX_MESSAGE: usize = 4 * 1024;
/// Room for all facts, in bytes.
const MAX_FACTS: usize = 1_536;
/// Longest fact, in bytes.
const MAX_FACT: usize = 512;
/// Room for all fields, in bytes.
const MAX_FIELDS: usize = 2_048;
/// Longest path of a field, in bytes.
const MAX_PATH: usize = 256;
/// Longest message about a field, and longest name of a resource, in bytes.
const MAX_FIELD_MESSAGE: usize = 512;

/// Names one call, in the log and in its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// Wraps an id.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// The id of the call that a request belongs to; absent when nothing named it.
    pub fn of(extensions: &Extensions) -> Option<&Self> {
        extensions.get()
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The gRPC code of a fault, as the list of reasons promises it.
pub fn code(fault: &Fault) -> Code {
    use Reason::*;
    match fault.reason {
        InvalidFields
        | ToolResultsMismatch
        | TranscriptMalformed
        | ProfileMissing
        | ProfileUnknown
        | PromptUnknown
        | PromptVariables
        | ContractUnknown
        | SchemaInvalid
        | BackendUnsupported
        | ProviderRefusedRequest
        | PageTokenInvalid => Code::InvalidArgument,
        // A request that is too large stays so; what others take comes free again.
        LimitExceeded if fault.fields.is_empty() => Code::ResourceExhausted,
        LimitExceeded => Code::InvalidArgument,
        NotImplemented => Code::Unimplemented,
        ExchangeNotFound | RunNotFound | ThreadNotFound | CoordinationNotFound | ResourceNotFound
        | PreparedNotFound | DocumentNotFound => Code::NotFound,
        ThreadExists | RunIdConflict | RequestIdConflict | CoordinationConflict => Code::AlreadyExists,
        HeadMoved | ThreadBusy | EtagMismatch | RunInterrupted | AnswerStale => Code::Aborted,
        RunCancelled => Code::Cancelled,
        ThreadNotEmpty
        | ThreadEmpty
        | ThreadDiverged
        | RunNotCompleted
        | RunNotOnPath
        | NoRunIds
        | NotCaptured
        | ResultNotKept
        | RunIdRequired
        | UnansweredToolCalls
        | NoPendingToolCalls
        | ToolNotAllowed
        | CredentialMissing
        | ProviderRefusedCredential
        | ContextOverflow
        | ClientBackendOnlyInCoordinate
        | OutOfOrder
        | PreparedUsed
        | PreparedStale
        | ExchangeErased
        | EraseShared
        | ToolSchemaDrift => Code::FailedPrecondition,
        SpendLimit | BackendQueueFull | ProviderRateLimited => Code::ResourceExhausted,
        ProviderTimeout | Deadline => Code::DeadlineExceeded,
        ProviderUnavailable | ProviderBadAnswer | StoreReadOnly | StoreUnavailable | ShuttingDown => Code::Unavailable,
        StoreCorrupt => Code::DataLoss,
        Unauthenticated => Code::Unauthenticated,
        ScopeMissing => Code::PermissionDenied,
        Internal => Code::Internal,
    }
}

/// The status of a fault, with all its details and the headers that every answer has.
pub fn status(fault: &Fault, request_id: Option<&RequestId>) -> Status {
    let mut details = ErrorDetails::new();
    let (violations, left_out) = violations(fault);
    let mut facts = fault.metadata.clone();
    if left_out > 0 {
        let before = facts.get(FIELDS_LEFT_OUT).and_then(|count| count.parse::<usize>().ok()).unwrap_or_default();
        facts.insert(FIELDS_LEFT_OUT.to_owned(), left_out.saturating_add(before).to_string());
    }
    let kept = kept(facts);
    let left_out = kept.get(FIELDS_LEFT_OUT).cloned();
    details.set_error_info(fault.reason.word(), DOMAIN, kept);
    if let Some(delay) = fault.retry_after_ms {
        details.set_retry_info(Some(Duration::from_millis(delay)));
    }
    if !violations.is_empty() {
        details.set_bad_request(violations);
    }
    if let Some(resource) = &fault.resource {
        let name = cut(&printable(&resource.name), MAX_FIELD_MESSAGE);
        details.set_resource_info(resource.kind, name, "", "");
    }
    if let Some(id) = request_id {
        details.set_request_info(id.as_str(), "");
    }

    let run_id = fault.metadata.get("run_id").map(String::as_str);
    let tail = left_out.map(|count| format!("; and {count} more")).unwrap_or_default();
    fitting(code(fault), &fault.message, &tail, details, headers(request_id, run_id))
}

/// The status of a coordination that ended, for the trailers of its stream; absent where that is no error. A caller's own failure has the
/// caller's code, words and facts, under the caller's domain.
pub fn ended(outcome: &Outcome, request_id: Option<&RequestId>) -> Option<Status> {
    match outcome {
        Outcome::Stopped | Outcome::Exhausted => None,
        Outcome::Failed(Failure::Execution(fault)) | Outcome::Cancelled(fault) => Some(status(fault, request_id)),
        Outcome::Failed(Failure::Caller(failure)) => Some(of_caller(failure, request_id)),
    }
}

fn of_caller(failure: &CallerFailure, request_id: Option<&RequestId>) -> Status {
    let mut details = ErrorDetails::new();
    details.set_error_info(&failure.reason, &failure.domain, kept(failure.metadata.clone()));
    if let Some(id) = request_id {
        details.set_request_info(id.as_str(), "");
    }
    fitting(Code::from_i32(failure.code), &failure.message, "", details, headers(request_id, None))
}

/// The facts for which there is room.
fn kept(facts: BTreeMap<String, String>) -> HashMap<String, String> {
    let mut room = MAX_FACTS;
    let mut kept = HashMap::new();
    for (key, value) in facts {
        let value = cut(&printable(&value), MAX_FACT);
        let Some(left) = room.checked_sub(key.len() + value.len()) else { continue };
        room = left;
        kept.insert(key, value);
    }
    kept
}

/// A status with as much of the message as there is room for beside the details.
fn fitting(code: Code, message: &str, tail: &str, details: ErrorDetails, headers: MetadataMap) -> Status {
    let empty = Status::with_error_details(code, "", details.clone());
    let room = MAX_TRAILERS.saturating_sub(base64_len(empty.details().len()));
    Status::with_error_details_and_metadata(code, fit(message, tail, room), details, headers)
}

/// The fields that are named, and how many are not.
fn violations(fault: &Fault) -> (Vec<FieldViolation>, usize) {
    let mut room = MAX_FIELDS;
    let mut named = Vec::new();
    for field in &fault.fields {
        let path = cut(&printable(&field.path), MAX_PATH);
        let message = cut(&printable(&field.message), MAX_FIELD_MESSAGE);
        // Each costs a few bytes of its own.
        let Some(left) = room.checked_sub(path.len() + message.len() + 8) else { break };
        room = left;
        named.push(FieldViolation::new(path, message));
    }
    let left_out = fault.fields.len() - named.len();
    (named, left_out)
}

/// As much of the message as fits: it stands in the trailers twice, percent-encoded and in the details.
fn fit(message: &str, tail: &str, room: usize) -> String {
    let cost = |text: &str| percent_len(text) + base64_len(text.len());
    if message.len() + tail.len() <= MAX_MESSAGE && cost(message) + cost(tail) <= room {
        return format!("{message}{tail}");
    }
    let mark = if tail.is_empty() { " [cut]" } else { tail };
    let room = room.saturating_sub(cost(mark) + 4);
    let (mut encoded, mut end) = (0, 0);
    for (at, c) in message.char_indices() {
        let next = at + c.len_utf8();
        encoded += percent_len(c.encode_utf8(&mut [0; 4]));
        if next + mark.len() > MAX_MESSAGE || encoded + base64_len(next) > room {
            break;
        }
        end = next;
    }
    format!("{}{mark}", message.get(..end).unwrap_or_default())
}

/// How long a text is as `grpc-message`, which has printable ASCII but `%` as it is and three bytes for each other byte. Some
/// implementations encode more of it, such as these marks.
fn percent_len(text: &str) -> usize {
    let plain = |byte: u8| {
        (byte == b' ' || byte.is_ascii_graphic())
            && !matches!(byte, b'%' | b'"' | b'#' | b'<' | b'>' | b'`' | b'?' | b'{' | b'}' | b' ')
    };
    text.bytes().map(|byte| if plain(byte) { 1 } else { 3 }).sum()
}

fn base64_len(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// At most `max` bytes of a text, cut between characters.
fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let mark = "...";
    let end = (0..=max.saturating_sub(mark.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}{mark}", text.get(..end).unwrap_or_default())
}

/// A text without line ends and other characters that steer.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn headers(request_id: Option<&RequestId>, run_id: Option<&str>) -> MetadataMap {
    let mut headers = MetadataMap::new();
    set_headers(&mut headers, request_id, run_id);
    headers
}

/// Sets the headers that every answer has, on success as on failure. An id that no header can carry is left out.
pub fn set_headers(headers: &mut MetadataMap, request_id: Option<&RequestId>, run_id: Option<&str>) {
    for (name, id) in [(REQUEST_ID_HEADER, request_id.map(RequestId::as_str)), (RUN_ID_HEADER, run_id)] {
        let id = id.filter(|id| id.is_ascii() && id.len() <= MAX_PATH);
        if let Some(value) = id.and_then(|id| MetadataValue::try_from(id).ok()) {
            headers.insert(name, value);
        }
    }
}

/// An answer with the headers that every answer has.
pub fn response<T>(message: T, request_id: Option<&RequestId>, run_id: Option<&RunId>) -> tonic::Response<T> {
    let mut response = tonic::Response::new(message);
    set_headers(response.metadata_mut(), request_id, run_id.map(RunId::as_str));
    response
}

/// The fault of a panic. What it said goes nowhere, since it may quote what was said in a conversation.
pub fn panicked() -> Fault {
    let message =
        "the server failed on this call; the log has more under the request id: report it if it happens again";
    Fault::new(Reason::Internal, message)
}

/// Runs a handler so that a panic in it ends this call only (B139).
///
/// # Errors
/// Its own, or [`panicked`].
pub async fn guarded<T>(handler: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    match AssertUnwindSafe(handler).catch_unwind().await {
        Ok(answer) => answer,
        Err(_) => {
            tracing::error!(event = "handler.panicked");
            Err(panicked())
        }
    }
}
