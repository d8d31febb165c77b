"""Documents of threads, and going back: what the scenarios do not play. Each test runs with both clients."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone

import antiphon._async.workspace
import antiphon._sync.workspace
import grpc
import pytest
from antiphon.testing import Server
from conftest import Connect
from proxy import Proxy
from test_coordinate import fresh

from antiphon import AsyncClient, Error, NewThread, PutDocument, RemoveDocument, WorkspaceVersion

LARGE = bytes(range(256)) * 12_000


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    made = Proxy(server.address)
    yield made
    made.close()


async def test_a_conversation_has_its_documents_and_goes_back(client: AsyncClient) -> None:
    """S1-3, S1-4, S1-5."""
    talk = await client.conversation(NewThread(fresh()))
    empty = await talk.workspace.version()
    assert empty == WorkspaceVersion("", 0, 0, empty.etag) and empty.etag
    written = await talk.workspace.write("bytes", b"\x00\xff", metadata={"n": 12345678901234567890})
    assert written.documents[0].metadata == {"n": 12345678901234567890}
    assert abs(written.documents[0].update_time - datetime.now(timezone.utc)) < timedelta(minutes=5)
    first = await talk.prompt("one")
    await talk.workspace.copy("kept", written.version, "bytes")
    await talk.workspace.remove("bytes", etag=(await talk.workspace.version()).etag)
    second = await talk.prompt("two")
    found = await talk.workspace.read("kept")
    assert found.data == b"\x00\xff" and found.version == await talk.workspace.version()
    with pytest.raises(UnicodeDecodeError):
        _ = found.text
    changes = [change async for change in client.documents(first).diff(talk.workspace)]
    assert [(change.name, change.kind) for change in changes] == [("bytes", "removed"), ("kept", "added")]
    with pytest.raises(Error) as caught:
        await talk.restore(first, expected_head=first)
    assert caught.value.reason == "HEAD_MOVED"
    assert (await talk.restore(first, expected_head=second)).head_exchange_id == first.exchange_id
    third = await talk.prompt("three")
    assert third.parent_exchange_id == first.exchange_id
    moves = [move async for move in talk.moves()]
    assert [(move.to_exchange_id, move.run_id) for move in moves] == [
        (third.exchange_id, third.run_id),
        (first.exchange_id, ""),
        (second.exchange_id, second.run_id),
        (first.exchange_id, first.run_id),
    ]
    assert moves[0].time >= moves[-1].time and moves[1].from_root == found.version.root


async def test_many_documents_come_in_pages_of_one_version(client: AsyncClient) -> None:
    workspace = client.workspace((await client.create_thread(NewThread(fresh()))).thread_id)
    await workspace.edit([PutDocument(f"n/{number:03}", "x") for number in range(120)])
    names: list[str] = []
    async for document in workspace.list("n/"):
        if not names:
            await workspace.edit([RemoveDocument("n/100")])
        names.append(document.name)
    assert names == [f"n/{number:03}" for number in range(120)]
    assert (await workspace.version()).document_count == 119


async def test_content_comes_from_wherever_bytes_do(client: AsyncClient) -> None:
    workspace = client.workspace((await client.create_thread(NewThread(fresh()))).thread_id)
    hashes: set[str] = set()
    pieces: dict[str, Callable[[], object]] = {
        "a file": lambda: io.BytesIO(LARGE),
        "a list": lambda: [LARGE],
        "small pieces": lambda: (LARGE[at : at + 997] for at in range(0, len(LARGE), 997)),
        "empty pieces": lambda: [b"", LARGE, b""],
    }
    for name, source in pieces.items():
        written = await workspace.write_stream(name, source())  # pyright: ignore[reportArgumentType]
        hashes.add(written.documents[0].content_blake3)
    assert len(hashes) == 1 and (await workspace.read("a file")).data == LARGE
    with pytest.raises(Error) as caught:
        await workspace.write_stream("a file", [b"short"], content_blake3=hashes.pop())
    assert caught.value.reason == "INVALID_FIELDS"


async def test_a_source_that_fails_writes_nothing(client: AsyncClient) -> None:
    workspace = client.workspace((await client.create_thread(NewThread(fresh()))).thread_id)
    raised = OSError("the disk is gone")

    def failing() -> Iterator[bytes]:
        yield LARGE
        raise raised

    with pytest.raises(OSError) as caught:
        await workspace.write_stream("a", failing())
    assert caught.value is raised
    with pytest.raises(TypeError):
        await workspace.write_stream("a", LARGE)  # pyright: ignore[reportArgumentType]
    assert [document async for document in workspace.list()] == []


async def test_a_cut_while_a_document_is_read_leaves_nothing_out(connect: Connect, server: Server, proxy: Proxy) -> None:
    """It goes on where it was, in the same version, whatever was written meanwhile."""
    client, direct = connect(proxy.address), connect(server.address)
    thread = (await direct.create_thread(NewThread(fresh()))).thread_id
    written = await direct.workspace(thread).write("large", LARGE)
    read = b""
    async with await client.workspace(thread).read_stream("large", offset=7) as stream:
        assert stream.document == written.documents[0] and stream.version == written.version
        async for piece in stream:
            if len(read) < 1_000_000:
                proxy.cut()
                await direct.workspace(thread).write("large", "other")
            read += piece
    assert read == LARGE[7:]
    other = await direct.workspace(thread).read_stream("large")
    await other.close()
    assert [piece async for piece in other] == [], "what was closed is read no more"
    gone = Proxy(server.address)
    gone.close()
    with pytest.raises(Error) as caught:
        await connect(gone.address).workspace(thread).read_stream("large", timeout=0.5)
    assert caught.value.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


async def test_a_cut_while_a_document_is_written_whole_writes_it_once(
    connect: Connect, server: Server, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, tries = connect(proxy.address), list[int]()

    def cutting(data: bytes) -> Iterator[bytes]:
        tries.append(len(data))
        yield data[:300_000]
        if len(tries) == 1:
            proxy.cut()
        yield data[300_000:]

    for module in (antiphon._async.workspace, antiphon._sync.workspace):
        monkeypatch.setattr(module, "cut", cutting)
    workspace = client.workspace((await client.create_thread(NewThread(fresh()))).thread_id)
    written = await workspace.write("large", LARGE)
    assert len(tries) == 2 and written.documents[0].size_bytes == len(LARGE) and not written.replayed
