//! Stats: what a namespace holds, in figures.

use antiphon::grpc::pb;

use pb::admin_service_client::AdminServiceClient;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::stub;
use crate::support::coordinate::{Loop, start};
use crate::support::provider::{Gate, Provider};
use crate::support::server::{Running, openai_with, scripted};
use crate::support::{ask, documents, within};

async fn stats(server: &Running) -> pb::StatsResponse {
    server.admin().stats(pb::StatsRequest {}).await.unwrap().into_inner()
}

fn count(stats: &pb::StatsResponse, kind: &str) -> u64 {
    stats.records.iter().find(|record| record.kind == kind).map_or(0, |record| record.count)
}

/// Records are counted one by one, content before compression and wherever it is said, and figures a moment old serve again.
#[tokio::test(flavor = "multi_thread")]
async fn figures_are_of_what_is_stored() {
    let server = Running::start(scripted("")).await;
    let mut client = server.exchanges();
    let image = pb::InlineMedia { media_type: "image/png".into(), data: vec![7; 10_000].into() };
    let media = pb::MediaSource { source: Some(pb::media_source::Source::Inline(image)) };
    let image = pb::Part {
        kind: Some(pb::part::Kind::Image(pb::ImagePart { source: Some(media), ..Default::default() })),
        ..Default::default()
    };
    for id in ["a", "b"] {
        let mut said = ask::user(id);
        said.parts.push(image.clone());
        client.record(ask::record(vec![said, ask::assistant("seen")])).await.unwrap();
    }
    let first = client.capture(ask::capture_on_new("t", ask::text("x".repeat(4_000).as_str()))).await.unwrap();
    let first = first.into_inner().exchange.unwrap().exchange_id;
    client.fork(ask::fork(&first, vec![ask::branch("f", None)])).await.unwrap();
    let found = stats(&server).await;
    let counts = ["exchange", "run", "thread", "head", "part"].map(|kind| count(&found, kind));
    assert_eq!(counts, [3, 3, 2, 2, 1], "{:?}", found.records);
    assert!(found.records.iter().all(|record| record.size_bytes >= record.count), "{:?}", found.records);
    // The image is kept once and said twice; the text was compressed.
    assert!((24_000..40_000).contains(&found.logical_bytes), "{}", found.logical_bytes);
    assert!(found.disk_bytes > 0 && found.exact && found.time.is_some());
    assert_eq!((found.active_runs, found.open_coordinations, found.attached_coordinations), (0, 0, 0));
    client.capture(ask::capture(ask::text("more"))).await.unwrap();
    let again = stats(&server).await;
    assert!(!again.exact, "nothing was counted again");
    assert_eq!((again.time, count(&again, "exchange")), (found.time, 3));
}

/// Documents count too: what is live, the nodes of their versions, their content, and moves of heads that no exchange tells of.
#[tokio::test(flavor = "multi_thread")]
async fn documents_are_counted() {
    let server = Running::start(scripted("")).await;
    let first = documents::began(&server, "t").await.exchange_id;
    documents::wrote(&server, "t", vec![documents::put("a", vec![7_u8; 5_000]), documents::put("b", "b")]).await;
    documents::went_on(&server, "t", "r2").await;
    documents::wrote(&server, "t", vec![documents::put("a", "again")]).await;
    let to = Some(ask::point(&first));
    server.threads().restore(pb::RestoreRequest { thread_id: "t".into(), to, ..Default::default() }).await.unwrap();
    let found = stats(&server).await;
    let counts = ["workspace", "move of a head", "part"].map(|kind| count(&found, kind));
    assert_eq!(counts, [1, 1, 3], "{:?}", found.records);
    assert!(count(&found, "workspace node") >= 2, "{:?}", found.records);
}

/// What is used of a limit, and its value, with the unit.
fn used(stats: &pb::StatsResponse, name: &str) -> (u64, u64, String) {
    let limit = stats.limits.iter().find(|limit| limit.name == name).unwrap_or_else(|| panic!("{name} is not told"));
    (limit.used, limit.value, limit.unit.clone())
}

