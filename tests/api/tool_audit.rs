//! Tools under audit: which call could use which, and where the input schema of one changed on a path (S0-31 to S0-37).

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::coordinate_response::Frame;
use tonic::Code;

use crate::support::coordinate::{Loop, start_with, turn};
use crate::support::provider::{Entry, Provider};
use crate::support::server::{Running, openai};
use crate::support::{ask, look, refused};

mod lists;
mod trees;

/// A tool of a name, with an input schema that differs by version.
fn version(name: &str, version: u32) -> pb::Tool {
    pb::Tool { input_schema_json: format!(r#"{{"type":"object","title":"secret {version}"}}"#), ..ask::tool(name) }
}

fn offering(tools: &[(&str, u32)]) -> pb::ExecutionRequest {
    let tools = tools.iter().map(|(name, number)| version(name, *number)).collect();
    pb::ExecutionRequest { tools: Some(pb::ToolList { tools }), ..ask::text("hello") }
}

fn strict(tools: &[(&str, u32)]) -> pb::ExecutionRequest {
    pb::ExecutionRequest { on_tool_drift: pb::ToolDriftPolicy::Refuse.into(), ..offering(tools) }
}

async fn begin(server: &Running, tools: &[(&str, u32)]) -> pb::Exchange {
    server.exchanges().capture(ask::capture(offering(tools))).await.unwrap().into_inner().exchange.unwrap()
}

async fn go_on(server: &Running, after: &pb::Exchange, tools: &[(&str, u32)]) -> pb::Exchange {
    let request = ask::after(&after.exchange_id, offering(tools));
    server.exchanges().r#continue(request).await.unwrap().into_inner().exchange.unwrap()
}

/// The messages of the warnings about drift.
fn drifts(warnings: &[pb::Warning]) -> Vec<&str> {
    warnings.iter().filter(|w| w.code == "tool_schema_drift").map(|w| w.message.as_str()).collect()
}

/// S0-36: the call goes on and says what changed since when, by hashes and without a word of the schemas; so does its record.
#[tokio::test(flavor = "multi_thread")]
async fn a_drift_is_warned_about_in_the_result_the_record_and_the_stream() {
    let server = Running::echo().await;
    let first = begin(&server, &[("look", 1), ("same", 1)]).await;
    let between = go_on(&server, &first, &[("other", 1)]).await;
    assert_eq!(drifts(&between.warnings), Vec::<&str>::new());
    let request = ask::after(&between.exchange_id, offering(&[("look", 2), ("same", 1)]));
    let request = pb::StreamContinueRequest { turn: Some(request) };
    let mut stream = server.exchanges().stream_continue(request).await.unwrap().into_inner();
    let (mut warned, mut completed) = (Vec::new(), None);
    while let Some(response) = stream.message().await.unwrap() {
        match response.event.unwrap() {
            pb::stream_continue_response::Event::Progress(pb::Progress { event: Some(event) }) => {
                if let pb::progress::Event::Warning(warning) = event {
                    assert!(completed.is_none());
                    warned.push(warning);
                }
            }
            pb::stream_continue_response::Event::Completed(done) => completed = done.exchange,
            other => panic!("{other:?}"),
        }
    }
    let drifted = completed.unwrap();
    assert_eq!(warned, drifted.warnings);
    let message = drifts(&drifted.warnings)[0];
    let hash = |exchange: &pb::Exchange| exchange.tools.clone().unwrap().offered.unwrap().tools[0].schema_hash.clone();
    for part in ["`look`", &first.exchange_id, &hash(&first), &hash(&drifted)] {
        assert!(message.contains(part), "{part} in {message}");
    }
    assert!(!message.contains("secret"), "{message}");
    let inspected = server.exchanges().inspect(ask::inspect(&drifted.exchange_id)).await.unwrap().into_inner();
    assert_eq!(inspected.exchange.unwrap().warnings, drifted.warnings);
    // Once is enough: what it is now is what the next one is compared with; and the way back is a change again.
    let still = go_on(&server, &drifted, &[("look", 2)]).await;
    assert_eq!(still.warnings, []);
    let back = go_on(&server, &still, &[("look", 1)]).await;
    assert!(drifts(&back.warnings)[0].contains(&drifted.exchange_id), "{:?}", back.warnings);
}

/// S0-36 on branches: a fork knows what its own path had, and its source learns nothing from it.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_is_compared_with_its_own_path() {
    let server = Running::echo().await;
    let first = begin(&server, &[("look", 1)]).await;
    let second = go_on(&server, &first, &[("look", 2)]).await;
    let branches = vec![
        ask::branch("as-before", Some(offering(&[("look", 1)]))),
        ask::branch("as-later", Some(offering(&[("look", 2)]))),
        ask::branch("else", Some(strict(&[("look", 3)]))),
    ];
    let results = server.exchanges().fork(ask::fork(&first.exchange_id, branches)).await.unwrap().into_inner().results;
    let warned = |result: &pb::ForkResult| drifts(&result.exchange.clone().unwrap().warnings).len();
    assert_eq!((warned(&results[0]), warned(&results[1])), (0, 1));
    let error = results[2].error.clone().unwrap();
    assert_eq!((error.reason.as_str(), error.code), ("TOOL_SCHEMA_DRIFT", Code::FailedPrecondition as i32));
    // The branch that went on before is as it was, also for what is told after a restart.
    let server = server.restart().await;
    assert_eq!(go_on(&server, &second, &[("look", 2)]).await.warnings, []);
}

/// A refusal comes before the claim: the id stays free, the head where it was.
#[tokio::test(flavor = "multi_thread")]
async fn a_drift_is_refused_where_the_request_asks_for_that() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    let begun = client.capture(ask::capture_on_new("t", strict(&[("look", 1)]))).await.unwrap().into_inner();
    let first = begun.exchange.unwrap();
    let named = |request| pb::ExecutionRequest { run_id: "r".into(), ..request };
    let changed = named(strict(&[("new", 1), ("look", 2)]));
    let on_thread = ask::on_thread(ask::on("t"), changed.clone());
    let status = client.r#continue(on_thread.clone()).await.unwrap_err();
    refused::is(&status, Code::FailedPrecondition, Reason::ToolSchemaDrift);
    assert_eq!(refused::fact(&status, "tool"), "look");
    assert_eq!(refused::fact(&status, "exchange_id"), first.exchange_id);
    assert_ne!(refused::fact(&status, "schema_hash"), refused::fact(&status, "previous_schema_hash"));
    let probed = client.probe(ask::probe(&first.exchange_id, strict(&[("look", 2)]))).await.unwrap_err();
    refused::is(&probed, Code::FailedPrecondition, Reason::ToolSchemaDrift);
    look::no_run(&server, "r").await;
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, first.exchange_id);
    // The same id, with another wish; whether a drift is refused is part of what is asked.
    let warned = client.r#continue(ask::on_thread(ask::on("t"), named(offering(&[("look", 2)])))).await.unwrap();
    assert_eq!(drifts(&warned.into_inner().exchange.unwrap().warnings).len(), 1);
    let conflict = client.r#continue(on_thread).await.unwrap_err();
    refused::is(&conflict, Code::AlreadyExists, Reason::RunIdConflict);
    let unknown = pb::ExecutionRequest { on_tool_drift: 9, ..ask::text("x") };
    let unknown = client.capture(ask::capture(unknown)).await.unwrap_err();
    assert_eq!(refused::fields(&unknown), ["request.on_tool_drift"]);
}

