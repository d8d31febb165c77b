//! The bytes that go out.

use proptest::prelude::*;

use super::*;
use crate::domain::message::{CacheMarker, Kind, Media, Message, Part};
use crate::engine::backend::anthropic::MarkersKept;
use crate::engine::backend::wire::sample::{
    assert_each_begins_the_next, call, feature, history, png, recipient, result, said, thought, tool, tool_call, turn,
    user, with_data,
};

const API: &str = "anthropic-messages";

fn outbound(quirks: &Quirks, call: &Call) -> Result<(String, Vec<String>), Failure> {
    let outbound = encode(quirks, recipient(API), call)?;
    Ok((String::from_utf8(outbound.body.to_vec()).unwrap(), outbound.adaptations))
}

/// The text of the messages alone, and what was adapted besides the limit.
fn sent(quirks: &Quirks, messages: Vec<Message>) -> (String, Vec<String>) {
    let call = Call { tools: vec![tool("w", "{}")], ..call(messages) };
    let (body, mut adapted) = outbound(quirks, &call).unwrap();
    let (_, messages) = body.split_once(r#""messages":["#).unwrap();
    adapted.retain(|word| word != "max_tokens_filled");
    (messages.strip_suffix("]}").unwrap().to_owned(), adapted)
}

fn default(messages: Vec<Message>) -> (String, Vec<String>) {
    sent(&Quirks::default(), messages)
}

fn refused(messages: Vec<Message>) -> Failure {
    outbound(&Quirks::default(), &call(messages)).unwrap_err()
}

#[test]
fn the_smallest_call() {
    let (body, adapted) = outbound(&Quirks::default(), &call(vec![user("Hi \"you\"\n")])).unwrap();
    let expected = r#"{"model":"m","max_tokens":8192,"messages":[{"role":"user","content":[{"type":"text","text":"Hi \"you\"\n"}]}]}"#;
    assert_eq!((body.as_str(), adapted), (expected, vec!["max_tokens_filled".to_owned()]));
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
        reasoning_effort: Some("low".to_owned()),
        parallel_tool_calls: Some(false),
        extra_json: Some(r#"{"top_k": 40,"big":18446744073709551616}"#.to_owned()),
        seed: None,
    };
    call.tools = vec![tool("w", r#"{"type":"object","properties":{"n":{"maximum":18446744073709551616}}}"#)];
    call.tool_choice = ToolChoice::Named("w".to_owned());
    call.contract = Contract::JsonSchema { name: "p".to_owned(), schema_json: r#"{ "type" : "object" }"#.to_owned() };
    call.session_id = Some("s-1".to_owned());
    let quirks =
        Quirks { session_as_user: true, structured_output: StructuredOutput::OutputConfig, ..Quirks::default() };
    let (body, adapted) = outbound(&quirks, &call).unwrap();
    let expected = concat!(
        r#"{"model":"m","max_tokens":64,"stream":true,"temperature":0.1,"top_p":1.0,"stop_sequences":["END"],"#,
        r#""output_config":{"effort":"low","format":{"type":"json_schema","schema":{ "type" : "object" }}},"#,
        r#""tools":[{"name":"w","description":"Does it","input_schema":{"type":"object","properties":{"n":{"maximum":18446744073709551616}}}}],"#,
        r#""tool_choice":{"type":"tool","name":"w","disable_parallel_tool_use":true},"metadata":{"user_id":"s-1"},"#,
        r#""top_k":40,"big":18446744073709551616,"system":[{"type":"text","text":"Be brief."}],"#,
        r#""messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}"#,
    );
    assert_eq!((body.as_str(), adapted), (expected, Vec::new()));
}

#[test]
fn what_the_dialect_cannot_say_is_refused_by_name_or_told() {
    let with = |parameters: Parameters| Call { parameters, ..call(vec![user("x")]) };
    let seeded = with(Parameters { seed: Some(1), ..Parameters::default() });
    assert_eq!(feature(&outbound(&Quirks::default(), &seeded).unwrap_err()), "seed");
    let clash = with(Parameters { extra_json: Some(r#"{"system":"x"}"#.to_owned()), ..Parameters::default() });
    assert_eq!(feature(&outbound(&Quirks::default(), &clash).unwrap_err()), "extra_json.system");
    let effort = with(Parameters { reasoning_effort: Some("high".to_owned()), ..Parameters::default() });
    let forms = [
        (Reasoning::Effort, r#""output_config":{"effort":"high"}"#),
        (Reasoning::Adaptive, r#""thinking":{"type":"adaptive"},"output_config":{"effort":"high"}"#),
        (Reasoning::Budget, r#""thinking":{"type":"enabled","budget_tokens":16384}"#),
    ];
    for (reasoning, expected) in forms {
        let (body, _) = outbound(&Quirks { reasoning, ..Quirks::default() }, &effort).unwrap();
        assert!(body.contains(expected), "{body}");
    }
    let none = Quirks { reasoning: Reasoning::None, ..Quirks::default() };
    assert_eq!(feature(&outbound(&none, &effort).unwrap_err()), "reasoning_effort");
    let unknown = with(Parameters { reasoning_effort: Some("huge".to_owned()), ..Parameters::default() });
    let budget = Quirks { reasoning: Reasoning::Budget, ..Quirks::default() };
    let failure = outbound(&budget, &unknown).unwrap_err();
    assert!(failure.message.contains("known are high, low, medium"), "{failure:?}");
    let json = Call { contract: Contract::Json, session_id: Some("s".to_owned()), ..call(vec![user("x")]) };
    let (_, adapted) = outbound(&Quirks::default(), &json).unwrap();
    assert_eq!(adapted, ["max_tokens_filled", "contract_not_sent", "session_id_dropped"]);
    let required = Call { tool_choice: ToolChoice::Required, ..call(vec![user("x")]) };
    assert_eq!(feature(&outbound(&Quirks::default(), &required).unwrap_err()), "tool_choice");
    let video = Kind::File(Media::Inline("video/mp4".to_owned(), bytes::Bytes::from_static(b"x")), String::new());
    let failure = refused(vec![user("x"), said(Role::User, vec![Part::new(video)])]);
    assert_eq!(feature(&failure), "files");
    assert!(failure.message.contains("message 1") && failure.message.contains("video/mp4"), "{failure:?}");
    assert_eq!(feature(&refused(vec![Message::text(Role::System, "s")])), "messages");
}

#[test]
fn tool_choices() {
    let choose = |tool_choice, parallel| Call {
        tools: vec![tool("w", "")],
        tool_choice,
        parameters: Parameters { parallel_tool_calls: parallel, ..Parameters::default() },
        ..call(vec![user("x")])
    };
    for (choice, parallel, expected) in [
        (ToolChoice::Auto, None, ""),
        (ToolChoice::Auto, Some(true), ""),
        (ToolChoice::Auto, Some(false), r#""tool_choice":{"type":"auto","disable_parallel_tool_use":true},"#),
        (ToolChoice::Required, None, r#""tool_choice":{"type":"any"},"#),
        (ToolChoice::None, Some(false), r#""tool_choice":{"type":"none"},"#),
        (ToolChoice::Named("w".to_owned()), None, r#""tool_choice":{"type":"tool","name":"w"},"#),
    ] {
        let (body, _) = outbound(&Quirks::default(), &choose(choice, parallel)).unwrap();
        let tools =
            r#""tools":[{"name":"w","description":"Does it","input_schema":{"type":"object","properties":{}}}],"#;
        assert!(body.contains(&format!("{tools}{expected}\"messages\"")), "{body}");
    }
}

#[test]
fn instructions_after_the_first_words_are_the_users() {
    let messages = vec![
        Message::text(Role::System, "a"),
        Message::text(Role::System, "b"),
        user("x"),
        Message::text(Role::System, "c"),
        user("y"),
    ];
    let (body, adapted) = outbound(&Quirks::default(), &call(messages)).unwrap();
    let expected = concat!(
        r#""system":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"messages":[{"role":"user","content":["#,
        r#"{"type":"text","text":"x"},{"type":"text","text":"c"},{"type":"text","text":"y"}]}]}"#,
    );
    assert!(body.ends_with(expected), "{body}");
    assert_eq!(adapted, ["max_tokens_filled", "system_sent_as_user"]);
}

#[test]
fn results_of_parallel_calls_are_one_message_with_what_the_user_says_after_them() {
    let calls =
        vec![Part::new(tool_call("o1", "a", "w", "{ \"n\": 1e400 }")), Part::new(tool_call("o2", "b", "w", "x"))];
    let messages = vec![
        user("go"),
        said(Role::Assistant, calls),
        result("o2", vec![Part::text("two"), png()]),
        result("o1", vec![Part::text("")]),
        user("and?"),
    ];
    let (text, adapted) = default(messages);
    let expected = concat!(
        r#"{"role":"user","content":[{"type":"text","text":"go"}]},{"role":"assistant","content":["#,
        r#"{"type":"tool_use","id":"a","name":"w","input":{ "n": 1e400 }},"#,
        r#"{"type":"tool_use","id":"b","name":"w","input":{"invalid_arguments":"x"}}]},{"role":"user","content":["#,
        r#"{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"two"},"#,
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQI="}}]},"#,
        r#"{"type":"tool_result","tool_use_id":"a"},{"type":"text","text":"and?"}]}"#,
    );
    assert_eq!(
        (text.as_str(), adapted),
        (expected, vec!["invalid_arguments_wrapped".into(), "blank_text_dropped".into()])
    );
}

#[test]
fn documents_with_their_bytes_as_text_and_as_links() {
    let inline = |kind: &str, bytes: &'static [u8]| Media::Inline(kind.to_owned(), bytes::Bytes::from_static(bytes));
    let link = Media::Link("https://x.example/a.pdf".to_owned(), "application/pdf".to_owned());
    let parts = vec![
        Part::new(Kind::File(inline("application/pdf", b"\x01"), "a.pdf".to_owned())),
        Part::new(Kind::File(inline("text/csv", "é".as_bytes()), String::new())),
        Part::new(Kind::File(link, String::new())),
        Part::new(Kind::Image(Media::Link("https://x.example/a.png".to_owned(), String::new()), "low".to_owned())),
    ];
    let (text, adapted) = default(vec![said(Role::User, parts)]);
    let expected = concat!(
        r#"{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AQ=="},"title":"a.pdf"},"#,
        r#"{"type":"document","source":{"type":"text","media_type":"text/plain","data":"é"}},"#,
        r#"{"type":"document","source":{"type":"url","url":"https://x.example/a.pdf"}},"#,
        r#"{"type":"image","source":{"type":"url","url":"https://x.example/a.png"}}]}"#,
    );
    assert_eq!(text, expected);
    assert_eq!(adapted, ["file_sent_as_plain_text", "image_detail_dropped"]);
}

#[test]
fn thinking_goes_back_byte_for_byte_to_the_model_that_issued_it_and_to_no_other() {
    let parts = |model: &str| {
        vec![
            with_data(thought("Let me"), API, model, r#"{"signature":"c2l\/n"}"#),
            with_data(thought(""), API, model, r#"{"type":"redacted_thinking","data":"cmVk"}"#),
            with_data(thought(""), API, model, r#"{"signature":"c2lnMg=="}"#),
            Part::text("So."),
        ]
    };
    let (text, adapted) = default(vec![user("x"), said(Role::Assistant, parts("m")), user("y")]);
    let blocks = concat!(
        r#"[{"type":"thinking","thinking":"Let me","signature":"c2l\/n"},{"type":"redacted_thinking","data":"cmVk"},"#,
        r#"{"type":"thinking","thinking":"","signature":"c2lnMg=="},{"type":"text","text":"So."}]"#,
    );
    assert!(text.contains(blocks), "{text}");
    assert_eq!(adapted, Vec::<String>::new());
    let (text, adapted) = default(vec![user("x"), said(Role::Assistant, parts("n")), user("y")]);
    assert!(text.contains(r#""assistant","content":[{"type":"text","text":"So."}]"#), "{text}");
    assert_eq!(adapted, ["foreign_reasoning_dropped"]);
    // What the API would refuse: an answer that was cut while the model thought.
    let cut = parts("m").into_iter().take(2).collect();
    let (text, adapted) = default(vec![user("x"), said(Role::Assistant, cut), user("y")]);
    let expected = concat!(
        r#"{"role":"user","content":[{"type":"text","text":"x"}]},"#,
        r#"{"role":"user","content":[{"type":"text","text":"y"}]}"#,
    );
    assert_eq!((text.as_str(), adapted), (expected, vec!["reasoning_dropped".into(), "empty_message_dropped".into()]));
}

#[test]
fn unknown_blocks_and_fields_beside_those_of_the_dialect_go_back_as_they_were() {
    let block = r#"{"type":"server_tool_use","id":"s1","name":"web_search","input":{"q":1.0}}"#;
    let search = || Kind::Unknown("server_tool_use".to_owned(), block.to_owned());
    let parts = vec![
        with_data(search(), API, "m", "{}"),
        with_data(search(), "other", "m", "{}"),
        with_data(Kind::Text("t".to_owned()), API, "m", r#"{"citations":[{"type":"x"}]}"#),
        with_data(tool_call("o", "a", "w", "{}"), API, "m", r#"{"caller":{"type":"direct"}}"#),
    ];
    let (text, adapted) = default(vec![user("x"), said(Role::Assistant, parts), result("o", vec![Part::text("r")])]);
    let expected = format!(
        r#"[{block},{{"type":"text","text":"t","citations":[{{"type":"x"}}]}},{{"type":"tool_use","id":"a","name":"w","input":{{}},"caller":{{"type":"direct"}}}}]"#
    );
    assert!(text.contains(&expected), "{text}");
    assert_eq!(adapted, ["unknown_parts_dropped"]);
}

#[test]
fn ids_and_names_of_others_are_made_to_fit_and_stay_apart() {
    let parts = vec![
        Part::new(tool_call("call_1", "a:0", "functions.w", "{}")),
        Part::new(tool_call("call_2", "a.0", "w", "{}")),
        Part::new(tool_call("ours:3", "fine", "w", "{}")),
    ];
    let again = vec![Part::new(tool_call("call_4", "fine", "w", "{}")), Part::new(tool_call("x/5", "", "w", "{}"))];
    let messages = vec![
        user("x"),
        said(Role::Assistant, parts),
        result("call_1", vec![Part::text("1")]),
        result("call_2", vec![Part::text("2")]),
        result("ours:3", vec![Part::text("3")]),
        said(Role::Assistant, again),
        result("call_4", vec![Part::text("4")]),
        result("x/5", vec![Part::text("5")]),
    ];
    let (text, adapted) = default(messages);
    let json: serde_json::Value = serde_json::from_str(&format!("[{text}]")).unwrap();
    let ids = |at: usize, field: &str| -> Vec<String> {
        let blocks = json[at]["content"].as_array().unwrap();
        blocks.iter().map(|block| block[field].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        (ids(1, "id"), ids(3, "id")[0].as_str()),
        (vec!["call_1".into(), "call_2".into(), "fine".into()], "call_4")
    );
    assert_eq!((ids(1, "id"), ids(3, "id")), (ids(2, "tool_use_id"), ids(4, "tool_use_id")));
    assert!(ids(3, "id")[1].bytes().all(|byte| byte.is_ascii_hexdigit()), "{:?}", ids(3, "id"));
    assert_eq!(json[1]["content"][0]["name"], "functions_w");
    assert_eq!(adapted, ["call_id_replaced", "tool_name_changed"]);
}

#[test]
fn no_history_of_tools_goes_out_without_tools() {
    let parts = vec![Part::new(tool_call("o1", "a", "w", "{}")), Part::new(tool_call("o2", "b", "v", "{}"))];
    let results = [result("o1", vec![Part::text("1")]), result("o2", vec![Part::text("2")])];
    let mut messages = vec![user("x"), said(Role::Assistant, parts)];
    messages.extend(results);
    let (body, adapted) = outbound(&Quirks::default(), &call(messages)).unwrap();
    let expected = concat!(
        r#""tools":[{"name":"w","input_schema":{"type":"object","properties":{}}},{"name":"v","input_schema":{"type":"object","properties":{}}}],"#,
        r#""tool_choice":{"type":"none"},"#,
    );
    assert!(body.contains(expected), "{body}");
    assert_eq!(adapted, ["max_tokens_filled", "history_tools_named"]);
}

#[test]
fn no_blank_block_goes_out_and_what_is_to_go_on_ends_with_a_character() {
    let answer = vec![Part::text(" \n"), Part::text("a \n")];
    let (text, adapted) = default(vec![user("x"), said(Role::Assistant, answer.clone()), user("y")]);
    assert!(text.contains(r#"[{"type":"text","text":"a \n"}]"#), "{text}");
    assert_eq!(adapted, ["blank_text_dropped"]);
    for after in [vec![], vec![Message::text(Role::Assistant, "b")]] {
        let mut messages = vec![user("x"), said(Role::Assistant, answer.clone())];
        messages.extend(after);
        let (text, adapted) = default(messages);
        assert!(text.contains(r#"[{"type":"text","text":"a"}]"#), "{text}");
        assert_eq!(adapted, ["blank_text_dropped", "trailing_space_trimmed"]);
    }
    let (text, _) = default(vec![user("x"), Message::text(Role::Assistant, "a"), user(" "), user("y")]);
    assert!(text.ends_with(r#"{"role":"user","content":[{"type":"text","text":"y"}]}"#), "{text}");
    assert_eq!(feature(&refused(vec![user("x"), user(" ")])), "messages.parts");
    let refusal = said(Role::Assistant, vec![Part::new(Kind::Refusal("No.".to_owned())), png()]);
    let (text, adapted) = default(vec![user("x"), refusal, user("y")]);
    assert!(text.contains(r#"[{"type":"text","text":"No."}]"#), "{text}");
    assert_eq!(adapted, ["refusal_sent_as_text", "assistant_media_dropped"]);
}

#[test]
fn four_cache_markers_go_out_and_the_rest_is_told() {
    let marked =
        |text: &str, ttl: &str| Part { cache_marker: Some(CacheMarker { ttl: ttl.to_owned() }), ..Part::text(text) };
    let mut messages = vec![said(Role::System, vec![marked("s", "1h")])];
    messages.extend((0..5).map(|number| said(Role::User, vec![marked(&format!("u{number}"), "")])));
    let marks = |quirks: &Quirks| {
        let (body, adapted) = outbound(quirks, &call(messages.clone())).unwrap();
        let json: serde_json::Value = serde_json::from_str(&body).unwrap();
        let blocks = json["messages"][0]["content"].as_array().unwrap();
        let system = json["system"][0]["cache_control"]["ttl"].as_str().map(str::to_owned);
        let marked: Vec<usize> = (0..5).filter(|at| blocks[*at].get("cache_control").is_some()).collect();
        (system, marked, adapted)
    };
    let told = vec!["max_tokens_filled".to_owned(), "cache_markers_dropped".to_owned()];
    assert_eq!(marks(&Quirks::default()), (Some("1h".to_owned()), vec![0, 1, 2], told.clone()));
    let last = Quirks { cache_markers_kept: MarkersKept::Last, ..Quirks::default() };
    assert_eq!(marks(&last), (None, vec![1, 2, 3, 4], told));
}

#[test]
fn half_characters_never_go_out() {
    let call = Call { tools: vec![tool("w", r#"{"title":"\ud83d"}"#)], ..call(vec![user("x")]) };
    let (body, adapted) = outbound(&Quirks::default(), &call).unwrap();
    assert!(body.contains(r#"{"title":"\ufffd"}"#));
    assert_eq!(adapted, ["max_tokens_filled", "replaced_invalid_unicode"]);
}

proptest! {
    #[test]
    fn the_body_of_a_longer_history_begins_with_that_of_a_shorter_one(
        turns in proptest::collection::vec(turn(), 1..5),
        send_thinking in any::<bool>(),
    ) {
        let quirks = Quirks { send_thinking, ..Quirks::default() };
        let (messages, ends) = history(&turns, API, r#"{"signature":"s"}"#);
        let of = |end: &usize| Call { tools: vec![tool("w", "{}")], ..call(messages[..*end].to_vec()) };
        let bodies: Vec<String> = ends.iter().map(|end| outbound(&quirks, &of(end)).unwrap().0).collect();
        assert_each_begins_the_next(&bodies)?;
    }

    #[test]
    fn no_id_goes_out_twice_and_each_result_has_the_id_of_its_call(
        turns in proptest::collection::vec(turn(), 1..5),
    ) {
        let (messages, _) = history(&turns, API, r#"{"signature":"s"}"#);
        let call = Call { tools: vec![tool("w", "{}")], ..call(messages) };
        let (body, _) = outbound(&Quirks::default(), &call).unwrap();
        let json: serde_json::Value = serde_json::from_str(&body).unwrap();
        let blocks = json["messages"].as_array().unwrap().iter().flat_map(|m| m["content"].as_array().unwrap());
        let (mut given, mut answered) = (Vec::new(), Vec::new());
        for block in blocks {
            given.extend(block["id"].as_str());
            answered.extend(block["tool_use_id"].as_str());
        }
        prop_assert_eq!(&given, &answered);
        let mut distinct = given.clone();
        distinct.sort_unstable();
        distinct.dedup();
        prop_assert_eq!(distinct.len(), given.len());
        for id in given {
            prop_assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)), "{}", id);
        }
    }
}

/// What is counted is what goes out: a marker within a result is its block's, and one on media in an answer goes nowhere.
#[test]
fn markers_within_results_count_and_those_on_what_is_dropped_do_not() {
    let marked = |part: Part| Part { cache_marker: Some(CacheMarker { ttl: String::new() }), ..part };
    let called = |id: &str| Part::new(tool_call(id, id, "w", "{}"));
    let answer = vec![marked(png()), marked(Part::text("a")), called("c1"), called("c2"), called("c3"), called("c4")];
    let results = ["c1", "c2", "c3", "c4"].map(|id| result(id, vec![marked(Part::text("r")), Part::text("s")]));
    let messages: Vec<Message> = [user("u"), said(Role::Assistant, answer)].into_iter().chain(results).collect();
    let sent = |quirks: &Quirks| {
        let call = Call { tools: vec![tool("w", "{}")], ..call(messages.clone()) };
        let (body, adapted) = outbound(quirks, &call).unwrap();
        let json: serde_json::Value = serde_json::from_str(&body).unwrap();
        let is_marked = |block: &serde_json::Value| block.get("cache_control").is_some();
        let results = json["messages"][2]["content"].as_array().unwrap().iter().map(is_marked).collect::<Vec<_>>();
        assert!(adapted.contains(&"cache_markers_dropped".to_owned()), "{adapted:?}");
        (is_marked(&json["messages"][1]["content"][0]), results)
    };
    assert_eq!(sent(&Quirks::default()), (true, vec![true, true, true, false]));
    let last = Quirks { cache_markers_kept: MarkersKept::Last, ..Quirks::default() };
    assert_eq!(sent(&last), (false, vec![true; 4]));
}
