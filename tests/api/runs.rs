//! Runs that do not complete: what is on record, what is left usable, and how the same id goes on.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::Code;

use crate::support::provider::{Gate, Provider};
use crate::support::server::{Running, openai_with};
use crate::support::{ask, refused};
use crate::{look, stub};

fn retrying(request: pb::ExecutionRequest) -> pb::ExecutionRequest {
    pb::ExecutionRequest { retry: true, ..request }
}

async fn server(provider: &Provider) -> Running {
    Running::start(openai_with(&provider.base_url(), stub::ONCE)).await
}

/// S4-11, S3-7, rule 2: a failure is on record without an exchange, is told again to whoever repeats the call, and `retry` opens the next
/// attempt under the same id; the observations of both are the run's.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_run_is_tried_again_only_when_asked() {
    let provider = Provider::start([stub::text("one"), stub::status(500, "broken"), stub::text("two")]).await;
    let server = server(&provider).await;
    let mut client = server.exchanges();
    let first = client.capture(ask::capture_on_new("t", ask::text("1"))).await.unwrap().into_inner().exchange.unwrap();
    let follow = |request| ask::on_thread(ask::on("t"), request);
    let failed = client.r#continue(follow(ask::text_as("r", "2"))).await.unwrap_err();
    refused::is(&failed, Code::Unavailable, Reason::ProviderUnavailable);
    let facts =
        ["run_id", "run_state", "thread_id", "backend_id", "provider_status"].map(|key| refused::fact(&failed, key));
    assert_eq!(facts, ["r", "FAILED", "t", "stub", "500"]);
    assert_eq!(failed.metadata().get("antiphon-run-id").unwrap(), "r");
    let run = look::run(&server, "r").await;
    assert_eq!((run.state(), run.exchange_id.as_str(), run.exchange_count), (pb::RunState::Failed, "", 0));
    assert_eq!(run.from_exchange_id, first.exchange_id);
    assert_eq!(run.error.unwrap().reason, Reason::ProviderUnavailable.word());
    let thread = look::thread(&server, "t").await;
    assert_eq!((thread.head_exchange_id.as_str(), thread.active_run_id.as_str()), (first.exchange_id.as_str(), "r"));

    let again = client.r#continue(follow(ask::text_as("r", "2"))).await.unwrap_err();
    refused::is(&again, Code::Unavailable, Reason::ProviderUnavailable);
    assert_eq!(
        (refused::fact(&again, "replayed"), refused::fact(&again, "run_state")),
        ("true".into(), "FAILED".into())
    );
    assert_eq!(provider.count(), 2);

    let second = client.r#continue(follow(retrying(ask::text_as("r", "2")))).await.unwrap().into_inner();
    let run = second.run.unwrap();
    assert_eq!((run.run_id.as_str(), run.state(), run.attempt), ("r", pb::RunState::Completed, 2));
    let seen: Vec<_> = run.observations.iter().map(|seen| (seen.number, seen.succeeded, seen.http_status)).collect();
    assert_eq!(seen, [(1, false, Some(500)), (2, true, Some(200))]);
    let exchange = second.exchange.unwrap();
    assert_eq!(exchange.parent_exchange_id, first.exchange_id);
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, exchange.exchange_id);
    let after = client.r#continue(follow(retrying(ask::text_as("r", "2")))).await.unwrap().into_inner();
    assert_eq!((after.replayed, provider.count()), (true, 3), "there is nothing to try again");
}

/// S3-7: the same after a restart.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_run_can_be_tried_again_after_a_restart() {
    let provider = Provider::start([stub::status(500, "broken"), stub::text("one")]).await;
    let server = server(&provider).await;
    server.exchanges().capture(ask::capture(ask::text_as("r", "1"))).await.unwrap_err();
    let server = server.restart().await;
    let again = server.exchanges().capture(ask::capture(ask::text_as("r", "1"))).await.unwrap_err();
    assert_eq!(refused::fact(&again, "replayed"), "true");
    let done = server.exchanges().capture(ask::capture(retrying(ask::text_as("r", "1")))).await.unwrap().into_inner();
    assert_eq!(done.run.unwrap().attempt, 2);
}

