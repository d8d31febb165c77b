//! The engine's part of the configuration: profiles, backends, contracts and where prompts lie, read with every mistake named at once. It
//! must not know where the text came from, nor any backend's own settings.

mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::DeserializeOwned;

pub(crate) use self::read::explain;
pub use self::read::{decode, unknown_key};
use super::backend::Limits;
use super::price::PricesConfig;
use super::profile::ParametersConfig;
use super::repair::{self, RepairConfig};
use crate::domain::bounds::Bounds;
use crate::domain::id::Hash;

/// A mistake in the configuration, a prompt or a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Where: a key such as `profiles.main.model`, or a file with its line.
    pub at: String,
    /// What is wrong.
    pub what: String,
    /// What to do; empty where that is clear.
    pub remedy: String,
}

impl ConfigProblem {
    /// A problem.
    pub fn new(at: impl Into<String>, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { at: at.into(), what: what.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.what)?;
        if self.remedy.is_empty() { Ok(()) } else { write!(f, "; {}", self.remedy) }
    }
}

/// What the engine is configured with.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The profile of calls that name none.
    pub default_profile: Option<String>,
    /// Folder of prompts, files ending in `.prompt` or `.prompt.md`.
    pub prompts_dir: Option<PathBuf>,
    /// Folder of contracts, JSON Schemas in files ending in `.json`.
    pub contracts_dir: Option<PathBuf>,
    /// Profiles by id.
    pub profiles: BTreeMap<String, ProfileConfig>,
    /// Backends by id.
    pub backends: BTreeMap<String, BackendConfig>,
    /// Contracts by id, besides those of the folder.
    pub contracts: BTreeMap<String, ContractConfig>,
    /// How many repairs of one answer may be asked for at most; [`repair::MAX_ATTEMPTS`] when absent.
    pub max_repair_attempts: Option<u32>,
    /// What prompts and contracts may have; what a server bears at most, unless it is set.
    pub bounds: Bounds,
    /// Keys that are there and could not be read, each of which is a mistake that was told.
    pub unread: BTreeSet<String>,
}

/// A profile: a backend, a model and parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileConfig {
    /// The backend's id.
    #[serde(default)]
    pub backend: String,
    /// The model, as the provider names it.
    #[serde(default)]
    pub model: String,
    /// Parameters of its calls.
    #[serde(default)]
    pub parameters: ParametersConfig,
    /// What its calls cost, for estimates.
    pub prices: Option<PricesConfig>,
    /// The profiles that stand in for it when its backend cannot be called, in order.
    #[serde(default)]
    pub fallback: Vec<String>,
    /// Repairs of answers that miss their form.
    pub repair: Option<RepairConfig>,
    /// The namespaces that may use it; all when absent. To others it is not there.
    pub namespaces: Option<Vec<String>>,
}

/// A contract: a schema here, or in a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContractConfig {
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// The JSON Schema as JSON text.
    pub schema: Option<String>,
    /// A file that holds it, relative to the configuration.
    pub schema_file: Option<PathBuf>,
    /// Repairs of answers that miss it.
    pub repair: Option<RepairConfig>,
}

/// A backend: its kind, its limits, and the settings that only its kind understands.
#[derive(Clone, Debug)]
pub struct BackendConfig {
    /// Its kind, such as `openai`.
    pub kind: String,
    /// Its limits.
    pub limits: Limits,
    /// The namespaces that may use it, and the profiles on it; all when absent. To others it is not there.
    pub namespaces: Option<Vec<String>>,
    /// The rest, for [`BackendConfig::settings`].
    pub rest: toml::Table,
}

