//! The graph of exchanges: what comes before and after one, what branches have in common, how they differ, what they cost (S4-83..94).

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::Code;

use crate::support::server::{Running, scripted};
use crate::support::{ask, refused};

mod deep;
mod drawn;
mod found;

/// One more turn after an exchange, or a root.
pub(crate) async fn turn(server: &Running, after: Option<&str>, text: &str) -> String {
    let mut client = server.exchanges();
    let exchange = match after {
        None => client.capture(ask::capture(ask::text(text))).await.unwrap().into_inner().exchange,
        Some(after) => client.r#continue(ask::after(after, ask::text(text))).await.unwrap().into_inner().exchange,
    };
    exchange.unwrap().exchange_id
}

/// A tree: one, two, three in a line; after one also four, after that five and six.
pub(crate) async fn tree(server: &Running) -> Vec<String> {
    let one = turn(server, None, "one").await;
    let two = turn(server, Some(&one), "two").await;
    let three = turn(server, Some(&two), "three").await;
    let four = turn(server, Some(&one), "four").await;
    let five = turn(server, Some(&four), "five").await;
    let six = turn(server, Some(&four), "six").await;
    vec![one, two, three, four, five, six]
}

async fn children(server: &Running, id: &str, page_size: i32) -> Vec<pb::ExchangeNode> {
    let (mut all, mut page_token) = (Vec::new(), String::new());
    loop {
        let request = pb::ListChildrenRequest { exchange_id: id.to_owned(), page_size, page_token };
        let page = server.graphs().list_children(request).await.unwrap().into_inner();
        assert!(page.exchanges.len() <= usize::try_from(page_size.max(50)).unwrap());
        all.extend(page.exchanges);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return all;
        }
    }
}

fn ids(nodes: &[pb::ExchangeNode]) -> Vec<&str> {
    nodes.iter().map(|node| node.exchange_id.as_str()).collect()
}

/// B080, B090, B102: what follows an exchange, whoever made it and on whatever branch it lies, in the order in which it came.
#[tokio::test(flavor = "multi_thread")]
async fn children_are_listed_oldest_first_page_by_page() {
    let server = Running::echo().await;
    let ids_of = tree(&server).await;
    for page_size in [0, 1, 2] {
        let found = children(&server, &ids_of[0], page_size).await;
        assert_eq!(ids(&found), [ids_of[1].as_str(), ids_of[3].as_str()]);
        assert_eq!(found.iter().map(|node| node.child_count).collect::<Vec<_>>(), [1, 2]);
    }
    let found = children(&server, &ids_of[3], 1).await;
    assert_eq!(ids(&found), [ids_of[4].as_str(), ids_of[5].as_str()]);
    let node = &found[0];
    assert_eq!((node.parent_exchange_id.as_str(), node.depth, node.turn), (ids_of[3].as_str(), 3, 3));
    assert_eq!(
        (node.user_preview.as_str(), node.assistant_preview.as_str()),
        ("five", "You said: five (message 5 of the history)")
    );
    assert!(node.ends_turn && node.run_state() == pb::RunState::Completed);
    assert_eq!(children(&server, &ids_of[2], 0).await, []);
    // All of it is the same after a restart.
    let server = server.restart().await;
    assert_eq!(children(&server, &ids_of[3], 1).await, found);
}

