//! Threads that are busy with a run, and the runs that wait in line for them. It must not know what a run does on its thread.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{Namespace, RunId, ThreadId};
use crate::domain::thread::{Head, OnBusy, Thread};
use crate::store::ledger::Token;

use super::execution::cancelled;
use super::flight::Flight;
use super::followed::Follower;
use super::turn::ThreadRef;
use super::{App, Caller, store_fault};

#[cfg(test)]
mod tests;

type Key = (Namespace, ThreadId);

/// Every thread that is busy, each with one run. It is in memory only: a restart forgets who waited.
#[derive(Default)]
pub(super) struct Threads {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    lines: HashMap<Key, Line>,
    /// Of whoever waits next.
    ticket: u64,
}

/// The run of a busy thread, and those after it.
struct Line {
    run: RunId,
    /// The run ends: its end is on record, or will be in a moment, before it lets go of the thread.
    ending: bool,
    waiting: VecDeque<Waiting>,
}

impl Line {
    fn busy(&self) -> Busy {
        Busy { run: self.run.clone(), queued: self.waiting.len() }
    }
}

struct Waiting {
    run: RunId,
    ticket: u64,
    /// It has the runs before it cancelled, so it goes before those that only wait.
    interrupts: bool,
    hand: oneshot::Sender<Occupied>,
}

/// How a run comes to a thread.
pub(super) enum Joined {
    /// The thread was free.
    At(Occupied),
    /// It waits for those before it.
    Behind {
        /// The run at work, and those that were to replace it.
        before: Vec<RunId>,
        /// Its place.
        place: InLine,
    },
    /// There are too many already.
    Full(Busy),
}

/// What a thread is busy with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Busy {
    /// The run that has it.
    pub(super) run: RunId,
    /// How many wait for it.
    pub(super) queued: usize,
}

fn lock(mutex: &Mutex<State>) -> MutexGuard<'_, State> {
    // Nothing under this lock can panic half-way through a change.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Threads {
    /// How many wait in the longest of all lines.
    pub(super) fn longest_line(&self) -> usize {
        lock(&self.state).lines.values().map(|line| line.waiting.len()).max().unwrap_or_default()
    }

    /// Makes a thread busy with a run until the guard is dropped.
    ///
    /// # Errors
    /// What it is busy with.
    pub(super) fn occupy(
        self: &Arc<Self>,
        namespace: &Namespace,
        thread: &ThreadId,
        run: &RunId,
    ) -> Result<Occupied, Busy> {
        let key = (namespace.clone(), thread.clone());
        let mut state = lock(&self.state);
        match state.lines.get(&key) {
            Some(line) => Err(line.busy()),
            None => Ok(self.begin(&mut state, key, run)),
        }
    }

    /// The same for whoever may have been told of the end of the run before, which still has the thread: with nobody else in line it is waited
    /// for.
    ///
    /// # Errors
    /// What it is busy with.
    pub(super) fn occupy_next(
        self: &Arc<Self>,
        namespace: &Namespace,
        thread: &ThreadId,
        run: &RunId,
    ) -> Result<Joined, Busy> {
        let key = (namespace.clone(), thread.clone());
        let mut state = lock(&self.state);
        let Some(line) = state.lines.get(&key) else { return Ok(Joined::At(self.begin(&mut state, key, run))) };
        let busy = line.busy();
        if !line.ending || busy.queued > 0 {
            return Err(busy);
        }
        Ok(self.stand(&mut state, key, run, false))
    }

    /// A run is about to end: whoever hears of it may come for its thread before it lets go.
    pub(super) fn ending(&self, namespace: &Namespace, thread: &ThreadId, run: &RunId) {
        let key = (namespace.clone(), thread.clone());
        if let Some(line) = lock(&self.state).lines.get_mut(&key).filter(|line| line.run == *run) {
            line.ending = true;
        }
    }

    fn begin(self: &Arc<Self>, state: &mut State, key: Key, run: &RunId) -> Occupied {
        state.lines.insert(key.clone(), Line { run: run.clone(), ending: false, waiting: VecDeque::new() });
        Occupied { threads: Arc::clone(self), key }
    }

    /// The run that a thread is busy with.
    pub(super) fn busy_with(&self, namespace: &Namespace, thread: &ThreadId) -> Option<RunId> {
        lock(&self.state).lines.get(&(namespace.clone(), thread.clone())).map(|line| line.run.clone())
    }

    /// Takes a thread, or a place in its line: the last one, of at most `max`; or the first, where those before are to be cancelled.
    pub(super) fn join(
        self: &Arc<Self>,
        namespace: &Namespace,
        thread: &ThreadId,
        run: &RunId,
        interrupts: bool,
        max: usize,
    ) -> Joined {
        let key = (namespace.clone(), thread.clone());
        let mut state = lock(&self.state);
        match state.lines.get(&key) {
            Some(line) if !interrupts && line.waiting.len() >= max => return Joined::Full(line.busy()),
            _ => {}
        }
        self.stand(&mut state, key, run, interrupts)
    }

    /// A place in the line of a thread, or the thread where it is free.
    fn stand(self: &Arc<Self>, state: &mut State, key: Key, run: &RunId, interrupts: bool) -> Joined {
        state.ticket = state.ticket.wrapping_add(1);
        let ticket = state.ticket;
        let Some(line) = state.lines.get_mut(&key) else { return Joined::At(self.begin(state, key, run)) };
        let replacing = line.waiting.iter().filter(|waiting| waiting.interrupts).map(|waiting| &waiting.run);
        let before = std::iter::once(&line.run).chain(replacing).cloned().collect();
        let (hand, handed) = oneshot::channel();
        let waiting = Waiting { run: run.clone(), ticket, interrupts, hand };
        if interrupts {
            line.waiting.push_front(waiting);
        } else {
            line.waiting.push_back(waiting);
        }
        Joined::Behind { before, place: InLine { threads: Arc::clone(self), key, ticket, handed } }
    }
}

