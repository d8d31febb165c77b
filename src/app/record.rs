//! Recording: exchanges that the caller executed itself, stored once, with what is stored already recognised by its content. It must not
//! call a provider.

use std::collections::BTreeMap;

use crate::domain::content::Hasher;
use crate::domain::exchange::{Exchange, Origin};
use crate::domain::fault::{Fault, Reason};
use crate::domain::graph::{self, Segment};
use crate::domain::id::{CallId, ExchangeId, Hash, Namespace, RunId};
use crate::domain::message::Message;
use crate::domain::pairing;
use crate::domain::run::{Run, State, StopReason};
use crate::domain::settings::Validation;
use crate::domain::thread::{Expected, Head, NewThread, Thread};
use crate::domain::tool::ToolSet;
use crate::domain::transcript::{self, Cut};
use crate::domain::usage::Usage;
use crate::store::ledger::{Changes, Lost, Token};

use super::base::{Parent, empty_thread, head_moved, responder};
use super::thread::Repeatable;
use super::turn::{Facts, ThreadRef, ThreadState};
use super::{App, Caller, store_fault};

/// A transcript to store.
#[derive(Clone)]
pub struct Transcript {
    /// The messages.
    pub messages: Vec<Message>,
    /// Where they begin.
    pub start: TranscriptStart,
    /// The thread whose head moves to the end.
    pub thread: Option<TranscriptThread>,
    /// What is known of the calls, by the index of their assistant message.
    pub facts: BTreeMap<usize, Facts>,
    /// Labels of what is new.
    pub labels: BTreeMap<String, String>,
}

/// Where a transcript begins.
#[derive(Clone, Debug)]
pub enum TranscriptStart {
    /// At a root.
    Root,
    /// After an exchange.
    After(ExchangeId),
    /// After the head of its thread.
    AfterHead,
}

/// The thread of a transcript.
#[derive(Clone)]
pub enum TranscriptThread {
    /// One that is there.
    Existing(ThreadRef),
    /// One to make.
    New(NewThread),
}

/// What was stored and what was there.
#[derive(Clone)]
pub struct Recorded {
    /// One for each assistant message.
    pub exchanges: Vec<RecordedExchange>,
    /// Facts that were not used: the index of their message and the fields.
    pub ignored_facts: Vec<(usize, Vec<&'static str>)>,
    /// The thread as it is now.
    pub thread: Option<ThreadState>,
    /// This is what an earlier call brought.
    pub replayed: bool,
}

/// An exchange of a transcript.
#[derive(Clone, Debug)]
pub struct RecordedExchange {
    /// Its id.
    pub id: ExchangeId,
    /// Its run.
    pub run_id: Option<RunId>,
    /// The index of its assistant message.
    pub message_index: usize,
    /// It was there.
    pub matched: bool,
}

/// How often a record is tried again when a thread without an expected head moved in between.
const TRIES: usize = 8;

/// A transcript with its cuts and the hash that each would have.
struct Cuts {
    cuts: Vec<Cut>,
    hashes: Vec<Hash>,
}

/// The stored part of a transcript.
struct Known {
    /// The exchange before the first new one.
    last: Option<Parent>,
    /// The matched exchanges.
    matched: Vec<Exchange>,
}

impl App {
    /// Stores what of a transcript is not there yet.
    ///
    /// # Errors
    /// When it cannot be cut, its calls and results do not pair up, or its thread has gone elsewhere.
    pub async fn record(
        &self,
        caller: &Caller,
        transcript: Transcript,
        repeat: &Repeatable,
    ) -> Result<Recorded, Fault> {
        let namespace = &caller.namespace;
        let cuts =
            transcript::cut(&transcript.messages).map_err(|error| malformed(&error, transcript.messages.len()))?;
        check_facts(&transcript.facts, &cuts)?;
        if let Some(ids) = self.repeated(namespace, repeat).await? {
            return self.recorded_before(caller, &ids, &transcript, &cuts).await;
        }
        for _ in 0..TRIES {
            if let Some(recorded) = self.try_record(caller, &transcript, cuts.clone(), repeat).await? {
                return Ok(recorded);
            }
        }
        let message =
            "the thread moved again and again while the transcript was stored: call again, or name an expected head";
        Err(Fault::new(Reason::HeadMoved, message).retry_after(100))
    }

