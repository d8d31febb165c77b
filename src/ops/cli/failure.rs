//! Why a command did not do what it should, how that is shown, and with which code the process ends. It must not know commands.

use std::error::Error as _;
use std::io;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::hint;
use super::terminal::{Style, Terminal, harmless};
use crate::grpc::pb;
use crate::ops::cause::innermost;

/// Why a command did not do what it should.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// What was typed makes no sense; the process ends with 2.
    #[error("{0}")]
    Usage(String),
    /// The server refused, or failed.
    #[error("{}", .0.message)]
    Refused(Box<Refusal>),
    /// No server answered.
    #[error("no server answers at {server}: {cause}")]
    Unreachable {
        /// Where it was looked for.
        server: String,
        /// What the connection said.
        cause: String,
    },
    /// The time that was given is over.
    #[error("there was no whole answer within {}", humantime::format_duration(*.0))]
    TimedOut(Duration),
    /// Something on this machine went wrong.
    #[error("{message}")]
    Here {
        /// What.
        message: String,
        /// What to do; empty where that is clear.
        remedy: String,
    },
    /// It was said already in full.
    #[error("")]
    Said,
    /// The command line was answered while it was read, with help or with what is wrong; with the exit code.
    #[error("")]
    Parsed(u8),
    /// Whoever read the output has enough.
    #[error("")]
    ReaderGone,
}

/// What the server said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The gRPC code.
    pub(crate) code: Code,
    /// For people.
    pub(crate) message: String,
    /// The word of the API; empty when the error has none.
    pub(crate) reason: String,
    /// The facts.
    pub(crate) metadata: Vec<(String, String)>,
    /// Fields with what is wrong with each.
    pub(crate) fields: Vec<(String, String)>,
    /// What was not found: kind and name.
    pub(crate) resource: Option<(String, String)>,
    /// After how many milliseconds it makes sense to try again.
    pub(crate) retry_after_ms: Option<u64>,
    /// For whoever runs the server; empty when the error has none.
    pub(crate) request_id: String,
}

impl Refusal {
    /// A fact by name; empty when it is not there.
    pub(crate) fn fact(&self, name: &str) -> &str {
        self.metadata.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        let details = status.get_error_details();
        let info = details.error_info();
        // What the connection said, where it broke: the status alone says only that it did.
        let cause = status.source().filter(|_| info.is_none()).map(innermost);
        let message = match cause {
            Some(cause) => format!("{}: {cause}", status.message()),
            None => status.message().to_owned(),
        };
        let mut metadata: Vec<(String, String)> =
            info.map(|i| i.metadata.clone().into_iter().collect()).unwrap_or_default();
        metadata.sort();
        let fields = details.bad_request().map(|bad| bad.field_violations.as_slice()).unwrap_or_default();
        Self::Refused(Box::new(Refusal {
            code: status.code(),
            message,
            reason: info.map(|info| info.reason.clone()).unwrap_or_default(),
            metadata,
            fields: fields.iter().map(|field| (field.field.clone(), field.description.clone())).collect(),
            resource: details.resource_info().map(|r| (r.resource_type.clone(), r.resource_name.clone())),
            retry_after_ms: details
                .retry_info()
                .and_then(|retry| retry.retry_delay)
                .map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)),
            request_id: details.request_info().map(|request| request.request_id.clone()).unwrap_or_default(),
        }))
    }
}

impl From<&pb::ErrorStatus> for Refusal {
    /// What a message of a stream says of an error.
    fn from(error: &pb::ErrorStatus) -> Self {
        Self {
            code: Code::from_i32(error.code),
            message: error.message.clone(),
            reason: error.reason.clone(),
            metadata: error.metadata.clone().into_iter().collect(),
            fields: Vec::new(),
            resource: None,
            retry_after_ms: None,
            request_id: String::new(),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::here(format!("cannot read or write: {error}"), ""),
        }
    }
}

impl Failure {
    /// Something on this machine went wrong.
    pub(crate) fn here(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Here { message: message.into(), remedy: remedy.into() }
    }

    /// Something that a measurement needs on this machine failed.
    pub(crate) fn broken(cause: &dyn std::fmt::Display) -> Self {
        Self::here(format!("the measurement broke off: {cause}"), "")
    }

    /// A file could not be used.
    pub(crate) fn file(path: &Path, cause: impl std::fmt::Display) -> Self {
        Self::here(format!("{}: {cause}", path.display()), "")
    }

    /// What was typed makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// The server left out what it should have said.
    pub(crate) fn incomplete(what: &str) -> Self {
        Self::here(format!("the server's answer has no {what}"), "is it another version? `antiphon info` tells")
    }

