//! Numbers and messages of the log, and what of its damage is seen.

use super::*;
use crate::store::sled::{Config, Sled};
use crate::store::{Namespace, Store, Write};

#[test]
fn numbers_of_every_length_are_read() {
    let cases: [(&[u8], u64); 7] = [
        (&[240], 240),
        (&[241, 0], 240),
        (&[248, 255], 2287),
        (&[249, 0, 1], 2289),
        (&[250, 0, 0, 1], 1 << 16),
        (&[251, 1, 0, 0, 1], (1 << 24) + 1),
        (&[255, 0, 0, 0, 0, 0, 0, 0, 1], 1 << 56),
    ];
    for (bytes, value) in cases {
        assert_eq!(number(bytes), Some((value, &[][..])), "{bytes:?}");
        assert_eq!(number(bytes.split_last().unwrap().1), None);
    }
}

/// A closed store of several segments.
async fn written(dir: &Path, rounds: u64) {
    let store = Sled::open(&Config { min_free_bytes: 0, ..Config::directory(dir) }).unwrap();
    let ns = Namespace::new("n");
    for n in 0..rounds {
        let put = |key: u64| {
            let value = blake3::hash(&(n * 1000 + key).to_be_bytes()).as_bytes().repeat(100);
            ((key * 7).to_be_bytes().to_vec(), bytes::Bytes::from(value))
        };
        let write = Write { puts: (0..40).map(put).collect(), ..Write::default() };
        store.commit(&ns, write).await.unwrap();
    }
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_log_has_no_damage_also_when_its_segments_were_used_again() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..4 {
        written(dir.path(), 40).await;
        assert_eq!(scan(dir.path()).unwrap(), []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_changed_byte_of_a_message_or_header_before_the_end_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    // How many segments there are depends on when the engine uses old ones again.
    let (whole, log, bytes, before) = loop {
        written(dir.path(), 60).await;
        let path = dir.path().join("sled/db");
        let whole = fs::read(&path).unwrap();
        let log = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let bytes = segment_size(&dir.path().join("sled")).unwrap();
        let size = usize::try_from(bytes).unwrap();
        let heads: Vec<_> = (0..whole.len()).step_by(size).map(|at| (at, header(&log, at as u64).unwrap())).collect();
        let stable = heads.iter().filter_map(|(_, head)| match head {
            Head::Whole { stable, .. } => Some(*stable),
            _ => None,
        });
        let stable = stable.max().unwrap() / bytes * bytes;
        // Where the end of the log is, a crash may have left the same.
        let is_before = |head: &Head| head.begin().is_some_and(|begin| begin < stable);
        let before: Vec<usize> = heads.iter().filter(|(_, head)| is_before(head)).map(|(at, _)| *at).collect();
        if before.len() >= 3 {
            break (whole, log, bytes, before);
        }
    };
    let size = usize::try_from(bytes).unwrap();
    let places = before
        .iter()
        .take(2)
        .flat_map(|at| (0..40).chain((40..size - MESSAGE_HEADER).step_by(9973)).map(move |n| at + n));
    for at in places {
        log.write_all_at(&[!whole[at]], at as u64).unwrap();
        let found = scan(dir.path()).unwrap();
        assert_eq!(found.len(), 1, "byte {at}: {found:?}");
        assert_eq!((found[0].file, found[0].at / bytes), ("sled/db", at as u64 / bytes));
        log.write_all_at(&[whole[at]], at as u64).unwrap();
    }
    assert_eq!(scan(dir.path()).unwrap(), []);
    fs::write(mark::path(dir.path()), [7; 16]).unwrap();
    assert_eq!(scan(dir.path()).unwrap()[0].file, "sled.mark");
}

#[test]
fn a_segment_that_was_being_used_anew_is_not_damaged() {
    let message = |segment: u8, content: &[u8]| {
        let head = [10, u8::try_from(content.len()).unwrap(), segment, 3];
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(content);
        hasher.update(&head);
        [&(!hasher.finalize()).to_le_bytes()[..], &head, content].concat()
    };
    let old = message(5, &[1; 100]);
    let segment = |rest: &[u8]| [&[0; SEGMENT_HEADER], old.as_slice(), rest, &[0; 200]].concat();
    let torn = segment(&old[..60]);
    assert_eq!(messages(&torn, 5, 9).map(|(at, _)| at), Some(SEGMENT_HEADER + old.len()));
    let anew = segment(&[&old[..60], &message(8, &[2; 50])].concat());
    assert_eq!(messages(&anew, 5, 9), None);
    assert!(messages(&anew, 5, 7).is_some(), "a number that no segment has yet");
}
