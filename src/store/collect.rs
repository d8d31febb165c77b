//! Removing content that nothing names: large parts, versions of documents, tools, sets of them and what paths have seen. It must not know why
//! nothing does.
//!
//! Others write meanwhile. So what they name from the beginning on is written down (`Ledger::watch`), then every record is read for what it
//! names, and what is left is removed in small steps during which nobody commits. A commit takes what it names as its own, or writes it again
//! when it is gone, so that nothing is ever named and missing.
//!
//! A version of documents is taken by its topmost node alone, and what is below comes with it. So versions are removed from the top down: one
//! that somebody takes meanwhile is whole, and one that is begun with cannot be taken any more.

use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;

use super::layout::{Entry, Kind};
use super::record::{
    JournalPage, LeanBody, PlanRecord, PreparedRecord, Standing, ThreadRecord, ToolHashes, decode, open,
};
use super::tally::Amount;
use super::transfer::names_in;
use super::verify::Named;
use super::{Error, Key, Ledger, Namespace, Range, Write};
use crate::domain::id::Hash;
use crate::domain::message::Message;
use crate::domain::run::Run;
use crate::domain::workspace::{Live, Move, Node};

#[cfg(test)]
mod tests;

/// How many records are in memory at a time.
const PAGE: usize = 64;
/// How many are removed while nobody else writes.
const STEP: usize = 256;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Records that were removed, or would be.
    pub removed: BTreeMap<Kind, Amount>,
    /// Those among the candidates that something names.
    pub shared: u64,
    /// Records that were looked at.
    pub checked: u64,
    /// It stopped early.
    pub stopped_early: bool,
}

/// Where to look for what nothing names.
#[derive(Clone, Copy, Debug)]
pub struct Among<'a> {
    /// Only these; all content where there are none.
    pub candidates: Option<&'a HashSet<Entry>>,
    /// Records that are looked past, as if they were not there.
    pub without: &'a HashSet<Entry>,
    /// Where versions of documents are among the candidates, or have content that is, all versions that nothing names go: what somebody wrote
    /// over on the way to one that is erased is as little to be found.
    pub takes_drafts: bool,
}

/// Removes content that nothing names. `goes_on` is asked now and then, and told how far it is.
///
/// # Errors
/// When the store fails, or a record cannot be read: then nobody knows what it names, and nothing is removed.
pub async fn collect(
    ledger: &Ledger,
    ns: &Namespace,
    among: &Among<'_>,
    dry_run: bool,
    goes_on: &mut (dyn FnMut(&Collected) -> bool + Send),
) -> Result<Collected, Error> {
    let Among { candidates, without, takes_drafts } = *among;
    let _watch = ledger.watch();
    // What began to commit before that was not written down, and may be seen only after it was looked for: so it is waited for.
    drop(ledger.alone().await);
    let mut collected = Collected::default();
    let mut marked = HashSet::new();
    let naming = [
        Kind::Journal,
        Kind::Coordination,
        Kind::Prepared,
        Kind::Thread,
        Kind::Workspace,
        Kind::Run,
        Kind::Move,
        Kind::Exchange,
    ];
    for kind in naming {
        let mut range = Range::prefix(&[kind.letter()], PAGE);
        loop {
            let entries = ledger.store().scan(ns, range.clone()).await?;
            let Some((last, _)) = entries.last() else { break };
            range.from = Bound::Excluded(last.clone());
            for (key, raw) in &entries {
                if let Some(entry) = Entry::of_key(key)
                    && !without.contains(&entry)
                {
                    mark(ledger, ns, &entry, raw, &mut marked).await?;
                }
            }
            collected.checked += entries.len() as u64;
            if !goes_on(&collected) {
                collected.stopped_early = true;
                return Ok(collected);
            }
        }
    }
    let sets: Vec<Entry> = marked.iter().filter(|entry| matches!(entry, Entry::ToolSet(_))).cloned().collect();
    for set in sets {
        if let Some(raw) = ledger.raw(ns, &set).await? {
            marked.extend(decode::<ToolHashes>(&set, &raw)?.0.into_iter().map(Entry::Tool));
        }
    }
    if let Some(candidates) = candidates {
        collected.shared = candidates.iter().filter(|entry| marked.contains(entry)).count() as u64;
    }
    let versions = unnamed_versions(ledger, ns, &marked, (candidates, takes_drafts), &mut collected).await?;
    let content: HashSet<Hash> = versions.iter().flat_map(|node| node.content.iter().copied()).collect();
    if !goes_on(&collected)
        || !remove_versions(ledger, ns, versions, &mut marked, dry_run, &mut collected, goes_on).await?
    {
        collected.stopped_early = true;
        return Ok(collected);
    }
    // Sets before the tools that they name, so that a stop in between leaves none of them dangling.
    for kind in [Kind::Part, Kind::Seen, Kind::ToolSet, Kind::Tool] {
        let mut range = Range::prefix(&[kind.letter()], STEP);
        loop {
            let entries = ledger.store().scan(ns, range.clone()).await?;
            let Some((last, _)) = entries.last() else { break };
            range.from = Bound::Excluded(last.clone());
            let unnamed = |key: &Key| {
                let entry = Entry::of_key(key)?;
                let is_content = matches!(&entry, Entry::Part(hash) if content.contains(hash));
                let wanted = is_content || candidates.is_none_or(|candidates| candidates.contains(&entry));
                (wanted && !marked.contains(&entry)).then_some(entry)
            };
            let garbage: Vec<(Entry, usize)> =
                entries.iter().filter_map(|(key, raw)| unnamed(key).map(|entry| (entry, raw.len()))).collect();
            collected.checked += entries.len() as u64;
            let taken = remove(ledger, ns, garbage, dry_run, &mut collected).await?;
            // Somebody took a set as it is, and with it its tools, without naming these.
            for set in taken.iter().filter(|entry| matches!(entry, Entry::ToolSet(_))) {
                if let Some(raw) = ledger.raw(ns, set).await? {
                    marked.extend(decode::<ToolHashes>(set, &raw)?.0.into_iter().map(Entry::Tool));
                }
            }
            if !goes_on(&collected) {
                collected.stopped_early = true;
                return Ok(collected);
            }
        }
    }
    Ok(collected)
}

