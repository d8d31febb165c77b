//! Stats: what a namespace holds, in figures.

use antiphon::grpc::pb;

use crate::support::server::{Running, scripted};
use crate::support::{ask, documents};

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
