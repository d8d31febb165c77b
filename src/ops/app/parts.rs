//! The parts of a server that come out of its configuration: each backend by its kind, all of them with the catalog, the limits to tell. It must not open
//! anything that has to be closed again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use secrecy::SecretString;

use super::locks::Locks;
use crate::app::Limits;
use crate::app::reload::Mistake;
use crate::domain::id::Hash;
use crate::domain::source::Clock;
use crate::engine::backend::wire;
use crate::engine::backend::{Backend, client, scripted};
use crate::engine::{AsFarAsRead, BackendConfig, Catalog, ConfigProblem, DIALECTS, Opened, Setup, file};
use crate::ops::config::{Config, ServerConfig};
use crate::ops::environment::Environment;

/// What is configured, with what is to be known of it that is no mistake.
pub struct Furnished {
    /// What is configured.
    pub setup: Setup,
    /// What lets callers in.
    pub locks: Locks,
    /// Things to know, a sentence each.
    pub notes: Vec<String>,
}

/// Reads prompts and contracts, makes the backends, and brings them together.
///
/// Called as well with a configuration of which a part could not be read: the rest is checked all the same.
///
/// # Errors
/// Every mistake at once.
pub fn setup(
    config: &Config,
    environment: &dyn Environment,
    clock: &Arc<dyn Clock>,
) -> Result<Furnished, Vec<ConfigProblem>> {
    let mut problems = Vec::new();
    let mut notes = Vec::new();
    let mut backends = BTreeMap::new();
    for (id, backend_config) in &config.engine.backends {
        let surroundings = Surroundings { base: &config.base, environment, clock };
        match backend(id, backend_config, &surroundings, &mut notes) {
            Ok(Some((backend, key))) => {
                let (limits, configuration) = (backend_config.limits.clone(), Some(backend_config.hash()));
                backends.insert(id.clone(), Opened { backend, limits, configuration, key });
            }
            // The catalog says what is wrong with the kind.
            Ok(None) => {}
            Err(found) => problems.extend(found),
        }
    }
    let locks = Locks::read(config, &config.base, clock).map_err(|mistakes| {
        problems.extend(mistakes.into_iter().map(|Mistake { file, place, message }| {
            let at = if place.is_empty() { file } else { format!("{file}: {place}") };
            ConfigProblem::new(at, message, "")
        }));
    });
    let catalog = match Catalog::load(&config.engine, &config.base) {
        Ok(catalog) if problems.is_empty() => catalog,
        Ok(_) => return Err(problems),
        Err(found) => return Err([problems, found].concat()),
    };
    match locks {
        Ok(locks) => {
            let setup = Setup::new(catalog, backends)?;
            notes.extend(locks.unpriced(&setup));
            Ok(Furnished { setup, locks, notes })
        }
        Err(()) => Err(problems),
    }
}

/// What a backend takes from around it.
struct Surroundings<'a> {
    base: &'a Path,
    environment: &'a dyn Environment,
    clock: &'a Arc<dyn Clock>,
}

/// A backend, and the hash of its key where it has one.
type WithKey = (Arc<dyn Backend>, Option<Hash>);

