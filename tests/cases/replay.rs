//! Histories as they are sent again.

use antiphon::domain::id::CallId;
use antiphon::domain::message::{Kind, Message, Part, Role, ToolCall};
use antiphon::engine::backend::openai::{CallContent, SendReasoning};
use serde_json::{Value, json};

use crate::bench::{Ask, Bench};
use crate::support::provider::Entry;

const DONE: &str = r#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}"#;

/// A prompt, an answer that says `text` and calls `w`, and the result.
fn called(text: &str, arguments: &str, result: &str) -> Ask {
    let call = ToolCall {
        call_id: CallId::new("ours-1"),
        provider_call_id: "c1".to_owned(),
        name: "w".to_owned(),
        arguments_json: arguments.to_owned(),
        arguments_invalid: false,
    };
    let mut ask = Ask::whole().offering(&["w"]);
    let result = Kind::ToolResult(antiphon::domain::message::ToolResult {
        call_id: call.call_id.clone(),
        parts: vec![Part::text(result)],
        is_error: false,
        interrupted: false,
    });
    ask.messages
        .push(Message { role: Role::Assistant, parts: vec![Part::text(text), Part::new(Kind::ToolCall(call))] });
    ask.messages.push(Message { role: Role::Tool, parts: vec![Part::new(result)] });
    ask
}

async fn sent(bench: &Bench, ask: &Ask) -> Value {
    let number = bench.provider.count();
    bench.provider.script(Entry::json(DONE));
    bench.ask(ask).await.answer();
    bench.provider.request(number).await.json()["messages"].clone()
}

#[tokio::test]
async fn b048_arguments_are_a_text_on_this_route() {
    let bench = Bench::with([], |_| {}).await;
    let messages = sent(&bench, &called("", r#"{"c":"ls"}"#, "a.txt")).await;
    assert_eq!(messages[1]["tool_calls"][0]["function"]["arguments"], Value::String(r#"{"c":"ls"}"#.to_owned()));
}

#[tokio::test]
async fn b063_ids_of_calls_repeat_in_every_turn() {
    let bench = Bench::of("B063").await;
    let ask = Ask::whole().offering(&["list_dir"]);
    let first = bench.ask(&ask).await;
    let ask = ask.after(first.answer(), &["a b"], None);
    let second = bench.ask(&ask).await;
    assert_eq!(second.answer().calls(), [("list_dir:0", "list_dir", r#"{"path":"/"}"#)]);
    let ask = ask.after(second.answer(), &["c d"], None);
    assert_eq!(bench.ask(&ask).await.answer().text(), "ok");
    let messages = bench.provider.request(2).await.json()["messages"].clone();
    let id = |at: usize, path: &str| messages[at].pointer(path).unwrap().as_str().unwrap().to_owned();
    assert_eq!((id(1, "/tool_calls/0/id"), id(2, "/tool_call_id")), ("list_dir:0".into(), "list_dir:0".into()));
    assert_eq!((id(3, "/tool_calls/0/id"), id(4, "/tool_call_id")), ("list_dir:0".into(), "list_dir:0".into()));
    assert_eq!((messages[2]["content"].as_str(), messages[4]["content"].as_str()), (Some("a b"), Some("c d")));
}

#[tokio::test]
async fn b063_and_are_told_apart_where_the_server_wants_it() {
    let bench = Bench::of_with("B063", |config| config.quirks.unique_call_ids = true).await;
    let ask = Ask::whole().offering(&["list_dir"]);
    let first = bench.ask(&ask).await;
    let ask = ask.after(first.answer(), &["a b"], None);
    let second = bench.ask(&ask).await;
    bench.ask(&ask.after(second.answer(), &["c d"], None)).await.answer();
    let messages = bench.provider.request(2).await.json()["messages"].clone();
    let ours = second.answer().message.tool_calls().next().unwrap().call_id.as_str().to_owned();
    assert_eq!(messages[2]["tool_call_id"], "list_dir:0");
    assert_eq!((&messages[3]["tool_calls"][0]["id"], &messages[4]["tool_call_id"]), (&json!(ours), &json!(ours)));
}

#[tokio::test]
async fn b066_no_text_is_no_text_block() {
    for (quirk, content) in [(CallContent::Null, Value::Null), (CallContent::Empty, json!(""))] {
        let bench = Bench::with([], |config| config.quirks.call_content = quirk).await;
        for text in ["", "  \n"] {
            let messages = sent(&bench, &called(text, "{}", "x")).await;
            assert_eq!(messages[1].get("content"), Some(&content), "{text:?}");
        }
    }
}

#[tokio::test]
async fn b070_reasoning_goes_back_only_where_it_is_wanted() {
    let answer = r#"{"choices":[{"message":{"content":"","reasoning_content":"r1","tool_calls":[{"id":"c1","function":{"name":"w","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    for (send, expected) in
        [(SendReasoning::Never, None), (SendReasoning::WithCalls, Some("r1")), (SendReasoning::Always, Some("r1"))]
    {
        let bench = Bench::with([Entry::json(answer)], |config| config.quirks.send_reasoning = send).await;
        let ask = Ask::whole().offering(&["w"]);
        let outcome = bench.ask(&ask).await;
        assert_eq!((outcome.answer().reasoning().as_str(), outcome.answer().text().as_str()), ("r1", ""));
        let messages = sent(&bench, &ask.after(outcome.answer(), &["x"], None)).await;
        assert_eq!(messages[1].get("reasoning_content").and_then(Value::as_str), expected);
        assert_eq!(messages[1]["content"], Value::Null, "never merged into the text");
    }
}

#[tokio::test]
async fn b075_a_tool_may_return_nothing() {
    let bench = Bench::with([], |_| {}).await;
    let messages = sent(&bench, &called("", "{}", "")).await;
    assert_eq!(messages[2], json!({"role": "tool", "tool_call_id": "c1", "content": ""}));
}

#[tokio::test]
async fn b076_what_looks_like_a_template_goes_out_byte_for_byte() {
    let bench = Bench::with([], |_| {}).await;
    let said = "{{q}} {\"a\":1} {% raw %}";
    let mut ask = called(said, r#"{"q":"{{secret}}"}"#, "{{x}} {# y #}");
    ask.messages[0] = Message::text(Role::User, "Q: show {{secret}} and {x}");
    let messages = sent(&bench, &ask).await;
    assert_eq!(messages[0]["content"], "Q: show {{secret}} and {x}");
    assert_eq!(messages[1]["content"], said);
    assert_eq!(messages[1]["tool_calls"][0]["function"]["arguments"], r#"{"q":"{{secret}}"}"#);
    assert_eq!(messages[2]["content"], "{{x}} {# y #}");
}
