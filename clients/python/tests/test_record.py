"""What is on record, and conversations on threads. Each test runs with both clients."""

from __future__ import annotations

import asyncio

import pytest
from antiphon.testing import Server
from conftest import Connect, Record
from proxy import Proxy
from test_coordinate import Script, fresh
from test_turns import names, tide, weather

from antiphon import (
    AsyncClient,
    Continue,
    Error,
    NewThread,
    Outcome,
    Pause,
    Request,
    Stop,
    Suspend,
    ThreadPoint,
    Tool,
    ToolCall,
    ToolResult,
)


async def test_a_conversation_goes_on_turn_by_turn(client: AsyncClient) -> None:
    """S0-1, S0-2, S0-3."""
    conversation = await client.conversation(NewThread(fresh(), name="a talk", profile_id="canned"))
    first = await conversation.prompt("one")
    second = await conversation.prompt(Request("two", run_id=fresh()), expected_head=first.exchange_id)
    assert second.parent_exchange_id == first.exchange_id and second.thread_id == conversation.thread_id
    with pytest.raises(Error) as caught:
        await conversation.prompt("three", expected_head=first.exchange_id)
    assert caught.value.reason == "HEAD_MOVED" and caught.value.metadata["head_exchange_id"] == second.exchange_id
    found = [turn async for turn in client.turns(conversation.thread_id)]
    assert [(turn.number, turn.user, turn.assistant, turn.stop_reason) for turn in found] == [
        (1, "one", "one", "stop"),
        (2, "two", "two", "stop"),
    ]
    branch = await conversation.fork(name="another way", after_turn=1)
    turned = await branch.prompt("three")
    assert turned.parent_exchange_id == first.exchange_id
    assert (await client.thread(branch.thread_id)).parent_thread_id == conversation.thread_id
    assert (await conversation.fork_once("aside")).text == "aside"
    assert (await client.thread(conversation.thread_id)).head_exchange_id == second.exchange_id


async def test_its_tools_and_hooks_stay_in_force(client: AsyncClient) -> None:
    """S0-2, S0-5, S0-7, S0-13."""
    before: list[str] = []
    conversation = await client.conversation(tools=[weather, tide], before_call=lambda call: before.append(call.name))
    first = await conversation.chain("the forecast")
    second = await conversation.chain("the forecast")
    assert (first.text, second.text, second.turn) == ("Done.", "Done.", 2) and sorted(before) == ["tide", "tide", "weather", "weather"]
    called = await conversation.prompt("the forecast")
    assert called.tool_calls, "a plain prompt resolves nothing"
    answered = await conversation.prompt([ToolResult(call.call_id, "by hand") for call in called.tool_calls])
    assert answered.text == "Done."
    once = await conversation.chain("hello", [])
    assert names(once.tools) == [] and names(once.standing_tools) == ["weather", "tide"]
    again = await client.conversation(conversation.thread_id, tools=[tide])
    assert names((await again.prompt("hello")).tools) == ["tide"]
    limited = await conversation.chain("endless", chain_limit=1)
    assert limited.tool_calls


async def test_a_chain_goes_on_from_anything(client: AsyncClient) -> None:
    """S0-13, S0-26."""
    start = await client.capture("one", thread=NewThread(fresh()))
    chained = await client.chain("the forecast", [weather, tide], after=start)
    assert chained.text == "Done." and chained.turn == 2
    assert (await client.reply(chained, "three")).parent_exchange_id == chained.exchange_id
    loose = await client.reply(await client.prompt("one"), "two")
    kept = await client.chain("the forecast", [weather, tide], after=loose)
    assert kept.turn == 3
    fleeting = await client.chain("the forecast", [weather, tide], ephemeral=True)
    assert not fleeting.captured and [message.role for message in fleeting.messages] == ["tool"]
    last = await client.reply(fleeting, "more")
    assert not last.captured and last.text == "more"
    stored = await client.reply(last, "kept", capture=True)
    told = [message.text for message in (await client.inspect(stored)).messages if message.role == "user"]
    assert told == ["the forecast", "more", "kept"]
    aside = await client.chain("more", after=start, ephemeral=True)
    with pytest.raises(Error, match="nobody"):
        await client.reply(aside, "again")


async def test_a_chain_waits_for_a_person_and_goes_on_elsewhere(client: AsyncClient, connect: Connect, server: Server) -> None:
    """S3-27 to S3-31: the answer comes later, and what is done is not done again."""
    called: list[str] = []

    def ask(city: str) -> str:
        called.append("weather")
        raise Pause

    def count(city: str) -> str:
        called.append("tide")
        return "high"

    name = fresh()
    human = Tool(ask, name="weather", requires_human=True)
    with pytest.raises(Pause) as paused:
        await client.chain("the forecast", [human, Tool(count, name="tide")], coordination_id=name)
    assert paused.value.coordination_id == name and [call.name for call in paused.value.calls] == ["weather"]
    waiting = await client.coordination(name)
    assert waiting.state == "awaiting_tools" and [call.name for call in waiting.tool_calls] == ["weather"]
    elsewhere = connect(server.address)

    def answered(city: str) -> str:
        return f"a person looked out of the window in {city}"

    result = await elsewhere.resume(name, [Tool(answered, name="weather"), Tool(count, name="tide")])
    assert result.text == "Done." and sorted(called) == ["tide", "weather"]


async def test_a_cut_while_a_call_is_put_off_asks_nobody_twice(connect: Connect, server: Server) -> None:
    proxy = Proxy(server.address)
    client, called = connect(proxy.address), list[str]()

    def ask(city: str) -> str:
        called.append(city)
        proxy.cut()
        raise Pause

    with pytest.raises(Pause) as paused:
        await client.chain("the forecast", [Tool(ask, name="weather"), tide])
    assert called == ["Lisbon"] and [call.name for call in paused.value.calls] == ["weather"]
    await client.cancel(paused.value.coordination_id)
    proxy.close()


