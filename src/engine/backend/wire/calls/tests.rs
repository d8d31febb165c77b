//! Fragments in every form.

use super::*;

/// The calls that come of some deltas, as id, name and arguments; what was told on the way must say the same.
fn calls(deltas: &[&str]) -> Vec<(String, String, String)> {
    let mut calls = Calls::default();
    let mut told: Vec<(String, String)> = Vec::new();
    let mut emit = |delta| {
        let Delta::ToolCall { index, name, arguments_json } = delta else { panic!("{delta:?}") };
        let at = index as usize;
        told.resize(told.len().max(at + 1), <(String, String)>::default());
        told[at].0.push_str(&name.unwrap_or_default());
        told[at].1.push_str(&arguments_json);
    };
    for delta in deltas {
        let entries = Value::parse(delta).unwrap().array().unwrap();
        let entries: Vec<_> = entries.into_iter().map(|entry| entry.object().unwrap()).collect();
        calls.take(&entries, &[], &mut emit);
    }
    calls.tell_names(&mut emit);
    let done = calls.finish().unwrap();
    assert_eq!(told.len(), done.len());
    for (told, done) in told.iter().zip(&done) {
        assert_eq!(told.0, done.call.name);
        assert!(told.1 == done.call.arguments_json || told.1.trim().is_empty());
    }
    done.into_iter().map(|done| (done.call.provider_call_id, done.call.name, done.call.arguments_json)).collect()
}

fn expect(deltas: &[&str], expected: &[(&str, &str, &str)]) {
    let owned: Vec<_> = expected
        .iter()
        .map(|(id, name, arguments)| (id.to_string(), name.to_string(), arguments.to_string()))
        .collect();
    assert_eq!(calls(deltas), owned);
}

#[test]
fn by_index() {
    expect(
        &[
            r#"[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]"#,
            r#"[{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}]"#,
            r#"[{"index":0,"function":{"arguments":"{}"}},{"index":1,"function":{"arguments":"}"}}]"#,
        ],
        &[("a", "f", "{}"), ("b", "g", "{}")],
    );
}

#[test]
fn every_call_has_the_index_zero() {
    expect(
        &[
            r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]"#,
            r#"[{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":"}}]"#,
            r#"[{"index":0,"function":{"arguments":"1}"}}]"#,
        ],
        &[("a", "f", "{}"), ("b", "f", "{\"x\":1}")],
    );
}

#[test]
fn every_call_has_the_index_zero_and_none_an_id() {
    expect(
        &[
            r#"[{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}]"#,
            r#"[{"index":0,"function":{"name":"f","arguments":"{\"x\":2}"}}]"#,
            r#"[{"index":0,"function":{"name":"g","arguments":"{}"}}]"#,
            r#"[{"index":0,"function":{"name":"g","arguments":""}}]"#,
        ],
        &[("", "f", "{\"x\":1}"), ("", "f", "{\"x\":2}"), ("", "g", "{}")],
    );
}

#[test]
fn neither_ids_nor_indexes() {
    expect(
        &[
            r#"[{"function":{"name":"f","arguments":"{\"x\""}},{"function":{"name":"g","arguments":"{}"}}]"#,
            r#"[{"function":{"name":"h"}}]"#,
            r#"[{"function":{"arguments":"{\"y\":"}}]"#,
            r#"[{"function":{"arguments":"1}"}}]"#,
        ],
        &[("", "f", "{\"x\""), ("", "g", "{}"), ("", "h", "{\"y\":1}")],
    );
}

#[test]
fn one_id_at_two_indexes_is_two_calls() {
    expect(
        &[r#"[{"index":0,"id":"call","function":{"name":"f","arguments":"{}"}},
                {"index":1,"id":"call","function":{"name":"g","arguments":"{}"}}]"#],
        &[("call", "f", "{}"), ("call", "g", "{}")],
    );
}

#[test]
fn a_call_that_is_sent_again_whole_is_one_call() {
    let whole = r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]"#;
    expect(&[whole, whole], &[("a", "f", "{\"x\":1}")]);
}

#[test]
fn an_id_that_changes_with_every_piece_is_the_first_one() {
    expect(
        &[
            r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]"#,
            r#"[{"index":0,"id":"b","function":{"arguments":"}"}}]"#,
        ],
        &[("a", "f", "{}")],
    );
}

#[test]
fn names_in_pieces_repeated_or_late() {
    expect(
        &[
            r#"[{"index":0,"id":"a","function":{"name":"edit_ex","arguments":""}}]"#,
            r#"[{"index":0,"function":{"name":"isting","arguments":"{}"}}]"#,
        ],
        &[("a", "edit_existing", "{}")],
    );
    expect(
        &[
            r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"p\""}}]"#,
            r#"[{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}]"#,
        ],
        &[("a", "f", "{\"p\":1}")],
    );
    expect(
        &[r#"[{"id":"a","function":{"arguments":"{\"q\":"}}]"#, r#"[{"function":{"name":"f","arguments":"1}"}}]"#],
        &[("a", "f", "{\"q\":1}")],
    );
}

#[test]
fn flat_entries_objects_and_numbers_as_ids() {
    expect(
        &[r#"[{"id":7,"name":"f","arguments":{"n":9007199254740993}}]"#],
        &[("7", "f", r#"{"n":9007199254740993}"#)],
    );
}

#[test]
fn what_is_broken_stays_as_it_is_and_is_marked() {
    for (arguments, invalid) in [("{\"a\":1", true), ("[1]", true), ("\"{}\"", true), ("{}", false)] {
        let mut calls = Calls::default();
        let text = serde_json::json!([{"id": "a", "function": {"name": "f", "arguments": arguments}}]).to_string();
        let entries = Value::parse(&text).unwrap().array().unwrap();
        calls.take(&[entries[0].object().unwrap()], &[], &mut |_| {});
        let call = calls.finish().unwrap().remove(0).call;
        assert_eq!((call.arguments_json.as_str(), call.arguments_invalid), (arguments, invalid));
    }
}

#[test]
fn a_call_without_a_name_is_none() {
    let mut calls = Calls::default();
    let entry = Value::parse(r#"{"id":"a","function":{"arguments":"{}"}}"#).unwrap().object().unwrap();
    calls.take(&[entry], &[], &mut |_| {});
    assert!(calls.finish().is_none());
}

#[test]
fn arguments_that_say_nothing_are_an_empty_object_and_what_is_broken_stays() {
    for (said, kept, invalid, replaced) in [
        ("", "{}", false, false),
        (" \n", "{}", false, false),
        ("null", "{}", false, false),
        (" null ", "{}", false, false),
        (r#"{"n":1.0}"#, r#"{"n":1.0}"#, false, false),
        (r#"{"t":"\ud83d"}"#, r#"{"t":"\ufffd"}"#, false, true),
        ("[]", "[]", true, false),
        ("nul", "nul", true, false),
        ("{", "{", true, false),
    ] {
        let (call, mended) = tool_call("i".to_owned(), "n".to_owned(), said.to_owned());
        assert_eq!((call.arguments_json.as_str(), call.arguments_invalid, mended), (kept, invalid, replaced), "{said}");
        assert_eq!((call.provider_call_id.as_str(), call.name.as_str(), call.call_id), ("i", "n", CallId::default()));
    }
}
