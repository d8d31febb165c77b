//! What breaks: connections, and servers. No callback and no tool is called twice for one thing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use antiphon_client::testing::{Config, Server};
use antiphon_client::{
    BoxError, Client, Code, CoordinationState, Decision, Generated, OnDisconnect, OutcomeState, Request, Start, Stop,
    Suspend, Tool,
};

use crate::proxy::Proxy;
use crate::support::{CONFIG, LONG, coordination_state, fresh, more, refused, run_state, says, served, until};
use crate::tools::Place;

/// A server, and a client whose connection can be cut.
async fn through() -> (Server, Proxy, Client) {
    let (server, _) = served();
    let proxy = Proxy::new(server.address()).await;
    let client = Client::connect(&proxy.address).unwrap();
    (server, proxy, client)
}

#[tokio::test]
async fn a_cut_while_the_callback_thinks_changes_nothing() {
    let (_server, proxy, client) = through().await;
    let start = client.capture("zero").await.unwrap();
    let (mut seen, mut ids) = (Vec::new(), BTreeSet::new());
    let cutting = |decision: Decision| {
        seen.push(decision.exchange.text);
        ids.insert(decision.decision_id);
        proxy.cut();
        std::future::ready(more(["one", "two", "three"][seen.len() - 1]))
    };
    let outcome = client.coordinate(&start, 2, cutting).await.unwrap();
    assert_eq!(outcome.state, OutcomeState::Exhausted);
    assert_eq!(seen, ["zero", "one", "two"]);
    assert_eq!(ids.len(), 3);
}

#[tokio::test]
async fn a_cut_in_a_turn_lets_it_finish() {
    let (_server, proxy, client) = through().await;
    let callback = says([more("slow"), Stop.into()]);
    let start = client.capture("zero").await.unwrap();
    let mut whole = false;
    let hear = |_| {
        if !std::mem::replace(&mut whole, true) {
            proxy.cut();
        }
    };
    client.coordinate(&start, 1, callback.next()).on_delta(hear).await.unwrap();
    assert_eq!(callback.texts(), ["zero", LONG]);
}

#[tokio::test]
async fn a_cut_while_tools_run_calls_none_again() {
    let (_server, proxy, client) = through().await;
    let called = Arc::new(Mutex::new(BTreeMap::<&str, u32>::new()));
    let tool = |name: &'static str, cut: Option<Proxy>| {
        let called = called.clone();
        Tool::plain(name, "", move |_: Place| {
            *called.lock().unwrap().entry(name).or_default() += 1;
            cut.iter().for_each(Proxy::cut);
            Ok::<_, BoxError>("fine")
        })
    };
    let answer =
        client.chain("the forecast", [tool("weather", None), tool("tide", Some(proxy.clone()))]).await.unwrap();
    assert_eq!(answer.text, "Done.");
    assert_eq!(*called.lock().unwrap(), BTreeMap::from([("weather", 1), ("tide", 1)]));
}

#[tokio::test]
async fn a_failure_of_the_callback_is_told_after_a_cut() {
    let (_server, proxy, client) = through().await;
    let name = fresh();
    let start = client.capture("zero").await.unwrap();
    let failing = |_| {
        proxy.cut();
        std::future::ready(Err::<Stop, _>(std::io::Error::other("no")))
    };
    let told = client.coordinate(&start, 1, failing).coordination_id(&name).await.unwrap_err();
    assert_eq!(told.downcast::<std::io::Error>().unwrap().to_string(), "no");
    assert_eq!(coordination_state(&client, &name).await, CoordinationState::Failed);
}

#[tokio::test]
async fn a_server_that_stays_away_is_an_error_in_the_end() {
    let (_server, proxy, _) = through().await;
    let client = Client::builder(&proxy.address).attach_for(Duration::from_millis(300)).build().unwrap();
    let start = client.capture("zero").await.unwrap();
    let closing = |_| {
        proxy.close();
        std::future::ready(Stop)
    };
    refused(client.coordinate(&start, 1, closing).await, Code::Unavailable, "");
}

/// S4-12, S4-69, S4-77: it is in the error that the end of its coordination is, and it stays on record.
#[tokio::test]
async fn a_result_that_was_never_presented_comes_with_the_end() {
    let (server, direct) = served();
    let start = direct.capture("zero").await.unwrap();
    for from in [Start::from(&start), "slow".into()] {
        let proxy = Proxy::new(server.address()).await;
        let client = Client::builder(&proxy.address).attach_for(Duration::ZERO).build().unwrap();
        let name = fresh();
        let presented = matches!(from, Start::Exchange(_));
        let callback = says([more("slow")]);
        let hear = |_| proxy.close();
        let told = client.coordinate(from, 1, callback.next()).coordination_id(&name).on_delta(hear).await;
        refused(told, Code::Unavailable, "");
        assert_eq!(callback.texts().len(), usize::from(presented));
        until(CoordinationState::AwaitingDecision, async || coordination_state(&direct, &name).await).await;
        direct.cancel(&name, "no longer needed").await.unwrap();
        let nobody = says([]);
        let told = refused(direct.attach(&name, nobody.next()).await, Code::Cancelled, "RUN_CANCELLED");
        let undelivered = told.undelivered.expect("nobody was told of it");
        assert_eq!((undelivered.text.as_str(), nobody.texts().len()), (LONG, 0));
        assert_eq!(undelivered.parent_exchange_id, if presented { start.exchange_id.as_str() } else { "" });
        assert_eq!(direct.exchange(&*undelivered).await.unwrap().text, LONG);
    }
    // What the callback was given is neither undelivered nor presented again.
    let name = fresh();
    let given = says([Suspend.into()]);
    direct.coordinate(&start, 1, given.next()).coordination_id(&name).await.unwrap();
    direct.cancel(&name, "").await.unwrap();
    assert!(direct.attach(&name, says([]).next()).await.unwrap_err().undelivered.is_none());
}

