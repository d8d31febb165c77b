//! Threads: named bookmarks into the graph, and the rules by which a head moves. It must not know storage or callers.

use std::collections::BTreeMap;

use super::id::{ExchangeId, Moment, RunId, ThreadId};
use super::settings::ThreadDefaults;

/// A named bookmark into the graph. Its head is kept apart, see [`Head`].
#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    /// Its id.
    pub id: ThreadId,
    /// A name for people.
    pub name: String,
    /// Labels to list by.
    pub labels: BTreeMap<String, String>,
    /// The caller's own data: a JSON object in text; empty for none.
    pub metadata_json: String,
    /// What its turns use.
    pub defaults: ThreadDefaults,
    /// Where it was forked from.
    pub parent: Option<Parent>,
    /// When it was made.
    pub created_at: Moment,
    /// When this record last changed.
    pub updated_at: Moment,
}

/// Where a thread was forked from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The thread; absent when the fork was at a bare exchange.
    pub thread_id: Option<ThreadId>,
    /// The exchange at the fork point.
    pub exchange: ExchangeId,
    /// Its run.
    pub run_id: Option<RunId>,
    /// Its turn.
    pub turn: u64,
}

/// Where a thread is. Changes with every turn, apart from the rest so that labels and turns do not race.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Head {
    /// The last exchange of the last COMPLETED run.
    pub exchange: Option<ExchangeId>,
    /// Its run.
    pub run_id: Option<RunId>,
    /// How many turns lead to it.
    pub turn_count: u64,
    /// The run at work, or the one that failed or was interrupted and may be resumed (S3-5..7).
    pub active_run: Option<RunId>,
    /// Counts the moves, so that each is told from the one before.
    pub sequence: u64,
    /// When it last changed.
    pub updated_at: Moment,
}

/// The head that a mover saw (rule 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Whatever it is at the claim.
    Any,
    /// No exchange.
    Empty,
    /// This exchange.
    Exchange(ExchangeId),
}

impl Expected {
    /// Whether a head is the expected one.
    pub fn holds(self, head: Option<ExchangeId>) -> bool {
        match self {
            Self::Any => true,
            Self::Empty => head.is_none(),
            Self::Exchange(id) => head == Some(id),
        }
    }

    /// For an error: `any`, `empty` or the id.
    pub fn word(self) -> String {
        match self {
            Self::Any => "any".to_owned(),
            Self::Empty => "empty".to_owned(),
            Self::Exchange(id) => id.to_string(),
        }
    }
}

/// What to do when another run is at work on the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnBusy {
    /// Refuse.
    #[default]
    Reject,
    /// Wait for it, after those that wait already.
    Enqueue,
    /// Cancel it, and go on before those that wait.
    Interrupt,
    /// Fork at the head and run there.
    Fork,
}

/// What to do with a new prompt while tool calls are unanswered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Unanswered {
    /// Refuse.
    #[default]
    Reject,
    /// Answer each with a marked result in the new exchange.
    Interrupt,
    /// Go on from the head.
    Abandon,
}

/// A thread to make.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct NewThread {
    /// Its id; ours when absent.
    pub id: Option<ThreadId>,
    /// A name for people.
    pub name: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// The caller's own data: a JSON object in text; empty for none.
    pub metadata_json: String,
    /// What its turns use; each absent field is the source thread's in a fork.
    pub defaults: ThreadDefaults,
}

/// Changes with every change of a thread or its head, and with the thread itself where one of the same id takes its place.
pub fn etag(thread: &Thread, head: &Head) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("antiphon thread etag 1");
    let mut add = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_be_bytes());
        hasher.update(bytes);
    };
    let optional = |text: Option<&str>| text.map_or_else(String::new, |text| format!("+{text}"));
    add(thread.id.as_str().as_bytes());
    add(thread.name.as_bytes());
    add(&(thread.labels.len() as u64).to_be_bytes());
    for (key, value) in &thread.labels {
        add(key.as_bytes());
        add(value.as_bytes());
    }
    add(thread.metadata_json.as_bytes());
    add(optional(thread.defaults.profile_id.as_deref()).as_bytes());
    add(optional(thread.defaults.model.as_deref()).as_bytes());
    let tools = thread.defaults.standing_tools.as_ref();
    add(tools.map_or(&[0][..], |_| &[1]));
    add(tools.and_then(|tools| tools.hash()).as_ref().map_or(&[][..], |hash| &hash.0));
    add(&thread.created_at.0.to_be_bytes());
    add(&thread.updated_at.0.to_be_bytes());
    add(head.exchange.as_ref().map_or(&[][..], |id| id.as_bytes()));
    add(optional(head.run_id.as_ref().map(RunId::as_str)).as_bytes());
    add(&head.turn_count.to_be_bytes());
    add(optional(head.active_run.as_ref().map(RunId::as_str)).as_bytes());
    add(&head.sequence.to_be_bytes());
    add(&head.updated_at.0.to_be_bytes());
    let mut short = [0; 8];
    hasher.finalize_xof().fill(&mut short);
    short.iter().map(|byte| format!("{byte:02x}")).collect()
}
