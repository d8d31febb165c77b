//! Taking out what is erased: exchanges become tombstones, and content that nobody else has is removed. What is to go is put on record before
//! anything does, so that an erasure that broke off can be finished. It must not know whether something may be erased, who finishes what broke off, or
//! how a record is replaced.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{BATCH, Resolved};
use crate::app::access::AUDIT;
use crate::app::execution::cancelled;
use crate::app::thread::Repeatable;
use crate::app::{App, store_fault};
use crate::domain::coordination::{Coordination, State};
use crate::domain::exchange::Erased;
use crate::domain::fault::{Fault, Reason};
use crate::domain::graph::Place;
use crate::domain::id::{CoordinationId, ExchangeId, Namespace, PreparedId, RunId};
use crate::domain::retention::{Erasing, Gone, Receipt};
use crate::domain::run::{self, Run};
use crate::store::collect::{Among, Collected, collect};
use crate::store::layout::{Entry, Kind};
use crate::store::ledger::Changes;
use crate::store::tally::Amount;

/// Exchanges that a receipt names.
const MAX_TOMBSTONES: usize = 1_000;

/// What goes with exchanges.
#[derive(Default)]
pub(super) struct With {
    coordinations: Vec<CoordinationId>,
    prepared: Vec<PreparedId>,
    /// Runs that forget the documents that they started from.
    runs: Vec<RunId>,
}

/// An erasure on its way.
pub(super) struct Taking {
    erasing: Erasing,
    resolved: Resolved,
    with: With,
    dry_run: bool,
    /// It broke off before: which content it had in hand is not known any more.
    resumed: bool,
    /// Content that may be nobody's afterwards.
    candidates: HashSet<Entry>,
    /// Records that go, which a dry run looks past.
    without: HashSet<Entry>,
    gone: BTreeMap<Kind, Amount>,
}

impl Taking {
    pub(super) fn new(erasing: Erasing, resolved: Resolved, with: With, dry_run: bool) -> Self {
        let mut without: HashSet<Entry> = resolved.exchanges.values().map(|place| Entry::Exchange(*place)).collect();
        without.extend(with.coordinations.iter().cloned().map(Entry::Coordination));
        without.extend(with.prepared.iter().cloned().map(Entry::Prepared));
        without.extend(with.runs.iter().cloned().map(Entry::Run));
        let (candidates, gone) = (HashSet::new(), BTreeMap::new());
        Self { erasing, resolved, with, dry_run, resumed: false, candidates, without, gone }
    }

    /// The same for one that broke off.
    pub(super) fn again(erasing: Erasing, resolved: Resolved, with: With) -> Self {
        Self { resumed: true, ..Self::new(erasing, resolved, with, false) }
    }

    /// Removes what was prepared.
    pub(super) fn prepared(&mut self) -> Changes {
        let mut changes = Changes::new();
        for id in &self.with.prepared {
            changes.delete_prepared(id);
        }
        self.count(Kind::Prepared, self.with.prepared.len() as u64, 0);
        changes
    }

    fn count(&mut self, kind: Kind, count: u64, bytes: u64) {
        let amount = self.gone.entry(kind).or_default();
        (amount.count, amount.bytes) = (amount.count + count, amount.bytes + bytes);
    }
}

impl App {
    /// Erases what may be erased. Gives the receipt.
    ///
    /// # Errors
    /// When the store fails, or something changed since it was looked at.
    pub(super) async fn take(
        &self,
        namespace: &Namespace,
        mut taking: Taking,
        repeat: &Repeatable,
    ) -> Result<Receipt, Fault> {
        let mut changes = self.first_to_go(namespace, &mut taking).await?;
        if !taking.dry_run {
            changes.put_erasing(&taking.erasing);
            self.remember(&mut changes, repeat, "erase", &taking.erasing.receipt.id);
            self.apply(namespace, &changes).await?;
            if let Some(run) = &taking.resolved.bare_run {
                self.remembered.forget(namespace, &run.id);
            }
        }
        self.take_out(namespace, taking).await
    }

