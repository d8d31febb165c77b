//! Bounds of what is brought, set to less than what can be borne: what is set is taken and one more is refused, with the key, what it is set to and
//! what was given, by every way in.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use antiphon::domain::fault::Reason;
use antiphon::domain::source::Clock;
use antiphon::grpc::pb;
use antiphon::ops::app::setup;
use antiphon::ops::config;
use antiphon::ops::environment::Environment;
use antiphon::ops::source::SystemClock;
use tonic::{Code, Status};

use super::{Edge, beyond_with, nested, taken};
use crate::look;
use crate::support::coordinate::{Loop, answer_tools, results, start_with, turn};
use crate::support::server::{Running, scripted};
use crate::support::{ask, refused};

const NOWHERE: &str = "0190a5c1-7b1e-7000-8000-000000000000";
const SET: &str = "[limits]
max_message_parts = 2
max_request_messages = 3
max_transcript_messages = 4
max_tool_results = 2
max_json_levels = 3
max_tools = 2
max_tool_schema_bytes = 200
max_contract_schema_bytes = 300
max_schema_levels = 4
max_labels = 2
max_fork_branches = 2
max_id_characters = 40
max_page_items = 2
max_graph_page_items = 3
max_template_steps = 300
max_section_bytes = 100
";

async fn limited() -> Running {
    Running::start(scripted(SET)).await
}

fn facts(status: &Status) -> [String; 3] {
    ["limit", "max", "value"].map(|key| refused::fact(status, key))
}

/// That a refusal names the field, the key, what it is set to and what was given, in words and for programs.
#[track_caller]
fn beyond(status: &Status, field: &str, key: &str, max: usize) {
    beyond_for(status, Reason::InvalidFields, field, key, max);
}

#[track_caller]
fn beyond_for(status: &Status, reason: Reason, field: &str, key: &str, max: usize) {
    beyond_with(status, reason, field, max, max + 1);
    assert_eq!(facts(status), [key.to_owned(), max.to_string(), (max + 1).to_string()], "{field}");
}

/// One more than what is set is refused and leaves no run; what is set is taken.
async fn kept<R, T: Debug>(server: &Running, edges: &[(&str, Edge<R>)], call: impl AsyncFn(R) -> Result<T, Status>) {
    let before = look::runs(server).await;
    for (key, (field, max, of)) in edges {
        let reason = if *key == "max_schema_levels" { Reason::SchemaInvalid } else { Reason::InvalidFields };
        beyond_for(&call(of(max + 1)).await.unwrap_err(), reason, field, key, *max);
    }
    assert_eq!(look::runs(server).await, before, "what is refused leaves no run");
    for (key, (field, max, of)) in edges {
        taken(call(of(*max)).await, field).unwrap_or_else(|| panic!("{key}"));
    }
}

fn offering(count: usize, schema: String) -> pb::ExecutionRequest {
    let mut tools: Vec<pb::Tool> = (0..count).map(|number| ask::tool(&format!("t{number}"))).collect();
    tools[0].input_schema_json = schema;
    pb::ExecutionRequest { tools: Some(pb::ToolList { tools }), ..ask::text("x") }
}

fn form(schema_json: String) -> pb::ExecutionRequest {
    let schema = pb::JsonSchemaContract { schema_json, name: String::new() };
    let form = Some(pb::contract::Form::JsonSchema(schema));
    pb::ExecutionRequest { contract: Some(pb::Contract { form }), ..ask::text("x") }
}

