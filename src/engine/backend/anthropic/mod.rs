//! Anthropic Messages. In what its servers and models differ is configuration ([`Quirks`]), not code. It must not know connections, retries
//! or other dialects.

mod answer;
mod blocks;
mod content;
mod encode;
mod history;
mod names;
mod quirks;
mod usage;

use self::answer::Answer;
pub use self::quirks::{MarkersKept, Quirks, Reasoning, StructuredOutput};
use super::wire::{self, Recipient};
use super::{Call, Failure, Outbound};

/// How a backend of this dialect is configured.
pub type Config = wire::Config<Quirks>;

/// A server that speaks Anthropic Messages.
pub type Anthropic = wire::Remote<Messages>;

/// The dialect.
pub struct Messages;

impl wire::Dialect for Messages {
    const KIND: &'static str = "anthropic";
    const API: &'static str = "anthropic-messages";
    type Quirks = Quirks;
    type Answer = Answer;

    fn capabilities(quirks: &Quirks) -> Vec<(&'static str, bool)> {
        vec![
            ("stream", quirks.stream),
            ("tools", quirks.tools),
            ("json_schema", quirks.structured_output != StructuredOutput::None),
            ("images", quirks.images),
            ("files", quirks.files),
            ("file_links", quirks.files),
            ("reasoning_replay", quirks.send_thinking),
            ("cache_markers", quirks.max_cache_markers > 0),
            ("session_id", quirks.session_as_user),
        ]
    }

    fn encode(config: &Config, to: Recipient<'_>, call: &Call) -> Result<Outbound, Failure> {
        encode::encode(&config.quirks, to, call)
    }
}
