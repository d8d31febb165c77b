//! Erasing: whether something may be erased, what goes with it, and what is told of it. It must not know in which order what is taken out, or what
//! is left of an exchange.

use std::collections::HashSet;

use super::Resolved;
use super::taking::Taking;
use crate::app::footing::{Clearing, at_work};
use crate::app::thread::Repeatable;
use crate::app::{App, Caller, join, store_fault};
use crate::domain::exchange::Exchange;
use crate::domain::fault::{Fault, Reason};
use crate::domain::graph::Place;
use crate::domain::id::{ExchangeId, Namespace, RunId};
use crate::domain::retention::{Erasing, Mode, Receipt, Target};

/// Those who share something that are named in an error.
const NAMED: usize = 16;

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
    /// It is not done yet: the receipt counts nothing.
    pub at_work: bool,
}

impl App {
    /// Erases content for good.
    ///
    /// # Errors
    /// When there is no such thing, others share it and that is to be refused, or it, an import, a collection or another erasure is at work.
    pub async fn erase(&self, caller: &Caller, asked: Asked, repeat: &Repeatable) -> Result<Erasure, Fault> {
        let (caller, repeat) = (caller.clone(), repeat.clone());
        // Half of one would wait for the next start.
        self.to_its_end(|app| async move { app.erase_now(&caller, asked, &repeat).await }).await
    }

    async fn erase_now(&self, caller: &Caller, asked: Asked, repeat: &Repeatable) -> Result<Erasure, Fault> {
        // What an import stored and did not name yet would look like nobody's.
        let Some(_alone) = self.transfers.apart.try_alone(&caller.namespace) else {
            let message =
                "an import, a collection or another erasure is at work in this namespace: erase when it is done";
            return Err(Fault::new(Reason::LimitExceeded, message)
                .with("limit", "erasures")
                .with("max", 1)
                .with("value", 2)
                .retry_after(1_000));
        };
        if !asked.dry_run {
            // One that broke off may be this one.
            self.finish_erasures(&caller.namespace, &mut self.footings.clearing(&caller.namespace)).await?;
        }
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
        let mut clearing = self.footings.clearing(namespace);
        let resolved = self.settle(namespace, &asked, &mut clearing).await?;
        self.check_at_work(namespace, &resolved).await?;
        let with = self.with(namespace, &resolved.exchanges, false).await?;
        let receipt = Receipt {
            id: if asked.dry_run { String::new() } else { self.ids.uuid().to_string() },
            target: asked.target,
            mode: asked.mode,
            note: asked.note,
            tombstones: 0,
            gone: Vec::new(),
            shared: 0,
            exchanges: Vec::new(),
            at: self.clock.now(),
            made_at: resolved.made_at,
            by: caller.name().to_owned(),
        };
        if !asked.dry_run {
            self.accept_work()?;
        }
        let erasing = Erasing { receipt, takes_drafts: asked.takes_drafts, end: resolved.end };
        let receipt = self.take(namespace, Taking::new(erasing, resolved, with, asked.dry_run), repeat).await?;
        let tombstones = if asked.dry_run { Vec::new() } else { self.left(namespace, &receipt).await? };
        Ok(Erasure { receipt, tombstones, replayed: false, at_work: false })
    }

    /// What is to be erased, with nobody who goes on from any of it, and nobody who begins to.
    async fn settle(&self, namespace: &Namespace, asked: &Asked, clearing: &mut Clearing) -> Result<Resolved, Fault> {
        loop {
            let mut resolved = self.retained(namespace, &asked.target).await?;
            self.check_shared(namespace, asked, &mut resolved).await?;
            let exchanges = resolved.exchanges.keys().copied();
            let cleared = match asked.dry_run {
                true => self.footings.run_on(namespace, exchanges).map_or(Ok(false), Err),
                false => clearing.clear(exchanges).await,
            };
            // What was made before they were cleared may follow from them, or share them.
            if !cleared.map_err(at_work)? {
                return Ok(resolved);
            }
        }
    }

    /// What an erasure did.
    ///
    /// # Errors
    /// When there is no such receipt.
    pub async fn erase_receipt(&self, caller: &Caller, id: &str) -> Result<Erasure, Fault> {
        self.erasure(&caller.namespace, id).await
    }

    async fn erasure(&self, namespace: &Namespace, id: &str) -> Result<Erasure, Fault> {
        // One that is done meanwhile has its receipt by then.
        let erasing = self.ledger.erasing(namespace, id).await.map_err(store_fault)?;
        let (receipt, at_work) = match self.ledger.receipt(namespace, id).await.map_err(store_fault)? {
            Some(receipt) => (Some(receipt), false),
            None => (erasing.map(|erasing| erasing.receipt), true),
        };
        let receipt = receipt.ok_or_else(|| Fault::not_found(Reason::ResourceNotFound, "erase receipt", id))?;
        let tombstones = self.left(namespace, &receipt).await?;
        Ok(Erasure { receipt, tombstones, replayed: false, at_work })
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
        let (mut shared_by, mut follows) = (Vec::new(), None);
        for place in tops {
            for (id, child) in self.children_at(namespace, place).await? {
                if !resolved.exchanges.contains_key(&id) {
                    follows.get_or_insert(id);
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
            return match follows {
                Some(follows) => self.check_results(namespace, resolved, follows).await,
                None => Ok(()),
            };
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

    /// Refuses what has the results of calls that stay, where something follows that stays too: without the results, no provider takes the calls.
    async fn check_results(
        &self,
        namespace: &Namespace,
        resolved: &Resolved,
        follows: ExchangeId,
    ) -> Result<(), Fault> {
        for place in resolved.exchanges.values() {
            let exchange = self.ledger.exchange_at(namespace, *place).await.map_err(store_fault)?;
            let Some(before) = exchange.and_then(|exchange| exchange.parent) else { continue };
            if resolved.exchanges.contains_key(&before) {
                continue;
            }
            let before = self.ledger.exchange(namespace, before).await.map_err(store_fault)?;
            let Some((before, _)) = before.filter(|(before, _)| before.is_pending()) else { continue };
            let message = format!(
                "exchange {} calls tools whose results are to be erased, and {follows} goes on after them: erase the run that has both, or what follows too, with `cascade`",
                before.id
            );
            return Err(Fault::new(Reason::EraseShared, message).with("shared_by", follows));
        }
        Ok(())
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
        busy.map_or(Ok(()), |run| Err(at_work(run)))
    }
}
