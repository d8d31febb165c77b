//! Documents of threads from the command line, and threads put back to where they were.

use serde_json::Value;

use crate::program::Server;

fn turn(server: &Server, arguments: &[&str]) -> String {
    server.json(arguments)["exchange"]["exchangeId"].as_str().unwrap().to_owned()
}

#[test]
fn documents_are_written_listed_read_compared_and_removed() {
    let server = Server::start();
    turn(&server, &["capture", "one", "--new-thread", "t"]);
    let version = server.run(["workspace", "write", "t", "notes/plan", "a\nb\n", "--media-type", "text/markdown"]).out;
    assert!(version.starts_with('=') && version.trim().len() == 65, "{version}");
    turn(&server, &["continue", "--thread", "t", "two", "--run-id", "r2"]);
    let piped = server.feed(&["workspace", "write", "t", "notes/plan"], "a\nB\n");
    assert_eq!(piped.code, Some(0), "{piped:#?}");
    let file = server.file("large.bin", "");
    let noise: Vec<u8> = (0..900_000_u32).flat_map(u32::to_le_bytes).collect();
    std::fs::write(&file, &noise).unwrap();
    server.run(["workspace", "write", "t", "large", "--file", file.to_str().unwrap()]);
    let listed = server.run(["workspace", "list", "t"]).out;
    assert!(listed.contains("large") && listed.contains("notes/plan"), "{listed}");
    let data: Value = server.json(&["workspace", "list", "t", "--prefix", "notes/"]);
    assert_eq!(data["documents"].as_array().unwrap().len(), 1, "{data}");
    assert!(!data["version"]["etag"].as_str().unwrap().is_empty());
    assert_eq!(server.run(["workspace", "read", "t", "notes/plan"]).out, "a\nB\n");
    for at in ["t@1", version.trim()] {
        assert_eq!(server.run(["workspace", "read", at, "notes/plan"]).out, "a\nb\n", "{at}");
    }
    let copy = file.with_file_name("copy.bin");
    server.run(["workspace", "read", "t", "large", "--output", copy.to_str().unwrap()]);
    assert!(std::fs::read(&copy).unwrap() == noise);
    let diff = server.run(["workspace", "diff", "t@1", "t"]).out;
    assert!(diff.contains("+ document large  ") && diff.contains("~ document notes/plan  "), "{diff}");
    assert!(diff.contains("\n-b\n+B\n"), "{diff}");
    server.run(["workspace", "remove", "t", "large"]);
    let gone = server.say(["workspace", "read", "t", "large", "--output", copy.to_str().unwrap()]);
    assert!(gone.code == Some(1) && gone.err.contains("DOCUMENT_NOT_FOUND"), "{gone:#?}");
    assert!(gone.err.contains("next: antiphon workspace list"), "{gone:#?}");
    assert!(std::fs::read(&copy).unwrap() == noise, "a file is not lost for a document that is not there");
    let stale = server.say(["workspace", "write", "t", "x", "y", "--etag", data["version"]["etag"].as_str().unwrap()]);
    assert!(stale.err.contains("ETAG_MISMATCH"), "{stale:#?}");
    let nothing = server.say(["workspace", "read", "t@", "x"]);
    assert_eq!(nothing.code, Some(2), "{nothing:#?}");
}

#[test]
fn a_thread_is_restored_and_its_moves_are_listed() {
    let server = Server::start();
    let one = turn(&server, &["capture", "one", "--new-thread", "t", "--run-id", "r1"]);
    let two = turn(&server, &["continue", "--thread", "t", "two", "--run-id", "r2"]);
    server.run(["workspace", "write", "t", "plan", "x"]);
    let moved = server.say(["threads", "restore", "t", &one, "--expected-head", &one]);
    assert!(moved.code == Some(1) && moved.err.contains("HEAD_MOVED"), "{moved:#?}");
    let said = server.run(["threads", "restore", "t", &one]).out;
    assert_eq!(said, format!("thread t is at {one} again, after 1 turn\n"));
    let moves = server.run(["threads", "moves", "t"]).out;
    let lines: Vec<&str> = moves.lines().collect();
    assert_eq!(lines.len(), 4, "{moves}");
    assert!(lines[1].contains("no run") && lines[1].ends_with("changed") && lines[1].contains(&two), "{moves}");
    assert!(lines[2].contains("r2") && lines[3].contains("r1"), "{moves}");
    let data: Value = server.json(&["threads", "restore", "t", &two]);
    assert_eq!(data["thread"]["headExchangeId"], two.as_str());
    let data: Value = server.json(&["threads", "moves", "t", "--limit", "1"]);
    assert_eq!(data["moves"].as_array().unwrap().len(), 1, "{data}");
    assert_eq!(server.run(["workspace", "read", "t", "plan"]).out, "x");
}
