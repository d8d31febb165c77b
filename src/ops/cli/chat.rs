//! JSON that people have at hand (chat messages, tools, tool results) as messages of the API; the API's own JSON is taken too. It must not
//! know commands or files.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::json::{self, Error};
use crate::grpc::convert::chat;
use crate::grpc::pb;

pub(crate) use crate::grpc::convert::chat::{Problem, tools};

/// Reads messages: a list of them, or an object with the list under `messages`. Each is of the chat form (`role` and `content`) or of
/// the API's (`role` and `parts`).
pub(crate) fn messages(text: &str) -> Result<Vec<pb::Message>, Problem> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wrapped<'a> {
        #[serde(borrow)]
        messages: Vec<&'a RawValue>,
    }
    let raw: Vec<&RawValue> = if text.trim_start().starts_with('{') {
        serde_json::from_str::<Wrapped<'_>>(text).map_err(say)?.messages
    } else {
        serde_json::from_str(text).map_err(say)?
    };
    let mut messages: Vec<pb::Message> = Vec::new();
    for (index, raw) in raw.into_iter().enumerate() {
        let message = message(raw.get()).map_err(|why| format!("message {index}: {why}"))?;
        chat::push(&mut messages, message);
    }
    Ok(messages)
}

fn message(text: &str) -> Result<pb::Message, Problem> {
    let keys: BTreeMap<String, &RawValue> = serde_json::from_str(text).map_err(say)?;
    if keys.contains_key("parts") {
        return json::parse(text).map_err(|error| error.to_string());
    }
    chat::message(text)
}

/// Reads tool results: an object of texts by call id, a list of results, or the API's `{"results": [...]}`.
pub(crate) fn results(text: &str) -> Result<Vec<pb::ToolResult>, Problem> {
    if text.trim_start().starts_with('[') {
        let listed: Vec<ResultDocument> = serde_json::from_str(text).map_err(say)?;
        return listed.into_iter().map(ResultDocument::into_result).collect();
    }
    let entries: IndexMap<String, Value> = serde_json::from_str(text).map_err(say)?;
    if entries.contains_key("results") {
        return json::parse::<pb::ToolResults>(text).map(|r| r.results).map_err(|error: Error| error.to_string());
    }
    Ok(entries.into_iter().map(|(call_id, value)| result(call_id, plain(value))).collect())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultDocument {
    #[serde(alias = "callId", alias = "tool_call_id")]
    call_id: String,
    /// Chats have it.
    #[serde(rename = "role")]
    _role: Option<ToolRole>,
    content: Value,
    #[serde(default, alias = "isError")]
    is_error: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ToolRole {
    Tool,
}

impl ResultDocument {
    fn into_result(self) -> Result<pb::ToolResult, Problem> {
        Ok(pb::ToolResult { is_error: self.is_error, ..result(self.call_id, plain(self.content)) })
    }
}

/// Text as it is, anything else as JSON.
fn plain(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// A result of one text.
pub(crate) fn result(call_id: String, text: String) -> pb::ToolResult {
    pb::ToolResult { call_id, parts: vec![text_part(text)], is_error: false, interrupted: false }
}

/// A message of one text.
pub(crate) fn said(role: pb::Role, text: impl Into<String>) -> pb::Message {
    pb::Message { role: role.into(), parts: vec![text_part(text.into())] }
}

fn text_part(text: String) -> pb::Part {
    part(pb::part::Kind::Text(pb::TextPart { text }))
}

fn part(kind: pb::part::Kind) -> pb::Part {
    pb::Part { kind: Some(kind), cache_marker: None, provider_data: None }
}

fn say(error: serde_json::Error) -> Problem {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chats_become_messages_with_calls_and_joined_results() {
        let text = r#"{"messages": [
            {"role": "developer", "content": "be brief"},
            {"role": "user", "content": [{"type": "text", "text": "weather?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "get", "arguments": "{\"x\": 1.0}"}},
                {"id": "b", "type": "function", "function": {"name": "get", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "1"},
            {"role": "tool", "tool_call_id": "b", "content": "2"},
            {"role": "ROLE_ASSISTANT", "parts": [{"text": {"text": "done"}}]}]}"#;
        let messages = messages(text).unwrap();
        let roles: Vec<_> = messages.iter().map(pb::Message::role).collect();
        use pb::Role::{Assistant, System, Tool, User};
        assert_eq!(roles, [System, User, Assistant, Tool, Assistant]);
        let Some(pb::part::Kind::ToolCall(call)) = &messages[2].parts[0].kind else { panic!("no call") };
        assert_eq!((call.call_id.as_str(), call.arguments_json.as_str()), ("a", r#"{"x": 1.0}"#));
        assert_eq!(messages[3].parts.len(), 2);
        let Some(pb::part::Kind::Image(image)) = &messages[1].parts[1].kind else { panic!("no image") };
        let Some(pb::media_source::Source::Inline(inline)) = &image.source.as_ref().unwrap().source else { panic!() };
        assert_eq!((inline.media_type.as_str(), &inline.data[..]), ("image/png", &b"hi"[..]));
    }

    #[test]
    fn a_message_that_makes_no_sense_is_named_by_its_place() {
        let bad = [
            (r#"[{"role": "user", "content": "a"}, {"role": "user", "contnet": "b"}]"#, "message 1: unknown field"),
            (r#"[{"role": "robot", "content": "a"}]"#, "message 0: unknown variant"),
            (r#"[{"role": "tool", "content": "a"}]"#, "message 0: a tool message needs"),
            (r#"[{"role": "user", "content": "a", "tool_call_id": "x"}]"#, "message 0: only a tool message"),
            ("nonsense", "expected"),
        ];
        for (text, expected) in bad {
            let found = messages(text).unwrap_err();
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn a_tools_schema_is_kept_byte_for_byte() {
        let text = r#"[{"name": "a", "input_schema": {"type": "object",  "z": 1.0, "a": 12345678901234567890123}},
            {"type": "function", "function": {"name": "b", "description": "d", "parameters": {}}, "side_effects": true},
            {"name": "c"}]"#;
        let tools = tools(text).unwrap().tools;
        assert_eq!(tools[0].input_schema_json, r#"{"type": "object",  "z": 1.0, "a": 12345678901234567890123}"#);
        assert_eq!((tools[1].name.as_str(), tools[1].description.as_str(), tools[1].side_effects), ("b", "d", true));
        assert_eq!(tools[2].input_schema_json, r#"{"type":"object"}"#);
        assert!(super::tools(r#"[{"description": "x"}]"#).unwrap_err().contains("tool 0: has no `name`"));
    }

    #[test]
    fn results_come_in_three_forms() {
        let by_id = results(r#"{"b": "two", "a": {"n": 1}}"#).unwrap();
        assert_eq!(by_id, [result("b".into(), "two".into()), result("a".into(), r#"{"n":1}"#.into())]);
        let listed = results(r#"[{"role": "tool", "tool_call_id": "a", "content": "x", "is_error": true}]"#).unwrap();
        assert!(listed[0].is_error);
        let own = results(r#"{"results": [{"callId": "a", "parts": [{"text": {"text": "x"}}]}]}"#).unwrap();
        assert_eq!(own, [result("a".into(), "x".into())]);
    }
}
