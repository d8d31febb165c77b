//! What is read in an answer.

use super::*;
use crate::domain::message::ToolCall;
use crate::engine::backend::wire::Answer as _;

fn issuer() -> Issuer {
    Issuer { provider: "p".to_owned(), api: "openai-chat".to_owned(), model: "m".to_owned() }
}

fn read(chunks: &[&str]) -> (Result<Read, Wrong>, Vec<Delta>) {
    with(&Quirks::default(), chunks)
}

fn with(quirks: &Quirks, chunks: &[&str]) -> (Result<Read, Wrong>, Vec<Delta>) {
    let mut answer = Answer::default();
    let mut deltas = Vec::new();
    for chunk in chunks {
        let object = Value::parse(chunk).unwrap().object().unwrap();
        if let Err(wrong) = answer.take(&object, quirks, &mut |delta| deltas.push(delta)) {
            return (Err(wrong), deltas);
        }
    }
    answer.tell_rest(&mut |delta| deltas.push(delta));
    (answer.finish(quirks, &issuer()), deltas)
}

fn message(message: &str, finish: &str) -> Read {
    read(&[&format!(r#"{{"choices":[{{"message":{message},"finish_reason":{finish}}}]}}"#)]).0.ok().unwrap()
}

fn kinds(read: &Read) -> Vec<&Kind> {
    read.parts.iter().map(|part| &part.kind).collect()
}

fn codes(read: &Read) -> Vec<&str> {
    read.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

#[test]
fn words_for_the_end() {
    for (word, reason) in [
        ("\"stop\"", StopReason::Stop),
        ("\"length\"", StopReason::MaxTokens),
        ("\"content_filter\"", StopReason::ContentFilter),
        ("\"stop_sequence\"", StopReason::StopSequence),
        ("\"eos\"", StopReason::Other),
        ("7", StopReason::Other),
    ] {
        let read = message(r#"{"content":"x"}"#, word);
        assert_eq!((read.stop_reason, read.stop_reason_raw.as_str()), (reason, word.trim_matches('"')));
    }
    let read = message(r#"{"content":"x"}"#, "null");
    assert_eq!((read.stop_reason, codes(&read)), (StopReason::Other, vec!["finish_reason_missing"]));
    let read = message(r#"{"content":"x"}"#, "\"tool_calls\"");
    assert_eq!((read.stop_reason, codes(&read)), (StopReason::Other, vec!["tool_calls_missing"]));
}

#[test]
fn calls_say_more_than_the_word_unless_the_answer_was_cut() {
    let calls = r#"{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]}"#;
    for (word, reason) in [
        ("\"stop\"", StopReason::ToolCalls),
        ("\"tool_calls\"", StopReason::ToolCalls),
        ("null", StopReason::ToolCalls),
        ("\"length\"", StopReason::MaxTokens),
    ] {
        assert_eq!(message(calls, word).stop_reason, reason);
    }
}

#[test]
fn streamed_or_not_the_parts_are_the_same() {
    let whole = message(
        r#"{"content":"ab","reasoning_content":"rs","refusal":null,"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"x\":1}"}}]}"#,
        "\"tool_calls\"",
    );
    let chunk = |delta: &str, finish: &str| format!(r#"{{"choices":[{{"delta":{delta},"finish_reason":{finish}}}]}}"#);
    let (streamed, deltas) = read(&[
        &chunk(r#"{"content":"a"}"#, "null"),
        &chunk(r#"{"reasoning_content":"r"}"#, "null"),
        &chunk(r#"{"content":"b","reasoning_content":"s"}"#, "null"),
        &chunk(r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{\"x\""}}]}"#, "null"),
        &chunk(r#"{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}"#, "null"),
        &chunk("{}", "\"tool_calls\""),
    ]);
    assert_eq!(whole.parts, streamed.ok().unwrap().parts);
    assert_eq!(deltas.len(), 6);
}

#[test]
fn parts_with_types() {
    let read = message(
        r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Ok"},{"type":"text","text":"ay"}]},
            {"type":"text","text":"The "},{"type":"reference","reference_ids":[1]},"end",{"type":"refusal","refusal":"No"}],
            "annotations":[{"type":"url_citation"}],"audio":{"id":"a"}}"#,
        "\"stop\"",
    );
    let reasoning = Kind::Reasoning(Reasoning { text: "Okay".to_owned(), is_summary: false });
    let unknown = |word: &str, json: &str| Kind::Unknown(word.to_owned(), json.to_owned());
    assert_eq!(
        kinds(&read),
        [
            &reasoning,
            &Kind::Text("The end".to_owned()),
            &Kind::Refusal("No".to_owned()),
            &unknown("reference", r#"{"type":"reference","reference_ids":[1]}"#),
            &unknown("annotations", r#"{"type":"url_citation"}"#),
            &unknown("audio", r#"{"id":"a"}"#),
        ]
    );
    assert_eq!(read.stop_reason, StopReason::Refusal);
}

#[test]
fn both_names_of_reasoning_are_one() {
    let read = message(r#"{"content":"x","reasoning":"r","reasoning_content":"r"}"#, "\"stop\"");
    assert_eq!(kinds(&read)[0], &Kind::Reasoning(Reasoning { text: "r".to_owned(), is_summary: false }));
}

#[test]
fn details_of_reasoning_are_put_together_and_kept_for_their_issuer() {
    let chunk =
        |details: &str| format!(r#"{{"choices":[{{"delta":{{"reasoning":"a","reasoning_details":{details}}}}}]}}"#);
    let (read, _) = read(&[
        &chunk(r#"[{"type":"reasoning.text","text":"a","index":0,"format":"f"}]"#),
        &chunk(r#"[{"type":"reasoning.text","text":"\n\"b","index":0,"signature":"s","format":null}]"#),
        &chunk(r#"[{"type":"reasoning.encrypted","data":"xyz","n":1.0,"index":1}]"#),
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
    ]);
    let read = read.ok().unwrap();
    let data = read.parts[0].provider_data.as_ref().unwrap();
    assert_eq!(data.issuer, issuer());
    let expected = concat!(
        r#"{"reasoning_details":[{"type":"reasoning.text","text":"a\n\"b","index":0,"format":"f","signature":"s"},"#,
        r#"{"type":"reasoning.encrypted","data":"xyz","n":1.0,"index":1}]}"#,
    );
    assert_eq!(data.data_json, expected);
}

#[test]
fn what_hangs_on_a_call_is_kept_for_its_issuer() {
    let read = message(
        r#"{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}},"other":1}]}"#,
        "\"tool_calls\"",
    );
    let data = read.parts[0].provider_data.as_ref().unwrap();
    assert_eq!(data.data_json, r#"{"extra_content":{"google":{"thought_signature":"s"}}}"#);
}

#[test]
fn calls_of_other_kinds_are_kept_as_unknown() {
    let read =
        message(r#"{"tool_calls":[{"id":"c","type":"custom","custom":{"name":"f","input":"x"}}]}"#, "\"tool_calls\"");
    assert!(matches!(kinds(&read)[..], [Kind::Unknown(word, _)] if word == "tool_call"));
    let read = message(r#"{"function_call":{"name":"f","arguments":"{}"}}"#, "\"function_call\"");
    assert!(matches!(kinds(&read)[..], [Kind::ToolCall(ToolCall { name, .. })] if name == "f"));
}

#[test]
fn an_empty_answer_is_none_unless_it_was_cut_or_is_accepted() {
    let empty = |finish: &str| format!(r#"{{"choices":[{{"message":{{"content":""}},"finish_reason":"{finish}"}}]}}"#);
    assert!(matches!(read(&[&empty("stop")]).0, Err(Wrong::Malformed(_))));
    assert!(matches!(read(&[r#"{"choices":[]}"#]).0, Err(Wrong::Malformed(_))));
    assert_eq!(read(&[&empty("length")]).0.ok().unwrap().stop_reason, StopReason::MaxTokens);
    assert_eq!(read(&[&empty("content_filter")]).0.ok().unwrap().stop_reason, StopReason::ContentFilter);
    let quirks = Quirks { empty_answer: EmptyAnswer::Accept, ..Quirks::default() };
    assert_eq!(with(&quirks, &[&empty("stop")]).0.ok().unwrap().parts, []);
    assert!(with(&quirks, &[r#"{"choices":[]}"#]).0.is_err());
}

#[test]
fn errors_inside_are_errors_and_signs_that_there_is_none_are_not() {
    for chunk in [
        r#"{"error":{"message":"m"}}"#,
        r#"{"error":"m"}"#,
        r#"{"object":"error","message":"m"}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"error","error":{"message":"m"}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#,
    ] {
        assert!(matches!(read(&[chunk]).0, Err(Wrong::Said(_))), "{chunk}");
    }
    for none in ["null", "\"\"", "{}", "false"] {
        let chunk = format!(r#"{{"error":{none},"choices":[{{"delta":{{"content":"x"}},"finish_reason":"stop"}}]}}"#);
        assert!(read(&[&chunk]).0.is_ok(), "{chunk}");
    }
}

#[test]
fn usage_is_found_in_every_place() {
    for chunk in [
        r#"{"usage":{"prompt_tokens":3,"completion_tokens":1},"choices":[]}"#,
        r#"{"x_groq":{"usage":{"prompt_tokens":3,"completion_tokens":1}},"choices":[]}"#,
        r#"{"choices":[{"delta":{},"usage":{"prompt_tokens":3,"completion_tokens":1}}]}"#,
    ] {
        let (read, _) =
            read(&[r#"{"usage":null,"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}"#, chunk]);
        assert_eq!(read.ok().unwrap().usage.input_tokens, Some(3), "{chunk}");
    }
}

#[test]
fn only_the_first_of_several_answers_is_kept_and_said_so() {
    let (read, _) = read(&[
        r#"{"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]}"#,
        r#"{"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"stop"},{"index":0,"finish_reason":"stop"}]}"#,
    ]);
    let read = read.ok().unwrap();
    assert_eq!((kinds(&read), codes(&read)), (vec![&Kind::Text("a".to_owned())], vec!["other_choices_dropped"]));
}

#[test]
fn a_message_beside_an_empty_delta_counts() {
    let (read, deltas) = read(&[r#"{"choices":[{"delta":{},"message":{"content":"ab"},"finish_reason":"stop"}]}"#]);
    assert_eq!(kinds(&read.ok().unwrap()), [&Kind::Text("ab".to_owned())]);
    assert_eq!(deltas.len(), 1);
}

#[test]
fn a_whole_message_after_its_pieces_adds_nothing() {
    let (read, deltas) = read(&[
        r#"{"choices":[{"delta":{"content":"ab"}}]}"#,
        r#"{"choices":[{"message":{"content":"ab"},"finish_reason":"stop"}]}"#,
    ]);
    assert_eq!(kinds(&read.ok().unwrap()), [&Kind::Text("ab".to_owned())]);
    assert_eq!(deltas.len(), 1);
}
