//! The body of a scripted call: canonical JSON, with the messages last, so that a longer history begins with the bytes of the shorter one.
//! It must not know rules or answers.

use std::fmt::Write;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::Call;
use crate::domain::id::Hash;
use crate::domain::message::{Kind, Media, Message, Part, Role};
use crate::domain::settings::{Contract, ToolChoice};

/// A call as it goes out and is read again.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Body {
    pub(super) model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_output_tokens: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) stop_sequences: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    pub(super) contract: Form,
    pub(super) tool_choice: String,
    pub(super) tools: Vec<ToolLine>,
    pub(super) messages: Vec<Line>,
    /// `extra` was no JSON.
    #[serde(skip)]
    broken: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Form {
    Text,
    Json,
    JsonSchema { name: String, schema_json: String },
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ToolLine {
    pub(super) name: String,
    description: String,
    input_schema_json: String,
}

/// One message.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) role: Speaker,
    pub(super) parts: Vec<Piece>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Speaker {
    System,
    User,
    Assistant,
    Tool,
}

/// One part, with what is attached to it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Piece {
    #[serde(flatten)]
    pub(super) said: Said,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cache: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider_data: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Said {
    Text(String),
    /// Bytes are known by their hash: nobody looks at them here.
    Media(String),
    Call {
        id: String,
        name: String,
        arguments: String,
    },
    Result {
        id: String,
        is_error: bool,
        text: String,
    },
    Reasoning(String),
    Refusal(String),
    Unknown(String, String),
}

impl Body {
    pub(super) fn of(call: &Call) -> Self {
        let parameters = &call.parameters;
        let extra = parameters.extra_json.as_ref().map(|text| RawValue::from_string(text.clone()));
        let broken = matches!(&extra, Some(Err(_)));
        Self {
            model: call.model.clone(),
            temperature: parameters.temperature,
            top_p: parameters.top_p,
            max_output_tokens: parameters.max_output_tokens,
            stop_sequences: parameters.stop_sequences.clone(),
            seed: parameters.seed,
            reasoning_effort: parameters.reasoning_effort.clone(),
            parallel_tool_calls: parameters.parallel_tool_calls,
            extra: extra.and_then(Result::ok),
            session_id: call.session_id.clone(),
            contract: match &call.contract {
                Contract::Text => Form::Text,
                Contract::Json => Form::Json,
                Contract::JsonSchema { name, schema_json } => {
                    Form::JsonSchema { name: name.clone(), schema_json: schema_json.clone() }
                }
            },
            tool_choice: match &call.tool_choice {
                ToolChoice::Auto => "auto".to_owned(),
                ToolChoice::None => "none".to_owned(),
                ToolChoice::Required => "required".to_owned(),
                ToolChoice::Named(name) => format!("named:{name}"),
            },
            tools: call
                .tools
                .iter()
                .map(|tool| ToolLine {
                    name: tool.name.clone(),
                    description: tool.description.clone(),
                    input_schema_json: tool.input_schema_json.clone(),
                })
                .collect(),
            messages: call.messages.iter().map(line).collect(),
            broken,
        }
    }

    pub(super) fn write(&self) -> Result<Bytes, ()> {
        if self.broken {
            return Err(());
        }
        serde_json::to_vec(self).map(Bytes::from).map_err(|_| ())
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// The text of the last message of a speaker; empty without one.
    pub(super) fn last_text(&self, role: Speaker) -> String {
        self.messages.iter().rev().find(|line| line.role == role).map(Line::text).unwrap_or_default()
    }

    /// The number of the turn that is being answered, from 1.
    pub(super) fn turn(&self) -> usize {
        let is_final = |line: &&Line| {
            line.role == Speaker::Assistant && !line.parts.iter().any(|piece| matches!(piece.said, Said::Call { .. }))
        };
        self.messages.iter().filter(is_final).count() + 1
    }
}

impl Line {
    /// Its texts joined, those of results too.
    pub(super) fn text(&self) -> String {
        let mut joined = String::new();
        for piece in &self.parts {
            if let Said::Text(text) | Said::Result { text, .. } = &piece.said {
                joined.push_str(text);
            }
        }
        joined
    }
}

fn line(message: &Message) -> Line {
    let role = match message.role {
        Role::System => Speaker::System,
        Role::User => Speaker::User,
        Role::Assistant => Speaker::Assistant,
        Role::Tool => Speaker::Tool,
    };
    Line { role, parts: message.parts.iter().map(piece).collect() }
}

fn piece(part: &Part) -> Piece {
    let said = match &part.kind {
        Kind::Text(text) => Said::Text(text.clone()),
        Kind::Image(media, note) | Kind::File(media, note) => Said::Media(media_text(media, note)),
        Kind::ToolCall(call) => Said::Call {
            id: call.call_id.as_str().to_owned(),
            name: call.name.clone(),
            arguments: call.arguments_json.clone(),
        },
        Kind::ToolResult(result) => {
            let mut text = String::new();
            for part in &result.parts {
                match &part.kind {
                    Kind::Text(more) => text.push_str(more),
                    Kind::Image(media, note) | Kind::File(media, note) => text.push_str(&media_text(media, note)),
                    Kind::ToolCall(_)
                    | Kind::ToolResult(_)
                    | Kind::Reasoning(_)
                    | Kind::Refusal(_)
                    | Kind::Unknown(..) => {}
                }
            }
            Said::Result { id: result.call_id.as_str().to_owned(), is_error: result.is_error, text }
        }
        Kind::Reasoning(reasoning) => Said::Reasoning(reasoning.text.clone()),
        Kind::Refusal(text) => Said::Refusal(text.clone()),
        Kind::Unknown(word, json) => Said::Unknown(word.clone(), json.clone()),
    };
    Piece {
        said,
        cache: part.cache_marker.as_ref().map(|marker| marker.ttl.clone()),
        provider_data: part.provider_data.as_ref().map(|data| data.data_json.clone()),
    }
}

fn media_text(media: &Media, note: &str) -> String {
    let mut text = match media {
        Media::Inline(media_type, bytes) => format!("[{media_type} {}", Hash::of(bytes)),
        Media::Link(url, media_type) => format!("[{media_type} {url}"),
    };
    // Writing to a string cannot fail; the result says so in its type only.
    if !note.is_empty() && write!(text, " {note}").is_err() {
        text.push_str(note);
    }
    text.push(']');
    text
}
