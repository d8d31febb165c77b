//! The lines of an export: writing and reading one, with its hash. It must not know in which order they come.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::FORMAT;
use crate::domain::id::{Hash, ThreadId};
use crate::store::layout::Kind;
use crate::store::record::json::{self, Form};
use crate::store::{Error, Namespace};

/// The kind of the first line.
const HEADER: &str = "antiphon_export";
/// The kind of a line that begins a namespace.
const NAMESPACE: &str = "namespace";
/// The kind of the last line.
const END: &str = "end";
/// What a header says is left out, when that are documents.
const DOCUMENTS: &str = "documents";
/// The kind of a piece of content.
const PART: &str = "part";

/// The kinds of records that lines have, with their messages.
const FORMS: [(Kind, Form); 16] = [
    (Kind::Exchange, Form::Exchange),
    (Kind::Run, Form::Run),
    (Kind::Thread, Form::Thread),
    (Kind::Tool, Form::Tool),
    (Kind::ToolSet, Form::ToolSet),
    (Kind::Seen, Form::Seen),
    (Kind::Coordination, Form::Coordination),
    (Kind::Journal, Form::JournalPage),
    (Kind::Request, Form::Request),
    (Kind::Prepared, Form::Prepared),
    (Kind::Node, Form::WorkspaceNode),
    (Kind::Move, Form::Move),
    (Kind::Pin, Form::Pin),
    (Kind::Expiry, Form::Expiry),
    (Kind::Receipt, Form::Receipt),
    (Kind::Erasing, Form::Erasing),
];

/// One line, understood.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    Header(Header),
    Namespace(Namespace),
    Piece(Piece),
    Record(Record),
    End(End),
}

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) snapshot_id: String,
    pub(super) created_at_ms: u64,
    pub(super) namespaces: Vec<String>,
    /// It was to leave out documents.
    pub(super) is_without_documents: bool,
}

/// A piece of large content.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) hash: Hash,
    pub(super) size: u64,
    pub(super) offset: u64,
    pub(super) data: Bytes,
}

/// A record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    pub(super) kind: Kind,
    /// What names it, where the record itself does not.
    pub(super) key: String,
    pub(super) payload: Bytes,
    /// The head, of a thread.
    pub(super) head: Option<Bytes>,
    /// The documents that writes change, of a thread that has some.
    pub(super) workspace: Option<Bytes>,
}

/// The last line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) lines: u64,
    /// Of all lines before.
    pub(super) blake3: String,
}

/// Every field that a line may have, in the order in which they stand.
#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Fields<'a> {
    kind: &'a str,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    format: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    snapshot_id: Option<&'a str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created_at_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespaces: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    omitted: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<&'a str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    record: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    head: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    workspace: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    records: Option<BTreeMap<String, u64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blake3: Option<&'a str>,
}

/// What is wrong with a line: a stable word, and a sentence without content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Wrong {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// The word of a kind in a line.
pub(super) fn word(kind: Kind) -> String {
    kind.word().replace(' ', "_")
}

fn form(kind: Kind) -> Option<Form> {
    FORMS.iter().find(|(of, _)| *of == kind).map(|(_, form)| *form)
}

fn unfit() -> Error {
    Error::Unavailable(
        "a record cannot be written as JSON, which is a fault of the server: please report it".to_owned(),
    )
}

fn text(fields: &Fields<'_>) -> Result<String, Error> {
    serde_json::to_string(fields).map_err(|_| unfit())
}

impl Header {
    pub(super) fn line(&self) -> Result<String, Error> {
        text(&Fields {
            kind: HEADER,
            format: Some(FORMAT),
            snapshot_id: Some(&self.snapshot_id),
            created_at_ms: Some(self.created_at_ms),
            namespaces: Some(self.namespaces.clone()),
            omitted: self.is_without_documents.then(|| vec![DOCUMENTS.to_owned()]),
            ..Fields::default()
        })
    }
}

/// The line that begins a namespace.
pub(super) fn namespace(namespace: &Namespace) -> Result<String, Error> {
    text(&Fields { kind: NAMESPACE, key: Some(namespace.as_str()), ..Fields::default() })
}

/// The last line.
pub(super) fn end(lines: u64, records: BTreeMap<String, u64>, blake3: &str) -> Result<String, Error> {
    text(&Fields { kind: END, lines: Some(lines), records: Some(records), blake3: Some(blake3), ..Fields::default() })
}

impl Piece {
    pub(super) fn line(&self) -> Result<String, Error> {
        let (key, digest) = (self.hash.to_string(), self.digest());
        text(&Fields {
            kind: PART,
            key: Some(&key),
            size: Some(self.size),
            offset: Some(self.offset),
            data: Some(&STANDARD.encode(&self.data)),
            blake3: Some(&digest),
            ..Fields::default()
        })
    }

    fn digest(&self) -> String {
        let place = [self.size.to_be_bytes(), self.offset.to_be_bytes()].concat();
        digest(PART, &self.hash.to_string(), &[&place, &self.data])
    }
}

