//! The catalog: prompts, profiles and contracts as configured, checked against one another. It must not know how they are used.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::backend::wire::{Dialect, Remote, Unopened};
use super::backend::{anthropic, client, gemini, ollama, openai, responses};
use super::config::{BackendConfig, Config, ConfigProblem, ContractConfig, check_id};
use super::contract::{Schemas, bounded, parse_schema};
use super::nearest::hint;
use super::open_to::OpenTo;
use super::price::Prices;
use super::profile::Profile;
pub use super::prompt::{Kind, Prompt, Variable};
use super::{fallback, file};
use crate::domain::bounds::Bounds;
use crate::domain::id::Namespace;
use crate::domain::settings::Contract;
use crate::domain::tool::{Tool, ToolSet};

/// What a contract's file ends with.
const CONTRACT_ENDING: &str = ".json";
/// Kinds of backends that speak to no provider.
const WIRELESS_KINDS: [&str; 2] = [client::KIND, "scripted"];
/// The dialects in which providers are spoken to. A new one is a line here.
pub const DIALECTS: &[SpokenKind] = &[
    spoken::<anthropic::Messages>(),
    spoken::<gemini::Generate>(),
    spoken::<ollama::Native>(),
    spoken::<openai::Chat>(),
    spoken::<responses::Responses>(),
];
/// Contracts that are always there.
const BUILT_IN: [(&str, Contract, &str); 2] =
    [("text", Contract::Text, "Any text"), ("json", Contract::Json, "Any JSON value")];

/// A kind of backends that speak to providers.
pub struct SpokenKind {
    /// Its word in the configuration.
    pub kind: &'static str,
    /// Reads the settings of a backend of this kind, by its id, as far as they can be read; with every mistake in them.
    pub read: fn(&BackendConfig, &str) -> AsFarAsRead,
}

/// A backend that waits for its key, where its settings could be read at all, and every mistake in them.
pub type AsFarAsRead = (Option<Box<dyn Unopened>>, Vec<ConfigProblem>);

const fn spoken<D: Dialect>() -> SpokenKind {
    SpokenKind {
        kind: D::KIND,
        read: |config, id| {
            let (settings, problems) = config.read_settings(id);
            (settings.map(Remote::<D>::unopened), problems)
        },
    }
}

/// The kinds of backends that this version has, in order.
fn backend_kinds() -> Vec<&'static str> {
    let mut kinds: Vec<_> = DIALECTS.iter().map(|dialect| dialect.kind).chain(WIRELESS_KINDS).collect();
    kinds.sort_unstable();
    kinds
}

/// A contract of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredContract {
    /// Its id.
    pub id: String,
    /// What it is for.
    pub description: String,
    /// The contract.
    pub contract: Contract,
    /// How often an answer without its form may be asked for again.
    pub repair_attempts: Option<u32>,
}

/// What is configured.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Prompts by id.
    pub prompts: BTreeMap<String, Prompt>,
    /// Profiles by id.
    pub profiles: BTreeMap<String, Profile>,
    /// Which namespaces may use each backend.
    pub backends: BTreeMap<String, OpenTo>,
    /// Contracts by id; `text` and `json` are always among them.
    pub contracts: BTreeMap<String, ConfiguredContract>,
    /// The profile of calls that name none.
    pub default_profile: Option<String>,
    /// How many repairs of one answer may be asked for at most.
    pub max_repair_attempts: u32,
}

impl Catalog {
    /// A profile, where the namespace may use it.
    pub fn profile(&self, id: &str, namespace: &Namespace) -> Option<&Profile> {
        self.profiles.get(id).filter(|profile| profile.open_to.allows(namespace))
    }

    /// The profiles that a namespace may use, in the order of their ids.
    pub fn profiles_of(&self, namespace: &Namespace) -> impl Iterator<Item = &Profile> + Clone {
        let namespace = namespace.clone();
        self.profiles.values().filter(move |profile| profile.open_to.allows(&namespace))
    }

    /// Whether a namespace may use a backend.
    pub fn has_backend(&self, id: &str, namespace: &Namespace) -> bool {
        self.backends.get(id).is_none_or(|open_to| open_to.allows(namespace))
    }

