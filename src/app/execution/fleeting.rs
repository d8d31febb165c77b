//! Turns that leave nothing behind: executed like any other, with the history in memory and no claim. It must not write.

use std::sync::Arc;

use tracing::Instrument;

use crate::app::base::{Parent, Start};
use crate::app::flight::{Event, Flight, Probing, Watcher};
use crate::app::turn::{Asking, Base, Companion, Detailed, Input, OnDisconnect, Outcome, StepEnd, Turn};
use crate::app::{App, Caller, drift, view};
use crate::domain::drift::{Drift, Seen};
use crate::domain::exchange::Exchange;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{ExchangeId, Namespace};
use crate::domain::message::{Message, Role};
use crate::domain::pairing;
use crate::domain::run::{AttemptKind, CLIENT, Run, State};
use crate::domain::tool::Offer;
use crate::engine::{Asked, Context, Execution, Plan};
use crate::store::ledger::Changes;

use super::completion::completed_run;
use super::preparation::pairing_refused;
use super::{Finished, Teller, cancelled, prompt_tokens};

/// What was said before a turn that leaves nothing behind.
#[derive(Clone, Default)]
pub(in crate::app) struct Before {
    /// The exchange on record that it all goes on from.
    pub(in crate::app) root: Option<ExchangeId>,
    /// What came after it, which is on no record, each with its run.
    pub(in crate::app) made: Vec<(Detailed, Option<Run>)>,
}

/// Tells the watchers when the task ends without a result, that is, by a panic.
struct Landing {
    app: Arc<App>,
    flight: Arc<Flight>,
    _counted: Probing,
}

impl Drop for Landing {
    fn drop(&mut self) {
        let message = "the turn ended by a fault of this server; the log has more";
        self.flight.land(Err(Fault::new(Reason::Internal, message)));
    }
}

impl App {
    /// Starts a turn that leaves nothing behind, and gives a watcher of it.
    ///
    /// # Errors
    /// When it cannot be resolved, or offers a tool that needs a person.
    pub(in crate::app) async fn start_fleeting(
        self: &Arc<Self>,
        caller: Caller,
        before: Before,
        turn: Turn,
    ) -> Result<Watcher, Fault> {
        let namespace = &caller.namespace;
        let parent = match before.made.last() {
            Some((made, _)) => Some(made.clone()),
            None => match before.root {
                Some(id) => Some(self.detailed(namespace, self.parent(namespace, id).await?.exchange).await?),
                None => None,
            },
        };
        let mut plan = self.fleeting_plan(namespace, &turn, parent.as_ref())?;
        let drifts = self.fleeting_drifts(namespace, &before, &plan).await?;
        drift::check(&drifts, drift::policy(&turn.input))?;
        plan.warnings.extend(drifts.iter().map(Drift::warning));
        self.engine.ready(&plan, caller.credential.as_ref())?;
        let path = self.fleeting_path(namespace, &before).await?;
        let history = view::apply(&mut plan, &path)?;
        let run = self.fleeting_run(&turn, &before, parent.as_ref());
        let place = self.accounts.begin(&caller.principal)?;
        let flight = Flight::new(run.id.clone(), turn.fingerprint, OnDisconnect::Finish, self.flights.interrupt());
        let watcher = flight.watch(false, None);
        let landing = Landing { app: Arc::clone(self), flight, _counted: self.flights.probing() };
        let span = tracing::info_span!("fleeting", run_id = %run.id, namespace = %caller.namespace);
        let flying = async move {
            let step = Step { turn, plan, drifts, history, parent, run };
            let result = landing.app.fleet(&landing.flight, &caller, step).await;
            drop(place);
            landing.flight.land(result);
        };
        // Joined by `Flights::landed`, which the drain waits for.
        tokio::spawn(flying.instrument(span));
        Ok(watcher)
    }

