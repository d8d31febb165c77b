//! The start of a coordination. It must not know whether what it starts from is there.

use prost_types::Duration;

use super::super::execution::{self, Request};
use super::super::thread::{self, Point};
use super::super::{Path, Problems, capture, id, label, moment, problem, spend};
use crate::app::coordination::ask::{From, Start};
use crate::app::turn::{Base, Turn};
use crate::domain::coordination::Terms;
use crate::domain::id::{ExchangeId, Hash};
use crate::domain::run::OnDisconnect;
use crate::domain::thread::{NewThread, OnBusy, Unanswered};
use crate::grpc::{ask, fingerprint, pb};

#[cfg(test)]
mod tests;

/// Most continuations of one coordination.
const MAX_TURNS: u32 = 1_000_000;
/// Most rounds of tools in one turn.
const MAX_ROUNDS: u32 = 1_000;
/// Rounds of tools in one turn when the caller does not say.
const DEFAULT_ROUNDS: u32 = 16;

/// A start with all that it agrees.
pub fn from_pb(start: pb::CoordinationStart, at: &Path<'_>, problems: &mut Problems) -> Option<Start> {
    let fingerprint = fingerprint::coordination(&start);
    let fits = nothing_stays(&start, at, problems);
    let id = id::chosen(&start.coordination_id, &at.field("coordination_id"), problems);
    let turns = up_to(start.additional_turns, MAX_TURNS, &at.field("additional_turns"), problems);
    let rounds = start.tool_round_limit.unwrap_or(DEFAULT_ROUNDS);
    let rounds = up_to(rounds, MAX_ROUNDS, &at.field("tool_round_limit"), problems);
    let deadline = moment::optional_from_pb(start.deadline, &at.field("deadline"), problems);
    let timeout = timeout_from_pb(start.decision_timeout, &at.field("decision_timeout"), problems);
    let on_disconnect = execution::on_disconnect_from_pb(start.on_disconnect, &at.field("on_disconnect"), problems)
        .map(|chosen| chosen.unwrap_or(OnDisconnect::Finish));
    let labels = label::from_pb(start.labels, &at.field("labels"), problems);
    let spend_limit = spend::limit_from_pb(start.spend_limit, &at.field("spend_limit"), problems);
    let choices = "`exchange`, `thread` or `initial_request`";
    let began = problem::required(start.from, choices, &at.field("from"), problems)
        .and_then(|from| began_from_pb(from, at, problems));

    let (on_disconnect, began) = (on_disconnect?, began?);
    let (from, on_busy, unanswered) = began.into_from(on_disconnect, start.deltas);
    let terms = Terms {
        additional_turns: turns?,
        tool_round_limit: rounds?,
        deltas: start.deltas,
        deadline: deadline?,
        decision_timeout_ms: timeout?,
        expiry_ms: None,
        on_disconnect,
        on_busy,
        unanswered,
        omit_generation_history: start.omit_generation_history,
        spend_limit: spend_limit?,
    };
    let start = Start { id: id?, fingerprint, from, terms, labels: labels?, ephemeral: start.ephemeral };
    fits.then_some(start)
}

/// What leaves nothing behind has no id that could be used later, and puts nothing on a thread.
fn nothing_stays(start: &pb::CoordinationStart, at: &Path<'_>, problems: &mut Problems) -> bool {
    use pb::coordination_start::From as Pb;
    use pb::initial_request::Thread;
    if !start.ephemeral {
        return true;
    }
    let mut good = true;
    if !start.coordination_id.is_empty() {
        problems.add(&at.field("coordination_id"), "names what leaves nothing behind: leave it or `ephemeral` out");
        good = false;
    }
    if let Some(Pb::InitialRequest(pb::InitialRequest { thread: Some(thread), .. })) = &start.from {
        let name = match thread {
            Thread::ExistingThread(_) => "existing_thread",
            Thread::NewThread(_) => "new_thread",
        };
        let message = "would be moved by what leaves nothing behind: leave it or `ephemeral` out";
        problems.add(&at.field("initial_request").field(name), message);
        good = false;
    }
    good
}

