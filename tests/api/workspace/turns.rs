//! Documents and turns: each turn has those that it started from and those that were there when it was complete; a branch has its own.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::Code;

use crate::support::documents::{
    after_run, after_turn, all, before, began, copy, exchange, forked, list, live, put, read, remove, these, went_on,
    wrote,
};
use crate::support::provider::{Gate, Provider};
use crate::support::server::{Running, openai};
use crate::support::{ask, refused};
use crate::{look, stub};

/// B092, S1-13: the documents after turn k are what turn k+1 started from, writes after the turn included; at the end those that are
/// live. What came later is not there, and what was renamed has its old name.
#[tokio::test(flavor = "multi_thread")]
async fn b092_documents_are_read_as_of_a_turn() {
    let server = Running::echo().await;
    let first = began(&server, "t").await;
    wrote(&server, "t", vec![put("p", "v1")]).await;
    let second = went_on(&server, "t", "r2").await;
    wrote(&server, "t", vec![put("p", "v2"), put("q", "made in 2")]).await;
    let third = went_on(&server, "t", "r3").await;
    wrote(&server, "t", vec![remove("p"), copy("r", live("t"), "q"), remove("q")]).await;
    let states = [these([("p", "v1")]), these([("p", "v2"), ("q", "made in 2")]), these([("r", "made in 2")])];
    let server = server.restart().await;
    for (turn, (state, run)) in states.iter().zip(["t-1", "r2", "r3"]).enumerate() {
        assert_eq!(all(&server, after_turn("t", turn as u64 + 1)).await, *state);
        assert_eq!(all(&server, after_run("t", run)).await, *state);
    }
    assert_eq!(all(&server, live("t")).await, states[2]);
    // An exchange knows what its run started from and what was there when it was complete.
    assert_eq!(all(&server, before(&first.exchange_id)).await, these([]));
    assert_eq!(all(&server, before(&second.exchange_id)).await, states[0]);
    assert_eq!(all(&server, exchange(&second.exchange_id)).await, states[0]);
    assert_eq!(all(&server, exchange(&third.exchange_id)).await, states[1]);
    forked(&server, "t", Some(1), "f").await;
    assert_eq!(all(&server, live("f")).await, states[0]);
    wrote(&server, "f", vec![put("p", "fork")]).await;
    assert_eq!(read(&server, live("f"), "p").await.unwrap(), "fork");
    assert_eq!(read(&server, after_turn("t", 2), "p").await.unwrap(), "v2");
    assert_eq!(read(&server, after_turn("f", 1), "p").await.unwrap(), "fork", "at the end of the path");
}

/// S1-T3, S1-T4, S1-T5, S1-14, S1-15, S1-16: a fork has the documents of its point, without a copy of any; then each branch has its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_has_the_documents_of_its_point_and_then_its_own() {
    let server = Running::echo().await;
    began(&server, "t").await;
    wrote(&server, "t", vec![put("plan", "one"), put("todo", "x")]).await;
    went_on(&server, "t", "r2").await;
    wrote(&server, "t", vec![put("plan", "two")]).await;
    let last = forked(&server, "t", None, "last").await;
    let middle = forked(&server, "t", Some(1), "middle").await;
    assert_eq!(all(&server, live("last")).await, these([("plan", "two"), ("todo", "x")]), "what is live");
    assert_eq!(all(&server, live("middle")).await, these([("plan", "one"), ("todo", "x")]), "what turn 2 started from");
    assert_eq!((last.turn_count, middle.turn_count, middle.parent.unwrap().thread_id.as_str()), (2, 1, "t"));
    let version = |thread: &str| {
        let at = live(thread);
        let server = &server;
        async move { list(server, at).await.unwrap().version.unwrap().workspace_root }
    };
    assert_eq!(version("last").await, version("t").await, "the same version, not a copy");
    wrote(&server, "middle", vec![remove("todo"), put("plan", "mine")]).await;
    wrote(&server, "t", vec![put("todo", "done")]).await;
    assert_eq!(all(&server, live("middle")).await, these([("plan", "mine")]));
    assert_eq!(all(&server, live("t")).await, these([("plan", "two"), ("todo", "done")]));
    assert_eq!(all(&server, live("last")).await, these([("plan", "two"), ("todo", "x")]));
    assert_eq!(all(&server, after_turn("t", 1)).await, these([("plan", "one"), ("todo", "x")]));
    // Siblings go on at the same turn.
    let sibling = went_on(&server, "middle", "m2").await;
    assert_eq!(look::thread(&server, "middle").await.turn_count, 2);
    assert_eq!(all(&server, before(&sibling.exchange_id)).await, these([("plan", "mine")]));
}

