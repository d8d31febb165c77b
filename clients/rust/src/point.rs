//! Places in the graph to go on from, and threads to move. Knows nothing of which call takes them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::error::Result;
use crate::exchange::{Exchange, not_captured};
use crate::json::{as_json, metadata_json};
use crate::pb;
use crate::request::Request;
use crate::tool::{Tool, tool_list};
use crate::word::{OnBusy, UnansweredTools};

/// The id of an exchange on record, as a place to go on from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExchangeId(String);

impl ExchangeId {
    /// That exchange.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    pub(crate) fn to_raw(&self) -> pb::ExchangePoint {
        pb::ExchangePoint { exchange_id: self.0.clone() }
    }
}

/// An exchange on record, to be read: an [`Exchange`], or its [`ExchangeId`]. One that was never captured is refused by the call that takes it.
#[derive(Clone, Debug)]
pub struct ExchangeRef(Result<ExchangeId, String>);

impl ExchangeRef {
    pub(crate) fn to_raw(&self) -> Result<pb::ExchangePoint> {
        match &self.0 {
            Ok(id) => Ok(id.to_raw()),
            Err(run_id) => Err(not_captured(run_id, "there is nothing on record to look at")),
        }
    }
}

impl From<&Exchange> for ExchangeRef {
    fn from(exchange: &Exchange) -> Self {
        Self(if exchange.captured { Ok(ExchangeId::new(&exchange.exchange_id)) } else { Err(exchange.run_id.clone()) })
    }
}

impl From<Exchange> for ExchangeRef {
    fn from(exchange: Exchange) -> Self {
        Self::from(&exchange)
    }
}

impl From<ExchangeId> for ExchangeRef {
    fn from(id: ExchangeId) -> Self {
        Self(Ok(id))
    }
}

impl From<&ExchangeId> for ExchangeRef {
    fn from(id: &ExchangeId) -> Self {
        Self(Ok(id.clone()))
    }
}

/// Where a turn goes on from: an [`Exchange`] or an [`ExchangeId`], where no head moves, or a [`ThreadPoint`], whose head does.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Point {
    /// An exchange.
    Exchange(Box<Exchange>),
    /// An exchange by its id.
    Id(ExchangeId),
    /// A thread.
    Thread(ThreadPoint),
}

/// Where a branch begins: an [`Exchange`], an [`ExchangeId`] or a [`ThreadTurn`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Source {
    /// An exchange.
    Exchange(Box<Exchange>),
    /// An exchange by its id.
    Id(ExchangeId),
    /// A point on a thread's path.
    Turn(ThreadTurn),
}

/// Where a coordination begins: an [`Exchange`], an [`ExchangeId`], a [`ThreadPoint`], or a [`Request`] to execute first.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Start {
    /// An exchange.
    Exchange(Box<Exchange>),
    /// An exchange by its id.
    Id(ExchangeId),
    /// A thread, whose head moves with each turn.
    Thread(ThreadPoint),
    /// A request that is executed first.
    Request(Box<Request>),
}

/// A thread that a first turn goes on: a [`ThreadPoint`] without exchanges, or a [`NewThread`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Place {
    /// A thread that is there.
    Existing(ThreadPoint),
    /// A thread to make.
    New(NewThread),
}

macro_rules! places {
    ($($place:ident: $($variant:ident($of:ty) $([$by:ident])?),*;)*) => {$($(
        impl From<$of> for $place {
            fn from(of: $of) -> Self {
                Self::$variant(places!(@ of $($by)?))
            }
        }
    )*)*};
    (@ $of:ident boxed) => { Box::new($of) };
    (@ $of:ident cloned) => { Box::new($of.clone()) };
    (@ $of:ident) => { $of };
}
places! {
    Point: Exchange(Exchange) [boxed], Exchange(&Exchange) [cloned], Id(ExchangeId), Thread(ThreadPoint);
    Source: Exchange(Exchange) [boxed], Exchange(&Exchange) [cloned], Id(ExchangeId), Turn(ThreadTurn);
    Start: Exchange(Exchange) [boxed], Exchange(&Exchange) [cloned], Id(ExchangeId), Thread(ThreadPoint), Request(Request) [boxed];
    Place: Existing(ThreadPoint), New(NewThread);
}

impl From<Point> for Start {
    fn from(point: Point) -> Self {
        match point {
            Point::Exchange(exchange) => Self::Exchange(exchange),
            Point::Id(id) => Self::Id(id),
            Point::Thread(thread) => Self::Thread(thread),
        }
    }
}

impl From<&str> for Start {
    fn from(text: &str) -> Self {
        Request::new(text).into()
    }
}

impl From<String> for Start {
    fn from(text: String) -> Self {
        Request::new(text).into()
    }
}

