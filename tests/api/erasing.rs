//! What happens beside an erasure: whoever goes on from what is erased at that moment waits and is refused, and what is told of a turn whose history has
//! a gap since.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::import_request::Part;
use pb::prepare_request::From;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status};

use crate::retention::{erase, exchange, thread};
use crate::stub;
use crate::support::clock::Set;
use crate::support::coordinate::{Loop, start};
use crate::support::provider::Provider;
use crate::support::server::{Running, Sources, openai, scripted};
use crate::support::transfer::{export, findings, import};
use crate::support::{ask, refused, within};

/// How many records an import keeps in memory before it stores and tells of them.
const KEPT: u64 = 512;

/// Records a thread of so many turns; gives the exchanges.
async fn recorded(server: &Running, id: &str, turns: usize) -> Vec<String> {
    let said = (0..turns).flat_map(|n| [ask::user(&format!("q{n}")), ask::assistant(&format!("a{n}"))]);
    let new = pb::NewThread { thread_id: id.into(), ..Default::default() };
    let record =
        pb::RecordRequest { thread: Some(pb::record_request::Thread::NewThread(new)), ..ask::record(said.collect()) };
    let recorded = server.exchanges().record(record).await.unwrap().into_inner();
    recorded.exchanges.into_iter().map(|exchange| exchange.exchange_id).collect()
}

/// Everything that goes on from an exchange by one call, at once; each is refused.
async fn refusals(server: &Running, id: &str) -> Vec<Status> {
    let after = pb::record_request::Start::AfterExchange(ask::point(id));
    let record =
        pb::RecordRequest { start: Some(after), ..ask::record(vec![ask::user("more"), ask::assistant("of it")]) };
    let from = Some(From::Exchange(ask::point(id)));
    let prepare = pb::PrepareRequest { request: Some(ask::text("more")), capture: true, from, ..Default::default() };
    let create = pb::ThreadServiceCreateRequest { head: Some(ask::point(id)), ..Default::default() };
    let restore = pb::RestoreRequest { thread_id: "other".into(), to: Some(ask::point(id)), ..Default::default() };
    let [mut on, mut forks, mut records, mut prepares] = std::array::from_fn(|_| server.exchanges());
    let [mut creates, mut restores] = std::array::from_fn(|_| server.threads());
    let coordinate = async { Loop::start(server, start(id, 1)).await.refused().await };
    let (on, forked, recorded, prepared, created, restored, coordination) = tokio::join!(
        on.r#continue(ask::after(id, ask::text("more"))),
        forks.fork(ask::fork(id, vec![ask::branch("bare", None)])),
        records.record(record),
        prepares.prepare(prepare),
        creates.create(create),
        restores.restore(restore),
        coordinate,
    );
    vec![
        on.unwrap_err(),
        forked.unwrap_err(),
        recorded.unwrap_err(),
        prepared.unwrap_err(),
        created.unwrap_err(),
        restored.unwrap_err(),
        coordination,
    ]
}

/// An erasure of many exchanges takes a while; until it is done, whatever would go on from one that has no tombstone yet waits, and is refused then.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_goes_on_from_what_is_being_erased() {
    let server = Running::start(scripted("")).await;
    let ids = recorded(&server, "t", 1_000).await;
    let last = ids.last().unwrap();
    let branches = vec![ask::branch("other", Some(ask::text("elsewhere")))];
    server.exchanges().fork(ask::fork(last, branches)).await.unwrap();
    let erasing = erase(&server, thread("t"), pb::EraseMode::Tombstone);
    let beside = async {
        let mut client = server.exchanges();
        while client.inspect(ask::inspect(&ids[0])).await.is_ok() {}
        let is_whole = client.inspect(ask::inspect(last)).await.is_ok();
        (is_whole, refusals(&server, last).await)
    };
    let (receipt, (was_whole, refusals)) = tokio::join!(erasing, beside);
    let receipt = receipt.unwrap();
    assert!(was_whole, "its turn had not come when it was gone on from");
    assert_eq!((receipt.tombstone_count, refusals.len()), (1_000, 7));
    for refusal in refusals {
        refused::is(&refusal, Code::FailedPrecondition, Reason::ExchangeErased);
        assert_eq!(refused::fact(&refusal, "receipt_id"), receipt.receipt_id);
    }
    assert_eq!(findings(&server).await, Vec::<String>::new());
}

