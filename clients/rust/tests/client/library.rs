//! The graph, what is on record of tools, what is configured, and what would be sent.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use antiphon_client::testing::{Config, Server};
use antiphon_client::{
    Change, ChangeKind, Client, Code, Contract, ExchangeId, GraphDetail, GraphForm, Message, NewThread, OccurrenceKind,
    OfferedTool, Origin, Parameters, Request, RunState, SearchQuery, SettingSource, Subtree, ThreadPath, ThreadPoint,
    ThreadTree, Tool, ToolChoice, ToolQuery, ToolResult, UsageQuery, ValidationStatus,
};
use serde_json::json;

use crate::support::{fresh, refused, served};
use crate::tools::both;

const CONFIG: &str = r#"
prompts_dir = "prompts"
contracts_dir = "contracts"
default_profile = "canned"

[profiles.canned]
backend = "script"
model = "canned-1"
parameters = { temperature = 0.5 }

[backends.script]
kind = "scripted"
capacity = 3

[[backends.script.rules]]
text = "{last_user}"
usage = { input_tokens = 10, output_tokens = 5 }
"#;

fn configured() -> (Server, Client) {
    let prompt = "---\ndescription: Greets\nvariables:\n  - { name: name }\n  - { name: tone, default: kind }\n---\nI am {{ name }}, {{ tone }}.";
    let server = Config::default()
        .text(CONFIG)
        .file("prompts/greet.prompt", prompt)
        .file("contracts/verdict.json", r#"{"description": "Yes or no", "type": "object"}"#);
    let server = server.start().unwrap();
    let client = Client::connect(server.address()).unwrap();
    (server, client)
}

fn labelled(name: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("story".to_owned(), name.to_owned())])
}

#[tokio::test]
async fn the_graph_is_walked_compared_and_drawn() {
    let (_server, client) = served();
    let trunk = fresh();
    let root = client.capture("one").on_thread(NewThread::new().id(&trunk)).await.unwrap();
    let left =
        client.continue_from(ThreadPoint::new(&trunk), Request::new("left").label("side", &trunk)).await.unwrap();
    let right = client.reply(&root, Request::new("right").model("canned-2")).await.unwrap();
    let [weather, _] = both();
    let deeper = client.reply(&right, Request::new("deeper").tools([weather])).await.unwrap();

    let above = client.ancestors(&deeper).all().await.unwrap();
    assert_eq!(above.iter().map(|node| &node.exchange_id).collect::<Vec<_>>(), [&right.exchange_id, &root.exchange_id]);
    let node = &above[0];
    assert_eq!((node.user.as_str(), node.assistant.as_str(), node.model.as_str()), ("right", "right", "canned-2"));
    assert_eq!(
        (node.turn, node.depth, node.ends_turn, node.origin, node.child_count),
        (2, 2, true, Origin::Executed, 1)
    );
    assert_eq!((&node.parent_exchange_id, &node.run_id), (&root.exchange_id, &right.run_id));
    let below = client.children(&root).all().await.unwrap();
    assert_eq!(below.iter().map(|node| &node.exchange_id).collect::<Vec<_>>(), [&left.exchange_id, &right.exchange_id]);
    assert_eq!((below[0].thread_id.as_str(), below[0].labels["side"].as_str()), (trunk.as_str(), trunk.as_str()));
    let common = client.common_ancestor([&left, &deeper]).await.unwrap().unwrap();
    assert_eq!((&common.exchange_id, common.child_count), (&root.exchange_id, 2));
    let alone = client.capture("alone").await.unwrap();
    assert!(client.common_ancestor([&left, &alone]).await.unwrap().is_none());

    let found = client.diff(&left, ExchangeId::new(&deeper.exchange_id)).await.unwrap();
    assert_eq!((&found.common_ancestor_exchange_id, found.left_count, found.right_count), (&root.exchange_id, 1, 2));
    let text = |change: &Change<Message>| {
        let side = |message: &Option<Message>| message.as_ref().map(|message| message.text.clone());
        (change.kind, side(&change.left).unwrap_or_default(), side(&change.right).unwrap_or_default())
    };
    let said: Vec<_> = found.messages.iter().map(text).collect();
    let change = |left: &str, right: &str| (ChangeKind::Changed, left.to_owned(), right.to_owned());
    let added = |right: &str| (ChangeKind::Added, String::new(), right.to_owned());
    assert_eq!(said, [change("left", "right"), change("left", "right"), added("deeper"), added("deeper")]);
    let model = found.settings.iter().find(|change| change.name == "model").unwrap();
    assert_eq!((&model.left, &model.right), (&Some(json!("canned-1")), &Some(json!("canned-2"))));
    let [tool] = found.tools.as_slice() else { panic!("{:?}", found.tools) };
    assert_eq!((tool.name.as_str(), tool.kind, &tool.left), ("weather", ChangeKind::Added, &None));
    assert_eq!((tool.right.as_ref().unwrap().name.as_str(), found.raw().len()), ("weather", 1));

    let tree = client.graph(ThreadTree::new(&trunk)).form(GraphForm::Mermaid).previews().await.unwrap();
    assert!(tree.contains("deeper") && tree.contains("left"), "{tree}");
    let path = client.graph(ThreadPath::new(&trunk)).previews().await.unwrap();
    assert!(path.contains("left") && !path.contains("deeper"), "{path}");
    let part = client.graph(Subtree::new(&right).max_steps(1)).form(GraphForm::Dot);
    assert!(part.detail(GraphDetail::Exchanges).await.unwrap().contains("digraph"));
}

