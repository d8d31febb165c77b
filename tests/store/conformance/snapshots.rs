//! A store as it was at a moment, read while others write.

use std::ops::Bound;

use antiphon::store::{Error, Range};
use bytes::Bytes;

use super::{Shared, delete, done, ns, put, value};

/// Whoever reads all of a store while others write sees one moment of it, whichever way they look.
pub(crate) async fn a_snapshot_holds_still_while_others_write(store: Shared) {
    let space = ns("a");
    let large = |byte: u8| vec![byte; 9_000];
    for n in 0..200u16 {
        done(&store, &space, put(format!("k{n:03}"), large(1))).await;
    }
    let snapshot = store.snapshot().await.unwrap();
    let page = async |from: &str| {
        let from = Bound::Excluded(from.as_bytes().to_vec());
        let range = Range { from, to: Bound::Unbounded, limit: 16, reverse: false };
        snapshot.scan(&space, range).await.unwrap()
    };
    let writes = async {
        for n in 0..200u16 {
            done(&store, &space, delete(format!("k{n:03}"))).await;
            done(&store, &space, put(format!("k{n:03}x"), large(2))).await;
            done(&store, &space, put(format!("k{:03}", 199 - n), large(3))).await;
        }
        done(&store, &ns("later"), put("k", "v")).await;
    };
    let reads = async {
        let (mut seen, mut last) = (Vec::new(), String::new());
        loop {
            let entries = page(&last).await;
            let Some((key, _)) = entries.last() else { return seen };
            last = String::from_utf8(key.clone()).unwrap();
            seen.extend(entries);
        }
    };
    let ((), seen) = tokio::join!(writes, reads);
    let expected: Vec<_> = (0..200u16).map(|n| (format!("k{n:03}").into_bytes(), Bytes::from(large(1)))).collect();
    assert!(seen == expected, "what was there at that moment and nothing else");
    let backwards = Range { reverse: true, ..Range::prefix(b"", 500) };
    let mut reversed = snapshot.scan(&space, backwards).await.unwrap();
    reversed.reverse();
    assert!(reversed == expected, "from the end as well");
    assert_eq!(snapshot.get(&space, b"k007x").await.unwrap(), None);
    assert_eq!(snapshot.get(&space, b"k007").await.unwrap(), Some(Bytes::from(large(1))));
    assert!(snapshot.scan(&ns("later"), Range::prefix(b"", 9)).await.unwrap().is_empty());
    assert!(matches!(snapshot.commit(&space, put("k", "v")).await, Err(Error::ReadOnly(_))));
    assert_ne!(value(&store, &space, "k007").await, Some(Bytes::from(large(1))), "the store itself went on");
}