    /// Coordinations and prepared executions that go with exchanges, and runs that forget their documents. A coordination that did not end is refused,
    /// or stays where the erasure began before it.
    ///
    /// # Errors
    /// When a coordination goes on from what is to be erased, or the store fails.
    pub(super) async fn with(
        &self,
        namespace: &Namespace,
        exchanges: &BTreeMap<ExchangeId, Place>,
        resumed: bool,
    ) -> Result<With, Fault> {
        let mut with = With::default();
        let mut after: Option<CoordinationId> = None;
        loop {
            let page = self.ledger.coordinations(namespace, after.as_ref(), BATCH).await.map_err(store_fault)?;
            for coordination in &page {
                if !self.tells_of(namespace, coordination, exchanges).await? {
                    continue;
                }
                if matches!(coordination.state, State::Ended(_)) {
                    with.coordinations.push(coordination.id.clone());
                } else if !resumed {
                    let message = format!(
                        "coordination `{}` goes on from what is to be erased: let it end, or cancel it, and erase then",
                        coordination.id
                    );
                    return Err(Fault::new(Reason::EraseShared, message).with("shared_by", &coordination.id));
                }
            }
            after = page.last().map(|last| last.id.clone()).filter(|_| page.len() >= BATCH);
            if after.is_none() {
                break;
            }
        }
        with.prepared = self.ledger.prepared_after(namespace, exchanges).await.map_err(store_fault)?;
        let mut runs = BTreeSet::new();
        for place in exchanges.values() {
            let exchange = self.ledger.exchange_at(namespace, *place).await.map_err(store_fault)?;
            runs.extend(exchange.and_then(|exchange| exchange.run_id));
        }
        for id in runs {
            let found = self.ledger.run(namespace, &id).await.map_err(store_fault)?;
            // One that may still go on from an exchange which stays does so from its documents.
            let forgets = |run: &Run| {
                run.state == run::State::Completed || run.exchange.is_none_or(|last| exchanges.contains_key(&last))
            };
            with.runs.extend(found.filter(|(run, _)| forgets(run)).map(|_| id));
        }
        Ok(with)
    }

    async fn tells_of(
        &self,
        namespace: &Namespace,
        coordination: &Coordination,
        exchanges: &BTreeMap<ExchangeId, Place>,
    ) -> Result<bool, Fault> {
        if coordination.named_exchanges().into_iter().any(|id| exchanges.contains_key(&id)) {
            return Ok(true);
        }
        self.ledger.journal_names(namespace, &coordination.id, exchanges).await.map_err(store_fault)
    }

    /// What goes in the write that the erasure begins with: nothing that comes later finds its way by it.
    async fn first_to_go(&self, namespace: &Namespace, taking: &mut Taking) -> Result<Changes, Fault> {
        let mut changes = taking.prepared();
        if let Some(run) = &taking.resolved.bare_run {
            self.ledger.add_version(namespace, run.workspace, &mut taking.candidates).await.map_err(store_fault)?;
            taking.without.insert(Entry::Run(run.id.clone()));
            changes.delete_run(&run.id);
            taking.count(Kind::Run, 1, 0);
        }
        if let Some(id) = taking.resolved.thread.clone()
            && let Some((_, thread)) = self.ledger.thread(namespace, &id).await.map_err(store_fault)?
            && let Some((head, token)) = self.ledger.head(namespace, &id).await.map_err(store_fault)?
        {
            if self.tip_of(namespace, &head).await? != taking.erasing.end {
                let message = format!("thread `{id}` was continued meanwhile: erase it again");
                return Err(Fault::new(Reason::HeadMoved, message).with("thread_id", &id).retry_after(100));
            }
            let found = self.ledger.documents_of(namespace, &id, &mut taking.candidates).await.map_err(store_fault)?;
            for (entry, bytes) in &found {
                taking.count(entry.kind(), 1, *bytes as u64);
            }
            let records: Vec<Entry> = found.into_iter().map(|(entry, _)| entry).collect();
            taking.without.extend(records.iter().cloned());
            changes.delete_thread(&id, &thread, &token);
            changes.delete_records(records);
            taking.count(Kind::Thread, 1, 0);
        }
        Ok(changes)
    }

