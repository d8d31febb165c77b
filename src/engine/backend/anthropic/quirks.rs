//! In what servers and models of this dialect differ, as configuration, so that a new one needs no code. It must not know what is made of it.

use std::collections::BTreeMap;

use reqwest::header::HeaderValue;
use serde::Deserialize;

use crate::engine::backend::wire::{self, choice};

/// In what a server or its models differ: data, so that a new one needs no code.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quirks {
    /// The header `anthropic-version`.
    pub version: String,
    /// The header `anthropic-beta`; empty: not sent.
    pub beta: Vec<String>,
    /// The limit of tokens of calls that name none, since the API demands one.
    pub max_tokens: u32,
    /// Answers can be streamed.
    pub stream: bool,
    /// How a reasoning effort is passed on.
    pub reasoning: Reasoning,
    /// The tokens that each effort stands for, where it is passed on as a budget.
    pub thinking_budgets: BTreeMap<String, u32>,
    /// Thinking goes back to the provider and model that it came from.
    pub send_thinking: bool,
    /// How a JSON schema is passed on. The API takes only schemas of its own strict form; our own check takes all of them.
    pub structured_output: StructuredOutput,
    /// Tools are understood.
    pub tools: bool,
    /// Images are understood.
    pub images: bool,
    /// Documents are understood.
    pub files: bool,
    /// So many cache markers go out.
    pub max_cache_markers: usize,
    /// Which ones, where a history has more.
    pub cache_markers_kept: MarkersKept,
    /// The session id goes out as `metadata.user_id`.
    pub session_as_user: bool,
    /// An answer in which the model says nothing and stops is an answer without parts; else a failure.
    pub accept_empty_answer: bool,
}

impl Default for Quirks {
    fn default() -> Self {
        let budgets = [("low", 1_024), ("medium", 4_096), ("high", 16_384)];
        Self {
            version: "2023-06-01".to_owned(),
            beta: Vec::new(),
            max_tokens: 8_192,
            stream: true,
            reasoning: Reasoning::default(),
            thinking_budgets: budgets.into_iter().map(|(word, tokens)| (word.to_owned(), tokens)).collect(),
            send_thinking: true,
            structured_output: StructuredOutput::default(),
            tools: true,
            images: true,
            files: true,
            max_cache_markers: 4,
            cache_markers_kept: MarkersKept::default(),
            session_as_user: false,
            accept_empty_answer: false,
        }
    }
}

impl wire::Quirks for Quirks {
    const BASE_URL: &'static str = "https://api.anthropic.com/v1";
    const PATH: &'static str = "messages";
    const CREDENTIAL_HEADER: &'static str = "x-api-key";
    const CREDENTIAL_PREFIX: &'static str = "";

    fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        if HeaderValue::try_from(&self.version).is_err() {
            problems.push(("quirks.version", "must be text for a header".to_owned()));
        }
        if self.beta.iter().any(|word| HeaderValue::try_from(word).is_err()) {
            problems.push(("quirks.beta", "must be texts for a header".to_owned()));
        }
        if self.max_tokens == 0 {
            problems.push(("quirks.max_tokens", "must be 1 or more".to_owned()));
        }
        problems
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = vec![("anthropic-version", self.version.clone())];
        if !self.beta.is_empty() {
            headers.push(("anthropic-beta", self.beta.join(",")));
        }
        headers
    }
}

choice! {
    /// How a reasoning effort is passed on.
    Reasoning {
        /// As `output_config.effort`.
        Effort,
        /// As that, with `thinking` of the type `adaptive`.
        Adaptive,
        /// As `thinking` with the budget of tokens that `thinking_budgets` has for it.
        Budget,
        /// Not at all: a call with one is refused.
        None,
    }
}
choice! {
    /// How a JSON schema is passed on.
    StructuredOutput {
        /// Not at all; the answer is checked here.
        None,
        /// As `output_config.format`.
        OutputConfig,
        /// As `output_format`, with the beta that it needs in `beta`.
        OutputFormat,
    }
}
choice! {
    /// Which cache markers go out, where there are more than may.
    MarkersKept {
        /// The first ones, so that a longer history begins with the bytes of the shorter one.
        First,
        /// The last ones, which cache most; markers then move within messages that were sent before.
        Last,
    }
}
