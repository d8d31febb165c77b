//! Where a turn starts: the exchange before it, the thread that it moves, and the rules that may forbid it. It must not know models or how
//! a turn is executed.

use crate::domain::content::Hasher;
use crate::domain::drift::Seen;
use crate::domain::exchange::{Exchange, HeadBefore, Origin, Responder};
use crate::domain::fault::{Fault, Reason};
use crate::domain::graph::Place;
use crate::domain::id::{CallId, ExchangeId, Hash, Namespace, RunId, ThreadId};
use crate::domain::message::{Message, ToolCall};
use crate::domain::pairing;
use crate::domain::run::{Observation, Run, State, StopReason};
use crate::domain::settings::Validation;
use crate::domain::thread::{Expected, Head, NewThread, OnBusy, Thread, Unanswered};
use crate::domain::tool::ToolSet;
use crate::domain::usage::Usage;
use crate::domain::workspace::{Around, Root};
use crate::store::ledger::Token;

use super::busy::{Asks, Occupied};
use super::turn::{Base, Facts, ForkBase, Input, ThreadRef, Turn, UncapturedPrefix, parent_of};
use super::{App, join, store_fault};

/// Where a turn starts.
pub(super) struct Start {
    /// The exchange before it.
    pub(super) parent: Option<Parent>,
    /// A prefix that was not captured, to be stored in the same write as the new exchange.
    pub(super) prefix: Option<Prefix>,
    /// The thread that it moves.
    pub(super) thread: Option<StartThread>,
    /// Results that mark given-up calls, before the turn's own messages.
    pub(super) interruption: Option<Message>,
    /// The run whose calls were given up.
    pub(super) given_up: Option<(Run, Token)>,
    /// Keeps other turns off the thread.
    pub(super) occupied: Option<Occupied>,
    /// Ids by which the caller may name calls, each with the call's own.
    pub(super) renamed: Vec<(CallId, CallId)>,
}

/// The exchange before a turn.
pub(super) struct Parent {
    /// The exchange.
    pub(super) exchange: Exchange,
    /// Where it lies; absent for a prefix that is not stored yet.
    pub(super) place: Option<Place>,
}

/// An exchange that was not captured, with its run.
pub(super) struct Prefix {
    /// The exchange, complete.
    pub(super) exchange: Exchange,
    /// Its run as it will be on record.
    pub(super) run: Run,
    /// The run that is on record.
    pub(super) replaces: Option<Token>,
    /// The tools that it offered.
    pub(super) tools: ToolSet,
}

impl Prefix {
    /// The tools that its path, which is itself, has seen.
    pub(super) fn seen(&self) -> Seen {
        Seen::default().after(&self.tools, self.exchange.id)
    }
}

/// The thread that a turn moves.
pub(super) enum StartThread {
    /// It is made by the claim, with these documents.
    Create(Thread, Head, Root),
    /// It is there.
    Move(Thread, Head, Token),
}

/// What a thread waits for: the exchange whose calls have no results, with its run where that waits.
pub(super) type Pending = (Place, Exchange, Option<(Run, Token)>);

impl StartThread {
    pub(super) fn thread(&self) -> &Thread {
        match self {
            Self::Create(thread, _, _) | Self::Move(thread, _, _) => thread,
        }
    }

    pub(super) fn head(&self) -> &Head {
        match self {
            Self::Create(_, head, _) | Self::Move(_, head, _) => head,
        }
    }
}

impl Start {
    pub(super) fn at(parent: Option<Parent>, thread: Option<StartThread>) -> Self {
        Self { parent, prefix: None, thread, interruption: None, given_up: None, occupied: None, renamed: Vec::new() }
    }

    /// The exchange that the turn goes on from, where it is stored.
    pub(super) fn stored_parent(&self) -> Option<ExchangeId> {
        self.parent.as_ref().filter(|parent| parent.place.is_some()).map(|parent| parent.exchange.id)
    }

    /// Calls that the turn's messages must answer first; those that an interruption answers are answered.
    pub(super) fn open_calls(&self) -> Vec<ToolCall> {
        match &self.parent {
            Some(parent) => parent.exchange.assistant.tool_calls().cloned().collect(),
            None => Vec::new(),
        }
    }
}

