//! Erasing: exchanges become tombstones, and content that nobody else has is removed. It must not know how a record is replaced or what is
//! left of one.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{BATCH, Resolved};
use crate::app::access::AUDIT;
use crate::app::execution::cancelled;
use crate::app::thread::Repeatable;
use crate::app::{App, Caller, join, store_fault};
use crate::domain::coordination::{Coordination, State};
use crate::domain::exchange::{Erased, Exchange};
use crate::domain::fault::{Fault, Reason};
use crate::domain::graph::Place;
use crate::domain::id::{CoordinationId, ExchangeId, Namespace, PreparedId, RunId};
use crate::domain::retention::{Gone, Mode, Receipt, Target};
use crate::domain::run::{self, Run};
use crate::store::collect::{Among, Collected, collect};
use crate::store::layout::{Entry, Kind};
use crate::store::ledger::Changes;
use crate::store::tally::Amount;

/// Those who share something that are named in an error.
const NAMED: usize = 16;
/// Exchanges that a receipt names.
const MAX_TOMBSTONES: usize = 1_000;

/// What is to be erased.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What.
    pub target: Target,
    /// What to do where others share it.
    pub mode: Mode,
    /// Tell what would be erased and erase nothing.
    pub dry_run: bool,
    /// Versions of documents that nothing names go along.
    pub takes_drafts: bool,
    /// Why.
    pub note: String,
}

/// What was erased.
#[derive(Clone, Debug)]
pub struct Erasure {
    /// The receipt; without an id for a dry run.
    pub receipt: Receipt,
    /// What is left of the first exchanges.
    pub tombstones: Vec<Exchange>,
    /// It was done by an earlier call.
    pub replayed: bool,
}

/// What goes with exchanges.
#[derive(Default)]
struct With {
    coordinations: Vec<CoordinationId>,
    prepared: Vec<PreparedId>,
    /// Runs that forget the documents that they started from.
    runs: Vec<RunId>,
}

impl With {
    fn entries(&self, exchanges: &BTreeMap<ExchangeId, Place>) -> HashSet<Entry> {
        let exchanges = exchanges.values().map(|place| Entry::Exchange(*place));
        let coordinations = self.coordinations.iter().map(|id| Entry::Coordination(id.clone()));
        let prepared = self.prepared.iter().map(|id| Entry::Prepared(id.clone()));
        let runs = self.runs.iter().map(|id| Entry::Run(id.clone()));
        exchanges.chain(coordinations).chain(prepared).chain(runs).collect()
    }
}

impl App {
    /// Erases content for good.
    ///
    /// # Errors
    /// When there is no such thing, others share it and that is to be refused, or it, an import, a collection or another erasure is at work.
    pub async fn erase(&self, caller: &Caller, asked: Asked, repeat: &Repeatable) -> Result<Erasure, Fault> {
        let (caller, repeat) = (caller.clone(), repeat.clone());
        // Half of one would have no receipt.
        self.to_its_end(|app| async move { app.erase_now(&caller, asked, &repeat).await }).await
    }

    async fn erase_now(&self, caller: &Caller, asked: Asked, repeat: &Repeatable) -> Result<Erasure, Fault> {
        // What an import stored and did not name yet would look like nobody's.
        let Ok(_alone) = self.transfers.importing.try_write() else {
            let message = "an import, a collection or another erasure is at work: erase when it is done";
            return Err(Fault::new(Reason::LimitExceeded, message)
                .with("limit", "erasures")
                .with("max", 1)
                .retry_after(1_000));
        };
        self.erase_alone(caller, asked, repeat).await
    }

