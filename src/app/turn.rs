//! What a caller asks of one turn, and what came of it, in one form for every verb that executes. It must not know how either is sent.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;

use crate::domain::coordination::Planned;
use crate::domain::exchange::Exchange;
use crate::domain::fault::Fault;
use crate::domain::id::{ExchangeId, Hash, PreparedId, RunId, ThreadId};
use crate::domain::message::Message;
pub use crate::domain::run::OnDisconnect;
use crate::domain::run::{AttemptKind, Run, State, StopReason};
use crate::domain::settings::{EffectiveSetting, Validation, Warning};
use crate::domain::spend::{SpendLimit, Spent};
use crate::domain::thread::{Expected, Head, NewThread, OnBusy, Parent, Thread, Unanswered};
use crate::domain::tool::{Offer, ToolSet};
use crate::engine::Asked;
use crate::store::ledger::{Changes, Lost};

use super::flight::Event;

/// One turn to execute.
#[derive(Clone)]
pub struct Turn {
    /// The caller's id for the run; ours when absent.
    pub run_id: Option<RunId>,
    /// Ours, where it was decided beforehand.
    pub assigned: Option<RunId>,
    /// Hash of the request as received.
    pub fingerprint: Hash,
    /// Hash of the results alone, for where they are a further step of a run: it does not matter to what place they came.
    pub step: Hash,
    /// Where it starts.
    pub base: Base,
    /// What it brings.
    pub input: Input,
    /// Keep the exchange.
    pub capture: bool,
    /// Labels of the run and its exchanges.
    pub labels: BTreeMap<String, String>,
    /// What happens when the last watcher goes away.
    pub on_disconnect: OnDisconnect,
    /// Open a run again that ended FAILED, CANCELLED or INTERRUPTED.
    pub retry: bool,
    /// Ask the provider for the answer in pieces.
    pub stream: bool,
    /// Who drives it, where it is part of something larger. Its run must be a new one then, or go on with one that waits for results.
    pub companion: Option<Arc<dyn Companion>>,
}

/// Something larger that a turn is a part of: it writes along with the turn's claim and end, and hears what happens on the way.
pub trait Companion: Send + Sync {
    /// Commits the claim with what belongs to it.
    fn claim<'a>(&'a self, run: &'a Run, changes: Changes) -> BoxFuture<'a, Result<Result<(), Lost>, Fault>>;

    /// Commits the end of the turn, or of one of its steps, with what belongs to it.
    fn end<'a>(&'a self, end: StepEnd<'a>, changes: Changes) -> BoxFuture<'a, Result<Result<(), Lost>, Fault>>;

    /// Commits that the client is to call the model, with what belongs to it.
    fn ask<'a>(&'a self, asked: &'a Asking, changes: Changes) -> BoxFuture<'a, Result<Result<(), Lost>, Fault>>;

    /// Hears what happens on the way, before it is told to anybody else.
    fn hear(&self, event: &Event);

    /// Waits until whoever follows it has room for more of the answer.
    fn ready(&self) -> BoxFuture<'_, ()>;

    /// How much may be spent on all that it is, and what was; absent where there is no limit.
    fn spending(&self) -> Option<(SpendLimit, Spent)>;

    /// Whether calls that an answer leaves open end the run, as at the limit of its rounds of tools.
    fn ends_with_calls(&self) -> bool;
}

/// A call to a model that the client is to make.
#[derive(Clone)]
pub struct Asking {
    /// The run as it is written.
    pub run: Run,
    /// Which call of the run, from 1.
    pub number: u32,
    /// What it is for.
    pub kind: AttemptKind,
    /// What is to be sent after the history.
    pub plan: Planned,
}

/// How a turn, or one of its steps, ended.
#[derive(Clone, Copy)]
pub enum StepEnd<'a> {
    /// With an exchange; its run waits for results or is over.
    Completed {
        /// The run as it is written.
        run: &'a Run,
        /// The exchange.
        exchange: &'a Exchange,
        /// Its tools.
        offer: &'a Offer,
        /// What was spent on it.
        spent: &'a Spent,
    },
    /// Without an answer, or with one that could not be put where it belongs.
    Failed {
        /// The run as it is written.
        run: &'a Run,
        /// Why.
        fault: &'a Fault,
        /// The exchange, where there is one all the same.
        exchange: Option<&'a Exchange>,
        /// What was spent on it.
        spent: &'a Spent,
    },
}

impl StepEnd<'_> {
    /// What was spent on the step at providers that this server called.
    pub(super) fn spent(&self) -> &Spent {
        let (Self::Completed { spent, .. } | Self::Failed { spent, .. }) = self;
        spent
    }

    /// The run as it is written.
    pub(super) fn run(&self) -> &Run {
        let (Self::Completed { run, .. } | Self::Failed { run, .. }) = self;
        run
    }

    /// The state that the run is in then.
    pub(super) fn state(&self) -> State {
        self.run().state
    }
}

