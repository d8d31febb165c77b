//! What is kept, until when, and what is removed: erasing with a receipt, pins, expiry, garbage collection, and verifying a part.

use std::time::Duration;

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::retention_target::Target;
use tonic::{Code, Status};

use crate::look;
use crate::support::server::{Running, scripted};
use crate::support::transfer::{counts, export, findings, import};
use crate::support::{ask, refused, within};

/// A thread `t` of four turns `r1`.. and a fork `f` of one more after the second.
async fn furnished() -> (Running, Vec<String>) {
    let server = Running::start(scripted("")).await;
    let mut client = server.exchanges();
    let mut ids = Vec::new();
    let mut request = ask::text_as("r1", "secret 1");
    request.tools = ask::tools(&["get"]);
    ids.push(
        client.capture(ask::capture_on_new("t", request)).await.unwrap().into_inner().exchange.unwrap().exchange_id,
    );
    for n in 2..5 {
        let turn = ask::on_thread(ask::on("t"), ask::text_as(&format!("r{n}"), &format!("secret {n}")));
        ids.push(client.r#continue(turn).await.unwrap().into_inner().exchange.unwrap().exchange_id);
    }
    let branches = vec![ask::branch("f", Some(ask::text_as("rf", "elsewhere")))];
    let forked = client.fork(ask::fork(&ids[1], branches)).await.unwrap().into_inner();
    drop(forked);
    ids.push(look::thread(&server, "f").await.head_exchange_id);
    (server, ids)
}

fn image(byte: u8) -> pb::Part {
    let inline = pb::InlineMedia { media_type: "image/png".into(), data: vec![byte; 20_000].into() };
    let source = Some(pb::MediaSource { source: Some(pb::media_source::Source::Inline(inline)) });
    pb::Part { kind: Some(pb::part::Kind::Image(pb::ImagePart { source, ..Default::default() })), ..Default::default() }
}

pub(crate) fn exchange(id: &str) -> Option<pb::RetentionTarget> {
    Some(pb::RetentionTarget { target: Some(Target::Exchange(ask::point(id))) })
}

fn subtree(id: &str) -> Option<pb::RetentionTarget> {
    let subtree = pb::SubtreeScope { exchange_id: id.to_owned(), max_steps: None };
    Some(pb::RetentionTarget { target: Some(Target::Subtree(subtree)) })
}

pub(crate) fn thread(id: &str) -> Option<pb::RetentionTarget> {
    Some(pb::RetentionTarget { target: Some(Target::Thread(pb::RetainedThread { thread_id: id.to_owned() })) })
}

pub(crate) async fn erase(
    server: &Running,
    target: Option<pb::RetentionTarget>,
    mode: pb::EraseMode,
) -> Result<pb::EraseReceipt, Status> {
    let request = pb::EraseRequest { target, mode: mode.into(), note: "asked to".into(), ..Default::default() };
    Ok(server.admin().erase(request).await?.into_inner().receipt.unwrap())
}

pub(crate) async fn collect(
    server: &Running,
    request: pb::CollectGarbageRequest,
) -> Result<pb::GarbageSummary, Status> {
    use pb::collect_garbage_response::Event;
    let mut stream = server.admin().collect_garbage(request).await?.into_inner();
    while let Some(response) = stream.message().await? {
        if let Some(Event::Completed(summary)) = response.event {
            return Ok(summary);
        }
    }
    panic!("the last event is `completed`");
}

pub(crate) fn now() -> pb::CollectGarbageRequest {
    pb::CollectGarbageRequest { grace: Some(prost_types::Duration::default()), ..Default::default() }
}

async fn inspected(server: &Running, id: &str) -> Result<pb::Exchange, Status> {
    Ok(server.exchanges().inspect(ask::inspect(id)).await?.into_inner().exchange.unwrap())
}

/// The last exchange goes, leaves a tombstone with ids, hash and usage, and whoever needs what was said is told so.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_erased_leaves_a_tombstone() {
    let (server, ids) = furnished().await;
    let before = inspected(&server, &ids[3]).await.unwrap();
    let request = pb::EraseRequest {
        target: exchange(&ids[3]),
        note: "asked to".into(),
        request_id: "q".into(),
        ..Default::default()
    };
    let dry = pb::EraseRequest { dry_run: true, request_id: String::new(), ..request.clone() };
    let would = server.admin().erase(dry).await.unwrap().into_inner().receipt.unwrap();
    assert_eq!((would.receipt_id.as_str(), would.tombstone_count, would.erase_time), ("", 1, None));
    inspected(&server, &ids[3]).await.expect("a dry run erases nothing");
    let erased = server.admin().erase(request.clone()).await.unwrap().into_inner();
    let receipt = erased.receipt.unwrap();
    assert_eq!(
        (receipt.tombstone_count, receipt.note.as_str(), receipt.mode()),
        (1, "asked to", pb::EraseMode::Refuse)
    );
    let tombstone = &receipt.tombstones[0];
    assert_eq!(
        (&tombstone.exchange_id, &tombstone.parent_exchange_id, &tombstone.content_hash),
        (&ids[3], &ids[2], &before.content_hash)
    );
    assert_eq!(
        (tombstone.run_id.as_str(), tombstone.usage.as_ref(), &tombstone.receipt_id),
        ("r4", before.usage.as_ref(), &receipt.receipt_id)
    );
    let kept = server
        .admin()
        .get_erase_receipt(pb::GetEraseReceiptRequest { receipt_id: receipt.receipt_id.clone() })
        .await
        .unwrap();
    assert_eq!(kept.into_inner().receipt.unwrap(), receipt);
    let again = server.admin().erase(request).await.unwrap().into_inner();
    assert_eq!((again.replayed, again.receipt), (true, Some(receipt)));
    let mut client = server.exchanges();
    let refusals = [
        client.inspect(ask::inspect(&ids[3])).await.unwrap_err(),
        client.r#continue(ask::after(&ids[3], ask::text("on"))).await.unwrap_err(),
        client.r#continue(ask::on_thread(ask::on("t"), ask::text("on"))).await.unwrap_err(),
        client.fork(ask::fork(&ids[3], vec![ask::branch("g", None)])).await.unwrap_err(),
        client.probe(ask::probe(&ids[3], ask::text("?"))).await.unwrap_err(),
    ];
    for refusal in &refusals {
        refused::is(refusal, Code::FailedPrecondition, Reason::ExchangeErased);
        assert_eq!(refused::fact(refusal, "parent_exchange_id"), ids[2]);
    }
    client.r#continue(ask::after(&ids[2], ask::text("on"))).await.expect("what was before it is as it was");
    let node = server
        .graphs()
        .list_children(pb::ListChildrenRequest { exchange_id: ids[2].clone(), ..Default::default() })
        .await
        .unwrap();
    let node = node.into_inner().exchanges.into_iter().find(|node| node.exchange_id == ids[3]).unwrap();
    assert_eq!((node.tombstone.is_some(), node.user_preview.as_str(), node.assistant_preview.as_str()), (true, "", ""));
    let (lines, _) = export(&server, Vec::new()).await;
    assert!(!lines.contains("secret 4") && lines.contains("secret 3"), "nothing of it is left");
    assert_eq!(findings(&server).await, Vec::<String>::new());
    let other = Running::start(scripted("")).await;
    import(&other, &lines).await.unwrap();
    refused::is(&inspected(&other, &ids[3]).await.unwrap_err(), Code::FailedPrecondition, Reason::ExchangeErased);
    assert_eq!(findings(&other).await, Vec::<String>::new());
    let missing =
        server.admin().get_erase_receipt(pb::GetEraseReceiptRequest { receipt_id: "none".into() }).await.unwrap_err();
    refused::is(&missing, Code::NotFound, Reason::ResourceNotFound);
}

