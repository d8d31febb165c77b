//! Every frame goes out whole, and a coordination tells the same of itself outside of its stream.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::*;
use crate::app::coordination::Whole;
use crate::app::turn::Detailed;
use crate::domain::coordination::{self as domain, Batch, Coordination, Decision, End, PendingId, Terms, Turn};
use crate::domain::fault::Reason;
use crate::domain::id::{CallId, CoordinationId, ExchangeId, Hash, Moment, RunId, ThreadId};
use crate::domain::message::{Message, Part, Role, ToolCall, ToolResult};
use crate::domain::run::{AttemptKind, OnDisconnect};
use crate::domain::settings::{Contract, EffectiveSetting, Parameters, Source, ToolChoice, Warning};
use crate::domain::spend::{SpendLimit, Spent};
use crate::domain::thread::{OnBusy, Unanswered};
use crate::domain::tool::ToolSet;
use crate::engine::backend::Delta;
use crate::grpc::convert::exchange::tests::calling;
use crate::grpc::convert::run::tests::running;
use pb::coordinate_response::Frame;

fn frame(what: What) -> Frame {
    let told = to_pb(Told { sequence: 7, what });
    assert_eq!(told.sequence, 7);
    told.frame.unwrap()
}

fn exchange_id(number: u128) -> ExchangeId {
    ExchangeId::new(Uuid::from_u128(number))
}

fn detailed() -> Detailed {
    let (exchange, offered) = calling();
    Detailed { exchange, offered, standing: ToolSet::default() }
}

fn result(call: &str) -> ToolResult {
    ToolResult { call_id: CallId::new(call), parts: vec![Part::text("42")], is_error: false, interrupted: false }
}

fn call(name: &str) -> ToolCall {
    ToolCall {
        call_id: CallId::new(name),
        provider_call_id: String::new(),
        name: name.to_owned(),
        arguments_json: "{}".to_owned(),
        arguments_invalid: false,
    }
}

fn waits_for_tools() -> domain::State {
    domain::State::AwaitingTools(Batch {
        id: PendingId::given("b1"),
        turn: Turn { run_id: RunId::new("r"), initial: false, rounds: 1, cancelled: None },
        exchange: exchange_id(2),
        calls: vec![CallId::new("x"), CallId::new("y")],
        results: BTreeMap::from([(CallId::new("x"), Hash([1; 32]))]),
    })
}

fn decides() -> domain::State {
    domain::State::AwaitingDecision(Decision {
        id: PendingId::given("d1"),
        starting: false,
        result: true,
        delivered: true,
    })
}

fn ended(outcome: Outcome) -> domain::State {
    domain::State::Ended(End { outcome, undelivered: Some(exchange_id(9)) })
}

fn view(state: domain::State) -> View {
    let coordination = Coordination {
        id: CoordinationId::new("c"),
        fingerprint: Hash([3; 32]),
        terms: Terms {
            additional_turns: 5,
            tool_round_limit: 16,
            deltas: false,
            deadline: Some(Moment(90_000)),
            decision_timeout_ms: Some(2_500),
            expiry_ms: Some(60_000),
            on_disconnect: OnDisconnect::Finish,
            on_busy: OnBusy::Reject,
            unanswered: Unanswered::Reject,
            omit_generation_history: false,
            spend_limit: SpendLimit::default(),
        },
        labels: BTreeMap::from([("k".to_owned(), "v".to_owned())]),
        start: Some(exchange_id(1)),
        exchange: Some(exchange_id(2)),
        thread: Some(ThreadId::new("t")),
        turns_started: 2,
        state,
        interrupted: Some(RunId::new("r0")),
        last_sequence: 11,
        detached_at: None,
        created_at: Moment(1_000),
        state_at: Moment(2_000),
        updated_at: Moment(3_000),
        spent: Spent::default(),
    };
    View { coordination, attached: false, ephemeral: false }
}

