//! What a coordination tells its client: journalled frames with the bodies that they name, and what is told once. It must not know how it
//! is sent.

use crate::domain::coordination::{Coordination, Outcome, PendingId};
use crate::domain::fault::Fault;
use crate::domain::id::{CallId, ExchangeId, Moment, RunId, ThreadId};
use crate::domain::message::{Message, ToolCall, ToolResult};
use crate::domain::run::{AttemptKind, Run};
use crate::domain::settings::{Contract, EffectiveSetting, Parameters, ToolChoice, Warning};
use crate::domain::tool::{Tool, ToolSet};
use crate::engine::backend::Delta;

use super::super::turn::Detailed;

/// One frame.
#[derive(Clone)]
pub struct Told {
    /// Its number in the journal; 0 for what is not kept.
    pub sequence: u64,
    /// What is told.
    pub what: What,
}

/// What is told.
#[derive(Clone)]
pub enum What {
    /// The coordination is there, and this stream is attached to it.
    Started {
        /// It was there before.
        attached: bool,
        /// As it is now.
        now: Box<View>,
    },
    /// A result is presented.
    DecisionNeeded(Box<DecisionNeeded>),
    /// The model called tools.
    ToolsNeeded(Box<ToolsNeeded>),
    /// The client is to call the model.
    GenerationNeeded(Box<GenerationNeeded>),
    /// An answer is on record.
    Accepted(Accepted),
    /// An answer changed nothing.
    Rejected {
        /// What it meant to answer.
        id: String,
        /// Why.
        fault: Fault,
    },
    /// The run of a turn is claimed.
    RunStarted(RunId),
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
    /// More of the answer.
    Delta(Delta),
    /// Nothing happened.
    Heartbeat(Moment),
    /// The server is shutting down; a turn at work has until then.
    Draining(Moment),
    /// The stream has nothing more to say; the last frame.
    Detached {
        /// Why.
        reason: DetachReason,
        /// As it is now.
        now: Box<View>,
    },
    /// It is over; the last frame.
    Ended(Box<Ended>),
}

/// A coordination as callers see it.
#[derive(Clone)]
pub struct View {
    /// As it is on record.
    pub coordination: Coordination,
    /// A stream is attached.
    pub attached: bool,
    /// It leaves nothing behind, and has no id that anybody could use.
    pub ephemeral: bool,
}

/// A result is presented.
#[derive(Clone)]
pub struct DecisionNeeded {
    /// Names the decision.
    pub id: PendingId,
    /// The exchange.
    pub exchange: Detailed,
    /// It is the one that the coordination was started from.
    pub starting: bool,
    /// Its run; absent for an exchange without one.
    pub run: Option<Run>,
    /// How many continuations were started.
    pub turns_started: u32,
    /// How many can still be.
    pub turns_remaining: u32,
    /// The thread that the next turn moves.
    pub thread: Option<ThreadId>,
    /// A stop of the server interrupted this run.
    pub interrupted: Option<RunId>,
    /// When the decision timeout ends it.
    pub expires_at: Option<Moment>,
}

/// The model called tools.
#[derive(Clone)]
pub struct ToolsNeeded {
    /// Names the batch.
    pub id: PendingId,
    /// The run.
    pub run_id: RunId,
    /// The exchange that called.
    pub exchange: Detailed,
    /// The calls without a result, each with the tool as it was offered; absent where it was not.
    pub calls: Vec<(ToolCall, Option<Tool>)>,
    /// The results that are there.
    pub results: Vec<ToolResult>,
    /// Which round of the turn, from 1.
    pub round: u32,
    /// How many more there can be.
    pub rounds_remaining: u32,
}

/// The client is to call the model.
#[derive(Clone)]
pub struct GenerationNeeded {
    /// Names the generation.
    pub id: PendingId,
    /// The run.
    pub run_id: RunId,
    /// Which call of the run, from 1.
    pub number: u32,
    /// What it is for.
    pub kind: AttemptKind,
    /// The exchange that it goes on from.
    pub parent: Option<ExchangeId>,
    /// The messages to send.
    pub messages: Vec<Message>,
    /// How many messages come before those.
    pub omitted_messages: u64,
    /// The backend.
    pub backend_id: String,
    /// The model to call.
    pub model: String,
    /// The parameters to call it with.
    pub parameters: Parameters,
    /// The tools to offer.
    pub tools: ToolSet,
    /// How freely they may be called.
    pub tool_choice: ToolChoice,
    /// What form the answer must have.
    pub contract: Contract,
    /// Groups calls at the provider.
    pub session_id: Option<String>,
    /// Each setting with its source.
    pub settings: Vec<EffectiveSetting>,
    /// When the attempt counts as timed out.
    pub expires_at: Option<Moment>,
}

/// An answer is on record.
#[derive(Clone)]
pub struct Accepted {
    /// What it answered.
    pub id: String,
    /// It was on record before, unchanged.
    pub replayed: bool,
    /// The run that was claimed with it, or goes on with it.
    pub run_id: Option<RunId>,
    /// How many continuations were started.
    pub turns_started: u32,
    /// How many can still be.
    pub turns_remaining: u32,
    /// After tool results: those that came with it, as they are kept, and the calls that still have none.
    pub batch: Option<(Vec<ToolResult>, Vec<CallId>)>,
}

/// It is over.
#[derive(Clone)]
pub struct Ended {
    /// How it ended.
    pub outcome: Outcome,
    /// A completed result that was never delivered.
    pub undelivered: Option<Detailed>,
}

/// What a coordination waits for, in full.
#[derive(Clone)]
pub enum Pending {
    /// The next action.
    Decision(Box<DecisionNeeded>),
    /// Results of tool calls.
    Tools(Box<ToolsNeeded>),
    /// An answer of a model that the client calls.
    Generation(Box<GenerationNeeded>),
}

/// Why a stream was detached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetachReason {
    /// A newer attach took over.
    TakenOver,
    /// The client said so.
    Suspended,
    /// The client ended its side.
    HalfClosed,
    /// The server is shutting down.
    Draining,
}
