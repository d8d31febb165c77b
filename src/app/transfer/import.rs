//! Importing what an export or a backup wrote: chunks of lines in, what became of them out. It must not know how a line is read.

use std::sync::Arc;

use super::apart;
use crate::app::access::AUDIT;
use crate::app::{App, Caller, store_fault};
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::Namespace;
use crate::store::transfer::{Faulty, Importer, Options, Refused, Summary, Tallies};

/// What comes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Importing {
    /// How to import it.
    pub options: Options,
}

/// An import under way.
pub struct Import {
    app: Arc<App>,
    importer: Importer,
    namespace: Namespace,
    dry_run: bool,
    acknowledged: u64,
    /// No collection begins meanwhile.
    _importing: apart::Importing,
}

/// What an import tells.
#[derive(Debug, PartialEq, Eq)]
pub enum Told {
    /// Lines up to this one are stored.
    Acknowledged(u64),
    /// A line was left out.
    Faulty(Faulty),
}

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// What was read.
    pub read: Summary,
    /// What became of it.
    pub tallies: Tallies,
}

impl App {
    /// Begins an import into the caller's namespace; of a backup of all, into all.
    ///
    /// # Errors
    /// When the server takes no work.
    pub async fn import(self: &Arc<Self>, caller: &Caller, importing: Importing) -> Result<Import, Fault> {
        self.accept_work()?;
        let dry_run = importing.options.dry_run;
        let importer = Importer::new(&self.ledger, caller.only_namespace().cloned(), importing.options);
        let importing = self.transfers.apart.import(caller.only_namespace()).await;
        let namespace = caller.namespace.clone();
        Ok(Import { app: Arc::clone(self), importer, namespace, dry_run, acknowledged: 0, _importing: importing })
    }
}

impl Import {
    /// Reads whole lines, of which the first has this number.
    ///
    /// # Errors
    /// When one is wrong and not to be left out, or the store fails. What was read before it is stored.
    pub async fn chunk(&mut self, first_line: u64, lines: &str) -> Result<Vec<Told>, Fault> {
        match self.read(first_line, lines).await {
            Ok(told) => Ok(told),
            Err(refused) => Err(self.broken(refused).await),
        }
    }

    async fn read(&mut self, first_line: u64, lines: &str) -> Result<Vec<Told>, Refused> {
        self.importer.skip_to(first_line)?;
        let mut told = Vec::new();
        for line in lines.strip_suffix('\n').unwrap_or(lines).split('\n') {
            let read = self.importer.line(line).await;
            told.extend(self.importer.take_faulty().into_iter().map(Told::Faulty));
            read?;
            if self.importer.is_full() {
                told.extend(self.acknowledge().await?);
            }
        }
        Ok(told)
    }

    async fn acknowledge(&mut self) -> Result<Option<Told>, Refused> {
        let through = self.importer.flush().await?;
        let is_new = through > self.acknowledged && !self.dry_run;
        self.acknowledged = through;
        Ok(is_new.then_some(Told::Acknowledged(through)))
    }

    /// Ends the import, with the hash of all lines where the sender gives one.
    ///
    /// # Errors
    /// When lines are missing, or the store fails.
    pub async fn finish(mut self, blake3: &str) -> Result<(Vec<Told>, Total), Fault> {
        let finished = self.importer.finish(blake3).await;
        let (read, tallies) = match finished {
            Ok(finished) => finished,
            Err(refused) => return Err(self.broken(refused).await),
        };
        let mut told: Vec<Told> = self.importer.take_faulty().into_iter().map(Told::Faulty).collect();
        if !self.dry_run {
            told.push(Told::Acknowledged(read.lines));
        }
        let (lines, skipped, dry_run) = (read.lines, tallies.skipped, self.dry_run);
        let stored: u64 = tallies.stored.values().map(|amount| amount.count).sum();
        let matched: u64 = tallies.matched.values().map(|amount| amount.count).sum();
        let namespace = self.namespace.as_str();
        let erased: u64 = tallies.erased.values().map(|amount| amount.count).sum();
        tracing::info!(target: AUDIT, namespace, lines, stored, matched, erased, skipped, dry_run, "import.done");
        let Self { app, dry_run, _importing, .. } = self;
        drop(_importing);
        if !dry_run {
            app.tidy(&tallies.untidy).await?;
        }
        Ok((told, Total { read, tallies }))
    }

    /// The sender went away or was refused: what was read is stored.
    pub async fn abandon(mut self) {
        let through = self.importer.flush().await.unwrap_or(self.acknowledged);
        let (namespace, lines) = (self.namespace.as_str(), self.importer.lines());
        tracing::info!(target: AUDIT, namespace, lines, through, dry_run = self.dry_run, "import.broke_off");
    }

    async fn broken(&mut self, refused: Refused) -> Fault {
        match refused {
            Refused::Store(error) => store_fault(error),
            Refused::Line(faulty) => {
                // What came before it is right, and stays.
                let through = match self.importer.flush().await {
                    Ok(through) => through.min(faulty.line.saturating_sub(1)),
                    Err(Refused::Store(error)) => return store_fault(error),
                    Err(Refused::Line(_)) => self.acknowledged,
                };
                wrong(&faulty, if self.dry_run { 0 } else { through })
            }
        }
    }
}

/// The fault of a line.
pub(super) fn wrong(faulty: &Faulty, through: u64) -> Fault {
    let (line, remedy) = (faulty.line, faulty.remedy);
    let message = format!("line {line} {}: {remedy}; lines up to {through} are stored", faulty.message);
    let field = format!("line {line} {}", faulty.message);
    let fault = Fault::new(Reason::InvalidFields, message).at("chunk.lines_json", field);
    fault.with("line", line).with("through_line", through).with("problem", faulty.code)
}