impl App {
    /// Resolves where a turn starts, which may have to wait for others on its thread.
    pub(super) async fn resolve_base(
        &self,
        namespace: &Namespace,
        turn: &Turn,
        asks: &mut Asks<'_>,
    ) -> Result<Start, Fault> {
        match &turn.base {
            Base::Root => Ok(Start::at(None, None)),
            Base::NewThread(new) => {
                let thread = self.make_thread(namespace, new).await?;
                let occupied = self.take_new_thread(namespace, &thread.id, asks);
                Ok(Start { occupied, ..Start::at(None, Some(StartThread::Create(thread, Head::default(), None))) })
            }
            Base::EmptyThread(at) => self.start_empty_thread(namespace, at, asks).await,
            Base::Exchange(id) => {
                let parent = self.parent(namespace, *id).await?;
                Ok(Start::at(Some(parent), None))
            }
            Base::Over(id) => {
                let parent = self.parent(namespace, *id).await?;
                let calls: Vec<ToolCall> = parent.exchange.assistant.tool_calls().cloned().collect();
                let mut start = Start::at(Some(parent), None);
                start.interruption = (!calls.is_empty()).then(|| pairing::interruption(&calls));
                Ok(start)
            }
            Base::Thread(at) => self.start_thread(namespace, at, turn, asks).await,
            Base::Uncaptured(prefix) => self.start_uncaptured(namespace, prefix, turn, &asks.flight.run_id).await,
            Base::Fork(fork) => self.start_fork(namespace, fork, asks).await,
        }
    }

    /// An exchange that must be there.
    pub(super) async fn parent(&self, namespace: &Namespace, id: ExchangeId) -> Result<Parent, Fault> {
        match self.ledger.exchange(namespace, id).await.map_err(store_fault)? {
            Some((exchange, place)) => Ok(Parent { exchange: whole(exchange)?, place: Some(place) }),
            None => Err(Fault::not_found(Reason::ExchangeNotFound, "exchange", id.to_string())),
        }
    }

    async fn start_empty_thread(
        &self,
        namespace: &Namespace,
        at: &ThreadRef,
        asks: &mut Asks<'_>,
    ) -> Result<Start, Fault> {
        let occupied = self.take_thread(namespace, &at.id, asks).await?;
        let (thread, head, token) = self.read_idle(namespace, at, asks).await?;
        check_head(at, &head)?;
        if let Some(exchange) = head.exchange {
            let message = format!("thread `{}` has exchanges already: go on from it with Continue", at.id);
            return Err(Fault::new(Reason::ThreadNotEmpty, message)
                .with("thread_id", &at.id)
                .with("head_exchange_id", exchange));
        }
        let mut start = match self.pending(namespace, &head).await? {
            Some(pending) => {
                self.start_over(namespace, at.unanswered, pending, StartThread::Move(thread, head, token)).await?
            }
            None => Start::at(None, Some(StartThread::Move(thread, head, token))),
        };
        start.occupied = occupied;
        Ok(start)
    }

    /// A new prompt over calls that wait for results.
    async fn start_over(
        &self,
        namespace: &Namespace,
        how: Unanswered,
        (place, exchange, run): Pending,
        thread: StartThread,
    ) -> Result<Start, Fault> {
        match how {
            Unanswered::Reject => Err(unanswered(&exchange)),
            Unanswered::Interrupt => {
                let calls: Vec<ToolCall> = exchange.assistant.tool_calls().cloned().collect();
                let parent = Parent { exchange, place: Some(place) };
                let mut start = Start::at(Some(parent), Some(thread));
                start.interruption = Some(pairing::interruption(&calls));
                start.given_up = run;
                Ok(start)
            }
            Unanswered::Abandon => {
                let parent = match thread.head().exchange {
                    Some(id) if id != exchange.id => Some(self.parent(namespace, id).await?),
                    Some(_) => return Err(unanswered(&exchange)),
                    None => None,
                };
                Ok(Start::at(parent, Some(thread)))
            }
        }
    }

