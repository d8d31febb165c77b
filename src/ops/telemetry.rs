//! The log: events of this program's own, for people or as JSON, on standard error; the audit log, which has a file of its own; and the traces
//! beside them. It must not know what is logged.

mod audit;
pub mod traces;

use std::io;
use std::path::{Path, PathBuf};

use opentelemetry_otlp::ExporterBuildError;
use serde::Deserialize;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{EnvFilter, Layer};

use self::audit::AuditFile;
use self::traces::Traces;
use super::environment::Environment;
use crate::app::access::AUDIT;

/// Only this program's events: those of libraries are many, and may hold what passes through them.
const TARGET: &str = "antiphon";
/// Spans and events that are for traces.
const TRACED: &str = "antiphon::trace";
/// What sends traces. That it cannot is worth a line; it says nothing of what is in them.
const EXPORT: &str = "opentelemetry=warn,opentelemetry_sdk=warn,opentelemetry-otlp=warn,opentelemetry_otlp=warn";

/// How the log is written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// For people or for programs.
    pub format: Format,
    /// What is logged: `error`, `warn`, `info`, `debug`, `trace` or `off`.
    pub level: String,
    /// A file to which what is done to the store as a whole, and who may do it, is written as well, a JSON object a line; relative to the
    /// configuration. It is only ever added to.
    pub audit_file: Option<PathBuf>,
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
        Self { format: Format::default(), level: "info".to_owned(), audit_file: None }
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

    /// Why its audit log cannot be written, from the folder `base`. A file that is not there is not left behind.
    pub fn cannot_audit(&self, base: &Path) -> Option<Error> {
        let file = base.join(self.audit_file.as_ref()?);
        let was_there = file.exists();
        match audit::open(&file) {
            Ok(_) if was_there => None,
            Ok(_) => std::fs::remove_file(&file).err().map(|cause| Error::Audit { file, cause }),
            Err(cause) => Some(Error::Audit { file, cause }),
        }
    }

    fn filter(&self) -> EnvFilter {
        // The words were checked; where one is not, nothing is logged rather than too much.
        let export = if self.level == "off" { "off" } else { EXPORT };
        EnvFilter::new(format!("off,{TARGET}={},{export}", self.level))
    }
}

/// Why there is no log, or are no traces.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The process has a log already.
    #[error("{0}")]
    Log(#[from] TryInitError),
    /// The audit log cannot be written.
    #[error("{}: {cause}", file.display())]
    Audit {
        /// The file.
        file: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// Traces cannot go where they are to go.
    #[error("traces cannot be sent: {0}")]
    Traces(#[from] ExporterBuildError),
}

impl Error {
    /// What to do.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Log(_) => "",
            Self::Audit { .. } => {
                "name another `audit_file` under `[log]`, in a folder that is there and that the server may write"
            }
            Self::Traces(_) => "mend `[traces]` or the environment's OTEL_EXPORTER_OTLP_ENDPOINT",
        }
    }
}

/// Starts the log of this process, and its traces where they are configured. Within a runtime.
///
/// # Errors
/// When the process has a log already, or traces cannot go where they are to go.
pub fn start(
    config: &Config,
    base: &Path,
    traces: &traces::Config,
    environment: &dyn Environment,
    colours: bool,
) -> Result<Option<Traces>, Error> {
    let traces = Traces::open(traces, environment)?;
    let sent = traces.as_ref().map(|traces| {
        let spans = Targets::new().with_target(TARGET, LevelFilter::INFO).with_target(TRACED, LevelFilter::DEBUG);
        tracing_opentelemetry::layer()
            .with_tracer(traces.tracer())
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(spans)
    });
    let log = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let log = match config.format {
        Format::Pretty => log.with_ansi(colours).with_target(false).boxed(),
        Format::Json => log.json().flatten_event(true).boxed(),
    };
    let audit = config.audit_file.as_ref().map(|file| {
        let file = base.join(file);
        AuditFile::open(&file, config.format).map_err(|cause| Error::Audit { file, cause })
    });
    let audit = audit.transpose()?.map(|file| {
        let audit = tracing_subscriber::fmt::layer().with_writer(file).json().flatten_event(true);
        audit.with_filter(Targets::new().with_target(AUDIT, LevelFilter::INFO))
    });
    let log = log.with_filter(config.filter());
    tracing_subscriber::registry().with(sent).with(audit).with(log).try_init()?;
    Ok(traces)
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
