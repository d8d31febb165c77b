//! What is refused before any work: each by its reason, with the field, the facts and the way out.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use prost::Message as _;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::support::provider::Provider;
use crate::support::server::{Running, openai, scripted};
use crate::support::{ask, refused};
use crate::{look, raw};

const NOWHERE: &str = "0190a5c1-7b1e-7000-8000-000000000000";

const GREETING: &str = "---\nid: greeting\ndescription: Greets.\nvariables:\n  - name: name\n    type: string\n  - name: tone\n    \
                        required: false\n---\nsystem:\nBe {{ tone or \"plain\" }}.\n\nuser:\nGreet {{ name }}.\n";

/// A server with a prompt and a contract, and a backend that nothing may reach.
async fn configured() -> (Provider, Running, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("greeting.prompt.md"), GREETING).unwrap();
    let provider = Provider::start([]).await;
    let config = format!(
        "prompts_dir = {:?}\n{}[contracts.verdict]\nschema = '{{\"type\":\"object\"}}'\n",
        folder.path().display().to_string(),
        openai(&provider.base_url())
    );
    (provider, Running::start(config).await, folder)
}

async fn refusal(server: &Running, request: pb::ExecutionRequest) -> Status {
    server.exchanges().capture(ask::capture(request)).await.unwrap_err()
}

fn prompt(prompt_id: &str, vars_json: &str) -> pb::ExecutionRequest {
    let prompt = pb::PromptInput { prompt_id: prompt_id.into(), vars_json: vars_json.into(), vars: None };
    pb::ExecutionRequest { prompt: Some(prompt), ..Default::default() }
}

fn contract(form: pb::contract::Form) -> pb::ExecutionRequest {
    pb::ExecutionRequest { contract: Some(pb::Contract { form: Some(form) }), ..ask::text("x") }
}

/// Prompts, contracts, profiles and schemas that are not usable: each names what is known.
#[tokio::test(flavor = "multi_thread")]
async fn configured_things_that_are_not_there() {
    let (provider, server, _folder) = configured().await;
    let unknown = refusal(&server, prompt("greting", "")).await;
    refused::is(&unknown, Code::InvalidArgument, Reason::PromptUnknown);
    assert_eq!(
        (refused::fact(&unknown, "prompt_id"), refused::fact(&unknown, "known_prompts")),
        ("greting".into(), "greeting".into())
    );
    assert!(unknown.message().contains("did you mean `greeting`"), "{unknown:?}");
    let missing = refusal(&server, prompt("greeting", "{\"nmae\":\"Ann\"}")).await;
    refused::is(&missing, Code::InvalidArgument, Reason::PromptVariables);
    let facts = ["prompt_id", "missing", "unknown"].map(|key| refused::fact(&missing, key));
    assert_eq!(facts, ["greeting", "name", "nmae"]);
    let unused = refusal(&server, prompt("greeting", "{\"name\":\"Ann\",\"more\":1}")).await;
    refused::is(&unused, Code::InvalidArgument, Reason::PromptVariables);
    assert_eq!(refused::fact(&unused, "unknown"), "more");
    let named = pb::contract::Form::Named(pb::NamedContract { contract_id: "verdit".into() });
    let unknown = refusal(&server, contract(named)).await;
    refused::is(&unknown, Code::InvalidArgument, Reason::ContractUnknown);
    let facts = ["contract_id", "known_contracts"].map(|key| refused::fact(&unknown, key));
    assert_eq!(facts, ["verdit", "json,text,verdict"]);
    let profile = refusal(&server, pb::ExecutionRequest { profile_id: "stbu".into(), ..ask::text("x") }).await;
    refused::is(&profile, Code::InvalidArgument, Reason::ProfileUnknown);
    assert_eq!(
        (refused::fact(&profile, "profile_id"), refused::fact(&profile, "known_profiles")),
        ("stbu".into(), "stub".into())
    );
    for schema in ["{\"type\":\"nonsense\"}", "not json", "{\"$ref\":\"https://example.com/x.json\"}"] {
        let form =
            pb::contract::Form::JsonSchema(pb::JsonSchemaContract { schema_json: schema.into(), name: "v".into() });
        let unusable = refusal(&server, contract(form)).await;
        refused::is(&unusable, Code::InvalidArgument, Reason::SchemaInvalid);
        assert_eq!(refused::fact(&unusable, "field"), "request.contract.json_schema.schema_json", "{unusable:?}");
        let tool = pb::Tool { input_schema_json: schema.into(), ..ask::tool("look") };
        let tools = pb::ExecutionRequest { tools: Some(pb::ToolList { tools: vec![tool] }), ..ask::text("x") };
        let unusable = refusal(&server, tools).await;
        refused::is(&unusable, Code::InvalidArgument, Reason::SchemaInvalid);
        assert_eq!(refused::fact(&unusable, "field"), "request.tools.tools[0].input_schema_json", "{unusable:?}");
    }
    assert_eq!(provider.count(), 0);
    assert!(look::runs(&server).await.is_empty(), "what is refused before the claim leaves no run");
}

