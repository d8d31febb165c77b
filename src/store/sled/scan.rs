//! Reading the engine's log without the engine, to find what it would pass over in silence. It must not know what the messages hold, and
//! changes nothing.
//!
//! The log is a file of segments, each with a header and messages one after the other, and each of those with a checksum. When the engine
//! opens a log it leaves out a segment whose header is broken, and from a broken message on the rest of its segment; it cannot tell that
//! from what a crash leaves behind. Here it is told: behind the last header that calls everything before it stable there may be a tear of a
//! crash, and what was acknowledged there is counted (see `mark`). Before it there is none, with one exception: a segment that was being
//! used anew when the crash came can begin with the old header and go on with new messages. Nothing in it is needed any more.
//!
//! Layout after `pagecache/logger.rs` and `serialization.rs` of sled 0.34.7.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::mark;

/// A segment's header: checksum, number of its first byte in the log, number up to which all was stable.
const SEGMENT_HEADER: usize = 20;
/// No message begins where less than this is left of a segment.
const MESSAGE_HEADER: usize = 32;
/// Kinds of messages, from a cancelled one to the link of a large value.
const KINDS: std::ops::RangeInclusive<u8> = 1..=11;
/// The kind that fills the rest of a segment.
const CAP: u8 = 2;
/// Segments that a crash can have begun beyond the last one with a header.
const BEGUN: u64 = 1024;

/// A place in the files of a store that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file, from the folder of the store on.
    pub file: &'static str,
    /// Which byte of it, from 0.
    pub at: u64,
    /// What is wrong there.
    pub what: &'static str,
}

/// Looks at the files of a store that nobody has open; `dir` is the folder that people know.
///
/// # Errors
/// When a file cannot be read. A log that is not there has no damage.
pub fn scan(dir: &Path) -> io::Result<Vec<Damage>> {
    let mut found = Vec::new();
    if mark::is_broken(dir)? {
        found.push(Damage {
            file: "sled.mark",
            at: 0,
            what: "the number of the last acknowledged write is not readable",
        });
    }
    let home = dir.join("sled");
    let log = match File::open(home.join("db")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        log => log?,
    };
    let size = segment_size(&home)?;
    let length = log.metadata()?.len();
    let mut headers = Vec::new();
    let mut stable = 0;
    let mut offset = 0;
    while offset < length {
        let header = header(&log, offset)?;
        if let Head::Whole { stable: until, .. } = header {
            stable = stable.max(until);
        }
        headers.push((offset, header));
        offset += size;
    }
    let last = headers.iter().filter_map(|(_, head)| head.begin()).max().unwrap_or(0);
    for (offset, head) in headers {
        let segment = || read(&log, offset, size);
        let limit = last / size + BEGUN;
        let damage = match head {
            Head::Whole { begin, .. } if begin < stable / size * size => messages(&segment()?, begin / size, limit),
            Head::Broken => header_was_there(&segment()?, limit),
            Head::Whole { .. } | Head::Unused => None,
        };
        found.extend(damage.map(|(at, what)| Damage { file: "sled/db", at: offset + at as u64, what }));
    }
    Ok(found)
}

/// Reads what the engine reads when it opens a log: every header, the last snapshot, and the segments that were written since. A piece that
/// cannot be read, perhaps only now, the engine would take for the end of the log, and clear what comes after it.
///
/// # Errors
/// When something cannot be read. A log that is not there has nothing to read.
pub(super) fn try_reading(home: &Path) -> io::Result<()> {
    let log = match File::open(home.join("db")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        log => log?,
    };
    let mut snapshot = 0;
    for entry in fs::read_dir(home)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| u64::from_str_radix(name.strip_prefix("snap.")?, 16).ok());
        if let Some(number) = number {
            snapshot = snapshot.max(number);
            io::copy(&mut File::open(entry.path())?, &mut io::sink())?;
        }
    }
    let size = segment_size(home)?;
    let length = log.metadata()?.len();
    let mut offset = 0;
    while offset < length {
        let is_read = match header(&log, offset)? {
            Head::Whole { begin, .. } => begin.saturating_add(size) > snapshot,
            Head::Broken => true,
            Head::Unused => false,
        };
        if is_read {
            read(&log, offset, size)?;
        }
        offset += size;
    }
    Ok(())
}

/// Bytes of a segment: what the settings file says, else what is the same in every store of this server.
fn segment_size(home: &Path) -> io::Result<u64> {
    let conf = match fs::read(home.join("conf")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        conf => conf?,
    };
    let text = String::from_utf8_lossy(&conf);
    let said = text.lines().find_map(|line| line.strip_prefix("segment_size: ")?.trim().parse().ok());
    let usual = ::sled::Config::new().segment_size as u64;
    // A settings file that is damaged is refused when the store is opened.
    Ok(said.filter(|size: &u64| size.is_power_of_two() && (256..=16 << 20).contains(size)).unwrap_or(usual))
}

