//! The ledger: the front door of the cellar. Exchanges, runs, threads, heads, tools, requests, coordinations and prepared executions, read by
//! name and changed in atomic, guarded sets. It must not know what a turn is for, who may do what, or which engine keeps the bytes.
//!
//! What is read with a [`Token`] can be replaced only while it is still what was read. Where an exchange lies is decided here, in the
//! commit: it extends the branch of the one before it when that is free, and departs on a branch of its own otherwise, so that two
//! writers after one exchange both succeed and nobody has to know about branches.

mod changes;
mod commit;
mod content;
mod coordinations;
mod exchanges;
mod gate;
mod graph;
mod kept;
mod live;
mod names;
mod path;
mod prepared;
mod retention;
mod tools;
mod workspace;

#[cfg(test)]
pub(crate) mod tests;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::layout::Entry;
use super::record::{self, Stored};
use super::{Error, Namespace, Store};

use self::gate::{Alone, Gate, Watch};
use self::kept::Kept;

pub use self::changes::{Changes, Lost};
pub use self::gate::Hold;
pub use self::workspace::{Edited, Pair};
pub use super::record::Remembered;

/// What is remembered. Cheap to clone.
#[derive(Clone)]
pub struct Ledger {
    store: Arc<dyn Store>,
    kept: Option<Arc<Kept>>,
    gate: Arc<Gate>,
}

impl Ledger {
    /// On a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, kept: None, gate: Arc::default() }
    }

    /// Keeps exchanges that were read in memory, so many bytes of them.
    #[must_use]
    pub fn keeping(self, bytes: usize) -> Self {
        Self { kept: (bytes > 0).then(|| Arc::new(Kept::new(bytes))), ..self }
    }

    /// The same without what is in memory: whatever is read is read from the store.
    #[must_use]
    pub fn unkept(&self) -> Self {
        Self { store: Arc::clone(&self.store), kept: None, gate: Arc::clone(&self.gate) }
    }

    /// Has what commits name written down until the result is dropped.
    pub(in crate::store) fn watch(&self) -> Watch<'_> {
        self.gate.watch()
    }

    /// Nobody commits until the result is dropped.
    pub(in crate::store) async fn alone(&self) -> Alone<'_> {
        self.gate.alone().await
    }

    /// Holds content that is stored before anything names it.
    pub fn hold(&self) -> Hold {
        Hold::new(&self.gate)
    }

    /// The store below.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub(in crate::store) async fn raw(&self, ns: &Namespace, entry: &Entry) -> Result<Option<Bytes>, Error> {
        self.store.get(ns, &entry.key()).await
    }

    async fn read<T: Stored>(&self, ns: &Namespace, entry: &Entry) -> Result<Option<T>, Error> {
        self.raw(ns, entry).await?.map(|raw| record::decode(entry, &raw)).transpose()
    }

    async fn read_with_token<T: Stored>(&self, ns: &Namespace, entry: &Entry) -> Result<Option<(T, Token)>, Error> {
        let Some(raw) = self.raw(ns, entry).await? else { return Ok(None) };
        Ok(Some((record::decode(entry, &raw)?, Token(raw))))
    }
}

/// A record exactly as it was read or is going to be written: what a change may replace, and nothing else.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Bytes);

impl Token {
    /// Short text that differs when the record does.
    pub fn etag(&self) -> String {
        blake3::hash(&self.0).to_hex().chars().take(32).collect()
    }
}

/// Without the record, which has names and labels in it.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.etag())
    }
}
