//! That the lists of the README are the program's own: what is not done yet, and what can be typed.

use std::collections::BTreeSet;
use std::process::Command;

use antiphon::grpc::unimplemented;

use crate::markdown::{read, rows, section};

/// The words in code style in a text.
fn code(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A table has what is refused by name, and there is none while nothing is.
#[test]
fn what_is_not_done_yet_is_what_the_server_refuses() {
    let readme = read("README.md");
    let mut listed = BTreeSet::new();
    for row in rows(section(&readme, "## What it does not do yet")) {
        let service = code(&row[0]).into_iter().next();
        for word in code(&row[1]) {
            listed.insert(service.as_ref().map_or_else(|| word.clone(), |service| format!("{service}.{word}")));
        }
    }
    let refused: BTreeSet<String> = unimplemented::features().into_iter().map(str::to_owned).collect();
    assert_eq!(listed, refused);
}

#[test]
fn every_verb_of_the_command_line_has_its_line() {
    let readme = read("README.md");
    let listed: BTreeSet<String> =
        rows(section(&readme, "## The command line")).iter().flat_map(|row| code(&row[0])).collect();
    let help = Command::new(env!("CARGO_BIN_EXE_antiphon")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let verbs = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let verbs: BTreeSet<String> = verbs.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect();
    assert_eq!(listed, verbs);
}