#[tokio::test]
async fn a_server_that_crashes_between_decision_and_answer_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let kept = || Config::default().text(CONFIG).data(folder.path()).start().unwrap();
    let mut servers = vec![kept()];
    let proxy = Proxy::new(servers[0].address()).await;
    let client = Client::connect(&proxy.address).unwrap();
    let start = client.capture("zero").await.unwrap();
    let mut seen = Vec::new();
    let crashing = |decision: Decision| {
        seen.push(decision.exchange.text);
        if seen.len() == 2 {
            servers[0].kill().unwrap();
            servers.push(kept());
            proxy.point(servers[1].address());
        }
        std::future::ready(more(["one", "two", "three"][seen.len() - 1]))
    };
    let outcome = client.coordinate(&start, 2, crashing).await.unwrap();
    assert_eq!(outcome.state, OutcomeState::Exhausted);
    assert_eq!(seen, ["zero", "one", "two"]);
}

#[tokio::test]
async fn a_server_that_stops_in_good_order_says_so_and_the_answer_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let kept = || Config::default().text(CONFIG).data(folder.path()).start().unwrap();
    let name = fresh();
    let first = kept();
    let proxy = Proxy::new(first.address()).await;
    let client = Client::connect(&proxy.address).unwrap();
    let start = client.capture("zero").await.unwrap();
    let mut servers = vec![first];
    let stopping = |_| {
        let mut first = servers.pop().expect("it was asked twice");
        async move {
            tokio::task::spawn_blocking(move || first.stop()).await.unwrap().unwrap();
            more("one")
        }
    };
    let told = client.coordinate(&start, 1, stopping).coordination_id(&name).await;
    refused(told, Code::Unavailable, "DRAINING");
    let second = kept();
    proxy.point(second.address());
    let callback = says([Stop.into()]);
    assert_eq!(client.attach(&name, callback.next()).await.unwrap().state, OutcomeState::Stopped);
    // The first decision was answered with what the callback had said.
    assert_eq!(callback.texts(), ["one"]);
}

#[tokio::test]
async fn a_stream_that_breaks_is_joined_again_without_saying_anything_twice() {
    let (_server, proxy, client) = through().await;
    let request = Request::new("slow").on_disconnect(OnDisconnect::Finish);
    let mut response = client.capture(request).stream().unwrap();
    let mut pieces = Vec::new();
    while let Some(delta) = response.next().await {
        pieces.push(delta.unwrap().text().to_owned());
        if pieces.len() == 2 {
            proxy.cut();
        }
    }
    assert_eq!(pieces.concat(), LONG);
    let run_id = response.run_id().to_owned();
    assert_eq!(response.await.unwrap().text, LONG);
    // The model was called once.
    assert_eq!(client.run(&run_id).await.unwrap().model_calls, 1);
}

#[tokio::test]
async fn a_call_whose_connection_breaks_is_made_again_under_its_id() {
    let (server, proxy, client) = through().await;
    let direct = Client::connect(server.address()).unwrap();
    let name = fresh();
    let request = Request::new("hold").profile("narrow").run_id(&name);
    let asked = tokio::spawn(client.capture(request).into_future());
    until(true, async || run_state(&direct, &name).await.is_some()).await;
    proxy.cut();
    let found = asked.await.unwrap().unwrap();
    assert_eq!((found.run_id.as_str(), found.text.as_str()), (name.as_str(), "held"));
}

#[tokio::test]
async fn a_cut_while_the_model_thinks_asks_it_once() {
    let (_server, proxy, client) = through().await;
    let callback = says([Stop.into()]);
    let mut asked = 0;
    let thinks = |_| {
        asked += 1;
        proxy.cut();
        std::future::ready(Generated::new("still here"))
    };
    let request = Request::new("zero").profile("mine");
    client.coordinate(request, 0, callback.next()).generate(thinks).await.unwrap();
    assert_eq!(callback.texts(), ["still here"]);
    assert_eq!(asked, 1);
}

#[tokio::test]
async fn a_run_is_followed_over_a_connection_that_breaks() {
    let (server, proxy, client) = through().await;
    let direct = Client::connect(server.address()).unwrap();
    let name = fresh();
    let mut response = direct.capture(Request::new("slow").run_id(&name)).stream().unwrap();
    response.next().await.unwrap().unwrap();
    let asked = tokio::spawn(response.into_future());
    let mut watch = client.watch(&name, 0);
    let mut sequences = Vec::new();
    while let Some(event) = watch.next().await {
        sequences.push(event.unwrap().sequence);
        if sequences.len() == 2 {
            proxy.cut();
        }
    }
    asked.await.unwrap().unwrap();
    sequences.retain(|sequence| *sequence > 0);
    assert!(sequences.is_sorted_by(|before, after| before < after), "{sequences:?}");
}