    /// The same, while neither an import nor a collection begins.
    pub(super) async fn erase_alone(
        &self,
        caller: &Caller,
        asked: Asked,
        repeat: &Repeatable,
    ) -> Result<Erasure, Fault> {
        let namespace = &caller.namespace;
        if let Some(id) = self.repeated(namespace, repeat).await? {
            return Ok(Erasure { replayed: true, ..self.erasure(namespace, &id).await? });
        }
        let mut resolved = self.retained(namespace, &asked.target).await?;
        self.check_shared(namespace, &asked, &mut resolved).await?;
        self.check_at_work(namespace, &resolved).await?;
        let with = self.with(namespace, &resolved.exchanges).await?;
        let now = self.clock.now();
        let id = if asked.dry_run { String::new() } else { self.ids.uuid().to_string() };
        let mut receipt = Receipt {
            id: id.clone(),
            target: asked.target.clone(),
            mode: asked.mode,
            note: asked.note.clone(),
            tombstones: 0,
            gone: Vec::new(),
            shared: 0,
            exchanges: Vec::new(),
            at: now,
            by: caller.name().to_owned(),
        };
        let mut gone: BTreeMap<Kind, Amount> = BTreeMap::new();
        let erased = Erased { receipt: id, at: now, by: receipt.by.clone() };
        if !asked.dry_run {
            self.accept_work()?;
        }
        let collected = self.take_out(namespace, &resolved, &with, erased, &asked, &mut receipt, &mut gone).await?;
        receipt.shared = collected.shared;
        for (kind, amount) in collected.removed {
            let entry = gone.entry(kind).or_default();
            (entry.count, entry.bytes) = (entry.count + amount.count, entry.bytes + amount.bytes);
        }
        let of =
            |(kind, amount): (&Kind, &Amount)| Gone { letter: kind.letter(), count: amount.count, bytes: amount.bytes };
        receipt.gone = gone.iter().filter(|(_, amount)| amount.count > 0).map(of).collect();
        let tombstones = if asked.dry_run {
            Vec::new()
        } else {
            let mut changes = Changes::new();
            changes.put_receipt(&receipt);
            self.remember(&mut changes, repeat, "erase", &receipt.id);
            self.apply(namespace, &changes).await?;
            let (receipt_id, tombstones) = (receipt.id.as_str(), receipt.tombstones);
            tracing::info!(
                target: AUDIT,
                caller = caller.name(),
                namespace = namespace.as_str(),
                receipt_id,
                tombstones,
                shared = receipt.shared,
                "erase.done"
            );
            self.left(namespace, &receipt).await?
        };
        Ok(Erasure { receipt, tombstones, replayed: false })
    }

    /// What an erasure did.
    ///
    /// # Errors
    /// When there is no such receipt.
    pub async fn erase_receipt(&self, caller: &Caller, id: &str) -> Result<Erasure, Fault> {
        self.erasure(&caller.namespace, id).await
    }

    async fn erasure(&self, namespace: &Namespace, id: &str) -> Result<Erasure, Fault> {
        let receipt = self.ledger.receipt(namespace, id).await.map_err(store_fault)?;
        let receipt = receipt.ok_or_else(|| Fault::not_found(Reason::ResourceNotFound, "erase receipt", id))?;
        let tombstones = self.left(namespace, &receipt).await?;
        Ok(Erasure { receipt, tombstones, replayed: false })
    }

    async fn left(&self, namespace: &Namespace, receipt: &Receipt) -> Result<Vec<Exchange>, Fault> {
        let mut left = Vec::with_capacity(receipt.exchanges.len());
        for id in &receipt.exchanges {
            left.extend(self.ledger.exchange(namespace, *id).await.map_err(store_fault)?.map(|(exchange, _)| exchange));
        }
        Ok(left)
    }

