//! Documents and what is removed: a collection takes the versions that nothing names and no other, and an erasure takes documents along.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::stream_write_document_request::Part;
use tonic::{Code, Status};

use super::streams::{chunk, commit, noise, open, receive, send, whole};
use crate::look;
use crate::retention::{self as ask_for, collect, now};
use crate::support::documents::{
    after_run, after_turn, all, before, began, copy, exchange, forked, list, live, put, read, remove, root, these,
    went_on, write, wrote,
};
use crate::support::server::{Running, scripted};
use crate::support::transfer::{counts, export};
use crate::support::{ask, refused, within};

async fn would(server: &Running) -> pb::GarbageSummary {
    collect(server, pb::CollectGarbageRequest { dry_run: true, ..now() }).await.unwrap()
}

/// What a collection removes, which must be what a dry run said before it, to the byte; and it leaves nothing for a second one.
async fn collected(server: &Running) -> (Vec<(String, u64)>, u64) {
    let said = would(server).await;
    let done = collect(server, now()).await.unwrap();
    assert_eq!((&done.removed, done.removed_bytes), (&said.removed, said.removed_bytes), "as the dry run said");
    look::verified(server).await;
    let again = collect(server, now()).await.unwrap();
    assert!(again.removed.is_empty() && again.removed_bytes == 0, "{:?}", again.removed);
    (counts(&done.removed), done.removed_bytes)
}

/// What is there but for indexes, which are made when somebody first asks.
async fn held(server: &Running) -> std::collections::BTreeMap<String, u64> {
    let mut held = look::verified(server).await;
    held.retain(|kind, _| !kind.contains("index"));
    held
}

fn some(records: &[(&str, u64)]) -> Vec<(String, u64)> {
    records.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect()
}

async fn name_of(server: &Running, at: pb::WorkspacePoint) -> String {
    list(server, at).await.unwrap().version.unwrap().workspace_root
}

async fn restore(server: &Running, to: &str) -> Result<pb::Thread, Status> {
    let request = pb::RestoreRequest { thread_id: "t".into(), to: Some(ask::point(to)), ..Default::default() };
    Ok(server.threads().restore(request).await?.into_inner().thread.unwrap())
}

async fn moves(server: &Running) -> Vec<pb::ThreadMove> {
    let request = pb::ListMovesRequest { thread_id: "t".into(), ..Default::default() };
    server.threads().list_moves(request).await.unwrap().into_inner().moves
}

async fn try_erase(server: &Running, target: Option<pb::RetentionTarget>, mode: pb::EraseMode) -> pb::EraseReceipt {
    let request = pb::EraseRequest { target, mode: mode.into(), dry_run: true, ..Default::default() };
    server.admin().erase(request).await.unwrap().into_inner().receipt.unwrap()
}

/// What no turn saw and was written over goes, with its content; what a turn, a thread or a fork has stays, be it named by nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn a_collection_takes_versions_that_nothing_names_and_no_others() {
    let server = Running::echo().await;
    began(&server, "t").await;
    let first = pb::WriteDocumentsRequest { request_id: "once".into(), ..write("t", vec![put("p", noise(100_000))]) };
    server.workspaces().write_documents(first.clone()).await.unwrap();
    let lost = name_of(&server, live("t")).await;
    wrote(&server, "t", vec![put("p", "seen by a turn")]).await;
    let second = went_on(&server, "t", "r2").await;
    wrote(&server, "t", vec![put("p", "of a fork alone")]).await;
    forked(&server, "t", None, "f").await;
    wrote(&server, "t", vec![put("p", "live alone")]).await;
    let said = would(&server).await;
    assert!(said.dry_run && said.removed_bytes > 100_000);
    assert_eq!(list(&server, root(&lost)).await.unwrap().documents.len(), 1, "a dry run removes nothing");
    let (removed, bytes) = collected(&server).await;
    assert_eq!(removed, some(&[("part", 1), ("workspace node", 1)]));
    assert!((100_000..101_000).contains(&bytes), "{bytes}: the content and its node");
    refused::is(&list(&server, root(&lost)).await.unwrap_err(), Code::NotFound, Reason::ResourceNotFound);
    let again = server.workspaces().write_documents(first).await.unwrap_err();
    refused::is(&again, Code::NotFound, Reason::ResourceNotFound);
    assert!(again.message().contains("kept no longer"), "{again:?}");
    let server = server.restart().await;
    for at in [before(&second.exchange_id), exchange(&second.exchange_id), after_turn("t", 1)] {
        assert_eq!(all(&server, at).await, these([("p", "seen by a turn")]));
    }
    assert_eq!(all(&server, live("f")).await, these([("p", "of a fork alone")]));
    assert_eq!(all(&server, live("t")).await, these([("p", "live alone")]));
    // Threads that are removed let go of theirs; exchanges stay, and keep theirs.
    for thread in ["t", "f"] {
        let request = pb::ThreadServiceDeleteRequest { thread_id: thread.into(), ..Default::default() };
        server.threads().delete(request).await.unwrap();
    }
    assert_eq!(collected(&server).await.0, some(&[("part", 2), ("workspace node", 2)]));
    assert_eq!(all(&server, exchange(&second.exchange_id)).await, these([("p", "seen by a turn")]));
}

