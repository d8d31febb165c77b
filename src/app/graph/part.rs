//! A part of the graph as a filter: whether an exchange, of which only its place is known, lies below another. It must not read exchanges.

use std::collections::BTreeMap;

use super::walk::Scope;
use crate::app::{App, Caller};
use crate::domain::fault::Fault;
use crate::domain::graph::{self, Place};
use crate::domain::id::{BranchId, ExchangeId, Namespace};

/// Up to how many exchanges a part is gone through for itself; in a larger one, what is newest is looked for among everything of its namespace.
pub(in crate::app) const SMALL: usize = 1_024;

/// An exchange and what follows from it, down to a depth.
pub(in crate::app) struct Part {
    /// The exchange at its top.
    pub(in crate::app) id: ExchangeId,
    /// Where that lies.
    pub(in crate::app) top: Place,
    /// Nothing below this depth is in it.
    pub(in crate::app) deepest: u64,
    /// Whether what departs from branches is in it, of those that were met.
    known: BTreeMap<BranchId, bool>,
}

impl App {
    /// The part of a subtree or of a thread's tree, from its top where that is known; absent for a thread without exchanges.
    ///
    /// # Errors
    /// When there is no such exchange or thread.
    pub(in crate::app) async fn part(
        &self,
        caller: &Caller,
        scope: &Scope,
        top: Option<ExchangeId>,
    ) -> Result<Option<Part>, Fault> {
        let top = match top {
            Some(top) => Some(top),
            None => self.scope_begin(caller, scope).await?,
        };
        let Some(id) = top else { return Ok(None) };
        let top = self.place_of(&caller.namespace, id).await?;
        let steps = if let Scope::Subtree(_, steps) = scope { steps.unwrap_or(u64::MAX) } else { u64::MAX };
        Ok(Some(Part { id, top, deepest: top.depth.saturating_add(steps), known: BTreeMap::new() }))
    }

    /// Whether a place is in a part. Costs the path of each branch once.
    ///
    /// # Errors
    /// When the store fails.
    pub(in crate::app) async fn is_in(
        &self,
        namespace: &Namespace,
        part: &mut Part,
        place: Place,
    ) -> Result<bool, Fault> {
        if place.depth < part.top.depth || place.depth > part.deepest {
            return Ok(false);
        }
        if place.branch == part.top.branch {
            return Ok(true);
        }
        if let Some(known) = part.known.get(&place.branch) {
            return Ok(*known);
        }
        let path = self.path_down_to(namespace, place).await?;
        let is_in = graph::contains(&path, part.top);
        part.known.insert(place.branch, is_in);
        Ok(is_in)
    }
}
