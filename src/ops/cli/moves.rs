//! `antiphon threads restore` and `threads moves`: a head put back to where it was, and where it has been. It must not know what lies there.

use super::Context;
use super::failure::Failure;
use super::remote::pages;
use super::table::{Cell, Table};
use super::terminal::Style;
use super::words;
use crate::grpc::pb;

/// What can be typed after `threads restore`.
#[derive(clap::Args, Debug)]
pub(super) struct Restore {
    /// The thread
    #[arg(value_name = "ID")]
    id: String,
    /// An exchange on its path, or one that its head once was
    #[arg(value_name = "EXCHANGE")]
    to: String,
    /// Only if its head is this exchange
    #[arg(long, value_name = "EXCHANGE")]
    expected_head: Option<String>,
    /// Make the command safe to repeat
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
}

/// What can be typed after `threads moves`.
#[derive(clap::Args, Debug)]
pub(super) struct Moves {
    /// The thread
    #[arg(value_name = "ID")]
    id: String,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = super::number::between(1, u32::MAX))]
    limit: u32,
}

/// Restores a thread.
pub(super) async fn restore(arguments: Restore, context: &mut Context<'_>) -> Result<(), Failure> {
    let remote = context.remote().await?;
    let point = |exchange_id| pb::ExchangePoint { exchange_id };
    let expected_head = arguments
        .expected_head
        .map(|head| pb::ExpectedHead { head: Some(pb::expected_head::Head::Exchange(point(head))) });
    let request = pb::RestoreRequest {
        thread_id: arguments.id,
        to: Some(point(arguments.to)),
        expected_head,
        request_id: arguments.request_id.unwrap_or_default(),
    };
    let request = remote.request(request);
    let response = remote.within(async { Ok(remote.threads().restore(request).await?) }).await?.into_inner();
    if context.terminal.is_json() {
        return Ok(context.terminal.json(&response)?);
    }
    let thread = response.thread.ok_or_else(|| Failure::incomplete("thread"))?;
    let turns = words::count(thread.turn_count, "turn");
    let text = format!("thread {} is at {} again, after {turns}", thread.thread_id, thread.head_exchange_id);
    let text = context.terminal.foreign(&text);
    Ok(context.terminal.line(&text)?)
}

/// Lists the moves of a thread.
pub(super) async fn moves(arguments: Moves, context: &mut Context<'_>) -> Result<(), Failure> {
    let remote = context.remote().await?;
    let fetch = async |page_size, page_token| {
        let request = pb::ListMovesRequest { thread_id: arguments.id.clone(), page_size, page_token };
        let page = remote.threads().list_moves(remote.request(request)).await?.into_inner();
        Ok((page.moves, page.next_page_token))
    };
    let (moves, more) = remote.within(pages(arguments.limit, fetch)).await?;
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        return Ok(terminal.json(&pb::ListMovesResponse { moves, next_page_token: String::new() })?);
    }
    let mut table = Table::new(&["WHEN", "BY", "TO", "FROM", "DOCUMENTS"]);
    for one in &moves {
        let by = if one.run_id.is_empty() { "no run" } else { &one.run_id };
        let documents = if one.from_workspace_root == one.to_workspace_root { "" } else { "changed" };
        table.row(vec![
            words::time(one.time.as_ref()).into(),
            by.into(),
            Cell::new(&one.to_exchange_id, Style::Name),
            one.from_exchange_id.as_str().into(),
            documents.into(),
        ]);
    }
    let lines = table.lines(terminal);
    terminal.lines(lines)?;
    if more {
        terminal.note(&format!("there are more than {}; --limit shows more", arguments.limit))?;
    }
    Ok(())
}
