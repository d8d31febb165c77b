//! `antiphon erase`, `gc`, `pins` and `expire`: what is kept, for how long, and what is removed. It must not decide what goes.

use std::time::Duration;

use super::Context;
use super::failure::Failure;
use super::progress::Progress;
use super::remote::pages;
use super::table::Table;
use super::terminal::{Style, Terminal};
use super::words;
use crate::domain::id::Moment;
use crate::domain::source::Clock;
use crate::grpc::convert::moment;
use crate::grpc::pb;
use crate::ops::source::SystemClock;
use pb::retention_target::Target as Kind;

/// What can be named.
#[derive(clap::Args, Debug)]
#[group(id = "target", multiple = false, required = true)]
pub(super) struct Target {
    /// This exchange
    #[arg(long, short = 'e', value_name = "ID")]
    exchange: Option<String>,
    /// This exchange and all that follow from it
    #[arg(long, short = 'b', value_name = "ID")]
    below: Option<String>,
    /// This thread with its path
    #[arg(long, short = 't', value_name = "ID")]
    thread: Option<String>,
    /// All exchanges of this run
    #[arg(long, value_name = "ID")]
    run: Option<String>,
}

impl Target {
    fn build(self) -> Option<pb::RetentionTarget> {
        let target = match self {
            Self { exchange: Some(exchange_id), .. } => Kind::Exchange(pb::ExchangePoint { exchange_id }),
            Self { below: Some(exchange_id), .. } => Kind::Subtree(pb::SubtreeScope { exchange_id, max_steps: None }),
            Self { thread: Some(thread_id), .. } => Kind::Thread(pb::RetainedThread { thread_id }),
            Self { run: Some(run_id), .. } => Kind::Run(pb::RetainedRun { run_id }),
            _ => return None,
        };
        Some(pb::RetentionTarget { target: Some(target) })
    }
}

fn named(target: Option<&pb::RetentionTarget>) -> String {
    match target.and_then(|target| target.target.as_ref()) {
        Some(Kind::Exchange(point)) => format!("exchange {}", point.exchange_id),
        Some(Kind::Subtree(subtree)) => format!("below {}", subtree.exchange_id),
        Some(Kind::Thread(thread)) => format!("thread {}", thread.thread_id),
        Some(Kind::Run(run)) => format!("run {}", run.run_id),
        None => String::new(),
    }
}

/// What can be typed after `erase`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Erased exchanges leave a tombstone: ids, hash and usage. Older backups and exports still have what was said."
)]
pub(super) struct Erase {
    #[command(flatten)]
    target: Target,
    /// Erase all that follow from it too
    #[arg(long, conflicts_with = "tombstone")]
    cascade: bool,
    /// Let what follows stay, with a gap in its history
    #[arg(long)]
    tombstone: bool,
    /// Tell what would be erased and erase nothing
    #[arg(long)]
    dry_run: bool,
    /// Why, kept in the receipt
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    note: String,
    /// Make the command safe to repeat
    #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
    request_id: String,
}

/// Erases.
pub(super) async fn erase(arguments: Erase, context: &mut Context<'_>) -> Result<(), Failure> {
    let mode = match (arguments.cascade, arguments.tombstone) {
        (true, _) => pb::EraseMode::Cascade,
        (_, true) => pb::EraseMode::Tombstone,
        _ => pb::EraseMode::Refuse,
    };
    let request = pb::EraseRequest {
        target: arguments.target.build(),
        mode: mode.into(),
        dry_run: arguments.dry_run,
        note: arguments.note,
        request_id: arguments.request_id,
    };
    let remote = context.remote().await?;
    let response =
        remote.within(async { Ok(remote.admin().erase(remote.request(request)).await?.into_inner()) }).await?;
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        return Ok(terminal.json(&response)?);
    }
    let receipt = response.receipt.ok_or_else(|| Failure::incomplete("receipt"))?;
    let verb = match (arguments.dry_run, response.replayed) {
        (true, _) => "would be erased",
        (_, true) => "erased earlier, by the same request",
        _ => "erased",
    };
    terminal.line(&format!("{} {verb}", words::count(receipt.tombstone_count, "exchange")))?;
    removed(&receipt.erased, terminal)?;
    if receipt.shared_content_count > 0 {
        terminal
            .line(&format!("{} stays: others have it too", words::count(receipt.shared_content_count, "content")))?;
    }
    if receipt.receipt_id.is_empty() {
        return Ok(());
    }
    let text = terminal.paint_err(Style::Dim, &format!("receipt {}", receipt.receipt_id));
    Ok(terminal.note(&text)?)
}

