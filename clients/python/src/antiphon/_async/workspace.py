"""Documents of threads: read as of any point, compared, written, whole and in pieces. Knows nothing of turns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import grpc

from antiphon._async.calls import Answer, Asked, Calls, SomePage, SomePaged
from antiphon._async.transport import Channel, Method, Source, Streaming, pieces, sleep, upload
from antiphon.error import Error, from_rpc
from antiphon.gen.antiphon.v1 import workspace_service_pb2 as pb
from antiphon.gen.antiphon.v1.workspace_pb2 import DocumentChunk
from antiphon.gen.antiphon.v1.workspace_service_pb2_grpc import WorkspaceServiceStub
from antiphon.request import ThreadTurn
from antiphon.retry import Tries, fresh
from antiphon.workspace import WHOLE_BYTES, CopyDocument, Cutter, Document, DocumentChange, DocumentContent, DocumentEdit
from antiphon.workspace import PutDocument, RemoveDocument, WorkspacePoint, WorkspaceVersion, Written, cut
from antiphon.workspace import encoded, metadata_json, workspace_point, write_request


class _Call(Protocol):
    """A client's way to make a call."""

    async def __call__(self, method: Method[Asked, Answer], raw: Asked, timeout: float | None, /) -> Answer: ...


class _Pages(Protocol):
    """A client's way to read a list."""

    def __call__(
        self, method: Method[SomePaged, SomePage], raw: SomePaged, timeout: float | None, /
    ) -> AsyncIterator[SomePage]: ...


@dataclass(frozen=True)
class Wire:
    """What documents need of their client."""

    channel: Channel
    metadata: tuple[tuple[str, str], ...]
    call: _Call
    pages: _Pages


class DocumentStream:
    """A document that is read in pieces: iterate for its bytes. Where a connection breaks, it goes on from there, in the same version, whatever
    was written meanwhile. Close it, or use it in a `with` block, where it is not read to its end."""

    def __init__(self, parts: AsyncIterator[pb.DocumentOpened | bytes], opened: pb.DocumentOpened, call: _Reading) -> None:
        self.document = Document(opened.document)
        """What is read."""
        self.version = WorkspaceVersion.of(opened.version)
        """The version that it is of."""
        self._parts = parts
        self._call = call

    async def __aenter__(self) -> DocumentStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while isinstance(piece := await anext(self._parts, None), bytes):
            yield piece

    async def close(self) -> None:
        """Reads no more."""
        self._call.close()


class _Reading:
    """The calls that read one document."""

    def __init__(
        self,
        method: Streaming[pb.StreamReadDocumentRequest, pb.StreamReadDocumentResponse],
        raw: pb.StreamReadDocumentRequest,
        metadata: tuple[tuple[str, str], ...],
        timeout: float | None,
    ) -> None:
        self._method = method
        self._raw = raw
        self._metadata = metadata
        self._tries = Tries(timeout, None)
        self._call: Any = None
        self._closed = False

    def close(self) -> None:
        self._closed = True
        if self._call is not None:
            self._call.cancel()

    async def parts(self) -> AsyncIterator[pb.DocumentOpened | bytes]:
        """What is read, once and first, then its bytes."""
        opened: pb.DocumentOpened | None = None
        while not self._closed:
            try:
                self._call = self._method(self._raw, timeout=self._tries.left(), metadata=self._metadata)
                async for part in self._call:
                    if part.HasField("opened"):
                        if opened is None:
                            opened = part.opened
                            # A later call goes on in this version, whatever is written meanwhile.
                            self._raw.at.root.workspace_root = part.opened.version.workspace_root
                            yield part.opened
                    elif part.HasField("chunk"):
                        self._raw.offset += len(part.chunk.data)
                        self._tries = Tries(self._tries.left(), None)
                        yield part.chunk.data
                    if self._closed:
                        return
                if opened is not None and self._raw.offset >= opened.document.size_bytes:
                    return
                pause = self._tries.pause(Error(grpc.StatusCode.UNAVAILABLE, "the stream closed before the document ended"))
            except grpc.RpcError as failed:
                pause = self._tries.pause(from_rpc(failed))
            await sleep(pause)


