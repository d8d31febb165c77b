//! Workspaces: points at which documents are read, changes of documents, and documents and versions in answers. It must not know which
//! documents there are.

use super::inspect::page_size_from_pb;
use super::message::all;
use super::problem::{self, absent_if_empty, whole};
use super::{Path, Problems, fork, id, json, limit, moment};
use crate::app::fork::At;
use crate::app::workspace::{Edit, Found, MAX_WHOLE_BYTES, Opened, Put, Version};
use crate::domain::fault::Fault;
use crate::domain::id::{Hash, RequestId, ThreadId};
use crate::domain::workspace::{Document, Root};
use crate::grpc::page::Sizes;
use crate::grpc::pb;
use crate::store::ledger::Pair;

/// Longest name of a document, in bytes.
const MAX_NAME: usize = 512;
/// Longest media type, in characters.
const MAX_MEDIA_TYPE: usize = 255;
/// Longest metadata of a document, in bytes.
const MAX_METADATA: usize = 16 * 1024;
/// The media type of a document that comes without one.
const ANY_MEDIA_TYPE: &str = "application/octet-stream";
/// Most changes of one write.
const MAX_EDITS: usize = 256;
/// Longest piece of a stream, in bytes.
pub const MAX_CHUNK: usize = 256 * 1024;

/// Which documents to list.
#[derive(Clone, Debug)]
pub struct List {
    /// The version.
    pub at: Version,
    /// What their names begin with.
    pub prefix: String,
    /// At most so many in a page.
    pub page_size: usize,
    /// The token of the page, as it came; empty for the first.
    pub page_token: String,
}

/// Which document to read.
#[derive(Clone, Debug)]
pub struct Read {
    /// The version.
    pub at: Version,
    /// Its name.
    pub name: String,
}

/// Which versions to compare.
#[derive(Clone, Debug)]
pub struct Diff {
    /// One version.
    pub left: Version,
    /// The other.
    pub right: Version,
    /// What names begin with.
    pub prefix: String,
    /// Show what changed in texts.
    pub unified: bool,
    /// At most so many in a page.
    pub page_size: usize,
    /// The token of the page, as it came; empty for the first.
    pub page_token: String,
}

/// What to change.
#[derive(Clone, Debug)]
pub struct Write {
    /// The thread.
    pub thread_id: ThreadId,
    /// The changes.
    pub edits: Vec<Edit>,
    /// The etag that the caller saw.
    pub etag: Option<String>,
    /// Makes it safe to repeat.
    pub request_id: Option<RequestId>,
}

/// A part of a document that comes in pieces.
#[derive(Clone, Debug)]
pub enum Part {
    /// What it is.
    Open(Opened),
    /// Its next bytes.
    Chunk(bytes::Bytes),
    /// It is complete; with the hash that it must have.
    Commit(Option<Hash>),
}

/// Which version.
fn version_from_pb(point: Option<pb::WorkspacePoint>, at: &Path<'_>, problems: &mut Problems) -> Option<Version> {
    use pb::workspace_point::Point;
    let choices = "`thread`, `exchange` or `root`";
    let point = problem::required(point, choices, at, problems)?;
    match problem::required(point.point, choices, at, problems)? {
        Point::Thread(point) => match fork::thread_source(point, at, problems)? {
            fork::Source::Thread { thread_id, at: place } => Some(Version::Thread(thread_id, place_of(place))),
            fork::Source::Exchange(id) => Some(Version::Exchange { id, before: false }),
        },
        Point::Exchange(point) => {
            let id = id::required(&point.exchange_id, &at.field("exchange").field("exchange_id"), problems)?;
            Some(Version::Exchange { id, before: point.before })
        }
        Point::Root(root) => {
            root_from_pb(&root.workspace_root, &at.field("root").field("workspace_root"), problems).map(Version::Root)
        }
    }
}

fn place_of(place: fork::At) -> At {
    match place {
        fork::At::Head => At::Head,
        fork::At::Run(run) => At::Run(run),
        fork::At::Turn(turn) => At::Turn(turn),
    }
}

fn root_from_pb(text: &str, at: &Path<'_>, problems: &mut Problems) -> Option<Root> {
    id::optional(text, at, problems)
}

