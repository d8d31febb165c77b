//! What traces say of a call, in the words of OpenTelemetry's conventions for generative AI: a span for each execution, an event for each of
//! its attempts, no content. It must not know where traces go.

use tracing::field::Empty;
use tracing::{Span, debug, debug_span};

use super::answer::Answer;
use super::resolve::Plan;
use crate::domain::fault::Fault;
use crate::domain::run::{AttemptKind, Observation};

/// Spans and events that are for traces; a log has others.
const TARGET: &str = "antiphon::trace";

/// The name of a provider in those conventions, by the kind of its backend. Kinds that the conventions do not name stand for themselves.
pub fn provider(kind: &str) -> &str {
    match kind {
        "openai-responses" => "openai",
        "gemini" => "gcp.gemini",
        kind => kind,
    }
}

/// The span of an execution that begins.
pub(super) fn begin(plan: &Plan, kind: &str, stream: bool) -> Span {
    let parameters = &plan.parameters;
    debug_span!(
        target: TARGET,
        "call",
        otel.name = format!("chat {}", plan.model),
        otel.kind = "client",
        otel.status_code = Empty,
        error.r#type = Empty,
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = provider(kind),
        gen_ai.request.model = plan.model,
        gen_ai.request.stream = stream,
        gen_ai.request.max_tokens = parameters.max_output_tokens,
        gen_ai.request.temperature = parameters.temperature,
        gen_ai.request.top_p = parameters.top_p,
        gen_ai.request.seed = parameters.seed,
        gen_ai.response.model = Empty,
        gen_ai.response.id = Empty,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.cache_creation.input_tokens = Empty,
        antiphon.backend_id = plan.backend_id,
        antiphon.profile_id = plan.profile_id,
    )
}

/// What came of it.
pub(super) fn end(span: &Span, outcome: &Result<Answer, Fault>) {
    let answer = match outcome {
        Ok(answer) => answer,
        Err(fault) => {
            span.record("error.type", fault.reason.word()).record("otel.status_code", "ERROR");
            return;
        }
    };
    span.record("gen_ai.response.model", answer.responder.response_model.as_str());
    span.record("gen_ai.response.id", answer.responder.response_id.as_str());
    span.record("gen_ai.response.finish_reasons", answer.stop_reason_raw.as_str());
    let usage = &answer.usage;
    for (name, tokens) in [
        ("gen_ai.usage.input_tokens", usage.input_tokens),
        ("gen_ai.usage.output_tokens", usage.output_tokens),
        ("gen_ai.usage.cache_read.input_tokens", usage.cached_input_tokens),
        ("gen_ai.usage.cache_creation.input_tokens", usage.cache_written_tokens),
    ] {
        span.record(name, tokens);
    }
}

/// One attempt of the execution at work.
pub(super) fn attempt(seen: &Observation) {
    let kind = match seen.kind {
        AttemptKind::First => "first",
        AttemptKind::Retry => "retry",
        AttemptKind::Repair => "repair",
    };
    debug!(
        target: TARGET,
        number = seen.number,
        kind,
        error.r#type = (!seen.succeeded).then_some(seen.error_reason.as_str()),
        http.response.status_code = seen.http_status,
        provider_request_id = (!seen.provider_request_id.is_empty()).then_some(seen.provider_request_id.as_str()),
        request_bytes = seen.request_bytes,
        duration_ms = seen.duration_ms,
        first_byte_ms = seen.first_byte_ms,
        retry_after_ms = seen.retry_after_ms,
        "attempt"
    );
}
