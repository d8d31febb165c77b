//! Ollama's own `/api/chat`, and what speaks it: lines of JSON, calls whose arguments are objects, images as bytes alone. In what servers and
//! models differ is configuration ([`Quirks`]), not code. It must not know connections, retries or other dialects.

mod answer;
mod encode;
mod history;
mod options;
mod quirks;

pub use self::answer::Answer;
pub use self::quirks::{EmptyAnswer, Quirks, SendReasoning, StructuredOutput};
use super::wire::{self, Recipient};
use super::{Call, Failure, Outbound};

/// How a server of this dialect is configured.
pub type Config = wire::Config<Quirks>;

/// A server that speaks it.
pub type Ollama = wire::Remote<Native>;

/// The dialect.
pub struct Native;

impl wire::Dialect for Native {
    const KIND: &'static str = "ollama";
    const API: &'static str = "ollama-chat";
    type Quirks = Quirks;
    type Answer = Answer;

    fn capabilities(quirks: &Quirks) -> Vec<(&'static str, bool)> {
        vec![
            ("stream", quirks.stream),
            ("tools", quirks.tools),
            ("json", quirks.structured_output != StructuredOutput::None),
            ("json_schema", quirks.structured_output == StructuredOutput::JsonSchema),
            ("images", quirks.images),
            ("reasoning_replay", quirks.send_reasoning != SendReasoning::Never),
        ]
    }

    fn encode(config: &Config, to: Recipient<'_>, call: &Call) -> Result<Outbound, Failure> {
        encode::encode(config, to, call)
    }
}
