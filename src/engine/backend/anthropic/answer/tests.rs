//! What is read in an answer.

use super::*;
use crate::domain::message::{Part, ProviderData};
use crate::engine::backend::wire::sample;

const API: &str = "anthropic-messages";

fn read(chunks: &[&str]) -> (Result<Read, Wrong>, Vec<Delta>) {
    sample::read::<Answer>(&Quirks::default(), API, chunks)
}

/// A whole message of some blocks.
fn whole(blocks: &str, stop: &str) -> Result<Read, Wrong> {
    let message =
        format!(r#"{{"type":"message","id":"m1","model":"c","content":[{blocks}],"stop_reason":{stop},"usage":{{}}}}"#);
    read(&[&message]).0
}

fn event(kind: &str, rest: &str) -> String {
    format!(r#"{{"type":"{kind}",{rest}}}"#)
}

fn json(part: &Part) -> Option<&str> {
    part.provider_data.as_ref().map(|data: &ProviderData| data.data_json.as_str())
}

/// The same blocks, once whole and once as events, with their deltas.
#[test]
fn streaming_changes_nothing_about_what_is_kept() {
    let blocks = concat!(
        r#"{"type":"thinking","thinking":"Hm","signature":"c2ln"},{"type":"redacted_thinking","data":"cmVk"},"#,
        r#"{"type":"text","text":"Hi","citations":[{"a":1},{"b":2}]},"#,
        r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}},"#,
        r#"{"type":"tool_use","id":"t","name":"w","input":{"n":1.0}},{"type":"tool_use","id":"u","name":"v","input":{}}"#,
    );
    let one = whole(blocks, "\"tool_use\"").unwrap();
    let start =
        |index: u32, block: &str| event("content_block_start", &format!(r#""index":{index},"content_block":{block}"#));
    let more = |index: u32, delta: &str| event("content_block_delta", &format!(r#""index":{index},"delta":{delta}"#));
    let events = [
        event("message_start", r#""message":{"id":"m1","model":"c","content":[],"stop_reason":null,"usage":{}}"#),
        start(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        more(0, r#"{"type":"thinking_delta","thinking":"H"}"#),
        more(0, r#"{"type":"thinking_delta","thinking":"m"}"#),
        more(0, r#"{"type":"signature_delta","signature":"c2ln"}"#),
        event("content_block_stop", r#""index":0"#),
        start(1, r#"{"type":"redacted_thinking","data":"cmVk"}"#),
        start(2, r#"{"type":"text","text":"","citations":null}"#),
        more(2, r#"{"type":"text_delta","text":"H"}"#),
        event("ping", r#""x":1"#),
        more(2, r#"{"type":"citations_delta","citation":{"a":1}}"#),
        more(2, r#"{"type":"citations_delta","citation":{"b":2}}"#),
        more(2, r#"{"type":"text_delta","text":"i"}"#),
        start(3, r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#),
        more(3, r#"{"type":"input_json_delta","partial_json":"{\"q\""}"#),
        more(3, r#"{"type":"input_json_delta","partial_json":":1}"}"#),
        start(4, r#"{"type":"tool_use","id":"t","name":"w","input":{}}"#),
        more(4, r#"{"type":"input_json_delta","partial_json":""}"#),
        more(4, r#"{"type":"input_json_delta","partial_json":"{\"n\""}"#),
        more(4, r#"{"type":"input_json_delta","partial_json":":1.0}"}"#),
        start(5, r#"{"type":"tool_use","id":"u","name":"v","input":{}}"#),
        event("message_delta", r#""delta":{"stop_reason":"tool_use"},"usage":{}"#),
        event("message_stop", r#""x":1"#),
    ];
    let (streamed, deltas) = read(&events.iter().map(String::as_str).collect::<Vec<_>>());
    let streamed = streamed.unwrap();
    assert_eq!(streamed.parts, one.parts);
    assert_eq!((streamed.stop_reason, streamed.stop_reason_raw.as_str()), (StopReason::ToolCalls, "tool_use"));
    assert_eq!((streamed.response_id.as_str(), streamed.response_model.as_str()), ("m1", "c"));
    let kept: Vec<Option<&str>> = one.parts.iter().map(json).collect();
    let expected = [
        Some(r#"{"signature":"c2ln"}"#),
        Some(r#"{"type":"redacted_thinking","data":"cmVk"}"#),
        Some(r#"{"citations":[{"a":1},{"b":2}]}"#),
        Some("{}"),
        None,
        None,
    ];
    assert_eq!(kept, expected);
    let unknown = r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}}"#;
    assert_eq!(one.parts[3].kind, Kind::Unknown("server_tool_use".to_owned(), unknown.to_owned()));
    let mut told = [String::new(), String::new(), String::new(), String::new()];
    for delta in deltas {
        match delta {
            Delta::Reasoning(text) => told[0] += &text,
            Delta::Text(text) => told[1] += &text,
            Delta::ToolCall { index, name, arguments_json } => {
                told[2 + index as usize] += &(name.map(|name| name + " ").unwrap_or_default() + &arguments_json);
            }
            Delta::Refusal(text) => panic!("{text}"),
        }
    }
    assert_eq!(told, ["Hm", "Hi", r#"w {"n":1.0}"#, "v {}"]);
}

#[test]
fn words_for_the_end() {
    for (word, reason) in [
        ("end_turn", StopReason::Stop),
        ("stop_sequence", StopReason::StopSequence),
        ("max_tokens", StopReason::MaxTokens),
        ("model_context_window_exceeded", StopReason::MaxTokens),
        ("refusal", StopReason::Refusal),
        ("pause_turn", StopReason::Other),
        ("zebra", StopReason::Other),
    ] {
        let read = whole(r#"{"type":"text","text":"x"}"#, &format!("\"{word}\"")).unwrap();
        assert_eq!((read.stop_reason, read.stop_reason_raw.as_str()), (reason, word));
        assert_eq!(read.warnings.iter().any(|warning| warning.code == "turn_paused"), word == "pause_turn");
    }
    let cut = whole(r#"{"type":"tool_use","id":"t","name":"w","input":{}}"#, "\"max_tokens\"").unwrap();
    assert_eq!(cut.stop_reason, StopReason::MaxTokens);
    let read = whole(r#"{"type":"text","text":"x"}"#, "null").unwrap();
    assert_eq!(read.warnings[0].code, "finish_reason_missing");
    let read = whole(r#"{"type":"text","text":"x"}"#, "\"tool_use\"").unwrap();
    assert_eq!((read.stop_reason, read.warnings[0].code.as_str()), (StopReason::Other, "tool_calls_missing"));
}

#[test]
fn an_answer_that_says_nothing_is_one_only_where_it_was_kept_back() {
    assert!(whole("", "\"refusal\"").unwrap().parts.is_empty());
    assert!(whole("", "\"max_tokens\"").is_ok());
    assert!(matches!(whole("", "\"end_turn\""), Err(Wrong::Malformed(_))));
    let quirks = Quirks { accept_empty_answer: true, ..Quirks::default() };
    let message = r#"{"type":"message","content":[],"stop_reason":"end_turn"}"#;
    assert!(sample::read::<Answer>(&quirks, API, &[message]).0.unwrap().parts.is_empty());
}

#[test]
fn a_start_that_is_told_twice_adds_nothing() {
    let start = event(
        "message_start",
        r#""message":{"id":"m1","content":[{"type":"text","text":"a"}],"usage":{"input_tokens":10,"output_tokens":1}}"#,
    );
    let end = event("message_delta", r#""delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":6}"#);
    let read = read(&[&start, &start, &end]).0.unwrap();
    assert_eq!(read.parts, [Part::text("a")]);
    assert_eq!((read.usage.input_tokens, read.usage.output_tokens), (Some(10), Some(6)));
}

#[test]
fn arguments_that_were_cut_stay_as_they_are_and_half_characters_do_not() {
    let start = |input: &str| {
        format!(
            r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"tool_use","id":"t","name":"w","input":{input}}}}}"#
        )
    };
    let more = |json: &str| {
        format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":{json}}}}}"#
        )
    };
    let end = event("message_delta", r#""delta":{"stop_reason":"max_tokens"}"#);
    let read_call = |chunks: &[&str]| {
        let read = read(chunks).0.unwrap();
        let Kind::ToolCall(call) = &read.parts[0].kind else { panic!("{read:?}") };
        (call.arguments_json.clone(), call.arguments_invalid, read.warnings.len())
    };
    assert_eq!(read_call(&[&start("{}"), &more(r#""{\"a\":""#), &end]), (r#"{"a":"#.to_owned(), true, 0));
    let halves = [start("{}"), more(r#""{\"a\":\"\\ud83d""#), more(r#""\\ude00\\ud83d\"}""#), end.clone()];
    let chunks: Vec<&str> = halves.iter().map(String::as_str).collect();
    assert_eq!(read_call(&chunks), (r#"{"a":"\ud83d\ude00\ufffd"}"#.to_owned(), false, 1));
    assert!(matches!(whole(r#"{"type":"tool_use","id":"t","input":{}}"#, "null"), Err(Wrong::Malformed(_))));
}

#[test]
fn errors_are_errors_wherever_they_come() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    assert!(matches!(read(&[error]).0, Err(Wrong::Said(_))));
    assert!(matches!(read(&[r#"{"type":"error","message":"m"}"#]).0, Err(Wrong::Said(_))));
}
