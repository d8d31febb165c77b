//! Views of a history: less of it is sent, whole turns at a time, and told; nothing is left out unasked, and what is stored is all of it.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::coordinate_request::Frame as Say;
use pb::history_view::View;
use tonic::Code;

use crate::support::coordinate::{Loop, start, turn};
use crate::support::provider::{Entry, Provider};
use crate::support::server::{Running, openai, openai_with};
use crate::support::{ask, refused};
use crate::{look, stub};

fn viewed(view: View, text: &str) -> pb::ExecutionRequest {
    pb::ExecutionRequest { history_view: Some(pb::HistoryView { view: Some(view) }), ..ask::text(text) }
}

fn last(turns: u32) -> View {
    View::LastTurns(pb::LastTurns { turns })
}

fn from(exchange_id: &str) -> View {
    View::FromExchange(pb::FromExchange { exchange_id: exchange_id.to_owned() })
}

fn budget(tokens: u64) -> View {
    View::TokenBudget(pb::TokenBudget { tokens })
}

/// One turn with a round of tools.
fn round(number: usize) -> Vec<pb::Message> {
    let id = format!("c{number}");
    vec![
        ask::user(&format!("q{number}")),
        ask::calling(&id, "w", "{}"),
        ask::answering(&id, "x"),
        ask::assistant(&format!("a{number}")),
    ]
}

async fn served(script: impl IntoIterator<Item = Entry>) -> (Provider, Running) {
    let provider = Provider::start(script).await;
    let server = Running::start(openai(&provider.base_url())).await;
    (provider, server)
}

/// A history of turns with a round of tools each, after a word of the system; its exchanges.
async fn recorded(server: &Running, turns: usize) -> Vec<String> {
    let messages = [ask::said(pb::Role::System, "brief")].into_iter().chain((1..=turns).flat_map(round)).collect();
    let recorded = server.exchanges().record(ask::record(messages)).await.unwrap().into_inner();
    recorded.exchanges.into_iter().map(|exchange| exchange.exchange_id).collect()
}

async fn go_on(server: &Running, exchange_id: &str, request: pb::ExecutionRequest) -> pb::Exchange {
    server.exchanges().r#continue(ask::after(exchange_id, request)).await.unwrap().into_inner().exchange.unwrap()
}

async fn roles(provider: &Provider, number: usize) -> String {
    let body = provider.request(number).await.json();
    let letter = |message: &serde_json::Value| message["role"].as_str().unwrap().chars().next().unwrap();
    body["messages"].as_array().unwrap().iter().map(letter).collect()
}

fn told(exchange: &pb::Exchange) -> Option<String> {
    let warning = exchange.warnings.iter().find(|warning| warning.code == "history_narrowed")?;
    Some(warning.message.clone())
}

/// B062: for each limit what goes out begins with the system and the user and has no half pair.
#[tokio::test(flavor = "multi_thread")]
async fn a_limit_of_turns_cuts_between_turns_only() {
    let (provider, server) = served((1..=8).map(|_| stub::text("ok"))).await;
    let head = recorded(&server, 2).await.pop().unwrap();
    for limit in 1..=8_u32 {
        let exchange = go_on(&server, &head, viewed(last(limit), "q3")).await;
        let number = usize::try_from(limit - 1).unwrap();
        let sent = roles(&provider, number).await;
        assert_eq!(sent, if limit == 1 { "suatau" } else { "suatauatau" }, "limit {limit}");
        assert_eq!(exchange.observations[0].adaptations, if limit == 1 { vec!["history_narrowed"] } else { vec![] });
        let setting = exchange.effective_settings.iter().find(|setting| setting.name == "history_view").unwrap();
        assert_eq!(
            (setting.value_json.clone(), setting.source()),
            (format!("{{\"last_turns\":{{\"turns\":{limit}}}}}"), pb::SettingSource::Request)
        );
        match told(&exchange) {
            Some(told) => {
                assert!(limit == 1 && told.contains("1 of 2 turns") && told.contains("4 of 9 messages"), "{told}")
            }
            None => assert!(limit > 1),
        }
        // What is stored is the whole history, and the next turn sends it.
        assert_eq!(look::history(&server, &exchange.exchange_id).await.len(), 11);
    }
    assert_eq!(provider.unscripted(), 0);
}

/// The turn at work keeps its rounds of tools, and what was before it, in each of its steps: a longer history begins with the shorter one.
#[tokio::test(flavor = "multi_thread")]
async fn the_turn_at_work_is_never_cut() {
    let (provider, server) =
        served([stub::calls(&[("t1", "w", "{}")]), stub::calls(&[("t2", "w", "{}")]), stub::text("done")]).await;
    let head = recorded(&server, 3).await.pop().unwrap();
    let request = pb::ExecutionRequest { tools: ask::tools(&["w"]), ..viewed(last(1), "q4") };
    let mut asked = go_on(&server, &head, request).await;
    let server = server.restart().await;
    for _ in 0..2 {
        let results = vec![ask::result(&asked.pending_tool_calls[0].call_id, "x")];
        let step = server.exchanges().r#continue(ask::after_with(&asked.exchange_id, results)).await.unwrap();
        asked = step.into_inner().exchange.unwrap();
    }
    assert_eq!(asked.text, "done");
    let mut sent = Vec::new();
    for number in 0..3 {
        sent.push(provider.request(number).await.json()["messages"].as_array().unwrap().clone());
        assert_eq!(asked.observations[0].adaptations, ["history_narrowed"]);
    }
    assert_eq!(roles(&provider, 2).await, "suatauatat");
    assert!(sent[1].starts_with(&sent[0]) && sent[2].starts_with(&sent[1]));
    // A later turn without a view sends it all.
    provider.script(stub::text("all"));
    go_on(&server, &asked.exchange_id, ask::text("q5")).await;
    assert_eq!(roles(&provider, 3).await, "suatauatauatauatatau");
}

