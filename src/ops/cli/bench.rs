//! `antiphon bench`: how fast a server is, beside what this machine can do at best in the same run: the disk's fdatasync and a bare echo over
//! gRPC. It must not know how the server is made.

mod echo;
mod measure;
mod work;

use std::path::PathBuf;
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
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "3s")]
    time: Duration,
    /// How many call at once where many do
    #[arg(long, value_name = "COUNT", default_value = "64", value_parser = clap::value_parser!(u16).range(1..))]
    callers: u16,
    /// Length of each message, in bytes of text that hardly compresses
    #[arg(long, value_name = "BYTES", default_value = "1024", value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    bytes: u32,
    /// Turns of the long history
    #[arg(long, value_name = "COUNT", default_value = "1000", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    turns: u32,
    /// A folder on the disk of the server's data, for the disk's own speed; a temporary one when absent
    #[arg(long, value_name = "DIR")]
    disk: Option<PathBuf>,
}

/// Measures and shows it.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let remote = context.remote().await?;
    let folder = arguments.disk.clone().unwrap_or_else(std::env::temp_dir);
    let time = arguments.time;
    let disk = tokio::task::spawn_blocking(move || measure::disk(&folder, time)).await;
    let disk = disk.map_err(|error| Failure::broken(&error))?.map_err(|error| Failure::broken(&error))?;
    let load = Load { time, bytes: arguments.bytes as usize, turns: arguments.turns };
    let mut rows = vec![("fdatasync of 4 KiB, one after the other".to_owned(), 1, disk)];
    for callers in [1, usize::from(arguments.callers)] {
        let figures = echo::measure(callers, &load).await?;
        rows.push(("bare echo of a turn".to_owned(), callers, figures));
    }
    for work in Work::ALL {
        for callers in work.callers(usize::from(arguments.callers)) {
            let figures = work.measure(&remote, callers, &load).await?;
            rows.push((work.words(&load), callers, figures));
        }
    }
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        let json = rows.iter().map(|(what, callers, figures)| figures.json(what, *callers)).collect::<Vec<_>>();
        return Ok(terminal.line(&serde_json::Value::Array(json).to_string())?);
    }
    let lines = table(&rows).lines(terminal);
    Ok(terminal.lines(lines)?)
}

fn table(rows: &[(String, usize, Figures)]) -> Table {
    let mut table = Table::new(&["what", "callers", "a second", "p50 ms", "p99 ms"]);
    for (what, callers, figures) in rows {
        table.row(vec![
            what.into(),
            callers.to_string().into(),
            format!("{:.0}", figures.per_second).into(),
            format!("{:.3}", figures.p50.as_secs_f64() * 1e3).into(),
            format!("{:.3}", figures.p99.as_secs_f64() * 1e3).into(),
        ]);
    }
    table
}
