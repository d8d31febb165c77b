//! Between those who commit and one who removes what nothing names: what is named while it looks, and moments when nobody commits. It must not
//! know what is removed, nor what whoever holds content makes of it.
//!
//! This is for one process, as the embedded store is. A store that several processes share does the same in a transaction of its own.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::domain::id::Hash;
use crate::store::layout::Entry;
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
    /// Keys of content that is stored and not named yet, each with how many hold it.
    held: HashMap<Key, usize>,
}

impl Gate {
    /// While somebody commits.
    pub(super) async fn commit(&self) -> RwLockReadGuard<'_, ()> {
        self.lock.read().await
    }

    /// What a write names or stores is written down, when somebody watches; the versions of documents that its records name too.
    pub(super) fn touch(&self, write: &Write, roots: &BTreeSet<Hash>) {
        let mut state = self.lock_state();
        if state.watchers > 0 {
            state.touched.extend(write.guards.iter().map(|guard| guard.key().clone()));
            state.touched.extend(write.puts.iter().map(|(key, _)| key.clone()));
            state.touched.extend(roots.iter().map(|root| Entry::Node(*root).key()));
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
    /// Whether a commit named a key since it is watched, or somebody holds it.
    pub(in crate::store) fn touched(&self, key: &Key) -> bool {
        let state = self.gate.lock_state();
        state.touched.contains(key) || state.held.contains_key(key)
    }
}

/// Content that is stored bit by bit before anything names it, which stays until this is dropped. Of all namespaces: one more that keeps it
/// does no harm.
pub struct Hold {
    gate: Arc<Gate>,
    keys: Vec<Key>,
}

impl Hold {
    pub(super) fn new(gate: &Arc<Gate>) -> Self {
        Self { gate: Arc::clone(gate), keys: Vec::new() }
    }

    /// Holds one more piece, which is stored after that.
    pub fn add(&mut self, piece: Hash) {
        let key = Entry::Part(piece).key();
        let mut state = self.gate.lock_state();
        let holders = state.held.entry(key.clone()).or_default();
        *holders = holders.saturating_add(1);
        drop(state);
        self.keys.push(key);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut state = self.gate.lock_state();
        for key in self.keys.drain(..) {
            if let Some(holders) = state.held.get_mut(&key) {
                *holders = holders.saturating_sub(1);
                if *holders == 0 {
                    state.held.remove(&key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_held_stays_until_the_last_holder_is_gone() {
        let gate = Arc::new(Gate::default());
        let piece = Hash([1; 32]);
        let key = Entry::Part(piece).key();
        let (mut one, mut other) = (Hold::new(&gate), Hold::new(&gate));
        one.add(piece);
        other.add(piece);
        drop(one);
        assert!(gate.alone().await.touched(&key));
        drop(other);
        assert!(!gate.alone().await.touched(&key));
    }

    #[tokio::test]
    async fn versions_that_a_write_names_are_written_down_while_somebody_watches() {
        let gate = Gate::default();
        let root = Hash([2; 32]);
        gate.touch(&Write::default(), &BTreeSet::from([root]));
        let watch = gate.watch();
        assert!(!gate.alone().await.touched(&Entry::Node(root).key()));
        gate.touch(&Write::default(), &BTreeSet::from([root]));
        assert!(gate.alone().await.touched(&Entry::Node(root).key()));
        drop(watch);
        assert!(!gate.alone().await.touched(&Entry::Node(root).key()));
    }
}
