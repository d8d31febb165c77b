"""Single turns: prompts, replies, forks, probes, records, and answers read as they come. Each test runs with both clients."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
from antiphon.gen.antiphon.v1 import progress_pb2
from antiphon.testing import Server
from conftest import Connect, Record
from proxy import Proxy
from test_coordinate import fresh

from antiphon import (
    AsyncClient,
    Delta,
    Error,
    Facts,
    Message,
    NewThread,
    Request,
    ThreadPoint,
    ThreadTurn,
    Tool,
    ToolResult,
    Usage,
)


def weather(city: str) -> str:
    """The weather in a city."""
    return f"22 degrees in {city}"


def tide(city: str) -> str:
    return "high"


def names(tools: Any) -> list[str]:
    return [tool.name for tool in tools]


async def test_a_prompt_keeps_nothing_but_its_run(client: AsyncClient) -> None:
    """S0-28, S0-38."""
    answer = await client.prompt(Request("hello", tools=[weather]))
    assert answer.text == "hello" and not answer.captured and answer.exchange_id == ""
    assert answer.usage.completeness == "complete" and answer.setting("model") == "canned-1"
    run = await client.run(answer.run_id)
    assert (run.state, run.captured, run.exchange_id) == ("completed", False, "")
    kept = await client.prompt("hello", capture=True)
    assert kept.captured and (await client.inspect(kept)).exchange.text == "hello"


async def test_a_prompt_that_calls_tools_is_one_call(client: AsyncClient) -> None:
    """S0-28: nothing is resolved unless `chain` is asked."""
    answer = await client.prompt(Request("the forecast", tools=[weather, tide]))
    assert answer.stop_reason == "tool_calls" and [call.name for call in answer.tool_calls] == ["weather", "tide"]
    results = [ToolResult(call.call_id, "fine") for call in answer.tool_calls]
    assert (await client.reply(answer, results)).text == "Done."
    kept = await client.reply(answer, results, capture=True)
    assert kept.text == "Done." and kept.captured


async def test_a_reply_to_what_was_never_captured_keeps_its_context(client: AsyncClient) -> None:
    """S0-11, S0-12, S0-T4."""
    first = await client.prompt(Request("one", system="Be brief."))
    second = await client.reply(first, "two")
    assert not second.captured
    third = await client.reply(second, "three", capture=True)
    found = await client.inspect(third)
    said = [(message.role, message.text) for message in found.messages]
    assert said == [
        ("system", "Be brief."),
        *[(role, text) for text in ("one", "two", "three") for role in ("user", "assistant")],
    ]
    assert len(found.path) == 3, "each turn is an exchange of its own"
    # The prefix lands once, whatever is replied to it.
    other = await client.reply(second, "another", capture=True)
    assert other.parent_exchange_id == third.parent_exchange_id


async def test_a_reply_takes_the_tools_that_stand(client: AsyncClient) -> None:
    """S0-5, S0-6, S0-7, S0-T2, S0-T10: kept or not."""
    start = await client.capture(Request("one", tools=[weather]))
    inherited = await client.reply(start, "two")
    none = await client.reply(inherited, Request("three", tools=[]))
    other = await client.reply(none, Request("four", tools=[tide]))
    back = await client.reply(other, "five")
    assert [names(found.tools) for found in (start, inherited, none, other, back)] == [
        ["weather"],
        ["weather"],
        [],
        ["tide"],
        ["weather"],
    ]
    loose = await client.reply(await client.prompt(Request("one", tools=[weather])), Request("two", tools=[]))
    assert names((await client.reply(loose, "three", capture=True)).tools) == ["weather"]
    called = await client.reply(loose, "the forecast")
    assert called.tool_calls, "the tools of the first prompt were offered again"
    changed = await client.reply(start, Request("two", standing_tools=[tide]))
    assert names(changed.standing_tools) == ["tide"]


async def test_a_reply_may_go_to_another_model_and_keeps_the_history(client: AsyncClient) -> None:
    """S0-9, S0-10, S0-T3."""
    start = await client.capture(Request("one", profile_id="narrow"))
    same = await client.reply(start, Request("two", messages=[("user", "first")]))
    other = await client.reply(same, Request("three", profile_id="canned", model="canned-2"))
    assert [found.setting("profile_id") for found in (same, other)] == ["narrow", "canned"]
    assert other.setting("model") == "canned-2"
    assert [message.text for message in (await client.inspect(other)).messages if message.role == "user"] == [
        "one",
        "first",
        "two",
        "three",
    ]


async def test_what_cannot_be_is_said_before_any_call(client: AsyncClient) -> None:
    loose, kept = await client.prompt("one"), await client.capture("one")
    with pytest.raises(ValueError, match="fork_once"):
        await client.reply(kept, "two", capture=False)
    with pytest.raises(ValueError, match="capture"):
        await client.reply(loose, Request(prompt_id="greet"))
    with pytest.raises(ValueError, match="after"):
        client.stream([ToolResult("call", "result")])
    for refused in (client.fork(loose, "two"), client.fork_once(loose, "two"), client.continue_(loose, "two")):
        # S0-21, S0-T7: with the way out.
        with pytest.raises(Error, match="capture it, or use reply") as caught:
            await refused
        assert caught.value.reason == "NOT_CAPTURED" and caught.value.metadata["run_id"] == loose.run_id


async def test_a_changed_schema_is_a_warning_or_a_refusal(client: AsyncClient) -> None:
    """S0-36, S0-T11."""

    def changed(city: str, country: str) -> str:
        return "fine"

    start = await client.capture(Request("one", tools=[weather]))
    again = Tool(changed, name="weather")
    warned = await client.reply(start, Request("two", tools=[again]))
    assert [warning.code for warning in warned.warnings] == ["tool_schema_drift"] and "weather" in warned.warnings[0].message
    for refused in (
        client.reply(start, Request("two", tools=[again], on_tool_drift="refuse")),
        client.chain("two", [again], after=start, on_tool_drift="refuse"),
    ):
        with pytest.raises(Error) as caught:
            await refused
        assert caught.value.reason == "TOOL_SCHEMA_DRIFT" and caught.value.metadata["tool"] == "weather"
    # The warning of a chain's first call is there with its last.
    forecast = await client.chain("the forecast", [again, tide], after=start, on_tool_drift="warn")
    assert forecast.text == "Done." and "tool_schema_drift" in [warning.code for warning in forecast.warnings]


async def test_a_fork_is_a_thread_of_its_own(client: AsyncClient) -> None:
    """S0-15 to S0-20, S0-T5, S0-T6."""
    start = await client.capture(Request("one", profile_id="narrow", tools=[weather]))
    turn = await client.fork(start, Request("two", tools=[]), name="a try")
    assert turn.parent_exchange_id == start.exchange_id and names(turn.tools) == []
    thread = await client.thread(turn.thread_id)
    assert (thread.name, thread.head_exchange_id, thread.turn_count) == ("a try", turn.exchange_id, 2)
    assert turn.setting("profile_id") == "narrow", "the source's own, unless told otherwise"
    conversation = await client.fork(start, name="to drive")
    driven = await conversation.prompt("three")
    assert driven.parent_exchange_id == start.exchange_id and driven.setting("profile_id") == "narrow"
    other = await client.fork(ThreadTurn(turn.thread_id, after_turn=1), "four", thread=NewThread(profile_id="canned"))
    assert other.parent_exchange_id == start.exchange_id and other.setting("profile_id") == "canned"
    assert (await client.fork(ThreadTurn(turn.thread_id, after_run=turn.run_id), "five")).parent_exchange_id == turn.exchange_id
    with pytest.raises(ValueError, match="not both"):
        await client.fork(ThreadTurn("t", after_turn=1, after_run="r"), "six")


async def test_several_branches_run_at_once_and_one_that_fails_takes_no_other_along(client: AsyncClient) -> None:
    start = await client.capture("one")
    threads = [NewThread(fresh()), NewThread(fresh())]
    good, bad = await client.fork_all(start, ["two", "down for good"], threads=threads)
    assert good.exchange is not None and good.exchange.text == "two" and good.error is None
    assert bad.exchange is None and bad.error is not None and bad.error.reason == "PROVIDER_UNAVAILABLE"
    assert (await client.thread(bad.thread_id)).head_exchange_id == start.exchange_id
    (alone,) = await client.fork_all(start, ["down for good"])
    assert alone.error is not None and (await client.thread(alone.thread_id)).head_exchange_id == start.exchange_id
    with pytest.raises(ValueError, match="2 threads for 1"):
        await client.fork_all(start, ["two"], threads=threads)


async def test_the_same_fork_again_makes_no_second_one(client: AsyncClient) -> None:
    start, name = await client.capture("one"), fresh()
    request = Request("two", run_id=fresh())
    first, again = [await client.fork(start, request, request_id=name) for _ in range(2)]
    assert first.exchange_id == again.exchange_id and first.thread_id == again.thread_id


async def test_a_probe_leaves_nothing_and_may_be_kept(client: AsyncClient) -> None:
    start = await client.capture("one", thread=NewThread(fresh()))
    probe = await client.fork_once(start, "aside")
    assert probe.text == "aside" and [message.role for message in probe.messages] == ["user", "assistant"]
    with pytest.raises(Error) as caught:
        await client.run(probe.run_id)
    assert caught.value.reason == "RUN_NOT_FOUND"
    heard: list[str] = []
    thread = ThreadTurn(start.thread_id)
    again = await client.fork_once(thread, "slow", on_delta=lambda delta: heard.append(delta.text))
    assert "".join(heard) == again.text and len(heard) > 1
    recorded = await client.record(probe)
    assert recorded.stored == 1 and (await client.inspect(recorded.exchange_id)).path[0] == start.exchange_id
    wipe = Tool(weather, side_effects=True)
    with pytest.raises(Error) as caught:
        await client.fork_once(start, Request("aside", tools=[wipe]))
    assert caught.value.reason == "TOOL_NOT_ALLOWED"
    assert (await client.fork_once(start, Request("aside", tools=[wipe]), allow_side_effects=True)).text == "aside"


async def test_a_transcript_is_recorded_once(client: AsyncClient) -> None:
    """S0-12."""
    word = fresh()
    said = [Message.of("user", word), Message.of("assistant", "yes"), Message.of("user", "more"), Message.of("assistant", "no")]
    facts = [Facts(1, model="theirs-1", usage=Usage(3, 1), stop_reason="stop", tools=[weather])]
    first = await client.record(said, facts=facts, thread=NewThread(word), labels={"from": "import"})
    assert (first.stored, first.matched, first.thread_id) == (2, 0, word)
    again = await client.record([("user", word), ("assistant", "yes")])
    assert (again.stored, again.matched, again.exchange_id) == (0, 1, first.exchange_ids[0])
    found = (await client.inspect(first.exchange_ids[0], history=False)).exchange
    assert found.usage == Usage(3, 1, completeness="complete", reported=True) and names(found.tools) == ["weather"]
    assert found.labels == {"from": "import"}
    on = await client.record([("user", "third"), ("assistant", "maybe")], after=ThreadPoint(word))
    assert (await client.thread(word)).head_exchange_id == on.exchange_id
    aside = await client.record([("user", "third"), ("assistant", "perhaps")], after=first.exchange_ids[0])
    assert (await client.inspect(aside.exchange_id)).path == [first.exchange_ids[0], aside.exchange_id]


async def test_an_answer_is_read_as_it_comes(client: AsyncClient) -> None:
    response = client.stream("slow", thread=NewThread(fresh()))
    pieces = [delta.text async for delta in response]
    exchange = await response.result()
    assert "".join(pieces) == exchange.text and len(pieces) > 1 and response.run_id == exchange.run_id
    again = client.stream("slow", after=ThreadPoint(exchange.thread_id))
    assert (await again.result()).parent_exchange_id == exchange.exchange_id
    called = await client.capture(Request("the forecast", tools=[weather, tide]))
    results = [ToolResult(call.call_id, "fine") for call in called.tool_calls]
    assert (await client.stream(results, after=called).result()).text == "Done."
    with pytest.raises(ValueError, match="thread"):
        client.stream("x", after=exchange, thread=NewThread())


async def test_every_turn_can_be_heard(client: AsyncClient) -> None:
    heard: list[Delta] = []
    for asked in (
        client.prompt("slow", on_delta=heard.append),
        client.prompt("slow", capture=True, on_delta=heard.append),
        client.reply(await client.prompt("one"), "slow", on_delta=heard.append, timeout=30),
        client.reply(await client.capture("one"), "slow", on_delta=heard.append),
    ):
        heard.clear()
        answer = await asked
        assert "".join(delta.text for delta in heard) == answer.text and len(heard) > 1
    loose = await client.reply(await client.prompt("one"), "slow", on_delta=heard.append)
    assert [message.text for message in loose.messages] == ["slow"] and not loose.captured
    assert (await client.reply(loose, "{}", capture=True)).turn == 3


async def test_a_stored_answer_is_told_in_one_piece(client: AsyncClient) -> None:
    request = Request("slow", run_id=fresh())
    first = await client.capture(request)
    response = client.stream(request)
    assert "".join([delta.text async for delta in response]) == first.text
    assert (await response.result()).exchange_id == first.exchange_id


async def test_a_stream_that_breaks_is_joined_again_without_saying_anything_twice(connect: Connect, server: Server) -> None:
    proxy = Proxy(server.address)
    client = connect(proxy.address)
    pieces: list[str] = []
    response = client.stream(Request("slow", on_disconnect="finish"))
    async for delta in response:
        pieces.append(delta.text)
        if len(pieces) == 2:
            proxy.cut()
    exchange = await response.result()
    assert "".join(pieces) == exchange.text == "It took a while, and there is much to tell."
    assert len((await client.run(response.run_id)).raw.observations) == 1, "the model was called once"
    proxy.close()


async def test_a_stream_that_is_cancelled_ends_its_run(client: AsyncClient, record: Record) -> None:
    response = client.stream("slow")
    with pytest.raises(Error) as caught:
        async for _ in response:
            await response.cancel()
    assert caught.value.code is grpc.StatusCode.CANCELLED
    record.wait_run(response.run_id, "CANCELLED")


async def test_a_stream_that_is_left_ends_its_run_and_one_that_is_read_does_not(client: AsyncClient, record: Record) -> None:
    async with client.stream("slow") as left:
        async for _ in left:
            break
    record.wait_run(left.run_id, "CANCELLED")
    async with client.stream("slow") as read:
        assert (await read.result()).text
    record.wait_run(read.run_id, "COMPLETED")


async def test_a_stream_that_was_left_half_read_gives_its_result_all_the_same(client: AsyncClient) -> None:
    response, pieces = client.stream(Request("slow", on_disconnect="finish")), list[str]()
    async for delta in response:
        pieces.append(delta.text)
        break
    async for delta in response:
        pieces.append(delta.text)
    assert "".join(pieces) == (await response.result()).text


async def test_a_call_whose_connection_breaks_is_made_again_under_its_id(connect: Connect, server: Server, record: Record) -> None:
    proxy = Proxy(server.address)
    client, name = connect(proxy.address), fresh()
    asked = asyncio.create_task(client.capture(Request("hold", profile_id="narrow", run_id=name)))
    await asyncio.to_thread(record.wait_run, name, "RUNNING")
    proxy.cut()
    assert (await asked).text == "held" and (await asked).run_id == name
    start, branch = await client.capture("one"), fresh()
    request = Request("hold", profile_id="narrow", run_id=branch)
    forked = asyncio.create_task(client.fork(start, request, thread=NewThread(branch)))
    await asyncio.to_thread(record.wait_run, branch, "RUNNING")
    proxy.cut()
    assert ((await forked).text, (await forked).thread_id) == ("held", branch)
    proxy.close()


async def test_a_run_that_was_cancelled_is_opened_again_when_that_is_asked(connect: Connect, server: Server, record: Record) -> None:
    """S3-7. The wish outlives a connection that breaks."""
    proxy = Proxy(server.address)
    client, name = connect(proxy.address), fresh()
    with pytest.raises(Error):
        await client.capture(Request("hold", profile_id="narrow", run_id=name), timeout=0.1)
    await asyncio.to_thread(record.wait_run, name, "CANCELLED", "FAILED")
    with pytest.raises(Error) as caught:
        await client.capture(Request("hold", profile_id="narrow", run_id=name))
    assert caught.value.metadata["replayed"] == "true"
    again = asyncio.create_task(client.capture(Request("hold", profile_id="narrow", run_id=name, retry=True)))
    await asyncio.to_thread(record.wait_run, name, "RUNNING")
    proxy.cut()
    assert (await again).text == "held" and (await client.run(name)).attempt > 1
    proxy.close()


async def test_a_timeout_is_the_whole_calls(client: AsyncClient) -> None:
    with pytest.raises(Error) as caught:
        await client.capture(Request("hold", profile_id="narrow"), timeout=0.1)
    assert caught.value.code is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_words_that_a_newer_server_has_survive(client: AsyncClient) -> None:
    found = await client.capture("one")
    found.raw.stop_reason = 77  # pyright: ignore[reportAttributeAccessIssue]
    found.raw.validation.status = 78  # pyright: ignore[reportAttributeAccessIssue]
    found.raw.messages[0].role = 79  # pyright: ignore[reportAttributeAccessIssue]
    assert (found.stop_reason, found.validation, found.messages[0].role) == ("unknown_77", "unknown_78", "unknown_79")
    assert Message.of("unknown_79", "x").raw.role == 79
    # Field 9 is none of today's.
    assert Delta.of(progress_pb2.Delta.FromString(b"\x4a\x00")) is None
    with pytest.raises(ValueError, match="none of system, user"):
        Message.of("narrator", "x")

