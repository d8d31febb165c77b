//! `antiphon export` and `antiphon backup`: write exchanges with all that they need, or everything, as lines to a file or a pipe. It must not know
//! what the lines say.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use futures::stream::StreamExt;

use super::Context;
use super::failure::Failure;
use super::part::Part;
use super::progress::Progress;
use super::terminal::{Style, Terminal};
use super::words;
use crate::grpc::pb;

/// What can be typed after `export`.
#[derive(clap::Args, Debug)]
#[command(after_help = "What was exported is read with `antiphon import FILE`, by this server or another one.")]
pub(super) struct Arguments {
    /// The file to write; - or nothing writes to standard output
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
    file: PathBuf,
    #[command(flatten)]
    part: Part,
    /// Leave out the documents of workspaces
    #[arg(long)]
    omit_documents: bool,
}

/// What can be typed after `backup`.
#[derive(clap::Args, Debug)]
#[command(after_help = "The server goes on meanwhile. `antiphon import FILE` restores it into an empty store.")]
pub(super) struct BackupArguments {
    /// The file to write; - or nothing writes to standard output
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
    file: PathBuf,
    /// All namespaces
    #[arg(long)]
    all: bool,
}

/// What a stream brings.
enum Event {
    Chunk(pb::TransferChunk),
    Completed(pb::TransferSummary),
}

/// Exports.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    use pb::export_response::Event as Told;
    is_no_folder(&arguments.file)?;
    let remote = context.remote().await?;
    let request = pb::ExportRequest {
        scopes: arguments.part.build().into_iter().collect(),
        omit_documents: arguments.omit_documents,
        ..Default::default()
    };
    let stream =
        remote.within(async { Ok(remote.admin().export(remote.request(request)).await?.into_inner()) }).await?;
    let events = stream.filter_map(async |part| match part.map(|part| part.event) {
        Ok(Some(Told::Chunk(chunk))) => Some(Ok(Event::Chunk(chunk))),
        Ok(Some(Told::Completed(summary))) => Some(Ok(Event::Completed(summary))),
        Ok(Some(Told::Started(_)) | None) => None,
        Err(status) => Some(Err(status.into())),
    });
    let terminal = &mut *context.terminal;
    remote.within(write("exported", &arguments.file, events.boxed_local(), terminal)).await
}

/// Backs up.
pub(super) async fn backup(arguments: BackupArguments, context: &mut Context<'_>) -> Result<(), Failure> {
    use pb::backup_response::Event as Told;
    is_no_folder(&arguments.file)?;
    let remote = context.remote().await?;
    let request = pb::BackupRequest { all_namespaces: arguments.all };
    let stream =
        remote.within(async { Ok(remote.admin().backup(remote.request(request)).await?.into_inner()) }).await?;
    let events = stream.filter_map(async |part| match part.map(|part| part.event) {
        Ok(Some(Told::Chunk(chunk))) => Some(Ok(Event::Chunk(chunk))),
        Ok(Some(Told::Completed(summary))) => Some(Ok(Event::Completed(summary))),
        Ok(Some(Told::Started(_)) | None) => None,
        Err(status) => Some(Err(status.into())),
    });
    let terminal = &mut *context.terminal;
    remote.within(write("backed up", &arguments.file, events.boxed_local(), terminal)).await
}

type Events<'a> = futures::stream::LocalBoxStream<'a, Result<Event, Failure>>;

/// Writes what a stream brings. A file has its name only once it is whole.
async fn write(
    verb: &'static str,
    file: &Path,
    mut events: Events<'_>,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let mut target = Target::open(file)?;
    let mut progress = Progress::new(verb);
    let (mut lines, mut bytes, mut summary) = (0, 0, None);
    let mut hasher = blake3::Hasher::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Chunk(chunk)) => {
                hasher.update(chunk.lines_json.as_bytes());
                lines += chunk.lines_json.matches('\n').count() as u64;
                bytes += chunk.lines_json.len() as u64;
                target.write(&chunk.lines_json, terminal)?;
                progress.show(lines, bytes, terminal)?;
            }
            Ok(Event::Completed(completed)) => summary = Some(completed),
            Err(failure) => {
                progress.end(terminal)?;
                return Err(failure);
            }
        }
    }
    progress.end(terminal)?;
    let summary: pb::TransferSummary = summary.ok_or_else(|| Failure::incomplete("end"))?;
    if hasher.finalize().to_hex().as_str() != summary.blake3 {
        return Err(Failure::here("what came is not what the server sent", "run the command again"));
    }
    target.close()?;
    tell(verb, file, &summary, terminal)
}

fn tell(verb: &str, file: &Path, summary: &pb::TransferSummary, terminal: &mut Terminal) -> Result<(), Failure> {
    let exchanges = summary.records.iter().find(|record| record.kind == "exchange").map_or(0, |record| record.count);
    let (lines, size) = (words::count(summary.line_count, "line"), words::bytes(summary.size_bytes));
    let to = if is_stdout(file) { String::new() } else { format!(" to {}", file.display()) };
    let note = format!("{verb} {} in {lines}, {size}{to}", words::count(exchanges, "exchange"));
    if terminal.is_json() {
        return if is_stdout(file) { Ok(()) } else { Ok(terminal.json(summary)?) };
    }
    let note = terminal.paint_err(Style::Dim, &note);
    Ok(terminal.note(&note)?)
}

fn is_stdout(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// That a file can have its name in the end, before anything is asked of a server.
fn is_no_folder(file: &Path) -> Result<(), Failure> {
    if is_stdout(file) || !file.is_dir() {
        return Ok(());
    }
    let inside = file.join("antiphon.jsonl");
    Err(Failure::here(
        format!("{}: is a folder", file.display()),
        format!("name a file in it, such as {}", inside.display()),
    ))
}

/// Where lines go.
enum Target {
    Output,
    File { file: File, partial: PathBuf, to: PathBuf },
}

impl Target {
    fn open(to: &Path) -> Result<Self, Failure> {
        if is_stdout(to) {
            return Ok(Self::Output);
        }
        let mut partial = to.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        // It holds every word that was said.
        let new = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial);
        let file = new.map_err(|error| {
            let remedy = "name a file in a folder that is there and that you may write in";
            Failure::here(format!("{}: {error}", partial.display()), remedy)
        })?;
        Ok(Self::File { file, partial, to: to.to_owned() })
    }

    fn write(&mut self, lines: &str, terminal: &mut Terminal) -> Result<(), Failure> {
        match self {
            Self::Output => Ok(terminal.write(lines)?),
            Self::File { file, partial, .. } => {
                let remedy = "make room for it, or name a file on another disk, and run the command again";
                let written = file.write_all(lines.as_bytes());
                written.map_err(|error| Failure::here(format!("{}: {error}", partial.display()), remedy))
            }
        }
    }

    fn close(self) -> Result<(), Failure> {
        let Self::File { file, partial, to } = self else { return Ok(()) };
        // On the disk before it has its name, so that a backup by that name is a whole one.
        let kept = file.sync_all().and_then(|()| std::fs::rename(&partial, &to));
        kept.map_err(|error| {
            let remedy =
                format!("what came is in {}: give it its name yourself, or run the command again", partial.display());
            Failure::here(format!("{}: {error}", to.display()), remedy)
        })
    }
}
