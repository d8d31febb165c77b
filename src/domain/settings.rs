//! Settings of one execution and where each came from. It must not know how they are configured.

use super::tool::ToolSet;

/// Where a setting came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The request.
    Request,
    /// The prompt.
    Prompt,
    /// The thread's defaults.
    Thread,
    /// The profile.
    Profile,
    /// The server's configuration.
    Default,
    /// The history.
    Inherited,
}

/// One setting as it was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveSetting {
    /// Its name, such as `model` or `parameters.temperature`.
    pub name: String,
    /// Its value as JSON text.
    pub value_json: String,
    /// Where it came from.
    pub source: Source,
}

/// Something the caller should know that did not stop the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// A stable word for programs.
    pub code: String,
    /// For people; no message content.
    pub message: String,
}

/// Parameters of a call. What is absent is left to the profile, then to the provider.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Parameters {
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// At most so many tokens in the answer.
    pub max_output_tokens: Option<u32>,
    /// The answer ends before one of these; empty for none.
    pub stop_sequences: Vec<String>,
    /// Asks for repeatable sampling.
    pub seed: Option<i64>,
    /// How much to think, in the provider's words.
    pub reasoning_effort: Option<String>,
    /// Whether several tools may be called at once.
    pub parallel_tool_calls: Option<bool>,
    /// More fields for the provider's request body: a JSON object in text.
    pub extra_json: Option<String>,
}

/// What form an answer must have.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Contract {
    /// Any text.
    #[default]
    Text,
    /// Any JSON value.
    Json,
    /// JSON that a schema accepts: a name for the provider, and the schema.
    JsonSchema {
        /// A name for the provider.
        name: String,
        /// The schema, verbatim.
        schema_json: String,
    },
}

/// Which contract a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContractChoice {
    /// This one.
    Inline(Contract),
    /// One of the configuration.
    Named(String),
}

/// How freely tools may be called.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// None.
    None,
    /// At least one.
    Required,
    /// This one.
    Named(String),
}

/// What validation found. Says nothing about an answer's worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ValidationStatus {
    /// There was nothing to check.
    #[default]
    NotApplicable,
    /// The answer has the form.
    Valid,
    /// It has not, and is kept all the same (S4-10, S4-13).
    Invalid,
}

/// Whether an answer had its form.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Validation {
    /// What was found.
    pub status: ValidationStatus,
    /// What was wrong.
    pub violations: Vec<Violation>,
}

/// One thing that was wrong with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where in the answer, as a JSON Pointer.
    pub instance_path: String,
    /// Which rule, as a JSON Pointer.
    pub schema_path: String,
    /// What is wrong, without the answer's content.
    pub message: String,
}

/// What a thread's turns use unless the request or its prompt says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ThreadDefaults {
    /// The profile.
    pub profile_id: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The tools that stand.
    pub standing_tools: Option<ToolSet>,
}
