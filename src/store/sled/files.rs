//! The files of an open store as its writes need them: room ahead, and whether what was written is really there.
//! It must not know how they came to be, or what is in them.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::disk;

/// What the engine writes for a byte that comes in: the entry, its page anew every ten changes, and splits.
const WRITTEN_PER_BYTE: u64 = 4;

/// Kept allocated behind the end of the log for what the engine writes unasked: 16 of its segments.
const AHEAD_BYTES: u64 = 8 << 20;

/// Blocks are asked for in steps of so many bytes.
const STEP_BYTES: u64 = 8 << 20;

/// The files as they are watched while the store is open.
pub(super) struct Files {
    /// The directory that people know.
    dir: PathBuf,
    /// The engine's own inside it.
    home: PathBuf,
    /// The engine's log, to ask the disk about.
    data: File,
    /// The log's blocks that are ours already; none for a store that may lose its last writes.
    ahead: Option<Mutex<Ahead>>,
}

/// How far a file's blocks are allocated.
#[derive(Default)]
struct Ahead {
    /// The file's length when that was true; blocks behind the end are gone once it was cut shorter.
    length: u64,
    until: u64,
}

impl Files {
    pub(super) fn new(dir: PathBuf, home: PathBuf, durable: bool) -> io::Result<Self> {
        // Opened for writing, which allocating needs; it is never written to.
        let data = OpenOptions::new().write(true).open(home.join("db"))?;
        Ok(Self { dir, home, data, ahead: durable.then(Mutex::default) })
    }

    /// Sees to it that so many bytes, and what the engine writes beside, fit behind the end of the log. A write
    /// that fails for lack of space leaves the engine unable to mend its tree, and some reads fail with it; so it
    /// is not begun.
    pub(super) fn allocate(&self, bytes: u64) -> io::Result<()> {
        let Some(ahead) = &self.ahead else { return Ok(()) };
        let length = self.data.metadata()?.len();
        let wanted = length.saturating_add(bytes.saturating_mul(WRITTEN_PER_BYTE)).saturating_add(AHEAD_BYTES);
        let mut ahead = ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if length >= ahead.length && wanted <= ahead.until {
            ahead.length = length;
            return Ok(());
        }
        *ahead = Ahead::default();
        // More than is needed now, so that the next writes need not ask; where that is too much, only what is.
        let mut until = wanted.saturating_add(STEP_BYTES);
        if disk::allocate(&self.data, length, until).is_err() {
            until = wanted;
            disk::allocate(&self.data, length, until)?;
        }
        *ahead = Ahead { length, until };
        Ok(())
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn size(&self) -> u64 {
        disk::size(&self.home)
    }

    /// Bytes free on the disk; none if it does not tell.
    pub(super) fn free_bytes(&self) -> Option<u64> {
        disk::free_bytes(&self.data).ok()
    }

    /// Why what was just written would be lost, although writing and syncing it seemed to work.
    pub(super) fn lost(&self) -> Option<String> {
        match disk::check_written(&self.data).and_then(|()| disk::is_unlinked(&self.data)) {
            Ok(false) => None,
            Ok(true) => Some(format!("the files in {} were deleted while the server ran", self.dir.display())),
            Err(error) => Some(format!("the files in {} could not be written: {error}", self.dir.display())),
        }
    }
}
