//! Cancels while tools are pending or a turn is at work, by frame and by call: the run ends with the coordination, and its thread is free.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::coordination_ended::Outcome;
use tonic::Code;

use super::{asked_on_thread, cancel, got};
use crate::support::ask;
use crate::support::coordinate::{self, Loop, results, start_on, turn, turn_of};
use crate::support::provider::{Gate, Outcome as Answered};
use crate::support::refused;
use crate::support::server::Running;
use crate::{look, stub};

/// While tools are pending, one result of two in: by frame and by call.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_while_tools_are_pending_ends_the_run() {
    for by_frame in [true, false] {
        let script = [stub::calls(&[("a", "look", "{}"), ("b", "look", "{}")]), stub::text("next")];
        let (provider, server, first) = asked_on_thread(script, "").await;
        let mut stream = Loop::start(&server, start_on("t", 2)).await;
        let id = stream.started().await.coordination_id;
        stream.decision().await;
        stream.act(turn(stub::offering("r", "look"))).await;
        let batch = stream.tools().await;
        let call = batch.calls[0].call.clone().unwrap().call_id;
        stream.say(results("", vec![ask::result(&call, "seen")])).await;
        stream.accepted().await;
        assert_eq!(look::thread(&server, "t").await.active_run_id, "r");
        if by_frame {
            stream.say(coordinate::cancel()).await;
        } else {
            assert_eq!(cancel(&server, &id).await.state(), pb::CoordinationState::Cancelled);
        }
        let (ended, status) = stream.ended().await;
        assert!(matches!(ended.outcome, Some(Outcome::Cancelled(_))) && ended.undelivered_exchange.is_none());
        refused::is(&status.unwrap(), Code::Cancelled, Reason::RunCancelled);
        assert_eq!(look::run(&server, "r").await.state(), pb::RunState::Cancelled);
        let thread = look::thread(&server, "t").await;
        assert_eq!((thread.head_exchange_id, thread.active_run_id.as_str()), (first, ""));
        server.exchanges().r#continue(ask::on_thread(ask::on("t"), ask::text("next"))).await.unwrap();
        assert_eq!(provider.count(), 3);
    }
}

/// While a turn is at work: the call returns when it has ended.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_by_call_ends_a_turn_at_work() {
    let gate = Gate::closed();
    let script = [stub::text("never").wait(&gate), stub::text("next")];
    let (provider, server, first) = asked_on_thread(script, "").await;
    let mut stream = Loop::start(&server, start_on("t", 2)).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    stream.act(turn_of("go on")).await;
    let run_id = stream.accepted().await.run_id;
    provider.request(1).await;
    let cancelled = cancel(&server, &id).await;
    assert_eq!((cancelled.state(), cancelled.active_run_id.as_str()), (pb::CoordinationState::Cancelled, ""));
    assert_eq!(provider.outcome(1).await, Answered::ClientClosed);
    let (ended, status) = stream.ended().await;
    assert!(ended.undelivered_exchange.is_none());
    refused::is(&status.unwrap(), Code::Cancelled, Reason::RunCancelled);
    assert_eq!(look::run(&server, &run_id).await.state(), pb::RunState::Cancelled);
    let thread = look::thread(&server, "t").await;
    assert_eq!((thread.head_exchange_id, thread.active_run_id.as_str()), (first, ""));
    server.exchanges().r#continue(ask::on_thread(ask::on("t"), ask::text("next"))).await.unwrap();
}

