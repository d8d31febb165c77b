//! Runs in flight: tasks of their own, watched by the calls that wait for them. It must not know what a run does.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{Hash, Namespace, RunId};
use crate::domain::run::{AttemptKind, Run};
use crate::domain::settings::Warning;
use crate::engine::backend::Delta;

use super::turn::{OnDisconnect, Outcome};

/// Something on the way of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It is claimed.
    Claimed,
    /// A provider is called: which call, what for, where, with which model.
    Attempt {
        /// Counted from 1 within the run.
        number: u32,
        /// What for.
        kind: AttemptKind,
        /// The backend.
        backend_id: String,
        /// The model.
        model: String,
    },
    /// More of the answer.
    Delta(Delta),
    /// What the caller should know.
    Warning(Warning),
}

/// Longest piece of text that deltas are joined into.
const MAX_JOINED: usize = 64 * 1024;

/// One run in flight. What was told so far stays here until it lands, so a slow or a late watcher costs no more memory than the answer itself.
pub struct Flight<T = Outcome> {
    /// The run.
    pub run_id: RunId,
    /// Hash of the request.
    pub fingerprint: Hash,
    /// What is known of the run before its claim.
    queued: Option<Run>,
    /// Which of the run's states the claim is; 0 before it.
    claimed_as: AtomicU64,
    on_disconnect: OnDisconnect,
    watchers: AtomicUsize,
    /// Ends the run.
    pub cancel: CancellationToken,
    /// The server stops, which ends every run.
    interrupt: CancellationToken,
    feed: Mutex<Feed<T>>,
    changed: watch::Sender<()>,
    /// When the last of its watchers stops waiting; absent while one has all the time in the world, or the run finishes without any.
    until: watch::Sender<Option<Instant>>,
}

struct Feed<T> {
    events: Vec<Event>,
    landed: Option<Result<Arc<T>, Fault>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing under these locks can panic half-way through a change.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Flight<T> {
    /// A flight that nobody watches yet. `interrupt` ends it with the server.
    pub fn new(
        run_id: RunId,
        fingerprint: Hash,
        on_disconnect: OnDisconnect,
        interrupt: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self::make(run_id, fingerprint, None, on_disconnect, interrupt))
    }

    /// The same, of a run that is told of while it is QUEUED.
    pub fn of(queued: Run, on_disconnect: OnDisconnect, interrupt: CancellationToken) -> Arc<Self> {
        Arc::new(Self::make(queued.id.clone(), queued.fingerprint, Some(queued), on_disconnect, interrupt))
    }

    fn make(
        run_id: RunId,
        fingerprint: Hash,
        queued: Option<Run>,
        on_disconnect: OnDisconnect,
        interrupt: CancellationToken,
    ) -> Self {
        Self {
            run_id,
            fingerprint,
            queued,
            claimed_as: AtomicU64::new(0),
            on_disconnect,
            watchers: AtomicUsize::new(0),
            cancel: interrupt.child_token(),
            interrupt,
            feed: Mutex::new(Feed { events: Vec::new(), landed: None }),
            changed: watch::Sender::new(()),
            // The first watcher puts it off.
            until: watch::Sender::new((on_disconnect == OnDisconnect::Cancel).then(Instant::now)),
        }
    }

    /// The run as it is before its claim, which no record has.
    pub fn queued(&self) -> Option<Run> {
        self.queued.clone()
    }

    /// When the last of its watchers stops waiting, as far as is known.
    pub fn until(&self) -> watch::Receiver<Option<Instant>> {
        self.until.subscribe()
    }

    /// Why the run ended, when all that is known is that it was told to: by its callers, or with the server.
    pub fn end(&self, fault: Fault) -> Fault {
        if fault.reason == Reason::RunCancelled && self.interrupt.is_cancelled() {
            return super::replay::interrupted(&self.run_id);
        }
        fault
    }

    /// Tells the watchers that the run is claimed, and which of its states that is.
    pub fn claimed(&self, sequence: u64) {
        self.claimed_as.store(sequence, Ordering::Release);
        self.tell(Event::Claimed);
    }

    /// Which of the run's states the claim is; 0 before it.
    pub fn claimed_as(&self) -> u64 {
        self.claimed_as.load(Ordering::Acquire)
    }

    /// Tells the watchers.
    pub fn tell(&self, event: Event) {
        let mut feed = lock(&self.feed);
        let joined = match (feed.events.last_mut(), &event) {
            (Some(Event::Delta(last)), Event::Delta(more)) => join(last, more),
            _ => false,
        };
        if !joined {
            feed.events.push(event);
        }
        drop(feed);
        self.changed.send_replace(());
    }

