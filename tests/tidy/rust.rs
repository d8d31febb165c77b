//! Just enough Rust to look at code without being misled by comments, strings and tests. It must not know any rule.
//! Everything that is left out is replaced by blanks, so that offsets and line numbers stay.

/// What a stretch of source text is.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

/// Code alone: comments, strings and character literals are blank.
pub(crate) fn code(text: &str) -> String {
    keep(text, |kind| kind == Kind::Code)
}

/// Code with its strings, comments blank.
pub(crate) fn without_comments(text: &str) -> String {
    keep(text, |kind| kind != Kind::Comment)
}

fn keep(text: &str, wanted: impl Fn(Kind) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut after_word = false;
    while !rest.is_empty() {
        let (kind, length) = next(rest, after_word);
        let (piece, tail) = rest.split_at(length);
        after_word = piece.ends_with(is_word);
        if wanted(kind) {
            out.push_str(piece);
        } else {
            // Byte for byte, so that offsets stay.
            out.extend(piece.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }));
        }
        rest = tail;
    }
    out
}

/// The kind and the length in bytes of what a text begins with.
fn next(text: &str, after_word: bool) -> (Kind, usize) {
    if text.starts_with("//") {
        return (Kind::Comment, text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return (Kind::Comment, block_comment(text));
    }
    let prefix = if after_word { 0 } else { text.find(|c| !matches!(c, 'b' | 'c' | 'r')).unwrap_or(text.len()) };
    if let Some(body) = text.get(prefix..) {
        let raw = text.get(..prefix).is_some_and(|p| p.ends_with('r'));
        let hashes = body.find(|c| c != '#').unwrap_or(body.len());
        if raw && prefix <= 2 && body.get(hashes..).is_some_and(|b| b.starts_with('"')) {
            let end = format!("\"{}", "#".repeat(hashes));
            let start = prefix + hashes + 1;
            let length = text.get(start..).and_then(|t| t.find(&end)).map_or(text.len(), |at| start + at + end.len());
            return (Kind::Literal, length);
        }
        if !raw && prefix <= 1 && body.starts_with('"') {
            return (Kind::Literal, prefix + quoted(body, '"'));
        }
    }
    if text.starts_with('\'') && is_character(text) {
        return (Kind::Literal, quoted(text, '\''));
    }
    (Kind::Code, text.chars().next().map_or(1, char::len_utf8))
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|r| !r.is_empty()) {
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of a literal with its quotes.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Tells a character literal from a lifetime.
fn is_character(text: &str) -> bool {
    let mut chars = text.chars().skip(1);
    matches!((chars.next(), chars.next()), (Some('\\'), _) | (Some(_), Some('\'')))
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Each word of some code, with its offset.
pub(crate) fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + code.get(rest..)?.find(is_word)?;
        let tail = code.get(start..)?;
        let length = tail.find(|c| !is_word(c)).unwrap_or(tail.len());
        rest = start + length;
        Some((start, code.get(start..rest)?))
    })
}

/// Whether a file has nothing but tests.
pub(crate) fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/") || path.starts_with("tests/")
}

/// Where the items marked `#[cfg(test)]` stand, attribute included.
pub(crate) fn test_items(code: &str) -> Vec<(usize, usize)> {
    const MARK: &str = "#[cfg(test)]";
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = code.get(from..).and_then(|c| c.find(MARK)).map(|at| from + at) {
        let end = item_end(code, start + MARK.len());
        found.push((start, end));
        from = end;
    }
    found
}