    fn fleeting_plan(&self, namespace: &Namespace, turn: &Turn, parent: Option<&Detailed>) -> Result<Plan, Fault> {
        let offer = |parent: &Detailed| Offer { offered: parent.offered.clone(), standing: parent.standing.clone() };
        let mut plan = match (&turn.input, parent) {
            (Input::Results(results), Some(parent)) if !parent.exchange.settings.is_empty() => {
                let settings = parent.exchange.settings.clone();
                self.engine.resume(settings, offer(parent), vec![results.clone()])?
            }
            (input, _) => {
                let asked = match input {
                    Input::Request(asked) => (**asked).clone(),
                    Input::Results(results) => Asked { messages: vec![results.clone()], ..Asked::default() },
                    Input::Prepared(_) => {
                        return Err(Fault::new(Reason::Internal, "what was prepared is executed by a run of its own"));
                    }
                };
                let context = Context {
                    thread: None,
                    inherited_tools: parent.map(|parent| parent.standing.clone()),
                    at_root: parent.is_none(),
                    namespace: namespace.clone(),
                };
                self.engine.resolve(asked, context).map_err(|fault| fault.within("request"))?
            }
        };
        if let Some(tool) = plan.offer.offered.tools.iter().find(|tool| tool.requires_human) {
            let message = format!(
                "tool `{}` needs a person, whose answer may come when an ephemeral coordination is gone: start one that is kept, or leave the tool out",
                tool.name
            );
            return Err(Fault::new(Reason::ToolNotAllowed, message)
                .with("tool", &tool.name)
                .with("why", "requires_human"));
        }
        let open: Vec<_> = parent.iter().flat_map(|parent| parent.exchange.assistant.tool_calls()).cloned().collect();
        let mut own = Vec::new();
        if matches!(turn.base, Base::Over(_)) && !open.is_empty() {
            own.push(pairing::interruption(&open));
        }
        own.append(&mut plan.messages);
        let results = matches!(turn.input, Input::Results(_));
        let paired = pairing::pair(&open, own, || self.new_call_id())
            .map_err(|error| pairing_refused(&error, parent.map(|parent| &parent.exchange), results))?;
        if !paired.open.is_empty() || paired.messages.last().is_some_and(|last| last.role == Role::Assistant) {
            return Err(Fault::field("request.messages", "must not end with an assistant message"));
        }
        plan.messages = paired.messages;
        Ok(plan)
    }

    /// What a turn offers otherwise than before. What is on no record is in memory, with its tools.
    async fn fleeting_drifts(&self, namespace: &Namespace, before: &Before, plan: &Plan) -> Result<Vec<Drift>, Fault> {
        let offered = &plan.offer.offered;
        if offered.tools.is_empty() {
            return Ok(Vec::new());
        }
        let mut seen = match before.root {
            Some(id) => {
                let root = self.parent(namespace, id).await?;
                self.seen_at(namespace, &root.exchange, root.place).await?
            }
            None => Seen::default(),
        };
        for (made, _) in &before.made {
            seen = seen.after(&made.offered, made.exchange.id);
        }
        Ok(seen.drifts(offered))
    }

    pub(in crate::app) async fn fleeting_path(
        &self,
        namespace: &Namespace,
        before: &Before,
    ) -> Result<Vec<Arc<Exchange>>, Fault> {
        let mut path = match before.root {
            Some(id) => self.path_of(namespace, &self.parent(namespace, id).await?).await?,
            None => Vec::new(),
        };
        path.extend(before.made.iter().map(|(made, _)| Arc::new(made.exchange.clone())));
        Ok(path)
    }

    /// The run of a turn: of a further step, the one that called.
    fn fleeting_run(&self, turn: &Turn, before: &Before, parent: Option<&Detailed>) -> Run {
        let now = self.clock.now();
        let goes_on = before.made.last().and_then(|(_, run)| run.clone());
        match goes_on.filter(|run| run.state == State::PendingTools && turn.run_id.as_ref() == Some(&run.id)) {
            Some(run) => Run { state: State::Running, updated_at: now, ..run },
            None => Run {
                captured: true,
                from: parent.map(|parent| parent.exchange.id),
                labels: turn.labels.clone(),
                ..Run::new(
                    turn.run_id.clone().unwrap_or_else(|| self.new_run_id()),
                    State::Running,
                    turn.fingerprint,
                    now,
                )
            },
        }
    }

