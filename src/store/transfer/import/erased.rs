//! What was erased here and comes again with an older export: it stays away. An exchange has its tombstone here. A thread has a receipt, as has a run that was not captured, and a
//! coordination or a prepared execution names an exchange that was erased after it was made. It must not store anything.

use std::collections::HashMap;

use crate::domain::id::{ExchangeId, Moment, RunId, ThreadId};
use crate::domain::retention::{Receipt, Target};
use crate::domain::run::Run;
use crate::store::layout::{self, Entry, Kind};
use crate::store::record::decode;
use crate::store::{Error, Ledger, Namespace};

/// How many receipts are read at a time.
const PAGE: usize = 256;

/// Threads and runs that were erased in a namespace, and when last; read when it is first asked for.
#[derive(Default)]
pub(super) struct Erasures(Option<Read>);

#[derive(Default)]
struct Read {
    threads: HashMap<ThreadId, Moment>,
    runs: HashMap<RunId, Moment>,
}

impl Erasures {
    /// Whether a thread was erased after it was made. One that was made anew under its id was not.
    pub(super) async fn has_thread(
        &mut self,
        ledger: &Ledger,
        ns: &Namespace,
        thread: &ThreadId,
        created_at: Moment,
    ) -> Result<bool, Error> {
        Ok(self.read(ledger, ns).await?.threads.get(thread).is_some_and(|at| *at >= created_at))
    }

    /// The same of a run that was not captured: nothing is left of one.
    pub(super) async fn has_run(&mut self, ledger: &Ledger, ns: &Namespace, run: &Run) -> Result<bool, Error> {
        let erased = self.read(ledger, ns).await?.runs.get(&run.id);
        Ok(run.exchange.is_none() && erased.is_some_and(|at| *at >= run.created_at))
    }

    async fn read(&mut self, ledger: &Ledger, ns: &Namespace) -> Result<&Read, Error> {
        match &mut self.0 {
            Some(read) => Ok(read),
            unread => Ok(unread.insert(read(ledger, ns).await?)),
        }
    }
}

async fn read(ledger: &Ledger, ns: &Namespace) -> Result<Read, Error> {
    let (mut erased, mut after) = (Read::default(), None);
    loop {
        let entries = ledger.store().scan(ns, layout::all(Kind::Receipt, after.as_ref(), PAGE)).await?;
        let is_last = entries.len() < PAGE;
        for (key, raw) in entries {
            let Some(entry) = Entry::of_key(&key) else { continue };
            let receipt: Receipt = decode(&entry, &raw)?;
            let at = match receipt.target {
                Target::Thread(id) => erased.threads.entry(id).or_insert(receipt.at),
                Target::Run(id) => erased.runs.entry(id).or_insert(receipt.at),
                Target::Exchange(_) | Target::Subtree(..) => &mut Moment(0),
            };
            *at = receipt.at.max(*at);
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
        if !ledger.is_erased(ns, place).await? {
            continue;
        }
        let exchange = ledger.exchange_at(ns, place).await?;
        if exchange.and_then(|exchange| exchange.erased).is_some_and(|erased| erased.at >= moment) {
            return Ok(true);
        }
    }
    Ok(false)
}