/// What stands counts once it is offered: a turn that changed a tool for itself alone is followed by a change back.
#[tokio::test(flavor = "multi_thread")]
async fn standing_tools_drift_back() {
    let server = Running::echo().await;
    let first = begin(&server, &[("look", 1)]).await;
    let own = go_on(&server, &first, &[("look", 2)]).await;
    let request = ask::after(&own.exchange_id, ask::text("as ever"));
    let stood = server.exchanges().r#continue(request).await.unwrap().into_inner().exchange.unwrap();
    assert_eq!(drifts(&stood.warnings).len(), 1);
    assert_eq!(
        stood.tools.unwrap().offered.unwrap().tools[0].schema_hash,
        first.tools.unwrap().offered.unwrap().tools[0].schema_hash
    );
}

/// A probe is warned like any turn and leaves nothing for others to be warned by; what is recorded counts as what was said.
#[tokio::test(flavor = "multi_thread")]
async fn probes_are_warned_and_records_keep_their_warnings() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    let first = begin(&server, &[("look", 1)]).await;
    let request = pb::ExecutionRequest { text: "probe".into(), ..offering(&[("look", 2)]) };
    let probed = client.probe(ask::probe(&first.exchange_id, request)).await.unwrap().into_inner();
    assert_eq!(drifts(&probed.warnings).len(), 1);
    assert_eq!(go_on(&server, &first, &[("look", 1)]).await.warnings, []);
    // Promoted as it was, it is warned about where it is kept.
    let kept = client.record(probed.promotion.unwrap()).await.unwrap().into_inner();
    let inspected = client.inspect(ask::inspect(&kept.exchange_id)).await.unwrap().into_inner().exchange.unwrap();
    assert_eq!(drifts(&inspected.warnings), drifts(&probed.warnings));
    assert_eq!(go_on(&server, &inspected, &[("look", 2)]).await.warnings, []);
}

