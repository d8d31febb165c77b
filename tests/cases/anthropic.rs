//! Anthropic Messages, from the API of this server to the bytes at the provider and back.

use std::time::SystemTime;

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::part::Kind;
use serde_json::{Value, json};
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::case::Case;
use crate::served::Served;
use crate::support::provider::{Entry, Provider};
use crate::support::server::{Running, spoken};
use crate::support::{ask, refused, stub};

const ANTHROPIC: &str = "anthropic";

async fn with(script: impl IntoIterator<Item = Entry>) -> Served {
    Served::speaking(ANTHROPIC, "/v1", script, "").await
}

async fn of(id: &str) -> Served {
    with(Case::load(id).script(SystemTime::now())).await
}

/// An answer of some blocks.
fn said(blocks: &Value, stop: &str) -> Entry {
    let message = json!({
        "id": "m1", "type": "message", "role": "assistant", "model": "stub-claude", "content": blocks,
        "stop_reason": stop, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    Entry::json(&message.to_string())
}

fn text(text: &str) -> Entry {
    said(&json!([{"type": "text", "text": text}]), "end_turn")
}

fn calls(calls: &[(&str, &str)]) -> Entry {
    let call = |(id, name): &(&str, &str)| json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    said(&calls.iter().map(call).collect(), "tool_use")
}

fn offering(text: &str) -> pb::CaptureRequest {
    ask::capture(pb::ExecutionRequest { tools: ask::tools(&["w"]), ..ask::text(text) })
}

fn results(exchange: &pb::Exchange, texts: &[&str]) -> pb::ContinueRequest {
    let ids = exchange.pending_tool_calls.iter().map(|call| call.call_id.as_str());
    ask::after_with(&exchange.exchange_id, ids.zip(texts).map(|(id, text)| ask::result(id, text)).collect())
}

async fn streamed(served: &Served, request: pb::CaptureRequest) -> (String, pb::Exchange) {
    let (said, end) = served.streamed(request).await;
    (said, end.unwrap().exchange.unwrap())
}

async fn refusal(served: &Served) -> Status {
    served.server.exchanges().capture(ask::capture(ask::text("x"))).await.unwrap_err()
}

/// What was adapted in the last call of an exchange, besides the limit of tokens, which the API demands.
fn adapted(exchange: &pb::Exchange) -> Vec<String> {
    let words = exchange.observations.last().unwrap().adaptations.iter();
    words.filter(|word| *word != "max_tokens_filled").cloned().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_goes_where_it_should_with_its_key_and_version() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "sk-ant-1\n").unwrap();
    let more = format!("api_key_file = {:?}\nquirks = {{ beta = [\"a\", \"b\"] }}\n", key.display().to_string());
    let served = Served::speaking(ANTHROPIC, "/v1", [text("hi")], &more).await;
    let exchange = served.capture(ask::capture(ask::text("Hello"))).await;
    let request = served.provider.request(0).await;
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/v1/messages"));
    let header = |name: &str| request.header(name).map(str::to_owned);
    assert_eq!((header("x-api-key"), header("authorization")), (Some("sk-ant-1".to_owned()), None));
    assert_eq!(header("anthropic-version").as_deref(), Some("2023-06-01"));
    assert_eq!(header("anthropic-beta").as_deref(), Some("a,b"));
    let expected = r#"{"model":"stub-1","max_tokens":8192,"messages":[{"role":"user","content":[{"type":"text","text":"Hello"}]}]}"#;
    assert_eq!(request.text(), expected);
    let responder = exchange.responder.clone().unwrap();
    assert_eq!((responder.api.as_str(), responder.response_model.as_str()), ("anthropic-messages", "stub-claude"));
    assert_eq!((exchange.text.as_str(), exchange.stop_reason()), ("hi", pb::StopReason::Stop));
    assert_eq!(exchange.observations[0].adaptations, ["max_tokens_filled"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn b004_figures_of_a_stream_are_running_totals() {
    let served = of("B004").await;
    let (said, exchange) = streamed(&served, ask::capture(ask::text("x"))).await;
    let usage = exchange.usage.clone().unwrap();
    assert_eq!(said, "Fine.");
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(125), Some(15)));
    assert_eq!((usage.cached_input_tokens, usage.cache_written_tokens), (Some(100), Some(0)));
    assert_eq!(served.inspect(&exchange.exchange_id).await, exchange);
}

#[tokio::test(flavor = "multi_thread")]
async fn b006_cached_tokens_are_a_part_of_the_input_here_too() {
    let script = Case::load("B006").script(SystemTime::now()).remove(1);
    let served = with([script]).await;
    let usage = served.capture(ask::capture(ask::text("x"))).await.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(3_003), Some(10)));
    assert_eq!((usage.cached_input_tokens, usage.cache_written_tokens), (Some(2_000), Some(1_000)));
}

