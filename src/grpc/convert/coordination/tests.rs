//! Frames of the client: each kind is read, and everything that is wrong is named from the frame on.

use std::collections::BTreeMap;

use prost_types::Duration;

use super::*;
use crate::app::coordination::ask::{Answer, Generated, NextTurn, Reply};
use crate::app::turn::Input;
use crate::domain::id::{CallId, RunId};
use crate::domain::message::Role;
use crate::domain::run::{OnDisconnect, StopReason};
use crate::domain::thread::Unanswered;
use crate::grpc::fingerprint;
use pb::coordinate_request::Frame as Pb;
use pb::next_action::Action;

fn read(frame: Pb) -> Result<Frame, Fault> {
    frame_from_pb(pb::CoordinateRequest { frame: Some(frame) })
}

fn paths(read: Result<Frame, Fault>) -> Vec<String> {
    read.err().expect("is refused").fields.into_iter().map(|field| field.path).collect()
}

fn answer(frame: Pb) -> Answer {
    let Ok(Frame::Said(Said::Answer(answer))) = read(frame) else { panic!("is an answer") };
    *answer
}

fn action(action: Action) -> Pb {
    Pb::NextAction(pb::NextAction { decision_id: String::new(), action: Some(action) })
}

fn turn(input: pb::next_turn::Input) -> pb::NextTurn {
    pb::NextTurn { input: Some(input), ..pb::NextTurn::default() }
}

fn asked() -> pb::ExecutionRequest {
    pb::ExecutionRequest { text: "hello".to_owned(), ..pb::ExecutionRequest::default() }
}

fn next(turn: pb::NextTurn) -> NextTurn {
    let Reply::Turn(turn) = answer(action(Action::Turn(turn))).reply else { panic!("is a turn") };
    *turn
}

fn text(text: &str) -> pb::Part {
    pb::Part { kind: Some(pb::part::Kind::Text(pb::TextPart { text: text.to_owned() })), ..pb::Part::default() }
}

fn result(call_id: &str) -> pb::ToolResult {
    pb::ToolResult { call_id: call_id.to_owned(), parts: vec![text("42")], ..pb::ToolResult::default() }
}

#[test]
fn what_is_not_set_is_named() {
    assert_eq!(paths(frame_from_pb(pb::CoordinateRequest { frame: None })), ["frame"]);
    let table: [(Pb, &[&str]); 8] = [
        (Pb::Start(pb::CoordinationStart::default()), &["start.from"]),
        (Pb::Attach(pb::CoordinationAttach::default()), &["attach.coordination_id"]),
        (Pb::NextAction(pb::NextAction::default()), &["next_action.action"]),
        (action(Action::Turn(pb::NextTurn::default())), &["next_action.turn.input"]),
        (action(Action::Fail(pb::FailAction::default())), &["next_action.fail.code"]),
        (Pb::ToolResults(pb::BatchResults::default()), &["tool_results.results"]),
        (Pb::Generated(pb::Generated::default()), &["generated.outcome"]),
        (
            generated(pb::generated::Outcome::Answer(pb::GeneratedAnswer::default())),
            &["generated.answer.assistant", "generated.answer.stop_reason"],
        ),
    ];
    for (frame, expected) in table {
        assert_eq!(paths(read(frame)), expected);
    }
}

#[test]
fn an_attach_says_from_where() {
    let attach = pb::CoordinationAttach { coordination_id: "c".to_owned(), after_sequence: 7, deltas: Some(true) };
    let Ok(Frame::Attach(read)) = read(Pb::Attach(attach)) else { panic!("is an attach") };
    assert_eq!((read.id.as_str(), read.after_sequence, read.deltas), ("c", 7, Some(true)));
}

#[test]
fn letting_go_and_ending_are_no_answers() {
    assert!(matches!(read(Pb::Suspend(pb::CoordinationSuspend {})), Ok(Frame::Said(Said::Suspend))));
    let cancel = |message: String| read(Pb::Cancel(pb::CoordinationCancel { message }));
    let whole = "語".repeat(1_024);
    assert!(matches!(cancel(whole.clone()), Ok(Frame::Said(Said::Cancel(message))) if message == whole));
    assert_eq!(paths(cancel("x".repeat(1_025))), ["cancel.message"]);
}

