//! ToolService over what follows from an exchange and over the tree of a thread: what is below a fork and what is not, page by page.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::graph_scope::Scope;
use pb::record_request::Start;
use tonic::Code;

use super::lists::{call_tools, drifts, ids, lines, occurrences, path, wanted};
use super::{begin, go_on, offering, version};
use crate::retention::{erase, exchange};
use crate::support::server::Running;
use crate::support::{ask, refused};

fn subtree(top: &pb::Exchange, max_steps: Option<u64>) -> Option<pb::GraphScope> {
    let exchange_id = top.exchange_id.clone();
    Some(pb::GraphScope { scope: Some(Scope::Subtree(pb::SubtreeScope { exchange_id, max_steps })) })
}

fn tree(thread_id: &str) -> Option<pb::GraphScope> {
    Some(pb::GraphScope { scope: Some(Scope::ThreadTree(pb::ThreadTreeScope { thread_id: thread_id.to_owned() })) })
}

/// The exchanges of all pages.
async fn had(server: &Running, scope: Option<pb::GraphScope>, name: &str, page_size: i32) -> Vec<String> {
    let found = occurrences(server, pb::ListToolOccurrencesRequest { scope, page_size, ..wanted(name) }).await;
    ids(&found).into_iter().map(str::to_owned).collect()
}

/// An exchange, those that follow from it, and how deep each lies under it, each before what follows from it.
async fn below(server: &Running, top: &str) -> Vec<(String, u64)> {
    let (mut found, mut open) = (Vec::new(), vec![(top.to_owned(), 0)]);
    while let Some((id, depth)) = open.pop() {
        let request = pb::ListChildrenRequest { exchange_id: id.clone(), page_size: 1_000, ..Default::default() };
        let children = server.graphs().list_children(request).await.unwrap().into_inner().exchanges;
        open.extend(children.into_iter().rev().map(|child| (child.exchange_id, depth + 1)));
        found.push((id, depth));
    }
    found
}

/// What searching finds that offered a tool, a hit a page.
async fn found(server: &Running, scope: Option<pb::GraphScope>, name: &str) -> Vec<String> {
    let mut request =
        pb::SearchRequest { scope, offered_tools: vec![name.to_owned()], page_size: 1, ..Default::default() };
    let mut all = Vec::new();
    loop {
        let page = server.graphs().search(request.clone()).await.unwrap().into_inner();
        all.extend(page.hits.into_iter().map(|hit| hit.exchange.unwrap().exchange_id));
        if page.next_page_token.is_empty() {
            return all;
        }
        request.page_token = page.next_page_token;
    }
}

