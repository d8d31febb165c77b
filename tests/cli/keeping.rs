//! What is kept, until when, and what goes, from the command line: pins, expiry, erasing, collecting.

use serde_json::Value;

use crate::program::Server;

/// A thread `t` of two turns with a document that was written over once; gives its exchanges.
fn furnished() -> (Server, [String; 2]) {
    let server = Server::start();
    let first = server.run(["capture", "remember", "--new-thread", "t", "--run-id", "r1"]).after("exchange");
    server.run(["workspace", "write", "t", "plan", "a draft"]);
    server.run(["workspace", "write", "t", "plan", "a plan"]);
    let second = server.run(["continue", "--thread", "t", "and on", "--run-id", "r2"]).after("exchange");
    (server, [first, second])
}

#[test]
fn pins_are_added_listed_and_removed() {
    let (server, [first, _]) = furnished();
    let said = server.run(["pins", "add", "--thread", "t", "--id", "keep", "--note", "until the audit"]);
    assert_eq!(said.out, "keep\n");
    let made = server.run(["pins", "add", "--exchange", &first]).out;
    assert!(!made.trim().is_empty(), "the server names it");
    server.run(["pins", "add", "--below", &first, "--id", "below"]);
    server.run(["pins", "add", "--run", "r2", "--id", "of-a-run"]);
    for said in [server.run(["pins"]).out, server.run(["pins", "list"]).out] {
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 5, "{said}");
        assert!(lines[0].starts_with("PIN"), "{said}");
        let keep = lines.iter().find(|line| line.starts_with("keep ")).unwrap();
        assert!(keep.contains("thread t") && keep.ends_with("until the audit"), "{said}");
        assert!(said.contains(&format!("below {first}")) && said.contains("run r2"), "{said}");
    }
    let data: Value = server.json(&["pins", "add", "--thread", "t", "--id", "json"]);
    assert_eq!((&data["pin"]["pinId"], &data["pin"]["target"]["thread"]["threadId"]), (&"json".into(), &"t".into()));
    assert_eq!(server.json(&["pins"])["pins"].as_array().unwrap().len(), 5);
    assert_eq!(server.run(["pins", "remove", "keep"]).out, "");
    let gone = server.say(["pins", "remove", "keep"]);
    assert!(gone.code == Some(1) && gone.err.contains("RESOURCE_NOT_FOUND"), "{gone:#?}");
    for wrong in [vec!["pins", "add"], vec!["pins", "add", "--thread", "t", "--run", "r1"], vec!["pins", "remove"]] {
        assert_eq!(server.say(wrong.clone()).code, Some(2), "{wrong:?}");
    }
    let nobody = server.say(["pins", "add", "--thread", "nobody"]);
    assert!(nobody.code == Some(1) && nobody.err.contains("THREAD_NOT_FOUND"), "{nobody:#?}");
}

#[test]
fn an_expiry_is_set_listed_taken_back_and_collected() {
    let (server, [first, second]) = furnished();
    let said = server.run(["expire", "--thread", "t", "--in", "30d"]).out;
    assert!(said.starts_with("thread t expires "), "{said}");
    assert!(server.run(["expire", "list"]).out.starts_with("thread t expires "));
    assert_eq!(server.run(["expire", "--thread", "t", "--never"]).out, "thread t never expires\n");
    assert_eq!(server.run(["expire", "list"]).out, "");
    server.run(["expire", "--exchange", &second, "--in", "0s"]);
    server.run(["pins", "add", "--exchange", &second, "--id", "p"]);
    let listed = server.run(["expire", "list"]).out;
    assert!(
        listed.starts_with(&format!("exchange {second} expires ")) && listed.ends_with(", kept by a pin\n"),
        "{listed}"
    );
    let data: Value = server.json(&["expire", "list"]);
    assert_eq!(data["expiries"][0]["pinned"], true, "{data}");
    let kept = server.run(["gc", "--grace", "0s", "--dry-run"]).out;
    assert!(kept.contains("would be removed") && kept.contains("1 kept by pins"), "{kept}");
    server.run(["pins", "remove", "p"]);
    let said = server.run(["gc", "--grace", "0s"]).out;
    assert!(said.contains("removed") && said.contains("exchange"), "{said}");
    let erased = server.say(["inspect", &second]);
    assert!(erased.code == Some(1) && erased.err.contains("EXCHANGE_ERASED"), "{erased:#?}");
    server.run(["inspect", &first]);
    assert_eq!(server.run(["expire", "list"]).out, "", "it came true");
    for wrong in [vec!["expire", "--thread", "t"], vec!["expire", "--thread", "t", "--in", "soon"]] {
        assert_eq!(server.say(wrong.clone()).code, Some(2), "{wrong:?}");
    }
}

