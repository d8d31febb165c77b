//! The `reasoning_details` that OpenRouter sends and wants back as they were, put together from the pieces in which a stream brings them. It
//! must not know what they say.

use crate::engine::backend::wire::{Grown, Value};

/// The details of one answer, in the order in which they began, each known by its index and type.
#[derive(Debug, Default)]
pub(super) struct Details(Vec<((Option<u64>, String), Grown)>);

impl Details {
    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.0.iter().map(|(_, detail)| detail.bytes()).sum()
    }

    /// Takes a detail, or a piece of one; what comes without an index stands alone.
    pub(super) fn take(&mut self, value: Value<'_>) {
        let Some(object) = value.object() else { return };
        let key = (object.count("index"), object.text("type").unwrap_or_default());
        let known = self.0.iter().position(|(known, _)| key.0.is_some() && *known == key);
        let Some((_, detail)) = known.and_then(|at| self.0.get_mut(at)) else {
            self.0.push((key, Grown::of(&object)));
            return;
        };
        for (name, value) in object.fields() {
            match value.text().filter(|_| matches!(name, "text" | "summary" | "data")) {
                Some(more) => detail.append(name, &more),
                None => detail.set(name, value),
            }
        }
    }

    /// All of them as a JSON array; absent when there are none.
    pub(super) fn json(&self) -> Option<String> {
        let details: Vec<_> = self.0.iter().map(|(_, detail)| detail.json()).collect();
        if details.is_empty() { None } else { Some(format!("[{}]", details.join(","))) }
    }
}
