//! What the embedded store promises beyond the trait: its directory, its refusals, its reserve.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use antiphon::store::sled::{Config, Sled};
use antiphon::store::{Commit, Error, Guard, Health, Namespace, Range, Store, Write};
use bytes::Bytes;
use futures::future::join_all;
use tempfile::TempDir;

pub(crate) fn in_a_directory() -> (Arc<dyn Store>, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    (Arc::new(open(dir.path())), dir)
}

pub(crate) fn temporary() -> (Arc<dyn Store>, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    (Arc::new(Sled::open(&Config::temporary(dir.path())).unwrap()), dir)
}

fn open(dir: &Path) -> Sled {
    Sled::open(&Config::directory(dir)).unwrap()
}

fn refusal(dir: &Path) -> String {
    match Sled::open(&Config::directory(dir)) {
        Ok(_) => panic!("{} was opened", dir.display()),
        Err(error) => error.to_string(),
    }
}

fn a() -> Namespace {
    Namespace::new("a")
}

fn put(key: &[u8], value: impl Into<Bytes>) -> Write {
    Write { puts: vec![(key.to_vec(), value.into())], ..Write::default() }
}

/// The engine's own view of a closed store.
fn raw(dir: &Path) -> sled::Db {
    sled::Config::new().path(dir.join("sled")).open().unwrap()
}

#[tokio::test]
async fn everything_is_there_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for n in 0..100u8 {
        let write = put(&[n], vec![n; usize::from(n) * 300]);
        assert_eq!(store.commit(&a(), write).await.unwrap(), Commit::Done);
    }
    store.close().await.unwrap();
    assert!(
        fs::read_dir(dir.path().join("sled/blobs")).unwrap().next().is_none(),
        "no value went to a file of its own"
    );
    // Once closed, once only dropped.
    for _ in 0..2 {
        let store = open(dir.path());
        let found = store.scan(&a(), Range::prefix(b"", 1000)).await.unwrap();
        assert_eq!(found.len(), 100);
        assert!(found.iter().all(|(key, value)| *value == vec![key[0]; usize::from(key[0]) * 300]));
        assert_eq!(store.namespaces().await.unwrap(), [a()], "the store's own records are not shown");
    }
}

#[tokio::test]
async fn a_shorter_value_leaves_no_chunk_of_the_longer_one_behind() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.commit(&a(), put(b"k", vec![1; 100_000])).await.unwrap();
    store.commit(&a(), put(b"l", vec![1; 100_000])).await.unwrap();
    store.commit(&a(), put(b"k", vec![2; 5_000])).await.unwrap();
    store.commit(&a(), Write { deletes: vec![b"l".to_vec()], ..Write::default() }).await.unwrap();
    store.close().await.unwrap();
    drop(store);
    assert_eq!(raw(dir.path()).scan_prefix(b"a\0").count(), 2);
}

#[tokio::test]
async fn a_lost_chunk_is_an_error_and_can_be_overwritten_or_deleted() {
    for lost in 0..3u32 {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        store.commit(&a(), put(b"k", vec![1; 10_000])).await.unwrap();
        store.commit(&a(), put(b"l", vec![1; 10_000])).await.unwrap();
        store.commit(&a(), put(b"m", "fine")).await.unwrap();
        store.close().await.unwrap();
        drop(store);
        let db = raw(dir.path());
        for key in [&b"a\0k"[..], b"a\0l"] {
            db.remove([key, &lost.to_be_bytes()].concat()).unwrap().unwrap();
        }
        drop(db);

        let store = open(dir.path());
        let corrupt = |error: Error| matches!(&error, Error::Corrupt(text) if text.contains("antiphon verify"));
        assert!(corrupt(store.get(&a(), b"k").await.unwrap_err()), "without chunk {lost}");
        for reverse in [false, true] {
            let range = Range { reverse, ..Range::prefix(b"k", 9) };
            assert!(corrupt(store.scan(&a(), range).await.unwrap_err()), "without chunk {lost}");
        }
        let write = Write { guards: vec![Guard::Absent(b"k".to_vec())], ..put(b"k", "new") };
        assert!(corrupt(store.commit(&a(), write).await.unwrap_err()), "a guard does not guess");
        assert_eq!(store.get(&a(), b"m").await.unwrap().unwrap(), "fine", "its neighbours can be read");

        assert_eq!(store.commit(&a(), put(b"k", "new")).await.unwrap(), Commit::Done);
        let write = Write { deletes: vec![b"l".to_vec()], ..Write::default() };
        assert_eq!(store.commit(&a(), write).await.unwrap(), Commit::Done);
        let found = store.scan(&a(), Range::prefix(b"", 9)).await.unwrap();
        assert_eq!(found, vec![(b"k".to_vec(), "new".into()), (b"m".to_vec(), "fine".into())]);
        store.close().await.unwrap();
        drop(store);
        assert_eq!(raw(dir.path()).scan_prefix(b"a\0").count(), 2, "nothing is left of the damaged ones");
    }
}

