//! Each transition by name, and the machine against a small model under random events, cancels, crashes and stale answers.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use uuid::Uuid;

use super::machine::{Beginning, Event, Illegal, Now, Opening, Step, start, step};
use super::{
    Answered, CallerFailure, Coordination, Decision, Expiry, Failure, Frame, Outcome, PendingId, State, Terms, Turn,
};
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{CallId, CoordinationId, ExchangeId, Hash, Moment, RunId};
use crate::domain::run::{AttemptKind, OnDisconnect};
use crate::domain::spend::{SpendLimit, Spent};
use crate::domain::thread::{OnBusy, Unanswered};

pub(crate) fn terms(additional_turns: u32, tool_round_limit: u32) -> Terms {
    Terms {
        additional_turns,
        tool_round_limit,
        deltas: false,
        deadline: None,
        decision_timeout_ms: None,
        expiry_ms: None,
        on_disconnect: OnDisconnect::Finish,
        on_busy: OnBusy::Reject,
        unanswered: Unanswered::Reject,
        omit_generation_history: false,
        spend_limit: SpendLimit::default(),
    }
}

fn opening(turns: u32, rounds: u32) -> Opening {
    Opening {
        id: CoordinationId::new("c"),
        fingerprint: Hash::of(b"start"),
        terms: terms(turns, rounds),
        labels: BTreeMap::new(),
        thread: None,
    }
}

fn now(at: u64) -> Now {
    Now { at: Moment(at), unique: Uuid::from_u128(u128::from(at)), told: Vec::new() }
}

fn exchange(n: u8) -> ExchangeId {
    ExchangeId::from_bytes([n; 16])
}

fn answered() -> Answered {
    Answered { id: "d".to_owned(), fingerprint: Hash::of(b"answer") }
}

fn fault() -> Fault {
    Fault::new(Reason::ProviderUnavailable, "down")
}

fn turn(run: &str) -> Event {
    Event::Turn { answered: answered(), run_id: RunId::new(run), thread: None }
}

fn completed(n: u8, calls: &[&str]) -> Event {
    Event::Completed { exchange: exchange(n), calls: calls.iter().map(|call| CallId::new(*call)).collect() }
}

fn cancel() -> Event {
    Event::Cancel { answered: None, fault: Fault::new(Reason::RunCancelled, "enough") }
}

fn results(calls: &[&str]) -> Event {
    let results = calls.iter().map(|call| (CallId::new(*call), Hash::of(call.as_bytes()))).collect();
    Event::Results { answered: answered(), results }
}

fn begun(turns: u32, rounds: u32) -> Coordination {
    start(opening(turns, rounds), Beginning::At(exchange(1)), now(1)).after
}

/// Follows events, each of which must fit.
fn after(mut coordination: Coordination, events: &[Event]) -> Step {
    let mut last = Step { after: coordination.clone(), frames: Vec::new() };
    for (at, event) in (2..).zip(events) {
        last = step(&coordination, event.clone(), now(at)).unwrap();
        coordination = last.after.clone();
    }
    last
}

fn refused(coordination: &Coordination, event: Event) -> bool {
    step(coordination, event, now(99)) == Err(Illegal)
}

fn decision(coordination: &Coordination) -> Decision {
    match &coordination.state {
        State::AwaitingDecision(decision) => decision.clone(),
        state => panic!("{}", state.word()),
    }
}

fn outcome(step: &Step) -> Outcome {
    step.after.state.end().unwrap().outcome.clone()
}

#[test]
fn start_at_an_exchange_presents_it_as_the_starting_one() {
    let step = start(opening(3, 1), Beginning::At(exchange(1)), now(7));
    assert_eq!(step.frames.len(), 2);
    assert!(matches!(
        step.frames[1],
        Frame::DecisionNeeded { exchange: presented, starting: true, turns_started: 0, .. } if presented == exchange(1)
    ));
    let pending = decision(&step.after);
    assert_eq!((pending.id.sequence(), pending.starting, pending.result), (Some(2), true, false));
    assert_eq!((step.after.last_sequence, step.after.turns_remaining()), (2, 3));
}

