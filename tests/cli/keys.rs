//! Keys of callers from the command line: made, shown once, used, listed and taken back while a server serves; and the audit log that tells of it.

use serde_json::Value;

use crate::program::{Said, Server, binary, until};

/// The answers of every test, from a server that asks for keys and has an audit log.
fn asking() -> Server {
    let home = tempfile::tempdir().unwrap();
    let config = "default_profile = \"canned\"\n[profiles.canned]\nbackend = \"script\"\nmodel = \"m\"\n[backends.script]\nkind = \"scripted\"\n\
                  [access]\nkeys_file = \"keys.toml\"\n[log]\naudit_file = \"audit.jsonl\"\n";
    std::fs::write(home.path().join("antiphon.toml"), config).unwrap();
    std::fs::write(home.path().join("keys.toml"), "").unwrap();
    // It asks for keys, so it may listen anywhere.
    Server::at(home, &["--ephemeral"])
}

fn key(server: &Server, arguments: &[&str]) -> Value {
    server.json(&[&["keys", "create"], arguments].concat())
}

#[test]
fn a_key_is_made_used_and_taken_back_while_the_server_serves() {
    let server = asking();
    let refused = server.say(["threads"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("antiphon keys create"), "{}", refused.err);
    let made = key(&server, &["billing service", "--namespace", "billing", "--expires", "90d"]);
    let (id, secret) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
    assert_eq!((&made["scopes"], &made["namespace"]), (&serde_json::json!(["read", "write"]), &"billing".into()));
    assert!(secret.starts_with(&format!("antiphon_{id}_")), "{made}");
    let file = server.home.path().join("keys.toml");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains(id) && !kept.contains(secret.rsplit('_').next().unwrap()), "{kept}");
    let with_key = |arguments: &[&str]| {
        let mut command = server.command(arguments);
        Said::of(command.env("ANTIPHON_KEY", secret).output().unwrap())
    };
    until("the key to be taken", || with_key(&["threads"]).code == Some(0));
    assert_eq!(with_key(&["capture", "hi", "--new-thread", "t"]).code, Some(0));
    let as_file = server.file("key", &format!("{secret}\n"));
    assert!(server.run(["threads", "--key-file", as_file.to_str().unwrap()]).out.contains('t'));
    let denied = with_key(&["stats"]);
    assert!(denied.code == Some(1) && denied.err.contains("`admin`"), "{}", denied.err);
    let listed = server.run(["keys", "list"]).out;
    assert!(listed.contains(id) && listed.contains("billing service") && !listed.contains(secret), "{listed}");
    assert!(server.run(["keys", "revoke", id]).out.contains("billing service"));
    until("the key to be revoked", || with_key(&["threads"]).code == Some(1));
    // Who was refused is told by the id of the key, and from where.
    let audit = std::fs::read_to_string(server.home.path().join("audit.jsonl")).unwrap();
    let lines = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let refused: Vec<_> = lines.filter(|line| line["message"] == "audit.refused" && line["caller"] == *id).collect();
    let last = refused.last().unwrap();
    assert_eq!((&last["reason"], &last["method"]), (&"UNAUTHENTICATED".into(), &"ThreadService/List".into()));
    assert!(last["peer"].as_str().unwrap().starts_with("127.0.0.1:"), "{last}");
    assert!(!audit.contains(secret.rsplit('_').next().unwrap()), "{audit}");
    let again = server.say(["keys", "revoke", id]);
    assert!(again.code == Some(1) && again.err.contains("keys list"), "{}", again.err);
}

