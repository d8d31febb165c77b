//! The README's calls, made one after the other as a reader would, in one shell against one server, and compared with what it shows.

use std::fmt::Write as _;

use crate::markdown::{Block, blocks, read};
use crate::shell::{self, DOCUMENTED};
use crate::support::server::Running;

/// Stands for lines that are not shown.
const LEFT_OUT: &str = "…";

/// A line without what differs from one time to the next: ids, hashes, times, the address; and without JSON's commas at the end, because of
/// lines that are not shown.
fn plain(line: &str) -> String {
    let line = line.trim().trim_end_matches(',');
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
        let (before, from) = rest.split_at(at);
        let end =
            from.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | ':' | '.')).unwrap_or(from.len());
        // What ends a sentence is not the word's.
        let (word, after) = from.split_at(from[..end].trim_end_matches(['.', ':', '-']).len());
        out.push_str(before);
        out.push_str(if changes(word) { "*" } else { word });
        rest = after;
    }
    out + rest
}

/// Whether a word is another one each time.
fn changes(word: &str) -> bool {
    let hex = |word: &str| word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_id = word.len() == 36 && word.split('-').map(str::len).eq([8, 4, 4, 4, 12]) && hex(&word.replace('-', ""));
    let is_hash = matches!(word.len(), 16 | 32 | 64) && hex(word);
    let is_call = word.strip_prefix("call_").is_some_and(hex);
    let is_time = word.len() >= 20 && word.ends_with('Z') && word.as_bytes()[10] == b'T';
    let is_duration = word.strip_suffix('s').is_some_and(|number| number.parse::<f64>().is_ok());
    is_id || is_hash || is_call || is_time || is_duration || word.starts_with("127.0.0.1:")
}

/// The first line of what is shown that was not printed, in order and without a gap that is not marked.
fn missing(shown: &str, printed: &str) -> Option<String> {
    let printed: Vec<String> = printed.lines().map(plain).collect();
    let mut at = 0;
    for stretch in shown.lines().map(str::trim).collect::<Vec<_>>().split(|line| *line == LEFT_OUT) {
        let wanted: Vec<String> = stretch.iter().map(|line| plain(line)).collect();
        if wanted.is_empty() {
            continue;
        }
        let found = printed[at..].windows(wanted.len()).position(|window| window == wanted);
        match found {
            Some(offset) => at += offset + wanted.len(),
            None => return Some(wanted.join("\n")),
        }
    }
    None
}

/// Puts the blocks into one script, so that a variable that one sets is there in the next; what each prints goes to a file of its own.
fn script(blocks: &[Block], folder: &str) -> String {
    let mut script = String::new();
    for (index, block) in blocks.iter().enumerate() {
        writeln!(script, "{{\n{}\n}} >{folder}/{index} 2>&1; echo $? >{folder}/{index}.code", block.text).unwrap();
    }
    script
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_of_the_readme_prints_what_the_readme_shows() {
    let server = Running::start(read("examples/scripted.toml")).await;
    let blocks: Vec<Block> = blocks(&read("README.md"))
        .into_iter()
        .filter(|block| block.language == "sh" && block.text.contains(DOCUMENTED))
        .collect();
    assert!(blocks.len() >= 10, "the README shows {} calls only", blocks.len());
    let folder = server.folder();
    let folder = folder.to_str().unwrap();
    assert!(shell::run(&script(&blocks, folder), server.address()).await.succeeded);
    let mut wrong = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let printed = std::fs::read_to_string(format!("{folder}/{index}")).unwrap();
        let code = std::fs::read_to_string(format!("{folder}/{index}.code")).unwrap();
        let shown = block.shown.as_deref().unwrap_or_default();
        let fails = shown.contains("ERROR:");
        if (code.trim() != "0") != fails {
            wrong.push(format!("line {}: exit code {}:\n{printed}", block.line, code.trim()));
        } else if let Some(missing) = missing(shown, &printed) {
            wrong.push(format!("line {}: this was not printed:\n{missing}\nbut this:\n{printed}", block.line));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn what_differs_each_time_is_not_compared_and_all_else_is() {
    let printed = "{\n  \"id\": \"01a2297c-c7c4-748d-b8f5-354ad2bc785c\",\n  \"turn\": \"1\",\n  \"at\": \"2026-11-29T22:48:10.337Z\"\n}\n";
    let shown = "{\n  \"id\": \"01b22aaa-c7c4-748d-b8f5-354ad2bc785c\"\n  …\n}";
    assert_eq!(missing(shown, printed), None);
    assert_eq!(missing("\"at\": \"2031-01-01T00:00:00Z\"\n}", printed), None);
    assert_eq!(missing("\"turn\": \"2\"", printed).as_deref(), Some("\"turn\": \"2\""));
    let ids = "head is 01a2297c-c7c4-748d-b8f5-354ad2bc785c. Or 01a2297c-c7c4-748d-b8f5-354ad2bc785c: no";
    assert_eq!(plain(ids), "head is *. Or *: no");
    // A gap that is not marked, and lines in another order.
    assert!(missing("{\n\"turn\": \"1\"", printed).is_some());
    assert!(missing("\"turn\": \"1\"\n…\n\"id\": \"x\"", printed).is_some());
}
