//! Traces, as a collector gets them from the real program: from the caller's own over the RPC and the run to the call of the provider, which is told of
//! it, with each attempt; and no word of what was said.

use std::collections::BTreeMap;
use std::process::Stdio;

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

use crate::stub;
use crate::support::program::Program;
use crate::support::provider::{Gate, Outcome, Provider};
use crate::support::server::openai_with;
use crate::support::{ask, within};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

/// A collector that passes on what it gets.
struct Collector(UnboundedSender<ExportTraceServiceRequest>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0.send(request.into_inner()).map_err(|_| Status::unavailable("the test is over"))?;
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

/// A collector, and what it gets.
pub(crate) async fn collector() -> (String, UnboundedReceiver<ExportTraceServiceRequest>) {
    let (send, receive) = unbounded_channel();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = tonic::transport::Server::builder().add_service(TraceServiceServer::new(Collector(send)));
    tokio::spawn(service.serve_with_incoming(TcpListenerStream::new(listener)));
    (format!("http://{address}"), receive)
}

/// Every span that a server sent until it had ended.
async fn spans(mut batches: UnboundedReceiver<ExportTraceServiceRequest>, count: usize) -> (Vec<Span>, String) {
    let (mut spans, mut said) = (Vec::new(), String::new());
    while spans.len() < count {
        let batch = within("spans", batches.recv()).await.expect("the collector runs");
        said.push_str(&format!("{batch:?}"));
        let scopes = batch.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        spans.extend(scopes.flat_map(|scope| scope.spans));
    }
    (spans, said)
}

fn facts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let shown = |one: &KeyValue| {
        let value = match one.value.as_ref().and_then(|value| value.value.as_ref()) {
            Some(Value::StringValue(text)) => text.clone(),
            Some(Value::IntValue(number)) => number.to_string(),
            Some(Value::DoubleValue(number)) => number.to_string(),
            Some(Value::BoolValue(yes)) => yes.to_string(),
            other => format!("{other:?}"),
        };
        (one.key.clone(), value)
    };
    attributes.iter().map(shown).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_leads_from_the_caller_to_the_provider_and_holds_no_content() {
    let (endpoint, batches) = collector().await;
    let answer = stub::metered("the-canary answers", 7, 3);
    let provider = Provider::start([stub::status(503, "down, said the-canary"), answer]).await;
    let more = "api_key_file = \"key\"\nretry = { base_ms = 1, max_ms = 1 }\n";
    let config = format!("{}[traces]\notlp_endpoint = \"{endpoint}\"\n", openai_with(&provider.base_url(), more));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key"), "sk-the-canary").unwrap();
    let mut program = Program::start(folder.path(), &config).await;
    let mut request = Request::new(ask::capture(ask::text_as("r", "tell me of the-canary")));
    let parent = format!("00-{TRACE}-{CALLER}-01");
    request.metadata_mut().insert("traceparent", parent.parse().unwrap());
    request.metadata_mut().insert("antiphon-request-id", "my-request".parse().unwrap());
    program.exchanges().capture(request).await.unwrap();
    let refused = ask::after("00000000-0000-0000-0000-000000000000", ask::text("the-canary"));
    program.exchanges().r#continue(refused).await.unwrap_err();
    program.terminate().await;

    // Each of the two calls, the run of each, and the call of the provider.
    let (spans, said) = spans(batches, 5).await;
    assert!(!said.contains("canary"), "{said}");
    assert!(said.contains("service.name") && said.contains("antiphon"));
    let of =
        |name: &str| spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no {name}: {spans:#?}"));
    let (rpc, call) = (of("antiphon.v1.ExchangeService/Capture"), of("chat stub-1"));
    // The span of a run may end after its answer, and so after that of the next.
    let run = spans.iter().find(|span| span.name == "run" && span.trace_id == rpc.trace_id).expect("its run");
    assert_eq!((hex(&rpc.trace_id).as_str(), hex(&rpc.parent_span_id).as_str()), (TRACE, CALLER));
    assert_eq!([&run.parent_span_id, &call.parent_span_id], [&rpc.span_id, &run.span_id]);
    assert_eq!([&run.trace_id, &call.trace_id], [&rpc.trace_id, &rpc.trace_id]);

    let told = facts(&rpc.attributes);
    assert_eq!((told["rpc.method"].as_str(), told["antiphon.request_id"].as_str()), ("Capture", "my-request"));
    assert_eq!(told["rpc.grpc.status_code"], "0");
    assert_eq!(facts(&of("antiphon.v1.ExchangeService/Continue").attributes)["rpc.grpc.status_code"], "5");
    assert_eq!(facts(&run.attributes)["run_id"], "r");
    let told = facts(&call.attributes);
    for (key, value) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "openai"),
        ("gen_ai.request.model", "stub-1"),
        ("gen_ai.response.finish_reasons", "stop"),
        ("gen_ai.usage.input_tokens", "7"),
        ("gen_ai.usage.output_tokens", "3"),
    ] {
        assert_eq!(told[key], value, "{key}");
    }
    let attempts: Vec<_> = call.events.iter().filter(|event| event.name == "attempt").collect();
    let first = facts(&attempts[0].attributes);
    assert_eq!(attempts.len(), 2);
    assert_eq!(
        (first["http.response.status_code"].as_str(), first["error.type"].as_str()),
        ("503", "PROVIDER_UNAVAILABLE")
    );

    // Both requests named the span of the call.
    for number in [0, 1] {
        let sent = provider.request(number).await;
        assert_eq!(sent.header("traceparent").unwrap(), format!("00-{TRACE}-{}-01", hex(&call.span_id)));
    }
}