/// Content that a version which stays shares with one that goes stays; many documents are many nodes, of which only those go that are new.
#[tokio::test(flavor = "multi_thread")]
async fn what_versions_share_stays_with_the_last_of_them() {
    let server = Running::echo().await;
    began(&server, "t").await;
    let many: Vec<_> = (0..600).map(|n| put(&format!("d-{n:03}"), format!("text {n}"))).collect();
    for edits in many.chunks(100) {
        wrote(&server, "t", edits.to_vec()).await;
    }
    let (removed, _) = collected(&server).await;
    assert!(removed.iter().all(|(kind, _)| kind == "workspace node"), "every content is live: {removed:?}");
    let before = look::verified(&server).await;
    let lost = name_of(&server, live("t")).await;
    wrote(&server, "t", vec![put("d-300", "another"), copy("copy", live("t"), "d-000"), remove("d-000")]).await;
    let (removed, _) = collected(&server).await;
    assert_eq!(removed[0], ("part".into(), 1), "only what was written over");
    refused::is(&list(&server, root(&lost)).await.unwrap_err(), Code::NotFound, Reason::ResourceNotFound);
    let after = look::verified(&server).await;
    assert!(removed[1].1 * 2 < before["workspace node"], "what both have was not touched: {removed:?}");
    assert_eq!(after["part"], before["part"]);
    let now = all(&server, live("t")).await;
    assert_eq!((now.len(), now["copy"].as_str(), now["d-300"].as_str()), (600, "text 0", "another"));
}

/// A state that only a move of the head tells of is there as long as the thread is.
#[tokio::test(flavor = "multi_thread")]
async fn states_that_moves_tell_of_stay() {
    let server = Running::echo().await;
    let first = began(&server, "t").await.exchange_id;
    let second = went_on(&server, "t", "r2").await.exchange_id;
    wrote(&server, "t", vec![put("p", "aside")]).await;
    restore(&server, &first).await.unwrap();
    restore(&server, &second).await.unwrap();
    wrote(&server, "t", vec![put("p", "now")]).await;
    assert_eq!(collected(&server).await, (Vec::new(), 0));
    let told = moves(&server).await;
    assert_eq!(all(&server, root(&told[0].to_workspace_root)).await, these([("p", "aside")]));
    let request = pb::ThreadServiceDeleteRequest { thread_id: "t".into(), ..Default::default() };
    server.threads().delete(request).await.unwrap();
    assert_eq!(collected(&server).await.0, some(&[("part", 2), ("workspace node", 2)]));
}

