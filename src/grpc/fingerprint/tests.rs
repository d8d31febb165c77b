//! What counts changes a fingerprint, and what does not leaves it.

use std::collections::BTreeMap;

use prost_types::value::Kind;
use prost_types::{Struct, Value};

use super::*;

fn asked() -> pb::ExecutionRequest {
    let text = |text: &str| Value { kind: Some(Kind::StringValue(text.to_owned())) };
    let fields = BTreeMap::from([("a".to_owned(), text("1")), ("b".to_owned(), text("2"))]);
    pb::ExecutionRequest {
        prompt: Some(pb::PromptInput {
            prompt_id: "p".to_owned(),
            vars: Some(Struct { fields }),
            vars_json: String::new(),
        }),
        text: "hello".to_owned(),
        ..pb::ExecutionRequest::default()
    }
}

fn captured(request: pb::ExecutionRequest) -> pb::CaptureRequest {
    let new = pb::NewThread {
        labels: BTreeMap::from([("x".to_owned(), "1".to_owned()), ("y".to_owned(), "2".to_owned())]),
        ..pb::NewThread::default()
    };
    pb::CaptureRequest {
        execution: Some(pb::capture_request::Execution::Request(request)),
        thread: Some(pb::capture_request::Thread::NewThread(new)),
    }
}

fn of(change: impl FnOnce(&mut pb::ExecutionRequest)) -> Hash {
    let mut request = asked();
    change(&mut request);
    capture(&captured(request))
}

#[test]
fn names_delivery_and_labels_do_not_count() {
    let changed = of(|request| {
        request.run_id = "r".to_owned();
        request.labels.insert("team".to_owned(), "x".to_owned());
        request.on_disconnect = pb::OnDisconnect::Finish.into();
        request.retry = true;
    });
    assert_eq!(changed, of(|_| {}));
}

#[test]
fn everything_else_counts() {
    let changes: [fn(&mut pb::ExecutionRequest); 14] = [
        |r| r.text.push('!'),
        |r| r.prompt = None,
        |r| r.messages.push(pb::Message::default()),
        |r| r.profile_id.push('x'),
        |r| r.model.push('x'),
        |r| r.parameters = Some(pb::Parameters::default()),
        |r| r.contract = Some(pb::Contract::default()),
        |r| r.tools = Some(pb::ToolList::default()),
        |r| r.standing_tools = Some(pb::ToolList::default()),
        |r| r.tool_choice = Some(pb::ToolChoice::default()),
        |r| r.session_id.push('x'),
        |r| r.history_view = Some(pb::HistoryView::default()),
        |r| r.on_tool_drift = 2,
        |r| r.repair = Some(pb::Repair { attempts: 1 }),
    ];
    let mut seen = vec![of(|_| {})];
    for change in changes {
        seen.push(of(change));
    }
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count);
}

/// Bytes of a message whose map entries come in the order given, as another client may send them.
fn entries(field: u8, entries: [(&str, &[u8]); 2]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (key, value) in entries {
        let mut entry = vec![0x0a, u8::try_from(key.len()).unwrap()];
        entry.extend_from_slice(key.as_bytes());
        entry.extend_from_slice(&[0x12, u8::try_from(value.len()).unwrap()]);
        entry.extend_from_slice(value);
        bytes.extend_from_slice(&[field << 3 | 2, u8::try_from(entry.len()).unwrap()]);
        bytes.extend_from_slice(&entry);
    }
    bytes
}

#[test]
fn the_order_of_maps_does_not_count() {
    let one = entries(3, [("x", b"1"), ("y", b"2")]);
    let other = entries(3, [("y", b"2"), ("x", b"1")]);
    assert_ne!(one, other);
    let with = |bytes: &[u8]| {
        let thread = Some(pb::NewThread::decode(bytes).unwrap());
        create_thread(&pb::ThreadServiceCreateRequest { thread, ..pb::ThreadServiceCreateRequest::default() })
    };
    assert_eq!(with(&one), with(&other));

    // And within `vars`, whose values are messages.
    let (first, second) = (&[0x1a, 1, b'1'][..], &[0x1a, 1, b'2'][..]);
    let vars = |bytes: Vec<u8>| {
        of(|request| {
            request.prompt.as_mut().unwrap().vars = Some(Struct::decode(&bytes[..]).unwrap());
        })
    };
    let same = vars(entries(1, [("a", first), ("b", second)]));
    assert_eq!(same, vars(entries(1, [("b", second), ("a", first)])));
    assert_eq!(same, of(|_| {}), "they are those of the request itself");
    assert_ne!(same, vars(entries(1, [("a", second), ("b", first)])));
}