/// What others share is refused with who they are, erased with them, or leaves them a gap; as the caller says.
#[tokio::test(flavor = "multi_thread")]
async fn what_others_share_is_erased_only_as_it_is_said() {
    let (server, ids) = furnished().await;
    let status = erase(&server, exchange(&ids[1]), pb::EraseMode::Unspecified).await.unwrap_err();
    refused::is(&status, Code::FailedPrecondition, Reason::EraseShared);
    let shared = refused::fact(&status, "shared_by");
    assert!(shared.contains(&ids[2]) && shared.contains(&ids[4]), "{shared}");
    let receipt = erase(&server, exchange(&ids[1]), pb::EraseMode::Tombstone).await.unwrap();
    assert_eq!(receipt.tombstone_count, 1);
    assert_eq!(
        look::history(&server, &ids[3]).await.iter().filter(|said| said.starts_with("U:secret")).count(),
        3,
        "a gap, and the rest"
    );
    server
        .exchanges()
        .r#continue(ask::on_thread(ask::on("t"), ask::text("on")))
        .await
        .expect("a gap says nothing to a model");
    let receipt = erase(&server, exchange(&ids[2]), pb::EraseMode::Cascade).await.unwrap();
    assert_eq!(receipt.tombstone_count, 3, "with all that follow");
    inspected(&server, &ids[4]).await.expect("the branch stays");
    assert_eq!(findings(&server).await, Vec::<String>::new());
    let mut stream = server.admin().verify(pb::VerifyRequest::default()).await.unwrap().into_inner();
    while let Some(response) = stream.message().await.unwrap() {
        if let Some(pb::verify_response::Event::Completed(summary)) = response.event {
            assert_eq!((summary.finding_count, summary.erased_count), (0, 4));
        }
    }
}

