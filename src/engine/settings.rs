//! Effective settings: each setting of an execution written down with its source, and read back for a later step of the same run. It must
//! not know how they were resolved.

use serde_json::{Value, json};

use crate::domain::settings::{Contract, EffectiveSetting, Parameters, Source, ToolChoice};
use crate::domain::tool::ToolSet;
use crate::domain::view::View;

/// The names of settings, the fields of a request that they come from.
pub mod name {
    /// The prompt that was rendered.
    pub const PROMPT: &str = "prompt";
    /// The profile.
    pub const PROFILE: &str = "profile_id";
    /// The backend.
    pub const BACKEND: &str = "backend_id";
    /// The model.
    pub const MODEL: &str = "model";
    /// The contract.
    pub const CONTRACT: &str = "contract";
    /// How freely tools may be called.
    pub const TOOL_CHOICE: &str = "tool_choice";
    /// The tools offered.
    pub const TOOLS: &str = "tools";
    /// The tools that stand.
    pub const STANDING_TOOLS: &str = "standing_tools";
    /// What groups calls at the provider.
    pub const SESSION: &str = "session_id";
    /// How often an answer may be asked for again to correct its form.
    pub const REPAIR: &str = "repair.attempts";
    /// Which part of the history is sent.
    pub const VIEW: &str = "history_view";
    /// Before the name of each parameter.
    pub const PARAMETERS: &str = "parameters.";
}

/// A list of settings being written.
#[derive(Default)]
pub(crate) struct Written(Vec<EffectiveSetting>);

impl Written {
    pub(crate) fn text(&mut self, name: &str, value: &str, source: Source) {
        self.json(name, &Value::from(value), source);
    }

    pub(crate) fn json(&mut self, name: &str, value: &Value, source: Source) {
        self.0.push(EffectiveSetting { name: name.to_owned(), value_json: value.to_string(), source });
    }

    pub(crate) fn tools(&mut self, name: &str, tools: &ToolSet, source: Source) {
        let names: Vec<&str> = tools.tools.iter().map(|tool| tool.name.as_str()).collect();
        self.json(name, &Value::from(names), source);
    }

    pub(crate) fn contract(&mut self, contract: &Contract, id: Option<&str>, source: Source) {
        let mut value = match contract {
            Contract::Text => json!({ "text": {} }),
            Contract::Json => json!({ "json": {} }),
            Contract::JsonSchema { name, schema_json } => {
                json!({ "json_schema": { "name": name, "schema_json": schema_json } })
            }
        };
        if let (Some(id), Value::Object(fields)) = (id, &mut value) {
            fields.insert("contract_id".to_owned(), Value::from(id));
        }
        self.json(name::CONTRACT, &value, source);
    }

    pub(crate) fn tool_choice(&mut self, choice: &ToolChoice, source: Source) {
        let value = match choice {
            ToolChoice::Auto => Value::from("auto"),
            ToolChoice::None => Value::from("none"),
            ToolChoice::Required => Value::from("required"),
            ToolChoice::Named(tool) => json!({ "named": tool }),
        };
        self.json(name::TOOL_CHOICE, &value, source);
    }

    pub(crate) fn view(&mut self, view: View, source: Source) {
        let value = match view {
            View::LastTurns(turns) => json!({ "last_turns": { "turns": turns } }),
            View::From(id) => json!({ "from_exchange": { "exchange_id": id.to_string() } }),
            View::Tokens(tokens) => json!({ "token_budget": { "tokens": tokens } }),
        };
        self.json(name::VIEW, &value, source);
    }

    pub(crate) fn finish(self) -> Vec<EffectiveSetting> {
        self.0
    }
}

