//! Names and ids as this dialect allows them: letters, digits, `_` and `-`. What others gave is kept where it fits, and told apart where it
//! does not. It must not know messages.

use std::collections::{HashMap, HashSet};

use crate::domain::id::CallId;
use crate::domain::message::ToolCall;
use crate::engine::backend::wire::Adaptations;

/// Longest id and name of a tool that goes out as it is.
const MAX_LENGTH: usize = 64;

/// The ids of the calls of one request. None goes out twice.
#[derive(Default)]
pub(super) struct Ids<'a> {
    wire: HashMap<&'a CallId, String>,
    used: HashSet<String>,
}

impl<'a> Ids<'a> {
    /// The id of a call on the wire: the provider's where it fits and is free, else one that is made of ours.
    pub(super) fn give(&mut self, call: &'a ToolCall, adapted: &mut Adaptations) -> String {
        let given = call.provider_call_id.as_str();
        let ours = call.call_id.as_str();
        let made = || blake3::hash(ours.as_bytes()).to_hex().chars().take(32).collect::<String>();
        let fits = |id: &&str| is_allowed(id) && !self.used.contains(*id);
        let id = [given, ours].into_iter().find(fits).map_or_else(made, str::to_owned);
        if !given.is_empty() && id != given {
            adapted.add("call_id_replaced");
        }
        self.used.insert(id.clone());
        self.wire.insert(&call.call_id, id.clone());
        id
    }

    /// The same id for the result.
    pub(super) fn of(&self, call_id: &CallId) -> String {
        self.wire.get(call_id).cloned().unwrap_or_else(|| call_id.as_str().to_owned())
    }
}

/// The name of a tool.
pub(super) fn tool_name(name: &str, adapted: &mut Adaptations) -> String {
    if is_allowed(name) {
        return name.to_owned();
    }
    adapted.add("tool_name_changed");
    let sent: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).take(MAX_LENGTH).collect();
    if sent.is_empty() { "_".to_owned() } else { sent }
}

fn is_allowed(word: &str) -> bool {
    (1..=MAX_LENGTH).contains(&word.len()) && word.chars().all(is_plain)
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}
