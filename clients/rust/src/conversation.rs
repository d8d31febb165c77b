//! A conversation: a thread with the caller's functions beside it. Knows nothing of how turns are made, and keeps nothing that the server lacks but
//! those functions.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::callback::{AfterCall, BeforeCall, Checked, OnDelta, after_call, before_call, on_delta};
use crate::calls::Pages;
use crate::chain::Chain;
use crate::client::Client;
use crate::error::Result;
use crate::exchange::Exchange;
use crate::fork::ForkConversation;
use crate::loops::Options;
use crate::point::{ExchangeRef, NewThread, Place, ThreadPoint, ThreadTurn};
use crate::request::{Input, Request};
use crate::thread::Move;
use crate::threads::Restore;
use crate::tool::{Tool, ToolResult};
use crate::tool_call::ToolCall;
use crate::turns::{ForkOnce, awaited, turn_options};
use crate::workspace::Workspace;

/// A thread to talk on, turn after turn. Its tools stand at the server; the functions behind them, and the hooks around them, are here.
#[derive(Clone)]
pub struct Conversation {
    /// The thread's id, by which it is found again.
    pub thread_id: String,
    client: Client,
    tools: Option<Vec<Tool>>,
    standing: bool,
    before_call: Option<BeforeCall<'static>>,
    after_call: Option<AfterCall<'static>>,
    chain_limit: Option<u32>,
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Conversation").field("thread_id", &self.thread_id).finish_non_exhaustive()
    }
}

impl Conversation {
    pub(crate) fn found(client: Client, thread_id: String) -> Self {
        Self { thread_id, client, tools: None, standing: false, before_call: None, after_call: None, chain_limit: None }
    }

    /// The next turn, of one call to the model: tools that it calls are left to the caller, who gives all results to the next prompt.
    pub fn prompt<'a>(&self, input: impl Into<Input>) -> ConversationPrompt<'a> {
        ConversationPrompt { talk: self.clone(), input: input.into(), expected_head: None, hear: None, timeout: None }
    }

