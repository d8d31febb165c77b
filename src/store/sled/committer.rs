//! The one thread that writes: gathers the writes that wait, judges their guards, applies them as one batch,
//! makes it durable with one flush, and answers. It must not know what the keys mean.
//!
//! Guards are judged in the order of arrival, against the tree and the earlier writes of the same group. No
//! answer is given on the strength of a value that could still be lost: refusals wait for the flush as well.
//! The engine's asynchronous flush locks up under load, and its transactions hold a process-wide lock while
//! they run; neither is used. After a failed apply or flush nothing more is written until the next start: what
//! is on disk then is only known after recovery.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ::sled::{Batch, Db, IVec};
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use super::Shared;
use super::disk;
use super::fault::{Fault, guarded};
use super::joint::Group;
use super::keys::{self, FullKey};
use super::mark::Mark;
use super::view::{self, Held};
use crate::store::{Commit, Error, Guard, Namespace, Write};

/// A write made ready by its caller, so that the committer neither encodes nor copies.
#[derive(Debug)]
pub(super) struct Prepared {
    guards: Vec<(FullKey, Expect)>,
    deletes: Vec<FullKey>,
    puts: Vec<(FullKey, Put)>,
    /// Bytes of keys and values.
    bytes: usize,
}

#[derive(Debug)]
enum Expect {
    Absent,
    Present,
    Is(Bytes),
}

/// A value and the entries that are stored for it.
#[derive(Debug)]
struct Put {
    value: Bytes,
    chunks: Vec<(IVec, IVec)>,
}

impl Prepared {
    pub(super) fn new(ns: &Namespace, write: Write) -> Result<Self, Error> {
        let mut guards = Vec::with_capacity(write.guards.len());
        for guard in write.guards {
            let key = keys::full(ns, guard.key())?;
            let expect = match guard {
                Guard::Absent(_) => Expect::Absent,
                Guard::Present(_) => Expect::Present,
                Guard::Is(_, value) => Expect::Is(value),
            };
            guards.push((key, expect));
        }
        let deletes = write.deletes.iter().map(|key| keys::full(ns, key)).collect::<Result<Vec<_>, _>>()?;
        let mut bytes = deletes.iter().map(Vec::len).sum();
        let mut puts = Vec::with_capacity(write.puts.len());
        for (key, value) in write.puts {
            let key = keys::full(ns, &key)?;
            let chunks = keys::cut(&key, &value)?;
            bytes += key.len() + value.len();
            puts.push((key, Put { value, chunks }));
        }
        Ok(Self { guards, deletes, puts, bytes })
    }
}

/// What the committer is asked for.
pub(super) enum Order {
    /// A write, and where its answer goes.
    Commit(Job),
    /// To finish what is queued and let go of the files.
    Close,
}

pub(super) struct Job {
    pub(super) write: Prepared,
    pub(super) answer: oneshot::Sender<Result<Commit, Error>>,
}

/// The state of the thread.
pub(super) struct Committer {
    pub(super) db: Db,
    pub(super) shared: Arc<Shared>,
    pub(super) orders: mpsc::Receiver<Order>,
    /// Most writes made durable by one flush.
    pub(super) group_writes: usize,
    /// A group takes no further write once it has so many bytes.
    pub(super) group_bytes: usize,
    /// How far it has got; none for a store that may lose its last writes.
    pub(super) mark: Option<Mark>,
}

impl Committer {
    /// Works until the store is closed or every handle to it is gone.
    pub(super) fn run(&mut self) {
        while let Some(order) = self.orders.blocking_recv() {
            let group = self.gather(order);
            self.settle(group);
        }
    }

    /// The first write and those that wait behind it.
    fn gather(&mut self, first: Order) -> Vec<Job> {
        let mut group = Vec::new();
        let mut bytes = 0;
        let mut next = Some(first);
        while let Some(order) = next {
            match order {
                Order::Commit(job) => {
                    bytes += job.write.bytes;
                    group.push(job);
                }
                // What was sent before is still received, then the channel ends.
                Order::Close => self.orders.close(),
            }
            if group.len() >= self.group_writes || bytes >= self.group_bytes {
                break;
            }
            next = self.orders.try_recv().ok();
        }
        group
    }

