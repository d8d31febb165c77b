//! Threads, points on them, and turns. It must not know how a head moves.

use super::problem::{self, absent_if_empty};
use super::{Path, Problems, id, json, label, limit, message, moment, run, tool};
use crate::domain::id::{ExchangeId, Moment, RunId, ThreadId};
use crate::domain::message::ToolCall;
use crate::domain::run::StopReason;
use crate::domain::settings::ThreadDefaults;
use crate::domain::thread::{Expected, Head, NewThread, OnBusy, Parent, Thread, Unanswered, etag};
use crate::grpc::pb;

#[cfg(test)]
mod tests;

/// Longest name, in characters.
pub(super) const MAX_NAME: usize = 255;
/// Longest metadata, in bytes.
const MAX_METADATA: usize = 64 * 1024;
/// Longest preview of a text, in characters.
const MAX_PREVIEW: usize = 200;

/// A thread to go on from and move.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The thread.
    pub thread_id: ThreadId,
    /// The head that the caller saw.
    pub expected: Expected,
    /// What to do when another run is at work.
    pub on_busy: OnBusy,
    /// What to do while tool calls are unanswered.
    pub unanswered: Unanswered,
}

/// A thread to put something on.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// One that is there.
    Existing(Point),
    /// One to make.
    New(NewThread),
}

/// Tool calls that wait for results.
#[derive(Clone, Debug, PartialEq)]
pub struct Pending {
    /// The run that called.
    pub run_id: RunId,
    /// Its exchange with the calls.
    pub exchange: ExchangeId,
    /// The calls.
    pub calls: Vec<ToolCall>,
}

/// One turn on a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Its number, from 1.
    pub number: u64,
    /// Its run; absent for imported exchanges without one.
    pub run_id: Option<RunId>,
    /// Its last exchange.
    pub exchange: ExchangeId,
    /// How many exchanges it has.
    pub exchange_count: u32,
    /// The text of its last user message, whole.
    pub user_text: String,
    /// The text of its answer, whole.
    pub assistant_text: String,
    /// Why the model stopped.
    pub stop_reason: StopReason,
    /// When its last exchange was stored.
    pub created_at: Moment,
    /// An exchange of it was erased.
    pub is_erased: bool,
}

/// A thread to go on from.
pub fn point_from_pb(point: pb::ThreadPoint, at: &Path<'_>, problems: &mut Problems) -> Option<Point> {
    let thread_id = id::required(&point.thread_id, &at.field("thread_id"), problems);
    let expected = expected_from_pb(point.expected_head, &at.field("expected_head"), problems);
    let on_busy = on_busy_from_pb(point.on_busy, &at.field("on_busy"), problems);
    let unanswered = unanswered_from_pb(point.unanswered_tools, &at.field("unanswered_tools"), problems);
    let unanswered = unanswered.map(Option::unwrap_or_default);
    Some(Point { thread_id: thread_id?, expected: expected?, on_busy: on_busy?, unanswered: unanswered? })
}

/// What to do with a request while tool calls are unanswered; absent when the caller does not say.
pub(super) fn unanswered_from_pb(number: i32, at: &Path<'_>, problems: &mut Problems) -> Option<Option<Unanswered>> {
    match pb::UnansweredTools::try_from(number) {
        Ok(pb::UnansweredTools::Unspecified) => Some(None),
        Ok(pb::UnansweredTools::Reject) => Some(Some(Unanswered::Reject)),
        Ok(pb::UnansweredTools::Interrupt) => Some(Some(Unanswered::Interrupt)),
        Ok(pb::UnansweredTools::Abandon) => Some(Some(Unanswered::Abandon)),
        Err(_) => {
            let words = "UNANSWERED_TOOLS_REJECT, UNANSWERED_TOOLS_INTERRUPT, UNANSWERED_TOOLS_ABANDON or nothing";
            problems.add(at, format!("has the unknown value {number}: use {words}"));
            None
        }
    }
}

fn on_busy_from_pb(number: i32, at: &Path<'_>, problems: &mut Problems) -> Option<OnBusy> {
    match pb::OnBusy::try_from(number) {
        Ok(pb::OnBusy::Unspecified | pb::OnBusy::Reject) => Some(OnBusy::Reject),
        Ok(pb::OnBusy::Fork) => Some(OnBusy::Fork),
        Ok(pb::OnBusy::Enqueue) => Some(OnBusy::Enqueue),
        Ok(pb::OnBusy::Interrupt) => Some(OnBusy::Interrupt),
        Err(_) => {
            let words = "ON_BUSY_REJECT, ON_BUSY_ENQUEUE, ON_BUSY_INTERRUPT, ON_BUSY_FORK or nothing";
            problems.add(at, format!("has the unknown value {number}: use {words}"));
            None
        }
    }
}

