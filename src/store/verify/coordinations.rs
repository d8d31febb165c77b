//! Verifying coordinations and their journals. It must not know which transitions there are.

use bytes::Bytes;

use super::Check;
use super::look::{Look, decode};
use crate::domain::coordination::{Coordination, Frame, PendingId, State};
use crate::domain::id::{CoordinationId, ExchangeId, Hash, RunId};
use crate::store::Error;
use crate::store::layout::Entry;
use crate::store::record::JournalPage;

/// What a coordination or a frame names. Threads are not among it: they may be deleted.
#[derive(Default)]
pub(in crate::store) struct Named {
    pub(in crate::store) exchanges: Vec<ExchangeId>,
    pub(in crate::store) runs: Vec<RunId>,
    pub(in crate::store) results: Vec<Hash>,
    pub(in crate::store) plans: Vec<Hash>,
}

impl Named {
    pub(in crate::store) fn by(coordination: &Coordination) -> Self {
        let mut named = Self {
            exchanges: coordination.named_exchanges().into_iter().collect(),
            runs: coordination.state.run_id().into_iter().chain(&coordination.interrupted).cloned().collect(),
            ..Self::default()
        };
        match &coordination.state {
            State::AwaitingTools(batch) => named.results.extend(batch.results.values()),
            State::AwaitingGeneration(generation) => named.plans.push(generation.plan),
            State::TurnRunning(_) | State::AwaitingDecision(_) | State::Ended(_) => {}
        }
        named
    }

    pub(in crate::store) fn add(&mut self, frame: &Frame) {
        match frame {
            Frame::DecisionNeeded { exchange, interrupted, .. } => {
                self.exchanges.push(*exchange);
                self.runs.extend(interrupted.clone());
            }
            Frame::ToolsNeeded { run_id, exchange, .. } => {
                self.exchanges.push(*exchange);
                self.runs.push(run_id.clone());
            }
            Frame::GenerationNeeded { run_id, plan, .. } => {
                self.runs.push(run_id.clone());
                self.plans.push(*plan);
            }
            Frame::Accepted { run_id, batch, .. } => {
                self.runs.extend(run_id.clone());
                self.results.extend(batch.iter().flat_map(|batch| &batch.results).map(|(_, hash)| *hash));
            }
            Frame::RunStarted { run_id } => self.runs.push(run_id.clone()),
            Frame::Ended(end) => self.exchanges.extend(end.undelivered),
            Frame::Started | Frame::Attempt { .. } | Frame::Warning(_) => {}
        }
    }

    fn by_page(page: &JournalPage) -> Self {
        let mut named = Self::default();
        page.frames.iter().for_each(|frame| named.add(frame));
        named.exchanges.sort_unstable();
        named.exchanges.dedup();
        named.runs.sort_unstable();
        named.runs.dedup();
        named
    }
}

impl Check<'_> {
    pub(super) async fn coordination(&self, id: &CoordinationId, raw: &Bytes) -> Result<Vec<String>, Error> {
        let coordination: Coordination = match decode(&Entry::Coordination(id.clone()), raw) {
            Ok(coordination) => coordination,
            Err(unreadable) => return Ok(vec![unreadable.to_string()]),
        };
        let mut problems = Vec::new();
        if coordination.id != *id {
            problems.push("it has the id of another coordination".to_owned());
        }
        self.expect_named(&mut problems, Named::by(&coordination)).await?;
        self.told(&mut problems, &coordination).await?;
        Ok(problems)
    }

    /// What was told must be in the journal: the beginning, the end of one that is over, and what asked for
    /// that which one waits for.
    async fn told(&self, problems: &mut Vec<String>, coordination: &Coordination) -> Result<(), Error> {
        if !self.is_journalled(&coordination.id, 1).await? {
            problems.push("the beginning of its journal is missing".to_owned());
        }
        match coordination.state.pending_id().map(PendingId::sequence) {
            None if coordination.state.end().is_none() => {}
            None if self.is_journalled(&coordination.id, coordination.last_sequence).await? => {}
            None => problems.push("the end of its journal is missing".to_owned()),
            Some(None) => problems.push("the id of what it waits for has no number".to_owned()),
            Some(Some(asked)) if self.is_journalled(&coordination.id, asked).await? => {}
            Some(Some(asked)) => problems.push(format!("frame {asked} of its journal, which asked, is missing")),
        }
        Ok(())
    }

    /// Whether a frame is in a journal. A page that is broken is found under its own key.
    async fn is_journalled(&self, id: &CoordinationId, number: u64) -> Result<bool, Error> {
        match self.ledger.journal(self.ns, id, number.saturating_sub(1), 1).await {
            Ok(frames) => Ok(frames.first().is_some_and(|(found, _)| *found == number)),
            Err(Error::Corrupt(_)) => Ok(true),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn journal(&mut self, id: &CoordinationId, first: u64, raw: &Bytes) -> Result<Vec<String>, Error> {
        let before = self.journalled.take().filter(|(before, _)| before == id);
        let page: JournalPage = match decode(&Entry::Journal(id.clone(), first), raw) {
            Ok(page) => page,
            Err(unreadable) => return Ok(vec![unreadable.to_string()]),
        };
        let mut problems = Vec::new();
        if page.first != first {
            problems.push(format!("it says that its first frame is {}", page.first));
        }
        // Numbers may jump: those of frames that were told and not journalled before a stop of the server are not given again.
        if let Some((_, last)) = before
            && page.first <= last
        {
            problems.push(format!("it begins before frame {last}, which the one before it ends with"));
        }
        match self.look::<Coordination>(&Entry::Coordination(id.clone())).await? {
            Look::Found(coordination) if coordination.last_sequence < page.last() => problems.push(format!(
                "it ends with frame {}, and its coordination says that the last one is {}",
                page.last(),
                coordination.last_sequence
            )),
            Look::Found(_) | Look::Broken => {}
            Look::Missing => problems.push("its coordination is missing".to_owned()),
        }
        self.journalled = Some((id.clone(), page.last()));
        self.expect_named(&mut problems, Named::by_page(&page)).await?;
        Ok(problems)
    }

    async fn expect_named(&self, problems: &mut Vec<String>, named: Named) -> Result<(), Error> {
        for id in named.exchanges {
            self.expect_exchange(problems, "an exchange that it names,", Some(id)).await?;
        }
        for id in named.runs {
            if !self.is_there(&Entry::Run(id.clone())).await? {
                problems.push(format!("a run that it names, `{id}`, is not stored"));
            }
        }
        for hash in named.results {
            self.expect_body(problems, "tool result", hash, self.ledger.message(self.ns, hash).await.map(drop)).await?;
        }
        for hash in named.plans {
            self.expect_body(problems, "plan", hash, self.ledger.plan(self.ns, hash).await.map(drop)).await?;
        }
        Ok(())
    }

    /// Adds a problem when content that is named is not stored, or not whole.
    async fn expect_body(
        &self,
        problems: &mut Vec<String>,
        what: &str,
        hash: Hash,
        read: Result<(), Error>,
    ) -> Result<(), Error> {
        match read {
            Ok(()) => {}
            Err(Error::Corrupt(_)) if self.is_there(&Entry::Part(hash)).await? => {
                problems.push(format!("a {what} that it names, {hash}, cannot be put together"));
            }
            Err(Error::Corrupt(_)) => problems.push(format!("a {what} that it names, {hash}, is not stored")),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
