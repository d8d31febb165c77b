//! That the configuration reference is a configuration: it is read as one, its values are the defaults, and no key is missing.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use antiphon::domain::source::Clock;
use antiphon::engine::backend::wire::{Config as Dialect, Quirks};
use antiphon::engine::backend::{Limits, anthropic, gemini, ollama, openai, responses};
use antiphon::ops::app::setup;
use antiphon::ops::config::{Config, parse};
use antiphon::ops::environment::Environment;
use antiphon::ops::source::SystemClock;

use crate::markdown::{blocks, path, read, rows, section};

const DOCUMENTS: [&str; 2] = ["README.md", "docs/configuration.md"];
/// Its configurations name files that whoever reads it has.
const SECURITY: &str = "docs/security.md";

struct Nothing;

impl Environment for Nothing {
    fn var(&self, _name: &str) -> Option<String> {
        None
    }
}

/// The configurations in a document.
fn configurations(document: &str) -> Vec<String> {
    let found = blocks(&read(document)).into_iter().filter(|block| block.language == "toml").map(|block| block.text);
    found.collect()
}

/// The reference of the README.
fn reference() -> String {
    configurations("README.md").into_iter().find(|text| text.contains("[store]")).expect("the README has a reference")
}

/// A configuration as the server reads it, backends made; every mistake otherwise.
fn take(text: &str) -> Result<Config, Vec<String>> {
    take_at(text, Path::new("antiphon.toml"))
}

/// The same, with the folders that it names beside this file.
fn take_at(text: &str, file: &Path) -> Result<Config, Vec<String>> {
    let (config, _) = parse(text, file).map_err(|found| found.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    match setup(&config, &Nothing, &clock) {
        Ok(_) => Ok(config),
        Err(found) => Err(found.iter().map(ToString::to_string).collect()),
    }
}

/// The keys that are set where there is nothing by default: `# key = value`.
fn optional(text: &str) -> Vec<(usize, String)> {
    let key = |line: &str| {
        let (key, _) = line.strip_prefix("# ")?.split_once(" = ")?;
        key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_').then(|| key.to_owned())
    };
    text.lines().enumerate().filter_map(|(index, line)| Some((index, key(line)?))).collect()
}

#[test]
fn the_reference_is_read_and_shows_the_defaults() {
    let config = take(&reference()).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
    let default = Config::default();
    assert_eq!(config.server, default.server);
    assert_eq!(config.store, default.store);
    assert_eq!(config.log, default.log);
    assert_eq!(config.limits, default.limits);
    let backend = config.engine.backends.values().find(|backend| backend.kind == "openai").unwrap();
    assert_eq!(backend.limits, Limits::default());
    assert_eq!(backend.settings::<openai::Config>("provider").unwrap(), openai::Config::default());
}

/// The backend of a kind that a document shows with its quirks.
fn shown<Q: Quirks>(kind: &str) -> Dialect<Q> {
    let texts = configurations("docs/configuration.md").into_iter().filter(|text| text.contains(".quirks]"));
    let mut found = texts.filter_map(|text| take(&text).ok()?.engine.backends.into_values().find(|b| b.kind == kind));
    let backend = found.next().unwrap_or_else(|| panic!("no configuration of `{kind}` is shown"));
    backend.settings(kind).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))
}

#[test]
fn each_dialect_is_shown_with_its_defaults() {
    assert_eq!(shown::<openai::Quirks>("openai"), openai::Config::default());
    assert_eq!(shown::<anthropic::Quirks>("anthropic"), anthropic::Config::default());
    assert_eq!(shown::<gemini::Quirks>("gemini"), gemini::Config::default());
    assert_eq!(shown::<responses::Quirks>("openai-responses"), responses::Config::default());
    assert_eq!(shown::<ollama::Quirks>("ollama"), ollama::Config::default());
}

#[test]
fn every_other_configuration_that_is_shown_is_read_too() {
    for document in DOCUMENTS {
        for text in configurations(document) {
            take(&text).unwrap_or_else(|mistakes| panic!("{document}: {mistakes:#?}\n{text}"));
        }
    }
}

#[test]
fn keys_without_a_default_are_keys_as_well() {
    let mut tried = 0;
    for document in DOCUMENTS {
        for text in configurations(document) {
            for (index, key) in optional(&text) {
                let lines = text.lines().enumerate();
                let set: Vec<&str> =
                    lines.map(|(at, line)| if at == index { line.trim_start_matches("# ") } else { line }).collect();
                let mistakes = take(&set.join("\n")).err().unwrap_or_default();
                // Files and folders that it names are not here.
                let unknown = |mistake: &String| mistake.contains("unknown key") || mistake.contains("invalid type");
                assert!(!mistakes.iter().any(unknown), "{document}: {key}: {mistakes:#?}");
                tried += 1;
            }
        }
    }
    assert!(tried >= 10, "only {tried} such keys were found");
}

