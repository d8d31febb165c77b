//! The bytes that go out.

use proptest::prelude::*;

use super::super::quirks::{Files, InvalidArguments, SendReasoning, SystemRole, ToolResultMedia};
use super::*;
use crate::domain::id::CallId;
use crate::domain::message::{CacheMarker, Issuer, Media, Part, ProviderData, Reasoning, ToolCall, ToolResult};
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
    let to = Recipient { provider: "p", api: "openai-responses", model: &call.model, foreign: ForeignData::Drop };
    let outbound = encode(&config, to, call)?;
    Ok((String::from_utf8(outbound.body.to_vec()).unwrap(), outbound.adaptations))
}

const HEAD: &str = r#"{"model":"m","store":false,"include":["reasoning.encrypted_content"],"#;

/// What stands between the head and the input.
fn settings(quirks: Quirks, call: &Call) -> (String, Vec<String>) {
    let (body, adapted) = outbound(quirks, call).unwrap();
    let end = r#""input":[{"type":"message","role":"user","content":"x"}]}"#;
    (body.strip_prefix(HEAD).unwrap().strip_suffix(end).unwrap().to_owned(), adapted)
}

/// The text of the items alone, and what was adapted.
fn items(quirks: Quirks, messages: Vec<Message>) -> (String, Vec<String>) {
    let (body, adapted) = outbound(quirks, &call(messages)).unwrap();
    let body = body.strip_prefix(HEAD).unwrap().strip_prefix("\"input\":[").unwrap().strip_suffix("]}").unwrap();
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
    Kind::Image(Media::Inline("image/png".to_owned(), bytes::Bytes::from_static(b"\x01\x02")), "low".to_owned())
}

/// A part with data that the model `m`, or another, attached.
fn with(kind: Kind, model: &str, data: &str) -> Part {
    let issuer = Issuer { provider: "p".to_owned(), api: "openai-responses".to_owned(), model: model.to_owned() };
    Part { provider_data: Some(ProviderData { issuer, data_json: data.to_owned() }), ..Part::new(kind) }
}

const THOUGHT: &str =
    r#"{"id":"rs_1","type":"reasoning","summary":[ {"type":"summary_text","text":"hm"}],"encrypted_content":"gAAA=="}"#;

