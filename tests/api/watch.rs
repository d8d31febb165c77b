//! Watching a run: its numbered states, live or after the fact, and what happens on the way.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::watch_response::Event;
use serde_json::json;
use tonic::{Code, Status, Streaming};

use crate::support::program::Program;
use crate::support::provider::{Entry, Gate, Outcome, Provider};
use crate::support::server::{Running, openai, openai_with};
use crate::support::{ask, refused, within};
use crate::{look, stub};

type Runs = pb::run_service_client::RunServiceClient<tonic::transport::Channel>;

fn watch_after(run_id: &str, after_sequence: u64) -> pb::WatchRequest {
    pb::WatchRequest { run_id: run_id.to_owned(), after_sequence }
}

/// One watcher with all that it was told.
struct Watched {
    stream: Streaming<pb::WatchResponse>,
    seen: Vec<pb::WatchResponse>,
}

impl Watched {
    async fn open(mut runs: Runs, run_id: &str, after: u64) -> Self {
        let opened = runs.watch(watch_after(run_id, after)).await.unwrap();
        assert_eq!(opened.metadata().get("antiphon-run-id").unwrap(), run_id);
        Self { stream: opened.into_inner(), seen: Vec::new() }
    }

    async fn next(&mut self) -> Result<Option<pb::WatchResponse>, Status> {
        let told = within("what the watcher is told", self.stream.message()).await?;
        self.seen.extend(told.clone());
        Ok(told)
    }

    /// Reads until the run is in a state; gives that.
    async fn until(&mut self, state: pb::RunState) -> pb::Run {
        loop {
            match self.next().await.unwrap().expect("it goes on").event.unwrap() {
                Event::Run(run) if run.state() == state => return run,
                _ => {}
            }
        }
    }

    /// Reads until something on the way.
    async fn until_progress(&mut self, is: impl Fn(&pb::progress::Event) -> bool) {
        loop {
            match self.next().await.unwrap().expect("it goes on").event.unwrap() {
                Event::Progress(pb::Progress { event: Some(event) }) if is(&event) => return,
                _ => {}
            }
        }
    }

    /// Reads to the end; gives everything.
    async fn end(mut self) -> Vec<pb::WatchResponse> {
        while self.next().await.unwrap().is_some() {}
        self.seen
    }
}

/// The states that were told, with their numbers.
fn states(seen: &[pb::WatchResponse]) -> Vec<(u64, pb::Run)> {
    let state = |told: &pb::WatchResponse| match &told.event {
        Some(Event::Run(run)) => Some((told.sequence, run.clone())),
        _ => {
            assert_eq!(told.sequence, 0, "only states are numbered");
            None
        }
    };
    seen.iter().filter_map(state).collect()
}

fn numbers(seen: &[pb::WatchResponse]) -> Vec<(u64, pb::RunState)> {
    states(seen).into_iter().map(|(number, run)| (number, run.state())).collect()
}

/// The text so far and the text in pieces.
fn texts(seen: &[pb::WatchResponse]) -> (Vec<String>, String) {
    let (mut so_far, mut pieces) = (Vec::new(), String::new());
    for told in seen {
        match &told.event {
            Some(Event::TextSoFar(text)) => so_far.push(text.text.clone()),
            Some(Event::Progress(pb::Progress { event: Some(pb::progress::Event::Delta(delta)) })) => {
                if let Some(pb::delta::Delta::Text(text)) = &delta.delta {
                    pieces.push_str(&text.text);
                }
            }
            _ => {}
        }
    }
    (so_far, pieces)
}

fn is_delta(event: &pb::progress::Event) -> bool {
    matches!(event, pb::progress::Event::Delta(_))
}

fn is_attempt(event: &pb::progress::Event) -> bool {
    matches!(event, pb::progress::Event::AttemptStarted(_))
}

async fn all(server: &Running, run_id: &str, after: u64) -> Vec<pb::WatchResponse> {
    Watched::open(server.runs(), run_id, after).await.end().await
}

async fn stream(server: &Running, run_id: &str) -> Streaming<pb::StreamCaptureResponse> {
    let capture = Some(ask::capture(ask::text_as(run_id, "hi")));
    server.exchanges().stream_capture(pb::StreamCaptureRequest { capture }).await.unwrap().into_inner()
}

