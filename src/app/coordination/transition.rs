//! Transitions of coordinations, each kept before it is told, together with what it is about; and how one is found again after it was left
//! alone or the server stopped. It must not know why a transition is made.

use std::future::Future;
use std::sync::Arc;

use crate::domain::coordination::machine::{self, Beginning, Event, Illegal, Now, Opening, Step};
use crate::domain::coordination::{Coordination, Decision, Expiry, Frame, PendingId, State};
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{CoordinationId, RunId};
use crate::domain::run::{Run, State as RunState};
use crate::store::ledger::{Changes, Lost};

use super::super::replay::interrupted;
use super::super::{App, Caller, store_fault};
use super::live::{Bodies, LOST_NUMBERS, Live};

/// How often a transition is made anew because another server was quicker.
const TRIES: usize = 8;

impl App {
    /// Finds a coordination, and brings it to where it is: a turn that no process is at work on was interrupted, and one whose time is over
    /// is cancelled.
    pub(super) async fn live(&self, caller: &Caller, id: &CoordinationId) -> Result<Arc<Live>, Fault> {
        let live = self.coordinations.get(&caller.namespace, id);
        if !self.load(&live).await? {
            return Err(not_found(id));
        }
        self.expire(&live).await?;
        Ok(live)
    }

    /// Reads a coordination, unless it is at work here already. Says whether there is one.
    pub(super) async fn load(&self, live: &Live) -> Result<bool, Fault> {
        // Whoever comes meanwhile finds it where it is, and not on the way there.
        let _loading = live.loading.lock().await;
        let mut record = live.record.lock().await;
        if record.is_some() {
            return Ok(true);
        }
        let read = self.ledger.coordination(&live.namespace, &live.id).await.map_err(store_fault)?;
        let Some((coordination, token)) = read else {
            return Ok(false);
        };
        let at_work = match &coordination.state {
            State::TurnRunning(turn) => Some(turn.run_id.clone()),
            _ => None,
        };
        let mut coordination = coordination;
        if at_work.is_some() {
            // Frames that were told ahead of the turn's end are lost; their numbers are not given again.
            coordination.last_sequence = coordination.last_sequence.saturating_add(LOST_NUMBERS);
        }
        live.loaded(&coordination);
        *record = Some((coordination, Some(token)));
        drop(record);
        if let Some(run_id) = at_work {
            // Nobody in this process is at work on it: whoever is would have it at hand.
            let mut changes = Changes::new();
            let run = self.ledger.run(&live.namespace, &run_id).await.map_err(store_fault)?;
            if let Some((run, token)) = run.filter(|(run, _)| run.state == RunState::Running) {
                let run = Run { updated_at: self.clock.now(), owner: String::new(), ..self.settled(run) };
                changes.replace_run(&run, &token);
            }
            if let Err(fault) = self.transit(live, &Event::Interrupted(interrupted(&run_id)), changes, None).await {
                // It is read again by whoever comes next.
                *live.record.lock().await = None;
                return Err(fault);
            }
        }
        Ok(true)
    }

    /// Begins a coordination.
    pub(super) async fn begin(
        &self,
        live: &Live,
        opening: &Opening,
        beginning: &Beginning,
        changes: Changes,
    ) -> Result<Result<(), Lost>, Fault> {
        let (opening, beginning) = (opening.clone(), beginning.clone());
        self.to_the_end(live, |app, live| async move { app.begin_now(&live, &opening, &beginning, changes).await })
            .await
    }

