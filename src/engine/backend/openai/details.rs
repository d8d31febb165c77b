//! The `reasoning_details` that OpenRouter sends and wants back as they were, put together from the pieces in which a stream brings them. It
//! must not know what they say.

use super::reader::Value;
use super::writer::Writer;

/// The details of one answer, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Details(Vec<Detail>);

/// One detail.
#[derive(Debug)]
struct Detail {
    key: (Option<u64>, String),
    fields: Vec<(String, Field)>,
}

/// A field of a detail: a text that may grow, or JSON that is what it is.
#[derive(Debug)]
enum Field {
    Text(String),
    Json(String),
}

impl Details {
    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.0.iter().flat_map(|detail| &detail.fields).map(|(_, field)| field.bytes()).sum()
    }

    /// Takes a detail, or a piece of one, known by its index and type; what comes without an index stands alone.
    pub(super) fn take(&mut self, value: Value<'_>) {
        let Some(object) = value.object() else { return };
        let key = (object.count("index"), object.text("type").unwrap_or_default());
        let known = self.0.iter().position(|detail| key.0.is_some() && detail.key == key);
        let Some(detail) = known.and_then(|at| self.0.get_mut(at)) else {
            let fields = object.fields().map(|(name, value)| (name.to_owned(), Field::read(value))).collect();
            self.0.push(Detail { key, fields });
            return;
        };
        for (name, value) in object.fields() {
            let more = Field::read(value);
            let grows = matches!(name, "text" | "summary" | "data");
            match (detail.fields.iter_mut().find(|(known, _)| known == name), more) {
                (None, more) => detail.fields.push((name.to_owned(), more)),
                (Some((_, Field::Text(text))), Field::Text(more)) if grows => text.push_str(&more),
                (Some(_), Field::Json(json)) if json == "null" => {}
                (Some((_, field)), more) => *field = more,
            }
        }
    }

    /// All of them as a JSON array; absent when there are none.
    pub(super) fn json(&self) -> Option<String> {
        let details: Vec<_> = self.0.iter().map(Detail::json).collect();
        if details.is_empty() { None } else { Some(format!("[{}]", details.join(","))) }
    }
}

impl Detail {
    fn json(&self) -> String {
        let fields: Vec<_> =
            self.fields.iter().map(|(name, field)| format!("{}:{}", quoted(name), field.json())).collect();
        format!("{{{}}}", fields.join(","))
    }
}

impl Field {
    fn read(value: Value<'_>) -> Self {
        value.text().map_or_else(|| Self::Json(value.raw().to_owned()), Self::Text)
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Json(text) => text.len(),
        }
    }

    fn json(&self) -> String {
        match self {
            Self::Text(text) => quoted(text),
            Self::Json(json) => json.clone(),
        }
    }
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    let mut out = Writer::new();
    out.text(text);
    String::from_utf8_lossy(&out.into_bytes()).into_owned()
}
