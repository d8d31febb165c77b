//! `antiphon tools`: which tools a call had, which calls had a tool, where one changed. It must not know how they are found.

use std::time::SystemTime;

use super::Context;
use super::failure::Failure;
use super::part::Part;
use super::remote::{Remote, pages};
use super::table::{Cell, Table};
use super::terminal::{Style, Terminal};
use super::words;
use crate::grpc::pb;

/// How much of a hash is shown: enough to tell two schemas apart.
const SHOWN_HASH: usize = 12;

/// What can be typed after `tools`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "A schema is shown by the beginning of its hash; --json has it whole, and the tools with their schemas."
)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    /// Show the tools of one call: offered, standing and called
    Get {
        /// The exchange
        #[arg(value_name = "ID", required_unless_present = "set")]
        exchange: Option<String>,
        /// A set of tools instead, by the hash that exchanges name it with
        #[arg(long, value_name = "HASH", conflicts_with = "exchange")]
        set: Option<String>,
    },
    /// List the calls that had a tool, newest first; along a path, from its end
    Occurrences(Occurrences),
    /// List where the input schema of a tool changed on a path
    Drifts(Drifts),
}

#[derive(clap::Args, Debug)]
struct Occurrences {
    /// The tool
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    part: Part,
    /// Only calls that offered it
    #[arg(long)]
    offered: bool,
    /// Only calls whose answer called it
    #[arg(long, conflicts_with = "offered")]
    called: bool,
    /// Only with this input schema
    #[arg(long, value_name = "HASH")]
    schema: Option<String>,
    /// Only at this time or later, such as 2026-01-31T00:00:00Z
    #[arg(long, value_name = "TIME", value_parser = super::span::moment)]
    from: Option<SystemTime>,
    /// Only before this time
    #[arg(long, value_name = "TIME", value_parser = super::span::moment)]
    before: Option<SystemTime>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = super::number::between(1, u32::MAX))]
    limit: u32,
}

#[derive(clap::Args, Debug)]
struct Drifts {
    #[command(flatten)]
    part: Part,
    /// Only of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = super::number::between(1, u32::MAX))]
    limit: u32,
}

/// Does it.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    match arguments.what {
        What::Get { set: Some(tool_set_id), .. } => {
            let remote = context.remote().await?;
            let request = remote.request(pb::GetToolSetRequest { tool_set_id });
            let found = remote.within(async { Ok(remote.tools().get_tool_set(request).await?) }).await?.into_inner();
            let terminal = &mut *context.terminal;
            if terminal.is_json() {
                return Ok(terminal.json(&found)?);
            }
            let mut table = Table::new(&["TOOL", "SCHEMA", "WHAT IT DOES"]);
            for tool in found.tool_set.iter().flat_map(|set| &set.tools) {
                table.row(vec![
                    Cell::new(&tool.name, Style::Name),
                    short(&tool.schema_hash).into(),
                    Cell::cut(&tool.description, 60),
                ]);
            }
            let lines = table.lines(terminal);
            Ok(terminal.lines(lines)?)
        }
        What::Get { exchange, .. } => {
            let remote = context.remote().await?;
            let request = remote.request(pb::GetCallToolsRequest { exchange_id: exchange.unwrap_or_default() });
            let told = remote.within(async { Ok(remote.tools().get_call_tools(request).await?) }).await?.into_inner();
            let terminal = &mut *context.terminal;
            if terminal.is_json() {
                return Ok(terminal.json(&told)?);
            }
            show_call(&told, terminal)
        }
        What::Occurrences(wanted) => list_occurrences(wanted, &context.remote().await?, context).await,
        What::Drifts(wanted) => list_drifts(wanted, context).await,
    }
}

fn show_call(told: &pb::GetCallToolsResponse, terminal: &mut Terminal) -> Result<(), Failure> {
    let sets = told.tools.clone().unwrap_or_default();
    let (offered, standing) = (sets.offered.unwrap_or_default(), sets.standing.unwrap_or_default());
    let names: std::collections::BTreeSet<&str> = offered
        .tools
        .iter()
        .chain(&standing.tools)
        .map(|tool| tool.name.as_str())
        .chain(told.called_tools.iter().map(String::as_str))
        .collect();
    let schema = |set: &pb::ToolSet, name: &str| {
        set.tools.iter().find(|tool| tool.name == name).map(|tool| short(&tool.schema_hash).to_owned())
    };
    let mut table = Table::new(&["TOOL", "OFFERED", "STANDS", "CALLED"]);
    for name in names {
        let calls = told.called_tools.iter().filter(|called| *called == name).count();
        table.row(vec![
            Cell::new(name, Style::Name),
            schema(&offered, name).unwrap_or_default().into(),
            schema(&standing, name).unwrap_or_default().into(),
            if calls == 0 { String::new() } else { words::count(calls as u64, "time") }.into(),
        ]);
    }
    let lines = table.lines(terminal);
    terminal.lines(lines)?;
    if !told.drifts.is_empty() {
        terminal.line("")?;
        let lines = drifts_table(&told.drifts).lines(terminal);
        terminal.lines(lines)?;
    }
    for set in [&offered, &standing].into_iter().filter(|set| !set.tool_set_id.is_empty()) {
        let which = if std::ptr::eq(set, &raw const offered) { "offered" } else { "standing" };
        terminal.note(&format!("{which}: antiphon tools get --set {}", set.tool_set_id))?;
    }
    Ok(())
}

