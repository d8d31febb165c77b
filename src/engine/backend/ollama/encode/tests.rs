//! The bytes that go out.

use proptest::prelude::*;

use super::super::quirks::SendReasoning;
use super::*;
use crate::domain::id::CallId;
use crate::domain::message::{
    CacheMarker, Issuer, Kind, Media, Message, Part, ProviderData, Reasoning, Role, ToolCall, ToolResult,
};
use crate::domain::settings::Parameters;
use crate::engine::backend::FailureKind;
use crate::engine::backend::wire::ForeignData;

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

fn outbound(quirks: Quirks, call: &Call) -> Result<(String, Vec<String>), Failure> {
    let config = Config { quirks, ..Config::default() };
    let to = Recipient { provider: "p", api: "ollama-chat", model: &call.model, foreign: ForeignData::Drop };
    let outbound = encode(&config, to, call)?;
    Ok((String::from_utf8(outbound.body.to_vec()).unwrap(), outbound.adaptations))
}

const HEAD: &str = r#"{"model":"m","stream":false,"#;

/// What stands between the head and the messages.
fn settings(quirks: Quirks, call: &Call) -> (String, Vec<String>) {
    let (body, adapted) = outbound(quirks, call).unwrap();
    let end = r#""messages":[{"role":"user","content":"x"}]}"#;
    (body.strip_prefix(HEAD).unwrap().strip_suffix(end).unwrap().to_owned(), adapted)
}

/// The text of the messages alone, and what was adapted.
fn messages(quirks: Quirks, messages: Vec<Message>) -> (String, Vec<String>) {
    let (body, adapted) = outbound(quirks, &call(messages)).unwrap();
    let body = body.strip_prefix(HEAD).unwrap().strip_prefix("\"messages\":[").unwrap().strip_suffix("]}").unwrap();
    (body.to_owned(), adapted)
}

fn feature(quirks: Quirks, call: &Call) -> String {
    match outbound(quirks, call).unwrap_err().kind {
        FailureKind::Unsupported(feature) => feature,
        other => panic!("{other:?}"),
    }
}

fn user(text: &str) -> Message {
    Message::text(Role::User, text)
}

fn message(role: Role, kinds: Vec<Kind>) -> Message {
    Message { role, parts: kinds.into_iter().map(Part::new).collect() }
}

fn tool_call(ours: &str, theirs: &str, arguments: &str) -> Kind {
    Kind::ToolCall(ToolCall {
        call_id: CallId::new(ours),
        provider_call_id: theirs.to_owned(),
        name: "w".to_owned(),
        arguments_json: arguments.to_owned(),
        arguments_invalid: false,
    })
}

fn result(ours: &str, parts: Vec<Part>) -> Kind {
    Kind::ToolResult(ToolResult { call_id: CallId::new(ours), parts, is_error: false, interrupted: false })
}

fn png() -> Kind {
    Kind::Image(Media::Inline("image/png".to_owned(), bytes::Bytes::from_static(b"\x01\x02")), String::new())
}

fn thought(text: &str, model: Option<&str>) -> Part {
    let issuer = |model: &str| Issuer { provider: "q".to_owned(), api: "other".to_owned(), model: model.to_owned() };
    let data = model.map(|model| ProviderData { issuer: issuer(model), data_json: "{\"s\":1}".to_owned() });
    Part { provider_data: data, ..Part::new(Kind::Reasoning(Reasoning { text: text.to_owned(), is_summary: false })) }
}

fn tool(schema: &str) -> Tool {
    Tool {
        name: "w".to_owned(),
        description: "Weather".to_owned(),
        input_schema_json: schema.to_owned(),
        side_effects: false,
        requires_human: false,
    }
}

