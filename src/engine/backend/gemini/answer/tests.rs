//! What is read in an answer.

use super::*;
use crate::domain::id::CallId;
use crate::domain::message::ToolCall;
use crate::engine::backend::wire::sample;

fn read(chunks: &[&str]) -> (Result<Read, Wrong>, Vec<Delta>) {
    sample::read::<Answer>(&Quirks::default(), "gemini", chunks)
}

/// A response with one candidate.
fn candidate(fields: &str) -> Result<Read, Wrong> {
    read(&[&format!(r#"{{"candidates":[{{{fields}}}],"modelVersion":"g","responseId":"r"}}"#)]).0
}

fn said(parts: &str) -> Vec<(Kind, Option<String>)> {
    let read = candidate(&format!(r#""content":{{"parts":[{parts}]}},"finishReason":"STOP""#)).unwrap();
    read.parts.into_iter().map(|part| (part.kind, part.provider_data.map(|data| data.data_json))).collect()
}

fn text(text: &str) -> Kind {
    Kind::Text(text.to_owned())
}

#[test]
fn words_for_the_end() {
    for (word, reason) in [
        ("STOP", StopReason::Stop),
        ("MAX_TOKENS", StopReason::MaxTokens),
        ("SAFETY", StopReason::ContentFilter),
        ("RECITATION", StopReason::ContentFilter),
        ("PROHIBITED_CONTENT", StopReason::ContentFilter),
        ("LANGUAGE", StopReason::Other),
        ("ZEBRA", StopReason::Other),
    ] {
        let read = candidate(&format!(r#""content":{{"parts":[{{"text":"x"}}]}},"finishReason":"{word}""#)).unwrap();
        assert_eq!((read.stop_reason, read.stop_reason_raw.as_str()), (reason, word));
        assert_eq!((read.response_model.as_str(), read.response_id.as_str()), ("g", "r"));
    }
    let read = candidate(r#""content":{"parts":[{"text":"x"}]}"#).unwrap();
    assert_eq!((read.stop_reason, read.warnings[0].code.as_str()), (StopReason::Other, "finish_reason_missing"));
}

#[test]
fn an_answer_without_parts_is_what_its_word_says() {
    for fields in [r#""content":{},"finishReason":"SAFETY""#, r#""finishReason":"MAX_TOKENS""#] {
        assert!(candidate(fields).unwrap().parts.is_empty(), "{fields}");
    }
    for fields in [r#""content":{"parts":[]},"finishReason":"STOP""#, r#""finishReason":"OTHER""#] {
        assert!(matches!(candidate(fields), Err(Wrong::Malformed(_))), "{fields}");
    }
    for word in SPOILT {
        let fields = format!(r#""content":{{}},"finishReason":"{word}","finishMessage":"bad call""#);
        assert!(matches!(candidate(&fields), Err(Wrong::Spoilt(_))), "{word}");
    }
    let blocked =
        r#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":5,"totalTokenCount":5}}"#;
    let read = read(&[blocked]).0.unwrap();
    assert_eq!((read.stop_reason, read.stop_reason_raw.as_str()), (StopReason::ContentFilter, "SAFETY"));
    assert_eq!((read.warnings[0].code.as_str(), read.usage.output_tokens), ("prompt_blocked", Some(0)));
    assert!(matches!(self::read(&[r#"{"candidates":[],"modelVersion":"g"}"#]).0, Err(Wrong::Malformed(_))));
}

#[test]
fn thoughts_are_apart_and_signatures_stay_with_their_parts() {
    let parts = concat!(
        r#"{"text":"A","thought":true},{"text":"B","thought":true},{"text":"x","thought":false},{"text":"y"},"#,
        r#"{"text":"z","thoughtSignature":"S"},{"text":"","thoughtSignature":"T"},{"text":"w"}"#,
    );
    let thought = Kind::Reasoning(Reasoning { text: "AB".to_owned(), is_summary: true });
    let expected = [
        (thought, Some(r#"{"thought":true}"#.to_owned())),
        (text("xy"), None),
        (text("z"), Some(r#"{"thoughtSignature":"S"}"#.to_owned())),
        (text(""), Some(r#"{"thoughtSignature":"T"}"#.to_owned())),
        (text("w"), None),
    ];
    assert_eq!(said(parts), expected);
}

#[test]
fn calls_may_have_neither_ids_nor_arguments() {
    let parts = concat!(
        r#"{"functionCall":{"name":"a"},"thoughtSignature":"S"},{"functionCall":{"name":"b","id":"i","args":{"n":1.0}}},"#,
        r#"{"executableCode":{"code":"1"},"thoughtSignature":"T"}"#,
    );
    let call = |id: &str, name: &str, arguments: &str| {
        Kind::ToolCall(ToolCall {
            call_id: CallId::default(),
            provider_call_id: id.to_owned(),
            name: name.to_owned(),
            arguments_json: arguments.to_owned(),
            arguments_invalid: false,
        })
    };
    let code = r#"{"executableCode":{"code":"1"},"thoughtSignature":"T"}"#;
    let expected = [
        (call("", "a", "{}"), Some(r#"{"thoughtSignature":"S"}"#.to_owned())),
        (call("i", "b", r#"{"n":1.0}"#), None),
        (Kind::Unknown("executableCode".to_owned(), code.to_owned()), Some("{}".to_owned())),
    ];
    assert_eq!(said(parts), expected);
    let read = candidate(r#""content":{"parts":[{"functionCall":{"name":"a"}}]},"finishReason":"STOP""#).unwrap();
    assert_eq!((read.stop_reason, read.stop_reason_raw.as_str()), (StopReason::ToolCalls, "STOP"));
    assert!(matches!(candidate(r#""content":{"parts":[{"functionCall":{}}]}"#), Err(Wrong::Malformed(_))));
}

#[test]
fn streaming_changes_nothing_about_what_is_kept() {
    let chunk = |parts: &str, rest: &str| format!(r#"{{"candidates":[{{"content":{{"parts":[{parts}]}}{rest}}}]}}"#);
    let chunks = [
        chunk(r#"{"text":"Hm","thought":true}"#, ""),
        chunk(r#"{"text":"Hel"}"#, ""),
        chunk(r#"{"text":"lo"},{"functionCall":{"name":"w","args":{"a":1}}}"#, ""),
        chunk("", r#","finishReason":"STOP","groundingMetadata":{"g":1}"#),
    ];
    let (streamed, deltas) = read(&chunks.iter().map(String::as_str).collect::<Vec<_>>());
    let parts = r#"{"text":"Hm","thought":true},{"text":"Hello"},{"functionCall":{"name":"w","args":{"a":1}}}"#;
    let one = read(&[&chunk(parts, r#","finishReason":"STOP","groundingMetadata":{"g":1}"#)]).0.unwrap();
    assert_eq!(streamed.unwrap().parts, one.parts);
    assert_eq!(one.parts[3].kind, Kind::Unknown("groundingMetadata".to_owned(), r#"{"g":1}"#.to_owned()));
    assert_eq!(deltas.len(), 4);
    assert_eq!(
        deltas[3],
        Delta::ToolCall { index: 0, name: Some("w".to_owned()), arguments_json: r#"{"a":1}"#.to_owned() }
    );
}

#[test]
fn of_several_candidates_the_first_is_kept() {
    let response = concat!(
        r#"{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP","index":0},"#,
        r#"{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP","index":1}]}"#,
    );
    let read = read(&[response]).0.unwrap();
    assert_eq!((read.parts.len(), read.warnings[0].code.as_str()), (1, "other_choices_dropped"));
}