    /// The next turn, with the tools that the model calls run here: the conversation's own, or for this turn those of [`tools`](Chain::tools).
    pub fn chain<'a>(&self, request: impl Into<Request>) -> Chain<'a> {
        let options = Options {
            tools: self.tools.clone(),
            standing: self.standing,
            before_call: self.before_call.clone().map(|hook| -> BeforeCall<'a> { Arc::new(move |call| hook(call)) }),
            after_call: self
                .after_call
                .clone()
                .map(|hook| -> AfterCall<'a> { Arc::new(move |call, result| hook(call, result)) }),
            ..Options::default()
        };
        let chain = self.client.chain_with(request.into(), options, Some(self.thread_id.clone()));
        match self.chain_limit {
            Some(rounds) => chain.chain_limit(rounds),
            None => chain,
        }
    }

    /// The thread's documents, to read and to write.
    pub fn workspace(&self) -> Workspace {
        self.client.workspace(&self.thread_id)
    }

    /// Goes back to an earlier exchange, documents included; the next turn goes on from there. Nothing is lost, see [`moves`](Self::moves).
    pub fn restore(&self, to: impl Into<ExchangeRef>) -> Restore {
        self.client.restore(&self.thread_id, to)
    }

    /// Where the head was, the newest move first.
    pub fn moves(&self) -> Pages<Move> {
        self.client.moves(&self.thread_id)
    }

    /// A new conversation from the end of this one. Its hooks are none and its tools stand without functions: give them to each chain, or to
    /// [`Client::conversation`].
    pub fn fork(&self, thread: NewThread) -> ForkConversation {
        self.client.fork_conversation(ThreadTurn::head(&self.thread_id)).on_thread(thread)
    }

    /// The same from another point of it, after a turn that is counted from 1.
    pub fn fork_after(&self, turn: u64, thread: NewThread) -> ForkConversation {
        self.client.fork_conversation(ThreadTurn::after_turn(&self.thread_id, turn)).on_thread(thread)
    }

    /// Asks something on the side, and leaves nothing behind.
    pub fn fork_once<'a>(&self, request: impl Into<Request>) -> ForkOnce<'a> {
        self.client.fork_once(ThreadTurn::head(&self.thread_id), request)
    }
}

/// A conversation to begin, or to find; see [`Client::conversation`].
#[must_use = "nothing is begun before it is awaited"]
pub struct Talk {
    thread: Place,
    talk: Conversation,
}

impl Talk {
    /// What every turn offers which says nothing else. On a new thread they stand for whoever else goes on with it.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.talk.tools = Some(tools.into_iter().collect());
        self
    }

    /// Is called before each tool of a chain; an error refuses the call and is its result.
    pub fn before_call<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(ToolCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: Checked> + Send + 'static,
    {
        self.talk.before_call = Some(before_call(hook));
        self
    }

    /// Sees each call of a chain with its result; an error cancels the chain and comes out of it.
    pub fn after_call<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(ToolCall, ToolResult) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: Checked> + Send + 'static,
    {
        self.talk.after_call = Some(after_call(hook));
        self
    }

    /// Bounds the rounds of tool calls in each chain.
    pub fn chain_limit(mut self, rounds: u32) -> Self {
        self.talk.chain_limit = Some(rounds);
        self
    }

    async fn run(mut self) -> Result<Conversation> {
        match self.thread {
            Place::Existing(thread) => self.talk.thread_id = thread.thread_id,
            Place::New(mut thread) => {
                if let Some(tools) = &self.talk.tools {
                    thread = thread.tools(tools.iter().cloned());
                }
                self.talk.standing = true;
                self.talk.thread_id = self.talk.client.create_thread(thread).await?.thread_id;
            }
        }
        Ok(self.talk)
    }
}

impl IntoFuture for Talk {
    type Output = Result<Conversation>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// A turn of a conversation; see [`Conversation::prompt`].
#[must_use = "nothing is asked before it is awaited"]
pub struct ConversationPrompt<'a> {
    talk: Conversation,
    input: Input,
    expected_head: Option<String>,
    hear: Option<OnDelta<'a>>,
    timeout: Option<Duration>,
}

impl<'a> ConversationPrompt<'a> {
    turn_options!();

    /// Refuses a thread that others moved from this exchange.
    pub fn expected_head(mut self, exchange_id: impl Into<String>) -> Self {
        self.expected_head = Some(exchange_id.into());
        self
    }

    async fn run(mut self) -> Result<Exchange> {
        let (client, tools) = (self.talk.client, self.talk.tools.filter(|_| !self.talk.standing));
        let mut at = ThreadPoint::new(self.talk.thread_id);
        if let Some(head) = self.expected_head {
            at = at.expected_head(head);
        }
        if let (Input::Request(request), Some(tools)) = (&mut self.input, tools) {
            request.tools.get_or_insert(tools);
        }
        let first = match &self.input {
            Input::Request(request) => Some(request.as_ref().clone()),
            Input::Results(_) => None,
        };
        let mut turn = client.continue_from(at.clone(), self.input);
        if let Some(limit) = self.timeout {
            turn = turn.timeout(limit);
        }
        if let Some(hear) = &mut self.hear {
            turn = turn.on_delta(|delta| hear(delta).map_err(|raised| raised.cause));
        }
        let told = turn.await;
        match (told, first) {
            (Err(error), Some(request)) if error.reason == "THREAD_EMPTY" => {
                let mut first = client.capture(request).on_thread(at);
                if let Some(limit) = self.timeout {
                    first = first.timeout(limit);
                }
                if let Some(mut hear) = self.hear {
                    first = first.on_delta(move |delta| hear(delta).map_err(|raised| raised.cause));
                }
                first.await
            }
            (told, _) => told,
        }
    }
}
awaited!(ConversationPrompt -> Exchange);

impl Client {
    /// A conversation on a thread that is there, a [`ThreadPoint`], or on a new one, a [`NewThread`]. Every turn offers its tools which says nothing
    /// else, and [`chain`](Conversation::chain) runs them, with the hooks around them.
    pub fn conversation(&self, thread: impl Into<Place>) -> Talk {
        Talk { thread: thread.into(), talk: Conversation::found(self.clone(), String::new()) }
    }
}
