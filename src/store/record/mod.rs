//! Stored forms: how each value becomes bytes and comes back whole. It must not know where the bytes lie, nor what the API's messages
//! look like.
//!
//! Every value is a message of `antiphon.storage.v1`, its twin, in an [`envelope`]. Twins are read by any later version: fields are only
//! added, and what changes a meaning raises the format. Fixtures of each format are decoded by every build.

pub(crate) mod envelope;
pub(crate) mod exchange;
pub(crate) mod json;

mod body;
mod coordination;
mod fault;
mod graph;
mod journal;
mod media;
mod message;
mod plan;
mod prepared;
mod request;
mod retention;
mod run;
mod settings;
mod spend;
mod thread;
mod tool;
mod twin;
mod usage;
mod workspace;

#[cfg(test)]
mod fixture;
#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use prost::Message;

use self::envelope::Packed;
use super::Error;
use super::layout::Entry;
use crate::domain::id::{BranchId, ExchangeId, Hash};

pub(crate) use self::body::{Body, LeanBody, draft_body};
pub(crate) use self::graph::Mark;
pub(crate) use self::journal::JournalPage;
pub(crate) use self::plan::PlanRecord;
pub(crate) use self::prepared::PreparedRecord;
pub use self::request::Remembered;
pub(crate) use self::retention::hash_of;
pub(crate) use self::spend::hash_of_spender;
pub(crate) use self::thread::{Standing, ThreadRecord};
pub(crate) use self::tool::ToolHashes;
pub(crate) use self::workspace::{list_of_pieces, pieces_of_list};

/// Why a twin is no value of the domain: which field, and what is the matter with it. Never content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its `{field}` {what}")]
pub(crate) struct Malformed {
    field: &'static str,
    what: &'static str,
}

impl Malformed {
    fn new(field: &'static str, what: &'static str) -> Self {
        Self { field, what }
    }

    fn missing(field: &'static str) -> Self {
        Self::new(field, "is missing")
    }
}

/// The stored twin of a value.
pub(crate) trait Twin<T>: Sized {
    /// The twin of a value. Every value has one.
    fn of(value: &T) -> Self;

    /// The value back.
    fn value(self) -> Result<T, Malformed>;
}

/// A closed list of words, stored as a number.
trait Word: Sized {
    fn number(self) -> i32;

    fn of_number(number: i32, field: &'static str) -> Result<Self, Malformed>;
}

/// Pairs the words of a domain's list with those of its twin, which have the same names.
macro_rules! words {
    ($domain:ty, $twin:ty, [$($word:ident),* $(,)?]) => {
        impl $crate::store::record::Word for $domain {
            fn number(self) -> i32 {
                match self {
                    $(<$domain>::$word => <$twin>::$word as i32,)*
                }
            }

            fn of_number(number: i32, field: &'static str) -> Result<Self, $crate::store::record::Malformed> {
                match <$twin>::try_from(number) {
                    $(Ok(<$twin>::$word) => Ok(<$domain>::$word),)*
                    Ok(<$twin>::Unspecified) => Err($crate::store::record::Malformed::missing(field)),
                    Err(_) => Err($crate::store::record::Malformed::new(field, "is a word of a newer version")),
                }
            }
        }
    };
}
use words;

/// A value with a record of its own.
pub(crate) trait Stored: Sized {
    /// Its bytes, not yet in an envelope.
    fn payload(&self) -> Bytes;

    /// The value back.
    fn from_payload(payload: Bytes) -> Result<Self, Malformed>;
}

/// Stored as its twin.
macro_rules! stored {
    ($value:ty, $twin:ty) => {
        impl $crate::store::record::Stored for $value {
            fn payload(&self) -> bytes::Bytes {
                $crate::store::record::bytes_of(&<$twin as $crate::store::record::Twin<$value>>::of(self))
            }

            fn from_payload(payload: bytes::Bytes) -> Result<Self, $crate::store::record::Malformed> {
                let twin: $twin = $crate::store::record::twin_of(payload)?;
                $crate::store::record::Twin::value(twin)
            }
        }
    };
}
use stored;

fn bytes_of(twin: &impl Message) -> Bytes {
    twin.encode_to_vec().into()
}

fn twin_of<M: Message + Default>(payload: Bytes) -> Result<M, Malformed> {
    M::decode(payload).map_err(|_| Malformed::new("message", "is not in the form of a record"))
}

/// The value to store under an entry's key.
pub(crate) fn encode(entry: &Entry, value: &impl Stored) -> Bytes {
    Packed::new(value.payload()).seal(&entry.key())
}

/// What is stored under an entry's key.
pub(crate) fn decode<T: Stored>(entry: &Entry, raw: &Bytes) -> Result<T, Error> {
    T::from_payload(open(entry, raw)?).map_err(|malformed| corrupt(entry, malformed))
}

/// The payload of what is stored under an entry's key.
pub(crate) fn open(entry: &Entry, raw: &Bytes) -> Result<Bytes, Error> {
    envelope::open(&entry.key(), raw).map_err(|broken| corrupt(entry, broken))
}

/// A stored record is not what it should be. `why` is a clause without content.
pub(crate) fn corrupt(entry: &Entry, why: impl std::fmt::Display) -> Error {
    Error::Corrupt(format!(
        "the stored {entry} cannot be used: {why}; run `antiphon verify` to learn what else is affected, then restore a copy of the data folder that was made while the server was stopped"
    ))
}

fn hash(bytes: &[u8], field: &'static str) -> Result<Hash, Malformed> {
    bytes.try_into().map(Hash).map_err(|_| Malformed::new(field, "is no hash of 32 bytes"))
}

fn exchange_id(bytes: &[u8], field: &'static str) -> Result<ExchangeId, Malformed> {
    bytes.try_into().map(ExchangeId::from_bytes).map_err(|_| Malformed::new(field, "is no id of 16 bytes"))
}

fn branch_id(bytes: &[u8], field: &'static str) -> Result<BranchId, Malformed> {
    bytes.try_into().map(BranchId).map_err(|_| Malformed::new(field, "is no id of 8 bytes"))
}

fn id_bytes(id: &ExchangeId) -> Bytes {
    Bytes::copy_from_slice(id.as_bytes())
}

fn hash_bytes(hash: &Hash) -> Bytes {
    Bytes::copy_from_slice(&hash.0)
}

/// Twins of a list.
fn twins<T, W: Twin<T>>(values: &[T]) -> Vec<W> {
    values.iter().map(W::of).collect()
}

/// Values of a list.
fn values<T, W: Twin<T>>(twins: Vec<W>) -> Result<Vec<T>, Malformed> {
    twins.into_iter().map(W::value).collect()
}

/// The value of a twin that must be there.
fn required<T, W: Twin<T>>(twin: Option<W>, field: &'static str) -> Result<T, Malformed> {
    twin.ok_or(Malformed::missing(field))?.value()
}
