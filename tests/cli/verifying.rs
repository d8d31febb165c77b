//! Verifying a store that no server has open: it stays as it is, whatever is wrong with it.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::program::{Said, Server, binary, until};

/// Every file in a folder with its bytes.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}

/// A store with several turns that was left by kill -9, in `kept` of the folder.
fn left_behind() -> tempfile::TempDir {
    let server = Server::with(&["--data", "kept"]);
    let exchange = server.run(["capture", "remember", "--new-thread", "t"]).after("exchange");
    server.run(["continue", &exchange, "and on"]);
    server.signal("KILL");
    server.ended().2
}

fn verify(home: &Path, more: &[&str]) -> Said {
    Said::of(verification(home, more).output().unwrap())
}

fn verification(home: &Path, more: &[&str]) -> Command {
    let mut command = binary(home);
    command.env("TMPDIR", home).args(["verify", "--data", "kept"]).args(more);
    command
}

/// What is in a folder, but for the store and what belongs to the tests.
fn left(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "kept" && name != "antiphon.toml").collect()
}

// It opened what it checked, and so changed it.
#[test]
fn a_store_is_the_same_after_it_was_verified() {
    let home = left_behind();
    let before = files(home.path());
    let said = verify(home.path(), &[]);
    assert_eq!(said.code, Some(0), "{said:#?}");
    assert!(said.out.starts_with("0 findings; checked ") && said.out.contains("exchange 2,"), "{}", said.out);
    assert!(said.err.contains("verifying a copy of "), "{}", said.err);
    assert!(files(home.path()) == before, "{:?}", left(home.path()));
    let said = verify(home.path(), &["--json"]);
    let told: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((told["completed"]["duration"].is_string(), said.err.as_str()), (true, ""), "{said:#?}");
}

#[test]
fn a_damaged_store_is_the_same_after_it_was_verified() {
    let home = left_behind();
    let log = home.path().join("kept/sled/db");
    let file = std::fs::OpenOptions::new().write(true).open(&log).unwrap();
    // Among the first turns, where the engine takes it for the end.
    file.write_all_at(&[7; 64], 400).unwrap();
    let before = files(home.path());
    let said = verify(home.path(), &[]);
    assert_eq!(said.code, Some(1), "{said:#?}");
    let store = home.path().join("kept").canonicalize().unwrap().display().to_string();
    assert!(said.err.contains(&format!("the store in {store} is damaged")), "it is named, not its copy: {said:#?}");
    assert!(files(home.path()) == before, "{:?}", left(home.path()));
}

#[test]
fn a_store_that_a_server_has_is_left_to_that_server() {
    let server = Server::with(&["--data", "kept"]);
    server.run(["capture", "remember"]);
    let before = files(server.home.path());
    let said = verify(server.home.path(), &[]);
    assert_eq!(said.code, Some(1), "{said:#?}");
    assert!(
        said.err.contains("in use by process ") && said.err.contains("antiphon verify, with --server"),
        "{said:#?}"
    );
    assert!(files(server.home.path()) == before);
    assert!(server.run(["verify"]).out.starts_with("0 findings; "));
}

#[test]
fn the_copy_can_be_made_elsewhere_and_is_gone_afterwards() {
    let home = left_behind();
    let elsewhere = tempfile::tempdir().unwrap();
    let said = verify(home.path(), &["--copy-in", elsewhere.path().to_str().unwrap()]);
    assert_eq!(said.code, Some(0), "{said:#?}");
    assert!(said.err.contains(elsewhere.path().to_str().unwrap()), "{}", said.err);
    assert_eq!((left(elsewhere.path()), left(home.path())), (Vec::new(), Vec::new()));
    let said = verify(home.path(), &["--copy-in", "nowhere"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("a copy of the store cannot be made in nowhere"), "{}", said.err);
}

#[test]
fn a_copy_that_does_not_fit_is_not_begun() {
    let home = left_behind();
    // A file that says it is larger than any disk.
    let file = std::fs::OpenOptions::new().write(true).open(home.path().join("kept/sled/db")).unwrap();
    file.set_len(1 << 43).unwrap();
    let said = verify(home.path(), &[]);
    assert_eq!(said.code, Some(1), "{said:#?}");
    assert!(said.err.contains("a copy of the store needs ") && said.err.contains("--copy-in DIR"), "{}", said.err);
    assert_eq!(left(home.path()), Vec::<String>::new());
}

#[test]
fn a_signal_removes_the_copy() {
    let home = left_behind();
    // Takes long to copy: a large file without a byte in it.
    let file = std::fs::OpenOptions::new().write(true).open(home.path().join("kept/sled/db")).unwrap();
    file.set_len(2 << 30).unwrap();
    let mut command = verification(home.path(), &[]);
    let verifying = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let process = verifying.id().to_string();
    until("the copy", || {
        let copies = left(home.path());
        copies.iter().any(|name| home.path().join(name).join("store").exists())
    });
    assert!(Command::new("kill").args(["-INT", &process]).status().unwrap().success());
    let said = Said::of(verifying.wait_with_output().unwrap());
    assert_eq!(said.code, Some(1), "{said:#?}");
    assert!(said.err.contains("stopped by SIGINT"), "{}", said.err);
    assert_eq!(left(home.path()), Vec::<String>::new());
}

#[test]
fn the_copy_of_a_verification_that_was_killed_is_removed_by_the_next() {
    let home = left_behind();
    let stale = home.path().join("antiphon-verify-1-0");
    std::fs::create_dir_all(stale.join("store")).unwrap();
    std::fs::write(stale.join("lock"), "").unwrap();
    assert_eq!(verify(home.path(), &[]).code, Some(0));
    assert_eq!(left(home.path()), Vec::<String>::new());
}
