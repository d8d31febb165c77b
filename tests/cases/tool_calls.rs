//! Tool calls in the forms in which servers send them.

use antiphon::domain::run::StopReason;
use antiphon::engine::backend::Delta;

use crate::bench::{Ask, Bench, Outcome};
use crate::support::provider::Entry;

/// The names and arguments that were told on the way, by call.
fn told(outcome: &Outcome) -> Vec<(String, String)> {
    let mut told: Vec<(String, String)> = Vec::new();
    for delta in &outcome.deltas {
        if let Delta::ToolCall { index, name, arguments_json } = delta {
            let at = *index as usize;
            told.resize(told.len().max(at + 1), Default::default());
            told[at].0.push_str(name.as_deref().unwrap_or_default());
            told[at].1.push_str(arguments_json);
        }
    }
    told
}

#[tokio::test]
async fn b017_two_calls_in_one_delta_without_an_index() {
    let bench = Bench::of("B017").await;
    let outcome = bench.ask(&Ask::streamed().offering(&["read_file", "get_time"])).await;
    let expected = [("call_a", "read_file", r#"{"path":"a"}"#), ("call_b", "get_time", r#"{"tz":"JST"}"#)];
    assert_eq!(outcome.answer().calls(), expected);
    assert_eq!(outcome.answer().stop, StopReason::ToolCalls);
    assert_eq!(told(&outcome)[1], ("get_time".to_owned(), r#"{"tz":"JST"}"#.to_owned()));
}

#[tokio::test]
async fn b019_arguments_before_the_name() {
    let bench = Bench::of("B019").await;
    let outcome = bench.ask(&Ask::streamed()).await;
    assert_eq!(outcome.answer().calls(), [("c1", "lookup", r#"{"q":"x"}"#)]);
    assert_eq!(told(&outcome), [("lookup".to_owned(), r#"{"q":"x"}"#.to_owned())]);
}

#[tokio::test]
async fn b020_names_in_pieces_and_names_repeated() {
    let bench = Bench::of("B020").await;
    for _ in 0..2 {
        let outcome = bench.ask(&Ask::streamed()).await;
        assert_eq!(outcome.answer().calls(), [("c1", "edit_existing_file", r#"{"p":1}"#)]);
        assert_eq!(told(&outcome), [("edit_existing_file".to_owned(), r#"{"p":1}"#.to_owned())]);
    }
}

#[tokio::test]
async fn b021_arguments_as_an_object() {
    let bench = Bench::of("B021").await;
    let ask = Ask::whole().offering(&["w"]);
    let outcome = bench.ask(&ask).await;
    assert_eq!(outcome.answer().calls(), [("c1", "w", r#"{"city":"Oslo","days":2}"#)]);
    bench.provider.script(Entry::json(r#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}"#));
    bench.ask(&ask.after(outcome.answer(), &["rain"], None)).await.answer();
    let sent = bench.provider.request(1).await.json();
    assert_eq!(sent["messages"][1]["tool_calls"][0]["function"]["arguments"], r#"{"city":"Oslo","days":2}"#);
}

#[tokio::test]
async fn b022_no_arguments_are_an_empty_object() {
    let bench = Bench::of("B022").await;
    for ask in [Ask::streamed(), Ask::streamed(), Ask::whole(), Ask::whole()] {
        let outcome = bench.ask(&ask).await;
        let call = outcome.answer().message.tool_calls().next().unwrap().clone();
        assert_eq!((call.name.as_str(), call.arguments_json.as_str(), call.arguments_invalid), ("now", "{}", false));
        assert_eq!(outcome.answer().stop, StopReason::ToolCalls);
    }
}

#[tokio::test]
async fn b023_broken_arguments_stay_broken() {
    let bench = Bench::of("B023").await;
    let outcome = bench.ask(&Ask::streamed()).await;
    let call = outcome.answer().message.tool_calls().next().unwrap().clone();
    assert_eq!((call.name.as_str(), call.arguments_json.as_str()), ("delete_files", r#"{"path":"/tmp/a""#));
    assert!(call.arguments_invalid);
}

#[tokio::test]
async fn b024_a_text_that_looks_like_json_is_a_text() {
    let bench = Bench::of("B024").await;
    let outcome = bench.ask(&Ask::whole()).await;
    let call = outcome.answer().message.tool_calls().next().unwrap().clone();
    assert_eq!(call.arguments_json, r#""{\"note\": \"x\", \"q\": \"y\"}""#);
    assert!(call.arguments_invalid, "it is no object, and is not unwrapped");
    let outcome = bench.ask(&Ask::whole()).await;
    let call = outcome.answer().message.tool_calls().next().unwrap().clone();
    assert_eq!(call.arguments_json, r#"{"note":"{\"a\":1}","q":"He asked \"why?\""}"#);
    assert!(!call.arguments_invalid);
}

#[tokio::test]
async fn b025_calls_count_whatever_the_word_says() {
    let bench = Bench::of("B025").await;
    let outcome = bench.ask(&Ask::streamed()).await;
    let answer = outcome.answer();
    assert_eq!((answer.stop, answer.raw.as_str()), (StopReason::ToolCalls, "stop"));
    assert_eq!(answer.calls(), [("c1", "w", "{}")]);
}

#[tokio::test]
async fn b074_a_call_to_an_undeclared_tool_is_kept_and_can_be_answered() {
    let called = r#"{"choices":[{"message":{"content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"execute_python","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let done = r#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}"#;
    let bench = Bench::with([Entry::json(called), Entry::json(done)], |_| {}).await;
    let ask = Ask::whole().offering(&["get_weather"]);
    let outcome = bench.ask(&ask).await;
    assert_eq!(outcome.answer().calls(), [("c1", "execute_python", "{}")]);
    assert_eq!(bench.ask(&ask.after(outcome.answer(), &["no such tool"], None)).await.answer().text(), "ok");
}
