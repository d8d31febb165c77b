//! Summing what runs consumed, each of them once however many ways lead to it (S4-84), and what that may have cost. It must not multiply.

use std::collections::{BTreeMap, BTreeSet};

use super::walk::Scope;
use crate::app::drift::WINDOW;
use crate::app::{App, Caller, store_fault};
use crate::domain::exchange::Glance;
use crate::domain::fault::{Fault, Reason};
use crate::domain::graph::Place;
use crate::domain::id::{ExchangeId, Namespace, RunId};
use crate::domain::run::{Observation, Run};
use crate::domain::usage::{Completeness, Usage};
use crate::engine::{Bill, Engine, Estimate};

/// Most runs that one sum is of.
const MAX_RUNS: usize = 1_000_000;
/// How many records one scan brings.
const BATCH: usize = 1_000;

/// Runs to sum over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsageScope {
    /// These.
    Runs(Vec<RunId>),
    /// Those of these exchanges.
    Exchanges(Vec<ExchangeId>),
    /// Those of a part of the graph.
    Graph(Scope),
    /// Those with all these labels.
    Labels(BTreeMap<String, String>),
}

/// What the calls to one backend and model consumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSum {
    /// The backend; empty when callers made the calls.
    pub backend_id: String,
    /// The model.
    pub model: String,
    /// What they consumed.
    pub usage: Usage,
    /// How many there were.
    pub attempts: u64,
}

/// A sum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summed {
    /// Over all calls.
    pub usage: Usage,
    /// How many runs there are whose usage is complete, partial and unknown.
    pub runs: [u64; 3],
    /// By backend and model.
    pub models: Vec<ModelSum>,
    /// What it may have cost, by currency.
    pub costs: Vec<Estimate>,
}

#[derive(Default)]
struct Sum {
    /// The runs that were counted.
    counted: BTreeSet<RunId>,
    all: Option<Usage>,
    runs: [u64; 3],
    models: BTreeMap<(String, String), (Usage, u64)>,
}

impl Sum {
    /// Counts a run, unless it was.
    fn add(&mut self, run: &Run) -> Result<(), Fault> {
        if !self.counted.insert(run.id.clone()) {
            return Ok(());
        }
        if self.counted.len() > MAX_RUNS {
            let message = format!("the scopes name more than {MAX_RUNS} runs: sum over parts of them");
            return Err(Fault::new(Reason::LimitExceeded, message)
                .with("limit", "runs_of_a_sum")
                .with("max", MAX_RUNS));
        }
        let usage = Usage::sum(run.observations.iter().map(|observation| &observation.usage));
        let [complete, partial, unknown] = &mut self.runs;
        *match usage.completeness {
            Completeness::Complete => complete,
            Completeness::Partial => partial,
            Completeness::Unknown => unknown,
        } += 1;
        self.all = Some(match self.all.take() {
            None => usage,
            Some(sum) => Usage::sum([&sum, &usage]),
        });
        for Observation { backend_id, model, usage, .. } in &run.observations {
            let key = (backend_id.clone(), model.clone());
            self.models
                .entry(key)
                .and_modify(|(sum, count)| {
                    *sum = Usage::sum([&*sum, usage]);
                    *count += 1;
                })
                .or_insert_with(|| (usage.clone(), 1));
        }
        Ok(())
    }

    fn done(self, engine: &Engine) -> Summed {
        // What a provider said of one call is nothing that it said of several.
        let plain = |usage: Usage| Usage { provider_json: String::new(), ..usage };
        let mut bill = Bill::default();
        for ((backend_id, model), (usage, _)) in &self.models {
            bill.add(engine.setup().prices(backend_id, model), usage);
        }
        let model = |((backend_id, model), (usage, attempts))| {
            let usage = plain(usage);
            ModelSum { backend_id, model, usage, attempts }
        };
        Summed {
            usage: plain(self.all.unwrap_or_default()),
            runs: self.runs,
            models: self.models.into_iter().map(model).collect(),
            costs: bill.estimates(),
        }
    }
}

