//! Errors, exit codes, help, and output that nobody reads to its end.

use std::process::Stdio;

use serde_json::Value;

use crate::program::{Said, Server, binary};

const NOBODY: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

#[test]
fn a_refusal_names_its_reason_and_the_way_out() {
    let server = Server::start();
    let said = server.say(["inspect", NOBODY]);
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""));
    for expected in ["error: ", NOBODY, "EXCHANGE_NOT_FOUND (NOT_FOUND)", "next: antiphon log --graph"] {
        assert!(said.err.contains(expected), "{expected} is missing in {}", said.err);
    }
    let said = server.say(["inspect", NOBODY, "--json"]);
    let error: Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""));
    assert_eq!(error["error"]["reason"], "EXCHANGE_NOT_FOUND");
    assert_eq!(error["error"]["resource"]["name"], NOBODY);
}

#[test]
fn wrong_fields_and_wrong_profiles_are_named() {
    let server = Server::start();
    let fields = server.say(["capture", "hi", "--temperature", "9", "--run-id", "not an id"]);
    assert_eq!(fields.code, Some(1));
    assert!(fields.err.contains("temperature") && fields.err.contains("run_id"), "{}", fields.err);
    let profile = server.say(["capture", "hi", "--profile", "cannde"]);
    assert!(profile.err.contains("PROFILE_UNKNOWN") && profile.err.contains("canned"), "{}", profile.err);
    assert!(profile.err.contains("next: antiphon catalog profiles"), "{}", profile.err);
    let provider = server.say(["capture", "break"]);
    assert!(
        provider.err.contains("PROVIDER_REFUSED_REQUEST") && provider.err.contains("no such thing"),
        "{}",
        provider.err
    );
}

/// What to do next is something that works: on a thread that is not there, and on one that has no exchanges yet.
#[test]
fn the_way_on_from_a_thread_is_one_that_works() {
    let server = Server::start();
    let next = |said: &Said| {
        let line = said.err.lines().find_map(|line| line.strip_prefix("next: "));
        line.unwrap_or_else(|| panic!("no next in {said:#?}")).to_owned()
    };
    let missing = server.say(["capture", "hi", "--thread", "plans"]);
    assert!(missing.code == Some(1) && missing.err.contains("THREAD_NOT_FOUND"), "{missing:#?}");
    let way = next(&missing);
    for expected in ["antiphon threads lists", "antiphon capture --new-thread plans", "antiphon threads create plans"] {
        assert!(way.contains(expected), "{expected} is missing in {way}");
    }
    let made = server.run(["threads", "create", "plans"]);
    assert_eq!((made.out.as_str(), next(&made)), ("plans\n", "antiphon capture --thread plans \"…\"".to_owned()));
    let taken = server.say(["capture", "hi", "--new-thread", "plans"]);
    assert!(next(&taken).contains("antiphon capture --thread plans TEXT where it is empty"), "{taken:#?}");
    assert!(next(&server.say(["continue", "--thread", "plans", "hi"])).starts_with("antiphon capture --thread plans"));
    let head = server.run(["capture", "hi", "--thread", "plans"]).after("exchange");
    let made = server.run(["threads", "create", "more", "--at", &head]);
    assert_eq!(next(&made), "antiphon continue --thread more \"…\"");
    assert_eq!(server.run(["threads", "create", "quiet", "--json"]).err, "");
}

/// Every option that takes a time says how one is written.
#[test]
fn a_time_that_is_none_is_told_how_one_is_written() {
    let home = tempfile::tempdir().unwrap();
    let lengths: [&[&str]; 8] = [
        &["info", "--timeout", "abc"],
        &["capture", "hi", "--timeout", "30"],
        &["coordinate", "hi", "--decision-timeout", "abc"],
        &["prepare", "hi", "--expires-in", "abc"],
        &["keys", "create", "k", "--expires", "abc"],
        &["gc", "--grace", "abc"],
        &["gc", "--max-duration", "abc"],
        &["expire", "--thread", "t", "--in", "abc"],
    ];
    let moments: [&[&str]; 2] =
        [&["tools", "occurrences", "t", "--from", "abc"], &["tools", "occurrences", "t", "--before", "abc"]];
    let all = lengths.map(|typed| (typed, "such as `500ms`, `30s`, `2m`, `1h 30m` or `90d`"));
    for (arguments, expected) in all.into_iter().chain(moments.map(|typed| (typed, "such as `2026-01-31T12:00:00Z`"))) {
        let said = Said::of(binary(home.path()).args(arguments).output().unwrap());
        assert_eq!(said.code, Some(2), "{arguments:?}: {said:#?}");
        let option = arguments[arguments.len() - 2];
        assert!(said.err.contains(expected) && said.err.contains(option), "{arguments:?}: {}", said.err);
    }
}

