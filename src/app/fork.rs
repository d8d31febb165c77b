//! Forks: durable branches from a completed point, bare or with first turns, that copy nothing and leave the source as it is. It must not
//! know how a turn is executed.

use std::sync::Arc;

use futures::future::join_all;

use crate::domain::exchange::Exchange;
use crate::domain::fault::{Fault, Reason};
use crate::domain::graph;
use crate::domain::id::{ExchangeId, Namespace, RunId, ThreadId};
use crate::domain::run::{Run, State};
use crate::domain::thread::{Head, NewThread, Thread};
use crate::domain::workspace::{Live, Root};
use crate::store::ledger::Changes;

use super::base::{Parent, empty_thread, head_at, whole};
use super::replay::conflict;
use super::thread::Repeatable;
use super::turn::{Base, ForkBase, Outcome, ThreadState, Turn};
use super::{App, Caller, store_fault};

/// Where to fork.
#[derive(Clone, Debug)]
pub enum Point {
    /// At an exchange.
    Exchange(ExchangeId),
    /// On a thread's path.
    Thread(ThreadId, At),
}

/// Which point of a thread's path.
#[derive(Clone, Debug)]
pub enum At {
    /// Its head.
    Head,
    /// After a run, its exchanges included.
    Run(RunId),
    /// After a turn.
    Turn(u64),
}

/// One branch of a fork: the thread to make and its first turn, whose base is set here.
pub struct Branch {
    /// The thread.
    pub thread: NewThread,
    /// Its first turn.
    pub turn: Option<Turn>,
}

/// What came of one branch.
pub struct Branched {
    /// The thread.
    pub thread: ThreadState,
    /// What its first turn brought, or why it brought nothing.
    pub outcome: Option<Result<Arc<Outcome>, Fault>>,
}

/// A point with what is there.
pub(super) struct Resolved {
    pub(super) exchange: Exchange,
    pub(super) place: Option<graph::Place>,
    pub(super) source: Option<Thread>,
    /// The documents that go with it.
    pub(super) root: Root,
}

impl App {
    /// Makes a new thread for each branch and runs their first turns at once.
    ///
    /// # Errors
    /// When the point is not there or not completed, or an id is taken. A first turn that fails is told in its branch.
    pub async fn fork(
        self: &Arc<Self>,
        caller: &Caller,
        point: &Point,
        branches: Vec<Branch>,
        repeat: &Repeatable,
    ) -> Result<(Vec<Branched>, bool), Fault> {
        let namespace = &caller.namespace;
        let before = self.repeated(namespace, repeat).await?;
        let resolved = self.fork_point(namespace, point).await?;
        let branches =
            branches.into_iter().map(|branch| Branch { thread: under_fork(branch.thread), ..branch }).collect();
        let plan = match &before {
            Some(ids) => again(ids, branches)?,
            None => self.plan_fork(namespace, &resolved, branches, repeat).await?,
        };
        let branched = join_all(plan.into_iter().map(|(id, turn)| self.branch(caller, &resolved, id, turn))).await;
        Ok((branched.into_iter().collect::<Result<_, Fault>>()?, before.is_some()))
    }

