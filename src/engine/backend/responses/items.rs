//! Output items in our words: reasoning, texts, calls, and what has no word here. It must not know how they came.

use super::history::object;
use super::said::{self, ITEM, PART};
use crate::domain::message::{Issuer, Kind, Part, ProviderData, Reasoning};
use crate::engine::backend::wire::{Object, Value, Wrong, data, quoted, tool_call};

/// Between the pieces of one reasoning, which are paragraphs.
pub(super) const BETWEEN: &str = "\n\n";

/// What items come to.
#[derive(Default)]
pub(super) struct Said {
    pub(super) parts: Vec<Part>,
    pub(super) has_calls: bool,
    pub(super) has_refused: bool,
    /// Something had to be replaced in arguments.
    pub(super) replaced: bool,
}

/// The items of an answer, each as it was written. With an issuer, what the provider attached is kept for it.
pub(super) fn read(items: &[String], issuer: &Issuer) -> Result<Said, Wrong> {
    let objects: Option<Vec<_>> = items.iter().map(|item| Value::parse(item).and_then(Value::object)).collect();
    let objects = objects.ok_or(Wrong::Malformed("an output item is not an object"))?;
    // Ids matter to the provider where reasoning is sent back beside what has them; elsewhere they are noise.
    let ids = objects.iter().any(|object| kind(object) == "reasoning" && said::is_whole(object));
    let mut reading = Reading { issuer, ids, said: Said::default() };
    for (object, raw) in objects.iter().zip(items) {
        reading.item(object, raw)?;
    }
    Ok(reading.said)
}

/// What an item is.
pub(super) fn kind(item: &Object<'_>) -> String {
    // Some servers leave out what a message is.
    item.text("type")
        .unwrap_or_else(|| if item.get("content").is_some() { "message".to_owned() } else { String::new() })
}

struct Reading<'a> {
    issuer: &'a Issuer,
    ids: bool,
    said: Said,
}

impl Reading<'_> {
    fn item(&mut self, item: &Object<'_>, raw: &str) -> Result<(), Wrong> {
        match kind(item).as_str() {
            "reasoning" => {
                let (text, is_summary) = thought(item);
                let attached = self.issued(raw.to_owned());
                self.push(Kind::Reasoning(Reasoning { text, is_summary }), Some(attached));
            }
            "message" => self.message(item),
            "function_call" => self.call(item)?,
            word => {
                // That it has an issuer says to whom it may go back as it is.
                let attached = object(raw).map(|_| self.issued("{}".to_owned()));
                self.push(Kind::Unknown(word.to_owned(), raw.to_owned()), attached);
            }
        }
        Ok(())
    }

    fn message(&mut self, item: &Object<'_>) {
        let own = fields(item, &["type", "role", "content"]);
        let Some(content) = item.array("content") else {
            if let Some(text) = item.text("content").filter(|text| !text.is_empty()) {
                self.push(Kind::Text(text), None);
            }
            return;
        };
        for value in content {
            let part = value.object();
            let word = part.as_ref().and_then(|part| part.text("type")).unwrap_or_default();
            let text = |name: &str| part.as_ref().and_then(|part| part.text(name));
            let (kind, name) = match (word.as_str(), text("text"), text("refusal")) {
                ("output_text" | "text" | "", Some(text), _) => (Kind::Text(text), "text"),
                ("refusal", _, Some(text)) => (Kind::Refusal(text), "refusal"),
                _ => {
                    self.push(Kind::Unknown(word, value.raw().to_owned()), None);
                    continue;
                }
            };
            if matches!(&kind, Kind::Text(text) | Kind::Refusal(text) if text.is_empty()) {
                continue;
            }
            self.said.has_refused |= matches!(kind, Kind::Refusal(_));
            let more = part.as_ref().map(|part| fields(part, &["type", name])).unwrap_or_default();
            let attached = (self.is_worth(&own) || self.is_worth(&more)).then(|| {
                let json = format!("{{{}:{},{}:{}}}", quoted(ITEM), json(&own), quoted(PART), json(&more));
                self.issued(json)
            });
            self.push(kind, attached);
        }
    }

    fn call(&mut self, item: &Object<'_>) -> Result<(), Wrong> {
        let name = item.text("name").filter(|name| !name.is_empty());
        let name = name.ok_or(Wrong::Malformed("a tool call has no name"))?;
        let arguments = item.get("arguments").map(Value::text_or_raw).unwrap_or_default();
        let id = item.text("call_id").or_else(|| item.text("id")).unwrap_or_default();
        let (call, replaced) = tool_call(id, name, arguments);
        self.said.replaced |= replaced;
        self.said.has_calls = true;
        let own = fields(item, &["type", "call_id", "name", "arguments"]);
        let attached = self.is_worth(&own).then(|| self.issued(json(&own)));
        self.push(Kind::ToolCall(call), attached);
        Ok(())
    }

    fn push(&mut self, kind: Kind, provider_data: Option<ProviderData>) {
        self.said.parts.push(Part { provider_data, ..Part::new(kind) });
    }

    fn issued(&self, json: String) -> ProviderData {
        data(self.issuer, json)
    }

    /// There is something in it that the provider may want back, or the caller may want to see.
    fn is_worth(&self, fields: &[(&str, Value<'_>)]) -> bool {
        let is_word = |key: &str| !self.ids && matches!(key, "id" | "status");
        fields.iter().any(|(key, value)| !is_word(key) && !matches!(value.raw(), "null" | "[]" | "{}" | "\"\""))
    }
}

/// The text of a reasoning item, and whether it is all summary.
pub(super) fn thought(item: &Object<'_>) -> (String, bool) {
    let texts = |field: &str| {
        let pieces = item.array(field).unwrap_or_default().into_iter();
        pieces.filter_map(|piece| piece.object()?.text("text")).filter(|text| !text.is_empty()).collect::<Vec<_>>()
    };
    let (summary, content) = (texts("summary"), texts("content"));
    let is_summary = content.is_empty() && !summary.is_empty();
    ([summary, content].concat().join(BETWEEN), is_summary)
}

fn fields<'o, 'a>(object: &'o Object<'a>, except: &[&str]) -> Vec<(&'o str, Value<'a>)> {
    object.fields().filter(|(key, _)| !except.contains(key)).collect()
}

fn json(fields: &[(&str, Value<'_>)]) -> String {
    let fields: Vec<_> = fields.iter().map(|(key, value)| format!("{}:{}", quoted(key), value.raw())).collect();
    format!("{{{}}}", fields.join(","))
}
