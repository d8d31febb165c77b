//! Labels: limits of their number and length. It must not know what carries them.

use std::collections::BTreeMap;

use super::{Path, Problems, limit};

/// Longest key, in characters.
const MAX_KEY: usize = 63;
/// Longest value, in characters.
const MAX_VALUE: usize = 255;

/// Labels of a request.
pub fn from_pb(
    labels: BTreeMap<String, String>,
    at: &Path<'_>,
    problems: &mut Problems,
) -> Option<BTreeMap<String, String>> {
    bounded(labels, "labels", MAX_VALUE, at, problems)
}

/// As many texts as there may be labels, with keys like theirs and values of a length of their own.
pub(super) fn bounded(
    texts: BTreeMap<String, String>,
    word: &str,
    max_value: usize,
    at: &Path<'_>,
    problems: &mut Problems,
) -> Option<BTreeMap<String, String>> {
    let mut good = true;
    let most = problems.bounds().labels;
    if !limit::count(texts.len(), most, word, "give fewer", at, problems) {
        return None;
    }
    for (key, value) in &texts {
        let (key_length, value_length) = (key.chars().count(), value.chars().count());
        if !(1..=MAX_KEY).contains(&key_length) {
            let what = format!("has a key of {key_length} characters: give it 1 to {MAX_KEY}");
            problems.add(&at.key(key), what);
            good = false;
        }
        if value_length > max_value {
            let what = format!("has a value of {value_length} characters: at most {max_value} are taken; shorten it");
            problems.add(&at.key(key), what);
            good = false;
        }
    }
    good.then_some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(labels: BTreeMap<String, String>) -> Vec<String> {
        let mut problems = Problems::default();
        let read = from_pb(labels.clone(), &Path::ROOT.field("labels"), &mut problems);
        match problems.finish() {
            Ok(()) => {
                assert_eq!(read, Some(labels));
                Vec::new()
            }
            Err(fault) => fault.fields.into_iter().map(|field| field.path).collect(),
        }
    }

    #[test]
    fn limits_are_in_characters() {
        let of = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
        assert!(read(of(&"é".repeat(63), &"語".repeat(255))).is_empty());
        assert_eq!(read(of("", "x")), [r#"labels[""]"#]);
        assert_eq!(read(of("k", &"x".repeat(256))), [r#"labels["k"]"#]);
        assert_eq!(read((0..65).map(|n| (n.to_string(), String::new())).collect()), ["labels"]);
    }
}