#[test]
fn garbage_is_told_and_then_removed() {
    let (server, _) = furnished();
    let would = server.run(["gc", "--grace", "0s", "--dry-run"]).out;
    assert!(would.starts_with("2 records would be removed, "), "{would}");
    assert!(would.contains("workspace node") && would.contains("part"), "{would}");
    let data: Value = server.json(&["gc", "--dry-run"]);
    assert_eq!(data["dryRun"], true, "{data}");
    assert_eq!(data["removed"].as_array().unwrap().len(), 2, "{data}");
    let said = server.run(["gc", "--grace", "0s", "--max-duration", "1h"]).out;
    assert_eq!(said, would.replace("would be removed", "removed"));
    assert_eq!(server.run(["gc"]).out, "0 records removed, 0 B\n");
    assert_eq!(server.run(["workspace", "read", "t", "plan"]).out, "a plan");
    assert_eq!(server.say(["gc", "--grace", "later"]).code, Some(2));
    server.run(["verify"]);
}

#[test]
fn what_is_erased_has_a_receipt() {
    let (server, [first, second]) = furnished();
    let shared = server.say(["erase", "--exchange", &first]);
    assert!(shared.code == Some(1) && shared.err.contains("ERASE_SHARED"), "{shared:#?}");
    assert!(shared.err.contains(&second), "{shared:#?}");
    let would = server.run(["erase", "--exchange", &first, "--cascade", "--dry-run"]);
    assert!(would.out.starts_with("2 exchanges would be erased\n"), "{would:#?}");
    assert!(!would.err.contains("receipt"), "{would:#?}");
    server.run(["inspect", &second]);
    let command = ["erase", "--exchange", &second, "--note", "asked to", "--request-id", "q"];
    let said = server.run(command);
    assert!(said.out.starts_with("1 exchange erased\n"), "{said:#?}");
    assert!(said.out.contains("others have it too"), "{said:#?}");
    let receipt = said.after("receipt");
    let again = server.run(command);
    assert_eq!(again.after("receipt"), receipt, "it was done");
    assert!(again.out.starts_with("1 exchange erased earlier, by the same request\n"), "{again:#?}");
    let with_a_parent = server.say(["inspect", &second]);
    assert!(with_a_parent.err.contains("; go on from an exchange before it"), "{with_a_parent:#?}");
    assert!(with_a_parent.err.contains(&format!("next: antiphon inspect {first}\n")), "{with_a_parent:#?}");
    let gone = server.say(["workspace", "read", "t@2", "plan"]);
    assert!(gone.code == Some(1) && gone.err.contains("EXCHANGE_ERASED"), "{gone:#?}");
    assert_eq!(server.run(["workspace", "read", "t", "plan"]).out, "a plan", "what is live is the thread's");
    let data: Value = server.json(&["erase", "--thread", "t", "--tombstone"]);
    assert_eq!(data["receipt"]["mode"], "ERASE_MODE_TOMBSTONE", "{data}");
    let kinds: Vec<&str> =
        data["receipt"]["erased"].as_array().unwrap().iter().filter_map(|record| record["kind"].as_str()).collect();
    for kind in ["exchange", "thread", "workspace", "workspace node", "part"] {
        assert!(kinds.contains(&kind), "{kind} in {kinds:?}");
    }
    assert!(!server.run(["export"]).out.contains("\"plan\""));
    for verb in [&["inspect", &first][..], &["continue", &first, "and on"]] {
        let root = server.say(verb);
        assert!(root.code == Some(1) && root.err.contains("EXCHANGE_ERASED"), "{root:#?}");
        assert!(root.err.contains("there is none before it to go on from, and Capture begins another conversation"));
        assert!(root.err.contains("next: antiphon capture TEXT begins another conversation\n"), "{root:#?}");
    }
    for wrong in [vec!["erase"], vec!["erase", "--thread", "t", "--cascade", "--tombstone"]] {
        assert_eq!(server.say(wrong.clone()).code, Some(2), "{wrong:?}");
    }
    server.run(["verify"]);
}
