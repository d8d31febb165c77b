//! What was erased here and comes again with an older export: it stays away. An exchange has its tombstone here. A thread has a receipt, and a
//! coordination or a prepared execution names an exchange that was erased after it was made. It must not store anything.

use std::collections::HashMap;

use crate::domain::id::{ExchangeId, Moment, ThreadId};
use crate::domain::retention::{Receipt, Target};
use crate::store::layout::{self, Entry, Kind};
use crate::store::record::decode;
use crate::store::transfer::names_in;
use crate::store::{Error, Ledger, Namespace};

/// How many receipts are read at a time.
const PAGE: usize = 256;

/// Threads that were erased in a namespace, and when last; read when it is first asked for.
#[derive(Default)]
pub(super) struct ErasedThreads(Option<HashMap<ThreadId, Moment>>);

impl ErasedThreads {
    /// Whether a thread was erased after it was made. One that was made anew under its id was not.
    pub(super) async fn has(
        &mut self,
        ledger: &Ledger,
        ns: &Namespace,
        thread: &ThreadId,
        created_at: Moment,
    ) -> Result<bool, Error> {
        let erased = match &mut self.0 {
            Some(erased) => erased,
            unread => unread.insert(read(ledger, ns).await?),
        };
        Ok(erased.get(thread).is_some_and(|at| *at >= created_at))
    }
}

async fn read(ledger: &Ledger, ns: &Namespace) -> Result<HashMap<ThreadId, Moment>, Error> {
    let (mut erased, mut after) = (HashMap::new(), None);
    loop {
        let entries = ledger.store().scan(ns, layout::all(Kind::Receipt, after.as_ref(), PAGE)).await?;
        let is_last = entries.len() < PAGE;
        for (key, raw) in entries {
            let Some(entry) = Entry::of_key(&key) else { continue };
            let receipt: Receipt = decode(&entry, &raw)?;
            if let Target::Thread(id) = receipt.target {
                let at = erased.entry(id).or_insert(receipt.at);
                *at = receipt.at.max(*at);
            }
            after = Some(entry);
        }
        if is_last {
            return Ok(erased);
        }
    }
}

/// Whether one of these exchanges was erased here after a moment: what was made before and names it went with it.
pub(super) async fn any_since(
    ledger: &Ledger,
    ns: &Namespace,
    exchanges: impl IntoIterator<Item = ExchangeId>,
    moment: Moment,
) -> Result<bool, Error> {
    for id in exchanges {
        let Some(place) = ledger.place(ns, id).await? else { continue };
        let entry = Entry::Exchange(place);
        let Some(raw) = ledger.raw(ns, &entry).await? else { continue };
        if !names_in(&entry, &raw)?.is_erased {
            continue;
        }
        let exchange = ledger.exchange_at(ns, place).await?;
        if exchange.and_then(|exchange| exchange.erased).is_some_and(|erased| erased.at >= moment) {
            return Ok(true);
        }
    }
    Ok(false)
}