#[tokio::test]
async fn what_was_never_captured_is_not_in_the_graph() {
    let (_server, client) = served();
    let loose = client.prompt("one").await.unwrap();
    let told = [
        client.inspect(&loose).await.unwrap_err(),
        client.ancestors(&loose).all().await.unwrap_err(),
        client.graph(&loose).await.unwrap_err(),
        client.search(SearchQuery::all().scope(&loose)).next().await.unwrap().unwrap_err(),
        client.usage(UsageQuery::scope(&loose)).await.unwrap_err(),
        client.tool_drifts(&loose, "").all().await.unwrap_err(),
    ];
    for error in told {
        assert_eq!((error.code, error.reason.as_str()), (Code::FailedPrecondition, "NOT_CAPTURED"));
        assert_eq!(error.metadata["run_id"], loose.run_id);
    }
    // A list that cannot be asked for says so once.
    let mut list = client.children(&loose);
    assert!(list.next().await.unwrap().is_err() && list.next().await.is_none());
}

#[tokio::test]
async fn what_is_on_record_is_found() {
    let (_server, client) = served();
    let label = labelled(&fresh());
    let root = client.capture(Request::new("A needle in the hay").labels(label.clone())).await.unwrap();
    let hay = client.reply(&root, Request::new("the forecast").labels(label.clone()).tools(both())).await.unwrap();
    let hits = client.search(SearchQuery::text("NEEDLE").scope(Subtree::new(&root))).all().await.unwrap();
    assert_eq!(hits.iter().map(|hit| &hit.run_id).collect::<Vec<_>>(), [&root.run_id]);
    assert!(hits[0].snippet.to_lowercase().contains("needle"), "{}", hits[0].snippet);
    assert_eq!((&hits[0].exchange.as_ref().unwrap().labels, hits[0].run_state), (&label, RunState::Completed));
    let of_label = || SearchQuery::all().labels(label.clone());
    let found = async |query| {
        let hits = client.search(query).all().await.unwrap();
        hits.into_iter().map(|hit| hit.run_id).collect::<Vec<_>>()
    };
    assert_eq!(found(of_label()).await, [hay.run_id.clone(), root.run_id.clone()]);
    assert_eq!(found(of_label().called_tool("tide").state(RunState::PendingTools)).await, [hay.run_id.as_str()]);
    assert_eq!(found(of_label().offered_tool("weather").model("canned-1")).await, [hay.run_id]);
    let hour = ago(Duration::from_secs(3600));
    assert!(found(of_label().before(hour)).await.is_empty());
    assert_eq!(found(of_label().since(hour).roots_only()).await, [root.run_id]);
}

#[expect(clippy::disallowed_methods, reason = "what is on record has times by the clock on the wall")]
fn ago(time: Duration) -> SystemTime {
    SystemTime::now() - time
}

/// S4-83.
#[tokio::test]
async fn shared_work_is_counted_once() {
    let (_server, client) = configured();
    let label = labelled("sum");
    let said = |text: &str| Request::new(text).labels(label.clone());
    let root = client.capture(said("one")).await.unwrap();
    let left = client.reply(&root, said("left")).await.unwrap();
    let right = client.reply(&root, said("right")).await.unwrap();
    let path = client.usage(UsageQuery::scope(&left)).await.unwrap();
    assert_eq!((path.run_count, path.usage.input_tokens, path.usage.output_tokens), (2, Some(20), Some(10)));
    let both = client.usage(UsageQuery::scopes([&left, &right])).await.unwrap();
    assert_eq!((both.run_count, both.usage.input_tokens), (3, Some(30)));
    assert_eq!(client.usage(UsageQuery::labels(label)).await.unwrap().usage, both.usage);
    let named = UsageQuery::runs([&root.run_id]).and_runs([&left.run_id, &root.run_id]);
    assert_eq!(client.usage(named).await.unwrap().run_count, 2);
    let mixed = UsageQuery::runs([&root.run_id]).and_scope(Subtree::new(&right));
    assert_eq!(client.usage(mixed).await.unwrap().run_count, 2);
    let [model] = both.models.as_slice() else { panic!("{:?}", both.models) };
    assert_eq!((model.backend_id.as_str(), model.model.as_str(), model.calls), ("script", "canned-1", 3));
    assert_eq!((&model.usage, both.costs.len(), both.raw().complete_count), (&both.usage, 0, 3));
}