/// A thread to go on from and move: at the head that the caller saw, or at whatever is its head then.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadPoint {
    pub(crate) thread_id: String,
    expected_head: Option<String>,
    on_busy: OnBusy,
    unanswered_tools: UnansweredTools,
}

impl ThreadPoint {
    /// That thread.
    pub fn new(thread_id: impl Into<String>) -> Self {
        Self { thread_id: thread_id.into(), ..Self::default() }
    }

    /// Another head than this exchange is refused.
    #[must_use]
    pub fn expected_head(mut self, exchange_id: impl Into<String>) -> Self {
        self.expected_head = Some(exchange_id.into());
        self
    }

    /// What to do while another run is at work on it; refuse when absent.
    #[must_use]
    pub fn on_busy(mut self, policy: OnBusy) -> Self {
        self.on_busy = policy;
        self
    }

    /// What to do with a new prompt while tool calls are unanswered; refuse when absent.
    #[must_use]
    pub fn unanswered_tools(mut self, policy: UnansweredTools) -> Self {
        self.unanswered_tools = policy;
        self
    }

    pub(crate) fn to_raw(&self) -> pb::ThreadPoint {
        let head = self.expected_head.as_ref().map(|id| pb::ExpectedHead {
            head: Some(pb::expected_head::Head::Exchange(pb::ExchangePoint { exchange_id: id.clone() })),
        });
        pb::ThreadPoint {
            thread_id: self.thread_id.clone(),
            expected_head: head,
            on_busy: self.on_busy.to_raw(),
            unanswered_tools: self.unanswered_tools.to_raw(),
        }
    }
}

/// A point on a thread's path, to branch from: its head, unless it says another.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadTurn(pb::ThreadTurnPoint);

impl ThreadTurn {
    /// The head of that thread.
    pub fn head(thread_id: impl Into<String>) -> Self {
        Self(pb::ThreadTurnPoint { thread_id: thread_id.into(), at: None })
    }

    /// After a turn, counted from 1.
    pub fn after_turn(thread_id: impl Into<String>, turn: u64) -> Self {
        let at = pb::thread_turn_point::At::AfterTurn(pb::AfterTurn { turn });
        Self(pb::ThreadTurnPoint { thread_id: thread_id.into(), at: Some(at) })
    }

    /// After a run.
    pub fn after_run(thread_id: impl Into<String>, run_id: impl Into<String>) -> Self {
        let at = pb::thread_turn_point::At::AfterRun(pb::AfterRun { run_id: run_id.into() });
        Self(pb::ThreadTurnPoint { thread_id: thread_id.into(), at: Some(at) })
    }

    pub(crate) fn into_raw(self) -> pb::ThreadTurnPoint {
        self.0
    }
}

/// A thread to make; its id is ours when absent.
#[derive(Clone, Debug, Default)]
pub struct NewThread {
    thread_id: String,
    name: String,
    labels: BTreeMap<String, String>,
    metadata: Option<Result<String, String>>,
    pub(crate) profile_id: String,
    pub(crate) model: String,
    pub(crate) tools: Option<Vec<Tool>>,
}

impl NewThread {
    /// A thread with an id of ours.
    pub fn new() -> Self {
        Self::default()
    }

    /// Its id.
    #[must_use]
    pub fn id(mut self, thread_id: impl Into<String>) -> Self {
        self.thread_id = thread_id.into();
        self
    }

    /// A name for people.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// A label to list by.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// Data of the caller's own, which becomes a JSON object.
    #[must_use]
    pub fn metadata(mut self, metadata: &impl Serialize) -> Self {
        self.metadata = Some(as_json(metadata));
        self
    }

    /// The profile that its turns use unless they say otherwise.
    #[must_use]
    pub fn profile(mut self, profile_id: impl Into<String>) -> Self {
        self.profile_id = profile_id.into();
        self
    }

    /// The model that its turns use unless they say otherwise.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = model.into();
        self
    }

    /// The tools that its turns offer unless they say otherwise.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.tools = Some(tools.into_iter().collect());
        self
    }

    pub(crate) fn into_raw(self) -> Result<pb::NewThread> {
        let standing_tools = self.tools.as_deref().map(tool_list).transpose()?;
        let said = !self.profile_id.is_empty() || !self.model.is_empty() || standing_tools.is_some();
        Ok(pb::NewThread {
            thread_id: self.thread_id,
            name: self.name,
            labels: self.labels,
            metadata_json: metadata_json(self.metadata)?,
            defaults: said.then_some(pb::ThreadDefaults {
                profile_id: self.profile_id,
                model: self.model,
                standing_tools,
            }),
        })
    }
}

/// An exchange on record as a place to go on from.
pub(crate) fn on_record(exchange: &Exchange) -> Result<pb::ExchangePoint> {
    if !exchange.captured {
        return Err(exchange.not_captured("there is nothing on record to go on from"));
    }
    Ok(pb::ExchangePoint { exchange_id: exchange.exchange_id.clone() })
}