#[test]
fn what_a_frame_answers_is_known_before_it_is_read() {
    let named = |frame| named(&pb::CoordinateRequest { frame });
    let broken = pb::NextAction { decision_id: "d".repeat(500), action: None };
    assert_eq!(named(Some(Pb::NextAction(broken.clone()))), "d".repeat(128));
    assert_eq!(paths(read(Pb::NextAction(broken))), ["next_action.decision_id", "next_action.action"]);
    let results = pb::BatchResults { batch_id: "b".to_owned(), ..pb::BatchResults::default() };
    assert_eq!(named(Some(Pb::ToolResults(results))), "b");
    let generated = pb::Generated { generation_id: "g".to_owned(), outcome: None };
    assert_eq!(named(Some(Pb::Generated(generated))), "g");
    assert_eq!((named(None), named(Some(Pb::Start(pb::CoordinationStart::default())))), (String::new(), String::new()));
}

#[test]
fn a_turn_brings_a_request() {
    let asked = pb::ExecutionRequest {
        run_id: "r".to_owned(),
        labels: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
        on_disconnect: pb::OnDisconnect::Cancel.into(),
        ..asked()
    };
    let turn = pb::NextTurn {
        unanswered_tools: pb::UnansweredTools::Abandon.into(),
        detach_thread: true,
        ..turn(pb::next_turn::Input::Request(asked))
    };
    let read = next(turn.clone());
    assert!(matches!(read.input, Input::Request(asked) if asked.messages.len() == 1));
    assert_eq!((read.run_id, read.on_disconnect), (Some(RunId::new("r")), Some(OnDisconnect::Cancel)));
    assert_eq!((read.unanswered, read.detach_thread), (Some(Unanswered::Abandon), true));
    assert_eq!(read.labels.len(), 1);
    assert_eq!((read.fingerprint, read.step), (fingerprint::next_turn(&turn), fingerprint::next_turn(&turn)));
    let bare = next(self::turn(pb::next_turn::Input::Request(self::asked())));
    assert_eq!((bare.run_id, bare.on_disconnect, bare.unanswered), (None, None, None));
}

#[test]
fn a_turn_brings_all_results_as_one_message() {
    let results = pb::ToolResults {
        results: vec![result("a"), result("b")],
        run_id: "r".to_owned(),
        on_disconnect: pb::OnDisconnect::Finish.into(),
        retry: false,
    };
    let read = next(turn(pb::next_turn::Input::ToolResults(results.clone())));
    let Input::Results(message) = read.input else { panic!("are results") };
    assert_eq!((message.role, message.parts.len()), (Role::Tool, 2));
    assert_eq!((read.run_id, read.on_disconnect), (Some(RunId::new("r")), Some(OnDisconnect::Finish)));
    assert_eq!(read.step, fingerprint::results(&results));
}

#[test]
fn what_is_wrong_with_a_turn_is_named_from_the_frame_on() {
    use pb::next_turn::Input as In;
    let wrong = pb::ExecutionRequest {
        run_id: "a b".to_owned(),
        contract: Some(pb::Contract { form: None }),
        on_disconnect: 9,
        retry: true,
        ..asked()
    };
    let again = pb::ExecutionRequest { retry: true, ..asked() };
    let results = |retry, call_id: &str| {
        In::ToolResults(pb::ToolResults { results: vec![result(call_id)], retry, ..pb::ToolResults::default() })
    };
    let unanswered = |input, unanswered_tools| pb::NextTurn { unanswered_tools, ..turn(input) };
    let table: [(pb::NextTurn, &[&str]); 8] = [
        (turn(In::Request(wrong)), &["request.retry", "request.run_id", "request.contract", "request.on_disconnect"]),
        (turn(In::Request(pb::ExecutionRequest::default())), &["request"]),
        (turn(In::Request(again)), &["request.retry"]),
        (turn(results(true, "c")), &["tool_results.retry"]),
        (turn(results(false, "")), &["tool_results.results[0].call_id"]),
        (turn(In::ToolResults(pb::ToolResults::default())), &["tool_results.results"]),
        (unanswered(In::Request(asked()), 9), &["unanswered_tools"]),
        (unanswered(results(false, "c"), 3), &["unanswered_tools"]),
    ];
    for (turn, expected) in table {
        let expected: Vec<_> = expected.iter().map(|path| format!("next_action.turn.{path}")).collect();
        assert_eq!(paths(read(action(Action::Turn(turn)))), expected);
    }
    assert!(read(action(Action::Turn(unanswered(results(false, "c"), 1)))).is_ok());
}

#[test]
fn a_stop_answers_the_pending_decision() {
    let frame = pb::NextAction { decision_id: String::new(), action: Some(Action::Stop(pb::StopAction {})) };
    let fingerprint = fingerprint::next_action(&frame);
    let answer = answer(Pb::NextAction(frame));
    assert!(matches!(answer.reply, Reply::Stop));
    assert_eq!((answer.id, answer.fingerprint), (None, fingerprint));
}

