//! Keeping what a run brought: exchange, run and head in one durable write. It must not call anybody.

use crate::domain::content::Hasher;
use crate::domain::drift::Lineage;
use crate::domain::exchange::{Exchange, HeadBefore, Origin};
use crate::domain::fault::Fault;
use crate::domain::id::{CallId, Moment, Namespace};
use crate::domain::pairing;
use crate::domain::run::{Run, State, StopReason};
use crate::domain::thread::{Expected, Head};
use crate::domain::workspace::Around;
use crate::store::ledger::{Changes, Lost};

use super::super::base::{Parent, head_moved, renamed};
use super::super::turn::{Detailed, Outcome, StepEnd, ThreadState, Uncaptured};
use super::super::{App, store_fault};
use super::{Claimed, Finished, changed_meanwhile};

/// How often the documents of a thread may change while an exchange is being stored before it is stored with those that were read last:
/// a caller who never stops writing must not keep an answer from being kept.
const UNHELD_AFTER: u32 = 8;

impl App {
    pub(super) async fn complete(
        &self,
        namespace: &Namespace,
        claimed: Claimed,
        mut finished: Finished,
    ) -> Result<Outcome, Fault> {
        let now = self.clock.now();
        if !finished.turn.capture {
            return self.complete_uncaptured(namespace, claimed, finished, now).await;
        }
        let mut exchange = self.exchange_of(namespace, &claimed.run, &finished, now);
        let offered = &finished.plan.offer.offered;
        let (lineage, seen) = self.lineage(namespace, &finished.start, offered, exchange.id).await?;
        exchange.lineage = lineage;
        let run = completed_run(claimed.run.clone(), &exchange, &finished, now);
        let mut live = None;
        if let Some((thread, head, _)) = &claimed.thread {
            let (now, token) = self.ledger.workspace(namespace, &thread.id).await.map_err(store_fault)?;
            exchange.workspace.after = now.root;
            live = token;
            if run.state == State::Completed {
                exchange.head_before = HeadBefore::of(head.exchange);
            }
        }
        let exchange = exchange;
        let companion = finished.turn.companion.clone();
        let companion = companion.as_deref();
        let mut changes = Changes::new();
        changes.replace_run(&run, &claimed.token);
        changes.tool_set(&finished.plan.offer.offered);
        changes.tool_set(&finished.plan.offer.standing);
        if let Some(seen) = &seen {
            changes.seen(seen);
        }
        let after = finished.start.parent.as_ref().and_then(|parent| parent.place);
        match &finished.start.prefix {
            Some(prefix) => {
                match &prefix.replaces {
                    Some(token) => changes.replace_run(&prefix.run, token),
                    None => changes.create_run(&prefix.run),
                };
                changes.tool_set(&prefix.tools);
                changes.seen(&prefix.seen());
                changes.append(vec![prefix.exchange.clone(), exchange.clone()], after);
            }
            None => changes.append(vec![exchange.clone()], after),
        }
        let head = claimed.thread.as_ref().map(|(_, head, _)| moved_head(head, &exchange, &run, now));
        let mut with_head = changes.clone();
        if let (Some((thread, _, _)), 0..UNHELD_AFTER) = (&claimed.thread, finished.tries) {
            with_head.hold_workspace(&thread.id, live.as_ref());
        } else if claimed.thread.is_some() {
            // Others may have written since it was read, and what they wrote over be gone.
            with_head.hold_version(exchange.workspace.after);
        }
        if let (Some((thread, _, token)), Some(head)) = (&claimed.thread, &head) {
            with_head.replace_head(&thread.id, head, token);
        }
        let end =
            StepEnd::Completed { run: &run, exchange: &exchange, offer: &finished.plan.offer, spent: &finished.spent };
        match self.commit_end(namespace, companion, end, with_head).await? {
            Ok(()) => {}
            Err(Lost::HeadMoved(id)) => {
                // The loser of a race keeps what it has: only the head is not moved (rule 6).
                let expected = claimed.thread.as_ref().and_then(|(_, head, _)| head.exchange);
                let expected = expected.map_or(Expected::Empty, Expected::Exchange);
                let moved = match self.read_thread(namespace, &id).await {
                    Ok((_, current, _)) => head_moved(&id, expected, &current),
                    // It was removed.
                    Err(fault) => fault,
                };
                let moved =
                    moved.with("exchange_id", exchange.id).with("run_id", &run.id).with("run_state", run.state.word());
                let end =
                    StepEnd::Failed { run: &run, fault: &moved, exchange: Some(&exchange), spent: &finished.spent };
                // Nothing holds the documents that the thread had any more.
                changes.hold_version(exchange.workspace.after);
                match self.commit_end(namespace, companion, end, changes).await? {
                    Ok(()) => return Err(moved),
                    Err(Lost::VersionGone(_)) => {
                        finished.tries = finished.tries.saturating_add(1);
                        return Box::pin(self.complete(namespace, claimed, finished)).await;
                    }
                    Err(_) => return Err(changed_meanwhile()),
                }
            }
            Err(Lost::WorkspaceChanged(_) | Lost::VersionGone(_)) => {
                finished.tries = finished.tries.saturating_add(1);
                return Box::pin(self.complete(namespace, claimed, finished)).await;
            }
            Err(_) => {
                let Some(parent) = self.prefix_stored_meanwhile(namespace, &finished).await? else {
                    return Err(changed_meanwhile());
                };
                let _footing = self.stand_on(namespace, parent.exchange.id, Some(&claimed.run.id)).await?;
                if let Some(prefix) = finished.start.prefix.take() {
                    let names = renamed(&prefix.exchange.assistant, &parent.exchange.assistant);
                    pairing::rename_results(&mut finished.plan.messages, &names);
                }
                finished.start.parent = Some(parent);
                return Box::pin(self.complete(namespace, claimed, finished)).await;
            }
        }
        let thread = match (claimed.thread, head) {
            (Some((thread, _, _)), Some(head)) => {
                let pending = exchange.is_pending().then(|| (Some(run.id.clone()), exchange.clone()));
                Some(ThreadState { thread, head, pending })
            }
            _ => None,
        };
        let offer = finished.plan.offer;
        let exchange = Detailed { exchange, offered: offer.offered, standing: offer.standing };
        Ok(Outcome { run, exchange: Some(exchange), thread, answer: None, replayed: false })
    }