/// The head that a caller saw; any when it does not say.
pub fn expected_from_pb(
    expected: Option<pb::ExpectedHead>,
    at: &Path<'_>,
    problems: &mut Problems,
) -> Option<Expected> {
    let Some(expected) = expected else {
        return Some(Expected::Any);
    };
    match problem::required(expected.head, "`exchange` or `empty`, or leave it out", at, problems)? {
        pb::expected_head::Head::Empty(pb::EmptyHead {}) => Some(Expected::Empty),
        pb::expected_head::Head::Exchange(point) => {
            exchange_point_from_pb(&point, &at.field("exchange"), problems).map(Expected::Exchange)
        }
    }
}

/// A point in the graph: an exchange.
pub fn exchange_point_from_pb(point: &pb::ExchangePoint, at: &Path<'_>, problems: &mut Problems) -> Option<ExchangeId> {
    id::required(&point.exchange_id, &at.field("exchange_id"), problems)
}

/// A thread to make.
pub fn new_from_pb(thread: pb::NewThread, at: &Path<'_>, problems: &mut Problems) -> Option<NewThread> {
    let thread_id = id::chosen(&thread.thread_id, &at.field("thread_id"), problems);
    let name = name_from_pb(thread.name, &at.field("name"), problems);
    let labels = label::from_pb(thread.labels, &at.field("labels"), problems);
    let metadata = metadata_from_pb(thread.metadata_json, &at.field("metadata_json"), problems);
    let defaults = defaults_from_pb(thread.defaults.unwrap_or_default(), &at.field("defaults"), problems);
    Some(NewThread { id: thread_id?, name: name?, labels: labels?, metadata_json: metadata?, defaults: defaults? })
}

pub(super) fn name_from_pb(name: String, at: &Path<'_>, problems: &mut Problems) -> Option<String> {
    limit::characters(&name, MAX_NAME, at, problems).then_some(name)
}

pub(super) fn metadata_from_pb(text: String, at: &Path<'_>, problems: &mut Problems) -> Option<String> {
    json::optional_object(text, MAX_METADATA, at, problems).map(Option::unwrap_or_default)
}

pub(super) fn defaults_from_pb(
    defaults: pb::ThreadDefaults,
    at: &Path<'_>,
    problems: &mut Problems,
) -> Option<ThreadDefaults> {
    let tools = tool::optional_list_from_pb(defaults.standing_tools, &at.field("standing_tools"), problems);
    Some(ThreadDefaults {
        profile_id: absent_if_empty(defaults.profile_id),
        model: absent_if_empty(defaults.model),
        standing_tools: tools?,
    })
}

/// A thread in an answer.
pub fn to_pb(thread: Thread, head: Head, pending: Option<Pending>) -> pb::Thread {
    let update_time = moment::to_pb(thread.updated_at.max(head.updated_at));
    pb::Thread {
        etag: etag(&thread, &head),
        thread_id: thread.id.to_string(),
        name: thread.name,
        head_exchange_id: id::text(head.exchange),
        head_run_id: id::text(head.run_id),
        turn_count: head.turn_count,
        labels: thread.labels,
        metadata_json: thread.metadata_json,
        defaults: Some(pb::ThreadDefaults {
            profile_id: thread.defaults.profile_id.unwrap_or_default(),
            model: thread.defaults.model.unwrap_or_default(),
            standing_tools: thread.defaults.standing_tools.map(tool::list_to_pb),
        }),
        parent: thread.parent.map(parent_to_pb),
        active_run_id: id::text(head.active_run),
        pending: pending.map(|pending| pb::PendingToolCalls {
            run_id: pending.run_id.to_string(),
            exchange_id: pending.exchange.to_string(),
            calls: message::calls_to_pb(pending.calls),
        }),
        create_time: Some(moment::to_pb(thread.created_at)),
        update_time: Some(update_time),
    }
}

/// Where a thread was forked.
pub(super) fn parent_to_pb(parent: Parent) -> pb::ThreadParent {
    pb::ThreadParent {
        thread_id: id::text(parent.thread_id),
        exchange_id: parent.exchange.to_string(),
        run_id: id::text(parent.run_id),
        turn: parent.turn,
    }
}

/// A turn in an answer.
pub fn turn_to_pb(turn: Turn) -> pb::Turn {
    let preview = |text: &str| text.chars().take(MAX_PREVIEW).collect();
    pb::Turn {
        turn: turn.number,
        run_id: id::text(turn.run_id),
        exchange_id: turn.exchange.to_string(),
        exchange_count: turn.exchange_count,
        user_preview: preview(&turn.user_text),
        assistant_preview: preview(&turn.assistant_text),
        stop_reason: run::stop_reason_to_pb(turn.stop_reason).into(),
        create_time: Some(moment::to_pb(turn.created_at)),
        erased: turn.is_erased,
    }
}
