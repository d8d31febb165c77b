//! How coordinations end before the caller says so: cancels, time, and the thread that was moved by others.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::coordinate_request::Frame as Say;
use pb::coordination_ended::Outcome;
use tonic::Code;

use super::{begun, coordinations, got};
use crate::support::coordinate::{Loop, start, start_with, turn, turn_of};
use crate::support::provider::Provider;
use crate::support::server::{Running, openai_with};
use crate::support::{ask, refused};
use crate::{look, stub};

/// S4-68..72: a cancel of a pending decision ends it; what was delivered is not undelivered.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_ends_what_is_pending() {
    let (server, exchange) = begun().await;
    let mut stream = Loop::start(&server, start(&exchange, 2)).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    stream.act(turn_of("one")).await;
    stream.decision().await;
    stream.say(Say::Cancel(pb::CoordinationCancel { message: "enough".into() })).await;
    let (ended, status) = stream.ended().await;
    assert!(matches!(ended.outcome, Some(Outcome::Cancelled(_))) && ended.undelivered_exchange.is_none());
    refused::is(&status.unwrap(), Code::Cancelled, Reason::RunCancelled);
    assert_eq!(got(&server, &id).await.state(), pb::CoordinationState::Cancelled);
    // Cancelling what has ended changes nothing.
    let request = pb::CoordinationServiceCancelRequest { coordination_id: id, message: String::new() };
    let again = coordinations(&server).cancel(request).await.unwrap().into_inner().coordination.unwrap();
    assert_eq!(again.state(), pb::CoordinationState::Cancelled);
}

/// A decision that is not made in time cancels the coordination, as a deadline.
#[tokio::test(flavor = "multi_thread")]
async fn a_decision_has_its_time() {
    let (server, exchange) = begun().await;
    let timeout = Some(prost_types::Duration { seconds: 0, nanos: 50_000_000 });
    let begin = pb::CoordinationStart { decision_timeout: timeout, ..start(&exchange, 2) };
    let mut stream = Loop::start(&server, begin).await;
    assert!(stream.decision().await.expire_time.is_some());
    let (ended, status) = stream.ended().await;
    assert!(matches!(ended.outcome, Some(Outcome::Cancelled(_))));
    refused::is(&status.unwrap(), Code::DeadlineExceeded, Reason::Deadline);
}

/// S4-T2: a response that misses its form is captured all the same, and its callback is told so as it is on record; a turn that fails in operation makes no
/// exchange, and is the end.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_validation_is_delivered_and_a_failed_turn_is_not() {
    let provider = Provider::start([stub::text("no number"), stub::text("nor this"), stub::status(400, "no")]).await;
    let server = Running::start(openai_with(&provider.base_url(), stub::ONCE)).await;
    let schema_json = r#"{"type":"integer"}"#.into();
    let form = pb::contract::Form::JsonSchema(pb::JsonSchemaContract { schema_json, name: String::new() });
    let asked = |run_id: &str| pb::ExecutionRequest {
        contract: Some(pb::Contract { form: Some(form.clone()) }),
        ..ask::text_as(run_id, "a number")
    };
    let mut stream = Loop::start(&server, start_with(asked("one"), 2)).await;
    let mut last = String::new();
    for (run_id, text) in [("one", "no number"), ("two", "nor this")] {
        let delivered = stream.decision().await.exchange.unwrap();
        assert_eq!((delivered.run_id.as_str(), delivered.text.as_str()), (run_id, text));
        let validation = delivered.validation.clone().unwrap();
        assert_eq!((validation.status(), validation.violations.is_empty()), (pb::ValidationStatus::Invalid, false));
        let kept = server.exchanges().inspect(ask::inspect(&delivered.exchange_id)).await.unwrap().into_inner();
        assert_eq!(kept.exchange.unwrap().validation, Some(validation));
        assert_eq!(look::run(&server, run_id).await.state(), pb::RunState::Completed);
        last = delivered.exchange_id;
        stream.act(turn(asked(if run_id == "one" { "two" } else { "three" }))).await;
    }
    let (ended, status) = stream.ended().await;
    assert!(matches!(ended.outcome, Some(Outcome::Failed(_))) && ended.undelivered_exchange.is_none(), "{ended:?}");
    refused::is(&status.unwrap(), Code::InvalidArgument, Reason::ProviderRefusedRequest);
    let failed = look::run(&server, "three").await;
    assert_eq!((failed.state(), failed.exchange_id.as_str()), (pb::RunState::Failed, ""));
    let children = pb::ListChildrenRequest { exchange_id: last, ..Default::default() };
    assert_eq!(server.graphs().list_children(children).await.unwrap().into_inner().exchanges, []);
}
