//! One stream attached to a coordination: what it is told, in order, and what its client says. It must not know how either is sent.
//!
//! A [`Stream`] is pulled: it reads the board and the journal when whoever sends has room, so that a client which does not read costs no
//! memory. Its [`Voice`] takes what the client says, one thing at a time.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use crate::domain::coordination::{Frame, State};
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::RunId;
use crate::engine::backend::Delta;

use super::super::flight::{Event as Flown, Flight, Watcher};
use super::super::{App, Caller};
use super::ask::{Answer, Said};
use super::live::{Live, Next, Recent};
use super::lives::Place;
use super::told::{Accepted, DetachReason, Told, What};

/// Rejections and repetitions that wait to be told. A client that does not read them says nothing more.
const SIDE: usize = 16;
/// Frames that may wait for a client which goes on talking without reading.
const BACKLOG: u64 = 64;

/// Why a stream has nothing more to say once all is quiet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    /// It has not been said.
    Open,
    /// The client ended its side, and everything that it said was taken.
    HalfClosed,
    /// The client said suspend.
    Suspended,
}

/// Something told beside the journal, once the journal was told up to a number.
type Aside = Box<(u64, Told)>;

/// What one client is told.
pub struct Stream {
    app: Arc<App>,
    live: Arc<Live>,
    number: u64,
    /// The number of the last frame that was told.
    cursor: Arc<AtomicU64>,
    deltas: bool,
    /// What is told first.
    first: Option<Told>,
    /// What is pending, or how it ended, told again under its number.
    again: Option<u64>,
    /// The pieces of the answer of the turn at work.
    pieces: Option<Watcher>,
    /// The last attempt whose beginning the pieces have passed.
    attempt: u32,
    /// The run that the frames are of, where it began since this stream came.
    run: Option<RunId>,
    /// The number of the last frame when this stream came.
    begun: u64,
    /// The flight whose pieces were told last.
    heard: Weak<Flight>,
    asides: mpsc::Receiver<Aside>,
    aside: Option<Aside>,
    closing: watch::Receiver<Closing>,
    changes: watch::Receiver<()>,
    page: VecDeque<(u64, Frame)>,
    drained: bool,
    /// An ephemeral coordination was told that its stream ends.
    left: bool,
    over: bool,
    last_told: Instant,
    /// Counts the stream until it is gone.
    _place: Place,
}

/// Takes what one client says.
pub struct Voice {
    app: Arc<App>,
    caller: Caller,
    live: Arc<Live>,
    number: u64,
    cursor: Arc<AtomicU64>,
    asides: mpsc::Sender<Aside>,
    closing: watch::Sender<Closing>,
}

impl Stream {
    pub(super) fn open(
        app: Arc<App>,
        caller: Caller,
        live: Arc<Live>,
        after: u64,
        deltas: bool,
        attached: bool,
    ) -> Result<(Self, Voice), Fault> {
        let place = app.coordinations.stream(app.limits().max_coordination_streams)?;
        let number = live.attach(deltas);
        let (aside, asides) = mpsc::channel(SIDE);
        let (close, closing) = watch::channel(Closing::Open);
        let changes = live.changes();
        let first = app.view(&live).ok().map(|now| {
            let sequence = u64::from(!attached);
            Told { sequence, what: What::Started { attached, now: Box::new(now) } }
        });
        let asks = live.now().and_then(|now| match now.state.end() {
            Some(_) => Some(now.last_sequence),
            None => now.state.pending_id().and_then(|id| id.sequence()),
        });
        let again = asks.filter(|sequence| attached && *sequence <= after);
        let begun = if attached { live.now().map_or(0, |now| now.last_sequence) } else { 0 };
        let cursor = Arc::new(AtomicU64::new(after));
        let voice = Voice {
            app: Arc::clone(&app),
            caller,
            live: Arc::clone(&live),
            number,
            cursor: Arc::clone(&cursor),
            asides: aside,
            closing: close,
        };
        let stream = Self {
            app,
            live,
            number,
            cursor,
            deltas,
            first,
            again,
            pieces: None,
            attempt: 0,
            run: None,
            begun,
            heard: Weak::new(),
            asides,
            aside: None,
            closing,
            changes,
            page: VecDeque::new(),
            drained: false,
            left: false,
            over: false,
            last_told: Instant::now(),
            _place: place,
        };
        Ok((stream, voice))
    }

