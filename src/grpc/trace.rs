//! One span for each RPC, from its first byte to its last, below the caller's own where the caller brings a trace. It must not know any RPC.

use std::time::Duration;

use opentelemetry::global::get_text_map_propagator;
use opentelemetry::propagation::Extractor;
use tonic::codegen::http::{HeaderMap, HeaderName, Request, Response};
use tower_http::classify::{GrpcErrorsAsFailures, GrpcFailureClass, SharedClassifier};
use tower_http::trace::{MakeSpan, OnEos, OnFailure, OnResponse, TraceLayer};
use tracing::field::Empty;
use tracing::{Span, debug_span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use super::status::RequestId;

/// Spans that are for traces; a log has others.
const TARGET: &str = "antiphon::trace";
/// The services that have spans: ours. Those for health and reflection are called all the time by who only looks.
const PREFIX: &str = "/antiphon.v1.";

/// Makes the spans of RPCs.
#[derive(Clone, Copy, Debug)]
pub struct Rpc;

/// Gives each RPC its span.
pub type Layer = TraceLayer<SharedClassifier<GrpcErrorsAsFailures>, Rpc, (), Rpc, (), Rpc, Rpc>;

/// Gives each RPC its span.
pub fn layer() -> Layer {
    TraceLayer::new_for_grpc()
        .make_span_with(Rpc)
        .on_request(())
        .on_response(Rpc)
        .on_body_chunk(())
        .on_eos(Rpc)
        .on_failure(Rpc)
}

/// What a caller's headers say of its trace.
struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(HeaderName::as_str).collect()
    }
}

impl<B> MakeSpan<B> for Rpc {
    fn make_span(&mut self, request: &Request<B>) -> Span {
        let Some((service, method)) = request.uri().path().strip_prefix(PREFIX).and_then(|path| path.split_once('/'))
        else {
            return Span::none();
        };
        let span = debug_span!(
            target: TARGET,
            "rpc",
            otel.name = format!("antiphon.v1.{service}/{method}"),
            otel.kind = "server",
            otel.status_code = Empty,
            rpc.system = "grpc",
            rpc.service = format!("antiphon.v1.{service}"),
            rpc.method = method,
            rpc.grpc.status_code = Empty,
            antiphon.request_id = request.extensions().get::<RequestId>().map(RequestId::as_str),
        );
        if !span.is_disabled() {
            let parent = get_text_map_propagator(|propagator| propagator.extract(&Headers(request.headers())));
            // It only fails where no traces are kept.
            span.set_parent(parent).ok();
        }
        span
    }
}

impl<B> OnResponse<B> for Rpc {
    fn on_response(self, response: &Response<B>, _: Duration, span: &Span) {
        // An answer without a body has its status here; where there is none yet, it comes at the end.
        if response.headers().get("grpc-status").is_some_and(|status| status == "0") {
            span.record("rpc.grpc.status_code", 0);
        }
    }
}

impl OnEos for Rpc {
    fn on_eos(self, trailers: Option<&HeaderMap>, _: Duration, span: &Span) {
        if trailers.and_then(|trailers| trailers.get("grpc-status")).is_some_and(|status| status == "0") {
            span.record("rpc.grpc.status_code", 0);
        }
    }
}

impl OnFailure<GrpcFailureClass> for Rpc {
    fn on_failure(&mut self, failure: GrpcFailureClass, _: Duration, span: &Span) {
        match failure {
            GrpcFailureClass::Code(code) => {
                span.record("rpc.grpc.status_code", code.get());
                // The conventions take these for failures of the server, others for the caller's.
                if matches!(code.get(), 2 | 4 | 12 | 13 | 14 | 15) {
                    span.record("otel.status_code", "ERROR");
                }
            }
            // The connection broke.
            GrpcFailureClass::Error(_) => {
                span.record("otel.status_code", "ERROR");
            }
        }
    }
}
