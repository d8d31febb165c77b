//! Many callers at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use antiphon::store::{Commit, Guard, Range, Write};
use bytes::Bytes;
use futures::future::join_all;

use super::values::pattern;
use super::{Shared, done, guarded, keys, ns, put, value};

/// Long enough for a slow disk, short enough to tell a deadlock.
const PATIENCE: Duration = Duration::from_secs(60);

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
