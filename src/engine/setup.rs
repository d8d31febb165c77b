//! What is configured, as one whole: the catalog, and each backend with its door. A plan keeps the one that it was made of, so that a run ends
//! with what it began with when another takes its place. It must not know where a configuration is read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::admission::Gate;
use super::backend::{Backend, Description, Limits};
use super::catalog::Catalog;
use super::circuit::Circuit;
use super::config::ConfigProblem;
use super::pace::Pace;
use super::price::{self, Prices};
use super::profile::Profile;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::Hash;
use crate::domain::run::Observation;
use crate::domain::spend::Spent;
use crate::domain::usage::Usage;

/// A backend as it comes out of its configuration.
pub struct Opened {
    /// The backend.
    pub backend: Arc<dyn Backend>,
    /// Its limits.
    pub limits: Limits,
    /// Of how it is configured; absent where nobody said so.
    pub configuration: Option<Hash>,
    /// Of its key; absent where it has none of its own.
    pub key: Option<Hash>,
}

/// Everything that is configured.
pub struct Setup {
    pub(super) catalog: Catalog,
    stands: BTreeMap<String, Stand>,
}

/// A backend with its door.
pub(super) struct Stand {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) description: Description,
    pub(super) limits: Limits,
    pub(super) gate: Arc<Gate>,
    pub(super) circuit: Arc<Circuit>,
    pub(super) pace: Arc<Pace>,
    configuration: Option<Hash>,
    key: Option<Hash>,
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

/// In what way a setup differs from the one before.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// What it is: `prompt`, `profile`, `backend`, `contract` or `setting`.
    pub kind: &'static str,
    /// Its id, or the setting's name.
    pub id: String,
    /// What happened to it.
    pub what: What,
}

/// What happened to something configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It is otherwise.
    Changed,
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").field("backends", &self.stands.keys()).finish_non_exhaustive()
    }
}