#[test]
fn an_initial_request_is_outside_the_budget_and_its_exchange_is_the_starting_one() {
    let first = start(opening(2, 1), Beginning::Run(RunId::new("r")), now(1)).after;
    assert_eq!((first.state.word(), first.exchange), ("TURN_RUNNING", None));
    let next = after(first, &[completed(1, &[])]).after;
    let pending = decision(&next);
    assert!(pending.starting && pending.result);
    assert_eq!((next.start, next.turns_started), (Some(exchange(1)), 0));
}

#[test]
fn a_turn_consumes_one_and_its_result_is_presented() {
    let running = after(begun(2, 1), &[turn("r")]);
    assert_eq!(running.frames.len(), 2);
    assert_eq!((running.after.turns_started, running.after.state.run_id()), (1, Some(&RunId::new("r"))));
    let next = after(running.after, &[completed(2, &[])]).after;
    let pending = decision(&next);
    assert!(pending.result && !pending.starting && !pending.delivered);
    assert_eq!(next.exchange, Some(exchange(2)));
}

/// S4-52..55: the last permitted result is delivered, using the whole budget is no exhaustion, and asking for more executes nothing.
#[test]
fn a_turn_with_none_left_is_exhaustion() {
    let used = after(begun(1, 1), &[turn("r"), completed(2, &[])]).after;
    assert_eq!((used.turns_remaining(), used.state.word()), (0, "AWAITING_DECISION"));
    let end = after(used.clone(), &[turn("more")]);
    assert_eq!((outcome(&end), end.after.turns_started), (Outcome::Exhausted, 1));
    assert_eq!(outcome(&after(used, &[Event::Stop { answered: answered() }])), Outcome::Stopped);
}

/// S4-57..60.
#[test]
fn a_budget_of_zero_asks_once() {
    let zero = begun(0, 1);
    assert!(decision(&zero).starting);
    assert_eq!(outcome(&after(zero.clone(), &[turn("r")])), Outcome::Exhausted);
    assert_eq!(outcome(&after(zero.clone(), &[Event::Stop { answered: answered() }])), Outcome::Stopped);
    let failure = CallerFailure { code: 9, reason: "NO".to_owned(), ..CallerFailure::default() };
    let failed = after(zero, &[Event::Fail { answered: answered(), failure: failure.clone() }]);
    assert_eq!(outcome(&failed), Outcome::Failed(Failure::Caller(failure)));
}

/// S4-64, S4-66.
#[test]
fn a_turn_that_cannot_be_prepared_is_consumed_and_ends_it() {
    let second = after(begun(3, 1), &[turn("a"), completed(2, &[])]).after;
    let end = after(second, &[Event::Unprepared { answered: answered(), fault: fault() }]);
    assert_eq!(outcome(&end), Outcome::Failed(Failure::Execution(fault())));
    assert_eq!(end.after.turns_started, 2);
    let none_left = after(begun(0, 1), &[Event::Unprepared { answered: answered(), fault: fault() }]);
    assert_eq!((outcome(&none_left), none_left.after.turns_started), (Outcome::Exhausted, 0));
}

#[test]
fn calls_wait_for_all_their_results_in_any_order() {
    let waiting = after(begun(1, 1), &[turn("r"), completed(2, &["a", "b"])]).after;
    assert_eq!((waiting.state.word(), waiting.exchange), ("AWAITING_TOOLS", Some(exchange(1))));
    let part = after(waiting.clone(), &[results(&["b"])]).after;
    let State::AwaitingTools(batch) = &part.state else { panic!("{}", part.state.word()) };
    assert_eq!(batch.open(), [CallId::new("a")]);
    assert_eq!(part.state_at, waiting.state_at, "a part does not restart what is measured from the state");
    // The same result again changes nothing; another one, or one for no call of the batch, is refused.
    assert_eq!(after(part.clone(), &[results(&["b"])]).after.state.word(), "AWAITING_TOOLS");
    let other = Event::Results { answered: answered(), results: vec![(CallId::new("b"), Hash::of(b"other"))] };
    assert!(refused(&part, other) && refused(&part, results(&["c"])));
    let running = after(part, &[results(&["a"])]).after;
    assert_eq!((running.state.word(), running.turns_started), ("TURN_RUNNING", 1));
}

