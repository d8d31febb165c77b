//! Verifying a store that no server has open. Opening a store changes its files, and most of all those of a damaged one; so a copy is opened,
//! and the store stays as it is. It must not know how records are checked.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::scratch::Scratch;
use super::{Error, Place, open_store};
use crate::ops::config::Config;
use crate::store::ledger::Ledger;
use crate::store::sled;
pub use crate::store::sled::Damage;
use crate::store::verify::{Event, Report, verify};

/// What the folders of copies are called.
const NAME: &str = "antiphon-verify";
/// A copy can be stopped after so many bytes.
const STEP_BYTES: u64 = 8 << 20;
/// Free space besides that of the copy, in bytes: opening it writes a snapshot, which grows with the number of keys.
const BESIDE_BYTES: u64 = 16 << 20;

/// What is said while a store is verified.
#[derive(Debug)]
pub enum Told<'a> {
    /// It is copied.
    Copying {
        /// The folder of the copy.
        to: &'a Path,
        /// Its size.
        bytes: u64,
    },
    /// A file is not as it was written.
    Damage(Damage),
    /// What the records say.
    Records(Event<'a>),
}

/// Looks at every record of a store that no server has open, in a copy that is removed again, and tells what it finds. The copy is made in
/// `under`, else beside the store, else in the last of `elsewhere` that can be written.
///
/// # Errors
/// When a server has the store, it cannot be copied, or the copy cannot be opened or read. Damage is a finding, not an error.
pub async fn verify_offline(
    config: Config,
    dir: &Path,
    under: Option<&Path>,
    elsewhere: &Path,
    tell: &mut (dyn FnMut(Told<'_>) + Send),
) -> Result<Report, Error> {
    let dir = fs::canonicalize(dir).map_err(|error| unreadable(dir, &error))?;
    let held = sled::hold(&dir)?;
    let files = files(&dir)?;
    let bytes = files.iter().map(|file| file.bytes).sum();
    let scratch = scratch(&dir, under, elsewhere)?;
    require_room(scratch.dir(), bytes)?;
    tell(Told::Copying { to: scratch.dir(), bytes });
    let copy = scratch.dir().join("store");
    let stop = StopOnDrop::default();
    let work = Copying { files, from: dir.clone(), to: copy.clone(), stop: Arc::clone(&stop.0) };
    let damages = tokio::task::spawn_blocking(move || {
        work.run()?;
        // Whoever waits for the store may have it.
        drop(held);
        sled::scan(&work.to).map_err(|error| unreadable(&work.to, &error))
    })
    .await??;
    let mut damaged = 0;
    for damage in damages {
        damaged += 1;
        tell(Told::Damage(damage));
    }
    let place = Place::Kept(copy.clone());
    let opened = tokio::task::spawn_blocking(move || open_store(&config, &place, false)).await?;
    let named = |error| of_the_original(error, &copy, &dir);
    let ledger = Ledger::new(Arc::new(opened.map_err(named)?));
    let report = verify(&ledger, &mut |event| tell(Told::Records(event))).await;
    let closed = ledger.store().close().await;
    let mut report = report.map_err(named)?;
    closed?;
    report.findings += damaged;
    Ok(report)
}

/// A file of a store.
struct Piece {
    /// From the folder of the store on.
    name: PathBuf,
    bytes: u64,
}

/// All files of the store in `dir`.
fn files(dir: &Path) -> Result<Vec<Piece>, Error> {
    let mut found = Vec::new();
    let mut names: Vec<PathBuf> = sled::FILES.iter().map(PathBuf::from).collect();
    while let Some(name) = names.pop() {
        let path = dir.join(&name);
        let told = |error: io::Error| unreadable(&path, &error);
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                for entry in fs::read_dir(&path).map_err(told)? {
                    names.push(name.join(entry.map_err(told)?.file_name()));
                }
            }
            Ok(metadata) => found.push(Piece { name, bytes: metadata.len() }),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(told(error)),
        }
    }
    Ok(found)
}

/// A folder for the copy.
fn scratch(dir: &Path, under: Option<&Path>, elsewhere: &Path) -> Result<Scratch, Error> {
    let beside = dir.parent().unwrap_or(dir);
    let made = match under {
        Some(under) => Scratch::make(under, NAME).map_err(|error| (under, error)),
        None => {
            Scratch::make(beside, NAME).or_else(|_| Scratch::make(elsewhere, NAME)).map_err(|error| (elsewhere, error))
        }
    };
    made.map_err(|(folder, error)| {
        Error::Copy(format!("a copy of the store cannot be made in {}: {error}", folder.display()))
    })
}

/// How much is free on the disk of a folder, in bytes.
///
/// # Errors
/// When the folder is not there or cannot be opened.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    File::open(folder).and_then(|folder| sled::free_bytes(&folder))
}

fn require_room(folder: &Path, bytes: u64) -> Result<(), Error> {
    let needed = bytes.saturating_add(bytes / 8).saturating_add(BESIDE_BYTES);
    // A file system that does not tell fails when it is full.
    let free = free_bytes(folder).unwrap_or(u64::MAX);
    if free >= needed {
        return Ok(());
    }
    let place = folder.parent().unwrap_or(folder).display();
    Err(Error::Copy(format!(
        "a copy of the store needs {} free, and {place} has {}",
        mebibytes(needed),
        mebibytes(free)
    )))
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

/// Copying, which can be told to stop.
struct Copying {
    files: Vec<Piece>,
    from: PathBuf,
    to: PathBuf,
    stop: Arc<AtomicBool>,
}

impl Copying {
    fn run(&self) -> Result<(), Error> {
        fs::create_dir(&self.to).map_err(|error| failed(&self.to, &error))?;
        for file in &self.files {
            let (from, to) = (self.from.join(&file.name), self.to.join(&file.name));
            if let Some(folder) = to.parent().filter(|folder| **folder != *self.to) {
                fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
            }
            self.copy(&from, &to).map_err(|error| failed(&to, &error))?;
        }
        Ok(())
    }

    fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut from = File::open(from)?;
        let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
        while !self.stop.load(Ordering::Relaxed) {
            if io::copy(&mut Read::by_ref(&mut from).take(STEP_BYTES), &mut to)? == 0 {
                return Ok(());
            }
        }
        Err(ErrorKind::Interrupted.into())
    }
}

/// Tells a thread to stop when nobody waits for it any more.
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::Copy(format!("{} cannot be read: {error}", path.display()))
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::Copy(format!("the store cannot be copied to {}: {error}", path.display()))
}

/// Messages about the copy are about the store that people know.
fn of_the_original(error: crate::store::Error, copy: &Path, dir: &Path) -> Error {
    use crate::store::Error as Store;
    let (copy, dir) = (copy.display().to_string(), dir.display().to_string());
    let told = |text: String| text.replace(&copy, &dir);
    Error::Store(match error {
        Store::Corrupt(text) => Store::Corrupt(told(text)),
        Store::Unavailable(text) => Store::Unavailable(told(text)),
        Store::ReadOnly(text) => Store::ReadOnly(told(text)),
        Store::Closed => Store::Closed,
    })
}
