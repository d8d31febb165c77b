//! Points and new threads are read whole; every change of a thread changes its etag.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::*;
use crate::domain::fault::Fault;
use crate::domain::thread::Parent;
use crate::domain::tool::ToolSet;
use crate::grpc::convert::problem::whole;

fn exchange(n: u128) -> ExchangeId {
    ExchangeId::new(Uuid::from_u128(n))
}

fn read(point: pb::ThreadPoint) -> Result<Point, Fault> {
    whole(|at, problems| point_from_pb(point, &at.field("thread"), problems))
}

fn on(thread_id: &str) -> pb::ThreadPoint {
    pb::ThreadPoint { thread_id: thread_id.to_owned(), ..pb::ThreadPoint::default() }
}

fn paths(fault: Fault) -> Vec<String> {
    fault.fields.into_iter().map(|field| field.path).collect()
}

fn thread() -> Thread {
    Thread {
        id: ThreadId::new("t"),
        name: "name".to_owned(),
        labels: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
        metadata_json: "{}".to_owned(),
        defaults: ThreadDefaults { profile_id: Some("p".to_owned()), model: None, standing_tools: None },
        parent: Some(Parent { thread_id: None, exchange: exchange(7), run_id: None, turn: 3 }),
        created_at: Moment(1_000),
        updated_at: Moment(2_000),
    }
}

fn head() -> Head {
    Head {
        exchange: Some(exchange(1)),
        run_id: Some(RunId::new("r")),
        turn_count: 2,
        active_run: None,
        sequence: 5,
        updated_at: Moment(3_000),
    }
}

#[test]
fn a_point_has_defaults() {
    let expected = Point {
        thread_id: ThreadId::new("t"),
        expected: Expected::Any,
        on_busy: OnBusy::Reject,
        unanswered: Unanswered::Reject,
    };
    assert_eq!(read(on("t")), Ok(expected));
}

#[test]
fn the_expected_head_is_an_exchange_or_empty() {
    let with = |head| read(pb::ThreadPoint { expected_head: Some(pb::ExpectedHead { head }), ..on("t") });
    let empty = with(Some(pb::expected_head::Head::Empty(pb::EmptyHead {})));
    assert_eq!(empty.map(|point| point.expected), Ok(Expected::Empty));
    let point = |id: String| pb::expected_head::Head::Exchange(pb::ExchangePoint { exchange_id: id });
    let named = with(Some(point(exchange(1).to_string())));
    assert_eq!(named.map(|point| point.expected), Ok(Expected::Exchange(exchange(1))));
    assert_eq!(paths(with(None).unwrap_err()), ["thread.expected_head"]);
    assert_eq!(paths(with(Some(point(String::new()))).unwrap_err()), ["thread.expected_head.exchange.exchange_id"]);
}

#[test]
fn each_way_with_a_busy_thread_is_read() {
    let ways = [
        (pb::OnBusy::Unspecified, OnBusy::Reject),
        (pb::OnBusy::Reject, OnBusy::Reject),
        (pb::OnBusy::Enqueue, OnBusy::Enqueue),
        (pb::OnBusy::Interrupt, OnBusy::Interrupt),
        (pb::OnBusy::Fork, OnBusy::Fork),
    ];
    for (said, meant) in ways {
        let point = read(pb::ThreadPoint { on_busy: said.into(), ..on("t") });
        assert_eq!(point.map(|point| point.on_busy), Ok(meant));
    }
    let fault = read(pb::ThreadPoint { on_busy: 9, unanswered_tools: 9, ..on("") }).unwrap_err();
    assert_eq!(paths(fault), ["thread.thread_id", "thread.on_busy", "thread.unanswered_tools"]);
}

