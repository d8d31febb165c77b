//! Keeps whoever goes on from an exchange apart from an erasure of it. A footing holds for as long as something is made that follows from the exchange;
//! an erasure clears what it takes before it looks at what shares it, so that nothing follows afterwards that it did not see. It must not know what is
//! made or how anything is erased.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::App;
use super::base::Start;
use super::execution::cancelled;
use super::flight::Flight;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{ExchangeId, Namespace, RunId};

type Key = (Namespace, ExchangeId);

/// Who goes on from which exchanges, and which are cleared for an erasure.
#[derive(Clone, Default)]
pub(super) struct Footings(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    /// A footing was left.
    left: Notify,
}

#[derive(Default)]
struct State {
    /// By run; without one, whoever only writes a record.
    footings: HashMap<Key, Vec<Option<RunId>>>,
    /// What is erased, by namespace: one erasure at a time is at work in each.
    cleared: HashMap<Namespace, Cleared>,
    /// Something was cleared since the server began.
    ever: bool,
}

struct Cleared {
    exchanges: HashSet<ExchangeId>,
    done: CancellationToken,
}

impl Footings {
    /// A footing on an exchange, with whether it may have been erased since it was read; what ends when the erasure is done, where one is at work.
    fn stand(
        &self,
        namespace: &Namespace,
        exchange: ExchangeId,
        run: Option<&RunId>,
    ) -> Result<(Footing, bool), CancellationToken> {
        let mut state = self.lock();
        let cleared = state.cleared.get(namespace).filter(|cleared| cleared.exchanges.contains(&exchange));
        if let Some(cleared) = cleared {
            return Err(cleared.done.clone());
        }
        let key = (namespace.clone(), exchange);
        state.footings.entry(key.clone()).or_default().push(run.cloned());
        Ok((Footing { footings: self.clone(), key, run: run.cloned() }, state.ever))
    }

    /// Whether some run goes on from one of these.
    pub(super) fn run_on(&self, namespace: &Namespace, exchanges: impl Iterator<Item = ExchangeId>) -> Option<RunId> {
        let state = self.lock();
        let mut on = exchanges.filter_map(|id| state.footings.get(&(namespace.clone(), id)));
        on.find_map(|runs| runs.iter().flatten().next().cloned())
    }

    /// A place to clear exchanges of a namespace in, for the one who erases there.
    pub(super) fn clearing(&self, namespace: &Namespace) -> Clearing {
        Clearing { footings: self.clone(), namespace: namespace.clone() }
    }

    /// Keeps everybody from these who comes from now on. Says whether some were free before; gives the run that goes on from one of them, where there
    /// is one: then nothing is changed.
    fn bar(&self, namespace: &Namespace, exchanges: impl Iterator<Item = ExchangeId> + Clone) -> Result<bool, RunId> {
        let mut state = self.lock();
        let key = |id| (namespace.clone(), id);
        let mut runs = exchanges.clone().filter_map(|id| state.footings.get(&key(id))?.iter().flatten().next());
        if let Some(run) = runs.next() {
            return Err(run.clone());
        }
        drop(runs);
        state.ever = true;
        let nothing = || Cleared { exchanges: HashSet::new(), done: CancellationToken::new() };
        let cleared = state.cleared.entry(namespace.clone()).or_insert_with(nothing);
        let before = cleared.exchanges.len();
        cleared.exchanges.extend(exchanges);
        Ok(cleared.exchanges.len() > before)
    }

    fn is_free(&self, namespace: &Namespace, mut exchanges: impl Iterator<Item = ExchangeId>) -> bool {
        let state = self.lock();
        exchanges.all(|id| !state.footings.contains_key(&(namespace.clone(), id)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under this lock can panic half-way through a change.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something goes on from an exchange until this is dropped.
#[must_use]
pub(super) struct Footing {
    footings: Footings,
    key: Key,
    run: Option<RunId>,
}

impl Drop for Footing {
    fn drop(&mut self) {
        let mut state = self.footings.lock();
        if let Some(runs) = state.footings.get_mut(&self.key) {
            if let Some(at) = runs.iter().position(|run| *run == self.run) {
                runs.swap_remove(at);
            }
            if runs.is_empty() {
                state.footings.remove(&self.key);
            }
        }
        drop(state);
        self.footings.0.left.notify_waiters();
    }
}

/// Exchanges that nobody begins to go on from until this is dropped.
pub(super) struct Clearing {
    footings: Footings,
    namespace: Namespace,
}

impl Clearing {
    /// Clears these too: waits until the records are written that name one of them at this moment. Says whether some were not cleared before; gives the
    /// run that goes on from one of them, where there is one: then none of them is cleared.
    pub(super) async fn clear(&mut self, exchanges: impl Iterator<Item = ExchangeId> + Clone) -> Result<bool, RunId> {
        let any = self.footings.bar(&self.namespace, exchanges.clone())?;
        loop {
            let left = self.footings.0.left.notified();
            if self.footings.is_free(&self.namespace, exchanges.clone()) {
                return Ok(any);
            }
            left.await;
        }
    }
}

impl Drop for Clearing {
    fn drop(&mut self) {
        if let Some(cleared) = self.footings.lock().cleared.remove(&self.namespace) {
            cleared.done.cancel();
        }
    }
}

/// A run is not erased under, and what it goes on from is not either.
pub(super) fn at_work(run: RunId) -> Fault {
    let message = format!("run `{run}` is at work: wait for it, or cancel it, and erase then");
    Fault::new(Reason::RunNotCompleted, message).with("run_id", run)
}

impl App {
    /// A footing on what a turn goes on from, where that is stored.
    ///
    /// # Errors
    /// When it was erased, the turn is cancelled, or the store fails.
    pub(super) async fn footing_of(
        &self,
        namespace: &Namespace,
        start: &Start,
        flight: &Flight,
    ) -> Result<Option<Footing>, Fault> {
        let Some(parent) = start.stored_parent() else { return Ok(None) };
        tokio::select! {
            footing = self.stand_on(namespace, parent, Some(&flight.run_id)) => footing.map(Some),
            () = flight.cancel.cancelled() => Err(flight.end(cancelled(&flight.run_id))),
        }
    }

    /// A footing on an exchange that is there. Where it is erased at this moment, waits for the end of that.
    ///
    /// # Errors
    /// When it was erased, or the store fails.
    pub(super) async fn stand_on(
        &self,
        namespace: &Namespace,
        exchange: ExchangeId,
        run: Option<&RunId>,
    ) -> Result<Footing, Fault> {
        loop {
            match self.footings.stand(namespace, exchange, run) {
                Ok((footing, may_be_erased)) => {
                    if may_be_erased {
                        self.parent(namespace, exchange).await?;
                    }
                    return Ok(footing);
                }
                Err(done) => done.cancelled().await,
            }
        }
    }
}