#[test]
fn calls_beyond_the_limit_of_rounds_are_presented() {
    let second = after(begun(1, 1), &[turn("r"), completed(2, &["a"]), results(&["a"]), completed(3, &["b"])]).after;
    assert!(decision(&second).result);
    assert_eq!(second.exchange, Some(exchange(3)));
    let none = after(begun(1, 0), &[turn("r"), completed(2, &["a"])]).after;
    assert!(decision(&none).result);
}

#[test]
fn results_that_cannot_go_on_end_it() {
    let waiting = after(begun(1, 1), &[turn("r"), completed(2, &["a"])]).after;
    let end = after(waiting, &[Event::Unprepared { answered: answered(), fault: fault() }]);
    assert_eq!((outcome(&end), end.after.turns_started), (Outcome::Failed(Failure::Execution(fault())), 1));
}

#[test]
fn a_generation_waits_for_the_client() {
    let needs = Event::NeedsGeneration { number: 1, kind: AttemptKind::First, plan: Hash::of(b"plan") };
    let waiting = after(begun(1, 1), &[turn("r"), needs]).after;
    assert_eq!(waiting.state.word(), "AWAITING_GENERATION");
    let running = after(waiting, &[Event::Generated { answered: answered() }]).after;
    assert_eq!(running.state.run_id(), Some(&RunId::new("r")));
}

/// S4-63, S4-73.
#[test]
fn the_first_error_ends_it() {
    let end = after(begun(3, 1), &[turn("r"), Event::Failed { fault: fault(), exchange: None }]);
    assert_eq!(outcome(&end), Outcome::Failed(Failure::Execution(fault())));
    assert!(refused(&end.after, turn("more")) && refused(&end.after, cancel()));
}

#[test]
fn an_interrupted_turn_stays_consumed_and_the_same_exchange_is_presented_anew() {
    let before = begun(2, 1);
    let (first, step) = (decision(&before).id, after(before, &[turn("r"), Event::Interrupted(fault())]));
    let pending = decision(&step.after);
    assert!(pending.id != first && !pending.result && pending.starting);
    assert_eq!((step.after.turns_started, step.after.exchange), (1, Some(exchange(1))));
    assert!(step.frames.iter().any(|frame| matches!(
        frame,
        Frame::DecisionNeeded { interrupted: Some(run), .. } if *run == RunId::new("r")
    )));
    let initial = start(opening(1, 1), Beginning::Run(RunId::new("i")), now(1)).after;
    let end = after(initial, &[Event::Interrupted(fault())]);
    assert_eq!(outcome(&end), Outcome::Failed(Failure::Execution(fault())));
}

#[test]
fn the_decision_after_an_interrupted_one_does_not_name_it_again() {
    let events = [turn("r"), Event::Interrupted(fault()), turn("s"), completed(2, &[])];
    let step = after(begun(2, 1), &events);
    assert!(step.frames.iter().any(|frame| matches!(frame, Frame::DecisionNeeded { interrupted: None, .. })));
}

/// S4-68..70: a cancel that comes before the delivery keeps the result as undelivered.
#[test]
fn a_cancel_keeps_a_result_that_was_not_delivered() {
    let presented = after(begun(2, 1), &[turn("r"), completed(2, &[])]).after;
    let undelivered = after(presented.clone(), &[cancel()]);
    assert_eq!(undelivered.after.state.end().unwrap().undelivered, Some(exchange(2)));
    let delivered = after(presented, &[Event::Delivered, cancel()]);
    assert_eq!(delivered.after.state.end().unwrap().undelivered, None);
    // The starting exchange is no result.
    assert_eq!(after(begun(1, 1), &[cancel()]).after.state.end().unwrap().undelivered, None);
}

