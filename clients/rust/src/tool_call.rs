//! Calls of tools, and answers that come later. Knows nothing of functions.

use std::fmt;

use crate::pb;

/// A model asks for a tool.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// Names the call; results refer to it.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as the model wrote them, which need not be JSON.
    pub arguments: String,
    provider_call_id: String,
}

impl ToolCall {
    /// A call in what the caller says that a model said.
    pub fn new(call_id: impl Into<String>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { call_id: call_id.into(), name: name.into(), arguments: arguments.into(), ..Self::default() }
    }

    /// Reads the arguments.
    ///
    /// # Errors
    /// They are not what the type wants.
    pub fn parse<'a, T: serde::Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.arguments)
    }

    pub(crate) fn from_raw(raw: &pb::ToolCall) -> Self {
        Self {
            call_id: raw.call_id.clone(),
            name: raw.name.clone(),
            arguments: raw.arguments_json.clone(),
            provider_call_id: raw.provider_call_id.clone(),
        }
    }

    pub(crate) fn all(raw: &[pb::ToolCall]) -> Vec<Self> {
        raw.iter().map(Self::from_raw).collect()
    }

    pub(crate) fn to_raw(&self) -> pb::ToolCall {
        let arguments = if self.arguments.is_empty() { "{}" } else { &self.arguments };
        pb::ToolCall {
            call_id: self.call_id.clone(),
            name: self.name.clone(),
            arguments_json: arguments.to_owned(),
            provider_call_id: self.provider_call_id.clone(),
            ..pb::ToolCall::default()
        }
    }
}

/// The error of a tool, or of a hook before it, whose answer comes later, from a person for instance: the coordination is left for that, and the
/// loop gives one that says where to go on, once the other calls have their results; [`Error::pause`](crate::Error::pause) finds it. Give the answer
/// with [`Client::answer`](crate::Client::answer), or by the tool itself after [`Client::resume`](crate::Client::resume) or
/// [`Client::attach`](crate::Client::attach).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Pause {
    /// The coordination that was left; to attach to, or to answer.
    pub coordination_id: String,
    /// They have no result yet.
    pub calls: Vec<ToolCall>,
}

impl Pause {
    /// One to return.
    pub fn new() -> Self {
        Self::default()
    }
}

impl fmt::Display for Pause {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.coordination_id.is_empty() {
            return to.write_str("the answer comes later");
        }
        write!(to, "coordination {} waits for the results of {} calls", self.coordination_id, self.calls.len())
    }
}

impl std::error::Error for Pause {}
