//! What was read and checked and is not stored yet. It must not judge anything: what comes here is right, and was not there when it was looked
//! for.

use std::collections::{BTreeMap, HashMap, HashSet};

use bytes::Bytes;

use super::Fate;
use crate::domain::drift::{Lineage, Seen};
use crate::domain::exchange::Exchange;
use crate::domain::graph::Place;
use crate::domain::id::{CallId, CoordinationId, ExchangeId, Hash, RunId, ThreadId};
use crate::domain::run::Run;
use crate::domain::thread::{Head, Thread};
use crate::domain::tool::{Tool, ToolSet};
use crate::domain::workspace::{Child, Live, Move, Node};
use crate::store::layout::{Entry, Kind};
use crate::store::ledger::{Changes, Lost};
use crate::store::record::envelope::Packed;
use crate::store::{Commit, Error, Guard, Ledger, Namespace, Write};

/// Tools that are remembered until a set names them.
const TOOLS: usize = 65_536;

/// What the next exchange has to agree with.
#[derive(Clone, Debug)]
pub(super) struct Brief {
    pub(super) depth: u64,
    pub(super) turn: u64,
    pub(super) content_hash: Hash,
    pub(super) open: Vec<CallId>,
    pub(super) is_erased: bool,
}

impl Brief {
    pub(super) fn of(exchange: &Exchange) -> Self {
        Self {
            depth: exchange.depth,
            turn: exchange.turn,
            content_hash: exchange.content_hash,
            open: exchange.calls().into_iter().map(|call| call.call_id.clone()).collect(),
            is_erased: exchange.erased.is_some(),
        }
    }
}

/// Exchanges that wait for their run.
pub(super) struct Group {
    pub(super) run: RunId,
    /// The line of the first.
    pub(super) line: u64,
    pub(super) exchanges: Vec<(Exchange, Option<Place>)>,
}

/// Moves of a thread's head that wait for the thread.
pub(super) struct Moves {
    pub(super) thread: ThreadId,
    /// The line of the first.
    pub(super) line: u64,
    pub(super) moves: Vec<(u64, Move)>,
}

/// Pages of a coordination's journal that wait for the coordination.
pub(super) struct Pages {
    pub(super) coordination: CoordinationId,
    /// The line of the first.
    pub(super) line: u64,
    pub(super) pages: Vec<(u64, Bytes)>,
    pub(super) bytes: usize,
}

/// A thread with what is stored along with it.
struct Arrived {
    thread: Thread,
    head: Head,
    live: Option<Live>,
    moves: Vec<(u64, Move)>,
}

/// Exchanges that follow one another.
struct Chain {
    exchanges: Vec<Exchange>,
    after: Option<Place>,
}

#[derive(Default)]
pub(super) struct Batch {
    pub(super) group: Option<Group>,
    pub(super) moves: Option<Moves>,
    pub(super) pages: Option<Pages>,
    chains: Vec<Chain>,
    /// The chain that an exchange is the last of.
    tails: HashMap<ExchangeId, usize>,
    /// Exchanges that wait, and in a dry run all that would be stored.
    briefs: HashMap<ExchangeId, Brief>,
    runs: BTreeMap<RunId, Run>,
    threads: Vec<Arrived>,
    /// Records that are stored as they are.
    plain: BTreeMap<Entry, Bytes>,
    parts: BTreeMap<Hash, Bytes>,
    sets: BTreeMap<Hash, ToolSet>,
    seen: BTreeMap<Hash, Seen>,
    nodes: BTreeMap<Hash, Node>,
    /// What a dry run would have stored of versions of documents: each node as the one above it names it, with its level.
    below: HashMap<Hash, (u32, Child)>,
    pub(super) tools: HashMap<Hash, Tool>,
    /// What paths have seen of tools, until an exchange that is stored names it: it names exchanges itself.
    sights: HashMap<Hash, Seen>,
    /// What a dry run would have stored.
    pretended: HashSet<Entry>,
    pub(super) bytes: usize,
    pub(super) records: usize,
}

impl Batch {
    /// The first line of what waits and is not stored by a flush.
    pub(super) fn waits_since(&self) -> Option<u64> {
        let group = self.group.as_ref().map(|group| group.line);
        let moves = self.moves.as_ref().map(|moves| moves.line);
        group.into_iter().chain(moves).chain(self.pages.as_ref().map(|pages| pages.line)).min()
    }