    async fn start_thread(
        &self,
        namespace: &Namespace,
        at: &ThreadRef,
        turn: &Turn,
        asks: &mut Asks<'_>,
    ) -> Result<Start, Fault> {
        let occupied = match self.take_thread(namespace, &at.id, asks).await {
            Ok(occupied) => occupied,
            Err(_) if at.on_busy == OnBusy::Fork => return self.fork_of_busy(namespace, at, asks).await,
            Err(fault) => return Err(fault),
        };
        let (thread, head, token) = match self.read_idle(namespace, at, asks).await {
            Ok(read) => read,
            Err(busy) if at.on_busy == OnBusy::Fork && busy.reason == Reason::ThreadBusy => {
                drop(occupied);
                return self.fork_of_busy(namespace, at, asks).await;
            }
            Err(fault) => return Err(fault),
        };
        check_head(at, &head)?;
        let pending = self.pending(namespace, &head).await?;
        let results = matches!(turn.input, Input::Results(_));
        let mut start = match (pending, head.exchange) {
            (Some((place, exchange, run)), _) if results => {
                drop(run);
                let parent = Parent { exchange, place: Some(place) };
                Start::at(Some(parent), Some(StartThread::Move(thread, head, token)))
            }
            (Some(pending), _) => {
                self.start_over(namespace, at.unanswered, pending, StartThread::Move(thread, head, token)).await?
            }
            (None, Some(id)) => {
                let parent = self.parent(namespace, id).await?;
                Start::at(Some(parent), Some(StartThread::Move(thread, head, token)))
            }
            (None, None) => return Err(empty_thread(&at.id)),
        };
        start.occupied = occupied;
        Ok(start)
    }

    async fn fork_of_busy(&self, namespace: &Namespace, at: &ThreadRef, asks: &mut Asks<'_>) -> Result<Start, Fault> {
        let (source, head, _) = self.read_thread(namespace, &at.id).await?;
        check_head(at, &head)?;
        let Some(id) = head.exchange else {
            return Err(empty_thread(&at.id));
        };
        let parent = self.parent(namespace, id).await?;
        let new = NewThread { name: source.name.clone(), ..NewThread::default() };
        let thread = self.fork_thread(namespace, &new, Some(&source), &parent.exchange).await?;
        let root = self.settled_root(namespace, &source.id, &head).await?;
        Ok(self.start_new_branch(namespace, parent, thread, root, asks))
    }

    async fn start_fork(&self, namespace: &Namespace, fork: &ForkBase, asks: &mut Asks<'_>) -> Result<Start, Fault> {
        let parent = self.parent(namespace, fork.exchange).await?;
        Ok(self.start_new_branch(namespace, parent, fork.thread.clone(), fork.root, asks))
    }

    fn start_new_branch(
        &self,
        namespace: &Namespace,
        parent: Parent,
        thread: Thread,
        root: Root,
        asks: &mut Asks<'_>,
    ) -> Start {
        let occupied = self.take_new_thread(namespace, &thread.id, asks);
        let head = head_at(&parent.exchange);
        Start { occupied, ..Start::at(Some(parent), Some(StartThread::Create(thread, head, root))) }
    }

    async fn start_uncaptured(
        &self,
        namespace: &Namespace,
        prefix: &UncapturedPrefix,
        turn: &Turn,
        run_id: &RunId,
    ) -> Result<Start, Fault> {
        if prefix.run_id.as_ref() == Some(run_id) {
            return Err(Fault::field(
                "uncaptured_prefix.run_id",
                "is the id of the new run as well: each run has its own",
            ));
        }
        let rendered = pairing::pair(&[], prefix.rendered.clone(), || self.new_call_id())
            .map_err(|error| Fault::field("uncaptured_prefix.rendered_messages", error.to_string()))?;
        if !rendered.open.is_empty() {
            let message = "must not end with tool calls: the answer belongs into `assistant`";
            return Err(Fault::field("uncaptured_prefix.rendered_messages", message));
        }
        let hash = Hasher::new(namespace).exchange(None, &[], &rendered.messages, &prefix.assistant);
        let stored = self.ledger.with_content(namespace, &hash).await.map_err(store_fault)?;
        if let Some(id) = stored.first() {
            // It was kept since, by this call's twin or a Record: one prefix is enough (S0-12).
            let parent = self.parent(namespace, *id).await?;
            let renamed = renamed(&prefix.assistant, &parent.exchange.assistant);
            return Ok(Start { renamed, ..Start::at(Some(parent), None) });
        }
        let mut assistant = prefix.assistant.clone();
        adopt_calls(&mut assistant, || self.new_call_id());
        let renamed = renamed(&prefix.assistant, &assistant);
        let (run, replaces) = self.prefix_run(namespace, prefix, turn).await?;
        let exchange = self.given_exchange(Given {
            run_id: &run.id,
            messages: rendered.messages,
            assistant,
            facts: &prefix.facts,
            content_hash: hash,
            labels: turn.labels.clone(),
        });
        let mut run =
            Run { exchange: Some(exchange.id), exchange_count: 1, stop_reason: Some(exchange.stop_reason), ..run };
        if exchange.usage.reported && run.observations.is_empty() {
            let (model, usage) = (exchange.responder.model.clone(), exchange.usage.clone());
            run.observations.push(Observation::reported(1, model, usage, exchange.created_at));
        }
        let parent = Parent { exchange: exchange.clone(), place: None };
        let mut start = Start { renamed, ..Start::at(Some(parent), None) };
        let tools = prefix.facts.tools.clone().unwrap_or_default();
        start.prefix = Some(Prefix { exchange, run, replaces, tools });
        Ok(start)
    }