class Documents:
    """The documents at one point: as of an exchange or a turn, of a version, or what is live on a thread. Each call looks anew."""

    def __init__(self, wire: Wire, point: WorkspacePoint) -> None:
        self._wire = wire
        self._point = workspace_point(point)
        self._stub = WorkspaceServiceStub(wire.channel)

    async def list(self, prefix: str = "", *, timeout: float | None = None) -> AsyncIterator[Document]:
        """The documents by name, or those whose name begins so; all of one version, whatever is written meanwhile."""
        request = pb.ListDocumentsRequest(at=self._point, name_prefix=prefix)
        async for page in self._wire.pages(self._stub.ListDocuments, request, timeout):
            for document in page.documents:
                yield Document(document)

    async def version(self, *, timeout: float | None = None) -> WorkspaceVersion:
        """The version that is there: its name, how much is in it, and the etag for a write."""
        request = pb.ListDocumentsRequest(at=self._point, page_size=1)
        return WorkspaceVersion.of((await self._wire.call(self._stub.ListDocuments, request, timeout)).version)

    async def read(self, name: str, *, timeout: float | None = None) -> DocumentContent:
        """A document whole, of whatever size. One of more than 1 MiB takes a second call, which reads it in pieces."""
        request = pb.ReadDocumentRequest(at=self._point, name=name)
        try:
            found = await self._wire.call(self._stub.ReadDocument, request, timeout)
            return DocumentContent(Document(found.document), found.data, WorkspaceVersion.of(found.version))
        except Error as error:
            if error.reason != "LIMIT_EXCEEDED":
                raise
        async with await self.read_stream(name, timeout=timeout) as stream:
            data = b"".join([piece async for piece in stream])
            return DocumentContent(stream.document, data, stream.version)

    async def read_stream(self, name: str, *, offset: int = 0, timeout: float | None = None) -> DocumentStream:
        """A document in pieces, with so many bytes left out at its beginning. `timeout` is for all of it."""
        request = pb.StreamReadDocumentRequest(at=self._point, name=name, offset=offset)
        reading = _Reading(self._stub.StreamReadDocument, request, self._wire.metadata, timeout)
        parts = reading.parts()
        opened = await anext(parts)
        assert isinstance(opened, pb.DocumentOpened), "it comes first"
        return DocumentStream(parts, opened, reading)

    async def diff(
        self,
        other: Documents | WorkspacePoint,
        prefix: str = "",
        *,
        unified: bool = False,
        timeout: float | None = None,
    ) -> AsyncIterator[DocumentChange]:
        """In which documents the other side differs from this one, by name; with `unified`, how their texts do."""
        right = other._point if isinstance(other, Documents) else workspace_point(other)
        request = pb.DiffDocumentsRequest(left=self._point, right=right, name_prefix=prefix, include_unified_diff=unified)
        async for page in self._wire.pages(self._stub.DiffDocuments, request, timeout):
            for change in page.documents:
                yield DocumentChange.of(change)


