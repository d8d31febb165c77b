//! Collecting garbage: what expired becomes tombstones, prepared executions that ended go, and content that nothing names is removed; while
//! the server goes on. It must not know how a record is removed.

use std::collections::{BTreeMap, HashSet};

use tokio::sync::mpsc;
use tokio::time::{Duration, Instant};

use super::BATCH;
use crate::app::access::AUDIT;
use crate::app::thread::Repeatable;
use crate::app::{App, Caller, store_fault};
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{Hash, Moment, Namespace};
use crate::domain::retention::{Expiry, Mode};
use crate::store::collect::{Among, Collected, collect};
use crate::store::layout::Kind;
use crate::store::ledger::Changes;
use crate::store::tally::Amount;

use super::erase::Asked;

/// What became garbage less than this ago is left when the caller says nothing, in milliseconds.
const GRACE_MS: u64 = 60 * 60 * 1_000;
/// Told now and then: after so many records.
const EVERY: u64 = 4_096;

/// How to collect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collecting {
    /// Tell what would be removed and remove nothing.
    pub dry_run: bool,
    /// Leave what became garbage less than this ago, in milliseconds.
    pub grace_ms: Option<u64>,
    /// Stop after this time, in milliseconds.
    pub max_duration_ms: Option<u64>,
}

/// What was collected so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Garbage {
    /// Records that were looked at.
    pub checked: u64,
    /// Records that were removed, or would be.
    pub removed: BTreeMap<Kind, Amount>,
    /// Expired things that a pin kept.
    pub pinned: u64,
    /// It stopped at its time.
    pub stopped_early: bool,
    /// That was all.
    pub is_done: bool,
}

impl Garbage {
    fn add(&mut self, kind: Kind, count: u64, bytes: u64) {
        let amount = self.removed.entry(kind).or_default();
        (amount.count, amount.bytes) = (amount.count.saturating_add(count), amount.bytes.saturating_add(bytes));
    }
}

impl App {
    /// Collects the garbage of the caller's namespace, and tells how far it is until it is done or nobody listens.
    ///
    /// # Errors
    /// When another collection or an import is at work, or the store fails.
    pub async fn collect_garbage(
        &self,
        caller: &Caller,
        how: Collecting,
        out: &mpsc::Sender<Garbage>,
    ) -> Result<(), Fault> {
        let namespace = &caller.namespace;
        // What an import stored and did not name yet looks like garbage.
        let Some(_alone) = self.transfers.apart.try_alone(namespace) else {
            let message =
                "an import, an erasure or another collection is at work in this namespace: collect when it is done";
            return Err(Fault::new(Reason::LimitExceeded, message)
                .with("limit", "collections")
                .with("max", 1)
                .with("value", 2)
                .retry_after(5_000));
        };
        if !how.dry_run {
            self.accept_work()?;
            self.finish_erasures(namespace, &mut self.footings.clearing(namespace)).await?;
        }
        let until = how.max_duration_ms.map(|ms| Instant::now() + Duration::from_millis(ms));
        let before = Moment(self.clock.now().0.saturating_sub(how.grace_ms.unwrap_or(GRACE_MS)));
        let mut garbage = Garbage::default();
        self.collect_expired(caller, before, how.dry_run, until, &mut garbage).await?;
        self.drop_prepared(namespace, before, how.dry_run, &mut garbage).await?;
        if !garbage.stopped_early {
            let mut told = 0;
            let so_far = garbage.clone();
            let mut goes_on = |collected: &Collected| {
                if collected.checked >= told + EVERY {
                    told = collected.checked;
                    let mut now = so_far.clone();
                    now.checked += collected.checked;
                    collected.removed.iter().for_each(|(kind, amount)| now.add(*kind, amount.count, amount.bytes));
                    // One that is slow is told less often.
                    if let Err(mpsc::error::TrySendError::Closed(_)) = out.try_send(now) {
                        return false;
                    }
                }
                until.is_none_or(|until| Instant::now() < until)
            };
            let all = Among { candidates: None, without: &HashSet::new(), takes_drafts: true };
            let collected =
                collect(&self.ledger, namespace, &all, how.dry_run, &mut goes_on).await.map_err(store_fault)?;
            garbage.checked += collected.checked;
            garbage.stopped_early = collected.stopped_early;
            for (kind, amount) in collected.removed {
                garbage.add(kind, amount.count, amount.bytes);
            }
        }
        garbage.is_done = true;
        let removed: u64 = garbage.removed.values().map(|amount| amount.count).sum();
        let (checked, dry_run) = (garbage.checked, how.dry_run);
        tracing::info!(target: AUDIT, namespace = namespace.as_str(), checked, removed, dry_run, "garbage.collected");
        out.send(garbage).await.ok();
        Ok(())
    }