fn piece(text: &str) -> String {
    stub::event(&json!({"content": text}), None)
}

use pb::RunState::{Cancelled, Completed, Failed, Interrupted, PendingTools, Queued, Running as Work};

/// Whoever is there from the start gets each piece, and whoever comes late the text so far as one and then the rest: the same text for both,
/// between the claim and the end.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_watcher_gets_the_text_so_far_and_then_the_rest() {
    let (first, second) = (Gate::closed(), Gate::closed());
    let entry = Entry::events(&[]).wait(&first).write(piece("one ")).write(piece("two ")).wait(&second);
    let provider = Provider::start([entry.write(piece("three")).write(stub::end("stop"))]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut caller = stream(&server, "r").await;
    provider.request(0).await;
    let mut early = Watched::open(server.runs(), "r", 0).await;
    early.until_progress(is_attempt).await;
    first.open();
    // The caller has both pieces, so a watcher that comes now finds them.
    let mut said = String::new();
    while said != "one two " {
        if let Some(pb::stream_capture_response::Event::Progress(pb::Progress {
            event: Some(pb::progress::Event::Delta(pb::Delta { delta: Some(pb::delta::Delta::Text(text)) })),
        })) = caller.message().await.unwrap().unwrap().event
        {
            said.push_str(&text.text);
        }
    }
    let mut late = Watched::open(server.runs(), "r", 1).await;
    late.until_progress(is_attempt).await;
    second.open();
    let (early, late) = (early.end().await, late.end().await);
    while caller.message().await.unwrap().is_some() {}
    assert_eq!(texts(&early), (vec![], "one two three".to_owned()));
    assert_eq!(texts(&late), (vec!["one two ".to_owned()], "three".to_owned()));
    assert_eq!(numbers(&early), [(1, Work), (2, Completed)]);
    assert_eq!(numbers(&late), [(2, Completed)], "the first it has seen");
    for seen in [&early, &late] {
        let last = states(&seen[seen.len() - 1..]).remove(0).1;
        assert_eq!(last, look::run(&server, "r").await, "the end comes last, and is what is on record");
    }
    assert_eq!(numbers(&early[..1]), [(1, Work)], "the claim comes first");
}

