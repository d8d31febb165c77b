//! Runs: one prompt to its final assistant message, with every attempt on record. It must not know tasks, watchers or providers.

use std::collections::BTreeMap;

use super::fault::Fault;
use super::id::{ExchangeId, Hash, Moment, RunId, ThreadId};
use super::usage::Usage;
use super::workspace::Root;

/// Where a run is. QUEUED is in memory only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Waits for admission.
    Queued,
    /// Claimed, and at work.
    Running,
    /// Waits for the results of tool calls.
    PendingTools,
    /// Ended with an answer.
    Completed,
    /// Ended with an error.
    Failed,
    /// Ended by its callers.
    Cancelled,
    /// The server stopped while it was at work.
    Interrupted,
}

impl State {
    /// It may be opened again under the same id when the caller says `retry`.
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::Failed | Self::Cancelled | Self::Interrupted)
    }

    /// The word in the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "QUEUED",
            Self::Running => "RUNNING",
            Self::PendingTools => "PENDING_TOOLS",
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
            Self::Interrupted => "INTERRUPTED",
        }
    }
}

/// What happens to a run when its last watcher goes away (rule 16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnDisconnect {
    /// It is cancelled.
    #[default]
    Cancel,
    /// It goes on.
    Finish,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It had finished.
    Stop,
    /// It reached the limit of tokens.
    MaxTokens,
    /// It called tools.
    ToolCalls,
    /// It met a stop sequence.
    StopSequence,
    /// It declined.
    Refusal,
    /// The provider's filter cut in.
    ContentFilter,
    /// The chain of tools reached its limit of rounds.
    ToolRoundLimit,
    /// Something else, or nothing was said.
    Other,
}

/// What an attempt was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptKind {
    /// The first call.
    First,
    /// A call again after a failure.
    Retry,
    /// A call to correct the form of an answer.
    Repair,
}

/// One call to a provider, without content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// 1, 2, ... within the run.
    pub number: u32,
    /// What it was for.
    pub kind: AttemptKind,
    /// The backend.
    pub backend_id: String,
    /// The model that was asked for.
    pub model: String,
    /// A whole answer came.
    pub succeeded: bool,
    /// The reason of the failure, a word of the API's list; empty after success.
    pub error_reason: String,
    /// The HTTP status.
    pub http_status: Option<u16>,
    /// The provider's error code; empty for none.
    pub provider_code: String,
    /// The provider's id for the request; empty for none.
    pub provider_request_id: String,
    /// Hash of the body that was sent.
    pub request_hash: Option<Hash>,
    /// Its length.
    pub request_bytes: u64,
    /// What differed between the logical request and the one on the wire.
    pub adaptations: Vec<String>,
    /// What the call consumed.
    pub usage: Usage,
    /// The delay that the provider asked for, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// When it began.
    pub started_at: Moment,
    /// Until the first byte of the answer, in milliseconds.
    pub first_byte_ms: Option<u64>,
    /// Until its end, in milliseconds.
    pub duration_ms: u64,
}

impl Observation {
    /// A call that the caller made and tells us of.
    pub fn reported(number: u32, model: String, usage: Usage, now: Moment) -> Self {
        Self {
            number,
            kind: AttemptKind::First,
            backend_id: String::new(),
            model,
            succeeded: true,
            error_reason: String::new(),
            http_status: None,
            provider_code: String::new(),
            provider_request_id: String::new(),
            request_hash: None,
            request_bytes: 0,
            adaptations: Vec::new(),
            usage,
            retry_after_ms: None,
            started_at: now,
            first_byte_ms: None,
            duration_ms: 0,
        }
    }
}

/// One prompt to its final assistant message.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Where it is.
    pub state: State,
    /// Its exchanges are kept.
    pub captured: bool,
    /// Its last exchange.
    pub exchange: Option<ExchangeId>,
    /// How many exchanges it has.
    pub exchange_count: u32,
    /// The exchange that it continued.
    pub from: Option<ExchangeId>,
    /// The thread that it moves.
    pub thread_id: Option<ThreadId>,
    /// Which attempt under this id the state belongs to, from 1.
    pub attempt: u32,
    /// Hash of the request as received.
    pub fingerprint: Hash,
    /// Fingerprints of its later steps, each with the exchange whose calls the step answered.
    pub steps: Vec<Step>,
    /// Which server process has it, while it is RUNNING.
    pub owner: String,
    /// Each call to a provider.
    pub observations: Vec<Observation>,
    /// Why it failed, was cancelled or interrupted.
    pub failure: Option<Fault>,
    /// Why the model stopped.
    pub stop_reason: Option<StopReason>,
    /// The labels of the request.
    pub labels: BTreeMap<String, String>,
    /// When it was claimed.
    pub created_at: Moment,
    /// When it last changed.
    pub updated_at: Moment,
    /// The states that it was in before this one, the first one first.
    pub past: Vec<Past>,
    /// The documents that it started from.
    pub workspace: Root,
}

