//! Puts tool calls together from their fragments, in every form in which servers send them. It must not know the rest of an answer.

use super::reader::{self, Object, Value};
use crate::domain::id::CallId;
use crate::domain::message::ToolCall;
use crate::engine::backend::Delta;

/// The calls of one answer, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls {
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
pub(super) struct Done {
    pub(super) call: ToolCall,
    pub(super) extra: Vec<(String, String)>,
    pub(super) replaced: bool,
}

struct Fragment {
    id: String,
    index: Option<u64>,
    name: String,
    arguments: String,
}

impl Calls {
    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.slots.iter().map(|slot| slot.name.len() + slot.arguments.len() + slot.id.len()).sum()
    }

    /// Takes the fragments of one delta, or the whole calls of an answer.
    pub(super) fn take(&mut self, entries: &[Object<'_>], keep: &[String], emit: &mut dyn FnMut(Delta)) {
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
    pub(super) fn tell_names(&mut self, emit: &mut dyn FnMut(Delta)) {
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
    pub(super) fn finish(self) -> Option<Vec<Done>> {
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
        let said = self.arguments.trim();
        // Servers send no byte, blanks or a null for a tool without parameters; what is broken stays as it is.
        let arguments = if said.is_empty() || said == "null" { "{}".to_owned() } else { self.arguments };
        let (arguments_json, replaced) = match reader::mend(&arguments) {
            Some(mended) => (mended, true),
            None => (arguments, false),
        };
        let call = ToolCall {
            call_id: CallId::default(),
            provider_call_id: self.id,
            name: self.name,
            arguments_invalid: !reader::is_object(&arguments_json),
            arguments_json,
        };
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

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls that come of some deltas, as id, name and arguments; what was told on the way must say the same.
    fn calls(deltas: &[&str]) -> Vec<(String, String, String)> {
        let mut calls = Calls::default();
        let mut told: Vec<(String, String)> = Vec::new();
        let mut emit = |delta| {
            let Delta::ToolCall { index, name, arguments_json } = delta else { panic!("{delta:?}") };
            let at = index as usize;
            told.resize(told.len().max(at + 1), <(String, String)>::default());
            told[at].0.push_str(&name.unwrap_or_default());
            told[at].1.push_str(&arguments_json);
        };
        for delta in deltas {
            let entries = Value::parse(delta).unwrap().array().unwrap();
            let entries: Vec<_> = entries.into_iter().map(|entry| entry.object().unwrap()).collect();
            calls.take(&entries, &[], &mut emit);
        }
        calls.tell_names(&mut emit);
        let done = calls.finish().unwrap();
        assert_eq!(told.len(), done.len());
        for (told, done) in told.iter().zip(&done) {
            assert_eq!(told.0, done.call.name);
            assert!(told.1 == done.call.arguments_json || told.1.trim().is_empty());
        }
        done.into_iter().map(|done| (done.call.provider_call_id, done.call.name, done.call.arguments_json)).collect()
    }

    fn expect(deltas: &[&str], expected: &[(&str, &str, &str)]) {
        let owned: Vec<_> = expected
            .iter()
            .map(|(id, name, arguments)| (id.to_string(), name.to_string(), arguments.to_string()))
            .collect();
        assert_eq!(calls(deltas), owned);
    }

    #[test]
    fn by_index() {
        expect(
            &[
                r#"[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]"#,
                r#"[{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}]"#,
                r#"[{"index":0,"function":{"arguments":"{}"}},{"index":1,"function":{"arguments":"}"}}]"#,
            ],
            &[("a", "f", "{}"), ("b", "g", "{}")],
        );
    }

    #[test]
    fn every_call_has_the_index_zero() {
        expect(
            &[
                r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]"#,
                r#"[{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":"}}]"#,
                r#"[{"index":0,"function":{"arguments":"1}"}}]"#,
            ],
            &[("a", "f", "{}"), ("b", "f", "{\"x\":1}")],
        );
    }

    #[test]
    fn every_call_has_the_index_zero_and_none_an_id() {
        expect(
            &[
                r#"[{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}]"#,
                r#"[{"index":0,"function":{"name":"f","arguments":"{\"x\":2}"}}]"#,
                r#"[{"index":0,"function":{"name":"g","arguments":"{}"}}]"#,
                r#"[{"index":0,"function":{"name":"g","arguments":""}}]"#,
            ],
            &[("", "f", "{\"x\":1}"), ("", "f", "{\"x\":2}"), ("", "g", "{}")],
        );
    }

    #[test]
    fn neither_ids_nor_indexes() {
        expect(
            &[
                r#"[{"function":{"name":"f","arguments":"{\"x\""}},{"function":{"name":"g","arguments":"{}"}}]"#,
                r#"[{"function":{"name":"h"}}]"#,
                r#"[{"function":{"arguments":"{\"y\":"}}]"#,
                r#"[{"function":{"arguments":"1}"}}]"#,
            ],
            &[("", "f", "{\"x\""), ("", "g", "{}"), ("", "h", "{\"y\":1}")],
        );
    }

    #[test]
    fn one_id_at_two_indexes_is_two_calls() {
        expect(
            &[r#"[{"index":0,"id":"call","function":{"name":"f","arguments":"{}"}},
                    {"index":1,"id":"call","function":{"name":"g","arguments":"{}"}}]"#],
            &[("call", "f", "{}"), ("call", "g", "{}")],
        );
    }

    #[test]
    fn a_call_that_is_sent_again_whole_is_one_call() {
        let whole = r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]"#;
        expect(&[whole, whole], &[("a", "f", "{\"x\":1}")]);
    }

    #[test]
    fn an_id_that_changes_with_every_piece_is_the_first_one() {
        expect(
            &[
                r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]"#,
                r#"[{"index":0,"id":"b","function":{"arguments":"}"}}]"#,
            ],
            &[("a", "f", "{}")],
        );
    }

    #[test]
    fn names_in_pieces_repeated_or_late() {
        expect(
            &[
                r#"[{"index":0,"id":"a","function":{"name":"edit_ex","arguments":""}}]"#,
                r#"[{"index":0,"function":{"name":"isting","arguments":"{}"}}]"#,
            ],
            &[("a", "edit_existing", "{}")],
        );
        expect(
            &[
                r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"p\""}}]"#,
                r#"[{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}]"#,
            ],
            &[("a", "f", "{\"p\":1}")],
        );
        expect(
            &[r#"[{"id":"a","function":{"arguments":"{\"q\":"}}]"#, r#"[{"function":{"name":"f","arguments":"1}"}}]"#],
            &[("a", "f", "{\"q\":1}")],
        );
    }

    #[test]
    fn flat_entries_objects_and_numbers_as_ids() {
        expect(
            &[r#"[{"id":7,"name":"f","arguments":{"n":9007199254740993}}]"#],
            &[("7", "f", r#"{"n":9007199254740993}"#)],
        );
    }

    #[test]
    fn what_is_broken_stays_as_it_is_and_is_marked() {
        for (arguments, invalid) in [("{\"a\":1", true), ("[1]", true), ("\"{}\"", true), ("{}", false)] {
            let mut calls = Calls::default();
            let text = serde_json::json!([{"id": "a", "function": {"name": "f", "arguments": arguments}}]).to_string();
            let entries = Value::parse(&text).unwrap().array().unwrap();
            calls.take(&[entries[0].object().unwrap()], &[], &mut |_| {});
            let call = calls.finish().unwrap().remove(0).call;
            assert_eq!((call.arguments_json.as_str(), call.arguments_invalid), (arguments, invalid));
        }
    }

    #[test]
    fn a_call_without_a_name_is_none() {
        let mut calls = Calls::default();
        let entry = Value::parse(r#"{"id":"a","function":{"arguments":"{}"}}"#).unwrap().object().unwrap();
        calls.take(&[entry], &[], &mut |_| {});
        assert!(calls.finish().is_none());
    }
}
