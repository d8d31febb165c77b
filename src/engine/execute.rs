//! One execution: the call, its retries, its answer and what corrects that, with an observation of every attempt. It must not know what
//! came before the history or what becomes of the answer.

use std::future::pending;
use std::time::Duration;

use futures::future::BoxFuture;
use secrecy::SecretString;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::admission::Permit;
use super::answer::{Answer, answer};
use super::backend::{Call, Delta, Failure, FailureKind, Outbound, Reply, Sink, Timeout};
use super::resolve::Plan;
use super::retry::{Standing, wait};
use super::setup::Stand;
use super::{Engine, overflow, repair, trace};
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::Hash;
use crate::domain::message::Message;
use crate::domain::run::{AttemptKind, Observation};
use crate::domain::settings::Warning;
use crate::domain::usage::Usage;

/// What an attempt says of a history of which a part was left out.
const NARROWED: &str = "history_narrowed";
/// What a fault says of the repair that it ended, which is after a whole answer.
pub(super) const REPAIR: &str = "repair";
/// What a fault says where a piece of an answer reached the caller.
pub(super) const PARTLY_DELIVERED: &str = "partly_delivered";

/// What an execution needs besides its plan.
#[derive(Debug, Default)]
pub struct Execution {
    /// Everything before the plan's messages; with `outbound` it is needed only where the answer may be repaired.
    pub history: Vec<Message>,
    /// With `outbound`, how many messages it has before the plan's.
    pub prior: usize,
    /// The call as it was encoded before, by [`Engine::outbound`] from the same plan.
    pub outbound: Option<Outbound>,
    /// Ask for the answer in pieces, and pass them on.
    pub stream: bool,
    /// The caller's own credential, over the configured one.
    pub credential: Option<SecretString>,
    /// How many attempts the run made before this execution.
    pub first_number: u32,
    /// When the last of those who wait stops waiting, which others who join may put off; no wait for another attempt goes beyond it. It does
    /// not end an attempt: that is `cancel`, when they have gone.
    pub deadline: Option<watch::Receiver<Option<Instant>>>,
    /// Ends the call, which still gives its observations; dropping the future ends it without.
    pub cancel: Option<CancellationToken>,
}

/// Is told what happens while a call is at work.
pub trait Events: Send {
    /// An attempt begins.
    fn attempt(&mut self, number: u32, kind: AttemptKind, backend_id: &str, model: &str);
    /// More of the answer came; only in a streamed execution.
    fn delta(&mut self, delta: Delta);
    /// Something the caller should know.
    fn warning(&mut self, warning: &Warning);
    /// Waits until whoever reads the pieces has room for more.
    fn ready(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// How an execution ended.
#[derive(Debug)]
pub struct Executed {
    /// Each attempt, failed ones too.
    pub observations: Vec<Observation>,
    /// The answer, or why there is none.
    pub outcome: Result<Answer, Fault>,
}

/// Why an attempt brought no reply.
enum Ended {
    Failed(Box<Failure>),
    Cancelled,
}

impl Ended {
    fn reason(&self) -> Reason {
        match self {
            Self::Failed(failure) => failure.reason(),
            Self::Cancelled => Reason::RunCancelled,
        }
    }
}

/// What all attempts of one execution share.
struct Attempts<'a> {
    engine: &'a Engine,
    stand: &'a Stand,
    plan: &'a Plan,
    outbound: Outbound,
    /// How many messages it has.
    messages: usize,
    request_hash: Hash,
    call: &'a Execution,
    /// When the total time is over.
    until: Instant,
    observations: Vec<Observation>,
}

impl Engine {
    /// Whether the plan's backend has what it needs to be called, `credential` being the caller's own, and is not left alone with nobody to
    /// stand in for it.
    ///
    /// # Errors
    /// CREDENTIAL_MISSING, PROVIDER_UNAVAILABLE while its circuit is open, or when the backend is gone.
    pub fn ready(&self, plan: &Plan, credential: Option<&SecretString>) -> Result<(), Fault> {
        let stand = plan.stand()?;
        stand.backend.ready(credential).map_err(|failure| failure.fault(&plan.backend_id))?;
        match stand.circuit.left() {
            Some(left) if plan.fallbacks.is_empty() => Err(left_alone(&plan.backend_id, left)),
            Some(_) | None => Ok(()),
        }
    }

