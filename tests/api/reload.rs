//! Reloading: all of a configuration or nothing of it, while runs are at work; and the pace of a backend, which it can change.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::ChangeKind::{Added, Changed, Removed};
use tonic::{Code, Request};
use tonic_types::StatusExt;

use crate::support::provider::{Gate, Provider};
use crate::support::server::{self, Running};
use crate::support::{ask, refused, within};
use crate::{look, stub};

/// Has the server read this configuration.
async fn reload(server: &Running, config: &str, dry_run: bool) -> pb::ReloadResponse {
    std::fs::write(server.folder().join("antiphon.toml"), config).unwrap();
    server.admin().reload(pb::ReloadRequest { dry_run }).await.unwrap().into_inner()
}

/// Has the server read this configuration, which is right, and tells what changed.
async fn reloaded(server: &Running, config: &str) -> Vec<(String, String, pb::ChangeKind)> {
    let response = reload(server, config, false).await;
    assert!(response.applied && response.problems.is_empty(), "{response:?}");
    changes(&response)
}

fn changes(response: &pb::ReloadResponse) -> Vec<(String, String, pb::ChangeKind)> {
    response.changes.iter().map(|one| (one.kind.clone(), one.id.clone(), one.change())).collect()
}

async fn capture(server: &Running, text: &str) -> Result<pb::Exchange, tonic::Status> {
    let answer = server.exchanges().capture(ask::capture(ask::text(text))).await?.into_inner();
    Ok(answer.exchange.unwrap())
}

fn named(changes: &[(String, String, pb::ChangeKind)]) -> Vec<(&str, &str, pb::ChangeKind)> {
    changes.iter().map(|(kind, id, change)| (kind.as_str(), id.as_str(), *change)).collect()
}

/// Each kind of thing that is configured, new, gone and otherwise, is named, told before it is done, and then holds for the next call.
#[tokio::test(flavor = "multi_thread")]
async fn what_changed_is_told_and_holds_for_the_next_call() {
    let provider = Provider::start([stub::text("one"), stub::text("two")]).await;
    let url = provider.base_url();
    let prompts = tempfile::tempdir().unwrap();
    let prompt = |id: &str, text: &str| {
        let text = format!("---\nid: {id}\ndescription: d\n---\nuser:\n{text}\n");
        std::fs::write(prompts.path().join(format!("{id}.prompt")), text).unwrap();
    };
    prompt("stays", "same");
    prompt("turns", "before");
    let config = |rest: &str, model: &str| {
        let dir = prompts.path().display().to_string();
        format!(
            "prompts_dir = {dir:?}\ndefault_profile = \"main\"\n{rest}\n[profiles.main]\nbackend = \"far\"\nmodel = \"{model}\"\n\
             [backends.far]\nkind = \"openai\"\nbase_url = \"{url}\"\n"
        )
    };
    let before = config("[contracts.old]\nschema = '{}'", "m1");
    let server = Running::start(before.as_str()).await;
    assert_eq!(named(&reloaded(&server, &before).await), [], "nothing changed");
    capture(&server, "a").await.unwrap();

    prompt("turns", "after");
    prompt("comes", "new");
    let after =
        config("max_repair_attempts = 6\n[contracts.new]\nschema = '{}'\n[backends.near]\nkind = \"scripted\"", "m2");
    let told = reload(&server, &after, true).await;
    assert!(!told.applied && told.problems.is_empty());
    let expected = [
        ("backend", "near", Added),
        ("contract", "new", Added),
        ("contract", "old", Removed),
        ("profile", "main", Changed),
        ("prompt", "comes", Added),
        ("prompt", "turns", Changed),
        ("setting", "max_repair_attempts", Changed),
    ];
    assert_eq!(named(&changes(&told)), expected);
    let contracts = async || {
        let listed = server.catalog().list_contracts(pb::ListContractsRequest::default()).await.unwrap().into_inner();
        listed.contracts.into_iter().map(|one| one.contract_id).collect::<Vec<_>>()
    };
    assert_eq!(contracts().await, ["json", "old", "text"], "a dry run changes nothing");
    assert_eq!(named(&reloaded(&server, &after).await), expected);
    assert_eq!(contracts().await, ["json", "new", "text"]);
    capture(&server, "b").await.unwrap();
    let models = [provider.request(0).await.json()["model"].clone(), provider.request(1).await.json()["model"].clone()];
    assert_eq!(models, ["m1", "m2"]);
    let info =
        server.admin().get_server_info(pb::GetServerInfoRequest {}).await.unwrap().into_inner().server_info.unwrap();
    let repairs = info.limits.iter().find(|limit| limit.name == "max_repair_attempts").unwrap().value;
    assert_eq!((repairs, info.configured.unwrap().backends), (6, 2));
}

