//! The items of a streamed answer under way: what came of each, and how much of it was told. It must not know the rest of an answer.

use super::items::{BETWEEN, kind, thought};
use crate::engine::backend::Delta;
use crate::engine::backend::wire::{Object, Value, Writer};

/// Items in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Slots(Vec<Slot>);

#[derive(Debug, Default)]
struct Slot {
    index: Option<u64>,
    id: String,
    /// The item as it began, then as it is whole; nothing once it is held elsewhere.
    item: String,
    is_whole: bool,
    text: Told,
    refusal: Told,
    reasoning: Told,
    /// Which piece of the reasoning came last.
    piece: Option<(&'static str, Option<u64>)>,
    /// Its place among the calls, if it is one.
    call: Option<usize>,
    arguments: Told,
    name_told: bool,
}

/// What was told in pieces, and how much it was. It is held until it is there as a whole.
#[derive(Debug, Default)]
struct Told {
    held: String,
    bytes: usize,
}

impl Told {
    fn push(&mut self, more: &str) {
        self.held.push_str(more);
        self.bytes += more.len();
    }
}

impl Slots {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.0.iter().map(|slot| slot.item.len() + slot.told().map(|told| told.held.len()).iter().sum::<usize>()).sum()
    }

    /// The items are held elsewhere, whole. How much of them was told is still known.
    pub(super) fn let_go(&mut self) {
        for slot in &mut self.0 {
            slot.item = String::new();
            slot.forget();
        }
    }

    /// An item begins.
    pub(super) fn added(&mut self, event: &Object<'_>) {
        self.set(event, false);
    }

    /// An item is whole.
    pub(super) fn done(&mut self, event: &Object<'_>) {
        self.set(event, true);
    }

    fn set(&mut self, event: &Object<'_>, is_whole: bool) {
        let Some(item) = event.get("item") else { return };
        let object = item.object();
        let id = object.as_ref().and_then(|item| item.text("id")).unwrap_or_default();
        let calls = self.0.iter().filter(|slot| slot.call.is_some()).count();
        let Some(slot) = self.slot(event.count("output_index"), id, !is_whole) else { return };
        item.raw().clone_into(&mut slot.item);
        slot.is_whole = is_whole;
        if is_whole {
            slot.forget();
        }
        if slot.call.is_none() && object.is_some_and(|item| kind(&item) == "function_call") {
            slot.call = Some(calls);
        }
    }

    /// The item of an index or id; without either, the last one, unless one begins.
    fn slot(&mut self, index: Option<u64>, id: String, begins: bool) -> Option<&mut Slot> {
        let found = self.0.iter().rposition(|slot| match index {
            Some(_) => slot.index == index,
            None => !id.is_empty() && slot.id == id,
        });
        let last = self.0.len().checked_sub(1).filter(|_| index.is_none() && id.is_empty() && !begins);
        match found.or(last) {
            Some(at) => self.0.get_mut(at),
            None => {
                self.0.push(Slot { index, id, ..Slot::default() });
                self.0.last_mut()
            }
        }
    }

    fn of(&mut self, event: &Object<'_>) -> Option<&mut Slot> {
        self.slot(event.count("output_index"), event.text("item_id").unwrap_or_default(), false)
    }

    /// More text.
    pub(super) fn text(&mut self, event: &Object<'_>, emit: &mut dyn FnMut(Delta)) {
        let (Some(more), Some(slot)) = (delta(event), self.of(event)) else { return };
        slot.text.push(&more);
        emit(Delta::Text(more));
    }

    /// More of a refusal.
    pub(super) fn refusal(&mut self, event: &Object<'_>, emit: &mut dyn FnMut(Delta)) {
        let (Some(more), Some(slot)) = (delta(event), self.of(event)) else { return };
        slot.refusal.push(&more);
        emit(Delta::Refusal(more));
    }

    /// More reasoning; `count` is the field that tells its paragraphs apart.
    pub(super) fn reasoning(&mut self, event: &Object<'_>, count: &'static str, emit: &mut dyn FnMut(Delta)) {
        let (Some(mut more), Some(slot)) = (delta(event), self.of(event)) else { return };
        let piece = Some((count, event.count(count)));
        if slot.piece != piece && slot.reasoning.bytes > 0 {
            more.insert_str(0, BETWEEN);
        }
        slot.piece = piece;
        slot.reasoning.push(&more);
        emit(Delta::Reasoning(more));
    }

    /// More of a call's arguments.
    pub(super) fn arguments(&mut self, event: &Object<'_>, emit: &mut dyn FnMut(Delta)) {
        let calls = self.0.iter().filter(|slot| slot.call.is_some()).count();
        let (Some(more), Some(slot)) = (delta(event), self.of(event)) else { return };
        slot.arguments.push(&more);
        let call = *slot.call.get_or_insert(calls);
        let name = if slot.name_told { None } else { name(&slot.item) };
        slot.name_told |= name.is_some();
        emit(Delta::ToolCall { index: place(call), name, arguments_json: more });
    }

