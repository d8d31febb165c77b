use bytes::Bytes;
use futures::FutureExt;
use tokio::time::Instant;

use super::*;
use crate::domain::message::{Message, Role, ToolResult};
use crate::domain::run::StopReason;
use crate::domain::settings::{Contract, Parameters, ToolChoice};
use crate::domain::tool::Tool;
use crate::domain::usage::Completeness;

fn backend(settings: &str) -> Scripted {
    let config: Config = toml::from_str(settings).unwrap();
    assert_eq!(config.problems(), []);
    Scripted::new(config)
}

fn call(messages: Vec<Message>) -> Call {
    Call {
        model: "m".to_owned(),
        messages,
        tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        parameters: Parameters::default(),
        contract: Contract::Text,
        session_id: None,
        stream: false,
    }
}

fn user(text: &str) -> Message {
    Message::text(Role::User, text)
}

#[derive(Default)]
struct Pot(Vec<Delta>);

impl Sink for Pot {
    fn first_byte(&mut self) {}

    fn delta(&mut self, delta: Delta) {
        self.0.push(delta);
    }
}

async fn send(backend: &Scripted, call: &Call) -> (Result<Reply, Failure>, Vec<Delta>) {
    let mut pot = Pot::default();
    let outbound = backend.encode(call).unwrap();
    let reply = backend.send(&outbound, None, &mut pot).await;
    (reply, pot.0)
}

async fn text(backend: &Scripted, call: &Call) -> String {
    let reply = send(backend, call).await.0.unwrap();
    Message { role: Role::Assistant, parts: reply.parts }.joined_text()
}

