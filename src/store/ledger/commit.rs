//! Committing a set of changes, and with it the decision where exchanges come to lie. It must not know what the exchanges say.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use futures::future::{try_join, try_join_all};

use super::changes::Append;
use super::{Changes, Ledger, Lost};
use crate::domain::content::Hasher;
use crate::domain::drift::Seen;
use crate::domain::exchange::Exchange;
use crate::domain::graph::{Block, Branch, Place};
use crate::domain::id::{BranchId, ExchangeId, Hash, ThreadId};
use crate::domain::tool::{Tool, ToolSet};
use crate::domain::workspace::Node;
use crate::store::layout::Entry;
use crate::store::record::envelope::Packed;
use crate::store::record::exchange::draft;
use crate::store::record::{Mark, Stored, ToolHashes, encode, open};
use crate::store::{Commit, Error, Guard, Key, Namespace, Write};

/// How often a place is chosen anew. The second choice is a branch of its own, which nobody else can want.
const ATTEMPTS: u64 = 8;

impl Ledger {
    /// Applies a set of changes, or nothing of it and says which guard was lost. Durable when it answers.
    ///
    /// A set is committed once: when it was applied and the answer did not arrive, committing it again is [`Lost`].
    ///
    /// # Errors
    /// When the store fails; whether the set was applied is then unknown unless the error says that it takes no writes. Also when
    /// exchanges do not follow one another.
    pub async fn commit(&self, ns: &Namespace, changes: &Changes) -> Result<Result<(), Lost>, Error> {
        if changes.is_empty() {
            return Ok(Ok(()));
        }
        let drafts = Drafts::new(ns, changes)?;
        let mut known = Known::default();
        let _passing = self.gate.commit().await;
        for attempt in 0..ATTEMPTS {
            let (write, causes) = self.write(ns, changes, &drafts, &known, attempt).await?;
            self.gate.touch(&write, &changes.roots);
            match self.store.commit(ns, write).await? {
                Commit::Done => return Ok(Ok(())),
                Commit::Refused { guard, .. } => match causes.into_iter().nth(guard) {
                    Some(Cause::Lost(lost)) => return Ok(Err(lost)),
                    Some(Cause::Taken(place)) => known.taken.extend([place]),
                    Some(Cause::Gone(entry)) => known.gone.extend([entry]),
                    Some(Cause::BranchId) => {}
                    None => {
                        return Err(Error::Unavailable(
                            "the store refused a write for no guard that it had".to_owned(),
                        ));
                    }
                },
            }
        }
        Err(Error::Unavailable(format!("no place was found for an exchange in {ATTEMPTS} attempts: repeat the call")))
    }

    async fn write(
        &self,
        ns: &Namespace,
        changes: &Changes,
        drafts: &Drafts,
        known: &Known,
        attempt: u64,
    ) -> Result<(Write, Vec<Cause>), Error> {
        let (kept, placed) = try_join(
            self.keep(ns, changes, drafts, known),
            try_join_all(changes.appends.iter().map(|append| self.fit(ns, append, known, attempt))),
        )
        .await?;

        let mut plan = Plan::new(changes);
        for (thread, exchange) in &changes.left {
            // Most heads were on an exchange that was made on their thread, and no entry is to be removed.
            let entry = Entry::Pointer(*exchange, thread.clone());
            if self.raw(ns, &entry).await?.is_some() {
                plan.write.deletes.push(entry.key());
            }
        }
        let mut taken = BTreeSet::new();
        for ((fit, drafts), append) in placed.into_iter().zip(&drafts.appends).zip(&changes.appends) {
            // Two sets of exchanges after one: only the first can extend its branch.
            let fit = match fit {
                Fit::Extend { first, after } if !taken.insert(first) => self.depart(ns, append, after, attempt).await?,
                fit => fit,
            };
            plan.place(append, drafts, fit);
        }
        plan.keep(kept);
        Ok(plan.done())
    }

    /// Where exchanges can go, as far as can be seen.
    async fn fit(&self, ns: &Namespace, append: &Append, known: &Known, attempt: u64) -> Result<Fit, Error> {
        let Some(after) = append.after else {
            return Ok(Fit::Begin { branch: Branch::root(new_branch(append, attempt)) });
        };
        let first = Place { branch: after.branch, depth: after.depth + 1 };
        if known.taken.contains(&first) || self.raw(ns, &Entry::Exchange(first)).await?.is_some() {
            return self.depart(ns, append, after, attempt).await;
        }
        Ok(Fit::Extend { first, after })
    }

    async fn depart(&self, ns: &Namespace, append: &Append, after: Place, attempt: u64) -> Result<Fit, Error> {
        let parent = self.branch(ns, after.branch).await?;
        let (branch, block) = Branch::depart(new_branch(append, attempt), &parent, after.depth);
        Ok(Fit::Depart { branch, block, after })
    }

