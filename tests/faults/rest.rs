//! Whether the program has come to rest, as it tells itself. It must not know what it did.

use std::time::Duration;

use antiphon::grpc::pb;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::program::Program;
use crate::support::within;

/// How often a count is looked at until it is right.
const LOOK: Duration = Duration::from_millis(50);

/// Waits until nothing is at work, as statistics and metrics tell.
pub(crate) async fn idle(program: &Program) {
    within("nothing to be at work", async {
        loop {
            let stats = program.admin().stats(pb::StatsRequest {}).await.unwrap().into_inner();
            let metrics = metrics(program).await;
            if stats.active_runs == 0 && stats.attached_coordinations == 0 && at_work(&metrics).is_empty() {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    })
    .await;
}

/// The lines of metrics that say that something is at work.
fn at_work(metrics: &str) -> Vec<&str> {
    let names = [
        "antiphon_runs_at_work ",
        "antiphon_coordination_streams ",
        "antiphon_backend_at_work{",
        "antiphon_backend_queued{",
        "antiphon_rpcs_at_work{",
    ];
    let counts = metrics.lines().filter(|line| names.iter().any(|name| line.starts_with(name)));
    counts.filter(|line| !line.ends_with(" 0")).collect()
}

pub(crate) async fn metrics(program: &Program) -> String {
    let mut stream = TcpStream::connect(program.address()).await.unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    within("the metrics", stream.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.contains("antiphon_runs_at_work"), "{answer}");
    answer
}

/// Waits until no more than so many files and threads are there.
pub(crate) async fn given_back(program: &Program, files: usize, tasks: usize) {
    within("files and threads to be given back", async {
        while program.files() > files || program.tasks() > tasks {
            // Only the system tells.
            tokio::time::sleep(LOOK).await;
        }
    })
    .await;
}
