//! Faults as part of an answer, where the call as a whole did not fail. It must not know trailers: those are made in `status`.

use std::collections::BTreeMap;

use super::problem;
use super::{Path, Problems};
use crate::domain::fault::{Fault, Field, Reason, Resource};
use crate::grpc::{pb, status};

/// The fact that says how long to wait, in milliseconds.
const RETRY_AFTER: &str = "retry_after_ms";
/// The facts that say what was not found.
const RESOURCE_TYPE: &str = "resource_type";
const RESOURCE_NAME: &str = "resource_name";
/// Before the number of each wrong field.
const FIELD: &str = "field.";
/// Kinds of things that can be missing.
const KINDS: [&str; 7] = ["exchange", "run", "thread", "prompt", "profile", "backend", "contract"];

/// An error in an answer. What a status has details for, its facts have here.
pub fn to_pb(fault: &Fault) -> pb::ErrorStatus {
    let mut metadata = fault.metadata.clone();
    if let Some(delay) = fault.retry_after_ms {
        metadata.insert(RETRY_AFTER.to_owned(), delay.to_string());
    }
    if let Some(resource) = &fault.resource {
        metadata.insert(RESOURCE_TYPE.to_owned(), resource.kind.to_owned());
        metadata.insert(RESOURCE_NAME.to_owned(), resource.name.clone());
    }
    for (index, field) in fault.fields.iter().enumerate() {
        metadata.insert(format!("{FIELD}{index}"), format!("{}: {}", field.path, field.message));
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
    details(&mut fault);
    let code = i32::from(status::code(&fault));
    if error.code != code {
        problems.add(&at.field("code"), format!("must be {code} with the reason {word}"));
        return None;
    }
    Some(fault)
}

/// Takes details out of the facts, where they are as they went out.
fn details(fault: &mut Fault) {
    let facts = &mut fault.metadata;
    fault.retry_after_ms = facts.get(RETRY_AFTER).and_then(|delay| delay.parse().ok());
    if fault.retry_after_ms.is_some() {
        facts.remove(RETRY_AFTER);
    }
    let kind = facts.get(RESOURCE_TYPE).and_then(|kind| KINDS.iter().find(|known| *known == kind)).copied();
    if let (Some(kind), Some(name)) = (kind, facts.get(RESOURCE_NAME).cloned()) {
        fault.resource = Some(Resource { kind, name });
        facts.remove(RESOURCE_TYPE);
        facts.remove(RESOURCE_NAME);
    }
    let number = |key: &str| key.strip_prefix(FIELD).and_then(|number| number.parse::<usize>().ok());
    let fields: BTreeMap<usize, Field> = facts
        .iter()
        .filter_map(|(key, text)| {
            let (path, message) = text.split_once(": ")?;
            Some((number(key)?, Field { path: path.to_owned(), message: message.to_owned() }))
        })
        .collect();
    facts.retain(|key, _| !number(key).is_some_and(|number| fields.contains_key(&number)));
    fault.fields = fields.into_values().collect();
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
        let full = Fault::new(Reason::BackendQueueFull, "full").with("backend_id", "b").retry_after(250);
        let out = to_pb(&full);
        assert_eq!((out.code, out.reason.as_str()), (8, "BACKEND_QUEUE_FULL"));
        assert_eq!(out.metadata["retry_after_ms"], "250");
        let mut fields = Fault::new(Reason::LimitExceeded, "large").with("field.x", "y");
        for n in 0..12 {
            fields = fields.at(format!("messages[{n}]"), "is too long: at most 9");
        }
        for fault in [full, fields, Fault::not_found(Reason::ThreadNotFound, "thread", "t")] {
            assert_eq!(read(to_pb(&fault)), Ok(fault));
        }
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