/// Waits until so much of a limit is used.
async fn until(server: &Running, name: &str, expected: u64) {
    within(&format!("{expected} of {name}"), async {
        while used(&stats(server).await, name).0 != expected {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
}

/// Everything that is counted at a moment and has a limit is told with both, while something counts; and nothing of it remains.
#[tokio::test(flavor = "multi_thread")]
async fn use_is_told_against_each_limit() {
    let gate = Gate::closed();
    let entries = [stub::text("ok"), stub::text("ok"), stub::text("slow").wait(&gate)];
    let rest = [stub::text("next"), stub::text("other")];
    let provider = Provider::start(entries.into_iter().chain(rest)).await;
    let more = "capacity = 1\nqueue_limit = 5\n[server]\nmax_connections = 50\n\
                [limits]\nmax_runs = 9\nmax_queued_per_thread = 3\nmax_remembered_results = 4\n\
                max_remembered_bytes = 1000\nmax_coordination_streams = 7\n";
    let server = Running::start(openai_with(&provider.base_url(), more)).await;
    let count = |used: u64, max: u64| (used, max, "count".to_owned());
    let mut client = server.exchanges();
    let execution = Some(pb::run_request::Execution::Request(ask::text("1234567890")));
    client.run(pb::RunRequest { execution, ..Default::default() }).await.unwrap();
    let first = client.capture(ask::capture_on_new("t", ask::text("q"))).await.unwrap().into_inner();
    let first = first.exchange.unwrap().exchange_id;
    let mut stream = Loop::start(&server, start(&first, 1)).await;
    stream.decision().await;

    let on_thread = |id: &'static str| {
        let mut client = server.exchanges();
        let point = pb::ThreadPoint { on_busy: pb::OnBusy::Enqueue.into(), ..ask::on("t") };
        tokio::spawn(async move { client.r#continue(ask::on_thread(point, ask::text_as(id, "x"))).await })
    };
    let slow = on_thread("slow");
    provider.request(2).await;
    let waits = on_thread("waits");
    until(&server, "max_queued_per_thread", 1).await;
    let mut other = server.exchanges();
    let other = tokio::spawn(async move { other.capture(ask::capture(ask::text_as("other", "x"))).await });
    until(&server, "backends.stub.queue_limit", 1).await;
    let connections = used(&stats(&server).await, "max_connections").0;
    let mut health = HealthClient::new(server.fresh_channel());
    let watched = health.watch(HealthCheckRequest::default()).await.unwrap();
    let found = stats(&server).await;
    for (name, expected) in [
        ("max_runs", count(3, 9)),
        ("max_queued_per_thread", count(1, 3)),
        ("max_remembered_results", count(1, 4)),
        ("max_remembered_bytes", (12, 1_000, "bytes".to_owned())),
        ("max_coordination_streams", count(1, 7)),
        ("max_connections", count(connections + 1, 50)),
        ("health_calls", count(1, 256)),
        ("exports", count(0, 4)),
        ("backends.stub.capacity", count(1, 1)),
        ("backends.stub.queue_limit", count(1, 5)),
    ] {
        assert_eq!(used(&found, name), expected, "{name}: {:?}", found.limits);
    }
    assert!(connections >= 2, "the test has two connections, and {connections} are told");

    gate.open();
    drop((watched, health, stream));
    slow.await.unwrap().unwrap();
    waits.await.unwrap().unwrap();
    other.await.unwrap().unwrap();
    for name in ["max_runs", "max_queued_per_thread", "max_coordination_streams", "health_calls"] {
        until(&server, name, 0).await;
    }
    until(&server, "backends.stub.capacity", 0).await;
    until(&server, "backends.stub.queue_limit", 0).await;
    // Each connection that is gone gives its place back.
    let gone = AdminServiceClient::new(server.fresh_channel()).stats(pb::StatsRequest {}).await.unwrap();
    assert!(used(gone.get_ref(), "max_connections").0 >= 2);
    until(&server, "max_connections", connections - 1).await;
}