class Workspace(Documents):
    """The documents of a thread: what is live, to read and to write. What a turn started from is as of it; a fork has those of its point, and
    from then on its own."""

    def __init__(self, wire: Wire, thread_id: str) -> None:
        super().__init__(wire, ThreadTurn(thread_id))
        self.thread_id = thread_id
        """The thread's id."""

    def after_turn(self, turn: int) -> Documents:
        """Those after a turn on the thread's path, counted from 1: what the next one started from."""
        return Documents(self._wire, ThreadTurn(self.thread_id, after_turn=turn))

    def after_run(self, run_id: str) -> Documents:
        """Those after a run on the thread's path."""
        return Documents(self._wire, ThreadTurn(self.thread_id, after_run=run_id))

    async def write(
        self,
        name: str,
        data: str | bytes,
        *,
        media_type: str = "",
        metadata: Mapping[str, Any] | None = None,
        etag: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> Written:
        """Writes a document of whatever size, new or over the one that is there; more than 1 MiB goes in pieces.

        With the `etag` of the version that was seen, a workspace that changed meanwhile is refused. `request_id` makes the call safe to
        repeat, by hand as well. `metadata` is data of your own."""
        content = encoded(data)
        request_id = request_id or fresh()
        if len(content) <= WHOLE_BYTES:
            put = PutDocument(name, content, media_type=media_type, metadata=metadata)
            return await self.edit([put], etag=etag, request_id=request_id, timeout=timeout)
        opened = self._opened(name, media_type, metadata, etag, request_id)
        tries = Tries(timeout, None)
        while True:
            try:
                return await self._send(opened, cut(content), "", tries.left())
            except Error as error:
                pause = tries.pause(error)
            await sleep(pause)

    async def write_stream(
        self,
        name: str,
        source: Source,
        *,
        media_type: str = "",
        metadata: Mapping[str, Any] | None = None,
        etag: str = "",
        content_blake3: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> Written:
        """Writes a document in pieces of whatever size, from an iterable of bytes or a file that was opened to read bytes.

        It is there whole or not at all: where `source` raises, that comes out and nothing is written. Since a source is read once, the call is
        not repeated by itself. With the BLAKE3 of the content, in hexadecimal, another content is refused."""
        opened = self._opened(name, media_type, metadata, etag, request_id or fresh())
        return await self._send(opened, source, content_blake3, timeout)

    async def remove(
        self, name: str, *, etag: str = "", request_id: str = "", timeout: float | None = None
    ) -> Written:
        """Removes a document, which must be there."""
        return await self.edit([RemoveDocument(name)], etag=etag, request_id=request_id, timeout=timeout)

    async def copy(
        self,
        name: str,
        source: WorkspacePoint,
        source_name: str = "",
        *,
        etag: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> Written:
        """Takes a document from another point, where it is called `source_name`, the same when absent, without sending its content."""
        edit = CopyDocument(name, source, source_name)
        return await self.edit([edit], etag=etag, request_id=request_id, timeout=timeout)

    async def edit(
        self, edits: Sequence[DocumentEdit], *, etag: str = "", request_id: str = "", timeout: float | None = None
    ) -> Written:
        """Makes changes, in order, all or none."""
        request = write_request(self.thread_id, edits, etag, request_id or fresh())
        return Written.of(await self._wire.call(self._stub.WriteDocuments, request, timeout))

    def _opened(
        self, name: str, media_type: str, metadata: Mapping[str, Any] | None, etag: str, request_id: str
    ) -> pb.OpenDocument:
        return pb.OpenDocument(
            thread_id=self.thread_id,
            name=name,
            media_type=media_type,
            metadata_json=metadata_json(metadata),
            etag=etag,
            request_id=request_id,
        )

    async def _send(
        self, opened: pb.OpenDocument, source: Source | Iterable[bytes], content_blake3: str, timeout: float | None
    ) -> Written:
        raised: list[Exception] = []

        async def frames() -> AsyncIterator[pb.StreamWriteDocumentRequest]:
            yield pb.StreamWriteDocumentRequest(open=opened)
            cutter = Cutter()
            try:
                async for piece in pieces(source):
                    for full in cutter.full(piece):
                        yield _chunk(full)
            except Exception as error:
                # A stream that ends without `commit` writes nothing. gRPC would tell nobody what was raised.
                raised.append(error)
                return
            for rest in cutter.rest():
                yield _chunk(rest)
            yield pb.StreamWriteDocumentRequest(commit=pb.CommitDocument(content_blake3=content_blake3))

        try:
            return Written.streamed(await upload(self._stub.StreamWriteDocument, frames(), timeout, self._wire.metadata))
        except grpc.RpcError as failed:
            raise (raised[0] if raised else from_rpc(failed)) from None


def _chunk(data: bytes) -> pb.StreamWriteDocumentRequest:
    return pb.StreamWriteDocumentRequest(chunk=DocumentChunk(data=data))


class Workspaces(Calls):
    """Gives the documents of threads and exchanges; nothing here asks the server."""

    def workspace(self, thread_id: str) -> Workspace:
        """The documents of a thread, to read and to write."""
        return Workspace(self._wire(), thread_id)

    def documents(self, point: WorkspacePoint) -> Documents:
        """The documents as of an exchange or a turn, or of a version, to read."""
        return Documents(self._wire(), point)

    def _wire(self) -> Wire:
        return Wire(self._channel, self._metadata, self._call, self._pages)
