//! Threads as resources: made, read, listed, changed and removed, each safe to repeat.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use antiphon::ops::source::RandomIds;
use tonic::{Code, Status};

use crate::support::clock::Set;
use crate::support::provider::Provider;
use crate::support::server::{Running, Sources, openai, scripted};
use crate::support::{ask, refused};
use crate::{look, stub};

fn named(id: &str, name: &str) -> pb::NewThread {
    pb::NewThread { thread_id: id.into(), name: name.into(), ..Default::default() }
}

fn create(thread: pb::NewThread) -> pb::ThreadServiceCreateRequest {
    pb::ThreadServiceCreateRequest { thread: Some(thread), ..Default::default() }
}

async fn created(server: &Running, request: pb::ThreadServiceCreateRequest) -> Result<pb::Thread, Status> {
    Ok(server.threads().create(request).await?.into_inner().thread.unwrap())
}

fn update(id: &str, paths: &[&str], thread: pb::NewThread) -> pb::ThreadServiceUpdateRequest {
    let paths = paths.iter().map(|path| (*path).to_owned()).collect();
    pb::ThreadServiceUpdateRequest {
        thread_id: id.into(),
        update_mask: Some(prost_types::FieldMask { paths }),
        thread: Some(thread),
        ..Default::default()
    }
}

async fn updated(server: &Running, request: pb::ThreadServiceUpdateRequest) -> Result<pb::Thread, Status> {
    Ok(server.threads().update(request).await?.into_inner().thread.unwrap())
}

fn delete(id: &str) -> pb::ThreadServiceDeleteRequest {
    pb::ThreadServiceDeleteRequest { thread_id: id.into(), ..Default::default() }
}

fn existing(id: &str, request: pb::ExecutionRequest) -> pb::CaptureRequest {
    pb::CaptureRequest {
        thread: Some(pb::capture_request::Thread::ExistingThread(ask::on(id))),
        ..ask::capture(request)
    }
}

/// A thread is what it was made of; made again with the same request id it is the same, and with another request that conflicts.
#[tokio::test(flavor = "multi_thread")]
async fn a_thread_is_made_once() {
    let server = Running::echo().await;
    let new = pb::NewThread {
        labels: [("team".to_owned(), "red".to_owned())].into(),
        metadata_json: "{\"b\":1,\"a\":12345678901234567890}".into(),
        defaults: Some(pb::ThreadDefaults {
            profile_id: "canned".into(),
            model: "m".into(),
            standing_tools: ask::tools(&["look"]),
        }),
        ..named("t", "first")
    };
    let request = || pb::ThreadServiceCreateRequest { request_id: "once".into(), ..create(new.clone()) };
    let thread = created(&server, request()).await.unwrap();
    assert_eq!(
        (thread.name.as_str(), thread.metadata_json.as_str()),
        ("first", new.metadata_json.as_str()),
        "verbatim"
    );
    let defaults = thread.defaults.clone().unwrap();
    assert_eq!(
        (defaults.profile_id.as_str(), defaults.standing_tools.unwrap().tools[0].name.as_str()),
        ("canned", "look")
    );
    assert_eq!(
        (thread.head_exchange_id.as_str(), thread.turn_count, &thread.parent, &thread.pending),
        ("", 0, &None, &None)
    );
    assert!(!thread.etag.is_empty() && thread.create_time.is_some());
    assert_eq!(created(&server, request()).await.unwrap(), thread);
    assert_eq!(look::thread(&server, "t").await, thread);
    let other = pb::ThreadServiceCreateRequest { request_id: "once".into(), ..create(named("u", "x")) };
    refused::is(&created(&server, other).await.unwrap_err(), Code::AlreadyExists, Reason::RequestIdConflict);
    let taken = created(&server, create(named("t", "second"))).await.unwrap_err();
    refused::is(&taken, Code::AlreadyExists, Reason::ThreadExists);
    assert_eq!(refused::fact(&taken, "thread_id"), "t");
    let ours = created(&server, pb::ThreadServiceCreateRequest::default()).await.unwrap();
    assert_eq!(look::thread(&server, &ours.thread_id).await, ours);
    let server = server.restart().await;
    assert_eq!(look::thread(&server, "t").await, thread);
}

