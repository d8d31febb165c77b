//! What a turn is a part of: a coordination's transitions, written with the claim and the end of each step. It must not know how a turn is
//! executed.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::domain::coordination::machine::{Beginning, Event, Opening};
use crate::domain::coordination::{Answered, State};
use crate::domain::exchange::Exchange;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{CallId, Hash};
use crate::domain::message::Message;
use crate::domain::run::Run;
use crate::domain::spend::{SpendLimit, Spent};
use crate::domain::tool::Offer;
use crate::store::ledger::{Changes, Lost};

use super::super::App;
use super::super::flight::Event as Flown;
use super::super::turn::{Asking, Companion, Detailed, StepEnd};
use super::live::{Bodies, Live};

/// What is written with the claim of a step.
pub(super) enum Claim {
    /// The coordination begins with it.
    Initial(Opening),
    /// A decision was answered with another turn.
    Turn(Answered),
    /// The last results of a batch came.
    Results {
        /// The answer that brought them.
        answered: Answered,
        /// The results that it brought, by the hashes under which they are kept.
        results: Vec<(CallId, Hash)>,
        /// Those results.
        kept: Vec<Message>,
    },
    /// The client's answer to a generation came; the run was claimed before.
    Generated(Answered),
}

/// Writes a coordination's transitions along with a turn.
pub(super) struct Driven {
    pub(super) app: Arc<App>,
    pub(super) live: Arc<Live>,
    pub(super) claim: Claim,
}

impl Driven {
    async fn claimed(&self, run: &Run, mut changes: Changes) -> Result<Result<(), Lost>, Fault> {
        let event = match &self.claim {
            Claim::Initial(opening) => {
                // The claim may make the thread.
                let opening = Opening { thread: run.thread_id.clone(), ..opening.clone() };
                return self.app.begin(&self.live, &opening, &Beginning::Run(run.id.clone()), changes).await;
            }
            Claim::Turn(answered) => {
                Event::Turn { answered: answered.clone(), run_id: run.id.clone(), thread: run.thread_id.clone() }
            }
            // Its run was claimed before.
            Claim::Generated(_) => return Ok(Ok(())),
            Claim::Results { answered, results, kept } => {
                for message in kept {
                    changes.keep_message(&self.live.namespace, message);
                }
                Event::Results { answered: answered.clone(), results: results.clone() }
            }
        };
        Ok(self.app.transit_with(&self.live, &[event], changes, None).await?.map(|_| ()))
    }

    async fn asked(&self, asked: &Asking, mut changes: Changes) -> Result<Result<(), Lost>, Fault> {
        let plan = changes.keep_plan(&self.live.namespace, &asked.plan);
        if self.live.ephemeral {
            self.live.generates(plan, asked.plan.clone(), asked.run.clone());
        }
        let event = Event::NeedsGeneration { number: asked.number, kind: asked.kind, plan };
        let events = self.generated().into_iter().chain([event]).collect::<Vec<_>>();
        Ok(self.app.transit_with(&self.live, &events, changes, None).await?.map(|_| ()))
    }

    /// What came of a generation is told with what came of it.
    fn generated(&self) -> Option<Event> {
        match &self.claim {
            Claim::Generated(answered) => Some(Event::Generated { answered: answered.clone() }),
            Claim::Initial(_) | Claim::Turn(_) | Claim::Results { .. } => None,
        }
    }

    async fn ended(&self, end: StepEnd<'_>, changes: Changes) -> Result<Result<(), Lost>, Fault> {
        let spent = end.spent().clone();
        let (event, bodies) = match end {
            StepEnd::Completed { run, exchange, offer, .. } => {
                let calls = exchange.assistant.tool_calls().map(|call| call.call_id.clone()).collect();
                (Event::Completed { exchange: exchange.id, calls }, Some(bodies(run, exchange, offer)))
            }
            StepEnd::Failed { fault, .. } if fault.reason == Reason::RunInterrupted => {
                (Event::Interrupted(fault.clone()), None)
            }
            StepEnd::Failed { fault, exchange, .. } => {
                (Event::Failed { fault: fault.clone(), exchange: exchange.map(|exchange| exchange.id) }, None)
            }
        };
        let spent = Some(spent).filter(|spent| !spent.is_nothing()).map(Event::Spent);
        let events = self.generated().into_iter().chain(spent).chain([event]).collect::<Vec<_>>();
        Ok(self.app.transit_with(&self.live, &events, changes, bodies).await?.map(|_| ()))
    }
}

fn bodies(run: &Run, exchange: &Exchange, offer: &Offer) -> Bodies {
    let (offered, standing) = (offer.offered.clone(), offer.standing.clone());
    Bodies { exchange: Detailed { exchange: exchange.clone(), offered, standing }, run: Some(run.clone()) }
}

impl Companion for Driven {
    fn claim<'a>(&'a self, run: &'a Run, changes: Changes) -> BoxFuture<'a, Result<Result<(), Lost>, Fault>> {
        self.claimed(run, changes).boxed()
    }

    fn end<'a>(&'a self, end: StepEnd<'a>, changes: Changes) -> BoxFuture<'a, Result<Result<(), Lost>, Fault>> {
        self.ended(end, changes).boxed()
    }

    fn ask<'a>(&'a self, asked: &'a Asking, changes: Changes) -> BoxFuture<'a, Result<Result<(), Lost>, Fault>> {
        self.asked(asked, changes).boxed()
    }

    fn hear(&self, event: &Flown) {
        self.live.hear(event);
    }

    fn ready(&self) -> BoxFuture<'_, ()> {
        self.live.has_room(self.app.limits().coordination_patience()).boxed()
    }

    fn spending(&self) -> Option<(SpendLimit, Spent)> {
        if let Claim::Initial(opening) = &self.claim {
            let limit = opening.terms.spend_limit.clone();
            return (!limit.is_none()).then(|| (limit, Spent::default()));
        }
        let now = self.live.now()?;
        (!now.terms.spend_limit.is_none()).then(|| (now.terms.spend_limit.clone(), now.spent.clone()))
    }

    fn ends_with_calls(&self) -> bool {
        self.live.now().is_some_and(|now| match &now.state {
            State::TurnRunning(turn) => turn.rounds >= now.terms.tool_round_limit,
            State::AwaitingGeneration(generation) => generation.turn.rounds >= now.terms.tool_round_limit,
            _ => false,
        })
    }
}