    /// Forgets exchanges whose run did not come.
    pub(super) fn drop_group(&mut self) -> Option<Group> {
        let group = self.group.take()?;
        for (exchange, _) in &group.exchanges {
            self.briefs.remove(&exchange.id);
        }
        Some(group)
    }

    pub(super) fn brief(&self, id: ExchangeId) -> Option<&Brief> {
        self.briefs.get(&id)
    }

    pub(super) fn has_run(&self, id: &RunId) -> bool {
        self.runs.contains_key(id) || self.pretended.contains(&Entry::Run(id.clone()))
    }

    pub(super) fn has(&self, entry: &Entry) -> bool {
        if self.pretended.contains(entry) {
            return true;
        }
        match entry {
            Entry::Part(hash) => self.parts.contains_key(hash),
            Entry::ToolSet(hash) => self.sets.contains_key(hash),
            Entry::Seen(hash) => self.seen.contains_key(hash) || self.sights.contains_key(hash),
            Entry::Run(id) => self.runs.contains_key(id),
            Entry::Node(hash) => self.nodes.contains_key(hash) || self.below.contains_key(hash),
            Entry::Thread(id) => self.threads.iter().any(|arrived| arrived.thread.id == *id),
            Entry::Id(id) => self.briefs.contains_key(id),
            entry => self.plain.contains_key(entry),
        }
    }

    pub(super) fn waiting_set(&self, hash: &Hash) -> Option<&ToolSet> {
        self.sets.get(hash)
    }

    pub(super) fn part_bytes(&self, hash: &Hash) -> Option<&Bytes> {
        self.parts.get(hash)
    }

    pub(super) async fn part(
        &mut self,
        ledger: &Ledger,
        ns: &Namespace,
        hash: Hash,
        bytes: Bytes,
    ) -> Result<Fate, Error> {
        if self.parts.contains_key(&hash) || ledger.raw(ns, &Entry::Part(hash)).await?.is_some() {
            return Ok(Fate::Matched);
        }
        self.bytes += bytes.len();
        self.records += 1;
        self.parts.insert(hash, bytes);
        Ok(Fate::Stored)
    }

    pub(super) fn tool(&mut self, tool: Tool) {
        if self.tools.len() >= TOOLS {
            self.tools.clear();
        }
        self.tools.insert(tool.hash(), tool);
    }

    pub(super) fn set(&mut self, hash: Hash, set: ToolSet) {
        self.records += 1 + set.tools.len();
        self.sets.insert(hash, set);
    }

    pub(super) fn saw(&mut self, hash: Hash, seen: Seen) {
        if self.sights.len() >= TOOLS {
            self.sights.clear();
        }
        self.sights.insert(hash, seen);
    }

    pub(super) fn plain(&mut self, entry: Entry, payload: Bytes) {
        self.bytes += payload.len();
        self.records += 1;
        let value = Packed::new(payload).seal(&entry.key());
        self.plain.insert(entry, value);
    }

    /// A page of a journal that waits for its coordination.
    pub(super) fn page(&mut self, coordination: CoordinationId, line: u64, first: u64, payload: Bytes) {
        let waiting = self.pages.get_or_insert_with(|| Pages { coordination, line, pages: Vec::new(), bytes: 0 });
        waiting.bytes += payload.len();
        waiting.pages.push((first, payload));
    }

    /// A coordination, with the pages of its journal that waited for it.
    pub(super) fn coordination(&mut self, id: CoordinationId, payload: Bytes) {
        let waiting = self.pages.take().map(|waiting| waiting.pages).unwrap_or_default();
        for (first, page) in waiting {
            self.plain(Entry::Journal(id.clone(), first), page);
        }
        self.plain(Entry::Coordination(id), payload);
    }

    /// A thread with its head, its documents, and the moves that waited for it.
    pub(super) fn thread(&mut self, thread: Thread, head: Head, live: Option<Live>) {
        let moves = self.moves.take().map(|waiting| waiting.moves).unwrap_or_default();
        self.records += 1 + moves.len();
        self.threads.push(Arrived { thread, head, live, moves });
    }

    /// A move that waits for its thread.
    pub(super) fn moved(&mut self, thread: ThreadId, line: u64, number: u64, moved: Move) {
        let waiting = self.moves.get_or_insert_with(|| Moves { thread, line, moves: Vec::new() });
        waiting.moves.push((number, moved));
    }

