//! The graph of exchanges: its parts, walked and drawn. Knows nothing of how turns are made, and changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::calls::{Pages, call, method, pages};
use crate::client::Client;
use crate::error::Result;
use crate::exchange::Exchange;
use crate::pb;
use crate::point::{ExchangeId, ExchangeRef};
use crate::retry::Limit;
use crate::usage::Usage;
use crate::word::{GraphDetail, GraphForm, Origin, StopReason};

/// A part of the graph. An [`Exchange`], or its [`ExchangeId`], is the path from the root to it; the others are [`Subtree`], [`ThreadPath`] and
/// [`ThreadTree`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Scope {
    /// The path from the root to an exchange.
    Path(ExchangeRef),
    /// An exchange and what follows from it.
    Subtree(Subtree),
    /// The path to a thread's head.
    ThreadPath(ThreadPath),
    /// The tree that a thread's path is in.
    ThreadTree(ThreadTree),
}

/// An exchange and all that follows from it, or at most so many steps.
#[derive(Clone, Debug)]
#[must_use]
pub struct Subtree {
    exchange: ExchangeRef,
    max_steps: Option<u64>,
}

impl Subtree {
    /// All that follows from an exchange.
    pub fn new(exchange: impl Into<ExchangeRef>) -> Self {
        Self { exchange: exchange.into(), max_steps: None }
    }

    /// At most so many steps down.
    pub fn max_steps(mut self, steps: u64) -> Self {
        self.max_steps = Some(steps);
        self
    }
}

/// The path from the root to the head of the thread with this id.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadPath(pub String);

/// The whole tree that the path of the thread with this id is in, with its siblings.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadTree(pub String);

impl ThreadPath {
    /// Of that thread.
    pub fn new(thread_id: impl Into<String>) -> Self {
        Self(thread_id.into())
    }
}

impl ThreadTree {
    /// Of that thread.
    pub fn new(thread_id: impl Into<String>) -> Self {
        Self(thread_id.into())
    }
}

macro_rules! scopes {
    ($($of:ty => $scope:ident),* $(,)?) => {$(
        impl From<$of> for Scope {
            fn from(of: $of) -> Self {
                Self::$scope(of.into())
            }
        }
    )*};
}
scopes! {
    &Exchange => Path,
    Exchange => Path,
    ExchangeRef => Path,
    &ExchangeId => Path,
    ExchangeId => Path,
    Subtree => Subtree,
    ThreadPath => ThreadPath,
    ThreadTree => ThreadTree,
}

impl Scope {
    pub(crate) fn into_raw(self) -> Result<pb::GraphScope> {
        use pb::graph_scope::Scope as Raw;
        let scope = match self {
            Self::Path(exchange) => Raw::Path(pb::PathScope { exchange_id: exchange.to_raw()?.exchange_id }),
            Self::Subtree(below) => Raw::Subtree(pb::SubtreeScope {
                exchange_id: below.exchange.to_raw()?.exchange_id,
                max_steps: below.max_steps,
            }),
            Self::ThreadPath(ThreadPath(thread_id)) => Raw::ThreadPath(pb::ThreadPathScope { thread_id }),
            Self::ThreadTree(ThreadTree(thread_id)) => Raw::ThreadTree(pb::ThreadTreeScope { thread_id }),
        };
        Ok(pb::GraphScope { scope: Some(scope) })
    }
}

/// An exchange in the graph, without its content; [`Client::inspect`] has that.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Node {
    /// Its id.
    pub exchange_id: String,
    /// The exchange before it; empty at a root.
    pub parent_exchange_id: String,
    /// Its run.
    pub run_id: String,
    /// The thread that it was made on; empty without one.
    pub thread_id: String,
    /// The number of its turn on its path.
    pub turn: u64,
    /// How many exchanges are on the path to it, itself included.
    pub depth: u64,
    /// Whether it is the last exchange of a completed run.
    pub ends_turn: bool,
    /// How it came to be here.
    pub origin: Origin,
    /// The model that was asked for; empty where the caller did not say.
    pub model: String,
    /// Why the model stopped.
    pub stop_reason: StopReason,
    /// What it consumed.
    pub usage: Usage,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The beginning of what was asked.
    pub user: String,
    /// The beginning of the answer.
    pub assistant: String,
    /// How many exchanges follow from it.
    pub child_count: u64,
    raw: Arc<pb::ExchangeNode>,
}