    /// Makes a transition to its end, also when whoever asked for it goes away meanwhile: what was written must be told to whoever comes next.
    async fn to_the_end<T, F>(&self, live: &Live, what: impl FnOnce(Arc<Self>, Arc<Live>) -> F) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let Some(live) = live.itself() else { return Err(not_found(&live.id)) };
        // From now on, and not only once the task is at work: a stream that is to close waits for what was said before.
        let entering = live.enters();
        let step = |app| {
            let step = what(app, live);
            async move {
                let done = step.await;
                drop(entering);
                done
            }
        };
        self.to_its_end(step).await
    }

    async fn begin_now(
        &self,
        live: &Live,
        opening: &Opening,
        beginning: &Beginning,
        mut changes: Changes,
    ) -> Result<Result<(), Lost>, Fault> {
        let mut record = live.record.lock().await;
        if record.is_some() {
            return Err(conflict(&live.id));
        }
        let step = live.stepping(|told, _| {
            let step = machine::start(opening.clone(), beginning.clone(), self.present(told));
            let last = step.after.last_sequence;
            (step, Some(last))
        });
        if live.ephemeral {
            *record = Some((step.after.clone(), None));
            live.kept(&step.after, step.frames, None);
            return Ok(Ok(()));
        }
        let token = changes.create_coordination(&step.after);
        changes.journal(&live.id, 1, &step.frames);
        match self.commit(&live.namespace, &changes).await.map_err(store_fault)? {
            Ok(()) => {
                *record = Some((step.after.clone(), Some(token)));
                live.kept(&step.after, step.frames, None);
                Ok(Ok(()))
            }
            Err(Lost::CoordinationExists(id)) => Err(conflict(&id)),
            Err(lost) => {
                live.dropped(Vec::new(), 0);
                Ok(Err(lost))
            }
        }
    }

    /// Makes a transition and keeps it with other changes.
    ///
    /// # Errors
    /// OUT_OF_ORDER where the event does not fit, and when the store fails or one of the other changes is lost.
    pub(super) async fn transit(
        &self,
        live: &Live,
        event: &Event,
        changes: Changes,
        bodies: Option<Bodies>,
    ) -> Result<Arc<Coordination>, Fault> {
        self.transit_with(live, std::slice::from_ref(event), changes, bodies)
            .await?
            .map_err(|lost| changed_meanwhile(&lost))
    }

    /// One event after the other, as one transition.
    fn steps(&self, before: &Coordination, events: &[Event], told: Vec<Frame>) -> Result<Step, Illegal> {
        let mut whole = Step { after: before.clone(), frames: Vec::new() };
        let mut told = Some(told);
        for event in events {
            let now = self.present(told.take().unwrap_or_default());
            let Step { after, frames } = machine::step(&whole.after, event.clone(), now)?;
            whole.after = after;
            whole.frames.extend(frames);
        }
        Ok(whole)
    }

    /// As [`Self::transit`], for several events at once and for whoever knows what to do when one of the changes is lost; nothing is kept
    /// then.
    pub(super) async fn transit_with(
        &self,
        live: &Live,
        events: &[Event],
        changes: Changes,
        bodies: Option<Bodies>,
    ) -> Result<Result<Arc<Coordination>, Lost>, Fault> {
        let events = events.to_vec();
        self.to_the_end(live, |app, live| async move { app.transit_now(&live, &events, changes, bodies).await }).await
    }

    async fn transit_now(
        &self,
        live: &Live,
        events: &[Event],
        changes: Changes,
        bodies: Option<Bodies>,
    ) -> Result<Result<Arc<Coordination>, Lost>, Fault> {
        let mut record = live.record.lock().await;
        for _ in 0..TRIES {
            let Some((before, token)) = record.clone() else {
                return Err(not_found(&live.id));
            };
            let mut heard = Vec::new();
            let step = live.stepping(|told, delivered| {
                heard.clone_from(&told);
                let step = self.steps(&with_delivery(&before, delivered), events, told);
                let last = step.as_ref().ok().map(|step| step.after.last_sequence);
                (step, last)
            });
            let Step { after, frames } = step.map_err(|_| out_of_order(&before))?;
            let bodies = bodies.clone().map(Arc::new);
            let Some(token) = token else {
                *record = Some((after.clone(), None));
                live.kept(&after, frames, bodies);
                return Ok(Ok(Arc::new(after)));
            };
            let mut with = changes.clone();
            let new = with.replace_coordination(&after, &token);
            if !frames.is_empty() {
                with.journal(&live.id, before.last_sequence.saturating_add(1), &frames);
            }
            match self.commit(&live.namespace, &with).await {
                Ok(Ok(())) => {
                    *record = Some((after.clone(), Some(new)));
                    live.kept(&after, frames, bodies);
                    return Ok(Ok(Arc::new(after)));
                }
                Ok(Err(Lost::CoordinationChanged(_))) => {
                    live.dropped(heard, before.last_sequence);
                    let read = self.ledger.coordination(&live.namespace, &live.id).await.map_err(store_fault)?;
                    if let Some((coordination, _)) = &read {
                        live.loaded(coordination);
                    }
                    *record = read.map(|(coordination, token)| (coordination, Some(token)));
                }
                Ok(Err(lost)) => {
                    live.dropped(heard, before.last_sequence);
                    return Ok(Err(lost));
                }
                Err(error) => {
                    live.dropped(heard, before.last_sequence);
                    return Err(store_fault(error));
                }
            }
        }
        let message = "the coordination was changed again and again by other servers: call again";
        Err(Fault::new(Reason::AnswerStale, message).retry_after(100))
    }

    fn present(&self, told: Vec<Frame>) -> Now {
        Now { at: self.clock.now(), unique: self.ids.uuid(), told }
    }

    /// Cancels a coordination whose time is over.
    pub(super) async fn expire(&self, live: &Live) -> Result<(), Fault> {
        let Some(now) = live.now() else {
            return Ok(());
        };
        let Some((at, why)) = now.expiry(!live.is_alone()) else {
            return Ok(());
        };
        // A turn at work has a timer of its own, and an answer that waits for admission has come in time for its decision.
        let in_time = live.is_starting() && why != Expiry::Deadline;
        if at > self.clock.now() || in_time || matches!(now.state, State::TurnRunning(_)) {
            return Ok(());
        }
        let message = format!("coordination `{}` was cancelled: {why}", live.id);
        let fault = Fault::new(Reason::Deadline, message).with("coordination_id", &live.id);
        match self.cancel_with(live, None, fault).await {
            // It went on at the same moment.
            Err(fault) if fault.reason == Reason::OutOfOrder => Ok(()),
            other => other,
        }
    }

    /// Ends a coordination as cancelled. A turn at work is told to end, and the coordination ends with it.
    pub(super) async fn cancel_with(
        &self,
        live: &Live,
        answered: Option<crate::domain::coordination::Answered>,
        fault: Fault,
    ) -> Result<(), Fault> {
        live.stop_starting();
        for _ in 0..TRIES {
            let Some(now) = live.now() else {
                return Err(not_found(&live.id));
            };
            let mut changes = Changes::new();
            if let State::AwaitingTools(_) | State::AwaitingGeneration(_) = &now.state
                && let Some(run_id) = now.state.run_id()
                && !live.ephemeral
            {
                self.cancel_waiting(live, run_id, &mut changes).await?;
            }
            let event = Event::Cancel { answered: answered.clone(), fault: fault.clone() };
            match self.transit_with(live, &[event], changes, None).await? {
                Ok(after) => {
                    if let Some(flight) = after.state.run_id().and_then(|run| live.flight(run)) {
                        flight.cancel.cancel();
                    }
                    return Ok(());
                }
                // Its run or its thread changed at the same moment.
                Err(_) => continue,
            }
        }
        Err(Fault::new(Reason::HeadMoved, "the run of the coordination changes again and again: call again"))
    }

    /// A run that waits for the client is cancelled with its coordination.
    async fn cancel_waiting(&self, live: &Live, run_id: &RunId, changes: &mut Changes) -> Result<(), Fault> {
        let read = self.ledger.run(&live.namespace, run_id).await.map_err(store_fault)?;
        let Some((run, token)) =
            read.filter(|(run, _)| matches!(run.state, RunState::PendingTools | RunState::Running))
        else {
            return Ok(());
        };
        self.cancel_on_record(&live.namespace, run, &token, changes).await.map(|_| ())
    }
}

