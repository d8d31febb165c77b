//! What every store must do, one function a promise. It knows only the trait.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use antiphon::store::{Commit, Error, Guard, Health, Namespace, Range, Store, Write};
use bytes::Bytes;
use futures::future::join_all;

type Shared = Arc<dyn Store>;

/// Long enough for a slow disk, short enough to tell a deadlock.
const PATIENCE: Duration = Duration::from_secs(60);

fn ns(name: &str) -> Namespace {
    Namespace::new(name)
}

fn put(key: impl AsRef<[u8]>, value: impl Into<Bytes>) -> Write {
    Write { puts: vec![(key.as_ref().to_vec(), value.into())], ..Write::default() }
}

fn delete(key: impl AsRef<[u8]>) -> Write {
    Write { deletes: vec![key.as_ref().to_vec()], ..Write::default() }
}

fn guarded(guards: Vec<Guard>, write: Write) -> Write {
    Write { guards, ..write }
}

async fn done(store: &Shared, space: &Namespace, write: Write) {
    assert_eq!(store.commit(space, write).await.unwrap(), Commit::Done);
}

async fn value(store: &Shared, space: &Namespace, key: impl AsRef<[u8]>) -> Option<Bytes> {
    store.get(space, key.as_ref()).await.unwrap()
}

async fn keys(store: &Shared, space: &Namespace, range: Range) -> Vec<String> {
    let found = store.scan(space, range).await.unwrap();
    found.into_iter().map(|(key, _)| String::from_utf8(key).unwrap()).collect()
}

fn between(from: Bound<&str>, to: Bound<&str>, limit: usize, reverse: bool) -> Range {
    let bytes = |bound: Bound<&str>| bound.map(|key| key.as_bytes().to_vec());
    Range { from: bytes(from), to: bytes(to), limit, reverse }
}

pub(crate) async fn absent_keys_have_no_value(store: Shared) {
    let a = ns("a");
    assert_eq!(value(&store, &a, "k").await, None);
    assert!(keys(&store, &a, Range::prefix(b"", 10)).await.is_empty());
    assert!(store.namespaces().await.unwrap().is_empty());
    assert_eq!(store.health(), Health::Writable);
    done(&store, &a, delete("k")).await;
    assert_eq!(value(&store, &a, "k").await, None);
}

pub(crate) async fn a_write_is_seen_by_the_next_call(store: Shared) {
    let a = ns("a");
    for round in 0..50u32 {
        done(&store, &a, put("k", round.to_be_bytes().to_vec())).await;
        assert_eq!(value(&store, &a, "k").await.unwrap(), round.to_be_bytes().as_slice());
        let found = store.scan(&a, Range::prefix(b"k", 2)).await.unwrap();
        assert_eq!(found, vec![(b"k".to_vec(), Bytes::copy_from_slice(&round.to_be_bytes()))]);
    }
    done(&store, &a, delete("k")).await;
    assert_eq!(value(&store, &a, "k").await, None);
    assert!(keys(&store, &a, Range::prefix(b"", 10)).await.is_empty());
}

pub(crate) async fn any_bytes_may_be_in_keys_and_values(store: Shared) {
    let a = ns("a");
    let all: Vec<Vec<u8>> = [&[0u8, 0, 1][..], &[0, 1, 0], &[1, 0, 0], &[1, 255, 255], &[255, 0, 0], &[255, 255, 255]]
        .iter()
        .map(|key| key.to_vec())
        .collect();
    for key in &all {
        done(&store, &a, put(key, key.repeat(3))).await;
    }
    done(&store, &a, put([255, 255, 0], Bytes::new())).await;
    assert_eq!(value(&store, &a, [255, 255, 0]).await, Some(Bytes::new()), "an empty value is a value");
    let found = store.scan(&a, Range::prefix(b"", 100)).await.unwrap();
    let sorted: BTreeSet<Vec<u8>> = all.iter().cloned().chain([vec![255, 255, 0]]).collect();
    assert_eq!(found.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>(), sorted.into_iter().collect::<Vec<_>>());
    for key in &all {
        assert_eq!(value(&store, &a, key).await.unwrap(), key.repeat(3));
    }
}

