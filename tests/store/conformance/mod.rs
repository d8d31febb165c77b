//! What every store must do, one function a promise. It knows only the trait.

mod races;
mod ranges;
mod snapshots;
mod values;

use std::collections::BTreeSet;
use std::sync::Arc;

use antiphon::store::{Commit, Error, Guard, Health, Namespace, Range, Store, Write};
use bytes::Bytes;
use futures::future::join_all;

pub(crate) use self::races::*;
pub(crate) use self::ranges::*;
pub(crate) use self::snapshots::*;
pub(crate) use self::values::*;

type Shared = Arc<dyn Store>;

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
