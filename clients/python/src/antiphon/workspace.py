"""Documents of threads as they are read and written: points, versions, contents, changes. Knows nothing of how they are asked for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime, timezone
from typing import Any, Protocol, runtime_checkable

from antiphon.exchange import Exchange
from antiphon.gen.antiphon.v1 import workspace_pb2, workspace_service_pb2
from antiphon.request import ThreadTurn, exchange_point
from antiphon.word import word

WHOLE_BYTES = 1 << 20
"""A document of up to this many bytes goes whole, in one message; the server's limit."""
PIECE_BYTES = 256 * 1024
"""A piece of a larger one has at most this many bytes; the server's limit."""


@dataclass(frozen=True)
class Document:
    """A document, without its content."""

    raw: workspace_pb2.Document

    @property
    def name(self) -> str:
        """Its name, of which a workspace has one."""
        return self.raw.name

    @property
    def media_type(self) -> str:
        """Its media type."""
        return self.raw.media_type

    @property
    def size_bytes(self) -> int:
        """The length of its content."""
        return self.raw.size_bytes

    @property
    def content_blake3(self) -> str:
        """BLAKE3 of its content, in hexadecimal."""
        return self.raw.content_blake3

    @property
    def metadata(self) -> Any:
        """The caller's own data; None when there is none."""
        return json.loads(self.raw.metadata_json) if self.raw.metadata_json else None

    @property
    def update_time(self) -> datetime:
        """When this version of it was written."""
        return self.raw.update_time.ToDatetime(timezone.utc)


@dataclass(frozen=True)
class WorkspaceVersion:
    """One version of a workspace: a set of documents that never changes, named by its content."""

    root: str
    """Its name, by which it is read again; empty without documents."""
    document_count: int
    size_bytes: int
    """The sum of the lengths of its documents."""
    etag: str
    """What a write must have seen; empty unless it is what is live on a thread."""

    @classmethod
    def of(cls, raw: workspace_pb2.WorkspaceVersion) -> WorkspaceVersion:
        """Reads one."""
        return cls(raw.workspace_root, raw.document_count, raw.size_bytes, raw.etag)


@dataclass(frozen=True)
class WorkspaceRoot:
    """A version of a workspace by its name alone, as a move of a thread has it; empty is the one without documents."""

    root: str


@dataclass(frozen=True)
class BeforeExchange:
    """What the run of an exchange started from; the exchange alone is what was there when it was complete."""

    exchange: Exchange | str


WorkspacePoint = Exchange | str | BeforeExchange | ThreadTurn | WorkspaceVersion | WorkspaceRoot
"""Where documents are read: as of an exchange, or its id; on a thread, after a turn or a run, or what is live; or a version."""


@dataclass(frozen=True)
class DocumentContent:
    """A document with its content."""

    document: Document
    data: bytes
    version: WorkspaceVersion
    """The version that it is of."""

    @property
    def text(self) -> str:
        """The content read as UTF-8. Raises UnicodeDecodeError where it is none."""
        return self.data.decode("utf-8")


@dataclass(frozen=True)
class DocumentChange:
    """A document in which two versions differ."""

    name: str
    kind: str
    """`added`, `removed` or `changed`, from left to right."""
    left: Document | None
    right: Document | None
    unified_diff: str
    """What changed, where it was asked for and both sides are texts of up to 1 MiB; else empty."""

    @classmethod
    def of(cls, raw: workspace_pb2.DocumentDiff) -> DocumentChange:
        """Reads one."""
        left = Document(raw.left) if raw.HasField("left") else None
        right = Document(raw.right) if raw.HasField("right") else None
        return cls(raw.name, word(workspace_pb2.ChangeKind.DESCRIPTOR, raw.kind), left, right, raw.unified_diff)


@dataclass(frozen=True)
class Written:
    """What came of a write."""

    version: WorkspaceVersion
    """What is live now, or was right after an earlier call of the same id."""
    documents: list[Document]
    """Those that were written and are there now, in the order of the changes."""
    replayed: bool
    """This is the stored result of an earlier call."""

    @classmethod
    def of(cls, raw: workspace_service_pb2.WriteDocumentsResponse) -> Written:
        """Reads it."""
        return cls(WorkspaceVersion.of(raw.version), [Document(document) for document in raw.documents], raw.replayed)

    @classmethod
    def streamed(cls, raw: workspace_service_pb2.StreamWriteDocumentResponse) -> Written:
        """Reads it."""
        return cls(WorkspaceVersion.of(raw.version), [Document(raw.document)], raw.replayed)


