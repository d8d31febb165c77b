//! Files that a configuration or a command line names, where they are no files, have no end, or are links, as deployments have them.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::{Said, Server, binary, until};

fn pipe(path: &Path) {
    fs::remove_file(path).ok();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// What a command says that must come to an end by itself.
fn say(home: &Path, arguments: &[&str]) -> Said {
    let mut command = binary(home);
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    until(&format!("the end of {arguments:?}"), || child.try_wait().unwrap().is_some());
    Said::of(child.wait_with_output().unwrap())
}

/// The setting that names each file, and the file, in a configuration that names every kind of them.
const NAMED: [(&str, &str); 8] = [
    ("access.keys_file", "keys.toml"),
    ("access.jwt.keys[0]", "jwt.pem"),
    ("tls.certificate_file", "cert.pem"),
    ("tls.key_file", "key.pem"),
    ("tls.client_ca_file", "ca.pem"),
    ("backends.far.api_key_file", "api"),
    ("contracts.form", "form.json"),
    ("", "prompts/greet.prompt"),
];

const NAMING: &str = "prompts_dir = \"prompts\"\ncontracts_dir = \"forms\"\ndefault_profile = \"main\"\n\
    [profiles.main]\nbackend = \"far\"\nmodel = \"m\"\n\
    [backends.far]\nkind = \"openai\"\napi_key_file = \"api\"\n[contracts.form]\nschema_file = \"form.json\"\n\
    [access]\nkeys_file = \"keys.toml\"\n[access.jwt]\nissuer = \"i\"\naudience = \"a\"\nkeys = [{ algorithm = \"HS256\", file = \"jwt.pem\" }]\n\
    [tls]\ncertificate_file = \"cert.pem\"\nkey_file = \"key.pem\"\nclient_ca_file = \"ca.pem\"\n";

/// A folder with that configuration, in which something else stands for each file.
fn naming(make: impl Fn(&Path)) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for folder in ["prompts", "forms"] {
        fs::create_dir(home.path().join(folder)).unwrap();
    }
    fs::write(home.path().join("antiphon.toml"), NAMING).unwrap();
    for (_, file) in NAMED {
        make(&home.path().join(file));
    }
    make(&home.path().join("forms/other.json"));
    home
}

/// Each file is told with its setting and what is wrong with it, by each command.
#[track_caller]
fn told(said: &Said, text: &str, wrong: &str) {
    assert_eq!(said.code, Some(1), "{said:#?}");
    for (setting, file) in NAMED.into_iter().chain([("", "forms/other.json")]) {
        let is_told = |line: &str| {
            line.contains(&format!("{file}: "))
                && line.contains(setting)
                && (line.contains(wrong) || file.ends_with(".prompt"))
        };
        assert!(text.lines().any(is_told), "{setting} {file}: {wrong}\nis not in\n{text}");
    }
}

/// A server that was started with a pipe among its files never listened, and `check` never ended.
#[test]
fn what_is_no_regular_file_is_told_and_waited_for_by_nobody() {
    let home = naming(pipe);
    for (verb, takes) in [("check", false), ("serve", false), ("doctor", true)] {
        let said = say(home.path(), if takes { &["doctor", "--no-providers"] } else { std::slice::from_ref(&verb) });
        told(
            &said,
            if takes { &said.out } else { &said.err },
            "it is a pipe, and only a regular file, or a link to one",
        );
    }
    let home = naming(|path| symlink("/dev/zero", path).unwrap());
    told(&say(home.path(), &["check"]), &say(home.path(), &["check"]).err, "it is a device, and only a regular file");
}

#[test]
fn what_is_longer_than_makes_sense_is_told_with_the_most() {
    let home = naming(|path| File::create(path).unwrap().set_len((16 << 20) + 1).unwrap());
    let said = say(home.path(), &["check"]);
    told(&said, &said.err, "it is 16777217 bytes long: at most 16777216 are read; shorten it");
    assert!(said.err.contains("greet.prompt: it is 16777217 bytes long: at most 1048576 are read"), "{}", said.err);
}

/// A pipe where the configuration is looked for was passed over, and the server ran with what it found by itself.
#[test]
fn the_configuration_is_a_file_too() {
    let home = tempfile::tempdir().unwrap();
    pipe(&home.path().join("antiphon.toml"));
    for arguments in [&["check"][..], &["check", "--config", "antiphon.toml"], &["serve"], &["keys", "list"]] {
        let said = say(home.path(), arguments);
        assert_eq!(said.code, Some(1), "{said:#?}");
        for word in ["antiphon.toml: cannot be read: it is a pipe, and only a regular file", "--config FILE"] {
            assert!(said.err.contains(word), "{word}: {}", said.err);
        }
    }
    let none = say(home.path(), &["check", "--config", "none.toml"]);
    assert!(none.code == Some(1) && none.err.contains("none.toml: there is no such file"), "{none:#?}");
}

