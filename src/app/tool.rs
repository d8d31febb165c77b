//! The audit of tools: what a call could use, which calls had a tool, where one changed on a path (S0-31..36). It must not write.

mod drifts;
mod occurrences;

use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{CallId, ExchangeId, Hash, Moment, RunId, ThreadId};
use crate::domain::settings::ToolChoice;
use crate::domain::tool::{Tool, ToolSet};
use crate::engine::tool_choice;

pub use self::drifts::DriftsFrom;
pub use self::occurrences::OccurrencesFrom;
use super::base::Parent;
use super::drift::Sets;
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
    /// As it was; absent when that exchange was erased.
    pub before: Option<Tool>,
    /// The exchange that has it otherwise.
    pub exchange: ExchangeId,
    /// As it is there.
    pub now: Tool,
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
                // It may be erased, and then what its path had before counts.
                let (exchange, place) = self.stored_exchange(namespace, parent).await?;
                self.drifts_after(namespace, &Parent { exchange, place: Some(place) }, &call.offered).await?
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
}
