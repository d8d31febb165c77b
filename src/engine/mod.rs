//! The tool shed: one execution, from what was asked to a whole answer. It resolves settings, renders prompts, admits, calls, retries and
//! validates. It must not know threads, histories, storage or callers' connections.

mod adaptation;
mod admission;
mod answer;
pub mod backend;
mod catalog;
mod circuit;
mod config;
mod contract;
mod execute;
mod fallback;
mod generation;
mod nearest;
mod overflow;
mod price;
mod profile;
mod prompt;
mod repair;
mod resolve;
mod retry;
mod settings;
#[cfg(test)]
pub(crate) mod testing;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use adaptation::explain as adaptations;
pub use admission::Permit;
pub use answer::Answer;
pub use catalog::{AsFarAsRead, Catalog, ConfiguredContract, DIALECTS, Kind, Prompt, Variable};
pub use config::{BackendConfig, Config, ConfigProblem, ContractConfig, ProfileConfig, decode, unknown_key};
pub use contract::{SchemaProblem, json_in};
pub use execute::{Events, Executed, Execution};
pub use fallback::Fallback;
pub use generation::{failure_kind, only_in_coordinate};
pub use price::{Bill, Estimate, Prices, PricesConfig};
pub use profile::{ParametersConfig, Profile};
pub use prompt::Rendered;
pub use repair::{MAX_ATTEMPTS, RepairConfig};
pub use resolve::{Asked, Context, Plan, PromptInput};
pub use settings::{history_view, name as setting, tool_choice};

use self::admission::Gate;
use self::backend::{Backend, Description, Limits};
use self::circuit::Circuit;
use self::contract::Schemas;
use self::resolve::Resolver;
use self::retry::Jitter;
use crate::domain::coordination::Planned;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::Hash;
use crate::domain::message::Message;
use crate::domain::settings::EffectiveSetting;
use crate::domain::source::{Clock, Ids};
use crate::domain::tool::Offer;

/// One execution at a time, any number at once: everything it needs that is configured.
pub struct Engine {
    catalog: Catalog,
    stands: BTreeMap<String, Stand>,
    descriptions: BTreeMap<String, Description>,
    schemas: Schemas,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    seed: u64,
    drawn: AtomicU64,
}

/// A backend with its door.
struct Stand {
    backend: Arc<dyn Backend>,
    description: Description,
    limits: Limits,
    gate: Arc<Gate>,
    circuit: Circuit,
    /// Of how it is configured; absent where nobody said so.
    configuration: Option<Hash>,
}

/// A backend as the catalog shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendView {
    /// Its id.
    pub id: String,
    /// What it is.
    pub description: Description,
    /// Its limits.
    pub limits: Limits,
    /// Calls at work now.
    pub in_use: u32,
    /// Calls that wait now.
    pub queued: u32,
}

