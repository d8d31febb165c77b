//! Limits of the configuration at their edges: of a history, of runs, of what is remembered, of time; and that `GetServerInfo` tells each.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use antiphon::ops::config;
use pb::exchange_service_client::ExchangeServiceClient;
use pb::run_service_client::RunServiceClient;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::support::clock::Set;
use crate::support::http2::{PREFACE, SETTINGS, frame};
use crate::support::provider::{Gate, Provider};
use crate::support::server::{Running, Sources, openai, scripted};
use crate::support::{ask, refused, within};
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

/// A page has as many bytes as are allowed and ends before more; what is larger by itself comes alone.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_page_in_bytes() {
    let mut server = Running::start(limited("")).await;
    let messages = ["a", "b"].into_iter().flat_map(|text| [ask::user(text), ask::assistant("y")]);
    let recorded = server.exchanges().record(ask::record(messages.collect())).await.unwrap().into_inner();
    let last = recorded.exchanges.last().unwrap().exchange_id.clone();
    // A turn after them is refused with the bytes of the first, where that is too much, and then with those of both.
    let mut bytes = [0; 2];
    for fits in 0..2 {
        server = server.restart_with(limited(&format!("max_history_bytes = {}", bytes[0].max(1)))).await;
        let long = server.exchanges().r#continue(ask::after(&last, ask::text("on"))).await.unwrap_err();
        bytes[fits] = facts(&long)[2].parse().unwrap();
    }
    let [_, bytes] = bytes;
    for (max, expected, is_last) in [(bytes, 2, true), (bytes - 1, 1, false), (1, 1, false)] {
        server = server.restart_with(limited(&format!("max_page_bytes = {max}"))).await;
        let page = server.exchanges().inspect(ask::inspect(&last)).await.unwrap().into_inner();
        let found = (page.path.len(), page.next_page_token.is_empty());
        assert_eq!(found, (expected, is_last), "{max} of {bytes}");
    }
}

/// As many calls as are allowed are at work on one connection; the next one begins when one of them has ended, and other connections have
/// their own.
#[tokio::test(flavor = "multi_thread")]
async fn of_streams_on_a_connection() {
    let gate = Gate::closed();
    let entries = (0..4).map(|_| stub::text("ok").wait(&gate));
    let provider = Provider::start(entries).await;
    let server =
        Running::start(format!("{}[server]\nmax_streams_per_connection = 2\n", openai(&provider.base_url()))).await;
    let capture = |channel: Channel, id: &'static str| {
        let mut client = ExchangeServiceClient::new(channel);
        tokio::spawn(async move { client.capture(ask::capture(ask::text_as(id, "x"))).await })
    };
    // The client knows the limit once something was answered.
    server.admin().get_server_info(pb::GetServerInfoRequest {}).await.unwrap();
    let mut calls = vec![capture(server.channel(), "a"), capture(server.channel(), "b")];
    provider.request(1).await;
    calls.push(capture(server.channel(), "c"));
    calls.push(capture(server.fresh_channel(), "d"));
    provider.request(2).await;
    let mut others = RunServiceClient::new(server.fresh_channel());
    let mut state = async |id: &str| others.get(pb::RunServiceGetRequest { run_id: id.into() }).await;
    assert!(state("d").await.is_ok());
    refused::is(&state("c").await.unwrap_err(), Code::NotFound, Reason::RunNotFound);
    assert_eq!(provider.count(), 3, "the third on the connection waits");
    gate.open();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(provider.count(), 4);
}

/// A connection without a call is kept for as long as is allowed, and closed then.
#[tokio::test]
async fn of_an_idle_connection() {
    let server = Running::start(format!("{}[server]\nidle_connection_minutes = 1\n", scripted(""))).await;
    let mut peer = TcpStream::connect(server.address()).await.unwrap();
    peer.write_all(&[PREFACE, &frame(SETTINGS, 0, 0, &[])].concat()).await.unwrap();
    let hung_up = tokio::spawn(async move { peer.read_to_end(&mut Vec::new()).await });
    let pass = async |seconds| {
        // What came before is taken in first.
        tokio::time::sleep(Duration::from_millis(300)).await;
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(seconds)).await;
        tokio::time::resume();
        tokio::time::sleep(Duration::from_millis(300)).await;
    };
    pass(57).await;
    assert!(!hung_up.is_finished(), "closed before its time");
    pass(4).await;
    within("the connection to be closed", hung_up).await.unwrap().ok();
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
    // What every one of them can be set to.
    let values = || (36..64).cycle();
    let settings: Vec<String> = keys.iter().zip(values()).map(|(key, value)| format!("{key} = {value}")).collect();
    let server = Running::start(limited(&settings.join("\n"))).await;
    let info = server.admin().get_server_info(pb::GetServerInfoRequest {}).await.unwrap().into_inner();
    let limits = info.server_info.unwrap().limits;
    for (key, value) in keys.iter().zip(values()) {
        let told = limits.iter().find(|limit| limit.name == **key).unwrap_or_else(|| panic!("{key} is not told"));
        assert_eq!(told.value, value, "{key}");
        assert!(!told.unit.is_empty(), "{key}");
    }
}
