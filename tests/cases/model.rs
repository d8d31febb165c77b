//! A real model in place of canned answers, spoken to in each dialect that its server has: what a real server says is understood, streamed and
//! not, over several turns, with a schema and with a tool. Only where `ANTIPHON_TEST_MODEL` says where one is; `scripts/test model` starts one.

use antiphon::grpc::pb;
use serde_json::Value;

use crate::support::server::Running;
use crate::support::{ask, look, within};

/// Kinds of backends, and where their API begins on llama.cpp's server.
const KINDS: [(&str, &str); 3] = [("openai", "/v1"), ("openai-responses", "/v1"), ("anthropic", "")];

/// A server with a profile for each kind, or nothing where there is no model.
async fn server() -> Option<Running> {
    let address = std::env::var("ANTIPHON_TEST_MODEL").ok()?;
    let mut config = "default_profile = \"openai\"\n".to_owned();
    for (kind, base) in KINDS {
        config.push_str(&format!(
            "[profiles.{kind}]\nbackend = \"{kind}\"\nmodel = \"smollm2-135m-instruct\"\n\
             parameters = {{ temperature = 0, max_output_tokens = 64 }}\n\
             [backends.{kind}]\nkind = \"{kind}\"\nbase_url = \"{address}{base}\"\n"
        ));
        if kind == "anthropic" {
            config.push_str("path = \"v1/messages\"\n");
        }
    }
    Some(Running::start(config).await)
}

fn by(kind: &str, text: &str) -> pb::ExecutionRequest {
    pb::ExecutionRequest { profile_id: kind.into(), ..ask::text(text) }
}

async fn capture(server: &Running, request: pb::ExecutionRequest) -> pb::Exchange {
    let answered = server.exchanges().capture(ask::capture(request)).await.expect("the model answers");
    answered.into_inner().exchange.unwrap()
}

/// Text pieces of a stream joined, and its end.
async fn streamed(server: &Running, request: pb::ContinueRequest) -> (String, pb::Exchange) {
    use pb::stream_continue_response::Event;
    let request = pb::StreamContinueRequest { turn: Some(request) };
    let mut stream = server.exchanges().stream_continue(request).await.unwrap().into_inner();
    let (mut said, mut end) = (String::new(), None);
    while let Some(message) = within("the model", stream.message()).await.unwrap() {
        match message.event.unwrap() {
            Event::Progress(pb::Progress { event: Some(pb::progress::Event::Delta(delta)) }) => {
                if let Some(pb::delta::Delta::Text(text)) = delta.delta {
                    said.push_str(&text.text);
                }
            }
            Event::Completed(completed) => end = completed.exchange,
            _ => {}
        }
    }
    (said, end.expect("it ends"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_model_answers_in_each_dialect_whole_and_in_pieces() {
    let Some(server) = server().await else { return };
    let mut last: Option<pb::Exchange> = None;
    // One conversation through all of them, each turn on the history that the other dialects made.
    for (kind, _) in KINDS {
        let first = match &last {
            None => capture(&server, by(kind, "Name a color.")).await,
            Some(before) => {
                let request = ask::after(&before.exchange_id, by(kind, "Name another color."));
                server.exchanges().r#continue(request).await.unwrap().into_inner().exchange.unwrap()
            }
        };
        assert!(!first.text.trim().is_empty(), "{kind}: {first:?}");
        let usage = first.usage.as_ref().unwrap();
        assert!(usage.input_tokens > Some(0) && usage.output_tokens > Some(0), "{kind}: {usage:?}");
        let (said, second) = streamed(&server, ask::after(&first.exchange_id, by(kind, "And one more?"))).await;
        assert!(!said.is_empty() && said == second.text, "{kind}: {said:?} {:?}", second.text);
        assert!(second.usage.as_ref().unwrap().input_tokens > usage.input_tokens, "{kind}: {second:?}");
        last = Some(second);
    }
    assert_eq!(look::history(&server, &last.unwrap().exchange_id).await.len(), 4 * KINDS.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_model_keeps_a_schema_that_its_server_enforces() {
    let Some(server) = server().await else { return };
    let schema = r#"{"type":"object","properties":{"color":{"enum":["red","green","blue"]}},"required":["color"],"additionalProperties":false}"#;
    let form =
        pb::contract::Form::JsonSchema(pb::JsonSchemaContract { name: "color".into(), schema_json: schema.into() });
    let contract = Some(pb::Contract { form: Some(form) });
    let request = pb::ExecutionRequest { contract, ..by("openai", "Choose a color, as JSON.") };
    let exchange = capture(&server, request).await;
    assert_eq!(exchange.validation.as_ref().unwrap().status(), pb::ValidationStatus::Valid, "{exchange:?}");
    let value: Value = serde_json::from_str(&exchange.text).unwrap();
    assert!(["red", "green", "blue"].contains(&value["color"].as_str().unwrap()), "{value}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_model_calls_a_tool_that_it_must_call() {
    let Some(server) = server().await else { return };
    for kind in ["openai", "anthropic"] {
        let mut tool = ask::tool("look");
        tool.input_schema_json =
            r#"{"type":"object","properties":{"place":{"type":"string","maxLength":12}},"required":["place"]}"#.into();
        let named = pb::tool_choice::Choice::Named(pb::ToolChoiceNamed { name: "look".into() });
        let request = pb::ExecutionRequest {
            tools: Some(pb::ToolList { tools: vec![tool] }),
            tool_choice: Some(pb::ToolChoice { choice: Some(named) }),
            ..by(kind, "Look at the weather in Rome.")
        };
        let exchange = capture(&server, request).await;
        let calls: Vec<_> = exchange
            .assistant
            .as_ref()
            .unwrap()
            .parts
            .iter()
            .filter_map(|part| match &part.kind {
                Some(pb::part::Kind::ToolCall(call)) => Some(call),
                _ => None,
            })
            .collect();
        assert_eq!((calls.len(), calls[0].name.as_str(), calls[0].arguments_invalid), (1, "look", false), "{kind}");
        let results = vec![ask::result(&calls[0].call_id, "sunny")];
        let request = ask::after_with(&exchange.exchange_id, results);
        let told = server.exchanges().r#continue(request).await.unwrap().into_inner().exchange.unwrap();
        assert_eq!(told.run_id, exchange.run_id, "{kind}");
    }
}
