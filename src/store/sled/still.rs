//! A store that nobody has open: which files it is made of, and keeping servers away while they are read. It must not change any of them.

use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read};
use std::path::Path;

use super::open::{LOCK, in_use, unreachable_dir};
use crate::store::Error;

/// What has to be copied of the folder of a store: a folder and a file, of which the file may not be there.
pub const FILES: [&str; 2] = ["sled", "sled.mark"];

/// Keeps servers from opening the store in `dir` until the result is dropped. Others may read it meanwhile.
///
/// # Errors
/// [`Error::Unavailable`] when a server has it, or its lock cannot be read.
pub fn hold(dir: &Path) -> Result<Option<File>, Error> {
    let mut file = match File::open(dir.join(LOCK)) {
        Ok(file) => file,
        // A copy without its lock, which no server has had open yet.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreachable_dir(dir, &error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // What it says is a help for people; without it the message is still right.
            file.read_to_string(&mut holder).ok();
            Err(Error::Unavailable(in_use(dir, holder.trim())))
        }
        Err(TryLockError::Error(error)) => Err(unreachable_dir(dir, &error)),
    }
}