impl App {
    /// What runs consumed, each counted once.
    ///
    /// # Errors
    /// When something that is named is not there, or the scopes name too many runs.
    pub async fn sum_usage(&self, caller: &Caller, scopes: &[UsageScope]) -> Result<Summed, Fault> {
        self.index(&caller.namespace).await?;
        let mut sum = Sum::default();
        for scope in scopes {
            self.add_scope(caller, scope, &mut sum).await?;
        }
        Ok(sum.done(&self.engine))
    }

    async fn run_of(&self, namespace: &Namespace, id: &RunId) -> Result<Run, Fault> {
        match self.ledger.run(namespace, id).await.map_err(store_fault)? {
            Some((run, _)) => Ok(run),
            None => Err(Fault::not_found(Reason::RunNotFound, "run", id.as_str())),
        }
    }

    async fn add_run(&self, namespace: &Namespace, id: Option<RunId>, sum: &mut Sum) -> Result<(), Fault> {
        match id.filter(|id| !sum.counted.contains(id)) {
            Some(id) => sum.add(&self.run_of(namespace, &id).await?),
            None => Ok(()),
        }
    }

    async fn add_scope(&self, caller: &Caller, scope: &UsageScope, sum: &mut Sum) -> Result<(), Fault> {
        let namespace = &caller.namespace;
        match scope {
            UsageScope::Runs(runs) => {
                for id in runs {
                    self.add_run(namespace, Some(id.clone()), sum).await?;
                }
            }
            UsageScope::Exchanges(exchanges) => {
                for id in exchanges {
                    let place = self.place_of(namespace, *id).await?;
                    self.add_run(namespace, self.glance_at(namespace, place).await?.run_id, sum).await?;
                }
            }
            UsageScope::Graph(part) => {
                let Some(begin) = self.scope_begin(caller, part).await? else { return Ok(()) };
                let place = self.place_of(namespace, begin).await?;
                match part {
                    Scope::Path(_) | Scope::Thread(_) => self.add_path(namespace, place, sum).await?,
                    Scope::Subtree(_, steps) => self.add_tree(namespace, place, *steps, sum).await?,
                    Scope::Tree(_) => self.add_tree(namespace, place, None, sum).await?,
                }
            }
            UsageScope::Labels(labels) => {
                let mut after = None;
                loop {
                    let page = self.ledger.runs(namespace, after.as_ref(), BATCH).await.map_err(store_fault)?;
                    let is_last = page.len() < BATCH;
                    for run in page {
                        if labels.iter().all(|(key, value)| run.labels.get(key) == Some(value)) {
                            sum.add(&run)?;
                        }
                        after = Some(run.id);
                    }
                    if is_last {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    async fn add_path(&self, namespace: &Namespace, end: Place, sum: &mut Sum) -> Result<(), Fault> {
        let path = self.path_down_to(namespace, end).await?;
        let mut depth = 1;
        while depth <= end.depth {
            let to = end.depth.min(depth.saturating_add(WINDOW - 1));
            for glance in self.ledger.glances(namespace, &path, depth, to).await.map_err(store_fault)? {
                self.add_run(namespace, glance.run_id, sum).await?;
            }
            depth = to.saturating_add(1);
        }
        Ok(())
    }

    async fn add_tree(
        &self,
        namespace: &Namespace,
        top: Place,
        steps: Option<u64>,
        sum: &mut Sum,
    ) -> Result<(), Fault> {
        let deepest = top.depth.saturating_add(steps.unwrap_or(u64::MAX));
        let mut ahead = vec![top];
        while let Some(place) = ahead.pop() {
            self.add_run(namespace, self.glance_at(namespace, place).await?.run_id, sum).await?;
            if place.depth >= deepest {
                continue;
            }
            let mut after = None;
            loop {
                let children = self.ledger.children(namespace, place, after, BATCH).await.map_err(store_fault)?;
                ahead.extend(children.iter().map(|(_, place)| *place));
                match children.last() {
                    Some((last, _)) if children.len() == BATCH => after = Some(*last),
                    _ => break,
                }
            }
        }
        Ok(())
    }

    async fn glance_at(&self, namespace: &Namespace, place: Place) -> Result<Glance, Fault> {
        self.ledger.glance(namespace, place).await.map_err(store_fault)
    }
}
