//! Turns whose model the client calls: handed over after the claim, and taken up again with what the client says came of it. It must not know
//! how either is told.

use std::sync::Arc;

use crate::app::base::{Parent, Start};
use crate::app::turn::{Asking, Base, Companion, Detailed, Input, OnDisconnect, Outcome, StepEnd, Turn};
use crate::app::{App, store_fault};
use crate::domain::coordination::Planned;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{ExchangeId, Moment, Namespace};
use crate::domain::run::{AttemptKind, CLIENT, Observation, Run, State};
use crate::domain::spend::Spent;
use crate::domain::usage::Usage;
use crate::engine::backend::{Failure, Reply};
use crate::engine::{Answer, Plan};
use crate::store::ledger::{Changes, Token};

use super::completion::completed_run;
use super::preparation::Decided;
use super::{Claimed, Finished, cancelled, changed_meanwhile};

/// What a client says came of a call.
#[derive(Clone)]
pub(in crate::app) enum Made {
    /// A whole answer, with the provider and the dialect where it names them.
    Answer {
        /// The answer.
        reply: Reply,
        /// The provider; the backend's when empty.
        provider: String,
        /// The dialect; the backend's when empty.
        api: String,
    },
    /// No answer.
    Failure(Failure),
}

/// A call that the client made.
pub(in crate::app) struct Call {
    /// What was to be sent.
    pub(in crate::app) plan: Planned,
    /// Which call of the run, from 1.
    pub(in crate::app) number: u32,
    /// What it was for.
    pub(in crate::app) kind: AttemptKind,
    /// When it was asked for.
    pub(in crate::app) asked_at: Moment,
    /// What came of it.
    pub(in crate::app) made: Made,
}

/// A run that the client's answer goes on with.
pub(in crate::app) enum Waiting {
    /// It is on record.
    Kept(Run, Token),
    /// It leaves nothing behind; with the exchange before the call.
    Fleeting(Run, Option<Box<Detailed>>),
}

impl App {
    /// Leaves the call to the client: the run stays RUNNING, and no process has it.
    pub(super) async fn hand_over(&self, turn: Turn, decided: Decided, claimed: Claimed) -> Result<Outcome, Fault> {
        let run = Run { owner: CLIENT.to_owned(), updated_at: self.clock.now(), ..claimed.run };
        let mut changes = Changes::new();
        changes.replace_run(&run, &claimed.token);
        let number = u32::try_from(run.observations.len()).unwrap_or(u32::MAX).saturating_add(1);
        let asking = Asking { run, number, kind: AttemptKind::First, plan: decided.plan.planned() };
        self.ask_client(turn.companion.as_ref(), asking, changes).await
    }

    /// Asks the client, through what the turn is a part of.
    pub(super) async fn ask_client(
        &self,
        companion: Option<&Arc<dyn Companion>>,
        asking: Asking,
        changes: Changes,
    ) -> Result<Outcome, Fault> {
        let Some(companion) = companion else {
            return Err(Fault::new(Reason::Internal, "there is no client that could call the model"));
        };
        if companion.ask(&asking, changes).await?.is_err() {
            return Err(changed_meanwhile());
        }
        Ok(Outcome { run: asking.run, exchange: None, thread: None, answer: None, replayed: false })
    }

    /// Takes up a turn with what the client says came of its call.
    ///
    /// # Errors
    /// When it cannot be kept.
    pub(in crate::app) async fn take_up(
        &self,
        namespace: &Namespace,
        waiting: Waiting,
        call: Call,
        companion: Arc<dyn Companion>,
    ) -> Result<(), Fault> {
        let now = self.clock.now();
        let (run, token, fleeting) = match waiting {
            Waiting::Kept(run, token) => (run, Some(token), None),
            Waiting::Fleeting(run, parent) => (run, None, Some(parent.map(|parent| *parent))),
        };
        // What the client called, it paid for.
        let nothing = Spent::default();
        if !run.is_clients() {
            // Somebody cancelled the run itself.
            let fault = run.failure.clone().unwrap_or_else(|| cancelled(&run.id));
            let end = StepEnd::Failed { run: &run, fault: &fault, exchange: None, spent: &nothing };
            return kept(companion.end(end, Changes::new()).await?);
        }
        let plan = self.engine.plan_of(call.plan.clone())?;
        let observation = observed(&call, &plan, now);
        self.meters.called(&self.engine.setup(), std::slice::from_ref(&observation));
        let failure = match call.made {
            Made::Failure(failure) => failure,
            Made::Answer { reply, provider, api } => {
                let mut answer = self.engine.taken(&plan, reply)?;
                name(&mut answer, provider, api);
                let finished = self.generated(namespace, &run, plan, observation, answer, &companion, fleeting).await?;
                let _footing = match finished.start.stored_parent() {
                    Some(parent) => Some(self.stand_on(namespace, parent, Some(&run.id)).await?),
                    None => None,
                };
                return match token {
                    Some(token) => {
                        let claimed = self.claimed_again(namespace, run, token).await?;
                        Box::pin(self.complete(namespace, claimed, finished)).await.map(|_| ())
                    }
                    None => {
                        let exchange = self.exchange_of(namespace, &run, &finished, now);
                        let run = completed_run(run, &exchange, &finished, now);
                        let offer = &finished.plan.offer;
                        let end = StepEnd::Completed { run: &run, exchange: &exchange, offer, spent: &nothing };
                        kept(companion.end(end, Changes::new()).await?).inspect(|()| self.meters.stepped(run.state))
                    }
                };
            }
        };
        let failed_before = run.observations.iter().rev().take_while(|observation| !observation.succeeded).count();
        let made = u32::try_from(failed_before).unwrap_or(u32::MAX).saturating_add(1);
        match self.engine.asked_again(&plan, &failure, made) {
            Ok(()) => {
                let mut run = Run { updated_at: now, ..run };
                run.observations.push(observation);
                let mut changes = Changes::new();
                if let Some(token) = &token {
                    changes.replace_run(&run, token);
                }
                let number = call.number.saturating_add(1);
                let asking = Asking { run, number, kind: AttemptKind::Retry, plan: call.plan };
                self.ask_client(Some(&companion), asking, changes).await.map(|_| ())
            }
            Err(fault) => match token {
                Some(token) => {
                    let claimed = self.claimed_again(namespace, run, token).await?;
                    self.fail(namespace, Some(companion.as_ref()), claimed, vec![observation], &nothing, fault)
                        .await
                        .map(|_| ())
                }
                None => {
                    let fault = fault.with("run_id", &run.id).with("run_state", State::Failed.word());
                    let end = StepEnd::Failed { run: &run, fault: &fault, exchange: None, spent: &nothing };
                    kept(companion.end(end, Changes::new()).await?).inspect(|()| self.meters.stepped(run.state))
                }
            },
        }
    }

