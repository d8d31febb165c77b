//! What time does: deadlines, decisions that take too long, coordinations that are left alone, streams on which nothing happens.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use antiphon::domain::fault::Reason;
use antiphon::domain::source::Clock;
use antiphon::grpc::pb;
use pb::coordinate_response::Frame as Told;
use pb::coordination_ended::Outcome;
use tonic::Code;

use super::{asked, asked_on_thread, captured, coordinations, got, let_go};
use crate::support::clock::Forward;
use crate::support::coordinate::{Loop, answer, attach, start, start_on, start_with, stop, turn_of};
use crate::support::provider::{Gate, Outcome as Answered};
use crate::support::server::{Running, Sources, scripted};
use crate::support::{ask, refused};
use crate::{look, stub};

async fn with_clock(config: &str) -> (Arc<Forward>, Running, String) {
    let clock = Arc::new(Forward::default());
    let sources = Sources { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..Sources::real() };
    let server = Running::start_with(config, sources).await;
    let exchange = captured(&server, "begin").await.exchange_id;
    (clock, server, exchange)
}

fn soon(milliseconds: u64) -> Option<prost_types::Timestamp> {
    Some((SystemTime::now() + Duration::from_millis(milliseconds)).into())
}

fn lasting(seconds: i64) -> Option<prost_types::Duration> {
    Some(prost_types::Duration { seconds, nanos: 0 })
}

fn is_deadline(ended: &pb::CoordinationEnded) {
    let Some(Outcome::Cancelled(cancelled)) = &ended.outcome else { panic!("{ended:?}") };
    let error = cancelled.error.clone().unwrap();
    assert_eq!((error.code, error.reason.as_str()), (Code::DeadlineExceeded as i32, "DEADLINE"));
}

/// The deadline of the start ends a turn at work, its call to the provider with it, and lets go of the thread.
#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_ends_a_turn_at_work() {
    let gate = Gate::closed();
    let (provider, server, first) = asked_on_thread([stub::text("never").wait(&gate), stub::text("next")], "").await;
    let begin = pb::CoordinationStart { deadline: soon(1_500), ..start_on("t", 3) };
    let mut stream = Loop::start(&server, begin).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    stream.act(turn_of("go on")).await;
    let run_id = stream.accepted().await.run_id;
    provider.request(1).await;
    let (ended, status) = stream.ended().await;
    is_deadline(&ended);
    refused::is(&status.unwrap(), Code::DeadlineExceeded, Reason::Deadline);
    assert_eq!(provider.outcome(1).await, Answered::ClientClosed);
    assert_eq!(look::run(&server, &run_id).await.state(), pb::RunState::Cancelled);
    let thread = look::thread(&server, "t").await;
    assert_eq!((thread.head_exchange_id, thread.active_run_id.as_str()), (first, ""));
    assert_eq!(got(&server, &id).await.turns_started, 1);
    server.exchanges().r#continue(ask::on_thread(ask::on("t"), ask::text("next"))).await.unwrap();
}

/// It ends what waits as well, and an initial request; one that has passed begins nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_ends_what_waits() {
    let gate = Gate::closed();
    let (provider, server, exchange) = asked([stub::text("never").wait(&gate)], "").await;
    let begin = pb::CoordinationStart { deadline: soon(300), ..start(&exchange, 3) };
    let mut stream = Loop::start(&server, begin).await;
    stream.decision().await;
    is_deadline(&stream.ended().await.0);
    let begin = pb::CoordinationStart { deadline: soon(700), ..start_with(ask::text_as("r", "begin"), 3) };
    let mut stream = Loop::start(&server, begin).await;
    let (ended, status) = stream.ended().await;
    is_deadline(&ended);
    assert_eq!(status.unwrap().code(), Code::DeadlineExceeded);
    assert_eq!(provider.outcome(1).await, Answered::ClientClosed);
    let past = pb::CoordinationStart {
        deadline: Some((SystemTime::now() - Duration::from_secs(1)).into()),
        ..start(&exchange, 3)
    };
    let refusal = Loop::start(&server, past).await.refused().await;
    assert_eq!((refusal.code(), refused::fields(&refusal)), (Code::InvalidArgument, vec!["start.deadline".to_owned()]));
}

