//! Reading exchanges: one, a page of a path, a whole history, the end of a turn. It must not know why they are wanted.

use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};

use super::Ledger;
use crate::domain::exchange::Exchange;
use crate::domain::graph::{self, Place, Segment};
use crate::domain::id::{ExchangeId, Hash};
use crate::store::layout::{self, Entry};
use crate::store::record::exchange::Lean;
use crate::store::record::{corrupt, open};
use crate::store::transfer::names_in;
use crate::store::{Error, Namespace};

/// How many exchanges the first scan of a page brings. Their size tells how many the next ones may, so that a page of large exchanges
/// does not read far beyond its end.
const FIRST_BATCH: usize = 16;
/// How many exchanges one scan brings at most.
const MAX_BATCH: usize = 256;
/// Reads of one-exchange stretches that are on their way at a time.
const AHEAD: usize = 16;
/// How many exchanges of equal content are looked at. Thousands come from a load test; the oldest will do.
const MAX_EQUAL: usize = 1024;

impl Ledger {
    /// An exchange and its place.
    ///
    /// # Errors
    /// When the store fails, or a record on the way is missing or damaged.
    pub async fn exchange(&self, ns: &Namespace, id: ExchangeId) -> Result<Option<(Exchange, Place)>, Error> {
        let Some(place) = self.place(ns, id).await? else { return Ok(None) };
        let index = Entry::Id(id);
        match self.exchange_at(ns, place).await? {
            Some(exchange) if exchange.id == id => Ok(Some((exchange, place))),
            Some(_) => Err(corrupt(&index, "another exchange lies at the place it names")),
            None => Err(corrupt(&index, "there is nothing at the place it names")),
        }
    }

    /// Where an exchange lies.
    ///
    /// # Errors
    /// When the store fails or the index entry is damaged.
    pub async fn place(&self, ns: &Namespace, id: ExchangeId) -> Result<Option<Place>, Error> {
        self.read(ns, &Entry::Id(id)).await
    }

    /// The exchange at a place.
    ///
    /// # Errors
    /// When the store fails, or the exchange or one of its parts is damaged.
    pub async fn exchange_at(&self, ns: &Namespace, place: Place) -> Result<Option<Exchange>, Error> {
        Ok(self.sized_at(ns, place).await?.map(|(exchange, _)| Arc::unwrap_or_clone(exchange)))
    }

    /// The exchange at a place, from memory if it is there, and how many bytes it has.
    async fn sized_at(&self, ns: &Namespace, place: Place) -> Result<Option<(Arc<Exchange>, usize)>, Error> {
        if let Some(found) = self.kept_at(ns, place) {
            return Ok(Some(found));
        }
        match self.lean(ns, place).await? {
            Some(lean) => Ok(Some(self.whole(ns, place, lean).await?)),
            None => Ok(None),
        }
    }

    fn kept_at(&self, ns: &Namespace, place: Place) -> Option<(Arc<Exchange>, usize)> {
        self.kept.as_ref().and_then(|kept| kept.get(ns, place))
    }

    /// Exchanges of a path, root first, from a depth on: at most `limit`, and with at most `max_bytes` (of the stored form, decompressed) all
    /// together, but at least one while there are any. The next page begins at the depth after the last one's; an empty page is the end.
    ///
    /// # Errors
    /// When the store fails, or an exchange on the path is missing or damaged.
    pub async fn exchanges(
        &self,
        ns: &Namespace,
        path: &[Segment],
        from_depth: u64,
        limit: usize,
        max_bytes: usize,
    ) -> Result<Vec<Arc<Exchange>>, Error> {
        Ok(self.page(ns, path, from_depth, limit, max_bytes).await?.exchanges)
    }

    /// Every exchange of a path, root first, where all together have at most `max_bytes` (of the stored form, decompressed); else how many bytes
    /// there were when they became too many. What comes after that is not read.
    ///
    /// # Errors
    /// When the store fails, or an exchange on the path is missing or damaged.
    pub async fn history_within(
        &self,
        ns: &Namespace,
        path: &[Segment],
        max_bytes: usize,
    ) -> Result<Result<Vec<Arc<Exchange>>, usize>, Error> {
        let page = self.page(ns, path, 1, usize::MAX, max_bytes).await?;
        Ok(match page.beyond {
            Some(bytes) => Err(bytes),
            None if page.bytes > max_bytes => Err(page.bytes),
            None => Ok(page.exchanges),
        })
    }