/// All mistakes are told with their places, without a secret, and nothing changes; so too where only a restart would do.
#[tokio::test(flavor = "multi_thread")]
async fn with_a_mistake_nothing_changes() {
    let good = server::scripted("");
    let server = Running::start(good.as_str()).await;
    let broken =
        format!("{good}\n[profiles.other]\nbackend = \"nowhere\"\nmodel = \"m\"\n[contracts.bad]\nschema = '{{'\n");
    let refused = reload(&server, &broken, false).await;
    assert!(!refused.applied && refused.changes.is_empty());
    let places: Vec<_> = refused.problems.iter().map(|problem| problem.place.as_str()).collect();
    assert_eq!(places, ["profiles.other.backend", "contracts.bad"]);
    let line = good.lines().count() + 3;
    assert!(refused.problems[0].file.ends_with(&format!("antiphon.toml:{line}")), "{refused:?}");

    let fixed = format!("{good}[server]\nmax_message_bytes = 1000\n[limits]\nmax_runs = 3\n");
    let refused = reload(&server, &fixed, false).await;
    let places: Vec<_> = refused.problems.iter().map(|problem| problem.place.as_str()).collect();
    assert_eq!((refused.applied, places), (false, vec!["server.max_message_bytes", "limits.max_runs"]));
    assert!(refused.problems.iter().all(|problem| problem.message.contains("restart the server")), "{refused:?}");

    std::fs::remove_file(server.folder().join("antiphon.toml")).unwrap();
    let gone = server.admin().reload(pb::ReloadRequest::default()).await.unwrap().into_inner();
    assert!(!gone.applied && gone.problems[0].message.contains("cannot be read"), "{gone:?}");
    assert_eq!(capture(&server, "x").await.unwrap().text, "You said: x (message 1 of the history)");
    assert_eq!(reloaded(&server, &good).await, []);
}

/// A run that has begun ends with what it began with, though its backend is gone from the configuration; another one begins with what is new.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_ends_with_what_it_began_with() {
    let gate = Gate::closed();
    let old = Provider::start([stub::status(503, "again"), stub::text("old").wait(&gate)]).await;
    let new = Provider::start([stub::text("new")]).await;
    let config = |id: &str, provider: &Provider| {
        let retry = "retry = { base_ms = 1, max_ms = 1 }\n";
        format!("default_profile = \"{id}\"\n{}", server::spoken(id, "openai", &provider.base_url(), retry))
    };
    let server = Running::start(config("old", &old)).await;
    let running = tokio::spawn({
        let mut exchanges = server.exchanges();
        async move { exchanges.capture(ask::capture_on_new("t", ask::text_as("r", "a"))).await }
    });
    old.request(1).await;
    let changed = reloaded(&server, &config("new", &new)).await;
    assert_eq!(changed.len(), 5, "{changed:?}");
    assert_eq!(capture(&server, "b").await.unwrap().text, "new");
    gate.open();
    let ended = within("the run to end", running).await.unwrap().unwrap().into_inner().exchange.unwrap();
    assert_eq!(ended.text, "old");
    let run = look::run(&server, "r").await;
    assert_eq!(run.observations.iter().map(|seen| seen.backend_id.as_str()).collect::<Vec<_>>(), ["old", "old"]);
}

