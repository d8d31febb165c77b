//! From requests as they were read to what `app` is asked. It must not look anything up.

use crate::app::fork::{At, Branch, Point};
use crate::app::prepared::PreparedCall;
use crate::app::probe::Probe;
use crate::app::record::{Transcript, TranscriptStart, TranscriptThread};
use crate::app::thread::{Repeatable, ThreadChange};
use crate::app::turn::{Base, Facts, Input, ThreadRef, Turn, UncapturedPrefix};
use crate::domain::exchange::Origin;
use crate::domain::id::{Hash, Moment};

use super::convert::execution::{Request, Results};
use super::convert::{capture, continuation, fork, prepare, record, thread, thread_service};

/// What executes: a turn, or what was prepared.
pub(super) enum Execution {
    Turn(Box<Turn>),
    Prepared(PreparedCall),
}

impl From<Turn> for Execution {
    fn from(turn: Turn) -> Self {
        Self::Turn(Box::new(turn))
    }
}

/// A Run.
pub(super) fn run(run: capture::Run, fingerprint: Hash) -> Execution {
    match run.execution {
        capture::Execution::Request(request) => of_request(request, fingerprint, Base::Root, run.capture, false).into(),
        capture::Execution::Prepared(id, run_id) => {
            Execution::Prepared(PreparedCall { id, run_id, fingerprint, captures: false, stream: false })
        }
    }
}

/// A Capture.
pub(super) fn capture(capture: capture::Capture, fingerprint: Hash, stream: bool) -> Execution {
    let base = match capture.thread {
        None => Base::Root,
        Some(thread::Target::Existing(point)) => Base::EmptyThread(thread_ref(point)),
        Some(thread::Target::New(new)) => Base::NewThread(new),
    };
    match capture.execution {
        capture::Execution::Request(request) => of_request(request, fingerprint, base, true, stream).into(),
        capture::Execution::Prepared(id, run_id) => {
            Execution::Prepared(PreparedCall { id, run_id, fingerprint, captures: true, stream })
        }
    }
}

/// A Prepare. Its fingerprint is that of no call: the one that executes it has its own.
pub(super) fn prepare(prepare: prepare::Prepare) -> (Turn, Option<Moment>) {
    let base = match prepare.from {
        None => Base::Root,
        Some(prepare::From::Exchange(id)) => Base::Exchange(id),
        Some(prepare::From::Thread(point)) => Base::Thread(thread_ref(point)),
    };
    (of_request(prepare.request, Hash::of(b"prepare"), base, prepare.capture, false), prepare.until)
}

/// A Continue; `step` is the fingerprint of its results.
pub(super) fn continuation(turn: continuation::Continue, fingerprint: Hash, step: Hash, stream: bool) -> Turn {
    let base = match turn.from {
        continuation::From::Exchange(id) => Base::Exchange(id),
        continuation::From::Thread(point) => Base::Thread(thread_ref(point)),
        continuation::From::Uncaptured(prefix) => Base::Uncaptured(Box::new(UncapturedPrefix {
            rendered: prefix.messages,
            assistant: prefix.assistant,
            run_id: prefix.run_id.or_else(|| prefix.facts.as_ref().and_then(|facts| facts.run_id.clone())),
            facts: prefix.facts.map(facts).unwrap_or_default(),
        })),
    };
    Turn { step, ..of_input(turn.input, fingerprint, base, stream) }
}

fn of_input(input: continuation::Input, fingerprint: Hash, base: Base, stream: bool) -> Turn {
    match input {
        continuation::Input::Request(request) => of_request(request, fingerprint, base, true, stream),
        continuation::Input::Results(results) => of_results(results, fingerprint, base, stream),
    }
}

/// What a request asks.
pub(super) fn of_request(request: Request, fingerprint: Hash, base: Base, capture: bool, stream: bool) -> Turn {
    Turn {
        run_id: request.run_id,
        assigned: None,
        fingerprint,
        step: fingerprint,
        base,
        input: Input::Request(Box::new(request.asked)),
        capture,
        labels: request.labels,
        on_disconnect: request.on_disconnect.unwrap_or_default(),
        retry: request.retry,
        stream,
        companion: None,
    }
}

