//! kill -9 of the whole server under load, over the wire: what a caller was told is there when it comes back, and what was at work is
//! INTERRUPTED and not run again unasked.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use antiphon::grpc::pb;
use antiphon::grpc::pb::exchange_service_client::ExchangeServiceClient;
use antiphon::grpc::pb::run_service_client::RunServiceClient;
use antiphon::grpc::pb::thread_service_client::ThreadServiceClient;
use pb::{capture_request, continue_request, part};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tonic::transport::Channel;
use tonic_types::StatusExt;

use crate::harness::{Dice, rounds};

const CALLERS: usize = 8;

pub(crate) const CONFIG: &str = r#"
default_profile = "canned"
[profiles.canned]
backend = "script"
model = "canned-1"
[backends.script]
kind = "scripted"
capacity = 64
[[backends.script.rules]]
when = "slow"
text = "never told"
delay_ms = 600000
"#;

/// The real program.
pub(crate) struct Server {
    child: Child,
    pub(crate) channel: Channel,
}

impl Server {
    pub(crate) async fn start(config: &Path, data: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_antiphon"))
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(config)
            .arg("--data")
            .arg(data)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let out = child.stdout.take().expect("its output");
        let line = tokio::task::spawn_blocking(move || {
            BufReader::new(out)
                .lines()
                .map_while(Result::ok)
                .find_map(|line| line.strip_prefix("listening on ").map(str::to_owned))
        });
        let address = line.await.expect("the reader").expect("the server says where it listens");
        let channel = Channel::from_shared(format!("http://{address}")).expect("an address").connect_lazy();
        Self { child, channel }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("kill -9");
        self.child.wait().expect("it is gone");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Only a test that failed leaves it running.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// What a caller was told.
struct Told {
    thread: String,
    exchange: String,
    run: String,
    asked: String,
}

pub(crate) fn said(text: &str) -> pb::ExecutionRequest {
    pb::ExecutionRequest { text: text.to_owned(), ..Default::default() }
}

pub(crate) fn turn(thread: &str, request: pb::ExecutionRequest) -> pb::ContinueRequest {
    let point = pb::ThreadPoint { thread_id: thread.to_owned(), ..Default::default() };
    pb::ContinueRequest {
        from: Some(continue_request::From::Thread(point)),
        input: Some(continue_request::Input::Request(request)),
    }
}

/// One caller: makes a thread and goes on with it until the server is gone.
async fn call(channel: Channel, name: String, told: UnboundedSender<Told>) {
    let mut client = ExchangeServiceClient::new(channel);
    let tell = |exchange: pb::Exchange, asked: String| {
        told.send(Told { thread: name.clone(), exchange: exchange.exchange_id, run: exchange.run_id, asked }).ok();
    };
    let new = pb::NewThread { thread_id: name.clone(), ..Default::default() };
    let asked = format!("{name} 0");
    let first = pb::CaptureRequest {
        execution: Some(capture_request::Execution::Request(said(&asked))),
        thread: Some(capture_request::Thread::NewThread(new)),
    };
    let Ok(first) = client.capture(first).await else { return };
    tell(first.into_inner().exchange.expect("an exchange"), asked);
    for n in 1.. {
        let asked = format!("{name} {n}");
        let Ok(next) = client.r#continue(turn(&name, said(&asked))).await else { return };
        tell(next.into_inner().exchange.expect("an exchange"), asked);
    }
}

fn texts(messages: &[pb::Message]) -> Vec<String> {
    let text = |part: &pb::Part| match &part.kind {
        Some(part::Kind::Text(text)) => text.text.clone(),
        other => panic!("only text was said: {other:?}"),
    };
    messages.iter().map(|message| message.parts.iter().map(text).collect()).collect()
}

/// Everything that was told is there, whole, and each head is at the last exchange that was told or the one after it.
async fn check(server: &Server, told: &BTreeMap<String, Vec<Told>>) {
    let mut exchanges = ExchangeServiceClient::new(server.channel.clone()).max_decoding_message_size(usize::MAX);
    let mut threads = ThreadServiceClient::new(server.channel.clone());
    let mut runs = RunServiceClient::new(server.channel.clone());
    for (name, turns) in told {
        let Some(last) = turns.last() else { continue };
        let request = pb::InspectRequest { exchange_id: last.exchange.clone(), page_size: 1_000, ..Default::default() };
        let mut history = Vec::new();
        let mut request = Some(request);
        while let Some(ask) = request.take() {
            let page = exchanges.inspect(ask.clone()).await.expect("what was told is there").into_inner();
            history.extend(texts(&page.messages));
            if !page.next_page_token.is_empty() {
                request = Some(pb::InspectRequest { page_token: page.next_page_token, ..ask });
            }
        }
        let asked: Vec<&String> = history.iter().step_by(2).collect();
        assert_eq!(asked, turns.iter().map(|told| &told.asked).collect::<Vec<_>>(), "{name}");
        let thread = threads.get(pb::ThreadServiceGetRequest { thread_id: name.clone() }).await.expect("the thread");
        let thread = thread.into_inner().thread.expect("the thread");
        let count = turns.len() as u64;
        assert!((count..=count + 1).contains(&thread.turn_count), "{name}: {} turns, {count} told", thread.turn_count);
        if thread.turn_count == count {
            assert_eq!(thread.head_exchange_id, last.exchange);
        }
        let run = runs.get(pb::RunServiceGetRequest { run_id: last.run.clone() }).await.expect("the run");
        assert_eq!(run.into_inner().run.expect("the run").state(), pb::RunState::Completed);
    }
}

/// Takes what callers were told, until so many were or nobody calls any more.
async fn hear(from: &mut UnboundedReceiver<Told>, told: &mut BTreeMap<String, Vec<Told>>, most: u64) {
    for _ in 0..most {
        match from.recv().await {
            Some(one) => told.entry(one.thread.clone()).or_default().push(one),
            None => return,
        }
    }
}

// Rule 8, B103, B130: under load, in every round, at any moment.
#[tokio::test(flavor = "multi_thread")]
async fn what_callers_were_told_survives_kill_9() {
    let mut dice = Dice::new("kill -9 of the server");
    let folder = tempfile::tempdir().expect("a folder");
    let (config, data) = (folder.path().join("antiphon.toml"), folder.path().join("data"));
    std::fs::write(&config, CONFIG).expect("the configuration");
    let mut all = 0;
    for round in 0..rounds() {
        let mut server = Server::start(&config, &data).await;
        let (tell, mut heard) = unbounded_channel();
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            callers.spawn(call(server.channel.clone(), format!("r{round}-c{caller}"), tell.clone()));
        }
        drop(tell);
        let mut told = BTreeMap::new();
        hear(&mut heard, &mut told, 1 + dice.roll(200)).await;
        server.kill();
        callers.join_all().await;
        hear(&mut heard, &mut told, u64::MAX).await;
        all += told.values().map(Vec::len).sum::<usize>();
        let mut server = Server::start(&config, &data).await;
        check(&server, &told).await;
        server.kill();
    }
    println!("{all} answers were told, none lost");
}

// Rule 7, S3-7: a run that was at work is INTERRUPTED, its thread can go on, and nothing runs again unasked.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_at_work_is_interrupted_by_kill_9() {
    let folder = tempfile::tempdir().expect("a folder");
    let (config, data) = (folder.path().join("antiphon.toml"), folder.path().join("data"));
    std::fs::write(&config, CONFIG).expect("the configuration");
    let mut server = Server::start(&config, &data).await;
    let mut client = ExchangeServiceClient::new(server.channel.clone());
    let new = pb::NewThread { thread_id: "t".to_owned(), ..Default::default() };
    let first = pb::CaptureRequest {
        execution: Some(capture_request::Execution::Request(said("hello"))),
        thread: Some(capture_request::Thread::NewThread(new)),
    };
    let head =
        client.capture(first).await.expect("the first turn").into_inner().exchange.expect("an exchange").exchange_id;
    let slow = || turn("t", pb::ExecutionRequest { run_id: "slow".to_owned(), ..said("slow") });
    let streamed = pb::StreamContinueRequest { turn: Some(slow()) };
    let mut events = client.stream_continue(streamed).await.expect("a stream").into_inner();
    // The first event says that the run is claimed.
    events.message().await.expect("an event").expect("an event");
    server.kill();
    let mut server = Server::start(&config, &data).await;
    let mut client = ExchangeServiceClient::new(server.channel.clone());
    let mut runs = RunServiceClient::new(server.channel.clone());
    let run = runs.get(pb::RunServiceGetRequest { run_id: "slow".to_owned() }).await.expect("the run").into_inner().run;
    assert_eq!(run.expect("the run").state(), pb::RunState::Interrupted);
    let repeated = client.r#continue(slow()).await.expect_err("it is not run again");
    assert_eq!(repeated.code(), tonic::Code::Aborted);
    assert_eq!(repeated.get_details_error_info().expect("a reason").reason, "RUN_INTERRUPTED");
    let mut threads = ThreadServiceClient::new(server.channel.clone());
    let thread = threads.get(pb::ThreadServiceGetRequest { thread_id: "t".to_owned() }).await.expect("the thread");
    let thread = thread.into_inner().thread.expect("the thread");
    assert_eq!((thread.head_exchange_id, thread.active_run_id.as_str()), (head, "slow"));
    let next = client.r#continue(turn("t", said("go on"))).await.expect("the thread goes on").into_inner();
    assert_eq!(next.thread.expect("the thread").turn_count, 2);
    server.kill();
}
