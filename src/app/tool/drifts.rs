//! Listing drifts: along a path, or in all that follows from an exchange, where each is found on its own path. It must not write.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Drifted, LOOKED_AT};
use crate::app::drift::{Sets, WINDOW};
use crate::app::graph::{Descent, Part, Scope, Step};
use crate::app::{App, Caller, store_fault};
use crate::domain::drift::{Drift, Lineage, Seen};
use crate::domain::exchange::Glance;
use crate::domain::fault::{Fault, Reason};
use crate::domain::graph::{self, Place, Segment};
use crate::domain::id::{ExchangeId, Hash, Namespace};
use crate::domain::tool::ToolSet;

/// How many exchanges are remembered with what their paths had seen: siblings come one after another, and mostly soon after what they follow.
const REMEMBERED: usize = 64;

/// From which drift on to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriftsFrom {
    /// On a path.
    Path {
        /// Its end.
        end: ExchangeId,
        /// The depth of the drift's exchange.
        depth: u64,
        /// How many of that exchange come before it.
        skip: u32,
    },
    /// In what follows from an exchange.
    Below {
        /// That exchange.
        top: ExchangeId,
        /// The drift's exchange.
        at: ExchangeId,
        /// It and all that follows from it were listed.
        is_done: bool,
        /// How many of that exchange come before it.
        skip: u32,
    },
}

/// Which drifts a page has, and how many at most.
struct Page<'a> {
    name: Option<&'a str>,
    limit: usize,
    found: Vec<Drifted>,
    sets: Sets,
}

/// What a path has seen after an exchange on it.
#[derive(Clone, Default)]
struct After {
    offered: Option<Hash>,
    lineage: Lineage,
    seen: Arc<Seen>,
}

impl App {
    /// Drifts in a part of the graph, each before those on the paths that go on from it, and so on a path nearest to the root first; with where
    /// to go on, when there may be more.
    ///
    /// # Errors
    /// When there is no such exchange or thread.
    pub async fn list_drifts(
        &self,
        caller: &Caller,
        scope: &Scope,
        name: Option<&str>,
        from: Option<DriftsFrom>,
        limit: usize,
    ) -> Result<(Vec<Drifted>, Option<DriftsFrom>), Fault> {
        let namespace = &caller.namespace;
        let mut page = Page { name, limit, found: Vec::new(), sets: Sets::default() };
        let next = match (from, scope) {
            (Some(DriftsFrom::Path { end, depth, skip }), _) => {
                self.drifts_on(namespace, end, (depth, skip), &mut page).await?
            }
            (None, Scope::Path(_) | Scope::Thread(_)) => match self.scope_begin(caller, scope).await? {
                Some(end) => self.drifts_on(namespace, end, (1, 0), &mut page).await?,
                None => None,
            },
            (None, Scope::Subtree(..) | Scope::Tree(_)) => match self.part(caller, scope, None).await? {
                Some(part) => self.drifts_below(namespace, &part, (None, 0), &mut page).await?,
                None => None,
            },
            (Some(DriftsFrom::Below { top, at, is_done, skip }), _) => {
                match self.part(caller, scope, Some(top)).await? {
                    Some(part) => self.drifts_below(namespace, &part, (Some((at, is_done)), skip), &mut page).await?,
                    None => None,
                }
            }
        };
        Ok((page.found, next))
    }

    async fn drifts_on(
        &self,
        namespace: &Namespace,
        end: ExchangeId,
        (from, skip): (u64, u32),
        page: &mut Page<'_>,
    ) -> Result<Option<DriftsFrom>, Fault> {
        let place = self.place_of(namespace, end).await?;
        let (path, last) = (self.path_down_to(namespace, place).await?, place.depth);
        let first = from.max(1);
        let mut after = match graph::at_depth(&path, first - 1) {
            Some(before) => self.after(namespace, before, Some(&path)).await?,
            None => After::default(),
        };
        let until = last.min(first.saturating_add(LOOKED_AT - 1));
        let mut depth = first;
        while depth <= until {
            let to = until.min(depth.saturating_add(WINDOW - 1));
            for glance in self.ledger.glances(namespace, &path, depth, to).await.map_err(store_fault)? {
                let skip = if glance.depth == from { skip } else { 0 };
                let (full_at, now) = self.look(namespace, &after, &glance, skip, page).await?;
                if let Some(skip) = full_at {
                    return Ok(Some(DriftsFrom::Path { end, depth: glance.depth, skip }));
                }
                after = now;
            }
            depth = to.saturating_add(1);
        }
        Ok((until < last).then_some(DriftsFrom::Path { end, depth, skip: 0 }))
    }