/// What stands where a segment begins.
enum Head {
    Whole {
        begin: u64,
        stable: u64,
    },
    Broken,
    /// Zeros: never used, or cleared.
    Unused,
}

impl Head {
    fn begin(&self) -> Option<u64> {
        match self {
            Self::Whole { begin, .. } => Some(*begin),
            Self::Broken | Self::Unused => None,
        }
    }
}

fn header(log: &File, offset: u64) -> io::Result<Head> {
    let bytes = read(log, offset, SEGMENT_HEADER as u64)?;
    if bytes.iter().all(|byte| *byte == 0) {
        return Ok(Head::Unused);
    }
    let number = |at: usize| {
        let bytes = bytes.get(at..at + 8)?.try_into().ok()?;
        // Before anything is stable, the number is that of the byte before the first.
        Some(u64::try_from(i64::from_le_bytes(bytes) ^ i64::MAX).unwrap_or(0))
    };
    let sum = bytes.first_chunk::<4>().map(|sum| u32::from_le_bytes(*sum));
    let is_whole = bytes.get(4..).map(|rest| !crc32fast::hash(rest)) == sum;
    Ok(match (number(4), number(12)) {
        (Some(begin), Some(stable)) if is_whole => Head::Whole { begin, stable },
        _ => Head::Broken,
    })
}

/// So many bytes, or those that there are.
fn read(log: &File, offset: u64, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(size).map_err(io::Error::other)?];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match log.read_at(rest, offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// A message as its header describes it.
struct Message {
    kind: u8,
    segment: u64,
    /// Header and content.
    length: usize,
}

/// Where a segment that is full of messages is not; none when it is, or when nothing in it is needed any more.
fn messages(segment: &[u8], number: u64, limit: u64) -> Option<(usize, &'static str)> {
    let mut at = SEGMENT_HEADER;
    while at + MESSAGE_HEADER <= segment.len() {
        match message(segment, at) {
            Some(message) if message.segment == number && message.kind == CAP => return None,
            Some(message) if message.segment == number => at += message.length,
            _ if is_used_anew(segment, at, number, limit) => return None,
            _ => {
                return Some((
                    at,
                    "what was written here is not readable, nor is what follows it in its part of the log",
                ));
            }
        }
    }
    None
}

/// Newer messages follow: a crash came while the segment was written for the next time.
fn is_used_anew(segment: &[u8], from: usize, number: u64, limit: u64) -> bool {
    let newer = number + 1..=limit;
    (from..segment.len()).any(|at| message(segment, at).is_some_and(|message| newer.contains(&message.segment)))
}

/// A header that is no header any more, with messages behind it that are whole.
fn header_was_there(segment: &[u8], limit: u64) -> Option<(usize, &'static str)> {
    let known = |at: &usize| message(segment, *at).is_some_and(|message| message.segment <= limit);
    let found = (SEGMENT_HEADER..segment.len()).find(known);
    found.map(|_| (0, "the head of this part of the log is not readable, so that nothing in it is found"))
}

/// The message that begins here, if one does and is whole.
fn message(segment: &[u8], at: usize) -> Option<Message> {
    let bytes = segment.get(at..)?;
    let (sum, rest) = bytes.split_first_chunk::<4>()?;
    let (kind, rest) = rest.split_first()?;
    if !KINDS.contains(kind) {
        return None;
    }
    let (length, rest) = number(rest)?;
    let (segment, rest) = number(rest)?;
    let (_page, content) = number(rest)?;
    let head = bytes.len() - content.len();
    let content = content.get(..usize::try_from(length).ok()?)?;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(content);
    hasher.update(bytes.get(4..head)?);
    let is_whole = !hasher.finalize() == u32::from_le_bytes(*sum);
    is_whole.then_some(Message { kind: *kind, segment, length: head + content.len() })
}

/// A number of one to nine bytes, the way of SQLite 4.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let first = u64::from(*first);
    let take = |count: usize| {
        let (number, rest) = rest.split_at_checked(count)?;
        let mut all = [0; 8];
        all.get_mut(..count)?.copy_from_slice(number);
        Some((u64::from_le_bytes(all), rest))
    };
    match first {
        0..=240 => Some((first, rest)),
        241..=248 => take(1).map(|(low, rest)| (240 + 256 * (first - 241) + low, rest)),
        249 => {
            let (pair, rest) = rest.split_first_chunk::<2>()?;
            Some((2288 + u64::from(u16::from_be_bytes(*pair)), rest))
        }
        _ => take(usize::try_from(first - 247).ok()?),
    }
}

#[cfg(test)]
mod tests;