/// A node of a version of documents that nothing names.
struct Unnamed {
    hash: Hash,
    /// Its bytes as stored.
    bytes: usize,
    level: u32,
    /// What is kept of its documents' content, where only some content is to go.
    content: Vec<Hash>,
}

/// Nodes that are to go: all that nothing names, or only candidates where drafts stay or have nothing to do with them.
async fn unnamed_versions(
    ledger: &Ledger,
    ns: &Namespace,
    marked: &HashSet<Entry>,
    (candidates, takes_drafts): (Option<&HashSet<Entry>>, bool),
    collected: &mut Collected,
) -> Result<Vec<Unnamed>, Error> {
    let mut unnamed = Vec::new();
    let mut go = candidates.is_none_or(|candidates| candidates.iter().any(|entry| matches!(entry, Entry::Node(_))));
    let mut range = Range::prefix(&[Kind::Node.letter()], PAGE);
    loop {
        let entries = ledger.store().scan(ns, range.clone()).await?;
        let Some((last, _)) = entries.last() else { break };
        range.from = Bound::Excluded(last.clone());
        collected.checked += entries.len() as u64;
        for (key, raw) in &entries {
            let Some(entry) = Entry::of_key(key).filter(|entry| !marked.contains(entry)) else { continue };
            let Entry::Node(hash) = entry else { continue };
            let mut content = Vec::new();
            // What cannot be read and nothing names goes first: nobody can take it.
            let level = match decode::<Node>(&entry, raw) {
                Err(_) => u32::MAX,
                Ok(node) => {
                    if let (Node::Leaf(documents), Some(candidates)) = (&node, candidates) {
                        for document in documents {
                            match ledger.content_of(ns, document).await {
                                Ok(kept) => content.extend(kept),
                                Err(Error::Corrupt(_)) => {}
                                Err(error) => return Err(error),
                            }
                        }
                        let goes = |hash: &Hash| {
                            let part = Entry::Part(*hash);
                            candidates.contains(&part) && !marked.contains(&part)
                        };
                        go |= content.iter().any(goes);
                    }
                    node.level()
                }
            };
            unnamed.push(Unnamed { hash, bytes: raw.len(), level, content });
        }
    }
    if let Some(candidates) = candidates.filter(|_| !(go && takes_drafts)) {
        unnamed.retain(|node| candidates.contains(&Entry::Node(node.hash)));
    }
    Ok(unnamed)
}

