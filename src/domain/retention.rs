//! What is kept, until when, and what was erased: values. It must not know how anything is stored or removed.

use super::id::{ExchangeId, Moment, RunId, ThreadId};

/// Something that can be kept, left to expire, or erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An exchange; with it, for keeping, all before it.
    Exchange(ExchangeId),
    /// A thread with its path.
    Thread(ThreadId),
    /// All exchanges of a run, or what is kept of one that was not captured.
    Run(RunId),
    /// An exchange and all that follow from it, so many steps down.
    Subtree(ExchangeId, Option<u64>),
}

/// Keeps something from expiry and collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Its id.
    pub id: String,
    /// What it keeps.
    pub target: Target,
    /// Why, for people.
    pub note: String,
    /// When it was set.
    pub created_at: Moment,
}

/// When something is left to collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// What.
    pub target: Target,
    /// When.
    pub at: Moment,
}

/// What to do where others share what is to be erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// Refuse.
    #[default]
    Refuse,
    /// Erase all that follow too.
    Cascade,
    /// What follows stays, and its history has a gap.
    Tombstone,
}

/// Records of one kind that are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Gone {
    /// The letter of their kind.
    pub letter: u8,
    /// How many.
    pub count: u64,
    /// Their bytes as stored.
    pub bytes: u64,
}

/// What was erased. Holds no content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Its id.
    pub id: String,
    /// What was asked for.
    pub target: Target,
    /// How.
    pub mode: Mode,
    /// Why.
    pub note: String,
    /// How many exchanges have a tombstone.
    pub tombstones: u64,
    /// Records that are gone.
    pub gone: Vec<Gone>,
    /// Content that others have too.
    pub shared: u64,
    /// The first of the exchanges.
    pub exchanges: Vec<ExchangeId>,
    /// When.
    pub at: Moment,
    /// By whom: the name of a credential.
    pub by: String,
    /// When the thread, or the run that was not captured, was made that is gone.
    pub made_at: Option<Moment>,
}

/// An erasure that is not done yet: what is put on record before anything goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erasing {
    /// Its receipt as far as it is known beforehand.
    pub receipt: Receipt,
    /// Versions of documents that nothing names go along.
    pub takes_drafts: bool,
    /// The last exchange of the thread or run that is erased.
    pub end: Option<ExchangeId>,
}
