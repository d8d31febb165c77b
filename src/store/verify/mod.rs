//! Verifying a store: every record is whole, under its own key, and agrees with those it names. It must not repair anything, nor say a
//! word of content.
//!
//! Findings and progress are told as they come, so that a store of any size needs the memory of one page. A store that is in use may be
//! verified: what changed while it was looked at is not reported.

mod coordinations;
mod graph;
mod look;
mod names;
mod part;
mod retained;
mod tools;
mod turns;
mod workspaces;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::ops::Bound;

use bytes::Bytes;

pub(super) use self::coordinations::Named;
use self::graph::Previous;
pub use self::part::verify_part;
use super::layout::{Entry, Kind, hex};
use super::transfer::names_in;
use super::{Error, Key, Ledger, Namespace, Range};
use crate::domain::content::Hasher;
use crate::domain::id::{CoordinationId, Hash};

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where.
    pub namespace: Namespace,
    /// What kind of record; absent for a key that names nothing.
    pub kind: Option<Kind>,
    /// Which record, for people: ids and hashes, no content.
    pub record: String,
    /// What is wrong with it.
    pub problem: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "namespace `{}`: {}: {}", self.namespace, self.record, self.problem)
    }
}

/// What the verification says while it goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// More was looked at.
    Progress(&'a Report),
    /// Something is wrong.
    Finding(Finding),
}

/// What was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Namespaces, the present one included.
    pub namespaces: u64,
    /// Records of each kind.
    pub records: BTreeMap<Kind, u64>,
    /// Bytes of all values.
    pub bytes: u64,
    /// Exchanges that were erased, whose content cannot be checked.
    pub erased: u64,
    /// Things that are wrong.
    pub findings: u64,
}