/// As it is with what streams were handed.
fn with_delivery(before: &Coordination, delivered: Option<&PendingId>) -> Coordination {
    match &before.state {
        State::AwaitingDecision(decision) if delivered == Some(&decision.id) => {
            let state = State::AwaitingDecision(Decision { delivered: true, ..decision.clone() });
            Coordination { state, ..before.clone() }
        }
        _ => before.clone(),
    }
}

/// There is no such coordination.
pub(super) fn not_found(id: &CoordinationId) -> Fault {
    Fault::not_found(Reason::CoordinationNotFound, "coordination", id.as_str())
}

/// The id was used with another start.
pub(super) fn conflict(id: &CoordinationId) -> Fault {
    let message = format!(
        "coordination id `{id}` was used with another start: repeat that one unchanged, attach to it, or take a new id"
    );
    Fault::new(Reason::CoordinationConflict, message).with("coordination_id", id)
}

/// What was said does not fit where the coordination is.
pub(super) fn out_of_order(now: &Coordination) -> Fault {
    let waits = match &now.state {
        State::TurnRunning(_) => "a turn is at work: wait for what it brings",
        State::AwaitingDecision(_) => "it waits for the next action",
        State::AwaitingTools(_) => "it waits for results of tool calls",
        State::AwaitingGeneration(_) => "it waits for the answer of a model that the client calls",
        State::Ended(_) => "it is over",
    };
    let message = format!("coordination `{}` cannot take this now: {waits}", now.id);
    let fault =
        Fault::new(Reason::OutOfOrder, message).with("state", now.state.word()).with("coordination_id", &now.id);
    match now.state.pending_id() {
        Some(id) => fault.with("pending_id", id),
        None => fault,
    }
}

fn changed_meanwhile(lost: &Lost) -> Fault {
    Fault::new(Reason::HeadMoved, format!("{lost}: look at it and call again"))
}
