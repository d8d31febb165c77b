//! What readers see: the engine's tree, less what is not durable yet. It must not know how writes are gathered.
//!
//! The engine has no snapshots, and shows a batch as soon as it is applied, before it is flushed. So the
//! committer first names the keys of a group here, with what they held before; until the group is durable,
//! readers get that instead of the tree's chunks. Nobody is shown what a power cut could take back, no value
//! is seen half replaced, and when a flush fails the old values simply stay. A scan holds still for one slice
//! (64 entries) at a time: a long one may see writes that were acknowledged while it ran.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use ::sled::{Db, IVec, Tree};
use bytes::Bytes;

use super::fault::{Fault, guarded};
use super::keys::{self, FullKey};
use super::snapshot::Kept;
use crate::store::{Key, Namespace};

#[cfg(test)]
mod tests;

/// Most entries read while the committer waits.
const SLICE_ENTRIES: usize = 64;

/// A slice ends after so many bytes, too.
const SLICE_BYTES: usize = 256 * 1024;

/// What a key holds in the tree.
#[derive(Clone, Debug)]
pub(super) enum Held {
    /// Nothing.
    Absent,
    /// A value.
    Value(Bytes),
    /// Chunks that are not one whole value, and what is wrong.
    Torn(String),
}

impl Held {
    /// The value, if it can be read.
    pub(super) fn value(self) -> Result<Option<Bytes>, Fault> {
        match self {
            Self::Absent => Ok(None),
            Self::Value(value) => Ok(Some(value)),
            Self::Torn(what) => Err(Fault::Torn(what)),
        }
    }
}

/// The readable side of a store.
pub(super) struct View {
    shown: RwLock<Shown>,
}

struct Shown {
    /// None once the store is closed.
    db: Option<Db>,
    /// What the keys of the group in flight held before it, and hold for readers.
    hidden: BTreeMap<FullKey, Held>,
    /// What those who read the store as it was at a moment have to be told of.
    snapshots: Vec<Weak<Kept>>,
}

/// The outcome of a read that was only to be a short one.
pub(super) enum Short {
    /// Done.
    Done(Option<Bytes>),
    /// The value is larger than the limit and was not read.
    TooLong,
}

impl View {
    pub(super) fn new(db: Db) -> Self {
        Self { shown: RwLock::new(Shown { db: Some(db), hidden: BTreeMap::new(), snapshots: Vec::new() }) }
    }

    /// Hides the keys of a group that is about to be applied.
    pub(super) fn hide(&self, hidden: BTreeMap<FullKey, Held>) {
        let mut shown = self.write();
        shown.snapshots.retain(|kept| kept.upgrade().map(|kept| kept.keep(&hidden)).is_some());
        shown.hidden = hidden;
    }

    /// Keeps what every key holds from now on, for as long as the result is held.
    pub(super) fn keep(&self) -> Arc<Kept> {
        let mut shown = self.write();
        let kept = Arc::new(Kept::default());
        kept.keep(&shown.hidden);
        shown.snapshots.push(Arc::downgrade(&kept));
        kept
    }

    /// Shows everything again: the group is durable.
    pub(super) fn reveal(&self) {
        let hidden = std::mem::take(&mut self.write().hidden);
        // Large values are freed without holding readers up.
        drop(hidden);
    }

    /// Lets go of the engine. Reads are refused from here on.
    pub(super) fn close(&self) -> Option<Db> {
        self.write().db.take()
    }

    /// A value, unless it is longer than `limit`.
    pub(super) fn get_short(&self, key: &[u8], limit: usize) -> Result<Short, Fault> {
        self.reading(|db, hidden| {
            if let Some(held) = hidden.get(key) {
                return held.clone().value().map(Short::Done);
            }
            let Some(first) = db.get(keys::stored(key, 0))? else {
                return load_rest(db, key, None)?.value().map(Short::Done);
            };
            if keys::claimed_length(&first).is_some_and(|length| length > limit) {
                return Ok(Short::TooLong);
            }
            load_rest(db, key, Some(first))?.value().map(Short::Done)
        })
    }

