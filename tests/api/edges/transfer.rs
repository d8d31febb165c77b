//! What is asked of the store as a whole: parts of an export, exports at once, findings of a verification, notes.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::admin_service_client::AdminServiceClient;
use pb::graph_scope::Scope;
use tonic::{Code, Streaming};
use tonic_types::StatusExt;

use super::{Edge, kept};
use crate::support::server::Running;
use crate::support::{ask, refused, within};

const NOWHERE: &str = "0190a5c1-7b1e-7000-8000-000000000000";

#[tokio::test(flavor = "multi_thread")]
async fn of_an_export() {
    let server = Running::echo().await;
    crate::support::documents::began(&server, "t").await;
    let edges: &[Edge<pb::ExportRequest>] = &[("scopes", 1_024, |count| {
        let thread = Scope::ThreadPath(pb::ThreadPathScope { thread_id: "t".into() });
        pb::ExportRequest { scopes: vec![pb::GraphScope { scope: Some(thread) }; count], ..Default::default() }
    })];
    kept(&server, edges, async |request| server.admin().export(request).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_verification() {
    let server = Running::echo().await;
    let edges: &[Edge<pb::VerifyRequest>] = &[("max_findings", 100_000, |findings| pb::VerifyRequest {
        max_findings: findings.try_into().unwrap(),
        ..Default::default()
    })];
    kept(&server, edges, async |request| server.admin().verify(request).await).await;
}

fn target() -> Option<pb::RetentionTarget> {
    Some(pb::RetentionTarget { target: Some(pb::retention_target::Target::Exchange(ask::point(NOWHERE))) })
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_note() {
    let server = Running::echo().await;
    let pins: &[Edge<pb::CreatePinRequest>] = &[
        ("note", 1_024, |characters| pb::CreatePinRequest {
            target: target(),
            note: "é".repeat(characters),
            ..Default::default()
        }),
        ("pin_id", 128, |characters| pb::CreatePinRequest {
            target: target(),
            pin_id: "p".repeat(characters),
            ..Default::default()
        }),
    ];
    kept(&server, pins, async |request| server.admin().create_pin(request).await).await;
    let erasures: &[Edge<pb::EraseRequest>] = &[("note", 1_024, |characters| pb::EraseRequest {
        target: target(),
        note: "é".repeat(characters),
        ..Default::default()
    })];
    kept(&server, erasures, async |request| server.admin().erase(request).await).await;
}

/// An export whose caller does not read on holds its place until the caller goes; a fifth one is told when to come again.
#[tokio::test(flavor = "multi_thread")]
async fn of_exports_at_once() {
    let server = Running::echo().await;
    // More than lies ready for a caller who does not read.
    let text = "x".repeat(128 << 10);
    let messages =
        (0..64).flat_map(|number| [ask::user(&number.to_string()), ask::assistant(&format!("{number}{text}"))]);
    server.exchanges().record(ask::record(messages.collect())).await.unwrap();
    // Each on a connection of its own: one that is not read holds up the others on it.
    let export = async || {
        let mut client = AdminServiceClient::new(server.fresh_channel()).max_decoding_message_size(usize::MAX);
        client.export(pb::ExportRequest::default()).await.map(tonic::Response::into_inner)
    };
    let mut reading: Vec<Streaming<pb::ExportResponse>> = Vec::new();
    for _ in 0..4 {
        reading.push(export().await.unwrap());
    }
    let fifth = export().await.unwrap_err();
    refused::is(&fifth, Code::ResourceExhausted, Reason::LimitExceeded);
    assert_eq!(["limit", "max", "value"].map(|key| refused::fact(&fifth, key)), ["exports", "4", "5"]);
    let stats = server.admin().stats(pb::StatsRequest {}).await.unwrap().into_inner();
    let used = stats.limits.iter().find(|limit| limit.name == "exports").unwrap();
    assert_eq!((used.used, used.value), (4, 4), "told while they are at work");
    assert!(fifth.message().contains('4') && fifth.get_details_retry_info().is_some(), "{fifth:?}");
    drop(reading.pop());
    within("the place of one that went", async {
        while let Err(status) = export().await {
            assert_eq!(refused::reason(&status), Reason::LimitExceeded.word());
        }
    })
    .await;
}
