//! Others at the same runs, threads and exchanges: what a coordination makes of what was done beside it.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::coordinate_response::Frame as Told;
use pb::next_action::Action;
use tonic::Code;

use super::{asked, asked_on_thread, begun, cancel, got};
use crate::support::coordinate::{Loop, results, start, start_on, stop, turn, turn_of};
use crate::support::server::{Running, scripted};
use crate::support::{ask, refused};
use crate::{look, stub};

fn with_results(results: Vec<pb::ToolResult>) -> Action {
    let input = Some(pb::next_turn::Input::ToolResults(ask::results(results)));
    Action::Turn(pb::NextTurn { input, ..pb::NextTurn::default() })
}

/// Calls that a presented exchange left open are answered by the next turn, which is one of the budget.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_may_bring_the_results_of_what_is_presented() {
    let script = [stub::calls(&[("a", "look", "{}"), ("b", "look", "{}")]), stub::text("done"), stub::text("more")];
    let (provider, server, _) = asked_on_thread(script, "").await;
    let begin = pb::CoordinationStart { tool_round_limit: Some(0), ..start_on("t", 3) };
    let mut stream = Loop::start(&server, begin).await;
    stream.decision().await;
    stream.act(turn(stub::offering("r", "look"))).await;
    let presented = stream.decision().await;
    assert_eq!(presented.exchange.unwrap().pending_tool_calls.len(), 2);
    stream.act(with_results(vec![ask::result("a", "left")])).await;
    assert_eq!(stream.rejected().await.error.unwrap().code, Code::InvalidArgument as i32);
    stream.act(with_results(vec![ask::result("b", "right"), ask::result("a", "left")])).await;
    let next = stream.decision().await;
    assert_eq!((next.exchange.unwrap().text.as_str(), next.turns_started), ("done", 2));
    stream.act(turn_of("more")).await;
    assert_eq!(stream.decision().await.exchange.unwrap().text, "more");
    let sent = stub::sent(&provider.request(2).await.json());
    assert_eq!(sent[4..], [r#"tool:"right""#, r#"tool:"left""#], "as they were given");
}

/// The same for an exchange whose run waits for them: the run goes on as a turn of the coordination.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_may_go_on_with_the_run_that_it_was_started_from() {
    let (provider, server, _) = asked([stub::calls(&[("a", "look", "{}")]), stub::text("done")], "").await;
    let called = server.exchanges().capture(ask::capture(stub::offering("r", "look"))).await.unwrap().into_inner();
    let called = called.exchange.unwrap();
    let mut stream = Loop::start(&server, start(&called.exchange_id, 1)).await;
    assert_eq!(stream.decision().await.exchange.unwrap().pending_tool_calls.len(), 1);
    stream.act(with_results(vec![ask::result("a", "seen")])).await;
    let next = stream.decision().await;
    assert_eq!((next.exchange.unwrap().text.as_str(), next.turns_started), ("done", 1));
    let run = look::run(&server, "r").await;
    assert_eq!((run.state(), run.exchange_count, provider.count()), (pb::RunState::Completed, 2, 3));
    stream.act(stop()).await;
    assert!(stream.ended().await.1.is_none());
}

/// Two on one thread: the one that comes second is rejected and can go on without the thread; the head is the first one's.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_on_one_thread_one_moves_it() {
    let (_provider, server, _) = asked_on_thread(["one", "two"].map(stub::text), "").await;
    let mut first = Loop::start(&server, start_on("t", 3)).await;
    let mut second = Loop::start(&server, start_on("t", 3)).await;
    first.decision().await;
    let pending = second.decision().await.decision_id;
    first.act(turn_of("mine")).await;
    let head = first.decision().await.exchange.unwrap().exchange_id;
    second.act(turn_of("mine too")).await;
    let rejected = second.rejected().await;
    assert_eq!((rejected.id, rejected.error.unwrap().reason.as_str()), (pending, "HEAD_MOVED"));
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, head);
}

/// A coordination whose tools are pending, in a run `r` on the thread.
async fn waiting() -> (crate::support::provider::Provider, Running, Loop, String) {
    let script = [stub::calls(&[("a", "look", "{}")]), stub::text("theirs"), stub::text("ours")];
    let (provider, server, _) = asked_on_thread(script, "").await;
    let mut stream = Loop::start(&server, start_on("t", 3)).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    stream.act(turn(stub::offering("r", "look"))).await;
    stream.tools().await;
    (provider, server, stream, id)
}