async def test_an_answer_by_id_needs_no_stream(client: AsyncClient, record: Record) -> None:
    """S3-29."""
    name = fresh()

    def later(call: ToolCall) -> None:
        raise Pause

    with pytest.raises(Pause) as paused:
        await client.chain("the forecast", [weather, tide], before_call=later, coordination_id=name)
    batch = (await client.coordination(name)).pending_id
    results = [ToolResult(call.call_id, "fine") for call in paused.value.calls]
    await client.answer(name, results[:1], pending_id=batch)
    await client.answer(name, results[1:])
    await asyncio.to_thread(record.wait, name, "AWAITING_DECISION")
    assert (await client.resume(name)).text == "Done."
    start = await client.capture("one")
    await client.coordinate(start, 1, Script(Suspend()), coordination_id=(other := fresh()))
    assert (await client.answer(other, Stop())).state == "stopped"
    with pytest.raises(ValueError, match="suspend"):
        await client.answer(other, Suspend(), pending_id="any")


async def test_a_chain_that_never_began_says_so(client: AsyncClient) -> None:
    start, name = await client.capture("one"), fresh()
    await client.coordinate(start, 1, Script(Suspend()), coordination_id=name)
    with pytest.raises(Error, match="had not begun"):
        await client.resume(name)
    script = Script(Continue("two"), Stop())
    assert await client.attach(name, script) == Outcome("stopped", name)


async def test_threads_are_made_changed_listed_and_removed(client: AsyncClient) -> None:
    word, start = fresh(), await client.capture("one")
    made = await client.create_thread(NewThread(word, name="old", labels={"kind": word}, metadata={"a": 1}), start)
    assert made.head_exchange_id == start.exchange_id and made.metadata == {"a": 1}
    changed = await client.update_thread(made, name="new", metadata={"b": 12345678901234567890})
    assert (changed.name, changed.labels, changed.metadata) == ("new", {"kind": word}, {"b": 12345678901234567890})
    with pytest.raises(Error) as caught:
        await client.update_thread(made, name="late")
    assert caught.value.reason == "ETAG_MISMATCH"
    assert (await client.update_thread(word, labels={}, profile_id="narrow")).labels == {}
    assert (await client.continue_(ThreadPoint(word, start.exchange_id, on_busy="enqueue"), "two")).setting("profile_id") == "narrow"
    await client.create_thread(NewThread(f"{word}-2", labels={"kind": word}))
    await client.update_thread(word, labels={"kind": word})
    assert [thread.thread_id async for thread in client.threads({"kind": word})] == [word, f"{word}-2"]
    await client.delete_thread(word)
    with pytest.raises(Error) as caught:
        await client.thread(word)
    assert caught.value.reason == "THREAD_NOT_FOUND"


async def test_runs_are_read_listed_watched_and_ended(client: AsyncClient) -> None:
    word = fresh()
    done = await client.capture(Request("slow", run_id=f"{word}-1", labels={"kind": word}))
    with pytest.raises(Error):
        await client.capture(Request("down for good", run_id=f"{word}-2", labels={"kind": word}), timeout=0.2)
    run = await client.run(done.run_id)
    assert (run.state, run.attempt, run.exchange_id, run.labels) == ("completed", 1, done.exchange_id, {"kind": word})
    assert run.usage.completeness == "complete" and run.usage.output_tokens and run.error is None
    failed = [found async for found in client.runs(states=["failed"], labels={"kind": word})]
    assert [found.run_id for found in failed] == [f"{word}-2"]
    assert failed[0].error is not None and failed[0].error.reason == "PROVIDER_UNAVAILABLE"
    assert len([found async for found in client.runs(labels={"kind": word})]) == 2
    events = [event async for event in client.watch(done.run_id)]
    assert [event.run.state for event in events if event.run is not None] == ["running", "completed"]
    assert len([event async for event in client.watch(done.run_id, events[0].sequence)]) == 1
    called = await client.capture(Request("the forecast", tools=[weather, tide]))
    assert (await client.cancel_run(called.run_id)).state == "cancelled"
    with pytest.raises(ValueError, match="none of queued"):
        [found async for found in client.runs(states=["asleep"])]


async def test_coordinations_are_listed_by_what_they_wait_for(client: AsyncClient) -> None:
    word, start = fresh(), await client.capture("one")
    for number, action in enumerate((Suspend(), Stop())):
        name = f"{word}-{number}"
        await client.coordinate(start, 1, Script(action), coordination_id=name, labels={"kind": word})
    waiting = [found async for found in client.coordinations(states=["awaiting_decision"], labels={"kind": word})]
    assert [(found.coordination_id, found.attached, found.turns_remaining) for found in waiting] == [(f"{word}-0", False, 1)]
    assert len([found async for found in client.coordinations(labels={"kind": word})]) == 2
    await client.cancel(f"{word}-0")


async def test_a_long_history_comes_in_pages_and_whole(client: AsyncClient) -> None:
    said = [(("user", "assistant")[number % 2], f"{number}") for number in range(500)]
    recorded = await client.record(said)  # pyright: ignore[reportArgumentType]
    found = await client.inspect(recorded.exchange_id)
    assert [message.text for message in found.messages] == [text for _, text in said]
    assert found.path == recorded.exchange_ids and found.exchange.turn == 250
    assert (await client.inspect(recorded.exchange_id, history=False)).messages == []
