//! What of a transcript is stored already, found by its content. It must not write.

use std::sync::Arc;

use super::Cuts;
use crate::app::base::Parent;
use crate::app::{App, store_fault};
use crate::domain::content::Hasher;
use crate::domain::exchange::Exchange;
use crate::domain::fault::{Fault, Reason};
use crate::domain::graph::{self, Segment};
use crate::domain::id::{CallId, Hash, Namespace};
use crate::domain::message::Message;
use crate::domain::thread::Head;
use crate::domain::transcript::Cut;

/// The stored part of a transcript.
pub(super) struct Known {
    /// The exchange before the first new one.
    pub(super) last: Option<Parent>,
    /// The matched exchanges.
    pub(super) matched: Vec<Arc<Exchange>>,
}

impl App {
    /// Finds the longest stored prefix: a cut is stored exactly when those before it are, so the search halves.
    pub(super) async fn known(
        &self,
        namespace: &Namespace,
        start: Option<Parent>,
        cuts: &Cuts,
        head: Option<&Head>,
    ) -> Result<Known, Fault> {
        let on_thread = match head {
            Some(head) => self.head_path(namespace, head).await?.unwrap_or_default(),
            None => Vec::new(),
        };
        let from = start.as_ref().map_or(1, |parent| parent.exchange.depth.saturating_add(1));
        let depth_of = |count: usize| from.saturating_add(count as u64).saturating_sub(1);
        let (mut low, mut high) = (0, cuts.hashes.len());
        let mut found = None;
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            let hash = cuts.hashes.get(middle - 1);
            let candidate = match hash {
                Some(hash) => self.stored_as(namespace, hash, depth_of(middle), start.as_ref(), &on_thread).await?,
                None => None,
            };
            match candidate {
                Some(candidate) => {
                    found = Some(candidate);
                    low = middle;
                }
                None => high = middle - 1,
            }
        }
        let Some((last, path)) = found else {
            return Ok(Known { last: start, matched: Vec::new() });
        };
        let mut matched = Vec::with_capacity(low);
        let mut depth = from;
        while matched.len() < low {
            let page = self
                .ledger
                .exchanges(namespace, &path, depth, low - matched.len(), usize::MAX)
                .await
                .map_err(store_fault)?;
            if page.is_empty() {
                return Err(Fault::new(Reason::StoreCorrupt, "a stored path has gaps: run `antiphon verify`"));
            }
            depth = depth.saturating_add(page.len() as u64);
            matched.extend(page);
        }
        Ok(Known { last: Some(last), matched })
    }

    /// The stored exchange of a content hash that continues `start`: the one on the thread's path, else the oldest.
    async fn stored_as(
        &self,
        namespace: &Namespace,
        hash: &Hash,
        depth: u64,
        start: Option<&Parent>,
        on_thread: &[Segment],
    ) -> Result<Option<(Parent, Vec<Segment>)>, Fault> {
        if let Some(place) = graph::at_depth(on_thread, depth)
            && let Some(exchange) = self.ledger.exchange_at(namespace, place).await.map_err(store_fault)?
            && exchange.content_hash == *hash
            && exchange.erased.is_none()
        {
            let path = self.ledger.path(namespace, place).await.map_err(store_fault)?;
            if continues(&path, start) {
                return Ok(Some((Parent { exchange, place: Some(place) }, path)));
            }
        }
        for id in self.ledger.with_content(namespace, hash).await.map_err(store_fault)? {
            let parent = self.parent(namespace, id).await?;
            let Some(place) = parent.place else { continue };
            let path = self.ledger.path(namespace, place).await.map_err(store_fault)?;
            if continues(&path, start) {
                return Ok(Some((parent, path)));
            }
        }
        Ok(None)
    }
}

fn continues(path: &[Segment], start: Option<&Parent>) -> bool {
    match start {
        None => true,
        Some(Parent { place: Some(place), .. }) => graph::contains(path, *place),
        Some(Parent { place: None, .. }) => false,
    }
}

/// The hash that each exchange of a transcript would have.
pub(super) fn hashes(namespace: &Namespace, start: Option<&Parent>, cuts: &[Cut], messages: &[Message]) -> Vec<Hash> {
    let hasher = Hasher::new(namespace);
    let mut parent = start.map(|start| start.exchange.content_hash);
    let mut open: Vec<CallId> =
        start.iter().flat_map(|start| start.exchange.assistant.tool_calls()).map(|call| call.call_id.clone()).collect();
    let mut hashes = Vec::with_capacity(cuts.len());
    for cut in cuts {
        let (Some(own), Some(assistant)) = (messages.get(cut.messages.clone()), messages.get(cut.assistant)) else {
            continue;
        };
        let hash = hasher.exchange(parent.as_ref(), &open, own, assistant);
        open = assistant.tool_calls().map(|call| call.call_id.clone()).collect();
        parent = Some(hash);
        hashes.push(hash);
    }
    hashes
}
