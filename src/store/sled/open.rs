//! From a directory to an open database, or to one clear sentence about why not. It must not know what is stored.
//!
//! ```text
//! <directory>/lock       held while a server runs; the holder's process id is in it
//! <directory>/sled/      the engine's files: conf, db, blobs/ (always empty), snap.*
//! <directory>/sled.new/  a database being made; renamed to sled/ once it is whole and synced
//! ```
//!
//! The engine syncs neither a new database's settings file nor its directories, writes a snapshot under a
//! temporary name that it later refuses to open beside, and panics on much of what a damaged file can hold. All of
//! that is met here, before or around its own opening.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::ops::RangeInclusive;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ::sled::Db;

use super::disk::{self, BARRIER, Barrier};
use super::fault::{Fault, damaged, guarded};
use super::files::Files;
use super::keys::{FORMAT_KEY, OPENED_KEY};
use super::mark::{self, Mark};
use super::migrate::{self, STEPS};
use super::{Config, Place, scan};
use crate::store::Error;

/// Version of everything this store lays down: key layout, chunks, directory.
pub const FORMAT: u32 = 1;

/// The file in the directory that its holder locks.
pub(super) const LOCK: &str = "lock";

/// How long files may still be held by engine threads of a store that this process closed just before.
const RELEASE_WITHIN: Duration = Duration::from_secs(1);

/// An open database.
pub(super) struct Opened {
    pub(super) db: Db,
    pub(super) files: Files,
    pub(super) mark: Option<Mark>,
    pub(super) hold: Hold,
}

/// What keeps others out of the directory; dropped last.
pub(super) struct Hold {
    /// Removes a temporary directory when it is dropped, which must not happen while the database is open.
    engine: Option<::sled::Config>,
    temporary: Option<PathBuf>,
    home: PathBuf,
    lock: Option<File>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        // The engine's threads let go of the file a moment after its database is dropped.
        let data = self.home.join("db");
        if let Err(error) = await_release(&data).and_then(|()| trim(&data)) {
            tracing::warn!(%error, "store.release_late");
        }
        drop(self.engine.take());
        if let Some(dir) = &self.temporary
            && let Err(error) = fs::remove_dir_all(dir)
            && error.kind() != ErrorKind::NotFound
        {
            tracing::warn!(%error, dir = %dir.display(), "store.temporary_left_behind");
        }
        // Told, and not only closed: a process that another thread is about to start may have a copy of the file for a moment.
        if let Some(Err(error)) = self.lock.take().map(|lock| lock.unlock()) {
            tracing::warn!(%error, "store.release_late");
        }
    }
}

/// Opens or creates the database of `config`.
pub(super) fn open(config: &Config) -> Result<Opened, Error> {
    match &config.place {
        Place::Directory(dir) => open_durable(dir, config.cache_bytes, config.migrate),
        Place::Temporary { under } => open_temporary(under, config.cache_bytes),
    }
}

fn open_durable(dir: &Path, cache_bytes: u64, migrates: bool) -> Result<Opened, Error> {
    if BARRIER == Barrier::Missing {
        return Err(Error::Unavailable(
            "this build cannot keep data safe: on Linux the store needs the GNU C library (targets ending in -gnu); \
             with this build only a temporary store can be opened"
                .into(),
        ));
    }
    make_dir(dir)?;
    let dir = fs::canonicalize(dir).map_err(|error| unreachable_dir(dir, &error))?;
    let lock = lock(&dir)?;
    let home = dir.join("sled");
    if !home.exists() {
        create(&dir, &home, cache_bytes)?;
    }
    check_files(&dir, &home).map_err(|error| unreachable_dir(&dir, &error))??;
    let engine = settings(&home, cache_bytes);
    let hold = Hold { engine: Some(engine.clone()), temporary: None, home: home.clone(), lock: Some(lock) };
    let opened = open_engine(&engine, &home).and_then(|db| {
        let found = check_format(&db, &migrate::known(FORMAT, STEPS), migrates)?;
        prove_barrier(&db, disk::barrier_hits)?;
        migrate::migrate(&db, found, FORMAT, STEPS)?;
        Ok(db)
    });
    let db = opened.map_err(|refusal| refusal.explain(&dir))?;
    let mark = marked(&db, &dir)?;
    // The snapshot that opening wrote took its name by renaming.
    disk::sync_all(&home).map_err(|error| unreachable_dir(&dir, &error))?;
    let files = Files::new(dir.clone(), home, true).map_err(|error| unreachable_dir(&dir, &error))?;
    Ok(Opened { db, files, mark: Some(mark), hold })
}