    /// Absent when the thread moved and the caller expected no certain head.
    async fn try_record(
        &self,
        caller: &Caller,
        transcript: &Transcript,
        cuts: Vec<Cut>,
        repeat: &Repeatable,
    ) -> Result<Option<Recorded>, Fault> {
        let namespace = &caller.namespace;
        let thread = match &transcript.thread {
            Some(TranscriptThread::Existing(at)) => Some(self.thread_to_move(namespace, at).await?),
            Some(TranscriptThread::New(_)) | None => None,
        };
        let start = self.transcript_start(namespace, transcript, thread.as_ref()).await?;
        let open: Vec<_> = start.iter().flat_map(|parent| parent.exchange.assistant.tool_calls()).cloned().collect();
        let paired = pairing::pair(&open, transcript.messages.clone(), || self.new_call_id())
            .map_err(|error| unpaired(&error))?;
        let messages = paired.messages;
        let hashes = hashes(namespace, start.as_ref(), &cuts, &messages);
        let cuts = Cuts { cuts, hashes };
        let head = thread.as_ref().map(|(_, head, _)| head);
        let known = self.known(namespace, start, &cuts, head).await?;
        let new = self.new_exchanges(namespace, transcript, &cuts, messages, &known).await?;
        let recorded = described(&cuts, &known, &new);
        let ignored_facts = ignored(&cuts, known.matched.len(), &transcript.facts);
        let last_id = recorded.last().map(|exchange| exchange.id);
        let mut changes = Changes::new();
        for run in &new.runs {
            changes.create_run(run);
        }
        for tools in &new.tools {
            changes.tool_set(tools);
        }
        if !new.exchanges.is_empty() {
            changes.append(new.exchanges.clone(), known.last.as_ref().and_then(|parent| parent.place));
        }
        let end = new.exchanges.last().or(known.matched.last()).or(known.last.as_ref().map(|parent| &parent.exchange));
        let moved = match end {
            Some(end) => self.move_thread(namespace, transcript, thread, end, &known, &mut changes).await?,
            None => None,
        };
        if new.exchanges.is_empty() && moved.as_ref().is_none_or(|(_, _, changed)| !changed) {
            let thread = moved.map(|(thread, head, _)| ThreadState { thread, head, pending: None });
            return Ok(Some(Recorded { exchanges: recorded, ignored_facts, thread, replayed: false }));
        }
        self.accept_work()?;
        let ids: Vec<String> = recorded.iter().map(|exchange| exchange.id.to_string()).collect();
        let matched = known.matched.len();
        let at = moved.as_ref().map_or("", |(thread, _, _)| thread.id.as_str());
        self.remember(&mut changes, repeat, "record", &format!("{matched} {at}\n{}", ids.join("\n")));
        match self.ledger.commit(namespace, &changes).await.map_err(store_fault)? {
            Ok(()) => {}
            Err(lost) => return self.lost(namespace, transcript, lost).await,
        }
        tracing::debug!(name: "record.stored", exchanges = new.exchanges.len(), matched, last = ?last_id);
        let thread = moved.map(|(thread, head, _)| ThreadState { thread, head, pending: None });
        Ok(Some(Recorded { exchanges: recorded, ignored_facts, thread, replayed: false }))
    }

