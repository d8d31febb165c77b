//! What this process remembers of having answered. Knows nothing of what was asked.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::pb;

/// What this process has answered, so that no callback is made twice for one id. Forgotten when the coordination ends.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    answers: HashMap<String, pb::CoordinateRequest>,
    results: HashMap<String, pb::ToolResult>,
}

impl Memory {
    pub(crate) fn answer(&self, id: &str) -> Option<pb::CoordinateRequest> {
        self.with(|kept| kept.answers.get(id).cloned())
    }

    pub(crate) fn keep(&self, id: &str, answer: pb::CoordinateRequest) {
        self.with(|kept| kept.answers.insert(id.to_owned(), answer));
    }

    pub(crate) fn take_back(&self, id: &str) {
        self.with(|kept| kept.answers.remove(id));
    }

    pub(crate) fn result(&self, call_id: &str) -> Option<pb::ToolResult> {
        self.with(|kept| kept.results.get(call_id).cloned())
    }

    pub(crate) fn keep_result(&self, result: pb::ToolResult) {
        self.with(|kept| kept.results.insert(result.call_id.clone(), result));
    }

    pub(crate) fn clear(&self) {
        self.with(|kept| *kept = Kept::default());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.with(|kept| kept.answers.is_empty() && kept.results.is_empty())
    }

    fn with<T>(&self, act: impl FnOnce(&mut Kept) -> T) -> T {
        // Nothing here fails half way, so that a panic elsewhere leaves it whole.
        act(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