/// A run that waits for its tools keeps what it started from, though nothing else names it.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_keeps_what_it_started_from() {
    let rule = "[[backends.script.rules]]\nwhen = \"weather\"\ntool_calls = [{ name = \"get\" }]\n";
    let server = Running::start(scripted(rule)).await;
    began(&server, "t").await;
    wrote(&server, "t", vec![put("p", "before")]).await;
    let mut request = ask::text_as("w", "weather?");
    request.tools = ask::tools(&["get"]);
    let pending = server.exchanges().r#continue(ask::on_thread(ask::on("t"), request)).await.unwrap().into_inner();
    let pending = pending.exchange.unwrap();
    wrote(&server, "t", vec![put("p", "during")]).await;
    assert_eq!(collected(&server).await, (Vec::new(), 0));
    assert_eq!(all(&server, after_run("t", "t-1")).await, these([("p", "before")]), "what goes with the head");
    // What waits is erased with its run, which could not go on; the thread goes on from before it.
    let receipt =
        ask_for::erase(&server, ask_for::exchange(&pending.exchange_id), pb::EraseMode::Refuse).await.unwrap();
    let mut told = counts(&receipt.erased);
    told.retain(|(kind, _)| !kind.contains("tool"));
    assert_eq!(told, some(&[("exchange", 1), ("part", 1), ("workspace node", 1)]));
    assert_eq!(look::run(&server, "w").await.state(), pb::RunState::Cancelled);
    let mut again = ask::text_as("w", "weather?");
    (again.tools, again.retry) = (ask::tools(&["get"]), true);
    let again = server.exchanges().r#continue(ask::on_thread(ask::on("t"), again)).await.unwrap_err();
    refused::is(&again, Code::FailedPrecondition, Reason::ExchangeErased);
    assert_eq!(look::run(&server, "w").await.state(), pb::RunState::Cancelled, "it has nothing to go on from");
    look::verified(&server).await;
    went_on(&server, "t", "r2").await;
    assert_eq!(all(&server, live("t")).await, these([("p", "during")]));
}

/// Content that came of a document which is still being written is held until it is complete or given up.
#[tokio::test(flavor = "multi_thread")]
async fn an_upload_in_progress_keeps_what_came_of_it() {
    let server = Running::echo().await;
    began(&server, "t").await;
    let data = noise(2_500_000);
    let (parts, feed) = futures::channel::mpsc::unbounded();
    let mut client = server.workspaces();
    let writing = tokio::spawn(async move { client.stream_write_document(feed).await });
    let say = |part| parts.unbounded_send(pb::StreamWriteDocumentRequest { part: Some(part) }).unwrap();
    say(Part::Open(open("large")));
    for piece in data.chunks(200_000) {
        say(chunk(piece));
    }
    // Eight pieces are stored before the end, in two writes.
    within("pieces to be stored", async {
        while look::verified(&server).await.get("part").copied().unwrap_or_default() < 8 {}
    })
    .await;
    assert_eq!(collected(&server).await, (Vec::new(), 0));
    say(commit(""));
    drop(parts);
    writing.await.unwrap().unwrap();
    assert_eq!(collected(&server).await, (Vec::new(), 0));
    let (_, chunks) = receive(&server, "large", 0).await.unwrap();
    assert!(chunks.concat() == data);
    // One that is given up leaves garbage.
    let mut other = vec![7; 1_500_000];
    other.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at / 1_000 % 251) as u8);
    let mut given_up = whole(open("other"), &other);
    *given_up.last_mut().unwrap() = commit(&"ab".repeat(32));
    send(&server, given_up).await.unwrap_err();
    let (removed, bytes) = collected(&server).await;
    assert_eq!(removed, some(&[("part", 4)]));
    assert!(bytes > 0);
}

/// Collecting while others write, turn, fork and go back never takes what they name.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_collection_takes_no_documents_that_are_being_used() {
    let server = Running::echo().await;
    for thread in ["w0", "w1", "w2", "w3"] {
        began(&server, thread).await;
    }
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (mut documents, mut exchanges, mut threads) =
                (server.workspaces(), server.exchanges(), server.threads());
            tokio::spawn(async move {
                let thread = format!("w{writer}");
                let mut made: Vec<String> = Vec::new();
                documents.write_documents(write(&thread, vec![put("base", "of all")])).await.unwrap();
                for step in 0..24 {
                    // Content that comes and goes between writers, under names that fall into the same nodes.
                    let name = format!("d-{}", step % 7);
                    let mut edits = vec![put(&name, format!("content {}", step % 5))];
                    edits.push(copy(&format!("copy-{}", step % 3), live(&thread), "base"));
                    documents.write_documents(write(&thread, edits)).await.unwrap();
                    match step % 6 {
                        2 | 4 => {
                            let turn = ask::on_thread(ask::on(&thread), ask::text("go on"));
                            let turn = exchanges.r#continue(turn).await.unwrap().into_inner();
                            made.push(turn.exchange.unwrap().exchange_id);
                        }
                        3 => {
                            let branches = vec![ask::branch(&format!("{thread}-{step}"), None)];
                            let fork = ask::fork(made.last().unwrap(), branches);
                            exchanges.fork(fork).await.unwrap();
                        }
                        5 => {
                            let to = Some(ask::point(&made[made.len() - 2]));
                            let request = pb::RestoreRequest { thread_id: thread.clone(), to, ..Default::default() };
                            threads.restore(request).await.unwrap();
                        }
                        _ => {}
                    }
                }
            })
        })
        .collect();
    let mut collections = 0;
    while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
        collect(&server, now()).await.unwrap();
        collections += 1;
    }
    for writer in writers {
        writer.await.unwrap();
    }
    assert!(collections > 0);
    look::verified(&server).await;
    for thread in look::threads(&server).await {
        all(&server, live(&thread)).await;
    }
    collected(&server).await;
}