    async fn page(
        &self,
        ns: &Namespace,
        path: &[Segment],
        from_depth: u64,
        limit: usize,
        max_bytes: usize,
    ) -> Result<Page, Error> {
        let mut page = Page { exchanges: Vec::new(), limit, bytes: 0, max_bytes, beyond: None };
        let mut stretches = stretches(path, from_depth.max(1)).peekable();
        while let Some(stretch) = stretches.next()
            && !page.is_full()
        {
            if stretch.from < stretch.to {
                self.scan_into(&mut page, ns, stretch).await?;
                continue;
            }
            // Where a path turns at every step its stretches are single exchanges; these are fetched several at a time.
            let mut places = vec![stretch.first()];
            while places.len() < page.room()
                && let Some(next) = stretches.next_if(|next| next.from == next.to)
            {
                places.push(next.first());
            }
            self.get_into(&mut page, ns, places).await?;
        }
        Ok(page)
    }

    /// The last exchange of a turn on a path; absent when the path has no such turn. Turns only ascend along a path, so this costs a
    /// read for each halving of its depth.
    ///
    /// # Errors
    /// When the store fails, or an exchange on the path is missing or damaged.
    pub async fn turn_end(&self, ns: &Namespace, path: &[Segment], turn: u64) -> Result<Option<Exchange>, Error> {
        // Depths up to `low` have turns up to the one that is sought, those above `high` later ones.
        let (mut low, mut high) = (0, path.last().map_or(0, |segment| segment.last));
        let mut found = None;
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            let Some(place) = graph::at_depth(path, middle) else { break };
            let lean = self.lean_on_path(ns, place).await?;
            if lean.turn() <= turn {
                low = middle;
                found = Some((place, lean));
            } else {
                high = middle - 1;
            }
        }
        match found {
            Some((place, lean)) if lean.turn() == turn => {
                Ok(Some(Arc::unwrap_or_clone(self.whole(ns, place, lean).await?.0)))
            }
            _ => Ok(None),
        }
    }

    /// Exchanges of one content, oldest first; at most 1,024.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn with_content(&self, ns: &Namespace, hash: &Hash) -> Result<Vec<ExchangeId>, Error> {
        let entries = self.store.scan(ns, layout::same_content(hash, MAX_EQUAL)).await?;
        Ok(entries
            .iter()
            .filter_map(|(key, _)| match Entry::of_key(key) {
                Some(Entry::Content(_, id)) => Some(id),
                _ => None,
            })
            .collect())
    }

    async fn scan_into(&self, page: &mut Page, ns: &Namespace, stretch: Stretch) -> Result<(), Error> {
        let mut next = stretch.from;
        while next <= stretch.to && !page.is_full() {
            if let Some(found) = self.kept_at(ns, Place { branch: stretch.segment.branch, depth: next }) {
                page.push(found);
                next += 1;
                continue;
            }
            let range = layout::stretch(stretch.segment.branch, next, stretch.to, page.batch());
            let entries = self.store.scan(ns, range).await?;
            if entries.is_empty() {
                return Err(missing(Place { branch: stretch.segment.branch, depth: next }));
            }
            for (key, raw) in entries {
                if page.is_full() {
                    return Ok(());
                }
                let place = Place { branch: stretch.segment.branch, depth: next };
                let entry = Entry::Exchange(place);
                if key != entry.key() {
                    return Err(missing(place));
                }
                let lean = lean(&entry, &raw)?;
                page.push(self.whole(ns, place, lean).await?);
                next += 1;
            }
        }
        Ok(())
    }

    async fn get_into(&self, page: &mut Page, ns: &Namespace, places: Vec<Place>) -> Result<(), Error> {
        let read = |place| async move { self.sized_at(ns, place).await?.ok_or_else(|| missing(place)) };
        let mut found = stream::iter(places).map(read).buffered(AHEAD);
        while !page.is_full()
            && let Some(exchange) = found.try_next().await?
        {
            page.push(exchange);
        }
        Ok(())
    }

    pub(super) async fn lean(&self, ns: &Namespace, place: Place) -> Result<Option<Lean>, Error> {
        let entry = Entry::Exchange(place);
        self.raw(ns, &entry).await?.map(|raw| lean(&entry, &raw)).transpose()
    }

    async fn lean_on_path(&self, ns: &Namespace, place: Place) -> Result<Lean, Error> {
        self.lean(ns, place).await?.ok_or_else(|| missing(place))
    }

    /// An exchange with its large parts, and how many bytes it has.
    pub(super) async fn whole(
        &self,
        ns: &Namespace,
        place: Place,
        mut lean: Lean,
    ) -> Result<(Arc<Exchange>, usize), Error> {
        let entry = Entry::Exchange(place);
        let hashes = lean.parts().map_err(|malformed| corrupt(&entry, malformed))?;
        let parts = self.parts(ns, hashes).await?;
        let bytes = lean.bytes + parts.values().map(Bytes::len).sum::<usize>();
        let exchange = lean.whole(&parts).map_err(|malformed| corrupt(&entry, malformed))?;
        let exchange = Arc::new(exchange);
        if let Some(kept) = &self.kept {
            kept.put(ns, place, Arc::clone(&exchange), bytes);
            // Who erases forgets after the commit: what was read before that and is put afterwards is seen here.
            if kept.may_be_old() && exchange.erased.is_none() && self.is_erased(ns, place).await? {
                kept.forget(ns, place);
            }
        }
        Ok((exchange, bytes))
    }

    /// Whether the exchange at a place was erased, by its record alone.
    pub(in crate::store) async fn is_erased(&self, ns: &Namespace, place: Place) -> Result<bool, Error> {
        let entry = Entry::Exchange(place);
        let Some(raw) = self.raw(ns, &entry).await? else { return Ok(false) };
        Ok(names_in(&entry, &raw)?.is_erased)
    }
}

