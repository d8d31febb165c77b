//! What is read in an answer.

use super::*;
use crate::domain::usage::Completeness;
use crate::engine::backend::wire::Answer as _;

fn with(quirks: &Quirks, lines: &[&str]) -> (Result<Read, Wrong>, Vec<Delta>) {
    let mut answer = Answer::default();
    let mut deltas = Vec::new();
    for line in lines {
        let object = Value::parse(line).unwrap().object().unwrap();
        if let Err(wrong) = answer.take(&object, quirks, &mut |delta| deltas.push(delta)) {
            return (Err(wrong), deltas);
        }
    }
    answer.tell_rest(&mut |delta| deltas.push(delta));
    let issuer = Issuer { provider: "p".to_owned(), api: "ollama-chat".to_owned(), model: "m".to_owned() };
    (answer.finish(quirks, &issuer), deltas)
}

fn read(lines: &[&str]) -> (Result<Read, Wrong>, Vec<Delta>) {
    with(&Quirks::default(), lines)
}

fn whole(message: &str, more: &str) -> Read {
    read(&[&format!(r#"{{"model":"m-1","message":{message},"done":true{more}}}"#)]).0.unwrap()
}

fn malformed(lines: &[&str]) -> &'static str {
    match read(lines).0 {
        Err(Wrong::Malformed(what)) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn words_for_the_end() {
    let text = r#"{"role":"assistant","content":"x"}"#;
    for (word, reason) in [("stop", StopReason::Stop), ("length", StopReason::MaxTokens), ("other", StopReason::Other)]
    {
        let read = whole(text, &format!(r#","done_reason":"{word}""#));
        assert_eq!((read.stop_reason, read.stop_reason_raw.as_str()), (reason, word));
        assert_eq!(read.response_model, "m-1");
    }
    let read = whole(text, "");
    assert_eq!((read.stop_reason, read.warnings[0].code.as_str()), (StopReason::Other, "finish_reason_missing"));
    let call = r#"{"content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]}"#;
    assert_eq!(whole(call, r#","done_reason":"stop""#).stop_reason, StopReason::ToolCalls);
    assert_eq!(whole(call, r#","done_reason":"length""#).stop_reason, StopReason::MaxTokens);
}

#[test]
fn an_empty_answer_says_why_and_is_one_only_where_that_is_accepted() {
    let empty = r#"{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}"#;
    assert_eq!(malformed(&[empty]), "the provider gave an empty answer");
    assert_eq!(malformed(&[&empty.replace("stop", "load")]), "the provider only loaded the model");
    assert_eq!(read(&[&empty.replace("stop", "length")]).0.unwrap().stop_reason, StopReason::MaxTokens);
    let accepting = Quirks { empty_answer: EmptyAnswer::Accept, ..Quirks::default() };
    assert!(with(&accepting, &[empty]).0.unwrap().parts.is_empty());
}

#[test]
fn only_the_last_line_ends_an_answer() {
    assert_eq!(
        malformed(&[r#"{"message":{"content":"x"},"done":false}"#]),
        "the provider's answer ended before it was whole"
    );
    assert!(matches!(read(&[r#"{"error":"model runner stopped"}"#]).0, Err(Wrong::Said(_))));
}

#[test]
fn streamed_or_not_the_parts_are_the_same() {
    let message = r#"{"role":"assistant","content":"ab","thinking":"hm","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}}]}"#;
    let whole = whole(message, r#","done_reason":"stop""#);
    let (streamed, deltas) = read(&[
        r#"{"message":{"role":"assistant","content":"","thinking":"h"},"done":false}"#,
        r#"{"message":{"role":"assistant","content":"","thinking":"m"},"done":false}"#,
        r#"{"message":{"role":"assistant","content":"a"},"done":false}"#,
        r#"{"message":{"role":"assistant","content":"b","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}}]},"done":false}"#,
        r#"{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}"#,
    ]);
    let streamed = streamed.unwrap();
    assert_eq!((&streamed.parts, streamed.stop_reason), (&whole.parts, StopReason::ToolCalls));
    let call = Delta::ToolCall { index: 0, name: Some("f".to_owned()), arguments_json: "{\"x\":1}".to_owned() };
    let text = |text: &str| Delta::Text(text.to_owned());
    let reasoning = |text: &str| Delta::Reasoning(text.to_owned());
    assert_eq!(deltas, [reasoning("h"), reasoning("m"), text("a"), text("b"), call]);
}

/// Arguments come as an object: its order and its digits are the model's.
#[test]
fn arguments_are_kept_as_they_were_written() {
    for (sent, kept, invalid) in [
        (r#"{"b": 18446744073709551616, "a":1.0}"#, r#"{"b": 18446744073709551616, "a":1.0}"#, false),
        (r#""{\"a\":1}""#, r#"{"a":1}"#, false),
        (r#""ls""#, "ls", true),
        ("null", "{}", false),
        ("[1]", "[1]", true),
    ] {
        let call = format!(r#"{{"tool_calls":[{{"id":"call_1","function":{{"name":"f","arguments":{sent}}}}}]}}"#);
        let read = whole(&call, "");
        let Kind::ToolCall(call) = &read.parts[0].kind else { panic!("{read:?}") };
        assert_eq!((call.arguments_json.as_str(), call.arguments_invalid), (kept, invalid));
        assert_eq!((call.provider_call_id.as_str(), call.name.as_str()), ("call_1", "f"));
    }
    let nameless = r#"{"message":{"tool_calls":[{"function":{"arguments":{}}}]},"done":true}"#;
    assert_eq!(malformed(&[nameless]), "a tool call has no name");
}

#[test]
fn what_has_no_word_of_ours_is_kept() {
    let read = whole(r#"{"content":"x","images":["AQI="],"tool_name":"t"}"#, "");
    assert_eq!(read.parts[1], Part::new(Kind::Unknown("images".to_owned(), r#"["AQI="]"#.to_owned())));
    assert_eq!(read.parts.len(), 2);
}

#[test]
fn a_figure_that_is_left_out_is_unknown() {
    let usage = |more: &str| whole(r#"{"content":"x"}"#, more).usage;
    let both = usage(r#","total_duration":9,"prompt_eval_count":5,"eval_count":2,"context":[1]"#);
    assert_eq!((both.input_tokens, both.output_tokens, both.total_tokens), (Some(5), Some(2), None));
    assert_eq!(both.completeness, Completeness::Complete);
    assert_eq!(both.provider_json, r#"{"total_duration":9,"prompt_eval_count":5,"eval_count":2}"#);
    let half = usage(r#","eval_count":2"#);
    assert_eq!((half.input_tokens, half.output_tokens, half.completeness), (None, Some(2), Completeness::Partial));
    assert_eq!(usage(""), Usage::default());
}

#[test]
fn arguments_that_say_nothing_are_an_empty_object() {
    for sent in [r#""null""#, r#"" null ""#, r#"" ""#, "null"] {
        let read = whole(&format!(r#"{{"tool_calls":[{{"function":{{"name":"f","arguments":{sent}}}}}]}}"#), "");
        let Kind::ToolCall(call) = &read.parts[0].kind else { panic!("{read:?}") };
        assert_eq!((call.arguments_json.as_str(), call.arguments_invalid), ("{}", false), "{sent}");
    }
}