/// B081: a thread may begin at an exchange, and a taken id leaves the one that has it where it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_thread_may_begin_at_an_exchange() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    let a = client.capture(ask::capture(ask::text("1"))).await.unwrap().into_inner().exchange.unwrap();
    let b = client.capture(ask::capture(ask::text("2"))).await.unwrap().into_inner().exchange.unwrap();
    let at =
        |point: &str| pb::ThreadServiceCreateRequest { head: Some(ask::point(point)), ..create(named("main", "")) };
    let thread = created(&server, at(&a.exchange_id)).await.unwrap();
    assert_eq!((&thread.head_exchange_id, thread.turn_count, &thread.head_run_id), (&a.exchange_id, 1, &a.run_id));
    assert_eq!(thread.parent.unwrap().exchange_id, a.exchange_id);
    refused::is(&created(&server, at(&b.exchange_id)).await.unwrap_err(), Code::AlreadyExists, Reason::ThreadExists);
    assert_eq!(look::thread(&server, "main").await.head_exchange_id, a.exchange_id);
    let next = client.r#continue(ask::on_thread(ask::on("main"), ask::text("3"))).await.unwrap().into_inner();
    assert_eq!(next.exchange.unwrap().parent_exchange_id, a.exchange_id);
    let nowhere = pb::ThreadServiceCreateRequest {
        head: Some(ask::point("0190a5c1-7b1e-7000-8000-000000000000")),
        ..create(named("x", ""))
    };
    refused::is(&created(&server, nowhere).await.unwrap_err(), Code::NotFound, Reason::ExchangeNotFound);
}

/// Only what the mask names changes; a stale etag is told the current one; the head is no business of an update.
#[tokio::test(flavor = "multi_thread")]
async fn a_thread_is_changed_by_what_the_mask_names() {
    let server = Running::echo().await;
    let new = pb::NewThread {
        labels: [("k".to_owned(), "v".to_owned())].into(),
        metadata_json: "{\"a\":1}".into(),
        ..named("t", "old")
    };
    let first = created(&server, create(new)).await.unwrap();
    let renamed =
        pb::ThreadServiceUpdateRequest { etag: first.etag.clone(), ..update("t", &["name"], named("", "new")) };
    let second = updated(&server, renamed.clone()).await.unwrap();
    assert_eq!(
        (second.name.as_str(), &second.labels, &second.metadata_json),
        ("new", &first.labels, &first.metadata_json)
    );
    assert_ne!(second.etag, first.etag);
    let stale = updated(&server, renamed).await.unwrap_err();
    refused::is(&stale, Code::Aborted, Reason::EtagMismatch);
    assert_eq!(refused::fact(&stale, "etag"), second.etag);
    let cleared = updated(
        &server,
        update(
            "t",
            &["labels", "metadata_json", "defaults.model"],
            pb::NewThread {
                defaults: Some(pb::ThreadDefaults {
                    model: "other".into(),
                    profile_id: "not named".into(),
                    ..Default::default()
                }),
                ..Default::default()
            },
        ),
    )
    .await
    .unwrap();
    assert_eq!((cleared.name.as_str(), cleared.labels.len(), cleared.metadata_json.as_str()), ("new", 0, ""));
    let defaults = cleared.defaults.clone().unwrap();
    assert_eq!((defaults.model.as_str(), defaults.profile_id.as_str()), ("other", ""));
    server.exchanges().capture(existing("t", ask::text("1"))).await.unwrap();
    let moved = look::thread(&server, "t").await;
    assert_ne!(moved.etag, cleared.etag, "a moved head is another version");
    let late = pb::ThreadServiceUpdateRequest { etag: cleared.etag, ..update("t", &["name"], named("", "late")) };
    refused::is(&updated(&server, late).await.unwrap_err(), Code::Aborted, Reason::EtagMismatch);
    let once =
        || pb::ThreadServiceUpdateRequest { request_id: "u1".into(), ..update("t", &["name"], named("", "once")) };
    assert_eq!(updated(&server, once()).await.unwrap().name, "once");
    updated(&server, update("t", &["name"], named("", "after"))).await.unwrap();
    assert_eq!(updated(&server, once()).await.unwrap().name, "after", "a repetition changes nothing again");
    let wrong = updated(&server, update("t", &["head"], named("other", ""))).await.unwrap_err();
    assert_eq!(refused::fields(&wrong), ["thread.thread_id", "update_mask[0]"]);
    let unknown = updated(&server, update("nope", &["name"], named("", "x"))).await.unwrap_err();
    refused::is(&unknown, Code::NotFound, Reason::ThreadNotFound);
}

