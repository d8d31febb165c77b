//! Between those who commit and one who removes what nothing names: what is named while it looks, and moments when nobody commits. It must not
//! know what is removed.
//!
//! This is for one process, as the embedded store is. A store that several processes share does the same in a transaction of its own.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::store::{Key, Write};

/// Where both pass.
#[derive(Default)]
pub(super) struct Gate {
    lock: RwLock<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    watchers: usize,
    /// Keys that commits named since somebody watches.
    touched: HashSet<Key>,
}

impl Gate {
    /// While somebody commits.
    pub(super) async fn commit(&self) -> RwLockReadGuard<'_, ()> {
        self.lock.read().await
    }

    /// What a write names or stores is written down, when somebody watches.
    pub(super) fn touch(&self, write: &Write) {
        let mut state = self.lock_state();
        if state.watchers > 0 {
            state.touched.extend(write.guards.iter().map(|guard| guard.key().clone()));
            state.touched.extend(write.puts.iter().map(|(key, _)| key.clone()));
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn watch(&self) -> Watch<'_> {
        self.lock_state().watchers += 1;
        Watch(self)
    }

    pub(super) async fn alone(&self) -> Alone<'_> {
        Alone { _lock: self.lock.write().await, gate: self }
    }
}

/// Has what commits name written down until it is dropped.
pub(in crate::store) struct Watch<'a>(&'a Gate);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock_state();
        state.watchers -= 1;
        if state.watchers == 0 {
            state.touched = HashSet::new();
        }
    }
}

/// Nobody commits until it is dropped.
pub(in crate::store) struct Alone<'a> {
    _lock: RwLockWriteGuard<'a, ()>,
    gate: &'a Gate,
}

impl Alone<'_> {
    /// Whether a commit named a key since it is watched.
    pub(in crate::store) fn touched(&self, key: &Key) -> bool {
        self.gate.lock_state().touched.contains(key)
    }
}
