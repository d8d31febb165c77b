//! From a provider's reply to an answer: our ids for calls, arguments checked, the form validated. It must not know how the reply was got.

use serde_json::{Map, Value};

use super::backend::{Description, Reply};
use super::contract::Schemas;
use super::resolve::Plan;
use crate::domain::exchange::Responder;
use crate::domain::id::CallId;
use crate::domain::message::{Kind, Message, Part, Role, ToolCall};
use crate::domain::run::StopReason;
use crate::domain::settings::{Validation, Warning};
use crate::domain::source::Ids;
use crate::domain::usage::Usage;

/// A whole answer. That it is there says nothing of its worth (S4-13).
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The assistant message; its calls have ids of ours.
    pub assistant: Message,
    /// Why the model stopped; `ToolCalls` whenever it called tools and was not cut short.
    pub stop_reason: StopReason,
    /// The provider's own word for it.
    pub stop_reason_raw: String,
    /// Whether the answer has its form.
    pub validation: Validation,
    /// What this execution consumed, all its attempts together.
    pub usage: Usage,
    /// Who answered.
    pub responder: Responder,
    /// What the caller should know, besides the warnings of the plan.
    pub warnings: Vec<Warning>,
}

/// Makes an answer of a reply. `usage` is that of all attempts.
pub(crate) fn answer(
    reply: Reply,
    usage: Usage,
    plan: &Plan,
    description: &Description,
    schemas: &Schemas,
    ids: &dyn Ids,
) -> Answer {
    let mut warnings = reply.warnings;
    let mut assistant = Message { role: Role::Assistant, parts: reply.parts };
    assistant.parts.retain(|part| !is_nothing(part));
    for part in &mut assistant.parts {
        if let Kind::ToolCall(call) = &mut part.kind {
            let arguments = adopt(call, ids);
            let tool = plan.offer.offered.find(&call.name);
            if tool.is_none() {
                let text = format!(
                    "call `{}` names a tool that was not offered; it is kept as the model made it",
                    call.call_id
                );
                warnings.push(Warning { code: "unknown_tool_called".to_owned(), message: text });
            }
            if arguments.is_none() {
                let text = format!(
                    "the arguments of call `{}` are not a JSON object; they are kept as the model wrote them",
                    call.call_id
                );
                warnings.push(Warning { code: "tool_arguments_invalid".to_owned(), message: text });
            }
            // A string that looks like JSON is still a string; only the schema can say otherwise, and it is said, not mended.
            if let Some(wrong) = tool.zip(arguments).and_then(|(tool, arguments)| schemas.mismatch(tool, &arguments)) {
                let text = format!(
                    "the arguments of call `{}` do not fit the input schema of `{}`, at `{}`: {}; they are kept as the model wrote them",
                    call.call_id, call.name, wrong.instance_path, wrong.message
                );
                warnings.push(Warning { code: "tool_arguments_mismatch".to_owned(), message: text });
            }
        }
    }
    if assistant.parts.is_empty() {
        let text = "the model ended its answer without saying anything".to_owned();
        warnings.push(Warning { code: "empty_answer".to_owned(), message: text });
    }
    let stop_reason = stop_reason(reply.stop_reason, assistant.tool_calls().next().is_some());
    let validation = plan.check.validate(&assistant, stop_reason);
    let responder = Responder {
        backend_id: plan.backend_id.clone(),
        provider: description.provider.clone(),
        api: description.api.to_owned(),
        model: plan.model.clone(),
        response_model: reply.response_model,
        response_id: reply.response_id,
    };
    Answer { assistant, stop_reason, stop_reason_raw: reply.stop_reason_raw, validation, usage, responder, warnings }
}

/// Empty text, which some providers put beside calls and all of them refuse to take back.
fn is_nothing(part: &Part) -> bool {
    matches!(&part.kind, Kind::Text(text) if text.is_empty()) && part.provider_data.is_none()
}

/// Gives a call our id, and says whether its arguments are what arguments must be: a JSON object. Nothing said is the empty object, as
/// providers write it for tools without parameters; anything else stays as the model wrote it. Gives the arguments where they are an object.
fn adopt(call: &mut ToolCall, ids: &dyn Ids) -> Option<Value> {
    call.call_id = CallId::new(format!("call_{}", ids.uuid().as_simple()));
    if call.arguments_json.trim().is_empty() {
        call.arguments_json = "{}".to_owned();
    }
    let arguments = serde_json::from_str::<Map<String, Value>>(&call.arguments_json).ok();
    call.arguments_invalid = arguments.is_none();
    arguments.map(Value::Object)
}

/// That calls are there is a surer sign than a provider's word for why it stopped.
fn stop_reason(said: StopReason, has_calls: bool) -> StopReason {
    match said {
        StopReason::Stop | StopReason::StopSequence | StopReason::Other if has_calls => StopReason::ToolCalls,
        StopReason::ToolCalls if !has_calls => StopReason::Other,
        said => said,
    }
}