/// Parameters put over one another, first the strongest; each that is set is written with where it came from.
pub(crate) fn merge(layers: &[(&Parameters, Source)], written: &mut Written) -> Parameters {
    fn pick<T: Clone>(
        layers: &[(&Parameters, Source)],
        get: impl Fn(&Parameters) -> Option<T>,
        key: &str,
        written: &mut Written,
        json: impl Fn(&T) -> Value,
    ) -> Option<T> {
        let (value, source) = layers.iter().find_map(|(layer, source)| get(layer).map(|value| (value, *source)))?;
        written.json(&format!("{}{key}", name::PARAMETERS), &json(&value), source);
        Some(value)
    }
    let stops = |layer: &Parameters| (!layer.stop_sequences.is_empty()).then(|| layer.stop_sequences.clone());
    let text = |value: &String| Value::from(value.as_str());
    Parameters {
        temperature: pick(layers, |l| l.temperature, "temperature", written, |v| Value::from(*v)),
        top_p: pick(layers, |l| l.top_p, "top_p", written, |v| Value::from(*v)),
        max_output_tokens: pick(layers, |l| l.max_output_tokens, "max_output_tokens", written, |v| Value::from(*v)),
        stop_sequences: pick(layers, stops, "stop_sequences", written, |v| Value::from(v.clone())).unwrap_or_default(),
        seed: pick(layers, |l| l.seed, "seed", written, |v| Value::from(*v)),
        reasoning_effort: pick(layers, |l| l.reasoning_effort.clone(), "reasoning_effort", written, text),
        parallel_tool_calls: pick(
            layers,
            |l| l.parallel_tool_calls,
            "parallel_tool_calls",
            written,
            |v| Value::from(*v),
        ),
        extra_json: pick(layers, |l| l.extra_json.clone(), "extra_json", written, text),
    }
}

/// Settings as they were written, for a later step of the same run.
#[derive(Debug, PartialEq)]
pub(crate) struct Kept {
    pub(crate) profile_id: String,
    pub(crate) backend_id: String,
    pub(crate) model: String,
    pub(crate) parameters: Parameters,
    pub(crate) contract: Contract,
    pub(crate) tool_choice: ToolChoice,
    pub(crate) session_id: Option<String>,
}

/// Reads settings back; absent when one is missing or not as this server writes it.
pub(crate) fn read(settings: &[EffectiveSetting]) -> Option<Kept> {
    let find = |name: &str| {
        let setting = settings.iter().find(|setting| setting.name == name)?;
        serde_json::from_str::<Value>(&setting.value_json).ok()
    };
    let text = |name: &str| find(name).and_then(|value| value.as_str().map(str::to_owned));
    let parameter = |key: &str| find(&format!("{}{key}", name::PARAMETERS));
    let stops = |value: Value| {
        value.as_array().map(|stops| stops.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>())
    };
    let parameters = Parameters {
        temperature: parameter("temperature").and_then(|value| value.as_f64()),
        top_p: parameter("top_p").and_then(|value| value.as_f64()),
        max_output_tokens: parameter("max_output_tokens").and_then(|value| u32::try_from(value.as_u64()?).ok()),
        stop_sequences: parameter("stop_sequences").and_then(stops).unwrap_or_default(),
        seed: parameter("seed").and_then(|value| value.as_i64()),
        reasoning_effort: text("parameters.reasoning_effort"),
        parallel_tool_calls: parameter("parallel_tool_calls").and_then(|value| value.as_bool()),
        extra_json: text("parameters.extra_json"),
    };
    Some(Kept {
        profile_id: text(name::PROFILE)?,
        backend_id: text(name::BACKEND)?,
        model: text(name::MODEL)?,
        parameters,
        contract: read_contract(&find(name::CONTRACT)?)?,
        tool_choice: read_choice(&find(name::TOOL_CHOICE)?)?,
        session_id: text(name::SESSION),
    })
}

/// How often an answer may be asked for again to correct its form, as it was written; 0 when it was not.
pub(crate) fn repair_attempts(settings: &[EffectiveSetting]) -> u32 {
    let setting = settings.iter().find(|setting| setting.name == name::REPAIR);
    setting.and_then(|setting| serde_json::from_str(&setting.value_json).ok()).unwrap_or(0)
}

/// Which part of the history is sent, as it was written; absent when it was not.
pub fn history_view(settings: &[EffectiveSetting]) -> Option<View> {
    let setting = settings.iter().find(|setting| setting.name == name::VIEW)?;
    let value: Value = serde_json::from_str(&setting.value_json).ok()?;
    let number = |pointer: &str| value.pointer(pointer).and_then(Value::as_u64);
    if let Some(turns) = number("/last_turns/turns") {
        return u32::try_from(turns).ok().map(View::LastTurns);
    }
    if let Some(tokens) = number("/token_budget/tokens") {
        return Some(View::Tokens(tokens));
    }
    value.pointer("/from_exchange/exchange_id")?.as_str()?.parse().ok().map(View::From)
}

