//! The bytes that go out.

use proptest::prelude::*;

use super::*;
use crate::domain::message::{CacheMarker, Kind, Media, Message, Part};
use crate::engine::backend::wire::sample::{
    assert_each_begins_the_next, call, feature, history, png, recipient, result, said, thought, tool, tool_call, turn,
    user, with_data,
};

const API: &str = "gemini";

fn outbound(quirks: &Quirks, call: &Call) -> Result<(String, Vec<String>), Failure> {
    let outbound = encode(quirks, recipient(API), call)?;
    Ok((String::from_utf8(outbound.body.to_vec()).unwrap(), outbound.adaptations))
}

/// The text of the contents alone, and what was adapted.
fn sent(quirks: &Quirks, messages: Vec<Message>) -> (String, Vec<String>) {
    let (body, adapted) = outbound(quirks, &call(messages)).unwrap();
    let contents = body.strip_prefix(r#"{"contents":["#).unwrap().strip_suffix("]}").unwrap();
    (contents.to_owned(), adapted)
}

fn default(messages: Vec<Message>) -> (String, Vec<String>) {
    sent(&Quirks::default(), messages)
}

#[test]
fn the_smallest_call() {
    let (body, adapted) = outbound(&Quirks::default(), &call(vec![user("Hi \"you\"\n")])).unwrap();
    let expected = r#"{"contents":[{"role":"user","parts":[{"text":"Hi \"you\"\n"}]}]}"#;
    assert_eq!((body.as_str(), adapted), (expected, Vec::new()));
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
        extra_json: Some(r#"{"generationConfig":{"topK":40},"safetySettings":[],"big":1e400}"#.to_owned()),
    };
    call.tools = vec![tool("w", r#"{"type":"object","properties":{"n":{"maximum":18446744073709551616}}}"#)];
    call.tool_choice = ToolChoice::Named("w".to_owned());
    call.contract = Contract::JsonSchema { name: "p".to_owned(), schema_json: r#"{ "type" : "object" }"#.to_owned() };
    let quirks = Quirks { include_thoughts: true, contract_with_tools: true, ..Quirks::default() };
    let (body, adapted) = outbound(&quirks, &call).unwrap();
    let expected = concat!(
        r#"{"generationConfig":{"temperature":0.1,"topP":1.0,"maxOutputTokens":64,"stopSequences":["END"],"seed":-7,"#,
        r#""thinkingConfig":{"thinkingLevel":"low","includeThoughts":true},"responseMimeType":"application/json","#,
        r#""responseJsonSchema":{ "type" : "object" },"topK":40},"#,
        r#""toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["w"]}},"#,
        r#""tools":[{"functionDeclarations":[{"name":"w","description":"Does it","parametersJsonSchema":{"type":"object","properties":{"n":{"maximum":18446744073709551616}}}}]}],"#,
        r#""safetySettings":[],"big":1e400,"systemInstruction":{"parts":[{"text":"Be brief."}]},"#,
        r#""contents":[{"role":"user","parts":[{"text":"Hi"}]}]}"#,
    );
    assert_eq!((body.as_str(), adapted), (expected, Vec::new()));
}

#[test]
fn what_the_dialect_cannot_say_is_refused_by_name_or_told() {
    let with = |parameters: Parameters| Call { parameters, tools: vec![tool("w", "")], ..call(vec![user("x")]) };
    let refused = |quirks: &Quirks, call: &Call| feature(&outbound(quirks, call).unwrap_err()).to_owned();
    let default = Quirks::default();
    let single = with(Parameters { parallel_tool_calls: Some(false), ..Parameters::default() });
    assert_eq!(refused(&default, &single), "parallel_tool_calls");
    let seeded = with(Parameters { seed: Some(1), ..Parameters::default() });
    assert_eq!(refused(&Quirks { seed: false, ..Quirks::default() }, &seeded), "seed");
    let clash = |extra: &str| {
        let (temperature, extra_json) = (Some(1.0), Some(extra.to_owned()));
        with(Parameters { temperature, extra_json, ..Parameters::default() })
    };
    let nested = clash(r#"{"generationConfig":{"temperature":0}}"#);
    assert_eq!(refused(&default, &nested), "extra_json.generationConfig.temperature");
    assert_eq!(refused(&default, &clash(r#"{"generationConfig":1}"#)), "extra_json.generationConfig");
    assert_eq!(refused(&default, &clash(r#"{"tools":[]}"#)), "extra_json.tools");
    let effort = with(Parameters { reasoning_effort: Some("low".to_owned()), ..Parameters::default() });
    let budget = Quirks { thinking: Thinking::Budget, ..Quirks::default() };
    assert!(outbound(&budget, &effort).unwrap().0.contains(r#""thinkingConfig":{"thinkingBudget":1024}"#));
    assert_eq!(refused(&Quirks { thinking: Thinking::None, ..Quirks::default() }, &effort), "reasoning_effort");
    let required = Call { tool_choice: ToolChoice::Required, ..call(vec![user("x")]) };
    assert_eq!(refused(&default, &required), "tool_choice");
    assert_eq!(refused(&default, &call(vec![Message::text(Role::System, "s")])), "messages");
    let json = Call { contract: Contract::Json, session_id: Some("s".to_owned()), ..with(Parameters::default()) };
    assert_eq!(outbound(&default, &json).unwrap().1, ["session_id_dropped", "contract_not_sent"]);
}

#[test]
fn tool_choices_and_tools_without_parameters() {
    for (tool_choice, expected) in [
        (ToolChoice::Auto, ""),
        (ToolChoice::None, r#""toolConfig":{"functionCallingConfig":{"mode":"NONE"}},"#),
        (ToolChoice::Required, r#""toolConfig":{"functionCallingConfig":{"mode":"ANY"}},"#),
    ] {
        let call = Call { tools: vec![tool("w", "")], tool_choice, ..call(vec![user("x")]) };
        let tools = r#""tools":[{"functionDeclarations":[{"name":"w","description":"Does it"}]}],"contents""#;
        let body = outbound(&Quirks::default(), &call).unwrap().0;
        assert!(body.starts_with(&format!("{{{expected}{tools}")), "{body}");
    }
}

#[test]
fn results_are_objects_and_those_of_parallel_calls_one_content() {
    let calls = [("o1", "a", "{}"), ("o2", "", "x"), ("o3", "a", r#"{ "n": 1e400 }"#), ("o4", "d", "{}")];
    let calls = calls.map(|(ours, theirs, arguments)| Part::new(tool_call(ours, theirs, "w", arguments)));
    let mut failed = result("o4", vec![Part::text("no")]);
    if let Kind::ToolResult(result) = &mut failed.parts[0].kind {
        result.is_error = true;
    }
    let messages = vec![
        user("go"),
        said(Role::Assistant, calls.to_vec()),
        result("o2", vec![Part::text("")]),
        result("o1", vec![Part::text(r##"{"$ref":"#/x"}"##)]),
        result("o3", vec![Part::text("a"), png(), Part::text("b")]),
        failed,
        user("and?"),
    ];
    let (text, adapted) = default(messages);
    let expected = concat!(
        r#"{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":["#,
        r#"{"functionCall":{"id":"a","name":"w","args":{}}},{"functionCall":{"name":"w","args":{"invalid_arguments":"x"}}},"#,
        r#"{"functionCall":{"id":"o3","name":"w","args":{ "n": 1e400 }}},{"functionCall":{"id":"d","name":"w","args":{}}}]},"#,
        r##"{"role":"user","parts":[{"functionResponse":{"id":"a","name":"w","response":{"$ref":"#/x"}}},"##,
        r#"{"functionResponse":{"name":"w","response":{"output":""}}},"#,
        r#"{"functionResponse":{"id":"o3","name":"w","response":{"output":"ab"}}},"#,
        r#"{"functionResponse":{"id":"d","name":"w","response":{"error":"no"}}}]},"#,
        r#"{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"AQI="}}]},"#,
        r#"{"role":"user","parts":[{"text":"and?"}]}"#,
    );
    assert_eq!(text, expected);
    let told = [
        "tool_results_reordered",
        "invalid_arguments_wrapped",
        "call_id_replaced",
        "tool_result_wrapped",
        "tool_result_media_moved",
        "texts_joined",
    ];
    assert_eq!(adapted, told);
}

#[test]
fn signatures_go_back_on_their_very_parts_to_the_model_that_issued_them() {
    let parts = |model: &str| {
        vec![
            with_data(thought("Hm"), API, model, r#"{"thought":true}"#),
            Part::text("4"),
            with_data(Kind::Text(String::new()), API, model, r#"{"thoughtSignature":"U0lH"}"#),
            with_data(tool_call("o1", "", "w", "{}"), API, model, r#"{"thoughtSignature":"QUFB"}"#),
            with_data(
                Kind::Unknown("executableCode".to_owned(), r#"{"executableCode":{"x":1.0}}"#.to_owned()),
                API,
                model,
                "{}",
            ),
        ]
    };
    let messages =
        |model: &str| vec![user("x"), said(Role::Assistant, parts(model)), result("o1", vec![Part::text("{}")])];
    let (text, adapted) = default(messages("m"));
    let expected = concat!(
        r#"{"role":"model","parts":[{"text":"Hm","thought":true},{"text":"4"},{"text":"","thoughtSignature":"U0lH"},"#,
        r#"{"functionCall":{"name":"w","args":{}},"thoughtSignature":"QUFB"},{"executableCode":{"x":1.0}}]}"#,
    );
    assert!(text.contains(expected), "{text}");
    assert_eq!(adapted, Vec::<String>::new());
    let (text, adapted) = default(messages("n"));
    let expected = r#"{"role":"model","parts":[{"text":"4"},{"functionCall":{"name":"w","args":{}}}]}"#;
    assert!(text.contains(expected), "{text}");
    let told = ["foreign_reasoning_dropped", "empty_text_dropped", "unknown_parts_dropped", "foreign_data_dropped"];
    assert_eq!(adapted, told);
    let stand_in = Quirks { signature_stand_in: Some("skip".to_owned()), ..Quirks::default() };
    let (text, adapted) = sent(&stand_in, messages("n"));
    assert!(text.contains(r#"{"functionCall":{"name":"w","args":{}},"thoughtSignature":"skip"}"#), "{text}");
    assert!(adapted.contains(&"signature_stand_in_sent".to_owned()));
    assert!(!sent(&stand_in, messages("m")).0.contains("skip"), "it has its own");
}

#[test]
fn instructions_media_and_what_has_no_place() {
    let file = Kind::File(Media::Link("gs://b/a.pdf".to_owned(), "application/pdf".to_owned()), "a.pdf".to_owned());
    let marked = Part { cache_marker: Some(CacheMarker { ttl: String::new() }), ..Part::text("x") };
    let refusal = said(Role::Assistant, vec![Part::new(Kind::Refusal("No.".to_owned())), png()]);
    let messages = vec![
        said(Role::User, vec![Part::new(file), marked]),
        refusal,
        Message::text(Role::System, "s"),
        said(Role::Assistant, Vec::new()),
        user("y"),
    ];
    let (text, adapted) = default(messages);
    let expected = concat!(
        r#"{"role":"user","parts":[{"fileData":{"mimeType":"application/pdf","fileUri":"gs://b/a.pdf"}},{"text":"x"}]},"#,
        r#"{"role":"model","parts":[{"text":"No."}]},{"role":"user","parts":[{"text":"s"}]},{"role":"user","parts":[{"text":"y"}]}"#,
    );
    assert_eq!(text, expected);
    let told = [
        "file_name_dropped",
        "cache_markers_dropped",
        "assistant_media_dropped",
        "refusal_sent_as_text",
        "system_sent_as_user",
        "empty_message_dropped",
    ];
    assert_eq!(adapted, told);
}

#[test]
fn schemas_in_the_apis_own_form_are_converted_or_refused_by_the_name_of_their_tool() {
    let quirks = Quirks { schemas: Schemas::Openapi, ..Quirks::default() };
    let with = |schema: &str| Call { tools: vec![tool("w", schema)], ..call(vec![user("x")]) };
    let (body, adapted) = outbound(
        &quirks,
        &with(r#"{"type":"object","additionalProperties":false,"properties":{"const":{"type":"string"}}}"#),
    )
    .unwrap();
    assert!(body.contains(r#""parameters":{"type":"object","properties":{"const":{"type":"string"}}}"#), "{body}");
    assert_eq!(adapted, ["schema_words_dropped"]);
    let failure = outbound(&quirks, &with(r#"{"not":{}}"#)).unwrap_err();
    assert_eq!(feature(&failure), "tools.input_schema_json");
    assert!(failure.message.contains("the tool `w`") && failure.message.contains("`not`"), "{failure:?}");
    let contract = Contract::JsonSchema { name: "p".to_owned(), schema_json: r##"{"$ref":"#"}"##.to_owned() };
    let failure = outbound(&quirks, &Call { contract, ..call(vec![user("x")]) }).unwrap_err();
    assert_eq!(feature(&failure), "contract.schema_json");
}

proptest! {
    #[test]
    fn the_body_of_a_longer_history_begins_with_that_of_a_shorter_one(
        turns in proptest::collection::vec(turn(), 1..5),
        call_ids in any::<bool>(),
        stands_in in any::<bool>(),
    ) {
        let signature_stand_in = stands_in.then(|| "skip".to_owned());
        let quirks = Quirks { call_ids, signature_stand_in, ..Quirks::default() };
        let (messages, ends) = history(&turns, API, r#"{"thought":true}"#);
        let of = |end: &usize| Call { tools: vec![tool("w", "{}")], ..call(messages[..*end].to_vec()) };
        let bodies: Vec<String> = ends.iter().map(|end| outbound(&quirks, &of(end)).unwrap().0).collect();
        assert_each_begins_the_next(&bodies)?;
    }
}
