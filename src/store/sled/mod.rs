//! The embedded store: the engine `sled` 0.34.7 behind the guards that its acknowledged writes need, each with its
//! reason in the file that holds it. It must not know records, other stores, or what is kept here.
//!
//! ```text
//!  callers --Prepared--> committer (one thread) --batch, flush--> engine --fdatasync--> disk
//!     ^                      |  hides a group's keys until it is durable
//!     +------ view <---------+
//! ```
//!
//! `open` makes and checks the files and `files` watches them, `committer` writes, `view` reads, `snapshot` as of a moment, `keys` lays entries
//! out, `disk` makes a sync a sync, `joint` one of two, `fault` turns what the engine says into words; `still` and `scan`
//! look at a store that nobody has open. One database a process: the engine's locks are process-wide, so a second one would slow both. Unix only;
//! durable on Linux with the GNU C
//! library, and where the engine's own sync is a real one.

mod committer;
mod disk;
mod fault;
mod files;
mod joint;
mod keys;
mod mark;
mod migrate;
mod open;
mod opening;
mod scan;
mod snapshot;
mod still;
mod view;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot, watch};

use self::committer::{Committer, Job, Order, Prepared};
pub use self::disk::free_bytes;
use self::fault::Fault;
use self::files::Files;
pub use self::open::FORMAT;
use self::open::{Hold, Opened};
pub use self::opening::Opening;
pub use self::scan::{Damage, scan};
use self::snapshot::Snapshot;
pub use self::still::{FILES, hold};
use self::view::{Scan, Short, View};
use super::{Commit, Error, Health, Key, Namespace, Range, Stats, Store, Write};

/// Values up to this length are read on the calling thread: they are a few lookups in memory, and at worst as
/// many reads from the disk. Longer ones would hold up the other tasks of that thread.
const INLINE_BYTES: usize = 64 * 1024;

/// How long a flush may take before health tells of it.
const STALLED_AFTER: Duration = Duration::from_secs(30);

/// Where a store lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A directory that is kept; created when missing.
    Directory(PathBuf),
    /// A new directory inside `under`, removed with the store. Nothing in it survives the process.
    Temporary {
        /// An existing directory, such as the system's for temporary files.
        under: PathBuf,
    },
}

/// Settings of the embedded store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where the files are.
    pub place: Place,
    /// What the engine's page cache aims at, in bytes. The process takes more: about 45 MiB a million keys for its
    /// page table, and up to twice the cache under heavy writing. 256 MiB.
    pub cache_bytes: u64,
    /// Writes that may wait; further callers wait to be let in. 1,024.
    pub queue_writes: usize,
    /// Most writes made durable by one flush. 512.
    pub group_writes: usize,
    /// A group takes no further write once it has so many bytes. 8 MiB.
    pub group_bytes: usize,
    /// Writes are refused, and the store stays whole, while less than this is free on the disk: opening again needs
    /// room for a snapshot, which grows with the number of keys. 64 MiB; zero for a temporary store.
    pub min_free_bytes: u64,
    /// A database of an older format is brought to this one's, after which an older server cannot open it any more. Not.
    pub migrate: bool,
}

impl Config {
    /// The defaults for a directory that is kept.
    pub fn directory(dir: impl Into<PathBuf>) -> Self {
        Self::with(Place::Directory(dir.into()))
    }

    /// The defaults for a store that is gone with its process.
    pub fn temporary(under: impl Into<PathBuf>) -> Self {
        Self { min_free_bytes: 0, ..Self::with(Place::Temporary { under: under.into() }) }
    }

    fn with(place: Place) -> Self {
        Self {
            place,
            cache_bytes: 256 << 20,
            queue_writes: 1024,
            group_writes: 512,
            group_bytes: 8 << 20,
            min_free_bytes: 64 << 20,
            migrate: false,
        }
    }
}

/// The embedded store.
///
/// Besides what [`Store`] promises: reads show only durable values, a value is never seen half replaced, and a
/// scan of more than 64 entries or 256 KiB is not a snapshot (it may show writes acknowledged while it ran). A
/// commit whose future is dropped is carried out all the same once it was queued.
pub struct Sled {
    // Dropped in this order: the channel ends, then its thread is awaited.
    orders: mpsc::Sender<Order>,
    ended: watch::Receiver<bool>,
    shared: Arc<Shared>,
    _thread: Joined,
}

