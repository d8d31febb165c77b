//! `antiphon check`: reads the configuration as a server would and tells every mistake. It must not start anything.

use std::path::PathBuf;
use std::sync::Arc;

use super::Context;
use super::failure::Failure;
use super::serve::{refused, settings};
use super::terminal::Style;
use super::words;
use crate::domain::source::Clock;
use crate::engine::Setup;
use crate::ops::app::Furnished;
use crate::ops::doctor::{self, Verdict};
use crate::ops::source::SystemClock;

/// What can be typed after `check`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    /// The configuration; else the one that `serve` would use
    #[arg(long, short = 'c', value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Checks.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let settings = settings(arguments.config, context.environment)
        .await
        .map_err(|problems| refused(&problems, context.terminal))?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let Furnished { setup, notes, .. } =
        settings.setup(context.environment, &clock).map_err(|problems| refused(&problems, context.terminal))?;
    if let Some(error) = settings.config.log.cannot_audit(&settings.config.base) {
        return Err(Failure::here(format!("log.audit_file: {error}"), error.remedy()));
    }
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        let catalog = setup.catalog();
        let summary = serde_json::json!({
            "problems": [],
            "notes": ([&settings.said[..], &notes].concat()),
            "profiles": catalog.profiles.keys().collect::<Vec<_>>(),
            "backends": setup.backends().map(|backend| backend.id).collect::<Vec<_>>(),
            "prompts": catalog.prompts.keys().collect::<Vec<_>>(),
            "contracts": catalog.contracts.keys().collect::<Vec<_>>(),
            "defaultProfile": catalog.default_profile,
        });
        return Ok(terminal.line(&format!("{summary:#}"))?);
    }
    let callers = doctor::callers(&settings.config);
    let refuses = (callers.verdict == Verdict::Bad).then(|| format!("{}: {}", callers.what, callers.remedy));
    for note in settings.said.iter().chain(&notes).chain(&refuses) {
        let note = terminal.paint_err(Style::Dim, note);
        terminal.note(&note)?;
    }
    let verdict = terminal.paint(Style::Good, "no mistakes");
    Ok(terminal.line(&format!("{verdict}: {}", summary(&setup)))?)
}

/// What is configured, in a line.
fn summary(setup: &Setup) -> String {
    let catalog = setup.catalog();
    let default = match &catalog.default_profile {
        Some(id) => format!("default profile {id}"),
        None => "no default profile".to_owned(),
    };
    let count = |count: usize, what: &str| words::count(u64::try_from(count).unwrap_or(u64::MAX), what);
    [
        count(catalog.profiles.len(), "profile"),
        count(setup.backends().count(), "backend"),
        count(catalog.prompts.len(), "prompt"),
        count(catalog.contracts.len(), "contract"),
        default,
    ]
    .join(", ")
}
