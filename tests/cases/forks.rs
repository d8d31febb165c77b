//! Branches: each path is the chain of its parents, whatever happens beside it, in whatever order and at whatever time of the clock.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::Code;

use crate::served::Served;
use crate::support::clock::Set;
use crate::support::provider::{Entry, Gate};
use crate::support::server::{Running, Sources, scripted};
use crate::support::{ask, look, refused, stub};

/// So many answers: `a0`, `a1`, ...
fn answers(count: usize) -> Vec<Entry> {
    (0..count).map(|number| stub::text(&format!("a{number}"))).collect()
}

/// What users said in a request that went out.
async fn asked(served: &Served, number: usize) -> Vec<String> {
    let sent = served.messages(number).await;
    let users = sent.as_array().unwrap().iter().filter(|message| message["role"] == "user");
    users.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn b078_a_fork_never_sees_the_branch_that_it_left() {
    let served = Served::with(answers(4)).await;
    let a = served.capture(ask::capture_on_new("t", ask::text("one"))).await;
    served.go_on(ask::on_thread(ask::on("t"), ask::text("two"))).await;
    let f = served.fork(&a.exchange_id, "f", ask::text("three")).await;
    assert_eq!(asked(&served, 2).await, ["one", "three"]);
    let path = ["U:one", "A:a0", "U:three", "A:a2"];
    assert_eq!(served.history(&f.exchange_id).await, path);
    let served = served.restart().await;
    assert_eq!(served.history(&f.exchange_id).await, path);
    served.go_on(ask::on_thread(ask::on("f"), ask::text("four"))).await;
    assert_eq!(asked(&served, 3).await, ["one", "three", "four"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn b080_a_hundred_forks_at_once_are_a_hundred() {
    let server = Running::echo().await;
    let captured = server.exchanges().capture(ask::capture(ask::text("A"))).await.unwrap().into_inner();
    let a = captured.exchange.unwrap().exchange_id;
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let (mut client, fork) =
                (server.exchanges(), ask::fork(&a, vec![ask::branch("", Some(ask::text("same")))]));
            tokio::spawn(async move { client.fork(fork).await.unwrap().into_inner().results.remove(0) })
        })
        .collect();
    let (mut ids, mut threads) = (BTreeSet::new(), BTreeSet::new());
    for call in calls {
        let (exchange, thread) = match call.await.unwrap() {
            pb::ForkResult { exchange: Some(exchange), thread: Some(thread), .. } => (exchange, thread),
            other => panic!("{other:?}"),
        };
        assert_eq!((&exchange.parent_exchange_id, exchange.depth), (&a, 2));
        assert_eq!(thread.head_exchange_id, exchange.exchange_id);
        ids.insert(exchange.exchange_id);
        threads.insert(thread.thread_id);
    }
    assert_eq!((ids.len(), threads.len()), (100, 100));
    for id in &ids {
        assert_eq!(look::history(&server, id).await.len(), 4);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b081_a_name_that_is_taken_stays_where_it_is() {
    let served = Served::with(answers(2)).await;
    let a = served.capture(ask::capture_on_new("main", ask::text("1"))).await;
    let b = served.go_on(ask::after(&a.exchange_id, ask::text("2"))).await;
    let before = look::thread(&served.server, "main").await;
    let create = pb::ThreadServiceCreateRequest {
        thread: Some(pb::NewThread { thread_id: "main".into(), ..Default::default() }),
        head: Some(ask::point(&b.exchange_id)),
        ..Default::default()
    };
    let mut client = served.server.exchanges();
    let refusals = [
        served.server.threads().create(create).await.unwrap_err(),
        client.fork(ask::fork(&b.exchange_id, vec![ask::branch("main", None)])).await.unwrap_err(),
        client.fork(ask::fork(&b.exchange_id, vec![ask::branch("main", Some(ask::text("x")))])).await.unwrap_err(),
        client.capture(ask::capture_on_new("main", ask::text("x"))).await.unwrap_err(),
    ];
    for refusal in refusals {
        refused::is(&refusal, Code::AlreadyExists, Reason::ThreadExists);
    }
    assert_eq!(look::thread(&served.server, "main").await, before);
    assert_eq!((served.provider.count(), look::runs(&served.server).await.len()), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn b083_the_fork_point_is_included() {
    let served = Served::with(answers(5)).await;
    let a = served.capture(ask::capture(ask::text("A"))).await;
    let b = served.go_on(ask::after(&a.exchange_id, ask::text("B"))).await;
    let c = served.go_on(ask::after(&b.exchange_id, ask::text("C"))).await;
    served.fork(&c.exchange_id, "x", ask::text("x")).await;
    served.fork(&a.exchange_id, "y", ask::text("y")).await;
    assert_eq!(asked(&served, 3).await, ["A", "B", "C", "x"]);
    assert_eq!(asked(&served, 4).await, ["A", "y"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn b084_the_same_prompt_asks_again() {
    let served = Served::with([stub::text("A"), stub::text("3"), stub::text("5")]).await;
    let a = served.capture(ask::capture(ask::text("A"))).await.exchange_id;
    let mut rolled = Vec::new();
    for id in ["r1", "r2"] {
        let child = served.fork(&a, id, ask::text_as(id, "roll a die")).await;
        assert_eq!(child.parent_exchange_id, a);
        rolled.push(child.text);
    }
    assert_eq!((rolled, served.provider.count()), (vec!["3".to_owned(), "5".to_owned()], 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn b085_what_goes_on_from_an_earlier_point_goes_on_from_there() {
    let served = Served::with(answers(5)).await;
    let a = served.capture(ask::capture_on_new("t", ask::text("A"))).await.exchange_id;
    served.go_on(ask::on_thread(ask::on("t"), ask::text("B"))).await;
    let c = served.go_on(ask::on_thread(ask::on("t"), ask::text("C"))).await.exchange_id;
    let back = pb::ThreadServiceCreateRequest {
        thread: Some(pb::NewThread { thread_id: "back".into(), ..Default::default() }),
        head: Some(ask::point(&a)),
        ..Default::default()
    };
    served.server.threads().create(back).await.unwrap();
    let x = served.go_on(ask::on_thread(ask::on("back"), ask::text("x"))).await;
    let y = served.go_on(ask::on_thread(ask::on("back"), ask::text("y"))).await;
    assert_eq!((x.parent_exchange_id, y.parent_exchange_id), (a, x.exchange_id));
    assert_eq!(asked(&served, 4).await, ["A", "x", "y"]);
    let served = served.restart().await;
    assert_eq!((served.head("back").await, served.head("t").await), (y.exchange_id, c.clone()));
    assert_eq!(served.history(&c).await.len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn b088_a_fork_beside_a_run_at_work_begins_at_what_is_complete() {
    let gate = Gate::closed();
    let slow = stub::begun("cut ").wait(&gate).write(stub::end("stop"));
    let served = Served::with([stub::text("a0"), slow, stub::text("forked"), stub::text("probed")]).await;
    let first = served.capture(ask::capture_on_new("t", ask::text("one"))).await.exchange_id;
    let turn = Some(ask::on_thread(ask::on("t"), ask::text_as("slow", "two")));
    let mut stream =
        served.server.exchanges().stream_continue(pb::StreamContinueRequest { turn }).await.unwrap().into_inner();
    while !format!("{:?}", stream.message().await.unwrap().unwrap()).contains("cut ") {}
    let on_thread = || pb::ThreadTurnPoint { thread_id: "t".into(), at: None };
    let fork = pb::ForkRequest {
        source: Some(pb::fork_request::Source::Thread(on_thread())),
        ..ask::fork(&first, vec![ask::branch("f", Some(ask::text("three")))])
    };
    let forked = served.server.exchanges().fork(fork).await.unwrap().into_inner().results.remove(0);
    assert_eq!(forked.exchange.unwrap().parent_exchange_id, first);
    let probe = pb::ProbeRequest {
        from: Some(pb::probe_request::From::Thread(on_thread())),
        ..ask::probe(&first, ask::text("four"))
    };
    assert_eq!(served.server.exchanges().probe(probe).await.unwrap().into_inner().text, "probed");
    assert_eq!(asked(&served, 2).await, ["one", "three"]);
    assert_eq!(asked(&served, 3).await, ["one", "four"]);
    gate.open();
    while stream.message().await.unwrap().is_some() {}
    assert_eq!(look::thread(&served.server, "t").await.turn_count, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn b090_order_is_by_parents_and_not_by_the_clock() {
    let clock = Arc::new(Set(AtomicU64::new(1_700_000_000_000)));
    let server = Running::start_with(scripted(""), Sources { clock: clock.clone(), ..Sources::real() }).await;
    let mut client = server.exchanges();
    let first = client.capture(ask::capture_on_new("t", ask::text("0"))).await.unwrap().into_inner().exchange.unwrap();
    let mut chain = vec![first.exchange_id.clone()];
    for number in 1..30 {
        if number == 15 {
            clock.0.fetch_sub(3_600_000, Ordering::AcqRel);
        }
        let turn = ask::on_thread(ask::on("t"), ask::text(&number.to_string()));
        chain.push(client.r#continue(turn).await.unwrap().into_inner().exchange.unwrap().exchange_id);
    }
    let listed = async |server: &Running| {
        let all = pb::RunServiceListRequest { page_size: 100, ..Default::default() };
        let runs = server.runs().list(all).await.unwrap().into_inner().runs;
        runs.into_iter().map(|run| run.run_id).collect::<Vec<_>>()
    };
    let mut runs = listed(&server).await;
    for number in 0..50 {
        let turn = ask::after(&first.exchange_id, ask::text_as(&format!("sibling{number:02}"), "s"));
        let sibling = client.r#continue(turn).await.unwrap().into_inner().exchange.unwrap();
        assert_eq!(sibling.parent_exchange_id, first.exchange_id);
        runs.push(sibling.run_id);
    }
    let path = async |server: &Running| {
        let last = pb::InspectRequest { page_size: 100, ..ask::inspect(chain.last().unwrap()) };
        let page = server.exchanges().inspect(last).await.unwrap().into_inner();
        let ids: Vec<_> = page.path.into_iter().map(|step| step.exchange_id).collect();
        (ids, ask::texts(&page.messages))
    };
    let (ids, texts) = path(&server).await;
    assert_eq!(ids, chain);
    let users: Vec<_> = texts.iter().filter_map(|text| text.strip_prefix("U:")).collect();
    assert_eq!(users, (0..30).map(|number| number.to_string()).collect::<Vec<_>>());
    let before = listed(&server).await;
    let server = server.restart().await;
    assert_eq!(path(&server).await, (ids, texts));
    assert_eq!(listed(&server).await, before, "lists have one order, whatever the clock said");
    let mut sorted = before.clone();
    sorted.sort();
    runs.sort();
    assert_eq!(sorted, runs, "and have everything once");
}

#[tokio::test(flavor = "multi_thread")]
async fn b091_a_fork_is_at_an_exchange_and_not_at_a_count_of_messages() {
    let calls = stub::calls(&[("p1", "look", "{}"), ("p2", "look", "{}")]);
    let served = Served::with([calls, stub::text("a1"), stub::text("a2")].into_iter().chain(answers(3))).await;
    let e1 = served.capture(ask::capture(stub::offering("", "q1"))).await;
    let results = |texts: [&str; 2]| {
        let result = |(call, text): (&pb::ToolCall, &str)| ask::result(&call.call_id, text);
        e1.pending_tool_calls.iter().zip(texts).map(result).collect::<Vec<_>>()
    };
    let e2 = served.go_on(ask::after_with(&e1.exchange_id, results(["x", "y"]))).await;
    let e3 = served.go_on(ask::after(&e2.exchange_id, ask::text("q2"))).await;
    let prompted = ask::fork(&e1.exchange_id, vec![ask::branch("f1", Some(ask::text("n")))]);
    let prompted = served.server.exchanges().fork(prompted).await.unwrap_err();
    refused::is(&prompted, Code::FailedPrecondition, Reason::UnansweredToolCalls);
    let with_results = pb::fork_branch::Input::ToolResults(ask::results(results(["z", "z"])));
    let branch = pb::ForkBranch { input: Some(with_results), ..ask::branch("f1", None) };
    served.server.exchanges().fork(ask::fork(&e1.exchange_id, vec![branch])).await.unwrap();
    served.fork(&e2.exchange_id, "f2", ask::text("n2")).await;
    served.fork(&e3.exchange_id, "f3", ask::text("n3")).await;
    let mut out = Vec::new();
    for number in 3..6 {
        let sent = served.messages(number).await;
        let message = |message: &serde_json::Value| match message["content"].as_str() {
            Some(text) => text.to_owned(),
            None => format!("{} calls", message["tool_calls"].as_array().unwrap().len()),
        };
        out.push(sent.as_array().unwrap().iter().map(message).collect::<Vec<_>>().join(" "));
    }
    assert_eq!(out, ["q1 2 calls z z", "q1 2 calls x y a1 n2", "q1 2 calls x y a1 q2 a2 n3"]);
}
