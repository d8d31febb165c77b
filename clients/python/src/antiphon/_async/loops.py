"""Turns in loops: coordinations that a callback decides, and chains of tools. Knows nothing of how a stream is followed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import grpc

from antiphon._async.callbacks import AfterCall, BeforeCall, Callbacks, Generate, Memory, NextAction, OnDelta
from antiphon._async.coordinate import Coordinator
from antiphon._async.transport import Stream
from antiphon._async.turns import Turns
from antiphon.coordination import Action, Cancellation, Continue, Decision, Fail, Outcome, Stop, Suspend, action_frame
from antiphon.error import Error, from_rpc
from antiphon.exchange import Exchange
from antiphon.gen.antiphon.v1 import coordination_pb2, coordination_service_pb2, usage_pb2
from antiphon.generation import Generated, generated_frame
from antiphon.request import NewThread, OnDisconnect, Request, ThreadPoint, ToolDrift, exchange_point, on_disconnect_of, request_of
from antiphon.retry import fresh
from antiphon.thread import Coordination
from antiphon.tool import ToolResult, Tools
from antiphon.usage import spend_limit_of


class Loops(Turns):
    """Turn after turn on one branch, with the caller's functions."""

    async def coordinate(
        self,
        start: Exchange | ThreadPoint | Request | str,
        additional_turns: int,
        next_action: NextAction,
        *,
        thread: ThreadPoint | NewThread | None = None,
        tools: Tools | None = None,
        before_call: BeforeCall | None = None,
        after_call: AfterCall | None = None,
        tool_round_limit: int | None = None,
        token_limit: int | None = None,
        cost_limit: str | None = None,
        on_delta: OnDelta | None = None,
        generate: Generate | None = None,
        on_tool_drift: ToolDrift | None = None,
        decision_timeout: float | None = None,
        deadline: datetime | None = None,
        on_disconnect: OnDisconnect | None = None,
        coordination_id: str | None = None,
        labels: Mapping[str, str] | None = None,
        ephemeral: bool = False,
        cancellation: Cancellation | None = None,
    ) -> Outcome:
        """Runs up to `additional_turns` turns of one branch; `next_action` decides each.

        It starts from an exchange (or its id, as a string), from the head of a thread, which then moves, or with a `Request` that is
        executed first, on `thread` if one is given. `next_action` sees that starting exchange, then each new result, and returns
        `Continue`, `Stop`, `Fail` or `Suspend`. What it raises ends the coordination FAILED and is raised here, the same object.

        `tools` are functions that the model may call in every turn whose request names none of its own; they run at once, and one that
        fails, is not there or is refused by an exception of `before_call` gives an error result. An exception of `after_call` or
        `on_delta` cancels the coordination and is raised here. A tool that raises `Pause` leaves it for later, and that is raised here with
        the id to go on with. `on_tool_drift` holds for every request that does not say its own.

        `generate` is called where the profile's backend is of the kind `client`: it takes a `Generation` and returns what the model said, as
        `Generated` or a string. With an `Error` that it raises, the server decides by its code whether it is asked again; any other exception
        fails the turn and is raised here.

        `token_limit` and `cost_limit` are what all of its calls to models may spend together: tokens read and written, at least 1, and an
        amount over 0 with its currency, such as `"2.50 USD"`, by the prices of profiles. The call that reaches a limit is the last. An answer
        that asks for another one is refused with the reason SPEND_LIMIT, which is raised here and never tried again by itself, and so is a
        model without prices in that currency. What `generate` does is not counted. A text that is no cost raises `ValueError`.

        A stream that breaks is attached again, and no callback is made twice for one decision. Raises `Error` when an execution fails, when
        it was cancelled, or when an answer was refused, in which case the decision stays pending.
        """
        raw = coordination_pb2.CoordinationStart(
            additional_turns=additional_turns,
            coordination_id="" if ephemeral else coordination_id or fresh(),
            ephemeral=ephemeral,
            labels=labels,
            deltas=on_delta is not None,
            spend_limit=spend_limit_of(token_limit, cost_limit),
        )
        if tool_round_limit is not None:
            raw.tool_round_limit = tool_round_limit
        if decision_timeout is not None:
            raw.decision_timeout.FromTimedelta(timedelta(seconds=decision_timeout))
        if deadline is not None:
            raw.deadline.FromDatetime(deadline)
        if on_disconnect is not None:
            raw.on_disconnect = on_disconnect_of(on_disconnect)
        callbacks = Callbacks(next_action, tools, before_call, after_call, on_delta, generate, cancellation, on_tool_drift)
        return await self._start(raw, start, thread, callbacks)

    async def attach(
        self,
        coordination_id: str,
        next_action: NextAction,
        *,
        tools: Tools | None = None,
        before_call: BeforeCall | None = None,
        after_call: AfterCall | None = None,
        on_delta: OnDelta | None = None,
        generate: Generate | None = None,
        on_tool_drift: ToolDrift | None = None,
        cancellation: Cancellation | None = None,
    ) -> Outcome:
        """Goes on with a coordination that was suspended, or whose process or connection is gone, at what is pending."""
        callbacks = Callbacks(next_action, tools, before_call, after_call, on_delta, generate, cancellation, on_tool_drift)
        return await self._finish(coordination_id, self._coordinator(coordination_id, callbacks), None)

    async def chain(
        self,
        prompt: Request | str,
        tools: Tools = (),
        *,
        after: Exchange | ThreadPoint | str | None = None,
        thread: ThreadPoint | NewThread | None = None,
        chain_limit: int = 16,
        token_limit: int | None = None,
        cost_limit: str | None = None,
        before_call: BeforeCall | None = None,
        after_call: AfterCall | None = None,
        on_delta: OnDelta | None = None,
        generate: Generate | None = None,
        on_tool_drift: ToolDrift | None = None,
        coordination_id: str | None = None,
        labels: Mapping[str, str] | None = None,
        ephemeral: bool = False,
        cancellation: Cancellation | None = None,
    ) -> Exchange:
        """Executes a request and the tools that the model calls, until it calls none or there were `chain_limit` rounds of them; then the
        answer has `tool_calls` that nothing answers.

        It is a first turn, on `thread` if one is given, or one `after` an exchange or a thread's head. A tool that raises `Pause` leaves it
        for `resume`. What came of it can be found under the `coordination_id`, yours or one that is made once.

        `token_limit` and `cost_limit` are those of `coordinate`. Where one is reached before the model has its results, SPEND_LIMIT is raised."""
        spend_limit = spend_limit_of(token_limit, cost_limit)
        take = Take(request_of(prompt))
        callbacks = Callbacks(take, tools, before_call, after_call, on_delta, generate, cancellation, on_tool_drift)
        return await self.run_chain(take, callbacks, after, thread, chain_limit, coordination_id, labels, ephemeral, spend_limit)

    async def resume(
        self,
        coordination_id: str,
        tools: Tools = (),
        *,
        before_call: BeforeCall | None = None,
        after_call: AfterCall | None = None,
        on_delta: OnDelta | None = None,
        generate: Generate | None = None,
        cancellation: Cancellation | None = None,
    ) -> Exchange:
        """Goes on with a chain that was paused, or whose process is gone, and gives its result. Calls that have results are not made again."""
        take = Take(None)
        await self.attach(
            coordination_id,
            take,
            tools=tools,
            before_call=before_call,
            after_call=after_call,
            on_delta=on_delta,
            generate=generate,
            cancellation=cancellation,
        )
        return take.result(coordination_id)

    async def answer(
        self,
        coordination_id: str,
        answer: Action | Generated | Sequence[ToolResult],
        *,
        pending_id: str = "",
        timeout: float | None = None,
    ) -> Coordination:
        """Gives the answer that a coordination waits for, from anywhere and without a stream: results of tool calls, a next action, or what
        a model said. With the `pending_id` that the caller saw, the same answer may be given again, and another one is refused."""
        if not pending_id:
            request = coordination_service_pb2.CoordinationServiceGetRequest(coordination_id=coordination_id)
            found = await self._call(self._coordinations.Get, request, timeout)
            pending_id = found.coordination.pending_id
        raw = coordination_service_pb2.AnswerRequest(coordination_id=coordination_id)
        if isinstance(answer, Generated):
            raw.generated.CopyFrom(generated_frame(pending_id, answer).generated)
        elif isinstance(answer, Continue | Stop | Fail):
            raw.next_action.CopyFrom(action_frame(pending_id, answer, lambda said: request_of(said).to_raw()).next_action)
        elif isinstance(answer, Suspend):
            raise ValueError("there is no stream to suspend; a coordination that nobody answers waits by itself")
        else:
            raw.tool_results.batch_id = pending_id
            raw.tool_results.results.extend(result.to_raw() for result in answer)
        return Coordination((await self._call(self._coordinations.Answer, raw, timeout)).coordination)

    async def cancel(self, coordination_id: str, message: str = "", *, timeout: float | None = None) -> None:
        """Ends a coordination, wherever it is. Ending one that has ended changes nothing."""
        request = coordination_service_pb2.CoordinationServiceCancelRequest(coordination_id=coordination_id, message=message)
        try:
            await self._coordinations.Cancel(request, timeout=timeout, metadata=self._metadata)
        except grpc.RpcError as failed:
            raise from_rpc(failed) from None

    async def run_chain(
        self,
        take: Take,
        callbacks: Callbacks,
        after: Exchange | ThreadPoint | str | None,
        thread: ThreadPoint | NewThread | None,
        chain_limit: int,
        coordination_id: str | None,
        labels: Mapping[str, str] | None,
        ephemeral: bool,
        spend_limit: usage_pb2.SpendLimit | None,
    ) -> Exchange:
        """A chain as a conversation has it; for the client's own use."""
        raw = coordination_pb2.CoordinationStart(
            additional_turns=0 if after is None else 1,
            tool_round_limit=chain_limit,
            coordination_id="" if ephemeral else coordination_id or fresh(),
            ephemeral=ephemeral,
            labels=labels,
            deltas=callbacks.on_delta is not None,
            spend_limit=spend_limit,
        )
        if after is None:
            start, take.request = take.request, None
        elif isinstance(after, Exchange) and not after.captured and not ephemeral:
            # A branch of turns needs what it goes on from on record, where it lands once, however often it is replied to.
            start = await self._settled(after)
        else:
            start = after
        await self._start(raw, start or "", thread, callbacks)
        return take.result(raw.coordination_id)

    async def _start(
        self,
        raw: coordination_pb2.CoordinationStart,
        start: Exchange | ThreadPoint | Request | str,
        thread: ThreadPoint | NewThread | None,
        callbacks: Callbacks,
    ) -> Outcome:
        coordinator = self._coordinator(raw.coordination_id, callbacks)
        if thread is not None and not isinstance(start, Request):
            raise ValueError("`thread` is for a start with a request")
        if isinstance(start, ThreadPoint):
            raw.thread.CopyFrom(start.to_raw())
        elif isinstance(start, Request):
            raw.initial_request.request.CopyFrom(coordinator.offered(start))
            if isinstance(thread, ThreadPoint):
                raw.initial_request.existing_thread.CopyFrom(thread.to_raw())
            elif thread is not None:
                raw.initial_request.new_thread.CopyFrom(thread.to_raw())
        else:
            raw.exchange.CopyFrom(exchange_point(start))
        if callbacks.cancelled:
            raise Error(grpc.StatusCode.CANCELLED, "it was cancelled before it started")
        return await self._finish(raw.coordination_id, coordinator, raw)

    def _coordinator(self, coordination_id: str, callbacks: Callbacks) -> Coordinator:
        memory = self._memories.setdefault(coordination_id, Memory()) if coordination_id else Memory()

        def open_stream() -> Stream:
            return Stream(self._exchanges.Coordinate, self._metadata)

        async def cancel(message: str) -> None:
            try:
                await self.cancel(coordination_id, message, timeout=5.0)
            except Error:
                # The caller is on its way out with its own exception, and a server that cannot be reached cannot be told.
                return

        return Coordinator(open_stream, cancel, callbacks, memory, coordination_id, self._attach_for)

    async def _finish(self, coordination_id: str, coordinator: Coordinator, start: coordination_pb2.CoordinationStart | None) -> Outcome:
        try:
            return await coordinator.run(start)
        finally:
            memory = self._memories.get(coordination_id)
            if memory is not None and not memory.answers and not memory.results:
                self._memories.pop(coordination_id, None)


@dataclass
class Take:
    """The callback of a chain: asks for one turn where it goes on from something, and takes the result."""

    request: Request | None
    found: list[Exchange] = field(default_factory=list[Exchange])

    def __call__(self, decision: Decision) -> Action:
        if decision.starting and self.request is not None:
            return Continue(self.request)
        if decision.starting and decision.turns_remaining:
            return Suspend()
        self.found.append(decision.exchange)
        return Stop()

    def result(self, coordination_id: str) -> Exchange:
        """What came of it."""
        if not self.found:
            message = f"chain {coordination_id} had not begun its turn: attach to it with a callback that says what to ask"
            raise Error(grpc.StatusCode.FAILED_PRECONDITION, message, metadata={"coordination_id": coordination_id})
        return self.found[0]
