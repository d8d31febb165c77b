//! `antiphon import`: reads what `export` or `backup` wrote, chats, or the database of `llm`, and sends it as fast as the server takes it. It
//! must not know what a line must be: the server says which one is wrong.

mod llm;
mod source;

use std::collections::BTreeMap;
use std::path::PathBuf;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use self::source::{Format, Source};
use super::Context;
use super::failure::Failure;
use super::progress::Progress;
use super::request::{pair, pairs};
use super::terminal::{Style, Terminal};
use super::words;
use crate::grpc::pb;
use crate::store::transfer::WITHOUT_DOCUMENTS;
use pb::import_request::Part;
use pb::import_response::Event;

/// Chunks that may wait to be sent.
const AHEAD: usize = 2;

/// What can be typed after `import`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "What is on record already is recognised and left as it is, so an import that broke off is run again."
)]
pub(super) struct Arguments {
    /// The file to read; - or nothing reads standard input
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
    file: PathBuf,
    /// What it is; else it is looked at
    #[arg(long, value_enum, value_name = "antiphon|openai|llm", hide_possible_values = true)]
    format: Option<Format>,
    /// Check everything and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Leave out lines that are wrong, and tell them
    #[arg(long)]
    skip_faulty: bool,
    /// Make a thread for each chat
    #[arg(long)]
    threads: bool,
    /// Label the runs and exchanges that are new
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = pair)]
    labels: Vec<String>,
}

/// Imports.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    if arguments.file.as_os_str() == "-" && !context.terminal.input_is_piped() {
        return Err(Failure::usage("there is nothing to import: name a FILE, or pipe it in"));
    }
    let labels: BTreeMap<String, String> = pairs(&arguments.labels, "--label")?.into_iter().collect();
    let source = Source::open(&arguments.file, arguments.format, context.terminal)?;
    if arguments.threads && source.is_native() {
        return Err(Failure::usage("--threads is for chats: an export brings its own threads"));
    }
    let open = pb::ImportOpen {
        format: if source.is_native() { pb::TransferFormat::Antiphon } else { pb::TransferFormat::OpenaiChat }.into(),
        dry_run: arguments.dry_run,
        labels: labels.into_iter().collect(),
        create_threads: arguments.threads,
        skip_faulty: arguments.skip_faulty,
    };
    let remote = context.remote().await?;
    let (parts, requests) = mpsc::channel(AHEAD);
    let reading = tokio::task::spawn_blocking(move || send(source, open, &parts));
    let terminal = &mut *context.terminal;
    let received = remote
        .within(async {
            let mut stream = remote.admin().import(remote.request(ReceiverStream::new(requests))).await?.into_inner();
            let mut progress = Progress::new("stored");
            let outcome = loop {
                match stream.message().await {
                    Ok(Some(pb::ImportResponse { event: Some(event) })) => match event {
                        Event::Acknowledged(acknowledged) => progress.show(acknowledged.through_line, 0, terminal)?,
                        Event::Finding(finding) => {
                            progress.end(terminal)?;
                            show(&finding, terminal)?;
                        }
                        Event::Completed(summary) => break Ok(summary),
                    },
                    Ok(Some(_)) => {}
                    Ok(None) => break Err(Failure::incomplete("end")),
                    Err(status) => break Err(Failure::from(status)),
                }
            };
            progress.end(terminal)?;
            outcome
        })
        .await;
    // What could not be read says more than that the server missed it. A reader that waits for a pipe is left alone.
    match received {
        Ok(summary) => conclude(&summary, arguments.dry_run, context.terminal),
        Err(failure) if reading.is_finished() => match reading.await {
            Ok(Err(unread)) => Err(unread),
            _ => Err(failure),
        },
        Err(failure) => Err(failure),
    }
}

/// Reads the source and sends it, as long as somebody takes it.
fn send(mut source: Source, open: pb::ImportOpen, parts: &mpsc::Sender<pb::ImportRequest>) -> Result<(), Failure> {
    let pass = |part| parts.blocking_send(pb::ImportRequest { part: Some(part) }).is_ok();
    if !pass(Part::Open(open)) {
        return Ok(());
    }
    let mut hasher = blake3::Hasher::new();
    while let Some(chunk) = source.next()? {
        hasher.update(chunk.lines_json.as_bytes());
        if !chunk.lines_json.ends_with('\n') {
            hasher.update(b"\n");
        }
        if !pass(Part::Chunk(chunk)) {
            return Ok(());
        }
    }
    pass(Part::Commit(pb::ImportCommit { blake3: hasher.finalize().to_hex().to_string() }));
    Ok(())
}

fn show(finding: &pb::Finding, terminal: &mut Terminal) -> Result<(), Failure> {
    let text = match finding.code.as_str() {
        WITHOUT_DOCUMENTS => finding.message.clone(),
        _ => format!("left out: {}", finding.message),
    };
    let text = terminal.paint_err(Style::Odd, &text);
    Ok(terminal.note(&text)?)
}

/// The kind of record that is always told.
const EXCHANGE: &str = "exchange";

fn of_kind(records: &[pb::RecordCount], kind: &str) -> u64 {
    records.iter().find(|record| record.kind == kind).map_or(0, |record| record.count)
}

/// How many exchanges there are, and of what else a person would look for.
fn seen(records: &[pb::RecordCount]) -> String {
    let more = ["thread", "workspace", "coordination", "prepared execution"];
    let more = more.into_iter().map(|kind| (kind, of_kind(records, kind))).filter(|(_, count)| *count > 0);
    let counts = [(EXCHANGE, of_kind(records, EXCHANGE))].into_iter().chain(more);
    counts.map(|(kind, count)| words::count(count, kind)).collect::<Vec<_>>().join(", ")
}

fn conclude(summary: &pb::ImportSummary, dry_run: bool, terminal: &mut Terminal) -> Result<(), Failure> {
    if terminal.is_json() {
        return Ok(terminal.json(summary)?);
    }
    let verb = if dry_run { "would be stored" } else { "stored" };
    let mut line =
        format!("{} {verb}, {} on record already", seen(&summary.stored), of_kind(&summary.matched, EXCHANGE));
    if summary.skipped_count > 0 {
        line.push_str(&format!(", {} left out", words::count(summary.skipped_count, "line")));
    }
    terminal.line(&line)?;
    if !summary.erased.is_empty() {
        let stay = if dry_run { "would stay so" } else { "stay so" };
        terminal.line(&format!("{} were erased here and {stay}", seen(&summary.erased)))?;
    }
    let names: Vec<String> = summary.thread_ids.iter().map(|id| terminal.paint(Style::Name, id)).collect();
    Ok(terminal.lines(names)?)
}
