//! The log of the real program at its most talkative: every line is JSON, calls and runs are named in it, and not a word of what was said, kept, noted
//! or answered by a provider is in it, nor in the audit log, the metrics, or anything that others are told.

use std::collections::BTreeSet;

use antiphon::grpc::pb;
use prost::Message as _;
use serde_json::{Value, json};
use tonic::Status;

use crate::access::Keys;
use crate::stub;
use crate::support::coordinate::{Loop, fail, start, turn_of};
use crate::support::program::{LOG, Program};
use crate::support::provider::{Entry, Provider};
use crate::support::server::openai_with;
use crate::support::{ask, documents, raw, within};

/// In all that is said, each time with where.
const CANARY: &str = "canary";

/// A thing that is said.
fn said(of: &str) -> String {
    format!("{CANARY} of {of}")
}

/// No word of it, as it is or in the encodings that it passes through.
#[track_caller]
fn clean(what: &str, text: &[u8]) {
    let forms = [CANARY.to_owned(), "63616e617279".to_owned(), "Y2FuYXJ5".to_owned()];
    for form in forms {
        let found = text.windows(form.len()).position(|window| window.eq_ignore_ascii_case(form.as_bytes()));
        let around = found
            .map(|at| String::from_utf8_lossy(&text[at.saturating_sub(300)..text.len().min(at + 80)]).into_owned());
        assert_eq!(around, None, "{what}");
    }
}

/// What a provider says, well and badly.
fn script() -> Vec<Entry> {
    let text = |of: &str| stub::text(&said(of));
    let arguments = json!({"where": said("arguments")}).to_string();
    let broken = format!("data: {{\"error\":{{\"message\":\"{}\",\"code\":\"canary\"}}}}\n\n", said("a broken stream"));
    vec![
        stub::calls(&[("p1", "look", &arguments)]),
        text("an answer"),
        stub::streamed(&[&said("a piece"), &said("another piece")]),
        stub::refusal(400, &said("a refusal"), "canary_code"),
        stub::status(503, &said("an outage")),
        Entry::new(502, "text/html", &[&said("a page")]),
        Entry::json(&said("what is no JSON")),
        Entry::events(&[&stub::event(&json!({"content": said("a beginning")}), None), &broken]),
        text("an answer without its form"),
        text("another answer without its form"),
        text("a probe"),
        text("a coordination"),
    ]
}

/// Somebody with a key, whose calls have ids.
struct Caller<'a> {
    program: &'a Program,
    header: &'a str,
}

impl Caller<'_> {
    /// Every answer, or the error.
    async fn ask(&self, rpc: &str, id: &str, message: &impl prost::Message) -> Result<Vec<Vec<u8>>, Status> {
        let headers = [
            ("authorization", self.header),
            ("antiphon-request-id", id),
            ("antiphon-provider-credential", "sk-canary-of-the-caller"),
        ];
        within(rpc, raw::call(self.program.fresh_channel(), rpc, vec![message.encode_to_vec()], &headers)).await
    }

    /// What it is told, whatever that is.
    async fn told(&self, rpc: &str, id: &str, message: &impl prost::Message) -> Vec<u8> {
        match self.ask(rpc, id, message).await {
            Ok(answers) => answers.concat(),
            Err(status) => [status.message().as_bytes(), status.details()].concat(),
        }
    }

    async fn exchange(&self, rpc: &str, id: &str, message: &impl prost::Message) -> pb::Exchange {
        let answers = self.ask(rpc, id, message).await.unwrap_or_else(|status| panic!("{id}: {status:?}"));
        // Capture and Continue have it at the same number.
        pb::CaptureResponse::decode(answers.last().unwrap().as_slice()).unwrap().exchange.unwrap()
    }
}

