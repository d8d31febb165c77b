//! JSON Schemas in the API's own form, a part of OpenAPI's: references are written out, words that it does not have are left out, and what
//! would then say something else is refused. Words are looked at where a schema stands, never where a property has a word's name. It must not
//! know what is described.

use crate::engine::backend::wire::{Adaptations, Object, Value, Writer};

/// Deepest schema that is written out, references included.
const MAX_LEVELS: usize = 32;

/// Longest schema that references may be written out to, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// Words that are taken as they are.
const PLAIN: [&str; 15] = [
    "title",
    "description",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
    "nullable",
    "example",
    "propertyOrdering",
];

/// Words that say nothing about a value, or nothing that a description of its form could not do without.
const SILENT: [&str; 8] = ["$schema", "$id", "$comment", "$defs", "definitions", "$anchor", "examples", "default"];

/// A schema in the API's form; else what of it cannot be said.
pub(super) fn converted(schema: &str, adapted: &mut Adaptations) -> Result<String, String> {
    let root = Value::parse(schema).ok_or("it is not JSON")?;
    let mut converter = Converter { root, out: Writer::new(), adapted, followed: Vec::new() };
    converter.schema(root, false)?;
    Ok(String::from_utf8_lossy(&converter.out.into_bytes()).into_owned())
}

struct Converter<'a, 'b> {
    root: Value<'a>,
    out: Writer,
    adapted: &'b mut Adaptations,
    /// The references on the way to here.
    followed: Vec<String>,
}