fn of_results(results: Results, fingerprint: Hash, base: Base, stream: bool) -> Turn {
    Turn {
        run_id: results.run_id.clone(),
        assigned: None,
        fingerprint,
        step: fingerprint,
        base,
        capture: true,
        labels: std::collections::BTreeMap::new(),
        on_disconnect: results.on_disconnect.unwrap_or_default(),
        retry: results.retry,
        stream,
        companion: None,
        input: Input::Results(results.into_message()),
    }
}

/// A thread to go on from.
pub(super) fn thread_ref(point: thread::Point) -> ThreadRef {
    ThreadRef { id: point.thread_id, expected: point.expected, on_busy: point.on_busy, unanswered: point.unanswered }
}

fn facts(facts: record::Facts) -> Facts {
    Facts {
        run_id: facts.run_id,
        provider: facts.provider.unwrap_or_default(),
        model: facts.model.unwrap_or_default(),
        stop_reason: facts.stop_reason,
        usage: facts.usage,
        tools: facts.tools,
    }
}

/// Where a fork or a probe begins.
fn point(source: fork::Source) -> Point {
    match source {
        fork::Source::Exchange(id) => Point::Exchange(id),
        fork::Source::Thread { thread_id, at } => {
            let at = match at {
                fork::At::Head => At::Head,
                fork::At::Run(run_id) => At::Run(run_id),
                fork::At::Turn(turn) => At::Turn(turn),
            };
            Point::Thread(thread_id, at)
        }
    }
}

/// A Fork, with the fingerprints of its branches. Without branches it makes one bare thread.
pub(super) fn fork(fork: fork::Fork, fingerprint: Hash, of_branches: Vec<Hash>) -> (Point, Vec<Branch>, Repeatable) {
    let mut branches: Vec<Branch> = Vec::new();
    for (branch, of_branch) in fork.branches.into_iter().zip(of_branches) {
        // The fork itself sets where its turns start.
        let turn = branch.input.map(|input| of_input(input, of_branch, Base::Root, false));
        branches.push(Branch { thread: branch.thread, turn });
    }
    if branches.is_empty() {
        branches.push(Branch { thread: crate::domain::thread::NewThread::default(), turn: None });
    }
    (point(fork.source), branches, Repeatable { request_id: fork.request_id, fingerprint })
}

/// A Probe.
pub(super) fn probe(probe: fork::Probe, stream: bool) -> Probe {
    Probe {
        from: point(probe.source),
        asked: probe.request.asked,
        allow_side_effects: probe.allow_side_effects,
        stream,
    }
}

/// A Record.
pub(super) fn record(record: record::Record, fingerprint: Hash) -> (Transcript, Repeatable) {
    let start = match record.start {
        record::Start::Root => TranscriptStart::Root,
        record::Start::Exchange(id) => TranscriptStart::After(id),
        record::Start::Head => TranscriptStart::AfterHead,
    };
    let thread = record.thread.map(|target| match target {
        thread::Target::Existing(point) => TranscriptThread::Existing(thread_ref(point)),
        thread::Target::New(new) => TranscriptThread::New(new),
    });
    let transcript = Transcript {
        messages: record.messages,
        start,
        thread,
        facts: record.facts.into_iter().map(|(index, known)| (index, facts(known))).collect(),
        labels: record.labels,
        origin: Origin::Recorded,
    };
    (transcript, Repeatable { request_id: record.request_id, fingerprint })
}

/// A change of a thread.
pub(super) fn change(changes: thread_service::Changes) -> ThreadChange {
    ThreadChange {
        name: changes.name,
        labels: changes.labels,
        metadata_json: changes.metadata_json,
        profile_id: changes.profile_id,
        model: changes.model,
        standing_tools: changes.standing_tools,
    }
}