    /// What expired goes, unless a pin keeps it or others share it.
    async fn collect_expired(
        &self,
        caller: &Caller,
        before: Moment,
        dry_run: bool,
        until: Option<Instant>,
        garbage: &mut Garbage,
    ) -> Result<(), Fault> {
        let namespace = &caller.namespace;
        let mut after: Option<(Moment, Hash)> = None;
        loop {
            let due = self.ledger.expiries(namespace, after, Some(before), BATCH).await.map_err(store_fault)?;
            for (key, expiry) in &due {
                after = Some(*key);
                garbage.checked += 1;
                if until.is_some_and(|until| Instant::now() >= until) {
                    garbage.stopped_early = true;
                    return Ok(());
                }
                if self.is_pinned(namespace, &expiry.target).await? {
                    garbage.pinned += 1;
                    continue;
                }
                self.expire_one(caller, expiry, dry_run, garbage).await?;
            }
            if due.len() < BATCH {
                return Ok(());
            }
        }
    }

    async fn expire_one(
        &self,
        caller: &Caller,
        expiry: &Expiry,
        dry_run: bool,
        garbage: &mut Garbage,
    ) -> Result<(), Fault> {
        let namespace = &caller.namespace;
        let note = "expired".to_owned();
        // Drafts are told once, with all that nothing names.
        let takes_drafts = !dry_run;
        let asked = Asked { target: expiry.target.clone(), mode: Mode::Refuse, dry_run, takes_drafts, note };
        let once = Repeatable { request_id: None, fingerprint: Hash([0; 32]) };
        match self.erase_alone(caller, asked, &once).await {
            Ok(erasure) => {
                for gone in &erasure.receipt.gone {
                    if let Some(kind) = Kind::of_letter(gone.letter) {
                        garbage.add(kind, gone.count, gone.bytes);
                    }
                }
            }
            // What others share, or is at work, is collected once they are gone or it is done.
            Err(fault) if matches!(fault.reason, Reason::EraseShared | Reason::RunNotCompleted) => return Ok(()),
            // It is gone already, and with it what there was to expire.
            Err(fault)
                if matches!(fault.reason, Reason::ExchangeNotFound | Reason::ThreadNotFound | Reason::RunNotFound) => {}
            Err(fault) => return Err(fault),
        }
        if dry_run {
            return Ok(());
        }
        let mut changes = Changes::new();
        changes.delete_expiry(&expiry.target, Some(expiry.at));
        self.apply(namespace, &changes).await
    }

    async fn drop_prepared(
        &self,
        namespace: &Namespace,
        before: Moment,
        dry_run: bool,
        garbage: &mut Garbage,
    ) -> Result<(), Fault> {
        loop {
            let ended = self.ledger.expired_prepared(namespace, before, BATCH).await.map_err(store_fault)?;
            garbage.add(Kind::Prepared, ended.len() as u64, 0);
            if dry_run || ended.is_empty() {
                return Ok(());
            }
            let mut changes = Changes::new();
            for id in &ended {
                changes.delete_prepared(id);
            }
            self.apply(namespace, &changes).await?;
        }
    }
}