    async fn lost(
        &self,
        namespace: &Namespace,
        transcript: &Transcript,
        lost: Lost,
    ) -> Result<Option<Recorded>, Fault> {
        match lost {
            Lost::HeadMoved(id) => match &transcript.thread {
                Some(TranscriptThread::Existing(at)) if at.expected != Expected::Any => {
                    let (_, head, _) = self.read_thread(namespace, &id).await?;
                    Err(head_moved(&id, at.expected, &head))
                }
                _ => Ok(None),
            },
            Lost::ThreadExists(id) => Err(super::thread::exists(&id)),
            Lost::RunExists(id) | Lost::RunChanged(id) => {
                let message = format!("run id `{id}` is on record for another exchange: take a new one");
                Err(Fault::new(Reason::RunIdConflict, message).with("run_id", id))
            }
            Lost::RequestExists(id) => {
                let message = format!("request id `{id}` is used by another call at this moment: repeat this one");
                Err(Fault::new(Reason::RequestIdConflict, message).with("request_id", id))
            }
            Lost::ThreadChanged(_) => Ok(None),
            Lost::ExchangeExists(id) | Lost::ParentMissing(id) => Err(super::misplaced(id)),
        }
    }

    async fn recorded_before(
        &self,
        caller: &Caller,
        ids: &str,
        transcript: &Transcript,
        cuts: &[Cut],
    ) -> Result<Recorded, Fault> {
        let mut lines = ids.lines();
        let (matched, thread) = lines.next().and_then(|line| line.split_once(' ')).unwrap_or(("0", ""));
        let matched: usize = matched.parse().unwrap_or_default();
        let mut exchanges = Vec::new();
        for (index, (line, cut)) in lines.zip(cuts).enumerate() {
            let id: ExchangeId =
                line.parse().map_err(|_| Fault::new(Reason::StoreCorrupt, "a remembered record names no exchange"))?;
            let run_id = self.parent(&caller.namespace, id).await?.exchange.run_id;
            exchanges.push(RecordedExchange { id, run_id, message_index: cut.assistant, matched: index < matched });
        }
        let ignored = cuts
            .iter()
            .take(matched)
            .filter_map(|cut| transcript.facts.get(&cut.assistant).map(|facts| (cut.assistant, fields(facts))));
        let thread = match thread {
            "" => None,
            id => self.thread_state(&caller.namespace, &crate::domain::id::ThreadId::new(id)).await?,
        };
        Ok(Recorded { exchanges, ignored_facts: ignored.collect(), thread, replayed: true })
    }

    async fn thread_to_move(&self, namespace: &Namespace, at: &ThreadRef) -> Result<(Thread, Head, Token), Fault> {
        if let Some(busy) = self.flights.busy_with(namespace, &at.id) {
            let message =
                format!("thread `{}` is busy with run `{busy}`: wait for it, or record without the thread", at.id);
            return Err(Fault::new(Reason::ThreadBusy, message).with("thread_id", &at.id).with("active_run_id", busy));
        }
        let (thread, head, token) = self.read_thread(namespace, &at.id).await?;
        if !at.expected.holds(head.exchange) {
            return Err(head_moved(&at.id, at.expected, &head));
        }
        Ok((thread, head, token))
    }

    async fn transcript_start(
        &self,
        namespace: &Namespace,
        transcript: &Transcript,
        thread: Option<&(Thread, Head, Token)>,
    ) -> Result<Option<Parent>, Fault> {
        let id = match (&transcript.start, thread) {
            (TranscriptStart::Root, _) => return Ok(None),
            (TranscriptStart::After(id), _) => *id,
            (TranscriptStart::AfterHead, Some((thread, head, _))) => match head.exchange {
                Some(id) => id,
                None => return Err(empty_thread(&thread.id)),
            },
            (TranscriptStart::AfterHead, None) => {
                return Err(Fault::field(
                    "after_head",
                    "needs `existing_thread`: name the thread whose head the messages continue",
                ));
            }
        };
        Ok(Some(self.parent(namespace, id).await?))
    }