    /// The turn's uncaptured prefix, where another turn on it was quicker to store it: one prefix is enough (S0-12).
    async fn prefix_stored_meanwhile(
        &self,
        namespace: &Namespace,
        finished: &Finished,
    ) -> Result<Option<Parent>, Fault> {
        let Some(prefix) = &finished.start.prefix else {
            return Ok(None);
        };
        let stored = self.ledger.with_content(namespace, &prefix.exchange.content_hash).await.map_err(store_fault)?;
        match stored.first() {
            Some(id) => Ok(Some(self.parent(namespace, *id).await?)),
            None => Ok(None),
        }
    }

    async fn complete_uncaptured(
        &self,
        namespace: &Namespace,
        claimed: Claimed,
        finished: Finished,
        now: Moment,
    ) -> Result<Outcome, Fault> {
        // Nobody can send results to what is not kept, so tool calls end it like any other answer.
        let mut run = claimed.run.moved_to(State::Completed, now);
        run.observations.extend(finished.observations.iter().cloned());
        let stop_reason = Some(finished.answer.stop_reason);
        let run = Run { stop_reason, owner: String::new(), ..run };
        let mut changes = Changes::new();
        changes.replace_run(&run, &claimed.token);
        if self.commit(namespace, &changes).await.map_err(store_fault)?.is_err() {
            return Err(changed_meanwhile());
        }
        self.meters.stepped(run.state);
        let answer = finished.into_uncaptured();
        self.remembered.put(namespace, &run.id, answer.clone());
        Ok(Outcome { run, exchange: None, thread: None, answer: Some(answer), replayed: false })
    }

