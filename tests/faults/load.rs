//! A load whose every acknowledged write can be checked afterwards, and nothing else can pass for it. It must not
//! know who runs it or how it is interrupted.

use antiphon::store::{Error, Guard, Namespace, Range, Store, Write};
use bytes::Bytes;

use crate::harness::setting;

/// Values that are replaced over and over, each time with another length.
const SLOTS: u64 = 4;

/// Several callers, each with a chain of writes of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// How many chains.
    pub(crate) callers: u16,
    /// Bytes of an item.
    pub(crate) bytes: usize,
    /// Items that a caller keeps; older ones are deleted by the write that adds a new one.
    pub(crate) kept: u64,
}

fn key(kind: &str, caller: u16, n: u64) -> Vec<u8> {
    [kind.as_bytes(), &caller.to_be_bytes(), &n.to_be_bytes()].concat()
}

fn head(caller: u16) -> Vec<u8> {
    key("head", caller, 0)
}

fn namespace(caller: u16) -> Namespace {
    Namespace::new(format!("caller-{}", caller % 3))
}

/// Bytes that belong to this write and to no other.
fn content(caller: u16, n: u64, length: usize) -> Bytes {
    let mut state = (u64::from(caller) << 48 | n).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
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

fn number(value: &[u8]) -> u64 {
    u64::from_be_bytes(value.try_into().expect("a head is a number"))
}

impl Load {
    /// How many entries a store has after so many writes of each caller, while every item is kept.
    pub(crate) fn entries(writes: &[u64]) -> u64 {
        writes.iter().filter(|n| **n > 0).map(|n| 1 + n + SLOTS.min(*n)).sum()
    }

    /// As settings for a child, which makes the same load of them.
    pub(crate) fn settings(self) -> [(&'static str, String); 3] {
        [
            ("ANTIPHON_FAULT_CALLERS", self.callers.to_string()),
            ("ANTIPHON_FAULT_BYTES", self.bytes.to_string()),
            ("ANTIPHON_FAULT_KEPT", self.kept.to_string()),
        ]
    }

    /// The load that the settings say.
    pub(crate) fn of_settings() -> Self {
        let number = |name| setting(name).and_then(|value| value.parse::<u64>().ok());
        let number = |name| number(name).unwrap_or_else(|| panic!("ANTIPHON_FAULT_{name} is missing"));
        Self { callers: number("CALLERS") as u16, bytes: number("BYTES") as usize, kept: number("KEPT") }
    }

    /// The n-th write of a caller, counted from one: moves its head, adds an item, replaces a slot, drops an item.
    fn write(self, caller: u16, n: u64) -> Write {
        let before = n - 1;
        let guard = match before {
            0 => Guard::Absent(head(caller)),
            _ => Guard::Is(head(caller), Bytes::copy_from_slice(&before.to_be_bytes())),
        };
        Write {
            guards: vec![guard, Guard::Absent(key("item", caller, n))],
            puts: vec![
                (head(caller), Bytes::copy_from_slice(&n.to_be_bytes())),
                (key("item", caller, n), self.item(caller, n)),
                (key("slot", caller, n % SLOTS), self.slot(caller, n)),
            ],
            deletes: n.checked_sub(self.kept).map(|old| key("item", caller, old)).into_iter().collect(),
        }
    }

    fn item(self, caller: u16, n: u64) -> Bytes {
        content(caller, n, self.bytes)
    }

    fn slot(self, caller: u16, n: u64) -> Bytes {
        // Sometimes one chunk, sometimes many.
        content(caller, !n, (n as usize).wrapping_mul(7919) % (self.bytes * 2))
    }

    /// How far a caller has come.
    pub(crate) async fn at(self, store: &dyn Store, caller: u16) -> u64 {
        let head = store.get(&namespace(caller), &head(caller)).await.unwrap();
        head.map_or(0, |head| number(&head))
    }

    /// Writes on until a write fails, telling each acknowledgement.
    pub(crate) async fn run(self, store: &dyn Store, caller: u16, mut acked: impl FnMut(u64)) -> Error {
        let mut n = self.at(store, caller).await;
        loop {
            n += 1;
            match store.commit(&namespace(caller), self.write(caller, n)).await {
                Ok(outcome) => {
                    assert_eq!(outcome, antiphon::store::Commit::Done, "caller {caller} owns its chain");
                    acked(n);
                }
                Err(error) => return error,
            }
        }
    }

    /// What is wrong with a caller's chain, of which `acked` writes were acknowledged: each of them must be there
    /// and whole, and at most one more, whole as well.
    pub(crate) async fn check(self, store: &dyn Store, caller: u16, acked: u64) -> Result<u64, String> {
        let space = namespace(caller);
        let found = async |kind: &str| {
            let prefix = [kind.as_bytes(), &caller.to_be_bytes()].concat();
            store.scan(&space, Range::prefix(&prefix, usize::MAX)).await.map_err(|error| error.to_string())
        };
        let heads = found("head").await?;
        let at = heads.first().map_or(0, |(_, head)| number(head));
        if at < acked || at > acked + 1 {
            return Err(format!("caller {caller} is at {at}, acknowledged was {acked}"));
        }
        let items: Vec<_> = (at.saturating_sub(self.kept - 1).max(1)..=at)
            .map(|n| (key("item", caller, n), self.item(caller, n)))
            .collect();
        if found("item").await? != items {
            return Err(format!("caller {caller} at {at} has not the items it should"));
        }
        let mut slots: Vec<_> = (at.saturating_sub(SLOTS - 1).max(1)..=at)
            .map(|n| (key("slot", caller, n % SLOTS), self.slot(caller, n)))
            .collect();
        slots.sort();
        if found("slot").await? != slots {
            return Err(format!("caller {caller} at {at} has not the slots it should"));
        }
        Ok(at)
    }

    /// Checks every caller; with how far each has come.
    pub(crate) async fn check_all(self, store: &dyn Store, acked: &[u64]) -> Result<Vec<u64>, String> {
        let mut at = Vec::new();
        for (caller, acked) in (0..self.callers).zip(acked) {
            at.push(self.check(store, caller, *acked).await?);
        }
        Ok(at)
    }

    /// Where callers begin on an empty store.
    pub(crate) fn start(self) -> Vec<u64> {
        vec![0; self.callers.into()]
    }
}