/// A request that has a canary wherever there can be one.
fn full(run_id: &str) -> pb::ExecutionRequest {
    let schema = json!({"type": "object", "description": said("a schema")}).to_string();
    let tool = pb::Tool { description: said("a tool"), input_schema_json: schema, ..ask::tool("look") };
    pb::ExecutionRequest {
        labels: [("team".to_owned(), said("a label"))].into(),
        tools: Some(pb::ToolList { tools: vec![tool] }),
        ..ask::text_as(run_id, &said("a question"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_is_in_no_log_and_nothing_that_others_are_told() {
    let provider = Provider::start(script()).await;
    let mut keys = Keys::default();
    let (mine, other) = (keys.make("a", &["read", "write", "admin"]), keys.make("b", &["read", "write", "admin"]));
    let operator = keys.make("*", &["read", "admin"]);
    let folder = tempfile::tempdir().unwrap();
    keys.write(folder.path());
    std::fs::write(folder.path().join("key"), "sk-canary-of-the-server").unwrap();
    let more = format!(
        "api_key_file = \"key\"\n{}[access]\nkeys_file = \"keys.toml\"\n\
         [log]\nlevel = \"trace\"\nformat = \"json\"\naudit_file = \"audit.jsonl\"\n",
        stub::ONCE
    );
    let mut program = Program::start(folder.path(), &openai_with(&provider.base_url(), &more)).await;
    let owner = Caller { program: &program, header: &mine };

    // Turns that go well.
    let new = pb::NewThread {
        thread_id: "t".into(),
        name: said("a name"),
        labels: [("team".to_owned(), said("a label"))].into(),
        metadata_json: json!({"said": said("metadata")}).to_string(),
        ..Default::default()
    };
    let first = pb::CaptureRequest {
        thread: Some(pb::capture_request::Thread::NewThread(new)),
        ..ask::capture(full("calls-a-tool"))
    };
    let first = owner.exchange("ExchangeService/Capture", "q-capture", &first).await;
    let call_id = first.pending_tool_calls[0].call_id.clone();
    let results = ask::on_thread_with("t", vec![ask::result(&call_id, &said("a result"))]);
    let second = owner.exchange("ExchangeService/Continue", "q-results", &results).await;
    let streamed = pb::StreamCaptureRequest { capture: Some(ask::capture(full("streamed"))) };
    owner.ask("ExchangeService/StreamCapture", "q-streamed", &streamed).await.unwrap();
    // Turns that do not.
    for run_id in ["refused", "outage", "page", "no-json"] {
        let id = format!("q-{run_id}");
        let told = owner.told("ExchangeService/Capture", &id, &ask::capture(full(run_id))).await;
        assert!(!told.is_empty());
    }
    let broken = pb::StreamCaptureRequest { capture: Some(ask::capture(full("broken"))) };
    owner.ask("ExchangeService/StreamCapture", "q-broken", &broken).await.unwrap_err();
    let schema = json!({"type": "object", "title": said("a form")}).to_string();
    let form = pb::JsonSchemaContract { schema_json: schema, name: String::new() };
    let formed = pb::ExecutionRequest {
        contract: Some(pb::Contract { form: Some(pb::contract::Form::JsonSchema(form)) }),
        repair: Some(pb::Repair { attempts: 1 }),
        ..ask::text_as("repaired", &said("a question"))
    };
    owner.exchange("ExchangeService/Capture", "q-repaired", &ask::capture(formed)).await;
    owner.ask("ExchangeService/Probe", "q-probe", &ask::probe(&second.exchange_id, full(""))).await.unwrap();
    // What is kept beside.
    let write = documents::write("t", vec![documents::put(&said("a document's name"), said("a document"))]);
    owner.ask("WorkspaceService/WriteDocuments", "q-write", &write).await.unwrap();
    let target = crate::retention::exchange(&first.exchange_id);
    let pin = pb::CreatePinRequest { target, pin_id: "p".into(), note: said("a note"), ..Default::default() };
    owner.ask("AdminService/CreatePin", "q-pin", &pin).await.unwrap();
    let record = ask::record(vec![ask::user(&said("a record")), ask::assistant(&said("its answer"))]);
    owner.ask("ExchangeService/Record", "q-record", &record).await.unwrap();
    let prepare = pb::PrepareRequest { request: Some(ask::text(&said("a plan"))), ..Default::default() };
    owner.ask("ExchangeService/Prepare", "q-prepare", &prepare).await.unwrap();
    let search = pb::SearchRequest { text: CANARY.into(), ..Default::default() };
    owner.ask("GraphService/Search", "q-search", &search).await.unwrap();
    owner.ask("AdminService/Export", "q-export", &pb::ExportRequest::default()).await.unwrap();
    // A coordination whose caller fails.
    let begin = pb::coordinate_request::Frame::Start(pb::CoordinationStart {
        coordination_id: "c".into(),
        ..start(&second.exchange_id, 2)
    });
    let headers = [("authorization", mine.as_str()), ("antiphon-request-id", "q-coordinate")];
    let mut talk = Loop::on_with(program.fresh_channel(), &headers, begin).await;
    talk.decision().await;
    talk.act(turn_of(&said("a turn"))).await;
    talk.decision().await;
    talk.act(fail(9, "CANARY_REASON", &said("a failure"))).await;
    talk.ended().await;
    // What makes no sense is told to who said it.
    let unknown = pb::ExecutionRequest { profile_id: "canary".into(), ..full("unknown") };
    owner.ask("ExchangeService/Capture", "q-unknown", &ask::capture(unknown)).await.unwrap_err();
    let template = pb::ExecutionRequest {
        prompt: Some(pb::PromptInput { prompt_id: "canary".into(), ..Default::default() }),
        ..full("no-prompt")
    };
    owner.ask("ExchangeService/Capture", "q-no-prompt", &ask::capture(template)).await.unwrap_err();
    let mut bad = full("bad-schema");
    bad.tools.as_mut().unwrap().tools[0].input_schema_json = format!("{{\"{CANARY}\"");
    owner.ask("ExchangeService/Capture", "q-bad-schema", &ask::capture(bad)).await.unwrap_err();
    let erase = pb::EraseRequest {
        target: crate::retention::thread("t"),
        mode: pb::EraseMode::Tombstone.into(),
        note: said("a reason to erase"),
        ..Default::default()
    };
    owner.ask("AdminService/Erase", "q-erase", &erase).await.unwrap();
    assert_eq!(provider.unscripted(), 0);
    assert_eq!(provider.count(), script().len());

    // What others are told, of the backend and of what the first has.
    let stranger = Caller { program: &program, header: &other };
    for rpc in [
        "CatalogService/ListBackends",
        "CatalogService/ListProfiles",
        "CatalogService/ListContracts",
        "RunService/List",
        "ThreadService/List",
        "CoordinationService/List",
        "GraphService/Search",
        "AdminService/Stats",
        "AdminService/GetServerInfo",
        "AdminService/Export",
    ] {
        clean(rpc, &stranger.told(rpc, "q-stranger", &pb::GetServerInfoRequest {}).await);
    }
    for run_id in ["calls-a-tool", "refused", "broken"] {
        let get = pb::RunServiceGetRequest { run_id: run_id.into() };
        clean(run_id, &stranger.told("RunService/Get", "q-stranger", &get).await);
    }
    clean("a pin", &stranger.told("AdminService/ListPins", "q-stranger", &pb::ListPinsRequest::default()).await);
    let mut asked =
        reqwest::Client::builder().no_proxy().build().unwrap().get(format!("http://{}/metrics", program.address()));
    asked = asked.header("authorization", &operator);
    let metrics = asked.send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("antiphon_run_steps_total"), "{metrics}");
    clean("the metrics", metrics.as_bytes());
    program.terminate().await;

    let audit = std::fs::read(folder.path().join("audit.jsonl")).unwrap();
    assert!(String::from_utf8_lossy(&audit).contains("erase.done"));
    clean("the audit log", &audit);
    let log = std::fs::read_to_string(folder.path().join(LOG)).unwrap();
    clean("the log", log.as_bytes());
    let events: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect();
    named(&events);
}

/// Every call that was refused and every run that ended is there under its id, and nothing of a run is without one.
fn named(events: &[Value]) {
    let of = |message: &str| events.iter().filter(|event| event["message"] == message).collect::<Vec<_>>();
    let spans = |event: &Value| event["spans"].as_array().cloned().unwrap_or_default();
    // The run that it is of, said by the event or by a span around it.
    let run = |event: &Value| {
        let around = spans(event);
        let said = [event].into_iter().chain(&around).find_map(|one| one["run_id"].as_str());
        said.map(str::to_owned).unwrap_or_default()
    };
    let request = |event: &Value| {
        let around = spans(event);
        let said =
            |one: &Value| one["request_id"].as_str().or_else(|| one["antiphon.request_id"].as_str()).map(str::to_owned);
        [event].into_iter().chain(&around).find_map(said).unwrap_or_default()
    };
    let landed: BTreeSet<String> = of("run.landed").into_iter().map(run).collect();
    for run_id in ["calls-a-tool", "streamed", "repaired"] {
        assert!(landed.contains(run_id), "{run_id}: {landed:?}");
    }
    assert!(!landed.contains(""), "{landed:?}");
    let refused: BTreeSet<(String, String)> =
        of("call.refused").into_iter().map(|event| (request(event), run(event))).collect();
    for run_id in ["refused", "outage", "page", "no-json", "broken", "unknown", "no-prompt"] {
        assert!(refused.contains(&(format!("q-{run_id}"), run_id.to_owned())), "{run_id}: {refused:?}");
    }
    let ended: BTreeSet<String> = of("run.refused").into_iter().map(run).collect();
    assert!(ended.contains("refused") && !ended.contains(""), "{ended:?}");
    for message in ["call.refused", "call.failed", "audit.called", "audit.refused"] {
        assert!(of(message).into_iter().all(|event| !request(event).is_empty()), "{:#?}", of(message));
    }
    let called: BTreeSet<String> = of("audit.called").into_iter().map(request).collect();
    assert_eq!(called, ["q-erase", "q-export", "q-pin", "q-stranger"].map(str::to_owned).into());
}
