//! Servers: how they start, what they refuse, and how they end.

use std::process::Stdio;

use crate::program::{Said, Server, binary, until};

#[test]
fn what_was_answered_is_there_after_a_restart_and_can_be_verified() {
    let server = Server::with(&["--data", "kept"]);
    let exchange = server.run(["capture", "remember", "--new-thread", "t"]).after("exchange");
    let before = server.json(&["inspect", &exchange]);
    assert!(server.run(["verify"]).out.starts_with("0 findings; checked "));
    server.signal("TERM");
    let (status, log, home) = server.ended();
    assert!(status.success(), "{log}");

    let said = Said::of(binary(home.path()).args(["verify", "--data", "kept"]).output().unwrap());
    assert_eq!(said.code, Some(0), "{said:#?}");
    assert!(said.out.starts_with("0 findings; checked ") && said.out.contains("exchange 1,"), "{}", said.out);

    // It has the format of this version, so there is nothing to bring anywhere.
    let server = Server::at(home, &["--data", "kept", "--migrate"]);
    assert_eq!(server.json(&["inspect", &exchange]), before);
}

#[test]
fn a_store_that_goes_with_the_server_is_not_migrated() {
    let home = tempfile::tempdir().unwrap();
    let said = Said::of(binary(home.path()).args(["serve", "--ephemeral", "--migrate"]).output().unwrap());
    assert_eq!(said.code, Some(2), "{said:#?}");
    assert!(said.err.contains("--ephemeral") && said.err.contains("--migrate"), "{}", said.err);
}

#[test]
fn verifying_a_folder_that_is_not_there_makes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let said = Said::of(binary(home.path()).args(["verify", "--data", "nowhere"]).output().unwrap());
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("there is no such folder"), "{}", said.err);
    assert!(!home.path().join("nowhere").exists());
}

#[test]
fn a_first_signal_lets_runs_finish() {
    let server = Server::start();
    let mut waiting = server.command(["capture", "wait for me", "--run-id", "w"]);
    let waiting = waiting.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the run to be at work", || server.say(["runs", "get", "w"]).out.contains("running"));
    server.signal("TERM");
    let answered = Said::of(waiting.wait_with_output().unwrap());
    assert_eq!((answered.code, answered.out.as_str()), (Some(0), "done\n"), "{answered:#?}");
    let (status, log, _) = server.ended();
    assert!(status.success(), "{log}");
    assert!(log.contains("server.stopped"), "{log}");
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let server = Server::start();
    let mut waiting = server.command(["capture", "never", "--run-id", "n"]);
    let mut waiting = waiting.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the run to be at work", || server.say(["runs", "get", "n"]).out.contains("running"));
    server.signal("INT");
    until("new work to be refused", || server.say(["capture", "more"]).err.contains("SHUTTING_DOWN"));
    // One that comes at once is taken for the first arriving twice.
    server.signal_until_ended("INT");
    let (status, log, _) = server.ended();
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("stopped at once by a second SIGINT"), "{log}");
    assert!(!waiting.wait().unwrap().success());
}

// Ctrl-C goes to every process of a job, and a wrapper that passes it on made the server drop the runs that it should let finish.
#[test]
fn a_signal_that_arrives_twice_at_once_still_lets_runs_finish() {
    let server = Server::start();
    let mut waiting = server.command(["capture", "wait for me", "--run-id", "w"]);
    let waiting = waiting.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the run to be at work", || server.say(["runs", "get", "w"]).out.contains("running"));
    server.signals(&["INT", "TERM", "INT"]);
    let answered = Said::of(waiting.wait_with_output().unwrap());
    assert_eq!((answered.code, answered.out.as_str()), (Some(0), "done\n"), "{answered:#?}");
    let (status, log, _) = server.ended();
    assert!(status.success(), "{log}");
}

// The folder of a server that was killed stayed for good.
#[test]
fn what_a_killed_ephemeral_server_left_is_removed_by_the_next_and_nothing_else_is() {
    let temporary = tempfile::tempdir().unwrap();
    let start = || Server::at_temporary(temporary.path());
    let folders = || {
        let names = std::fs::read_dir(temporary.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).filter(|name| name.starts_with("antiphon-")).collect::<Vec<_>>()
    };
    std::fs::create_dir_all(temporary.path().join("antiphon-notes")).unwrap();
    let killed = start();
    killed.run(["capture", "hello"]);
    let of_the_killed = folders();
    killed.signal("KILL");
    drop(killed.ended());
    assert_eq!(folders(), of_the_killed, "kill -9 leaves its folder");
    let living = start();
    let exchange = living.run(["capture", "hello"]).after("exchange");
    let gone = of_the_killed.iter().filter(|name| *name != "antiphon-notes").all(|name| !folders().contains(name));
    assert!(gone, "{:?}", folders());
    let third = start();
    living.run(["inspect", &exchange]);
    assert_eq!(folders().len(), 3, "{:?}", folders());
    for server in [living, third] {
        server.signal("TERM");
        assert!(server.ended().0.success());
    }
    assert_eq!(folders(), ["antiphon-notes"]);
}

