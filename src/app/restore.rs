//! Restoring: moving a thread's head to where it was, its documents with it, deleting nothing; and the moves that it made. It must not know
//! how a turn is executed.
//!
//! A move by a turn is told by the exchange that the turn ended with, so it costs nothing of its own; one that no exchange tells of has a
//! record. Both are met on the way back from the head.

use crate::app::access::AUDIT;
use crate::domain::exchange::{Exchange, HeadBefore};
use crate::domain::fault::{Fault, Reason};
use crate::domain::graph;
use crate::domain::id::{ExchangeId, Moment, Namespace, RunId, ThreadId};
use crate::domain::run::State;
use crate::domain::thread::{Expected, Head};
use crate::domain::workspace::{Around, Live, Move, Root};
use crate::store::ledger::{Changes, Lost};

use super::base::{Parent, head_moved};
use super::thread::Repeatable;
use super::turn::ThreadState;
use super::{App, Caller, store_fault};

/// How often a restore is made anew because the thread changed meanwhile.
const TRIES: usize = 8;
/// How many records of moves are read at a time.
const BATCH: usize = 64;

/// One move of a head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The head before.
    pub from: Option<ExchangeId>,
    /// The head after.
    pub to: ExchangeId,
    /// The run that moved it; none for a restore.
    pub run_id: Option<RunId>,
    /// The documents before and after.
    pub workspace: Around,
    /// When.
    pub at: Moment,
}

/// From where on moves are listed: the head after the next one, and the record before which it is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovesFrom {
    /// The head after the next move.
    pub head: ExchangeId,
    /// Records of moves before this one.
    pub before: u64,
}

impl App {
    /// Moves the head to an exchange on its path, or on one that it once had, and the documents to those that go with it.
    ///
    /// # Errors
    /// When a run is not over, the head is not the expected one, or the exchange is not one of the thread's.
    pub async fn restore_thread(
        &self,
        caller: &Caller,
        id: &ThreadId,
        to: ExchangeId,
        expected: Expected,
        repeat: &Repeatable,
    ) -> Result<ThreadState, Fault> {
        let namespace = &caller.namespace;
        if self.repeated(namespace, repeat).await?.is_some() {
            return self.get_thread(caller, id).await;
        }
        self.accept_work()?;
        for _ in 0..TRIES {
            if self.try_restore(caller, id, to, expected, repeat).await? {
                return self.get_thread(caller, id).await;
            }
        }
        let message =
            "the thread moved again and again while it was to be restored: call again, or name an expected head";
        Err(Fault::new(Reason::HeadMoved, message).with("thread_id", id).retry_after(100))
    }

