//! Answers that are read as they come. Knows nothing of how they are asked for.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, Stream};
use tokio::time::Sleep;

use crate::callback::OnDelta;
use crate::client::Client;
use crate::error::{Code, Error, Result};
use crate::exchange::{Delta, Exchange, Probe};
use crate::pb;
use crate::pieces::Pieces;
use crate::retry::{Limit, Repeatable, Tries};

/// One thing that a stream tells.
pub(crate) enum Piece<R> {
    Progress(pb::Progress),
    Whole(R),
    /// Something that this package does not know.
    Other,
}

type Reading<R> = BoxStream<'static, Result<Piece<R>, tonic::Status>>;
type Opening<R> = BoxFuture<'static, Result<Reading<R>, tonic::Status>>;

enum State<R> {
    Idle,
    Opening(Opening<R>),
    Reading(Reading<R>),
    Resting(Pin<Box<Sleep>>),
}

/// An answer of some kind on its way: the same call, made again where the connection broke, tells nothing twice.
pub(crate) struct Answering<R> {
    /// Makes the call, with what it is told of trying again under the run's id.
    open: Box<dyn FnMut(Option<bool>) -> Opening<R> + Send>,
    text: fn(&R) -> &str,
    retry: Option<bool>,
    tries: Tries,
    limit: Limit,
    state: State<R>,
    pieces: Pieces,
    result: Option<R>,
    failed: Option<Error>,
    over: bool,
}

impl<R> Answering<R> {
    /// The next piece that was not told yet; nothing after the last. Given up half way, it loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Result<Delta>> {
        while !self.over {
            if let Some(result) = &self.result {
                // The stored result of an earlier call comes without pieces.
                self.over = true;
                return self.pieces.rest((self.text)(result)).map(Ok);
            }
            let told = match self.limit.bound(self.step()).await {
                Ok(Ok(None)) => continue,
                Ok(Ok(Some(delta))) => return Some(Ok(delta)),
                Ok(Err(error)) | Err(error) => error,
            };
            self.over = true;
            self.state = State::Idle;
            self.failed = Some(twin(&told));
            return Some(Err(told));
        }
        None
    }

    async fn step(&mut self) -> Result<Option<Delta>> {
        match &mut self.state {
            State::Idle => {
                self.pieces.connected();
                self.state = State::Opening((self.open)(self.retry));
            }
            State::Resting(sleep) => {
                sleep.await;
                self.state = State::Idle;
            }
            State::Opening(opening) => match opening.await {
                Ok(reading) => self.state = State::Reading(reading),
                Err(status) => self.trouble(status.into())?,
            },
            State::Reading(reading) => match reading.next().await {
                Some(Ok(Piece::Whole(whole))) => {
                    self.result = Some(whole);
                    self.state = State::Idle;
                }
                Some(Ok(Piece::Progress(progress))) => {
                    let told = self.pieces.untold(progress);
                    self.tries.begun = self.pieces.begun();
                    return Ok(told);
                }
                Some(Ok(Piece::Other)) => {}
                Some(Err(status)) => self.trouble(status.into())?,
                None => {
                    self.trouble(Error::new(Code::Unavailable, "the stream closed before its run ended"))?;
                }
            },
        }
        Ok(None)
    }

    fn trouble(&mut self, failed: Error) -> Result<()> {
        let wait = self.tries.pause(failed, self.retry.as_mut(), self.limit)?;
        self.state = State::Resting(Box::pin(tokio::time::sleep(wait)));
        Ok(())
    }

    /// The whole, once it is there.
    pub(crate) async fn whole(mut self, mut hear: Option<OnDelta<'_>>) -> Result<R> {
        while let Some(delta) = self.next().await {
            let delta = delta?;
            if let Some(hear) = &mut hear {
                hear(delta).map_err(|raised| Error::of(raised.cause))?;
            }
        }
        match (self.result, self.failed) {
            (Some(result), _) => Ok(result),
            (None, Some(failed)) => Err(failed),
            (None, None) => Err(Error::new(Code::Internal, "the answer ended without an end")),
        }
    }
}

/// The same error of the server's once more.
fn twin(failed: &Error) -> Error {
    Error {
        reason: failed.reason.clone(),
        metadata: failed.metadata.clone(),
        retry_after: failed.retry_after,
        request_id: failed.request_id.clone(),
        ..Error::new(failed.code, failed.message.clone())
    }
}

/// An answer on its way: await it for the whole, ask [`next`](Response::next) for its pieces, [`cancel`](Response::cancel) it, or find its run by its id.
/// Nothing is asked before it is read, and dropping it lets go of the call, whose run is then cancelled unless its request says otherwise.
///
/// The text pieces joined are the text of the result, whatever became of the connection meanwhile, those since the last [`Delta::Attempt`] where the
/// model was asked again: the call is repeated under its run id, which gives what is there or joins what is at work. Only a run that ended after its
/// first piece came is not tried again.
#[must_use]
pub struct Response {
    pub(crate) client: Client,
    pub(crate) run_id: String,
    pub(crate) from: Answering<Exchange>,
}

