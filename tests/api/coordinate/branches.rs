//! One coordination is one branch; many start from one exchange, and while one waits it holds nothing.

use antiphon::grpc::pb;
use pb::coordination_ended::Outcome;

use super::{asked, begun, captured, coordinations, got};
use crate::support::ask;
use crate::support::coordinate::{Loop, answer, start, start_with, stop, turn_of};
use crate::{look, stub};

/// S4-41, S4-42: several from one exchange, interleaved; each goes on along a branch of its own, one turn after the other.
#[tokio::test(flavor = "multi_thread")]
async fn several_go_on_from_one_exchange() {
    let (server, exchange) = begun().await;
    let mut loops = Vec::new();
    for _ in 0..4 {
        let mut stream = Loop::start(&server, start(&exchange, 2)).await;
        assert_eq!(stream.decision().await.exchange.unwrap().exchange_id, exchange);
        loops.push(stream);
    }
    for turn in ["a", "b"] {
        for (number, stream) in loops.iter().enumerate() {
            stream.act(turn_of(&format!("{turn}{number}"))).await;
        }
        for stream in &mut loops {
            stream.decision().await;
        }
    }
    for (number, stream) in loops.iter_mut().enumerate() {
        stream.act(stop()).await;
        let last = stream.seen.iter().rev().find_map(|frame| match &frame.frame {
            Some(pb::coordinate_response::Frame::DecisionNeeded(needed)) => needed.exchange.clone(),
            _ => None,
        });
        assert_eq!(stream.ended().await.0.outcome, Some(Outcome::Stopped(pb::CoordinationStopped {})));
        let history = look::history(&server, &last.unwrap().exchange_id).await;
        let (a, b) = (format!("a{number}"), format!("b{number}"));
        let said: Vec<_> = history.iter().filter_map(|said| said.strip_prefix("U:")).collect();
        assert_eq!(said, ["begin", a.as_str(), b.as_str()]);
    }
}

/// S4-43..47, S4-61, S4-T7: with room for one call and none to wait, the callback calls the same backend, however long it takes, and even
/// drives a coordination of its own.
#[tokio::test(flavor = "multi_thread")]
async fn the_callback_has_the_whole_backend() {
    let answers = ["one", "aside", "deeper", "two", "aside", "deeper"].map(stub::text);
    let (provider, server, exchange) = asked(answers, "capacity = 1\nqueue_limit = 0\n").await;
    let mut stream = Loop::start(&server, start(&exchange, 2)).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    for wanted in ["one", "two"] {
        stream.act(turn_of("go on")).await;
        assert_eq!(stream.decision().await.exchange.unwrap().text, wanted);
        assert_eq!(got(&server, &id).await.active_run_id, "");
        assert_eq!(captured(&server, "what of it?").await.text, "aside");
        let mut inner = Loop::start(&server, start(&exchange, 1)).await;
        inner.decision().await;
        inner.act(turn_of("look closer")).await;
        assert_eq!(inner.decision().await.exchange.unwrap().text, "deeper");
        inner.act(stop()).await;
        assert!(inner.ended().await.1.is_none());
    }
    stream.act(stop()).await;
    assert!(stream.ended().await.1.is_none());
    assert_eq!((provider.count(), provider.unscripted()), (7, 0));
}

/// S4-61: a budget of zero does not limit what the callback does by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_budget_of_zero_leaves_the_callback_its_own_calls() {
    let (provider, server, exchange) = asked(["one", "two", "three"].map(stub::text), "capacity = 1\n").await;
    let mut stream = Loop::start(&server, start(&exchange, 0)).await;
    stream.decision().await;
    for wanted in ["one", "two", "three"] {
        assert_eq!(captured(&server, "look").await.text, wanted);
    }
    stream.act(stop()).await;
    assert!(stream.ended().await.1.is_none());
    assert_eq!(provider.count(), 4);
}

/// S4-44: each turn is admitted like any other call: while the backend is full it waits, and goes on when there is room.
#[tokio::test(flavor = "multi_thread")]
async fn each_turn_is_admitted_anew() {
    let gate = crate::support::provider::Gate::closed();
    let script = [stub::text("other").wait(&gate), stub::text("one")];
    let (provider, server, exchange) = asked(script, "capacity = 1\n").await;
    let mut stream = Loop::start(&server, start(&exchange, 1)).await;
    let id = stream.started().await.coordination_id;
    let pending = stream.decision().await.decision_id;
    let mut other = server.exchanges();
    let other = tokio::spawn(async move { other.capture(ask::capture(ask::text("other"))).await });
    provider.request(1).await;
    stream.act(turn_of("go on")).await;
    let now = got(&server, &id).await;
    assert_eq!((now.pending_id, now.turns_started), (pending, 0), "it is not claimed before it is admitted");
    assert_eq!(provider.count(), 2);
    gate.open();
    other.await.unwrap().unwrap();
    assert_eq!(stream.decision().await.exchange.unwrap().text, "one");
}

/// S4-48, S4-50, S4-51, S4-T11: a loop of analysis, whose callback keeps its own state and stops when it is satisfied, and a conversation that
/// branches off it, by the same calls: the caller assembles no history and minds no turn, and the result is an end, not an archive.
#[tokio::test(flavor = "multi_thread")]
async fn analysis_and_branching_are_the_same_loop() {
    let (provider, server, _) = asked(["poor", "better", "good", "because"].map(stub::text), "").await;
    let mut analysis = Loop::start(&server, start_with(ask::text("judge this"), 5)).await;
    let id = analysis.started().await.coordination_id;
    let mut assessments = Vec::new();
    let judged = loop {
        let exchange = analysis.decision().await.exchange.unwrap();
        assessments.push(exchange.text.clone());
        if exchange.text == "good" {
            break exchange.exchange_id;
        }
        analysis.act(turn_of(&format!("try again, {} so far", assessments.len()))).await;
    };
    assert_eq!(assessments, ["poor", "better", "good"]);
    analysis.act(stop()).await;
    let ended = analysis.ended().await.0;
    assert_eq!(ended.outcome, Some(Outcome::Stopped(pb::CoordinationStopped {})));
    // Another caller branches off what the analysis came to, without a stream to begin with.
    let mut audit = Loop::start(&server, start(&judged, 1)).await;
    let audit_id = audit.started().await.coordination_id;
    let pending = audit.decision().await.decision_id;
    coordinations(&server).answer(answer(&audit_id, &pending, turn_of("why?"))).await.unwrap();
    assert_eq!(audit.decision().await.exchange.unwrap().text, "because");
    let sent = stub::sent(&provider.request(4).await.json());
    let wanted = [
        r#"user:"judge this""#,
        r#"assistant:"poor""#,
        r#"user:"try again, 1 so far""#,
        r#"assistant:"better""#,
        r#"user:"try again, 2 so far""#,
        r#"assistant:"good""#,
        r#"user:"why?""#,
    ];
    assert_eq!(sent, wanted);
    assert_eq!(got(&server, &id).await.exchange_id, judged);
}
