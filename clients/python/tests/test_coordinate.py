"""The loop: budget, outcomes, failures, and what the callback sees. Each test runs with both clients."""

from __future__ import annotations

import threading
import uuid
from datetime import datetime, timedelta, timezone

import grpc
import pytest
from antiphon.testing import Server
from conftest import Connect, Record

from antiphon import (
    Action,
    AsyncClient,
    Client,
    Continue,
    Decision,
    Error,
    Exchange,
    Fail,
    NewThread,
    Outcome,
    Request,
    Stop,
    Suspend,
    ThreadPoint,
)


class Script:
    """A callback that says these things in turn, and remembers what it saw."""

    def __init__(self, *actions: Action) -> None:
        self.actions = list(actions)
        self.seen: list[Decision] = []

    def __call__(self, decision: Decision) -> Action:
        self.seen.append(decision)
        return self.actions.pop(0)

    @property
    def texts(self) -> list[str]:
        return [decision.exchange.text for decision in self.seen]


def fresh() -> str:
    return f"test-{uuid.uuid4()}"


@pytest.mark.parametrize("budget", [0, 1, 3])
async def test_a_turn_that_is_asked_for_when_none_is_left_is_exhaustion(client: AsyncClient, budget: int) -> None:
    """S4-52, S4-54, S4-57, S4-59, S4-62."""
    start = await client.capture("zero")
    script = Script(*(Continue(f"turn {number}") for number in range(1, 9)))
    outcome = await client.coordinate(start, budget, script)
    assert outcome.state == "exhausted" and outcome.exhausted and outcome.undelivered is None
    assert script.texts == ["zero", *(f"turn {number}" for number in range(1, budget + 1))]
    assert [decision.starting for decision in script.seen] == [True] + [False] * budget
    assert [decision.turns_remaining for decision in script.seen] == list(range(budget, -1, -1))
    assert script.seen[0].exchange.exchange_id == start.exchange_id
    parents = [decision.exchange.parent_exchange_id for decision in script.seen[1:]]
    assert parents == [decision.exchange.exchange_id for decision in script.seen[:-1]]


@pytest.mark.parametrize("budget", [0, 1, 3])
async def test_a_stop_is_a_stop_however_much_is_left(client: AsyncClient, budget: int) -> None:
    """S4-53, S4-55, S4-58."""
    start = await client.capture("zero")
    outcome = await client.coordinate(start.exchange_id, budget, Script(*[Continue("more")] * budget, Stop()))
    assert outcome == Outcome("stopped", outcome.coordination_id)


async def test_what_the_callback_raises_comes_back_as_itself(client: AsyncClient, record: Record) -> None:
    """S4-60, S4-73, S4-77."""
    raised = ValueError("the reviewer has left")

    def fails(decision: Decision) -> Action:
        raise raised

    name = fresh()
    with pytest.raises(ValueError) as caught:
        await client.coordinate(await client.capture("zero"), 2, fails, coordination_id=name)
    assert caught.value is raised
    ended = record.get(name).ended
    assert ended.failed.caller_failure.reason == "VALUE_ERROR"
    assert ended.failed.caller_failure.message == "the reviewer has left"
    assert not ended.HasField("undelivered_exchange")


async def test_an_answer_that_is_none_is_a_failure_of_the_caller(client: AsyncClient) -> None:
    def absent(decision: Decision) -> Action:
        return None  # pyright: ignore[reportReturnType]

    with pytest.raises(TypeError, match="returned None"):
        await client.coordinate(await client.capture("zero"), 1, absent)


async def test_a_failure_with_a_code_comes_back_as_an_error(client: AsyncClient) -> None:
    fail = Fail("no reviewer", grpc.StatusCode.UNAVAILABLE, "REVIEWER_UNAVAILABLE", {"reviewer": "ada"})
    with pytest.raises(Error) as caught:
        await client.coordinate(await client.capture("zero"), 1, Script(fail))
    assert (caught.value.code, caught.value.reason) == (grpc.StatusCode.UNAVAILABLE, "REVIEWER_UNAVAILABLE")
    assert caught.value.metadata["reviewer"] == "ada" and caught.value.message == "no reviewer"
    assert caught.value.request_id


async def test_the_first_failed_turn_ends_it_with_its_own_error(client: AsyncClient) -> None:
    """S4-63, S4-64, S4-66, S4-74."""
    script = Script(Continue("one"), Continue("down for good"), Continue("three"))
    with pytest.raises(Error) as caught:
        await client.coordinate(await client.capture("zero"), 3, script)
    assert caught.value.reason == "PROVIDER_UNAVAILABLE" and caught.value.code is grpc.StatusCode.UNAVAILABLE
    assert script.texts == ["zero", "one"]


