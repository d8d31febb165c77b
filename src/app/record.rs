//! Recording: exchanges that the caller executed itself, stored once, with what is stored already recognised by its content. It must not
//! call a provider.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::exchange::{Exchange, Origin};
use crate::domain::fault::{Fault, Reason};
use crate::domain::graph;
use crate::domain::id::{ExchangeId, Hash, Namespace, RunId};
use crate::domain::message::Message;
use crate::domain::pairing;
use crate::domain::thread::{Expected, Head, NewThread, Thread, Unanswered};
use crate::domain::transcript::{self, Cut};
use crate::domain::workspace::{Around, Live, Move, Root};
use crate::store::ledger::{Changes, Lost, Token};

use super::base::{Parent, empty_thread, head_moved, unanswered};
use super::thread::Repeatable;
use super::turn::{Facts, ThreadRef, ThreadState};
use super::{App, Caller, drift, store_fault};

mod added;
mod known;

use added::New;
use known::{Known, hashes};

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
    /// How it came to be here: told by its caller, or with an import.
    pub origin: Origin,
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

impl App {
    /// Stores what of a transcript is not there yet.
    ///
    /// # Errors
    /// When it cannot be cut, its calls and results do not pair up, or its thread has gone elsewhere.
    pub async fn record(
        &self,
        caller: &Caller,
        mut transcript: Transcript,
        repeat: &Repeatable,
    ) -> Result<Recorded, Fault> {
        let namespace = &caller.namespace;
        let cuts =
            transcript::cut(&transcript.messages).map_err(|error| malformed(&error, transcript.messages.len()))?;
        check_facts(&transcript.facts, &cuts)?;
        if let Some(ids) = self.repeated(namespace, repeat).await? {
            return self.recorded_before(caller, &ids, &transcript, &cuts).await;
        }
        if let Some(TranscriptThread::New(new)) = &mut transcript.thread {
            // What is recorded names its thread, so the id is decided before.
            new.id.get_or_insert_with(|| self.new_thread_id());
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

    /// How many exchanges of a transcript from a root would be stored, and how many are there. Nothing is written.
    ///
    /// # Errors
    /// When it cannot be cut, or its calls and results do not pair up.
    pub async fn try_transcript(&self, caller: &Caller, transcript: &Transcript) -> Result<(usize, usize), Fault> {
        let cuts =
            transcript::cut(&transcript.messages).map_err(|error| malformed(&error, transcript.messages.len()))?;
        check_facts(&transcript.facts, &cuts)?;
        let paired =
            pairing::pair(&[], transcript.messages.clone(), || self.new_call_id()).map_err(|error| unpaired(&error))?;
        let hashes = hashes(&caller.namespace, None, &cuts, &paired.messages);
        let total = cuts.len();
        let known = self.known(&caller.namespace, None, &Cuts { cuts, hashes }, None).await?;
        Ok((total.saturating_sub(known.matched.len()), known.matched.len()))
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
        let mut new = self.new_exchanges(namespace, transcript, &cuts, messages, &known).await?;
        let (live, live_token) = match &thread {
            Some((thread, _, _)) => self.ledger.workspace(namespace, &thread.id).await.map_err(store_fault)?,
            None => (Live::default(), None),
        };
        new.on_thread(thread.as_ref().map(|(_, head, _)| (head, live.root)), transcript.thread.is_some());
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
        for seen in &new.seen {
            changes.seen(seen);
        }
        if let Some((thread, _, _)) = &thread {
            changes.hold_workspace(&thread.id, live_token.as_ref());
        }
        if !new.exchanges.is_empty() {
            // They name the documents of the one before them, which may be erased meanwhile.
            changes.hold_version(known.last.as_ref().and_then(|parent| parent.exchange.workspace.after));
            changes.append(new.exchanges.clone(), known.last.as_ref().and_then(|parent| parent.place));
        }
        let end = new
            .exchanges
            .last()
            .or(known.matched.last().map(Arc::as_ref))
            .or(known.last.as_ref().map(|parent| &parent.exchange));
        let moved = match end {
            Some(end) => {
                let is_new = !new.exchanges.is_empty();
                self.move_thread(namespace, transcript, (thread, live.root), (end, is_new), &known, &mut changes)
                    .await?
            }
            None => None,
        };
        if new.exchanges.is_empty() && moved.as_ref().is_none_or(|(_, _, changed)| !changed) {
            let thread = match moved {
                Some((thread, _, _)) => self.thread_state(namespace, &thread.id).await?,
                None => None,
            };
            return Ok(Some(Recorded { exchanges: recorded, ignored_facts, thread, replayed: false }));
        }
        self.accept_work()?;
        let ids: Vec<String> = recorded.iter().map(|exchange| exchange.id.to_string()).collect();
        let matched = known.matched.len();
        let at = moved.as_ref().map_or("", |(thread, _, _)| thread.id.as_str());
        self.remember(&mut changes, repeat, "record", &format!("{matched} {at}\n{}", ids.join("\n")));
        let _footing = match &known.last {
            Some(last) => Some(self.stand_on(namespace, last.exchange.id, None).await?),
            None => None,
        };
        match self.commit(namespace, &changes).await.map_err(store_fault)? {
            Ok(()) => {}
            Err(lost) => return self.lost(namespace, transcript, lost).await,
        }
        drift::tell(&new.drifts, &self.meters);
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
            Lost::ThreadChanged(_)
            | Lost::WorkspaceChanged(_)
            | Lost::VersionGone(_)
            | Lost::CoordinationExists(_)
            | Lost::CoordinationChanged(_)
            | Lost::PreparedChanged(_) => Ok(None),
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
        let (thread, head, token) = self.read_thread(namespace, &at.id).await?;
        // In this order: a run that claims the thread after it was read moves what was read.
        if let Some(busy) = self.threads.busy_with(namespace, &at.id) {
            let message =
                format!("thread `{}` is busy with run `{busy}`: wait for it, or record without the thread", at.id);
            return Err(Fault::new(Reason::ThreadBusy, message).with("thread_id", &at.id).with("active_run_id", busy));
        }
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

    /// Moves or makes the transcript's thread; gives it as it will be, and whether that is a change.
    async fn move_thread(
        &self,
        namespace: &Namespace,
        transcript: &Transcript,
        (thread, root): (Option<(Thread, Head, Token)>, Root),
        (end, is_new): (&Exchange, bool),
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
                let root = end.workspace.after;
                changes.begin_workspace(&thread.id, &Live { root, sequence: 0, updated_at: now });
                changes.create_thread(&thread, &head);
                if !is_new {
                    let moved = Move { from: None, to: end.id, workspace: Around::still(root), at: now };
                    changes.add_move(&thread.id, head.sequence, &moved);
                }
                Ok(Some((thread, head, true)))
            }
            (Some(TranscriptThread::Existing(at)), Some((thread, before, token))) => {
                self.check_goes_through(namespace, &thread, &before, end, known).await?;
                if before.exchange == Some(end.id) {
                    return Ok(Some((thread, before, false)));
                }
                if at.unanswered == Unanswered::Reject {
                    self.check_answers(namespace, &before, known).await?;
                }
                let from = before.exchange;
                let after = head(before);
                if !is_new {
                    // No exchange tells of it.
                    let moved = Move { from, to: end.id, workspace: Around::still(root), at: now };
                    changes.add_move(&thread.id, after.sequence, &moved);
                }
                changes.replace_head(&thread.id, &after, &token);
                Ok(Some((thread, after, true)))
            }
            (Some(TranscriptThread::Existing(_)), None) | (None, _) => Ok(None),
        }
    }

    /// A run that waits for results is not brushed aside: the transcript has its calls, and then their results, or does not go onto the thread.
    async fn check_answers(&self, namespace: &Namespace, head: &Head, known: &Known) -> Result<(), Fault> {
        let Some((place, pending, _)) = self.pending(namespace, head).await? else {
            return Ok(());
        };
        let path = match known.last.as_ref().and_then(|last| last.place) {
            Some(last) => self.ledger.path(namespace, last).await.map_err(store_fault)?,
            None => Vec::new(),
        };
        if graph::contains(&path, place) { Ok(()) } else { Err(unanswered(&pending)) }
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

fn described(cuts: &Cuts, known: &Known, new: &New) -> Vec<RecordedExchange> {
    let matched = known.matched.iter().map(|exchange| (exchange.as_ref(), true));
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
    let way_out = match error {
        pairing::Error::Unanswered { .. } => ": send their results right after them, as messages of the role TOOL",
        _ => "",
    };
    Fault::new(Reason::TranscriptMalformed, format!("{error}{way_out}"))
        .at(format!("messages[{index}]"), error.to_string())
        .with("message_index", index)
}
