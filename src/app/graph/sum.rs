//! Summing what runs consumed, each of them once however many ways lead to it (S4-84), and what that may have cost. It must not multiply.

use std::collections::{BTreeMap, BTreeSet};

use super::walk::{Detail, Scope};
use crate::app::{App, Caller, store_fault};
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{ExchangeId, Namespace, RunId};
use crate::domain::run::{Observation, Run};
use crate::domain::usage::{Completeness, Usage};
use crate::engine::{Bill, Engine, Estimate};

/// Most runs that one sum is of.
const MAX_RUNS: usize = 1_000_000;
/// How many records one scan or page brings.
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
    all: Option<Usage>,
    runs: [u64; 3],
    models: BTreeMap<(String, String), (Usage, u64)>,
}

impl Sum {
    fn add(&mut self, run: &Run) {
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
    }

    fn done(self, engine: &Engine) -> Summed {
        // What a provider said of one call is nothing that it said of several.
        let plain = |usage: Usage| Usage { provider_json: String::new(), ..usage };
        let mut bill = Bill::default();
        for ((backend_id, model), (usage, _)) in &self.models {
            bill.add(engine.prices(backend_id, model), usage);
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
        let namespace = &caller.namespace;
        let mut ids = BTreeSet::new();
        for scope in scopes {
            self.runs_of(caller, scope, &mut ids).await?;
        }
        let mut sum = Sum::default();
        for id in &ids {
            let run = self.run_of(namespace, id).await?;
            sum.add(&run);
        }
        Ok(sum.done(&self.engine))
    }

    async fn run_of(&self, namespace: &Namespace, id: &RunId) -> Result<Run, Fault> {
        match self.ledger.run(namespace, id).await.map_err(store_fault)? {
            Some((run, _)) => Ok(run),
            None => Err(Fault::not_found(Reason::RunNotFound, "run", id.as_str())),
        }
    }

    async fn runs_of(&self, caller: &Caller, scope: &UsageScope, ids: &mut BTreeSet<RunId>) -> Result<(), Fault> {
        let namespace = &caller.namespace;
        match scope {
            UsageScope::Runs(runs) => {
                for id in runs {
                    self.run_of(namespace, id).await?;
                    take(ids, Some(id.clone()))?;
                }
            }
            UsageScope::Exchanges(exchanges) => {
                for id in exchanges {
                    take(ids, self.stored_exchange(namespace, *id).await?.0.run_id)?;
                }
            }
            UsageScope::Graph(part) => {
                let mut from = None;
                loop {
                    let page = self.walk(caller, part, Detail::Exchanges, from, BATCH).await?;
                    for shown in page.shown {
                        take(ids, shown.node.exchange.run_id)?;
                    }
                    from = match page.next {
                        Some(next) => Some(next),
                        None => return Ok(()),
                    };
                }
            }
            UsageScope::Labels(labels) => {
                let mut after = None;
                loop {
                    let page = self.ledger.runs(namespace, after.as_ref(), BATCH).await.map_err(store_fault)?;
                    let is_last = page.len() < BATCH;
                    for run in page {
                        after = Some(run.id.clone());
                        if labels.iter().all(|(key, value)| run.labels.get(key) == Some(value)) {
                            take(ids, Some(run.id))?;
                        }
                    }
                    if is_last {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }
}

fn take(ids: &mut BTreeSet<RunId>, id: Option<RunId>) -> Result<(), Fault> {
    ids.extend(id);
    if ids.len() <= MAX_RUNS {
        return Ok(());
    }
    let message = format!("the scopes name more than {MAX_RUNS} runs: sum over parts of them");
    Err(Fault::new(Reason::LimitExceeded, message).with("limit", "runs_of_a_sum").with("max", MAX_RUNS))
}
