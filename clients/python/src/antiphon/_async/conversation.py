"""A conversation: a thread with the caller's functions beside it. Knows nothing of how turns are made, and keeps nothing that the server lacks
but those functions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING

from antiphon._async.callbacks import AfterCall, BeforeCall, Callbacks, Generate, OnDelta
from antiphon._async.loops import Take
from antiphon._async.workspace import Workspace
from antiphon.coordination import Cancellation
from antiphon.error import Error
from antiphon.exchange import Exchange, Probe
from antiphon.request import Input, Request, ThreadPoint, ThreadTurn, request_of
from antiphon.thread import Move, Thread
from antiphon.tool import Tools
from antiphon.usage import spend_limit_of

if TYPE_CHECKING:
    from antiphon._async.client import AsyncClient


class Conversation:
    """A thread to talk on, turn after turn. Its tools stand at the server; the functions behind them, and the hooks around them, are here."""

    def __init__(
        self,
        client: AsyncClient,
        thread_id: str,
        *,
        tools: Tools | None = None,
        standing: bool = False,
        before_call: BeforeCall | None = None,
        after_call: AfterCall | None = None,
        chain_limit: int = 16,
    ) -> None:
        self._client = client
        self.thread_id = thread_id
        """The thread's id, by which it is found again."""
        self._tools = tools
        self._standing = standing
        self._before_call = before_call
        self._after_call = after_call
        self._chain_limit = chain_limit

    async def prompt(
        self,
        request: Input,
        *,
        expected_head: str = "",
        on_delta: OnDelta | None = None,
        timeout: float | None = None,
    ) -> Exchange:
        """The next turn, of one call to the model: tools that it calls are left to the caller, who gives all results to the next `prompt`.
        With `expected_head`, an exchange id, a thread that others moved is refused."""
        point = ThreadPoint(self.thread_id, expected_head)
        if isinstance(request, Request | str):
            request = self._offering(request)
        try:
            return await self._client.continue_(point, request, on_delta=on_delta, timeout=timeout)
        except Error as error:
            if error.reason != "THREAD_EMPTY" or not isinstance(request, Request | str):
                raise
        return await self._client.capture(request, thread=point, on_delta=on_delta, timeout=timeout)

    async def chain(
        self,
        prompt: Request | str,
        tools: Tools | None = None,
        *,
        chain_limit: int | None = None,
        token_limit: int | None = None,
        cost_limit: str | None = None,
        on_delta: OnDelta | None = None,
        generate: Generate | None = None,
        coordination_id: str | None = None,
        cancellation: Cancellation | None = None,
    ) -> Exchange:
        """The next turn, with the tools that the model calls run here: the conversation's own, or for this turn `tools`. `token_limit`
        and `cost_limit` are what the turn may spend, as in the client's `coordinate`."""
        spend_limit = spend_limit_of(token_limit, cost_limit)
        thread = await self._client.thread(self.thread_id)
        point = ThreadPoint(self.thread_id)
        limit = self._chain_limit if chain_limit is None else chain_limit
        take = Take(request_of(prompt))
        callbacks = Callbacks(
            take,
            self._tools if tools is None else tools,
            self._before_call,
            self._after_call,
            on_delta,
            generate,
            cancellation,
            standing=tools is None and self._standing,
        )
        after, first = (point, None) if thread.head_exchange_id else (None, point)
        return await self._client.run_chain(take, callbacks, after, first, limit, coordination_id, None, False, spend_limit)

    def _offering(self, request: Request | str) -> Request:
        """A request with the conversation's tools, where they do not stand and it has none of its own."""
        request = request_of(request)
        if self._tools is None or self._standing or request.tools is not None:
            return request
        return replace(request, tools=self._tools)

    @property
    def workspace(self) -> Workspace:
        """The thread's documents, to read and to write."""
        return self._client.workspace(self.thread_id)

    async def restore(
        self, to: Exchange | str, *, expected_head: Exchange | str = "", timeout: float | None = None
    ) -> Thread:
        """Goes back to an earlier exchange, documents included; the next turn goes on from there. Nothing is lost, see `moves`."""
        return await self._client.restore(self.thread_id, to, expected_head=expected_head, timeout=timeout)

    async def moves(self, *, timeout: float | None = None) -> AsyncIterator[Move]:
        """Where the head was, the newest move first."""
        async for move in self._client.moves(self.thread_id, timeout=timeout):
            yield move

    async def fork(self, *, name: str = "", after_turn: int | None = None) -> Conversation:
        """A new conversation from here, or from after an earlier turn. Its hooks are none and its tools stand without functions: give them to
        each `chain`, or to `conversation`."""
        return await self._client.fork(ThreadTurn(self.thread_id, after_turn=after_turn), name=name)

    async def fork_once(self, request: Request | str, *, timeout: float | None = None) -> Probe:
        """Asks something on the side, and leaves nothing behind."""
        return await self._client.fork_once(ThreadTurn(self.thread_id), request, timeout=timeout)
