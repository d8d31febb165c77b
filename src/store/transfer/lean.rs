//! What an exchange names, read from its record without what was said. It must not know what is done with it.

use bytes::Bytes;

use crate::domain::drift::Lineage;
use crate::domain::graph::Place;
use crate::domain::id::{ExchangeId, Hash, RunId, ThreadId};
use crate::store::layout::Entry;
use crate::store::record::exchange::Lean;
use crate::store::record::{corrupt, open};
use crate::store::{Error, Ledger, Namespace};

/// An exchange by what it names.
pub(in crate::store) struct Names {
    /// Its record as it is stored, decompressed.
    pub(in crate::store) payload: Bytes,
    pub(in crate::store) id: ExchangeId,
    pub(in crate::store) parent: Option<ExchangeId>,
    pub(in crate::store) continues: Option<ExchangeId>,
    pub(in crate::store) run_id: Option<RunId>,
    pub(in crate::store) thread_id: Option<ThreadId>,
    /// Its tool sets.
    pub(in crate::store) sets: Vec<Hash>,
    /// What its path has seen of tools.
    pub(in crate::store) seen: Option<Hash>,
    /// The documents before its run and when it was complete, by their topmost nodes.
    pub(in crate::store) roots: Vec<Hash>,
    /// Its large parts.
    pub(in crate::store) parts: Vec<Hash>,
    /// It was erased.
    pub(in crate::store) is_erased: bool,
}

/// The exchange at a place, which something names.
pub(in crate::store) async fn names(ledger: &Ledger, ns: &Namespace, place: Place) -> Result<Names, Error> {
    let entry = Entry::Exchange(place);
    let raw = ledger.raw(ns, &entry).await?.ok_or_else(|| corrupt(&entry, "it is missing"))?;
    names_in(&entry, &raw)
}

/// The same, of what was read already.
pub(in crate::store) fn names_in(entry: &Entry, raw: &Bytes) -> Result<Names, Error> {
    let payload = open(entry, raw)?;
    let mut lean = Lean::new(payload.clone()).map_err(|malformed| corrupt(entry, malformed))?;
    let parts = lean.parts().map_err(|malformed| corrupt(entry, malformed))?;
    let naming = lean.naming().map_err(|malformed| corrupt(entry, malformed))?;
    let seen = match naming.lineage {
        Lineage::Seen(hash) => Some(hash),
        Lineage::Nothing | Lineage::Unknown => None,
    };
    let mut sets: Vec<Hash> = naming.offered.into_iter().chain(naming.standing).collect();
    sets.dedup();
    let mut roots: Vec<Hash> = [naming.workspace.before, naming.workspace.after].into_iter().flatten().collect();
    roots.dedup();
    Ok(Names {
        payload,
        id: naming.id,
        parent: naming.parent,
        continues: naming.continues,
        run_id: naming.run_id,
        thread_id: naming.thread_id,
        sets,
        seen,
        roots,
        parts,
        is_erased: naming.is_erased,
    })
}