/// A thread that the first attempt made is the second's: it is not in its own way.
#[tokio::test(flavor = "multi_thread")]
async fn the_second_attempt_goes_on_the_thread_that_the_first_made() {
    let provider = Provider::start([
        stub::status(500, "broken"),
        stub::text("one"),
        stub::status(500, "broken"),
        stub::text("two"),
    ])
    .await;
    let server = server(&provider).await;
    let mut client = server.exchanges();
    client.capture(ask::capture_on_new("t", ask::text_as("r1", "1"))).await.unwrap_err();
    let thread = look::thread(&server, "t").await;
    assert_eq!((thread.head_exchange_id.as_str(), thread.active_run_id.as_str()), ("", "r1"));
    let first = client.capture(ask::capture_on_new("t", retrying(ask::text_as("r1", "1")))).await.unwrap().into_inner();
    let first = first.exchange.unwrap().exchange_id;
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, first);

    let fork = |request| ask::fork(&first, vec![ask::branch("f", Some(request))]);
    let failed = client.fork(fork(ask::text_as("r2", "2"))).await.unwrap_err();
    assert_eq!(refused::fact(&failed, "thread_id"), "f");
    let thread = look::thread(&server, "f").await;
    assert_eq!((&thread.head_exchange_id, thread.active_run_id.as_str()), (&first, "r2"), "it stays at the fork point");
    let second = client.fork(fork(retrying(ask::text_as("r2", "2")))).await.unwrap().into_inner().results.remove(0);
    let exchange = second.exchange.unwrap();
    assert_eq!((&exchange.parent_exchange_id, second.run.unwrap().attempt), (&first, 2));
    assert_eq!(second.thread.unwrap().head_exchange_id, exchange.exchange_id);
    assert_eq!(provider.count(), 4);
}

/// A step that failed is tried again with the same results, or the run opened again with its first request waits for others.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_step_leaves_the_run_resumable() {
    let provider = Provider::start([
        stub::calls(&[("p1", "look", "{}")]),
        stub::status(500, "broken"),
        stub::status(500, "broken"),
        stub::text("done"),
    ])
    .await;
    let server = server(&provider).await;
    let mut client = server.exchanges();
    let first = |retry| ask::capture_on_new("t", pb::ExecutionRequest { retry, ..stub::offering("r", "look") });
    let asked = client.capture(first(false)).await.unwrap().into_inner().exchange.unwrap();
    let call = &asked.pending_tool_calls[0].call_id;
    let answer = |text: &str, retry| {
        let results = pb::ToolResults { retry, ..ask::results(vec![ask::result(call, text)]) };
        pb::ContinueRequest {
            input: Some(pb::continue_request::Input::ToolResults(results)),
            ..ask::on_thread_with("t", Vec::new())
        }
    };
    let failed = client.r#continue(answer("seen", false)).await.unwrap_err();
    assert_eq!(refused::fact(&failed, "run_state"), "FAILED");
    let again = client.r#continue(answer("seen", false)).await.unwrap_err();
    assert_eq!((refused::fact(&again, "replayed"), provider.count()), ("true".into(), 2));
    client.r#continue(answer("seen", true)).await.unwrap_err();
    assert_eq!((look::run(&server, "r").await.attempt, provider.count()), (2, 3));
    let reopened = client.capture(first(true)).await.unwrap().into_inner();
    assert_eq!(reopened.run.unwrap().state(), pb::RunState::PendingTools);
    let done = client.r#continue(answer("seen better", false)).await.unwrap().into_inner();
    let (run, exchange) = (done.run.unwrap(), done.exchange.unwrap());
    assert_eq!((run.state(), run.run_id.as_str(), exchange.text.as_str()), (pb::RunState::Completed, "r", "done"));
    assert_eq!(run.observations.len(), 4);
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, exchange.exchange_id);
}

/// What waited for results, was cancelled and is opened again is on its thread as it was.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_wait_can_be_opened_again_on_its_thread() {
    let provider = Provider::start([stub::calls(&[("p1", "look", "{}")]), stub::text("done")]).await;
    let server = server(&provider).await;
    let mut client = server.exchanges();
    let asked = client.capture(ask::capture_on_new("t", stub::offering("r", "look"))).await.unwrap().into_inner();
    let call = asked.exchange.unwrap().pending_tool_calls[0].call_id.clone();
    let cancel = pb::RunServiceCancelRequest { run_id: "r".into() };
    let run = server.runs().cancel(cancel).await.unwrap().into_inner().run.unwrap();
    assert_eq!(
        (run.state(), run.error.unwrap().reason.as_str()),
        (pb::RunState::Cancelled, Reason::RunCancelled.word())
    );
    let thread = look::thread(&server, "t").await;
    assert_eq!((thread.active_run_id.as_str(), thread.pending), ("", None));
    let again = client.capture(ask::capture_on_new("t", stub::offering("r", "look"))).await.unwrap_err();
    refused::is(&again, Code::Cancelled, Reason::RunCancelled);
    let reopen = ask::capture_on_new("t", retrying(stub::offering("r", "look")));
    let reopened = client.capture(reopen).await.unwrap().into_inner();
    assert_eq!(reopened.run.unwrap().state(), pb::RunState::PendingTools);
    assert_eq!(reopened.thread.unwrap().pending.unwrap().run_id, "r");
    let done =
        client.r#continue(ask::on_thread_with("t", vec![ask::result(&call, "seen")])).await.unwrap().into_inner();
    assert_eq!(done.thread.unwrap().head_exchange_id, done.exchange.unwrap().exchange_id);
}