    /// Finds the longest stored prefix: a cut is stored exactly when those before it are, so the search halves.
    async fn known(
        &self,
        namespace: &Namespace,
        start: Option<Parent>,
        cuts: &Cuts,
        head: Option<&Head>,
    ) -> Result<Known, Fault> {
        let on_thread = match head {
            Some(head) => self.head_path(namespace, head).await?.unwrap_or_default(),
            None => Vec::new(),
        };
        let (mut low, mut high) = (0, cuts.hashes.len());
        let mut found = None;
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            let hash = cuts.hashes.get(middle - 1);
            let candidate = match hash {
                Some(hash) => self.stored_as(namespace, hash, start.as_ref(), &on_thread).await?,
                None => None,
            };
            match candidate {
                Some(candidate) => {
                    found = Some(candidate);
                    low = middle;
                }
                None => high = middle - 1,
            }
        }
        let Some((last, path)) = found else {
            return Ok(Known { last: start, matched: Vec::new() });
        };
        let from = start.as_ref().map_or(1, |parent| parent.exchange.depth.saturating_add(1));
        let mut matched = Vec::with_capacity(low);
        let mut depth = from;
        while matched.len() < low {
            let page = self
                .ledger
                .exchanges(namespace, &path, depth, low - matched.len(), usize::MAX)
                .await
                .map_err(store_fault)?;
            if page.is_empty() {
                return Err(Fault::new(Reason::StoreCorrupt, "a stored path has gaps: run `antiphon verify`"));
            }
            depth = depth.saturating_add(page.len() as u64);
            matched.extend(page);
        }
        Ok(Known { last: Some(last), matched })
    }

    /// The stored exchange of a content hash that continues `start`: the one on the thread's path, else the oldest.
    async fn stored_as(
        &self,
        namespace: &Namespace,
        hash: &Hash,
        start: Option<&Parent>,
        on_thread: &[Segment],
    ) -> Result<Option<(Parent, Vec<Segment>)>, Fault> {
        let mut oldest = None;
        for id in self.ledger.with_content(namespace, hash).await.map_err(store_fault)? {
            let parent = self.parent(namespace, id).await?;
            let Some(place) = parent.place else { continue };
            let path = self.ledger.path(namespace, place).await.map_err(store_fault)?;
            if !continues(&path, start) {
                continue;
            }
            if graph::contains(on_thread, place) {
                return Ok(Some((parent, path)));
            }
            oldest.get_or_insert((parent, path));
        }
        Ok(oldest)
    }

    async fn new_exchanges(
        &self,
        namespace: &Namespace,
        transcript: &Transcript,
        cuts: &Cuts,
        messages: Vec<Message>,
        known: &Known,
    ) -> Result<New, Fault> {
        let mut new = New::default();
        let mut messages: Vec<Option<Message>> = messages.into_iter().map(Some).collect();
        let mut take = |index: usize| messages.get_mut(index).and_then(Option::take);
        // Results in the transcript name the transcript's calls; where those are stored, the stored ones are meant.
        let mut rename = renamed(known, cuts, &mut take);
        let mut previous = known.last.as_ref().map(|parent| parent.exchange.clone());
        for (cut, hash) in cuts.cuts.iter().zip(&cuts.hashes).skip(known.matched.len()) {
            let mut own: Vec<Message> = cut.messages.clone().filter_map(&mut take).collect();
            rename_results(&mut own, &rename);
            rename.clear();
            let Some(assistant) = take(cut.assistant) else {
                return Err(Fault::new(Reason::Internal, "an answer of a transcript was used twice"));
            };
            let facts = transcript.facts.get(&cut.assistant).cloned().unwrap_or_default();
            let run_id = new.run_for(previous.as_ref(), &facts, || self.new_run_id());
            let standing = match (&facts.tools, &previous) {
                (Some(tools), _) => tools.hash(),
                (None, Some(previous)) => previous.standing,
                (None, None) => None,
            };
            new.tools.extend(facts.tools.clone());
            let exchange =
                self.recorded(previous.as_ref(), own, assistant, *hash, run_id, &facts, standing, transcript);
            new.add(exchange.clone(), self.clock.now(), transcript);
            previous = Some(exchange);
        }
        for run in &new.runs {
            if self.flights.find(namespace, &run.id).is_some() {
                let message = format!("run id `{}` is at work with another request: take a new one", run.id);
                return Err(Fault::new(Reason::RunIdConflict, message).with("run_id", &run.id));
            }
        }
        Ok(new)
    }