/// Without a default profile, one must be named.
#[tokio::test(flavor = "multi_thread")]
async fn no_profile() {
    let server = Running::start(scripted("").replace("default_profile", "# default_profile")).await;
    let missing = refusal(&server, ask::text("x")).await;
    refused::is(&missing, Code::InvalidArgument, Reason::ProfileMissing);
    assert_eq!(refused::fact(&missing, "known_profiles"), "canned");
}

/// What a dialect cannot say is refused by name, and nobody is called.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_backend_cannot_do() {
    let (provider, server, _folder) = configured().await;
    let parameters = pb::Parameters { extra_json: "{\"messages\":[]}".into(), ..Default::default() };
    let request = pb::ExecutionRequest { parameters: Some(parameters), ..ask::text_as("r", "x") };
    let unsupported = refusal(&server, request).await;
    refused::is(&unsupported, Code::InvalidArgument, Reason::BackendUnsupported);
    assert_eq!(refused::fact(&unsupported, "backend_id"), "stub");
    assert_eq!(refused::fact(&unsupported, "feature"), "extra_json.messages");
    assert_eq!(provider.count(), 0);
}

/// Ids of nothing, foreign ones and malformed ones, by every verb that takes one.
#[tokio::test(flavor = "multi_thread")]
async fn ids_of_nothing() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    let x = || ask::text("x");
    let unknown = [
        client.inspect(ask::inspect(NOWHERE)).await.unwrap_err(),
        client.r#continue(ask::after(NOWHERE, x())).await.unwrap_err(),
        client.r#continue(ask::after_with(NOWHERE, vec![ask::result("c", "x")])).await.unwrap_err(),
        client.fork(ask::fork(NOWHERE, vec![])).await.unwrap_err(),
        client.probe(ask::probe(NOWHERE, x())).await.unwrap_err(),
        client.stream_inspect(pb::StreamInspectRequest { exchange_id: NOWHERE.into(), history: 0 }).await.unwrap_err(),
    ];
    for status in &unknown {
        refused::is(status, Code::NotFound, Reason::ExchangeNotFound);
        let resource = status.get_details_resource_info().unwrap();
        assert_eq!((resource.resource_type.as_str(), resource.resource_name.as_str()), ("exchange", NOWHERE));
        assert!(!status.get_details_request_info().unwrap().request_id.is_empty());
    }
    let thread = client.r#continue(ask::on_thread(ask::on("nope"), x())).await.unwrap_err();
    refused::is(&thread, Code::NotFound, Reason::ThreadNotFound);
    let malformed = client.inspect(ask::inspect("nope")).await.unwrap_err();
    refused::is(&malformed, Code::InvalidArgument, Reason::InvalidFields);
    assert_eq!(refused::fields(&malformed), ["exchange_id"]);
    let malformed = client.r#continue(ask::on_thread(ask::on("no spaces"), x())).await.unwrap_err();
    assert_eq!(refused::fields(&malformed), ["thread.thread_id"]);
}