#[test]
fn listening_beyond_this_machine_must_be_forced() {
    let home = tempfile::tempdir().unwrap();
    let said = Said::of(binary(home.path()).args(["serve", "--ephemeral", "--listen", "0.0.0.0:0"]).output().unwrap());
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""));
    assert!(said.err.contains("--insecure-listen-anywhere"), "{}", said.err);
}

#[test]
fn an_address_that_is_taken_is_said_so() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let home = tempfile::tempdir().unwrap();
    let said = Said::of(binary(home.path()).args(["serve", "--ephemeral", "--listen", &address]).output().unwrap());
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains(&format!("cannot listen on {address}")), "{}", said.err);
}

#[test]
fn mistakes_in_the_configuration_are_told_all_at_once() {
    let home = tempfile::tempdir().unwrap();
    let text = "default_profile = \"mian\"\n[profiles.main]\nbackend = \"a\"\nmodel = \"m\"\n[backends.a]\nkind = \"scripted\"\n\
                chunk_chars = 0\n[server]\nlisten = \"127.0.0.1:0\"\n";
    std::fs::write(home.path().join("antiphon.toml"), text).unwrap();
    for verb in ["check", "serve"] {
        let said = Said::of(binary(home.path()).arg(verb).output().unwrap());
        assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{said:#?}");
        assert!(
            said.err.contains("antiphon.toml:1: default_profile: there is no profile `mian` (did you mean `main`?)"),
            "{}",
            said.err
        );
        assert!(said.err.contains("antiphon.toml:7: backends.a.chunk_chars: "), "{}", said.err);
    }
    let said = Said::of(binary(home.path()).args(["check", "--json"]).output().unwrap());
    let told: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!((&told["problems"][0]["line"], &told["error"]["reason"]), (&1.into(), &"CONFIGURATION".into()));
    let fixed = text.replace("mian", "main").replace("= 0", "= 1");
    std::fs::write(home.path().join("antiphon.toml"), fixed).unwrap();
    let said = Said::of(binary(home.path()).arg("check").output().unwrap());
    assert_eq!(said.code, Some(0), "{said:#?}");
    assert!(said.out.starts_with("no mistakes: 1 profile, 1 backend, 0 prompts,"), "{}", said.out);
}

// What a backend's own settings were wrong in came to light once the rest was mended, and the words were those of the parser.
#[test]
fn one_round_of_checking_is_enough() {
    let home = tempfile::tempdir().unwrap();
    let text = "default_profile = \"main\"\nprompts_dir = \"nowhere\"\n[server]\ndrain_grace_seconds = \"soon\"\nlisten = \"here\"\n\
                [profiles.main]\nbackend = \"a\"\n[profiles.other]\nbackend = \"b\"\nmodel = 3\n\
                parameters = { temperature = \"hot\", top_p = 7.0 }\n\
                [backends.a]\nkind = \"scripted\"\ncapacity = -1\nchunk_chars = \"few\"\nchunk_gap = 1\n[[backends.a.rules]]\ntimes = \"x\"\n\
                [backends.c]\nkind = \"openai\"\nbase_url = \"ftp://x\"\ntimeouts = { idle_ms = true }\n\
                [contracts.c]\nschema = '{\"type\": \"strng\"}'\n";
    std::fs::write(home.path().join("antiphon.toml"), text).unwrap();
    let said = Said::of(binary(home.path()).arg("check").output().unwrap());
    for expected in [
        "antiphon.toml:2: prompts_dir: ",
        "antiphon.toml:4: server.drain_grace_seconds: must be a whole number, 0 or more, got text `soon`",
        "antiphon.toml:5: server.listen: must be an address with a port",
        "antiphon.toml:6: profiles.main.model: there is no `model`",
        "antiphon.toml:9: profiles.other.backend: there is no backend `b`",
        "antiphon.toml:10: profiles.other.model: must be text, got the whole number 3",
        "antiphon.toml:11: profiles.other.parameters.temperature: must be a number, got text `hot`",
        "antiphon.toml:11: profiles.other.parameters.top_p: must be over 0 and at most 1",
        "antiphon.toml:14: backends.a.capacity: must be a whole number from 0 to 4294967295, got the whole number -1",
        "antiphon.toml:15: backends.a.chunk_chars: must be a whole number, 0 or more, got text `few`",
        "antiphon.toml:16: backends.a.chunk_gap: unknown key `chunk_gap` (did you mean `chunk_gap_ms`?)",
        "antiphon.toml:18: backends.a.rules[0].times: must be a whole number from 0 to 4294967295, got text `x`",
        "antiphon.toml:21: backends.c.base_url: ",
        "antiphon.toml:22: backends.c.timeouts.idle_ms: must be a whole number, 0 or more, got `true`",
        "antiphon.toml:23: contracts.c: the schema is not usable",
    ] {
        assert!(said.err.contains(expected), "{expected}\nis not in\n{}", said.err);
    }
    assert!(said.err.contains("the configuration has 15 mistakes"), "{}", said.err);
}

#[test]
fn the_examples_hold_no_mistakes() {
    let home = tempfile::tempdir().unwrap();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    // With the files beside it that somebody must make first, which are nobody's to have in a repository.
    let made = home.path().join("examples");
    let copied = std::process::Command::new("cp").arg("-r").args([&folder, &made]).status().unwrap();
    assert!(copied.success());
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = [
        ("keys.toml", String::new()),
        ("openai.key", "sk-1".to_owned()),
        ("anthropic.key", "sk-2".to_owned()),
        ("server.pem", certificate.cert.pem()),
        ("server.key", certificate.signing_key.serialize_pem()),
    ];
    for (name, text) in files {
        std::fs::write(made.join(name), text).unwrap();
    }
    let mut count = 0;
    for entry in std::fs::read_dir(made).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().is_some_and(|name| name != "keys.toml")
            && path.extension().is_some_and(|extension| extension == "toml")
        {
            let said = Said::of(binary(home.path()).args(["check", "--config"]).arg(&path).output().unwrap());
            assert_eq!(said.code, Some(0), "{}: {said:#?}", path.display());
            count += 1;
        }
    }
    assert!(count > 4);
}

