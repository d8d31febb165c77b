//! What a namespace holds, in figures. Counting reads every record, so one count is at work at a time and its figures serve for a while. It
//! must not know how records are counted.

use std::collections::HashMap;

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

impl App {
    /// What is used of limits: of the server, where the caller speaks for it, and of those who are at work.
    async fn limits_in_use(&self, caller: &Caller, at_work: &[AtWork]) -> Result<Vec<LimitUse>, Fault> {
        let mut uses = Vec::new();
        if caller.only_namespace().is_none() {
            let of = |name, used: usize, max: usize| {
                let count = |of: usize| u64::try_from(of).unwrap_or(u64::MAX);
                LimitUse::of_server(name, count(used), count(max))
            };
            uses.push(of("max_runs", self.runs_at_work(), self.limits.max_runs));
            let streams = self.coordination_streams();
            uses.push(of("max_coordination_streams", streams, self.limits.max_coordination_streams));
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