/// A removed thread takes nothing with it: exchanges stay and children live on.
#[tokio::test(flavor = "multi_thread")]
async fn a_removed_thread_takes_nothing_with_it() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    let first = client.capture(ask::capture_on_new("t", ask::text("1"))).await.unwrap().into_inner().exchange.unwrap();
    client.fork(ask::fork(&first.exchange_id, vec![ask::branch("child", None)])).await.unwrap();
    let child = look::thread(&server, "child").await;
    let wrong = pb::ThreadServiceDeleteRequest { etag: "other".into(), ..delete("t") };
    refused::is(&server.threads().delete(wrong).await.unwrap_err(), Code::Aborted, Reason::EtagMismatch);
    let etag = look::thread(&server, "t").await.etag;
    let once = pb::ThreadServiceDeleteRequest { etag, request_id: "d1".into(), ..delete("t") };
    server.threads().delete(once.clone()).await.unwrap();
    server.threads().delete(once).await.unwrap();
    refused::is(&server.threads().delete(delete("t")).await.unwrap_err(), Code::NotFound, Reason::ThreadNotFound);
    let gone = server.threads().get(pb::ThreadServiceGetRequest { thread_id: "t".into() }).await.unwrap_err();
    refused::is(&gone, Code::NotFound, Reason::ThreadNotFound);
    assert_eq!(look::thread(&server, "child").await, child);
    client.r#continue(ask::on_thread(ask::on("child"), ask::text("2"))).await.unwrap();
    assert_eq!(look::history(&server, &first.exchange_id).await.len(), 2);
    assert_eq!(look::threads(&server).await, ["child"]);
}

