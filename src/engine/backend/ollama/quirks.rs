//! In what servers and models of this dialect differ, as configuration, so that a new one needs no code. It must not know what is made of it.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::engine::backend::wire::{self, choice};

/// In what a server or its models differ: data, so that a new one needs no code.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quirks {
    /// Options of every call, such as `num_ctx`; a call's own go before them.
    pub options: Map<String, Value>,
    /// Answers can be streamed.
    pub stream: bool,
    /// How a JSON contract is passed on.
    pub structured_output: StructuredOutput,
    /// When reasoning is sent back.
    pub send_reasoning: SendReasoning,
    /// Images are understood.
    pub images: bool,
    /// Tools are understood.
    pub tools: bool,
    /// Calls and results go out with their ids, for servers that know them.
    pub call_ids: bool,
    /// What an answer is in which the model says nothing and stops.
    pub empty_answer: EmptyAnswer,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            options: Map::new(),
            stream: true,
            structured_output: StructuredOutput::default(),
            send_reasoning: SendReasoning::default(),
            images: true,
            tools: true,
            call_ids: false,
            empty_answer: EmptyAnswer::default(),
        }
    }
}

impl wire::Quirks for Quirks {
    const BASE_URL: &'static str = "http://127.0.0.1:11434";
    const PATH: &'static str = "api/chat";
}

choice! {
    /// How a JSON contract is passed on.
    StructuredOutput {
        /// Schemas as such, other JSON as `json`.
        JsonSchema,
        /// Both as `json`.
        Json,
        /// Not at all.
        None,
    }
}
choice! {
    /// When reasoning is sent back.
    SendReasoning {
        /// With messages that call tools, whose templates show it to the model.
        WithCalls,
        /// Always.
        Always,
        /// Never.
        Never,
    }
}
choice! {
    /// What an answer is in which the model says nothing and stops.
    EmptyAnswer {
        /// A failure.
        Refuse,
        /// An answer without parts.
        Accept,
    }
}
