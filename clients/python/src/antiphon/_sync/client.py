# Made from ../_async by `generate`; not to be edited.
"""The client: one method for each thing that can be asked of a server. Knows nothing of how a stream is followed."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, TypeVar

import grpc

from antiphon._sync.coordinate import AfterCall, BeforeCall, Callbacks, Coordinator, Memory, NextAction, OnDelta
from antiphon._sync.transport import Channel, Method, Stream, connect, sleep
from antiphon.coordination import Action, Cancellation, Decision, Outcome, Stop
from antiphon.error import Error, from_rpc
from antiphon.exchange import Exchange
from antiphon.gen.antiphon.v1 import coordination_pb2, coordination_service_pb2, exchange_service_pb2, execution_pb2
from antiphon.gen.antiphon.v1.coordination_service_pb2_grpc import CoordinationServiceStub
from antiphon.gen.antiphon.v1.exchange_service_pb2_grpc import ExchangeServiceStub
from antiphon.request import NewThread, Request, ThreadPoint, exchange_point, request_of
from antiphon.tool import Tools

Answer = TypeVar("Answer")
Turn = TypeVar("Turn", exchange_service_pb2.CaptureRequest, exchange_service_pb2.ContinueRequest)

TRIES = 4
FIRST_PAUSE = 0.2
OPTIONS: list[tuple[str, Any]] = [
    # One exchange may be larger than gRPC's 4 MiB; the server has limits of its own.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # A server that restarts is found again within two seconds, not two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
    # A callback may take days, and a connection that died meanwhile says nothing.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.max_pings_without_data", 0),
]


class Client:
    """Talks to one server. Close it, or use it in a `with` block."""

    def __init__(
        self,
        address: str,
        token: str | None = None,
        *,
        credentials: grpc.ChannelCredentials | None = None,
        provider_credential: str | None = None,
        attach_for: float = 60.0,
    ) -> None:
        """`address` is host and port. With `credentials` the connection is TLS. `provider_credential` is used instead of the server's
        own for its provider. A broken coordination stream is attached again for `attach_for` seconds before that is an error."""
        self._channel = connect(address.removeprefix("http://"), credentials, OPTIONS)
        metadata: list[tuple[str, str]] = []
        if token is not None:
            metadata.append(("authorization", f"Bearer {token}"))
        if provider_credential is not None:
            metadata.append(("antiphon-provider-credential", provider_credential))
        self._metadata = tuple(metadata)
        self._attach_for = attach_for
        self._exchanges = ExchangeServiceStub(self._channel)
        self._coordinations = CoordinationServiceStub(self._channel)
        self._memories: dict[str, Memory] = {}

    @classmethod
    def from_env(cls, token: str | None = None) -> Client:
        """The server that ANTIPHON_SERVER names, else the one at its usual place on this machine."""
        return cls(os.environ.get("ANTIPHON_SERVER", "127.0.0.1:7373"), token)

    @property
    def raw(self) -> Channel:
        """The channel, for the stubs in `antiphon.gen`."""
        return self._channel

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self._channel.close()

    def capture(
        self,
        request: Request | str,
        *,
        thread: ThreadPoint | NewThread | None = None,
        timeout: float | None = None,
    ) -> Exchange:
        """Executes a request at a root and keeps the exchange, on a thread without exchanges if one is given."""
        raw = exchange_service_pb2.CaptureRequest(request=request_of(request).to_raw())
        if isinstance(thread, ThreadPoint):
            raw.existing_thread.CopyFrom(thread.to_raw())
        elif thread is not None:
            raw.new_thread.CopyFrom(thread.to_raw())
        return Exchange((self._execute(self._exchanges.Capture, raw, timeout)).exchange)

    def continue_(self, point: Exchange | ThreadPoint | str, request: Request | str, *, timeout: float | None = None) -> Exchange:
        """A new turn: from an exchange or its id, where no head moves, or from a thread, whose head moves."""
        raw = exchange_service_pb2.ContinueRequest(request=request_of(request).to_raw())
        if isinstance(point, ThreadPoint):
            raw.thread.CopyFrom(point.to_raw())
        else:
            raw.exchange.CopyFrom(exchange_point(point))
        return Exchange((self._execute(self._exchanges.Continue, raw, timeout)).exchange)

    def reply(self, exchange: Exchange, request: Request | str, *, timeout: float | None = None) -> Exchange:
        """`continue_` with the exchange's own profile and model, unless the request names another."""
        raw = exchange_service_pb2.ContinueRequest(exchange=exchange_point(exchange), request=request_of(request).to_raw())
        if not raw.request.profile_id:
            raw.request.profile_id = exchange.setting("profile_id") or ""
            raw.request.model = raw.request.model or exchange.setting("model") or ""
        return Exchange((self._execute(self._exchanges.Continue, raw, timeout)).exchange)

    def coordinate(
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
        on_delta: OnDelta | None = None,
        decision_timeout: float | None = None,
        deadline: datetime | None = None,
        on_disconnect: Literal["finish", "cancel"] | None = None,
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
        `on_delta` cancels the coordination and is raised here.

        A stream that breaks is attached again, and no callback is made twice for one decision. Raises `Error` when an execution fails, when
        it was cancelled, or when an answer was refused, in which case the decision stays pending.
        """
        ours = "" if ephemeral else coordination_id or str(uuid.uuid4())
        raw = coordination_pb2.CoordinationStart(
            additional_turns=additional_turns,
            coordination_id=ours,
            ephemeral=ephemeral,
            labels=labels,
        )
        callbacks = Callbacks(next_action, tools, before_call, after_call, on_delta, cancellation or Cancellation())
        coordinator = self._coordinator(ours, callbacks)
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
        if thread is not None and not isinstance(start, Request):
            raise ValueError("`thread` is for a start with a request")
        if tool_round_limit is not None:
            raw.tool_round_limit = tool_round_limit
        raw.deltas = on_delta is not None
        if decision_timeout is not None:
            raw.decision_timeout.FromTimedelta(timedelta(seconds=decision_timeout))
        if deadline is not None:
            raw.deadline.FromDatetime(deadline)
        if on_disconnect is not None:
            raw.on_disconnect = execution_pb2.OnDisconnect.Value(f"ON_DISCONNECT_{on_disconnect.upper()}")
        if callbacks.cancellation.cancelled:
            raise Error(grpc.StatusCode.CANCELLED, "it was cancelled before it started")
        return self._finish(ours, coordinator, raw)

    def attach(
        self,
        coordination_id: str,
        next_action: NextAction,
        *,
        tools: Tools | None = None,
        before_call: BeforeCall | None = None,
        after_call: AfterCall | None = None,
        on_delta: OnDelta | None = None,
        cancellation: Cancellation | None = None,
    ) -> Outcome:
        """Goes on with a coordination that was suspended, or whose process or connection is gone, at what is pending."""
        callbacks = Callbacks(next_action, tools, before_call, after_call, on_delta, cancellation or Cancellation())
        return self._finish(coordination_id, self._coordinator(coordination_id, callbacks), None)

    def chain(
        self,
        prompt: Request | str,
        tools: Tools = (),
        *,
        chain_limit: int = 16,
        before_call: BeforeCall | None = None,
        after_call: AfterCall | None = None,
        on_delta: OnDelta | None = None,
        ephemeral: bool = False,
        cancellation: Cancellation | None = None,
    ) -> Exchange:
        """Executes a request and the tools that the model calls, until it calls none or there were `chain_limit` rounds of them; then the
        answer has `tool_calls` that nothing answers."""
        found: list[Exchange] = []

        def take(decision: Decision) -> Action:
            found.append(decision.exchange)
            return Stop()

        self.coordinate(
            request_of(prompt),
            0,
            take,
            tools=tools,
            before_call=before_call,
            after_call=after_call,
            tool_round_limit=chain_limit,
            on_delta=on_delta,
            ephemeral=ephemeral,
            cancellation=cancellation,
        )
        return found[0]

    def cancel(self, coordination_id: str, message: str = "", *, timeout: float | None = None) -> None:
        """Ends a coordination, wherever it is. Ending one that has ended changes nothing."""
        request = coordination_service_pb2.CoordinationServiceCancelRequest(coordination_id=coordination_id, message=message)
        try:
            self._coordinations.Cancel(request, timeout=timeout, metadata=self._metadata)
        except grpc.RpcError as failed:
            raise from_rpc(failed) from None

    def _coordinator(self, coordination_id: str, callbacks: Callbacks) -> Coordinator:
        memory = self._memories.setdefault(coordination_id, Memory()) if coordination_id else Memory()

        def open_stream() -> Stream:
            return Stream(self._exchanges.Coordinate, self._metadata)

        def cancel(message: str) -> None:
            try:
                self.cancel(coordination_id, message, timeout=5.0)
            except Error:
                # The caller is on its way out with its own exception, and a server that cannot be reached cannot be told.
                return

        return Coordinator(open_stream, cancel, callbacks, memory, coordination_id, self._attach_for)

    def _finish(self, coordination_id: str, coordinator: Coordinator, start: coordination_pb2.CoordinationStart | None) -> Outcome:
        try:
            return coordinator.run(start)
        finally:
            memory = self._memories.get(coordination_id)
            if memory is not None and not memory.answers and not memory.results:
                self._memories.pop(coordination_id, None)

    def _execute(self, method: Method[Turn, Answer], raw: Turn, timeout: float | None) -> Answer:
        """Makes a call that is safe to repeat, since its run has a name, and repeats it where that helps."""
        raw.request.run_id = raw.request.run_id or str(uuid.uuid4())
        until = None if timeout is None else time.monotonic() + timeout
        for attempt in range(TRIES):
            left = None if until is None else max(0.0, until - time.monotonic())
            try:
                return method(raw, timeout=left, metadata=self._metadata)
            except grpc.RpcError as failed:
                error = from_rpc(failed)
            pause = FIRST_PAUSE * 2**attempt if error.retry_after is None else error.retry_after
            late = until is not None and time.monotonic() + pause >= until
            if not error.can_retry or late or attempt == TRIES - 1:
                raise error
            # A run that failed is on record under its id and would give the same error again.
            raw.request.retry = error.metadata.get("run_state", "").upper() == "FAILED"
            sleep(pause)
        raise AssertionError("the last attempt returns or raises")
