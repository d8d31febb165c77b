//! Exchanges as they are read. Knows nothing of how they came about.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Code, Error, Result};
use crate::message::Message;
use crate::pb;
use crate::tool::OfferedTool;
use crate::tool_call::ToolCall;
use crate::usage::Usage;
use crate::word::{AttemptKind, StopReason, ValidationStatus};

/// Something that the caller should know and that stopped nothing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Warning {
    /// A stable word for programs, such as `tool_schema_drift`.
    pub code: String,
    /// What it is about, for people.
    pub message: String,
}

impl Warning {
    pub(crate) fn from_raw(raw: &pb::Warning) -> Self {
        Self { code: raw.code.clone(), message: raw.message.clone() }
    }

    pub(crate) fn all(raw: &[pb::Warning]) -> Vec<Self> {
        raw.iter().map(Self::from_raw).collect()
    }
}

/// One completed model call. What is on record never changes; changing the fields changes only this copy.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Exchange {
    /// Its id; empty when it is not on record.
    pub exchange_id: String,
    /// The model call before it; empty at a root.
    pub parent_exchange_id: String,
    /// The run that made it.
    pub run_id: String,
    /// The thread that it was made on; empty without one.
    pub thread_id: String,
    /// The number of its turn on its path.
    pub turn: u64,
    /// What the call added to the history before the answer.
    pub messages: Vec<Message>,
    /// The answer.
    pub assistant: Message,
    /// The text parts of the answer, joined.
    pub text: String,
    /// Why the model stopped.
    pub stop_reason: StopReason,
    /// Whether the answer has its form.
    pub validation: ValidationStatus,
    /// What is wrong with the form of the answer, each with where, as a JSON Pointer.
    pub violations: Vec<String>,
    /// The calls of the answer that nothing answers yet.
    pub tool_calls: Vec<ToolCall>,
    /// The tools that this very call offered.
    pub tools: Vec<OfferedTool>,
    /// The tools that the next call offers when it says nothing.
    pub standing_tools: Vec<OfferedTool>,
    /// What it consumed.
    pub usage: Usage,
    /// Of this call and those before it in the turn, each said once.
    pub warnings: Vec<Warning>,
    /// Those of the request.
    pub labels: BTreeMap<String, String>,
    /// Whether it is on record. One that is not can be replied to, from what is in memory here, and nothing else.
    pub captured: bool,
    raw: Arc<pb::Exchange>,
    loose: Option<Arc<Loose>>,
}

/// What is known beside an exchange that is on no record.
#[derive(Debug)]
pub(crate) struct Loose {
    /// What was said before it; absent where nobody knows all of it.
    pub(crate) before: Option<Vec<pb::Message>>,
    /// The tools that a reply offers when it says nothing.
    pub(crate) standing: Option<pb::ToolList>,
}

impl Exchange {
    /// The message behind it.
    pub fn raw(&self) -> &pb::Exchange {
        &self.raw
    }

