//! Answers against contracts, and schemas that are none.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use serde_json::{Value, json};
use tonic::Code;
use tonic_types::StatusExt;

use crate::case::Case;
use crate::served::Served;
use crate::support::provider::Entry;
use crate::support::server::{Running, scripted};
use crate::support::{ask, look, refused, stub};

const PERSON: &str = r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#;

fn wanting(schema_json: &str, run_id: &str) -> pb::CaptureRequest {
    let form =
        pb::contract::Form::JsonSchema(pb::JsonSchemaContract { schema_json: schema_json.into(), name: "p".into() });
    ask::capture(pb::ExecutionRequest {
        contract: Some(pb::Contract { form: Some(form) }),
        ..ask::text_as(run_id, "give me JSON")
    })
}

/// An answer that ended for this reason.
fn ended(message: &Value, finish: &str) -> Entry {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30});
    Entry::json(&json!({"choices": [{"message": message, "finish_reason": finish}], "usage": usage}).to_string())
}

/// What a contract found, and the one thing that was wrong.
fn found(exchange: &pb::Exchange) -> (pb::ValidationStatus, String) {
    let validation = exchange.validation.clone().unwrap();
    let told: Vec<_> =
        validation.violations.iter().map(|wrong| format!("{}: {}", wrong.instance_path, wrong.message)).collect();
    (validation.status(), told.join("; "))
}