/// S1-T6: a branch of a branch has what came down both; and neither needs the thread that it came from.
#[tokio::test(flavor = "multi_thread")]
async fn a_branch_of_a_branch_inherits_and_outlives_its_parents() {
    let server = Running::echo().await;
    began(&server, "t").await;
    wrote(&server, "t", vec![put("from", "t")]).await;
    forked(&server, "t", None, "u").await;
    went_on(&server, "u", "u2").await;
    wrote(&server, "u", vec![put("also", "u")]).await;
    forked(&server, "u", None, "v").await;
    wrote(&server, "u", vec![put("later", "u")]).await;
    for thread in ["t", "u"] {
        let request = pb::ThreadServiceDeleteRequest { thread_id: thread.into(), ..Default::default() };
        server.threads().delete(request).await.unwrap();
    }
    let server = server.restart().await;
    assert_eq!(all(&server, live("v")).await, these([("also", "u"), ("from", "t")]));
    went_on(&server, "v", "v3").await;
    assert_eq!(all(&server, after_turn("v", 1)).await, these([("from", "t")]));
    assert_eq!(look::thread(&server, "v").await.turn_count, 3);
    // A thread that takes the id of one that was removed has nothing of it.
    began(&server, "u").await;
    assert_eq!(all(&server, live("u")).await, these([]));
    look::verified(&server).await;
}

/// Without a thread the documents come along from exchange to exchange, so a thread that begins there has them.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_without_a_thread_carries_the_documents() {
    let server = Running::echo().await;
    began(&server, "t").await;
    wrote(&server, "t", vec![put("a", "1")]).await;
    let second = went_on(&server, "t", "r2").await;
    wrote(&server, "t", vec![put("a", "2")]).await;
    let mut client = server.exchanges();
    let pure = client.r#continue(ask::after(&second.exchange_id, ask::text("aside"))).await.unwrap().into_inner();
    let pure = pure.exchange.unwrap().exchange_id;
    let further = client.r#continue(ask::after(&pure, ask::text("aside again"))).await.unwrap().into_inner();
    let further = further.exchange.unwrap().exchange_id;
    for at in [exchange(&pure), before(&pure), exchange(&further)] {
        assert_eq!(all(&server, at).await, these([("a", "1")]));
    }
    // By exchange, with a first turn, and bare by ThreadService.
    let with_turn = ask::fork(&further, vec![ask::branch("f", Some(ask::text("go")))]);
    let made = client.fork(with_turn).await.unwrap().into_inner().results.remove(0).thread.unwrap();
    assert_eq!(all(&server, before(&made.head_exchange_id)).await, these([("a", "1")]));
    let new = pb::NewThread { thread_id: "c".into(), ..Default::default() };
    let create =
        pb::ThreadServiceCreateRequest { thread: Some(new), head: Some(ask::point(&pure)), ..Default::default() };
    server.threads().create(create).await.unwrap();
    for thread in ["f", "c"] {
        assert_eq!(all(&server, live(thread)).await, these([("a", "1")]), "{thread}");
    }
    let alone = client.capture(ask::capture(ask::text("alone"))).await.unwrap().into_inner().exchange.unwrap();
    assert_eq!(all(&server, exchange(&alone.exchange_id)).await, these([]));
}