#[test]
fn keys_are_kept_in_a_file() {
    let home = tempfile::tempdir().unwrap();
    pipe(&home.path().join("pipe"));
    symlink("/dev/zero", home.path().join("zero")).unwrap();
    File::create(home.path().join("long")).unwrap().set_len(1 << 40).unwrap();
    for (file, wrong) in [("pipe", "it is a pipe"), ("zero", "it is a device"), ("long", "at most 16777216 are read")] {
        for verb in [&["list"][..], &["create", "me"], &["revoke", "abc"]] {
            let said = say(home.path(), &[&["keys", "--file", file], verb].concat());
            assert!(said.code == Some(1) && said.err.contains(wrong), "{said:#?}");
            assert!(
                said.err.contains(file) && said.err.contains("--file") && said.err.contains("`keys_file`"),
                "{said:#?}"
            );
        }
    }
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 3, "nothing is made beside them");
}

/// The look at the files never ended once one was a pipe: no key that was revoked was refused any more, and no certificate renewed.
#[test]
fn files_are_looked_at_though_one_becomes_a_pipe_or_has_no_end() {
    let home = tempfile::tempdir().unwrap();
    let config = "default_profile = \"canned\"\n[profiles.canned]\nbackend = \"script\"\nmodel = \"m\"\n[backends.script]\nkind = \"scripted\"\n\
                  [access]\nkeys_file = \"keys.toml\"\n[access.jwt]\nissuer = \"i\"\naudience = \"a\"\nkeys = [{ algorithm = \"HS256\", file = \"jwt\" }]\n\
                  [log]\naudit_file = \"audit.jsonl\"\n";
    let at = |name: &str| home.path().join(name);
    fs::write(at("antiphon.toml"), config).unwrap();
    fs::write(at("jwt"), "0".repeat(32)).unwrap();
    // As a mounted secret is: a link to a file in a folder that a link leads to.
    fs::create_dir(at("..1")).unwrap();
    symlink("..1", at("..data")).unwrap();
    fs::write(at("..1/keys.toml"), "").unwrap();
    symlink("..data/keys.toml", at("keys.toml")).unwrap();
    let server = Server::at(home, &["--ephemeral"]);
    let at = |name: &str| server.home.path().join(name);
    let create = || server.json(&["keys", "create", "me"])["key"].as_str().unwrap().to_owned();
    let is_taken =
        |key: &str| Said::of(server.command(["threads"]).env("ANTIPHON_KEY", key).output().unwrap()).code == Some(0);
    let first = create();
    until("the key to be taken", || is_taken(&first));
    // The tokens' key is looked at after the file of keys, so that what is told of it was seen after that.
    let changes = || fs::read_to_string(at("audit.jsonl")).unwrap().matches("token_keys.changed").count();
    let put = |number: u8, make: &dyn Fn(&Path)| {
        make(&at("new"));
        fs::rename(at("new"), at("..1/keys.toml")).unwrap();
        fs::write(at("jwt"), number.to_string().repeat(32)).unwrap();
        until("the look after it", || changes() == usize::from(number));
        assert!(is_taken(&first), "the keys that were there are still taken");
    };
    let kept = fs::read(at("keys.toml")).unwrap();
    put(1, &|new| pipe(new));
    put(2, &|new| symlink("/dev/zero", new).unwrap());
    put(3, &|new| File::create(new).unwrap().set_len(1 << 40).unwrap());
    put(4, &|new| fs::write(new, &kept).unwrap());
    let second = create();
    until("another key to be taken", || is_taken(&second));
    server.signal("TERM");
    let (_, log, _) = server.ended();
    for wrong in ["it is a pipe, and only", "it is a device, and only", "bytes long: at most 16777216 are read"] {
        let is_told =
            |line: &str| line.contains("access.mistake") && line.contains("access.keys_file") && line.contains(wrong);
        assert!(log.lines().any(is_told), "{wrong}\nis not in\n{log}");
    }
}

/// A command that reads once takes what is piped to it as a file, to its end, if it has one.
#[test]
fn what_a_command_is_given_may_be_a_pipe() {
    let server = Server::start();
    assert_eq!(server.feed(&["threads", "--key-file", "/dev/stdin"], "antiphon_a_b\n").code, Some(0));
    let said = server.feed(&["capture", "hi", "--messages", "/dev/stdin"], r#"[{"role":"user","content":"before"}]"#);
    assert_eq!(said.code, Some(0), "{said:#?}");
    let chat = r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}"#;
    let said = server.feed(&["import", "/dev/stdin"], &format!("{chat}\n"));
    assert_eq!(said.code, Some(0), "{said:#?}");
    for option in ["--key-file", "--tls-ca", "--tls-cert", "--tls-key"] {
        let said = server.say(["threads", option, "/dev/zero"]);
        assert_eq!(said.code, Some(1), "{said:#?}");
        for word in ["/dev/zero: it has more than 16777216 bytes", option] {
            assert!(said.err.contains(word), "{word}: {}", said.err);
        }
    }
    let said = server.say(["capture", "hi", "--messages", "/dev/zero"]);
    assert!(said.code == Some(1) && said.err.contains("/dev/zero: it has more than 268435456 bytes"), "{said:#?}");
}
