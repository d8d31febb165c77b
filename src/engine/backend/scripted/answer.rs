//! What a rule answers to a call. It must not know how the answer goes out.
//!
//! Texts may have placeholders, each replaced once: `{last_user}`, `{last_tool}`, `{system}`, `{model}`, `{turn}` (from 1),
//! `{message_count}` (the messages that arrived) and `{user_texts}` (every user text, joined by ` | `). Other braces stay.

use serde_json::{Value, json};

use super::rule::{CallConfig, Rule, StopWord, UsageConfig};
use super::wire::{Body, Form, Speaker};
use crate::domain::id::CallId;
use crate::domain::message::{Kind, Part, Reasoning, ToolCall};
use crate::domain::run::StopReason;
use crate::domain::usage::{Completeness, Usage};

/// Characters that count as one token.
const CHARS_A_TOKEN: usize = 4;

/// A whole answer.
pub(super) struct Script {
    pub(super) parts: Vec<Part>,
    pub(super) stop_reason: StopReason,
    pub(super) stop_reason_raw: String,
    pub(super) usage: Usage,
}

/// Writes the answer of a rule; one that says nothing echoes.
pub(super) fn write(rule: &Rule, body: &Body) -> Script {
    let mut parts = Vec::new();
    if let Some(text) = &rule.reasoning {
        parts.push(Part::new(Kind::Reasoning(Reasoning { text: fill(text, body), is_summary: false })));
    }
    let says_nothing =
        rule.text.is_none() && rule.json.is_none() && rule.refusal.is_none() && rule.tool_calls.is_empty();
    let calls = if says_nothing { forced_call(body) } else { rule.tool_calls.clone() };
    let text = match (&rule.text, &rule.json) {
        (Some(text), _) => Some(fill(text, body)),
        (None, Some(value)) => Some(fill_value(value, body).to_string()),
        (None, None) if says_nothing && calls.is_empty() => Some(echo(body)),
        (None, None) => None,
    };
    let (text, cut) = match text {
        Some(text) => cut(text, body),
        None => (String::new(), None),
    };
    if !text.is_empty() {
        parts.push(Part::text(text));
    }
    if let Some(text) = &rule.refusal {
        parts.push(Part::new(Kind::Refusal(fill(text, body))));
    }
    parts.extend(calls.iter().enumerate().map(|(index, call)| Part::new(Kind::ToolCall(tool_call(index, call, body)))));
    let stop = rule.stop_reason.or(cut).unwrap_or(match (&rule.refusal, calls.is_empty()) {
        (_, false) => StopWord::ToolCalls,
        (Some(_), true) => StopWord::Refusal,
        (None, true) => StopWord::Stop,
    });
    let (stop_reason, word) = stop_reason(stop);
    let usage = if rule.no_usage { Usage::default() } else { usage(rule.usage, body, &parts) };
    Script {
        parts,
        stop_reason,
        stop_reason_raw: rule.stop_reason_raw.clone().unwrap_or_else(|| word.to_owned()),
        usage,
    }
}

/// What is said without a rule: something that shows that the history arrived.
fn echo(body: &Body) -> String {
    let count = body.messages.len();
    let results = body.messages.last().is_some_and(|line| line.role == Speaker::Tool);
    let last = if results { body.last_text(Speaker::Tool) } else { body.last_text(Speaker::User) };
    match (&body.contract, results) {
        (Form::Json | Form::JsonSchema { .. }, _) => json!({ "said": last, "message": count }).to_string(),
        (Form::Text, true) => format!("The tool answered: {last} (message {count} of the history)"),
        (Form::Text, false) => format!("You said: {last} (message {count} of the history)"),
    }
}

/// The call of a request that insists on one.
fn forced_call(body: &Body) -> Vec<CallConfig> {
    let asked = body.messages.last().is_some_and(|line| line.role == Speaker::User);
    let name = match body.tool_choice.strip_prefix("named:") {
        Some(name) => Some(name.to_owned()),
        None if body.tool_choice == "required" => body.tools.first().map(|tool| tool.name.clone()),
        None => None,
    };
    name.filter(|_| asked).map(|name| CallConfig { name, ..CallConfig::default() }).into_iter().collect()
}

fn tool_call(index: usize, call: &CallConfig, body: &Body) -> ToolCall {
    let arguments_json = match (&call.arguments_json, &call.arguments) {
        (Some(text), _) => text.clone(),
        (None, Some(value)) => fill_value(value, body).to_string(),
        (None, None) => "{}".to_owned(),
    };
    ToolCall {
        call_id: CallId::default(),
        provider_call_id: call.id.clone().unwrap_or_else(|| format!("call-{index}")),
        name: call.name.clone(),
        arguments_json,
        arguments_invalid: false,
    }
}

