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
use self::use_of::Uses;
use crate::app::access::{AUDIT, AtWork, CallKind, Door, Limits, OpenDoor, Opens, Pass, Principal};
use crate::app::reload::Mistake;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::Namespace;
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
    pub fn problems(&self) -> Vec<(String, String)> {
        let jwt = self.jwt.as_ref().map(jwt::Config::problems).unwrap_or_default();
        let mut problems: Vec<_> = jwt.into_iter().map(|(key, what)| (key.to_owned(), what)).collect();
        if self.limits != Limits::default() && !self.asks() {
            problems.push((
                "limits".to_owned(),
                "are of keys and tokens: give `keys_file` or `[access.jwt]` as well".to_owned(),
            ));
        }
        if self.keys_file.as_ref().is_some_and(|file| file.as_os_str().is_empty()) {
            problems.push(("keys_file".to_owned(), "must not be empty".to_owned()));
        }
        problems.extend(self.limits.problems().into_iter().map(|(key, what)| (format!("limits.{key}"), what)));
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
    let mut mistakes = Vec::new();
    let keys = config.keys_file.as_ref().map(|file| base.join(file));
    let ring = keys.as_deref().map(|file| KeyRing::read(file, &config.limits));
    let tokens = config.jwt.as_ref().map(|jwt| jwt::Tokens::read(jwt, base, &config.limits));
    let (ring, tokens) = (taken(ring, &mut mistakes), taken(tokens, &mut mistakes));
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    Ok(Arc::new(Guard {
        keys,
        base: base.to_owned(),
        limits: config.limits.clone(),
        ring: ArcSwap::from_pointee(ring.unwrap_or_default()),
        tokens: ArcSwap::from_pointee(tokens),
        uses: Uses::default(),
        clock: Arc::clone(clock),
    }))
}

/// What was read, if it was to be and could be; its mistakes go to the others.
fn taken<T>(read: Option<Result<T, Vec<Mistake>>>, mistakes: &mut Vec<Mistake>) -> Option<T> {
    read?.map_err(|found| mistakes.extend(found)).ok()
}

/// A door at which credentials are asked for.
struct Guard {
    /// The file of keys.
    keys: Option<PathBuf>,
    /// Where paths start that are relative.
    base: PathBuf,
    /// Of each credential that has none of its own.
    limits: Limits,
    /// What the file of keys said last.
    ring: ArcSwap<KeyRing>,
    /// The keys that sign tokens, where tokens are taken.
    tokens: ArcSwap<Option<jwt::Tokens>>,
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
        let now = self.clock.now();
        let principal = match &**self.tokens.load() {
            Some(tokens) if !credential.starts_with(keys::PREFIX) => tokens.admit(credential, now).map(Arc::new),
            _ => self.ring.load().admit(credential, now),
        };
        principal.ok_or_else(unknown)
    }

    fn enter(&self, principal: &Principal, kind: CallKind) -> Result<Pass, Fault> {
        let pass = self.uses.enter(principal, kind)?;
        let revoked = self.ring.load().revoked(&principal.name);
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

    fn named(&self, credential: &str) -> String {
        keys::id_of(credential).unwrap_or_default().to_owned()
    }

    fn at_work(&self, only: Option<&Namespace>) -> Vec<AtWork> {
        let (mut all, ring) = (self.uses.at_work(), self.ring.load());
        // A key has the limits that it has now.
        for used in all.iter_mut().filter(|used| !jwt::names(&used.principal.name)) {
            let limits = ring.principal(&used.principal.name).map(|now| now.limits.clone());
            used.principal.limits = limits.unwrap_or_default();
        }
        // Those of which nothing was seen yet.
        for principal in ring.limited() {
            if !all.iter().any(|used| used.principal.name == principal.name) {
                all.push(AtWork { principal: principal.clone(), calls: 0, lately: 0, streams: 0, coordinations: 0 });
            }
        }
        all.retain(|used| match (&used.principal.opens, only) {
            (Opens::One(own), Some(only)) => own == only,
            (_, only) => only.is_none(),
        });
        all.sort_by(|a, b| a.principal.name.cmp(&b.principal.name));
        all
    }

    fn refresh(&self) -> Result<bool, Vec<Mistake>> {
        let (mut changed, mut mistakes) = (false, Vec::new());
        match self.keys.as_deref().map(|file| self.ring.load().again(file, &self.limits)) {
            Some(Ok(mut ring)) if ring != **self.ring.load() => {
                ring.goes_on_from(&self.ring.load());
                let ring = Arc::new(ring);
                let before = self.ring.swap(Arc::clone(&ring));
                for (what, id) in ring.since(&before) {
                    tracing::info!(target: AUDIT, key = id, "{what}");
                }
                changed = true;
            }
            Some(Err(found)) => mistakes.extend(found),
            Some(Ok(_)) | None => {}
        }
        if let Some(before) = &**self.tokens.load() {
            let (tokens, found) = before.again(&self.base);
            mistakes.extend(found);
            if tokens != *before {
                tracing::info!(target: AUDIT, "token_keys.changed");
                self.tokens.store(Arc::new(Some(tokens)));
                changed = true;
            }
        }
        if mistakes.is_empty() { Ok(changed) } else { Err(mistakes) }
    }
}

#[cfg(test)]
mod tests;