#[test]
fn the_streamed_form_carries_the_unary_one() {
    let streamed = pb::StreamCaptureRequest { capture: Some(captured(asked())) };
    let sent = pb::StreamCaptureRequest::decode(&streamed.encode_to_vec()[..]).unwrap();
    assert_eq!(capture(&sent.capture.unwrap()), capture(&captured(asked())));
    let turn_of = pb::ContinueRequest::default();
    let sent = pb::StreamContinueRequest { turn: Some(turn_of.clone()) };
    assert_eq!(turn(&sent.turn.unwrap()), turn(&turn_of));
}

#[test]
fn verbs_do_not_meet() {
    let run_of =
        pb::RunRequest { execution: Some(pb::run_request::Execution::Request(asked())), ..pb::RunRequest::default() };
    let bare = pb::CaptureRequest { thread: None, ..captured(asked()) };
    assert_eq!(run_of.encode_to_vec(), bare.encode_to_vec(), "the same bytes");
    assert_ne!(run(&run_of), capture(&bare));
}

#[test]
fn a_run_that_is_kept_is_another() {
    let request =
        pb::RunRequest { execution: Some(pb::run_request::Execution::Request(asked())), ..pb::RunRequest::default() };
    let shown = pb::RunRequest { include_rendered_messages: true, ..request.clone() };
    let kept = pb::RunRequest { capture: Some(true), ..request.clone() };
    assert_eq!(run(&request), run(&shown));
    assert_ne!(run(&request), run(&kept));
}

fn answered(text: &str) -> pb::ToolResults {
    let part =
        pb::Part { kind: Some(pb::part::Kind::Text(pb::TextPart { text: text.to_owned() })), ..pb::Part::default() };
    let result = pb::ToolResult { call_id: "c".to_owned(), parts: vec![part], ..pb::ToolResult::default() };
    pb::ToolResults { results: vec![result], ..pb::ToolResults::default() }
}

#[test]
fn results_count_and_their_run_does_not() {
    let named = pb::ToolResults { run_id: "r".to_owned(), on_disconnect: 2, retry: true, ..answered("42") };
    assert_eq!(results(&named), results(&answered("42")));
    assert_ne!(results(&named), results(&answered("43")));
    let with = |results| {
        let input = Some(pb::continue_request::Input::ToolResults(results));
        turn(&pb::ContinueRequest { input, ..pb::ContinueRequest::default() })
    };
    assert_eq!(with(named), with(answered("42")));
    assert_ne!(with(answered("42")), with(answered("43")));
}

#[test]
fn a_turn_from_elsewhere_is_another() {
    let from = |exchange_id: &str| {
        let point = pb::ExchangePoint { exchange_id: exchange_id.to_owned() };
        let input = Some(pb::continue_request::Input::Request(asked()));
        turn(&pb::ContinueRequest { from: Some(pb::continue_request::From::Exchange(point)), input })
    };
    assert_ne!(from("a"), from("b"));
}

#[test]
fn a_branch_does_not_depend_on_its_siblings() {
    let branch_of = |text: &str, run_id: &str| pb::ForkBranch {
        thread: None,
        input: Some(pb::fork_branch::Input::Request(pb::ExecutionRequest {
            text: text.to_owned(),
            run_id: run_id.to_owned(),
            ..pb::ExecutionRequest::default()
        })),
    };
    let point = pb::ExchangePoint { exchange_id: "e".to_owned() };
    let forked = |branches| pb::ForkRequest {
        source: Some(pb::fork_request::Source::Exchange(point.clone())),
        request_id: "q".to_owned(),
        branches,
    };
    let alone = forked(vec![branch_of("a", "r1")]);
    let both = forked(vec![branch_of("a", "r2"), branch_of("b", "r3")]);
    assert_eq!(branch(&alone, &alone.branches[0]), branch(&both, &both.branches[0]));
    assert_ne!(branch(&both, &both.branches[0]), branch(&both, &both.branches[1]));
    assert_ne!(fork(&alone), fork(&both));
    assert_eq!(fork(&alone), fork(&pb::ForkRequest { request_id: "other".to_owned(), ..alone.clone() }));
    assert_ne!(fork(&alone), branch(&alone, &alone.branches[0]));
}