    /// A run with the thread that it moves, unless that has gone on without it.
    async fn claimed_again(&self, namespace: &Namespace, run: Run, token: Token) -> Result<Claimed, Fault> {
        let thread = match &run.thread_id {
            Some(id) if self.ledger.thread(namespace, id).await.map_err(store_fault)?.is_some() => {
                Some(self.read_thread(namespace, id).await?)
            }
            _ => None,
        };
        let thread = thread.filter(|(_, head, _)| head.active_run.as_ref() == Some(&run.id));
        Ok(Claimed { run, token, thread })
    }

    #[expect(clippy::too_many_arguments, reason = "what a run needs that was executed, from where it was kept")]
    async fn generated(
        &self,
        namespace: &Namespace,
        run: &Run,
        plan: Plan,
        observation: Observation,
        answer: Answer,
        companion: &Arc<dyn Companion>,
        fleeting: Option<Option<Detailed>>,
    ) -> Result<Finished, Fault> {
        let calling: Option<ExchangeId> =
            run.steps.iter().find(|step| step.exchange.is_none()).map(|step| step.calling);
        let parent = match fleeting {
            Some(parent) => parent.map(|parent| Parent { exchange: parent.exchange, place: None }),
            None => match calling.or(run.from) {
                Some(id) => Some(self.parent(namespace, id).await?),
                None => None,
            },
        };
        let calling = calling.or_else(|| run.exchange.filter(|_| run.exchange_count > 0));
        let turn = Turn {
            run_id: Some(run.id.clone()),
            assigned: None,
            fingerprint: run.fingerprint,
            step: run.fingerprint,
            base: Base::Root,
            input: Input::Results(crate::domain::message::Message {
                role: crate::domain::message::Role::Tool,
                parts: Vec::new(),
            }),
            capture: true,
            labels: run.labels.clone(),
            on_disconnect: OnDisconnect::Finish,
            retry: false,
            stream: false,
            companion: Some(Arc::clone(companion)),
        };
        let start = Start::at(parent, None);
        let observations = vec![observation];
        Ok(Finished {
            turn,
            start,
            plan,
            calling,
            observations,
            spent: Spent::default(),
            answer,
            rendered: Vec::new(),
            prefix: 0,
            tries: 0,
        })
    }
}

fn kept(committed: Result<(), crate::store::ledger::Lost>) -> Result<(), Fault> {
    committed.map_err(|_| changed_meanwhile())
}

/// Who answered, where the client says so.
fn name(answer: &mut Answer, provider: String, api: String) {
    if !provider.is_empty() {
        answer.responder.provider = provider;
    }
    if !api.is_empty() {
        answer.responder.api = api;
    }
}

/// The client's call as an attempt of the run.
fn observed(call: &Call, plan: &Plan, now: Moment) -> Observation {
    let mut observation = Observation {
        kind: call.kind,
        backend_id: plan.backend_id.clone(),
        duration_ms: now.0.saturating_sub(call.asked_at.0),
        ..Observation::reported(call.number, plan.model.clone(), Usage::default(), call.asked_at)
    };
    match &call.made {
        Made::Answer { reply, .. } => observation.usage = reply.usage.clone(),
        Made::Failure(failure) => {
            observation.succeeded = false;
            failure.reason().word().clone_into(&mut observation.error_reason);
            observation.http_status = failure.http_status;
            observation.provider_code.clone_from(&failure.provider_code);
            observation.usage = failure.usage.clone();
            observation.retry_after_ms = failure.retry_after_ms;
        }
    }
    observation
}