    /// The run of an uncaptured prefix: the one on record when the caller names it, else a new one.
    async fn prefix_run(
        &self,
        namespace: &Namespace,
        prefix: &UncapturedPrefix,
        turn: &Turn,
    ) -> Result<(Run, Option<Token>), Fault> {
        let now = self.clock.now();
        if let Some(id) = &prefix.run_id
            && let Some((run, token)) = self.ledger.run(namespace, id).await.map_err(store_fault)?
        {
            if run.captured || run.state != State::Completed {
                let message = format!("run `{id}` is {} and captured: continue its exchange instead", run.state.word());
                return Err(Fault::field("uncaptured_prefix.run_id", message));
            }
            return Ok((Run { captured: true, updated_at: now, ..run }, Some(token)));
        }
        let id = prefix.run_id.clone().unwrap_or_else(|| self.new_run_id());
        let run = Run::new(id, State::Completed, turn.fingerprint, now);
        let run = Run { captured: true, exchange_count: 1, labels: turn.labels.clone(), ..run };
        Ok((run, None))
    }

    /// A root exchange that the caller tells us of.
    fn given_exchange(&self, given: Given<'_>) -> Exchange {
        let id = self.new_exchange_id();
        let tools = given.facts.tools.clone().unwrap_or_default();
        let lineage = Seen::default().after(&tools, id).lineage();
        let tools = tools.hash();
        let pending = given.assistant.tool_calls().next().is_some();
        Exchange {
            id,
            parent: None,
            continues: None,
            continues_run: None,
            run_id: Some(given.run_id.clone()),
            depth: 1,
            turn: 1,
            thread_id: None,
            origin: Origin::Recorded,
            stop_reason: given.facts.stop_reason.unwrap_or(if pending {
                StopReason::ToolCalls
            } else {
                StopReason::Stop
            }),
            stop_reason_raw: String::new(),
            offered: tools,
            standing: tools,
            lineage,
            settings: Vec::new(),
            validation: Validation::default(),
            usage: given.facts.usage.clone().map_or_else(Usage::default, |usage| Usage { reported: true, ..usage }),
            observations: Vec::new(),
            warnings: Vec::new(),
            responder: responder(given.facts),
            content_hash: given.content_hash,
            labels: given.labels,
            created_at: self.clock.now(),
            workspace: Around::default(),
            head_before: HeadBefore::Untold,
            erased: None,
            messages: given.messages,
            assistant: given.assistant,
        }
    }

    /// What a thread waits for: the exchange whose calls have no results, with its run where that waits.
    pub(super) async fn pending(&self, namespace: &Namespace, head: &Head) -> Result<Option<Pending>, Fault> {
        if let Some(active) = &head.active_run
            && let Some((run, token)) = self.ledger.run(namespace, active).await.map_err(store_fault)?
            && let Some(id) = run.exchange
            && run.state == State::PendingTools
            && let Some((exchange, place)) = self.ledger.exchange(namespace, id).await.map_err(store_fault)?
            && exchange.erased.is_none()
        {
            return Ok(Some((place, exchange, Some((run, token)))));
        }
        if let Some(id) = head.exchange
            && let Some((exchange, place)) = self.ledger.exchange(namespace, id).await.map_err(store_fault)?
            && exchange.is_pending()
        {
            return Ok(Some((place, exchange, None)));
        }
        Ok(None)
    }

    /// A thread that must be there, with its head.
    pub(super) async fn read_thread(
        &self,
        namespace: &Namespace,
        id: &ThreadId,
    ) -> Result<(Thread, Head, Token), Fault> {
        let thread = self.ledger.thread(namespace, id).await.map_err(store_fault)?;
        let head = self.ledger.head(namespace, id).await.map_err(store_fault)?;
        match (thread, head) {
            (Some((thread, _)), Some((head, token))) => Ok((thread, head, token)),
            _ => Err(Fault::not_found(Reason::ThreadNotFound, "thread", id.as_str())),
        }
    }
}