/// Where a turn starts.
#[derive(Clone)]
pub enum Base {
    /// At a new root, without a thread.
    Root,
    /// At a new root, as the first turn of a new thread.
    NewThread(NewThread),
    /// At a new root, as the first turn of a thread that has none.
    EmptyThread(ThreadRef),
    /// After an exchange; no head moves.
    Exchange(ExchangeId),
    /// After an exchange whose open calls are given up: each gets a marked result in the new exchange. No head moves.
    Over(ExchangeId),
    /// After a thread's head, which moves.
    Thread(ThreadRef),
    /// After a run that was not captured.
    Uncaptured(Box<UncapturedPrefix>),
    /// After a fork point, as the first turn of a new thread.
    Fork(Box<ForkBase>),
}

impl Base {
    /// The thread that it names, or makes under this id.
    pub fn thread_id(&self) -> Option<&ThreadId> {
        match self {
            Self::NewThread(new) => new.id.as_ref(),
            Self::EmptyThread(at) | Self::Thread(at) => Some(&at.id),
            Self::Fork(fork) => Some(&fork.thread.id),
            Self::Root | Self::Exchange(_) | Self::Over(_) | Self::Uncaptured(_) => None,
        }
    }

    /// What to do when another run is at work on its thread.
    pub fn on_busy(&self) -> OnBusy {
        match self {
            Self::EmptyThread(at) | Self::Thread(at) => at.on_busy,
            _ => OnBusy::default(),
        }
    }
}

/// A thread to go on from.
#[derive(Clone, Debug)]
pub struct ThreadRef {
    /// The thread.
    pub id: ThreadId,
    /// The head that the caller saw.
    pub expected: Expected,
    /// What to do when another run is at work.
    pub on_busy: OnBusy,
    /// What to do with a new prompt while tool calls are unanswered.
    pub unanswered: Unanswered,
}

/// A fork point with the thread to make there.
#[derive(Clone)]
pub struct ForkBase {
    /// The exchange at the fork point.
    pub exchange: ExchangeId,
    /// The thread to make, complete.
    pub thread: Thread,
    /// Its documents.
    pub root: crate::domain::workspace::Root,
}

/// What an uncaptured run said.
#[derive(Clone)]
pub struct UncapturedPrefix {
    /// The messages that were sent.
    pub rendered: Vec<Message>,
    /// The answer.
    pub assistant: Message,
    /// Its run, when the caller names it.
    pub run_id: Option<RunId>,
    /// What is known of the call.
    pub facts: Facts,
}

/// What a caller knows of a call that it made, or that was not captured.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Its run.
    pub run_id: Option<RunId>,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Why it stopped.
    pub stop_reason: Option<StopReason>,
    /// What it consumed.
    pub usage: Option<crate::domain::usage::Usage>,
    /// The tools that were offered.
    pub tools: Option<ToolSet>,
}

/// What a turn brings.
#[derive(Clone)]
pub enum Input {
    /// A request.
    Request(Box<Asked>),
    /// Results of pending calls: one tool message.
    Results(Message),
    /// What was prepared.
    Prepared(PreparedInput),
}

/// What was prepared, as a call names it.
#[derive(Clone)]
pub struct PreparedInput {
    /// Its id.
    pub id: PreparedId,
    /// It must be one whose execution is captured.
    pub captures: bool,
}

/// What came of a turn.
#[derive(Clone)]
pub struct Outcome {
    /// The run as it is on record.
    pub run: Run,
    /// The exchange with its tools; absent for an uncaptured run.
    pub exchange: Option<Detailed>,
    /// The thread as it is now.
    pub thread: Option<ThreadState>,
    /// The answer of an uncaptured run, or of a probe.
    pub answer: Option<Uncaptured>,
    /// This is what an earlier call brought.
    pub replayed: bool,
}

/// An exchange with the tool sets that it names.
#[derive(Clone)]
pub struct Detailed {
    /// The exchange.
    pub exchange: Exchange,
    /// The tools that it offered.
    pub offered: ToolSet,
    /// The tools that stand after it.
    pub standing: ToolSet,
}

/// A thread with its head and what it waits for.
#[derive(Clone)]
pub struct ThreadState {
    /// The thread.
    pub thread: Thread,
    /// Its head.
    pub head: Head,
    /// The exchange whose calls wait for results, with its run.
    pub pending: Option<(Option<RunId>, Exchange)>,
}

/// What an execution brought that nothing keeps.
#[derive(Clone)]
pub struct Uncaptured {
    /// The messages that were sent, all of them.
    pub rendered: Vec<Message>,
    /// How many of them were there before: the prefix.
    pub prefix: usize,
    /// The answer.
    pub assistant: Message,
    /// Why the model stopped.
    pub stop_reason: StopReason,
    /// The provider's own word for it.
    pub stop_reason_raw: String,
    /// Whether the answer had its form.
    pub validation: Validation,
    /// Each setting with its source.
    pub settings: Vec<EffectiveSetting>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
    /// Who answered.
    pub responder: crate::domain::exchange::Responder,
    /// The tools that were offered.
    pub offered: ToolSet,
}

/// Where a fork's thread comes from.
pub fn parent_of(thread_id: Option<ThreadId>, exchange: &Exchange) -> Parent {
    Parent { thread_id, exchange: exchange.id, run_id: exchange.run_id.clone(), turn: exchange.turn }
}