    /// What is stored once, under its hash: written when it is not there, or not whole; otherwise only held.
    async fn keep(
        &self,
        ns: &Namespace,
        changes: &Changes,
        drafts: &Drafts,
        known: &Known,
    ) -> Result<Vec<(Entry, Keep)>, Error> {
        let parts = drafts.parts.iter().map(|(hash, bytes)| (Entry::Part(*hash), Stuff::Part(bytes)));
        let sets = changes.sets.iter().map(|(hash, set)| (Entry::ToolSet(*hash), Stuff::Tools(set)));
        let seen = changes.seen.iter().map(|(hash, seen)| (Entry::Seen(*hash), Stuff::Seen(seen)));
        let nodes = changes.nodes.iter().map(|(hash, node)| (Entry::Node(*hash), Stuff::Node(node)));
        try_join_all(parts.chain(sets).chain(seen).chain(nodes).map(|(entry, stuff)| async move {
            let there = !known.gone.contains(&entry)
                && self.raw(ns, &entry).await?.is_some_and(|raw| open(&entry, &raw).is_ok());
            let keep = if there { Keep::Held } else { Keep::Written(stuff.puts(&entry)) };
            Ok((entry, keep))
        }))
        .await
    }
}

/// What a lost guard was for.
enum Cause {
    /// The caller's affair.
    Lost(Lost),
    /// Another exchange came to lie there first.
    Taken(Place),
    /// A branch has the id already, which chance does not bring about.
    BranchId,
    /// What was there under its hash is gone.
    Gone(Entry),
}

/// What refusals have taught. The store refuses for what is on its way too, which a read does not show yet.
#[derive(Default)]
struct Known {
    taken: BTreeSet<Place>,
    gone: BTreeSet<Entry>,
}

/// Exchanges and content made ready once, however often a place is chosen.
struct Drafts {
    appends: Vec<Vec<Packed>>,
    parts: BTreeMap<Hash, Bytes>,
}

impl Drafts {
    fn new(ns: &Namespace, changes: &Changes) -> Result<Self, Error> {
        let hasher = Hasher::new(ns);
        let mut parts = kept(changes, &hasher)?;
        let mut appends = Vec::with_capacity(changes.appends.len());
        for append in &changes.appends {
            follow(append)?;
            let drafts = append.exchanges.iter().map(|exchange| draft(exchange, &hasher)).map(|draft| {
                parts.extend(draft.parts);
                draft.packed
            });
            appends.push(drafts.collect());
        }
        Ok(Self { appends, parts })
    }
}

/// Content of its own must have the hash that it has in this namespace, or nobody would find it.
fn kept(changes: &Changes, hasher: &Hasher) -> Result<BTreeMap<Hash, Bytes>, Error> {
    match changes.parts.iter().find(|(hash, bytes)| hasher.part(bytes) != **hash) {
        None => Ok(changes.parts.clone()),
        Some((hash, _)) => Err(Error::Corrupt(format!(
            "content {hash} was made ready for another namespace, so nothing was stored: this is a fault of the server, please report it"
        ))),
    }
}

/// Exchanges must be one path, or what is stored could never be read back as one.
fn follow(append: &Append) -> Result<(), Error> {
    let mut depth = append.after.map_or(0, |after| after.depth);
    let mut previous: Option<ExchangeId> = None;
    for exchange in &append.exchanges {
        depth += 1;
        let follows = match previous {
            Some(id) => exchange.parent == Some(id),
            None => exchange.parent.is_some() == append.after.is_some(),
        };
        if exchange.depth != depth || !follows {
            return Err(Error::Corrupt(format!(
                "exchange {} does not follow the one before it, so nothing was stored: this is a fault of the server, please report it",
                exchange.id
            )));
        }
        previous = Some(exchange.id);
    }
    Ok(())
}

/// Where exchanges go.
enum Fit {
    /// To a new root.
    Begin { branch: Branch },
    /// On the branch of the one before.
    Extend { first: Place, after: Place },
    /// On a new branch.
    Depart { branch: Branch, block: Option<Block>, after: Place },
}

/// Looks random, since exchange ids are; needs no source of chance.
fn new_branch(append: &Append, attempt: u64) -> BranchId {
    let mut hasher = blake3::Hasher::new();
    if let Some(first) = append.exchanges.first() {
        hasher.update(first.id.as_bytes());
    }
    hasher.update(&attempt.to_be_bytes());
    let mut id = [0; 8];
    hasher.finalize_xof().fill(&mut id);
    BranchId(id)
}

