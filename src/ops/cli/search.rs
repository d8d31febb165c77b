//! `antiphon search`: finds exchanges and runs, newest first. It must not know how they are found.

use super::Context;
use super::failure::Failure;
use super::part::Part;
use super::remote::pages;
use super::request::{pair, pairs};
use super::table::{Cell, Table};
use super::terminal::Style;
use super::words;
use crate::grpc::pb;

/// What can be typed after `search`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    /// Only those that say this, in upper or lower case
    #[arg(value_name = "TEXT", default_value = "", hide_default_value = true)]
    text: String,
    #[command(flatten)]
    part: Part,
    /// Only those with this label
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = pair)]
    labels: Vec<String>,
    /// Only those of this model; may be given again
    #[arg(long, value_name = "MODEL")]
    model: Vec<String>,
    /// Only those that called this tool; may be given again
    #[arg(long, value_name = "TOOL")]
    called: Vec<String>,
    /// Only those that offered this tool; may be given again
    #[arg(long, value_name = "TOOL")]
    offered: Vec<String>,
    /// Only roots
    #[arg(long)]
    roots: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = super::number::between(1, u32::MAX))]
    limit: u32,
}

/// Does it.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let remote = context.remote().await?;
    let labels = pairs(&arguments.labels, "--label")?.into_iter().collect();
    let request = pb::SearchRequest {
        scope: arguments.part.build(),
        labels,
        models: arguments.model,
        called_tools: arguments.called,
        offered_tools: arguments.offered,
        roots_only: arguments.roots,
        text: arguments.text,
        ..pb::SearchRequest::default()
    };
    let fetch = async |page_size, page_token| {
        let request = pb::SearchRequest { page_size, page_token, ..request.clone() };
        let page = remote.graphs().search(remote.request(request)).await?.into_inner();
        Ok((page.hits, page.next_page_token))
    };
    let (hits, more) = remote.within(pages(arguments.limit, fetch)).await?;
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        return Ok(terminal.json(&pb::SearchResponse { hits, ..pb::SearchResponse::default() })?);
    }
    let mut table = Table::new(&["EXCHANGE", "RUN", "STATE", "WHEN", ""]);
    for hit in &hits {
        let node = hit.exchange.clone().unwrap_or_default();
        let said = if hit.snippet.is_empty() { &node.user_preview } else { &hit.snippet };
        table.row(vec![
            Cell::new(&node.exchange_id, Style::Name),
            (&hit.run_id).into(),
            words::run_state(hit.run_state).into(),
            words::time(hit.time.as_ref()).into(),
            Cell::cut(said, 60),
        ]);
    }
    let lines = table.lines(terminal);
    terminal.lines(lines)?;
    if more {
        terminal.note(&format!("there are more than {}; --limit shows more", arguments.limit))?;
    }
    Ok(())
}
