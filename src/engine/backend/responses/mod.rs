//! OpenAI Responses, and every server that speaks it: vLLM, llama.cpp, Ollama, LM Studio, OpenRouter and others. In what they differ is
//! configuration ([`Quirks`]), not code. Nothing is left with the provider: each call brings its whole history. It must not know retries,
//! other dialects or where keys come from.

mod answer;
mod content;
mod encode;
mod history;
mod items;
mod quirks;
mod said;
mod slots;

pub use self::answer::Answer;
pub use self::quirks::{
    EmptyAnswer, EncryptedReasoning, Files, InvalidArguments, Quirks, SendReasoning, StructuredOutput, SystemRole,
    ToolResultMedia,
};
use super::wire::{self, Dialect, Recipient, Remote};
use super::{Call, Failure, Outbound};

/// The dialect.
pub struct Responses;

/// How a server of this dialect is configured.
pub type Config = wire::Config<Quirks>;

/// A server that speaks it.
pub type OpenAiResponses = Remote<Responses>;

impl Dialect for Responses {
    const KIND: &'static str = "openai-responses";
    const API: &'static str = "openai-responses";
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
            ("session_id", quirks.session_field.is_some()),
        ]
    }

    fn encode(config: &Config, to: Recipient<'_>, call: &Call) -> Result<Outbound, Failure> {
        encode::encode(config, to, call)
    }
}
