//! A run that is opened again after a step of it failed: it waits for results as before that step. It must not execute anything.

use super::{changed_meanwhile, waits_for};
use crate::app::busy::{Occupied, thread_busy};
use crate::app::turn::Outcome;
use crate::app::{App, store_fault};
use crate::domain::fault::Fault;
use crate::domain::id::Namespace;
use crate::domain::run::{Run, State};
use crate::domain::thread::Head;
use crate::store::ledger::{Changes, Token};

impl App {
    /// A run that failed after some of its exchanges goes on from the last: it waits for results again.
    pub(super) async fn reopen(&self, namespace: &Namespace, run: Run, token: &Token) -> Result<Outcome, Fault> {
        let _footing = match run.exchange {
            Some(last) => {
                // It may have been erased, and then the run has nothing to go on from.
                self.parent(namespace, last).await?;
                Some(self.stand_on(namespace, last, None).await?)
            }
            None => None,
        };
        let run = run.moved_to(State::PendingTools, self.clock.now());
        let run = Run {
            attempt: run.attempt.saturating_add(1),
            failure: None,
            // The step that failed brought nothing, so the results may come anew.
            steps: run.steps.iter().filter(|step| step.exchange.is_some()).cloned().collect(),
            ..run
        };
        let mut changes = Changes::new();
        changes.replace_run(&run, token);
        let _occupied = self.take_thread_back(namespace, &run, &mut changes).await?;
        match self.commit(namespace, &changes).await.map_err(store_fault)? {
            Ok(()) => Ok(Outcome { replayed: false, ..self.stored(namespace, run, None).await? }),
            Err(_) => Err(changed_meanwhile()),
        }
    }

    /// A run that was cancelled has let its thread go; opened again, it has it back where nothing came in between.
    async fn take_thread_back(
        &self,
        namespace: &Namespace,
        run: &Run,
        changes: &mut Changes,
    ) -> Result<Option<Occupied>, Fault> {
        let Some(id) = &run.thread_id else {
            return Ok(None);
        };
        let Some((head, token)) = self.ledger.head(namespace, id).await.map_err(store_fault)? else {
            return Ok(None);
        };
        if !waits_for(&head, run) {
            return Ok(None);
        }
        // Whoever has it now is about to move it, so there is nothing to wait for.
        let occupied = self.threads.occupy(namespace, id, &run.id).map_err(|busy| thread_busy(id, &busy))?;
        let sequence = head.sequence.saturating_add(1);
        let head = Head { active_run: Some(run.id.clone()), sequence, updated_at: self.clock.now(), ..head };
        changes.replace_head(id, &head, &token);
        Ok(Some(occupied))
    }
}
