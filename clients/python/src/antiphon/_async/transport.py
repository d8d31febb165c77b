"""What asyncio and threads do differently. Its twin `_sync/transport.py` has the same names; nothing else here waits by itself."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import grpc
from grpc.aio import Channel as Channel
from grpc.aio import StreamStreamMultiCallable, StreamUnaryMultiCallable
from grpc.aio import UnaryStreamMultiCallable as Streaming
from grpc.aio import UnaryUnaryMultiCallable as Method

from antiphon.gen.antiphon.v1.coordination_pb2 import CoordinateRequest, CoordinateResponse
from antiphon.workspace import PIECE_BYTES, Readable

T = TypeVar("T")
Item = TypeVar("Item")
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

__all__ = ["Channel", "Method", "Source", "Stream", "Streaming", "connect", "each", "invoke", "pieces", "resolve", "sleep", "upload"]

Source = AsyncIterable[bytes] | Iterable[bytes] | Readable
"""Where the content of a document comes from: pieces of whatever size, or a file that was opened to read bytes."""

sleep = asyncio.sleep


def connect(address: str, credentials: grpc.ChannelCredentials | None, options: list[tuple[str, Any]]) -> Channel:
    """A channel, which connects when it is used."""
    if credentials is None:
        return grpc.aio.insecure_channel(address, options=options)
    return grpc.aio.secure_channel(address, credentials, options=options)


async def resolve(value: T | Awaitable[T]) -> T:
    """What a callback returned, or what the coroutine that it returned does."""
    if inspect.isawaitable(value):
        return await value
    return value


async def invoke(function: Callable[..., T | Awaitable[T]], arguments: Sequence[Any], named: Mapping[str, Any]) -> T:
    """Calls what may take its time: a plain function in a thread."""
    if inspect.iscoroutinefunction(function):
        return await function(*arguments, **named)
    return await resolve(await asyncio.to_thread(partial(function, *arguments, **named)))


async def each(function: Callable[[Item], Coroutine[Any, Any, None]], items: Iterable[Item]) -> None:
    """Does the same with each, at once."""
    await asyncio.gather(*(function(item) for item in items))


async def pieces(source: Source) -> AsyncIterator[bytes]:
    """The pieces of some content. A file is read in a thread."""
    if isinstance(source, Readable):
        while piece := await asyncio.to_thread(source.read, PIECE_BYTES):
            yield piece
    elif isinstance(source, AsyncIterable):
        async for piece in source:
            yield piece
    else:
        for piece in source:
            yield piece


async def upload(
    method: StreamUnaryMultiCallable[Asked, Answer],
    frames: AsyncIterator[Asked],
    timeout: float | None,
    metadata: tuple[tuple[str, str], ...],
) -> Answer:
    """Sends all frames and gives the answer."""
    return await method(frames, timeout=timeout, metadata=metadata)


class Stream:
    """Both directions of a coordination's stream."""

    def __init__(
        self,
        method: StreamStreamMultiCallable[CoordinateRequest, CoordinateResponse],
        metadata: tuple[tuple[str, str], ...],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._said: asyncio.Queue[CoordinateRequest | None] = asyncio.Queue()
        self._heard: asyncio.Queue[CoordinateResponse | grpc.RpcError | None] = asyncio.Queue()
        self._call = method(self._frames(), metadata=metadata)
        # A read that is cancelled takes the stream with it, and nobody could be told of the cancellation: so a task of its own reads.
        self._reader = asyncio.create_task(self._read())

    def send(self, frame: CoordinateRequest) -> None:
        """Says something, from whichever thread. What a broken stream was told is lost; reading tells that it broke."""
        self._loop.call_soon_threadsafe(self._said.put_nowait, frame)

    async def receive(self) -> CoordinateResponse | None:
        """The next frame; None when the stream ended well. Raises what it ended with otherwise."""
        heard = await self._heard.get()
        if isinstance(heard, grpc.RpcError):
            raise heard
        return heard

    async def drain(self, seconds: float) -> bool:
        """Reads on, for so long. Tells whether the coordination ended."""
        try:
            return await asyncio.wait_for(self._ended(), seconds)
        except (asyncio.TimeoutError, grpc.RpcError):
            return False

    def close(self) -> None:
        """Lets go."""
        self._said.put_nowait(None)
        self._call.cancel()
        self._reader.cancel()

    async def _ended(self) -> bool:
        while (frame := await self.receive()) is not None:
            if frame.WhichOneof("frame") == "ended":
                return True
        return False

    async def _read(self) -> None:
        try:
            while isinstance(frame := await self._call.read(), CoordinateResponse):
                self._heard.put_nowait(frame)
            self._heard.put_nowait(None)
        except grpc.RpcError as failed:
            self._heard.put_nowait(failed)

    async def _frames(self) -> AsyncIterator[CoordinateRequest]:
        while (frame := await self._said.get()) is not None:
            yield frame
