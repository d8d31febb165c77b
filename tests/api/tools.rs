//! Tool calls and their results: paired by rule, one run over several exchanges.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::Code;

use crate::support::provider::{Entry, Provider};
use crate::support::server::{Running, openai};
use crate::support::{ask, refused};

fn calling(ids: &[&str]) -> Entry {
    let calls: Vec<_> = ids
        .iter()
        .map(|id| serde_json::json!({"id": id, "type": "function", "function": {"name": "look", "arguments": "{\"q\":1}"}}))
        .collect();
    let body = serde_json::json!({
        "choices": [{"message": {"role": "assistant", "content": null, "tool_calls": calls}, "finish_reason": "tool_calls"}],
    });
    Entry::json(&body.to_string())
}

fn answer(text: &str) -> Entry {
    let body = serde_json::json!({
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
    });
    Entry::json(&body.to_string())
}

fn offering(run_id: &str, text: &str) -> pb::ExecutionRequest {
    pb::ExecutionRequest { tools: ask::tools(&["look"]), ..ask::text_as(run_id, text) }
}

/// S3-1, S3-2, S3x-6: one prompt to its final answer is one run, though it has two exchanges; the head moves once.
#[tokio::test(flavor = "multi_thread")]
async fn results_go_on_with_the_run_that_called() {
    let provider = Provider::start([calling(&["p1", "p2"]), answer("done")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let asked = client.capture(ask::capture_on_new("t", offering("r", "look twice"))).await.unwrap().into_inner();
    let exchange = asked.exchange.unwrap();
    assert_eq!(asked.run.unwrap().state(), pb::RunState::PendingTools);
    assert_eq!(exchange.stop_reason(), pb::StopReason::ToolCalls);
    let thread = asked.thread.unwrap();
    assert_eq!((thread.head_exchange_id.as_str(), thread.active_run_id.as_str()), ("", "r"));
    let calls = thread.pending.unwrap().calls;
    assert_eq!(calls.iter().map(|call| call.provider_call_id.as_str()).collect::<Vec<_>>(), ["p1", "p2"]);
    assert_ne!(calls[0].call_id, calls[1].call_id);
    let results = vec![ask::result(&calls[1].call_id, "second"), ask::result(&calls[0].call_id, "first")];
    let done = client.r#continue(ask::on_thread_with("t", results.clone())).await.unwrap().into_inner();
    let run = done.run.unwrap();
    assert_eq!((run.run_id.as_str(), run.state(), run.exchange_count), ("r", pb::RunState::Completed, 2));
    let last = done.exchange.unwrap();
    assert_eq!((last.turn, last.depth, last.run_id.as_str()), (1, 2, "r"));
    assert_eq!(done.thread.unwrap().head_exchange_id, last.exchange_id);
    let sent = provider.request(1).await.json();
    let roles: Vec<_> =
        sent["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap().to_owned()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool"]);
    assert_eq!(sent["messages"][2]["tool_call_id"], "p2");
    // The same results again are the same step: nobody is called.
    let again = client.r#continue(ask::on_thread_with("t", results)).await.unwrap().into_inner();
    assert!(again.replayed);
    assert_eq!(again.exchange.unwrap().exchange_id, last.exchange_id);
    assert_eq!(provider.count(), 2);
}

/// S3x-4, B056, B058, B059: what does not pair up is refused with the ids, before anything is sent.
#[tokio::test(flavor = "multi_thread")]
async fn calls_are_answered_once_before_anything_else() {
    let provider = Provider::start([calling(&["p1", "p2"])]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let asked = client.capture(ask::capture_on_new("t", offering("r", "look"))).await.unwrap().into_inner();
    let exchange = asked.exchange.unwrap();
    let ids: Vec<_> = exchange.pending_tool_calls.iter().map(|call| call.call_id.clone()).collect();
    for request in [
        ask::after(&exchange.exchange_id, ask::text("never mind")),
        ask::on_thread(ask::on("t"), ask::text("never mind")),
    ] {
        let refused = client.r#continue(request).await.unwrap_err();
        refused::is(&refused, Code::FailedPrecondition, Reason::UnansweredToolCalls);
        assert_eq!(refused::fact(&refused, "call_ids"), ids.join(","));
    }
    let one =
        client.r#continue(ask::after_with(&exchange.exchange_id, vec![ask::result(&ids[0], "x")])).await.unwrap_err();
    refused::is(&one, Code::InvalidArgument, Reason::ToolResultsMismatch);
    assert_eq!(refused::fact(&one, "missing"), ids[1]);
    let twice = vec![ask::result(&ids[0], "x"), ask::result(&ids[0], "y"), ask::result(&ids[1], "z")];
    let twice = client.r#continue(ask::after_with(&exchange.exchange_id, twice)).await.unwrap_err();
    assert_eq!(refused::fact(&twice, "duplicate"), ids[0]);
    let alien = vec![ask::result("call_x", "x"), ask::result(&ids[1], "z")];
    let alien = client.r#continue(ask::after_with(&exchange.exchange_id, alien)).await.unwrap_err();
    assert_eq!(refused::fact(&alien, "unknown"), "call_x");
    assert_eq!(provider.count(), 1);
}

/// S0-5..7, S0-T2, B073: absent offers what stands, empty none, a list that list; the last two for this turn only.
#[tokio::test(flavor = "multi_thread")]
async fn tools_are_tri_state() {
    let provider = Provider::start((0..4).map(|_| answer("ok"))).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let first = client.capture(ask::capture(offering("r", "1"))).await.unwrap().into_inner().exchange.unwrap();
    let mut last = first.exchange_id;
    for tools in [ask::tools(&[]), ask::tools(&["other"]), None] {
        let request = pb::ExecutionRequest { tools, ..ask::text("next") };
        last = client.r#continue(ask::after(&last, request)).await.unwrap().into_inner().exchange.unwrap().exchange_id;
    }
    let mut offered = Vec::new();
    for number in 0..4 {
        let body = provider.request(number).await.json();
        let names = body["tools"]
            .as_array()
            .map(|tools| tools.iter().map(|tool| tool["function"]["name"].to_string()).collect::<Vec<_>>());
        offered.push(names.unwrap_or_default().join(","));
    }
    assert_eq!(offered, ["\"look\"", "", "\"other\"", "\"look\""]);
}
