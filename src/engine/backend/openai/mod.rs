//! OpenAI Chat Completions, and every server that speaks it: vLLM, llama.cpp, Ollama, LM Studio, OpenRouter, Groq, Mistral, DeepSeek and
//! others. In what they differ is configuration ([`Quirks`]), not code. It must not know connections, retries or other dialects.

mod answer;
mod content;
mod details;
mod encode;
mod history;
mod quirks;

use self::answer::Answer;
pub use self::quirks::{
    CallContent, DoneMarker, EmptyAnswer, Files, InvalidArguments, MaxTokensField, Quirks, ReasoningField,
    SendReasoning, StructuredOutput, SystemPosition, SystemRole, ToolResultMedia,
};
use super::wire::{self, Recipient};
use super::{Call, Failure, Outbound};

/// How a backend of this dialect is configured.
pub type Config = wire::Config<Quirks>;

/// A server that speaks Chat Completions.
pub type OpenAi = wire::Remote<Chat>;

/// The dialect.
pub struct Chat;

impl wire::Dialect for Chat {
    const KIND: &'static str = "openai";
    const API: &'static str = "openai-chat";
    type Quirks = Quirks;
    type Answer = Answer;

    fn capabilities(quirks: &Quirks) -> Vec<(&'static str, bool)> {
        vec![
            ("stream", quirks.stream),
            ("tools", quirks.tools),
            ("json", quirks.structured_output != StructuredOutput::None),
            ("json_schema", quirks.structured_output == StructuredOutput::JsonSchema),
            ("images", quirks.images),
            ("files", quirks.files != Files::None),
            ("file_links", quirks.files == Files::Links),
            ("reasoning_replay", quirks.send_reasoning != SendReasoning::Never),
            ("cache_markers", quirks.cache_markers),
            ("session_id", quirks.session_field.is_some()),
        ]
    }

    fn encode(config: &Config, to: Recipient<'_>, call: &Call) -> Result<Outbound, Failure> {
        encode::encode(config, to, call)
    }
}
