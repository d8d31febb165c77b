//! Moving data in and out with the program: to and from files and pipes, and from other tools.

use std::path::Path;
use std::process::Stdio;

use rusqlite::Connection;
use serde_json::Value;

use crate::program::Server;

/// Two threads, one of them forked.
fn furnished() -> (Server, String) {
    let server = Server::start();
    let exchange = server.run(["capture", "remember", "--new-thread", "t"]).after("exchange");
    server.run(["continue", "--thread", "t", "and on"]);
    server.run(["fork", &exchange, "--id", "f"]);
    (server, exchange)
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn an_export_goes_to_a_file_or_a_pipe_and_comes_back() {
    let (server, exchange) = furnished();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.jsonl");
    let said = server.run(["export", file.to_str().unwrap()]);
    assert!(said.err.contains("exported 2 exchanges in ") && said.err.contains("all.jsonl"), "{said:#?}");
    assert!(text(&file).lines().last().unwrap().contains("\"kind\":\"end\""));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    let piped = server.run(["export", "--thread", "t"]);
    assert!(piped.out.starts_with("{\"kind\":\"antiphon_export\""), "{piped:#?}");
    let other = Server::start();
    let said = other.feed(&["import"], &piped.out);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "2 exchanges, 2 threads stored, 0 on record already\n"));
    let said = other.run(["import", file.to_str().unwrap()]);
    assert_eq!(said.out, "0 exchanges stored, 2 on record already\n", "{said:#?}");
    assert!(other.run(["inspect", &exchange]).out.contains("remember"));
    let threads = other.json(&["threads"]);
    assert_eq!(threads["threads"].as_array().unwrap().len(), 2);
    let summary = other.json(&["import", "--dry-run", file.to_str().unwrap()]);
    assert!(summary["stored"].as_array().is_none_or(Vec::is_empty), "{summary}");
    let backup = folder.path().join("backup.jsonl");
    assert!(other.run(["backup", backup.to_str().unwrap()]).err.contains("backed up 2 exchanges"));
    let stats = other.json(&["stats"]);
    let exchanges = stats["records"].as_array().unwrap().iter().find(|record| record["kind"] == "exchange").unwrap();
    assert_eq!(exchanges["count"], "2");
}

/// An export from before an erasure does not bring back what was erased, and says so; a gap is shown as one.
#[test]
fn what_was_erased_stays_erased() {
    let (server, exchange) = furnished();
    let before = server.run(["export"]).out;
    server.run(["erase", "--thread", "t", "--tombstone"]);
    server.run(["capture", "more", "--new-thread", "other"]);
    let would = server.feed(&["import", "--dry-run"], &before);
    assert_eq!(
        would.out,
        "0 exchanges would be stored, 0 on record already\n2 exchanges, 1 thread were erased here and would stay so\n",
        "{would:#?}"
    );
    let said = server.feed(&["import"], &before);
    assert_eq!(
        said.out, "0 exchanges stored, 0 on record already\n2 exchanges, 1 thread were erased here and stay so\n",
        "{said:#?}"
    );
    assert!(!server.run(["threads"]).out.contains("remember"));
    assert!(server.say(["inspect", &exchange]).err.contains("EXCHANGE_ERASED"));

    let first = server.run(["capture", "one", "--new-thread", "g"]).after("exchange");
    server.run(["continue", "--thread", "g", "two"]);
    server.run(["erase", "--exchange", &first, "--tombstone"]);
    let turn = server.run(["continue", "--thread", "g", "three"]);
    assert!(turn.err.contains("1 of the 2 exchanges of the history were erased"), "{turn:#?}");
    let log = server.run(["log", "--thread", "g"]);
    assert!(log.out.contains("(erased)") && !log.out.contains("one"), "{log:#?}");
}

/// The way back that is documented: a backup, an empty folder, an import, a verification; and then it goes on where it was.
#[test]
fn a_backup_is_restored_into_an_empty_folder() {
    let server = Server::with(&["--data", "kept"]);
    server.run(["capture", "remember", "--new-thread", "t", "--run-id", "r1"]);
    server.run(["workspace", "write", "t", "plan", "first"]);
    server.run(["continue", "--thread", "t", "and on"]);
    server.run(["workspace", "write", "t", "plan", "second"]);
    let waiting = server.run(["capture", "what weather?", "--new-thread", "w"]);
    let call = waiting.err.split_whitespace().find(|word| word.starts_with("call_")).unwrap().to_owned();
    server.run(["fork", "--thread", "t", "--after-turn", "1", "--id", "f"]);
    let told = |server: &Server| {
        let asked: [&[&str]; 6] = [
            &["threads"],
            &["log", "--thread", "t"],
            &["workspace", "read", "t", "plan"],
            &["workspace", "read", "t@1", "plan"],
            &["runs"],
            &["usage", "--tree", "t"],
        ];
        asked.map(|arguments| server.run(arguments).out)
    };
    let before = told(&server);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.jsonl");
    server.run(["backup", file.to_str().unwrap()]);
    drop(server);

    let restored = Server::with(&["--data", "empty"]);
    let tried = restored.run(["import", "--dry-run", file.to_str().unwrap()]);
    assert!(restored.json(&["threads"])["threads"].as_array().is_none_or(Vec::is_empty), "{tried:#?}");
    let said = restored.run(["import", file.to_str().unwrap()]);
    assert!(said.out.starts_with("3 exchanges, 3 threads, 2 workspaces stored, 0 on record already"), "{said:#?}");
    assert_eq!(restored.run(["verify"]).code, Some(0));
    assert_eq!(told(&restored), before);
    // The same run id is answered from the record, what waited for a result waits for it, and a thread goes on from its head.
    let again = restored.run(["capture", "remember", "--new-thread", "t", "--run-id", "r1", "--json"]);
    assert!(again.out.contains("\"replayed\": true"), "{again:#?}");
    let answered = restored.run(["continue", "--thread", "w", "--result", &format!("{call}=sunny")]);
    assert!(answered.out.contains("it is sunny"), "{answered:#?}");
    assert!(restored.run(["continue", "--thread", "t", "further"]).err.contains("thread t turn 3"));
}