/// The time of a decision runs on while nobody is attached, and over a restart; whoever looks finds it cancelled, and what was not
/// delivered is undelivered.
#[tokio::test(flavor = "multi_thread")]
async fn a_decisions_time_runs_on_while_detached() {
    let (clock, server, exchange) = with_clock(&scripted("")).await;
    let begin = pb::CoordinationStart { decision_timeout: lasting(3_600), ..start(&exchange, 3) };
    let mut stream = Loop::start(&server, begin).await;
    let id = stream.started().await.coordination_id;
    let pending = stream.decision().await;
    assert!(pending.expire_time.is_some());
    drop(stream);
    assert_eq!(let_go(&server, &id).await.expire_time, pending.expire_time);
    clock.by(Duration::from_secs(3_500));
    let server = server.restart().await;
    // In time, and each decision has a time of its own.
    coordinations(&server).answer(answer(&id, &pending.decision_id, turn_of("go on"))).await.unwrap();
    let second = super::until(&server, &id, pb::CoordinationState::AwaitingDecision).await;
    clock.by(Duration::from_secs(3_500));
    assert_eq!(got(&server, &id).await.state(), pb::CoordinationState::AwaitingDecision);
    clock.by(Duration::from_secs(200));
    let late = coordinations(&server).answer(answer(&id, &second.pending_id, turn_of("late"))).await.unwrap_err();
    refused::is(&late, Code::Aborted, Reason::AnswerStale);
    let whole = got(&server, &id).await;
    assert_eq!((whole.state(), whole.turns_started), (pb::CoordinationState::Cancelled, 1));
    let ended = whole.ended.unwrap();
    is_deadline(&ended);
    assert_eq!(ended.undelivered_exchange.unwrap().exchange_id, second.exchange_id);
    let mut back = Loop::open(&server, attach(&id)).await;
    assert_eq!(back.started().await.state(), pb::CoordinationState::Cancelled);
}

/// One that is left alone is cancelled after the configured hours; one with a stream never is, and one that comes back begins anew.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_alone_expires() {
    const HOUR: Duration = Duration::from_secs(3_600);
    let config = format!("{}[limits]\ncoordination_expiry_hours = 2\n", scripted(""));
    let (clock, server, exchange) = with_clock(&config).await;
    let mut stream = Loop::start(&server, start(&exchange, 3)).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    clock.by(HOUR * 5);
    assert!(got(&server, &id).await.expire_time.is_none(), "it is attached");
    stream.act(turn_of("go on")).await;
    stream.decision().await;
    drop(stream);
    assert!(let_go(&server, &id).await.expire_time.is_some());
    clock.by(HOUR);
    let mut stream = Loop::open(&server, attach(&id)).await;
    stream.started().await;
    drop(stream);
    let_go(&server, &id).await;
    clock.by(HOUR + HOUR / 2);
    assert_eq!(got(&server, &id).await.state(), pb::CoordinationState::AwaitingDecision);
    clock.by(HOUR);
    let listed = coordinations(&server).list(pb::CoordinationServiceListRequest::default()).await.unwrap().into_inner();
    assert_eq!(listed.coordinations[0].state(), pb::CoordinationState::Cancelled, "who lists finds it so");
    let ended = got(&server, &id).await.ended.unwrap();
    is_deadline(&ended);
    assert!(ended.undelivered_exchange.is_none(), "it was delivered");
}

/// A stream on which nothing happens is told that the server is there, whatever is waited for, and its frames have no numbers.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_stream_is_told_that_the_server_is_there() {
    let gate = Gate::closed();
    let provider = crate::support::provider::Provider::start([stub::text("first").wait(&gate)]).await;
    let config = crate::support::server::openai(&provider.base_url());
    let server = Running::start(format!("{config}[limits]\ncoordination_heartbeat_seconds = 1\n")).await;
    let mut stream = Loop::start(&server, start_with(ask::text("begin"), 0)).await;
    provider.request(0).await;
    let beat = |told: &Told| matches!(told, Told::Heartbeat(beat) if beat.time.is_some()).then_some(());
    stream.until(beat).await;
    stream.until(beat).await;
    gate.open();
    stream.decision().await;
    stream.until(beat).await;
    let beats = stream.seen.iter().filter(|frame| matches!(frame.frame, Some(Told::Heartbeat(_))));
    assert!(beats.clone().count() >= 3 && beats.clone().all(|frame| frame.sequence == 0));
    stream.act(stop()).await;
    assert!(stream.ended().await.1.is_none());
}

/// A decision's time that is not over when the answer comes is enough, however long the turn takes.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_not_a_decision() {
    let timeout = Some(prost_types::Duration { seconds: 0, nanos: 900_000_000 });
    let gate = Gate::closed();
    let (provider, server, exchange) = asked([stub::text("one").wait(&gate)], "").await;
    let begin = pb::CoordinationStart { decision_timeout: timeout, ..start(&exchange, 2) };
    let mut stream = Loop::start(&server, begin).await;
    let at = stream.decision().await.expire_time.unwrap();
    stream.act(turn_of("go on")).await;
    provider.request(1).await;
    crate::support::within("the time of the decision to be over", async {
        while SystemTime::now() < SystemTime::try_from(at).unwrap() + Duration::from_millis(50) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    gate.open();
    assert_eq!(stream.decision().await.exchange.unwrap().text, "one");
}