#[tokio::test(flavor = "multi_thread")]
async fn ancestors_are_listed_from_the_parent_to_the_root() {
    let server = Running::echo().await;
    let tree = tree(&server).await;
    let (mut all, mut page_token) = (Vec::new(), String::new());
    loop {
        let request = pb::ListAncestorsRequest { exchange_id: tree[5].clone(), page_size: 1, page_token };
        let page = server.graphs().list_ancestors(request).await.unwrap().into_inner();
        all.extend(page.exchanges);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(ids(&all), [tree[3].as_str(), tree[0].as_str()]);
    let root = pb::ListAncestorsRequest { exchange_id: tree[0].clone(), ..Default::default() };
    assert_eq!(server.graphs().list_ancestors(root).await.unwrap().into_inner().exchanges, []);
}

pub(crate) async fn common(server: &Running, of: &[&str]) -> pb::GetCommonAncestorResponse {
    let exchanges = of.iter().map(|id| ask::point(id)).collect();
    server.graphs().get_common_ancestor(pb::GetCommonAncestorRequest { exchanges }).await.unwrap().into_inner()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_common_ancestor_is_the_last_exchange_on_all_paths() {
    let server = Running::echo().await;
    let tree = tree(&server).await;
    let found = common(&server, &[&tree[2], &tree[5]]).await;
    assert_eq!(found.exchange.unwrap().exchange_id, tree[0]);
    let ways: Vec<(&str, u64, u64)> =
        found.branches.iter().map(|way| (way.first_exchange_id.as_str(), way.exchange_count, way.turn_count)).collect();
    assert_eq!(ways, [(tree[1].as_str(), 2, 2), (tree[3].as_str(), 2, 2)]);
    assert_eq!(common(&server, &[&tree[4], &tree[5]]).await.exchange.unwrap().exchange_id, tree[3]);
    // One on the path of the other is itself the answer.
    let found = common(&server, &[&tree[3], &tree[5], &tree[4]]).await;
    assert_eq!(found.exchange.unwrap().exchange_id, tree[3]);
    assert_eq!((found.branches[0].exchange_count, found.branches[0].first_exchange_id.as_str()), (0, ""));
    let other = turn(&server, None, "another root").await;
    let found = common(&server, &[&tree[5], &other]).await;
    assert_eq!(found.exchange, None);
    assert_eq!((found.branches[0].exchange_count, &found.branches[0].first_exchange_id), (3, &tree[0]));
    assert_eq!((found.branches[1].exchange_count, &found.branches[1].first_exchange_id), (1, &other));
}

/// S4-94: two paths side by side: what was said after they parted, and what each of the two was told to do.
#[tokio::test(flavor = "multi_thread")]
async fn a_comparison_says_what_differs_after_the_common_ancestor() {
    let server = Running::start(scripted("[[backends.script.rules]]\ntext = \"ok\"\n")).await;
    let one = turn(&server, None, "one").await;
    let with = |text: &str, tools: &[&str], tokens| pb::ExecutionRequest {
        tools: ask::tools(tools),
        parameters: Some(pb::Parameters { max_output_tokens: Some(tokens), ..Default::default() }),
        ..ask::text(text)
    };
    let mut exchanges = server.exchanges();
    let mut go_on = async |after: &str, request| {
        exchanges.r#continue(ask::after(after, request)).await.unwrap().into_inner().exchange.unwrap().exchange_id
    };
    let left = go_on(&one, with("same", &["look", "old"], 10)).await;
    let right = go_on(&one, with("same", &["look", "new"], 20)).await;
    let right = go_on(&right, with("more", &["look", "new"], 20)).await;
    let request = pb::DiffRequest {
        left: Some(ask::point(&left)),
        right: Some(ask::point(&right)),
        ..pb::DiffRequest::default()
    };
    let diff = server.graphs().diff(request.clone()).await.unwrap().into_inner();
    assert_eq!((diff.common_ancestor_exchange_id.as_str(), diff.left_count, diff.right_count), (one.as_str(), 1, 2));
    let kinds: Vec<pb::ChangeKind> = diff.messages.iter().map(pb::MessageDiff::kind).collect();
    use pb::ChangeKind::{Added, Changed, Removed, Same};
    assert_eq!(kinds, [Same, Same, Added, Added]);
    assert_eq!(diff.messages[0].right, None, "what is the same is told once");
    assert_eq!(ask::texts(&[diff.messages[2].right.clone().unwrap()]), ["U:more"]);
    let settings: Vec<(&str, pb::ChangeKind)> =
        diff.settings.iter().map(|one| (one.name.as_str(), one.kind())).collect();
    assert!(settings.contains(&("parameters.max_output_tokens", Changed)), "{settings:?}");
    let tools: Vec<(&str, pb::ChangeKind)> = diff.tools.iter().map(|one| (one.name.as_str(), one.kind())).collect();
    assert_eq!(tools, [("new", Added), ("old", Removed)]);
    // Page by page it is the same, and what is the same can be left out.
    let (mut paged, mut page_token) = (Vec::new(), String::new());
    loop {
        let request = pb::DiffRequest { page_size: 1, page_token, ..request.clone() };
        let page = server.graphs().diff(request).await.unwrap().into_inner();
        paged.extend(page.messages);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(paged, diff.messages);
    let only =
        pb::DiffRequest { omit_same_messages: true, aspects: vec![pb::DiffAspect::Messages.into()], ..request.clone() };
    let only = server.graphs().diff(only).await.unwrap().into_inner();
    assert_eq!(only.messages, diff.messages[2..]);
    assert!(only.settings.is_empty() && only.tools.is_empty());
}

/// Usage is of the runs that spent it, each counted once however many ways lead to it, and missing usage is not zero (S4-80..84, B002).
#[tokio::test(flavor = "multi_thread")]
async fn sums_count_each_run_once_and_say_what_is_missing() {
    use pb::usage_scope::Runs;
    let server = Running::echo().await;
    let told = |input: u64| pb::Usage { input_tokens: Some(input), output_tokens: Some(1), ..pb::Usage::default() };
    let record = async |after: Option<&str>, run_id: &str, usage: Option<pb::Usage>| {
        let mut request = ask::record(vec![ask::user(run_id), ask::assistant("ok")]);
        request.start = after.map(|id| pb::record_request::Start::AfterExchange(ask::point(id)));
        let facts =
            pb::RecordedFacts { message_index: 1, run_id: run_id.to_owned(), usage, ..pb::RecordedFacts::default() };
        request.facts = vec![facts];
        server.exchanges().record(request).await.unwrap().into_inner().exchange_id
    };
    let root = record(None, "root", Some(told(100))).await;
    let left = record(Some(&root), "left", Some(told(10))).await;
    let right = record(Some(&root), "right", None).await;
    let sum = async |runs: Vec<Runs>| {
        let scopes = runs.into_iter().map(|runs| pb::UsageScope { runs: Some(runs) }).collect();
        server.graphs().sum_usage(pb::SumUsageRequest { scopes }).await.map(tonic::Response::into_inner)
    };
    let path = |id: &str| {
        let scope = pb::graph_scope::Scope::Path(pb::PathScope { exchange_id: id.to_owned() });
        Runs::Graph(pb::GraphScope { scope: Some(scope) })
    };
    let both = sum(vec![path(&left), path(&right), path(&left)]).await.unwrap();
    let usage = both.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.completeness()), (Some(110), pb::UsageCompleteness::Partial));
    let counts = (both.run_count, both.complete_count, both.partial_count, both.unknown_count);
    assert_eq!(counts, (3, 2, 0, 1));
    let subtree = pb::graph_scope::Scope::Subtree(pb::SubtreeScope { exchange_id: root.clone(), max_steps: None });
    let below = sum(vec![Runs::Graph(pb::GraphScope { scope: Some(subtree) })]).await.unwrap();
    assert_eq!((below.run_count, below.usage.unwrap().input_tokens), (3, Some(110)));
    let named = sum(vec![Runs::RunSet(pb::RunSet { run_ids: vec!["left".into(), "left".into()] })]).await.unwrap();
    assert_eq!((named.run_count, named.usage.unwrap().input_tokens), (1, Some(10)));
    let of = Runs::ExchangeSet(pb::ExchangeSet { exchange_ids: vec![right.clone()] });
    let unknown = sum(vec![of]).await.unwrap();
    let usage = unknown.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.completeness()), (None, pb::UsageCompleteness::Unknown));
    let missing = sum(vec![Runs::RunSet(pb::RunSet { run_ids: vec!["none".into()] })]).await.unwrap_err();
    refused::is(&missing, Code::NotFound, Reason::RunNotFound);
}