/// How freely tools could be called, as it was written; absent when it was not.
pub fn tool_choice(settings: &[EffectiveSetting]) -> Option<ToolChoice> {
    let setting = settings.iter().find(|setting| setting.name == name::TOOL_CHOICE)?;
    read_choice(&serde_json::from_str(&setting.value_json).ok()?)
}

fn read_contract(value: &Value) -> Option<Contract> {
    if value.get("text").is_some() {
        return Some(Contract::Text);
    }
    if value.get("json").is_some() {
        return Some(Contract::Json);
    }
    let schema = value.get("json_schema")?;
    let field = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(Contract::JsonSchema { name: field("name")?, schema_json: field("schema_json")? })
}

fn read_choice(value: &Value) -> Option<ToolChoice> {
    match value.as_str() {
        Some("auto") => Some(ToolChoice::Auto),
        Some("none") => Some(ToolChoice::None),
        Some("required") => Some(ToolChoice::Required),
        Some(_) => None,
        None => value.get("named").and_then(Value::as_str).map(|tool| ToolChoice::Named(tool.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_layer_wins_field_by_field_and_its_source_is_written() {
        let request = Parameters { temperature: Some(0.1), ..Parameters::default() };
        let profile = Parameters {
            temperature: Some(0.9),
            seed: Some(7),
            stop_sequences: vec!["END".to_owned()],
            ..Parameters::default()
        };
        let mut written = Written::default();
        let merged = merge(&[(&request, Source::Request), (&profile, Source::Profile)], &mut written);
        assert_eq!((merged.temperature, merged.seed), (Some(0.1), Some(7)));
        let lines: Vec<_> = written.finish().into_iter().map(|s| (s.name, s.value_json, s.source)).collect();
        assert_eq!(
            lines,
            [
                ("parameters.temperature".to_owned(), "0.1".to_owned(), Source::Request),
                ("parameters.stop_sequences".to_owned(), r#"["END"]"#.to_owned(), Source::Profile),
                ("parameters.seed".to_owned(), "7".to_owned(), Source::Profile),
            ]
        );
    }

    #[test]
    fn views_and_repairs_read_back_the_same() {
        let id = "018f0000-0000-7000-8000-000000000001".parse().unwrap();
        for view in [View::LastTurns(3), View::From(id), View::Tokens(u64::MAX)] {
            let mut written = Written::default();
            written.view(view, Source::Request);
            written.json(name::REPAIR, &Value::from(2), Source::Default);
            let settings = written.finish();
            assert_eq!((history_view(&settings), repair_attempts(&settings)), (Some(view), 2));
        }
        assert_eq!((history_view(&[]), repair_attempts(&[])), (None, 0));
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        let parameters = Parameters {
            temperature: Some(0.1 + 0.2),
            top_p: Some(0.5),
            max_output_tokens: Some(9),
            stop_sequences: vec!["a".to_owned(), "\n".to_owned()],
            seed: Some(-3),
            reasoning_effort: Some("low".to_owned()),
            parallel_tool_calls: Some(false),
            extra_json: Some(r#"{"top_k": 1.50}"#.to_owned()),
        };
        let contract = Contract::JsonSchema { name: "p".to_owned(), schema_json: "{ \"type\":\"object\"}".to_owned() };
        let mut written = Written::default();
        written.text(name::PROFILE, "main", Source::Default);
        written.text(name::BACKEND, "b", Source::Profile);
        written.text(name::MODEL, "m", Source::Request);
        written.contract(&contract, Some("p"), Source::Prompt);
        written.tool_choice(&ToolChoice::Named("t".to_owned()), Source::Request);
        written.text(name::SESSION, "s", Source::Request);
        merge(&[(&parameters, Source::Request)], &mut written);
        let kept = read(&written.finish()).unwrap();
        let expected = Kept {
            profile_id: "main".to_owned(),
            backend_id: "b".to_owned(),
            model: "m".to_owned(),
            parameters,
            contract,
            tool_choice: ToolChoice::Named("t".to_owned()),
            session_id: Some("s".to_owned()),
        };
        assert_eq!(kept, expected);
    }
}