/// What is written while a turn is at work belongs to that turn: it is not in what the turn started from, it is in what was there when the
/// turn was complete, and a fork at the head before does not have it.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_during_a_turn_belongs_to_it() {
    let gate = Gate::closed();
    let provider = Provider::start([stub::text("a1"), stub::text("a2").wait(&gate), stub::text("a3")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    began(&server, "t").await;
    wrote(&server, "t", vec![put("a", "before")]).await;
    let mut client = server.exchanges();
    let slow = ask::on_thread(ask::on("t"), ask::text_as("slow", "q2"));
    let slow = tokio::spawn(async move { client.r#continue(slow).await.unwrap().into_inner().exchange.unwrap() });
    provider.request(1).await;
    wrote(&server, "t", vec![put("a", "during")]).await;
    assert_eq!(all(&server, live("t")).await, these([("a", "during")]));
    assert_eq!(all(&server, after_turn("t", 1)).await, these([("a", "before")]));
    forked(&server, "t", None, "f").await;
    assert_eq!(all(&server, live("f")).await, these([("a", "before")]));
    // One that is forked since the thread is busy has what goes with the head, too.
    let busy = pb::ThreadPoint { on_busy: pb::OnBusy::Fork.into(), ..ask::on("t") };
    let beside = server.exchanges().r#continue(ask::on_thread(busy, ask::text("q2b"))).await.unwrap().into_inner();
    assert_eq!(all(&server, live(&beside.thread.unwrap().thread_id)).await, these([("a", "before")]));
    gate.open();
    let exchange_id = slow.await.unwrap().exchange_id;
    assert_eq!(all(&server, before(&exchange_id)).await, these([("a", "before")]));
    assert_eq!(all(&server, exchange(&exchange_id)).await, these([("a", "during")]));
    assert_eq!(all(&server, after_turn("t", 2)).await, these([("a", "during")]));
}

/// Tools of a chain write between its exchanges; all of them started from what their run did. A run that fails leaves what was written.
#[tokio::test(flavor = "multi_thread")]
async fn tools_write_between_the_exchanges_of_a_run() {
    let answers = [stub::text("a1"), stub::calls(&[("p1", "look", "{}")]), stub::text("a2"), stub::status(400, "no")];
    let provider = Provider::start(answers).await;
    let server = Running::start(openai(&provider.base_url())).await;
    began(&server, "t").await;
    wrote(&server, "t", vec![put("a", "1")]).await;
    let mut client = server.exchanges();
    let calls = client.r#continue(ask::on_thread(ask::on("t"), stub::offering("r", "q2"))).await.unwrap().into_inner();
    let calls = calls.exchange.unwrap();
    wrote(&server, "t", vec![put("a", "by the tool")]).await;
    let answer = vec![ask::result(&calls.pending_tool_calls[0].call_id, "seen")];
    let done = client.r#continue(ask::on_thread_with("t", answer)).await.unwrap().into_inner().exchange.unwrap();
    assert_eq!(all(&server, exchange(&calls.exchange_id)).await, these([("a", "1")]));
    assert_eq!(all(&server, before(&done.exchange_id)).await, these([("a", "1")]));
    assert_eq!(all(&server, exchange(&done.exchange_id)).await, these([("a", "by the tool")]));
    let failed = client.r#continue(ask::on_thread(ask::on("t"), ask::text("q3"))).await.unwrap_err();
    refused::is(&failed, Code::InvalidArgument, Reason::ProviderRefusedRequest);
    assert_eq!(all(&server, live("t")).await, these([("a", "by the tool")]));
    assert_eq!(look::thread(&server, "t").await.turn_count, 2);
}

/// A transcript that is recorded on a thread has the thread's documents around it, and a new thread those of where it goes on.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_recorded_has_the_documents_of_its_place() {
    let server = Running::echo().await;
    let first = began(&server, "t").await;
    wrote(&server, "t", vec![put("a", "1")]).await;
    let record = |thread, messages| pb::RecordRequest { thread: Some(thread), ..ask::record(messages) };
    let said = || vec![ask::user("q"), ask::assistant("a")];
    let onto = pb::RecordRequest {
        start: Some(pb::record_request::Start::AfterHead(pb::AfterHead {})),
        ..record(pb::record_request::Thread::ExistingThread(ask::on("t")), said())
    };
    let recorded = server.exchanges().record(onto).await.unwrap().into_inner();
    let recorded = recorded.exchanges[0].exchange_id.clone();
    assert_eq!(all(&server, exchange(&recorded)).await, these([("a", "1")]));
    wrote(&server, "t", vec![put("a", "2")]).await;
    let new = pb::NewThread { thread_id: "n".into(), ..Default::default() };
    let aside = pb::RecordRequest {
        start: Some(pb::record_request::Start::AfterExchange(ask::point(&recorded))),
        ..record(pb::record_request::Thread::NewThread(new), said())
    };
    server.exchanges().record(aside).await.unwrap();
    assert_eq!(all(&server, live("n")).await, these([("a", "1")]));
    assert_eq!(all(&server, exchange(&first.exchange_id)).await, these([]));
}
