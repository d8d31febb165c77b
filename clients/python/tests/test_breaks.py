"""What breaks: connections, servers, and the patience of the caller. No callback and no tool is called twice for one thing."""

from __future__ import annotations

import _thread
import asyncio
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from antiphon.testing import Server
from conftest import CONFIG, Connect, Record
from proxy import Proxy
from test_coordinate import Script, fresh

from antiphon import Action, AsyncClient, Cancellation, Client, Continue, Decision, Delta, Error, Stop, Suspend


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    made = Proxy(server.address)
    yield made
    made.close()


async def test_a_cut_while_the_callback_thinks_changes_nothing(connect: Connect, proxy: Proxy) -> None:
    client = connect(proxy.address)
    seen: list[tuple[str, str]] = []

    def cutting(decision: Decision) -> Action:
        seen.append((decision.decision_id, decision.exchange.text))
        proxy.cut()
        return Continue(f"turn {len(seen)}")

    assert (await client.coordinate(await client.capture("zero"), 2, cutting)).exhausted
    assert [text for _, text in seen] == ["zero", "turn 1", "turn 2"]
    assert len({decision_id for decision_id, _ in seen}) == 3


async def test_a_cut_in_a_turn_lets_it_finish(connect: Connect, proxy: Proxy) -> None:
    client = connect(proxy.address)
    heard: list[Delta] = []

    def cut_once(delta: Delta) -> None:
        if not heard:
            proxy.cut()
        heard.append(delta)

    script = Script(Continue("slow"), Stop())
    await client.coordinate(await client.capture("zero"), 1, script, on_delta=cut_once)
    assert script.texts == ["zero", "It took a while, and there is much to tell."]


async def test_a_cut_while_tools_run_calls_none_again(connect: Connect, proxy: Proxy) -> None:
    client = connect(proxy.address)
    called: Counter[str] = Counter()

    def weather(city: str) -> str:
        called["weather"] += 1
        return "fine"

    def tide(city: str) -> str:
        called["tide"] += 1
        proxy.cut()
        return "high"

    assert (await client.chain("the forecast", [weather, tide])).text == "Done."
    assert called == {"weather": 1, "tide": 1}


async def test_a_failure_of_the_callback_is_told_after_a_cut(connect: Connect, proxy: Proxy, record: Record) -> None:
    client, name, raised = connect(proxy.address), fresh(), ValueError("no")

    def fails(decision: Decision) -> Action:
        proxy.cut()
        raise raised

    with pytest.raises(ValueError) as caught:
        await client.coordinate(await client.capture("zero"), 1, fails, coordination_id=name)
    assert caught.value is raised and record.state(name) == "FAILED"


async def test_a_hook_that_fails_as_the_connection_is_cut_still_ends_it(connect: Connect, proxy: Proxy, record: Record) -> None:
    client, name, raised = connect(proxy.address), fresh(), OSError("the terminal is gone")

    def fails(delta: Delta) -> None:
        proxy.cut()
        raise raised

    with pytest.raises(OSError) as caught:
        start = await client.capture("zero")
        await client.coordinate(start, 1, Script(Continue("slow")), on_delta=fails, coordination_id=name)
    assert caught.value is raised and record.state(name) == "CANCELLED"


async def test_a_server_that_stays_away_is_an_error_in_the_end(connect: Connect, server: Server) -> None:
    proxy = Proxy(server.address)
    client = connect(proxy.address, attach_for=0.3)

    def gone(decision: Decision) -> Action:
        proxy.close()
        return Stop()

    with pytest.raises(Error) as caught:
        await client.coordinate(await client.capture("zero"), 1, gone)
    assert caught.value.code is grpc.StatusCode.UNAVAILABLE