/// Whoever comes first wins, whole: of a turn, or a record, and an erasure that refuses what others share, exactly one is done.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_and_an_erasure_of_what_it_goes_on_from_are_never_both_done() {
    let server = Running::start(scripted("")).await;
    for round in 0..30 {
        let id = recorded(&server, &format!("t{round}"), 1).await.remove(0);
        let mut client = server.exchanges();
        let on = async {
            if round % 2 == 0 {
                return client.r#continue(ask::after(&id, ask::text("more"))).await.map(|_| ());
            }
            let start = Some(pb::record_request::Start::AfterExchange(ask::point(&id)));
            let record = pb::RecordRequest { start, ..ask::record(vec![ask::user("more"), ask::assistant("of it")]) };
            client.record(record).await.map(|_| ())
        };
        let (on, erased) = tokio::join!(on, erase(&server, exchange(&id), pb::EraseMode::Refuse));
        match (on, erased) {
            (Ok(()), Err(status)) => {
                let reason = refused::reason(&status);
                assert!(["ERASE_SHARED", "RUN_NOT_COMPLETED"].contains(&reason.as_str()), "{status:?}");
            }
            (Err(status), Ok(_)) => refused::is(&status, Code::FailedPrecondition, Reason::ExchangeErased),
            (on, erased) => panic!("round {round}: {on:?} and {erased:?}"),
        }
    }
}

/// What is explained of a turn right after a gap, or sent over one, names the gap, not the configuration; and a view that begins in the gap begins with
/// what is left after it.
#[tokio::test(flavor = "multi_thread")]
async fn what_comes_out_otherwise_for_a_gap_says_so() {
    let provider = Provider::start(["one", "two", "three", "four"].map(stub::text)).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let first = client.capture(ask::capture_on_new("t", ask::text("q1"))).await.unwrap().into_inner();
    let mut ids = vec![first.exchange.unwrap().exchange_id];
    for text in ["q2", "q3"] {
        let turn = client.r#continue(ask::on_thread(ask::on("t"), ask::text(text))).await.unwrap().into_inner();
        ids.push(turn.exchange.unwrap().exchange_id);
    }
    let from = Some(From::Exchange(ask::point(&ids[2])));
    let prepare = pb::PrepareRequest { request: Some(ask::text("q4")), capture: true, from, ..Default::default() };
    let prepared_id = client.prepare(prepare).await.unwrap().into_inner().prepared_id;
    let receipt = erase(&server, exchange(&ids[1]), pb::EraseMode::Tombstone).await.unwrap();

    let subject = Some(pb::explain_request::Subject::Exchange(ask::point(&ids[2])));
    let explained = client.explain(pb::ExplainRequest { subject }).await.unwrap().into_inner();
    assert_eq!(ask::texts(&explained.explanation.unwrap().messages), ["U:q1", "A:one", "U:q3"]);
    let sent = explained.sent.unwrap();
    assert!(!sent.matches);
    assert_eq!(sent.difference, "1 of the 2 exchanges of the history before it were erased since");

    let prepared = pb::PreparedExecution { prepared_id, ..Default::default() };
    let execution = Some(pb::capture_request::Execution::Prepared(prepared));
    let stale = client.capture(pb::CaptureRequest { execution, thread: None }).await.unwrap_err();
    refused::is(&stale, Code::FailedPrecondition, Reason::PreparedStale);
    assert!(stale.message().contains("1 of the 3 exchanges of the history before it were erased since"), "{stale:?}");

    let view = pb::history_view::View::FromExchange(pb::FromExchange { exchange_id: ids[1].clone() });
    let request = pb::ExecutionRequest { history_view: Some(pb::HistoryView { view: Some(view) }), ..ask::text("q4") };
    let turn = client.r#continue(ask::on_thread(ask::on("t"), request)).await.unwrap().into_inner();
    let turn = turn.exchange.unwrap();
    let codes: Vec<&str> = turn.warnings.iter().map(|warning| warning.code.as_str()).collect();
    assert_eq!(codes, ["history_narrowed", "history_erased"]);
    let body = provider.request(3).await.json();
    let sent: Vec<&str> =
        body["messages"].as_array().unwrap().iter().filter_map(|said| said["content"].as_str()).collect();
    assert_eq!(sent, ["q3", "three", "q4"]);
    // It was sent with the gap, so it comes out the same.
    let subject = Some(pb::explain_request::Subject::Exchange(ask::point(&turn.exchange_id)));
    let sent = client.explain(pb::ExplainRequest { subject }).await.unwrap().into_inner().sent.unwrap();
    assert_eq!((sent.matches, sent.difference.as_str()), (true, ""));
    assert!(!receipt.receipt_id.is_empty());
}

