//! The configuration: one TOML file of which each component reads its own part. Here the parts are summed, the file is found, and every
//! mistake is named at once with its line. It must not know what a setting means to the component that has it.

mod locate;

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use self::locate::Lines;
use super::environment::{Environment, user_folder};
use super::telemetry::{self, traces};
use super::{access, tls};
use crate::app;
use crate::engine::{self, ConfigProblem, decode, file, unknown_key};

/// The file that is looked for.
pub const FILE_NAME: &str = "antiphon.toml";

/// Everything that is configured.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Where the server listens, and what it takes.
    pub server: ServerConfig,
    /// The store.
    pub store: StoreConfig,
    /// The log.
    pub log: telemetry::Config,
    /// The traces.
    pub traces: traces::Config,
    /// Who may call.
    pub access: access::Config,
    /// How connections are encrypted.
    pub tls: tls::Config,
    /// Limits of the verbs.
    pub limits: app::Limits,
    /// Profiles, backends, prompts and contracts.
    pub engine: engine::Config,
    /// The folder that relative paths start from.
    pub base: PathBuf,
}

/// Where the server listens, and what it takes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// The address to listen on. Port 0 takes any that is free.
    pub listen: SocketAddr,
    /// The folder of the store; the user's own for data when absent.
    pub data_dir: Option<PathBuf>,
    /// How long runs may take to finish when the server shuts down, in seconds.
    pub drain_grace_seconds: u64,
    /// Longest request, in bytes; a longer one is refused before it is read.
    pub max_message_bytes: usize,
    /// Requests at work on one connection; more wait.
    pub max_streams_per_connection: u32,
    /// Connections at once; more wait to be accepted.
    pub max_connections: usize,
    /// Minutes after which a connection without a call is closed; zero for never.
    pub idle_connection_minutes: u64,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 7373)),
            data_dir: None,
            drain_grace_seconds: 30,
            // Room for a few pictures.
            max_message_bytes: 32 << 20,
            max_streams_per_connection: 1_000,
            max_connections: 10_000,
            // Longer than pools of clients keep one.
            idle_connection_minutes: 60,
        }
    }
}

impl ServerConfig {
    /// How long a connection without a call is kept; for ever when absent.
    pub fn idle_connection(&self) -> Option<Duration> {
        let minutes = self.idle_connection_minutes;
        (minutes > 0).then(|| Duration::from_secs(minutes.saturating_mul(60)))
    }

    /// How long runs may take to finish.
    pub fn drain_grace(&self) -> Duration {
        Duration::from_secs(self.drain_grace_seconds)
    }
}

/// The store.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreConfig {
    /// Memory for pages, in MiB. The process takes more: about 45 MiB for a million keys.
    pub cache_mebibytes: u64,
    /// Memory for exchanges that were read, in MiB; none when zero.
    pub exchange_cache_mebibytes: u64,
    /// Writes are refused while less than this is free on the disk, in MiB; zero turns it off.
    pub min_free_mebibytes: u64,
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self { cache_mebibytes: 256, exchange_cache_mebibytes: 32, min_free_mebibytes: 64 }
    }
}

/// A mistake with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file; empty when it is about no file.
    pub file: String,
    /// The line, counted from 1, where it is known.
    pub line: Option<usize>,
    /// The key, or another place inside; empty when it is about the whole.
    pub place: String,
    /// What is wrong and what to do.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}:", self.file)?;
            self.line.map_or(Ok(()), |line| write!(f, "{line}:"))?;
            f.write_str(" ")?;
        }
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.message)
    }
}

/// A file of configuration with its text.
#[derive(Clone, Debug)]
pub struct Source {
    path: PathBuf,
    lines: Lines,
    table: toml::Table,
}

impl Source {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says.
    pub fn table(&self) -> &toml::Table {
        &self.table
    }

    /// Mistakes of a component with their lines.
    pub fn problems(&self, found: Vec<ConfigProblem>) -> Vec<Problem> {
        let mut problems: Vec<Problem> = found.into_iter().map(|problem| self.problem(problem)).collect();
        problems.sort_by_key(|problem| problem.line.unwrap_or(usize::MAX));
        problems
    }

    fn problem(&self, problem: ConfigProblem) -> Problem {
        let message = told(&problem);
        match self.lines.of_key(&problem.at) {
            Some(line) => {
                Problem { file: self.path.display().to_string(), line: Some(line), place: problem.at, message }
            }
            // Prompts and contracts are files of their own, which the place names.
            None => Problem { file: String::new(), line: None, place: problem.at, message },
        }
    }
}

/// Mistakes of a component where there is no file.
pub fn without_file(found: Vec<ConfigProblem>) -> Vec<Problem> {
    let problem = |problem: ConfigProblem| Problem {
        file: String::new(),
        line: None,
        message: told(&problem),
        place: problem.at,
    };
    found.into_iter().map(problem).collect()
}

fn told(problem: &ConfigProblem) -> String {
    let remedy = if problem.remedy.is_empty() { String::new() } else { format!("; {}", problem.remedy) };
    format!("{}{remedy}", problem.what)
}

