//! A JSON object of which the texts may grow while a stream brings more of them. What did not grow is given back as it was written. It must
//! not know what the fields mean.

use super::reader::{Object, Value};
use super::writer::quoted;

/// An object under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grown(Vec<(String, Field)>);

/// A field: JSON as it was written, or a text that grew.
#[derive(Clone, Debug)]
enum Field {
    Json(String),
    Text(String),
}

impl Grown {
    pub(crate) fn of(object: &Object<'_>) -> Self {
        Self(object.fields().map(|(name, value)| (name.to_owned(), Field::Json(value.raw().to_owned()))).collect())
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|(name, field)| name.len() + field.bytes()).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text of a field; empty where it is none.
    pub(crate) fn text(&self, name: &str) -> String {
        match self.0.iter().find(|(known, _)| known == name) {
            Some((_, field)) => field.text(),
            None => String::new(),
        }
    }

    /// A field as JSON.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, field)| field.json())
    }

    /// Takes a field out.
    pub(crate) fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| known != name);
    }

    /// Sets a field; a null does not take the place of what is there.
    pub(crate) fn set(&mut self, name: &str, value: Value<'_>) {
        let json = value.raw();
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some(_) if json == "null" => {}
            Some((_, field)) => *field = Field::Json(json.to_owned()),
            None => self.0.push((name.to_owned(), Field::Json(json.to_owned()))),
        }
    }

    /// Adds to the text of a field; one that is no text becomes this one.
    pub(crate) fn append(&mut self, name: &str, more: &str) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, Field::Text(text))) => text.push_str(more),
            // An empty addition leaves even the writing of a text alone.
            Some(_) if more.is_empty() => {}
            Some((_, field)) => {
                let mut text = field.text();
                text.push_str(more);
                *field = Field::Text(text);
            }
            None => self.0.push((name.to_owned(), Field::Text(more.to_owned()))),
        }
    }

    /// Adds an item to a list; what is none becomes one.
    pub(crate) fn push(&mut self, name: &str, item: Value<'_>) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, Field::Json(json))) if json.starts_with('[') => {
                json.pop();
                if json.trim_end() != "[" {
                    json.push(',');
                }
                json.push_str(item.raw());
                json.push(']');
            }
            Some((_, field)) => *field = Field::Json(format!("[{}]", item.raw())),
            None => self.0.push((name.to_owned(), Field::Json(format!("[{}]", item.raw())))),
        }
    }

    /// Without the fields that say nothing.
    pub(crate) fn without_nulls(mut self) -> Self {
        self.0.retain(|(_, field)| !matches!(field, Field::Json(json) if json == "null"));
        self
    }

    pub(crate) fn json(&self) -> String {
        let fields: Vec<_> = self.0.iter().map(|(name, field)| format!("{}:{}", quoted(name), field.json())).collect();
        format!("{{{}}}", fields.join(","))
    }
}

impl Field {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Json(text) => text.len(),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Json(json) => Value::parse(json).and_then(Value::text).unwrap_or_default(),
        }
    }

    fn json(&self) -> String {
        match self {
            Self::Text(text) => quoted(text),
            Self::Json(json) => json.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grown(json: &str) -> Grown {
        Grown::of(&Value::parse(json).unwrap().object().unwrap())
    }

    #[test]
    fn what_does_not_grow_stays_as_it_was_written() {
        let mut object = grown(r#"{"a":"x\/\u00e9","n":1.0e2,"t":""}"#);
        object.append("a", "");
        object.append("t", "é\"");
        object.append("t", "!");
        object.append("new", "z");
        assert_eq!(object.json(), r#"{"a":"x\/\u00e9","n":1.0e2,"t":"é\"!","new":"z"}"#);
        assert_eq!((object.text("a").as_str(), object.text("n").as_str()), ("x/é", ""));
    }

    #[test]
    fn lists_take_items_and_nulls_change_nothing() {
        let mut object = grown(r#"{"l":null,"k":[ 1 ]}"#);
        let item = Value::parse(r#"{"i":1}"#).unwrap();
        object.push("l", item);
        object.push("l", item);
        object.push("k", item);
        object.set("k", Value::parse("null").unwrap());
        object.set("gone", Value::parse("null").unwrap());
        assert_eq!(object.without_nulls().json(), r#"{"l":[{"i":1},{"i":1}],"k":[ 1 ,{"i":1}]}"#);
    }
}
