//! What every dialect over HTTP needs and none owns: connections, limits, bodies that come whole or in pieces, JSON that is read and written
//! byte by byte, errors, delays, opaque data, and a backend made of all that for any [`Dialect`]. It must not know a dialect.

mod answer;
mod body;
mod calls;
mod config;
mod error;
mod grown;
mod http;
mod lines;
pub(crate) mod offer;
mod opaque;
mod order;
pub(crate) mod reader;
mod receive;
mod remote;
mod retry_after;
#[cfg(test)]
pub(crate) mod sample;
mod sse;
pub(crate) mod tools;
pub(crate) mod usage;
mod writer;

use super::{Call, Failure, FailureKind, Outbound};

pub use self::answer::{Answer, Progress, Read, Wrong};
pub(crate) use self::answer::{Warnings, data, first_word, settle};
pub(crate) use self::body::{Body, extra_fields, number};
pub(crate) use self::calls::{Calls, Done, tool_call};
pub(crate) use self::config::choice;
pub use self::config::{Config, Quirks, Timeouts};
pub use self::error::Said;
pub(crate) use self::grown::Grown;
pub(crate) use self::opaque::put_back;
pub use self::opaque::{ForeignData, Recipient};
pub(crate) use self::order::in_order_of_calls;
pub use self::reader::{Object, Value};
pub use self::remote::{Clock, Error, Remote, Unopened};
pub(crate) use self::writer::{Writer, quoted};

/// A dialect: what is particular to one API. [`Remote`] makes a backend of it.
pub trait Dialect: Send + Sync + 'static {
    /// The kind in the configuration.
    const KIND: &'static str;
    /// The dialect, as the issuer of opaque data.
    const API: &'static str;
    /// In what its servers differ.
    type Quirks: Quirks;
    /// An answer of it.
    type Answer: Answer<Quirks = Self::Quirks>;

    /// What a server can do, each a stable word.
    fn capabilities(quirks: &Self::Quirks) -> Vec<(&'static str, bool)>;

    /// The call in this dialect. Pure: the same call gives the same bytes, and a longer history starts with the bytes of the shorter.
    ///
    /// # Errors
    /// When the dialect cannot say it.
    fn encode(config: &Config<Self::Quirks>, to: Recipient<'_>, call: &Call) -> Result<Outbound, Failure>;
}

/// What was changed on the way, each change once.
#[derive(Debug, Default)]
pub(crate) struct Adaptations(Vec<String>);

impl Adaptations {
    #[cfg(test)]
    pub(crate) fn words(self) -> Vec<String> {
        self.0
    }

    pub(crate) fn add(&mut self, word: &str) {
        if !self.0.iter().any(|known| known == word) {
            self.0.push(word.to_owned());
        }
    }
}

/// The dialect or this server cannot say it.
pub(crate) fn unsupported(feature: impl Into<String>, message: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Unsupported(feature.into()), message)
}
