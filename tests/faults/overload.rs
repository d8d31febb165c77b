//! More than the server takes: what is too much is refused with when to come again, what was let in is answered, and afterwards everything is as
//! it was, without anybody's help.

use std::sync::Arc;
use std::time::{Duration, Instant};

use antiphon::grpc::pb;
use pb::coordinate_request::Frame as Say;
use pb::coordinate_response::Frame as Told;
use pb::exchange_service_client::ExchangeServiceClient;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::rest;
use crate::support::coordinate::{action, attach, start, stop, turn_of};
use crate::support::program::Program;
use crate::support::provider::{Gate, Provider};
use crate::support::server::{openai_with, scripted};
use crate::support::{ask, stub, within};

const MEBIBYTE: u64 = 1 << 20;
/// One of a thousand waits for all the others, on a machine that does something else as well.
const PATIENCE: Duration = Duration::from_secs(180);
/// What a call may take more than before on a machine that does something else as well.
const SLOWER: Duration = Duration::from_secs(5);

async fn captured(channel: Channel, text: String) -> Result<(), Status> {
    ExchangeServiceClient::new(channel).capture(ask::capture(ask::text(&text))).await.map(drop)
}

/// How long a call takes.
async fn took(program: &Program) -> Duration {
    let begun = Instant::now();
    within("a normal call", captured(program.fresh_channel(), "as ever".to_owned())).await.unwrap();
    begun.elapsed()
}

/// Calls beyond the capacity of a backend and its queue.
#[tokio::test(flavor = "multi_thread")]
async fn more_calls_than_a_backend_takes() {
    const CAPACITY: usize = 4;
    const QUEUE: usize = 8;
    const CALLS: usize = 400;
    let gate = Gate::closed();
    let opens = gate.clone();
    let provider = Provider::deciding(move |_| stub::text("done").wait(&opens)).await;
    let config =
        openai_with(&provider.base_url(), &format!("capacity = {CAPACITY}\nqueue_limit = {QUEUE}\n{}", stub::ONCE));
    let folder = tempfile::tempdir().unwrap();
    let mut program = Program::start(folder.path(), &config).await;
    let channels: Vec<Channel> = (0..8).map(|_| program.fresh_channel()).collect();
    let mut calls = JoinSet::new();
    for number in 0..CALLS {
        calls.spawn(captured(channels[number % channels.len()].clone(), format!("call {number}")));
    }
    for _ in 0..CALLS - CAPACITY - QUEUE {
        let refused = within("a refusal", calls.join_next()).await.unwrap().unwrap().unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
        assert_eq!(refused.get_details_error_info().unwrap().reason, "BACKEND_QUEUE_FULL");
        assert!(refused.get_details_retry_info().is_some_and(|retry| retry.retry_delay.is_some()), "{refused:?}");
    }
    gate.open();
    while let Some(done) = within("those that were let in", calls.join_next()).await {
        done.unwrap().unwrap();
    }
    rest::idle(&program).await;
    let before = took(&program).await;
    // And again, with callers that do as they are told: all of them are answered in the end.
    let mut calls = JoinSet::new();
    for number in 0..CALLS {
        let channel = channels[number % channels.len()].clone();
        calls.spawn(async move {
            loop {
                let refused = match captured(channel.clone(), format!("patient call {number}")).await {
                    Ok(()) => return,
                    Err(refused) => refused,
                };
                let delay = refused.get_details_retry_info().and_then(|retry| retry.retry_delay);
                tokio::time::sleep(delay.unwrap_or_else(|| panic!("{refused:?}"))).await;
            }
        });
    }
    while let Some(done) = within("every patient call", calls.join_next()).await {
        done.unwrap();
    }
    rest::idle(&program).await;
    let after = took(&program).await;
    assert!(after < before + SLOWER, "{before:?} before, {after:?} after");
    program.terminate().await;
}

/// More runs at once than the server has room for.
#[tokio::test(flavor = "multi_thread")]
async fn more_runs_than_the_server_takes() {
    const MOST: usize = 20;
    let rules = "capacity = 1\n[[backends.script.rules]]\nwhen = \"slow\"\ntext = \"never told\"\ndelay_ms = 600000\n";
    let folder = tempfile::tempdir().unwrap();
    let config = format!("{}[limits]\nmax_runs = {MOST}\n", scripted(rules));
    let program = Program::start(folder.path(), &config).await;
    let before = took(&program).await;
    let channel = program.fresh_channel();
    let mut calls = JoinSet::new();
    for number in 0..4 * MOST {
        calls.spawn(captured(channel.clone(), format!("slow {number}")));
    }
    for _ in 0..3 * MOST {
        let refused = within("a refusal", calls.join_next()).await.unwrap().unwrap().unwrap_err();
        assert!(matches!(refused.code(), Code::ResourceExhausted | Code::Unavailable), "{refused:?}");
        assert!(refused.get_details_retry_info().is_some(), "{refused:?}");
    }
    // Looking around needs no run.
    let looked = program.threads();
    within("a list", async { looked.clone().list(pb::ThreadServiceListRequest::default()).await }).await.unwrap();
    drop(calls);
    rest::idle(&program).await;
    let after = took(&program).await;
    assert!(after < before + SLOWER, "{before:?} before, {after:?} after");
}