#[test]
fn a_failure_stays_in_the_callers_words() {
    let fail = pb::FailAction {
        code: 14,
        message: "é".repeat(2_048),
        reason: "REVIEWER_2".to_owned(),
        domain: String::new(),
        metadata: BTreeMap::from([("k".repeat(63), "語".repeat(1_024))]),
        details_json: " [1] ".to_owned(),
    };
    let read_fail = |fail: pb::FailAction| match answer(action(Action::Fail(fail))).reply {
        Reply::Fail(failure) => failure,
        _ => panic!("is a failure"),
    };
    let failure = read_fail(fail.clone());
    assert_eq!((failure.code, failure.domain.as_str()), (14, "caller"));
    assert_eq!((failure.message, failure.reason), (fail.message.clone(), fail.reason.clone()));
    assert_eq!((failure.metadata, failure.details_json), (fail.metadata.clone(), fail.details_json.clone()));
    assert_eq!(read_fail(pb::FailAction { domain: "review.example".to_owned(), ..fail }).domain, "review.example");
}

#[test]
fn a_failure_has_limits() {
    let facts = |count: u32, key: usize, value: usize| {
        (0..count).map(|n| (format!("{n:0key$}"), "v".repeat(value))).collect::<BTreeMap<_, _>>()
    };
    let good = || pb::FailAction { code: 1, ..pb::FailAction::default() };
    let table: [(pb::FailAction, &str); 13] = [
        (pb::FailAction { code: 17, ..good() }, "code"),
        (pb::FailAction { code: -1, ..good() }, "code"),
        (pb::FailAction { message: "x".repeat(4_097), ..good() }, "message"),
        (pb::FailAction { reason: "A".repeat(64), ..good() }, "reason"),
        (pb::FailAction { reason: "Reviewer".to_owned(), ..good() }, "reason"),
        (pb::FailAction { domain: "x".repeat(129), ..good() }, "domain"),
        (pb::FailAction { domain: "antiphon".to_owned(), ..good() }, "domain"),
        (pb::FailAction { domain: "Antiphon".to_owned(), ..good() }, "domain"),
        (pb::FailAction { metadata: facts(65, 2, 1), ..good() }, "metadata"),
        (pb::FailAction { metadata: facts(1, 1, 1_025), ..good() }, "metadata[\"0\"]"),
        (pb::FailAction { metadata: BTreeMap::from([(String::new(), String::new())]), ..good() }, "metadata[\"\"]"),
        (pb::FailAction { details_json: "{".to_owned(), ..good() }, "details_json"),
        (pb::FailAction { details_json: format!("\"{}\"", "x".repeat(16 * 1024)), ..good() }, "details_json"),
    ];
    for (fail, path) in table {
        assert_eq!(paths(read(action(Action::Fail(fail)))), [format!("next_action.fail.{path}")]);
    }
    for code in 1..=16 {
        assert!(read(action(Action::Fail(pb::FailAction { code, ..good() }))).is_ok());
    }
}

#[test]
fn results_come_in_parts() {
    let batch =
        pb::BatchResults { batch_id: "b1".to_owned(), results: vec![result("a"), result("b")], run_id: "r".to_owned() };
    let answer = answer(Pb::ToolResults(batch.clone()));
    assert_eq!((answer.id, answer.fingerprint), (Some(PendingId::given("b1")), fingerprint::batch_results(&batch)));
    let Reply::Results { results, run_id } = answer.reply else { panic!("are results") };
    assert_eq!((results.len(), run_id), (2, Some(RunId::new("r"))));

    let of = |results| Pb::ToolResults(pb::BatchResults { results, run_id: String::new(), ..batch.clone() });
    let many = |count: usize| (0..count).map(|n| result(&n.to_string())).collect();
    assert!(read(of(many(128))).is_ok());
    let empty = pb::ToolResult { parts: Vec::new(), ..result("a") };
    let table: [(Vec<pb::ToolResult>, &str); 4] = [
        (many(129), "tool_results.results"),
        (vec![result("a"), result("")], "tool_results.results[1].call_id"),
        (vec![result("a"), result("b"), result("a")], "tool_results.results[2].call_id"),
        (vec![empty], "tool_results.results[0].parts"),
    ];
    for (results, path) in table {
        assert_eq!(paths(read(of(results))), [path]);
    }
    let elsewhere = pb::BatchResults { run_id: "a b".to_owned(), ..batch };
    assert_eq!(paths(read(Pb::ToolResults(elsewhere))), ["tool_results.run_id"]);
}

fn generated(outcome: pb::generated::Outcome) -> Pb {
    Pb::Generated(pb::Generated { generation_id: "g1".to_owned(), outcome: Some(outcome) })
}