/// A state that a run was in, with what was so while it was in it. What is not here is as the run has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    /// The state.
    pub state: State,
    /// When the run last changed in it.
    pub updated_at: Moment,
    /// Which attempt it belonged to.
    pub attempt: u32,
    /// The last exchange.
    pub exchange: Option<ExchangeId>,
    /// How many exchanges there were.
    pub exchange_count: u32,
    /// How many calls to a provider were on record.
    pub observations: u32,
    /// Why it was such a state.
    pub failure: Option<Fault>,
    /// Why the model had stopped.
    pub stop_reason: Option<StopReason>,
}

/// One step of a run that went on with tool results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The exchange whose calls the results answer.
    pub calling: ExchangeId,
    /// Hash of the results as received.
    pub fingerprint: Hash,
    /// The exchange that came of it; absent while at work or after a failure.
    pub exchange: Option<ExchangeId>,
}

/// The owner of a run whose model the client of a coordination calls: no process has it, so none can lose it.
pub const CLIENT: &str = "client";

impl Run {
    /// It is RUNNING, and the client of a coordination makes its call.
    pub fn is_clients(&self) -> bool {
        self.state == State::Running && self.owner == CLIENT
    }

    /// A run in its first attempt of which nothing else is known yet.
    pub fn new(id: RunId, state: State, fingerprint: Hash, now: Moment) -> Self {
        Self {
            id,
            state,
            captured: false,
            exchange: None,
            exchange_count: 0,
            from: None,
            thread_id: None,
            attempt: 1,
            fingerprint,
            steps: Vec::new(),
            owner: String::new(),
            observations: Vec::new(),
            failure: None,
            stop_reason: None,
            labels: BTreeMap::new(),
            created_at: now,
            updated_at: now,
            past: Vec::new(),
            workspace: None,
        }
    }

    /// The run in its next state; the one that it is in becomes part of its past.
    #[must_use]
    pub fn moved_to(mut self, state: State, now: Moment) -> Self {
        self.past.push(Past {
            state: self.state,
            updated_at: self.updated_at,
            attempt: self.attempt,
            exchange: self.exchange,
            exchange_count: self.exchange_count,
            observations: u32::try_from(self.observations.len()).unwrap_or(u32::MAX),
            failure: self.failure.clone(),
            stop_reason: self.stop_reason,
        });
        Self { state, updated_at: now, ..self }
    }

    /// Which of its states it is in, counted from 1. The number of a state is the same for ever.
    pub fn sequence(&self) -> u64 {
        u64::try_from(self.past.len()).unwrap_or(u64::MAX).saturating_add(1)
    }

    /// The run as it was in one of its states; absent when it never had so many.
    pub fn as_of(&self, sequence: u64) -> Option<Self> {
        let index = usize::try_from(sequence.checked_sub(1)?).ok()?;
        if index == self.past.len() {
            return Some(self.clone());
        }
        let past = self.past.get(index)?.clone();
        let observations = usize::try_from(past.observations).unwrap_or(usize::MAX);
        Some(Self {
            state: past.state,
            updated_at: past.updated_at,
            attempt: past.attempt,
            exchange: past.exchange,
            exchange_count: past.exchange_count,
            observations: self.observations.iter().take(observations).cloned().collect(),
            failure: past.failure,
            stop_reason: past.stop_reason,
            past: self.past.iter().take(index).cloned().collect(),
            ..self.clone()
        })
    }

    /// What the run consumed, each call counted once (rule 14). A recorded call of which nobody told the usage is one that is not known.
    pub fn usage(&self) -> Usage {
        let known = self.observations.iter().map(|observation| &observation.usage);
        let calls = usize::try_from(self.exchange_count).unwrap_or(usize::MAX);
        let unknown = Usage::default();
        let untold = (calls > self.observations.len()).then_some(&unknown);
        Usage::sum(known.chain(untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fault::Reason;

    #[test]
    fn each_state_keeps_its_number_and_what_was_so_in_it() {
        let failure = Fault::new(Reason::RunCancelled, "m");
        let first = Run::new(RunId::new("r"), State::Running, Hash::of(b""), Moment(1));
        let failed = Run { failure: Some(failure), ..first.clone().moved_to(State::Failed, Moment(2)) };
        let again = Run { failure: None, attempt: 2, ..failed.clone().moved_to(State::Running, Moment(3)) };
        let done = Run { exchange_count: 1, ..again.clone().moved_to(State::Completed, Moment(4)) };
        for (number, state) in (1..).zip([&first, &failed, &again, &done]) {
            assert_eq!((state.sequence(), done.as_of(number).as_ref()), (number, Some(state)));
        }
        assert_eq!((done.as_of(0), done.as_of(5)), (None, None));
    }
}
