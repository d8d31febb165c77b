//! Turns in loops: coordinations that a callback decides, and chains of tools. Knows nothing of how a stream is followed.

use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;

use crate::callback::{
    AfterCall, BeforeCall, Checked, Generate, NextAction, OnDelta, Said, Verdict, after_call, before_call, generate,
    next_action, on_delta,
};
use crate::client::Client;
use crate::coordination::{Decision, Outcome};
use crate::coordinator::Driver;
use crate::error::{Error, Result};
use crate::exchange::Delta;
use crate::frame;
use crate::generation::Generation;
use crate::offers::Offers;
use crate::pb;
use crate::point::{Place, Start, on_record};
use crate::retry::{Limit, fresh};
use crate::tool::{Tool, ToolResult};
use crate::tool_call::ToolCall;
use crate::turns::awaited;
use crate::usage::Spend;
use crate::word::{OnDisconnect, OnToolDrift};

/// What every loop takes.
#[derive(Default)]
pub(crate) struct Options<'a> {
    pub(crate) tools: Option<Vec<Tool>>,
    pub(crate) standing: bool,
    pub(crate) before_call: Option<BeforeCall<'a>>,
    pub(crate) after_call: Option<AfterCall<'a>>,
    pub(crate) hear: Option<OnDelta<'a>>,
    pub(crate) generate: Option<Generate<'a>>,
    pub(crate) on_tool_drift: OnToolDrift,
    pub(crate) until: Option<BoxFuture<'a, ()>>,
    pub(crate) timeout: Option<Duration>,
}

impl<'a> Options<'a> {
    pub(crate) fn driver(self, client: &Client, id: &str, next: NextAction<'a>) -> Driver<'a> {
        let memory = client.memory(id);
        let hooks = (self.before_call, self.after_call);
        let offers = Offers::new(self.tools, self.standing, self.on_tool_drift, hooks, memory.clone());
        let mut driver = Driver::new(client.clone(), id.to_owned(), next, offers, memory);
        driver.on_delta = self.hear;
        driver.generate = self.generate;
        driver.until = self.until;
        driver.limit = Limit::after(self.timeout);
        driver
    }
}

macro_rules! loop_options {
    () => {
        /// Is called before each tool. An error refuses the call and is its result, for the model. The calls of one answer run at once, and so do the
        /// hooks around them.
        pub fn before_call<F, Fut>(mut self, hook: F) -> Self
        where
            F: Fn(ToolCall) -> Fut + Send + Sync + 'a,
            Fut: Future<Output: Checked> + Send + 'a,
        {
            self.options.before_call = Some(before_call(hook));
            self
        }

        /// Sees each call with its result. An error cancels the loop and comes out of it.
        pub fn after_call<F, Fut>(mut self, hook: F) -> Self
        where
            F: Fn(ToolCall, ToolResult) -> Fut + Send + Sync + 'a,
            Fut: Future<Output: Checked> + Send + 'a,
        {
            self.options.after_call = Some(after_call(hook));
            self
        }

        /// Hears the answers as they come. An error cancels the loop and comes out of it.
        pub fn on_delta<R: Checked>(mut self, hear: impl FnMut(Delta) -> R + Send + 'a) -> Self {
            self.options.hear = Some(on_delta(hear));
            self
        }

        /// The caller's own model, called where the profile's backend is of the kind `client`. With an [`Error`] that it returns, the server decides by
        /// its code whether it is asked again; any other error fails the turn and comes out of the loop, and of its text nothing goes to the server.
        pub fn generate<F, Fut>(mut self, model: F) -> Self
        where
            F: FnMut(Generation) -> Fut + Send + 'a,
            Fut: Future<Output: Said> + Send + 'a,
        {
            self.options.generate = Some(generate(model));
            self
        }

        /// What happens in every request that does not say its own, when an offered tool has another input schema than before.
        pub fn on_tool_drift(mut self, policy: OnToolDrift) -> Self {
            self.options.on_tool_drift = policy;
            self
        }

        /// Ends it, down to the call of the provider, when this is there; what comes out then is an [`Error`] with the code CANCELLED. Dropping the
        /// future does the same, and nothing comes out. A callback or tool that is at work is dropped, too.
        pub fn cancel_when(mut self, signal: impl Future<Output = ()> + Send + 'a) -> Self {
            self.options.until = Some(Box::pin(signal));
            self
        }

        /// How long the whole of it may take; then it is ended, and what comes out is an [`Error`] with the code DEADLINE_EXCEEDED.
        pub fn timeout(mut self, limit: Duration) -> Self {
            self.options.timeout = Some(limit);
            self
        }
    };
}

pub(crate) use loop_options;

macro_rules! start_options {
    () => {
        /// The thread that a start with a request goes on: one without exchanges, or a new one.
        pub fn on_thread(mut self, thread: impl Into<Place>) -> Self {
            self.place = Some(thread.into());
            self
        }

        /// Bounds the rounds of tool calls in a turn: 16 in a chain, in a coordination what the server says when absent.
        pub fn chain_limit(mut self, rounds: u32) -> Self {
            self.raw.tool_round_limit = Some(rounds);
            self
        }

        /// How many tokens all calls to models may read and write together, 1 or more. The call that reaches it is the last: an answer that asks for
        /// another one is refused with the reason SPEND_LIMIT, which comes out of the loop and is never tried again by itself, and what was pending
        /// stays so. What `generate` does is not counted.
        pub fn token_limit(mut self, tokens: u64) -> Self {
            self.spend.tokens = Some(tokens);
            self
        }

        /// What they may cost by the prices of profiles: an amount over 0 with its currency, such as `2.50 USD`, with up to 9 digits on each side of
        /// the point. It is a limit like `token_limit`, of the same calls, and there can be both. A model without prices in that currency is refused with
        /// the same reason; a text that is no cost is an [`Error`] with the code INVALID_ARGUMENT before anything is sent.
        pub fn cost_limit(mut self, cost: impl Into<String>) -> Self {
            self.spend.cost = Some(cost.into());
            self
        }

        /// Names what is done, so that it can be attached to; ours when absent. The same start with the same id attaches.
        pub fn coordination_id(mut self, id: impl Into<String>) -> Self {
            self.raw.coordination_id = id.into();
            self
        }

        /// A label to list by.
        pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
            self.raw.labels.insert(key.into(), value.into());
            self
        }

        /// Leaves nothing behind.
        pub fn ephemeral(mut self) -> Self {
            self.raw.ephemeral = true;
            self
        }
    };
}

