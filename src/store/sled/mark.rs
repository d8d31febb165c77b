//! How far the store had got: the number of the last group that was acknowledged, in a file beside the engine's, compared with the number in
//! the tree when it is opened. It must not know what the groups hold.
//!
//! After a crash the engine takes the first record that is not whole for the end of its log, and is right: nothing after it was acknowledged.
//! Where a disk damaged the log it is wrong, and would go on without the newest writes and without a word. The number in the tree is part of
//! each group and becomes durable with it; the one in the file is written afterwards and never synced. So the file is never ahead of what
//! was acknowledged, whatever order the disk keeps, and a tree that is behind it has lost something.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ::sled::IVec;

/// In the tree: the number of the group that was written last.
pub(super) const MARK_KEY: &[u8] = b"\0mark";

/// The number, then a checksum over it.
const LENGTH: usize = 16;

/// The number of the last group, in the tree and beside it.
pub(super) struct Mark {
    file: File,
    number: Cell<u64>,
}

/// Where the file is.
pub(super) fn path(dir: &Path) -> PathBuf {
    dir.join("sled.mark")
}

/// Whether there is a file and its number cannot be read. An empty one has none yet.
pub(super) fn is_broken(dir: &Path) -> io::Result<bool> {
    match std::fs::read(path(dir)) {
        Ok(bytes) => Ok(!bytes.is_empty() && bytes.as_slice().try_into().ok().and_then(decode).is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The number of a value in the tree; zero for a store from before there were numbers.
pub(super) fn number(value: Option<&IVec>) -> u64 {
    value.and_then(|value| value.as_ref().try_into().ok()).map_or(0, u64::from_be_bytes)
}

impl Mark {
    /// Opens the file beside a tree that is at `number`; with the number in the file, zero where there is none that is whole.
    pub(super) fn open(dir: &Path, number: u64) -> io::Result<(Self, u64)> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path(dir))?;
        let mut bytes = [0; LENGTH];
        let marked = match file.read_exact_at(&mut bytes, 0) {
            Ok(()) => decode(&bytes).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
            Err(error) => return Err(error),
        };
        Ok((Self { file, number: Cell::new(number) }, marked))
    }

    /// What the next group writes into the tree.
    pub(super) fn next(&self) -> (IVec, IVec) {
        (IVec::from(MARK_KEY), IVec::from(&self.number.get().wrapping_add(1).to_be_bytes()))
    }

    /// The group is durable.
    pub(super) fn advance(&self) {
        let number = self.number.get().wrapping_add(1);
        self.number.set(number);
        // Without it a loss would be noticed later or not at all, which is no reason to refuse what is durable.
        if let Err(error) = self.file.write_all_at(&encode(number), 0) {
            tracing::warn!(%error, "store.mark_not_written");
        }
    }
}

fn encode(number: u64) -> [u8; LENGTH] {
    let number = number.to_be_bytes();
    let mut bytes = [0; LENGTH];
    let check = blake3::hash(&number);
    for (to, from) in bytes.iter_mut().zip(number.iter().chain(check.as_bytes())) {
        *to = *from;
    }
    bytes
}

fn decode(bytes: &[u8; LENGTH]) -> Option<u64> {
    let (number, _) = bytes.split_first_chunk::<8>()?;
    let number = u64::from_be_bytes(*number);
    (encode(number) == *bytes).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_keeps_the_last_number_and_half_a_number_counts_for_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (mark, marked) = Mark::open(dir.path(), 6).unwrap();
        assert_eq!(marked, 0);
        mark.advance();
        assert_eq!(number(Some(&mark.next().1)), 8);
        assert_eq!(Mark::open(dir.path(), 7).unwrap().1, 7);
        std::fs::write(path(dir.path()), [1; LENGTH]).unwrap();
        assert_eq!(Mark::open(dir.path(), 7).unwrap().1, 0);
        std::fs::write(path(dir.path()), [1; 3]).unwrap();
        assert_eq!(Mark::open(dir.path(), 7).unwrap().1, 0);
    }
}
