//! Stored form of coordinations. It must not know how one goes from state to state.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{Malformed, Twin, Word, exchange_id, hash, hash_bytes, id_bytes, required, stored, twin, words};
use crate::domain::coordination::{
    Batch, CallerFailure, Coordination, Decision, End, Failure, Generation, Outcome, PendingId, State, Terms, Turn,
};
use crate::domain::id::{CallId, CoordinationId, Moment, RunId, ThreadId};
use crate::domain::run::{AttemptKind, OnDisconnect};
use crate::domain::thread::{OnBusy, Unanswered};

stored!(Coordination, twin::Coordination);

words!(OnDisconnect, twin::OnDisconnect, [Cancel, Finish]);
words!(OnBusy, twin::OnBusy, [Reject, Fork, Enqueue, Interrupt]);
words!(Unanswered, twin::Unanswered, [Reject, Interrupt, Abandon]);

impl Twin<Coordination> for twin::Coordination {
    fn of(coordination: &Coordination) -> Self {
        Self {
            id: coordination.id.as_str().to_owned(),
            fingerprint: hash_bytes(&coordination.fingerprint),
            terms: Some(twin::Terms::of(&coordination.terms)),
            labels: coordination.labels.clone(),
            start: coordination.start.as_ref().map(id_bytes),
            exchange: coordination.exchange.as_ref().map(id_bytes),
            thread_id: coordination.thread.as_ref().map(|id| id.as_str().to_owned()),
            turns_started: coordination.turns_started,
            state: Some(twin::coordination::State::of(&coordination.state)),
            interrupted: coordination.interrupted.as_ref().map(|id| id.as_str().to_owned()),
            last_sequence: coordination.last_sequence,
            detached_at_ms: coordination.detached_at.map(|at| at.0),
            created_at_ms: coordination.created_at.0,
            state_at_ms: coordination.state_at.0,
            updated_at_ms: coordination.updated_at.0,
            spent: (!coordination.spent.is_nothing()).then(|| twin::Spent::of(&coordination.spent)),
        }
    }

    fn value(self) -> Result<Coordination, Malformed> {
        Ok(Coordination {
            id: CoordinationId::new(self.id),
            fingerprint: hash(&self.fingerprint, "fingerprint")?,
            terms: required(self.terms, "terms")?,
            labels: self.labels,
            start: self.start.map(|id| exchange_id(&id, "start")).transpose()?,
            exchange: self.exchange.map(|id| exchange_id(&id, "exchange")).transpose()?,
            thread: self.thread_id.map(ThreadId::new),
            turns_started: self.turns_started,
            state: required(self.state, "state")?,
            interrupted: self.interrupted.map(RunId::new),
            last_sequence: self.last_sequence,
            detached_at: self.detached_at_ms.map(Moment),
            created_at: Moment(self.created_at_ms),
            state_at: Moment(self.state_at_ms),
            updated_at: Moment(self.updated_at_ms),
            spent: self.spent.map(Twin::value).transpose()?.unwrap_or_default(),
        })
    }
}

impl Twin<Terms> for twin::Terms {
    fn of(terms: &Terms) -> Self {
        Self {
            additional_turns: terms.additional_turns,
            tool_round_limit: terms.tool_round_limit,
            deltas: terms.deltas,
            deadline_ms: terms.deadline.map(|at| at.0),
            decision_timeout_ms: terms.decision_timeout_ms,
            expiry_ms: terms.expiry_ms,
            on_disconnect: terms.on_disconnect.number(),
            on_busy: terms.on_busy.number(),
            unanswered: terms.unanswered.number(),
            omit_generation_history: terms.omit_generation_history,
            spend_limit: (!terms.spend_limit.is_none()).then(|| twin::SpendLimit::of(&terms.spend_limit)),
        }
    }

    fn value(self) -> Result<Terms, Malformed> {
        Ok(Terms {
            additional_turns: self.additional_turns,
            tool_round_limit: self.tool_round_limit,
            deltas: self.deltas,
            deadline: self.deadline_ms.map(Moment),
            decision_timeout_ms: self.decision_timeout_ms,
            expiry_ms: self.expiry_ms,
            on_disconnect: OnDisconnect::of_number(self.on_disconnect, "terms.on_disconnect")?,
            on_busy: OnBusy::of_number(self.on_busy, "terms.on_busy")?,
            unanswered: Unanswered::of_number(self.unanswered, "terms.unanswered")?,
            omit_generation_history: self.omit_generation_history,
            spend_limit: self.spend_limit.map(Twin::value).transpose()?.unwrap_or_default(),
        })
    }
}

impl Twin<State> for twin::coordination::State {
    fn of(state: &State) -> Self {
        match state {
            State::TurnRunning(turn) => Self::TurnRunning(twin::Turn::of(turn)),
            State::AwaitingDecision(decision) => Self::AwaitingDecision(twin::Decision::of(decision)),
            State::AwaitingTools(batch) => Self::AwaitingTools(twin::Batch::of(batch)),
            State::AwaitingGeneration(generation) => Self::AwaitingGeneration(twin::Generation::of(generation)),
            State::Ended(end) => Self::Ended(twin::End::of(end)),
        }
    }

    fn value(self) -> Result<State, Malformed> {
        Ok(match self {
            Self::TurnRunning(turn) => State::TurnRunning(turn.value()?),
            Self::AwaitingDecision(decision) => State::AwaitingDecision(decision.value()?),
            Self::AwaitingTools(batch) => State::AwaitingTools(batch.value()?),
            Self::AwaitingGeneration(generation) => State::AwaitingGeneration(generation.value()?),
            Self::Ended(end) => State::Ended(end.value()?),
        })
    }
}

