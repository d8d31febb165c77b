//! Leaving at every state: broken streams, half-closes, the server's stop. What is pending waits; a turn at work is finished, or
//! cancelled where that was agreed.

use antiphon::grpc::pb;
use pb::coordinate_response::Frame as Told;
use pb::{CoordinationState as State, DetachReason};

use super::{asked, asked_on_thread, coordinations, got, let_go, until};
use crate::support::ask;
use crate::support::coordinate::{Loop, answer, attach, results, start, start_on, start_with, stop, turn, turn_of};
use crate::support::provider::{Gate, Outcome};
use crate::{look, stub};

/// A stream that breaks during a turn: agreed CANCEL ends the coordination and the call to the provider; FINISH, or nothing, lets it
/// finish; a request's own word goes first.
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_stream_does_what_was_agreed() {
    use pb::OnDisconnect::{Cancel, Finish, Unspecified};
    for (of_start, of_request, finishes) in [
        (Unspecified, Unspecified, true),
        (Finish, Unspecified, true),
        (Cancel, Unspecified, false),
        (Cancel, Finish, true),
        (Finish, Cancel, false),
    ] {
        let gate = Gate::closed();
        let (provider, server, first) = asked_on_thread([stub::text("one").wait(&gate)], "").await;
        let begin = pb::CoordinationStart { on_disconnect: of_start.into(), ..start_on("t", 2) };
        let mut stream = Loop::start(&server, begin).await;
        let id = stream.started().await.coordination_id;
        stream.decision().await;
        let request = pb::ExecutionRequest { on_disconnect: of_request.into(), ..ask::text_as("r", "go on") };
        stream.act(turn(request)).await;
        stream.accepted().await;
        provider.request(1).await;
        drop(stream);
        if finishes {
            let_go(&server, &id).await;
            gate.open();
            let waiting = until(&server, &id, State::AwaitingDecision).await;
            assert_eq!(look::thread(&server, "t").await.head_exchange_id, waiting.exchange_id);
            assert_eq!(provider.outcome(1).await, Outcome::Played);
        } else {
            assert_eq!(provider.outcome(1).await, Outcome::ClientClosed);
            let over = until(&server, &id, State::Cancelled).await;
            assert!(over.ended.unwrap().undelivered_exchange.is_none());
            assert_eq!(look::run(&server, "r").await.state(), pb::RunState::Cancelled);
            let thread = look::thread(&server, "t").await;
            assert_eq!((thread.head_exchange_id, thread.active_run_id.as_str()), (first, ""));
        }
    }
}

/// A broken stream is no decision: what waits, waits, though CANCEL was agreed for turns.
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_stream_is_no_decision() {
    let (server, exchange) = super::begun().await;
    let begin = pb::CoordinationStart { on_disconnect: pb::OnDisconnect::Cancel.into(), ..start(&exchange, 2) };
    let mut stream = Loop::start(&server, begin).await;
    let id = stream.started().await.coordination_id;
    let pending = stream.decision().await.decision_id;
    drop(stream);
    let waiting = let_go(&server, &id).await;
    assert_eq!((waiting.state(), &waiting.pending_id), (State::AwaitingDecision, &pending));
}

/// A half-close at each state: the turn in flight finishes, what is pending next is told, then `detached` and OK.
#[tokio::test(flavor = "multi_thread")]
async fn a_half_close_lets_finish_and_tells_what_is_next() {
    let gate = Gate::closed();
    let script = [
        stub::text("one").wait(&gate),
        stub::calls(&[("a", "look", "{}"), ("b", "look", "{}")]).wait(&gate),
        stub::text("done"),
    ];
    let (provider, server, exchange) = asked(script, "").await;
    // While a decision is pending.
    let mut stream = Loop::start(&server, start(&exchange, 5)).await;
    let id = stream.started().await.coordination_id;
    let pending = stream.decision().await.decision_id;
    stream.half_close();
    let detached = stream.detached().await;
    assert_eq!((detached.reason(), &detached.pending_id), (DetachReason::HalfClosed, &pending));
    assert_eq!((detached.state(), &detached.coordination_id), (State::AwaitingDecision, &id));
    // During a turn.
    let mut stream = Loop::open(&server, attach(&id)).await;
    stream.act(turn_of("go on")).await;
    provider.request(1).await;
    stream.half_close();
    gate.open();
    stream.until(|told| matches!(told, Told::DecisionNeeded(needed) if needed.turns_started == 1).then_some(())).await;
    assert_eq!(stream.detached().await.reason(), DetachReason::HalfClosed);
    // During a turn that calls tools.
    let mut stream = Loop::open(&server, attach(&id)).await;
    stream.act(turn(stub::offering("r", "look"))).await;
    stream.half_close();
    let batch =
        stream.until(|told| if let Told::ToolsNeeded(needed) = told { Some(needed.clone()) } else { None }).await;
    let detached = stream.detached().await;
    assert_eq!((detached.state(), &detached.pending_id), (State::AwaitingTools, &batch.batch_id));
    assert_eq!(detached.pending_call_ids.len(), 2);
    // While tools are pending, some of them answered.
    let mut stream = Loop::open(&server, attach(&id)).await;
    stream.say(results("", vec![ask::result("a", "seen")])).await;
    stream.half_close();
    let detached = stream.detached().await;
    assert_eq!((detached.pending_id, detached.pending_call_ids.len()), (batch.batch_id, 1));
    // With the last result and the end in one go; then nothing is left to wait for.
    let mut stream = Loop::open(&server, attach(&id)).await;
    stream.say(results("", vec![ask::result("b", "seen")])).await;
    stream.act(stop()).await;
    stream.half_close();
    stream.until(|told| matches!(told, Told::Ended(_)).then_some(())).await;
    assert!(stream.next().await.unwrap().is_none());
    // After the end.
    let mut stream = Loop::open(&server, attach(&id)).await;
    stream.half_close();
    stream.until(|told| matches!(told, Told::Ended(_)).then_some(())).await;
    assert!(stream.next().await.unwrap().is_none());
    assert_eq!(provider.count(), 4);
}

