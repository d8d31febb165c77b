//! Fallbacks: profiles that stand in where a call could not be made with the one that was asked for. It must not know how a call is made.
//!
//! | how the call ended | does the next one stand in? |
//! | --- | --- |
//! | provider failed or unreachable, rate limit, no connection in time, left alone after failures | yes |
//! | the same, after a piece of the answer was delivered | no: pieces cannot be taken back |
//! | the same, in a repair | no: there was a whole answer, and an error in its repair is the run's (S4-11) |
//! | anything else: an answer, a refusal, silence, a cancel | no |

use secrecy::SecretString;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::admission::Permit;
use super::catalog::Catalog;
use super::execute::{Events, Executed, Execution, PARTLY_DELIVERED, REPAIR, cancelled, run_cancelled};
use super::profile::Profile;
use super::resolve::Plan;
use super::settings::{Written, merge, name};
use super::{Answer, Engine};
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::Namespace;
use crate::domain::message::Message;
use crate::domain::run::Observation;
use crate::domain::settings::{EffectiveSetting, Parameters, Source, Warning};
use crate::domain::usage::Usage;

/// Most fallbacks of a profile.
pub(crate) const MAX: usize = 8;

/// A profile that stands in for another.
#[derive(Clone, Debug, PartialEq)]
pub struct Fallback {
    /// Its id.
    pub profile_id: String,
    /// Its backend.
    pub backend_id: String,
    /// Its model.
    pub model: String,
    /// Parameters of the call with it.
    pub parameters: Parameters,
    /// The settings that it brings in place of the first one's.
    pub settings: Vec<EffectiveSetting>,
}

/// Those of a profile that a namespace may use, in order. `above` are the parameters that go before any profile's.
pub(crate) fn fallbacks(
    catalog: &Catalog,
    namespace: &Namespace,
    profile: &Profile,
    above: &[(&Parameters, Source)],
) -> Vec<Fallback> {
    let stands_in = |other: &Profile| {
        let mut written = Written::default();
        written.text(name::PROFILE, &other.id, Source::Profile);
        written.text(name::BACKEND, &other.backend_id, Source::Profile);
        written.text(name::MODEL, &other.model, Source::Profile);
        let layers: Vec<_> = above.iter().copied().chain([(&other.parameters, Source::Profile)]).collect();
        let parameters = merge(&layers, &mut written);
        Fallback {
            profile_id: other.id.clone(),
            backend_id: other.backend_id.clone(),
            model: other.model.clone(),
            parameters,
            settings: written.finish(),
        }
    };
    profile.fallback.iter().filter_map(|id| catalog.profile(id, namespace)).map(stands_in).collect()
}

impl Plan {
    /// The same with another profile.
    fn with(&self, fallback: &Fallback) -> Self {
        let is_replaced = |setting: &&EffectiveSetting| {
            [name::PROFILE, name::BACKEND, name::MODEL].contains(&setting.name.as_str())
                || setting.name.starts_with(name::PARAMETERS)
        };
        let kept = self.settings.iter().filter(|setting| !is_replaced(setting)).cloned();
        Self {
            profile_id: fallback.profile_id.clone(),
            backend_id: fallback.backend_id.clone(),
            model: fallback.model.clone(),
            parameters: fallback.parameters.clone(),
            settings: fallback.settings.iter().cloned().chain(kept).collect(),
            fallbacks: Vec::new(),
            ..self.clone()
        }
    }
}

/// What is known after the first profile failed.
struct Standing<'a> {
    engine: &'a Engine,
    history: Vec<Message>,
    stream: bool,
    first_number: u32,
    deadline: Option<tokio::sync::watch::Receiver<Option<Instant>>>,
    cancel: Option<CancellationToken>,
    observations: Vec<Observation>,
    /// Each one that did not stand in, and why.
    passed_over: Vec<String>,
}

