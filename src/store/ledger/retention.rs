//! Pins, expiries, receipts and what was spent: reading and changing, and replacing an exchange by its tombstone. It must not know who may, or why.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;

use super::{Changes, Ledger};
use crate::domain::content::Hasher;
use crate::domain::exchange::{Erased, Exchange};
use crate::domain::graph::Place;
use crate::domain::id::{CoordinationId, ExchangeId, Hash, Moment, PreparedId, RunId, ThreadId};
use crate::domain::retention::{Erasing, Expiry, Pin, Receipt, Target};
use crate::domain::spend::Spending;
use crate::domain::workspace::{Live, Move};
use crate::store::layout::{self, Entry, Kind};
use crate::store::record::exchange::draft;
use crate::store::record::{JournalPage, PreparedRecord, ToolHashes, decode, hash_of, hash_of_spender};
use crate::store::transfer::names_in;
use crate::store::verify::Named;
use crate::store::{Commit, Error, Guard, Namespace, Write};

/// How many records are read at a time.
const BATCH: usize = 128;

impl Changes {
    /// Stores a pin.
    pub fn put_pin(&mut self, pin: &Pin) {
        self.put(&Entry::Pin(pin.id.clone()), pin);
    }

    /// Removes a pin, be it there or not.
    pub fn delete_pin(&mut self, id: &str) {
        self.deletes.push(Entry::Pin(id.to_owned()).key());
    }

    /// Sets when something expires, in place of when it did before.
    pub fn put_expiry(&mut self, expiry: &Expiry, before: Option<Moment>) {
        self.delete_expiry(&expiry.target, before);
        let hash = hash_of(&expiry.target);
        self.put(&Entry::Expiry(expiry.at, hash), expiry);
        self.put(&Entry::Due(hash), expiry);
    }

    /// It never expires.
    pub fn delete_expiry(&mut self, target: &Target, before: Option<Moment>) {
        let hash = hash_of(target);
        self.deletes.push(Entry::Due(hash).key());
        self.deletes.extend(before.map(|at| Entry::Expiry(at, hash).key()));
    }

    /// Removes records of a thread that is removed in the same write.
    pub fn delete_records(&mut self, records: impl IntoIterator<Item = Entry>) {
        self.deletes.extend(records.into_iter().map(|entry| entry.key()));
    }

    /// Removes a run.
    pub fn delete_run(&mut self, id: &RunId) {
        self.deletes.push(Entry::Run(id.clone()).key());
    }

    /// Stores what somebody of this name spent in a day, in place of the day before.
    pub fn put_spending(&mut self, who: &str, spending: &Spending) {
        self.put(&Entry::Spending(hash_of_spender(who)), spending);
    }

    /// Stores a receipt.
    pub fn put_receipt(&mut self, receipt: &Receipt) {
        self.put(&Entry::Receipt(receipt.id.clone()), receipt);
    }

    /// Puts on record that an erasure begins.
    pub fn put_erasing(&mut self, erasing: &Erasing) {
        self.put(&Entry::Erasing(erasing.receipt.id.clone()), erasing);
    }

    /// An erasure is done: its receipt takes the place of its record.
    pub fn end_erasing(&mut self, receipt: &Receipt) {
        self.deletes.push(Entry::Erasing(receipt.id.clone()).key());
        self.put_receipt(receipt);
    }
}

impl Ledger {
    /// A pin.
    ///
    /// # Errors
    /// When the store fails or the record is damaged.
    pub async fn pin(&self, ns: &Namespace, id: &str) -> Result<Option<Pin>, Error> {
        self.read(ns, &Entry::Pin(id.to_owned())).await
    }

    /// Pins in the order of their ids, after one of them.
    ///
    /// # Errors
    /// When the store fails or a record is damaged.
    pub async fn pins(&self, ns: &Namespace, after: Option<&str>, limit: usize) -> Result<Vec<Pin>, Error> {
        let after = after.map(|id| Entry::Pin(id.to_owned()));
        let entries = self.store.scan(ns, layout::all(Kind::Pin, after.as_ref(), limit)).await?;
        entries.iter().filter_map(|(key, raw)| Entry::of_key(key).map(|entry| decode(&entry, raw))).collect()
    }

    /// When something expires.
    ///
    /// # Errors
    /// When the store fails or the record is damaged.
    pub async fn expiry(&self, ns: &Namespace, target: &Target) -> Result<Option<Expiry>, Error> {
        self.read(ns, &Entry::Due(hash_of(target))).await
    }

