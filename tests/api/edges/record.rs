//! What a transcript that is recorded may have, and a thread that is made.

use antiphon::grpc::pb;

use super::{Edge, kept, object};
use crate::support::ask;
use crate::support::server::Running;

#[tokio::test(flavor = "multi_thread")]
async fn of_a_transcript() {
    let server = Running::echo().await;
    let edges: &[Edge<pb::RecordRequest>] = &[
        ("messages", 16_384, |count| {
            let mut messages = vec![ask::user("x"); count - 1];
            messages.push(ask::assistant("y"));
            ask::record(messages)
        }),
        ("facts[0].usage.provider_json", 65_536, |bytes| {
            let usage = pb::Usage { provider_json: object(bytes), ..Default::default() };
            let facts = pb::RecordedFacts { message_index: 1, usage: Some(usage), ..Default::default() };
            pb::RecordRequest { facts: vec![facts], ..ask::record(vec![ask::user("x"), ask::assistant("y")]) }
        }),
    ];
    kept(&server, edges, async |request| server.exchanges().record(request).await).await;
    let stored = crate::look::verified(&server).await;
    assert_eq!(stored.get("exchange"), Some(&2), "those with the most are on record: {stored:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_thread() {
    let server = Running::echo().await;
    let edges: &[Edge<pb::NewThread>] = &[
        ("thread.name", 255, |characters| pb::NewThread { name: "é".repeat(characters), ..Default::default() }),
        ("thread.metadata_json", 65_536, |bytes| pb::NewThread { metadata_json: object(bytes), ..Default::default() }),
        ("thread.labels", 64, |count| pb::NewThread {
            labels: (0..count).map(|number| (format!("k{number}"), String::new())).collect(),
            ..Default::default()
        }),
        ("thread.thread_id", 128, |characters| pb::NewThread {
            thread_id: "t".repeat(characters),
            ..Default::default()
        }),
    ];
    let create = async |thread| {
        let request = pb::ThreadServiceCreateRequest { thread: Some(thread), ..Default::default() };
        server.threads().create(request).await
    };
    kept(&server, edges, create).await;
    assert_eq!(crate::look::threads(&server).await.len(), 4);
}