    pub(super) fn node(&mut self, hash: Hash, node: Node) {
        let bytes = match &node {
            Node::Leaf(documents) => {
                documents.iter().map(|document| document.name.len() + document.metadata_json.len() + 256).sum()
            }
            Node::Inner { children, .. } => children.iter().map(|child| child.last.len() + 64).sum::<usize>(),
        };
        self.bytes += bytes;
        self.records += 1;
        self.nodes.insert(hash, node);
    }

    /// A node that waits, or would be stored by a dry run, as the one above it names it; with its level.
    pub(super) fn below(&self, hash: &Hash) -> Option<(u32, Child)> {
        let waiting = self.nodes.get(hash).map(|node| (node.level(), named(*hash, node)));
        waiting.or_else(|| self.below.get(hash).cloned())
    }

    /// An exchange that waits for its run, after one at a place that is known when it is stored.
    pub(super) fn wait(&mut self, run: RunId, line: u64, exchange: Exchange, after: Option<Place>) {
        self.briefs.insert(exchange.id, Brief::of(&exchange));
        let group = self.group.get_or_insert_with(|| Group { run, line, exchanges: Vec::new() });
        group.exchanges.push((exchange, after));
    }

    /// The run of the exchanges that wait, or one that has none.
    pub(super) fn run(&mut self, run: Run) {
        self.records += 1;
        self.runs.insert(run.id.clone(), run);
        if let Some(group) = self.group.take() {
            for (exchange, after) in group.exchanges {
                self.exchange(exchange, after);
            }
        }
    }

    /// An exchange that needs to wait for nothing.
    pub(super) fn exchange(&mut self, exchange: Exchange, after: Option<Place>) {
        let said = exchange.messages.iter().map(crate::domain::message::Message::content_bytes).sum::<usize>();
        self.bytes += said + exchange.assistant.content_bytes() + 1_024;
        self.records += 1;
        let id = exchange.id;
        if let Lineage::Seen(hash) = exchange.lineage
            && let Some(seen) = self.sights.remove(&hash)
        {
            self.seen.insert(hash, seen);
        }
        self.briefs.insert(id, Brief::of(&exchange));
        let at = exchange.parent.and_then(|parent| self.tails.remove(&parent));
        let at = match at {
            Some(at) => at,
            None => {
                self.chains.push(Chain { exchanges: Vec::new(), after });
                self.chains.len() - 1
            }
        };
        if let Some(chain) = self.chains.get_mut(at) {
            chain.exchanges.push(exchange);
        }
        self.tails.insert(id, at);
    }

    /// Whether an exchange can be stored after one that waits, in the same write.
    pub(super) fn follows(&self, parent: ExchangeId) -> bool {
        self.tails.contains_key(&parent)
            || self
                .group
                .as_ref()
                .is_some_and(|group| group.exchanges.last().is_some_and(|(last, _)| last.id == parent))
    }

    /// Stores everything but exchanges that wait for their run. Gives what somebody else stored in the meantime: kind and bytes.
    pub(super) async fn flush(&mut self, ledger: &Ledger, ns: &Namespace) -> Result<Vec<(Kind, usize)>, Error> {
        let mut raced = Vec::new();
        loop {
            let changes = self.changes();
            match ledger.commit(ns, &changes).await? {
                Ok(()) => break,
                Err(lost) => self.give_way(ledger, ns, &lost, &mut raced).await?,
            }
        }
        for chain in self.chains.drain(..) {
            for exchange in chain.exchanges {
                self.briefs.remove(&exchange.id);
            }
        }
        self.tails.clear();
        self.runs.clear();
        self.threads.clear();
        self.parts.clear();
        self.sets.clear();
        self.seen.clear();
        self.nodes.clear();
        while !self.plain.is_empty() {
            let entries: Vec<(Entry, Bytes)> = self.plain.clone().into_iter().collect();
            let guards = entries.iter().map(|(entry, _)| Guard::Absent(entry.key())).collect();
            let puts = entries.iter().map(|(entry, value)| (entry.key(), value.clone())).collect();
            match ledger.store().commit(ns, Write { guards, puts, ..Write::default() }).await? {
                Commit::Done => self.plain.clear(),
                Commit::Refused { guard, .. } => {
                    if let Some((entry, value)) = entries.get(guard) {
                        self.plain.remove(entry);
                        raced.push((entry.kind(), value.len()));
                    }
                }
            }
        }
        (self.bytes, self.records) = (0, 0);
        self.anchor(ledger, ns).await?;
        Ok(raced)
    }

