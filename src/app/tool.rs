//! The audit of tools: what a call could use, which calls had a tool, where one changed on a path (S0-31..36). It must not write.

use crate::domain::drift::{Drift, Seen};
use crate::domain::exchange::Glance;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{CallId, ExchangeId, Hash, Moment, Namespace, RunId, ThreadId};
use crate::domain::settings::ToolChoice;
use crate::domain::tool::{Tool, ToolSet};
use crate::engine::tool_choice;

use super::base::Parent;
use super::drift::{Sets, WINDOW};
use super::turn::Detailed;
use super::{App, Caller, store_fault};

/// How many exchanges one page looks at. Where few of them have what is looked for, a page has fewer than it may, and another follows.
const LOOKED_AT: u64 = 4_096;

/// The tools of one call.
pub struct CallTools {
    /// What it offered and what stands.
    pub call: Detailed,
    /// How freely they could be called.
    pub choice: ToolChoice,
    /// Those that drifted.
    pub drifts: Vec<Drifted>,
}

/// A tool that drifted, as it was and as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drifted {
    /// The exchange from which on it was as it was.
    pub since: ExchangeId,
    /// As it was.
    pub before: Tool,
    /// The exchange that has it otherwise.
    pub exchange: ExchangeId,
    /// As it is there.
    pub now: Tool,
}

/// From which drift on to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriftsFrom {
    /// The depth of its exchange.
    pub depth: u64,
    /// How many of that exchange come before it.
    pub skip: u32,
}

/// Which calls to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The tool's name.
    pub name: String,
    /// Only with this input schema.
    pub schema: Option<Hash>,
    /// Only calls that offered it, or only those whose answer called it.
    pub kind: Option<Kind>,
    /// Only at this time or later.
    pub from: Option<Moment>,
    /// Only before this time.
    pub before: Option<Moment>,
}

/// How a call had a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It was offered.
    Offered,
    /// The answer called it.
    Called,
}

/// A call that had a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The exchange.
    pub exchange: ExchangeId,
    /// Its run.
    pub run_id: Option<RunId>,
    /// The thread that it was made on.
    pub thread_id: Option<ThreadId>,
    /// The set that was offered.
    pub offered: Option<Hash>,
    /// The tool's input schema there; absent when it was not offered.
    pub schema: Option<Hash>,
    /// The calls of it.
    pub calls: Vec<CallId>,
    /// When it was stored.
    pub created_at: Moment,
}

impl App {
    /// The tools of one call, from its own record and the map that the one before it names.
    ///
    /// # Errors
    /// When there is none.
    pub async fn call_tools(&self, caller: &Caller, id: ExchangeId) -> Result<CallTools, Fault> {
        let namespace = &caller.namespace;
        let call = self.inspect(caller, id).await?;
        let drifts = match call.exchange.parent {
            Some(parent) => {
                let parent: Parent = self.parent(namespace, parent).await?;
                self.drifts_after(namespace, &parent, &call.offered).await?
            }
            None => Vec::new(),
        };
        let mut sets = Sets::default();
        let mut drifted = Vec::with_capacity(drifts.len());
        for drift in &drifts {
            drifted.push(self.drifted(namespace, drift, id, &call.offered, &mut sets).await?);
        }
        // What the caller called itself has no settings here.
        let choice = tool_choice(&call.exchange.settings).unwrap_or_default();
        Ok(CallTools { call, choice, drifts: drifted })
    }

    /// A set of tools.
    ///
    /// # Errors
    /// When there is none.
    pub async fn tool_set(&self, caller: &Caller, id: Hash) -> Result<ToolSet, Fault> {
        let found = self.ledger.find_tool_set(&caller.namespace, id).await.map_err(store_fault)?;
        found.ok_or_else(|| Fault::not_found(Reason::ResourceNotFound, "tool_set", id.to_string()))
    }

    /// Drifts on the path to an exchange, nearest to the root first; with where to go on, when there may be more.
    ///
    /// # Errors
    /// When there is no such exchange.
    pub async fn list_drifts(
        &self,
        caller: &Caller,
        end: ExchangeId,
        name: Option<&str>,
        from: DriftsFrom,
        limit: usize,
    ) -> Result<(Vec<Drifted>, Option<DriftsFrom>), Fault> {
        let namespace = &caller.namespace;
        let place = self.place_of(namespace, end).await?;
        let (path, last) = (self.path_down_to(namespace, place).await?, place.depth);
        let first = from.depth.max(1);
        let mut seen = match first {
            1 => Seen::default(),
            _ => self.seen_on_path(namespace, &path, first - 1).await?,
        };
        let mut found = Vec::new();
        let mut sets = Sets::default();
        // Most calls offer what the one before them did, and then there is nothing to compare.
        let mut offered: Option<Option<Hash>> = None;
        let until = last.min(first.saturating_add(LOOKED_AT - 1));
        let mut depth = first;
        while depth <= until {
            let to = until.min(depth.saturating_add(WINDOW - 1));
            for glance in self.ledger.glances(namespace, &path, depth, to).await.map_err(store_fault)? {
                if offered.replace(glance.offered) == Some(glance.offered) {
                    continue;
                }
                let set = sets.get(self, namespace, glance.offered).await?;
                let drifts = seen.drifts(&set);
                seen = seen.after(&set, glance.id);
                let skip = if glance.depth == from.depth { from.skip } else { 0 };
                let named = drifts.iter().filter(|drift| name.is_none_or(|name| drift.tool == name));
                for (drift, number) in named.zip(0..).skip(usize::try_from(skip).unwrap_or(usize::MAX)) {
                    if found.len() == limit {
                        return Ok((found, Some(DriftsFrom { depth: glance.depth, skip: number })));
                    }
                    found.push(self.drifted(namespace, drift, glance.id, &set, &mut sets).await?);
                }
            }
            depth = to.saturating_add(1);
        }
        Ok((found, (until < last).then_some(DriftsFrom { depth, skip: 0 })))
    }

