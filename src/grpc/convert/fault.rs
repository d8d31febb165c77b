//! Faults as part of an answer, where the call as a whole did not fail. It must not know trailers: those are made in `status`.

use super::problem;
use super::{Path, Problems};
use crate::domain::fault::{Fault, Reason};
use crate::grpc::{pb, status};

/// The fact that says how long to wait, in milliseconds.
const RETRY_AFTER: &str = "retry_after_ms";

/// An error in an answer. What a status has details for, its facts have here.
pub fn to_pb(fault: &Fault) -> pb::ErrorStatus {
    let mut metadata = fault.metadata.clone();
    if let Some(delay) = fault.retry_after_ms {
        metadata.insert(RETRY_AFTER.to_owned(), delay.to_string());
    }
    if let Some(resource) = &fault.resource {
        metadata.entry("resource_type".to_owned()).or_insert_with(|| resource.kind.to_owned());
        metadata.entry("resource_name".to_owned()).or_insert_with(|| resource.name.clone());
    }
    for (index, field) in fault.fields.iter().enumerate() {
        metadata.insert(format!("field.{index}"), format!("{}: {}", field.path, field.message));
    }
    pb::ErrorStatus {
        code: status::code(fault).into(),
        message: fault.message.clone(),
        reason: fault.reason.word().to_owned(),
        metadata,
    }
}

/// An error that a caller reports. Its code follows from its reason, so another one is a contradiction.
pub fn from_pb(error: pb::ErrorStatus, at: &Path<'_>, problems: &mut Problems) -> Option<Fault> {
    let word = problem::filled(error.reason, &at.field("reason"), problems)?;
    let Some(reason) = Reason::from_word(&word) else {
        problems.add(&at.field("reason"), "is not one of the reasons of this server, without their prefix");
        return None;
    };
    let mut fault = Fault::new(reason, error.message);
    fault.metadata = error.metadata;
    fault.retry_after_ms = fault.metadata.remove(RETRY_AFTER).and_then(|delay| delay.parse().ok());
    let code = i32::from(status::code(&fault));
    if error.code != code {
        problems.add(&at.field("code"), format!("must be {code} with the reason {word}"));
        return None;
    }
    Some(fault)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grpc::convert::problem::whole;

    fn read(error: pb::ErrorStatus) -> Result<Fault, Fault> {
        whole(|at, problems| from_pb(error, &at.field("error"), problems))
    }

    #[test]
    fn a_fault_comes_back_as_it_went_out() {
        let fault = Fault::new(Reason::BackendQueueFull, "full").with("backend_id", "b").retry_after(250);
        let out = to_pb(&fault);
        assert_eq!((out.code, out.reason.as_str()), (8, "BACKEND_QUEUE_FULL"));
        assert_eq!(out.metadata["retry_after_ms"], "250");
        assert_eq!(read(out), Ok(fault));
    }

    #[test]
    fn details_become_facts() {
        let out = to_pb(&Fault::not_found(Reason::RunNotFound, "run", "r").at("run_id", "is not here"));
        assert_eq!((out.metadata["resource_type"].as_str(), out.metadata["resource_name"].as_str()), ("run", "r"));
        assert_eq!(out.metadata["field.0"], "run_id: is not here");
    }

    #[test]
    fn an_unknown_reason_and_a_code_that_does_not_fit_are_refused() {
        let path = |code, reason: &str| {
            let error = pb::ErrorStatus { code, reason: reason.to_owned(), ..pb::ErrorStatus::default() };
            read(error).unwrap_err().fields.remove(0).path
        };
        assert_eq!(path(5, "NO_SUCH_REASON"), "error.reason");
        assert_eq!(path(5, ""), "error.reason");
        assert_eq!(path(3, "RUN_NOT_FOUND"), "error.code");
    }
}
