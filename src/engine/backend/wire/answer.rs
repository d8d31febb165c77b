//! What every answer comes to, whatever its dialect, and what the common reading of bodies asks of one that grows. It must not know any
//! dialect's fields.

use super::error::Said;
use super::reader::Object;
use crate::domain::message::{Issuer, Part, ProviderData};
use crate::domain::run::StopReason;
use crate::domain::settings::Warning;
use crate::domain::usage::{Completeness, Usage};
use crate::engine::backend::Delta;

/// A longer usage object is not kept verbatim.
const MAX_VERBATIM: usize = 8 << 10;

/// Why there is no answer in what came.
#[derive(Debug)]
pub enum Wrong {
    /// The provider says what went wrong.
    Said(Said),
    /// The provider says that the answer is not usable, without having failed itself.
    Spoilt(Said),
    /// It is not an answer.
    Malformed(&'static str),
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More must come.
    Open,
    /// It is whole; only words about it, such as its usage, are still to come, and need not.
    Finished,
    /// Nothing more is read.
    Done,
}

/// What an answer is in our words.
#[derive(Debug)]
pub struct Read {
    /// The parts of the message.
    pub parts: Vec<Part>,
    /// Why the model stopped.
    pub stop_reason: StopReason,
    /// The provider's own word for it.
    pub stop_reason_raw: String,
    /// What the call consumed.
    pub usage: Usage,
    /// The model that says it answered.
    pub response_model: String,
    /// The provider's id for the answer.
    pub response_id: String,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
}

/// An answer as it grows, from one body or from many chunks: one reading for both, so that streaming changes nothing about what is kept.
pub trait Answer: Default + Send {
    /// In what servers of the dialect differ.
    type Quirks;

    /// A stream is lines of JSON instead of server-sent events.
    const LINES: bool = false;

    /// The object is an answer, or a piece of one, rather than an error in whatever form.
    fn is_one(object: &Object<'_>) -> bool;

    /// Takes a whole body, or one chunk of a stream.
    ///
    /// # Errors
    /// When it is no answer.
    fn take(&mut self, object: &Object<'_>, quirks: &Self::Quirks, emit: &mut dyn FnMut(Delta)) -> Result<(), Wrong>;

    /// The stream said `[DONE]`, as some servers do in every dialect.
    fn note_done(&mut self) {}

    /// Something had to be replaced in what came.
    fn note_replaced(&mut self, replaced: bool);

    /// How far it has come.
    fn progress(&self, quirks: &Self::Quirks) -> Progress;

    /// Bytes held.
    fn bytes(&self) -> usize;

    /// What the call consumed, as far as it was said.
    fn usage(&self) -> &Usage;

    /// Tells what was held back.
    fn tell_rest(&mut self, emit: &mut dyn FnMut(Delta));

    /// The answer in our words, now that its end has come.
    ///
    /// # Errors
    /// When it is none.
    fn finish(self, quirks: &Self::Quirks, issuer: &Issuer) -> Result<Read, Wrong>;
}

/// Warnings, as they come up.
#[derive(Debug, Default)]
pub(crate) struct Warnings(pub(crate) Vec<Warning>);

impl Warnings {
    pub(crate) fn add(&mut self, code: &str, message: &str) {
        self.0.push(Warning { code: code.to_owned(), message: message.to_owned() });
    }

    /// That the text is not quite what was sent.
    pub(crate) fn replaced(&mut self, replaced: bool) {
        if replaced {
            let message = "bytes or escapes that are no characters were replaced in the provider's answer";
            self.add("replaced_invalid_unicode", message);
        }
    }
}

/// Opaque data of an issuer.
pub(crate) fn data(issuer: &Issuer, data_json: String) -> ProviderData {
    ProviderData { issuer: issuer.clone(), data_json }
}

/// The first word that is said counts.
pub(crate) fn first_word(slot: &mut String, word: Option<String>) {
    if slot.is_empty() {
        *slot = word.unwrap_or_default();
    }
}

/// Says how complete the figures are, and keeps the provider's own words for them.
pub(crate) fn settle(usage: &mut Usage, verbatim: &str) {
    usage.completeness = match (usage.input_tokens, usage.output_tokens, usage.total_tokens) {
        (Some(_), Some(_), _) => Completeness::Complete,
        (None, None, None) => Completeness::Unknown,
        _ => Completeness::Partial,
    };
    if usage.completeness != Completeness::Unknown && verbatim.len() <= MAX_VERBATIM {
        verbatim.clone_into(&mut usage.provider_json);
    }
}
