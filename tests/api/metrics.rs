//! The metrics, as Prometheus asks for them: over plain HTTP on the port of the API.

use std::net::SocketAddr;

use antiphon::grpc::pb;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::server::{Running, scripted};
use crate::support::{ask, within};

/// The answer to a GET, head and body.
pub(crate) async fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    within("the metrics", stream.read_to_string(&mut answer)).await.unwrap();
    answer
}

fn has(answer: &str, line: &str) {
    assert!(answer.lines().any(|one| one == line), "{line} is not in {answer}");
}

/// S0-36: a drift of a schema is counted. So is what ran and what it cost, and nothing says a word that a caller chose.
#[tokio::test(flavor = "multi_thread")]
async fn what_happened_is_counted_without_content() {
    let rules = "[[backends.script.rules]]\nwhen = \"bad\"\nfault = { kind = \"status\", status = 400 }\n\
                 [[backends.script.rules]]\nusage = { input_tokens = 7, output_tokens = 3 }\ntext = \"canary answer\"\n";
    let server = Running::start(scripted(rules)).await;
    let mut client = server.exchanges();
    let version = |number: u32| {
        let tool = pb::Tool {
            input_schema_json: format!(r#"{{"type":"object","title":"v{number}"}}"#),
            ..ask::tool("canary_tool")
        };
        pb::ExecutionRequest {
            tools: Some(pb::ToolList { tools: vec![tool] }),
            ..ask::text_as(&format!("canary-run-{number}"), "canary question")
        }
    };
    let first = client.capture(ask::capture(version(1))).await.unwrap().into_inner().exchange.unwrap();
    client.r#continue(ask::after(&first.exchange_id, version(2))).await.unwrap();
    client.capture(ask::capture(ask::text("bad"))).await.unwrap_err();
    let run = |text| pb::RunRequest {
        execution: Some(pb::run_request::Execution::Request(ask::text(text))),
        ..pb::RunRequest::default()
    };
    client.run(run("not kept")).await.unwrap();
    client.run(run("bad")).await.unwrap_err();
    // Any caller could make as many series as there are names.
    let named = pb::ExecutionRequest { model: "canary-model".into(), ..ask::text("x") };
    client.capture(ask::capture(named)).await.unwrap();
    let answer = get(server.address(), "/metrics").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("application/openmetrics-text"), "{answer}");
    has(&answer, "antiphon_tool_schema_drifts_total 1");
    has(&answer, "antiphon_run_steps_total{state=\"COMPLETED\"} 4");
    has(&answer, "antiphon_run_steps_total{state=\"FAILED\"} 2");
    for counted in ["antiphon_store_writes_total", "antiphon_store_groups_total", "antiphon_store_written_bytes_total"]
    {
        let line = answer.lines().find_map(|line| line.strip_prefix(&format!("{counted} "))).unwrap_or("0");
        assert!(line.parse::<u64>().unwrap() > 0, "{counted}: {answer}");
    }
    has(&answer, "antiphon_provider_calls_total{backend=\"script\",outcome=\"OK\"} 4");
    has(&answer, "antiphon_provider_calls_total{backend=\"script\",outcome=\"PROVIDER_REFUSED_REQUEST\"} 2");
    let labels = "gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"scripted\",gen_ai_request_model=\"canned-1\",backend=\"script\"";
    has(&answer, &format!("gen_ai_client_token_usage_sum{{{labels},gen_ai_token_type=\"input\"}} 21.0"));
    has(&answer, &format!("gen_ai_client_operation_duration_seconds_count{{{labels}}} 3"));
    let failed = "error_type=\"PROVIDER_REFUSED_REQUEST\"";
    has(&answer, &format!("gen_ai_client_operation_duration_seconds_count{{{labels},{failed}}} 2"));
    has(&answer, "antiphon_backend_at_work{backend=\"script\"} 0");
    has(&answer, "antiphon_backend_capacity{backend=\"script\"} 16");
    has(&answer, "antiphon_store_writable 1");
    has(&answer, "antiphon_runs_at_work 0");
    has(&answer, "antiphon_rpcs_total{method=\"ExchangeService/Capture\",code=\"OK\"} 2");
    has(&answer, "antiphon_rpcs_total{method=\"ExchangeService/Run\",code=\"INVALID_ARGUMENT\"} 1");
    has(&answer, "antiphon_rpcs_at_work{method=\"ExchangeService/Capture\"} 0");
    has(&answer, "antiphon_rpc_duration_seconds_count{method=\"ExchangeService/Continue\"} 1");
    assert!(!answer.contains("canary"), "{answer}");
}

/// What alerts and dashboards ask for is there: a name that was changed would silence them.
#[tokio::test(flavor = "multi_thread")]
async fn what_deployments_watch_is_counted() {
    let server = Running::start(scripted("")).await;
    let first = ask::capture_on_new("t", ask::text("x"));
    let first = server.exchanges().capture(first).await.unwrap().into_inner().exchange.unwrap();
    let offering = |title: &str| {
        let schema = format!(r#"{{"type":"object","title":"{title}"}}"#);
        let tool = pb::Tool { input_schema_json: schema, ..ask::tool("w") };
        pb::ExecutionRequest { tools: Some(pb::ToolList { tools: vec![tool] }), ..ask::text("x") }
    };
    let second = ask::after(&first.exchange_id, offering("a"));
    let second = server.exchanges().r#continue(second).await.unwrap().into_inner().exchange.unwrap();
    server.exchanges().r#continue(ask::after(&second.exchange_id, offering("b"))).await.unwrap();
    let answer = get(server.address(), "/metrics").await;
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy");
    let mut seen = 0;
    for file in ["prometheus-alerts.yaml", "grafana-dashboard.json"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let words = text.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_');
        let is_metric = |word: &&str| {
            word.starts_with("antiphon_") || word.starts_with("gen_ai_client_") && !word.starts_with("gen_ai_request")
        };
        for name in words.filter(is_metric) {
            assert!(answer.contains(&format!("\n{name}")), "{file} asks for {name}, which is not in {answer}");
            seen += 1;
        }
    }
    assert!(seen > 20);
}