#[tokio::test(flavor = "multi_thread")]
async fn b044_resets_of_limits_are_the_delay_and_retries_are_bounded() {
    let provider = Provider::start(Case::load("B044").script(SystemTime::now())).await;
    let retry = "retry = { attempts = 5, max_retry_after_ms = 100 }\n";
    let config = format!("default_profile = \"stub\"\n{}", spoken("stub", ANTHROPIC, &provider.base_url(), retry));
    let served = Served { provider, server: Running::start(config).await };
    let limited = refusal(&served).await;
    refused::is(&limited, Code::ResourceExhausted, Reason::ProviderRateLimited);
    let delay = limited.get_details_retry_info().unwrap().retry_delay.unwrap();
    assert!((1..=4).contains(&delay.as_secs()), "{delay:?}");
    assert_eq!((served.provider.count(), refused::fact(&limited, "provider_code").as_str()), (1, "rate_limit_error"));
}

#[tokio::test(flavor = "multi_thread")]
async fn b053_no_word_for_the_end_passes_for_a_whole_answer() {
    let served = of("B053").await;
    for (word, reason) in [
        ("refusal", pb::StopReason::Refusal),
        ("model_context_window_exceeded", pb::StopReason::MaxTokens),
        ("pause_turn", pb::StopReason::Other),
        ("zebra", pb::StopReason::Other),
    ] {
        let (said, exchange) = streamed(&served, ask::capture(ask::text("x"))).await;
        assert_eq!((said.as_str(), exchange.text.as_str()), ("Par", "Par"));
        assert_eq!((exchange.stop_reason(), exchange.stop_reason_raw.as_str()), (reason, word));
        let is_paused = exchange.warnings.iter().any(|warning| warning.code == "turn_paused");
        assert_eq!(is_paused, word == "pause_turn");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b055_pings_and_a_second_start_add_nothing() {
    let served = of("B055").await;
    let request = ask::capture(pb::ExecutionRequest { tools: ask::tools(&["now"]), ..ask::text("x") });
    let (said, exchange) = streamed(&served, request).await;
    let call = &exchange.pending_tool_calls[0];
    assert_eq!((said.as_str(), exchange.pending_tool_calls.len()), ("ok", 1));
    assert_eq!((call.name.as_str(), call.arguments_json.as_str()), ("now", "{}"));
    let usage = exchange.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(10), Some(6)));
}

