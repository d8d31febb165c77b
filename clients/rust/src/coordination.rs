//! What a coordination asks and is told: decisions, next actions, outcomes. Knows nothing of streams.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::error::Code;
use crate::exchange::{Exchange, Warning};
use crate::generation::Generated;
use crate::pb;
use crate::request::Input;
use crate::tool::ToolResult;
use crate::tool_call::ToolCall;
use crate::usage::Spent;
use crate::word::{CoordinationState, StopReason, UnansweredTools};

/// A result is presented and the next action asked for. No backend capacity is held meanwhile.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Decision {
    /// Names it.
    pub decision_id: String,
    /// The result; or, when `starting`, what the coordination was started from.
    pub exchange: Exchange,
    /// Whether it is that.
    pub starting: bool,
    /// How many turns were started.
    pub turns_started: u32,
    /// How many can still be; asking for one when it is 0 ends in exhaustion.
    pub turns_remaining: u32,
    /// Why the model stopped, for the turn as a whole: `ToolRoundLimit` where calls were left unanswered at the limit of rounds.
    pub stop_reason: StopReason,
    /// The thread that the next turn moves; empty without one.
    pub thread_id: String,
    /// A run that a stop of the server interrupted, started from the same exchange; its turn stays consumed. Empty when there is none.
    pub interrupted_run_id: String,
    /// Empty when it is ephemeral.
    pub coordination_id: String,
    raw: Arc<pb::DecisionNeeded>,
}

impl Decision {
    /// The message behind it.
    pub fn raw(&self) -> &pb::DecisionNeeded {
        &self.raw
    }

    /// What the caller should know of the turn, all of its calls to the model included.
    pub fn warnings(&self) -> &[Warning] {
        &self.exchange.warnings
    }

    pub(crate) fn from_raw(raw: pb::DecisionNeeded, coordination_id: &str, exchange: Exchange) -> Self {
        let of_run = StopReason::from_raw(raw.run.as_ref().map(|run| run.stop_reason).unwrap_or_default());
        let stop_reason = if of_run == StopReason::Unspecified { exchange.stop_reason } else { of_run };
        Self {
            decision_id: raw.decision_id.clone(),
            exchange,
            starting: raw.starting,
            turns_started: raw.turns_started,
            turns_remaining: raw.turns_remaining,
            stop_reason,
            thread_id: raw.thread_id.clone(),
            interrupted_run_id: raw.interrupted_run_id.clone(),
            coordination_id: coordination_id.to_owned(),
            raw: Arc::new(raw),
        }
    }
}

/// What comes next.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Action {
    /// Another turn.
    Continue(Continue),
    /// The caller has what it wanted.
    Stop,
    /// The caller failed.
    Fail(Fail),
    /// Not now: the decision stays pending, to be taken after an attach from anywhere.
    Suspend,
}

/// Another turn, from the exchange that was presented.
#[derive(Clone, Debug)]
#[must_use]
pub struct Continue {
    pub(crate) input: Input,
    pub(crate) unanswered_tools: UnansweredTools,
    pub(crate) detach_thread: bool,
}

impl Continue {
    /// With a request, or the results of the calls that the exchange left unanswered.
    pub fn new(input: impl Into<Input>) -> Self {
        Self { input: input.into(), unanswered_tools: UnansweredTools::Unspecified, detach_thread: false }
    }

    /// What to do with a request while tool calls are unanswered; as the start's thread said when absent.
    pub fn unanswered_tools(mut self, policy: UnansweredTools) -> Self {
        self.unanswered_tools = policy;
        self
    }

    /// Goes on without the thread from here on, as when its head was moved by others.
    pub fn detach_thread(mut self) -> Self {
        self.detach_thread = true;
        self
    }
}

/// The caller has what it wanted.
#[derive(Clone, Copy, Debug)]
pub struct Stop;

/// Not now: the decision stays pending, to be taken after an attach from anywhere.
#[derive(Clone, Copy, Debug)]
pub struct Suspend;

/// The caller failed, in a way that has a code and a reason. An error of the callback does the same with its own text.
#[derive(Clone, Debug)]
#[must_use]
pub struct Fail(pub(crate) pb::FailAction);

impl Fail {
    /// With the code UNKNOWN.
    pub fn new(message: impl Into<String>) -> Self {
        let message = clip(&message.into(), 4096);
        Self(pb::FailAction { code: Code::Unknown as i32, message, ..pb::FailAction::default() })
    }

    /// Any code but OK, which is none of a failure.
    pub fn code(mut self, code: Code) -> Self {
        self.0.code = if code == Code::Ok { Code::Unknown as i32 } else { code as i32 };
        self
    }

    /// The reason in the caller's words, such as `REVIEWER_UNAVAILABLE`.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.0.reason = reason.into();
        self
    }

    /// A fact, of 64 at most.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        if self.0.metadata.len() < 64 {
            self.0.metadata.insert(clip(&key.into(), 63), clip(&value.into(), 1024));
        }
        self
    }

    /// More of it for programs, JSON.
    pub fn details_json(mut self, details: impl Into<String>) -> Self {
        self.0.details_json = details.into();
        self
    }
}

