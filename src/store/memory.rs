//! A store for tests of what stands on the trait: in memory, counting what is asked of it, and giving way to other tasks before each
//! answer so that races happen. It must not be mistaken for a room of the cellar: it keeps nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Commit, Error, Guard, Health, Key, Namespace, Range, Stats, Store, Write};

type Interfere = Box<dyn FnOnce(&Memory) + Send>;

#[derive(Default)]
pub(crate) struct Memory {
    entries: Mutex<BTreeMap<Namespace, BTreeMap<Key, Bytes>>>,
    /// Keys that commits see and reads do not yet, as those of a group that is on its way to the disk.
    pub(crate) unseen: Mutex<BTreeSet<Key>>,
    /// Done once, between the reads of a commit and its guards.
    pub(crate) interfere: Mutex<Option<Interfere>>,
    pub(crate) gets: AtomicUsize,
    pub(crate) scans: AtomicUsize,
    pub(crate) commits: AtomicUsize,
    pub(crate) puts: AtomicUsize,
}

impl Memory {
    /// Changes an entry behind everybody's back; `None` removes it.
    pub(crate) fn tamper(&self, ns: &Namespace, key: &[u8], value: Option<Bytes>) {
        let mut entries = self.entries.lock().unwrap();
        let entries = entries.entry(ns.clone()).or_default();
        match value {
            Some(value) => entries.insert(key.to_vec(), value),
            None => entries.remove(key),
        };
    }

    pub(crate) fn dump(&self, ns: &Namespace) -> BTreeMap<Key, Bytes> {
        self.entries.lock().unwrap().get(ns).cloned().unwrap_or_default()
    }

    /// Gets and scans since the last call.
    pub(crate) fn take_reads(&self) -> (usize, usize) {
        (self.gets.swap(0, Ordering::Relaxed), self.scans.swap(0, Ordering::Relaxed))
    }

    /// Commits and puts since the last call.
    pub(crate) fn take_writes(&self) -> (usize, usize) {
        (self.commits.swap(0, Ordering::Relaxed), self.puts.swap(0, Ordering::Relaxed))
    }
}

fn holds(guard: &Guard, found: Option<&Bytes>) -> bool {
    match guard {
        Guard::Absent(_) => found.is_none(),
        Guard::Present(_) => found.is_some(),
        Guard::Is(_, value) => found == Some(value),
    }
}

impl Store for Memory {
    fn get<'a>(&'a self, ns: &'a Namespace, key: &'a [u8]) -> BoxFuture<'a, Result<Option<Bytes>, Error>> {
        async move {
            self.gets.fetch_add(1, Ordering::Relaxed);
            let is_unseen = self.unseen.lock().unwrap().contains(key);
            let found = self.entries.lock().unwrap().get(ns).and_then(|entries| entries.get(key).cloned());
            let found = found.filter(|_| !is_unseen);
            tokio::task::yield_now().await;
            Ok(found)
        }
        .boxed()
    }

    fn scan<'a>(&'a self, ns: &'a Namespace, range: Range) -> BoxFuture<'a, Result<Vec<(Key, Bytes)>, Error>> {
        async move {
            self.scans.fetch_add(1, Ordering::Relaxed);
            let entries = self.entries.lock().unwrap();
            let Some(entries) = entries.get(ns) else { return Ok(Vec::new()) };
            let found = entries.range((range.from, range.to)).map(|(key, value)| (key.clone(), value.clone()));
            Ok(if range.reverse { found.rev().take(range.limit).collect() } else { found.take(range.limit).collect() })
        }
        .boxed()
    }

    fn commit<'a>(&'a self, ns: &'a Namespace, write: Write) -> BoxFuture<'a, Result<Commit, Error>> {
        async move {
            self.commits.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
            let interfere = self.interfere.lock().unwrap().take();
            if let Some(interfere) = interfere {
                interfere(self);
            }
            let mut entries = self.entries.lock().unwrap();
            let entries = entries.entry(ns.clone()).or_default();
            for (guard, at) in write.guards.iter().zip(0..) {
                let found = entries.get(guard.key());
                if !holds(guard, found) {
                    return Ok(Commit::Refused { guard: at, found: found.cloned() });
                }
            }
            self.puts.fetch_add(write.puts.len(), Ordering::Relaxed);
            for key in &write.deletes {
                entries.remove(key);
            }
            entries.extend(write.puts);
            Ok(Commit::Done)
        }
        .boxed()
    }

    fn health(&self) -> Health {
        Health::Writable
    }

    fn stats(&self) -> Stats {
        Stats::default()
    }

    fn namespaces(&self) -> BoxFuture<'_, Result<Vec<Namespace>, Error>> {
        async move { Ok(self.entries.lock().unwrap().keys().cloned().collect()) }.boxed()
    }

    fn snapshot(&self) -> BoxFuture<'_, Result<Arc<dyn Store>, Error>> {
        async move {
            let copy = Self::default();
            copy.entries.lock().unwrap().clone_from(&self.entries.lock().unwrap());
            let copy: Arc<dyn Store> = Arc::new(copy);
            Ok(copy)
        }
        .boxed()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        async { Ok(()) }.boxed()
    }
}
