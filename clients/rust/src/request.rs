//! What is asked of a model. Knows nothing of which call takes it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::message::Message;
use crate::pb;
use crate::schema::schema_of;
use crate::tool::{Tool, ToolResult, tool_list};
use crate::word::{OnDisconnect, OnToolDrift};

/// One turn. A text is enough of one.
#[derive(Clone, Debug, Default)]
pub struct Request {
    text: String,
    system: Option<String>,
    messages: Vec<Message>,
    prompt_id: Option<String>,
    vars: Option<Result<String, String>>,
    profile_id: String,
    model: String,
    parameters: Parameters,
    contract: Option<Contract>,
    repair: Option<u32>,
    history: Option<pb::history_view::View>,
    pub(crate) tools: Option<Vec<Tool>>,
    standing_tools: Option<Vec<Tool>>,
    tool_choice: Option<ToolChoice>,
    session_id: String,
    labels: BTreeMap<String, String>,
    run_id: String,
    retry: bool,
    on_disconnect: OnDisconnect,
    on_tool_drift: OnToolDrift,
}

macro_rules! said {
    ($($(#[$doc:meta])* $name:ident($value:ident: $kind:ty) $($field:ident).+ = $kept:expr;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $value: $kind) -> Self {
            self.$($field).+ = $kept;
            self
        }
    )*};
}

impl Request {
    /// One user message, after all others.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    said! {
        /// One system message, before all others.
        system(text: impl Into<String>) system = Some(text.into());
        /// Messages as they are, after that of the system and before the text.
        messages(messages: impl IntoIterator<Item = Message>) messages = messages.into_iter().collect();
        /// A configured prompt to render.
        prompt_id(id: impl Into<String>) prompt_id = Some(id.into());
        /// The values of its variables, which become a JSON object.
        vars(vars: &impl Serialize) vars = Some(serde_json::to_string(vars).map_err(|error| error.to_string()));
        /// A configured profile.
        profile(id: impl Into<String>) profile_id = id.into();
        /// The model to ask.
        model(model: impl Into<String>) model = model.into();
        /// How to ask it; what is absent is left to the profile, then to the provider.
        parameters(parameters: Parameters) parameters = parameters;
        /// What form the answer must have; the prompt's when absent.
        contract(contract: Contract) contract = Some(contract);
        /// How often at most the model is asked again where its answer misses the contract; as configured when absent.
        repair(attempts: u32) repair = Some(attempts);
        /// Sends only so many turns before this one; what is stored is the whole history in any case.
        last_turns(turns: u32) history = Some(pb::history_view::View::LastTurns(pb::LastTurns { turns }));
        /// Sends only what follows from this exchange on, with which a turn must begin.
        from_exchange(id: impl Into<String>) history =
            Some(pb::history_view::View::FromExchange(pb::FromExchange { exchange_id: id.into() }));
        /// Sends only as many turns as fit, counted by the server's own estimate.
        token_budget(tokens: u64) history = Some(pb::history_view::View::TokenBudget(pb::TokenBudget { tokens }));
        /// What this turn offers, an empty list none; what stands in the conversation when absent.
        tools(tools: impl IntoIterator<Item = Tool>) tools = Some(tools.into_iter().collect());
        /// What stands from this turn on; as it is when absent.
        standing_tools(tools: impl IntoIterator<Item = Tool>) standing_tools = Some(tools.into_iter().collect());
        /// How freely the model may call tools.
        tool_choice(choice: ToolChoice) tool_choice = Some(choice);
        /// Groups calls at the provider.
        session_id(id: impl Into<String>) session_id = id.into();
        /// Labels to list by.
        labels(labels: impl IntoIterator<Item = (String, String)>) labels = labels.into_iter().collect();
        /// Names the run, so that it can be found again; ours when absent.
        run_id(id: impl Into<String>) run_id = id.into();
        /// Where the run of this id failed, was cancelled or interrupted, tries again under the same id.
        retry(retry: bool) retry = retry;
        /// What happens when nobody waits any more. A single turn is cancelled and one of a coordination finished when absent.
        on_disconnect(policy: OnDisconnect) on_disconnect = policy;
        /// What happens when an offered tool has another input schema than the history had under its name; a warning when absent.
        on_tool_drift(policy: OnToolDrift) on_tool_drift = policy;
    }

    /// The same with one more label.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    pub(crate) fn to_raw(&self) -> Result<pb::ExecutionRequest> {
        let system = self.system.iter().map(|text| Message::system(text.as_str()).to_raw());
        let vars_json = match &self.vars {
            Some(Ok(json)) => Some(json.clone()),
            Some(Err(why)) => return Err(Error::invalid(format!("vars: {why}"))),
            None => None,
        };
        let prompt = (self.prompt_id.is_some() || vars_json.is_some()).then(|| pb::PromptInput {
            prompt_id: self.prompt_id.clone().unwrap_or_default(),
            vars_json: vars_json.unwrap_or_default(),
            ..pb::PromptInput::default()
        });
        Ok(pb::ExecutionRequest {
            run_id: self.run_id.clone(),
            prompt,
            messages: system.chain(self.messages.iter().map(Message::to_raw)).collect(),
            text: self.text.clone(),
            profile_id: self.profile_id.clone(),
            model: self.model.clone(),
            parameters: self.parameters.to_raw(),
            contract: self.contract.as_ref().map(Contract::to_raw).transpose()?,
            tools: self.tools.as_deref().map(tool_list).transpose()?,
            standing_tools: self.standing_tools.as_deref().map(tool_list).transpose()?,
            tool_choice: self.tool_choice.clone().map(ToolChoice::into_raw),
            session_id: self.session_id.clone(),
            labels: self.labels.clone(),
            on_disconnect: self.on_disconnect.to_raw(),
            retry: self.retry,
            history_view: self.history.clone().map(|view| pb::HistoryView { view: Some(view) }),
            on_tool_drift: self.on_tool_drift.to_raw(),
            repair: self.repair.map(|attempts| pb::Repair { attempts }),
        })
    }
}

