//! Verifying that exchanges, runs and heads say the same of a turn. It must not know branches or hashes.

use super::Check;
use super::look::Look;
use crate::domain::exchange::Exchange;
use crate::domain::graph::Place;
use crate::domain::id::{ExchangeId, RunId};
use crate::domain::run::Run;
use crate::domain::thread::Head;
use crate::store::Error;
use crate::store::layout::Entry;

/// Which exchange of its run an exchange is.
#[derive(Clone)]
pub(super) struct InRun {
    run: Option<RunId>,
    /// From 1; absent when those before it were not looked at.
    position: Option<u32>,
}

impl InRun {
    /// Of an exchange after another one; of one whose predecessor was not followed when `before` is absent.
    pub(super) fn after(before: Option<&Self>, exchange: &Exchange) -> Self {
        let position = match before {
            Some(before) if before.run == exchange.run_id => {
                before.position.and_then(|position| position.checked_add(1))
            }
            Some(_) => Some(1),
            None if exchange.parent.is_none() => Some(1),
            None => None,
        };
        Self { run: exchange.run_id.clone(), position }
    }
}

impl Check<'_> {
    /// An exchange was stored in one write with what its run says of it.
    pub(super) async fn made_by(
        &self,
        problems: &mut Vec<String>,
        exchange: &Exchange,
        place: &InRun,
    ) -> Result<(), Error> {
        let Some(id) = &exchange.run_id else { return Ok(()) };
        match self.look::<Run>(&Entry::Run(id.clone())).await? {
            Look::Found(run) => {
                if run.exchange.is_none() {
                    problems.push(format!("its run {id} does not have it"));
                } else if let Some(position) = place.position
                    && run.exchange == Some(exchange.id)
                    && run.exchange_count != position
                {
                    let said = run.exchange_count;
                    problems
                        .push(format!("its run {id} says that it has {said} exchanges, and it is number {position}"));
                }
            }
            Look::Missing => problems.push(format!("its run {id} is not stored")),
            Look::Broken => {}
        }
        Ok(())
    }

    /// A head repeats what its exchange says, and names a run that was claimed with it.
    pub(super) async fn points_to(&self, problems: &mut Vec<String>, head: &Head) -> Result<(), Error> {
        if let Some(run) = &head.active_run
            && !self.is_there(&Entry::Run(run.clone())).await?
        {
            problems.push(format!("its active run {run} is not stored"));
        }
        let Some(id) = head.exchange else { return Ok(()) };
        let Some(exchange) = self.exchange_of(id).await? else { return Ok(()) };
        // A thread can begin where tools are waited for, which is no turn yet; what was erased does not say any more whether it called some.
        let before = if exchange.erased.is_some() { exchange.turn } else { exchange.next_turn() }.saturating_sub(1);
        if ![exchange.turn, before].contains(&head.turn_count) {
            let (said, turn) = (head.turn_count, exchange.turn);
            problems.push(format!("it counts {said} turns, and the exchange that it points to is of turn {turn}"));
        }
        if head.run_id != exchange.run_id {
            problems.push("it names another run than the exchange that it points to".to_owned());
        }
        Ok(())
    }

    /// An exchange by its id, if it can be read.
    async fn exchange_of(&self, id: ExchangeId) -> Result<Option<Exchange>, Error> {
        let Look::Found(place) = self.look::<Place>(&Entry::Id(id)).await? else { return Ok(None) };
        Ok(match self.look_exchange(place).await? {
            Look::Found(exchange) => Some(exchange),
            Look::Missing | Look::Broken => None,
        })
    }
}
