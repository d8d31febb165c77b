//! Ephemeral coordinations: the same loop, and nothing of it is on record, not while it is at work and not afterwards.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::coordinate_request::Frame as Say;
use pb::coordination_ended::Outcome;
use tonic::Code;

use super::{asked, asked_on_thread, coordinations};
use crate::support::coordinate::{Loop, attach, results, start, start_on, start_with, stop, turn, turn_of};
use crate::support::provider::{Gate, Outcome as Answered};
use crate::support::server::{Running, scripted};
use crate::support::{ask, refused, within};
use crate::{look, stub};

fn fleeting(start: pb::CoordinationStart) -> pb::CoordinationStart {
    pb::CoordinationStart { ephemeral: true, ..start }
}

/// How much is on record: coordinations, runs, exchanges as far as stats tell.
async fn on_record(server: &Running) -> (usize, Vec<String>) {
    let listed = coordinations(server).list(pb::CoordinationServiceListRequest::default()).await.unwrap().into_inner();
    (listed.coordinations.len(), look::runs(server).await)
}

/// A whole loop, with tools inside and a thread that is not moved: results come inline, the history is right, and nothing stays.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_it_stays() {
    let script = [
        stub::text("one"),
        stub::calls(&[("a", "look", "{}"), ("b", "look", "{}")]),
        stub::text("seen both"),
        stub::text("three"),
    ];
    let (provider, server, first) = asked_on_thread(script, "").await;
    let before = on_record(&server).await;
    let mut stream = Loop::start(&server, fleeting(start_on("t", 3))).await;
    assert_eq!(stream.started().await.coordination_id, "");
    assert_eq!(stream.decision().await.exchange.unwrap().exchange_id, first);
    let mut made = Vec::new();
    stream.act(turn(ask::text_as("r1", "first"))).await;
    made.push(stream.decision().await.exchange.unwrap());
    stream.act(turn(stub::offering("r2", "second"))).await;
    let batch = stream.tools().await;
    stream.say(results("", vec![ask::result("b", "right")])).await;
    stream.say(results("", vec![ask::result("a", "left")])).await;
    made.push(stream.decision().await.exchange.unwrap());
    stream.act(turn_of("third")).await;
    made.push(stream.decision().await.exchange.unwrap());
    let texts: Vec<_> = made.iter().map(|exchange| exchange.text.as_str()).collect();
    assert_eq!(texts, ["one", "seen both", "three"]);
    assert_eq!(on_record(&server).await, before, "nor while it is at work");
    stream.act(turn_of("fourth")).await;
    assert_eq!(stream.ended().await.0.outcome, Some(Outcome::Exhausted(pb::CoordinationExhausted {})));
    let sent = stub::sent(&provider.request(4).await.json());
    let wanted = ["begin", "zero", "first", "one", "second", "null", "left", "right", "seen both", "third"];
    assert_eq!(sent.len(), wanted.len());
    for (sent, wanted) in sent.iter().zip(wanted) {
        assert!(sent.contains(wanted), "{sent} is not {wanted}");
    }
    let server = server.restart().await;
    assert_eq!(on_record(&server).await, before);
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, first);
    for exchange in made.iter().chain(&batch.exchange) {
        let refusal = server.exchanges().inspect(ask::inspect(&exchange.exchange_id)).await.unwrap_err();
        refused::is(&refusal, Code::NotFound, Reason::ExchangeNotFound);
    }
    for run_id in ["r1", "r2"] {
        refused::is(&look::no_run(&server, run_id).await, Code::NotFound, Reason::RunNotFound);
    }
}