#[test]
fn an_operator_names_the_namespace() {
    let server = asking();
    let operator = key(&server, &["me", "--all-namespaces", "--scope", "read,write,admin"]);
    let secret = operator["key"].as_str().unwrap().to_owned();
    let as_operator = |arguments: &[&str]| {
        let mut command = server.command(arguments);
        Said::of(command.env("ANTIPHON_KEY", &secret).output().unwrap())
    };
    until("the key to be taken", || as_operator(&["threads"]).code == Some(0));
    assert_eq!(as_operator(&["capture", "hi", "--new-thread", "t", "--namespace", "billing"]).code, Some(0));
    assert_eq!(as_operator(&["threads", "get", "t", "--namespace", "billing"]).code, Some(0));
    assert_eq!(as_operator(&["threads", "get", "t"]).code, Some(1));
    assert_eq!(as_operator(&["threads", "delete", "t", "--namespace", "billing"]).code, Some(0));
    assert_eq!(as_operator(&["reload"]).code, Some(0));
    let audit = std::fs::read_to_string(server.home.path().join("audit.jsonl")).unwrap();
    let events: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let id = operator["id"].as_str().unwrap();
    let told = |message: &str, more: &[(&str, &str)]| {
        events
            .iter()
            .any(|event| event["message"] == message && more.iter().all(|(name, value)| event[*name] == *value))
    };
    assert!(told("key.created", &[("key", id)]), "{audit}");
    let delete = [("caller", id), ("namespace", "billing"), ("method", "ThreadService/Delete")];
    assert!(told("audit.called", &delete), "{audit}");
    assert!(told("audit.called", &[("caller", id), ("method", "AdminService/Reload")]), "{audit}");
    assert!(told("audit.refused", &[("reason", "UNAUTHENTICATED")]), "{audit}");
    assert!(!audit.contains(&secret) && !audit.contains("hi\""), "{audit}");
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_written() {
    let home = tempfile::tempdir().unwrap();
    let say = |arguments: &[&str]| Said::of(binary(home.path()).args(arguments).output().unwrap());
    let nowhere = say(&["keys", "create", "me"]);
    assert!(nowhere.code == Some(1) && nowhere.err.contains("keys_file"), "{}", nowhere.err);
    for (wrong, word) in [
        (&["keys", "create", "me", "--file", "k.toml", "--scope", "root"][..], "read"),
        (&["keys", "create", " ", "--file", "k.toml"], "NAME"),
        (&["keys", "create", "me", "--file", "k.toml", "--namespace", "A B"], "--namespace"),
        (&["keys", "create", "me", "--file", "k.toml", "--namespace", "a", "--all-namespaces"], "--all-namespaces"),
    ] {
        let said = say(wrong);
        assert!(said.code == Some(2) && said.err.contains(word), "{wrong:?}: {}", said.err);
    }
    assert!(!home.path().join("k.toml").exists());
    let none = say(&["keys", "list", "--file", "k.toml"]);
    assert!(none.code == Some(1) && none.err.contains("keys create"), "{}", none.err);
    std::fs::write(home.path().join("k.toml"), "keys = [{ id = 7 }]").unwrap();
    let broken = say(&["keys", "create", "me", "--file", "k.toml"]);
    assert!(broken.code == Some(1) && broken.err.contains("line 1"), "{}", broken.err);
    assert_eq!(std::fs::read_to_string(home.path().join("k.toml")).unwrap(), "keys = [{ id = 7 }]");
}

/// Keys that are made at the same time are all there.
#[test]
fn nothing_is_lost_where_two_make_keys_at_once() {
    let home = tempfile::tempdir().unwrap();
    let makers: Vec<_> = (0..12)
        .map(|number| {
            let mut command = binary(home.path());
            command.args(["keys", "create", &format!("key {number}"), "--file", "k.toml"]);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut maker in makers {
        assert!(maker.wait().unwrap().success());
    }
    let listed = Said::of(binary(home.path()).args(["keys", "list", "--file", "k.toml", "--json"]).output().unwrap());
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    assert_eq!(listed["keys"].as_array().unwrap().len(), 12);
}

/// Who asks for keys may listen anywhere; a configuration whose files are not there is told with its key.
#[test]
fn files_that_are_not_there_are_told_before_the_server_starts() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(
        home.path().join("antiphon.toml"),
        "[access]\nkeys_file = \"none.toml\"\n[tls]\ncertificate_file = \"c.pem\"\nkey_file = \"k.pem\"\n",
    )
    .unwrap();
    for verb in [&["check"][..], &["serve", "--listen", "0.0.0.0:0"]] {
        let said = Said::of(binary(home.path()).args(verb).output().unwrap());
        assert_eq!(said.code, Some(1), "{said:#?}");
        for word in ["none.toml", "keys create", "c.pem", "tls.certificate_file", "k.pem", "tls.key_file"] {
            assert!(said.err.contains(word), "{word}: {}", said.err);
        }
    }
}

/// Where the file is a link, as deployments have it, what it leads to is changed, with its rights.
#[test]
fn a_link_to_the_file_stays_a_link() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = tempfile::tempdir().unwrap();
    let (real, link) = (home.path().join("real.toml"), home.path().join("k.toml"));
    std::fs::write(&real, "").unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&real, &link).unwrap();
    let made = Said::of(binary(home.path()).args(["keys", "create", "me", "--file", "k.toml"]).output().unwrap());
    assert_eq!(made.code, Some(0), "{made:#?}");
    assert!(link.is_symlink() && std::fs::read_to_string(&real).unwrap().contains("me"));
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
}

