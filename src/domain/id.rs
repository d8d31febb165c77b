//! Names of things: namespaces, exchanges, runs, threads, calls and branches. It must not know where new ones come from.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use super::bounds::Bounds;

/// Why text is not the id that it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nothing there.
    #[error("must not be empty")]
    Empty,
    /// More than the limit.
    #[error("has {given} characters: at most {max} are taken; choose a shorter one")]
    TooLong {
        /// How many there are.
        given: usize,
        /// The limit.
        max: usize,
    },
    /// A character that ids do not have.
    #[error("may only have {0}")]
    Character(&'static str),
    /// Not a UUID.
    #[error("must be an exchange id as this server gave it, a UUID")]
    NotAnExchangeId,
    /// Not a hash.
    #[error("must be a hash as this server gave it, 64 hexadecimal digits")]
    NotAHash,
}

/// Longest run, thread and request id, in characters.
pub const MAX_NAME: usize = Bounds::CEILINGS.id.max;
/// Longest name of a namespace, in characters.
pub const MAX_NAMESPACE: usize = 63;

fn check(text: &str, max: usize, allowed: impl Fn(char) -> bool, words: &'static str) -> Result<(), Error> {
    if text.is_empty() {
        return Err(Error::Empty);
    }
    let given = text.chars().count();
    if given > max {
        return Err(Error::TooLong { given, max });
    }
    if !text.chars().all(allowed) {
        return Err(Error::Character(words));
    }
    Ok(())
}

/// An isolation boundary: every id lives in one. The first part of every key on disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Namespace(String);

impl Namespace {
    /// Wraps a name that was checked already.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The namespace of callers without a credential of their own.
    pub fn default_namespace() -> Self {
        Self("default".to_owned())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Namespace {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        check(text, MAX_NAMESPACE, allowed, "a-z, 0-9, `-` and `_`")?;
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Wraps a name that was checked already.
            pub fn new(name: impl Into<String>) -> Self {
                Self(name.into())
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
                check(text, MAX_NAME, allowed, "A-Z, a-z, 0-9, `_`, `-`, `.` and `:`")?;
                Ok(Self(text.to_owned()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// A run: one prompt to its final assistant message. The caller's or ours.
    RunId
}
name! {
    /// A thread: a named bookmark into the graph. The caller's or ours.
    ThreadId
}
name! {
    /// A mutation that may be repeated safely. Always the caller's.
    RequestId
}
name! {
    /// A coordination: one branch driven by the caller's next actions. The caller's or ours.
    CoordinationId
}

name! {
    /// A prepared execution. Always ours: a UUID whose time is when it ends, so that ids are in the order in which they expire.
    PreparedId
}

impl PreparedId {
    /// The id of one that can be executed until a moment.
    pub fn ending(moment: Moment, id: Uuid) -> Self {
        let mut bytes = *id.as_bytes();
        let [_, _, time @ ..] = moment.0.to_be_bytes();
        for (byte, of_time) in bytes.iter_mut().zip(time) {
            *byte = of_time;
        }
        Self(Uuid::from_bytes(bytes).as_hyphenated().to_string())
    }

    /// What the ids of those that end at a moment begin with; the ids of those that end before it are less.
    pub fn beginning(moment: Moment) -> String {
        Self::ending(moment, Uuid::nil()).0.chars().take(13).collect()
    }
}

/// One tool call, unique within a namespace. Always ours; the provider's own id is kept beside it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct CallId(String);

impl CallId {
    /// Wraps an id.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An exchange. A UUIDv7, never a hash: equal content from two executions is two exchanges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExchangeId(Uuid);

impl ExchangeId {
    /// Wraps a UUID.
    pub fn new(id: Uuid) -> Self {
        Self(id)
    }

    /// The sixteen bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// From sixteen bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// The first id that could be made at a time: all that were made before come before it.
    pub fn first_at(moment: Moment) -> Self {
        let mut bytes = [0; 16];
        let time = moment.0.to_be_bytes();
        bytes.iter_mut().zip(time.iter().skip(2)).for_each(|(to, from)| *to = *from);
        Self::from_bytes(bytes)
    }

    /// When it was made, as it says itself.
    pub fn moment(&self) -> Moment {
        let time = self.as_bytes().iter().take(6).fold(0, |time, byte| (time << 8) | u64::from(*byte));
        Moment(time)
    }
}

impl FromStr for ExchangeId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text.is_empty() {
            return Err(Error::Empty);
        }
        Uuid::try_parse(text).map(Self).map_err(|_| Error::NotAnExchangeId)
    }
}

impl fmt::Display for ExchangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_hyphenated().fmt(f)
    }
}

/// A stretch of the graph that is stored in one piece. Internal: callers never see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BranchId(pub [u8; 8]);

/// A BLAKE3 hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// Of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl FromStr for Hash {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text.is_empty() {
            return Err(Error::Empty);
        }
        let hash = blake3::Hash::from_hex(text).map_err(|_| Error::NotAHash)?;
        Ok(Self(*hash.as_bytes()))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A moment, in milliseconds since 1970 in UTC. Never used to order anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Moment(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_wrong_with_them() {
        assert_eq!("".parse::<RunId>(), Err(Error::Empty));
        assert_eq!("a b".parse::<RunId>(), Err(Error::Character("A-Z, a-z, 0-9, `_`, `-`, `.` and `:`")));
        assert!("a".repeat(128).parse::<ThreadId>().is_ok() && "a".repeat(63).parse::<Namespace>().is_ok());
        let told = "a".repeat(129).parse::<ThreadId>().unwrap_err().to_string();
        assert_eq!(told, "has 129 characters: at most 128 are taken; choose a shorter one");
        assert_eq!("a".repeat(64).parse::<Namespace>(), Err(Error::TooLong { given: 64, max: 63 }));
        assert_eq!("a:b.c-d_e".parse::<RunId>().map(|id| id.to_string()), Ok("a:b.c-d_e".to_owned()));
        assert!("Team".parse::<Namespace>().is_err());
        assert_eq!("nope".parse::<ExchangeId>(), Err(Error::NotAnExchangeId));
    }
}