fn called(call_id: &str, provider_call_id: &str) -> pb::Part {
    let call = pb::ToolCall {
        call_id: call_id.to_owned(),
        provider_call_id: provider_call_id.to_owned(),
        name: "look".to_owned(),
        arguments_json: "{}".to_owned(),
        arguments_invalid: false,
    };
    pb::Part { kind: Some(pb::part::Kind::ToolCall(call)), ..pb::Part::default() }
}

fn answered(parts: Vec<pb::Part>) -> pb::GeneratedAnswer {
    pb::GeneratedAnswer {
        assistant: Some(pb::Message { role: pb::Role::Assistant.into(), parts }),
        stop_reason: pb::StopReason::ToolCalls.into(),
        stop_reason_raw: "tool_use".to_owned(),
        usage: Some(pb::Usage { input_tokens: Some(3), ..pb::Usage::default() }),
        provider: "p".to_owned(),
        api: "a".to_owned(),
        response_model: "m".to_owned(),
        response_id: "i".to_owned(),
    }
}

fn came_of(outcome: pb::generated::Outcome) -> Generated {
    let Reply::Generated(generated) = answer(generated(outcome)).reply else { panic!("is generated") };
    *generated
}

#[test]
fn one_id_of_a_generated_call_is_enough() {
    let parts = vec![text("hm"), called("c", ""), called("", "p"), called("c2", "p"), called("c", "")];
    let Generated::Answer(answer) = came_of(pb::generated::Outcome::Answer(answered(parts))) else {
        panic!("is an answer")
    };
    let calls: Vec<_> = answer.assistant.tool_calls().collect();
    assert!(calls.iter().all(|call| call.call_id == CallId::default()));
    let given: Vec<_> = calls.iter().map(|call| call.provider_call_id.as_str()).collect();
    assert_eq!(given, ["c", "p", "p", "c"]);
    assert_eq!((answer.stop_reason, answer.stop_reason_raw.as_str()), (StopReason::ToolCalls, "tool_use"));
    assert_eq!((answer.usage.input_tokens, answer.usage.reported), (Some(3), true));
    assert_eq!((answer.provider.as_str(), answer.api.as_str()), ("p", "a"));
    assert_eq!((answer.response_model.as_str(), answer.response_id.as_str()), ("m", "i"));
}

#[test]
fn what_is_wrong_with_a_generated_answer_is_named() {
    use pb::generated::Outcome::Answer as Of;
    let limit = pb::StopReason::ToolRoundLimit.into();
    let user = pb::Message { role: pb::Role::User.into(), parts: vec![text("x")] };
    let table: [(pb::GeneratedAnswer, &str); 6] = [
        (answered(vec![called("", "")]), "assistant.parts[0].tool_call.provider_call_id"),
        (pb::GeneratedAnswer { assistant: Some(user), ..answered(Vec::new()) }, "assistant.role"),
        (answered(vec![pb::Part::default()]), "assistant.parts[0]"),
        (pb::GeneratedAnswer { stop_reason: limit, ..answered(Vec::new()) }, "stop_reason"),
        (pb::GeneratedAnswer { stop_reason: 99, ..answered(Vec::new()) }, "stop_reason"),
        (
            pb::GeneratedAnswer {
                usage: Some(pb::Usage { completeness: 9, ..pb::Usage::default() }),
                ..answered(Vec::new())
            },
            "usage.completeness",
        ),
    ];
    for (answer, path) in table {
        assert_eq!(paths(read(generated(Of(answer)))), [format!("generated.answer.{path}")]);
    }
}

#[test]
fn a_generation_fails_as_a_provider_does() {
    let failure = pb::GenerationFailure {
        code: 14,
        message: "busy".to_owned(),
        http_status: Some(503),
        provider_code: "overloaded".to_owned(),
        retry_after: Some(Duration { seconds: 1, nanos: 500_000_000 }),
        usage: None,
    };
    let Generated::Failure(read_failure) = came_of(pb::generated::Outcome::Failure(failure.clone())) else {
        panic!("is a failure")
    };
    assert_eq!(
        (read_failure.code, read_failure.http_status, read_failure.retry_after_ms),
        (14, Some(503), Some(1_500))
    );
    assert_eq!((read_failure.message.as_str(), read_failure.provider_code.as_str()), ("busy", "overloaded"));
    let wrong = pb::GenerationFailure {
        code: 0,
        message: "x".repeat(4_097),
        http_status: Some(70_000),
        retry_after: Some(Duration { seconds: -1, nanos: 0 }),
        usage: Some(pb::Usage { completeness: 9, ..pb::Usage::default() }),
        ..failure
    };
    let expected = ["code", "message", "http_status", "retry_after", "usage.completeness"];
    let expected = expected.map(|path| format!("generated.failure.{path}"));
    assert_eq!(paths(read(generated(pb::generated::Outcome::Failure(wrong)))), expected);
}
