//! The log: events of this program's own, for people or as JSON, on standard error. It must not know what is logged.

use std::io;

use serde::Deserialize;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::util::TryInitError;

/// Only this program's events: those of libraries are many, and may hold what passes through them.
const TARGET: &str = "antiphon";

/// How the log is written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// For people or for programs.
    pub format: Format,
    /// What is logged: `error`, `warn`, `info`, `debug`, `trace` or `off`.
    pub level: String,
}

/// How an event is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// A line for people.
    #[default]
    Pretty,
    /// A JSON object a line.
    Json,
}

/// The levels, from nothing to everything.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

impl Default for Config {
    fn default() -> Self {
        Self { format: Format::default(), level: "info".to_owned() }
    }
}

impl Config {
    /// What is wrong with it: the key, and what it must be.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        if LEVELS.contains(&self.level.as_str()) {
            return Vec::new();
        }
        vec![("level", format!("`{}` is no level; known are {}", self.level, LEVELS.join(", ")))]
    }

    fn filter(&self) -> EnvFilter {
        // The words were checked; where one is not, nothing is logged rather than too much.
        EnvFilter::new(format!("off,{TARGET}={}", self.level))
    }
}

/// Starts the log of this process.
///
/// # Errors
/// When the process has one already.
pub fn start(config: &Config, colours: bool) -> Result<(), TryInitError> {
    let registry = tracing_subscriber::registry().with(config.filter());
    match config.format {
        Format::Pretty => {
            let layer = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(colours).with_target(false);
            registry.with(layer).try_init()
        }
        Format::Json => {
            let layer = tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(io::stderr);
            registry.with(layer).try_init()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_a_word_of_the_list() {
        assert!(Config::default().problems().is_empty());
        let wrong = Config { level: "loud".into(), ..Config::default() };
        assert_eq!(wrong.problems()[0].0, "level");
        let injected = Config { level: "info,hyper=trace".into(), ..Config::default() };
        assert_eq!(injected.problems().len(), 1);
    }

    #[test]
    fn libraries_are_not_logged() {
        let filter = Config::default().filter().to_string();
        assert!(filter.contains("antiphon=info") && filter.contains("off"), "{filter}");
    }
}
