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
    assert!(said.out.starts_with("0 findings; checked ") && said.out.contains("1 exchange"), "{}", said.out);

    let server = Server::at(home, &["--data", "kept"]);
    assert_eq!(server.json(&["inspect", &exchange]), before);
    let refused = Said::of(binary(server.home.path()).args(["verify", "--data", "kept"]).output().unwrap());
    assert_eq!(refused.code, Some(1), "{refused:#?}");
    assert!(refused.err.contains("in use"), "{}", refused.err);
}

#[test]
fn damage_is_found_and_is_a_failure() {
    let home = tempfile::tempdir().unwrap();
    let said = Said::of(binary(home.path()).args(["verify", "--data", "nowhere"]).output().unwrap());
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("there is no such folder"), "{}", said.err);
    assert!(!home.path().join("nowhere").exists(), "verifying makes nothing");
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
    server.signal("INT");
    let (status, log, _) = server.ended();
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("stopped at once by a second SIGINT"), "{log}");
    assert!(!waiting.wait().unwrap().success());
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
    assert_eq!(told["problems"][0]["line"], 1);
    let fixed = text.replace("mian", "main").replace("= 0", "= 1");
    std::fs::write(home.path().join("antiphon.toml"), fixed).unwrap();
    let said = Said::of(binary(home.path()).arg("check").output().unwrap());
    assert_eq!(said.code, Some(0), "{said:#?}");
    assert!(said.out.starts_with("no mistakes: 1 profile, 1 backend, 0 prompts,"), "{}", said.out);
}

#[test]
fn the_examples_hold_no_mistakes() {
    let home = tempfile::tempdir().unwrap();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let said = Said::of(binary(home.path()).args(["check", "--config"]).arg(&path).output().unwrap());
            assert_eq!(said.code, Some(0), "{}: {said:#?}", path.display());
            count += 1;
        }
    }
    assert!(count > 0);
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