#[test]
fn a_stream_begins_with_where_the_coordination_is() {
    let now = Box::new(view(waits_for_tools()));
    let Frame::Started(started) = frame(What::Started { attached: true, now }) else { panic!() };
    let expected = pb::CoordinationStarted {
        coordination_id: "c".to_owned(),
        attached: true,
        state: pb::CoordinationState::AwaitingTools.into(),
        pending_id: "b1".to_owned(),
        exchange_id: exchange_id(2).to_string(),
        thread_id: "t".to_owned(),
        run_id: "r".to_owned(),
        turns_started: 2,
        turns_remaining: 3,
        last_sequence: 11,
    };
    assert_eq!(started, expected);
    let now = Box::new(View { ephemeral: true, ..view(decides()) });
    let Frame::Started(started) = frame(What::Started { attached: false, now }) else { panic!() };
    assert_eq!((started.coordination_id.as_str(), started.pending_id.as_str(), started.attached), ("", "d1", false));
}

#[test]
fn a_result_is_presented_with_its_run() {
    let needed = |run: Option<_>| DecisionNeeded {
        id: PendingId::given("d1"),
        exchange: detailed(),
        starting: true,
        run,
        turns_started: 2,
        turns_remaining: 3,
        thread: Some(ThreadId::new("t")),
        interrupted: Some(RunId::new("r0")),
        expires_at: Some(Moment(4_500)),
    };
    let out = |run| match frame(What::DecisionNeeded(Box::new(needed(run)))) {
        Frame::DecisionNeeded(needed) => needed,
        other => panic!("{other:?}"),
    };
    let waits = crate::domain::run::Run { state: State::PendingTools, exchange: Some(exchange_id(2)), ..running() };
    let told = out(Some(waits));
    assert_eq!((told.decision_id.as_str(), told.starting, told.thread_id.as_str()), ("d1", true, "t"));
    assert_eq!((told.turns_started, told.turns_remaining, told.interrupted_run_id.as_str()), (2, 3, "r0"));
    assert_eq!(told.exchange.unwrap().pending_tool_calls.len(), 1);
    let run = told.run.unwrap();
    assert_eq!((run.state(), run.pending_tool_calls.len(), run.observations.len()), (pb::RunState::PendingTools, 1, 1));
    assert_eq!(told.expire_time.map(|at| at.seconds), Some(4));
    let over = crate::domain::run::Run { state: State::Completed, exchange: Some(exchange_id(2)), ..running() };
    assert!(out(Some(over)).run.unwrap().pending_tool_calls.is_empty());
    assert_eq!(out(None).run, None);
}

#[test]
fn calls_go_out_with_the_tools_that_were_offered() {
    let (_, offered) = calling();
    let needed = ToolsNeeded {
        id: PendingId::given("b1"),
        run_id: RunId::new("r"),
        exchange: detailed(),
        calls: vec![(call("look"), offered.tools.first().cloned()), (call("unknown"), None)],
        results: vec![result("x")],
        round: 2,
        rounds_remaining: 14,
    };
    let Frame::ToolsNeeded(told) = frame(What::ToolsNeeded(Box::new(needed))) else { panic!() };
    assert_eq!((told.batch_id.as_str(), told.run_id.as_str()), ("b1", "r"));
    assert_eq!((told.round, told.rounds_remaining, told.results[0].call_id.as_str()), (2, 14, "x"));
    let tools: Vec<_> = told
        .calls
        .iter()
        .map(|needed| (needed.call.as_ref().unwrap().name.as_str(), needed.tool.as_ref().map(|t| t.name.as_str())))
        .collect();
    assert_eq!(tools, [("look", Some("look")), ("unknown", None)]);
    assert!(told.exchange.is_some());
}

fn generation() -> GenerationNeeded {
    GenerationNeeded {
        id: PendingId::given("g1"),
        run_id: RunId::new("r"),
        number: 2,
        kind: AttemptKind::Repair,
        parent: Some(exchange_id(1)),
        messages: vec![Message::text(Role::User, "q")],
        omitted_messages: 40,
        backend_id: "b".to_owned(),
        model: "m".to_owned(),
        parameters: Parameters { seed: Some(3), ..Parameters::default() },
        tools: calling().1,
        tool_choice: ToolChoice::Named("look".to_owned()),
        contract: Contract::Json,
        session_id: Some("s".to_owned()),
        settings: vec![EffectiveSetting {
            name: "model".to_owned(),
            value_json: "\"m\"".to_owned(),
            source: Source::Profile,
        }],
        expires_at: Some(Moment(5_000)),
    }
}

