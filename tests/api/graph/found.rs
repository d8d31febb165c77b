//! Searching: by what exchanges are and by what they say.

use antiphon::grpc::pb;

use super::{tree, turn};
use crate::support::ask;
use crate::support::server::{Running, scripted};

async fn found(server: &Running, request: pb::SearchRequest) -> Vec<pb::SearchHit> {
    let (mut hits, mut page_token) = (Vec::new(), String::new());
    loop {
        let request = pb::SearchRequest { page_token, ..request.clone() };
        let page = server.graphs().search(request).await.unwrap().into_inner();
        hits.extend(page.hits);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return hits;
        }
    }
}

fn exchanges(hits: &[pb::SearchHit]) -> Vec<String> {
    hits.iter().map(|hit| hit.exchange.clone().map(|node| node.exchange_id).unwrap_or_default()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn exchanges_are_found_newest_first_by_text_scope_and_root() {
    let server = Running::echo().await;
    let all = tree(&server).await;
    let newest: Vec<String> = all.iter().rev().cloned().collect();
    for page_size in [0, 1, 4] {
        assert_eq!(exchanges(&found(&server, pb::SearchRequest { page_size, ..Default::default() }).await), newest);
    }
    let by_text = found(&server, pb::SearchRequest { text: "FoUr".into(), ..Default::default() }).await;
    assert_eq!(exchanges(&by_text), [all[3].clone()]);
    assert_eq!(by_text[0].snippet, "four");
    let roots = pb::SearchRequest { roots_only: true, ..Default::default() };
    assert_eq!(exchanges(&found(&server, roots).await), [all[0].clone()]);
    let within = |scope| Some(pb::GraphScope { scope: Some(scope) });
    let below = pb::graph_scope::Scope::Subtree(pb::SubtreeScope { exchange_id: all[3].clone(), max_steps: None });
    let below = pb::SearchRequest { scope: within(below), ..Default::default() };
    assert_eq!(exchanges(&found(&server, below).await), [all[5].clone(), all[4].clone(), all[3].clone()]);
    let path = pb::graph_scope::Scope::Path(pb::PathScope { exchange_id: all[4].clone() });
    for page_size in [0, 1] {
        let path = pb::SearchRequest { scope: within(path.clone()), page_size, ..Default::default() };
        assert_eq!(exchanges(&found(&server, path).await), [all[4].clone(), all[3].clone(), all[0].clone()]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exchanges_are_found_by_label_model_tool_and_time() {
    let server = Running::echo().await;
    let one = turn(&server, None, "one").await;
    let labelled = pb::ExecutionRequest {
        labels: [("team".to_owned(), "blue".to_owned())].into(),
        tools: ask::tools(&["look"]),
        model: "special".into(),
        ..ask::text("two")
    };
    let second =
        server.exchanges().r#continue(ask::after(&one, labelled)).await.unwrap().into_inner().exchange.unwrap();
    let two = second.exchange_id.clone();
    let searches = [
        pb::SearchRequest { labels: [("team".to_owned(), "blue".to_owned())].into(), ..Default::default() },
        pb::SearchRequest { models: vec!["special".into()], ..Default::default() },
        pb::SearchRequest { offered_tools: vec!["other".into(), "look".into()], ..Default::default() },
        pb::SearchRequest { from_time: second.create_time, ..Default::default() },
    ];
    for search in searches {
        assert_eq!(exchanges(&found(&server, search.clone()).await)[0], two, "{search:?}");
    }
    let mut after = second.create_time.unwrap();
    (after.seconds, after.nanos) = match after.nanos + 1_000_000 {
        nanos if nanos < 1_000_000_000 => (after.seconds, nanos),
        nanos => (after.seconds + 1, nanos - 1_000_000_000),
    };
    let just_after = pb::SearchRequest { before_time: Some(after), ..Default::default() };
    assert_eq!(exchanges(&found(&server, just_after).await)[0], two);
    let before = pb::SearchRequest { before_time: second.create_time, ..Default::default() };
    assert!(!exchanges(&found(&server, before).await).contains(&two));
    let called = pb::SearchRequest { called_tools: vec!["look".into()], ..Default::default() };
    assert_eq!(found(&server, called).await, []);
    let other = pb::SearchRequest { backend_ids: vec!["none".into()], ..Default::default() };
    assert_eq!(found(&server, other).await, []);
}

/// Runs that have no exchange are found as well, after those that have.
#[tokio::test(flavor = "multi_thread")]
async fn runs_that_failed_are_found() {
    let server = Running::start(scripted(
        "[[backends.script.rules]]\nwhen = \"bad\"\nfault = { kind = \"status\", status = 400 }\n",
    ))
    .await;
    let fine = turn(&server, None, "fine").await;
    let bad = ask::capture(ask::text_as("failed-run", "bad"));
    server.exchanges().capture(bad).await.unwrap_err();
    for page_size in [0, 1] {
        let hits = found(&server, pb::SearchRequest { page_size, ..Default::default() }).await;
        let runs: Vec<&str> = hits.iter().map(|hit| hit.run_id.as_str()).collect();
        assert_eq!((exchanges(&hits)[0].as_str(), runs[1]), (fine.as_str(), "failed-run"));
        assert_eq!((hits.len(), hits[1].run_state(), hits[1].exchange.is_none()), (2, pb::RunState::Failed, true));
    }
    let failed = pb::SearchRequest { run_states: vec![pb::RunState::Failed.into()], ..Default::default() };
    let hits = found(&server, failed).await;
    assert_eq!(hits.iter().map(|hit| hit.run_id.as_str()).collect::<Vec<_>>(), ["failed-run"]);
}
