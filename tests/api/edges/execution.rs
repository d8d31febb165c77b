//! What an execution request may have: messages, parameters, variables, contracts, labels, results.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;

use super::{Edge, beyond, beyond_with, kept, nested, object, taken};
use crate::support::ask;
use crate::support::server::Running;

const NOWHERE: &str = "0190a5c1-7b1e-7000-8000-000000000000";

fn with(parameters: pb::Parameters) -> pb::ExecutionRequest {
    pb::ExecutionRequest { parameters: Some(parameters), ..ask::text("x") }
}

fn form(schema_json: String, name: String) -> pb::ExecutionRequest {
    let form = pb::contract::Form::JsonSchema(pb::JsonSchemaContract { schema_json, name });
    pb::ExecutionRequest { contract: Some(pb::Contract { form: Some(form) }), ..ask::text("x") }
}

fn labelled(key: String, value: String) -> pb::ExecutionRequest {
    pb::ExecutionRequest { labels: [(key, value)].into(), ..ask::text("x") }
}

async fn capture(server: &Running, request: pb::ExecutionRequest) -> Result<pb::CaptureResponse, tonic::Status> {
    Ok(server.exchanges().capture(ask::capture(request)).await?.into_inner())
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_request() {
    let server = Running::echo().await;
    let edges: &[Edge<pb::ExecutionRequest>] = &[
        ("request.messages", 1_024, |count| pb::ExecutionRequest {
            messages: vec![ask::user("x"); count],
            ..Default::default()
        }),
        ("request.messages[0].parts", 256, |count| pb::ExecutionRequest {
            messages: vec![pb::Message { parts: vec![ask::part("x"); count], ..ask::user("x") }],
            ..Default::default()
        }),
        ("request.parameters.stop_sequences", 16, |count| {
            with(pb::Parameters { stop_sequences: vec!["END".into(); count], ..Default::default() })
        }),
        ("request.parameters.extra_json", 65_536, |bytes| {
            with(pb::Parameters { extra_json: object(bytes), ..Default::default() })
        }),
        ("request.parameters.extra_json", 127, |levels| {
            with(pb::Parameters { extra_json: nested(levels), ..Default::default() })
        }),
        ("request.prompt.vars_json", 16_777_216, |bytes| {
            let prompt = pb::PromptInput { prompt_id: "none".into(), vars_json: object(bytes), vars: None };
            pb::ExecutionRequest { prompt: Some(prompt), ..Default::default() }
        }),
        ("request.contract.json_schema.schema_json", 262_144, |bytes| {
            let around = r#"{"description":""}"#.len();
            form(format!(r#"{{"description":"{}"}}"#, "x".repeat(bytes - around)), "n".into())
        }),
        ("request.contract.json_schema.name", 64, |characters| form("{}".into(), "n".repeat(characters))),
        ("request.labels", 64, |count| pb::ExecutionRequest {
            labels: (0..count).map(|number| (format!("k{number}"), String::new())).collect(),
            ..ask::text("x")
        }),
        (r#"request.labels["k"]"#, 255, |characters| labelled("k".into(), "é".repeat(characters))),
    ];
    kept(&server, edges, async |request| capture(&server, request).await).await;
}

/// Of a key that is too long as much is shown as a key may have.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_label() {
    let server = Running::echo().await;
    let field = format!("request.labels[{:?}]", "é".repeat(63));
    beyond(&capture(&server, labelled("é".repeat(64), "v".into())).await.unwrap_err(), &field, 63, 64);
    taken(capture(&server, labelled("é".repeat(63), "v".into())).await, &field).unwrap();
}

/// A schema that is nested too deep is no request that is too large: it cannot be used as a schema.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_schema_in_levels() {
    let server = Running::echo().await;
    let field = "request.contract.json_schema.schema_json";
    let deep = capture(&server, form(nested(65), "n".into())).await.unwrap_err();
    beyond_with(&deep, Reason::SchemaInvalid, field, 64, 65);
    taken(capture(&server, form(nested(64), "n".into())).await, field).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn of_results_and_of_an_uncaptured_run() {
    let server = Running::echo().await;
    let edges: &[Edge<pb::ContinueRequest>] = &[
        ("tool_results.results", 1_024, |count| {
            ask::after_with(NOWHERE, (0..count).map(|number| ask::result(&number.to_string(), "x")).collect())
        }),
        ("uncaptured_prefix.rendered_messages", 16_384, |count| {
            let prefix = pb::UncapturedPrefix {
                rendered_messages: vec![ask::user("x"); count],
                assistant: Some(ask::assistant("y")),
                ..Default::default()
            };
            let from = Some(pb::continue_request::From::UncapturedPrefix(prefix));
            pb::ContinueRequest { from, ..ask::after(NOWHERE, ask::text("x")) }
        }),
    ];
    kept(&server, edges, async |request| server.exchanges().r#continue(request).await).await;
    let none = server.exchanges().r#continue(ask::after_with(NOWHERE, Vec::new())).await.unwrap_err();
    beyond(&none, "tool_results.results", 1_024, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_fork() {
    let server = Running::echo().await;
    let captured = capture(&server, ask::text("x")).await.unwrap();
    let id = captured.exchange.unwrap().exchange_id;
    let of = |count: usize| ask::fork(&id, (0..count).map(|number| ask::branch(&format!("t{number}"), None)).collect());
    beyond(&server.exchanges().fork(of(65)).await.unwrap_err(), "branches", 64, 65);
    assert_eq!(server.exchanges().fork(of(64)).await.unwrap().into_inner().results.len(), 64);
}