impl Config {
    /// The keys at the top of the configuration that belong to the engine.
    pub const KEYS: [&'static str; 7] =
        ["default_profile", "prompts_dir", "contracts_dir", "max_repair_attempts", "profiles", "backends", "contracts"];

    /// Reads the engine's keys of a table; see [`Config::KEYS`].
    ///
    /// # Errors
    /// Every mistake that can be seen in the text alone.
    pub fn from_table(table: toml::Table) -> Result<Self, Vec<ConfigProblem>> {
        let (config, problems) = Self::read(table);
        if problems.is_empty() { Ok(config) } else { Err(problems) }
    }

    /// Reads what can be read, so that the rest can be checked as well; with every mistake that can be seen in the text alone.
    pub fn read(table: toml::Table) -> (Self, Vec<ConfigProblem>) {
        let mut config = Self::default();
        let mut problems = Vec::new();
        for (key, value) in table {
            match key.as_str() {
                "default_profile" => config.default_profile = one(&key, value, &mut problems),
                "prompts_dir" => config.prompts_dir = one(&key, value, &mut problems),
                "contracts_dir" => config.contracts_dir = one(&key, value, &mut problems),
                "max_repair_attempts" => config.max_repair_attempts = one(&key, value, &mut problems),
                "profiles" => config.profiles = entries(&key, value, ProfileConfig::read, &mut problems),
                "contracts" => {
                    config.contracts = entries(&key, value, |at, value| decode(at, value, &[]), &mut problems)
                }
                "backends" => config.backends = entries(&key, value, BackendConfig::read, &mut problems),
                unknown => problems.push(unknown_key("", unknown, &Self::KEYS)),
            }
        }
        config.unread = problems.iter().map(|problem| problem.at.clone()).collect();
        (config, problems)
    }

    /// How many repairs of one answer may be asked for at most.
    pub fn max_repair_attempts(&self) -> u32 {
        self.max_repair_attempts.unwrap_or(repair::MAX_ATTEMPTS)
    }

    /// Whether a key, or something in its table, is there and could not be read.
    pub(crate) fn is_unread(&self, key: &str) -> bool {
        let is_inside =
            |unread: &String| unread.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        self.unread.iter().any(is_inside)
    }
}

impl ProfileConfig {
    fn read(at: &str, value: toml::Value) -> (Option<Self>, Vec<ConfigProblem>) {
        let has = |key: &str| value.as_table().is_none_or(|table| table.contains_key(key));
        let absent = |key: &&str| !has(key);
        let missing: Vec<&str> = ["backend", "model"].into_iter().filter(absent).collect();
        let (read, mut problems) = decode(at, value, &[]);
        let is_typo = |key: &str| problems.iter().any(|other| other.what.contains(&format!("did you mean `{key}`")));
        let missing: Vec<&str> = missing.into_iter().filter(|key| !is_typo(key)).collect();
        problems.extend(missing.into_iter().map(|key| {
            let remedy =
                if key == "model" { "add `model`, as the provider names it" } else { "add `backend`, the id of one" };
            // Under the key itself, which is not there: its table has the line.
            ConfigProblem::new(format!("{at}.{key}"), format!("there is no `{key}`"), remedy)
        }));
        (read, problems)
    }
}

/// The key of the namespaces that may use a backend.
const NAMESPACES: &str = "namespaces";

impl BackendConfig {
    fn read(at: &str, value: toml::Value) -> (Option<Self>, Vec<ConfigProblem>) {
        let toml::Value::Table(mut rest) = value else {
            return (None, vec![ConfigProblem::new(at, "must be a table", "")]);
        };
        let mut problems = Vec::new();
        let kind = match rest.remove("kind") {
            Some(value) => one(&format!("{at}.kind"), value, &mut problems).unwrap_or_default(),
            None => {
                let remedy = "add `kind`, such as `kind = \"openai\"` or `kind = \"scripted\"`";
                problems.push(ConfigProblem::new(at, "has no `kind`", remedy));
                String::new()
            }
        };
        let mut limits = toml::Table::new();
        for key in Limits::KEYS {
            if let Some(value) = rest.remove(key) {
                limits.insert(key.to_owned(), value);
            }
        }
        let (limits, wrong) = decode(at, toml::Value::Table(limits), &[]);
        problems.extend(wrong);
        let namespaces = rest.remove(NAMESPACES);
        let namespaces = namespaces.and_then(|value| one(&format!("{at}.{NAMESPACES}"), value, &mut problems));
        (Some(Self { kind, limits: limits.unwrap_or_default(), namespaces, rest }), problems)
    }

    /// Of its kind and the settings of that. Its limits decide nothing about what is sent, and credentials are elsewhere: settings only name
    /// where they are.
    pub fn hash(&self) -> Hash {
        Hash::of(format!("{}\n{}", self.kind, self.rest).as_bytes())
    }

    /// The settings of its kind, strictly: an unknown key is refused with the nearest known one.
    ///
    /// # Errors
    /// Every mistake.
    pub fn settings<T: DeserializeOwned>(&self, backend_id: &str) -> Result<T, Vec<ConfigProblem>> {
        match self.read_settings(backend_id) {
            (Some(settings), problems) if problems.is_empty() => Ok(settings),
            (_, problems) => Err(problems),
        }
    }