impl From<&str> for Request {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Request {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// Parameters of a call. One that is absent is not zero.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Parameters {
    /// How freely the model picks its words.
    pub temperature: Option<f64>,
    /// From how many of the likeliest words.
    pub top_p: Option<f64>,
    /// At most so many tokens of answer.
    pub max_output_tokens: Option<u32>,
    /// Texts that end the answer.
    pub stop_sequences: Vec<String>,
    /// Where the provider starts its dice.
    pub seed: Option<i64>,
    /// How hard to think, in the provider's words; empty leaves it.
    pub reasoning_effort: String,
    /// Whether one answer may have several calls of tools.
    pub parallel_tool_calls: Option<bool>,
    /// What the provider alone knows, a JSON object; empty for none.
    pub extra_json: String,
}

impl Parameters {
    /// None that is set.
    pub fn new() -> Self {
        Self::default()
    }

    said! {
        /// How freely the model picks its words.
        temperature(value: f64) temperature = Some(value);
        /// From how many of the likeliest words.
        top_p(value: f64) top_p = Some(value);
        /// At most so many tokens of answer.
        max_output_tokens(value: u32) max_output_tokens = Some(value);
        /// Where the provider starts its dice.
        seed(value: i64) seed = Some(value);
        /// Texts that end the answer.
        stop_sequences(values: impl IntoIterator<Item = String>) stop_sequences = values.into_iter().collect();
        /// How hard to think, in the provider's words.
        reasoning_effort(value: impl Into<String>) reasoning_effort = value.into();
        /// Whether one answer may have several calls of tools.
        parallel_tool_calls(value: bool) parallel_tool_calls = Some(value);
        /// What the provider alone knows, a JSON object.
        extra_json(value: impl Into<String>) extra_json = value.into();
    }

    fn to_raw(&self) -> Option<pb::Parameters> {
        (*self != Self::default()).then(|| pb::Parameters {
            temperature: self.temperature,
            top_p: self.top_p,
            max_output_tokens: self.max_output_tokens,
            stop_sequences: self.stop_sequences.clone(),
            seed: self.seed,
            reasoning_effort: self.reasoning_effort.clone(),
            parallel_tool_calls: self.parallel_tool_calls,
            extra_json: self.extra_json.clone(),
        })
    }

