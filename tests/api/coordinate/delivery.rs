//! What is told, and told once: results, pieces, the end.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::coordinate_response::Frame as Told;
use pb::coordination_ended::Outcome;
use pb::next_action::Action;
use tonic::Code;
use tonic_types::StatusExt;

use super::{asked, cancel, coordinations, got, let_go, until};
use crate::support::coordinate::{Loop, attach, attach_after, fail, start, start_with, stop, turn_of};
use crate::support::provider::{Gate, Outcome as Answered};
use crate::support::server::{Running, scripted};
use crate::support::{ask, refused};
use crate::{look, stub};

/// S4-68, S4-69, S4-72: a cancel that comes before a completed result was told ends it without the callback; the result is in the end and
/// stays on record.
#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_was_not_told_is_kept_as_undelivered() {
    let gate = Gate::closed();
    let (provider, server, exchange) = asked([stub::text("one").wait(&gate)], "").await;
    let mut stream = Loop::start(&server, start(&exchange, 2)).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    stream.act(turn_of("go on")).await;
    provider.request(1).await;
    drop(stream);
    let_go(&server, &id).await;
    gate.open();
    let waiting = until(&server, &id, pb::CoordinationState::AwaitingDecision).await;
    let ended = cancel(&server, &id).await;
    assert_eq!((ended.state(), ended.pending_id.as_str()), (pb::CoordinationState::Cancelled, ""));
    let undelivered = ended.ended.clone().unwrap().undelivered_exchange.expect("nobody was told of it");
    assert_eq!((&undelivered.exchange_id, undelivered.text.as_str()), (&waiting.exchange_id, "one"));
    assert_eq!(look::history(&server, &undelivered.exchange_id).await, ["U:begin", "A:zero", "U:go on", "A:one"]);
    // It is told to whoever comes, with the exchange, after a restart as well.
    let server = server.restart().await;
    assert_eq!(got(&server, &id).await.ended.unwrap().undelivered_exchange, Some(undelivered.clone()));
    let mut back = Loop::open(&server, attach_after(&id, waiting.last_sequence)).await;
    let (end, status) = back.ended().await;
    assert_eq!(end.undelivered_exchange, Some(undelivered));
    assert!(matches!(end.outcome, Some(Outcome::Cancelled(_))));
    refused::is(&status.unwrap(), Code::Cancelled, Reason::RunCancelled);
}

/// The same for the exchange of an initial request, which is a result until it is told.
#[tokio::test(flavor = "multi_thread")]
async fn an_initial_result_that_was_not_told_is_undelivered() {
    let gate = Gate::closed();
    let (provider, server, _) = asked([stub::text("first").wait(&gate)], "").await;
    let mut stream = Loop::start(&server, start_with(ask::text("begin"), 2)).await;
    let id = stream.started().await.coordination_id;
    provider.request(1).await;
    drop(stream);
    let_go(&server, &id).await;
    gate.open();
    until(&server, &id, pb::CoordinationState::AwaitingDecision).await;
    let ended = cancel(&server, &id).await.ended.unwrap();
    assert_eq!(ended.undelivered_exchange.unwrap().text, "first");
    // The exchange that a coordination was started from is no result of it.
    let (server, exchange) = super::begun().await;
    let mut stream = Loop::start(&server, start(&exchange, 2)).await;
    let id = stream.started().await.coordination_id;
    drop(stream);
    let_go(&server, &id).await;
    assert!(cancel(&server, &id).await.ended.unwrap().undelivered_exchange.is_none());
}

/// An answer by another way is as good as a frame: what was answered was delivered.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_told_by_get_and_answered_is_delivered() {
    let gate = Gate::closed();
    let script = [stub::text("one").wait(&gate), stub::text("two").wait(&gate)];
    let (provider, server, exchange) = asked(script, "").await;
    let mut stream = Loop::start(&server, start(&exchange, 2)).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    stream.act(turn_of("go on")).await;
    provider.request(1).await;
    drop(stream);
    let_go(&server, &id).await;
    gate.open();
    let waiting = until(&server, &id, pb::CoordinationState::AwaitingDecision).await;
    let failing = crate::support::coordinate::answer(&id, &waiting.pending_id, fail(14, "AWAY", "not now"));
    let failed = coordinations(&server).answer(failing).await.unwrap().into_inner().coordination.unwrap();
    assert_eq!(failed.state(), pb::CoordinationState::Failed);
    assert!(failed.ended.unwrap().undelivered_exchange.is_none());
}

