//! Prepared executions: what was shown is what is executed, once, until it expires; whatever happens to files and servers meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::{Code, Status};

use crate::support::clock::Set;
use crate::support::provider::{Gate, Provider};
use crate::support::server::{Running, Sources, openai, openai_with};
use crate::support::{ask, refused};
use crate::{look, stub};

fn prepare(request: pb::ExecutionRequest, capture: bool) -> pb::PrepareRequest {
    pb::PrepareRequest { request: Some(request), capture, ..Default::default() }
}

fn on_thread(thread_id: &str, request: pb::ExecutionRequest) -> pb::PrepareRequest {
    let from = Some(pb::prepare_request::From::Thread(ask::on(thread_id)));
    pb::PrepareRequest { from, ..prepare(request, true) }
}

async fn prepared(server: &Running, request: pb::PrepareRequest) -> pb::PrepareResponse {
    server.exchanges().prepare(request).await.unwrap().into_inner()
}

fn execution(prepared_id: &str, run_id: &str) -> pb::PreparedExecution {
    pb::PreparedExecution { prepared_id: prepared_id.to_owned(), run_id: run_id.to_owned() }
}

async fn run(server: &Running, prepared_id: &str, run_id: &str) -> Result<pb::RunResponse, Status> {
    let execution = Some(pb::run_request::Execution::Prepared(execution(prepared_id, run_id)));
    let request = pb::RunRequest { execution, ..Default::default() };
    server.exchanges().run(request).await.map(tonic::Response::into_inner)
}

fn capture(prepared_id: &str, run_id: &str) -> pb::CaptureRequest {
    let execution = Some(pb::capture_request::Execution::Prepared(execution(prepared_id, run_id)));
    pb::CaptureRequest { execution, thread: None }
}

async fn captured(server: &Running, prepared_id: &str, run_id: &str) -> Result<pb::CaptureResponse, Status> {
    server.exchanges().capture(capture(prepared_id, run_id)).await.map(tonic::Response::into_inner)
}

/// S4-16, S4-17, S4-19, S4-T3, S4-T5: preparing makes no exchange and calls nobody; the execution sends what was shown, also after a restart,
/// with the prompt's file gone; and remembers whether it is captured.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_shown_is_executed_whatever_became_of_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("greet.prompt");
    std::fs::write(&file, "---\nvariables: [{ name: name }]\n---\nuser:\nGreet {{ name }}.\n").unwrap();
    let provider = Provider::start([]).await;
    let config = openai(&provider.base_url());
    let prompts = format!("prompts_dir = {:?}\n", folder.path().display().to_string());
    let server = Running::start(prompts + &config).await;
    let prompt = pb::PromptInput { prompt_id: "greet".into(), vars_json: "{\"name\":\"Ada\"}".into(), vars: None };
    let request = pb::ExecutionRequest {
        prompt: Some(prompt),
        labels: [("team".to_owned(), "a".to_owned())].into(),
        ..Default::default()
    };
    let made = prepared(&server, prepare(request, true)).await;
    let shown = made.explanation.unwrap();
    assert_eq!(ask::texts(&shown.messages), ["U:Greet Ada."]);
    assert_eq!((provider.count(), look::runs(&server).await.len()), (0, 0));
    std::fs::remove_file(&file).unwrap();
    let server = server.restart_with(config).await;
    provider.script(stub::text("Hello, Ada"));
    let ran = run(&server, &made.prepared_id, "r").await.unwrap();
    let exchange = ran.exchange.unwrap();
    assert_eq!(
        (ran.text.as_str(), exchange.text.as_str(), exchange.run_id.as_str()),
        ("Hello, Ada", "Hello, Ada", "r")
    );
    assert_eq!(provider.request(0).await.text(), shown.body_json);
    assert_eq!(exchange.effective_settings, shown.effective_settings);
    assert_eq!(
        (exchange.labels.len(), exchange.observations[0].request_blake3.as_str()),
        (1, shown.body_blake3.as_str())
    );
    assert_eq!(look::history(&server, &exchange.exchange_id).await, ["U:Greet Ada.", "A:Hello, Ada"]);
}

