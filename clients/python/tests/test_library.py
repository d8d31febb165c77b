"""The graph, what is on record of tools, what is configured, and what would be sent. Each test runs with both clients."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta, timezone
from typing import TypeVar

import grpc
import pytest
from antiphon.testing import Server
from conftest import Connect
from test_coordinate import fresh
from test_turns import names, tide, weather

from antiphon import AsyncClient, Error, NewThread, Request, Subtree, ThreadPath, ThreadPoint, ThreadTree, Tool, ToolResult

Item = TypeVar("Item")
CONFIG = """
prompts_dir = "prompts"
contracts_dir = "contracts"
default_profile = "canned"

[profiles.canned]
backend = "script"
model = "canned-1"
parameters = { temperature = 0.5 }

[backends.script]
kind = "scripted"
capacity = 3

[[backends.script.rules]]
text = "{last_user}"
usage = { input_tokens = 10, output_tokens = 5 }
"""
FILES = {
    "prompts/greet.prompt": "---\ndescription: Greets\nvariables:\n  - { name: name }\n  - { name: tone, default: kind }\n---\nI am {{ name }}, {{ tone }}.",
    "contracts/verdict.json": '{"description": "Yes or no", "type": "object"}',
}


@pytest.fixture(scope="module")
def configured() -> Iterator[Server]:
    with Server(config=CONFIG, files=FILES) as running:
        yield running


async def read(items: AsyncIterator[Item]) -> list[Item]:
    return [item async for item in items]


async def test_the_graph_is_walked_compared_and_drawn(client: AsyncClient) -> None:
    trunk = fresh()
    root = await client.capture("one", thread=NewThread(trunk))
    left = await client.continue_(ThreadPoint(trunk), Request("left", labels={"side": trunk}))
    right = await client.reply(root, Request("right", model="canned-2"))
    deeper = await client.reply(right, Request("deeper", tools=[weather]))

    above = await read(client.ancestors(deeper))
    assert [node.exchange_id for node in above] == [right.exchange_id, root.exchange_id]
    assert (above[0].user, above[0].assistant, above[0].model, above[0].turn) == ("right", "right", "canned-2", 2)
    assert [node.exchange_id for node in await read(client.children(root))] == [left.exchange_id, right.exchange_id]
    common = await client.common_ancestor([left, deeper.exchange_id])
    assert common is not None and common.exchange_id == root.exchange_id and common.child_count == 2
    assert await client.common_ancestor([left, await client.capture("alone")]) is None

    found = await client.diff(left, deeper)
    assert (found.common_ancestor_exchange_id, found.left_count, found.right_count) == (root.exchange_id, 1, 2)
    said = [(change.kind, change.left and change.left.text, change.right and change.right.text) for change in found.messages]
    assert said == [
        ("changed", "left", "right"),
        ("changed", "left", "right"),
        ("added", None, "deeper"),
        ("added", None, "deeper"),
    ]
    models = {change.name: (change.left, change.right) for change in found.settings}
    assert models["model"] == ("canned-1", "canned-2")
    (tool,) = found.tools
    assert (tool.name, tool.kind, tool.left) == ("weather", "added", None) and tool.right is not None

    tree = await client.graph(ThreadTree(trunk), "mermaid", previews=True)
    assert "deeper" in tree and "left" in tree
    path = await client.graph(ThreadPath(trunk), previews=True)
    assert "left" in path and "deeper" not in path
    assert "digraph" in await client.graph(Subtree(right, max_steps=1), "dot", detail="exchanges")


async def test_what_is_on_record_is_found(client: AsyncClient) -> None:
    label = {"story": fresh()}
    root = await client.capture(Request("A needle in the hay", labels=label))
    hay = await client.reply(root, Request("the forecast", labels=label, tools=[weather, tide]))
    hits = await read(client.search("NEEDLE", scope=Subtree(root)))
    assert [hit.run_id for hit in hits] == [root.run_id] and "needle" in hits[0].snippet.lower()
    assert hits[0].exchange is not None and hits[0].exchange.labels == label and hits[0].run_state == "completed"
    assert [hit.run_id for hit in await read(client.search(labels=label))] == [hay.run_id, root.run_id]
    called = await read(client.search(labels=label, called_tools=["tide"], states=["pending_tools"]))
    assert [hit.run_id for hit in called] == [hay.run_id]
    now = datetime.now(timezone.utc)
    assert await read(client.search(labels=label, before=now - timedelta(hours=1))) == []
    assert len(await read(client.search(labels=label, since=now - timedelta(hours=1), roots_only=True))) == 1


async def test_shared_work_is_counted_once(connect: Connect, configured: Server) -> None:
    """S4-83."""
    client, label = connect(configured.address), {"story": fresh()}
    root = await client.capture(Request("one", labels=label))
    left, right = [await client.reply(root, Request(text, labels=label)) for text in ("left", "right")]
    path, both = await client.usage(left), await client.usage(left, right)
    assert (path.run_count, path.usage.input_tokens, path.usage.output_tokens) == (2, 20, 10)
    assert (both.run_count, both.usage.input_tokens) == (3, 30)
    assert (await client.usage(labels=label)).usage == both.usage
    assert (await client.usage(runs=[root.run_id, left.run_id])).run_count == 2
    (model,) = both.models
    assert (model.backend_id, model.model, model.calls) == ("script", "canned-1", 3) and both.costs == {}


async def test_which_tools_calls_had_is_on_record(client: AsyncClient) -> None:
    """S0-32, S0-33, S0-36."""
    name = f"t{fresh()[5:13]}"

    def old(city: str) -> str:
        return city

    def new(place: str) -> str:
        return place

    first = await client.capture(Request("one", tools=[Tool(old, name=name), tide], tool_choice="none"))
    found = await client.call_tools(first)
    assert (names(found.offered), names(found.standing), found.called) == ([name, "tide"], [name, "tide"], [])
    assert (found.tool_choice, found.drifts) == ("none", [])
    second = await client.reply(first, Request("two", tools=[Tool(new, name=name)]))
    occurrences = await read(client.tool_occurrences(name))
    assert [occurrence.exchange_id for occurrence in occurrences] == [second.exchange_id, first.exchange_id]
    only = await read(client.tool_occurrences(name, schema_hash=first.tools[0].schema_hash, scope=second))
    assert [occurrence.run_id for occurrence in only] == [first.run_id] and only[0].offered and not only[0].call_ids
    (drift,) = await read(client.tool_drifts(second, name))
    assert (drift.name, drift.previous_exchange_id, drift.exchange_id) == (name, first.exchange_id, second.exchange_id)
    assert drift.previous.schema["required"] == ["city"] and drift.current.schema["required"] == ["place"]
    assert [one.name for one in (await client.call_tools(second)).drifts] == [name]
    called = await client.capture(Request("the forecast", tools=[weather, tide]))
    assert (await client.call_tools(called)).called == ["weather", "tide"]
    one = await read(client.tool_occurrences("tide", kind="called", scope=called))
    assert [occurrence.call_ids for occurrence in one] == [[called.tool_calls[1].call_id]]


async def test_what_is_configured_can_be_read(connect: Connect, configured: Server) -> None:
    client = connect(configured.address)
    (listed,) = await read(client.prompts())
    assert (listed.prompt_id, listed.description, listed.variables, listed.required) == ("greet", "Greets", ["name", "tone"], ["name"])
    assert listed.template == "" and "{{ name }}" in (await client.inspect_prompt("greet")).template
    (profile,) = await read(client.profiles())
    assert profile == await client.inspect_profile("canned")
    assert (profile.backend_id, profile.model, profile.parameters, profile.is_default) == ("script", "canned-1", {"temperature": 0.5}, True)
    (backend,) = await read(client.backends())
    assert (backend.kind, backend.capacity, backend.in_use) == ("scripted", 3, 0) and "tools" in backend.capabilities
    assert (await client.inspect_backend("script")).base_url == ""
    contracts = {contract.contract_id: contract for contract in await read(client.contracts())}
    assert contracts["verdict"].schema is None and (await client.inspect_contract("verdict")).schema is not None
    with pytest.raises(Error) as caught:
        await client.inspect_prompt("nothing")
    assert caught.value.code is grpc.StatusCode.NOT_FOUND


async def test_what_would_be_sent_is_shown_before_anybody_is_asked(client: AsyncClient) -> None:
    start = await client.capture(Request("one", system="Be brief."))
    shown = await client.explain(Request("two", parameters={"temperature": 0.5}, tools=[tide]), after=start)
    assert [message.text for message in shown.messages] == ["Be brief.", "one", "one", "two"]
    assert (shown.settings["model"].value, shown.settings["model"].source) == ("canned-1", "profile")
    assert (shown.settings["parameters.temperature"].value, shown.settings["parameters.temperature"].source) == (0.5, "request")
    assert names(shown.tools) == ["tide"] and shown.matches is None and "two" in shown.body_json
    assert await read(client.children(start)) == [], "nobody was asked"
    sent = await client.explain_exchange(start)
    assert sent.matches is True and sent.difference == "" and json.loads(sent.body_json)
    called = await client.capture(Request("the forecast", tools=[weather, tide]))
    results = [ToolResult(call.call_id, "fine") for call in called.tool_calls]
    assert (await client.explain(results, after=called)).messages[-1].role == "tool"
    with pytest.raises(ValueError, match="after"):
        await client.explain(results)


async def test_what_was_prepared_is_executed_once_as_it_was_shown(client: AsyncClient) -> None:
    thread = fresh()
    await client.capture("one", thread=NewThread(thread))
    prepared = await client.prepare("two", after=ThreadPoint(thread), capture=True)
    assert [message.text for message in prepared.explanation.messages] == ["one", "one", "two"]
    assert prepared.expires > datetime.now(timezone.utc)
    answer = await client.execute(prepared)
    assert (answer.text, answer.captured, answer.thread_id, answer.run_id) == ("two", True, thread, prepared.run_id)
    again = await client.execute(prepared)
    assert again.exchange_id == answer.exchange_id, "the same answer, and nobody asked twice"
    assert (await client.run(answer.run_id)).model_calls == 1

    soon = datetime.now(timezone.utc) + timedelta(minutes=1)
    loose = await client.execute(await client.prepare(Request("three", run_id=fresh()), expires=soon))
    assert not loose.captured and (await client.reply(loose, "four", capture=True)).turn == 2


async def test_a_read_takes_no_longer_than_it_may(connect: Connect) -> None:
    """A listener that says nothing stands for a server that hangs."""
    held: list[asyncio.StreamWriter] = []
    listener = await asyncio.start_server(lambda reader, writer: held.append(writer), "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    client = connect(f"127.0.0.1:{port}")
    for asked in (client.run("r", timeout=0.05), client.inspect("e", timeout=0.05), client.usage("e", timeout=0.05)):
        with pytest.raises(Error) as caught:
            await asked
        assert caught.value.code is grpc.StatusCode.DEADLINE_EXCEEDED
    with pytest.raises(Error):
        await read(client.threads(timeout=0.05))
    await client.close()
    for writer in held:
        writer.close()
    listener.close()