#[tokio::test(flavor = "multi_thread")]
async fn b060_results_of_parallel_calls_are_one_message() {
    let served = of("B060").await;
    let asked = served.capture(offering("go")).await;
    let ids: Vec<&str> = asked.pending_tool_calls.iter().map(|call| call.call_id.as_str()).collect();
    let answers = vec![ask::result(ids[1], "two"), ask::result(ids[0], "one")];
    served.go_on(ask::after_with(&asked.exchange_id, answers)).await;
    let sent = served.messages(1).await;
    assert_eq!(sent.as_array().unwrap().len(), 3);
    let blocks = sent[2]["content"].as_array().unwrap();
    let kinds: Vec<&str> = blocks.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tool_result", "tool_result"]);
    let mut results: Vec<_> = blocks.iter().map(|block| (&block["tool_use_id"], &block["content"])).collect();
    results.sort_by_key(|(id, _)| id.to_string());
    assert_eq!(results, [(&json!("a"), &json!("one")), (&json!("b"), &json!("two"))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn b064_ids_of_another_provider_fit_and_stay_apart() {
    let (first, second) = (
        Provider::start([stub::calls(&[("a:0", "w", "{}"), ("a.0", "w", "{}")]), stub::text("ok")]),
        Provider::start([text("done")]),
    );
    let (first, second) = tokio::join!(first, second);
    let config = format!(
        "default_profile = \"open\"\n{}{}",
        spoken("open", "openai", &first.base_url(), ""),
        spoken("claude", ANTHROPIC, &second.base_url(), "")
    );
    let served = Served { provider: first, server: Running::start(config).await };
    let asked = served.capture(offering("go")).await;
    let answered = served.go_on(results(&asked, &["one", "two"])).await;
    let before = served.inspect(&asked.exchange_id).await;
    let elsewhere = pb::ExecutionRequest { profile_id: "claude".into(), ..ask::text("and?") };
    let forked = served.fork(&answered.exchange_id, "t", elsewhere).await;
    assert_eq!((forked.text.as_str(), adapted(&forked)), ("done", vec!["call_id_replaced".to_owned()]));
    let sent = second.request(0).await.json()["messages"].clone();
    let ids = |at: usize, field: &str| {
        let blocks = sent[at]["content"].as_array().unwrap();
        blocks.iter().map(|block| block[field].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(1, "id"), ids(2, "tool_use_id"));
    assert_ne!(ids(1, "id")[0], ids(1, "id")[1]);
    for id in ids(1, "id") {
        assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)), "{id}");
    }
    let stored = served.inspect(&asked.exchange_id).await;
    assert_eq!(stored, before);
    let theirs: Vec<&str> = stored.pending_tool_calls.iter().map(|call| call.provider_call_id.as_str()).collect();
    assert_eq!(theirs, ["a:0", "a.0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn b066_no_text_is_no_text_block_here_either() {
    for said_beside in ["", " \n"] {
        let blocks =
            json!([{"type": "text", "text": said_beside}, {"type": "tool_use", "id": "a", "name": "w", "input": {}}]);
        let served = with([said(&blocks, "tool_use"), text("done")]).await;
        let asked = served.capture(offering("go")).await;
        served.go_on(results(&asked, &["x"])).await;
        let sent = served.messages(1).await;
        assert_eq!(sent[1]["content"], json!([{"type": "tool_use", "id": "a", "name": "w", "input": {}}]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b067_signed_thinking_survives_a_tool_turn_and_a_restart() {
    let script = Case::load("B067").script(SystemTime::now()).into_iter().chain([text("done"), text("again")]);
    let served = with(script).await;
    let (_, asked) = streamed(&served, offering("go")).await;
    let kinds: Vec<bool> = asked
        .assistant
        .as_ref()
        .unwrap()
        .parts
        .iter()
        .map(|part| matches!(part.kind, Some(Kind::Reasoning(_))))
        .collect();
    assert_eq!(kinds, [true, true, true, false]);
    let served = served.restart().await;
    let done = served.go_on(results(&asked, &["x"])).await;
    let blocks = concat!(
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Let me look","signature":"c2ln"},"#,
        r#"{"type":"redacted_thinking","data":"cmVk"},{"type":"thinking","thinking":"","signature":"c2lnMg=="},"#,
        r#"{"type":"tool_use","id":"toolu_1","name":"w","input":{}}]}"#,
    );
    let request = served.provider.request(1).await;
    assert!(request.text().contains(blocks), "{}", request.text());
    let other = pb::ExecutionRequest { model: "stub-2".into(), ..ask::text("and?") };
    let again = served.fork(&done.exchange_id, "t", other).await;
    assert_eq!(adapted(&again), ["foreign_reasoning_dropped"]);
    let request = served.provider.request(2).await;
    assert!(!request.text().contains("c2ln") && !request.text().contains("thinking"), "{}", request.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn b073_no_history_of_tools_goes_out_without_tools() {
    let served = with([calls(&[("a", "w")]), text("one"), text("two")]).await;
    let asked = served.capture(offering("go")).await;
    let done = served.go_on(results(&asked, &["x"])).await;
    let tools = |number| {
        let provider = &served.provider;
        async move { provider.request(number).await.json()["tools"].clone() }
    };
    assert!(tools(0).await.is_array());
    assert_eq!(tools(0).await, tools(1).await, "they are inherited");
    let none = pb::ExecutionRequest { tools: Some(pb::ToolList::default()), ..ask::text("and?") };
    let last = served.go_on(ask::after(&done.exchange_id, none)).await;
    let sent = served.provider.request(2).await.json();
    assert_eq!(sent["tools"], json!([{"name": "w", "input_schema": {"type": "object", "properties": {}}}]));
    assert_eq!(sent["tool_choice"], json!({"type": "none"}));
    assert_eq!(adapted(&last), ["history_tools_named"]);
    let shorter = served.provider.request(1).await.json()["messages"].clone();
    let shorter = shorter.as_array().unwrap();
    assert_eq!(sent["messages"].as_array().unwrap()[..shorter.len()], shorter[..]);
    for (id, offered) in [(&done.exchange_id, 1), (&last.exchange_id, 0)] {
        let tools = served.inspect(id).await.tools.unwrap_or_default().offered.unwrap_or_default();
        assert_eq!(tools.tools.len(), offered);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b117_a_refusal_is_an_answer_here_too() {
    let served =
        with([said(&json!([{"type": "text", "text": "I cannot"}]), "refusal"), said(&json!([]), "refusal")]).await;
    for text in ["I cannot", ""] {
        let schema = pb::JsonSchemaContract { schema_json: r#"{"type":"object"}"#.into(), name: "p".into() };
        let contract = pb::Contract { form: Some(pb::contract::Form::JsonSchema(schema)) };
        let request = pb::ExecutionRequest { contract: Some(contract), ..ask::text("x") };
        let exchange = served.capture(ask::capture(request)).await;
        let validation = exchange.validation.clone().unwrap();
        assert_eq!((exchange.stop_reason(), exchange.text.as_str()), (pb::StopReason::Refusal, text));
        assert_eq!(validation.status(), pb::ValidationStatus::Invalid);
        let told = format!("{validation:?}");
        assert!(told.contains("refused") && !told.contains("not JSON"), "{told}");
    }
    assert_eq!(served.provider.count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn b140_a_character_cut_between_reads_of_this_dialect() {
    let start =
        r#"{"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}"#;
    let block = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let delta = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"你好，世界"}}"#;
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#;
    let whole: String =
        [start, block, delta, end, r#"{"type":"message_stop"}"#].map(|data| format!("data: {data}\n\n")).concat();
    let cut = whole.find('好').unwrap() + 1;
    let entry = Entry::events(&[]).write(&whole.as_bytes()[..cut]).write(&whole.as_bytes()[cut..]);
    let served = with([entry]).await;
    let (said, exchange) = streamed(&served, ask::capture(ask::text("x"))).await;
    assert_eq!((said.as_str(), exchange.text.as_str()), ("你好，世界", "你好，世界"));
    assert_eq!(served.inspect(&exchange.exchange_id).await.text, "你好，世界");
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_told_as_what_they_are() {
    let error = |status: u16, kind: &str, message: &str| {
        let body = json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "r"}).to_string();
        Entry::new(status, "application/json", &[&body])
    };
    for (entry, code, reason) in [
        (error(529, "overloaded_error", "Overloaded"), Code::Unavailable, Reason::ProviderUnavailable),
        (
            error(429, "rate_limit_error", "slow").header("retry-after", "7"),
            Code::ResourceExhausted,
            Reason::ProviderRateLimited,
        ),
        (
            error(401, "authentication_error", "invalid x-api-key"),
            Code::FailedPrecondition,
            Reason::ProviderRefusedCredential,
        ),
        (
            error(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
            Code::FailedPrecondition,
            Reason::ContextOverflow,
        ),
        (
            error(413, "request_too_large", "Request exceeds the maximum size"),
            Code::InvalidArgument,
            Reason::ProviderRefusedRequest,
        ),
    ] {
        let served = with([entry]).await;
        let failed = refusal(&served).await;
        refused::is(&failed, code, reason);
        assert_eq!(served.provider.count(), 1);
    }
    // An error in the middle of a stream, whose status was a success.
    let start =
        r#"{"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}"#;
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let events = format!("event: message_start\ndata: {start}\n\nevent: error\ndata: {overloaded}\n\n");
    let served = with([Entry::events(&[&events])]).await;
    let (_, end) = served.streamed(ask::capture(ask::text_as("r", "x"))).await;
    let failed = end.unwrap_err();
    refused::is(&failed, Code::Unavailable, Reason::ProviderUnavailable);
    assert!(failed.message().contains("Overloaded"), "{failed:?}");
    let run = crate::support::look::run(&served.server, "r").await;
    assert_eq!(run.observations[0].usage.clone().unwrap().input_tokens, Some(9), "what it consumed is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_ends_before_its_message_does_is_no_answer() {
    let start = r#"{"type":"message_start","message":{"id":"m","content":[]}}"#;
    let block = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hal"}}"#;
    let served = with([Entry::events(&[&format!("data: {start}\n\ndata: {block}\n\n")])]).await;
    let (said, end) = served.streamed(ask::capture(ask::text("x"))).await;
    assert_eq!(said, "Hal");
    refused::is(&end.unwrap_err(), Code::Unavailable, Reason::ProviderBadAnswer);
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_send_the_very_bytes_of_their_parent_first() {
    let thinking = json!([{"type": "thinking", "thinking": "Hm", "signature": "c2ln"}, {"type": "tool_use", "id": "a", "name": "w", "input": {}}]);
    let served = with([said(&thinking, "tool_use"), text("one"), text("two"), text("three")]).await;
    let asked = served.capture(offering("go")).await;
    let done = served.go_on(results(&asked, &["x"])).await;
    for (thread, text) in [("t1", "left"), ("t2", "right")] {
        served.fork(&done.exchange_id, thread, ask::text(text)).await;
    }
    let body = |number| {
        let provider = &served.provider;
        async move { provider.request(number).await.text().to_owned() }
    };
    let parent = body(1).await;
    let parent = parent.strip_suffix("]}").unwrap();
    let (left, right) = (body(2).await, body(3).await);
    let answer = r#",{"role":"assistant","content":[{"type":"text","text":"one"}]},{"role":"user","content":[{"type":"text","text":""#;
    for (fork, said) in [(&left, "left"), (&right, "right")] {
        assert_eq!(fork.strip_prefix(parent).unwrap(), format!("{answer}{said}\"}}]}}]}}"));
    }
}
