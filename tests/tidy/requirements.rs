//! That each requirement number that is cited is one that the list states. It must not know what the numbers mean.

use std::collections::BTreeSet;

use crate::rust::is_word;
use crate::tree::line;

/// A number such as `S4-T3`: the list it is from with its mark, and its count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Number {
    series: String,
    count: u32,
}

/// The numbers that open a line of the list.
pub(crate) fn stated(list: &str) -> BTreeSet<Number> {
    let lines = list.lines().filter_map(|l| l.strip_prefix("- "));
    lines.filter_map(|l| cited(l).into_iter().find(|(offset, _)| *offset == 0)).map(|(_, number)| number).collect()
}

/// Numbers that a text cites and the list does not state.
pub(crate) fn unknown(stated: &BTreeSet<Number>, path: &str, text: &str) -> Vec<String> {
    let missing = cited(text).into_iter().filter(|(_, number)| !stated.contains(number));
    missing
        .map(|(offset, n)| {
            format!("{path}:{}: cites {}{}, which the list does not have", line(text, offset), n.series, n.count)
        })
        .collect()
}

/// Each number in a text with its offset; of a range such as `S4-52..55` both ends.
fn cited(text: &str) -> Vec<(usize, Number)> {
    let mut found = Vec::new();
    for (offset, _) in text.match_indices(['S', 'C']) {
        let starts = !text.get(..offset).and_then(|t| t.chars().next_back()).is_some_and(|c| is_word(c) || c == '-');
        let parsed = text.get(offset..).filter(|_| starts).and_then(parse);
        if let Some((series, count, rest)) = parsed {
            if let Some((end, _)) = rest.strip_prefix("..").and_then(leading_count) {
                found.push((offset, Number { series: series.to_owned(), count: end }));
            }
            found.push((offset, Number { series: series.to_owned(), count }));
        }
    }
    found
}

/// Reads `S4-T3` into `S4-T`, 3 and what follows.
fn parse(text: &str) -> Option<(&str, u32, &str)> {
    let known = ["S0-T", "S1-T", "S4-T", "S0-", "S1-", "S3x-", "S3-", "S4-", "C-"];
    let series = known.into_iter().find(|k| text.starts_with(k))?;
    let (count, rest) = leading_count(text.strip_prefix(series)?)?;
    let ends = !rest.starts_with(is_word) && !rest.starts_with('-');
    ends.then_some((series, count, rest))
}

fn leading_count(text: &str) -> Option<(u32, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (count, rest) = text.split_at_checked(digits)?;
    // Three digits at most, so that hyphenated names of other things are no numbers.
    Some((count.parse().ok().filter(|_| digits <= 3)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# Head\n- S4-1 One.\n- S4-2 Two, see S4-9.\n- S4-T1 (T) A test.\n- C-1 Frame.\ntext S4-8\n";

    #[test]
    fn a_number_that_nobody_stated_is_found() {
        let stated = stated(LIST);
        assert_eq!(stated.len(), 4, "only what opens a line is stated: {stated:?}");
        assert!(unknown(&stated, "a.rs", "// (S4-1, S4-1..2) S4-T1 C-1\n").is_empty());
        let found = unknown(&stated, "a.rs", "// S4-1\n// see S4-9 and S4-2..7");
        let expected =
            ["a.rs:2: cites S4-9, which the list does not have", "a.rs:2: cites S4-7, which the list does not have"];
        assert_eq!(found, expected);
    }

    #[test]
    fn other_words_are_no_numbers() {
        let stated = stated(LIST);
        for text in ["RFC-2119 C-3PO", "xS4-9", "S4-9-b", "SC-9", "S4-9000", "MC-9"] {
            assert!(unknown(&stated, "a.rs", text).is_empty(), "{text}");
        }
    }
}
