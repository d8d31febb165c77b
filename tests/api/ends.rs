//! How runs end before they are done: cancelled, left by their callers, out of time, or with the server.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::workspace_service_client::WorkspaceServiceClient;
use tokio_stream::StreamExt;
use tonic::{Code, Request};
use tonic_types::StatusExt;

use crate::support::provider::{Gate, Outcome, Provider};
use crate::support::server::{Running, openai, openai_with, scripted};
use crate::support::transfer::export;
use crate::support::{ask, refused, within};
use crate::{look, metrics, raw, stub};

fn finishing(request: pb::ExecutionRequest) -> pb::ExecutionRequest {
    pb::ExecutionRequest { on_disconnect: pb::OnDisconnect::Finish.into(), ..request }
}

async fn cancel(server: &Running, run_id: &str) -> Result<pb::Run, tonic::Status> {
    let cancelled = server.runs().cancel(pb::RunServiceCancelRequest { run_id: run_id.into() }).await?;
    Ok(cancelled.into_inner().run.unwrap())
}

/// Cancel ends a run at work, its upstream call with it, and leaves one that has ended as it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_cancelled_by_its_id() {
    let gate = Gate::closed();
    let provider = Provider::start([stub::text("one"), stub::text("two").wait(&gate), stub::text("three")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let first = client.capture(ask::capture_on_new("t", ask::text_as("r1", "1"))).await.unwrap().into_inner();
    let head = first.exchange.unwrap().exchange_id;
    let mut slow = server.exchanges();
    let slow =
        tokio::spawn(async move { slow.r#continue(ask::on_thread(ask::on("t"), ask::text_as("r2", "2"))).await });
    provider.request(1).await;
    assert_eq!(cancel(&server, "r2").await.unwrap().state(), pb::RunState::Cancelled);
    let cancelled = slow.await.unwrap().unwrap_err();
    refused::is(&cancelled, Code::Cancelled, Reason::RunCancelled);
    assert_eq!(
        (refused::fact(&cancelled, "run_id"), refused::fact(&cancelled, "run_state")),
        ("r2".into(), "CANCELLED".into())
    );
    assert_eq!(provider.outcome(1).await, Outcome::ClientClosed);
    let thread = look::thread(&server, "t").await;
    assert_eq!((&thread.head_exchange_id, thread.active_run_id.as_str()), (&head, ""));
    assert_eq!(look::run(&server, "r2").await.observations.len(), 1, "the call that was cut short is on record");
    assert_eq!(cancel(&server, "r1").await.unwrap().state(), pb::RunState::Completed);
    refused::is(&cancel(&server, "r3").await.unwrap_err(), Code::NotFound, Reason::RunNotFound);
    refused::is(&look::no_run(&server, "r3").await, Code::NotFound, Reason::RunNotFound);
    client.r#continue(ask::on_thread(ask::on("t"), ask::text("3"))).await.unwrap();
}

/// B118, rule 16: when the last caller is gone, so is the call to the provider, unless the run said that it finishes.
#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_cancels_or_lets_it_finish() {
    let gate = Gate::closed();
    let provider = Provider::start([stub::text("one").wait(&gate), stub::text("two").wait(&gate)]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let (mut one, mut two) = (server.exchanges(), server.exchanges());
    let stays = tokio::spawn(async move { one.capture(ask::capture(finishing(ask::text_as("stays", "1")))).await });
    provider.request(0).await;
    let goes = tokio::spawn(async move { two.capture(ask::capture(ask::text_as("goes", "2"))).await });
    provider.request(1).await;
    // One connection carries both resets in their order, so the first has arrived once the second shows.
    stays.abort();
    assert!(stays.await.unwrap_err().is_cancelled());
    goes.abort();
    assert!(goes.await.unwrap_err().is_cancelled());
    assert_eq!(provider.outcome(1).await, Outcome::ClientClosed);
    let gone = server.exchanges().capture(ask::capture(ask::text_as("goes", "2"))).await.unwrap_err();
    refused::is(&gone, Code::Cancelled, Reason::RunCancelled);
    gate.open();
    assert_eq!(provider.outcome(0).await, Outcome::Played);
    let kept = server.exchanges().capture(ask::capture(finishing(ask::text_as("stays", "1")))).await.unwrap();
    assert_eq!(kept.into_inner().exchange.unwrap().text, "one");
    assert_eq!(look::run(&server, "goes").await.state(), pb::RunState::Cancelled);
    assert_eq!(provider.count(), 2);
}

/// A run that two callers wait for goes on when one of them leaves.
#[tokio::test(flavor = "multi_thread")]
async fn one_caller_that_leaves_does_not_end_it_for_the_other() {
    let gate = Gate::closed();
    let provider = Provider::start([stub::text("one").wait(&gate), stub::text("mark").wait(&gate)]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut one = server.exchanges();
    let leaves = tokio::spawn(async move { one.capture(ask::capture(ask::text_as("r", "1"))).await });
    provider.request(0).await;
    let capture = Some(ask::capture(ask::text_as("r", "1")));
    let mut stays = server.exchanges().stream_capture(pb::StreamCaptureRequest { capture }).await.unwrap().into_inner();
    stays.message().await.unwrap().unwrap();
    leaves.abort();
    assert!(leaves.await.unwrap_err().is_cancelled());
    let mut mark = server.exchanges();
    let mark = tokio::spawn(async move { mark.capture(ask::capture(ask::text("mark"))).await });
    provider.request(1).await;
    mark.abort();
    assert_eq!(provider.outcome(1).await, Outcome::ClientClosed);
    gate.open();
    let mut last = None;
    while let Some(message) = stays.message().await.unwrap() {
        last = message.event;
    }
    assert!(matches!(last, Some(pb::stream_capture_response::Event::Completed(_))), "{last:?}");
}

/// B118: a deadline ends the call at the provider, and is told as what it is, by unary calls as by streams.
#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_ends_the_call() {
    let gate = Gate::closed();
    let answers = (0..3).map(|_| stub::text("late").wait(&gate)).chain([stub::begun("late").wait(&gate)]);
    let provider = Provider::start(answers).await;
    let server = Running::start(openai(&provider.base_url())).await;
    // Several times, since the transport has a timer of its own, which knows nothing of reasons.
    for number in 0..3 {
        let capture = ask::capture(ask::text_as(&format!("r{number}"), "1"));
        let late = raw::refused(&server, "ExchangeService/Capture", &capture, &[("grpc-timeout", "1S")]).await;
        refused::is(&late, Code::DeadlineExceeded, Reason::Deadline);
        assert_eq!(refused::fact(&late, "run_id"), format!("r{number}"));
        assert_eq!(provider.outcome(number).await, Outcome::ClientClosed);
        assert_eq!(look::until(&server, &format!("r{number}"), pb::RunState::Cancelled).await.exchange_id, "");
    }
    let mut request = Request::new(pb::StreamCaptureRequest { capture: Some(ask::capture(ask::text_as("s", "1"))) });
    request.set_timeout(std::time::Duration::from_secs(1));
    let mut stream = server.exchanges().stream_capture(request).await.unwrap().into_inner();
    let late = loop {
        match stream.message().await {
            Ok(message) => assert!(message.is_some(), "the deadline ends it"),
            Err(late) => break late,
        }
    };
    refused::is(&late, Code::DeadlineExceeded, Reason::Deadline);
    assert!(matches!(stream.message().await, Ok(None)), "one status, then nothing");
    assert_eq!(provider.outcome(3).await, Outcome::ClientClosed);
}

/// Draining: no new work, what is at work is finished, and whoever calls is told to come back.
#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_finishes_what_is_at_work() {
    let gate = Gate::closed();
    let provider = Provider::start([stub::text("one").wait(&gate)]).await;
    let mut server = Running::start(openai(&provider.base_url())).await;
    let (mut slow, mut client, mut admin) = (server.exchanges(), server.exchanges(), server.admin());
    let slow = tokio::spawn(async move { slow.capture(ask::capture(ask::text_as("r", "1"))).await });
    provider.request(0).await;
    let stopping = async {
        within("the server to drain", async {
            while !admin
                .get_server_info(pb::GetServerInfoRequest {})
                .await
                .unwrap()
                .into_inner()
                .server_info
                .unwrap()
                .draining
            {}
        })
        .await;
        let refused = client.capture(ask::capture(ask::text("2"))).await.unwrap_err();
        refused::is(&refused, Code::Unavailable, Reason::ShuttingDown);
        assert!(refused.get_details_retry_info().unwrap().retry_delay.is_some());
        gate.open();
    };
    tokio::join!(server.stop(), stopping);
    assert_eq!(slow.await.unwrap().unwrap().into_inner().exchange.unwrap().text, "one");
    assert_eq!(provider.count(), 1);
}

/// Section 9, rule 7: what does not finish in time is INTERRUPTED, is not run again unasked, and runs again with `retry`.
#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_finish_in_time_is_interrupted() {
    let gate = Gate::closed();
    let provider =
        Provider::start([stub::text("one").wait(&gate), stub::begun("o").wait(&gate), stub::text("two")]).await;
    let config = openai_with(&provider.base_url(), "[server]\ndrain_grace_seconds = 0\n");
    let mut server = Running::start(config).await;
    let mut slow = server.exchanges();
    let unary = tokio::spawn(async move { slow.capture(ask::capture_on_new("t", ask::text_as("r", "1"))).await });
    provider.request(0).await;
    let capture = Some(ask::capture(ask::text_as("s", "1")));
    let mut stream =
        server.exchanges().stream_capture(pb::StreamCaptureRequest { capture }).await.unwrap().into_inner();
    provider.request(1).await;
    server.stop().await;
    let unary = unary.await.unwrap().unwrap_err();
    let streamed = loop {
        match stream.message().await {
            Ok(message) => assert!(message.is_some(), "the stream ends with why"),
            Err(status) => break status,
        }
    };
    for interrupted in [unary, streamed] {
        refused::is(&interrupted, Code::Aborted, Reason::RunInterrupted);
        assert_eq!(refused::fact(&interrupted, "run_state"), "INTERRUPTED");
    }
    let server = server.restart().await;
    assert_eq!(look::run(&server, "r").await.state(), pb::RunState::Interrupted);
    assert_eq!(look::thread(&server, "t").await.active_run_id, "r");
    let again = server.exchanges().capture(ask::capture_on_new("t", ask::text_as("r", "1"))).await.unwrap_err();
    refused::is(&again, Code::Aborted, Reason::RunInterrupted);
    assert_eq!((refused::fact(&again, "replayed"), provider.count()), ("true".into(), 2));
    let retry = pb::ExecutionRequest { retry: true, ..ask::text_as("r", "1") };
    let done = server.exchanges().capture(ask::capture_on_new("t", retry)).await.unwrap().into_inner();
    assert_eq!((done.exchange.unwrap().text.as_str(), done.run.unwrap().attempt), ("two", 2));
}

/// S4-43..47: a full queue is refused before the claim, so the id stays free; what waits is QUEUED, in memory only.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_backend_refuses_before_the_claim() {
    let gate = Gate::closed();
    let provider = Provider::start([stub::text("one").wait(&gate), stub::text("two"), stub::text("three")]).await;
    let server = Running::start(openai_with(&provider.base_url(), "capacity = 1\nqueue_limit = 1\n")).await;
    let call = |id: &'static str| {
        let mut client = server.exchanges();
        tokio::spawn(async move { client.capture(ask::capture(ask::text_as(id, "x"))).await })
    };
    let at_work = call("r1");
    provider.request(0).await;
    let waits = call("r2");
    look::until(&server, "r2", pb::RunState::Queued).await;
    // It is in flight before it is in the queue.
    within("the call to wait", async {
        let backend = || pb::InspectBackendRequest { backend_id: "stub".into() };
        while server.catalog().inspect_backend(backend()).await.unwrap().into_inner().backend.unwrap().queued == 0 {}
    })
    .await;
    let full = server.exchanges().capture(ask::capture(ask::text_as("r3", "x"))).await.unwrap_err();
    refused::is(&full, Code::ResourceExhausted, Reason::BackendQueueFull);
    assert!(full.get_details_retry_info().unwrap().retry_delay.is_some());
    let facts = ["backend_id", "queue", "capacity"].map(|key| refused::fact(&full, key));
    assert_eq!(facts, ["stub", "1", "1"]);
    refused::is(&look::no_run(&server, "r3").await, Code::NotFound, Reason::RunNotFound);
    assert_eq!(cancel(&server, "r2").await.unwrap().state(), pb::RunState::Cancelled);
    refused::is(&waits.await.unwrap().unwrap_err(), Code::Cancelled, Reason::RunCancelled);
    refused::is(&look::no_run(&server, "r2").await, Code::NotFound, Reason::RunNotFound);
    gate.open();
    at_work.await.unwrap().unwrap();
    for id in ["r2", "r3"] {
        call(id).await.unwrap().unwrap();
    }
    assert_eq!(provider.count(), 3);
}

