"""What every test has: a real server with scripted answers, and both clients behind one face."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, cast

import grpc
import pytest
from antiphon.gen.antiphon.v1 import coordination_pb2 as pb
from antiphon.gen.antiphon.v1 import coordination_service_pb2, run_pb2, run_service_pb2
from antiphon.gen.antiphon.v1.coordination_service_pb2_grpc import CoordinationServiceStub
from antiphon.gen.antiphon.v1.run_service_pb2_grpc import RunServiceStub
from antiphon.testing import Server

from antiphon import AsyncClient, Client, Conversation, Documents, DocumentStream, Response

CONFIG = '''
default_profile = "canned"

[profiles.canned]
backend = "script"
model = "canned-1"

[profiles.narrow]
backend = "narrow"
model = "canned-1"

[profiles.ours]
backend = "ours"
model = "ours-1"

[backends.ours]
kind = "client"
retry = { attempts = 1 }

[backends.script]
kind = "scripted"
retry = { attempts = 1 }
chunk_chars = 4

[[backends.script.rules]]
when = "down for good"
fault = { kind = "status", status = 503, message = "down" }

[[backends.script.rules]]
when = "down once"
times = 1
fault = { kind = "status", status = 503, message = "down" }

[[backends.script.rules]]
when = "in its form"
text = "I would rather not."
delay_ms = 50

[[backends.script.rules]]
when = "the form that was asked for"
text = """
```json
{"good": true}
```
"""
delay_ms = 50

[[backends.script.rules]]
when = "slow"
text = "It took a while, and there is much to tell."
chunk_gap_ms = 50

[[backends.script.rules]]
when = "forecast"
on = "user"
tool_calls = [{ name = "weather", arguments = { city = "Lisbon" } }, { name = "tide", arguments = { city = "Lisbon" } }]

[[backends.script.rules]]
when = "forecast"
on = "tool"
text = "Done."

[[backends.script.rules]]
when = "endless"
on = "any"
tool_calls = [{ name = "weather", arguments = { city = "Lisbon" } }]

[[backends.script.rules]]
text = "{last_user}"

[backends.narrow]
kind = "scripted"
capacity = 1
queue_limit = 1

[[backends.narrow.rules]]
when = "hold"
text = "held"
delay_ms = 500
'''


class Threaded:
    """The blocking client with the face of the other one: each method runs in a thread, callbacks included. So do those of the conversations,
    responses and documents that it gives."""

    def __init__(self, client: Client | Conversation | Response[Any] | Documents | DocumentStream) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if isinstance(method, Documents):
            return Threaded(method)
        if not inspect.ismethod(method):
            return method

        def step(*arguments: Any, **options: Any) -> AsyncIterator[Any]:
            bare = [given._client if isinstance(given, Threaded) else given for given in arguments]
            return _stepwise(method(*bare, **options))

        def stream(*arguments: Any, **options: Any) -> Threaded:
            return Threaded(method(*arguments, **options))

        async def call(*arguments: Any, **options: Any) -> Any:
            if arguments and name == "write_stream":
                arguments = (arguments[0], await _whole(arguments[1]))
            given: Any = await asyncio.to_thread(method, *arguments, **options)
            return Threaded(given) if isinstance(given, Conversation | DocumentStream) else given

        if inspect.isgeneratorfunction(method):
            return step
        at_once = ("stream", "with_provider_credential", "workspace", "documents", "after_turn", "after_run")
        return stream if name in at_once else call

    def __aiter__(self) -> AsyncIterator[Any]:
        return _stepwise(iter(cast(Response[Any], self._client)))

    async def __aenter__(self) -> Threaded:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(cast(Response[Any], self._client).__exit__)


async def _whole(source: Any) -> Any:
    """Pieces that come one by one, as the blocking client takes them."""
    return [piece async for piece in source] if hasattr(source, "__aiter__") else source


async def _stepwise(items: Iterator[Any]) -> AsyncIterator[Any]:
    """Each item, waited for in a thread."""
    end = object()
    while (item := await asyncio.to_thread(next, items, end)) is not end:
        yield item


Connect = Callable[..., AsyncClient]


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server(config=CONFIG) as running:
        yield running


@pytest.fixture(params=["async", "sync"])
async def connect(request: pytest.FixtureRequest) -> AsyncIterator[Connect]:
    """Makes clients of either kind; each test runs with both."""
    made: list[AsyncClient] = []

    def make(address: str, **options: Any) -> AsyncClient:
        client = AsyncClient(address, **options) if request.param == "async" else Threaded(Client(address, **options))
        made.append(cast(AsyncClient, client))
        return made[-1]

    yield make
    for client in made:
        await client.close()


@pytest.fixture
async def client(connect: Connect, server: Server) -> AsyncClient:
    return connect(server.address)


class Record:
    """What the server has on record of coordinations, read past the client."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.insecure_channel(address)
        self._stub = CoordinationServiceStub(self._channel)
        self._runs = RunServiceStub(self._channel)

    def close(self) -> None:
        self._channel.close()

    def get(self, coordination_id: str) -> pb.Coordination:
        request = coordination_service_pb2.CoordinationServiceGetRequest(coordination_id=coordination_id)
        return self._stub.Get(request).coordination

    def cancel(self, coordination_id: str) -> None:
        self._stub.Cancel(coordination_service_pb2.CoordinationServiceCancelRequest(coordination_id=coordination_id))

    def state(self, coordination_id: str) -> str:
        return pb.CoordinationState.Name(self.get(coordination_id).state).removeprefix("COORDINATION_STATE_")

    def wait(self, coordination_id: str, *states: str) -> None:
        """Until it is in one of these states."""
        _until(lambda: self.state(coordination_id), *states)

    def wait_run(self, run_id: str, *states: str) -> None:
        """Until a run is in one of these states. One that is not there yet has nothing to follow."""
        _until(lambda: self._run_state(run_id), *states)

    def _run_state(self, run_id: str) -> str:
        try:
            run = self._runs.Get(run_service_pb2.RunServiceGetRequest(run_id=run_id)).run
        except grpc.RpcError:
            return "UNKNOWN"
        return run_pb2.RunState.Name(run.state).removeprefix("RUN_STATE_")


def _until(state: Callable[[], str], *states: str) -> None:
    # Asks again and again: only the attached stream is told of a coordination, and the test must not take it over.
    until = time.monotonic() + 10
    while (found := state()) not in states:
        assert time.monotonic() < until, f"it is still {found}"
        time.sleep(0.01)


@pytest.fixture
def record(server: Server) -> Iterator[Record]:
    made = Record(server.address)
    yield made
    made.close()
