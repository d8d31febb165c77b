//! The file of keys: who has one and what it opens. It holds hashes, so whoever reads it has no key. It must not know how a call carries a
//! key.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;

use crate::app::access::{ALL_NAMESPACES, Limits, Opens, Principal, Scope};
use crate::app::reload::Mistake;
use crate::domain::id::{Hash, Moment};
use crate::engine::file;

/// What every key begins with, so that one that was left somewhere is recognised.
pub const PREFIX: &str = "antiphon_";
/// Longest id, in bytes, that is told of one that is not known.
const MAX_ID: usize = 16;
/// Longest name, in bytes.
const MAX_NAME: usize = 128;

/// Why a file of keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read or written.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// It says something that makes no sense.
    #[error("{}: {what}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// A key as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// Names it; a part of the key that is no secret.
    pub id: String,
    /// Who has it, in words.
    pub name: String,
    /// The namespace that it opens; `*` for all.
    pub namespace: String,
    /// What it allows: `read`, `write`, `admin`.
    pub scopes: Vec<String>,
    /// BLAKE3 of the key, in hexadecimal.
    pub blake3: String,
    /// When it was made, by RFC 3339.
    pub created: String,
    /// Until when it is taken, by RFC 3339; for good when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// Its limits; those of the configuration where they say nothing.
    #[serde(default, skip_serializing_if = "is_none")]
    pub limits: Limits,
}

fn is_none(limits: &Limits) -> bool {
    *limits == Limits::default()
}

/// The file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyFile {
    /// Every key, in the order in which they were made.
    #[serde(default)]
    pub keys: Vec<Kept>,
}

const HEAD: &str = "# The keys of callers, written by `antiphon keys`. It holds no key, only hashes of them.\n\n";

impl KeyFile {
    /// Reads it.
    ///
    /// # Errors
    /// When it is not there, cannot be read, or is no file of keys.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::of(&text(path)?, path)
    }

    /// Reads a text that came from a file.
    fn of(text: &str, path: &Path) -> Result<Self, Error> {
        toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start].lines().count().max(1));
            let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
            let what = error.span().and_then(|span| no_limit(text, span)).unwrap_or_else(|| error.message().to_owned());
            Error::Text { path: path.to_owned(), what: format!("{line}{what}") }
        })
    }

    /// Reads it, changes it and writes it, while no other process does. A file that is not there is as an empty one.
    ///
    /// # Errors
    /// What reading and writing give; then nothing has changed.
    pub fn edit<T>(path: &Path, change: impl FnOnce(&mut Self) -> T) -> Result<T, Error> {
        let io = |cause| Error::Io { path: path.to_owned(), cause };
        // What a link leads to is changed, not the link.
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let path = real.as_path();
        let read = || match Self::read(path) {
            Err(Error::Io { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            read => read,
        };
        // Nothing is made beside what is no file of keys.
        read()?;
        let beside = |end: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        };
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(beside(".lock"));
        let lock = lock.map_err(io)?;
        lock.lock().map_err(io)?;
        let mut file = read()?;
        let done = change(&mut file);
        let text =
            toml::to_string(&file).map_err(|error| Error::Text { path: path.to_owned(), what: error.to_string() })?;
        let new = beside(".new");
        replace(path, &new, &format!("{HEAD}{text}")).map_err(io)?;
        Ok(done)
    }
}

fn text(path: &Path) -> Result<String, Error> {
    file::read_text(path).map_err(|cause| Error::Io { path: path.to_owned(), cause })
}

/// What is wrong with a limit that is no number which one can be, from where that number stands; nothing where something else does.
fn no_limit(text: &str, at: Range<usize>) -> Option<String> {
    let (before, given) = (text.get(..at.start)?, text.get(at)?);
    let is_number = given.starts_with(|first: char| first.is_ascii_digit() || "+-".contains(first));
    let key = before.trim_end().strip_suffix('=')?.trim_end();
    let key = key.rsplit(|part: char| !part.is_ascii_alphanumeric() && part != '_').next()?;
    let most = Limits::most(key).filter(|_| is_number)?;
    Some(format!("{key} is {given}: it must be 1 to {most}"))
}

