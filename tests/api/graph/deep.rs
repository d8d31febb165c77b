//! Graphs that are deep and wide: right in every page, and as quick at the end as at the beginning.

use antiphon::grpc::pb;
use pb::record_request::Start;

use super::common;
use super::drawn::{asked, nodes, pages, subtree};
use crate::support::ask;
use crate::support::server::Running;

const DEEP: usize = 10_000;
const WIDE: usize = 10_000;
/// Turns in one call.
const AT_ONCE: usize = 500;

/// Turns in a line after an exchange; the last one.
async fn line(server: &Running, after: Option<&str>, turns: usize) -> String {
    let mut last = after.map(str::to_owned);
    let mut made = 0;
    while made < turns {
        let count = AT_ONCE.min(turns - made);
        let said = (made..made + count)
            .flat_map(|number| [ask::user(&format!("{number} after {after:?}")), ask::assistant("ok")])
            .collect();
        let start = last.as_deref().map(|id| Start::AfterExchange(ask::point(id)));
        let request = pb::RecordRequest { start, ..ask::record(said) };
        last = Some(server.exchanges().record(request).await.unwrap().into_inner().exchange_id);
        made += count;
    }
    last.unwrap()
}

/// The root of a path.
async fn root(server: &Running, end: &str) -> String {
    let request = pb::GetGraphRequest {
        detail: pb::GraphDetail::Forks.into(),
        ..asked(pb::graph_scope::Scope::Path(pb::PathScope { exchange_id: end.to_owned() }))
    };
    nodes(&pages(server, &request).await)[0].0.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_of_ten_thousand_turns() {
    let server = Running::echo().await;
    let end = line(&server, None, DEEP).await;
    let top = root(&server, &end).await;
    // Forks near both ends, so that the way back up is long.
    let side = line(&server, Some(&top), 3).await;
    let request = pb::GetGraphRequest { page_size: 3_000, ..asked(subtree(&top)) };
    let found = nodes(&pages(&server, &request).await);
    assert_eq!(found.len(), DEEP + 3);
    for pair in found[..DEEP].windows(2) {
        assert_eq!(pair[1].1, pair[0].0);
    }
    assert_eq!((found[DEEP - 1].0.as_str(), found[DEEP].1.as_str()), (end.as_str(), top.as_str()));
    let forks = pb::GetGraphRequest { detail: pb::GraphDetail::Forks.into(), page_size: 1, ..asked(subtree(&top)) };
    let found = nodes(&pages(&server, &forks).await);
    let hidden = u64::try_from(DEEP - 2).unwrap();
    assert_eq!(
        found,
        [(top.clone(), String::new(), 0), (end.clone(), top.clone(), hidden), (side.clone(), top.clone(), 2)]
    );
    let common = common(&server, &[&end, &side]).await;
    assert_eq!(common.exchange.unwrap().exchange_id, top);
    assert_eq!(common.branches[0].exchange_count, u64::try_from(DEEP - 1).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_exchanges_after_one() {
    let server = Running::echo().await;
    let top = line(&server, None, 1).await;
    let record = |number: usize| {
        let said = vec![ask::user(&number.to_string()), ask::assistant("ok")];
        let request = pb::RecordRequest { start: Some(Start::AfterExchange(ask::point(&top))), ..ask::record(said) };
        let mut exchanges = server.exchanges();
        async move { exchanges.record(request).await.unwrap().into_inner().exchange_id }
    };
    let mut made = Vec::new();
    for hundred in 0..WIDE / 100 {
        made.extend(futures::future::join_all((0..100).map(|number| record(hundred * 100 + number))).await);
    }
    made.sort_unstable();
    let (mut listed, mut page_token) = (Vec::new(), String::new());
    loop {
        let request = pb::ListChildrenRequest { exchange_id: top.clone(), page_size: 1_000, page_token };
        let page = server.graphs().list_children(request).await.unwrap().into_inner();
        listed.extend(page.exchanges.into_iter().map(|node| node.exchange_id));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(listed, made, "by id, which is by time");
    let request = pb::GetGraphRequest { page_size: 4_000, ..asked(subtree(&top)) };
    let found = pages(&server, &request).await;
    assert_eq!(found[0].nodes[0].exchange.as_ref().unwrap().child_count, u64::try_from(WIDE).unwrap());
    let found = nodes(&found);
    assert_eq!(found.len(), WIDE + 1);
    assert!(found[1..].iter().all(|(_, parent, hidden)| *parent == top && *hidden == 0));
}