/// A thread goes with its path where nobody else is on it; content that others have too stays.
#[tokio::test(flavor = "multi_thread")]
async fn content_goes_with_the_last_that_has_it() {
    let server = Running::start(scripted("")).await;
    let mut client = server.exchanges();
    let mut recorded = Vec::new();
    for (id, parts) in [("a", vec![image(1), image(2)]), ("b", vec![image(2)])] {
        let mut said = ask::user(id);
        said.parts.extend(parts);
        let new = pb::NewThread { thread_id: id.into(), ..Default::default() };
        let request = pb::RecordRequest {
            thread: Some(pb::record_request::Thread::NewThread(new)),
            ..ask::record(vec![said, ask::assistant("ok")])
        };
        recorded.push(client.record(request).await.unwrap().into_inner().exchange_id);
    }
    let would = server
        .admin()
        .erase(pb::EraseRequest { target: thread("a"), dry_run: true, ..Default::default() })
        .await
        .unwrap();
    let would = would.into_inner().receipt.unwrap();
    let receipt = erase(&server, thread("a"), pb::EraseMode::Refuse).await.unwrap();
    assert_eq!(
        (receipt.shared_content_count, counts(&receipt.erased)),
        (1, vec![("exchange".into(), 1), ("thread".into(), 1), ("part".into(), 1)])
    );
    assert_eq!(
        (would.shared_content_count, counts(&would.erased)),
        (1, counts(&receipt.erased)),
        "as the dry run said"
    );
    assert_eq!(look::threads(&server).await, ["b"]);
    inspected(&server, &recorded[1]).await.expect("its image is there");
    let receipt = erase(&server, thread("b"), pb::EraseMode::Refuse).await.unwrap();
    assert_eq!(counts(&receipt.erased).pop(), Some(("part".into(), 1)));
    assert_eq!(findings(&server).await, Vec::<String>::new());
    // What says the same again is another exchange, and not the erased one.
    let mut said = ask::user("b");
    said.parts.push(image(2));
    let again = client.record(ask::record(vec![said, ask::assistant("ok")])).await.unwrap().into_inner();
    assert_eq!((again.stored_count, again.exchange_id == recorded[1]), (1, false));
}

/// Pins are named, listed in pages and taken away, each safe to repeat.
#[tokio::test(flavor = "multi_thread")]
async fn pins_are_set_listed_and_taken_away() {
    let (server, ids) = furnished().await;
    let mut admin = server.admin();
    let pin = |id: &str, target| pb::CreatePinRequest {
        target,
        pin_id: id.into(),
        note: "n".into(),
        request_id: format!("q-{id}"),
    };
    for id in ["a", "b", "c"] {
        let set = admin.create_pin(pin(id, exchange(&ids[0]))).await.unwrap().into_inner();
        let again = admin.create_pin(pin(id, exchange(&ids[0]))).await.unwrap().into_inner();
        assert_eq!((set.replayed, again.replayed, &set.pin), (false, true, &again.pin));
    }
    let conflict = admin
        .create_pin(pb::CreatePinRequest { request_id: String::new(), ..pin("a", exchange(&ids[1])) })
        .await
        .unwrap_err();
    refused::is(&conflict, Code::InvalidArgument, Reason::InvalidFields);
    let page = admin.list_pins(pb::ListPinsRequest { page_size: 2, ..Default::default() }).await.unwrap().into_inner();
    let rest = admin
        .list_pins(pb::ListPinsRequest { page_size: 2, page_token: page.next_page_token })
        .await
        .unwrap()
        .into_inner();
    let listed: Vec<_> = page.pins.iter().chain(&rest.pins).map(|pin| pin.pin_id.as_str()).collect();
    assert_eq!((listed, rest.next_page_token.as_str()), (vec!["a", "b", "c"], ""));
    let unpin = pb::DeletePinRequest { pin_id: "b".into(), request_id: "u".into() };
    admin.delete_pin(unpin.clone()).await.unwrap();
    admin.delete_pin(unpin).await.expect("it was done");
    let gone = admin.delete_pin(pb::DeletePinRequest { pin_id: "b".into(), ..Default::default() }).await.unwrap_err();
    refused::is(&gone, Code::NotFound, Reason::ResourceNotFound);
    let nothing = admin.create_pin(pb::CreatePinRequest::default()).await.unwrap_err();
    assert_eq!(refused::fields(&nothing), ["target"]);
}