    fn settle(&self, group: Vec<Job>) {
        if let Some(reason) = self.shared.failure() {
            for job in group {
                job.answer.send(Err(Error::ReadOnly(reason.clone()))).ok();
            }
            return;
        }
        let (mut writes, answers): (Vec<_>, Vec<_>) = group.into_iter().map(|job| (job.write, job.answer)).unzip();
        let mut round = Round { db: &self.db, shared: &self.shared, entries: BTreeMap::new(), bytes: 0 };
        let verdicts: Vec<_> = writes.iter_mut().map(|write| round.judge(write)).collect();
        let outcome = self.make_durable(round);
        let mut done = 0;
        for (verdict, answer) in verdicts.into_iter().zip(answers) {
            let verdict = match (&outcome, verdict) {
                (Ok(()), verdict) => verdict,
                (Err(_), Err(error)) => Err(error),
                (Err(error), Ok(_)) => Err(error.clone()),
            };
            done += u64::from(matches!(verdict, Ok(Commit::Done)));
            // A caller that went away has its write all the same.
            answer.send(verdict).ok();
        }
        self.shared.commits.fetch_add(done, Ordering::Relaxed);
    }

    fn make_durable(&self, round: Round<'_>) -> Result<(), Error> {
        let Some(change) = round.finish(self.mark.as_ref()) else {
            // Only refusals and writes that change nothing: every value they rest on was durable before.
            return Ok(());
        };
        let bytes = u64::try_from(change.bytes).unwrap_or(u64::MAX);
        self.shared.make_room(change.bytes).map_err(Error::ReadOnly)?;
        self.shared.view.hide(change.before);
        self.shared.started();
        let flushed = guarded(|| {
            let _group = Group::begin();
            let settling = disk::Settling::begin();
            apply(&self.db, change.batch, change.single)?;
            // A node that grew too large, or too small, is mended by whoever passes it next. If this flush fails,
            // nobody can mend anything, and reads would fail with it: so pass by now.
            for key in &change.unsettled {
                self.db.get(key)?;
            }
            drop(settling);
            self.db.flush()?;
            Ok(())
        });
        self.shared.finished();
        let lost = match flushed {
            Ok(()) => self.shared.files.lost(),
            Err(fault) => Some(fault.cause()),
        };
        if let Some(reason) = lost {
            tracing::error!(reason, "store.read_only");
            return Err(Error::ReadOnly(self.shared.fail(reason)));
        }
        if let Some(mark) = &self.mark {
            mark.advance();
        }
        self.shared.groups.fetch_add(1, Ordering::Relaxed);
        self.shared.written_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.shared.view.reveal();
        Ok(())
    }
}

/// One entry alone needs no batch: the engine logs it as one message, and saves the batch's own and its flush.
fn apply(db: &Db, batch: Batch, single: Option<(IVec, Option<IVec>)>) -> Result<(), Fault> {
    match single {
        Some((key, Some(value))) => drop(db.insert(key, value)?),
        Some((key, None)) => drop(db.remove(key)?),
        None => db.apply_batch(batch)?,
    }
    Ok(())
}

/// A group while it is judged.
struct Round<'a> {
    db: &'a Db,
    shared: &'a Shared,
    /// Every key that a guard or a change named.
    entries: BTreeMap<FullKey, Entry>,
    bytes: usize,
}

struct Entry {
    /// In the tree, and durable.
    before: Held,
    /// In this group, so far: unchanged, removed or set.
    after: Option<Option<Put>>,
}

impl Entry {
    fn now(&self) -> Result<Option<&Bytes>, Fault> {
        match (&self.after, &self.before) {
            (Some(after), _) => Ok(after.as_ref().map(|put| &put.value)),
            (None, Held::Absent) => Ok(None),
            (None, Held::Value(value)) => Ok(Some(value)),
            (None, Held::Torn(what)) => Err(Fault::Torn(what.clone())),
        }
    }
}

/// What a group does to the tree.
struct Change {
    batch: Batch,
    /// The only entry of the batch, when it is the only one.
    single: Option<(IVec, Option<IVec>)>,
    before: BTreeMap<FullKey, Held>,
    /// Stored keys on every page where one came or went.
    unsettled: Vec<IVec>,
    bytes: usize,
}

