//! Sets of changes, built before they are committed. Records are encoded here, by whoever builds the set. It must not know where
//! exchanges come to lie; see [`super::commit`].

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::{Remembered, Token};
use crate::domain::drift::Seen;
use crate::domain::exchange::Exchange;
use crate::domain::graph::Place;
use crate::domain::id::{CoordinationId, ExchangeId, Hash, PreparedId, RequestId, RunId, ThreadId};
use crate::domain::run::Run;
use crate::domain::thread::{Head, Thread};
use crate::domain::tool::ToolSet;
use crate::domain::workspace::Node;
use crate::store::layout::Entry;
use crate::store::record::{Standing, Stored, ThreadRecord, decode, encode};
use crate::store::{Guard, Key};

/// Why nothing of a set was applied: the first thing, in the order in which the set was built, that was not as its builder saw it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// The run id is taken.
    #[error("the run id `{0}` is taken")]
    RunExists(RunId),
    /// The run is not what was read.
    #[error("the run `{0}` changed since it was read")]
    RunChanged(RunId),
    /// The thread id is taken.
    #[error("the thread id `{0}` is taken")]
    ThreadExists(ThreadId),
    /// The thread is not what was read, or is gone.
    #[error("the thread `{0}` changed since it was read")]
    ThreadChanged(ThreadId),
    /// The head is not what was read, or is gone.
    #[error("the head of thread `{0}` moved since it was read")]
    HeadMoved(ThreadId),
    /// The request was done already.
    #[error("the request id `{0}` is taken")]
    RequestExists(RequestId),
    /// The coordination id is taken.
    #[error("the coordination id `{0}` is taken")]
    CoordinationExists(CoordinationId),
    /// The coordination is not what was read, or its journal went on.
    #[error("the coordination `{0}` changed since it was read")]
    CoordinationChanged(CoordinationId),
    /// The prepared execution is not what was read.
    #[error("the prepared execution `{0}` was used since it was read")]
    PreparedChanged(PreparedId),
    /// The documents of the thread are not what was read.
    #[error("the documents of thread `{0}` changed since they were read")]
    WorkspaceChanged(ThreadId),
    /// A version of documents that was read is gone: nothing names it any more.
    #[error("the version of documents {0} is gone")]
    VersionGone(Hash),
    /// The exchange is stored already: a set is committed once.
    #[error("the exchange {0} is stored already")]
    ExchangeExists(ExchangeId),
    /// There is nothing at the place after which to append.
    #[error("there is no exchange after which {0} could be stored")]
    ParentMissing(ExchangeId),
}

/// Changes that are applied together or not at all. Its guards are checked in the order in which they were added, those of `append` last.
///
/// Methods that write a record which can be replaced later give the token that it will have.
#[derive(Clone, Default)]
pub struct Changes {
    pub(super) guards: Vec<(Guard, Lost)>,
    pub(super) puts: Vec<(Key, Bytes)>,
    pub(super) deletes: Vec<Key>,
    pub(super) sets: BTreeMap<Hash, ToolSet>,
    pub(super) seen: BTreeMap<Hash, Seen>,
    pub(super) parts: BTreeMap<Hash, Bytes>,
    /// Nodes of versions of documents.
    pub(super) nodes: BTreeMap<Hash, Node>,
    /// Versions of documents that its records name, by their topmost nodes.
    pub(super) roots: BTreeSet<Hash>,
    pub(super) appends: Vec<Append>,
    /// Threads whose heads are put on another exchange.
    pub(super) pointers: Vec<(ThreadId, ExchangeId)>,
    /// Threads whose heads leave an exchange.
    pub(super) left: Vec<(ThreadId, ExchangeId)>,
    /// The runs among the puts.
    pub(super) runs: Vec<RunId>,
}

/// Exchanges that follow one another.
#[derive(Clone)]
pub(super) struct Append {
    pub(super) exchanges: Vec<Exchange>,
    pub(super) after: Option<Place>,
}