/// A database that is gone with its store. Nothing is synced but in the background.
fn open_temporary(under: &Path, cache_bytes: u64) -> Result<Opened, Error> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let home = loop {
        let name = format!("antiphon-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let home = under.join(name);
        match DirBuilder::new().mode(0o700).create(&home) {
            Ok(()) => break home,
            // Left behind by an earlier process with this number.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(unreachable_dir(under, &error)),
        }
    };
    let engine = settings(&home, cache_bytes).temporary(true);
    let hold = Hold { engine: Some(engine.clone()), temporary: Some(home.clone()), home: home.clone(), lock: None };
    let db = open_engine(&engine, &home).map_err(|refusal| refusal.explain(&home))?;
    let files = Files::new(home.clone(), home.clone(), false).map_err(|error| unreachable_dir(&home, &error))?;
    Ok(Opened { db, files, mark: None, hold })
}

/// The number that the store is at, which must not be behind the one that was acknowledged.
fn marked(db: &Db, dir: &Path) -> Result<Mark, Error> {
    let number = guarded(|| Ok(db.get(mark::MARK_KEY)?)).map_err(|fault| fault.into_error(dir))?;
    let number = mark::number(number.as_ref());
    let (mark, acknowledged) = Mark::open(dir, number).map_err(|error| unreachable_dir(dir, &error))?;
    match acknowledged.checked_sub(number) {
        None | Some(0) => Ok(mark),
        Some(missing) => {
            let what = format!(
                "the newest {missing} of its {acknowledged} groups of writes, which were acknowledged, are not there: \
                 the log was cut or changed. To go on without them, remove {}",
                mark::path(dir).display()
            );
            Err(damaged(dir, &what))
        }
    }
}

fn settings(home: &Path, cache_bytes: u64) -> ::sled::Config {
    // Garbage collection runs on the engine's flushing thread, so that thread stays at its default pace.
    ::sled::Config::new().path(home).cache_capacity(cache_bytes).flush_every_ms(Some(500))
}

/// Why an open database is not used after all.
enum Refusal {
    Fault(Fault),
    Newer(u32),
    Older(u32),
    TooOld(u32),
    Unversioned,
    NotDurable,
}

impl<F: Into<Fault>> From<F> for Refusal {
    fn from(fault: F) -> Self {
        Self::Fault(fault.into())
    }
}

impl Refusal {
    fn explain(self, dir: &Path) -> Error {
        match self {
            Self::Fault(fault) => {
                tracing::error!(cause = fault.cause(), dir = %dir.display(), "store.open_failed");
                fault.into_error(dir)
            }
            Self::Newer(found) => Error::Unavailable(format!(
                "the store in {} has format {found}, and this server knows formats up to {FORMAT}: use the server that \
                 wrote it, or a newer one",
                dir.display()
            )),
            Self::Older(found) => Error::Unavailable(format!(
                "the store in {} has format {found}, and this server writes format {FORMAT}: take a backup with the version that wrote it \
                 (`antiphon backup --all all.jsonl` while it serves), then start this one once with `antiphon serve --migrate`, after which \
                 the version before cannot open the folder any more",
                dir.display()
            )),
            Self::TooOld(found) => Error::Unavailable(format!(
                "the store in {} has format {found}, from which this server has no way to format {FORMAT}: take a backup with the version \
                 that wrote it (`antiphon backup --all all.jsonl`) and import it into a new folder",
                dir.display()
            )),
            Self::Unversioned => damaged(dir, "it does not say which format it has"),
            Self::NotDurable => Error::Unavailable(format!(
                "the store in {} is not opened: in this binary the storage engine's writes do not pass through \
                 fdatasync, so acknowledged writes would not survive a power cut. It was linked in an unusual way: \
                 rebuild it with the default linker settings",
                dir.display()
            )),
        }
    }
}

/// Creates the directory, for its owner's eyes only, and makes the names on the way to it durable.
fn make_dir(dir: &Path) -> Result<(), Error> {
    let missing: Vec<&Path> = dir.ancestors().take_while(|dir| !dir.exists()).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| unreachable_dir(dir, &error))?;
    for parent in missing.iter().filter_map(|dir| dir.parent()) {
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        disk::sync(parent).map_err(|error| unreachable_dir(parent, &error))?;
    }
    Ok(())
}

