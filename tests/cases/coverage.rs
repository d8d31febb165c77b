//! That no case is forgotten: each is a test here, or listed with what it waits for, or both where a test looks at a part of it.

use std::collections::BTreeSet;

use crate::case::Case;

/// The cases that wait for an RPC that is not there yet, in order. One that is tested here as well waits with the rest of it alone.
const WAITING: &[(&str, &str)] = &[];

/// Where tests are that may be about a case.
const FOLDERS: &[&str] = &["api", "cases", "cli", "faults", "readme", "store"];

/// The cases that tests are about: in their names, such as `fn b012_...`, or in the comment above them, such as `B012: ...`.
fn tested() -> BTreeSet<String> {
    let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut open: Vec<_> = FOLDERS.iter().map(|folder| tests.join(folder)).collect();
    let mut ids = BTreeSet::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            ids.extend(named(&std::fs::read_to_string(&path).unwrap()));
        }
    }
    ids
}

/// The cases that the tests in a file are about.
fn named(text: &str) -> BTreeSet<String> {
    let (mut ids, mut said, mut is_test) = (BTreeSet::new(), BTreeSet::new(), false);
    for line in text.lines().map(str::trim) {
        if line.starts_with("//") {
            said.extend(line.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| is_id(word)).map(str::to_owned));
        } else if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if !line.starts_with("#[") {
            let function = line.trim_start_matches("async ").strip_prefix("fn b");
            let number = function.and_then(|rest| rest.split('_').next()).unwrap_or_default();
            if is_test {
                ids.append(&mut said);
                ids.extend(Some(format!("B{number}")).filter(|id| is_id(id)));
            }
            (is_test, said) = (false, BTreeSet::new());
        }
    }
    ids
}

fn is_id(word: &str) -> bool {
    word.len() == 4 && word.strip_prefix('B').is_some_and(|number| number.parse::<u16>().is_ok())
}

#[test]
fn a_case_is_found_in_the_name_of_a_test_and_in_the_comment_above_it() {
    let text =
        "/// B001, B002: x\n#[test]\n#[ignore]\nfn b003_x() {\n// B004\nlet b005 = 1;\n}\n/// B006\nfn b007_x() {}\n";
    assert_eq!(named(text).into_iter().collect::<Vec<_>>(), ["B001", "B002", "B003"]);
}

#[test]
fn every_case_is_a_test_or_waits_for_something() {
    let all: BTreeSet<String> = Case::all().iter().map(|case| case.id().to_owned()).collect();
    let tested = tested();
    let waiting: BTreeSet<String> = WAITING.iter().map(|(id, _)| (*id).to_owned()).collect();
    let known: BTreeSet<String> = tested.union(&waiting).cloned().collect();
    assert_eq!(all.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new(), "forgotten");
    assert_eq!(known.difference(&all).collect::<Vec<_>>(), Vec::<&String>::new(), "no such case");
}

#[test]
fn the_list_of_what_waits_is_in_order_and_says_why() {
    let ids: Vec<&str> = WAITING.iter().map(|(id, _)| *id).collect();
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(ids, sorted);
    assert!(WAITING.iter().all(|(_, why)| !why.is_empty()));
}