/// What expired is collected after its grace, unless a pin keeps it or others share it; a dry run tells and removes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn what_expired_is_collected_unless_it_is_kept() {
    let (server, ids) = furnished().await;
    let mut admin = server.admin();
    let at = |seconds| {
        Some(pb::set_expiry_request::When::At(pb::ExpireAt {
            expire_time: Some(prost_types::Timestamp { seconds, nanos: 0 }),
        }))
    };
    let set = |target, when| pb::SetExpiryRequest { target, when, ..Default::default() };
    admin.set_expiry(set(exchange(&ids[1]), at(1_000))).await.unwrap();
    admin.set_expiry(set(subtree(&ids[3]), at(2_000))).await.unwrap();
    admin.set_expiry(set(exchange(&ids[4]), at(3_000))).await.unwrap();
    admin.set_expiry(set(thread("t"), at(32_503_680_000))).await.unwrap();
    let never = Some(pb::set_expiry_request::When::Never(pb::ExpireNever {}));
    admin.set_expiry(set(thread("t"), never)).await.unwrap();
    admin
        .create_pin(pb::CreatePinRequest { target: thread("f"), pin_id: "p".into(), ..Default::default() })
        .await
        .unwrap();
    let page =
        admin.list_expiries(pb::ListExpiriesRequest { page_size: 2, ..Default::default() }).await.unwrap().into_inner();
    let token = page.next_page_token.clone();
    let rest = admin
        .list_expiries(pb::ListExpiriesRequest { page_size: 2, page_token: token, ..Default::default() })
        .await
        .unwrap()
        .into_inner();
    let pinned: Vec<bool> = page.expiries.iter().chain(&rest.expiries).map(|expiry| expiry.pinned).collect();
    assert_eq!(pinned, [true, false, true], "soonest first; the pin of the fork keeps what is before it as well");
    let before = Some(prost_types::Timestamp { seconds: 1_500, nanos: 0 });
    let soon = admin
        .list_expiries(pb::ListExpiriesRequest { before_time: before, ..Default::default() })
        .await
        .unwrap()
        .into_inner();
    assert_eq!(soon.expiries.len(), 1);
    let would = collect(&server, pb::CollectGarbageRequest { dry_run: true, ..now() }).await.unwrap();
    assert_eq!((would.dry_run, would.pinned_count, counts(&would.removed)), (true, 2, vec![("exchange".into(), 1)]));
    inspected(&server, &ids[3]).await.expect("a dry run removes nothing");
    let done = collect(&server, now()).await.unwrap();
    assert_eq!((done.pinned_count, counts(&done.removed)), (2, counts(&would.removed)));
    assert!(done.removed_bytes > 0);
    refused::is(&inspected(&server, &ids[3]).await.unwrap_err(), Code::FailedPrecondition, Reason::ExchangeErased);
    admin.delete_pin(pb::DeletePinRequest { pin_id: "p".into(), ..Default::default() }).await.unwrap();
    let done = collect(&server, now()).await.unwrap();
    assert_eq!(
        (done.pinned_count, counts(&done.removed)),
        (0, vec![("exchange".into(), 1)]),
        "what the thread still has stays"
    );
    inspected(&server, &ids[1]).await.expect("others follow from it");
    inspected(&server, &ids[4]).await.expect_err("nobody did");
    assert_eq!(findings(&server).await, Vec::<String>::new());
}

