//! Workspaces: which version of a thread's documents belongs to which point, and reading, listing and comparing versions. It must not know
//! how a version is put together, nor what a document says.

use bytes::Bytes;
use futures::future::try_join;

use crate::domain::exchange::Exchange;
use crate::domain::fault::{Fault, Reason};
use crate::domain::graph::{self, Place, Segment};
use crate::domain::id::{ExchangeId, Hash, Namespace, ThreadId};
use crate::domain::run::{Run, State};
use crate::domain::thread::Head;
use crate::domain::workspace::{Document, Root, etag};
use crate::store;
use crate::store::ledger::{Changes, Pair};

use super::base::{Start, StartThread};
use super::fork::At;
use super::{App, Caller, store_fault};

mod compared;
mod write;

pub use self::compared::DocumentsPage;
pub use self::write::{Edit, Opened, Put, Writer, Written};

/// Largest document that is read or written in one message, in bytes.
pub const MAX_WHOLE_BYTES: u64 = 1024 * 1024;

/// Which version of documents.
#[derive(Clone, Debug)]
pub enum Version {
    /// As of a point on a thread's path.
    Thread(ThreadId, At),
    /// As of an exchange.
    Exchange {
        /// The exchange.
        id: ExchangeId,
        /// What its run started from, not what was there when it was complete.
        before: bool,
    },
    /// By its name.
    Root(Root),
}

/// A version that is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub root: Root,
    /// How many documents it has.
    pub documents: u64,
    /// Bytes of their contents.
    pub bytes: u64,
    /// What a write must have seen, for the live state of a thread.
    pub etag: Option<String>,
}

/// A page of a version's documents.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The documents, by name.
    pub documents: Vec<Document>,
    /// The version.
    pub version: Found,
    /// The name after which the next page begins.
    pub next: Option<String>,
}

/// Where a page goes on: the version, and the name after which it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After {
    /// The version.
    pub root: Root,
    /// The last name of the page before.
    pub name: String,
}

/// The first name that can follow another one.
fn following(name: &str) -> String {
    format!("{name}\0")
}

/// A version that was to be named went before it was: whoever had it was erased.
pub(super) fn version_gone() -> Fault {
    let message =
        "the documents that go with this point were erased at this moment: repeat the call to be told what is left";
    Fault::new(Reason::EtagMismatch, message).retry_after(100)
}

fn no_version(root: Root) -> Fault {
    let name = root.map(|root| root.to_string()).unwrap_or_default();
    let fault = Fault::not_found(Reason::ResourceNotFound, "version of documents", name.clone());
    fault.with("kind", "workspace_version").with("id", name)
}

fn no_document(name: &str) -> Fault {
    Fault::not_found(Reason::DocumentNotFound, "document", name)
}

impl App {
    /// Finds the version that a field names.
    ///
    /// # Errors
    /// When the thread, the point on it, the exchange or the version is not there.
    pub(super) async fn find_version(&self, caller: &Caller, version: &Version, field: &str) -> Result<Found, Fault> {
        self.version(caller, version).await.map_err(|fault| fault.within(field))
    }

    async fn version(&self, caller: &Caller, version: &Version) -> Result<Found, Fault> {
        let namespace = &caller.namespace;
        let (root, etag) = self.root_of(namespace, version).await?;
        if let Some((documents, bytes)) = self.ledger.sums(namespace, root).await.map_err(store_fault)? {
            return Ok(Found { root, documents, bytes, etag });
        }
        // What was live may have been written over since, and collected.
        let (again, etag) = self.root_of(namespace, version).await?;
        match self.ledger.sums(namespace, again).await.map_err(store_fault)? {
            Some((documents, bytes)) => Ok(Found { root: again, documents, bytes, etag }),
            None => Err(no_version(again)),
        }
    }

    async fn root_of(&self, namespace: &Namespace, version: &Version) -> Result<(Root, Option<String>), Fault> {
        Ok(match version {
            Version::Thread(id, at) => {
                let (thread, head, _) = self.read_thread(namespace, id).await?;
                let (live, _) = self.ledger.workspace(namespace, id).await.map_err(store_fault)?;
                let root = match at {
                    At::Head => live.root,
                    at => {
                        let point = self.point_on_thread(namespace, id, &head, at).await?;
                        self.root_after(namespace, id, &head, &point).await?
                    }
                };
                (root, matches!(at, At::Head).then(|| etag(&thread, &live)))
            }
            Version::Exchange { id, before } => {
                let workspace = self.parent(namespace, *id).await?.exchange.workspace;
                (if *before { workspace.before } else { workspace.after }, None)
            }
            Version::Root(root) => (*root, None),
        })
    }