#[test]
fn a_file_that_was_cut_or_is_another_is_refused_with_the_way_out() {
    let (server, _) = furnished();
    let lines = server.run(["export"]).out;
    let other = Server::start();
    let cut = &lines[..lines.len() / 2];
    let said = other.feed(&["import"], cut);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("line ") && said.err.contains("what was stored"), "{said:#?}");
    let said = other.feed(&["import", "--format", "antiphon"], "{\"messages\":[]}\n");
    assert!(said.err.contains("line 1 ") && said.err.contains("antiphon export"), "{said:#?}");
    let said = other.say(["import", "no-such-file"]);
    assert!(said.err.contains("no-such-file"), "{said:#?}");
    let said = other.feed(&["import", "--threads"], &lines);
    assert_eq!(said.code, Some(2), "{said:#?}");
    // What came before the cut was kept, and is not stored twice.
    assert_eq!(other.feed(&["import"], &lines).code, Some(0));
    assert_eq!(other.feed(&["import"], &lines).out, "0 exchanges stored, 2 on record already\n");
}

/// What is wrong with a file is told with what to do about it, and before anything is written.
#[test]
fn a_file_that_cannot_be_read_or_written_says_what_to_do() {
    let (server, _) = furnished();
    let home = server.home.path();
    std::fs::write(home.join("packed.gz"), [0x1f, 0x8b, 8, 0, 0xff, 0xfe, 0, 1]).unwrap();
    std::fs::create_dir(home.join("folder")).unwrap();
    for (arguments, what, next) in [
        (["import", "no-such-file"], "no-such-file: there is no such file", "antiphon export FILE"),
        (["import", "packed.gz"], "packed.gz: is not text", "unpack it first"),
        (["import", "folder"], "folder: is a folder", "name a file in it"),
        (["export", "folder"], "folder: is a folder", "such as folder/antiphon.jsonl"),
        (["backup", "folder"], "folder: is a folder", "such as folder/antiphon.jsonl"),
        (["export", "nowhere/all.jsonl"], "nowhere/all.jsonl.partial: ", "a folder that is there"),
    ] {
        let said = server.say(arguments);
        assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{said:#?}");
        let (error, advice) = said.err.trim_end().split_once('\n').unwrap_or_else(|| panic!("{said:#?}"));
        assert!(error.starts_with(&format!("error: {what}")), "{said:#?}");
        assert!(advice.starts_with("next: ") && advice.contains(next) && !advice.contains('\n'), "{said:#?}");
    }
    assert!(!home.join("folder.partial").exists(), "what would only lie about is not begun");
    let said = server.say(["import", "packed.gz", "--json"]);
    let error: Value = serde_json::from_str(&said.err).unwrap();
    assert!(error["error"]["next"].as_str().unwrap().contains("unpack"), "{error}");
}

// A reader that has enough ends the export, and the server goes on.
#[test]
fn a_reader_that_goes_away_ends_an_export() {
    let (server, _) = furnished();
    let mut child = server.command(["export"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    child.wait().unwrap();
    assert!(server.run(["export"]).out.contains("\"kind\":\"end\""));
}

#[test]
fn chats_are_imported_as_json_and_by_lines() {
    let server = Server::start();
    let chat = r#"{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}"#;
    assert_eq!(server.feed(&["import"], &format!("{chat}\n")).out, "1 exchange stored, 0 on record already\n");
    assert_eq!(server.feed(&["import"], &format!("[\n{chat}\n]")).out, "0 exchanges stored, 1 on record already\n");
    let said = server.feed(&["import", "--threads", "--label", "from=file"], &format!("{chat}\n"));
    assert_eq!(said.out.lines().count(), 2, "the thread is named: {said:#?}");
    let said = server.feed(&["import"], &format!("{chat}\n{{\"prompt\": 1}}\n"));
    assert!(said.err.contains("line 2 is not"), "{said:#?}");
    let said = server.feed(&["import", "--skip-faulty"], &format!("{chat}\n{{\"prompt\": 1}}\n"));
    assert!(said.out.contains("1 line left out") && said.err.contains("left out: line 2"), "{said:#?}");
}

/// The tables of `llm` 0.27, as far as conversations need them.
const LLM: &str = "
CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, prompt_json TEXT, options_json TEXT, response TEXT,
  response_json TEXT, conversation_id TEXT REFERENCES conversations(id), duration_ms INTEGER, datetime_utc TEXT, input_tokens INTEGER,
  output_tokens INTEGER, token_details TEXT, schema_id TEXT, resolved_model TEXT);
CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT, arguments TEXT, tool_call_id TEXT);
CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT, output TEXT, tool_call_id TEXT);
INSERT INTO conversations VALUES ('01a', 'Greetings', 'gpt-4o-mini'), ('01b', 'Weather', 'gpt-4o-mini');
INSERT INTO responses (id, model, prompt, system, response, conversation_id, input_tokens, output_tokens) VALUES
  ('01', 'gpt-4o-mini', 'hello', 'be brief', 'hi', '01a', 7, 2),
  ('02', 'gpt-4o-mini', 'weather?', NULL, '', '01b', NULL, NULL),
  ('03', 'gpt-4o-mini', 'and now?', 'be brief', 'still here', '01a', 12, 3),
  ('04', 'gpt-4o-mini', '', NULL, 'it is sunny', '01b', NULL, NULL),
  ('05', 'gpt-4o-mini', 'alone', NULL, 'yes', NULL, 1, 1);