async def test_a_server_that_crashes_between_decision_and_answer_goes_on(connect: Connect, tmp_path: Path) -> None:
    servers = [Server(config=CONFIG, data=tmp_path).start()]
    proxy = Proxy(servers[0].address)
    client = connect(proxy.address)
    seen: list[str] = []

    def restart(decision: Decision) -> Action:
        seen.append(decision.exchange.text)
        if len(seen) == 2:
            servers.pop().kill()
            servers.append(Server(config=CONFIG, data=tmp_path).start())
            proxy.target = servers[0].address
        return Continue(f"turn {len(seen)}")

    try:
        assert (await client.coordinate(await client.capture("zero"), 2, restart)).exhausted
        assert seen == ["zero", "turn 1", "turn 2"]
    finally:
        servers[0].stop()
        proxy.close()


async def test_a_crash_in_a_turn_consumes_it_and_asks_again(connect: Connect, tmp_path: Path) -> None:
    servers = [Server(config=CONFIG, data=tmp_path).start()]
    proxy = Proxy(servers[0].address)
    client = connect(proxy.address)
    crashed: list[Delta] = []

    def crash(delta: Delta) -> None:
        if not crashed:
            servers.pop().kill()
            servers.append(Server(config=CONFIG, data=tmp_path).start())
            proxy.target = servers[0].address
        crashed.append(delta)

    script = Script(Continue("slow"), Continue("again"), Stop())
    try:
        await client.coordinate(await client.capture("zero"), 2, script, on_delta=crash)
        assert script.texts == ["zero", "zero", "again"]
        assert script.seen[1].interrupted_run_id and script.seen[1].turns_remaining == 1
    finally:
        servers[0].stop()
        proxy.close()


