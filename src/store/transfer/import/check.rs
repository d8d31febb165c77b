//! Judging a record before it is stored: it must be whole, agree with its content, and name only what is there. It must not store anything.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::batch::{Brief, named as child_of};
use super::erased;
use super::{Fate, Options, Space};
use crate::domain::coordination::{Coordination, PendingId};
use crate::domain::drift::{Lineage, Seen};
use crate::domain::exchange::Exchange;
use crate::domain::id::{CoordinationId, ExchangeId, Hash, RequestId};
use crate::domain::message::Message;
use crate::domain::retention::{Erasing, Expiry, Pin, Receipt};
use crate::domain::run::Run;
use crate::domain::thread::Head;
use crate::domain::tool::{Tool, ToolSet};
use crate::domain::workspace::{Content, Live, Move, Node};
use crate::store::layout::{Entry, Kind};
use crate::store::record::exchange::Lean;
use crate::store::record::{
    JournalPage, LeanBody, Malformed, PlanRecord, PreparedRecord, Remembered, Standing, Stored, ThreadRecord,
    ToolHashes, hash_of, pieces_of_list,
};
use crate::store::transfer::choice::named;
use crate::store::transfer::line::{Record, Wrong, move_of_key};
use crate::store::verify::Named;
use crate::store::{Error, Ledger};

/// What a group of exchanges may have at most before its run comes.
const MAX_GROUP: usize = 100_000;
/// What a journal may have at most before its coordination comes, in bytes.
const MAX_JOURNAL: usize = 256 << 20;