    /// What is told next; absent when the last frame was told.
    ///
    /// # Errors
    /// When what happened cannot be kept or read; nothing comes after it.
    pub async fn next(&mut self) -> Option<Result<Told, Fault>> {
        if self.over {
            return None;
        }
        let told = self.find().await;
        self.last_told = Instant::now();
        match &told {
            Ok(Told { what: What::Ended(_), .. }) | Err(_) => {
                self.over = true;
                if self.live.detach(self.number) {
                    self.live.has_left();
                }
            }
            Ok(Told { what: What::Detached { .. }, .. }) => self.over = true,
            Ok(Told { what: What::DecisionNeeded(needed), .. }) => self.live.delivers(&needed.id),
            Ok(Told { what: What::Delta(delta), .. }) => self.live.told_bytes(delta.bytes()),
            Ok(_) => {}
        }
        if let Ok(Told { what: What::Detached { reason, .. }, .. }) = &told
            && *reason != DetachReason::TakenOver
            && self.live.detach(self.number)
            && let Err(fault) = Box::pin(self.app.let_go(&self.live, false)).await
        {
            // The client has been told where it is; that it left is not worth a failed stream.
            tracing::warn!(coordination_id = %self.live.id, reason = fault.reason.word(), "coordination.detach_failed");
        }
        Some(told)
    }

    fn at(&self) -> u64 {
        self.cursor.load(Ordering::Acquire)
    }

    async fn find(&mut self) -> Result<Told, Fault> {
        if let Some(first) = self.first.take() {
            return Ok(first);
        }
        loop {
            if !self.live.is_attached_as(self.number) {
                return self.detached(DetachReason::TakenOver);
            }
            self.changes.borrow_and_update();
            if let Some(told) = Box::pin(self.told_again()).await? {
                return Ok(told);
            }
            if let Some(told) = Box::pin(self.journalled()).await? {
                return Ok(told);
            }
            if self.aside.is_none() {
                self.aside = self.asides.try_recv().ok();
            }
            if let Some(aside) = self.aside.take_if(|aside| aside.0 <= self.cursor.load(Ordering::Acquire)) {
                let (_, told) = *aside;
                return Ok(told);
            }
            if let Some(fault) = self.live.broken() {
                return Err(fault);
            }
            if self.app.is_draining() && !self.drained {
                self.drained = true;
                return Ok(Told { sequence: 0, what: What::Draining(self.app.drained_by()) });
            }
            if self.live.is_quiet() && self.live.waiting(self.at()) == 0 && self.aside.is_none() {
                let closing = *self.closing.borrow_and_update();
                let reason = match closing {
                    _ if self.drained => Some(DetachReason::Draining),
                    Closing::Suspended => Some(DetachReason::Suspended),
                    Closing::HalfClosed => Some(DetachReason::HalfClosed),
                    Closing::Open => None,
                };
                // Everything that was said before is answered first.
                match (reason, self.asides.try_recv()) {
                    (_, Ok(aside)) => {
                        self.aside = Some(aside);
                        continue;
                    }
                    // It ends with its stream.
                    (Some(_), Err(_)) if self.live.ephemeral && !self.left => {
                        self.left = true;
                        Box::pin(self.app.let_go(&self.live, false)).await?;
                        continue;
                    }
                    (Some(reason), Err(_)) => return self.detached(reason),
                    (None, Err(_)) => {}
                }
            }
            if let Some(told) = self.wait().await? {
                return Ok(told);
            }
        }
    }

    fn detached(&self, reason: DetachReason) -> Result<Told, Fault> {
        let now = Box::new(self.app.view(&self.live)?);
        Ok(Told { sequence: 0, what: What::Detached { reason, now } })
    }

    /// What was pending when the stream came, or its end, where the client says that it has seen it already.
    async fn told_again(&mut self) -> Result<Option<Told>, Fault> {
        let Some(sequence) = self.again.take() else {
            return Ok(None);
        };
        let asked = self.app.journal_of(&self.live, sequence.saturating_sub(1), 1).await?.into_iter().next();
        match asked {
            Some((number, frame)) => self.app.told(&self.live, number, Recent { frame, bodies: None }).await,
            None => Ok(None),
        }
    }