    /// Says whether it is done; else something changed meanwhile.
    async fn try_restore(
        &self,
        caller: &Caller,
        id: &ThreadId,
        to: ExchangeId,
        expected: Expected,
        repeat: &Repeatable,
    ) -> Result<bool, Fault> {
        let namespace = &caller.namespace;
        let (_, head, token) = self.read_thread(namespace, id).await?;
        // In this order: a run that claims the thread after it was read moves what was read.
        self.check_at_rest(namespace, id, &head).await?;
        if !expected.holds(head.exchange) {
            return Err(head_moved(id, expected, &head));
        }
        let (live, seen) = self.ledger.workspace(namespace, id).await.map_err(store_fault)?;
        let target = self.parent(namespace, to).await?;
        let root = self.root_once(namespace, id, (&head, live), &target).await?;
        let now = self.clock.now();
        let mut changes = Changes::new();
        if head.exchange == Some(to) && head.active_run.is_none() {
            changes.hold_head(id, &token);
        } else {
            let exchange = target.exchange;
            let after = Head {
                exchange: Some(to),
                run_id: exchange.run_id.clone(),
                turn_count: exchange.turn,
                active_run: None,
                sequence: head.sequence.saturating_add(1),
                updated_at: now,
            };
            let workspace = Around { before: live.root, after: root };
            changes.add_move(id, after.sequence, &Move { from: head.exchange, to, workspace, at: now });
            changes.replace_head(id, &after, &token);
            if root == live.root {
                changes.hold_workspace(id, seen.as_ref());
            } else {
                let live = Live { root, sequence: live.sequence.saturating_add(1), updated_at: now };
                changes.hold_version(root);
                changes.replace_workspace(id, &live, seen.as_ref());
            }
        }
        self.remember(&mut changes, repeat, "restore", id.as_str());
        let _footing = self.stand_on(namespace, to, None).await?;
        match self.commit(namespace, &changes).await.map_err(store_fault)? {
            Ok(()) => {
                let (caller, namespace) = (caller.name(), namespace.as_str());
                tracing::info!(target: AUDIT, caller, namespace, thread = %id, exchange = %to, "thread.restored");
                Ok(true)
            }
            Err(Lost::HeadMoved(_) | Lost::WorkspaceChanged(_) | Lost::ThreadChanged(_) | Lost::VersionGone(_)) => {
                Ok(false)
            }
            Err(Lost::RequestExists(id)) => {
                let message = format!("request id `{id}` is used by another call at this moment: repeat this one");
                Err(Fault::new(Reason::RequestIdConflict, message).with("request_id", id))
            }
            Err(lost) => Err(Fault::new(Reason::Internal, format!("a restore met {lost:?}"))),
        }
    }

    /// A run that is not over is not brushed aside.
    async fn check_at_rest(&self, namespace: &Namespace, id: &ThreadId, head: &Head) -> Result<(), Fault> {
        let busy = self.threads.busy_with(namespace, id);
        let waiting = self.unfinished(namespace, head).await?;
        let (run, message) = match (busy, waiting) {
            (Some(run), _) => {
                let message = format!("run `{run}` is at work on thread `{id}`: cancel it first, or wait for it");
                (run, message)
            }
            (None, Some(run)) if run.state == State::PendingTools => {
                let message = format!(
                    "run `{}` of thread `{id}` waits for the results of its tool calls: send them, or cancel it first",
                    run.id
                );
                (run.id, message)
            }
            (None, Some(run)) => {
                let message = format!("run `{}` of thread `{id}` is not over: cancel it first, or wait for it", run.id);
                (run.id, message)
            }
            (None, None) => return Ok(()),
        };
        Err(Fault::new(Reason::ThreadBusy, message).with("thread_id", id).with("active_run_id", run))
    }

    /// The documents that the thread had at an exchange when its head last was there, or went by.
    async fn root_once(
        &self,
        namespace: &Namespace,
        id: &ThreadId,
        (head, live): (&Head, Live),
        target: &Parent,
    ) -> Result<Root, Fault> {
        let mut was = head.exchange.map(|exchange| (exchange, live.root));
        let mut records: Vec<(u64, Move)> = Vec::new();
        let mut before = u64::MAX;
        while let Some((exchange, root)) = was {
            if let Some(root) = self.root_on_path(namespace, exchange, root, target).await? {
                return Ok(root);
            }
            if records.is_empty() {
                records = self.ledger.moves(namespace, id, before, BATCH).await.map_err(store_fault)?;
                records.reverse();
            }
            let next = records.pop();
            before = next.as_ref().map_or(before, |(number, _)| *number);
            was = next.and_then(|(_, moved)| Some((moved.from?, moved.workspace.before)));
        }
        let message = format!(
            "exchange {} is not on the path of thread `{id}`, nor was its head ever there: fork at it, or restore to one that ListTurns or ListMoves names",
            target.exchange.id
        );
        Err(Fault::field("to.exchange_id", message).with("thread_id", id))
    }

