//! Coordinations without a stream: the requests of Get, List, Cancel and Answer. It must not know what is pending.

use super::super::message::all;
use super::super::problem::{self, whole};
use super::super::{Path, Problems, id, label, moment};
use super::answer::{self, Naming};
use super::{cancel_from_pb, generated, view};
use crate::app::coordination::Filter;
use crate::app::coordination::ask::Answer;
use crate::domain::fault::Fault;
use crate::domain::id::CoordinationId;
use crate::grpc::pb;

/// Which coordination to read.
///
/// # Errors
/// What is wrong with the request.
pub fn get_from_pb(request: &pb::CoordinationServiceGetRequest) -> Result<CoordinationId, Fault> {
    whole(|at, problems| id::required(&request.coordination_id, &at.field("coordination_id"), problems))
}

/// Which coordination to end, and why, for people.
///
/// # Errors
/// What is wrong with the request.
pub fn cancel_request_from_pb(
    request: pb::CoordinationServiceCancelRequest,
) -> Result<(CoordinationId, String), Fault> {
    whole(|at, problems| {
        let id = id::required(&request.coordination_id, &at.field("coordination_id"), problems);
        let message = cancel_from_pb(request.message, &at.field("message"), problems);
        Some((id?, message?))
    })
}

/// An answer in a call of its own, with the coordination that it is for.
///
/// # Errors
/// What is wrong with the request.
pub fn answer_from_pb(request: pb::AnswerRequest) -> Result<(CoordinationId, Answer), Fault> {
    use pb::answer_request::Answer as Pb;
    whole(|at, problems| {
        let id = id::required(&request.coordination_id, &at.field("coordination_id"), problems);
        let choices = "`next_action`, `tool_results` or `generated`";
        let answer = match problem::required(request.answer, choices, &at.field("answer"), problems) {
            None => None,
            Some(Pb::NextAction(action)) => {
                answer::next_action_from_pb(action, Naming::Required, &at.field("next_action"), problems)
            }
            Some(Pb::ToolResults(results)) => {
                answer::results_from_pb(results, Naming::Required, &at.field("tool_results"), problems)
            }
            Some(Pb::Generated(generated)) => {
                generated::from_pb(generated, Naming::Required, &at.field("generated"), problems)
            }
        };
        Some((id?, answer?))
    })
}

/// Which coordinations to list; page size and token are read by the caller.
///
/// # Errors
/// What is wrong with the request.
pub fn filter_from_pb(request: pb::CoordinationServiceListRequest) -> Result<Filter, Fault> {
    whole(|at, problems| {
        let states = all(request.states, &at.field("states"), problems, state_from_pb);
        let state_before = moment::optional_from_pb(request.state_before, &at.field("state_before"), problems);
        let created_from = moment::optional_from_pb(request.created_from, &at.field("created_from"), problems);
        let created_before = moment::optional_from_pb(request.created_before, &at.field("created_before"), problems);
        let thread = id::optional(&request.thread_id, &at.field("thread_id"), problems);
        let labels = label::from_pb(request.labels, &at.field("labels"), problems);
        Some(Filter {
            states: states?,
            attached: request.attached,
            state_before: state_before?,
            created_from: created_from?,
            created_before: created_before?,
            thread: thread?,
            labels: labels?,
        })
    })
}

fn state_from_pb(number: i32, at: &Path<'_>, problems: &mut Problems) -> Option<&'static str> {
    let words = "a state of a coordination, such as COORDINATION_STATE_AWAITING_DECISION";
    problem::chosen(number, words, at, problems).map(view::state_word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use prost_types::Timestamp;

    use crate::domain::coordination::PendingId;
    use crate::domain::id::{Moment, ThreadId};

    fn paths<T>(read: Result<T, Fault>) -> Vec<String> {
        read.err().unwrap().fields.into_iter().map(|field| field.path).collect()
    }

    #[test]
    fn an_answer_names_what_it_answers() {
        use pb::answer_request::Answer as Pb;
        let stop = |decision_id: &str| {
            let action = Some(pb::next_action::Action::Stop(pb::StopAction {}));
            Pb::NextAction(pb::NextAction { decision_id: decision_id.to_owned(), action })
        };
        let request = |coordination_id: &str, answer| pb::AnswerRequest {
            coordination_id: coordination_id.to_owned(),
            answer: Some(answer),
        };
        let (id, answer) = answer_from_pb(request("c", stop("d1-x"))).unwrap();
        assert_eq!((id.as_str(), answer.id), ("c", Some(PendingId::given("d1-x"))));
        assert_eq!(answer.reply.word(), "next action");

        assert_eq!(paths(answer_from_pb(request("", stop("")))), ["coordination_id", "next_action.decision_id"]);
        let unset = pb::AnswerRequest { coordination_id: "c".to_owned(), answer: None };
        assert_eq!(paths(answer_from_pb(unset)), ["answer"]);
        let results = Pb::ToolResults(pb::BatchResults::default());
        let expected = ["tool_results.batch_id", "tool_results.results"];
        assert_eq!(paths(answer_from_pb(request("c", results))), expected);
        let generated = Pb::Generated(pb::Generated::default());
        let expected = ["generated.generation_id", "generated.outcome"];
        assert_eq!(paths(answer_from_pb(request("c", generated))), expected);
    }

    #[test]
    fn one_coordination_is_named() {
        let get = |id: &str| get_from_pb(&pb::CoordinationServiceGetRequest { coordination_id: id.to_owned() });
        assert_eq!((get("c"), paths(get("a b"))), (Ok(CoordinationId::new("c")), vec!["coordination_id".to_owned()]));
        let cancel = |id: &str, length| {
            let (coordination_id, message) = (id.to_owned(), "語".repeat(length));
            cancel_request_from_pb(pb::CoordinationServiceCancelRequest { coordination_id, message })
        };
        assert_eq!(cancel("c", 1_024), Ok((CoordinationId::new("c"), "語".repeat(1_024))));
        assert_eq!(paths(cancel("", 1_025)), ["coordination_id", "message"]);
    }

    #[test]
    fn a_filter_has_states_by_word() {
        let labels = BTreeMap::from([("team".to_owned(), "x".to_owned())]);
        let time = |seconds| Some(Timestamp { seconds, nanos: 0 });
        let request = pb::CoordinationServiceListRequest {
            states: vec![2, 6],
            attached: Some(false),
            state_before: time(1),
            created_from: time(2),
            created_before: time(3),
            thread_id: "t".to_owned(),
            labels: labels.clone(),
            ..pb::CoordinationServiceListRequest::default()
        };
        let filter = Filter {
            states: vec!["AWAITING_DECISION", "EXHAUSTED"],
            attached: Some(false),
            state_before: Some(Moment(1_000)),
            created_from: Some(Moment(2_000)),
            created_before: Some(Moment(3_000)),
            thread: Some(ThreadId::new("t")),
            labels,
        };
        assert_eq!(filter_from_pb(request), Ok(filter));
        assert_eq!(filter_from_pb(pb::CoordinationServiceListRequest::default()), Ok(Filter::default()));
        let wrong = pb::CoordinationServiceListRequest {
            states: vec![0, 99],
            state_before: time(-1),
            created_from: time(-1),
            created_before: time(-1),
            thread_id: "a b".to_owned(),
            ..pb::CoordinationServiceListRequest::default()
        };
        let expected = ["states[0]", "states[1]", "state_before", "created_from", "created_before", "thread_id"];
        assert_eq!(paths(filter_from_pb(wrong)), expected);
    }
}