    async fn journalled(&mut self) -> Result<Option<Told>, Fault> {
        loop {
            let at = self.at();
            let (number, recent) = match self.page.pop_front() {
                Some((number, frame)) => (number, Recent { frame, bodies: None }),
                None => match self.live.after(at) {
                    Next::Here(number, recent) => (number, recent),
                    Next::None => return Ok(None),
                    Next::Journal => {
                        self.page = Box::pin(self.app.journal_page(&self.live, at)).await?.into();
                        if self.page.is_empty() {
                            // Numbers that were given to nothing.
                            return Ok(None);
                        }
                        continue;
                    }
                },
            };
            // What was said before the frame that ends a step, or that begins an answer anew, is told before it.
            let piece = match &recent.frame {
                Frame::Attempt { number, .. } => self.pieces_before(*number).await,
                frame if frame.asks() || matches!(frame, Frame::Ended(_)) => self.last_pieces().await,
                _ => None,
            };
            if let Some(piece) = piece {
                if !self.page.is_empty() || recent.bodies.is_none() {
                    self.page.push_front((number, recent.frame));
                }
                return Ok(Some(piece));
            }
            if let Frame::RunStarted { run_id } = &recent.frame {
                self.pieces = None;
                self.attempt = 0;
                // Of a run that began before this stream came, only what is at work is told.
                self.run = Some(run_id.clone()).filter(|_| number > self.begun);
            }
            let told = Box::pin(self.app.told(&self.live, number, recent)).await?;
            self.cursor.store(number, Ordering::Release);
            self.live.read_up_to(number);
            if self.live.waiting(at) >= BACKLOG {
                self.live.was_read();
            }
            if told.is_some() {
                return Ok(told);
            }
        }
    }

    /// A piece of the answer that was not told yet, of a step that has ended.
    async fn last_pieces(&mut self) -> Option<Told> {
        self.listen_back();
        let pieces = self.pieces.as_mut()?;
        while let Some(event) = pieces.next().await {
            if let Flown::Delta(delta) = event {
                return Some(piece(delta));
            }
        }
        self.pieces = None;
        self.live.told();
        None
    }

    /// A piece that was not told yet, of an attempt before one.
    async fn pieces_before(&mut self, attempt: u32) -> Option<Told> {
        self.listen_back();
        while self.attempt < attempt {
            match self.pieces.as_mut()?.next().await {
                Some(Flown::Delta(delta)) => return Some(piece(delta)),
                Some(Flown::Attempt { number, .. }) => self.attempt = number,
                Some(_) => {}
                None => self.pieces = None,
            }
        }
        None
    }

    /// Listens to the pieces of the turn at work, if there is one and they are wanted.
    fn listen(&mut self) {
        let Some(now) = self.live.now() else { return };
        if let State::TurnRunning(turn) = &now.state {
            self.listen_to(self.live.flight(&turn.run_id));
        }
    }

    /// Listens to the pieces of the step that a frame is of, which may be over already.
    fn listen_back(&mut self) {
        if let Some(run_id) = &self.run {
            self.listen_to(self.live.untold(run_id));
        }
    }

    fn listen_to(&mut self, flight: Option<Arc<Flight>>) {
        if !self.deltas || self.pieces.is_some() {
            return;
        }
        // Each step of a run has a flight of its own.
        if let Some(flight) = flight.filter(|flight| self.heard.as_ptr() != Arc::as_ptr(flight)) {
            self.heard = Arc::downgrade(&flight);
            self.pieces = Some(flight.watch(true, None));
        }
    }

    /// Waits for something to happen; gives what is told without being in the journal.
    async fn wait(&mut self) -> Result<Option<Told>, Fault> {
        self.listen();
        let expires = self.live.now().and_then(|now| now.expiry(true)).filter(|_| self.live.is_quiet());
        let expires = expires.map(|(at, _)| Instant::now() + self.app.until(at));
        let heartbeat = self.last_told + self.app.limits().coordination_heartbeat();
        let drained = self.app.drains();
        let pieces = &mut self.pieces;
        tokio::select! {
            changed = self.changes.changed() => {
                if changed.is_err() {
                    return Err(Fault::new(Reason::Internal, "the coordination is gone; the log has more"));
                }
            }
            event = async { match pieces { Some(pieces) => pieces.next().await, None => pending().await } } => match event {
                Some(Flown::Delta(delta)) => return Ok(Some(piece(delta))),
                Some(Flown::Attempt { number, .. }) => self.attempt = number,
                Some(_) => {}
                None => self.pieces = None,
            },
            Some(aside) = self.asides.recv(), if self.aside.is_none() => self.aside = Some(aside),
            Ok(()) = self.closing.changed() => {}
            () = drained.cancelled(), if !self.drained => {}
            () = async { match expires { Some(at) => sleep_until(at).await, None => pending().await } } => {
                Box::pin(self.app.expire(&self.live)).await?;
            }
            () = sleep_until(heartbeat) => {
                return Ok(Some(Told { sequence: 0, what: What::Heartbeat(self.app.clock.now()) }));
            }
        }
        Ok(None)
    }
}