/// An erased exchange lets its documents go where nobody else names them, and what was there is not told any more.
#[tokio::test(flavor = "multi_thread")]
async fn documents_go_with_the_exchange_that_named_them() {
    let server = Running::echo().await;
    let first = began(&server, "t").await.exchange_id;
    wrote(&server, "t", vec![put("a-secret-name", "the secret of turn 2")]).await;
    let second = went_on(&server, "t", "r2").await.exchange_id;
    wrote(&server, "t", vec![remove("a-secret-name"), put("p", "of turn 3")]).await;
    let third = went_on(&server, "t", "r3").await.exchange_id;
    let there = held(&server).await;
    let would = try_erase(&server, ask_for::exchange(&second), pb::EraseMode::Tombstone).await;
    assert_eq!(held(&server).await, there, "a dry run changes nothing");
    assert_eq!(all(&server, exchange(&second)).await.len(), 1);
    let receipt = ask_for::erase(&server, ask_for::exchange(&second), pb::EraseMode::Tombstone).await.unwrap();
    assert_eq!(counts(&receipt.erased), some(&[("exchange", 1), ("part", 1), ("workspace node", 1)]));
    assert_eq!((&would.erased, would.shared_content_count), (&receipt.erased, receipt.shared_content_count));
    look::verified(&server).await;
    let server = server.restart().await;
    for at in [exchange(&second), before(&second), after_turn("t", 2), after_run("t", "r2")] {
        let status = list(&server, at.clone()).await.unwrap_err();
        refused::is(&status, Code::FailedPrecondition, Reason::ExchangeErased);
        refused::is(&read(&server, at, "p").await.unwrap_err(), Code::FailedPrecondition, Reason::ExchangeErased);
    }
    let diff = pb::DiffDocumentsRequest { left: Some(live("t")), right: Some(exchange(&second)), ..Default::default() };
    let refusals = [
        restore(&server, &second).await.unwrap_err(),
        server.workspaces().diff_documents(diff).await.unwrap_err(),
        server
            .graphs()
            .diff(pb::DiffRequest {
                left: Some(ask::point(&second)),
                right: Some(ask::point(&third)),
                aspects: vec![pb::DiffAspect::Documents.into()],
                ..Default::default()
            })
            .await
            .unwrap_err(),
        server
            .workspaces()
            .write_documents(write("t", vec![copy("x", exchange(&second), "a-secret-name")]))
            .await
            .unwrap_err(),
        server
            .exchanges()
            .fork(pb::ForkRequest {
                source: Some(pb::fork_request::Source::Thread(pb::ThreadTurnPoint {
                    thread_id: "t".into(),
                    at: Some(pb::thread_turn_point::At::AfterTurn(pb::AfterTurn { turn: 2 })),
                })),
                branches: vec![ask::branch("g", None)],
                ..Default::default()
            })
            .await
            .unwrap_err(),
    ];
    for refusal in &refusals {
        refused::is(refusal, Code::FailedPrecondition, Reason::ExchangeErased);
    }
    let (lines, _) = export(&server, Vec::new()).await;
    assert!(!lines.contains("a-secret-name") && lines.contains("\"p\""), "nothing of it is left");
    // What is around it is as it was, and the moves still tell of it.
    assert_eq!(all(&server, after_turn("t", 1)).await, these([]), "what turn 2 started from is gone with it");
    assert_eq!(all(&server, live("t")).await, these([("p", "of turn 3")]));
    restore(&server, &first).await.unwrap();
    let told: Vec<_> = moves(&server).await.into_iter().map(|one| (one.from_exchange_id, one.to_exchange_id)).collect();
    let expected = [(&third, &first), (&second, &third), (&first, &second), (&String::new(), &first)];
    assert_eq!(told, expected.map(|(from, to)| (from.clone(), to.clone())));
    look::verified(&server).await;
}

