//! Conversations: capture, continue, fork, probe, record, and what is shown of them.

use std::io::Read;
use std::process::Stdio;

use serde_json::Value;

use crate::program::Server;

/// What the server answers where no rule does.
fn echo(text: &str, message: usize) -> String {
    format!("You said: {text} (message {message} of the history)\n")
}

#[test]
fn a_conversation_is_captured_continued_forked_and_probed() {
    let server = Server::start();
    let first = server.run(["capture", "--system", "Be brief.", "hello there"]);
    assert_eq!(first.out, echo("hello there", 2), "a pipe gets the answer and nothing more");
    let start = first.after("exchange");
    assert!(first.err.contains(&format!("next: antiphon continue {start}")), "{}", first.err);

    let second = server.run(["continue", &start, "and on"]);
    assert_eq!(second.out, echo("and on", 4));

    let forked = server.run(["fork", &start, "another way", "--id", "side", "--name", "Side", "--label", "kind=test"]);
    assert_eq!(forked.out, echo("another way", 4));
    assert!(forked.err.contains("thread side turn 2"), "{}", forked.err);
    let bare = server.run(["fork", "--thread", "side", "--after-turn", "1", "--id", "bare"]);
    assert_eq!(bare.out, "bare\n", "a script can take the id");

    let before = server.json(&["threads", "get", "side"]);
    let probed = server.run(["probe", "--thread", "side", "what if"]);
    assert_eq!(probed.out, echo("what if", 6));
    assert!(probed.err.contains("nothing was kept"), "{}", probed.err);
    assert_eq!(server.json(&["threads", "get", "side"]), before);
    assert_eq!(before["thread"]["labels"]["kind"], "test");

    let inspected = server.json(&["inspect", &second.after("exchange")]);
    assert_eq!(inspected["exchange"]["parentExchangeId"], start.as_str());
    let said: Vec<&Value> =
        inspected["messages"].as_array().unwrap().iter().map(|m| &m["parts"][0]["text"]["text"]).collect();
    let (first, second) = (echo("hello there", 2), echo("and on", 4));
    assert_eq!(said, ["Be brief.", "hello there", first.trim_end(), "and on", second.trim_end()]);
    let told = server.run(["inspect", &start, "--history", "none"]);
    for expected in
        ["origin", "executed", "setting", "canned-1", "\nsystem\n  Be brief.\n", "\nassistant\n  You said: hello there"]
    {
        assert!(told.out.contains(expected), "{expected} is missing in {}", told.out);
    }
}

#[test]
fn the_graph_shows_where_histories_part() {
    let server = Server::start();
    let start = server.run(["capture", "one", "--new-thread", "main"]).after("exchange");
    let two = server.run(["continue", "--thread", "main", "two"]).after("exchange");
    server.run(["continue", "--thread", "main", "three"]);
    let left = server.run(["fork", &two, "left", "--id", "left"]).after("exchange");
    let bare = server.run(["continue", &start, "aside"]).after("exchange");
    server.run(["threads", "create", "empty"]);
    server.run(["capture", "elsewhere", "--new-thread", "other"]);

    let all = server.run(["log", "--graph"]).out;
    let lanes: Vec<&str> = all.lines().map(|line| line.trim_end_matches(|c: char| !"*|/".contains(c))).collect();
    let shape: Vec<String> =
        lanes.iter().map(|line| line.chars().take_while(|c| "*|/ ".contains(*c)).collect()).collect();
    let shape: Vec<&str> = shape.iter().map(|line| line.trim_end()).collect();
    assert_eq!(shape[..7], ["*", "| *", "|/", "*", "*", "", "*"], "{all}");
    assert!(all.lines().next().unwrap().contains("(main)"), "{all}");
    assert!(all.contains("(left)") && all.contains("(other)"), "{all}");
    assert!(all.trim_end().ends_with("empty has no exchange yet"), "{all}");
    assert!(all.contains(&left[28..]) && !all.contains(&left), "ids are short: {all}");

    let some = server.run(["log", "--graph", &bare, "--thread", "left", "--full-ids"]).out;
    assert!(some.contains(&bare) && some.contains(&left) && !some.contains("(main)"), "{some}");

    let turns = server.run(["log", "--thread", "main"]).out;
    assert_eq!(turns.lines().count(), 4, "{turns}");
    let of_exchange = server.json(&["log", &left]);
    let asked: Vec<&Value> = of_exchange["turns"].as_array().unwrap().iter().map(|turn| &turn["userPreview"]).collect();
    assert_eq!(asked, ["one", "two", "left"]);
    let of_thread = server.json(&["log", "--thread", "left"]);
    assert_eq!(of_thread["turns"][2]["exchangeId"], left.as_str());
    let nodes = server.json(&["log", "--graph", &left, &bare]);
    assert_eq!(nodes["exchanges"].as_array().unwrap().len(), 4);
}

