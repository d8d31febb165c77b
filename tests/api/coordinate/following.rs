//! A coordination on a thread: each turn moves the head from where the coordination saw it, or is rejected.

use antiphon::grpc::pb;
use pb::next_action::Action;

use super::{asked_on_thread, got};
use crate::support::ask;
use crate::support::coordinate::{Loop, start_on, start_with, stop, turn_of};
use crate::support::provider::Gate;
use crate::{look, stub};

/// The head is the last result at every decision; moved by others, a turn is rejected with where it is, consumes nothing, and the
/// same decision takes a turn without the thread.
#[tokio::test(flavor = "multi_thread")]
async fn a_thread_is_followed_until_others_move_it() {
    let answers = ["one", "two", "theirs", "three", "four"].map(stub::text);
    let (provider, server, first) = asked_on_thread(answers, "").await;
    let mut stream = Loop::start(&server, start_on("t", 5)).await;
    let started = stream.started().await;
    assert_eq!((started.thread_id.as_str(), &started.exchange_id), ("t", &first));
    let mut at = stream.decision().await;
    for _ in 0..2 {
        stream.act(turn_of("go on")).await;
        at = stream.decision().await;
        assert_eq!(at.thread_id, "t");
        let thread = look::thread(&server, "t").await;
        assert_eq!(thread.head_exchange_id, at.exchange.as_ref().unwrap().exchange_id);
        assert_eq!(thread.active_run_id, "");
    }
    let theirs = server.exchanges().r#continue(ask::on_thread(ask::on("t"), ask::text("me too"))).await.unwrap();
    let theirs = theirs.into_inner().exchange.unwrap().exchange_id;
    stream.act(turn_of("go on")).await;
    let rejected = stream.rejected().await;
    let error = rejected.error.unwrap();
    assert_eq!((&rejected.id, error.reason.as_str(), error.code), (&at.decision_id, "HEAD_MOVED", 10));
    assert_eq!(error.metadata["head_exchange_id"], theirs);
    let now = got(&server, &started.coordination_id).await;
    assert_eq!((&now.pending_id, now.turns_started, now.turns_remaining), (&at.decision_id, 2, 3));
    let input = Some(pb::next_turn::Input::Request(ask::text("on my own")));
    stream.act(Action::Turn(pb::NextTurn { input, detach_thread: true, ..Default::default() })).await;
    let alone = stream.decision().await;
    let own = alone.exchange.unwrap();
    assert_eq!((alone.thread_id.as_str(), own.parent_exchange_id), ("", at.exchange.unwrap().exchange_id));
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, theirs);
    stream.act(turn_of("and on")).await;
    assert_eq!(stream.decision().await.thread_id, "");
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, theirs);
    assert_eq!(got(&server, &started.coordination_id).await.thread_id, "");
    assert_eq!(provider.count(), 6, "what was rejected was not asked");
}

/// While another run is at work on the thread, a turn is rejected, and taken afterwards at the moved head or not at all.
#[tokio::test(flavor = "multi_thread")]
async fn a_busy_thread_rejects_a_turn() {
    let gate = Gate::closed();
    let script = [stub::text("theirs").wait(&gate), stub::text("one")];
    let (provider, server, first) = asked_on_thread(script, "").await;
    let mut stream = Loop::start(&server, start_on("t", 1)).await;
    let pending = stream.decision().await.decision_id;
    let mut other = server.exchanges();
    let other = tokio::spawn(async move {
        other.r#continue(ask::on_thread(ask::on("t"), ask::text_as("theirs", "me first"))).await
    });
    provider.request(1).await;
    stream.act(turn_of("go on")).await;
    let rejected = stream.rejected().await;
    let error = rejected.error.unwrap();
    assert_eq!((rejected.id, error.reason.as_str()), (pending.clone(), "THREAD_BUSY"));
    server.runs().cancel(pb::RunServiceCancelRequest { run_id: "theirs".into() }).await.unwrap();
    gate.open();
    assert!(other.await.unwrap().is_err());
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, first);
    stream.act(turn_of("go on")).await;
    let next = stream.decision().await;
    assert_eq!((next.exchange.unwrap().text.as_str(), next.turns_started), ("one", 1));
    stream.act(stop()).await;
    assert!(stream.ended().await.1.is_none());
}

/// An initial request may make a thread, which the coordination follows from there.
#[tokio::test(flavor = "multi_thread")]
async fn an_initial_request_may_make_the_thread() {
    let (_provider, server, _) = asked_on_thread(["one", "two"].map(stub::text), "").await;
    let mut begin = start_with(ask::text("begin"), 1);
    let Some(pb::coordination_start::From::InitialRequest(initial)) = &mut begin.from else { panic!() };
    let new = pb::NewThread { thread_id: "new".into(), ..Default::default() };
    initial.thread = Some(pb::initial_request::Thread::NewThread(new));
    let mut stream = Loop::start(&server, begin).await;
    let first = stream.decision().await;
    assert_eq!((first.thread_id.as_str(), first.turns_started, first.starting), ("new", 0, true));
    assert_eq!(look::thread(&server, "new").await.head_exchange_id, first.exchange.unwrap().exchange_id);
    stream.act(turn_of("go on")).await;
    let second = stream.decision().await.exchange.unwrap();
    assert_eq!(second.text, "two");
    assert_eq!(look::thread(&server, "new").await.head_exchange_id, second.exchange_id);
}
