//! Parts of the graph as data and as drawings, page by page.

use antiphon::grpc::pb;
use pb::graph_scope::Scope;

use super::{tree, turn};
use crate::support::ask;
use crate::support::server::Running;

pub(super) fn subtree(id: &str) -> Scope {
    Scope::Subtree(pb::SubtreeScope { exchange_id: id.to_owned(), max_steps: None })
}

pub(super) fn asked(scope: Scope) -> pb::GetGraphRequest {
    pb::GetGraphRequest { scope: Some(pb::GraphScope { scope: Some(scope) }), ..Default::default() }
}

/// Every page of a graph.
pub(super) async fn pages(server: &Running, request: &pb::GetGraphRequest) -> Vec<pb::GetGraphResponse> {
    let (mut pages, mut page_token) = (Vec::new(), String::new());
    loop {
        let request = pb::GetGraphRequest { page_token, ..request.clone() };
        let page = server.graphs().get_graph(request).await.unwrap().into_inner();
        page_token = page.next_page_token.clone();
        pages.push(page);
        if page_token.is_empty() {
            return pages;
        }
    }
}

/// Each node: its exchange, what it hangs on, how many are hidden between the two.
pub(super) fn nodes(pages: &[pb::GetGraphResponse]) -> Vec<(String, String, u64)> {
    let nodes = pages.iter().flat_map(|page| &page.nodes);
    nodes
        .map(|node| {
            let id = node.exchange.clone().unwrap().exchange_id;
            (id, node.shown_parent_exchange_id.clone(), node.hidden_count)
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_has_each_exchange_before_those_that_follow_it_however_it_is_cut_into_pages() {
    let server = Running::echo().await;
    let all = tree(&server).await;
    let at = |index: usize| all[index].clone();
    let expected = [
        (at(0), String::new(), 0),
        (at(1), at(0), 0),
        (at(2), at(1), 0),
        (at(3), at(0), 0),
        (at(4), at(3), 0),
        (at(5), at(3), 0),
    ];
    for page_size in [0, 1, 2, 3, 5, 6] {
        let request = pb::GetGraphRequest { page_size, ..asked(subtree(&all[0])) };
        assert_eq!(nodes(&pages(&server, &request).await), expected, "pages of {page_size}");
    }
    let short = Scope::Subtree(pb::SubtreeScope { exchange_id: at(0), max_steps: Some(1) });
    let found = nodes(&pages(&server, &asked(short)).await);
    assert_eq!(found.iter().map(|node| node.0.as_str()).collect::<Vec<_>>(), [&all[0], &all[1], &all[3]]);
    let path = Scope::Path(pb::PathScope { exchange_id: at(5) });
    let found = nodes(&pages(&server, &pb::GetGraphRequest { page_size: 1, ..asked(path) }).await);
    assert_eq!(found.iter().map(|node| node.0.as_str()).collect::<Vec<_>>(), [&all[0], &all[3], &all[5]]);
}

/// Where only the points are shown at which branches part, each says how many exchanges lie between.
#[tokio::test(flavor = "multi_thread")]
async fn what_lies_between_forks_is_counted_and_not_shown() {
    let server = Running::echo().await;
    let mut line = vec![turn(&server, None, "0").await];
    for number in 1..7 {
        line.push(turn(&server, Some(&line[number - 1]), &number.to_string()).await);
    }
    let side = turn(&server, Some(&line[4]), "side").await;
    let expected = [
        (line[0].clone(), String::new(), 0),
        (line[4].clone(), line[0].clone(), 3),
        (line[6].clone(), line[4].clone(), 1),
        (side.clone(), line[4].clone(), 0),
    ];
    for page_size in [0, 1, 2] {
        let request =
            pb::GetGraphRequest { detail: pb::GraphDetail::Forks.into(), page_size, ..asked(subtree(&line[0])) };
        assert_eq!(nodes(&pages(&server, &request).await), expected, "pages of {page_size}");
    }
    // The head of a thread is shown as well, wherever it was put.
    server.exchanges().fork(ask::fork(&line[2], vec![ask::branch("bookmark", None)])).await.unwrap();
    let request = pb::GetGraphRequest { detail: pb::GraphDetail::Forks.into(), ..asked(subtree(&line[0])) };
    let page = pages(&server, &request).await.remove(0);
    let shown: Vec<&str> = page.nodes.iter().map(|node| node.exchange.as_ref().unwrap().exchange_id.as_str()).collect();
    assert_eq!(shown, [&line[0], &line[2], &line[4], &line[6], &side]);
    assert_eq!(page.nodes[1].head_of_thread_ids, ["bookmark"]);
    assert_eq!((page.threads[0].thread_id.as_str(), &page.threads[0].head_exchange_id), ("bookmark", &line[2]));
}

/// The tree of a thread begins at the root of its path and has its siblings; a head is where it was put last, and nowhere else.
#[tokio::test(flavor = "multi_thread")]
async fn the_tree_of_a_thread_has_its_siblings_and_every_head() {
    let server = Running::echo().await;
    let mut client = server.exchanges();
    let begun = client.capture(ask::capture_on_new("main", ask::text("one"))).await.unwrap().into_inner();
    let one = begun.exchange.unwrap().exchange_id;
    let second = client.r#continue(ask::on_thread(ask::on("main"), ask::text("two"))).await.unwrap().into_inner();
    let two = second.exchange.unwrap().exchange_id;
    let branches = vec![ask::branch("side", Some(ask::text("else"))), ask::branch("bare", None)];
    let forked = client.fork(ask::fork(&one, branches)).await.unwrap().into_inner().results;
    let other = forked[0].exchange.clone().unwrap().exchange_id;
    for thread in ["main", "side", "bare"] {
        let tree = Scope::ThreadTree(pb::ThreadTreeScope { thread_id: thread.to_owned() });
        let page = pages(&server, &asked(tree)).await.remove(0);
        let heads: Vec<(&str, Vec<&str>)> = page
            .nodes
            .iter()
            .map(|node| {
                let heads = node.head_of_thread_ids.iter().map(String::as_str).collect();
                (node.exchange.as_ref().unwrap().exchange_id.as_str(), heads)
            })
            .collect();
        assert_eq!(heads, [(one.as_str(), vec!["bare"]), (&two, vec!["main"]), (&other, vec!["side"])]);
    }
    let path = Scope::ThreadPath(pb::ThreadPathScope { thread_id: "side".to_owned() });
    let found = nodes(&pages(&server, &asked(path)).await);
    assert_eq!(found.iter().map(|node| node.0.as_str()).collect::<Vec<_>>(), [&one, &other]);
}

#[tokio::test(flavor = "multi_thread")]
async fn drawings_are_whole_when_their_pages_are_joined() {
    let server = Running::echo().await;
    let all = tree(&server).await;
    for (format, page_size) in [(pb::GraphFormat::Text, 2), (pb::GraphFormat::Dot, 2), (pb::GraphFormat::Mermaid, 2)] {
        let request = pb::GetGraphRequest { format: format.into(), include_previews: true, ..asked(subtree(&all[0])) };
        let whole = pages(&server, &request).await.remove(0).text;
        let parts = pages(&server, &pb::GetGraphRequest { page_size, ..request }).await;
        assert!(parts.len() > 2 && parts.iter().all(|page| page.nodes.is_empty()));
        assert_eq!(parts.into_iter().map(|page| page.text).collect::<String>(), whole);
        for id in &all {
            assert!(whole.contains(id), "{whole}");
        }
        let expected = match format {
            pb::GraphFormat::Text => {
                format!("├─● {}  turn 3  five → You said: five (message 5 of the history)\n", all[4])
            }
            pb::GraphFormat::Dot => format!("  \"{}\" -> \"{}\";\n", all[3], all[4]),
            _ => format!("  x{} --> x{}\n", all[3], all[4]),
        };
        assert!(whole.contains(&expected), "{whole}");
        assert_eq!(whole.starts_with("digraph") && whole.ends_with("}\n"), format == pb::GraphFormat::Dot);
    }
}

/// Heads that were put on an exchange and moved on, or whose threads are gone, do not stand before those that are there.
#[tokio::test(flavor = "multi_thread")]
async fn heads_that_have_moved_on_are_not_in_the_way() {
    let server = Running::echo().await;
    let top = turn(&server, None, "top").await;
    let mut client = server.exchanges();
    for number in 0..1_001 {
        let branch = ask::branch(&format!("a{number:04}"), None);
        client.fork(ask::fork(&top, vec![branch])).await.unwrap();
        if number % 2 == 0 {
            let moved = ask::on_thread(ask::on(&format!("a{number:04}")), ask::text(&number.to_string()));
            client.r#continue(moved).await.unwrap();
        } else {
            let gone = pb::ThreadServiceDeleteRequest { thread_id: format!("a{number:04}"), ..Default::default() };
            server.threads().delete(gone).await.unwrap();
        }
    }
    client.fork(ask::fork(&top, vec![ask::branch("z", None)])).await.unwrap();
    let path = Scope::Path(pb::PathScope { exchange_id: top.clone() });
    let page = pages(&server, &asked(path)).await.remove(0);
    assert_eq!(page.nodes[0].head_of_thread_ids, ["z"]);
}
