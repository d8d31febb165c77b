//! `antiphon bench`: how fast a server is, beside what this machine can do at best in the same run: the disk's fdatasync and a bare echo over
//! gRPC. It must not know how the server is made.

mod caller;
mod decider;
mod echo;
mod fill;
mod idle;
mod look;
mod measure;
mod provider;
mod work;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use self::measure::Figures;
use self::work::{Load, Work};
use super::Context;
use super::failure::Failure;
use super::table::Table;

/// What can be typed after `bench`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    /// How long each measurement takes
    #[arg(long, value_name = "TIME", value_parser = super::span::parse, default_value = "3s")]
    time: Duration,
    /// How many call at once where many do
    #[arg(long, value_name = "COUNT", default_value = "64", value_parser = super::number::between(1, u16::MAX))]
    callers: u16,
    /// Length of each message, in bytes of text that hardly compresses
    #[arg(long, value_name = "BYTES", default_value = "1024", value_parser = super::number::between(1_u32, 1_048_576))]
    bytes: u32,
    /// Turns of the long history
    #[arg(long, value_name = "COUNT", default_value = "1000", value_parser = super::number::between(2_u32, 100_000))]
    turns: u32,
    /// Turns of the very long history, and how many exchanges follow one where very many do
    #[arg(long, value_name = "COUNT", default_value = "10000", value_parser = super::number::between(2_u32, 100_000))]
    deep: u32,
    /// The server's data folder, for its disk's own speed and for what a call leaves there; a temporary one when absent
    #[arg(long, value_name = "DIR")]
    disk: Option<PathBuf>,
    /// Only this work, beside the disk and the echo; may be given several times
    #[arg(long, value_enum, value_name = "WORK")]
    only: Vec<Work>,
    /// Be a provider at this address, which the default profile of the server has as its own, and measure what the server adds to it
    #[arg(long, value_name = "ADDRESS")]
    provider: Option<SocketAddr>,
    /// Fill the server's store with so many exchanges, instead of any other work, and measure pages of the graph, searches and Inspect in it
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["only", "provider", "idle"], value_parser = super::number::between(1_000_u32, 100_000_000))]
    fill: Option<u32>,
    /// Open so many Coordinate streams and hold them, instead of any other work
    #[arg(long, value_name = "COUNT", requires = "process", conflicts_with_all = ["only", "provider"], value_parser = super::number::between(1_u32, 100_000))]
    idle: Option<u32>,
    /// The server's process on this machine, whose memory is told
    #[arg(long, value_name = "PID", value_parser = super::number::between(1, u32::MAX))]
    process: Option<u32>,
}

/// Measures and shows it.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let remote = context.remote().await?;
    let folder = arguments.disk.clone().unwrap_or_else(std::env::temp_dir);
    let time = arguments.time;
    let disk = tokio::task::spawn_blocking(move || measure::disk(&folder, time)).await;
    let disk = disk.map_err(|error| Failure::broken(&error))?.map_err(|error| Failure::broken(&error))?;
    let load = Load { time, bytes: arguments.bytes as usize, turns: arguments.turns, deep: arguments.deep };
    let load = Arc::new(load);
    let mut rows = vec![Row::of("fdatasync of 4 KiB, one after the other", 1, disk)];
    let many = usize::from(arguments.callers);
    let is_wanted = |work: &Work| arguments.only.is_empty() || arguments.only.contains(work);
    for callers in Work::Record.callers(many) {
        rows.push(Row::of("bare echo of a turn", callers, echo::calls(callers, &load).await?));
    }
    if let Some(count) = arguments.fill {
        rows.extend(fill::measure(count, many, (arguments.disk.as_deref(), arguments.process), context, &load).await?);
    } else if let Some((count, process)) = arguments.idle.zip(arguments.process) {
        rows.push(idle::measure(count, process, context, &load).await?);
    } else if let Some(address) = arguments.provider {
        rows.extend(provider::measure(address, &remote, &load).await?);
    } else {
        for work in Work::ALL.into_iter().filter(is_wanted) {
            for callers in work.callers(many) {
                if work == Work::Decide {
                    rows.push(Row::of("bare echo in a stream", callers, echo::streams(callers, &load).await?));
                }
                let starts = work.begin(&remote, callers, &load).await?;
                let data = arguments.disk.as_deref().filter(|_| work.writes());
                let before = data.map(bytes_in);
                let figures = work.measure(starts, time).await?;
                let left = data.map(bytes_in).zip(before).map(|(after, before)| after.saturating_sub(before));
                let bytes = left.map(|left| left as f64 / figures.count.max(1) as f64);
                rows.push(Row { bytes, ..Row::of(&work.words(&load), callers, figures) });
            }
        }
    }
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        let json = rows.iter().map(Row::json).collect();
        return Ok(terminal.line(&serde_json::Value::Array(json).to_string())?);
    }
    let lines = table(&rows).lines(terminal);
    Ok(terminal.lines(lines)?)
}

/// A measurement and what it was of.
struct Row {
    what: String,
    callers: usize,
    figures: Figures,
    /// What each call left on the disk, where that is known.
    bytes: Option<f64>,
    /// How much memory each took at the server, where that is known.
    memory: Option<f64>,
    /// The most that p50 may be, in milliseconds, where that was decided.
    most: Option<f64>,
}

impl Row {
    fn of(what: &str, callers: usize, figures: Figures) -> Self {
        Self { what: what.to_owned(), callers, figures, bytes: None, memory: None, most: None }
    }

    fn json(&self) -> serde_json::Value {
        let mut json = self.figures.json(&self.what, self.callers);
        for (key, value) in [("diskBytes", self.bytes), ("memoryBytes", self.memory), ("p50MostMs", self.most)] {
            if let (Some(value), Some(json)) = (value, json.as_object_mut()) {
                json.insert(key.to_owned(), value.into());
            }
        }
        json
    }
}

fn table(rows: &[Row]) -> Table {
    let mut table =
        Table::new(&["what", "callers", "a second", "p50 ms", "p99 ms", "disk bytes", "memory bytes", "at most"]);
    for Row { what, callers, figures, bytes, memory, most } in rows {
        let whole = |bytes: &Option<f64>| bytes.map(|bytes| format!("{bytes:.0}")).unwrap_or_default();
        table.row(vec![
            what.as_str().into(),
            callers.to_string().into(),
            format!("{:.0}", figures.per_second).into(),
            format!("{:.3}", figures.p50.as_secs_f64() * 1e3).into(),
            format!("{:.3}", figures.p99.as_secs_f64() * 1e3).into(),
            whole(bytes).into(),
            whole(memory).into(),
            most.map(|most| format!("{most:.1} ms")).unwrap_or_default().into(),
        ]);
    }
    table
}

/// Bytes of the files in a folder and those below it. What cannot be read counts for nothing: it only makes a figure smaller.
fn bytes_in(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_in(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
