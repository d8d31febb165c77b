//! Callers that wait, leave, come twice or meet one another.

use std::time::{Duration, Instant, SystemTime};

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::exchange_service_client::ExchangeServiceClient;
use tonic::transport::Channel;
use tonic::{Code, Request, Status, Streaming};
use tonic_types::StatusExt;

use crate::case::Case;
use crate::served::Served;
use crate::support::program::Program;
use crate::support::provider::{End, Entry, Gate, Outcome, Provider};
use crate::support::server::{Running, openai_with, scripted};
use crate::support::{ask, look, raw, refused, stub, within};

fn with_deadline<T>(message: T, deadline: Duration) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(deadline);
    request
}

fn delay(status: &Status) -> Option<Duration> {
    status.get_details_retry_info().and_then(|info| info.retry_delay)
}

/// The answers of the case one by one, each followed by one that is well: how long the call took, what came of it, how often it was made.
async fn after_429(number: usize) -> (Duration, Result<pb::CaptureResponse, Status>, usize) {
    let entry = Case::load("B043").script(SystemTime::now()).remove(number);
    let served = Served::with_more([entry, stub::text("ok")], "").await;
    let call = with_deadline(ask::capture(ask::text("x")), Duration::from_secs(10));
    let began = Instant::now();
    let done = served.server.exchanges().capture(call).await;
    (began.elapsed(), done.map(tonic::Response::into_inner), served.provider.count())
}

#[tokio::test(flavor = "multi_thread")]
async fn b043_the_providers_delay_is_waited_for_within_the_deadline() {
    let (seconds, date, zero, absurd, garbage) =
        tokio::join!(after_429(0), after_429(1), after_429(2), after_429(3), after_429(4));
    for (took, least) in [(&seconds, 2_000), (&date, 1_000), (&zero, 0), (&garbage, 0)] {
        assert!(took.1.is_ok() && took.2 == 2, "{took:?}");
        assert!(took.0 >= Duration::from_millis(least), "{took:?}");
    }
    let refusal = absurd.1.unwrap_err();
    refused::is(&refusal, Code::ResourceExhausted, Reason::ProviderRateLimited);
    assert_eq!((delay(&refusal), absurd.2), (Some(Duration::from_secs(86_400)), 1));
    assert!(absurd.0 < Duration::from_secs(5), "it did not wait: {:?}", absurd.0);
}

/// A wait that the server would make, but that is longer than the caller has, once ended in DEADLINE_EXCEEDED without the hint.
#[tokio::test(flavor = "multi_thread")]
async fn b043_a_wait_beyond_the_deadline_is_told_at_once() {
    let limited = || stub::status(429, "slow").header("retry-after", "20");
    let served = Served::with_more([limited(), stub::text("a"), limited()], "").await;
    let call = with_deadline(ask::capture(ask::text_as("r", "x")), Duration::from_secs(10));
    let began = Instant::now();
    let refusal = served.server.exchanges().capture(call).await;
    // The first script's answer goes to the first call.
    let refusal = refusal.unwrap_err();
    refused::is(&refusal, Code::ResourceExhausted, Reason::ProviderRateLimited);
    assert_eq!(delay(&refusal), Some(Duration::from_secs(20)));
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(look::run(&served.server, "r").await.state(), pb::RunState::Failed);
    let first = served.capture(ask::capture(ask::text("1"))).await.exchange_id;
    let probe = with_deadline(ask::probe(&first, ask::text("x")), Duration::from_secs(10));
    let refusal = served.server.exchanges().probe(probe).await.unwrap_err();
    refused::is(&refusal, Code::ResourceExhausted, Reason::ProviderRateLimited);
    assert_eq!((delay(&refusal), served.provider.count()), (Some(Duration::from_secs(20)), 3));
    assert!(began.elapsed() < Duration::from_secs(10));
}

