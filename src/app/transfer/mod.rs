//! Moving data in and out: exports and backups of one moment of the store, and imports. It must not know lines, or how they travel.

mod apart;
mod import;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::sleep;

pub(super) use self::apart::Alone;
use self::apart::Apart;
pub use self::import::{Import, Importing, Told, Total};
pub use crate::store::transfer::{Chunk, Summary};

use super::graph::Scope;
use super::{App, Caller, store_fault};
use crate::app::access::AUDIT;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{Moment, Namespace};
use crate::store::transfer::{self, Stopped, Wanted};
use crate::store::{Ledger, Store};

/// Exports and backups at work at a time: each keeps what changes meanwhile in memory.
const MAX_AT_WORK: usize = 4;
/// Moments of the store that are kept for exports which broke off.
const MAX_KEPT: usize = 2;
/// For how long, in milliseconds.
const KEPT_MS: u64 = 15 * 60 * 1_000;
/// For how long when everything was sent, whose end can still be lost on the way.
const KEPT_AT_THE_END_MS: u64 = 60 * 1_000;
/// Chunks that may wait for whoever receives them.
const AHEAD: usize = 4;

/// Exports at work, and moments of the store for those that broke off.
pub(super) struct Transfers {
    at_work: Arc<Semaphore>,
    kept: Mutex<Vec<Kept>>,
    /// Imports at work, and collections and erasures, which keep them out, and each other.
    pub(super) apart: Apart,
}

impl Default for Transfers {
    fn default() -> Self {
        Self { at_work: Arc::new(Semaphore::new(MAX_AT_WORK)), kept: Mutex::default(), apart: Apart::default() }
    }
}

impl Transfers {
    /// Exports and backups at work, and how many there may be.
    pub(super) fn in_use(&self) -> (usize, usize) {
        (MAX_AT_WORK - self.at_work.available_permits(), MAX_AT_WORK)
    }
}

/// A moment of the store, and what is exported of it.
#[derive(Clone)]
struct Kept {
    id: String,
    what: String,
    store: Arc<dyn Store>,
    at: Moment,
    until: Moment,
    /// Everything was sent since it was last asked for.
    sent: bool,
}

/// An export under way.
pub struct Exporting {
    /// Names the moment that it is of.
    pub snapshot_id: String,
    /// Its lines, and at the end what they were.
    pub told: mpsc::Receiver<Result<Exported, Fault>>,
}

/// What an export tells.
#[derive(Debug)]
pub enum Exported {
    /// Lines.
    Lines(Chunk),
    /// That was all.
    Done(Summary),
}

/// Where an export goes on that broke off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    /// The moment that it is of; a new one when empty.
    pub snapshot_id: String,
    /// The last line that was received.
    pub after_line: u64,
}

impl Scope {
    /// The same for the cellar.
    pub(super) fn wanted(&self) -> Wanted {
        match self {
            Self::Path(id) => Wanted::Path(*id),
            Self::Subtree(id, steps) => Wanted::Subtree(*id, *steps),
            Self::Thread(id) => Wanted::Thread(id.clone()),
            Self::Tree(id) => Wanted::Tree(id.clone()),
        }
    }
}

impl App {
    /// Exports parts of the caller's namespace with all that they need, or the whole of it; without documents where they are to be left out.
    ///
    /// # Errors
    /// When there is no such exchange or thread, too many exports are at work, or the moment to go on from is not kept any more.
    pub async fn export(
        self: &Arc<Self>,
        caller: &Caller,
        scopes: &[Scope],
        omit_documents: bool,
        resume: Resume,
    ) -> Result<Exporting, Fault> {
        self.ledger.complete_indexes(&caller.namespace).await.map_err(store_fault)?;
        let mut wanted = Vec::with_capacity(scopes.len());
        for scope in scopes {
            self.scope_begin(caller, scope).await?;
            wanted.push(scope.wanted());
        }
        let wanted = (!wanted.is_empty()).then_some(wanted);
        self.send(caller, "export", vec![(caller.namespace.clone(), wanted)], omit_documents, resume).await
    }

    /// Exports everything: the caller's namespace, or all.
    ///
    /// # Errors
    /// When the caller may not, or too many exports are at work.
    pub async fn backup(self: &Arc<Self>, caller: &Caller, all_namespaces: bool) -> Result<Exporting, Fault> {
        let namespaces = if all_namespaces {
            caller.speaks_for_the_server()?;
            self.ledger.store().namespaces().await.map_err(store_fault)?
        } else {
            vec![caller.namespace.clone()]
        };
        let whole = namespaces.into_iter().map(|namespace| (namespace, None)).collect();
        self.send(caller, "backup", whole, false, Resume::default()).await
    }