    /// Ends it. Only the first end counts.
    pub fn land(&self, result: Result<T, Fault>) {
        lock(&self.feed).landed.get_or_insert(result.map(Arc::new));
        self.changed.send_replace(());
    }

    /// A watcher from the start of the flight, which stops waiting at a deadline of its own.
    pub fn watch(self: &Arc<Self>, attached: bool, deadline: Option<Instant>) -> Watcher<T> {
        self.watchers.fetch_add(1, Ordering::AcqRel);
        self.until.send_modify(|until| *until = until.zip(deadline).map(|(until, deadline)| until.max(deadline)));
        Watcher { reader: self.read(), attached }
    }

    /// Reads along from the start, without being waited for.
    pub fn read(self: &Arc<Self>) -> Reader<T> {
        Reader { flight: Arc::clone(self), event: 0, told: None, changed: self.changed.subscribe() }
    }
}

fn join(last: &mut Delta, more: &Delta) -> bool {
    let (text, more) = match (last, more) {
        (Delta::Text(text), Delta::Text(more))
        | (Delta::Reasoning(text), Delta::Reasoning(more))
        | (Delta::Refusal(text), Delta::Refusal(more)) => (text, more),
        (
            Delta::ToolCall { index, arguments_json, .. },
            Delta::ToolCall { index: same, name: None, arguments_json: more },
        ) if index == same => (arguments_json, more),
        _ => return false,
    };
    let fits = text.len() + more.len() <= MAX_JOINED;
    if fits {
        text.push_str(more);
    }
    fits
}

/// What a delta has beyond a byte that was told already.
fn rest(delta: &Delta, offset: usize) -> Option<Delta> {
    let cut = |text: &str| text.get(offset..).filter(|rest| !rest.is_empty()).map(str::to_owned);
    match delta {
        Delta::Text(text) => cut(text).map(Delta::Text),
        Delta::Reasoning(text) => cut(text).map(Delta::Reasoning),
        Delta::Refusal(text) => cut(text).map(Delta::Refusal),
        Delta::ToolCall { index, arguments_json, .. } => {
            cut(arguments_json).map(|arguments_json| Delta::ToolCall { index: *index, name: None, arguments_json })
        }
    }
}

/// A call that waits for a run. When the last one is dropped the run is cancelled, unless it said otherwise.
pub struct Watcher<T = Outcome> {
    reader: Reader<T>,
    /// The run was in flight when this watcher came.
    pub attached: bool,
}

impl<T> Watcher<T> {
    /// The run.
    pub fn run_id(&self) -> &RunId {
        &self.reader.flight.run_id
    }

    /// What it watches.
    pub fn flight(&self) -> &Arc<Flight<T>> {
        &self.reader.flight
    }

    /// The next event; absent when the run has landed and everything was told.
    pub async fn next(&mut self) -> Option<Event> {
        self.reader.next().await
    }

    /// What came of the run.
    ///
    /// # Errors
    /// Why nothing came of it.
    pub async fn outcome(&mut self) -> Result<Arc<T>, Fault> {
        self.reader.outcome().await
    }
}

/// What was told of a run before somebody came, in short.
#[derive(Debug, Default, PartialEq)]
pub struct SoFar {
    /// Warnings, the attempt at work, and its pieces but for the text.
    pub events: Vec<Event>,
    /// The text of the attempt at work.
    pub text: String,
}

/// Reads what a flight tells, at its own pace.
pub struct Reader<T = Outcome> {
    flight: Arc<Flight<T>>,
    event: usize,
    /// How many bytes of the delta at `event` were told already; absent when it was not told, which is not the same as told and empty.
    told: Option<usize>,
    changed: watch::Receiver<()>,
}

impl<T> Reader<T> {
    /// What it reads.
    pub fn flight(&self) -> &Arc<Flight<T>> {
        &self.flight
    }

    /// Everything that was told so far, in short; [`Self::next`] goes on from there.
    pub fn catch_up(&mut self) -> SoFar {
        let feed = lock(&self.flight.feed);
        let mut so_far = SoFar::default();
        for event in &feed.events {
            match event {
                Event::Claimed => {}
                Event::Attempt { .. } => {
                    so_far.events.retain(|event| matches!(event, Event::Warning(_)));
                    so_far.text.clear();
                    so_far.events.push(event.clone());
                }
                Event::Delta(Delta::Text(text)) => so_far.text.push_str(text),
                Event::Delta(_) | Event::Warning(_) => so_far.events.push(event.clone()),
            }
        }
        // A piece at the end may still grow.
        (self.event, self.told) = match feed.events.last() {
            Some(Event::Delta(delta)) => (feed.events.len() - 1, Some(delta.bytes())),
            _ => (feed.events.len(), None),
        };
        so_far
    }