/// Rule 10: numbers that are no value of their enum, choices that are not made and texts that say nothing are refused by their paths.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_numbers_and_choices_that_are_not_made() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    let first = client
        .capture(ask::capture_on_new("t", ask::text("1")))
        .await
        .unwrap()
        .into_inner()
        .exchange
        .unwrap()
        .exchange_id;
    let on = |point| ask::on_thread(point, ask::text("x"));
    let continued = [
        (on(pb::ThreadPoint { on_busy: 99, ..ask::on("t") }), "thread.on_busy"),
        (on(pb::ThreadPoint { unanswered_tools: 99, ..ask::on("t") }), "thread.unanswered_tools"),
        (
            on(pb::ThreadPoint { expected_head: Some(pb::ExpectedHead::default()), ..ask::on("t") }),
            "thread.expected_head",
        ),
        (ask::after(&first, pb::ExecutionRequest { on_disconnect: 99, ..ask::text("x") }), "request.on_disconnect"),
        (ask::after(&first, pb::ExecutionRequest { retry: true, ..ask::text("x") }), "request.retry"),
        (
            ask::after(&first, pb::ExecutionRequest { contract: Some(pb::Contract::default()), ..ask::text("x") }),
            "request.contract",
        ),
        (
            ask::after(&first, pb::ExecutionRequest { tool_choice: Some(pb::ToolChoice::default()), ..ask::text("x") }),
            "request.tool_choice",
        ),
        (ask::after(&first, pb::ExecutionRequest::default()), "request"),
        (
            ask::after(&first, pb::ExecutionRequest { messages: vec![ask::user("")], ..Default::default() }),
            "request.messages[0].parts[0].text",
        ),
        (ask::after_with(&first, vec![]), "tool_results.results"),
        (pb::ContinueRequest { input: None, ..ask::after(&first, ask::text("x")) }, "input"),
        (pb::ContinueRequest { from: None, ..ask::after(&first, ask::text("x")) }, "from"),
    ];
    for (request, path) in continued {
        let refusal = client.r#continue(request).await.unwrap_err();
        refused::is(&refusal, Code::InvalidArgument, Reason::InvalidFields);
        let fields = refused::fields(&refusal);
        assert!(fields.iter().any(|field| field.starts_with(path)), "{path}: {fields:?}");
    }
    let scope = client.inspect(pb::InspectRequest { history: 99, ..ask::inspect(&first) }).await.unwrap_err();
    assert_eq!(refused::fields(&scope), ["history"]);
    let state =
        server.runs().list(pb::RunServiceListRequest { states: vec![99], ..Default::default() }).await.unwrap_err();
    assert_eq!(refused::fields(&state), ["states[0]"]);
    let assistant = pb::ExecutionRequest { messages: vec![ask::user("q"), ask::assistant("a")], ..Default::default() };
    let assistant = client.r#continue(ask::after(&first, assistant)).await.unwrap_err();
    refused::is(&assistant, Code::InvalidArgument, Reason::InvalidFields);
    // Choices that this server does not have for a thread without exchanges, or for what is only recorded, are refused, not ignored.
    let point = |on_busy: pb::OnBusy| pb::ThreadPoint { on_busy: on_busy.into(), ..ask::on("t") };
    for on_busy in [pb::OnBusy::Enqueue, pb::OnBusy::Interrupt, pb::OnBusy::Fork] {
        let recorded = pb::RecordRequest {
            thread: Some(pb::record_request::Thread::ExistingThread(point(on_busy))),
            ..ask::record(vec![ask::user("q"), ask::assistant("a")])
        };
        assert_eq!(refused::fields(&client.record(recorded).await.unwrap_err()), ["existing_thread.on_busy"]);
    }
}