/// S0-32, S0-33, S0-36.
#[tokio::test]
async fn which_tools_calls_had_is_on_record() {
    let (_server, client) = served();
    let named = |property: &str| {
        let schema = json!({"type": "object", "required": [property]}).to_string();
        Tool::offered("probe", "", schema)
    };
    let [weather, tide] = both();
    let first = Request::new("one").tools([named("city"), tide.clone()]).tool_choice(ToolChoice::None);
    let first = client.capture(first).await.unwrap();
    let names = |tools: &[OfferedTool]| tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    let found = client.call_tools(&first).await.unwrap();
    assert_eq!((names(&found.offered), names(&found.standing)), (names(&first.tools), names(&first.standing_tools)));
    assert_eq!((found.tool_choice, found.called.len(), found.drifts.len()), (Some(ToolChoice::None), 0, 0));
    let second = client.reply(&first, Request::new("two").tools([named("place")])).await.unwrap();
    let all = client.tool_occurrences(ToolQuery::new("probe")).all().await.unwrap();
    assert_eq!(all.iter().map(|one| &one.exchange_id).collect::<Vec<_>>(), [&second.exchange_id, &first.exchange_id]);
    let old = ToolQuery::new("probe").schema_hash(&first.tools[0].schema_hash).scope(&second);
    let old = client.tool_occurrences(old).all().await.unwrap();
    assert_eq!((old.len(), &old[0].run_id, old[0].offered, old[0].call_ids.len()), (1, &first.run_id, true, 0));
    assert_eq!((&old[0].schema_hash, old[0].thread_id.as_str()), (&first.tools[0].schema_hash, ""));
    let drifts = client.tool_drifts(&second, "probe").all().await.unwrap();
    let [drift] = drifts.as_slice() else { panic!("{drifts:?}") };
    assert_eq!((&drift.previous_exchange_id, &drift.exchange_id), (&first.exchange_id, &second.exchange_id));
    assert!(drift.previous.schema.contains("city") && drift.current.schema.contains("place"));
    assert!(client.tool_drifts(&second, "tide").all().await.unwrap().is_empty());
    assert_eq!(client.call_tools(&second).await.unwrap().drifts, drifts);
    let called = client.capture(Request::new("the forecast").tools([weather, tide])).await.unwrap();
    assert_eq!(client.call_tools(&called).await.unwrap().called, ["weather", "tide"]);
    let one = ToolQuery::new("tide").kind(OccurrenceKind::Called).scope(&called);
    let one = client.tool_occurrences(one).all().await.unwrap();
    assert_eq!((one.len(), &one[0].call_ids), (1, &vec![called.tool_calls[1].call_id.clone()]));
}

#[tokio::test]
async fn what_is_configured_can_be_read() {
    let (_server, client) = configured();
    let prompts = client.prompts().all().await.unwrap();
    let [listed] = prompts.as_slice() else { panic!("{prompts:?}") };
    assert_eq!((listed.prompt_id.as_str(), listed.description.as_str()), ("greet", "Greets"));
    assert_eq!((listed.variables.join(" "), listed.required.join(" ")), ("name tone".to_owned(), "name".to_owned()));
    assert_eq!((listed.template.as_str(), listed.raw().variables[1].default_json.as_str()), ("", "\"kind\""));
    assert!(client.inspect_prompt("greet").await.unwrap().template.contains("{{ name }}"));
    let profiles = client.profiles().all().await.unwrap();
    let [profile] = profiles.as_slice() else { panic!("{profiles:?}") };
    assert_eq!(profile, &client.inspect_profile("canned").await.unwrap());
    assert_eq!((profile.backend_id.as_str(), profile.model.as_str(), profile.is_default), ("script", "canned-1", true));
    assert_eq!(profile.parameters, Parameters::new().temperature(0.5));
    let backends = client.backends().all().await.unwrap();
    let [backend] = backends.as_slice() else { panic!("{backends:?}") };
    assert_eq!((backend.kind.as_str(), backend.capacity, backend.in_use, backend.queued), ("scripted", 3, 0, 0));
    assert!(backend.capabilities.iter().any(|word| word == "tools"), "{:?}", backend.capabilities);
    assert_eq!(client.inspect_backend("script").await.unwrap().base_url, "");
    let contracts = client.contracts().all().await.unwrap();
    let verdict = contracts.iter().find(|contract| contract.contract_id == "verdict").unwrap();
    assert_eq!((verdict.description.as_str(), &verdict.schema), ("Yes or no", &None));
    assert!(client.inspect_contract("verdict").await.unwrap().schema.unwrap().contains("object"));
    assert_eq!(client.inspect_prompt("nothing").await.unwrap_err().code, Code::NotFound);
}

