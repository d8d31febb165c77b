//! What a coordination tells: each frame of its stream, and the parts of them that calls answer with too. It must not know who listens.

use super::super::{contract, execution, fault, id, message, moment, progress, run, tool};
use super::view;
use crate::app::coordination::told::{
    Accepted, DecisionNeeded, DetachReason, Ended, GenerationNeeded, Pending, Told, ToolsNeeded, View, What,
};
use crate::app::run::RunState;
use crate::domain::coordination::{CallerFailure, Failure, Outcome};
use crate::domain::fault::{Fault, Field};
use crate::domain::run::State;
use crate::domain::settings::ContractChoice;
use crate::grpc::{outcome, pb};

#[cfg(test)]
mod tests;

/// One frame.
pub fn to_pb(told: Told) -> pb::CoordinateResponse {
    use pb::coordinate_response::Frame;
    let frame = match told.what {
        What::Started { attached, now } => Frame::Started(started_to_pb(attached, &now)),
        What::DecisionNeeded(needed) => Frame::DecisionNeeded(decision_to_pb(*needed)),
        What::ToolsNeeded(needed) => Frame::ToolsNeeded(tools_to_pb(*needed)),
        What::GenerationNeeded(needed) => Frame::GenerationNeeded(generation_to_pb(*needed)),
        What::Accepted(accepted) => Frame::Accepted(accepted_to_pb(accepted)),
        What::Rejected { id, fault } => Frame::Rejected(rejected_to_pb(id, &fault)),
        What::RunStarted(run_id) => Frame::RunStarted(pb::RunStarted { run_id: run_id.to_string(), attached: false }),
        What::Attempt { number, kind, backend_id, model } => {
            let kind = run::attempt_kind_to_pb(kind).into();
            Frame::Attempt(pb::AttemptStarted { number, kind, backend_id, model })
        }
        What::Warning(warning) => Frame::Warning(execution::warning_to_pb(warning)),
        What::Delta(delta) => Frame::Delta(progress::delta_to_pb(delta)),
        What::Heartbeat(now) => Frame::Heartbeat(pb::CoordinationHeartbeat { time: Some(moment::to_pb(now)) }),
        What::Draining(until) => Frame::Draining(pb::CoordinationDraining { deadline: Some(moment::to_pb(until)) }),
        What::Detached { reason, now } => Frame::Detached(detached_to_pb(reason, &now)),
        What::Ended(ended) => Frame::Ended(ended_to_pb(*ended)),
    };
    pb::CoordinateResponse { sequence: told.sequence, frame: Some(frame) }
}

fn started_to_pb(attached: bool, now: &View) -> pb::CoordinationStarted {
    let coordination = &now.coordination;
    pb::CoordinationStarted {
        coordination_id: view::id_text(now),
        attached,
        state: view::state_to_pb(&coordination.state).into(),
        pending_id: id::text(coordination.state.pending_id()),
        exchange_id: id::text(coordination.exchange),
        thread_id: id::text(coordination.thread.as_ref()),
        run_id: id::text(coordination.state.run_id()),
        turns_started: coordination.turns_started,
        turns_remaining: coordination.turns_remaining(),
        last_sequence: coordination.last_sequence,
    }
}

fn detached_to_pb(reason: DetachReason, now: &View) -> pb::CoordinationDetached {
    let reason = match reason {
        DetachReason::TakenOver => pb::DetachReason::TakenOver,
        DetachReason::Suspended => pb::DetachReason::Suspended,
        DetachReason::HalfClosed => pb::DetachReason::HalfClosed,
        DetachReason::Draining => pb::DetachReason::Draining,
    };
    let (pending_id, pending_call_ids) = view::pending(now);
    pb::CoordinationDetached {
        reason: reason.into(),
        coordination_id: view::id_text(now),
        state: view::state_to_pb(&now.coordination.state).into(),
        pending_id,
        pending_call_ids,
        expire_time: view::expire_time(now),
    }
}

/// What a coordination waits for, in full.
pub(super) fn pending_to_pb(pending: Pending) -> pb::coordination::Pending {
    match pending {
        Pending::Decision(needed) => pb::coordination::Pending::DecisionNeeded(decision_to_pb(*needed)),
        Pending::Tools(needed) => pb::coordination::Pending::ToolsNeeded(tools_to_pb(*needed)),
        Pending::Generation(needed) => pb::coordination::Pending::GenerationNeeded(generation_to_pb(*needed)),
    }
}

fn decision_to_pb(needed: DecisionNeeded) -> pb::DecisionNeeded {
    let exchange = &needed.exchange.exchange;
    let run = needed.run.map(|run| {
        let waits = run.state == State::PendingTools && run.exchange == Some(exchange.id);
        let pending = waits.then(|| exchange.clone());
        outcome::run(RunState { run, pending })
    });
    pb::DecisionNeeded {
        decision_id: needed.id.to_string(),
        exchange: Some(outcome::exchange(needed.exchange)),
        starting: needed.starting,
        run,
        turns_started: needed.turns_started,
        turns_remaining: needed.turns_remaining,
        thread_id: id::text(needed.thread),
        interrupted_run_id: id::text(needed.interrupted),
        expire_time: needed.expires_at.map(moment::to_pb),
    }
}