    async fn fleet(&self, flight: &Arc<Flight>, caller: &Caller, step: Step) -> Result<Outcome, Fault> {
        let Step { turn, plan, drifts, history, parent, run } = step;
        let clients = self.engine.is_clients(&plan)?;
        let permit = if clients {
            None
        } else {
            tokio::select! {
                permit = self.engine.admit(&plan) => Some(permit?),
                () = flight.cancel.cancelled() => return Err(flight.end(cancelled(&run.id))),
            }
        };
        if permit.is_some() {
            self.may_spend(caller, turn.companion.as_deref(), &plan).await?;
        }
        let companion = turn.companion.clone();
        let companion: Option<&dyn Companion> = companion.as_deref();
        if let Some(companion) = companion {
            // Nothing else is written, so there is nothing that could be lost.
            companion
                .claim(&run, Changes::new())
                .await?
                .map_err(|lost| Fault::new(Reason::Internal, lost.to_string()))?;
        }
        flight.tell(Event::Claimed);
        drift::tell(&drifts, &self.meters);
        let mut teller = Teller { flight: flight.as_ref(), companion, said: 0 };
        let prompt = prompt_tokens(&history, &plan);
        plan.warnings.iter().for_each(|warning| teller.tell(Event::Warning(warning.clone())));
        let Some(permit) = permit else {
            let run = Run { owner: CLIENT.to_owned(), ..run };
            let number = u32::try_from(run.observations.len()).unwrap_or(u32::MAX).saturating_add(1);
            let asking = Asking { run, number, kind: AttemptKind::First, plan: plan.planned() };
            return self.ask_client(turn.companion.as_ref(), asking, Changes::new()).await;
        };
        let execution = Execution {
            prior: 0,
            history,
            outbound: None,
            stream: turn.stream,
            credential: caller.credential.clone(),
            first_number: u32::try_from(run.observations.len()).unwrap_or(u32::MAX),
            deadline: None,
            cancel: Some(flight.cancel.clone()),
        };
        let (plan, executed) = self.engine.execute_with_fallbacks(plan, permit, execution, &mut teller).await;
        let spent = self.consumed(&executed.observations, prompt, teller.said);
        self.charge(caller, &spent).await;
        let now = self.clock.now();
        let answer = match executed.outcome {
            Ok(answer) => answer,
            Err(fault) => {
                let fault = flight.end(fault).with("run_id", &run.id).with("run_state", State::Failed.word());
                let run = Run { state: State::Failed, failure: Some(fault.clone()), updated_at: now, ..run };
                self.tell_end(companion, StepEnd::Failed { run: &run, fault: &fault, exchange: None, spent: &spent })
                    .await?;
                return Err(fault);
            }
        };
        let calling = matches!(turn.input, Input::Results(_)).then(|| parent.as_ref().map(|parent| parent.exchange.id));
        let start = Start::at(parent.map(|parent| Parent { exchange: parent.exchange, place: None }), None);
        let finished = Finished {
            turn,
            start,
            plan,
            calling: calling.flatten().filter(|_| run.exchange.is_some()),
            observations: executed.observations,
            spent,
            answer,
            rendered: Vec::new(),
            prefix: 0,
            tries: 0,
        };
        let exchange = self.exchange_of(&caller.namespace, &run, &finished, now);
        let run = completed_run(run, &exchange, &finished, now);
        let end =
            StepEnd::Completed { run: &run, exchange: &exchange, offer: &finished.plan.offer, spent: &finished.spent };
        self.tell_end(companion, end).await?;
        let offer = finished.plan.offer;
        let exchange = Detailed { exchange, offered: offer.offered, standing: offer.standing };
        Ok(Outcome { run, exchange: Some(exchange), thread: None, answer: None, replayed: false })
    }

    async fn tell_end(&self, companion: Option<&dyn Companion>, end: StepEnd<'_>) -> Result<(), Fault> {
        let state = end.state();
        if let Some(companion) = companion {
            let kept = companion.end(end, Changes::new()).await?;
            kept.map_err(|lost| Fault::new(Reason::Internal, lost.to_string()))?;
        }
        self.meters.stepped(state);
        Ok(())
    }
}

/// One step with all that was decided.
struct Step {
    turn: Turn,
    plan: Plan,
    drifts: Vec<Drift>,
    history: Vec<Message>,
    parent: Option<Detailed>,
    run: Run,
}
