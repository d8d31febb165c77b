//! Frames of a coordination's stream. Knows nothing of when they are sent.

use std::time::Duration;

use crate::callback::Raised;
use crate::coordination::{Action, Outcome, OutcomeState, clip};
use crate::error::{Code, Error, Result};
use crate::exchange::Exchange;
use crate::generation::Generated;
use crate::pb;
use crate::pb::coordinate_request::Frame;
use crate::request::{Input, Request};
use crate::tool::ToolResult;

pub(crate) fn frame(frame: Frame) -> pb::CoordinateRequest {
    pb::CoordinateRequest { frame: Some(frame) }
}

pub(crate) fn cancel_frame(message: &str) -> pb::CoordinateRequest {
    frame(Frame::Cancel(pb::CoordinationCancel { message: clip(message, 1024) }))
}

pub(crate) fn suspend_frame() -> pb::CoordinateRequest {
    frame(Frame::Suspend(pb::CoordinationSuspend {}))
}

/// The answer to a decision; nothing where it is left for later. `offered` writes a request with the tools that the coordination offers.
pub(crate) fn next_action(
    id: &str,
    action: Action,
    offered: impl FnOnce(&Request) -> Result<pb::ExecutionRequest>,
) -> Result<Option<pb::NextAction>> {
    let said = match action {
        Action::Suspend => return Ok(None),
        Action::Stop => pb::next_action::Action::Stop(pb::StopAction {}),
        Action::Fail(fail) => pb::next_action::Action::Fail(fail.0),
        Action::Continue(turn) => {
            let input = match &turn.input {
                Input::Request(request) => pb::next_turn::Input::Request(offered(request)?),
                Input::Results(results) => pb::next_turn::Input::ToolResults(pb::ToolResults {
                    results: ToolResult::all_to_raw(results),
                    ..pb::ToolResults::default()
                }),
            };
            pb::next_action::Action::Turn(pb::NextTurn {
                input: Some(input),
                unanswered_tools: turn.unanswered_tools.to_raw(),
                detach_thread: turn.detach_thread,
            })
        }
    };
    Ok(Some(pb::NextAction { decision_id: id.to_owned(), action: Some(said) }))
}

/// The answer of a callback that failed: the type of its error is the reason, unless it says its own.
pub(crate) fn failure(id: &str, raised: &Raised) -> pb::NextAction {
    let fail = match raised.cause.downcast_ref::<Error>() {
        Some(known) if known.cause.is_none() => pb::FailAction {
            code: if known.code == Code::Ok { Code::Unknown as i32 } else { known.code as i32 },
            message: clip(&known.message, 4096),
            reason: known.reason.clone(),
            metadata: known.metadata.iter().take(64).map(|(key, value)| (clip(key, 63), clip(value, 1024))).collect(),
            ..pb::FailAction::default()
        },
        _ => pb::FailAction {
            code: Code::Unknown as i32,
            message: clip(&raised.cause.to_string(), 4096),
            reason: reason_of(raised.kind),
            ..pb::FailAction::default()
        },
    };
    pb::NextAction { decision_id: id.to_owned(), action: Some(pb::next_action::Action::Fail(fail)) }
}

/// A type as a reason: `reviews::ReviewerGone` is REVIEWER_GONE. Types that hold any error say nothing.
fn reason_of(kind: &str) -> String {
    let whole = kind.split('<').next().unwrap_or_default();
    if whole.starts_with("alloc::") || whole.starts_with('&') || whole.starts_with("anyhow::") {
        return String::new();
    }
    let name = whole.rsplit("::").next().unwrap_or_default();
    let mut made = String::new();
    let mut low = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && low {
            made.push('_');
        }
        low = !letter.is_ascii_uppercase();
        made.push(if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' });
    }
    clip(&made, 63)
}

pub(crate) fn generated(id: &str, answer: Generated) -> pb::Generated {
    let outcome = pb::generated::Outcome::Answer(answer.into_raw());
    pb::Generated { generation_id: id.to_owned(), outcome: Some(outcome) }
}