/// Whatever others did to its run, a coordination can be cancelled.
#[tokio::test(flavor = "multi_thread")]
async fn it_can_be_cancelled_whatever_became_of_its_run() {
    for meddle in 0..3 {
        let (_provider, server, mut stream, id) = waiting().await;
        let mut client = server.exchanges();
        match meddle {
            0 => drop(server.runs().cancel(pb::RunServiceCancelRequest { run_id: "r".into() }).await.unwrap()),
            1 => drop(client.r#continue(ask::on_thread_with("t", vec![ask::result("a", "theirs")])).await.unwrap()),
            _ => {
                let over = pb::ThreadPoint { unanswered_tools: pb::UnansweredTools::Abandon.into(), ..ask::on("t") };
                drop(client.r#continue(ask::on_thread(over, ask::text("never mind"))).await.unwrap());
            }
        }
        let before = look::run(&server, "r").await.state();
        let cancelled = cancel(&server, &id).await;
        assert_eq!(cancelled.state(), pb::CoordinationState::Cancelled, "{meddle}");
        stream.until(|told| matches!(told, Told::Ended(_)).then_some(())).await;
        let after = look::run(&server, "r").await.state();
        match before {
            // Abandoned, it could still have been answered.
            pb::RunState::PendingTools => assert_eq!(after, pb::RunState::Cancelled, "{meddle}"),
            other => assert_eq!(after, other, "{meddle}: what others did stands"),
        }
    }
}

/// Others answered its calls beside it: its own results cannot go on any more, which is told, and does not hang.
#[tokio::test(flavor = "multi_thread")]
async fn results_that_others_gave_are_told() {
    let (provider, server, mut stream, _) = waiting().await;
    let theirs =
        server.exchanges().r#continue(ask::on_thread_with("t", vec![ask::result("a", "theirs")])).await.unwrap();
    let theirs = theirs.into_inner().exchange.unwrap();
    stream.say(results("", vec![ask::result("a", "ours")])).await;
    let told = stream.news().await;
    assert!(matches!(told, Told::Rejected(_) | Told::Ended(_)), "{told:?}");
    assert_eq!(look::thread(&server, "t").await.head_exchange_id, theirs.exchange_id);
    assert_eq!(provider.count(), 3, "the run went on once");
}

/// The streams that can be attached at once are counted: one more is refused, and has its place when another has gone.
#[tokio::test(flavor = "multi_thread")]
async fn one_stream_too_many_is_refused() {
    let server = Running::start(format!("{}[limits]\nmax_coordination_streams = 2\n", scripted(""))).await;
    let exchange = super::captured(&server, "begin").await.exchange_id;
    let mut first = Loop::start(&server, start(&exchange, 1)).await;
    let id = first.started().await.coordination_id;
    let mut second = Loop::start(&server, start(&exchange, 1)).await;
    second.decision().await;
    let refusal = Loop::start(&server, start(&exchange, 1)).await.refused().await;
    refused::is(&refusal, Code::ResourceExhausted, Reason::LimitExceeded);
    let facts = ["limit", "max", "value"].map(|key| refused::fact(&refusal, key));
    assert_eq!(facts, ["max_coordination_streams", "2", "3"]);
    drop(first);
    super::let_go(&server, &id).await;
    crate::support::within("a place to be free", async {
        while Loop::start(&server, start(&exchange, 1)).await.next().await.is_err() {}
    })
    .await;
}

/// What is presented is the exchange as Inspect tells it, with its run as Get does.
#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_is_presented_with_what_it_is() {
    let (server, exchange) = begun().await;
    let mut stream = Loop::start(&server, start(&exchange, 1)).await;
    let needed = stream.decision().await;
    let (presented, run) = (needed.exchange.unwrap(), needed.run.unwrap());
    let read = server.exchanges().inspect(ask::inspect(&exchange)).await.unwrap().into_inner();
    assert_eq!(Some(presented), read.exchange);
    assert_eq!(run, look::run(&server, &run.run_id).await);
}

/// The run is cancelled by its own id while its tools are pending: the first error of an execution ends the coordination.
#[tokio::test(flavor = "multi_thread")]
async fn results_for_a_run_that_was_cancelled_end_it() {
    let (_provider, server, mut stream, id) = waiting().await;
    server.runs().cancel(pb::RunServiceCancelRequest { run_id: "r".into() }).await.unwrap();
    stream.say(results("", vec![ask::result("a", "seen")])).await;
    let (ended, status) = stream.ended().await;
    assert!(ended.undelivered_exchange.is_none());
    refused::is(&status.unwrap(), Code::Cancelled, Reason::RunCancelled);
    assert_eq!(got(&server, &id).await.state(), pb::CoordinationState::Failed);
}