/// Puts a text where a file is, whole or not at all.
fn replace(path: &Path, new: &Path, text: &str) -> io::Result<()> {
    // A file that is there keeps its owner and its rights: the server must be able to read it, or a key that was revoked would go on being taken.
    let there = fs::metadata(path).ok();
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(new)?;
    file.write_all(text.as_bytes())?;
    if let Some(there) = there {
        fchown(&file, Some(there.uid()), Some(there.gid()))?;
        file.set_permissions(there.permissions())?;
    }
    file.sync_all()?;
    fs::rename(new, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// What is asked of a new key.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Who is to have it.
    pub name: String,
    /// What it opens.
    pub opens: Opens,
    /// What it allows.
    pub scopes: Vec<Scope>,
    /// Until when.
    pub expires: Option<Moment>,
    /// Its limits.
    pub limits: Limits,
}

/// Makes a key from 256 random bits. The text is shown to whoever asked, and kept nowhere.
pub fn make(wanted: &Wanted, random: [u8; 32], id: [u8; 4], now: Moment) -> (SecretString, Kept) {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let id = hex(&id);
    let key = format!("{PREFIX}{id}_{}", hex(&random));
    let kept = Kept {
        name: wanted.name.clone(),
        namespace: wanted.opens.to_string(),
        scopes: wanted.scopes.iter().map(Scope::to_string).collect(),
        blake3: Hash::of(key.as_bytes()).to_string(),
        created: rfc3339(now),
        expires: wanted.expires.map(rfc3339),
        limits: wanted.limits.clone(),
        id,
    };
    (SecretString::from(key), kept)
}

/// A key as it is looked up.
#[derive(Clone, Debug)]
struct Key {
    /// Ends the calls that were let in with it, when it is taken back.
    revoked: CancellationToken,
    blake3: Hash,
    principal: Arc<Principal>,
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.blake3 == other.blake3 && self.principal == other.principal
    }
}

/// Every key of a file, by its id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyRing(BTreeMap<String, Key>);

impl KeyRing {
    /// Reads the keys of a file. Where a key says nothing of a limit, it has the one of `limits`.
    ///
    /// # Errors
    /// Every mistake at once.
    pub fn read(path: &Path, limits: &Limits) -> Result<Self, Vec<Mistake>> {
        let file = KeyFile::read(path).map_err(|error| vec![unread(path, error)])?;
        Self::of(file, path, limits)
    }

    /// Reads them anew. A file in which nothing stands is one that somebody is about to write, as editors do: with that no key is taken back.
    ///
    /// # Errors
    /// Every mistake at once.
    pub(super) fn again(&self, path: &Path, limits: &Limits) -> Result<Self, Vec<Mistake>> {
        let text = text(path).map_err(|error| vec![unread(path, error)])?;
        if text.trim_ascii().is_empty() && !self.0.is_empty() {
            let message = "is empty, so the keys that it had are still taken: write it again, or `keys = []` into it to revoke them all";
            return Err(vec![mistake(path, String::new(), message.to_owned())]);
        }
        let file = KeyFile::of(&text, path).map_err(|error| vec![unread(path, error)])?;
        Self::of(file, path, limits)
    }

    fn of(file: KeyFile, path: &Path, limits: &Limits) -> Result<Self, Vec<Mistake>> {
        let mistake = |place, message| mistake(path, place, message);
        let mut ring = BTreeMap::new();
        let mut mistakes = Vec::new();
        for (index, kept) in file.keys.into_iter().enumerate() {
            match Key::of(&kept, limits) {
                Ok(key) => {
                    if ring.insert(kept.id.clone(), key).is_some() {
                        let message = format!("`{}` is there twice: remove one", kept.id);
                        mistakes.push(mistake(format!("keys[{index}].id"), message));
                    }
                }
                Err((field, message)) => mistakes.push(mistake(format!("keys[{index}].{field}"), message)),
            }
        }
        if mistakes.is_empty() { Ok(Self(ring)) } else { Err(mistakes) }
    }

    /// Who has the key of an id.
    pub(super) fn principal(&self, id: &str) -> Option<&Principal> {
        self.0.get(id).map(|key| &*key.principal)
    }

    /// Those that have limits.
    pub(super) fn limited(&self) -> impl Iterator<Item = &Principal> {
        self.0.values().map(|key| &*key.principal).filter(|principal| principal.limits != Limits::default())
    }

    /// Is cancelled when a key is taken back; absent for what is no key.
    pub(super) fn revoked(&self, id: &str) -> Option<CancellationToken> {
        self.0.get(id).map(|key| key.revoked.clone())
    }

    /// Follows on the keys before: calls of those that are as they were go on, and calls of the others end.
    pub(super) fn goes_on_from(&mut self, before: &Self) {
        for (id, old) in &before.0 {
            match self.0.get_mut(id) {
                Some(key) if key == old => key.revoked = old.revoked.clone(),
                _ => old.revoked.cancel(),
            }
        }
    }