impl Round<'_> {
    /// Checks a write's guards, and takes its changes if they hold.
    fn judge(&mut self, write: &mut Prepared) -> Result<Commit, Error> {
        self.try_judge(write).map_err(|fault| {
            tracing::error!(cause = fault.cause(), "store.read_failed");
            fault.into_error(self.shared.files.dir())
        })
    }

    fn try_judge(&mut self, write: &mut Prepared) -> Result<Commit, Fault> {
        for (index, (key, expect)) in write.guards.iter().enumerate() {
            let now = self.entry(key)?.now()?;
            let holds = match expect {
                Expect::Absent => now.is_none(),
                Expect::Present => now.is_some(),
                Expect::Is(value) => now == Some(value),
            };
            if !holds {
                return Ok(Commit::Refused { guard: index, found: now.cloned() });
            }
        }
        // Everything is read before anything is taken, so that a fault leaves nothing half done.
        for key in write.deletes.iter().chain(write.puts.iter().map(|(key, _)| key)) {
            self.entry(key)?;
        }
        for key in write.deletes.drain(..) {
            self.entry(&key)?.after = Some(None);
        }
        for (key, put) in write.puts.drain(..) {
            self.entry(&key)?.after = Some(Some(put));
        }
        self.bytes += write.bytes;
        Ok(Commit::Done)
    }

    fn entry(&mut self, key: &FullKey) -> Result<&mut Entry, Fault> {
        if !self.entries.contains_key(key) {
            let before = guarded(|| view::load(self.db, key))?;
            self.entries.insert(key.clone(), Entry { before, after: None });
        }
        self.entries.get_mut(key).ok_or(Fault::Closed)
    }

    /// The whole group as one batch, with its number; none if it changes nothing.
    fn finish(self, mark: Option<&Mark>) -> Option<Change> {
        let mut writes: Vec<(IVec, Option<IVec>)> = Vec::new();
        let mut before = BTreeMap::new();
        let mut unsettled = Vec::new();
        for (key, entry) in self.entries {
            let Some(after) = entry.after else { continue };
            let had = match &entry.before {
                Held::Absent => 0,
                Held::Value(value) => keys::chunks_of(value.len()),
                // There is no telling how many are left of a damaged value.
                Held::Torn(_) => u32::MAX,
            };
            let chunks = after.map(|put| put.chunks).unwrap_or_default();
            let has = u32::try_from(chunks.len()).unwrap_or(u32::MAX);
            let surplus = match &entry.before {
                Held::Torn(_) => leftovers(self.db, &key, has),
                _ => (has..had).map(|index| IVec::from(keys::stored(&key, index))).collect(),
            };
            settle(&mut unsettled, chunks.iter().skip(had as usize).map(|(stored, _)| stored));
            settle(&mut unsettled, surplus.iter());
            writes.extend(chunks.into_iter().map(|(stored, chunk)| (stored, Some(chunk))));
            writes.extend(surplus.into_iter().map(|stored| (stored, None)));
            before.insert(key, entry.before);
        }
        if writes.is_empty() {
            return None;
        }
        if let Some((key, number)) = mark.map(Mark::next) {
            unsettled.push(key.clone());
            writes.push((key, Some(number)));
        }
        let mut change = Change { batch: Batch::default(), single: None, before, unsettled, bytes: self.bytes };
        if writes.len() == 1 {
            change.single = writes.pop();
        }
        for (key, value) in writes {
            match value {
                Some(value) => change.batch.insert(key, value),
                None => change.batch.remove(key),
            }
        }
        Some(change)
    }
}

/// Adds as many of a value's stored keys as it takes to pass by every page that they are on: the first and the last,
/// and one in four between, for a page in the middle of them holds at least eight.
fn settle<'a>(unsettled: &mut Vec<IVec>, stored: impl ExactSizeIterator<Item = &'a IVec>) {
    let last = stored.len().saturating_sub(1);
    unsettled.extend(stored.enumerate().filter(|(at, _)| at % 4 == 0 || *at == last).map(|(_, stored)| stored.clone()));
}

/// The stored chunks of a damaged value, from one on. Those that cannot be listed stay, and stay damaged.
fn leftovers(db: &Db, key: &[u8], from: u32) -> Vec<IVec> {
    let listed = guarded(|| {
        let range = db.range(keys::stored(key, from)..=keys::stored(key, u32::MAX));
        Ok(range.keys().map_while(Result::ok).collect::<Vec<_>>())
    });
    let listed = listed.unwrap_or_default();
    listed.into_iter().filter(|stored| keys::split(stored).is_some_and(|(full, _)| full == key)).collect()
}
