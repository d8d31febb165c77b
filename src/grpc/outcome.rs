//! From what came of a call to its answer. It must not look anything up.

use std::sync::Arc;

use prost::Message;

use crate::app::explain::Explained;
use crate::app::fork::Branched;
use crate::app::probe::Probed;
use crate::app::record::Recorded;
use crate::app::run::RunState;
use crate::app::thread::TurnSummary;
use crate::app::turn::{Detailed, Outcome, ThreadState};
use crate::domain::exchange::Exchange;
use crate::domain::fault::Fault;
use crate::domain::id::RunId;
use crate::domain::prepared::Prepared;

use super::convert::record::Facts;
use super::convert::thread::{Pending, Turn};
use super::convert::{contract, exchange, execution, fault, id, message, moment, prepare, record, run, thread, usage};
use super::pb;
use super::streamed::Parts;

/// An exchange.
pub(super) fn exchange(detailed: Detailed) -> pb::Exchange {
    exchange::to_pb(detailed.exchange, detailed.offered, detailed.standing)
}

/// A thread.
pub(super) fn thread(state: ThreadState) -> pb::Thread {
    let pending = state.pending.and_then(|(run_id, exchange)| {
        let calls = exchange.assistant.tool_calls().cloned().collect();
        Some(Pending { run_id: run_id.or(exchange.run_id)?, exchange: exchange.id, calls })
    });
    thread::to_pb(state.thread, state.head, pending)
}

/// A run.
pub(super) fn run(state: RunState) -> pb::Run {
    let pending = state.pending.iter().flat_map(|exchange| exchange.assistant.tool_calls()).cloned().collect();
    let now = state.run.state;
    run::to_pb(state.run, now, pending)
}

/// A turn of a list.
pub(super) fn turn(turn: TurnSummary) -> pb::Turn {
    thread::turn_to_pb(Turn {
        number: turn.last.turn,
        run_id: turn.last.run_id.clone(),
        exchange: turn.last.id,
        exchange_count: turn.exchange_count,
        user_text: turn.user_text,
        assistant_text: turn.last.assistant.joined_text(),
        stop_reason: turn.last.stop_reason,
        created_at: turn.last.created_at,
        is_erased: turn.is_erased,
    })
}

/// The parts of an answer that keeps an exchange.
fn kept(outcome: &Outcome) -> (Option<pb::Exchange>, pb::Run, Option<pb::Thread>) {
    let last = outcome.exchange.as_ref().filter(|detailed| outcome.run.exchange == Some(detailed.exchange.id));
    let waits = outcome.run.state == crate::domain::run::State::PendingTools;
    let pending = last.filter(|_| waits).map(|detailed| detailed.exchange.clone());
    (
        outcome.exchange.clone().map(exchange),
        run(RunState { run: outcome.run.clone(), pending }),
        outcome.thread.clone().map(thread),
    )
}

/// What came of a Run.
pub(super) fn of_run(outcome: &Outcome, include_rendered: bool) -> pb::RunResponse {
    let (exchange, run, _) = kept(outcome);
    let mut response = pb::RunResponse { run: Some(run), replayed: outcome.replayed, ..pb::RunResponse::default() };
    if let Some(answer) = &outcome.answer {
        response.text = answer.assistant.joined_text();
        response.assistant = Some(message::to_pb(answer.assistant.clone()));
        response.stop_reason = run::stop_reason_to_pb(answer.stop_reason).into();
        response.stop_reason_raw.clone_from(&answer.stop_reason_raw);
        response.validation = Some(contract::validation_to_pb(answer.validation.clone(), &response.text));
        response.effective_settings = execution::settings_to_pb(answer.settings.clone());
        response.warnings = execution::warnings_to_pb(answer.warnings.clone());
        if include_rendered {
            response.rendered_messages = message::list_to_pb(answer.rendered.clone());
        }
    }
    if let Some(exchange) = exchange {
        response.text.clone_from(&exchange.text);
        response.assistant.clone_from(&exchange.assistant);
        response.stop_reason = exchange.stop_reason;
        response.stop_reason_raw.clone_from(&exchange.stop_reason_raw);
        response.validation.clone_from(&exchange.validation);
        response.effective_settings.clone_from(&exchange.effective_settings);
        response.warnings.clone_from(&exchange.warnings);
        if include_rendered {
            response.rendered_messages.clone_from(&exchange.messages);
        }
        response.exchange = Some(exchange);
    }
    response
}