    /// Reads and checks everything. Relative paths are taken from `base`, the folder of the configuration.
    ///
    /// # Errors
    /// Every mistake at once.
    pub fn load(config: &Config, base: &Path) -> Result<Self, Vec<ConfigProblem>> {
        let mut problems = Vec::new();
        check_backends(config, &mut problems);
        let backends = backends_open_to(config, &mut problems);
        let mut catalog = Self {
            profiles: profiles(config, &backends, &mut problems),
            backends,
            contracts: contracts(config, base, &mut problems),
            default_profile: config.default_profile.clone(),
            max_repair_attempts: config.max_repair_attempts(),
            ..Self::default()
        };
        if let Some(id) = &catalog.default_profile
            && !has_profile(config, id)
        {
            let known = config.profiles.keys().map(String::as_str);
            let what = format!("there is no profile `{id}`{}", hint(id, known));
            problems.push(ConfigProblem::new("default_profile", what, format!("add `[profiles.{id}]`")));
        }
        if let Some(folder) = &config.prompts_dir {
            catalog.load_prompts(config, &base.join(folder), &mut problems);
        }
        if problems.is_empty() { Ok(catalog) } else { Err(problems) }
    }

    fn load_prompts(&mut self, config: &Config, folder: &Path, problems: &mut Vec<ConfigProblem>) {
        let schemas = Schemas::default();
        for (path, prompt) in super::prompt::load(folder, &config.bounds, problems) {
            let at = path.display().to_string();
            let mut wrong = |what: String, remedy: &str| problems.push(ConfigProblem::new(&at, what, remedy));
            if let Some(id) = prompt.profile_id.as_deref().filter(|id| !has_profile(config, id)) {
                let known = config.profiles.keys().map(String::as_str);
                wrong(format!("asks for the profile `{id}`, which there is not{}", hint(id, known)), "");
            }
            let has_contract =
                |id: &str| self.contracts.contains_key(id) || config.is_unread(&format!("contracts.{id}"));
            if let Some(id) = prompt.contract_id.as_deref().filter(|id| !has_contract(id)) {
                let known = self.contracts.keys().map(String::as_str);
                wrong(format!("asks for the contract `{id}`, which there is not{}", hint(id, known)), "");
            }
            let tools = prompt.tools.as_ref().map(|set| set.tools.as_slice()).unwrap_or_default();
            check_tools(tools, &schemas, &config.bounds, &mut |what| wrong(what, ""));
            if let Some(what) = too_many(config, prompt.repair_attempts) {
                wrong(format!("`repair.attempts` {what}"), MORE_REPAIRS);
            }
            if self.prompts.contains_key(&prompt.id) {
                wrong(
                    format!("another file has a prompt with the id `{}`", prompt.id),
                    "give one of them another `id`",
                );
            }
            self.prompts.insert(prompt.id.clone(), prompt);
        }
    }
}

/// What is wrong with the tools of a prompt, which keep the rules that those of a request keep.
fn check_tools(tools: &[Tool], schemas: &Schemas, bounds: &Bounds, wrong: &mut dyn FnMut(String)) {
    if let Some(what) = ToolSet::too_many(tools.len(), bounds.tools) {
        wrong(format!("`tools` {what}"));
        return;
    }
    for (index, tool) in tools.iter().enumerate() {
        for (field, what) in tool.problems(bounds) {
            // The schema is no text here.
            wrong(format!("`tools[{index}].{}` {what}", field.trim_end_matches("_json")));
        }
        if tools.iter().take(index).any(|other| other.name == tool.name) {
            wrong(format!("`tools[{index}].name` is the name of another one too"));
        }
        // One that is too long is not read.
        if bounds.tool_schema.beyond(tool.input_schema_json.len()).is_some() {
            continue;
        }
        let deep = bounded(&tool.input_schema_json, bounds.tool_schema, bounds);
        if let Err(problem) = deep.and_then(|()| schemas.check_tool(tool)) {
            wrong(format!("the input schema of tool `{}` is not usable: {problem}", tool.name));
        }
    }
}

/// What is to be done where more repairs are configured than are made.
const MORE_REPAIRS: &str = "take fewer, or raise `max_repair_attempts`";

/// What is wrong with a number of repairs.
fn too_many(config: &Config, attempts: Option<u32>) -> Option<String> {
    let max = config.max_repair_attempts();
    attempts.filter(|attempts| *attempts > max).map(|attempts| format!("is {attempts}; at most {max} are made"))
}

/// Whether there is a profile, be it one that could not be read.
fn has_profile(config: &Config, id: &str) -> bool {
    config.profiles.contains_key(id) || config.is_unread(&format!("profiles.{id}"))
}

fn check_backends(config: &Config, problems: &mut Vec<ConfigProblem>) {
    let kinds = backend_kinds();
    for (id, backend) in &config.backends {
        let kind = backend.kind.as_str();
        let at = format!("backends.{id}");
        if !kinds.contains(&kind) && !kind.is_empty() {
            let what = format!("there is no backend kind `{kind}`{}", hint(kind, kinds.iter().copied()));
            let remedy = format!("known are {}", listed(kinds.iter().copied()));
            problems.push(ConfigProblem::new(format!("{at}.kind"), what, remedy));
        }
        for (key, what) in backend.limits.problems() {
            problems.push(ConfigProblem::new(format!("{at}.{key}"), what, ""));
        }
    }
}

fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// Which namespaces may use each backend.
fn backends_open_to(config: &Config, problems: &mut Vec<ConfigProblem>) -> BTreeMap<String, OpenTo> {
    let of = |(id, backend): (&String, &BackendConfig)| {
        let open_to = OpenTo::of(backend.namespaces.as_deref()).unwrap_or_else(|what| {
            problems.push(ConfigProblem::new(format!("backends.{id}.namespaces"), what, ""));
            OpenTo::default()
        });
        (id.clone(), open_to)
    };
    config.backends.iter().map(of).collect()
}

fn profiles(
    config: &Config,
    open_to: &BTreeMap<String, OpenTo>,
    problems: &mut Vec<ConfigProblem>,
) -> BTreeMap<String, Profile> {
    let mut profiles = BTreeMap::new();
    for (id, profile) in &config.profiles {
        let at = format!("profiles.{id}");
        // What is empty because it could not be read was told already.
        let is_told = config.is_unread(&at);
        let is_known = config.backends.contains_key(&profile.backend)
            || config.is_unread(&format!("backends.{}", profile.backend))
            || (profile.backend.is_empty() && is_told);
        if !is_known {
            let known = config.backends.keys().map(String::as_str);
            let what = format!("there is no backend `{}`{}", profile.backend, hint(&profile.backend, known));
            let remedy = format!("add `[backends.{}]`", profile.backend);
            problems.push(ConfigProblem::new(format!("{at}.backend"), what, remedy));
        }
        if profile.model.trim().is_empty() && !(profile.model.is_empty() && is_told) {
            problems.push(ConfigProblem::new(format!("{at}.model"), "must not be empty", ""));
        }
        let parameters = profile.parameters.check().unwrap_or_else(|wrong| {
            let of = |(key, what)| ConfigProblem::new(format!("{at}.parameters.{key}"), what, "");
            problems.extend(wrong.into_iter().map(of));
            Default::default()
        });
        let prices = profile.prices.as_ref().and_then(|prices| {
            let of = |(key, what)| ConfigProblem::new(format!("{at}.prices.{key}"), what, "");
            prices.check().map_err(|wrong| problems.extend(wrong.into_iter().map(of))).ok()
        });
        check_fallback(config, id, &profile.fallback, problems);
        let repair_attempts = profile.repair.map(|repair| repair.attempts);
        if let Some(what) = too_many(config, repair_attempts) {
            problems.push(ConfigProblem::new(format!("{at}.repair.attempts"), what, MORE_REPAIRS));
        }
        let (id, backend_id, model) = (id.clone(), profile.backend.clone(), profile.model.clone());
        let fallback = profile.fallback.clone();
        let own = OpenTo::of(profile.namespaces.as_deref()).unwrap_or_else(|what| {
            problems.push(ConfigProblem::new(format!("{at}.namespaces"), what, ""));
            OpenTo::default()
        });
        let open_to = open_to.get(&profile.backend).map_or(own.clone(), |backend| own.and(backend));
        let profile = Profile { id, backend_id, model, parameters, fallback, prices, repair_attempts, open_to };
        profiles.insert(profile.id.clone(), profile);
    }
    check_prices(&profiles, problems);
    profiles
}

/// What a call cost is told by its backend and model.
fn check_prices(profiles: &BTreeMap<String, Profile>, problems: &mut Vec<ConfigProblem>) {
    let mut known: BTreeMap<(&str, &str), (&str, &Prices)> = BTreeMap::new();
    for (id, profile) in profiles {
        let Some(prices) = &profile.prices else { continue };
        let (first, others) = known.entry((&profile.backend_id, &profile.model)).or_insert((id, prices));
        if *others != prices {
            let what = format!("differ from those of the profile `{first}`, which has the same backend and model");
            let remedy = format!("give `{first}` and `{id}` the same prices, or one of them none");
            problems.push(ConfigProblem::new(format!("profiles.{id}.prices"), what, remedy));
        }
    }
}

fn check_fallback(config: &Config, id: &str, fallback: &[String], problems: &mut Vec<ConfigProblem>) {
    let at = format!("profiles.{id}.fallback");
    let mut wrong = |what: String, remedy: &str| problems.push(ConfigProblem::new(&at, what, remedy));
    if fallback.len() > fallback::MAX {
        wrong(format!("has {} profiles: at most {} are taken", fallback.len(), fallback::MAX), "name fewer");
    }
    for (index, other) in fallback.iter().enumerate() {
        let backend = config.profiles.get(other).and_then(|profile| config.backends.get(&profile.backend));
        if other == id {
            wrong("names the profile itself".to_owned(), "take it out");
        } else if fallback.iter().take(index).any(|before| before == other) {
            wrong(format!("names `{other}` twice"), "");
        } else if !has_profile(config, other) {
            let known = config.profiles.keys().map(String::as_str);
            wrong(format!("there is no profile `{other}`{}", hint(other, known)), "");
        } else if backend.is_some_and(|backend| backend.kind == client::KIND) {
            wrong(format!("`{other}` has a backend of the kind `client`, whose calls the client makes"), "take it out");
        }
    }
}

