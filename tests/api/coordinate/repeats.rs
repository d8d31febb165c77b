//! The same thing said again: a start, an answer, by the same way or another, one after the other or at once.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::Code;

use super::{asked, begun, coordinations, got};
use crate::stub;
use crate::support::coordinate::{Loop, action, answer, answer_tools, results, start, start_with, stop, turn_of};
use crate::support::provider::Gate;
use crate::support::{ask, refused};

fn named(id: &str, start: pb::CoordinationStart) -> pb::CoordinationStart {
    pb::CoordinationStart { coordination_id: id.to_owned(), ..start }
}

/// The same id with the same start attaches, at once or later; another start is a conflict. A request is executed once.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_is_repeated_attaches() {
    let gate = Gate::closed();
    let (provider, server, exchange) = asked([stub::text("first").wait(&gate)], "").await;
    let begin = || named("c", start_with(ask::text("begin"), 2));
    let mut first = Loop::start(&server, begin()).await;
    assert!(!first.started().await.attached);
    provider.request(1).await;
    let mut second = Loop::start(&server, begin()).await;
    let started = second.started().await;
    assert_eq!((started.attached, started.state()), (true, pb::CoordinationState::TurnRunning));
    assert_eq!(first.detached().await.reason(), pb::DetachReason::TakenOver);
    gate.open();
    let pending = second.decision().await.decision_id;
    let server = server.restart().await;
    let mut third = Loop::start(&server, begin()).await;
    assert!(third.started().await.attached);
    assert_eq!(third.decision().await.decision_id, pending);
    for other in [named("c", start_with(ask::text("begin"), 3)), named("c", start(&exchange, 2))] {
        let refusal = Loop::start(&server, other).await.refused().await;
        refused::is(&refusal, Code::AlreadyExists, Reason::CoordinationConflict);
    }
    third.act(stop()).await;
    assert!(third.ended().await.1.is_none());
    // When it is over, a repetition is told how it ended.
    let mut fourth = Loop::start(&server, begin()).await;
    assert_eq!(fourth.started().await.state(), pb::CoordinationState::Stopped);
    fourth.decision().await;
    assert!(fourth.ended().await.1.is_none());
    assert_eq!(provider.count(), 2);
}

/// Two starts of one id at the same moment are one coordination.
#[tokio::test(flavor = "multi_thread")]
async fn two_starts_at_once_are_one() {
    let (provider, server, _) = asked(["first"].map(stub::text), "").await;
    let begin = || named("c", start_with(ask::text("begin"), 2));
    let (mut one, mut two) = tokio::join!(Loop::start(&server, begin()), Loop::start(&server, begin()));
    let attached = [one.started().await.attached, two.started().await.attached];
    assert_eq!(attached.iter().filter(|attached| **attached).count(), 1, "{attached:?}");
    let (mut older, mut newer) = if attached[0] { (two, one) } else { (one, two) };
    assert_eq!(older.detached().await.reason(), pb::DetachReason::TakenOver);
    assert_eq!(newer.decision().await.exchange.unwrap().text, "first");
    assert_eq!(provider.count(), 2);
}

/// Of two different answers to one decision at the same moment one is taken, and the other is stale; of two equal ones, one is
/// a repetition. One turn is started in either case.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_answers_at_once_one_is_taken() {
    const ROUNDS: u32 = 12;
    let (server, exchange) = begun().await;
    let mut stream = Loop::start(&server, start(&exchange, ROUNDS)).await;
    let id = stream.started().await.coordination_id;
    for round in 0..ROUNDS {
        let pending = stream.decision().await.decision_id;
        let say = |text: &str| {
            let (mut client, answer) = (coordinations(&server), answer(&id, &pending, turn_of(text)));
            tokio::spawn(async move { client.answer(answer).await })
        };
        let same = round % 2 == 0;
        let (one, two) = (say("x"), say(if same { "x" } else { "y" }));
        let (one, two) = (one.await.unwrap(), two.await.unwrap());
        if same {
            let (one, two) = (one.unwrap().into_inner().accepted.unwrap(), two.unwrap().into_inner().accepted.unwrap());
            assert_eq!((one.replayed ^ two.replayed, &one.run_id), (true, &two.run_id));
            continue;
        }
        let (taken, stale) = match (one, two) {
            (Ok(taken), Err(stale)) | (Err(stale), Ok(taken)) => (taken.into_inner().accepted.unwrap(), stale),
            other => panic!("{other:?}"),
        };
        assert!(!taken.replayed);
        refused::is(&stale, Code::Aborted, Reason::AnswerStale);
    }
    assert_eq!(stream.decision().await.turns_started, ROUNDS);
    assert_eq!(got(&server, &id).await.turns_remaining, 0);
}