fn name_from_pb(name: String, at: &Path<'_>, problems: &mut Problems) -> Option<String> {
    if name.is_empty() || name.len() > MAX_NAME {
        problems.add(at, format!("must have 1 to {MAX_NAME} bytes, and has {}", name.len()));
        return None;
    }
    if name.chars().any(char::is_control) {
        problems.add(at, "must have no control characters");
        return None;
    }
    Some(name)
}

fn prefix_from_pb(prefix: String, at: &Path<'_>, problems: &mut Problems) -> Option<String> {
    if prefix.is_empty() { Some(prefix) } else { name_from_pb(prefix, at, problems) }
}

fn put_from_pb(
    name: String,
    media_type: String,
    metadata_json: String,
    at: &Path<'_>,
    problems: &mut Problems,
) -> Option<Put> {
    let name = name_from_pb(name, &at.field("name"), problems);
    let metadata = json::optional_object(metadata_json, MAX_METADATA, &at.field("metadata_json"), problems);
    let media_type = limit::characters(&media_type, MAX_MEDIA_TYPE, &at.field("media_type"), problems)
        .then(|| absent_if_empty(media_type).unwrap_or_else(|| ANY_MEDIA_TYPE.to_owned()));
    Some(Put { name: name?, media_type: media_type?, metadata_json: metadata?.unwrap_or_default() })
}

fn edit_from_pb(edit: pb::DocumentEdit, at: &Path<'_>, problems: &mut Problems) -> Option<Edit> {
    use pb::document_edit::Edit as PbEdit;
    match problem::required(edit.edit, "`put`, `remove` or `copy`", at, problems)? {
        PbEdit::Put(put) => {
            let at = at.field("put");
            let length = put.data.len();
            let fits = u64::try_from(length).is_ok_and(|length| length <= MAX_WHOLE_BYTES);
            if !fits {
                problems.add(
                    &at.field("data"),
                    format!(
                        "is {length} bytes long: at most {MAX_WHOLE_BYTES} are taken here; write it with StreamWriteDocument"
                    ),
                );
            }
            let what = put_from_pb(put.name, put.media_type, put.metadata_json, &at, problems);
            fits.then_some(Edit::Put(what?, put.data))
        }
        PbEdit::Remove(remove) => {
            name_from_pb(remove.name, &at.field("remove").field("name"), problems).map(Edit::Remove)
        }
        PbEdit::Copy(copy) => {
            let at = at.field("copy");
            let name = name_from_pb(copy.name.clone(), &at.field("name"), problems);
            let source = version_from_pb(copy.source, &at.field("source"), problems);
            let source_name = absent_if_empty(copy.source_name).unwrap_or(copy.name);
            let source_name = name_from_pb(source_name, &at.field("source_name"), problems);
            Some(Edit::Copy { name: name?, source: source?, source_name: source_name? })
        }
    }
}

/// Which documents to list.
///
/// # Errors
/// What is wrong with the request.
pub fn list_from_pb(request: pb::ListDocumentsRequest) -> Result<List, Fault> {
    whole(|at, problems| {
        let version = version_from_pb(request.at, &at.field("at"), problems);
        let prefix = prefix_from_pb(request.name_prefix, &at.field("name_prefix"), problems);
        let page_size = page_size_from_pb(request.page_size, Sizes::LIST, at, problems);
        Some(List { at: version?, prefix: prefix?, page_size: page_size?, page_token: request.page_token })
    })
}

/// Which document to read.
///
/// # Errors
/// What is wrong with the request.
pub fn read_from_pb(request: pb::ReadDocumentRequest) -> Result<Read, Fault> {
    whole(|at, problems| {
        let version = version_from_pb(request.at, &at.field("at"), problems);
        let name = name_from_pb(request.name, &at.field("name"), problems);
        Some(Read { at: version?, name: name? })
    })
}

/// Which document to read in pieces, and how many bytes to leave out.
///
/// # Errors
/// What is wrong with the request.
pub fn stream_read_from_pb(request: pb::StreamReadDocumentRequest) -> Result<(Read, u64), Fault> {
    let offset = request.offset;
    read_from_pb(pb::ReadDocumentRequest { at: request.at, name: request.name }).map(|read| (read, offset))
}