/// The text as far as stop sequences and the limit of tokens let it come.
fn cut(mut text: String, body: &Body) -> (String, Option<StopWord>) {
    let mut why = None;
    if let Some(at) = body.stop_sequences.iter().filter_map(|stop| text.find(stop.as_str())).min() {
        text.truncate(at);
        why = Some(StopWord::StopSequence);
    }
    let limit = body.max_output_tokens.and_then(|tokens| usize::try_from(tokens).ok()?.checked_mul(CHARS_A_TOKEN));
    if let Some((at, _)) = limit.and_then(|limit| text.char_indices().nth(limit)) {
        text.truncate(at);
        why = Some(StopWord::MaxTokens);
    }
    (text, why)
}

fn stop_reason(word: StopWord) -> (StopReason, &'static str) {
    match word {
        StopWord::Stop => (StopReason::Stop, "stop"),
        StopWord::MaxTokens => (StopReason::MaxTokens, "max_tokens"),
        StopWord::ToolCalls => (StopReason::ToolCalls, "tool_calls"),
        StopWord::StopSequence => (StopReason::StopSequence, "stop_sequence"),
        StopWord::Refusal => (StopReason::Refusal, "refusal"),
        StopWord::ContentFilter => (StopReason::ContentFilter, "content_filter"),
        StopWord::Other => (StopReason::Other, "other"),
    }
}

fn usage(configured: Option<UsageConfig>, body: &Body, parts: &[Part]) -> Usage {
    let tokens = |chars: usize| u64::try_from(chars.div_ceil(CHARS_A_TOKEN)).unwrap_or(u64::MAX);
    let figures = configured.unwrap_or_else(|| UsageConfig {
        input_tokens: Some(body.messages.iter().map(|line| tokens(line.text().chars().count())).sum()),
        output_tokens: Some(tokens(parts.iter().map(written).sum())),
        ..UsageConfig::default()
    });
    let total = figures.input_tokens.zip(figures.output_tokens).map(|(read, written)| read.saturating_add(written));
    Usage {
        input_tokens: figures.input_tokens,
        output_tokens: figures.output_tokens,
        total_tokens: total,
        cached_input_tokens: figures.cached_input_tokens,
        cache_written_tokens: figures.cache_written_tokens,
        reasoning_tokens: figures.reasoning_tokens,
        completeness: if total.is_some() { Completeness::Complete } else { Completeness::Partial },
        reported: false,
        provider_json: String::new(),
    }
}

fn written(part: &Part) -> usize {
    match &part.kind {
        Kind::Text(text) | Kind::Refusal(text) => text.chars().count(),
        Kind::Reasoning(reasoning) => reasoning.text.chars().count(),
        Kind::ToolCall(call) => call.name.chars().count() + call.arguments_json.chars().count(),
        Kind::Image(..) | Kind::File(..) | Kind::ToolResult(_) | Kind::Unknown(..) => 0,
    }
}

fn fill_value(value: &Value, body: &Body) -> Value {
    match value {
        Value::String(text) => Value::String(fill(text, body)),
        Value::Array(items) => items.iter().map(|item| fill_value(item, body)).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, field)| (key.clone(), fill_value(field, body))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Replaces placeholders, once: what is put in is not looked at again.
fn fill(text: &str, body: &Body) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('{') {
        filled.push_str(before);
        let known = from.split_once('}').and_then(|(name, after)| Some((value(name, body)?, after)));
        match known {
            Some((value, after)) => {
                filled.push_str(&value);
                rest = after;
            }
            None => {
                filled.push('{');
                rest = from;
            }
        }
    }
    filled.push_str(rest);
    filled
}

fn value(name: &str, body: &Body) -> Option<String> {
    let all = |role: Speaker, between: &str| {
        let texts: Vec<String> =
            body.messages.iter().filter(|line| line.role == role).map(|line| line.text()).collect();
        texts.join(between)
    };
    match name {
        "last_user" => Some(body.last_text(Speaker::User)),
        "last_tool" => Some(body.last_text(Speaker::Tool)),
        "system" => Some(all(Speaker::System, "\n")),
        "user_texts" => Some(all(Speaker::User, " | ")),
        "model" => Some(body.model.clone()),
        "turn" => Some(body.turn().to_string()),
        "message_count" => Some(body.messages.len().to_string()),
        _ => None,
    }
}
