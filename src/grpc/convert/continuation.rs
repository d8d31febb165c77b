//! The requests of Continue. It must not know whether calls are pending.

use super::execution::{self, Request, Results};
use super::message;
use super::problem::{self, whole};
use super::record::{self, Facts};
use super::thread::{self, Point};
use super::{Path, Problems, id};
use crate::domain::fault::Fault;
use crate::domain::id::{ExchangeId, RunId};
use crate::domain::message::{Message, Role};
use crate::grpc::pb;

/// A Continue.
#[derive(Clone, Debug)]
pub struct Continue {
    /// Where from.
    pub from: From,
    /// What with.
    pub input: Input,
}

/// Where a turn continues.
#[expect(clippy::large_enum_variant, reason = "made once a call, and taken apart at once")]
#[derive(Clone, Debug)]
pub enum From {
    /// An exchange; no head moves.
    Exchange(ExchangeId),
    /// A thread; its head moves.
    Thread(Point),
    /// A run that was not captured.
    Uncaptured(Prefix),
}

/// What a turn brings.
#[expect(clippy::large_enum_variant, reason = "made once a call, and taken apart at once")]
#[derive(Clone, Debug)]
pub enum Input {
    /// A request.
    Request(Request),
    /// All results of the pending calls.
    Results(Results),
}

/// What an uncaptured run said.
#[derive(Clone, Debug, PartialEq)]
pub struct Prefix {
    /// The messages that were sent.
    pub messages: Vec<Message>,
    /// The answer.
    pub assistant: Message,
    /// Its run.
    pub run_id: Option<RunId>,
    /// What is known of the call.
    pub facts: Option<Facts>,
}

/// A Continue.
///
/// # Errors
/// What is wrong with the request.
pub fn continue_from_pb(request: pb::ContinueRequest) -> Result<Continue, Fault> {
    whole(|at, problems| from_pb(request, at, problems))
}

/// A Continue as a stream.
///
/// # Errors
/// What is wrong with the request.
pub fn stream_continue_from_pb(request: pb::StreamContinueRequest) -> Result<Continue, Fault> {
    whole(|at, problems| {
        let at = &at.field("turn");
        from_pb(problem::required(request.turn, "the request of a Continue", at, problems)?, at, problems)
    })
}

/// A Continue inside another request.
pub(super) fn from_pb(request: pb::ContinueRequest, at: &Path<'_>, problems: &mut Problems) -> Option<Continue> {
    use pb::continue_request::{From as PbFrom, Input as PbInput};
    let choices = "`exchange`, `thread` or `uncaptured_prefix`";
    let from = match problem::required(request.from, choices, &at.field("from"), problems) {
        None => None,
        Some(PbFrom::Exchange(point)) => {
            thread::exchange_point_from_pb(&point, &at.field("exchange"), problems).map(From::Exchange)
        }
        Some(PbFrom::Thread(point)) => thread::point_from_pb(point, &at.field("thread"), problems).map(From::Thread),
        Some(PbFrom::UncapturedPrefix(prefix)) => {
            prefix_from_pb(prefix, &at.field("uncaptured_prefix"), problems).map(From::Uncaptured)
        }
    };
    let input = problem::required(request.input, "`request` or `tool_results`", &at.field("input"), problems);
    let input = match input {
        None => None,
        Some(PbInput::Request(request)) => {
            execution::from_pb(request, &at.field("request"), problems).map(Input::Request)
        }
        Some(PbInput::ToolResults(results)) => {
            execution::results_from_pb(results, &at.field("tool_results"), problems).map(Input::Results)
        }
    };
    Some(Continue { from: from?, input: input? })
}

fn prefix_from_pb(prefix: pb::UncapturedPrefix, at: &Path<'_>, problems: &mut Problems) -> Option<Prefix> {
    let rendered = at.field("rendered_messages");
    if prefix.rendered_messages.is_empty() {
        problems.add(&rendered, "must be the messages that the run's response gave");
    }
    let most = problems.bounds().transcript;
    let messages = message::list_from_pb(prefix.rendered_messages, most, &rendered, problems);
    let answer = at.field("assistant");
    let assistant = problem::required(prefix.assistant, "the answer of the run", &answer, problems)
        .and_then(|assistant| message::from_pb(assistant, &answer, problems))
        .filter(|assistant| {
            let is_assistant = assistant.role == Role::Assistant;
            if !is_assistant {
                problems.add(&answer.field("role"), "must be ROLE_ASSISTANT");
            }
            is_assistant
        });
    let run_id = id::optional(&prefix.run_id, &at.field("run_id"), problems);
    let facts = match prefix.facts {
        None => Some(None),
        Some(facts) => facts_from_pb(facts, &at.field("facts"), problems).map(Some),
    };
    let (run_id, facts) = (run_id?, facts?);
    if let (Some(one), Some(other)) = (&run_id, facts.as_ref().and_then(|facts| facts.run_id.as_ref()))
        && one != other
    {
        problems.add(&at.field("facts").field("run_id"), "is not `run_id`: set one of the two");
        return None;
    }
    Some(Prefix { messages: messages?, assistant: assistant?, run_id, facts })
}

