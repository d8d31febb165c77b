//! The door of a server: whose credentials it knows, from a file of keys and from keys that sign tokens. It must not know what a credential
//! is needed for.

mod jwt;
pub mod keys;
mod use_of;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use serde::Deserialize;

use self::keys::KeyRing;
pub use self::use_of::Limits;
use self::use_of::Uses;
use crate::app::access::{AUDIT, Door, OpenDoor, Pass, Principal};
use crate::app::reload::Mistake;
use crate::domain::fault::{Fault, Reason};
use crate::domain::source::Clock;

/// Who may call; everybody who reaches the server where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The file of keys, which `antiphon keys` writes; relative to the configuration.
    pub keys_file: Option<PathBuf>,
    /// Tokens that somebody else signs.
    pub jwt: Option<jwt::Config>,
    /// Limits of each credential that has none of its own.
    pub limits: Limits,
}

impl Config {
    /// Whether callers have to show anything.
    pub fn asks(&self) -> bool {
        self.keys_file.is_some() || self.jwt.is_some()
    }

    /// What is wrong with it: the key and the mistake.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = self.jwt.as_ref().map(jwt::Config::problems).unwrap_or_default();
        if self.limits != Limits::default() && !self.asks() {
            problems.push(("limits", "are of keys and tokens: give `keys_file` or `[access.jwt]` as well".to_owned()));
        }
        if self.keys_file.as_ref().is_some_and(|file| file.as_os_str().is_empty()) {
            problems.push(("keys_file", "must not be empty".to_owned()));
        }
        let limits = self.limits.problems().into_iter();
        problems.extend(limits.map(|(key, what)| match key {
            "calls_at_once" => ("limits.calls_at_once", what),
            _ => ("limits.calls_per_second", what),
        }));
        problems
    }
}

/// The door of a configuration, whose relative paths start from `base`.
///
/// # Errors
/// Every mistake in the files that it names.
pub fn door(config: &Config, base: &Path, clock: &Arc<dyn Clock>) -> Result<Arc<dyn Door>, Vec<Mistake>> {
    if !config.asks() {
        return Ok(Arc::new(OpenDoor::default()));
    }
    let sources = Sources {
        keys: config.keys_file.as_ref().map(|file| base.join(file)),
        jwt: config.jwt.clone().map(|jwt| (jwt, base.to_owned())),
    };
    let known = sources.read()?;
    let (limits, uses) = (config.limits, Uses::default());
    Ok(Arc::new(Guard { sources, known: ArcSwap::from_pointee(known), limits, uses, clock: Arc::clone(clock) }))
}

/// Where what a guard knows is read.
struct Sources {
    keys: Option<PathBuf>,
    jwt: Option<(jwt::Config, PathBuf)>,
}

/// What a guard knows.
#[derive(PartialEq)]
struct Known {
    keys: KeyRing,
    tokens: Option<jwt::Tokens>,
}

impl Sources {
    fn read(&self) -> Result<Known, Vec<Mistake>> {
        let mut mistakes = Vec::new();
        let keys = match self.keys.as_deref().map(KeyRing::read) {
            Some(Ok(keys)) => keys,
            Some(Err(found)) => {
                mistakes.extend(found);
                KeyRing::default()
            }
            None => KeyRing::default(),
        };
        let tokens = match self.jwt.as_ref().map(|(config, base)| jwt::Tokens::read(config, base)) {
            Some(Ok(tokens)) => Some(tokens),
            Some(Err(found)) => {
                mistakes.extend(found);
                None
            }
            None => None,
        };
        if mistakes.is_empty() { Ok(Known { keys, tokens }) } else { Err(mistakes) }
    }
}

/// A door at which credentials are asked for.
struct Guard {
    sources: Sources,
    known: ArcSwap<Known>,
    limits: Limits,
    uses: Uses,
    clock: Arc<dyn Clock>,
}

/// What was wrong with it is never told.
fn unknown() -> Fault {
    let message = "the credential is not one that this server takes: it is unknown, was revoked, or has expired; get a new one from \
                   whoever runs the server";
    Fault::new(Reason::Unauthenticated, message)
}

impl Door for Guard {
    fn admit(&self, credential: Option<&str>) -> Result<Arc<Principal>, Fault> {
        let Some(credential) = credential else {
            let message = "this server asks who calls: send a key as the metadata `authorization: Bearer KEY`; whoever runs the server \
                           makes one with `antiphon keys create`";
            return Err(Fault::new(Reason::Unauthenticated, message));
        };
        let (known, now) = (self.known.load(), self.clock.now());
        let principal = match &known.tokens {
            Some(tokens) if !credential.starts_with(keys::PREFIX) => tokens.admit(credential, now).map(Arc::new),
            _ => known.keys.admit(credential, now),
        };
        principal.ok_or_else(unknown)
    }

    fn enter(&self, principal: &Principal) -> Result<Pass, Fault> {
        let known = self.known.load();
        let own = known.keys.limits(&principal.name);
        let pass = self.uses.enter(principal, own.or(self.limits))?;
        let revoked = known.keys.revoked(&principal.name);
        let left = principal.expires.map(|at| Duration::from_millis(at.0.saturating_sub(self.clock.now().0)));
        if revoked.is_none() && !jwt::names(&principal.name) {
            // It was taken back since it was looked at: nothing would end this call any more.
            return Err(unknown());
        }
        Ok(pass.until(async move {
            let revoked = async {
                match revoked {
                    Some(revoked) => revoked.cancelled().await,
                    None => std::future::pending().await,
                }
            };
            match left {
                Some(left) => drop(tokio::time::timeout(left, revoked).await),
                None => revoked.await,
            }
        }))
    }

    fn refresh(&self) -> Result<bool, Vec<Mistake>> {
        let mut known = self.sources.read()?;
        let changed = known != **self.known.load();
        if changed {
            known.keys.goes_on_from(&self.known.load().keys);
            let known = Arc::new(known);
            let before = self.known.swap(Arc::clone(&known));
            for (what, id) in known.keys.since(&before.keys) {
                tracing::info!(target: AUDIT, key = id, "{what}");
            }
        }
        Ok(changed)
    }
}

#[cfg(test)]
mod tests;