/// One that does not fit the type of its option was told to be too large, and not what it may be.
#[test]
fn a_number_that_cannot_be_is_told_what_can() {
    let home = tempfile::tempdir().unwrap();
    let create = ["keys", "create", "me", "--file", "k.toml"];
    let (half, whole) = (u32::MAX.to_string(), u64::MAX.to_string());
    for (verb, option, least, most) in [
        (&create[..], "--tokens-per-day", "1", "9223372036854775807"),
        (&create, "--calls-at-once", "1", half.as_str()),
        (&create, "--calls-per-second", "1", &half),
        (&create, "--streams-at-once", "1", &half),
        (&create, "--coordinations-at-once", "1", &half),
        (&create, "--runs-at-once", "1", &half),
        (&["capture", "hi"], "--max-output-tokens", "0", &half),
        (&["capture", "hi"], "--repair", "0", &half),
        (&["capture", "hi"], "--history-turns", "0", &half),
        (&["capture", "hi"], "--history-tokens", "0", &whole),
        (&["fork", "--thread", "t"], "--after-turn", "0", &whole),
        (&["coordinate", "hi"], "--turns", "0", &half),
        (&["coordinate", "hi"], "--tool-rounds", "0", &half),
        (&["chain", "hi"], "--limit", "0", &half),
        (&["threads"], "--limit", "1", &half),
        (&["log"], "--limit", "1", &half),
        (&["search"], "--limit", "1", &half),
        (&["verify"], "--max-findings", "1", "100000"),
        (&["bench"], "--callers", "1", "65535"),
        (&["bench"], "--bytes", "1", "1048576"),
        (&["bench"], "--process", "1", &half),
    ] {
        for number in ["18446744073709551616", "4294967296000000000000000000", "many", "1.5"] {
            let line = [verb, &[option, number]].concat();
            let said = Said::of(binary(home.path()).args(&line).output().unwrap());
            assert_eq!(said.code, Some(2), "{line:?}: {said:#?}");
            let expected = format!("invalid value '{number}' for '{option} <");
            let range = format!("must be a whole number from {least} to {most}\n");
            assert!(said.err.contains(&expected) && said.err.contains(&range), "{line:?}: {}", said.err);
        }
    }
    assert!(!home.path().join("k.toml").exists());
    let most = [&create[..], &["--tokens-per-day", "9223372036854775807", "--calls-at-once", &half]].concat();
    let made = Said::of(binary(home.path()).args(most).output().unwrap());
    assert_eq!(made.code, Some(0), "{made:#?}");
}

#[test]
fn what_makes_no_sense_ends_with_two() {
    let home = tempfile::tempdir().unwrap();
    let cases: [&[&str]; 9] = [
        &["nonsense"],
        &["capture", "hi", "--nonsense"],
        &["continue"],
        &["fork", "a", "b", "c"],
        &["log"],
        &["capture", "hi", "--retry"],
        &["capture", "hi", "--var", "a=b"],
        &["--server", "nowhere", "info"],
        &["capture", "hi", "--label", "novalue"],
    ];
    for arguments in cases {
        let said = Said::of(binary(home.path()).args(arguments).output().unwrap());
        assert_eq!(said.code, Some(2), "{arguments:?}: {said:#?}");
        assert!(!said.err.is_empty() && said.out.is_empty(), "{arguments:?}: {said:#?}");
    }
}