#[tokio::test]
async fn what_would_be_sent_is_shown_before_anybody_is_asked() {
    let (_server, client) = served();
    let start = client.capture(Request::new("one").system("Be brief.")).await.unwrap();
    let [weather, tide] = both();
    let request = Request::new("two").parameters(Parameters::new().temperature(0.5)).tools([tide.clone()]);
    let shown = client.explain(request).after(&start).await.unwrap();
    let texts: Vec<_> = shown.messages.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["Be brief.", "one", "one", "two"]);
    let (model, temperature) = (&shown.settings["model"], &shown.settings["parameters.temperature"]);
    assert_eq!((&model.value, model.source), (&json!("canned-1"), SettingSource::Profile));
    assert_eq!((&temperature.value, temperature.source), (&json!(0.5), SettingSource::Request));
    assert_eq!((shown.tools.len(), shown.tools[0].name.as_str(), shown.matches), (1, "tide", None));
    assert!(shown.body_json.contains("two") && shown.warnings.is_empty() && !shown.raw().body_blake3.is_empty());
    // Nobody was asked.
    assert!(client.children(&start).all().await.unwrap().is_empty());
    let sent = client.explain_exchange(&start).await.unwrap();
    assert_eq!((sent.matches, sent.difference.as_str()), (Some(true), ""));
    let first = client.explain("alone").on_thread(NewThread::new().profile("narrow")).await.unwrap();
    assert_eq!((first.messages.len(), &first.settings["profile_id"].value), (1, &json!("narrow")));
    let called = client.capture(Request::new("the forecast").tools([weather, tide])).await.unwrap();
    let results: Vec<_> = called.tool_calls.iter().map(|call| ToolResult::new(&call.call_id, "fine")).collect();
    let shown = client.explain(results.clone()).after(&called).await.unwrap();
    assert_eq!(shown.messages.last().unwrap().tool_results.len(), 2);
    refused(client.explain(results).await, Code::InvalidArgument, "");
    let both = client.explain("two").after(&start).on_thread(NewThread::new());
    refused(both.await, Code::InvalidArgument, "");
}

#[tokio::test]
async fn what_was_prepared_is_executed_once_as_it_was_shown() {
    let (_server, client) = served();
    let thread = fresh();
    client.capture("one").on_thread(NewThread::new().id(&thread)).await.unwrap();
    let prepared = client.prepare("two").after(ThreadPoint::new(&thread)).keep(true).await.unwrap();
    let texts: Vec<_> = prepared.explanation.messages.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["one", "one", "two"]);
    assert!(prepared.expires > ago(Duration::ZERO));
    let answer = client.execute(&prepared).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.captured, answer.thread_id.as_str()), ("two", true, thread.as_str()));
    assert_eq!(answer.run_id, prepared.run_id);
    // The same answer, and nobody asked twice.
    assert_eq!(client.execute(&prepared).await.unwrap().exchange_id, answer.exchange_id);
    assert_eq!(client.run(&answer.run_id).await.unwrap().model_calls, 1);

    let soon = ago(Duration::ZERO) + Duration::from_secs(60);
    let loose = client.prepare(Request::new("three").run_id(fresh())).expires(soon).await.unwrap();
    assert!(loose.expires <= soon);
    let loose = client.execute(&loose).timeout(Duration::from_secs(60)).await.unwrap();
    assert!(!loose.captured);
    assert_eq!(client.reply(&loose, "four").keep(true).await.unwrap().turn, 2);
}

#[tokio::test]
async fn an_answer_that_misses_its_form_says_what_is_wrong() {
    let (_server, client) = served();
    let form = Contract::Schema(json!({"type": "object", "properties": {"good": {"type": "integer"}}}).to_string());
    let asked = Request::new(r#"{"good": true}"#).contract(form.clone()).repair(0);
    let found = client.capture(asked.clone()).await.unwrap();
    assert_eq!((found.validation, found.violations.len()), (ValidationStatus::Invalid, 1));
    assert!(found.violations[0].starts_with("/good: "), "{:?}", found.violations);
    let probed = client.fork_once(&found, asked).await.unwrap();
    assert_eq!((probed.validation, &probed.violations), (ValidationStatus::Invalid, &found.violations));
}
