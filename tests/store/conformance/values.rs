//! Values of many sizes, and what is left when one replaces another.

use antiphon::store::{Range, Write};
use bytes::Bytes;

use super::{Shared, delete, done, keys, ns, put, value};

/// Bytes that show any piece that is lost, doubled or out of place.
pub(super) fn pattern(length: usize, seed: u64) -> Bytes {
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
