//! How a key and its value lie on disk: `namespace 0x00 key be32(chunk)`, values cut into chunks. It must not
//! know transactions, files, or what a value means.
//!
//! Two limits of the engine shape this. A leaf of its tree holds 16 entries (17 until it is split) and is
//! written as one message; a message over 128 KiB goes to a file of its own that the engine never syncs. At
//! 4 KiB a chunk, 17 entries with keys of up to 3 KiB stay below that line, with the page written whole.
//! Half of it would double the keys of a large value for nothing, twice as much would leave no room for keys.
//!
//! Keys of one namespace are never prefixes of one another, so the suffix keeps their order; no namespace has
//! a zero byte in its name, so none reaches into another, and keys that start with one are the store's own.

use std::ops::Bound;

use ::sled::IVec;
use bytes::{BufMut, Bytes, BytesMut};

use crate::store::{Error, Namespace, Range};

/// Most bytes of one stored chunk, the length in the first one included.
pub(super) const CHUNK_BYTES: usize = 4096;

/// Bytes of the total length at the head of the first chunk.
const LENGTH_BYTES: usize = 4;

/// Bytes of the chunk number behind each key.
const INDEX_BYTES: usize = 4;

/// Largest value: what a length of four bytes can say.
const MAX_VALUE_BYTES: usize = u32::MAX as usize;

/// Ends the namespace in a key.
const SEPARATOR: u8 = 0;

/// The store's format version, under a key that no namespace can reach.
pub(super) const FORMAT_KEY: &[u8] = b"\0format";

/// Counts the times that the store was opened.
pub(super) const OPENED_KEY: &[u8] = b"\0opened";

/// A namespace and a key in one: what one entry is called inside this store.
pub(super) type FullKey = Vec<u8>;

/// The full key of a key.
pub(super) fn full(ns: &Namespace, key: &[u8]) -> Result<FullKey, Error> {
    let mut full = prefix(ns)?;
    full.extend_from_slice(key);
    Ok(full)
}

/// What every full key of a namespace starts with.
pub(super) fn prefix(ns: &Namespace) -> Result<FullKey, Error> {
    let name = ns.as_str().as_bytes();
    // The domain checks names long before; here it is what keeps one tenant out of another's keys.
    if name.is_empty() || name.contains(&SEPARATOR) {
        return Err(Error::Unavailable("a namespace must have a name, without zero bytes in it".into()));
    }
    let mut full = Vec::with_capacity(name.len() + 1);
    full.extend_from_slice(name);
    full.push(SEPARATOR);
    Ok(full)
}

/// The first key behind every key of a namespace, given the name.
pub(super) fn behind(name: &[u8]) -> Vec<u8> {
    let mut key = name.to_vec();
    key.push(SEPARATOR + 1);
    key
}

/// The namespace in a stored key; none for the store's own.
pub(super) fn namespace(stored: &[u8]) -> Option<&[u8]> {
    let name = stored.split(|byte| *byte == SEPARATOR).next()?;
    (!name.is_empty()).then_some(name)
}

/// A range of one namespace in full keys.
pub(super) fn bounds(ns: &Namespace, range: &Range) -> Result<(Bound<FullKey>, Bound<FullKey>), Error> {
    let wrap = |bound: &Bound<Vec<u8>>, open: Bound<FullKey>| {
        Ok(match bound {
            Bound::Included(key) => Bound::Included(full(ns, key)?),
            Bound::Excluded(key) => Bound::Excluded(full(ns, key)?),
            Bound::Unbounded => open,
        })
    };
    let from = wrap(&range.from, Bound::Included(prefix(ns)?))?;
    let to = wrap(&range.to, Bound::Excluded(behind(ns.as_str().as_bytes())))?;
    Ok((from, to))
}

/// The stored key of one chunk.
pub(super) fn stored(full: &[u8], chunk: u32) -> Vec<u8> {
    let mut key = Vec::with_capacity(full.len() + INDEX_BYTES);
    key.extend_from_slice(full);
    key.extend_from_slice(&chunk.to_be_bytes());
    key
}

/// A stored key taken apart into full key and chunk number.
pub(super) fn split(stored: &[u8]) -> Option<(&[u8], u32)> {
    let (full, chunk) = stored.split_last_chunk::<INDEX_BYTES>()?;
    Some((full, u32::from_be_bytes(*chunk)))
}

