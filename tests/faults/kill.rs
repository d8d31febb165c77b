//! kill -9 at any moment of heavy writing, over and over on one directory.

use std::fs;

use antiphon::store::Store;
use antiphon::store::sled::{Config, Sled, scan};

use crate::harness::{Dice, Running, child, rounds};
use crate::load::Load;

/// Starts a child that goes on from `at`, kills it after so many acknowledgements, and returns the last one of each
/// caller.
pub(crate) fn killed_after(acks: u64, load: Load, at: &[u64], command: &mut std::process::Command) -> Vec<u64> {
    let mut writer = Running::start(command.envs(load.settings()));
    writer.expect("opened");
    let mut acked = at.to_vec();
    let mut heard = 0;
    // After the kill, what it said before is still in the pipe, and counts.
    while let Some(line) = writer.hear("ack") {
        // The last line may be cut in two; its write was acknowledged all the same, but not to anybody.
        if let Some((Ok(caller), Ok(n))) = line.split_once(' ').map(|(c, n)| (c.parse::<usize>(), n.parse::<u64>())) {
            acked[caller] = n.max(acked[caller]);
        }
        heard += 1;
        if heard == acks {
            writer.kill();
        }
    }
    assert!(heard >= acks, "the child ended by itself after {heard} writes: {}", writer.errors());
    acked
}

// B130: an abrupt stop left stores that did not open again, and temporary files that kept them from it.
#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_writes_survive_kill_9() {
    let mut dice = Dice::new("kill -9");
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let load = Load { callers: 16, bytes: 2048, kept: 12 };
    let mut at = load.start();
    for round in 0..rounds() {
        let acked = killed_after(1 + dice.roll(1500), load, &at, &mut child("write", &data));
        assert_eq!(scan(&data).unwrap(), [], "round {round}: what kill -9 leaves is no damage");
        let home = data.join("sled");
        if round % 2 == 0 {
            // A crash while the engine wrote a snapshot leaves a file that it would not open beside.
            fs::write(home.join("snap.00000000FFFFFFFF.generating"), b"").unwrap();
            let log = fs::read(home.join("db")).unwrap();
            fs::write(home.join("snap.0000000000000001.generating"), &log[..log.len().min(70_000)]).unwrap();
        }
        let store = Sled::open(&Config::directory(&data)).unwrap_or_else(|error| panic!("round {round}: {error}"));
        at = load.check_all(&store, &acked).await.unwrap_or_else(|what| panic!("round {round}: {what}"));
        store.close().await.unwrap();
        let left = fs::read_dir(&home).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(left.into_iter().all(|name| !name.ends_with(".generating")), "round {round}");
    }
    println!("{} acknowledged writes, none lost", at.iter().sum::<u64>());
}

#[tokio::test(flavor = "multi_thread")]
async fn large_values_survive_kill_9() {
    let mut dice = Dice::new("kill -9, large values");
    let dir = tempfile::tempdir().unwrap();
    let load = Load { callers: 4, bytes: 300 << 10, kept: 12 };
    let mut at = load.start();
    for round in 0..rounds().div_ceil(4) {
        let acked = killed_after(1 + dice.roll(60), load, &at, &mut child("write", dir.path()));
        assert_eq!(scan(dir.path()).unwrap(), [], "round {round}: what kill -9 leaves is no damage");
        let store = Sled::open(&Config::directory(dir.path())).unwrap();
        at = load.check_all(&store, &acked).await.unwrap_or_else(|what| panic!("round {round}: {what}"));
    }
}
