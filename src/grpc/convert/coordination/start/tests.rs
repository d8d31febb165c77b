//! Starts: what is agreed, what is executed first, and what contradicts itself.

use std::collections::BTreeMap;

use prost_types::Timestamp;
use uuid::Uuid;

use super::*;
use crate::domain::fault::Fault;
use crate::domain::id::{Moment, RunId, ThreadId};
use crate::domain::spend::SpendLimit;
use crate::grpc::convert::problem::whole;
use pb::coordination_start::From as Pb;
use pb::initial_request::Thread;

fn read(start: pb::CoordinationStart) -> Result<Start, Fault> {
    whole(|at, problems| from_pb(start, &at.field("start"), problems))
}

fn paths(start: pb::CoordinationStart) -> Vec<String> {
    read(start).err().expect("is refused").fields.into_iter().map(|field| field.path).collect()
}

fn exchange() -> Pb {
    Pb::Exchange(pb::ExchangePoint { exchange_id: Uuid::from_u128(1).to_string() })
}

fn start(from: Pb) -> pb::CoordinationStart {
    pb::CoordinationStart { from: Some(from), ..pb::CoordinationStart::default() }
}

fn point(on_busy: pb::OnBusy) -> pb::ThreadPoint {
    pb::ThreadPoint {
        thread_id: "t".to_owned(),
        on_busy: on_busy.into(),
        unanswered_tools: pb::UnansweredTools::Interrupt.into(),
        ..pb::ThreadPoint::default()
    }
}

fn asked() -> pb::ExecutionRequest {
    pb::ExecutionRequest { text: "hello".to_owned(), run_id: "r".to_owned(), ..pb::ExecutionRequest::default() }
}

fn initial(thread: Option<Thread>) -> Pb {
    Pb::InitialRequest(pb::InitialRequest { request: Some(asked()), thread })
}

fn turn(start: pb::CoordinationStart) -> Turn {
    let Ok(Start { from: From::Initial(turn), .. }) = read(start) else { panic!("executes first") };
    *turn
}

#[test]
fn a_start_says_what_is_agreed() {
    let started = pb::CoordinationStart {
        additional_turns: 1_000_000,
        coordination_id: "c:1".to_owned(),
        tool_round_limit: Some(0),
        deltas: true,
        deadline: Some(Timestamp { seconds: 5, nanos: 0 }),
        decision_timeout: Some(Duration { seconds: 0, nanos: 1 }),
        on_disconnect: pb::OnDisconnect::Cancel.into(),
        labels: BTreeMap::from([("team".to_owned(), "x".to_owned())]),
        omit_generation_history: true,
        ..start(Pb::Thread(point(pb::OnBusy::Fork)))
    };
    let read = read(started.clone()).ok().unwrap();
    let terms = Terms {
        additional_turns: 1_000_000,
        tool_round_limit: 0,
        deltas: true,
        deadline: Some(Moment(5_000)),
        decision_timeout_ms: Some(1),
        expiry_ms: None,
        on_disconnect: OnDisconnect::Cancel,
        on_busy: OnBusy::Fork,
        unanswered: Unanswered::Interrupt,
        omit_generation_history: true,
        spend_limit: SpendLimit::default(),
    };
    assert_eq!(read.terms, terms);
    assert_eq!(read.id.map(|id| id.to_string()), Some("c:1".to_owned()));
    assert_eq!((read.labels, read.ephemeral), (started.labels.clone(), false));
    assert_eq!(read.fingerprint, fingerprint::coordination(&started));
    assert!(matches!(read.from, From::Thread(thread) if thread.id == ThreadId::new("t")));
}

#[test]
fn what_is_not_said_has_a_default() {
    let read = read(start(exchange())).ok().unwrap();
    let terms = Terms {
        additional_turns: 0,
        tool_round_limit: 16,
        deltas: false,
        deadline: None,
        decision_timeout_ms: None,
        expiry_ms: None,
        on_disconnect: OnDisconnect::Finish,
        on_busy: OnBusy::Reject,
        unanswered: Unanswered::Reject,
        omit_generation_history: false,
        spend_limit: SpendLimit::default(),
    };
    assert_eq!((read.terms, read.id), (terms, None));
    assert!(matches!(read.from, From::Exchange(id) if id == ExchangeId::new(Uuid::from_u128(1))));
}

