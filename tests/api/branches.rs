//! A branch is a thread like any other, made in one write that copies nothing and needs no model; what the requirements of branching say,
//! each looked at from outside.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::Code;

use crate::support::documents::{after_turn, all, began, forked, live, put, these, went_on, wrote};
use crate::support::provider::Provider;
use crate::support::server::{Running, openai};
use crate::support::{ask, refused};
use crate::{look, stub};

/// S1-8, S1-9, S1-10, S1-14: what a fork adds to the store is one thread, whatever the turns and documents before it: no exchange, no message,
/// no content, no version of documents.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_copies_nothing() {
    let server = Running::echo().await;
    began(&server, "t").await;
    wrote(
        &server,
        "t",
        (0..200).map(|number| put(&format!("n{number}"), format!("{number} ").repeat(2_000))).collect(),
    )
    .await;
    for turn in 2..=20 {
        went_on(&server, "t", &format!("r{turn}")).await;
    }
    let before = look::verified(&server).await;
    for (turn, id) in [(None, "last"), (Some(3), "early")] {
        forked(&server, "t", turn, id).await;
    }
    let mut added = look::verified(&server).await;
    for (kind, count) in before {
        *added.get_mut(&kind).unwrap() -= count;
    }
    added.retain(|_, count| *count > 0);
    let expected = ["thread", "head", "workspace", "index entry of a head"].map(|kind| (kind.to_owned(), 2));
    assert_eq!(added, expected.into());
    assert_eq!(all(&server, live("early")).await.len(), 200);
}

/// S1-2, S1-6, S1-7, S1-12: any completed turn can be forked; the branch has what was said before the next prompt, and every way to go on
/// works on it as on any thread. To switch is to name another thread.
#[tokio::test(flavor = "multi_thread")]
async fn a_branch_is_a_thread_like_any_other() {
    let answers = ["a1", "a2", "a3", "b2", "b3", "b4"].map(stub::text);
    let provider = Provider::start(answers.into_iter().chain([stub::streamed(&["b", "5"])])).await;
    let server = Running::start(openai(&provider.base_url())).await;
    began(&server, "t").await;
    for run in ["r2", "r3"] {
        went_on(&server, "t", run).await;
    }
    forked(&server, "t", Some(1), "f").await;
    assert_eq!(look::history(&server, &look::thread(&server, "f").await.head_exchange_id).await, ["U:1", "A:a1"]);
    went_on(&server, "f", "f2").await;
    let sent = stub::sent(&provider.request(3).await.json());
    assert_eq!(sent, ["user:\"1\"", "assistant:\"a1\"", "user:\"f2\""], "the same prefix, then its own");
    let head = look::thread(&server, "f").await.head_exchange_id;
    went_on(&server, "f", "f3").await;
    forked(&server, "f", Some(2), "g").await;
    assert_eq!(look::thread(&server, "g").await.head_exchange_id, head);
    went_on(&server, "g", "g3").await;
    let streamed = pb::StreamContinueRequest { turn: Some(ask::on_thread(ask::on("g"), ask::text("g4"))) };
    let mut stream = server.exchanges().stream_continue(streamed).await.unwrap().into_inner();
    let mut last = None;
    while let Some(told) = stream.message().await.unwrap() {
        last = Some(told);
    }
    assert!(matches!(last.unwrap().event, Some(pb::stream_continue_response::Event::Completed(_))));
    for (thread, turns) in [("t", 3), ("f", 3), ("g", 4)] {
        assert_eq!(look::thread(&server, thread).await.turn_count, turns, "{thread}");
    }
}

