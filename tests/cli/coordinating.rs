//! Coordinations from the command line: a prompt or a command decides, local commands are tools, and neither a broken line nor Ctrl-C
//! loses anything.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::line::Line;
use crate::program::{Said, Server, binary, until};

/// What the server answers where no rule does.
fn echo(text: &str, message: usize) -> String {
    format!("You said: {text} (message {message} of the history)\n")
}

/// A script of a caller.
fn script(server: &Server, name: &str, text: &str) -> String {
    format!("sh {}", server.file(name, text).display())
}

/// The frames of a stream, by their kinds.
fn kinds(out: &str) -> Vec<String> {
    let frames = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    frames.map(|frame| frame.as_object().unwrap().keys().find(|key| *key != "sequence").unwrap().clone()).collect()
}

/// A pipe with a name, on which a command waits until a test writes to it.
fn pipe(server: &Server, name: &str) -> PathBuf {
    let path = server.home.path().join(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

fn spawn(command: &mut Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_prompt_takes_one_line_for_each_result() {
    let server = Server::start();
    let all = ["coordinate", "hello", "--system", "Be brief.", "--turns", "2", "--id", "talk"];
    let said = server.feed(&all, "and on\n\n/what\n/stop\n");
    assert_eq!(said.code, Some(0), "{said:#?}");
    assert_eq!(said.out, echo("hello", 2) + &echo("and on", 4), "a pipe gets the answers and nothing more");
    for expected in ["turns 0 of 2", "turns 1 of 2", "/what is not known", "1 turn left", "stopped"] {
        assert!(said.err.contains(expected), "{expected} is missing in {}", said.err);
    }
    let ended = server.json(&["coordinations", "get", "talk"]);
    assert_eq!(ended["coordination"]["state"], "COORDINATION_STATE_STOPPED");

    let again = server.feed(&all, "");
    assert_eq!((again.code, again.out.as_str()), (Some(0), ""), "the same start is safe to repeat: {again:#?}");
    let other = server.feed(&["coordinate", "other", "--id", "talk"], "");
    assert_eq!(other.code, Some(1));
    assert!(other.err.contains("COORDINATION_CONFLICT") && other.err.contains("--attach talk"), "{}", other.err);
}

#[test]
fn the_end_of_the_input_decides_nothing() {
    let server = Server::start();
    let start = server.run(["capture", "hello", "--new-thread", "t"]);
    let said = server.feed(&["coordinate", "--thread", "t", "--turns", "1", "--id", "c"], "once\n");
    assert_eq!(said.code, Some(0), "{said:#?}");
    assert_eq!(said.out, start.out + &echo("once", 3), "what it starts from is presented first");
    assert!(said.err.contains("suspended, awaiting decision"), "{}", said.err);
    assert!(said.err.contains("antiphon coordinate --attach c"), "{}", said.err);
    assert!(server.run(["coordinations", "--alone"]).out.contains("awaiting decision"));

    let more = server.feed(&["coordinate", "--attach", "c"], "more\n");
    assert_eq!(more.code, Some(0), "no turn is left, which is no failure: {more:#?}");
    assert_eq!(more.out, echo("once", 3), "only what is pending is presented again");
    assert!(more.err.contains("no turn is left"), "{}", more.err);
    assert_eq!(server.json(&["threads", "get", "t"])["thread"]["turnCount"], "2");
}

#[test]
fn what_is_said_at_the_prompt_ends_it_as_it_says() {
    let server = Server::start();
    let failed = server.feed(&["coordinate", "hello"], "/fail TOO_THIN there is nothing in it\n");
    assert_eq!(failed.code, Some(1));
    for expected in ["there is nothing in it", "TOO_THIN (ABORTED)"] {
        assert!(failed.err.contains(expected), "{expected} is missing in {}", failed.err);
    }
    let cancelled = server.feed(&["coordinate", "slowly", "--json"], "/cancel\n");
    assert_eq!(cancelled.code, Some(1));
    let error: Value = serde_json::from_str(&cancelled.err).unwrap_or_else(|error| panic!("{error}: {cancelled:#?}"));
    assert_eq!(error["error"]["code"], "CANCELLED");
    let kinds = kinds(&cancelled.out);
    assert_eq!((kinds.first().unwrap().as_str(), kinds.last().unwrap().as_str()), ("started", "ended"));
    assert!(kinds.iter().any(|kind| kind == "delta") && kinds.iter().any(|kind| kind == "decisionNeeded"), "{kinds:?}");

    let wrong = server.feed(&["coordinate", "hello", "-p", "nobody"], "");
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.err.contains("PROFILE_UNKNOWN"), "{}", wrong.err);
    let senseless: [&[&str]; 5] = [
        &["coordinate"],
        &["coordinate", "hello", "--from", "x"],
        &["coordinate", "-"],
        &["coordinate", "--attach", "c", "--turns", "3"],
        &["coordinate", "hello", "--ephemeral", "--id", "x"],
    ];
    for arguments in senseless {
        assert_eq!(server.say(arguments).code, Some(2), "{arguments:?}");
    }
}

/// An id where a text stands was once sent to the model as what to say.
#[test]
fn an_id_is_no_text_unless_it_is_meant_to_be() {
    let server = Server::start();
    let id = server.run(["capture", "hello"]).after("exchange");
    for arguments in [&["coordinate", &id][..], &["coordinate", "--new-thread", "t", &id]] {
        let said = server.say(arguments);
        assert_eq!(said.code, Some(2), "{said:#?}");
        assert!(said.err.contains(&format!("did you mean --from {id}?")), "{said:#?}");
        assert!(said.err.contains("--messages"), "{said:#?}");
    }
    assert_eq!(server.json(&["runs"])["runs"].as_array().unwrap().len(), 1, "nothing was asked");
    let file = server.file("said.json", &format!(r#"[{{"role": "user", "content": "{id}"}}]"#));
    let said = server.feed(&["coordinate", "--messages", file.to_str().unwrap()], "/stop\n");
    assert_eq!((said.code, said.out), (Some(0), echo(&id, 1)));
}

#[test]
fn nothing_is_left_of_an_ephemeral_one() {
    let server = Server::start();
    let said = server.feed(&["coordinate", "hello", "--ephemeral"], "/suspend\nand on\n");
    assert_eq!(said.code, Some(0), "{said:#?}");
    assert_eq!(said.out, echo("hello", 1) + &echo("and on", 3));
    assert!(said.err.contains("it cannot wait") && !said.err.contains("exchange "), "{}", said.err);
    assert_eq!(server.json(&["coordinations"]), serde_json::json!({}));
    assert_eq!(server.json(&["runs"]), serde_json::json!({}));
}

#[test]
fn a_command_is_asked_once_for_each_decision() {
    let server = Server::start();
    let start = server.run(["capture", "hello"]);
    let command = script(
        &server,
        "decide",
        r#"cat >> asked
        case $(wc -l < asked) in
          1) echo '{"continue": {"text": "one"}}' ;;
          2) echo '{"continue": {"request": {"text": "two"}}}' ;;
          *) echo thinking >&2; echo '{"stop": {}}' ;;
        esac"#,
    );
    // What comes in is one line without an end.
    let command = format!("(cat; echo) | {command}");
    let said =
        server.run(["coordinate", "--from", &start.after("exchange"), "--turns", "5", "--callback", command.as_str()]);
    assert_eq!(said.out, start.out + &echo("one", 3) + &echo("two", 5));
    assert!(said.err.contains("thinking") && !said.err.contains("/suspend"), "{}", said.err);
    let asked = std::fs::read_to_string(server.home.path().join("asked")).unwrap();
    let asked: Vec<Value> = asked.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&asked[0]["starting"], &asked[0]["turnsRemaining"]), (&Value::Bool(true), &Value::from(5)));
    assert_eq!(asked[2]["exchange"]["text"], echo("two", 5).trim_end());
    assert_eq!(asked.len(), 3);
}