/// Cuts a value into the entries that are stored for it. The first chunk begins with the length of the whole.
pub(super) fn cut(full: &[u8], value: &[u8]) -> Result<Vec<(IVec, IVec)>, Error> {
    let length = u32::try_from(value.len()).map_err(|_| {
        Error::Unavailable(format!("a value of {} bytes is over the store's {MAX_VALUE_BYTES}", value.len()))
    })?;
    let (first, rest) = value.split_at(value.len().min(CHUNK_BYTES - LENGTH_BYTES));
    let mut head = Vec::with_capacity(LENGTH_BYTES + first.len());
    head.extend_from_slice(&length.to_be_bytes());
    head.extend_from_slice(first);
    let mut chunks = vec![(IVec::from(stored(full, 0)), IVec::from(head))];
    for (index, chunk) in (1u32..).zip(rest.chunks(CHUNK_BYTES)) {
        chunks.push((IVec::from(stored(full, index)), IVec::from(chunk)));
    }
    Ok(chunks)
}

/// How many chunks a value of this length takes.
pub(super) fn chunks_of(length: usize) -> u32 {
    let rest = length.saturating_sub(CHUNK_BYTES - LENGTH_BYTES);
    // A length fits four bytes, so its number of chunks does.
    u32::try_from(1 + rest.div_ceil(CHUNK_BYTES)).unwrap_or(u32::MAX)
}

/// The length that a first chunk claims for its whole value.
pub(super) fn claimed_length(first: &[u8]) -> Option<usize> {
    let (length, _) = first.split_first_chunk::<LENGTH_BYTES>()?;
    usize::try_from(u32::from_be_bytes(*length)).ok()
}

/// Puts chunks in ascending order together again; what is wrong with them if they are not one whole value.
pub(super) fn join<C: AsRef<[u8]>>(chunks: &[(u32, C)]) -> Result<Bytes, String> {
    let Some(((0, first), rest)) = chunks.split_first() else {
        return Err("a value has lost its first chunk".into());
    };
    let first = first.as_ref();
    let (Some(length), Some(content)) = (claimed_length(first), first.get(LENGTH_BYTES..)) else {
        return Err("a value has no length".into());
    };
    if chunks_of(length) as usize != chunks.len() || !rest.iter().zip(1u32..).all(|((have, _), want)| *have == want) {
        return Err(format!("a value of {} chunks has {} of them", chunks_of(length), chunks.len()));
    }
    let mut value = BytesMut::with_capacity(length);
    value.put_slice(content);
    for (_, chunk) in rest {
        value.put_slice(chunk.as_ref());
    }
    if value.len() != length {
        return Err(format!("a value of {length} bytes has {} of them", value.len()));
    }
    Ok(value.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(name: &str) -> Namespace {
        Namespace::new(name)
    }

    #[test]
    fn values_of_every_size_around_the_chunk_limit_come_back() {
        for length in [0, 1, 4091, 4092, 4093, 8187, 8188, 8189, 100_000] {
            let value: Vec<u8> = (0..=250).cycle().take(length).collect();
            let cut = cut(b"a\0k", &value).unwrap();
            assert_eq!(cut.len(), chunks_of(length) as usize, "{length}");
            assert!(cut.iter().all(|(_, chunk)| chunk.len() <= CHUNK_BYTES));
            assert!(cut.windows(2).all(|pair| pair[0].0 < pair[1].0), "chunks lie in order");
            let chunks: Vec<_> = cut.iter().map(|(key, chunk)| (split(key).unwrap().1, chunk)).collect();
            assert_eq!(join(&chunks).unwrap(), value);
        }
    }

    #[test]
    fn a_missing_doubled_or_shortened_chunk_is_told_apart() {
        let whole: Vec<(u32, Vec<u8>)> = cut(b"a\0k", &[7; 10_000])
            .unwrap()
            .iter()
            .map(|(key, chunk)| (split(key).unwrap().1, chunk.to_vec()))
            .collect();
        assert_eq!(whole.len(), 3);
        for lost in 0..3 {
            let mut torn = whole.clone();
            torn.remove(lost);
            assert!(join(&torn).is_err(), "without chunk {lost}");
        }
        let mut longer = whole.clone();
        longer.push((3, vec![7]));
        assert!(join(&longer).is_err());
        let mut shorter = whole.clone();
        shorter[2].1.pop();
        assert!(join(&shorter).is_err());
        assert!(join::<Vec<u8>>(&[]).is_err());
        assert!(join(&[(0, vec![0, 0])]).is_err(), "no length");
    }

    #[test]
    fn namespaces_that_are_prefixes_of_one_another_lie_apart() {
        let short = full(&ns("a"), b"zzz").unwrap();
        let long = full(&ns("a-b"), b"000").unwrap();
        assert!(short < behind(b"a") && behind(b"a") < long);
        assert_eq!(namespace(&short), Some(&b"a"[..]));
        assert_eq!(namespace(FORMAT_KEY), None);
        assert!(full(&ns(""), b"format").is_err(), "the store's own keys cannot be reached");
        assert!(full(&ns("a\0b"), b"k").is_err());
    }
}
