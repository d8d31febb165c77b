//! In what servers of this dialect differ, as configuration, so that a new one needs no code. It must not know what is made of it.

use serde::Deserialize;

use crate::engine::backend::wire::{self, choice};

/// In what a server differs from its relatives: data, so that a new one needs no code.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quirks {
    /// The role of system messages.
    pub system_role: SystemRole,
    /// Where system messages may stand.
    pub system_position: SystemPosition,
    /// The field that limits the answer. The old name is the default because servers that do not know the new one ignore it silently,
    /// while those that dropped the old one say so.
    pub max_tokens_field: MaxTokensField,
    /// Answers can be streamed.
    pub stream: bool,
    /// `stream_options` may ask for the usage.
    pub stream_options: bool,
    /// Whether a stream without `[DONE]` is whole once it has said why the model stopped.
    pub done_marker: DoneMarker,
    /// How a JSON contract is passed on.
    pub structured_output: StructuredOutput,
    /// The `strict` flag of a schema; absent: not sent. OpenAI's strict mode refuses schemas that leave properties optional.
    pub strict_schema: Option<bool>,
    /// Several texts of one message go as an array; else they are joined.
    pub text_arrays: bool,
    /// The content of an assistant message that only calls tools.
    pub call_content: CallContent,
    /// When reasoning is sent back.
    pub send_reasoning: SendReasoning,
    /// Under which name.
    pub reasoning_field: ReasoningField,
    /// An assistant message may have a `refusal`; else a refusal goes as its text.
    pub refusal_field: bool,
    /// Images are understood.
    pub images: bool,
    /// How files are understood.
    pub files: Files,
    /// Where images and files of a tool's result go.
    pub tool_result_media: ToolResultMedia,
    /// Tools are understood.
    pub tools: bool,
    /// The word that makes the model call at least one tool.
    pub required_word: String,
    /// `parallel_tool_calls` may be set.
    pub parallel_tool_calls: bool,
    /// A call id that was used before in the history is replaced by ours.
    pub unique_call_ids: bool,
    /// Call ids must have exactly so many letters and digits: others are replaced by ids derived from them.
    pub call_id_length: Option<u8>,
    /// How arguments that are no JSON object are sent back.
    pub invalid_arguments: InvalidArguments,
    /// Cache markers go out as `cache_control`.
    pub cache_markers: bool,
    /// The field for the session id; absent: not sent.
    pub session_field: Option<String>,
    /// Fields of a tool call besides those of the dialect that are kept and sent back to the same provider and model.
    pub call_extra_fields: Vec<String>,
    /// What an answer is in which the model says nothing and stops.
    pub empty_answer: EmptyAnswer,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            system_role: SystemRole::default(),
            system_position: SystemPosition::default(),
            max_tokens_field: MaxTokensField::default(),
            stream: true,
            stream_options: true,
            done_marker: DoneMarker::default(),
            structured_output: StructuredOutput::default(),
            strict_schema: None,
            text_arrays: true,
            call_content: CallContent::default(),
            send_reasoning: SendReasoning::default(),
            reasoning_field: ReasoningField::default(),
            refusal_field: false,
            images: true,
            files: Files::default(),
            tool_result_media: ToolResultMedia::default(),
            tools: true,
            required_word: "required".to_owned(),
            parallel_tool_calls: true,
            unique_call_ids: false,
            call_id_length: None,
            invalid_arguments: InvalidArguments::default(),
            cache_markers: false,
            session_field: None,
            call_extra_fields: vec!["extra_content".to_owned()],
            empty_answer: EmptyAnswer::default(),
        }
    }
}

impl wire::Quirks for Quirks {
    const BASE_URL: &'static str = "https://api.openai.com/v1";
    const PATH: &'static str = "chat/completions";

    fn problems(&self) -> Vec<(&'static str, String)> {
        let fits = self.call_id_length.is_none_or(|length| (8..=40).contains(&length));
        if fits { Vec::new() } else { vec![("quirks.call_id_length", "must be 8 to 40".to_owned())] }
    }
}

choice! {
    /// The role of system messages.
    SystemRole {
        /// `system`.
        System,
        /// `developer`.
        Developer,
        /// `user`, for models without one.
        User,
    }
}
choice! {
    /// Where system messages may stand.
    SystemPosition {
        /// Anywhere.
        Anywhere,
        /// Only as the first message; later ones go as the user's.
        First,
    }
}
choice! {
    /// The field that limits the answer.
    MaxTokensField {
        /// `max_tokens`.
        MaxTokens,
        /// `max_completion_tokens`.
        MaxCompletionTokens,
    }
}
choice! {
    /// Whether `[DONE]` must end a stream.
    DoneMarker {
        /// It need not.
        Optional,
        /// It must.
        Required,
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
    /// The content of an assistant message that only calls tools.
    CallContent {
        /// `null`.
        Null,
        /// The empty text.
        Empty,
        /// No such field.
        Omit,
    }
}
choice! {
    /// When reasoning is sent back.
    SendReasoning {
        /// Never.
        Never,
        /// With messages that call tools.
        WithCalls,
        /// Always.
        Always,
    }
}
choice! {
    /// The field of an assistant message for reasoning.
    ReasoningField {
        /// `reasoning_content`.
        ReasoningContent,
        /// `reasoning`.
        Reasoning,
        /// `reasoning_details`, as the same provider and model gave them.
        ReasoningDetails,
    }
}
choice! {
    /// How files are understood.
    Files {
        /// With their bytes.
        Inline,
        /// With their bytes, or as links.
        Links,
        /// Not at all.
        None,
    }
}
choice! {
    /// Where images and files of a tool's result go.
    ToolResultMedia {
        /// Into a user message after the results.
        UserMessage,
        /// Into the result.
        ToolMessage,
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