    /// Decides every id, and makes the bare threads, in one write.
    async fn plan_fork(
        &self,
        namespace: &Namespace,
        at: &Resolved,
        branches: Vec<Branch>,
        repeat: &Repeatable,
    ) -> Result<Vec<(Planned, Option<Turn>)>, Fault> {
        self.accept_work()?;
        let mut changes = Changes::new();
        let mut planned = Vec::new();
        let mut ids = Vec::new();
        for branch in branches {
            if let Some(id) = self.branched_before(namespace, &branch).await? {
                ids.push(line(&id, branch.turn.as_ref()));
                planned.push((Planned::Again(NewThread { id: Some(id), ..branch.thread }), branch.turn));
                continue;
            }
            let thread = self.fork_thread(namespace, &branch.thread, at.source.as_ref(), &at.exchange).await?;
            if planned.iter().any(|(other, _): &(Planned, _)| other.thread_id() == Some(&thread.id)) {
                return Err(super::thread::exists(&thread.id));
            }
            let turn = branch.turn.map(|turn| Turn { assigned: Some(self.new_run_id()), ..turn });
            ids.push(line(&thread.id, turn.as_ref()));
            if turn.is_none() {
                changes
                    .begin_workspace(&thread.id, &Live { root: at.root, sequence: 0, updated_at: thread.created_at });
                changes.create_thread(&thread, &Head { updated_at: thread.created_at, ..head_at(&at.exchange) });
            }
            planned.push((Planned::New(Box::new(thread)), turn));
        }
        self.remember(&mut changes, repeat, "fork", &ids.join("\n"));
        let _footing = self.stand_on(namespace, at.exchange.id, None).await?;
        self.commit_fork(namespace, &changes).await?;
        Ok(planned)
    }

    /// The thread that the run of a branch's first turn is on, where it is on record for the same request: the call is a repetition.
    async fn branched_before(&self, namespace: &Namespace, branch: &Branch) -> Result<Option<ThreadId>, Fault> {
        let Some((turn, run_id)) = branch.turn.as_ref().and_then(|turn| Some((turn, turn.run_id.as_ref()?))) else {
            return Ok(None);
        };
        match self.ledger.run(namespace, run_id).await.map_err(store_fault)? {
            Some((run, _)) if run.fingerprint == turn.fingerprint => Ok(run.thread_id),
            Some((run, _)) => Err(conflict(run_id, turn.fingerprint, run.fingerprint)),
            None => Ok(None),
        }
    }

    async fn commit_fork(&self, namespace: &Namespace, changes: &Changes) -> Result<(), Fault> {
        use crate::store::ledger::Lost;
        match self.commit(namespace, changes).await.map_err(store_fault)? {
            Ok(()) => Ok(()),
            Err(Lost::ThreadExists(id)) => Err(super::thread::exists(&id)),
            Err(Lost::RequestExists(id)) => {
                let message = format!("request id `{id}` is used by another call at this moment: repeat this one");
                Err(Fault::new(Reason::RequestIdConflict, message).with("request_id", id))
            }
            Err(Lost::VersionGone(_)) => Err(super::workspace::version_gone()),
            Err(lost) => Err(Fault::new(Reason::Internal, format!("a fork met {lost:?}"))),
        }
    }

    async fn branch(
        self: &Arc<Self>,
        caller: &Caller,
        at: &Resolved,
        planned: Planned,
        turn: Option<Turn>,
    ) -> Result<Branched, Fault> {
        let thread = match planned {
            Planned::New(thread) => *thread,
            // Made by the call before, or by this one's claim.
            Planned::Again(new) => {
                let made = match &new.id {
                    Some(id) => self.thread_state(&caller.namespace, id).await?,
                    None => None,
                };
                match made {
                    Some(state) => state.thread,
                    None => self.fork_thread(&caller.namespace, &new, at.source.as_ref(), &at.exchange).await?,
                }
            }
        };
        let id = thread.id.clone();
        let Some(turn) = turn else {
            return Ok(Branched { thread: self.get_thread(caller, &id).await?, outcome: None });
        };
        let base = Base::Fork(Box::new(ForkBase { exchange: at.exchange.id, thread: thread.clone(), root: at.root }));
        let outcome = match self.start_turn(caller.clone(), Turn { base, ..turn }).await {
            Ok(mut watcher) => watcher.outcome().await,
            Err(fault) => Err(fault),
        };
        // A run that another call started meanwhile, under the same id, has its own thread.
        let elsewhere =
            outcome.as_ref().ok().and_then(|outcome| outcome.thread.clone()).filter(|at| at.thread.id != id);
        let state = match self.thread_state(&caller.namespace, &id).await?.or(elsewhere) {
            Some(state) => state,
            // What was refused before its claim made no thread.
            None => ThreadState { thread, head: Head::default(), pending: None },
        };
        Ok(Branched { thread: state, outcome: Some(outcome) })
    }