    pub(super) fn exchange_of(&self, namespace: &Namespace, run: &Run, finished: &Finished, now: Moment) -> Exchange {
        let parent = finished.start.parent.as_ref().map(|parent| &parent.exchange);
        let open: Vec<CallId> =
            parent.iter().flat_map(|parent| parent.assistant.tool_calls()).map(|call| call.call_id.clone()).collect();
        let answer = &finished.answer;
        let messages = finished.plan.messages.clone();
        let content_hash = Hasher::new(namespace).exchange(
            parent.map(|parent| &parent.content_hash),
            &open,
            &messages,
            &answer.assistant,
        );
        // Within a run, later exchanges continue what the first one did.
        let (continues, continues_run) = match (finished.calling, parent) {
            (Some(_), Some(parent)) => (parent.continues, parent.continues_run.clone()),
            (_, Some(parent)) => (Some(parent.id), parent.run_id.clone()),
            (_, None) => (None, None),
        };
        let mut warnings = finished.plan.warnings.clone();
        warnings.extend(answer.warnings.iter().cloned());
        Exchange {
            id: self.new_exchange_id(),
            parent: parent.map(|parent| parent.id),
            continues,
            continues_run,
            run_id: Some(run.id.clone()),
            depth: parent.map_or(1, |parent| parent.depth.saturating_add(1)),
            turn: parent.map_or(1, Exchange::next_turn),
            thread_id: run.thread_id.clone(),
            origin: Origin::Executed,
            messages,
            assistant: answer.assistant.clone(),
            stop_reason: answer.stop_reason,
            stop_reason_raw: answer.stop_reason_raw.clone(),
            offered: finished.plan.offer.offered.hash(),
            standing: finished.plan.offer.standing.hash(),
            // Known once it is to be stored.
            lineage: Lineage::Unknown,
            settings: finished.plan.settings.clone(),
            validation: answer.validation.clone(),
            usage: answer.usage.clone(),
            observations: finished.observations.clone(),
            warnings,
            responder: answer.responder.clone(),
            content_hash,
            labels: run.labels.clone(),
            created_at: now,
            workspace: Around {
                before: run.workspace,
                // Where no thread says otherwise, a step goes on from the one before it.
                after: match (finished.calling, parent) {
                    (Some(_), Some(parent)) => parent.workspace.after,
                    _ => run.workspace,
                },
            },
            head_before: HeadBefore::Untold,
            erased: None,
        }
    }
}

impl Finished {
    /// What is told of an execution that nothing keeps.
    pub(in crate::app) fn into_uncaptured(self) -> Uncaptured {
        let mut warnings = self.plan.warnings;
        warnings.extend(self.answer.warnings);
        Uncaptured {
            rendered: self.rendered,
            prefix: self.prefix,
            assistant: self.answer.assistant,
            stop_reason: self.answer.stop_reason,
            stop_reason_raw: self.answer.stop_reason_raw,
            validation: self.answer.validation,
            settings: self.plan.settings,
            warnings,
            responder: self.answer.responder,
            offered: self.plan.offer.offered,
        }
    }
}

/// The run with its new exchange.
pub(super) fn completed_run(run: Run, exchange: &Exchange, finished: &Finished, now: Moment) -> Run {
    let pending = exchange.is_pending();
    let ends_with_calls = finished.turn.companion.as_ref().is_some_and(|companion| companion.ends_with_calls());
    let (state, stop_reason) = match (pending, ends_with_calls) {
        (true, false) => (State::PendingTools, StopReason::ToolCalls),
        (true, true) => (State::Completed, StopReason::ToolRoundLimit),
        (false, _) => (State::Completed, exchange.stop_reason),
    };
    let mut run = run.moved_to(state, now);
    run.observations.extend(finished.observations.iter().cloned());
    if let Some(step) = run.steps.iter_mut().find(|step| Some(step.calling) == finished.calling) {
        step.exchange = Some(exchange.id);
    }
    Run {
        exchange: Some(exchange.id),
        exchange_count: run.exchange_count.saturating_add(1),
        stop_reason: Some(stop_reason),
        owner: String::new(),
        ..run
    }
}

/// The head after a run's exchange: it moves only when the run is over.
fn moved_head(head: &Head, exchange: &Exchange, run: &Run, now: Moment) -> Head {
    let sequence = head.sequence.saturating_add(1);
    if run.state == State::PendingTools {
        return Head { sequence, updated_at: now, ..head.clone() };
    }
    Head {
        exchange: Some(exchange.id),
        run_id: Some(run.id.clone()),
        turn_count: exchange.turn,
        active_run: None,
        sequence,
        updated_at: now,
    }
}
