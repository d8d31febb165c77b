//! What streams that wait cost: very many of them opened and held, and the memory of the server before and after. It must not know how the
//! server is made; its memory is what the system says of its process.

use std::time::Instant;

use super::Row;
use super::decider::Attached;
use super::measure::Figures;
use super::work::Load;
use crate::ops::cli::Context;
use crate::ops::cli::failure::Failure;

/// Streams that share a connection.
const STREAMS_OF_A_CONNECTION: u32 = 100;

/// Opens so many, each a coordination that waits for its first decision. `process` is the server's.
pub(super) async fn measure(count: u32, process: u32, context: &Context<'_>, load: &Load) -> Result<Row, Failure> {
    let exchange = context.remote().await?.exchanges().record(load.turn(0)).await?.into_inner().exchange_id;
    let before = memory(process)?;
    let begun = Instant::now();
    let (mut held, mut took) = (Vec::new(), Vec::new());
    let mut client = context.remote().await?.exchanges();
    for nth in 0..count {
        if nth % STREAMS_OF_A_CONNECTION == 0 {
            client = context.remote().await?.exchanges();
        }
        let started = Instant::now();
        held.push(Attached::start(&mut client, &exchange, 1).await?);
        took.push(started.elapsed());
    }
    let figures = Figures::of(took, begun.elapsed());
    let grown = memory(process)?.saturating_sub(before);
    drop(held);
    let what = format!("Coordinate: open {count} streams and hold them");
    Ok(Row { memory: Some(grown as f64 / f64::from(count.max(1))), ..Row::of(&what, 1, figures) })
}

/// Bytes of memory that a process has, as `/proc` says.
pub(super) fn memory(process: u32) -> Result<u64, Failure> {
    let path = format!("/proc/{process}/status");
    let status = std::fs::read_to_string(&path).map_err(|error| Failure::broken(&format!("{path}: {error}")))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|kib| kib.trim().parse::<u64>().ok());
    Ok(kib.ok_or_else(|| Failure::broken(&format!("{path} does not say how much memory it has")))? * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_process_is_told_and_of_none_refused() {
        assert!(memory(std::process::id()).unwrap() > 1 << 20);
        assert!(memory(u32::MAX).is_err());
    }
}
