//! The budget, exactly: at most so many turns are started, each result is delivered once, and using the budget up is no exhaustion.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::coordination_ended::Outcome;
use pb::next_action::Action;

use super::{begun, got};
use crate::support::coordinate::{Loop, fail, start, turn, turn_of};
use crate::support::provider::{Entry, Provider};
use crate::support::server::{Running, openai};
use crate::support::{ask, refused};

fn answer(text: &str) -> Entry {
    let body = serde_json::json!({
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
    });
    Entry::json(&body.to_string())
}

/// S4-49, S4-52, S4-54: the first decision has the starting exchange, each result is delivered, the last permitted one included, and only
/// asking for more is exhaustion, which executes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn each_result_is_delivered_once_and_asking_for_more_is_exhaustion() {
    let provider = Provider::start([answer("zero"), answer("one"), answer("two")]).await;
    let server = Running::start(openai(&provider.base_url())).await;
    let first = super::captured(&server, "begin").await;
    let mut stream = Loop::start(&server, start(&first.exchange_id, 2)).await;
    let id = stream.started().await.coordination_id;
    let mut texts = Vec::new();
    let mut remaining = Vec::new();
    for said in ["first", "second"] {
        let needed = stream.decision().await;
        assert_eq!(needed.starting, said == "first");
        remaining.push(needed.turns_remaining);
        texts.push(needed.exchange.unwrap().text);
        stream.act(turn_of(said)).await;
        let accepted = stream.accepted().await;
        assert_eq!(accepted.turns_remaining, needed.turns_remaining - 1);
        assert!(!accepted.run_id.is_empty() && !accepted.replayed);
    }
    let last = stream.decision().await;
    assert_eq!((last.turns_remaining, last.turns_started, last.starting), (0, 2, false));
    texts.push(last.exchange.unwrap().text);
    assert_eq!((texts, remaining), (vec!["zero".to_owned(), "one".into(), "two".into()], vec![2, 1]));
    stream.act(turn_of("more")).await;
    let (ended, status) = stream.ended().await;
    assert_eq!(ended.outcome, Some(Outcome::Exhausted(pb::CoordinationExhausted {})));
    assert!(status.is_none() && ended.undelivered_exchange.is_none(), "exhaustion is no error (S4-76)");
    assert_eq!(provider.count(), 3, "nothing was executed for it");
    let whole = got(&server, &id).await;
    assert_eq!((whole.state(), whole.turns_started), (pb::CoordinationState::Exhausted, 2));
    // What was sent is the history of this branch.
    let sent = provider.request(2).await.json();
    let texts: Vec<_> = sent["messages"].as_array().unwrap().iter().map(|m| m["content"].clone()).collect();
    assert_eq!(texts, ["begin", "zero", "first", "one", "second"]);
}

/// S4-53, S4-55, S4-79: stopping with nothing left is completion.
#[tokio::test(flavor = "multi_thread")]
async fn stopping_with_nothing_left_is_completion() {
    let (server, exchange) = begun().await;
    let mut stream = Loop::start(&server, start(&exchange, 1)).await;
    stream.decision().await;
    stream.act(turn_of("one")).await;
    assert_eq!(stream.decision().await.turns_remaining, 0);
    stream.act(Action::Stop(pb::StopAction {})).await;
    let (ended, status) = stream.ended().await;
    assert_eq!(ended.outcome, Some(Outcome::Stopped(pb::CoordinationStopped {})));
    assert!(status.is_none());
}

