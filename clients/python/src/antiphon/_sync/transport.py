"""What asyncio and threads do differently: the twin of `_async/transport.py`, with the same names. Written by hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

import grpc
from grpc import Channel as Channel
from grpc import StreamStreamMultiCallable, StreamUnaryMultiCallable
from grpc import UnaryStreamMultiCallable as Streaming
from grpc import UnaryUnaryMultiCallable as Method

from antiphon.gen.antiphon.v1.coordination_pb2 import CoordinateRequest, CoordinateResponse
from antiphon.workspace import PIECE_BYTES, Readable

T = TypeVar("T")
Item = TypeVar("Item")
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

__all__ = ["Channel", "Method", "Source", "Stream", "Streaming", "connect", "each", "invoke", "pieces", "resolve", "sleep", "upload"]

Source = Iterable[bytes] | Readable
"""Where the content of a document comes from: pieces of whatever size, or a file that was opened to read bytes."""

sleep = time.sleep


def connect(address: str, credentials: grpc.ChannelCredentials | None, options: list[tuple[str, Any]]) -> Channel:
    """A channel, which connects when it is used."""
    if credentials is None:
        return grpc.insecure_channel(address, options=options)
    return grpc.secure_channel(address, credentials, options=options)


def resolve(value: T) -> T:
    """What a callback returned."""
    return value


def invoke(function: Callable[..., T], arguments: Sequence[Any], named: Mapping[str, Any]) -> T:
    """Calls what may take its time."""
    return function(*arguments, **named)


def each(function: Callable[[Item], None], items: Iterable[Item]) -> None:
    """Does the same with each, at once."""
    todo = list(items)
    pool = ThreadPoolExecutor(max_workers=max(1, len(todo)))
    try:
        for done in [pool.submit(function, item) for item in todo]:
            done.result()
    finally:
        pool.shutdown(wait=False)


def pieces(source: Source) -> Iterator[bytes]:
    """The pieces of some content."""
    if isinstance(source, Readable):
        while piece := source.read(PIECE_BYTES):
            yield piece
    else:
        yield from source


def upload(
    method: StreamUnaryMultiCallable[Asked, Answer],
    frames: Iterator[Asked],
    timeout: float | None,
    metadata: tuple[tuple[str, str], ...],
) -> Answer:
    """Sends all frames, which a thread of its own asks for, and gives the answer."""
    call = method.future(frames, timeout=timeout, metadata=metadata)
    try:
        return call.result()
    except BaseException:
        # Who is interrupted has not written: nothing of it is complete.
        call.cancel()
        raise


class Stream:
    """Both directions of a coordination's stream."""

    def __init__(
        self,
        method: StreamStreamMultiCallable[CoordinateRequest, CoordinateResponse],
        metadata: tuple[tuple[str, str], ...],
    ) -> None:
        self._said: SimpleQueue[CoordinateRequest | None] = SimpleQueue()
        self._heard: SimpleQueue[CoordinateResponse | grpc.RpcError | None] = SimpleQueue()
        self._call = method(iter(self._said.get, None), metadata=metadata)
        # A read that is interrupted cannot be taken up again, and nobody could be told of the interrupt: so a thread of its own reads.
        Thread(target=self._read, daemon=True).start()

    def send(self, frame: CoordinateRequest) -> None:
        """Says something, from whichever thread. What a broken stream was told is lost; reading tells that it broke."""
        self._said.put(frame)

    def receive(self, seconds: float | None = None) -> CoordinateResponse | None:
        """The next frame; None when the stream ended well. Raises what it ended with otherwise."""
        heard = self._heard.get(timeout=seconds)
        if isinstance(heard, grpc.RpcError):
            raise heard
        return heard

    def drain(self, seconds: float) -> bool:
        """Reads on, for so long. Tells whether the coordination ended."""
        until = time.monotonic() + seconds
        try:
            while (frame := self.receive(max(0.0, until - time.monotonic()))) is not None:
                if frame.WhichOneof("frame") == "ended":
                    return True
            return False
        except (Empty, grpc.RpcError):
            return False

    def close(self) -> None:
        """Lets go."""
        self._said.put(None)
        self._call.cancel()

    def _read(self) -> None:
        try:
            for frame in self._call:
                self._heard.put(frame)
            self._heard.put(None)
        except grpc.RpcError as failed:
            self._heard.put(failed)