/// A run that goes over tools and a restart: what was told while it was at work is told again at any time, from any number, word for word.
#[tokio::test(flavor = "multi_thread")]
async fn states_keep_their_numbers_over_a_restart() {
    let provider = Provider::start([stub::calls(&[("p1", "look", "{}")]), stub::text("done")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let asked = server.exchanges().capture(ask::capture_on_new("t", stub::offering("r", "look"))).await.unwrap();
    let call = asked.into_inner().exchange.unwrap().pending_tool_calls[0].call_id.clone();
    let mut before = Watched::open(server.runs(), "r", 0).await;
    let waits = before.until(PendingTools).await;
    assert_eq!(waits.pending_tool_calls[0].call_id, call);
    // A stop ends the silence of a run that waits, and says that one may come back.
    let mut server = server;
    let stopped = async { before.next().await.unwrap_err() };
    let ((), ended) = tokio::join!(server.stop(), stopped);
    refused::is(&ended, Code::Unavailable, Reason::ShuttingDown);
    let server = server.restart().await;
    let mut live = Watched::open(server.runs(), "r", 2).await;
    let done = server.exchanges().r#continue(ask::on_thread_with("t", vec![ask::result(&call, "seen")])).await.unwrap();
    assert_eq!(done.into_inner().exchange.unwrap().text, "done");
    live.until_progress(is_attempt).await;
    let live = live.end().await;
    assert_eq!(numbers(&live), [(3, Work), (4, Completed)]);
    let told: Vec<_> = states(&before.seen).into_iter().chain(states(&live)).collect();
    assert_eq!(told.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let server = server.restart().await;
    for after in 0..=4 {
        let again = all(&server, "r", after).await;
        assert_eq!(states(&again), told[usize::try_from(after).unwrap()..], "after {after}");
        assert_eq!(again.len(), states(&again).len(), "there is nothing else to tell any more");
    }
    let never = server.runs().watch(watch_after("r", 5)).await.unwrap_err();
    refused::is(&never, Code::InvalidArgument, Reason::InvalidFields);
    assert_eq!(refused::fields(&never), ["after_sequence"]);
    let unknown = server.runs().watch(watch_after("nope", 0)).await.unwrap_err();
    refused::is(&unknown, Code::NotFound, Reason::RunNotFound);
    let unnamed = server.runs().watch(watch_after("", 0)).await.unwrap_err();
    assert_eq!(refused::fields(&unnamed), ["run_id"]);
}

/// A retry under the same id goes on with the numbers; the failure before it stays told as it was.
#[tokio::test(flavor = "multi_thread")]
async fn a_retry_goes_on_with_the_numbers() {
    let gate = Gate::closed();
    let provider = Provider::start([stub::status(500, "broken"), stub::text("two").wait(&gate)]).await;
    let server = Running::start(openai_with(&provider.base_url(), stub::ONCE)).await;
    server.exchanges().capture(ask::capture(ask::text_as("r", "1"))).await.unwrap_err();
    let failed = all(&server, "r", 0).await;
    assert_eq!(numbers(&failed), [(1, Work), (2, Failed)]);
    let retry = pb::ExecutionRequest { retry: true, ..ask::text_as("r", "1") };
    let mut client = server.exchanges();
    let retried = tokio::spawn(async move { client.capture(ask::capture(retry)).await });
    provider.request(1).await;
    let live = Watched::open(server.runs(), "r", 2).await;
    gate.open();
    retried.await.unwrap().unwrap();
    assert_eq!(numbers(&live.end().await), [(3, Work), (4, Completed)]);
    let whole = states(&all(&server, "r", 0).await);
    assert_eq!(whole[..2], states(&failed));
    let facts: Vec<_> =
        whole.iter().map(|(_, run)| (run.attempt, run.observations.len(), run.error.is_some())).collect();
    assert_eq!(facts, [(1, 0, false), (1, 1, true), (2, 1, false), (2, 2, false)]);
}

/// Rule 7: after a crash the run is INTERRUPTED, which is a state with a number like any other, and a retry comes after it.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_is_a_state_with_a_number() {
    let gate = Gate::closed();
    let provider = Provider::start([stub::text("one").wait(&gate), stub::text("two")]).await;
    let folder = tempfile::tempdir().unwrap();
    let config = openai(&provider.base_url());
    let program = Program::start(folder.path(), &config).await;
    let mut client = program.exchanges();
    let lost = tokio::spawn(async move { client.capture(ask::capture(ask::text_as("r", "1"))).await });
    provider.request(0).await;
    let mut watched = Watched::open(program.runs(), "r", 0).await;
    watched.until(Work).await;
    program.kill();
    lost.await.unwrap().unwrap_err();
    let program = Program::start(folder.path(), &config).await;
    let interrupted = Watched::open(program.runs(), "r", 1).await.end().await;
    assert_eq!(numbers(&interrupted), [(2, Interrupted)]);
    assert_eq!(states(&interrupted)[0].1.error.as_ref().unwrap().reason, Reason::RunInterrupted.word());
    let retry = pb::ExecutionRequest { retry: true, ..ask::text_as("r", "1") };
    program.exchanges().capture(ask::capture(retry)).await.unwrap();
    let whole = Watched::open(program.runs(), "r", 0).await.end().await;
    assert_eq!(numbers(&whole), [(1, Work), (2, Interrupted), (3, Work), (4, Completed)]);
    assert_eq!(states(&whole)[1], states(&interrupted)[0]);
}

/// Rule 16: a watcher only looks. Its going away ends nothing, and its being there keeps nothing at work.
#[tokio::test(flavor = "multi_thread")]
async fn watching_neither_keeps_a_run_nor_ends_it() {
    let gate = Gate::closed();
    let provider = Provider::start([stub::text("one").wait(&gate), stub::begun("two").wait(&Gate::closed())]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    let stays = tokio::spawn(async move { client.capture(ask::capture(ask::text_as("stays", "1"))).await });
    provider.request(0).await;
    let channel = server.fresh_channel();
    let mut gone = Watched::open(Runs::new(channel), "stays", 0).await;
    gone.until_progress(is_attempt).await;
    drop(gone);
    let caller = stream(&server, "left").await;
    provider.request(1).await;
    let mut watched = Watched::open(server.runs(), "left", 0).await;
    while texts(&watched.seen) == (vec![], String::new()) {
        watched.next().await.unwrap();
    }
    drop(caller);
    assert_eq!(provider.outcome(1).await, Outcome::ClientClosed);
    assert_eq!(numbers(&watched.end().await), [(1, Work), (2, Cancelled)]);
    gate.open();
    assert_eq!(stays.await.unwrap().unwrap().into_inner().exchange.unwrap().text, "one");
}

/// What waits for its turn is watched from there: QUEUED is on no record, so it has no number. One that is refused before its claim leaves
/// nothing, and its watcher is told why.
#[tokio::test(flavor = "multi_thread")]
async fn a_queued_run_is_watched_from_there() {
    let gate = Gate::closed();
    let provider = Provider::start([stub::text("a1"), stub::text("a2").wait(&gate), stub::streamed(&["a", "3"])]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    server.exchanges().capture(ask::capture_on_new("t", ask::text("q1"))).await.unwrap();
    let point = |on_busy: pb::OnBusy| pb::ThreadPoint { on_busy: on_busy.into(), ..ask::on("t") };
    let mut client = server.exchanges();
    let slow = ask::on_thread(point(pb::OnBusy::Reject), ask::text_as("slow", "q2"));
    let slow = tokio::spawn(async move { client.r#continue(slow).await });
    provider.request(1).await;
    let turn = |id| Some(ask::on_thread(point(pb::OnBusy::Enqueue), ask::text_as(id, "q3")));
    let mut callers = Vec::new();
    for id in ["goes", "gives_up"] {
        let request = pb::StreamContinueRequest { turn: turn(id) };
        callers.push(server.exchanges().stream_continue(request).await.unwrap().into_inner());
    }
    let mut given_up = Watched::open(server.runs(), "gives_up", 0).await;
    assert_eq!(given_up.until(Queued).await.thread_id, "t");
    server.runs().cancel(pb::RunServiceCancelRequest { run_id: "gives_up".into() }).await.unwrap();
    refused::is(&given_up.next().await.unwrap_err(), Code::Cancelled, Reason::RunCancelled);
    assert!(given_up.next().await.unwrap().is_none());
    let mut watched = Watched::open(server.runs(), "goes", 0).await;
    watched.until(Queued).await;
    gate.open();
    slow.await.unwrap().unwrap();
    watched.until_progress(is_delta).await;
    let seen = watched.end().await;
    assert_eq!(numbers(&seen), [(0, Queued), (1, Work), (2, Completed)]);
    assert_eq!(texts(&seen), (vec![], "a3".to_owned()));
    drop(callers);
}

/// A run that waits for results may be cancelled by hand or given up by a later turn; whoever watches is told at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_is_ended_is_told_at_once() {
    let calls = || stub::calls(&[("p1", "look", "{}")]);
    let provider = Provider::start([calls(), calls(), stub::text("a2")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let mut client = server.exchanges();
    for id in ["by_hand", "given_up"] {
        client.capture(ask::capture_on_new(id, stub::offering(id, "look"))).await.unwrap();
        let mut watched = Watched::open(server.runs(), id, 0).await;
        watched.until(PendingTools).await;
        if id == "by_hand" {
            server.runs().cancel(pb::RunServiceCancelRequest { run_id: id.into() }).await.unwrap();
        } else {
            let point = pb::ThreadPoint { unanswered_tools: pb::UnansweredTools::Interrupt.into(), ..ask::on(id) };
            let over = pb::CaptureRequest {
                thread: Some(pb::capture_request::Thread::ExistingThread(point)),
                ..ask::capture(ask::text("never mind"))
            };
            client.capture(over).await.unwrap();
        }
        assert_eq!(numbers(&watched.end().await), [(1, Work), (2, PendingTools), (3, Cancelled)]);
    }
}
