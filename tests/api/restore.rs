//! Restoring a thread to where it was: head and documents, destroying nothing; and the moves that tell of it.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::{Code, Status};

use crate::support::documents::{all, began, forked, list, live, put, root, these, went_on, wrote};
use crate::support::provider::{Gate, Provider};
use crate::support::server::{Running, openai};
use crate::support::{ask, refused};
use crate::{look, stub};

fn restore(to: &str) -> pb::RestoreRequest {
    pb::RestoreRequest { thread_id: "t".into(), to: Some(ask::point(to)), ..Default::default() }
}

async fn restored(server: &Running, request: pb::RestoreRequest) -> Result<pb::Thread, Status> {
    Ok(server.threads().restore(request).await?.into_inner().thread.unwrap())
}

async fn moves(server: &Running, thread: &str) -> Vec<pb::ThreadMove> {
    let (mut moves, mut token) = (Vec::new(), String::new());
    loop {
        let request = pb::ListMovesRequest { thread_id: thread.into(), page_size: 2, page_token: token };
        let page = server.threads().list_moves(request).await.unwrap().into_inner();
        assert!(page.moves.len() <= 2);
        moves.extend(page.moves);
        token = page.next_page_token;
        if token.is_empty() {
            return moves;
        }
    }
}

fn ids(moves: &[pb::ThreadMove]) -> Vec<(&str, &str, &str)> {
    moves.iter().map(|one| (one.from_exchange_id.as_str(), one.to_exchange_id.as_str(), one.run_id.as_str())).collect()
}

/// Three turns with documents after each: `t-1`, `r2`, `r3`. Gives their exchanges.
async fn three_turns(server: &Running) -> [String; 3] {
    let a = began(server, "t").await.exchange_id;
    wrote(server, "t", vec![put("p", "1")]).await;
    let b = went_on(server, "t", "r2").await.exchange_id;
    wrote(server, "t", vec![put("p", "2"), put("q", "2")]).await;
    let c = went_on(server, "t", "r3").await.exchange_id;
    wrote(server, "t", vec![put("p", "3")]).await;
    [a, b, c]
}

/// B085, S1-3: after going back, the next turn goes on from there; newest by time is not the head.
#[tokio::test(flavor = "multi_thread")]
async fn b085_a_turn_after_a_restore_goes_on_from_there() {
    let server = Running::echo().await;
    let [a, _, c] = three_turns(&server).await;
    let thread = restored(&server, restore(&a)).await.unwrap();
    assert_eq!((&thread.head_exchange_id, thread.head_run_id.as_str(), thread.turn_count), (&a, "t-1", 1));
    let server = server.restart().await;
    let x = went_on(&server, "t", "x").await;
    let y = went_on(&server, "t", "y").await;
    assert_eq!((&x.parent_exchange_id, &y.parent_exchange_id), (&a, &x.exchange_id));
    let server = server.restart().await;
    let thread = look::thread(&server, "t").await;
    assert_eq!((&thread.head_exchange_id, thread.turn_count), (&y.exchange_id, 3));
    assert_eq!(look::history(&server, &c).await.len(), 6, "what was left is still there");
}