async def test_a_server_that_stops_in_good_order_says_so_and_the_answer_is_kept(tmp_path: Path) -> None:
    first = Server(config=CONFIG, data=tmp_path).start()
    proxy = Proxy(first.address)
    name, seen = fresh(), list[str]()

    async def stopping(decision: Decision) -> Action:
        seen.append(decision.exchange.text)
        if len(seen) == 1:
            await asyncio.to_thread(first.stop)
            return Continue("one")
        return Stop()

    async with AsyncClient(proxy.address) as client:
        with pytest.raises(Error) as caught:
            await client.coordinate(await client.capture("zero"), 1, stopping, coordination_id=name)
        assert (caught.value.code, caught.value.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
        with Server(config=CONFIG, data=tmp_path) as second:
            proxy.target = second.address
            assert (await client.attach(name, stopping)).state == "stopped"
    assert seen == ["zero", "one"], "the first decision was answered with what the callback had said"
    proxy.close()


def test_the_blocking_client_says_so_too(tmp_path: Path) -> None:
    first = Server(config=CONFIG, data=tmp_path).start()
    proxy = Proxy(first.address)
    name, seen = fresh(), list[str]()

    def stopping(decision: Decision) -> Action:
        seen.append(decision.exchange.text)
        if len(seen) == 1:
            first.stop()
            return Continue("one")
        return Stop()

    with Client(proxy.address) as client:
        with pytest.raises(Error) as caught:
            client.coordinate(client.capture("zero"), 1, stopping, coordination_id=name)
        assert (caught.value.code, caught.value.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
        with Server(config=CONFIG, data=tmp_path) as second:
            proxy.target = second.address
            assert client.attach(name, stopping).state == "stopped"
    assert seen == ["zero", "one"]
    proxy.close()


async def test_a_cancellation_ends_it_from_anywhere(client: AsyncClient, record: Record) -> None:
    """S4-68, S4-71."""
    name, cancellation = fresh(), Cancellation()

    def cancelled(decision: Decision) -> Action:
        other = threading.Thread(target=cancellation.cancel, args=("enough",))
        other.start()
        other.join()
        return Continue("never")

    with pytest.raises(Error) as caught:
        await client.coordinate(
            await client.capture("zero"), 1, cancelled, coordination_id=name, cancellation=cancellation
        )
    assert caught.value.code is grpc.StatusCode.CANCELLED
    assert record.state(name) == "CANCELLED" and record.get(name).turns_started == 0
    with pytest.raises(Error) as early:
        await client.coordinate("unused", 1, Script(), cancellation=cancellation)
    assert early.value.code is grpc.StatusCode.CANCELLED


async def test_no_callback_is_made_once_it_is_cancelled(client: AsyncClient, record: Record) -> None:
    """S4-68, S4-72: the pending decision is told again to whoever attaches, and is not passed on."""
    name, cancellation = fresh(), Cancellation()
    await client.coordinate(await client.capture("zero"), 1, Script(Suspend()), coordination_id=name)
    cancellation.cancel()
    never = Script()
    with pytest.raises(Error) as caught:
        await client.attach(name, never, cancellation=cancellation)
    assert caught.value.code is grpc.StatusCode.CANCELLED and never.seen == []
    assert record.state(name) == "CANCELLED"


async def test_a_cancellation_in_a_turn_stops_it(client: AsyncClient, record: Record) -> None:
    name, cancellation = fresh(), Cancellation()
    script = Script(Continue("slow"))
    with pytest.raises(Error) as caught:
        await client.coordinate(
            await client.capture("zero"),
            1,
            script,
            on_delta=lambda delta: cancellation.cancel(),
            coordination_id=name,
            cancellation=cancellation,
        )
    assert caught.value.code is grpc.StatusCode.CANCELLED and script.texts == ["zero"]
    assert record.state(name) == "CANCELLED"


async def test_it_is_cancelled_by_its_id(client: AsyncClient, record: Record) -> None:
    name = fresh()
    await client.coordinate(await client.capture("zero"), 1, Script(Suspend()), coordination_id=name)
    await client.cancel(name, "no longer needed")
    assert record.state(name) == "CANCELLED"
    with pytest.raises(Error) as caught:
        await client.attach(name, Script())
    assert caught.value.code is grpc.StatusCode.CANCELLED


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits for the frame that cancels to be heard, so that a call of its own cannot stand in for it."""
    for kind in ("_async", "_sync"):
        monkeypatch.setattr(f"antiphon.{kind}.coordinate.CANCEL_WAIT", 600.0)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("where", ["callback", "turn"])
async def test_a_cancelled_task_cancels_the_coordination(server: Server, record: Record, where: str) -> None:
    name, reached = fresh(), asyncio.Event()

    async def think(decision: Decision) -> Action:
        if where == "callback":
            reached.set()
            await asyncio.Event().wait()
        return Continue("slow")

    async with AsyncClient(server.address) as client:
        start = await client.capture("zero")
        running = client.coordinate(start, 1, think, on_delta=lambda delta: reached.set(), coordination_id=name)
        task = asyncio.create_task(running)
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert record.state(name) == "CANCELLED"


@pytest.fixture
def keyboard() -> Iterator[None]:
    """Ctrl-C does what it does on a terminal, also where the tests were started with SIGINT ignored, as shells do in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("keyboard", "patient")
@pytest.mark.parametrize("where", ["callback", "turn"])
def test_an_interrupt_from_the_keyboard_cancels_the_coordination(server: Server, record: Record, where: str) -> None:
    name, reached = fresh(), threading.Event()

    def think(decision: Decision) -> Action:
        if where == "callback":
            raise KeyboardInterrupt
        return Continue("slow")

    def interrupt() -> None:
        reached.wait()
        _thread.interrupt_main()

    waiting = threading.Thread(target=interrupt, daemon=True)
    waiting.start()
    with Client(server.address) as client, pytest.raises(KeyboardInterrupt):
        start = client.capture("zero")
        client.coordinate(start, 1, think, on_delta=lambda delta: reached.set(), coordination_id=name)
    assert record.state(name) == "CANCELLED"


def test_an_interrupt_is_told_over_another_connection_when_the_stream_is_cut(proxy: Proxy, record: Record) -> None:
    name = fresh()

    def cut(decision: Decision) -> Action:
        proxy.cut()
        raise KeyboardInterrupt

    with Client(proxy.address) as client, pytest.raises(KeyboardInterrupt):
        client.coordinate(client.capture("zero"), 1, cut, coordination_id=name)
    assert record.state(name) == "CANCELLED"
