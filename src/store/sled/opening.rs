//! How far the opening of a store is, for people who wait: what the process has read since, beside how long the log is that is read. It must not know how a
//! store is opened.

use std::fs;
use std::path::Path;

/// An opening that begins now.
pub struct Opening {
    log: u64,
    before: u64,
}

impl Opening {
    /// Of the store in a folder.
    pub fn of(dir: &Path) -> Self {
        let log = fs::metadata(dir.join("sled/db")).map_or(0, |log| log.len());
        Self { log, before: read_by_this_process() }
    }

    /// How long the log is, in MiB.
    pub fn log_mebibytes(&self) -> u64 {
        self.log >> 20
    }

    /// How much the process has read since the opening began, in MiB: at its end as much as the log has, or more, since parts of it are read twice. Always 0
    /// where the system does not tell, as elsewhere than on Linux.
    pub fn read_mebibytes(&self) -> u64 {
        read_by_this_process().saturating_sub(self.before) >> 20
    }
}

fn read_by_this_process() -> u64 {
    let counts = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let read = counts.lines().find_map(|line| line.strip_prefix("rchar: "));
    read.and_then(|read| read.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_counted_beside_the_length_of_the_log() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sled")).unwrap();
        fs::write(dir.path().join("sled/db"), vec![1; 8 << 20]).unwrap();
        let opening = Opening::of(dir.path());
        assert_eq!(opening.log_mebibytes(), 8);
        assert_eq!(fs::read(dir.path().join("sled/db")).unwrap().len(), 8 << 20);
        if cfg!(target_os = "linux") {
            assert!(opening.read_mebibytes() >= 8);
        }
        assert_eq!(Opening::of(&dir.path().join("none")).log_mebibytes(), 0);
    }
}