/// What is stored under its own hash.
enum Stuff<'a> {
    Part(&'a Bytes),
    Tools(&'a ToolSet),
    Seen(&'a Seen),
    Node(&'a Node),
}

impl Stuff<'_> {
    fn puts(&self, entry: &Entry) -> Vec<(Key, Bytes)> {
        match self {
            Self::Part(bytes) => vec![(entry.key(), Packed::new((*bytes).clone()).seal(&entry.key()))],
            Self::Seen(seen) => vec![sealed(entry, *seen)],
            Self::Node(node) => vec![sealed(entry, *node)],
            Self::Tools(set) => {
                let tool = |tool: &Tool| sealed(&Entry::Tool(tool.hash()), tool);
                set.tools.iter().map(tool).chain([sealed(entry, &ToolHashes::new(set))]).collect()
            }
        }
    }
}

fn sealed(entry: &Entry, value: &impl Stored) -> (Key, Bytes) {
    (entry.key(), encode(entry, value))
}

/// Index entries of heads that are put on exchanges which were not made on their threads; an exchange that was names its thread itself.
fn pointers(changes: &Changes) -> impl Iterator<Item = (Key, Bytes)> {
    let made_on = |thread: &ThreadId, id: ExchangeId| {
        let mut made = changes.appends.iter().flat_map(|append| &append.exchanges);
        made.any(|exchange| exchange.id == id && exchange.thread_id.as_ref() == Some(thread))
    };
    changes
        .pointers
        .iter()
        .filter(move |(thread, id)| !made_on(thread, *id))
        .map(|(thread, id)| sealed(&Entry::Pointer(*id, thread.clone()), &Mark { version: 1 }))
}

enum Keep {
    Held,
    Written(Vec<(Key, Bytes)>),
}

/// A write that is being put together.
struct Plan {
    write: Write,
    causes: Vec<Cause>,
}

impl Plan {
    fn new(changes: &Changes) -> Self {
        // A version that comes with the set need not be there before it.
        let comes = |lost: &Lost| matches!(lost, Lost::VersionGone(root) if changes.nodes.contains_key(root));
        let guards = changes.guards.iter().filter(|(_, lost)| !comes(lost));
        let (guards, causes) = guards.map(|(guard, lost)| (guard.clone(), Cause::Lost(lost.clone()))).unzip();
        let mut write = Write { guards, puts: changes.puts.clone(), deletes: changes.deletes.clone() };
        write.puts.extend(pointers(changes));
        Self { write, causes }
    }

    fn guard(&mut self, guard: Guard, cause: Cause) {
        self.write.guards.push(guard);
        self.causes.push(cause);
    }

    fn place(&mut self, append: &Append, drafts: &[Packed], fit: Fit) {
        for exchange in &append.exchanges {
            let lost = Lost::ExchangeExists(exchange.id);
            self.guard(Guard::Absent(Entry::Id(exchange.id).key()), Cause::Lost(lost));
        }
        let (branch, after) = match fit {
            Fit::Extend { first, after } => {
                self.guard(Guard::Absent(Entry::Exchange(first).key()), Cause::Taken(first));
                (after.branch, Some(after))
            }
            Fit::Begin { branch } => (self.branch(&branch), None),
            Fit::Depart { branch, block, after } => {
                if let Some(block) = block {
                    self.write.puts.push(sealed(&Entry::Block(block.id), &block));
                }
                if let Some(first) = append.exchanges.first() {
                    let place = Place { branch: branch.id, depth: first.depth };
                    self.write.puts.push(sealed(&Entry::Departure(after, first.id), &place));
                }
                (self.branch(&branch), Some(after))
            }
        };
        if let (Some(after), Some(first)) = (after, append.exchanges.first()) {
            let lost = Lost::ParentMissing(first.id);
            self.guard(Guard::Present(Entry::Exchange(after).key()), Cause::Lost(lost));
        }
        for (exchange, packed) in append.exchanges.iter().zip(drafts) {
            self.exchange(exchange, packed, Place { branch, depth: exchange.depth });
        }
    }

    fn branch(&mut self, branch: &Branch) -> BranchId {
        let entry = Entry::Branch(branch.id);
        self.guard(Guard::Absent(entry.key()), Cause::BranchId);
        self.write.puts.push(sealed(&entry, branch));
        branch.id
    }

    fn exchange(&mut self, exchange: &Exchange, packed: &Packed, place: Place) {
        let key = Entry::Exchange(place).key();
        let value = packed.seal(&key);
        self.write.puts.push((key, value));
        self.write.puts.push(sealed(&Entry::Id(exchange.id), &place));
        if exchange.erased.is_none() {
            self.write.puts.push(sealed(&Entry::Content(exchange.content_hash, exchange.id), &place));
        }
    }

    fn keep(&mut self, kept: Vec<(Entry, Keep)>) {
        for (entry, keep) in kept {
            match keep {
                Keep::Held => self.guard(Guard::Present(entry.key()), Cause::Gone(entry)),
                Keep::Written(puts) => self.write.puts.extend(puts),
            }
        }
    }

    fn done(self) -> (Write, Vec<Cause>) {
        (self.write, self.causes)
    }
}
