//! One run from claim to completion: a task of its own that its callers watch (rules 7, 8, 16). It must not know which verb asked or how the
//! answer is sent.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use tracing::Instrument;

use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{ExchangeId, Namespace, RunId};
use crate::domain::message::Message;
use crate::domain::run::{AttemptKind, Observation, Run, State, Step};
use crate::domain::settings::Warning;
use crate::domain::spend::Spent;
use crate::domain::thread::{Expected, Head};
use crate::domain::usage::Usage;
use crate::domain::view::{BYTES_OF_A_TOKEN, tokens};
use crate::domain::workspace::{Live, Root};
use crate::engine::backend::Delta;
use crate::engine::{Events, Executed, Execution, Permit, Plan};
use crate::store::ledger::{Changes, Lost, Token};

use super::accounts::priced;
use super::base::{Start, StartThread, head_moved};
use super::busy::Asks;
use super::flight::{Entered, Event, Flight, Watcher};
use super::replay::{Stored, conflict};
use super::turn::{Base, Companion, OnDisconnect, Outcome, StepEnd, Turn};
use super::{App, Caller, drift, store_fault};

mod completion;
mod fleeting;
mod generation;
mod preparation;
mod reopening;

pub(super) use fleeting::Before;
pub(super) use generation::{Call, Made, Waiting};

pub(super) use preparation::{Decided, pairing_refused};

/// How often a claim is tried again when a thread without an expected head moved in between.
const CLAIM_TRIES: usize = 8;

/// A run that was claimed.
struct Claimed {
    run: Run,
    token: Token,
    thread: Option<(crate::domain::thread::Thread, Head, Token)>,
}

impl App {
    /// Starts a turn, or joins the run of its id, and gives a watcher of it.
    ///
    /// # Errors
    /// When the server takes no work, or the id is in flight with another request.
    pub async fn start_turn(self: &Arc<Self>, caller: Caller, turn: Turn) -> Result<Watcher, Fault> {
        if self.is_draining() {
            self.accept_work()?;
        }
        let (calling, run_id) = self.identify(&caller.namespace, &turn).await?;
        let turn = if calling.is_some() { Turn { fingerprint: turn.step, ..turn } } else { turn };
        let key = (caller.namespace.clone(), run_id.clone());
        let place = match self.flights.find(&key.0, &key.1) {
            Some(_) => None,
            None => Some(self.accounts.begin(&caller.principal)?),
        };
        let entered = self.flights.enter(&key, self.limits.max_runs, || {
            Flight::of(self.queued(&run_id, &turn), turn.on_disconnect, self.flights.interrupt())
        });
        match entered {
            // What drives a turn must have a run of its own.
            Entered::Follow(flight) if turn.companion.is_some() => {
                Err(conflict(&run_id, turn.fingerprint, flight.fingerprint))
            }
            Entered::Follow(flight) if flight.fingerprint == turn.fingerprint => {
                Ok(flight.watch(true, caller.deadline))
            }
            Entered::Follow(flight) => self.beside(&caller, &turn, calling, &flight).await,
            Entered::Full => {
                let message = format!("{} runs are at work, which is the limit: wait a moment", self.limits.max_runs);
                Err(Fault::new(Reason::LimitExceeded, message)
                    .with("limit", "max_runs")
                    .with("max", self.limits.max_runs)
                    .with("value", self.limits.max_runs.saturating_add(1))
                    .retry_after(1_000))
            }
            Entered::Lead(flight) => {
                let watcher = flight.watch(false, caller.deadline);
                self.followed.changed(&key.0, &key.1);
                let landing = Landing { app: Arc::clone(self), flight: Arc::clone(&flight), key, result: None };
                // Joined by `Flights::landed`, which the drain waits for.
                let span = tracing::info_span!("run", %run_id, namespace = %caller.namespace);
                let flying = async move {
                    let result = landing.app.fly(&landing.flight, &caller, turn, calling).await;
                    told(&result);
                    // Whoever is told may come with the next.
                    drop(place);
                    landing.land(result);
                };
                tokio::spawn(flying.instrument(span));
                Ok(watcher)
            }
        }
    }