/// Collecting while others write never takes what they name.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_collection_takes_nothing_that_is_being_used() {
    let server = Running::start(scripted("")).await;
    let writers: Vec<_> = (0..4u8)
        .map(|writer| {
            let mut client = server.exchanges();
            tokio::spawn(async move {
                for turn in 0..30u8 {
                    let mut said = ask::user(&format!("{writer} {turn}"));
                    // Content that comes and goes between writers.
                    said.parts.push(image(turn % 5));
                    let mut answer = pb::RecordedFacts { message_index: 1, ..Default::default() };
                    answer.tools = ask::tools(&[["get", "put", "look"][usize::from(turn % 3)]]);
                    let request =
                        pb::RecordRequest { facts: vec![answer], ..ask::record(vec![said, ask::assistant("ok")]) };
                    client.record(request).await.unwrap();
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
    assert_eq!(findings(&server).await, Vec::<String>::new());
    let summary = collect(&server, now()).await.unwrap();
    assert!(summary.removed.is_empty(), "{:?}", summary.removed);
}

/// A part of the graph is verified with all that it needs, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn a_part_is_verified_by_itself() {
    use pb::verify_response::Event;
    let (server, ids) = furnished().await;
    let scope = |scope| pb::VerifyRequest { scope: Some(pb::GraphScope { scope: Some(scope) }), max_findings: 0 };
    let path = pb::graph_scope::Scope::Path(pb::PathScope { exchange_id: ids[1].clone() });
    let mut stream = server.admin().verify(scope(path)).await.unwrap().into_inner();
    let mut done = None;
    while let Some(response) = stream.message().await.unwrap() {
        match response.event.unwrap() {
            Event::Completed(summary) => done = Some(summary),
            Event::Finding(finding) => panic!("{finding:?}"),
            Event::Progress(_) => {}
        }
    }
    let checked = counts(&done.unwrap().checked);
    assert!(checked.contains(&("exchange".to_owned(), 2)) && checked.contains(&("run".to_owned(), 2)), "{checked:?}");
    let nowhere = pb::graph_scope::Scope::ThreadPath(pb::ThreadPathScope { thread_id: "none".into() });
    let mut stream = server.admin().verify(scope(nowhere)).await.unwrap().into_inner();
    let status = stream.message().await.unwrap_err();
    refused::is(&status, Code::NotFound, Reason::ThreadNotFound);
    let empty = server
        .admin()
        .verify(pb::VerifyRequest { scope: Some(pb::GraphScope::default()), max_findings: 0 })
        .await
        .unwrap_err();
    refused::is(&empty, Code::InvalidArgument, Reason::InvalidFields);
}

/// Whoever asked may go away: everything that is erased has one receipt all the same, which the same call gets when it is repeated.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_that_nobody_waits_for_is_whole() {
    let server = Running::start(scripted("")).await;
    let said = (0..150).flat_map(|n| [ask::user(&format!("q{n}")), ask::assistant(&format!("a{n}"))]).collect();
    let recorded = server.exchanges().record(ask::record(said)).await.unwrap().into_inner();
    let ids: Vec<String> = recorded.exchanges.into_iter().map(|exchange| exchange.exchange_id).collect();
    let request = pb::EraseRequest {
        target: subtree(&ids[0]),
        mode: pb::EraseMode::Cascade.into(),
        request_id: "once".into(),
        ..Default::default()
    };
    let mut hurried = tonic::Request::new(request.clone());
    hurried.set_timeout(Duration::from_millis(100));
    server.admin().erase(hurried).await.ok();
    let whole = async {
        loop {
            match server.admin().erase(request.clone()).await {
                Ok(erased) => return erased.into_inner().receipt.unwrap(),
                Err(status) => refused::is(&status, Code::ResourceExhausted, Reason::LimitExceeded),
            }
        }
    };
    let receipt = within("the erasure", whole).await;
    assert_eq!(receipt.tombstone_count, 150);
    for id in [&ids[0], &ids[75], &ids[149]] {
        let status = inspected(&server, id).await.unwrap_err();
        assert_eq!(refused::fact(&status, "receipt_id"), receipt.receipt_id);
    }
}
