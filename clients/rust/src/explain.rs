//! What would be sent to a provider, before it is, or was: looked at, and kept for one execution. Knows nothing of loops.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::calls::{call, method};
use crate::client::Client;
use crate::error::{Error, Result};
use crate::exchange::{Exchange, Warning};
use crate::message::Message;
use crate::pb;
use crate::point::{ExchangeRef, Place, Point, on_record};
use crate::request::{Input, Request};
use crate::retry::Limit;
use crate::thread::time_of;
use crate::tool::OfferedTool;
use crate::turns::{captured, named, turn};
use crate::word::SettingSource;

/// A setting with its source.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Setting {
    /// What it is.
    pub value: Value,
    /// Who said so.
    pub source: SettingSource,
}

/// A request as a provider gets it. Nothing in it is a credential.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// What is sent, in order.
    pub messages: Vec<Message>,
    /// By name, such as `model` or `parameters.temperature`.
    pub settings: BTreeMap<String, Setting>,
    /// What is offered.
    pub tools: Vec<OfferedTool>,
    /// The body as it goes out, of a call whose answer comes whole; empty where none can be told.
    pub body_json: String,
    /// What is sent otherwise than it was said, and why.
    pub adaptations: Vec<Warning>,
    /// What the caller should know, as the exchange has it.
    pub warnings: Vec<Warning>,
    /// Of an exchange: whether this is the body that went out. Nothing of what was not sent.
    pub matches: Option<bool>,
    /// Why it is another one; empty when it is the same.
    pub difference: String,
    raw: pb::Explanation,
}

impl Explanation {
    /// The message behind it.
    pub fn raw(&self) -> &pb::Explanation {
        &self.raw
    }

    fn from_raw(raw: pb::Explanation, sent: Option<pb::SentBody>) -> Self {
        let setting = |one: &pb::EffectiveSetting| {
            // What is no JSON would be the server's mistake, and no value.
            let value = serde_json::from_str(&one.value_json).unwrap_or_default();
            (one.name.clone(), Setting { value, source: SettingSource::from_raw(one.source) })
        };
        Self {
            messages: Message::all(&raw.messages),
            settings: raw.effective_settings.iter().map(setting).collect(),
            tools: OfferedTool::all(raw.tools.as_ref().and_then(|tools| tools.offered.as_ref())),
            body_json: raw.body_json.clone(),
            adaptations: Warning::all(&raw.adaptations),
            warnings: Warning::all(&raw.warnings),
            matches: sent.as_ref().map(|sent| sent.matches),
            difference: sent.map(|sent| sent.difference).unwrap_or_default(),
            raw,
        }
    }
}

/// A request that is ready to be executed once, exactly as it was shown.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Prepared {
    /// Its id.
    pub prepared_id: String,
    /// The run that it will be.
    pub run_id: String,
    /// Until when it can be executed.
    pub expires: SystemTime,
    /// What would be sent.
    pub explanation: Explanation,
}

/// What would be sent; see [`Client::explain`].
#[must_use = "nothing is explained before it is awaited"]
pub struct Explain {
    client: Client,
    input: Input,
    after: Option<Point>,
    place: Option<Place>,
    timeout: Option<Duration>,
}

/// A request to prepare; see [`Client::prepare`].
#[must_use = "nothing is prepared before it is awaited"]
pub struct Prepare {
    client: Client,
    request: Request,
    after: Option<Point>,
    keep: bool,
    expires: Option<SystemTime>,
    timeout: Option<Duration>,
}

/// What was prepared, to be executed; see [`Client::execute`].
#[must_use = "nothing is asked before it is awaited"]
pub struct Execute {
    client: Client,
    prepared_id: String,
    run_id: String,
    timeout: Option<Duration>,
}

macro_rules! looks_ahead {
    ($($call:ident -> $given:ty),* $(,)?) => {$(
        impl $call {
            /// How long it may take, its repetitions included.
            pub fn timeout(mut self, limit: Duration) -> Self {
                self.timeout = Some(limit);
                self
            }
        }

        impl IntoFuture for $call {
            type Output = Result<$given>;
            type IntoFuture = BoxFuture<'static, Self::Output>;

            fn into_future(self) -> Self::IntoFuture {
                Box::pin(self.run())
            }
        }
    )*};
}
looks_ahead!(Explain -> Explanation, Prepare -> Prepared, Execute -> Exchange);

impl Explain {
    /// What [`Client::continue_from`] would send from there, in place of what [`Client::capture`] would.
    pub fn after(mut self, point: impl Into<Point>) -> Self {
        self.after = Some(point.into());
        self
    }

    /// The thread that the capture would be on: one without exchanges, or a new one.
    pub fn on_thread(mut self, thread: impl Into<Place>) -> Self {
        self.place = Some(thread.into());
        self
    }