/// A backend by its kind; none for a kind that there is not.
fn backend(
    id: &str,
    config: &BackendConfig,
    around: &Surroundings<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<WithKey>, Vec<ConfigProblem>> {
    match config.kind.as_str() {
        client::KIND => {
            let settings = config.settings(id)?;
            Ok(Some((Arc::new(client::Client::new(settings)), None)))
        }
        "scripted" => Ok(Some((scripted(id, config)?, None))),
        kind => match DIALECTS.iter().find(|dialect| dialect.kind == kind) {
            Some(dialect) => spoken(id, (dialect.read)(config, id), around, notes).map(Some),
            None => Ok(None),
        },
    }
}

fn scripted(id: &str, config: &BackendConfig) -> Result<Arc<dyn Backend>, Vec<ConfigProblem>> {
    let (settings, mut problems) = config.read_settings::<scripted::Config>(id);
    problems.extend(named(id, settings.as_ref().map(scripted::Config::problems).unwrap_or_default()));
    match settings {
        Some(settings) if problems.is_empty() => Ok(Arc::new(scripted::Scripted::new(settings))),
        _ => Err(problems),
    }
}

/// A backend of any dialect, with its key.
fn spoken(
    id: &str,
    (settings, mut problems): AsFarAsRead,
    around: &Surroundings<'_>,
    notes: &mut Vec<String>,
) -> Result<WithKey, Vec<ConfigProblem>> {
    let Some(mut settings) = settings else { return Err(problems) };
    let key = match (settings.api_key_env(), settings.api_key_file()) {
        (Some(variable), _) => {
            let key = around.environment.var(variable);
            if key.is_none() {
                notes.push(format!(
                    "backend `{id}`: {variable} is not set, so each call must bring a credential of its own"
                ));
                // Told as what it is, instead of as the provider's 401.
                settings.require_credential();
            }
            key
        }
        (None, Some(file)) => {
            let path = around.base.join(file);
            match file::read_text(&path) {
                Ok(text) => Some(text.trim().to_owned()),
                Err(error) => {
                    let what = format!("{}: {error}", path.display());
                    problems.push(ConfigProblem::new(format!("backends.{id}.api_key_file"), what, ""));
                    None
                }
            }
        }
        (None, None) => None,
    };
    let hash = key.as_ref().map(|key| Hash::of(key.as_bytes()));
    let clock = Arc::clone(around.clock);
    match settings.open(key.map(SecretString::from), Arc::new(move || clock.now())) {
        Ok(backend) if problems.is_empty() => return Ok((backend, hash)),
        Ok(_) => {}
        Err(wire::Error::Config(found)) => problems.extend(named(id, found)),
        Err(error @ wire::Error::Connections(_)) => {
            problems.push(ConfigProblem::new(format!("backends.{id}"), error.to_string(), ""));
        }
    }
    Err(problems)
}

fn named<K: AsRef<str>>(id: &str, problems: Vec<(K, String)>) -> Vec<ConfigProblem> {
    let problem = |(key, what): (K, String)| ConfigProblem::new(format!("backends.{id}.{}", key.as_ref()), what, "");
    problems.into_iter().map(problem).collect()
}

/// The limits that hold for as long as the server runs: name in the configuration, value, unit.
pub(super) fn limits(server: &ServerConfig, limits: &Limits) -> Vec<(&'static str, u64, &'static str)> {
    let size = |value: usize| u64::try_from(value).unwrap_or(u64::MAX);
    let bounds = limits.bounds().all().into_iter().filter_map(|most| Some((most.key?, size(most.max), most.unit)));
    let mut told = vec![
        ("max_message_bytes", size(server.max_message_bytes), "bytes"),
        ("max_streams_per_connection", server.max_streams_per_connection.into(), "count"),
        ("max_connections", size(server.max_connections), "count"),
        ("idle_connection_minutes", server.idle_connection_minutes, "minutes"),
        ("max_history_exchanges", limits.max_history_exchanges, "count"),
        ("max_history_bytes", size(limits.max_history_bytes), "bytes"),
        ("max_runs", size(limits.max_runs), "count"),
        ("max_remembered_results", size(limits.max_remembered_results), "count"),
        ("max_remembered_bytes", size(limits.max_remembered_bytes), "bytes"),
        ("max_page_bytes", size(limits.max_page_bytes), "bytes"),
        ("max_workspace_documents", limits.max_workspace_documents, "count"),
        ("max_workspace_bytes", limits.max_workspace_bytes, "bytes"),
        ("max_document_bytes", limits.max_document_bytes, "bytes"),
        ("max_queued_per_thread", size(limits.max_queued_per_thread), "count"),
        ("max_coordination_streams", size(limits.max_coordination_streams), "count"),
        ("coordination_expiry_hours", limits.coordination_expiry_hours, "hours"),
        ("prepared_expiry_minutes", limits.prepared_expiry_minutes, "minutes"),
        ("max_prepared_hours", limits.max_prepared_hours, "hours"),
        ("coordination_heartbeat_seconds", limits.coordination_heartbeat_seconds, "seconds"),
        ("coordination_patience_seconds", limits.coordination_patience_seconds, "seconds"),
    ];
    told.extend(bounds);
    told
}