/// A thread that was made while the clock was hours ahead does not come back with an older export either.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_was_ahead_brings_nothing_back() {
    let clock = Arc::new(Set(AtomicU64::new(1_700_000_000_000)));
    let server = Running::start_with(scripted(""), Sources { clock: clock.clone(), ..Sources::real() }).await;
    let mut client = server.exchanges();
    client.capture(ask::capture_on_new("t", ask::text("hello"))).await.unwrap();
    let bare = pb::RunRequest {
        execution: Some(pb::run_request::Execution::Request(ask::text_as("bare", "hello"))),
        ..Default::default()
    };
    client.run(bare).await.unwrap();
    let mut stream = Loop::start(&server, crate::support::coordinate::start_on("t", 1)).await;
    stream.decision().await;
    stream.act(crate::support::coordinate::stop()).await;
    stream.ended().await;
    let (lines, _) = export(&server, Vec::new()).await;
    clock.0.fetch_sub(6 * 3_600_000, Ordering::SeqCst);
    let receipt = within("the erasure", erase(&server, thread("t"), pb::EraseMode::Refuse)).await.unwrap();
    assert_eq!(receipt.erase_time.unwrap().seconds, 1_700_000_000 - 6 * 3_600);
    let run = pb::retention_target::Target::Run(pb::RetainedRun { run_id: "bare".into() });
    erase(&server, Some(pb::RetentionTarget { target: Some(run) }), pb::EraseMode::Refuse).await.unwrap();
    let summary = import(&server, &lines).await.unwrap().summary;
    let mut kinds: Vec<&str> = summary.erased.iter().map(|count| count.kind.as_str()).collect();
    kinds.sort_unstable();
    assert!(["coordination", "exchange", "run", "thread"].iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
    let listed = async || {
        let request = pb::ThreadServiceListRequest::default();
        server.threads().list(request).await.unwrap().into_inner().threads.len()
    };
    assert_eq!(listed().await, 0);

    // Another one under the id, made before the clock is where it was, is another one: it comes back.
    clock.0.fetch_add(60_000, Ordering::SeqCst);
    client.capture(ask::capture_on_new("t", ask::text("another"))).await.unwrap();
    let (lines, _) = export(&server, Vec::new()).await;
    let request = pb::ThreadServiceDeleteRequest { thread_id: "t".into(), ..Default::default() };
    server.threads().delete(request).await.unwrap();
    import(&server, &lines).await.unwrap();
    assert_eq!(listed().await, 1);
}

/// Results are not erased alone where their calls stay and others go on after them: no provider takes a call without its result. With the run that has
/// both they go, and a thread that waited there is sound afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn results_are_not_erased_from_between_their_calls_and_what_follows() {
    let server =
        Running::start(scripted("[[backends.script.rules]]\nwhen = \"weather\"\ntool_calls = [{ name = \"get\" }]\n"))
            .await;
    let mut client = server.exchanges();
    let asking = pb::ExecutionRequest { tools: ask::tools(&["get"]), ..ask::text_as("r", "weather") };
    let calls = client.capture(ask::capture_on_new("t", asking)).await.unwrap().into_inner().exchange.unwrap();
    client.fork(ask::fork(&calls.exchange_id, vec![ask::branch("waits", None)])).await.unwrap();
    let call = calls.assistant.unwrap().parts.into_iter().find_map(|part| match part.kind {
        Some(pb::part::Kind::ToolCall(call)) => Some(call.call_id),
        _ => None,
    });
    let answers = vec![ask::result(&call.unwrap(), "sun")];
    let results = client.r#continue(ask::on_thread_with("t", answers)).await.unwrap().into_inner().exchange.unwrap();
    let after = client.r#continue(ask::on_thread(ask::on("t"), ask::text("more"))).await.unwrap().into_inner();
    let after = after.exchange.unwrap().exchange_id;
    let refusal = erase(&server, exchange(&results.exchange_id), pb::EraseMode::Tombstone).await.unwrap_err();
    refused::is(&refusal, Code::FailedPrecondition, Reason::EraseShared);
    assert_eq!(refused::fact(&refusal, "shared_by"), after);
    assert!(refusal.message().contains("erase the run"), "{refusal:?}");

    let run = pb::retention_target::Target::Run(pb::RetainedRun { run_id: "r".into() });
    let run = Some(pb::RetentionTarget { target: Some(run) });
    assert_eq!(erase(&server, run, pb::EraseMode::Tombstone).await.unwrap().tombstone_count, 2);
    let page = client.inspect(ask::inspect(&after)).await.unwrap().into_inner();
    assert_eq!(ask::texts(&page.messages)[0], "U:more", "the calls went with their results");
    assert_eq!(findings(&server).await, Vec::<String>::new());
    let (lines, _) = export(&server, Vec::new()).await;
    let fresh = Running::start(scripted("")).await;
    import(&fresh, &lines).await.unwrap();
    assert_eq!(findings(&fresh).await, Vec::<String>::new());
}