pub(crate) async fn guards_tell_what_they_found(store: Shared) {
    let a = ns("a");
    let key = || b"k".to_vec();
    let one = Bytes::from_static(b"one");
    let refused = |guard, found: Option<&Bytes>| Commit::Refused { guard, found: found.cloned() };

    for guard in [Guard::Present(key()), Guard::Is(key(), one.clone())] {
        let write = guarded(vec![Guard::Absent(key()), guard], put("k", "never"));
        assert_eq!(store.commit(&a, write).await.unwrap(), refused(1, None));
    }
    done(&store, &a, guarded(vec![Guard::Absent(key())], put("k", one.clone()))).await;

    let write = guarded(vec![Guard::Absent(key())], put("k", "never"));
    assert_eq!(store.commit(&a, write).await.unwrap(), refused(0, Some(&one)));
    let write = guarded(vec![Guard::Present(key()), Guard::Is(key(), Bytes::from_static(b"other"))], delete("k"));
    assert_eq!(store.commit(&a, write).await.unwrap(), refused(1, Some(&one)));
    assert_eq!(value(&store, &a, "k").await, Some(one.clone()));

    let write = guarded(vec![Guard::Present(key()), Guard::Is(key(), one.clone())], put("k", "two"));
    done(&store, &a, write).await;
    // Guards see what was there before the write, not what the write itself does.
    done(&store, &a, guarded(vec![Guard::Is(key(), Bytes::from_static(b"two"))], delete("k"))).await;
    assert_eq!(value(&store, &a, "k").await, None);

    // A guard on a large value compares all of it.
    let mut large = vec![7u8; 20_000];
    done(&store, &a, put("k", large.clone())).await;
    let before = Bytes::from(large.clone());
    if let Some(last) = large.last_mut() {
        *last = 8;
    }
    let write = guarded(vec![Guard::Is(key(), Bytes::from(large))], put("k", "never"));
    assert_eq!(store.commit(&a, write).await.unwrap(), refused(0, Some(&before)));
    done(&store, &a, guarded(vec![Guard::Is(key(), before)], put("k", "small"))).await;
}

pub(crate) async fn a_refused_write_changes_nothing(store: Shared) {
    let a = ns("a");
    done(&store, &a, put("there", "1")).await;
    let write = Write {
        guards: vec![Guard::Present(b"there".to_vec()), Guard::Present(b"missing".to_vec())],
        puts: vec![(b"new".to_vec(), Bytes::from_static(b"x")), (b"there".to_vec(), Bytes::from_static(b"2"))],
        deletes: vec![b"there".to_vec()],
    };
    assert_eq!(store.commit(&a, write).await.unwrap(), Commit::Refused { guard: 1, found: None });
    assert_eq!(value(&store, &a, "there").await.unwrap(), "1");
    assert_eq!(keys(&store, &a, Range::prefix(b"", 10)).await, ["there"]);
}

pub(crate) async fn deletes_come_before_puts_and_the_last_put_wins(store: Shared) {
    let a = ns("a");
    done(&store, &a, put("k1", "old")).await;
    done(&store, &a, put("k2", "old")).await;
    let write = Write {
        guards: Vec::new(),
        puts: vec![
            (b"k1".to_vec(), Bytes::from_static(b"first")),
            (b"k3".to_vec(), Bytes::from_static(b"third")),
            (b"k1".to_vec(), Bytes::from_static(b"last")),
        ],
        deletes: vec![b"k1".to_vec(), b"k2".to_vec(), b"k9".to_vec()],
    };
    done(&store, &a, write).await;
    assert_eq!(value(&store, &a, "k1").await.unwrap(), "last");
    assert_eq!(keys(&store, &a, Range::prefix(b"k", 10)).await, ["k1", "k3"]);
}

