//! Searching: by what exchanges are and by what they say.

use std::sync::Arc;
use std::time::Duration;

use antiphon::domain::source::Clock;
use antiphon::grpc::pb;

use super::{tree, turn};
use crate::support::ask;
use crate::support::clock::{Forward, Stamped};
use crate::support::server::{Running, Sources, scripted};

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

/// What a search finds by each filter; the one that it is made for is never the newest, so that a filter that does nothing is noticed.
#[tokio::test(flavor = "multi_thread")]
async fn each_filter_finds_what_it_says_and_nothing_else() {
    let rules = "[[backends.script.rules]]\nwhen = \"count them\"\non = \"user\"\ntool_calls = [{ name = \"count\", arguments = {} }]\n\
                 [profiles.elsewhere]\nbackend = \"other\"\nmodel = \"canned-1\"\n[backends.other]\nkind = \"scripted\"\n";
    let clock = Arc::new(Forward::default());
    let shared = Arc::clone(&clock) as Arc<dyn Clock>;
    let sources = Sources { ids: Arc::new(Stamped::by(Arc::clone(&shared))), clock: shared };
    let server = Running::start_with(scripted(rules), sources).await;
    let labels = |pairs: &[(&str, &str)]| pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let plain = ask::text;
    let asked = [
        plain("plain"),
        pb::ExecutionRequest { labels: labels(&[("team", "blue"), ("kind", "x")]), ..plain("labelled") },
        pb::ExecutionRequest { labels: labels(&[("team", "red"), ("kind", "x")]), ..plain("labelled otherwise") },
        pb::ExecutionRequest { model: "special".into(), ..plain("another model") },
        pb::ExecutionRequest { tools: ask::tools(&["look"]), ..plain("offers") },
        pb::ExecutionRequest { tools: ask::tools(&["count"]), ..plain("count them") },
        pb::ExecutionRequest { profile_id: "elsewhere".into(), ..plain("another backend") },
    ];
    let mut made = Vec::new();
    for request in asked {
        clock.by(Duration::from_secs(60));
        let answer = server.exchanges().capture(ask::capture(request)).await.unwrap().into_inner();
        made.push(answer.exchange.unwrap());
    }
    clock.by(Duration::from_secs(60));
    let below = server.exchanges().r#continue(ask::after(&made[0].exchange_id, plain("below"))).await.unwrap();
    made.push(below.into_inner().exchange.unwrap());
    clock.by(Duration::from_secs(60));
    let record = ask::record(vec![ask::user("recorded"), ask::assistant("ok")]);
    let recorded = server.exchanges().record(record).await.unwrap().into_inner().exchange_id;
    clock.by(Duration::from_secs(60));
    let newest =
        server.exchanges().capture(ask::capture(plain("newest"))).await.unwrap().into_inner().exchange.unwrap();
    let [plain, blue, red, special, offers, calls, elsewhere, below] =
        std::array::from_fn(|index| made[index].exchange_id.clone());
    let time = |index: usize| made[index].create_time;
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let all = [&newest.exchange_id, &recorded, &below, &elsewhere, &calls, &offers, &special, &red, &blue, &plain];
    let none = pb::SearchRequest::default;
    let by_label = |pairs| pb::SearchRequest { labels: labels(pairs), ..none() };
    let searches = [
        (none(), all.to_vec()),
        (by_label(&[("team", "blue")]), vec![&blue]),
        (by_label(&[("kind", "x")]), vec![&red, &blue]),
        (by_label(&[("kind", "x"), ("team", "red")]), vec![&red]),
        (by_label(&[("kind", "y"), ("team", "red")]), vec![]),
        (pb::SearchRequest { models: names(&["special"]), ..none() }, vec![&special]),
        (pb::SearchRequest { models: names(&["none", "special"]), ..none() }, vec![&special]),
        (pb::SearchRequest { models: names(&["none"]), ..none() }, vec![]),
        (pb::SearchRequest { backend_ids: names(&["other"]), ..none() }, vec![&elsewhere]),
        (pb::SearchRequest { backend_ids: names(&["other", "none"]), ..none() }, vec![&elsewhere]),
        (
            pb::SearchRequest { backend_ids: names(&["script"]), ..none() },
            vec![&newest.exchange_id, &below, &calls, &offers, &special, &red, &blue, &plain],
        ),
        (pb::SearchRequest { offered_tools: names(&["look"]), ..none() }, vec![&offers]),
        (pb::SearchRequest { offered_tools: names(&["count", "look"]), ..none() }, vec![&calls, &offers]),
        (pb::SearchRequest { called_tools: names(&["count"]), ..none() }, vec![&calls]),
        (pb::SearchRequest { called_tools: names(&["look"]), ..none() }, vec![]),
        (pb::SearchRequest { run_states: vec![pb::RunState::PendingTools.into()], ..none() }, vec![&calls]),
        (pb::SearchRequest { origin: pb::ExchangeOrigin::Recorded.into(), ..none() }, vec![&recorded]),
        (pb::SearchRequest { text: "oTHerWise".into(), ..none() }, vec![&red]),
        (pb::SearchRequest { from_time: time(3), before_time: time(5), ..none() }, vec![&offers, &special]),
        (pb::SearchRequest { from_time: time(1), before_time: time(2), ..none() }, vec![&blue]),
        (pb::SearchRequest { before_time: time(1), ..none() }, vec![&plain]),
        (pb::SearchRequest { from_time: newest.create_time, ..none() }, vec![&newest.exchange_id]),
        (pb::SearchRequest { from_time: time(2), before_time: time(2), ..none() }, vec![]),
        (
            pb::SearchRequest { roots_only: true, before_time: time(6), from_time: time(4), ..none() },
            vec![&calls, &offers],
        ),
        // Two filters are both meant.
        (pb::SearchRequest { models: names(&["special"]), ..by_label(&[("kind", "x")]) }, vec![]),
        (pb::SearchRequest { text: "labelled".into(), ..by_label(&[("team", "blue")]) }, vec![&blue]),
    ];
    for (search, expected) in searches {
        for page_size in [0, 1] {
            let hits = found(&server, pb::SearchRequest { page_size, ..search.clone() }).await;
            assert_eq!(exchanges(&hits).iter().collect::<Vec<_>>(), expected, "{search:?}");
        }
    }
}