/// The keys that a table may have, from what is said of one that it may not have.
fn known_keys(table: &str) -> BTreeSet<String> {
    let mistakes = take(table).map(|_| ()).expect_err("`zzz` is no key");
    let said = mistakes.iter().find(|mistake| mistake.contains("unknown key `zzz`"));
    let said = said.unwrap_or_else(|| panic!("{table}: {mistakes:#?}"));
    let (_, known) = said.split_once("known are ").unwrap_or_else(|| panic!("{said}"));
    known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn no_key_is_left_out() {
    let backend = "[profiles.p]\nbackend = 'b'\nmodel = 'm'\n[backends.b]\n";
    let tables = [
        "zzz = 1".to_owned(),
        "[server]\nzzz = 1".to_owned(),
        "[store]\nzzz = 1".to_owned(),
        "[log]\nzzz = 1".to_owned(),
        "[limits]\nzzz = 1".to_owned(),
        "[profiles.p]\nbackend = 'b'\nmodel = 'm'\nzzz = 1".to_owned(),
        "[profiles.p]\nbackend = 'b'\nmodel = 'm'\nparameters = { zzz = 1 }".to_owned(),
        "[contracts.c]\nzzz = 1".to_owned(),
        "[access]\nzzz = 1".to_owned(),
        "[access.limits]\nzzz = 1".to_owned(),
        "[access.jwt]\nissuer = 'i'\naudience = 'a'\nkeys = []\nzzz = 1".to_owned(),
        "[access.jwt]\nissuer = 'i'\naudience = 'a'\nkeys = [{ algorithm = 'HS256', file = 'f', zzz = 1 }]".to_owned(),
        "[tls]\nzzz = 1".to_owned(),
        format!("{backend}kind = 'openai'\nzzz = 1"),
        format!("{backend}kind = 'openai'\nretry = {{ zzz = 1 }}"),
        format!("{backend}kind = 'openai'\ncircuit = {{ zzz = 1 }}"),
        format!("{backend}kind = 'openai'\ntimeouts = {{ zzz = 1 }}"),
        format!("{backend}kind = 'openai'\nquirks = {{ zzz = 1 }}"),
        format!("{backend}kind = 'anthropic'\nquirks = {{ zzz = 1 }}"),
        format!("{backend}kind = 'gemini'\nquirks = {{ zzz = 1 }}"),
        format!("{backend}kind = 'openai-responses'\nzzz = 1"),
        format!("{backend}kind = 'openai-responses'\nquirks = {{ zzz = 1 }}"),
        format!("{backend}kind = 'ollama'\nzzz = 1"),
        format!("{backend}kind = 'ollama'\nquirks = {{ zzz = 1 }}"),
        format!("{backend}kind = 'scripted'\nzzz = 1"),
        format!("{backend}kind = 'scripted'\nrules = [{{ zzz = 1 }}]"),
        format!("{backend}kind = 'scripted'\nrules = [{{ tool_calls = [{{ zzz = 1 }}] }}]"),
        format!("{backend}kind = 'scripted'\nrules = [{{ usage = {{ zzz = 1 }} }}]"),
    ];
    let told: String = DOCUMENTS.iter().chain([&SECURITY]).map(|document| read(document)).collect();
    let is_told = |key: &String| {
        [format!("{key} = "), format!("[{key}"), format!(".{key}]"), format!("`{key}`")]
            .iter()
            .any(|form| told.contains(form))
    };
    let missing: BTreeSet<String> =
        tables.iter().flat_map(|table| known_keys(table)).filter(|key| !is_told(key)).collect();
    assert!(missing.is_empty(), "not documented: {missing:?}");
}

#[test]
fn every_limit_of_the_configuration_is_in_the_list_of_limits() {
    let readme = read("README.md");
    let listed: String = rows(section(&readme, "## Limits")).into_iter().map(|row| row[0].clone()).collect();
    let keys = known_keys("[limits]\nzzz = 1");
    let missing: Vec<&String> = keys.iter().filter(|key| !listed.contains(&format!("`{key}`"))).collect();
    assert!(keys.len() > 10 && missing.is_empty(), "not in the list of limits: {missing:?}");
}

#[test]
fn the_prompt_that_is_shown_is_a_prompt() {
    let prompt =
        blocks(&read("docs/configuration.md")).into_iter().find(|block| block.text.starts_with("---\n")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("greet.prompt.md"), prompt.text).unwrap();
    let text = format!("{}\nprompts_dir = '{}'", "default_profile = 'canned'", folder.path().display());
    let example = std::fs::read_to_string(path("examples/scripted.toml")).unwrap();
    let text = format!("{text}\n{}", example.replace("default_profile = \"canned\"", ""));
    take(&text).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
}

#[test]
fn the_examples_are_read() {
    for example in ["examples/antiphon.toml", "examples/scripted.toml", "examples/local-model.toml"] {
        take_at(&read(example), &path(example)).unwrap_or_else(|mistakes| panic!("{example}: {mistakes:#?}"));
    }
}
