//! Execution requests, parameters, and what became of settings. It must not know prompts or profiles, only their names in a request.

use std::collections::BTreeMap;

use prost_types::value::Kind;
use prost_types::{Struct, Value};

use super::message::all;
use super::problem::{self, absent_if_empty, filled};
use super::{Path, Problems, contract, id, json, label, limit, message, tool};
use crate::app::turn::OnDisconnect;
use crate::domain::drift::Policy;
use crate::domain::id::RunId;
use crate::domain::message::{Message, Role, ToolResult};
use crate::domain::settings::{EffectiveSetting, Parameters, Source, Warning};
use crate::domain::view::View;
use crate::engine::{Asked, MAX_STOP_SEQUENCES, PromptInput};
use crate::grpc::pb;

#[cfg(test)]
mod tests;

/// Longest JSON of variables, in bytes; requests have a limit of their own, which is usually lower.
const MAX_VARS: usize = 16 * 1024 * 1024;
/// Longest JSON of more fields for a provider, in bytes.
const MAX_EXTRA: usize = 64 * 1024;
/// Up to here every whole double is the same integer.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_992.0;

/// One execution as a caller asks for it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The caller's id for the run.
    pub run_id: Option<RunId>,
    /// What is asked.
    pub asked: Asked,
    /// Labels of the run and its exchanges.
    pub labels: BTreeMap<String, String>,
    /// What a broken connection does; the call's default when absent.
    pub on_disconnect: Option<OnDisconnect>,
    /// Open the run again, where it ended without an answer.
    pub retry: bool,
}

/// Results for pending tool calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// The results.
    pub results: Vec<ToolResult>,
    /// The caller's id for the run, where one is started.
    pub run_id: Option<RunId>,
    /// What a broken connection does; the call's default when absent.
    pub on_disconnect: Option<OnDisconnect>,
    /// Try the step again, where it ended without an answer.
    pub retry: bool,
}

impl Results {
    /// The one tool message that they make.
    pub fn into_message(self) -> Message {
        let part = |result| crate::domain::message::Part::new(crate::domain::message::Kind::ToolResult(result));
        Message { role: Role::Tool, parts: self.results.into_iter().map(part).collect() }
    }
}

/// An execution request.
pub fn from_pb(request: pb::ExecutionRequest, at: &Path<'_>, problems: &mut Problems) -> Option<Request> {
    let brings_something = request.prompt.is_some() || !request.messages.is_empty() || !request.text.is_empty();
    if !brings_something {
        problems.add(at, "brings nothing new: set `text`, `messages` or `prompt`");
    }
    if request.retry && request.run_id.is_empty() {
        problems.add(&at.field("retry"), "names no run: set `run_id` to the one that is to be tried again");
    }
    let run_id = id::chosen(&request.run_id, &at.field("run_id"), problems);
    let prompt = match request.prompt {
        None => Some(None),
        Some(prompt) => prompt_from_pb(prompt, &at.field("prompt"), problems).map(Some),
    };
    let most = problems.bounds().messages;
    let messages = message::list_from_pb(request.messages, most, &at.field("messages"), problems);
    let parameters = parameters_from_pb(request.parameters.unwrap_or_default(), &at.field("parameters"), problems);
    let contract = match request.contract {
        None => Some(None),
        Some(contract) => contract::from_pb(contract, &at.field("contract"), problems).map(Some),
    };
    let repair_attempts = request.repair.map(|repair| repair.attempts);
    let tools = tool::optional_list_from_pb(request.tools, &at.field("tools"), problems);
    let standing_tools = tool::optional_list_from_pb(request.standing_tools, &at.field("standing_tools"), problems);
    let tool_choice = match request.tool_choice {
        None => Some(None),
        Some(choice) => tool::choice_from_pb(choice, &at.field("tool_choice"), problems).map(Some),
    };
    let on_tool_drift = on_tool_drift_from_pb(request.on_tool_drift, &at.field("on_tool_drift"), problems);
    let history_view = match request.history_view {
        None => Some(None),
        Some(view) => view_from_pb(view, &at.field("history_view"), problems).map(Some),
    };
    let labels = label::from_pb(request.labels, &at.field("labels"), problems);
    let on_disconnect = on_disconnect_from_pb(request.on_disconnect, &at.field("on_disconnect"), problems);

    let mut messages = messages?;
    messages.extend(absent_if_empty(request.text).map(|text| Message::text(Role::User, text)));
    Some(Request {
        run_id: run_id?,
        asked: Asked {
            prompt: prompt?,
            messages,
            profile_id: absent_if_empty(request.profile_id),
            model: absent_if_empty(request.model),
            parameters: parameters?,
            contract: contract?,
            repair_attempts,
            tools: tools?,
            standing_tools: standing_tools?,
            tool_choice: tool_choice?,
            on_tool_drift: on_tool_drift?,
            session_id: absent_if_empty(request.session_id),
            history_view: history_view?,
        },
        labels: labels?,
        on_disconnect: on_disconnect?,
        retry: request.retry,
    })
}