/// S1-3, S1-4: the documents go back with the head, to those after that turn, and nothing is destroyed: the way back is a restore too.
#[tokio::test(flavor = "multi_thread")]
async fn documents_go_back_with_the_head_and_come_back_again() {
    let server = Running::echo().await;
    let [a, b, c] = three_turns(&server).await;
    let etag = list(&server, live("t")).await.unwrap().version.unwrap().etag;
    restored(&server, restore(&a)).await.unwrap();
    assert_eq!(all(&server, live("t")).await, these([("p", "1")]));
    assert_ne!(list(&server, live("t")).await.unwrap().version.unwrap().etag, etag);
    wrote(&server, "t", vec![put("p", "aside")]).await;
    restored(&server, restore(&c)).await.unwrap();
    assert_eq!(all(&server, live("t")).await, these([("p", "3"), ("q", "2")]), "as it was when the head left");
    restored(&server, restore(&b)).await.unwrap();
    assert_eq!(all(&server, live("t")).await, these([("p", "2"), ("q", "2")]));
    let told = moves(&server, "t").await;
    let expected: Vec<(&str, &str, &str)> =
        vec![(&c, &b, ""), (&a, &c, ""), (&c, &a, ""), (&b, &c, "r3"), (&a, &b, "r2"), ("", &a, "t-1")];
    assert_eq!(ids(&told), expected, "newest first");
    // Every state that the thread was in has its name there.
    assert_eq!(all(&server, root(&told[1].from_workspace_root)).await, these([("p", "aside")]));
    assert_eq!(all(&server, root(&told[1].to_workspace_root)).await, these([("p", "3"), ("q", "2")]));
    assert_eq!(all(&server, root(&told[4].from_workspace_root)).await, these([("p", "1")]));
    assert_eq!((told[5].from_workspace_root.as_str(), told[5].to_workspace_root.as_str()), ("", ""));
    look::verified(&server).await;
    // A removed thread takes its moves along; what was on it stays.
    let delete = pb::ThreadServiceDeleteRequest { thread_id: "t".into(), ..Default::default() };
    server.threads().delete(delete).await.unwrap();
    assert_eq!(look::history(&server, &c).await.len(), 6);
    let again = ask::capture_on_new("t", ask::text_as("again", "1"));
    let again = server.exchanges().capture(again).await.unwrap().into_inner().exchange.unwrap().exchange_id;
    assert_eq!(ids(&moves(&server, "t").await), [("", again.as_str(), "again")]);
    look::verified(&server).await;
}

/// A head goes where it was, and nowhere else; a fork of what lies elsewhere is the way there.
#[tokio::test(flavor = "multi_thread")]
async fn a_head_goes_only_where_it_was() {
    let server = Running::echo().await;
    let [a, b, c] = three_turns(&server).await;
    forked(&server, "t", Some(1), "f").await;
    let elsewhere = went_on(&server, "f", "f2").await.exchange_id;
    let refusal = restored(&server, restore(&elsewhere)).await.unwrap_err();
    refused::is(&refusal, Code::InvalidArgument, Reason::InvalidFields);
    assert_eq!(refused::fields(&refusal), ["to.exchange_id"]);
    let nowhere = restored(&server, restore("0190a5c1-7b1e-7000-8000-000000000000")).await.unwrap_err();
    refused::is(&nowhere, Code::NotFound, Reason::ExchangeNotFound);
    // The fork's own path begins in its parent's.
    let back = pb::RestoreRequest { thread_id: "f".into(), ..restore(&a) };
    assert_eq!(restored(&server, back).await.unwrap().head_exchange_id, a);
    assert_eq!(ids(&moves(&server, "f").await), [(elsewhere.as_str(), a.as_str(), ""), (&a, &elsewhere, "f2")]);
    let past = pb::RestoreRequest { thread_id: "f".into(), ..restore(&c) };
    assert_eq!(refused::fields(&restored(&server, past).await.unwrap_err()), ["to.exchange_id"]);
    // One that the head went by on a way that it left is one that it once was at.
    restored(&server, restore(&a)).await.unwrap();
    assert_eq!(restored(&server, restore(&b)).await.unwrap().head_exchange_id, b);
    assert_eq!(all(&server, live("t")).await, these([("p", "2"), ("q", "2")]));
}

/// The head that was seen is compared, and a repeated call is one call.
#[tokio::test(flavor = "multi_thread")]
async fn a_restore_expects_a_head_and_is_safe_to_repeat() {
    let server = Running::echo().await;
    let [a, b, c] = three_turns(&server).await;
    let expecting = |head: &str, to: &str| pb::RestoreRequest {
        expected_head: ask::expecting("t", head).expected_head,
        ..restore(to)
    };
    let moved = restored(&server, expecting(&b, &a)).await.unwrap_err();
    refused::is(&moved, Code::Aborted, Reason::HeadMoved);
    assert_eq!(refused::fact(&moved, "head_exchange_id"), c);
    let once = || pb::RestoreRequest { request_id: "once".into(), ..expecting(&c, &a) };
    restored(&server, once()).await.unwrap();
    went_on(&server, "t", "x").await;
    let server = server.restart().await;
    let again = restored(&server, once()).await.unwrap();
    assert_eq!(again.head_run_id, "x", "the thread as it is now");
    let other = pb::RestoreRequest { request_id: "once".into(), ..restore(&b) };
    refused::is(&restored(&server, other).await.unwrap_err(), Code::AlreadyExists, Reason::RequestIdConflict);
    let count = moves(&server, "t").await.len();
    let there = look::thread(&server, "t").await;
    restored(&server, restore(&there.head_exchange_id)).await.unwrap();
    assert_eq!(
        (moves(&server, "t").await.len(), look::thread(&server, "t").await.etag),
        (count, there.etag),
        "no move"
    );
    let nobody = pb::RestoreRequest { thread_id: "nobody".into(), ..restore(&a) };
    refused::is(&restored(&server, nobody).await.unwrap_err(), Code::NotFound, Reason::ThreadNotFound);
}

