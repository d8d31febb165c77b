//! The store as it was at a moment, for what reads all of it while others write: a backup, an export, a collection. It must not know how
//! writes are gathered.
//!
//! Whoever writes names the keys of a group beforehand with what they held ([`super::view`]); a snapshot keeps what each key held when it was first
//! changed after the snapshot's moment, and reads that in place of the tree. So it costs memory only for what changes while it lives, and
//! nothing when nobody writes. Beyond [`MAX_KEPT_BYTES`] it is given up, and its reader begins again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::future::BoxFuture;

use super::fault::Fault;
use super::keys::{self, FullKey};
use super::view::{Held, Scan, View};
use super::{Shared, off_thread};
use crate::store::{Commit, Error, Health, Key, Namespace, Range, Stats, Store, Write};

/// What a snapshot keeps at most, in bytes. Some 300,000 turns while it lives.
const MAX_KEPT_BYTES: usize = 256 << 20;
/// What an entry takes besides its key and value, in bytes, more or less.
const OVERHEAD: usize = 96;

/// What keys held at the moment of a snapshot that were changed since.
#[derive(Default)]
pub(super) struct Kept(Mutex<Changed>);

#[derive(Default)]
struct Changed {
    before: BTreeMap<FullKey, Held>,
    bytes: usize,
    is_given_up: bool,
}

impl Kept {
    /// Keeps what the keys of a group held before it, unless an earlier group changed them already.
    pub(super) fn keep(&self, group: &BTreeMap<FullKey, Held>) {
        let mut changed = self.lock();
        if changed.is_given_up {
            return;
        }
        for (key, held) in group {
            if changed.before.contains_key(key) {
                continue;
            }
            let size = match held {
                Held::Value(value) => value.len(),
                Held::Absent => 0,
                Held::Torn(what) => what.len(),
            };
            changed.bytes = changed.bytes.saturating_add(size + key.len() + OVERHEAD);
            changed.before.insert(key.clone(), held.clone());
        }
        if changed.bytes > MAX_KEPT_BYTES {
            *changed = Changed { is_given_up: true, ..Changed::default() };
        }
    }

    /// Reads with what was kept in place of what is hidden.
    pub(super) fn reading<T>(
        &self,
        read: impl FnOnce(&BTreeMap<FullKey, Held>) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        let changed = self.lock();
        if changed.is_given_up { Ok(None) } else { read(&changed.before).map(Some) }
    }

    fn lock(&self) -> MutexGuard<'_, Changed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A store as it was.
pub(super) struct Snapshot {
    shared: Arc<Shared>,
    kept: Arc<Kept>,
}

impl Snapshot {
    /// As it is now.
    pub(super) fn of(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared), kept: shared.view.keep() }
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&View, &Kept) -> Result<Option<T>, Fault> + Send + 'static,
    ) -> Result<T, Error> {
        let kept = Arc::clone(&self.kept);
        off_thread(&self.shared, move |view| read(view, &kept)).await?.ok_or_else(given_up)
    }
}

fn given_up() -> Error {
    Error::Unavailable(format!(
        "more than {} MiB changed in the store while its state at one moment was read: begin again when there is less to do",
        MAX_KEPT_BYTES >> 20
    ))
}

impl Store for Snapshot {
    fn get<'a>(&'a self, ns: &'a Namespace, key: &'a [u8]) -> BoxFuture<'a, Result<Option<Bytes>, Error>> {
        Box::pin(async move {
            let key = keys::full(ns, key)?;
            // As a rule a lookup in memory; see `INLINE_BYTES` for why it may be done here.
            let kept = &self.kept;
            self.shared.read(|view| view.get_kept(&key, kept))?.ok_or_else(given_up)
        })
    }

    fn scan<'a>(&'a self, ns: &'a Namespace, range: Range) -> BoxFuture<'a, Result<Vec<(Key, Bytes)>, Error>> {
        Box::pin(async move {
            let prefix = keys::prefix(ns)?;
            let mut scan = Scan::new(keys::bounds(ns, &range)?, range.limit, range.reverse, prefix.len());
            self.read(move |view, kept| {
                while !scan.is_done() {
                    if view.slice_kept(&mut scan, kept)?.is_none() {
                        return Ok(None);
                    }
                }
                Ok(Some(scan.found))
            })
            .await
        })
    }

    fn commit<'a>(&'a self, _: &'a Namespace, _: Write) -> BoxFuture<'a, Result<Commit, Error>> {
        Box::pin(async { Err(Error::ReadOnly("it is the store as it was at a moment".to_owned())) })
    }

    fn health(&self) -> Health {
        Health::ReadOnly("it is the store as it was at a moment".to_owned())
    }

    fn stats(&self) -> Stats {
        Stats { disk_bytes: self.shared.files.size(), ..Stats::default() }
    }

    fn namespaces(&self) -> BoxFuture<'_, Result<Vec<Namespace>, Error>> {
        // One that was made since has nothing in it as it was.
        Box::pin(off_thread(&self.shared, View::namespaces))
    }

    fn snapshot(&self) -> BoxFuture<'_, Result<Arc<dyn Store>, Error>> {
        Box::pin(async {
            let same: Arc<dyn Store> =
                Arc::new(Self { shared: Arc::clone(&self.shared), kept: Arc::clone(&self.kept) });
            Ok(same)
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }
}
