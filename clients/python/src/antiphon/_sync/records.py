# Made from ../_async by `generate`; not to be edited.
"""What is on record: exchanges, threads, runs, coordinations, read and named. Knows nothing of how turns are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import grpc

from antiphon._sync.calls import Calls
from antiphon._sync.transport import sleep
from antiphon.error import from_rpc
from antiphon.exchange import Delta, Exchange
from antiphon.gen.antiphon.v1 import coordination_pb2, coordination_service_pb2, exchange_service_pb2
from antiphon.gen.antiphon.v1 import run_pb2, run_service_pb2, thread_service_pb2
from antiphon.message import Message
from antiphon.request import NewThread, exchange_point
from antiphon.retry import Tries, fresh
from antiphon.thread import Coordination, Inspection, Move, Run, RunEvent, Thread, Turn
from antiphon.word import number


class Records(Calls):
    """Reads; nothing here calls a model. What lists takes its `timeout` for each page."""

    def inspect(
        self, exchange: Exchange | str, *, history: bool = True, timeout: float | None = None
    ) -> Inspection:
        """One exchange with everything known of it, and the whole history up to its answer unless that is not wanted."""
        scope = exchange_service_pb2.HISTORY_SCOPE_FULL if history else exchange_service_pb2.HISTORY_SCOPE_NONE
        request = exchange_service_pb2.InspectRequest(exchange_id=exchange_point(exchange).exchange_id, history=scope)
        found: Exchange | None = None
        messages: list[Message] = []
        path: list[str] = []
        for page in self._pages(self._exchanges.Inspect, request, timeout):
            found = found or Exchange(page.exchange)
            messages += [Message(message) for message in page.messages]
            path += [step.exchange_id for step in page.path if step.exchange_id not in path[-1:]]
        assert found is not None, "a list has one page at least"
        return Inspection(found, messages, path)

    def thread(self, thread_id: str, *, timeout: float | None = None) -> Thread:
        """Reads a thread."""
        request = thread_service_pb2.ThreadServiceGetRequest(thread_id=thread_id)
        return Thread((self._call(self._threads.Get, request, timeout)).thread)

    def threads(
        self, labels: Mapping[str, str] | None = None, *, timeout: float | None = None
    ) -> Iterator[Thread]:
        """All threads by id, or those that have all these labels."""
        request = thread_service_pb2.ThreadServiceListRequest(labels=labels)
        for page in self._pages(self._threads.List, request, timeout):
            for thread in page.threads:
                yield Thread(thread)

    def create_thread(
        self, thread: NewThread, head: Exchange | str | None = None, *, request_id: str = "", timeout: float | None = None
    ) -> Thread:
        """Makes a thread, empty or with its head at an exchange."""
        request = thread_service_pb2.ThreadServiceCreateRequest(thread=thread.to_raw(), request_id=request_id or fresh())
        if head is not None:
            request.head.CopyFrom(exchange_point(head))
        return Thread((self._call(self._threads.Create, request, timeout)).thread)

    def update_thread(
        self,
        thread: Thread | str,
        *,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        metadata: Any = None,
        profile_id: str | None = None,
        model: str | None = None,
        timeout: float | None = None,
    ) -> Thread:
        """Changes what is given, and leaves the rest and the head. With a thread that was read, one that changed meanwhile is refused."""
        known = {"name": name, "labels": labels, "metadata_json": metadata}
        defaults = {"defaults.profile_id": profile_id, "defaults.model": model}
        values = NewThread("", name or "", labels or {}, metadata, profile_id or "", model or "")
        request = thread_service_pb2.ThreadServiceUpdateRequest(thread=values.to_raw(), request_id=fresh())
        request.update_mask.paths.extend(path for path, value in {**known, **defaults}.items() if value is not None)
        request.thread_id, request.etag = (thread, "") if isinstance(thread, str) else (thread.thread_id, thread.etag)
        return Thread((self._call(self._threads.Update, request, timeout)).thread)

    def delete_thread(self, thread: Thread | str, *, timeout: float | None = None) -> None:
        """Removes the bookmark; exchanges stay, and so do threads forked from it. One that was read and changed meanwhile is refused."""
        request = thread_service_pb2.ThreadServiceDeleteRequest(request_id=fresh())
        request.thread_id, request.etag = (thread, "") if isinstance(thread, str) else (thread.thread_id, thread.etag)
        self._call(self._threads.Delete, request, timeout)

    def turns(self, thread_id: str, *, timeout: float | None = None) -> Iterator[Turn]:
        """The turns on a thread's path, first to last."""
        request = thread_service_pb2.ListTurnsRequest(thread_id=thread_id)
        for page in self._pages(self._threads.ListTurns, request, timeout):
            for turn in page.turns:
                yield Turn.of(turn)

    def restore(
        self,
        thread_id: str,
        to: Exchange | str,
        *,
        expected_head: Exchange | str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> Thread:
        """Moves a thread's head to an exchange on its path, or one that its head once was, and its documents to those that were there then. Nothing
        is lost: the way back is a restore, too. With `expected_head`, a thread that others moved is refused."""
        request = thread_service_pb2.RestoreRequest(
            thread_id=thread_id, to=exchange_point(to), request_id=request_id or fresh()
        )
        if expected_head:
            request.expected_head.exchange.CopyFrom(exchange_point(expected_head))
        return Thread((self._call(self._threads.Restore, request, timeout)).thread)

    def moves(self, thread_id: str, *, timeout: float | None = None) -> Iterator[Move]:
        """Where a thread's head was, the newest move first."""
        request = thread_service_pb2.ListMovesRequest(thread_id=thread_id)
        for page in self._pages(self._threads.ListMoves, request, timeout):
            for move in page.moves:
                yield Move.of(move)

    def run(self, run_id: str, *, timeout: float | None = None) -> Run:
        """Reads a run, with what it consumed."""
        request = run_service_pb2.RunServiceGetRequest(run_id=run_id)
        return Run((self._call(self._runs.Get, request, timeout)).run)

    def runs(
        self,
        *,
        states: Sequence[str] = (),
        thread_id: str = "",
        labels: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Iterator[Run]:
        """Runs by id: in one of these states, of this thread, with all these labels."""
        numbers = [run_pb2.RunState.ValueType(number(run_pb2.RunState.DESCRIPTOR, state)) for state in states]
        request = run_service_pb2.RunServiceListRequest(states=numbers, thread_id=thread_id, labels=labels)
        for page in self._pages(self._runs.List, request, timeout):
            for run in page.runs:
                yield Run(run)

    def cancel_run(self, run_id: str, *, timeout: float | None = None) -> Run:
        """Ends a run that is at work or waits for results. Ending one that has ended changes nothing."""
        request = run_service_pb2.RunServiceCancelRequest(run_id=run_id)
        return Run((self._call(self._runs.Cancel, request, timeout)).run)

    def watch(self, run_id: str, after_sequence: int = 0) -> Iterator[RunEvent]:
        """Follows a run until it is over, over connections that break: its states, each once, and what is told of its answer on the way.
        It only looks: leaving cancels nothing. After a break the text comes again, as `text_so_far`."""
        request = run_service_pb2.WatchRequest(run_id=run_id, after_sequence=after_sequence)
        tries = Tries(None, None)
        while True:
            try:
                for raw in self._runs.Watch(request, metadata=self._metadata):
                    request.after_sequence = max(request.after_sequence, raw.sequence)
                    yield _event(raw)
                return
            except grpc.RpcError as failed:
                pause = tries.pause(from_rpc(failed))
            sleep(pause)

    def coordination(self, coordination_id: str, *, timeout: float | None = None) -> Coordination:
        """Reads a coordination, with what it waits for."""
        request = coordination_service_pb2.CoordinationServiceGetRequest(coordination_id=coordination_id)
        return Coordination((self._call(self._coordinations.Get, request, timeout)).coordination)

    def coordinations(
        self,
        *,
        states: Sequence[str] = (),
        attached: bool | None = None,
        thread_id: str = "",
        labels: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Iterator[Coordination]:
        """Coordinations by id: in one of these states, with or without a stream, on this thread, with all these labels."""
        enum = coordination_pb2.CoordinationState
        numbers = [enum.ValueType(number(enum.DESCRIPTOR, state)) for state in states]
        request = coordination_service_pb2.CoordinationServiceListRequest(
            states=numbers, attached=attached, thread_id=thread_id, labels=labels
        )
        for page in self._pages(self._coordinations.List, request, timeout):
            for coordination in page.coordinations:
                yield Coordination(coordination)


def _event(raw: run_service_pb2.WatchResponse) -> RunEvent:
    which = raw.WhichOneof("event")
    if which == "run":
        return RunEvent(raw.sequence, which, Run(raw.run), "")
    if which == "text_so_far":
        return RunEvent(raw.sequence, which, None, raw.text_so_far.text)
    kind = raw.progress.WhichOneof("event") or "unknown"
    delta = Delta.of(raw.progress.delta)
    return RunEvent(raw.sequence, kind, None, delta.text if delta is not None and delta.kind == "text" else "")