impl Response {
    /// Names the run, from the beginning; empty where results go on with a run.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// How long it may take, counted from now.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.from.limit = Limit::after(Some(limit));
        self
    }

    /// The next piece of the answer; nothing after the last.
    pub async fn next(&mut self) -> Option<Result<Delta>> {
        self.from.next().await
    }

    /// The pieces that are left, as a stream.
    pub fn deltas(&mut self) -> impl Stream<Item = Result<Delta>> + '_ {
        futures_util::stream::unfold(
            self,
            |response| async move { response.next().await.map(|delta| (delta, response)) },
        )
    }

    /// Ends the run, unless it has ended; whoever reads this gets an [`Error`] with the code CANCELLED.
    ///
    /// # Errors
    /// The server could not be told.
    pub async fn cancel(&self) -> Result<()> {
        match self.client.cancel_run(&self.run_id).await {
            // It was never begun, or refused before it was.
            Err(error) if error.reason == "RUN_NOT_FOUND" => Ok(()),
            told => told.map(drop),
        }
    }
}

impl IntoFuture for Response {
    type Output = Result<Exchange>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.from.whole(None))
    }
}

/// A call whose answer comes as a stream, read as one of pieces.
fn answering<R, Asked, Event, Make, Made>(
    mut asked: Asked,
    limit: Limit,
    text: fn(&R) -> &str,
    make: Make,
    read: fn(Event) -> Piece<R>,
) -> Answering<R>
where
    R: Send + 'static,
    Asked: Repeatable + Clone + Send + 'static,
    Event: Send + 'static,
    Make: Fn(tonic::Request<Asked>) -> Made + Send + 'static,
    Made: Future<Output = Result<tonic::Response<tonic::Streaming<Event>>, tonic::Status>> + Send + 'static,
{
    let retry = asked.retry().copied();
    let open = move |again: Option<bool>| -> Opening<R> {
        if let (Some(retry), Some(again)) = (asked.retry(), again) {
            *retry = again;
        }
        let making = make(limit.request(asked.clone()));
        Box::pin(async move {
            let stream = making.await?.into_inner();
            let pieces: Reading<R> = Box::pin(stream.map(move |event| event.map(read)));
            Ok(pieces)
        })
    };
    Answering {
        open: Box::new(open),
        text,
        retry,
        tries: Tries::new(retry),
        limit,
        state: State::Idle,
        pieces: Pieces::default(),
        result: None,
        failed: None,
        over: false,
    }
}

fn exchange_text(exchange: &Exchange) -> &str {
    &exchange.text
}

fn probe_text(probe: &Probe) -> &str {
    &probe.text
}

fn kept(exchange: Option<pb::Exchange>) -> Piece<Exchange> {
    Piece::Whole(Exchange::from_raw(exchange.unwrap_or_default()))
}

impl Client {
    pub(crate) fn stream_capture(&self, raw: pb::CaptureRequest, limit: Limit) -> Answering<Exchange> {
        let stub = self.exchanges();
        let make = move |asked: tonic::Request<pb::CaptureRequest>| {
            let mut stub = stub.clone();
            let asked = asked.map(|capture| pb::StreamCaptureRequest { capture: Some(capture) });
            async move { stub.stream_capture(asked).await }
        };
        answering(raw, limit, exchange_text, make, |event: pb::StreamCaptureResponse| match event.event {
            Some(pb::stream_capture_response::Event::Progress(progress)) => Piece::Progress(progress),
            Some(pb::stream_capture_response::Event::Completed(whole)) => kept(whole.exchange),
            None => Piece::Other,
        })
    }

    pub(crate) fn stream_continue(&self, raw: pb::ContinueRequest, limit: Limit) -> Answering<Exchange> {
        let stub = self.exchanges();
        let make = move |asked: tonic::Request<pb::ContinueRequest>| {
            let mut stub = stub.clone();
            let asked = asked.map(|turn| pb::StreamContinueRequest { turn: Some(turn) });
            async move { stub.stream_continue(asked).await }
        };
        answering(raw, limit, exchange_text, make, |event: pb::StreamContinueResponse| match event.event {
            Some(pb::stream_continue_response::Event::Progress(progress)) => Piece::Progress(progress),
            Some(pb::stream_continue_response::Event::Completed(whole)) => kept(whole.exchange),
            None => Piece::Other,
        })
    }

    pub(crate) fn stream_probe(&self, raw: pb::ProbeRequest, limit: Limit) -> Answering<Probe> {
        let stub = self.exchanges();
        let make = move |asked: tonic::Request<pb::ProbeRequest>| {
            let mut stub = stub.clone();
            let asked = asked.map(|probe| pb::StreamProbeRequest { probe: Some(probe) });
            async move { stub.stream_probe(asked).await }
        };
        answering(raw, limit, probe_text, make, |event: pb::StreamProbeResponse| match event.event {
            Some(pb::stream_probe_response::Event::Progress(progress)) => Piece::Progress(progress),
            Some(pb::stream_probe_response::Event::Completed(whole)) => Piece::Whole(Probe::from_raw(whole)),
            None => Piece::Other,
        })
    }
}