/// Rule of the stop: streams are told, a turn at work finishes and its result is told, no other starts, and the next process goes on at the same
/// decision.
#[tokio::test(flavor = "multi_thread")]
async fn the_servers_stop_lets_a_turn_finish_and_detaches() {
    let gate = Gate::closed();
    let (provider, mut server, exchange) = asked([stub::text("one").wait(&gate), stub::text("two")], "").await;
    let mut rests = Loop::start(&server, start(&exchange, 5)).await;
    let rests_id = rests.started().await.coordination_id;
    let rests_pending = rests.decision().await.decision_id;
    let mut works = Loop::start(&server, start(&exchange, 5)).await;
    let id = works.started().await.coordination_id;
    works.decision().await;
    works.act(turn_of("go on")).await;
    provider.request(1).await;
    let streams = async {
        rests.until(|told| matches!(told, Told::Draining(draining) if draining.deadline.is_some()).then_some(())).await;
        let detached = rests.detached().await;
        assert_eq!((detached.reason(), &detached.pending_id), (DetachReason::Draining, &rests_pending));
        works.until(|told| matches!(told, Told::Draining(_)).then_some(())).await;
        // No turn starts any more.
        works.act(turn_of("and on")).await;
        gate.open();
        let told = works.decision().await;
        assert_eq!(told.exchange.unwrap().text, "one");
        let detached = works.detached().await;
        assert_eq!((detached.reason(), &detached.pending_id), (DetachReason::Draining, &told.decision_id));
        (told.decision_id, works)
    };
    let ((), (pending, _works)) = tokio::join!(server.stop(), streams);
    let server = server.restart().await;
    let now = got(&server, &id).await;
    assert_eq!((now.state(), &now.pending_id, now.turns_started), (State::AwaitingDecision, &pending, 1));
    assert!(!now.attached && now.interrupted_run_id.is_empty());
    assert_eq!(got(&server, &rests_id).await.pending_id, rests_pending);
    let mut back = Loop::open(&server, attach(&id)).await;
    assert_eq!(back.started().await.pending_id, pending);
    coordinations(&server).answer(answer(&id, &pending, turn_of("and on"))).await.unwrap();
    back.until(|told| matches!(told, Told::DecisionNeeded(needed) if needed.turns_started == 2).then_some(())).await;
    assert_eq!(provider.count(), 3);
}

/// The stop of the server while tools are pending, and during an initial request: the same batch; the exchange of the request.
#[tokio::test(flavor = "multi_thread")]
async fn the_servers_stop_keeps_a_batch_with_its_results() {
    let script = [stub::calls(&[("a", "look", "{}"), ("b", "look", "{}")]), stub::text("done")];
    let (provider, server, _) = asked(script, "").await;
    let mut stream = Loop::start(&server, start_with(stub::offering("r", "look"), 5)).await;
    let id = stream.started().await.coordination_id;
    let batch = stream.tools().await;
    stream.say(results("", vec![ask::result("b", "second")])).await;
    stream.accepted().await;
    let server = server.restart().await;
    assert_eq!(stream.detached().await.reason(), DetachReason::Draining);
    let mut back = Loop::open(&server, attach(&id)).await;
    let again = back.tools().await;
    assert_eq!((&again.batch_id, again.results.len(), again.calls.len()), (&batch.batch_id, 1, 1));
    assert_eq!(again.calls[0].call.as_ref().unwrap().provider_call_id, "a");
    back.say(results("", vec![ask::result("a", "first")])).await;
    assert_eq!(back.decision().await.exchange.unwrap().text, "done");
    let sent = provider.request(2).await.json();
    assert_eq!((&sent["messages"][2]["content"], &sent["messages"][3]["content"]), (&"first".into(), &"second".into()));
}
