//! Looking at a deployment from the command line: what is good, what is not, and what to do.

use serde_json::Value;

use crate::program::{Said, Server, binary};

fn findings(said: &Said) -> Vec<(String, String, String, String)> {
    let told: Value = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:#?}"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let one = |finding: &Value| {
        (text(&finding["about"]), text(&finding["verdict"]), text(&finding["what"]), text(&finding["remedy"]))
    };
    told["findings"].as_array().unwrap().iter().map(one).collect()
}

#[track_caller]
fn has(said: &Said, about: &str, verdict: &str, word: &str) {
    let found = findings(said);
    let is = |finding: &&(String, String, String, String)| {
        finding.0 == about && finding.1 == verdict && finding.2.contains(word)
    };
    let found = found.iter().find(is).unwrap_or_else(|| panic!("{about} {verdict} {word}: {found:#?}"));
    assert!(verdict == "good" || about == "configuration" || !found.3.is_empty(), "{found:?} says what to do");
}

#[test]
fn a_deployment_that_is_well_is_told_so() {
    let server = Server::start();
    let said = server.run(["doctor", "--json"]);
    has(&said, "configuration", "good", "antiphon.toml");
    has(&said, "callers", "good", "this machine only");
    has(&said, "disk", "good", "can be written");
    has(&said, "server", "good", "serves");
    has(&said, "server", "note", "gone when it stops");
    let told = server.run(["doctor"]);
    assert!(told.out.contains("good  server: its store takes writes"), "{}", told.out);
}

#[test]
fn what_will_not_do_is_told_with_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = format!(
        "default_profile = \"main\"\n[profiles.main]\nbackend = \"far\"\nmodel = \"m\"\n\
         [backends.far]\nkind = \"openai\"\nbase_url = \"http://{free}/v1\"\napi_key_file = \"key\"\n\
         [server]\nlisten = \"0.0.0.0:7373\"\n[store]\nmin_free_mebibytes = 99_000_000_000\n"
    );
    std::fs::write(home.path().join("antiphon.toml"), config).unwrap();
    std::fs::write(home.path().join("key"), "sk-canary").unwrap();
    let none = format!("http://{free}");
    let say = |arguments: &[&str]| {
        Said::of(binary(home.path()).args(["--server", &none, "--json"]).args(arguments).output().unwrap())
    };
    let said = say(&["doctor"]);
    assert_eq!(said.code, Some(1));
    has(&said, "callers", "bad", "nobody is asked");
    has(&said, "provider", "bad", "cannot be reached");
    has(&said, "secrets", "note", "can be read by everybody");
    has(&said, "disk", "bad", "writes are refused");
    has(&said, "server", "bad", "none can be called");
    assert!(!said.out.contains("canary"), "{}", said.out);
    assert!(!say(&["doctor", "--no-providers"]).out.contains("cannot be reached"));
    std::fs::write(home.path().join("antiphon.toml"), "[log]\naudit_file = \"none/audit.jsonl\"\n").unwrap();
    has(&say(&["doctor"]), "audit log", "bad", "none/audit.jsonl");
    let checked = say(&["check"]);
    assert!(checked.code == Some(1) && checked.err.contains("log.audit_file"), "{checked:#?}");
    std::fs::write(home.path().join("antiphon.toml"), "[server]\nlsten = 1\n").unwrap();
    let mistaken = say(&["doctor"]);
    assert_eq!(mistaken.code, Some(1));
    has(&mistaken, "configuration", "bad", "lsten");
}

/// The server that is looked for is the one that is configured, and one that asks for keys is there all the same.
#[test]
fn the_configured_server_is_looked_at() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("keys.toml"), "").unwrap();
    std::fs::write(home.path().join("antiphon.toml"), "[access]\nkeys_file = \"keys.toml\"\n").unwrap();
    let server = Server::at(home, &["--ephemeral"]);
    let address = server.url.strip_prefix("http://").unwrap();
    let text = format!("[server]\nlisten = \"{address}\"\n[access]\nkeys_file = \"keys.toml\"\n");
    let config = server.file("other.toml", &text);
    let mut looks = binary(server.home.path());
    let said = Said::of(looks.args(["doctor", "--json", "--config"]).arg(&config).output().unwrap());
    has(&said, "server", "note", &format!("{} is there, and asks who calls", server.url));
}
