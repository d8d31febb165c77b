//! Reading values of the configuration strictly: every mistake in them at once, in words for people. It must not know what is configured.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;
use toml::Value;

use super::ConfigProblem;
use crate::engine::nearest::hint;

/// Longest part of a wrong text that is repeated, in characters.
const SHOWN: usize = 40;

/// Reads a value strictly, as far as it can be, with every mistake in it: what is wrong is left out, and read as if it was absent. No value
/// where something is missing that must be there. `at` is its key; `beside` are keys that were taken out before. The types that are read
/// refuse unknown keys.
pub fn decode<T: DeserializeOwned>(at: &str, mut value: Value, beside: &[&str]) -> (Option<T>, Vec<ConfigProblem>) {
    let mut problems = Vec::new();
    let mut left_out = LeftOut::default();
    loop {
        let error = match serde_path_to_error::deserialize(value.clone()) {
            Ok(read) => return (Some(read), problems),
            Err(error) => error,
        };
        let message = error.inner().message().trim();
        let mut steps: Vec<Step> = error.path().iter().map_while(Step::of).collect();
        let unknown = message.starts_with("unknown field").then(|| quoted(message).next()).flatten();
        if let Some(key) = unknown
            && steps.last() != Some(&Step::Key(key.to_owned()))
        {
            steps.push(Step::Key(key.to_owned()));
        }
        let missing = message.starts_with("missing field").then(|| quoted(message).next()).flatten();
        let is_consequence =
            missing.is_some_and(|key| left_out.keys.contains(&(left_out.place(&steps), key.to_owned())));
        if !is_consequence {
            let place = left_out.place(&steps);
            let place = if place.is_empty() { at.to_owned() } else { format!("{at}.{place}") };
            problems.push(explain(&place, message, beside));
        }
        if !left_out.remove(&mut value, &steps) {
            return (None, problems);
        }
    }
}

/// A step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

impl Step {
    fn of(segment: &Segment) -> Option<Self> {
        match segment {
            Segment::Map { key } => Some(Self::Key(key.clone())),
            Segment::Enum { variant } => Some(Self::Key(variant.clone())),
            Segment::Seq { index } => Some(Self::Index(*index)),
            Segment::Unknown => None,
        }
    }
}

/// What was taken out of a value, so that the rest has the places that it had.
#[derive(Default)]
struct LeftOut {
    /// Keys, each with the place of its table.
    keys: BTreeSet<(String, String)>,
    /// Items of lists, by their first index, each with the place of its list.
    items: BTreeSet<(String, usize)>,
}

impl LeftOut {
    /// The place as it was written.
    fn place(&self, steps: &[Step]) -> String {
        let mut place = String::new();
        for step in steps {
            match step {
                Step::Key(key) if place.is_empty() => place.clone_from(key),
                Step::Key(key) => place = format!("{place}.{key}"),
                Step::Index(index) => place = format!("{place}[{}]", self.first_index(&place, *index)),
            }
        }
        place
    }

    fn first_index(&self, list: &str, index: usize) -> usize {
        let gone = self.items.iter().filter(|(of, _)| of == list).map(|(_, gone)| *gone);
        gone.fold(index, |index, gone| if gone <= index { index + 1 } else { index })
    }

    /// Takes the value at a place out; whether there was one.
    fn remove(&mut self, value: &mut Value, steps: &[Step]) -> bool {
        let Some((last, way)) = steps.split_last() else { return false };
        let parent = way.iter().try_fold(&mut *value, |value, step| match step {
            Step::Key(key) => value.get_mut(key),
            Step::Index(index) => value.get_mut(index),
        });
        let place = self.place(way);
        let removed = match (parent, last) {
            (Some(Value::Table(table)), Step::Key(key)) => table.remove(key).is_some(),
            (Some(Value::Array(list)), Step::Index(index)) if *index < list.len() => {
                list.remove(*index);
                true
            }
            _ => false,
        };
        match last {
            // What was read did not tell exactly where it went wrong: then without all of it.
            _ if !removed => return self.remove(value, way),
            Step::Key(key) => {
                self.keys.insert((place, key.clone()));
            }
            Step::Index(index) => {
                let first = self.first_index(&place, *index);
                self.items.insert((place, first));
            }
        }
        true
    }
}

/// Makes a problem of a message of serde, in words for people: an unknown key gets the nearest known one.
pub(crate) fn explain(place: &str, message: &str, beside: &[&str]) -> ConfigProblem {
    let mut words = quoted(message);
    if message.starts_with("unknown field")
        && let Some(unknown) = words.next()
    {
        let known: Vec<&str> = words.chain(beside.iter().copied()).collect();
        let table = place.strip_suffix(unknown).map_or(place, |table| table.trim_end_matches('.'));
        return unknown_key(table, unknown, &known);
    }
    if message.starts_with("unknown variant")
        && let Some(unknown) = words.next()
    {
        let known: Vec<&str> = words.collect();
        let what =
            format!("must be {}, got `{}`{}", either(&known), cut(unknown), hint(unknown, known.iter().copied()));
        return ConfigProblem::new(place, what, "");
    }
    if let Some(key) = message.strip_prefix("missing field").and_then(|_| words.next()) {
        return ConfigProblem::new(place, format!("has no `{key}`"), "");
    }
    ConfigProblem::new(place, mismatch(message).unwrap_or_else(|| message.to_owned()), "")
}