#[tokio::test]
async fn a_newer_format_is_refused_with_both_numbers() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path()).close().await.unwrap();
    let db = raw(dir.path());
    db.insert(b"\0format", 7u32.to_be_bytes().to_vec()).unwrap();
    drop(db);
    let error = refusal(dir.path());
    assert!(error.contains("format 7") && error.contains("up to 1"), "{error}");

    let db = raw(dir.path());
    db.remove(b"\0format").unwrap();
    drop(db);
    assert!(refusal(dir.path()).contains("does not say which format"));
}

#[test]
fn files_beside_the_log_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    fs::write(dir.path().join("sled/blobs/12345"), b"x").unwrap();
    let error = refusal(dir.path());
    assert!(error.contains("sled/blobs") && error.contains("antiphon import"), "{error}");
    fs::remove_file(dir.path().join("sled/blobs/12345")).unwrap();
    drop(open(dir.path()));
}

#[test]
fn a_damaged_settings_file_is_named_and_can_be_moved_away() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let conf = dir.path().join("sled/conf");
    let whole = fs::read(&conf).unwrap();
    for damaged in [vec![0; whole.len()], whole[..whole.len() / 2].to_vec()] {
        fs::write(&conf, damaged).unwrap();
        let error = refusal(dir.path());
        assert!(error.contains("sled/conf") && error.contains("move it away"), "{error}");
        fs::remove_file(&conf).unwrap();
        drop(open(dir.path()));
    }
}

#[test]
fn an_unfinished_creation_is_begun_again() {
    let dir = tempfile::tempdir().unwrap();
    let fresh = dir.path().join("sled.new");
    fs::create_dir(&fresh).unwrap();
    fs::write(fresh.join("db"), [0; 1000]).unwrap();
    fs::write(fresh.join("conf"), [0; 60]).unwrap();
    drop(open(dir.path()));
    assert!(!fresh.exists() && dir.path().join("sled/db").exists());
}

#[test]
fn the_directory_is_created_for_its_owner_only() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("var/lib/antiphon");
    drop(open(&data));
    for made in [&data, &data.join("sled")] {
        assert_eq!(fs::metadata(made).unwrap().permissions().mode() & 0o077, 0, "{}", made.display());
    }
    fs::write(dir.path().join("file"), b"").unwrap();
    let error = refusal(&dir.path().join("file"));
    assert!(error.contains("file cannot be used for the store"), "{error}");
}

#[test]
fn a_second_opening_is_refused_at_once_and_harms_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let since = Instant::now();
    let error = refusal(dir.path());
    assert!(since.elapsed() < Duration::from_secs(1));
    assert!(error.contains(&dir.path().display().to_string()), "{error}");
    assert!(error.contains(&format!("in use by process {}", std::process::id())), "{error}");
    drop(store);
    drop(open(dir.path()));
}