impl Engine {
    /// Makes the call of a plan, and where that cannot be made, with each of its fallbacks in order. Gives back the plan that brought the
    /// answer. A caller's own credential is for the first one's provider and goes to no other.
    pub async fn execute_with_fallbacks(
        &self,
        plan: Plan,
        permit: Permit,
        call: Execution,
        events: &mut dyn Events,
    ) -> (Plan, Executed) {
        let mut standing = Standing {
            engine: self,
            history: if plan.fallbacks.is_empty() { Vec::new() } else { call.history.clone() },
            stream: call.stream,
            first_number: call.first_number,
            deadline: call.deadline.clone(),
            cancel: call.cancel.clone(),
            observations: Vec::new(),
            passed_over: Vec::new(),
        };
        let first = self.execute(&plan, &permit, call, events).await;
        // What waits for another backend holds no place at this one.
        drop(permit);
        standing.observations = first.observations;
        let (plan, outcome) = match first.outcome {
            Err(fault) if stands_in(&fault) => standing.others(plan, fault, events).await,
            outcome => (plan, outcome),
        };
        (plan, Executed { observations: standing.observations, outcome })
    }
}

impl Standing<'_> {
    async fn others(&mut self, plan: Plan, fault: Fault, events: &mut dyn Events) -> (Plan, Result<Answer, Fault>) {
        for fallback in &plan.fallbacks {
            if self.is_over() {
                break;
            }
            let other = plan.with(fallback);
            match self.with(&other, events).await {
                Ok(mut answer) => {
                    let warning = self.used(&plan, &other, &fault);
                    events.warning(&warning);
                    answer.warnings.insert(0, warning);
                    // What the first one consumed in vain is paid for as well.
                    answer.usage = Usage::sum(self.observations.iter().map(|seen| &seen.usage));
                    return (other, Ok(answer));
                }
                Err(ended) if ended.reason == Reason::RunCancelled || is_begun(&ended) => {
                    return (other, Err(ended));
                }
                Err(ended) => self.passed_over.push(format!("{} {}", other.profile_id, ended.reason.word())),
            }
        }
        let fault =
            if self.passed_over.is_empty() { fault } else { fault.with("fallbacks", self.passed_over.join(", ")) };
        (plan, Err(fault))
    }

    /// The call with another profile, after those who asked its backend before.
    async fn with(&mut self, plan: &Plan, events: &mut dyn Events) -> Result<Answer, Fault> {
        let engine = self.engine;
        engine.ready(plan, None::<&SecretString>)?;
        let permit = tokio::select! {
            permit = engine.admit(plan) => permit?,
            () = cancelled(self.cancel.as_ref()) => return Err(run_cancelled(&plan.backend_id)),
        };
        let made = u32::try_from(self.observations.len()).unwrap_or(u32::MAX);
        let call = Execution {
            history: self.history.clone(),
            stream: self.stream,
            first_number: self.first_number.saturating_add(made),
            deadline: self.deadline.clone(),
            cancel: self.cancel.clone(),
            ..Execution::default()
        };
        let executed = engine.execute(plan, &permit, call, events).await;
        self.observations.extend(executed.observations);
        executed.outcome
    }

    /// Nobody waits for an answer any more.
    fn is_over(&self) -> bool {
        let deadline = self.deadline.as_ref().and_then(|deadline| *deadline.borrow());
        self.cancel.as_ref().is_some_and(CancellationToken::is_cancelled)
            || deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    /// Who answered in whose place, why, and what of the call could not be passed on.
    fn used(&self, first: &Plan, other: &Plan, fault: &Fault) -> Warning {
        let mut message = format!(
            "the profile `{}` could not be called ({}); `{}` answered in its place: backend `{}`, model `{}`",
            first.profile_id,
            fault.reason.word(),
            other.profile_id,
            other.backend_id,
            other.model
        );
        let adapted = self.observations.last().map(|last| last.adaptations.join(", ")).unwrap_or_default();
        if !adapted.is_empty() {
            message.push_str(&format!("; adapted to it: {adapted}"));
        }
        if !self.passed_over.is_empty() {
            message.push_str(&format!("; passed over: {}", self.passed_over.join(", ")));
        }
        Warning { code: "fallback_used".to_owned(), message }
    }
}

/// Another profile may bring what this one could not.
fn stands_in(fault: &Fault) -> bool {
    let is_passing = match fault.reason {
        Reason::ProviderUnavailable | Reason::ProviderRateLimited => true,
        Reason::ProviderTimeout => fault.metadata.get("timeout").is_some_and(|which| which == "connect"),
        _ => false,
    };
    is_passing && !is_begun(fault)
}

/// A piece of an answer reached the caller, or a whole one came: another profile would not go on with it but begin anew.
fn is_begun(fault: &Fault) -> bool {
    [PARTLY_DELIVERED, REPAIR].iter().any(|mark| fault.metadata.contains_key(*mark))
}