    async fn send(
        self: &Arc<Self>,
        caller: &Caller,
        verb: &'static str,
        namespaces: Vec<(Namespace, Option<Vec<Wanted>>)>,
        omit_documents: bool,
        resume: Resume,
    ) -> Result<Exporting, Fault> {
        let permit = Arc::clone(&self.transfers.at_work).try_acquire_owned().map_err(|_| too_many())?;
        let moment = self.moment(format!("{verb} {namespaces:?} {omit_documents}"), &resume.snapshot_id).await?;
        let export = transfer::Export {
            namespaces,
            snapshot_id: moment.id.clone(),
            created_at_ms: moment.at.0,
            after_line: resume.after_line,
            omit_documents,
        };
        let (out, told) = mpsc::channel(AHEAD);
        let snapshot_id = moment.id.clone();
        let (app, namespace) = (Arc::clone(self), caller.namespace.clone());
        // Ends when nobody receives any more.
        tokio::spawn(async move {
            let keeps_ms = app.carry(verb, &namespace, &moment, &export, out).await;
            drop::<OwnedSemaphorePermit>(permit);
            drop(moment);
            let app = Arc::downgrade(&app);
            sleep(Duration::from_millis(keeps_ms)).await;
            if let Some(app) = app.upgrade() {
                drop(app.forget_moments().await);
            }
        });
        Ok(Exporting { snapshot_id, told })
    }

    /// Sends an export, and says for how many milliseconds its moment is kept from then on.
    async fn carry(
        &self,
        verb: &'static str,
        namespace: &Namespace,
        moment: &Kept,
        export: &transfer::Export,
        out: mpsc::Sender<Result<Exported, Fault>>,
    ) -> u64 {
        let ledger = Ledger::new(Arc::clone(&moment.store));
        let (chunks, mut written) = mpsc::channel(1);
        let to = out.clone();
        // It owns its end, which is dropped with it: so when nobody receives, the next chunk finds that out.
        let passing = async move {
            while let Some(chunk) = written.recv().await {
                if to.send(Ok(Exported::Lines(chunk))).await.is_err() {
                    return;
                }
            }
        };
        let writing = async {
            let written = transfer::export(&ledger, export, &chunks).await;
            drop(chunks);
            written
        };
        let (written, ()) = tokio::join!(writing, passing);
        let (namespace, snapshot_id) = (namespace.as_str(), moment.id.as_str());
        match written {
            Ok(summary) if export.after_line > summary.lines => {
                let message = format!(
                    "is {}, and the export has {} lines: give the number of the last one that was received",
                    export.after_line, summary.lines
                );
                out.send(Err(Fault::field("after_line", message))).await.ok();
            }
            Ok(summary) => {
                let (lines, bytes) = (summary.lines, summary.bytes);
                tracing::info!(target: AUDIT, verb, namespace, snapshot_id, lines, bytes, "transfer.sent");
                self.keep_moment(&moment.id, KEPT_AT_THE_END_MS, true).await;
                if out.send(Ok(Exported::Done(summary))).await.is_ok() {
                    return KEPT_AT_THE_END_MS;
                }
            }
            Err(Stopped::Gone) => tracing::info!(target: AUDIT, verb, namespace, snapshot_id, "transfer.broke_off"),
            Err(Stopped::Store(error)) => {
                let fault = store_fault(error);
                tracing::warn!(
                    target: AUDIT,
                    verb,
                    namespace,
                    snapshot_id,
                    reason = fault.reason.word(),
                    "transfer.failed"
                );
                out.send(Err(fault)).await.ok();
            }
        }
        self.keep_moment(&moment.id, KEPT_MS, false).await;
        KEPT_MS
    }

    async fn keep_moment(&self, id: &str, keeps_ms: u64, sent: bool) {
        let until = Moment(self.clock.now().0 + keeps_ms);
        let mut kept = self.transfers.kept.lock().await;
        // Who broke off and came again for the rest may be found to be gone only after that rest was sent.
        if let Some(kept) = kept.iter_mut().find(|kept| kept.id == id && (sent || !kept.sent)) {
            (kept.until, kept.sent) = (until, sent);
        }
    }

    /// A new moment of the store, or one that is kept.
    async fn moment(&self, what: String, id: &str) -> Result<Kept, Fault> {
        let mut kept = self.forget_moments().await;
        // Its time begins when the export ends, however long that takes.
        let until = Moment(u64::MAX);
        if !id.is_empty() {
            let found = kept.iter_mut().find(|kept| kept.id == id && kept.what == what);
            let found = found.ok_or_else(|| {
                let message = "names no export of these scopes that can go on: begin again without it; an import skips what it has";
                Fault::field("snapshot_id", message)
            })?;
            (found.until, found.sent) = (until, false);
            return Ok(found.clone());
        }
        let store = self.ledger.store().snapshot().await.map_err(store_fault)?;
        let at = self.clock.now();
        let moment = Kept { id: self.ids.uuid().to_string(), what, store, at, until, sent: false };
        if kept.len() >= MAX_KEPT {
            kept.remove(0);
        }
        kept.push(moment.clone());
        Ok(moment)
    }

    /// Lets go of the moments whose time is over, and gives what is left.
    async fn forget_moments(&self) -> MutexGuard<'_, Vec<Kept>> {
        let mut kept = self.transfers.kept.lock().await;
        let now = self.clock.now();
        kept.retain(|kept| now < kept.until);
        kept
    }
}

fn too_many() -> Fault {
    let message = format!("{MAX_AT_WORK} exports and backups are at work, which is the limit: wait for one of them");
    let fault = Fault::new(Reason::LimitExceeded, message).with("limit", "exports").with("max", MAX_AT_WORK);
    fault.with("value", MAX_AT_WORK + 1).retry_after(5_000)
}
