//! Calls to a model that the client makes: what is asked for, and what came of it. Knows nothing of streams.

use std::sync::Arc;

use crate::message::Message;
use crate::pb;
use crate::request::{Parameters, ToolChoice};
use crate::tool::OfferedTool;
use crate::tool_call::ToolCall;
use crate::usage::Usage;
use crate::word::{AttemptKind, StopReason};

/// A model is to be called, by a profile whose backend is of the kind `client`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Generation {
    /// Names it.
    pub generation_id: String,
    /// The run that it is for.
    pub run_id: String,
    /// Empty when it is ephemeral.
    pub coordination_id: String,
    /// Which call of the run, counted from 1.
    pub number: u32,
    /// The first, or again after a failure.
    pub kind: AttemptKind,
    /// What to send, the whole history.
    pub messages: Vec<Message>,
    /// The model to call.
    pub model: String,
    /// The backend that it is of.
    pub backend_id: String,
    /// The tools to offer.
    pub tools: Vec<OfferedTool>,
    /// Those that are set.
    pub parameters: Parameters,
    /// How freely tools may be called; absent leaves it to the model.
    pub tool_choice: Option<ToolChoice>,
    /// The JSON Schema that the answer must follow; it is checked by the server in any case.
    pub schema: Option<String>,
    raw: Arc<pb::GenerationNeeded>,
}

impl Generation {
    /// The message behind it.
    pub fn raw(&self) -> &pb::GenerationNeeded {
        &self.raw
    }

    pub(crate) fn from_raw(raw: pb::GenerationNeeded, coordination_id: &str) -> Self {
        let schema = match raw.contract.as_ref().and_then(|contract| contract.form.as_ref()) {
            Some(pb::contract::Form::JsonSchema(form)) => Some(form.schema_json.clone()),
            _ => None,
        };
        Self {
            generation_id: raw.generation_id.clone(),
            run_id: raw.run_id.clone(),
            coordination_id: coordination_id.to_owned(),
            number: raw.number,
            kind: AttemptKind::from_raw(raw.kind),
            messages: Message::all(&raw.messages),
            model: raw.model.clone(),
            backend_id: raw.backend_id.clone(),
            tools: OfferedTool::all(raw.tools.as_ref()),
            parameters: raw.parameters.clone().map(Parameters::from_raw).unwrap_or_default(),
            tool_choice: ToolChoice::from_raw(raw.tool_choice.clone()),
            schema,
            raw: Arc::new(raw),
        }
    }
}

/// What a model said, whole.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Generated {
    message: Message,
    stop_reason: StopReason,
    stop_reason_raw: String,
    usage: Option<Usage>,
    provider: String,
    api: String,
    response_model: String,
    response_id: String,
}

impl Generated {
    /// A text.
    pub fn new(text: impl Into<String>) -> Self {
        Self::message(Message::assistant(text))
    }

    /// An answer with parts that a text and calls cannot say.
    pub fn message(message: Message) -> Self {
        Self { message, ..Self::default() }
    }

    /// Calls of tools, which have the provider's id as their `call_id`.
    pub fn tool_calls(mut self, calls: impl IntoIterator<Item = ToolCall>) -> Self {
        self.message = self.message.with_tool_calls(calls);
        self
    }

    /// Why the model stopped; for its calls where there are some, else because it was done, when absent.
    pub fn stop_reason(mut self, reason: StopReason) -> Self {
        self.stop_reason = reason;
        self
    }

    /// The provider's own word for it.
    pub fn stop_reason_raw(mut self, reason: impl Into<String>) -> Self {
        self.stop_reason_raw = reason.into();
        self
    }

    /// What the call consumed.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// The provider and its dialect.
    pub fn provider(mut self, provider: impl Into<String>, api: impl Into<String>) -> Self {
        self.provider = provider.into();
        self.api = api.into();
        self
    }

    /// The model that says it answered, and the provider's id for the answer.
    pub fn response(mut self, model: impl Into<String>, id: impl Into<String>) -> Self {
        self.response_model = model.into();
        self.response_id = id.into();
        self
    }

    pub(crate) fn into_raw(self) -> pb::GeneratedAnswer {
        let why = match self.stop_reason {
            StopReason::Unspecified if self.message.tool_calls.is_empty() => StopReason::Stop,
            StopReason::Unspecified => StopReason::ToolCalls,
            said => said,
        };
        pb::GeneratedAnswer {
            assistant: Some(self.message.to_raw()),
            stop_reason: why.to_raw(),
            stop_reason_raw: self.stop_reason_raw,
            usage: self.usage.map(|usage| usage.to_raw()),
            provider: self.provider,
            api: self.api,
            response_model: self.response_model,
            response_id: self.response_id,
        }
    }
}

impl From<&str> for Generated {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Generated {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}
