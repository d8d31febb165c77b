//! The file of the audit log. It is opened anew when it was moved or removed, as programs do that keep logs small, and a line that cannot be
//! written is told in the log instead. It must not know what the lines say.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use tracing_subscriber::fmt::MakeWriter;

use super::Format;
use crate::domain::source::Clock;
use crate::ops::source::SystemClock;

/// The file, open.
pub(super) struct AuditFile {
    path: PathBuf,
    file: Mutex<Open>,
    /// In which form the log is where a line is told that could not be written.
    log: Format,
}

impl AuditFile {
    /// Opens it to add to. Only the server's own user may read it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn open(path: &Path, log: Format) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), file: Mutex::new(Open::new(path)?), log })
    }
}

/// The file as it is open.
pub(super) struct Open {
    file: File,
    /// It ends within a line, as after a write that failed half way: the next one begins anew.
    is_torn: bool,
}

impl Open {
    fn new(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        let length = file.metadata()?.len();
        let mut last = *b"\n";
        if length > 0 {
            // A pipe has no length and no line before.
            File::open(path)?.read_exact_at(&mut last, length.saturating_sub(1))?;
        }
        Ok(Self { file, is_torn: last != *b"\n" })
    }
}

/// Opens a file to add to, and makes it where it is not there.
pub(super) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

impl<'a> MakeWriter<'a> for AuditFile {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        // Whoever held it only wrote.
        Line { of: self, file: self.file.lock().unwrap_or_else(PoisonError::into_inner) }
    }
}

/// Writes one line.
pub(super) struct Line<'a> {
    of: &'a AuditFile,
    file: MutexGuard<'a, Open>,
}

impl Line<'_> {
    fn add(&mut self, line: &[u8]) -> io::Result<()> {
        let is_there = |there: &std::fs::Metadata, ours: &std::fs::Metadata| {
            (there.dev(), there.ino()) == (ours.dev(), ours.ino())
        };
        let moved = match std::fs::metadata(&self.of.path) {
            Ok(there) => !is_there(&there, &self.file.file.metadata()?),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if moved {
            *self.file = Open::new(&self.of.path)?;
        }
        if self.file.is_torn {
            self.file.file.write_all(b"\n")?;
        }
        self.file.is_torn = true;
        self.file.file.write_all(line)?;
        self.file.is_torn = false;
        Ok(())
    }
}

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Err(error) = self.add(line) {
            tell(self.of, &error, line);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.file.flush()
    }
}

/// Says on standard error that a line is not in the file, and what it says. Not by the log itself, which is at work on this very line.
fn tell(of: &AuditFile, error: &io::Error, line: &[u8]) {
    let (file, error) = (of.path.display().to_string(), error.to_string());
    let line = String::from_utf8_lossy(line);
    let told = match of.log {
        Format::Json => {
            let lost = serde_json::from_str::<serde_json::Value>(&line).unwrap_or_else(|_| line.trim_end().into());
            let at = UNIX_EPOCH + Duration::from_millis(SystemClock.now().0);
            let at = humantime::format_rfc3339_millis(at).to_string();
            let told = serde_json::json!({
                "timestamp": at, "level": "ERROR", "message": "audit.lost", "file": file, "error": error, "line": lost,
            });
            format!("{told}\n")
        }
        Format::Pretty => format!("ERROR audit.lost file={file} error={error} line={}\n", line.trim_end()),
    };
    // Where standard error is gone as well there is nobody left to tell.
    io::stderr().write_all(told.as_bytes()).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_moved_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let audit = AuditFile::open(&path, Format::Json).unwrap();
        audit.make_writer().write_all(b"one\n").unwrap();
        std::fs::rename(&path, folder.path().join("audit.1")).unwrap();
        audit.make_writer().write_all(b"two\n").unwrap();
        audit.make_writer().write_all(b"three\n").unwrap();
        assert_eq!(std::fs::read_to_string(folder.path().join("audit.1")).unwrap(), "one\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two\nthree\n");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_half_line_is_left_alone_and_the_next_one_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        std::fs::write(&path, "{\"half").unwrap();
        let audit = AuditFile::open(&path, Format::Json).unwrap();
        audit.make_writer().write_all(b"one\n").unwrap();
        audit.make_writer().write_all(b"two\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"half\none\ntwo\n");
    }
}
