//! Capture, Continue and Inspect: what is kept is what was sent, and nothing that comes later changes it.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::Code;

use crate::support::coordinate::{Loop, start, turn};
use crate::support::provider::{Entry, Provider};
use crate::support::server::{Running, openai, scripted};
use crate::support::{ask, refused};

/// An answer in OpenAI's form.
fn answer(text: &str) -> Entry {
    Entry::json(
        &serde_json::json!({
            "id": "a1", "object": "chat.completion", "model": "stub-1",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        })
        .to_string(),
    )
}

fn sent(body: &serde_json::Value) -> Vec<String> {
    let messages = body["messages"].as_array().expect("messages");
    messages.iter().map(|message| format!("{}:{}", message["role"].as_str().unwrap(), message["content"])).collect()
}

/// S4-7, S4-9, S4-18, S4-19, S4-22, S4-40: history, then the follow-up, in order and with their roles, in the request that goes out.
#[tokio::test(flavor = "multi_thread")]
async fn a_follow_up_sends_the_history_that_was_captured() {
    let provider = Provider::start([answer("Lisbon."), answer("Trams.")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let request = pb::ExecutionRequest {
        messages: vec![ask::said(pb::Role::System, "Be brief."), ask::user("A city?")],
        ..Default::default()
    };
    let first = client.capture(ask::capture(request)).await.unwrap().into_inner().exchange.unwrap();
    assert_eq!((first.text.as_str(), first.depth, first.turn), ("Lisbon.", 1, 1));
    let second = client.r#continue(ask::after(&first.exchange_id, ask::text("Known for?"))).await.unwrap();
    let second = second.into_inner().exchange.unwrap();
    assert_eq!(second.parent_exchange_id, first.exchange_id);
    assert_eq!((second.depth, second.turn), (2, 2));
    let body = provider.request(1).await.json();
    let expected = ["system:\"Be brief.\"", "user:\"A city?\"", "assistant:\"Lisbon.\"", "user:\"Known for?\""];
    assert_eq!(sent(&body), expected);
    let inspected = client.inspect(ask::inspect(&second.exchange_id)).await.unwrap().into_inner();
    let history = ["S:Be brief.", "U:A city?", "A:Lisbon.", "U:Known for?", "A:Trams."];
    assert_eq!(ask::texts(&inspected.messages), history);
    assert_eq!(provider.unscripted(), 0);
}

/// S0-40, S0-8: whichever way in is used, the provider is sent the same messages for the same turn; what a caller gives beside its text comes where it
/// stands.
#[tokio::test(flavor = "multi_thread")]
async fn every_way_in_sends_the_same_messages() {
    let provider = Provider::start((0..8).map(|number| answer(&format!("answer {number}")))).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let begin = ask::capture_on_new("t", ask::text("one"));
    let first = client.capture(begin).await.unwrap().into_inner().exchange.unwrap().exchange_id;
    let next = || pb::ExecutionRequest { messages: vec![ask::user("given")], ..ask::text("next") };

    client.r#continue(ask::after(&first, next())).await.unwrap();
    let bare = ask::fork(&first, vec![ask::branch("bare", None), ask::branch("begun", Some(next()))]);
    client.fork(bare).await.unwrap();
    client.r#continue(ask::on_thread(ask::on("bare"), next())).await.unwrap();
    let streamed = pb::StreamContinueRequest { turn: Some(ask::on_thread(ask::on("t"), next())) };
    let mut stream = client.stream_continue(streamed).await.unwrap().into_inner();
    while stream.message().await.unwrap().is_some() {}
    client.probe(ask::probe(&first, next())).await.unwrap();
    let from = Some(pb::prepare_request::From::Exchange(ask::point(&first)));
    let prepare = pb::PrepareRequest { request: Some(next()), from, ..Default::default() };
    let prepared_id = client.prepare(prepare).await.unwrap().into_inner().prepared_id;
    let prepared = pb::PreparedExecution { prepared_id, ..Default::default() };
    let execution = Some(pb::run_request::Execution::Prepared(prepared));
    client.run(pb::RunRequest { execution, ..Default::default() }).await.unwrap();
    let mut talk = Loop::start(&server, start(&first, 1)).await;
    talk.decision().await;
    talk.act(turn(next())).await;
    talk.decision().await;

    assert_eq!((provider.count(), provider.unscripted()), (8, 0));
    for number in 1..8 {
        let body = provider.request(number).await.json();
        let expected = ["user:\"one\"", "assistant:\"answer 0\"", "user:\"given\"", "user:\"next\""];
        assert_eq!(sent(&body), expected, "way {number}");
    }
}

/// S4-30: of what a provider wrapped its answer in nothing is kept but what was said and what it consumed.
#[tokio::test(flavor = "multi_thread")]
async fn no_envelope_of_a_provider_is_kept() {
    let enveloped = serde_json::json!({
        "id": "a1", "object": "chat.completion", "model": "stub-1", "canary_key": "canary-envelope",
        "choices": [{
            "index": 0, "message": {"role": "assistant", "content": "what was said"}, "finish_reason": "stop",
            "canary_choice": "canary-envelope",
        }],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    });
    let provider = Provider::start([Entry::json(&enveloped.to_string()).header("x-canary", "canary-envelope")]).await;
    let mut server = Running::start(openai(&provider.base_url())).await;
    let made = server.exchanges().capture(ask::capture(ask::text("hello"))).await.unwrap().into_inner();
    assert!(!format!("{made:?}").contains("canary"), "{made:?}");
    server.stop().await;
    let has = |bytes: &[u8], word: &str| bytes.windows(word.len()).any(|window| window == word.as_bytes());
    let files: Vec<Vec<u8>> = walk(&server.folder()).into_iter().map(|file| std::fs::read(file).unwrap()).collect();
    assert!(files.iter().any(|bytes| has(bytes, "what was said")), "the answer is in a file as it is");
    for word in ["canary-envelope", "canary_key", "canary_choice"] {
        assert!(!files.iter().any(|bytes| has(bytes, word)), "{word} was stored");
    }
}

/// S4-21, S4-24, S4-90, S4-91: an exchange is the same after everything that follows, and inspecting calls nobody.
#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_never_changes() {
    let provider = Provider::start([answer("one"), answer("two"), answer("three")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let first = client.capture(ask::capture(ask::text("1"))).await.unwrap().into_inner().exchange.unwrap();
    let before = client.inspect(ask::inspect(&first.exchange_id)).await.unwrap().into_inner();
    for text in ["2", "3"] {
        client.r#continue(ask::after(&first.exchange_id, ask::text(text))).await.unwrap();
    }
    let after = client.inspect(ask::inspect(&first.exchange_id)).await.unwrap().into_inner();
    assert_eq!(before, after);
    assert_eq!(provider.count(), 3);
    let server = server.restart().await;
    let again = server.exchanges().inspect(ask::inspect(&first.exchange_id)).await.unwrap().into_inner();
    assert_eq!(before, again);
}

/// S4-25, S4-28, S4-T4, S4-T5: another server with another configuration continues what the first one captured.
#[tokio::test(flavor = "multi_thread")]
async fn another_configuration_continues_it() {
    let server = Running::start(scripted("")).await;
    let first = server.exchanges().capture(ask::capture(ask::text("hello"))).await.unwrap().into_inner();
    let first = first.exchange.unwrap();
    let provider = Provider::start([answer("from the other")]).await;
    let server = server.restart_with(openai(&provider.base_url())).await;
    let next = server.exchanges().r#continue(ask::after(&first.exchange_id, ask::text("and?"))).await.unwrap();
    assert_eq!(next.into_inner().exchange.unwrap().text, "from the other");
    assert_eq!(sent(&provider.request(0).await.json()).len(), 3);
}

/// S0-38, S4-14: a Run keeps state and usage, never content, and can still be continued with what it returned (S0-11, S0-12).
#[tokio::test(flavor = "multi_thread")]
async fn an_uncaptured_run_is_continued_with_what_it_returned() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    let request = pb::RunRequest {
        execution: Some(pb::run_request::Execution::Request(ask::text_as("run-1", "first"))),
        include_rendered_messages: true,
        capture: None,
    };
    let ran = client.run(request).await.unwrap().into_inner();
    assert!(ran.exchange.is_none());
    assert_eq!(ask::texts(&ran.rendered_messages), ["U:first"]);
    let run =
        server.runs().get(pb::RunServiceGetRequest { run_id: "run-1".into() }).await.unwrap().into_inner().run.unwrap();
    assert_eq!((run.state(), run.captured, run.exchange_id.as_str()), (pb::RunState::Completed, false, ""));
    let prefix = || pb::UncapturedPrefix {
        rendered_messages: ran.rendered_messages.clone(),
        assistant: ran.assistant.clone(),
        run_id: "run-1".into(),
        facts: None,
    };
    let follow = |text: &str| pb::ContinueRequest {
        from: Some(pb::continue_request::From::UncapturedPrefix(prefix())),
        input: Some(pb::continue_request::Input::Request(ask::text(text))),
    };
    let next = client.r#continue(follow("second")).await.unwrap().into_inner().exchange.unwrap();
    assert_eq!((next.depth, next.turn), (2, 2));
    let history = client.inspect(ask::inspect(&next.exchange_id)).await.unwrap().into_inner();
    assert_eq!(ask::texts(&history.messages)[..2], ["U:first".to_owned(), format!("A:{}", ran.text)]);
    let other = client.r#continue(follow("third")).await.unwrap().into_inner().exchange.unwrap();
    assert_eq!(other.parent_exchange_id, next.parent_exchange_id, "the shared prefix is stored once");
    let run =
        server.runs().get(pb::RunServiceGetRequest { run_id: "run-1".into() }).await.unwrap().into_inner().run.unwrap();
    assert_eq!((run.captured, run.exchange_id), (true, next.parent_exchange_id));
}

/// S4-32..39: settings are resolved anew, each with its source, and none is inherited.
#[tokio::test(flavor = "multi_thread")]
async fn settings_are_never_inherited() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    let request = pb::ExecutionRequest {
        model: "other".into(),
        session_id: "s1".into(),
        parameters: Some(pb::Parameters { temperature: Some(0.5), ..Default::default() }),
        ..ask::text("a")
    };
    let first = client.capture(ask::capture(request)).await.unwrap().into_inner().exchange.unwrap();
    let setting = |exchange: &pb::Exchange, name: &str| {
        let found = exchange.effective_settings.iter().find(|setting| setting.name == name);
        found.map(|setting| (setting.value_json.clone(), setting.source()))
    };
    assert_eq!(setting(&first, "model"), Some(("\"other\"".into(), pb::SettingSource::Request)));
    assert_eq!(setting(&first, "parameters.temperature"), Some(("0.5".into(), pb::SettingSource::Request)));
    let second = client.r#continue(ask::after(&first.exchange_id, ask::text("b"))).await.unwrap();
    let second = second.into_inner().exchange.unwrap();
    assert_eq!(setting(&second, "model"), Some(("\"canned-1\"".into(), pb::SettingSource::Profile)));
    assert_eq!(setting(&second, "parameters.temperature"), None);
    assert_eq!(setting(&second, "session_id"), None);
}

/// What a call may not leave out or make up is refused by its path before any work.
#[tokio::test(flavor = "multi_thread")]
async fn bad_fields_are_named_by_their_paths() {
    let provider = Provider::start([]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let empty = client.capture(pb::CaptureRequest::default()).await.unwrap_err();
    refused::is(&empty, Code::InvalidArgument, Reason::InvalidFields);
    let request = pb::ExecutionRequest {
        run_id: "no spaces".into(),
        messages: vec![pb::Message { role: 99, parts: vec![] }, ask::user("x")],
        ..Default::default()
    };
    let wrong = client.capture(ask::capture(request)).await.unwrap_err();
    let fields = refused::fields(&wrong);
    assert!(fields.contains(&"request.run_id".to_owned()), "{fields:?}");
    assert!(fields.contains(&"request.messages[0].role".to_owned()), "{fields:?}");
    let unknown = client.inspect(ask::inspect("0190a5c1-7b1e-7000-8000-000000000000")).await.unwrap_err();
    refused::is(&unknown, Code::NotFound, Reason::ExchangeNotFound);
    let profile = pb::ExecutionRequest { profile_id: "nope".into(), ..ask::text("x") };
    let profile = client.capture(ask::capture(profile)).await.unwrap_err();
    refused::is(&profile, Code::InvalidArgument, Reason::ProfileUnknown);
    assert_eq!(refused::fact(&profile, "known_profiles"), "stub");
    assert_eq!(provider.count(), 0);
}

/// S4-26, S4-36: a caller's own credential is used for its call, and for no other.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_brings_its_own_credential_for_one_call() {
    let provider = Provider::start([answer("one"), answer("two")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let mut request = tonic::Request::new(ask::capture(ask::text("hello")));
    request.metadata_mut().insert("antiphon-provider-credential", "sk-of-the-caller".parse().unwrap());
    let first = client.capture(request).await.unwrap().into_inner().exchange.unwrap();
    assert_eq!(provider.request(0).await.header("authorization"), Some("Bearer sk-of-the-caller"));
    client.r#continue(ask::after(&first.exchange_id, ask::text("again"))).await.unwrap();
    assert_eq!(provider.request(1).await.header("authorization"), None);
    for entry in walk(&server.folder()) {
        let bytes = std::fs::read(entry).unwrap();
        assert!(!bytes.windows(16).any(|window| window == b"sk-of-the-caller"), "a credential was stored");
    }
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