#[test]
fn a_cancel_in_a_turn_ends_it_with_the_turn() {
    let running = after(begun(2, 1), &[turn("r"), cancel()]).after;
    assert_eq!(running.state.word(), "TURN_RUNNING");
    for (end, undelivered) in [
        (completed(2, &[]), Some(exchange(2))),
        (completed(2, &["a"]), None),
        (Event::Failed { fault: fault(), exchange: None }, None),
        (Event::Interrupted(fault()), None),
        (Event::NeedsGeneration { number: 1, kind: AttemptKind::First, plan: Hash::of(b"p") }, None),
    ] {
        let step = after(running.clone(), &[end]);
        assert!(matches!(outcome(&step), Outcome::Cancelled(fault) if fault.message == "enough"));
        assert_eq!(step.after.state.end().unwrap().undelivered, undelivered);
    }
}

/// S4-77: a caller that fails after a delivery has had the result.
#[test]
fn a_failure_of_the_caller_leaves_nothing_undelivered() {
    let presented = after(begun(2, 1), &[turn("r"), completed(2, &[])]).after;
    let end = after(presented, &[Event::Fail { answered: answered(), failure: CallerFailure::default() }]);
    assert_eq!(end.after.state.end().unwrap().undelivered, None);
}

#[test]
fn frames_that_were_told_ahead_are_kept_with_the_transition() {
    let running = after(begun(1, 1), &[turn("r")]).after;
    let attempt =
        |number| Frame::Attempt { number, kind: AttemptKind::First, backend_id: "b".to_owned(), model: "m".to_owned() };
    let told = vec![attempt(1), attempt(2)];
    let next = step(&running, completed(2, &[]), Now { told: told.clone(), ..now(9) }).unwrap();
    assert_eq!(next.frames[..2], told);
    assert_eq!(next.after.last_sequence, running.last_sequence + 3);
    assert_eq!(decision(&next.after).id.sequence(), Some(next.after.last_sequence));
}

#[test]
fn time_runs_out_by_the_first_of_three() {
    let mut waiting = begun(1, 1);
    assert_eq!(waiting.expiry(false), None);
    waiting.terms = Terms { expiry_ms: Some(500), decision_timeout_ms: Some(300), ..waiting.terms };
    assert_eq!(waiting.expiry(false), Some((Moment(301), Expiry::Decision)));
    waiting.terms.decision_timeout_ms = None;
    assert_eq!((waiting.expiry(false), waiting.expiry(true)), (Some((Moment(501), Expiry::Alone)), None));
    let let_go = step(&waiting, Event::Detached, now(50)).unwrap().after;
    assert_eq!(let_go.expiry(false), Some((Moment(550), Expiry::Alone)));
    waiting.terms.deadline = Some(Moment(40));
    assert_eq!(waiting.expiry(true), Some((Moment(40), Expiry::Deadline)));
    let over = after(waiting, &[Event::Stop { answered: answered() }]).after;
    assert_eq!(over.expiry(false), None);
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let (waiting, running) = (begun(1, 1), after(begun(1, 1), &[turn("r")]).after);
    let tools = after(running.clone(), &[completed(2, &["a"])]).after;
    assert!(refused(&waiting, completed(2, &[])) && refused(&waiting, results(&["a"])));
    assert!(refused(&running, turn("s")) && refused(&running, Event::Stop { answered: answered() }));
    assert!(refused(&running, Event::Delivered));
    assert!(refused(&tools, turn("s")) && refused(&tools, Event::Generated { answered: answered() }));
}

/// What the machine promises, told without its states.
#[derive(Default)]
struct Model {
    claimed: u32,
    presented: BTreeSet<ExchangeId>,
    asked: BTreeSet<PendingId>,
    sequence: u64,
    ended: bool,
}

