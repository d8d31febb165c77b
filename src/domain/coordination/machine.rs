//! The transitions of a coordination: pure functions from what is and what happens to what is then and what is told. It must not know who
//! asks, what an exchange says, or how anything is kept.
//!
//! | state | event | then |
//! | --- | --- | --- |
//! | (none) | start at an exchange | AWAITING_DECISION, starting |
//! | (none) | start with a request | TURN_RUNNING, initial |
//! | AWAITING_DECISION | turn, one is left | TURN_RUNNING |
//! | AWAITING_DECISION | turn, none is left | EXHAUSTED, nothing executed |
//! | AWAITING_DECISION | turn that cannot be prepared | FAILED, the turn consumed |
//! | AWAITING_DECISION | stop / fail | STOPPED / FAILED |
//! | AWAITING_DECISION | delivered | the same, delivered |
//! | AWAITING_TOOLS | some results | the same, fewer open |
//! | AWAITING_TOOLS | the last results | TURN_RUNNING |
//! | AWAITING_TOOLS | results that cannot go on | FAILED |
//! | AWAITING_GENERATION | generated | TURN_RUNNING |
//! | TURN_RUNNING | completed | AWAITING_DECISION |
//! | TURN_RUNNING | called tools, a round is left | AWAITING_TOOLS |
//! | TURN_RUNNING | called tools, none is left | AWAITING_DECISION |
//! | TURN_RUNNING | needs a generation | AWAITING_GENERATION |
//! | TURN_RUNNING | failed | FAILED |
//! | not ended | calls were paid for | the same, more spent |
//! | TURN_RUNNING | interrupted | AWAITING_DECISION at the same exchange, the turn consumed; FAILED for the initial one |
//! | TURN_RUNNING | cancel | the same, cancelled |
//! | TURN_RUNNING, cancelled | any end of the run | CANCELLED; a completed result is undelivered |
//! | AWAITING_... | cancel | CANCELLED; a result that was not delivered is undelivered |
//! | ended | anything | refused |

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{
    Answered, Batch, BatchProgress, CallerFailure, Coordination, Decision, End, Failure, Frame, Generation, Outcome,
    PendingId, State, Terms, Turn,
};
use crate::domain::fault::Fault;
use crate::domain::id::{CallId, CoordinationId, ExchangeId, Hash, Moment, RunId, ThreadId};
use crate::domain::run::AttemptKind;
use crate::domain::spend::Spent;

/// What happens to a coordination.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The caller asks for a turn, and its run is claimed with this answer.
    Turn {
        /// The answer.
        answered: Answered,
        /// The run.
        run_id: RunId,
        /// The thread that the turn moves.
        thread: Option<ThreadId>,
    },
    /// The caller asks for a turn that cannot be resolved or rendered.
    Unprepared {
        /// The answer.
        answered: Answered,
        /// Why.
        fault: Fault,
    },
    /// The caller has what it wanted.
    Stop {
        /// The answer.
        answered: Answered,
    },
    /// The caller failed.
    Fail {
        /// The answer.
        answered: Answered,
        /// Its failure.
        failure: CallerFailure,
    },
    /// Results of tool calls. With the last of them the run goes on.
    Results {
        /// The answer.
        answered: Answered,
        /// The results that it brought, by the hashes under which they are kept.
        results: Vec<(CallId, Hash)>,
    },
    /// What came of a generation.
    Generated {
        /// The answer.
        answered: Answered,
    },
    /// The run of the turn has a new exchange. Calls that it left open want results, if a round is left.
    Completed {
        /// The exchange.
        exchange: ExchangeId,
        /// The calls that it left open.
        calls: Vec<CallId>,
    },
    /// The client is to call the model.
    NeedsGeneration {
        /// Which call of the run, from 1.
        number: u32,
        /// What it is for.
        kind: AttemptKind,
        /// Under which hash what is to be sent is kept.
        plan: Hash,
    },
    /// The run of the turn failed.
    Failed {
        /// Why.
        fault: Fault,
        /// An exchange that it has all the same, such as one whose thread had moved.
        exchange: Option<ExchangeId>,
    },
    /// The server stopped while the run was at work.
    Interrupted(Fault),
    /// The coordination is to end.
    Cancel {
        /// The answer, where a caller asked for it.
        answered: Option<Answered>,
        /// Why.
        fault: Fault,
    },
    /// Calls to providers were made for the turn, and this was spent on them.
    Spent(Spent),
    /// The frame of the decision was handed to a stream.
    Delivered,
    /// The last stream let go.
    Detached,
}