/// Why a record is not taken.
pub(super) enum Problem {
    /// It is wrong in itself, or names what is not there.
    Wrong(Wrong),
    /// Exchanges before it wait for a run that it is not of.
    Unfinished,
    /// Another one is there in its place.
    Conflict(Wrong),
    /// The store failed.
    Store(Error),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl From<Malformed> for Problem {
    fn from(malformed: Malformed) -> Self {
        Self::Wrong(Wrong::new("malformed_record", format!("cannot be used: {malformed}")))
    }
}

fn dangling(what: impl std::fmt::Display) -> Problem {
    Problem::Wrong(Wrong::new(
        "missing_reference",
        format!("names {what}, which neither the lines before it nor the store have"),
    ))
}

fn wrong(code: &'static str, message: impl Into<String>) -> Problem {
    Problem::Wrong(Wrong::new(code, message))
}

/// Checks a record and puts it with what waits to be stored.
pub(super) async fn record(
    ledger: &Ledger,
    space: &mut Space,
    options: &Options,
    record: Record,
    line: u64,
) -> Result<Fate, Problem> {
    let mut check = Check { ledger, space, options, line };
    let Record { kind, key, payload, head, workspace } = record;
    match kind {
        Kind::Exchange => check.exchange(payload).await,
        Kind::Run => check.run(payload).await,
        Kind::Thread => check.thread(payload, head.unwrap_or_default(), workspace).await,
        Kind::Node => check.node(&key, payload).await,
        Kind::Move => check.moved(&key, payload).await,
        Kind::Tool => {
            let tool = Tool::from_payload(payload)?;
            let fate = check.fate(&Entry::Tool(tool.hash())).await?;
            check.space.batch.tool(tool);
            Ok(fate)
        }
        Kind::ToolSet => check.set(payload).await,
        Kind::Seen => {
            let seen = Seen::from_payload(payload)?;
            let hash = seen.hash().ok_or_else(|| wrong("malformed_record", "has no tools"))?;
            let fate = check.fate(&Entry::Seen(hash)).await?;
            if fate == Fate::Stored {
                check.space.batch.saw(hash, seen);
            }
            Ok(fate)
        }
        Kind::Coordination => check.coordination(payload).await,
        Kind::Journal => check.journal(&key, payload).await,
        Kind::Prepared => check.prepared(payload).await,
        Kind::Pin => {
            let pin = Pin::from_payload(payload.clone())?;
            check.plain(Entry::Pin(check.name(&pin.id)?), payload).await
        }
        Kind::Receipt => {
            let receipt = Receipt::from_payload(payload.clone())?;
            check.plain(Entry::Receipt(check.name(&receipt.id)?), payload).await
        }
        Kind::Erasing => {
            let id = check.name(&Erasing::from_payload(payload.clone())?.receipt.id)?;
            // One that was done here is not begun again.
            match check.is_there(&Entry::Receipt(id.clone())).await? {
                true => Ok(Fate::Matched),
                false => check.plain(Entry::Erasing(id), payload).await,
            }
        }
        Kind::Expiry => {
            let expiry = Expiry::from_payload(payload.clone())?;
            let hash = hash_of(&expiry.target);
            // One that is set here stays as it is.
            let fate = check.plain(Entry::Due(hash), payload.clone()).await?;
            if fate == Fate::Stored {
                check.space.batch.plain(Entry::Expiry(expiry.at, hash), payload);
            }
            Ok(fate)
        }
        Kind::Request => {
            Remembered::from_payload(payload.clone())?;
            let id = key.parse().map_err(|_| wrong("malformed_record", "has no request id as its `key`"))?;
            check.plain(Entry::Request(id), payload).await
        }
        _ => Err(wrong("unknown_kind", "is of a kind that is not imported")),
    }
}

/// What was told must be in the journal: the beginning, the end of one that is over, and what asked for that which one waits for.
fn is_told(coordination: &Coordination, pages: &[JournalPage]) -> Result<(), Problem> {
    let has = |number: u64| pages.iter().any(|page| (page.first..=page.last()).contains(&number));
    let last = coordination.state.end().map(|_| coordination.last_sequence);
    let asked = coordination.state.pending_id().and_then(PendingId::sequence);
    let is_in_order = pages.is_sorted_by(|one, next| one.last() < next.first);
    let ends = pages.last().is_none_or(|page| page.last() <= coordination.last_sequence);
    if is_in_order && ends && [Some(1), last, asked].into_iter().flatten().all(has) {
        return Ok(());
    }
    let message =
        format!("is coordination `{}`, whose journal does not come right before it and whole", coordination.id);
    Err(wrong("missing_reference", message))
}

fn names_of(page: &JournalPage) -> Named {
    let mut named = Named::default();
    page.frames.iter().for_each(|frame| named.add(frame));
    named
}

struct Check<'a> {
    ledger: &'a Ledger,
    space: &'a mut Space,
    options: &'a Options,
    line: u64,
}