/// What is said where a limit to what may be spent has a currency in which nothing has prices.
fn unpriced(whose: &str, currency: &str) -> String {
    format!("cost_per_day of {whose} is in {currency}, in which no profile has prices")
}

/// The first that was heard of it was the refusal of each call.
#[test]
fn a_key_with_a_limit_in_a_currency_without_prices_is_told_of() {
    let server = asking();
    let create = |more: &[&str]| {
        let made = key(&server, &[&["k", "--scope", "read,admin", "--all-namespaces"], more].concat());
        let secret = made["key"].as_str().unwrap().to_owned();
        let with_key =
            |arguments: &[&str]| Said::of(server.command(arguments).env("ANTIPHON_KEY", &secret).output().unwrap());
        until("the key to be taken", || with_key(&["threads"]).code == Some(0));
        (format!("key `{}`", made["id"].as_str().unwrap()), secret)
    };
    let (euros, _) = create(&["--cost-per-day", "5 EUR"]);
    let (dollars, _) = create(&["--cost-per-day", "5 USD"]);
    // What one look at the file has to say is said before the next.
    let (_, operator) = create(&[]);
    let file = server.home.path().join("antiphon.toml");
    let prices =
        "[profiles.canned.prices]\ncurrency = \"USD\"\ninput_per_million = \"1\"\noutput_per_million = \"1\"\n";
    std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + prices).unwrap();
    let reloaded = Said::of(server.command(["reload"]).env("ANTIPHON_KEY", &operator).output().unwrap());
    assert_eq!(reloaded.code, Some(0), "{reloaded:#?}");
    let checked = server.run(["check"]);
    assert!(checked.err.contains(&unpriced(&euros, "EUR")) && !checked.err.contains(&dollars), "{checked:#?}");
    let remedy = "give profiles `prices` in EUR, which may be 0, or limit it in USD, or limit tokens_per_day instead";
    assert!(checked.err.contains(remedy), "{checked:#?}");
    server.signal("TERM");
    let (_, log, _) = server.ended();
    let said = |event: &str, what: &str| log.lines().any(|line| line.contains(event) && line.contains(what));
    assert!(said("access.note", &unpriced(&euros, "EUR")) && said("access.note", &unpriced(&dollars, "USD")), "{log}");
    assert!(said("configuration.note", &unpriced(&euros, "EUR")), "{log}");
    assert!(!said("configuration.note", &dollars), "{log}");
}

#[test]
fn a_limit_of_all_in_a_currency_without_prices_is_told_of_at_the_start() {
    let server = asking();
    server.signal("TERM");
    let (_, _, home) = server.ended();
    let file = home.path().join("antiphon.toml");
    let limit = "[access.limits]\ncost_per_day = \"2 CHF\"\n";
    std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + limit).unwrap();
    let told = unpriced("`[access.limits]`", "CHF");
    let checked = Said::of(binary(home.path()).args(["check", "--json"]).output().unwrap());
    assert!(checked.code == Some(0) && checked.out.contains(&told), "{checked:#?}");
    // A key that has no limit of its own is not named for it.
    assert_eq!(Said::of(binary(home.path()).args(["keys", "create", "k"]).output().unwrap()).code, Some(0));
    let server = Server::at(home, &["--ephemeral"]);
    server.signal("TERM");
    let (_, log, _) = server.ended();
    assert!(log.contains(&told) && !log.contains("key `"), "{log}");
}
