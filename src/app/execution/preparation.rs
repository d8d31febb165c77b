//! Everything that can be decided about a turn before its claim, so that what is refused leaves its id free. It must not write.

use tokio_util::sync::CancellationToken;

use crate::app::base::{Start, StartThread, head_moved, unanswered};
use crate::app::busy::Asks;
use crate::app::flight::Flight;
use crate::app::turn::{Base, Input, Turn};
use crate::app::{App, Caller, drift, join, run_id_required, store_fault, view};
use crate::domain::drift::Drift;
use crate::domain::exchange::Exchange;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{ExchangeId, Namespace, RunId};
use crate::domain::message::{Message, Role};
use crate::domain::pairing;
use crate::domain::prepared::Prepared;
use crate::domain::run::{Run, State};
use crate::domain::thread::{Expected, Head};
use crate::domain::tool::Offer;
use crate::engine::backend::Outbound;
use crate::engine::{Asked, Context, Plan, only_in_coordinate};
use crate::store::ledger::Token;

use super::waits_for;

/// A turn with all that was decided before its claim.
pub(in crate::app) struct Decided {
    pub(in crate::app) start: Start,
    pub(in crate::app) plan: Plan,
    /// Tools that the path had otherwise; the plan's warnings have them.
    pub(in crate::app) drifts: Vec<Drift>,
    /// The call as it goes out.
    pub(in crate::app) outbound: Outbound,
    /// For a run that is not captured, may be repaired or may fall back, and where it is only looked at, the messages that are sent before the plan's own.
    pub(in crate::app) history: Vec<Message>,
    /// How many messages are sent before the plan's own.
    pub(in crate::app) prior: usize,
    /// The run on record that is opened again or goes on.
    pub(in crate::app) opens: Option<(Run, Token)>,
    /// The exchange whose calls it answers, when it goes on with a run.
    pub(in crate::app) calling: Option<ExchangeId>,
    /// What was prepared, as it is once it is used.
    pub(in crate::app) uses: Option<(Prepared, Token)>,
}

impl App {
    /// The run of a turn: one that waits for these results, or the caller's, or a new one.
    pub(super) async fn identify(
        &self,
        namespace: &Namespace,
        turn: &Turn,
    ) -> Result<(Option<ExchangeId>, RunId), Fault> {
        let own = || turn.run_id.clone().or_else(|| turn.assigned.clone()).unwrap_or_else(|| self.new_run_id());
        let Input::Results(_) = &turn.input else {
            return Ok((None, own()));
        };
        let calling = match &turn.base {
            Base::Exchange(id) | Base::Over(id) => Some(self.parent(namespace, *id).await?.exchange),
            Base::Thread(at) => {
                let (_, head, _) = self.read_thread(namespace, &at.id).await?;
                if let Some(step) = self.answered_step(namespace, &head, turn).await? {
                    return Ok(step);
                }
                self.pending(namespace, &head).await?.map(|(_, exchange, _)| exchange)
            }
            Base::Root | Base::NewThread(_) | Base::EmptyThread(_) | Base::Uncaptured(_) | Base::Fork(_) => None,
        };
        let Some(calling) = calling else {
            return Ok((None, own()));
        };
        let Some(run_id) = calling.run_id.clone().filter(|run| turn.run_id.as_ref().is_none_or(|asked| asked == run))
        else {
            return Ok((None, own()));
        };
        let run = self.ledger.run(namespace, &run_id).await.map_err(store_fault)?;
        let goes_on = run.is_some_and(|(run, _)| {
            run.steps.iter().any(|step| step.calling == calling.id)
                || (run.state == State::PendingTools && run.exchange == Some(calling.id))
        });
        Ok(if goes_on { (Some(calling.id), run_id) } else { (None, own()) })
    }

    /// A step of a thread's last runs that had exactly these results: the call is a repetition.
    async fn answered_step(
        &self,
        namespace: &Namespace,
        head: &Head,
        turn: &Turn,
    ) -> Result<Option<(Option<ExchangeId>, RunId)>, Fault> {
        for run_id in turn.run_id.iter().chain(&head.active_run).chain(&head.run_id) {
            let Some((run, _)) = self.ledger.run(namespace, run_id).await.map_err(store_fault)? else {
                continue;
            };
            if let Some(step) = run.steps.iter().find(|step| step.fingerprint == turn.step) {
                return Ok(Some((Some(step.calling), run_id.clone())));
            }
        }
        Ok(None)
    }

