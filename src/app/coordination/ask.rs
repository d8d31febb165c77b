//! What a client says to a coordination, in one form for the stream and the unary Answer. It must not know how it was sent.

use std::collections::BTreeMap;

use crate::domain::coordination::{CallerFailure, PendingId, Terms};
use crate::domain::id::{CoordinationId, ExchangeId, Hash, RunId};
use crate::domain::message::{Message, ToolResult};
use crate::domain::run::{OnDisconnect, StopReason};
use crate::domain::thread::Unanswered;
use crate::domain::usage::Usage;

use super::super::turn::{Input, ThreadRef, Turn};

/// Begins a coordination.
#[derive(Clone)]
pub struct Start {
    /// The caller's id for it; ours when absent.
    pub id: Option<CoordinationId>,
    /// Hash of the start as received.
    pub fingerprint: Hash,
    /// What is presented first.
    pub from: From,
    /// What is agreed. The expiry is the server's to set.
    pub terms: Terms,
    /// Labels to list by.
    pub labels: BTreeMap<String, String>,
    /// Leave nothing behind.
    pub ephemeral: bool,
}

/// What a coordination begins at.
#[derive(Clone)]
pub enum From {
    /// An exchange; no head moves.
    Exchange(ExchangeId),
    /// The head of a thread, which moves with every turn.
    Thread(ThreadRef),
    /// The exchange of a turn that is executed first: at a root, on a new thread or on one without exchanges.
    Initial(Box<Turn>),
}

/// Goes on with a coordination at what was pending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attach {
    /// Which.
    pub id: CoordinationId,
    /// Only journalled frames after this one are sent again.
    pub after_sequence: u64,
    /// Whether answers are sent as they come; as the start said when absent.
    pub deltas: Option<bool>,
}

/// One frame after the first.
#[derive(Clone)]
pub enum Said {
    /// An answer to what is pending.
    Answer(Box<Answer>),
    /// Lets go in good order.
    Suspend,
    /// Ends the coordination, with a message for people.
    Cancel(String),
}

/// An answer to what a coordination waits for.
#[derive(Clone)]
pub struct Answer {
    /// What it answers; the pending one when absent.
    pub id: Option<PendingId>,
    /// Hash of the answer as received, without what it answers.
    pub fingerprint: Hash,
    /// The answer.
    pub reply: Reply,
}

/// What an answer says.
#[derive(Clone)]
pub enum Reply {
    /// To a decision: another turn.
    Turn(Box<NextTurn>),
    /// To a decision: the caller has what it wanted.
    Stop,
    /// To a decision: the caller failed.
    Fail(CallerFailure),
    /// To a batch of tool calls: some results, or all.
    Results {
        /// The results.
        results: Vec<ToolResult>,
        /// The run that the caller believes it answers.
        run_id: Option<RunId>,
    },
    /// To a generation.
    Generated(Box<Generated>),
}

impl Reply {
    /// What it answers, for people.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Turn(_) | Self::Stop | Self::Fail(_) => "next action",
            Self::Results { .. } => "tool results",
            Self::Generated(_) => "generated answer",
        }
    }
}

/// Another turn, from what was presented.
#[derive(Clone)]
pub struct NextTurn {
    /// What it brings.
    pub input: Input,
    /// The caller's id for its run; ours when absent.
    pub run_id: Option<RunId>,
    /// Hash of the turn as received.
    pub fingerprint: Hash,
    /// Hash of its results alone, for where they are a further step of a run; of the turn when it brings none.
    pub step: Hash,
    /// Labels of the run and its exchanges.
    pub labels: BTreeMap<String, String>,
    /// What a broken stream does to it; as the start said when absent.
    pub on_disconnect: Option<OnDisconnect>,
    /// What to do with a request while calls are unanswered; as the start said when absent.
    pub unanswered: Option<Unanswered>,
    /// Go on without the thread from here.
    pub detach_thread: bool,
}

/// What came of a call to a model that the client made.
#[derive(Clone)]
pub enum Generated {
    /// An answer.
    Answer(GeneratedAnswer),
    /// A failure.
    Failure(GenerationFailure),
}

/// An answer of a model that the client called.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedAnswer {
    /// The answer, whole. Its calls have the provider's id, or the caller's in its place, and an empty one of ours.
    pub assistant: Message,
    /// Why the model stopped.
    pub stop_reason: StopReason,
    /// The provider's own word for it.
    pub stop_reason_raw: String,
    /// What it consumed, as reported.
    pub usage: Usage,
    /// The provider.
    pub provider: String,
    /// The dialect.
    pub api: String,
    /// The model that says it answered.
    pub response_model: String,
    /// The provider's id for the answer.
    pub response_id: String,
}

/// Why a call that the client made has no answer.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerationFailure {
    /// A gRPC code but OK.
    pub code: i32,
    /// For people.
    pub message: String,
    /// The HTTP status.
    pub http_status: Option<u16>,
    /// The provider's error code; empty for none.
    pub provider_code: String,
    /// The delay that the provider asked for, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// What it consumed all the same.
    pub usage: Usage,
}