    /// Exchanges that wait for their run may follow one that was stored just now.
    async fn anchor(&mut self, ledger: &Ledger, ns: &Namespace) -> Result<(), Error> {
        if let Some((first, after)) = self.group.as_mut().and_then(|group| group.exchanges.first_mut())
            && let Some(parent) = first.parent
        {
            *after = ledger.place(ns, parent).await?;
        }
        Ok(())
    }

    /// Remembers what would be stored, and not its content, but for large parts: the exchanges that name them are checked with them.
    pub(super) fn pretend(&mut self) {
        self.pretended.extend(std::mem::take(&mut self.runs).into_keys().map(Entry::Run));
        self.pretended.extend(self.threads.drain(..).map(|arrived| Entry::Thread(arrived.thread.id)));
        let nodes = std::mem::take(&mut self.nodes);
        self.below.extend(nodes.into_iter().map(|(hash, node)| (hash, (node.level(), named(hash, &node)))));
        self.pretended.extend(std::mem::take(&mut self.plain).into_keys());
        self.pretended.extend(std::mem::take(&mut self.seen).into_keys().map(Entry::Seen));
        self.chains.clear();
        self.tails.clear();
        self.records = 0;
    }

    fn changes(&self) -> Changes {
        let mut changes = Changes::new();
        for run in self.runs.values() {
            changes.create_run(run);
        }
        for Arrived { thread, head, live, moves } in &self.threads {
            changes.create_thread(thread, head);
            if let Some(live) = live {
                changes.keep_workspace(&thread.id, live);
            }
            for (number, moved) in moves {
                changes.add_move(&thread.id, *number, moved);
            }
        }
        changes.keep_nodes(self.nodes.clone());
        for set in self.sets.values() {
            changes.tool_set(set);
        }
        for seen in self.seen.values() {
            changes.seen(seen);
        }
        for (hash, bytes) in &self.parts {
            changes.keep_bytes(*hash, bytes.clone());
        }
        for chain in &self.chains {
            changes.append(chain.exchanges.clone(), chain.after);
        }
        changes
    }

    /// Leaves out what somebody else stored since it was looked for.
    async fn give_way(
        &mut self,
        ledger: &Ledger,
        ns: &Namespace,
        lost: &Lost,
        raced: &mut Vec<(Kind, usize)>,
    ) -> Result<(), Error> {
        match lost {
            Lost::RunExists(id) => {
                self.runs.remove(id);
                raced.push((Kind::Run, 0));
            }
            Lost::ThreadExists(id) => {
                if let Some(at) = self.threads.iter().position(|arrived| arrived.thread.id == *id) {
                    let arrived = self.threads.remove(at);
                    raced.extend(arrived.live.map(|_| (Kind::Workspace, 0)));
                    raced.extend(arrived.moves.iter().map(|_| (Kind::Move, 0)));
                }
                raced.push((Kind::Thread, 0));
            }
            Lost::ExchangeExists(id) => {
                let Some(place) = ledger.place(ns, *id).await? else {
                    return Err(Error::Unavailable(format!("exchange {id} comes and goes: import again")));
                };
                // Those of a chain that are there are its beginning: what follows goes after them.
                for chain in &mut self.chains {
                    if let Some(at) = chain.exchanges.iter().position(|exchange| exchange.id == *id) {
                        chain.exchanges.drain(..=at);
                        chain.after = Some(place);
                        raced.extend((0..=at).map(|_| (Kind::Exchange, 0)));
                    }
                }
            }
            lost => return Err(Error::Unavailable(format!("{lost}: import again"))),
        }
        Ok(())
    }
}

/// A node as the one above it names it.
pub(super) fn named(hash: Hash, node: &Node) -> Child {
    let last = match node {
        Node::Leaf(documents) => documents.last().map(|document| &document.name),
        Node::Inner { children, .. } => children.last().map(|child| &child.last),
    };
    let (documents, bytes) = node.sums();
    Child { last: last.cloned().unwrap_or_default(), hash, documents, bytes }
}