#[test]
fn an_initial_request_is_a_turn_that_is_kept() {
    let bare = turn(start(initial(None)));
    assert!(matches!(bare.base, Base::Root));
    assert!(bare.capture && !bare.stream && !bare.retry);
    assert_eq!((bare.run_id, bare.assigned, bare.on_disconnect), (Some(RunId::new("r")), None, OnDisconnect::Finish));
    assert_eq!(bare.fingerprint, bare.step);
    let new = Thread::NewThread(pb::NewThread { thread_id: "n".to_owned(), ..pb::NewThread::default() });
    let streamed = turn(pb::CoordinationStart { deltas: true, ..start(initial(Some(new))) });
    assert!(matches!(streamed.base, Base::NewThread(new) if new.id == Some(ThreadId::new("n"))));
    assert!(streamed.stream);
    let existing = start(initial(Some(Thread::ExistingThread(point(pb::OnBusy::Reject)))));
    assert!(matches!(turn(existing.clone()).base, Base::EmptyThread(thread) if thread.id == ThreadId::new("t")));
    assert_eq!(read(existing).ok().unwrap().terms.unanswered, Unanswered::Interrupt);
}

#[test]
fn a_request_decides_for_its_own_turn_what_a_broken_stream_does() {
    let of = |own: pb::OnDisconnect, all: pb::OnDisconnect| {
        let request = pb::ExecutionRequest { on_disconnect: own.into(), ..asked() };
        let initial = Pb::InitialRequest(pb::InitialRequest { request: Some(request), thread: None });
        turn(pb::CoordinationStart { on_disconnect: all.into(), ..start(initial) }).on_disconnect
    };
    use pb::OnDisconnect::{Cancel, Finish, Unspecified};
    assert_eq!(of(Unspecified, Unspecified), OnDisconnect::Finish);
    assert_eq!(of(Unspecified, Cancel), OnDisconnect::Cancel);
    assert_eq!(of(Finish, Cancel), OnDisconnect::Finish);
    assert_eq!(of(Cancel, Finish), OnDisconnect::Cancel);
}

#[test]
fn everything_wrong_is_named_at_once() {
    let wrong = pb::CoordinationStart {
        from: None,
        additional_turns: 1_000_001,
        coordination_id: "a b".to_owned(),
        tool_round_limit: Some(1_001),
        deadline: Some(Timestamp { seconds: -1, nanos: 0 }),
        decision_timeout: Some(Duration::default()),
        on_disconnect: 9,
        labels: BTreeMap::from([(String::new(), String::new())]),
        ..pb::CoordinationStart::default()
    };
    let expected = [
        "start.coordination_id",
        "start.additional_turns",
        "start.tool_round_limit",
        "start.deadline",
        "start.decision_timeout",
        "start.on_disconnect",
        "start.labels[\"\"]",
        "start.from",
    ];
    assert_eq!(paths(wrong), expected);
}

#[test]
fn what_is_wrong_with_where_it_begins_is_named() {
    let request = |request| Pb::InitialRequest(pb::InitialRequest { request, thread: None });
    let table: [(Pb, &str); 7] = [
        (Pb::Exchange(pb::ExchangePoint::default()), "exchange.exchange_id"),
        (Pb::Thread(pb::ThreadPoint::default()), "thread.thread_id"),
        (request(None), "initial_request.request"),
        (request(Some(pb::ExecutionRequest::default())), "initial_request.request"),
        (
            request(Some(pb::ExecutionRequest { run_id: String::new(), retry: true, ..asked() })),
            "initial_request.request.retry",
        ),
        (initial(Some(Thread::ExistingThread(point(pb::OnBusy::Fork)))), "initial_request.existing_thread.on_busy"),
        (
            initial(Some(Thread::NewThread(pb::NewThread { thread_id: "a b".to_owned(), ..Default::default() }))),
            "initial_request.new_thread.thread_id",
        ),
    ];
    for (from, path) in table {
        assert_eq!(paths(start(from)), [format!("start.{path}")]);
    }
}

#[test]
fn what_leaves_nothing_behind_has_no_name_and_no_thread() {
    let ephemeral = |from| pb::CoordinationStart { ephemeral: true, ..start(from) };
    let named = pb::CoordinationStart { coordination_id: "c".to_owned(), ..ephemeral(exchange()) };
    assert_eq!(paths(named), ["start.coordination_id"]);
    let new = initial(Some(Thread::NewThread(pb::NewThread::default())));
    assert_eq!(paths(ephemeral(new)), ["start.initial_request.new_thread"]);
    let existing = initial(Some(Thread::ExistingThread(point(pb::OnBusy::Reject))));
    assert_eq!(paths(ephemeral(existing)), ["start.initial_request.existing_thread"]);
    for from in [exchange(), Pb::Thread(point(pb::OnBusy::Reject)), initial(None)] {
        assert!(read(ephemeral(from)).ok().unwrap().ephemeral);
    }
}