    /// What is otherwise than before: what happened, and the id of the key.
    pub(super) fn since<'a>(&'a self, before: &'a Self) -> Vec<(&'static str, &'a str)> {
        let gone = before.0.keys().filter(|id| !self.0.contains_key(*id)).map(|id| ("key.revoked", id.as_str()));
        let new = self.0.iter().filter_map(|(id, key)| match before.0.get(id) {
            None => Some(("key.created", id.as_str())),
            Some(old) if old != key => Some(("key.changed", id.as_str())),
            Some(_) => None,
        });
        gone.chain(new).collect()
    }

    /// Whose key this is, if it is one and still taken.
    pub fn admit(&self, key: &str, now: Moment) -> Option<Arc<Principal>> {
        let id = key.strip_prefix(PREFIX)?.split('_').next()?;
        let found = self.0.get(id);
        // An id that is not known costs the same as a wrong key.
        let expected = found.map_or(Hash::of(b""), |key| key.blake3);
        let same: bool = Hash::of(key.as_bytes()).0.ct_eq(&expected.0).into();
        let found = found.filter(|_| same)?;
        let taken = found.principal.expires.is_none_or(|expires| now < expires);
        taken.then(|| Arc::clone(&found.principal))
    }
}

fn mistake(path: &Path, place: String, message: String) -> Mistake {
    Mistake { file: path.display().to_string(), place, message }
}

/// Why the whole file cannot be used.
fn unread(path: &Path, error: Error) -> Mistake {
    let setting = || "access.keys_file".to_owned();
    match error {
        Error::Io { cause, .. } if cause.kind() == io::ErrorKind::NotFound => {
            mistake(path, setting(), format!("cannot be read: {cause}; `antiphon keys create` makes it"))
        }
        Error::Io { cause, .. } => mistake(path, setting(), format!("cannot be read: {cause}")),
        Error::Text { what, .. } => mistake(path, String::new(), what),
    }
}

impl Key {
    /// A key as the file has it, or the field that is wrong.
    fn of(kept: &Kept, limits: &Limits) -> Result<Self, (String, String)> {
        let mistake = |field: &str, what: String| (field.to_owned(), what);
        let is_id = !kept.id.is_empty() && kept.id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_id {
            return Err(mistake("id", "must be letters and digits".to_owned()));
        }
        named(&kept.name).map_err(|error| mistake("name", error))?;
        let opens = opens(&kept.namespace).map_err(|error| mistake("namespace", error))?;
        if kept.scopes.is_empty() {
            return Err(mistake("scopes", "must not be empty: a key that opens nothing is better revoked".to_owned()));
        }
        let scopes = kept.scopes.iter().map(|word| word.parse::<Scope>().map_err(|error| format!("`{word}` {error}")));
        let scopes = scopes.collect::<Result<Vec<_>, _>>().map_err(|error| mistake("scopes", error))?;
        let blake3 = kept.blake3.parse::<Hash>().map_err(|error| mistake("blake3", error.to_string()))?;
        let expires = kept.expires.as_deref().map(of_rfc3339).transpose();
        let expires = expires.map_err(|error| mistake("expires", error))?;
        if let Some((key, what)) = kept.limits.problems().into_iter().next() {
            return Err(mistake(&format!("limits.{key}"), what));
        }
        let limits = kept.limits.clone().or(limits);
        let principal = Principal { name: kept.id.clone(), opens, scopes, expires, limits };
        let (revoked, principal) = (CancellationToken::new(), Arc::new(principal));
        Ok(Self { revoked, blake3, principal })
    }
}

/// A name that a person may give.
///
/// # Errors
/// What is wrong with it.
pub fn named(name: &str) -> Result<(), String> {
    match name {
        _ if name.trim().is_empty() => Err("must not be empty".to_owned()),
        _ if name.len() > MAX_NAME => {
            Err(format!("is {} bytes long: at most {MAX_NAME} are taken; shorten it", name.len()))
        }
        _ if name.chars().any(char::is_control) => Err("must not have control characters".to_owned()),
        _ => Ok(()),
    }
}

/// What a namespace in words opens.
fn opens(namespace: &str) -> Result<Opens, String> {
    match namespace {
        ALL_NAMESPACES => Ok(Opens::All),
        one => one.parse().map(Opens::One).map_err(|error| error.to_string()),
    }
}

/// A moment by RFC 3339, in UTC.
fn rfc3339(moment: Moment) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(moment.0)).to_string()
}

/// The moment of a text.
fn of_rfc3339(text: &str) -> Result<Moment, String> {
    let time =
        humantime::parse_rfc3339_weak(text).map_err(|_| "must be a time such as `2027-01-31T12:00:00Z`".to_owned())?;
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Moment(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
}

/// The id that a text of the form of a key has.
pub(super) fn id_of(key: &str) -> Option<&str> {
    let (id, _) = key.strip_prefix(PREFIX)?.split_once('_')?;
    let is_id = (1..=MAX_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_id.then_some(id)
}

/// The text of a key, for whoever asked for it.
pub fn shown(key: &SecretString) -> &str {
    key.expose_secret()
}
