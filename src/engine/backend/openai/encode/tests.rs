//! The bytes that go out.

use proptest::prelude::*;

use super::super::quirks::{
    CallContent, Files, InvalidArguments, Quirks, ReasoningField, SendReasoning, SystemPosition, SystemRole,
    ToolResultMedia,
};
use super::*;
use crate::domain::id::CallId;
use crate::domain::message::{
    CacheMarker, Issuer, Kind, Media, Message, Part, ProviderData, Reasoning, Role, ToolCall, ToolResult,
};
use crate::engine::backend::FailureKind;

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
    let to = Recipient { provider: "p", api: "openai-chat", model: &call.model, foreign: config.foreign_data };
    let outbound = encode(&config, to, call)?;
    Ok((String::from_utf8(outbound.body.to_vec()).unwrap(), outbound.adaptations))
}

fn body(call: &Call) -> String {
    outbound(Quirks::default(), call).unwrap().0
}

/// The text of the messages alone, and what was adapted.
fn messages(quirks: Quirks, messages: Vec<Message>) -> (String, Vec<String>) {
    let (body, adapted) = outbound(quirks, &call(messages)).unwrap();
    let body = body.strip_prefix(r#"{"model":"m","messages":["#).unwrap().strip_suffix("]}").unwrap();
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

fn text_result(ours: &str, text: &str) -> Kind {
    result(ours, vec![Part::text(text)])
}

fn png() -> Kind {
    Kind::Image(Media::Inline("image/png".to_owned(), bytes::Bytes::from_static(b"\x01\x02")), "low".to_owned())
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
    assert_eq!(
        body(&call(vec![user("Hi \"you\"\n")])),
        r#"{"model":"m","messages":[{"role":"user","content":"Hi \"you\"\n"}]}"#
    );
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
        parallel_tool_calls: Some(false),
        extra_json: Some(r#"{"top_k": 40,"big":18446744073709551616,"nested":{"e":1e400}}"#.to_owned()),
    };
    call.tools = vec![tool(r#"{"type":"object","properties":{"n":{"maximum":18446744073709551616}}}"#)];
    call.tool_choice = ToolChoice::Named("w".to_owned());
    call.contract =
        Contract::JsonSchema { name: "person/1".to_owned(), schema_json: r#"{ "type" : "object" }"#.to_owned() };
    call.session_id = Some("s-1".to_owned());
    let quirks = Quirks {
        session_field: Some("prompt_cache_key".to_owned()),
        strict_schema: Some(true),
        max_tokens_field: MaxTokensField::MaxCompletionTokens,
        system_role: SystemRole::Developer,
        ..Quirks::default()
    };
    let (body, adapted) = outbound(quirks, &call).unwrap();
    let expected = concat!(
        r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"temperature":0.1,"top_p":1.0,"#,
        r#""max_completion_tokens":64,"stop":["END"],"seed":-7,"reasoning_effort":"low","parallel_tool_calls":false,"#,
        r#""prompt_cache_key":"s-1","tools":[{"type":"function","function":{"name":"w","description":"Weather","#,
        r#""parameters":{"type":"object","properties":{"n":{"maximum":18446744073709551616}}}}}],"#,
        r#""tool_choice":{"type":"function","function":{"name":"w"}},"#,
        r#""response_format":{"type":"json_schema","json_schema":{"name":"person_1","schema":{ "type" : "object" },"strict":true}},"#,
        r#""top_k":40,"big":18446744073709551616,"nested":{"e":1e400},"#,
        r#""messages":[{"role":"developer","content":"Be brief."},{"role":"user","content":"Hi"}]}"#,
    );
    assert_eq!(body, expected);
    assert_eq!(adapted, ["contract_name_changed"]);
}

#[test]
fn the_words_of_tool_choice() {
    for (choice, quirk, expected) in [
        (ToolChoice::Auto, "required", ""),
        (ToolChoice::None, "required", r#","tool_choice":"none""#),
        (ToolChoice::Required, "required", r#","tool_choice":"required""#),
        (ToolChoice::Required, "any", r#","tool_choice":"any""#),
    ] {
        let call = Call { tools: vec![tool("")], tool_choice: choice, ..call(vec![user("x")]) };
        let quirks = Quirks { required_word: quirk.to_owned(), ..Quirks::default() };
        let (body, _) = outbound(quirks, &call).unwrap();
        let tools = r#""parameters":{"type":"object","properties":{}}}}]"#;
        assert!(body.contains(&format!("{tools}{expected},\"messages\"")), "{body}");
    }
    let call = Call { tool_choice: ToolChoice::Required, ..call(vec![user("x")]) };
    assert_eq!(feature(Quirks::default(), &call), "tool_choice");
}

#[test]
fn what_a_server_does_not_take_is_refused_or_reported() {
    let with_tools = Call { tools: vec![tool("{}")], ..call(vec![user("x")]) };
    assert_eq!(feature(Quirks { tools: false, ..Quirks::default() }, &with_tools), "tools");
    assert_eq!(
        feature(Quirks::default(), &Call { tools: vec![tool("{")], ..with_tools.clone() }),
        "tools.input_schema_json"
    );
    let one_at_a_time = Parameters { parallel_tool_calls: Some(false), ..Parameters::default() };
    let quirks = Quirks { parallel_tool_calls: false, ..Quirks::default() };
    assert_eq!(feature(quirks, &Call { parameters: one_at_a_time, ..with_tools }), "parallel_tool_calls");
    let image = call(vec![message(Role::User, vec![png()])]);
    assert_eq!(feature(Quirks { images: false, ..Quirks::default() }, &image), "images");
    let link = Kind::File(Media::Link("https://x.example/a.pdf".to_owned(), String::new()), String::new());
    assert_eq!(feature(Quirks::default(), &call(vec![message(Role::User, vec![link])])), "file_links");
    let streamed = Call { stream: true, session_id: Some("s".to_owned()), ..call(vec![user("x")]) };
    let (body, adapted) = outbound(Quirks { stream: false, ..Quirks::default() }, &streamed).unwrap();
    assert!(!body.contains("stream"));
    assert_eq!(adapted, ["not_streamed", "session_id_dropped"]);
}

#[test]
fn extra_fields_never_replace_what_the_call_sets() {
    for (extra, refused) in [
        (r#"{"messages":[]}"#, "extra_json.messages"),
        (r#"{"n":2}"#, "extra_json.n"),
        (r#"{"temperature":1}"#, "extra_json.temperature"),
        ("[1]", "extra_json"),
        ("{", "extra_json"),
    ] {
        let parameters =
            Parameters { temperature: Some(0.0), extra_json: Some(extra.to_owned()), ..Parameters::default() };
        assert_eq!(feature(Quirks::default(), &Call { parameters, ..call(vec![user("x")]) }), refused);
    }
}

#[test]
fn contracts_by_what_the_server_knows() {
    let schema = Contract::JsonSchema { name: String::new(), schema_json: "{}".to_owned() };
    for (contract, level, format, adapted) in [
        (Contract::Text, StructuredOutput::JsonSchema, None, None),
        (Contract::Json, StructuredOutput::JsonSchema, Some(r#"{"type":"json_object"}"#), None),
        (
            schema.clone(),
            StructuredOutput::JsonSchema,
            Some(r#"{"type":"json_schema","json_schema":{"name":"answer","schema":{}}}"#),
            None,
        ),
        (schema.clone(), StructuredOutput::JsonObject, Some(r#"{"type":"json_object"}"#), Some("schema_not_sent")),
        (schema, StructuredOutput::None, None, Some("contract_not_sent")),
    ] {
        let call = Call { contract, ..call(vec![user("x")]) };
        let (body, told) = outbound(Quirks { structured_output: level, ..Quirks::default() }, &call).unwrap();
        assert_eq!(told, adapted.into_iter().collect::<Vec<_>>());
        match format {
            None => assert!(!body.contains("response_format")),
            Some(format) => assert!(body.contains(&format!("\"response_format\":{format}")), "{body}"),
        }
    }
}

#[test]
fn parts_of_a_user_message() {
    let file =
        Kind::File(Media::Inline("application/pdf".to_owned(), bytes::Bytes::from_static(b"%")), "a.pdf".to_owned());
    let link = Kind::Image(Media::Link("https://x.example/a.png".to_owned(), String::new()), String::new());
    let (text, adapted) =
        messages(Quirks::default(), vec![message(Role::User, vec![Kind::Text("see".to_owned()), png(), link, file])]);
    let expected = concat!(
        r#"{"role":"user","content":[{"type":"text","text":"see"},"#,
        r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AQI=","detail":"low"}},"#,
        r#"{"type":"image_url","image_url":{"url":"https://x.example/a.png"}},"#,
        r#"{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JQ=="}}]}"#,
    );
    assert_eq!((text.as_str(), adapted), (expected, vec![]));
    let link = Kind::File(Media::Link("https://x.example/a.pdf".to_owned(), String::new()), String::new());
    let (text, _) =
        messages(Quirks { files: Files::Links, ..Quirks::default() }, vec![message(Role::User, vec![link])]);
    assert!(text.contains(r#"{"type":"file","file":{"file_data":"https://x.example/a.pdf"}}"#));
}

#[test]
fn several_texts_stay_apart_or_are_joined() {
    let two = || vec![message(Role::User, vec![Kind::Text("a".to_owned()), Kind::Text("b".to_owned())])];
    let (text, adapted) = messages(Quirks::default(), two());
    assert_eq!(text, r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#);
    assert_eq!(adapted, [""; 0]);
    let (text, adapted) = messages(Quirks { text_arrays: false, ..Quirks::default() }, two());
    assert_eq!((text.as_str(), adapted), (r#"{"role":"user","content":"ab"}"#, vec!["texts_joined".to_owned()]));
}

#[test]
fn cache_markers_go_out_where_they_are_known() {
    let mut part = Part::text("long");
    part.cache_marker = Some(CacheMarker { ttl: "1h".to_owned() });
    let marked = || vec![Message { role: Role::System, parts: vec![part.clone()] }];
    let (text, adapted) = messages(Quirks::default(), marked());
    assert_eq!(
        (text.as_str(), adapted),
        (r#"{"role":"system","content":"long"}"#, vec!["cache_markers_dropped".to_owned()])
    );
    let (text, adapted) = messages(Quirks { cache_markers: true, ..Quirks::default() }, marked());
    let expected = r#"{"role":"system","content":[{"type":"text","text":"long","cache_control":{"type":"ephemeral","ttl":"1h"}}]}"#;
    assert_eq!((text.as_str(), adapted), (expected, vec![]));
}

#[test]
fn calls_and_results() {
    let arguments = r#"{"id":9007199254740993,"f":0.1,"e":1e400,"z":1.0,"note":"{\"a\":1}"}"#;
    let history = vec![
        message(
            Role::Assistant,
            vec![
                Kind::Text("Let me look. ".to_owned()),
                tool_call("c-1", "call_a", arguments),
                tool_call("c-2", "", "{}"),
            ],
        ),
        message(Role::Tool, vec![text_result("c-2", ""), text_result("c-1", "15")]),
    ];
    let (text, adapted) = messages(Quirks::default(), history);
    let expected = concat!(
        r#"{"role":"assistant","content":"Let me look. ","tool_calls":["#,
        r#"{"id":"call_a","type":"function","function":{"name":"w","arguments":"{\"id\":9007199254740993,\"f\":0.1,\"e\":1e400,\"z\":1.0,\"note\":\"{\\\"a\\\":1}\"}"}},"#,
        r#"{"id":"c-2","type":"function","function":{"name":"w","arguments":"{}"}}]},"#,
        r#"{"role":"tool","tool_call_id":"c-2","content":""},{"role":"tool","tool_call_id":"call_a","content":"15"}"#,
    );
    assert_eq!((text.as_str(), adapted), (expected, vec![]));
}

#[test]
fn a_message_that_only_calls_has_no_text_block() {
    for (said, quirk, content, told) in [
        ("", CallContent::Null, r#""content":null,"#, None),
        (" \n", CallContent::Null, r#""content":null,"#, Some("blank_text_dropped")),
        ("", CallContent::Empty, r#""content":"","#, None),
        ("", CallContent::Omit, "", None),
    ] {
        let history = vec![message(Role::Assistant, vec![Kind::Text(said.to_owned()), tool_call("c", "c", "{}")])];
        let (text, adapted) = messages(Quirks { call_content: quirk, ..Quirks::default() }, history);
        assert!(text.starts_with(&format!(r#"{{"role":"assistant",{content}"tool_calls":["#)), "{text}");
        assert_eq!(adapted, told.into_iter().collect::<Vec<_>>());
    }
    let silent =
        vec![message(Role::Assistant, vec![Kind::Reasoning(Reasoning { text: "r".to_owned(), is_summary: false })])];
    assert_eq!(messages(Quirks::default(), silent).0, r#"{"role":"assistant","content":""}"#);
}

#[test]
fn ids_that_repeat() {
    let history = || {
        vec![
            message(Role::Assistant, vec![tool_call("c-1", "w:0", "{}")]),
            message(Role::Tool, vec![text_result("c-1", "1")]),
            message(Role::Assistant, vec![tool_call("c-2", "w:0", "{}"), tool_call("c-3", "w:0", "{}")]),
            message(Role::Tool, vec![text_result("c-2", "2"), text_result("c-3", "3")]),
        ]
    };
    let ids = |text: &str, key: &str| -> Vec<String> {
        text.split(&format!("\"{key}\":\"")).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
    };
    let (text, adapted) = messages(Quirks::default(), history());
    assert_eq!(ids(&text, "id"), ["w:0", "w:0", "c-3"], "as given, unless two of one message could not be told apart");
    assert_eq!(ids(&text, "tool_call_id"), ["w:0", "w:0", "c-3"]);
    assert_eq!(adapted, ["call_id_replaced"]);
    let (text, _) = messages(Quirks { unique_call_ids: true, ..Quirks::default() }, history());
    assert_eq!(ids(&text, "id"), ["w:0", "c-2", "c-3"]);
    assert_eq!(ids(&text, "tool_call_id"), ["w:0", "c-2", "c-3"]);
    let (text, _) = messages(Quirks { call_id_length: Some(9), ..Quirks::default() }, history());
    assert!(ids(&text, "id").iter().all(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())));
    assert_eq!(ids(&text, "id"), ids(&text, "tool_call_id"));
}

#[test]
fn arguments_that_are_no_object_go_out_as_they_are_or_wrapped() {
    let history = || vec![message(Role::Assistant, vec![tool_call("c", "c", "{\"a\":")])];
    assert!(messages(Quirks::default(), history()).0.contains(r#""arguments":"{\"a\":""#));
    let (text, adapted) =
        messages(Quirks { invalid_arguments: InvalidArguments::Wrap, ..Quirks::default() }, history());
    assert!(text.contains(r#""arguments":"{\"invalid_arguments\":\"{\\\"a\\\":\"}""#), "{text}");
    assert_eq!(adapted, ["invalid_arguments_wrapped"]);
}

#[test]
fn images_of_results_follow_the_whole_batch() {
    let history = || {
        vec![
            message(Role::Assistant, vec![tool_call("c-1", "a", "{}"), tool_call("c-2", "b", "{}")]),
            message(Role::Tool, vec![result("c-1", vec![Part::text("see"), Part::new(png())])]),
            message(Role::Tool, vec![text_result("c-2", "ok")]),
            user("go on"),
        ]
    };
    let (text, adapted) = messages(Quirks::default(), history());
    let image = r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AQI=","detail":"low"}}"#;
    let after = format!(
        r#"{{"role":"tool","tool_call_id":"a","content":"see"}},{{"role":"tool","tool_call_id":"b","content":"ok"}},{{"role":"user","content":[{image}]}},{{"role":"user","content":"go on"}}"#
    );
    assert!(text.ends_with(&after), "{text}");
    assert_eq!(adapted, ["tool_result_media_moved"]);
    let quirks = Quirks { tool_result_media: ToolResultMedia::ToolMessage, ..Quirks::default() };
    let (text, adapted) = messages(quirks, history());
    assert!(text.contains(&format!(r#""tool_call_id":"a","content":[{{"type":"text","text":"see"}},{image}]"#)));
    assert_eq!(adapted, [""; 0]);
}

fn thought(text: &str, issuer: Option<&str>) -> Part {
    let mut part = Part::new(Kind::Reasoning(Reasoning { text: text.to_owned(), is_summary: false }));
    part.provider_data = issuer.map(|model| ProviderData {
        issuer: Issuer { provider: "p".to_owned(), api: "openai-chat".to_owned(), model: model.to_owned() },
        data_json: r#"{"reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}"#.to_owned(),
    });
    part
}

#[test]
fn reasoning_goes_back_as_configured() {
    let history = |issuer, calls: bool| {
        let mut parts = vec![thought("r1", issuer), Part::text("t")];
        if calls {
            parts.push(Part::new(tool_call("c", "c", "{}")));
        }
        vec![Message { role: Role::Assistant, parts }]
    };
    let sent = |send, field, issuer, calls| {
        let quirks = Quirks { send_reasoning: send, reasoning_field: field, ..Quirks::default() };
        messages(quirks, history(issuer, calls))
    };
    let content = ReasoningField::ReasoningContent;
    let (text, adapted) = sent(SendReasoning::Never, content, None, true);
    assert!(!text.contains("r1"));
    assert_eq!(adapted, ["reasoning_dropped"]);
    let (text, adapted) = sent(SendReasoning::WithCalls, content, None, true);
    assert!(text.contains(r#""content":"t","reasoning_content":"r1","tool_calls""#), "{text}");
    assert_eq!(adapted, [""; 0]);
    assert_eq!(sent(SendReasoning::WithCalls, content, None, false).1, ["reasoning_dropped"]);
    let (text, _) = sent(SendReasoning::Always, ReasoningField::Reasoning, Some("m"), false);
    assert!(text.ends_with(r#""content":"t","reasoning":"r1"}"#), "{text}");
    let (text, _) = sent(SendReasoning::Always, ReasoningField::ReasoningDetails, Some("m"), false);
    assert!(text.ends_with(r#","reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}"#), "{text}");
    let (text, adapted) = sent(SendReasoning::Always, content, Some("another-model"), false);
    assert!(!text.contains("r1"));
    assert_eq!(adapted, ["foreign_reasoning_dropped"]);
}

#[test]
fn data_of_a_call_goes_back_to_its_issuer_alone() {
    let part = |model: &str| {
        let mut part = Part::new(tool_call("c", "c", "{}"));
        part.provider_data = Some(ProviderData {
            issuer: Issuer { provider: "p".to_owned(), api: "openai-chat".to_owned(), model: model.to_owned() },
            data_json: r#"{"extra_content":{"google":{"thought_signature":"s"}}}"#.to_owned(),
        });
        vec![Message { role: Role::Assistant, parts: vec![part] }]
    };
    let (text, adapted) = messages(Quirks::default(), part("m"));
    assert!(text.contains(r#""arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}]"#), "{text}");
    assert_eq!(adapted, [""; 0]);
    let (text, adapted) = messages(Quirks::default(), part("n"));
    assert!(!text.contains("extra_content"));
    assert_eq!(adapted, ["foreign_data_dropped"]);
}

#[test]
fn refusals_and_errors_of_tools() {
    let history = || vec![message(Role::Assistant, vec![Kind::Refusal("No.".to_owned())])];
    let (text, adapted) = messages(Quirks::default(), history());
    assert_eq!(
        (text.as_str(), adapted),
        (r#"{"role":"assistant","content":"No."}"#, vec!["refusal_sent_as_text".to_owned()])
    );
    let (text, _) = messages(Quirks { refusal_field: true, ..Quirks::default() }, history());
    assert_eq!(text, r#"{"role":"assistant","content":null,"refusal":"No."}"#);
    let failed =
        ToolResult { call_id: CallId::new("c"), parts: vec![Part::text("boom")], is_error: true, interrupted: false };
    let (text, adapted) = messages(Quirks::default(), vec![message(Role::Tool, vec![Kind::ToolResult(failed)])]);
    assert_eq!(
        (text.as_str(), adapted),
        (r#"{"role":"tool","tool_call_id":"c","content":"boom"}"#, vec!["tool_error_flag_dropped".to_owned()])
    );
}

#[test]
fn system_messages_where_the_server_wants_them() {
    let history = || vec![Message::text(Role::System, "a"), user("b"), Message::text(Role::System, "c")];
    let roles = |quirks| {
        let (text, adapted) = messages(quirks, history());
        (
            text.split(r#""role":""#)
                .skip(1)
                .map(|rest| rest.split('"').next().unwrap().to_owned())
                .collect::<Vec<_>>(),
            adapted,
        )
    };
    assert_eq!(roles(Quirks::default()).0, ["system", "user", "system"]);
    let first = Quirks { system_position: SystemPosition::First, ..Quirks::default() };
    assert_eq!(roles(first), (vec!["system".into(), "user".into(), "user".into()], vec!["system_sent_as_user".into()]));
    let none = Quirks { system_role: SystemRole::User, ..Quirks::default() };
    assert_eq!(roles(none).0, ["user", "user", "user"]);
}

#[test]
fn half_characters_never_go_out() {
    let call = Call { tools: vec![tool(r#"{"title":"\ud83d"}"#)], ..call(vec![user("x")]) };
    let (body, adapted) = outbound(Quirks::default(), &call).unwrap();
    assert!(body.contains(r#"{"title":"\ufffd"}"#));
    assert_eq!(adapted, ["replaced_invalid_unicode"]);
}

#[derive(Clone, Debug)]
struct Turn {
    user: String,
    calls: Vec<(String, String, bool)>,
    thought: bool,
    blank: bool,
    answer: String,
    system: bool,
}

fn turn() -> impl Strategy<Value = Turn> {
    let calls = proptest::collection::vec(("[ab]?", "(\\{\\}|\\{|x)", any::<bool>()), 0..3);
    (".{0,3}", calls, any::<bool>(), any::<bool>(), ".{0,3}", any::<bool>())
        .prop_map(|(user, calls, thought, blank, answer, system)| Turn { user, calls, thought, blank, answer, system })
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
            let mut parts = Vec::new();
            if turn.thought {
                parts.push(thought("r", if turn.blank { Some("m") } else { Some("n") }));
            }
            if turn.blank {
                parts.push(Part::text(" "));
            }
            let id = |at: usize| format!("c-{number}-{at}");
            parts.extend(
                turn.calls.iter().enumerate().map(|(at, call)| Part::new(tool_call(&id(at), &call.0, &call.1))),
            );
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
        unique in any::<bool>(),
        first in any::<bool>(),
        with_calls in any::<bool>(),
        nine in any::<bool>(),
    ) {
        let quirks = Quirks {
            unique_call_ids: unique,
            system_position: if first { SystemPosition::First } else { SystemPosition::Anywhere },
            send_reasoning: if with_calls { SendReasoning::WithCalls } else { SendReasoning::Never },
            call_id_length: nine.then_some(9),
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
