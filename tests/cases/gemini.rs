//! Google Gemini, from the API of this server to the bytes at the provider and back.

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
use crate::support::{ask, refused};

const GEMINI: &str = "gemini";

async fn with(script: impl IntoIterator<Item = Entry>) -> Served {
    Served::speaking(GEMINI, "/v1", script, "").await
}

async fn of(id: &str) -> Served {
    with(Case::load(id).script(SystemTime::now())).await
}

/// An answer of some parts.
fn said(parts: &Value) -> Entry {
    let candidate = json!({"content": {"role": "model", "parts": parts}, "finishReason": "STOP"});
    Entry::json(&json!({"candidates": [candidate], "modelVersion": "stub-g"}).to_string())
}

fn text(text: &str) -> Entry {
    said(&json!([{"text": text}]))
}

fn offering(text: &str) -> pb::CaptureRequest {
    ask::capture(pb::ExecutionRequest { tools: ask::tools(&["w"]), ..ask::text(text) })
}

fn results(exchange: &pb::Exchange, texts: &[&str]) -> pb::ContinueRequest {
    let ids = exchange.pending_tool_calls.iter().map(|call| call.call_id.as_str());
    ask::after_with(&exchange.exchange_id, ids.zip(texts).map(|(id, text)| ask::result(id, text)).collect())
}

async fn contents(served: &Served, number: usize) -> Value {
    served.provider.request(number).await.json()["contents"].clone()
}

async fn refusal(served: &Served, request: pb::CaptureRequest) -> Status {
    served.server.exchanges().capture(request).await.unwrap_err()
}

