//! Folders that go with their process: removed when they are dropped, and at the next chance when their process was killed. It must not know
//! what is put into them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file inside that its process holds locked; the kernel lets go of it however the process ends.
const LOCK: &str = "lock";
/// What stands for it in a folder of a version that had none: the store's own file.
const OLD_LOCK: &str = "db";
/// So many folders of one process are enough.
const MOST: u32 = 10_000;
/// How often a folder is emptied in which somebody still makes files.
const TRIES: u32 = 100;

/// A folder of this process.
pub(super) struct Scratch {
    dir: PathBuf,
    /// Released after the folder is gone.
    _lock: File,
}

impl Scratch {
    /// Makes `<under>/<name>-<process>-<number>`, for its owner's eyes only, and removes those that killed processes left there.
    ///
    /// # Errors
    /// When nothing can be made there.
    pub(super) fn make(under: &Path, name: &str) -> io::Result<Self> {
        let process = std::process::id();
        for number in 0..MOST {
            // Nobody must find it before it is locked.
            let making = under.join(format!(".{name}-{process}-{number}.new"));
            let dir = under.join(format!("{name}-{process}-{number}"));
            if dir.exists() {
                continue;
            }
            match DirBuilder::new().mode(0o700).create(&making) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            let made =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(making.join(LOCK)).and_then(|lock| {
                    lock.try_lock()?;
                    fs::rename(&making, &dir)?;
                    Ok(lock)
                });
            match made {
                Ok(lock) => {
                    sweep(under, name, &dir);
                    return Ok(Self { dir, _lock: lock });
                }
                Err(error) => {
                    fs::remove_dir_all(&making)?;
                    // Another thread or process of this number took the name meanwhile.
                    if !matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists) {
                        return Err(error);
                    }
                }
            }
        }
        Err(io::Error::new(ErrorKind::AlreadyExists, format!("there are {MOST} folders of this process already")))
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut removed = fs::remove_dir_all(&self.dir);
        for _ in 0..TRIES {
            match &removed {
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {
                    std::thread::yield_now();
                    removed = fs::remove_dir_all(&self.dir);
                }
                _ => break,
            }
        }
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::warn!(%error, dir = %self.dir.display(), "scratch.left_behind");
            }
            _ => {}
        }
    }
}

/// Removes what killed processes of the same user left. `own` tells who that is.
fn sweep(under: &Path, name: &str, own: &Path) {
    let (Ok(entries), Ok(ours)) = (fs::read_dir(under), fs::symlink_metadata(own)) else { return };
    for entry in entries.filter_map(Result::ok) {
        let dir = entry.path();
        let is_ours = is_name(&entry.file_name().to_string_lossy(), name)
            && fs::symlink_metadata(&dir).is_ok_and(|found| found.is_dir() && found.uid() == ours.uid());
        if !is_ours || dir == own {
            continue;
        }
        let Some(lock) = [LOCK, OLD_LOCK].iter().find_map(|lock| File::open(dir.join(lock)).ok()) else { continue };
        // Whoever has it is alive, or is sweeping as well.
        if lock.try_lock().is_err() {
            continue;
        }
        match fs::remove_dir_all(&dir) {
            Ok(()) => tracing::info!(dir = %dir.display(), "scratch.stale_removed"),
            Err(error) => tracing::warn!(%error, dir = %dir.display(), "scratch.stale_not_removed"),
        }
    }
}

/// Whether a folder has a name as we give them.
fn is_name(found: &str, name: &str) -> bool {
    let numbers =
        found.strip_prefix(name).and_then(|rest| rest.strip_prefix('-')).and_then(|rest| rest.split_once('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_owner_and_those_of_the_dead_go_with_the_next() {
        let under = tempfile::tempdir().unwrap();
        let at = |name: &str| under.path().join(name);
        for dead in ["x-1-0", "x-1-1", "x-1", "x-a-0", "y-1-0", "x-2-0"] {
            fs::create_dir_all(at(dead).join("deep")).unwrap();
            fs::write(at(dead).join(LOCK), "").unwrap();
        }
        fs::rename(at("x-1-1").join(LOCK), at("x-1-1").join(OLD_LOCK)).unwrap();
        fs::remove_file(at("x-2-0").join(LOCK)).unwrap();
        std::os::unix::fs::symlink(at("y-1-0"), at("x-3-0")).unwrap();
        let first = Scratch::make(under.path(), "x").unwrap();
        let second = Scratch::make(under.path(), "x").unwrap();
        assert!(first.dir().is_dir() && second.dir().is_dir(), "a living one stays");
        let left = |name: &str| at(name).exists();
        assert_eq!(["x-1-0", "x-1-1"].map(left), [false, false], "nobody has their locks");
        assert_eq!(["x-1", "x-a-0", "y-1-0", "x-2-0", "x-3-0"].map(left), [true; 5], "not ours, or of unknown use");
        let dirs = [first.dir().to_owned(), second.dir().to_owned()];
        fs::write(dirs[0].join("file"), "x").unwrap();
        drop((first, second));
        assert!(dirs.iter().all(|dir| !dir.exists()));
        let names = fs::read_dir(under.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(names.into_iter().all(|name| !name.starts_with('.')));
    }
}
