//! What the API names and this server does not do yet is refused by its name, never ignored (rule 10).

use antiphon::domain::fault::Reason;
use antiphon::grpc::{pb, unimplemented};
use pb::graph_scope::Scope;
use tonic::{Code, Status};

use crate::look;
use crate::support::server::Running;
use crate::support::{ask, refused};

fn not_implemented(status: &Status, feature: &str) {
    refused::is(status, Code::Unimplemented, Reason::NotImplemented);
    assert_eq!(refused::fact(status, "feature"), feature);
    assert!(status.message().contains(feature), "{status:?}");
}

/// Fields and values of enums, wherever they may stand, before any work.
#[tokio::test(flavor = "multi_thread")]
async fn every_field_that_is_not_honoured_is_refused() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    let first = client.capture(ask::capture_on_new("t", ask::text_as("r0", "1"))).await.unwrap().into_inner();
    let first = first.exchange.unwrap().exchange_id;
    let drifts_in = |scope| {
        let scope = Some(pb::GraphScope { scope: Some(scope) });
        let request = pb::ListToolDriftsRequest { scope, ..Default::default() };
        let mut tools = server.tools();
        async move { tools.list_tool_drifts(request).await.unwrap_err() }
    };
    let subtree = Scope::Subtree(pb::SubtreeScope { exchange_id: first.clone(), max_steps: None });
    let tree = Scope::ThreadTree(pb::ThreadTreeScope { thread_id: "t".into() });
    let refusals = [
        (drifts_in(subtree).await, unimplemented::TOOLS_OF_SUBTREE),
        (drifts_in(tree).await, unimplemented::TOOLS_OF_THREAD_TREE),
    ];
    for (status, feature) in &refusals {
        not_implemented(status, feature);
    }
    let told: std::collections::BTreeSet<_> = refusals.iter().map(|(_, feature)| *feature).collect();
    assert_eq!(told, unimplemented::FIELDS.iter().copied().collect(), "every field of the list is tried");
    assert_eq!(
        (look::runs(&server).await, look::threads(&server).await),
        (vec!["r0".to_owned()], vec!["t".to_owned()])
    );
}
