//! Coordinations: one branch driven turn by turn by the caller's next actions, under a budget of additional turns. The values are here,
//! the transitions in [`machine`]. It must not know streams, storage, engines or the time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::fault::Fault;
use super::id::{CallId, CoordinationId, ExchangeId, Hash, Moment, RunId, ThreadId};
use super::run::{AttemptKind, OnDisconnect};
use super::settings::Warning;
use super::spend::{SpendLimit, Spent};
use super::thread::{OnBusy, Unanswered};

pub mod machine;
mod pending;
mod planned;
#[cfg(test)]
pub(crate) mod tests;

pub use pending::PendingId;
pub use planned::Planned;

/// One coordination as it is on record.
#[derive(Clone, Debug, PartialEq)]
pub struct Coordination {
    /// Its id.
    pub id: CoordinationId,
    /// Hash of the start as received.
    pub fingerprint: Hash,
    /// What was agreed at the start.
    pub terms: Terms,
    /// Labels to list by.
    pub labels: BTreeMap<String, String>,
    /// The exchange that it was started from; absent until an initial request has one.
    pub start: Option<ExchangeId>,
    /// The exchange that is presented, which the next turn goes on from.
    pub exchange: Option<ExchangeId>,
    /// The thread that it follows.
    pub thread: Option<ThreadId>,
    /// How many continuations were started.
    pub turns_started: u32,
    /// Where it is.
    pub state: State,
    /// The last run that a stop of the server interrupted.
    pub interrupted: Option<RunId>,
    /// The number of its last journalled frame.
    pub last_sequence: u64,
    /// When the last stream let go of it; absent before that.
    pub detached_at: Option<Moment>,
    /// When it was started.
    pub created_at: Moment,
    /// When its state last changed.
    pub state_at: Moment,
    /// When anything of it last changed.
    pub updated_at: Moment,
    /// What its turns spent at providers that the server called.
    pub spent: Spent,
}

/// What was agreed at the start of a coordination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// At most so many continuations are started.
    pub additional_turns: u32,
    /// At most so many rounds of tools in one turn.
    pub tool_round_limit: u32,
    /// Send answers as they come.
    pub deltas: bool,
    /// When it is cancelled, wherever it is.
    pub deadline: Option<Moment>,
    /// How long a decision may take, in milliseconds.
    pub decision_timeout_ms: Option<u64>,
    /// How long it may be left alone before it is cancelled, in milliseconds; absent for ever.
    pub expiry_ms: Option<u64>,
    /// What happens to a turn at work when the stream breaks.
    pub on_disconnect: OnDisconnect,
    /// What a turn does while its thread is busy.
    pub on_busy: OnBusy,
    /// What a turn does with calls that have no results, where it does not say.
    pub unanswered: Unanswered,
    /// Generations bring only what is new.
    pub omit_generation_history: bool,
    /// How much its turns may spend.
    pub spend_limit: SpendLimit,
}

/// Where a coordination is. Whether a stream is attached is told apart from it.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// A turn is at work.
    TurnRunning(Turn),
    /// A result is presented.
    AwaitingDecision(Decision),
    /// The model called tools.
    AwaitingTools(Batch),
    /// The client makes the call to the model.
    AwaitingGeneration(Generation),
    /// It is over.
    Ended(End),
}

impl State {
    /// The word in the API.
    pub fn word(&self) -> &'static str {
        match self {
            Self::TurnRunning(_) => "TURN_RUNNING",
            Self::AwaitingDecision(_) => "AWAITING_DECISION",
            Self::AwaitingTools(_) => "AWAITING_TOOLS",
            Self::AwaitingGeneration(_) => "AWAITING_GENERATION",
            Self::Ended(end) => match end.outcome {
                Outcome::Stopped => "STOPPED",
                Outcome::Exhausted => "EXHAUSTED",
                Outcome::Failed(_) => "FAILED",
                Outcome::Cancelled(_) => "CANCELLED",
            },
        }
    }

    /// The id of what it waits for.
    pub fn pending_id(&self) -> Option<&PendingId> {
        match self {
            Self::AwaitingDecision(decision) => Some(&decision.id),
            Self::AwaitingTools(batch) => Some(&batch.id),
            Self::AwaitingGeneration(generation) => Some(&generation.id),
            Self::TurnRunning(_) | Self::Ended(_) => None,
        }
    }

    /// The run at work, or that waits for the client.
    pub fn run_id(&self) -> Option<&RunId> {
        match self {
            Self::TurnRunning(turn) => Some(&turn.run_id),
            Self::AwaitingTools(batch) => Some(&batch.turn.run_id),
            Self::AwaitingGeneration(generation) => Some(&generation.turn.run_id),
            Self::AwaitingDecision(_) | Self::Ended(_) => None,
        }
    }

    /// How it ended.
    pub fn end(&self) -> Option<&End> {
        match self {
            Self::Ended(end) => Some(end),
            _ => None,
        }
    }
}

