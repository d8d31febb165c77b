//! The blocks of an answer, whole or growing, and the parts that they become. It must not know the events that bring them.

use crate::domain::message::{Issuer, Kind, Part, Reasoning, ToolCall};
use crate::engine::backend::Delta;
use crate::engine::backend::wire::{Grown, Object, Value, data, tool_call};

/// The blocks of one answer, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    calls: u32,
}

#[derive(Debug)]
struct Block {
    index: u64,
    word: String,
    fields: Grown,
    /// The arguments as they were streamed; empty when they were not.
    input: String,
    /// Which tool call it is.
    call: Option<u32>,
    arguments_told: bool,
}

impl Blocks {
    pub(super) fn bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.fields.bytes() + block.input.len()).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// A block begins, or is there as a whole.
    pub(super) fn begin(&mut self, index: u64, object: &Object<'_>, emit: &mut dyn FnMut(Delta)) {
        let fields = Grown::of(object);
        let word = object.text("type").unwrap_or_default();
        let call = (word == "tool_use").then_some(self.calls);
        match word.as_str() {
            "text" => tell(fields.text("text"), Delta::Text, emit),
            "thinking" => tell(fields.text("thinking"), Delta::Reasoning, emit),
            "tool_use" => {
                self.calls = self.calls.saturating_add(1);
                let name = Some(fields.text("name"));
                emit(Delta::ToolCall { index: call.unwrap_or_default(), name, arguments_json: String::new() });
            }
            _ => {}
        }
        self.blocks.push(Block { index, word, fields, input: String::new(), call, arguments_told: false });
    }

    /// More of a block. What it adds to is told by its own fields, so that kinds to come are kept as well.
    pub(super) fn grow(&mut self, index: u64, delta: &Object<'_>, emit: &mut dyn FnMut(Delta)) {
        let Some(block) = self.blocks.iter_mut().rev().find(|block| block.index == index) else { return };
        for (name, value) in delta.fields() {
            match (name, value.text()) {
                ("type", _) => {}
                ("partial_json", Some(more)) => {
                    block.input.push_str(&more);
                    if let Some(call) = block.call.filter(|_| !more.is_empty()) {
                        block.arguments_told = true;
                        emit(Delta::ToolCall { index: call, name: None, arguments_json: more });
                    }
                }
                ("citation", _) => block.fields.push("citations", value),
                (name, Some(more)) => {
                    block.fields.append(name, &more);
                    match (block.word.as_str(), name) {
                        ("text", "text") => tell(more, Delta::Text, emit),
                        ("thinking", "thinking") => tell(more, Delta::Reasoning, emit),
                        _ => {}
                    }
                }
                (name, None) => block.fields.set(name, value),
            }
        }
    }

    /// Tells arguments that came with the beginning of their call.
    pub(super) fn tell_rest(&mut self, emit: &mut dyn FnMut(Delta)) {
        for block in &mut self.blocks {
            let Some(index) = block.call.filter(|_| !std::mem::replace(&mut block.arguments_told, true)) else {
                continue;
            };
            let arguments_json = block.fields.get("input").unwrap_or_default();
            emit(Delta::ToolCall { index, name: None, arguments_json });
        }
    }

    /// The parts, and whether something in them had to be replaced. Absent when a call has no name.
    pub(super) fn finish(self, issuer: &Issuer) -> Option<(Vec<Part>, bool)> {
        let mut replaced = false;
        let parts: Option<Vec<Part>> =
            self.blocks.into_iter().map(|block| block.finish(issuer, &mut replaced)).collect();
        Some((parts?, replaced))
    }
}

impl Block {
    fn finish(self, issuer: &Issuer, replaced: &mut bool) -> Option<Part> {
        let Self { word, fields, input, .. } = self;
        let (kind, left) = match word.as_str() {
            "text" => (Kind::Text(fields.text("text")), without(&fields, &["type", "text"])),
            "thinking" => {
                let reasoning = Reasoning { text: fields.text("thinking"), is_summary: false };
                let mut left = without(&fields, &["type", "thinking"]);
                if left.text("signature").is_empty() {
                    left.remove("signature");
                }
                (Kind::Reasoning(reasoning), left)
            }
            "redacted_thinking" => {
                (Kind::Reasoning(Reasoning { text: String::new(), is_summary: false }), fields.clone())
            }
            "tool_use" => {
                let (call, mended) = call(&fields, &input)?;
                *replaced |= mended;
                (Kind::ToolCall(call), without(&fields, &["type", "id", "name", "input"]))
            }
            _ => {
                let mut fields = fields;
                if let Some(input) = Value::parse(&input) {
                    fields.set("input", input);
                }
                let mut part = Part::new(Kind::Unknown(word, fields.json()));
                // It goes back as it is, and only to whom it came from.
                part.provider_data = Some(data(issuer, "{}".to_owned()));
                return Some(part);
            }
        };
        let mut part = Part::new(kind);
        part.provider_data = (!left.is_empty()).then(|| data(issuer, left.json()));
        Some(part)
    }
}

fn call(fields: &Grown, input: &str) -> Option<(ToolCall, bool)> {
    let name = fields.text("name");
    if name.is_empty() {
        return None;
    }
    let said = if input.trim().is_empty() { fields.get("input").unwrap_or_default() } else { input.to_owned() };
    Some(tool_call(fields.text("id"), name, said))
}

/// The fields that have no word of ours.
fn without(fields: &Grown, known: &[&str]) -> Grown {
    let mut left = fields.clone().without_nulls();
    known.iter().for_each(|name| left.remove(name));
    left
}

fn tell(text: String, delta: fn(String) -> Delta, emit: &mut dyn FnMut(Delta)) {
    if !text.is_empty() {
        emit(delta(text));
    }
}
