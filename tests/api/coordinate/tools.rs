//! Tools inside a turn: the batch goes to the client, in parts and in any order, and the same run goes on.

use antiphon::grpc::pb;
use pb::coordinate_request::Frame as Say;
use pb::coordinate_response::Frame as Told;
use pb::next_action::Action;

use crate::support::ask;
use crate::support::coordinate::{Loop, results, start_with, turn_of};
use crate::support::provider::{Entry, Provider};
use crate::support::server::{Running, openai};

fn calling(ids: &[&str]) -> Entry {
    let calls: Vec<_> = ids
        .iter()
        .map(|id| serde_json::json!({"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}}))
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

/// S0-26, B106: three calls of one function with equal arguments have ids of their own, and each result lands on its own call.
#[tokio::test(flavor = "multi_thread")]
async fn results_may_come_in_parts_and_in_any_order() {
    let provider = Provider::start([calling(&["a", "b", "c"]), answer("done")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let request = pb::ExecutionRequest { tools: ask::tools(&["look"]), ..ask::text_as("r", "look") };
    let mut stream = Loop::start(&server, start_with(request, 0)).await;
    let needed = stream.tools().await;
    assert_eq!((needed.run_id.as_str(), needed.round, needed.rounds_remaining), ("r", 1, 15));
    let ids: Vec<String> = needed.calls.iter().map(|call| call.call.clone().unwrap().call_id).collect();
    assert_eq!(needed.calls.iter().filter(|call| call.tool.is_some()).count(), 3);
    stream.say(results(&needed.batch_id, vec![ask::result(&ids[2], "third")])).await;
    let accepted = stream.accepted().await.batch.unwrap();
    assert_eq!(accepted.pending_call_ids, ids[..2]);
    stream.say(results("", vec![ask::result(&ids[1], "second"), ask::result(&ids[0], "first")])).await;
    let decision = stream.decision().await;
    assert_eq!((decision.exchange.unwrap().text.as_str(), decision.starting), ("done", true));
    assert_eq!(decision.run.unwrap().exchange_count, 2);
    let sent = provider.request(1).await.json();
    let results: Vec<_> = sent["messages"].as_array().unwrap()[2..]
        .iter()
        .map(|m| (m["tool_call_id"].as_str().unwrap().to_owned(), m["content"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(results, [("a", "first"), ("b", "second"), ("c", "third")].map(|(a, b)| (a.to_owned(), b.to_owned())));
    stream.act(turn_of("more")).await;
    assert!(matches!(stream.ended().await.0.outcome, Some(pb::coordination_ended::Outcome::Exhausted(_))));
}

/// At the limit of rounds the result is presented with its calls, and the thread goes on by the rule for open calls.
#[tokio::test(flavor = "multi_thread")]
async fn the_limit_of_rounds_presents_the_calls() {
    let provider = Provider::start([calling(&["a"]), calling(&["b"]), answer("closed")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let request = pb::ExecutionRequest { tools: ask::tools(&["look"]), ..ask::text_as("r", "look") };
    let begin = pb::CoordinationStart { tool_round_limit: Some(1), ..start_with(request, 1) };
    let mut stream = Loop::start(&server, begin).await;
    let needed = stream.tools().await;
    let id = needed.calls[0].call.clone().unwrap().call_id;
    stream.say(results("", vec![ask::result(&id, "seen")])).await;
    let decision = stream.decision().await;
    let run = decision.run.unwrap();
    assert_eq!((run.state(), run.stop_reason()), (pb::RunState::Completed, pb::StopReason::ToolRoundLimit));
    stream.act(turn_of("never mind")).await;
    let rejected = stream.rejected().await;
    assert_eq!(rejected.error.unwrap().reason, "UNANSWERED_TOOL_CALLS");
    let turn = pb::NextTurn {
        input: Some(pb::next_turn::Input::Request(ask::text("never mind"))),
        unanswered_tools: pb::UnansweredTools::Interrupt.into(),
        ..pb::NextTurn::default()
    };
    stream.act(Action::Turn(turn)).await;
    assert_eq!(stream.decision().await.exchange.unwrap().text, "closed");
    let sent = provider.request(2).await.json();
    let roles: Vec<_> = sent["messages"].as_array().unwrap().iter().map(|m| m["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "tool", "user"]);
}

/// Results that were said before a suspend are taken before the stream lets go, and told.
#[tokio::test(flavor = "multi_thread")]
async fn results_before_a_suspend_are_taken_first() {
    const ROUNDS: usize = 20;
    let provider = Provider::start((0..ROUNDS).map(|_| calling(&["a", "b"]))).await;
    let server = Running::start(openai(&provider.base_url())).await;
    for round in 0..ROUNDS {
        let run_id = format!("r{round}");
        let request = pb::ExecutionRequest { tools: ask::tools(&["look"]), ..ask::text_as(&run_id, "look") };
        let mut stream = Loop::start(&server, start_with(request, 0)).await;
        let needed = stream.tools().await;
        let ids: Vec<String> = needed.calls.iter().map(|call| call.call.clone().unwrap().call_id).collect();
        stream.say(results(&needed.batch_id, vec![ask::result(&ids[1], "second")])).await;
        stream.say(Say::Suspend(pb::CoordinationSuspend {})).await;
        // The suspend is accepted without waiting for that, and the stream lets go after it.
        let detached = stream.until(|frame| match frame {
            Told::Detached(detached) => Some(detached.reason()),
            _ => None,
        });
        assert_eq!(detached.await, pb::DetachReason::Suspended);
        let accepted = stream.seen.iter().filter_map(|frame| match &frame.frame {
            Some(Told::Accepted(accepted)) => accepted.batch.clone(),
            _ => None,
        });
        let told: Vec<_> = accepted.collect();
        assert_eq!(told.len(), 1, "round {round}");
        assert_eq!(told[0].pending_call_ids, ids[..1], "round {round}");
    }
}