/// Which versions to compare.
///
/// # Errors
/// What is wrong with the request.
pub fn diff_from_pb(request: pb::DiffDocumentsRequest) -> Result<Diff, Fault> {
    whole(|at, problems| {
        let left = version_from_pb(request.left, &at.field("left"), problems);
        let right = version_from_pb(request.right, &at.field("right"), problems);
        let prefix = prefix_from_pb(request.name_prefix, &at.field("name_prefix"), problems);
        let page_size = page_size_from_pb(request.page_size, Sizes::LIST, at, problems);
        Some(Diff {
            left: left?,
            right: right?,
            prefix: prefix?,
            unified: request.include_unified_diff,
            page_size: page_size?,
            page_token: request.page_token,
        })
    })
}

/// What to change.
///
/// # Errors
/// What is wrong with the request.
pub fn write_from_pb(request: pb::WriteDocumentsRequest) -> Result<Write, Fault> {
    whole(|at, problems| {
        let thread_id = id::required(&request.thread_id, &at.field("thread_id"), problems);
        let request_id = id::chosen(&request.request_id, &at.field("request_id"), problems);
        let edits_at = at.field("edits");
        let count = request.edits.len();
        let edits = if (1..=MAX_EDITS).contains(&count) {
            all(request.edits, &edits_at, problems, edit_from_pb)
        } else {
            problems.add(&edits_at, format!("has {count} changes: give 1 to {MAX_EDITS}"));
            None
        };
        Some(Write {
            thread_id: thread_id?,
            edits: edits?,
            etag: absent_if_empty(request.etag),
            request_id: request_id?,
        })
    })
}

/// A part of a document that comes in pieces.
///
/// # Errors
/// What is wrong with the message.
pub fn part_from_pb(request: pb::StreamWriteDocumentRequest) -> Result<Part, Fault> {
    use pb::stream_write_document_request::Part as PbPart;
    whole(|at, problems| {
        match problem::required(request.part, "`open`, `chunk` or `commit`", &at.field("part"), problems)? {
            PbPart::Open(open) => {
                let at = at.field("open");
                let thread_id = id::required(&open.thread_id, &at.field("thread_id"), problems);
                let request_id = id::chosen(&open.request_id, &at.field("request_id"), problems);
                let put = put_from_pb(open.name, open.media_type, open.metadata_json, &at, problems);
                Some(Part::Open(Opened {
                    thread_id: thread_id?,
                    put: put?,
                    etag: absent_if_empty(open.etag),
                    request_id: request_id?,
                }))
            }
            PbPart::Chunk(chunk) => {
                let length = chunk.data.len();
                if !(1..=MAX_CHUNK).contains(&length) {
                    let message = format!("has {length} bytes: give 1 to {MAX_CHUNK}, in as many chunks as it takes");
                    problems.add(&at.field("chunk").field("data"), message);
                    return None;
                }
                Some(Part::Chunk(chunk.data))
            }
            PbPart::Commit(commit) => {
                let at = at.field("commit");
                id::optional(&commit.content_blake3, &at.field("content_blake3"), problems).map(Part::Commit)
            }
        }
    })
}

/// A document in an answer.
pub fn document_to_pb(document: Document) -> pb::Document {
    pb::Document {
        name: document.name,
        media_type: document.media_type,
        size_bytes: document.size_bytes,
        content_blake3: document.blake3.to_string(),
        metadata_json: document.metadata_json,
        update_time: Some(moment::to_pb(document.updated_at)),
    }
}

/// A version in an answer.
pub fn version_to_pb(found: Found) -> pb::WorkspaceVersion {
    pb::WorkspaceVersion {
        workspace_root: id::text(found.root),
        document_count: found.documents,
        size_bytes: found.bytes,
        etag: found.etag.unwrap_or_default(),
    }
}

