//! Scans: their order, their bounds, and a long random comparison with a map.

use std::collections::BTreeMap;
use std::ops::Bound;

use antiphon::store::{Commit, Guard, Range, Write};
use bytes::Bytes;

use super::values::pattern;
use super::{Shared, done, keys, ns, put, value};

/// Where a range begins and ends, its limit, and the keys in it.
type Case<'a> = (Bound<&'a str>, Bound<&'a str>, usize, &'a [&'a str]);

fn between(from: Bound<&str>, to: Bound<&str>, limit: usize, reverse: bool) -> Range {
    let bytes = |bound: Bound<&str>| bound.map(|key| key.as_bytes().to_vec());
    Range { from: bytes(from), to: bytes(to), limit, reverse }
}

pub(crate) async fn ranges_keep_order_bounds_and_limit(store: Shared) {
    use Bound::{Excluded, Included, Unbounded};
    let a = ns("a");
    // Written out of order; "c" is long enough to be stored in pieces.
    for (key, size) in [("d", 1), ("b", 5), ("a", 0), ("c", 9000), ("e", 3)] {
        done(&store, &a, put(key, vec![key.as_bytes()[0]; size])).await;
    }
    let all = keys(&store, &a, between(Unbounded, Unbounded, 100, false)).await;
    assert_eq!(all, ["a", "b", "c", "d", "e"]);
    let cases: [Case<'_>; 12] = [
        (Included("b"), Included("d"), 9, &["b", "c", "d"]),
        (Excluded("b"), Included("d"), 9, &["c", "d"]),
        (Included("b"), Excluded("d"), 9, &["b", "c"]),
        (Excluded("b"), Excluded("d"), 9, &["c"]),
        (Unbounded, Included("c"), 9, &["a", "b", "c"]),
        (Excluded("c"), Unbounded, 9, &["d", "e"]),
        (Included("c"), Included("c"), 9, &["c"]),
        (Excluded("c"), Excluded("c"), 9, &[]),
        (Included("c"), Excluded("c"), 9, &[]),
        (Included("d"), Included("b"), 9, &[]),
        (Included("x"), Unbounded, 9, &[]),
        (Unbounded, Unbounded, 0, &[]),
    ];
    for (from, to, limit, expected) in cases {
        assert_eq!(keys(&store, &a, between(from, to, limit, false)).await, expected, "{from:?} to {to:?}");
        let mut backwards = expected.to_vec();
        backwards.reverse();
        assert_eq!(keys(&store, &a, between(from, to, limit, true)).await, backwards, "{from:?} to {to:?}, reversed");
    }
    assert_eq!(keys(&store, &a, between(Unbounded, Unbounded, 2, false)).await, ["a", "b"]);
    assert_eq!(keys(&store, &a, between(Unbounded, Unbounded, 3, true)).await, ["e", "d", "c"]);
    let found = store.scan(&a, between(Unbounded, Included("c"), 1, true)).await.unwrap();
    assert_eq!(found, vec![(b"c".to_vec(), Bytes::from(vec![b'c'; 9000]))], "whole in either direction");
}

pub(crate) async fn bounds_need_not_be_keys(store: Shared) {
    use Bound::{Excluded, Included, Unbounded};
    let a = ns("a");
    for (key, size) in [("ka", 10), ("kb", 9000), ("kc", 10)] {
        done(&store, &a, put(key, vec![1; size])).await;
    }
    // "The next after kb" and the like: longer than the key, and shorter.
    for tail in ["\0", "\0\0\0\0", "\0\0\0\u{1}", "\0\0\0\0\0", "~"] {
        let after = format!("kb{tail}");
        for (after, before) in
            [(Included(after.as_str()), Excluded(after.as_str())), (Excluded(&after), Included(&after))]
        {
            assert_eq!(keys(&store, &a, between(after, Unbounded, 9, false)).await, ["kc"], "{tail:?}");
            assert_eq!(keys(&store, &a, between(after, Unbounded, 9, true)).await, ["kc"], "{tail:?}");
            assert_eq!(keys(&store, &a, between(Unbounded, before, 9, false)).await, ["ka", "kb"], "{tail:?}");
            assert_eq!(keys(&store, &a, between(Unbounded, before, 9, true)).await, ["kb", "ka"], "{tail:?}");
        }
    }
    assert_eq!(keys(&store, &a, between(Included("k"), Unbounded, 9, false)).await, ["ka", "kb", "kc"]);
    assert_eq!(keys(&store, &a, between(Excluded("k"), Unbounded, 9, true)).await, ["kc", "kb", "ka"]);
    assert!(keys(&store, &a, between(Unbounded, Included("k"), 9, true)).await.is_empty());
}

pub(crate) async fn prefixes_end_where_they_should(store: Shared) {
    let a = ns("a");
    for key in [&b"p\xfe1"[..], b"p\xff1", b"p\xff\xff", b"q01", b"\xff\xff1"] {
        done(&store, &a, put(key, "v")).await;
    }
    let count = async |prefix: &[u8]| store.scan(&a, Range::prefix(prefix, 99)).await.unwrap().len();
    assert_eq!(count(b"p").await, 3);
    assert_eq!(count(b"p\xff").await, 2);
    assert_eq!(count(b"\xff").await, 1);
    assert_eq!(count(b"\xff\xff").await, 1);
    assert_eq!(count(b"r").await, 0);
    assert_eq!(count(b"").await, 5);
}

/// A small generator, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn key(&mut self) -> Vec<u8> {
        format!("key-{:03}", self.roll(200)).into_bytes()
    }

    fn bound(&mut self) -> Bound<Vec<u8>> {
        match self.roll(5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(self.key()),
            _ => Bound::Excluded(self.key()),
        }
    }
}