/// What came of a Capture.
pub(super) fn of_capture(outcome: &Outcome) -> pb::CaptureResponse {
    let (exchange, run, thread) = kept(outcome);
    pb::CaptureResponse { exchange, run: Some(run), thread, replayed: outcome.replayed }
}

/// What came of a Continue.
pub(super) fn of_continue(outcome: &Outcome) -> pb::ContinueResponse {
    let (exchange, run, thread) = kept(outcome);
    pb::ContinueResponse { exchange, run: Some(run), thread, replayed: outcome.replayed }
}

/// What came of a Fork. A single branch that failed is the failure of the call.
///
/// # Errors
/// Why the only branch failed; names its thread.
pub(super) fn of_fork(branched: Vec<Branched>, replayed: bool) -> Result<pb::ForkResponse, Fault> {
    let single = branched.len() == 1;
    let mut results = Vec::with_capacity(branched.len());
    for branch in branched {
        let thread_id = branch.thread.thread.id.clone();
        let mut result = pb::ForkResult { thread: Some(thread(branch.thread)), ..pb::ForkResult::default() };
        match branch.outcome {
            None => {}
            Some(Ok(outcome)) => {
                let (exchange, run, _) = kept(&outcome);
                result.exchange = exchange;
                result.run = Some(run);
            }
            Some(Err(fault)) if single => return Err(fault.with("thread_id", thread_id)),
            Some(Err(fault)) => result.error = Some(fault::to_pb(&fault)),
        }
        results.push(result);
    }
    Ok(pb::ForkResponse { results, replayed })
}

/// What would be executed.
pub(super) fn of_prepare(prepared: &Prepared, explained: Explained) -> pb::PrepareResponse {
    pb::PrepareResponse {
        prepared_id: prepared.id.to_string(),
        expire_time: Some(moment::to_pb(prepared.expires_at)),
        explanation: Some(prepare::explained_to_pb(explained).0),
    }
}

/// What a Probe brought.
pub(super) fn of_probe(run_id: &RunId, probed: &Probed) -> pb::ProbeResponse {
    let answer = &probed.answer;
    let mut added = answer.rendered.clone();
    added.push(answer.assistant.clone());
    let facts = Facts {
        run_id: None,
        provider: Some(answer.responder.provider.clone()),
        model: Some(answer.responder.model.clone()),
        stop_reason: Some(answer.stop_reason),
        usage: Some(probed.usage.clone()),
        tools: Some(answer.offered.clone()),
    };
    let promotion = record::promotion_to_pb(probed.from, added.clone(), facts, std::collections::BTreeMap::new());
    let text = answer.assistant.joined_text();
    pb::ProbeResponse {
        messages: message::list_to_pb(added),
        stop_reason: run::stop_reason_to_pb(answer.stop_reason).into(),
        stop_reason_raw: answer.stop_reason_raw.clone(),
        usage: Some(usage::to_pb(probed.usage.clone())),
        run_id: run_id.to_string(),
        validation: Some(contract::validation_to_pb(answer.validation.clone(), &text)),
        text,
        effective_settings: execution::settings_to_pb(answer.settings.clone()),
        warnings: execution::warnings_to_pb(answer.warnings.clone()),
        observations: run::observations_to_pb(probed.observations.clone()),
        promotion: Some(promotion),
    }
}

