//! Run ids that are used again: one intent, one call of the provider, one result.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::Code;

use crate::support::provider::{Gate, Provider};
use crate::support::server::{Running, openai, openai_with};
use crate::support::{ask, refused};
use crate::{look, stub};

fn streamed(request: pb::CaptureRequest) -> pb::StreamCaptureRequest {
    pb::StreamCaptureRequest { capture: Some(request) }
}

async fn completed(server: &Running, request: pb::CaptureRequest) -> pb::CaptureResponse {
    let mut stream = server.exchanges().stream_capture(streamed(request)).await.unwrap().into_inner();
    let mut last = None;
    while let Some(message) = stream.message().await.unwrap() {
        last = message.event;
    }
    let Some(pb::stream_capture_response::Event::Completed(response)) = last else { panic!("{last:?}") };
    response
}

fn run_of(run_id: &str, text: &str) -> pb::RunRequest {
    let execution = Some(pb::run_request::Execution::Request(ask::text_as(run_id, text)));
    pb::RunRequest { execution, ..Default::default() }
}

/// B096, S3-3: the id in the answer is the one that was given, and using it again brings the same result, unary or streamed, whatever
/// labels it has.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_run_brings_what_it_brought() {
    let provider = Provider::start([stub::text("one"), stub::text("two"), stub::text("three")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let first = client.capture(ask::capture(ask::text_as("r1", "1"))).await.unwrap();
    assert_eq!(first.metadata().get("antiphon-run-id").unwrap(), "r1");
    let first = first.into_inner();
    assert_eq!((first.replayed, first.run.as_ref().unwrap().run_id.as_str()), (false, "r1"));
    let labelled = pb::ExecutionRequest {
        labels: [("a".to_owned(), "b".to_owned())].into(),
        retry: true,
        on_disconnect: pb::OnDisconnect::Finish.into(),
        ..ask::text_as("r1", "1")
    };
    let again = client.capture(ask::capture(labelled)).await.unwrap().into_inner();
    assert!(again.replayed);
    assert_eq!(again.exchange, first.exchange);
    let stream = completed(&server, ask::capture(ask::text_as("r1", "1"))).await;
    assert_eq!((stream.replayed, &stream.exchange), (true, &first.exchange));

    let from = first.exchange.unwrap().exchange_id;
    let follow = || ask::after(&from, ask::text_as("r2", "2"));
    let second = client.r#continue(follow()).await.unwrap().into_inner();
    let again = client.r#continue(follow()).await.unwrap().into_inner();
    assert_eq!((again.replayed, again.exchange), (true, second.exchange));

    let fork = || ask::fork(&from, vec![ask::branch("t", Some(ask::text_as("r3", "3")))]);
    let third = client.fork(fork()).await.unwrap().into_inner().results.remove(0);
    let again = client.fork(fork()).await.unwrap().into_inner().results.remove(0);
    assert_eq!((&again.exchange, &again.thread), (&third.exchange, &third.thread));
    assert_eq!(provider.count(), 3);
}

/// B096: a fork whose thread has no id of the caller's finds the thread that the first call made.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_fork_makes_no_second_thread() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    let from = client.capture(ask::capture(ask::text("1"))).await.unwrap().into_inner().exchange.unwrap().exchange_id;
    let fork = || ask::fork(&from, vec![ask::branch("", Some(ask::text_as("r", "2")))]);
    let first = client.fork(fork()).await.unwrap().into_inner().results.remove(0).thread.unwrap();
    let again = client.fork(fork()).await.unwrap().into_inner().results.remove(0).thread.unwrap();
    assert_eq!(again, first);
    assert_eq!(look::threads(&server).await, [first.thread_id]);
    let other = ask::fork(&from, vec![ask::branch("t", Some(ask::text_as("r", "other")))]);
    let other = client.fork(other).await.unwrap_err();
    refused::is(&other, Code::AlreadyExists, Reason::RunIdConflict);
}

/// B098, S3x-1: fifty calls with one run id over eight connections ask the provider once, and all get its answer.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_calls_at_once_are_one() {
    let gate = Gate::closed();
    let provider = Provider::start([stub::text("once").wait(&gate)]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let channels: Vec<_> = (0..8).map(|_| server.fresh_channel()).collect();
    let calls: Vec<_> = (0..50)
        .map(|number: usize| {
            let channel = channels[number % 8].clone();
            tokio::spawn(async move {
                let mut client = pb::exchange_service_client::ExchangeServiceClient::new(channel);
                client.capture(ask::capture(ask::text_as("r", "1"))).await.unwrap().into_inner()
            })
        })
        .collect();
    provider.request(0).await;
    gate.open();
    let mut exchanges = std::collections::BTreeSet::new();
    for call in calls {
        let exchange = call.await.unwrap().exchange.unwrap();
        assert_eq!(exchange.text, "once");
        exchanges.insert(exchange.exchange_id);
    }
    assert_eq!((provider.count(), exchanges.len()), (1, 1));
    assert_eq!(look::runs(&server).await, ["r"]);
}

