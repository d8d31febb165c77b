//! Answers to what a coordination waits for: checked against what is pending, turned into turns and transitions. It must not know whether
//! they came in a stream.

use std::sync::Arc;

use crate::domain::coordination::machine::{Event, would_exhaust};
use crate::domain::coordination::{Answered, Batch, BatchProgress, Coordination, Frame, PendingId, State};
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{CallId, CoordinationId, Hash, RunId};
use crate::domain::message::{Kind, Message, Part, Role, ToolResult};
use crate::domain::run::{Run, State as RunState};
use crate::domain::thread::{Expected, Unanswered};
use crate::store::ledger::Changes;

use super::super::turn::{Base, Input, ThreadRef, Turn};
use super::super::{App, Caller, join, store_fault};
use super::Whole;
use super::ask::{Answer, NextTurn, Reply};
use super::companion::Claim;
use super::live::Live;
use super::told::Accepted;
use super::transition::out_of_order;

/// How many pages of the journal are read at once for what became of an earlier answer, which mostly is in the next one.
const SEARCHED: usize = 4;

impl App {
    /// Gives the pending answer from anywhere; `answer.id` must be there.
    ///
    /// # Errors
    /// When the answer is malformed, stale, or cannot be started as things are; nothing is changed then.
    pub async fn answer_coordination(
        self: &Arc<Self>,
        caller: &Caller,
        id: &CoordinationId,
        answer: Answer,
    ) -> Result<(Accepted, Whole), Fault> {
        let live = self.live(caller, id).await?;
        let accepted = self.answer(caller, &live, answer).await?;
        Ok((accepted, self.whole(&live).await?))
    }

    /// Takes an answer.
    ///
    /// # Errors
    /// Why it was rejected: what was pending still is, and no turn is consumed.
    pub(super) async fn answer(
        self: &Arc<Self>,
        caller: &Caller,
        live: &Arc<Live>,
        answer: Answer,
    ) -> Result<Accepted, Fault> {
        let turn = Arc::clone(&live.turnstile).lock_owned().await;
        // A stream that is to close waits for it from here on.
        let _entering = live.enters();
        self.expire(live).await?;
        let now = self.there(live)?;
        let pending = now.state.pending_id();
        if let Some(id) = &answer.id
            && pending != Some(id)
        {
            return self.answered_before(live, &now, id, &answer).await;
        }
        let Some(pending) = pending.cloned() else {
            return Err(out_of_order(&now));
        };
        self.accept_work()?;
        if let Some(flight) = live.last_flight() {
            // The step that led here is on record, and lets its thread go in a moment.
            drop(flight.watch(true, None).outcome().await);
        }
        let answered = Answered { id: pending.to_string(), fingerprint: answer.fingerprint };
        match (now.state.clone(), answer.reply) {
            (State::AwaitingDecision(_), Reply::Turn(next)) => {
                if would_exhaust(&now) {
                    let (run_id, thread) = (self.new_run_id(), now.thread.clone());
                    let event = Event::Turn { answered, run_id, thread };
                    return self.decided(live, &event, &pending).await;
                }
                let turn_asked = self.next_turn(live, &now, *next);
                // Each boxed: what an answer can lead to is large, and a worker's stack is not.
                Box::pin(self.launch(caller, live, turn_asked, Claim::Turn(answered), turn)).await
            }
            (State::AwaitingDecision(_), Reply::Stop) => self.decided(live, &Event::Stop { answered }, &pending).await,
            (State::AwaitingDecision(_), Reply::Fail(failure)) => {
                self.decided(live, &Event::Fail { answered, failure }, &pending).await
            }
            (State::AwaitingTools(batch), Reply::Results { results, run_id }) => {
                if let Some(fault) = self.ended_outside(live, &batch).await? {
                    return self.decided(live, &Event::Unprepared { answered, fault }, &pending).await;
                }
                let given = self.given(live, &batch, results, run_id.as_ref()).await?;
                Box::pin(self.results(caller, live, &now, batch, answered, given, turn)).await
            }
            (State::AwaitingGeneration(generation), Reply::Generated(generated)) => {
                Box::pin(self.generated_by(live, generation, answered, *generated)).await
            }
            (_, reply) => {
                let fault = out_of_order(&now);
                let message = format!("{}, and was given a {}", fault.message, reply.word());
                Err(Fault { message, ..fault })
            }
        }
    }

