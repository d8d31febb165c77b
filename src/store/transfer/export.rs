//! Writing an export: one moment of a store as lines, in an order in which each record comes after those that it names. The same moment gives
//! the same lines, so that what broke off can go on. It must not know who reads them.

use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;

use tokio::sync::mpsc;

use super::choice::{Choice, Wanted, choose, named};
use super::lean::{Names, names};
use super::line::{self, Header, Piece, Record};
use super::{CHUNK, Chunk, PIECE, Summary};
use crate::domain::graph::Place;
use crate::domain::id::{CoordinationId, ExchangeId, Hash, RunId, ThreadId};
use crate::domain::message::Message;
use crate::domain::run::Run;
use crate::domain::workspace::{Live, Move, Node, Root};
use crate::store::layout::{self, Entry, Kind};
use crate::store::record::exchange::without_documents;
use crate::store::record::{
    JournalPage, LeanBody, PlanRecord, PreparedRecord, Standing, Stored, ThreadRecord, corrupt, decode, open,
};
use crate::store::verify::Named;
use crate::store::{Error, Ledger, Namespace, Range};

/// How many records are in memory at a time.
const PAGE: usize = 256;

/// What to export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The namespaces, each whole or in part.
    pub namespaces: Vec<(Namespace, Option<Vec<Wanted>>)>,
    /// Names the moment of the store.
    pub snapshot_id: String,
    /// When that was, in milliseconds since 1970.
    pub created_at_ms: u64,
    /// Lines up to this number are not sent again.
    pub after_line: u64,
    /// Documents are left out, and nothing tells that there were any.
    pub omit_documents: bool,
}

/// Why an export ended early.
#[derive(Debug)]
pub enum Stopped {
    /// Nobody receives its lines any more.
    Gone,
    /// The store failed, or what it holds is damaged.
    Store(Error),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// Writes an export of the moment that a ledger shows, as fast as its lines are taken.
///
/// # Errors
/// When nobody takes them, or the store fails or is damaged.
pub async fn export(ledger: &Ledger, what: &Export, out: &mpsc::Sender<Chunk>) -> Result<Summary, Stopped> {
    let mut lines = Lines::new(out, what.after_line);
    let namespaces = what.namespaces.iter().map(|(namespace, _)| namespace.to_string()).collect();
    let (snapshot_id, created_at_ms) = (what.snapshot_id.clone(), what.created_at_ms);
    let is_without_documents = what.omit_documents;
    lines.put(&Header { snapshot_id, created_at_ms, namespaces, is_without_documents }.line()?).await?;
    for (ns, wanted) in &what.namespaces {
        lines.put(&line::namespace(ns)?).await?;
        let mut walk = Walk {
            ledger,
            ns,
            lines: &mut lines,
            with_documents: !what.omit_documents,
            sent: HashSet::new(),
            ahead: HashSet::new(),
        };
        match wanted {
            None => walk.whole().await?,
            Some(wanted) => walk.chosen(choose(ledger, ns, wanted).await?).await?,
        }
    }
    lines.end().await
}

/// Lines on their way out.
struct Lines<'a> {
    out: &'a mpsc::Sender<Chunk>,
    after: u64,
    pending: Chunk,
    summary: Summary,
    hasher: blake3::Hasher,
}

impl<'a> Lines<'a> {
    fn new(out: &'a mpsc::Sender<Chunk>, after: u64) -> Self {
        let pending = Chunk { first_line: 0, lines: String::new() };
        Self { out, after, pending, summary: Summary::default(), hasher: blake3::Hasher::new() }
    }

    async fn put(&mut self, line: &str) -> Result<(), Stopped> {
        self.hasher.update(line.as_bytes()).update(b"\n");
        self.summary.lines += 1;
        self.summary.bytes += line.len() as u64 + 1;
        if self.summary.lines <= self.after {
            return Ok(());
        }
        if self.pending.lines.is_empty() {
            self.pending.first_line = self.summary.lines;
        }
        self.pending.lines.push_str(line);
        self.pending.lines.push('\n');
        if self.pending.lines.len() >= CHUNK { self.send().await } else { Ok(()) }
    }