#[test]
fn a_generation_goes_out_with_all_that_the_client_needs() {
    let out = |needed| match frame(What::GenerationNeeded(Box::new(needed))) {
        Frame::GenerationNeeded(needed) => needed,
        other => panic!("{other:?}"),
    };
    let told = out(generation());
    assert_eq!((told.generation_id.as_str(), told.run_id.as_str(), told.number), ("g1", "r", 2));
    assert_eq!((told.kind(), told.parent_exchange_id.clone()), (pb::AttemptKind::Repair, exchange_id(1).to_string()));
    assert_eq!((told.messages.len(), told.omitted_messages), (1, 40));
    assert_eq!((told.backend_id.as_str(), told.model.as_str(), told.session_id.as_str()), ("b", "m", "s"));
    assert_eq!(told.parameters.as_ref().and_then(|parameters| parameters.seed), Some(3));
    assert_eq!((told.tools.as_ref().map(|set| set.tools.len()), told.effective_settings.len()), (Some(1), 1));
    let named = pb::tool_choice::Choice::Named(pb::ToolChoiceNamed { name: "look".to_owned() });
    assert_eq!(told.tool_choice.and_then(|choice| choice.choice), Some(named));
    let json = pb::contract::Form::Json(pb::JsonContract {});
    assert_eq!(told.contract.and_then(|contract| contract.form), Some(json));
    assert_eq!(told.expire_time.map(|at| at.seconds), Some(5));
    for (choice, out_choice) in [
        (ToolChoice::Auto, None),
        (ToolChoice::None, Some(pb::tool_choice::Choice::None(pb::ToolChoiceNone {}))),
        (ToolChoice::Required, Some(pb::tool_choice::Choice::Required(pb::ToolChoiceRequired {}))),
    ] {
        let told = out(GenerationNeeded { tool_choice: choice, ..generation() });
        assert_eq!(told.tool_choice.and_then(|choice| choice.choice), out_choice);
    }
}

#[test]
fn an_accepted_answer_says_what_is_known_of_its_batch() {
    let accepted = Accepted {
        id: "b1".to_owned(),
        replayed: true,
        run_id: Some(RunId::new("r")),
        turns_started: 2,
        turns_remaining: 3,
        batch: Some((vec![result("x")], vec![CallId::new("y")])),
    };
    let Frame::Accepted(told) = frame(What::Accepted(accepted.clone())) else { panic!() };
    assert_eq!((told.id.as_str(), told.replayed, told.run_id.as_str()), ("b1", true, "r"));
    assert_eq!((told.turns_started, told.turns_remaining), (2, 3));
    let batch = told.batch.unwrap();
    assert_eq!((batch.results[0].call_id.as_str(), batch.pending_call_ids), ("x", vec!["y".to_owned()]));
    assert_eq!(accepted_to_pb(Accepted { batch: None, ..accepted }).batch, None);
}

#[test]
fn a_rejected_answer_names_each_field() {
    let fault = Fault::field("next_action.turn.request.profile_id", "is unknown").retry_after(1_500);
    let Frame::Rejected(told) = frame(What::Rejected { id: "d1".to_owned(), fault }) else { panic!() };
    let error = told.error.unwrap();
    assert_eq!((told.id.as_str(), error.code, error.reason.as_str()), ("d1", 3, "INVALID_FIELDS"));
    let problem =
        pb::FieldProblem { field: "next_action.turn.request.profile_id".to_owned(), message: "is unknown".to_owned() };
    assert_eq!(told.fields, [problem]);
    assert_eq!(told.retry_after.map(|delay| (delay.seconds, delay.nanos)), Some((1, 500_000_000)));
    let stale = rejected_to_pb(String::new(), &Fault::new(Reason::AnswerStale, "m").with("pending_id", "d2"));
    assert_eq!((stale.fields.len(), stale.retry_after), (0, None));
    assert_eq!(
        stale.error.map(|error| (error.code, error.metadata["pending_id"].clone())),
        Some((10, "d2".to_owned()))
    );
}