pub(crate) async fn a_write_of_nothing_is_done(store: Shared) {
    let a = ns("a");
    done(&store, &a, Write::default()).await;
    done(&store, &a, guarded(vec![Guard::Absent(b"k".to_vec())], Write::default())).await;
    let write = guarded(vec![Guard::Present(b"k".to_vec())], Write::default());
    assert_eq!(store.commit(&a, write).await.unwrap(), Commit::Refused { guard: 0, found: None });
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
    let cases: [(Bound<&str>, Bound<&str>, usize, &[&str]); 12] = [
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

pub(crate) async fn namespaces_are_walls(store: Shared) {
    let names = ["a", "a-", "a-b", "a_b", "ab", "b"].map(ns);
    for name in &names {
        done(&store, name, put("k1", name.as_str().to_owned())).await;
        done(&store, name, put("k2", name.as_str().to_owned())).await;
    }
    for name in &names {
        assert_eq!(value(&store, name, "k1").await.unwrap(), name.as_str());
        for reverse in [false, true] {
            let found = store.scan(name, Range { reverse, ..Range::prefix(b"", 99) }).await.unwrap();
            assert_eq!(found.len(), 2);
            assert!(found.iter().all(|(_, value)| value == name.as_str()), "{name} sees only its own");
        }
    }
    // What happens in one is not seen, guarded or blocked in another.
    done(&store, &names[0], guarded(vec![Guard::Absent(b"k3".to_vec())], put("k3", "x"))).await;
    done(&store, &names[2], guarded(vec![Guard::Absent(b"k3".to_vec())], delete("k1"))).await;
    assert_eq!(value(&store, &names[0], "k1").await.unwrap(), "a");
    assert_eq!(value(&store, &ns("a-bc"), "k1").await, None);
}

pub(crate) async fn namespaces_are_listed_while_they_hold_anything(store: Shared) {
    for name in ["b", "a-b", "a", "ab"] {
        done(&store, &ns(name), put("k", "v")).await;
    }
    assert_eq!(store.namespaces().await.unwrap(), ["a", "a-b", "ab", "b"].map(ns));
    done(&store, &ns("a-b"), delete("k")).await;
    assert_eq!(store.namespaces().await.unwrap(), ["a", "ab", "b"].map(ns));
}

/// Bytes that show any piece that is lost, doubled or out of place.
fn pattern(length: usize, seed: u64) -> Bytes {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_be_bytes());
    }
    bytes.truncate(length);
    Bytes::from(bytes)
}

pub(crate) async fn large_values_come_back_whole(store: Shared) {
    let a = ns("a");
    let sizes = [4096, 65_536, 131_072, 1 << 20, 10 << 20];
    for (n, size) in (0u64..).zip(sizes) {
        done(&store, &a, put([b'k', n as u8], pattern(size, n))).await;
    }
    for (n, size) in (0u64..).zip(sizes) {
        assert!(value(&store, &a, [b'k', n as u8]).await.unwrap() == pattern(size, n), "{size} bytes");
    }
    for reverse in [false, true] {
        let found = store.scan(&a, Range { reverse, ..Range::prefix(b"k", 99) }).await.unwrap();
        assert_eq!(found.len(), sizes.len());
        for (key, value) in found {
            let n = u64::from(key[1]);
            assert!(value == pattern(sizes[n as usize], n), "entry {n}, reversed: {reverse}");
        }
    }
    // Many large values in one write are one write.
    let many =
        Write { puts: (0..8).map(|n| (vec![b'm', n], pattern(700_000, n.into()))).collect(), ..Write::default() };
    done(&store, &a, many).await;
    assert_eq!(store.scan(&a, Range::prefix(b"m", 99)).await.unwrap().len(), 8);
}