/// What the world gives a transition.
#[derive(Clone, Debug)]
pub struct Now {
    /// The present moment.
    pub at: Moment,
    /// Makes the id of what is waited for unique.
    pub unique: Uuid,
    /// Frames that were told already and are kept with this transition, such as attempts.
    pub told: Vec<Frame>,
}

/// A transition.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What is then.
    pub after: Coordination,
    /// The frames that are kept with it, those told before included; the first has the number after the last one's before.
    pub frames: Vec<Frame>,
}

/// The event does not fit the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the coordination is not where this can happen")]
pub struct Illegal;

/// What a coordination begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// An exchange that is presented.
    At(ExchangeId),
    /// The claim of the run of an initial request.
    Run(RunId),
}

/// Who begins a coordination, and on which terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Its id.
    pub id: CoordinationId,
    /// Hash of the start as received.
    pub fingerprint: Hash,
    /// What was agreed.
    pub terms: Terms,
    /// Labels to list by.
    pub labels: BTreeMap<String, String>,
    /// The thread that it follows.
    pub thread: Option<ThreadId>,
}

/// Begins a coordination.
pub fn start(opening: Opening, beginning: Beginning, now: Now) -> Step {
    let run_id = match &beginning {
        Beginning::At(_) => RunId::new(String::new()),
        Beginning::Run(run_id) => run_id.clone(),
    };
    let new = Coordination {
        id: opening.id,
        fingerprint: opening.fingerprint,
        terms: opening.terms,
        labels: opening.labels,
        start: None,
        exchange: None,
        thread: opening.thread,
        turns_started: 0,
        state: State::TurnRunning(Turn { run_id: run_id.clone(), initial: true, rounds: 0, cancelled: None }),
        interrupted: None,
        last_sequence: 0,
        detached_at: None,
        created_at: now.at,
        state_at: now.at,
        updated_at: now.at,
        spent: Spent::default(),
    };
    let mut steps = Stepping::new(new, now);
    steps.tell(Frame::Started);
    match beginning {
        Beginning::At(exchange) => {
            steps.after.start = Some(exchange);
            steps.present(exchange, true, false);
        }
        Beginning::Run(run_id) => steps.tell(Frame::RunStarted { run_id }),
    }
    steps.done()
}

/// Whether asking for a turn now ends the coordination instead (S4-54).
pub fn would_exhaust(coordination: &Coordination) -> bool {
    coordination.turns_remaining() == 0
}