    async fn drifts_below(
        &self,
        namespace: &Namespace,
        part: &Part,
        (from, skip): (Option<(ExchangeId, bool)>, u32),
        page: &mut Page<'_>,
    ) -> Result<Option<DriftsFrom>, Fault> {
        let mut descent = Descent::begin(self, namespace, part, from).await?;
        let mut known: VecDeque<(Place, After)> = VecDeque::new();
        let mut skip = skip;
        for _ in 0..LOOKED_AT {
            if !descent.is_done() {
                let at = descent.at();
                let before = match at.parent {
                    None => After::default(),
                    Some(parent) => match known.iter().rev().find(|(place, _)| *place == parent) {
                        Some((_, after)) => after.clone(),
                        None => {
                            let after = self.after(namespace, parent, None).await?;
                            remember(&mut known, parent, after.clone());
                            after
                        }
                    },
                };
                let glance = self.ledger.glance(namespace, at.place).await.map_err(store_fault)?;
                let (full_at, now) = self.look(namespace, &before, &glance, skip, page).await?;
                if let Some(skip) = full_at {
                    return Ok(Some(DriftsFrom::Below { top: part.id, at: at.id, is_done: false, skip }));
                }
                skip = 0;
                remember(&mut known, at.place, now);
            }
            if descent.step().await? == Step::Over {
                return Ok(None);
            }
        }
        Ok(Some(DriftsFrom::Below { top: part.id, at: descent.at().id, is_done: descent.is_done(), skip: 0 }))
    }

    /// Adds the drifts of a call to a page, after some of them; how many there are before the next one when the page is full, and what the path
    /// has seen after it.
    async fn look(
        &self,
        namespace: &Namespace,
        before: &After,
        glance: &Glance,
        skip: u32,
        page: &mut Page<'_>,
    ) -> Result<(Option<u32>, After), Fault> {
        let mut after = After { offered: glance.offered, lineage: glance.lineage, seen: Arc::clone(&before.seen) };
        // Most calls offer what the one before them did, and then there is nothing to compare.
        if glance.offered.is_some() && glance.offered != before.offered {
            let set = page.sets.get(self, namespace, glance.offered).await?;
            let drifts = before.seen.drifts(&set);
            let named = drifts.iter().filter(|drift| page.name.is_none_or(|name| drift.tool == name));
            for (drift, number) in named.zip(0..).skip(usize::try_from(skip).unwrap_or(usize::MAX)) {
                if page.found.len() == page.limit {
                    return Ok((Some(number), after));
                }
                let drifted = self.drifted(namespace, drift, glance.id, &set, &mut page.sets).await?;
                page.found.push(drifted);
            }
            after.seen = Arc::new(Seen::clone(&before.seen).after(&set, glance.id));
        }
        // What was erased says nothing of its tools, and what follows it says what they had been.
        if before.lineage == Lineage::Unknown && glance.lineage != Lineage::Unknown {
            after.seen = Arc::new(self.seen_of(namespace, glance.lineage).await?);
        }
        Ok((None, after))
    }

    /// What the path to a place has seen there.
    async fn after(&self, namespace: &Namespace, place: Place, path: Option<&[Segment]>) -> Result<After, Fault> {
        let glance = self.ledger.glance(namespace, place).await.map_err(store_fault)?;
        let seen = match (glance.lineage, path) {
            (Lineage::Unknown, Some(path)) => self.seen_on_path(namespace, path, place.depth).await?,
            (Lineage::Unknown, None) => {
                let path = self.path_down_to(namespace, place).await?;
                self.seen_on_path(namespace, &path, place.depth).await?
            }
            (lineage, _) => self.seen_of(namespace, lineage).await?,
        };
        Ok(After { offered: glance.offered, lineage: glance.lineage, seen: Arc::new(seen) })
    }

    /// A drift with the tool before and after.
    pub(super) async fn drifted(
        &self,
        namespace: &Namespace,
        drift: &Drift,
        exchange: ExchangeId,
        offered: &ToolSet,
        sets: &mut Sets,
    ) -> Result<Drifted, Fault> {
        let since = drift.before.since;
        let (earlier, _) = self.stored_exchange(namespace, since).await?;
        let before = match earlier.erased {
            Some(_) => Some(None),
            None => sets.get(self, namespace, earlier.offered).await?.find(&drift.tool).cloned().map(Some),
        };
        match (before, offered.find(&drift.tool)) {
            (Some(before), Some(now)) => Ok(Drifted { since, before, exchange, now: now.clone() }),
            _ => Err(Fault::new(
                Reason::StoreCorrupt,
                format!("exchange {since} does not have the tool that a later one remembers: run `antiphon verify`"),
            )),
        }
    }
}

fn remember(known: &mut VecDeque<(Place, After)>, place: Place, after: After) {
    if known.len() == REMEMBERED {
        known.pop_front();
    }
    known.push_back((place, after));
}
