//! The graph downwards: what follows an exchange, and whose heads were put on it. It must not know why that is wanted.

use bytes::Bytes;

use super::Ledger;
use super::exchanges::{lean, missing};
use crate::domain::graph::{Block, Branch, Place};
use crate::domain::id::{ExchangeId, ThreadId};
use crate::domain::thread::Head;
use crate::store::layout::{self, Entry, Kind};
use crate::store::record::{Mark, corrupt, decode, encode};
use crate::store::{Error, Key, Namespace, Write};

/// The version up to which this build keeps indexes.
const INDEXES: u32 = 1;
/// How many records one scan brings.
const BATCH: usize = 512;

impl Ledger {
    /// Completes the indexes of a namespace that an earlier version wrote to, without them. Costs one read once that is done.
    ///
    /// # Errors
    /// When the store fails, or takes no writes while something is lacking, or a record on the way is missing or damaged.
    pub async fn complete_indexes(&self, ns: &Namespace) -> Result<(), Error> {
        if self.read::<Mark>(ns, &Entry::Indexes).await?.is_some_and(|mark| mark.version >= INDEXES) {
            return Ok(());
        }
        for kind in [Kind::Branch, Kind::Head] {
            let mut after = None;
            loop {
                let entries = self.store.scan(ns, layout::all(kind, after.as_ref(), BATCH)).await?;
                let is_last = entries.len() < BATCH;
                let mut puts = Vec::new();
                for (key, raw) in entries {
                    let entry = Entry::of_key(&key).ok_or_else(|| Error::Corrupt("a key names nothing".to_owned()))?;
                    if let Some((index, value)) = self.indexed(ns, &entry, &raw).await?
                        && self.store.get(ns, &index).await?.is_none()
                    {
                        puts.push((index, value));
                    }
                    after = Some(entry);
                }
                self.put_all(ns, puts).await?;
                if is_last {
                    break;
                }
            }
        }
        let mark = encode(&Entry::Indexes, &Mark { version: INDEXES });
        match self.put_all(ns, vec![(Entry::Indexes.key(), mark)]).await {
            // Nothing was lacking, which need not be known for ever.
            Err(Error::ReadOnly(_)) => Ok(()),
            done => done,
        }
    }

    /// The index entry that a branch or a head should have.
    async fn indexed(&self, ns: &Namespace, entry: &Entry, raw: &Bytes) -> Result<Option<(Key, Bytes)>, Error> {
        let (index, value) = match entry {
            Entry::Branch(_) => {
                let Some((after, first, place)) = self.departure(ns, &decode(entry, raw)?).await? else {
                    return Ok(None);
                };
                let index = Entry::Departure(after, first);
                let value = encode(&index, &place);
                (index, value)
            }
            Entry::Head(thread) => {
                let Some(exchange) = decode::<Head>(entry, raw)?.exchange else { return Ok(None) };
                let index = Entry::Pointer(exchange, thread.clone());
                let value = encode(&index, &Mark { version: 1 });
                (index, value)
            }
            _ => return Ok(None),
        };
        Ok(Some((index.key(), value)))
    }

    /// Where a branch departs, its first exchange and the place of that; none at a root.
    async fn departure(&self, ns: &Namespace, branch: &Branch) -> Result<Option<(Place, ExchangeId, Place)>, Error> {
        let segment = match (branch.segments.last(), branch.block) {
            (Some(segment), _) => *segment,
            (None, None) => return Ok(None),
            (None, Some(id)) => {
                let entry = Entry::Block(id);
                let block: Block = self.read(ns, &entry).await?.ok_or_else(|| corrupt(&entry, "it is missing"))?;
                *block.segments.last().ok_or_else(|| corrupt(&entry, "it has no segments"))?
            }
        };
        let after = Place { branch: segment.branch, depth: segment.last };
        let place = Place { branch: branch.id, depth: segment.last + 1 };
        let first = self.id_at(ns, place).await?.ok_or_else(|| missing(place))?;
        Ok(Some((after, first, place)))
    }

