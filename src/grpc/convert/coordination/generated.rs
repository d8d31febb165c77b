//! What came of a call to a model that the client made. It must not know what was asked of the model.

use super::super::message;
use super::super::{Path, Problems, limit, moment, problem, run, usage};
use super::answer::{MAX_MESSAGE, Naming};
use super::{code_from_pb, pending_id_from_pb};
use crate::app::coordination::ask::{Answer, Generated, GeneratedAnswer, GenerationFailure, Reply};
use crate::domain::id::CallId;
use crate::domain::message::{Kind, Message, Role};
use crate::domain::run::StopReason;
use crate::domain::usage::Usage;
use crate::grpc::{fingerprint, pb};

/// The answer to a generation.
pub fn from_pb(generated: pb::Generated, naming: Naming, at: &Path<'_>, problems: &mut Problems) -> Option<Answer> {
    use pb::generated::Outcome;
    let fingerprint = fingerprint::generated(&generated);
    let id = pending_id_from_pb(generated.generation_id, naming, &at.field("generation_id"), problems);
    let outcome = match problem::required(generated.outcome, "`answer` or `failure`", &at.field("outcome"), problems) {
        None => None,
        Some(Outcome::Answer(answer)) => answer_from_pb(answer, &at.field("answer"), problems).map(Generated::Answer),
        Some(Outcome::Failure(failure)) => {
            failure_from_pb(failure, &at.field("failure"), problems).map(Generated::Failure)
        }
    };
    Some(Answer { id: id?, fingerprint, reply: Reply::Generated(Box::new(outcome?)) })
}

fn answer_from_pb(answer: pb::GeneratedAnswer, at: &Path<'_>, problems: &mut Problems) -> Option<GeneratedAnswer> {
    let assistant = problem::required(answer.assistant, "the answer, whole", &at.field("assistant"), problems)
        .and_then(|assistant| assistant_from_pb(assistant, &at.field("assistant"), problems));
    let stop_at = at.field("stop_reason");
    let stop_reason = match run::stop_reason_from_pb(answer.stop_reason, &stop_at, problems) {
        None => None,
        Some(Some(StopReason::ToolRoundLimit)) => {
            problems.add(&stop_at, "must not be STOP_REASON_TOOL_ROUND_LIMIT: no model stops for it");
            None
        }
        Some(None) => {
            problems.add(&stop_at, "is not set: use STOP_REASON_OTHER for what has no word here");
            None
        }
        Some(stop_reason) => stop_reason,
    };
    let usage = usage_from_pb(answer.usage, &at.field("usage"), problems);
    Some(GeneratedAnswer {
        assistant: assistant?,
        stop_reason: stop_reason?,
        stop_reason_raw: answer.stop_reason_raw,
        usage: usage?,
        provider: answer.provider,
        api: answer.api,
        response_model: answer.response_model,
        response_id: answer.response_id,
    })
}

/// Each call gets an id of ours later, so that one id of the caller's is enough, and the same one twice does no harm.
fn assistant_from_pb(mut message: pb::Message, at: &Path<'_>, problems: &mut Problems) -> Option<Message> {
    let mut good = true;
    for (index, part) in message.parts.iter_mut().enumerate() {
        let Some(pb::part::Kind::ToolCall(call)) = &mut part.kind else { continue };
        if call.provider_call_id.is_empty() {
            call.provider_call_id = std::mem::take(&mut call.call_id);
        }
        if call.provider_call_id.is_empty() {
            let parts = at.field("parts");
            let part = parts.index(index);
            let call = part.field("tool_call");
            problems.add(&call.field("provider_call_id"), "is not set: set it or `call_id`");
            good = false;
        }
        call.call_id = format!("call-{index}");
    }
    let mut message = message::from_pb(message, at, problems)?;
    if message.role != Role::Assistant {
        problems.add(&at.field("role"), "must be ROLE_ASSISTANT");
        return None;
    }
    for part in &mut message.parts {
        if let Kind::ToolCall(call) = &mut part.kind {
            call.call_id = CallId::default();
        }
    }
    good.then_some(message)
}

fn failure_from_pb(
    failure: pb::GenerationFailure,
    at: &Path<'_>,
    problems: &mut Problems,
) -> Option<GenerationFailure> {
    let code = code_from_pb(failure.code, &at.field("code"), problems);
    let message =
        limit::bytes(&failure.message, MAX_MESSAGE, &at.field("message"), problems).then_some(failure.message);
    let http_status = match failure.http_status {
        None => Some(None),
        Some(status) => {
            let known = u16::try_from(status).ok().filter(|status| (100..=599).contains(status));
            if known.is_none() {
                problems.add(&at.field("http_status"), format!("is {status}: it must be 100 to 599"));
            }
            known.map(Some)
        }
    };
    let retry_after = match failure.retry_after {
        None => Some(None),
        Some(delay) => moment::duration_from_pb(delay, &at.field("retry_after"), problems).map(Some),
    };
    let usage = usage_from_pb(failure.usage, &at.field("usage"), problems);
    Some(GenerationFailure {
        code: code?,
        message: message?,
        http_status: http_status?,
        provider_code: failure.provider_code,
        retry_after_ms: retry_after?,
        usage: usage?,
    })
}

/// The server did not see the call, so every figure is the caller's word.
fn usage_from_pb(usage: Option<pb::Usage>, at: &Path<'_>, problems: &mut Problems) -> Option<Usage> {
    match usage {
        None => Some(Usage::default()),
        Some(usage) => usage::from_pb(usage, at, problems).map(|usage| Usage { reported: true, ..usage }),
    }
}