    /// The items, each as JSON: as it came, or made of its pieces where it never came whole.
    pub(super) fn items(&self) -> Vec<String> {
        self.0.iter().map(|slot| if slot.is_whole { slot.item.clone() } else { slot.pieced() }).collect()
    }

    /// Tells what items hold beyond what was told of them.
    pub(super) fn tell_rest(&mut self, items: &[String], emit: &mut dyn FnMut(Delta)) {
        let told = |bytes: fn(&Slot) -> usize| self.0.iter().map(bytes).sum::<usize>();
        let [text, refusal, reasoning] =
            [told(|slot| slot.text.bytes), told(|slot| slot.refusal.bytes), told(|slot| slot.reasoning.bytes)];
        let mut whole = Whole::default();
        items.iter().filter_map(|item| Value::parse(item)?.object()).for_each(|item| whole.take(&item));
        for (whole, told, delta) in [
            (&whole.reasoning, reasoning, Delta::Reasoning as fn(String) -> Delta),
            (&whole.text, text, Delta::Text),
            (&whole.refusal, refusal, Delta::Refusal),
        ] {
            if let Some(rest) = whole.get(told..).filter(|rest| !rest.is_empty()) {
                emit(delta(rest.to_owned()));
            }
        }
        for (at, (name, arguments)) in whole.calls.into_iter().enumerate() {
            let slot = self.0.iter_mut().find(|slot| slot.call == Some(at));
            let (told, name_told) = slot.map_or((0, false), |slot| (slot.arguments.bytes, slot.name_told));
            let rest = arguments.get(told..).unwrap_or_default();
            if !rest.is_empty() || !name_told {
                let name = Some(name).filter(|_| !name_told);
                emit(Delta::ToolCall { index: place(at), name, arguments_json: rest.to_owned() });
            }
        }
    }
}

impl Slot {
    fn told(&self) -> [&Told; 4] {
        [&self.text, &self.refusal, &self.reasoning, &self.arguments]
    }

    /// What was told is held as a whole.
    fn forget(&mut self) {
        for told in [&mut self.text, &mut self.refusal, &mut self.reasoning, &mut self.arguments] {
            told.held = String::new();
        }
    }

    fn pieced(&self) -> String {
        let began = Value::parse(&self.item).and_then(Value::object);
        let kind = began.as_ref().map(kind).unwrap_or_default();
        let mut out = Writer::new();
        let texts = |out: &mut Writer, list: &[(&str, &str, &String)]| {
            out.array(|out| {
                for (word, key, text) in list.iter().filter(|(.., text)| !text.is_empty()) {
                    out.object(|out| {
                        out.key("type").text(word);
                        out.key(key).text(text);
                    });
                }
            });
        };
        out.object(|out| match (kind.as_str(), self.call.is_some(), self.reasoning.held.is_empty()) {
            ("function_call", ..) | (_, true, _) => {
                for (key, value) in began.iter().flat_map(Object::fields).filter(|(key, _)| *key != "arguments") {
                    out.key(key).json(value.raw());
                }
                out.key("arguments").text(&self.arguments.held);
            }
            ("reasoning", ..) | (_, _, false) => {
                out.key("type").text("reasoning");
                texts(out.key("summary"), &[("summary_text", "text", &self.reasoning.held)]);
            }
            ("message" | "", ..) => {
                out.key("type").text("message");
                let texts_of = [("output_text", "text", &self.text.held), ("refusal", "refusal", &self.refusal.held)];
                texts(out.key("content"), &texts_of);
            }
            _ => {
                for (key, value) in began.iter().flat_map(Object::fields) {
                    out.key(key).json(value.raw());
                }
            }
        });
        String::from_utf8_lossy(&out.into_bytes()).into_owned()
    }
}

/// All that items say.
#[derive(Default)]
struct Whole {
    text: String,
    refusal: String,
    reasoning: String,
    calls: Vec<(String, String)>,
}

impl Whole {
    fn take(&mut self, item: &Object<'_>) {
        match kind(item).as_str() {
            "reasoning" => self.reasoning.push_str(&thought(item).0),
            "function_call" => {
                let arguments = item.get("arguments").map(Value::text_or_raw).unwrap_or_default();
                self.calls.push((item.text("name").unwrap_or_default(), arguments));
            }
            "message" => {
                self.text.push_str(&item.text("content").unwrap_or_default());
                for part in item.array("content").unwrap_or_default() {
                    let Some(part) = part.object() else { continue };
                    self.text.push_str(&part.text("text").unwrap_or_default());
                    self.refusal.push_str(&part.text("refusal").unwrap_or_default());
                }
            }
            _ => {}
        }
    }
}

fn delta(event: &Object<'_>) -> Option<String> {
    event.text("delta").filter(|delta| !delta.is_empty())
}

fn name(item: &str) -> Option<String> {
    Value::parse(item)?.object()?.text("name").filter(|name| !name.is_empty())
}

fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
