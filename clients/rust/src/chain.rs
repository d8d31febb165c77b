//! Chains: a turn with all that its tools do, driven as a coordination that decides by itself. Knows nothing of how a stream is followed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::callback::{Checked, NextAction, OnDelta, Said, after_call, before_call, generate, next_action, on_delta};
use crate::client::Client;
use crate::coordination::{Action, Continue, Decision};
use crate::error::{Code, Error, Result};
use crate::exchange::{Delta, Exchange};
use crate::generation::Generation;
use crate::loops::{Attach, Options, begin, loop_options, start_options};
use crate::pb;
use crate::point::{Place, Point, Start, ThreadPoint};
use crate::request::Request;
use crate::retry::{Limit, fresh};
use crate::tool::{Tool, ToolResult};
use crate::tool_call::ToolCall;
use crate::turns::awaited;
use crate::usage::Spend;
use crate::word::OnToolDrift;

/// How many rounds of tool calls a chain has when nothing is said.
const DEFAULT_CHAIN_LIMIT: u32 = 16;

/// A turn with all that its tools do; see [`Client::chain`].
#[must_use = "nothing is begun before it is awaited"]
pub struct Chain<'a> {
    client: Client,
    request: Request,
    after: Option<Point>,
    place: Option<Place>,
    /// The thread of a conversation, whose head tells whether this is a first turn.
    talk: Option<String>,
    raw: pb::CoordinationStart,
    spend: Spend,
    options: Options<'a>,
}

impl<'a> Chain<'a> {
    loop_options!();
    start_options!();

    /// Goes on from an exchange, where no head moves, or from a thread, whose head does.
    pub fn after(mut self, point: impl Into<Point>) -> Self {
        self.after = Some(point.into());
        self
    }

    /// The functions that the model may call in this turn.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.options.tools = Some(tools.into_iter().collect());
        self.options.standing = false;
        self
    }

    async fn run(mut self) -> Result<Exchange> {
        self.raw.spend_limit = self.spend.to_raw()?;
        if let (Some(thread_id), None) = (&self.talk, &self.after) {
            let head = self.client.thread(thread_id).await?.head_exchange_id;
            let point = ThreadPoint::new(thread_id.as_str());
            if head.is_empty() {
                self.place = Some(point.into());
            } else {
                self.after = Some(point.into());
            }
        }
        let limit = Limit::after(self.options.timeout);
        let take = Take::default();
        let start = match self.after {
            None => self.request.into(),
            Some(after) => {
                take.ask(self.request);
                self.raw.additional_turns = 1;
                match after {
                    Point::Exchange(exchange) if !exchange.captured && !self.raw.ephemeral => {
                        // A branch of turns needs what it goes on from on record, where it lands once, however often it is replied to.
                        Start::Id(self.client.settled(&exchange, limit).await?)
                    }
                    after => after.into(),
                }
            }
        };
        self.options.timeout = limit.left();
        self.raw.tool_round_limit.get_or_insert(DEFAULT_CHAIN_LIMIT);
        if self.raw.coordination_id.is_empty() && !self.raw.ephemeral {
            self.raw.coordination_id = fresh();
        }
        let id = self.raw.coordination_id.clone();
        begin(&self.client, self.raw, start, self.place, take.callback(), self.options).await?;
        take.result(&id)
    }
}
awaited!(Chain -> Exchange);

/// A chain that was paused; see [`Client::resume`].
#[must_use = "nothing is done before it is awaited"]
pub struct Resume<'a> {
    client: Client,
    id: String,
    options: Options<'a>,
}

impl<'a> Resume<'a> {
    loop_options!();

    async fn run(self) -> Result<Exchange> {
        let take = Take::default();
        let attach = Attach { client: self.client, id: self.id.clone(), next: take.callback(), options: self.options };
        attach.run().await?;
        take.result(&self.id)
    }
}
awaited!(Resume -> Exchange);

impl Client {
    /// Executes a request and the tools that the model calls, until it calls none or there were [`chain_limit`](Chain::chain_limit) rounds of them; then
    /// the answer has `tool_calls` that nothing answers. Without tools it offers none, unless its request has some.
    ///
    /// It is a first turn, or one [`after`](Chain::after) an exchange or a thread's head. A tool that gives a [`Pause`](crate::Pause) leaves it for
    /// [`resume`](Client::resume).
    pub fn chain<'a>(&self, request: impl Into<Request>, tools: impl IntoIterator<Item = Tool>) -> Chain<'a> {
        let options = Options { tools: Some(tools.into_iter().collect()), ..Options::default() };
        self.chain_with(request.into(), options, None)
    }

    /// Goes on with a chain that was paused, or whose process is gone, and gives its result. Calls that have results are not made again.
    pub fn resume<'a>(&self, coordination_id: impl Into<String>, tools: impl IntoIterator<Item = Tool>) -> Resume<'a> {
        let options = Options { tools: Some(tools.into_iter().collect()), ..Options::default() };
        Resume { client: self.clone(), id: coordination_id.into(), options }
    }

    pub(crate) fn chain_with<'a>(&self, request: Request, options: Options<'a>, talk: Option<String>) -> Chain<'a> {
        let raw = pb::CoordinationStart::default();
        let spend = Spend::default();
        Chain { client: self.clone(), request, after: None, place: None, talk, raw, spend, options }
    }

    /// A request of which nothing is kept, heard as it comes: only a coordination tells that.
    pub(crate) async fn ephemeral_prompt(
        &self,
        raw: pb::ExecutionRequest,
        hear: OnDelta<'_>,
        limit: Limit,
    ) -> Result<Exchange> {
        let take = Take::default();
        let initial = pb::InitialRequest { request: Some(raw), thread: None };
        let deadline = limit.left().and_then(|left| now().checked_add(left));
        let start = pb::CoordinationStart {
            from: Some(pb::coordination_start::From::InitialRequest(initial)),
            ephemeral: true,
            deltas: true,
            tool_round_limit: Some(0),
            deadline: deadline.map(Into::into),
            ..pb::CoordinationStart::default()
        };
        let options = Options { hear: Some(hear), timeout: limit.left(), ..Options::default() };
        options.driver(self, "", take.callback()).run(Some(start)).await?;
        take.result("")
    }
}

#[expect(clippy::disallowed_methods, reason = "a deadline is told to the server by the clock on the wall")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// The callback of a chain: asks for one turn where it goes on from something, and takes the result.
#[derive(Clone, Default)]
struct Take(Arc<Mutex<Taken>>);

#[derive(Default)]
struct Taken {
    request: Option<Request>,
    found: Option<Exchange>,
}

impl Take {
    fn ask(&self, request: Request) {
        self.with(|taken| taken.request = Some(request));
    }

    fn callback<'a>(&self) -> NextAction<'a> {
        let take = self.clone();
        next_action(move |decision| std::future::ready(take.next(decision)))
    }

    fn next(&self, decision: Decision) -> Action {
        self.with(|taken| match &taken.request {
            Some(request) if decision.starting => Continue::new(request.clone()).into(),
            None if decision.starting && decision.turns_remaining > 0 => Action::Suspend,
            _ => {
                taken.found.get_or_insert(decision.exchange);
                Action::Stop
            }
        })
    }

    fn result(&self, id: &str) -> Result<Exchange> {
        self.with(|taken| taken.found.take()).ok_or_else(|| {
            let message =
                format!("chain {id} had not begun its turn: attach to it with a callback that says what to ask");
            Error::new(Code::FailedPrecondition, message).with_metadata("coordination_id", id)
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Taken) -> T) -> T {
        // Nothing here fails half way, so that a panic elsewhere leaves it whole.
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
