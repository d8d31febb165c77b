//! Following a run from outside: its states from the record, each with its number, and what happens on the way from its flight. It must not
//! be one of the calls that a run waits for: it neither keeps a run at work nor ends it.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{Namespace, RunId};
use crate::domain::run::{Run, State};
use crate::engine::backend::Delta;

use super::super::flight::{Event, Flight, Reader};
use super::super::followed::Follower;
use super::super::{App, Caller, store_fault};
use super::RunState;

/// One thing that a watcher is told.
pub enum Seen {
    /// The run came to a state: which one of its states, from 1; 0 for QUEUED, which is on no record.
    State(u64, Box<RunState>),
    /// The text of the answer at work, as far as it came before the watcher did.
    TextSoFar(String),
    /// Something on the way.
    Progress(Event),
}

/// Somebody who watches a run.
pub struct Observer {
    app: Arc<App>,
    namespace: Namespace,
    /// The last state that was told, or that the watcher has seen before.
    after: u64,
    follower: Follower,
    /// The record as it was read, with the last of its states that may be told yet.
    states: Option<(Run, u64)>,
    news: VecDeque<Seen>,
    reader: Option<Reader>,
    /// Why the last flight ended without a claim.
    refused: Option<Fault>,
    over: bool,
}

impl App {
    /// Watches a run, from after one of its states.
    ///
    /// # Errors
    /// When there is no such run, or it never had that state.
    pub async fn watch_run(self: &Arc<Self>, caller: &Caller, id: &RunId, after: u64) -> Result<Observer, Fault> {
        let namespace = &caller.namespace;
        let mut observer = Observer {
            app: Arc::clone(self),
            namespace: namespace.clone(),
            after,
            // Before the first look, so that nothing is missed after it.
            follower: self.followed.follow(namespace, id),
            states: None,
            news: VecDeque::new(),
            reader: None,
            refused: None,
            over: false,
        };
        observer.look().await?;
        let last = observer.states.as_ref().map_or(0, |(run, _)| run.sequence());
        if after > last {
            let message = format!("is {after}, and the last state of run `{id}` is number {last}");
            return Err(Fault::field("after_sequence", message));
        }
        Ok(observer)
    }
}

impl Observer {
    /// The run.
    pub fn run_id(&self) -> &RunId {
        self.follower.run_id()
    }

    /// What comes next; nothing when the run is over and everything was told.
    ///
    /// # Errors
    /// When the record cannot be read, the server stops, or the run was refused before it began; nothing comes after it.
    pub async fn next(&mut self) -> Option<Result<Seen, Fault>> {
        match self.find().await {
            Ok(seen) => seen.map(Ok),
            Err(fault) => {
                (self.over, self.states, self.reader) = (true, None, None);
                self.news.clear();
                Some(Err(fault))
            }
        }
    }

    async fn find(&mut self) -> Result<Option<Seen>, Fault> {
        loop {
            if let Some(state) = self.next_state().await? {
                return Ok(Some(state));
            }
            if let Some(seen) = self.news.pop_front() {
                return Ok(Some(seen));
            }
            if self.over {
                return Ok(None);
            }
            let Some(reader) = &mut self.reader else {
                if !self.look().await? {
                    self.wait().await?;
                }
                continue;
            };
            match reader.next().await {
                Some(Event::Claimed) => {
                    let claim = reader.flight().claimed_as();
                    self.states = self.record().await?.map(|run| (run, claim));
                }
                Some(event) => return Ok(Some(Seen::Progress(event))),
                None => {
                    self.refused = reader.outcome().await.err();
                    self.reader = None;
                }
            }
        }
    }

    async fn next_state(&mut self) -> Result<Option<Seen>, Fault> {
        let next = self.after.saturating_add(1);
        let run = self.states.as_ref().filter(|(_, last)| next <= *last).and_then(|(run, _)| run.as_of(next));
        let Some(run) = run else {
            return Ok(None);
        };
        let state = self.app.with_pending(&self.namespace, run).await?;
        self.after = next;
        Ok(Some(Seen::State(next, Box::new(state))))
    }

    async fn record(&self) -> Result<Option<Run>, Fault> {
        let read = self.app.ledger.run(&self.namespace, self.run_id()).await.map_err(store_fault)?;
        Ok(read.map(|(run, _)| run))
    }

    /// Looks where the run is. Says whether there may be something to tell.
    async fn look(&mut self) -> Result<bool, Fault> {
        if let Some(flight) = self.app.flights.find(&self.namespace, self.run_id()) {
            self.attach(&flight).await?;
            return Ok(true);
        }
        let Some(run) = self.record().await? else {
            let unknown = Fault::not_found(Reason::RunNotFound, "run", self.run_id().as_str());
            return Err(self.refused.take().unwrap_or(unknown));
        };
        let run = self.app.current(&self.namespace, run).await?;
        let last = run.sequence();
        let comes = last > self.after;
        self.over = match run.state {
            // Claimed since it was looked for.
            State::Running if !run.is_clients() => return Ok(true),
            State::Running | State::PendingTools | State::Queued => false,
            State::Completed | State::Failed | State::Cancelled | State::Interrupted => true,
        };
        self.states = Some((run, last));
        Ok(comes || self.over)
    }

    /// Goes along with a run in flight. What its record says after the claim is told when it has landed, after everything on the way.
    async fn attach(&mut self, flight: &Arc<Flight>) -> Result<(), Fault> {
        let mut reader = flight.read();
        let before = reader.catch_up();
        let record = self.record().await?;
        // In this order: a claim that was not told yet is at most the last thing on record.
        let claim = flight.claimed_as();
        match record {
            Some(run) => {
                let left = claim == 0 && run.state == State::Running && run.owner != self.app.owner;
                let run = if left { self.app.settled(run) } else { run };
                let last = if claim > 0 { claim } else { run.sequence() };
                self.states = Some((run, last));
            }
            None if claim == 0 => {
                let queued = flight.queued().map(|run| Seen::State(0, Box::new(RunState { run, pending: None })));
                self.news.extend(queued);
            }
            None => {}
        }
        let max = self.app.limits.max_page_bytes;
        self.news.extend(before.events.into_iter().map(Seen::Progress));
        self.news.extend(text(before.text, max));
        self.reader = Some(reader);
        Ok(())
    }

    /// Waits for a run that nobody is at work on.
    async fn wait(&mut self) -> Result<(), Fault> {
        let drains = self.app.drains();
        tokio::select! {
            () = self.follower.changed() => Ok(()),
            () = drains.cancelled() => Err(super::super::shutting_down()),
        }
    }
}

/// The text so far, of which one message takes so many bytes at most; what is longer goes on in pieces.
fn text(text: String, max: usize) -> Vec<Seen> {
    let mut rest = text.as_str();
    let mut seen = Vec::new();
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(rest.floor_char_boundary(max.max(4)));
        let piece = piece.to_owned();
        seen.push(if seen.is_empty() {
            Seen::TextSoFar(piece)
        } else {
            Seen::Progress(Event::Delta(Delta::Text(piece)))
        });
        rest = more;
    }
    seen
}
