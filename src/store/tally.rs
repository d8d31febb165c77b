//! Counting what a namespace holds, record by record. It must not check or change anything.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use super::layout::{Entry, Kind};
use super::record::exchange::Lean;
use super::record::{decode, open};
use super::{Error, Ledger, Namespace, Range};
use crate::domain::coordination::{Coordination, State};
use crate::domain::id::Hash;

/// How many records are in memory at a time.
const PAGE: usize = 64;

/// What a namespace holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many records of each kind there are, and how many bytes they have as stored.
    pub records: BTreeMap<Kind, Amount>,
    /// Bytes of content before it was compressed, counted wherever it is said.
    pub logical_bytes: u64,
    /// Coordinations that have not ended.
    pub open_coordinations: u64,
}

/// So many records with so many bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// How many.
    pub count: u64,
    /// Their bytes as stored.
    pub bytes: u64,
}

impl Amount {
    /// With one more.
    pub fn add(&mut self, bytes: usize) {
        self.count = self.count.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }
}

/// Counts every record of a namespace. Takes the memory of a page, and 50 bytes for each large part.
///
/// # Errors
/// When the store fails. A record that cannot be read counts with what it takes.
pub async fn tally(ledger: &Ledger, namespace: &Namespace) -> Result<Tally, Error> {
    let mut tally = Tally::default();
    let mut parts = HashMap::new();
    // In the order of their keys, in which large parts come before the exchanges that name them.
    for kind in Kind::ALL {
        let mut range = Range::prefix(&[kind.letter()], PAGE);
        loop {
            let entries = ledger.store().scan(namespace, range.clone()).await?;
            let Some((last, _)) = entries.last() else { break };
            range.from = Bound::Excluded(last.clone());
            let is_last = entries.len() < PAGE;
            for (key, raw) in &entries {
                tally.records.entry(kind).or_default().add(raw.len());
                match Entry::of_key(key) {
                    Some(Entry::Part(hash)) => {
                        parts.insert(hash, open(&Entry::Part(hash), raw).map_or(0, |bytes| bytes.len() as u64));
                    }
                    Some(entry @ Entry::Exchange(_)) => {
                        let content = open(&entry, raw).map_or(0, |payload| content(payload, &parts));
                        tally.logical_bytes = tally.logical_bytes.saturating_add(content);
                    }
                    Some(entry @ Entry::Coordination(_)) => {
                        let is_open = decode::<Coordination>(&entry, raw)
                            .is_ok_and(|coordination| !matches!(coordination.state, State::Ended(_)));
                        tally.open_coordinations += u64::from(is_open);
                    }
                    _ => {}
                }
            }
            if is_last {
                break;
            }
        }
    }
    Ok(tally)
}

/// An exchange's bytes with those of its large parts.
fn content(payload: bytes::Bytes, parts: &HashMap<Hash, u64>) -> u64 {
    let own = payload.len() as u64;
    let Ok(mut lean) = Lean::new(payload) else { return own };
    let named = lean.parts().unwrap_or_default();
    named.iter().filter_map(|hash| parts.get(hash)).fold(own, |sum, bytes| sum.saturating_add(*bytes))
}