/// S4-81, S4-T8, B002: what was not told is unknown, and never zero; what some attempts told is a part.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_usage_is_not_zero() {
    let again = "retry = { attempts = 2, base_ms = 1, max_ms = 1 }\n";
    let provider =
        Provider::start([stub::unmetered("a"), stub::text("b"), stub::status(500, "x"), stub::text("c")]).await;
    let server = Running::start(openai_with(&provider.base_url(), again)).await;
    let mut client = server.exchanges();
    let mut used = Vec::new();
    for id in ["r1", "r2", "r3"] {
        let done = client.capture(ask::capture(ask::text_as(id, "x"))).await.unwrap().into_inner();
        let run = look::run(&server, id).await.usage.unwrap();
        assert_eq!(done.run.unwrap().usage.unwrap(), run);
        assert_eq!(done.exchange.unwrap().usage.unwrap(), run);
        used.push((run.input_tokens, run.output_tokens, run.completeness()));
    }
    use pb::UsageCompleteness::{Complete, Partial, Unknown};
    assert_eq!(used, [(None, None, Unknown), (Some(7), Some(3), Complete), (Some(7), Some(3), Partial)]);
}

/// S4-83, S4-T8, B094: each exchange has what its own call consumed, a shared start counts once, and a probe's is in its answer alone.
#[tokio::test(flavor = "multi_thread")]
async fn usage_belongs_to_the_run_that_spent_it() {
    let provider = Provider::start([
        stub::metered("a", 10, 1),
        stub::metered("b", 20, 2),
        stub::metered("f", 30, 3),
        stub::metered("p", 5, 5),
    ])
    .await;
    let server = server(&provider).await;
    let mut client = server.exchanges();
    let a = client.capture(ask::capture(ask::text_as("a", "1"))).await.unwrap().into_inner().exchange.unwrap();
    client.r#continue(ask::after(&a.exchange_id, ask::text_as("b", "2"))).await.unwrap();
    client.fork(ask::fork(&a.exchange_id, vec![ask::branch("f", Some(ask::text_as("f", "3")))])).await.unwrap();
    let probed = client.probe(ask::probe(&a.exchange_id, ask::text("4"))).await.unwrap().into_inner();
    assert_eq!(probed.usage.unwrap().output_tokens, Some(5));
    let mut sum = (0, 0);
    for id in look::runs(&server).await {
        let usage = look::run(&server, &id).await.usage.unwrap();
        sum = (sum.0 + usage.input_tokens.unwrap(), sum.1 + usage.output_tokens.unwrap());
    }
    assert_eq!(sum, (60, 6));
}

/// A step that was cancelled because its last watcher left, and is tried again, moves its run's thread as it would have the first time.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_step_that_is_tried_again_moves_its_thread() {
    let gate = Gate::closed();
    let provider = Provider::start([
        stub::calls(&[("p1", "look", "{}")]),
        stub::begun("never whole").wait(&gate),
        stub::text("done"),
    ])
    .await;
    let server = server(&provider).await;
    let mut client = server.exchanges();
    let asked = client.capture(ask::capture_on_new("t", stub::offering("r", "look"))).await.unwrap().into_inner();
    let asked = asked.exchange.unwrap();
    let answer = |retry| {
        let results = vec![ask::result(&asked.pending_tool_calls[0].call_id, "seen")];
        let results = pb::ToolResults { retry, ..ask::results(results) };
        pb::ContinueRequest {
            input: Some(pb::continue_request::Input::ToolResults(results)),
            ..ask::after_with(&asked.exchange_id, Vec::new())
        }
    };
    let stream = client.stream_continue(pb::StreamContinueRequest { turn: Some(answer(false)) }).await.unwrap();
    provider.request(1).await;
    drop(stream);
    look::until(&server, "r", pb::RunState::Cancelled).await;
    let done = client.r#continue(answer(true)).await.unwrap().into_inner();
    let exchange = done.exchange.unwrap().exchange_id;
    assert_eq!(done.run.unwrap().thread_id, "t");
    assert_eq!(done.thread.expect("the run's thread").head_exchange_id, exchange);
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, exchange);
}
