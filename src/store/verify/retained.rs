//! Verifying pins, expiries, receipts and what was spent. What they are of may be gone. It must not know what comes of them.

use bytes::Bytes;

use super::Check;
use super::look::{Look, Unreadable, decode};
use crate::domain::retention::{Erasing, Expiry, Pin, Receipt};
use crate::domain::spend::Spending;
use crate::store::Error;
use crate::store::layout::Entry;
use crate::store::record::hash_of;

impl Check<'_> {
    pub(super) async fn retained(&self, entry: &Entry, raw: &Bytes) -> Result<Vec<String>, Error> {
        let checked = match entry {
            Entry::Pin(id) => decode::<Pin>(entry, raw).map(|pin| (pin.id == *id, None)),
            Entry::Receipt(id) => decode::<Receipt>(entry, raw).map(|receipt| (receipt.id == *id, None)),
            Entry::Erasing(id) => decode::<Erasing>(entry, raw).map(|erasing| (erasing.receipt.id == *id, None)),
            Entry::Due(hash) => decode::<Expiry>(entry, raw)
                .map(|expiry| (hash_of(&expiry.target) == *hash, Some(Entry::Expiry(expiry.at, *hash)))),
            Entry::Expiry(at, hash) => decode::<Expiry>(entry, raw)
                .map(|expiry| (hash_of(&expiry.target) == *hash && expiry.at == *at, Some(Entry::Due(*hash)))),
            Entry::Spending(_) => decode::<Spending>(entry, raw).map(|_| (true, None)),
            _ => Ok((true, None)),
        };
        let (is_its_own, twin) = match checked {
            Ok(checked) => checked,
            Err(unreadable) => return Ok(vec![Unreadable::to_string(&unreadable)]),
        };
        let mut problems = Vec::new();
        if !is_its_own {
            problems.push("it is of something else than its key says".to_owned());
        }
        if let Some(twin) = twin
            && !matches!(self.look::<Expiry>(&twin).await?, Look::Found(_) | Look::Broken)
        {
            problems.push(format!("the {twin} is missing"));
        }
        Ok(problems)
    }
}
