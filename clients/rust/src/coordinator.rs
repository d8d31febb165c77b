//! Drives one coordination: follows its stream, attaches again when that breaks, and ends it when nobody waits any more. Knows nothing of other calls.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use crate::callback::{Generate, NextAction, OnDelta, Raised};
use crate::client::Client;
use crate::coordination::{Outcome, OutcomeState};
use crate::error::{Code, Error, Gone, Result};
use crate::exchange::{Delta, Exchange, Warning, anew};
use crate::frame::{self, cancel_frame};
use crate::memory::Memory;
use crate::offers::Offers;
use crate::pb;
use crate::pb::coordinate_request::Frame as Said;
use crate::pb::coordinate_response::Frame;
use crate::retry::Limit;
use crate::stream::Wire;
use crate::tool_call::{Pause, ToolCall};

pub(crate) const HOOK_FAILED: &str = "a hook of the caller failed";
const CALLER_GONE: &str = "the caller was cancelled";
const FIRST_ATTACH_WAIT: Duration = Duration::from_millis(100);
const MAX_ATTACH_WAIT: Duration = Duration::from_secs(2);
/// How long a cancellation may take to be heard; then the caller goes on all the same.
const CANCEL_WAIT: Duration = Duration::from_secs(5);

/// One coordination, from its start or from an attach to the end of what this process has to do with it.
pub(crate) struct Driver<'a> {
    pub(crate) client: Client,
    pub(crate) id: String,
    pub(crate) next: NextAction<'a>,
    pub(crate) on_delta: Option<OnDelta<'a>>,
    pub(crate) generate: Option<Generate<'a>>,
    pub(crate) offers: Offers<'a>,
    pub(crate) until: Option<BoxFuture<'a, ()>>,
    pub(crate) limit: Limit,
    pub(crate) memory: Arc<Memory>,
    pub(crate) wire: Option<Wire>,
    pub(crate) batch: Option<pb::ToolsNeeded>,
    pub(crate) told: Vec<Warning>,
    pub(crate) ephemeral: bool,
    /// What was said where no record tells, as far as all of it is known.
    pub(crate) history: Option<Vec<pb::Message>>,
    /// What a function of the caller's failed with.
    pub(crate) failure: Option<Raised>,
    /// What the caller's own model failed with last.
    pub(crate) generation: Option<Raised>,
    started: pb::CoordinationStarted,
    sequence: u64,
    /// Something was told of the call to the model that is at work.
    told_delta: bool,
    ended: Option<pb::CoordinationEnded>,
    trouble_since: Option<Instant>,
    wait: Duration,
    /// The server may have heard of it.
    begun: bool,
    /// This process has nothing to do with it any more.
    over: bool,
}

impl<'a> Driver<'a> {
    pub(crate) fn new(
        client: Client,
        id: String,
        next: NextAction<'a>,
        offers: Offers<'a>,
        memory: Arc<Memory>,
    ) -> Self {
        Self {
            client,
            id,
            next,
            on_delta: None,
            generate: None,
            offers,
            until: None,
            limit: Limit::default(),
            memory,
            wire: None,
            batch: None,
            told: Vec::new(),
            ephemeral: false,
            history: None,
            failure: None,
            generation: None,
            started: pb::CoordinationStarted::default(),
            sequence: 0,
            told_delta: false,
            ended: None,
            trouble_since: None,
            wait: FIRST_ATTACH_WAIT,
            begun: false,
            over: false,
        }
    }

    /// Follows it until it ended or is left for later; without a start, attaches.
    pub(crate) async fn run(mut self, start: Option<pb::CoordinationStart>) -> Result<Outcome> {
        if let Some(start) = start.as_ref().filter(|start| start.ephemeral) {
            self.ephemeral = true;
            let first = matches!(start.from, Some(pb::coordination_start::From::InitialRequest(_)));
            self.history = first.then(Vec::new);
        }
        let (until, limit) = (self.until.take(), self.limit);
        let cancelled = async {
            match until {
                Some(until) => until.await,
                None => std::future::pending().await,
            }
        };
        let why = tokio::select! {
            biased;
            () = limit.passed() => Gone::Late,
            () = cancelled => Gone::Cancelled,
            done = self.follow(start.as_ref()) => {
                self.over = true;
                return done;
            }
        };
        let ended = self.abandon(why).await;
        self.over = true;
        ended
    }