    /// The documents at an exchange as seen from a head whose path it is on; absent when it is not.
    async fn root_on_path(
        &self,
        namespace: &Namespace,
        end: ExchangeId,
        root: Root,
        target: &Parent,
    ) -> Result<Option<Root>, Fault> {
        if end == target.exchange.id {
            return Ok(Some(root));
        }
        let head = Head { exchange: Some(end), ..Head::default() };
        let path = self.head_path(namespace, &head).await?.unwrap_or_default();
        if !target.place.is_some_and(|place| graph::contains(&path, place)) {
            return Ok(None);
        }
        if target.exchange.is_pending() {
            let exchange = &target.exchange;
            let message = format!(
                "exchange {} is in the middle of a turn: restore to the end of turn {} or of the one before it",
                exchange.id, exchange.turn
            );
            let fault = Fault::new(Reason::RunNotCompleted, message).with("exchange_id", exchange.id);
            return Err(match &exchange.run_id {
                Some(run) => fault.with("run_id", run),
                None => fault,
            });
        }
        let next = self.root_before_next(namespace, &path, target.exchange.depth).await?;
        Ok(Some(next.unwrap_or(target.exchange.workspace.after)))
    }

    /// Moves of a thread's head, the last one first; with where to go on, when there may be more.
    ///
    /// # Errors
    /// When there is no such thread.
    pub async fn list_moves(
        &self,
        caller: &Caller,
        id: &ThreadId,
        from: Option<MovesFrom>,
        limit: usize,
    ) -> Result<(Vec<Moved>, Option<MovesFrom>), Fault> {
        let namespace = &caller.namespace;
        let (thread, head, _) = self.read_thread(namespace, id).await?;
        let forked_at = thread.parent.map(|parent| parent.exchange);
        let mut at = from.or_else(|| head.exchange.map(|head| MovesFrom { head, before: u64::MAX }));
        let mut moves = Vec::new();
        // Read ahead: the last record before where the way back is.
        let mut record: Option<Option<(u64, Move)>> = None;
        while let Some(MovesFrom { head, before }) = at {
            let last = match record.take() {
                Some(last) => last,
                None => self.ledger.moves(namespace, id, before, 1).await.map_err(store_fault)?.pop(),
            };
            let (moved, before) = match last {
                Some((number, moved)) if moved.to == head => {
                    let Move { from, to, workspace, at } = moved;
                    (Moved { from, to, run_id: None, workspace, at }, number)
                }
                last => {
                    record = Some(last);
                    if forked_at == Some(head) {
                        break;
                    }
                    // An erased one still tells of its move, though of no documents.
                    let exchange = self.ledger.exchange(namespace, head).await.map_err(store_fault)?;
                    match exchange.and_then(|(exchange, _)| by_turn(exchange, id)) {
                        Some(moved) => (moved, before),
                        None => break,
                    }
                }
            };
            if moves.len() == limit {
                return Ok((moves, at));
            }
            at = moved.from.map(|head| MovesFrom { head, before });
            moves.push(moved);
        }
        Ok((moves, None))
    }

    /// The numbers of a thread's records of moves.
    pub(super) async fn numbers_of_moves(&self, namespace: &Namespace, id: &ThreadId) -> Result<Vec<u64>, Fault> {
        let mut numbers = Vec::new();
        loop {
            let before = numbers.last().copied().unwrap_or(u64::MAX);
            let page = self.ledger.moves(namespace, id, before, BATCH).await.map_err(store_fault)?;
            if page.is_empty() {
                return Ok(numbers);
            }
            numbers.extend(page.into_iter().map(|(number, _)| number));
        }
    }
}

/// The move that an exchange made of its thread's head; absent when it was made elsewhere.
fn by_turn(exchange: Exchange, thread: &ThreadId) -> Option<Moved> {
    if exchange.thread_id.as_ref() != Some(thread) {
        return None;
    }
    let from = match exchange.head_before {
        HeadBefore::At(id) => Some(id),
        HeadBefore::Empty => None,
        // From before this was kept: what its run continued was the head.
        HeadBefore::Untold => exchange.continues,
    };
    let Exchange { id: to, run_id, workspace, created_at: at, .. } = exchange;
    Some(Moved { from, to, run_id, workspace, at })
}