/// A client that takes turns as fast as the server tells it to, or one that says what it wants and does not read.
async fn turns(channel: Channel, exchange: String, count: u32, reads: bool, hold: Arc<Semaphore>) -> u32 {
    let (say, said) = mpsc::channel(8);
    let mut client = ExchangeServiceClient::new(channel);
    let begin = pb::CoordinationStart { deltas: true, ..start(&exchange, count) };
    say.send(pb::CoordinateRequest { frame: Some(Say::Start(begin)) }).await.unwrap();
    let mut frames = client.coordinate(ReceiverStream::new(said)).await.unwrap().into_inner();
    let mut taken = 0;
    while let Some(frame) = tokio::time::timeout(PATIENCE, frames.message()).await.expect("a frame in the end").unwrap()
    {
        let Some(Told::DecisionNeeded(needed)) = frame.frame else { continue };
        let next = if needed.turns_remaining == 0 { stop() } else { turn_of(&format!("turn {taken}")) };
        say.send(pb::CoordinateRequest { frame: Some(action(&needed.decision_id, next)) }).await.unwrap();
        taken += 1;
        if !reads {
            // The turn is at work, and nobody reads what comes of it until the test is over.
            assert!(hold.acquire().await.is_err());
            return taken;
        }
    }
    taken
}

/// A thousand coordinations at work at once, some of whose clients do not read.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_busy_streams() {
    const STREAMS: u32 = 1_000;
    const SILENT: u32 = 40;
    const TURNS: u32 = 2;
    let folder = tempfile::tempdir().unwrap();
    let rules =
        format!("capacity = 64\nqueue_limit = 2000\n[[backends.script.rules]]\ntext = \"{}\"\n", "word ".repeat(400));
    let mut program = Program::start(folder.path(), &scripted(&rules)).await;
    let first = program.exchanges().capture(ask::capture(ask::text("begin"))).await.unwrap().into_inner();
    let exchange = first.exchange.unwrap().exchange_id;
    rest::idle(&program).await;
    let before_call = took(&program).await;
    let (files, tasks, before) = (program.files(), program.tasks(), program.memory());
    let hold = Arc::new(Semaphore::new(0));
    let channels: Vec<Channel> = (0..20).map(|_| program.fresh_channel()).collect();
    let begun = Instant::now();
    let (mut busy, mut silent) = (JoinSet::new(), JoinSet::new());
    for number in 0..STREAMS {
        // Those that do not read have connections of their own: what they leave unread must not hold up their neighbours' windows.
        let is_silent = number % (STREAMS / SILENT) == 0;
        let channel = if is_silent { program.fresh_channel() } else { channels[number as usize % 20].clone() };
        let set = if is_silent { &mut silent } else { &mut busy };
        set.spawn(turns(channel, exchange.clone(), TURNS, !is_silent, Arc::clone(&hold)));
    }
    while let Some(taken) = busy.join_next().await {
        assert_eq!(taken.unwrap(), TURNS + 1, "each has its turns, and a stop");
    }
    let (took_all, grew) = (begun.elapsed(), program.peak_memory().saturating_sub(before));
    println!(
        "{} turns of {STREAMS} streams in {took_all:?}, {} KiB a stream",
        TURNS * STREAMS,
        (grew >> 10) / u64::from(STREAMS)
    );
    assert!(grew < 256 * MEBIBYTE, "{grew} bytes");
    hold.close();
    while let Some(taken) = silent.join_next().await {
        taken.unwrap();
    }
    drop(channels);
    rest::idle(&program).await;
    let after_call = took(&program).await;
    assert!(after_call < before_call + SLOWER, "{before_call:?} before, {after_call:?} after");
    rest::given_back(&program, files + 8, tasks + 8).await;
    // Whoever did not read left a coordination behind that anybody can go on with.
    let listed = pb::coordination_service_client::CoordinationServiceClient::new(program.fresh_channel())
        .list(pb::CoordinationServiceListRequest {
            states: vec![pb::CoordinationState::AwaitingDecision.into()],
            page_size: 1_000,
            ..Default::default()
        })
        .await
        .unwrap()
        .into_inner();
    assert_eq!(listed.coordinations.len(), SILENT as usize);
    let id = &listed.coordinations[0].coordination_id;
    let mut again = crate::support::coordinate::Loop::on(program.fresh_channel(), attach(id)).await;
    let pending = again.started().await.pending_id;
    again.until(|told| matches!(told, Told::DecisionNeeded(one) if one.decision_id == pending).then_some(())).await;
    again.act(stop()).await;
    assert!(again.ended().await.1.is_none());
    program.terminate().await;
}