impl Twin<Turn> for twin::Turn {
    fn of(turn: &Turn) -> Self {
        Self {
            run_id: turn.run_id.as_str().to_owned(),
            initial: turn.initial,
            rounds: turn.rounds,
            cancelled: turn.cancelled.as_ref().map(twin::Fault::of),
        }
    }

    fn value(self) -> Result<Turn, Malformed> {
        Ok(Turn {
            run_id: RunId::new(self.run_id),
            initial: self.initial,
            rounds: self.rounds,
            cancelled: self.cancelled.map(Twin::value).transpose()?,
        })
    }
}

impl Twin<Decision> for twin::Decision {
    fn of(decision: &Decision) -> Self {
        Self {
            id: decision.id.as_str().to_owned(),
            starting: decision.starting,
            result: decision.result,
            delivered: decision.delivered,
        }
    }

    fn value(self) -> Result<Decision, Malformed> {
        Ok(Decision {
            id: PendingId::given(self.id),
            starting: self.starting,
            result: self.result,
            delivered: self.delivered,
        })
    }
}

impl Twin<Batch> for twin::Batch {
    fn of(batch: &Batch) -> Self {
        let result = |(call, hash): (&CallId, _)| (call.as_str().to_owned(), hash_bytes(hash));
        Self {
            id: batch.id.as_str().to_owned(),
            turn: Some(twin::Turn::of(&batch.turn)),
            exchange: id_bytes(&batch.exchange),
            calls: calls(&batch.calls),
            results: batch.results.iter().map(result).collect(),
        }
    }

    fn value(self) -> Result<Batch, Malformed> {
        let result = |(call, bytes): (String, Bytes)| Ok((CallId::new(call), hash(&bytes, "awaiting_tools.results")?));
        Ok(Batch {
            id: PendingId::given(self.id),
            turn: required(self.turn, "awaiting_tools.turn")?,
            exchange: exchange_id(&self.exchange, "awaiting_tools.exchange")?,
            calls: call_ids(self.calls),
            results: self.results.into_iter().map(result).collect::<Result<BTreeMap<_, _>, _>>()?,
        })
    }
}

/// Ids of calls as text.
pub(super) fn calls(ids: &[CallId]) -> Vec<String> {
    ids.iter().map(|id| id.as_str().to_owned()).collect()
}

/// Ids of calls from text.
pub(super) fn call_ids(texts: Vec<String>) -> Vec<CallId> {
    texts.into_iter().map(CallId::new).collect()
}

impl Twin<Generation> for twin::Generation {
    fn of(generation: &Generation) -> Self {
        Self {
            id: generation.id.as_str().to_owned(),
            turn: Some(twin::Turn::of(&generation.turn)),
            number: generation.number,
            kind: generation.kind.number(),
            plan: hash_bytes(&generation.plan),
            asked_at_ms: generation.asked_at.0,
        }
    }

    fn value(self) -> Result<Generation, Malformed> {
        Ok(Generation {
            id: PendingId::given(self.id),
            turn: required(self.turn, "awaiting_generation.turn")?,
            number: self.number,
            kind: AttemptKind::of_number(self.kind, "awaiting_generation.kind")?,
            plan: hash(&self.plan, "awaiting_generation.plan")?,
            asked_at: Moment(self.asked_at_ms),
        })
    }
}

impl Twin<End> for twin::End {
    fn of(end: &End) -> Self {
        use twin::end::Outcome as Stored;
        let outcome = match &end.outcome {
            Outcome::Stopped => Stored::Stopped(twin::Nothing {}),
            Outcome::Exhausted => Stored::Exhausted(twin::Nothing {}),
            Outcome::Failed(Failure::Execution(fault)) => Stored::ExecutionFailed(twin::Fault::of(fault)),
            Outcome::Failed(Failure::Caller(failure)) => Stored::CallerFailed(twin::CallerFailure::of(failure)),
            Outcome::Cancelled(fault) => Stored::Cancelled(twin::Fault::of(fault)),
        };
        Self { outcome: Some(outcome), undelivered: end.undelivered.as_ref().map(id_bytes) }
    }

    fn value(self) -> Result<End, Malformed> {
        use twin::end::Outcome as Stored;
        let outcome = match self.outcome.ok_or(Malformed::missing("ended.outcome"))? {
            Stored::Stopped(_) => Outcome::Stopped,
            Stored::Exhausted(_) => Outcome::Exhausted,
            Stored::ExecutionFailed(fault) => Outcome::Failed(Failure::Execution(fault.value()?)),
            Stored::CallerFailed(failure) => Outcome::Failed(Failure::Caller(failure.value()?)),
            Stored::Cancelled(fault) => Outcome::Cancelled(fault.value()?),
        };
        let undelivered = self.undelivered.map(|id| exchange_id(&id, "ended.undelivered")).transpose()?;
        Ok(End { outcome, undelivered })
    }
}

impl Twin<CallerFailure> for twin::CallerFailure {
    fn of(failure: &CallerFailure) -> Self {
        Self {
            code: failure.code,
            message: failure.message.clone(),
            reason: failure.reason.clone(),
            domain: failure.domain.clone(),
            metadata: failure.metadata.clone(),
            details_json: failure.details_json.clone(),
        }
    }

    fn value(self) -> Result<CallerFailure, Malformed> {
        Ok(CallerFailure {
            code: self.code,
            message: self.message,
            reason: self.reason,
            domain: self.domain,
            metadata: self.metadata,
            details_json: self.details_json,
        })
    }
}