    #[expect(clippy::too_many_arguments, reason = "each is one part of the record that is put together here")]
    fn recorded(
        &self,
        previous: Option<&Exchange>,
        messages: Vec<Message>,
        assistant: Message,
        content_hash: Hash,
        run_id: RunId,
        facts: &Facts,
        standing: Option<Hash>,
        transcript: &Transcript,
    ) -> Exchange {
        let pending = assistant.tool_calls().next().is_some();
        let same_run = previous.filter(|previous| previous.run_id.as_ref() == Some(&run_id));
        let (continues, continues_run) = match (same_run, previous) {
            (Some(same), _) => (same.continues, same.continues_run.clone()),
            (None, Some(previous)) => (Some(previous.id), previous.run_id.clone()),
            (None, None) => (None, None),
        };
        Exchange {
            id: self.new_exchange_id(),
            parent: previous.map(|previous| previous.id),
            continues,
            continues_run,
            run_id: Some(run_id),
            depth: previous.map_or(1, |previous| previous.depth.saturating_add(1)),
            turn: previous.map_or(1, Exchange::next_turn),
            thread_id: match &transcript.thread {
                Some(TranscriptThread::Existing(at)) => Some(at.id.clone()),
                Some(TranscriptThread::New(new)) => new.id.clone(),
                None => None,
            },
            origin: Origin::Recorded,
            stop_reason: facts.stop_reason.unwrap_or(if pending { StopReason::ToolCalls } else { StopReason::Stop }),
            stop_reason_raw: String::new(),
            offered: facts.tools.as_ref().and_then(ToolSet::hash),
            standing,
            settings: Vec::new(),
            validation: Validation::default(),
            usage: facts.usage.clone().map_or_else(Usage::default, |usage| Usage { reported: true, ..usage }),
            observations: Vec::new(),
            warnings: Vec::new(),
            responder: responder(facts),
            content_hash,
            labels: transcript.labels.clone(),
            created_at: self.clock.now(),
            messages,
            assistant,
        }
    }

    /// Moves or makes the transcript's thread; gives it as it will be, and whether that is a change.
    async fn move_thread(
        &self,
        namespace: &Namespace,
        transcript: &Transcript,
        thread: Option<(Thread, Head, Token)>,
        end: &Exchange,
        known: &Known,
        changes: &mut Changes,
    ) -> Result<Option<(Thread, Head, bool)>, Fault> {
        let now = self.clock.now();
        let head = |before: Head| Head {
            exchange: Some(end.id),
            run_id: end.run_id.clone(),
            turn_count: end.turn,
            active_run: None,
            sequence: before.sequence.saturating_add(1),
            updated_at: now,
        };
        match (&transcript.thread, thread) {
            (Some(TranscriptThread::New(new)), _) => {
                let thread = self.make_thread(namespace, new).await?;
                let head = head(Head::default());
                changes.create_thread(&thread, &head);
                Ok(Some((thread, head, true)))
            }
            (Some(TranscriptThread::Existing(_)), Some((thread, before, token))) => {
                self.check_goes_through(namespace, &thread, &before, end, known).await?;
                if before.exchange == Some(end.id) {
                    return Ok(Some((thread, before, false)));
                }
                let after = head(before);
                changes.replace_head(&thread.id, &after, &token);
                Ok(Some((thread, after, true)))
            }
            (Some(TranscriptThread::Existing(_)), None) | (None, _) => Ok(None),
        }
    }