/// A turn that was started and is not over.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Its run.
    pub run_id: RunId,
    /// It is the initial request, outside the budget.
    pub initial: bool,
    /// How many rounds of tools it had.
    pub rounds: u32,
    /// It was cancelled, and why; told when its run has ended.
    pub cancelled: Option<Fault>,
}

/// A result that is presented for the next action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Its id.
    pub id: PendingId,
    /// The exchange is the one that the coordination was started from.
    pub starting: bool,
    /// The exchange is a result of this coordination which this decision delivers; undelivered until then.
    pub result: bool,
    /// Its frame was handed to a stream, or an answer to it came.
    pub delivered: bool,
}

/// Tool calls that wait for results.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// Its id.
    pub id: PendingId,
    /// The turn that called, this round counted.
    pub turn: Turn,
    /// The exchange that called.
    pub exchange: ExchangeId,
    /// The calls, in the order of the answer.
    pub calls: Vec<CallId>,
    /// The results that are there, each by the hash under which it is kept.
    pub results: BTreeMap<CallId, Hash>,
}

impl Batch {
    /// The calls that have no result yet.
    pub fn open(&self) -> Vec<CallId> {
        self.calls.iter().filter(|call| !self.results.contains_key(call)).cloned().collect()
    }
}

/// A call to a model that the client makes.
#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// Its id.
    pub id: PendingId,
    /// The turn that needs it.
    pub turn: Turn,
    /// Which call of the run, from 1.
    pub number: u32,
    /// What it is for.
    pub kind: AttemptKind,
    /// Under which hash what is to be sent is kept.
    pub plan: Hash,
    /// When it was asked for.
    pub asked_at: Moment,
}

/// The end of a coordination.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// How it ended.
    pub outcome: Outcome,
    /// A completed result that was never delivered.
    pub undelivered: Option<ExchangeId>,
}

/// How a coordination ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The caller said stop. Says nothing about the worth of the last result (S4-79).
    Stopped,
    /// The caller asked for a turn and none was left. Not an error (S4-76).
    Exhausted,
    /// The first error of an execution, or the caller's own.
    Failed(Failure),
    /// A cancel, a timeout, the deadline, or it was left alone for too long.
    Cancelled(Fault),
}

/// Why a coordination failed.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// An execution did.
    Execution(Fault),
    /// The caller did.
    Caller(CallerFailure),
}

/// A failure in the caller's own words, given back verbatim.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CallerFailure {
    /// A gRPC code but OK.
    pub code: i32,
    /// For people.
    pub message: String,
    /// The reason in the caller's words.
    pub reason: String,
    /// Whose reason it is.
    pub domain: String,
    /// The facts.
    pub metadata: BTreeMap<String, String>,
    /// A JSON value in text.
    pub details_json: String,
}

/// An answer that is on record: what it answered, and the hash by which a repetition is told from another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The id of what it answered; of the coordination for a cancel.
    pub id: String,
    /// Hash of the answer as received.
    pub fingerprint: Hash,
}

