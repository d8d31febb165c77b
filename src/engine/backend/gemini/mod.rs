//! Google Gemini (`generateContent`), at the Gemini API or at Vertex AI. In what they and their models differ is configuration ([`Quirks`]), not
//! code. It must not know connections, retries or other dialects.

mod answer;
mod encode;
mod history;
mod quirks;
mod schema;
mod usage;

use self::answer::Answer;
pub use self::quirks::{Quirks, Schemas, Thinking};
use super::wire::{self, Recipient};
use super::{Call, Failure, Outbound};

/// How a backend of this dialect is configured.
pub type Config = wire::Config<Quirks>;

/// A server that speaks this dialect.
pub type Gemini = wire::Remote<Generate>;

/// The dialect.
pub struct Generate;

impl wire::Dialect for Generate {
    const KIND: &'static str = "gemini";
    const API: &'static str = "gemini";
    type Quirks = Quirks;
    type Answer = Answer;

    fn capabilities(quirks: &Quirks) -> Vec<(&'static str, bool)> {
        vec![
            ("stream", quirks.stream),
            ("tools", quirks.tools),
            ("json", quirks.structured_output),
            ("json_schema", quirks.structured_output),
            ("images", quirks.media),
            ("files", quirks.media),
            ("file_links", quirks.media),
            ("reasoning_replay", true),
        ]
    }

    fn encode(config: &Config, to: Recipient<'_>, call: &Call) -> Result<Outbound, Failure> {
        encode::encode(&config.quirks, to, call)
    }
}