/// Takes the directory for this process. The kernel releases it however the process ends.
fn lock(dir: &Path) -> Result<File, Error> {
    let path = dir.join(LOCK);
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
    let mut file = opened.map_err(|error| unreachable_dir(dir, &error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // What it says is a help for people; without it the message is still right.
            file.read_to_string(&mut holder).ok();
            return Err(Error::Unavailable(in_use(dir, holder.trim())));
        }
        Err(TryLockError::Error(error)) => return Err(unreachable_dir(dir, &error)),
    }
    let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    written.map_err(|error| unreachable_dir(dir, &error))?;
    Ok(file)
}

pub(super) fn in_use(dir: &Path, holder: &str) -> String {
    let holder = if holder.is_empty() { "another process".into() } else { format!("process {holder}") };
    format!("the directory {} is in use by {holder}: one server at a time can have it", dir.display())
}

/// Makes a whole, synced, empty database beside the place it belongs, and moves it there in one step, so that a
/// database with that name was never half created.
fn create(dir: &Path, home: &Path, cache_bytes: u64) -> Result<(), Error> {
    let fresh = dir.join("sled.new");
    let failed = |error: io::Error| unreachable_dir(dir, &error);
    match fs::remove_dir_all(&fresh) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    DirBuilder::new().mode(0o700).create(&fresh).map_err(failed)?;
    let made = open_engine(&settings(&fresh, cache_bytes), &fresh).and_then(|db| {
        guarded(|| {
            db.insert(FORMAT_KEY, FORMAT.to_be_bytes().to_vec())?;
            db.flush()?;
            drop(db);
            Ok(())
        })?;
        Ok(())
    });
    made.map_err(|refusal| refusal.explain(dir))?;
    await_release(&fresh.join("db")).map_err(failed)?;
    // One that is left of a store whose files were taken away is not about this one.
    match fs::remove_file(mark::path(dir)) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    disk::sync_all(&fresh).map_err(failed)?;
    fs::rename(&fresh, home).map_err(failed)?;
    disk::sync(dir).map_err(failed)?;
    tracing::info!(dir = %dir.display(), format = FORMAT, "store.created");
    Ok(())
}

/// Looks at the engine's files before it does, and clears away what it trips over.
fn check_files(dir: &Path, home: &Path) -> io::Result<Result<(), Error>> {
    for entry in fs::read_dir(home)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // A crash while a snapshot was written. The one before it, and the log, are still there.
        if name.starts_with("snap.") && name.ends_with(".generating") {
            fs::remove_file(entry.path())?;
            tracing::info!(file = %name, "store.unfinished_snapshot_removed");
        }
    }
    let blobs = home.join("blobs");
    if blobs.exists() && fs::read_dir(&blobs)?.next().is_some() {
        return Ok(Err(damaged(dir, "there are files in sled/blobs, where this server never writes any")));
    }
    let conf = home.join("conf");
    if conf.exists() && !is_whole_conf(&fs::read(&conf)?) {
        return Ok(Err(Error::Corrupt(format!(
            "the store in {} cannot be opened: its settings file {} is damaged, as after a failing disk. It only \
             repeats what is the same in every store of this server: move it away, start again, and let `antiphon \
             verify` look at the rest. If that finds more, put back a copy of the directory that was made while the \
             server was stopped",
            dir.display(),
            conf.display()
        ))));
    }
    scan::try_reading(home)?;
    Ok(Ok(()))
}

/// Whether the engine can read this settings file. A missing or very short one it writes anew.
fn is_whole_conf(conf: &[u8]) -> bool {
    let Some((text, _checksum)) = conf.split_last_chunk::<4>().filter(|_| conf.len() > 8) else { return true };
    let Ok(text) = std::str::from_utf8(text) else { return false };
    ["segment_size: ", "use_compression: ", "version: "].iter().all(|name| text.lines().any(|l| l.starts_with(name)))
}

/// Opens the engine on a thread of its own: recovery nests deeply, and may panic.
fn open_engine(engine: &::sled::Config, home: &Path) -> Result<Db, Refusal> {
    await_release(&home.join("db")).map_err(::sled::Error::Io)?;
    let engine = engine.clone();
    let thread = std::thread::Builder::new().name("store-open".into());
    let thread = thread.spawn(move || guarded(|| Ok(engine.open()?))).map_err(::sled::Error::Io)?;
    let opened = thread.join().unwrap_or_else(|_| Err(Fault::Panicked("the opening thread ended".into())))?;
    Ok(opened)
}