/// S4-75, S4-77: the callback that fails had its result: that is neither undelivered nor delivered again, and what was delivered stands.
#[tokio::test(flavor = "multi_thread")]
async fn a_callback_that_fails_had_its_result() {
    let (provider, server, exchange) = asked(["one", "two"].map(stub::text), "").await;
    let mut stream = Loop::start(&server, start(&exchange, 5)).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    stream.act(turn_of("first")).await;
    stream.decision().await;
    stream.act(turn_of("second")).await;
    let last = stream.decision().await;
    stream.act(fail(13, "", "the callback broke")).await;
    let (ended, status) = stream.ended().await;
    assert!(ended.undelivered_exchange.is_none());
    assert_eq!(status.unwrap().code(), Code::Internal);
    let whole = got(&server, &id).await;
    assert_eq!((whole.pending_id.as_str(), whole.turns_started), ("", 2));
    assert_eq!(whole.exchange_id, last.exchange.unwrap().exchange_id);
    let mut back = Loop::open(&server, attach_after(&id, stream.sequences().last().unwrap() - 1)).await;
    let (again, status) = back.ended().await;
    assert_eq!((again, status.unwrap().code(), provider.count()), (ended, Code::Internal, 3));
    assert!(!back.seen.iter().any(|frame| matches!(frame.frame, Some(Told::DecisionNeeded(_)))));
}

/// S4-73, S4-76, S4-78: the end says how and nothing else; a caller's failure comes back as it was said, in the frame and in the trailers.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_says_how_and_no_more() {
    let (server, exchange) = super::begun().await;
    let failure = pb::FailAction {
        code: 9,
        message: "the reviewer is away".into(),
        reason: "REVIEWER_UNAVAILABLE".into(),
        domain: "review.example".into(),
        metadata: [("since".to_owned(), "monday".to_owned())].into(),
        details_json: r#"{"back": [1, 2]}"#.into(),
    };
    for (action, wanted) in [
        (stop(), Outcome::Stopped(pb::CoordinationStopped {})),
        (turn_of("more"), Outcome::Exhausted(pb::CoordinationExhausted {})),
        (
            Action::Fail(failure.clone()),
            Outcome::Failed(pb::CoordinationFailed {
                error: Some(pb::ErrorStatus {
                    code: 9,
                    message: failure.message.clone(),
                    reason: failure.reason.clone(),
                    metadata: failure.metadata.clone(),
                }),
                caller_failure: Some(failure.clone()),
            }),
        ),
    ] {
        let mut stream = Loop::start(&server, start(&exchange, 0)).await;
        let id = stream.started().await.coordination_id;
        stream.decision().await;
        stream.act(action).await;
        let (ended, status) = stream.ended().await;
        assert_eq!(ended, pb::CoordinationEnded { outcome: Some(wanted), undelivered_exchange: None });
        assert_eq!(got(&server, &id).await.ended, Some(ended.clone()));
        if let Some(Outcome::Failed(_)) = ended.outcome {
            let status = status.unwrap();
            let info = status.get_details_error_info().unwrap();
            assert_eq!((status.code() as i32, status.message()), (9, "the reviewer is away"));
            assert_eq!((info.reason.as_str(), info.domain.as_str()), ("REVIEWER_UNAVAILABLE", "review.example"));
            assert_eq!(info.metadata["since"], "monday");
        }
    }
}

/// The pieces of each turn, in order and before its result, are its text; nobody gets any who did not ask.
#[tokio::test(flavor = "multi_thread")]
async fn pieces_joined_are_the_text() {
    let streamed = || stub::streamed(&["Grüße", " aus", " der", " Ferne ", "🦉"]);
    let (_provider, server, exchange) = asked((0..3).map(|_| streamed()), "").await;
    let begin = pb::CoordinationStart { deltas: true, ..start(&exchange, 3) };
    let mut stream = Loop::start(&server, begin).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    for _ in 0..2 {
        stream.seen.clear();
        stream.act(turn_of("go on")).await;
        let text = stream.decision().await.exchange.unwrap().text;
        assert_eq!((text.as_str(), stream.pieces()), ("Grüße aus der Ferne 🦉", text.clone()));
        assert!(matches!(stream.seen.last().unwrap().frame, Some(Told::DecisionNeeded(_))));
    }
    let quiet = pb::CoordinationAttach { coordination_id: id, after_sequence: 0, deltas: Some(false) };
    let mut stream = Loop::open(&server, pb::coordinate_request::Frame::Attach(quiet)).await;
    for _ in 0..3 {
        stream.decision().await;
    }
    stream.act(turn_of("go on")).await;
    assert_eq!(
        (stream.decision().await.exchange.unwrap().text.as_str(), stream.pieces().as_str()),
        ("Grüße aus der Ferne 🦉", "")
    );
}

