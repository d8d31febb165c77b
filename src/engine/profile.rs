//! Profiles, and parameters as they are configured and put over one another. It must not know backends' dialects.

use serde::Deserialize;

use super::open_to::OpenTo;
use super::price::Prices;
use crate::domain::settings::Parameters;

/// A backend, a model and parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Its id.
    pub id: String,
    /// Its backend.
    pub backend_id: String,
    /// Its model, as the provider names it.
    pub model: String,
    /// Parameters of its calls.
    pub parameters: Parameters,
    /// What its calls cost.
    pub prices: Option<Prices>,
    /// The profiles that stand in for it, in order.
    pub fallback: Vec<String>,
    /// How often an answer without its form may be asked for again.
    pub repair_attempts: Option<u32>,
    /// The namespaces that may use it, and its backend.
    pub open_to: OpenTo,
}

/// Parameters as they are configured, in profiles and in prompts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ParametersConfig {
    /// Sampling temperature, 0 to 2.
    pub temperature: Option<f64>,
    /// Nucleus sampling, over 0 to 1.
    pub top_p: Option<f64>,
    /// At most so many tokens in the answer.
    pub max_output_tokens: Option<u32>,
    /// The answer ends before one of these.
    pub stop_sequences: Vec<String>,
    /// Asks for repeatable sampling.
    pub seed: Option<i64>,
    /// How much to think, in the provider's words.
    pub reasoning_effort: Option<String>,
    /// Whether several tools may be called at once.
    pub parallel_tool_calls: Option<bool>,
    /// More fields for the provider's request body.
    pub extra: Option<serde_json::Map<String, serde_json::Value>>,
}

/// Most stop sequences, configured or in a request.
pub const MAX_STOP_SEQUENCES: usize = 16;

impl ParametersConfig {
    /// The parameters, or what is wrong: the key, and what it must be.
    pub fn check(&self) -> Result<Parameters, Vec<(&'static str, String)>> {
        let mut problems = Vec::new();
        if self.temperature.is_some_and(|value| !(0.0..=2.0).contains(&value)) {
            problems.push(("temperature", "must be 0 to 2".to_owned()));
        }
        if self.top_p.is_some_and(|value| !(value > 0.0 && value <= 1.0)) {
            problems.push(("top_p", "must be over 0 and at most 1".to_owned()));
        }
        if self.max_output_tokens == Some(0) {
            problems.push(("max_output_tokens", "must be 1 or more".to_owned()));
        }
        let count = self.stop_sequences.len();
        if count > MAX_STOP_SEQUENCES {
            let what = format!("has {count} stop sequences: at most {MAX_STOP_SEQUENCES} are taken; give fewer");
            problems.push(("stop_sequences", what));
        } else if self.stop_sequences.iter().any(String::is_empty) {
            problems.push(("stop_sequences", "must have none that is empty".to_owned()));
        }
        if self.reasoning_effort.as_deref() == Some("") {
            problems.push(("reasoning_effort", "must not be empty".to_owned()));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Parameters {
            temperature: self.temperature,
            top_p: self.top_p,
            max_output_tokens: self.max_output_tokens,
            stop_sequences: self.stop_sequences.clone(),
            seed: self.seed,
            reasoning_effort: self.reasoning_effort.clone(),
            parallel_tool_calls: self.parallel_tool_calls,
            extra_json: self.extra.as_ref().map(|extra| serde_json::Value::Object(extra.clone()).to_string()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_named_all_at_once() {
        let config = ParametersConfig {
            temperature: Some(f64::NAN),
            top_p: Some(0.0),
            max_output_tokens: Some(0),
            stop_sequences: vec![String::new()],
            ..ParametersConfig::default()
        };
        let keys: Vec<_> = config.check().unwrap_err().into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["temperature", "top_p", "max_output_tokens", "stop_sequences"]);
    }

    #[test]
    fn so_many_stop_sequences_and_no_more() {
        let with = |count: usize| {
            let stop_sequences = vec!["s".to_owned(); count];
            ParametersConfig { stop_sequences, ..ParametersConfig::default() }.check()
        };
        assert_eq!(with(16).unwrap().stop_sequences.len(), 16);
        let what = "has 17 stop sequences: at most 16 are taken; give fewer".to_owned();
        assert_eq!(with(17).unwrap_err(), [("stop_sequences", what)]);
    }

    #[test]
    fn extra_fields_become_json() {
        let config: ParametersConfig = toml::from_str("extra = { z = 1, a = 1.5, n = { b = [true] } }").unwrap();
        let parameters = config.check().unwrap();
        assert_eq!(parameters.extra_json.as_deref(), Some(r#"{"a":1.5,"n":{"b":[true]},"z":1}"#));
    }
}
