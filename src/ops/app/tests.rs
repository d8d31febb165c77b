//! Tests of a whole server in this process: it says when it is ready, serves, and ends in good order.

use tokio::sync::oneshot;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::health::SERVICES;
use std::path::Path;

use super::*;
use crate::app::reload::Nowhere;
use crate::grpc::pb;
use crate::grpc::pb::exchange_service_client::ExchangeServiceClient;
use crate::ops::config::parse;
use crate::ops::environment::tests::FakeEnvironment;
use crate::ops::source::{RandomIds, SystemClock};
use crate::store::verify::Event;

const ECHO: &str = "default_profile = \"echo\"\n[profiles.echo]\nbackend = \"echo\"\nmodel = \"m\"\n\
                    [backends.echo]\nkind = \"scripted\"\n[store]\nmin_free_mebibytes = 0\n";

fn server(text: &str, place: Place) -> Server {
    let (config, _) = parse(text, Path::new("antiphon.toml")).unwrap();
    let (clock, ids): (Arc<dyn Clock>, Arc<dyn Ids>) = (Arc::new(SystemClock), Arc::new(RandomIds));
    let Furnished { setup, locks, .. } = setup(&config, &FakeEnvironment::default(), &clock).unwrap();
    Server {
        config,
        setup,
        locks,
        configuration: Arc::new(Nowhere),
        reload: Arc::default(),
        place,
        migrate: false,
        clock,
        ids,
    }
}

/// A server that runs, and how to end it.
struct Running {
    url: String,
    stop: oneshot::Sender<()>,
    ended: tokio::task::JoinHandle<Result<(), Error>>,
}

async fn start(server: Server) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (stop, stopped) = oneshot::channel();
    let (tell, ready) = oneshot::channel();
    let ended = tokio::spawn(server.run(listener, move || tell.send(()).unwrap(), async { stopped.await.unwrap() }));
    ready.await.unwrap();
    Running { url, stop, ended }
}

async fn capture(channel: &Channel, text: &str) -> pb::CaptureResponse {
    let request = pb::ExecutionRequest { text: text.into(), ..Default::default() };
    let execution = Some(pb::capture_request::Execution::Request(request));
    let mut client = ExchangeServiceClient::new(channel.clone());
    client.capture(pb::CaptureRequest { execution, thread: None }).await.unwrap().into_inner()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_serves_until_it_is_told_to_stop_and_keeps_what_it_answered() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::Kept(folder.path().join("data"));
    let running = start(server(ECHO, place.clone())).await;
    let channel = Channel::from_shared(running.url.clone()).unwrap().connect().await.unwrap();
    let mut health = HealthClient::new(channel.clone());
    for service in SERVICES {
        let asked = HealthCheckRequest { service: service.to_owned() };
        assert_eq!(health.check(asked).await.unwrap().into_inner().status(), ServingStatus::Serving, "{service}");
    }
    let exchange = capture(&channel, "hello").await.exchange.unwrap();
    assert!(exchange.text.contains("hello"), "{}", exchange.text);
    let mut watch = health.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
    running.stop.send(()).unwrap();
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::NotServing);
    drop((watch, health, channel));
    running.ended.await.unwrap().unwrap();

    let again = start(server(ECHO, place.clone())).await;
    let mut client = ExchangeServiceClient::connect(again.url.clone()).await.unwrap();
    let request = pb::InspectRequest { exchange_id: exchange.exchange_id.clone(), ..Default::default() };
    let found = client.inspect(request).await.unwrap().into_inner().exchange.unwrap();
    assert_eq!(found, exchange);
    again.stop.send(()).unwrap();
    drop(client);
    again.ended.await.unwrap().unwrap();

    let mut findings = Vec::new();
    let Place::Kept(dir) = place else { unreachable!() };
    let mut tell = |told: Told<'_>| match told {
        Told::Records(Event::Finding(finding)) => findings.push(finding.to_string()),
        Told::Damage(damage) => findings.push(format!("{damage:?}")),
        Told::Copying { .. } | Told::Records(Event::Progress(_)) => {}
    };
    let report = verify_offline(Config::default(), &dir, None, folder.path(), &mut tell).await.unwrap();
    assert_eq!((findings, report.findings), (Vec::<String>::new(), 0));
    assert!(report.records.values().sum::<u64>() > 0);
}

#[tokio::test]
async fn a_store_that_another_server_has_is_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::Kept(folder.path().join("data"));
    let running = start(server(ECHO, place.clone())).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let second = server(ECHO, place).run(listener, || panic!("must not be ready"), std::future::pending()).await;
    assert!(second.unwrap_err().to_string().contains("in use"), "the message names what to do");
    running.stop.send(()).unwrap();
    running.ended.await.unwrap().unwrap();
}

#[test]
fn every_mistake_of_the_parts_is_found_at_once() {
    let text = "default_profile = \"nope\"\n[profiles.a]\nbackend = \"missing\"\nmodel = \"m\"\n\
                [backends.b]\nkind = \"scripted\"\nchunk_chars = 0\n[backends.c]\nkind = \"openai\"\nbase_url = \"ftp://x\"\n\
                [backends.d]\nkind = \"openai\"\napi_key_file = \"missing.key\"\n";
    let (config, source) = parse(text, Path::new("antiphon.toml")).unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let found = setup(&config, &FakeEnvironment::default(), &clock).map(|_| ()).unwrap_err();
    let told: Vec<String> = source.problems(found).iter().map(ToString::to_string).collect();
    for begin in [
        "antiphon.toml:1: default_profile: ",
        "antiphon.toml:3: profiles.a.backend: ",
        "antiphon.toml:7: backends.b.chunk_chars: ",
        "antiphon.toml:10: backends.c.base_url: ",
        "antiphon.toml:13: backends.d.api_key_file: ",
    ] {
        assert!(told.iter().any(|problem| problem.starts_with(begin)), "{begin} is missing in {told:#?}");
    }
}

#[test]
fn a_key_that_is_not_there_is_a_note_and_never_shown() {
    let text = "[profiles.a]\nbackend = \"a\"\nmodel = \"m\"\n[backends.a]\nkind = \"openai\"\n\
                base_url = \"http://127.0.0.1:1/v1\"\napi_key_env = \"SOME_KEY\"\n";
    let (config, _) = parse(text, Path::new("antiphon.toml")).unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let notes = setup(&config, &FakeEnvironment::default(), &clock).unwrap().notes;
    assert!(notes[0].contains("SOME_KEY is not set"), "{notes:?}");
    let with_key = FakeEnvironment::default().with("SOME_KEY", "secret");
    let Furnished { setup, notes, .. } = setup(&config, &with_key, &clock).unwrap();
    assert_eq!(notes, Vec::<String>::new());
    assert!(setup.backend("a").unwrap().description.has_credential);
}