impl Check<'_> {
    /// A name as keys can have it.
    fn name(&self, id: &str) -> Result<String, Problem> {
        let name: Result<RequestId, _> = id.parse();
        name.map(|name| name.to_string()).map_err(|_| wrong("malformed_record", "has an id that it cannot have"))
    }

    async fn exchange(&mut self, payload: Bytes) -> Result<Fate, Problem> {
        let mut lean = Lean::new(payload)?;
        let mut parts = BTreeMap::new();
        for hash in lean.parts()? {
            parts.insert(hash, self.part(hash).await?);
        }
        let mut exchange = lean.whole(&parts)?;
        let (hasher, id) = (&self.space.hasher, exchange.id);
        let before = match exchange.parent {
            None => None,
            Some(parent) => Some(self.brief(parent).await?.ok_or_else(|| dangling(format_args!("parent {parent}")))?),
        };
        if exchange.depth != before.as_ref().map_or(1, |before| before.depth.saturating_add(1))
            || before.as_ref().is_some_and(|before| before.turn > exchange.turn)
        {
            return Err(wrong("hash_mismatch", "has another depth or turn than follows its parent"));
        }
        let (hash, open) = before.as_ref().map_or((None, &[][..]), |before| (Some(&before.content_hash), &before.open));
        let is_whole = exchange.erased.is_none();
        let there = self.brief(id).await?;
        // What an exchange that was erased here called is not known any more; what follows it was checked when it was stored.
        let is_erased = before.as_ref().is_some_and(|before| before.is_erased)
            && there.as_ref().is_some_and(|there| there.is_erased);
        if is_whole
            && !is_erased
            && hasher.exchange(hash, open, &exchange.messages, &exchange.assistant) != exchange.content_hash
        {
            return Err(wrong("hash_mismatch", "has content that does not have its content hash"));
        }
        if let Some(there) = there {
            if there.content_hash == exchange.content_hash {
                return Ok(if there.is_erased && is_whole { Fate::Erased } else { Fate::Matched });
            }
            let message = format!("is exchange {id}, which the store has with other content");
            return Err(Problem::Conflict(Wrong::new("conflict", message)));
        }
        for set in [exchange.offered, exchange.standing].into_iter().flatten() {
            self.expect(&Entry::ToolSet(set)).await?;
        }
        if let Lineage::Seen(seen) = exchange.lineage {
            self.expect(&Entry::Seen(seen)).await?;
        }
        for root in [exchange.workspace.before, exchange.workspace.after].into_iter().flatten() {
            self.expect(&Entry::Node(root)).await?;
        }
        for (key, value) in &self.options.labels {
            exchange.labels.entry(key.clone()).or_insert_with(|| value.clone());
        }
        self.place(exchange).await
    }

    /// Puts an exchange with what waits, after what it follows.
    async fn place(&mut self, exchange: Exchange) -> Result<Fate, Problem> {
        let run = exchange.run_id.clone();
        if self.group_run().is_some() && run.as_ref() != self.group_run() {
            return Err(Problem::Unfinished);
        }
        let mut after = None;
        if let Some(parent) = exchange.parent
            && !self.space.batch.follows(parent)
        {
            if self.space.batch.group.is_some() {
                return Err(wrong("out_of_order", "does not follow the exchange before it, which is of the same run"));
            }
            // What it follows waits and is followed by another one already, or is stored.
            if self.space.batch.brief(parent).is_some() && !self.options.dry_run {
                self.space.batch.flush(self.ledger, &self.space.ns).await?;
            }
            after = self.ledger.place(&self.space.ns, parent).await?;
        }
        match run {
            Some(run) if !self.space.batch.has_run(&run) && self.ledger.run(&self.space.ns, &run).await?.is_none() => {
                let waiting = self.space.batch.group.as_ref().map_or(0, |group| group.exchanges.len());
                if waiting >= MAX_GROUP {
                    return Err(wrong(
                        "missing_run",
                        format!("is one of more than {MAX_GROUP} exchanges before the line of their run"),
                    ));
                }
                self.space.batch.wait(run, self.line, exchange, after);
            }
            _ => self.space.batch.exchange(exchange, after),
        }
        Ok(Fate::Stored)
    }

    fn group_run(&self) -> Option<&crate::domain::id::RunId> {
        self.space.batch.group.as_ref().map(|group| &group.run)
    }

    async fn run(&mut self, payload: Bytes) -> Result<Fate, Problem> {
        let mut run = Run::from_payload(payload)?;
        if self.group_run().is_some_and(|waiting| *waiting != run.id) {
            return Err(Problem::Unfinished);
        }
        if self.fate(&Entry::Run(run.id.clone())).await? == Fate::Matched {
            return Ok(Fate::Matched);
        }
        if self.group_run().is_none() && self.space.erased.has_run(self.ledger, &self.space.ns, &run).await? {
            return Ok(Fate::Erased);
        }
        for exchange in named(&run) {
            self.expect(&Entry::Id(exchange)).await?;
        }
        if let Some(root) = run.workspace {
            self.expect(&Entry::Node(root)).await?;
        }
        for (key, value) in &self.options.labels {
            run.labels.entry(key.clone()).or_insert_with(|| value.clone());
        }
        self.space.batch.run(run);
        Ok(Fate::Stored)
    }

    async fn thread(&mut self, payload: Bytes, head: Bytes, live: Option<Bytes>) -> Result<Fate, Problem> {
        let record = ThreadRecord::from_payload(payload)?;
        let head = Head::from_payload(head)?;
        let live = live.map(Live::from_payload).transpose()?;
        let (id, created_at) = (record.thread().id.clone(), record.thread().created_at);
        let _: crate::domain::id::ThreadId =
            id.as_str().parse().map_err(|_| wrong("malformed_record", "has an id that threads cannot have"))?;
        if self.fate(&Entry::Thread(id.clone())).await? == Fate::Matched {
            // Its own moves and documents stay.
            self.space.batch.moves = None;
            return Ok(Fate::Matched);
        }
        if self.space.erased.has_thread(self.ledger, &self.space.ns, &id, created_at).await? {
            return Ok(Fate::Erased);
        }
        let forked_at = record.thread().parent.as_ref().map(|parent| parent.exchange);
        for exchange in forked_at.into_iter().chain(head.exchange) {
            self.expect(&Entry::Id(exchange)).await?;
        }
        if let Some(run) = &head.active_run {
            self.expect(&Entry::Run(run.clone())).await?;
        }
        let set = match record.standing {
            Standing::Set(hash) => self.tool_set(hash).await?,
            Standing::Empty | Standing::Unset => ToolSet::default(),
        };
        if let Some(root) = live.as_ref().and_then(|live| live.root) {
            self.expect(&Entry::Node(root)).await?;
        }
        self.space.batch.thread(record.whole(set), head, live);
        Ok(Fate::Stored)
    }

    /// A move that no exchange tells of, of a thread that comes after it.
    async fn moved(&mut self, key: &str, payload: Bytes) -> Result<Fate, Problem> {
        let moved = Move::from_payload(payload)?;
        let (thread, number) =
            move_of_key(key).ok_or_else(|| wrong("malformed_record", "has no thread id and number as its `key`"))?;
        if self.fate(&Entry::Thread(thread.clone())).await? == Fate::Matched {
            return Ok(Fate::Matched);
        }
        for exchange in moved.from.into_iter().chain([moved.to]) {
            self.expect(&Entry::Id(exchange)).await?;
        }
        for root in [moved.workspace.before, moved.workspace.after].into_iter().flatten() {
            self.expect(&Entry::Node(root)).await?;
        }
        if self.space.batch.moves.as_ref().is_some_and(|waiting| waiting.moves.len() >= MAX_GROUP) {
            let message = format!("is one of more than {MAX_GROUP} moves before the line of their thread");
            return Err(wrong("missing_thread", message));
        }
        self.space.batch.moved(thread, self.line, number, moved);
        Ok(Fate::Stored)
    }

    /// A node of a version of documents, which comes after all that it names.
    async fn node(&mut self, key: &str, payload: Bytes) -> Result<Fate, Problem> {
        let node = Node::from_payload(payload)?;
        let hash = self.space.hasher.node(&node);
        if key.parse::<Hash>().ok() != Some(hash) {
            return Err(wrong("hash_mismatch", "has documents that do not have its hash"));
        }
        let names: Vec<&str> = match &node {
            Node::Leaf(documents) => documents.iter().map(|document| document.name.as_str()).collect(),
            Node::Inner { children, .. } => children.iter().map(|child| child.last.as_str()).collect(),
        };
        if !names.is_sorted_by(|one, next| one < next) {
            return Err(wrong("malformed_record", "has names that do not ascend"));
        }
        match &node {
            Node::Leaf(documents) => {
                for document in documents {
                    self.content(&document.content).await?;
                }
            }
            Node::Inner { level, children } => {
                for child in children {
                    let below = match self.space.batch.below(&child.hash) {
                        Some(below) => below,
                        None if self.is_there(&Entry::Node(child.hash)).await? => {
                            let node = self.ledger.node(&self.space.ns, child.hash).await?;
                            (node.level(), child_of(child.hash, &node))
                        }
                        None => return Err(dangling(Entry::Node(child.hash))),
                    };
                    if below.0.checked_add(1) != Some(*level) || below.1 != *child {
                        return Err(wrong("hash_mismatch", "says something else of what is below it than is there"));
                    }
                }
            }
        }
        let fate = self.fate(&Entry::Node(hash)).await?;
        if fate == Fate::Stored {
            self.space.batch.node(hash, node);
        }
        Ok(fate)
    }

    /// The content that a document names is there.
    async fn content(&self, content: &Content) -> Result<(), Problem> {
        let pieces = match content {
            Content::Pieces(pieces) => pieces.clone(),
            Content::List(list) => pieces_of_list(&self.part(*list).await?)
                .ok_or_else(|| wrong("malformed_record", "has a document whose list of pieces is none"))?,
        };
        for piece in pieces {
            self.expect(&Entry::Part(piece)).await?;
        }
        Ok(())
    }

    async fn set(&mut self, payload: Bytes) -> Result<Fate, Problem> {
        let hashes = ToolHashes::from_payload(payload)?;
        let mut tools = Vec::with_capacity(hashes.0.len());
        for hash in hashes.0 {
            let tool = match self.space.batch.tools.get(&hash) {
                Some(tool) => Some(tool.clone()),
                None => self.ledger.find_tool(&self.space.ns, hash).await?,
            };
            tools.push(tool.ok_or_else(|| dangling(Entry::Tool(hash)))?);
        }
        let set = ToolSet { tools };
        let hash = set.hash().ok_or_else(|| wrong("malformed_record", "has no tools"))?;
        let fate = self.fate(&Entry::ToolSet(hash)).await?;
        if fate == Fate::Stored {
            self.space.batch.set(hash, set);
        }
        Ok(fate)
    }

    async fn tool_set(&mut self, hash: Hash) -> Result<ToolSet, Problem> {
        if let Some(set) = self.space.batch.waiting_set(&hash) {
            return Ok(set.clone());
        }
        self.expect(&Entry::ToolSet(hash)).await?;
        Ok(self.ledger.find_tool_set(&self.space.ns, hash).await?.unwrap_or_default())
    }

    async fn coordination(&mut self, payload: Bytes) -> Result<Fate, Problem> {
        let coordination = Coordination::from_payload(payload.clone())?;
        let id = coordination.id.clone();
        if self.fate(&Entry::Coordination(id.clone())).await? == Fate::Matched {
            // Its own journal stays.
            self.space.batch.pages = None;
            return Ok(Fate::Matched);
        }
        let mut pages = Vec::new();
        for (_, page) in self.space.batch.pages.iter().flat_map(|waiting| &waiting.pages) {
            pages.push(JournalPage::from_payload(page.clone())?);
        }
        let mut exchanges = coordination.named_exchanges();
        exchanges.extend(pages.iter().flat_map(|page| names_of(page).exchanges));
        if self.was_erased(exchanges).await? {
            return Ok(Fate::Erased);
        }
        self.named(Named::by(&coordination)).await?;
        for page in &pages {
            self.named(names_of(page)).await?;
        }
        is_told(&coordination, &pages)?;
        self.space.batch.coordination(id, payload);
        Ok(Fate::Stored)
    }

    /// Whether something names what was erased here.
    async fn was_erased(&self, exchanges: impl IntoIterator<Item = ExchangeId>) -> Result<bool, Problem> {
        Ok(erased::any(self.ledger, &self.space.ns, exchanges).await?)
    }

    async fn journal(&mut self, key: &str, payload: Bytes) -> Result<Fate, Problem> {
        let page = JournalPage::from_payload(payload.clone())?;
        let id: CoordinationId =
            key.parse().map_err(|_| wrong("malformed_record", "has no coordination id as its `key`"))?;
        if self.fate(&Entry::Coordination(id.clone())).await? == Fate::Matched {
            return Ok(Fate::Matched);
        }
        let waiting = self.space.batch.pages.as_ref().map_or((0, 0), |waiting| (waiting.pages.len(), waiting.bytes));
        if waiting.0 >= MAX_GROUP || waiting.1 >= MAX_JOURNAL {
            let message = format!(
                "is one of more than {MAX_GROUP} pages, or {} MiB, before the line of their coordination",
                MAX_JOURNAL >> 20
            );
            return Err(wrong("missing_coordination", message));
        }
        self.space.batch.page(id, self.line, page.first, payload);
        Ok(Fate::Stored)
    }

    async fn prepared(&mut self, payload: Bytes) -> Result<Fate, Problem> {
        let record = PreparedRecord::from_payload(payload.clone())?;
        for set in record.plan.offered.into_iter().chain(record.plan.standing) {
            self.expect(&Entry::ToolSet(set)).await?;
        }
        if let Some(parent) = record.prepared().parent {
            self.expect(&Entry::Id(parent)).await?;
        }
        let id = record.prepared().id.clone();
        let is_new = self.fate(&Entry::Prepared(id.clone())).await? == Fate::Stored;
        if is_new && self.was_erased(record.prepared().parent).await? {
            return Ok(Fate::Erased);
        }
        self.plain(Entry::Prepared(id), payload).await
    }

    /// What a coordination or a page of its journal names.
    async fn named(&mut self, named: Named) -> Result<(), Problem> {
        for exchange in named.exchanges {
            self.expect(&Entry::Id(exchange)).await?;
        }
        for run in named.runs {
            self.expect(&Entry::Run(run)).await?;
        }
        for hash in named.results {
            let bytes = self.part(hash).await?;
            for part in LeanBody::<Message>::new(bytes)?.parts()? {
                self.expect(&Entry::Part(part)).await?;
            }
        }
        for hash in named.plans {
            let bytes = self.part(hash).await?;
            for part in LeanBody::<PlanRecord>::new(bytes)?.parts()? {
                self.expect(&Entry::Part(part)).await?;
            }
        }
        Ok(())
    }

    /// A record that is stored as it is, unless there is one.
    async fn plain(&mut self, entry: Entry, payload: Bytes) -> Result<Fate, Problem> {
        let fate = self.fate(&entry).await?;
        if fate == Fate::Stored {
            self.space.batch.plain(entry, payload);
        }
        Ok(fate)
    }

    async fn fate(&self, entry: &Entry) -> Result<Fate, Problem> {
        Ok(if self.is_there(entry).await? { Fate::Matched } else { Fate::Stored })
    }

    async fn expect(&self, entry: &Entry) -> Result<(), Problem> {
        if self.is_there(entry).await? { Ok(()) } else { Err(dangling(entry)) }
    }

    async fn is_there(&self, entry: &Entry) -> Result<bool, Problem> {
        Ok(self.space.batch.has(entry) || self.ledger.raw(&self.space.ns, entry).await?.is_some())
    }

    async fn part(&self, hash: Hash) -> Result<Bytes, Problem> {
        match self.space.batch.part_bytes(&hash) {
            Some(bytes) => Ok(bytes.clone()),
            None => self.ledger.part(&self.space.ns, hash).await?.ok_or_else(|| dangling(Entry::Part(hash))),
        }
    }

    async fn brief(&self, id: ExchangeId) -> Result<Option<Brief>, Problem> {
        if let Some(brief) = self.space.batch.brief(id) {
            return Ok(Some(brief.clone()));
        }
        Ok(self.ledger.exchange(&self.space.ns, id).await?.map(|(exchange, _)| Brief::of(&exchange)))
    }
}