/// What is after an event, and what is told.
///
/// # Errors
/// When the event does not fit the state; nothing is changed then.
pub fn step(before: &Coordination, event: Event, now: Now) -> Result<Step, Illegal> {
    let mut steps = Stepping::new(before.clone(), now);
    match (before.state.clone(), event) {
        (State::Ended(_), _) => return Err(Illegal),
        (State::AwaitingDecision(_), Event::Turn { answered, run_id, thread }) => steps.turn(answered, run_id, thread),
        (State::AwaitingDecision(_), Event::Unprepared { answered, .. }) if would_exhaust(before) => {
            steps.accept(answered, None, None);
            steps.end(Outcome::Exhausted, None);
        }
        (State::AwaitingDecision(_), Event::Unprepared { answered, fault }) => {
            steps.consume();
            steps.accept(answered, None, None);
            steps.end(Outcome::Failed(Failure::Execution(fault)), None);
        }
        (State::AwaitingTools(batch), Event::Unprepared { answered, fault }) => {
            let run_id = Some(batch.turn.run_id);
            steps.accept(answered, run_id, None);
            steps.end(Outcome::Failed(Failure::Execution(fault)), None);
        }
        (State::AwaitingDecision(_), Event::Stop { answered }) => {
            steps.accept(answered, None, None);
            steps.end(Outcome::Stopped, None);
        }
        (State::AwaitingDecision(_), Event::Fail { answered, failure }) => {
            steps.accept(answered, None, None);
            steps.end(Outcome::Failed(Failure::Caller(failure)), None);
        }
        (State::AwaitingDecision(decision), Event::Delivered) => {
            steps.after.state = State::AwaitingDecision(Decision { delivered: true, ..decision });
        }
        (State::AwaitingTools(batch), Event::Results { answered, results }) => {
            steps.results(batch, answered, results)?
        }
        (State::AwaitingGeneration(generation), Event::Generated { answered }) => {
            steps.accept(answered, Some(generation.turn.run_id.clone()), None);
            steps.enter(State::TurnRunning(generation.turn));
        }
        (State::TurnRunning(turn), Event::Completed { exchange, calls }) => steps.completed(turn, exchange, calls),
        (State::TurnRunning(turn), Event::NeedsGeneration { number, kind, plan }) => match turn.cancelled {
            Some(cause) => steps.end(Outcome::Cancelled(cause), None),
            None => steps.generate(turn, number, kind, plan),
        },
        (State::TurnRunning(turn), Event::Failed { fault, exchange }) => {
            let outcome = match turn.cancelled {
                Some(cause) => Outcome::Cancelled(cause),
                None => Outcome::Failed(Failure::Execution(fault)),
            };
            steps.end(outcome, exchange);
        }
        (State::TurnRunning(turn), Event::Interrupted(fault)) => steps.interrupted(turn, fault),
        (State::TurnRunning(turn), Event::Cancel { answered, fault }) => {
            if let Some(answered) = answered {
                steps.accept(answered, Some(turn.run_id.clone()), None);
            }
            // The first cause is the one that is told.
            let cancelled = turn.cancelled.clone().or(Some(fault));
            steps.after.state = State::TurnRunning(Turn { cancelled, ..turn });
        }
        (State::AwaitingDecision(decision), Event::Cancel { answered, fault }) => {
            let undelivered = before.exchange.filter(|_| decision.result && !decision.delivered);
            steps.cancel(answered, fault, undelivered);
        }
        (State::AwaitingTools(_) | State::AwaitingGeneration(_), Event::Cancel { answered, fault }) => {
            steps.cancel(answered, fault, None);
        }
        (_, Event::Spent(spent)) => steps.after.spent.add(&spent),
        (_, Event::Detached) => steps.after.detached_at = Some(steps.now.at),
        _ => return Err(Illegal),
    }
    Ok(steps.done())
}

/// A transition that is being made.
struct Stepping {
    after: Coordination,
    now: Now,
    frames: Vec<Frame>,
}

impl Stepping {
    fn new(before: Coordination, mut now: Now) -> Self {
        let frames = std::mem::take(&mut now.told);
        let after = Coordination { updated_at: now.at, ..before };
        Self { after, now, frames }
    }

    fn done(mut self) -> Step {
        self.after.last_sequence = self.next_sequence().saturating_sub(1);
        Step { after: self.after, frames: self.frames }
    }

    /// The number that the next frame gets.
    fn next_sequence(&self) -> u64 {
        let told = u64::try_from(self.frames.len()).unwrap_or(u64::MAX);
        self.after.last_sequence.saturating_add(told).saturating_add(1)
    }

    fn tell(&mut self, frame: Frame) {
        self.frames.push(frame);
    }

    fn enter(&mut self, state: State) {
        self.after.state = state;
        self.after.state_at = self.now.at;
    }

    fn pending_id(&self, letter: char) -> PendingId {
        PendingId::new(letter, self.next_sequence(), self.now.unique)
    }

    fn consume(&mut self) {
        self.after.turns_started = self.after.turns_started.saturating_add(1);
    }

    fn accept(&mut self, answered: Answered, run_id: Option<RunId>, batch: Option<BatchProgress>) {
        let turns_started = self.after.turns_started;
        self.tell(Frame::Accepted { answered, run_id, turns_started, batch });
    }

    fn end(&mut self, outcome: Outcome, undelivered: Option<ExchangeId>) {
        let end = End { outcome, undelivered };
        self.tell(Frame::Ended(end.clone()));
        self.enter(State::Ended(end));
    }

    fn cancel(&mut self, answered: Option<Answered>, fault: Fault, undelivered: Option<ExchangeId>) {
        if let Some(answered) = answered {
            self.accept(answered, None, None);
        }
        self.end(Outcome::Cancelled(fault), undelivered);
    }