pub(crate) use start_options;

/// A loop that a callback decides; see [`Client::coordinate`].
#[must_use = "nothing is begun before it is awaited"]
pub struct Coordinate<'a> {
    client: Client,
    start: Start,
    place: Option<Place>,
    next: NextAction<'a>,
    raw: pb::CoordinationStart,
    spend: Spend,
    options: Options<'a>,
}

impl<'a> Coordinate<'a> {
    loop_options!();
    start_options!();

    /// Functions that the model may call in every turn whose request names none of its own.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.options.tools = Some(tools.into_iter().collect());
        self
    }

    /// How long a decision may take; as long as it likes when absent.
    pub fn decision_timeout(mut self, limit: Duration) -> Self {
        self.raw.decision_timeout = Some(frame::duration(limit));
        self
    }

    /// When it ends, whoever is attached then.
    pub fn deadline(mut self, at: SystemTime) -> Self {
        self.raw.deadline = Some(at.into());
        self
    }

    /// What happens to a turn at work when the stream breaks; it is finished when absent.
    pub fn on_disconnect(mut self, policy: OnDisconnect) -> Self {
        self.raw.on_disconnect = policy.to_raw();
        self
    }

    async fn run(mut self) -> Result<Outcome> {
        self.raw.spend_limit = self.spend.to_raw()?;
        begin(&self.client, self.raw, self.start, self.place, self.next, self.options).await
    }
}
awaited!(Coordinate -> Outcome);