    /// The call that an execution makes, as its backend encodes it: everything before the plan's messages, then those. Pure.
    ///
    /// # Errors
    /// When the backend is gone or its dialect cannot say it.
    pub fn outbound(&self, plan: &Plan, history: Vec<Message>, stream: bool) -> Result<Outbound, Fault> {
        let mut messages = history;
        messages.extend_from_slice(&plan.messages);
        self.encode(plan, messages, stream)
    }

    fn encode(&self, plan: &Plan, messages: Vec<Message>, stream: bool) -> Result<Outbound, Fault> {
        let stand = plan.stand()?;
        let call = Call {
            model: plan.model.clone(),
            messages,
            tools: plan.offer.offered.tools.clone(),
            tool_choice: plan.tool_choice.clone(),
            parameters: plan.parameters.clone(),
            contract: plan.contract.clone(),
            session_id: plan.session_id.clone(),
            stream,
        };
        let mut outbound = stand.backend.encode(&call).map_err(|failure| failure.fault(&plan.backend_id))?;
        if plan.narrowed {
            outbound.adaptations.push(NARROWED.to_owned());
        }
        Ok(outbound)
    }

    /// Makes the call, again where that is worth it, and checks the answer. One without its form is asked for again, as often as the plan
    /// says, and the last one counts (S4-8, S4-10). Dropping the future closes the connection.
    pub async fn execute(&self, plan: &Plan, permit: &Permit, call: Execution, events: &mut dyn Events) -> Executed {
        let mut observations = Vec::new();
        let kind = plan.stand().map_or("", |stand| stand.description.kind);
        let span = trace::begin(plan, kind, call.stream);
        let outcome = self.executed(plan, permit, call, events, &mut observations).instrument(span.clone()).await;
        trace::end(&span, &outcome);
        Executed { observations, outcome }
    }

    async fn executed(
        &self,
        plan: &Plan,
        permit: &Permit,
        mut call: Execution,
        events: &mut dyn Events,
        observations: &mut Vec<Observation>,
    ) -> Result<Answer, Fault> {
        if permit.backend_id() != plan.backend_id {
            return Err(Fault::new(Reason::Internal, "the permit is for another backend than the plan"));
        }
        let stand = plan.stand()?;
        let prior = if call.outbound.is_some() { call.prior } else { call.history.len() };
        let outbound = match call.outbound.take() {
            Some(outbound) => outbound,
            None if plan.repair_attempts > 0 => self.outbound(plan, call.history.clone(), call.stream)?,
            None => self.outbound(plan, std::mem::take(&mut call.history), call.stream)?,
        };
        let mut attempts = Attempts {
            engine: self,
            stand,
            plan,
            request_hash: Hash::of(&outbound.body),
            messages: prior.saturating_add(plan.messages.len()),
            outbound,
            call: &call,
            until: Instant::now() + stand.limits.total_timeout(),
            observations: Vec::new(),
        };
        let outcome = attempts.repaired(events).await;
        *observations = attempts.observations;
        let answer = outcome?;
        answer.warnings.iter().for_each(|warning| events.warning(warning));
        Ok(answer)
    }
}

impl Attempts<'_> {
    /// The call, and once more for each answer that misses its form: with that answer and what is wrong with it after the call's own messages.
    /// What was said before it is not said again, so that the last answer is corrected and not all of them.
    async fn repaired(&mut self, events: &mut dyn Events) -> Result<Answer, Fault> {
        let (engine, stand, plan) = (self.engine, self.stand, self.plan);
        let mut kind = AttemptKind::First;
        let mut repairs = 0;
        let mut last: Option<Answer> = None;
        loop {
            let reply = match (self.call(kind, events).await, last) {
                (Ok(reply), _) => reply,
                // A correction that does not fit the model any more is as if there were no attempts left: it never will.
                (Err(fault), Some(answer)) if fault.reason == Reason::ContextOverflow => {
                    return Ok(Answer { usage: self.usage(), ..answer });
                }
                // There was a whole answer before it: nobody who would begin anew can stand in for it (S4-11).
                (Err(fault), Some(_)) => return Err(fault.with(REPAIR, repairs)),
                (Err(fault), None) => return Err(fault),
            };
            let usage = self.usage();
            let answer = answer(reply, usage, plan, &stand.description, &engine.schemas, engine.ids.as_ref());
            // Without time for it, it is as if there were no attempts left: the answer is whole all the same.
            if repairs == plan.repair_attempts || !repair::helps(&answer) || self.left().is_zero() {
                return Ok(answer);
            }
            repairs += 1;
            kind = AttemptKind::Repair;
            tracing::debug!(backend_id = %plan.backend_id, repairs, "call.repair");
            let mut messages = self.call.history.clone();
            messages.extend_from_slice(&plan.messages);
            messages.extend(repair::correction(&answer.assistant, &answer.validation));
            self.messages = messages.len();
            self.outbound = engine.encode(plan, messages, self.call.stream)?;
            self.request_hash = Hash::of(&self.outbound.body);
            last = Some(answer);
        }
    }

