"""Steps of scenarios about documents of threads, and about going back. Knows nothing of turns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, cast

from told import Said

from antiphon import (
    AsyncClient,
    AsyncDocuments,
    BeforeExchange,
    CopyDocument,
    DocumentContent,
    PutDocument,
    RemoveDocument,
    ThreadTurn,
    WorkspaceRoot,
)
from antiphon.workspace import DocumentEdit, WorkspacePoint

VERBS = {"documents", "version", "read", "stream_read", "write", "stream_write", "edit", "diff_documents", "restore", "moves"}


async def keep(client: AsyncClient, verb: str, said: Said) -> Any:
    """Plays one."""
    match verb:
        case "documents":
            return [document async for document in place(client, said["at"]).list(said.get("prefix", ""))]
        case "version":
            return await place(client, said["at"]).version()
        case "read":
            return await place(client, said["at"]).read(said["name"])
        case "stream_read":
            async with await place(client, said["at"]).read_stream(said["name"], offset=said.get("offset", 0)) as stream:
                return DocumentContent(stream.document, b"".join([piece async for piece in stream]), stream.version)
        case "write":
            return await client.workspace(said["thread"]).write(said["name"], said["text"], **given(said))
        case "stream_write":
            return await client.workspace(said["thread"]).write_stream(said["name"], pieces(said["text"]), **given(said))
        case "edit":
            return await client.workspace(said["thread"]).edit([edit(one) for one in said["edits"]], **given(said))
        case "diff_documents":
            right, how = point(said["right"]), {"unified": said.get("unified", False)}
            return [change async for change in place(client, said["left"]).diff(right, said.get("prefix", ""), **how)]
        case "restore":
            options: Said = {name: said[name] for name in ("expected_head", "request_id") if name in said}
            return await client.restore(said["thread"], said["to"], **options)
        case "moves":
            return [move async for move in client.moves(said["thread"])]
        case _:
            raise AssertionError(f"there is no step `{verb}`")


def place(client: AsyncClient, at: Any) -> AsyncDocuments:
    """The documents there; a thread's by its own way."""
    if isinstance(at, dict) and "thread" in at:
        named = cast(Said, at)
        workspace = client.workspace(named["thread"])
        if "after_turn" in named:
            return workspace.after_turn(named["after_turn"])
        return workspace.after_run(named["after_run"]) if "after_run" in named else workspace
    return client.documents(point(at))


def point(at: Any) -> WorkspacePoint:
    """As a point that calls take."""
    if not isinstance(at, dict):
        return at
    named = cast(Said, at)
    if "before" in named:
        return BeforeExchange(named["before"])
    if "root" in named:
        return WorkspaceRoot(named["root"])
    return ThreadTurn(named["thread"], after_turn=named.get("after_turn"), after_run=named.get("after_run", ""))


def edit(said: Said) -> DocumentEdit:
    """A change."""
    if "put" in said:
        return PutDocument(said["put"], said["text"], **given(said))
    if "copy" in said:
        return CopyDocument(said["copy"], point(said["from"]), said.get("name", ""))
    return RemoveDocument(said["remove"])


def given(said: Said) -> Said:
    return {name: said[name] for name in ("media_type", "metadata", "etag", "request_id", "content_blake3") if name in said}


async def pieces(text: str) -> AsyncIterator[bytes]:
    """Content in several pieces, of which none is what a message carries."""
    data = text.encode("utf-8")
    step = max(1, min(len(data) // 2, 300_000))
    for at in range(0, len(data), step):
        yield data[at : at + step]