/// Rule 7, S3x-1: another request under the id is refused with both fingerprints, at work as afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn another_request_under_the_id_conflicts() {
    let gate = Gate::closed();
    let provider = Provider::start([stub::text("once").wait(&gate)]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let mut slow = server.exchanges();
    let slow = tokio::spawn(async move { slow.capture(ask::capture(ask::text_as("r", "1"))).await });
    provider.request(0).await;
    let at_work = client.capture(ask::capture(ask::text_as("r", "2"))).await.unwrap_err();
    gate.open();
    let stored = slow.await.unwrap().unwrap().into_inner().run.unwrap().fingerprint;
    let afterwards = client.capture(ask::capture(ask::text_as("r", "2"))).await.unwrap_err();
    let other_verb = client.run(run_of("r", "1")).await.unwrap_err();
    for conflict in [&at_work, &afterwards, &other_verb] {
        refused::is(conflict, Code::AlreadyExists, Reason::RunIdConflict);
        assert_eq!(refused::fact(conflict, "stored_fingerprint"), stored);
        assert_ne!(refused::fact(conflict, "fingerprint"), stored);
        assert_eq!(refused::fact(conflict, "run_id"), "r");
    }
    assert_eq!(provider.count(), 1);
}

/// B099 within one process: what was answered is answered again by the next server on the store, without the provider.
#[tokio::test(flavor = "multi_thread")]
async fn a_result_survives_the_server() {
    let provider = Provider::start([stub::text("one")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let first =
        server.exchanges().capture(ask::capture_on_new("t", ask::text_as("r", "1"))).await.unwrap().into_inner();
    let server = server.restart().await;
    let again =
        server.exchanges().capture(ask::capture_on_new("t", ask::text_as("r", "1"))).await.unwrap().into_inner();
    assert!(again.replayed);
    assert_eq!((&again.exchange, &again.thread), (&first.exchange, &first.thread));
    assert_eq!(provider.count(), 1);
}

/// S0-38: what was not captured is answered again from memory while it is there, and afterwards its end is told, not its content.
#[tokio::test(flavor = "multi_thread")]
async fn an_uncaptured_result_is_kept_for_a_while() {
    let provider = Provider::start([stub::text("one")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let first = server.exchanges().run(run_of("r", "1")).await.unwrap().into_inner();
    let with_messages = pb::RunRequest { include_rendered_messages: true, ..run_of("r", "1") };
    let again = server.exchanges().run(with_messages).await.unwrap().into_inner();
    assert_eq!(
        (again.replayed, &again.text, ask::texts(&again.rendered_messages)),
        (true, &first.text, vec!["U:1".to_owned()])
    );
    let server = server.restart().await;
    let gone = server.exchanges().run(run_of("r", "1")).await.unwrap_err();
    refused::is(&gone, Code::FailedPrecondition, Reason::ResultNotKept);
    assert_eq!((refused::fact(&gone, "run_id"), refused::fact(&gone, "run_state")), ("r".into(), "COMPLETED".into()));
    assert_eq!(look::run(&server, "r").await.usage.unwrap().input_tokens, Some(7));
    assert_eq!(provider.count(), 1);
}

/// A call that repeats a run's first request while a later step of it is at work waits for the run's result instead of meeting a conflict.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_request_again_during_a_later_step_attaches() {
    let gate = Gate::closed();
    let provider = Provider::start([stub::calls(&[("p1", "look", "{}")]), stub::text("done").wait(&gate)]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let first = || ask::capture_on_new("t", stub::offering("r", "look"));
    let asked = client.capture(first()).await.unwrap().into_inner().exchange.unwrap();
    let answers = vec![ask::result(&asked.pending_tool_calls[0].call_id, "seen")];
    let mut stepping = server.exchanges();
    let step = ask::after_with(&asked.exchange_id, answers);
    let step = tokio::spawn(async move { stepping.r#continue(step).await.unwrap().into_inner() });
    provider.request(1).await;
    let again = server.exchanges().stream_capture(streamed(first())).await.unwrap().into_inner();
    gate.open();
    let done = step.await.unwrap().exchange.unwrap();
    let mut again = again;
    let mut last = None;
    while let Some(message) = again.message().await.unwrap() {
        last = message.event;
    }
    let Some(pb::stream_capture_response::Event::Completed(response)) = last else { panic!("{last:?}") };
    assert_eq!(response.exchange.unwrap().exchange_id, done.exchange_id);
    assert_eq!(provider.count(), 2);
}

/// A step is named by the exchange whose calls it answers, so the same results are the same step whether they come to it or to its thread.
#[tokio::test(flavor = "multi_thread")]
async fn results_are_one_step_by_exchange_and_by_thread() {
    let provider = Provider::start([stub::calls(&[("p1", "look", "{}")]), stub::text("done")]).await;
    let server = Running::start(openai_with(&provider.base_url(), stub::ONCE)).await;
    let mut client = server.exchanges();
    let asked = client.capture(ask::capture_on_new("t", stub::offering("r", "look"))).await.unwrap().into_inner();
    let asked = asked.exchange.unwrap();
    let answers = || vec![ask::result(&asked.pending_tool_calls[0].call_id, "seen")];
    let done = client.r#continue(ask::after_with(&asked.exchange_id, answers())).await.unwrap().into_inner();
    assert_eq!(done.thread.unwrap().thread_id, "t", "the run's thread moves");
    let again = client.r#continue(ask::on_thread_with("t", answers())).await.unwrap().into_inner();
    assert_eq!((again.replayed, again.exchange), (true, done.exchange));
    let other = vec![ask::result(&asked.pending_tool_calls[0].call_id, "something else")];
    let other = client.r#continue(ask::after_with(&asked.exchange_id, other)).await.unwrap_err();
    refused::is(&other, Code::AlreadyExists, Reason::RunIdConflict);
    assert_eq!(provider.count(), 2);
}
