//! Reading tools: sets of them, what a path has seen, and which call had which, without what was said. It must not know what drift is for.

use futures::future::try_join_all;
use futures::{StreamExt, TryStreamExt, stream};

use super::Ledger;
use super::exchanges::{Stretch, lean, missing, stretches};
use crate::domain::drift::Seen;
use crate::domain::exchange::Glance;
use crate::domain::graph::{Place, Segment};
use crate::domain::id::Hash;
use crate::domain::tool::{Tool, ToolSet};
use crate::store::layout::{self, Entry};
use crate::store::record::{ToolHashes, corrupt};
use crate::store::{Error, Namespace};

/// Reads that are on their way at a time.
const AHEAD: usize = 16;

impl Ledger {
    /// A tool set. No hash is that of the empty set.
    ///
    /// # Errors
    /// When the store fails, or the set or one of its tools is missing or damaged.
    pub async fn tool_set(&self, ns: &Namespace, hash: Option<Hash>) -> Result<ToolSet, Error> {
        let Some(hash) = hash else { return Ok(ToolSet::default()) };
        let entry = Entry::ToolSet(hash);
        let hashes: ToolHashes = self.read(ns, &entry).await?.ok_or_else(|| corrupt(&entry, "it is missing"))?;
        let tools = try_join_all(hashes.0.into_iter().map(|hash| self.tool(ns, hash))).await?;
        Ok(ToolSet { tools })
    }

    /// A tool set that somebody names from outside; absent when there is none.
    ///
    /// # Errors
    /// When the store fails, or the set is damaged or one of its tools is missing or damaged.
    pub async fn find_tool_set(&self, ns: &Namespace, hash: Hash) -> Result<Option<ToolSet>, Error> {
        match self.raw(ns, &Entry::ToolSet(hash)).await? {
            Some(_) => Ok(Some(self.tool_set(ns, Some(hash)).await?)),
            None => Ok(None),
        }
    }

    /// A tool by its hash; absent when there is none.
    pub(in crate::store) async fn find_tool(&self, ns: &Namespace, hash: Hash) -> Result<Option<Tool>, Error> {
        self.read(ns, &Entry::Tool(hash)).await
    }

    /// What a path has seen of tools, by the hash that an exchange on it names.
    ///
    /// # Errors
    /// When the store fails, or the record is missing or damaged.
    pub async fn seen(&self, ns: &Namespace, hash: Hash) -> Result<Seen, Error> {
        let entry = Entry::Seen(hash);
        self.read(ns, &entry).await?.ok_or_else(|| corrupt(&entry, "it is missing"))
    }

    /// The calls of a path between two depths, both included, nearest to the root first. All of them are in memory at once, as stored.
    ///
    /// # Errors
    /// When the store fails, or an exchange on the path is missing or damaged.
    pub async fn glances(&self, ns: &Namespace, path: &[Segment], from: u64, to: u64) -> Result<Vec<Glance>, Error> {
        let wanted = stretches(path, from.max(1))
            .take_while(|stretch| stretch.from <= to)
            .map(|stretch| Stretch { to: stretch.to.min(to), ..stretch });
        stream::iter(wanted.collect::<Vec<_>>())
            .map(|stretch| self.glances_of(ns, stretch))
            .buffered(AHEAD)
            .try_concat()
            .await
    }

    async fn glances_of(&self, ns: &Namespace, stretch: Stretch) -> Result<Vec<Glance>, Error> {
        let branch = stretch.segment.branch;
        let limit = usize::try_from(stretch.to - stretch.from + 1).unwrap_or(usize::MAX);
        let entries = self.store.scan(ns, layout::stretch(branch, stretch.from, stretch.to, limit)).await?;
        let mut entries = entries.into_iter();
        let mut found = Vec::new();
        for depth in stretch.from..=stretch.to {
            let place = Place { branch, depth };
            let entry = Entry::Exchange(place);
            let raw = entries.next().filter(|(key, _)| *key == entry.key()).map(|(_, raw)| raw);
            let lean = lean(&entry, &raw.ok_or_else(|| missing(place))?)?;
            found.push(lean.glance().map_err(|malformed| corrupt(&entry, malformed))?);
        }
        Ok(found)
    }

    /// What an audit needs of the exchange at a place, which something names.
    ///
    /// # Errors
    /// When the store fails, or the record is missing or damaged.
    pub async fn glance(&self, ns: &Namespace, place: Place) -> Result<Glance, Error> {
        let entry = Entry::Exchange(place);
        let raw = self.raw(ns, &entry).await?.ok_or_else(|| missing(place))?;
        lean(&entry, &raw)?.glance().map_err(|malformed| corrupt(&entry, malformed))
    }

    /// What an audit needs of the exchanges at some places, in their order.
    ///
    /// # Errors
    /// When the store fails, or a record is missing or damaged.
    pub async fn glances_at(&self, ns: &Namespace, places: Vec<Place>) -> Result<Vec<Glance>, Error> {
        let read = |place| self.glance(ns, place);
        stream::iter(places).map(read).buffered(AHEAD).try_collect().await
    }

    async fn tool(&self, ns: &Namespace, hash: Hash) -> Result<Tool, Error> {
        let entry = Entry::Tool(hash);
        self.read(ns, &entry).await?.ok_or_else(|| corrupt(&entry, "it is missing"))
    }
}