impl Changes {
    /// No changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        self.guards.is_empty()
            && self.puts.is_empty()
            && self.sets.is_empty()
            && self.seen.is_empty()
            && self.parts.is_empty()
            && self.nodes.is_empty()
            && self.appends.is_empty()
            && self.deletes.is_empty()
    }

    /// The runs that it stores.
    pub fn runs(&self) -> &[RunId] {
        &self.runs
    }

    /// Stores a run under an id that must be free.
    pub fn create_run(&mut self, run: &Run) -> Token {
        let entry = Entry::Run(run.id.clone());
        self.guards.push((Guard::Absent(entry.key()), Lost::RunExists(run.id.clone())));
        self.roots.extend(run.workspace);
        self.runs.push(run.id.clone());
        self.put(&entry, run)
    }

    /// Stores a run in place of the one that was read.
    pub fn replace_run(&mut self, run: &Run, seen: &Token) -> Token {
        let entry = Entry::Run(run.id.clone());
        self.guards.push((Guard::Is(entry.key(), seen.0.clone()), Lost::RunChanged(run.id.clone())));
        self.roots.extend(run.workspace);
        self.runs.push(run.id.clone());
        self.put(&entry, run)
    }

    /// Stores a thread and its head under an id that must be free, with the thread's standing tools. Gives the tokens of both.
    pub fn create_thread(&mut self, thread: &Thread, head: &Head) -> (Token, Token) {
        let entry = Entry::Thread(thread.id.clone());
        self.guards.push((Guard::Absent(entry.key()), Lost::ThreadExists(thread.id.clone())));
        let token = self.put_thread(&entry, thread);
        self.points(&thread.id, head.exchange, None);
        (token, self.put(&Entry::Head(thread.id.clone()), head))
    }

    /// Stores a thread in place of the one that was read, with its standing tools; its head stays.
    pub fn replace_thread(&mut self, thread: &Thread, seen: &Token) -> Token {
        let entry = Entry::Thread(thread.id.clone());
        self.guards.push((Guard::Is(entry.key(), seen.0.clone()), Lost::ThreadChanged(thread.id.clone())));
        self.put_thread(&entry, thread)
    }

    /// Removes a thread with its head and its documents, thread and head as they were read. Exchanges and versions stay.
    pub fn delete_thread(&mut self, id: &ThreadId, thread: &Token, head: &Token) {
        let (thread_key, head_key) = (Entry::Thread(id.clone()).key(), Entry::Head(id.clone()).key());
        self.guards.push((Guard::Is(thread_key.clone(), thread.0.clone()), Lost::ThreadChanged(id.clone())));
        self.guards.push((Guard::Is(head_key.clone(), head.0.clone()), Lost::HeadMoved(id.clone())));
        self.deletes.extend([thread_key, head_key, Entry::Workspace(id.clone()).key()]);
        self.points(id, None, pointed(id, head));
    }

    /// Moves a head from where it was read.
    pub fn replace_head(&mut self, id: &ThreadId, head: &Head, seen: &Token) -> Token {
        self.hold_head(id, seen);
        self.points(id, head.exchange, pointed(id, seen));
        self.put(&Entry::Head(id.clone()), head)
    }

    /// Nothing is applied unless the head is still where it was read.
    pub fn hold_head(&mut self, id: &ThreadId, seen: &Token) {
        self.guards.push((Guard::Is(Entry::Head(id.clone()).key(), seen.0.clone()), Lost::HeadMoved(id.clone())));
    }

    /// Stores exchanges, each the parent of the next: the first one after an exchange that is stored, or at a root. Their ids must be
    /// new, and their depths those that follow. Tool sets that they name are added with [`Self::tool_set`],
    /// what their paths have seen with [`Self::seen`].
    pub fn append(&mut self, exchanges: Vec<Exchange>, after: Option<Place>) {
        if !exchanges.is_empty() {
            let around = exchanges.iter().map(|exchange| exchange.workspace);
            self.roots.extend(around.flat_map(|around| [around.before, around.after]).flatten());
            self.appends.push(Append { exchanges, after });
        }
    }

    /// Stores a tool set and its tools, unless they are there.
    pub fn tool_set(&mut self, set: &ToolSet) {
        if let Some(hash) = set.hash() {
            self.sets.entry(hash).or_insert_with(|| set.clone());
        }
    }

    /// Stores what a path has seen of tools, unless it is there.
    pub fn seen(&mut self, seen: &Seen) {
        if let Some(hash) = seen.hash() {
            self.seen.entry(hash).or_insert_with(|| seen.clone());
        }
    }

    /// Remembers what came of a request, under an id that must be free.
    pub fn remember(&mut self, id: &RequestId, remembered: &Remembered) {
        let entry = Entry::Request(id.clone());
        self.guards.push((Guard::Absent(entry.key()), Lost::RequestExists(id.clone())));
        self.put(&entry, remembered);
    }

    pub(super) fn put(&mut self, entry: &Entry, value: &impl Stored) -> Token {
        let bytes = encode(entry, value);
        self.puts.push((entry.key(), bytes.clone()));
        Token(bytes)
    }

    /// A head was put somewhere else.
    fn points(&mut self, id: &ThreadId, exchange: Option<ExchangeId>, before: Option<ExchangeId>) {
        if exchange == before {
            return;
        }
        self.left.extend(before.map(|before| (id.clone(), before)));
        self.pointers.extend(exchange.map(|exchange| (id.clone(), exchange)));
    }

    fn put_thread(&mut self, entry: &Entry, thread: &Thread) -> Token {
        let record = ThreadRecord::new(thread);
        if let (Standing::Set(_), Some(set)) = (record.standing, &thread.defaults.standing_tools) {
            self.tool_set(set);
        }
        self.put(entry, &record)
    }
}

/// Where a head was. One that cannot be read is found out by whoever reads it, and only leaves an index entry too many here.
fn pointed(id: &ThreadId, seen: &Token) -> Option<ExchangeId> {
    decode::<Head>(&Entry::Head(id.clone()), &seen.0).ok().and_then(|head| head.exchange)
}
