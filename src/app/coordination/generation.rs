//! Generations: calls to a model that the client makes, asked for and taken up again. It must not know how a turn is executed.

use std::sync::Arc;

use crate::domain::coordination::{Answered, Coordination, Generation, PendingId, Planned};
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{Hash, Moment, RunId};
use crate::domain::run::{AttemptKind, Run};
use crate::engine::backend::{Failure, Reply};
use crate::engine::{failure_kind, history_view};

use super::super::execution::{Before, Call, Made, Waiting};
use super::super::view::viewed;
use super::super::{App, store_fault};
use super::answer::accepted;
use super::ask::{Generated, GeneratedAnswer, GenerationFailure};
use super::companion::{Claim, Driven};
use super::live::Live;
use super::told::{Accepted, GenerationNeeded};

impl App {
    /// Takes the client's answer to a generation.
    pub(super) async fn generated_by(
        self: &Arc<Self>,
        live: &Arc<Live>,
        generation: Generation,
        answered: Answered,
        generated: Generated,
    ) -> Result<Accepted, Fault> {
        let (id, run_id) = (answered.id.clone(), generation.turn.run_id.clone());
        let (plan, run) = self.generating(live, &generation.plan, &run_id).await?;
        let call = Call {
            plan,
            number: generation.number,
            kind: generation.kind,
            asked_at: generation.asked_at,
            made: made(generated),
        };
        let driven = Driven { app: Arc::clone(self), live: Arc::clone(live), claim: Claim::Generated(answered) };
        Box::pin(self.take_up(&live.namespace, run, call, Arc::new(driven))).await?;
        Ok(accepted(&id, &*self.there(live)?, Some(run_id)))
    }

    /// What the client was to send, and its run.
    async fn generating(&self, live: &Live, plan: &Hash, run_id: &RunId) -> Result<(Planned, Waiting), Fault> {
        let lost = || Fault::new(Reason::Internal, "what the client was to send is gone; the log has more");
        if live.ephemeral {
            let (plan, run) = live.generating(plan).ok_or_else(lost)?;
            let before = match live.made().last() {
                Some(made) => Some(made.exchange.clone()),
                None => match self.there(live)?.start {
                    Some(id) => Some(self.bodies(live, id, None).await?.exchange),
                    None => None,
                },
            };
            return Ok((plan, Waiting::Fleeting(run, before.map(Box::new))));
        }
        let plan = self.ledger.plan(&live.namespace, *plan).await.map_err(store_fault)?;
        let (run, token) = self.ledger.run(&live.namespace, run_id).await.map_err(store_fault)?.ok_or_else(lost)?;
        Ok((plan, Waiting::Kept(run, token)))
    }

    /// What a client is told that is to call a model.
    pub(super) async fn generation_needed(
        &self,
        live: &Live,
        now: &Coordination,
        (id, run_id): (PendingId, RunId),
        (number, kind): (u32, AttemptKind),
        plan: Hash,
    ) -> Result<GenerationNeeded, Fault> {
        let (plan, waiting) = self.generating(live, &plan, &run_id).await?;
        let (path, parent) = match &waiting {
            Waiting::Kept(run, _) => match before(run) {
                Some(id) => {
                    let parent = self.parent(&live.namespace, id).await?;
                    (self.path_of(&live.namespace, &parent).await?, Some(id))
                }
                None => (Vec::new(), None),
            },
            Waiting::Fleeting(_, parent) => {
                let root = now.start.filter(|id| live.made_one(*id).is_none());
                let made = live.made().into_iter().map(|bodies| (bodies.exchange, bodies.run)).collect();
                let path = self.fleeting_path(&live.namespace, &Before { root, made }).await?;
                (path, parent.as_ref().map(|parent| parent.exchange.id))
            }
        };
        let mut messages = viewed(&path, history_view(&plan.settings))?.messages;
        let mut omitted = 0;
        if now.terms.omit_generation_history {
            omitted = u64::try_from(messages.len()).unwrap_or(u64::MAX);
            messages.clear();
        }
        messages.extend(plan.messages);
        Ok(GenerationNeeded {
            id,
            run_id,
            number,
            kind,
            parent,
            messages,
            omitted_messages: omitted,
            backend_id: plan.backend_id,
            model: plan.model,
            parameters: plan.parameters,
            tools: plan.offer.offered,
            tool_choice: plan.tool_choice,
            contract: plan.contract,
            session_id: plan.session_id,
            settings: plan.settings,
            // The client knows how long its provider may take; the deadline of the coordination holds in any case.
            expires_at: None::<Moment>,
        })
    }
}

/// The exchange before the call that a run waits for.
fn before(run: &Run) -> Option<crate::domain::id::ExchangeId> {
    run.steps.iter().find(|step| step.exchange.is_none()).map(|step| step.calling).or(run.from)
}

fn made(generated: Generated) -> Made {
    match generated {
        Generated::Answer(GeneratedAnswer {
            assistant,
            stop_reason,
            stop_reason_raw,
            usage,
            provider,
            api,
            response_model,
            response_id,
        }) => Made::Answer {
            reply: Reply {
                parts: assistant.parts,
                stop_reason,
                stop_reason_raw,
                usage,
                response_model,
                response_id,
                http_status: None,
                provider_request_id: String::new(),
                warnings: Vec::new(),
            },
            provider,
            api,
        },
        Generated::Failure(GenerationFailure { code, message, http_status, provider_code, retry_after_ms, usage }) => {
            let failure = Failure::new(failure_kind(code), message);
            Made::Failure(Failure { http_status, provider_code, retry_after_ms, usage, ..failure })
        }
    }
}