#[test]
fn what_happens_meanwhile_keeps_its_kind() {
    let Frame::RunStarted(told) = frame(What::RunStarted(RunId::new("r"))) else { panic!() };
    assert_eq!(told.run_id, "r");
    let attempt =
        What::Attempt { number: 2, kind: AttemptKind::Retry, backend_id: "b".to_owned(), model: "m".to_owned() };
    let Frame::Attempt(told) = frame(attempt) else { panic!() };
    assert_eq!((told.number, told.kind(), told.backend_id.as_str()), (2, pb::AttemptKind::Retry, "b"));
    let warning = Warning { code: "w".to_owned(), message: "m".to_owned() };
    assert!(matches!(frame(What::Warning(warning)), Frame::Warning(told) if told.code == "w"));
    assert!(matches!(frame(What::Delta(Delta::Text("a".to_owned()))), Frame::Delta(told) if told.delta.is_some()));
    let Frame::Heartbeat(told) = frame(What::Heartbeat(Moment(1_000))) else { panic!() };
    assert_eq!(told.time.map(|at| at.seconds), Some(1));
    let Frame::Draining(told) = frame(What::Draining(Moment(2_000))) else { panic!() };
    assert_eq!(told.deadline.map(|at| at.seconds), Some(2));
}

#[test]
fn a_detached_stream_is_told_what_is_pending() {
    for (reason, word) in [
        (DetachReason::TakenOver, pb::DetachReason::TakenOver),
        (DetachReason::Suspended, pb::DetachReason::Suspended),
        (DetachReason::HalfClosed, pb::DetachReason::HalfClosed),
        (DetachReason::Draining, pb::DetachReason::Draining),
    ] {
        let now = Box::new(view(waits_for_tools()));
        let Frame::Detached(told) = frame(What::Detached { reason, now }) else { panic!() };
        assert_eq!((told.reason(), told.state()), (word, pb::CoordinationState::AwaitingTools));
        assert_eq!((told.coordination_id.as_str(), told.pending_id.as_str()), ("c", "b1"));
        assert_eq!(told.pending_call_ids, ["y"]);
        assert_eq!(told.expire_time.map(|at| at.seconds), Some(62), "when it was left alone for too long");
    }
}

#[test]
fn each_end_has_its_own_word() {
    use pb::coordination_ended::Outcome as Pb;
    let out = |outcome| match frame(What::Ended(Box::new(Ended { outcome, undelivered: None }))) {
        Frame::Ended(ended) => ended.outcome.unwrap(),
        other => panic!("{other:?}"),
    };
    assert!(matches!(out(Outcome::Stopped), Pb::Stopped(_)));
    assert!(matches!(out(Outcome::Exhausted), Pb::Exhausted(_)));
    let fault = Fault::new(Reason::ProviderRateLimited, "slow").retry_after(10);
    let Pb::Failed(failed) = out(Outcome::Failed(Failure::Execution(fault.clone()))) else { panic!() };
    assert_eq!((failed.error, failed.caller_failure), (Some(fault::to_pb(&fault)), None));
    let passed = Fault::new(Reason::Deadline, "late");
    let Pb::Cancelled(cancelled) = out(Outcome::Cancelled(passed)) else { panic!() };
    assert_eq!(cancelled.error.map(|error| error.code), Some(4));

    let failure = CallerFailure {
        code: 9,
        message: "m".to_owned(),
        reason: "R".to_owned(),
        domain: "caller".to_owned(),
        metadata: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
        details_json: " {} ".to_owned(),
    };
    let Pb::Failed(failed) = out(Outcome::Failed(Failure::Caller(failure.clone()))) else { panic!() };
    let error = failed.error.unwrap();
    assert_eq!((error.code, error.message.as_str(), error.reason.as_str()), (9, "m", "R"));
    assert_eq!(error.metadata, failure.metadata);
    assert_eq!(failed.caller_failure, Some(caller_failure_to_pb(failure)));
    let undelivered = ended_to_pb(Ended { outcome: Outcome::Stopped, undelivered: Some(detailed()) });
    assert_eq!(undelivered.undelivered_exchange.map(|exchange| exchange.exchange_id), Some(exchange_id(2).to_string()));
}