fn removed(records: &[pb::RecordCount], terminal: &mut Terminal) -> Result<(), Failure> {
    let mut table = Table::new(&["RECORDS", "COUNT", "AS STORED"]);
    for record in records {
        table.row(vec![(&record.kind).into(), record.count.to_string().into(), words::bytes(record.size_bytes).into()]);
    }
    if records.is_empty() {
        return Ok(());
    }
    let lines = table.lines(terminal);
    Ok(terminal.lines(lines)?)
}

/// What can be typed after `gc`.
#[derive(clap::Args, Debug)]
pub(super) struct Collect {
    /// Tell what would be removed and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Leave what became garbage less than this ago, such as 1h or 0s
    #[arg(long, value_name = "TIME", value_parser = super::span::parse)]
    grace: Option<Duration>,
    /// Stop after this time
    #[arg(long, value_name = "TIME", value_parser = super::span::parse)]
    max_duration: Option<Duration>,
}

/// Collects.
pub(super) async fn collect(arguments: Collect, context: &mut Context<'_>) -> Result<(), Failure> {
    use pb::collect_garbage_response::Event;
    let length = |given: Option<Duration>| given.and_then(|given| prost_types::Duration::try_from(given).ok());
    let request = pb::CollectGarbageRequest {
        dry_run: arguments.dry_run,
        grace: length(arguments.grace),
        max_duration: length(arguments.max_duration),
    };
    let remote = context.remote().await?;
    let terminal = &mut *context.terminal;
    let summary = remote
        .within(async {
            let mut stream = remote.admin().collect_garbage(remote.request(request)).await?.into_inner();
            let mut progress = Progress::new("looked at");
            while let Some(part) = stream.message().await? {
                match part.event {
                    Some(Event::Progress(far)) => progress.show(far.checked_count, far.removed_bytes, terminal)?,
                    Some(Event::Completed(summary)) => {
                        progress.end(terminal)?;
                        return Ok(summary);
                    }
                    None => {}
                }
            }
            Err(Failure::incomplete("end"))
        })
        .await?;
    if terminal.is_json() {
        return Ok(terminal.json(&summary)?);
    }
    let count = summary.removed.iter().map(|record| record.count).sum();
    let verb = if summary.dry_run { "would be removed" } else { "removed" };
    let early = if summary.stopped_early { ", stopped early" } else { "" };
    let pinned =
        if summary.pinned_count > 0 { format!(", {} kept by pins", summary.pinned_count) } else { String::new() };
    let size = words::bytes(summary.removed_bytes);
    terminal.line(&format!("{} {verb}, {size}{pinned}{early}", words::count(count, "record")))?;
    removed(&summary.removed, terminal)
}

/// What can be typed after `pins`.
#[derive(clap::Args, Debug)]
pub(super) struct Pins {
    #[command(subcommand)]
    what: Option<PinVerb>,
}

#[derive(clap::Subcommand, Debug)]
enum PinVerb {
    /// List pins by id
    List,
    /// Keep something from expiry and garbage collection
    Add {
        #[command(flatten)]
        target: Target,
        /// Its id; the server makes one when absent
        #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
        id: String,
        /// Why
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        note: String,
    },
    /// Take a pin away
    Remove {
        /// The pin
        #[arg(value_name = "ID")]
        id: String,
    },
}

