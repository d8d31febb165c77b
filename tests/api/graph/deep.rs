//! Graphs that are deep and wide: right in every page, and as quick at the end as at the beginning.

use antiphon::grpc::pb;
use pb::graph_scope::Scope;
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
        ..asked(Scope::Path(pb::PathScope { exchange_id: end.to_owned() }))
    };
    nodes(&pages(server, &request).await)[0].0.clone()
}

/// All that lies before an exchange, nearest first.
async fn ancestors(server: &Running, id: &str) -> Vec<String> {
    let (mut all, mut page_token) = (Vec::new(), String::new());
    loop {
        let request = pb::ListAncestorsRequest { exchange_id: id.to_owned(), page_size: 1_000, page_token };
        let page = server.graphs().list_ancestors(request).await.unwrap().into_inner();
        all.extend(page.exchanges.into_iter().map(|node| node.exchange_id));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return all;
        }
    }
}

/// All messages in which two exchanges differ; the last exchange that they share, and how many each has after it.
async fn compared(server: &Running, left: &str, right: &str) -> (Vec<pb::MessageDiff>, (String, u64, u64)) {
    let (mut messages, mut page_token) = (Vec::new(), String::new());
    loop {
        let request = pb::DiffRequest {
            left: Some(ask::point(left)),
            right: Some(ask::point(right)),
            page_size: 1_000,
            page_token,
            ..Default::default()
        };
        let page = server.graphs().diff(request).await.unwrap().into_inner();
        messages.extend(page.messages);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return (messages, (page.common_ancestor_exchange_id, page.left_count, page.right_count));
        }
    }
}

/// All exchanges of a part that have a text, newest first.
async fn searched(server: &Running, text: &str, scope: Scope) -> Vec<String> {
    let (mut all, mut page_token) = (Vec::new(), String::new());
    loop {
        let request = pb::SearchRequest {
            scope: Some(pb::GraphScope { scope: Some(scope.clone()) }),
            text: text.to_owned(),
            page_size: 1_000,
            page_token,
            ..Default::default()
        };
        let page = server.graphs().search(request).await.unwrap().into_inner();
        all.extend(page.hits.into_iter().filter_map(|hit| hit.exchange).map(|node| node.exchange_id));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return all;
        }
    }
}

/// How many runs a sum over a part counts.
async fn summed(server: &Running, scope: Scope) -> u64 {
    let runs = Some(pb::usage_scope::Runs::Graph(pb::GraphScope { scope: Some(scope) }));
    let request = pb::SumUsageRequest { scopes: vec![pb::UsageScope { runs }] };
    server.graphs().sum_usage(request).await.unwrap().into_inner().run_count
}

/// The drawing of all below an exchange has each of these edges, once, and no other.
async fn drawn(server: &Running, top: &str, format: pb::GraphFormat, mut edges: Vec<String>) {
    let request = pb::GetGraphRequest { format: format.into(), page_size: 3_000, ..asked(subtree(top)) };
    let text: String = pages(server, &request).await.into_iter().map(|page| page.text).collect();
    let mut shown: Vec<&str> = text.lines().filter(|line| line.contains("->")).collect();
    shown.sort_unstable();
    edges.sort_unstable();
    assert!(shown == edges, "{} edges, not {}", shown.len(), edges.len());
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
    let line: Vec<String> = found.into_iter().take(DEEP).map(|(id, _, _)| id).collect();
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

    let up: Vec<String> = line[..DEEP - 1].iter().rev().cloned().collect();
    assert_eq!(ancestors(&server, &end).await, up);
    assert_eq!(ancestors(&server, &side).await.last(), Some(&top));
    // What differs is the whole of both branches, in pages.
    let (compared, counts) = compared(&server, &end, &side).await;
    assert_eq!(counts, (top.clone(), u64::try_from(DEEP - 1).unwrap(), 3));
    let removed = compared.iter().filter(|message| message.kind() == pb::ChangeKind::Removed).count();
    assert_eq!((compared.len(), removed), (2 * (DEEP - 1), 2 * (DEEP - 4)));
    assert!(compared.iter().enumerate().all(|(index, message)| message.index == index as u64));
    let far = searched(&server, "1 after None", Scope::Path(pb::PathScope { exchange_id: end.clone() })).await;
    assert!(far.contains(&line[1]), "{far:?}");
    let all = searched(&server, "", Scope::Path(pb::PathScope { exchange_id: end.clone() })).await;
    assert_eq!(all, line.iter().rev().cloned().collect::<Vec<_>>());
    assert_eq!(summed(&server, subtree(&top)).await, (DEEP + 3) as u64);
    let beside = [vec![side.clone()], ancestors(&server, &side).await].concat();
    let edges =
        line.windows(2).map(|pair| (&pair[0], &pair[1])).chain(beside.windows(2).map(|pair| (&pair[1], &pair[0])));
    let edges = edges.map(|(from, to)| format!("  \"{from}\" -> \"{to}\";")).collect();
    drawn(&server, &top, pb::GraphFormat::Dot, edges).await;
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

    let mut newest = made.clone();
    newest.reverse();
    newest.push(top.clone());
    assert_eq!(searched(&server, "", subtree(&top)).await, newest);
    assert_eq!(searched(&server, "9999", subtree(&top)).await.len(), 1);
    assert_eq!(summed(&server, subtree(&top)).await, (WIDE + 1) as u64);
    let edges = made.iter().map(|child| format!("  x{top} --> x{child}")).collect();
    drawn(&server, &top, pb::GraphFormat::Mermaid, edges).await;
    let (compared, counts) = compared(&server, &made[0], &made[WIDE - 1]).await;
    assert_eq!((compared.len(), counts), (2, (top.clone(), 1, 1)));
    assert_eq!(ancestors(&server, &made[WIDE - 1]).await, [top]);
}