async def test_an_answer_that_is_refused_leaves_the_decision_pending(client: AsyncClient, record: Record) -> None:
    name = fresh()
    with pytest.raises(Error) as caught:
        bad = Continue(Request("x", parameters={"temperature": 9}))
        await client.coordinate(await client.capture("zero"), 1, Script(bad), coordination_id=name)
    assert caught.value.reason == "INVALID_FIELDS" and caught.value.metadata["coordination_id"] == name
    assert record.state(name) == "AWAITING_DECISION"
    script = Script(Continue("better"), Stop())
    assert (await client.attach(name, script)).state == "stopped"
    assert script.texts == ["zero", "better"]


@pytest.mark.parametrize(
    "cost", ["", "2.50", "USD 2.50", "2,50 USD", "1e3 USD", "0.00 USD", "-1 USD", "1 usd", "1  USD", "1 USD\n", "1.0000000001 USD"]
)
async def test_a_cost_that_is_none_is_refused_before_anything_is_sent(client: AsyncClient, cost: str) -> None:
    name = fresh()
    with pytest.raises(ValueError, match="such as '2.50 USD'"):
        await client.coordinate(Request("zero"), 1, Script(), cost_limit=cost, coordination_id=name)
    with pytest.raises(ValueError, match="such as '2.50 USD'"):
        await client.chain("zero", cost_limit=cost, coordination_id=name)
    with pytest.raises(ValueError, match="such as '2.50 USD'"):
        await (await client.conversation(NewThread())).chain("zero", cost_limit=cost, coordination_id=name)
    with pytest.raises(Error) as caught:
        await client.coordination(name)
    assert caught.value.reason == "COORDINATION_NOT_FOUND"


async def test_a_turn_of_a_conversation_takes_the_limits_of_spending(client: AsyncClient) -> None:
    talk = await client.conversation(NewThread())
    await talk.chain("one", token_limit=1000)
    with pytest.raises(Error) as caught:
        await talk.chain("two", token_limit=0)
    assert caught.value.reason == "INVALID_FIELDS"
    with pytest.raises(Error) as caught:
        await talk.chain("two", cost_limit="1 USD")
    # The model of these tests has no prices.
    assert caught.value.reason == "SPEND_LIMIT"


async def test_a_start_with_a_request_presents_its_exchange_outside_the_budget(client: AsyncClient) -> None:
    """S4-65."""
    script = Script(Continue("one"), Stop())
    thread = NewThread(fresh(), name="a review")
    outcome = await client.coordinate(Request("zero", system="Be short."), 1, script, thread=thread)
    assert outcome.state == "stopped" and script.texts == ["zero", "one"]
    assert script.seen[0].starting and script.seen[1].turns_remaining == 0
    assert {decision.thread_id for decision in script.seen} == {thread.thread_id}


async def test_on_a_thread_each_turn_moves_the_head(client: AsyncClient) -> None:
    thread = NewThread(fresh())
    await client.capture("zero", thread=thread)
    script = Script(Continue("one"), Stop())
    await client.coordinate(ThreadPoint(thread.thread_id), 1, script)
    followed = await client.continue_(ThreadPoint(thread.thread_id, script.seen[1].exchange.exchange_id), "two")
    assert followed.parent_exchange_id == script.seen[1].exchange.exchange_id


async def test_a_callback_may_call_the_same_backend_at_capacity_one(server: Server) -> None:
    """S4-43, S4-45, S4-46."""
    async with AsyncClient(server.address) as client:

        async def assess(decision: Decision) -> Action:
            judged = await client.reply(decision.exchange, "good?", timeout=10)
            assert judged.setting("profile_id") == "narrow"
            return Continue(Request("more", profile_id="narrow"))

        start = await client.capture(Request("zero", profile_id="narrow"))
        assert (await client.coordinate(start, 2, assess)).exhausted
    with Client(server.address) as blocking:

        def assess_blocking(decision: Decision) -> Action:
            blocking.reply(decision.exchange, "good?", timeout=10)
            return Continue(Request("more", profile_id="narrow"))

        assert blocking.coordinate(start, 2, assess_blocking).exhausted


async def test_several_start_from_one_exchange(client: AsyncClient) -> None:
    """S4-42."""
    start = await client.capture("zero")
    branches = [Script(Continue(f"branch {number}"), Stop()) for number in range(3)]
    for script in branches:
        await client.coordinate(start, 1, script)
    assert [script.texts[1] for script in branches] == ["branch 0", "branch 1", "branch 2"]
    assert {script.seen[1].exchange.parent_exchange_id for script in branches} == {start.exchange_id}


async def test_it_is_left_for_later_and_taken_up_elsewhere(client: AsyncClient, connect: Connect, server: Server) -> None:
    """S4-47."""
    name = fresh()
    first = Script(Continue("one"), Suspend())
    start = await client.capture("zero")
    outcome = await client.coordinate(start, 2, first, on_delta=lambda delta: None, coordination_id=name)
    assert outcome == Outcome("suspended", name)
    second, heard = Script(Continue("slow"), Stop()), list[str]()
    attached = connect(server.address).attach(name, second, on_delta=lambda delta: heard.append(delta.text))
    assert (await attached).state == "stopped"
    assert second.seen[0].decision_id == first.seen[1].decision_id
    assert second.texts == ["one", "".join(heard)] and len(heard) > 1