    /// Refuses what others share, or adds them, as the mode says.
    async fn check_shared(&self, namespace: &Namespace, asked: &Asked, resolved: &mut Resolved) -> Result<(), Fault> {
        self.ledger.complete_indexes(namespace).await.map_err(store_fault)?;
        let tops: Vec<Place> = resolved.exchanges.values().copied().collect();
        if asked.mode == Mode::Cascade {
            for place in tops {
                self.below(namespace, place, u64::MAX, &mut resolved.exchanges).await?;
            }
            return Ok(());
        }
        let mut shared_by = Vec::new();
        for place in tops {
            for (id, child) in self.children_at(namespace, place).await? {
                if !resolved.exchanges.contains_key(&id) {
                    let answers = asked.mode == Mode::Refuse || self.answers(namespace, place, child).await?;
                    shared_by.extend(answers.then(|| id.to_string()));
                }
            }
            if asked.mode == Mode::Refuse
                && let Some(target) = &resolved.thread
                && let Some(exchange) = self.ledger.exchange_at(namespace, place).await.map_err(store_fault)?
            {
                let heads = self.heads_at(namespace, &exchange).await?;
                shared_by
                    .extend(heads.iter().filter(|thread| thread.id != *target).map(|thread| thread.id.to_string()));
            }
            if shared_by.len() > NAMED {
                break;
            }
        }
        if shared_by.is_empty() {
            return Ok(());
        }
        shared_by.truncate(NAMED);
        let by = join(&shared_by);
        let message = if asked.mode == Mode::Tombstone {
            format!(
                "what follows has the results of tool calls that are to be erased ({by}): erase it too, with `cascade`"
            )
        } else {
            format!(
                "others share what is to be erased ({by}): erase them too with `cascade`, or leave their histories a gap with `tombstone`"
            )
        };
        Err(Fault::new(Reason::EraseShared, message).with("shared_by", by))
    }

    /// Whether an exchange has the results of the calls of the one before it: without the calls, no provider takes them.
    async fn answers(&self, namespace: &Namespace, before: Place, after: Place) -> Result<bool, Fault> {
        let read = async |place| self.ledger.exchange_at(namespace, place).await.map_err(store_fault);
        let (before, after) = (read(before).await?, read(after).await?);
        Ok(before.is_some_and(|before| before.is_pending()) && after.is_some_and(|after| after.erased.is_none()))
    }

    /// What is at work is not erased under its hands.
    async fn check_at_work(&self, namespace: &Namespace, resolved: &Resolved) -> Result<(), Fault> {
        let mut runs: HashSet<RunId> = resolved.bare_run.iter().map(|run| run.id.clone()).collect();
        for place in resolved.exchanges.values() {
            let exchange = self.ledger.exchange_at(namespace, *place).await.map_err(store_fault)?;
            runs.extend(exchange.and_then(|exchange| exchange.run_id));
        }
        let busy = runs.into_iter().find(|run| self.flights.find(namespace, run).is_some());
        let busy =
            busy.or_else(|| resolved.thread.as_ref().and_then(|thread| self.threads.busy_with(namespace, thread)));
        match busy {
            None => Ok(()),
            Some(run) => {
                let message = format!("run `{run}` is at work: wait for it, or cancel it, and erase then");
                Err(Fault::new(Reason::RunNotCompleted, message).with("run_id", run))
            }
        }
    }