    /// As it is; it must have been found before.
    pub(super) fn there(&self, live: &Live) -> Result<Arc<Coordination>, Fault> {
        live.now().ok_or_else(|| super::transition::not_found(&live.id))
    }

    async fn decided(&self, live: &Live, event: &Event, pending: &PendingId) -> Result<Accepted, Fault> {
        let after = self.transit(live, event, Changes::new(), None).await?;
        Ok(accepted(pending.as_str(), &after, None))
    }

    /// An answer to something that is not pending: the one that was given before, or another one.
    async fn answered_before(
        &self,
        live: &Live,
        now: &Coordination,
        id: &PendingId,
        answer: &Answer,
    ) -> Result<Accepted, Fault> {
        let pending = now.state.pending_id().map(ToString::to_string).unwrap_or_default();
        let stale = |what: &str| {
            let message = format!("`{id}` {what}: look at what is pending now");
            Fault::new(Reason::AnswerStale, message).with("pending_id", &pending).with("state", now.state.word())
        };
        let Some(sequence) = id.sequence() else {
            return Err(stale("is not what this coordination waits for"));
        };
        let mut frames = self.step_of(live, sequence).await?.into_iter();
        match frames.next() {
            Some(Frame::DecisionNeeded { id: asked, .. } | Frame::ToolsNeeded { id: asked, .. }) if asked == *id => {}
            Some(Frame::GenerationNeeded { id: asked, .. }) if asked == *id => {}
            _ => return Err(stale("is not what this coordination waits for")),
        }
        for frame in frames {
            if let Frame::Accepted { answered, run_id, turns_started, batch } = frame
                && answered.id == id.as_str()
                && answered.fingerprint == answer.fingerprint
            {
                let batch = match batch {
                    Some(progress) => Some(self.progress(live, progress).await?),
                    None => None,
                };
                let turns_remaining = now.terms.additional_turns.saturating_sub(turns_started);
                let id = id.to_string();
                return Ok(Accepted { id, replayed: true, run_id, turns_started, turns_remaining, batch });
            }
        }
        Err(stale("was answered otherwise, or is over"))
    }

    /// The frame of a number and those after it, up to the next that asks for something.
    async fn step_of(&self, live: &Live, sequence: u64) -> Result<Vec<Frame>, Fault> {
        let (mut step, mut after) = (Vec::new(), sequence.saturating_sub(1));
        loop {
            let page = self.journal_of(live, after, SEARCHED).await?;
            let Some((last, _)) = page.last() else {
                return Ok(step);
            };
            after = *last;
            for (_, frame) in page {
                if frame.asks() && !step.is_empty() {
                    return Ok(step);
                }
                step.push(frame);
            }
        }
    }

    /// What a decision's answer asks for, as a turn.
    fn next_turn(&self, live: &Live, now: &Coordination, next: NextTurn) -> Turn {
        let unanswered = next.unanswered.unwrap_or(now.terms.unanswered);
        // A coordination that waits for a decision has something that it presents.
        let exchange = now.exchange.unwrap_or_else(|| self.new_exchange_id());
        let thread = now.thread.clone().filter(|_| !next.detach_thread && !live.ephemeral);
        let base = match thread {
            Some(id) => {
                let expected = Expected::Exchange(exchange);
                Base::Thread(ThreadRef { id, expected, on_busy: now.terms.on_busy, unanswered })
            }
            None if unanswered == Unanswered::Interrupt && matches!(next.input, Input::Request(_)) => {
                Base::Over(exchange)
            }
            None => Base::Exchange(exchange),
        };
        Turn {
            run_id: next.run_id,
            assigned: None,
            fingerprint: next.fingerprint,
            step: next.step,
            base,
            input: next.input,
            capture: true,
            labels: next.labels,
            on_disconnect: next.on_disconnect.unwrap_or(now.terms.on_disconnect),
            retry: false,
            stream: now.terms.deltas || live.is_listened(),
            companion: None,
        }
    }