impl From<Continue> for Action {
    fn from(turn: Continue) -> Self {
        Self::Continue(turn)
    }
}

impl From<Stop> for Action {
    fn from(_: Stop) -> Self {
        Self::Stop
    }
}

impl From<Fail> for Action {
    fn from(fail: Fail) -> Self {
        Self::Fail(fail)
    }
}

impl From<Suspend> for Action {
    fn from(_: Suspend) -> Self {
        Self::Suspend
    }
}

/// What a coordination may wait for: an [`Action`], results of tool calls, or what a model said.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Answer {
    /// The next action.
    Action(Action),
    /// Results of tool calls, all or some.
    Results(Vec<ToolResult>),
    /// What a model said.
    Generated(Box<Generated>),
}

macro_rules! answers {
    ($($action:ty),*) => {$(
        impl From<$action> for Answer {
            fn from(action: $action) -> Self {
                Self::Action(action.into())
            }
        }
    )*};
}
answers!(Action, Continue, Stop, Fail, Suspend);

impl From<Vec<ToolResult>> for Answer {
    fn from(results: Vec<ToolResult>) -> Self {
        Self::Results(results)
    }
}

impl From<Generated> for Answer {
    fn from(generated: Generated) -> Self {
        Self::Generated(Box::new(generated))
    }
}

/// How a coordination went that neither failed nor was cancelled. None says anything about the last result's worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutcomeState {
    /// As the caller said.
    Stopped,
    /// A turn was asked for and none was left.
    Exhausted,
    /// Left for later.
    Suspended,
}

impl fmt::Display for OutcomeState {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Stopped => "stopped",
            Self::Exhausted => "exhausted",
            Self::Suspended => "suspended",
        })
    }
}

/// How a coordination went.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// In a word.
    pub state: OutcomeState,
    /// Empty when it is ephemeral.
    pub coordination_id: String,
    /// A completed result that was never presented.
    pub undelivered: Option<Box<Exchange>>,
}

impl Outcome {
    /// Whether a turn was asked for and none was left.
    pub fn exhausted(&self) -> bool {
        self.state == OutcomeState::Exhausted
    }
}

/// One branch driven turn by turn, as it was when it was read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Coordination {
    /// Its id.
    pub coordination_id: String,
    /// Where it is.
    pub state: CoordinationState,
    /// Whether a stream is attached.
    pub attached: bool,
    /// What it waits for: a decision, a batch of calls, or a generation; empty when for nothing.
    pub pending_id: String,
    /// The calls that it waits for; only where a single coordination was asked for.
    pub tool_calls: Vec<ToolCall>,
    /// Its last exchange.
    pub exchange_id: String,
    /// How many turns were started.
    pub turns_started: u32,
    /// How many can still be.
    pub turns_remaining: u32,
    /// How many tokens all of its turns may spend together; absent without that limit.
    pub token_limit: Option<u64>,
    /// What they may cost, such as `2.5 USD`; absent without that limit.
    pub cost_limit: Option<String>,
    /// What they spent, whether or not there is a limit.
    pub spent: Spent,
    /// Labels to list by.
    pub labels: BTreeMap<String, String>,
    raw: Arc<pb::Coordination>,
}

impl Coordination {
    /// The message behind it.
    pub fn raw(&self) -> &pb::Coordination {
        &self.raw
    }

    pub(crate) fn from_raw(raw: pb::Coordination) -> Self {
        let needed = match &raw.pending {
            Some(pb::coordination::Pending::ToolsNeeded(needed)) => needed.calls.as_slice(),
            _ => &[],
        };
        let limit = raw.spend_limit.as_ref();
        let cost = limit.and_then(|limit| limit.cost.as_ref());
        let tool_calls = needed.iter().filter_map(|call| call.call.as_ref()).map(ToolCall::from_raw).collect();
        Self {
            coordination_id: raw.coordination_id.clone(),
            state: CoordinationState::from_raw(raw.state),
            attached: raw.attached,
            pending_id: raw.pending_id.clone(),
            tool_calls,
            exchange_id: raw.exchange_id.clone(),
            turns_started: raw.turns_started,
            turns_remaining: raw.turns_remaining,
            token_limit: limit.and_then(|limit| limit.tokens),
            cost_limit: cost.map(|cost| format!("{} {}", cost.amount, cost.currency)),
            spent: Spent::from_raw(raw.spent.as_ref()),
            labels: raw.labels.clone(),
            raw: Arc::new(raw),
        }
    }
}

/// The beginning of a text, of at most so many bytes, whole characters.
pub(crate) fn clip(text: &str, limit: usize) -> String {
    let end = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    text.get(..end).unwrap_or_default().to_owned()
}