/// What was stored and what was there.
pub(super) fn of_record(recorded: Recorded) -> pb::RecordResponse {
    let index = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
    let count = |matched: bool| index(recorded.exchanges.iter().filter(|exchange| exchange.matched == matched).count());
    let exchanges = recorded.exchanges.iter().map(|exchange| pb::RecordedExchange {
        exchange_id: exchange.id.to_string(),
        run_id: id::text(exchange.run_id.as_ref()),
        message_index: index(exchange.message_index),
        matched: exchange.matched,
    });
    let ignored = recorded.ignored_facts.iter().map(|(message, fields)| pb::IgnoredFacts {
        message_index: index(*message),
        fields: fields.iter().map(|field| (*field).to_owned()).collect(),
    });
    pb::RecordResponse {
        exchanges: exchanges.collect(),
        exchange_id: id::text(recorded.exchanges.last().map(|exchange| exchange.id)),
        stored_count: count(false),
        matched_count: count(true),
        ignored_facts: ignored.collect(),
        thread: recorded.thread.map(thread),
        replayed: recorded.replayed,
    }
}

/// What gRPC clients take by default, less what is around the messages.
const TAKEN_BY_DEFAULT: usize = (4 << 20) - (64 << 10);

/// A page of an inspected exchange, and the depth of the first exchange that did not fit any more. Every client must be able to read it, so a
/// page ends before it is too large; one exchange that is too large by itself is a page all the same.
pub(super) fn of_inspect(
    detailed: Option<Detailed>,
    exchanges: &[Arc<Exchange>],
) -> (pb::InspectResponse, Option<u64>) {
    let (mut page, begun) = begin(detailed);
    let left_out = fill(begun, exchanges, |part, _| {
        page.messages.extend(part.messages);
        page.path.extend(part.path);
    });
    (page, left_out)
}

/// The same as one of the pages of a stream.
pub(super) fn of_stream_inspect(
    detailed: Option<Detailed>,
    exchanges: &[Arc<Exchange>],
) -> (pb::StreamInspectResponse, Option<u64>) {
    let (page, begun) = begin(detailed);
    let mut parts = Parts::default();
    let left_out = fill(begun, exchanges, |part, len| parts.push(&part, len));
    (pb::StreamInspectResponse::new(page, parts), left_out)
}

/// What a page begins with: how long it is, and whether it says something.
type Begun = (usize, bool);

fn begin(detailed: Option<Detailed>) -> (pb::InspectResponse, Begun) {
    let page = pb::InspectResponse { exchange: detailed.map(exchange), ..pb::InspectResponse::default() };
    let begun = (page.encoded_len(), page.exchange.is_some());
    (page, begun)
}

/// Gives each exchange that has room after what the page begins with as a page of its own, with its length.
fn fill(
    (begun, mut has_something): Begun,
    exchanges: &[Arc<Exchange>],
    mut put: impl FnMut(pb::InspectResponse, usize),
) -> Option<u64> {
    let mut room = TAKEN_BY_DEFAULT.saturating_sub(begun);
    for exchange in exchanges {
        let said = exchange.messages.iter().chain([&exchange.assistant]);
        // What was erased has no answer either, not an empty one.
        let messages: Vec<_> = said.filter(|_| exchange.erased.is_none()).map(message::shared_to_pb).collect();
        let step = pb::PathStep {
            exchange_id: exchange.id.to_string(),
            run_id: id::text(exchange.run_id.as_ref()),
            turn: exchange.turn,
            message_count: u32::try_from(messages.len()).unwrap_or(u32::MAX),
            erased: exchange.erased.is_some(),
        };
        let part = pb::InspectResponse { messages, path: vec![step], ..pb::InspectResponse::default() };
        let len = part.encoded_len();
        if has_something && len > room {
            return Some(exchange.depth);
        }
        room = room.saturating_sub(len);
        has_something = true;
        put(part, len);
    }
    None
}