impl Setup {
    /// Brings the catalog and the backends together.
    ///
    /// # Errors
    /// When a profile's backend is not there, or limits make no sense.
    pub fn new(catalog: Catalog, backends: BTreeMap<String, Opened>) -> Result<Self, Vec<ConfigProblem>> {
        let mut problems = Vec::new();
        for (id, profile) in &catalog.profiles {
            if !backends.contains_key(&profile.backend_id) {
                let what = format!("there is no backend `{}`", profile.backend_id);
                problems.push(ConfigProblem::new(format!("profiles.{id}.backend"), what, ""));
            }
        }
        for (id, opened) in &backends {
            let of = |(key, what)| ConfigProblem::new(format!("backends.{id}.{key}"), what, "");
            problems.extend(opened.limits.problems().into_iter().map(of));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let stands = backends.into_iter().map(|(id, opened)| (id.clone(), stand(&id, opened))).collect();
        Ok(Self { catalog, stands })
    }

    /// The profiles, prompts and contracts.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Every backend with its load, by id.
    pub fn backends(&self) -> impl Iterator<Item = BackendView> {
        self.stands.iter().map(|(id, stand)| view(id, stand))
    }

    /// One backend with its load.
    pub fn backend(&self, id: &str) -> Option<BackendView> {
        self.stands.get(id).map(|stand| view(id, stand))
    }

    /// The prices of a backend's model, by a profile that gives them.
    pub fn prices(&self, backend_id: &str, model: &str) -> Option<&Prices> {
        let mut profiles = self.catalog.profiles.values();
        let of =
            |profile: &&Profile| profile.backend_id == backend_id && profile.model == model && profile.prices.is_some();
        profiles.find(of).and_then(|profile| profile.prices.as_ref())
    }

    /// The currencies that some profile has prices in.
    pub fn currencies(&self) -> BTreeSet<&str> {
        let prices = self.catalog.profiles.values().filter_map(|profile| profile.prices.as_ref());
        prices.map(|prices| prices.currency.as_str()).collect()
    }

    /// What calls come to, by the prices that there are. One that was given up before its provider said what it consumed counts as `cut`.
    pub fn spent(&self, observations: &[Observation], cut: &Usage) -> Spent {
        let mut sum = Spent::default();
        for observation in observations {
            let Observation { backend_id, model, usage, error_reason, .. } = observation;
            let is_told = usage.input_tokens.is_some() || usage.output_tokens.is_some();
            let given_up = [Reason::RunCancelled, Reason::Deadline].iter().any(|reason| reason.word() == error_reason);
            let usage = if given_up && !is_told { cut } else { usage };
            sum.add(&price::spent(self.prices(backend_id, model), usage));
        }
        sum
    }

    /// Whether a profile has this model.
    pub fn names(&self, model: &str) -> bool {
        self.catalog.profiles.values().any(|profile| profile.model == model)
    }

    /// Hash of how a backend is configured; absent where there is none.
    pub(super) fn configuration_of(&self, id: &str) -> Option<Hash> {
        self.stands.get(id).and_then(|stand| stand.configuration)
    }

    pub(super) fn stand(&self, id: &str) -> Result<&Stand, Fault> {
        self.stands.get(id).ok_or_else(|| Fault::not_found(Reason::ResourceNotFound, "backend", id))
    }

    /// In what it differs from the one before, by kind and id.
    pub(super) fn changes(&self, before: &Self) -> Vec<Change> {
        let mut changes = Vec::new();
        let (now, then) = (&self.catalog, &before.catalog);
        compare("prompt", &then.prompts, &now.prompts, |a, b| a.hash == b.hash, &mut changes);
        compare("profile", &then.profiles, &now.profiles, PartialEq::eq, &mut changes);
        compare("contract", &then.contracts, &now.contracts, PartialEq::eq, &mut changes);
        compare("backend", &before.stands, &self.stands, |a, b| a.is_as(b) && a.limits == b.limits, &mut changes);
        let mut setting = |name: &str, then: Option<String>, now: Option<String>| {
            let what = match (then, now) {
                (then, now) if then == now => return,
                (None, _) => What::Added,
                (_, None) => What::Removed,
                _ => What::Changed,
            };
            changes.push(Change { kind: "setting", id: name.to_owned(), what });
        };
        setting("default_profile", then.default_profile.clone(), now.default_profile.clone());
        let repairs = |catalog: &Catalog| Some(catalog.max_repair_attempts.to_string());
        setting("max_repair_attempts", repairs(then), repairs(now));
        changes.sort();
        changes
    }

    /// Takes over from the one before: who waits for a backend keeps its place, and a backend that is as it was goes on with its connections.
    #[must_use]
    pub(super) fn after(mut self, before: &Self) -> Self {
        for (id, stand) in &mut self.stands {
            let Some(old) = before.stands.get(id) else { continue };
            old.gate.resize(stand.limits.capacity, stand.limits.queue_limit);
            stand.gate = Arc::clone(&old.gate);
            if old.limits.rate == stand.limits.rate {
                stand.pace = Arc::clone(&old.pace);
            }
            if old.is_as(stand) {
                stand.backend = Arc::clone(&old.backend);
                if old.limits.circuit == stand.limits.circuit {
                    stand.circuit = Arc::clone(&old.circuit);
                }
            }
        }
        self
    }
}

impl Stand {
    /// Whether both speak to the same provider in the same way.
    fn is_as(&self, other: &Self) -> bool {
        self.configuration == other.configuration && self.key == other.key
    }
}

fn stand(id: &str, opened: Opened) -> Stand {
    let Opened { backend, limits, configuration, key } = opened;
    let gate = Gate::new(id, limits.capacity, limits.queue_limit);
    let circuit = Arc::new(Circuit::new(id, limits.circuit.clone()));
    let pace = Arc::new(Pace::new(limits.rate.as_ref()));
    let description = backend.describe();
    Stand { backend, description, limits, gate, circuit, pace, configuration, key }
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

fn compare<T>(
    kind: &'static str,
    then: &BTreeMap<String, T>,
    now: &BTreeMap<String, T>,
    same: impl Fn(&T, &T) -> bool,
    changes: &mut Vec<Change>,
) {
    let ids: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    for id in ids {
        let what = match (then.get(id), now.get(id)) {
            (Some(then), Some(now)) if same(then, now) => continue,
            (Some(_), Some(_)) => What::Changed,
            (None, _) => What::Added,
            (_, None) => What::Removed,
        };
        changes.push(Change { kind, id: id.clone(), what });
    }
}