/// Waits until nobody has the engine's own lock. Whoever calls this holds ours, so it can only be a thread of a
/// store that this process closed a moment ago, or a foreign program, which is not waited for.
fn await_release(data: &Path) -> io::Result<()> {
    let file = match File::open(data) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    let since = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if since.elapsed() > RELEASE_WITHIN => {
                return Err(io::Error::new(ErrorKind::ResourceBusy, "another program has the database open"));
            }
            // There is no event for it, and no lock call with a deadline.
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Gives back the blocks behind the end of a file that nobody writes any more.
fn trim(data: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).open(data) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(file) => file.set_len(file.metadata()?.len()),
    }
}

/// The format of a database, which must be the newest, or one that there is a way from where it may be brought to the newest.
fn check_format(db: &Db, known: &RangeInclusive<u32>, migrates: bool) -> Result<u32, Refusal> {
    let record = guarded(|| Ok(db.get(FORMAT_KEY)?))?;
    let version = record.as_deref().and_then(|record| record.try_into().ok()).map(u32::from_be_bytes);
    match version {
        None | Some(0) => Err(Refusal::Unversioned),
        Some(version) if version > *known.end() => Err(Refusal::Newer(version)),
        Some(version) if version < *known.start() => Err(Refusal::TooOld(version)),
        Some(version) if version < *known.end() && !migrates => Err(Refusal::Older(version)),
        Some(version) => Ok(version),
    }
}

/// Writes and flushes, and refuses unless that went through our own barrier.
fn prove_barrier(db: &Db, hits: impl Fn() -> u64) -> Result<(), Refusal> {
    let before = hits();
    guarded(|| {
        let times =
            db.get(OPENED_KEY)?.as_deref().and_then(|times| times.try_into().ok()).map_or(0, u64::from_be_bytes);
        db.insert(OPENED_KEY, times.wrapping_add(1).to_be_bytes().to_vec())?;
        db.flush()?;
        Ok(())
    })?;
    if BARRIER == Barrier::Ours && hits() == before {
        return Err(Refusal::NotDurable);
    }
    Ok(())
}

pub(super) fn unreachable_dir(dir: &Path, error: &io::Error) -> Error {
    Error::Unavailable(format!("the directory {} cannot be used for the store: {error}", dir.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_without_the_barrier_does_not_open_a_store() {
        let dir = tempfile::tempdir().unwrap();
        let db = settings(&dir.path().join("db"), 1 << 20).open().unwrap();
        assert!(prove_barrier(&db, disk::barrier_hits).is_ok(), "this one has it");
        let refusal = prove_barrier(&db, || 7).unwrap_err();
        let error = refusal.explain(Path::new("/data/x")).to_string();
        assert!(error.contains("/data/x is not opened") && error.contains("power cut"), "{error}");
    }

    #[test]
    fn an_older_format_is_taken_only_where_that_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let db = settings(&dir.path().join("db"), 1 << 20).open().unwrap();
        let check = |format: u32, migrates| {
            db.insert(FORMAT_KEY, format.to_be_bytes().to_vec()).unwrap();
            check_format(&db, &(2..=3), migrates).map_err(|refusal| refusal.explain(Path::new("/data/x")).to_string())
        };
        assert_eq!((check(3, false), check(3, true), check(2, true)), (Ok(3), Ok(3), Ok(2)));
        let older = check(2, false).unwrap_err();
        assert!(
            ["format 2", "writes format 1", "antiphon backup", "--migrate"].iter().all(|said| older.contains(said)),
            "{older}"
        );
        for migrates in [false, true] {
            assert!(check(1, migrates).unwrap_err().contains("import it into a new folder"));
            assert!(check(4, migrates).unwrap_err().contains("has format 4"));
            assert!(check(0, migrates).unwrap_err().contains("does not say which format"));
        }
    }

    #[test]
    fn settings_files_are_told_apart() {
        let whole = b"segment_size: 524288\nuse_compression: false\nversion: 0.34\n\x01\x02\x03\x04";
        assert!(is_whole_conf(whole));
        assert!(is_whole_conf(b""), "the engine writes it anew");
        assert!(!is_whole_conf(&[0; 62]));
        assert!(!is_whole_conf(&whole[..30]));
        assert!(!is_whole_conf(&[0xff; 62]));
    }
}