/// Looks at every record of every namespace.
///
/// # Errors
/// When the store fails. Damage is a finding, not an error.
pub async fn verify(ledger: &Ledger, tell: &mut (dyn FnMut(Event<'_>) + Send)) -> Result<Report, Error> {
    let mut report = Report::default();
    for namespace in ledger.store().namespaces().await? {
        namespace_into(ledger, &namespace, &mut report, tell).await?;
    }
    Ok(report)
}

/// Looks at every record of one namespace.
///
/// # Errors
/// When the store fails. Damage is a finding, not an error.
pub async fn verify_namespace(
    ledger: &Ledger,
    namespace: &Namespace,
    tell: &mut (dyn FnMut(Event<'_>) + Send),
) -> Result<Report, Error> {
    let mut report = Report::default();
    namespace_into(ledger, namespace, &mut report, tell).await?;
    Ok(report)
}

async fn namespace_into(
    ledger: &Ledger,
    namespace: &Namespace,
    report: &mut Report,
    tell: &mut (dyn FnMut(Event<'_>) + Send),
) -> Result<(), Error> {
    report.namespaces += 1;
    let mut check = Check::new(ledger, namespace);
    for letter in 0..=u8::MAX {
        check.letter(letter, report, tell).await?;
    }
    Ok(())
}

/// The verification of one namespace.
struct Check<'a> {
    ledger: &'a Ledger,
    ns: &'a Namespace,
    hasher: Hasher,
    /// The exchange that was looked at before, which is mostly the parent of the next one.
    previous: Option<Previous>,
    /// The journal that was looked at before, and the number of its last frame.
    journalled: Option<(CoordinationId, u64)>,
    /// Tool sets that are known to be there.
    sets: HashSet<Hash>,
    /// Versions of documents that are known to be there.
    roots: HashSet<Hash>,
    /// Sets and maps of tools that are known to agree.
    agreed: HashSet<(Hash, Hash)>,
}

impl<'a> Check<'a> {
    fn new(ledger: &'a Ledger, ns: &'a Namespace) -> Self {
        Self {
            ledger,
            ns,
            hasher: Hasher::new(ns),
            previous: None,
            journalled: None,
            sets: HashSet::new(),
            roots: HashSet::new(),
            agreed: HashSet::new(),
        }
    }

    /// Looks at every key that begins with a letter.
    async fn letter(
        &mut self,
        letter: u8,
        report: &mut Report,
        tell: &mut (dyn FnMut(Event<'_>) + Send),
    ) -> Result<(), Error> {
        let limit = page(Kind::of_letter(letter));
        let mut range = Range::prefix(&[letter], limit);
        loop {
            let entries = self.ledger.store().scan(self.ns, range.clone()).await?;
            let Some((last, _)) = entries.last() else { return Ok(()) };
            range.from = Bound::Excluded(last.clone());
            let is_last = entries.len() < limit;
            for (key, raw) in entries {
                report.bytes += raw.len() as u64;
                for finding in self.entry(&key, &raw, report).await? {
                    report.findings += 1;
                    tell(Event::Finding(finding));
                }
            }
            tell(Event::Progress(report));
            if is_last {
                return Ok(());
            }
        }
    }

    async fn entry(&mut self, key: &Key, raw: &Bytes, report: &mut Report) -> Result<Vec<Finding>, Error> {
        let Some(entry) = Entry::of_key(key) else {
            return Ok(vec![self.finding(None, format!("key {}", hex(key)), "names nothing".to_owned())]);
        };
        *report.records.entry(entry.kind()).or_default() += 1;
        let problems = self.problems(&entry, raw).await?;
        if let Entry::Exchange(_) = &entry
            && names_in(&entry, raw).is_ok_and(|names| names.is_erased)
        {
            report.erased += 1;
        }
        // What changed in the meantime was looked at in two states, of which each may have been right.
        if problems.is_empty() || self.ledger.raw(self.ns, &entry).await?.as_ref() != Some(raw) {
            return Ok(Vec::new());
        }
        let record = entry.to_string();
        Ok(problems.into_iter().map(|problem| self.finding(Some(entry.kind()), record.clone(), problem)).collect())
    }

    fn finding(&self, kind: Option<Kind>, record: String, problem: String) -> Finding {
        Finding { namespace: self.ns.clone(), kind, record, problem }
    }

    async fn problems(&mut self, entry: &Entry, raw: &Bytes) -> Result<Vec<String>, Error> {
        match entry {
            Entry::Exchange(place) => self.exchange(*place, raw).await,
            Entry::Id(id) => self.id(*id, raw).await,
            Entry::Content(hash, id) => self.content(*hash, *id, raw).await,
            Entry::Branch(id) => self.branch(*id, raw).await,
            Entry::Block(id) => self.block(*id, raw).await,
            Entry::Run(id) => self.run(id, raw).await,
            Entry::Thread(id) => self.thread(id, raw).await,
            Entry::Head(id) => self.head(id, raw).await,
            Entry::ToolSet(hash) => self.tool_set(*hash, raw).await,
            Entry::Tool(hash) => Ok(Self::tool(*hash, raw)),
            Entry::Seen(hash) => self.seen(*hash, raw).await,
            Entry::Part(hash) => Ok(self.part(*hash, raw)),
            Entry::Request(id) => Ok(Self::request(id, raw)),
            Entry::Coordination(id) => self.coordination(id, raw).await,
            Entry::Journal(id, first) => self.journal(id, *first, raw).await,
            Entry::Departure(after, id) => self.departed(*after, *id, raw).await,
            Entry::Pointer(id, _) => self.pointer(entry, *id, raw).await,
            Entry::Indexes => Ok(Self::indexes(raw)),
            Entry::Prepared(id) => self.prepared(id, raw).await,
            Entry::Workspace(id) => self.workspace(id, raw).await,
            Entry::Node(hash) => self.node(*hash, raw).await,
            Entry::Move(id, number) => self.moved(id, *number, raw).await,
            Entry::Pin(_)
            | Entry::Expiry(..)
            | Entry::Due(_)
            | Entry::Receipt(_)
            | Entry::Erasing(_)
            | Entry::Spending(_) => self.retained(entry, raw).await,
        }
    }
}

/// How many records are in memory at a time: few of those that can be large.
fn page(kind: Option<Kind>) -> usize {
    match kind {
        Some(Kind::Part) => 4,
        Some(Kind::Exchange) => 32,
        _ => 256,
    }
}