/// Results for pending tool calls.
pub fn results_from_pb(results: pb::ToolResults, at: &Path<'_>, problems: &mut Problems) -> Option<Results> {
    let run_id = id::chosen(&results.run_id, &at.field("run_id"), problems);
    let on_disconnect = on_disconnect_from_pb(results.on_disconnect, &at.field("on_disconnect"), problems);
    let retry = results.retry;
    let at = &at.field("results");
    let count = results.results.len();
    let most = problems.bounds().results;
    if !limit::some(count, most, "results", "give one for each pending call, ", at, problems) {
        return None;
    }
    let results = all(results.results, at, problems, message::result_from_pb);
    Some(Results { results: results?, run_id: run_id?, on_disconnect: on_disconnect?, retry })
}

/// What a broken connection does; absent when the caller does not say.
pub(super) fn on_disconnect_from_pb(
    number: i32,
    at: &Path<'_>,
    problems: &mut Problems,
) -> Option<Option<OnDisconnect>> {
    match pb::OnDisconnect::try_from(number) {
        Ok(pb::OnDisconnect::Unspecified) => Some(None),
        Ok(pb::OnDisconnect::Cancel) => Some(Some(OnDisconnect::Cancel)),
        Ok(pb::OnDisconnect::Finish) => Some(Some(OnDisconnect::Finish)),
        Err(_) => {
            let words = "ON_DISCONNECT_CANCEL, ON_DISCONNECT_FINISH or nothing";
            problems.add(at, format!("has the unknown value {number}: use {words}"));
            None
        }
    }
}

fn on_tool_drift_from_pb(number: i32, at: &Path<'_>, problems: &mut Problems) -> Option<Policy> {
    match pb::ToolDriftPolicy::try_from(number) {
        Ok(pb::ToolDriftPolicy::Unspecified | pb::ToolDriftPolicy::Warn) => Some(Policy::Warn),
        Ok(pb::ToolDriftPolicy::Refuse) => Some(Policy::Refuse),
        Err(_) => {
            let words = "TOOL_DRIFT_POLICY_WARN, TOOL_DRIFT_POLICY_REFUSE or nothing";
            problems.add(at, format!("has the unknown value {number}: use {words}"));
            None
        }
    }
}

fn view_from_pb(view: pb::HistoryView, at: &Path<'_>, problems: &mut Problems) -> Option<View> {
    use pb::history_view::View as PbView;
    let counted = |count: u64, field: &str, problems: &mut Problems| {
        if count == 0 {
            problems.add(&at.field(field), "must be 1 or more: leave `history_view` out to send the whole history");
        }
        count > 0
    };
    match problem::required(view.view, "`last_turns`, `from_exchange` or `token_budget`", at, problems)? {
        PbView::LastTurns(pb::LastTurns { turns }) => {
            counted(turns.into(), "last_turns.turns", problems).then_some(View::LastTurns(turns))
        }
        PbView::TokenBudget(pb::TokenBudget { tokens }) => {
            counted(tokens, "token_budget.tokens", problems).then_some(View::Tokens(tokens))
        }
        PbView::FromExchange(from) => {
            id::required(&from.exchange_id, &at.field("from_exchange.exchange_id"), problems).map(View::From)
        }
    }
}

fn prompt_from_pb(prompt: pb::PromptInput, at: &Path<'_>, problems: &mut Problems) -> Option<PromptInput> {
    let prompt_id = filled(prompt.prompt_id, &at.field("prompt_id"), problems);
    let vars = match (prompt.vars, prompt.vars_json.is_empty()) {
        (Some(_), false) => {
            problems.add(&at.field("vars_json"), "says the same as `vars`: set one of the two");
            None
        }
        (Some(vars), true) => {
            let (at, most) = (at.field("vars"), problems.bounds().json_levels);
            let vars = struct_to_json(vars, &at, problems).map(|vars| vars.to_string());
            vars.filter(|vars| limit::levels(vars, most, &at, problems))
        }
        (None, _) => json::optional_object(prompt.vars_json, MAX_VARS, &at.field("vars_json"), problems)
            .map(|vars| vars.unwrap_or_else(|| "{}".to_owned())),
    };
    Some(PromptInput { prompt_id: prompt_id?, vars_json: vars? })
}

/// Recursion is bounded by the decoder, which takes no message nested deeper than 100 levels.
fn struct_to_json(fields: Struct, at: &Path<'_>, problems: &mut Problems) -> Option<serde_json::Value> {
    let mut object = serde_json::Map::new();
    let mut good = true;
    for (key, value) in fields.fields {
        match value_to_json(value, &at.key(&key), problems) {
            Some(value) => {
                object.insert(key.clone(), value);
            }
            None => good = false,
        }
    }
    good.then_some(serde_json::Value::Object(object))
}

