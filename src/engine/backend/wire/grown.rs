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
    }
}