#[test]
fn mutations_leave_out_their_request_id_only() {
    let recorded = pb::RecordRequest {
        request_id: "q".to_owned(),
        labels: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
        ..pb::RecordRequest::default()
    };
    assert_eq!(record(&recorded), record(&pb::RecordRequest::default()));
    let facts = vec![pb::RecordedFacts { run_id: "r".to_owned(), ..pb::RecordedFacts::default() }];
    assert_ne!(record(&recorded), record(&pb::RecordRequest { facts, ..recorded.clone() }));

    let update = |request_id: &str, name: &str| {
        update_thread(&pb::ThreadServiceUpdateRequest {
            thread: Some(pb::NewThread { name: name.to_owned(), ..pb::NewThread::default() }),
            request_id: request_id.to_owned(),
            ..pb::ThreadServiceUpdateRequest::default()
        })
    };
    assert_eq!(update("q1", "a"), update("q2", "a"));
    assert_ne!(update("q1", "a"), update("q1", "b"));
    let delete = |thread_id: &str, request_id: &str| {
        let (thread_id, request_id) = (thread_id.to_owned(), request_id.to_owned());
        delete_thread(&pb::ThreadServiceDeleteRequest { thread_id, request_id, ..Default::default() })
    };
    assert_eq!(delete("t", "q1"), delete("t", "q2"));
    assert_ne!(delete("t", "q1"), delete("u", "q1"));
}

fn started() -> pb::CoordinationStart {
    let request = Some(asked());
    let initial = pb::InitialRequest { request, thread: None };
    let from = Some(pb::coordination_start::From::InitialRequest(initial));
    pb::CoordinationStart { from, ..pb::CoordinationStart::default() }
}

#[test]
fn a_start_counts_by_what_is_agreed() {
    let of = |change: fn(&mut pb::CoordinationStart)| {
        let mut start = started();
        change(&mut start);
        coordination(&start)
    };
    let request_of = |start: &mut pb::CoordinationStart, change: fn(&mut pb::ExecutionRequest)| {
        if let Some(pb::coordination_start::From::InitialRequest(initial)) = &mut start.from {
            initial.request.iter_mut().for_each(change);
        }
    };
    let same = of(|start| {
        start.coordination_id.push('c');
        start.deltas = true;
        start.deadline = Some(prost_types::Timestamp::default());
        start.on_disconnect = 2;
        start.labels = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    });
    assert_eq!(same, coordination(&started()));
    let mut named = started();
    request_of(&mut named, |request| {
        request.run_id.push('r');
        request.labels.insert("a".to_owned(), "b".to_owned());
        request.on_disconnect = 2;
    });
    assert_eq!(coordination(&named), coordination(&started()));
    let mut other = started();
    request_of(&mut other, |request| request.text.push('!'));

    let changes: [fn(&mut pb::CoordinationStart); 7] = [
        |start| start.from = None,
        |start| start.additional_turns = 1,
        |start| start.tool_round_limit = Some(16),
        |start| start.decision_timeout = Some(prost_types::Duration::default()),
        |start| start.ephemeral = true,
        |start| start.omit_generation_history = true,
        |start| start.spend_limit = Some(pb::SpendLimit { tokens: Some(1), cost: None }),
    ];
    let mut seen = vec![coordination(&started()), coordination(&other)];
    seen.extend(changes.map(of));
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count);
}