pub(crate) async fn a_value_may_grow_and_shrink(store: Shared) {
    let a = ns("a");
    done(&store, &a, put("j", "before")).await;
    done(&store, &a, put("l", "behind")).await;
    for (n, size) in (0u64..).zip([10, 50_000, 4092, 4093, 0, 300_000, 8188, 1]) {
        done(&store, &a, put("k", pattern(size, n))).await;
        assert!(value(&store, &a, "k").await.unwrap() == pattern(size, n), "{size} bytes");
        assert_eq!(keys(&store, &a, Range::prefix(b"", 9)).await, ["j", "k", "l"], "after {size} bytes");
    }
    done(&store, &a, delete("k")).await;
    done(&store, &a, put("k", "small again")).await;
    assert_eq!(value(&store, &a, "k").await.unwrap(), "small again");
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

pub(crate) async fn one_of_many_racing_writers_wins(store: Shared) {
    let a = ns("a");
    for round in 0..20 {
        let key = format!("claim-{round:02}").into_bytes();
        let racers = (0..32u8).map(|n| {
            let (store, a, key) = (Arc::clone(&store), a.clone(), key.clone());
            tokio::spawn(async move {
                let write = Write {
                    guards: vec![Guard::Absent(key.clone())],
                    puts: vec![(key, Bytes::from(vec![n])), (format!("by-{round:02}-{n:02}").into(), Bytes::new())],
                    deletes: Vec::new(),
                };
                (n, store.commit(&a, write).await.unwrap())
            })
        });
        let outcomes: Vec<(u8, Commit)> = join_all(racers).await.into_iter().map(Result::unwrap).collect();
        let winners: Vec<u8> = outcomes.iter().filter(|(_, c)| *c == Commit::Done).map(|(n, _)| *n).collect();
        assert_eq!(winners.len(), 1, "round {round}: {outcomes:?}");
        let won = Bytes::from(winners.clone());
        assert_eq!(value(&store, &a, &key).await.as_ref(), Some(&won));
        for (n, outcome) in &outcomes {
            if *n != winners[0] {
                assert_eq!(*outcome, Commit::Refused { guard: 0, found: Some(won.clone()) });
            }
        }
        let traces = keys(&store, &a, Range::prefix(format!("by-{round:02}").as_bytes(), 99)).await;
        assert_eq!(traces, [format!("by-{round:02}-{:02}", winners[0])], "the losers left nothing");
    }
}

pub(crate) async fn compare_and_set_loses_no_update(store: Shared) {
    const CALLERS: u64 = 16;
    const TIMES: u64 = 20;
    let a = ns("a");
    done(&store, &a, put("n", 0u64.to_be_bytes().to_vec())).await;
    let callers = (0..CALLERS).map(|_| {
        let (store, a) = (Arc::clone(&store), a.clone());
        tokio::spawn(async move {
            let mut seen = store.get(&a, b"n").await.unwrap().unwrap();
            let mut moved = 0;
            while moved < TIMES {
                let next = u64::from_be_bytes(seen.as_ref().try_into().unwrap()) + 1;
                let next = Bytes::copy_from_slice(&next.to_be_bytes());
                let write = guarded(vec![Guard::Is(b"n".to_vec(), seen.clone())], put("n", next.clone()));
                match store.commit(&a, write).await.unwrap() {
                    Commit::Done => {
                        moved += 1;
                        seen = next;
                    }
                    Commit::Refused { found, .. } => seen = found.unwrap(),
                }
            }
        })
    });
    for caller in join_all(callers).await {
        caller.unwrap();
    }
    assert_eq!(value(&store, &a, "n").await.unwrap(), (CALLERS * TIMES).to_be_bytes().as_slice());
}

pub(crate) async fn many_committers_make_progress(store: Shared) {
    let a = ns("a");
    let callers = (0..64u32).map(|caller| {
        let (store, a) = (Arc::clone(&store), a.clone());
        tokio::spawn(async move {
            for n in 0..20u32 {
                let key = [caller.to_be_bytes(), n.to_be_bytes()].concat();
                done(&store, &a, put(&key, pattern(2048, u64::from(caller)))).await;
                assert!(value(&store, &a, &key).await.is_some());
                store.scan(&a, Range::prefix(&caller.to_be_bytes(), 5)).await.unwrap();
            }
        })
    });
    let all = tokio::time::timeout(PATIENCE, join_all(callers)).await.expect("64 callers are not done in a minute");
    all.into_iter().for_each(|caller| caller.unwrap());
    assert_eq!(store.scan(&a, Range::prefix(b"", 10_000)).await.unwrap().len(), 64 * 20);
}

pub(crate) async fn no_reader_sees_half_a_value(store: Shared) {
    let a = ns("a");
    done(&store, &a, put("k", vec![0u8; 20_000])).await;
    let stop = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|reader| {
            let (store, a, stop) = (Arc::clone(&store), a.clone(), Arc::clone(&stop));
            tokio::spawn(async move {
                let mut reads = 0u32;
                while !stop.load(Ordering::Relaxed) || reads == 0 {
                    let whole = if reader == 0 {
                        value(&store, &a, "k").await.unwrap()
                    } else {
                        let range = Range { reverse: reader == 2, ..Range::prefix(b"k", 9) };
                        store.scan(&a, range).await.unwrap().pop().unwrap().1
                    };
                    let size = if whole[0] % 2 == 0 { 20_000 } else { 9_000 };
                    assert!(whole.iter().all(|byte| *byte == whole[0]) && whole.len() == size, "a value was torn");
                    reads += 1;
                }
            })
        })
        .collect();
    for n in 1..=200u8 {
        done(&store, &a, put("k", vec![n; if n % 2 == 0 { 20_000 } else { 9_000 }])).await;
    }
    stop.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.await.unwrap();
    }
}