impl Model {
    fn follow(&mut self, before: &Coordination, step: &Step) {
        let first = step.after.last_sequence + 1 - step.frames.len() as u64;
        assert_eq!(first, self.sequence + 1, "numbers follow one another");
        self.sequence = step.after.last_sequence;
        for (number, frame) in (first..).zip(&step.frames) {
            assert!(!self.ended, "nothing is told after the end");
            match frame {
                Frame::DecisionNeeded { id, exchange, .. } => {
                    assert_eq!(id.sequence(), Some(number));
                    assert!(self.asked.insert(id.clone()), "each id is asked for once");
                    let result = decision(&step.after).result;
                    assert!(!result || self.presented.insert(*exchange), "each result is delivered once");
                }
                Frame::ToolsNeeded { id, .. } | Frame::GenerationNeeded { id, .. } => {
                    assert_eq!(id.sequence(), Some(number));
                    assert!(self.asked.insert(id.clone()));
                }
                Frame::RunStarted { .. } => self.claimed += 1,
                Frame::Ended(end) => {
                    self.ended = true;
                    if let Some(undelivered) = end.undelivered {
                        let waits = matches!(&before.state, State::AwaitingDecision(d) if d.result && !d.delivered);
                        assert!(waits || self.presented.insert(undelivered), "what was delivered is not undelivered");
                    }
                }
                _ => {}
            }
        }
        assert!(self.claimed <= step.after.terms.additional_turns, "at most so many turns are started (S4-62)");
        assert!(self.claimed <= step.after.turns_started, "each turn is consumed");
        assert!(step.after.turns_started <= step.after.terms.additional_turns);
        assert_eq!(step.after.state.end().is_some(), self.ended);
    }
}

fn events() -> impl Strategy<Value = Vec<(u8, u8)>> {
    proptest::collection::vec((0..12_u8, 0..4_u8), 0..60)
}

fn event(kind: u8, n: u8, at: usize) -> Event {
    let calls = ["a", "b", "c"];
    let some = &calls[..usize::from(n).min(3)];
    match kind {
        0 | 1 => turn(&format!("r{at}")),
        2 | 3 => completed(u8::try_from(at + 2).unwrap(), &[]),
        4 => completed(u8::try_from(at + 2).unwrap(), some),
        5 | 6 => results(some),
        7 => Event::Delivered,
        8 => match n {
            0 => Event::Stop { answered: answered() },
            1 => Event::Fail { answered: answered(), failure: CallerFailure::default() },
            2 => Event::Unprepared { answered: answered(), fault: fault() },
            _ => Event::Detached,
        },
        9 => match n {
            0 => cancel(),
            1 => Event::Failed { fault: fault(), exchange: None },
            _ => Event::Interrupted(fault()),
        },
        10 => Event::NeedsGeneration { number: 1, kind: AttemptKind::First, plan: Hash::of(&[n]) },
        _ => Event::Generated { answered: answered() },
    }
}

proptest! {
    #[test]
    fn whatever_happens_the_promises_hold(turns in 0..5_u32, rounds in 0..3_u32, events in events()) {
        let first = start(opening(turns, rounds), Beginning::At(exchange(1)), now(1));
        let mut model = Model::default();
        model.follow(&first.after, &first);
        let mut coordination = first.after;
        for (at, (kind, n)) in events.into_iter().enumerate() {
            let moment = now(u64::try_from(at).unwrap() + 2);
            // A duplicate, stale or misplaced event changes nothing.
            if let Ok(next) = step(&coordination, event(kind, n, at), moment) {
                model.follow(&coordination, &next);
                coordination = next.after;
            }
        }
    }
}

#[test]
fn a_turn_that_was_cancelled_twice_tells_the_first_cause() {
    let running = after(begun(1, 1), &[turn("r"), cancel()]).after;
    let again = Event::Cancel { answered: None, fault: fault() };
    let step = after(running, &[again]);
    assert!(
        matches!(&step.after.state, State::TurnRunning(Turn { cancelled: Some(first), .. }) if first.message == "enough")
    );
}

#[test]
fn what_is_spent_adds_up_until_the_end() {
    let spent = |tokens| Event::Spent(Spent { tokens, ..Spent::default() });
    let twice = after(begun(3, 1), &[turn("r"), spent(2), completed(2, &[]), turn("s"), spent(3)]);
    assert_eq!((twice.after.spent.tokens, twice.frames.len()), (5, 0));
    assert!(matches!(twice.after.state, State::TurnRunning(_)));
    let over = after(begun(3, 1), &[Event::Stop { answered: answered() }]).after;
    assert!(refused(&over, spent(1)));
}