INSERT INTO tool_calls (response_id, name, arguments, tool_call_id) VALUES ('02', 'look', '{}', 'call_1');
INSERT INTO tool_results (response_id, name, output, tool_call_id) VALUES ('04', 'look', 'sunny', 'call_1');
";

#[test]
fn the_database_of_llm_is_imported_by_conversation() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("logs.db");
    Connection::open(&file).unwrap().execute_batch(LLM).unwrap();
    let before = std::fs::read(&file).unwrap();
    let said = server.run(["import", "--threads", file.to_str().unwrap()]);
    assert!(said.out.starts_with("5 exchanges, 3 threads stored, 0 on record already\n"), "{said:#?}");
    assert_eq!(std::fs::read(&file).unwrap(), before, "it is only read");
    let threads = server.json(&["threads"]);
    let named = |name: &str| {
        threads["threads"].as_array().unwrap().iter().find(|thread| thread["name"] == name).unwrap().clone()
    };
    assert_eq!(
        (&named("Greetings")["turnCount"], &named("Weather")["turnCount"]),
        (&Value::from("2"), &Value::from("1"))
    );
    let head = named("Greetings")["headExchangeId"].as_str().unwrap().to_owned();
    let inspected = server.json(&["inspect", &head]);
    assert_eq!(inspected["exchange"]["usage"]["inputTokens"], "12");
    assert_eq!(inspected["exchange"]["responder"]["model"], "gpt-4o-mini");
    let said = server.run(["import", file.to_str().unwrap()]);
    assert_eq!(said.out, "0 exchanges stored, 5 on record already\n", "{said:#?}");
    std::fs::write(&file, &before[..before.len() / 2]).unwrap();
    let said = server.say(["import", file.to_str().unwrap()]);
    assert!(said.code == Some(1) && said.err.contains("logs.db"), "{said:#?}");
}

/// A database that a disk or a transfer damaged is imported as far as it can be read, or told; nothing breaks, and what is stored stays whole.
#[test]
fn a_damaged_database_of_llm_is_imported_or_told() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("logs.db");
    Connection::open(&file).unwrap().execute_batch(LLM).unwrap();
    let right = std::fs::read(&file).unwrap();
    let seed = std::process::id();
    println!("seed {seed}");
    let mut rolls = (0_u32..).map(|n| {
        let mixed = n.wrapping_mul(0x9e37_79b9) ^ seed.wrapping_mul(0x85eb_ca6b);
        (mixed ^ (mixed >> 15)).wrapping_mul(0x2c1b_3c6d) as usize
    });
    for _ in 0..40 {
        let mut broken = right.clone();
        for _ in 0..8 {
            // Pages are mostly empty: what is not zero says something.
            let at = (0..broken.len()).cycle().skip(rolls.next().unwrap() % broken.len()).find(|at| broken[*at] != 0);
            broken[at.unwrap()] = (rolls.next().unwrap() % 256) as u8;
        }
        std::fs::write(&file, broken).unwrap();
        let said = server.say(["import", file.to_str().unwrap()]);
        let is_told = said.code == Some(1) && !said.err.is_empty() && !said.err.contains("panicked");
        assert!(said.code == Some(0) || is_told, "{said:#?}");
    }
    assert!(server.run(["verify"]).out.starts_with("0 findings; "));
}
