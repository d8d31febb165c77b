//! `antiphon prepare`: resolves and renders a turn, shows it, and keeps it for one execution. It must not know what is kept.

use std::time::Duration;

use super::Context;
use super::explain::{self, Place};
use super::failure::Failure;
use super::request::{self, RequestOptions};
use super::table::{Cell, Table};
use super::terminal::Style;
use super::words;
use crate::domain::id::Moment;
use crate::domain::source::Clock;
use crate::grpc::convert::moment;
use crate::grpc::pb;
use crate::ops::source::SystemClock;

/// What can be typed after `prepare`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    /// What to say; - reads standard input, and so does nothing at all in a pipe
    text: Option<String>,
    #[command(flatten)]
    place: Place,
    /// Keep the exchange when it is executed
    #[arg(long)]
    capture: bool,
    /// How long it can be executed, such as 10m or 2h; else as the server is configured
    #[arg(long, value_name = "TIME", value_parser = super::span::parse)]
    expires_in: Option<Duration>,
    /// Name the run that executes it
    #[arg(long, value_name = "ID")]
    run_id: Option<String>,
    #[command(flatten)]
    request: RequestOptions,
}

/// The moment after a time.
fn until(after: Duration) -> prost_types::Timestamp {
    let after = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
    moment::to_pb(Moment(SystemClock.now().0.saturating_add(after)))
}

/// Prepares.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    use pb::prepare_request::From;
    let text = request::text(arguments.text, !arguments.request.speaks(), "--from", context.terminal)?;
    let run = request::RunOptions { run_id: arguments.run_id, retry: false };
    let request = Some(arguments.request.build(text, &run, context.terminal)?);
    let from = match (arguments.place.from, arguments.place.thread) {
        (Some(exchange_id), _) => Some(From::Exchange(pb::ExchangePoint { exchange_id })),
        (None, Some(thread_id)) => Some(From::Thread(pb::ThreadPoint { thread_id, ..Default::default() })),
        (None, None) => None,
    };
    let expire_time = arguments.expires_in.map(until);
    let prepare = pb::PrepareRequest { request, from, capture: arguments.capture, expire_time };
    let remote = context.remote().await?;
    let call = async { Ok(remote.exchanges().prepare(remote.request(prepare)).await?.into_inner()) };
    let response = remote.within(call).await?;
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        return Ok(terminal.json(&response)?);
    }
    let explanation = response.explanation.as_ref().ok_or_else(|| Failure::incomplete("explanation"))?;
    let mut table = Table::facts();
    table.row(vec![Cell::new("prepared", Style::Dim), Cell::new(&response.prepared_id, Style::Name)]);
    table.fact("until", words::time(response.expire_time.as_ref()));
    explain::show(explanation, None, table, terminal)?;
    let next = terminal.typed(&format!("antiphon run --prepared {}", response.prepared_id));
    Ok(terminal.note(&format!("next: {next}"))?)
}