// Where the results of tools came before the server had looked at the end of the step that asked for them, it took the step that the results began for
// one whose end was lost, and broke the stream.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_may_come_at_once() {
    const ROUNDS: usize = 12;
    let rule = "[[backends.script.rules]]\non = \"any\"\ntool_calls = [{ name = \"look\" }]\n";
    let server = Running::start(scripted(rule)).await;
    let one = async |number: usize| {
        let first =
            pb::ExecutionRequest { tools: ask::tools(&["look"]), ..ask::text_as(&format!("r{number}"), "begin") };
        let mut stream = Loop::start(&server, fleeting(start_with(first, 1))).await;
        for _ in 0..ROUNDS {
            let batch = stream.tools().await;
            let calls = batch.calls.iter().filter_map(|needed| needed.call.as_ref());
            let answers = calls.map(|call| ask::result(&call.call_id, "seen")).collect();
            stream.say(results(&batch.batch_id, answers)).await;
        }
    };
    within("all rounds", futures::future::join_all((0..32).map(one))).await;
}

/// It ends with its stream: half-closed, broken, suspended in vain; a turn at work is cancelled.
#[tokio::test(flavor = "multi_thread")]
async fn it_ends_with_its_stream() {
    let gate = Gate::closed();
    let (provider, server, exchange) = asked([stub::text("never").wait(&gate)], "").await;
    let mut stream = Loop::start(&server, fleeting(start(&exchange, 3))).await;
    stream.decision().await;
    stream.say(Say::Suspend(pb::CoordinationSuspend {})).await;
    assert_eq!(stream.rejected().await.error.unwrap().code, Code::InvalidArgument as i32);
    stream.half_close();
    let (ended, status) = stream.ended().await;
    assert!(matches!(ended.outcome, Some(Outcome::Cancelled(_))));
    assert_eq!(status.unwrap().code(), Code::Cancelled);
    let mut stream = Loop::start(&server, fleeting(start(&exchange, 3))).await;
    stream.decision().await;
    stream.act(turn_of("go on")).await;
    provider.request(1).await;
    drop(stream);
    assert_eq!(provider.outcome(1).await, Answered::ClientClosed);
    let begin = pb::CoordinationStart { coordination_id: "named".into(), ..fleeting(start(&exchange, 3)) };
    let refusal = Loop::start(&server, begin).await.refused().await;
    assert_eq!(refused::fields(&refusal), ["start.coordination_id"]);
    let mut begin = fleeting(start_with(ask::text("x"), 1));
    let Some(pb::coordination_start::From::InitialRequest(initial)) = &mut begin.from else { panic!() };
    initial.thread = Some(pb::initial_request::Thread::NewThread(pb::NewThread::default()));
    let refusal = Loop::start(&server, begin).await.refused().await;
    assert_eq!(refused::fields(&refusal), ["start.initial_request.new_thread"]);
    let refusal = Loop::open(&server, attach("")).await.refused().await;
    assert_eq!(refusal.code(), Code::InvalidArgument);
}

/// A tool that needs a person is refused, in a turn and in an initial request: nobody could come back with the answer.
#[tokio::test(flavor = "multi_thread")]
async fn no_person_can_answer_it() {
    let (provider, server, exchange) = asked([], "").await;
    let sign = pb::Tool { requires_human: true, ..ask::tool("sign") };
    let request = || pb::ExecutionRequest {
        tools: Some(pb::ToolList { tools: vec![sign.clone()] }),
        ..ask::text_as("r", "have it signed")
    };
    let refusal = Loop::start(&server, fleeting(start_with(request(), 1))).await.refused().await;
    refused::is(&refusal, Code::FailedPrecondition, Reason::ToolNotAllowed);
    let mut stream = Loop::start(&server, fleeting(start(&exchange, 1))).await;
    let pending = stream.decision().await.decision_id;
    stream.act(turn(request())).await;
    let rejected = stream.rejected().await;
    assert_eq!((rejected.id, rejected.error.unwrap().reason.as_str()), (pending, "TOOL_NOT_ALLOWED"));
    stream.act(stop()).await;
    assert!(stream.ended().await.1.is_none());
    assert_eq!(provider.count(), 1);
}
