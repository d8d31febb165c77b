//! Explain: the exact request that would be sent, or was, without calling anybody and without leaving anything.

use antiphon::domain::fault::Reason;
use antiphon::domain::id::Hash;
use antiphon::grpc::pb;
use pb::explain_request::Subject;
use serde_json::Value;
use tonic::Code;

use crate::support::coordinate::{Loop, start, turn};
use crate::support::provider::{Gate, Provider};
use crate::support::server::{Running, openai, openai_with};
use crate::support::{ask, refused};
use crate::{look, stub};

async fn explain(server: &Running, subject: Subject) -> pb::ExplainResponse {
    let request = pb::ExplainRequest { subject: Some(subject) };
    server.exchanges().explain(request).await.unwrap().into_inner()
}

async fn refusal(server: &Running, subject: Option<Subject>) -> tonic::Status {
    server.exchanges().explain(pb::ExplainRequest { subject }).await.unwrap_err()
}

async fn sent(server: &Running, exchange_id: &str) -> (pb::Explanation, pb::SentBody) {
    let explained = explain(server, Subject::Exchange(ask::point(exchange_id))).await;
    (explained.explanation.unwrap(), explained.sent.unwrap())
}

async fn capture(server: &Running, request: pb::CaptureRequest) -> pb::Exchange {
    server.exchanges().capture(request).await.unwrap().into_inner().exchange.unwrap()
}

fn settings(explanation: &pb::Explanation) -> Vec<(&str, &str, pb::SettingSource)> {
    let setting = |setting: &'_ pb::EffectiveSetting| setting.source();
    explanation.effective_settings.iter().map(|s| (s.name.as_str(), s.value_json.as_str(), setting(s))).collect()
}

/// What Explain says a turn would send is what the turn sends, byte for byte; and nobody was called, and nothing written, to say it.
#[tokio::test(flavor = "multi_thread")]
async fn what_would_be_sent_is_what_is_sent() {
    let provider = Provider::start([stub::text("one"), stub::text("two")]).await;
    let more = "extra_headers = { x-team = \"a\" }\n[backends.stub.quirks]\nsystem_position = \"first\"\n";
    let server = Running::start(openai_with(&provider.base_url(), more)).await;
    let request = pb::ExecutionRequest {
        parameters: Some(pb::Parameters { temperature: Some(0.5), ..Default::default() }),
        tools: ask::tools(&["look"]),
        ..ask::text_as("r1", "hello")
    };
    let first = ask::capture_on_new("t", request);
    let would = explain(&server, Subject::Capture(first.clone())).await;
    assert!(would.sent.is_none());
    let would = would.explanation.unwrap();
    assert_eq!((provider.count(), look::runs(&server).await.len(), look::threads(&server).await.len()), (0, 0, 0));
    let exchange = capture(&server, first).await;
    let body = provider.request(0).await.body;
    assert_eq!(would.body_json.as_bytes(), &body[..]);
    assert_eq!(would.body_blake3, Hash::of(&body).to_string());
    assert_eq!(would.body_blake3, exchange.observations[0].request_blake3);
    assert_eq!(would.effective_settings, exchange.effective_settings);
    assert_eq!(
        (would.tools.clone(), ask::texts(&would.messages)),
        (exchange.tools.clone(), vec!["U:hello".to_owned()])
    );
    let told = settings(&would);
    assert!(told.contains(&("parameters.temperature", "0.5", pb::SettingSource::Request)), "{told:?}");
    assert!(told.contains(&("profile_id", "\"stub\"", pb::SettingSource::Default)), "{told:?}");

    // A system message in the middle is adapted, which is told with its reason.
    let brief =
        pb::ExecutionRequest { messages: vec![ask::said(pb::Role::System, "be brief")], ..ask::text("and now?") };
    let next = ask::on_thread(ask::on("t"), brief);
    let would = explain(&server, Subject::Turn(next.clone())).await.explanation.unwrap();
    assert_eq!(ask::texts(&would.messages), ["U:hello", "A:one", "S:be brief", "U:and now?"]);
    let adapted = &would.adaptations[0];
    assert!(adapted.code == "system_sent_as_user" && adapted.message.contains("since"), "{adapted:?}");
    assert_eq!((provider.count(), look::thread(&server, "t").await.head_exchange_id), (1, exchange.exchange_id));
    let done = server.exchanges().r#continue(next).await.unwrap().into_inner().exchange.unwrap();
    assert_eq!(would.body_json.as_bytes(), &provider.request(1).await.body[..]);
    assert_eq!(done.observations[0].adaptations, ["system_sent_as_user"]);
}