/// A key in a file is read anew, and a backend that stays as it was keeps its place in its script and its queue.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_key_is_used_and_who_waits_goes_on_waiting() {
    let gate = Gate::closed();
    let answers = [stub::text("a"), stub::text("b").wait(&gate), stub::text("c"), stub::text("d")];
    let provider = Provider::start(answers).await;
    let keys = tempfile::tempdir().unwrap();
    let key = keys.path().join("key");
    std::fs::write(&key, "sk-first").unwrap();
    let path = key.display().to_string();
    let config = |capacity: u32| {
        let more = format!("api_key_file = {path:?}\ncapacity = {capacity}\n");
        server::openai_with(&provider.base_url(), &more)
    };
    let server = Running::start(config(1)).await;
    capture(&server, "a").await.unwrap();
    std::fs::write(&key, "sk-second").unwrap();
    let told = reload(&server, &config(1), false).await;
    assert_eq!(changes(&told).len(), 1);
    assert!(!format!("{told:?}").contains("sk-"), "{told:?}");

    let call = |text: &'static str| {
        let mut exchanges = server.exchanges();
        tokio::spawn(async move { exchanges.capture(ask::capture(ask::text_as(text, text))).await })
    };
    let first = call("b");
    provider.request(1).await;
    let second = call("c");
    look::until(&server, "c", pb::RunState::Queued).await;
    // The same connection, the same queue, and one more place in it.
    assert_eq!(reloaded(&server, &config(2)).await.len(), 1);
    within("the one that waited", second).await.unwrap().unwrap();
    gate.open();
    within("the first one", first).await.unwrap().unwrap();
    let mut sent = Vec::new();
    for number in 0..3 {
        sent.push(provider.request(number).await.header("authorization").unwrap().to_owned());
    }
    assert_eq!(sent, ["Bearer sk-first", "Bearer sk-second", "Bearer sk-second"]);
}

/// What was prepared is not executed with another backend than was shown.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_prepared_is_stale_once_its_backend_is_otherwise() {
    let provider = Provider::start([]).await;
    let config = |more: &str| server::openai_with(&provider.base_url(), more);
    let server = Running::start(config("")).await;
    let prepare = pb::PrepareRequest { request: Some(ask::text("x")), capture: true, ..Default::default() };
    let prepared_id = server.exchanges().prepare(prepare).await.unwrap().into_inner().prepared_id;
    assert_eq!(reloaded(&server, &config("quirks = { system_role = \"developer\" }\n")).await.len(), 1);
    let prepared = pb::PreparedExecution { prepared_id, run_id: "r".into() };
    let execution = Some(pb::capture_request::Execution::Prepared(prepared));
    let stale = server.exchanges().capture(pb::CaptureRequest { execution, thread: None }).await.unwrap_err();
    refused::is(&stale, Code::FailedPrecondition, Reason::PreparedStale);
    assert_eq!(provider.count(), 0);
}

/// So many requests go out in a minute. Who has no time to wait for the next one is told when it can go, and nothing was sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_backend_is_called_at_its_pace() {
    let provider = Provider::start([stub::text("a"), stub::text("b"), stub::text("c")]).await;
    let config = |rate: &str| server::openai_with(&provider.base_url(), rate);
    let server = Running::start(config("rate = { requests_per_minute = 1, burst = 2 }\n")).await;
    for text in ["a", "b"] {
        capture(&server, text).await.unwrap();
    }
    let mut hurried = Request::new(ask::capture(ask::text_as("r", "c")));
    hurried.set_timeout(std::time::Duration::from_secs(20));
    let refused = server.exchanges().capture(hurried).await.unwrap_err();
    refused::is(&refused, Code::ResourceExhausted, Reason::ProviderRateLimited);
    let delay = refused.get_details_retry_info().unwrap().retry_delay.unwrap();
    assert!((50..=60).contains(&delay.as_secs()), "{delay:?}");
    assert!(refused.message().contains("requests_per_minute"), "{refused:?}");
    assert_eq!((provider.count(), look::run(&server, "r").await.observations.len()), (2, 0));
    // One who has the time waits, and takes back what it asked for without having called anybody.
    let mut waiting = Request::new(pb::StreamCaptureRequest { capture: Some(ask::capture(ask::text_as("w", "d"))) });
    waiting.set_timeout(std::time::Duration::from_secs(500));
    let stream = server.exchanges().stream_capture(waiting).await.unwrap().into_inner();
    look::until(&server, "w", pb::RunState::Running).await;
    drop(stream);
    look::until(&server, "w", pb::RunState::Cancelled).await;
    assert_eq!(provider.count(), 2);
    assert_eq!(reloaded(&server, &config("")).await.len(), 1);
    capture(&server, "e").await.unwrap();
}
