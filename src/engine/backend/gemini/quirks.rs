//! In what servers and models of this dialect differ, as configuration, so that a new one needs no code. It must not know what is made of it.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::engine::backend::wire::{self, choice};

/// In what a server or its models differ: data, so that a new one needs no code.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quirks {
    /// Answers can be streamed.
    pub stream: bool,
    /// How a reasoning effort is passed on.
    pub thinking: Thinking,
    /// The tokens that each effort stands for, where it is passed on as a budget.
    pub thinking_budgets: BTreeMap<String, u32>,
    /// Thoughts are asked for, and kept as reasoning.
    pub include_thoughts: bool,
    /// JSON contracts are passed on.
    pub structured_output: bool,
    /// In which form schemas go out, those of tools as well.
    pub schemas: Schemas,
    /// A contract can be passed on together with tools.
    pub contract_with_tools: bool,
    /// Tools are understood.
    pub tools: bool,
    /// Ids of calls go out, as far as there are any.
    pub call_ids: bool,
    /// What goes out as the signature of the first call of a message that has none, such as one that another model made: models that
    /// demand one have a word that stands in for it. Absent: nothing.
    pub signature_stand_in: Option<String>,
    /// Images and files are understood.
    pub media: bool,
    /// A seed is understood.
    pub seed: bool,
    /// An answer in which the model says nothing and stops is an answer without parts; else a failure.
    pub accept_empty_answer: bool,
}

impl Default for Quirks {
    fn default() -> Self {
        let budgets = [("low", 1_024), ("medium", 8_192), ("high", 24_576)];
        Self {
            stream: true,
            thinking: Thinking::default(),
            thinking_budgets: budgets.into_iter().map(|(word, tokens)| (word.to_owned(), tokens)).collect(),
            include_thoughts: false,
            structured_output: true,
            contract_with_tools: false,
            schemas: Schemas::default(),
            tools: true,
            call_ids: true,
            signature_stand_in: None,
            media: true,
            seed: true,
            accept_empty_answer: false,
        }
    }
}

impl wire::Quirks for Quirks {
    const BASE_URL: &'static str = "https://generativelanguage.googleapis.com/v1beta";
    const PATH: &'static str = "models/{model}:generateContent";
    const STREAM_PATH: Option<&'static str> = Some("models/{model}:streamGenerateContent?alt=sse");
    const CREDENTIAL_HEADER: &'static str = "x-goog-api-key";
    const CREDENTIAL_PREFIX: &'static str = "";
}

choice! {
    /// How a reasoning effort is passed on.
    Thinking {
        /// As `thinkingLevel`.
        Level,
        /// As the `thinkingBudget` that `thinking_budgets` has for it.
        Budget,
        /// Not at all: a call with one is refused.
        None,
    }
}
choice! {
    /// In which form schemas go out.
    Schemas {
        /// As they are, in the fields for JSON Schema.
        Json,
        /// In the API's own form, a part of OpenAPI's: references are written out, words that it does not have are left out, and what
        /// cannot be said is refused.
        Openapi,
    }
}