    /// Everything that can be decided before admission, so that what is refused leaves the id free.
    pub(super) async fn prepare(
        &self,
        caller: &Caller,
        turn: &Turn,
        asks: &mut Asks<'_>,
        opens: Option<(Run, Token)>,
        calling: Option<ExchangeId>,
    ) -> Result<Decided, Fault> {
        if let Input::Prepared(input) = &turn.input {
            return self.decide_prepared(caller, turn, input, asks).await;
        }
        let namespace = &caller.namespace;
        let start = match calling {
            Some(calling) => {
                self.start_step(namespace, turn, asks, calling, opens.as_ref().map(|(run, _)| run)).await?
            }
            None => match self.start_again(namespace, turn, asks, opens.as_ref().map(|(run, _)| run)).await? {
                Some(start) => start,
                None => self.resolve_base(namespace, turn, asks).await?,
            },
        };
        let mut plan = self.plan(namespace, turn, &start).await?;
        if turn.capture && turn.run_id.is_none() && calling.is_none() && !asks.looks {
            run_id_required(&plan)?;
        }
        let drifts = self.drifts(namespace, &start, &plan.offer.offered).await?;
        drift::check(&drifts, drift::policy(&turn.input))?;
        plan.warnings.extend(drifts.iter().map(Drift::warning));
        let mut own = Vec::new();
        own.extend(start.interruption.clone());
        own.append(&mut plan.messages);
        pairing::rename_results(&mut own, &start.renamed);
        let paired = pairing::pair(&start.open_calls(), own, || self.new_call_id())
            .map_err(|error| pairing_fault(&error, turn, &start))?;
        if !paired.open.is_empty() || paired.messages.last().is_some_and(|last| last.role == Role::Assistant) {
            return Err(Fault::field(
                "request.messages",
                "must not end with an assistant message: Record stores answers",
            ));
        }
        plan.messages = paired.messages;
        if turn.companion.is_none() && self.engine.is_clients(&plan)? {
            return Err(only_in_coordinate(&plan.backend_id));
        }
        if !asks.looks {
            self.engine.ready(&plan, caller.credential.as_ref())?;
        }
        let path = match &start.parent {
            Some(parent) => self.path_of(namespace, parent).await?,
            None => Vec::new(),
        };
        let history = view::apply(&mut plan, &path)?;
        // What is told of an exchange does not need the history again; what is not kept has it in its answer, and repairs and fallbacks send it
        // once more.
        let is_needed = !turn.capture || plan.repair_attempts > 0 || !plan.fallbacks.is_empty() || asks.looks;
        let kept = if is_needed { history.clone() } else { Vec::new() };
        let prior = history.len();
        let outbound = self.engine.outbound(&plan, history, turn.stream)?;
        Ok(Decided { start, plan, drifts, outbound, history: kept, prior, opens, calling, uses: None })
    }

    /// A turn as it would be if it began now, whoever is at work on its thread.
    pub(in crate::app) async fn looked_ahead(&self, caller: &Caller, turn: &Turn) -> Result<Decided, Fault> {
        let namespace = &caller.namespace;
        let (calling, run_id) = self.identify(namespace, turn).await?;
        let opens = match calling {
            Some(_) => self.ledger.run(namespace, &run_id).await.map_err(store_fault)?,
            None => None,
        };
        let flight = Flight::new(run_id, turn.fingerprint, turn.on_disconnect, CancellationToken::new());
        let mut asks = Asks { flight: &flight, on_busy: turn.base.on_busy(), held: None, looks: true };
        self.prepare(caller, turn, &mut asks, opens, calling).await
    }

    /// Where a run that is opened again starts, when its first attempt made a thread: there, and at the same point. Absent when it starts
    /// where its request says.
    async fn start_again(
        &self,
        namespace: &Namespace,
        turn: &Turn,
        asks: &mut Asks<'_>,
        opened: Option<&Run>,
    ) -> Result<Option<Start>, Fault> {
        let Some((run, id)) = opened.and_then(|run| Some((run, run.thread_id.as_ref()?))) else {
            return Ok(None);
        };
        let names_it = matches!(&turn.base, Base::Thread(at) | Base::EmptyThread(at) if at.id == *id);
        if names_it || self.ledger.thread(namespace, id).await.map_err(store_fault)?.is_none() {
            return Ok(None);
        }
        let occupied = self.take_thread(namespace, id, asks).await?;
        let (thread, head, token) = self.read_thread(namespace, id).await?;
        let expected = run.from.map_or(Expected::Empty, Expected::Exchange);
        if !expected.holds(head.exchange) {
            return Err(head_moved(id, expected, &head));
        }
        // Another run that waits for results; calls at the fork point itself are this turn's to answer.
        if let Some((_, pending, Some(_))) = self.pending(namespace, &head).await? {
            return Err(unanswered(&pending));
        }
        let parent = match head.exchange {
            Some(id) => Some(self.parent(namespace, id).await?),
            None => None,
        };
        let mut start = Start::at(parent, Some(StartThread::Move(thread, head, token)));
        start.occupied = occupied;
        Ok(Some(start))
    }

