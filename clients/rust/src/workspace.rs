//! Documents of threads: read as of any point, compared, and changed. Knows nothing of turns, and of pieces only that there are some.

use std::ops::Deref;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::calls::{Pages, call, method, pages};
use crate::client::Client;
use crate::document::{
    CopyDocument, Document, DocumentChange, DocumentContent, DocumentEdit, RemoveDocument, WorkspacePoint,
    WorkspaceVersion, Written,
};
use crate::download::ReadStream;
use crate::error::Result;
use crate::pb;
use crate::point::ThreadTurn;
use crate::retry::{Limit, fresh};

/// The documents at one point: as of an exchange or a turn, of a version, or what is live on a thread. Each call looks anew.
#[derive(Clone, Debug)]
pub struct Documents {
    client: Client,
    at: WorkspacePoint,
}

impl Documents {
    /// The documents by name, or those whose name begins with a prefix that is not empty; all of one version, whatever is written meanwhile.
    pub fn list(&self, prefix: &str) -> Pages<Document> {
        let asked = self.at.to_raw().map(|at| pb::ListDocumentsRequest {
            at: Some(at),
            name_prefix: prefix.to_owned(),
            ..pb::ListDocumentsRequest::default()
        });
        pages!(self.client, workspaces_service.list_documents, try asked, documents, Document::from_raw)
    }

    /// The version that is there: its name, how much is in it, and the etag for a write.
    ///
    /// # Errors
    /// There is no such point, or the server cannot be asked.
    pub async fn version(&self) -> Result<WorkspaceVersion> {
        let at = Some(self.at.to_raw()?);
        let asked = pb::ListDocumentsRequest { at, page_size: 1, ..pb::ListDocumentsRequest::default() };
        let found = call(Limit::default(), asked, method!(self.client, workspaces_service.list_documents)).await?;
        Ok(WorkspaceVersion::from_raw(found.version))
    }

    /// A document whole, of whatever size. One of more than 1 MiB takes a second call, which reads it in pieces.
    ///
    /// # Errors
    /// There is no such document, or the server cannot be asked.
    pub async fn read(&self, name: &str) -> Result<DocumentContent> {
        let asked = pb::ReadDocumentRequest { at: Some(self.at.to_raw()?), name: name.to_owned() };
        match call(Limit::default(), asked, method!(self.client, workspaces_service.read_document)).await {
            Ok(found) => Ok(DocumentContent {
                document: Document::from_raw(found.document.unwrap_or_default()),
                data: found.data,
                version: WorkspaceVersion::from_raw(found.version),
            }),
            Err(error) if error.reason == "LIMIT_EXCEEDED" => self.read_stream(name).await?.whole().await,
            Err(error) => Err(error),
        }
    }

    /// A document in pieces, which may be larger than memory.
    pub fn read_stream(&self, name: impl Into<String>) -> ReadStream {
        ReadStream::new(self.client.clone(), self.at.clone(), name.into())
    }

    /// In which documents the other side differs from this one, by name.
    pub fn diff(&self, other: impl Into<WorkspacePoint>) -> DiffDocuments {
        let raw = pb::DiffDocumentsRequest::default();
        DiffDocuments { client: self.client.clone(), sides: (self.at.clone(), other.into()), raw }
    }
}

impl From<&Documents> for WorkspacePoint {
    fn from(documents: &Documents) -> Self {
        documents.at.clone()
    }
}

impl From<&Workspace> for WorkspacePoint {
    fn from(workspace: &Workspace) -> Self {
        workspace.live.at.clone()
    }
}

/// Two sides to compare; see [`Documents::diff`].
#[must_use = "nothing is compared before it is awaited"]
pub struct DiffDocuments {
    client: Client,
    sides: (WorkspacePoint, WorkspacePoint),
    raw: pb::DiffDocumentsRequest,
}

impl DiffDocuments {
    /// Only documents whose name begins so.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.raw.name_prefix = prefix.into();
        self
    }

    /// Tells how their texts differ, too.
    pub fn unified(mut self) -> Self {
        self.raw.include_unified_diff = true;
        self
    }

    /// The same to read page after page; awaiting this reads them all.
    pub fn pages(self) -> Pages<DocumentChange> {
        let sides = self.sides.0.to_raw().and_then(|left| Ok((left, self.sides.1.to_raw()?)));
        let raw = self.raw;
        let asked = sides.map(|(left, right)| pb::DiffDocumentsRequest { left: Some(left), right: Some(right), ..raw });
        pages!(self.client, workspaces_service.diff_documents, try asked, documents, DocumentChange::from_raw)
    }
}

