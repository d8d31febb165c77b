//! Documents of threads as they are read and written: places, versions, contents, changes. Knows nothing of how they are asked for.

use std::str::Utf8Error;
use std::sync::Arc;
use std::time::SystemTime;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::Result;
use crate::exchange::Exchange;
use crate::json::{as_json, metadata_json};
use crate::pb;
use crate::point::{ExchangeId, ExchangeRef, ThreadTurn};
use crate::thread::time_of;
use crate::word::ChangeKind;

/// A document, without its content.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Document {
    /// Its name, of which a workspace has one.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// The length of its content in bytes.
    pub size_bytes: u64,
    /// BLAKE3 of its content, in hexadecimal.
    pub content_blake3: String,
    /// The caller's own data, JSON, as it was given; nothing when there is none.
    pub metadata: Option<Box<RawValue>>,
    /// When this version of it was written.
    pub update_time: SystemTime,
    raw: Arc<pb::Document>,
}

impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl Document {
    /// The message behind it.
    pub fn raw(&self) -> &pb::Document {
        &self.raw
    }

    pub(crate) fn from_raw(raw: pb::Document) -> Self {
        Self {
            name: raw.name.clone(),
            media_type: raw.media_type.clone(),
            size_bytes: raw.size_bytes,
            content_blake3: raw.content_blake3.clone(),
            // An empty text is no JSON: there is no data then.
            metadata: RawValue::from_string(raw.metadata_json.clone()).ok(),
            update_time: time_of(raw.update_time),
            raw: Arc::new(raw),
        }
    }
}

/// One version of a workspace: a set of documents that never changes, named by its content.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WorkspaceVersion {
    /// Its name, by which it is read again; empty without documents.
    pub root: String,
    /// How many documents it has.
    pub document_count: u64,
    /// The sum of the lengths of its documents in bytes.
    pub size_bytes: u64,
    /// What a write must have seen; empty unless it is what is live on a thread.
    pub etag: String,
}

impl WorkspaceVersion {
    pub(crate) fn from_raw(raw: Option<pb::WorkspaceVersion>) -> Self {
        let raw = raw.unwrap_or_default();
        Self {
            root: raw.workspace_root,
            document_count: raw.document_count,
            size_bytes: raw.size_bytes,
            etag: raw.etag,
        }
    }
}

/// A version of a workspace by its name alone, as a [`Move`](crate::Move) of a thread has it; an empty one is the version without documents.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkspaceRoot(pub String);

impl WorkspaceRoot {
    /// The version of that name.
    pub fn new(root: impl Into<String>) -> Self {
        Self(root.into())
    }
}

/// What the run of an exchange started from; the exchange alone is what was there when it was complete.
#[derive(Clone, Debug)]
pub struct BeforeExchange(ExchangeRef);

impl BeforeExchange {
    /// Before the run of that exchange.
    pub fn new(exchange: impl Into<ExchangeRef>) -> Self {
        Self(exchange.into())
    }
}

/// Where documents are read: as of an [`Exchange`] or its [`ExchangeId`], or [`BeforeExchange`]; of a [`ThreadTurn`], whose head is what is live on the
/// thread; or a [`WorkspaceVersion`] or [`WorkspaceRoot`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum WorkspacePoint {
    /// As of an exchange.
    Exchange(ExchangeRef),
    /// Before its run.
    Before(BeforeExchange),
    /// On a thread.
    Turn(ThreadTurn),
    /// A version.
    Root(WorkspaceRoot),
}

macro_rules! points {
    ($($of:ty => $point:ident),* $(,)?) => {$(
        impl From<$of> for WorkspacePoint {
            fn from(of: $of) -> Self {
                Self::$point(of.into())
            }
        }
    )*};
}
points! {
    &Exchange => Exchange,
    Exchange => Exchange,
    &ExchangeId => Exchange,
    ExchangeId => Exchange,
    ExchangeRef => Exchange,
    BeforeExchange => Before,
    ThreadTurn => Turn,
    WorkspaceRoot => Root,
    WorkspaceVersion => Root,
    &WorkspaceVersion => Root,
}

impl From<WorkspaceVersion> for WorkspaceRoot {
    fn from(version: WorkspaceVersion) -> Self {
        Self(version.root)
    }
}

impl From<&WorkspaceVersion> for WorkspaceRoot {
    fn from(version: &WorkspaceVersion) -> Self {
        Self(version.root.clone())
    }
}

impl WorkspacePoint {
    pub(crate) fn to_raw(&self) -> Result<pb::WorkspacePoint> {
        use pb::workspace_point::Point;
        let exchange = |exchange: &ExchangeRef, before| -> Result<Point> {
            let exchange_id = exchange.to_raw()?.exchange_id;
            Ok(Point::Exchange(pb::ExchangeWorkspace { exchange_id, before }))
        };
        let point = match self {
            Self::Exchange(of) => exchange(of, false)?,
            Self::Before(BeforeExchange(of)) => exchange(of, true)?,
            Self::Turn(turn) => Point::Thread(turn.clone().into_raw()),
            Self::Root(WorkspaceRoot(root)) => Point::Root(pb::WorkspaceRoot { workspace_root: root.clone() }),
        };
        Ok(pb::WorkspacePoint { point: Some(point) })
    }
}

