//! `antiphon stats`: what the namespace holds and what is used of limits, in figures. It must not count anything itself.

use super::Context;
use super::failure::Failure;
use super::table::Table;
use super::words;
use crate::grpc::pb;

/// What can be typed after `stats`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {}

/// Shows them.
pub(super) async fn run(_: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let remote = context.remote().await?;
    let request = remote.request(pb::StatsRequest {});
    let stats = remote.within(async { Ok(remote.admin().stats(request).await?.into_inner()) }).await?;
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        return Ok(terminal.json(&stats)?);
    }
    let mut facts = Table::facts();
    facts.fact("on disk", words::bytes(stats.disk_bytes));
    facts.fact("content", format!("{}, before compression", words::bytes(stats.logical_bytes)));
    facts.fact("runs at work", stats.active_runs.to_string());
    let (open, attached) = (stats.open_coordinations, stats.attached_coordinations);
    facts.fact("coordinations", format!("{open} open, {attached} attached"));
    facts.fact("counted", words::time(stats.time.as_ref()));
    let lines = facts.lines(terminal);
    terminal.lines(lines)?;
    let mut table = Table::new(&["RECORDS", "COUNT", "AS STORED"]);
    for record in &stats.records {
        table.row(vec![(&record.kind).into(), record.count.to_string().into(), words::bytes(record.size_bytes).into()]);
    }
    let lines = table.lines(terminal);
    terminal.lines(lines)?;
    if stats.limits.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(&["LIMIT", "IN USE", "OF", "UNIT", "CREDENTIAL", "NAMESPACE"]);
    for limit in &stats.limits {
        let whose = if limit.credential.is_empty() { "the server" } else { &limit.credential };
        let (used, max) = (limit.used.to_string(), limit.value.to_string());
        let (name, unit, namespace) = (&limit.name, &limit.unit, &limit.namespace);
        table.row(vec![name.into(), used.into(), max.into(), unit.into(), whose.into(), namespace.into()]);
    }
    let lines = table.lines(terminal);
    Ok(terminal.lines(lines)?)
}
