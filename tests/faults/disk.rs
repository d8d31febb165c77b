//! Disks that end: full ones, limits on the size of a file, and syncs that fail.

use std::path::Path;
use std::process::Command;

use antiphon::grpc::pb;
use antiphon::grpc::pb::admin_service_client::AdminServiceClient;
use antiphon::grpc::pb::exchange_service_client::ExchangeServiceClient;
use antiphon::store::sled::{Config, Sled};
use antiphon::store::{Error, Health, Store};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt;

use crate::harness::{Running, child};
use crate::kill::killed_after;
use crate::load::Load;
use crate::power::{copy, model};
use crate::server::{CONFIG, Server, said};

const LOAD: Load = Load { callers: 8, bytes: 2048, kept: u64::MAX };

/// A file system in memory of the given size; none where this process may not mount one.
struct Mounted(tempfile::TempDir);

impl Mounted {
    fn new(megabytes: u32) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "antiphon-test"]).arg(dir.path());
        mount.output().is_ok_and(|mount| mount.status.success()).then(|| Self(dir))
    }

    fn remount(&self, options: &str) {
        let mount = Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(self.0.path()).status();
        assert!(mount.unwrap().success());
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Lazily, for a failing test may still have files open.
        Command::new("umount").arg("-l").arg(self.0.path()).status().ok();
    }
}

/// How a store is after a write failed.
#[derive(Clone, Copy, PartialEq)]
enum After {
    /// Whole: it takes a write if the disk does.
    Waiting,
    /// It takes none until it is opened again; reads go on.
    Settled,
    /// As well, and a write failed while a batch was applied: what shares a page with it may be unreadable.
    Torn,
}

/// Runs a child that writes until it cannot, and checks what it says then; returns what was acknowledged.
fn fill(command: &mut Command, reason: &str, after: After) -> Vec<u64> {
    let mut writer = Running::start(command.envs(LOAD.settings()));
    writer.expect("opened");
    let mut acked = LOAD.start();
    let failure = loop {
        let line = writer.expect("");
        match line.split_once(' ').map(|(caller, n)| (caller.parse::<usize>(), n.parse::<u64>())) {
            Some((Ok(caller), Ok(n))) => acked[caller] = n,
            _ if line.contains("read-only") => break line,
            _ => {}
        }
    };
    assert!(failure.contains(reason) && failure.contains("restart the server"), "{failure}");
    assert!(acked.iter().sum::<u64>() > 100, "it wrote a while before that");
    let health = writer.expect("health");
    assert!(health.starts_with("ReadOnly") && health.contains(reason), "{health}");
    for caller in 0..acked.len() {
        let reads = writer.expect("reads");
        let unsettled = after == After::Torn && reads.contains("cannot be reached");
        assert!(reads == "whole" || unsettled, "caller {caller}: {reads}");
    }
    let again = writer.expect("again");
    let (last, error) = again.split_once(' ').unwrap();
    let last: u64 = last.parse().unwrap();
    assert!(error.contains(reason), "{error}");
    assert!(last == acked[0] || after == After::Waiting, "a store that failed took another write");
    acked[0] = last;
    assert_eq!(writer.expect("closed") == "whole", after == After::Waiting);
    assert!(!writer.errors().contains("panicked"));
    acked
}

/// The store opens again, has everything, and takes writes.
async fn recovers(dir: &Path, acked: &[u64]) {
    let store = Sled::open(&Config { min_free_bytes: 0, ..Config::directory(dir) }).unwrap();
    let at = LOAD.check_all(&store, acked).await.unwrap();
    drop(store);
    killed_after(50, LOAD, &at, &mut child("write", dir));
}

// B139: a full disk broke every later write without a clear word.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_means_reads_only_until_there_is_room_again() {
    let Some(disk) = Mounted::new(48) else {
        return println!("not checked: this process may not mount a file system; the limit below stands in for it");
    };
    let data = disk.path().join("data");
    let acked = fill(&mut child("fill", &data), "No space left on device", After::Waiting);
    disk.remount("size=200m");
    recovers(&data, &acked).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn room_on_the_disk_is_enough_to_go_on() {
    let Some(disk) = Mounted::new(48) else {
        return println!("not checked: this process may not mount a file system");
    };
    let store = Sled::open(&Config { min_free_bytes: 0, ..Config::directory(disk.path().join("data")) }).unwrap();
    let mut acked = LOAD.start();
    let error = LOAD.run(&store, 0, |n| acked[0] = n).await;
    assert!(matches!(&error, Error::ReadOnly(reason) if reason.contains("No space left")), "{error}");
    assert!(matches!(store.health(), Health::ReadOnly(_)));
    disk.remount("size=80m");
    assert_eq!(store.health(), Health::Writable);
    let before = acked[0];
    LOAD.run(&store, 0, |n| acked[0] = n).await;
    assert!(acked[0] > before + 100, "it went on at once");
    LOAD.check_all(&store, &acked).await.unwrap();
}