/// Whoever writes without end beside an erasure does not keep it from beginning.
#[tokio::test(flavor = "multi_thread")]
async fn writers_do_not_starve_an_erasure() {
    let server = Running::start(scripted("")).await;
    let id = recorded(&server, "t", 1).await.remove(0);
    let writers = (0..16).map(|writer| {
        let (mut client, id) = (server.exchanges(), id.clone());
        tokio::spawn(async move {
            for round in 0_u64.. {
                let said = (0..100).flat_map(|n| [ask::user(&format!("{writer} {round} {n}")), ask::assistant("yes")]);
                let start = Some(pb::record_request::Start::AfterExchange(ask::point(&id)));
                let record = pb::RecordRequest { start, ..ask::record(said.collect()) };
                if let Err(status) = client.record(record).await {
                    return (round, status);
                }
            }
            unreachable!("it is erased some time")
        })
    });
    let writers: Vec<_> = writers.collect();
    let receipt = within("the erasure", erase(&server, exchange(&id), pb::EraseMode::Tombstone)).await.unwrap();
    assert_eq!(receipt.tombstone_count, 1);
    for writer in writers {
        let (_, status) = within("a writer", writer).await.unwrap();
        refused::is(&status, Code::FailedPrecondition, Reason::ExchangeErased);
    }
}

/// A sender that falls silent ends its import after a minute, and whoever erases or collects gets its turn; what was read is stored.
#[tokio::test]
async fn who_is_silent_for_a_minute_is_not_waited_for() {
    let server = Running::start(scripted("")).await;
    recorded(&server, "t", 1_500).await;
    let (lines, _) = export(&server, Vec::new()).await;
    let count = lines.lines().count() as u64;
    let other = Running::start(scripted("")).await;
    let (say, said) = tokio::sync::mpsc::channel(4);
    let mut admin = other.admin();
    let parts =
        [Part::Open(pb::ImportOpen::default()), Part::Chunk(pb::TransferChunk { lines_json: lines, first_line: 1 })];
    for part in parts {
        say.send(pb::ImportRequest { part: Some(part) }).await.unwrap();
    }
    let mut told = admin.import(ReceiverStream::new(said)).await.unwrap().into_inner();
    // Once it has told of nearly all of these lines, the server waits for more.
    let mut through = 0;
    while through + KEPT < count {
        through = match within("the lines to be stored", told.message()).await.unwrap().unwrap().event {
            Some(pb::import_response::Event::Acknowledged(acknowledged)) => acknowledged.through_line,
            other => panic!("{other:?}"),
        };
    }
    let busy = erase(&other, thread("t"), pb::EraseMode::Refuse).await.unwrap_err();
    refused::is(&busy, Code::ResourceExhausted, Reason::LimitExceeded);

    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
    let status = within("the end of the import", told.message()).await.unwrap_err();
    refused::is(&status, Code::DeadlineExceeded, Reason::Deadline);
    assert!(status.message().contains("send the rest"), "{status:?}");
    assert_eq!(crate::look::thread(&other, "t").await.thread_id, "t");
    erase(&other, thread("t"), pb::EraseMode::Refuse).await.unwrap();
    drop(say);
}
