//! Threads: heads, races, forks and what is busy.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::Code;

use crate::support::provider::{Entry, Gate, Provider};
use crate::support::server::{Running, openai};
use crate::support::{ask, refused};

fn answer(text: &str) -> Entry {
    let body = serde_json::json!({
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
    });
    Entry::json(&body.to_string())
}

async fn thread(server: &Running, id: &str) -> pb::Thread {
    let request = pb::ThreadServiceGetRequest { thread_id: id.into() };
    server.threads().get(request).await.unwrap().into_inner().thread.unwrap()
}

/// Rule 6, B101: of two turns from one head one wins, and the other is told the current head.
#[tokio::test(flavor = "multi_thread")]
async fn a_stale_head_is_refused_with_the_current_one() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    let first = client.capture(ask::capture_on_new("t", ask::text("1"))).await.unwrap().into_inner();
    let old = first.exchange.unwrap().exchange_id;
    let second = client.r#continue(ask::on_thread(ask::expecting("t", &old), ask::text("2"))).await.unwrap();
    let new = second.into_inner().exchange.unwrap().exchange_id;
    let stale = client.r#continue(ask::on_thread(ask::expecting("t", &old), ask::text("3"))).await.unwrap_err();
    refused::is(&stale, Code::Aborted, Reason::HeadMoved);
    assert_eq!(refused::fact(&stale, "head_exchange_id"), new);
    assert_eq!(refused::fact(&stale, "expected_head"), old);
    assert_eq!(thread(&server, "t").await.head_exchange_id, new);
}

/// S3-5, S3-6: a run at work is named, and a second prompt is refused with its id or forks.
#[tokio::test(flavor = "multi_thread")]
async fn a_busy_thread_refuses_or_forks() {
    let gate = Gate::closed();
    let provider = Provider::start([answer("one"), answer("slow").wait(&gate), answer("beside")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let first = client.capture(ask::capture_on_new("t", ask::text("1"))).await.unwrap().into_inner();
    let head = first.exchange.unwrap().exchange_id;
    let mut slow = server.exchanges();
    let slow =
        tokio::spawn(async move { slow.r#continue(ask::on_thread(ask::on("t"), ask::text_as("slow", "2"))).await });
    provider.request(1).await;
    assert_eq!(thread(&server, "t").await.active_run_id, "slow");
    let busy = client.r#continue(ask::on_thread(ask::on("t"), ask::text("3"))).await.unwrap_err();
    refused::is(&busy, Code::Aborted, Reason::ThreadBusy);
    assert_eq!(refused::fact(&busy, "active_run_id"), "slow");
    let fork = pb::ThreadPoint { on_busy: pb::OnBusy::Fork.into(), ..ask::on("t") };
    let forked = client.r#continue(ask::on_thread(fork, ask::text("4"))).await.unwrap().into_inner();
    let beside = forked.thread.unwrap();
    assert_ne!(beside.thread_id, "t");
    assert_eq!(beside.parent.unwrap().exchange_id, head);
    gate.open();
    let slow = slow.await.unwrap().unwrap().into_inner().exchange.unwrap();
    let now = thread(&server, "t").await;
    assert_eq!((now.head_exchange_id, now.active_run_id.as_str()), (slow.exchange_id, ""));
}

/// Rule 5, S3-14, S3x-9, S4-23, B078: a fork shares the prefix, and what follows on one side is not seen on the other.
#[tokio::test(flavor = "multi_thread")]
async fn branches_do_not_see_each_other() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    let first = client.capture(ask::capture_on_new("t", ask::text("1"))).await.unwrap().into_inner().exchange.unwrap();
    let before = thread(&server, "t").await;
    let branches = vec![
        ask::branch("a", Some(ask::text("left"))),
        ask::branch("b", Some(ask::text("right"))),
        ask::branch("c", None),
    ];
    let forked = client.fork(ask::fork(&first.exchange_id, branches)).await.unwrap().into_inner();
    assert_eq!(forked.results.len(), 3);
    let ends: Vec<_> =
        forked.results.iter().map(|result| result.thread.as_ref().unwrap().head_exchange_id.clone()).collect();
    assert_eq!(ends[2], first.exchange_id);
    assert_eq!(thread(&server, "t").await, before, "the source is unchanged");
    for (end, word) in [(&ends[0], "left"), (&ends[1], "right")] {
        let history = ask::texts(&client.inspect(ask::inspect(end)).await.unwrap().into_inner().messages);
        assert_eq!(history.len(), 4);
        assert_eq!(history[2], format!("U:{word}"));
    }
    client.r#continue(ask::on_thread(ask::on("t"), ask::text("own"))).await.unwrap();
    let a = client.inspect(ask::inspect(&ends[0])).await.unwrap().into_inner();
    assert!(!ask::texts(&a.messages).iter().any(|text| text.contains("own") || text.contains("right")));
    let taken = client.fork(ask::fork(&first.exchange_id, vec![ask::branch("a", None)])).await.unwrap_err();
    refused::is(&taken, Code::AlreadyExists, Reason::ThreadExists);
}

/// S3-8..11, S1-16: after a run, inclusive; turn numbers go on from the fork point.
#[tokio::test(flavor = "multi_thread")]
async fn a_thread_is_forked_after_a_run_or_a_turn() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    client.capture(ask::capture_on_new("t", ask::text_as("r1", "1"))).await.unwrap();
    for turn in 2..=4 {
        let request = ask::text_as(&format!("r{turn}"), &turn.to_string());
        client.r#continue(ask::on_thread(ask::on("t"), request)).await.unwrap();
    }
    let at = |at| pb::ForkRequest {
        source: Some(pb::fork_request::Source::Thread(pb::ThreadTurnPoint { thread_id: "t".into(), at: Some(at) })),
        ..Default::default()
    };
    let after_run = pb::thread_turn_point::At::AfterRun(pb::AfterRun { run_id: "r2".into() });
    let by_run = client.fork(at(after_run)).await.unwrap().into_inner().results.remove(0).thread.unwrap();
    let after_turn = pb::thread_turn_point::At::AfterTurn(pb::AfterTurn { turn: 2 });
    let by_turn = client.fork(at(after_turn)).await.unwrap().into_inner().results.remove(0).thread.unwrap();
    assert_eq!(by_run.head_exchange_id, by_turn.head_exchange_id);
    assert_eq!((by_run.turn_count, by_run.parent.clone().unwrap().turn), (2, 2));
    assert_eq!(by_run.parent.unwrap().thread_id, "t");
    let next = client.r#continue(ask::on_thread(ask::on(&by_run.thread_id), ask::text("other 3"))).await.unwrap();
    assert_eq!(next.into_inner().exchange.unwrap().turn, 3);
    let turns = pb::ListTurnsRequest { thread_id: by_run.thread_id, ..Default::default() };
    let turns = server.threads().list_turns(turns).await.unwrap().into_inner().turns;
    let listed: Vec<_> =
        turns.iter().map(|turn| (turn.turn, turn.run_id.as_str(), turn.user_preview.as_str())).collect();
    assert_eq!(listed[..2], [(1, "r1", "1"), (2, "r2", "2")]);
    assert_eq!((listed[2].0, listed[2].2), (3, "other 3"));
    let nowhere = pb::thread_turn_point::At::AfterRun(pb::AfterRun { run_id: "nope".into() });
    let nowhere = client.fork(at(nowhere)).await.unwrap_err();
    refused::is(&nowhere, Code::NotFound, Reason::RunNotFound);
}