/// Lists, sets or takes away.
pub(super) async fn pins(arguments: Pins, context: &mut Context<'_>) -> Result<(), Failure> {
    let remote = context.remote().await?;
    match arguments.what.unwrap_or(PinVerb::List) {
        PinVerb::Add { target, id, note } => {
            let request = pb::CreatePinRequest { target: target.build(), pin_id: id, note, ..Default::default() };
            let call = async { Ok(remote.admin().create_pin(remote.request(request)).await?.into_inner()) };
            let response = remote.within(call).await?;
            if context.terminal.is_json() {
                return Ok(context.terminal.json(&response)?);
            }
            let id = response.pin.map(|pin| pin.pin_id).unwrap_or_default();
            Ok(context.terminal.line(&id)?)
        }
        PinVerb::Remove { id } => {
            let request = pb::DeletePinRequest { pin_id: id, ..Default::default() };
            let call = async { Ok(remote.admin().delete_pin(remote.request(request)).await?.into_inner()) };
            remote.within(call).await?;
            Ok(())
        }
        PinVerb::List => {
            let (all, _) = pages(u32::MAX, async |page_size, page_token| {
                let request = remote.request(pb::ListPinsRequest { page_size, page_token });
                let page = remote.within(async { Ok(remote.admin().list_pins(request).await?.into_inner()) }).await?;
                Ok((page.pins, page.next_page_token))
            })
            .await?;
            let terminal = &mut *context.terminal;
            if terminal.is_json() {
                return Ok(terminal.json(&pb::ListPinsResponse { pins: all, next_page_token: String::new() })?);
            }
            let mut table = Table::new(&["PIN", "KEEPS", "SINCE", "NOTE"]);
            for pin in &all {
                let since = words::time(pin.create_time.as_ref());
                table.row(vec![
                    (&pin.pin_id).into(),
                    named(pin.target.as_ref()).into(),
                    since.into(),
                    (&pin.note).into(),
                ]);
            }
            let lines = table.lines(terminal);
            Ok(terminal.lines(lines)?)
        }
    }
}

/// What can be typed after `expire`.
#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct Expire {
    #[command(subcommand)]
    what: Option<ExpireVerb>,
    #[command(flatten)]
    target: Option<Target>,
    /// In this time, such as 30d; `antiphon gc` removes it then
    #[arg(long = "in", value_name = "TIME", value_parser = super::span::parse, conflicts_with = "never")]
    within: Option<Duration>,
    /// Never
    #[arg(long)]
    never: bool,
}

#[derive(clap::Subcommand, Debug)]
enum ExpireVerb {
    /// List what expires, soonest first
    List,
}

/// Sets an expiry, or lists them.
pub(super) async fn expire(arguments: Expire, context: &mut Context<'_>) -> Result<(), Failure> {
    use pb::set_expiry_request::When;
    let remote = context.remote().await?;
    let Some(target) = arguments.target.and_then(Target::build).filter(|_| arguments.what.is_none()) else {
        return list(&remote, context.terminal).await;
    };
    let when = match arguments.within {
        Some(within) => {
            let length = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
            let at = Moment(SystemClock.now().0.saturating_add(length));
            When::At(pb::ExpireAt { expire_time: Some(moment::to_pb(at)) })
        }
        None if arguments.never => When::Never(pb::ExpireNever {}),
        None => return Err(Failure::usage("when does it expire? give --in TIME or --never")),
    };
    let request = pb::SetExpiryRequest { target: Some(target), when: Some(when), ..Default::default() };
    let call = async { Ok(remote.admin().set_expiry(remote.request(request)).await?.into_inner()) };
    let response = remote.within(call).await?;
    if context.terminal.is_json() {
        return Ok(context.terminal.json(&response)?);
    }
    Ok(context.terminal.line(&told(&response.expiry.unwrap_or_default()))?)
}

async fn list(remote: &super::remote::Remote, terminal: &mut Terminal) -> Result<(), Failure> {
    let (all, _) = pages(u32::MAX, async |page_size, page_token| {
        let request = remote.request(pb::ListExpiriesRequest { page_size, page_token, before_time: None });
        let page = remote.within(async { Ok(remote.admin().list_expiries(request).await?.into_inner()) }).await?;
        Ok((page.expiries, page.next_page_token))
    })
    .await?;
    if terminal.is_json() {
        return Ok(terminal.json(&pb::ListExpiriesResponse { expiries: all, next_page_token: String::new() })?);
    }
    let lines: Vec<String> = all.iter().map(told).collect();
    Ok(terminal.lines(lines)?)
}

fn told(expiry: &pb::Expiry) -> String {
    let when = match &expiry.expire_time {
        Some(time) => format!("expires {}", words::time(Some(time))),
        None => "never expires".to_owned(),
    };
    let pinned = if expiry.pinned { ", kept by a pin" } else { "" };
    format!("{} {when}{pinned}", named(expiry.target.as_ref()))
}