/// Documents that a fork, another turn or a live state has too stay, and the receipt counts them.
#[tokio::test(flavor = "multi_thread")]
async fn documents_that_others_have_too_stay() {
    let server = Running::echo().await;
    began(&server, "t").await;
    wrote(&server, "t", vec![put("p", "shared")]).await;
    let second = went_on(&server, "t", "r2").await.exchange_id;
    forked(&server, "t", None, "f").await;
    wrote(&server, "t", vec![put("p", "another")]).await;
    let receipt = ask_for::erase(&server, ask_for::exchange(&second), pb::EraseMode::Refuse).await.unwrap();
    assert_eq!((counts(&receipt.erased), receipt.shared_content_count), (some(&[("exchange", 1)]), 2));
    assert_eq!(all(&server, live("f")).await, these([("p", "shared")]));
    assert_eq!(collected(&server).await, (Vec::new(), 0));
}

/// A thread goes with its documents, those on the way to them included: what was written over before a turn saw it is as little to be found.
#[tokio::test(flavor = "multi_thread")]
async fn a_thread_goes_with_all_of_its_documents() {
    let server = Running::echo().await;
    let first = began(&server, "t").await.exchange_id;
    wrote(&server, "t", vec![put("p", "draft that was written over")]).await;
    wrote(&server, "t", vec![put("p", "of turn 2"), put("large", noise(600_000))]).await;
    let second = went_on(&server, "t", "r2").await.exchange_id;
    wrote(&server, "t", vec![put("p", "live")]).await;
    restore(&server, &first).await.unwrap();
    restore(&server, &second).await.unwrap();
    let there = held(&server).await;
    let would = try_erase(&server, ask_for::thread("t"), pb::EraseMode::Refuse).await;
    assert_eq!(held(&server).await, there, "a dry run changes nothing");
    assert_eq!(all_names(&server).await, ["large", "p"]);
    let receipt = ask_for::erase(&server, ask_for::thread("t"), pb::EraseMode::Refuse).await.unwrap();
    assert_eq!(receipt.erased, would.erased);
    let erased = counts(&receipt.erased);
    for one in some(&[("exchange", 2), ("thread", 1), ("workspace", 1), ("move of a head", 2)]) {
        assert!(erased.contains(&one), "{one:?} in {erased:?}");
    }
    for kind in ["part", "workspace node"] {
        let count = erased.iter().find(|(of, _)| of == kind).map(|(_, count)| *count);
        assert_eq!(count, Some(there[kind]), "every {kind}");
    }
    let left = look::verified(&server).await;
    for kind in ["part", "workspace node", "workspace", "move of a head"] {
        assert!(!left.contains_key(kind), "{left:?}");
    }
    assert_eq!(collected(&server).await, (Vec::new(), 0));
}

async fn all_names(server: &Running) -> Vec<String> {
    list(server, live("t")).await.unwrap().documents.into_iter().map(|document| document.name).collect()
}

/// What is removed waits for nothing that is coming in: an erasure and an import keep out of each other's way.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_erased_while_an_import_is_at_work() {
    let server = Running::echo().await;
    began(&server, "t").await;
    let (parts, feed) = futures::channel::mpsc::unbounded();
    let mut admin = server.admin();
    let open = pb::import_request::Part::Open(pb::ImportOpen::default());
    parts.unbounded_send(pb::ImportRequest { part: Some(open) }).unwrap();
    let mut told = admin.import(feed).await.unwrap().into_inner();
    let refusal = within("an erasure to be refused", async {
        loop {
            if let Err(status) = ask_for::erase(&server, ask_for::thread("none"), pb::EraseMode::Refuse).await
                && status.code() == Code::ResourceExhausted
            {
                return status;
            }
        }
    })
    .await;
    refused::is(&refusal, Code::ResourceExhausted, Reason::LimitExceeded);
    drop(parts);
    told.message().await.unwrap_err();
    let done = within("the import to end", async {
        loop {
            if let Ok(receipt) = ask_for::erase(&server, ask_for::thread("t"), pb::EraseMode::Refuse).await {
                return receipt;
            }
        }
    })
    .await;
    assert_eq!(done.tombstone_count, 1);
}