fn piece(delta: Delta) -> Told {
    Told { sequence: 0, what: What::Delta(delta) }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.over || !self.live.detach(self.number) {
            return;
        }
        let (app, live) = (Arc::clone(&self.app), Arc::clone(&self.live));
        let counted = app.flights.probing();
        // The client is gone without a word. Joined by `Flights::landed`, which the drain waits for.
        tokio::spawn(async move {
            if let Err(fault) = app.let_go(&live, true).await {
                tracing::warn!(coordination_id = %live.id, reason = fault.reason.word(), "coordination.detach_failed");
            }
            drop(counted);
        });
    }
}

impl Voice {
    /// Takes what the client says, after everything that it said before. Says whether there can be more: not after a newer stream took
    /// over, or when the coordination is over.
    pub async fn say(&self, said: Said) -> bool {
        match said {
            // What waits for a client to say something must not be as large as all that may come of it.
            Said::Answer(answer) => Box::pin(self.answer(*answer)).await,
            Said::Suspend => Box::pin(self.suspend()).await,
            Said::Cancel(message) => Box::pin(self.cancel(&message)).await,
        }
    }

    /// What the client sent is wrong in itself.
    pub async fn refuse(&self, id: String, fault: Fault) -> bool {
        Box::pin(self.aside(What::Rejected { id, fault })).await
    }

    /// The client ended its side, and said nothing that was not taken.
    pub fn half_close(&self) {
        self.closing.send_if_modified(|closing| {
            let first = *closing == Closing::Open;
            if first {
                *closing = Closing::HalfClosed;
            }
            first
        });
    }

    async fn answer(&self, answer: Answer) -> bool {
        if !self.may_answer(answer.id.is_none()).await {
            return self.live.is_attached_as(self.number);
        }
        let named = answer.id.clone().or_else(|| self.live.now().and_then(|now| now.state.pending_id().cloned()));
        match self.app.answer(&self.caller, &self.live, answer).await {
            // It is in the journal, which is told in any case.
            Ok(Accepted { replayed: false, .. }) => true,
            Ok(accepted) => self.aside(What::Accepted(accepted)).await,
            Err(fault) => {
                let id = named.map(|id| id.to_string()).unwrap_or_default();
                self.aside(What::Rejected { id, fault }).await
            }
        }
    }

    /// Waits until an answer can be taken: one that names nothing, until something is pending; any, until the client has read what it was
    /// told. Not when the stream is not attached any more.
    async fn may_answer(&self, names_nothing: bool) -> bool {
        let mut changes = self.live.changes();
        loop {
            changes.borrow_and_update();
            if !self.live.is_attached_as(self.number) || self.asides.is_closed() {
                return false;
            }
            let backlog = self.live.waiting(self.cursor.load(Ordering::Acquire));
            if (self.live.is_quiet() || !names_nothing) && backlog < BACKLOG {
                return true;
            }
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return false },
                () = self.asides.closed() => return false,
            }
        }
    }

    async fn suspend(&self) -> bool {
        if self.live.ephemeral {
            let message = "an ephemeral coordination ends with its stream: it cannot be suspended";
            return self.aside(What::Rejected { id: String::new(), fault: Fault::field("suspend", message) }).await;
        }
        let Some(now) = self.live.now() else { return false };
        let accepted = super::answer::accepted(self.live.id.as_str(), &now, None);
        let told = self.aside(What::Accepted(accepted)).await;
        self.closing.send_replace(Closing::Suspended);
        told
    }

    async fn cancel(&self, message: &str) -> bool {
        match self.app.accept_cancel(&self.live, message).await {
            Ok(()) => true,
            Err(fault) => self.aside(What::Rejected { id: self.live.id.to_string(), fault }).await,
        }
    }

    async fn aside(&self, what: What) -> bool {
        let after = self.live.now().map_or(0, |now| now.last_sequence);
        self.asides.send(Box::new((after, Told { sequence: 0, what }))).await.is_ok()
    }
}