    /// A call that names a run in flight and is not the call that flies it: the run's first request while a step is at work, which waits
    /// for what comes of the run, or the results of another step, which is over.
    async fn beside(
        &self,
        caller: &Caller,
        turn: &Turn,
        calling: Option<ExchangeId>,
        flight: &Arc<Flight>,
    ) -> Result<Watcher, Fault> {
        let namespace = &caller.namespace;
        let Some((run, token)) = self.ledger.run(namespace, &flight.run_id).await.map_err(store_fault)? else {
            return Err(conflict(&flight.run_id, turn.fingerprint, flight.fingerprint));
        };
        let Some(calling) = calling else {
            let is_first_request = run.fingerprint == turn.fingerprint;
            return if is_first_request {
                Ok(flight.watch(true, caller.deadline))
            } else {
                Err(conflict(&run.id, turn.fingerprint, run.fingerprint))
            };
        };
        match self.look_up_step(namespace, run, token, turn, calling).await? {
            Stored::Outcome(outcome) => {
                let landed = Flight::new(
                    flight.run_id.clone(),
                    turn.fingerprint,
                    OnDisconnect::Finish,
                    tokio_util::sync::CancellationToken::new(),
                );
                landed.land(Ok(*outcome));
                Ok(landed.watch(false, None))
            }
            Stored::Open(..) | Stored::Nothing => Err(conflict(&flight.run_id, turn.fingerprint, flight.fingerprint)),
        }
    }

    async fn fly(
        &self,
        flight: &Arc<Flight>,
        caller: &Caller,
        turn: Turn,
        calling: Option<ExchangeId>,
    ) -> Result<Outcome, Fault> {
        let namespace = &caller.namespace;
        // A thread is kept from one try to the next: others that wait for it stay behind.
        let mut asks = Asks { flight, on_busy: turn.base.on_busy(), held: None, looks: false };
        for _ in 0..CLAIM_TRIES {
            let opens = match self.look_up(namespace, &flight.run_id, &turn, calling).await? {
                Stored::Outcome(outcome) if turn.companion.is_some() => {
                    return Err(conflict(&flight.run_id, turn.fingerprint, outcome.run.fingerprint));
                }
                Stored::Outcome(outcome) => return Ok(*outcome),
                Stored::Open(run, token) => Some((*run, token)),
                Stored::Nothing => None,
            };
            self.accept_work()?;
            if let (Some((run, token)), None) = (&opens, calling)
                && run.exchange.is_some()
            {
                return self.reopen(namespace, run.clone(), token).await;
            }
            let decided = self.prepare(caller, &turn, &mut asks, opens, calling).await?;
            // Until the turn is over, what it goes on from is not erased.
            let _footing = self.footing_of(namespace, &decided.start, flight).await?;
            // Nothing is held for a call that the client makes.
            let permit = if self.engine.is_clients(&decided.plan)? {
                None
            } else {
                tokio::select! {
                    permit = self.engine.admit(&decided.plan) => Some(permit?),
                    () = flight.cancel.cancelled() => return Err(flight.end(cancelled(&flight.run_id))),
                }
            };
            if permit.is_some() {
                self.may_spend(caller, turn.companion.as_deref(), &decided.plan).await?;
            }
            let Some(claimed) = self.claim(namespace, flight, &turn, &decided).await? else {
                asks.held = decided.start.occupied;
                continue;
            };
            flight.claimed(claimed.run.sequence());
            drift::tell(&decided.drifts, &self.meters);
            let teller = Teller { flight: flight.as_ref(), companion: turn.companion.as_deref(), said: 0 };
            decided.plan.warnings.iter().for_each(|warning| teller.tell(Event::Warning(warning.clone())));
            return match permit {
                Some(permit) => self.execute(flight, caller, turn, decided, claimed, permit).await,
                None => self.hand_over(turn, decided, claimed).await,
            };
        }
        let message =
            "the thread moved again and again while the turn was to start: call again, or name an expected head";
        Err(Fault::new(Reason::HeadMoved, message).retry_after(100))
    }

