//! What is read in answers.

use antiphon::domain::message::{Kind, Part};
use antiphon::domain::run::StopReason;
use antiphon::engine::backend::Delta;

use crate::bench::{Ask, Bench};
use crate::support::provider::Entry;

#[tokio::test]
async fn b009_an_empty_finish_reason_is_none() {
    let bench = Bench::of("B009").await;
    let outcome = bench.ask(&Ask::streamed()).await;
    let answer = outcome.answer();
    assert_eq!((answer.text().as_str(), answer.stop, answer.raw.as_str()), ("Hello", StopReason::Stop, "stop"));
}

#[tokio::test]
async fn b010_unknown_words_are_kept_and_harm_nobody() {
    let bench = Bench::of("B010").await;
    let outcome = bench.ask(&Ask::whole()).await;
    let answer = outcome.answer();
    assert_eq!((answer.text().as_str(), answer.stop, answer.raw.as_str()), ("ok", StopReason::Other, "eos"));
    assert_eq!(answer.tokens(), [Some(36), Some(2), Some(38)]);
}

#[tokio::test]
async fn b013_the_first_chunk_is_a_placeholder() {
    let bench = Bench::of("B013").await;
    let outcome = bench.ask(&Ask::streamed()).await;
    let answer = outcome.answer();
    assert_eq!(
        (answer.text().as_str(), answer.id.as_str(), answer.model.as_str()),
        ("Hello", "chatcmpl-az9", "gpt-real")
    );
    assert_eq!(answer.tokens(), [Some(21), Some(1), Some(22)]);
}

#[tokio::test]
async fn b015_content_as_typed_parts() {
    let bench = Bench::of("B015").await;
    let outcome = bench.ask(&Ask::streamed()).await;
    let answer = outcome.answer();
    assert_eq!((answer.text().as_str(), answer.reasoning().as_str()), ("The answer is 42.", "Okay"));
    assert_eq!(outcome.texts(), ["The answer ", "is 42."]);
    let reference = Part::new(Kind::Unknown("reference".into(), r#"{"type":"reference","reference_ids":[1]}"#.into()));
    assert!(answer.message.parts.contains(&reference), "kept for Inspect: {:?}", answer.message.parts);
}

#[tokio::test]
async fn b016_an_empty_list_is_no_call() {
    let bench = Bench::of("B016").await;
    let outcome = bench.ask(&Ask::streamed()).await;
    let answer = outcome.answer();
    assert_eq!((answer.text().as_str(), answer.reasoning().as_str()), ("Hi there", "Weigh it up."));
    assert_eq!((answer.calls(), answer.stop), (vec![], StopReason::Stop));
}

#[tokio::test]
async fn b110_nothing_but_reasoning_up_to_the_limit() {
    let bench = Bench::of("B110").await;
    let outcome = bench.ask(&Ask::whole()).await;
    let answer = outcome.answer();
    assert_eq!((answer.stop, answer.raw.as_str(), answer.text().as_str()), (StopReason::MaxTokens, "length", ""));
    assert_eq!((answer.usage.output_tokens, answer.usage.reasoning_tokens), (Some(8_000), Some(8_000)));
}

#[tokio::test]
async fn b117_a_refusal_or_a_filter_is_an_answer() {
    let refusal = r#"{"choices":[{"message":{"content":null,"refusal":"I cannot"},"finish_reason":"stop"}]}"#;
    let filtered = r#"{"choices":[{"message":{"content":""},"finish_reason":"content_filter"}]}"#;
    let bench = Bench::with([Entry::json(refusal), Entry::json(filtered)], |_| {}).await;
    let outcome = bench.ask(&Ask::whole()).await;
    let answer = outcome.answer();
    assert_eq!(answer.stop, StopReason::Refusal);
    assert_eq!(answer.message.parts, [Part::new(Kind::Refusal("I cannot".into()))]);
    let outcome = bench.ask(&Ask::whole()).await;
    assert_eq!((outcome.answer().stop, outcome.answer().text().as_str()), (StopReason::ContentFilter, ""));
}

#[tokio::test]
async fn b129_text_then_a_call() {
    let bench = Bench::of("B129").await;
    let ask = Ask::streamed().offering(&["w"]);
    let outcome = bench.ask(&ask).await;
    let answer = outcome.answer();
    let call = Delta::ToolCall { index: 0, name: Some("w".into()), arguments_json: "{}".into() };
    assert_eq!(outcome.deltas, [Delta::Text("Let me look. ".into()), call]);
    assert_eq!((answer.text().as_str(), answer.calls()), ("Let me look. ", vec![("c1", "w", "{}")]));
    assert_eq!(answer.stop, StopReason::ToolCalls);

    bench.provider.script(Entry::json(r#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}"#));
    bench.ask(&ask.after(answer, &["15"], None)).await.answer();
    let sent = bench.provider.request(1).await.json();
    assert_eq!(sent["messages"][1]["content"], "Let me look. ");
    assert_eq!(sent["messages"][1]["tool_calls"][0]["id"], "c1");
    assert_eq!(sent["messages"][2]["tool_call_id"], "c1");
}