#[test]
fn help_is_no_failure() {
    let home = tempfile::tempdir().unwrap();
    let said = Said::of(binary(home.path()).arg("--help").output().unwrap());
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    for verb in [
        "serve",
        "check",
        "capture",
        "continue",
        "fork",
        "probe",
        "record",
        "inspect",
        "log",
        "threads",
        "runs",
        "catalog",
        "info",
        "verify",
        "workspace",
    ] {
        assert!(said.out.contains(&format!("\n  {verb} ")), "{verb} is missing in {}", said.out);
        let help = Said::of(binary(home.path()).args([verb, "--help"]).output().unwrap());
        assert_eq!(help.code, Some(0), "{help:#?}");
    }
    let version = Said::of(binary(home.path()).arg("--version").output().unwrap());
    assert_eq!(version.out, format!("antiphon {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_server_that_is_not_there_says_how_to_start_one() {
    let home = tempfile::tempdir().unwrap();
    // A port that was free a moment ago: nobody answers there.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    let said = Said::of(binary(home.path()).args(["--server", &url, "info"]).output().unwrap());
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains(&url) && said.err.contains("antiphon serve"), "{}", said.err);
}

#[test]
fn a_reader_that_has_enough_ends_it_quietly() {
    let server = Server::start();
    let messages: Vec<String> = (0..2_000)
        .map(|n| format!(r#"{{"role": "user", "content": "q{n}"}}, {{"role": "assistant", "content": "a{n}"}}"#))
        .collect();
    let recorded = server.feed(&["record", "--new-thread", "long"], &format!("[{}]", messages.join(",")));
    assert_eq!(recorded.code, Some(0), "{}", recorded.err);
    let mut child =
        server.command(["log", "--thread", "long"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The reader is gone before anything is written.
    drop(child.stdout.take());
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert_eq!(server.run(["log", "--thread", "long"]).out.lines().count(), 2_001);
}

#[test]
fn colours_are_for_terminals_or_for_who_asks() {
    let server = Server::start();
    server.run(["threads", "create", "t"]);
    assert!(!server.run(["threads"]).out.contains('\u{1b}'));
    assert!(server.run(["threads", "--color", "always"]).out.contains('\u{1b}'));
    assert_eq!(server.run(["capture", "escape"]).out, "a\u{1b}[2Jb\n", "a program gets what the model said, verbatim");
}

#[test]
fn a_deadline_ends_the_wait() {
    let server = Server::start();
    for how in ["--no-stream", "--finish"] {
        let mut command = binary(server.home.path());
        command.env("ANTIPHON_SERVER", &server.url).args(["--timeout", "300ms", "capture", "never", how]);
        let said = Said::of(command.output().unwrap());
        assert_eq!(said.code, Some(1), "{said:#?}");
        let told = ["DEADLINE", "no whole answer within 300ms"].iter().any(|word| said.err.contains(word));
        assert!(told, "{}", said.err);
    }
}

#[test]
fn the_server_tells_what_it_is_and_what_is_configured() {
    let server = Server::start();
    let info = server.json(&["info"]);
    assert_eq!(info["serverInfo"]["store"]["ephemeral"], true);
    assert_eq!(info["serverInfo"]["configured"]["profiles"], 1);
    let told = server.run(["info"]).out;
    assert!(told.contains("gone when the server stops") && told.contains("max_message_bytes"), "{told}");
    assert!(server.run(["catalog", "profiles"]).out.contains("canned-1"));
    assert_eq!(server.json(&["catalog", "backends", "script"])["backend"]["kind"], "scripted");
    let unknown = server.say(["catalog", "prompts", "nope"]);
    assert!(unknown.err.contains("RESOURCE_NOT_FOUND") || unknown.err.contains("PROMPT_UNKNOWN"), "{}", unknown.err);
}

// Under --json a mistake on the command line came as text for people.
#[test]
fn a_line_that_makes_no_sense_is_an_object_where_json_is_asked_for() {
    let home = tempfile::tempdir().unwrap();
    for arguments in
        [&["inspect", "--json"][..], &["--json", "captur", "x"], &["log", "--json"], &["catalog", "--json"]]
    {
        let said = Said::of(binary(home.path()).args(arguments).output().unwrap());
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:#?}");
        let told: Value = serde_json::from_str(&said.err).unwrap_or_else(|error| panic!("{error}: {said:#?}"));
        let error = &told["error"];
        assert_eq!(error["reason"], "USAGE", "{said:#?}");
        let message = error["message"].as_str().unwrap();
        assert!(!message.is_empty() && !message.contains("Usage:") && !message.contains('\n'), "{message}");
    }
    let said = Said::of(binary(home.path()).args(["capture", "--", "--json", "--nonsense"]).output().unwrap());
    assert!(said.err.starts_with("error: "), "what follows `--` is text: {}", said.err);
}

#[test]
fn shells_get_what_they_need_to_complete_commands() {
    let home = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let said = Said::of(binary(home.path()).args(["completions", shell]).output().unwrap());
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:#?}");
        assert!(said.out.contains("antiphon") && said.out.contains("expected-head"), "{shell}");
    }
}

/// A page for the program and one for each verb and its parts, whatever is added; each has its options and those of every verb.
#[test]
fn the_manual_has_a_page_for_each_verb() {
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| Said::of(binary(home.path()).args(arguments).output().unwrap());
    let program = run(&["man"]);
    assert_eq!((program.code, program.err.as_str()), (Some(0), ""), "{program:#?}");
    assert!(program.out.contains(".TH antiphon 1") && program.out.contains("antiphon\\-capture(1)"), "{}", program.out);
    let restore = run(&["man", "threads", "restore"]).out;
    assert!(restore.contains(".TH antiphon-threads-restore 1"), "{restore}");
    let fork = run(&["man", "fork"]).out;
    assert!(fork.contains("\\-\\-name") && fork.contains("\\-\\-server"), "{fork}");
    let unknown = run(&["man", "threads", "burn"]);
    assert!(unknown.code == Some(2) && unknown.err.contains("`burn`: list, "), "{unknown:#?}");

    let written = run(&["man", "--out", "some/folder", "--json"]);
    assert_eq!((written.code, written.err.as_str()), (Some(0), ""), "{written:#?}");
    let told: Value = serde_json::from_str(&written.out).unwrap();
    let told: Vec<&str> = told["pages"].as_array().unwrap().iter().map(|page| page.as_str().unwrap()).collect();
    let folder = home.path().join("some/folder");
    let mut there: Vec<String> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    there.sort();
    assert_eq!(there, told);
    let help = run(&["--help"]).out;
    let verbs = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    for verb in verbs.filter_map(|line| line.split_whitespace().next()) {
        assert!(told.contains(&format!("antiphon-{verb}.1").as_str()), "{verb} has no page");
    }
    assert!(told.contains(&"antiphon.1") && told.contains(&"antiphon-workspace-write.1"), "{told:?}");
    assert_eq!(std::fs::read_to_string(folder.join("antiphon-fork.1")).unwrap(), fork);
    std::fs::write(home.path().join("file"), "").unwrap();
    let refused = run(&["man", "--out", "file"]);
    assert!(refused.code == Some(1) && refused.err.contains("file: "), "{refused:#?}");
}

// A thread whose first turn failed was shown as if it was at work.
#[test]
fn a_thread_whose_first_turn_failed_is_shown_as_what_it_is() {
    let server = Server::start();
    assert_eq!(server.say(["capture", "break", "--new-thread", "t", "--run-id", "r"]).code, Some(1));
    let threads = server.run(["threads"]).out;
    assert!(threads.contains("empty, last run failed"), "{threads}");
    assert!(server.run(["threads", "get", "t"]).out.contains("active run  r (failed)"));
    let log = server.run(["log", "--thread", "t"]);
    assert!(log.err.contains("t: has no exchange yet: run r ended failed"), "{}", log.err);
    assert!(server.run(["log", "--graph"]).out.contains("t has no exchange yet: run r ended failed"));
}

// `log` shows what the next command takes.
#[test]
fn a_log_has_ids_that_can_be_used() {
    let server = Server::start();
    let exchange = server.run(["capture", "hello", "--new-thread", "t"]).after("exchange");
    assert!(server.run(["log", "--thread", "t"]).out.contains(&exchange));
    assert!(server.run(["log", &exchange]).out.contains(&exchange));
}
