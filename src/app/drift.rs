//! Tools that drifted: what the path of a turn has seen, which of its tools are otherwise now, and what its own exchange says of it (S0-36). It
//! must not know what is done with a drift, besides refusing.

use std::collections::HashMap;

use crate::domain::drift::{Drift, Lineage, Policy, Seen};
use crate::domain::exchange::Exchange;
use crate::domain::fault::{Fault, Reason};
use crate::domain::graph::{Place, Segment};
use crate::domain::id::{ExchangeId, Hash, Namespace};
use crate::domain::tool::ToolSet;

use super::base::{Parent, Start};
use super::meters::Meters;
use super::turn::Input;
use super::{App, join, store_fault};

/// How many exchanges are looked back at where none says what its path has seen: those from before this was kept.
const MAX_LOOKED_BACK: u64 = 1_024;
/// How many exchanges are in memory at a time.
pub(super) const WINDOW: u64 = 32;

impl App {
    /// The tools of a turn that drifted.
    pub(super) async fn drifts(
        &self,
        namespace: &Namespace,
        start: &Start,
        offered: &ToolSet,
    ) -> Result<Vec<Drift>, Fault> {
        match (&start.prefix, &start.parent) {
            (Some(prefix), _) => Ok(prefix.seen().drifts(offered)),
            (None, Some(parent)) => self.drifts_after(namespace, parent, offered).await,
            (None, None) => Ok(Vec::new()),
        }
    }

    /// The tools of a call after an exchange that drifted; none where they are those of the exchange, which needs no look.
    pub(super) async fn drifts_after(
        &self,
        namespace: &Namespace,
        parent: &Parent,
        offered: &ToolSet,
    ) -> Result<Vec<Drift>, Fault> {
        if offered.tools.is_empty() || parent.exchange.offered == offered.hash() {
            return Ok(Vec::new());
        }
        Ok(self.seen_at(namespace, &parent.exchange, parent.place).await?.drifts(offered))
    }

    /// What the exchange of a turn says its path has seen, with the map to store where it is another one than before.
    pub(super) async fn lineage(
        &self,
        namespace: &Namespace,
        start: &Start,
        offered: &ToolSet,
        id: ExchangeId,
    ) -> Result<(Lineage, Option<Seen>), Fault> {
        let before = start.parent.as_ref().map_or(Lineage::Nothing, |parent| parent.exchange.lineage);
        let same = start.parent.as_ref().is_some_and(|parent| parent.exchange.offered == offered.hash());
        if offered.tools.is_empty() || (same && before != Lineage::Unknown) {
            return Ok((before, None));
        }
        let seen = self.seen_before(namespace, start).await?.after(offered, id);
        let lineage = seen.lineage();
        Ok((lineage, Some(seen).filter(|_| lineage != before)))
    }

    async fn seen_before(&self, namespace: &Namespace, start: &Start) -> Result<Seen, Fault> {
        match (&start.prefix, &start.parent) {
            (Some(prefix), _) => Ok(prefix.seen()),
            (None, Some(parent)) => self.seen_at(namespace, &parent.exchange, parent.place).await,
            (None, None) => Ok(Seen::default()),
        }
    }

    /// What the path to an exchange has seen, its own tools included.
    pub(super) async fn seen_at(
        &self,
        namespace: &Namespace,
        exchange: &Exchange,
        place: Option<Place>,
    ) -> Result<Seen, Fault> {
        match (exchange.lineage, place) {
            (Lineage::Unknown, Some(place)) => {
                let path = self.ledger.path(namespace, place).await.map_err(store_fault)?;
                self.seen_on_path(namespace, &path, place.depth).await
            }
            (lineage, _) => self.seen_of(namespace, lineage).await,
        }
    }

    pub(super) async fn seen_of(&self, namespace: &Namespace, lineage: Lineage) -> Result<Seen, Fault> {
        match lineage {
            Lineage::Seen(hash) => self.ledger.seen(namespace, hash).await.map_err(store_fault),
            Lineage::Nothing | Lineage::Unknown => Ok(Seen::default()),
        }
    }

    /// What a path has seen at a depth. Looks back to the last exchange that says it, and goes through the tools since. The exchange of the
    /// turn that asks will say it, so this happens once for each branch from exchanges that do not.
    pub(super) async fn seen_on_path(
        &self,
        namespace: &Namespace,
        path: &[Segment],
        depth: u64,
    ) -> Result<Seen, Fault> {
        let bottom = depth.saturating_sub(MAX_LOOKED_BACK).max(1);
        let mut later = Vec::new();
        let (mut to, mut known) = (depth, Lineage::Unknown);
        while known == Lineage::Unknown && to >= bottom {
            let from = to.saturating_sub(WINDOW - 1).max(bottom);
            let window = self.ledger.glances(namespace, path, from, to).await.map_err(store_fault)?;
            for glance in window.into_iter().rev() {
                known = glance.lineage;
                if known != Lineage::Unknown {
                    break;
                }
                later.push(glance);
            }
            to = from - 1;
        }
        let mut seen = self.seen_of(namespace, known).await?;
        let mut sets = Sets::default();
        for glance in later.into_iter().rev() {
            seen = seen.after(&sets.get(self, namespace, glance.offered).await?, glance.id);
        }
        Ok(seen)
    }
}

/// Tool sets that were read, since a path mostly has few.
#[derive(Default)]
pub(super) struct Sets(HashMap<Hash, ToolSet>);

impl Sets {
    pub(super) async fn get(&mut self, app: &App, namespace: &Namespace, hash: Option<Hash>) -> Result<ToolSet, Fault> {
        let Some(hash) = hash else { return Ok(ToolSet::default()) };
        if let Some(set) = self.0.get(&hash) {
            return Ok(set.clone());
        }
        let set = app.ledger.tool_set(namespace, Some(hash)).await.map_err(store_fault)?;
        self.0.insert(hash, set.clone());
        Ok(set)
    }
}

/// Refuses a turn whose tools drifted, where it asks for that.
pub(super) fn check(drifts: &[Drift], policy: Policy) -> Result<(), Fault> {
    let (Policy::Refuse, Some(first)) = (policy, drifts.first()) else { return Ok(()) };
    let names = join(drifts.iter().map(|drift| &drift.tool));
    let message = format!(
        "the input schema of a tool changed since exchange {}, and the request asks for a refusal then: {names}; offer it as it was or under another name, or set `on_tool_drift` to TOOL_DRIFT_POLICY_WARN",
        first.before.since
    );
    Err(Fault::new(Reason::ToolSchemaDrift, message)
        .with("tool", &first.tool)
        .with("tools", names)
        .with("exchange_id", first.before.since)
        .with("schema_hash", first.schema)
        .with("previous_schema_hash", first.before.schema))
}

/// What a turn wants when a tool drifted. Results bring no tools of their own.
pub(super) fn policy(input: &Input) -> Policy {
    match input {
        Input::Request(asked) => asked.on_tool_drift,
        Input::Results(_) | Input::Prepared(_) => Policy::Warn,
    }
}

/// One line of the log for each tool, and a count.
pub(super) fn tell(drifts: &[Drift], meters: &Meters) {
    meters.drifted(drifts);
    for Drift { tool, before, schema } in drifts {
        let (since, previous) = (before.since, before.schema);
        tracing::warn!(tool, exchange_id = %since, schema_hash = %schema, previous_schema_hash = %previous, "tool.drifted");
    }
}

#[cfg(test)]
mod tests;