fn described(bytes: usize) -> String {
    format!(r#"{{"description":"{}"}}"#, "x".repeat(bytes - r#"{"description":""}"#.len()))
}

fn labels(count: usize) -> BTreeMap<String, String> {
    (0..count).map(|number| (format!("k{number}"), String::new())).collect()
}

fn messages(count: usize) -> pb::ExecutionRequest {
    pb::ExecutionRequest { messages: vec![ask::user("x"); count], ..Default::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_request() {
    let server = limited().await;
    let edges: &[(&str, Edge<pb::ExecutionRequest>)] = &[
        ("max_request_messages", ("request.messages", 3, messages)),
        (
            "max_message_parts",
            ("request.messages[0].parts", 2, |count| pb::ExecutionRequest {
                messages: vec![pb::Message { parts: vec![ask::part("x"); count], ..ask::user("x") }],
                ..Default::default()
            }),
        ),
        (
            "max_json_levels",
            ("request.parameters.extra_json", 3, |levels| {
                let parameters = pb::Parameters { extra_json: nested(levels), ..Default::default() };
                pb::ExecutionRequest { parameters: Some(parameters), ..ask::text("x") }
            }),
        ),
        ("max_tools", ("request.tools.tools", 2, |count| offering(count, "{}".into()))),
        (
            "max_tool_schema_bytes",
            ("request.tools.tools[0].input_schema_json", 200, |bytes| offering(1, described(bytes))),
        ),
        ("max_schema_levels", ("request.tools.tools[0].input_schema_json", 4, |levels| offering(1, nested(levels)))),
        (
            "max_contract_schema_bytes",
            ("request.contract.json_schema.schema_json", 300, |bytes| form(described(bytes))),
        ),
        ("max_schema_levels", ("request.contract.json_schema.schema_json", 4, |levels| form(nested(levels)))),
        ("max_labels", ("request.labels", 2, |count| pb::ExecutionRequest { labels: labels(count), ..ask::text("x") })),
        ("max_id_characters", ("request.run_id", 40, |length| ask::text_as(&"r".repeat(length), "x"))),
    ];
    kept(&server, edges, async |request| server.exchanges().capture(ask::capture(request)).await).await;
}

/// Each way in by which a request comes refuses what is too much of it, under the name that it has there.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_request_by_every_way() {
    let server = limited().await;
    let captured = server.exchanges().capture(ask::capture(ask::text("x"))).await.unwrap().into_inner();
    let id = captured.exchange.unwrap().exchange_id;
    let before = look::runs(&server).await;
    let (mut client, id) = (server.exchanges(), id.as_str());
    let refused = |status: Status, field: &str| beyond(&status, field, "max_request_messages", 3);
    let run = |count| {
        let execution = Some(pb::run_request::Execution::Request(messages(count)));
        pb::RunRequest { execution, ..Default::default() }
    };
    refused(client.run(run(4)).await.unwrap_err(), "request.messages");
    let streamed = pb::StreamCaptureRequest { capture: Some(ask::capture(messages(4))) };
    refused(client.stream_capture(streamed).await.unwrap_err(), "capture.request.messages");
    refused(client.r#continue(ask::after(id, messages(4))).await.unwrap_err(), "request.messages");
    let streamed = pb::StreamContinueRequest { turn: Some(ask::after(id, messages(4))) };
    refused(client.stream_continue(streamed).await.unwrap_err(), "turn.request.messages");
    refused(client.probe(ask::probe(id, messages(4))).await.unwrap_err(), "request.messages");
    let streamed = pb::StreamProbeRequest { probe: Some(ask::probe(id, messages(4))) };
    refused(client.stream_probe(streamed).await.unwrap_err(), "probe.request.messages");
    let prepare = |count| pb::PrepareRequest { request: Some(messages(count)), ..Default::default() };
    refused(client.prepare(prepare(4)).await.unwrap_err(), "request.messages");
    let explain = |count| pb::ExplainRequest {
        subject: Some(pb::explain_request::Subject::Turn(ask::after(id, messages(count)))),
    };
    refused(client.explain(explain(4)).await.unwrap_err(), "turn.request.messages");
    let fork = |thread: &str, count| ask::fork(id, vec![ask::branch(thread, Some(messages(count)))]);
    refused(client.fork(fork("f", 4)).await.unwrap_err(), "branches[0].request.messages");
    let start = Loop::start(&server, start_with(messages(4), 1)).await.refused().await;
    refused(start, "start.initial_request.request.messages");
    assert_eq!(look::runs(&server).await, before, "what is refused leaves no run");
    assert_eq!(look::threads(&server).await.len(), 0);

    client.run(run(3)).await.unwrap();
    client.r#continue(ask::after(id, messages(3))).await.unwrap();
    client.probe(ask::probe(id, messages(3))).await.unwrap();
    client.prepare(prepare(3)).await.unwrap();
    client.explain(explain(3)).await.unwrap();
    client.fork(fork("f", 3)).await.unwrap();
    // What is said in a stream comes when the call was answered already, and keeps the same bounds.
    let mut stream = Loop::start(&server, start_with(messages(3), 1)).await;
    stream.decision().await;
    stream.act(turn(messages(4))).await;
    let rejected = stream.rejected().await.error.unwrap();
    assert!(rejected.message.contains("has 4 messages: at most 3 are taken"), "{rejected:?}");
    assert_eq!(
        ["limit", "max", "value"].map(|key| rejected.metadata[key].as_str()),
        ["max_request_messages", "3", "4"]
    );
    stream.act(turn(messages(3))).await;
    assert_eq!(stream.decision().await.turns_started, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_results() {
    let server = limited().await;
    let some = |count| (0..count).map(|number| ask::result(&format!("a{number}"), "x")).collect::<Vec<_>>();
    let more = server.exchanges().r#continue(ask::after_with(NOWHERE, some(3))).await.unwrap_err();
    beyond(&more, "tool_results.results", "max_tool_results", 2);
    let most = server.exchanges().r#continue(ask::after_with(NOWHERE, some(2))).await.unwrap_err();
    refused::is(&most, Code::NotFound, Reason::ExchangeNotFound);
    let mut client = pb::coordination_service_client::CoordinationServiceClient::new(server.channel());
    let more = client.answer(answer_tools("c", "b", some(3))).await.unwrap_err();
    beyond(&more, "tool_results.results", "max_tool_results", 2);
    let most = client.answer(answer_tools("c", "b", some(2))).await.unwrap_err();
    refused::is(&most, Code::NotFound, Reason::CoordinationNotFound);
    let mut parts = some(1);
    parts[0].parts = vec![ask::part("x"); 3];
    let more = server.exchanges().r#continue(ask::after_with(NOWHERE, parts)).await.unwrap_err();
    beyond(&more, "tool_results.results[0].parts", "max_message_parts", 2);
    let mut stream = Loop::start(&server, start_with(ask::text("x"), 1)).await;
    stream.decision().await;
    stream.say(results("b", some(3))).await;
    let rejected = stream.rejected().await.error.unwrap();
    assert_eq!(rejected.metadata["limit"], "max_tool_results", "{rejected:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_transcript() {
    let server = limited().await;
    let transcript = |count| {
        let mut messages = vec![ask::user("x"); count - 1];
        messages.push(ask::assistant("y"));
        ask::record(messages)
    };
    fn about(change: impl FnOnce(&mut pb::RecordedFacts)) -> pb::RecordRequest {
        let mut facts = pb::RecordedFacts { message_index: 1, ..Default::default() };
        change(&mut facts);
        pb::RecordRequest { facts: vec![facts], ..ask::record(vec![ask::user("x"), ask::assistant("y")]) }
    }
    let edges: &[(&str, Edge<pb::RecordRequest>)] = &[
        ("max_transcript_messages", ("messages", 4, transcript)),
        ("max_labels", ("labels", 2, |count| pb::RecordRequest { labels: labels(count), ..about(|_| {}) })),
        (
            "max_id_characters",
            ("request_id", 40, |length| pb::RecordRequest { request_id: "q".repeat(length), ..about(|_| {}) }),
        ),
        (
            "max_tools",
            ("facts[0].tools.tools", 2, |count| about(|facts| facts.tools = offering(count, "{}".into()).tools)),
        ),
        (
            "max_json_levels",
            ("facts[0].usage.provider_json", 3, |levels| {
                let usage = pb::Usage { provider_json: nested(levels), ..Default::default() };
                about(|facts| facts.usage = Some(usage))
            }),
        ),
    ];
    kept(&server, edges, async |request| server.exchanges().record(request).await).await;
    let prefix = |count| {
        let prefix = pb::UncapturedPrefix {
            rendered_messages: vec![ask::user("x"); count],
            assistant: Some(ask::assistant("y")),
            ..Default::default()
        };
        let from = Some(pb::continue_request::From::UncapturedPrefix(prefix));
        pb::ContinueRequest { from, ..ask::after(NOWHERE, ask::text("x")) }
    };
    let more = server.exchanges().r#continue(prefix(5)).await.unwrap_err();
    beyond(&more, "uncaptured_prefix.rendered_messages", "max_transcript_messages", 4);
    server.exchanges().r#continue(prefix(4)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn of_threads_and_forks() {
    let server = limited().await;
    let edges: &[(&str, Edge<pb::NewThread>)] = &[
        ("max_labels", ("thread.labels", 2, |count| pb::NewThread { labels: labels(count), ..Default::default() })),
        (
            "max_id_characters",
            ("thread.thread_id", 40, |length| pb::NewThread { thread_id: "t".repeat(length), ..Default::default() }),
        ),
        (
            "max_json_levels",
            ("thread.metadata_json", 3, |levels| pb::NewThread { metadata_json: nested(levels), ..Default::default() }),
        ),
        (
            "max_tools",
            ("thread.defaults.standing_tools.tools", 2, |count| {
                let standing_tools = offering(count, "{}".into()).tools;
                let defaults = Some(pb::ThreadDefaults { standing_tools, ..Default::default() });
                pb::NewThread { defaults, ..Default::default() }
            }),
        ),
    ];
    let create = async |thread| {
        let request = pb::ThreadServiceCreateRequest { thread: Some(thread), ..Default::default() };
        server.threads().create(request).await
    };
    kept(&server, edges, create).await;
    let stats = server.admin().stats(pb::StatsRequest {}).await.unwrap().into_inner();
    let made = stats.records.iter().find(|record| record.kind == "thread").map(|record| record.count);
    assert_eq!(made, Some(4), "what is refused makes no thread");
    let update = async |count| {
        let thread = Some(pb::NewThread { labels: labels(count), ..Default::default() });
        let update_mask = Some(prost_types::FieldMask { paths: vec!["labels".into()] });
        let request =
            pb::ThreadServiceUpdateRequest { thread_id: "t".repeat(40), thread, update_mask, ..Default::default() };
        server.threads().update(request).await
    };
    beyond(&update(3).await.unwrap_err(), "thread.labels", "max_labels", 2);
    update(2).await.unwrap();

    let captured = server.exchanges().capture(ask::capture(ask::text("x"))).await.unwrap().into_inner();
    let id = captured.exchange.unwrap().exchange_id;
    let fork = |count: usize| ask::fork(&id, (0..count).map(|at| ask::branch(&format!("b{at}"), None)).collect());
    beyond(&server.exchanges().fork(fork(3)).await.unwrap_err(), "branches", "max_fork_branches", 2);
    assert_eq!(server.exchanges().fork(fork(2)).await.unwrap().into_inner().results.len(), 2);
}

/// Less is given where more is asked for, and where nothing is said.
#[tokio::test(flavor = "multi_thread")]
async fn of_pages() {
    let server = limited().await;
    let messages = ["a", "b", "c", "d"].map(|text| [ask::user(text), ask::assistant("y")]);
    for messages in &messages {
        server.exchanges().record(ask::record(messages.to_vec())).await.unwrap();
    }
    for page_size in [0, 2, 3, 1_000] {
        let request = pb::RunServiceListRequest { page_size, ..Default::default() };
        let listed = server.runs().list(request).await.unwrap().into_inner();
        assert_eq!((listed.runs.len(), listed.next_page_token.is_empty()), (2, false), "{page_size}");
    }
    let one = pb::RunServiceListRequest { page_size: 1, ..Default::default() };
    assert_eq!(server.runs().list(one).await.unwrap().into_inner().runs.len(), 1);
    let negative = pb::RunServiceListRequest { page_size: -1, ..Default::default() };
    let told = server.runs().list(negative).await.unwrap_err();
    assert!(told.message().contains("1 to 2"), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_prompt() {
    let file = "---\nvariables: [{name: n, type: integer}]\n---\n{% for i in range(n) %}x{% endfor %}\n";
    let long = "---\nvariables: [{name: t}]\n---\n{{ t }}\n";
    let config = format!("prompts_dir = \".\"\n{}", scripted(SET));
    let server = Running::start_beside(config, |folder| {
        std::fs::write(folder.join("loop.prompt"), file).unwrap();
        std::fs::write(folder.join("long.prompt"), long).unwrap();
    })
    .await;
    let render = async |prompt_id: &str, vars_json: String| {
        let prompt = Some(pb::PromptInput { prompt_id: prompt_id.into(), vars_json, vars: None });
        let request = pb::ExecutionRequest { prompt, ..Default::default() };
        server.exchanges().capture(ask::capture(request)).await
    };
    let text = |bytes: usize| format!(r#"{{"t":"{}"}}"#, "x".repeat(bytes));
    let more = render("long", text(101)).await.unwrap_err();
    refused::is(&more, Code::InvalidArgument, Reason::PromptVariables);
    assert_eq!(facts(&more), ["max_section_bytes", "100", "101"]);
    assert!(more.message().contains("gives 101 bytes of text and more: at most 100"), "{more:?}");
    render("long", text(100)).await.unwrap();
    // A round takes a few steps, so there is a last number of rounds that is taken.
    let mut rounds = 1..300;
    let more = loop {
        match render("loop", format!(r#"{{"n":{}}}"#, rounds.next().unwrap())).await {
            Ok(_) => {}
            Err(more) => break more,
        }
    };
    assert!(rounds.start > 10, "some were taken");
    refused::is(&more, Code::InvalidArgument, Reason::PromptVariables);
    assert_eq!(facts(&more), ["max_template_steps", "300", "301"]);
    let vars = async |levels: usize| render("long", format!(r#"{{"t":{}}}"#, nested(levels))).await;
    beyond(&vars(3).await.unwrap_err(), "request.prompt.vars_json", "max_json_levels", 3);
    vars(2).await.unwrap();
}

/// What is wrong with a configuration that lies in a folder, and with the files that it names.
fn mistakes(text: &str, folder: &Path) -> Vec<String> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let (config, _) = match config::parse(text, &folder.join("antiphon.toml")) {
        Ok(parsed) => parsed,
        Err(found) => return found.iter().map(ToString::to_string).collect(),
    };
    let found = setup(&config, &Nothing, &clock).err().unwrap_or_default();
    found.iter().map(ToString::to_string).collect()
}

/// No variable is set.
struct Nothing;

impl Environment for Nothing {
    fn var(&self, _name: &str) -> Option<String> {
        None
    }
}

/// What a file brings keeps the bounds that a request keeps, and what cannot be borne cannot be set.
#[test]
fn of_the_configuration() {
    let check = |config: &str, file: Option<(&str, String)>| {
        let folder = tempfile::tempdir().unwrap();
        if let Some((name, text)) = file {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        mistakes(config, folder.path())
    };
    let with = |limit: &str| {
        format!("prompts_dir = \".\"\ncontracts_dir = \".\"\n{}", scripted(&format!("[limits]\n{limit}\n")))
    };
    let prompt = |schema: usize| {
        let tools = format!("{{name: a, input_schema: {}}}, {{name: b}}", described(schema));
        Some(("p.prompt", format!("---\ntools: [{tools}]\n---\nhi\n")))
    };
    for (limit, file, told) in [
        ("max_tools = 1", prompt(50), "has 2 tools: at most 1 are taken"),
        ("max_tool_schema_bytes = 99", prompt(100), "is 100 bytes long: at most 99 are taken"),
        ("max_contract_schema_bytes = 99", Some(("c.json", described(100))), "is 100 bytes long: at most 99 are taken"),
        ("max_schema_levels = 2", Some(("c.json", nested(3))), "is nested 3 levels deep: at most 2 are taken"),
        ("max_labels = 0", None, "limits.max_labels: is 0: it must be 1 to 64"),
        ("max_labels = 65", None, "limits.max_labels: is 65: it must be 1 to 64"),
        ("max_id_characters = 35", None, "limits.max_id_characters: is 35: it must be 36 to 128"),
        ("max_template_steps = 1000001", None, "limits.max_template_steps: is 1000001: it must be 1 to 1000000"),
    ] {
        let mistakes = check(&with(limit), file);
        assert!(mistakes.len() == 1 && mistakes[0].contains(told), "{limit}: {mistakes:#?}");
    }
    for (limit, file) in [
        ("max_tools = 2", prompt(50)),
        ("max_tool_schema_bytes = 100", prompt(100)),
        ("max_contract_schema_bytes = 100", Some(("c.json", described(100)))),
        ("max_schema_levels = 3", Some(("c.json", nested(3)))),
        ("max_labels = 64", None),
        ("max_id_characters = 36", None),
    ] {
        assert_eq!(check(&with(limit), file), [""; 0], "{limit}");
    }
}