/// Whoever opened a stream of requests and says nothing is told at once, instead of holding up the end.
#[tokio::test(flavor = "multi_thread")]
async fn silent_streams_are_told_of_the_end() {
    let mut server = Running::start(scripted("")).await;
    let lines = export(&server, Vec::new()).await.0;
    let open = pb::ImportRequest { part: Some(pb::import_request::Part::Open(pb::ImportOpen::default())) };
    let first = pb::TransferChunk {
        lines_json: lines.lines().take(1).map(|line| format!("{line}\n")).collect(),
        first_line: 1,
    };
    let first = pb::ImportRequest { part: Some(pb::import_request::Part::Chunk(first)) };
    let mut importing = server
        .admin()
        .import(tokio_stream::iter([open, first]).chain(tokio_stream::pending()))
        .await
        .unwrap()
        .into_inner();
    let mut coordinating = server.exchanges().coordinate(tokio_stream::pending()).await.unwrap().into_inner();
    let mut workspaces = WorkspaceServiceClient::new(server.fresh_channel());
    let writing = tokio::spawn(async move { workspaces.stream_write_document(tokio_stream::pending()).await });
    within("the document to be begun", async {
        let line = "antiphon_rpcs_at_work{method=\"WorkspaceService/StreamWriteDocument\"} 1";
        while !metrics::get(server.address(), "/metrics").await.contains(line) {}
    })
    .await;
    server.stop().await;
    let told = [
        within("the import", importing.message()).await.unwrap_err(),
        within("the coordination", coordinating.message()).await.unwrap_err(),
        within("the document", writing).await.unwrap().unwrap_err(),
    ];
    for status in told {
        refused::is(&status, Code::Unavailable, Reason::ShuttingDown);
    }
}
