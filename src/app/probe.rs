//! Probes: one execution from a snapshot that leaves nothing behind (S3-17..26). It must not write.

use std::sync::Arc;

use tracing::Instrument;

use crate::domain::drift::Drift;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{ExchangeId, Hash};
use crate::domain::message::{Message, Role};
use crate::domain::pairing;
use crate::domain::run::Observation;
use crate::domain::usage::Usage;
use crate::engine::{Asked, Context, Execution, Plan, only_in_coordinate};

use super::base::Parent;
use super::execution::{Teller, cancelled, pairing_refused, prompt_tokens};
use super::flight::{Event, Flight, Probing, Watcher};
use super::fork::Point;
use super::turn::{OnDisconnect, Uncaptured};
use super::{App, Caller, drift, store_fault, view};

/// What a probe asks.
#[derive(Clone)]
pub struct Probe {
    /// Where from.
    pub from: Point,
    /// What.
    pub asked: Asked,
    /// Offer tools that change something outside.
    pub allow_side_effects: bool,
    /// Ask the provider for the answer in pieces.
    pub stream: bool,
}

/// What a probe brought.
#[derive(Clone)]
pub struct Probed {
    /// The answer and what was sent.
    pub answer: Uncaptured,
    /// The exchange that it was made from.
    pub from: ExchangeId,
    /// Each attempt.
    pub observations: Vec<Observation>,
    /// What it consumed.
    pub usage: Usage,
}

impl App {
    /// Starts a probe and gives a watcher of it. When the watcher goes, the probe ends.
    ///
    /// # Errors
    /// When the point is not there or not completed, or the request cannot be resolved or offers a tool that a probe may not use.
    pub async fn start_probe(self: &Arc<Self>, caller: Caller, probe: Probe) -> Result<Watcher<Probed>, Fault> {
        if self.is_draining() {
            self.accept_work()?;
        }
        let resolved = self.fork_point(&caller.namespace, &probe.from).await?;
        let exchange = resolved.exchange;
        let inherited = self.ledger.tool_set(&caller.namespace, exchange.standing).await.map_err(store_fault)?;
        let context = Context {
            thread: resolved.source.map(|thread| thread.defaults),
            inherited_tools: Some(inherited),
            at_root: false,
            namespace: caller.namespace.clone(),
        };
        let policy = probe.asked.on_tool_drift;
        let mut plan = self.engine.resolve(probe.asked, context).map_err(|fault| fault.within("request"))?;
        check_tools(&plan, probe.allow_side_effects)?;
        if self.engine.is_clients(&plan)? {
            return Err(only_in_coordinate(&plan.backend_id));
        }
        self.engine.ready(&plan, caller.credential.as_ref())?;
        let parent = Parent { place: resolved.place, exchange };
        let place = self.accounts.begin(&caller.principal)?;
        let drifts = self.drifts_after(&caller.namespace, &parent, &plan.offer.offered).await?;
        drift::check(&drifts, policy)?;
        plan.warnings.extend(drifts.iter().map(Drift::warning));
        let open: Vec<_> = parent.exchange.assistant.tool_calls().cloned().collect();
        let own = std::mem::take(&mut plan.messages);
        let paired = pairing::pair(&open, own, || self.new_call_id())
            .map_err(|error| pairing_refused(&error, Some(&parent.exchange), false))?;
        if paired.messages.last().is_some_and(|last| last.role == Role::Assistant) {
            return Err(Fault::field("request.messages", "must not end with an assistant message"));
        }
        plan.messages = paired.messages;
        let path = self.path_of(&caller.namespace, &parent).await?;
        let history = view::apply(&mut plan, &path)?;
        let flight = Flight::new(self.new_run_id(), Hash::of(b"probe"), OnDisconnect::Cancel, self.flights.interrupt());
        let watcher = flight.watch(false, caller.deadline);
        drift::tell(&drifts, &self.meters);
        let task = ProbeTask { plan, history, from: parent.exchange.id, stream: probe.stream };
        let landing = Landing { app: Arc::clone(self), flight, _probing: self.flights.probing() };
        // Joined by `Flights::landed`, which the drain waits for.
        let probing = async move {
            let result = landing.app.probe(&landing.flight, &caller, task).await;
            drop(place);
            landing.flight.land(result);
        }
        .in_current_span();
        tokio::spawn(probing);
        Ok(watcher)
    }
}

/// Tells the watcher when the task ends without a result, that is, by a panic.
struct Landing {
    app: Arc<App>,
    flight: Arc<Flight<Probed>>,
    _probing: Probing,
}

impl Drop for Landing {
    fn drop(&mut self) {
        self.flight
            .land(Err(Fault::new(Reason::Internal, "the probe ended by a fault of this server; the log has more")));
    }
}

/// A probe with all that was decided.
struct ProbeTask {
    plan: Plan,
    history: Vec<Message>,
    from: ExchangeId,
    stream: bool,
}

impl App {
    async fn probe(&self, flight: &Flight<Probed>, caller: &Caller, task: ProbeTask) -> Result<Probed, Fault> {
        let ProbeTask { plan, history, from, stream } = task;
        let permit = tokio::select! {
            permit = self.engine.admit(&plan) => permit?,
            () = flight.cancel.cancelled() => return Err(flight.end(cancelled(&flight.run_id))),
        };
        self.may_spend(caller, None, &plan).await?;
        flight.tell(Event::Claimed);
        plan.warnings.iter().for_each(|warning| flight.tell(Event::Warning(warning.clone())));
        let prefix = history.len();
        let prompt = prompt_tokens(&history, &plan);
        let rendered = plan.messages.clone();
        let execution = Execution {
            prior: 0,
            history,
            outbound: None,
            stream,
            credential: caller.credential.clone(),
            first_number: 0,
            deadline: Some(flight.until()),
            cancel: Some(flight.cancel.clone()),
        };
        let mut teller = Teller { flight, companion: None, said: 0 };
        let (plan, executed) = self.engine.execute_with_fallbacks(plan, permit, execution, &mut teller).await;
        let spent = self.consumed(&executed.observations, prompt, teller.said);
        self.charge(caller, &spent).await;
        let answer = executed.outcome.map_err(|fault| flight.end(fault))?;
        let mut warnings = plan.warnings;
        warnings.extend(answer.warnings);
        let answer_parts = Uncaptured {
            rendered,
            prefix,
            assistant: answer.assistant,
            stop_reason: answer.stop_reason,
            stop_reason_raw: answer.stop_reason_raw,
            validation: answer.validation,
            settings: plan.settings,
            warnings,
            responder: answer.responder,
            offered: plan.offer.offered,
        };
        Ok(Probed { answer: answer_parts, from, observations: executed.observations, usage: answer.usage })
    }
}

fn check_tools(plan: &Plan, allow_side_effects: bool) -> Result<(), Fault> {
    for tool in &plan.offer.offered.tools {
        let why = if tool.requires_human {
            "a probe cannot wait for a person: offer it in a Continue or a Fork, or leave it out with `tools`"
        } else if tool.side_effects && !allow_side_effects {
            "a probe cannot undo what it does outside: set `allow_side_effects`, or leave it out with `tools`"
        } else {
            continue;
        };
        return Err(Fault::new(Reason::ToolNotAllowed, format!("tool `{}`: {why}", tool.name))
            .with("tool", &tool.name)
            .with("why", if tool.requires_human { "requires_human" } else { "side_effects" }));
    }
    Ok(())
}
