//! The file that a server was started with, read anew while it serves. It must not put anything in force.

use std::path::PathBuf;
use std::sync::Arc;

use super::parts::{self, Furnished};
use crate::app::reload::{Configuration, Mistake};
use crate::domain::source::Clock;
use crate::engine::{ConfigProblem, Setup};
use crate::ops::config::{self, Config, Problem, Read, Source};
use crate::ops::environment::Environment;

/// A file of configuration, and what it said when the server was started.
pub struct ConfigFile {
    path: PathBuf,
    started: Config,
    said: toml::Table,
    environment: Arc<dyn Environment>,
    clock: Arc<dyn Clock>,
}

impl ConfigFile {
    /// The file at `source`, from which `started` was read.
    pub fn new(source: &Source, started: Config, environment: Arc<dyn Environment>, clock: Arc<dyn Clock>) -> Self {
        Self { path: source.path().to_owned(), said: source.table().clone(), started, environment, clock }
    }

    /// Settings that only a restart changes, where they are otherwise than when the server was started.
    fn fixed(&self, config: &Config, says: &toml::Table) -> Vec<ConfigProblem> {
        let (then, now) = (&self.started, config);
        let same = [
            ("server", then.server == now.server),
            ("store", then.store == now.store),
            ("log", then.log == now.log),
            ("traces", then.traces == now.traces),
            ("limits", then.limits == now.limits),
            ("access", then.access == now.access),
            ("tls", then.tls == now.tls),
        ];
        let changed = same.into_iter().filter(|(_, same)| !same).map(|(part, _)| part);
        changed.flat_map(|part| differing(part, &self.said, says)).map(fixed).collect()
    }
}

impl Configuration for ConfigFile {
    fn read(&self) -> Result<Setup, Vec<Mistake>> {
        let Read { config, source, mut mistakes } = config::read(&self.path).map_err(told)?;
        mistakes.extend(self.fixed(&config, source.table()));
        match parts::setup(&config, self.environment.as_ref(), &self.clock) {
            Ok(Furnished { setup, notes, .. }) if mistakes.is_empty() => {
                for note in notes {
                    tracing::warn!(note, "configuration.note");
                }
                Ok(setup)
            }
            Ok(_) => Err(told(source.problems(mistakes))),
            Err(found) => Err(told(source.problems([mistakes, found].concat()))),
        }
    }
}

/// Keys of a part that one text has otherwise than the other.
fn differing(part: &str, then: &toml::Table, now: &toml::Table) -> Vec<String> {
    let empty = toml::Table::new();
    let of = |all: &toml::Table| all.get(part).and_then(toml::Value::as_table).unwrap_or(&empty).clone();
    let (then, now) = (of(then), of(now));
    let mut keys: Vec<&String> = then.keys().chain(now.keys()).filter(|key| then.get(*key) != now.get(*key)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter().map(|key| format!("{part}.{key}")).collect()
}

fn fixed(key: String) -> ConfigProblem {
    let what = "is otherwise than when the server was started, and only a restart changes it";
    ConfigProblem::new(key, what, "restart the server, or put it back and reload")
}

fn told(problems: Vec<Problem>) -> Vec<Mistake> {
    let mistake = |Problem { file, line, place, message }: Problem| {
        let file = line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"));
        Mistake { file, place, message }
    };
    problems.into_iter().map(mistake).collect()
}