/// What a line of a move of a thread's head has as its `key`: ids have no spaces.
pub(super) fn key_of_move(thread: &ThreadId, number: u64) -> String {
    format!("{thread} {number}")
}

/// The thread and the number that such a key names.
pub(super) fn move_of_key(key: &str) -> Option<(ThreadId, u64)> {
    let (thread, number) = key.split_once(' ')?;
    Some((thread.parse().ok()?, number.parse().ok()?))
}

impl Record {
    /// One that is nothing but its record.
    pub(super) fn plain(kind: Kind, key: String, payload: Bytes) -> Self {
        Self { kind, key, payload, head: None, workspace: None }
    }

    pub(super) fn line(&self) -> Result<String, Error> {
        let raw = |form, payload: &Bytes| {
            let json = json::of_payload(form, payload).map_err(|error| Error::Corrupt(error.to_string()))?;
            RawValue::from_string(json).map_err(|_| unfit())
        };
        let record = raw(form(self.kind).ok_or_else(unfit)?, &self.payload)?;
        let head = self.head.as_ref().map(|head| raw(Form::Head, head)).transpose()?;
        let workspace = self.workspace.as_ref().map(|live| raw(Form::Workspace, live)).transpose()?;
        let digest = self.digest();
        text(&Fields {
            kind: &word(self.kind),
            key: (!self.key.is_empty()).then_some(&self.key),
            record: Some(&record),
            head: head.as_deref(),
            workspace: workspace.as_deref(),
            blake3: Some(&digest),
            ..Fields::default()
        })
    }

    fn digest(&self) -> String {
        let head = self.head.as_deref().unwrap_or_default();
        let contents = [&self.payload[..], head].into_iter().chain(self.workspace.as_deref());
        digest(&word(self.kind), &self.key, &contents.collect::<Vec<_>>())
    }
}

fn digest(kind: &str, key: &str, contents: &[&[u8]]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("antiphon export line 1");
    for bytes in [kind.as_bytes(), key.as_bytes()].iter().chain(contents) {
        hasher.update(&(bytes.len() as u64).to_be_bytes());
        hasher.update(bytes);
    }
    hasher.finalize().to_hex().to_string()
}

/// Reads a line.
pub(super) fn read(line: &str) -> Result<Line, Wrong> {
    let fields: Fields<'_> = serde_json::from_str(line).map_err(|error| {
        // The parser's own words may quote the line.
        let what = match error.classify() {
            serde_json::error::Category::Eof => "ends in the middle of its JSON",
            serde_json::error::Category::Data => "has a field that no line has, or one of another kind",
            _ => "is not JSON",
        };
        Wrong::new("malformed_line", format!("{what}, at character {}", error.column()))
    })?;
    match fields.kind {
        HEADER => header(fields).map(Line::Header),
        NAMESPACE => {
            let name = fields.key.unwrap_or_default();
            let namespace = name.parse().map_err(|_| Wrong::new("malformed_line", "has no namespace as its `key`"))?;
            Ok(Line::Namespace(namespace))
        }
        END => match (fields.lines, fields.blake3) {
            (Some(lines), Some(blake3)) => Ok(Line::End(End { lines, blake3: blake3.to_owned() })),
            _ => Err(Wrong::new("malformed_line", "has no `lines` or no `blake3`")),
        },
        PART => piece(&fields).map(Line::Piece),
        kind => record(kind, &fields).map(Line::Record),
    }
}

fn header(fields: Fields<'_>) -> Result<Header, Wrong> {
    match (fields.format, fields.namespaces) {
        (Some(format), Some(namespaces)) if format == FORMAT => Ok(Header {
            snapshot_id: fields.snapshot_id.unwrap_or_default().to_owned(),
            created_at_ms: fields.created_at_ms.unwrap_or_default(),
            namespaces,
            is_without_documents: fields.omitted.is_some_and(|omitted| omitted.iter().any(|what| what == DOCUMENTS)),
        }),
        (Some(format), _) if format > FORMAT => {
            let message = format!("has format {format}, and this server reads up to {FORMAT}");
            Err(Wrong::new("newer_format", message))
        }
        _ => Err(Wrong::new("malformed_line", "has no `format` or no `namespaces`")),
    }
}

fn piece(fields: &Fields<'_>) -> Result<Piece, Wrong> {
    let (Some(key), Some(size), Some(offset), Some(data)) = (fields.key, fields.size, fields.offset, fields.data)
    else {
        return Err(Wrong::new("malformed_line", "has no `key`, `size`, `offset` or `data`"));
    };
    let hash = key.parse().map_err(|_| Wrong::new("malformed_line", "has no hash as its `key`"))?;
    let data = STANDARD.decode(data).map_err(|_| Wrong::new("malformed_line", "has `data` that is not Base64"))?;
    let piece = Piece { hash, size, offset, data: data.into() };
    matching(fields.blake3, &piece.digest())?;
    Ok(piece)
}

