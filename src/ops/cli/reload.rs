//! `antiphon reload`: has the server read its configuration anew. It must not read it itself.

use super::Context;
use super::failure::Failure;
use super::table::Table;
use super::words;
use crate::grpc::pb;

/// What can be typed after `reload`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    /// Tell what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Reloads, and shows what changed.
pub(super) async fn run(Arguments { dry_run }: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let remote = context.remote().await?;
    let request = pb::ReloadRequest { dry_run };
    let call = async { Ok(remote.admin().reload(remote.request(request)).await?.into_inner()) };
    let response = remote.within(call).await?;
    let terminal = &mut *context.terminal;
    let failed = match response.problems.len() {
        0 => None,
        count => {
            let mistakes = words::count(u64::try_from(count).unwrap_or(u64::MAX), "mistake");
            let remedy = "what was in force still is; mend them and reload again";
            Some(Failure::here(format!("the configuration has {mistakes}"), remedy))
        }
    };
    if terminal.is_json() {
        terminal.json(&response)?;
        return failed.map_or(Ok(()), Err);
    }
    for problem in &response.problems {
        let places = [&problem.file, &problem.place].into_iter().filter(|place| !place.is_empty());
        let mut told: Vec<&str> = places.map(String::as_str).collect();
        told.push(&problem.message);
        terminal.note(&told.join(": "))?;
    }
    if let Some(failed) = failed {
        return Err(failed);
    }
    let mut table = Table::facts();
    for change in &response.changes {
        let what = match change.change() {
            pb::ChangeKind::Added => "added",
            pb::ChangeKind::Removed => "removed",
            _ => "changed",
        };
        table.fact(what, format!("{} {}", change.kind, change.id));
    }
    let lines = table.lines(terminal);
    terminal.lines(lines)?;
    let changes = words::count(u64::try_from(response.changes.len()).unwrap_or(u64::MAX), "change");
    let verdict = if response.applied { "in force" } else { "not in force, as you asked" };
    Ok(terminal.line(&format!("{changes}, {verdict}"))?)
}