fn thought(model: &str, data: &str) -> Part {
    with(Kind::Reasoning(Reasoning { text: "hm".to_owned(), is_summary: true }), model, data)
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

#[test]
fn the_smallest_call() {
    let expected = concat!(
        r#"{"model":"m","store":false,"include":["reasoning.encrypted_content"],"#,
        r#""input":[{"type":"message","role":"user","content":"Hi \"you\"\n"}]}"#
    );
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
        reasoning_effort: Some("low".to_owned()),
        parallel_tool_calls: Some(false),
        extra_json: Some(r#"{"truncation": "auto","big":18446744073709551616,"nested":{"e":1e400}}"#.to_owned()),
        ..Parameters::default()
    };
    call.tools = vec![tool(r#"{"type":"object","properties":{"n":{"maximum":18446744073709551616}}}"#)];
    call.tool_choice = ToolChoice::Named("w".to_owned());
    call.contract =
        Contract::JsonSchema { name: "person/1".to_owned(), schema_json: r#"{ "type" : "object" }"#.to_owned() };
    call.session_id = Some("s-1".to_owned());
    let quirks = Quirks {
        session_field: Some("prompt_cache_key".to_owned()),
        strict_schema: Some(true),
        reasoning_summary: Some("auto".to_owned()),
        instructions: true,
        ..Quirks::default()
    };
    let (body, adapted) = outbound(quirks, &call).unwrap();
    let expected = concat!(
        r#"{"model":"m","store":false,"stream":true,"include":["reasoning.encrypted_content"],"#,
        r#""reasoning":{"effort":"low","summary":"auto"},"temperature":0.1,"top_p":1.0,"max_output_tokens":64,"#,
        r#""parallel_tool_calls":false,"prompt_cache_key":"s-1","tools":[{"type":"function","name":"w","#,
        r#""description":"Weather","parameters":{"type":"object","properties":{"n":{"maximum":18446744073709551616}}},"#,
        r#""strict":false}],"tool_choice":{"type":"function","name":"w"},"#,
        r#""text":{"format":{"type":"json_schema","name":"person_1","schema":{ "type" : "object" },"strict":true}},"#,
        r#""truncation":"auto","big":18446744073709551616,"nested":{"e":1e400},"#,
        r#""instructions":"Be brief.","input":[{"type":"message","role":"user","content":"Hi"}]}"#,
    );
    assert_eq!(body, expected);
    assert_eq!(adapted, ["contract_name_changed"]);
}

#[test]
fn the_words_of_tool_choice() {
    let tools = concat!(
        r#""tools":[{"type":"function","name":"w","description":"Weather","#,
        r#""parameters":{"type":"object","properties":{}},"strict":true}],"#,
    );
    for (choice, expected) in [
        (ToolChoice::Auto, ""),
        (ToolChoice::None, r#""tool_choice":"none","#),
        (ToolChoice::Required, r#""tool_choice":"required","#),
    ] {
        let call = Call { tools: vec![tool("")], tool_choice: choice, ..call(vec![user("x")]) };
        let quirks = Quirks { strict_tools: true, ..Quirks::default() };
        assert_eq!(settings(quirks, &call).0, format!("{tools}{expected}"));
    }
}

#[test]
fn what_the_dialect_or_a_server_does_not_take_is_refused_or_reported() {
    let plain = || call(vec![user("x")]);
    let parameters = |parameters: Parameters| Call { parameters, ..plain() };
    let stop = parameters(Parameters { stop_sequences: vec!["END".to_owned()], ..Parameters::default() });
    assert_eq!(feature(Quirks::default(), &stop), "stop_sequences");
    let seed = parameters(Parameters { seed: Some(1), ..Parameters::default() });
    assert_eq!(feature(Quirks::default(), &seed), "seed");
    let one = Parameters { parallel_tool_calls: Some(false), ..Parameters::default() };
    let one = Call { tools: vec![tool("")], ..parameters(one) };
    assert_eq!(feature(Quirks { parallel_tool_calls: false, ..Quirks::default() }, &one), "parallel_tool_calls");
    assert_eq!(feature(Quirks { tools: false, ..Quirks::default() }, &one), "tools");
    let required = Call { tool_choice: ToolChoice::Required, ..plain() };
    assert_eq!(feature(Quirks::default(), &required), "tool_choice");
    let broken = Call { tools: vec![tool("{")], ..plain() };
    assert_eq!(feature(Quirks::default(), &broken), "tools.input_schema_json");
    let mut told = Call { stream: true, session_id: Some("s".to_owned()), ..plain() };
    told.contract = Contract::Json;
    let none = Quirks { stream: false, structured_output: StructuredOutput::None, ..Quirks::default() };
    let expected = ["not_streamed", "session_id_dropped", "contract_not_sent"].map(str::to_owned).to_vec();
    assert_eq!(settings(none, &told), (String::new(), expected));
}

/// B095: nothing refers to what the provider may have kept.
#[test]
fn extra_fields_never_replace_what_the_call_sets_nor_point_to_the_provider() {
    for field in ["model", "store", "input", "stream", "previous_response_id", "conversation", "background", "include"]
    {
        let extra_json = Some(format!("{{\"{field}\":\"x\"}}"));
        let call = Call { parameters: Parameters { extra_json, ..Parameters::default() }, ..call(vec![user("x")]) };
        assert_eq!(feature(Quirks::default(), &call), format!("extra_json.{field}"));
    }
}

#[test]
fn encrypted_reasoning_is_asked_for_where_it_is_known() {
    let ask = |encrypted_reasoning, effort: Option<&str>| {
        let parameters = Parameters { reasoning_effort: effort.map(str::to_owned), ..Parameters::default() };
        let call = Call { parameters, ..call(vec![user("x")]) };
        outbound(Quirks { encrypted_reasoning, ..Quirks::default() }, &call).unwrap().0.contains("\"include\"")
    };
    use EncryptedReasoning::{Always, Never, WithEffort};
    assert_eq!([ask(Always, None), ask(Always, Some("low"))], [true, true]);
    assert_eq!([ask(WithEffort, None), ask(WithEffort, Some("low"))], [false, true]);
    assert_eq!([ask(Never, None), ask(Never, Some("low"))], [false, false]);
}

#[test]
fn contracts_by_what_the_server_knows() {
    let schema = || Contract::JsonSchema { name: String::new(), schema_json: "{}".to_owned() };
    let ask = |contract, structured_output| {
        let call = Call { contract, ..call(vec![user("x")]) };
        settings(Quirks { structured_output, ..Quirks::default() }, &call)
    };
    let object = r#""text":{"format":{"type":"json_object"}},"#;
    let named = r#""text":{"format":{"type":"json_schema","name":"answer","schema":{}}},"#;
    assert_eq!(ask(Contract::Json, StructuredOutput::JsonSchema), (object.to_owned(), vec![]));
    assert_eq!(ask(schema(), StructuredOutput::JsonSchema), (named.to_owned(), vec![]));
    assert_eq!(ask(schema(), StructuredOutput::JsonObject), (object.to_owned(), vec!["schema_not_sent".to_owned()]));
    let broken = Contract::JsonSchema { name: String::new(), schema_json: "{".to_owned() };
    let broken = Call { contract: broken, ..call(vec![user("x")]) };
    assert_eq!(feature(Quirks::default(), &broken), "contract.schema_json");
}

#[test]
fn parts_of_a_user_message() {
    let link = Media::Link("https://a.example/b.png".to_owned(), String::new());
    let pdf = Media::Inline("application/pdf".to_owned(), bytes::Bytes::from_static(b"%PDF"));
    let mut parts: Vec<Part> = vec![
        Part::text("Look:"),
        Part::new(png()),
        Part::new(Kind::Image(link.clone(), String::new())),
        Part::new(Kind::File(pdf, "a.pdf".to_owned())),
        Part::new(Kind::File(link.clone(), String::new())),
    ];
    parts[0].cache_marker = Some(CacheMarker { ttl: String::new() });
    let all = vec![Message { role: Role::User, parts }];
    let expected = concat!(
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"Look:"},"#,
        r#"{"type":"input_image","image_url":"data:image/png;base64,AQI=","detail":"low"},"#,
        r#"{"type":"input_image","image_url":"https://a.example/b.png"},"#,
        r#"{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERg=="},"#,
        r#"{"type":"input_file","file_url":"https://a.example/b.png"}]}"#,
    );
    assert_eq!(items(Quirks::default(), all.clone()), (expected.to_owned(), vec!["cache_markers_dropped".to_owned()]));
    assert_eq!(feature(Quirks { images: false, ..Quirks::default() }, &call(all.clone())), "images");
    assert_eq!(feature(Quirks { files: Files::Inline, ..Quirks::default() }, &call(all.clone())), "file_links");
    assert_eq!(feature(Quirks { files: Files::None, ..Quirks::default() }, &call(all)), "files");
}

#[test]
fn several_texts_stay_apart_or_are_joined() {
    let two = || vec![message(Role::User, vec![Kind::Text("a".to_owned()), Kind::Text("b".to_owned())])];
    let array = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}"#;
    assert_eq!(items(Quirks::default(), two()), (array.to_owned(), vec![]));
    let joined = (r#"{"type":"message","role":"user","content":"ab"}"#.to_owned(), vec!["texts_joined".to_owned()]);
    assert_eq!(items(Quirks { text_arrays: false, ..Quirks::default() }, two()), joined);
}

#[test]
fn system_messages_keep_their_place_and_only_the_first_can_be_instructions() {
    let all = || vec![Message::text(Role::System, "a"), user("x"), Message::text(Role::System, "b")];
    let item = |role: &str, text: &str| format!(r#"{{"type":"message","role":"{role}","content":"{text}"}}"#);
    let developer = Quirks { system_role: SystemRole::Developer, ..Quirks::default() };
    let expected = [item("developer", "a"), item("user", "x"), item("developer", "b")].join(",");
    assert_eq!(items(developer, all()).0, expected);
    let (body, _) = outbound(Quirks { instructions: true, ..Quirks::default() }, &call(all())).unwrap();
    let expected = [item("user", "x"), item("system", "b")].join(",");
    assert_eq!(body, format!("{HEAD}\"instructions\":\"a\",\"input\":[{expected}]}}"));
}

#[test]
fn calls_and_results() {
    let history = vec![
        user("x"),
        message(
            Role::Assistant,
            vec![tool_call("o1", "c1", "{\"a\": 18446744073709551616}"), tool_call("o2", "", "{")],
        ),
        message(Role::Tool, vec![result("o2", vec![Part::text("two")]), result("o1", Vec::new())]),
    ];
    let expected = concat!(
        r#"{"type":"message","role":"user","content":"x"},"#,
        r#"{"type":"function_call","call_id":"c1","name":"w","arguments":"{\"a\": 18446744073709551616}"},"#,
        r#"{"type":"function_call","call_id":"o2","name":"w","arguments":"{"},"#,
        r#"{"type":"function_call_output","call_id":"o2","output":"two"},"#,
        r#"{"type":"function_call_output","call_id":"c1","output":""}"#,
    );
    assert_eq!(items(Quirks::default(), history.clone()), (expected.to_owned(), vec![]));
    let wrap = Quirks { invalid_arguments: InvalidArguments::Wrap, ..Quirks::default() };
    let (wrapped, adapted) = items(wrap, history.clone());
    assert!(wrapped.contains(r#""arguments":"{\"invalid_arguments\":\"{\"}""#), "{wrapped}");
    assert_eq!(adapted, ["invalid_arguments_wrapped"]);
    assert_eq!(feature(Quirks { tools: false, ..Quirks::default() }, &call(history)), "tools");
}

#[test]
fn ids_that_repeat_or_are_too_long_are_replaced() {
    let long = "c".repeat(65);
    let history = vec![
        message(
            Role::Assistant,
            vec![tool_call("o1", "c", "{}"), tool_call("o2", "c", "{}"), tool_call("o3", &long, "{}")],
        ),
        message(Role::Tool, vec![result("o1", vec![]), result("o2", vec![]), result("o3", vec![])]),
        message(Role::Assistant, vec![tool_call("o4", "c", "{}")]),
        message(Role::Tool, vec![result("o4", vec![])]),
    ];
    let ids = |quirks| {
        let (items, adapted) = items(quirks, history.clone());
        assert_eq!(adapted, ["call_id_replaced"]);
        let items: serde_json::Value = serde_json::from_str(&format!("[{items}]")).unwrap();
        let id = |item: &serde_json::Value| item["call_id"].as_str().unwrap().to_owned();
        let ids: Vec<String> = items.as_array().unwrap().iter().map(id).collect();
        assert_eq!((&ids[..3], &ids[6]), (&ids[3..6], &ids[7]), "results go with their calls");
        ids
    };
    let kept = ids(Quirks::default());
    assert_eq!((kept[0].as_str(), kept[1].as_str(), kept[2].len(), kept[6].as_str()), ("c", "o2", 64, "c"));
    assert_eq!(ids(Quirks { unique_call_ids: true, ..Quirks::default() })[6], "o4");
}

#[test]
fn media_of_results_stay_there_or_follow_the_whole_batch() {
    let history = || {
        vec![
            message(Role::Assistant, vec![tool_call("o1", "c1", "{}"), tool_call("o2", "c2", "{}")]),
            message(Role::Tool, vec![result("o1", vec![Part::text("see"), Part::new(png())])]),
            message(Role::Tool, vec![result("o2", vec![Part::text("ok")])]),
        ]
    };
    let image = r#"{"type":"input_image","image_url":"data:image/png;base64,AQI=","detail":"low"}"#;
    let (inside, adapted) = items(Quirks::default(), history());
    assert!(inside.contains(&format!(r#""output":[{{"type":"input_text","text":"see"}},{image}]"#)), "{inside}");
    assert_eq!(adapted, Vec::<String>::new());
    let moved = Quirks { tool_result_media: ToolResultMedia::UserMessage, ..Quirks::default() };
    let (after, adapted) = items(moved, history());
    assert!(after.ends_with(&format!(r#""output":"ok"}},{{"type":"message","role":"user","content":[{image}]}}"#)));
    assert_eq!(adapted, ["tool_result_media_moved"]);
}

/// Reasoning is opaque: it goes back as it came, spaces included, to the model that issued it and to no other.
#[test]
fn reasoning_goes_back_byte_for_byte_to_its_issuer_alone() {
    let call_part = |model| with(tool_call("o1", "c1", "{}"), model, r#"{"id":"fc_1","status":"completed"}"#);
    let text = |model| {
        let data = r#"{"item":{"id":"msg_1","phase":"commentary"},"part":{"annotations":[{"n":1.0}]}}"#;
        with(Kind::Text("t".to_owned()), model, data)
    };
    let said = |model| {
        vec![Message { role: Role::Assistant, parts: vec![thought(model, THOUGHT), text(model), call_part(model)] }]
    };
    let own = concat!(
        r#","id":"msg_1","phase":"commentary","content":[{"type":"output_text","text":"t","annotations":[{"n":1.0}]}]},"#,
        r#"{"type":"function_call","call_id":"c1","name":"w","arguments":"{}","id":"fc_1","status":"completed"}"#,
    );
    let assistant = r#"{"type":"message","role":"assistant""#;
    assert_eq!(items(Quirks::default(), said("m")), (format!("{THOUGHT},{assistant}{own}"), vec![]));
    let plain = format!(
        r#"{assistant},"content":"t"}},{{"type":"function_call","call_id":"c1","name":"w","arguments":"{{}}"}}"#
    );
    let dropped = vec!["foreign_reasoning_dropped".to_owned(), "foreign_data_dropped".to_owned()];
    assert_eq!(items(Quirks::default(), said("n")), (plain, dropped));
    // Ids tie items to the reasoning beside them, so without it they do not go out.
    let never = Quirks { send_reasoning: SendReasoning::Never, ..Quirks::default() };
    let without = own.replace(r#""id":"msg_1","#, "").replace(r#""id":"fc_1","#, "");
    assert_eq!(items(never, said("m")), (format!("{assistant}{without}"), vec!["reasoning_dropped".to_owned()]));
    let (no_ids, adapted) = items(Quirks { item_ids: false, ..Quirks::default() }, said("m"));
    assert_eq!(no_ids, format!("{}{assistant}{without}", THOUGHT.replace(r#""id":"rs_1","#, "") + ","));
    assert_eq!(adapted, Vec::<String>::new());
}

#[test]
fn reasoning_that_the_provider_would_refuse_is_left_out() {
    let after = |parts: Vec<Part>| {
        let (items, adapted) = items(Quirks::default(), vec![Message { role: Role::Assistant, parts }, user("go on")]);
        assert_eq!(adapted[0], "reasoning_dropped");
        items
    };
    let go_on = r#"{"type":"message","role":"user","content":"go on"}"#;
    // Nothing follows it, as in an answer that was cut short.
    assert_eq!(after(vec![thought("m", THOUGHT)]), go_on);
    // Its content is with the provider, who keeps nothing.
    let bare = r#"{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":null}"#;
    let said = format!(r#"{{"type":"message","role":"assistant","content":"t"}},{go_on}"#);
    assert_eq!(after(vec![thought("m", bare), Part::text("t")]), said);
    // Reasoning in the open, as servers of open models send it, is whole without encryption.
    let open = r#"{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}"#;
    let (sent, adapted) = items(
        Quirks::default(),
        vec![Message { role: Role::Assistant, parts: vec![thought("m", open), Part::text("t")] }],
    );
    assert_eq!(sent, format!(r#"{open},{{"type":"message","role":"assistant","content":"t"}}"#));
    assert_eq!(adapted, Vec::<String>::new());
}

#[test]
fn items_without_a_word_of_ours_go_back_to_their_issuer() {
    let search = r#"{"id":"ws_1","type":"web_search_call","status":"completed","action":{"n":1e400}}"#;
    let unknown = |model| with(Kind::Unknown("web_search_call".to_owned(), search.to_owned()), model, "{}");
    let said = |part| vec![Message { role: Role::Assistant, parts: vec![part, Part::text("t")] }];
    let text = r#"{"type":"message","role":"assistant","content":"t"}"#;
    assert_eq!(items(Quirks::default(), said(unknown("m"))), (format!("{search},{text}"), vec![]));
    let dropped = || (text.to_owned(), vec!["unknown_parts_dropped".to_owned()]);
    assert_eq!(items(Quirks::default(), said(unknown("n"))), dropped());
    let nobodys = Part::new(Kind::Unknown("web_search_call".to_owned(), search.to_owned()));
    assert_eq!(items(Quirks::default(), said(nobodys)), dropped());
}

#[test]
fn refusals_media_and_errors() {
    let parts = vec![Part::new(Kind::Refusal("No.".to_owned())), Part::new(png())];
    let (said, adapted) = items(Quirks::default(), vec![Message { role: Role::Assistant, parts }]);
    let expected = r#"{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"No."}]}"#;
    assert_eq!((said.as_str(), adapted), (expected, vec!["assistant_media_dropped".to_owned()]));
    let mut failed = ToolResult { call_id: CallId::new("o1"), parts: vec![], is_error: true, interrupted: false };
    failed.parts.push(Part::text("no such city"));
    let history = vec![
        message(Role::Assistant, vec![tool_call("o1", "c1", "{}")]),
        message(Role::Tool, vec![Kind::ToolResult(failed)]),
        Message { role: Role::Assistant, parts: Vec::new() },
    ];
    let (said, adapted) = items(Quirks::default(), history);
    assert!(said.ends_with(r#""output":"no such city"}"#), "{said}");
    assert_eq!(adapted, ["tool_error_flag_dropped", "empty_message_dropped"]);
}

#[test]
fn half_characters_never_go_out() {
    let schema = tool(r#"{"description":"\ud83d"}"#);
    let call = Call { tools: vec![schema], ..call(vec![user("x")]) };
    let (sent, adapted) = settings(Quirks::default(), &call);
    assert!(sent.contains(r#"{"description":"\ufffd"}"#), "{sent}");
    assert_eq!(adapted, ["replaced_invalid_unicode"]);
}

#[derive(Clone, Debug)]
struct Turn {
    user: String,
    calls: Vec<(String, String, bool)>,
    thought: Option<&'static str>,
    answer: String,
    system: bool,
}

fn turn() -> impl Strategy<Value = Turn> {
    let calls = proptest::collection::vec(("[ab]?", "(\\{\\}|\\{|x)", any::<bool>()), 0..3);
    let thought = proptest::option::of(proptest::sample::select(vec!["m", "n"]));
    (".{0,3}", calls, thought, ".{0,3}", any::<bool>()).prop_map(|(user, calls, thought, answer, system)| Turn {
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
        if !turn.calls.is_empty() {
            let mut parts: Vec<Part> = turn.thought.map(|model| thought(model, THOUGHT)).into_iter().collect();
            let id = |at: usize| format!("c-{number}-{at}");
            parts.extend(turn.calls.iter().enumerate().map(|(at, call)| {
                with(tool_call(&id(at), &call.0, &call.1), turn.thought.unwrap_or("m"), r#"{"id":"fc"}"#)
            }));
            messages.push(Message { role: Role::Assistant, parts });
            for (at, (_, _, image)) in turn.calls.iter().enumerate() {
                let mut parts = vec![Part::text("r")];
                parts.extend(image.then(|| Part::new(png())));
                messages.push(message(Role::Tool, vec![result(&id(at), parts)]));
            }
            ends.push(messages.len());
        }
        let mut parts: Vec<Part> = turn.thought.map(|model| thought(model, THOUGHT)).into_iter().collect();
        parts.push(Part::text(turn.answer.as_str()));
        messages.push(Message { role: Role::Assistant, parts });
    }
    (messages, ends)
}

proptest! {
    #[test]
    fn the_body_of_a_longer_history_begins_with_that_of_a_shorter_one(
        turns in proptest::collection::vec(turn(), 1..5),
        unique in any::<bool>(),
        instructions in any::<bool>(),
        with_calls in any::<bool>(),
        moved in any::<bool>(),
    ) {
        let quirks = Quirks {
            unique_call_ids: unique,
            instructions,
            send_reasoning: if with_calls { SendReasoning::WithCalls } else { SendReasoning::Always },
            tool_result_media: if moved { ToolResultMedia::UserMessage } else { ToolResultMedia::ToolOutput },
            invalid_arguments: InvalidArguments::Wrap,
            ..Quirks::default()
        };
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