fn value_to_json(value: Value, at: &Path<'_>, problems: &mut Problems) -> Option<serde_json::Value> {
    match value.kind {
        None => {
            problems.add(at, "has no value: use null for none");
            None
        }
        Some(Kind::NullValue(_)) => Some(serde_json::Value::Null),
        Some(Kind::BoolValue(value)) => Some(value.into()),
        Some(Kind::StringValue(value)) => Some(value.into()),
        Some(Kind::NumberValue(value)) => number_to_json(value, at, problems),
        Some(Kind::StructValue(value)) => struct_to_json(value, at, problems),
        Some(Kind::ListValue(list)) => all(list.values, at, problems, value_to_json).map(serde_json::Value::Array),
    }
}

/// Whole numbers are written without a fraction, as the JSON form of the protobuf type has them: a caller who wrote 3 means 3.
fn number_to_json(value: f64, at: &Path<'_>, problems: &mut Problems) -> Option<serde_json::Value> {
    if value.fract() == 0.0 && value.abs() < MAX_SAFE_INTEGER {
        return format!("{value:.0}").parse::<i64>().ok().map(serde_json::Value::from);
    }
    let number = serde_json::Number::from_f64(value).map(serde_json::Value::Number);
    if number.is_none() {
        problems.add(at, "is no finite number: JSON has none but these");
    }
    number
}

fn parameters_from_pb(parameters: pb::Parameters, at: &Path<'_>, problems: &mut Problems) -> Option<Parameters> {
    let mut good = true;
    let mut refuse = |at: &Path<'_>, problems: &mut Problems, message: String| {
        problems.add(at, message);
        good = false;
    };
    if parameters.temperature.is_some_and(|value| !(0.0..=2.0).contains(&value)) {
        refuse(&at.field("temperature"), problems, "must be 0 to 2".to_owned());
    }
    if parameters.top_p.is_some_and(|value| !(value > 0.0 && value <= 1.0)) {
        refuse(&at.field("top_p"), problems, "must be over 0 and at most 1".to_owned());
    }
    if parameters.max_output_tokens == Some(0) {
        refuse(&at.field("max_output_tokens"), problems, "must be 1 or more: leave it out for no limit".to_owned());
    }
    let stops = at.field("stop_sequences");
    let count = parameters.stop_sequences.len();
    let few = limit::count(count, MAX_STOP_SEQUENCES, "stop sequences", "give fewer", &stops, problems);
    if few {
        for (index, _) in parameters.stop_sequences.iter().enumerate().filter(|(_, stop)| stop.is_empty()) {
            refuse(&stops.index(index), problems, "must not be empty".to_owned());
        }
    }
    let extra = json::optional_object(parameters.extra_json, MAX_EXTRA, &at.field("extra_json"), problems);
    let parameters = Parameters {
        temperature: parameters.temperature,
        top_p: parameters.top_p,
        max_output_tokens: parameters.max_output_tokens,
        stop_sequences: parameters.stop_sequences,
        seed: parameters.seed,
        reasoning_effort: absent_if_empty(parameters.reasoning_effort),
        parallel_tool_calls: parameters.parallel_tool_calls,
        extra_json: extra?,
    };
    (good && few).then_some(parameters)
}

/// Parameters in an answer.
pub fn parameters_to_pb(parameters: Parameters) -> pb::Parameters {
    pb::Parameters {
        temperature: parameters.temperature,
        top_p: parameters.top_p,
        max_output_tokens: parameters.max_output_tokens,
        stop_sequences: parameters.stop_sequences,
        seed: parameters.seed,
        reasoning_effort: parameters.reasoning_effort.unwrap_or_default(),
        parallel_tool_calls: parameters.parallel_tool_calls,
        extra_json: parameters.extra_json.unwrap_or_default(),
    }
}

/// Settings in an answer, each with its source.
pub fn settings_to_pb(settings: Vec<EffectiveSetting>) -> Vec<pb::EffectiveSetting> {
    let to_pb = |setting: EffectiveSetting| {
        let source = match setting.source {
            Source::Request => pb::SettingSource::Request,
            Source::Prompt => pb::SettingSource::Prompt,
            Source::Thread => pb::SettingSource::Thread,
            Source::Profile => pb::SettingSource::Profile,
            Source::Default => pb::SettingSource::Default,
            Source::Inherited => pb::SettingSource::Inherited,
        };
        pb::EffectiveSetting { name: setting.name, value_json: setting.value_json, source: source.into() }
    };
    settings.into_iter().map(to_pb).collect()
}

/// A warning in an answer.
pub fn warning_to_pb(warning: Warning) -> pb::Warning {
    pb::Warning { code: warning.code, message: warning.message }
}

/// Warnings in an answer.
pub fn warnings_to_pb(warnings: Vec<Warning>) -> Vec<pb::Warning> {
    warnings.into_iter().map(warning_to_pb).collect()
}