/// The file to read: the one that was named, else that of this folder, else the user's; absent when there is none.
///
/// # Errors
/// When the one that was named is not there.
pub fn find(named: Option<&Path>, here: &Path, environment: &dyn Environment) -> Result<Option<PathBuf>, Problem> {
    if let Some(path) = named {
        return match path.exists() {
            true => Ok(Some(path.to_owned())),
            false => Err(Problem {
                file: path.display().to_string(),
                line: None,
                place: String::new(),
                message: "there is no such file".to_owned(),
            }),
        };
    }
    let users = user_folder(environment, "XDG_CONFIG_HOME", ".config").map(|folder| folder.join("antiphon"));
    let candidates = [Some(here.to_owned()), users].into_iter().flatten().map(|folder| folder.join(FILE_NAME));
    // One that is there and is no file is told as what it is, rather than done without.
    Ok(candidates.into_iter().find(|path| path.exists()))
}

/// Where the store is when nobody says otherwise; absent when the user has no home.
pub fn default_data_dir(environment: &dyn Environment) -> Option<PathBuf> {
    user_folder(environment, "XDG_DATA_HOME", ".local/share").map(|folder| folder.join("antiphon"))
}

/// A configuration as far as it could be read.
#[derive(Clone, Debug)]
pub struct Read {
    /// What could be read; the rest is as if it was absent.
    pub config: Config,
    /// Where it came from.
    pub source: Source,
    /// Every mistake that the text alone shows.
    pub mistakes: Vec<ConfigProblem>,
}

/// Reads a file as far as it can be, so that what comes of it can be checked as well.
///
/// # Errors
/// When it cannot be read, or is no TOML: then with every mistake of form.
pub fn read(path: &Path) -> Result<Read, Vec<Problem>> {
    let text = file::read_text(path).map_err(|error| {
        let other = if file::is_refused(&error) { "; --config FILE names another" } else { "" };
        let message = format!("cannot be read: {error}{other}");
        vec![Problem { file: path.display().to_string(), line: None, place: String::new(), message }]
    })?;
    read_text(&text, path)
}

/// Reads a text that came from a file.
///
/// # Errors
/// Every mistake that the text alone shows.
pub fn parse(text: &str, path: &Path) -> Result<(Config, Source), Vec<Problem>> {
    let Read { config, source, mistakes } = read_text(text, path)?;
    if mistakes.is_empty() { Ok((config, source)) } else { Err(source.problems(mistakes)) }
}

fn read_text(text: &str, path: &Path) -> Result<Read, Vec<Problem>> {
    let file = path.display().to_string();
    let lines = Lines::read(text).map_err(|mistakes| {
        let problem = |(line, message)| Problem { file: file.clone(), line, place: String::new(), message };
        mistakes.into_iter().map(problem).collect::<Vec<_>>()
    })?;
    let table = text.parse::<toml::Table>().map_err(|error| {
        let message = error.message().to_owned();
        vec![Problem { file: file.clone(), line: None, place: String::new(), message }]
    })?;
    let source = Source { path: path.to_owned(), lines, table: table.clone() };
    let base = path.parent().map(Path::to_owned).unwrap_or_default();
    let (config, mistakes) = sum(table, base);
    Ok(Read { config, source, mistakes })
}

/// Gives each component its part.
fn sum(table: toml::Table, base: PathBuf) -> (Config, Vec<ConfigProblem>) {
    let mut config = Config { base, ..Config::default() };
    let mut problems = Vec::new();
    let mut engine = toml::Table::new();
    for (key, value) in table {
        match key.as_str() {
            "server" => part(&key, value, &mut config.server, &mut problems),
            "store" => part(&key, value, &mut config.store, &mut problems),
            "log" => part(&key, value, &mut config.log, &mut problems),
            "traces" => part(&key, value, &mut config.traces, &mut problems),
            "limits" => part(&key, value, &mut config.limits, &mut problems),
            "access" => part(&key, value, &mut config.access, &mut problems),
            "tls" => part(&key, value, &mut config.tls, &mut problems),
            _ if engine::Config::KEYS.contains(&key.as_str()) => {
                engine.insert(key, value);
            }
            unknown => {
                let ours = ["server", "store", "log", "traces", "limits", "access", "tls"];
                let known = [&ours[..], &engine::Config::KEYS].concat();
                problems.push(unknown_key("", unknown, &known));
            }
        }
    }
    let (engine, found) = engine::Config::read(engine);
    config.engine = engine;
    config.engine.bounds = config.limits.bounds();
    problems.extend(found);
    let of = |part: &'static str| {
        move |(key, what): (&'static str, String)| ConfigProblem::new(format!("{part}.{key}"), what, "")
    };
    problems.extend(config.limits.problems().into_iter().map(of("limits")));
    problems.extend(config.log.problems().into_iter().map(of("log")));
    problems.extend(config.traces.problems().into_iter().map(of("traces")));
    let of_access = |(key, what)| ConfigProblem::new(format!("access.{key}"), what, "");
    problems.extend(config.access.problems().into_iter().map(of_access));
    problems.extend(config.tls.problems().into_iter().map(of("tls")));
    (config, problems)
}

/// Reads a component's table.
fn part<T: serde::de::DeserializeOwned>(
    name: &str,
    value: toml::Value,
    slot: &mut T,
    problems: &mut Vec<ConfigProblem>,
) {
    if !value.is_table() {
        problems.push(ConfigProblem::new(name, "must be a table", format!("write `[{name}]`")));
        return;
    }
    let (read, mistakes) = decode(name, value, &[]);
    problems.extend(mistakes);
    if let Some(read) = read {
        *slot = read;
    }
}

#[cfg(test)]
mod tests;