    async fn run(self) -> Result<Explanation> {
        use pb::explain_request::Subject;
        let subject = match (&self.after, self.input) {
            (Some(_), _) if self.place.is_some() => {
                return Err(Error::invalid("what comes after something is on no other thread: give one of the two"));
            }
            (Some(after), input) => Subject::Turn(turn(after, &input)?.1),
            (None, Input::Request(request)) => Subject::Capture(captured(&request, self.place)?.1),
            (None, Input::Results(_)) => {
                return Err(Error::invalid("results come after the exchange or thread with the calls: say which"));
            }
        };
        self.client.explained(subject, Limit::after(self.timeout)).await
    }
}

impl Prepare {
    /// Where from; a root when absent. A thread's head moves when it is executed.
    pub fn after(mut self, point: impl Into<Point>) -> Self {
        self.after = Some(point.into());
        self
    }

    /// Whether the exchange is kept when it is executed; it is not when absent.
    pub fn keep(mut self, keep: bool) -> Self {
        self.keep = keep;
        self
    }

    /// Until when it can be executed; as the server is configured when absent, an hour unless it says otherwise.
    pub fn expires(mut self, at: SystemTime) -> Self {
        self.expires = Some(at);
        self
    }

    async fn run(self) -> Result<Prepared> {
        use pb::prepare_request::From;
        let mut request = self.request.to_raw()?;
        let run_id = named(&mut request);
        let from = match &self.after {
            Some(Point::Exchange(exchange)) => Some(From::Exchange(on_record(exchange)?)),
            Some(Point::Id(id)) => Some(From::Exchange(id.to_raw())),
            Some(Point::Thread(thread)) => Some(From::Thread(thread.to_raw())),
            None => None,
        };
        let asked = pb::PrepareRequest {
            request: Some(request),
            capture: self.keep,
            expire_time: self.expires.map(Into::into),
            from,
        };
        let made = call(Limit::after(self.timeout), asked, method!(self.client, exchanges.prepare)).await?;
        Ok(Prepared {
            prepared_id: made.prepared_id,
            run_id,
            expires: time_of(made.expire_time),
            explanation: Explanation::from_raw(made.explanation.unwrap_or_default(), None),
        })
    }
}

impl Execute {
    async fn run(self) -> Result<Exchange> {
        let execution = pb::PreparedExecution { prepared_id: self.prepared_id, run_id: self.run_id };
        let asked = pb::RunRequest {
            execution: Some(pb::run_request::Execution::Prepared(execution)),
            include_rendered_messages: true,
            ..pb::RunRequest::default()
        };
        let mut answer = call(Limit::after(self.timeout), asked, method!(self.client, exchanges.run)).await?;
        Ok(match answer.exchange.take() {
            Some(kept) => Exchange::from_raw(kept),
            None => Exchange::uncaptured(answer, 0, None),
        })
    }
}

impl Client {
    /// What [`capture`](Client::capture), or [`continue_from`](Client::continue_from) where [`after`](Explain::after) says from what, would send. No
    /// model is called.
    pub fn explain(&self, input: impl Into<Input>) -> Explain {
        Explain { client: self.clone(), input: input.into(), after: None, place: None, timeout: None }
    }

    /// What was sent for an exchange, derived again from what is stored; [`matches`](Explanation::matches) says whether that is what went out.
    ///
    /// # Errors
    /// It is not on record, or the server cannot be asked.
    pub async fn explain_exchange(&self, exchange: impl Into<ExchangeRef>) -> Result<Explanation> {
        let subject = pb::explain_request::Subject::Exchange(exchange.into().to_raw()?);
        self.explained(subject, Limit::default()).await
    }

    async fn explained(&self, subject: pb::explain_request::Subject, limit: Limit) -> Result<Explanation> {
        let asked = pb::ExplainRequest { subject: Some(subject) };
        let found = call(limit, asked, method!(self, exchanges.explain)).await?;
        Ok(Explanation::from_raw(found.explanation.unwrap_or_default(), found.sent))
    }

    /// Resolves and renders a request, shows what would be sent, and keeps that for one [`execute`](Client::execute). Whether the exchange is kept then
    /// is said now.
    pub fn prepare(&self, request: impl Into<Request>) -> Prepare {
        let (client, request) = (self.clone(), request.into());
        Prepare { client, request, after: None, keep: false, expires: None, timeout: None }
    }

    /// Executes what was prepared, exactly as it was shown. Once: again gives the same answer.
    pub fn execute(&self, prepared: &Prepared) -> Execute {
        let (prepared_id, run_id) = (prepared.prepared_id.clone(), prepared.run_id.clone());
        Execute { client: self.clone(), prepared_id, run_id, timeout: None }
    }
}