/// The run of a turn that is cancelled by its own id is the first error of an execution: it ends the coordination.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_cancelled_ends_its_coordination() {
    let gate = Gate::closed();
    let (provider, server, _) = asked_on_thread([stub::text("never").wait(&gate)], "").await;
    let mut stream = Loop::start(&server, start_on("t", 2)).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    stream.act(turn(ask::text_as("r", "go on"))).await;
    provider.request(1).await;
    server.runs().cancel(pb::RunServiceCancelRequest { run_id: "r".into() }).await.unwrap();
    let (ended, status) = stream.ended().await;
    refused::is(&status.unwrap(), Code::Cancelled, Reason::RunCancelled);
    let Some(Outcome::Failed(failed)) = ended.outcome else { panic!("{ended:?}") };
    assert_eq!(failed.error.unwrap().reason, "RUN_CANCELLED");
    assert_eq!(got(&server, &id).await.turns_started, 1);
}

/// Waits until a call waits for its place at the backend.
async fn waits_for_room(server: &Running) {
    let mut catalog = server.catalog();
    crate::support::within("a call to wait for room", async {
        loop {
            let backend = pb::InspectBackendRequest { backend_id: "stub".into() };
            if catalog.inspect_backend(backend).await.unwrap().into_inner().backend.unwrap().queued == 1 {
                return;
            }
        }
    })
    .await;
}

/// A cancel while an answer waits for admission: the turn is never claimed, and nothing is asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_while_a_turn_waits_for_room_starts_nothing() {
    let gate = Gate::closed();
    let (provider, server, _) = asked_on_thread([stub::text("other").wait(&gate)], "capacity = 1\n").await;
    let mut stream = Loop::start(&server, start_on("t", 2)).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    let mut other = server.exchanges();
    let other = tokio::spawn(async move { other.capture(ask::capture(ask::text("other"))).await });
    provider.request(1).await;
    stream.act(turn(ask::text_as("r", "go on"))).await;
    waits_for_room(&server).await;
    stream.say(coordinate::cancel()).await;
    let ended = loop {
        match stream.news().await {
            pb::coordinate_response::Frame::Ended(ended) => break ended,
            // Of the answer that waited.
            pb::coordinate_response::Frame::Rejected(_) => {}
            other => panic!("{other:?}"),
        }
    };
    assert!(matches!(ended.outcome, Some(Outcome::Cancelled(_))));
    gate.open();
    other.await.unwrap().unwrap();
    assert_eq!((got(&server, &id).await.turns_started, provider.count()), (0, 2));
}

/// A cancel by call does the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_by_call_while_a_turn_waits_for_room_starts_nothing() {
    let gate = Gate::closed();
    let (provider, server, _) = asked_on_thread([stub::text("other").wait(&gate)], "capacity = 1\n").await;
    let mut stream = Loop::start(&server, start_on("t", 2)).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    let mut other = server.exchanges();
    let other = tokio::spawn(async move { other.capture(ask::capture(ask::text("other"))).await });
    provider.request(1).await;
    stream.act(turn(ask::text_as("r", "go on"))).await;
    waits_for_room(&server).await;
    assert_eq!(cancel(&server, &id).await.state(), pb::CoordinationState::Cancelled);
    gate.open();
    other.await.unwrap().unwrap();
    assert_eq!((got(&server, &id).await.turns_started, provider.count()), (0, 2));
    refused::is(&look::no_run(&server, "r").await, Code::NotFound, Reason::RunNotFound);
}

/// A cancel does not wait behind answers that wait for what is pending next.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_goes_before_answers_that_wait() {
    let gate = Gate::closed();
    let (provider, server, _) = asked_on_thread([stub::text("never").wait(&gate)], "").await;
    let mut stream = Loop::start(&server, start_on("t", 5)).await;
    stream.decision().await;
    for text in ["one", "two", "three"] {
        stream.act(turn_of(text)).await;
    }
    provider.request(1).await;
    stream.say(coordinate::cancel()).await;
    assert_eq!(provider.outcome(1).await, Answered::ClientClosed);
    let ended = stream.until(|told| match told {
        pb::coordinate_response::Frame::Ended(ended) => Some(ended.clone()),
        _ => None,
    });
    assert!(matches!(ended.await.outcome, Some(Outcome::Cancelled(_))));
    assert_eq!(provider.count(), 2);
}