    /// Takes out the rest, ends the record that it is under way, and gives the receipt.
    pub(super) async fn take_out(&self, namespace: &Namespace, mut taking: Taking) -> Result<Receipt, Fault> {
        let dry_run = taking.dry_run;
        for runs in taking.with.runs.chunks(BATCH) {
            self.forget_documents(namespace, runs, dry_run, &mut taking.candidates).await?;
        }
        self.leave_tombstones(namespace, &mut taking).await?;
        for id in &taking.with.coordinations {
            let removed = self.ledger.remove_coordination(namespace, id, dry_run, &mut taking.candidates).await;
            for (kind, bytes) in removed.map_err(store_fault)? {
                taking.gone.entry(kind).or_default().add(bytes);
            }
        }
        let collected = self.collect_after(namespace, &taking).await?;
        for (kind, amount) in &collected.removed {
            taking.count(*kind, amount.count, amount.bytes);
        }
        let of =
            |(kind, amount): (&Kind, &Amount)| Gone { letter: kind.letter(), count: amount.count, bytes: amount.bytes };
        let Taking { erasing, gone, resumed, .. } = taking;
        let gone = gone.iter().filter(|(_, amount)| amount.count > 0).map(of).collect();
        let receipt = Receipt { gone, shared: collected.shared, ..erasing.receipt };
        if dry_run {
            return Ok(receipt);
        }
        let mut changes = Changes::new();
        changes.end_erasing(&receipt);
        self.apply(namespace, &changes).await?;
        tracing::info!(
            target: AUDIT,
            caller = receipt.by,
            namespace = namespace.as_str(),
            receipt_id = receipt.id,
            tombstones = receipt.tombstones,
            shared = receipt.shared,
            resumed,
            "erase.done"
        );
        Ok(receipt)
    }

    /// Puts tombstones in the place of exchanges.
    async fn leave_tombstones(&self, namespace: &Namespace, taking: &mut Taking) -> Result<(), Fault> {
        let receipt = &mut taking.erasing.receipt;
        let erased = Erased { receipt: receipt.id.clone(), at: receipt.at, by: receipt.by.clone() };
        let amount = taking.gone.entry(Kind::Exchange).or_default();
        for (id, place) in &taking.resolved.exchanges {
            let named = self.ledger.named_content(namespace, *place, &mut taking.candidates).await;
            let size = named.map_err(store_fault)?;
            let mut taken = if taking.dry_run {
                size
            } else {
                self.ledger.erase(namespace, *place, &erased).await.map_err(store_fault)?
            };
            if taken.is_none() && taking.resumed && self.is_erased_by(namespace, *place, &receipt.id).await? {
                taken = Some(0);
            }
            let Some(bytes) = taken else { continue };
            (amount.count, amount.bytes) = (amount.count + 1, amount.bytes + bytes);
            receipt.tombstones += 1;
            if receipt.exchanges.len() < MAX_TOMBSTONES {
                receipt.exchanges.push(*id);
            }
        }
        Ok(())
    }

    async fn is_erased_by(&self, namespace: &Namespace, place: Place, receipt: &str) -> Result<bool, Fault> {
        let exchange = self.ledger.exchange_at(namespace, place).await.map_err(store_fault)?;
        Ok(exchange.and_then(|exchange| exchange.erased).is_some_and(|erased| erased.receipt == receipt))
    }

    /// Removes the content that nobody has any more.
    async fn collect_after(&self, namespace: &Namespace, taking: &Taking) -> Result<Collected, Fault> {
        if taking.candidates.is_empty() && !taking.resumed {
            return Ok(Collected::default());
        }
        let nothing = HashSet::new();
        let among = Among {
            candidates: (!taking.resumed).then_some(&taking.candidates),
            // In a dry run nothing was erased, so it is looked past.
            without: if taking.dry_run { &taking.without } else { &nothing },
            takes_drafts: taking.erasing.takes_drafts,
        };
        collect(&self.ledger, namespace, &among, taking.dry_run, &mut |_| true).await.map_err(store_fault)
    }

    /// Runs forget the documents that they started from; one that waits for the results of calls that are to be erased has nothing to go on from.
    async fn forget_documents(
        &self,
        namespace: &Namespace,
        runs: &[RunId],
        dry_run: bool,
        content: &mut HashSet<Entry>,
    ) -> Result<(), Fault> {
        // What a run was when it was read is looked at again where it changed meanwhile: once it is on record, an erasure gives up for nothing else.
        loop {
            let mut changes = Changes::new();
            for id in runs {
                let Some((run, token)) = self.ledger.run(namespace, id).await.map_err(store_fault)? else { continue };
                self.ledger.add_version(namespace, run.workspace, content).await.map_err(store_fault)?;
                let is_over = run.state != run::State::PendingTools;
                if is_over && run.workspace.is_none() {
                    continue;
                }
                let run = Run { workspace: None, ..run };
                let run = if is_over {
                    run
                } else {
                    Run { failure: Some(cancelled(id)), ..run.moved_to(run::State::Cancelled, self.clock.now()) }
                };
                changes.replace_run(&run, &token);
            }
            if dry_run || self.commit(namespace, &changes).await.map_err(store_fault)?.is_ok() {
                return Ok(());
            }
        }
    }
}