    /// What was read of versions. One that nothing names may be collected while it is read, from its top on, so what is missing below is
    /// damage only where the top is there.
    pub(super) async fn of_versions<T>(
        &self,
        namespace: &Namespace,
        roots: &[Root],
        read: Result<T, store::Error>,
    ) -> Result<T, Fault> {
        if let Err(store::Error::Corrupt(_)) = &read {
            for root in roots {
                if let Ok(None) = self.ledger.sums(namespace, *root).await {
                    return Err(no_version(*root));
                }
            }
        }
        read.map_err(store_fault)
    }

    /// Documents of a version whose names begin so, by name.
    ///
    /// # Errors
    /// When the version is not there.
    pub async fn list_documents(
        &self,
        caller: &Caller,
        version: &Version,
        prefix: &str,
        after: Option<After>,
        limit: usize,
    ) -> Result<Listed, Fault> {
        let mut found = self.find_version(caller, version, "at").await;
        if let Some(after) = &after {
            // Later pages are of the same version, whatever became of the thread; what was live may be so no longer.
            let pinned = self.find_version(caller, &Version::Root(after.root), "at").await?;
            let etag = found.ok().filter(|now| now.root == after.root).and_then(|now| now.etag);
            found = Ok(Found { etag, ..pinned });
        }
        let version = found?;
        let from = after.map_or_else(|| prefix.to_owned(), |after| following(&after.name));
        let read = self.ledger.documents(
            &caller.namespace,
            version.root,
            &from,
            limit.saturating_add(1),
            self.limits.max_page_bytes,
        );
        let mut documents = self.of_versions(&caller.namespace, &[version.root], read.await).await?;
        let whole = documents.len();
        documents.retain(|document| document.name.starts_with(prefix));
        let goes_on = documents.len() == whole && !documents.is_empty();
        let next = if documents.len() > limit {
            documents.truncate(limit);
            documents.last().map(|last| last.name.clone())
        } else if goes_on && self.has_more(caller, version.root, prefix, &documents).await? {
            documents.last().map(|last| last.name.clone())
        } else {
            None
        };
        Ok(Listed { documents, version, next })
    }

    /// Whether a page that ended early, being large, has another one after it.
    async fn has_more(&self, caller: &Caller, root: Root, prefix: &str, documents: &[Document]) -> Result<bool, Fault> {
        let Some(last) = documents.last() else { return Ok(false) };
        let from = following(&last.name);
        let next = self.ledger.documents(&caller.namespace, root, &from, 1, 1).await;
        let next = self.of_versions(&caller.namespace, &[root], next).await?;
        Ok(next.first().is_some_and(|next| next.name.starts_with(prefix)))
    }

    /// A document with its version and the pieces of its content.
    ///
    /// # Errors
    /// When the version or the document is not there.
    pub async fn open_document(
        &self,
        caller: &Caller,
        version: &Version,
        name: &str,
    ) -> Result<(Document, Found, Vec<Hash>), Fault> {
        let found = self.find_version(caller, version, "at").await?;
        let (document, pieces) = self.document_of(&caller.namespace, found.root, name).await?;
        Ok((document, found, pieces))
    }

    /// A document of a version that is there, with the pieces of its content.
    async fn document_of(&self, namespace: &Namespace, root: Root, name: &str) -> Result<(Document, Vec<Hash>), Fault> {
        let document = self.of_versions(namespace, &[root], self.ledger.document(namespace, root, name).await).await?;
        let document = document.ok_or_else(|| no_document(name))?;
        let pieces = self.of_versions(namespace, &[root], self.ledger.pieces(namespace, &document).await).await?;
        Ok((document, pieces))
    }

