//! Power cuts, modelled by `powercut.c`: only what was synced is left, and some of what was not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use antiphon::store::sled::{Config, Sled, scan};
use tempfile::TempDir;

use crate::harness::{Dice, child, rounds};
use crate::kill::killed_after;
use crate::load::Load;

/// The model as a library to preload, compiled once.
pub(crate) fn model() -> &'static Path {
    static MODEL: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_dir, library) = MODEL.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let library = dir.path().join("powercut.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/powercut.c");
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-Wall", "-Wextra", "-shared", "-fPIC", "-o"]).arg(&library).arg(source);
        let compiled = cc.args(["-ldl", "-lpthread"]).output().expect("these tests need a C compiler named cc");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        (dir, library)
    });
    library
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Directories of one life: where the process writes, and what a power cut leaves of it.
fn life(under: &Path, number: u64) -> (PathBuf, PathBuf) {
    (under.join(format!("data-{number}")), under.join(format!("image-{number}")))
}

fn cut_command(data: &Path, image: &Path, early: u8) -> Command {
    let mut command = child("write", data);
    command.env("LD_PRELOAD", model()).env("CUT_DIR", data).env("CUT_IMAGE", image).env("CUT_EARLY", early.to_string());
    command
}

/// Writes, cuts the power, checks what is left; and once more on what was left.
async fn survives(early: u8, bytes: usize, callers: u16, most_acks: u64) {
    let mut dice = Dice::new("power cut");
    let load = Load { callers, bytes, kept: 12 };
    for round in 0..rounds().div_ceil(7) {
        let dir = tempfile::tempdir().unwrap();
        let mut at = load.start();
        for number in 0..2 {
            let (data, image) = life(dir.path(), number);
            if number == 0 {
                fs::create_dir(&data).unwrap();
                fs::create_dir(&image).unwrap();
            } else {
                copy(&life(dir.path(), number - 1).1, &data);
                copy(&data, &image);
            }
            let acked = killed_after(1 + dice.roll(most_acks), load, &at, &mut cut_command(&data, &image, early));
            let what = format!("{bytes} bytes, {early} % early, round {round}, life {number}");
            assert_eq!(scan(&image).unwrap(), [], "{what}: what a power cut leaves is no damage");
            let store = Sled::open(&Config::directory(&image)).unwrap_or_else(|error| panic!("{what}: {error}"));
            at = load.check_all(&store, &acked).await.unwrap_or_else(|lost| panic!("{what}: {lost}"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn small_values_survive_a_power_cut() {
    survives(0, 2 << 10, 16, 600).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn small_values_survive_a_power_cut_with_writes_in_any_order() {
    survives(50, 2 << 10, 16, 600).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_several_chunks_survive_a_power_cut() {
    survives(0, 16 << 10, 8, 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_several_chunks_survive_a_power_cut_with_writes_in_any_order() {
    survives(50, 16 << 10, 8, 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_values_survive_a_power_cut() {
    survives(0, 300 << 10, 4, 40).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_values_survive_a_power_cut_with_writes_in_any_order() {
    survives(50, 300 << 10, 4, 40).await;
}

// Without this, the tests above could pass because nothing is cut.
#[tokio::test(flavor = "multi_thread")]
async fn the_model_notices_a_disk_that_lies() {
    let dir = tempfile::tempdir().unwrap();
    let (data, image) = life(dir.path(), 0);
    fs::create_dir(&data).unwrap();
    fs::create_dir(&image).unwrap();
    let load = Load { callers: 4, bytes: 2048, kept: 12 };
    let acked = killed_after(100, load, &load.start(), cut_command(&data, &image, 0).env("CUT_LIES", "1"));
    let kept = match Sled::open(&Config::directory(&image)) {
        Ok(store) => load.check_all(&store, &acked).await.map(drop),
        Err(error) => Err(error.to_string()),
    };
    assert!(kept.is_err(), "writes that were never synced cannot be there");
}