    /// The transcript must go through the thread's head, so that moving the head forgets nothing.
    async fn check_goes_through(
        &self,
        namespace: &Namespace,
        thread: &Thread,
        head: &Head,
        end: &Exchange,
        known: &Known,
    ) -> Result<(), Fault> {
        let Some(id) = head.exchange else {
            return Ok(());
        };
        let stored_end = known.last.as_ref().map(|parent| &parent.exchange);
        let through = match (self.ledger.place(namespace, id).await.map_err(store_fault)?, &known.last) {
            (Some(place), Some(Parent { place: Some(last), .. })) => {
                let path = self.ledger.path(namespace, *last).await.map_err(store_fault)?;
                graph::contains(&path, place)
            }
            _ => false,
        };
        if through && stored_end.is_some_and(|stored| stored.depth <= end.depth) {
            return Ok(());
        }
        let message = format!(
            "the transcript does not go through the head of thread `{}`, {id}: record it without the thread and fork, or read what the thread has since",
            thread.id
        );
        Err(Fault::new(Reason::ThreadDiverged, message).with("thread_id", &thread.id).with("head_exchange_id", id))
    }
}

/// What a record adds.
#[derive(Default)]
struct New {
    exchanges: Vec<Exchange>,
    runs: Vec<Run>,
    tools: Vec<ToolSet>,
}

impl New {
    /// Exchanges that tool results join are one run.
    fn run_for(&self, previous: Option<&Exchange>, facts: &Facts, fresh: impl FnOnce() -> RunId) -> RunId {
        match (self.runs.last(), previous) {
            (Some(run), Some(previous)) if previous.is_pending() => run.id.clone(),
            _ => facts.run_id.clone().unwrap_or_else(fresh),
        }
    }

    fn add(&mut self, exchange: Exchange, now: crate::domain::id::Moment, transcript: &Transcript) {
        if let Some(run) = self.runs.last_mut().filter(|run| Some(&run.id) == exchange.run_id.as_ref()) {
            run.exchange = Some(exchange.id);
            run.exchange_count = run.exchange_count.saturating_add(1);
            run.stop_reason = Some(exchange.stop_reason);
        } else if let Some(id) = &exchange.run_id {
            self.runs.push(Run {
                id: id.clone(),
                state: State::Completed,
                captured: true,
                exchange: Some(exchange.id),
                exchange_count: 1,
                from: exchange.continues,
                thread_id: exchange.thread_id.clone(),
                attempt: 1,
                fingerprint: exchange.content_hash,
                steps: Vec::new(),
                owner: String::new(),
                observations: Vec::new(),
                failure: None,
                stop_reason: Some(exchange.stop_reason),
                labels: transcript.labels.clone(),
                created_at: now,
                updated_at: now,
            });
        }
        self.exchanges.push(exchange);
    }
}

fn continues(path: &[Segment], start: Option<&Parent>) -> bool {
    match start {
        None => true,
        Some(Parent { place: Some(place), .. }) => graph::contains(path, *place),
        Some(Parent { place: None, .. }) => false,
    }
}

fn hashes(namespace: &Namespace, start: Option<&Parent>, cuts: &[Cut], messages: &[Message]) -> Vec<Hash> {
    let hasher = Hasher::new(namespace);
    let mut parent = start.map(|start| start.exchange.content_hash);
    let mut open: Vec<CallId> =
        start.iter().flat_map(|start| start.exchange.assistant.tool_calls()).map(|call| call.call_id.clone()).collect();
    let mut hashes = Vec::with_capacity(cuts.len());
    for cut in cuts {
        let (Some(own), Some(assistant)) = (messages.get(cut.messages.clone()), messages.get(cut.assistant)) else {
            continue;
        };
        let hash = hasher.exchange(parent.as_ref(), &open, own, assistant);
        open = assistant.tool_calls().map(|call| call.call_id.clone()).collect();
        parent = Some(hash);
        hashes.push(hash);
    }
    hashes
}