    /// The one durable write before the provider is called. Absent when a thread moved and the caller expected no certain head.
    async fn claim(
        &self,
        namespace: &Namespace,
        flight: &Flight,
        turn: &Turn,
        decided: &Decided,
    ) -> Result<Option<Claimed>, Fault> {
        let now = self.clock.now();
        let start = &decided.start;
        let mut changes = Changes::new();
        let root = self.root_at_claim(namespace, start, &mut changes).await?;
        let run = claimed_run(&self.owner, now, flight, turn, decided, root);
        let token = match &decided.opens {
            Some((_, token)) => changes.replace_run(&run, token),
            None => changes.create_run(&run),
        };
        if let Some((used, token)) = &decided.uses {
            changes.replace_prepared(used, token);
        }
        if let Some((given_up, token)) = &start.given_up {
            let failure = Some(cancelled(&given_up.id));
            changes.replace_run(&Run { failure, ..given_up.clone().moved_to(State::Cancelled, now) }, token);
        }
        let thread = start.thread.as_ref().map(|thread| {
            let before = thread.head().clone();
            let sequence = before.sequence.saturating_add(1);
            let head = Head { active_run: Some(run.id.clone()), sequence, updated_at: now, ..before };
            let token = match thread {
                StartThread::Create(thread, _, root) => {
                    changes.begin_workspace(&thread.id, &Live { root: *root, sequence: 0, updated_at: now });
                    changes.create_thread(thread, &head).1
                }
                StartThread::Move(thread, _, token) => changes.replace_head(&thread.id, &head, token),
            };
            (thread.thread().clone(), head, token)
        });
        let committed = match &turn.companion {
            Some(companion) => companion.claim(&run, changes).await?,
            None => self.commit(namespace, &changes).await.map_err(store_fault)?,
        };
        match committed {
            Ok(()) => {}
            Err(Lost::ThreadExists(id)) => return Err(super::thread::exists(&id)),
            Err(Lost::HeadMoved(id)) => {
                if let Base::Thread(at) | Base::EmptyThread(at) = &turn.base
                    && at.expected != Expected::Any
                {
                    let (_, head, _) = self.read_thread(namespace, &id).await?;
                    return Err(head_moved(&id, at.expected, &head));
                }
                return Ok(None);
            }
            Err(_) => return Ok(None),
        }
        Ok(Some(Claimed { run, token, thread }))
    }

    async fn execute(
        &self,
        flight: &Arc<Flight>,
        caller: &Caller,
        turn: Turn,
        decided: Decided,
        claimed: Claimed,
        permit: Permit,
    ) -> Result<Outcome, Fault> {
        let namespace = &caller.namespace;
        let Decided { start, plan, outbound, history, prior, calling, .. } = decided;
        let prefix = history.len();
        let prompt = prompt_tokens(&history, &plan);
        let rendered = if turn.capture { Vec::new() } else { history.iter().chain(&plan.messages).cloned().collect() };
        let execution = Execution {
            history,
            prior,
            outbound: Some(outbound),
            stream: turn.stream,
            credential: caller.credential.clone(),
            first_number: u32::try_from(claimed.run.observations.len()).unwrap_or(u32::MAX),
            deadline: Some(flight.until()),
            cancel: Some(flight.cancel.clone()),
        };
        let mut teller = Teller { flight: flight.as_ref(), companion: turn.companion.as_deref(), said: 0 };
        let (plan, executed) = self.engine.execute_with_fallbacks(plan, permit, execution, &mut teller).await;
        let Executed { observations, outcome } = executed;
        let spent = self.consumed(&observations, prompt, teller.said);
        // Both are on record when the caller is told; they mostly share one write to disk.
        let charged = self.charge(caller, &spent);
        let ended = async {
            match outcome {
                Ok(answer) => {
                    let spent = spent.clone();
                    let finished = Finished {
                        turn,
                        start,
                        plan,
                        calling,
                        observations,
                        spent,
                        answer,
                        rendered,
                        prefix,
                        tries: 0,
                    };
                    self.complete(namespace, claimed, finished).await
                }
                Err(fault) => {
                    let fault = flight.end(fault);
                    let companion = turn.companion.as_deref();
                    Err(self.fail(namespace, companion, claimed, observations, &spent, fault).await?)
                }
            }
        };
        futures::join!(ended, charged).0
    }

    /// What calls to providers came to, which are over. One that was given up counts as what is taken to be sent and the bytes that came.
    pub(super) fn consumed(&self, observations: &[Observation], prompt: u64, said: usize) -> Spent {
        let setup = self.engine.setup();
        self.meters.called(&setup, observations);
        let written = u64::try_from(said.div_ceil(BYTES_OF_A_TOKEN)).unwrap_or(u64::MAX);
        let cut = Usage { input_tokens: Some(prompt), output_tokens: Some(written), ..Usage::default() };
        setup.spent(observations, &cut)
    }

