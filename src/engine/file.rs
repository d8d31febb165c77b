//! Files that are named for the sake of what they say: read whole, for no longer and of no more bytes than makes sense. It must not know what
//! they say, nor who names them.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// The most that is read of a file of settings, keys or certificates, in bytes. Keys of tens of thousands of callers take less.
pub const MAX_BYTES: u64 = 16 << 20;

/// Reads a file that a configuration names, or the configuration. Only a regular one, to which links may lead: it is read again while a server
/// serves, when nobody may be there who writes into a pipe, and a device may have no end.
///
/// # Errors
/// When it cannot be read, is no regular file, or has more than `MAX_BYTES`.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(path, MAX_BYTES)
}

/// The same, as text.
///
/// # Errors
/// The same, and when it is no UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    text(read(path)?)
}

/// Reads a regular file that has no more than so many bytes.
///
/// # Errors
/// When it cannot be read, is no regular file, or has more.
pub(super) fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    // Before it is opened, since that alone does something to some devices.
    regular(fs::metadata(path)?.file_type())?;
    // Something else may have taken its place: opening a pipe does not wait then.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let opened = file.metadata()?;
    regular(opened.file_type())?;
    if opened.len() > most {
        return Err(longer(format!("it is {} bytes long: at most {most} are read", opened.len())));
    }
    bounded(file, most)
}

/// Reads what somebody gave to a command that reads it once: pipes too, as `/dev/stdin` and `<(...)` are some.
///
/// # Errors
/// When it cannot be read, or has more than so many bytes.
pub fn read_given(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    bounded(File::open(path)?, most)
}

/// Reads to the end.
///
/// # Errors
/// When it cannot be read, or the end does not come within so many bytes.
pub fn bounded(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most {
        return Err(longer(format!("it has more than {most} bytes, and no more are read")));
    }
    Ok(bytes)
}

/// Bytes as text.
///
/// # Errors
/// When they are none.
pub fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is no text in UTF-8"))
}

/// Whether a file was refused for what it is, whatever it says.
pub fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::FileTooLarge)
}

fn regular(found: FileType) -> io::Result<()> {
    let what = match found {
        regular if regular.is_file() => return Ok(()),
        folder if folder.is_dir() => "a folder",
        pipe if pipe.is_fifo() => "a pipe",
        socket if socket.is_socket() => "a socket",
        _ => "a device",
    };
    let told =
        format!("it is {what}, and only a regular file, or a link to one, is read here: name one that says the same");
    Err(io::Error::new(ErrorKind::InvalidInput, told))
}

fn longer(than: String) -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, than + "; shorten it")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn told(path: &Path) -> String {
        let error = read(path).unwrap_err();
        assert!(is_refused(&error), "{error}");
        error.to_string()
    }

    #[test]
    fn a_regular_file_is_read_also_by_a_link_to_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("..data-1")).unwrap();
        fs::write(path("..data-1/key"), "secret").unwrap();
        symlink("..data-1", path("..data")).unwrap();
        symlink("..data/key", path("key")).unwrap();
        assert_eq!(read_text(&path("key")).unwrap(), "secret");
        assert_eq!(read(&path("none")).unwrap_err().kind(), ErrorKind::NotFound);
        fs::write(path("bytes"), b"\xff").unwrap();
        assert!(read_text(&path("bytes")).unwrap_err().to_string().contains("UTF-8"));
    }

    #[test]
    fn what_is_no_regular_file_is_told_as_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let _socket = UnixListener::bind(folder.path().join("socket")).unwrap();
        symlink("/dev/zero", folder.path().join("link")).unwrap();
        for (path, what) in [("socket", "a socket"), ("link", "a device"), (".", "a folder"), ("/dev/null", "a device")]
        {
            let told = told(&folder.path().join(path));
            assert!(told.starts_with(&format!("it is {what}, and only a regular file")), "{told}");
        }
    }

    #[test]
    fn the_most_is_read_and_not_one_byte_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        let length = |length: u64| File::create(&path).unwrap().set_len(length).unwrap();
        length(MAX_BYTES);
        assert_eq!(read(&path).unwrap().len(), 16 << 20);
        length(MAX_BYTES + 1);
        assert!(told(&path).contains("is 16777217 bytes long: at most 16777216 are read"));
        assert_eq!(read_given(&path, MAX_BYTES).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_given(Path::new("/dev/zero"), 7).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(bounded(&b"abc"[..], 3).unwrap(), b"abc");
    }
}
