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
pub mod file;
mod generation;
mod nearest;
mod open_to;
mod overflow;
mod pace;
mod price;
mod profile;
mod prompt;
mod repair;
mod resolve;
mod retry;
mod settings;
mod setup;
#[cfg(test)]
pub(crate) mod testing;
mod trace;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub use adaptation::explain as adaptations;
pub use admission::Permit;
pub use answer::Answer;
pub use catalog::{AsFarAsRead, Catalog, ConfiguredContract, DIALECTS, Kind, Prompt, Variable};
pub use config::{BackendConfig, Config, ConfigProblem, ContractConfig, ProfileConfig, decode, unknown_key};
pub use contract::{SchemaProblem, json_in};
pub use execute::{Events, Executed, Execution};
pub use fallback::Fallback;
pub use generation::{failure_kind, only_in_coordinate};
pub use open_to::OpenTo;
pub use price::{Bill, Estimate, Prices, PricesConfig};
pub use profile::{MAX_STOP_SEQUENCES, ParametersConfig, Profile};
pub use prompt::Rendered;
pub use repair::{MAX_ATTEMPTS, RepairConfig};
pub use resolve::{Asked, Context, Plan, PromptInput};
pub use settings::{history_view, name as setting, tool_choice};
pub use setup::{BackendView, Change, Opened, Setup, What};
pub use trace::provider;

use arc_swap::ArcSwap;

use self::contract::Schemas;
use self::resolve::Resolver;
use self::retry::Jitter;
use crate::domain::coordination::Planned;
use crate::domain::fault::{Fault, Reason};
use crate::domain::message::Message;
use crate::domain::settings::EffectiveSetting;
use crate::domain::source::{Clock, Ids};
use crate::domain::tool::Offer;

/// One execution at a time, any number at once: everything it needs that is configured.
pub struct Engine {
    setup: ArcSwap<Setup>,
    /// One setup takes the place of another at a time.
    replacing: Mutex<()>,
    schemas: Schemas,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    seed: u64,
    drawn: AtomicU64,
}

impl Engine {
    /// On what is configured. `seed` decides the chance in the waits between retries.
    pub fn new(setup: Setup, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>, seed: u64) -> Self {
        Self {
            setup: ArcSwap::from_pointee(setup),
            replacing: Mutex::new(()),
            schemas: Schemas::default(),
            clock,
            ids,
            seed,
            drawn: AtomicU64::new(0),
        }
    }

    /// What is configured now.
    pub fn setup(&self) -> Arc<Setup> {
        self.setup.load_full()
    }

    /// In what another setup differs from the one in force.
    pub fn changes(&self, next: &Setup) -> Vec<Change> {
        next.changes(&self.setup.load())
    }

    /// Puts another setup in force, and tells in what it differs. What was resolved before goes on with the one before.
    pub fn replace(&self, next: Setup) -> Vec<Change> {
        let _one = self.replacing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.setup.load_full();
        let changes = next.changes(&before);
        self.setup.store(Arc::new(next.after(&before)));
        changes
    }

    /// Resolves what was asked: every setting with its source, the prompt rendered, schemas checked. Calls nobody and changes nothing.
    ///
    /// # Errors
    /// What is missing, unknown or contradictory. Fields are named by their path in the execution request.
    pub fn resolve(&self, asked: Asked, context: Context) -> Result<Plan, Fault> {
        Resolver { setup: &self.setup(), schemas: &self.schemas }.resolve(asked, context)
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
        plan.stand()?.gate.admit().await
    }

    fn jitter(&self) -> Jitter {
        Jitter::new(self.seed ^ self.drawn.fetch_add(1, Ordering::Relaxed).rotate_left(32))
    }
}