    /// A piece of the content of a document of a version.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn document_piece(&self, caller: &Caller, root: Root, piece: Hash) -> Result<Bytes, Fault> {
        self.of_versions(&caller.namespace, &[root], self.ledger.piece(&caller.namespace, piece).await).await
    }

    /// A document that fits into one message, with its content.
    ///
    /// # Errors
    /// When it is not there, or too large.
    pub async fn read_document(
        &self,
        caller: &Caller,
        version: &Version,
        name: &str,
    ) -> Result<(Document, Found, Bytes), Fault> {
        let (document, found, pieces) = self.open_document(caller, version, name).await?;
        if document.size_bytes > MAX_WHOLE_BYTES {
            let message = format!(
                "names a document of {} bytes, and at most {MAX_WHOLE_BYTES} are read in one message: use StreamReadDocument",
                document.size_bytes
            );
            return Err(Fault::new(Reason::LimitExceeded, format!("name {message}"))
                .at("name", message)
                .with("limit", "document_bytes_in_one_message")
                .with("max", MAX_WHOLE_BYTES)
                .with("value", document.size_bytes));
        }
        let data = self.content(&caller.namespace, found.root, &pieces).await?;
        Ok((document, found, data))
    }

    async fn content(&self, namespace: &Namespace, root: Root, pieces: &[Hash]) -> Result<Bytes, Fault> {
        let mut data = Vec::new();
        for piece in pieces {
            let read = self.of_versions(namespace, &[root], self.ledger.piece(namespace, *piece).await).await?;
            if pieces.len() == 1 {
                return Ok(read);
            }
            data.extend_from_slice(&read);
        }
        Ok(data.into())
    }

    /// The version that a turn starts from, held where its thread is there already.
    pub(super) async fn root_at_claim(
        &self,
        namespace: &Namespace,
        start: &Start,
        changes: &mut Changes,
    ) -> Result<Root, Fault> {
        match &start.thread {
            Some(StartThread::Create(_, _, root)) => Ok(*root),
            Some(StartThread::Move(thread, _, _)) => {
                let (live, token) = self.ledger.workspace(namespace, &thread.id).await.map_err(store_fault)?;
                changes.hold_workspace(&thread.id, token.as_ref());
                Ok(live.root)
            }
            None => {
                let root = start.parent.as_ref().and_then(|parent| parent.exchange.workspace.after);
                changes.hold_version(root);
                Ok(root)
            }
        }
    }

    /// The run of a thread that is not over: at work, or waiting for results.
    pub(super) async fn unfinished(&self, namespace: &Namespace, head: &Head) -> Result<Option<Run>, Fault> {
        let Some(id) = &head.active_run else { return Ok(None) };
        let Some((run, _)) = self.ledger.run(namespace, id).await.map_err(store_fault)? else { return Ok(None) };
        let run = self.current(namespace, run).await?;
        Ok(Some(run).filter(|run| matches!(run.state, State::Running | State::PendingTools)))
    }

    /// The version that goes with a thread's head: what the turn that is not over started from, else the live one. What is written during a
    /// turn belongs to that turn.
    pub(super) async fn settled_root(
        &self,
        namespace: &Namespace,
        thread: &ThreadId,
        head: &Head,
    ) -> Result<Root, Fault> {
        let live = self.ledger.workspace(namespace, thread);
        let (unfinished, live) =
            try_join(self.unfinished(namespace, head), async { live.await.map_err(store_fault) }).await?;
        Ok(unfinished.map_or(live.0.root, |run| run.workspace))
    }

    /// The version that goes with a point on a thread's path: what the next turn started from (S1-13), at the head the settled one.
    pub(super) async fn root_after(
        &self,
        namespace: &Namespace,
        thread: &ThreadId,
        head: &Head,
        point: &Exchange,
    ) -> Result<Root, Fault> {
        if head.exchange == Some(point.id) {
            return self.settled_root(namespace, thread, head).await;
        }
        let path = self.head_path(namespace, head).await?.unwrap_or_default();
        self.root_before_next(namespace, &path, point.depth).await.map(|root| root.unwrap_or(point.workspace.after))
    }

    /// What the exchange after a depth on a path started from; absent when there is none, or it was erased.
    pub(super) async fn root_before_next(
        &self,
        namespace: &Namespace,
        path: &[Segment],
        depth: u64,
    ) -> Result<Option<Root>, Fault> {
        let next: Option<Place> = graph::at_depth(path, depth.saturating_add(1));
        let next = match next {
            Some(place) => self.ledger.exchange_at(namespace, place).await.map_err(store_fault)?,
            None => None,
        };
        Ok(next.filter(|next| next.erased.is_none()).map(|next| next.workspace.before))
    }
}

/// Whether a name that differs still belongs to what was asked for.
fn is_within(pair: &Pair, prefix: &str) -> bool {
    pair.name().starts_with(prefix)
}