fn options(text: &str) -> serde_json::Map<String, serde_json::Value> {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_smallest_call_says_that_it_is_no_stream() {
    let expected = r#"{"model":"m","stream":false,"messages":[{"role":"user","content":"Hi \"you\"\n"}]}"#;
    assert_eq!(outbound(Quirks::default(), &call(vec![user("Hi \"you\"\n")])).unwrap(), (expected.to_owned(), vec![]));
}

#[test]
fn everything_at_once_in_order() {
    let mut call = call(vec![Message::text(Role::System, "Be brief."), user("Hi")]);
    call.stream = true;
    call.parameters = Parameters {
        temperature: Some(0.1),
        top_p: Some(1.0),
        max_output_tokens: Some(64),
        stop_sequences: vec!["END".to_owned()],
        seed: Some(-7),
        reasoning_effort: Some("low".to_owned()),
        parallel_tool_calls: Some(true),
        extra_json: Some(
            r#"{"keep_alive": "5m","options":{"num_ctx":4096,"top_k": 40},"big":18446744073709551616}"#.to_owned(),
        ),
    };
    call.tools = vec![tool(r#"{"type":"object","properties":{"n":{"maximum":18446744073709551616}}}"#)];
    call.contract =
        Contract::JsonSchema { name: "person/1".to_owned(), schema_json: r#"{ "type" : "object" }"#.to_owned() };
    call.session_id = Some("s-1".to_owned());
    let quirks =
        Quirks { options: options(r#"{"num_ctx":8192,"seed":1,"min_p":0.5,"use_mmap":true}"#), ..Quirks::default() };
    let (body, adapted) = outbound(quirks, &call).unwrap();
    let expected = concat!(
        r#"{"model":"m","stream":true,"think":"low","tools":[{"type":"function","function":{"name":"w","#,
        r#""description":"Weather","parameters":{"type":"object","properties":{"n":{"maximum":18446744073709551616}}}}}],"#,
        r#""format":{ "type" : "object" },"options":{"temperature":0.1,"top_p":1.0,"num_predict":64,"stop":["END"],"#,
        r#""seed":-7,"num_ctx":4096,"top_k":40,"min_p":0.5,"use_mmap":true},"#,
        r#""keep_alive":"5m","big":18446744073709551616,"#,
        r#""messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]}"#,
    );
    assert_eq!(body, expected);
    assert_eq!(adapted, ["session_id_dropped"]);
}

#[test]
fn thinking_is_a_level_or_yes_or_no() {
    for (effort, think) in [("high", "\"high\""), ("true", "true"), ("false", "false"), ("none", "false")] {
        let parameters = Parameters { reasoning_effort: Some(effort.to_owned()), ..Parameters::default() };
        let call = Call { parameters, ..call(vec![user("x")]) };
        assert_eq!(settings(Quirks::default(), &call).0, format!("\"think\":{think},"));
    }
}

#[test]
fn contracts_by_what_the_server_knows() {
    let schema = || Contract::JsonSchema { name: "n".to_owned(), schema_json: "{\"type\":\"object\"}".to_owned() };
    let ask = |contract, structured_output| {
        let call = Call { contract, ..call(vec![user("x")]) };
        settings(Quirks { structured_output, ..Quirks::default() }, &call)
    };
    let json = || r#""format":"json","#.to_owned();
    assert_eq!(ask(Contract::Json, StructuredOutput::JsonSchema), (json(), vec![]));
    assert_eq!(ask(schema(), StructuredOutput::JsonSchema), (r#""format":{"type":"object"},"#.to_owned(), vec![]));
    assert_eq!(ask(schema(), StructuredOutput::Json), (json(), vec!["schema_not_sent".to_owned()]));
    assert_eq!(ask(schema(), StructuredOutput::None), (String::new(), vec!["contract_not_sent".to_owned()]));
    let broken = Contract::JsonSchema { name: String::new(), schema_json: "{".to_owned() };
    assert_eq!(feature(Quirks::default(), &Call { contract: broken, ..call(vec![user("x")]) }), "contract.schema_json");
}

#[test]
fn what_the_dialect_cannot_be_told_is_refused_or_reported() {
    let with = |tool_choice| Call { tools: vec![tool("")], tool_choice, ..call(vec![user("x")]) };
    assert_eq!(feature(Quirks::default(), &with(ToolChoice::Required)), "tool_choice");
    assert_eq!(feature(Quirks::default(), &with(ToolChoice::Named("w".to_owned()))), "tool_choice");
    assert_eq!(
        settings(Quirks::default(), &with(ToolChoice::None)),
        (String::new(), vec!["tools_not_sent".to_owned()])
    );
    assert_eq!(feature(Quirks { tools: false, ..Quirks::default() }, &with(ToolChoice::Auto)), "tools");
    let one = Parameters { parallel_tool_calls: Some(false), ..Parameters::default() };
    let one = Call { parameters: one, ..with(ToolChoice::Auto) };
    assert_eq!(feature(Quirks::default(), &one), "parallel_tool_calls");
    let streamed = Call { stream: true, ..call(vec![user("x")]) };
    let (_, adapted) = settings(Quirks { stream: false, ..Quirks::default() }, &streamed);
    assert_eq!(adapted, ["not_streamed"]);
    for (extra, word) in [
        (r#"{"options":{"num_predict":1}}"#, "extra_json.options.num_predict"),
        (r#"{"options":7}"#, "extra_json.options"),
        (r#"{"think":true}"#, "extra_json.think"),
        (r#"{"messages":[]}"#, "extra_json.messages"),
        ("[", "extra_json"),
    ] {
        let parameters = Parameters {
            max_output_tokens: Some(5),
            reasoning_effort: Some("low".to_owned()),
            extra_json: Some(extra.to_owned()),
            ..Parameters::default()
        };
        assert_eq!(feature(Quirks::default(), &Call { parameters, ..call(vec![user("x")]) }), word);
    }
}

/// B048: arguments are an object here, whatever the stored text is, and its bytes are those of the model.
#[test]
fn calls_and_results() {
    let history = vec![
        user("x"),
        message(
            Role::Assistant,
            vec![tool_call("o1", "c1", "{\"b\": 18446744073709551616,\"a\":1.0}"), tool_call("o2", "c1", "ls")],
        ),
        message(Role::Tool, vec![result("o2", vec![Part::text("two")]), result("o1", Vec::new())]),
    ];
    let expected = concat!(
        r#"{"role":"user","content":"x"},{"role":"assistant","content":"","tool_calls":["#,
        r#"{"function":{"name":"w","arguments":{"b": 18446744073709551616,"a":1.0}}},"#,
        r#"{"function":{"name":"w","arguments":{"invalid_arguments":"ls"}}}]},"#,
        r#"{"role":"tool","tool_name":"w","content":""},{"role":"tool","tool_name":"w","content":"two"}"#,
    );
    let (sent, adapted) = messages(Quirks::default(), history.clone());
    // A result is known by its place: it goes out in that of its call.
    let told = ["tool_results_reordered", "invalid_arguments_wrapped"].map(str::to_owned).to_vec();
    assert_eq!((sent.as_str(), adapted), (expected, told));
    let (sent, adapted) = messages(Quirks { call_ids: true, ..Quirks::default() }, history.clone());
    let expected = expected
        .replacen(r#"{"function""#, r#"{"id":"c1","function""#, 1)
        .replacen(r#",{"function""#, r#",{"id":"o2","function""#, 1)
        .replacen(r#""tool_name":"w""#, r#""tool_name":"w","tool_call_id":"c1""#, 1)
        .replace(r#""tool_name":"w","content":"two""#, r#""tool_name":"w","tool_call_id":"o2","content":"two""#);
    let told = ["tool_results_reordered", "call_id_replaced", "invalid_arguments_wrapped"].map(str::to_owned).to_vec();
    assert_eq!((sent, adapted), (expected, told));
    assert_eq!(feature(Quirks { tools: false, ..Quirks::default() }, &call(history)), "tools");
}

#[test]
fn images_are_bytes_and_stand_apart() {
    let mut parts = vec![Part::text("Look:"), Part::new(png()), Part::text(" here")];
    parts[0].cache_marker = Some(CacheMarker { ttl: String::new() });
    let all = vec![Message { role: Role::User, parts }];
    let expected = r#"{"role":"user","content":"Look: here","images":["AQI="]}"#;
    let adapted = ["cache_markers_dropped", "images_moved", "texts_joined"].map(str::to_owned).to_vec();
    assert_eq!(messages(Quirks::default(), all.clone()), (expected.to_owned(), adapted));
    assert_eq!(feature(Quirks { images: false, ..Quirks::default() }, &call(all)), "images");
    let link = Media::Link("https://a.example/b.png".to_owned(), String::new());
    let linked = call(vec![message(Role::User, vec![Kind::Image(link.clone(), String::new())])]);
    assert_eq!(feature(Quirks::default(), &linked), "image_links");
    let file = call(vec![message(Role::User, vec![Kind::File(link, String::new())])]);
    assert_eq!(feature(Quirks::default(), &file), "files");
}

#[test]
fn images_of_results_follow_the_whole_batch() {
    let history = vec![
        message(Role::Assistant, vec![tool_call("o1", "", "{}"), tool_call("o2", "", "{}")]),
        message(Role::Tool, vec![result("o1", vec![Part::text("see"), Part::new(png())])]),
        message(Role::Tool, vec![result("o2", vec![Part::text("ok")])]),
    ];
    let (sent, adapted) = messages(Quirks::default(), history);
    let expected = concat!(
        r#"{"role":"tool","tool_name":"w","content":"see"},{"role":"tool","tool_name":"w","content":"ok"},"#,
        r#"{"role":"user","content":"","images":["AQI="]}"#,
    );
    assert!(sent.ends_with(expected), "{sent}");
    assert_eq!(adapted, ["tool_result_media_moved"]);
}

#[test]
fn reasoning_goes_back_with_calls_unless_it_is_sealed_by_others() {
    let said = |part, has_call: bool| {
        let mut parts = vec![part, Part::text("t")];
        parts.extend(has_call.then(|| Part::new(tool_call("o1", "", "{}"))));
        let mut all = vec![Message { role: Role::Assistant, parts }];
        all.extend(has_call.then(|| message(Role::Tool, vec![result("o1", vec![])])));
        all
    };
    let thinking = |quirks, all| {
        let (sent, adapted) = messages(quirks, all);
        (sent.contains(r#""content":"t","thinking":"hm""#), adapted)
    };
    let is = |sent, adapted: &[&str]| (sent, adapted.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    assert_eq!(thinking(Quirks::default(), said(thought("hm", None), true)), is(true, &[]));
    assert_eq!(thinking(Quirks::default(), said(thought("hm", None), false)), is(false, &["reasoning_dropped"]));
    let foreign = is(false, &["foreign_reasoning_dropped"]);
    assert_eq!(thinking(Quirks::default(), said(thought("hm", Some("n")), true)), foreign);
    let always = Quirks { send_reasoning: SendReasoning::Always, ..Quirks::default() };
    assert_eq!(thinking(always, said(thought("hm", None), false)), is(true, &[]));
    let never = Quirks { send_reasoning: SendReasoning::Never, ..Quirks::default() };
    assert_eq!(thinking(never, said(thought("hm", None), true)), is(false, &["reasoning_dropped"]));
}

#[test]
fn refusals_errors_and_what_others_attached() {
    let mut part = Part::new(Kind::Refusal("No.".to_owned()));
    part.provider_data = thought("", Some("n")).provider_data;
    let unknown = Part::new(Kind::Unknown("audio".to_owned(), "{}".to_owned()));
    let failed = ToolResult { call_id: CallId::new("o1"), parts: vec![], is_error: true, interrupted: false };
    let history = vec![
        Message { role: Role::Assistant, parts: vec![part, unknown, Part::new(tool_call("o1", "", "{}"))] },
        message(Role::Tool, vec![Kind::ToolResult(failed)]),
    ];
    let (sent, adapted) = messages(Quirks::default(), history);
    assert!(sent.starts_with(r#"{"role":"assistant","content":"No.","tool_calls""#), "{sent}");
    let expected = ["refusal_sent_as_text", "foreign_data_dropped", "unknown_parts_dropped", "tool_error_flag_dropped"];
    assert_eq!(adapted, expected);
}

#[derive(Clone, Debug)]
struct Turn {
    user: String,
    calls: Vec<(String, String, bool)>,
    thought: bool,
    answer: String,
    system: bool,
}

fn turn() -> impl Strategy<Value = Turn> {
    let calls = proptest::collection::vec(("[ab]?", "(\\{\\}|\\{|x)", any::<bool>()), 0..3);
    (".{0,3}", calls, any::<bool>(), ".{0,3}", any::<bool>()).prop_map(|(user, calls, thought, answer, system)| Turn {
        user,
        calls,
        thought,
        answer,
        system,
    })
}

/// Each valid end of the history of some turns, as its length in messages.
fn history(turns: &[Turn]) -> (Vec<Message>, Vec<usize>) {
    let mut messages = Vec::new();
    let mut ends = Vec::new();
    for (number, turn) in turns.iter().enumerate() {
        if turn.system {
            messages.push(Message::text(Role::System, "s"));
        }
        messages.push(user(&turn.user));
        ends.push(messages.len());
        let id = |at: usize| format!("c-{number}-{at}");
        if !turn.calls.is_empty() {
            let mut parts: Vec<Part> = turn.thought.then(|| thought("r", None)).into_iter().collect();
            let calls = turn.calls.iter().enumerate();
            parts.extend(calls.map(|(at, call)| Part::new(tool_call(&id(at), &call.0, &call.1))));
            messages.push(Message { role: Role::Assistant, parts });
            for (at, (_, _, image)) in turn.calls.iter().enumerate() {
                let mut parts = vec![Part::text("r")];
                parts.extend(image.then(|| Part::new(png())));
                messages.push(message(Role::Tool, vec![result(&id(at), parts)]));
            }
            ends.push(messages.len());
        }
        messages.push(Message::text(Role::Assistant, turn.answer.as_str()));
    }
    (messages, ends)
}

proptest! {
    #[test]
    fn the_body_of_a_longer_history_begins_with_that_of_a_shorter_one(
        turns in proptest::collection::vec(turn(), 1..5),
        call_ids in any::<bool>(),
        always in any::<bool>(),
    ) {
        let send_reasoning = if always { SendReasoning::Always } else { SendReasoning::WithCalls };
        let quirks = Quirks { call_ids, send_reasoning, ..Quirks::default() };
        let (messages, ends) = history(&turns);
        let bodies: Vec<String> = ends
            .iter()
            .map(|end| outbound(quirks.clone(), &call(messages[..*end].to_vec())).unwrap().0)
            .collect();
        for body in &bodies {
            prop_assert!(serde_json::from_str::<serde_json::Value>(body).is_ok());
        }
        for pair in bodies.windows(2) {
            let shorter = pair[0].strip_suffix("]}").unwrap();
            prop_assert!(pair[1].starts_with(shorter), "{} / {}", pair[0], pair[1]);
        }
    }
}