/// Two branches from one root and a root of its own: newest first, whatever lies between, and nothing from beside it.
#[tokio::test(flavor = "multi_thread")]
async fn calls_below_a_fork_are_listed() {
    let server = Running::echo().await;
    let request = ask::capture_on_new("t", offering(&[("a", 1)]));
    let root = server.exchanges().capture(request).await.unwrap().into_inner().exchange.unwrap();
    let left = go_on(&server, &root, &[("a", 1)]).await;
    let right = go_on(&server, &root, &[("a", 2)]).await;
    let elsewhere = begin(&server, &[("a", 1)]).await;
    let bare = go_on(&server, &left, &[("b", 1)]).await;
    let deep = go_on(&server, &bare, &[("a", 3), ("b", 2)]).await;
    let of = |all: &[&pb::Exchange]| all.iter().map(|one| one.exchange_id.clone()).collect::<Vec<_>>();
    for size in [1, 2, 50] {
        assert_eq!(had(&server, subtree(&root, None), "a", size).await, of(&[&deep, &right, &left, &root]));
        assert_eq!(had(&server, subtree(&left, None), "a", size).await, of(&[&deep, &left]));
        assert_eq!(had(&server, subtree(&left, Some(1)), "a", size).await, of(&[&left]));
        assert_eq!(had(&server, subtree(&root, Some(1)), "a", size).await, of(&[&right, &left, &root]));
        assert_eq!(had(&server, subtree(&root, Some(0)), "a", size).await, of(&[&root]));
        assert_eq!(found(&server, subtree(&root, Some(1)), "a").await, of(&[&right, &left, &root]));
        assert_eq!(found(&server, tree("t"), "a").await, of(&[&deep, &right, &left, &root]));
        assert_eq!(had(&server, subtree(&right, None), "b", size).await, of(&[]));
        // The tree is that of the root, wherever the head is.
        assert_eq!(had(&server, tree("t"), "a", size).await, of(&[&deep, &right, &left, &root]));
        let found = lines(&drifts(&server, subtree(&root, None), "", size).await);
        let line = |name: &str, from: &pb::Exchange, to: &pb::Exchange| {
            (name.to_owned(), from.exchange_id.clone(), to.exchange_id.clone())
        };
        let expected = [line("a", &root, &deep), line("b", &bare, &deep), line("a", &root, &right)];
        assert_eq!(found, expected, "pages of {size}");
        assert_eq!(lines(&drifts(&server, tree("t"), "b", size).await), [line("b", &bare, &deep)]);
        // The top is compared with what came before it, though that is not in the part.
        assert_eq!(lines(&drifts(&server, subtree(&right, None), "", size).await), [line("a", &root, &right)]);
        assert_eq!(drifts(&server, subtree(&left, Some(1)), "", size).await, []);
        assert_eq!(drifts(&server, subtree(&elsewhere, None), "", size).await, []);
    }
    let called = pb::ListToolOccurrencesRequest {
        scope: subtree(&root, None),
        kind: pb::ToolOccurrenceKind::Called.into(),
        ..wanted("a")
    };
    assert_eq!(occurrences(&server, called).await, []);
    let page = pb::ListToolOccurrencesRequest { scope: subtree(&root, None), page_size: 1, ..wanted("a") };
    let page_token = server.tools().list_tool_occurrences(page).await.unwrap().into_inner().next_page_token;
    let mixed = pb::ListToolOccurrencesRequest { scope: subtree(&left, None), page_token, ..wanted("a") };
    let mixed = server.tools().list_tool_occurrences(mixed).await.unwrap_err();
    refused::is(&mixed, Code::InvalidArgument, Reason::PageTokenInvalid);
}

/// What is not there is named, and a thread without an exchange has nothing.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_tops_are_named() {
    let server = Running::echo().await;
    let new = pb::ThreadServiceCreateRequest {
        thread: Some(pb::NewThread { thread_id: "bare".into(), ..Default::default() }),
        ..Default::default()
    };
    server.threads().create(new).await.unwrap();
    assert_eq!(drifts(&server, tree("bare"), "", 50).await, []);
    assert_eq!(had(&server, tree("bare"), "a", 50).await, Vec::<String>::new());
    let nowhere = pb::Exchange { exchange_id: "01890000-0000-7000-8000-000000000000".to_owned(), ..Default::default() };
    for (scope, reason) in [(subtree(&nowhere, None), Reason::ExchangeNotFound), (tree("none"), Reason::ThreadNotFound)]
    {
        let request = pb::ListToolDriftsRequest { scope: scope.clone(), ..Default::default() };
        refused::is(&server.tools().list_tool_drifts(request).await.unwrap_err(), Code::NotFound, reason);
        let request = pb::ListToolOccurrencesRequest { scope, ..wanted("a") };
        refused::is(&server.tools().list_tool_occurrences(request).await.unwrap_err(), Code::NotFound, reason);
    }
}

/// A tree that grew in no order has from every exchange down exactly the drifts that its calls tell one by one, in every size of page.
#[tokio::test(flavor = "multi_thread")]
async fn every_part_of_a_tree_has_what_its_calls_tell() {
    let server = Running::echo().await;
    let mut all = vec![begin(&server, &[("a", 1)]).await];
    let mut state = 7_usize;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..40 {
        let parent = all[draw(all.len())].clone();
        let number = |draw: usize| u32::try_from(draw).unwrap();
        let tools = [("a", number(draw(3))), ("b", number(draw(2)))];
        let offered = &tools[..draw(3)];
        all.push(go_on(&server, &parent, offered).await);
    }
    for top in all.iter().step_by(4) {
        for max_steps in [None, Some(2)] {
            let mut expected = Vec::new();
            let mut having = Vec::new();
            for (id, steps) in below(&server, &top.exchange_id).await {
                let exchange = all.iter().find(|exchange| exchange.exchange_id == id).unwrap();
                if max_steps.is_none_or(|most| steps <= most) {
                    let told = call_tools(&server, exchange).await;
                    expected.extend(told.drifts);
                    let offered = told.tools.unwrap_or_default().offered.unwrap_or_default();
                    having.extend(offered.tools.iter().any(|tool| tool.name == "a").then_some(id));
                }
            }
            having.sort_unstable_by(|one, other| other.cmp(one));
            for size in [1, 3, 1_000] {
                assert_eq!(drifts(&server, subtree(top, max_steps), "", size).await, expected, "pages of {size}");
                assert_eq!(had(&server, subtree(top, max_steps), "a", size).await, having, "pages of {size}");
            }
        }
    }
}