    async fn send(&mut self) -> Result<(), Stopped> {
        if self.pending.lines.is_empty() {
            return Ok(());
        }
        let empty = Chunk { first_line: 0, lines: String::new() };
        let chunk = std::mem::replace(&mut self.pending, empty);
        self.out.send(chunk).await.map_err(|_| Stopped::Gone)
    }

    fn count(&mut self, kind: Kind, bytes: usize) {
        self.summary.records.entry(kind).or_default().add(bytes);
    }

    async fn record(&mut self, record: &Record) -> Result<(), Stopped> {
        self.count(record.kind, record.payload.len());
        self.put(&record.line()?).await
    }

    async fn end(mut self) -> Result<Summary, Stopped> {
        let words = self.summary.records.iter().map(|(kind, amount)| (line::word(*kind), amount.count));
        let records: BTreeMap<String, u64> = words.collect();
        let line = line::end(self.summary.lines, records, &self.hasher.finalize().to_hex())?;
        self.put(&line).await?;
        self.send().await?;
        self.summary.blake3 = self.hasher.finalize().to_hex().to_string();
        Ok(self.summary)
    }
}

/// One namespace on its way out.
struct Walk<'a, 'b> {
    ledger: &'a Ledger,
    ns: &'a Namespace,
    lines: &'a mut Lines<'b>,
    with_documents: bool,
    /// What is written once: parts, nodes of versions of documents, sets, tools and what paths have seen of them.
    sent: HashSet<Entry>,
    /// Exchanges that were written before their turn, which is in the order of their ids.
    ahead: HashSet<ExchangeId>,
}

impl Walk<'_, '_> {
    async fn whole(&mut self) -> Result<(), Stopped> {
        let mut range = Range::prefix(&[Kind::Id.letter()], PAGE);
        loop {
            let entries = self.ledger.store().scan(self.ns, range.clone()).await?;
            let Some((last, _)) = entries.last() else { break };
            range.from = Bound::Excluded(last.clone());
            for (key, raw) in &entries {
                if let Some(entry) = Entry::of_key(key)
                    && let Entry::Id(id) = entry
                {
                    self.turn_of(id, decode(&entry, raw)?).await?;
                }
            }
        }
        self.each(Kind::Run).await?;
        self.each(Kind::Thread).await?;
        self.each(Kind::Coordination).await?;
        self.each(Kind::Prepared).await?;
        self.each(Kind::Request).await?;
        self.each(Kind::Pin).await?;
        self.each(Kind::Expiry).await?;
        self.each(Kind::Receipt).await?;
        self.each(Kind::Erasing).await
    }

    async fn chosen(&mut self, choice: Choice) -> Result<(), Stopped> {
        for (id, place) in choice.exchanges {
            self.turn_of(id, place).await?;
        }
        for id in choice.threads {
            if let Some((head, _)) = self.ledger.head(self.ns, &id).await?
                && let Some(active) = &head.active_run
            {
                self.run_alone(active).await?;
            }
            self.thread(&id).await?;
        }
        Ok(())
    }