/// What a call failed with. An [`Error`] says its own code, UNAVAILABLE for instance where another try may help; of everything else only the type
/// is told, since its text may have what must not be on record.
pub(crate) fn generation_failed(id: &str, raised: &Raised) -> pb::Generated {
    let failure = match raised.cause.downcast_ref::<Error>() {
        Some(known) if known.code != Code::Ok && known.cause.is_none() => pb::GenerationFailure {
            code: known.code as i32,
            message: clip(&known.message, 1024),
            provider_code: known.reason.clone(),
            retry_after: known.retry_after.map(duration),
            ..pb::GenerationFailure::default()
        },
        _ => pb::GenerationFailure {
            code: Code::Unknown as i32,
            message: clip(raised.kind, 1024),
            ..pb::GenerationFailure::default()
        },
    };
    pb::Generated { generation_id: id.to_owned(), outcome: Some(pb::generated::Outcome::Failure(failure)) }
}

/// Results of a batch, all or some.
pub(crate) fn results(batch: &pb::ToolsNeeded, results: Vec<pb::ToolResult>) -> pb::CoordinateRequest {
    frame(Frame::ToolResults(pb::BatchResults {
        batch_id: batch.batch_id.clone(),
        run_id: batch.run_id.clone(),
        results,
    }))
}

/// A length of time as it goes out; one that is too long for that is as long as can be.
pub(crate) fn duration(of: Duration) -> prost_types::Duration {
    prost_types::Duration::try_from(of).unwrap_or(prost_types::Duration { seconds: 315_576_000_000, nanos: 0 })
}

/// A length of time as it came; one that is negative is none.
pub(crate) fn wait_of(raw: Option<prost_types::Duration>) -> Option<Duration> {
    raw.map(|after| Duration::try_from(after).unwrap_or_default())
}

/// Why an answer changed nothing.
pub(crate) fn rejection(rejected: pb::AnswerRejected, coordination_id: &str) -> Error {
    let mut made = Error::from_raw(rejected.error.unwrap_or_default());
    made.metadata.entry("coordination_id".to_owned()).or_insert_with(|| coordination_id.to_owned());
    made.retry_after = wait_of(rejected.retry_after);
    made
}

/// How it ended.
pub(crate) fn outcome(ended: pb::CoordinationEnded, coordination_id: &str) -> Result<Outcome> {
    use pb::coordination_ended::Outcome as How;
    let undelivered = ended.undelivered_exchange.map(|raw| Box::new(Exchange::from_raw(raw)));
    let state = match ended.outcome {
        Some(How::Stopped(_)) => OutcomeState::Stopped,
        Some(How::Exhausted(_)) => OutcomeState::Exhausted,
        Some(How::Failed(failed)) => {
            return Err(Error { undelivered, ..Error::from_raw(failed.error.unwrap_or_default()) });
        }
        Some(How::Cancelled(cancelled)) => {
            return Err(Error { undelivered, ..Error::from_raw(cancelled.error.unwrap_or_default()) });
        }
        // A newer server may have more ways than this package knows.
        None => {
            let message = "the coordination ended in a way that this client does not know: read it by its id";
            return Err(Error { undelivered, ..Error::new(Code::Unknown, message) });
        }
    };
    Ok(Outcome { state, coordination_id: coordination_id.to_owned(), undelivered })
}

/// What a stream says that ends before its coordination, and was not told to.
pub(crate) fn left(frame: &pb::CoordinationDetached) -> Error {
    let (code, when) = match frame.reason() {
        pb::DetachReason::TakenOver => (Code::Aborted, "where it is not attached already"),
        _ => (Code::Unavailable, "again later"),
    };
    let id = &frame.coordination_id;
    // A reason of a newer server is one without a word here.
    let reason = frame.reason().as_str_name().trim_start_matches("DETACH_REASON_");
    let message =
        format!("coordination {id} was detached ({reason}) and goes on without this stream; attach to it {when}");
    Error::new(code, message)
        .with_reason(reason)
        .with_metadata("coordination_id", id)
        .with_metadata("pending_id", &frame.pending_id)
}