/// S4-29: once. The same run id gets the same answer, another is told who used it; both so after a restart.
#[tokio::test(flavor = "multi_thread")]
async fn it_is_executed_once() {
    let provider = Provider::start([stub::text("one")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let id = prepared(&server, prepare(ask::text("x"), true)).await.prepared_id;
    let first = captured(&server, &id, "r").await.unwrap();
    assert!(!first.replayed);
    let server = server.restart().await;
    let again = captured(&server, &id, "r").await.unwrap();
    assert_eq!((again.replayed, &again.exchange), (true, &first.exchange));
    for run_id in ["other", ""] {
        let used = captured(&server, &id, run_id).await.unwrap_err();
        refused::is(&used, Code::FailedPrecondition, Reason::PreparedUsed);
        assert_eq!((refused::fact(&used, "prepared_id"), refused::fact(&used, "run_id")), (id.clone(), "r".into()));
    }
    // The verb is part of the call, so it is another call by Run; and the id of another request is taken.
    refused::is(&run(&server, &id, "r").await.unwrap_err(), Code::AlreadyExists, Reason::RunIdConflict);
    let other = prepared(&server, prepare(ask::text("y"), true)).await.prepared_id;
    refused::is(&captured(&server, &other, "r").await.unwrap_err(), Code::AlreadyExists, Reason::RunIdConflict);
    assert_eq!((provider.count(), look::runs(&server).await), (1, vec!["r".to_owned()]));
}

/// Of many that execute it at once, one does: those with its run id join it, the others are refused, and the provider is called once.
#[tokio::test(flavor = "multi_thread")]
async fn of_many_at_once_one_executes_it() {
    let gate = Gate::closed();
    let provider = Provider::start([stub::text("one").wait(&gate)]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let id = prepared(&server, prepare(ask::text("x"), true)).await.prepared_id;
    let call = |run_id: String| {
        let (mut client, request) = (server.exchanges(), capture(&id, &run_id));
        tokio::spawn(async move { client.capture(request).await.map(tonic::Response::into_inner) })
    };
    let same: Vec<_> = (0..4).map(|_| call("r".into())).collect();
    provider.request(0).await;
    let others: Vec<_> = (0..4).map(|number| call(format!("o{number}"))).collect();
    for other in others {
        refused::is(&other.await.unwrap().unwrap_err(), Code::FailedPrecondition, Reason::PreparedUsed);
    }
    gate.open();
    for one in same {
        assert_eq!(one.await.unwrap().unwrap().exchange.unwrap().text, "one");
    }
    assert_eq!((provider.count(), look::runs(&server).await.len()), (1, 1));
}

/// What was not captured is not kept; what was prepared for that cannot be captured after all, nor the other way round.
#[tokio::test(flavor = "multi_thread")]
async fn the_choice_of_capture_is_remembered() {
    let provider = Provider::start([stub::text("one"), stub::streamed(&["t", "wo"])]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let id = prepared(&server, prepare(ask::text("x"), false)).await.prepared_id;
    let wrong = captured(&server, &id, "r").await.unwrap_err();
    refused::is(&wrong, Code::InvalidArgument, Reason::InvalidFields);
    assert_eq!(refused::fields(&wrong), ["prepared.prepared_id"]);
    let both = pb::RunRequest {
        execution: Some(pb::run_request::Execution::Prepared(execution(&id, ""))),
        capture: Some(true),
        ..Default::default()
    };
    let wrong = server.exchanges().run(both).await.unwrap_err();
    assert_eq!(refused::fields(&wrong), ["capture"]);
    let new = pb::NewThread { thread_id: "t".into(), ..Default::default() };
    let placed = pb::CaptureRequest { thread: Some(pb::capture_request::Thread::NewThread(new)), ..capture(&id, "") };
    assert_eq!(refused::fields(&server.exchanges().capture(placed).await.unwrap_err()), ["new_thread"]);
    assert_eq!((provider.count(), look::runs(&server).await.len()), (0, 0), "it is still there to be executed");
    let ran = run(&server, &id, "r").await.unwrap();
    assert_eq!((ran.text.as_str(), ran.exchange, ran.run.unwrap().captured), ("one", None, false));
    let id = prepared(&server, prepare(ask::text_as("named", "x"), true)).await.prepared_id;
    let stream = pb::StreamCaptureRequest { capture: Some(capture(&id, "")) };
    let mut stream = server.exchanges().stream_capture(stream).await.unwrap().into_inner();
    let mut last = None;
    while let Some(event) = stream.message().await.unwrap() {
        last = event.event;
    }
    let Some(pb::stream_capture_response::Event::Completed(done)) = last else { panic!("{last:?}") };
    let exchange = done.exchange.unwrap();
    assert_eq!((exchange.text.as_str(), exchange.run_id.as_str()), ("two", "named"));
}

/// On a thread, the head that was seen is expected, and moves; the loser of a race is told, and what it had prepared can be used no more.
#[tokio::test(flavor = "multi_thread")]
async fn the_head_that_was_seen_is_expected() {
    let provider = Provider::start(["one", "two", "three", "four"].map(stub::text)).await;
    let server = Running::start(openai(&provider.base_url())).await;
    server.exchanges().capture(ask::capture_on_new("t", ask::text("1"))).await.unwrap();
    let first = prepared(&server, on_thread("t", ask::text("2"))).await;
    let second = prepared(&server, on_thread("t", ask::text("2b"))).await.prepared_id;
    assert_eq!(ask::texts(&first.explanation.unwrap().messages), ["U:1", "A:one", "U:2"]);
    let done = captured(&server, &first.prepared_id, "").await.unwrap();
    let exchange = done.exchange.unwrap();
    assert_eq!((done.thread.unwrap().head_exchange_id, exchange.turn), (exchange.exchange_id.clone(), 2));
    let moved = captured(&server, &second, "").await.unwrap_err();
    refused::is(&moved, Code::Aborted, Reason::HeadMoved);
    assert_eq!(refused::fact(&moved, "head_exchange_id"), exchange.exchange_id);
    // From an exchange it is pure: as often as it is prepared, and no head moves.
    for text in ["a", "b"] {
        let from = Some(pb::prepare_request::From::Exchange(ask::point(&exchange.exchange_id)));
        let id = prepared(&server, pb::PrepareRequest { from, ..prepare(ask::text(text), true) }).await.prepared_id;
        let branch = captured(&server, &id, "").await.unwrap().exchange.unwrap();
        assert_eq!(branch.parent_exchange_id, exchange.exchange_id);
    }
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, exchange.exchange_id);
    assert_eq!(provider.count(), 4);
}

/// Over calls without results: each gets its marked result, as it was shown.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_given_up_are_given_up_as_shown() {
    let provider = Provider::start([stub::calls(&[("c1", "look", "{}")]), stub::text("never mind")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    server.exchanges().capture(ask::capture_on_new("t", stub::offering("r", "look"))).await.unwrap();
    let refusal = server.exchanges().prepare(on_thread("t", ask::text("stop"))).await.unwrap_err();
    refused::is(&refusal, Code::FailedPrecondition, Reason::UnansweredToolCalls);
    let point = pb::ThreadPoint { unanswered_tools: pb::UnansweredTools::Interrupt.into(), ..ask::on("t") };
    let from = Some(pb::prepare_request::From::Thread(point));
    let made = prepared(&server, pb::PrepareRequest { from, ..prepare(ask::text("stop"), true) }).await;
    assert_eq!(look::run(&server, "r").await.state(), pb::RunState::PendingTools);
    let done = captured(&server, &made.prepared_id, "s").await.unwrap();
    assert_eq!(provider.request(1).await.text(), made.explanation.unwrap().body_json);
    assert_eq!(
        (done.exchange.unwrap().text.as_str(), look::run(&server, "r").await.state()),
        ("never mind", pb::RunState::Cancelled)
    );
}

/// S4-34 the other way: another configuration of its backend is not what was shown. A credential may change, and is nowhere kept.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_backend_makes_it_stale() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "sk-first-secret\n").unwrap();
    let provider = Provider::start([stub::text("one"), stub::text("two")]).await;
    let with_key = format!("api_key_file = {:?}\n", key.display().to_string());
    let config = openai_with(&provider.base_url(), &with_key);
    let server = Running::start(config.clone()).await;
    let made = prepared(&server, prepare(ask::text("x"), true)).await;
    assert!(!format!("{made:?}").contains("secret"));
    let changed = config.replace("kind = \"openai\"", "kind = \"openai\"\nextra_headers = { x-team = \"b\" }");
    let server = server.restart_with(changed).await;
    let stale = captured(&server, &made.prepared_id, "r").await.unwrap_err();
    refused::is(&stale, Code::FailedPrecondition, Reason::PreparedStale);
    assert_eq!((refused::fact(&stale, "prepared_id"), provider.count()), (made.prepared_id.clone(), 0));
    std::fs::write(&key, "sk-second-secret\n").unwrap();
    let server = server.restart_with(config.replace("[backends.stub]", "[backends.stub]\ncapacity = 3")).await;
    captured(&server, &made.prepared_id, "r").await.unwrap();
    assert_eq!(provider.request(0).await.header("authorization"), Some("Bearer sk-second-secret"));
    let id = prepared(&server, prepare(ask::text("x"), true)).await.prepared_id;
    let gone =
        "default_profile = \"c\"\n[profiles.c]\nbackend = \"c\"\nmodel = \"m\"\n[backends.c]\nkind = \"scripted\"\n";
    let server = server.restart_with(gone).await;
    refused::is(&captured(&server, &id, "").await.unwrap_err(), Code::FailedPrecondition, Reason::PreparedStale);
}

/// One that expired, one that never was, and one whose id says nothing are all the same; a run of it that is on record keeps its answer. The
/// next one that is made removes what has expired.
#[tokio::test(flavor = "multi_thread")]
async fn what_expired_is_not_there_any_more() {
    let clock = Arc::new(Set(AtomicU64::new(1_700_000_000_000)));
    let provider = Provider::start([stub::text("one")]).await;
    let config =
        format!("{}[limits]\nprepared_expiry_minutes = 1\nmax_prepared_hours = 2\n", openai(&provider.base_url()));
    let server = Running::start_with(config, Sources { clock: clock.clone(), ..Sources::real() }).await;
    let used = prepared(&server, prepare(ask::text("x"), true)).await;
    assert_eq!(used.expire_time.unwrap().seconds, 1_700_000_060);
    captured(&server, &used.prepared_id, "r").await.unwrap();
    let until = |seconds| Some(prost_types::Timestamp { seconds, nanos: 0 });
    let later = pb::PrepareRequest { expire_time: until(1_700_003_600), ..prepare(ask::text("y"), true) };
    let later = prepared(&server, later).await.prepared_id;
    let unused = prepared(&server, prepare(ask::text("z"), true)).await.prepared_id;
    for (seconds, reason) in [(1_700_000_000, Reason::InvalidFields), (1_700_007_201, Reason::LimitExceeded)] {
        let request = pb::PrepareRequest { expire_time: until(seconds), ..prepare(ask::text("y"), true) };
        let refusal = server.exchanges().prepare(request).await.unwrap_err();
        refused::is(&refusal, Code::InvalidArgument, reason);
        assert_eq!(refused::fields(&refusal), ["expire_time"]);
    }
    assert_eq!(stored(&server).await, 3);
    clock.0.fetch_add(60_000, Ordering::SeqCst);
    for id in [unused.as_str(), used.prepared_id.as_str(), "018bcfe5-6800-7000-8000-000000000000"] {
        let gone = captured(&server, id, "").await.unwrap_err();
        refused::is(&gone, Code::NotFound, Reason::PreparedNotFound);
    }
    clock.0.fetch_add(1, Ordering::SeqCst);
    prepared(&server, prepare(ask::text("w"), true)).await;
    assert_eq!(stored(&server).await, 2, "what expired is removed with the next one that is made");
    let again = captured(&server, &used.prepared_id, "r").await.unwrap();
    assert!(again.replayed);
    let explained = pb::ExplainRequest { subject: Some(pb::explain_request::Subject::Capture(capture(&later, ""))) };
    let explanation = server.exchanges().explain(explained).await.unwrap().into_inner().explanation.unwrap();
    assert_eq!((ask::texts(&explanation.messages), provider.count()), (vec!["U:y".to_owned()], 1));
}

/// How many are in the store, which finds nothing wrong with itself.
async fn stored(server: &Running) -> u64 {
    let mut stream = server.admin().verify(pb::VerifyRequest::default()).await.unwrap().into_inner();
    let mut checked = Vec::new();
    while let Some(part) = stream.message().await.unwrap() {
        match part.event {
            Some(pb::verify_response::Event::Completed(done)) => checked = done.checked,
            Some(pb::verify_response::Event::Finding(finding)) => panic!("{finding:?}"),
            _ => {}
        }
    }
    checked.iter().find(|checked| checked.kind == "prepared execution").map_or(0, |checked| checked.count)
}

/// What is wrong is told before anything is kept; a failed execution uses it up, and one that was refused before its claim does not.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_keep_nothing_and_use_nothing_up() {
    let provider = Provider::start([stub::status(500, "broken")]).await;
    let server = Running::start(openai_with(&provider.base_url(), stub::ONCE)).await;
    let retry = pb::ExecutionRequest { retry: true, ..ask::text_as("r", "x") };
    let refusal = server.exchanges().prepare(prepare(retry, true)).await.unwrap_err();
    assert_eq!(refused::fields(&refusal), ["request.retry"]);
    let person = pb::Tool { requires_human: true, ..ask::tool("sign") };
    let tools = pb::ExecutionRequest { tools: Some(pb::ToolList { tools: vec![person] }), ..ask::text("x") };
    let id = prepared(&server, prepare(tools, true)).await.prepared_id;
    refused::is(&captured(&server, &id, "").await.unwrap_err(), Code::FailedPrecondition, Reason::RunIdRequired);
    let failed = captured(&server, &id, "r").await.unwrap_err();
    refused::is(&failed, Code::Unavailable, Reason::ProviderUnavailable);
    let again = captured(&server, &id, "r").await.unwrap_err();
    assert_eq!(
        (refused::reason(&again), refused::fact(&again, "replayed")),
        ("PROVIDER_UNAVAILABLE".into(), "true".into())
    );
    refused::is(&captured(&server, &id, "s").await.unwrap_err(), Code::FailedPrecondition, Reason::PreparedUsed);
    assert_eq!((provider.count(), look::runs(&server).await.len()), (1, 1));
}