fn tools_to_pb(needed: ToolsNeeded) -> pb::ToolsNeeded {
    let call = |(call, tool): (_, Option<_>)| pb::NeededToolCall {
        call: Some(message::call_to_pb(call)),
        tool: tool.map(tool::to_pb),
    };
    pb::ToolsNeeded {
        batch_id: needed.id.to_string(),
        run_id: needed.run_id.to_string(),
        exchange: Some(outcome::exchange(needed.exchange)),
        calls: needed.calls.into_iter().map(call).collect(),
        results: needed.results.into_iter().map(message::result_to_pb).collect(),
        round: needed.round,
        rounds_remaining: needed.rounds_remaining,
    }
}

fn generation_to_pb(needed: GenerationNeeded) -> pb::GenerationNeeded {
    pb::GenerationNeeded {
        generation_id: needed.id.to_string(),
        run_id: needed.run_id.to_string(),
        number: needed.number,
        kind: run::attempt_kind_to_pb(needed.kind).into(),
        parent_exchange_id: id::text(needed.parent),
        messages: message::list_to_pb(needed.messages),
        omitted_messages: needed.omitted_messages,
        backend_id: needed.backend_id,
        model: needed.model,
        parameters: Some(execution::parameters_to_pb(needed.parameters)),
        tools: Some(tool::set_to_pb(needed.tools)),
        tool_choice: tool::choice_to_pb(needed.tool_choice),
        contract: Some(contract::to_pb(ContractChoice::Inline(needed.contract))),
        session_id: needed.session_id.unwrap_or_default(),
        effective_settings: execution::settings_to_pb(needed.settings),
        expire_time: needed.expires_at.map(moment::to_pb),
    }
}

/// An answer is on record.
pub fn accepted_to_pb(accepted: Accepted) -> pb::AnswerAccepted {
    let batch = accepted.batch.map(|(results, open)| pb::BatchProgress {
        results: results.into_iter().map(message::result_to_pb).collect(),
        pending_call_ids: open.iter().map(ToString::to_string).collect(),
    });
    pb::AnswerAccepted {
        id: accepted.id,
        replayed: accepted.replayed,
        run_id: id::text(accepted.run_id),
        turns_started: accepted.turns_started,
        turns_remaining: accepted.turns_remaining,
        batch,
    }
}

/// An answer changed nothing.
pub fn rejected_to_pb(id: String, fault: &Fault) -> pb::AnswerRejected {
    let field = |field: &Field| pb::FieldProblem { field: field.path.clone(), message: field.message.clone() };
    pb::AnswerRejected {
        id,
        error: Some(fault::to_pb(fault)),
        fields: fault.fields.iter().map(field).collect(),
        retry_after: fault.retry_after_ms.map(moment::duration_to_pb),
    }
}

/// It is over.
pub fn ended_to_pb(ended: Ended) -> pb::CoordinationEnded {
    pb::CoordinationEnded {
        outcome: Some(outcome_to_pb(ended.outcome)),
        undelivered_exchange: ended.undelivered.map(outcome::exchange),
    }
}

/// How it ended.
pub(super) fn outcome_to_pb(outcome: Outcome) -> pb::coordination_ended::Outcome {
    use pb::coordination_ended::Outcome as Pb;
    match outcome {
        Outcome::Stopped => Pb::Stopped(pb::CoordinationStopped {}),
        Outcome::Exhausted => Pb::Exhausted(pb::CoordinationExhausted {}),
        Outcome::Failed(Failure::Execution(fault)) => {
            Pb::Failed(pb::CoordinationFailed { error: Some(fault::to_pb(&fault)), caller_failure: None })
        }
        Outcome::Failed(Failure::Caller(failure)) => Pb::Failed(pb::CoordinationFailed {
            error: Some(pb::ErrorStatus {
                code: failure.code,
                message: failure.message.clone(),
                reason: failure.reason.clone(),
                metadata: failure.metadata.clone(),
            }),
            caller_failure: Some(caller_failure_to_pb(failure)),
        }),
        Outcome::Cancelled(fault) => Pb::Cancelled(pb::CoordinationCancelled { error: Some(fault::to_pb(&fault)) }),
    }
}

fn caller_failure_to_pb(failure: CallerFailure) -> pb::FailAction {
    pb::FailAction {
        code: failure.code,
        message: failure.message,
        reason: failure.reason,
        domain: failure.domain,
        metadata: failure.metadata,
        details_json: failure.details_json,
    }
}