/// A document with its content.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DocumentContent {
    /// What it is.
    pub document: Document,
    /// Its content.
    pub data: Vec<u8>,
    /// The version that it is of.
    pub version: WorkspaceVersion,
}

impl DocumentContent {
    /// The content read as UTF-8.
    ///
    /// # Errors
    /// It is none.
    pub fn text(&self) -> Result<&str, Utf8Error> {
        std::str::from_utf8(&self.data)
    }
}

/// A document in which two versions differ.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DocumentChange {
    /// Its name.
    pub name: String,
    /// How, from left to right.
    pub kind: ChangeKind,
    /// On the left; nothing where it is on the right alone.
    pub left: Option<Document>,
    /// On the right; nothing where it is on the left alone.
    pub right: Option<Document>,
    /// What changed, where it was asked for and both sides are texts of up to 1 MiB; else empty.
    pub unified_diff: String,
}

impl DocumentChange {
    pub(crate) fn from_raw(raw: pb::DocumentDiff) -> Self {
        Self {
            name: raw.name,
            kind: ChangeKind::from_raw(raw.kind),
            left: raw.left.map(Document::from_raw),
            right: raw.right.map(Document::from_raw),
            unified_diff: raw.unified_diff,
        }
    }
}

/// What came of a write.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Written {
    /// What is live now, or was right after an earlier call of the same id.
    pub version: WorkspaceVersion,
    /// The documents that were written, in the order of the changes.
    pub documents: Vec<Document>,
    /// This is the stored result of an earlier call.
    pub replayed: bool,
}

impl Written {
    pub(crate) fn from_raw(raw: pb::WriteDocumentsResponse) -> Self {
        Self {
            version: WorkspaceVersion::from_raw(raw.version),
            documents: raw.documents.into_iter().map(Document::from_raw).collect(),
            replayed: raw.replayed,
        }
    }

    pub(crate) fn streamed(raw: pb::StreamWriteDocumentResponse) -> Self {
        Self {
            version: WorkspaceVersion::from_raw(raw.version),
            documents: raw.document.map(Document::from_raw).into_iter().collect(),
            replayed: raw.replayed,
        }
    }
}

/// One change to a workspace: a [`PutDocument`], a [`RemoveDocument`] or a [`CopyDocument`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum DocumentEdit {
    /// Writes a document.
    Put(PutDocument),
    /// Removes a document.
    Remove(RemoveDocument),
    /// Takes a document from elsewhere.
    Copy(CopyDocument),
}

/// Writes a document, new or over the one that is there.
#[derive(Clone, Debug)]
#[must_use]
pub struct PutDocument {
    raw: pb::PutDocument,
    metadata: Option<Result<String, String>>,
}

impl PutDocument {
    /// With this content, of up to 1 MiB; a text goes as UTF-8.
    pub fn new(name: impl Into<String>, data: impl Into<Vec<u8>>) -> Self {
        let raw = pb::PutDocument { name: name.into(), data: data.into(), ..pb::PutDocument::default() };
        Self { raw, metadata: None }
    }

    /// Its media type; `application/octet-stream` when absent.
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.raw.media_type = media_type.into();
        self
    }

    /// Data of the caller's own, which becomes a JSON object.
    pub fn metadata(mut self, metadata: &impl Serialize) -> Self {
        self.metadata = Some(as_json(metadata));
        self
    }
}

/// Removes a document, which must be there.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoveDocument(pub String);

impl RemoveDocument {
    /// The document of that name.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }
}

/// Takes a document from another version, or from elsewhere, without sending its content.
#[derive(Clone, Debug)]
#[must_use]
pub struct CopyDocument {
    name: String,
    from: WorkspacePoint,
    source_name: String,
}

impl CopyDocument {
    /// To this name here, from the document of the same name there.
    pub fn new(name: impl Into<String>, from: impl Into<WorkspacePoint>) -> Self {
        Self { name: name.into(), from: from.into(), source_name: String::new() }
    }

    /// What it is called there.
    pub fn source_name(mut self, name: impl Into<String>) -> Self {
        self.source_name = name.into();
        self
    }
}

impl From<PutDocument> for DocumentEdit {
    fn from(edit: PutDocument) -> Self {
        Self::Put(edit)
    }
}

impl From<RemoveDocument> for DocumentEdit {
    fn from(edit: RemoveDocument) -> Self {
        Self::Remove(edit)
    }
}

impl From<CopyDocument> for DocumentEdit {
    fn from(edit: CopyDocument) -> Self {
        Self::Copy(edit)
    }
}

impl DocumentEdit {
    pub(crate) fn into_raw(self) -> Result<pb::DocumentEdit> {
        use pb::document_edit::Edit;
        let edit = match self {
            Self::Put(put) => Edit::Put(pb::PutDocument { metadata_json: metadata_json(put.metadata)?, ..put.raw }),
            Self::Remove(RemoveDocument(name)) => Edit::Remove(pb::RemoveDocument { name }),
            Self::Copy(CopyDocument { name, from, source_name }) => {
                Edit::Copy(pb::CopyDocument { name, source: Some(from.to_raw()?), source_name })
            }
        };
        Ok(pb::DocumentEdit { edit: Some(edit) })
    }
}