impl Node {
    /// The message behind it.
    pub fn raw(&self) -> &pb::ExchangeNode {
        &self.raw
    }

    pub(crate) fn from_raw(raw: pb::ExchangeNode) -> Self {
        Self {
            exchange_id: raw.exchange_id.clone(),
            parent_exchange_id: raw.parent_exchange_id.clone(),
            run_id: raw.run_id.clone(),
            thread_id: raw.thread_id.clone(),
            turn: raw.turn,
            depth: raw.depth,
            ends_turn: raw.ends_turn,
            origin: Origin::from_raw(raw.origin),
            model: raw.responder.as_ref().map(|responder| responder.model.clone()).unwrap_or_default(),
            stop_reason: StopReason::from_raw(raw.stop_reason),
            usage: Usage::from_raw(raw.usage.as_ref()),
            labels: raw.labels.clone(),
            user: raw.user_preview.clone(),
            assistant: raw.assistant_preview.clone(),
            child_count: raw.child_count,
            raw: Arc::new(raw),
        }
    }
}

/// A part of the graph to draw; see [`Client::graph`].
#[must_use = "nothing is drawn before it is awaited"]
pub struct Drawing {
    client: Client,
    scope: Scope,
    raw: pb::GetGraphRequest,
}

impl Drawing {
    /// In which form; as text for a terminal when absent.
    pub fn form(mut self, form: GraphForm) -> Self {
        self.raw.format = form.to_raw();
        self
    }

    /// How much of it; turns when absent.
    pub fn detail(mut self, detail: GraphDetail) -> Self {
        self.raw.detail = detail.to_raw();
        self
    }

    /// Shows the beginnings of messages, too.
    pub fn previews(mut self) -> Self {
        self.raw.include_previews = true;
        self
    }

    async fn run(self) -> Result<String> {
        let mut asked = pb::GetGraphRequest { scope: Some(self.scope.into_raw()?), ..self.raw };
        let mut drawn = String::new();
        loop {
            let page = call(Limit::default(), asked.clone(), method!(self.client, graph_service.get_graph)).await?;
            drawn.push_str(&page.text);
            if page.next_page_token.is_empty() {
                return Ok(drawn);
            }
            asked.page_token = page.next_page_token;
        }
    }
}

impl IntoFuture for Drawing {
    type Output = Result<String>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl Client {
    /// The exchanges before one, the parent first and the root last.
    pub fn ancestors(&self, exchange: impl Into<ExchangeRef>) -> Pages<Node> {
        let asked = exchange
            .into()
            .to_raw()
            .map(|at| pb::ListAncestorsRequest { exchange_id: at.exchange_id, ..pb::ListAncestorsRequest::default() });
        pages!(self, graph_service.list_ancestors, try asked, exchanges, Node::from_raw)
    }

    /// The exchanges that follow from one, oldest first.
    pub fn children(&self, exchange: impl Into<ExchangeRef>) -> Pages<Node> {
        let asked = exchange
            .into()
            .to_raw()
            .map(|at| pb::ListChildrenRequest { exchange_id: at.exchange_id, ..pb::ListChildrenRequest::default() });
        pages!(self, graph_service.list_children, try asked, exchanges, Node::from_raw)
    }

    /// The last exchange that is on the paths of all, of which there are 2 to 64; nothing where they have none in common.
    ///
    /// # Errors
    /// One is not on record, or the server cannot be asked.
    pub async fn common_ancestor<E: Into<ExchangeRef>>(
        &self,
        exchanges: impl IntoIterator<Item = E>,
    ) -> Result<Option<Node>> {
        let exchanges: Result<_> = exchanges.into_iter().map(|exchange| exchange.into().to_raw()).collect();
        let asked = pb::GetCommonAncestorRequest { exchanges: exchanges? };
        let found = call(Limit::default(), asked, method!(self, graph_service.get_common_ancestor)).await?;
        Ok(found.exchange.map(Node::from_raw))
    }

    /// A part of the graph, drawn: as text for a terminal, or for Graphviz or Mermaid.
    pub fn graph(&self, scope: impl Into<Scope>) -> Drawing {
        let raw = pb::GetGraphRequest { format: GraphForm::Text.to_raw(), ..pb::GetGraphRequest::default() };
        Drawing { client: self.clone(), scope: scope.into(), raw }
    }
}