    /// Coordinations and prepared executions that go with exchanges, and runs that forget their documents.
    async fn with(&self, namespace: &Namespace, exchanges: &BTreeMap<ExchangeId, Place>) -> Result<With, Fault> {
        let mut with = With::default();
        let mut after: Option<CoordinationId> = None;
        loop {
            let page = self.ledger.coordinations(namespace, after.as_ref(), BATCH).await.map_err(store_fault)?;
            for coordination in &page {
                if !self.tells_of(namespace, coordination, exchanges).await? {
                    continue;
                }
                if !matches!(coordination.state, State::Ended(_)) {
                    let message = format!(
                        "coordination `{}` goes on from what is to be erased: let it end, or cancel it, and erase then",
                        coordination.id
                    );
                    return Err(Fault::new(Reason::EraseShared, message).with("shared_by", &coordination.id));
                }
                with.coordinations.push(coordination.id.clone());
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

    #[expect(clippy::too_many_arguments, reason = "one step of an erasure, apart only for its length")]
    async fn take_out(
        &self,
        namespace: &Namespace,
        resolved: &Resolved,
        with: &With,
        erased: Erased,
        &Asked { dry_run, takes_drafts, .. }: &Asked,
        receipt: &mut Receipt,
        gone: &mut BTreeMap<Kind, Amount>,
    ) -> Result<Collected, Fault> {
        let mut candidates = HashSet::new();
        for runs in with.runs.chunks(BATCH) {
            self.forget_documents(namespace, runs, dry_run, &mut candidates).await?;
        }
        let mut without = with.entries(&resolved.exchanges);
        for (id, place) in &resolved.exchanges {
            let size = self.ledger.named_content(namespace, *place, &mut candidates).await.map_err(store_fault)?;
            let taken = if dry_run {
                size
            } else {
                self.ledger.erase(namespace, *place, &erased).await.map_err(store_fault)?
            };
            let Some(bytes) = taken else { continue };
            let amount = gone.entry(Kind::Exchange).or_default();
            (amount.count, amount.bytes) = (amount.count + 1, amount.bytes + bytes);
            receipt.tombstones += 1;
            if receipt.exchanges.len() < MAX_TOMBSTONES {
                receipt.exchanges.push(*id);
            }
        }
        for id in &with.coordinations {
            let found =
                self.ledger.remove_coordination(namespace, id, dry_run, &mut candidates).await.map_err(store_fault)?;
            for (kind, bytes) in found {
                gone.entry(kind).or_default().add(bytes);
            }
        }
        gone.entry(Kind::Prepared).or_default().count += with.prepared.len() as u64;
        let mut changes = Changes::new();
        for id in &with.prepared {
            changes.delete_prepared(id);
        }
        if let Some(run) = &resolved.bare_run {
            self.ledger.add_version(namespace, run.workspace, &mut candidates).await.map_err(store_fault)?;
            without.insert(Entry::Run(run.id.clone()));
            changes.delete_run(&run.id);
            gone.entry(Kind::Run).or_default().count += 1;
        }
        if let Some(id) = &resolved.thread
            && let Some((_, thread)) = self.ledger.thread(namespace, id).await.map_err(store_fault)?
            && let Some((_, head)) = self.ledger.head(namespace, id).await.map_err(store_fault)?
        {
            let records = self.ledger.documents_of(namespace, id, &mut candidates).await.map_err(store_fault)?;
            for (entry, bytes) in &records {
                gone.entry(entry.kind()).or_default().add(*bytes);
            }
            let records: Vec<Entry> = records.into_iter().map(|(entry, _)| entry).collect();
            without.extend(records.iter().cloned());
            changes.delete_thread(id, &thread, &head);
            changes.delete_records(records);
            gone.entry(Kind::Thread).or_default().count += 1;
        }
        if !dry_run {
            self.apply(namespace, &changes).await?;
            if let Some(run) = &resolved.bare_run {
                self.remembered.forget(namespace, &run.id);
            }
        }
        if candidates.is_empty() {
            return Ok(Collected::default());
        }
        // In a dry run nothing was erased, so it is looked past.
        let without = if dry_run { without } else { HashSet::new() };
        let among = Among { candidates: Some(&candidates), without: &without, takes_drafts };
        collect(&self.ledger, namespace, &among, dry_run, &mut |_| true).await.map_err(store_fault)
    }

    /// Runs forget the documents that they started from; one that waits for the results of calls that are to be erased has nothing to go on from.
    async fn forget_documents(
        &self,
        namespace: &Namespace,
        runs: &[RunId],
        dry_run: bool,
        content: &mut HashSet<Entry>,
    ) -> Result<(), Fault> {
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
        if dry_run {
            return Ok(());
        }
        match self.commit(namespace, &changes).await.map_err(store_fault)? {
            Ok(()) => Ok(()),
            Err(lost) => Err(Fault::new(Reason::HeadMoved, format!("{lost}: repeat the call")).retry_after(100)),
        }
    }
}
