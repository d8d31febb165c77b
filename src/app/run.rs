//! Runs on record: read, list, cancel. It must not know how a run is executed.

use std::collections::BTreeMap;

use crate::domain::exchange::Exchange;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{Namespace, RunId, ThreadId};
use crate::domain::run::{Run, State};
use crate::domain::thread::Head;
use crate::store::ledger::{Changes, Token};

use super::execution::cancelled;
use super::turn::Turn;
use super::{App, Caller, store_fault};

mod watch;

pub use watch::{Observer, Seen};

/// A run with the exchange whose calls it waits for.
#[derive(Clone)]
pub struct RunState {
    /// The run as it is now.
    pub run: Run,
    /// Its last exchange, when it is PENDING_TOOLS.
    pub pending: Option<Exchange>,
}

/// Which runs to list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// In one of these states; any when there are none.
    pub states: Vec<State>,
    /// Of this thread.
    pub thread_id: Option<ThreadId>,
    /// With all these labels.
    pub labels: BTreeMap<String, String>,
}

impl Filter {
    fn takes(&self, run: &Run) -> bool {
        (self.states.is_empty() || self.states.contains(&run.state))
            && self.thread_id.as_ref().is_none_or(|thread| run.thread_id.as_ref() == Some(thread))
            && self.labels.iter().all(|(key, value)| run.labels.get(key) == Some(value))
    }
}

/// How many scans one page of a filtered list may cost.
const SCANS_FOR_A_PAGE: usize = 64;

impl App {
    /// Reads a run.
    ///
    /// # Errors
    /// When there is none.
    pub async fn get_run(&self, caller: &Caller, id: &RunId) -> Result<RunState, Fault> {
        // In flight or on record: looked for in this order, since a run leaves the flights only when it is on record.
        let flight = self.flights.find(&caller.namespace, id);
        match (self.ledger.run(&caller.namespace, id).await.map_err(store_fault)?, flight) {
            (Some((run, _)), _) => self.run_state(&caller.namespace, run).await,
            (None, flight) => match flight.and_then(|flight| flight.queued()) {
                Some(run) => Ok(RunState { run, pending: None }),
                None => Err(Fault::not_found(Reason::RunNotFound, "run", id.as_str())),
            },
        }
    }

    /// A run that is not claimed yet: in memory only.
    pub(super) fn queued(&self, id: &RunId, turn: &Turn) -> Run {
        Run {
            captured: turn.capture,
            thread_id: turn.base.thread_id().cloned(),
            labels: turn.labels.clone(),
            ..Run::new(id.clone(), State::Queued, turn.fingerprint, self.clock.now())
        }
    }

    async fn run_state(&self, namespace: &Namespace, run: Run) -> Result<RunState, Fault> {
        let run = self.current(namespace, run).await?;
        self.with_pending(namespace, run).await
    }

    /// A run with the exchange that it waits for, or waited for when it was in the state that this says.
    async fn with_pending(&self, namespace: &Namespace, run: Run) -> Result<RunState, Fault> {
        let pending = match (run.state, run.exchange) {
            (State::PendingTools, Some(id)) => Some(self.parent(namespace, id).await?.exchange),
            _ => None,
        };
        Ok(RunState { run, pending })
    }

    /// Runs by id, after one; with the id to go on after, when there may be more.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn list_runs(
        &self,
        caller: &Caller,
        after: Option<RunId>,
        limit: usize,
        filter: &Filter,
    ) -> Result<(Vec<RunState>, Option<RunId>), Fault> {
        let namespace = &caller.namespace;
        let (mut found, mut after) = (Vec::new(), after);
        for _ in 0..SCANS_FOR_A_PAGE {
            let page = self.ledger.runs(namespace, after.as_ref(), limit).await.map_err(store_fault)?;
            let full = page.len() == limit;
            for run in page {
                after = Some(run.id.clone());
                let state = self.run_state(namespace, run).await?;
                if filter.takes(&state.run) {
                    found.push(state);
                }
                if found.len() == limit {
                    return Ok((found, after));
                }
            }
            if !full {
                return Ok((found, None));
            }
        }
        Ok((found, after))
    }

    /// Cancels a run that is at work or waits for results. One that has ended stays as it is.
    ///
    /// # Errors
    /// When there is none.
    pub async fn cancel_run(&self, caller: &Caller, id: &RunId) -> Result<RunState, Fault> {
        let namespace = &caller.namespace;
        if let Some(flight) = self.flights.find(namespace, id) {
            let mut watcher = flight.watch(true, None);
            flight.cancel.cancel();
            // Whether it was cancelled or completed first, its end is on record now.
            drop(watcher.outcome().await);
            return match self.ledger.run(namespace, id).await.map_err(store_fault)? {
                // It was quicker, and waits for results now.
                Some((run, _)) if run.state == State::PendingTools => Box::pin(self.cancel_run(caller, id)).await,
                Some((run, _)) => self.run_state(namespace, run).await,
                // It was not claimed yet, so its id is free again.
                None => match flight.queued() {
                    Some(run) => Ok(RunState {
                        run: Run { state: State::Cancelled, failure: Some(cancelled(id)), ..run },
                        pending: None,
                    }),
                    None => Err(Fault::not_found(Reason::RunNotFound, "run", id.as_str())),
                },
            };
        }
        let Some((run, token)) = self.ledger.run(namespace, id).await.map_err(store_fault)? else {
            return Err(Fault::not_found(Reason::RunNotFound, "run", id.as_str()));
        };
        if run.state != State::PendingTools && !run.is_clients() {
            return self.run_state(namespace, run).await;
        }
        self.accept_work()?;
        let mut changes = Changes::new();
        let run = self.cancel_on_record(namespace, run, &token, &mut changes).await?;
        match self.commit(namespace, &changes).await.map_err(store_fault)? {
            Ok(()) => Ok(RunState { run, pending: None }),
            // Its results came at the same moment: it is at work again, or over.
            Err(_) => Box::pin(self.get_run(caller, id)).await,
        }
    }

    /// Adds what ends a run that waits for results: its record, and its thread let go.
    pub(super) async fn cancel_on_record(
        &self,
        namespace: &Namespace,
        run: Run,
        token: &Token,
        changes: &mut Changes,
    ) -> Result<Run, Fault> {
        let now = self.clock.now();
        let failure = Some(cancelled(&run.id));
        let run = Run { failure, owner: String::new(), ..run.moved_to(State::Cancelled, now) };
        changes.replace_run(&run, token);
        if let Some(thread) = &run.thread_id
            && let Some((head, token)) = self.ledger.head(namespace, thread).await.map_err(store_fault)?
            && head.active_run.as_ref() == Some(&run.id)
        {
            let head = Head { active_run: None, sequence: head.sequence.saturating_add(1), updated_at: now, ..head };
            changes.replace_head(thread, &head, &token);
        }
        Ok(run)
    }
}
