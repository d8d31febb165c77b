//! Tests of the configuration: what is found where, and every mistake with its line.

use super::super::environment::tests::FakeEnvironment;
use super::*;

fn mistakes(text: &str) -> Vec<String> {
    parse(text, Path::new("antiphon.toml")).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn each_component_gets_its_part() {
    let text = r#"
        default_profile = "main"
        [server]
        listen = "127.0.0.1:0"
        drain_grace_seconds = 5
        [store]
        cache_mebibytes = 64
        [log]
        format = "json"
        level = "debug"
        [limits]
        max_runs = 7
        [profiles.main]
        backend = "echo"
        model = "m"
        [backends.echo]
        kind = "scripted"
    "#;
    let (config, source) = parse(text, Path::new("/etc/antiphon/antiphon.toml")).unwrap();
    assert_eq!(config.server.listen.port(), 0);
    assert_eq!(config.server.drain_grace(), Duration::from_secs(5));
    assert_eq!(config.server.max_message_bytes, ServerConfig::default().max_message_bytes);
    assert_eq!((config.store.cache_mebibytes, config.limits.max_runs), (64, 7));
    assert_eq!(
        config.log,
        telemetry::Config { format: telemetry::Format::Json, level: "debug".into(), audit_file: None }
    );
    assert_eq!(config.engine.default_profile.as_deref(), Some("main"));
    assert_eq!(
        (config.base.as_path(), source.path().file_name()),
        (Path::new("/etc/antiphon"), Some(FILE_NAME.as_ref()))
    );
}

#[test]
fn every_mistake_is_named_at_once_with_its_line() {
    let found = mistakes(
        "[server]\nlisten = \"here\"\ndrain_grace_second = 3\n[stroe]\n[log]\nlevel = \"loud\"\n[limits]\nmax_runs = -1\n\
         [profiles.main]\nbackend = \"a\"\nmodle = \"m\"\n[backends.a]\n",
    );
    let begins = [
        "antiphon.toml:2: server.listen: ",
        "antiphon.toml:3: server.drain_grace_second: unknown key `drain_grace_second` (did you mean `drain_grace_seconds`?)",
        "antiphon.toml:4: stroe: unknown key `stroe` (did you mean `store`?)",
        "antiphon.toml:6: log.level: `loud` is no level",
        "antiphon.toml:8: limits.max_runs: ",
        "antiphon.toml:11: profiles.main.modle: unknown key `modle` (did you mean `model`?)",
        "antiphon.toml:12: backends.a: has no `kind`",
    ];
    assert_eq!(found.len(), begins.len(), "{found:#?}");
    for (told, begin) in found.iter().zip(begins) {
        assert!(told.starts_with(begin), "{told}\nshould begin with\n{begin}");
    }
}

#[test]
fn text_that_is_no_toml_is_told_with_its_line() {
    let found = mistakes("[server]\nlisten = \n");
    assert!(found[0].starts_with("antiphon.toml:2: "), "{found:#?}");
    assert!(mistakes("server = 3")[0].starts_with("antiphon.toml:1: server: must be a table"));
}

#[test]
fn the_file_is_the_named_one_then_that_of_the_folder_then_the_users() {
    let folder = tempfile::tempdir().unwrap();
    let (here, config) = (folder.path().join("here"), folder.path().join("config"));
    let users = config.join("antiphon");
    std::fs::create_dir_all(&here).unwrap();
    std::fs::create_dir_all(&users).unwrap();
    let environment = FakeEnvironment::default().with("XDG_CONFIG_HOME", config.to_str().unwrap());
    assert_eq!(find(None, &here, &environment).unwrap(), None);
    std::fs::write(users.join(FILE_NAME), "").unwrap();
    assert_eq!(find(None, &here, &environment).unwrap(), Some(users.join(FILE_NAME)));
    assert_eq!(find(None, &here, &FakeEnvironment::default()).unwrap(), None);
    std::fs::write(here.join(FILE_NAME), "").unwrap();
    assert_eq!(find(None, &here, &environment).unwrap(), Some(here.join(FILE_NAME)));
    let named = folder.path().join("other.toml");
    let missing = find(Some(&named), &here, &environment).unwrap_err();
    assert!(missing.to_string().ends_with("other.toml: there is no such file"), "{missing}");
    std::fs::write(&named, "").unwrap();
    assert_eq!(find(Some(&named), &here, &environment).unwrap(), Some(named));
}

#[test]
fn data_lies_with_the_users_own() {
    let environment = FakeEnvironment::default().with("HOME", "/home/a");
    assert_eq!(default_data_dir(&environment), Some(PathBuf::from("/home/a/.local/share/antiphon")));
    assert_eq!(default_data_dir(&FakeEnvironment::default()), None);
}

#[test]
fn problems_of_other_files_keep_their_own_place() {
    let (_, source) = parse("prompts_dir = \"p\"\n", Path::new("a.toml")).unwrap();
    let found = vec![ConfigProblem::new("p/x.prompt.md", "is broken", ""), ConfigProblem::new("prompts_dir", "w", "r")];
    let told: Vec<String> = source.problems(found).iter().map(ToString::to_string).collect();
    assert_eq!(told, ["a.toml:1: prompts_dir: w; r", "p/x.prompt.md: is broken"]);
}
