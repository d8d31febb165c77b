//! A panic in one call: that call fails, and no other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use antiphon::domain::fault::Reason;
use antiphon::domain::source::Ids;
use antiphon::grpc::pb;
use antiphon::ops::source::RandomIds;
use tonic::{Code, Request, Status};
use uuid::Uuid;

use crate::support::provider::{Gate, Provider};
use crate::support::server::{Running, Sources, openai};
use crate::support::{ask, look, refused, stub};

/// Ids that panic once when told to: a fault in the middle of whatever asks for one.
#[derive(Default)]
struct Trap(AtomicBool);

impl Trap {
    fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Ids for Trap {
    fn uuid(&self) -> Uuid {
        assert!(!self.0.swap(false, Ordering::AcqRel), "words from inside");
        RandomIds.uuid()
    }
}

async fn verify(server: &Running) -> Vec<pb::verify_response::Event> {
    let mut stream = server.admin().verify(pb::VerifyRequest::default()).await.unwrap().into_inner();
    let mut events = Vec::new();
    while let Some(message) = stream.message().await.unwrap() {
        events.extend(message.event);
    }
    events
}

/// With a request id, so that the first id that is asked for is the handler's.
fn named<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("antiphon-request-id", "named".parse().unwrap());
    request
}

fn broke(status: &Status) {
    refused::is(status, Code::Internal, Reason::Internal);
    assert!(!format!("{status:?}").contains("words from inside"), "what happened inside stays inside: {status:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn b139_a_panic_ends_its_own_call_alone() {
    let gate = Gate::closed();
    let script = [stub::text("beside").wait(&gate), stub::text("lost").wait(&gate), stub::text("after")];
    let provider = Provider::start(script).await;
    let trap = Arc::new(Trap::default());
    let sources = Sources { ids: trap.clone(), ..Sources::real() };
    let server = Running::start_with(openai(&provider.base_url()), sources).await;
    let mut client = server.exchanges();

    // In the handler, before anything is claimed, while another call is at work.
    let mut other = server.exchanges();
    let beside = tokio::spawn(async move { other.capture(ask::capture_on_new("b", ask::text_as("b", "x"))).await });
    provider.request(0).await;
    trap.set();
    broke(&client.capture(named(ask::capture(ask::text("x")))).await.unwrap_err());
    assert_eq!((provider.count(), look::runs(&server).await), (1, vec!["b".to_owned()]));

    // In the run itself, with its answer in hand.
    let mut third = server.exchanges();
    let lost = tokio::spawn(async move { third.capture(ask::capture_on_new("t", ask::text_as("r", "x"))).await });
    provider.request(1).await;
    trap.set();
    gate.open();
    let ends = [beside.await.unwrap(), lost.await.unwrap()];
    let broken: Vec<_> = ends.iter().filter_map(|end| end.as_ref().err()).collect();
    assert_eq!(broken.len(), 1, "{ends:?}");
    broke(broken[0]);
    let run_id = refused::fact(broken[0], "run_id");
    let thread_id = if run_id == "r" { "t" } else { "b" };
    let thread = look::thread(&server, thread_id).await;
    assert_eq!((thread.head_exchange_id.as_str(), thread.turn_count), ("", 0), "no exchange of it");
    let run = look::run(&server, &run_id).await;
    assert_eq!((run.state(), run.exchange_id.as_str()), (pb::RunState::Interrupted, ""));

    // The server works on, and so do the run and its thread.
    let again = || ask::capture_on_new(thread_id, pb::ExecutionRequest { retry: true, ..ask::text_as(&run_id, "x") });
    let done = client.capture(again()).await.unwrap().into_inner();
    assert_eq!((done.exchange.unwrap().text.as_str(), done.run.unwrap().attempt), ("after", 2));
    let findings = |events: &[pb::verify_response::Event]| {
        events.iter().filter(|event| matches!(event, pb::verify_response::Event::Finding(_))).count()
    };
    assert_eq!(findings(&verify(&server).await), 0);
    let server = server.restart().await;
    assert_eq!(findings(&verify(&server).await), 0);
    assert_eq!(look::thread(&server, thread_id).await.turn_count, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn b139_a_panic_in_a_stream_or_a_probe_is_told_as_every_error() {
    let (gate, probe_gate) = (Gate::closed(), Gate::closed());
    let script = [
        stub::text("one"),
        stub::begun("half").wait(&gate).write(stub::end("stop")),
        stub::calls(&[("p1", "look", "{}")]).wait(&probe_gate),
        stub::text("after"),
    ];
    let provider = Provider::start(script).await;
    let trap = Arc::new(Trap::default());
    let sources = Sources { ids: trap.clone(), ..Sources::real() };
    let server = Running::start_with(openai(&provider.base_url()), sources).await;
    let first = server.exchanges().capture(ask::capture_on_new("t", ask::text("1"))).await.unwrap().into_inner();
    let first = first.exchange.unwrap().exchange_id;
    let turn = Some(ask::on_thread(ask::on("t"), ask::text_as("r", "2")));
    let request = pb::StreamContinueRequest { turn };
    let mut stream = server.exchanges().stream_continue(request).await.unwrap().into_inner();
    while !format!("{:?}", stream.message().await.unwrap().unwrap()).contains("half") {}
    trap.set();
    gate.open();
    let broken = loop {
        match stream.message().await {
            Ok(message) => assert!(message.is_some(), "it ends with an error"),
            Err(status) => break status,
        }
    };
    broke(&broken);
    assert!(matches!(stream.message().await, Ok(None)));
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, first);

    // A probe asks for an id when its call is named.
    let mut client = server.exchanges();
    let tools = ask::tools(&["look"]);
    let probe = ask::probe(&first, pb::ExecutionRequest { tools, ..ask::text("3") });
    let probing = async {
        provider.request(2).await;
        trap.set();
        probe_gate.open();
    };
    let (probed, ()) = tokio::join!(client.probe(probe), probing);
    broke(&probed.unwrap_err());
    let next = client.r#continue(ask::on_thread(ask::on("t"), ask::text("4"))).await.unwrap().into_inner();
    assert_eq!(next.exchange.unwrap().text, "after");
}