pub(crate) async fn refusals_rest_on_what_can_be_read(store: Shared) {
    let a = ns("a");
    let callers = (0..16u8).map(|caller| {
        let (store, a) = (Arc::clone(&store), a.clone());
        tokio::spawn(async move {
            for n in 0..30u8 {
                let write = guarded(vec![Guard::Absent(vec![n])], put([n], vec![caller]));
                if let Commit::Refused { found, .. } = store.commit(&a, write).await.unwrap() {
                    assert_eq!(value(&store, &a, [n]).await, found, "what a refusal names is there");
                }
            }
        })
    });
    for caller in join_all(callers).await {
        caller.unwrap();
    }
}

pub(crate) async fn counts_what_it_acknowledged(store: Shared) {
    let a = ns("a");
    let before = store.stats();
    let callers = (0..40u32).map(|n| {
        let (store, a) = (Arc::clone(&store), a.clone());
        async move { done(&store, &a, put(n.to_be_bytes(), "v")).await }
    });
    join_all(callers).await;
    let write = guarded(vec![Guard::Present(b"missing".to_vec())], Write::default());
    store.commit(&a, write).await.unwrap();
    let after = store.stats();
    assert_eq!(after.commits - before.commits, 40, "refusals are not acknowledged writes");
    assert!((1..=40).contains(&(after.groups - before.groups)));
}

pub(crate) async fn closes_once_and_for_all(store: Shared) {
    let a = ns("a");
    done(&store, &a, put("k", "v")).await;
    // What was taken before is still made durable and answered.
    let under_way: Vec<_> = (0..20u8)
        .map(|n| {
            let (store, a) = (Arc::clone(&store), a.clone());
            tokio::spawn(async move { store.commit(&a, put([n], "v")).await })
        })
        .collect();
    store.close().await.unwrap();
    for write in under_way {
        assert!(matches!(write.await.unwrap(), Ok(Commit::Done) | Err(Error::Closed)));
    }
    assert!(matches!(store.commit(&a, put("k", "w")).await, Err(Error::Closed)));
    assert!(matches!(store.get(&a, b"k").await, Err(Error::Closed)));
    assert!(matches!(store.scan(&a, Range::prefix(b"", 9)).await, Err(Error::Closed)));
    assert!(matches!(store.namespaces().await, Err(Error::Closed)));
    store.close().await.unwrap();
}