fn contracts(config: &Config, base: &Path, problems: &mut Vec<ConfigProblem>) -> BTreeMap<String, ConfiguredContract> {
    let built_in = |(id, contract, description): (&str, Contract, &str)| {
        let (id, description) = (id.to_owned(), description.to_owned());
        (id.clone(), ConfiguredContract { id, description, contract, repair_attempts: None })
    };
    let mut contracts: BTreeMap<String, ConfiguredContract> = BUILT_IN.into_iter().map(built_in).collect();
    let mut add = |id: &str, at: &str, entry: Option<&ContractConfig>, text: String| {
        let wrong = |what: String| Some(ConfigProblem::new(at, what, ""));
        if let Err(what) = check_id(id) {
            return wrong(what);
        }
        if contracts.contains_key(id) {
            return wrong(format!("there is another contract `{id}`"));
        }
        let fits = bounded(&text, config.bounds.contract_schema, &config.bounds);
        let contract = Contract::JsonSchema { name: id.replace('.', "_"), schema_json: text };
        if let Err(problem) = fits.and_then(|()| Schemas::default().check(&contract)) {
            return wrong(format!("the schema is not usable: {problem}"));
        }
        let repair_attempts = entry.and_then(|entry| entry.repair).map(|repair| repair.attempts);
        let description = entry.map(|entry| entry.description.clone()).filter(|text| !text.is_empty());
        let description = description.unwrap_or_else(|| described(&contract));
        let id = id.to_owned();
        contracts.insert(id.clone(), ConfiguredContract { id, description, contract, repair_attempts });
        let what = too_many(config, repair_attempts)?;
        Some(ConfigProblem::new(format!("{at}.repair.attempts"), what, MORE_REPAIRS))
    };
    for (id, entry) in &config.contracts {
        let at = format!("contracts.{id}");
        match schema_of(entry, base) {
            Ok(text) => problems.extend(add(id, &at, Some(entry), text)),
            Err(_) if config.is_unread(&at) => {}
            Err(what) => problems.push(ConfigProblem::new(at, what, "")),
        }
    }
    for path in contract_files(config, base, problems) {
        let at = path.display().to_string();
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(CONTRACT_ENDING));
        match (name, file::read_text(&path)) {
            (Some(id), Ok(text)) => problems.extend(add(id, &at, None, text)),
            (_, Err(error)) => problems.push(ConfigProblem::new(at, error.to_string(), "")),
            (None, Ok(_)) => {}
        }
    }
    contracts
}

fn schema_of(entry: &ContractConfig, base: &Path) -> Result<String, String> {
    match (&entry.schema, &entry.schema_file) {
        (Some(text), None) => Ok(text.clone()),
        (None, Some(file)) => {
            let path = base.join(file);
            file::read_text(&path).map_err(|error| format!("{}: {error}", path.display()))
        }
        _ => Err("needs one of `schema` and `schema_file`".to_owned()),
    }
}

fn contract_files(config: &Config, base: &Path, problems: &mut Vec<ConfigProblem>) -> Vec<PathBuf> {
    let Some(folder) = config.contracts_dir.as_ref().map(|folder| base.join(folder)) else {
        return Vec::new();
    };
    match std::fs::read_dir(&folder) {
        Ok(entries) => {
            let is_contract = |path: &PathBuf| path.to_str().is_some_and(|name| name.ends_with(CONTRACT_ENDING));
            let mut paths: Vec<PathBuf> =
                entries.filter_map(Result::ok).map(|entry| entry.path()).filter(is_contract).collect();
            paths.sort();
            paths
        }
        Err(error) => {
            let remedy = "make the folder, or take `contracts_dir` out";
            problems.push(ConfigProblem::new("contracts_dir", format!("{}: {error}", folder.display()), remedy));
            Vec::new()
        }
    }
}

/// A schema's own description, else its title.
fn described(contract: &Contract) -> String {
    let Contract::JsonSchema { schema_json, .. } = contract else {
        return String::new();
    };
    let schema = parse_schema(schema_json).unwrap_or_default();
    let field = |key: &str| schema.get(key).and_then(serde_json::Value::as_str).map(str::to_owned);
    field("description").or_else(|| field("title")).unwrap_or_default()
}

#[cfg(test)]
mod tests;