/// The journal is told again from where the client was, under the same numbers, and what is pending in any case.
#[tokio::test(flavor = "multi_thread")]
async fn who_comes_back_is_told_what_it_missed() {
    let (_provider, server, exchange) = asked(["one", "two"].map(stub::text), "").await;
    let mut stream = Loop::start(&server, start(&exchange, 5)).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    for said in ["first", "second"] {
        stream.act(turn_of(said)).await;
        stream.decision().await;
    }
    let all: Vec<_> = stream.seen.iter().filter(|frame| frame.sequence > 0).cloned().collect();
    assert_eq!(stream.sequences(), (1..=all.len() as u64).collect::<Vec<_>>());
    let server = server.restart().await;
    for seen in [0, 1, 3, all.len() as u64 - 1, all.len() as u64, 1_000] {
        let mut back = Loop::open(&server, attach_after(&id, seen)).await;
        let started = back.started().await;
        assert!(started.attached && started.last_sequence == all.len() as u64);
        // The first frame is `started`, which is not told again: this stream has one of its own.
        let missed: Vec<_> = all.iter().filter(|frame| frame.sequence > seen.max(1)).collect();
        let wanted = if missed.is_empty() { vec![all.last().unwrap()] } else { missed };
        for frame in wanted {
            assert_eq!(back.next().await.unwrap().as_ref(), Some(frame), "after {seen}");
        }
    }
    let mut back = Loop::open(&server, attach(&id)).await;
    back.until(|told| matches!(told, Told::DecisionNeeded(needed) if needed.turns_started == 2).then_some(())).await;
    back.act(stop()).await;
    assert!(back.ended().await.1.is_none());
}

/// S4-70, S4-71: a cancel while a turn is at work takes the call to the provider along, and there is no result to recover.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_was_cancelled_has_no_result() {
    let gate = Gate::closed();
    let (provider, server, exchange) = asked([stub::text("never").wait(&gate)], "").await;
    let mut stream = Loop::start(&server, start(&exchange, 2)).await;
    stream.decision().await;
    stream.act(turn_of("go on")).await;
    let run_id = stream.accepted().await.run_id;
    provider.request(1).await;
    stream.say(crate::support::coordinate::cancel()).await;
    let (ended, status) = stream.ended().await;
    assert!(matches!(ended.outcome, Some(Outcome::Cancelled(_))) && ended.undelivered_exchange.is_none());
    refused::is(&status.unwrap(), Code::Cancelled, Reason::RunCancelled);
    assert_eq!(provider.outcome(1).await, Answered::ClientClosed);
    assert_eq!(look::run(&server, &run_id).await.state(), pb::RunState::Cancelled);
    assert_eq!(provider.count(), 2);
}

/// The first turn of a coordination is told as any other, however fast the model answers: each attempt, then its pieces, then the result.
#[tokio::test(flavor = "multi_thread")]
async fn pieces_of_an_initial_request_come_in_order_and_whole() {
    const WRONG: &str = "{\"answer\":\"seven\"}";
    const RIGHT: &str = "{\"answer\":7}";
    const ROUNDS: usize = 25;
    let rules = format!(
        "chunk_chars = 4\n[[backends.script.rules]]\nwhen = \"how many\"\non = \"user\"\nturn = 1\ntext = '{WRONG}'\n\
         [[backends.script.rules]]\ntext = '{RIGHT}'\n"
    );
    let server = Running::start(scripted(&rules)).await;
    let schema = r#"{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"]}"#;
    let form =
        pb::contract::Form::JsonSchema(pb::JsonSchemaContract { schema_json: schema.into(), name: String::new() });
    for _ in 0..ROUNDS {
        let request = pb::ExecutionRequest {
            contract: Some(pb::Contract { form: Some(form.clone()) }),
            repair: Some(pb::Repair { attempts: 1 }),
            ..ask::text("how many?")
        };
        let begin = pb::CoordinationStart { deltas: true, ..start_with(request, 1) };
        let mut stream = Loop::start(&server, begin).await;
        let decision = stream.decision().await;
        let mut told = Vec::new();
        for frame in stream.seen.iter().filter_map(|seen| seen.frame.as_ref()) {
            match frame {
                Told::Attempt(attempt) => told.push(format!("#{}", attempt.number)),
                Told::Delta(pb::Delta { delta: Some(pb::delta::Delta::Text(piece)) }) => match told.last_mut() {
                    Some(last) if !last.starts_with('#') => last.push_str(&piece.text),
                    _ => told.push(piece.text.clone()),
                },
                _ => {}
            }
        }
        let wanted: Vec<String> = ["#1", WRONG, "#2", RIGHT].map(str::to_owned).to_vec();
        assert_eq!((decision.exchange.unwrap().text.as_str(), told), (RIGHT, wanted));
        stream.act(stop()).await;
        stream.ended().await;
    }
}