/// An exchange that was not erased.
pub(super) fn whole(exchange: Exchange) -> Result<Exchange, Fault> {
    if exchange.erased.is_some() { Err(erased(&exchange)) } else { Ok(exchange) }
}

/// What was said is gone.
fn erased(exchange: &Exchange) -> Fault {
    let receipt = exchange.erased.as_ref().map(|erased| erased.receipt.as_str()).unwrap_or_default();
    let instead = match exchange.parent {
        Some(_) => "go on from an exchange before it",
        None => "there is none before it to go on from, and Capture begins another conversation",
    };
    let message = format!("exchange {} was erased: what was said there is gone; {instead}", exchange.id);
    let fault =
        Fault::new(Reason::ExchangeErased, message).with("exchange_id", exchange.id).with("receipt_id", receipt);
    match exchange.parent {
        Some(parent) => fault.with("parent_exchange_id", parent),
        None => fault,
    }
}

struct Given<'a> {
    run_id: &'a RunId,
    messages: Vec<Message>,
    assistant: Message,
    facts: &'a Facts,
    content_hash: Hash,
    labels: std::collections::BTreeMap<String, String>,
}

/// Who answered a call that the caller made.
pub(super) fn responder(facts: &Facts) -> Responder {
    Responder { provider: facts.provider.clone(), model: facts.model.clone(), ..Responder::default() }
}

/// Gives the calls of an answer ids of ours, and keeps those that they came with for the wire.
pub(super) fn adopt_calls(assistant: &mut Message, mut new_id: impl FnMut() -> CallId) {
    for part in &mut assistant.parts {
        if let crate::domain::message::Kind::ToolCall(call) = &mut part.kind {
            let given = std::mem::replace(&mut call.call_id, new_id());
            if call.provider_call_id.is_empty() {
                call.provider_call_id = given.as_str().to_owned();
            }
        }
    }
}

/// By which ids the calls of an answer went out, each with the one that the stored answer has.
pub(super) fn renamed(given: &Message, stored: &Message) -> Vec<(CallId, CallId)> {
    let pairs = given.tool_calls().zip(stored.tool_calls());
    pairs.map(|(given, stored)| (given.call_id.clone(), stored.call_id.clone())).collect()
}

/// The head of a thread that begins at an exchange.
pub(super) fn head_at(exchange: &Exchange) -> Head {
    Head {
        exchange: Some(exchange.id),
        run_id: exchange.run_id.clone(),
        turn_count: exchange.next_turn().saturating_sub(1),
        ..Head::default()
    }
}

fn check_head(at: &ThreadRef, head: &Head) -> Result<(), Fault> {
    if at.expected.holds(head.exchange) { Ok(()) } else { Err(head_moved(&at.id, at.expected, head)) }
}

/// The head is not the one that the caller saw.
pub(super) fn head_moved(thread: &ThreadId, expected: Expected, head: &Head) -> Fault {
    let current = head.exchange.map_or_else(|| "empty".to_owned(), |id| id.to_string());
    let message = format!(
        "thread `{thread}` has moved: its head is {current}, not {}. Look at what came, then call again with that head, or fork",
        expected.word()
    );
    Fault::new(Reason::HeadMoved, message)
        .with("thread_id", thread)
        .with("head_exchange_id", current)
        .with("expected_head", expected.word())
}

/// Calls wait for results.
pub(super) fn unanswered(exchange: &Exchange) -> Fault {
    let ids: Vec<&CallId> = exchange.assistant.tool_calls().map(|call| &call.call_id).collect();
    let names: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
    let message = format!(
        "exchange {} waits for the results of tool calls {}: send them as `tool_results`, or, going on from a thread, set `unanswered_tools`",
        exchange.id,
        names.join(", ")
    );
    let fault =
        Fault::new(Reason::UnansweredToolCalls, message).with("call_ids", join(ids)).with("exchange_id", exchange.id);
    match &exchange.run_id {
        Some(run) => fault.with("run_id", run),
        None => fault,
    }
}

/// There is nothing to go on from.
pub(super) fn empty_thread(thread: &ThreadId) -> Fault {
    let message = format!("thread `{thread}` has no exchange yet: begin it with Capture and `existing_thread`");
    Fault::new(Reason::ThreadEmpty, message).with("thread_id", thread)
}

/// A thread's fork point, for its record.
pub(super) fn forked_from(source: Option<&Thread>, exchange: &Exchange) -> crate::domain::thread::Parent {
    parent_of(source.map(|thread| thread.id.clone()), exchange)
}