/// Which ids of the transcript's calls stand for which stored ones, at the seam between what is stored and what is new.
fn renamed(known: &Known, cuts: &Cuts, take: &mut impl FnMut(usize) -> Option<Message>) -> Vec<(CallId, CallId)> {
    let seam = known.matched.len().checked_sub(1).and_then(|index| cuts.cuts.get(index));
    let (Some(cut), Some(stored)) = (seam, known.matched.last()) else {
        return Vec::new();
    };
    let Some(assistant) = take(cut.assistant) else {
        return Vec::new();
    };
    let pairs = assistant.tool_calls().zip(stored.assistant.tool_calls());
    pairs.map(|(given, stored)| (given.call_id.clone(), stored.call_id.clone())).collect()
}

fn rename_results(messages: &mut [Message], names: &[(CallId, CallId)]) {
    for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
        if let crate::domain::message::Kind::ToolResult(result) = &mut part.kind
            && let Some((_, stored)) = names.iter().find(|(given, _)| *given == result.call_id)
        {
            result.call_id = stored.clone();
        }
    }
}

fn described(cuts: &Cuts, known: &Known, new: &New) -> Vec<RecordedExchange> {
    let matched = known.matched.iter().map(|exchange| (exchange, true));
    let new = new.exchanges.iter().map(|exchange| (exchange, false));
    let exchanges = matched.chain(new).zip(&cuts.cuts);
    exchanges
        .map(|((exchange, matched), cut)| RecordedExchange {
            id: exchange.id,
            run_id: exchange.run_id.clone(),
            message_index: cut.assistant,
            matched,
        })
        .collect()
}

fn ignored(cuts: &Cuts, matched: usize, facts: &BTreeMap<usize, Facts>) -> Vec<(usize, Vec<&'static str>)> {
    let matched = cuts.cuts.iter().take(matched);
    matched.filter_map(|cut| facts.get(&cut.assistant).map(|facts| (cut.assistant, fields(facts)))).collect()
}

fn fields(facts: &Facts) -> Vec<&'static str> {
    [
        (facts.run_id.is_some(), "run_id"),
        (!facts.provider.is_empty(), "provider"),
        (!facts.model.is_empty(), "model"),
        (facts.stop_reason.is_some(), "stop_reason"),
        (facts.usage.is_some(), "usage"),
        (facts.tools.is_some(), "tools"),
    ]
    .into_iter()
    .filter_map(|(given, name)| given.then_some(name))
    .collect()
}

fn check_facts(facts: &BTreeMap<usize, Facts>, cuts: &[Cut]) -> Result<(), Fault> {
    match facts.keys().find(|index| cuts.iter().all(|cut| cut.assistant != **index)) {
        Some(index) => {
            Err(Fault::field("facts.message_index", format!("{index} is not the index of an assistant message")))
        }
        None => Ok(()),
    }
}

fn malformed(error: &transcript::Error, count: usize) -> Fault {
    let index = match error {
        transcript::Error::Empty => 0,
        transcript::Error::Trailing(index) | transcript::Error::Unanswered(index) => *index,
    };
    Fault::new(Reason::TranscriptMalformed, error.to_string())
        .at(format!("messages[{index}]"), error.to_string())
        .with("message_index", index)
        .with("messages", count)
}

fn unpaired(error: &pairing::Error) -> Fault {
    let index = match error {
        pairing::Error::Unanswered { index, .. }
        | pairing::Error::Unknown { index, .. }
        | pairing::Error::Duplicate { index, .. }
        | pairing::Error::SharedId { index, .. } => *index,
    };
    Fault::new(Reason::TranscriptMalformed, error.to_string())
        .at(format!("messages[{index}]"), error.to_string())
        .with("message_index", index)
}