    /// Puts what was spent on the account of who calls.
    pub(super) async fn charge(&self, caller: &Caller, spent: &Spent) {
        self.accounts.charge(&self.ledger, &caller.principal, self.clock.now(), spent).await;
    }

    /// Whether a call may be made for somebody, as a part of something larger or not: what was spent already does not reach a limit.
    pub(super) async fn may_spend(
        &self,
        caller: &Caller,
        companion: Option<&dyn Companion>,
        plan: &Plan,
    ) -> Result<(), Fault> {
        self.accounts.may_spend(&self.ledger, &caller.principal, self.clock.now(), plan).await?;
        match companion.and_then(Companion::spending) {
            Some((limit, spent)) => {
                let names = ["spend_limit.tokens", "spend_limit.cost"];
                priced(plan, &limit, names[1])?;
                limit.allows(&spent, "the coordination", names)
            }
            None => Ok(()),
        }
    }

    /// Records why a run did not complete; gives back what the caller is told.
    async fn fail(
        &self,
        namespace: &Namespace,
        companion: Option<&dyn Companion>,
        claimed: Claimed,
        observations: Vec<Observation>,
        spent: &Spent,
        fault: Fault,
    ) -> Result<Fault, Fault> {
        let now = self.clock.now();
        let state = match fault.reason {
            Reason::RunCancelled => State::Cancelled,
            Reason::RunInterrupted => State::Interrupted,
            _ => State::Failed,
        };
        let mut run = claimed.run.moved_to(state, now);
        run.observations.extend(observations);
        let run = Run { failure: Some(fault.clone()), owner: String::new(), ..run };
        let mut changes = Changes::new();
        changes.replace_run(&run, &claimed.token);
        if let (State::Cancelled, Some((thread, head, token))) = (state, &claimed.thread) {
            let head =
                Head { active_run: None, sequence: head.sequence.saturating_add(1), updated_at: now, ..head.clone() };
            changes.replace_head(&thread.id, &head, token);
        }
        let fault = fault.with("run_id", &run.id).with("run_state", state.word());
        let fault = match &claimed.thread {
            Some((thread, _, _)) => fault.with("thread_id", &thread.id),
            None => fault,
        };
        let end = StepEnd::Failed { run: &run, fault: &fault, exchange: None, spent };
        if self.commit_end(namespace, companion, end, changes).await?.is_err() {
            // Somebody moved the thread on; the run's own end is recorded all the same.
            let mut changes = Changes::new();
            changes.replace_run(&run, &claimed.token);
            if self.commit_end(namespace, companion, end, changes).await?.is_err() {
                return Err(changed_meanwhile());
            }
        }
        Ok(fault)
    }

    /// Commits how a turn ended, with what it is a part of.
    async fn commit_end(
        &self,
        namespace: &Namespace,
        companion: Option<&dyn Companion>,
        end: StepEnd<'_>,
        changes: Changes,
    ) -> Result<Result<(), Lost>, Fault> {
        let state = end.state();
        if let Some(thread) = &end.run().thread_id {
            self.threads.ending(namespace, thread, &end.run().id);
        }
        let kept = match companion {
            Some(companion) => companion.end(end, changes).await,
            None => self.commit(namespace, &changes).await.map_err(store_fault),
        }?;
        if kept.is_ok() {
            self.meters.stepped(state);
        }
        Ok(kept)
    }
}

fn told(result: &Result<Outcome, Fault>) {
    match result {
        Ok(outcome) => tracing::debug!(state = outcome.run.state.word(), replayed = outcome.replayed, "run.landed"),
        Err(fault) => tracing::info!(reason = fault.reason.word(), "run.refused"),
    }
}

/// Takes a flight out when its task ends, whatever the reason, and tells its watchers.
struct Landing {
    app: Arc<App>,
    flight: Arc<Flight>,
    key: (Namespace, RunId),
    /// Absent when the task ended by a panic.
    result: Option<Result<Outcome, Fault>>,
}

