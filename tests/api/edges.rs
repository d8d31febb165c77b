//! Every limit of what is brought at its edge: the most is taken, and one more is refused before any work, by its field, with the most and what was given in
//! the message. Those of the configuration have exact edges too.

mod bounds;
mod configured;
mod coordination;
mod execution;
mod graph;
mod ids;
mod record;
mod tools;
mod transfer;
mod workspace;

use std::fmt::Debug;

use antiphon::domain::fault::Reason;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::look;
use crate::support::refused;
use crate::support::server::Running;

/// A limit: the field that has it, the most, and a request of so much.
type Edge<R> = (&'static str, usize, fn(usize) -> R);

/// One more than the most is refused by each field, and leaves no run; the most is taken, or refused for something else.
async fn kept<R, T: Debug>(server: &Running, edges: &[Edge<R>], call: impl AsyncFn(R) -> Result<T, Status>) {
    let before = look::runs(server).await;
    for (field, max, of) in edges {
        beyond(&call(of(max + 1)).await.unwrap_err(), field, *max, max + 1);
    }
    assert_eq!(look::runs(server).await, before, "what is refused leaves no run");
    for (field, max, of) in edges {
        taken(call(of(*max)).await, field);
    }
}

/// That a refusal is about this field alone, and its message has the most that is taken and what was given.
#[track_caller]
fn beyond(status: &Status, field: &str, max: usize, given: usize) {
    beyond_with(status, Reason::InvalidFields, field, max, given);
}

/// The same, for another reason.
#[track_caller]
fn beyond_with(status: &Status, reason: Reason, field: &str, max: usize, given: usize) {
    refused::is(status, Code::InvalidArgument, reason);
    let told = told(status);
    let [(path, what)] = told.as_slice() else { panic!("{field}: {told:?}") };
    assert_eq!(path, field, "{what}");
    for figure in [max, given] {
        assert!(has(what, figure), "{field}: no {figure} in `{what}`");
        assert!(has(status.message(), figure), "{field}: no {figure} in `{}`", status.message());
    }
}

/// That something was not refused for this field.
#[track_caller]
fn taken<T: Debug>(outcome: Result<T, Status>, field: &str) -> Option<T> {
    match outcome {
        Ok(taken) => Some(taken),
        Err(status) => {
            assert!(!told(&status).iter().any(|(path, _)| path == field), "{field}: {status:?}");
            // A limit that refuses without a field would hide here.
            assert_ne!(refused::reason(&status), Reason::LimitExceeded.word(), "{field}: {status:?}");
            None
        }
    }
}

/// The fields that a refusal names, each with what is said of it.
fn told(status: &Status) -> Vec<(String, String)> {
    let violations = status.get_details_bad_request().map(|request| request.field_violations).unwrap_or_default();
    violations.into_iter().map(|violation| (violation.field, violation.description)).collect()
}

/// Whether a text has a figure, not as a part of a longer one.
fn has(text: &str, figure: usize) -> bool {
    text.split(|c: char| !c.is_ascii_digit()).any(|number| number == figure.to_string())
}

/// JSON of an object with so many bytes.
fn object(bytes: usize) -> String {
    format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - r#"{"a":""}"#.len()))
}

/// JSON of objects in one another, so many of them.
fn nested(levels: usize) -> String {
    format!("{}{{}}{}", "{\"not\":".repeat(levels - 1), "}".repeat(levels - 1))
}