/// An exchange is explained from what is stored, whatever is configured since: the same body, or why it is another one.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_is_derived_again_and_checked() {
    let provider =
        Provider::start([stub::text("one"), stub::streamed(&["two"]), stub::text("{\"a\":1}"), stub::text("[]")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let brief = pb::ExecutionRequest { messages: vec![ask::said(pb::Role::System, "be brief")], ..ask::text("hello") };
    let first = capture(&server, ask::capture_on_new("t", brief)).await;
    let next = ask::on_thread(ask::on("t"), ask::text("and now?"));
    let mut stream =
        server.exchanges().stream_continue(pb::StreamContinueRequest { turn: Some(next) }).await.unwrap().into_inner();
    while stream.message().await.unwrap().is_some() {}
    let second = look::thread(&server, "t").await.head_exchange_id;
    let schema = pb::JsonSchemaContract { schema_json: "{\"type\":\"array\"}".into(), name: String::new() };
    let repaired = pb::ExecutionRequest {
        contract: Some(pb::Contract { form: Some(pb::contract::Form::JsonSchema(schema)) }),
        repair: Some(pb::Repair { attempts: 1 }),
        ..ask::text("a list")
    };
    let third = capture(&server, ask::capture(repaired)).await.exchange_id;
    for (number, id) in [(0, &first.exchange_id), (1, &second), (2, &third)] {
        let (explanation, sent) = sent(&server, id).await;
        let body = provider.request(number).await.body;
        assert!(sent.matches && sent.difference.is_empty(), "{sent:?}");
        assert_eq!((explanation.body_json.as_bytes(), sent.body_bytes), (&body[..], body.len() as u64));
        assert_eq!(sent.body_blake3, explanation.body_blake3);
    }
    let (explanation, _) = sent(&server, &second).await;
    assert_eq!(ask::texts(&explanation.messages), ["S:be brief", "U:hello", "A:one", "U:and now?"]);
    assert_eq!(provider.count(), 4);

    // Another form of the same request: the difference is told, and what it comes from.
    let changed =
        openai_with(&provider.base_url(), "[backends.stub.quirks]\nmax_tokens_field = \"max_completion_tokens\"\n");
    let changed = changed.replace("model = \"stub-1\"", "model = \"stub-2\"\nparameters = { max_output_tokens = 5 }");
    let server = server.restart_with(changed).await;
    // Model and parameters are those of the exchange, so only the quirk could matter, and here it does not.
    assert!(sent(&server, &first.exchange_id).await.1.matches);
    let told = "[backends.stub.quirks]\nsystem_role = \"developer\"\n";
    let server = server.restart_with(openai_with(&provider.base_url(), told)).await;
    let (explanation, otherwise) = sent(&server, &first.exchange_id).await;
    assert!(!otherwise.matches && otherwise.difference.contains("backend `stub`"), "{otherwise:?}");
    assert_ne!(explanation.body_blake3, otherwise.body_blake3);
    assert_eq!(otherwise.body_blake3, first.observations[0].request_blake3);
    let gone =
        "default_profile = \"c\"\n[profiles.c]\nbackend = \"c\"\nmodel = \"m\"\n[backends.c]\nkind = \"scripted\"\n";
    let server = server.restart_with(gone).await;
    let (explanation, sent) = sent(&server, &first.exchange_id).await;
    assert!(!sent.matches && sent.difference.contains("no backend `stub`"), "{sent:?}");
    assert_eq!((explanation.body_json.as_str(), ask::texts(&explanation.messages).len()), ("", 2));
    assert_eq!(provider.count(), 4);
}

/// Calls that others made have no body here, which is said and is no error.
#[tokio::test(flavor = "multi_thread")]
async fn calls_of_others_have_no_body() {
    let server = Running::echo().await;
    let transcript = ask::record(vec![ask::user("q"), ask::assistant("a")]);
    let id = server.exchanges().record(transcript).await.unwrap().into_inner().exchange_id;
    let (explanation, sent) = sent(&server, &id).await;
    assert_eq!((sent.matches, sent.body_blake3.as_str(), explanation.body_json.as_str()), (false, "", ""));
    assert!(sent.difference.contains("did not make the call"), "{sent:?}");
    assert_eq!(ask::texts(&explanation.messages), ["U:q"]);
    assert_eq!(look::runs(&server).await.len(), 1);
}

/// A thread that is busy is looked at as it is: nothing waits, nothing is cancelled, and the line stays as it was.
#[tokio::test(flavor = "multi_thread")]
async fn a_busy_thread_is_only_looked_at() {
    let gate = Gate::closed();
    let provider = Provider::start([stub::text("one"), stub::text("two").wait(&gate)]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let first = capture(&server, ask::capture_on_new("t", ask::text("hello"))).await;
    let mut client = server.exchanges();
    let working =
        tokio::spawn(async move { client.r#continue(ask::on_thread(ask::on("t"), ask::text_as("r", "2"))).await });
    provider.request(1).await;
    for on_busy in [pb::OnBusy::Unspecified, pb::OnBusy::Enqueue, pb::OnBusy::Interrupt, pb::OnBusy::Fork] {
        let point = pb::ThreadPoint { on_busy: on_busy.into(), ..ask::on("t") };
        let would = explain(&server, Subject::Turn(ask::on_thread(point, ask::text("3")))).await.explanation.unwrap();
        assert_eq!(ask::texts(&would.messages), ["U:hello", "A:one", "U:3"]);
    }
    assert_eq!((look::threads(&server).await.len(), provider.count()), (1, 2));
    gate.open();
    let done = working.await.unwrap().unwrap().into_inner().exchange.unwrap();
    assert_eq!((done.text.as_str(), done.parent_exchange_id.as_str()), ("two", first.exchange_id.as_str()));
}

/// Results of tools go on with the run's own settings, so what they would send is told as well.
#[tokio::test(flavor = "multi_thread")]
async fn a_step_with_results_is_explained() {
    let provider = Provider::start([stub::calls(&[("c1", "look", "{}")]), stub::text("done")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let asked = capture(&server, ask::capture(stub::offering("r", "look"))).await;
    let results = ask::after_with(&asked.exchange_id, vec![ask::result(&asked.pending_tool_calls[0].call_id, "x")]);
    let would = explain(&server, Subject::Turn(results.clone())).await.explanation.unwrap();
    assert_eq!(look::run(&server, "r").await.state(), pb::RunState::PendingTools);
    server.exchanges().r#continue(results).await.unwrap();
    assert_eq!(would.body_json.as_bytes(), &provider.request(1).await.body[..]);
    let call: Value = serde_json::from_str(&would.body_json).unwrap();
    assert_eq!(call["messages"][2]["tool_call_id"], "c1");
}

/// What the turn itself would be refused for, Explain is refused for, by the field's place in its own request; a missing key is no reason, and
/// a key is nowhere in it.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_those_of_the_turn_and_no_key_is_needed_or_told() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "sk-very-secret-key\n").unwrap();
    let provider = Provider::start([]).await;
    let more = format!("api_key_file = {:?}\n", key.display().to_string());
    let server = Running::start(openai_with(&provider.base_url(), &more)).await;
    let would = explain(&server, Subject::Capture(ask::capture(ask::text("x")))).await;
    assert!(!format!("{would:?}").contains("very-secret"));
    let nobody = Running::start(openai_with(&provider.base_url(), "requires_credential = true\n")).await;
    explain(&nobody, Subject::Capture(ask::capture(ask::text("x")))).await;

    let nothing = refusal(&server, None).await;
    refused::is(&nothing, Code::InvalidArgument, Reason::InvalidFields);
    assert_eq!(refused::fields(&nothing), ["subject"]);
    let profile = pb::ExecutionRequest { profile_id: "stbu".into(), ..ask::text("x") };
    let unknown = refusal(&server, Some(Subject::Capture(ask::capture(profile)))).await;
    refused::is(&unknown, Code::InvalidArgument, Reason::ProfileUnknown);
    let choice = pb::tool_choice::Choice::Required(pb::ToolChoiceRequired {});
    let tools = pb::ExecutionRequest { tool_choice: Some(pb::ToolChoice { choice: Some(choice) }), ..ask::text("x") };
    let wrong = refusal(&server, Some(Subject::Capture(ask::capture(tools)))).await;
    assert_eq!(refused::fields(&wrong), ["capture.request.tool_choice"]);
    let nowhere = "0190a5c1-7b1e-7000-8000-000000000000";
    for subject in [Subject::Exchange(ask::point(nowhere)), Subject::Turn(ask::after(nowhere, ask::text("x")))] {
        refused::is(&refusal(&server, Some(subject)).await, Code::NotFound, Reason::ExchangeNotFound);
    }
    assert_eq!(provider.count(), 0);
}

/// An exchange whose model the client of a coordination called was sent by that client.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_a_client_is_the_clients() {
    let more = "[profiles.mine]\nbackend = \"mine\"\nmodel = \"m\"\n[backends.mine]\nkind = \"client\"\n";
    let server = Running::start(crate::support::server::scripted("") + more).await;
    let head = capture(&server, ask::capture(ask::text("x"))).await.exchange_id;
    let mut stream = Loop::start(&server, start(&head, 1)).await;
    stream.decision().await;
    stream.act(turn(pb::ExecutionRequest { profile_id: "mine".into(), ..ask::text("y") })).await;
    let needed = loop {
        if let pb::coordinate_response::Frame::GenerationNeeded(needed) = stream.news().await {
            break needed;
        }
    };
    let answer = pb::GeneratedAnswer {
        assistant: Some(ask::assistant("z")),
        stop_reason: pb::StopReason::Stop.into(),
        ..Default::default()
    };
    let outcome = Some(pb::generated::Outcome::Answer(answer));
    let generated = pb::Generated { generation_id: needed.generation_id, outcome };
    stream.say(pb::coordinate_request::Frame::Generated(generated)).await;
    let id = stream.decision().await.exchange.unwrap().exchange_id;
    let (explanation, sent) = sent(&server, &id).await;
    assert_eq!((sent.matches, sent.body_blake3.as_str()), (false, ""));
    assert_eq!(ask::texts(&explanation.messages).last().unwrap(), "U:y");
}

/// Where a fallback answered, it is its body that is derived and compared, not that of the one in whose place it did.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_fallback_sent_is_what_is_explained() {
    let (near, far) = (Provider::start([stub::status(502, "broke")]).await, Provider::start([stub::text("ok")]).await);
    let backend = |name: &str, provider: &Provider, more: &str| {
        let (url, once) = (provider.base_url(), stub::ONCE);
        format!(
            "[profiles.{name}]\nbackend = \"{name}\"\nmodel = \"model-{name}\"\n{more}\
             [backends.{name}]\nkind = \"openai\"\nbase_url = \"{url}\"\n{once}"
        )
    };
    let near = backend("near", &near, "fallback = [\"far\"]\n");
    let server = Running::start(format!("default_profile = \"near\"\n{near}{}", backend("far", &far, ""))).await;
    let exchange = capture(&server, ask::capture(ask::text("hello"))).await;
    let (explained, sent) = sent(&server, &exchange.exchange_id).await;
    assert!(sent.matches && sent.difference.is_empty(), "{sent:?}");
    assert_eq!(explained.body_json.as_bytes(), &far.request(0).await.body[..]);
}
