//! What is read in an answer.

use super::*;
use crate::domain::message::Part;
use crate::engine::backend::wire::{Answer as _, Value};

fn issuer() -> Issuer {
    Issuer { provider: "p".to_owned(), api: "openai-responses".to_owned(), model: "m".to_owned() }
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

fn read(chunks: &[&str]) -> (Result<Read, Wrong>, Vec<Delta>) {
    with(&Quirks::default(), chunks)
}

fn whole(response: &str) -> Read {
    read(&[response]).0.unwrap()
}

/// A response of these items with this status.
fn response(items: &str, status: &str) -> String {
    format!(r#"{{"id":"resp_1","object":"response","model":"m-1","error":null,{status},"output":[{items}]}}"#)
}

const COMPLETED: &str = r#""status":"completed""#;
const TEXT: &str = r#"{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hello","annotations":[],"logprobs":[]}]}"#;
const THOUGHT: &str = r#"{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"one"}, {"type":"summary_text","text":"two"}],"encrypted_content":"gAAA"}"#;
const CALL: &str = r#"{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"f","arguments":"{\"x\":1}"}"#;

fn data(part: &Part) -> Option<&str> {
    part.provider_data.as_ref().map(|data| data.data_json.as_str())
}

fn malformed(chunks: &[&str]) -> &'static str {
    match read(chunks).0 {
        Err(Wrong::Malformed(what)) => what,
        other => panic!("{other:?}"),
    }
}

fn said(chunks: &[&str]) -> String {
    match read(chunks).0 {
        Err(Wrong::Said(said)) => format!("{said:?}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_text_alone_carries_nothing_of_the_provider() {
    let read = whole(&response(TEXT, COMPLETED));
    assert_eq!(read.parts, [Part::text("Hello")]);
    assert_eq!((read.stop_reason, read.stop_reason_raw.as_str()), (StopReason::Stop, "completed"));
    assert_eq!((read.response_id.as_str(), read.response_model.as_str()), ("resp_1", "m-1"));
    assert_eq!(read.warnings, []);
}

#[test]
fn beside_reasoning_everything_keeps_what_ties_it_together() {
    let read = whole(&response(&[THOUGHT, TEXT, CALL].join(","), COMPLETED));
    let Kind::Reasoning(reasoning) = &read.parts[0].kind else { panic!("{read:?}") };
    assert_eq!((reasoning.text.as_str(), reasoning.is_summary), ("one\n\ntwo", true));
    assert_eq!(data(&read.parts[0]), Some(THOUGHT), "byte for byte");
    let text = r#"{"item":{"id":"msg_1","status":"completed"},"part":{"annotations":[],"logprobs":[]}}"#;
    assert_eq!(data(&read.parts[1]), Some(text));
    assert_eq!(data(&read.parts[2]), Some(r#"{"id":"fc_1","status":"completed"}"#));
    assert_eq!(read.parts[0].provider_data.as_ref().unwrap().issuer, issuer());
    assert_eq!(read.stop_reason, StopReason::ToolCalls);
}

#[test]
fn citations_and_items_without_a_word_of_ours_are_kept() {
    let cited = r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"t","annotations":[{"type":"url_citation","start_index":0}]},{"type":"image","b64":"x"}]}"#;
    let search = r#"{"id":"ws_1","type":"web_search_call","n":1e400}"#;
    let read = whole(&response(&[search, cited].join(","), COMPLETED));
    assert_eq!(read.parts[0].kind, Kind::Unknown("web_search_call".to_owned(), search.to_owned()));
    assert_eq!(data(&read.parts[0]), Some("{}"), "it may go back to its issuer");
    let kept = r#"{"item":{},"part":{"annotations":[{"type":"url_citation","start_index":0}]}}"#;
    assert_eq!((read.parts[1].kind.clone(), data(&read.parts[1])), (Kind::Text("t".to_owned()), Some(kept)));
    let other = Part::new(Kind::Unknown("image".to_owned(), r#"{"type":"image","b64":"x"}"#.to_owned()));
    assert_eq!(read.parts[2], other);
}

#[test]
fn words_for_the_end() {
    let cut = |reason: &str| format!(r#""status":"incomplete","incomplete_details":{{"reason":"{reason}"}}"#);
    for (status, reason, raw) in [
        (COMPLETED.to_owned(), StopReason::Stop, "completed"),
        (cut("max_output_tokens"), StopReason::MaxTokens, "max_output_tokens"),
        (cut("content_filter"), StopReason::ContentFilter, "content_filter"),
        (cut("else"), StopReason::Other, "else"),
        (r#""status":"paused""#.to_owned(), StopReason::Other, "paused"),
    ] {
        let read = whole(&response(TEXT, &status));
        assert_eq!((read.stop_reason, read.stop_reason_raw.as_str()), (reason, raw));
    }
    let read = whole(&response(CALL, &cut("max_output_tokens")));
    assert_eq!(read.stop_reason, StopReason::MaxTokens, "a call in it may be cut short itself");
    let refusal = r#"{"type":"message","content":[{"type":"refusal","refusal":"No."}]}"#;
    let read = whole(&response(refusal, COMPLETED));
    assert_eq!((read.parts, read.stop_reason), (vec![Part::new(Kind::Refusal("No.".to_owned()))], StopReason::Refusal));
    let read = whole(&response(TEXT, r#""status":null"#));
    assert_eq!((read.stop_reason, read.warnings[0].code.as_str()), (StopReason::Other, "finish_reason_missing"));
}

#[test]
fn what_failed_or_did_not_finish_is_no_answer() {
    let error = r#""status":"failed","error":{"code":"server_error","message":"broke"}"#;
    let failed = format!(r#"{{"object":"response",{error},"output":[]}}"#);
    assert!(said(&[&failed]).contains("broke"));
    assert!(said(&[r#"{"error":{"message":"no"}}"#]).contains("no"));
    assert!(said(&[&response("", r#""status":"failed""#)]).contains("failed"));
    assert!(said(&[&response("", r#""status":"cancelled""#)]).contains("cancelled"));
    for status in ["queued", "in_progress"] {
        let response = response(TEXT, &format!(r#""status":"{status}""#));
        assert_eq!(malformed(&[&response]), "the provider has not finished the answer");
    }
    assert!(said(&[&format!(r#"{{"type":"response.failed","response":{failed}}}"#)]).contains("broke"));
    assert!(said(&[r#"{"type":"error","code":"overloaded","message":"busy","param":null}"#]).contains("busy"));
    assert!(said(&[r#"{"type":"error","error":{"message":"nested"}}"#]).contains("nested"));
}

#[test]
fn an_empty_answer_is_one_only_where_that_is_accepted_or_it_was_cut() {
    assert_eq!(malformed(&[&response("", COMPLETED)]), "the provider gave an empty answer");
    assert_eq!(malformed(&[&response(THOUGHT, COMPLETED)]), "the provider gave an empty answer");
    let accepting = Quirks { empty_answer: EmptyAnswer::Accept, ..Quirks::default() };
    assert!(with(&accepting, &[&response("", COMPLETED)]).0.is_ok());
    let cut = r#""status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}"#;
    assert_eq!(whole(&response(THOUGHT, cut)).stop_reason, StopReason::MaxTokens);
}

#[test]
fn usage_with_its_details_and_none_made_up() {
    let usage = r#"{"input_tokens":20,"input_tokens_details":{"cached_tokens":8},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":29}"#;
    let read = whole(&response(TEXT, &format!("{COMPLETED},\"usage\":{usage}")));
    let figures = [read.usage.input_tokens, read.usage.output_tokens, read.usage.total_tokens];
    assert_eq!(figures, [Some(20), Some(9), Some(29)]);
    assert_eq!([read.usage.cached_input_tokens, read.usage.reasoning_tokens], [Some(8), Some(5)]);
    assert_eq!(read.usage.provider_json, usage);
    assert_eq!(whole(&response(TEXT, COMPLETED)).usage, Usage::default());
}

/// The events of a stream that says the items, each beginning, in pieces, and whole.
fn events(last: &str) -> Vec<String> {
    let added =
        |at: u32, item: &str| format!(r#"{{"type":"response.output_item.added","output_index":{at},"item":{item}}}"#);
    let done =
        |at: u32, item: &str| format!(r#"{{"type":"response.output_item.done","output_index":{at},"item":{item}}}"#);
    let delta = |word: &str, at: u32, more: &str, text: &str| {
        format!(r#"{{"type":"response.{word}.delta","output_index":{at}{more},"delta":"{text}"}}"#)
    };
    vec![
        r#"{"type":"response.created","response":{"id":"resp_1","model":"m-1","status":"in_progress","output":[]}}"#
            .to_owned(),
        added(0, r#"{"id":"rs_1","type":"reasoning","summary":[]}"#),
        delta("reasoning_summary_text", 0, r#","summary_index":0"#, "on"),
        delta("reasoning_summary_text", 0, r#","summary_index":0"#, "e"),
        delta("reasoning_summary_text", 0, r#","summary_index":1"#, "two"),
        done(0, THOUGHT),
        added(1, r#"{"id":"msg_1","type":"message","role":"assistant","content":[]}"#),
        r#"{"type":"response.content_part.added","output_index":1,"part":{"type":"output_text","text":""}}"#.to_owned(),
        delta("output_text", 1, r#","content_index":0"#, "Hel"),
        delta("output_text", 1, r#","content_index":0"#, "lo"),
        r#"{"type":"response.output_text.done","output_index":1,"text":"Hello"}"#.to_owned(),
        done(1, TEXT),
        added(2, r#"{"id":"fc_1","type":"function_call","call_id":"call_1","name":"f","arguments":""}"#),
        delta("function_call_arguments", 2, "", r#"{\"x\""#),
        delta("function_call_arguments", 2, "", ":1}"),
        r#"{"type":"response.function_call_arguments.done","output_index":2,"arguments":"{\"x\":1}"}"#.to_owned(),
        done(2, CALL),
        last.to_owned(),
    ]
}

fn told(deltas: &[Delta]) -> [String; 3] {
    let mut told = [String::new(), String::new(), String::new()];
    for delta in deltas {
        match delta {
            Delta::Reasoning(text) => told[0].push_str(text),
            Delta::Text(text) => told[1].push_str(text),
            Delta::ToolCall { index, name, arguments_json } => {
                told[2].push_str(&format!("{index}{}{arguments_json}", name.as_deref().unwrap_or_default()));
            }
            Delta::Refusal(text) => panic!("{text}"),
        }
    }
    told
}

/// One reading for both: with the items in the last event, without them, and as one body.
#[test]
fn streamed_or_not_the_parts_are_the_same() {
    let items = [THOUGHT, TEXT, CALL].join(",");
    let body = response(&items, COMPLETED);
    let (whole, at_once) = read(&[&body]);
    let whole = whole.unwrap();
    assert_eq!(told(&at_once), ["one\n\ntwo".to_owned(), "Hello".to_owned(), r#"0f{"x":1}"#.to_owned()]);
    for output in [items.as_str(), ""] {
        let last = response(output, COMPLETED);
        let events = events(&format!(r#"{{"type":"response.completed","response":{last}}}"#));
        let (streamed, deltas) = read(&events.iter().map(String::as_str).collect::<Vec<_>>());
        let streamed = streamed.unwrap();
        assert_eq!((&streamed.parts, streamed.stop_reason), (&whole.parts, whole.stop_reason));
        let pieces = ["one\n\ntwo".to_owned(), "Hello".to_owned(), r#"0f{"x"0:1}"#.to_owned()];
        assert_eq!(told(&deltas), pieces);
        assert_eq!(deltas.len(), 7, "{deltas:?}");
    }
}

/// Some servers give no index, no whole items, or no last output: what came in pieces is then all there is.
#[test]
fn what_never_came_whole_is_made_of_its_pieces() {
    let events = [
        r#"{"type":"response.output_item.added","item":{"id":"rs_1","type":"reasoning","summary":[]}}"#,
        r#"{"type":"response.reasoning_text.delta","item_id":"rs_1","delta":"hm"}"#,
        r#"{"type":"response.output_item.added","item":{"id":"msg_1","type":"message","content":[]}}"#,
        r#"{"type":"response.output_text.delta","item_id":"msg_1","delta":"Hel"}"#,
        r#"{"type":"response.output_text.delta","delta":"lo"}"#,
        r#"{"type":"response.output_item.added","item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"f"}}"#,
        r#"{"type":"response.function_call_arguments.delta","item_id":"fc_1","delta":"{\"x\":1}"}"#,
        r#"{"type":"response.completed","response":{"id":"resp_1","status":"completed"}}"#,
    ];
    let (read, deltas) = read(&events);
    let read = read.unwrap();
    let kinds: Vec<_> = read.parts.iter().map(|part| &part.kind).collect();
    assert!(matches!(kinds[0], Kind::Reasoning(reasoning) if reasoning.text == "hm"), "{kinds:?}");
    assert_eq!(kinds[1], &Kind::Text("Hello".to_owned()));
    let call = |kind: &Kind| matches!(kind, Kind::ToolCall(call) if call.provider_call_id == "call_1" && call.arguments_json == "{\"x\":1}");
    assert!(call(kinds[2]), "{kinds:?}");
    assert_eq!(told(&deltas), ["hm".to_owned(), "Hello".to_owned(), r#"0f{"x":1}"#.to_owned()]);
}

#[test]
fn nothing_but_a_last_event_ends_a_stream() {
    let mut answer = Answer::default();
    let events = events(r#"{"type":"response.output_item.done","output_index":3}"#);
    for event in &events {
        let object = Value::parse(event).unwrap().object().unwrap();
        answer.take(&object, &Quirks::default(), &mut |_| {}).unwrap();
    }
    answer.note_done();
    assert_eq!(answer.progress(&Quirks::default()), Progress::Open);
    let last = format!(r#"{{"type":"response.incomplete","response":{}}}"#, response(TEXT, r#""status":"incomplete""#));
    answer.take(&Value::parse(&last).unwrap().object().unwrap(), &Quirks::default(), &mut |_| {}).unwrap();
    assert_eq!(answer.progress(&Quirks::default()), Progress::Done);
}

#[test]
fn arguments_are_kept_as_they_are_and_judged() {
    let call =
        |arguments: &str| format!(r#"{{"type":"function_call","call_id":"c","name":"f","arguments":{arguments}}}"#);
    for (sent, kept, invalid) in [
        (r#""{\"n\": 18446744073709551616}""#, "{\"n\": 18446744073709551616}", false),
        (r#""{\"a\"""#, "{\"a\"", true),
        (r#""  ""#, "{}", false),
        ("null", "{}", false),
        (r#"{"a":1}"#, "{\"a\":1}", false),
        (r#""{\"a\":\"\\ud83d\"}""#, r#"{"a":"\ufffd"}"#, false),
    ] {
        let read = whole(&response(&call(sent), COMPLETED));
        let Kind::ToolCall(found) = &read.parts[0].kind else { panic!("{read:?}") };
        assert_eq!((found.arguments_json.as_str(), found.arguments_invalid), (kept, invalid), "{sent}");
    }
    let nameless = response(r#"{"type":"function_call","call_id":"c","arguments":"{}"}"#, COMPLETED);
    assert_eq!(malformed(&[&nameless]), "a tool call has no name");
}

#[test]
fn arguments_that_say_nothing_are_an_empty_object() {
    for sent in [r#""null""#, r#"" null ""#, r#"" ""#, "null"] {
        let item = format!(r#"{{"type":"function_call","call_id":"c","name":"f","arguments":{sent}}}"#);
        let read = whole(&response(&item, COMPLETED));
        let Kind::ToolCall(call) = &read.parts[0].kind else { panic!("{read:?}") };
        assert_eq!((call.arguments_json.as_str(), call.arguments_invalid), ("{}", false), "{sent}");
    }
}

/// An item that is whole holds what its pieces said, and a whole response what its items did: each is held, and counted, once.
#[test]
fn what_is_held_is_counted_once() {
    let long = "x".repeat(1_000);
    let text = TEXT.replace("Hello", &long);
    let call = CALL.replace("\\\"x\\\":1", &format!("\\\"x\\\":\\\"{long}\\\""));
    let body = response(&[text.as_str(), &call].join(","), COMPLETED);
    let events = [
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","content":[]}}"#.to_owned(),
        format!(r#"{{"type":"response.output_text.delta","output_index":0,"delta":"{long}"}}"#),
        format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{text}}}"#),
        r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","name":"f"}}"#
            .to_owned(),
        format!(
            r#"{{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{{\"x\":\"{long}\"}}"}}"#
        ),
        format!(r#"{{"type":"response.output_item.done","output_index":1,"item":{call}}}"#),
        format!(r#"{{"type":"response.completed","response":{body}}}"#),
    ];
    let mut answer = Answer::default();
    for event in &events {
        let object = Value::parse(event).unwrap().object().unwrap();
        answer.take(&object, &Quirks::default(), &mut |_| {}).unwrap();
        assert!(answer.bytes() <= body.len(), "{} of {}", answer.bytes(), body.len());
    }
    assert_eq!(answer.bytes(), text.len() + call.len());
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    assert_eq!(read(&events).0.unwrap().parts, whole(&body).parts);
    // What was told is not told again, though it is no longer held.
    let told: String = read(&events)
        .1
        .iter()
        .filter_map(|delta| match delta {
            Delta::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(told, long);
}