    /// The exchange of a fork point, which must be completed.
    pub(super) async fn fork_point(&self, namespace: &Namespace, point: &Point) -> Result<Resolved, Fault> {
        match point {
            Point::Exchange(id) => {
                let Parent { exchange, place } = self.parent(namespace, *id).await?;
                let source = match &exchange.thread_id {
                    Some(id) => self.ledger.thread(namespace, id).await.map_err(store_fault)?.map(|(thread, _)| thread),
                    None => None,
                };
                let root = exchange.workspace.after;
                Ok(Resolved { exchange, place, source, root })
            }
            Point::Thread(id, at) => {
                let (thread, head, _) = self.read_thread(namespace, id).await?;
                let exchange = self.point_on_thread(namespace, id, &head, at).await?;
                let place = self.ledger.place(namespace, exchange.id).await.map_err(store_fault)?;
                let root = self.root_after(namespace, id, &head, &exchange).await?;
                Ok(Resolved { exchange, place, source: Some(thread), root })
            }
        }
    }

    pub(super) async fn point_on_thread(
        &self,
        namespace: &Namespace,
        id: &ThreadId,
        head: &Head,
        at: &At,
    ) -> Result<Exchange, Fault> {
        if let At::Run(run_id) = at {
            return self.point_after_run(namespace, id, head, run_id).await;
        }
        let Some(path) = self.head_path(namespace, head).await? else {
            return Err(empty_thread(id));
        };
        let turn = match (at, head.exchange) {
            (At::Turn(turn), _) => *turn,
            (_, Some(exchange)) => return Ok(self.parent(namespace, exchange).await?.exchange),
            (_, None) => return Err(empty_thread(id)),
        };
        match self.ledger.turn_end(namespace, &path, turn).await.map_err(store_fault)? {
            Some(exchange) if !exchange.is_pending() => whole(exchange),
            _ => {
                let message = format!("there is no turn {turn}: the last one of thread `{id}` is {}", head.turn_count);
                Err(Fault::field("thread.after_turn.turn", message))
            }
        }
    }

    async fn point_after_run(
        &self,
        namespace: &Namespace,
        thread: &ThreadId,
        head: &Head,
        run_id: &RunId,
    ) -> Result<Exchange, Fault> {
        // What has run ids comes after what has none, so the head tells for the whole path (S3-34).
        if let (Some(head), None) = (head.exchange, &head.run_id) {
            return Err(no_run_ids(thread, head));
        }
        let Some((run, _)) = self.ledger.run(namespace, run_id).await.map_err(store_fault)? else {
            if self.flights.find(namespace, run_id).is_some() {
                return Err(unfinished(run_id, State::Queued, None));
            }
            return Err(Fault::not_found(Reason::RunNotFound, "run", run_id.as_str()));
        };
        let run = self.current(namespace, run).await?;
        if run.state != State::Completed {
            return Err(unfinished(run_id, run.state, run.exchange));
        }
        let exchange = match run.exchange {
            Some(id) if run.captured => self.parent(namespace, id).await?,
            _ => return Err(not_captured(&run)),
        };
        let path = self.head_path(namespace, head).await?.unwrap_or_default();
        let on_path = exchange.place.is_some_and(|place| graph::contains(&path, place));
        if on_path {
            return Ok(exchange.exchange);
        }
        let message = format!(
            "run `{run_id}` is not on the path of thread `{thread}`: fork at its exchange {} instead",
            exchange.exchange.id
        );
        Err(Fault::new(Reason::RunNotOnPath, message)
            .with("run_id", run_id)
            .with("thread_id", thread)
            .with("exchange_id", exchange.exchange.id))
    }