fn figures(exchange: &pb::Exchange) -> [Option<u64>; 4] {
    let usage = exchange.usage.clone().unwrap();
    [usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.total_tokens]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_goes_where_it_should_with_its_key_in_a_header() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "goog-1\n").unwrap();
    let more = format!("api_key_file = {:?}\n", key.display().to_string());
    let chunk = r#"{"candidates":[{"content":{"parts":[{"text":"ho"}]},"finishReason":"STOP"}]}"#;
    let script = [text("hi"), Entry::events(&[&format!("data: {chunk}\n\n")])];
    let served = Served::speaking(GEMINI, "/v1", script, &more).await;
    let exchange = served.capture(ask::capture(ask::text("Hello"))).await;
    let (said, _) = served.streamed(ask::capture(ask::text("Hello"))).await;
    for (number, target) in
        [(0, "/v1/models/stub-1:generateContent"), (1, "/v1/models/stub-1:streamGenerateContent?alt=sse")]
    {
        let request = served.provider.request(number).await;
        assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", target));
        assert_eq!((request.header("x-goog-api-key"), request.header("authorization")), (Some("goog-1"), None));
        assert_eq!(request.text(), r#"{"contents":[{"role":"user","parts":[{"text":"Hello"}]}]}"#);
    }
    let responder = exchange.responder.clone().unwrap();
    assert_eq!((responder.api.as_str(), responder.response_model.as_str()), ("gemini", "stub-g"));
    assert_eq!((exchange.text.as_str(), exchange.stop_reason(), said.as_str()), ("hi", pb::StopReason::Stop, "ho"));
    assert_eq!(exchange.observations[0].adaptations, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_leads_to_no_other_address() {
    let served = with([]).await;
    let request = pb::ExecutionRequest { model: "../../v2/x".into(), ..ask::text("x") };
    let refused = refusal(&served, ask::capture(request)).await;
    refused::is(&refused, Code::InvalidArgument, Reason::BackendUnsupported);
    assert_eq!((refused::fact(&refused, "feature").as_str(), served.provider.count()), ("model", 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn b007_thoughts_and_prompts_of_tools_are_counted() {
    let served = of("B007").await;
    for expected in [[Some(15), Some(53), Some(52), Some(68)], [Some(800), Some(130), Some(10), Some(930)]] {
        assert_eq!(figures(&served.capture(ask::capture(ask::text("x"))).await), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b049_calls_without_ids_or_arguments_are_told_apart() {
    let script = Case::load("B049").script(SystemTime::now()).into_iter().chain([text("done")]);
    let served = with(script).await;
    let asked = served.capture(offering("go")).await;
    let calls = &asked.pending_tool_calls;
    assert_eq!(asked.stop_reason(), pb::StopReason::ToolCalls);
    let made: Vec<_> = calls.iter().map(|call| (call.name.as_str(), call.arguments_json.as_str())).collect();
    assert_eq!(made, [("get_palette", "{}"), ("open_page", r#"{"id":"A"}"#), ("open_page", r#"{"id":"B"}"#)]);
    let ids: std::collections::BTreeSet<_> = calls.iter().map(|call| &call.call_id).collect();
    assert_eq!(ids.len(), 3);
    // Where there are no ids, a result is known by its place: it goes out in that of its call, however it was given.
    let given = [(2, "b"), (0, "p"), (1, "a")].map(|(at, text)| ask::result(&calls[at].call_id, text));
    let done = served.go_on(ask::after_with(&asked.exchange_id, given.to_vec())).await;
    assert_eq!(done.observations[0].adaptations, ["tool_results_reordered", "tool_result_wrapped"]);
    let sent = contents(&served, 1).await;
    let answer = |name: &str, output: &str| json!({"functionResponse": {"name": name, "response": {"output": output}}});
    assert_eq!(
        sent[2],
        json!({"role": "user", "parts": [answer("get_palette", "p"), answer("open_page", "a"), answer("open_page", "b")]})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn b050_an_answer_without_parts_is_what_its_word_says() {
    let served = of("B050").await;
    let malformed = refusal(&served, ask::capture(ask::text_as("r", "x"))).await;
    refused::is(&malformed, Code::Unavailable, Reason::ProviderBadAnswer);
    assert_eq!(refused::fact(&malformed, "provider_code"), "MALFORMED_FUNCTION_CALL");
    let run = crate::support::look::run(&served.server, "r").await;
    let spent = run.observations[0].usage.clone().unwrap();
    assert_eq!((spent.input_tokens, spent.output_tokens, spent.total_tokens), (Some(5), Some(2), Some(7)));
    for reason in [pb::StopReason::MaxTokens, pb::StopReason::ContentFilter] {
        let exchange = served.capture(ask::capture(ask::text("x"))).await;
        assert_eq!((exchange.stop_reason(), exchange.text.as_str()), (reason, ""));
        assert_eq!(figures(&exchange), [Some(5), Some(2), None, Some(7)]);
    }
    let empty = refusal(&served, ask::capture(ask::text("x"))).await;
    refused::is(&empty, Code::Unavailable, Reason::ProviderBadAnswer);
    assert!(empty.message().contains("empty answer"), "{empty:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn b052_thoughts_are_apart_and_the_last_signature_goes_back() {
    let served = of("B052").await;
    let (said, end) = served.streamed(ask::capture(ask::text("2+2?"))).await;
    let first = end.unwrap().exchange.unwrap();
    assert_eq!((said.as_str(), first.text.as_str()), ("4", "4"));
    let reasoning = first.assistant.as_ref().unwrap().parts.iter().find_map(|part| match &part.kind {
        Some(Kind::Reasoning(reasoning)) => Some(reasoning.text.clone()),
        _ => None,
    });
    assert_eq!(reasoning.as_deref(), Some("Adding two and two."));
    served.go_on(ask::after(&first.exchange_id, ask::text("sure?"))).await;
    let expected = json!({"role": "model", "parts": [
        {"text": "Adding two and two.", "thought": true}, {"text": "4"}, {"text": "", "thoughtSignature": "U0lHLTE="},
    ]});
    assert_eq!(contents(&served, 1).await[1], expected);
    let other = pb::ExecutionRequest { model: "stub-2".into(), ..ask::text("sure?") };
    served.provider.script(text("yes"));
    served.fork(&first.exchange_id, "t", other).await;
    assert_eq!(contents(&served, 2).await[1], json!({"role": "model", "parts": [{"text": "4"}]}));
}

#[tokio::test(flavor = "multi_thread")]
async fn b069_the_signature_of_a_call_goes_back_in_its_part() {
    let served = of("B069").await;
    let asked = served.capture(offering("go")).await;
    let served = served.restart().await;
    served.go_on(results(&asked, &["x"])).await;
    let expected =
        json!({"role": "model", "parts": [{"functionCall": {"name": "w", "args": {}}, "thoughtSignature": "QUFB"}]});
    assert_eq!(contents(&served, 1).await[1], expected);
    // A refusal that will not heal by repetition is not repeated, though more attempts are allowed.
    let refused = r#"{"error":{"code":400,"message":"Function call is missing a thought_signature","status":"INVALID_ARGUMENT"}}"#;
    let provider = Provider::start([Entry::new(400, "application/json", &[refused])]).await;
    let config = format!("default_profile = \"stub\"\n{}", spoken("stub", GEMINI, &provider.base_url(), ""));
    let served = Served { provider, server: Running::start(config).await };
    let failed = refusal(&served, ask::capture(ask::text("x"))).await;
    refused::is(&failed, Code::InvalidArgument, Reason::ProviderRefusedRequest);
    assert_eq!((refused::fact(&failed, "provider_code").as_str(), served.provider.count()), ("INVALID_ARGUMENT", 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn b075_an_empty_result_is_an_object() {
    let served = with([said(&json!([{"functionCall": {"name": "w", "args": {}, "id": "i"}}])), text("done")]).await;
    let asked = served.capture(offering("go")).await;
    let done = served.go_on(results(&asked, &[""])).await;
    let expected =
        json!({"role": "user", "parts": [{"functionResponse": {"id": "i", "name": "w", "response": {"output": ""}}}]});
    assert_eq!(contents(&served, 1).await[2], expected);
    assert_eq!(done.observations[0].adaptations, ["tool_result_wrapped"]);
}

/// A tool with this schema is offered; gives what went out as its parameters.
async fn parameters(more: &str, schema: &str) -> Result<Value, Status> {
    let served = Served::speaking(GEMINI, "/v1", [text("x")], more).await;
    let tool = pb::Tool { input_schema_json: schema.to_owned(), ..ask::tool("w") };
    let tools = Some(pb::ToolList { tools: vec![tool] });
    let request = ask::capture(pb::ExecutionRequest { tools, ..ask::text("x") });
    served.server.exchanges().capture(request).await.inspect_err(|_| assert_eq!(served.provider.count(), 0))?;
    let sent = served.provider.request(0).await.json()["tools"][0]["functionDeclarations"][0].clone();
    let field = ["parameters", "parametersJsonSchema"].into_iter().find_map(|field| sent.get(field));
    Ok(field.unwrap().clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn b113_schemas_go_out_whole_or_converted_or_are_refused() {
    let openapi = "quirks = { schemas = \"openapi\" }\n";
    let referring = r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"number"}}}"##;
    let inlined = json!({"type": "object", "properties": {"a": {"type": "number"}}});
    assert_eq!(parameters("", referring).await.unwrap(), serde_json::from_str::<Value>(referring).unwrap());
    assert_eq!(parameters(openapi, referring).await.unwrap(), inlined);
    let tree = r##"{"type":"object","properties":{"child":{"$ref":"#"}},"additionalProperties":false}"##;
    assert_eq!(parameters("", tree).await.unwrap(), serde_json::from_str::<Value>(tree).unwrap());
    let refused = parameters(openapi, tree).await.unwrap_err();
    refused::is(&refused, Code::InvalidArgument, Reason::BackendUnsupported);
    assert_eq!(refused::fact(&refused, "feature"), "tools.input_schema_json");
    let named = r#"{"type":"object","properties":{"ref":{"type":"string"},"const":{"type":"string"},"$ref":{"type":"string"}}}"#;
    for more in ["", openapi] {
        assert_eq!(parameters(more, named).await.unwrap(), serde_json::from_str::<Value>(named).unwrap());
    }
    let served = with([said(&json!([{"functionCall": {"name": "w"}}])), text("done")]).await;
    let asked = served.capture(offering("go")).await;
    served.go_on(results(&asked, &[r##"{"$ref":"#/x"}"##])).await;
    let response = &contents(&served, 1).await[2]["parts"][0]["functionResponse"]["response"];
    assert_eq!(response, &json!({"$ref": "#/x"}), "data is sent as data");
}

#[tokio::test(flavor = "multi_thread")]
async fn b140_a_character_cut_between_reads_of_this_dialect() {
    let chunk = r#"{"candidates":[{"content":{"parts":[{"text":"你好，世界"}]},"finishReason":"STOP"}]}"#;
    let whole = format!("data: {chunk}\r\n\r\n");
    let cut = whole.find('好').unwrap() + 1;
    let entry = Entry::events(&[]).write(&whole.as_bytes()[..cut]).write(&whole.as_bytes()[cut..]);
    let served = with([entry]).await;
    let (said, end) = served.streamed(ask::capture(ask::text("x"))).await;
    let exchange = end.unwrap().exchange.unwrap();
    assert_eq!((said.as_str(), exchange.text.as_str()), ("你好，世界", "你好，世界"));
    assert_eq!(served.inspect(&exchange.exchange_id).await.text, "你好，世界");
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_told_as_what_they_are() {
    let limited = r#"{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}"#;
    let unknown_key = r#"[{"error":{"code":400,"message":"API key not valid","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}]"#;
    let too_long = r#"{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8).","status":"INVALID_ARGUMENT"}}"#;
    let busy = r#"{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}"#;
    for (status, body, code, reason) in [
        (429, limited, Code::ResourceExhausted, Reason::ProviderRateLimited),
        (400, unknown_key, Code::FailedPrecondition, Reason::ProviderRefusedCredential),
        (400, too_long, Code::FailedPrecondition, Reason::ContextOverflow),
        (503, busy, Code::Unavailable, Reason::ProviderUnavailable),
        (200, busy, Code::Unavailable, Reason::ProviderUnavailable),
    ] {
        let served = with([Entry::new(status, "application/json", &[body])]).await;
        let failed = refusal(&served, ask::capture(ask::text("x"))).await;
        refused::is(&failed, code, reason);
        if reason == Reason::ProviderRateLimited {
            let delay = failed.get_details_retry_info().unwrap().retry_delay.unwrap();
            assert_eq!(delay.as_millis(), 34_500);
        }
    }
    let blocked =
        r#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":5,"totalTokenCount":5}}"#;
    let served = with([Entry::json(blocked)]).await;
    let exchange = served.capture(ask::capture(ask::text("x"))).await;
    assert_eq!((exchange.stop_reason(), exchange.stop_reason_raw.as_str()), (pb::StopReason::ContentFilter, "SAFETY"));
    assert_eq!(exchange.warnings[0].code, "prompt_blocked");
}

/// Without `alt=sse` the API sends its chunks as one list.
#[tokio::test(flavor = "multi_thread")]
async fn chunks_in_a_list_are_one_answer() {
    let chunk =
        |text: &str, rest: &str| format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{text}"}}]}}{rest}}}]}}"#);
    let list = format!("[{}\n,{}]", chunk("a", ""), chunk("b", r#","finishReason":"STOP""#));
    let served = with([Entry::json(&list)]).await;
    let (said, end) = served.streamed(ask::capture(ask::text("x"))).await;
    assert_eq!((said.as_str(), end.unwrap().exchange.unwrap().text.as_str()), ("ab", "ab"));
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_send_the_very_bytes_of_their_parent_first() {
    let signed = json!([{"functionCall": {"name": "w", "args": {}}, "thoughtSignature": "QUFB"}]);
    let served = with([said(&signed), text("one"), text("two"), text("three")]).await;
    let asked = served.capture(offering("go")).await;
    let done = served.go_on(results(&asked, &["x"])).await;
    for (thread, text) in [("t1", "left"), ("t2", "right")] {
        served.fork(&done.exchange_id, thread, ask::text(text)).await;
    }
    let parent = served.provider.request(1).await.text().strip_suffix("]}").unwrap().to_owned();
    for (number, said) in [(2, "left"), (3, "right")] {
        let fork = served.provider.request(number).await.text().to_owned();
        let more = format!(
            r#",{{"role":"model","parts":[{{"text":"one"}}]}},{{"role":"user","parts":[{{"text":"{said}"}}]}}]}}"#
        );
        assert_eq!(fork.strip_prefix(&parent).unwrap(), more);
    }
}