#[test]
fn a_command_that_fails_fails_the_coordination() {
    let server = Server::start();
    for (command, message) in [
        ("echo first >&2; echo no reviewer >&2; exit 3", "no reviewer"),
        ("echo nonsense", "the command's output is no action"),
    ] {
        let said = server.say(["coordinate", "hello", "--callback", command]);
        assert_eq!(said.code, Some(1));
        assert!(said.err.contains(message) && said.err.contains("CALLBACK_FAILED"), "{}", said.err);
    }
    let own = r#"echo '{"fail": {"reason": "TOO_THIN", "code": 9, "message": "say more"}}'"#;
    let said = server.say(["coordinate", "hello", "--callback", own]);
    assert!(said.err.contains("TOO_THIN (FAILED_PRECONDITION)"), "{}", said.err);
    let listed = server.run(["coordinations", "--state", "failed"]).out;
    assert_eq!(listed.lines().count(), 4, "{listed}");
}

#[test]
fn what_waits_is_answered_from_anywhere() {
    let server = Server::start();
    let label = ["--label", "kind=test"];
    let start = ["coordinate", "hello", "--id", "c", "--callback", r#"echo '{"suspend": {}}'"#];
    let said = server.run(start.iter().chain(&label));
    assert!(said.err.contains("antiphon coordinations answer c"), "{}", said.err);
    assert!(server.run(["coordinations", "list", "--label", "kind=test"]).out.contains("awaiting decision"));
    let shown = server.run(["coordinations", "get", "c"]).out;
    assert!(shown.contains(echo("hello", 1).trim_end()) && shown.contains("0 of 16"), "{shown}");
    let pending = server.json(&["coordinations", "get", "c"])["coordination"]["pendingId"].as_str().unwrap().to_owned();

    let answered = ["coordinations", "answer", "c", "and on", "--pending", pending.as_str()];
    server.run(answered);
    server.run(answered);
    let stale = server.say(["coordinations", "answer", "c", "--stop", "--pending", &pending]);
    assert!(stale.err.contains("ANSWER_STALE"), "an answer that was given is not given otherwise: {}", stale.err);
    until("the turn", || server.run(["coordinations", "get", "c"]).out.contains("awaiting decision"));
    assert_eq!(server.run(["coordinations", "answer", "c", "--stop"]).out, "c  stopped\n");
    let late = server.say(["coordinations", "answer", "c", "--stop"]);
    assert!(late.code == Some(1) && late.err.contains("it is stopped"), "{}", late.err);
    assert_eq!(server.say(["coordinations", "answer", "c"]).code, Some(2));

    server.feed(&["coordinate", "hello", "--id", "d"], "");
    assert_eq!(server.run(["coordinations", "cancel", "d", "--message", "enough"]).out, "d  cancelled\n");
    assert!(server.run(["coordinations", "get", "d"]).out.contains("error"));
    let none = server.say(["coordinations", "get", "none"]);
    assert!(none.err.contains("antiphon coordinations lists"), "{}", none.err);
}

#[test]
fn a_chain_runs_local_commands_and_prints_the_final_answer() {
    let server = Server::start();
    let tools =
        server.file("tools.json", r#"[{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}]"#);
    let offered = ["--tools", tools.to_str().unwrap()];
    let look = ["--tool", "look=cat >> given; echo seen >&2; echo calm"];
    let said = server.run(["chain", "what weather?"].iter().chain(&offered).chain(&look));
    assert_eq!(said.out, "it is calm\n");
    for expected in [r#"→ look({"where":"sea"})"#, "seen\n", "← look: calm", "exchange "] {
        assert!(said.err.contains(expected), "{expected} is missing in {}", said.err);
    }
    assert_eq!(std::fs::read_to_string(server.home.path().join("given")).unwrap(), r#"{"where":"sea"}"#);
    let shown = server.json(&["inspect", &said.after("exchange")]);
    assert_eq!(shown["exchange"]["turn"], "1", "rounds of tools are one turn");

    let failing = server.run(["chain", "what weather?", "--tool", "look=echo fog >&2; exit 1", "--new-thread", "t"]);
    assert_eq!(failing.out, "it is fog\n", "an error is a result");
    assert!(failing.err.contains("← look failed: fog"), "{}", failing.err);
    let unknown = server.run(["chain", "what weather?"].iter().chain(&offered));
    assert!(unknown.out.contains("no command for the tool `look`"), "{unknown:#?}");

    let endless = server.say(["chain", "endlessly", "--limit", "2", "--tool", "look=echo more"]);
    assert_eq!(endless.code, Some(1));
    for expected in ["stopped: tool round limit", "still calls tools after 2 rounds", "--result call_"] {
        assert!(endless.err.contains(expected), "{expected} is missing in {}", endless.err);
    }
    assert_eq!(endless.err.matches("← look").count(), 2, "{}", endless.err);
}

#[test]
fn a_call_for_a_person_waits_for_one() {
    let server = Server::start();
    let tools = server.file("tools.json", r#"[{"name": "look", "requires_human": true}, {"name": "count"}]"#);
    let arguments = ["coordinate", "both of them", "--id", "c", "--tools", tools.to_str().unwrap()];
    let said = server.run(arguments.iter().chain(&["--tool", "count=echo three"]));
    assert!(said.err.contains("suspended, awaiting tools") && said.err.contains("← count: three"), "{}", said.err);
    let waits = server.json(&["coordinations", "get", "c"]);
    let calls = waits["coordination"]["pendingCallIds"].as_array().unwrap();
    assert_eq!(calls.len(), 1, "what the command said is on record: {waits:#}");
    let result = format!("{}=nothing", calls[0].as_str().unwrap());
    server.run(["coordinations", "answer", "c", "--result", &result]);
    let rest = server.feed(&["coordinate", "--attach", "c"], "/stop\n");
    assert_eq!(rest.code, Some(0), "{rest:#?}");
    assert!(rest.out.starts_with("The tool answered: "), "{rest:#?}");
}

#[test]
fn a_broken_line_is_mended_and_nobody_asked_twice() {
    let server = Server::start();
    let line = Line::to(&server.url);
    let (decisions, calls) = (pipe(&server, "decisions"), pipe(&server, "calls"));
    let command = format!("cat > /dev/null; echo asked >> asked; cat {}", decisions.display());
    let tool = format!("look=echo called >> called; cat {}", calls.display());
    let mut command = {
        let mut all = server.command(["coordinate", "hello", "--callback", &command, "--tool", &tool]);
        all.env("ANTIPHON_SERVER", &line.url);
        all
    };
    let mut child = spawn(&mut command);
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut told = String::new();
    let mut broken = || {
        line.cut();
        loop {
            let mut next = String::new();
            assert_ne!(errors.read_line(&mut next).unwrap(), 0, "it ended: {told}");
            told.push_str(&next);
            if next.contains("attaching again") {
                break;
            }
        }
    };
    let (asked, called) = (server.home.path().join("asked"), server.home.path().join("called"));
    until("the first decision", || lines(&asked) == 1);
    broken();
    std::fs::write(&decisions, r#"{"continue": {"text": "what weather?"}}"#).unwrap();
    until("the call", || lines(&called) == 1);
    broken();
    std::fs::write(&calls, "clear").unwrap();
    until("the second decision", || lines(&asked) == 2);
    std::fs::write(&decisions, r#"{"stop": {}}"#).unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    errors.read_to_string(&mut told).unwrap();
    assert!(child.wait().unwrap().success(), "{told}");
    assert_eq!(out, echo("hello", 1) + "it is clear\n", "each answer is there once");
    assert_eq!((lines(&asked), lines(&called)), (2, 1), "{told}");
}

#[test]
fn ctrl_c_cancels_and_a_second_one_leaves() {
    let server = Server::start();
    let waits = pipe(&server, "waits");
    let callback = format!("echo asked >> asked; exec cat {}", waits.display());
    let asked = server.home.path().join("asked");
    let interrupt = |child: &Child| {
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    };
    let child = spawn(&mut server.command(["coordinate", "hello", "--id", "c", "--callback", &callback]));
    until("the decision", || lines(&asked) == 1);
    interrupt(&child);
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("cancelling") && said.err.contains("CANCELLED"), "{}", said.err);
    assert!(server.run(["coordinations", "get", "c"]).out.contains("cancelled"));

    let mut child = spawn(&mut server.command(["coordinate", "hello", "--id", "d", "--callback", &callback]));
    until("the decision", || lines(&asked) == 2);
    server.signal("STOP");
    until("its end", || {
        interrupt(&child);
        child.try_wait().unwrap().is_some()
    });
    server.signal("CONT");
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("left before it was cancelled") && said.err.contains("--attach d"), "{}", said.err);
}

#[test]
fn a_decision_that_takes_too_long_is_cancelled() {
    let server = Server::start();
    let callback = format!("exec cat {}", pipe(&server, "waits").display());
    let said = server.say(["coordinate", "hello", "--decision-timeout", "50ms", "--callback", &callback]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("DEADLINE_EXCEEDED"), "{}", said.err);
    let mut command = binary(server.home.path());
    command.args(["coordinate", "hello", "--id", "c", "--callback", &callback, "--timeout", "300ms"]);
    let said = Said::of(command.env("ANTIPHON_SERVER", &server.url).output().unwrap());
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("did not end within 300ms") && said.err.contains("--attach c"), "{}", said.err);
}
