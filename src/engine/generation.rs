//! Calls that the client makes: a plan in the form in which it is kept meanwhile, and what comes of the client's answer. It must not know who
//! the client is.

use std::time::Duration;

use super::Engine;
use super::answer::{Answer, answer};
use super::backend::{Failure, FailureKind, Reply, client};
use super::resolve::Plan;
use super::retry::{Standing, wait};
use super::settings;
use crate::domain::coordination::Planned;
use crate::domain::fault::{Fault, Reason};

impl Plan {
    /// As it is kept.
    pub fn planned(&self) -> Planned {
        Planned {
            profile_id: self.profile_id.clone(),
            backend_id: self.backend_id.clone(),
            model: self.model.clone(),
            parameters: self.parameters.clone(),
            contract: self.contract.clone(),
            offer: self.offer.clone(),
            tool_choice: self.tool_choice.clone(),
            session_id: self.session_id.clone(),
            messages: self.messages.clone(),
            settings: self.settings.clone(),
            warnings: self.warnings.clone(),
        }
    }
}

impl Engine {
    /// Whether the client makes the call of a plan.
    ///
    /// # Errors
    /// When its backend is gone.
    pub fn is_clients(&self, plan: &Plan) -> Result<bool, Fault> {
        Ok(plan.stand()?.description.kind == client::KIND)
    }

    /// A plan that was kept.
    ///
    /// # Errors
    /// When its backend is gone or its contract is no longer usable.
    pub fn plan_of(&self, kept: Planned) -> Result<Plan, Fault> {
        let setup = self.setup();
        setup.stand(&kept.backend_id)?;
        let check = self.schemas.check(&kept.contract).map_err(|problem| {
            Fault::new(Reason::SchemaInvalid, format!("the run's contract is no longer usable: {problem}"))
        })?;
        Ok(Plan {
            repair_attempts: settings::repair_attempts(&kept.settings),
            profile_id: kept.profile_id,
            backend_id: kept.backend_id,
            model: kept.model,
            parameters: kept.parameters,
            contract: kept.contract,
            offer: kept.offer,
            tool_choice: kept.tool_choice,
            session_id: kept.session_id,
            history_view: settings::history_view(&kept.settings),
            narrowed: false,
            messages: kept.messages,
            settings: kept.settings,
            warnings: kept.warnings,
            // A further step goes on with what the run began with.
            fallbacks: Vec::new(),
            check,
            setup,
        })
    }

    /// An answer of the client as an answer: our ids for its calls, its form validated.
    ///
    /// # Errors
    /// When the backend is gone.
    pub fn taken(&self, plan: &Plan, reply: Reply) -> Result<Answer, Fault> {
        let usage = reply.usage.clone();
        let stand = plan.stand()?;
        Ok(answer(reply, usage, plan, &stand.description, &self.schemas, self.ids.as_ref()))
    }

    /// Whether the client is to be asked again after a failure, the call having been made so often; else what the failure means.
    ///
    /// # Errors
    /// The failure, as it ends the run.
    pub fn asked_again(&self, plan: &Plan, failure: &Failure, made: u32) -> Result<(), Fault> {
        let stand = plan.stand()?;
        let standing = Standing { made, delivered: false, left: Duration::MAX };
        match wait(&stand.limits.retry, failure, standing, &mut self.jitter()) {
            // The client knows best how long to wait; nothing is held meanwhile.
            Some(_) => Ok(()),
            None => Err(failure.fault(&plan.backend_id).with("attempts", made)),
        }
    }
}

/// What a client's failure is, by its gRPC code.
pub fn failure_kind(code: i32) -> FailureKind {
    match code {
        4 => FailureKind::Timeout(super::backend::Timeout::Total),
        7 | 16 => FailureKind::CredentialRefused(super::backend::CredentialSource::Caller),
        8 => FailureKind::RateLimited,
        14 => FailureKind::Unavailable,
        _ => FailureKind::Refused,
    }
}

/// The reason for a call whose model the client would have to call, where there is no such client.
pub fn only_in_coordinate(backend_id: &str) -> Fault {
    let message = format!(
        "backend `{backend_id}` is of the kind `client`, whose model the client of a coordination calls: use Coordinate, or a profile of another backend"
    );
    Fault::new(Reason::ClientBackendOnlyInCoordinate, message).with("backend_id", backend_id)
}