/// S3x-11: a probe is in the trace of its caller, with its call of the provider, and its spans end when it is cancelled, not with the server.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_probe_ends_its_spans() {
    let (endpoint, mut batches) = collector().await;
    let gate = Gate::closed();
    let script = [stub::text("first"), stub::text("probe").wait(&gate), stub::text("after")];
    let provider = Provider::start(script).await;
    let config = format!("{}[traces]\notlp_endpoint = \"{endpoint}\"\n", openai_with(&provider.base_url(), ""));
    let folder = tempfile::tempdir().unwrap();
    let mut program = Program::start(folder.path(), &config).await;
    let first = program.exchanges().capture(ask::capture(ask::text("one"))).await.unwrap().into_inner();
    let mut request = Request::new(ask::probe(&first.exchange.unwrap().exchange_id, ask::text("two")));
    request.metadata_mut().insert("traceparent", format!("00-{TRACE}-{CALLER}-01").parse().unwrap());
    let mut client = program.exchanges();
    let probe = tokio::spawn(async move { client.probe(request).await });
    provider.request(1).await;
    probe.abort();
    assert!(probe.await.unwrap_err().is_cancelled());
    assert_eq!(provider.outcome(1).await, Outcome::ClientClosed);
    program.exchanges().capture(ask::capture(ask::text("after"))).await.unwrap();
    program.terminate().await;

    let mut spans = Vec::new();
    while let Ok(batch) = batches.try_recv() {
        let scopes = batch.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        spans.extend(scopes.flat_map(|scope| scope.spans));
    }
    let captures = spans.iter().filter(|span| span.name == "antiphon.v1.ExchangeService/Capture");
    let after = captures.map(|span| span.end_time_unix_nano).max().expect("the calls before and after");
    let of_probe: Vec<_> = spans.iter().filter(|span| hex(&span.trace_id) == TRACE).collect();
    let of =
        |name: &str| of_probe.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name}: {spans:#?}"));
    let (rpc, call) = (of("antiphon.v1.ExchangeService/Probe"), of("chat stub-1"));
    assert_eq!(hex(&rpc.parent_span_id), CALLER);
    assert!(rpc.end_time_unix_nano < after && call.end_time_unix_nano < after, "{of_probe:#?}");
}

/// Where providers are not to know, they are not told; and a collector that is not there stops nobody.
#[tokio::test(flavor = "multi_thread")]
async fn providers_are_told_only_where_they_may_know() {
    let provider = Provider::start([stub::text("a"), stub::text("b")]).await;
    for more in ["[traces]\notlp_endpoint = \"http://127.0.0.1:1\"\npass_to_providers = false\n", ""] {
        let config = format!("{}{more}", openai_with(&provider.base_url(), ""));
        let folder = tempfile::tempdir().unwrap();
        let program = Program::start(folder.path(), &config).await;
        let mut request = Request::new(ask::capture(ask::text("x")));
        request.metadata_mut().insert("traceparent", format!("00-{TRACE}-{CALLER}-01").parse().unwrap());
        let answer = program.exchanges().capture(request).await.unwrap().into_inner();
        assert!(!answer.exchange.unwrap().exchange_id.is_empty());
        program.kill();
    }
    for number in [0, 1] {
        assert_eq!(provider.request(number).await.header("traceparent"), None);
    }
}

/// What cannot be an address is refused before anything is served.
#[test]
fn an_address_that_is_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("antiphon.toml");
    std::fs::write(&path, "[traces]\notlp_endpoint = \"localhost\"\nsample_ratio = 2.0\n").unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_antiphon"));
    let said = command.args(["check", "--config"]).arg(&path).stdin(Stdio::null()).output().unwrap();
    let told = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(told.contains("traces.otlp_endpoint: must begin with http://"), "{told}");
    assert!(told.contains("traces.sample_ratio: must be 0 to 1"), "{told}");
}