impl Sled {
    /// Opens a store, creating it if there is none. Blocks for as long as recovery takes (about 1 s for each GiB
    /// written since the last opening), so a server calls it off its async threads.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the directory is in use, cannot be written, or holds a newer format, and
    /// [`Error::Corrupt`] when its content is damaged; each names the directory and what to do.
    pub fn open(config: &Config) -> Result<Self, Error> {
        let since = Instant::now();
        let Opened { db, files, mark, hold } = open::open(config)?;
        let dir = files.dir().to_path_buf();
        let shared = Arc::new(Shared {
            view: View::new(db.clone()),
            files,
            failed: OnceLock::new(),
            min_free_bytes: config.min_free_bytes,
            refused_bytes: AtomicUsize::new(0),
            commits: AtomicU64::new(0),
            groups: AtomicU64::new(0),
            written_bytes: AtomicU64::new(0),
            since,
            flush_began: AtomicU64::new(0),
        });
        let (orders, queue) = mpsc::channel(config.queue_writes.max(1));
        let (end, ended) = watch::channel(false);
        let committer = Committer {
            db,
            shared: Arc::clone(&shared),
            orders: queue,
            group_writes: config.group_writes.max(1),
            group_bytes: config.group_bytes.max(1),
            mark,
        };
        let thread = std::thread::Builder::new().name("store-commit".into());
        let thread = thread.spawn(move || work(committer, hold, &end));
        let thread = thread.map_err(|error| Error::Unavailable(format!("no thread for the store: {error}")))?;
        tracing::info!(dir = %dir.display(), took = ?since.elapsed(), "store.opened");
        Ok(Self { orders, ended, shared, _thread: Joined(Some(thread)) })
    }

    /// Runs a read that may take long where it may block.
    async fn off_thread<T: Send + 'static>(
        &self,
        read: impl FnOnce(&View) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Error> {
        off_thread(&self.shared, read).await
    }
}

/// Runs a read that may take long where it may block.
async fn off_thread<T: Send + 'static>(
    shared: &Arc<Shared>,
    read: impl FnOnce(&View) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Error> {
    let shared = Arc::clone(shared);
    // It ends early only when the runtime does.
    tokio::task::spawn_blocking(move || shared.read(read)).await.map_err(|_| Error::Closed)?
}

impl Store for Sled {
    fn get<'a>(&'a self, ns: &'a Namespace, key: &'a [u8]) -> BoxFuture<'a, Result<Option<Bytes>, Error>> {
        Box::pin(async move {
            let key = keys::full(ns, key)?;
            match self.shared.read(|view| view.get_short(&key, INLINE_BYTES))? {
                Short::Done(value) => Ok(value),
                Short::TooLong => self.off_thread(move |view| view.get(&key)).await,
            }
        })
    }

    fn scan<'a>(&'a self, ns: &'a Namespace, range: Range) -> BoxFuture<'a, Result<Vec<(Key, Bytes)>, Error>> {
        Box::pin(async move {
            let prefix = keys::prefix(ns)?;
            let mut scan = Scan::new(keys::bounds(ns, &range)?, range.limit, range.reverse, prefix.len());
            // Most scans are a page of small records and end with the first slice.
            if !scan.is_done() {
                self.shared.read(|view| view.slice(&mut scan))?;
            }
            if scan.is_done() {
                return Ok(scan.found);
            }
            self.off_thread(move |view| {
                while !scan.is_done() {
                    view.slice(&mut scan)?;
                }
                Ok(scan.found)
            })
            .await
        })
    }

    fn commit<'a>(&'a self, ns: &'a Namespace, write: Write) -> BoxFuture<'a, Result<Commit, Error>> {
        Box::pin(async move {
            if let Some(reason) = self.shared.failure() {
                return Err(Error::ReadOnly(reason));
            }
            let write = Prepared::new(ns, write)?;
            let (answer, answered) = oneshot::channel();
            self.orders.send(Order::Commit(Job { write, answer })).await.map_err(|_| Error::Closed)?;
            answered.await.map_err(|_| Error::Closed)?
        })
    }

    fn health(&self) -> Health {
        self.shared.health()
    }

    fn stats(&self) -> Stats {
        Stats {
            disk_bytes: self.shared.files.size(),
            commits: self.shared.commits.load(Ordering::Relaxed),
            groups: self.shared.groups.load(Ordering::Relaxed),
            written_bytes: self.shared.written_bytes.load(Ordering::Relaxed),
        }
    }

    fn namespaces(&self) -> BoxFuture<'_, Result<Vec<Namespace>, Error>> {
        Box::pin(self.off_thread(View::namespaces))
    }

    fn snapshot(&self) -> BoxFuture<'_, Result<Arc<dyn Store>, Error>> {
        Box::pin(async {
            let snapshot: Arc<dyn Store> = Arc::new(Snapshot::of(&self.shared));
            Ok(snapshot)
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            // It fails when the store is closed already, or about to be; then only the end is awaited.
            self.orders.send(Order::Close).await.ok();
            let mut ended = self.ended.clone();
            ended.wait_for(|ended| *ended).await.map_err(|_| Error::Closed)?;
            self.shared.failure().map_or(Ok(()), |reason| Err(Error::ReadOnly(reason)))
        })
    }
}