#[tokio::test]
async fn a_temporary_store_removes_its_files() {
    let under = tempfile::tempdir().unwrap();
    let count = || fs::read_dir(under.path()).unwrap().count();
    let config = Config::temporary(under.path());
    let (one, two) = (Sled::open(&config).unwrap(), Sled::open(&config).unwrap());
    assert_eq!(count(), 2);
    one.commit(&a(), put(b"k", vec![1; 100_000])).await.unwrap();
    one.close().await.unwrap();
    assert_eq!(count(), 1, "closing removes them");
    drop(two);
    assert_eq!(count(), 0, "so does dropping");
    let error = Sled::open(&Config::temporary(under.path().join("missing"))).err().unwrap().to_string();
    assert!(error.contains("missing"), "{error}");
}

#[tokio::test]
async fn writes_stop_before_the_disk_is_full() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.commit(&a(), put(b"k", "v")).await.unwrap();
    store.close().await.unwrap();
    drop(store);

    let store = Sled::open(&Config { min_free_bytes: u64::MAX / 2, ..Config::directory(dir.path()) }).unwrap();
    let error = store.commit(&a(), put(b"k", "w")).await.unwrap_err();
    let Error::ReadOnly(reason) = &error else { panic!("{error}") };
    assert!(reason.contains("bytes are free") && reason.contains(&dir.path().display().to_string()), "{reason}");
    assert!(matches!(store.health(), Health::ReadOnly(reason) if reason.contains("bytes are free")));
    assert_eq!(store.get(&a(), b"k").await.unwrap().unwrap(), "v");
    let write = Write { guards: vec![Guard::Absent(b"k".to_vec())], ..put(b"k", "w") };
    assert!(matches!(store.commit(&a(), write).await, Ok(Commit::Refused { .. })), "a refusal needs no room");
    store.close().await.unwrap();
}

#[tokio::test]
async fn deleted_files_are_noticed_before_anything_is_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let store = open(&data);
    for n in 0..40u8 {
        store.commit(&a(), put(&[n], vec![n; 1000])).await.unwrap();
    }
    fs::remove_dir_all(&data).unwrap();
    let error = store.commit(&a(), put(&[1], "lost")).await.unwrap_err();
    assert!(matches!(&error, Error::ReadOnly(reason) if reason.contains("deleted while the server ran")), "{error}");
    assert!(matches!(store.health(), Health::ReadOnly(_)));
    // Reads go on, and show what was acknowledged.
    for n in 0..40u8 {
        assert_eq!(store.get(&a(), &[n]).await.unwrap().unwrap(), vec![n; 1000]);
    }
    assert_eq!(store.scan(&a(), Range::prefix(b"", 99)).await.unwrap().len(), 40);
    assert!(matches!(store.commit(&a(), put(&[2], "lost")).await, Err(Error::ReadOnly(_))));
    assert!(matches!(store.close().await, Err(Error::ReadOnly(_))), "closing tells that it was not whole");
}

#[tokio::test]
async fn callers_share_flushes() {
    let (store, _dir) = in_a_directory();
    // While this one is written, the others gather behind it.
    let space = a();
    let mut large = store.commit(&space, put(b"large", vec![1; 16 << 20]));
    assert!(futures::poll!(&mut large).is_pending());
    let writes = (0..640u32).map(|n| {
        let store = Arc::clone(&store);
        async move { store.commit(&a(), put(&n.to_be_bytes(), vec![1; 2048])).await.unwrap() }
    });
    assert!(join_all(writes).await.into_iter().all(|outcome| outcome == Commit::Done));
    assert_eq!(large.await.unwrap(), Commit::Done);
    let stats = store.stats();
    assert_eq!(stats.commits, 641);
    assert!(stats.groups < 320, "641 writes took {} flushes", stats.groups);
    assert!(stats.disk_bytes > 640 * 2048);
}

#[tokio::test]
async fn a_caller_that_left_has_its_write_all_the_same() {
    let (store, _dir) = in_a_directory();
    // Polled once, so that it is queued, and dropped.
    assert!(futures::poll!(Box::pin(store.commit(&a(), put(b"k", "v")))).is_pending());
    assert_eq!(store.commit(&a(), put(b"l", "w")).await.unwrap(), Commit::Done);
    assert_eq!(store.get(&a(), b"k").await.unwrap().unwrap(), "v");
}
