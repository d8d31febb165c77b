//! What a namespace holds, in figures. Counting reads every record, so one count is at work at a time and its figures serve for a while. It
//! must not know how records are counted.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex as Lock, PoisonError};

use tokio::sync::Mutex;

use super::access::{AtWork, LimitUse};
use super::{App, Caller, store_fault};
use crate::domain::fault::Fault;
use crate::domain::id::{Moment, Namespace};
use crate::store::tally::{Tally, tally};

/// For how long figures are told again instead of being counted anew, in milliseconds.
const FRESH_MS: u64 = 10_000;

/// Limits that are told at most, more or less.
const MAX_LIMITS: usize = 1_000;

/// Figures that were counted, by namespace, with when. Whoever counts holds it.
#[derive(Default)]
pub(super) struct Counted(Mutex<HashMap<Namespace, (Moment, Tally)>>);

/// Tells how much there is of something.
type Gauge = Box<dyn Fn() -> usize + Send + Sync>;

/// What others count that has a limit: the name of the limit, its value, and what counts it.
#[derive(Default)]
pub(super) struct Gauges(Lock<Vec<(&'static str, usize, Gauge)>>);

/// What a namespace holds, and what is at work.
#[derive(Clone, Debug)]
pub struct Stats {
    /// The records.
    pub tally: Tally,
    /// They were counted for this call; else a moment ago for another one.
    pub exact: bool,
    /// When they were counted.
    pub at: Moment,
    /// What the store takes on disk; zero for who may not see all namespaces.
    pub disk_bytes: u64,
    /// Runs at work.
    pub active_runs: usize,
    /// Coordinations with a stream.
    pub attached_coordinations: usize,
    /// What is used of limits that something counts against.
    pub limits: Vec<LimitUse>,
}

/// What is used of a limit of the server.
fn used(name: impl Into<Cow<'static, str>>, used: usize, max: usize) -> LimitUse {
    let figure = |of: usize| u64::try_from(of).unwrap_or(u64::MAX);
    LimitUse::of_server(name, figure(used), figure(max))
}

impl App {
    /// Tells with the others what is used of a limit that is kept elsewhere.
    pub fn gauge(&self, name: &'static str, max: usize, gauge: impl Fn() -> usize + Send + Sync + 'static) {
        self.gauges.0.lock().unwrap_or_else(PoisonError::into_inner).push((name, max, Box::new(gauge)));
    }

    /// What is used of the limits of the server that count something at a moment.
    fn limits_of_server(&self) -> Vec<LimitUse> {
        let limits = &self.limits;
        let (results, bytes) = self.remembered.kept();
        let (exports, max_exports) = self.transfers.in_use();
        let mut uses = vec![
            used("max_runs", self.runs_at_work(), limits.max_runs),
            used("max_queued_per_thread", self.threads.longest_line(), limits.max_queued_per_thread),
            used("max_remembered_results", results, limits.max_remembered_results),
            LimitUse { unit: "bytes".to_owned(), ..used("max_remembered_bytes", bytes, limits.max_remembered_bytes) },
            used("max_coordination_streams", self.coordination_streams(), limits.max_coordination_streams),
            used("exports", exports, max_exports),
        ];
        let gauges = self.gauges.0.lock().unwrap_or_else(PoisonError::into_inner);
        uses.extend(gauges.iter().map(|(name, max, gauge)| used(*name, gauge(), *max)));
        drop(gauges);
        for backend in self.engine.setup().backends() {
            let of = |key, used: u32, max: u32| {
                LimitUse::of_server(format!("backends.{}.{key}", backend.id), used.into(), max.into())
            };
            uses.push(of("capacity", backend.in_use, backend.limits.capacity));
            uses.push(of("queue_limit", backend.queued, backend.limits.queue_limit));
        }
        uses
    }

    /// What is used of limits: of the server, where the caller speaks for it, and of those who are at work.
    async fn limits_in_use(&self, caller: &Caller, at_work: &[AtWork]) -> Result<Vec<LimitUse>, Fault> {
        let mut uses = Vec::new();
        if caller.only_namespace().is_none() {
            uses.extend(self.limits_of_server());
        }
        // Most of all those who use something; tokens come and go, and an answer has an end.
        let mut at_work: Vec<&AtWork> = at_work.iter().collect();
        at_work.sort_by_key(|somebody| std::cmp::Reverse(somebody.calls));
        for somebody in at_work {
            if uses.len() >= MAX_LIMITS {
                break;
            }
            uses.extend(somebody.uses());
            uses.extend(self.accounts.uses(&self.ledger, &somebody.principal, self.clock.now()).await?);
        }
        Ok(uses)
    }

    /// Counts what the caller's namespace holds, unless that was done a moment ago; with what those use of their limits who are at work.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn stats(&self, caller: &Caller, at_work: &[AtWork]) -> Result<Stats, Fault> {
        let namespace = &caller.namespace;
        let mut counted = self.counted.0.lock().await;
        let now = self.clock.now();
        let fresh = counted.get(namespace).filter(|(at, _)| now.0.saturating_sub(at.0) < FRESH_MS).cloned();
        let exact = fresh.is_none();
        let (at, tally) = match fresh {
            Some(fresh) => fresh,
            None => {
                let figures = (now, tally(&self.ledger.unkept(), namespace).await.map_err(store_fault)?);
                counted.insert(namespace.clone(), figures.clone());
                figures
            }
        };
        drop(counted);
        Ok(Stats {
            tally,
            exact,
            at,
            // What all namespaces take together is for who may see all.
            disk_bytes: caller.only_namespace().map_or(self.ledger.store().stats().disk_bytes, |_| 0),
            active_runs: self.flights.count_in(namespace),
            attached_coordinations: self.coordinations.attached_in(namespace),
            limits: self.limits_in_use(caller, at_work).await?,
        })
    }
}
