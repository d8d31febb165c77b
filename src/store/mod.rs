//! The cellar: what is remembered, and how it comes back whole. An ordered map of keys to values
//! inside namespaces, written in guarded, atomic, durable groups; the records and their layout stand
//! on it in the noun files. It must not know models, prompts, providers, gRPC or what a turn is for.

pub mod collect;
pub mod layout;
pub mod ledger;
pub mod sled;
pub mod tally;
pub mod transfer;
pub mod verify;

mod record;

#[cfg(test)]
pub(crate) mod memory;

use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;

pub use self::ledger::{Changes, Ledger, Lost, Remembered, Token};
pub use crate::domain::id::Namespace;

/// A key inside a namespace. No key is a proper prefix of another (every kind of record has keys of one
/// shape, with fixed widths or terminators), so a store may append a suffix of its own.
pub type Key = Vec<u8>;

/// What must hold, at the moment of the commit, for a write to be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The key has no value.
    Absent(Key),
    /// The key has exactly this value.
    Is(Key, Bytes),
    /// The key has a value, whatever it is.
    Present(Key),
}

impl Guard {
    /// The key that the guard watches.
    pub fn key(&self) -> &Key {
        match self {
            Self::Absent(key) | Self::Is(key, _) | Self::Present(key) => key,
        }
    }
}

/// One atomic change: either every put and delete is applied and durable, or none is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Write {
    /// Checked in order, before anything is applied, against everything acknowledged or in flight before it.
    pub guards: Vec<Guard>,
    /// Keys to set. A later entry for the same key wins.
    pub puts: Vec<(Key, Bytes)>,
    /// Keys to remove; removing an absent key is no error. Applied before `puts`.
    pub deletes: Vec<Key>,
}

/// What became of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Commit {
    /// Applied, and safe against kill -9 and power loss.
    Done,
    /// Nothing was applied: the guard at this index did not hold; with the value its key has now.
    Refused {
        /// Index into [`Write::guards`] of the first guard that failed.
        guard: usize,
        /// What the key held instead.
        found: Option<Bytes>,
    },
}

/// Keys of one namespace to read in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// First key.
    pub from: Bound<Key>,
    /// Last key.
    pub to: Bound<Key>,
    /// At most so many entries.
    pub limit: usize,
    /// From the last to the first.
    pub reverse: bool,
}

impl Range {
    /// Every key that starts with `prefix`, in ascending order.
    pub fn prefix(prefix: &[u8], limit: usize) -> Self {
        let mut end = prefix.to_vec();
        while end.last() == Some(&u8::MAX) {
            end.pop();
        }
        let to = match end.last_mut() {
            Some(last) => {
                *last += 1;
                Bound::Excluded(end)
            }
            None => Bound::Unbounded,
        };
        Self { from: Bound::Included(prefix.to_vec()), to, limit, reverse: false }
    }
}

/// Whether a store takes writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Reads and writes.
    Writable,
    /// Reads only, with the reason. After a failed write until the process is started again; for want of room until
    /// there is more.
    ReadOnly(String),
}

/// Sizes and counters of a store, for `GetServerInfo`, `Stats` and the metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes on disk; zero for a store that has none.
    pub disk_bytes: u64,
    /// Writes acknowledged since the store was opened.
    pub commits: u64,
    /// Groups they were made durable in, each with one sync of the disk.
    pub groups: u64,
    /// Bytes of keys and values in those groups.
    pub written_bytes: u64,
}

/// Why a store did not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// A durable write failed, or would fail, so the store takes none. Reads go on. [`Health`] says whether that has
    /// passed.
    #[error(
        "the store is read-only since a write could not be made durable ({0}): free space or repair the disk, then \
         restart the server if it does not go on by itself"
    )]
    ReadOnly(String),
    /// Somebody else has the store, or it cannot be reached or read.
    #[error("{0}")]
    Unavailable(String),
    /// What is stored is not what was written.
    #[error("{0}")]
    Corrupt(String),
    /// The store is closing down.
    #[error("the store is shutting down")]
    Closed,
}

/// An ordered map in namespaces with guarded, atomic, durable writes. Every implementation passes the one
/// conformance suite in `tests/store`.
///
/// Acknowledged writes are visible to the next call and survive kill -9 and power loss. Writes that were
/// not acknowledged are whole or absent. A commit that is under way when its future is dropped may be carried out
/// all the same. A scan is no snapshot: while it runs, keys that it has not reached may change.
pub trait Store: Send + Sync + 'static {
    /// The value of a key.
    fn get<'a>(&'a self, ns: &'a Namespace, key: &'a [u8]) -> BoxFuture<'a, Result<Option<Bytes>, Error>>;

    /// Entries of a range, in its order, at most its limit.
    fn scan<'a>(&'a self, ns: &'a Namespace, range: Range) -> BoxFuture<'a, Result<Vec<(Key, Bytes)>, Error>>;

    /// Applies a write if its guards hold, and answers when it is durable.
    fn commit<'a>(&'a self, ns: &'a Namespace, write: Write) -> BoxFuture<'a, Result<Commit, Error>>;

    /// Whether writes are taken.
    fn health(&self) -> Health;

    /// Sizes and counters.
    fn stats(&self) -> Stats;

    /// Namespaces that hold anything, in order. For maintenance only: never on a hot path.
    fn namespaces(&self) -> BoxFuture<'_, Result<Vec<Namespace>, Error>>;

    /// The store as it is now, for reading: no write that is acknowledged later is seen in it, in any namespace. It takes memory for what changes
    /// while it is held, and is [`Error::Unavailable`] once that is too much. Its writes are refused.
    fn snapshot(&self) -> BoxFuture<'_, Result<Arc<dyn Store>, Error>>;

    /// Takes no further writes, makes durable what was taken, and lets go of the files.
    fn close(&self) -> BoxFuture<'_, Result<(), Error>>;
}