#[test]
fn a_new_thread_is_read_whole() {
    let new = pb::NewThread {
        thread_id: "t".to_owned(),
        name: "語".repeat(255),
        metadata_json: "{\"a\": 1}".to_owned(),
        defaults: Some(pb::ThreadDefaults {
            standing_tools: Some(pb::ToolList::default()),
            ..pb::ThreadDefaults::default()
        }),
        ..pb::NewThread::default()
    };
    let read = |new| whole(|at, problems| new_from_pb(new, &at.field("new_thread"), problems));
    let thread = read(new).unwrap();
    assert_eq!((thread.id, thread.metadata_json.as_str()), (Some(ThreadId::new("t")), "{\"a\": 1}"));
    assert_eq!(thread.defaults.standing_tools, Some(ToolSet::default()));
    assert_eq!(read(pb::NewThread::default()), Ok(NewThread::default()));
    let wrong = pb::NewThread {
        thread_id: "a b".to_owned(),
        name: "語".repeat(256),
        metadata_json: "1".to_owned(),
        ..pb::NewThread::default()
    };
    let expected = ["new_thread.thread_id", "new_thread.name", "new_thread.metadata_json"];
    assert_eq!(paths(read(wrong).unwrap_err()), expected);
}

#[test]
fn every_change_changes_the_etag() {
    let before = etag(&thread(), &head());
    assert_eq!(before, etag(&thread(), &head()));
    let threads: [fn(&mut Thread); 8] = [
        |t| t.name.push('x'),
        |t| t.labels.clear(),
        |t| t.metadata_json.clear(),
        |t| t.defaults.profile_id = None,
        |t| t.defaults.model = Some(String::new()),
        |t| t.defaults.standing_tools = Some(ToolSet::default()),
        |t| t.created_at.0 += 1,
        |t| t.updated_at.0 += 1,
    ];
    for (index, change) in threads.into_iter().enumerate() {
        let mut changed = thread();
        change(&mut changed);
        assert_ne!(etag(&changed, &head()), before, "change {index} of the thread");
    }
    let heads: [fn(&mut Head); 6] = [
        |h| h.exchange = None,
        |h| h.run_id = None,
        |h| h.turn_count += 1,
        |h| h.active_run = Some(RunId::new("r")),
        |h| h.sequence += 1,
        |h| h.updated_at.0 += 1,
    ];
    for (index, change) in heads.into_iter().enumerate() {
        let mut changed = head();
        change(&mut changed);
        assert_ne!(etag(&thread(), &changed), before, "change {index} of the head");
    }
}

#[test]
fn a_thread_goes_out_whole() {
    let pending = Pending { run_id: RunId::new("r2"), exchange: exchange(2), calls: Vec::new() };
    let out = to_pb(thread(), head(), Some(pending));
    assert_eq!((out.thread_id.as_str(), out.head_run_id.as_str(), out.turn_count), ("t", "r", 2));
    assert_eq!(out.etag, etag(&thread(), &head()));
    assert_eq!(out.head_exchange_id, exchange(1).to_string());
    assert_eq!(out.parent.map(|parent| (parent.turn, parent.thread_id)), Some((3, String::new())));
    assert_eq!(out.pending.map(|pending| pending.run_id), Some("r2".to_owned()));
    assert_eq!(out.update_time.map(|time| time.seconds), Some(3), "the later of the two");
    assert_eq!(out.defaults.and_then(|defaults| defaults.standing_tools), None);
    assert_eq!(to_pb(thread(), Head::default(), None).head_exchange_id, "");
}

#[test]
fn previews_are_cut_between_characters() {
    let turn = Turn {
        number: 1,
        run_id: None,
        exchange: exchange(1),
        exchange_count: 1,
        user_text: "語".repeat(300),
        assistant_text: "short".to_owned(),
        stop_reason: StopReason::Stop,
        created_at: Moment(0),
        is_erased: true,
    };
    let out = turn_to_pb(turn);
    assert!(out.erased);
    assert_eq!((out.user_preview.chars().count(), out.assistant_preview.as_str()), (200, "short"));
    assert_eq!(out.stop_reason(), pb::StopReason::Stop);
}
