//! Single turns that are kept, and probes that are not. Knows nothing of loops.

use std::time::Duration;

use crate::callback::{Checked, OnDelta, on_delta};
use crate::calls::{call, method};
use crate::client::Client;
use crate::error::{Error, Result};
use crate::exchange::{Exchange, Probe};
use crate::pb;
use crate::point::{Place, Point, Source, on_record};
use crate::request::{Input, Request, Written};
use crate::response::Response;
use crate::retry::{Limit, fresh};

/// What a call that is built gives when it is awaited.
macro_rules! awaited {
    ($call:ident -> $given:ty) => {
        impl<'a> IntoFuture for $call<'a> {
            type Output = Result<$given>;
            type IntoFuture = futures_util::future::BoxFuture<'a, Self::Output>;

            fn into_future(self) -> Self::IntoFuture {
                Box::pin(self.run())
            }
        }
    };
}
pub(crate) use awaited;

/// What every call that executes one turn takes.
macro_rules! turn_options {
    () => {
        /// Hears the answer as it comes. An error ends what it hears of, and comes out of it.
        pub fn on_delta<R: Checked>(mut self, hear: impl FnMut(crate::Delta) -> R + Send + 'a) -> Self {
            self.hear = Some(on_delta(hear));
            self
        }

        /// How long it may take, its repetitions included. The server is told, and ends the run then.
        pub fn timeout(mut self, limit: Duration) -> Self {
            self.timeout = Some(limit);
            self
        }
    };
}
pub(crate) use turn_options;

/// A first turn that is kept; see [`Client::capture`].
#[must_use = "nothing is asked before it is awaited"]
pub struct Capture<'a> {
    client: Client,
    request: Request,
    place: Option<Place>,
    hear: Option<OnDelta<'a>>,
    timeout: Option<Duration>,
}

impl<'a> Capture<'a> {
    turn_options!();

    /// Puts it on a thread: one without exchanges, or a new one.
    pub fn on_thread(mut self, thread: impl Into<Place>) -> Self {
        self.place = Some(thread.into());
        self
    }

    /// The same as an answer to read as it comes.
    ///
    /// # Errors
    /// What is asked cannot be sent.
    pub fn stream(self) -> Result<Response> {
        let (run_id, raw) = captured(&self.request, self.place)?;
        let from = self.client.stream_capture(raw, Limit::after(self.timeout));
        Ok(Response { client: self.client, run_id, from })
    }

    pub(crate) async fn run(self) -> Result<Exchange> {
        let limit = Limit::after(self.timeout);
        let (_, raw) = captured(&self.request, self.place)?;
        if let Some(hear) = self.hear {
            return self.client.stream_capture(raw, limit).whole(Some(hear)).await;
        }
        let answer = call(limit, raw, method!(self.client, exchanges.capture)).await?;
        Ok(Exchange::from_raw(answer.exchange.unwrap_or_default()))
    }
}
awaited!(Capture -> Exchange);

/// A further turn; see [`Client::continue_from`].
#[must_use = "nothing is asked before it is awaited"]
pub struct ContinueFrom<'a> {
    client: Client,
    from: Point,
    input: Input,
    hear: Option<OnDelta<'a>>,
    timeout: Option<Duration>,
}

impl<'a> ContinueFrom<'a> {
    turn_options!();

    /// The same as an answer to read as it comes.
    ///
    /// # Errors
    /// What is asked cannot be sent.
    pub fn stream(self) -> Result<Response> {
        let (run_id, raw) = turn(&self.from, &self.input)?;
        let from = self.client.stream_continue(raw, Limit::after(self.timeout));
        Ok(Response { client: self.client, run_id, from })
    }

    async fn run(self) -> Result<Exchange> {
        let (_, raw) = turn(&self.from, &self.input)?;
        self.client.continue_with(raw, self.hear, Limit::after(self.timeout)).await
    }
}
awaited!(ContinueFrom -> Exchange);

/// A question on the side; see [`Client::fork_once`].
#[must_use = "nothing is asked before it is awaited"]
pub struct ForkOnce<'a> {
    client: Client,
    from: Source,
    request: Request,
    allow_side_effects: bool,
    hear: Option<OnDelta<'a>>,
    timeout: Option<Duration>,
}

impl<'a> ForkOnce<'a> {
    turn_options!();

    /// Offers tools that have side effects. Those that need a person are refused all the same.
    pub fn allow_side_effects(mut self) -> Self {
        self.allow_side_effects = true;
        self
    }