    /// Reads the answer as JSON: the value that was found valid where the answer had to have a form, else its text.
    ///
    /// # Errors
    /// It is not what the type wants.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        decode(self.raw.validation.as_ref(), &self.text)
    }

    /// A setting as it was used, such as `model`; nothing when there was none.
    pub fn setting(&self, name: &str) -> Option<Value> {
        let found = self.raw.effective_settings.iter().find(|setting| setting.name == name)?;
        // What is no JSON would be the server's mistake, and no setting.
        serde_json::from_str(&found.value_json).ok()
    }

    /// The profile that was used; empty where it had none.
    pub fn profile(&self) -> String {
        self.word("profile_id")
    }

    /// The model that was asked.
    pub fn model(&self) -> String {
        self.word("model")
    }

    fn word(&self, name: &str) -> String {
        self.setting(name).and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    }

    pub(crate) fn from_raw(raw: pb::Exchange) -> Self {
        let tools = raw.tools.as_ref();
        let mut made = Self {
            exchange_id: raw.exchange_id.clone(),
            parent_exchange_id: raw.parent_exchange_id.clone(),
            run_id: raw.run_id.clone(),
            thread_id: raw.thread_id.clone(),
            turn: raw.turn,
            messages: Message::all(&raw.messages),
            assistant: Message::from_raw(raw.assistant.clone().unwrap_or_default()),
            text: raw.text.clone(),
            stop_reason: StopReason::from_raw(raw.stop_reason),
            validation: validation_of(raw.validation.as_ref()),
            violations: violations_of(raw.validation.as_ref()),
            tool_calls: ToolCall::all(&raw.pending_tool_calls),
            tools: OfferedTool::all(tools.and_then(|tools| tools.offered.as_ref())),
            standing_tools: OfferedTool::all(tools.and_then(|tools| tools.standing.as_ref())),
            usage: Usage::from_raw(raw.usage.as_ref()),
            warnings: Vec::new(),
            labels: raw.labels.clone(),
            captured: true,
            raw: Arc::new(pb::Exchange::default()),
            loose: None,
        };
        made.warn(Warning::all(&raw.warnings));
        made.raw = Arc::new(raw);
        made
    }

    /// Adds warnings that are not there.
    pub(crate) fn warn(&mut self, warnings: impl IntoIterator<Item = Warning>) {
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    /// One that is on no record, with what was said before it where that is known.
    pub(crate) fn loose(raw: pb::Exchange, before: Option<Vec<pb::Message>>, standing: Option<pb::ToolList>) -> Self {
        let mut made = Self::from_raw(raw);
        made.exchange_id.clear();
        made.captured = false;
        made.loose = Some(Arc::new(Loose { before, standing }));
        made
    }

    /// What a run said that was not captured; so many of its messages were said before it.
    pub(crate) fn uncaptured(raw: pb::RunResponse, before: usize, standing: Option<pb::ToolList>) -> Self {
        let run = raw.run.unwrap_or_default();
        let mut said = raw.rendered_messages;
        let messages = said.split_off(before.min(said.len()));
        let assistant = raw.assistant.unwrap_or_default();
        let calls = assistant.parts.iter().filter_map(|part| match &part.kind {
            Some(pb::part::Kind::ToolCall(call)) => Some(call.clone()),
            _ => None,
        });
        let made = pb::Exchange {
            pending_tool_calls: calls.collect(),
            run_id: run.run_id,
            messages,
            assistant: Some(assistant),
            text: raw.text,
            stop_reason: raw.stop_reason,
            stop_reason_raw: raw.stop_reason_raw,
            effective_settings: raw.effective_settings,
            validation: raw.validation,
            usage: run.usage,
            observations: run.observations,
            warnings: raw.warnings,
            labels: run.labels,
            ..pb::Exchange::default()
        };
        Self::loose(made, Some(said), standing)
    }

    pub(crate) fn standing(&self) -> Option<&pb::ToolList> {
        self.loose.as_ref()?.standing.as_ref()
    }

    /// What was said before it, where it is on no record and somebody knows.
    pub(crate) fn before(&self) -> Option<&[pb::Message]> {
        self.loose.as_ref()?.before.as_deref()
    }

    /// All of an exchange that is on no record, as it goes out.
    pub(crate) fn prefix(&self) -> Result<pb::UncapturedPrefix> {
        let Some(before) = self.before() else {
            return Err(self.not_captured("what was said before it is known to nobody any more"));
        };
        Ok(pb::UncapturedPrefix {
            rendered_messages: before.iter().chain(&self.raw.messages).cloned().collect(),
            assistant: self.raw.assistant.clone(),
            run_id: self.run_id.clone(),
            facts: Some(pb::RecordedFacts {
                model: self.model(),
                stop_reason: self.raw.stop_reason,
                usage: Some(self.usage.to_raw()),
                tools: self.standing().cloned(),
                ..pb::RecordedFacts::default()
            }),
        })
    }

    /// The error of a call that needs it on record.
    pub(crate) fn not_captured(&self, why: &str) -> Error {
        not_captured(&self.run_id, why)
    }
}

