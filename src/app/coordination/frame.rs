//! Frames with the bodies that they name: what a stream is told, and what is pending as anybody may read it. It must not change anything.

use crate::domain::coordination::{Batch, Coordination, End, Frame, PendingId, State};
use crate::domain::fault::Fault;
use crate::domain::id::{ExchangeId, RunId};
use crate::domain::run::Run;

use super::super::turn::Detailed;
use super::super::{App, store_fault};
use super::Whole;
use super::answer::results_in;
use super::live::{Bodies, Live, Recent};
use super::told::{Accepted, DecisionNeeded, Ended, Pending, Told, ToolsNeeded, View, What};

/// How many pages of the journal are read at once.
const PAGE: usize = 64;

impl App {
    /// A coordination as callers see it.
    pub(super) fn view(&self, live: &Live) -> Result<View, Fault> {
        let coordination = Coordination::clone(&*self.there(live)?);
        Ok(View { coordination, attached: live.is_attached(), ephemeral: live.ephemeral })
    }

    /// A coordination with what it waits for.
    pub(super) async fn whole(&self, live: &Live) -> Result<Whole, Fault> {
        let view = self.view(live)?;
        let now = &view.coordination;
        let frame = match now.state.pending_id().and_then(PendingId::sequence) {
            Some(sequence) => self.journal_of(live, sequence.saturating_sub(1), 1).await?.into_iter().next(),
            None => None,
        };
        let pending = match frame {
            Some((sequence, frame)) => self.told(live, sequence, Recent { frame, bodies: None }).await?,
            None => None,
        };
        let pending = match pending.map(|told| told.what) {
            Some(What::DecisionNeeded(needed)) => Some(Pending::Decision(needed)),
            Some(What::ToolsNeeded(needed)) => Some(Pending::Tools(needed)),
            Some(What::GenerationNeeded(needed)) => Some(Pending::Generation(needed)),
            _ => None,
        };
        let ended = match now.state.end() {
            Some(end) => Some(self.end(live, end).await?),
            None => None,
        };
        Ok(Whole { view, pending, ended })
    }

    /// Frames after a number, from those at hand or the journal.
    pub(super) async fn journal_of(&self, live: &Live, after: u64, limit: usize) -> Result<Vec<(u64, Frame)>, Fault> {
        if live.ephemeral {
            return Ok(Vec::new());
        }
        self.ledger.journal(&live.namespace, &live.id, after, limit).await.map_err(store_fault)
    }

    /// The frames of the journal that follow a number, a page of them.
    pub(super) async fn journal_page(&self, live: &Live, after: u64) -> Result<Vec<(u64, Frame)>, Fault> {
        self.journal_of(live, after, PAGE).await
    }

    /// A frame as a stream is told it; absent for the one that began the coordination, which each stream is told in its own way.
    pub(super) async fn told(&self, live: &Live, sequence: u64, recent: Recent) -> Result<Option<Told>, Fault> {
        let Recent { frame, bodies } = recent;
        let now = self.there(live)?;
        let bodies = bodies.as_deref();
        let what = match frame {
            Frame::Started => return Ok(None),
            Frame::DecisionNeeded { id, exchange, starting, turns_started, thread, interrupted, expires_at } => {
                let Bodies { exchange, run } = self.bodies(live, exchange, bodies).await?;
                What::DecisionNeeded(Box::new(DecisionNeeded {
                    id,
                    exchange,
                    starting,
                    run,
                    turns_started,
                    turns_remaining: now.terms.additional_turns.saturating_sub(turns_started),
                    thread,
                    interrupted,
                    expires_at,
                }))
            }
            Frame::ToolsNeeded { id, run_id, exchange, round } => {
                let Bodies { exchange, .. } = self.bodies(live, exchange, bodies).await?;
                What::ToolsNeeded(Box::new(self.tools_needed(live, &now, id, run_id, exchange, round).await?))
            }
            Frame::GenerationNeeded { id, run_id, number, kind, plan, .. } => What::GenerationNeeded(Box::new(
                self.generation_needed(live, &now, (id, run_id), (number, kind), plan).await?,
            )),
            Frame::Accepted { answered, run_id, turns_started, batch } => {
                let batch = match batch {
                    Some(progress) => Some(self.progress(live, progress).await?),
                    None => None,
                };
                let turns_remaining = now.terms.additional_turns.saturating_sub(turns_started);
                let id = answered.id;
                What::Accepted(Accepted { id, replayed: false, run_id, turns_started, turns_remaining, batch })
            }
            Frame::RunStarted { run_id } => What::RunStarted(run_id),
            Frame::Attempt { number, kind, backend_id, model } => What::Attempt { number, kind, backend_id, model },
            Frame::Warning(warning) => What::Warning(warning),
            Frame::Ended(end) => What::Ended(Box::new(self.end(live, &end).await?)),
        };
        Ok(Some(Told { sequence, what }))
    }

    async fn tools_needed(
        &self,
        live: &Live,
        now: &Coordination,
        id: PendingId,
        run_id: RunId,
        exchange: Detailed,
        round: u32,
    ) -> Result<ToolsNeeded, Fault> {
        let batch = match &now.state {
            State::AwaitingTools(batch) if batch.id == id => Some(batch),
            _ => None,
        };
        let mut results = Vec::new();
        for hash in batch.iter().flat_map(|batch| batch.results.values()) {
            results.extend(results_in(&self.kept_result(live, Some(hash)).await?).cloned());
        }
        let answered =
            |call: &crate::domain::id::CallId| batch.is_some_and(|batch: &Batch| batch.results.contains_key(call));
        let calls = exchange.exchange.assistant.tool_calls().filter(|call| !answered(&call.call_id)).cloned();
        let calls = calls.map(|call| {
            let tool = exchange.offered.find(&call.name).cloned();
            (call, tool)
        });
        let calls = calls.collect();
        let rounds_remaining = now.terms.tool_round_limit.saturating_sub(round);
        Ok(ToolsNeeded { id, run_id, exchange, calls, results, round, rounds_remaining })
    }

    async fn end(&self, live: &Live, end: &End) -> Result<Ended, Fault> {
        let undelivered = match end.undelivered {
            Some(id) => Some(self.bodies(live, id, None).await?.exchange),
            None => None,
        };
        Ok(Ended { outcome: end.outcome.clone(), undelivered })
    }

    /// An exchange and its run, from what is at hand or on record.
    pub(super) async fn bodies(&self, live: &Live, id: ExchangeId, known: Option<&Bodies>) -> Result<Bodies, Fault> {
        if let Some(known) = known {
            return Ok(known.clone());
        }
        if let Some(made) = live.made_one(id) {
            return Ok(made);
        }
        let exchange = self.detailed(&live.namespace, self.parent(&live.namespace, id).await?.exchange).await?;
        let run: Option<Run> = match &exchange.exchange.run_id {
            Some(run_id) => self.ledger.run(&live.namespace, run_id).await.map_err(store_fault)?.map(|(run, _)| run),
            None => None,
        };
        Ok(Bodies { exchange, run })
    }

    /// The calls of a batch, as the exchange has them.
    pub(super) async fn exchange_of_batch(
        &self,
        live: &Live,
        batch: &Batch,
    ) -> Result<crate::domain::message::Message, Fault> {
        Ok(self.bodies(live, batch.exchange, None).await?.exchange.exchange.assistant)
    }
}
