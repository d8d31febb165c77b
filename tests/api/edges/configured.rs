//! Limits of the configuration at their edges: of a history, of runs, of what is remembered, of time; and that `GetServerInfo` tells each.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use antiphon::ops::config;
use tonic::{Code, Status};

use crate::support::clock::Set;
use crate::support::provider::{Gate, Provider};
use crate::support::server::{Running, Sources, openai, scripted};
use crate::support::{ask, refused};
use crate::{look, stub};

/// A configuration with these limits.
fn limited(limits: &str) -> String {
    scripted(&format!("[limits]\n{limits}\n"))
}

fn facts(status: &Status) -> [String; 3] {
    ["limit", "max", "value"].map(|key| refused::fact(status, key))
}

async fn captured(server: &Running, text: &str) -> String {
    let captured = server.exchanges().capture(ask::capture(ask::text(text))).await.unwrap().into_inner();
    captured.exchange.unwrap().exchange_id
}

/// Once one exchange was read whatever the limit was, and one more than fits; now exactly what fits is read, and nothing is sent of more.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_history_in_bytes() {
    let mut server = Running::start(limited("max_history_bytes = 1")).await;
    let mut last = captured(&server, &"long ".repeat(2_000)).await;
    for turn in 1..=2 {
        let refused = server.exchanges().r#continue(ask::after(&last, ask::text("on"))).await.unwrap_err();
        refused::is(&refused, Code::ResourceExhausted, Reason::LimitExceeded);
        let [limit, _, value] = facts(&refused);
        assert_eq!(limit, "max_history_bytes");
        assert!(refused.message().contains(&value) && refused.message().contains("summary"), "{refused:?}");
        let bytes: usize = value.parse().unwrap();
        server = server.restart_with(limited(&format!("max_history_bytes = {}", bytes - 1))).await;
        let more = server.exchanges().r#continue(ask::after(&last, ask::text("on"))).await.unwrap_err();
        assert_eq!(facts(&more), ["max_history_bytes".into(), (bytes - 1).to_string(), bytes.to_string()]);
        for status in [
            server.exchanges().probe(ask::probe(&last, ask::text("on"))).await.unwrap_err(),
            server.exchanges().prepare(prepare(&last)).await.unwrap_err(),
        ] {
            assert_eq!((status.message(), facts(&status)), (more.message(), facts(&more)));
        }
        assert_eq!(look::runs(&server).await.len(), turn, "nothing was begun");
        server = server.restart_with(limited(&format!("max_history_bytes = {bytes}"))).await;
        let went_on = server.exchanges().r#continue(ask::after(&last, ask::text("on"))).await.unwrap().into_inner();
        last = went_on.exchange.unwrap().exchange_id;
    }
}

fn prepare(exchange_id: &str) -> pb::PrepareRequest {
    let from = Some(pb::prepare_request::From::Exchange(ask::point(exchange_id)));
    pb::PrepareRequest { request: Some(ask::text("on")), from, ..Default::default() }
}

/// What comes with a call in place of a history that is stored is measured as well.
#[tokio::test(flavor = "multi_thread")]
async fn of_an_uncaptured_history_in_bytes() {
    let server = Running::start(limited("max_history_bytes = 10")).await;
    let after = |question: &str| {
        let prefix = pb::UncapturedPrefix {
            rendered_messages: vec![ask::user(question)],
            assistant: Some(ask::assistant("12345")),
            ..Default::default()
        };
        let from = Some(pb::continue_request::From::UncapturedPrefix(prefix));
        pb::ContinueRequest { from, ..ask::after("", ask::text("on")) }
    };
    let long = server.exchanges().r#continue(after("123456")).await.unwrap_err();
    refused::is(&long, Code::ResourceExhausted, Reason::LimitExceeded);
    assert_eq!(facts(&long), ["max_history_bytes", "10", "11"]);
    server.exchanges().r#continue(after("12345")).await.unwrap();
}

/// As many runs as are allowed are at work; the next one is refused until one of them has ended.
#[tokio::test(flavor = "multi_thread")]
async fn of_runs() {
    let gate = Gate::closed();
    let provider = Provider::start([stub::text("1").wait(&gate), stub::text("2").wait(&gate), stub::text("3")]).await;
    let server = Running::start(format!("{}[limits]\nmax_runs = 2\n", openai(&provider.base_url()))).await;
    let capture = |id: &'static str| {
        let mut client = server.exchanges();
        tokio::spawn(async move { client.capture(ask::capture(ask::text_as(id, "x"))).await })
    };
    let at_work = [capture("a"), capture("b")];
    for (number, id) in ["a", "b"].into_iter().enumerate() {
        provider.request(number).await;
        look::until(&server, id, pb::RunState::Running).await;
    }
    let third = capture("c").await.unwrap().unwrap_err();
    refused::is(&third, Code::ResourceExhausted, Reason::LimitExceeded);
    assert_eq!(facts(&third), ["max_runs", "2", "3"]);
    assert!(third.message().contains("2 runs are at work"), "{third:?}");
    refused::is(&look::no_run(&server, "c").await, Code::NotFound, Reason::RunNotFound);
    gate.open();
    for run in at_work {
        run.await.unwrap().unwrap();
    }
    capture("c").await.unwrap().unwrap();
}

