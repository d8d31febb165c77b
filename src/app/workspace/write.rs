//! Writing documents: changes of a thread's live state, all in one write or none, and one document in pieces. It must not know how a version
//! is cut into nodes.

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Bytes, BytesMut};

use super::{Found, Version, no_document};
use crate::app::thread::Repeatable;
use crate::app::{App, Caller, store_fault};
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{Hash, Namespace, RequestId, ThreadId};
use crate::domain::thread::Thread;
use crate::domain::workspace::{Content, Document, Live, Root, etag};
use crate::store::ledger::{Changes, Edited, Hold, Lost};

/// How often a write without an etag is made anew because another one was quicker.
const TRIES: usize = 16;
/// Length of a piece of content, in bytes.
const PIECE: usize = 256 * 1024;
/// So many pieces of a document that is being written are in memory; then they are stored, whatever becomes of the document.
const PIECES_IN_MEMORY: usize = 4;

/// One change.
#[derive(Clone, Debug)]
pub enum Edit {
    /// Write a document.
    Put(Put, Bytes),
    /// Remove one that must be there.
    Remove(String),
    /// Take one from another version.
    Copy {
        /// Its name here.
        name: String,
        /// The version.
        source: Version,
        /// Its name there.
        source_name: String,
    },
}

impl Edit {
    fn name(&self) -> &str {
        match self {
            Self::Put(put, _) => &put.name,
            Self::Remove(name) | Self::Copy { name, .. } => name,
        }
    }
}

/// A document to write, without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    /// Its name.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// The caller's own data: a JSON object in text; empty for none.
    pub metadata_json: String,
}

/// A document to write in pieces.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The thread whose live state changes.
    pub thread_id: ThreadId,
    /// What it is.
    pub put: Put,
    /// The etag that the caller saw.
    pub etag: Option<String>,
    /// Makes it safe to repeat.
    pub request_id: Option<RequestId>,
}

/// What came of a write.
#[derive(Clone, Debug)]
pub struct Written {
    /// The version that is live now.
    pub version: Found,
    /// The documents that were written.
    pub documents: Vec<Document>,
    /// This is what an earlier call brought.
    pub replayed: bool,
}

impl App {
    /// Changes the live documents of a thread, all or none.
    ///
    /// # Errors
    /// When the thread is not there, its etag is another one, a document that must be there is not, or a limit is passed.
    pub async fn write_documents(
        &self,
        caller: &Caller,
        thread: &ThreadId,
        edits: &[Edit],
        expected: Option<&str>,
        repeat: &Repeatable,
    ) -> Result<Written, Fault> {
        let namespace = &caller.namespace;
        let names = written_names(edits);
        if let Some(result) = self.repeated(namespace, repeat).await? {
            return self.written_before(caller, &result, &names).await;
        }
        self.accept_work()?;
        for _ in 0..TRIES {
            let (record, live, token) = self.live_for_change(namespace, thread, expected).await?;
            let mut changes = Changes::new();
            let mut made: BTreeMap<String, Option<Document>> = BTreeMap::new();
            for (index, edit) in edits.iter().enumerate() {
                let document = self.edit(caller, (thread, live.root), &made, edit, &mut changes).await;
                let document = document.map_err(|fault| fault.within(&format!("edits[{index}].copy")))?;
                made.insert(edit.name().to_owned(), document);
            }
            let edited = self.edited(namespace, live.root, made).await?;
            let written = match edited {
                Some(edited) => {
                    self.keep_version(namespace, (&record, live, token), edited, changes, &names, repeat).await?
                }
                None => None,
            };
            if let Some(written) = written {
                return Ok(written);
            }
            if expected.is_some() {
                let (record, live, _) = self.live_for_change(namespace, thread, expected).await?;
                return Err(changed(thread, &etag(&record, &live)));
            }
        }
        let message = "the documents were changed by others again and again while they were being written, or content that a version \
                       named is no longer stored: read them and write again";
        Err(Fault::new(Reason::EtagMismatch, message).with("thread_id", thread).retry_after(100))
    }

    /// The version that edits make; absent when the one that they are made of was written over and collected meanwhile.
    async fn edited(
        &self,
        namespace: &Namespace,
        root: Root,
        made: BTreeMap<String, Option<Document>>,
    ) -> Result<Option<Edited>, Fault> {
        let edited = self.ledger.edited(namespace, root, made).await;
        match self.of_versions(namespace, &[root], edited).await {
            Err(gone) if gone.reason == Reason::ResourceNotFound => Ok(None),
            edited => edited.map(Some),
        }
    }