    async fn run(self) -> Result<Probe> {
        let limit = Limit::after(self.timeout);
        let from = match self.from {
            Source::Turn(turn) => pb::probe_request::From::Thread(turn.into_raw()),
            Source::Id(id) => pb::probe_request::From::Exchange(id.to_raw()),
            Source::Exchange(exchange) => pb::probe_request::From::Exchange(on_record(&exchange)?),
        };
        let raw = pb::ProbeRequest {
            from: Some(from),
            request: Some(self.request.to_raw()?),
            allow_side_effects: self.allow_side_effects,
        };
        if let Some(hear) = self.hear {
            // A probe's run is on no record to be tried again.
            return self.client.stream_probe(raw, limit).whole(Some(hear)).await;
        }
        call(limit, raw, method!(self.client, exchanges.probe)).await.map(Probe::from_raw)
    }
}
awaited!(ForkOnce -> Probe);

impl Client {
    /// Executes a request at a root and keeps the exchange. Tools that the model asks for are left to the caller; see [`Client::chain`].
    pub fn capture<'a>(&self, request: impl Into<Request>) -> Capture<'a> {
        Capture { client: self.clone(), request: request.into(), place: None, hear: None, timeout: None }
    }

    /// Makes a new turn: from an exchange, where no head moves, or from a thread, whose head moves. In place of a request it takes the results of all
    /// calls that are pending there, with which the same run goes on.
    pub fn continue_from<'a>(&self, from: impl Into<Point>, input: impl Into<Input>) -> ContinueFrom<'a> {
        ContinueFrom { client: self.clone(), from: from.into(), input: input.into(), hear: None, timeout: None }
    }

    /// Asks something from a point of history and leaves nothing behind. It is one call to the model: calls of tools come back as its stop reason.
    pub fn fork_once<'a>(&self, from: impl Into<Source>, request: impl Into<Request>) -> ForkOnce<'a> {
        ForkOnce {
            client: self.clone(),
            from: from.into(),
            request: request.into(),
            allow_side_effects: false,
            hear: None,
            timeout: None,
        }
    }

    pub(crate) async fn continue_with(
        &self,
        raw: pb::ContinueRequest,
        hear: Option<OnDelta<'_>>,
        limit: Limit,
    ) -> Result<Exchange> {
        if let Some(hear) = hear {
            return self.stream_continue(raw, limit).whole(Some(hear)).await;
        }
        let answer = call(limit, raw, method!(self, exchanges.r#continue)).await?;
        Ok(Exchange::from_raw(answer.exchange.unwrap_or_default()))
    }
}

/// A first turn as it goes out, and its run.
pub(crate) fn captured(request: &Request, place: Option<Place>) -> Result<(String, pb::CaptureRequest)> {
    let mut request = request.to_raw()?;
    let run_id = named(&mut request);
    let thread = match place {
        Some(Place::Existing(thread)) => Some(pb::capture_request::Thread::ExistingThread(thread.to_raw())),
        Some(Place::New(thread)) => Some(pb::capture_request::Thread::NewThread(thread.into_raw()?)),
        None => None,
    };
    Ok((run_id, pb::CaptureRequest { execution: Some(pb::capture_request::Execution::Request(request)), thread }))
}

/// A new turn from what is on record, and its run. Storing what was not captured is for `reply`, which says so.
pub(crate) fn turn(from: &Point, input: &Input) -> Result<(String, pb::ContinueRequest)> {
    let from = match from {
        Point::Exchange(exchange) => pb::continue_request::From::Exchange(on_record(exchange)?),
        Point::Id(id) => pb::continue_request::From::Exchange(id.to_raw()),
        Point::Thread(thread) => pb::continue_request::From::Thread(thread.to_raw()),
    };
    continuation(from, input.to_raw()?)
}

pub(crate) fn continuation(
    from: pb::continue_request::From,
    input: Written,
) -> Result<(String, pb::ContinueRequest), Error> {
    let (run_id, input) = match input {
        Written::Request(mut request) => (named(&mut request), pb::continue_request::Input::Request(*request)),
        Written::Results(results) => (String::new(), pb::continue_request::Input::ToolResults(results)),
    };
    Ok((run_id, pb::ContinueRequest { from: Some(from), input: Some(input) }))
}

/// Names the run of a request, unless the caller did.
pub(crate) fn named(request: &mut pb::ExecutionRequest) -> String {
    if request.run_id.is_empty() {
        request.run_id = fresh();
    }
    request.run_id.clone()
}