/// Bad input names its fields, and an exchange that is not there is the same in every RPC.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_named() {
    let server = Running::echo().await;
    let nowhere = "01890000-0000-7000-8000-000000000000";
    let mut graph = server.graphs();
    let request = pb::ListChildrenRequest { exchange_id: nowhere.into(), ..Default::default() };
    refused::is(&graph.list_children(request).await.unwrap_err(), Code::NotFound, Reason::ExchangeNotFound);
    let request = pb::ListAncestorsRequest { exchange_id: nowhere.into(), ..Default::default() };
    refused::is(&graph.list_ancestors(request).await.unwrap_err(), Code::NotFound, Reason::ExchangeNotFound);
    let request = pb::ListChildrenRequest { exchange_id: "x".into(), page_size: -1, page_token: String::new() };
    let status = graph.list_children(request).await.unwrap_err();
    assert_eq!(refused::fields(&status), ["exchange_id", "page_size"]);
    let request = pb::GetCommonAncestorRequest { exchanges: vec![ask::point(nowhere)] };
    assert_eq!(refused::fields(&graph.get_common_ancestor(request).await.unwrap_err()), ["exchanges"]);
    let request = pb::DiffRequest { aspects: vec![99], ..Default::default() };
    assert_eq!(refused::fields(&graph.diff(request).await.unwrap_err()), ["left", "right", "aspects[0]"]);
    let request = pb::GetGraphRequest { format: 99, detail: 99, ..Default::default() };
    assert_eq!(refused::fields(&graph.get_graph(request).await.unwrap_err()), ["scope", "format", "detail"]);
    let request = pb::SearchRequest { text: "x".repeat(256), models: vec![String::new()], ..Default::default() };
    assert_eq!(refused::fields(&graph.search(request).await.unwrap_err()), ["models[0]", "text"]);
    let status = graph.sum_usage(pb::SumUsageRequest { scopes: Vec::new() }).await.unwrap_err();
    assert_eq!(refused::fields(&status), ["scopes"]);
    let request = pb::ListChildrenRequest { exchange_id: nowhere.into(), page_size: 1, page_token: "ff".into() };
    refused::is(&graph.list_children(request).await.unwrap_err(), Code::InvalidArgument, Reason::PageTokenInvalid);
}

