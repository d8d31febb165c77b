//! What is asked of the graph: how many exchanges have an ancestor in common, conditions of a search, whose usage is summed.

use antiphon::grpc::pb;
use pb::usage_scope::Runs;

use super::{Edge, beyond, kept};
use crate::support::ask;
use crate::support::server::Running;

const NOWHERE: &str = "0190a5c1-7b1e-7000-8000-000000000000";

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("n{number}")).collect()
}

fn sum(runs: Runs) -> pb::SumUsageRequest {
    pb::SumUsageRequest { scopes: vec![pb::UsageScope { runs: Some(runs) }] }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_common_ancestor() {
    let server = Running::echo().await;
    let edges: &[Edge<pb::GetCommonAncestorRequest>] =
        &[("exchanges", 64, |count| pb::GetCommonAncestorRequest { exchanges: vec![ask::point(NOWHERE); count] })];
    let ancestor = async |request| server.graphs().get_common_ancestor(request).await;
    kept(&server, edges, ancestor).await;
    let one = pb::GetCommonAncestorRequest { exchanges: vec![ask::point(NOWHERE)] };
    beyond(&ancestor(one).await.unwrap_err(), "exchanges", 2, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_search() {
    let server = Running::echo().await;
    let edges: &[Edge<pb::SearchRequest>] = &[
        ("models", 64, |count| pb::SearchRequest { models: names(count), ..Default::default() }),
        ("backend_ids", 64, |count| pb::SearchRequest { backend_ids: names(count), ..Default::default() }),
        ("offered_tools", 64, |count| pb::SearchRequest { offered_tools: names(count), ..Default::default() }),
        ("called_tools", 64, |count| pb::SearchRequest { called_tools: names(count), ..Default::default() }),
        ("text", 255, |characters| pb::SearchRequest { text: "é".repeat(characters), ..Default::default() }),
    ];
    kept(&server, edges, async |request| server.graphs().search(request).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_sum() {
    let server = Running::echo().await;
    let edges: &[Edge<pb::SumUsageRequest>] = &[
        ("scopes", 64, |count| {
            let labels = [("k".to_owned(), "v".to_owned())].into();
            let scope = pb::UsageScope { runs: Some(Runs::LabelSet(pb::LabelSet { labels })) };
            pb::SumUsageRequest { scopes: vec![scope; count] }
        }),
        ("scopes[0].run_set.run_ids", 10_000, |count| sum(Runs::RunSet(pb::RunSet { run_ids: names(count) }))),
        ("scopes[0].exchange_set.exchange_ids", 10_000, |count| {
            sum(Runs::ExchangeSet(pb::ExchangeSet { exchange_ids: vec![NOWHERE.into(); count] }))
        }),
        ("scopes[0].label_set.labels", 64, |count| {
            let labels = names(count).into_iter().map(|name| (name, String::new())).collect();
            sum(Runs::LabelSet(pb::LabelSet { labels }))
        }),
    ];
    let summed = async |request| server.graphs().sum_usage(request).await;
    kept(&server, edges, summed).await;
    beyond(&summed(pb::SumUsageRequest::default()).await.unwrap_err(), "scopes", 64, 0);
}