    /// Calls on the path to an exchange that had a tool, nearest to its end first, from a depth down; with the depth to go on from, when there
    /// may be more.
    ///
    /// # Errors
    /// When there is no such exchange.
    pub async fn list_occurrences_on(
        &self,
        caller: &Caller,
        end: ExchangeId,
        wanted: &Wanted,
        from: Option<u64>,
        limit: usize,
    ) -> Result<(Vec<Occurrence>, Option<u64>), Fault> {
        let namespace = &caller.namespace;
        let place = self.place_of(namespace, end).await?;
        let (path, last) = (self.path_down_to(namespace, place).await?, place.depth);
        let mut depth = from.unwrap_or(last).min(last);
        let bottom = depth.saturating_sub(LOOKED_AT);
        let (mut found, mut sets) = (Vec::new(), Sets::default());
        while depth > bottom {
            let lowest = depth.saturating_sub(WINDOW).max(bottom);
            let window = self.ledger.glances(namespace, &path, lowest + 1, depth).await.map_err(store_fault)?;
            for glance in window.into_iter().rev() {
                let at = glance.depth;
                if let Some(occurrence) = self.occurrence(namespace, glance, wanted, &mut sets).await? {
                    found.push(occurrence);
                }
                if found.len() == limit {
                    return Ok((found, Some(at - 1).filter(|next| *next > 0)));
                }
            }
            depth = lowest;
        }
        Ok((found, Some(depth).filter(|next| *next > 0)))
    }

    /// Calls of the namespace that had a tool, newest first, before one of them; with the one to go on before, when there may be more.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list_occurrences(
        &self,
        caller: &Caller,
        wanted: &Wanted,
        before: Option<ExchangeId>,
        limit: usize,
    ) -> Result<(Vec<Occurrence>, Option<ExchangeId>), Fault> {
        let namespace = &caller.namespace;
        let (mut found, mut sets, mut before) = (Vec::new(), Sets::default(), before);
        for _ in 0..LOOKED_AT / WINDOW {
            let size = usize::try_from(WINDOW).unwrap_or(usize::MAX);
            let window = self.ledger.newest_glances(namespace, before, size).await.map_err(store_fault)?;
            let is_last = window.len() < size;
            for glance in window {
                before = Some(glance.id);
                if let Some(occurrence) = self.occurrence(namespace, glance, wanted, &mut sets).await? {
                    found.push(occurrence);
                }
                if found.len() == limit {
                    return Ok((found, before));
                }
            }
            if is_last {
                return Ok((found, None));
            }
        }
        Ok((found, before))
    }

    async fn drifted(
        &self,
        namespace: &Namespace,
        drift: &Drift,
        exchange: ExchangeId,
        offered: &ToolSet,
        sets: &mut Sets,
    ) -> Result<Drifted, Fault> {
        let since = drift.before.since;
        let earlier = self.parent(namespace, since).await?.exchange.offered;
        let earlier = sets.get(self, namespace, earlier).await?;
        match (earlier.find(&drift.tool), offered.find(&drift.tool)) {
            (Some(before), Some(now)) => Ok(Drifted { since, before: before.clone(), exchange, now: now.clone() }),
            _ => Err(Fault::new(
                Reason::StoreCorrupt,
                format!("exchange {since} does not have the tool that a later one remembers: run `antiphon verify`"),
            )),
        }
    }

    async fn occurrence(
        &self,
        namespace: &Namespace,
        glance: Glance,
        wanted: &Wanted,
        sets: &mut Sets,
    ) -> Result<Option<Occurrence>, Fault> {
        let in_time = wanted.from.is_none_or(|from| glance.created_at >= from)
            && wanted.before.is_none_or(|before| glance.created_at < before);
        if !in_time {
            return Ok(None);
        }
        let set = sets.get(self, namespace, glance.offered).await?;
        let schema = set.find(&wanted.name).map(Tool::schema_hash);
        let calls: Vec<CallId> =
            glance.calls.into_iter().filter(|(_, name)| *name == wanted.name).map(|(id, _)| id).collect();
        let has_it = match wanted.kind {
            None => schema.is_some() || !calls.is_empty(),
            Some(Kind::Offered) => schema.is_some(),
            Some(Kind::Called) => !calls.is_empty(),
        };
        if !has_it || (wanted.schema.is_some() && wanted.schema != schema) {
            return Ok(None);
        }
        Ok(Some(Occurrence {
            exchange: glance.id,
            run_id: glance.run_id,
            thread_id: glance.thread_id,
            offered: glance.offered,
            schema,
            calls,
            created_at: glance.created_at,
        }))
    }
}