    fn turn(&mut self, answered: Answered, run_id: RunId, thread: Option<ThreadId>) {
        if would_exhaust(&self.after) {
            self.accept(answered, None, None);
            return self.end(Outcome::Exhausted, None);
        }
        self.consume();
        self.after.thread = thread;
        self.accept(answered, Some(run_id.clone()), None);
        self.tell(Frame::RunStarted { run_id: run_id.clone() });
        self.enter(State::TurnRunning(Turn { run_id, initial: false, rounds: 0, cancelled: None }));
    }

    fn results(&mut self, batch: Batch, answered: Answered, results: Vec<(CallId, Hash)>) -> Result<(), Illegal> {
        let mut batch = batch;
        for (call, hash) in &results {
            let fits = batch.calls.contains(call) && batch.results.get(call).is_none_or(|there| there == hash);
            if !fits {
                return Err(Illegal);
            }
            batch.results.insert(call.clone(), *hash);
        }
        let open = batch.open();
        let goes_on = open.is_empty();
        self.accept(answered, Some(batch.turn.run_id.clone()), Some(BatchProgress { results, open }));
        if goes_on {
            self.enter(State::TurnRunning(batch.turn));
        } else {
            self.after.state = State::AwaitingTools(batch);
        }
        Ok(())
    }

    fn completed(&mut self, turn: Turn, exchange: ExchangeId, calls: Vec<CallId>) {
        let wants_results = !calls.is_empty() && turn.rounds < self.after.terms.tool_round_limit;
        if let Some(cause) = turn.cancelled {
            // A run that called tools is not over, so it has no result.
            let undelivered = (!wants_results).then_some(exchange);
            self.after.exchange = undelivered.or(self.after.exchange);
            return self.end(Outcome::Cancelled(cause), undelivered);
        }
        if !wants_results {
            if turn.initial {
                self.after.start = Some(exchange);
            }
            return self.present(exchange, turn.initial, true);
        }
        let id = self.pending_id('t');
        let round = turn.rounds.saturating_add(1);
        let run_id = turn.run_id.clone();
        self.tell(Frame::ToolsNeeded { id: id.clone(), run_id, exchange, round });
        let turn = Turn { rounds: round, ..turn };
        self.enter(State::AwaitingTools(Batch { id, turn, exchange, calls, results: BTreeMap::new() }));
    }

    fn generate(&mut self, turn: Turn, number: u32, kind: AttemptKind, plan: Hash) {
        let (id, asked_at, run_id) = (self.pending_id('g'), self.now.at, turn.run_id.clone());
        self.tell(Frame::GenerationNeeded { id: id.clone(), run_id, number, kind, plan, asked_at });
        self.enter(State::AwaitingGeneration(Generation { id, turn, number, kind, plan, asked_at }));
    }

    fn interrupted(&mut self, turn: Turn, fault: Fault) {
        match (turn.cancelled, self.after.exchange.filter(|_| !turn.initial)) {
            (Some(cause), _) => self.end(Outcome::Cancelled(cause), None),
            (None, None) => self.end(Outcome::Failed(Failure::Execution(fault)), None),
            (None, Some(exchange)) => {
                self.after.interrupted = Some(turn.run_id);
                let starting = self.after.start == Some(exchange);
                // It was delivered, or it would not have been gone on from.
                self.present(exchange, starting, false);
            }
        }
    }

    fn present(&mut self, exchange: ExchangeId, starting: bool, result: bool) {
        let id = self.pending_id('d');
        self.after.exchange = Some(exchange);
        let decision = Decision { id: id.clone(), starting, result, delivered: false };
        self.enter(State::AwaitingDecision(decision));
        let allowed = self.after.terms.decision_timeout_ms;
        // A run that was interrupted is told with the decision that stands for its turn, and with no later one.
        let interrupted = self.after.interrupted.clone().filter(|_| !result);
        let frame = Frame::DecisionNeeded {
            id,
            exchange,
            starting,
            turns_started: self.after.turns_started,
            thread: self.after.thread.clone(),
            interrupted,
            expires_at: allowed.map(|allowed| Moment(self.now.at.0.saturating_add(allowed))),
        };
        self.tell(frame);
    }
}
