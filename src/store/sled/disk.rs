//! What makes the engine's writes reach the disk, and what the disk says about itself. It must not know keys,
//! values or transactions.
//!
//! The engine ends each write to its log with `sync_file_range` on Linux. That call starts and awaits the
//! write-back of pages, but it neither flushes the disk's own cache nor writes the file's length, so that
//! acknowledged writes are lost, and the database is left unreadable, when the power goes. The engine also
//! trusts it as a barrier between log segments, so a sync of our own afterwards does not mend it. Here the
//! symbol itself is defined, as `fdatasync`; it wins over the C library's in every binary this crate is linked
//! into, and a counter lets each opening prove that it did.
//!
//! With another C library on Linux the rules of linking differ, so durable stores are refused there. On other
//! systems the engine calls `File::sync_all`, which is a real sync.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};

/// What turns the engine's idea of a sync into a real one on this target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Barrier {
    /// The symbol defined below.
    Ours,
    /// The engine syncs by itself.
    Engine,
    /// Nothing: acknowledged writes would not be safe.
    Missing,
}

/// The barrier of the target this was built for.
pub(super) const BARRIER: Barrier = if cfg!(all(target_os = "linux", target_env = "gnu")) {
    Barrier::Ours
} else if cfg!(target_os = "linux") {
    Barrier::Missing
} else {
    Barrier::Engine
};

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "defines the C library's symbol that the engine calls, to make its writes durable")]
mod barrier {
    use std::io;
    use std::sync::atomic::{AtomicU64, Ordering};

    use crate::store::sled::joint;

    static HITS: AtomicU64 = AtomicU64::new(0);

    /// Keeps the symbol in every binary, whatever the linker would drop as unused.
    #[used]
    static KEEP: unsafe extern "C" fn(libc::c_int, i64, i64, libc::c_uint) -> libc::c_int = sync_file_range;

    /// Stronger than its namesake: the file's data and length are on the disk when it returns.
    ///
    /// # Safety
    /// None needed: any number may be passed as a descriptor, the kernel checks it.
    #[unsafe(no_mangle)]
    pub(super) unsafe extern "C" fn sync_file_range(
        fd: libc::c_int,
        _offset: i64,
        bytes: i64,
        _flags: libc::c_uint,
    ) -> libc::c_int {
        HITS.fetch_add(1, Ordering::Relaxed);
        let error = joint::sync(fd, bytes, || {
            // SAFETY: fdatasync touches no memory of ours.
            if unsafe { libc::fdatasync(fd) } == 0 {
                return 0;
            }
            let error = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
            super::await_settled();
            error
        });
        if error == 0 {
            return 0;
        }
        // SAFETY: the pointer is to this thread's own errno.
        unsafe { *libc::__errno_location() = error };
        -1
    }

    pub(super) fn hits() -> u64 {
        // Read through the pointer, so that this crate cannot be linked without the symbol.
        std::hint::black_box(&KEEP);
        HITS.load(Ordering::Relaxed)
    }
}

/// How often the engine's writes went through our barrier, in this process. The linker decides once for a
/// whole binary, so growth on behalf of any store proves it for all.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn barrier_hits() -> u64 {
    barrier::hits()
}

/// Always zero where there is no barrier of ours.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn barrier_hits() -> u64 {
    0
}

/// How many batches are being applied in this process.
static UNSETTLED: Mutex<usize> = Mutex::new(0);
static SETTLED: Condvar = Condvar::new();

/// A batch while it is applied. The engine stops at the first error it hears of, wherever it is, and a batch that
/// is stopped half way leaves pages that can neither be mended nor read. So a failed sync is not told before.
pub(super) struct Settling(());

impl Settling {
    pub(super) fn begin() -> Self {
        *UNSETTLED.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Self(())
    }
}

impl Drop for Settling {
    fn drop(&mut self) {
        *UNSETTLED.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        SETTLED.notify_all();
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn await_settled() {
    /// The batch itself may be waiting for the page that failed.
    const SETTLED_WITHIN: std::time::Duration = std::time::Duration::from_secs(2);
    let unsettled = UNSETTLED.lock().unwrap_or_else(PoisonError::into_inner);
    // Whether it ended or took too long, the error is told now.
    drop(SETTLED.wait_timeout_while(unsettled, SETTLED_WITHIN, |count| *count > 0));
}

/// Bytes that this process may still write to the file system of an open file, or folder.
///
/// # Errors
/// When the system does not tell.
#[expect(unsafe_code, reason = "the standard library does not tell the free space of a disk")]
pub fn free_bytes(file: &File) -> io::Result<u64> {
    let mut answer = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the descriptor is open as long as `file` lives, and the answer is read only if the call filled it.
    let answer = unsafe {
        if libc::fstatvfs(file.as_raw_fd(), answer.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        answer.assume_init()
    };
    #[allow(clippy::unnecessary_cast, reason = "the width of these fields differs between systems")]
    Ok((answer.f_bavail as u64).saturating_mul(answer.f_frsize as u64))
}

/// Gives a file the blocks for its bytes from `from` to `to`, without changing its length, so that writing them
/// cannot run out of space. False where the file system, or this system, has no such call.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the standard library cannot allocate the blocks of a file ahead")]
pub(super) fn allocate(file: &File, from: u64, to: u64) -> io::Result<bool> {
    let (Ok(from), Ok(bytes)) = (i64::try_from(from), i64::try_from(to.saturating_sub(from))) else { return Ok(false) };
    // SAFETY: the descriptor is open as long as `file` lives, and no memory is passed.
    if bytes == 0 || unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, from, bytes) } == 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG)) => Err(error),
        _ => Ok(false),
    }
}

/// There is no such call.
#[cfg(not(target_os = "linux"))]
pub(super) fn allocate(_file: &File, _from: u64, _to: u64) -> io::Result<bool> {
    Ok(false)
}

/// Tells whether the kernel failed to write any part of the file since this handle was asked last. It tells each
/// handle once, and the engine's own is also synced by a background thread that does not stop for an error: the
/// sync that counts could be told that all is well.
#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "the plain system call, past the symbol defined above, which would flush the disk again"
)]
pub(super) fn check_written(file: &File) -> io::Result<()> {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: the descriptor is open as long as `file` lives, and no memory is passed.
    if unsafe { libc::syscall(libc::SYS_sync_file_range, file.as_raw_fd(), 0i64, 0i64, flags) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if matches!(error.raw_os_error(), Some(libc::EIO | libc::ENOSPC | libc::EDQUOT)) => Err(error),
        // Not every file system knows the call; its syncs are trusted then.
        _ => Ok(()),
    }
}

/// There is no such call.
#[cfg(not(target_os = "linux"))]
pub(super) fn check_written(_file: &File) -> io::Result<()> {
    Ok(())
}

/// Whether a file that is open here was deleted from its directory: writes to it still work, and are lost when
/// it is closed.
pub(super) fn is_unlinked(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() == 0)
}

/// Makes a file's content, or a directory's list of names, durable.
pub(super) fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Makes the plain files in a directory, its folders and the directory itself durable.
pub(super) fn sync_all(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        sync(&entry?.path())?;
    }
    sync(dir)
}

/// Bytes of the plain files in a directory.
pub(super) fn size(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    entries.filter_map(|entry| entry.ok()?.metadata().ok()).filter(fs::Metadata::is_file).map(|file| file.len()).sum()
}