/// A run that waits for results goes on when its thread is gone: its exchanges are no part of the thread.
#[tokio::test(flavor = "multi_thread")]
async fn a_pending_run_outlives_its_thread() {
    let provider = Provider::start([stub::calls(&[("p1", "look", "{}")]), stub::text("done")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let asked = client
        .capture(ask::capture_on_new("t", stub::offering("r", "1")))
        .await
        .unwrap()
        .into_inner()
        .exchange
        .unwrap();
    server.threads().delete(delete("t")).await.unwrap();
    let results = vec![ask::result(&asked.pending_tool_calls[0].call_id, "seen")];
    let done = client.r#continue(ask::after_with(&asked.exchange_id, results)).await.unwrap().into_inner();
    assert_eq!((done.run.unwrap().state(), done.thread), (pb::RunState::Completed, None));
}

/// S3x-2: turns are counted by their place, never by the clock: also those of one instant are in order, and each is a point to fork after.
#[tokio::test(flavor = "multi_thread")]
async fn turns_of_one_instant_are_in_order() {
    let clock = Arc::new(Set(AtomicU64::new(1_800_000_000_000)));
    let sources = Sources { ids: Arc::new(RandomIds), clock };
    let server = Running::start_with(scripted(""), sources).await;
    let mut client = server.exchanges();
    client.capture(ask::capture_on_new("t", ask::text_as("r1", "1"))).await.unwrap();
    for turn in 2..=5 {
        let request = ask::text_as(&format!("r{turn}"), &turn.to_string());
        client.r#continue(ask::on_thread(ask::on("t"), request)).await.unwrap();
    }
    let request = pb::ListTurnsRequest { thread_id: "t".into(), ..Default::default() };
    let turns = server.threads().list_turns(request).await.unwrap().into_inner().turns;
    let listed: Vec<_> = turns.iter().map(|turn| (turn.turn, turn.run_id.as_str())).collect();
    assert_eq!(listed, [(1, "r1"), (2, "r2"), (3, "r3"), (4, "r4"), (5, "r5")]);
    for turn in 1..=5_u64 {
        let at = pb::thread_turn_point::At::AfterRun(pb::AfterRun { run_id: format!("r{turn}") });
        let point = pb::ThreadTurnPoint { thread_id: "t".into(), at: Some(at) };
        let source = Some(pb::fork_request::Source::Thread(point));
        let fork = pb::ForkRequest { source, ..Default::default() };
        let forked = client.fork(fork).await.unwrap().into_inner().results.remove(0).thread.unwrap();
        assert_eq!((forked.turn_count, forked.parent.unwrap().turn), (turn, turn));
    }
}

/// Lists go in pages whose tokens belong to their query.
#[tokio::test(flavor = "multi_thread")]
async fn lists_of_threads_and_turns_go_in_pages() {
    let server = Running::echo().await;
    for number in 0..7 {
        let team = if number % 3 == 0 { "red" } else { "blue" };
        let labels = [("team".to_owned(), team.to_owned())].into();
        created(&server, create(pb::NewThread { labels, ..named(&format!("t{number}"), "") })).await.unwrap();
    }
    let list = |team: &str, token: &str| pb::ThreadServiceListRequest {
        page_size: 2,
        page_token: token.into(),
        labels: [("team".to_owned(), team.to_owned())].into(),
    };
    let (mut seen, mut token) = (Vec::new(), String::new());
    loop {
        let page = server.threads().list(list("blue", &token)).await.unwrap().into_inner();
        assert!(page.threads.len() <= 2);
        seen.extend(page.threads.into_iter().map(|thread| thread.thread_id));
        if page.next_page_token.is_empty() {
            break;
        }
        token = page.next_page_token;
    }
    assert_eq!(seen, ["t1", "t2", "t4", "t5"]);
    let elsewhere = server.threads().list(list("red", &token)).await.unwrap_err();
    refused::is(&elsewhere, Code::InvalidArgument, Reason::PageTokenInvalid);
    let negative =
        server.threads().list(pb::ThreadServiceListRequest { page_size: -1, ..Default::default() }).await.unwrap_err();
    assert_eq!(refused::fields(&negative), ["page_size"]);

    for turn in 1..=5 {
        let text = ask::text(&format!("q{turn}"));
        match turn {
            1 => drop(server.exchanges().capture(existing("t0", text)).await.unwrap()),
            _ => drop(server.exchanges().r#continue(ask::on_thread(ask::on("t0"), text)).await.unwrap()),
        }
    }
    let turns =
        |id: &str, token: &str| pb::ListTurnsRequest { thread_id: id.into(), page_size: 2, page_token: token.into() };
    let (mut seen, mut token) = (Vec::new(), String::new());
    loop {
        let page = server.threads().list_turns(turns("t0", &token)).await.unwrap().into_inner();
        seen.push(
            page.turns
                .iter()
                .map(|turn| (turn.turn, turn.user_preview.clone(), turn.exchange_count))
                .collect::<Vec<_>>(),
        );
        if page.next_page_token.is_empty() {
            break;
        }
        token = page.next_page_token;
    }
    let turn = |number: u64| (number, format!("q{number}"), 1);
    assert_eq!(seen, [vec![turn(1), turn(2)], vec![turn(3), turn(4)], vec![turn(5)]]);
    refused::is(
        &server.threads().list_turns(turns("t1", &token)).await.unwrap_err(),
        Code::InvalidArgument,
        Reason::PageTokenInvalid,
    );
    refused::is(
        &server.threads().list_turns(turns("nope", "")).await.unwrap_err(),
        Code::NotFound,
        Reason::ThreadNotFound,
    );
    assert!(server.threads().list_turns(turns("t1", "")).await.unwrap().into_inner().turns.is_empty());
}

/// Capture begins a thread that has no exchange, Continue goes on with one that has, and each says which of the two is meant.
#[tokio::test(flavor = "multi_thread")]
async fn empty_threads_are_captured_onto_and_others_continued() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    created(&server, create(named("t", ""))).await.unwrap();
    let empty = client.r#continue(ask::on_thread(ask::on("t"), ask::text("1"))).await.unwrap_err();
    refused::is(&empty, Code::FailedPrecondition, Reason::ThreadEmpty);
    let first = client.capture(existing("t", ask::text("1"))).await.unwrap().into_inner();
    let head = first.exchange.unwrap().exchange_id;
    assert_eq!(first.thread.unwrap().head_exchange_id, head);
    let full = client.capture(existing("t", ask::text("2"))).await.unwrap_err();
    refused::is(&full, Code::FailedPrecondition, Reason::ThreadNotEmpty);
    assert_eq!(refused::fact(&full, "head_exchange_id"), head);
    let unknown = client.capture(existing("nope", ask::text("2"))).await.unwrap_err();
    refused::is(&unknown, Code::NotFound, Reason::ThreadNotFound);
    let taken = client.capture(ask::capture_on_new("t", ask::text("2"))).await.unwrap_err();
    refused::is(&taken, Code::AlreadyExists, Reason::ThreadExists);
}

/// S3-13: what a fork is told about itself is under `fork`, as it was written, and the child takes the source's defaults, nothing else (S0-19, S0-23).
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_keeps_its_metadata_under_fork() {
    let provider = Provider::start([stub::text("1"), stub::status(400, "no"), stub::text("3")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let source = pb::NewThread {
        labels: [("k".to_owned(), "v".to_owned())].into(),
        metadata_json: "{\"own\":1}".into(),
        defaults: Some(pb::ThreadDefaults {
            model: "m".into(),
            profile_id: "stub".into(),
            standing_tools: ask::tools(&["look"]),
        }),
        ..named("t", "source")
    };
    created(&server, create(source)).await.unwrap();
    let first = client.capture(existing("t", ask::text("1"))).await.unwrap().into_inner().exchange.unwrap().exchange_id;
    let child = || pb::NewThread {
        metadata_json: "{\"label\":\"try 2\",\"n\":12345678901234567890}".into(),
        labels: [("side".to_owned(), "b".to_owned())].into(),
        ..named("bare", "child")
    };
    let bare = pb::ForkBranch { thread: Some(child()), input: None };
    let thread =
        client.fork(ask::fork(&first, vec![bare])).await.unwrap().into_inner().results.remove(0).thread.unwrap();
    assert_eq!(thread.metadata_json, "{\"fork\":{\"label\":\"try 2\",\"n\":12345678901234567890}}");
    assert_eq!((thread.name.as_str(), thread.labels.len(), thread.labels["side"].as_str()), ("child", 1, "b"));
    let defaults = thread.defaults.unwrap();
    assert_eq!((defaults.model.as_str(), defaults.standing_tools.unwrap().tools[0].name.as_str()), ("m", "look"));
    let source = look::thread(&server, "t").await;
    assert_eq!(source.metadata_json, "{\"own\":1}", "the source is as it was");

    // A repetition, and a second attempt, make the same thread, even where the first call made none.
    let missing = |retry| {
        let request = pb::ExecutionRequest { retry, ..ask::text_as("r", "2") };
        let new = pb::NewThread { thread_id: "prompted".into(), ..child() };
        let branch = pb::ForkBranch { thread: Some(new), input: Some(pb::fork_branch::Input::Request(request)) };
        pb::ForkRequest { request_id: "f1".into(), ..ask::fork(&first, vec![branch]) }
    };
    client.fork(missing(false)).await.unwrap_err();
    let thread = client.fork(missing(true)).await.unwrap().into_inner().results.remove(0).thread.unwrap();
    assert_eq!((thread.name.as_str(), thread.labels["side"].as_str()), ("child", "b"));
    assert!(thread.metadata_json.starts_with("{\"fork\":{"));
    let none =
        client.fork(ask::fork(&first, vec![ask::branch("plain", None)])).await.unwrap().into_inner().results.remove(0);
    assert_eq!(none.thread.unwrap().metadata_json, "");
}

/// Several first turns at once, one result each in order; the one that fails does not fail the others and leaves its thread at the fork point.
#[tokio::test(flavor = "multi_thread")]
async fn branches_fail_and_succeed_each_for_itself() {
    let provider = Provider::start([stub::text("1"), stub::text("2"), stub::text("3")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let first = client
        .capture(ask::capture_on_new("t", ask::text("1")))
        .await
        .unwrap()
        .into_inner()
        .exchange
        .unwrap()
        .exchange_id;
    let wrong = pb::ExecutionRequest { profile_id: "nope".into(), ..ask::text("x") };
    let branches = || {
        vec![
            ask::branch("a", Some(ask::text("left"))),
            ask::branch("b", Some(wrong.clone())),
            ask::branch("c", None),
            ask::branch("d", Some(ask::text("right"))),
        ]
    };
    let fork = || pb::ForkRequest { request_id: "f".into(), ..ask::fork(&first, branches()) };
    let results = client.fork(fork()).await.unwrap().into_inner().results;
    let told: Vec<_> = results
        .iter()
        .map(|result| (result.exchange.is_some(), result.error.as_ref().map(|error| error.reason.as_str())))
        .collect();
    assert_eq!(told, [(true, None), (false, Some("PROFILE_UNKNOWN")), (false, None), (true, None)]);
    assert_eq!(look::threads(&server).await, ["a", "c", "d", "t"], "what was refused before its claim made no thread");
    let again = client.fork(fork()).await.unwrap().into_inner();
    assert!(again.replayed);
    let ends = |results: &[pb::ForkResult]| {
        results.iter().map(|result| result.exchange.clone().map(|exchange| exchange.exchange_id)).collect::<Vec<_>>()
    };
    assert_eq!(ends(&again.results), ends(&results));
    assert_eq!(provider.count(), 3);
    let conflict = pb::ForkRequest { request_id: "f".into(), ..ask::fork(&first, vec![]) };
    refused::is(&client.fork(conflict).await.unwrap_err(), Code::AlreadyExists, Reason::RequestIdConflict);
}
