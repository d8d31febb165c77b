//! How coordinations end before the caller says so: cancels, time, and the thread that was moved by others.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::coordinate_request::Frame as Say;
use pb::coordination_ended::Outcome;
use tonic::Code;

use super::{begun, coordinations, got};
use crate::support::coordinate::{Loop, start, turn_of};
use crate::support::refused;

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
