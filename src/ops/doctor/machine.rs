//! The machine under a server: its disk, and who may read its files. It must not know what is kept there.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Finding;
use crate::ops::app::free_bytes;

/// A sync that takes longer than this makes every turn slow.
const SLOW: Duration = Duration::from_millis(20);
/// How often syncing is tried.
const SYNCS: usize = 20;

/// Whether the folder of the store can be written, has room, and syncs in good time. Leaves nothing behind.
pub fn disk(folder: &Path, min_free_mebibytes: u64) -> Vec<Finding> {
    const ABOUT: &str = "disk";
    let told = folder.display();
    // The nearest that is there: the server makes the rest.
    let Some(there) = folder.ancestors().find(|folder| folder.is_dir()) else {
        return vec![Finding::bad(
            ABOUT,
            format!("{told}: no part of it is there"),
            "name a folder with `data_dir` or --data",
        )];
    };
    let mut findings = Vec::new();
    match syncs(there) {
        Ok(median) if median > SLOW => findings.push(Finding::note(
            ABOUT,
            format!("{told}: a sync takes {} ms, and each answer waits for two", median.as_millis()),
            "use a local disk that syncs faster; `antiphon bench` measures it",
        )),
        Ok(median) => findings.push(Finding::good(
            ABOUT,
            format!("{told}: can be written, a sync takes {:.1} ms", median.as_secs_f64() * 1e3),
        )),
        Err(error) => findings.push(Finding::bad(
            ABOUT,
            format!("{told}: cannot be written: {error}"),
            "give it to the user that runs the server, or name another with `data_dir` or --data",
        )),
    }
    let free = free_bytes(there);
    if let Ok(free) = free {
        let mebibytes = free >> 20;
        findings.push(if mebibytes < min_free_mebibytes {
            let what = format!("{told}: {mebibytes} MiB are free, and writes are refused below {min_free_mebibytes}");
            Finding::bad(ABOUT, what, "make room; `antiphon gc` and `antiphon erase` help within the store")
        } else if mebibytes < min_free_mebibytes.saturating_mul(10) {
            let what = format!("{told}: {mebibytes} MiB are free, and writes are refused below {min_free_mebibytes}");
            Finding::note(ABOUT, what, "make room before it is needed")
        } else {
            Finding::good(ABOUT, format!("{told}: {mebibytes} MiB are free"))
        });
    }
    findings
}

/// The median time of a sync in a folder.
fn syncs(folder: &Path) -> io::Result<Duration> {
    let probe = folder.join(format!(".antiphon-doctor-{}", std::process::id()));
    let tried = (|| {
        let mut file = File::create_new(&probe)?;
        let mut took = Vec::new();
        for _ in 0..SYNCS {
            let begun = Instant::now();
            file.write_all(&[0; 4096])?;
            file.sync_data()?;
            took.push(begun.elapsed());
        }
        took.sort_unstable();
        Ok(took.get(SYNCS / 2).copied().unwrap_or_default())
    })();
    match fs::remove_file(&probe) {
        Err(error) if tried.is_ok() => Err(error),
        _ => tried,
    }
}

/// Whether others than their owner may read files with secrets; each with the key that names it.
pub fn files(files: &[(String, PathBuf)]) -> Vec<Finding> {
    const ABOUT: &str = "secrets";
    let open = |(key, file): &(String, PathBuf)| {
        // One that is not there is a mistake in the configuration, which is told as such.
        let mode = fs::metadata(file).ok()?.permissions().mode() & 0o777;
        let told = file.display();
        Some(if mode & 0o007 == 0 {
            Finding::good(ABOUT, format!("{key}: {told} is for its owner and group"))
        } else {
            let what = format!("{key}: {told} can be read by everybody on this machine (mode {mode:03o})");
            Finding::note(ABOUT, what, format!("chmod 640 {told}"))
        })
    };
    files.iter().filter_map(open).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::doctor::Verdict;

    #[test]
    fn a_folder_is_tried_and_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let verdicts =
            |path: &Path, min: u64| disk(path, min).into_iter().map(|found| found.verdict).collect::<Vec<_>>();
        assert!(verdicts(&folder.path().join("not/yet"), 0).iter().all(|verdict| *verdict != Verdict::Bad));
        assert_eq!(verdicts(folder.path(), u64::MAX).last(), Some(&Verdict::Bad));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let proc = disk(Path::new("/proc/none"), 0);
        assert_eq!((proc[0].verdict, proc[0].what.contains("cannot be written")), (Verdict::Bad, true));
    }

    #[test]
    fn files_that_everybody_can_read_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        fs::write(&file, "secret").unwrap();
        let verdict = |mode: u32| {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            files(&[("k".to_owned(), file.clone())])[0].verdict
        };
        assert_eq!((verdict(0o600), verdict(0o640), verdict(0o644)), (Verdict::Good, Verdict::Good, Verdict::Note));
    }
}