    /// Why the run of a batch no longer waits for it: somebody cancelled it, or sent its results by another way. Its error, or that, is the
    /// first error of an execution, which ends the coordination.
    async fn ended_outside(&self, live: &Live, batch: &Batch) -> Result<Option<Fault>, Fault> {
        if live.ephemeral {
            return Ok(None);
        }
        let run_id = &batch.turn.run_id;
        let read = self.ledger.run(&live.namespace, run_id).await.map_err(store_fault)?;
        let Some((run, _)) =
            read.filter(|(run, _)| run.state != RunState::PendingTools || run.exchange != Some(batch.exchange))
        else {
            return Ok(None);
        };
        let elsewhere = || {
            let message = format!("run `{run_id}` went on without its coordination: continue from where it is now");
            Fault::new(Reason::NoPendingToolCalls, message)
        };
        Ok(Some(run.failure.unwrap_or_else(elsewhere).with("run_id", run_id).with("run_state", run.state.word())))
    }

    /// The results of an answer by our ids of their calls, checked against the batch.
    async fn given(
        &self,
        live: &Live,
        batch: &Batch,
        results: Vec<ToolResult>,
        run_id: Option<&RunId>,
    ) -> Result<Vec<(CallId, Hash, Message)>, Fault> {
        if let Some(named) = run_id.filter(|named| **named != batch.turn.run_id) {
            let message = format!("the results name run `{named}`, and the calls are of run `{}`", batch.turn.run_id);
            return Err(Fault::new(Reason::ToolResultsMismatch, message)
                .with("run_id", named)
                .with("expected_run_id", &batch.turn.run_id));
        }
        let exchange = self.exchange_of_batch(live, batch).await?;
        let mut given: Vec<(CallId, Hash, Message)> = Vec::with_capacity(results.len());
        let mismatch = |what: String, key: &str, id: &CallId| {
            let open = join(batch.open());
            Fault::new(Reason::ToolResultsMismatch, format!("{what}: answer each call of the batch once"))
                .with(key, id)
                .with("pending_call_ids", open)
        };
        for result in results {
            let mut same = exchange.tool_calls().filter(|call| call.provider_call_id == result.call_id.as_str());
            let by_id = exchange.tool_calls().find(|call| call.call_id == result.call_id);
            let call = match (by_id, same.next(), same.next()) {
                (Some(call), ..) | (None, Some(call), None) => call.call_id.clone(),
                _ => {
                    let what = format!("result for `{}`, which is no call of this batch", result.call_id);
                    return Err(mismatch(what, "unknown", &result.call_id));
                }
            };
            let part = Part::new(Kind::ToolResult(ToolResult { call_id: call.clone(), ..result }));
            let message = Message { role: Role::Tool, parts: vec![part] };
            let hash = Changes::new().keep_message(&live.namespace, &message);
            let other = given.iter().any(|(known, ..)| *known == call)
                || batch.results.get(&call).is_some_and(|there| *there != hash);
            if other {
                let what = format!("second, different result for tool call `{call}`");
                return Err(mismatch(what, "duplicate", &call));
            }
            given.push((call, hash, message));
        }
        Ok(given)
    }

    #[expect(clippy::too_many_arguments, reason = "one answer, with what was found out about it")]
    async fn results(
        self: &Arc<Self>,
        caller: &Caller,
        live: &Arc<Live>,
        now: &Coordination,
        batch: Batch,
        answered: Answered,
        given: Vec<(CallId, Hash, Message)>,
        turn: tokio::sync::OwnedMutexGuard<()>,
    ) -> Result<Accepted, Fault> {
        let (id, run_id) = (answered.id.clone(), batch.turn.run_id.clone());
        let results: Vec<(CallId, Hash)> = given.iter().map(|(call, hash, _)| (call.clone(), *hash)).collect();
        let mut whole = batch.clone();
        whole.results.extend(results.iter().cloned());
        let open = whole.open();
        let messages: Vec<ToolResult> = given.iter().flat_map(|(.., message)| results_in(message)).cloned().collect();
        let told = Some((messages, open.clone()));
        if live.ephemeral {
            live.keep_results(&given);
        }
        if results.iter().all(|(call, _)| batch.results.contains_key(call)) {
            // Each of them is there already.
            return Ok(Accepted { replayed: true, ..accepted(&id, now, Some(run_id)).with(told) });
        }
        if !open.is_empty() {
            let mut changes = Changes::new();
            for (.., message) in &given {
                changes.keep_message(&live.namespace, message);
            }
            let event = Event::Results { answered, results };
            let after = self.transit(live, &event, changes, None).await?;
            return Ok(accepted(&id, &after, Some(run_id)).with(told));
        }
        let mut parts = Vec::with_capacity(batch.calls.len());
        for call in &batch.calls {
            let message = match given.iter().find(|(known, ..)| known == call) {
                Some((.., message)) => message.clone(),
                None => self.kept_result(live, whole.results.get(call)).await?,
            };
            parts.extend(message.parts);
        }
        let mut hasher = blake3::Hasher::new();
        for call in &batch.calls {
            hasher.update(whole.results.get(call).map_or(&[][..], |hash| &hash.0));
        }
        let step = Hash(*hasher.finalize().as_bytes());
        let asked = Turn {
            run_id: Some(run_id),
            assigned: None,
            fingerprint: step,
            step,
            base: Base::Exchange(batch.exchange),
            input: Input::Results(Message { role: Role::Tool, parts }),
            capture: true,
            labels: std::collections::BTreeMap::new(),
            on_disconnect: now.terms.on_disconnect,
            retry: false,
            stream: now.terms.deltas || live.is_listened(),
            companion: None,
        };
        let kept = given.into_iter().map(|(.., message)| message).collect();
        let claim = Claim::Results { answered, results, kept };
        Ok(self.launch(caller, live, asked, claim, turn).await?.with(told))
    }