impl<'a> Converter<'a, '_> {
    fn schema(&mut self, value: Value<'a>, nullable: bool) -> Result<(), String> {
        self.out.open(b'{');
        self.fields(value, nullable)?;
        self.out.close(b'}');
        Ok(())
    }

    /// The words of a schema, into the object that is open.
    fn fields(&mut self, value: Value<'a>, nullable: bool) -> Result<(), String> {
        if self.followed.len() > MAX_LEVELS || self.out.len() > MAX_BYTES {
            return Err("written out, it is too deep or too long".to_owned());
        }
        let Some(object) = value.object() else {
            // `true` takes anything, as a schema without words does.
            return if value.raw() == "true" { Ok(()) } else { Err("`false` takes nothing".to_owned()) };
        };
        if let Some(reference) = object.text("$ref") {
            return self.referred(&object, reference, nullable);
        }
        let (types, takes_null) = types(&object);
        match types.as_slice() {
            [] if takes_null => self.out.key("type").text("null"),
            [] => {}
            [one] => self.out.key("type").text(one),
            several => {
                if object.get("anyOf").is_some() || object.get("oneOf").is_some() {
                    return Err("it has several types and `anyOf`".to_owned());
                }
                self.out.key("anyOf").array(|out| {
                    several.iter().for_each(|word| out.object(|out| out.key("type").text(word)));
                });
            }
        }
        if (nullable || takes_null && !types.is_empty()) && object.get("nullable").is_none() {
            self.out.key("nullable").bool(true);
        }
        if object.get("anyOf").is_some() && object.get("oneOf").is_some() {
            return Err("it has `anyOf` and `oneOf`".to_owned());
        }
        for (word, value) in object.fields() {
            self.word(&object, word, value)?;
        }
        Ok(())
    }

    fn word(&mut self, object: &Object<'a>, word: &str, value: Value<'a>) -> Result<(), String> {
        match word {
            "type" => {}
            word if PLAIN.contains(&word) => {
                self.out.key(word).json(value.raw());
            }
            "properties" => {
                let properties = value.object().ok_or("`properties` is not an object")?;
                self.out.key("properties").open(b'{');
                for (name, schema) in properties.fields() {
                    self.out.key(name);
                    self.schema(schema, false)?;
                }
                self.out.close(b'}');
            }
            "required" => {
                self.out.key("required").json(value.raw());
            }
            "items" if value.array().is_some() => return Err("`items` is a list".to_owned()),
            "items" => {
                self.out.key("items");
                self.schema(value, false)?;
            }
            "anyOf" | "oneOf" => self.any_of(value)?,
            "allOf" => self.all_of(object, value)?,
            "enum" => self.choices(value.array().unwrap_or_default()),
            "const" => self.choices(vec![value]),
            word if SILENT.contains(&word) => self.adapted.add("schema_words_dropped"),
            // Without these a schema takes more, which the check of the answer finds.
            "additionalProperties"
            | "unevaluatedProperties"
            | "propertyNames"
            | "patternProperties"
            | "uniqueItems"
            | "exclusiveMinimum"
            | "exclusiveMaximum"
            | "multipleOf"
            | "minContains"
            | "maxContains"
            | "contains"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "contentEncoding"
            | "contentMediaType" => {
                self.adapted.add("schema_words_dropped");
            }
            "not" | "if" | "then" | "else" | "dependentSchemas" | "dependentRequired" | "prefixItems"
            | "unevaluatedItems" | "$dynamicRef" | "$recursiveRef" => return Err(format!("it has no `{word}`")),
            // Words of nobody say nothing.
            _ => self.adapted.add("schema_words_dropped"),
        }
        Ok(())
    }

    fn any_of(&mut self, value: Value<'a>) -> Result<(), String> {
        let choices = value.array().ok_or("`anyOf` is not a list")?;
        self.out.key("anyOf").open(b'[');
        for choice in choices {
            self.schema(choice, false)?;
        }
        self.out.close(b']');
        Ok(())
    }

    /// Of one schema alone it is that schema, where nothing else stands beside it.
    fn all_of(&mut self, object: &Object<'a>, value: Value<'a>) -> Result<(), String> {
        let is_alone = object
            .fields()
            .all(|(word, _)| word == "allOf" || SILENT.contains(&word) || matches!(word, "title" | "description"));
        match value.array().unwrap_or_default().as_slice() {
            [only] if is_alone => {
                let inner = only.object().and_then(|inner| inner.get("description"));
                if inner.is_some() && object.get("description").is_some() {
                    return Err("`allOf` and its schema are both described".to_owned());
                }
                self.fields(*only, false)
            }
            _ => Err("it has no `allOf`".to_owned()),
        }
    }

    /// The API has choices of texts alone.
    fn choices(&mut self, values: Vec<Value<'a>>) {
        let texts: Vec<Value<'a>> = values.into_iter().filter(|value| value.raw() != "null").collect();
        if texts.iter().all(|value| value.text().is_some()) {
            self.out.key("enum").array(|out| {
                texts.iter().for_each(|text| {
                    out.json(text.raw());
                })
            });
        } else {
            self.adapted.add("schema_words_dropped");
        }
    }

    fn referred(&mut self, object: &Object<'a>, reference: String, nullable: bool) -> Result<(), String> {
        let beside = object
            .fields()
            .any(|(word, _)| word != "$ref" && !SILENT.contains(&word) && !matches!(word, "title" | "description"));
        if beside {
            return Err("words stand beside a `$ref`".to_owned());
        }
        if self.followed.contains(&reference) {
            return Err(format!("`{reference}` leads to itself"));
        }
        let target = found(self.root, &reference).ok_or_else(|| format!("`{reference}` leads nowhere"))?;
        if object.get("description").is_some() {
            // Both would be the description of one schema; that of the place is about this use of it.
            self.adapted.add("schema_words_dropped");
        }
        self.followed.push(reference);
        self.fields(target, nullable)?;
        self.followed.pop();
        Ok(())
    }
}

/// The types of a schema without null, and whether null is one of them.
fn types(object: &Object<'_>) -> (Vec<String>, bool) {
    let Some(value) = object.get("type") else { return (Vec::new(), false) };
    let words = value.array().unwrap_or_else(|| vec![value]);
    let words: Vec<String> = words.into_iter().filter_map(Value::text).collect();
    let takes_null = words.iter().any(|word| word == "null");
    (words.into_iter().filter(|word| word != "null").collect(), takes_null)
}

/// What a reference within a schema points to (RFC 6901).
fn found<'a>(root: Value<'a>, reference: &str) -> Option<Value<'a>> {
    let path = reference.strip_prefix('#')?;
    let mut at = root;
    for step in path.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        at = match at.array() {
            Some(items) => items.get(step.parse::<usize>().ok()?).copied()?,
            None => at.object()?.get(&step)?,
        };
    }
    Some(at)
}

#[cfg(test)]
mod tests;
