//! Before a turn is run: explained, prepared and then run as shown; and prompts rendered without any server.

use serde_json::Value;

use crate::program::{Said, Server, binary};

#[test]
fn what_was_sent_and_what_would_be_is_explained() {
    let server = Server::start();
    let captured = server.run(["capture", "--system", "Be brief.", "hello", "--new-thread", "t"]);
    let exchange = captured.after("exchange");
    let sent = server.run(["explain", &exchange]);
    for expected in ["profile_id = \"canned\" (default)", "BLAKE3", "sent", "the same", "Be brief."] {
        assert!(sent.out.contains(expected), "{expected} is missing in {}", sent.out);
    }
    let body: Value = serde_json::from_str(&server.run(["explain", &exchange, "--body"]).out).unwrap();
    assert!(body.to_string().contains("hello"), "{body}");
    for place in [vec!["--from", exchange.as_str()], vec!["--thread", "t"], vec!["--root"]] {
        let told = server.json(&[vec!["explain", "and on", "--temperature", "0.5"], place.clone()].concat());
        let messages = told["explanation"]["messages"].as_array().unwrap().len();
        assert_eq!(messages, if place == ["--root"] { 1 } else { 4 }, "{told:#}");
        assert!(told["sent"].is_null());
    }
    let nothing = server.say(["explain"]);
    assert!(nothing.code == Some(2) && nothing.err.contains("--from EXCHANGE"), "{nothing:?}");
    let less = server.json(&["explain", "and on", "--from", &exchange, "--history-tokens", "1"]);
    assert_eq!(less["explanation"]["warnings"][0]["code"], "history_narrowed");
    assert_eq!(server.json(&["runs"])["runs"].as_array().unwrap().len(), 1, "nothing was run for it");
}

#[test]
fn what_was_prepared_is_run_once() {
    let server = Server::start();
    let prepared = server.run(["prepare", "hello", "--capture", "--expires-in", "10m"]);
    let id = prepared.after("--prepared");
    assert!(prepared.out.contains(&id) && prepared.out.contains("hello"), "{}", prepared.out);
    let shown = server.run(["explain", "--prepared", &id]);
    assert!(shown.out.contains("hello"), "{}", shown.out);
    let ran = server.run(["run", "--prepared", &id, "--run-id", "r"]);
    assert_eq!(ran.out, "You said: hello (message 1 of the history)\n");
    assert_eq!(server.run(["inspect", &ran.after("exchange"), "--json"]).code, Some(0));
    let again = server.run(["run", "--prepared", &id, "--run-id", "r"]);
    assert!(again.out == ran.out && again.err.contains("stored earlier"), "{again:?}");
    let used = server.say(["run", "--prepared", &id, "--run-id", "s"]);
    assert!(used.code == Some(1) && used.err.contains("antiphon runs get r"), "{used:?}");
    let changed = server.say(["run", "--prepared", &id, "--model", "m"]);
    assert!(changed.code == Some(2) && changed.err.contains("as it was shown"), "{changed:?}");
    let plain = server.run(["run", "hello"]);
    assert!(plain.out.starts_with("You said: hello") && plain.err.contains("nothing is kept"), "{plain:?}");
    let kept = server.run(["run", "hello", "--capture"]);
    assert!(kept.err.contains("next: antiphon continue"), "{kept:?}");
}

/// Pieces of an answer that may be repaired are not shown: a pipe gets the one that counts.
#[test]
fn an_answer_with_a_form_comes_whole() {
    let server = Server::start();
    let schema = server.home.path().join("schema.json");
    std::fs::write(&schema, r#"{"type":"array"}"#).unwrap();
    let said = server.run(["capture", "hello", "--schema", schema.to_str().unwrap(), "--repair", "1"]);
    // The echo is an object, and so is that of what corrects it.
    assert_eq!(said.out.matches("\"said\"").count(), 1, "{said:?}");
    assert!(said.err.contains("has not the form"), "{said:?}");
    let exchange = server.json(&["inspect", &said.after("exchange")]);
    let kinds: Vec<&str> = exchange["exchange"]["observations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["ATTEMPT_KIND_FIRST", "ATTEMPT_KIND_REPAIR"]);
}

const PROMPT: &str = "---\ndescription: Greets\nsession: 's-{{ name }}'\nvariables:\n  - { name: name }\n  - { name: tone, default: kind }\n---\nsystem:\nBe {{ tone }}.\nuser:\nI am {{ name }}.\n";

/// Without a server: the messages that a prompt gives, and every mistake by its name.
#[test]
fn prompts_are_rendered_and_checked_offline() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("prompts")).unwrap();
    let file = home.path().join("prompts").join("greet.prompt");
    std::fs::write(&file, PROMPT).unwrap();
    let config = "prompts_dir = 'prompts'\ndefault_profile = 'c'\n[profiles.c]\nbackend = 'c'\nmodel = 'm'\n[backends.c]\nkind = 'scripted'\n";
    std::fs::write(home.path().join("antiphon.toml"), config).unwrap();
    let say = |arguments: &[&str]| Said::of(binary(home.path()).args(arguments).output().unwrap());
    let rendered = say(&["prompts", "render", "greet", "--var", "name=Ada"]);
    assert_eq!(rendered.code, Some(0), "{rendered:?}");
    assert!(rendered.out.contains("\nsystem\n  Be kind.\n\nuser\n  I am Ada.\n") && rendered.out.contains("s-Ada"));
    let json = say(&["prompts", "render", "greet", "--vars-json", "{\"name\":\"Ada\",\"tone\":\"short\"}", "--json"]);
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["messages"][0]["parts"][0]["text"]["text"], "Be short.");
    assert_eq!(json["sessionId"], "s-Ada");
    let wrong = say(&["prompts", "render", "greet", "--var", "nmae=Ada"]);
    assert!(
        wrong.code == Some(1) && wrong.err.contains("prompt.vars.nmae") && wrong.err.contains("prompt.vars.name"),
        "{wrong:?}"
    );
    let unknown = say(&["prompts", "render", "gret", "--json"]);
    let unknown: Value = serde_json::from_str(&unknown.err).unwrap();
    assert_eq!(unknown["error"]["reason"], "PROMPT_UNKNOWN");
    let checked = say(&["prompts", "check"]);
    assert!(checked.code == Some(0) && checked.out.contains("name [tone]"), "{checked:?}");
    std::fs::write(&file, PROMPT.replace("{{ tone }}", "{{ tune }}")).unwrap();
    let mistaken = say(&["prompts", "check"]);
    assert!(
        mistaken.code == Some(1) && mistaken.err.contains("`tune`") && mistaken.err.contains("greet.prompt:9"),
        "{mistaken:?}"
    );
}
