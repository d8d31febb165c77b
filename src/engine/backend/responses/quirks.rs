//! In what servers of this dialect differ, as configuration, so that a new one needs no code. It must not know what is made of it.

use serde::Deserialize;

use crate::engine::backend::wire::{self, choice};

/// In what a server differs from its relatives: data, so that a new one needs no code.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quirks {
    /// The role of system messages.
    pub system_role: SystemRole,
    /// A first message of the system goes as `instructions`.
    pub instructions: bool,
    /// Answers can be streamed.
    pub stream: bool,
    /// When the reasoning is asked for in the form that can be sent back. Models that do not reason refuse to be asked.
    pub encrypted_reasoning: EncryptedReasoning,
    /// The `summary` of the reasoning that is asked for; absent: not sent.
    pub reasoning_summary: Option<String>,
    /// When reasoning is sent back.
    pub send_reasoning: SendReasoning,
    /// What is sent back beside reasoning has the ids by which the provider ties the two together.
    pub item_ids: bool,
    /// How a JSON contract is passed on.
    pub structured_output: StructuredOutput,
    /// The `strict` flag of a contract's schema; absent: not sent. The strict mode refuses schemas that leave properties optional.
    pub strict_schema: Option<bool>,
    /// The `strict` flag of tools. It is always sent: without it OpenAI makes every property of a tool a required one.
    pub strict_tools: bool,
    /// Several texts of one message go as an array; else they are joined.
    pub text_arrays: bool,
    /// Images are understood.
    pub images: bool,
    /// How files are understood.
    pub files: Files,
    /// Where images and files of a tool's result go.
    pub tool_result_media: ToolResultMedia,
    /// Tools are understood.
    pub tools: bool,
    /// `parallel_tool_calls` may be set.
    pub parallel_tool_calls: bool,
    /// A call id that was used before in the history is replaced by ours.
    pub unique_call_ids: bool,
    /// Longer call ids are replaced by ids derived from them.
    pub max_call_id_length: u8,
    /// How arguments that are no JSON object are sent back.
    pub invalid_arguments: InvalidArguments,
    /// The field for the session id; absent: not sent.
    pub session_field: Option<String>,
    /// What an answer is in which the model says nothing and stops.
    pub empty_answer: EmptyAnswer,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            system_role: SystemRole::default(),
            instructions: false,
            stream: true,
            encrypted_reasoning: EncryptedReasoning::default(),
            reasoning_summary: None,
            send_reasoning: SendReasoning::default(),
            item_ids: true,
            structured_output: StructuredOutput::default(),
            strict_schema: None,
            strict_tools: false,
            text_arrays: true,
            images: true,
            files: Files::default(),
            tool_result_media: ToolResultMedia::default(),
            tools: true,
            parallel_tool_calls: true,
            unique_call_ids: false,
            max_call_id_length: 64,
            invalid_arguments: InvalidArguments::default(),
            session_field: None,
            empty_answer: EmptyAnswer::default(),
        }
    }
}

impl wire::Quirks for Quirks {
    const BASE_URL: &'static str = "https://api.openai.com/v1";
    const PATH: &'static str = "responses";

    fn problems(&self) -> Vec<(&'static str, String)> {
        if (16..=64).contains(&self.max_call_id_length) {
            return Vec::new();
        }
        vec![("quirks.max_call_id_length", "must be 16 to 64".to_owned())]
    }
}

choice! {
    /// The role of system messages.
    SystemRole {
        /// `system`.
        System,
        /// `developer`.
        Developer,
    }
}
choice! {
    /// When encrypted reasoning is asked for.
    EncryptedReasoning {
        /// In every call.
        Always,
        /// In calls that set a reasoning effort, for servers with models that do not reason.
        WithEffort,
        /// Never.
        Never,
    }
}
choice! {
    /// When reasoning is sent back to whom it came from.
    SendReasoning {
        /// Always.
        Always,
        /// With messages that call tools.
        WithCalls,
        /// Never.
        Never,
    }
}
choice! {
    /// How a JSON contract is passed on.
    StructuredOutput {
        /// Schemas as `json_schema`, other JSON as `json_object`.
        JsonSchema,
        /// Both as `json_object`.
        JsonObject,
        /// Not at all.
        None,
    }
}
choice! {
    /// How files are understood.
    Files {
        /// With their bytes, or as links.
        Links,
        /// With their bytes.
        Inline,
        /// Not at all.
        None,
    }
}
choice! {
    /// Where images and files of a tool's result go.
    ToolResultMedia {
        /// Into the result.
        ToolOutput,
        /// Into a user message after the results.
        UserMessage,
    }
}
choice! {
    /// How arguments that are no JSON object are sent back.
    InvalidArguments {
        /// As the model wrote them.
        Verbatim,
        /// In an object, as the text under `invalid_arguments`.
        Wrap,
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