#[tokio::test(flavor = "multi_thread")]
async fn b107_json_in_a_fence_is_found_and_kept_as_it_was_said() {
    let data = Case::load("B107").data().clone();
    let answers: Vec<_> = data["answers"].as_array().unwrap().iter().map(|answer| answer.as_str().unwrap()).collect();
    let served = Served::with(answers.iter().map(|answer| stub::text(answer))).await;
    for answer in &answers {
        let exchange = served.capture(wanting(&data["schema"].to_string(), "")).await;
        assert_eq!((found(&exchange).0, exchange.text.as_str()), (pb::ValidationStatus::Valid, *answer));
        assert_eq!(exchange.validation.as_ref().unwrap().value_json, r#"{"name":"Rui"}"#);
        assert_eq!(exchange.observations.len(), 1);
        assert_eq!(served.inspect(&exchange.exchange_id).await, exchange);
    }
    assert_eq!(served.provider.count(), answers.len(), "one call each");
}

#[tokio::test(flavor = "multi_thread")]
async fn b109_a_cut_answer_is_told_as_cut_and_not_asked_for_again() {
    let cut = ended(&json!({"role": "assistant", "content": "{\"name\": \"Ru"}), "length");
    let served = Served::with([cut]).await;
    let exchange = served.capture(wanting(PERSON, "")).await;
    let (status, told) = found(&exchange);
    assert_eq!((status, exchange.stop_reason()), (pb::ValidationStatus::Invalid, pb::StopReason::MaxTokens));
    assert!(told.contains("cut at the limit of output tokens") && !told.contains("not JSON"), "{told}");
    assert_eq!((exchange.text.as_str(), served.provider.count()), ("{\"name\": \"Ru", 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn b110_an_empty_answer_names_the_limit_of_tokens() {
    let served = Served::of("B110").await;
    let exchange = served.capture(wanting(PERSON, "")).await;
    let (status, told) = found(&exchange);
    assert!(status == pb::ValidationStatus::Invalid && told.contains("limit of output tokens"), "{told}");
    assert!(!told.contains("line 1"), "{told}");
    let usage = exchange.usage.unwrap();
    assert_eq!((usage.output_tokens, usage.reasoning_tokens), (Some(8_000), Some(8_000)));
    assert_eq!(served.provider.count(), 1);
}

/// Where no repair is asked for, a wrong answer is a completed result that says what is wrong with it, paid for once.
#[tokio::test(flavor = "multi_thread")]
async fn b111_a_wrong_answer_is_kept_with_what_is_wrong() {
    let schema = r#"{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"]}"#;
    let message = json!({"role": "assistant", "content": "{\"answer\":\"seven\"}"});
    let served = Served::with([ended(&message, "stop"), stub::text("ok")]).await;
    let exchange = served.capture(wanting(schema, "r")).await;
    let (status, told) = found(&exchange);
    assert_eq!((status, exchange.text.as_str()), (pb::ValidationStatus::Invalid, "{\"answer\":\"seven\"}"));
    assert!(told.starts_with("/answer: ") && told.contains("integer") && !told.contains("seven"), "{told}");
    let run = look::run(&served.server, "r").await;
    assert_eq!((run.state(), run.usage.unwrap().output_tokens), (pb::RunState::Completed, Some(20)));
    served.go_on(ask::after(&exchange.exchange_id, ask::text("why?"))).await;
    let expected = ["user:\"give me JSON\"", "assistant:\"{\\\"answer\\\":\\\"seven\\\"}\"", "user:\"why?\""];
    assert_eq!(served.sent(1).await, expected, "what was said, and no instruction to correct it");
}

#[tokio::test(flavor = "multi_thread")]
async fn b114_a_reference_to_elsewhere_is_never_followed() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = Served::with([]).await;
    for target in [format!("http://{address}/s.json"), "file:///etc/passwd".to_owned(), "other.json".to_owned()] {
        for schema in [
            json!({"$ref": target}),
            json!({"type": "object", "properties": {"a": {"$ref": target}}}),
            json!({"type": "object", "$id": target, "properties": {"a": {"$ref": "#/$defs/none"}}}),
            json!({"type": "object", "properties": {"a": {"$dynamicRef": target}}}),
        ] {
            let tool = pb::Tool { input_schema_json: schema.to_string(), ..ask::tool("w") };
            let tools = Some(pb::ToolList { tools: vec![tool] });
            let offering = ask::capture(pb::ExecutionRequest { tools, ..ask::text("x") });
            for request in [wanting(&schema.to_string(), ""), offering] {
                let refusal = served.server.exchanges().capture(request).await.unwrap_err();
                refused::is(&refusal, Code::InvalidArgument, Reason::SchemaInvalid);
                assert!(!refusal.message().contains("root:"), "{refusal:?}");
            }
        }
    }
    assert_eq!(served.provider.count(), 0);
    // Whoever connected before would be in front of this connection.
    let own = tokio::net::TcpStream::connect(address).await.unwrap();
    let (_, first) = listener.accept().await.unwrap();
    assert_eq!(first, own.local_addr().unwrap(), "nobody fetched anything");
}

#[tokio::test(flavor = "multi_thread")]
async fn b115_a_schema_that_is_none_is_refused_and_any_root_is_taken() {
    let served = Served::with([]).await;
    for (schema, pointer) in
        [(r#"{"type":"strng"}"#, "/type"), (r#"{"type":"object","required":"name"}"#, "/required"), ("not JSON", "")]
    {
        let refusal = served.server.exchanges().capture(wanting(schema, "")).await.unwrap_err();
        refused::is(&refusal, Code::InvalidArgument, Reason::SchemaInvalid);
        let told = refusal.get_details_error_info().unwrap().metadata.get("pointer").cloned().unwrap_or_default();
        assert_eq!(told, pointer, "{refusal:?}");
    }
    assert_eq!(served.provider.count(), 0);
    let cases = [
        ("true", "17", pb::ValidationStatus::Valid),
        ("true", "{\"a\":[]}", pb::ValidationStatus::Valid),
        (r#"{"type":"array","items":{"type":"integer"}}"#, "[1,2]", pb::ValidationStatus::Valid),
        (r#"{"type":"array","items":{"type":"integer"}}"#, "[1,\"2\"]", pb::ValidationStatus::Invalid),
        (r#"{"anyOf":[{"type":"object"},{"type":"null"}]}"#, "null", pb::ValidationStatus::Valid),
        (r#"{"anyOf":[{"type":"object"},{"type":"null"}]}"#, "1", pb::ValidationStatus::Invalid),
    ];
    for (schema, answer, status) in cases {
        served.provider.script(stub::text(answer));
        let exchange = served.capture(wanting(schema, "")).await;
        assert_eq!((found(&exchange).0, exchange.text.as_str()), (status, answer), "{schema}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b117_a_refusal_is_an_answer_and_no_mistake_of_form() {
    let refused = ended(&json!({"role": "assistant", "content": null, "refusal": "I cannot"}), "stop");
    let filtered = ended(&json!({"role": "assistant", "content": ""}), "content_filter");
    let served = Served::with([refused, filtered]).await;
    for stop in [pb::StopReason::Refusal, pb::StopReason::ContentFilter] {
        let exchange = served.capture(wanting(PERSON, "")).await;
        let (status, told) = found(&exchange);
        assert_eq!((status, exchange.stop_reason()), (pb::ValidationStatus::Invalid, stop));
        assert!(told.contains("refused") && !told.contains("JSON"), "{told}");
    }
    assert_eq!(served.provider.count(), 2);
}

fn deep(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

/// Nothing that is nested ends the process: not an answer, not arguments, not a result, not a schema, in whatever place.
#[tokio::test(flavor = "multi_thread")]
async fn b138_depth_against_contracts_ends_one_call_at_most() {
    let nested = |depth: usize| {
        format!("{}{{\"type\":\"array\"}}{}", "{\"type\":\"array\",\"items\":".repeat(depth), "}".repeat(depth))
    };
    let served = Served::with([stub::text(&deep(100)), stub::text(&deep(200)), stub::text(&deep(100_000))]).await;
    for status in [pb::ValidationStatus::Valid, pb::ValidationStatus::Invalid, pb::ValidationStatus::Invalid] {
        let exchange = served.capture(wanting("true", "")).await;
        assert_eq!(found(&exchange).0, status);
        assert_eq!(served.inspect(&exchange.exchange_id).await.text, exchange.text);
    }
    for schema in [nested(200), deep(200), deep(100_000)] {
        let refusal = served.server.exchanges().capture(wanting(&schema, "")).await.unwrap_err();
        refused::is(&refusal, Code::InvalidArgument, Reason::SchemaInvalid);
    }
    for (depth, invalid) in [(126, false), (128, true), (100_000, true)] {
        let arguments = format!("{{\"a\":{}}}", deep(depth));
        served.provider.script(stub::calls(&[("c1", "look", &arguments)]));
        let asked = served.capture(ask::capture(stub::offering("", "x"))).await;
        let call = &asked.pending_tool_calls[0];
        assert_eq!((call.arguments_invalid, call.arguments_json == arguments), (invalid, true), "{depth}");
        served.provider.script(stub::text("ok"));
        let result = ask::result(&call.call_id, &"[".repeat(100_000));
        assert_eq!(served.go_on(ask::after_with(&asked.exchange_id, vec![result])).await.text, "ok");
    }
    served.provider.script(stub::text("still here"));
    assert_eq!(served.capture(ask::capture(ask::text("x"))).await.text, "still here");
}

#[tokio::test(flavor = "multi_thread")]
async fn b145_digits_stay_digits_through_the_store_and_the_contract() {
    let served = Served::of("B145").await;
    let text = r#"{"id":9007199254740993,"max":18446744073709551615,"neg":-9223372036854775808,"f":0.1,"z":1.0}"#;
    let schema =
        r#"{"type":"object","properties":{"id":{"type":"integer","const":9007199254740993},"z":{"type":"integer"}}}"#;
    let tool = pb::Tool { input_schema_json: schema.into(), ..ask::tool("w") };
    let tools = Some(pb::ToolList { tools: vec![tool] });
    let first = served.capture(ask::capture(pb::ExecutionRequest { tools, ..ask::text("x") })).await;
    assert_eq!(first.pending_tool_calls[0].arguments_json, text);
    assert!(first.warnings.is_empty(), "1.0 is an integer: {:?}", first.warnings);
    let answer = |asked: &pb::Exchange| {
        vec![ask::result(&asked.pending_tool_calls[0].call_id, "{\"big\":18446744073709551616}")]
    };
    let served = served.restart().await;
    let second = served.go_on(ask::after_with(&first.exchange_id, answer(&first))).await;
    assert_eq!(second.pending_tool_calls[0].arguments_json, r#"{"e":1e400}"#);
    let third = served.go_on(ask::after_with(&second.exchange_id, answer(&second))).await;
    assert_eq!(third.text, r#"{"id":9007199254740993}"#);
    let sent = served.messages(2).await;
    assert_eq!(sent[1]["tool_calls"][0]["function"]["arguments"], text);
    assert_eq!(sent[3]["tool_calls"][0]["function"]["arguments"], r#"{"e":1e400}"#);
    let exactly = |id: &str| format!(r#"{{"type":"object","properties":{{"id":{{"type":"integer","const":{id}}}}}}}"#);
    for (schema, answer, status) in [
        (exactly("9007199254740993"), r#"{"id":9007199254740993}"#, pb::ValidationStatus::Valid),
        (exactly("9007199254740992"), r#"{"id":9007199254740993}"#, pb::ValidationStatus::Invalid),
        (r#"{"properties":{"z":{"type":"integer"}}}"#.to_owned(), r#"{"z":1.0}"#, pb::ValidationStatus::Valid),
        (r#"{"properties":{"z":{"type":"integer"}}}"#.to_owned(), r#"{"z":1.5}"#, pb::ValidationStatus::Invalid),
    ] {
        served.provider.script(stub::text(answer));
        let exchange = served.capture(wanting(&schema, "")).await;
        assert_eq!((found(&exchange).0, exchange.text.as_str()), (status, answer), "{schema}");
    }
}

/// The same on a backend without any schema of its own: the check is ours.
#[tokio::test(flavor = "multi_thread")]
async fn b107_on_every_backend_alike() {
    let rules = "rules = [{ text = \"Here you go:\\n```json\\n{\\\"name\\\":\\\"Rui\\\"}\\n```\\nBye\" }]";
    let server = Running::start(scripted(rules)).await;
    let exchange = server.exchanges().capture(wanting(PERSON, "")).await.unwrap().into_inner().exchange.unwrap();
    assert_eq!(found(&exchange), (pb::ValidationStatus::Valid, String::new()));
}