/// A run that is at work or waits for results is not brushed aside; one that failed is.
#[tokio::test(flavor = "multi_thread")]
async fn a_restore_waits_for_no_run_and_hides_none() {
    let gate = Gate::closed();
    let answers = [
        stub::text("a1"),
        stub::text("a2").wait(&gate),
        stub::calls(&[("p1", "look", "{}")]),
        stub::text("a4"),
        stub::status(400, "no"),
    ];
    let provider = Provider::start(answers).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let first = began(&server, "t").await.exchange_id;
    let mut client = server.exchanges();
    let slow = ask::on_thread(ask::on("t"), ask::text_as("slow", "q2"));
    let slow = tokio::spawn(async move { client.r#continue(slow).await.unwrap() });
    provider.request(1).await;
    let busy = restored(&server, restore(&first)).await.unwrap_err();
    refused::is(&busy, Code::Aborted, Reason::ThreadBusy);
    assert_eq!(refused::fact(&busy, "active_run_id"), "slow");
    gate.open();
    slow.await.unwrap();
    let mut client = server.exchanges();
    let calls = client.r#continue(ask::on_thread(ask::on("t"), stub::offering("r", "q3"))).await.unwrap().into_inner();
    let calls = calls.exchange.unwrap();
    let waiting = restored(&server, restore(&first)).await.unwrap_err();
    refused::is(&waiting, Code::Aborted, Reason::ThreadBusy);
    assert_eq!(refused::fact(&waiting, "active_run_id"), "r");
    let answer = vec![ask::result(&calls.pending_tool_calls[0].call_id, "seen")];
    client.r#continue(ask::on_thread_with("t", answer)).await.unwrap();
    let middle = restored(&server, restore(&calls.exchange_id)).await.unwrap_err();
    refused::is(&middle, Code::FailedPrecondition, Reason::RunNotCompleted);
    client.r#continue(ask::on_thread(ask::on("t"), ask::text_as("fails", "q4"))).await.unwrap_err();
    assert_eq!(look::thread(&server, "t").await.active_run_id, "fails");
    let thread = restored(&server, restore(&first)).await.unwrap();
    assert_eq!((thread.head_exchange_id.as_str(), thread.active_run_id.as_str()), (first.as_str(), ""));
    assert_eq!(moves(&server, "t").await.len(), 4, "a run that failed moved nothing");
}

/// A record that found all of its exchanges moves the head without one of its own, and is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_moves_the_head_is_told() {
    let server = Running::echo().await;
    let said = |count: usize| -> Vec<pb::Message> {
        (0..count).flat_map(|turn| [ask::user(&format!("q{turn}")), ask::assistant(&format!("a{turn}"))]).collect()
    };
    let whole = server.exchanges().record(ask::record(said(3))).await.unwrap().into_inner();
    let ends: Vec<String> = whole.exchanges.into_iter().map(|exchange| exchange.exchange_id).collect();
    let new = pb::NewThread { thread_id: "t".into(), ..Default::default() };
    let on_new = pb::RecordRequest { thread: Some(pb::record_request::Thread::NewThread(new)), ..ask::record(said(1)) };
    server.exchanges().record(on_new).await.unwrap();
    let further = pb::RecordRequest {
        thread: Some(pb::record_request::Thread::ExistingThread(ask::on("t"))),
        ..ask::record(said(3))
    };
    server.exchanges().record(further.clone()).await.unwrap();
    let more = pb::RecordRequest { messages: said(5), ..further };
    let more = server.exchanges().record(more).await.unwrap().into_inner();
    let (last, run) = (more.exchanges[4].exchange_id.clone(), more.exchanges[4].run_id.clone());
    let told = moves(&server, "t").await;
    let expected: Vec<(&str, &str, &str)> = vec![(&ends[2], &last, &run), (&ends[0], &ends[2], ""), ("", &ends[0], "")];
    assert_eq!(ids(&told), expected, "two turns in one move");
    look::verified(&server).await;
}