/// Along a path each filter counts as well.
#[tokio::test(flavor = "multi_thread")]
async fn filters_count_along_a_path() {
    let server = Running::echo().await;
    let one = turn(&server, None, "one").await;
    let labelled = pb::ExecutionRequest {
        labels: [("team".to_owned(), "blue".to_owned())].into(),
        tools: ask::tools(&["look"]),
        model: "special".into(),
        ..ask::text("two")
    };
    let two = server.exchanges().r#continue(ask::after(&one, labelled.clone())).await.unwrap().into_inner();
    let two = two.exchange.unwrap().exchange_id;
    let plain = pb::ExecutionRequest { tools: Some(pb::ToolList::default()), ..ask::text("three") };
    let three = server.exchanges().r#continue(ask::after(&two, plain)).await.unwrap().into_inner();
    let three = three.exchange.unwrap().exchange_id;
    // Beside the path, and newer.
    server.exchanges().r#continue(ask::after(&one, labelled.clone())).await.unwrap();
    let path = pb::graph_scope::Scope::Path(pb::PathScope { exchange_id: three.clone() });
    let scope = Some(pb::GraphScope { scope: Some(path) });
    let whole = pb::SearchRequest { scope, ..Default::default() };
    assert_eq!(exchanges(&found(&server, whole.clone()).await), [three, two.clone(), one]);
    for search in [
        pb::SearchRequest { labels: labelled.labels, ..whole.clone() },
        pb::SearchRequest { models: vec!["special".into()], ..whole.clone() },
        pb::SearchRequest { offered_tools: vec!["look".into()], ..whole.clone() },
        pb::SearchRequest { text: "two".into(), ..whole.clone() },
    ] {
        assert_eq!(exchanges(&found(&server, search.clone()).await), [two.as_str()], "{search:?}");
    }
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
