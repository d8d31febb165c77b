//! What was erased here and comes again with an older export: it stays away. An exchange has its tombstone here. A thread has a receipt, as has a run that was not captured, and a
//! coordination or a prepared execution names an exchange that was erased. It must not store anything.

use std::collections::HashMap;

use crate::domain::id::{ExchangeId, Moment, RunId, ThreadId};
use crate::domain::retention::{Receipt, Target};
use crate::domain::run::Run;
use crate::store::layout::{self, Entry, Kind};
use crate::store::record::decode;
use crate::store::{Error, Ledger, Namespace};

/// How many receipts are read at a time.
const PAGE: usize = 256;

/// Threads and runs that were erased in a namespace; read when it is first asked for.
#[derive(Default)]
pub(super) struct Erasures(Option<Read>);

#[derive(Default)]
struct Read {
    threads: HashMap<ThreadId, Vec<Gone>>,
    runs: HashMap<RunId, Vec<Gone>>,
}

/// An erasure of something under an id.
struct Gone {
    at: Moment,
    made_at: Option<Moment>,
}

/// Whether what was made at a moment is gone. What was made anew under its id is not. The clock may have been ahead when it was made.
fn is_gone(gone: Option<&Vec<Gone>>, created_at: Moment) -> bool {
    gone.is_some_and(|all| all.iter().any(|gone| gone.at >= created_at || gone.made_at == Some(created_at)))
}

impl Erasures {
    /// Whether a thread was erased.
    pub(super) async fn has_thread(
        &mut self,
        ledger: &Ledger,
        ns: &Namespace,
        thread: &ThreadId,
        created_at: Moment,
    ) -> Result<bool, Error> {
        Ok(is_gone(self.read(ledger, ns).await?.threads.get(thread), created_at))
    }

    /// The same of a run that was not captured: nothing is left of one.
    pub(super) async fn has_run(&mut self, ledger: &Ledger, ns: &Namespace, run: &Run) -> Result<bool, Error> {
        let gone = self.read(ledger, ns).await?.runs.get(&run.id);
        Ok(run.exchange.is_none() && is_gone(gone, run.created_at))
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
            let gone = Gone { at: receipt.at, made_at: receipt.made_at };
            match receipt.target {
                Target::Thread(id) => erased.threads.entry(id).or_default().push(gone),
                Target::Run(id) => erased.runs.entry(id).or_default().push(gone),
                Target::Exchange(_) | Target::Subtree(..) => {}
            }
            after = Some(entry);
        }
        if is_last {
            return Ok(erased);
        }
    }
}

/// Whether one of these exchanges was erased here. Nothing is made any more that names one that was, so that whatever does went with it.
pub(super) async fn any(
    ledger: &Ledger,
    ns: &Namespace,
    exchanges: impl IntoIterator<Item = ExchangeId>,
) -> Result<bool, Error> {
    for id in exchanges {
        if let Some(place) = ledger.place(ns, id).await?
            && ledger.is_erased(ns, place).await?
        {
            return Ok(true);
        }
    }
    Ok(false)
}