/// Thousands of exchanges between what is looked for: pages end where they have looked at so many, and the next one goes on there.
#[tokio::test(flavor = "multi_thread")]
async fn a_part_with_thousands_of_exchanges_is_gone_through() {
    const LINES: usize = 9;
    const TURNS: usize = 500;
    let server = Running::echo().await;
    let root = begin(&server, &[("a", 1)]).await;
    let beside = begin(&server, &[("a", 1)]).await;
    let mut last = root.exchange_id.clone();
    for line in 0..LINES {
        let said = (0..TURNS).flat_map(|turn| [ask::user(&format!("{line} {turn}")), ask::assistant("ok")]).collect();
        let facts = vec![pb::RecordedFacts {
            message_index: 1,
            tools: Some(pb::ToolList { tools: vec![version("b", u32::try_from(line).unwrap())] }),
            ..Default::default()
        }];
        let request =
            pb::RecordRequest { start: Some(Start::AfterExchange(ask::point(&last))), facts, ..ask::record(said) };
        last = server.exchanges().record(request).await.unwrap().into_inner().exchange_id;
    }
    let end = pb::Exchange { exchange_id: last, ..Default::default() };
    let ending = go_on(&server, &end, &[("a", 2)]).await;
    let side = go_on(&server, &root, &[("a", 3)]).await;
    go_on(&server, &beside, &[("a", 4)]).await;
    let of = |all: &[&pb::Exchange]| all.iter().map(|one| one.exchange_id.clone()).collect::<Vec<_>>();
    assert_eq!(had(&server, subtree(&root, None), "a", 50).await, of(&[&side, &ending, &root]));
    assert_eq!(had(&server, subtree(&root, None), "a", 1).await, of(&[&side, &ending, &root]));
    assert_eq!(found(&server, subtree(&root, None), "a").await, of(&[&side, &ending, &root]));
    assert_eq!(found(&server, subtree(&end, None), "a").await, of(&[&ending]));
    let whole = drifts(&server, subtree(&root, None), "", 50).await;
    assert_eq!(drifts(&server, subtree(&root, None), "", 2).await, whole);
    let along = drifts(&server, path(&ending), "", 50).await;
    let (last, before) = whole.split_last().unwrap();
    assert_eq!((before, along.len()), (&along[..], LINES), "a line changes `b` once, the end `a`");
    assert_eq!((&last.previous_exchange_id, &last.exchange_id), (&root.exchange_id, &side.exchange_id));
}

/// What was erased has no tools any more: what follows it is compared with what came before, and a tool that is gone is told without itself.
/// Asking for the tools of such a call was refused once, as if it had been erased itself.
#[tokio::test(flavor = "multi_thread")]
async fn drifts_after_an_erased_exchange_are_told() {
    let server = Running::echo().await;
    let root = begin(&server, &[("a", 1)]).await;
    let gone = go_on(&server, &root, &[("a", 2)]).await;
    let same = go_on(&server, &gone, &[("a", 2)]).await;
    let changed = go_on(&server, &same, &[("a", 3)]).await;
    erase(&server, exchange(&gone.exchange_id), pb::EraseMode::Tombstone).await.unwrap();
    let line =
        |from: &pb::Exchange, to: &pb::Exchange| ("a".to_owned(), from.exchange_id.clone(), to.exchange_id.clone());
    for size in [1, 50] {
        for scope in [path(&changed), subtree(&root, None)] {
            let found = drifts(&server, scope, "", size).await;
            assert_eq!(lines(&found), [line(&root, &same), line(&gone, &changed)]);
            assert_eq!((found[0].previous.is_some(), found[1].previous.is_some()), (true, false));
        }
    }
    assert_eq!(lines(&call_tools(&server, &same).await.drifts), [line(&root, &same)]);
    assert_eq!(lines(&call_tools(&server, &changed).await.drifts), [line(&gone, &changed)]);
}