    async fn follow(&mut self, start: Option<&pb::CoordinationStart>) -> Result<Outcome> {
        loop {
            let opened = Instant::now();
            let lost = match self.once(start).await {
                ControlFlow::Break(done) => return done,
                ControlFlow::Continue(lost) => lost,
            };
            self.wire = None;
            if self.ephemeral || !(lost.can_retry() || lost.broke()) {
                return Err(self.or_failure(lost));
            }
            if opened.elapsed() > MAX_ATTACH_WAIT {
                self.trouble_since = None;
            }
            self.rest(lost).await?;
        }
    }

    /// Opens a stream and follows it; what it broke with, where that is not all.
    async fn once(&mut self, start: Option<&pb::CoordinationStart>) -> ControlFlow<Result<Outcome>, Error> {
        // A start that was perhaps not heard is said again: with the same id it begins nothing twice.
        let greeting = match start {
            Some(start) if self.sequence == 0 => Said::Start(start.clone()),
            _ => Said::Attach(pb::CoordinationAttach {
                coordination_id: self.id.clone(),
                after_sequence: self.sequence,
                deltas: Some(self.on_delta.is_some()),
            }),
        };
        self.begun = true;
        match Wire::open(&self.client, frame::frame(greeting)).await {
            Ok(wire) => self.wire = Some(wire),
            Err(lost) => return ControlFlow::Continue(lost),
        }
        loop {
            let frame = match self.receive().await {
                Ok(frame) => frame,
                Err(lost) => return ControlFlow::Continue(lost),
            };
            if frame.sequence > self.sequence {
                // Something new, and not only a question that is told again to whoever attaches.
                self.sequence = frame.sequence;
                self.trouble_since = None;
            }
            if let Some(done) = self.hear(frame).await {
                return ControlFlow::Break(done);
            }
        }
    }

    async fn receive(&mut self) -> Result<pb::CoordinateResponse> {
        match &mut self.wire {
            Some(wire) => wire.receive().await,
            None => Err(Error::new(Code::Unavailable, "there is no stream")),
        }
    }

    pub(crate) fn send(&self, frame: pb::CoordinateRequest) {
        if let Some(wire) = &self.wire {
            wire.send(frame);
        }
    }

    /// Does what a frame asks for; something where that is all that this process has to do with it.
    async fn hear(&mut self, frame: pb::CoordinateResponse) -> Option<Result<Outcome>> {
        let sequence = frame.sequence;
        // A question that was answered before this stream was attached is told again, too.
        let past =
            |driver: &Self, id: &str| sequence <= driver.started.last_sequence && id != driver.started.pending_id;
        match frame.frame? {
            Frame::Started(started) => self.started = started,
            Frame::Warning(warning) => self.told.push(Warning::from_raw(&warning)),
            Frame::DecisionNeeded(needed) if past(self, &needed.decision_id) => self.told.clear(),
            Frame::DecisionNeeded(needed) => self.decide(needed).await,
            Frame::ToolsNeeded(needed) if !past(self, &needed.batch_id) => self.run_tools(needed).await,
            Frame::GenerationNeeded(needed) if !past(self, &needed.generation_id) => self.generate_for(needed).await,
            Frame::Rejected(rejected) => return self.rejected(rejected).await.err().map(Err),
            Frame::Attempt(started) => {
                if anew(&started) && self.told_delta {
                    self.hear_delta(Delta::Attempt);
                }
                self.told_delta = false;
            }
            Frame::Delta(delta) => {
                if let Some(delta) = Delta::from_raw(Some(delta)) {
                    self.told_delta = true;
                    self.hear_delta(delta);
                }
            }
            Frame::Detached(detached) => return Some(self.detached(&detached)),
            Frame::Ended(ended) => return Some(self.end(ended).await),
            // Questions that are told again, and what a newer server may say.
            _ => {}
        }
        None
    }

    fn detached(&mut self, frame: &pb::CoordinationDetached) -> Result<Outcome> {
        if frame.reason() != pb::DetachReason::Suspended {
            return Err(self.or_failure(frame::left(frame)));
        }
        if !self.offers.paused() {
            let coordination_id = frame.coordination_id.clone();
            return Ok(Outcome { state: OutcomeState::Suspended, coordination_id, undelivered: None });
        }
        let calls = self.batch.iter().flat_map(|batch| &batch.calls).filter_map(|needed| needed.call.as_ref());
        let left = calls.filter(|call| frame.pending_call_ids.contains(&call.call_id)).map(ToolCall::from_raw);
        let pause = Pause { coordination_id: frame.coordination_id.clone(), calls: left.collect() };
        Err(self.or_failure(Error::of(pause.into())))
    }