    /// A value of any length.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Fault> {
        self.reading(|db, hidden| hidden.get(key).cloned().map_or_else(|| load(db, key), Ok)?.value())
    }

    /// A value as it was kept; none when it is not kept any more.
    pub(super) fn get_kept(&self, key: &[u8], kept: &Kept) -> Result<Option<Option<Bytes>>, Fault> {
        self.reading(|db, _| kept.reading(|before| before.get(key).cloned().map_or_else(|| load(db, key), Ok)?.value()))
    }

    /// Reads the next slice of a scan as it was kept; none when it is not kept any more.
    pub(super) fn slice_kept(&self, scan: &mut Scan, kept: &Kept) -> Result<Option<()>, Fault> {
        self.reading(|db, _| kept.reading(|before| scan.advance(db, before)))
    }

    /// Reads the next slice of a scan.
    pub(super) fn slice(&self, scan: &mut Scan) -> Result<(), Fault> {
        self.reading(|db, hidden| scan.advance(db, hidden))
    }

    /// Names of the namespaces that hold anything, in order.
    pub(super) fn namespaces(&self) -> Result<Vec<Namespace>, Fault> {
        let mut names = Vec::new();
        let mut from = vec![1];
        while let Some(name) = self.reading(|db, hidden| namespace_from(db, hidden, &from))? {
            from = keys::behind(&name);
            let name = String::from_utf8(name).map_err(|_| Fault::Torn("a key has no namespace".into()))?;
            let mut scan = Scan::first(name.as_bytes());
            self.slice(&mut scan)?;
            // A name may be there on account of a write that is not durable yet.
            if !scan.found.is_empty() {
                names.push(Namespace::new(name));
            }
        }
        Ok(names)
    }

    fn reading<T>(&self, read: impl FnOnce(&Db, &BTreeMap<FullKey, Held>) -> Result<T, Fault>) -> Result<T, Fault> {
        let shown = self.read();
        let db = shown.db.as_ref().ok_or(Fault::Closed)?;
        guarded(|| read(db, &shown.hidden))
    }

    fn read(&self) -> RwLockReadGuard<'_, Shown> {
        self.shown.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Shown> {
        self.shown.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a key holds in the tree, durable or not.
pub(super) fn load(tree: &Tree, key: &[u8]) -> Result<Held, Fault> {
    let first = tree.get(keys::stored(key, 0))?;
    load_rest(tree, key, first)
}

fn load_rest(tree: &Tree, key: &[u8], first: Option<IVec>) -> Result<Held, Fault> {
    let Some(first) = first else {
        // A second chunk alone is what is left of a damaged value.
        let second = tree.get(keys::stored(key, 1))?;
        return Ok(second.map_or(Held::Absent, |_| Held::Torn("a value has lost its first chunk".into())));
    };
    let is_long = keys::claimed_length(&first).is_none_or(|length| keys::chunks_of(length) > 1);
    let mut chunks = vec![(0, first)];
    if is_long {
        for entry in tree.range(keys::stored(key, 1)..=keys::stored(key, u32::MAX)) {
            let (stored, chunk) = entry?;
            match keys::split(&stored) {
                Some((full, index)) if full == key => chunks.push((index, chunk)),
                _ => break,
            }
        }
    }
    Ok(keys::join(&chunks).map_or_else(Held::Torn, Held::Value))
}

/// The name of the first namespace whose keys begin at `from` or later.
fn namespace_from(tree: &Tree, hidden: &BTreeMap<FullKey, Held>, from: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
    let in_tree = tree.range(from..).next().transpose()?;
    let in_tree = in_tree.and_then(|(stored, _)| keys::namespace(&stored).map(<[u8]>::to_vec));
    let in_hidden = hidden.range(from.to_vec()..).next();
    let in_hidden = in_hidden.and_then(|(full, _)| keys::namespace(full).map(<[u8]>::to_vec));
    Ok(in_tree.into_iter().chain(in_hidden).min())
}

/// A scan under way.
pub(super) struct Scan {
    from: Bound<FullKey>,
    to: Bound<FullKey>,
    reverse: bool,
    limit: usize,
    /// The last key that was found: the next slice begins behind it.
    last: Option<FullKey>,
    done: bool,
    prefix_bytes: usize,
    /// Entries so far, in the scan's order, without their namespace.
    pub(super) found: Vec<(Key, Bytes)>,
}

type Chunks<'a> = Box<dyn Iterator<Item = ::sled::Result<(IVec, IVec)>> + 'a>;
type Shadows<'a> = Box<dyn Iterator<Item = (&'a FullKey, &'a Held)> + 'a>;

impl Scan {
    pub(super) fn new(
        (from, to): (Bound<FullKey>, Bound<FullKey>),
        limit: usize,
        reverse: bool,
        prefix_bytes: usize,
    ) -> Self {
        let done = limit == 0 || is_empty(&from, &to);
        Self { from, to, reverse, limit, last: None, done, prefix_bytes, found: Vec::new() }
    }

    /// Only the first entry of a namespace.
    fn first(name: &[u8]) -> Self {
        let from = [name, &[0]].concat();
        let prefix_bytes = from.len();
        Self::new((Bound::Included(from), Bound::Excluded(keys::behind(name))), 1, false, prefix_bytes)
    }

    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    fn advance(&mut self, tree: &Tree, hidden: &BTreeMap<FullKey, Held>) -> Result<(), Fault> {
        let mut chunks = self.chunks(tree)?.peekable();
        let mut shadows = self.shadows(hidden).peekable();
        let mut bytes = 0;
        for _ in 0..SLICE_ENTRIES {
            if self.done || bytes >= SLICE_BYTES {
                return Ok(());
            }
            let key = self.next_key(&mut chunks, hidden)?;
            let shadow = shadows.next_if(|(shadow, _)| key.as_ref().is_none_or(|key| self.comes_first(shadow, key)));
            let (key, value) = match (shadow, key) {
                (Some((key, held)), _) => (key.clone(), held.clone().value()?),
                (None, Some(key)) => {
                    let value = gather(&mut chunks, &key, self.reverse)?;
                    (key, Some(value))
                }
                (None, None) => {
                    self.done = true;
                    return Ok(());
                }
            };
            if let Some(value) = value {
                bytes += value.len();
                self.found.push((key.get(self.prefix_bytes..).unwrap_or_default().to_vec(), value));
                self.done = self.found.len() >= self.limit;
            }
            self.last = Some(key);
        }
        Ok(())
    }

    /// The key whose chunks come next in the tree, if it is in the range. Chunks before the range, and those of
    /// hidden keys, are passed over; nothing behind the range is read.
    fn next_key(
        &self,
        chunks: &mut Peekable<Chunks<'_>>,
        hidden: &BTreeMap<FullKey, Held>,
    ) -> Result<Option<FullKey>, Fault> {
        loop {
            let Some(Ok((stored, _))) = chunks.peek() else {
                // The end, or an error.
                return chunks.next().transpose().map(|_| None).map_err(Fault::from);
            };
            let Some((key, _)) = keys::split(stored) else {
                return Err(Fault::Torn("a key is too short".into()));
            };
            let (above, below) = (is_above(key, &self.from), is_below(key, &self.to));
            if above && below && !hidden.contains_key(key) {
                return Ok(Some(key.to_vec()));
            }
            if if self.reverse { !above } else { !below } {
                return Ok(None);
            }
            chunks.next();
        }
    }

    /// The tree's chunks from where the scan stands, in its direction, beyond the end of the range.
    fn chunks<'a>(&self, tree: &Tree) -> Result<Chunks<'a>, Fault> {
        if !self.reverse {
            let from = match (&self.last, &self.from) {
                (Some(last), _) => Bound::Excluded(keys::stored(last, u32::MAX)),
                (None, Bound::Included(from) | Bound::Excluded(from)) => Bound::Included(from.clone()),
                (None, Bound::Unbounded) => Bound::Unbounded,
            };
            return Ok(Box::new(tree.range((from, Bound::<Vec<u8>>::Unbounded))));
        }
        let to = match (&self.last, &self.to) {
            (Some(last), _) => Bound::Excluded(keys::stored(last, 0)),
            (None, Bound::Included(to) | Bound::Excluded(to)) => {
                // A bound may be longer than a key of which it is a continuation ("the next after k"), and so lie
                // before or among that key's chunks: the walk must begin behind all of them.
                match tree.range(to.as_slice()..).next().transpose()? {
                    Some((stored, _)) => match keys::split(&stored) {
                        Some((key, _)) if to.starts_with(key) => Bound::Included(keys::stored(key, u32::MAX)),
                        _ => Bound::Excluded(to.clone()),
                    },
                    None => Bound::Excluded(to.clone()),
                }
            }
            (None, Bound::Unbounded) => Bound::Unbounded,
        };
        Ok(Box::new(tree.range((Bound::<Vec<u8>>::Unbounded, to)).rev()))
    }

    /// The hidden keys from where the scan stands, in its direction.
    fn shadows<'a>(&self, hidden: &'a BTreeMap<FullKey, Held>) -> Shadows<'a> {
        let (mut from, mut to) = (self.from.clone(), self.to.clone());
        match &self.last {
            Some(last) if self.reverse => to = Bound::Excluded(last.clone()),
            Some(last) => from = Bound::Excluded(last.clone()),
            None => {}
        }
        if is_empty(&from, &to) {
            return Box::new(std::iter::empty());
        }
        let shadows = hidden.range((from, to));
        if self.reverse { Box::new(shadows.rev()) } else { Box::new(shadows) }
    }

    fn comes_first(&self, one: &[u8], other: &[u8]) -> bool {
        if self.reverse { one > other } else { one < other }
    }
}

