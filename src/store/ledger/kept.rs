//! Exchanges that were read, kept in memory: they never change, and reading one again costs ten times what copying it does. It must not
//! decide what is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quick_cache::sync::Cache;
use quick_cache::{Equivalent, Weighter};

use crate::domain::exchange::Exchange;
use crate::domain::graph::Place;
use crate::domain::id::ExchangeId;
use crate::store::Namespace;

/// What an exchange takes besides its messages, in bytes, more or less.
const OVERHEAD: usize = 1024;

/// Exchanges in memory, at most so many bytes of them.
pub(super) struct Kept {
    cache: Cache<Key, Sized, Bytes>,
    /// One was forgotten since the server started.
    forgot: AtomicBool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    ns: Namespace,
    place: Place,
}

/// The same, of what belongs to somebody else.
#[derive(Hash)]
struct Asked<'a> {
    ns: &'a Namespace,
    place: Place,
}

impl Equivalent<Key> for Asked<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.place == key.place && *self.ns == key.ns
    }
}

/// An exchange and how many bytes it has as stored.
#[derive(Clone)]
struct Sized {
    exchange: Arc<Exchange>,
    bytes: usize,
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Sized> for Bytes {
    fn weight(&self, _: &Key, kept: &Sized) -> u64 {
        u64::try_from(kept.bytes.saturating_add(OVERHEAD)).unwrap_or(u64::MAX)
    }
}

impl Kept {
    /// Room for so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let room = u64::try_from(bytes).unwrap_or(u64::MAX);
        Self { cache: Cache::with_weighter(bytes / (4 * OVERHEAD), room, Bytes), forgot: AtomicBool::new(false) }
    }

    /// The exchange at a place and how many bytes it has.
    pub(super) fn get(&self, ns: &Namespace, place: Place) -> Option<(Arc<Exchange>, usize)> {
        self.cache.get(&Asked { ns, place }).map(|kept| (kept.exchange, kept.bytes))
    }

    /// The id of that.
    pub(super) fn id(&self, ns: &Namespace, place: Place) -> Option<ExchangeId> {
        self.cache.get(&Asked { ns, place }).map(|kept| kept.exchange.id)
    }

    /// Forgets one that is not as it was read any more.
    pub(super) fn forget(&self, ns: &Namespace, place: Place) {
        self.forgot.store(true, Ordering::SeqCst);
        self.cache.remove(&Asked { ns, place });
    }

    /// Whether one that was kept may have been read before it was forgotten, and has to be looked at again.
    pub(super) fn may_be_old(&self) -> bool {
        self.forgot.load(Ordering::SeqCst)
    }

    /// Keeps one that was read.
    pub(super) fn put(&self, ns: &Namespace, place: Place, exchange: Arc<Exchange>, bytes: usize) {
        let kept = Sized { exchange, bytes };
        self.cache.insert(Key { ns: ns.clone(), place }, kept);
    }
}
