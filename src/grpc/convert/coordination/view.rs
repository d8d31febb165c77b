//! A coordination as callers see it. It must not know what it waits for in full: that is told as in its stream.

use super::super::{id, moment, spend};
use super::told;
use crate::app::coordination::Whole;
use crate::app::coordination::told::View;
use crate::domain::coordination::{End, Outcome, State};
use crate::domain::id::ExchangeId;
use crate::domain::run::OnDisconnect;
use crate::grpc::pb;

/// Before each word of a state.
const STATE: &str = "COORDINATION_STATE_";

/// A coordination with what it waits for, and how it ended.
pub fn whole_to_pb(whole: Whole) -> pb::Coordination {
    let mut coordination = to_pb(whole.view);
    coordination.pending = whole.pending.map(told::pending_to_pb);
    if let Some(ended) = whole.ended {
        coordination.ended = Some(told::ended_to_pb(ended));
    }
    coordination
}

/// A coordination without the content of what it waits for. A result that was not delivered is named and not shown.
pub fn to_pb(view: View) -> pb::Coordination {
    let coordination_id = id_text(&view);
    let (pending_id, pending_call_ids) = pending(&view);
    let expire_time = expire_time(&view);
    let state = state_to_pb(&view.coordination.state).into();
    let View { coordination, attached, ephemeral: _ } = view;
    pb::Coordination {
        coordination_id,
        state,
        attached,
        pending_id,
        pending_call_ids,
        pending: None,
        start_exchange_id: id::text(coordination.start),
        exchange_id: id::text(coordination.exchange),
        active_run_id: id::text(coordination.state.run_id()),
        interrupted_run_id: id::text(coordination.interrupted.as_ref()),
        additional_turns: coordination.terms.additional_turns,
        turns_started: coordination.turns_started,
        turns_remaining: coordination.turns_remaining(),
        tool_round_limit: coordination.terms.tool_round_limit,
        on_disconnect: on_disconnect_to_pb(coordination.terms.on_disconnect).into(),
        deadline: coordination.terms.deadline.map(moment::to_pb),
        decision_timeout: coordination.terms.decision_timeout_ms.map(moment::duration_to_pb),
        expire_time,
        fingerprint: coordination.fingerprint.to_string(),
        last_sequence: coordination.last_sequence,
        ended: coordination.state.end().map(named_end_to_pb),
        thread_id: id::text(coordination.thread),
        labels: coordination.labels,
        create_time: Some(moment::to_pb(coordination.created_at)),
        state_time: Some(moment::to_pb(coordination.state_at)),
        update_time: Some(moment::to_pb(coordination.updated_at)),
        spend_limit: spend::limit_to_pb(&coordination.terms.spend_limit),
        spent: Some(spend::spent_to_pb(&coordination.spent)),
    }
}

fn named_end_to_pb(end: &End) -> pb::CoordinationEnded {
    let named = |exchange: ExchangeId| pb::Exchange { exchange_id: exchange.to_string(), ..pb::Exchange::default() };
    pb::CoordinationEnded {
        outcome: Some(told::outcome_to_pb(end.outcome.clone())),
        undelivered_exchange: end.undelivered.map(named),
    }
}

/// Its id; empty when nobody could use it.
pub(super) fn id_text(view: &View) -> String {
    if view.ephemeral { String::new() } else { view.coordination.id.to_string() }
}

/// The id of what it waits for, and the calls that have no result yet.
pub(super) fn pending(view: &View) -> (String, Vec<String>) {
    let state = &view.coordination.state;
    let open = match state {
        State::AwaitingTools(batch) => batch.open().iter().map(ToString::to_string).collect(),
        State::TurnRunning(_) | State::AwaitingDecision(_) | State::AwaitingGeneration(_) | State::Ended(_) => {
            Vec::new()
        }
    };
    (id::text(state.pending_id()), open)
}

/// When it is cancelled unless something comes before.
pub(super) fn expire_time(view: &View) -> Option<prost_types::Timestamp> {
    view.coordination.expiry(view.attached).map(|(at, _)| moment::to_pb(at))
}

/// A state in an answer.
pub(super) fn state_to_pb(state: &State) -> pb::CoordinationState {
    match state {
        State::TurnRunning(_) => pb::CoordinationState::TurnRunning,
        State::AwaitingDecision(_) => pb::CoordinationState::AwaitingDecision,
        State::AwaitingTools(_) => pb::CoordinationState::AwaitingTools,
        State::AwaitingGeneration(_) => pb::CoordinationState::AwaitingGeneration,
        State::Ended(end) => match end.outcome {
            Outcome::Stopped => pb::CoordinationState::Stopped,
            Outcome::Exhausted => pb::CoordinationState::Exhausted,
            Outcome::Failed(_) => pb::CoordinationState::Failed,
            Outcome::Cancelled(_) => pb::CoordinationState::Cancelled,
        },
    }
}

/// The word of a state, as the domain has it.
pub(super) fn state_word(state: pb::CoordinationState) -> &'static str {
    let name = state.as_str_name();
    name.strip_prefix(STATE).unwrap_or(name)
}

fn on_disconnect_to_pb(on_disconnect: OnDisconnect) -> pb::OnDisconnect {
    match on_disconnect {
        OnDisconnect::Cancel => pb::OnDisconnect::Cancel,
        OnDisconnect::Finish => pb::OnDisconnect::Finish,
    }
}