    /// The code that the process ends with.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::ReaderGone => 0,
            Self::Parsed(code) => *code,
            Self::Usage(_) => 2,
            Self::Refused(_) | Self::Unreachable { .. } | Self::TimedOut(_) | Self::Here { .. } | Self::Said => 1,
        }
    }

    /// Tells it on the errors, as text or JSON.
    pub(crate) fn show(&self, terminal: &mut Terminal) -> io::Result<()> {
        if matches!(self, Self::Said | Self::Parsed(_) | Self::ReaderGone) {
            return Ok(());
        }
        if terminal.is_json() {
            let text = serde_json::to_string_pretty(&self.as_json()).map_err(io::Error::other)?;
            return terminal.note(&text);
        }
        let what = match self {
            Self::Refused(refusal) => headline(refusal),
            _ => self.to_string(),
        };
        let mut lines = vec![format!("{} {}", terminal.paint_err(Style::Bad, "error:"), harmless(&what))];
        if let Self::Refused(refusal) = self {
            lines.extend(details(refusal, terminal));
        }
        // Only who asked a server that was named has to name it again.
        let is_remote = matches!(self, Self::Refused(_));
        let next = self.next().map(|next| if is_remote { terminal.typed(&next) } else { next });
        lines.extend(next.map(|next| format!("{} {next}", terminal.paint_err(Style::Name, "next:"))));
        terminal.note(&lines.join("\n"))
    }

    /// What to do next, where there is something to say.
    fn next(&self) -> Option<String> {
        match self {
            Self::Refused(refusal) => hint::after(refusal),
            Self::Unreachable { cause, .. } if cause.contains("CaUsedAsEndEntity") => {
                Some("a server is there, and shows the certificate of an authority: give it one of its own that the authority signed".to_owned())
            }
            Self::Unreachable { cause, .. } if cause.contains("certificate") => {
                Some("a server is there, and its certificate is not trusted: name its roots with --tls-ca FILE, or call it by its certificate's name".to_owned())
            }
            Self::Unreachable { cause, .. } if cause.contains("InvalidContentType") => {
                Some("something is there that does not speak TLS: write http:// instead of https://".to_owned())
            }
            Self::Unreachable { .. } => {
                Some("start one with `antiphon serve`, or name another with --server URL or ANTIPHON_SERVER".to_owned())
            }
            Self::Here { remedy, .. } => Some(remedy.clone()).filter(|remedy| !remedy.is_empty()),
            Self::TimedOut(_) => Some("give it longer with --timeout, and repeat it with the same --run-id".to_owned()),
            Self::Usage(_) => Some("--help tells what can be typed".to_owned()),
            Self::Said | Self::Parsed(_) | Self::ReaderGone => None,
        }
    }

    fn as_json(&self) -> Value {
        let mut error = Map::new();
        let mut put = |key: &str, value: Value| error.insert(key.to_owned(), value);
        put("message", json!(self.to_string()));
        match self {
            Self::Refused(refusal) => {
                put("code", json!(code_word(refusal.code)));
                put("reason", json!(refusal.reason));
                let facts = refusal.metadata.iter().map(|(key, value)| (key.clone(), json!(value)));
                put("metadata", Value::Object(facts.collect()));
                let fields = refusal.fields.iter().map(|(path, what)| json!({ "path": path, "message": what }));
                put("fields", Value::Array(fields.collect()));
                if let Some((kind, name)) = &refusal.resource {
                    put("resource", json!({ "kind": kind, "name": name }));
                }
                if let Some(delay) = refusal.retry_after_ms {
                    put("retryAfterMs", json!(delay));
                }
                put("requestId", json!(refusal.request_id));
            }
            Self::Unreachable { server, .. } => {
                put("code", json!("UNAVAILABLE"));
                put("reason", json!("UNREACHABLE"));
                put("server", json!(server));
            }
            Self::TimedOut(_) => {
                put("code", json!("DEADLINE_EXCEEDED"));
                put("reason", json!("DEADLINE"));
            }
            Self::Usage(_) => {
                put("reason", json!("USAGE"));
            }
            Self::Here { .. } | Self::Said | Self::Parsed(_) | Self::ReaderGone => {
                put("reason", json!("LOCAL"));
            }
        }
        if let Some(next) = self.next() {
            error.insert("next".to_owned(), json!(next));
        }
        json!({ "error": error })
    }
}

/// What went wrong, in a line. The server's message repeats its fields; once is enough.
fn headline(refusal: &Refusal) -> String {
    match refusal.fields.as_slice() {
        [(path, what)] if refusal.message == format!("{path} {what}") => format!("{path}: {what}"),
        [_, _, ..] if repeats_fields(refusal) => format!("{} fields of the request are wrong", refusal.fields.len()),
        _ => refusal.message.clone(),
    }
}

fn repeats_fields(refusal: &Refusal) -> bool {
    refusal.fields.iter().all(|(_, what)| refusal.message.contains(what))
}