/// S1-21: branching needs no model, no prompt and no tools: it works while the provider is gone.
#[tokio::test(flavor = "multi_thread")]
async fn branching_asks_no_model() {
    let provider = Provider::start([stub::text("a1")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let first = began(&server, "t").await.exchange_id;
    drop(provider);
    forked(&server, "t", None, "f").await;
    wrote(&server, "f", vec![put("a", "1")]).await;
    let restore = pb::RestoreRequest { thread_id: "f".into(), to: Some(ask::point(&first)), ..Default::default() };
    server.threads().restore(restore).await.unwrap();
}

/// S3-12, S3-15, S3x-10: a branch has the id that the caller chose, which must be free, and names the thread that it left and the last exchange that it took
/// over; a branch of a branch names that branch, one level up.
#[tokio::test(flavor = "multi_thread")]
async fn a_branch_names_where_it_left() {
    let server = Running::echo().await;
    began(&server, "t").await;
    let second = went_on(&server, "t", "r2").await;
    went_on(&server, "t", "r3").await;
    let parent = |thread: &pb::Thread| {
        let parent = thread.parent.clone().unwrap();
        (parent.thread_id, parent.exchange_id, parent.run_id, parent.turn)
    };
    let chosen = forked(&server, "t", Some(2), "my:branch-1.a").await;
    assert_eq!(chosen.thread_id, "my:branch-1.a");
    assert_eq!(parent(&chosen), ("t".into(), second.exchange_id.clone(), "r2".into(), 2));
    let third = went_on(&server, "my:branch-1.a", "b3").await;
    went_on(&server, "my:branch-1.a", "b4").await;
    let again = forked(&server, "my:branch-1.a", Some(3), "again").await;
    assert_eq!(parent(&again), ("my:branch-1.a".into(), third.exchange_id, "b3".into(), 3));
    // What happens to the source later changes nothing of it, and a thread that was forked from none has no parent.
    went_on(&server, "t", "r4").await;
    assert_eq!(parent(&look::thread(&server, "my:branch-1.a").await), parent(&chosen));
    assert_eq!(look::thread(&server, "t").await.parent, None);
    let fork = ask::fork(&second.exchange_id, vec![ask::branch("again", None)]);
    let taken = server.exchanges().fork(fork).await.unwrap_err();
    refused::is(&taken, Code::AlreadyExists, Reason::ThreadExists);
    let fork = ask::fork(&second.exchange_id, vec![ask::branch("", None), ask::branch("", None)]);
    let ours = server.exchanges().fork(fork).await.unwrap().into_inner().results;
    let ids: Vec<String> = ours.into_iter().map(|result| result.thread.unwrap().thread_id).collect();
    assert!(ids[0] != ids[1] && ids.iter().all(|id| !id.is_empty()), "{ids:?}");
}

/// S1-11: a walk back through branches of branches is not cut off at any depth.
#[tokio::test(flavor = "multi_thread")]
async fn branches_of_branches_go_as_deep_as_they_go() {
    let server = Running::echo().await;
    began(&server, "b0").await;
    wrote(&server, "b0", vec![put("first", "0")]).await;
    for depth in 1..=70 {
        let (from, id) = (format!("b{}", depth - 1), format!("b{depth}"));
        forked(&server, &from, None, &id).await;
        went_on(&server, &id, &format!("r{depth}")).await;
        wrote(&server, &id, vec![put("last", depth.to_string())]).await;
    }
    let last = look::thread(&server, "b70").await;
    assert_eq!((last.turn_count, look::history(&server, &last.head_exchange_id).await.len()), (71, 142));
    assert_eq!(all(&server, live("b70")).await, these([("first", "0"), ("last", "70")]));
    assert_eq!(all(&server, after_turn("b70", 1)).await, these([("first", "0")]));
    assert_eq!(all(&server, after_turn("b70", 35)).await, these([("first", "0"), ("last", "34")]));
}

/// S1-17, S1-18, S1-19, S1-20: a branch is made in one write, so there is no phase in which it could be seen half made, and what is refused
/// leaves nothing to clean up.
#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_is_refused_was_never_there() {
    let server = Running::echo().await;
    let first = began(&server, "t").await.exchange_id;
    wrote(&server, "t", vec![put("a", "1")]).await;
    let before = look::verified(&server).await;
    let unknown = pb::ExecutionRequest { profile_id: "nowhere".into(), ..ask::text("x") };
    let branches = vec![ask::branch("one", Some(unknown))];
    let refusal = server.exchanges().fork(ask::fork(&first, branches)).await.unwrap_err();
    refused::is(&refusal, Code::InvalidArgument, Reason::ProfileUnknown);
    let twice = vec![ask::branch("new", None), ask::branch("t", None)];
    let refusal = server.exchanges().fork(ask::fork(&first, twice)).await.unwrap_err();
    refused::is(&refusal, Code::AlreadyExists, Reason::ThreadExists);
    assert_eq!((look::threads(&server).await, look::verified(&server).await), (vec!["t".to_owned()], before));
}

/// S1-22, S1-T1, S1-26: who did not write a thread can read it whole, and seed a new one in one call; what was there is recognised, and the
/// new thread goes on like the old one.
#[tokio::test(flavor = "multi_thread")]
async fn a_thread_is_read_by_anybody_and_seeded_in_one_write() {
    let server = Running::echo().await;
    began(&server, "t").await;
    let last = went_on(&server, "t", "r2").await.exchange_id;
    let mut reader = pb::exchange_service_client::ExchangeServiceClient::new(server.fresh_channel());
    let read = reader.inspect(ask::inspect(&last)).await.unwrap().into_inner();
    let new = pb::NewThread { thread_id: "seeded".into(), ..Default::default() };
    let seed =
        pb::RecordRequest { thread: Some(pb::record_request::Thread::NewThread(new)), ..ask::record(read.messages) };
    let seeded = reader.record(seed).await.unwrap().into_inner();
    assert_eq!((seeded.matched_count, seeded.stored_count), (2, 0), "nothing was stored twice");
    let thread = look::thread(&server, "seeded").await;
    assert_eq!((thread.head_exchange_id, thread.turn_count), (last, 2));
    went_on(&server, "seeded", "s3").await;
    went_on(&server, "t", "r3").await;
    assert_eq!(look::thread(&server, "seeded").await.turn_count, 3);
}

/// S1-1, S1-23: branches are seen as a graph that is only looked at: nothing is written, and each thread is at its head.
#[tokio::test(flavor = "multi_thread")]
async fn branches_are_seen_as_a_graph() {
    let server = Running::echo().await;
    let root = began(&server, "t").await.exchange_id;
    forked(&server, "t", None, "f").await;
    let (left, right) = (went_on(&server, "t", "t2").await.exchange_id, went_on(&server, "f", "f2").await.exchange_id);
    let ask_graph = || pb::GetGraphRequest {
        scope: Some(pb::GraphScope {
            scope: Some(pb::graph_scope::Scope::ThreadTree(pb::ThreadTreeScope { thread_id: "f".into() })),
        }),
        ..Default::default()
    };
    // The first look at the graph of an older store may complete its indexes.
    server.graphs().get_graph(ask_graph()).await.unwrap();
    let before = look::verified(&server).await;
    let graph = server.graphs().get_graph(ask_graph()).await.unwrap().into_inner();
    let shown: Vec<(String, Vec<String>)> =
        graph.nodes.into_iter().map(|node| (node.exchange.unwrap().exchange_id, node.head_of_thread_ids)).collect();
    assert_eq!(shown, [(root, vec![]), (left, vec!["t".to_owned()]), (right, vec!["f".to_owned()])]);
    assert_eq!(look::verified(&server).await, before);
}

/// S1-25: what the store stands on is pinned exactly, so that raising it is a change that the tests run on.
#[test]
fn the_engine_of_the_store_is_pinned() {
    let manifest = include_str!("../../Cargo.toml");
    assert!(manifest.lines().any(|line| line.starts_with("sled = \"=")), "an exact version");
    assert!(include_str!("../../Cargo.lock").contains("name = \"sled\"\nversion = "));
}