#[tokio::test(start_paused = true)]
async fn without_rules_the_last_user_is_echoed_with_the_length_of_the_history() {
    let echo = backend("");
    assert_eq!(text(&echo, &call(vec![user("hi")])).await, "You said: hi (message 1 of the history)");
    let longer = vec![user("hi"), Message::text(Role::Assistant, "ho"), user("again")];
    assert_eq!(text(&echo, &call(longer.clone())).await, "You said: again (message 3 of the history)");
    let json = Call { contract: Contract::Json, ..call(longer) };
    assert_eq!(text(&echo, &json).await, r#"{"said":"again","message":3}"#);
}

#[tokio::test(start_paused = true)]
async fn rules_answer_in_order_by_text_model_turn_and_times() {
    let script = backend(
        r#"
        [[rules]]
        when = "weather"
        times = 1
        text = "Sunny in {model}, turn {turn} of {message_count}: {user_texts} {unknown} {"
        [[rules]]
        when = "weather"
        text = "Still sunny"
        [[rules]]
        model = "other"
        text = "Other"
        [[rules]]
        turn = 2
        json = { n = 1, said = ["{last_user}"] }
        "#,
    );
    let ask = call(vec![user("the weather?")]);
    assert_eq!(text(&script, &ask).await, "Sunny in m, turn 1 of 1: the weather? {unknown} {");
    assert_eq!(text(&script, &ask).await, "Still sunny");
    assert_eq!(text(&script, &Call { model: "other".to_owned(), ..call(vec![user("x")]) }).await, "Other");
    let second = call(vec![user("a"), Message::text(Role::Assistant, "b"), user("\"{turn}\"")]);
    assert_eq!(text(&script, &second).await, r#"{"n":1,"said":["\"{turn}\""]}"#);
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_calls_tools_answers_users_and_not_results() {
    let script = backend(
        "[[rules]]\nwhen = \"time\"\ntool_calls = [{ name = \"now\", arguments = { zone = \"{last_user}\" } }]",
    );
    let reply = send(&script, &call(vec![user("time?")])).await.0.unwrap();
    assert_eq!(reply.stop_reason, StopReason::ToolCalls);
    let asking = Message { role: Role::Assistant, parts: reply.parts };
    assert_eq!(asking.tool_calls().next().unwrap().arguments_json, r#"{"zone":"time?"}"#);
    let result = ToolResult {
        call_id: asking.tool_calls().next().unwrap().call_id.clone(),
        parts: vec![Part::text("noon")],
        is_error: false,
        interrupted: false,
    };
    let results = Message { role: Role::Tool, parts: vec![Part::new(Kind::ToolResult(result))] };
    let after = call(vec![user("time?"), asking, results]);
    assert_eq!(text(&script, &after).await, "The tool answered: noon (message 3 of the history)");
}

#[tokio::test(start_paused = true)]
async fn a_required_tool_is_called() {
    let tool = Tool {
        name: "now".to_owned(),
        description: String::new(),
        input_schema_json: "{}".to_owned(),
        side_effects: false,
        requires_human: false,
    };
    for tool_choice in [ToolChoice::Required, ToolChoice::Named("now".to_owned())] {
        let asked = Call { tools: vec![tool.clone()], tool_choice, ..call(vec![user("x")]) };
        let reply = send(&backend(""), &asked).await.0.unwrap();
        assert_eq!(Message { role: Role::Assistant, parts: reply.parts }.tool_calls().count(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn streamed_pieces_joined_give_the_final_parts_with_gaps_between() {
    let script = backend(
        "chunk_chars = 3\nchunk_gap_ms = 10\n[[rules]]\nreasoning = \"hmm hm\"\ntext = \"häöü!\"\ntool_calls = [{ name = \"t\", arguments_json = '{\"a\":1}' }]",
    );
    let began = Instant::now();
    let (reply, deltas) = send(&script, &Call { stream: true, ..call(vec![user("x")]) }).await;
    assert!(reply.is_ok());
    let piece = |name: Option<&str>, text: &str| Delta::ToolCall {
        index: 0,
        name: name.map(str::to_owned),
        arguments_json: text.to_owned(),
    };
    assert_eq!(
        deltas,
        [
            Delta::Reasoning("hmm".to_owned()),
            Delta::Reasoning(" hm".to_owned()),
            Delta::Text("häö".to_owned()),
            Delta::Text("ü!".to_owned()),
            piece(Some("t"), "{\"a"),
            piece(None, "\":1"),
            piece(None, "}"),
        ]
    );
    assert_eq!(began.elapsed(), Duration::from_millis(60));
    assert!(send(&script, &call(vec![user("x")])).await.1.is_empty());
}

#[tokio::test(start_paused = true)]
async fn limits_and_stop_sequences_are_kept_to() {
    let script = backend("[[rules]]\ntext = \"one two three four\"");
    let with = |parameters| Call { parameters, ..call(vec![user("x")]) };
    let limited = with(Parameters { max_output_tokens: Some(2), ..Parameters::default() });
    let reply = send(&script, &limited).await.0.unwrap();
    assert_eq!((reply.stop_reason, &reply.parts[0]), (StopReason::MaxTokens, &Part::text("one two ")));
    let stopped = with(Parameters { stop_sequences: vec![" three".to_owned()], ..Parameters::default() });
    let reply = send(&script, &stopped).await.0.unwrap();
    assert_eq!((reply.stop_reason, &reply.parts[0]), (StopReason::StopSequence, &Part::text("one two")));
}

#[tokio::test(start_paused = true)]
async fn usage_is_counted_configured_or_missing() {
    let script = backend(
        "[[rules]]\nwhen = \"a\"\nusage = { input_tokens = 10, output_tokens = 20, cached_input_tokens = 4 }\n[[rules]]\nwhen = \"b\"\nno_usage = true",
    );
    let usage = async |text: &str| send(&script, &call(vec![user(text)])).await.0.unwrap().usage;
    let configured = usage("a").await;
    assert_eq!((configured.total_tokens, configured.cached_input_tokens), (Some(30), Some(4)));
    assert_eq!(usage("b").await.completeness, Completeness::Unknown);
    assert_eq!(usage("cccccccc").await.input_tokens, Some(2));
}

#[tokio::test(start_paused = true)]
async fn faults_are_what_they_say() {
    let fails = async |fault: &str| {
        let script = backend(&format!("[[rules]]\ntext = \"Hello\"\nfault = {fault}"));
        send(&script, &Call { stream: true, ..call(vec![user("x")]) }).await
    };
    for (fault, kind) in [
        ("{ kind = \"status\", status = 400 }", FailureKind::Refused),
        ("{ kind = \"status\", status = 400, code = \"context_length_exceeded\" }", FailureKind::ContextOverflow),
        ("{ kind = \"status\", status = 403 }", FailureKind::CredentialRefused(CredentialSource::Server)),
        ("{ kind = \"status\", status = 429, retry_after_ms = 5 }", FailureKind::RateLimited),
        ("{ kind = \"status\", status = 500 }", FailureKind::Unavailable),
        ("{ kind = \"malformed\" }", FailureKind::BadAnswer),
        ("{ kind = \"refuse_connect\" }", FailureKind::Unavailable),
        ("{ kind = \"timeout\", which = \"first_byte\" }", FailureKind::Timeout(Timeout::FirstByte)),
    ] {
        let (reply, deltas) = fails(fault).await;
        assert_eq!((reply.unwrap_err().kind, deltas.len()), (kind, 0), "{fault}");
    }
    let (reply, deltas) = fails("{ kind = \"cut\", after_chars = 2 }").await;
    assert_eq!((reply.unwrap_err().kind, deltas), (FailureKind::Unavailable, vec![Delta::Text("He".to_owned())]));
    let script = backend("[[rules]]\nfault = { kind = \"stall\" }");
    let outbound = script.encode(&call(vec![user("x")])).unwrap();
    assert!(script.send(&outbound, None, &mut Pot::default()).now_or_never().is_none());
}

#[test]
fn a_longer_history_begins_with_the_bytes_of_the_shorter() {
    let echo = backend("");
    let mut messages = vec![Message::text(Role::System, "s")];
    let mut before: Option<Bytes> = None;
    for round in 0..4 {
        messages.push(user(&format!("q{round}")));
        let body = echo.encode(&call(messages.clone())).unwrap().body;
        assert_eq!(echo.encode(&call(messages.clone())).unwrap().body, body);
        if let Some(shorter) = before {
            // All but the brackets that close the list and the object.
            assert!(body.starts_with(&shorter[..shorter.len() - 2]));
        }
        before = Some(body);
        messages.push(Message::text(Role::Assistant, "a"));
    }
}

#[test]
fn settings_that_make_no_sense_are_named() {
    let config: Config =
        toml::from_str("chunk_chars = 0\n[[rules]]\ntext = \"a\"\njson = 1\n[[rules]]\ntimes = 0\ntool_calls = [{}]")
            .unwrap();
    let keys: Vec<_> = config.problems().into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["rules[0]", "rules[1].times", "rules[1].tool_calls[0]", "chunk_chars"]);
    assert!(toml::from_str::<Config>("[[rules]]\ntxt = \"a\"").is_err());
    assert!(toml::from_str::<Config>("[[rules]]\nfault = { kind = \"cut\", after = 1 }").is_err());
}
