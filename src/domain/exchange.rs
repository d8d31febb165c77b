//! Exchanges: completed model calls, immutable. It must not know how they are stored or who made the call.

use std::collections::BTreeMap;

use super::drift::Lineage;
use super::id::{CallId, ExchangeId, Hash, Moment, RunId, ThreadId};
use super::message::{Message, Role, ToolCall};
use super::run::{Observation, StopReason};
use super::settings::{EffectiveSetting, Validation, Warning};
use super::usage::Usage;
use super::workspace::Around;

/// How an exchange came to be here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// This server made the call.
    Executed,
    /// The caller made it and told us.
    Recorded,
    /// It came with an import.
    Imported,
}

/// Who answered.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Responder {
    /// The backend; empty when the caller made the call.
    pub backend_id: String,
    /// The provider.
    pub provider: String,
    /// The dialect.
    pub api: String,
    /// The model that was asked for.
    pub model: String,
    /// The model that says it answered.
    pub response_model: String,
    /// The provider's id for the answer.
    pub response_id: String,
}

/// The head that a thread had before an exchange that was made on it became its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HeadBefore {
    /// It became none, or was stored before this was kept.
    #[default]
    Untold,
    /// None.
    Empty,
    /// This one.
    At(ExchangeId),
}

impl HeadBefore {
    /// Of a head.
    pub fn of(head: Option<ExchangeId>) -> Self {
        head.map_or(Self::Empty, Self::At)
    }
}

/// One completed model call.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// Its id.
    pub id: ExchangeId,
    /// The model call before it.
    pub parent: Option<ExchangeId>,
    /// The exchange that its run continued.
    pub continues: Option<ExchangeId>,
    /// The run of that exchange.
    pub continues_run: Option<RunId>,
    /// The run that made it; absent only for imported ones.
    pub run_id: Option<RunId>,
    /// How many model calls are on the path to it, itself included.
    pub depth: u64,
    /// The number of its turn on the path.
    pub turn: u64,
    /// The thread that it was made on.
    pub thread_id: Option<ThreadId>,
    /// How it came to be here.
    pub origin: Origin,
    /// What this call added to the history before the answer.
    pub messages: Vec<Message>,
    /// The answer.
    pub assistant: Message,
    /// Why the model stopped.
    pub stop_reason: StopReason,
    /// The provider's own word for it.
    pub stop_reason_raw: String,
    /// Tool set offered in this call; absent for the empty one.
    pub offered: Option<Hash>,
    /// Tool set that stands for the next; absent for the empty one.
    pub standing: Option<Hash>,
    /// The tools that the path has seen, this call's included.
    pub lineage: Lineage,
    /// Each setting with its source.
    pub settings: Vec<EffectiveSetting>,
    /// Whether the answer had its form.
    pub validation: Validation,
    /// What this call consumed.
    pub usage: Usage,
    /// Each attempt.
    pub observations: Vec<Observation>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
    /// Who answered.
    pub responder: Responder,
    /// Hash over the parent's hash and the messages, keyed by namespace.
    pub content_hash: Hash,
    /// The labels of the request.
    pub labels: BTreeMap<String, String>,
    /// When it was stored.
    pub created_at: Moment,
    /// The documents before its run and when it was complete.
    pub workspace: Around,
    /// The head that its thread had before it.
    pub head_before: HeadBefore,
    /// It was erased: nothing of what was said is left.
    pub erased: Option<Erased>,
}

/// That an exchange was erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erased {
    /// The receipt; empty when it expired.
    pub receipt: String,
    /// When.
    pub at: Moment,
    /// By whom: the name of a credential.
    pub by: String,
}

/// What an audit of tools needs of an exchange: no content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glance {
    /// Its id.
    pub id: ExchangeId,
    /// Its depth.
    pub depth: u64,
    /// The run that made it.
    pub run_id: Option<RunId>,
    /// The thread that it was made on.
    pub thread_id: Option<ThreadId>,
    /// Tool set offered in this call; absent for the empty one.
    pub offered: Option<Hash>,
    /// The tools that the path has seen.
    pub lineage: Lineage,
    /// The calls of its answer, each with the name of its tool.
    pub calls: Vec<(CallId, String)>,
    /// When it was stored.
    pub created_at: Moment,
}

impl Exchange {
    /// What is left of it when it is erased: its ids, its place, its hash, the head before it and what it consumed.
    #[must_use]
    pub fn erased(self, erased: Erased) -> Self {
        Self {
            messages: Vec::new(),
            assistant: Message { role: Role::Assistant, parts: Vec::new() },
            stop_reason_raw: String::new(),
            offered: None,
            standing: None,
            lineage: Lineage::Unknown,
            settings: Vec::new(),
            validation: Validation::default(),
            usage: Usage { provider_json: String::new(), ..self.usage },
            observations: Vec::new(),
            warnings: Vec::new(),
            responder: Responder::default(),
            labels: BTreeMap::new(),
            workspace: Around::default(),
            erased: Some(erased),
            ..self
        }
    }

    /// The calls of its answer: whatever follows must answer each of them once.
    pub fn calls(&self) -> Vec<&ToolCall> {
        self.assistant.tool_calls().collect()
    }

    /// Its answer calls tools, so its run is not over.
    pub fn is_pending(&self) -> bool {
        self.assistant.tool_calls().next().is_some()
    }

    /// The text of its last user message; empty when it has none.
    pub fn asked(&self) -> String {
        let asked = self.messages.iter().rev().find(|message| message.role == Role::User);
        asked.map(Message::joined_text).unwrap_or_default()
    }

    /// The number of the turn that an exchange after this one belongs to. A turn is one COMPLETED run on a path, so a run that ended with
    /// unanswered calls does not count.
    pub fn next_turn(&self) -> u64 {
        if self.is_pending() { self.turn } else { self.turn.saturating_add(1) }
    }
}