/// One caller's deadline is not another's: who joined with more time gets what the wait was for.
#[tokio::test(flavor = "multi_thread")]
async fn b043_the_last_deadline_decides() {
    let gate = Gate::closed();
    let limited = stub::status(429, "slow").header("retry-after", "3").wait(&gate);
    let served = Served::with_more([limited, stub::text("ok")], "").await;
    let mut client = served.server.exchanges();
    let hurried = with_deadline(ask::capture(ask::text_as("r", "x")), Duration::from_secs(2));
    let hurried = tokio::spawn(async move { client.capture(hurried).await });
    served.provider.request(0).await;
    let capture = Some(ask::capture(ask::text_as("r", "x")));
    let request = pb::StreamCaptureRequest { capture };
    let mut patient = served.server.exchanges().stream_capture(request).await.unwrap().into_inner();
    // It says at once that it has joined.
    patient.message().await.unwrap().unwrap();
    gate.open();
    refused::is(&hurried.await.unwrap().unwrap_err(), Code::DeadlineExceeded, Reason::Deadline);
    let mut last = None;
    while let Some(message) = patient.message().await.unwrap() {
        last = message.event;
    }
    assert!(matches!(last, Some(pb::stream_capture_response::Event::Completed(_))), "{last:?}");
    assert_eq!(served.provider.count(), 2);
}