/// The fields, the reason with its facts, and the request, a line each.
fn details(refusal: &Refusal, terminal: &Terminal) -> Vec<String> {
    let dim = |text: &str| terminal.paint_err(Style::Dim, &harmless(text));
    let mut lines: Vec<String> = Vec::new();
    let is_said = refusal.fields.len() == 1 && repeats_fields(refusal);
    for (path, what) in refusal.fields.iter().filter(|_| !is_said) {
        lines.push(format!("  {} {}", terminal.paint_err(Style::Bold, path), harmless(what)));
    }
    let code = code_word(refusal.code);
    let word = if refusal.reason.is_empty() { code.to_owned() } else { format!("{} ({code})", refusal.reason) };
    lines.push(format!("  {} {word}", dim("reason")));
    for (key, value) in &refusal.metadata {
        lines.push(format!("  {} {}", dim(key), harmless(value)));
    }
    if let Some(delay) = refusal.retry_after_ms {
        lines.push(format!("  {} {}", dim("retry after"), humantime::format_duration(Duration::from_millis(delay))));
    }
    if !refusal.request_id.is_empty() {
        lines.push(dim(&format!("  request {}", refusal.request_id)));
    }
    lines
}

/// A gRPC code as the specification writes it.
pub(crate) fn code_word(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

#[cfg(test)]
mod tests {
    use tonic_types::{ErrorDetails, StatusExt};

    use super::*;

    fn refused() -> Failure {
        let mut details = ErrorDetails::new();
        details.set_error_info("HEAD_MOVED", "antiphon", [("thread_id".to_owned(), "t1".to_owned())]);
        details.add_bad_request_violation("turn.request.text", "must not be empty");
        details.set_request_info("q-1", "");
        details.set_retry_info(Some(Duration::from_millis(1500)));
        Status::with_error_details(Code::Aborted, "the head moved", details).into()
    }

    #[test]
    fn a_refusal_is_told_with_its_fields_its_reason_and_the_way_out() {
        let (mut terminal, out, err) = Terminal::captured();
        refused().show(&mut terminal).unwrap();
        let expected = "error: the head moved\n  turn.request.text must not be empty\n  reason HEAD_MOVED (ABORTED)\n  \
                        thread_id t1\n  retry after 1s 500ms\n  request q-1\nnext: antiphon log --thread t1\n";
        assert_eq!(err.text(), expected);
        assert_eq!(out.text(), "");
        assert_eq!(refused().exit_code(), 1);
    }

    #[test]
    fn what_the_message_says_of_fields_is_not_said_twice() {
        let told = |message: &str, fields: &[(&str, &str)]| {
            let mut details = ErrorDetails::new();
            details.set_error_info("INVALID_FIELDS", "antiphon", []);
            for (path, what) in fields {
                details.add_bad_request_violation(*path, *what);
            }
            let failure: Failure = Status::with_error_details(Code::InvalidArgument, message, details).into();
            let (mut terminal, _, err) = Terminal::captured();
            failure.show(&mut terminal).unwrap();
            err.text()
        };
        let one = told("a.b must be 1", &[("a.b", "must be 1")]);
        assert_eq!(one, "error: a.b: must be 1\n  reason INVALID_FIELDS (INVALID_ARGUMENT)\n");
        let two = told("a must be 1; b is 2", &[("a", "must be 1"), ("b", "is 2")]);
        assert!(
            two.starts_with("error: 2 fields of the request are wrong\n  a must be 1\n  b is 2\n  reason"),
            "{two}"
        );
    }

    #[test]
    fn with_json_an_error_is_an_object() {
        let (mut terminal, _, err) = Terminal::captured();
        terminal.configure(super::super::terminal::Colour::Auto, true);
        refused().show(&mut terminal).unwrap();
        let value: Value = serde_json::from_str(&err.text()).unwrap();
        assert_eq!(value["error"]["reason"], "HEAD_MOVED");
        assert_eq!(value["error"]["code"], "ABORTED");
        assert_eq!(value["error"]["fields"][0]["path"], "turn.request.text");
        assert_eq!(value["error"]["retryAfterMs"], 1500);
    }

    #[test]
    fn a_server_that_is_not_there_says_how_to_start_one() {
        let (mut terminal, _, err) = Terminal::captured();
        let failure = Failure::Unreachable { server: "http://127.0.0.1:1".into(), cause: "refused".into() };
        failure.show(&mut terminal).unwrap();
        assert!(err.text().contains("antiphon serve"), "{}", err.text());
        assert_eq!(failure.exit_code(), 1);
    }

    #[test]
    fn a_reader_that_is_gone_is_no_failure() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        let (mut terminal, _, err) = Terminal::captured();
        failure.show(&mut terminal).unwrap();
        assert_eq!((failure.exit_code(), err.text().as_str()), (0, ""));
        assert_eq!(Failure::usage("x").exit_code(), 2);
    }
}