/// Takes all chunks of `key` and makes them its value.
fn gather(chunks: &mut Peekable<Chunks<'_>>, key: &[u8], reverse: bool) -> Result<Bytes, Fault> {
    let mut parts: Vec<(u32, IVec)> = Vec::new();
    loop {
        let index = match chunks.peek() {
            Some(Ok((stored, _))) => match keys::split(stored) {
                Some((full, index)) if full == key => Some(index),
                _ => break,
            },
            Some(Err(_)) => None,
            None => break,
        };
        if let (Some((_, chunk)), Some(index)) = (chunks.next().transpose()?, index) {
            parts.push((index, chunk));
        }
    }
    if reverse {
        parts.reverse();
    }
    keys::join(&parts).map_err(Fault::Torn)
}

fn is_above(key: &[u8], from: &Bound<FullKey>) -> bool {
    match from {
        Bound::Included(from) => key >= from.as_slice(),
        Bound::Excluded(from) => key > from.as_slice(),
        Bound::Unbounded => true,
    }
}

fn is_below(key: &[u8], to: &Bound<FullKey>) -> bool {
    match to {
        Bound::Included(to) => key <= to.as_slice(),
        Bound::Excluded(to) => key < to.as_slice(),
        Bound::Unbounded => true,
    }
}

fn is_empty(from: &Bound<FullKey>, to: &Bound<FullKey>) -> bool {
    match (from, to) {
        (Bound::Included(from), Bound::Included(to)) => from > to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => from >= to,
        _ => false,
    }
}