    /// The settings of its kind as far as they can be read, so that the rest can be checked as well; with every mistake in them.
    pub fn read_settings<T: DeserializeOwned>(&self, backend_id: &str) -> (Option<T>, Vec<ConfigProblem>) {
        decode(
            &format!("backends.{backend_id}"),
            toml::Value::Table(self.rest.clone()),
            &[&Limits::KEYS[..], &[NAMESPACES]].concat(),
        )
    }
}

fn one<T: DeserializeOwned>(at: &str, value: toml::Value, problems: &mut Vec<ConfigProblem>) -> Option<T> {
    let (read, wrong) = decode(at, value, &[]);
    problems.extend(wrong);
    read
}

fn entries<T>(
    key: &str,
    value: toml::Value,
    read: impl Fn(&str, toml::Value) -> (Option<T>, Vec<ConfigProblem>),
    problems: &mut Vec<ConfigProblem>,
) -> BTreeMap<String, T> {
    let toml::Value::Table(table) = value else {
        problems.push(ConfigProblem::new(key, "must be a table", format!("write `[{key}.some-id]`")));
        return BTreeMap::new();
    };
    let mut entries = BTreeMap::new();
    for (id, value) in table {
        let at = format!("{key}.{id}");
        if let Err(what) = check_id(&id) {
            problems.push(ConfigProblem::new(&at, what, ""));
            continue;
        }
        let (entry, wrong) = read(&at, value);
        problems.extend(wrong);
        if let Some(entry) = entry {
            entries.insert(id, entry);
        }
    }
    entries
}

/// Longest id of a configured resource, in characters.
const MAX_ID: usize = 64;

/// Whether text can be the id of a configured resource.
pub(crate) fn check_id(id: &str) -> Result<(), String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let length = id.chars().count();
    if !(1..=MAX_ID).contains(&length) || !id.chars().all(allowed) {
        let what = format!("must have 1 to {MAX_ID} of A-Z, a-z, 0-9, `_`, `-` and `.`, and has {length} characters");
        return Err(format!("the id `{id}` {what}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        let problems = Config::from_table(text.parse().unwrap()).unwrap_err();
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_mistake_is_named_at_once_with_the_nearest_key() {
        let found = problems(
            r#"
            defualt_profile = "main"
            [profiles.main]
            backend = "a"
            modle = "m"
            [profiles.other]
            backend = "a"
            model = "m"
            parameters = { temprature = 1.0 }
            [backends.a]
            capacity = 1
            [backends.b]
            kind = "openai"
            retry = { atempts = 3 }
            "#,
        );
        assert_eq!(found.len(), 5, "{found:#?}");
        assert!(found[0].starts_with("backends.a: has no `kind`"), "{}", found[0]);
        assert!(found[1].starts_with("backends.b.retry.atempts: unknown key `atempts` (did you mean `attempts`?)"));
        assert!(
            found[2].starts_with("defualt_profile: unknown key `defualt_profile` (did you mean `default_profile`?)")
        );
        assert!(
            found[3].starts_with("profiles.main.modle: unknown key `modle` (did you mean `model`?)"),
            "{}",
            found[3]
        );
        assert!(found[4].starts_with("profiles.other.parameters.temprature: unknown key `temprature` (did you mean"));
    }

    #[test]
    fn a_backends_own_settings_are_read_strictly_and_know_of_the_limits() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Own {
            #[expect(dead_code, reason = "only read to be there")]
            base_url: String,
        }
        let text = "[backends.a]\nkind = \"x\"\nbase_url = \"u\"\ncapcity = 3";
        let config = Config::from_table(text.parse().unwrap()).unwrap();
        let problems = config.backends["a"].settings::<Own>("a").unwrap_err();
        assert!(
            problems[0].to_string().starts_with("backends.a.capcity: unknown key `capcity` (did you mean `capacity`?)")
        );
    }

    #[test]
    fn ids_are_checked() {
        assert!(check_id("a.B-c_1").is_ok() && check_id(&"a".repeat(64)).is_ok());
        let long = check_id(&"a".repeat(65)).unwrap_err();
        assert!(long.contains("1 to 64") && long.ends_with("and has 65 characters"), "{long}");
        assert!(check_id("a b").is_err());
        assert!(check_id("").is_err());
    }
}