fn facts_from_pb(facts: pb::RecordedFacts, at: &Path<'_>, problems: &mut Problems) -> Option<Facts> {
    if facts.message_index != 0 {
        problems.add(&at.field("message_index"), "must be 0: they are about the answer");
    }
    record::facts_from_pb(facts, at, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> pb::continue_request::Input {
        let request = pb::ExecutionRequest { text: "hello".to_owned(), ..pb::ExecutionRequest::default() };
        pb::continue_request::Input::Request(request)
    }

    fn paths(request: pb::ContinueRequest) -> Vec<String> {
        continue_from_pb(request).unwrap_err().fields.into_iter().map(|field| field.path).collect()
    }

    fn prefix(prefix: pb::UncapturedPrefix) -> pb::ContinueRequest {
        let from = Some(pb::continue_request::From::UncapturedPrefix(prefix));
        pb::ContinueRequest { from, input: Some(request()) }
    }

    fn said(role: Role) -> pb::Message {
        message::to_pb(Message::text(role, "x"))
    }

    #[test]
    fn both_sides_must_be_there() {
        assert_eq!(paths(pb::ContinueRequest::default()), ["from", "input"]);
        let streamed = pb::StreamContinueRequest { turn: Some(pb::ContinueRequest::default()) };
        let fault = stream_continue_from_pb(streamed).unwrap_err();
        assert_eq!(fault.fields[0].path, "turn.from");
        assert_eq!(stream_continue_from_pb(Default::default()).unwrap_err().fields[0].path, "turn");
    }

    #[test]
    fn results_may_come_to_a_thread() {
        let results = pb::ToolResults {
            results: vec![pb::ToolResult {
                call_id: "c".to_owned(),
                parts: vec![pb::Part {
                    kind: Some(pb::part::Kind::Text(pb::TextPart::default())),
                    ..pb::Part::default()
                }],
                ..pb::ToolResult::default()
            }],
            ..pb::ToolResults::default()
        };
        let point = pb::ThreadPoint { thread_id: "t".to_owned(), ..pb::ThreadPoint::default() };
        let read = continue_from_pb(pb::ContinueRequest {
            from: Some(pb::continue_request::From::Thread(point)),
            input: Some(pb::continue_request::Input::ToolResults(results)),
        });
        let Ok(Continue { from: From::Thread(_), input: Input::Results(results) }) = read else { panic!("{read:?}") };
        assert_eq!(results.results.len(), 1);
    }

    #[test]
    fn an_uncaptured_prefix_is_what_a_response_gave() {
        let facts = pb::RecordedFacts { run_id: "r".to_owned(), ..pb::RecordedFacts::default() };
        let read = continue_from_pb(prefix(pb::UncapturedPrefix {
            rendered_messages: vec![said(Role::User)],
            assistant: Some(said(Role::Assistant)),
            run_id: "r".to_owned(),
            facts: Some(facts.clone()),
        }));
        let Ok(Continue { from: From::Uncaptured(read), .. }) = read else { panic!("{read:?}") };
        assert_eq!((read.messages.len(), read.run_id), (1, Some(RunId::new("r"))));

        assert_eq!(
            paths(prefix(pb::UncapturedPrefix::default())),
            ["uncaptured_prefix.rendered_messages", "uncaptured_prefix.assistant"]
        );
        let wrong = pb::UncapturedPrefix {
            rendered_messages: vec![said(Role::User)],
            assistant: Some(said(Role::User)),
            run_id: "other".to_owned(),
            facts: Some(pb::RecordedFacts { message_index: 1, ..facts }),
        };
        let expected = [
            "uncaptured_prefix.assistant.role",
            "uncaptured_prefix.facts.message_index",
            "uncaptured_prefix.facts.run_id",
        ];
        assert_eq!(paths(prefix(wrong)), expected);
    }
}
