//! Counting and timing calls until the time is over. It must not know what is called.

use std::future::Future;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::ops::cli::failure::Failure;

/// What came of a measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    /// Calls a second, all callers together.
    pub(super) per_second: f64,
    /// Half of the calls took at most so long.
    pub(super) p50: Duration,
    /// All but one of a hundred did.
    pub(super) p99: Duration,
    /// How many calls there were.
    pub(super) count: usize,
}

impl Figures {
    /// Of the times of all calls, and the time that all took together.
    pub(super) fn of(mut took: Vec<Duration>, elapsed: Duration) -> Self {
        took.sort_unstable();
        let at = |percent: usize| took.get(took.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default();
        Self { per_second: took.len() as f64 / elapsed.as_secs_f64(), p50: at(50), p99: at(99), count: took.len() }
    }

    pub(super) fn json(&self, what: &str, callers: usize) -> serde_json::Value {
        serde_json::json!({
            "what": what,
            "callers": callers,
            "perSecond": self.per_second,
            "p50Ms": self.p50.as_secs_f64() * 1e3,
            "p99Ms": self.p99.as_secs_f64() * 1e3,
        })
    }
}

/// Callers that each call again and again until the time is over.
pub(super) async fn calls<C, F, R>(callers: Vec<C>, time: Duration, call: F) -> Result<Figures, Failure>
where
    C: Send + 'static,
    F: Fn(C) -> R + Copy + Send + Sync + 'static,
    R: Future<Output = Result<C, Failure>> + Send,
{
    timed(callers, time, move |caller| async move {
        let started = Instant::now();
        let caller = call(caller).await?;
        Ok((caller, started.elapsed()))
    })
    .await
}

/// The same with calls that say themselves how long it took until what is waited for was there.
pub(super) async fn timed<C, F, R>(callers: Vec<C>, time: Duration, call: F) -> Result<Figures, Failure>
where
    C: Send + 'static,
    F: Fn(C) -> R + Copy + Send + 'static,
    R: Future<Output = Result<(C, Duration), Failure>> + Send,
{
    let begun = Instant::now();
    let mut working = JoinSet::new();
    for mut caller in callers {
        working.spawn(async move {
            let mut all = Vec::new();
            while begun.elapsed() < time {
                let took;
                (caller, took) = call(caller).await?;
                all.push(took);
            }
            Ok::<_, Failure>(all)
        });
    }
    let mut all = Vec::new();
    while let Some(took) = working.join_next().await {
        all.extend(took.map_err(|error| Failure::broken(&error))??);
    }
    Ok(Figures::of(all, begun.elapsed()))
}

/// Appends of 4 KiB to a file, each followed by fdatasync: what the disk takes to keep anything.
pub(super) fn disk(folder: &Path, time: Duration) -> std::io::Result<Figures> {
    let path = folder.join(format!(".antiphon-bench-{}", std::process::id()));
    let mut file = std::fs::File::create(&path)?;
    let begun = Instant::now();
    let mut took = Vec::new();
    let measured: std::io::Result<()> = (|| {
        while begun.elapsed() < time {
            let started = Instant::now();
            file.write_all(&[7; 4_096])?;
            file.sync_data()?;
            took.push(started.elapsed());
        }
        Ok(())
    })();
    std::fs::remove_file(&path)?;
    measured.map(|()| Figures::of(took, begun.elapsed()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_of_sorted_times() {
        let took = [5, 1, 3, 2, 4].map(Duration::from_millis).to_vec();
        let figures = Figures::of(took, Duration::from_secs(1));
        assert_eq!((figures.p50, figures.p99), (Duration::from_millis(3), Duration::from_millis(4)));
        assert!((figures.per_second - 5.0).abs() < 1e-9);
    }

    #[test]
    fn the_disk_is_measured_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        assert!(disk(folder.path(), Duration::from_millis(5)).unwrap().per_second > 0.0);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