async fn list_occurrences(wanted: Occurrences, remote: &Remote, context: &mut Context<'_>) -> Result<(), Failure> {
    let kind = match (wanted.offered, wanted.called) {
        (true, _) => pb::ToolOccurrenceKind::Offered,
        (_, true) => pb::ToolOccurrenceKind::Called,
        _ => pb::ToolOccurrenceKind::Unspecified,
    };
    let request = pb::ListToolOccurrencesRequest {
        name: wanted.name,
        schema_hash: wanted.schema.unwrap_or_default(),
        kind: kind.into(),
        scope: wanted.part.build(),
        from_time: wanted.from.map(Into::into),
        before_time: wanted.before.map(Into::into),
        ..pb::ListToolOccurrencesRequest::default()
    };
    let fetch = async |page_size, page_token| {
        let request = pb::ListToolOccurrencesRequest { page_size, page_token, ..request.clone() };
        let page = remote.tools().list_tool_occurrences(remote.request(request)).await?.into_inner();
        Ok((page.occurrences, page.next_page_token))
    };
    let (occurrences, more) = remote.within(pages(wanted.limit, fetch)).await?;
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        return Ok(terminal.json(&pb::ListToolOccurrencesResponse { occurrences, ..Default::default() })?);
    }
    let mut table = Table::new(&["EXCHANGE", "RUN", "THREAD", "SCHEMA", "CALLED", "WHEN"]);
    for had in &occurrences {
        let calls = had.call_ids.len() as u64;
        table.row(vec![
            Cell::new(&had.exchange_id, Style::Name),
            (&had.run_id).into(),
            (&had.thread_id).into(),
            if had.offered { short(&had.schema_hash) } else { "not offered" }.into(),
            if calls == 0 { String::new() } else { words::count(calls, "time") }.into(),
            words::time(had.create_time.as_ref()).into(),
        ]);
    }
    let lines = table.lines(terminal);
    terminal.lines(lines)?;
    tell_more(more, wanted.limit, terminal)
}

async fn list_drifts(wanted: Drifts, context: &mut Context<'_>) -> Result<(), Failure> {
    let Some(scope) = wanted.part.build() else {
        return Err(Failure::usage("where? give --exchange, --below, --thread or --tree"));
    };
    let remote = context.remote().await?;
    let name = wanted.tool.unwrap_or_default();
    let request = pb::ListToolDriftsRequest { scope: Some(scope), name, ..Default::default() };
    let fetch = async |page_size, page_token| {
        let request = pb::ListToolDriftsRequest { page_size, page_token, ..request.clone() };
        let page = remote.tools().list_tool_drifts(remote.request(request)).await?.into_inner();
        Ok((page.drifts, page.next_page_token))
    };
    let (drifts, more) = remote.within(pages(wanted.limit, fetch)).await?;
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        return Ok(terminal.json(&pb::ListToolDriftsResponse { drifts, ..Default::default() })?);
    }
    let lines = drifts_table(&drifts).lines(terminal);
    terminal.lines(lines)?;
    tell_more(more, wanted.limit, terminal)
}

fn drifts_table(drifts: &[pb::ToolDrift]) -> Table {
    let mut table = Table::new(&["TOOL THAT CHANGED", "SINCE", "WAS", "IN", "IS"]);
    for drift in drifts {
        let was = drift.previous.as_ref().map_or("erased", |tool| short(&tool.schema_hash));
        let is = drift.current.as_ref().map_or("", |tool| short(&tool.schema_hash));
        table.row(vec![
            Cell::new(&drift.name, Style::Name),
            (&drift.previous_exchange_id).into(),
            was.into(),
            (&drift.exchange_id).into(),
            is.into(),
        ]);
    }
    table
}

fn tell_more(more: bool, limit: u32, terminal: &mut Terminal) -> Result<(), Failure> {
    if more {
        terminal.note(&format!("there are more than {limit}; --limit shows more"))?;
    }
    Ok(())
}

/// The beginning of a hash.
fn short(hash: &str) -> &str {
    hash.get(..SHOWN_HASH).unwrap_or(hash)
}