    pub(super) async fn kept_result(&self, live: &Live, hash: Option<&Hash>) -> Result<Message, Fault> {
        let Some(hash) = hash else {
            return Err(Fault::new(Reason::Internal, "a batch goes on without a result of one of its calls"));
        };
        if live.ephemeral {
            return live.result(hash).ok_or_else(|| Fault::new(Reason::Internal, "a result that was accepted is gone"));
        }
        self.ledger.message(&live.namespace, *hash).await.map_err(store_fault)
    }

    /// A batch's progress as it is told.
    pub(super) async fn progress(
        &self,
        live: &Live,
        progress: BatchProgress,
    ) -> Result<(Vec<ToolResult>, Vec<CallId>), Fault> {
        let mut results = Vec::with_capacity(progress.results.len());
        for (_, hash) in &progress.results {
            results.extend(results_in(&self.kept_result(live, Some(hash)).await?).cloned());
        }
        Ok((results, progress.open))
    }

    /// A turn that could not be resolved or rendered is consumed and ends the coordination; its run is on record with the reason.
    pub(super) async fn unprepared(
        &self,
        live: &Live,
        asked: &Turn,
        answered: Answered,
        run_id: Option<RunId>,
        fault: Fault,
    ) -> Result<Accepted, Fault> {
        let now = self.there(live)?;
        let id = answered.id.clone();
        let mut changes = Changes::new();
        let run_id = run_id.or_else(|| asked.run_id.clone()).unwrap_or_else(|| self.new_run_id());
        let fault = fault.with("run_id", &run_id).with("run_state", RunState::Failed.word());
        let at = self.clock.now();
        match self.ledger.run(&live.namespace, &run_id).await.map_err(store_fault)? {
            Some((run, token)) => {
                let failure = Some(fault.clone());
                changes.replace_run(&Run { failure, ..run.moved_to(RunState::Failed, at) }, &token);
            }
            None => {
                let run = Run {
                    captured: true,
                    from: now.exchange,
                    labels: asked.labels.clone(),
                    failure: Some(fault.clone()),
                    ..Run::new(run_id.clone(), RunState::Failed, asked.fingerprint, at)
                };
                changes.create_run(&run);
            }
        }
        let changes = if live.ephemeral { Changes::new() } else { changes };
        let after = self.transit(live, &Event::Unprepared { answered, fault }, changes, None).await?;
        Ok(accepted(&id, &after, Some(run_id)))
    }
}

/// The results in a tool message.
pub(super) fn results_in(message: &Message) -> impl Iterator<Item = &ToolResult> {
    message.parts.iter().filter_map(|part| match &part.kind {
        Kind::ToolResult(result) => Some(result),
        _ => None,
    })
}

/// An answer that was taken now.
pub(super) fn accepted(id: &str, after: &Coordination, run_id: Option<RunId>) -> Accepted {
    Accepted {
        id: id.to_owned(),
        replayed: false,
        run_id,
        turns_started: after.turns_started,
        turns_remaining: after.turns_remaining(),
        batch: None,
    }
}

impl Accepted {
    pub(super) fn with(self, batch: Option<(Vec<ToolResult>, Vec<CallId>)>) -> Self {
        Self { batch, ..self }
    }
}
