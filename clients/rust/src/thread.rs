//! Threads and runs as they are read. Knows nothing of how they are asked for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::value::RawValue;

use crate::error::Error;
use crate::message::Message;
use crate::pb;
use crate::tool_call::ToolCall;
use crate::usage::Usage;
use crate::word::{RunState, StopReason};
use crate::{Delta, Exchange};

/// A named bookmark into the graph, as it was when it was read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Thread {
    /// Its id.
    pub thread_id: String,
    /// For people.
    pub name: String,
    /// The last exchange of its last completed run; empty when there is none.
    pub head_exchange_id: String,
    /// How many turns lead to the head.
    pub turn_count: u64,
    /// Changes with every change of it.
    pub etag: String,
    /// The run at work, or the one that failed or was interrupted and may be resumed; empty when there is none.
    pub active_run_id: String,
    /// The thread that it was forked from; empty when it was not, or at a bare exchange.
    pub parent_thread_id: String,
    /// Labels to list by.
    pub labels: BTreeMap<String, String>,
    /// The caller's own data, JSON, as it was given.
    pub metadata: Option<Box<RawValue>>,
    /// They wait for results.
    pub tool_calls: Vec<ToolCall>,
    raw: Arc<pb::Thread>,
}

impl Thread {
    /// The message behind it.
    pub fn raw(&self) -> &pb::Thread {
        &self.raw
    }

    pub(crate) fn from_raw(raw: pb::Thread) -> Self {
        Self {
            thread_id: raw.thread_id.clone(),
            name: raw.name.clone(),
            head_exchange_id: raw.head_exchange_id.clone(),
            turn_count: raw.turn_count,
            etag: raw.etag.clone(),
            active_run_id: raw.active_run_id.clone(),
            parent_thread_id: raw.parent.as_ref().map(|parent| parent.thread_id.clone()).unwrap_or_default(),
            labels: raw.labels.clone(),
            // An empty text is no JSON: there is no data then.
            metadata: RawValue::from_string(raw.metadata_json.clone()).ok(),
            tool_calls: raw.pending.as_ref().map(|pending| ToolCall::all(&pending.calls)).unwrap_or_default(),
            raw: Arc::new(raw),
        }
    }
}

/// One turn on a thread's path.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Turn {
    /// Counted from 1.
    pub number: u64,
    /// Its run.
    pub run_id: String,
    /// Its last exchange.
    pub exchange_id: String,
    /// The beginning of what was asked.
    pub user: String,
    /// The beginning of the answer.
    pub assistant: String,
    /// Why the model stopped.
    pub stop_reason: StopReason,
}

impl Turn {
    pub(crate) fn from_raw(raw: pb::Turn) -> Self {
        Self {
            number: raw.turn,
            run_id: raw.run_id,
            exchange_id: raw.exchange_id,
            user: raw.user_preview,
            assistant: raw.assistant_preview,
            stop_reason: StopReason::from_raw(raw.stop_reason),
        }
    }
}

/// One move of a thread's head.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Move {
    /// The head before; empty when there was none.
    pub from_exchange_id: String,
    /// The head after.
    pub to_exchange_id: String,
    /// The run that moved it; empty for a restore.
    pub run_id: String,
    /// When.
    pub time: SystemTime,
    /// The version of the documents before, by its name; empty for none.
    pub from_root: String,
    /// The version of the documents after; empty for none.
    pub to_root: String,
}

impl Move {
    pub(crate) fn from_raw(raw: pb::ThreadMove) -> Self {
        Self {
            from_exchange_id: raw.from_exchange_id,
            to_exchange_id: raw.to_exchange_id,
            run_id: raw.run_id,
            time: time_of(raw.time),
            from_root: raw.from_workspace_root,
            to_root: raw.to_workspace_root,
        }
    }
}

/// A time that is read; the beginning of all where there is none.
pub(crate) fn time_of(raw: Option<prost_types::Timestamp>) -> SystemTime {
    raw.and_then(|time| SystemTime::try_from(time).ok()).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// One prompt to its final assistant message, as it was when it was read.
#[derive(Debug)]
#[non_exhaustive]
pub struct Run {
    /// Its id.
    pub run_id: String,
    /// Where it is.
    pub state: RunState,
    /// Whether its exchanges are kept.
    pub captured: bool,
    /// Its last exchange; empty when it has none.
    pub exchange_id: String,
    /// The thread that it moves; empty without one.
    pub thread_id: String,
    /// Which attempt under this id the state belongs to.
    pub attempt: u32,
    /// What it consumed, each call counted once.
    pub usage: Usage,
    /// How often a model was called for it.
    pub model_calls: usize,
    /// Why it failed, was cancelled or interrupted.
    pub error: Option<Error>,
    /// Labels to list by.
    pub labels: BTreeMap<String, String>,
    raw: pb::Run,
}

impl Run {
    /// The message behind it.
    pub fn raw(&self) -> &pb::Run {
        &self.raw
    }

    pub(crate) fn from_raw(raw: pb::Run) -> Self {
        Self {
            run_id: raw.run_id.clone(),
            state: RunState::from_raw(raw.state),
            captured: raw.captured,
            exchange_id: raw.exchange_id.clone(),
            thread_id: raw.thread_id.clone(),
            attempt: raw.attempt,
            usage: Usage::from_raw(raw.usage.as_ref()),
            model_calls: raw.observations.len(),
            error: raw.error.clone().map(Error::from_raw),
            labels: raw.labels.clone(),
            raw,
        }
    }
}

/// Something that happened to a run that is followed.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunEvent {
    /// Of a state its number, which stays for ever and is given to go on after it; 0 for what is not on record.
    pub sequence: u64,
    /// What it is.
    pub kind: RunEventKind,
}

/// What happened to a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunEventKind {
    /// It came to a state.
    State(Box<Run>),
    /// What came of its answer's text before it was followed, or before the connection broke.
    TextSoFar(String),
    /// More of its answer.
    Delta(Delta),
    /// Something else on the way, which [`Client::raw`](crate::Client::raw) tells of.
    Other,
}

impl RunEvent {
    pub(crate) fn from_raw(raw: pb::WatchResponse) -> Self {
        let kind = match raw.event {
            Some(pb::watch_response::Event::Run(run)) => RunEventKind::State(Box::new(Run::from_raw(run))),
            Some(pb::watch_response::Event::TextSoFar(text)) => RunEventKind::TextSoFar(text.text),
            Some(pb::watch_response::Event::Progress(progress)) => match progress.event {
                Some(pb::progress::Event::Delta(delta)) => {
                    Delta::from_raw(Some(delta)).map_or(RunEventKind::Other, RunEventKind::Delta)
                }
                _ => RunEventKind::Other,
            },
            None => RunEventKind::Other,
        };
        Self { sequence: raw.sequence, kind }
    }
}

/// One exchange with its history.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inspection {
    /// The exchange.
    pub exchange: Exchange,
    /// The whole logical history, the answer included; empty when none was asked for.
    pub messages: Vec<Message>,
    /// The exchanges that they come from, by their ids, the root first.
    pub path: Vec<String>,
}