pub(crate) fn not_captured(run_id: &str, why: &str) -> Error {
    let message =
        format!("run {run_id} was not captured, and {why}: capture it, or reply to it where a branch is not needed");
    Error::new(Code::FailedPrecondition, message).with_reason("NOT_CAPTURED").with_metadata("run_id", run_id)
}

pub(crate) fn validation_of(raw: Option<&pb::Validation>) -> ValidationStatus {
    ValidationStatus::from_raw(raw.map(|validation| validation.status).unwrap_or_default())
}

/// What is wrong, in a line each: where, and what.
fn violations_of(raw: Option<&pb::Validation>) -> Vec<String> {
    let line = |found: &pb::Violation| match found.instance_path.as_str() {
        "" => found.message.clone(),
        place => format!("{place}: {}", found.message),
    };
    raw.map(|validation| validation.violations.iter().map(line).collect()).unwrap_or_default()
}

fn decode<T: DeserializeOwned>(checked: Option<&pb::Validation>, text: &str) -> Result<T, serde_json::Error> {
    let found = checked.map(|validation| validation.value_json.as_str()).filter(|value| !value.is_empty());
    serde_json::from_str(found.unwrap_or(text))
}

/// What a probe brought. Nothing of it is on record; [`Client::record_probe`](crate::Client::record_probe) makes it so.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Probe {
    /// All text of the answer, joined.
    pub text: String,
    /// What the probe added, the answer included; not what was before it.
    pub messages: Vec<Message>,
    /// Why the model stopped.
    pub stop_reason: StopReason,
    /// Whether the answer has its form.
    pub validation: ValidationStatus,
    /// What is wrong with the form of the answer, each with where, as a JSON Pointer.
    pub violations: Vec<String>,
    /// What it consumed.
    pub usage: Usage,
    /// A fresh id, which is on no record.
    pub run_id: String,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
    raw: Arc<pb::ProbeResponse>,
}

impl Probe {
    /// The message behind it.
    pub fn raw(&self) -> &pb::ProbeResponse {
        &self.raw
    }

    /// Reads the answer as JSON, as that of an exchange is.
    ///
    /// # Errors
    /// It is not what the type wants.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        decode(self.raw.validation.as_ref(), &self.text)
    }

    pub(crate) fn from_raw(raw: pb::ProbeResponse) -> Self {
        Self {
            text: raw.text.clone(),
            messages: Message::all(&raw.messages),
            stop_reason: StopReason::from_raw(raw.stop_reason),
            validation: validation_of(raw.validation.as_ref()),
            violations: violations_of(raw.validation.as_ref()),
            usage: Usage::from_raw(raw.usage.as_ref()),
            run_id: raw.run_id.clone(),
            warnings: Warning::all(&raw.warnings),
            raw: Arc::new(raw),
        }
    }
}

/// More of an answer on its way.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Delta {
    /// More of its text.
    Text(String),
    /// More of what the model thinks aloud.
    Reasoning(String),
    /// More of the arguments of a tool call.
    ToolCall(String),
    /// More of how the model declines.
    Refusal(String),
    /// The answer begins anew, since what was told of it before was of a call that failed or whose answer missed its form.
    Attempt,
}

impl Delta {
    /// More of the answer's text; empty for everything else.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }

    /// Reads one; nothing for a kind that this package does not know.
    pub(crate) fn from_raw(raw: Option<pb::Delta>) -> Option<Self> {
        Some(match raw?.delta? {
            pb::delta::Delta::Text(delta) => Self::Text(delta.text),
            pb::delta::Delta::Reasoning(delta) => Self::Reasoning(delta.text),
            pb::delta::Delta::ToolCall(delta) => Self::ToolCall(delta.arguments_json),
            pb::delta::Delta::Refusal(delta) => Self::Refusal(delta.text),
        })
    }
}

/// Whether a call to the model takes the place of one before it.
pub(crate) fn anew(raw: &pb::AttemptStarted) -> bool {
    matches!(AttemptKind::from_raw(raw.kind), AttemptKind::Retry | AttemptKind::Repair)
}