/// A journalled frame: what a stream is told, by ids and hashes rather than bodies.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    /// The coordination is there.
    Started,
    /// A result is presented.
    DecisionNeeded {
        /// Its id.
        id: PendingId,
        /// What is presented.
        exchange: ExchangeId,
        /// It is the one that the coordination was started from.
        starting: bool,
        /// How many continuations were started.
        turns_started: u32,
        /// The thread that the next turn moves.
        thread: Option<ThreadId>,
        /// A stop of the server interrupted this run of a turn from the same exchange.
        interrupted: Option<RunId>,
        /// When the decision timeout ends it.
        expires_at: Option<Moment>,
    },
    /// The model called tools.
    ToolsNeeded {
        /// The batch.
        id: PendingId,
        /// The run.
        run_id: RunId,
        /// The exchange that called.
        exchange: ExchangeId,
        /// Which round of the turn, from 1.
        round: u32,
    },
    /// The client is to call the model.
    GenerationNeeded {
        /// Its id.
        id: PendingId,
        /// The run.
        run_id: RunId,
        /// Which call of the run, from 1.
        number: u32,
        /// What it is for.
        kind: AttemptKind,
        /// Under which hash what is to be sent is kept.
        plan: Hash,
        /// When it was asked for.
        asked_at: Moment,
    },
    /// An answer is on record.
    Accepted {
        /// What it answered.
        answered: Answered,
        /// The run that was claimed with it, or goes on with it.
        run_id: Option<RunId>,
        /// How many continuations were started, this one included.
        turns_started: u32,
        /// The results that came with it, by the hashes under which they are kept, and the calls that still have none.
        batch: Option<BatchProgress>,
    },
    /// The run of a turn is claimed.
    RunStarted {
        /// The run.
        run_id: RunId,
    },
    /// A provider is called.
    Attempt {
        /// Which call of the run, from 1.
        number: u32,
        /// What it is for.
        kind: AttemptKind,
        /// The backend.
        backend_id: String,
        /// The model.
        model: String,
    },
    /// What the caller should know.
    Warning(Warning),
    /// It is over.
    Ended(End),
}

impl Frame {
    /// It asks the client for something.
    pub fn asks(&self) -> bool {
        matches!(self, Self::DecisionNeeded { .. } | Self::ToolsNeeded { .. } | Self::GenerationNeeded { .. })
    }
}

/// How far a batch is after an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchProgress {
    /// The results that came with the answer, by the hashes under which they are kept.
    pub results: Vec<(CallId, Hash)>,
    /// The calls that still have none.
    pub open: Vec<CallId>,
}

impl Coordination {
    /// How many continuations can still be started.
    pub fn turns_remaining(&self) -> u32 {
        self.terms.additional_turns.saturating_sub(self.turns_started)
    }

    /// When it is cancelled unless something comes before, and why: the deadline, the decision timeout, or the expiry of one that no
    /// stream is attached to, whichever is first.
    pub fn expiry(&self, attached: bool) -> Option<(Moment, Expiry)> {
        if self.state.end().is_some() {
            return None;
        }
        let deadline = self.terms.deadline.map(|at| (at, Expiry::Deadline));
        let decision = match (&self.state, self.terms.decision_timeout_ms) {
            (State::AwaitingDecision(_), Some(allowed)) => {
                Some((Moment(self.state_at.0.saturating_add(allowed)), Expiry::Decision))
            }
            _ => None,
        };
        let alone = match (&self.state, self.terms.expiry_ms) {
            (State::TurnRunning(_), _) | (_, None) => None,
            _ if attached => None,
            (_, Some(allowed)) => {
                let since = self.state_at.max(self.detached_at.unwrap_or_default());
                Some((Moment(since.0.saturating_add(allowed)), Expiry::Alone))
            }
        };
        [deadline, decision, alone].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// The ids of everything that its state names, for whoever checks that it is there.
    pub fn named_exchanges(&self) -> BTreeSet<ExchangeId> {
        let batch = match &self.state {
            State::AwaitingTools(batch) => Some(batch.exchange),
            _ => None,
        };
        let undelivered = self.state.end().and_then(|end| end.undelivered);
        [self.start, self.exchange, batch, undelivered].into_iter().flatten().collect()
    }
}

/// Why a coordination that waits is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// The deadline of its start.
    Deadline,
    /// The decision took too long.
    Decision,
    /// It was left alone for too long.
    Alone,
}

impl fmt::Display for Expiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadline => "its deadline passed",
            Self::Decision => "the decision was not made within the decision timeout",
            Self::Alone => "nothing was attached to it for longer than it may be left alone",
        })
    }
}