fn record(kind: &str, fields: &Fields<'_>) -> Result<Record, Wrong> {
    let Some((kind, form)) = FORMS.into_iter().find(|(of, _)| word(*of) == kind) else {
        return Err(Wrong::new("unknown_kind", "is of a kind that this server does not know"));
    };
    let malformed = |error: json::Unreadable| Wrong::new("malformed_record", error.to_string());
    let given = fields.record.ok_or_else(|| Wrong::new("malformed_line", "has no `record`"))?;
    let payload = json::to_payload(form, given.get()).map_err(malformed)?;
    let head = match (kind, fields.head) {
        (Kind::Thread, Some(head)) => Some(json::to_payload(Form::Head, head.get()).map_err(malformed)?),
        (Kind::Thread, None) => return Err(Wrong::new("malformed_line", "has no `head`")),
        _ => None,
    };
    let workspace = match (kind, fields.workspace) {
        (Kind::Thread, Some(live)) => Some(json::to_payload(Form::Workspace, live.get()).map_err(malformed)?),
        _ => None,
    };
    let record = Record { kind, key: fields.key.unwrap_or_default().to_owned(), payload, head, workspace };
    matching(fields.blake3, &record.digest())?;
    Ok(record)
}

fn matching(said: Option<&str>, found: &str) -> Result<(), Wrong> {
    match said {
        Some(said) if said == found => Ok(()),
        Some(_) => {
            Err(Wrong::new("checksum_mismatch", "is not what was exported: its content does not have its `blake3`"))
        }
        None => Err(Wrong::new("checksum_mismatch", "has no `blake3`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> Record {
        let payload = json::to_payload(Form::Tool, r#"{"name":"w","inputSchemaJson":"{}"}"#).unwrap();
        Record { kind: Kind::Tool, key: String::new(), payload, head: None, workspace: None }
    }

    #[test]
    fn lines_come_back_as_they_were() {
        let text = tool().line().unwrap();
        assert_eq!(read(&text), Ok(Line::Record(tool())));
        let data = Bytes::from_static(b"\0\x01\xff");
        let piece = Piece { hash: Hash([7; 32]), size: 9, offset: 3, data };
        let text = piece.line().unwrap();
        assert_eq!(read(&text), Ok(Line::Piece(piece)));
        for is_without_documents in [false, true] {
            let namespaces = vec!["a".to_owned()];
            let header = Header { snapshot_id: "s".to_owned(), created_at_ms: 5, namespaces, is_without_documents };
            assert_eq!(read(&header.line().unwrap()), Ok(Line::Header(header)));
        }
        let payload = json::to_payload(Form::Thread, r#"{"id":"t"}"#).unwrap();
        let (head, live) = (Some(Bytes::new()), json::to_payload(Form::Workspace, r#"{"sequence":"3"}"#).unwrap());
        for workspace in [None, Some(live)] {
            let thread = Record {
                kind: Kind::Thread,
                key: String::new(),
                payload: payload.clone(),
                head: head.clone(),
                workspace,
            };
            assert_eq!(read(&thread.line().unwrap()), Ok(Line::Record(thread)));
        }
        let text = end(3, BTreeMap::from([("run".to_owned(), 1)]), "ab").unwrap();
        assert_eq!(read(&text), Ok(Line::End(End { lines: 3, blake3: "ab".to_owned() })));
    }

    /// What a thread's live documents are is part of its line, and of its hash.
    #[test]
    fn documents_of_a_thread_cannot_be_changed_unseen() {
        let payload = json::to_payload(Form::Thread, r#"{"id":"t"}"#).unwrap();
        let live = json::to_payload(Form::Workspace, r#"{"sequence":"3"}"#).unwrap();
        let thread =
            Record { kind: Kind::Thread, key: String::new(), payload, head: Some(Bytes::new()), workspace: Some(live) };
        let line = thread.line().unwrap();
        let changed = line.replace(r#""sequence":"3""#, r#""sequence":"4""#);
        assert_ne!(line, changed);
        assert_eq!(read(&changed).unwrap_err().code, "checksum_mismatch");
    }

    #[test]
    fn whatever_is_changed_in_a_line_is_seen() {
        let line = tool().line().unwrap();
        let code = |line: &str| read(line).unwrap_err().code;
        assert_eq!(code(&line.replace("\"w\"", "\"v\"")), "checksum_mismatch");
        assert_eq!(code(&line.replace("\"tool\"", "\"tool_set\"")), "malformed_record");
        assert_eq!(code(&line.replace("\"tool\"", "\"spoon\"")), "unknown_kind");
        assert_eq!(code(&line.replace("\"record\"", "\"extra\":1,\"record\"")), "malformed_line");
        for end in 0..line.len() {
            assert!(read(&line[..end]).is_err());
        }
        let newer = r#"{"kind":"antiphon_export","format":9,"namespaces":[]}"#;
        assert!(read(newer).unwrap_err().message.contains("format 9"));
    }
}
