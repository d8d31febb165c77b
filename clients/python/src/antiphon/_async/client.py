"""The client: everything that can be asked of a server, and conversations and branches made of it. Knows nothing of connections."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import overload

from antiphon._async.audit import Audit
from antiphon._async.callbacks import AfterCall, BeforeCall
from antiphon._async.catalog import Catalog
from antiphon._async.conversation import Conversation
from antiphon._async.explain import Explain
from antiphon._async.graph import Graph
from antiphon._async.prompts import Prompts
from antiphon._async.records import Records
from antiphon._async.workspace import Workspaces
from antiphon.branch import Branch
from antiphon.error import Error
from antiphon.exchange import Exchange
from antiphon.gen.antiphon.v1 import exchange_service_pb2 as pb
from antiphon.request import Input, NewThread, Request, ThreadTurn, exchange_point, request_of, results_of
from antiphon.retry import fresh
from antiphon.tool import Tools


class AsyncClient(Prompts, Explain, Records, Workspaces, Graph, Audit, Catalog):
    """Talks to one server. Close it, or use it in a `with` block."""

    @classmethod
    def from_env(cls, token: str | None = None) -> AsyncClient:
        """The server that ANTIPHON_SERVER names, else the one at its usual place on this machine; the key is `token`, else in
        ANTIPHON_TOKEN if there is one."""
        return cls(os.environ.get("ANTIPHON_SERVER", "127.0.0.1:7373"), token or os.environ.get("ANTIPHON_TOKEN"))

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def conversation(
        self,
        thread: NewThread | str | None = None,
        *,
        tools: Tools | None = None,
        before_call: BeforeCall | None = None,
        after_call: AfterCall | None = None,
        chain_limit: int = 16,
    ) -> Conversation:
        """A conversation on a thread that is there, by its id, or on a new one. Every turn offers its `tools` which says nothing else, and
        `chain` runs them, with the hooks around them. On a new thread they stand for whoever else goes on with it."""
        if isinstance(thread, str):
            thread_id = thread
        else:
            new = thread or NewThread()
            thread_id = (await self.create_thread(new if tools is None else replace(new, tools=tools))).thread_id
        return Conversation(
            self,
            thread_id,
            tools=tools,
            standing=not isinstance(thread, str),
            before_call=before_call,
            after_call=after_call,
            chain_limit=chain_limit,
        )

    @overload
    async def fork(
        self,
        source: Exchange | ThreadTurn | str,
        request: None = None,
        *,
        thread: NewThread | None = None,
        name: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> Conversation: ...
    @overload
    async def fork(
        self,
        source: Exchange | ThreadTurn | str,
        request: Input,
        *,
        thread: NewThread | None = None,
        name: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> Exchange: ...
    async def fork(
        self,
        source: Exchange | ThreadTurn | str,
        request: Input | None = None,
        *,
        thread: NewThread | None = None,
        name: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> Conversation | Exchange:
        """A new thread from an exchange or a point of a thread; nothing is copied, and the source stays as it is.

        With a request, or the results of the calls that are pending there, its first turn is executed and its exchange returned. Without, the
        conversation is, to go on with. The thread uses the profile and model of its source unless `thread` says otherwise. Hooks and
        functions do not go along."""
        made = replace(thread or NewThread(), name=name or (thread.name if thread is not None else ""))
        raw = _fork(source, [(made, request)], request_id)
        run = raw.branches[0].request if isinstance(request, Request | str) else None
        result = (await self._call(self._exchanges.Fork, raw, timeout, run)).results[0]
        return Conversation(self, result.thread.thread_id) if request is None else Exchange(result.exchange)

    async def fork_all(
        self,
        source: Exchange | ThreadTurn | str,
        requests: Sequence[Input],
        *,
        threads: Sequence[NewThread] = (),
        request_id: str = "",
        timeout: float | None = None,
    ) -> list[Branch]:
        """Several threads from one point, one for each request, whose first turns are executed at once. One that fails has its error, and takes
        no other with it."""
        named = [*threads, *(NewThread() for _ in requests[len(threads) :])]
        if len(named) != len(requests):
            raise ValueError(f"there are {len(threads)} threads for {len(requests)} requests")
        raw = _fork(source, list(zip(named, requests, strict=True)), request_id)
        if len(requests) == 1:
            # The answer says so for several only; a single failure is the call's own.
            try:
                answer = await self._call(self._exchanges.Fork, raw, timeout)
            except Error as error:
                if "thread_id" not in error.metadata:
                    raise
                return [Branch(error.metadata["thread_id"], None, error)]
        else:
            answer = await self._call(self._exchanges.Fork, raw, timeout)
        return [Branch.of(result) for result in answer.results]


def _fork(
    source: Exchange | ThreadTurn | str,
    branches: Sequence[tuple[NewThread, Input | None]],
    request_id: str,
) -> pb.ForkRequest:
    raw = pb.ForkRequest(request_id=request_id or fresh())
    if isinstance(source, ThreadTurn):
        raw.thread.CopyFrom(source.to_raw())
    else:
        raw.exchange.CopyFrom(exchange_point(source))
    for thread, request in branches:
        if isinstance(source, Exchange) and not thread.profile_id:
            own, model = source.setting("profile_id") or "", source.setting("model") or ""
            thread = replace(thread, profile_id=own, model=thread.model or model)
        branch = raw.branches.add(thread=thread.to_raw())
        if isinstance(request, Request | str):
            branch.request.CopyFrom(request_of(request).to_raw())
            branch.request.run_id = branch.request.run_id or fresh()
        elif request is not None:
            branch.tool_results.CopyFrom(results_of(request))
    return raw
