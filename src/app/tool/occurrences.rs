//! Listing the calls that had a tool, on a path, in a part of the graph or in a whole namespace. It must not write.

use super::{Kind, LOOKED_AT, Occurrence, Wanted};
use crate::app::drift::{Sets, WINDOW};
use crate::app::graph::{Part, SMALL, Scope};
use crate::app::{App, Caller, store_fault};
use crate::domain::exchange::Glance;
use crate::domain::fault::Fault;
use crate::domain::graph::Place;
use crate::domain::id::{CallId, ExchangeId, Namespace};
use crate::domain::tool::Tool;

/// How many are read of a namespace at a time.
const BATCH: usize = 256;

/// From which call on to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OccurrencesFrom {
    /// Newest first, before an exchange; with the top of the part that they are in.
    Newest {
        /// The top; absent for a whole namespace.
        top: Option<ExchangeId>,
        /// The exchange.
        before: ExchangeId,
    },
    /// On a path, from a depth up.
    Path {
        /// Its end.
        end: ExchangeId,
        /// The depth.
        depth: u64,
    },
}

impl App {
    /// Calls that had a tool: those of a path from its end up, all others newest first; with where to go on, when there may be more.
    ///
    /// # Errors
    /// When there is no such exchange or thread.
    pub async fn list_occurrences(
        &self,
        caller: &Caller,
        scope: Option<&Scope>,
        wanted: &Wanted,
        from: Option<OccurrencesFrom>,
        limit: usize,
    ) -> Result<(Vec<Occurrence>, Option<OccurrencesFrom>), Fault> {
        let namespace = &caller.namespace;
        let (top, before) = match (from, scope) {
            (Some(OccurrencesFrom::Path { end, depth }), _) => {
                return self.occurrences_on(namespace, end, wanted, depth, limit).await;
            }
            (None, Some(path @ (Scope::Path(_) | Scope::Thread(_)))) => {
                let Some(end) = self.scope_begin(caller, path).await? else { return Ok((Vec::new(), None)) };
                return self.occurrences_on(namespace, end, wanted, u64::MAX, limit).await;
            }
            (Some(OccurrencesFrom::Newest { top, before }), _) => (top, Some(before)),
            (None, _) => (None, None),
        };
        let part = match scope {
            None => None,
            Some(scope) => {
                let Some(part) = self.part(caller, scope, top).await? else { return Ok((Vec::new(), None)) };
                Some(part)
            }
        };
        let top = part.as_ref().map(|part| part.id);
        let all = match &part {
            Some(part) => self.all_in(namespace, part, SMALL).await?,
            None => None,
        };
        let (mut found, mut sets) = (Vec::new(), Sets::default());
        let next = match (all, part) {
            (Some(all), _) => {
                let from = all.partition_point(|(id, _)| before.is_some_and(|before| *id >= before));
                let left = all.get(from..).unwrap_or_default();
                self.add_occurrences(namespace, left, wanted, &mut sets, (limit, &mut found)).await?
            }
            (None, part) => self.newest_occurrences(namespace, part, wanted, before, (limit, &mut found)).await?,
        };
        Ok((found, next.map(|before| OccurrencesFrom::Newest { top, before })))
    }

    /// Goes through a namespace, newest first, past what is not in a part of it; the exchange to go on before, when there may be more.
    async fn newest_occurrences(
        &self,
        namespace: &Namespace,
        mut part: Option<Part>,
        wanted: &Wanted,
        before: Option<ExchangeId>,
        (limit, found): (usize, &mut Vec<Occurrence>),
    ) -> Result<Option<ExchangeId>, Fault> {
        let (mut sets, mut before) = (Sets::default(), before);
        for _ in 0..LOOKED_AT / BATCH as u64 {
            let mut batch = self.ledger.newest(namespace, before, BATCH).await.map_err(store_fault)?;
            let (is_last, last) = (batch.len() < BATCH, batch.last().map(|(id, _)| *id));
            if let Some(part) = &mut part {
                let mut within = Vec::new();
                for (id, place) in batch {
                    if self.is_in(namespace, part, place).await? {
                        within.push((id, place));
                    }
                }
                batch = within;
            }
            let full = self.add_occurrences(namespace, &batch, wanted, &mut sets, (limit, found)).await?;
            if is_last || full.is_some() {
                return Ok(full);
            }
            before = last.or(before);
        }
        Ok(before)
    }

    /// Adds those of these calls that had a tool, in their order; the last that was looked at when there are as many as there may be.
    async fn add_occurrences(
        &self,
        namespace: &Namespace,
        calls: &[(ExchangeId, Place)],
        wanted: &Wanted,
        sets: &mut Sets,
        (limit, found): (usize, &mut Vec<Occurrence>),
    ) -> Result<Option<ExchangeId>, Fault> {
        for window in calls.chunks(usize::try_from(WINDOW).unwrap_or(1)) {
            let places = window.iter().map(|(_, place)| *place).collect();
            for glance in self.ledger.glances_at(namespace, places).await.map_err(store_fault)? {
                let id = glance.id;
                found.extend(self.occurrence(namespace, glance, wanted, sets).await?);
                if found.len() == limit {
                    return Ok(Some(id));
                }
            }
        }
        Ok(None)
    }

    async fn occurrences_on(
        &self,
        namespace: &Namespace,
        end: ExchangeId,
        wanted: &Wanted,
        from: u64,
        limit: usize,
    ) -> Result<(Vec<Occurrence>, Option<OccurrencesFrom>), Fault> {
        let place = self.place_of(namespace, end).await?;
        let (path, last) = (self.path_down_to(namespace, place).await?, place.depth);
        let mut depth = from.min(last);
        let bottom = depth.saturating_sub(LOOKED_AT);
        let next = |depth: u64| Some(OccurrencesFrom::Path { end, depth }).filter(|_| depth > 0);
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
                    return Ok((found, next(at - 1)));
                }
            }
            depth = lowest;
        }
        Ok((found, next(depth)))
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