    /// What all attempts consumed together.
    fn usage(&self) -> Usage {
        Usage::sum(self.observations.iter().map(|observation| &observation.usage))
    }

    /// One call with its retries.
    async fn call(&mut self, kind: AttemptKind, events: &mut dyn Events) -> Result<Reply, Fault> {
        let mut jitter = self.engine.jitter();
        let circuit = &self.stand.circuit;
        let mut made = 0;
        let mut before = None;
        loop {
            if let Some(ended) = self.turn().await {
                // Why it was made again says more than that there was no time for it.
                return Err(self.fault(&before.unwrap_or(ended), made, false));
            }
            let Some(pass) = circuit.pass() else {
                let left = circuit.left().unwrap_or_default();
                let alone = || left_alone(&self.plan.backend_id, left);
                return Err(before.map_or_else(alone, |ended| self.fault(&ended, made, false)));
            };
            made += 1;
            let kind = if made == 1 { kind } else { AttemptKind::Retry };
            let (reply, delivered) = self.attempt(kind, events).await;
            let ended = match reply {
                Ok(reply) => {
                    pass.answered();
                    return Ok(reply);
                }
                Err(Ended::Failed(failure)) => {
                    pass.failed(&failure.kind);
                    Ended::Failed(failure)
                }
                Err(Ended::Cancelled) => Ended::Cancelled,
            };
            let Ended::Failed(failure) = &ended else {
                return Err(self.fault(&ended, made, delivered));
            };
            let standing = Standing { made, delivered, left: self.left() };
            // What is left alone for longer than the wait would only be refused after it.
            let is_worth = |pause: &Duration| circuit.left().is_none_or(|left| left <= *pause);
            let Some(pause) = wait(&self.stand.limits.retry, failure, standing, &mut jitter).filter(is_worth) else {
                return Err(self.fault(&ended, made, delivered));
            };
            tracing::debug!(
                backend_id = %self.plan.backend_id,
                reason = failure.reason().word(),
                wait_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
                "call.retry"
            );
            tokio::select! {
                biased;
                () = cancelled(self.call.cancel.as_ref()) => return Err(self.fault(&Ended::Cancelled, made, false)),
                () = sleep_until(Instant::now() + pause) => {}
            }
            before = Some(ended);
        }
    }

    /// Waits until the backend's pace lets another request out; or why none goes out any more.
    async fn turn(&self) -> Option<Ended> {
        let left = self.left();
        tokio::select! {
            biased;
            turn = self.stand.pace.turn(left) => turn.err().map(|wait| Ended::Failed(Box::new(too_fast(wait)))),
            () = cancelled(self.call.cancel.as_ref()) => Some(Ended::Cancelled),
            () = sleep_until(Instant::now() + left) => Some(Ended::Failed(Box::new(too_fast(left)))),
        }
    }

    /// How long another attempt may be waited for: until the total time is over, or the deadline as it is known now.
    fn left(&self) -> Duration {
        let deadline = self.call.deadline.as_ref().and_then(|deadline| *deadline.borrow());
        deadline.map_or(self.until, |deadline| deadline.min(self.until)).saturating_duration_since(Instant::now())
    }

