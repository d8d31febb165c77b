"""Models that the client calls: what the function sees, what comes of its answer, and what of its failure. Each test runs with both clients."""

from __future__ import annotations

import asyncio

import grpc
import pytest
from antiphon.testing import Server
from conftest import CONFIG, Connect, Record
from proxy import Proxy
from test_coordinate import Script, fresh

from antiphon import (
    AsyncClient,
    Continue,
    Error,
    Exchange,
    Generated,
    Generation,
    Message,
    Request,
    Stop,
    ToolCall,
    Usage,
)

PATIENT = CONFIG.replace('kind = "client"\nretry = { attempts = 1 }', 'kind = "client"\nretry = { attempts = 3, base_ms = 1, max_ms = 2 }')
OURS = Request("zero", profile_id="ours", system="Be brief.")


def weather(city: str) -> str:
    """The weather in a city."""
    return f"22 degrees in {city}"


class Model:
    """A model that says these things in turn, and remembers what it was asked."""

    def __init__(self, *said: Generated | str | Exception) -> None:
        self.said = list(said)
        self.asked: list[Generation] = []

    def __call__(self, generation: Generation) -> Generated | str:
        self.asked.append(generation)
        said = self.said.pop(0)
        if isinstance(said, Exception):
            raise said
        return said


async def test_a_plain_function_is_the_model(client: AsyncClient) -> None:
    model = Model("one", Generated("two", usage=Usage(7, 2), provider="acme", response_model="ours-1-0613", stop_reason="max_tokens"))
    script = Script(Continue(Request("more", profile_id="ours", parameters={"temperature": 0.5})), Stop())
    assert (await client.coordinate(OURS, 1, script, generate=model)).state == "stopped"
    assert script.texts == ["one", "two"]
    first, second = model.asked
    assert (first.model, first.backend_id, first.number, first.kind) == ("ours-1", "ours", 1, "first")
    assert [(said.role, said.text) for said in first.messages] == [("system", "Be brief."), ("user", "zero")]
    assert [said.text for said in second.messages] == ["Be brief.", "zero", "one", "more"]
    assert second.parameters == {"temperature": 0.5} and first.generation_id != second.generation_id
    last = script.seen[1].exchange
    assert (last.usage.input_tokens, last.usage.output_tokens, last.usage.reported) == (7, 2, True)
    assert last.stop_reason == "max_tokens" and last.raw.responder.provider == "acme"


async def test_a_coroutine_is_the_model(server: Server) -> None:
    async def think(generation: Generation) -> str:
        await asyncio.sleep(0)
        return generation.messages[-1].text.upper()

    async with AsyncClient(server.address) as client:
        script = Script(Stop())
        await client.coordinate(OURS, 0, script, generate=think)
    assert script.texts == ["ZERO"]


async def test_a_chain_runs_the_tools_that_ones_own_model_calls(client: AsyncClient) -> None:
    call = ToolCall("provider-1", "weather", '{"city": "Lisbon"}')
    model = Model(Generated(tool_calls=[call]), "It is fine.")
    answer = await client.chain(Request("weather?", profile_id="ours"), [weather], generate=model)
    assert answer.text == "It is fine."
    assert [tool.name for tool in model.asked[0].tools] == ["weather"]
    assert model.asked[0].tools[0].schema["required"] == ["city"]
    result = model.asked[1].messages[-1]
    assert result.role == "tool" and [found.text for found in result.tool_results] == ["22 degrees in Lisbon"]
    assert model.asked[1].messages[-2].tool_calls[0].raw.provider_call_id == "provider-1"


async def test_a_schema_is_passed_on_and_checked(client: AsyncClient) -> None:
    schema = {"type": "object", "properties": {"good": {"type": "boolean"}}, "required": ["good"]}
    model, script = Model('{"good": 1}'), Script(Stop())
    await client.coordinate(Request("well?", profile_id="ours", contract=schema), 0, script, generate=model)
    assert model.asked[0].schema == schema and script.seen[0].exchange.validation == "invalid"