#[test]
fn tool_calls_wait_for_their_results() {
    let server = Server::start();
    let tools = server.file("tools.json", r#"[{"name": "look", "input_schema": {"type": "object"}}]"#);
    let asked = server.run(["capture", "what weather?", "--new-thread", "t", "--tools", tools.to_str().unwrap()]);
    assert_eq!(asked.out, "", "there is no text");
    assert!(asked.err.contains(r#"→ look({"where":"sea"})"#), "{}", asked.err);
    let call =
        asked.err.lines().find(|line| line.starts_with('→')).unwrap().split_whitespace().last().unwrap().to_owned();
    let waiting = server.run(["log", "--thread", "t"]);
    assert!(waiting.err.contains("waits for results of look"), "{waiting:#?}");
    assert!(server.run(["threads"]).out.contains("waits for results"));

    let refused = server.say(["continue", "--thread", "t", "something else"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("UNANSWERED_TOOL_CALLS") && refused.err.contains(&call), "{}", refused.err);
    assert!(refused.err.contains("--result CALL_ID=TEXT"), "{}", refused.err);

    let answered = server.run(["continue", "--thread", "t", "--result", &format!("{call}=sunny")]);
    assert!(answered.err.contains("thread t turn 1"), "{}", answered.err);
    let run = answered.after("run");
    assert_eq!(run, asked.after("run"), "results go on with the run that called");
    let shown = server.run(["runs", "get", &run]).out;
    assert!(shown.contains("completed") && shown.contains("exchanges") && shown.contains('2'), "{shown}");
}

#[test]
fn messages_from_elsewhere_are_recorded_once() {
    let server = Server::start();
    let messages = r#"[{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"},
                       {"role": "user", "content": "q2"}, {"role": "assistant", "content": "a2"}]"#;
    let first = server.feed(&["record", "--new-thread", "old", "--provider", "elsewhere"], messages);
    assert_eq!(first.code, Some(0), "{first:#?}");
    assert!(first.err.contains("2 stored, 0 on record already"), "{}", first.err);
    let again = server.feed(&["record"], messages);
    assert!(again.err.contains("0 stored, 2 on record already"), "{}", again.err);
    assert_eq!(again.out.matches("on record already").count(), 2, "{}", again.out);
    let continued = server.run(["continue", "--thread", "old", "go on"]);
    assert!(continued.err.contains("thread old turn 3"), "{}", continued.err);
}

#[test]
fn a_command_with_a_run_id_can_be_repeated() {
    let server = Server::start();
    let first = server.run(["capture", "hello", "--run-id", "r1"]);
    let again = server.run(["capture", "hello", "--run-id", "r1"]);
    assert_eq!((&first.out, &again.out), (&echo("hello", 1), &echo("hello", 1)));
    assert_eq!(first.after("exchange"), again.after("exchange"));
    assert!(again.err.contains("stored earlier"), "{}", again.err);
    let other = server.say(["capture", "something else", "--run-id", "r1"]);
    assert!(other.err.contains("RUN_ID_CONFLICT") && other.err.contains("antiphon runs get r1"), "{}", other.err);
}

#[test]
fn what_is_piped_in_is_said() {
    let server = Server::start();
    assert_eq!(server.feed(&["capture"], "from a pipe\n").out, echo("from a pipe", 1));
    assert_eq!(server.feed(&["capture", "-"], "two\nlines\n").out, echo("two\nlines", 1));
    let empty = server.feed(&["capture"], "");
    assert_eq!(empty.code, Some(2), "{empty:#?}");
}

#[test]
fn the_answer_comes_in_pieces_unless_told_otherwise() {
    let server = Server::start();
    let mut child = server.command(["capture", "slowly"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stream = child.stdout.take().unwrap();
    let mut piece = [0; 64];
    let count = stream.read(&mut piece).unwrap();
    assert_eq!(&piece[..count], b"one ", "the rest is still to come");
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "two three\n");
    assert!(child.wait().unwrap().success());
    let mut child = server.command(["capture", "slowly", "--no-stream"]).stdout(Stdio::piped()).spawn().unwrap();
    let count = child.stdout.take().unwrap().read(&mut piece).unwrap();
    assert!(piece[..count].starts_with(b"one two three"));
    assert!(child.wait().unwrap().success());
}

/// A capture whose exchange was meant to be gone on from said the exchange's id to the model, and kept the answer to that.
#[test]
fn an_id_is_no_text() {
    let server = Server::start();
    let id = server.run(["capture", "hello", "--new-thread", "t"]).after("exchange");
    let before = server.json(&["runs"]);
    for (verb, more, meant) in [
        ("capture", &[][..], "antiphon continue"),
        ("chain", &[], "antiphon continue"),
        ("run", &[], "--prepared"),
        ("prepare", &[], "--from"),
        ("explain", &["--root"], "antiphon explain"),
        ("continue", &["--thread", "t"], "antiphon continue"),
        ("fork", &["--thread", "t"], "antiphon fork"),
        ("probe", &["--thread", "t"], "antiphon probe"),
        ("coordinate", &[], "--from"),
    ] {
        let said = server.say([&[verb, &id], more].concat());
        assert_eq!(said.code, Some(2), "{verb}: {said:#?}");
        for word in [format!("{id} is an id rather than a text: did you mean {meant} {id}?"), "--messages".to_owned()] {
            assert!(said.err.contains(&word), "{verb}: {word}\nis not in\n{}", said.err);
        }
    }
    let answer = server.say(["coordinations", "answer", "c", &id]);
    assert!(answer.code == Some(2) && answer.err.contains(&format!("did you mean --pending {id}?")), "{answer:#?}");
    assert_eq!(server.json(&["runs"]), before, "nothing was said");
    let meant = server.file("id.json", &format!(r#"[{{"role":"user","content":"{id}"}}]"#));
    assert_eq!(server.run(["capture", "--messages", meant.to_str().unwrap()]).out, echo(&id, 1));
    assert_eq!(server.feed(&["capture"], &id).out, echo(&id, 1), "what is piped in was not mistyped");
}