/// An uncaptured prefix is on the path of the turn that goes on from it.
#[tokio::test(flavor = "multi_thread")]
async fn the_tools_of_an_uncaptured_prefix_count() {
    let server = Running::echo().await;
    let tools = Some(pb::ToolList { tools: vec![version("look", 1)] });
    let prefix = || pb::UncapturedPrefix {
        rendered_messages: vec![ask::user("hi")],
        assistant: Some(ask::assistant("yes")),
        facts: Some(pb::RecordedFacts { tools: tools.clone(), ..Default::default() }),
        ..Default::default()
    };
    let from = |request| pb::ContinueRequest {
        from: Some(pb::continue_request::From::UncapturedPrefix(prefix())),
        input: Some(pb::continue_request::Input::Request(request)),
    };
    let status = server.exchanges().r#continue(from(strict(&[("look", 2)]))).await.unwrap_err();
    refused::is(&status, Code::FailedPrecondition, Reason::ToolSchemaDrift);
    let drifted = server.exchanges().r#continue(from(offering(&[("look", 2)]))).await.unwrap().into_inner();
    let drifted = drifted.exchange.unwrap();
    assert!(drifts(&drifted.warnings)[0].contains(&drifted.parent_exchange_id), "{:?}", drifted.warnings);
    // Now that it is stored, another turn on the same prefix finds what it had.
    let again = server.exchanges().r#continue(from(strict(&[("look", 2)]))).await.unwrap_err();
    assert_eq!(refused::fact(&again, "exchange_id"), drifted.parent_exchange_id);
}

/// In a coordination a refusal is a rejected answer: the decision stays, no turn is consumed. Ephemeral or kept, the warning comes on the way.
#[tokio::test(flavor = "multi_thread")]
async fn a_coordination_rejects_and_warns() {
    let server = Running::echo().await;
    for ephemeral in [false, true] {
        let begin = pb::CoordinationStart { ephemeral, ..start_with(offering(&[("look", 1)]), 2) };
        let mut stream = Loop::start(&server, begin).await;
        assert!(stream.decision().await.starting);
        stream.act(turn(strict(&[("look", 2)]))).await;
        let rejected = stream.rejected().await.error.unwrap();
        assert_eq!((rejected.reason.as_str(), rejected.metadata["tool"].as_str()), ("TOOL_SCHEMA_DRIFT", "look"));
        stream.act(turn(offering(&[("look", 2)]))).await;
        let decision = stream.decision().await;
        assert_eq!((decision.turns_started, drifts(&decision.exchange.unwrap().warnings).len()), (1, 1));
        let warned = |frame: &pb::CoordinateResponse| match &frame.frame {
            Some(Frame::Warning(warning)) => warning.code == "tool_schema_drift",
            _ => false,
        };
        assert_eq!(stream.seen.iter().filter(|frame| warned(frame)).count(), 1, "ephemeral: {ephemeral}");
        stream.act(turn(offering(&[("look", 2)]))).await;
        assert_eq!(stream.decision().await.exchange.unwrap().warnings, []);
    }
}

/// S0-37: calls and results of a tool that is no longer offered stay in what is sent and in what is kept.
#[tokio::test(flavor = "multi_thread")]
async fn the_history_keeps_calls_of_a_tool_that_is_no_longer_offered() {
    let call =
        serde_json::json!({"id": "p1", "type": "function", "function": {"name": "look", "arguments": "{\"q\":1}"}});
    let calling = serde_json::json!({
        "choices": [{"message": {"role": "assistant", "content": null, "tool_calls": [call]}, "finish_reason": "tool_calls"}],
    });
    let answer = serde_json::json!({
        "choices": [{"message": {"role": "assistant", "content": "done"}, "finish_reason": "stop"}],
    });
    let entries = [&calling, &answer, &answer].map(|body| Entry::json(&body.to_string()));
    let provider = Provider::start(entries).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let first = begin(&server, &[("look", 1)]).await;
    let call_id = first.pending_tool_calls[0].call_id.clone();
    let results = ask::after_with(&first.exchange_id, vec![ask::result(&call_id, "42")]);
    let done = server.exchanges().r#continue(results).await.unwrap().into_inner().exchange.unwrap();
    assert_eq!(done.warnings, [], "a step has the tools of its run");
    let later = go_on(&server, &done, &[]).await;
    let sent = provider.request(2).await.json();
    assert!(sent.get("tools").is_none(), "{sent}");
    let roles: Vec<_> = sent["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user"]);
    assert_eq!(sent["messages"][1]["tool_calls"][0]["function"]["name"], "look");
    let kept = look::history(&server, &later.exchange_id).await;
    assert_eq!(kept[1..3], ["A:call look {\"q\":1}", "T:result 42"]);
}