/// What a start says of where it begins.
#[expect(clippy::large_enum_variant, reason = "made once a start, and taken apart at once")]
enum Began {
    Exchange(ExchangeId),
    Thread(Point),
    Initial(Request, Option<Put>, Hash),
}

/// A thread to put an initial request on.
enum Put {
    Existing(Point),
    New(NewThread),
}

impl Began {
    /// Where it begins, and what its thread says of each turn.
    fn into_from(self, on_disconnect: OnDisconnect, deltas: bool) -> (From, OnBusy, Unanswered) {
        match self {
            Self::Exchange(id) => (From::Exchange(id), OnBusy::default(), Unanswered::default()),
            Self::Thread(point) => {
                let (on_busy, unanswered) = (point.on_busy, point.unanswered);
                (From::Thread(ask::thread_ref(point)), on_busy, unanswered)
            }
            Self::Initial(request, thread, fingerprint) => {
                let (on_busy, unanswered) = match &thread {
                    Some(Put::Existing(point)) => (point.on_busy, point.unanswered),
                    Some(Put::New(_)) | None => (OnBusy::default(), Unanswered::default()),
                };
                let base = match thread {
                    None => Base::Root,
                    Some(Put::Existing(point)) => Base::EmptyThread(ask::thread_ref(point)),
                    Some(Put::New(new)) => Base::NewThread(new),
                };
                let on_disconnect = request.on_disconnect.unwrap_or(on_disconnect);
                let turn = Turn { on_disconnect, ..ask::of_request(request, fingerprint, base, true, deltas) };
                (From::Initial(Box::new(turn)), on_busy, unanswered)
            }
        }
    }
}

fn began_from_pb(from: pb::coordination_start::From, at: &Path<'_>, problems: &mut Problems) -> Option<Began> {
    use pb::coordination_start::From as Pb;
    match from {
        Pb::Exchange(point) => {
            thread::exchange_point_from_pb(&point, &at.field("exchange"), problems).map(Began::Exchange)
        }
        Pb::Thread(point) => thread::point_from_pb(point, &at.field("thread"), problems).map(Began::Thread),
        Pb::InitialRequest(initial) => initial_from_pb(initial, &at.field("initial_request"), problems),
    }
}

fn initial_from_pb(initial: pb::InitialRequest, at: &Path<'_>, problems: &mut Problems) -> Option<Began> {
    use pb::initial_request::Thread;
    let fingerprint = fingerprint::initial(&initial);
    let request = problem::required(initial.request, "what to execute", &at.field("request"), problems)
        .and_then(|request| execution::from_pb(request, &at.field("request"), problems));
    let thread = match initial.thread {
        None => Some(None),
        Some(Thread::ExistingThread(point)) => {
            capture::empty_thread_from_pb(point, &at.field("existing_thread"), problems)
                .map(|point| Some(Put::Existing(point)))
        }
        Some(Thread::NewThread(new)) => {
            thread::new_from_pb(new, &at.field("new_thread"), problems).map(|new| Some(Put::New(new)))
        }
    };
    Some(Began::Initial(request?, thread?, fingerprint))
}

fn up_to(number: u32, max: u32, at: &Path<'_>, problems: &mut Problems) -> Option<u32> {
    if number > max {
        problems.add(at, format!("is {number}: it must be 0 to {max}"));
        return None;
    }
    Some(number)
}

fn timeout_from_pb(timeout: Option<Duration>, at: &Path<'_>, problems: &mut Problems) -> Option<Option<u64>> {
    let Some(timeout) = timeout else {
        return Some(None);
    };
    let milliseconds = moment::duration_from_pb(timeout, at, problems)?;
    if milliseconds == 0 {
        problems.add(at, "must be over 0: leave it out for as long as it likes");
        return None;
    }
    Some(Some(milliseconds))
}