/// An answer that is repeated unchanged is accepted as such, over the stream and beside it, while its turn is at work and after, also
/// when what was pending then is long over; a changed one is stale.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_repeated_changes_nothing() {
    let gate = Gate::closed();
    let (provider, server, exchange) = asked([stub::text("one").wait(&gate), stub::text("two")], "").await;
    let mut stream = Loop::start(&server, start(&exchange, 2)).await;
    let id = stream.started().await.coordination_id;
    let pending = stream.decision().await.decision_id;
    stream.say(action(&pending, turn_of("go on"))).await;
    let first = stream.accepted().await;
    provider.request(1).await;
    let beside = coordinations(&server).answer(answer(&id, &pending, turn_of("go on"))).await.unwrap().into_inner();
    let beside = beside.accepted.unwrap();
    assert_eq!(beside, pb::AnswerAccepted { replayed: true, ..first.clone() });
    let stale = coordinations(&server).answer(answer(&id, &pending, turn_of("go on!"))).await.unwrap_err();
    refused::is(&stale, Code::Aborted, Reason::AnswerStale);
    let pending_tools = coordinations(&server).answer(answer_tools(&id, &pending, vec![ask::result("c", "x")])).await;
    refused::is(&pending_tools.unwrap_err(), Code::Aborted, Reason::AnswerStale);
    gate.open();
    stream.decision().await;
    stream.act(turn_of("and on")).await;
    stream.decision().await;
    stream.say(action(&pending, turn_of("go on"))).await;
    let again = stream.accepted().await;
    assert_eq!((again.replayed, &again.run_id, &again.id), (true, &first.run_id, &pending));
    stream.say(action(&pending, stop())).await;
    assert_eq!(stream.rejected().await.error.unwrap().reason, "ANSWER_STALE");
    stream.act(stop()).await;
    assert!(stream.ended().await.1.is_none());
    let last = coordinations(&server).answer(answer(&id, &pending, turn_of("go on"))).await.unwrap().into_inner();
    assert_eq!((last.accepted.unwrap().replayed, provider.count()), (true, 3));
}

/// Results that are repeated are accepted as such, whole or in parts, before and after the batch is complete.
#[tokio::test(flavor = "multi_thread")]
async fn results_that_are_repeated_change_nothing() {
    let script = [stub::calls(&[("a", "look", "{}"), ("b", "look", "{}")]), stub::text("done")];
    let (provider, server, _) = asked(script, "").await;
    let mut stream = Loop::start(&server, start_with(stub::offering("r", "look"), 0)).await;
    let id = stream.started().await.coordination_id;
    let batch = stream.tools().await;
    let calls: Vec<String> = batch.calls.iter().map(|call| call.call.clone().unwrap().call_id).collect();
    let one = || vec![ask::result(&calls[0], "first")];
    stream.say(results(&batch.batch_id, one())).await;
    assert!(!stream.accepted().await.replayed);
    stream.say(results(&batch.batch_id, one())).await;
    let again = stream.accepted().await;
    assert_eq!((again.replayed, again.batch.unwrap().pending_call_ids), (true, calls[1..].to_vec()));
    stream.say(results(&batch.batch_id, vec![ask::result(&calls[0], "changed")])).await;
    assert_eq!(stream.rejected().await.error.unwrap().reason, "TOOL_RESULTS_MISMATCH");
    let waiting = got(&server, &id).await;
    assert_eq!(
        (waiting.state(), &waiting.pending_call_ids),
        (pb::CoordinationState::AwaitingTools, &calls[1..].to_vec())
    );
    stream.say(results("", vec![ask::result(&calls[1], "second")])).await;
    assert_eq!(stream.decision().await.exchange.unwrap().text, "done");
    let late = coordinations(&server).answer(answer_tools(&id, &batch.batch_id, one())).await.unwrap().into_inner();
    assert!(late.accepted.unwrap().replayed);
    let late = answer_tools(&id, &batch.batch_id, vec![ask::result(&calls[0], "changed")]);
    refused::is(&coordinations(&server).answer(late).await.unwrap_err(), Code::Aborted, Reason::AnswerStale);
    assert_eq!(provider.count(), 3);
}
