//! Runs that somebody follows, to be woken whenever one may have changed. It must not know what changed.

use std::collections::HashMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::domain::id::{Namespace, RunId};
use crate::store::Error;
use crate::store::ledger::{Changes, Lost};

use super::App;

type Key = (Namespace, RunId);
type Runs = HashMap<Key, watch::Sender<()>>;

/// The runs that somebody follows. One that nobody follows is not here.
#[derive(Default)]
pub(super) struct Followed {
    runs: Mutex<Runs>,
}

fn lock(runs: &Mutex<Runs>) -> MutexGuard<'_, Runs> {
    // Nothing under this lock can panic half-way through a change.
    runs.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Followed {
    /// Follows a run from now on. Whoever looks at it only then misses nothing.
    pub(super) fn follow(self: &Arc<Self>, namespace: &Namespace, run: &RunId) -> Follower {
        let key = (namespace.clone(), run.clone());
        let changed = lock(&self.runs).entry(key.clone()).or_default().subscribe();
        Follower { followed: Arc::clone(self), key, changed }
    }

    /// A run may have changed.
    pub(super) fn changed(&self, namespace: &Namespace, run: &RunId) {
        let runs = lock(&self.runs);
        if !runs.is_empty()
            && let Some(changed) = runs.get(&(namespace.clone(), run.clone()))
        {
            changed.send_replace(());
        }
    }
}

/// Somebody who follows a run.
pub(super) struct Follower {
    followed: Arc<Followed>,
    key: Key,
    changed: watch::Receiver<()>,
}

impl Follower {
    /// The run.
    pub(super) fn run_id(&self) -> &RunId {
        &self.key.1
    }

    /// Waits until it may have changed since the last time.
    pub(super) async fn changed(&mut self) {
        // The sender stays as long as there is one who follows.
        if self.changed.changed().await.is_err() {
            pending().await
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut runs = lock(&self.followed.runs);
        if runs.get(&self.key).is_some_and(|changed| changed.receiver_count() <= 1) {
            runs.remove(&self.key);
        }
    }
}

impl App {
    /// Commits changes, and wakes whoever follows a run among them.
    ///
    /// # Errors
    /// As the ledger does.
    pub(super) async fn commit(&self, namespace: &Namespace, changes: &Changes) -> Result<Result<(), Lost>, Error> {
        let committed = self.ledger.commit(namespace, changes).await;
        for run in changes.runs() {
            self.followed.changed(namespace, run);
        }
        committed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use futures::FutureExt;

    #[tokio::test]
    async fn whoever_follows_is_woken_and_leaves_nothing_behind() {
        let followed: Arc<Followed> = Arc::default();
        let (namespace, run) = (Namespace::new("n"), RunId::new("r"));
        followed.changed(&namespace, &run);
        let (mut one, mut two) = (followed.follow(&namespace, &run), followed.follow(&namespace, &run));
        assert!(one.changed().now_or_never().is_none(), "only what comes from now on");
        followed.changed(&namespace, &RunId::new("other"));
        assert!(one.changed().now_or_never().is_none());
        followed.changed(&namespace, &run);
        assert!(one.changed().now_or_never().is_some());
        drop(one);
        assert!(two.changed().now_or_never().is_some());
        drop(two);
        assert!(lock(&followed.runs).is_empty());
    }
}