    async fn live_for_change(
        &self,
        namespace: &Namespace,
        thread: &ThreadId,
        expected: Option<&str>,
    ) -> Result<(Thread, Live, Option<crate::store::ledger::Token>), Fault> {
        let (record, _, _) = self.read_thread(namespace, thread).await?;
        let (live, token) = self.ledger.workspace(namespace, thread).await.map_err(store_fault)?;
        let current = etag(&record, &live);
        match expected {
            Some(expected) if expected != current => Err(changed(thread, &current)),
            _ => Ok((record, live, token)),
        }
    }

    /// What a change makes of its name; none where it removes it.
    async fn edit(
        &self,
        caller: &Caller,
        (thread, root): (&ThreadId, Root),
        made: &BTreeMap<String, Option<Document>>,
        edit: &Edit,
        changes: &mut Changes,
    ) -> Result<Option<Document>, Fault> {
        let namespace = &caller.namespace;
        match edit {
            Edit::Put(put, data) => {
                let pieces =
                    data.chunks(PIECE).map(|piece| changes.keep_part(namespace, Bytes::copy_from_slice(piece)));
                let pieces = pieces.collect();
                Ok(Some(Document {
                    name: put.name.clone(),
                    media_type: put.media_type.clone(),
                    size_bytes: u64::try_from(data.len()).unwrap_or(u64::MAX),
                    blake3: Hash::of(data),
                    metadata_json: put.metadata_json.clone(),
                    updated_at: self.clock.now(),
                    content: changes.keep_pieces(namespace, pieces),
                }))
            }
            Edit::Remove(name) => {
                let is_there = match made.get(name) {
                    Some(made) => made.is_some(),
                    None => {
                        let there = self.ledger.document(namespace, root, name).await;
                        self.of_versions(namespace, &[root], there).await?.is_some()
                    }
                };
                if is_there { Ok(None) } else { Err(no_document(name)) }
            }
            Edit::Copy { name, source, source_name } => {
                let found = self.find_version(caller, source, "source").await?;
                let (document, pieces) = self.document_of(namespace, found.root, source_name).await?;
                // Another version may be all that names it, and go while this is written.
                pieces.iter().for_each(|piece| changes.hold_piece(*piece, thread));
                if let Content::List(list) = &document.content {
                    changes.hold_piece(*list, thread);
                }
                Ok(Some(Document { name: name.clone(), updated_at: self.clock.now(), ..document }))
            }
        }
    }

    /// Makes a version the live one; absent when something changed meanwhile.
    async fn keep_version(
        &self,
        namespace: &Namespace,
        (thread, live, token): (&Thread, Live, Option<crate::store::ledger::Token>),
        edited: Edited,
        mut changes: Changes,
        names: &[String],
        repeat: &Repeatable,
    ) -> Result<Option<Written>, Fault> {
        self.check_size(edited.documents, edited.bytes)?;
        let live = Live { root: edited.root, sequence: live.sequence.saturating_add(1), updated_at: self.clock.now() };
        let etag = etag(thread, &live);
        changes.keep_nodes(edited.nodes);
        changes.replace_workspace(&thread.id, &live, token.as_ref());
        let root = edited.root.map(|root| root.to_string()).unwrap_or_default();
        self.remember(&mut changes, repeat, "documents", &format!("{root} {etag}"));
        match self.commit(namespace, &changes).await.map_err(store_fault)? {
            Ok(()) => {}
            Err(Lost::WorkspaceChanged(_)) => return Ok(None),
            Err(Lost::ThreadChanged(id)) => {
                return Err(Fault::not_found(Reason::ThreadNotFound, "thread", id.as_str()));
            }
            Err(Lost::RequestExists(id)) => {
                let message = format!("request id `{id}` is used by another call at this moment: repeat this one");
                return Err(Fault::new(Reason::RequestIdConflict, message).with("request_id", id));
            }
            Err(lost) => return Err(Fault::new(Reason::Internal, format!("a write of documents met {lost:?}"))),
        }
        let version = Found { root: edited.root, documents: edited.documents, bytes: edited.bytes, etag: Some(etag) };
        let documents = self.documents_named(namespace, edited.root, names).await?;
        Ok(Some(Written { version, documents, replayed: false }))
    }