    /// A run that was read, as it is now.
    pub(super) async fn current(&self, namespace: &Namespace, run: Run) -> Result<Run, Fault> {
        if run.state != State::Running || self.flights.find(namespace, &run.id).is_some() {
            return Ok(run);
        }
        // It may have ended since it was read, and then its end is on record.
        match self.ledger.run(namespace, &run.id).await.map_err(store_fault)? {
            Some((now, _)) if self.flights.find(namespace, &run.id).is_some() => Ok(now),
            Some((now, _)) => Ok(self.settled(now)),
            None => Ok(self.settled(run)),
        }
    }
}

/// A thread of a fork.
enum Planned {
    /// To be made now.
    New(Box<Thread>),
    /// Planned by the call before.
    Again(NewThread),
}

impl Planned {
    fn thread_id(&self) -> Option<&ThreadId> {
        match self {
            Self::New(thread) => Some(&thread.id),
            Self::Again(new) => new.id.as_ref(),
        }
    }
}

/// What is remembered of a branch: its thread and its run.
fn line(thread: &ThreadId, turn: Option<&Turn>) -> String {
    let run_id = turn.and_then(|turn| turn.run_id.as_ref().or(turn.assigned.as_ref()));
    format!("{thread} {}", run_id.map_or("", RunId::as_str))
}

/// What a fork is told about itself goes under `fork`, verbatim, so that it never meets a key that a thread has otherwise (S3-13).
fn under_fork(new: NewThread) -> NewThread {
    if new.metadata_json.is_empty() {
        return new;
    }
    NewThread { metadata_json: format!("{{\"fork\":{}}}", new.metadata_json), ..new }
}

/// The ids that the same call decided before.
fn again(ids: &str, branches: Vec<Branch>) -> Result<Vec<(Planned, Option<Turn>)>, Fault> {
    let lines: Vec<&str> = ids.lines().collect();
    if lines.len() != branches.len() {
        return Err(Fault::new(Reason::Internal, "a remembered fork has another number of branches"));
    }
    let planned = lines.into_iter().zip(branches).map(|(line, branch)| {
        let (thread, run) = line.split_once(' ').unwrap_or((line, ""));
        let turn = branch.turn.map(|turn| Turn { assigned: Some(RunId::new(run)), ..turn });
        (Planned::Again(NewThread { id: Some(ThreadId::new(thread)), ..branch.thread }), turn)
    });
    Ok(planned.collect())
}

fn unfinished(run_id: &RunId, state: State, exchange: Option<ExchangeId>) -> Fault {
    let way_out = match (state, exchange) {
        (State::PendingTools, _) => "answer its tool calls first, or fork at its exchange with results",
        (State::Queued | State::Running, _) => "wait for it, or cancel it and fork at the exchange before it",
        (_, Some(_)) => "fork at its last exchange, or run it again with `retry`",
        (_, None) => "run it again with `retry`, or fork at the exchange before it",
    };
    let message = format!("run `{run_id}` is {}, and only a COMPLETED run can be forked from: {way_out}", state.word());
    let fault = Fault::new(Reason::RunNotCompleted, message).with("run_id", run_id).with("run_state", state.word());
    match exchange {
        Some(id) => fault.with("exchange_id", id),
        None => fault,
    }
}

fn no_run_ids(thread: &ThreadId, head: ExchangeId) -> Fault {
    let message = format!(
        "the exchanges of thread `{thread}` have no run ids, as they were made elsewhere: name the point by its turn or its exchange, or go on by one turn first"
    );
    Fault::new(Reason::NoRunIds, message).with("thread_id", thread).with("head_exchange_id", head)
}

fn not_captured(run: &Run) -> Fault {
    let message = format!(
        "run `{}` was not captured, so there is nothing to fork from: capture it, or go on from its response with Continue and `uncaptured_prefix`",
        run.id
    );
    Fault::new(Reason::NotCaptured, message).with("run_id", &run.id)
}
