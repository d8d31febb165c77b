//! Documents as their code blocks and tables. It must not know what they are about.

use std::path::{Path, PathBuf};

/// A fenced block of code.
pub(crate) struct Block {
    /// The line of its fence, from 1.
    pub(crate) line: usize,
    /// What stands after the fence.
    pub(crate) language: String,
    /// Its lines.
    pub(crate) text: String,
    /// The block of language `text` that follows it with nothing between, which is what it prints.
    pub(crate) shown: Option<String>,
}

/// A file of this repository.
pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The text of a file of this repository.
pub(crate) fn read(name: &str) -> String {
    let path = path(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The blocks of a document.
pub(crate) fn blocks(document: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: Option<Block> = None;
    let mut follows = false;
    for (index, line) in document.lines().enumerate() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(language)) => {
                let language = language.trim().to_owned();
                open = Some(Block { line: index + 1, language, text: String::new(), shown: None });
            }
            (Some(_), Some(_)) => {
                let block = open.take().expect("it is open");
                match blocks.last_mut().filter(|last| follows && block.language == "text" && last.language == "sh") {
                    Some(command) => command.shown = Some(block.text),
                    None => blocks.push(block),
                }
                follows = true;
            }
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => follows &= line.trim().is_empty(),
        }
    }
    assert!(open.is_none(), "a block of code is not closed");
    blocks
}

/// The part of a document below a heading, up to the next one of the same or a higher level.
pub(crate) fn section<'a>(document: &'a str, heading: &str) -> &'a str {
    let start = document.find(&format!("{heading}\n")).unwrap_or_else(|| panic!("there is no heading {heading:?}"));
    let body = &document[start + heading.len()..];
    let level = heading.bytes().take_while(|byte| *byte == b'#').count();
    let mut fenced = false;
    let mut end = body.len();
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        fenced ^= line.trim_start().starts_with("```");
        let hashes = line.bytes().take_while(|byte| *byte == b'#').count();
        if !fenced && at > 0 && (1..=level).contains(&hashes) {
            end = at;
            break;
        }
        at += line.len();
    }
    &body[..end]
}

/// The rows of the tables in a text, each as its cells, without heads and rules.
pub(crate) fn rows(text: &str) -> Vec<Vec<String>> {
    let lines: Vec<&str> = text.lines().collect();
    let is_row = |line: &&str| line.starts_with('|');
    let is_rule = |line: &str| line.starts_with("| -") || line.starts_with("|-");
    let mut rows = Vec::new();
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| is_row(line)) {
        if is_rule(line) || lines.get(index + 1).is_some_and(|next| is_rule(next)) {
            continue;
        }
        rows.push(line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect());
    }
    rows
}

#[test]
fn blocks_know_what_follows_them_and_sections_where_they_end() {
    let document = "# A\n```sh\none\n# no heading\n```\n\n```text\n1\n```\n## B\n```sh\ntwo\n```\nwords\n```text\n2\n```\n| a | b |\n| --- | --- |\n| c | d |\n# C\n";
    let found = blocks(document);
    let shown: Vec<_> = found.iter().map(|block| (block.line, block.text.trim(), block.shown.as_deref())).collect();
    assert_eq!(shown, [(2, "one\n# no heading", Some("1\n")), (11, "two", None), (15, "2", None)]);
    assert!(
        section(document, "## B").starts_with("\n```sh\ntwo") && section(document, "## B").ends_with("| c | d |\n")
    );
    assert!(section(document, "# A").contains("## B") && !section(document, "# A").contains("# C"));
    assert_eq!(rows(document), [["c", "d"]]);
}