impl Engine {
    /// Brings the catalog and the backends together. `seed` decides the chance in the waits between retries.
    ///
    /// # Errors
    /// When a profile's backend is not there, or limits make no sense.
    pub fn new(
        catalog: Catalog,
        backends: BTreeMap<String, (Arc<dyn Backend>, Limits)>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
        seed: u64,
    ) -> Result<Self, Vec<ConfigProblem>> {
        let mut problems = Vec::new();
        for (id, profile) in &catalog.profiles {
            if !backends.contains_key(&profile.backend_id) {
                let what = format!("there is no backend `{}`", profile.backend_id);
                problems.push(ConfigProblem::new(format!("profiles.{id}.backend"), what, ""));
            }
        }
        for (id, (_, limits)) in &backends {
            let of = |(key, what)| ConfigProblem::new(format!("backends.{id}.{key}"), what, "");
            problems.extend(limits.problems().into_iter().map(of));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let stand = |(id, (backend, limits)): (String, (Arc<dyn Backend>, Limits))| {
            let gate = Gate::new(&id, limits.capacity, limits.queue_limit);
            let circuit = Circuit::new(&id, limits.circuit.clone());
            let description = backend.describe();
            (id, Stand { backend, description, limits, gate, circuit, configuration: None })
        };
        let stands: BTreeMap<String, Stand> = backends.into_iter().map(stand).collect();
        let descriptions = stands.iter().map(|(id, stand)| (id.clone(), stand.description.clone())).collect();
        Ok(Self {
            catalog,
            stands,
            descriptions,
            schemas: Schemas::default(),
            clock,
            ids,
            seed,
            drawn: AtomicU64::new(0),
        })
    }

    /// With a hash of how each backend is configured, by which a change of it is known.
    #[must_use]
    pub fn configured(mut self, backends: &BTreeMap<String, BackendConfig>) -> Self {
        for (id, stand) in &mut self.stands {
            stand.configuration = backends.get(id).map(BackendConfig::hash);
        }
        self
    }

    /// Hash of how a backend is configured; absent where there is none.
    pub fn configuration_of(&self, id: &str) -> Option<Hash> {
        self.stands.get(id).and_then(|stand| stand.configuration)
    }

    /// What is configured.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The prices of a backend's model, by a profile that gives them.
    pub fn prices(&self, backend_id: &str, model: &str) -> Option<&Prices> {
        let mut profiles = self.catalog.profiles.values();
        let of =
            |profile: &&Profile| profile.backend_id == backend_id && profile.model == model && profile.prices.is_some();
        profiles.find(of).and_then(|profile| profile.prices.as_ref())
    }

    /// Every backend with its load, by id.
    pub fn backends(&self) -> Vec<BackendView> {
        self.stands.iter().map(|(id, stand)| view(id, stand)).collect()
    }

    /// One backend with its load.
    pub fn backend(&self, id: &str) -> Option<BackendView> {
        self.stands.get(id).map(|stand| view(id, stand))
    }

    /// Resolves what was asked: every setting with its source, the prompt rendered, schemas checked. Calls nobody and changes nothing.
    ///
    /// # Errors
    /// What is missing, unknown or contradictory. Fields are named by their path in the execution request.
    pub fn resolve(&self, asked: Asked, context: Context) -> Result<Plan, Fault> {
        Resolver { catalog: &self.catalog, backends: &self.descriptions, schemas: &self.schemas }
            .resolve(asked, context)
    }

    /// A plan for a further step of a run, with the settings it began with, sources included, whatever is configured since.
    ///
    /// # Errors
    /// When the settings are not as this server writes them, or their backend is gone.
    pub fn resume(&self, settings: Vec<EffectiveSetting>, offer: Offer, messages: Vec<Message>) -> Result<Plan, Fault> {
        let kept = settings::read(&settings).ok_or_else(|| {
            Fault::new(Reason::StoreCorrupt, "the settings of the run are not as this server writes them")
        })?;
        self.plan_of(Planned {
            profile_id: kept.profile_id,
            backend_id: kept.backend_id,
            model: kept.model,
            parameters: kept.parameters,
            contract: kept.contract,
            offer,
            tool_choice: kept.tool_choice,
            session_id: kept.session_id,
            messages,
            settings,
            warnings: Vec::new(),
        })
    }

    /// A place at the plan's backend, after those who asked before. Dropping the future leaves the queue.
    ///
    /// # Errors
    /// BACKEND_QUEUE_FULL, with a guess of when to come back.
    pub async fn admit(&self, plan: &Plan) -> Result<Permit, Fault> {
        self.stand(&plan.backend_id)?.gate.admit().await
    }

    fn stand(&self, id: &str) -> Result<&Stand, Fault> {
        self.stands.get(id).ok_or_else(|| Fault::not_found(Reason::ResourceNotFound, "backend", id))
    }

    fn jitter(&self) -> Jitter {
        Jitter::new(self.seed ^ self.drawn.fetch_add(1, Ordering::Relaxed).rotate_left(32))
    }
}

fn view(id: &str, stand: &Stand) -> BackendView {
    BackendView {
        id: id.to_owned(),
        description: stand.description.clone(),
        limits: stand.limits.clone(),
        in_use: stand.gate.in_use(),
        queued: stand.gate.queued(),
    }
}
