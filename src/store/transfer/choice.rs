//! Which records a part of the graph needs: exchanges with all before them, their runs, and the threads whose heads are among them. It must
//! not know what is done with them.

use std::collections::{BTreeMap, BTreeSet};

use super::lean::names;
use crate::domain::graph::{self, Place};
use crate::domain::id::{ExchangeId, RunId, ThreadId};
use crate::domain::run::Run;
use crate::store::{Error, Ledger, Namespace};

/// How many of an exchange's children or threads are read at a time.
const BATCH: usize = 256;

/// A part of the graph. What is not there has nothing in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The path to an exchange.
    Path(ExchangeId),
    /// An exchange and what follows from it, so many steps down.
    Subtree(ExchangeId, Option<u64>),
    /// The path to the head of a thread.
    Thread(ThreadId),
    /// The tree that this path is in.
    Tree(ThreadId),
}

/// What was chosen.
#[derive(Debug, Default)]
pub(in crate::store) struct Choice {
    /// The exchanges with their places, oldest first by their ids. 40 bytes each.
    pub(in crate::store) exchanges: BTreeMap<ExchangeId, Place>,
    /// The threads.
    pub(in crate::store) threads: BTreeSet<ThreadId>,
}

/// Chooses what parts of the graph need. The index of what follows an exchange must be complete.
pub(in crate::store) async fn choose(ledger: &Ledger, ns: &Namespace, wanted: &[Wanted]) -> Result<Choice, Error> {
    let mut work = Work {
        ledger,
        ns,
        choice: Choice::default(),
        runs: BTreeSet::new(),
        threads: BTreeSet::new(),
        later: Vec::new(),
    };
    for part in wanted {
        work.part(part).await?;
    }
    loop {
        while let Some(id) = work.later.pop() {
            if let Some(place) = ledger.place(ns, id).await? {
                work.path(place).await?;
            }
        }
        if !work.heads().await? {
            return Ok(work.choice);
        }
    }
}

struct Work<'a> {
    ledger: &'a Ledger,
    ns: &'a Namespace,
    choice: Choice,
    /// Runs that were looked at.
    runs: BTreeSet<RunId>,
    /// Threads that may have their heads among the exchanges.
    threads: BTreeSet<ThreadId>,
    /// Exchanges that are needed too.
    later: Vec<ExchangeId>,
}

impl Work<'_> {
    async fn part(&mut self, part: &Wanted) -> Result<(), Error> {
        match part {
            Wanted::Path(id) => self.later.push(*id),
            Wanted::Subtree(id, steps) => self.subtree(*id, *steps).await?,
            Wanted::Thread(id) | Wanted::Tree(id) => {
                let Some((head, _)) = self.ledger.head(self.ns, id).await? else { return Ok(()) };
                self.threads.insert(id.clone());
                let Some(exchange) = head.exchange else {
                    self.choice.threads.insert(id.clone());
                    return Ok(());
                };
                self.later.push(exchange);
                if matches!(part, Wanted::Tree(_))
                    && let Some(place) = self.ledger.place(self.ns, exchange).await?
                    && let Some(root) = graph::at_depth(&self.ledger.path(self.ns, place).await?, 1)
                    && let Some(root) = self.ledger.id_at(self.ns, root).await?
                {
                    self.subtree(root, None).await?;
                }
            }
        }
        Ok(())
    }

    /// An exchange and what follows; what is before it comes with its path.
    async fn subtree(&mut self, id: ExchangeId, steps: Option<u64>) -> Result<(), Error> {
        let Some(place) = self.ledger.place(self.ns, id).await? else { return Ok(()) };
        self.path(place).await?;
        let deepest = place.depth.saturating_add(steps.unwrap_or(u64::MAX));
        let mut ahead = vec![place];
        while let Some(place) = ahead.pop() {
            if place.depth >= deepest {
                continue;
            }
            let mut after = None;
            loop {
                let children = self.ledger.children(self.ns, place, after, BATCH).await?;
                for (id, place) in &children {
                    self.add(*id, *place).await?;
                    ahead.push(*place);
                }
                after = children.last().map(|(id, _)| *id).filter(|_| children.len() >= BATCH);
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Every exchange up to a place, from its end until one that is there already: then so are all before that.
    async fn path(&mut self, place: Place) -> Result<(), Error> {
        let path = self.ledger.path(self.ns, place).await?;
        for depth in (1..=place.depth).rev() {
            let Some(place) = graph::at_depth(&path, depth) else { break };
            let Some(id) = self.ledger.id_at(self.ns, place).await? else { break };
            if !self.add(id, place).await? {
                break;
            }
        }
        Ok(())
    }

    /// Adds one exchange; says whether it is new.
    async fn add(&mut self, id: ExchangeId, place: Place) -> Result<bool, Error> {
        if self.choice.exchanges.insert(id, place).is_some() {
            return Ok(false);
        }
        let names = names(self.ledger, self.ns, place).await?;
        self.later.extend(names.continues);
        self.threads.extend(names.thread_id);
        if let Some(run) = names.run_id {
            self.run(&run).await?;
        }
        let mut after = None;
        loop {
            let put = self.ledger.pointers(self.ns, id, after.as_ref(), BATCH).await?;
            after = put.last().cloned().filter(|_| put.len() >= BATCH);
            self.threads.extend(put);
            if after.is_none() {
                return Ok(true);
            }
        }
    }

    /// The exchanges that a run names.
    async fn run(&mut self, id: &RunId) -> Result<(), Error> {
        if self.runs.insert(id.clone())
            && let Some((run, _)) = self.ledger.run(self.ns, id).await?
        {
            self.later.extend(named(&run));
        }
        Ok(())
    }

    /// The exchanges that moves of a thread's head name: where it was put, and where it came from.
    async fn moves(&mut self, id: &ThreadId) -> Result<(), Error> {
        let mut before = u64::MAX;
        loop {
            let moves = self.ledger.moves(self.ns, id, before, BATCH).await?;
            let Some((number, _)) = moves.last() else { return Ok(()) };
            before = *number;
            self.later.extend(moves.into_iter().flat_map(|(_, moved)| moved.from.into_iter().chain([moved.to])));
        }
    }

    /// Adds the threads whose heads are among the exchanges, with what these need; says whether there may be more to add.
    async fn heads(&mut self) -> Result<bool, Error> {
        for id in std::mem::take(&mut self.threads) {
            if self.choice.threads.contains(&id) {
                continue;
            }
            let (Some((head, _)), Some((thread, _))) =
                (self.ledger.head(self.ns, &id).await?, self.ledger.thread(self.ns, &id).await?)
            else {
                continue;
            };
            if !head.exchange.is_some_and(|exchange| self.choice.exchanges.contains_key(&exchange)) {
                continue;
            }
            self.choice.threads.insert(id);
            self.later.extend(thread.parent.map(|parent| parent.exchange));
            self.moves(&thread.id).await?;
            if let Some(active) = &head.active_run {
                self.run(active).await?;
            }
        }
        Ok(!self.later.is_empty())
    }
}

/// Every exchange that a run names.
pub(in crate::store) fn named(run: &Run) -> impl Iterator<Item = ExchangeId> + '_ {
    let steps = run.steps.iter().flat_map(|step| [Some(step.calling), step.exchange]);
    let past = run.past.iter().map(|past| past.exchange);
    [run.exchange, run.from].into_iter().chain(steps).chain(past).flatten()
}
