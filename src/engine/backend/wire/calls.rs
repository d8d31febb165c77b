//! Puts tool calls together from their fragments, in every form in which servers send them. It must not know the rest of an answer.

use super::reader::{self, Object, Value};
use crate::domain::id::CallId;
use crate::domain::message::ToolCall;
use crate::engine::backend::Delta;

/// The calls of one answer, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    slots: Vec<Slot>,
}

#[derive(Debug, Default)]
struct Slot {
    id: String,
    index: Option<u64>,
    name: String,
    name_told: bool,
    arguments: String,
    extra: Vec<(String, String)>,
}

/// A call, and the fields beside those of the dialect that are to be kept.
pub(crate) struct Done {
    pub(crate) call: ToolCall,
    pub(crate) extra: Vec<(String, String)>,
    pub(crate) replaced: bool,
}

struct Fragment {
    id: String,
    index: Option<u64>,
    name: String,
    arguments: String,
}

impl Calls {
    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.iter().map(|slot| slot.name.len() + slot.arguments.len() + slot.id.len()).sum()
    }

    /// Takes the fragments of one delta, or the whole calls of an answer.
    pub(crate) fn take(&mut self, entries: &[Object<'_>], keep: &[String], emit: &mut dyn FnMut(Delta)) {
        let mut touched = None;
        for entry in entries {
            let fragment = Fragment::read(entry);
            let at = self.place(&fragment, touched);
            touched = Some(at);
            let Some(slot) = self.slots.get_mut(at) else { continue };
            if slot.id.is_empty() {
                slot.id = fragment.id;
            }
            slot.index = slot.index.or(fragment.index);
            // A piece that equals what is there repeats it, anything else goes on with it.
            if slot.name != fragment.name {
                slot.name.push_str(&fragment.name);
            }
            for (key, value) in entry.fields().filter(|(key, _)| keep.iter().any(|kept| kept == key)) {
                slot.extra.retain(|(known, _)| known != key);
                slot.extra.push((key.to_owned(), value.raw().to_owned()));
            }
            let repeats = slot.arguments == fragment.arguments && slot.is_whole();
            if fragment.arguments.is_empty() || repeats {
                continue;
            }
            slot.arguments.push_str(&fragment.arguments);
            let name = if slot.name_told || slot.name.is_empty() { None } else { Some(slot.name.clone()) };
            slot.name_told |= name.is_some();
            emit(Delta::ToolCall { index: index(at), name, arguments_json: fragment.arguments });
        }
    }

    /// Which call a fragment belongs to; a new one when to none. An id that is not the one of the call at its index begins a call: some
    /// servers give every call the index 0. Without id and index, a name begins a call unless the last one still waits for its name or its
    /// arguments, or came in the same delta.
    fn place(&mut self, fragment: &Fragment, touched: Option<usize>) -> usize {
        let last = self.slots.len().checked_sub(1);
        let is_more = fragment.name.is_empty();
        let named = |slot: &Slot| slot.id == fragment.id;
        let found = match (fragment.id.is_empty(), fragment.index) {
            (false, Some(number)) => self
                .slots
                .iter()
                .rposition(|slot| slot.index == Some(number) && (named(slot) || slot.id.is_empty() || is_more)),
            (false, None) => self.slots.iter().rposition(named),
            (true, Some(number)) => {
                let numbered = self.slots.iter().rposition(|slot| slot.index == Some(number));
                numbered.or(last.filter(|_| is_more))
            }
            (true, None) if is_more => last,
            (true, None) => last.filter(|last| {
                touched != Some(*last) || self.slots.get(*last).is_some_and(|slot| slot.name.is_empty())
            }),
        };
        let begins_another = |slot: &Slot| {
            let names_it = !fragment.name.is_empty() && !slot.name.is_empty();
            let repeats = slot.name == fragment.name
                && (fragment.arguments.trim().is_empty() || !fragment.id.is_empty() && named(slot));
            names_it && slot.is_whole() && !repeats
        };
        match found {
            Some(at) if !self.slots.get(at).is_some_and(begins_another) => at,
            _ => {
                self.slots.push(Slot::default());
                self.slots.len() - 1
            }
        }
    }

    /// Tells the names that were held back because more of them could have come.
    pub(crate) fn tell_names(&mut self, emit: &mut dyn FnMut(Delta)) {
        for (at, slot) in self.slots.iter_mut().enumerate() {
            if !slot.name_told && !slot.name.is_empty() {
                slot.name_told = true;
                emit(Delta::ToolCall {
                    index: index(at),
                    name: Some(slot.name.clone()),
                    arguments_json: String::new(),
                });
            }
        }
    }

    /// The calls, whole; absent when one has no name.
    pub(crate) fn finish(self) -> Option<Vec<Done>> {
        self.slots.into_iter().map(Slot::finish).collect()
    }
}

impl Slot {
    /// Nothing can be missing from its arguments.
    fn is_whole(&self) -> bool {
        reader::is_object(&self.arguments)
    }

    fn finish(self) -> Option<Done> {
        if self.name.is_empty() {
            return None;
        }
        let (call, replaced) = tool_call(self.id, self.name, self.arguments);
        Some(Done { call, extra: self.extra, replaced })
    }
}

impl Fragment {
    fn read(entry: &Object<'_>) -> Self {
        let function = entry.object("function");
        // Some servers leave out the level in between.
        let function = function.as_ref().unwrap_or(entry);
        let arguments = function.get("arguments").or_else(|| function.get("parameters"));
        Self {
            id: entry.get("id").map(Value::text_or_raw).unwrap_or_default(),
            index: entry.count("index"),
            name: function.text("name").unwrap_or_default(),
            arguments: arguments.map(Value::text_or_raw).unwrap_or_default(),
        }
    }
}

/// A call of the provider's id for it, its name and its arguments, and whether something in these had to be replaced. Servers send no byte,
/// blanks or a null for a tool without parameters; what is broken stays as it is.
pub(crate) fn tool_call(provider_call_id: String, name: String, arguments: String) -> (ToolCall, bool) {
    let says_nothing = matches!(arguments.trim(), "" | "null");
    let arguments = if says_nothing { "{}".to_owned() } else { arguments };
    let (arguments_json, replaced) = match reader::mend(&arguments) {
        Some(mended) => (mended, true),
        None => (arguments, false),
    };
    let arguments_invalid = !reader::is_object(&arguments_json);
    (ToolCall { call_id: CallId::default(), provider_call_id, name, arguments_json, arguments_invalid }, replaced)
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
