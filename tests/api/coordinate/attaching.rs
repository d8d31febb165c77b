//! Letting go and coming back: suspend, half-close, a newer stream, a broken one; the same decision, the same id.

use antiphon::grpc::pb;
use pb::coordinate_request::Frame as Say;
use pb::next_action::Action;

use super::{begun, coordinations, got};
use crate::support::coordinate::{Loop, action, attach, attach_after, start, stop, turn_of};

/// What is pending stays pending under its id: after suspend, after a restart, for an answer by another way.
#[tokio::test(flavor = "multi_thread")]
async fn a_decision_waits_for_whoever_comes() {
    let (server, exchange) = begun().await;
    let mut stream = Loop::start(&server, start(&exchange, 2)).await;
    let id = stream.started().await.coordination_id;
    let pending = stream.decision().await.decision_id;
    stream.say(Say::Suspend(pb::CoordinationSuspend {})).await;
    let detached = stream.detached().await;
    assert_eq!((detached.reason(), detached.pending_id.as_str()), (pb::DetachReason::Suspended, pending.as_str()));
    let server = server.restart().await;
    let whole = got(&server, &id).await;
    assert_eq!((whole.attached, whole.pending_id.as_str()), (false, pending.as_str()));
    let Some(pb::coordination::Pending::DecisionNeeded(needed)) = whole.pending else { panic!("{whole:?}") };
    assert_eq!(needed.exchange.unwrap().exchange_id, exchange);
    let answer = pb::NextAction { decision_id: pending.clone(), action: Some(turn_of("one")) };
    let request =
        pb::AnswerRequest { coordination_id: id.clone(), answer: Some(pb::answer_request::Answer::NextAction(answer)) };
    let accepted = coordinations(&server).answer(request.clone()).await.unwrap().into_inner().accepted.unwrap();
    assert_eq!((accepted.id.as_str(), accepted.replayed, accepted.turns_started), (pending.as_str(), false, 1));
    let again = coordinations(&server).answer(request).await.unwrap().into_inner().accepted.unwrap();
    assert_eq!((again.replayed, again.run_id), (true, accepted.run_id));
    let mut back = Loop::open(&server, attach(&id)).await;
    assert!(back.started().await.attached);
    assert_eq!(back.decision().await.decision_id, pending, "the journal is told again");
    let next = back.decision().await;
    assert!(!next.starting && next.turns_remaining == 1);
    // The other answer to the first decision comes too late.
    back.say(action(&pending, Action::Stop(pb::StopAction {}))).await;
    let rejected = back.rejected().await;
    assert_eq!((rejected.id.as_str(), rejected.error.unwrap().reason.as_str()), (pending.as_str(), "ANSWER_STALE"));
    back.act(Action::Stop(pb::StopAction {})).await;
    assert!(back.ended().await.1.is_none());
}

/// A newer attach takes over, and the older stream is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_newer_stream_takes_over() {
    let (server, exchange) = begun().await;
    let mut first = Loop::start(&server, start(&exchange, 1)).await;
    let id = first.started().await.coordination_id;
    let pending = first.decision().await.decision_id;
    let mut second = Loop::open(&server, attach(&id)).await;
    assert_eq!(second.decision().await.decision_id, pending);
    assert_eq!(first.detached().await.reason(), pb::DetachReason::TakenOver);
    second.act(Action::Stop(pb::StopAction {})).await;
    assert!(second.ended().await.1.is_none());
}

/// `grpcurl` says everything at once and ends its side: what was queued is processed, and the next pending item is told.
#[tokio::test(flavor = "multi_thread")]
async fn answers_that_name_nothing_wait_for_what_is_pending_next() {
    let (server, exchange) = begun().await;
    let mut stream = Loop::start(&server, start(&exchange, 5)).await;
    stream.act(turn_of("one")).await;
    stream.act(turn_of("two")).await;
    stream.half_close();
    let texts = [stream.decision().await, stream.decision().await, stream.decision().await];
    let texts = texts.map(|needed| needed.exchange.unwrap().messages.last().unwrap().parts[0].clone());
    assert_eq!(texts.len(), 3);
    let detached = stream.detached().await;
    assert_eq!(detached.reason(), pb::DetachReason::HalfClosed);
    assert!(!detached.pending_id.is_empty());
}

/// Whoever says to have heard more than there is, as of a store that a backup has replaced, is told what comes all the same.
#[tokio::test(flavor = "multi_thread")]
async fn an_attach_after_what_never_was_hears_what_comes() {
    let (server, exchange) = begun().await;
    let mut stream = Loop::start(&server, start(&exchange, 2)).await;
    let id = stream.started().await.coordination_id;
    stream.decision().await;
    drop(stream);
    let beyond = got(&server, &id).await.last_sequence + 1;
    let mut back = Loop::open(&server, attach_after(&id, beyond)).await;
    back.decision().await;
    back.act(turn_of("go on")).await;
    back.accepted().await;
    assert_eq!(back.decision().await.turns_started, 1);
    let mut back = Loop::open(&server, attach_after(&id, u64::MAX)).await;
    back.decision().await;
    back.act(stop()).await;
    back.accepted().await;
    back.ended().await;
}