    /// The next event; absent when the run has landed and everything was told.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            self.changed.borrow_and_update();
            match self.poll_feed() {
                Some(next) => return next,
                None => {
                    // The sender lives as long as the flight that this watcher holds.
                    if self.changed.changed().await.is_err() {
                        return None;
                    }
                }
            }
        }
    }

    fn poll_feed(&mut self) -> Option<Option<Event>> {
        let feed = lock(&self.flight.feed);
        while let Some(event) = feed.events.get(self.event) {
            let Event::Delta(delta) = event else {
                self.event += 1;
                return Some(Some(event.clone()));
            };
            let Some(told) = self.told else {
                self.told = Some(delta.bytes());
                return Some(Some(event.clone()));
            };
            if let Some(more) = rest(delta, told) {
                self.told = Some(delta.bytes());
                return Some(Some(Event::Delta(more)));
            }
            if self.event + 1 == feed.events.len() {
                break;
            }
            self.event += 1;
            self.told = None;
        }
        feed.landed.is_some().then_some(None)
    }

    /// What came of the run.
    ///
    /// # Errors
    /// Why nothing came of it.
    pub async fn outcome(&mut self) -> Result<Arc<T>, Fault> {
        loop {
            self.changed.borrow_and_update();
            if let Some(landed) = &lock(&self.flight.feed).landed {
                return landed.clone();
            }
            if self.changed.changed().await.is_err() {
                return Err(Fault::new(Reason::Internal, "the run ended without a result: look it up by its run id"));
            }
        }
    }
}

impl<T> Drop for Watcher<T> {
    fn drop(&mut self) {
        let flight = &self.reader.flight;
        let last = flight.watchers.fetch_sub(1, Ordering::AcqRel) == 1;
        if last && flight.on_disconnect == OnDisconnect::Cancel {
            flight.cancel.cancel();
        }
    }
}

type Key = (Namespace, RunId);

/// Every run in flight, by its id.
#[derive(Default)]
pub struct Flights {
    state: Mutex<State>,
    landed: tokio::sync::Notify,
    /// Ends every run and probe when the server stops.
    interrupt: CancellationToken,
}

#[derive(Default)]
struct State {
    runs: HashMap<Key, Arc<Flight>>,
    probes: usize,
}

/// Whether a call leads a run or joins it.
pub enum Entered {
    /// The run is this call's to execute.
    Lead(Arc<Flight>),
    /// It is in flight.
    Follow(Arc<Flight>),
    /// There are too many.
    Full,
}

impl Flights {
    /// Leads or joins the run of an id.
    pub fn enter(&self, key: &Key, max: usize, make: impl FnOnce() -> Arc<Flight>) -> Entered {
        let mut state = lock(&self.state);
        if let Some(flight) = state.runs.get(key) {
            return Entered::Follow(Arc::clone(flight));
        }
        if state.runs.len() >= max {
            return Entered::Full;
        }
        let flight = make();
        state.runs.insert(key.clone(), Arc::clone(&flight));
        Entered::Lead(flight)
    }

    /// The flight of a run.
    pub fn find(&self, namespace: &Namespace, run_id: &RunId) -> Option<Arc<Flight>> {
        lock(&self.state).runs.get(&(namespace.clone(), run_id.clone())).map(Arc::clone)
    }

    /// Takes a run out, after what came of it is on record.
    pub fn leave(&self, key: &Key) {
        lock(&self.state).runs.remove(key);
        self.landed.notify_waiters();
    }

    /// Counts a probe until the guard is dropped.
    pub fn probing(self: &Arc<Self>) -> Probing {
        lock(&self.state).probes += 1;
        Probing { flights: Arc::clone(self) }
    }

    /// How many runs and probes are in flight.
    pub fn count(&self) -> usize {
        let state = lock(&self.state);
        state.runs.len() + state.probes
    }

    /// How many runs of a namespace are in flight.
    pub fn count_in(&self, namespace: &Namespace) -> usize {
        lock(&self.state).runs.keys().filter(|(of, _)| of == namespace).count()
    }

    /// What ends every flight when the server stops.
    pub fn interrupt(&self) -> CancellationToken {
        self.interrupt.clone()
    }

    /// Ends every run as INTERRUPTED.
    pub fn interrupt_all(&self) {
        self.interrupt.cancel();
    }

    /// Waits until no run is in flight.
    pub async fn landed(&self) {
        loop {
            let landed = self.landed.notified();
            tokio::pin!(landed);
            landed.as_mut().enable();
            if self.count() == 0 {
                return;
            }
            landed.await;
        }
    }
}

