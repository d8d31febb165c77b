//! Characters, numbers and depth.

use antiphon::domain::fault::Reason;
use antiphon::domain::message::Message;
use antiphon::domain::settings::Contract;
use antiphon::engine::backend::MAX_PROVIDER_MESSAGE;

use crate::bench::{Ask, Bench};
use crate::support::provider::Entry;

const DONE: &str = r#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}"#;

fn call_with(arguments: &str) -> Entry {
    let function = serde_json::json!({"name": "w", "arguments": arguments});
    let call = serde_json::json!({"id": "c1", "type": "function", "function": function});
    let message = serde_json::json!({"content": null, "tool_calls": [call]});
    Entry::json(&serde_json::json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).to_string())
}

#[tokio::test]
async fn b138_depth_is_a_limit_and_not_a_crash() {
    for (depth, invalid) in [(127, false), (129, true), (100_000, true)] {
        // The object itself is one level.
        let arguments = format!("{{\"a\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
        let bench = Bench::with([call_with(&arguments), Entry::json(DONE)], |_| {}).await;
        let ask = Ask::whole().offering(&["w"]);
        let outcome = bench.ask(&ask).await;
        let call = outcome.answer().message.tool_calls().next().unwrap().clone();
        assert_eq!((call.arguments_json.len(), call.arguments_invalid), (arguments.len(), invalid), "{depth}");
        let result = "[".repeat(100_000);
        let next = bench.ask(&ask.after(outcome.answer(), &[&result], None)).await;
        assert_eq!(next.answer().text(), "ok");
        let sent = bench.provider.request(1).await.json();
        assert_eq!(sent["messages"][2]["content"], result);
        assert_eq!(sent["messages"][1]["tool_calls"][0]["function"]["arguments"], arguments);
    }
}

#[tokio::test]
async fn b138_deep_bodies_answers_and_schemas() {
    let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let body = format!(r#"{{"choices":[{{"message":{{"content":{}}},"finish_reason":"stop"}}]}}"#, deep(100_000));
    let event = format!("data: {body}\n\ndata: [DONE]\n\n");
    let text = format!(r#"{{"choices":[{{"message":{{"content":"{}"}},"finish_reason":"stop"}}]}}"#, deep(200));
    let error = format!(r#"{{"error":{}}}"#, deep(10_000));
    let script = [
        Entry::json(&body),
        Entry::events(&[&event]),
        Entry::new(400, "application/json", &[&error]),
        Entry::json(&text),
    ];
    let bench = Bench::with(script, |_| {}).await;
    assert_eq!(bench.ask(&Ask::whole()).await.failed().reason, Reason::ProviderBadAnswer);
    assert_eq!(bench.ask(&Ask::streamed()).await.failed().reason, Reason::ProviderBadAnswer);
    assert_eq!(bench.ask(&Ask::whole()).await.failed().reason, Reason::ProviderRefusedRequest);
    assert_eq!(bench.ask(&Ask::whole()).await.answer().text(), deep(200), "what a contract says of it is not ours");
    let contract = Contract::JsonSchema { name: "deep".into(), schema_json: deep(200) };
    let refused = bench.ask(&Ask { contract, ..Ask::whole() }).await;
    assert_eq!((refused.failed().reason, bench.provider.count()), (Reason::BackendUnsupported, 4));
}

#[tokio::test]
async fn b142_half_characters_are_replaced_and_said_so() {
    let bench = Bench::of("B142").await;
    let ask = Ask::whole().offering(&["w"]);
    let outcome = bench.ask(&ask).await;
    let answer = outcome.answer();
    assert_eq!(answer.text(), "ok \u{fffd} end");
    assert_eq!(answer.calls(), [("c1", "w", r#"{"t":"\ufffd"}"#)]);
    assert_eq!(answer.warnings, ["replaced_invalid_unicode"]);
    let whole = bench.ask(&ask.after(answer, &["x"], None)).await;
    assert_eq!((whole.answer().text().as_str(), whole.answer().warnings.len()), ("😀", 0));
    let sent = bench.provider.request(1).await;
    assert!(!sent.text().to_lowercase().contains(r"\ud83d"), "{}", sent.text());

    let error = format!(r#"{{"error":{{"message":"x{}"}}}}"#, "😀".repeat(10_000));
    bench.provider.script(Entry::new(400, "application/json", &[&error]));
    let message = bench.ask(&Ask::whole()).await.failed().message.clone();
    assert!(message.len() <= MAX_PROVIDER_MESSAGE && message.ends_with('😀'), "cut between characters");
}

#[tokio::test]
async fn b143_bytes_that_are_no_text_are_replaced_and_said_so() {
    let bench = Bench::of("B143").await;
    let outcome = bench.ask(&Ask::whole()).await;
    assert_eq!(outcome.answer().text(), "bad \u{fffd} byte");
    assert_eq!(outcome.answer().warnings, ["replaced_invalid_unicode"]);
    let event = b"data: {\"choices\":[{\"delta\":{\"content\":\"bad \xff byte\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    bench.provider.script(Entry::events(&[]).write(event));
    let streamed = bench.ask(&Ask::streamed()).await;
    assert_eq!((streamed.texts(), streamed.answer().warnings.len()), (vec!["bad \u{fffd} byte"], 1));
    bench.provider.script(Entry::json(DONE));
    bench.ask(&Ask::whole().after(outcome.answer(), &[], Some("again"))).await.answer();
    assert_eq!(bench.provider.request(2).await.json()["messages"][1]["content"], "bad \u{fffd} byte");
}

#[tokio::test]
async fn b145_numbers_keep_their_digits() {
    let bench = Bench::of("B145").await;
    let ask = Ask::whole().offering(&["w"]);
    let first = bench.ask(&ask).await;
    let arguments = r#"{"id":9007199254740993,"max":18446744073709551615,"neg":-9223372036854775808,"f":0.1,"z":1.0}"#;
    assert_eq!(first.answer().calls(), [("c1", "w", arguments)]);
    let ask = ask.after(first.answer(), &["{\"big\":18446744073709551616}"], None);
    let second = bench.ask(&ask).await;
    assert_eq!(second.answer().calls(), [("c2", "w", r#"{"e":1e400}"#)]);
    assert!(!second.answer().message.tool_calls().next().unwrap().arguments_invalid, "JSON sets no limit");
    let ask = ask.after(second.answer(), &["ok"], None);
    let third = bench.ask(&ask).await;
    assert_eq!(third.answer().text(), r#"{"id":9007199254740993}"#);
    let sent = bench.provider.request(2).await.json();
    assert_eq!(sent["messages"][1]["tool_calls"][0]["function"]["arguments"], arguments);
    assert_eq!(sent["messages"][2]["content"], "{\"big\":18446744073709551616}");
    assert_eq!(sent["messages"][3]["tool_calls"][0]["function"]["arguments"], r#"{"e":1e400}"#);
    assert_eq!(ask.messages.iter().filter(|message: &&Message| message.tool_calls().next().is_some()).count(), 2);
}
