//! Finishing erasures that broke off, when the server was killed or as they came with an import: at the start, before anything is served, by whoever
//! erases or collects next, and at the end of an import. It must not know what an erasure takes.

use std::collections::{BTreeSet, HashSet};

use super::Resolved;
use super::taking::Taking;
use crate::app::footing::Clearing;
use crate::app::transfer::Alone;
use crate::app::{App, store_fault};
use crate::domain::fault::{Fault, Reason};
use crate::domain::graph::Place;
use crate::domain::id::Namespace;
use crate::domain::retention::{Erasing, Mode, Target};
use crate::store::collect::{Among, collect};

/// A namespace where erasures broke off. While it is held nothing is imported or collected there, and nothing begins that goes on from what they take.
pub struct Unfinished {
    namespace: Namespace,
    clearing: Clearing,
    _alone: Alone,
}

impl App {
    /// Erasures that broke off when the server was killed, of all namespaces: before anything is served, so that nobody goes on from what they take.
    /// What cannot be read is told in the log.
    pub async fn unfinished_erasures(&self) -> Vec<Unfinished> {
        let namespaces = match self.ledger.store().namespaces().await {
            Ok(namespaces) => namespaces,
            Err(error) => {
                tracing::error!(error = %error, "erase.unfinished");
                return Vec::new();
            }
        };
        let mut all = Vec::new();
        for namespace in namespaces {
            match self.unfinished_in(&namespace).await {
                Ok(unfinished) => all.extend(unfinished),
                Err(fault) => tell(&namespace, &fault),
            }
        }
        all
    }

    async fn unfinished_in(&self, namespace: &Namespace) -> Result<Option<Unfinished>, Fault> {
        let erasing = self.ledger.all_erasing(namespace).await.map_err(store_fault)?;
        if erasing.is_empty() {
            return Ok(None);
        }
        let alone = self.transfers.apart.alone(namespace).await;
        let mut clearing = self.footings.clearing(namespace);
        for each in &erasing {
            self.resolve_again(namespace, each, &mut clearing).await?;
        }
        Ok(Some(Unfinished { namespace: namespace.clone(), clearing, _alone: alone }))
    }

    /// Finishes erasures that broke off. What cannot be finished is told in the log, and tried again by the next erasure or collection.
    pub async fn finish_all_erasures(&self, all: Vec<Unfinished>) {
        for mut unfinished in all {
            let finished = self.finish_erasures(&unfinished.namespace, &mut unfinished.clearing).await;
            if let Err(fault) = finished
                && fault.reason != Reason::ShuttingDown
            {
                tell(&unfinished.namespace, &fault);
            }
        }
    }

    /// Finishes erasures that came with an import, and removes what it brought of what was erased here. While another import is at work the next
    /// collection does it.
    ///
    /// # Errors
    /// When the store fails.
    pub(in crate::app) async fn tidy(&self, namespaces: &BTreeSet<Namespace>) -> Result<(), Fault> {
        for namespace in namespaces {
            let Some(_alone) = self.transfers.apart.try_alone(namespace) else { continue };
            self.finish_erasures(namespace, &mut self.footings.clearing(namespace)).await?;
            let nothing = HashSet::new();
            let all = Among { candidates: None, without: &nothing, takes_drafts: true };
            collect(&self.ledger, namespace, &all, false, &mut |_| true).await.map_err(store_fault)?;
        }
        Ok(())
    }

    /// Finishes erasures of a namespace that broke off, while neither an import nor a collection begins. One whose exchanges a run goes on from is left
    /// to the next who comes.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn finish_erasures(&self, namespace: &Namespace, clearing: &mut Clearing) -> Result<(), Fault> {
        for erasing in self.ledger.all_erasing(namespace).await.map_err(store_fault)? {
            let Some(resolved) = self.resolve_again(namespace, &erasing, clearing).await? else { continue };
            let with = self.with(namespace, &resolved.exchanges, true).await?;
            let mut taking = Taking::again(erasing, resolved, with);
            let changes = taking.prepared();
            self.apply(namespace, &changes).await?;
            self.take_out(namespace, taking).await?;
        }
        Ok(())
    }

    /// What an erasure that broke off takes, with nobody who goes on from any of it; nothing where a run does. It may be erased, for that was looked at
    /// when it began.
    async fn resolve_again(
        &self,
        namespace: &Namespace,
        erasing: &Erasing,
        clearing: &mut Clearing,
    ) -> Result<Option<Resolved>, Fault> {
        loop {
            let resolved = self.taken_by(namespace, erasing).await?;
            match clearing.clear(resolved.exchanges.keys().copied()).await {
                // What was made before they were cleared may follow from them.
                Ok(true) => {}
                Ok(false) => return Ok(Some(resolved)),
                Err(run) => {
                    let receipt_id = &erasing.receipt.id;
                    tracing::info!(namespace = namespace.as_str(), receipt_id, run_id = %run, "erase.waits");
                    return Ok(None);
                }
            }
        }
    }

    async fn taken_by(&self, namespace: &Namespace, erasing: &Erasing) -> Result<Resolved, Fault> {
        let resolved = match (&erasing.receipt.target, erasing.end) {
            (Target::Thread(_), Some(end)) => self.path_to(namespace, end).await,
            (Target::Run(run), Some(end)) => self.stretch_of(namespace, run, end).await,
            (Target::Thread(_) | Target::Run(_), None) => Ok(Resolved::default()),
            (target, _) => self.retained(namespace, target).await,
        };
        let mut resolved = match resolved {
            // An import may bring the record without what it is of.
            Err(fault) if fault.reason == Reason::ExchangeNotFound => Resolved::default(),
            resolved => resolved?,
        };
        if erasing.receipt.mode == Mode::Cascade {
            let tops: Vec<Place> = resolved.exchanges.values().copied().collect();
            for place in tops {
                self.below(namespace, place, u64::MAX, &mut resolved.exchanges).await?;
            }
        }
        Ok(resolved)
    }
}

fn tell(namespace: &Namespace, fault: &Fault) {
    tracing::error!(namespace = namespace.as_str(), error = %fault, "erase.unfinished");
}