async def test_the_same_start_again_attaches(client: AsyncClient) -> None:
    name, start = fresh(), await client.capture("zero")
    await client.coordinate(start, 2, Script(Continue("one"), Suspend()), coordination_id=name)
    script = Script(Stop())
    assert (await client.coordinate(start, 2, script, coordination_id=name)).state == "stopped"
    assert script.texts == ["one"]
    with pytest.raises(Error) as caught:
        await client.coordinate(start, 3, script, coordination_id=name)
    assert caught.value.reason == "COORDINATION_CONFLICT"


async def test_whoever_is_overtaken_is_told(client: AsyncClient, server: Server) -> None:
    name = fresh()

    def overtaken(decision: Decision) -> Action:
        with Client(server.address) as other:
            assert other.attach(name, Script(Suspend())).state == "suspended"
        return Stop()

    with pytest.raises(Error) as caught:
        await client.coordinate(await client.capture("zero"), 1, overtaken, coordination_id=name)
    assert (caught.value.code, caught.value.reason) == (grpc.StatusCode.ABORTED, "TAKEN_OVER")


async def test_an_ephemeral_one_leaves_no_name(client: AsyncClient) -> None:
    script = Script(Continue("one"), Stop())
    assert await client.coordinate(Request("zero"), 1, script, ephemeral=True) == Outcome("stopped", "")
    assert script.texts == ["zero", "one"]


async def test_time_runs_out_for_a_decision_and_for_the_whole(client: AsyncClient, record: Record) -> None:
    """S4-71: the callback is not killed, and its answer starts nothing."""

    def late(decision: Decision) -> Action:
        record.wait(decision.coordination_id, "CANCELLED")
        return Continue("too late")

    start = await client.capture("zero")
    with pytest.raises(Error) as one:
        await client.coordinate(start, 1, late, decision_timeout=0.1)
    soon = datetime.now(timezone.utc) + timedelta(seconds=1)
    with pytest.raises(Error) as whole:
        await client.coordinate(start, 1, late, deadline=soon)
    assert one.value.code is whole.value.code is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_an_answer_that_meets_a_full_queue_is_given_again(client: AsyncClient, server: Server, record: Record) -> None:
    with Client(server.address) as other:

        def hold(run_id: str) -> threading.Thread:
            request = Request("hold", profile_id="narrow", run_id=run_id)
            thread = threading.Thread(target=other.capture, args=(request,))
            thread.start()
            record.wait_run(run_id, "RUNNING", "QUEUED")
            return thread

        holding: list[threading.Thread] = []
        calls: list[str] = []

        def fill(decision: Decision) -> Action:
            calls.append(decision.exchange.text)
            if decision.starting:
                holding.extend(hold(fresh()) for _ in range(2))
            return Continue(Request("through", profile_id="narrow"))

        assert (await client.coordinate(await client.capture("zero"), 1, fill)).exhausted
        assert calls == ["zero", "You said: through (message 3 of the history)"]
        for thread in holding:
            thread.join()


async def test_a_model_that_the_client_would_call_is_refused_by_name(client: AsyncClient) -> None:
    with pytest.raises(Error) as caught:
        await client.coordinate(Request("zero", profile_id="ours"), 1, Script())
    assert caught.value.reason == "PROVIDER_REFUSED_REQUEST" and "does not call models" in str(caught.value)


async def test_deltas_come_on_the_way(client: AsyncClient) -> None:
    heard: list[str] = []
    script = Script(Continue("slow"), Stop())
    await client.coordinate(await client.capture("zero"), 1, script, on_delta=lambda delta: heard.append(delta.text))
    assert "".join(heard) == script.texts[1] and len(heard) > 1


async def test_a_call_that_failed_where_waiting_helps_is_made_again(client: AsyncClient) -> None:
    assert (await client.capture(Request("down once", run_id=fresh()))).text == "down once"
    with pytest.raises(Error) as caught:
        await client.capture("down for good", timeout=0.5)
    assert caught.value.reason == "PROVIDER_UNAVAILABLE"


async def test_a_refused_call_says_why(client: AsyncClient) -> None:
    with pytest.raises(Error) as caught:
        await client.continue_(str(uuid.uuid4()), "hello")
    assert caught.value.reason == "EXCHANGE_NOT_FOUND" and caught.value.code is grpc.StatusCode.NOT_FOUND
    assert caught.value.request_id and "EXCHANGE_NOT_FOUND" in str(caught.value)


async def test_a_schema_is_checked_and_said(client: AsyncClient) -> None:
    schema = {"type": "object", "properties": {"good": {"type": "boolean"}}, "required": ["good"]}
    found: Exchange = await client.capture(Request('{"good": true}', contract=schema))
    assert found.validation == "valid" and found.json() == {"good": True}
    assert (await client.capture(Request("well", contract=schema))).validation == "invalid"