#[test]
fn an_initial_request_is_not_a_capture_and_counts_with_its_thread() {
    let bare = pb::InitialRequest { request: Some(asked()), thread: None };
    let named =
        pb::InitialRequest { request: Some(pb::ExecutionRequest { run_id: "r".to_owned(), ..asked() }), thread: None };
    let new = pb::initial_request::Thread::NewThread(pb::NewThread::default());
    assert_eq!(initial(&bare), initial(&named));
    assert_ne!(initial(&bare), initial(&pb::InitialRequest { thread: Some(new), ..bare.clone() }));
    assert_ne!(initial(&bare), capture(&pb::CaptureRequest { thread: None, ..captured(asked()) }));
}

#[test]
fn an_answer_counts_without_what_it_answers() {
    use pb::next_action::Action;
    let with = |request| pb::NextTurn {
        input: Some(pb::next_turn::Input::Request(request)),
        unanswered_tools: 0,
        detach_thread: false,
    };
    let action = |decision_id: &str, action| {
        next_action(&pb::NextAction { decision_id: decision_id.to_owned(), action: Some(action) })
    };
    let asks = |text: &str, run_id: &str| {
        let (text, run_id) = (text.to_owned(), run_id.to_owned());
        with(pb::ExecutionRequest { text, run_id, ..asked() })
    };
    assert_eq!(action("d1", Action::Turn(asks("a", "r1"))), action("", Action::Turn(asks("a", "r2"))));
    assert_ne!(action("d1", Action::Turn(asks("a", "r1"))), action("d1", Action::Turn(asks("b", "r1"))));
    assert_eq!(next_turn(&asks("a", "r1")), next_turn(&asks("a", "r2")));
    assert_ne!(next_turn(&asks("a", "")), next_turn(&pb::NextTurn { detach_thread: true, ..asks("a", "") }));
    assert_ne!(next_turn(&asks("a", "")), next_turn(&pb::NextTurn { unanswered_tools: 3, ..asks("a", "") }));
    assert_ne!(next_turn(&asks("a", "")), action("", Action::Turn(asks("a", ""))));

    let fail = |code| Action::Fail(pb::FailAction { code, ..pb::FailAction::default() });
    assert_eq!(action("d1", fail(1)), action("d2", fail(1)));
    assert_ne!(action("d1", fail(1)), action("d1", fail(2)));
    assert_ne!(action("d1", fail(1)), action("d1", Action::Stop(pb::StopAction {})));

    let batch = |batch_id: &str, text: &str| {
        batch_results(&pb::BatchResults {
            batch_id: batch_id.to_owned(),
            results: answered(text).results,
            run_id: String::new(),
        })
    };
    assert_eq!(batch("b1", "42"), batch("b2", "42"));
    assert_ne!(batch("b1", "42"), batch("b1", "43"));
    let came = |generation_id: &str, code| {
        let failure = pb::GenerationFailure { code, ..pb::GenerationFailure::default() };
        let outcome = Some(pb::generated::Outcome::Failure(failure));
        generated(&pb::Generated { generation_id: generation_id.to_owned(), outcome })
    };
    assert_eq!(came("g1", 14), came("g2", 14));
    assert_ne!(came("g1", 14), came("g1", 13));
}

#[test]
fn results_are_the_same_step_wherever_they_go_on() {
    let further = pb::NextTurn {
        input: Some(pb::next_turn::Input::ToolResults(pb::ToolResults { run_id: "r".to_owned(), ..answered("42") })),
        ..pb::NextTurn::default()
    };
    assert_eq!(next_turn_step(&further), results(&answered("42")));
    assert_ne!(next_turn_step(&further), next_turn(&further));
    let asks = pb::NextTurn { input: Some(pb::next_turn::Input::Request(asked())), ..pb::NextTurn::default() };
    assert_eq!(next_turn_step(&asks), next_turn(&asks));
}

#[test]
fn the_form_stays_as_it_is() {
    // Runs on disk have fingerprints of this form: a change needs another version, and old runs then conflict with their repeats.
    let request = pb::ExecutionRequest { text: "hello".to_owned(), ..pb::ExecutionRequest::default() };
    let request =
        pb::CaptureRequest { execution: Some(pb::capture_request::Execution::Request(request)), thread: None };
    assert_eq!(capture(&request).to_string(), "48de6136bfa70a190170abc694bf8da58963d896471a8e4d72088f210754f5ea");
}
