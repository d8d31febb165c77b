//! How many columns text takes on a terminal, and cutting it to fit. It must not know colours or tables.
//!
//! A small table of the ranges that matter (East Asian wide characters, emoji, combining marks), not the whole of Unicode: a miss costs
//! a column of alignment and nothing else.

/// First and last of the characters that take no column.
const NONE: &[(u32, u32)] = &[
    (0x0300, 0x036F),
    (0x0483, 0x0489),
    (0x0591, 0x05BD),
    (0x0610, 0x061A),
    (0x064B, 0x065F),
    (0x06D6, 0x06DC),
    (0x0900, 0x0902),
    (0x093C, 0x093C),
    (0x0941, 0x0948),
    (0x0E31, 0x0E31),
    (0x0E34, 0x0E3A),
    (0x0E47, 0x0E4E),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x2064),
    (0x2066, 0x2069),
    (0x20D0, 0x20FF),
    (0xFE00, 0xFE0F),
    (0xFE20, 0xFE2F),
    (0xFEFF, 0xFEFF),
    (0x1F3FB, 0x1F3FF),
    (0xE0001, 0xE01EF),
];

/// First and last of the characters that take two columns.
const TWO: &[(u32, u32)] = &[
    (0x1100, 0x115F),
    (0x231A, 0x231B),
    (0x23E9, 0x23EC),
    (0x25FD, 0x25FE),
    (0x2614, 0x2615),
    (0x2648, 0x2653),
    (0x26A1, 0x26A1),
    (0x26BD, 0x26BE),
    (0x2705, 0x2705),
    (0x274C, 0x274C),
    (0x2753, 0x2755),
    (0x2795, 0x2797),
    (0x2B1B, 0x2B1C),
    (0x2B50, 0x2B50),
    (0x2E80, 0x303E),
    (0x3041, 0xA4CF),
    (0xA960, 0xA97F),
    (0xAC00, 0xD7A3),
    (0xF900, 0xFAFF),
    (0xFE30, 0xFE6F),
    (0xFF00, 0xFF60),
    (0xFFE0, 0xFFE6),
    (0x1F300, 0x1F64F),
    (0x1F680, 0x1F6FF),
    (0x1F7E0, 0x1F7EB),
    (0x1F900, 0x1F9FF),
    (0x1FA70, 0x1FAFF),
    (0x20000, 0x3FFFD),
];

/// Columns of one character.
fn of_char(c: char) -> usize {
    let code = u32::from(c);
    let within = |ranges: &[(u32, u32)]| ranges.iter().any(|(first, last)| (*first..=*last).contains(&code));
    if code < 0x20 || within(NONE) {
        0
    } else if within(TWO) {
        2
    } else {
        1
    }
}

/// Columns of a text without escape sequences.
pub(crate) fn of(text: &str) -> usize {
    text.chars().map(of_char).sum()
}

/// The text cut to at most so many columns, its end marked by an ellipsis where something is missing.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if of(text) <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += of_char(c);
        if used >= columns {
            break;
        }
        kept.push(c);
    }
    kept.truncate(kept.trim_end().len());
    kept.push('…');
    kept
}

/// The first words of a text on one line: white space is one blank, control characters are left out.
pub(crate) fn one_line(text: &str, columns: usize) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        // Enough is known: the rest of a long text need not be looked at.
        if line.len() > columns.saturating_mul(4) {
            break;
        }
    }
    cut(&line, columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_and_combining_characters_are_counted_as_shown() {
        assert_eq!(of("abc"), 3);
        assert_eq!(of("日本"), 4);
        assert_eq!(of("e\u{301}"), 1);
        assert_eq!(of("🎉"), 2);
        assert_eq!(of("…"), 1);
    }

    #[test]
    fn cutting_keeps_within_the_columns() {
        assert_eq!(cut("hello", 5), "hello");
        assert_eq!(cut("hello!", 5), "hell…");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("a b c", 3), "a…");
        for columns in 1..8 {
            assert!(of(&cut("日a本b語c", columns)) <= columns);
        }
    }

    #[test]
    fn one_line_has_no_control_characters() {
        assert_eq!(one_line("  a\n\tb \u{1b}[31mred", 40), "a b [31mred");
        assert_eq!(one_line(&"word ".repeat(1000), 9), "word wor…");
        assert_eq!(one_line("", 9), "");
    }
}