/// The end of the item at an offset: its closing brace, or a semicolon before any brace.
fn item_end(code: &str, from: usize) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices().skip_while(|(at, _)| *at < from) {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// The text without its `#[cfg(test)]` items. Takes text with or without strings; braces in strings are no trouble.
pub(crate) fn without_tests(text: &str) -> String {
    let mut out = text.as_bytes().to_vec();
    for (start, end) in test_items(&code(text)) {
        if let Some(stretch) = out.get_mut(start..end) {
            stretch.iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A path such as `crate::store::{Error, sled::Store}` written out: its offset and each full path.
pub(crate) struct Used {
    pub(crate) offset: usize,
    pub(crate) path: Vec<String>,
}

/// Every path in some code that starts with `crate`, `self`, `super` or `std`, from the point of view of the given module,
/// groups expanded, as seen from the root of the crate.
pub(crate) fn used_paths(code: &str, module: &[String]) -> Vec<Used> {
    let tokens = tokens(code);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some((offset, token)) = tokens.get(at) {
        let starts = matches!(*token, "crate" | "self" | "super" | "std");
        let inside = at > 0 && tokens.get(at - 1).is_some_and(|t| t.1 == "::");
        if starts && !inside && tokens.get(at + 1).is_some_and(|t| t.1 == "::") {
            let mut paths = Vec::new();
            at = expand(&tokens, at, &[], &mut paths);
            found.extend(paths.into_iter().filter_map(|p| Some(Used { offset: *offset, path: resolve(&p, module)? })));
        } else {
            at += 1;
        }
    }
    found
}

fn tokens(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = code.get(at..).filter(|r| !r.is_empty()) {
        let length = match rest.chars().next() {
            Some(c) if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            Some(':') if rest.starts_with("::") => 2,
            Some(c) => c.len_utf8(),
            None => break,
        };
        if let Some(token) = rest.get(..length).filter(|t| !t.trim().is_empty()) {
            found.push((at, token));
        }
        at += length;
    }
    found
}

/// Reads one path (or one branch of a group) and returns where it ends.
fn expand(tokens: &[(usize, &str)], mut at: usize, before: &[String], out: &mut Vec<Vec<String>>) -> usize {
    let mut path = before.to_vec();
    loop {
        match tokens.get(at).map(|t| t.1) {
            Some("{") => {
                at += 1;
                while let Some(token) = tokens.get(at).map(|t| t.1) {
                    match token {
                        "}" => return at + 1,
                        "," => at += 1,
                        _ => {
                            at = expand(tokens, at, &path, out);
                            // A renaming: `X as Y`.
                            while tokens.get(at).is_some_and(|t| !matches!(t.1, "," | "}")) {
                                at += 1;
                            }
                        }
                    }
                }
                return at;
            }
            Some(word) if word == "*" || word.starts_with(is_word) => {
                path.push(word.to_owned());
                at += 1;
                if tokens.get(at).is_some_and(|t| t.1 == "::") {
                    at += 1;
                    continue;
                }
                out.push(path);
                return at;
            }
            _ => {
                out.push(path);
                return at;
            }
        }
    }
}

fn resolve(path: &[String], module: &[String]) -> Option<Vec<String>> {
    let mut base = Vec::new();
    let mut rest = path;
    match path.first().map(String::as_str) {
        Some("crate") => rest = path.get(1..)?,
        Some("std") => {}
        _ => {
            base.extend_from_slice(module);
            while let Some(word) = rest.first().map(String::as_str).filter(|w| matches!(*w, "self" | "super")) {
                if word == "super" {
                    base.pop();
                }
                rest = rest.get(1..)?;
            }
        }
    }
    base.extend_from_slice(rest);
    Some(base)
}

/// The module that a file under `src/` holds: `src/engine/backend/mod.rs` is engine, backend.
pub(crate) fn module_of(path: &str) -> Vec<String> {
    let inner = path.trim_start_matches("src/").trim_end_matches(".rs");
    let inner = inner.strip_suffix("/mod").unwrap_or(inner);
    if matches!(inner, "lib" | "main") { Vec::new() } else { inner.split('/').map(str::to_owned).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(code: &str, module: &str) -> Vec<String> {
        used_paths(code, &module_of(module)).into_iter().map(|u| u.path.join("::")).collect()
    }

    #[test]
    fn comments_and_literals_are_blank() {
        let text =
            "a // sled\nb /* x /* y */ sled */ c \"sled \\\" sled\" d r#\"sled \" \"# e 'x' '\\'' &'sled str b\"q\"";
        let seen = code(text);
        assert_eq!(seen.len(), text.len(), "offsets stay");
        let words: Vec<&str> = words(&seen).map(|(_, w)| w).collect();
        assert_eq!(words, ["a", "b", "c", "d", "e", "sled", "str"], "what is left is code, a lifetime included");
        assert!(without_comments(text).contains("\"sled \\\" sled\""), "strings stay when only comments go");
        assert!(!without_comments(text).contains("// sled"), "comments go");
    }

    #[test]
    fn a_word_that_ends_in_r_does_not_start_a_raw_string() {
        assert_eq!(code("for\"x\" bar\"y\"").trim(), "for    bar");
    }

    #[test]
    fn tests_are_left_out() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { let x = \"}\"; } }\nfn c() {}\n#[cfg(test)]\nmod tests;\nfn d() {}";
        let seen = without_tests(text);
        assert!(seen.contains("fn a") && seen.contains("fn c") && seen.contains("fn d"), "{seen}");
        assert!(!seen.contains("fn b") && !seen.contains("mod tests"), "{seen}");
    }

    #[test]
    fn groups_are_written_out() {
        let code = "use crate::{domain::{id, run as r}, store::*};\nfn x(a: crate::app::Y<crate::grpc::Z>) {}";
        let all = ["domain::id", "domain::run", "store::*", "app::Y", "grpc::Z"];
        assert_eq!(paths(code, "src/lib.rs"), all);
    }

    #[test]
    fn relative_paths_are_resolved() {
        assert_eq!(paths("use super::super::store::Store;", "src/engine/backend/mod.rs"), ["store::Store"]);
        assert_eq!(paths("use super::scripted;", "src/engine/backend/openai.rs"), ["engine::backend::scripted"]);
        assert_eq!(paths("use self::wire::X;", "src/engine/backend/openai.rs"), ["engine::backend::openai::wire::X"]);
        assert_eq!(paths("use std::{env, fs::File};", "src/app/mod.rs"), ["std::env", "std::fs::File"]);
        assert!(paths("pub(crate) fn x() {} pub(super) y: u8", "src/app/mod.rs").is_empty());
    }
}