    /// Expiries, soonest first, after one of them and up to a moment; each with what names it in this order.
    ///
    /// # Errors
    /// When the store fails or a record is damaged.
    pub async fn expiries(
        &self,
        ns: &Namespace,
        after: Option<(Moment, Hash)>,
        until: Option<Moment>,
        limit: usize,
    ) -> Result<Vec<((Moment, Hash), Expiry)>, Error> {
        let after = after.map(|(at, hash)| Entry::Expiry(at, hash));
        let entries = self.store.scan(ns, layout::all(Kind::Expiry, after.as_ref(), limit)).await?;
        let mut found = Vec::with_capacity(entries.len());
        for (key, raw) in &entries {
            if let Some(entry) = Entry::of_key(key)
                && let Entry::Expiry(at, hash) = entry
            {
                if until.is_some_and(|until| at >= until) {
                    break;
                }
                found.push(((at, hash), decode(&entry, raw)?));
            }
        }
        Ok(found)
    }

    /// What somebody of this name spent on the last day on which they did.
    ///
    /// # Errors
    /// When the store fails or the record is damaged.
    pub async fn spending(&self, ns: &Namespace, who: &str) -> Result<Option<Spending>, Error> {
        self.read(ns, &Entry::Spending(hash_of_spender(who))).await
    }

    /// A receipt.
    ///
    /// # Errors
    /// When the store fails or the record is damaged.
    pub async fn receipt(&self, ns: &Namespace, id: &str) -> Result<Option<Receipt>, Error> {
        self.read(ns, &Entry::Receipt(id.to_owned())).await
    }

    /// An erasure that is not done yet, by the id of its receipt.
    ///
    /// # Errors
    /// When the store fails or the record is damaged.
    pub async fn erasing(&self, ns: &Namespace, id: &str) -> Result<Option<Erasing>, Error> {
        self.read(ns, &Entry::Erasing(id.to_owned())).await
    }

