//! The nearest known word to a misspelt one, for errors that say what was meant. It must not know what the words name.

/// The known word that was probably meant: at most a third of its letters differ.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// For a message: ` (did you mean `x`?)`, or nothing.
pub(crate) fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map(|meant| format!(" (did you mean `{meant}`?)")).unwrap_or_default()
}

/// How many letters to insert, delete, replace or swap with a neighbour.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut previous = None;
    for (row, letter) in a.chars().flat_map(char::to_lowercase).enumerate() {
        let mut next = vec![row + 1];
        for (column, other) in b.iter().enumerate() {
            let at = |line: &[usize], index: usize| line.get(index).copied().unwrap_or(usize::MAX - 1);
            let replaced = at(&last, column) + usize::from(letter != *other);
            let mut best = replaced.min(at(&last, column + 1) + 1).min(at(&next, column) + 1);
            let swapped =
                column.checked_sub(1).filter(|left| Some(*other) == previous && b.get(*left) == Some(&letter));
            if let Some(left) = swapped {
                best = best.min(at(&before, left) + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut last, next);
        previous = Some(letter);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let known = ["temperature", "top_p", "seed"];
        assert_eq!(nearest("temprature", known), Some("temperature"));
        assert_eq!(nearest("Seed", known), Some("seed"));
        assert_eq!(nearest("sede", known), Some("seed"));
    }

    #[test]
    fn says_nothing_where_nothing_is_near() {
        assert_eq!(nearest("colour", ["temperature", "seed"]), None);
        assert_eq!(nearest("x", []), None);
        assert_eq!(hint("x", []), "");
    }
}
