"""Answers that are read as they come. Knows nothing of which call they are of."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Generic, TypeVar

import grpc

from antiphon._async.transport import Streaming, sleep
from antiphon.error import Error, from_rpc
from antiphon.exchange import Delta, Exchange, Probe
from antiphon.pieces import Pieces
from antiphon.retry import Repeatable, Tries

Result = TypeVar("Result", Exchange, Probe)


class Response(Generic[Result]):
    """An answer on its way: iterate for its pieces, ask `result` for the whole, `cancel` to end its run.

    The text pieces joined are the text of the result, whatever became of the connection meanwhile, those since the last piece of the kind
    `attempt` where the model was asked again: the call is repeated under its run id, which gives what is there or joins what is at work.
    Only a run that ended after its first piece came is not tried again.
    """

    def __init__(
        self,
        method: Streaming[Any, Any],
        raw: Any,
        metadata: tuple[tuple[str, str], ...],
        read: Callable[[Any], Result],
        run: Repeatable,
        end: Callable[[str], Awaitable[None]],
        timeout: float | None,
    ) -> None:
        self._method = method
        self._raw = raw
        self._metadata = metadata
        self._read = read
        self._run = run
        self._end = end
        self._tries = Tries(timeout, run)
        self._call: Any = None
        self._pieces = Pieces()
        self._result: Result | None = None

    @property
    def run_id(self) -> str:
        """Names the run, from the beginning; empty for a probe."""
        return self._run.run_id

    async def __aenter__(self) -> Response[Result]:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._result is None and self._call is not None:
            self._call.cancel()

    async def __aiter__(self) -> AsyncIterator[Delta]:
        while self._result is None:
            try:
                self._call = self._method(self._raw, timeout=self._tries.left(), metadata=self._metadata)
                self._pieces.connected()
                async for event in self._call:
                    if event.HasField("completed"):
                        self._result = self._read(event.completed)
                    for delta in self._pieces.new(event.progress):
                        self._tries.begun = self._pieces.begun
                        yield delta
            except grpc.RpcError as failed:
                if self._result is not None:
                    break
                pause = self._tries.pause(from_rpc(failed))
            else:
                pause = 0.0
                if self._result is None:
                    pause = self._tries.pause(Error(grpc.StatusCode.UNAVAILABLE, "the stream closed before its run ended"))
            await sleep(pause)
        # The stored result of an earlier call comes without pieces.
        for delta in self._pieces.rest(self._result.text):
            yield delta

    async def result(self) -> Result:
        """The whole, once it is there. Raises `Error` where nothing came of it."""
        async for _ in self:
            continue
        if self._result is None:
            raise Error(grpc.StatusCode.CANCELLED, f"run {self.run_id} was cancelled")
        return self._result

    async def cancel(self) -> None:
        """Ends the run, unless it has ended; whoever reads this gets an `Error` with the code CANCELLED."""
        try:
            await self._end(self.run_id)
        except Error as error:
            # It was never begun, or refused before it was.
            if error.reason != "RUN_NOT_FOUND":
                raise
