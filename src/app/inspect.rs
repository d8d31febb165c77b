//! Inspecting: one exchange with everything known of it, and its history in pages. It must not render, call anybody or change anything
//! (rule 13).

use std::sync::Arc;

use crate::domain::exchange::Exchange;
use crate::domain::fault::Fault;
use crate::domain::id::ExchangeId;

use super::turn::Detailed;
use super::{App, Caller, store_fault};

/// A page of a history.
pub struct Page {
    /// The exchanges of this page, root first.
    pub exchanges: Vec<Arc<Exchange>>,
    /// The depth of the next page's first one; absent on the last.
    pub next_depth: Option<u64>,
}

impl App {
    /// One exchange with its tools.
    ///
    /// # Errors
    /// When there is none.
    pub async fn inspect(&self, caller: &Caller, id: ExchangeId) -> Result<Detailed, Fault> {
        let parent = self.parent(&caller.namespace, id).await?;
        self.detailed(&caller.namespace, parent.exchange).await
    }

    /// A page of the history that ends with an exchange, from a depth on. It has at most `limit` exchanges, and fewer where they are large.
    ///
    /// # Errors
    /// When there is no such exchange.
    pub async fn history_page(
        &self,
        caller: &Caller,
        id: ExchangeId,
        from_depth: u64,
        limit: usize,
    ) -> Result<Page, Fault> {
        let namespace = &caller.namespace;
        let parent = self.parent(namespace, id).await?;
        let last = parent.exchange.depth;
        let Some(place) = parent.place else {
            return Ok(Page { exchanges: vec![Arc::new(parent.exchange)], next_depth: None });
        };
        let path = self.ledger.path(namespace, place).await.map_err(store_fault)?;
        let exchanges = self
            .ledger
            .exchanges(namespace, &path, from_depth.max(1), limit, self.limits.max_page_bytes)
            .await
            .map_err(store_fault)?;
        let next = exchanges.last().map(|exchange| exchange.depth.saturating_add(1)).filter(|next| *next <= last);
        Ok(Page { exchanges, next_depth: next })
    }
}