/// A hundred rounds of two turns on one head at once: one moves it, and the other is told, or comes after.
#[tokio::test(flavor = "multi_thread")]
async fn b101_of_two_turns_on_one_head_neither_is_lost_in_silence() {
    let server = Running::start(scripted("delay_ms = 5\n")).await;
    let captured = server.exchanges().capture(ask::capture_on_new("t", ask::text("A"))).await.unwrap().into_inner();
    let (mut head, mut told) = (captured.exchange.unwrap().exchange_id, 0);
    for round in 0..100 {
        let turn = |text: &str| {
            // Half of the callers say which head they saw.
            let point = if round % 2 == 0 { ask::on("t") } else { ask::expecting("t", &head) };
            let (mut client, turn) = (server.exchanges(), ask::on_thread(point, ask::text(text)));
            tokio::spawn(async move { client.r#continue(turn).await.map(|done| done.into_inner().exchange.unwrap()) })
        };
        let (x, y) = (turn("x"), turn("y"));
        let ends = [x.await.unwrap(), y.await.unwrap()];
        let mut moved: Vec<_> = ends.iter().filter_map(|end| end.as_ref().ok()).collect();
        moved.sort_by_key(|exchange| exchange.depth);
        for loser in ends.iter().filter_map(|end| end.as_ref().err()) {
            assert_eq!(loser.code(), Code::Aborted, "{loser:?}");
            let reason = refused::reason(loser);
            assert!(["HEAD_MOVED", "THREAD_BUSY"].contains(&reason.as_str()), "{reason}");
            told += 1;
        }
        assert!(moved.len() == 1 || (moved.len() == 2 && round % 2 == 0), "round {round}: {ends:?}");
        for exchange in moved {
            assert_eq!(exchange.parent_exchange_id, head, "round {round}");
            head = exchange.exchange_id.clone();
        }
        assert_eq!(look::thread(&server, "t").await.head_exchange_id, head);
    }
    assert!(told >= 50, "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn b104_a_slow_call_is_not_started_again() {
    let gate = Gate::closed();
    let served = Served::with_more([stub::text("late").wait(&gate), stub::text("twice")], "").await;
    let call = |served: &Served| {
        let mut client = served.server.exchanges();
        tokio::spawn(async move { client.capture(ask::capture(ask::text_as("r", "x"))).await.unwrap().into_inner() })
    };
    let first = call(&served);
    served.provider.request(0).await;
    let mut stream = {
        let capture = Some(ask::capture(ask::text_as("r", "x")));
        served.server.exchanges().stream_capture(pb::StreamCaptureRequest { capture }).await.unwrap().into_inner()
    };
    assert!(format!("{:?}", stream.message().await.unwrap().unwrap()).contains("attached: true"));
    let second = call(&served);
    gate.open();
    let (first, second) = (first.await.unwrap().exchange.unwrap(), second.await.unwrap().exchange.unwrap());
    assert_eq!((&first, first.text.as_str(), served.provider.count()), (&second, "late", 1));
}

/// A limit of time that passes says nothing of whether the provider is at work: the call fails once, and is not made again on a guess.
#[tokio::test(flavor = "multi_thread")]
async fn b104_a_call_that_took_too_long_is_not_made_again() {
    for more in ["timeouts = { first_byte_ms = 100 }\n", "timeouts = { idle_ms = 100 }\n", "total_timeout_ms = 100\n"] {
        let silent = if more.contains("idle") {
            Entry::json(r#"{"choices":"#).end(End::Hold)
        } else {
            stub::text("never").end(End::Silence)
        };
        let served = Served::with_more([silent, stub::text("twice")], more).await;
        let refusal = served.server.exchanges().capture(ask::capture(ask::text("x"))).await.unwrap_err();
        refused::is(&refusal, Code::DeadlineExceeded, Reason::ProviderTimeout);
        assert_eq!(served.provider.count(), 1, "{more}");
    }
}

/// However a caller goes, the provider sees it, nothing is kept, and nothing stays open.
#[tokio::test(flavor = "multi_thread")]
async fn b118_who_leaves_takes_the_call_to_the_provider_along() {
    const REPEATS: usize = 20;
    let folder = tempfile::tempdir().unwrap();
    let endless = || {
        let pieces: Vec<String> =
            (0..3).map(|number| stub::event(&serde_json::json!({"content": number.to_string()}), None)).collect();
        Entry::events(&pieces.iter().map(String::as_str).collect::<Vec<_>>()).end(End::Hold)
    };
    let script = [stub::text("one")].into_iter().chain((0..3 * REPEATS).map(|_| endless()));
    let provider = Provider::start(script).await;
    let program = Program::start(folder.path(), &openai_with(&provider.base_url(), "capacity = 64\n")).await;
    let captured = program.exchanges().capture(ask::capture_on_new("t", ask::text("1"))).await.unwrap().into_inner();
    let head = captured.exchange.unwrap().exchange_id;
    let files = program.files();
    for number in 0..2 * REPEATS {
        // Half of them cancel; the others are gone with their connection, as a process that was killed.
        let channel = program.fresh_channel();
        let mut client = ExchangeServiceClient::new(channel);
        let stream = three_pieces(&mut client, number).await;
        if number % 2 == 0 {
            drop(stream);
        } else {
            drop((client, stream));
        }
        assert_eq!(provider.outcome(number + 1).await, Outcome::ClientClosed);
    }
    // By hand, since the usual client has a timer of its own, which knows nothing of reasons.
    let late: Vec<_> = (0..REPEATS)
        .map(|_| {
            let (address, call) = (program.address(), raw::frame(&ask::capture(ask::text("x"))));
            let deadline = [("grpc-timeout", "1S")];
            tokio::spawn(async move { raw::refused_at(address, "ExchangeService/Capture", call, &deadline).await })
        })
        .collect();
    for call in late {
        refused::is(&call.await.unwrap(), Code::DeadlineExceeded, Reason::Deadline);
    }
    for number in 0..3 * REPEATS {
        assert_eq!(provider.outcome(number + 1).await, Outcome::ClientClosed);
    }
    within("what was open to be closed", async {
        while program.files() > files {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let thread = pb::ThreadServiceGetRequest { thread_id: "t".into() };
    let thread = program.threads().get(thread).await.unwrap().into_inner().thread.unwrap();
    assert_eq!((thread.head_exchange_id, thread.turn_count), (head, 1));
}

/// A turn on the thread that has said three pieces, begun once the one before has let the thread go.
async fn three_pieces(
    client: &mut ExchangeServiceClient<Channel>,
    number: usize,
) -> Streaming<pb::StreamContinueResponse> {
    loop {
        let turn = Some(ask::on_thread(ask::on("t"), ask::text(&number.to_string())));
        let request = pb::StreamContinueRequest { turn };
        let mut stream = client.stream_continue(request).await.unwrap().into_inner();
        let mut told = String::new();
        let busy = loop {
            match within("the third piece", stream.message()).await {
                Ok(message) => told += &pieces(message.unwrap()),
                Err(busy) => break busy,
            }
            if told.contains('2') {
                return stream;
            }
        };
        refused::is(&busy, Code::Aborted, Reason::ThreadBusy);
    }
}

fn pieces(message: pb::StreamContinueResponse) -> String {
    match message.event {
        Some(pb::stream_continue_response::Event::Progress(pb::Progress {
            event: Some(pb::progress::Event::Delta(pb::Delta { delta: Some(pb::delta::Delta::Text(text)) })),
        })) => text.text,
        _ => String::new(),
    }
}
