"""What asyncio and threads do differently. Its twin `_sync/transport.py` has the same names; nothing else here waits by itself."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

import grpc
from grpc.aio import Channel as Channel
from grpc.aio import StreamStreamMultiCallable
from grpc.aio import UnaryUnaryMultiCallable as Method

from antiphon.gen.antiphon.v1.coordination_pb2 import CoordinateRequest, CoordinateResponse

T = TypeVar("T")
Item = TypeVar("Item")

__all__ = ["Channel", "Method", "Stream", "connect", "each", "invoke", "resolve", "sleep"]

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


async def invoke(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Calls a tool: a plain function in a thread, so that it may take its time."""
    if inspect.iscoroutinefunction(function):
        return await function(**arguments)
    return await resolve(await asyncio.to_thread(function, **arguments))


async def each(function: Callable[[Item], Coroutine[Any, Any, None]], items: Iterable[Item]) -> None:
    """Does the same with each, at once."""
    await asyncio.gather(*(function(item) for item in items))


class Stream:
    """Both directions of a coordination's stream."""

    def __init__(
        self,
        method: StreamStreamMultiCallable[CoordinateRequest, CoordinateResponse],
        metadata: tuple[tuple[str, str], ...],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._said: asyncio.Queue[CoordinateRequest | None] = asyncio.Queue()
        self._call = method(self._frames(), metadata=metadata)
        self._reading: asyncio.Future[Any] | None = None

    def send(self, frame: CoordinateRequest) -> None:
        """Says something, from whichever thread. What a broken stream was told is lost; reading tells that it broke."""
        self._loop.call_soon_threadsafe(self._said.put_nowait, frame)

    async def receive(self) -> CoordinateResponse | None:
        """The next frame; None when the stream ended well. Raises what it ended with otherwise."""
        # A read that is cancelled would take the stream with it, and nobody could be told of the cancellation any more.
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._call.read())
        await asyncio.wait({self._reading})
        reading, self._reading = self._reading, None
        frame: Any = reading.result()
        return frame if isinstance(frame, CoordinateResponse) else None

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
        if self._reading is not None:
            self._reading.cancel()

    async def _ended(self) -> bool:
        while (frame := await self.receive()) is not None:
            if frame.WhichOneof("frame") == "ended":
                return True
        return False

    async def _frames(self) -> AsyncIterator[CoordinateRequest]:
        while (frame := await self._said.get()) is not None:
            yield frame