/// Removes versions from the top down. One that somebody took meanwhile stays with all below it, which is marked. Says whether that was all.
async fn remove_versions(
    ledger: &Ledger,
    ns: &Namespace,
    mut versions: Vec<Unnamed>,
    marked: &mut HashSet<Entry>,
    dry_run: bool,
    collected: &mut Collected,
    goes_on: &mut (dyn FnMut(&Collected) -> bool + Send),
) -> Result<bool, Error> {
    versions.sort_unstable_by_key(|node| std::cmp::Reverse(node.level));
    for level in versions.chunk_by(|one, other| one.level == other.level) {
        for step in level.chunks(STEP) {
            let garbage: Vec<(Entry, usize)> = step
                .iter()
                .map(|node| (Entry::Node(node.hash), node.bytes))
                .filter(|(entry, _)| !marked.contains(entry))
                .collect();
            for taken in remove(ledger, ns, garbage, dry_run, collected).await? {
                if let Entry::Node(hash) = taken {
                    ledger.add_version(ns, Some(hash), marked).await?;
                }
            }
            if !goes_on(collected) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Removes what nobody named meanwhile; gives the others.
async fn remove(
    ledger: &Ledger,
    ns: &Namespace,
    garbage: Vec<(Entry, usize)>,
    dry_run: bool,
    collected: &mut Collected,
) -> Result<Vec<Entry>, Error> {
    if garbage.is_empty() {
        return Ok(Vec::new());
    }
    let alone = ledger.alone().await;
    let (taken, garbage): (Vec<_>, Vec<_>) = garbage.into_iter().partition(|(entry, _)| alone.touched(&entry.key()));
    if !dry_run {
        let deletes = garbage.iter().map(|(entry, _)| entry.key()).collect();
        ledger.store().commit(ns, Write { deletes, ..Write::default() }).await?;
    }
    drop(alone);
    for (entry, bytes) in garbage {
        collected.removed.entry(entry.kind()).or_default().add(bytes);
    }
    Ok(taken.into_iter().map(|(entry, _)| entry).collect())
}

/// Marks what a record names.
async fn mark(
    ledger: &Ledger,
    ns: &Namespace,
    entry: &Entry,
    raw: &bytes::Bytes,
    marked: &mut HashSet<Entry>,
) -> Result<(), Error> {
    match entry {
        Entry::Exchange(_) => {
            let names = names_in(entry, raw)?;
            marked.extend(names.parts.into_iter().map(Entry::Part));
            marked.extend(names.sets.into_iter().map(Entry::ToolSet));
            marked.extend(names.seen.map(Entry::Seen));
            for root in names.roots {
                ledger.add_version(ns, Some(root), marked).await?;
            }
        }
        Entry::Workspace(_) => {
            let live: Live = decode(entry, raw)?;
            ledger.add_version(ns, live.root, marked).await?;
        }
        Entry::Run(_) => {
            let run: Run = decode(entry, raw)?;
            ledger.add_version(ns, run.workspace, marked).await?;
        }
        Entry::Move(..) => {
            let moved: Move = decode(entry, raw)?;
            ledger.add_version(ns, moved.workspace.before, marked).await?;
            ledger.add_version(ns, moved.workspace.after, marked).await?;
        }
        Entry::Thread(_) => {
            if let Standing::Set(hash) = decode::<ThreadRecord>(entry, raw)?.standing {
                marked.insert(Entry::ToolSet(hash));
            }
        }
        Entry::Prepared(_) => {
            let record: PreparedRecord = decode(entry, raw)?;
            marked.extend(record.plan.offered.into_iter().chain(record.plan.standing).map(Entry::ToolSet));
        }
        Entry::Coordination(_) => named(ledger, ns, Named::by(&decode(entry, raw)?), marked).await?,
        Entry::Journal(..) => {
            let page: JournalPage = decode(entry, raw)?;
            let mut names = Named::default();
            page.frames.iter().for_each(|frame| names.add(frame));
            named(ledger, ns, names, marked).await?;
        }
        _ => {}
    }
    Ok(())
}

/// Marks bodies that a coordination names, and what is in them.
async fn named(ledger: &Ledger, ns: &Namespace, names: Named, marked: &mut HashSet<Entry>) -> Result<(), Error> {
    let results = names.results.into_iter().map(|hash| (hash, false));
    for (hash, is_plan) in results.chain(names.plans.into_iter().map(|hash| (hash, true))) {
        let entry = Entry::Part(hash);
        let Some(raw) = ledger.raw(ns, &entry).await? else { continue };
        let bytes = open(&entry, &raw)?;
        let parts = if is_plan {
            let plan = ledger.plan(ns, hash).await?;
            marked.extend(plan.offer.offered.hash().into_iter().chain(plan.offer.standing.hash()).map(Entry::ToolSet));
            LeanBody::<PlanRecord>::new(bytes).and_then(|mut lean| lean.parts())
        } else {
            LeanBody::<Message>::new(bytes).and_then(|mut lean| lean.parts())
        };
        marked.extend(parts.unwrap_or_default().into_iter().map(Entry::Part));
        marked.insert(entry);
    }
    Ok(())
}