/// Results of uncaptured runs are kept as long as they fit, by their number and by what they say; the oldest goes first.
#[tokio::test(flavor = "multi_thread")]
async fn of_what_is_remembered() {
    // Each says ten bytes and is answered two.
    let rule = "[[backends.script.rules]]\ntext = \"ok\"\n";
    for (limits, kept) in [
        ("max_remembered_results = 2", &["b", "c"][..]),
        ("max_remembered_bytes = 36", &["a", "b", "c"]),
        ("max_remembered_bytes = 35", &["b", "c"]),
        ("max_remembered_bytes = 11", &[]),
    ] {
        let server = Running::start(scripted(&format!("{rule}[limits]\n{limits}\n"))).await;
        let run = async |id: &str| {
            let execution = Some(pb::run_request::Execution::Request(ask::text_as(id, "1234567890")));
            server.exchanges().run(pb::RunRequest { execution, ..Default::default() }).await
        };
        for id in ["a", "b", "c"] {
            run(id).await.unwrap();
        }
        for id in ["a", "b", "c"] {
            match run(id).await {
                Ok(answer) => assert!(kept.contains(&id) && answer.into_inner().replayed, "{limits}: {id}"),
                Err(status) => {
                    assert!(!kept.contains(&id), "{limits}: {id}");
                    refused::is(&status, Code::FailedPrecondition, Reason::ResultNotKept);
                    assert!(status.message().contains("another id"), "{status:?}");
                }
            }
        }
    }
}

/// Up to the last millisecond of the time that is allowed.
#[tokio::test(flavor = "multi_thread")]
async fn of_the_time_of_a_prepared_execution() {
    let clock = Arc::new(Set(AtomicU64::new(1_700_000_000_000)));
    let config = limited("max_prepared_hours = 2");
    let server = Running::start_with(config, Sources { clock, ..Sources::real() }).await;
    let until = async |nanos| {
        let expire_time = Some(prost_types::Timestamp { seconds: 1_700_007_200, nanos });
        let request = pb::PrepareRequest { request: Some(ask::text("x")), expire_time, ..Default::default() };
        server.exchanges().prepare(request).await
    };
    let late = until(1_000_000).await.unwrap_err();
    refused::is(&late, Code::InvalidArgument, Reason::LimitExceeded);
    assert_eq!(
        (facts(&late), refused::fields(&late)),
        (["max_prepared_hours", "2", "3"].map(str::to_owned), vec!["expire_time".to_owned()])
    );
    assert!(late.message().contains("at most 2"), "{late:?}");
    until(0).await.unwrap();
}

/// As many repairs as are allowed can be asked for.
#[tokio::test(flavor = "multi_thread")]
async fn of_repairs() {
    let server =
        Running::start(format!("max_repair_attempts = 2\n{}", scripted("[[backends.script.rules]]\njson = 1\n"))).await;
    let repaired = async |attempts| {
        let contract = pb::Contract { form: Some(pb::contract::Form::Json(pb::JsonContract {})) };
        let request =
            pb::ExecutionRequest { contract: Some(contract), repair: Some(pb::Repair { attempts }), ..ask::text("x") };
        server.exchanges().capture(ask::capture(request)).await
    };
    let many = repaired(3).await.unwrap_err();
    refused::is(&many, Code::InvalidArgument, Reason::LimitExceeded);
    assert_eq!(facts(&many), ["max_repair_attempts", "2", "3"]);
    assert!(many.message().contains("is 3: at most 2"), "{many:?}");
    repaired(2).await.unwrap();
}

/// Every key of `[limits]` is told with what it is set to.
#[tokio::test(flavor = "multi_thread")]
async fn each_is_told() {
    // What is said of a key that there is not names those that there are.
    let mistakes = config::parse("[limits]\nzzz = 1\n", Path::new("antiphon.toml")).unwrap_err();
    let said = mistakes[0].to_string();
    let keys: Vec<&str> = said.split_once("known are ").unwrap().1.split('`').skip(1).step_by(2).collect();
    assert!(keys.len() > 10, "{said}");
    let settings: Vec<String> = keys.iter().zip(7..).map(|(key, value)| format!("{key} = {value}")).collect();
    let server = Running::start(limited(&settings.join("\n"))).await;
    let info = server.admin().get_server_info(pb::GetServerInfoRequest {}).await.unwrap().into_inner();
    let limits = info.server_info.unwrap().limits;
    for (key, value) in keys.iter().zip(7..) {
        let told = limits.iter().find(|limit| limit.name == **key).unwrap_or_else(|| panic!("{key} is not told"));
        assert_eq!(told.value, value, "{key}");
        assert!(!told.unit.is_empty(), "{key}");
    }
}