/// From an exchange that a turn begins with; another one is refused by its field, before any work.
#[tokio::test(flavor = "multi_thread")]
async fn from_an_exchange_on() {
    let (provider, server) = served([stub::text("ok"), stub::text("other")]).await;
    let exchanges = recorded(&server, 3).await;
    let head = exchanges.last().unwrap();
    go_on(&server, head, viewed(from(&exchanges[2]), "q4")).await;
    assert_eq!(roles(&provider, 0).await, "suatauatau");
    let other = server.exchanges().capture(ask::capture(ask::text("x"))).await.unwrap().into_inner().exchange.unwrap();
    for (id, remedy) in
        [(exchanges[3].as_str(), exchanges[2].as_str()), (other.exchange_id.as_str(), "not in the history")]
    {
        let request = ask::after(head, viewed(from(id), "q4"));
        let refusal = server.exchanges().r#continue(request).await.unwrap_err();
        refused::is(&refusal, Code::InvalidArgument, Reason::InvalidFields);
        assert_eq!(refused::fields(&refusal), ["request.history_view.from_exchange.exchange_id"]);
        assert!(refusal.message().contains(remedy), "{refusal:?}");
    }
    assert_eq!(provider.count(), 2);
}

/// As many turns as fit, which may be none; where all fit nothing is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_budget_takes_as_many_turns_as_fit() {
    let (provider, server) = served((0..3).map(|_| stub::text("ok"))).await;
    let head = recorded(&server, 3).await.pop().unwrap();
    // A turn is four messages of some bytes: between 16 and 24 tokens as they are counted.
    for (number, (tokens, sent)) in
        [(1, "su"), (45, "suatauatau"), (1_000_000, "suatauatauatau")].into_iter().enumerate()
    {
        let exchange = go_on(&server, &head, viewed(budget(tokens), "q4")).await;
        assert_eq!(roles(&provider, number).await, sent);
        assert_eq!(told(&exchange).is_some(), number < 2);
    }
}

/// Probes, the turns of a coordination, and calls that a client makes see the same part. At a root there is nothing to leave out.
#[tokio::test(flavor = "multi_thread")]
async fn every_way_to_execute_has_views() {
    let provider = Provider::start((0..4).map(|_| stub::text("ok"))).await;
    let more = "[profiles.mine]\nbackend = \"mine\"\nmodel = \"m\"\n[backends.mine]\nkind = \"client\"\n";
    let server = Running::start(openai(&provider.base_url()) + more).await;
    let head = recorded(&server, 2).await.pop().unwrap();
    let probed = server.exchanges().probe(ask::probe(&head, viewed(last(1), "q3"))).await.unwrap().into_inner();
    assert!(probed.warnings.iter().any(|warning| warning.code == "history_narrowed"));
    assert_eq!(roles(&provider, 0).await, "suatau");
    let ephemeral = pb::CoordinationStart { ephemeral: true, ..start(&head, 1) };
    for (number, begin) in [(1, start(&head, 1)), (2, ephemeral.clone())] {
        let mut stream = Loop::start(&server, begin).await;
        stream.decision().await;
        stream.act(turn(viewed(last(1), "q3"))).await;
        stream.decision().await;
        assert_eq!(roles(&provider, number).await, "suatau");
    }
    for begin in [start(&head, 1), ephemeral] {
        let mut stream = Loop::start(&server, begin).await;
        stream.decision().await;
        stream.act(turn(pb::ExecutionRequest { profile_id: "mine".into(), ..viewed(last(1), "q3") })).await;
        let needed = loop {
            if let pb::coordinate_response::Frame::GenerationNeeded(needed) = stream.news().await {
                break needed;
            }
        };
        assert_eq!(ask::texts(&needed.messages), ["S:brief", "U:q2", "A:call w {}", "T:result x", "A:a2", "U:q3"]);
        stream.say(Say::Cancel(pb::CoordinationCancel::default())).await;
    }
    let exchange = server.exchanges().capture(ask::capture(viewed(last(1), "q1"))).await.unwrap().into_inner().exchange;
    assert_eq!((told(&exchange.unwrap()), roles(&provider, 3).await.as_str()), (None, "u"));
}

/// A history that does not fit is told with the provider's counts and our own, and a view is the way out.
#[tokio::test(flavor = "multi_thread")]
async fn an_overflow_is_told_with_its_counts() {
    let words = "This model's maximum context length is 10 tokens. However, your messages resulted in 31 tokens.";
    let overflow = stub::refusal(400, words, "context_length_exceeded");
    let provider = Provider::start([overflow, stub::text("ok")]).await;
    let server = Running::start(openai_with(&provider.base_url(), stub::ONCE)).await;
    let head = recorded(&server, 2).await.pop().unwrap();
    let refusal = server.exchanges().r#continue(ask::after(&head, ask::text("q3"))).await.unwrap_err();
    refused::is(&refusal, Code::FailedPrecondition, Reason::ContextOverflow);
    let facts = ["backend_id", "messages", "provider_max_tokens", "provider_tokens"];
    assert_eq!(facts.map(|key| refused::fact(&refusal, key)), ["stub", "10", "10", "31"]);
    assert_eq!(refused::fact(&refusal, "request_bytes"), provider.request(0).await.body.len().to_string());
    go_on(&server, &head, viewed(last(1), "q3")).await;
    assert_eq!(roles(&provider, 1).await, "suatau");
}