pub(crate) async fn agrees_with_a_map(store: Shared) {
    let a = ns("a");
    let mut dice = Dice(0x5eed);
    let mut map: BTreeMap<Vec<u8>, Bytes> = BTreeMap::new();
    for step in 0..600u64 {
        let mut write = Write::default();
        for _ in 0..dice.roll(6) {
            let size = [0, 20, 2000, 5000, 30_000][dice.roll(5) as usize];
            write.puts.push((dice.key(), pattern(size, step)));
        }
        write.deletes = (0..dice.roll(5)).map(|_| dice.key()).collect();
        let key = dice.key();
        match dice.roll(3) {
            0 => write.guards.push(Guard::Absent(key)),
            1 => write.guards.push(Guard::Present(key)),
            _ => {}
        }
        let holds = write.guards.iter().all(|guard| match guard {
            Guard::Absent(key) => !map.contains_key(key),
            Guard::Present(key) => map.contains_key(key),
            Guard::Is(..) => unreachable!(),
        });
        assert_eq!(store.commit(&a, write.clone()).await.unwrap() == Commit::Done, holds, "step {step}");
        if holds {
            write.deletes.iter().for_each(|key| drop(map.remove(key)));
            map.extend(write.puts);
        }
        let range = Range {
            from: dice.bound(),
            to: dice.bound(),
            limit: [1, 7, 64, 65, 1000][dice.roll(5) as usize],
            reverse: dice.roll(2) == 1,
        };
        let inside = |key: &&Vec<u8>| {
            (match &range.from {
                Bound::Included(from) => *key >= from,
                Bound::Excluded(from) => *key > from,
                Bound::Unbounded => true,
            }) && (match &range.to {
                Bound::Included(to) => *key <= to,
                Bound::Excluded(to) => *key < to,
                Bound::Unbounded => true,
            })
        };
        let mut expected: Vec<_> =
            map.iter().filter(|(key, _)| inside(key)).map(|(k, v)| (k.clone(), v.clone())).collect();
        if range.reverse {
            expected.reverse();
        }
        expected.truncate(range.limit);
        let found = store.scan(&a, range.clone()).await.unwrap();
        assert!(found == expected, "step {step}: {range:?} differs");
        let key = dice.key();
        assert!(value(&store, &a, &key).await.as_ref() == map.get(&key), "step {step}");
    }
}