    fn check_size(&self, documents: u64, bytes: u64) -> Result<(), Fault> {
        let over = |limit: &'static str, max: u64, has: u64, what: &str| {
            let message = format!(
                "would leave {has} {what} in the workspace, and at most {max} are kept: remove some first, or put them on another thread"
            );
            Fault::new(Reason::LimitExceeded, format!("edits {message}"))
                .at("edits", message)
                .with("limit", limit)
                .with("max", max)
                .with("value", has)
        };
        let (max_documents, max_bytes) = (self.limits.max_workspace_documents, self.limits.max_workspace_bytes);
        if documents > max_documents {
            return Err(over("max_workspace_documents", max_documents, documents, "documents"));
        }
        if bytes > max_bytes {
            return Err(over("max_workspace_bytes", max_bytes, bytes, "bytes"));
        }
        Ok(())
    }

    async fn documents_named(
        &self,
        namespace: &Namespace,
        root: Root,
        names: &[String],
    ) -> Result<Vec<Document>, Fault> {
        let mut documents = Vec::new();
        for name in names {
            let document = self.ledger.document(namespace, root, name).await;
            documents.extend(self.of_versions(namespace, &[root], document).await?);
        }
        Ok(documents)
    }

    async fn written_before(&self, caller: &Caller, result: &str, names: &[String]) -> Result<Written, Fault> {
        let (root, etag) = result.split_once(' ').unwrap_or((result, ""));
        let root: Root = match root {
            "" => None,
            root => Some(
                root.parse().map_err(|_| Fault::new(Reason::StoreCorrupt, "a remembered write names no version"))?,
            ),
        };
        let found = match self.find_version(caller, &Version::Root(root), "root").await {
            // Others wrote over it, no turn saw it, and it was collected.
            Err(fault) if fault.reason == Reason::ResourceNotFound => {
                let message = "the documents were written by an earlier call of this request id, and that version is kept no longer: \
                               read the live ones";
                return Err(Fault { message: message.to_owned(), ..fault });
            }
            found => found?,
        };
        let documents = self.documents_named(&caller.namespace, root, names).await?;
        Ok(Written { version: Found { etag: Some(etag.to_owned()), ..found }, documents, replayed: true })
    }

    /// Begins to write a document in pieces.
    ///
    /// # Errors
    /// When the thread is not there, or its etag is another one already.
    pub async fn open_writer(&self, caller: &Caller, opened: Opened) -> Result<Writer, Fault> {
        self.accept_work()?;
        // What a repeated call saw is past; whether it is repeated is known when its content is.
        let known = match &opened.request_id {
            Some(id) => self.ledger.request(&caller.namespace, id).await.map_err(store_fault)?.is_some(),
            None => false,
        };
        let expected = opened.etag.as_deref().filter(|_| !known);
        self.live_for_change(&caller.namespace, &opened.thread_id, expected).await?;
        Ok(Writer {
            opened,
            buffer: BytesMut::new(),
            ahead: Vec::new(),
            pieces: Vec::new(),
            stored: 0,
            hold: self.ledger.hold(),
            bytes: 0,
            hasher: Box::new(blake3::Hasher::new()),
        })
    }

    /// Takes the next bytes of a document.
    ///
    /// # Errors
    /// When it is too large, or cannot be stored.
    pub async fn push_document(&self, caller: &Caller, writer: &mut Writer, data: &[u8]) -> Result<(), Fault> {
        writer.bytes = writer.bytes.saturating_add(u64::try_from(data.len()).unwrap_or(u64::MAX));
        let max = self.limits.max_document_bytes;
        if writer.bytes > max {
            let message =
                format!("goes beyond {max} bytes, which is as large as a document may be: cut it into several");
            return Err(Fault::new(Reason::LimitExceeded, format!("chunk.data {message}"))
                .at("chunk.data", message)
                .with("limit", "max_document_bytes")
                .with("max", max)
                .with("value", writer.bytes));
        }
        writer.hasher.update(data);
        writer.buffer.extend_from_slice(data);
        while writer.buffer.len() >= PIECE {
            let piece = writer.buffer.split_to(PIECE).freeze();
            writer.ahead.push(piece);
        }
        if writer.ahead.len() >= PIECES_IN_MEMORY {
            let mut changes = Changes::new();
            let ahead = std::mem::take(&mut writer.ahead);
            for piece in ahead {
                let hash = changes.keep_part(&caller.namespace, piece);
                writer.hold.add(hash);
                writer.pieces.push(hash);
            }
            writer.stored = writer.pieces.len();
            if self.commit(&caller.namespace, &changes).await.map_err(store_fault)?.is_err() {
                return Err(Fault::new(Reason::Internal, "content of a document was refused by the store"));
            }
        }
        Ok(())
    }

    /// Makes a document that was written in pieces part of the live state of its thread.
    ///
    /// # Errors
    /// As for [`Self::write_documents`], and when its content does not have the hash that the caller says.
    pub async fn commit_document(
        &self,
        caller: &Caller,
        writer: Writer,
        expected: Option<Hash>,
        fingerprint: impl FnOnce(Hash) -> Hash,
    ) -> Result<Written, Fault> {
        let namespace = &caller.namespace;
        let blake3 = Hash(*writer.hasher.finalize().as_bytes());
        if let Some(expected) = expected.filter(|expected| *expected != blake3) {
            let message =
                format!("is {expected}, and the {} bytes that came have {blake3}: send them again", writer.bytes);
            return Err(Fault::field("commit.content_blake3", message));
        }
        // Kept until the write is done.
        let _hold = writer.hold;
        let Opened { thread_id: thread, put, etag: seen, request_id } = writer.opened;
        let repeat = Repeatable { request_id, fingerprint: fingerprint(blake3) };
        let names = [put.name.clone()];
        if let Some(result) = self.repeated(namespace, &repeat).await? {
            return self.written_before(caller, &result, &names).await;
        }
        let mut rest = writer.ahead;
        rest.extend((!writer.buffer.is_empty()).then(|| writer.buffer.freeze()));
        for _ in 0..TRIES {
            let (record, live, token) = self.live_for_change(namespace, &thread, seen.as_deref()).await?;
            let mut changes = Changes::new();
            let mut pieces = writer.pieces.clone();
            let stored: BTreeSet<Hash> = pieces.iter().take(writer.stored).copied().collect();
            stored.into_iter().for_each(|piece| changes.hold_piece(piece, &thread));
            pieces.extend(rest.iter().map(|piece| changes.keep_part(namespace, piece.clone())));
            let document = Document {
                name: put.name.clone(),
                media_type: put.media_type.clone(),
                size_bytes: writer.bytes,
                blake3,
                metadata_json: put.metadata_json.clone(),
                updated_at: self.clock.now(),
                content: changes.keep_pieces(namespace, pieces),
            };
            let made = BTreeMap::from([(put.name.clone(), Some(document))]);
            if let Some(edited) = self.edited(namespace, live.root, made).await?
                && let Some(written) =
                    self.keep_version(namespace, (&record, live, token), edited, changes, &names, &repeat).await?
            {
                return Ok(written);
            }
        }
        let message =
            "the documents were changed by others again and again while this one was being written: send it again";
        Err(Fault::new(Reason::EtagMismatch, message).with("thread_id", &thread).retry_after(100))
    }
}

/// A document that is being written.
pub struct Writer {
    opened: Opened,
    /// Bytes that do not make a piece yet.
    buffer: BytesMut,
    /// Pieces that are not stored yet.
    ahead: Vec<Bytes>,
    /// Pieces that are.
    pieces: Vec<Hash>,
    stored: usize,
    /// Keeps them from being collected until a version names them, or nobody wants them any more.
    hold: Hold,
    bytes: u64,
    hasher: Box<blake3::Hasher>,
}

/// The names that changes write, each once, in their order.
fn written_names(edits: &[Edit]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let written = edits.iter().filter(|edit| !matches!(edit, Edit::Remove(_))).map(Edit::name);
    written.filter(|name| seen.insert(*name)).map(str::to_owned).collect()
}

fn changed(thread: &ThreadId, current: &str) -> Fault {
    let message = format!(
        "the documents of thread `{thread}` were changed since they were read: read them again and repeat the change"
    );
    Fault::new(Reason::EtagMismatch, message).with("thread_id", thread).with("etag", current)
}