/// What a request may have at most, told with the limit before any work; larger than the wire takes, it is not even read (B137).
#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_refused_before_any_work() {
    let provider = Provider::start([]).await;
    let config = format!("{}[server]\nmax_message_bytes = 65536\n", openai(&provider.base_url()));
    let server = Running::start(config).await;
    let mut client = server.exchanges();
    let large = client.capture(ask::capture(ask::text_as("r", &"x".repeat(100_000)))).await.unwrap_err();
    refused::is(&large, Code::ResourceExhausted, Reason::LimitExceeded);
    assert_eq!(
        (refused::fact(&large, "limit"), refused::fact(&large, "max")),
        ("max_message_bytes".into(), "65536".into())
    );
    let mut claims_a_gigabyte = vec![0];
    claims_a_gigabyte.extend((1_u32 << 30).to_be_bytes());
    claims_a_gigabyte.extend(ask::capture(ask::text("x")).encode_to_vec());
    let bomb = raw::refused_bytes(&server, "ExchangeService/Capture", claims_a_gigabyte, &[]).await;
    refused::is(&bomb, Code::ResourceExhausted, Reason::LimitExceeded);
    let garbage = raw::refused_bytes(&server, "ExchangeService/Capture", vec![0, 0, 0, 0, 2, 255, 255], &[]).await;
    refused::is(&garbage, Code::InvalidArgument, Reason::InvalidFields);
    let nobody = raw::refused(&server, "ExchangeService/Nothing", &ask::inspect(NOWHERE), &[]).await;
    refused::is(&nobody, Code::Unimplemented, Reason::NotImplemented);
    let labels = (0..65).map(|number| (format!("k{number}"), String::new())).collect();
    let many = client.capture(ask::capture(pb::ExecutionRequest { labels, ..ask::text("x") })).await.unwrap_err();
    assert_eq!(many.code(), Code::InvalidArgument);
    assert!(refused::fields(&many)[0].starts_with("request.labels"));
    let branches = (0..65).map(|number| ask::branch(&format!("t{number}"), None)).collect();
    let many = client.fork(ask::fork(NOWHERE, branches)).await.unwrap_err();
    assert_eq!(refused::fields(&many), ["branches"]);
    assert_eq!((provider.count(), look::runs(&server).await.len()), (0, 0));
}

/// A history may have so many exchanges, and so many runs may be at work.
#[tokio::test(flavor = "multi_thread")]
async fn limits_of_histories_and_runs() {
    let server = Running::start(scripted("[limits]\nmax_history_exchanges = 2\nmax_history_bytes = 4096\n")).await;
    let mut client = server.exchanges();
    let mut last =
        client.capture(ask::capture(ask::text("1"))).await.unwrap().into_inner().exchange.unwrap().exchange_id;
    last =
        client.r#continue(ask::after(&last, ask::text("2"))).await.unwrap().into_inner().exchange.unwrap().exchange_id;
    let deep = client.r#continue(ask::after(&last, ask::text("3"))).await.unwrap_err();
    refused::is(&deep, Code::ResourceExhausted, Reason::LimitExceeded);
    assert_eq!(
        (refused::fact(&deep, "limit"), refused::fact(&deep, "max")),
        ("max_history_exchanges".into(), "2".into())
    );
    let long = client
        .capture(ask::capture(ask::text(&"long ".repeat(2_000))))
        .await
        .unwrap()
        .into_inner()
        .exchange
        .unwrap()
        .exchange_id;
    let more = client.r#continue(ask::after(&long, ask::text("2"))).await.unwrap_err();
    refused::is(&more, Code::ResourceExhausted, Reason::LimitExceeded);
    let probed = client.probe(ask::probe(&long, ask::text("3"))).await.unwrap_err();
    assert_eq!((more.message(), refused::fact(&more, "limit")), (probed.message(), "max_history_bytes".into()));
}

/// Every answer names its call, by the caller's id where that is usable.
#[tokio::test(flavor = "multi_thread")]
async fn every_answer_names_its_call() {
    let server = Running::echo().await;
    let mut request = tonic::Request::new(ask::inspect(NOWHERE));
    request.metadata_mut().insert("antiphon-request-id", "mine-1".parse().unwrap());
    let refusal = server.exchanges().inspect(request).await.unwrap_err();
    assert_eq!(refusal.get_details_request_info().unwrap().request_id, "mine-1");
    assert_eq!(refusal.metadata().get("antiphon-request-id").unwrap(), "mine-1");
    let mut request = tonic::Request::new(ask::capture(ask::text("x")));
    request.metadata_mut().insert("antiphon-request-id", "no spaces".parse().unwrap());
    let answer = server.exchanges().capture(request).await.unwrap();
    let given = answer.metadata().get("antiphon-request-id").unwrap();
    assert!(given != "no spaces" && !given.is_empty());
    assert!(answer.metadata().get("antiphon-run-id").is_some());
}