#[test]
fn a_coordination_goes_out_whole() {
    let out = view::to_pb(View { attached: true, ..view(decides()) });
    let seconds = |seconds| Some(prost_types::Timestamp { seconds, nanos: 0 });
    let expected = pb::Coordination {
        coordination_id: "c".to_owned(),
        state: pb::CoordinationState::AwaitingDecision.into(),
        attached: true,
        pending_id: "d1".to_owned(),
        pending_call_ids: Vec::new(),
        pending: None,
        start_exchange_id: exchange_id(1).to_string(),
        exchange_id: exchange_id(2).to_string(),
        thread_id: "t".to_owned(),
        active_run_id: String::new(),
        interrupted_run_id: "r0".to_owned(),
        additional_turns: 5,
        turns_started: 2,
        turns_remaining: 3,
        tool_round_limit: 16,
        on_disconnect: pb::OnDisconnect::Finish.into(),
        deadline: seconds(90),
        decision_timeout: Some(prost_types::Duration { seconds: 2, nanos: 500_000_000 }),
        expire_time: Some(prost_types::Timestamp { seconds: 4, nanos: 500_000_000 }),
        labels: BTreeMap::from([("k".to_owned(), "v".to_owned())]),
        fingerprint: "03".repeat(32),
        last_sequence: 11,
        ended: None,
        create_time: seconds(1),
        state_time: seconds(2),
        update_time: seconds(3),
        spend_limit: None,
        spent: Some(pb::Spent::default()),
    };
    assert_eq!(out, expected);
    let tools = view::to_pb(view(waits_for_tools()));
    assert_eq!((tools.active_run_id.as_str(), tools.pending_call_ids), ("r", vec!["y".to_owned()]));
}

#[test]
fn a_coordination_shows_what_it_waits_for_and_did_not_deliver() {
    let waits =
        Whole { view: view(decides()), pending: Some(Pending::Generation(Box::new(generation()))), ended: None };
    let out = view::whole_to_pb(waits);
    assert!(matches!(out.pending, Some(pb::coordination::Pending::GenerationNeeded(needed)) if needed.number == 2));
    let over = || view(ended(Outcome::Exhausted));
    let bare = view::to_pb(over());
    assert_eq!((bare.state(), bare.expire_time, bare.pending), (pb::CoordinationState::Exhausted, None, None));
    let named = bare.ended.unwrap().undelivered_exchange.unwrap();
    assert_eq!(named, pb::Exchange { exchange_id: exchange_id(9).to_string(), ..pb::Exchange::default() });
    let shown = Ended { outcome: Outcome::Exhausted, undelivered: Some(detailed()) };
    let shown = view::whole_to_pb(Whole { view: over(), pending: None, ended: Some(shown) });
    assert_eq!(shown.ended.unwrap().undelivered_exchange.unwrap().messages.len(), 1);
}

#[test]
fn each_state_has_the_word_of_the_domain() {
    let fault = || Fault::new(Reason::RunCancelled, "m");
    let turn = || Turn { run_id: RunId::new("r"), initial: true, rounds: 0, cancelled: None };
    let generation = domain::Generation {
        id: PendingId::given("g1"),
        turn: turn(),
        number: 1,
        kind: AttemptKind::First,
        plan: Hash([1; 32]),
        asked_at: Moment(1),
    };
    for state in [
        domain::State::TurnRunning(turn()),
        decides(),
        waits_for_tools(),
        domain::State::AwaitingGeneration(generation),
        ended(Outcome::Stopped),
        ended(Outcome::Exhausted),
        ended(Outcome::Failed(Failure::Execution(fault()))),
        ended(Outcome::Cancelled(fault())),
    ] {
        assert_eq!(view::state_word(view::state_to_pb(&state)), state.word());
    }
}
