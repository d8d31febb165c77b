//! Rules of a script: when one answers, and with what. It must not know how an answer goes out.

use serde::Deserialize;
use serde_json::Value;

use super::wire::{Body, Speaker};

/// One rule. Conditions that are absent always hold; texts may have placeholders, see `answer`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// The last user text has this in it.
    pub when: Option<String>,
    /// The call is for this model.
    pub model: Option<String>,
    /// What the history ends with; for rules that call tools a user message, for others anything.
    pub on: Option<On>,
    /// The number of the turn, from 1.
    pub turn: Option<usize>,
    /// How often the rule answers; afterwards it is passed over.
    pub times: Option<u32>,

    /// Text of the answer.
    pub text: Option<String>,
    /// A value that is written as JSON for the text of the answer.
    pub json: Option<Value>,
    /// Calls of tools.
    pub tool_calls: Vec<CallConfig>,
    /// Reasoning before the answer.
    pub reasoning: Option<String>,
    /// Text of a refusal.
    pub refusal: Option<String>,
    /// Why the answer ended.
    pub stop_reason: Option<StopWord>,
    /// The provider's word for it.
    pub stop_reason_raw: Option<String>,
    /// The model that says it answered.
    pub response_model: Option<String>,
    /// What the call consumed; counted from the characters when absent.
    pub usage: Option<UsageConfig>,
    /// Says nothing about what the call consumed.
    pub no_usage: bool,

    /// Time before the first byte, in milliseconds.
    pub delay_ms: Option<u64>,
    /// Characters in a piece of a streamed answer.
    pub chunk_chars: Option<usize>,
    /// Time between two pieces, in milliseconds.
    pub chunk_gap_ms: Option<u64>,
    /// What goes wrong.
    pub fault: Option<FaultConfig>,
}

/// What the history ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// A user message.
    User,
    /// Results of tool calls.
    Tool,
    /// Anything.
    Any,
}

/// A call of a tool.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CallConfig {
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub arguments: Option<Value>,
    /// The arguments as text, well-formed or not.
    pub arguments_json: Option<String>,
    /// The provider's id; `call-0`, `call-1`, ... in every answer when absent, as some servers do it.
    pub id: Option<String>,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopWord {
    /// It was finished.
    Stop,
    /// The limit of tokens.
    MaxTokens,
    /// Tools were called.
    ToolCalls,
    /// A stop sequence.
    StopSequence,
    /// The model declined.
    Refusal,
    /// A filter.
    ContentFilter,
    /// Something else.
    Other,
}

/// What a call consumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UsageConfig {
    /// All tokens read.
    pub input_tokens: Option<u64>,
    /// All tokens written.
    pub output_tokens: Option<u64>,
    /// Of the input, read from the cache.
    pub cached_input_tokens: Option<u64>,
    /// Of the input, written to the cache.
    pub cache_written_tokens: Option<u64>,
    /// Of the output, reasoning.
    pub reasoning_tokens: Option<u64>,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum FaultConfig {
    /// An HTTP status other than 200.
    Status {
        /// The status.
        status: u16,
        /// The delay that is asked for, in milliseconds.
        #[serde(default)]
        retry_after_ms: Option<u64>,
        /// The provider's message.
        #[serde(default)]
        message: String,
        /// The provider's code; `context_length_exceeded` says that the history does not fit.
        #[serde(default)]
        code: String,
    },
    /// An answer that cannot be understood.
    Malformed {},
    /// The stream breaks after so many characters.
    Cut {
        /// How many.
        #[serde(default)]
        after_chars: usize,
    },
    /// The stream falls silent for ever after so many characters.
    Stall {
        /// How many.
        #[serde(default)]
        after_chars: usize,
    },
    /// No connection.
    RefuseConnect {},
    /// A limit of time passes.
    Timeout {
        /// Which.
        which: TimeoutWord,
    },
}

/// Which limit of time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutWord {
    /// Until the connection stood.
    Connect,
    /// Until the first byte.
    FirstByte,
    /// Between two pieces.
    Idle,
}

impl FaultConfig {
    /// Where in the answer it strikes; absent for those that come before it.
    pub(super) fn after_chars(&self) -> Option<usize> {
        match self {
            Self::Cut { after_chars } | Self::Stall { after_chars } => Some(*after_chars),
            Self::Status { .. } | Self::Malformed {} | Self::RefuseConnect {} | Self::Timeout { .. } => None,
        }
    }
}

impl Rule {
    /// Whether it is one for this call.
    pub(super) fn matches(&self, body: &Body) -> bool {
        let ends_with = match body.messages.last().map(|line| line.role) {
            Some(Speaker::User) => On::User,
            Some(Speaker::Tool) => On::Tool,
            Some(Speaker::System | Speaker::Assistant) | None => On::Any,
        };
        let on = self.on.unwrap_or(if self.tool_calls.is_empty() { On::Any } else { On::User });
        (on == On::Any || on == ends_with)
            && self.when.as_ref().is_none_or(|part| body.last_text(Speaker::User).contains(part.as_str()))
            && self.model.as_ref().is_none_or(|model| *model == body.model)
            && self.turn.is_none_or(|turn| turn == body.turn())
    }

    /// What is wrong: the key after the rule, and what it must be.
    pub(super) fn problems(&self) -> Vec<(String, &'static str)> {
        let mut problems = Vec::new();
        if self.text.is_some() && self.json.is_some() {
            problems.push((String::new(), "has both `text` and `json`; only one can be the answer"));
        }
        if self.usage.is_some() && self.no_usage {
            problems.push((String::new(), "has both `usage` and `no_usage`"));
        }
        if self.times == Some(0) {
            problems.push((".times".to_owned(), "must be 1 or more"));
        }
        if self.chunk_chars == Some(0) {
            problems.push((".chunk_chars".to_owned(), "must be 1 or more"));
        }
        for (index, call) in self.tool_calls.iter().enumerate() {
            if call.name.is_empty() {
                problems.push((format!(".tool_calls[{index}]"), "needs a `name`"));
            }
            if call.arguments.is_some() && call.arguments_json.is_some() {
                problems.push((format!(".tool_calls[{index}]"), "has both `arguments` and `arguments_json`"));
            }
        }
        problems
    }
}