@dataclass(frozen=True)
class PutDocument:
    """Writes a document, new or over the one that is there."""

    name: str
    data: str | bytes
    """Up to 1 MiB; text goes as UTF-8."""
    _: KW_ONLY
    media_type: str = ""
    """`application/octet-stream` when absent."""
    metadata: Mapping[str, Any] | None = None
    """Data of your own, a JSON object."""

    def to_raw(self) -> workspace_pb2.DocumentEdit:
        """As it goes out."""
        put = workspace_pb2.PutDocument(
            name=self.name, media_type=self.media_type, data=encoded(self.data), metadata_json=metadata_json(self.metadata)
        )
        return workspace_pb2.DocumentEdit(put=put)


@dataclass(frozen=True)
class RemoveDocument:
    """Removes a document, which must be there."""

    name: str

    def to_raw(self) -> workspace_pb2.DocumentEdit:
        """As it goes out."""
        return workspace_pb2.DocumentEdit(remove=workspace_pb2.RemoveDocument(name=self.name))


@dataclass(frozen=True)
class CopyDocument:
    """Takes a document from another version, or from elsewhere, without sending its content."""

    name: str
    """What it is called here."""
    source: WorkspacePoint
    source_name: str = ""
    """What it is called there; the same when absent."""

    def to_raw(self) -> workspace_pb2.DocumentEdit:
        """As it goes out."""
        copy = workspace_pb2.CopyDocument(
            name=self.name, source=workspace_point(self.source), source_name=self.source_name
        )
        return workspace_pb2.DocumentEdit(copy=copy)


DocumentEdit = PutDocument | RemoveDocument | CopyDocument
"""One change to a workspace."""


@runtime_checkable
class Readable(Protocol):
    """A file that was opened to read bytes, or what is like one."""

    def read(self, size: int, /) -> bytes:
        """At most so many of the next bytes; none at the end."""
        ...


def workspace_point(point: WorkspacePoint) -> workspace_pb2.WorkspacePoint:
    """Where documents are read, as it goes out."""
    raw = workspace_pb2.WorkspacePoint()
    if isinstance(point, ThreadTurn):
        raw.thread.CopyFrom(point.to_raw())
    elif isinstance(point, WorkspaceVersion | WorkspaceRoot):
        raw.root.workspace_root = point.root
        # An empty name has to be said, too: it is the version without documents.
        raw.root.SetInParent()
    elif isinstance(point, BeforeExchange):
        raw.exchange.exchange_id, raw.exchange.before = exchange_point(point.exchange).exchange_id, True
    else:
        raw.exchange.exchange_id = exchange_point(point).exchange_id
    return raw


def encoded(data: str | bytes) -> bytes:
    """Content, as it goes out."""
    return data.encode("utf-8") if isinstance(data, str) else data


def metadata_json(metadata: Mapping[str, Any] | None) -> str:
    """The caller's own data, as it goes out."""
    return "" if metadata is None else json.dumps(metadata, ensure_ascii=False)


def write_request(thread_id: str, edits: Sequence[DocumentEdit], etag: str, request_id: str) -> workspace_service_pb2.WriteDocumentsRequest:
    """Changes, as they go out."""
    raw = [edit.to_raw() for edit in edits]
    return workspace_service_pb2.WriteDocumentsRequest(thread_id=thread_id, edits=raw, etag=etag, request_id=request_id)


def cut(data: bytes) -> Iterator[bytes]:
    """Content in pieces that one message carries each."""
    return (data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES))


class Cutter:
    """Makes of pieces of any size those that one message carries each."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def full(self, piece: bytes) -> Iterable[bytes]:
        """Takes one; gives those that are full now."""
        self._waiting += piece
        while len(self._waiting) >= PIECE_BYTES:
            yield bytes(self._waiting[:PIECE_BYTES])
            del self._waiting[:PIECE_BYTES]

    def rest(self) -> Iterable[bytes]:
        """Gives what is left at the end."""
        if self._waiting:
            yield bytes(self._waiting)
