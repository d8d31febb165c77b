//! Callers that no longer wait: by a signal, a deadline, or a future that is dropped. It costs nothing more, down to the provider.

use std::sync::Arc;
use std::time::Duration;

use antiphon_client::testing::Config;
use antiphon_client::{Action, BoxError, Client, Code, CoordinationState, Decision, Request, RunState, Tool};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::proxy::Proxy;
use crate::support::{coordination_state, fresh, more, refused, run_state, served, until};
use crate::tools::Place;

/// S4-68, S4-71: whatever is at work then.
#[tokio::test]
async fn a_signal_ends_the_coordination() {
    let (_server, client) = served();
    let start = client.capture("zero").await.unwrap();
    for place in ["callback", "turn", "tool"] {
        let name = fresh();
        let signal = Arc::new(Notify::new());
        let deciding = |_: Decision| {
            let signal = signal.clone();
            async move {
                match place {
                    "callback" => {
                        signal.notify_one();
                        std::future::pending::<Action>().await
                    }
                    "turn" => more("patient"),
                    _ => more("the forecast"),
                }
            }
        };
        let hear = |_| {
            if place == "turn" {
                signal.notify_one();
            }
        };
        let slow = |name: &str| {
            let signal = signal.clone();
            Tool::new(name, "", move |_: Place| {
                signal.notify_one();
                std::future::pending::<Result<String, BoxError>>()
            })
        };
        let tools = [slow("weather"), slow("tide")];
        let loops = client.coordinate(&start, 1, deciding).on_delta(hear).tools(tools).coordination_id(&name);
        let told = refused(loops.cancel_when(signal.notified()).await, Code::Cancelled, "");
        assert_eq!(told.metadata["coordination_id"], name, "{place}");
        assert_eq!(coordination_state(&client, &name).await, CoordinationState::Cancelled, "{place}");
    }
}

#[tokio::test]
async fn an_answer_that_comes_with_the_signal_is_not_sent() {
    let (_server, client) = served();
    let name = fresh();
    let signal = Notify::new();
    let both = |_| {
        signal.notify_one();
        std::future::ready(more("one"))
    };
    let loops = client.coordinate("zero", 1, both).coordination_id(&name).cancel_when(signal.notified());
    refused(loops.await, Code::Cancelled, "");
    let found = client.coordination(&name).await.unwrap();
    assert_eq!((found.state, found.turns_started), (CoordinationState::Cancelled, 0));
}

#[tokio::test]
async fn a_cancellation_is_told_over_another_connection_when_the_stream_is_cut() {
    let (server, _) = served();
    let proxy = Proxy::new(server.address()).await;
    let client = Client::connect(&proxy.address).unwrap();
    let name = fresh();
    let start = client.capture("zero").await.unwrap();
    let signal = Notify::new();
    let cutting = |_| {
        proxy.cut();
        signal.notify_one();
        std::future::pending::<Action>()
    };
    let loops = client.coordinate(&start, 1, cutting).coordination_id(&name).cancel_when(signal.notified());
    refused(loops.await, Code::Cancelled, "");
    assert_eq!(coordination_state(&client, &name).await, CoordinationState::Cancelled);
}

#[tokio::test]
async fn nothing_is_started_for_a_caller_that_has_gone() {
    let (_server, client) = served();
    let name = fresh();
    let gone = client.chain("zero", []).coordination_id(&name).cancel_when(std::future::ready(()));
    refused(gone.await, Code::Cancelled, "");
    refused(client.coordination(&name).await, Code::NotFound, "COORDINATION_NOT_FOUND");
}

/// A future that is dropped has nobody left to tell, but for the server.
#[tokio::test]
async fn a_coordination_that_is_dropped_ends_at_the_server() {
    let (server, client) = served();
    let direct = Client::connect(server.address()).unwrap();
    let name = fresh();
    let reached = Arc::new(Notify::new());
    let deciding = |_| {
        reached.notify_one();
        std::future::pending::<Action>()
    };
    let loops = client.coordinate("zero", 1, deciding).coordination_id(&name);
    tokio::select! {
        told = loops => panic!("it ended: {told:?}"),
        () = reached.notified() => {}
    }
    client.close().await;
    assert_eq!(coordination_state(&direct, &name).await, CoordinationState::Cancelled);
}

#[tokio::test]
async fn a_deadline_is_the_whole_calls_and_ends_its_run() {
    let (_server, client) = served();
    let name = fresh();
    let request = Request::new("hold").profile("narrow").run_id(&name);
    let told = client.capture(request).timeout(Duration::from_millis(100)).await.unwrap_err();
    assert_eq!(told.code, Code::DeadlineExceeded);
    let ended = async || !matches!(run_state(&client, &name).await, Some(RunState::Cancelled | RunState::Failed));
    until(false, ended).await;

    let loops = fresh();
    let waits = |_| std::future::pending::<Action>();
    let late = client.coordinate("zero", 1, waits).coordination_id(&loops).timeout(Duration::from_millis(300));
    assert_eq!(late.await.unwrap_err().code, Code::DeadlineExceeded);
    assert_eq!(coordination_state(&client, &loops).await, CoordinationState::Cancelled);
}

/// S4-68: a call that nobody waits for any more costs nothing more.
#[tokio::test]
async fn a_future_that_is_dropped_reaches_the_provider() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = format!(
        r#"
default_profile = "slow"
[profiles.slow]
backend = "slow"
model = "slow-1"
[backends.slow]
kind = "openai"
base_url = "http://{}/v1"
"#,
        listener.local_addr().unwrap()
    );
    let server = Config::default().text(config).start().unwrap();
    let client = Client::connect(server.address()).unwrap();
    for which in ["capture", "chain", "prompt"] {
        let asking = match which {
            "capture" => client.capture("hello").into_future(),
            "chain" => client.chain("hello", []).into_future(),
            _ => client.prompt("hello").into_future(),
        };
        let asking = tokio::spawn(asking);
        let (mut provider, _) = listener.accept().await.unwrap();
        asked(&mut provider).await;
        asking.abort();
        // The server hangs up.
        let left = provider.read(&mut [0; 64]).await.unwrap_or_default();
        assert_eq!(left, 0, "{which}");
        // A provider that is called again for this would be called now.
        provider.shutdown().await.unwrap_or_default();
    }
}

/// Reads a whole request: its head, and as much as that says.
async fn asked(provider: &mut TcpStream) {
    let mut said = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let read = provider.read(&mut buffer).await.unwrap();
        said.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&said).to_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        if length.is_some_and(|length| body.len() >= length) {
            return;
        }
    }
}
