"""Tools as plain functions, in coordinations and chains. Each test against the server runs with both clients."""

from __future__ import annotations

import threading
from typing import Annotated, Any, Literal, TypedDict

import pytest
from antiphon.gen.antiphon.v1 import message_pb2
from conftest import Record
from test_coordinate import fresh

from antiphon import Action, AsyncClient, Continue, Decision, Exchange, Request, Stop, Tool, ToolCall, ToolResult


def weather(city: str) -> str:
    """The weather in a city."""
    return f"22 degrees in {city}"


def tide(city: str) -> dict[str, Any]:
    return {"city": city, "high": [3, 15]}


def results(exchange: Exchange) -> dict[str, message_pb2.ToolResult]:
    """The results that the exchange's call was made with, by what they answer in order."""
    found = [part.tool_result for message in exchange.raw.messages for part in message.parts if part.HasField("tool_result")]
    return dict(zip(("weather", "tide"), found, strict=True))


async def test_a_chain_runs_what_the_model_calls(client: AsyncClient) -> None:
    """S0-26, S0-T8."""
    before: list[str] = []
    after: list[tuple[str, str, bool]] = []
    answer = await client.chain(
        "the forecast",
        [weather, tide],
        before_call=lambda call: before.append(call.name),
        after_call=lambda call, result: after.append((call.name, result.text, result.is_error)),
    )
    assert answer.text == "Done." and answer.stop_reason == "stop"
    assert sorted(before) == ["tide", "weather"]
    assert sorted(after) == [("tide", '{"city": "Lisbon", "high": [3, 15]}', False), ("weather", "22 degrees in Lisbon", False)]


async def test_the_calls_of_one_answer_run_at_once(client: AsyncClient) -> None:
    meet = threading.Barrier(2, timeout=10)

    def one(city: str) -> str:
        meet.wait()
        return city

    answer = await client.chain("the forecast", [Tool(one, name="weather"), Tool(one, name="tide")])
    assert [result.is_error for result in results(answer).values()] == [False, False]


async def test_a_failing_or_unknown_or_refused_call_is_an_error_result(client: AsyncClient) -> None:
    """S3x-13: its siblings keep theirs."""

    def broken(city: str) -> str:
        raise RuntimeError("no barometer")

    failed = results(await client.chain("the forecast", [Tool(broken, name="weather"), tide]))
    assert failed["weather"].is_error and failed["weather"].parts[0].text.text == "RuntimeError: no barometer"
    assert not failed["tide"].is_error

    unknown = results(await client.chain("the forecast", [tide]))
    assert unknown["weather"].is_error and "no tool `weather`" in unknown["weather"].parts[0].text.text
    assert not unknown["tide"].is_error

    def refuse(call: ToolCall) -> None:
        if call.name == "tide":
            raise PermissionError("not today")

    refused = results(await client.chain("the forecast", [weather, tide], before_call=refuse))
    assert refused["tide"].is_error and refused["tide"].parts[0].text.text == "PermissionError: not today"
    assert not refused["weather"].is_error


async def test_a_hook_that_fails_afterwards_comes_back_as_itself(client: AsyncClient, record: Record) -> None:
    raised = OSError("the audit log is full")

    def audit(call: ToolCall, result: ToolResult) -> None:
        raise raised

    def never(decision: Decision) -> Action:
        raise AssertionError("the turn did not complete")

    name = fresh()
    with pytest.raises(OSError) as caught:
        start = Request("the forecast", tools=[weather, tide])
        await client.coordinate(start, 0, never, after_call=audit, coordination_id=name)
    assert caught.value is raised
    assert record.state(name) == "CANCELLED"


async def test_a_chain_without_tools_is_one_call(client: AsyncClient) -> None:
    """S0-27, S0-T9."""
    answer = await client.chain("hello", tools=[])
    assert answer.text == "hello" and answer.parent_exchange_id == ""
    assert (await client.chain("hello", ephemeral=True)).text == "hello"


async def test_a_chain_ends_at_its_limit_with_the_calls_unanswered(client: AsyncClient) -> None:
    answer = await client.chain("endless", [weather], chain_limit=2)
    assert [call.arguments for call in answer.tool_calls] == [{"city": "Lisbon"}]
    reasons: list[str] = []

    def stop(decision: Decision) -> Action:
        reasons.append(decision.stop_reason)
        return Stop()

    await client.coordinate(Request("endless", tools=[weather]), 0, stop, tool_round_limit=1)
    assert reasons == ["tool_round_limit"]


async def test_calls_left_unanswered_are_answered_by_the_next_action(client: AsyncClient) -> None:
    seen: list[Exchange] = []

    def answer(decision: Decision) -> Action:
        seen.append(decision.exchange)
        calls = decision.exchange.tool_calls
        return Continue(tool_results=[ToolResult(call.call_id, "by hand") for call in calls]) if calls else Stop()

    start = Request("the forecast", tools=[weather, tide])
    assert (await client.coordinate(start, 1, answer, tool_round_limit=0)).state == "stopped"
    assert seen[1].text == "Done." and results(seen[1])["tide"].parts[0].text.text == "by hand"


async def test_tools_of_a_coordination_are_offered_in_every_turn(client: AsyncClient) -> None:
    texts: list[str] = []

    def thrice(decision: Decision) -> Action:
        texts.append(decision.exchange.text)
        return Continue("the forecast")

    assert (await client.coordinate(await client.capture("zero"), 2, thrice, tools=[weather, tide])).exhausted
    assert texts == ["zero", "Done.", "Done."]


class Place(TypedDict):
    city: str
    country: str


def test_a_schema_comes_from_the_hints() -> None:
    def book(
        where: Place,
        nights: Annotated[int, "How many"],
        kind: Literal["room", "bed"] = "room",
        guests: list[str] | None = None,
        notes: dict[str, float] | None = None,
    ) -> None:
        """Books a stay."""

    tool = Tool(book)
    assert (tool.name, tool.description) == ("book", "Books a stay.")
    place = {"city": {"type": "string"}, "country": {"type": "string"}}
    guests: dict[str, Any] = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "default": None}
    notes: dict[str, Any] = {"anyOf": [{"type": "object", "additionalProperties": {"type": "number"}}, {"type": "null"}], "default": None}
    assert tool.schema == {
        "type": "object",
        "properties": {
            "where": {"type": "object", "properties": place, "required": ["city", "country"]},
            "nights": {"type": "integer", "description": "How many"},
            "kind": {"enum": ["room", "bed"], "default": "room"},
            "guests": guests,
            "notes": notes,
        },
        "required": ["where", "nights"],
        "additionalProperties": False,
    }


def test_a_hint_without_a_schema_is_refused_at_once() -> None:
    def unknown(when: object) -> None: ...
    def absent(when) -> None: ...  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType]
    def many(*when: str) -> None: ...

    for function in (unknown, absent, many):  # pyright: ignore[reportUnknownVariableType]
        with pytest.raises(TypeError, match="when"):
            Tool(function)  # pyright: ignore[reportUnknownArgumentType]
