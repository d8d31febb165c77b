//! What every test has: a real server with scripted answers, and callbacks that say things in turn.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use antiphon_client::testing::{Config, Server};
use antiphon_client::{Action, BoxError, Client, Code, Continue, CoordinationState, Decision, Error, RunState};

pub(crate) const CONFIG: &str = r#"
default_profile = "canned"

[profiles.canned]
backend = "script"
model = "canned-1"

[profiles.narrow]
backend = "narrow"
model = "canned-1"

[profiles.mine]
backend = "mine"
model = "mine-1"

[backends.mine]
kind = "client"
retry = { attempts = 3, base_ms = 1, max_ms = 2 }

[backends.script]
kind = "scripted"
retry = { attempts = 1 }
chunk_chars = 4

[[backends.script.rules]]
when = "down for good"
fault = { kind = "status", status = 503, message = "down" }

[[backends.script.rules]]
when = "in its form"
text = "I would rather not."
chunk_gap_ms = 20

[[backends.script.rules]]
when = "the form that was asked for"
text = "{\"good\": true}"
chunk_gap_ms = 20

[[backends.script.rules]]
when = "slow"
text = "It took a while, and there is much to tell."
chunk_gap_ms = 50

[[backends.script.rules]]
when = "patient"
text = "It took a while, and there is much to tell."
chunk_gap_ms = 5000

[[backends.script.rules]]
when = "forecast"
on = "user"
tool_calls = [{ name = "weather", arguments = { city = "Lisbon" } }, { name = "tide", arguments = { city = "Lisbon" } }]

[[backends.script.rules]]
when = "forecast"
on = "tool"
text = "Done."

[[backends.script.rules]]
when = "endless"
on = "any"
tool_calls = [{ name = "weather", arguments = { city = "Lisbon" } }]

[[backends.script.rules]]
text = "{last_user}"

[backends.narrow]
kind = "scripted"
capacity = 1
queue_limit = 1

[[backends.narrow.rules]]
when = "hold"
text = "held"
delay_ms = 500
"#;

pub(crate) const LONG: &str = "It took a while, and there is much to tell.";

/// A server, and a client of it.
pub(crate) fn served() -> (Server, Client) {
    let server = Config::default().text(CONFIG).start().expect("a server");
    let client = Client::connect(server.address()).expect("a client");
    (server, client)
}

/// A name that no other test has.
pub(crate) fn fresh() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A callback that says these things in turn, and remembers what it saw.
#[derive(Clone)]
pub(crate) struct Script(Arc<Mutex<(Vec<Action>, Vec<Decision>)>>);

pub(crate) fn says(actions: impl IntoIterator<Item = Action>) -> Script {
    Script(Arc::new(Mutex::new((actions.into_iter().collect(), Vec::new()))))
}

impl Script {
    pub(crate) fn next(&self) -> impl FnMut(Decision) -> std::future::Ready<Result<Action, BoxError>> + Send + use<> {
        let script = self.clone();
        move |decision| {
            let mut script = script.0.lock().unwrap();
            script.1.push(decision);
            let said = if script.0.is_empty() { None } else { Some(script.0.remove(0)) };
            std::future::ready(said.ok_or_else(|| "the callback was called once more than expected".into()))
        }
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap().1.iter().map(|decision| decision.exchange.text.clone()).collect()
    }
}

pub(crate) fn more(said: &str) -> Action {
    Continue::new(said).into()
}

/// The error of this package that a call must have given.
pub(crate) fn refused<T: std::fmt::Debug>(told: Result<T, Error>, code: Code, reason: &str) -> Error {
    let error = told.expect_err("it was not refused");
    assert_eq!((error.code, error.reason.as_str()), (code, reason), "{error:?}");
    error
}

/// Asks again and again until a coordination is cancelled.
pub(crate) async fn until_cancelled(client: &Client, id: &str) {
    let limit = std::time::Instant::now() + Duration::from_secs(10);
    while coordination_state(client, id).await != CoordinationState::Cancelled {
        assert!(std::time::Instant::now() < limit, "{id} is not cancelled");
    }
}

/// Asks again and again: only the attached stream is told of a coordination, and a test must not take it over.
pub(crate) async fn until<T: PartialEq + std::fmt::Debug>(wanted: T, mut ask: impl AsyncFnMut() -> T) {
    let limit = std::time::Instant::now() + Duration::from_secs(10);
    loop {
        let found = ask().await;
        if found == wanted {
            return;
        }
        assert!(std::time::Instant::now() < limit, "it is still {found:?}");
    }
}

pub(crate) async fn run_state(client: &Client, run_id: &str) -> Option<RunState> {
    client.run(run_id).await.ok().map(|run| run.state)
}

pub(crate) async fn coordination_state(client: &Client, id: &str) -> CoordinationState {
    client.coordination(id).await.expect("a coordination").state
}
