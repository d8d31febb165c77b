//! How files look: how they open, how long they get, what they are called, what they must not contain. It must not know
//! what stands in which folder.

use crate::rust::{code, is_test_file, test_items, without_tests, words};
use crate::tree::line;

/// Lines of a file. The aim is 150 to 400; this is where it stops being a matter of taste.
const MAX_LINES: usize = 600;
/// Lines of an inline test module. From about 100 they are better off in `<name>/tests.rs`, from here they must.
const MAX_INLINE_TEST_LINES: usize = 120;

/// Files that may be longer, each with its reason.
const LONGER: &[(&str, &str)] = &[];

/// Names that say nothing about what is inside.
const VAGUE: &[&str] = &["util", "utils", "common", "helper", "helpers", "types", "misc", "shared"];

/// Macros that have no place in the library. `main.rs` may write the last error to the terminal.
const MACROS: &[&str] = &["todo", "unimplemented", "dbg", "print", "println", "eprint", "eprintln"];

/// Hosts of package registries: where packages come from is the business of each tool's own settings. Written in halves,
/// as this file is searched too.
const REGISTRIES: &[&str] = &[
    concat!("crates", ".io"),
    concat!("npmjs", ".org"),
    concat!("npmjs", ".com"),
    concat!("yarnpkg", ".com"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("proxy.golang", ".org"),
    concat!("sum.golang", ".org"),
    concat!("repo.maven", ".apache.org"),
    concat!("repo1.maven", ".org"),
    concat!("plugins.gradle", ".org"),
];

/// Written by package managers, which name their sources.
const LOCK_FILES: &[&str] =
    &["Cargo.lock", "package-lock.json", "go.sum", "uv.lock", "poetry.lock", "gradle.lockfile", "pnpm-lock.yaml"];

/// A file opens with `//!` and what it owns. The tests of a module, in a file of their own, are what the module says.
pub(crate) fn opens_with_docs(path: &str, text: &str) -> Vec<String> {
    if path.starts_with("src/") && is_test_file(path) {
        return Vec::new();
    }
    let first = text.lines().next().unwrap_or_default();
    let says_something = first.strip_prefix("//!").is_some_and(|rest| rest.trim().len() > 10);
    if says_something { Vec::new() } else { vec![format!("{path}:1: opens with `//!` and a sentence on what it owns")] }
}

/// A file stays short.
pub(crate) fn size(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().count();
    let excused = LONGER.iter().any(|(p, _)| *p == path);
    match (lines > MAX_LINES, excused) {
        (true, false) => vec![format!("{path}: {lines} lines, more than {MAX_LINES}: is it two things?")],
        (false, true) => vec![format!("{path}: is short again and can leave the list LONGER")],
        _ => Vec::new(),
    }
}

/// Long tests move out of the file that they test.
pub(crate) fn inline_tests(path: &str, text: &str) -> Vec<String> {
    let code = code(text);
    let lengths = test_items(&code).into_iter().map(|(start, end)| (start, line(&code, end) - line(&code, start)));
    let long = lengths.filter(|(_, lines)| *lines > MAX_INLINE_TEST_LINES);
    long.map(|(start, lines)| {
        format!("{path}:{}: {lines} lines of tests move to a tests.rs of their own", line(&code, start))
    })
    .collect()
}

/// A file's name says what is inside.
pub(crate) fn file_name(path: &str, _text: &str) -> Vec<String> {
    let vague = path.trim_end_matches(".rs").split('/').find(|part| VAGUE.contains(part));
    vague.map(|part| format!("{path}: `{part}` says nothing about what is inside")).into_iter().collect()
}

/// The library neither prints nor leaves things to do.
pub(crate) fn macros(path: &str, text: &str) -> Vec<String> {
    if path == "src/main.rs" || is_test_file(path) {
        return Vec::new();
    }
    let code = without_tests(&code(text));
    let called = |offset: usize, word: &str| {
        MACROS.contains(&word)
            && code
                .get(offset + word.len()..)
                .is_some_and(|after| after.trim_start().starts_with('!') && !after.starts_with("!="))
    };
    let found = words(&code).filter(|(offset, word)| called(*offset, word));
    found
        .map(|(offset, word)| format!("{path}:{}: `{word}!` has no place in the library", line(&code, offset)))
        .collect()
}

/// No file names a registry's host.
pub(crate) fn registries(path: &str, text: &str) -> Vec<String> {
    if LOCK_FILES.contains(&path.rsplit('/').next().unwrap_or(path)) {
        return Vec::new();
    }
    let found = REGISTRIES.iter().filter_map(|host| Some((text.find(host)?, host)));
    found.map(|(offset, host)| format!("{path}:{}: names the registry {host}", line(text, offset))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_word_about_itself_is_found() {
        assert!(opens_with_docs("src/a.rs", "//! The ids of things.\n").is_empty());
        for bad in ["use std::fs;\n", "\n//! The ids of things.\n", "//!\n", "/// The ids of things.\n", ""] {
            assert_eq!(opens_with_docs("src/a.rs", bad).len(), 1, "{bad:?}");
        }
        assert!(opens_with_docs("src/a/tests.rs", "use super::*;").is_empty(), "the module has said it");
        assert_eq!(opens_with_docs("tests/api/fork.rs", "use super::*;").len(), 1);
    }

    #[test]
    fn a_long_file_is_found() {
        assert!(size("src/a.rs", &"x\n".repeat(MAX_LINES)).is_empty());
        assert_eq!(size("src/a.rs", &"x\n".repeat(MAX_LINES + 1)).len(), 1);
    }

    #[test]
    fn long_inline_tests_are_found() {
        let tests = |lines| format!("fn a() {{}}\n#[cfg(test)]\nmod tests {{\n{}}}\n", "// x\n".repeat(lines));
        assert!(inline_tests("src/a.rs", &tests(117)).is_empty());
        assert_eq!(
            inline_tests("src/a.rs", &tests(121)),
            ["src/a.rs:2: 123 lines of tests move to a tests.rs of their own"]
        );
    }

    #[test]
    fn a_vague_name_is_found() {
        assert_eq!(file_name("src/app/util.rs", "").len(), 1);
        assert_eq!(file_name("src/common/mod.rs", "").len(), 1);
        assert!(file_name("src/app/fork.rs", "").is_empty());
    }

    #[test]
    fn printing_and_leaving_things_to_do_are_found() {
        for bad in
            ["fn f() { todo!() }", "fn f() { println!(\"x\"); }", "fn f() { let x = dbg!(1); }", "eprintln !(\"\")"]
        {
            assert_eq!(macros("src/app/a.rs", bad).len(), 1, "{bad}");
        }
        for good in
            ["// println!(x)\n", "let s = \"todo!()\";", "self.print(x);", "#[cfg(test)]\nfn f() { println!() }"]
        {
            assert!(macros("src/app/a.rs", good).is_empty(), "{good}");
        }
        assert!(macros("src/main.rs", "fn main() { eprintln!(\"x\") }").is_empty());
    }

    #[test]
    fn a_registry_is_found_outside_lock_files() {
        let text = format!("a\nregistry = https://index.{}\n", REGISTRIES[0]);
        assert_eq!(registries("scripts/x", &text), [format!("scripts/x:2: names the registry {}", REGISTRIES[0])]);
        assert!(registries("scripts/tools/package-lock.json", &text).is_empty());
    }
}