/// Where a profile has prices, sums say what that may have cost, and how much of it has a price.
#[tokio::test(flavor = "multi_thread")]
async fn sums_estimate_what_it_cost() {
    let rules = "[[backends.script.rules]]\nusage = { input_tokens = 1000, output_tokens = 100 }\n\
                 [profiles.canned.prices]\ncurrency = \"USD\"\ninput_per_million = \"2.50\"\noutput_per_million = \"10\"\n";
    let server = Running::start(scripted(rules)).await;
    let one = turn(&server, None, "one").await;
    let other = pb::ExecutionRequest { model: "unpriced".into(), ..ask::text("two") };
    let two = server.exchanges().r#continue(ask::after(&one, other)).await.unwrap().into_inner().exchange.unwrap();
    let cost = async |ids: &[&str]| {
        let exchange_ids = ids.iter().map(|id| (*id).to_owned()).collect();
        let runs = Some(pb::usage_scope::Runs::ExchangeSet(pb::ExchangeSet { exchange_ids }));
        let request = pb::SumUsageRequest { scopes: vec![pb::UsageScope { runs }] };
        server.graphs().sum_usage(request).await.unwrap().into_inner().cost_estimates
    };
    let whole = cost(&[&one]).await;
    assert_eq!((whole[0].currency.as_str(), whole[0].amount.as_str()), ("USD", "0.0035"));
    assert_eq!(whole[0].completeness(), pb::UsageCompleteness::Complete);
    let part = cost(&[&one, &two.exchange_id]).await;
    assert_eq!((part[0].amount.as_str(), part[0].completeness()), ("0.0035", pb::UsageCompleteness::Partial));
    assert_eq!(cost(&[&two.exchange_id]).await, []);
}