/// The committer's thread from its first order to the last file.
fn work(mut committer: Committer, hold: Hold, end: &watch::Sender<bool>) {
    let shared = Arc::clone(&committer.shared);
    // A fault of its own must not leave callers without an answer: it goes on, and refuses.
    while let Err(fault) = fault::guarded(|| {
        committer.run();
        Ok(())
    }) {
        let reason = shared.fail(format!("the thread that writes stopped: {}", fault.cause()));
        tracing::error!(reason, "store.read_only");
    }
    drop(committer);
    let closed = fault::guarded(|| {
        // The last handle: the engine flushes, and ends its own thread.
        drop(shared.view.close());
        Ok(())
    });
    if let Err(fault) = closed {
        let reason = shared.fail(fault.cause());
        tracing::error!(reason, "store.close_failed");
    }
    drop(hold);
    end.send_replace(true);
}

/// A thread that is awaited when its owner goes.
struct Joined(Option<JoinHandle<()>>);

impl Drop for Joined {
    fn drop(&mut self) {
        if self.0.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("store.committer_panicked");
        }
    }
}

/// What the handle and the committer share.
struct Shared {
    view: View,
    files: Files,
    /// Why a write could not be made durable.
    failed: OnceLock<String>,
    min_free_bytes: u64,
    /// Bytes of the group that there was no room for last; zero when there was.
    refused_bytes: AtomicUsize,
    commits: AtomicU64,
    groups: AtomicU64,
    written_bytes: AtomicU64,
    since: Instant,
    /// When the flush in progress began, in milliseconds since the opening, plus one; zero when there is none.
    flush_began: AtomicU64,
}

impl Shared {
    fn read<T>(&self, read: impl FnOnce(&View) -> Result<T, Fault>) -> Result<T, Error> {
        read(&self.view).map_err(|fault| {
            if !matches!(fault, Fault::Closed) {
                tracing::error!(cause = fault.cause(), "store.read_failed");
            }
            fault.into_error(self.files.dir())
        })
    }

    fn failure(&self) -> Option<String> {
        self.failed.get().cloned()
    }

    /// No write is taken from here on. The first reason stays.
    fn fail(&self, reason: String) -> String {
        self.failed.get_or_init(|| reason).clone()
    }

    /// Whether a group of so many bytes may be begun. If not, nothing is broken: the next one is tried anew.
    fn make_room(&self, bytes: usize) -> Result<(), String> {
        let room = self.room_for(bytes);
        self.refused_bytes.store(if room.is_ok() { 0 } else { bytes }, Ordering::Relaxed);
        room
    }

    fn room_for(&self, bytes: usize) -> Result<(), String> {
        let dir = self.files.dir().display();
        self.files.allocate(bytes as u64).map_err(|error| {
            format!("the disk of {dir} cannot take more: {error}; writes are taken again when it can")
        })?;
        match self.files.free_bytes() {
            Some(free) if free < self.min_free_bytes => Err(format!(
                "{free} bytes are free on the disk of {dir}, and {} are kept in reserve; writes are taken again when \
                 there is more",
                self.min_free_bytes
            )),
            _ => Ok(()),
        }
    }

    fn started(&self) {
        self.flush_began.store(self.elapsed_ms() + 1, Ordering::Relaxed);
    }

    fn finished(&self) {
        self.flush_began.store(0, Ordering::Relaxed);
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX - 1)
    }

    fn health(&self) -> Health {
        if let Some(reason) = self.failure() {
            return Health::ReadOnly(reason);
        }
        if let Err(reason) = self.room_for(self.refused_bytes.load(Ordering::Relaxed)) {
            return Health::ReadOnly(reason);
        }
        let began = self.flush_began.load(Ordering::Relaxed);
        let flushing = Duration::from_millis(self.elapsed_ms().saturating_sub(began.saturating_sub(1)));
        if began > 0 && flushing > STALLED_AFTER {
            return Health::ReadOnly(format!("the disk has not answered for {} s", flushing.as_secs()));
        }
        Health::Writable
    }
}