    /// Erasures that are not done yet.
    ///
    /// # Errors
    /// When the store fails or a record is damaged.
    pub async fn all_erasing(&self, ns: &Namespace) -> Result<Vec<Erasing>, Error> {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let entries = self.store.scan(ns, layout::all(Kind::Erasing, after.as_ref(), BATCH)).await?;
            let is_last = entries.len() < BATCH;
            for (key, raw) in entries {
                let Some(entry) = Entry::of_key(&key) else { continue };
                found.push(decode(&entry, &raw)?);
                after = Some(entry);
            }
            if is_last {
                return Ok(found);
            }
        }
    }

    /// Replaces the exchange at a place by its tombstone. Gives what was said there as it was stored, in bytes; none when it was erased already.
    /// What it named stays, for others may name it too.
    ///
    /// # Errors
    /// When the store fails or the record is damaged.
    pub async fn erase(&self, ns: &Namespace, place: Place, erased: &Erased) -> Result<Option<u64>, Error> {
        let entry = Entry::Exchange(place);
        loop {
            let Some(raw) = self.raw(ns, &entry).await? else { return Ok(None) };
            let Some(exchange) = self.exchange_at(ns, place).await? else { return Ok(None) };
            if exchange.erased.is_some() {
                return Ok(None);
            }
            let bytes = raw.len() as u64;
            let write = Self::tombstone(ns, &entry, exchange, raw, erased.clone());
            if self.store.commit(ns, write).await? == Commit::Done {
                if let Some(kept) = &self.kept {
                    kept.forget(ns, place);
                }
                return Ok(Some(bytes));
            }
        }
    }

    fn tombstone(ns: &Namespace, entry: &Entry, exchange: Exchange, raw: Bytes, erased: Erased) -> Write {
        // It is not found by its content any more: a transcript that says the same is another exchange.
        let by_content = Entry::Content(exchange.content_hash, exchange.id).key();
        let value = draft(&exchange.erased(erased), &Hasher::new(ns)).packed.seal(&entry.key());
        Write { guards: vec![Guard::Is(entry.key(), raw)], puts: vec![(entry.key(), value)], deletes: vec![by_content] }
    }

    /// Adds the content that the exchange at a place names, its documents included, and gives its own bytes as stored; none when it was erased
    /// already.
    ///
    /// # Errors
    /// When the store fails or the record is damaged.
    pub async fn named_content(
        &self,
        ns: &Namespace,
        place: Place,
        content: &mut HashSet<Entry>,
    ) -> Result<Option<u64>, Error> {
        let entry = Entry::Exchange(place);
        let Some(raw) = self.raw(ns, &entry).await? else { return Ok(None) };
        let names = names_in(&entry, &raw)?;
        if names.is_erased {
            return Ok(None);
        }
        content.extend(names.parts.into_iter().map(Entry::Part));
        content.extend(names.seen.map(Entry::Seen));
        for set in names.sets {
            self.tools_of(ns, set, content).await?;
        }
        for root in names.roots {
            self.add_version(ns, Some(root), content).await?;
        }
        Ok(Some(raw.len() as u64))
    }

    async fn tools_of(&self, ns: &Namespace, set: Hash, content: &mut HashSet<Entry>) -> Result<(), Error> {
        if let Some(hashes) = self.read::<ToolHashes>(ns, &Entry::ToolSet(set)).await? {
            content.extend(hashes.0.into_iter().map(Entry::Tool));
            content.insert(Entry::ToolSet(set));
        }
        Ok(())
    }

    /// Adds the documents of a thread: those that writes change, and those that its moves tell of. Gives the records that tell of them, each with
    /// its bytes as stored.
    ///
    /// # Errors
    /// When the store fails or a record is damaged.
    pub async fn documents_of(
        &self,
        ns: &Namespace,
        thread: &ThreadId,
        content: &mut HashSet<Entry>,
    ) -> Result<Vec<(Entry, usize)>, Error> {
        let mut records = Vec::new();
        let live = Entry::Workspace(thread.clone());
        if let Some(raw) = self.raw(ns, &live).await? {
            self.add_version(ns, decode::<Live>(&live, &raw)?.root, content).await?;
            records.push((live, raw.len()));
        }
        let mut before = u64::MAX;
        loop {
            let entries = self.store.scan(ns, layout::moves_before(thread, before, BATCH)).await?;
            let is_last = entries.len() < BATCH;
            for (key, raw) in entries {
                let Some(entry) = Entry::of_key(&key) else { continue };
                if let Entry::Move(_, number) = entry {
                    before = number;
                }
                let moved: Move = decode(&entry, &raw)?;
                self.add_version(ns, moved.workspace.before, content).await?;
                self.add_version(ns, moved.workspace.after, content).await?;
                records.push((entry, raw.len()));
            }
            if is_last {
                return Ok(records);
            }
        }
    }

    /// Prepared executions that go on from one of these exchanges.
    ///
    /// # Errors
    /// When the store fails or a record is damaged.
    pub async fn prepared_after(
        &self,
        ns: &Namespace,
        exchanges: &BTreeMap<ExchangeId, Place>,
    ) -> Result<Vec<PreparedId>, Error> {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let entries = self.store.scan(ns, layout::all(Kind::Prepared, after.as_ref(), BATCH)).await?;
            let is_last = entries.len() < BATCH;
            for (key, raw) in entries {
                let Some(entry) = Entry::of_key(&key) else { continue };
                let record: PreparedRecord = decode(&entry, &raw)?;
                let prepared = record.prepared();
                if prepared.parent.is_some_and(|parent| exchanges.contains_key(&parent)) {
                    found.push(prepared.id.clone());
                }
                after = Some(entry);
            }
            if is_last {
                return Ok(found);
            }
        }
    }

    /// Whether the journal of a coordination names one of these exchanges.
    ///
    /// # Errors
    /// When the store fails or a record is damaged.
    pub async fn journal_names(
        &self,
        ns: &Namespace,
        id: &CoordinationId,
        exchanges: &BTreeMap<ExchangeId, Place>,
    ) -> Result<bool, Error> {
        let pages = self.journal_pages(ns, id).await?;
        Ok(pages.iter().any(|(_, named, _)| named.exchanges.iter().any(|id| exchanges.contains_key(id))))
    }

    /// Removes a coordination with its journal, and adds the content that they name. Gives what it was: kinds and bytes.
    ///
    /// # Errors
    /// When the store fails or a record is damaged.
    pub async fn remove_coordination(
        &self,
        ns: &Namespace,
        id: &CoordinationId,
        dry_run: bool,
        content: &mut HashSet<Entry>,
    ) -> Result<Vec<(Kind, usize)>, Error> {
        let entry = Entry::Coordination(id.clone());
        let Some(raw) = self.raw(ns, &entry).await? else { return Ok(Vec::new()) };
        let mut records = vec![(entry.clone(), Named::by(&decode(&entry, &raw)?), raw.len())];
        records.extend(self.journal_pages(ns, id).await?);
        let mut removed = Vec::with_capacity(records.len());
        let mut deletes = Vec::with_capacity(records.len());
        for (entry, named, bytes) in records {
            for hash in named.results.into_iter().chain(named.plans) {
                content.insert(Entry::Part(hash));
            }
            removed.push((entry.kind(), bytes));
            deletes.push(entry.key());
        }
        if !dry_run {
            self.store.commit(ns, Write { deletes, ..Write::default() }).await?;
        }
        Ok(removed)
    }

    async fn journal_pages(&self, ns: &Namespace, id: &CoordinationId) -> Result<Vec<(Entry, Named, usize)>, Error> {
        let mut found = Vec::new();
        let mut after = 0;
        // The first page has frame 1 or a later one.
        loop {
            let entries = self.store.scan(ns, layout::pages_after(id, after, BATCH)).await?;
            let is_last = entries.len() < BATCH;
            for (key, raw) in entries {
                let Some(entry) = Entry::of_key(&key) else { continue };
                let page: JournalPage = decode(&entry, &raw)?;
                let mut named = Named::default();
                page.frames.iter().for_each(|frame| named.add(frame));
                after = page.first;
                found.push((entry, named, raw.len()));
            }
            if is_last {
                return Ok(found);
            }
        }
    }
}
