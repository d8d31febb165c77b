//! Probes: an answer from a snapshot that leaves nothing behind.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::Code;

use crate::support::provider::Provider;
use crate::support::server::{Running, openai};
use crate::support::{ask, refused};
use crate::{look, stub};

fn tool(name: &str, side_effects: bool, requires_human: bool) -> pb::Tool {
    pb::Tool { side_effects, requires_human, ..ask::tool(name) }
}

fn offering(tools: Vec<pb::Tool>) -> pb::ExecutionRequest {
    pb::ExecutionRequest { tools: Some(pb::ToolList { tools }), ..ask::text("x") }
}

/// S3-17..23, B086: the answer with what it cost comes back, and everything that can be read is as before, also after a restart.
#[tokio::test(flavor = "multi_thread")]
async fn a_probe_leaves_nothing_behind() {
    let provider =
        Provider::start([stub::text("one"), stub::text("forty-two"), stub::text("three"), stub::text("four")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let first = client.capture(ask::capture_on_new("t", ask::text("1"))).await.unwrap().into_inner().exchange.unwrap();
    let before =
        (look::runs(&server).await, look::thread(&server, "t").await, look::history(&server, &first.exchange_id).await);
    let probed = client.probe(ask::probe(&first.exchange_id, ask::text("what is X?"))).await.unwrap().into_inner();
    assert_eq!(probed.text, "forty-two");
    assert_eq!(ask::texts(&probed.messages), ["U:what is X?", "A:forty-two"], "S3-19: only what the probe added");
    assert_eq!((probed.stop_reason(), probed.usage.unwrap().input_tokens), (pb::StopReason::Stop, Some(7)));
    assert_eq!((probed.observations.len(), probed.observations[0].succeeded), (1, true));
    assert_ne!(probed.run_id, first.run_id);
    assert_eq!(stub::sent(&provider.request(1).await.json()).len(), 3, "the whole history went out");
    let on_thread = pb::ThreadTurnPoint { thread_id: "t".into(), at: None };
    let on_thread = pb::ProbeRequest {
        from: Some(pb::probe_request::From::Thread(on_thread)),
        ..ask::probe(&first.exchange_id, ask::text("and Y?"))
    };
    assert_eq!(client.probe(on_thread).await.unwrap().into_inner().text, "three");
    let after =
        (look::runs(&server).await, look::thread(&server, "t").await, look::history(&server, &first.exchange_id).await);
    assert_eq!(before, after);
    let server = server.restart().await;
    let after =
        (look::runs(&server).await, look::thread(&server, "t").await, look::history(&server, &first.exchange_id).await);
    assert_eq!(before, after);
    server.exchanges().r#continue(ask::on_thread(ask::on("t"), ask::text("go on"))).await.unwrap();
    assert_eq!(stub::sent(&provider.request(3).await.json()), ["user:\"1\"", "assistant:\"one\"", "user:\"go on\""]);
    let run = look::no_run(&server, &probed.run_id).await;
    refused::is(&run, Code::NotFound, Reason::RunNotFound);
}

/// S3-24, S3-25: tools that need a person are refused, those that change something unless allowed, before any work; calls come back.
#[tokio::test(flavor = "multi_thread")]
async fn a_probe_refuses_tools_that_it_may_not_offer() {
    let provider = Provider::start([stub::text("one"), stub::calls(&[("p1", "write", "{}")])]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let standing = pb::ExecutionRequest { run_id: "r".into(), ..offering(vec![tool("ask_person", false, true)]) };
    let first = client.capture(ask::capture(standing)).await.unwrap().into_inner().exchange.unwrap().exchange_id;
    let allowing = |request| pb::ProbeRequest { allow_side_effects: true, ..ask::probe(&first, request) };
    let inherited = client.probe(ask::probe(&first, ask::text("x"))).await.unwrap_err();
    let human =
        client.probe(allowing(offering(vec![tool("look", false, false), tool("ask", false, true)]))).await.unwrap_err();
    let effects = client.probe(ask::probe(&first, offering(vec![tool("write", true, false)]))).await.unwrap_err();
    let told: Vec<_> = [&inherited, &human, &effects]
        .into_iter()
        .map(|refusal| {
            refused::is(refusal, Code::FailedPrecondition, Reason::ToolNotAllowed);
            (refused::fact(refusal, "tool"), refused::fact(refusal, "why"))
        })
        .collect();
    let expected = [("ask_person", "requires_human"), ("ask", "requires_human"), ("write", "side_effects")];
    assert_eq!(told, expected.map(|(tool, why)| (tool.to_owned(), why.to_owned())));
    assert_eq!(provider.count(), 1);
    let allowed = client.probe(allowing(offering(vec![tool("write", true, false)]))).await.unwrap().into_inner();
    assert_eq!((allowed.stop_reason(), provider.count()), (pb::StopReason::ToolCalls, 2));
}

/// S3-22: a probe has no id of the caller's, and nobody could fetch what it brought later.
#[tokio::test(flavor = "multi_thread")]
async fn a_probe_takes_no_run_id() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    let first = client.capture(ask::capture(ask::text("1"))).await.unwrap().into_inner().exchange.unwrap().exchange_id;
    let named = client.probe(ask::probe(&first, ask::text_as("r", "2"))).await.unwrap_err();
    assert_eq!(refused::fields(&named), ["request.run_id"]);
    let finish = pb::ExecutionRequest { on_disconnect: pb::OnDisconnect::Finish.into(), ..ask::text("2") };
    let finish = client.probe(ask::probe(&first, finish)).await.unwrap_err();
    assert_eq!(refused::fields(&finish), ["request.on_disconnect"]);
    let nowhere = client.probe(ask::probe("0190a5c1-7b1e-7000-8000-000000000000", ask::text("2"))).await.unwrap_err();
    refused::is(&nowhere, Code::NotFound, Reason::ExchangeNotFound);
}

/// A probe's answer has what makes it durable: recorded, it is an exchange after the one that it was made from.
#[tokio::test(flavor = "multi_thread")]
async fn a_probe_can_be_promoted() {
    let provider = Provider::start([stub::text("one"), stub::text("two")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let first = client.capture(ask::capture(ask::text("1"))).await.unwrap().into_inner().exchange.unwrap().exchange_id;
    let probed = client.probe(ask::probe(&first, ask::text("2"))).await.unwrap().into_inner();
    let recorded = client.record(probed.promotion.unwrap()).await.unwrap().into_inner();
    assert_eq!((recorded.stored_count, recorded.matched_count), (1, 0));
    let exchange = client.inspect(ask::inspect(&recorded.exchange_id)).await.unwrap().into_inner().exchange.unwrap();
    assert_eq!((exchange.parent_exchange_id.as_str(), exchange.depth), (first.as_str(), 2));
    assert_eq!((exchange.origin(), exchange.text.as_str()), (pb::ExchangeOrigin::Recorded, "two"));
    let usage = exchange.usage.unwrap();
    assert_eq!((usage.reported, usage.output_tokens), (true, Some(3)));
    assert_eq!(exchange.responder.unwrap().model, "stub-1");
}