/// The problem of a key that nothing reads.
pub fn unknown_key(table: &str, key: &str, known: &[&str]) -> ConfigProblem {
    let at = if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") };
    let listed = known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    let remedy = if known.is_empty() { "no key is read here".to_owned() } else { format!("known are {listed}") };
    ConfigProblem::new(at, format!("unknown key `{key}`{}", hint(key, known.iter().copied())), remedy)
}

/// The words in backquotes.
fn quoted(message: &str) -> impl Iterator<Item = &str> {
    message.split('`').skip(1).step_by(2)
}

/// What a value must be, and what it is; none for a message of another kind.
fn mismatch(message: &str) -> Option<String> {
    if message.contains("invalid socket address") {
        return Some("must be an address with a port, such as `127.0.0.1:7373`".to_owned());
    }
    let rest = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    let expected = expected.trim_start_matches("a ").trim_start_matches("an ");
    let expected = expected.split(['\n', ' ']).next().unwrap_or(expected);
    let wanted = match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" | "integer" => "a whole number",
        "f32" | "f64" => "a number",
        "boolean" | "bool" => "`true` or `false`",
        "string" | "str" | "path" | "borrowed" => "text",
        "sequence" | "tuple" => "a list",
        "map" | "struct" => "a table",
        other => other,
    };
    Some(format!("must be {wanted}, got {}", got(found)))
}

/// A value as serde names it, in other words.
fn got(found: &str) -> String {
    let (kind, value) = found.split_once(' ').unwrap_or((found, ""));
    let plain = value.trim_start_matches("point ").trim_matches('`');
    match kind {
        "string" => {
            let text: String = serde_json::from_str(value).unwrap_or_else(|_| value.trim_matches('"').to_owned());
            format!("text `{}`", cut(&text))
        }
        "integer" => format!("the whole number {plain}"),
        "floating" => format!("the number {plain}"),
        "boolean" => format!("`{plain}`"),
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        "unit" | "null" | "null," | "Option" => "nothing".to_owned(),
        _ => found.to_owned(),
    }
}

fn either(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} or {last}", before.join(", ")),
        None => "something else".to_owned(),
    }
}

fn cut(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Some_ {
        count: u32,
        size: u64,
        ratio: Option<f64>,
        on: bool,
        name: String,
        words: Vec<String>,
        word: Word,
        inner: Vec<Inner>,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Word {
        #[default]
        First,
        Second,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        id: String,
        #[serde(default)]
        level: i64,
    }

    fn read(text: &str) -> (Option<Some_>, Vec<String>) {
        let (read, problems) = decode("at", Value::Table(text.parse().unwrap()), &["taken"]);
        (read, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn types_are_told_in_the_words_of_people() {
        let cases = [
            ("count = \"abc\"", "at.count: must be a whole number from 0 to 4294967295, got text `abc`"),
            ("count = -1", "at.count: must be a whole number from 0 to 4294967295, got the whole number -1"),
            ("size = 1.5", "at.size: must be a whole number, 0 or more, got the number 1.5"),
            ("ratio = true", "at.ratio: must be a number, got `true`"),
            ("on = 1", "at.on: must be `true` or `false`, got the whole number 1"),
            ("name = 7", "at.name: must be text, got the whole number 7"),
            ("name = [\"a\"]", "at.name: must be text, got a list"),
            ("words = \"a\"", "at.words: must be a list, got text `a`"),
            ("inner = [3]", "at.inner[0]: must be a table, got the whole number 3"),
            ("word = \"secnd\"", "at.word: must be `first` or `second`, got `secnd` (did you mean `second`?)"),
            ("inner = [{ level = 1 }]", "at.inner[0]: has no `id`"),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text).1, [expected], "{text}");
        }
        assert!(read("conut = 1").1[0].starts_with("at.conut: unknown key `conut` (did you mean `count`?); known are"));
        assert!(read("takne = 1").1[0].contains("did you mean `taken`?"));
    }

    #[test]
    fn every_mistake_is_found_under_its_own_place_and_the_rest_is_read() {
        let text = "count = \"x\"\nsize = 3\nnmae = 1\nwords = [1, \"b\", 2, \"d\"]\non = 3\n\
                    inner = [{ id = 1, level = \"x\", more = 1 }, 4, { id = \"b\", level = \"y\" }]\n";
        let (read, problems) = read(text);
        let places: BTreeSet<&str> = problems.iter().filter_map(|told| told.split(": ").next()).collect();
        let expected = [
            "at.count",
            "at.inner[0].id",
            "at.inner[0].level",
            "at.inner[0].more",
            "at.inner[1]",
            "at.inner[2].level",
            "at.nmae",
            "at.on",
            "at.words[0]",
            "at.words[2]",
        ];
        assert_eq!(places.into_iter().collect::<Vec<_>>(), expected, "{problems:#?}");
        assert_eq!(problems.len(), expected.len(), "{problems:#?}");
        let read = read.unwrap();
        assert_eq!((read.size, read.words, read.inner.len()), (3, vec!["b".to_owned(), "d".to_owned()], 1));
    }
}