/// A probe in flight.
pub struct Probing {
    flights: Arc<Flights>,
}

impl Drop for Probing {
    fn drop(&mut self) {
        lock(&self.flights.state).probes -= 1;
        self.flights.landed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(on_disconnect: OnDisconnect) -> Arc<Flight> {
        Flight::new(RunId::new("r"), Hash::of(b""), on_disconnect, CancellationToken::new())
    }

    fn text(text: &str) -> Event {
        Event::Delta(Delta::Text(text.to_owned()))
    }

    #[tokio::test]
    async fn a_watcher_gets_each_byte_once_however_deltas_were_joined() {
        let flight = flight(OnDisconnect::Cancel);
        let mut early = flight.watch(false, None);
        flight.tell(Event::Claimed);
        flight.tell(text("a"));
        assert_eq!(early.next().await, Some(Event::Claimed));
        assert_eq!(early.next().await, Some(text("a")));
        flight.tell(text("b"));
        flight.tell(text("c"));
        let mut late = flight.watch(true, None);
        flight.land(Err(Fault::new(Reason::Internal, "x")));
        assert_eq!(early.next().await, Some(text("bc")));
        assert_eq!(early.next().await, None);
        assert_eq!(late.next().await, Some(Event::Claimed));
        assert_eq!(late.next().await, Some(text("abc")));
        assert_eq!(late.next().await, None);
    }

    #[tokio::test]
    async fn what_is_joined_to_an_empty_piece_is_told_from_its_first_byte() {
        // A call's name comes in a piece without arguments; the first byte of what followed was lost.
        let flight = flight(OnDisconnect::Cancel);
        let mut watcher = flight.watch(false, None);
        let call = |name: Option<&str>, arguments: &str| {
            Event::Delta(Delta::ToolCall {
                index: 0,
                name: name.map(str::to_owned),
                arguments_json: arguments.to_owned(),
            })
        };
        flight.tell(call(Some("look"), ""));
        assert_eq!(watcher.next().await, Some(call(Some("look"), "")));
        flight.tell(call(None, "{}"));
        assert_eq!(watcher.next().await, Some(call(None, "{}")));
    }

    #[tokio::test]
    async fn whoever_comes_late_reads_what_was_said_in_short_and_goes_on_from_there() {
        let flight = flight(OnDisconnect::Cancel);
        let attempt = |number| Event::Attempt {
            number,
            kind: AttemptKind::First,
            backend_id: "b".to_owned(),
            model: "m".to_owned(),
        };
        let reasoning = Event::Delta(Delta::Reasoning("hm".to_owned()));
        assert_eq!(flight.read().catch_up(), SoFar::default());
        flight.claimed(3);
        for event in [attempt(1), text("gone"), attempt(2), text("a"), reasoning.clone(), text("b")] {
            flight.tell(event);
        }
        let mut late = flight.read();
        let so_far = late.catch_up();
        assert_eq!((so_far.events, so_far.text.as_str()), (vec![attempt(2), reasoning], "ab"));
        flight.tell(text("c"));
        assert_eq!((late.next().await, flight.claimed_as()), (Some(text("c")), 3));
        drop(late);
        assert!(!flight.cancel.is_cancelled(), "it is not waited for");
        flight.land(Err(Fault::new(Reason::Internal, "x")));
        let mut after = flight.read();
        after.catch_up();
        assert_eq!(after.next().await, None);
    }

    #[tokio::test]
    async fn the_last_watcher_that_goes_cancels_unless_the_run_said_finish() {
        let (cancel, finish) = (flight(OnDisconnect::Cancel), flight(OnDisconnect::Finish));
        let (first, second) = (cancel.watch(false, None), cancel.watch(true, None));
        drop(first);
        assert!(!cancel.cancel.is_cancelled());
        drop(second);
        assert!(cancel.cancel.is_cancelled());
        drop(finish.watch(false, None));
        assert!(!finish.cancel.is_cancelled());
    }

    #[tokio::test]
    async fn the_last_deadline_counts_and_finishing_has_none() {
        let (cancel, finish) = (flight(OnDisconnect::Cancel), flight(OnDisconnect::Finish));
        let soon = Instant::now() + std::time::Duration::from_secs(1);
        let later = soon + std::time::Duration::from_secs(1);
        let watchers = [cancel.watch(false, Some(later)), cancel.watch(true, Some(soon))];
        assert_eq!(*cancel.until().borrow(), Some(later));
        let endless = cancel.watch(true, None);
        assert_eq!(*cancel.until().borrow(), None);
        let _finishing = finish.watch(false, Some(soon));
        assert_eq!(*finish.until().borrow(), None);
        drop((watchers, endless));
    }
}
