//! Turns on a thread that is busy: those that wait for their turn, and those that interrupt.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use serde_json::Value;
use tokio::task::JoinHandle;
use tonic::{Code, Request, Status};

use crate::support::coordinate::{Loop, start_on, turn};
use crate::support::provider::{Entry, Gate, Outcome, Provider};
use crate::support::server::{Running, openai, openai_with};
use crate::support::{ask, refused, within};
use crate::{look, stub};

type Called = JoinHandle<Result<pb::ContinueResponse, Status>>;

fn enqueued(request: pb::ExecutionRequest) -> pb::ContinueRequest {
    on_busy(pb::OnBusy::Enqueue, request)
}

fn interrupting(request: pb::ExecutionRequest) -> pb::ContinueRequest {
    on_busy(pb::OnBusy::Interrupt, request)
}

fn on_busy(on_busy: pb::OnBusy, request: pb::ExecutionRequest) -> pb::ContinueRequest {
    ask::on_thread(pb::ThreadPoint { on_busy: on_busy.into(), ..ask::on("t") }, request)
}

fn call(server: &Running, request: pb::ContinueRequest) -> Called {
    let mut client = server.exchanges();
    tokio::spawn(async move { Ok(client.r#continue(request).await?.into_inner()) })
}

fn exchange(done: pb::ContinueResponse) -> pb::Exchange {
    done.exchange.unwrap()
}

/// Waits until so many runs wait for the thread, which whoever does not wait is told.
async fn queued(server: &Running, count: usize) {
    let mut client = server.exchanges();
    within(&format!("{count} to wait"), async {
        loop {
            let busy = client.r#continue(ask::on_thread(ask::on("t"), ask::text("?"))).await.unwrap_err();
            refused::is(&busy, Code::Aborted, Reason::ThreadBusy);
            if refused::fact(&busy, "queued") == count.to_string() {
                return;
            }
        }
    })
    .await;
}

/// A thread `t` with one turn, on which the run `slow` is at work behind a gate.
async fn at_work(
    slow: Entry,
    rest: impl IntoIterator<Item = Entry>,
    more: &str,
) -> (Provider, Running, String, Called) {
    let provider = Provider::start([stub::text("a1"), slow].into_iter().chain(rest)).await;
    let server = Running::start(openai_with(&provider.base_url(), more)).await;
    let first = server.exchanges().capture(ask::capture_on_new("t", ask::text("q1"))).await.unwrap().into_inner();
    let slow = call(&server, ask::on_thread(ask::on("t"), ask::text_as("slow", "q2")));
    provider.request(1).await;
    (provider, server, first.exchange.unwrap().exchange_id, slow)
}

async fn sent(provider: &Provider, number: usize) -> Vec<Value> {
    let body = provider.request(number).await.json();
    body["messages"].as_array().unwrap().iter().map(|message| message["content"].clone()).collect()
}

/// S3-6: one after the other, in the order in which they came, each from the head that the one before left.
#[tokio::test(flavor = "multi_thread")]
async fn turns_wait_in_line() {
    let gate = Gate::closed();
    let rest = [stub::text("a3"), stub::text("a4")];
    let (provider, server, head, slow) = at_work(stub::text("a2").wait(&gate), rest, "").await;
    let third = call(&server, enqueued(ask::text_as("third", "q3")));
    queued(&server, 1).await;
    let fourth = call(&server, enqueued(ask::text_as("fourth", "q4")));
    queued(&server, 2).await;
    let waits = look::run(&server, "fourth").await;
    assert_eq!((waits.state(), waits.thread_id.as_str(), waits.captured), (pb::RunState::Queued, "t", true));
    assert!(!look::runs(&server).await.contains(&"fourth".to_owned()), "what is in memory only is not listed");
    let again = call(&server, enqueued(ask::text_as("fourth", "q4")));
    let thread = look::thread(&server, "t").await;
    assert_eq!((&thread.head_exchange_id, thread.active_run_id.as_str(), provider.count()), (&head, "slow", 2));
    gate.open();
    let slow = exchange(slow.await.unwrap().unwrap());
    let third = exchange(third.await.unwrap().unwrap());
    let fourth = fourth.await.unwrap().unwrap();
    assert_eq!(exchange(again.await.unwrap().unwrap()), exchange(fourth.clone()), "a repetition joins it");
    let fourth = exchange(fourth);
    assert_eq!((&third.parent_exchange_id, &fourth.parent_exchange_id), (&slow.exchange_id, &third.exchange_id));
    assert_eq!(sent(&provider, 2).await, ["q1", "a1", "q2", "a2", "q3"]);
    assert_eq!(sent(&provider, 3).await, ["q1", "a1", "q2", "a2", "q3", "a3", "q4"]);
    let thread = look::thread(&server, "t").await;
    assert_eq!((thread.head_exchange_id, thread.turn_count, provider.count()), (fourth.exchange_id, 4, 4));
}

/// The line has an end, told with its length; what waits is cancelled by its id, by its caller's leaving or by its deadline, and leaves
/// nothing behind.
#[tokio::test(flavor = "multi_thread")]
async fn a_line_is_bounded_and_can_be_left() {
    let gate = Gate::closed();
    let limits = "[limits]\nmax_queued_per_thread = 1\n";
    let (provider, server, _, slow) = at_work(stub::text("a2").wait(&gate), [stub::text("a3")], limits).await;
    let cancelled = call(&server, enqueued(ask::text_as("w1", "x")));
    queued(&server, 1).await;
    let full = server.exchanges().r#continue(enqueued(ask::text_as("full", "x"))).await.unwrap_err();
    refused::is(&full, Code::Aborted, Reason::ThreadBusy);
    let facts = ["thread_id", "active_run_id", "queued", "limit", "max", "value"].map(|key| refused::fact(&full, key));
    assert_eq!(facts, ["t", "slow", "1", "max_queued_per_thread", "1", "2"]);
    assert!(full.message().contains("1 others wait for it: at most 1 may"), "{full:?}");
    let cancel = pb::RunServiceCancelRequest { run_id: "w1".into() };
    let run = server.runs().cancel(cancel).await.unwrap().into_inner().run.unwrap();
    assert_eq!((run.state(), run.thread_id.as_str()), (pb::RunState::Cancelled, "t"));
    refused::is(&cancelled.await.unwrap().unwrap_err(), Code::Cancelled, Reason::RunCancelled);

    let leaves = call(&server, enqueued(ask::text_as("w2", "x")));
    queued(&server, 1).await;
    leaves.abort();
    queued(&server, 0).await;

    let mut late = Request::new(enqueued(ask::text_as("w3", "x")));
    late.set_timeout(std::time::Duration::from_millis(300));
    let late = server.exchanges().r#continue(late).await.unwrap_err();
    assert_eq!(late.code(), Code::DeadlineExceeded, "{late:?}");
    queued(&server, 0).await;
    for id in ["full", "w1", "w2", "w3"] {
        refused::is(&look::no_run(&server, id).await, Code::NotFound, Reason::RunNotFound);
    }
    gate.open();
    slow.await.unwrap().unwrap();
    let done = server.exchanges().r#continue(enqueued(ask::text_as("w1", "q3"))).await.unwrap().into_inner();
    assert_eq!(exchange(done).text, "a3");
    assert_eq!(sent(&provider, 2).await, ["q1", "a1", "q2", "a2", "q3"]);
    assert_eq!(provider.count(), 3);
}

/// The head is looked at when the turn has come: it is the expected one where what went before failed, and another where it did not.
#[tokio::test(flavor = "multi_thread")]
async fn the_expected_head_is_the_one_at_the_claim() {
    for fails in [false, true] {
        let gate = Gate::closed();
        let slow = if fails { stub::begun("half").wait(&gate) } else { stub::text("a2").wait(&gate) };
        let slow = if fails { slow.end(crate::support::provider::End::Cut) } else { slow };
        let (provider, server, head, slow) = at_work(slow, [stub::text("a3")], stub::ONCE).await;
        let point = pb::ThreadPoint { on_busy: pb::OnBusy::Enqueue.into(), ..ask::expecting("t", &head) };
        let waits = call(&server, ask::on_thread(point, ask::text_as("w", "q3")));
        queued(&server, 1).await;
        gate.open();
        let (slow, waits) = (slow.await.unwrap(), waits.await.unwrap());
        assert_eq!(slow.is_err(), fails);
        if fails {
            assert_eq!(exchange(waits.unwrap()).parent_exchange_id, head);
            assert_eq!(sent(&provider, 2).await, ["q1", "a1", "q3"]);
        } else {
            let moved = waits.unwrap_err();
            refused::is(&moved, Code::Aborted, Reason::HeadMoved);
            assert_eq!(refused::fact(&moved, "head_exchange_id"), exchange(slow.unwrap()).exchange_id);
            refused::is(&look::no_run(&server, "w").await, Code::NotFound, Reason::RunNotFound);
            assert_eq!(provider.count(), 2);
        }
    }
}

/// A stop sends those that wait away at once, and a restart knows nothing of them: the same call with the same id is made anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_lets_nobody_wait() {
    let gate = Gate::closed();
    let (provider, mut server, _, slow) = at_work(stub::text("a2").wait(&gate), [stub::text("a3")], "").await;
    let stays = pb::ExecutionRequest { on_disconnect: pb::OnDisconnect::Finish.into(), ..ask::text_as("w", "q3") };
    let waits = call(&server, enqueued(stays.clone()));
    queued(&server, 1).await;
    let opened = async {
        let refusal = waits.await.unwrap().unwrap_err();
        refused::is(&refusal, Code::Unavailable, Reason::ShuttingDown);
        gate.open();
    };
    tokio::join!(server.stop(), opened);
    slow.await.unwrap().unwrap();
    let server = server.restart().await;
    refused::is(&look::no_run(&server, "w").await, Code::NotFound, Reason::RunNotFound);
    let done = server.exchanges().r#continue(enqueued(stays)).await.unwrap().into_inner();
    assert_eq!((exchange(done).text.as_str(), provider.count()), ("a3", 3));
    assert_eq!(sent(&provider, 2).await, ["q1", "a1", "q2", "a2", "q3"]);
}

/// S3-6: what is at work is cancelled, its call to the provider with it, and the turn goes on from the head, before those that wait.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_interrupts_the_one_at_work() {
    let (never, gate) = (Gate::closed(), Gate::closed());
    let rest = [stub::text("a3").wait(&gate), stub::text("a4"), stub::text("a5")];
    let (provider, server, head, slow) = at_work(stub::text("a2").wait(&never), rest, "").await;
    let waits = call(&server, enqueued(ask::text_as("waits", "q4")));
    queued(&server, 1).await;
    let urgent = call(&server, interrupting(ask::text_as("urgent", "q3")));
    let ended = slow.await.unwrap().unwrap_err();
    refused::is(&ended, Code::Cancelled, Reason::RunCancelled);
    assert_eq!(provider.outcome(1).await, Outcome::ClientClosed);
    assert_eq!(sent(&provider, 2).await, ["q1", "a1", "q3"]);
    assert_eq!(look::run(&server, "slow").await.state(), pb::RunState::Cancelled);
    assert_eq!(look::thread(&server, "t").await.active_run_id, "urgent");
    assert_eq!(look::run(&server, "waits").await.state(), pb::RunState::Queued);
    gate.open();
    let urgent = exchange(urgent.await.unwrap().unwrap());
    assert_eq!((&urgent.parent_exchange_id, urgent.text.as_str()), (&head, "a3"));
    assert_eq!(exchange(waits.await.unwrap().unwrap()).parent_exchange_id, urgent.exchange_id);
    assert_eq!(sent(&provider, 3).await, ["q1", "a1", "q3", "a3", "q4"]);
    let idle = call(&server, interrupting(ask::text("q5"))).await.unwrap().unwrap();
    assert_eq!(exchange(idle).text, "a5", "nothing is at work, so nothing is interrupted");
}

/// A run that waits for results is not at work: neither way waits for it or cancels it, `unanswered_tools` says what becomes of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_for_results_is_not_at_work() {
    let gate = Gate::closed();
    let calls = stub::calls(&[("p1", "look", "{}")]).wait(&gate);
    let provider = Provider::start([stub::text("a1"), calls, stub::text("a3")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    server.exchanges().capture(ask::capture_on_new("t", ask::text("q1"))).await.unwrap();
    let asks = call(&server, ask::on_thread(ask::on("t"), stub::offering("asks", "q2")));
    provider.request(1).await;
    let waits = call(&server, enqueued(ask::text_as("waits", "x")));
    queued(&server, 1).await;
    gate.open();
    asks.await.unwrap().unwrap();
    for refusal in
        [waits.await.unwrap().unwrap_err(), call(&server, interrupting(ask::text("x"))).await.unwrap().unwrap_err()]
    {
        refused::is(&refusal, Code::FailedPrecondition, Reason::UnansweredToolCalls);
    }
    assert_eq!(look::run(&server, "asks").await.state(), pb::RunState::PendingTools);
    let point = pb::ThreadPoint {
        on_busy: pb::OnBusy::Enqueue.into(),
        unanswered_tools: pb::UnansweredTools::Interrupt.into(),
        ..ask::on("t")
    };
    let over = exchange(call(&server, ask::on_thread(point, ask::text("q3"))).await.unwrap().unwrap());
    assert_eq!((over.text.as_str(), provider.count()), ("a3", 3));
    assert_eq!(look::run(&server, "asks").await.state(), pb::RunState::Cancelled);
}

/// The first run of a new thread makes it busy like any other. A turn beside it went on from an empty or forked thread, and took the head
/// from it.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_run_of_a_thread_is_waited_for() {
    let gate = Gate::closed();
    let provider = Provider::start([stub::text("a1").wait(&gate), stub::text("a2")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let first = tokio::spawn(async move { client.capture(ask::capture_on_new("t", ask::text("q1"))).await });
    provider.request(0).await;
    let second = call(&server, enqueued(ask::text("q2")));
    queued(&server, 1).await;
    gate.open();
    let first = first.await.unwrap().unwrap().into_inner().exchange.unwrap();
    let second = exchange(second.await.unwrap().unwrap());
    assert_eq!(second.parent_exchange_id, first.exchange_id);
    assert_eq!(sent(&provider, 1).await, ["q1", "a1", "q2"]);
}

/// A coordinated turn waits before its claim: the decision is still pending, and a failure ahead of it costs it nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_coordinated_turn_waits_with_its_decision_pending() {
    let gate = Gate::closed();
    let slow = stub::begun("half").wait(&gate).end(crate::support::provider::End::Cut);
    let (provider, server, head, slow) = at_work(slow, [stub::text("a3")], stub::ONCE).await;
    let mut stream = Loop::start(&server, coordinating(pb::OnBusy::Enqueue)).await;
    let id = stream.started().await.coordination_id;
    assert_eq!(stream.decision().await.exchange.unwrap().exchange_id, head);
    stream.act(turn(ask::text_as("turn", "q3"))).await;
    queued(&server, 1).await;
    assert_eq!(look::run(&server, "turn").await.state(), pb::RunState::Queued);
    let request = pb::CoordinationServiceGetRequest { coordination_id: id };
    let mut client = pb::coordination_service_client::CoordinationServiceClient::new(server.fresh_channel());
    let whole = client.get(request).await.unwrap().into_inner().coordination.unwrap();
    assert_eq!((whole.state(), whole.turns_started), (pb::CoordinationState::AwaitingDecision, 0));
    gate.open();
    slow.await.unwrap().unwrap_err();
    let decided = stream.decision().await;
    assert_eq!((decided.exchange.unwrap().text.as_str(), decided.turns_started), ("a3", 1));
    assert_eq!(sent(&provider, 2).await, ["q1", "a1", "q3"]);
}

/// And one that interrupts goes on from the exchange that was presented.
#[tokio::test(flavor = "multi_thread")]
async fn a_coordinated_turn_interrupts_what_is_at_work() {
    let never = Gate::closed();
    let (provider, server, head, slow) = at_work(stub::text("a2").wait(&never), [stub::text("a3")], "").await;
    let mut stream = Loop::start(&server, coordinating(pb::OnBusy::Interrupt)).await;
    stream.decision().await;
    stream.act(turn(ask::text("q3"))).await;
    let decided = stream.decision().await.exchange.unwrap();
    assert_eq!((&decided.parent_exchange_id, decided.text.as_str()), (&head, "a3"));
    refused::is(&slow.await.unwrap().unwrap_err(), Code::Cancelled, Reason::RunCancelled);
    assert_eq!(provider.outcome(1).await, Outcome::ClientClosed);
    assert_eq!(sent(&provider, 2).await, ["q1", "a1", "q3"]);
}

/// A run whose model a client calls is at work, though no process has it: it is waited for, forked beside, or interrupted like any other.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_a_client_makes_is_waited_for() {
    let config = "default_profile = \"canned\"\n[profiles.mine]\nbackend = \"mine\"\nmodel = \"m\"\n\
        [backends.mine]\nkind = \"client\"\nprovider = \"acme\"\n\
        [profiles.canned]\nbackend = \"script\"\nmodel = \"canned-1\"\n[backends.script]\nkind = \"scripted\"\n";
    let server = Running::start(config).await;
    let first = server.exchanges().capture(ask::capture_on_new("t", ask::text("q1"))).await.unwrap().into_inner();
    let first = first.exchange.unwrap().exchange_id;
    let mut stream = Loop::start(&server, start_on("t", 3)).await;
    stream.decision().await;
    let mine = |id: &str| pb::ExecutionRequest { profile_id: "mine".into(), ..ask::text_as(id, "q2") };
    stream.act(turn(mine("client"))).await;
    let asked = match stream.news().await {
        pb::coordinate_response::Frame::GenerationNeeded(needed) => needed,
        other => panic!("no generation: {other:?}"),
    };
    let forked = call(&server, on_busy(pb::OnBusy::Fork, ask::text("beside"))).await.unwrap().unwrap();
    assert_ne!(forked.thread.unwrap().thread_id, "t");
    let waits = call(&server, enqueued(ask::text_as("waits", "q3")));
    look::until(&server, "waits", pb::RunState::Queued).await;
    let answer = pb::GeneratedAnswer {
        assistant: Some(ask::assistant("a2")),
        stop_reason: pb::StopReason::Stop.into(),
        ..pb::GeneratedAnswer::default()
    };
    stream
        .say(pb::coordinate_request::Frame::Generated(pb::Generated {
            generation_id: asked.generation_id,
            outcome: Some(pb::generated::Outcome::Answer(answer)),
        }))
        .await;
    let made = stream.decision().await.exchange.unwrap();
    let waited = exchange(waits.await.unwrap().unwrap());
    assert_eq!((&made.parent_exchange_id, &waited.parent_exchange_id), (&first, &made.exchange_id));

    let mut other = Loop::start(&server, start_on("t", 3)).await;
    other.decision().await;
    other.act(turn(mine("again"))).await;
    other.news().await;
    let urgent = exchange(call(&server, interrupting(ask::text("q4"))).await.unwrap().unwrap());
    assert_eq!(urgent.parent_exchange_id, waited.exchange_id);
    assert_eq!(look::run(&server, "again").await.state(), pb::RunState::Cancelled);
}

fn coordinating(on_busy: pb::OnBusy) -> pb::CoordinationStart {
    let point = pb::ThreadPoint { on_busy: on_busy.into(), ..ask::on("t") };
    pb::CoordinationStart { from: Some(pb::coordination_start::From::Thread(point)), ..start_on("t", 3) }
}
