//! Verifying a part of the graph: its exchanges with what they name, their runs, branches, threads and documents. It must not know how a part is
//! walked.

use std::collections::HashSet;

use super::look::Look;
use super::{Check, Event, Finding, Report};
use crate::domain::id::{Hash, ThreadId};
use crate::domain::run::Run;
use crate::domain::workspace::{Live, Move, Node, Root};
use crate::store::layout::Entry;
use crate::store::transfer::{Choice, Wanted, choose, names};
use crate::store::{Error, Ledger, Namespace};

/// How many moves of a head are looked for at a time.
const MOVES: usize = 256;

/// Looks at a part of a namespace, with all that it needs.
///
/// # Errors
/// When the store fails. Damage is a finding, not an error.
pub async fn verify_part(
    ledger: &Ledger,
    namespace: &Namespace,
    wanted: &[Wanted],
    tell: &mut (dyn FnMut(Event<'_>) + Send),
) -> Result<Report, Error> {
    let mut report = Report { namespaces: 1, ..Report::default() };
    let choice = match choose(ledger, namespace, wanted).await {
        Ok(choice) => choice,
        Err(Error::Corrupt(problem)) => {
            // What is damaged hides what lies beyond it.
            report.findings += 1;
            let record = "the part of the graph".to_owned();
            tell(Event::Finding(Finding { namespace: namespace.clone(), kind: None, record, problem }));
            Choice::default()
        }
        Err(error) => return Err(error),
    };
    let mut check = Check::new(ledger, namespace);
    let (mut seen, mut walked) = (HashSet::new(), HashSet::new());
    for (id, place) in &choice.exchanges {
        let mut entries = vec![Entry::Branch(place.branch), Entry::Id(*id), Entry::Exchange(*place)];
        if let Ok(names) = names(ledger, namespace, *place).await {
            let mut roots: Vec<Root> = names.roots.into_iter().map(Some).collect();
            if let Some(run) = names.run_id.map(Entry::Run) {
                if let Look::Found(run) = check.look::<Run>(&run).await? {
                    roots.push(run.workspace);
                }
                entries.push(run);
            }
            for root in roots {
                entries.extend(check.below(root, &mut walked).await?);
            }
            entries.extend(names.parts.into_iter().map(Entry::Part));
            entries.extend(names.seen.map(Entry::Seen));
            for set in names.sets {
                entries.extend(check.tools_in(set).await?.into_iter().map(Entry::Tool));
                entries.push(Entry::ToolSet(set));
            }
        }
        check.each(entries, &mut seen, &mut report, tell).await?;
    }
    for id in choice.threads {
        let mut entries = check.documents_of(&id, &mut walked).await?;
        entries.extend([Entry::Thread(id.clone()), Entry::Head(id)]);
        check.each(entries, &mut seen, &mut report, tell).await?;
    }
    Ok(report)
}

impl Check<'_> {
    /// Looks at records that were not looked at yet. One that is missing is told by those that name it.
    async fn each(
        &mut self,
        entries: Vec<Entry>,
        seen: &mut HashSet<Entry>,
        report: &mut Report,
        tell: &mut (dyn FnMut(Event<'_>) + Send),
    ) -> Result<(), Error> {
        for entry in entries {
            if !seen.insert(entry.clone()) {
                continue;
            }
            let Some(raw) = self.ledger.raw(self.ns, &entry).await? else { continue };
            report.bytes += raw.len() as u64;
            for finding in self.entry(&entry.key(), &raw, report).await? {
                report.findings += 1;
                tell(Event::Finding(finding));
            }
        }
        tell(Event::Progress(report));
        Ok(())
    }

    /// The documents of a thread and the moves of its head, with all that is below them.
    async fn documents_of(&self, id: &ThreadId, walked: &mut HashSet<Hash>) -> Result<Vec<Entry>, Error> {
        let mut entries = Vec::new();
        let live = Entry::Workspace(id.clone());
        if let Look::Found(found) = self.look::<Live>(&live).await? {
            entries.extend(self.below(found.root, walked).await?);
        }
        entries.push(live);
        let mut before = u64::MAX;
        loop {
            let numbers = self.ledger.numbers_of_moves(self.ns, id, before, MOVES).await?;
            let Some(last) = numbers.last() else { return Ok(entries) };
            before = *last;
            for number in numbers {
                let entry = Entry::Move(id.clone(), number);
                if let Look::Found(moved) = self.look::<Move>(&entry).await? {
                    entries.extend(self.below(moved.workspace.before, walked).await?);
                    entries.extend(self.below(moved.workspace.after, walked).await?);
                }
                entries.push(entry);
            }
        }
    }

    /// A version of documents with all that is below it, but for what was walked already. What is missing or damaged is told elsewhere.
    async fn below(&self, root: Root, walked: &mut HashSet<Hash>) -> Result<Vec<Entry>, Error> {
        let mut entries = Vec::new();
        let mut ahead: Vec<Hash> = root.into_iter().collect();
        while let Some(hash) = ahead.pop() {
            if !walked.insert(hash) {
                continue;
            }
            let entry = Entry::Node(hash);
            match self.look::<Node>(&entry).await? {
                Look::Found(Node::Inner { children, .. }) => ahead.extend(children.iter().map(|child| child.hash)),
                Look::Found(Node::Leaf(documents)) => {
                    for document in &documents {
                        match self.ledger.content_of(self.ns, document).await {
                            Ok(content) => entries.extend(content.into_iter().map(Entry::Part)),
                            Err(Error::Corrupt(_)) => {}
                            Err(error) => return Err(error),
                        }
                    }
                }
                Look::Missing | Look::Broken => {}
            }
            entries.push(entry);
        }
        Ok(entries)
    }

    async fn tools_in(&self, set: Hash) -> Result<Vec<Hash>, Error> {
        match self.ledger.tool_set(self.ns, Some(set)).await {
            Ok(set) => Ok(set.tools.iter().map(crate::domain::tool::Tool::hash).collect()),
            // It is found under its own key.
            Err(Error::Corrupt(_)) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}