/// A document in which two versions differ.
pub fn pair_to_pb((pair, unified_diff): (Pair, String)) -> pb::DocumentDiff {
    let kind = match (&pair.left, &pair.right) {
        (None, _) => pb::ChangeKind::Added,
        (_, None) => pb::ChangeKind::Removed,
        _ => pb::ChangeKind::Changed,
    };
    pb::DocumentDiff {
        name: pair.name().to_owned(),
        kind: kind.into(),
        left: pair.left.map(document_to_pb),
        right: pair.right.map(document_to_pb),
        unified_diff,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(fault: Fault) -> Vec<String> {
        fault.fields.into_iter().map(|field| field.path).collect()
    }

    fn edit(edit: pb::document_edit::Edit) -> pb::DocumentEdit {
        pb::DocumentEdit { edit: Some(edit) }
    }

    #[test]
    fn everything_that_is_wrong_with_a_write_is_named_at_once() {
        let put = |name: &str, length: usize| {
            edit(pb::document_edit::Edit::Put(pb::PutDocument {
                name: name.to_owned(),
                data: vec![0; length].into(),
                ..Default::default()
            }))
        };
        let wrong = pb::PutDocument {
            name: "a\n".to_owned(),
            media_type: "x".repeat(256),
            metadata_json: "[]".to_owned(),
            ..Default::default()
        };
        let request = pb::WriteDocumentsRequest {
            edits: vec![
                put("good", 1 << 20),
                put("", (1 << 20) + 1),
                edit(pb::document_edit::Edit::Put(wrong)),
                pb::DocumentEdit::default(),
                edit(pb::document_edit::Edit::Copy(pb::CopyDocument { name: "n".to_owned(), ..Default::default() })),
                put(&"n".repeat(513), 0),
            ],
            ..Default::default()
        };
        let named = [
            "thread_id",
            "edits[1].put.data",
            "edits[1].put.name",
            "edits[2].put.name",
            "edits[2].put.metadata_json",
            "edits[2].put.media_type",
            "edits[3]",
            "edits[4].copy.source",
            "edits[5].put.name",
        ];
        assert_eq!(paths(write_from_pb(request).unwrap_err()), named);
        let none = pb::WriteDocumentsRequest { thread_id: "t".to_owned(), ..Default::default() };
        assert_eq!(paths(write_from_pb(none.clone()).unwrap_err()), ["edits"]);
        let many = pb::WriteDocumentsRequest { edits: vec![put("n", 0); 257], ..none };
        assert_eq!(paths(write_from_pb(many).unwrap_err()), ["edits"]);
    }

    #[test]
    fn a_point_is_one_of_three_and_the_empty_root_is_no_documents() {
        let read = |point| {
            let at = Some(pb::WorkspacePoint { point });
            read_from_pb(pb::ReadDocumentRequest { at, name: "n".to_owned() })
        };
        assert_eq!(paths(read(None).unwrap_err()), ["at"]);
        let root =
            |text: &str| Some(pb::workspace_point::Point::Root(pb::WorkspaceRoot { workspace_root: text.to_owned() }));
        assert!(matches!(read(root("")).unwrap().at, Version::Root(None)));
        assert_eq!(paths(read(root("nonsense")).unwrap_err()), ["at.root.workspace_root"]);
        let turn = pb::ThreadTurnPoint {
            thread_id: "t".to_owned(),
            at: Some(pb::thread_turn_point::At::AfterTurn(pb::AfterTurn { turn: 0 })),
        };
        let wrong = read(Some(pb::workspace_point::Point::Thread(turn))).unwrap_err();
        assert_eq!(paths(wrong), ["at.thread.after_turn.turn"]);
    }

    #[test]
    fn parts_of_a_stream_are_read() {
        let part = |part| part_from_pb(pb::StreamWriteDocumentRequest { part });
        use pb::stream_write_document_request::Part as PbPart;
        assert_eq!(paths(part(None).unwrap_err()), ["part"]);
        let chunk = |length| part(Some(PbPart::Chunk(pb::DocumentChunk { data: vec![0; length].into() })));
        assert!(chunk(MAX_CHUNK).is_ok());
        assert_eq!(paths(chunk(0).unwrap_err()), ["chunk.data"]);
        assert_eq!(paths(chunk(MAX_CHUNK + 1).unwrap_err()), ["chunk.data"]);
        let commit = pb::CommitDocument { content_blake3: "x".to_owned() };
        assert_eq!(paths(part(Some(PbPart::Commit(commit))).unwrap_err()), ["commit.content_blake3"]);
        assert_eq!(
            paths(part(Some(PbPart::Open(pb::OpenDocument::default()))).unwrap_err()),
            ["open.thread_id", "open.name"]
        );
    }
}
