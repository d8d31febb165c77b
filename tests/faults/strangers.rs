//! Connections and streams on which nothing is said: they cost little, are in nobody's way, and are gone with whoever made them.

use std::time::Duration;

use antiphon::grpc::pb;
use pb::admin_service_client::AdminServiceClient;
use pb::exchange_service_client::ExchangeServiceClient;
use pb::workspace_service_client::WorkspaceServiceClient;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::rest;
use crate::support::http2::{PREFACE, Peer, SETTINGS, frame};
use crate::support::program::Program;
use crate::support::server::scripted;
use crate::support::{ask, within};

const MEBIBYTE: u64 = 1 << 20;

async fn serves(program: &Program, what: &str) {
    let mut client = ExchangeServiceClient::new(program.fresh_channel());
    let captured = within(what, client.capture(ask::capture(ask::text("hello")))).await;
    captured.unwrap_or_else(|status| panic!("{what}: {status:?}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn half_open_connections_cost_little() {
    const OF_EACH: usize = 200;
    let folder = tempfile::tempdir().unwrap();
    let mut program = Program::start(folder.path(), &scripted("")).await;
    serves(&program, "before").await;
    rest::idle(&program).await;
    let (files, tasks, before) = (program.files(), program.tasks(), program.memory());
    let greetings: [&[u8]; 5] = [
        b"",
        PREFACE,
        &[PREFACE, &frame(SETTINGS, 0, 0, &[])].concat(),
        b"POST /antiphon.v1.ExchangeService/Capture HTTP/1.1\r\nhost: local",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a greeting of another kind",
    ];
    let mut open = Vec::new();
    for greeting in greetings {
        for _ in 0..OF_EACH {
            let mut stream = TcpStream::connect(program.address()).await.unwrap();
            stream.write_all(greeting).await.unwrap();
            open.push(stream);
        }
        serves(&program, "beside those who say nothing").await;
    }
    let grew = program.peak_memory().saturating_sub(before);
    println!("{} KiB for each of {} connections", (grew >> 10) / u64::try_from(open.len()).unwrap(), open.len());
    assert!(grew < 64 * MEBIBYTE, "{grew} bytes");
    drop(open);
    rest::given_back(&program, files + 4, tasks + 8).await;
    program.terminate().await;
}

/// Beyond the limit they wait to be accepted; once others have gone they are served.
#[tokio::test(flavor = "multi_thread")]
async fn more_connections_than_are_taken_wait() {
    const MOST: usize = 12;
    let folder = tempfile::tempdir().unwrap();
    let config = format!("{}[server]\nmax_connections = {MOST}\n", scripted(""));
    let mut program = Program::start(folder.path(), &config).await;
    let mut inside = Vec::new();
    for _ in 0..MOST {
        let mut client = ExchangeServiceClient::new(program.fresh_channel());
        within("a place", client.capture(ask::capture(ask::text("inside")))).await.unwrap();
        inside.push(client);
    }
    let mut outside: Vec<_> = (0..3 * MOST)
        .map(|_| {
            let mut client = ExchangeServiceClient::new(program.fresh_channel());
            tokio::spawn(async move { client.capture(ask::capture(ask::text("outside"))).await.map(drop) })
        })
        .collect();
    // Those inside are served as before, however many wait.
    for client in &mut inside {
        within("those inside", client.capture(ask::capture(ask::text("again")))).await.unwrap();
    }
    assert!(outside.iter().all(|waits| !waits.is_finished()), "nobody is let in beyond the limit");
    drop(inside);
    for waits in outside.drain(..) {
        within("those outside", waits).await.unwrap().unwrap();
    }
    serves(&program, "after the rush").await;
    program.terminate().await;
}

/// Streams of every kind that are opened and on which nothing is ever said.
#[tokio::test(flavor = "multi_thread")]
async fn silent_streams_cost_little_and_do_not_hold_up_a_stop() {
    const OF_EACH: usize = 300;
    let folder = tempfile::tempdir().unwrap();
    let mut program = Program::start(folder.path(), &scripted("")).await;
    serves(&program, "before").await;
    rest::idle(&program).await;
    let (files, tasks, before) = (program.files(), program.tasks(), program.memory());
    let open = || async {
        let channel = program.fresh_channel();
        let (mut said, mut calls) = (Vec::new(), tokio::task::JoinSet::new());
        for _ in 0..OF_EACH {
            let (say, says) = mpsc::channel(1);
            let mut client = ExchangeServiceClient::new(channel.clone());
            // The headers of a stream come at once, or with the first frame.
            calls.spawn(async move {
                let mut stream = client.coordinate(ReceiverStream::new(says)).await.map(tonic::Response::into_inner);
                if let Ok(stream) = &mut stream {
                    stream.message().await.ok();
                }
            });
            said.push(Box::new(say) as Box<dyn Send>);
            let (say, says) = mpsc::channel(1);
            let mut client = AdminServiceClient::new(channel.clone());
            calls.spawn(async move { drop(client.import(ReceiverStream::new(says)).await) });
            said.push(Box::new(say));
            let (say, says) = mpsc::channel(1);
            let mut client = WorkspaceServiceClient::new(channel.clone());
            calls.spawn(async move { drop(client.stream_write_document(ReceiverStream::new(says)).await) });
            said.push(Box::new(say));
        }
        (said, calls)
    };
    let silent = open().await;
    within("the streams to be open", async {
        let at_work = |metrics: &str| -> usize {
            let of =
                |line: &str| line.strip_prefix("antiphon_rpcs_at_work{")?.rsplit(' ').next()?.parse::<usize>().ok();
            metrics.lines().filter_map(of).sum()
        };
        while at_work(&rest::metrics(&program).await) < 2 * OF_EACH {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    serves(&program, "beside silent streams").await;
    let grew = program.peak_memory().saturating_sub(before);
    println!("{} KiB for each silent stream", (grew >> 10) / (3 * OF_EACH as u64));
    assert!(grew < 64 * MEBIBYTE, "{grew} bytes");
    drop(silent);
    rest::idle(&program).await;
    rest::given_back(&program, files + 4, tasks + 8).await;
    // A peer that has greeted and says nothing, and streams that say nothing, are hung up on when the server stops.
    let (_silent, _peer) = (open().await, Peer::greet(program.address()).await);
    program.terminate().await;
}
