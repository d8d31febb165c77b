//! Exchanges that the caller made itself, and what came of storing them. Knows nothing of how they were made.

use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::calls::{call, method};
use crate::client::Client;
use crate::error::Result;
use crate::exchange::Probe;
use crate::message::Message;
use crate::pb;
use crate::point::{Place, Point, on_record};
use crate::retry::{Limit, fresh};
use crate::tool::{Tool, tool_list};
use crate::usage::Usage;
use crate::word::StopReason;

/// What is known of a call that the caller made.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Facts {
    raw: pb::RecordedFacts,
    tools: Option<Vec<Tool>>,
}

impl Facts {
    /// Of the call whose answer is that message, counted from 0.
    pub fn new(message_index: u32) -> Self {
        Self { raw: pb::RecordedFacts { message_index, ..pb::RecordedFacts::default() }, tools: None }
    }

    /// Its run.
    pub fn run_id(mut self, id: impl Into<String>) -> Self {
        self.raw.run_id = id.into();
        self
    }

    /// The provider.
    pub fn provider(mut self, provider: impl Into<String>) -> Self {
        self.raw.provider = provider.into();
        self
    }

    /// The model.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.raw.model = model.into();
        self
    }

    /// Why it stopped.
    pub fn stop_reason(mut self, reason: StopReason) -> Self {
        self.raw.stop_reason = reason.to_raw();
        self
    }

    /// What it consumed.
    pub fn usage(mut self, usage: &Usage) -> Self {
        self.raw.usage = Some(usage.to_raw());
        self
    }

    /// The tools that were offered; they stand from then on.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.tools = Some(tools.into_iter().collect());
        self
    }

    fn into_raw(self) -> Result<pb::RecordedFacts> {
        Ok(pb::RecordedFacts { tools: self.tools.as_deref().map(tool_list).transpose()?, ..self.raw })
    }
}

/// What was stored, and what was there.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Recorded {
    /// The last exchange of the transcript.
    pub exchange_id: String,
    /// One for each assistant message, in order.
    pub exchange_ids: Vec<String>,
    /// How many are new.
    pub stored: u32,
    /// How many were there before.
    pub matched: u32,
    /// Empty without a thread.
    pub thread_id: String,
    /// It is the result of an earlier call under the same request id.
    pub replayed: bool,
    raw: pb::RecordResponse,
}

impl Recorded {
    /// The message behind it.
    pub fn raw(&self) -> &pb::RecordResponse {
        &self.raw
    }

    fn from_raw(raw: pb::RecordResponse) -> Self {
        Self {
            exchange_id: raw.exchange_id.clone(),
            exchange_ids: raw.exchanges.iter().map(|exchange| exchange.exchange_id.clone()).collect(),
            stored: raw.stored_count,
            matched: raw.matched_count,
            thread_id: raw.thread.as_ref().map(|thread| thread.thread_id.clone()).unwrap_or_default(),
            replayed: raw.replayed,
            raw,
        }
    }
}

/// A transcript to store; see [`Client::record`].
#[must_use = "nothing is stored before it is awaited"]
pub struct Record {
    client: Client,
    raw: pb::RecordRequest,
    facts: Vec<Facts>,
    after: Option<Point>,
    place: Option<Place>,
    timeout: Option<Duration>,
}

impl Record {
    /// The messages come after an exchange, or after the head of a thread, which moves.
    pub fn after(mut self, point: impl Into<Point>) -> Self {
        self.after = Some(point.into());
        self
    }

    /// A thread that goes through the transcript and moves to its end, or one to make.
    pub fn on_thread(mut self, thread: impl Into<Place>) -> Self {
        self.place = Some(thread.into());
        self
    }

    /// What is known of one of the calls.
    pub fn facts(mut self, facts: Facts) -> Self {
        self.facts.push(facts);
        self
    }

    /// A label of the runs and exchanges that are new.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.raw.labels.insert(key.into(), value.into());
        self
    }

    /// Names the change, so that saying it twice makes it once.
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.raw.request_id = id.into();
        self
    }

    /// How long it may take, its repetitions included.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    async fn run(self) -> Result<Recorded> {
        use pb::record_request::{Start, Thread};
        let mut raw = self.raw;
        for facts in self.facts {
            raw.facts.push(facts.into_raw()?);
        }
        if raw.request_id.is_empty() {
            raw.request_id = fresh();
        }
        match self.after {
            Some(Point::Thread(thread)) => {
                raw.start = Some(Start::AfterHead(pb::AfterHead {}));
                raw.thread = Some(Thread::ExistingThread(thread.to_raw()));
            }
            Some(Point::Exchange(exchange)) => raw.start = Some(Start::AfterExchange(on_record(&exchange)?)),
            Some(Point::Id(id)) => raw.start = Some(Start::AfterExchange(id.to_raw())),
            None => {}
        }
        match self.place {
            Some(Place::Existing(thread)) => raw.thread = Some(Thread::ExistingThread(thread.to_raw())),
            Some(Place::New(thread)) => raw.thread = Some(Thread::NewThread(thread.into_raw()?)),
            None => {}
        }
        let answer = call(Limit::after(self.timeout), raw, method!(self.client, exchanges.record)).await?;
        Ok(Recorded::from_raw(answer))
    }
}

impl IntoFuture for Record {
    type Output = Result<Recorded>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl Client {
    /// Stores what the caller said and heard itself, cut after each assistant message; what is stored already is found again. The messages are a whole
    /// transcript, unless [`after`](Record::after) says what they come after.
    pub fn record(&self, messages: impl IntoIterator<Item = Message>) -> Record {
        let messages: Vec<Message> = messages.into_iter().collect();
        let raw = pb::RecordRequest { messages: Message::all_to_raw(&messages), ..pb::RecordRequest::default() };
        self.recording(raw)
    }

    /// Stores what a probe brought.
    pub fn record_probe(&self, probe: &Probe) -> Record {
        self.recording(probe.raw().promotion.clone().unwrap_or_default())
    }

    fn recording(&self, raw: pb::RecordRequest) -> Record {
        Record { client: self.clone(), raw, facts: Vec::new(), after: None, place: None, timeout: None }
    }
}