#[test]
fn without_a_configuration_a_key_is_enough_and_stays_hidden() {
    let home = tempfile::tempdir().unwrap();
    let mut command = binary(home.path());
    let said = Said::of(command.arg("check").env("MISTRAL_API_KEY", "very-secret").output().unwrap());
    assert_eq!(said.code, Some(0), "{said:#?}");
    assert!(said.err.contains("using Mistral, found by MISTRAL_API_KEY"), "{}", said.err);
    assert!(said.out.contains("default profile mistral"), "{}", said.out);
    assert!(!format!("{said:?}").contains("very-secret"));
}

/// A signal or a command has the configuration read anew; with mistakes in it what was in force stays, and they are told.
#[test]
fn a_configuration_is_read_anew_at_a_signal_or_a_command() {
    let server = Server::start();
    let config = std::fs::read_to_string(server.home.path().join("antiphon.toml")).unwrap();
    let profiles = || server.json(&["catalog", "profiles"])["profiles"].as_array().unwrap().len();
    let before = profiles();
    let backend = config.split("[backends.").nth(1).unwrap().split(']').next().unwrap();
    let more = |id: &str| format!("[profiles.{id}]\nbackend = \"{backend}\"\nmodel = \"m\"\n");
    server.file("antiphon.toml", &format!("{config}\n{}", more("second")));
    let told = server.run(["reload", "--dry-run"]);
    assert!(
        told.out.contains("profile second") && told.out.ends_with("1 change, not in force, as you asked\n"),
        "{told:#?}"
    );
    assert_eq!(profiles(), before);
    let told = server.run(["reload"]);
    assert!(told.out.contains("added") && told.out.ends_with("1 change, in force\n"), "{told:#?}");
    assert_eq!(profiles(), before + 1);

    server.file("antiphon.toml", &format!("{config}\n{}{}", more("second"), more("third")));
    server.signal("HUP");
    until("the signal to be heard", || profiles() == before + 2);

    server.file("antiphon.toml", &format!("{config}\n[profiles.wrong]\nbackend = \"nowhere\"\nmodel = \"m\"\n"));
    let refused = server.say(["reload"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("profiles.wrong.backend") && refused.err.contains("has 1 mistake"), "{refused:#?}");
    let json = server.say(["reload", "--json"]);
    assert!(json.code == Some(1) && json.out.contains("\"problems\""), "{json:#?}");
    assert_eq!(profiles(), before + 2);
    server.signal("TERM");
    let (status, log, _) = server.ended();
    assert!(
        status.success() && log.contains("configuration.mistake") && log.contains("configuration.reloaded"),
        "{log}"
    );
}