pub(super) fn lean(entry: &Entry, raw: &Bytes) -> Result<Lean, Error> {
    Lean::new(open(entry, raw)?).map_err(|malformed| corrupt(entry, malformed))
}

pub(super) fn missing(place: Place) -> Error {
    corrupt(&Entry::Exchange(place), "it is missing")
}

/// A page that is being filled.
struct Page {
    exchanges: Vec<Arc<Exchange>>,
    limit: usize,
    bytes: usize,
    max_bytes: usize,
    /// How many bytes there would be with the exchange that did not fit any more.
    beyond: Option<usize>,
}

impl Page {
    fn room(&self) -> usize {
        self.limit.saturating_sub(self.exchanges.len())
    }

    fn is_full(&self) -> bool {
        // The first one is taken however large it is.
        self.room() == 0 || self.beyond.is_some() || self.bytes > self.max_bytes
    }

    /// How many exchanges to ask for next.
    fn batch(&self) -> usize {
        let fitting = match self.bytes.checked_div(self.exchanges.len()) {
            Some(average) => self.max_bytes.saturating_sub(self.bytes) / average.max(1) + 1,
            None => FIRST_BATCH,
        };
        fitting.min(MAX_BATCH).min(self.room())
    }

    fn push(&mut self, (exchange, bytes): (Arc<Exchange>, usize)) {
        let bytes = self.bytes.saturating_add(bytes);
        if bytes > self.max_bytes && !self.exchanges.is_empty() {
            self.beyond = Some(bytes);
            return;
        }
        self.bytes = bytes;
        self.exchanges.push(exchange);
    }
}

/// What a path takes from one branch.
#[derive(Clone, Copy)]
pub(super) struct Stretch {
    pub(super) segment: Segment,
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Stretch {
    fn first(&self) -> Place {
        Place { branch: self.segment.branch, depth: self.from }
    }
}

pub(super) fn stretches(path: &[Segment], from: u64) -> impl Iterator<Item = Stretch> {
    let starts = std::iter::once(1).chain(path.iter().map(|segment| segment.last + 1));
    path.iter().zip(starts).filter(move |(segment, _)| segment.last >= from).map(move |(segment, start)| Stretch {
        segment: *segment,
        from: start.max(from),
        to: segment.last,
    })
}