/// A thread that is busy with a run. Dropped, it goes to whoever is next in line.
pub(super) struct Occupied {
    threads: Arc<Threads>,
    key: Key,
}

impl Occupied {
    /// Whether it is this thread.
    pub(super) fn is(&self, thread: &ThreadId) -> bool {
        self.key.1 == *thread
    }
}

impl Drop for Occupied {
    fn drop(&mut self) {
        let mut state = lock(&self.threads.state);
        let next = state.lines.get_mut(&self.key).and_then(|line| {
            let next = line.waiting.pop_front()?;
            line.run = next.run.clone();
            line.ending = false;
            Some(next)
        });
        let Some(next) = next else {
            state.lines.remove(&self.key);
            return;
        };
        drop(state);
        // One that no longer waits lets go of it at once, and so it goes to the next.
        drop(next.hand.send(Self { threads: Arc::clone(&self.threads), key: self.key.clone() }));
    }
}

/// A place in the line of a thread, given up when dropped.
pub(super) struct InLine {
    threads: Arc<Threads>,
    key: Key,
    ticket: u64,
    handed: oneshot::Receiver<Occupied>,
}

impl InLine {
    /// The thread, when its turn has come.
    async fn turn(&mut self) -> Result<Occupied, oneshot::error::RecvError> {
        (&mut self.handed).await
    }
}

impl Drop for InLine {
    fn drop(&mut self) {
        if let Some(line) = lock(&self.threads.state).lines.get_mut(&self.key) {
            line.waiting.retain(|waiting| waiting.ticket != self.ticket);
        }
    }
}

/// A run that asks for threads, and what it does when one is busy.
pub(super) struct Asks<'a> {
    pub(super) flight: &'a Flight,
    pub(super) on_busy: OnBusy,
    /// A thread that it has already, from a try before.
    pub(super) held: Option<Occupied>,
    /// It only looks: nothing is taken, waited for or cancelled.
    pub(super) looks: bool,
}

impl Asks<'_> {
    fn held(&mut self, thread: &ThreadId) -> Option<Occupied> {
        self.held.take_if(|held| held.is(thread))
    }
}

impl App {
    /// Makes a thread busy with a run, which may have to wait for it as its caller chose. Absent for one that only looks.
    ///
    /// # Errors
    /// The thread is busy and the run does not wait, too many wait already, or the run was ended while it waited.
    pub(super) async fn take_thread(
        &self,
        namespace: &Namespace,
        thread: &ThreadId,
        asks: &mut Asks<'_>,
    ) -> Result<Option<Occupied>, Fault> {
        if asks.looks {
            return Ok(None);
        }
        if let Some(held) = asks.held(thread) {
            return Ok(Some(held));
        }
        let run = &asks.flight.run_id;
        let max = self.limits.max_queued_per_thread;
        let interrupts = asks.on_busy == OnBusy::Interrupt;
        let joined = match asks.on_busy {
            OnBusy::Reject | OnBusy::Fork => {
                let joined = self.threads.occupy_next(namespace, thread, run);
                joined.map_err(|busy| thread_busy(thread, &busy))?
            }
            OnBusy::Enqueue | OnBusy::Interrupt => self.threads.join(namespace, thread, run, interrupts, max),
        };
        let (before, mut place) = match joined {
            Joined::At(occupied) => return Ok(Some(occupied)),
            Joined::Behind { before, place } => (before, place),
            Joined::Full(busy) => return Err(line_full(thread, &busy, max)),
        };
        if interrupts {
            for flight in before.iter().filter_map(|run| self.flights.find(namespace, run)) {
                flight.cancel.cancel();
            }
        }
        let occupied = self.while_wanted(asks, place.turn()).await?;
        occupied.map(Some).map_err(|_| Fault::new(Reason::Internal, "a place in line was lost"))
    }