/// S4-57..61: a budget of zero asks once, with the starting exchange and nothing left.
#[tokio::test(flavor = "multi_thread")]
async fn a_budget_of_zero_asks_once() {
    let (server, exchange) = begun().await;
    for (action, wanted) in [
        (Action::Stop(pb::StopAction {}), "stopped"),
        (turn_of("more"), "exhausted"),
        (fail(9, "NOT_NOW", "the reviewer is away"), "failed"),
    ] {
        let mut stream = Loop::start(&server, start(&exchange, 0)).await;
        let needed = stream.decision().await;
        assert_eq!((needed.starting, needed.turns_remaining), (true, 0));
        assert_eq!(needed.exchange.unwrap().exchange_id, exchange);
        stream.act(action).await;
        let (ended, status) = stream.ended().await;
        match (ended.outcome.unwrap(), wanted) {
            (Outcome::Stopped(_), "stopped") | (Outcome::Exhausted(_), "exhausted") => assert!(status.is_none()),
            (Outcome::Failed(failed), "failed") => {
                let caller = failed.caller_failure.unwrap();
                assert_eq!((caller.code, caller.reason.as_str()), (9, "NOT_NOW"));
                let status = status.unwrap();
                assert_eq!((status.code() as i32, status.message()), (9, "the reviewer is away"));
            }
            (other, wanted) => panic!("{other:?} is not {wanted}"),
        }
    }
}

/// S4-63..66: a turn that cannot be prepared is consumed, and its error ends it: no third turn, and no exhaustion.
#[tokio::test(flavor = "multi_thread")]
async fn a_preparation_that_fails_consumes_its_turn_and_ends_it() {
    let (server, exchange) = begun().await;
    let mut stream = Loop::start(&server, start(&exchange, 3)).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    stream.act(turn_of("first")).await;
    stream.decision().await;
    let unknown = pb::ExecutionRequest { profile_id: "nobody".into(), ..ask::text_as("second", "x") };
    stream.act(turn(unknown)).await;
    let (ended, status) = stream.ended().await;
    let Some(Outcome::Failed(failed)) = ended.outcome else { panic!("{ended:?}") };
    assert_eq!(failed.error.unwrap().reason, "PROFILE_UNKNOWN");
    refused::is(&status.unwrap(), tonic::Code::InvalidArgument, Reason::ProfileUnknown);
    let whole = got(&server, &id).await;
    assert_eq!((whole.turns_started, whole.turns_remaining, whole.state()), (2, 1, pb::CoordinationState::Failed));
    let run = server.runs().get(pb::RunServiceGetRequest { run_id: "second".into() }).await.unwrap().into_inner();
    assert_eq!(run.run.unwrap().state(), pb::RunState::Failed);
}

/// S4-56, S4-63, S4-67, S4-73: retries inside a turn cause no callback and consume nothing; the first error of an execution ends it as it is.
#[tokio::test(flavor = "multi_thread")]
async fn the_error_of_a_provider_ends_it_with_its_own_status() {
    let provider = Provider::start([
        answer("zero"),
        Entry::new(503, "application/json", &["{}"]).header("retry-after", "0"),
        answer("one"),
        Entry::new(400, "application/json", &[r#"{"error":{"message":"no such thing","code":"bad"}}"#]),
    ])
    .await;
    let server = Running::start(openai(&provider.base_url())).await;
    let first = super::captured(&server, "begin").await;
    let mut stream = Loop::start(&server, start(&first.exchange_id, 3)).await;
    stream.decision().await;
    stream.act(turn_of("first")).await;
    let needed = stream.decision().await;
    assert_eq!((needed.turns_started, needed.exchange.unwrap().text.as_str()), (1, "one"));
    let attempts =
        stream.seen.iter().filter(|frame| matches!(frame.frame, Some(pb::coordinate_response::Frame::Attempt(_))));
    assert_eq!(attempts.count(), 2);
    stream.act(turn_of("second")).await;
    let (ended, status) = stream.ended().await;
    let Some(Outcome::Failed(failed)) = ended.outcome else { panic!("{ended:?}") };
    let error = failed.error.unwrap();
    assert_eq!((error.reason.as_str(), error.code), ("PROVIDER_REFUSED_REQUEST", 3));
    assert!(failed.caller_failure.is_none());
    refused::is(&status.unwrap(), tonic::Code::InvalidArgument, Reason::ProviderRefusedRequest);
    assert_eq!(provider.count(), 4, "nothing is replayed");
    let numbers = stream.sequences();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
}