// Health turned late, and nothing said why.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_on_a_full_disk_says_so_and_why() {
    let Some(disk) = Mounted::new(48) else {
        return println!("not checked: this process may not mount a file system");
    };
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("antiphon.toml");
    std::fs::write(&config, format!("{CONFIG}[store]\nmin_free_mebibytes = 0\n")).unwrap();
    let mut server = Server::start(&config, &disk.path().join("data")).await;
    let mut health = HealthClient::new(server.channel.clone());
    let mut watch = health.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
    let mut client = ExchangeServiceClient::new(server.channel.clone());
    let mut texts = (0..).map(|n: u64| noise(n, 1 << 19));
    let refused = loop {
        let request = pb::CaptureRequest {
            execution: Some(pb::capture_request::Execution::Request(said(&texts.next().unwrap()))),
            thread: None,
        };
        if let Err(refused) = client.capture(request).await {
            break refused;
        }
    };
    assert_eq!(refused.get_details_error_info().unwrap().reason, "STORE_READ_ONLY", "{refused}");
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::NotServing);
    let mut admin = AdminServiceClient::new(server.channel.clone());
    let info = admin.get_server_info(pb::GetServerInfoRequest {}).await.unwrap().into_inner().server_info.unwrap();
    let store = info.store.unwrap();
    assert_eq!(store.health(), pb::StoreHealth::ReadOnly);
    assert!(store.health_reason.contains("No space left on device"), "{}", store.health_reason);
    disk.remount("size=200m");
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
    server.kill();
}

/// Text that hardly compresses.
fn noise(n: u64, length: usize) -> String {
    let mut bytes = vec![0; length / 2];
    blake3::Hasher::new().update(&n.to_be_bytes()).finalize_xof().fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_may_not_grow_means_reads_only() {
    let dir = tempfile::tempdir().unwrap();
    // The shell sets the limit (in blocks of 512 bytes) and makes overstepping it an error rather than a signal.
    let direct = child("fill", dir.path());
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 60000; exec \"$0\" \"$@\""]);
    limited.arg(direct.get_program()).args(direct.get_args());
    limited.envs(direct.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let acked = fill(&mut limited, "File too large", After::Torn);
    recovers(dir.path(), &acked).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_sync_means_reads_only_until_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let mut failing = child("fill", &data);
    failing.env("LD_PRELOAD", model()).env("CUT_DIR", &data).env("CUT_IMAGE", dir.path().join("image"));
    failing.env("CUT_FAILS_AFTER", "400");
    let acked = fill(&mut failing, "Input/output error", After::Settled);
    recovers(&data, &acked).await;
}

/// Reads that fail are told. Of a store that is open nothing is lost by them.
#[tokio::test(flavor = "multi_thread")]
async fn failing_reads_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let acked = killed_after(400, LOAD, &LOAD.start(), &mut child("write", &data));
    let (mut refused, mut unreadable) = (0, 0);
    for good in (0..24).map(|step| step * step) {
        let (tried, image) = (dir.path().join(format!("tried-{good}")), dir.path().join("image"));
        copy(&data, &tried);
        let mut failing = child("read", &tried);
        failing.env("LD_PRELOAD", model()).env("CUT_DIR", &tried).env("CUT_IMAGE", &image);
        failing.env("CUT_READ_FAILS_AFTER", good.to_string());
        let mut reader = Running::start(&mut failing);
        let first = reader.lines_to_end();
        assert!(!reader.errors().contains("panicked"), "after {good} reads");
        let says =
            |word: &str| first.iter().find_map(|line| line.split_once(&format!("{word}: "))).map(|(_, rest)| rest);
        if let Some(why) = says("refused") {
            assert!(why.contains("Input/output error") || why.contains("damaged"), "after {good} reads: {why}");
            refused += 1;
            continue;
        }
        assert!(says("opened").is_some(), "{first:?}");
        if let Some(why) = says("unreadable") {
            assert!(why.contains("Input/output error"), "after {good} reads: {why}");
            unreadable += 1;
        }
        let store = Sled::open(&Config { min_free_bytes: 0, ..Config::directory(&tried) }).unwrap();
        LOAD.check_all(&store, &acked).await.unwrap_or_else(|lost| panic!("after {good} reads: {lost}"));
    }
    assert!(refused > 0 && unreadable > 0, "{refused} were refused, {unreadable} could not be read");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_cannot_be_written_is_refused_clearly() {
    let Some(disk) = Mounted::new(24) else {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
        return assert_refused(dir.path(), "Permission denied");
    };
    drop(Sled::open(&Config::directory(disk.path())).unwrap());
    disk.remount("ro");
    assert_refused(disk.path(), "Read-only file system");
}

fn assert_refused(dir: &Path, reason: &str) {
    let error = Sled::open(&Config::directory(dir)).err().expect("a store needs to write").to_string();
    assert!(error.contains(reason) && error.contains(&dir.display().to_string()), "{error}");
}

/// A sector that cannot be read, perhaps only today, is told when the store is opened, and nothing on the disk is changed by that: whatever
/// was acknowledged is there once it can be read again.
#[tokio::test(flavor = "multi_thread")]
async fn a_sector_that_cannot_be_read_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let acked = killed_after(400, LOAD, &LOAD.start(), &mut child("write", &data));
    let length = std::fs::metadata(data.join("sled/db")).unwrap().len();
    for part in 0..24 {
        let bad = length * part / 24;
        let (tried, image) = (dir.path().join(format!("tried-{part}")), dir.path().join("image"));
        copy(&data, &tried);
        let mut failing = child("read", &tried);
        failing.env("LD_PRELOAD", model()).env("CUT_DIR", &tried).env("CUT_IMAGE", &image);
        failing.env("CUT_BAD_BYTE", bad.to_string());
        let why = Running::start(&mut failing).expect("refused");
        assert!(why.contains("Input/output error"), "byte {bad}: {why}");
        let store = Sled::open(&Config { min_free_bytes: 0, ..Config::directory(&tried) })
            .unwrap_or_else(|error| panic!("byte {bad}: {error}"));
        LOAD.check_all(&store, &acked).await.unwrap_or_else(|lost| panic!("byte {bad}: {lost}"));
    }
}