impl IntoFuture for DiffDocuments {
    type Output = Result<Vec<DocumentChange>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.pages().all())
    }
}

/// The documents of a thread: what is live, to read as [`Documents`] and to write. What a turn started from is as of it; a fork has those of its
/// point, and from then on its own.
#[derive(Clone, Debug)]
pub struct Workspace {
    thread_id: String,
    live: Documents,
}

impl Deref for Workspace {
    type Target = Documents;

    fn deref(&self) -> &Documents {
        &self.live
    }
}

impl Workspace {
    /// The thread's id.
    pub fn thread_id(&self) -> &str {
        &self.thread_id
    }

    /// Those after a turn on the thread's path, counted from 1: what the next one started from.
    pub fn after_turn(&self, turn: u64) -> Documents {
        self.live.client.documents(ThreadTurn::after_turn(&self.thread_id, turn))
    }

    /// Those after a run on the thread's path.
    pub fn after_run(&self, run_id: impl Into<String>) -> Documents {
        self.live.client.documents(ThreadTurn::after_run(&self.thread_id, run_id))
    }

    /// Removes a document, which must be there.
    pub fn remove(&self, name: impl Into<String>) -> EditDocuments {
        self.edit([RemoveDocument::new(name).into()])
    }

    /// Takes a document of this name from another point, without sending its content; [`edit`](Self::edit) takes one of another name.
    pub fn copy(&self, name: impl Into<String>, from: impl Into<WorkspacePoint>) -> EditDocuments {
        self.edit([CopyDocument::new(name, from).into()])
    }

    /// Makes changes, in order, all or none.
    pub fn edit(&self, edits: impl IntoIterator<Item = DocumentEdit>) -> EditDocuments {
        let raw = pb::WriteDocumentsRequest {
            thread_id: self.thread_id.clone(),
            request_id: fresh(),
            ..pb::WriteDocumentsRequest::default()
        };
        EditDocuments { client: self.live.client.clone(), edits: edits.into_iter().collect(), raw, timeout: None }
    }

    pub(crate) fn client(&self) -> Client {
        self.live.client.clone()
    }
}

/// Changes to documents; see [`Workspace::edit`].
#[must_use = "nothing is written before it is awaited"]
pub struct EditDocuments {
    client: Client,
    edits: Vec<DocumentEdit>,
    raw: pb::WriteDocumentsRequest,
    timeout: Option<Duration>,
}

impl EditDocuments {
    /// Refuses the change where the documents are others than in the version with this etag; an empty one is none.
    pub fn etag(mut self, etag: impl Into<String>) -> Self {
        self.raw.etag = etag.into();
        self
    }

    /// Names the change, so that saying it twice makes it once.
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.raw.request_id = id.into();
        self
    }

    /// How long it may take, its repetitions included.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    async fn run(self) -> Result<Written> {
        let edits: Result<_> = self.edits.into_iter().map(DocumentEdit::into_raw).collect();
        self.client.edited(pb::WriteDocumentsRequest { edits: edits?, ..self.raw }, Limit::after(self.timeout)).await
    }
}

impl IntoFuture for EditDocuments {
    type Output = Result<Written>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl Client {
    /// The documents of a thread, to read and to write. Nothing is asked yet.
    pub fn workspace(&self, thread_id: impl Into<String>) -> Workspace {
        let thread_id = thread_id.into();
        let live = self.documents(ThreadTurn::head(&thread_id));
        Workspace { thread_id, live }
    }

    /// The documents as of an exchange or a turn, or of a version, to read. Nothing is asked yet.
    pub fn documents(&self, at: impl Into<WorkspacePoint>) -> Documents {
        Documents { client: self.clone(), at: at.into() }
    }

    pub(crate) async fn edited(&self, raw: pb::WriteDocumentsRequest, limit: Limit) -> Result<Written> {
        call(limit, raw, method!(self, workspaces_service.write_documents)).await.map(Written::from_raw)
    }
}