async def test_what_the_model_raises_comes_back_as_itself(client: AsyncClient, record: Record) -> None:
    raised, name = ValueError("sk-secret is wrong"), fresh()
    with pytest.raises(ValueError) as caught:
        await client.coordinate(OURS, 0, Script(), generate=Model(raised), coordination_id=name)
    assert caught.value is raised
    failed = record.get(name).ended.failed.error
    assert failed.reason == "PROVIDER_REFUSED_REQUEST" and "ValueError" in failed.message
    assert "sk-secret" not in str(record.get(name)), "what an exception says may be a secret, and stays here"


async def test_an_error_says_by_its_code_whether_it_is_asked_again(connect: Connect) -> None:
    with Server(config=PATIENT) as patient:
        client = connect(patient.address)
        busy = Error(grpc.StatusCode.UNAVAILABLE, "the model is loading")
        model, script = Model(busy, "here"), Script(Stop())
        await client.coordinate(OURS, 0, script, generate=model)
        assert script.texts == ["here"] and [asked.kind for asked in model.asked] == ["first", "retry"]
        observations = script.seen[0].raw.run.observations
        assert [found.error_reason for found in observations] == ["PROVIDER_UNAVAILABLE", ""]

        refused = Model(Error(grpc.StatusCode.INVALID_ARGUMENT, "too long"), "never")
        with pytest.raises(Error) as caught:
            await client.coordinate(OURS, 0, Script(), generate=refused)
        assert caught.value.reason == "PROVIDER_REFUSED_REQUEST" and len(refused.asked) == 1
        assert isinstance(caught.value.__cause__, Error) and caught.value.__cause__.message == "too long"


async def test_an_answer_that_is_none_fails_the_turn(client: AsyncClient) -> None:
    with pytest.raises(TypeError, match="returned None"):
        await client.coordinate(OURS, 0, Script(), generate=lambda asked: None)  # pyright: ignore[reportArgumentType]


async def test_an_answer_of_the_wrong_form_leaves_the_generation_pending(client: AsyncClient, record: Record) -> None:
    name = fresh()
    wrong = Generated(message=Message.of("user", "I am no assistant"))
    with pytest.raises(Error) as caught:
        await client.coordinate(OURS, 0, Script(), generate=Model(wrong), coordination_id=name)
    assert caught.value.reason == "INVALID_FIELDS" and record.state(name) == "AWAITING_GENERATION"
    script = Script(Stop())
    assert (await client.attach(name, script, generate=Model("right"))).state == "stopped"
    assert script.texts == ["right"]


async def test_a_cut_while_the_model_thinks_asks_it_once(connect: Connect, server: Server) -> None:
    proxy = Proxy(server.address)
    asked: list[Generation] = []

    def thinks(generation: Generation) -> str:
        asked.append(generation)
        proxy.cut()
        return "still here"

    script = Script(Stop())
    await connect(proxy.address).coordinate(OURS, 0, script, generate=thinks)
    assert script.texts == ["still here"] and len(asked) == 1
    proxy.close()


async def test_an_ephemeral_one_may_have_its_own_model_too(client: AsyncClient) -> None:
    model = Model("said in passing")
    found: Exchange = await client.chain(OURS, ephemeral=True, generate=model)
    assert found.text == "said in passing" and not found.captured


async def test_an_attempt_that_was_given_up_meanwhile_is_passed_over(client: AsyncClient, record: Record) -> None:
    """The answer comes too late and changes nothing; what became of the coordination is told all the same."""
    name = fresh()

    def ended_by_others(generation: Generation) -> str:
        record.cancel(name)
        return "too late"

    with pytest.raises(Error) as caught:
        await client.coordinate(OURS, 0, Script(), generate=ended_by_others, coordination_id=name)
    assert caught.value.code is grpc.StatusCode.CANCELLED