/// A loop that was begun before; see [`Client::attach`].
#[must_use = "nothing is done before it is awaited"]
pub struct Attach<'a> {
    pub(crate) client: Client,
    pub(crate) id: String,
    pub(crate) next: NextAction<'a>,
    pub(crate) options: Options<'a>,
}

impl<'a> Attach<'a> {
    loop_options!();

    /// Functions that the model may call in every turn whose request names none of its own.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.options.tools = Some(tools.into_iter().collect());
        self
    }

    pub(crate) async fn run(self) -> Result<Outcome> {
        if self.id.is_empty() {
            return Err(Error::invalid("attach takes the id of a coordination"));
        }
        self.options.driver(&self.client, &self.id, self.next).run(None).await
    }
}
awaited!(Attach -> Outcome);

impl Client {
    /// Runs up to so many turns of one branch; a callback decides each.
    ///
    /// It starts from an exchange or its id, from the head of a thread, which then moves, or with a request that is executed first. The callback sees
    /// that starting exchange, then each new result, the last one included, and gives a [`Continue`](crate::Continue), [`Stop`](crate::Stop), [`Fail`](crate::Fail)
    /// or [`Suspend`](crate::Suspend). An error that it gives ends the coordination as failed and comes out of here, the same value, by
    /// [`Error::downcast`]. It holds nothing at the server, so it may call the same models or wait for days.
    ///
    /// A stream that breaks is attached again, and no callback is made twice for one decision. There is an [`Error`] when an execution fails, when it
    /// was cancelled, or when an answer was refused, in which case the decision stays pending; and one with a [`Pause`](Error::pause) where a tool left
    /// its answer for later.
    pub fn coordinate<'a, F, Fut>(&self, start: impl Into<Start>, additional_turns: u32, next: F) -> Coordinate<'a>
    where
        F: FnMut(Decision) -> Fut + Send + 'a,
        Fut: Future<Output: Verdict> + Send + 'a,
    {
        Coordinate {
            client: self.clone(),
            start: start.into(),
            place: None,
            next: next_action(next),
            raw: pb::CoordinationStart { additional_turns, ..pb::CoordinationStart::default() },
            spend: Spend::default(),
            options: Options::default(),
        }
    }

    /// Goes on with a coordination that was suspended, or whose process is gone, at what is pending.
    pub fn attach<'a, F, Fut>(&self, coordination_id: impl Into<String>, next: F) -> Attach<'a>
    where
        F: FnMut(Decision) -> Fut + Send + 'a,
        Fut: Future<Output: Verdict> + Send + 'a,
    {
        Attach {
            client: self.clone(),
            id: coordination_id.into(),
            next: next_action(next),
            options: Options::default(),
        }
    }
}

pub(crate) async fn begin<'a>(
    client: &Client,
    mut raw: pb::CoordinationStart,
    start: Start,
    place: Option<Place>,
    next: NextAction<'a>,
    options: Options<'a>,
) -> Result<Outcome> {
    use pb::coordination_start::From;
    if raw.ephemeral {
        raw.coordination_id.clear();
    } else if raw.coordination_id.is_empty() {
        raw.coordination_id = fresh();
    }
    raw.deltas = options.hear.is_some();
    let mut driver = options.driver(client, &raw.coordination_id, next);
    let first = matches!(start, Start::Request(_));
    if place.is_some() && !first {
        return Err(Error::invalid("on_thread is for a start with a request"));
    }
    raw.from = Some(match start {
        Start::Request(request) => {
            let request = Some(driver.offers.offered(&request)?);
            let thread = match place {
                Some(Place::Existing(thread)) => Some(pb::initial_request::Thread::ExistingThread(thread.to_raw())),
                Some(Place::New(thread)) => Some(pb::initial_request::Thread::NewThread(thread.into_raw()?)),
                None => None,
            };
            From::InitialRequest(pb::InitialRequest { request, thread })
        }
        Start::Thread(thread) => From::Thread(thread.to_raw()),
        Start::Id(id) => From::Exchange(id.to_raw()),
        Start::Exchange(exchange) => From::Exchange(on_record(&exchange)?),
    });
    driver.run(Some(raw)).await
}