    async fn end(&mut self, ended: pb::CoordinationEnded) -> Result<Outcome> {
        // Kept, since the caller may leave while the trailers are waited for.
        self.ended = Some(ended.clone());
        let by_execution = matches!(ended.outcome, Some(pb::coordination_ended::Outcome::Failed(_)));
        let mut failed = match frame::outcome(ended, &self.id) {
            Ok(outcome) => {
                self.memory.clear();
                return Ok(outcome);
            }
            Err(failed) => failed,
        };
        // The trailers say the same, and two things more.
        if let Err(last) = self.receive().await {
            failed.request_id = last.request_id;
            failed.retry_after = last.retry_after;
        }
        self.memory.clear();
        if let Some(raised) = self.failure.take() {
            return Err(Error::of(raised.cause));
        }
        match self.generation.take() {
            Some(raised) if by_execution && !raised.cause.is::<Error>() => Err(Error::of(raised.cause)),
            _ => Err(failed),
        }
    }

    /// Ends the coordination, since the caller no longer waits for it.
    async fn abandon(&mut self, why: Gone) -> Result<Outcome> {
        if !self.begun {
            return Err(Error::gone(why));
        }
        let mut ended = self.ended.take();
        if ended.is_none() {
            ended = match self.wire.as_mut() {
                Some(wire) => told(wire).await,
                None => None,
            };
        }
        if let Some(ended) = ended {
            self.memory.clear();
            return frame::outcome(ended, &self.id).map_err(|failed| self.gone_with(why, failed.undelivered));
        }
        cancel(&self.client, &self.id).await;
        Err(self.gone_with(why, None))
    }

    fn gone_with(&self, why: Gone, undelivered: Option<Box<Exchange>>) -> Error {
        let made = Error { undelivered, ..Error::gone(why) };
        if self.id.is_empty() { made } else { made.with_metadata("coordination_id", &self.id) }
    }

    pub(crate) fn or_failure(&mut self, error: Error) -> Error {
        self.failure.take().map_or(error, |raised| Error::of(raised.cause))
    }

    /// Waits before the next try, or gives an error when it has tried for long enough.
    pub(crate) async fn rest(&mut self, trouble: Error) -> Result<()> {
        if self.trouble_since.is_none() {
            self.wait = FIRST_ATTACH_WAIT;
        }
        let since = *self.trouble_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.client.attach_for() {
            return Err(self.or_failure(trouble));
        }
        let wait = trouble.retry_after.unwrap_or(self.wait);
        self.wait = (self.wait * 2).min(MAX_ATTACH_WAIT);
        match &mut self.wire {
            Some(wire) => wire.beside(tokio::time::sleep(wait)).await,
            None => tokio::time::sleep(wait).await,
        }
        Ok(())
    }
}

impl Drop for Driver<'_> {
    /// A future that is dropped is a caller that no longer waits: the server is told, by somebody who still does.
    fn drop(&mut self) {
        self.client.forget(&self.id, &self.memory);
        // What is ephemeral ends with its stream.
        if self.over || !self.begun || self.ended.is_some() || self.id.is_empty() {
            return;
        }
        let (client, id, wire) = (self.client.clone(), std::mem::take(&mut self.id), self.wire.take());
        let farewell = async move {
            let heard = match wire {
                Some(mut wire) => told(&mut wire).await.is_some(),
                None => false,
            };
            if !heard {
                cancel(&client, &id).await;
            }
        };
        self.client.afterwards(farewell);
    }
}

/// Cancels over a stream; nothing where it is not heard that it ended.
async fn told(wire: &mut Wire) -> Option<pb::CoordinationEnded> {
    wire.send(cancel_frame(CALLER_GONE));
    tokio::time::timeout(CANCEL_WAIT, wire.ended()).await.ok().flatten()
}

/// Cancels by id.
async fn cancel(client: &Client, id: &str) {
    if !id.is_empty() {
        // The caller is on its way out, and a server that cannot be reached cannot be told.
        let _unheard = tokio::time::timeout(CANCEL_WAIT, client.cancel(id, CALLER_GONE)).await.is_err();
    }
}
