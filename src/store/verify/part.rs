//! Verifying a part of the graph: its exchanges with what they name, their runs, branches and threads. It must not know how a part is walked.

use std::collections::HashSet;

use super::{Check, Event, Finding, Report};
use crate::domain::id::Hash;
use crate::store::layout::Entry;
use crate::store::transfer::{Choice, Wanted, choose, names};
use crate::store::{Error, Ledger, Namespace};

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
    let mut seen = HashSet::new();
    for (id, place) in &choice.exchanges {
        let mut entries = vec![Entry::Branch(place.branch), Entry::Id(*id), Entry::Exchange(*place)];
        if let Ok(names) = names(ledger, namespace, *place).await {
            entries.extend(names.run_id.map(Entry::Run));
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
        check.each(vec![Entry::Thread(id.clone()), Entry::Head(id)], &mut seen, &mut report, tell).await?;
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

    async fn tools_in(&self, set: Hash) -> Result<Vec<Hash>, Error> {
        match self.ledger.tool_set(self.ns, Some(set)).await {
            Ok(set) => Ok(set.tools.iter().map(crate::domain::tool::Tool::hash).collect()),
            // It is found under its own key.
            Err(Error::Corrupt(_)) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}
