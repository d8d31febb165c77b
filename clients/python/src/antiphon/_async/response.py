"""Answers that are read as they come. Knows nothing of which call they are of."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Generic, TypeVar

import grpc

from antiphon._async.transport import Streaming, sleep
from antiphon.error import Error, from_rpc
from antiphon.exchange import Delta, Exchange, Probe
from antiphon.retry import Repeatable, Tries

Result = TypeVar("Result", Exchange, Probe)


class Response(Generic[Result]):
    """An answer on its way: iterate for its pieces, ask `result` for the whole, `cancel` to end its run.

    The text pieces joined are the text of the result, whatever became of the connection meanwhile: the call is repeated under its run id,
    which gives what is there or joins what is at work. Only a run that ended after its first piece came is not tried again.
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
        self._told: dict[str, int] = {}
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
                seen: dict[str, int] = {}
                async for event in self._call:
                    if event.HasField("completed"):
                        self._result = self._read(event.completed)
                    delta = Delta.of(event.progress.delta)
                    if delta is not None:
                        more = self._more(delta, seen)
                        if more.text:
                            yield more
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
        rest = self._result.text[self._told.get("text", 0) :]
        if rest:
            self._told["text"] = len(self._result.text)
            yield Delta("text", rest)

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

    def _more(self, delta: Delta, seen: dict[str, int]) -> Delta:
        """What of a piece was not told before the connection broke."""
        before, told = seen.get(delta.kind, 0), self._told.get(delta.kind, 0)
        after = seen[delta.kind] = before + len(delta.text)
        self._told[delta.kind] = max(told, after)
        self._tries.begun = True
        return Delta(delta.kind, delta.text[max(0, told - before) :])
