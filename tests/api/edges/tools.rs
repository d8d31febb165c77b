//! What tools may have, in a request and in a prompt's file, which keep the same limits.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::Status;

use super::{Edge, beyond_with, kept, nested, taken};
use crate::support::ask;
use crate::support::server::{Running, scripted};

/// A request that offers these, with the last of them changed.
fn offering(count: usize, change: impl FnOnce(&mut pb::Tool)) -> pb::ExecutionRequest {
    let mut tools: Vec<pb::Tool> = (0..count).map(|number| ask::tool(&format!("t{number}"))).collect();
    change(tools.last_mut().unwrap());
    pb::ExecutionRequest { tools: Some(pb::ToolList { tools }), ..ask::text("x") }
}

fn schema(bytes: usize) -> String {
    format!(r#"{{"description":"{}"}}"#, "x".repeat(bytes - r#"{"description":""}"#.len()))
}

async fn capture(server: &Running, request: pb::ExecutionRequest) -> Result<pb::CaptureResponse, Status> {
    Ok(server.exchanges().capture(ask::capture(request)).await?.into_inner())
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_request() {
    let server = Running::echo().await;
    let edges: &[Edge<pb::ExecutionRequest>] = &[
        ("request.tools.tools", 128, |count| offering(count, |_| {})),
        ("request.tools.tools[0].name", 64, |characters| offering(1, |tool| tool.name = "n".repeat(characters))),
        ("request.tools.tools[0].description", 16_384, |bytes| {
            offering(1, |tool| tool.description = "d".repeat(bytes))
        }),
        ("request.tools.tools[0].input_schema_json", 65_536, |bytes| {
            offering(1, |tool| tool.input_schema_json = schema(bytes))
        }),
        ("request.standing_tools.tools", 128, |count| {
            let request = offering(count, |_| {});
            pb::ExecutionRequest { standing_tools: request.tools, tools: None, ..request }
        }),
    ];
    kept(&server, edges, async |request| capture(&server, request).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_schema_in_levels() {
    let server = Running::echo().await;
    let field = "request.tools.tools[0].input_schema_json";
    let of = |levels| offering(1, |tool| tool.input_schema_json = nested(levels));
    beyond_with(&capture(&server, of(65)).await.unwrap_err(), Reason::SchemaInvalid, field, 64, 65);
    taken(capture(&server, of(64)).await, field).unwrap();
}

/// A prompt with the most of everything is offered as it is; what a file with more is told, the catalog's own tests say.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_prompt() {
    let (name, description) = ("n".repeat(64), "d".repeat(16_384));
    let mut tools = vec![format!("{{name: {name}, description: {description}, input_schema: {}}}", schema(65_536))];
    tools.extend((1..128).map(|number| format!("{{name: t{number}}}")));
    let file = format!("---\ntools: [{}]\n---\nhi\n", tools.join(", "));
    let config = format!("prompts_dir = \".\"\n{}", scripted(""));
    let server =
        Running::start_beside(config, |folder| std::fs::write(folder.join("most.prompt"), file).unwrap()).await;
    let prompt = pb::PromptInput { prompt_id: "most".into(), ..Default::default() };
    let request = pb::ExecutionRequest { prompt: Some(prompt), ..Default::default() };
    let exchange = capture(&server, request).await.unwrap().exchange.unwrap();
    let asked = pb::GetCallToolsRequest { exchange_id: exchange.exchange_id };
    let called = server.tools().get_call_tools(asked).await.unwrap().into_inner();
    let offered = called.tools.unwrap().offered.unwrap().tools;
    assert_eq!((offered.len(), offered[0].name.len(), offered[0].description.len()), (128, 64, 16_384));
    assert_eq!(offered[0].input_schema_json.len(), 65_536);
}
