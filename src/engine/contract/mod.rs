//! Contracts: whether an answer has the form that was asked for, found by our own check of the final text. It must not know how a provider
//! is asked for a form, nor judge what an answer is worth (S4-13).

mod bounds;
mod schema;

use serde_json::Value;

pub use schema::SchemaProblem;
pub(crate) use schema::{Schemas, bounded, parse_schema};

use crate::domain::message::{Kind, Message};
use crate::domain::run::StopReason;
use crate::domain::settings::{Validation, ValidationStatus, Violation};

/// Most violations that are told.
const MAX_VIOLATIONS: usize = 32;
/// Longest text of one, in bytes.
const MAX_VIOLATION_TEXT: usize = 512;

/// A contract, ready to check answers.
pub(crate) enum Check {
    Text,
    Json,
    Schema(schema::Compiled),
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Text => "Text",
            Self::Json => "Json",
            Self::Schema(_) => "Schema",
        })
    }
}

impl Check {
    /// Checks an answer. One that calls tools is not final and has nothing to check.
    pub(crate) fn validate(&self, answer: &Message, stop_reason: StopReason) -> Validation {
        if matches!(self, Self::Text) || answer.tool_calls().next().is_some() {
            return Validation::default();
        }
        if let Some(text) = withheld(answer, stop_reason) {
            return invalid("", "", text);
        }
        let text = answer.joined_text();
        let cut = stop_reason == StopReason::MaxTokens;
        let value = match json_in(&text).map(serde_json::from_str::<Value>) {
            // A number may go on after the cut; all else in JSON shows its own end.
            Some(Ok(value)) if !(cut && value.is_number()) => value,
            _ if cut && text.trim().is_empty() => {
                return invalid("", "", "the answer reached the limit of output tokens before any of it was written");
            }
            _ if cut => return invalid("", "", "the answer was cut at the limit of output tokens"),
            Some(Err(error)) => return invalid("", "", &format!("the answer is not JSON: {error}")),
            Some(Ok(_)) | None => return invalid("", "", "the answer is empty, and not JSON"),
        };
        match self {
            Self::Text => Validation::default(),
            Self::Json => valid(),
            Self::Schema(compiled) => {
                let violations = compiled.violations(&value, MAX_VIOLATIONS);
                if violations.is_empty() {
                    valid()
                } else {
                    Validation { status: ValidationStatus::Invalid, violations }
                }
            }
        }
    }
}

/// Why there is no answer to check: the model declined, or the provider cut in.
fn withheld(answer: &Message, stop_reason: StopReason) -> Option<&'static str> {
    let refused = answer.parts.iter().any(|part| matches!(part.kind, Kind::Refusal(_)));
    match stop_reason {
        StopReason::ContentFilter => Some("refused: the provider's content filter cut in"),
        StopReason::Refusal => Some("refused: the model declined to answer"),
        _ if refused => Some("refused: the model declined to answer"),
        _ => None,
    }
}

fn valid() -> Validation {
    Validation { status: ValidationStatus::Valid, violations: Vec::new() }
}

fn invalid(instance_path: &str, schema_path: &str, message: &str) -> Validation {
    let violation = Violation {
        instance_path: instance_path.to_owned(),
        schema_path: schema_path.to_owned(),
        message: message.to_owned(),
    };
    Validation { status: ValidationStatus::Invalid, violations: vec![violation] }
}

/// The JSON of an answer: the whole text, or else the one fenced block in it that is JSON. The stored message stays as the model wrote it.
/// Absent when there is no text at all; text that is no JSON comes back whole, for the error.
pub fn json_in(text: &str) -> Option<&str> {
    let trimmed = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if trimmed.is_empty() {
        return None;
    }
    if is_json(trimmed) {
        return Some(trimmed);
    }
    let mut blocks = fenced(trimmed).filter(|block| is_json(block));
    match (blocks.next(), blocks.next()) {
        (Some(only), None) => Some(only),
        _ => Some(trimmed),
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}

/// The insides of the fenced blocks that are closed.
fn fenced(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, opened) = rest.split_once("```")?;
        let (_language, body) = opened.split_once('\n')?;
        let (inside, after) = body.split_once("```")?;
        rest = after;
        Some(inside.trim())
    })
}

#[cfg(test)]
mod tests;