    /// Every record of a kind that does not come with an exchange.
    async fn each(&mut self, kind: Kind) -> Result<(), Stopped> {
        let mut after = None;
        loop {
            let entries = self.ledger.store().scan(self.ns, layout::all(kind, after.as_ref(), PAGE)).await?;
            let is_last = entries.len() < PAGE;
            for (key, raw) in entries {
                let Some(entry) = Entry::of_key(&key) else { continue };
                match &entry {
                    // Those that have exchanges came with them.
                    Entry::Run(id) if decode::<Run>(&entry, &raw)?.exchange.is_none() => self.run(id).await?,
                    Entry::Thread(id) => self.thread(id).await?,
                    Entry::Coordination(id) => {
                        self.journal(id).await?;
                        self.named(Named::by(&decode(&entry, &raw)?)).await?;
                        self.plain(&entry, String::new()).await?;
                    }
                    Entry::Prepared(_) => {
                        let record: PreparedRecord = decode(&entry, &raw)?;
                        for set in record.plan.offered.into_iter().chain(record.plan.standing) {
                            self.set(set).await?;
                        }
                        self.plain(&entry, String::new()).await?;
                    }
                    Entry::Pin(_) | Entry::Expiry(..) | Entry::Receipt(_) | Entry::Erasing(_) => {
                        self.plain(&entry, String::new()).await?;
                    }
                    Entry::Request(id) => self.plain(&entry, id.to_string()).await?,
                    _ => {}
                }
                after = Some(entry);
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// The journal of a coordination, which comes before it and is stored with it.
    async fn journal(&mut self, id: &CoordinationId) -> Result<(), Stopped> {
        // The first page has frame 1 or a later one.
        let mut after = 0;
        loop {
            let entries = self.ledger.store().scan(self.ns, layout::pages_after(id, after, PAGE)).await?;
            let is_last = entries.len() < PAGE;
            for (key, raw) in entries {
                let Some(entry) = Entry::of_key(&key) else { continue };
                let page: JournalPage = decode(&entry, &raw)?;
                let mut named = Named::default();
                page.frames.iter().for_each(|frame| named.add(frame));
                after = page.first;
                self.named(named).await?;
                self.plain(&entry, id.to_string()).await?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// An exchange whose turn it is, in the order of ids, with those before it that come after it in that order.
    async fn turn_of(&mut self, id: ExchangeId, place: Place) -> Result<(), Stopped> {
        if self.ahead.remove(&id) {
            return Ok(());
        }
        let mut chain = vec![(id, names(self.ledger, self.ns, place).await?)];
        // Ids have the time in them: a clock that was put back makes children that come before their parents.
        while let Some(parent) = chain.last().and_then(|(_, names)| names.parent)
            && parent > id
            && !self.ahead.contains(&parent)
        {
            chain.push((parent, self.named_exchange(parent).await?));
        }
        while let Some((each, names)) = chain.pop() {
            if !self.ahead.contains(&each) {
                self.group(id, names).await?;
            }
        }
        self.ahead.remove(&id);
        Ok(())
    }

    /// An exchange with all that its run has after it, and the run.
    async fn group(&mut self, turn: ExchangeId, names: Names) -> Result<(), Stopped> {
        let (id, run_id) = (names.id, names.run_id.clone());
        self.exchange(names).await?;
        self.ahead.insert(id);
        let Some(run_id) = run_id else { return Ok(()) };
        let entry = Entry::Run(run_id.clone());
        let Some((run, _)) = self.ledger.run(self.ns, &run_id).await? else {
            return Err(corrupt(&entry, "it is missing, and an exchange names it").into());
        };
        let mut chain = Vec::new();
        let mut next = run.exchange.filter(|last| *last != id);
        while let Some(each) = next.filter(|each| *each != id && *each >= turn && !self.ahead.contains(each)) {
            let names = self.named_exchange(each).await?;
            if names.run_id.as_ref() != Some(&run_id) {
                break;
            }
            next = names.parent;
            chain.push(names);
        }
        while let Some(names) = chain.pop() {
            self.ahead.insert(names.id);
            self.exchange(names).await?;
        }
        self.run(&run_id).await
    }

    async fn named_exchange(&self, id: ExchangeId) -> Result<Names, Stopped> {
        let entry = Entry::Id(id);
        let place = self.ledger.place(self.ns, id).await?.ok_or_else(|| corrupt(&entry, "it is missing"))?;
        Ok(names(self.ledger, self.ns, place).await?)
    }

    async fn exchange(&mut self, names: Names) -> Result<(), Stopped> {
        for hash in names.parts {
            self.part(hash).await?;
        }
        for hash in names.sets {
            self.set(hash).await?;
        }
        if let Some(hash) = names.seen
            && self.sent.insert(Entry::Seen(hash))
        {
            self.plain(&Entry::Seen(hash), String::new()).await?;
        }
        for root in &names.roots {
            self.version(Some(*root)).await?;
        }
        let payload = match (self.with_documents, names.roots.is_empty()) {
            (false, false) => without_documents(names.payload)
                .map_err(|malformed| Error::Corrupt(format!("exchange {} cannot be read: {malformed}", names.id)))?,
            _ => names.payload,
        };
        self.lines.record(&Record::plain(Kind::Exchange, String::new(), payload)).await
    }

    async fn run(&mut self, id: &RunId) -> Result<(), Stopped> {
        let entry = Entry::Run(id.clone());
        let raw = self.ledger.raw(self.ns, &entry).await?.ok_or_else(|| corrupt(&entry, "it is missing"))?;
        let run: Run = decode(&entry, &raw)?;
        self.version(run.workspace).await?;
        let payload = match run.workspace {
            Some(_) if !self.with_documents => Run { workspace: None, ..run }.payload(),
            _ => open(&entry, &raw)?,
        };
        self.lines.record(&Record::plain(Kind::Run, String::new(), payload)).await
    }

    /// A version of documents with all that is below it, each node after those that it names.
    async fn version(&mut self, root: Root) -> Result<(), Stopped> {
        if !self.with_documents {
            return Ok(());
        }
        let mut ahead: Vec<(Hash, bool)> = root.map(|root| (root, false)).into_iter().collect();
        while let Some((hash, is_next)) = ahead.pop() {
            let entry = Entry::Node(hash);
            if is_next {
                self.plain(&entry, hash.to_string()).await?;
                continue;
            }
            if !self.sent.insert(entry) {
                continue;
            }
            ahead.push((hash, true));
            match self.ledger.node(self.ns, hash).await? {
                Node::Leaf(documents) => {
                    for document in &documents {
                        for part in self.ledger.content_of(self.ns, document).await? {
                            self.part(part).await?;
                        }
                    }
                }
                Node::Inner { children, .. } => ahead.extend(children.iter().rev().map(|child| (child.hash, false))),
            }
        }
        Ok(())
    }

    /// The moves of a thread's head that no exchange tells of, the last one first. They come before their thread, and are stored with it.
    async fn moves(&mut self, id: &ThreadId) -> Result<(), Stopped> {
        let mut before = u64::MAX;
        loop {
            let moves = self.ledger.moves(self.ns, id, before, PAGE).await?;
            let Some((last, _)) = moves.last() else { return Ok(()) };
            before = *last;
            for (_, moved) in &moves {
                self.version(moved.workspace.before).await?;
                self.version(moved.workspace.after).await?;
            }
            for (number, moved) in moves {
                let moved = if self.with_documents { moved } else { Move { workspace: Default::default(), ..moved } };
                self.lines.record(&Record::plain(Kind::Move, line::key_of_move(id, number), moved.payload())).await?;
            }
        }
    }

    /// A run that did not come with its exchanges, because it has none.
    async fn run_alone(&mut self, id: &RunId) -> Result<(), Stopped> {
        match self.ledger.run(self.ns, id).await? {
            Some((run, _)) if run.exchange.is_none() => {
                // What it continued is on the way to its thread's head, or was never stored.
                let mut is_whole = true;
                for exchange in named(&run) {
                    is_whole &= self.ledger.place(self.ns, exchange).await?.is_some();
                }
                if is_whole { self.run(id).await } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    async fn thread(&mut self, id: &ThreadId) -> Result<(), Stopped> {
        let entry = Entry::Thread(id.clone());
        let Some(raw) = self.ledger.raw(self.ns, &entry).await? else { return Ok(()) };
        if let Standing::Set(hash) = decode::<ThreadRecord>(&entry, &raw)?.standing {
            self.set(hash).await?;
        }
        let head = Entry::Head(id.clone());
        let kept = self.ledger.raw(self.ns, &head).await?.ok_or_else(|| corrupt(&head, "it is missing"))?;
        let (payload, head) = (open(&entry, &raw)?, Some(open(&head, &kept)?));
        let live = Entry::Workspace(id.clone());
        let workspace = match self.ledger.raw(self.ns, &live).await? {
            Some(raw) if self.with_documents => {
                self.version(decode::<Live>(&live, &raw)?.root).await?;
                Some(open(&live, &raw)?)
            }
            _ => None,
        };
        if let Some(live) = &workspace {
            self.lines.count(Kind::Workspace, live.len());
        }
        self.moves(id).await?;
        self.lines.record(&Record { kind: Kind::Thread, key: String::new(), payload, head, workspace }).await
    }

    /// What coordinations and their journals name and keep as content.
    async fn named(&mut self, named: Named) -> Result<(), Stopped> {
        for hash in named.results {
            let bytes = self.present(hash).await?;
            let lean = LeanBody::<Message>::new(bytes).and_then(|mut lean| lean.parts());
            self.body(hash, lean.map_err(|malformed| corrupt(&Entry::Part(hash), malformed))?).await?;
        }
        for hash in named.plans {
            let bytes = self.present(hash).await?;
            let lean = LeanBody::<PlanRecord>::new(bytes).and_then(|mut lean| lean.parts());
            self.body(hash, lean.map_err(|malformed| corrupt(&Entry::Part(hash), malformed))?).await?;
            let plan = self.ledger.plan(self.ns, hash).await?;
            for set in plan.offer.offered.hash().into_iter().chain(plan.offer.standing.hash()) {
                self.set(set).await?;
            }
        }
        Ok(())
    }

    async fn body(&mut self, hash: Hash, parts: Vec<Hash>) -> Result<(), Stopped> {
        for part in parts {
            self.part(part).await?;
        }
        self.part(hash).await
    }

    async fn set(&mut self, hash: Hash) -> Result<(), Stopped> {
        let entry = Entry::ToolSet(hash);
        if !self.sent.insert(entry.clone()) {
            return Ok(());
        }
        for tool in &self.ledger.tool_set(self.ns, Some(hash)).await?.tools {
            let tool = Entry::Tool(tool.hash());
            if self.sent.insert(tool.clone()) {
                self.plain(&tool, String::new()).await?;
            }
        }
        self.plain(&entry, String::new()).await
    }

    async fn part(&mut self, hash: Hash) -> Result<(), Stopped> {
        if !self.sent.insert(Entry::Part(hash)) {
            return Ok(());
        }
        let bytes = self.present(hash).await?;
        self.lines.count(Kind::Part, bytes.len());
        let size = bytes.len() as u64;
        let mut offset = 0;
        loop {
            let end = bytes.len().min(offset + PIECE);
            let piece = Piece { hash, size, offset: offset as u64, data: bytes.slice(offset..end) };
            self.lines.put(&piece.line()?).await?;
            offset = end;
            if offset >= bytes.len() {
                return Ok(());
            }
        }
    }

    async fn present(&self, hash: Hash) -> Result<bytes::Bytes, Stopped> {
        let part = self.ledger.part(self.ns, hash).await?;
        part.ok_or_else(|| corrupt(&Entry::Part(hash), "it is missing").into())
    }

    /// A record that is written as it is.
    async fn plain(&mut self, entry: &Entry, key: String) -> Result<(), Stopped> {
        let raw = self.ledger.raw(self.ns, entry).await?.ok_or_else(|| corrupt(entry, "it is missing"))?;
        self.lines.record(&Record::plain(entry.kind(), key, open(entry, &raw)?)).await
    }
}
