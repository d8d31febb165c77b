//! The engine's part of the configuration: profiles, backends, contracts and where prompts lie, read with every mistake named at once. It
//! must not know where the text came from, nor any backend's own settings.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::backend::Limits;
use super::nearest::hint;
use super::profile::ParametersConfig;

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
}

/// A profile: a backend, a model and parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileConfig {
    /// The backend's id.
    pub backend: String,
    /// The model, as the provider names it.
    pub model: String,
    /// Parameters of its calls.
    #[serde(default)]
    pub parameters: ParametersConfig,
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
}

/// A backend: its kind, its limits, and the settings that only its kind understands.
#[derive(Clone, Debug)]
pub struct BackendConfig {
    /// Its kind, such as `openai`.
    pub kind: String,
    /// Its limits.
    pub limits: Limits,
    /// The rest, for [`BackendConfig::settings`].
    pub rest: toml::Table,
}

impl Config {
    /// The keys at the top of the configuration that belong to the engine.
    pub const KEYS: [&'static str; 6] =
        ["default_profile", "prompts_dir", "contracts_dir", "profiles", "backends", "contracts"];

    /// Reads the engine's keys of a table; see [`Config::KEYS`].
    ///
    /// # Errors
    /// Every mistake that can be seen in the text alone.
    pub fn from_table(table: toml::Table) -> Result<Self, Vec<ConfigProblem>> {
        let mut config = Self::default();
        let mut problems = Vec::new();
        for (key, value) in table {
            match key.as_str() {
                "default_profile" => keep(&mut config.default_profile, decode(&key, value), &mut problems),
                "prompts_dir" => keep(&mut config.prompts_dir, decode(&key, value), &mut problems),
                "contracts_dir" => keep(&mut config.contracts_dir, decode(&key, value), &mut problems),
                "profiles" => config.profiles = entries(&key, value, decode, &mut problems),
                "contracts" => config.contracts = entries(&key, value, decode, &mut problems),
                "backends" => config.backends = entries(&key, value, BackendConfig::read, &mut problems),
                unknown => problems.push(unknown_key("", unknown, &Self::KEYS)),
            }
        }
        if problems.is_empty() { Ok(config) } else { Err(problems) }
    }
}

impl BackendConfig {
    fn read(at: &str, value: toml::Value) -> Result<Self, ConfigProblem> {
        let toml::Value::Table(mut rest) = value else {
            return Err(ConfigProblem::new(at, "must be a table", ""));
        };
        let kind = match rest.remove("kind") {
            Some(toml::Value::String(kind)) => kind,
            Some(_) => return Err(ConfigProblem::new(format!("{at}.kind"), "must be text", "")),
            None => {
                let remedy = "add `kind`, such as `kind = \"openai\"` or `kind = \"scripted\"`";
                return Err(ConfigProblem::new(at, "has no `kind`", remedy));
            }
        };
        let mut limits = toml::Table::new();
        for key in Limits::KEYS {
            if let Some(value) = rest.remove(key) {
                limits.insert(key.to_owned(), value);
            }
        }
        let limits = decode(at, toml::Value::Table(limits))?;
        Ok(Self { kind, limits, rest })
    }

    /// The settings of its kind, strictly: an unknown key is refused with the nearest known one.
    ///
    /// # Errors
    /// The first mistake.
    pub fn settings<T: DeserializeOwned>(&self, backend_id: &str) -> Result<T, ConfigProblem> {
        decode_beside(&format!("backends.{backend_id}"), toml::Value::Table(self.rest.clone()), &Limits::KEYS)
    }
}

/// Reads a value strictly; `at` is its key. The types that are read refuse unknown keys.
///
/// # Errors
/// The first mistake, under its full key.
pub fn decode<T: DeserializeOwned>(at: &str, value: toml::Value) -> Result<T, ConfigProblem> {
    decode_beside(at, value, &[])
}

/// Reads a value whose table has keys besides, which were taken out before.
fn decode_beside<T: DeserializeOwned>(at: &str, value: toml::Value, beside: &[&str]) -> Result<T, ConfigProblem> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { at.to_owned() } else { format!("{at}.{path}") };
        let message = error.inner().message().trim().to_owned();
        explain(&place, &message, beside)
    })
}

/// Makes a problem of a message of serde: an unknown key gets the nearest known one.
pub(crate) fn explain(place: &str, message: &str, beside: &[&str]) -> ConfigProblem {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.split_first() {
        Some((unknown, known)) if message.starts_with("unknown field") => {
            let all: Vec<&str> = known.iter().chain(beside).copied().collect();
            unknown_key(place.strip_suffix(unknown).map_or(place, |table| table.trim_end_matches('.')), unknown, &all)
        }
        _ => ConfigProblem::new(place, message, ""),
    }
}

/// The problem of a key that nothing reads.
pub fn unknown_key(table: &str, key: &str, known: &[&str]) -> ConfigProblem {
    let at = if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") };
    let listed = known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    let remedy = if known.is_empty() { "no key is read here".to_owned() } else { format!("known are {listed}") };
    ConfigProblem::new(at, format!("unknown key `{key}`{}", hint(key, known.iter().copied())), remedy)
}

fn keep<T>(slot: &mut Option<T>, read: Result<T, ConfigProblem>, problems: &mut Vec<ConfigProblem>) {
    match read {
        Ok(value) => *slot = Some(value),
        Err(problem) => problems.push(problem),
    }
}

fn entries<T>(
    key: &str,
    value: toml::Value,
    read: impl Fn(&str, toml::Value) -> Result<T, ConfigProblem>,
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
        match read(&at, value) {
            Ok(entry) => {
                entries.insert(id, entry);
            }
            Err(problem) => problems.push(problem),
        }
    }
    entries
}

/// Whether text can be the id of a configured resource.
pub(crate) fn check_id(id: &str) -> Result<(), String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if id.is_empty() || id.len() > 64 || !id.chars().all(allowed) {
        return Err(format!("the id `{id}` must have 1 to 64 of A-Z, a-z, 0-9, `_`, `-` and `.`"));
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
        let problem = config.backends["a"].settings::<Own>("a").unwrap_err();
        assert!(
            problem.to_string().starts_with("backends.a.capcity: unknown key `capcity` (did you mean `capacity`?)")
        );
    }

    #[test]
    fn ids_are_checked() {
        assert!(check_id("a.B-c_1").is_ok());
        assert!(check_id("a b").is_err());
        assert!(check_id("").is_err());
    }
}
