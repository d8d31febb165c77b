//! What is found in the graph, and what it consumed. Knows nothing of how it came about.

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::calls::{Pages, call, method, pages};
use crate::client::Client;
use crate::error::Result;
use crate::graph::{Node, Scope};
use crate::pb;
use crate::retry::Limit;
use crate::usage::Usage;
use crate::word::RunState;

/// What is looked for; all that is said must hold, and everything is found where nothing is said.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct SearchQuery {
    raw: pb::SearchRequest,
    scope: Option<Scope>,
}

impl SearchQuery {
    /// Everything.
    pub fn all() -> Self {
        Self::default()
    }

    /// What has this text in its own messages, upper and lower case alike.
    pub fn text(text: impl Into<String>) -> Self {
        Self { raw: pb::SearchRequest { text: text.into(), ..pb::SearchRequest::default() }, scope: None }
    }

    /// In this part of the graph.
    pub fn scope(mut self, scope: impl Into<Scope>) -> Self {
        self.scope = Some(scope.into());
        self
    }

    /// Of runs with all these labels.
    pub fn labels(mut self, labels: BTreeMap<String, String>) -> Self {
        self.raw.labels = labels;
        self
    }

    /// With this model, as asked for or as it says it answered, or another that is named.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.raw.models.push(model.into());
        self
    }

    /// What offered this tool, or another that is named.
    pub fn offered_tool(mut self, name: impl Into<String>) -> Self {
        self.raw.offered_tools.push(name.into());
        self
    }

    /// What called this tool, or another that is named.
    pub fn called_tool(mut self, name: impl Into<String>) -> Self {
        self.raw.called_tools.push(name.into());
        self
    }

    /// Of runs in this state, or another that is named.
    pub fn state(mut self, state: RunState) -> Self {
        self.raw.run_states.push(state.to_raw());
        self
    }

    /// Only roots.
    pub fn roots_only(mut self) -> Self {
        self.raw.roots_only = true;
        self
    }

    /// Only at this time or later.
    pub fn since(mut self, time: SystemTime) -> Self {
        self.raw.from_time = Some(time.into());
        self
    }

    /// Only before this time.
    pub fn before(mut self, time: SystemTime) -> Self {
        self.raw.before_time = Some(time.into());
        self
    }

    fn into_raw(self) -> Result<pb::SearchRequest> {
        Ok(pb::SearchRequest { scope: self.scope.map(Scope::into_raw).transpose()?, ..self.raw })
    }
}

/// Something that was found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Hit {
    /// The run.
    pub run_id: String,
    /// Its state.
    pub run_state: RunState,
    /// The exchange; nothing for a run that has none.
    pub exchange: Option<Node>,
    /// The text that was looked for, with what is around it; empty without a search for text.
    pub snippet: String,
    raw: pb::SearchHit,
}

impl Hit {
    /// The message behind it.
    pub fn raw(&self) -> &pb::SearchHit {
        &self.raw
    }

    fn from_raw(raw: pb::SearchHit) -> Self {
        Self {
            run_id: raw.run_id.clone(),
            run_state: RunState::from_raw(raw.run_state),
            exchange: raw.exchange.clone().map(Node::from_raw),
            snippet: raw.snippet.clone(),
            raw,
        }
    }
}

/// Whose usage is summed: of all runs that any part of it names, each counted once.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct UsageQuery {
    scopes: Vec<Scope>,
    run_ids: Vec<String>,
    labels: BTreeMap<String, String>,
}

impl UsageQuery {
    /// The runs of a part of the graph: of an exchange, those of the whole path to it.
    pub fn scope(scope: impl Into<Scope>) -> Self {
        Self { scopes: vec![scope.into()], ..Self::default() }
    }

    /// The same of several.
    pub fn scopes<S: Into<Scope>>(scopes: impl IntoIterator<Item = S>) -> Self {
        Self { scopes: scopes.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// These runs.
    pub fn runs<I: Into<String>>(ids: impl IntoIterator<Item = I>) -> Self {
        Self { run_ids: ids.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// The runs that have all these labels.
    pub fn labels(labels: BTreeMap<String, String>) -> Self {
        Self { labels, ..Self::default() }
    }

    /// And the runs of another part of the graph.
    pub fn and_scope(mut self, scope: impl Into<Scope>) -> Self {
        self.scopes.push(scope.into());
        self
    }

    /// And these runs.
    pub fn and_runs<I: Into<String>>(mut self, ids: impl IntoIterator<Item = I>) -> Self {
        self.run_ids.extend(ids.into_iter().map(Into::into));
        self
    }

    fn into_raw(self) -> Result<pb::SumUsageRequest> {
        use pb::usage_scope::Runs;
        let scopes: Result<Vec<_>> = self.scopes.into_iter().map(|scope| scope.into_raw().map(Runs::Graph)).collect();
        let mut runs = scopes?;
        if !self.run_ids.is_empty() {
            runs.push(Runs::RunSet(pb::RunSet { run_ids: self.run_ids }));
        }
        if !self.labels.is_empty() {
            runs.push(Runs::LabelSet(pb::LabelSet { labels: self.labels }));
        }
        let scopes = runs.into_iter().map(|runs| pb::UsageScope { runs: Some(runs) }).collect();
        Ok(pb::SumUsageRequest { scopes })
    }
}

/// What the calls to one model consumed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelUsage {
    /// Its backend; empty where callers made the calls.
    pub backend_id: String,
    /// The model.
    pub model: String,
    /// What it consumed.
    pub usage: Usage,
    /// How many calls, those that failed included.
    pub calls: u64,
}

/// What runs consumed, each counted once.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UsageSum {
    /// Over all attempts, those of runs that failed included.
    pub usage: Usage,
    /// How many runs were counted.
    pub run_count: u64,
    /// The same by backend and model.
    pub models: Vec<ModelUsage>,
    /// What it may have cost, by currency, as decimal numbers in text; empty without prices.
    pub costs: BTreeMap<String, String>,
    raw: pb::SumUsageResponse,
}

impl UsageSum {
    /// The message behind it.
    pub fn raw(&self) -> &pb::SumUsageResponse {
        &self.raw
    }

    fn from_raw(raw: pb::SumUsageResponse) -> Self {
        let model = |one: &pb::ModelUsage| ModelUsage {
            backend_id: one.backend_id.clone(),
            model: one.model.clone(),
            usage: Usage::from_raw(one.usage.as_ref()),
            calls: one.attempt_count,
        };
        let cost = |one: &pb::CostEstimate| (one.currency.clone(), one.amount.clone());
        Self {
            usage: Usage::from_raw(raw.usage.as_ref()),
            run_count: raw.run_count,
            models: raw.models.iter().map(model).collect(),
            costs: raw.cost_estimates.iter().map(cost).collect(),
            raw,
        }
    }
}

impl Client {
    /// All that a query holds for, newest first.
    pub fn search(&self, query: SearchQuery) -> Pages<Hit> {
        pages!(self, graph_service.search, try query.into_raw(), hits, Hit::from_raw)
    }

    /// What runs consumed, each counted once however many branches share it.
    ///
    /// # Errors
    /// A run or an exchange is not on record, or the server cannot be asked.
    pub async fn usage(&self, of: UsageQuery) -> Result<UsageSum> {
        call(Limit::default(), of.into_raw()?, method!(self, graph_service.sum_usage)).await.map(UsageSum::from_raw)
    }
}