    async fn start_step(
        &self,
        namespace: &Namespace,
        turn: &Turn,
        asks: &mut Asks<'_>,
        calling: ExchangeId,
        run: Option<&Run>,
    ) -> Result<Start, Fault> {
        let parent = self.parent(namespace, calling).await?;
        let mut start = Start::at(Some(parent), None);
        if let Some(id) = run.and_then(|run| run.thread_id.as_ref())
            // A thread that was removed takes no run with it.
            && self.ledger.thread(namespace, id).await.map_err(store_fault)?.is_some()
        {
            start.occupied = self.take_thread(namespace, id, asks).await?;
            let (thread, head, token) = self.read_thread(namespace, id).await?;
            if let Base::Thread(at) = &turn.base
                && !at.expected.holds(head.exchange)
            {
                return Err(head_moved(id, at.expected, &head));
            }
            // A newer run may have gone on from the head since; then the thread is no longer this run's to move. A run that was cancelled has
            // let it go, and has it back with its next try where nothing came in between.
            let is_back = run.is_some_and(|run| run.state == State::Cancelled && waits_for(&head, run));
            if is_back || head.active_run.as_ref() == Some(&asks.flight.run_id) {
                start.thread = Some(StartThread::Move(thread, head, token));
            }
        }
        Ok(start)
    }

    async fn plan(&self, namespace: &Namespace, turn: &Turn, start: &Start) -> Result<Plan, Fault> {
        let results = match &turn.input {
            Input::Request(asked) => return self.resolve(namespace, (**asked).clone(), start).await,
            Input::Results(results) => results.clone(),
            Input::Prepared(_) => return Err(Fault::new(Reason::Internal, "what was prepared is resolved already")),
        };
        let calling = match &start.parent {
            Some(parent) if parent.exchange.is_pending() => &parent.exchange,
            Some(parent) => return Err(nothing_pending(Some(parent.exchange.id))),
            None => return Err(nothing_pending(None)),
        };
        if calling.settings.is_empty() {
            // The call was the caller's own, so nothing is known of its settings.
            let asked = Asked { messages: vec![results], ..Asked::default() };
            return self.resolve(namespace, asked, start).await;
        }
        let calling = self.detailed(namespace, calling.clone()).await?;
        let offer = Offer { offered: calling.offered, standing: calling.standing };
        self.engine.resume(calling.exchange.settings, offer, vec![results])
    }

    async fn resolve(&self, namespace: &Namespace, asked: Asked, start: &Start) -> Result<Plan, Fault> {
        let inherited = match (&start.parent, &start.prefix) {
            (_, Some(prefix)) => Some(prefix.tools.clone()),
            (Some(parent), None) => {
                Some(self.ledger.tool_set(namespace, parent.exchange.standing).await.map_err(store_fault)?)
            }
            (None, None) => None,
        };
        let context = Context {
            thread: start.thread.as_ref().map(|thread| thread.thread().defaults.clone()),
            inherited_tools: inherited,
            at_root: start.parent.is_none(),
            namespace: namespace.clone(),
        };
        self.engine.resolve(asked, context).map_err(|fault| fault.within("request"))
    }
}

fn nothing_pending(exchange: Option<ExchangeId>) -> Fault {
    let message = "no tool call waits for results here: send a request instead";
    let fault = Fault::new(Reason::NoPendingToolCalls, message);
    match exchange {
        Some(id) => fault.with("exchange_id", id),
        None => fault,
    }
}

fn pairing_fault(error: &pairing::Error, turn: &Turn, start: &Start) -> Fault {
    let parent = start.parent.as_ref().map(|parent| &parent.exchange);
    pairing_refused(error, parent, matches!(turn.input, Input::Results(_)))
}

/// Calls and results do not fit.
pub(in crate::app) fn pairing_refused(error: &pairing::Error, parent: Option<&Exchange>, results: bool) -> Fault {
    if let (pairing::Error::Unanswered { index: 0, .. }, false, Some(parent)) = (error, results, parent) {
        return unanswered(parent);
    }
    let fault = Fault::new(Reason::ToolResultsMismatch, format!("{error}: answer each call exactly once"));
    let field = if results { "tool_results.results" } else { "request.messages" };
    let fault = fault.at(field, error.to_string());
    match error {
        pairing::Error::Unanswered { call_ids, .. } => fault.with("missing", join(call_ids)),
        pairing::Error::Unknown { call_id, .. } => fault.with("unknown", call_id),
        pairing::Error::Duplicate { call_id, .. } | pairing::Error::SharedId { call_id, .. } => {
            fault.with("duplicate", call_id)
        }
    }
}
