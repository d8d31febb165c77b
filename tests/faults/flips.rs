//! Bytes that a disk changed, anywhere in the files of a store: a verification tells, or nothing was lost.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use antiphon::grpc::pb;
use antiphon::grpc::pb::exchange_service_client::ExchangeServiceClient;
use antiphon::store::sled::{Config, Sled};
use antiphon::store::{Key, Namespace, Range, Store};
use bytes::Bytes;
use pb::capture_request;
use tonic::transport::Channel;

use crate::harness::{Dice, rounds};
use crate::server::{CONFIG, Server, said, turn};

/// Callers, and turns of each on a thread of its own: enough for a log of several segments.
const CALLERS: usize = 6;
const TURNS: usize = 40;

/// One conversation; what is said hardly compresses.
async fn talk(channel: Channel, caller: usize) {
    let mut client = ExchangeServiceClient::new(channel);
    let words = |n: usize| {
        let hash = |part: usize| blake3::hash(&[caller as u8, n as u8, part as u8]).to_hex().to_string();
        (0..40).map(hash).collect::<String>()
    };
    let name = format!("t{caller}");
    let first = pb::CaptureRequest {
        execution: Some(capture_request::Execution::Request(said(&words(0)))),
        thread: Some(capture_request::Thread::NewThread(pb::NewThread {
            thread_id: name.clone(),
            ..Default::default()
        })),
    };
    client.capture(first).await.unwrap();
    for n in 1..TURNS {
        client.r#continue(turn(&name, said(&words(n)))).await.unwrap();
    }
}

/// Everything that a store holds.
async fn everything(dir: &Path) -> BTreeMap<(Namespace, Key), Bytes> {
    let store = Sled::open(&Config { min_free_bytes: 0, ..Config::directory(dir) }).unwrap();
    let mut all = BTreeMap::new();
    for space in store.namespaces().await.unwrap() {
        let entries = store.scan(&space, Range::prefix(b"", usize::MAX)).await.unwrap();
        all.extend(entries.into_iter().map(|(key, value)| ((space.clone(), key), value)));
    }
    store.close().await.unwrap();
    all
}

/// The files of a store, but for its lock.
fn files(dir: &Path) -> Vec<PathBuf> {
    let inside = fs::read_dir(dir.join("sled")).unwrap().map(|entry| entry.unwrap().path());
    inside.filter(|path| path.is_file()).chain([dir.join("sled.mark")]).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.join("sled")).unwrap();
    for file in files(from) {
        fs::copy(&file, to.join(file.strip_prefix(from).unwrap())).unwrap();
    }
}

/// Damages a copy in one way after another; each is told, or the copy still holds everything.
async fn damaged(store: &Path, beside: &Path, dice: &mut Dice) {
    let truth = beside.join("truth");
    copy(store, &truth);
    let verified =
        Command::new(env!("CARGO_BIN_EXE_antiphon")).args(["verify", "--data"]).arg(&truth).output().unwrap();
    assert!(verified.status.success(), "nothing is wrong with it yet: {}", String::from_utf8_lossy(&verified.stdout));
    let truth = everything(&truth).await;
    let (mut told, mut whole) = (0, 0);
    for round in 0..rounds() * 2 {
        let data = beside.join("damaged");
        copy(store, &data);
        let all = files(&data);
        // Mostly the log, where nearly all is.
        let file = if round % 8 < 6 { data.join("sled/db") } else { all[dice.roll(all.len() as u64) as usize].clone() };
        let content = fs::read(&file).unwrap();
        let damage = fs::OpenOptions::new().write(true).open(&file).unwrap();
        let at = dice.roll(content.len() as u64) as usize;
        let end = (at + [1, 1, 4, 512][round as usize % 4]).min(content.len());
        let change = 1 + dice.roll(255) as u8;
        let bytes: Vec<u8> = content[at..end].iter().map(|byte| byte ^ change).collect();
        damage.write_all_at(&bytes, at as u64).unwrap();
        let mut verify = Command::new(env!("CARGO_BIN_EXE_antiphon"));
        let output = verify.args(["verify", "--data"]).arg(&data).output().unwrap();
        let place = format!("bytes {at} to {end} of {}", file.display());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!errors.contains("panicked"), "{place}: {errors}");
        match output.status.code() {
            Some(0) => {
                assert!(everything(&data).await == truth, "{place} changed, and nobody was told");
                whole += 1;
            }
            Some(1) => told += 1,
            code => panic!("{place}: {code:?} {errors}"),
        }
        fs::remove_dir_all(&data).unwrap();
    }
    println!("of {} damaged stores {told} were told and {whole} had lost nothing", told + whole);
    assert!(told > 0, "nothing was damaged in a way that shows");
    let names = fs::read_dir(beside).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().all(|name| !name.starts_with("antiphon-verify")), "a copy was left behind");
}

// A changed byte in the middle of the log lost single values without a word from anybody.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_byte_is_told_by_a_verification_or_loses_nothing() {
    let mut dice = Dice::new("changed bytes");
    let folder = tempfile::tempdir().unwrap();
    let (config, data) = (folder.path().join("antiphon.toml"), folder.path().join("data"));
    fs::write(&config, CONFIG).unwrap();
    let mut server = Server::start(&config, &data).await;
    futures::future::join_all((0..CALLERS).map(|caller| talk(server.channel.clone(), caller))).await;
    server.kill();
    let log = fs::metadata(data.join("sled/db")).unwrap().len();
    assert!(log > 3 << 19, "a log of {log} bytes has no middle");
    // As it was killed, when all of it is read from the log; and opened since, when a snapshot says where things are.
    let beside = folder.path().join("killed");
    fs::create_dir(&beside).unwrap();
    damaged(&data, &beside, &mut dice).await;
    drop(everything(&data).await);
    let beside = folder.path().join("opened");
    fs::create_dir(&beside).unwrap();
    damaged(&data, &beside, &mut dice).await;
}