    /// Waits for something on a run's behalf, unless it is ended meanwhile or the server takes no work any more.
    async fn while_wanted<T>(&self, asks: &Asks<'_>, waiting: impl Future<Output = T>) -> Result<T, Fault> {
        let drains = self.drains();
        tokio::select! {
            biased;
            () = asks.flight.cancel.cancelled() => Err(asks.flight.end(cancelled(&asks.flight.run_id))),
            () = drains.cancelled() => Err(super::shutting_down()),
            done = waiting => self.accept_work().map(|()| done),
        }
    }

    /// Reads a thread whose turn it is. A run whose model a client calls keeps it busy, though no process has it: it is waited for, or
    /// cancelled, like one at work.
    pub(super) async fn read_idle(
        &self,
        namespace: &Namespace,
        at: &ThreadRef,
        asks: &Asks<'_>,
    ) -> Result<(Thread, Head, Token), Fault> {
        let mut follows: Option<Follower> = None;
        loop {
            let (thread, head, token) = self.read_thread(namespace, &at.id).await?;
            if asks.looks {
                return Ok((thread, head, token));
            }
            let Some(run) = self.clients_run(namespace, &head).await? else {
                return Ok((thread, head, token));
            };
            match (at.on_busy, &mut follows) {
                (OnBusy::Reject | OnBusy::Fork, _) => return Err(generating(&at.id, &run)),
                (OnBusy::Interrupt, _) => {
                    self.cancel_run(&Caller::of(namespace.clone()), &run).await?;
                }
                (OnBusy::Enqueue, Some(follower)) if *follower.run_id() == run => {
                    self.while_wanted(asks, follower.changed()).await?;
                }
                // And then it is looked at once more: it may have ended before.
                (OnBusy::Enqueue, follows) => *follows = Some(self.followed.follow(namespace, &run)),
            }
        }
    }

    /// The run at work on a thread, where a client calls its model.
    async fn clients_run(&self, namespace: &Namespace, head: &Head) -> Result<Option<RunId>, Fault> {
        let Some(active) = &head.active_run else {
            return Ok(None);
        };
        let read = self.ledger.run(namespace, active).await.map_err(store_fault)?;
        Ok(read.filter(|(run, _)| run.is_clients()).map(|(run, _)| run.id))
    }

    /// Makes a thread that the run is about to make busy with it, so that others meet its first run there. Another run that makes the same
    /// thread at the moment keeps it; which of the two makes it is decided by their claims.
    pub(super) fn take_new_thread(
        &self,
        namespace: &Namespace,
        thread: &ThreadId,
        asks: &mut Asks<'_>,
    ) -> Option<Occupied> {
        if asks.looks {
            return None;
        }
        asks.held(thread).or_else(|| self.threads.occupy(namespace, thread, &asks.flight.run_id).ok())
    }
}

/// A client calls the model of the run at work.
fn generating(thread: &ThreadId, run: &RunId) -> Fault {
    let message = format!(
        "thread `{thread}` is busy with run `{run}`, which waits for a model that the client of a coordination calls: answer it, cancel it, or set `on_busy`"
    );
    Fault::new(Reason::ThreadBusy, message).with("thread_id", thread).with("active_run_id", run).with("queued", 0)
}

/// Another run is at work on a thread.
pub(super) fn thread_busy(thread: &ThreadId, busy: &Busy) -> Fault {
    refused(thread, busy, "wait for it, cancel it, or set `on_busy`")
}

fn line_full(thread: &ThreadId, busy: &Busy, max: usize) -> Fault {
    let message = format!("{} others wait for it: at most {max} may; call again later", busy.queued);
    let value = busy.queued + 1;
    refused(thread, busy, &message).with("limit", "max_queued_per_thread").with("max", max).with("value", value)
}

fn refused(thread: &ThreadId, busy: &Busy, why: &str) -> Fault {
    let message = format!("thread `{thread}` is busy with run `{}`: {why}", busy.run);
    Fault::new(Reason::ThreadBusy, message)
        .with("thread_id", thread)
        .with("active_run_id", &busy.run)
        .with("queued", busy.queued)
}