    pub(crate) fn from_raw(raw: pb::Parameters) -> Self {
        Self {
            temperature: raw.temperature,
            top_p: raw.top_p,
            max_output_tokens: raw.max_output_tokens,
            stop_sequences: raw.stop_sequences,
            seed: raw.seed,
            reasoning_effort: raw.reasoning_effort,
            parallel_tool_calls: raw.parallel_tool_calls,
            extra_json: raw.extra_json,
        }
    }
}

/// What form an answer must have.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Contract {
    /// A text, whatever a prompt says.
    Text,
    /// JSON of any shape.
    Json,
    /// JSON that follows this JSON Schema.
    Schema(String),
    /// What a configured contract says.
    Named(String),
    /// A type that has no schema, and why.
    #[doc(hidden)]
    Impossible(String),
}

impl Contract {
    /// JSON that follows a type, as with [`Tool::new`].
    pub fn of<T: JsonSchema>() -> Self {
        schema_of::<T>().map_or_else(Self::Impossible, Self::Schema)
    }

    fn to_raw(&self) -> Result<pb::Contract> {
        use pb::contract::Form;
        let form = match self {
            Self::Text => Form::Text(pb::TextContract {}),
            Self::Json => Form::Json(pb::JsonContract {}),
            Self::Schema(text) => {
                Form::JsonSchema(pb::JsonSchemaContract { schema_json: text.clone(), name: String::new() })
            }
            Self::Named(id) => Form::Named(pb::NamedContract { contract_id: id.clone() }),
            Self::Impossible(why) => return Err(Error::invalid(format!("contract: {why}"))),
        };
        Ok(pb::Contract { form: Some(form) })
    }
}

/// How freely a model may call tools.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// As it likes.
    Auto,
    /// Not at all.
    None,
    /// At least one.
    Required,
    /// This one.
    Named(String),
}

impl ToolChoice {
    fn into_raw(self) -> pb::ToolChoice {
        use pb::tool_choice::Choice;
        let choice = match self {
            Self::Auto => Choice::Auto(pb::ToolChoiceAuto {}),
            Self::None => Choice::None(pb::ToolChoiceNone {}),
            Self::Required => Choice::Required(pb::ToolChoiceRequired {}),
            Self::Named(name) => Choice::Named(pb::ToolChoiceNamed { name }),
        };
        pb::ToolChoice { choice: Some(choice) }
    }

    /// Nothing where nothing was said, or a way that this package does not know.
    pub(crate) fn from_raw(raw: Option<pb::ToolChoice>) -> Option<Self> {
        use pb::tool_choice::Choice;
        Some(match raw?.choice? {
            Choice::Auto(_) => Self::Auto,
            Choice::None(_) => Self::None,
            Choice::Required(_) => Self::Required,
            Choice::Named(named) => Self::Named(named.name),
        })
    }
}

/// What a turn is made with: a [`Request`], or the results of all calls that are pending.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Input {
    /// A request.
    Request(Box<Request>),
    /// Results, with which the run that called goes on.
    Results(Vec<ToolResult>),
}

impl From<Request> for Input {
    fn from(request: Request) -> Self {
        Self::Request(Box::new(request))
    }
}

impl From<&str> for Input {
    fn from(text: &str) -> Self {
        Request::new(text).into()
    }
}

impl From<String> for Input {
    fn from(text: String) -> Self {
        Request::new(text).into()
    }
}

impl From<Vec<ToolResult>> for Input {
    fn from(results: Vec<ToolResult>) -> Self {
        Self::Results(results)
    }
}

impl<const N: usize> From<[ToolResult; N]> for Input {
    fn from(results: [ToolResult; N]) -> Self {
        Self::Results(results.into())
    }
}

/// An input as it goes out.
pub(crate) enum Written {
    Request(Box<pb::ExecutionRequest>),
    Results(pb::ToolResults),
}

impl Input {
    pub(crate) fn to_raw(&self) -> Result<Written> {
        Ok(match self {
            Self::Request(request) => Written::Request(Box::new(request.to_raw()?)),
            Self::Results(results) => Written::Results(pb::ToolResults {
                results: ToolResult::all_to_raw(results),
                ..pb::ToolResults::default()
            }),
        })
    }
}
