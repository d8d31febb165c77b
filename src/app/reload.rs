//! Reloading: what is configured is read anew and put in force as a whole, or not at all. Runs that have begun end with what they began with.
//! It must not know where a configuration is read.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::App;
use super::access::AUDIT;
use crate::domain::fault::{Fault, Reason};
use crate::engine::{Change, Engine, Setup};

/// Where the configuration comes from.
pub trait Configuration: Send + Sync {
    /// Reads it anew. Blocks.
    ///
    /// # Errors
    /// Every mistake at once, and each setting that only a restart changes.
    fn read(&self) -> Result<Setup, Vec<Mistake>>;
}

/// Nowhere: there is nothing to read anew.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

impl Configuration for Nowhere {
    fn read(&self) -> Result<Setup, Vec<Mistake>> {
        let message = "the server was started without a configuration file; start it with one to be able to reload it";
        Err(vec![Mistake { file: String::new(), place: String::new(), message: message.to_owned() }])
    }
}

/// A mistake in a configuration; without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file, with its line where that is known.
    pub file: String,
    /// Where in it; empty when it is about the whole.
    pub place: String,
    /// What is wrong and what to do.
    pub message: String,
}

/// What a reload did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reloaded {
    /// What was read is in force.
    pub applied: bool,
    /// What changed, or would.
    pub changes: Vec<Change>,
    /// All mistakes; with one, nothing changed.
    pub mistakes: Vec<Mistake>,
}

impl App {
    /// Reads the configuration anew and puts it in force; with `dry_run` it is only told what would change.
    ///
    /// # Errors
    /// Only when the server itself broke. A configuration with mistakes is an answer.
    pub async fn reload(&self, dry_run: bool) -> Result<Reloaded, Fault> {
        let (engine, configuration) = (Arc::clone(&self.engine), Arc::clone(&self.configuration));
        let reloading = spawn_blocking(move || reload(&engine, configuration.as_ref(), dry_run));
        let reloaded = reloading
            .await
            .map_err(|_| Fault::new(Reason::Internal, "reading the configuration broke; what was in force still is"))?;
        let (changes, mistakes) = (reloaded.changes.len(), reloaded.mistakes.len());
        if mistakes > 0 {
            for Mistake { file, place, message } in &reloaded.mistakes {
                tracing::warn!(file, place, mistake = message, "configuration.mistake");
            }
            tracing::warn!(target: AUDIT, mistakes, dry_run, "configuration.refused");
        } else {
            tracing::info!(target: AUDIT, changes, dry_run, "configuration.reloaded");
        }
        Ok(reloaded)
    }
}

fn reload(engine: &Engine, configuration: &dyn Configuration, dry_run: bool) -> Reloaded {
    match configuration.read() {
        Ok(next) if dry_run => Reloaded { applied: false, changes: engine.changes(&next), mistakes: Vec::new() },
        Ok(next) => Reloaded { applied: true, changes: engine.replace(next), mistakes: Vec::new() },
        Err(mistakes) => Reloaded { applied: false, changes: Vec::new(), mistakes },
    }
}
