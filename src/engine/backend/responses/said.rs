//! What the model said before, as the items in which the provider gave it: reasoning and unknown items byte for byte, texts with what was
//! attached to them. It must not know messages, nor who may get what back.

use super::history::object;
use crate::domain::message::{Kind, Part, ProviderData};
use crate::engine::backend::wire::{Object, Value, Writer};

/// The fields of a text's item, and those of the text itself, in the data that is kept with it.
pub(super) const ITEM: &str = "item";
/// See [`ITEM`].
pub(super) const PART: &str = "part";

/// A reasoning item that can be sent back.
pub(super) fn reasoning(data: &ProviderData) -> Option<Object<'_>> {
    object(&data.data_json).filter(is_whole)
}

/// The reasoning is in the item, and not only at the provider, who keeps nothing for us.
pub(super) fn is_whole(item: &Object<'_>) -> bool {
    let is_encrypted = item.text("encrypted_content").is_some_and(|text| !text.is_empty());
    is_encrypted || item.array("content").is_some_and(|content| !content.is_empty())
}

/// An item as it was, with its id or without.
pub(super) fn item(item: &Object<'_>, ids: bool, out: &mut Writer) {
    out.open(b'{');
    fields(item, ids, out);
    out.close(b'}');
}

/// The fields of an object as they were, the id only where ids are sent.
pub(super) fn fields(object: &Object<'_>, ids: bool, out: &mut Writer) {
    for (key, value) in object.fields().filter(|(key, _)| ids || *key != "id") {
        out.key(key).json(value.raw());
    }
}

/// Texts and refusals that follow each other and belong to one item.
#[derive(Default)]
pub(super) struct Group<'a> {
    item: Option<&'a str>,
    parts: Vec<(&'a Part, Option<Object<'a>>)>,
}

impl<'a> Group<'a> {
    /// Takes the next text; what was there is written before if it belongs to another item.
    pub(super) fn add(&mut self, part: &'a Part, own: Option<&'a ProviderData>, ids: bool, out: &mut Writer) {
        let data = own.and_then(|data| object(&data.data_json));
        let item = data.as_ref().and_then(|data| data.get(ITEM)).map(Value::raw);
        if !self.parts.is_empty() && self.item != item {
            self.flush(ids, out);
        }
        self.item = item;
        self.parts.push((part, data));
    }

    /// Writes what is there.
    pub(super) fn flush(&mut self, ids: bool, out: &mut Writer) {
        let (parts, item) = (std::mem::take(&mut self.parts), self.item.take());
        if parts.is_empty() {
            return;
        }
        out.open(b'{');
        out.key("type").text("message");
        out.key("role").text("assistant");
        if let Some(item) = item.and_then(object) {
            fields(&item, ids, out);
        }
        match parts.as_slice() {
            [(Part { kind: Kind::Text(text), .. }, None)] => out.key("content").text(text),
            _ => {
                out.key("content").open(b'[');
                parts.iter().for_each(|(part, data)| output(part, data.as_ref(), out));
                out.close(b']');
            }
        }
        out.close(b'}');
    }
}

fn output(part: &Part, data: Option<&Object<'_>>, out: &mut Writer) {
    out.open(b'{');
    match &part.kind {
        Kind::Refusal(text) => {
            out.key("type").text("refusal");
            out.key("refusal").text(text);
        }
        Kind::Text(text) => {
            out.key("type").text("output_text");
            out.key("text").text(text);
        }
        _ => {}
    }
    if let Some(more) = data.and_then(|data| data.object(PART)) {
        fields(&more, true, out);
    }
    out.close(b'}');
}