    async fn put_all(&self, ns: &Namespace, puts: Vec<(Key, Bytes)>) -> Result<(), Error> {
        if puts.is_empty() {
            return Ok(());
        }
        // Nobody removes what these entries name, so there is nothing to guard.
        self.store.commit(ns, Write { puts, ..Write::default() }).await?;
        Ok(())
    }

    /// The id of the exchange at a place.
    ///
    /// # Errors
    /// When the store fails, or the exchange is damaged.
    pub async fn id_at(&self, ns: &Namespace, place: Place) -> Result<Option<ExchangeId>, Error> {
        if let Some(id) = self.kept.as_ref().and_then(|kept| kept.id(ns, place)) {
            return Ok(Some(id));
        }
        let entry = Entry::Exchange(place);
        let Some(raw) = self.raw(ns, &entry).await? else { return Ok(None) };
        lean(&entry, &raw)?.id().map(Some).map_err(|malformed| corrupt(&entry, malformed))
    }

    /// The exchanges that follow the one at a place, oldest first, after one of them; at most `limit`.
    ///
    /// # Errors
    /// When the store fails, or an index entry or exchange is damaged.
    pub async fn children(
        &self,
        ns: &Namespace,
        place: Place,
        after: Option<ExchangeId>,
        limit: usize,
    ) -> Result<Vec<(ExchangeId, Place)>, Error> {
        let entries = self.store.scan(ns, layout::departures(place, after, limit)).await?;
        let mut children = Vec::with_capacity(entries.len() + 1);
        for (key, raw) in entries {
            if let Some(entry) = Entry::of_key(&key)
                && let Entry::Departure(_, id) = entry
            {
                children.push((id, decode(&entry, &raw)?));
            }
        }
        let next = Place { branch: place.branch, depth: place.depth + 1 };
        if let Some(id) = self.id_at(ns, next).await?
            && after.is_none_or(|after| id > after)
        {
            let at = children.partition_point(|(other, _)| *other < id);
            children.insert(at, (id, next));
            children.truncate(limit);
        }
        Ok(children)
    }

    /// Exchanges of the whole namespace, newest first by the time in their ids, before one of them.
    ///
    /// # Errors
    /// When the store fails, or an index entry is damaged.
    pub async fn newest(
        &self,
        ns: &Namespace,
        before: Option<ExchangeId>,
        limit: usize,
    ) -> Result<Vec<(ExchangeId, Place)>, Error> {
        let entries = self.store.scan(ns, layout::ids_before(before, limit)).await?;
        let mut found = Vec::with_capacity(entries.len());
        for (key, raw) in entries {
            if let Some(entry) = Entry::of_key(&key)
                && let Entry::Id(id) = entry
            {
                found.push((id, decode(&entry, &raw)?));
            }
        }
        Ok(found)
    }

    /// How many exchanges follow the one at a place.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn count_children(&self, ns: &Namespace, place: Place) -> Result<u64, Error> {
        let next = Place { branch: place.branch, depth: place.depth + 1 };
        let is_kept = self.kept.as_ref().is_some_and(|kept| kept.id(ns, next).is_some());
        let mut count = u64::from(is_kept || self.raw(ns, &Entry::Exchange(next)).await?.is_some());
        let mut after = None;
        loop {
            let entries = self.store.scan(ns, layout::departures(place, after, BATCH)).await?;
            count = count.saturating_add(entries.len() as u64);
            after = match entries.last().and_then(|(key, _)| Entry::of_key(key)) {
                Some(Entry::Departure(_, id)) if entries.len() == BATCH => Some(id),
                _ => return Ok(count),
            };
        }
    }

    /// Threads whose heads were put on an exchange that was not made on them, after one of them; at most `limit`. They may have moved on since, or
    /// be gone.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn pointers(
        &self,
        ns: &Namespace,
        exchange: ExchangeId,
        after: Option<&ThreadId>,
        limit: usize,
    ) -> Result<Vec<ThreadId>, Error> {
        let entries = self.store.scan(ns, layout::pointers(exchange, after, limit)).await?;
        let threads = entries.iter().filter_map(|(key, _)| match Entry::of_key(key) {
            Some(Entry::Pointer(_, thread)) => Some(thread),
            _ => None,
        });
        Ok(threads.collect())
    }
}
