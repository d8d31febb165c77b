//! On which line of a TOML text a key stands. It must not know which keys there should be.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The lines of every key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    root: BTreeMap<String, Line>,
}

/// A key's line, and those of what is inside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Line {
    number: usize,
    inside: BTreeMap<String, Self>,
}

/// A line, where it is known, and what is wrong there.
type Mistake = (Option<usize>, String);

impl Lines {
    /// Reads a text.
    ///
    /// # Errors
    /// Every mistake of form, with its line; so is a whole number that no setting can have.
    pub(super) fn read(text: &str) -> Result<Self, Vec<Mistake>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            let told = |error: toml::de::Error| {
                (error.span().map(|span| line_of(text, span.start)), error.message().to_owned())
            };
            let mut mistakes: Vec<_> = errors.into_iter().map(told).collect();
            mistakes.sort();
            return Err(mistakes);
        }
        let mut mistakes = Vec::new();
        let root = keys(text, table.get_ref(), &mut mistakes);
        if mistakes.is_empty() { Ok(Self { root }) } else { Err(mistakes) }
    }

    /// The line of a key such as `backends.a.retry`, or of the last part of it that is there. Absent when not even the first is. A key
    /// that has dots in it, and an index in brackets, are understood.
    pub(super) fn of_key(&self, path: &str) -> Option<usize> {
        let mut inside = &self.root;
        let mut rest = path;
        let mut found = None;
        while let Some((line, left)) = step(inside, rest) {
            // A table that is only opened by a table inside it has the line of that one.
            found = Some(line.number);
            inside = &line.inside;
            rest = left;
        }
        found
    }
}

/// The longest key that the path begins with, and what is left of it.
fn step<'a, 'p>(inside: &'a BTreeMap<String, Line>, path: &'p str) -> Option<(&'a Line, &'p str)> {
    let begins = |key: &str| {
        let rest = path.strip_prefix(key)?;
        match rest.chars().next() {
            None => Some(rest),
            Some('.') => rest.get(1..),
            Some('[') => Some(rest),
            Some(_) => None,
        }
    };
    let fitting = inside.iter().filter_map(|(key, line)| Some((key.len(), line, begins(key)?)));
    fitting.max_by_key(|(length, ..)| *length).map(|(_, line, rest)| (line, rest))
}

fn keys(text: &str, table: &DeTable<'_>, mistakes: &mut Vec<Mistake>) -> BTreeMap<String, Line> {
    let line = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let name: &std::borrow::Cow<'_, str> = key.get_ref();
        let inside = values(text, name, value, mistakes);
        (name.to_string(), Line { number: line_of(text, key.span().start), inside })
    };
    table.iter().map(line).collect()
}

fn values(text: &str, key: &str, value: &Spanned<DeValue<'_>>, mistakes: &mut Vec<Mistake>) -> BTreeMap<String, Line> {
    match value.get_ref() {
        DeValue::Table(table) => keys(text, table, mistakes),
        DeValue::Array(array) => {
            let item = |(index, value): (usize, &Spanned<DeValue<'_>>)| {
                let number = line_of(text, value.span().start);
                (format!("[{index}]"), Line { number, inside: values(text, key, value, mistakes) })
            };
            array.iter().enumerate().map(item).collect()
        }
        // More than any reader of TOML has to take, and than a table of values can hold.
        DeValue::Integer(number) if i64::from_str_radix(number.as_str(), number.radix()).is_err() => {
            let message = format!("{key} is {number}: whole numbers are {} to {}", i64::MIN, i64::MAX);
            mistakes.push((Some(line_of(text, value.span().start)), message));
            BTreeMap::new()
        }
        _ => BTreeMap::new(),
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_line() {
        let text = "a = 1\n\n[b.c]\nd = 2\ne = [\n  1,\n  2,\n]\n\n[b.\"x.y\"]\nz = 3\n[[f]]\ng = 1\n[[f]]\ng = 2\n";
        let lines = Lines::read(text).unwrap();
        let found = |path| lines.of_key(path);
        assert_eq!(found("a"), Some(1));
        assert_eq!(found("b.c.d"), Some(4));
        assert_eq!(found("b.c.missing.deeper"), Some(3));
        assert_eq!(found("b.x.y.z"), Some(11));
        assert_eq!(found("b.c.e[1]"), Some(7));
        assert_eq!(found("f[1].g"), Some(15));
        assert_eq!(found("nowhere"), None);
        assert_eq!(found("prompts/a.prompt.md"), None);
    }

    #[test]
    fn every_mistake_of_form_has_its_line() {
        let mistakes = Lines::read("a = \nb = 1\nc = [1\nd 4\n").unwrap_err();
        assert!(mistakes.len() >= 2, "{mistakes:?}");
        assert_eq!(mistakes[0].0, Some(1), "{mistakes:?}");
    }

    /// It was told that some value is too large, and of the whole file.
    #[test]
    fn a_number_that_nothing_can_be_is_told_with_its_key_and_line() {
        let most = "9223372036854775807";
        assert!(Lines::read(&format!("a = {most}\nb = -9223372036854775808\nc = 0x7fff_ffff_ffff_ffff\n")).is_ok());
        let text = "[access.limits]\ntokens_per_day = 9223372036854775808\n[b]\nc = [1, 99999999999999999999]\n";
        let told =
            |key: &str, given: &str| format!("{key} is {given}: whole numbers are -9223372036854775808 to {most}");
        let expected =
            [(Some(2), told("tokens_per_day", "9223372036854775808")), (Some(4), told("c", "99999999999999999999"))];
        assert_eq!(Lines::read(text).unwrap_err(), expected);
    }
}