impl Landing {
    fn land(mut self, result: Result<Outcome, Fault>) {
        self.result = Some(result);
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        // First out, then told: a caller who tries again at once must meet the record and not this flight.
        self.app.flights.leave(&self.key);
        self.app.followed.changed(&self.key.0, &self.key.1);
        let broken = || Err(Fault::new(Reason::Internal, "the run ended by a fault of this server; the log has more"));
        self.flight.land(self.result.take().unwrap_or_else(broken));
    }
}

/// What a run that was executed has, before it is kept.
pub(super) struct Finished {
    pub(super) turn: Turn,
    pub(super) start: Start,
    pub(super) plan: Plan,
    pub(super) calling: Option<ExchangeId>,
    pub(super) observations: Vec<Observation>,
    pub(super) spent: Spent,
    pub(super) answer: crate::engine::Answer,
    pub(super) rendered: Vec<Message>,
    pub(super) prefix: usize,
    /// How often it was to be kept and its thread's documents had just changed.
    pub(super) tries: u32,
}

/// Passes what comes from the engine on to the watchers, and to what the turn is a part of.
pub(super) struct Teller<'a, T> {
    pub(super) flight: &'a Flight<T>,
    pub(super) companion: Option<&'a dyn Companion>,
    /// Bytes of the answer so far.
    pub(super) said: usize,
}

impl<T> Teller<'_, T> {
    fn tell(&self, event: Event) {
        if let Some(companion) = self.companion {
            companion.hear(&event);
        }
        self.flight.tell(event);
    }
}

impl<T: Send + Sync> Events for Teller<'_, T> {
    fn attempt(&mut self, number: u32, kind: AttemptKind, backend_id: &str, model: &str) {
        self.tell(Event::Attempt { number, kind, backend_id: backend_id.to_owned(), model: model.to_owned() });
    }

    fn delta(&mut self, delta: Delta) {
        self.said = self.said.saturating_add(delta.bytes());
        self.tell(Event::Delta(delta));
    }

    fn ready(&mut self) -> BoxFuture<'_, ()> {
        match self.companion {
            Some(companion) => companion.ready(),
            None => futures::future::ready(()).boxed(),
        }
    }

    fn warning(&mut self, warning: &Warning) {
        self.tell(Event::Warning(warning.clone()));
    }
}

/// Whether a thread is as a run that let it go had found it: nothing came in between.
pub(super) fn waits_for(head: &Head, run: &Run) -> bool {
    head.active_run.is_none() && head.exchange == run.from
}

/// Tokens that a call is taken to send.
pub(super) fn prompt_tokens(history: &[Message], plan: &Plan) -> u64 {
    history.iter().chain(&plan.messages).fold(0, |sum: u64, message| sum.saturating_add(tokens(message)))
}

fn claimed_run(
    owner: &str,
    now: crate::domain::id::Moment,
    flight: &Flight,
    turn: &Turn,
    decided: &Decided,
    root: Root,
) -> Run {
    let parent = decided.start.parent.as_ref().map(|parent| parent.exchange.id);
    let thread_id = decided.start.thread.as_ref().map(|thread| thread.thread().id.clone());
    let run = match &decided.opens {
        Some((run, _)) => {
            let again = run.state.is_retryable();
            let run = run.clone().moved_to(State::Running, now);
            let run = Run { attempt: run.attempt.saturating_add(u32::from(again)), ..run };
            // A new attempt of the first step starts where its thread is now.
            if decided.calling.is_none() { Run { from: parent, thread_id, workspace: root, ..run } } else { run }
        }
        None => Run {
            captured: turn.capture,
            from: parent,
            thread_id,
            workspace: root,
            labels: turn.labels.clone(),
            ..Run::new(flight.run_id.clone(), State::Running, turn.fingerprint, now)
        },
    };
    let mut steps = run.steps;
    if let Some(calling) = decided.calling {
        steps.retain(|step| step.calling != calling);
        steps.push(Step { calling, fingerprint: turn.fingerprint, exchange: None });
    }
    Run { state: State::Running, owner: owner.to_owned(), failure: None, steps, updated_at: now, ..run }
}

/// The run was cancelled.
pub(super) fn cancelled(run_id: &RunId) -> Fault {
    let message = format!("run `{run_id}` was cancelled: repeat the call with `retry` to run it again");
    Fault::new(Reason::RunCancelled, message).with("run_id", run_id)
}

fn changed_meanwhile() -> Fault {
    Fault::new(Reason::HeadMoved, "the run was changed by another call in the meantime: look at it and call again")
}
