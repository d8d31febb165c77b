//! Messages of a history. Knows nothing of where they are kept.

use std::sync::Arc;

use crate::pb;
use crate::tool::ToolResult;
use crate::tool_call::ToolCall;
use crate::word::Role;

/// One message. [`Message::raw`] has all of its parts; images, files and what a provider attached are only there.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// Its text parts, joined.
    pub text: String,
    /// The calls in it.
    pub tool_calls: Vec<ToolCall>,
    /// The results in it.
    pub tool_results: Vec<ToolResult>,
    raw: Option<Arc<pb::Message>>,
}

impl Message {
    /// A message of one text.
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self { role, text: text.into(), ..Self::default() }
    }

    /// A system message.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::System, text)
    }

    /// A user message.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, text)
    }

    /// An assistant message.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, text)
    }

    /// A message with results of tool calls.
    pub fn results(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self { tool_results: results.into_iter().collect(), ..Self::new(Role::Tool, "") }
    }

    /// The same with calls of tools.
    #[must_use]
    pub fn with_tool_calls(mut self, calls: impl IntoIterator<Item = ToolCall>) -> Self {
        self.tool_calls.extend(calls);
        self.raw = None;
        self
    }

    /// Wraps a message with parts that the fields cannot say. It goes out as it is.
    pub fn from_raw(raw: pb::Message) -> Self {
        let mut made = Self { role: Role::from_raw(raw.role), ..Self::default() };
        for part in &raw.parts {
            match &part.kind {
                Some(pb::part::Kind::Text(said)) => made.text.push_str(&said.text),
                Some(pb::part::Kind::ToolCall(call)) => made.tool_calls.push(ToolCall::from_raw(call)),
                Some(pb::part::Kind::ToolResult(result)) => made.tool_results.push(ToolResult::from_raw(result)),
                _ => {}
            }
        }
        made.raw = Some(Arc::new(raw));
        made
    }

    /// The message as it was read; nothing for one that was made here.
    pub fn raw(&self) -> Option<&pb::Message> {
        self.raw.as_deref()
    }

    pub(crate) fn to_raw(&self) -> pb::Message {
        if let Some(raw) = self.raw() {
            return raw.clone();
        }
        let mut parts = Vec::new();
        let alone = self.tool_calls.is_empty() && self.tool_results.is_empty() && self.role != Role::Assistant;
        if !self.text.is_empty() || alone {
            parts.push(text_part(&self.text));
        }
        parts.extend(self.tool_calls.iter().map(|call| part(pb::part::Kind::ToolCall(call.to_raw()))));
        parts.extend(self.tool_results.iter().map(|result| part(pb::part::Kind::ToolResult(result.to_raw()))));
        pb::Message { role: self.role.to_raw(), parts }
    }

    pub(crate) fn all(raw: &[pb::Message]) -> Vec<Self> {
        raw.iter().cloned().map(Self::from_raw).collect()
    }

    pub(crate) fn all_to_raw(messages: &[Self]) -> Vec<pb::Message> {
        messages.iter().map(Self::to_raw).collect()
    }
}

pub(crate) fn text_part(text: &str) -> pb::Part {
    part(pb::part::Kind::Text(pb::TextPart { text: text.to_owned() }))
}

pub(crate) fn part(kind: pb::part::Kind) -> pb::Part {
    pb::Part { kind: Some(kind), ..pb::Part::default() }
}