    /// One attempt, observed; and whether a piece of it reached the caller.
    async fn attempt(&mut self, kind: AttemptKind, events: &mut dyn Events) -> (Result<Reply, Ended>, bool) {
        let made = u32::try_from(self.observations.len()).unwrap_or(u32::MAX);
        let number = self.call.first_number.saturating_add(made).saturating_add(1);
        events.attempt(number, kind, &self.plan.backend_id, &self.plan.model);
        let started_at = self.engine.clock.now();
        let mut relay =
            Relay { events, stream: self.call.stream, started: Instant::now(), first_byte_ms: None, delivered: false };
        let credential = self.call.credential.as_ref();
        // An answer that is whole counts, even where the caller has just gone.
        let reply = tokio::select! {
            biased;
            sent = timeout_at(self.until, self.stand.backend.send(&self.outbound, credential, &mut relay)) => match sent {
                Ok(Ok(reply)) => Ok(reply),
                Ok(Err(failure)) => Err(Ended::Failed(Box::new(failure))),
                Err(_) => Err(Ended::Failed(Box::new(self.out_of_time()))),
            },
            () = cancelled(self.call.cancel.as_ref()) => Err(Ended::Cancelled),
        };
        let Relay { first_byte_ms, delivered, started, .. } = relay;
        let mut observation = Observation {
            number,
            kind,
            backend_id: self.plan.backend_id.clone(),
            model: self.plan.model.clone(),
            succeeded: reply.is_ok(),
            error_reason: String::new(),
            http_status: None,
            provider_code: String::new(),
            provider_request_id: String::new(),
            request_hash: Some(self.request_hash),
            request_bytes: u64::try_from(self.outbound.body.len()).unwrap_or(u64::MAX),
            adaptations: self.outbound.adaptations.clone(),
            usage: Usage::default(),
            retry_after_ms: None,
            started_at,
            first_byte_ms,
            duration_ms: milliseconds(started),
        };
        match &reply {
            Ok(reply) => {
                observation.http_status = reply.http_status;
                observation.provider_request_id.clone_from(&reply.provider_request_id);
                observation.usage = reply.usage.clone();
            }
            Err(ended) => {
                ended.reason().word().clone_into(&mut observation.error_reason);
                if let Ended::Failed(failure) = ended {
                    observation.http_status = failure.http_status;
                    observation.provider_code.clone_from(&failure.provider_code);
                    observation.provider_request_id.clone_from(&failure.provider_request_id);
                    observation.usage = failure.usage.clone();
                    observation.retry_after_ms = failure.retry_after_ms;
                }
            }
        }
        trace::attempt(&observation);
        self.observations.push(observation);
        (reply, delivered)
    }

    fn out_of_time(&self) -> Failure {
        let text = format!("no whole answer within {} ms, retries included", self.stand.limits.total_timeout_ms);
        Failure::new(FailureKind::Timeout(Timeout::Total), text)
    }

    fn fault(&self, ended: &Ended, made: u32, delivered: bool) -> Fault {
        let backend_id = &self.plan.backend_id;
        let fault = match ended {
            Ended::Failed(failure) if failure.kind == FailureKind::ContextOverflow => {
                overflow::counted(failure.fault(backend_id), self.messages, self.outbound.body.len())
            }
            Ended::Failed(failure) => failure.fault(backend_id),
            Ended::Cancelled => run_cancelled(backend_id),
        };
        let fault = fault.with("attempts", made);
        if delivered { fault.with(PARTLY_DELIVERED, true) } else { fault }
    }
}

/// Why a request does not go out in time.
fn too_fast(wait: Duration) -> Failure {
    let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
    let text = format!(
        "the backend's `requests_per_minute` lets the next request out in {wait} ms, after the call's time is over: call later, with more \
         time, or raise it"
    );
    Failure { retry_after_ms: Some(wait), ..Failure::new(FailureKind::RateLimited, text) }
}

/// Why a backend is not called for a while.
fn left_alone(backend_id: &str, left: Duration) -> Fault {
    let left = u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1);
    let text = format!("backend `{backend_id}` failed again and again and is left alone for {left} ms more");
    Fault::new(Reason::ProviderUnavailable, text)
        .with("backend_id", backend_id)
        .with("circuit", "open")
        .retry_after(left)
}

/// Nobody waits for the answer of a backend any more.
pub(super) fn run_cancelled(backend_id: &str) -> Fault {
    let text = "the run was cancelled before there was a whole answer";
    Fault::new(Reason::RunCancelled, text).with("backend_id", backend_id)
}

/// Waits until the token is cancelled; without one, for ever.
pub(super) async fn cancelled(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => pending().await,
    }
}

fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Passes pieces on, and remembers whether it did.
struct Relay<'a> {
    events: &'a mut dyn Events,
    stream: bool,
    started: Instant,
    first_byte_ms: Option<u64>,
    delivered: bool,
}

impl Sink for Relay<'_> {
    fn first_byte(&mut self) {
        if self.first_byte_ms.is_none() {
            self.first_byte_ms = Some(milliseconds(self.started));
        }
    }

    fn delta(&mut self, delta: Delta) {
        self.first_byte();
        if self.stream {
            self.delivered = true;
            self.events.delta(delta);
        }
    }

    fn ready(&mut self) -> BoxFuture<'_, ()> {
        self.events.ready()
    }
}

#[cfg(test)]
mod tests;
