"""Plays `clients/scenarios` with both clients; the README there says what the words mean."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
import yaml
from antiphon.testing import Server
from conftest import Connect
from documents import VERBS, keep
from looks import look
from told import Said, compare, plain

from antiphon import (
    Action,
    AsyncClient,
    Cancellation,
    Continue,
    Decision,
    Delta,
    Error,
    Exchange,
    Fail,
    Generation,
    HistoryView,
    Message,
    NewThread,
    Outcome,
    Pause,
    Request,
    Stop,
    Suspend,
    ThreadPoint,
    ThreadTurn,
    Tool,
    ToolResult,
)

SCENARIOS = Path(__file__).parents[2] / "scenarios"


class Raised(Exception):
    """What a callback of a scenario raises."""


class Player:
    """One scenario, with one client."""

    def __init__(self, client: AsyncClient, scenario: Said) -> None:
        self.client = client
        self.kept: dict[str, Any] = {}
        self.called: Counter[str] = Counter()
        self.heard: list[Delta] | None = None
        self.tools = {name: self.tool(name, said) for name, said in scenario.get("tools", {}).items()}

    def tool(self, key: str, said: Said) -> Tool:
        def function(**_: Any) -> str:
            self.called[key] += 1
            if said.get("pauses"):
                raise Pause
            if "fails" in said:
                raise RuntimeError(said["fails"])
            return said["returns"]

        marks = {mark: said.get(mark, False) for mark in ("side_effects", "requires_human")}
        return Tool(function, name=said.get("name", key), description=key, schema=said["schema"], **marks)

    async def step(self, said: Said, where: str) -> None:
        (verb,) = said.keys() - {"as", "expect", "error"}
        self.called.clear()
        try:
            found = await self.call(verb, said[verb])
        except (Error, Raised, Pause) as error:
            assert "error" in said, f"{where}: {error}"
            compare(self.value(said["error"]), self.error(error), where)
            return
        assert "error" not in said, f"{where}: it gave {plain(found)}"
        if "as" in said:
            self.kept[said["as"]] = found
        told: Any = [plain(item) for item in cast(list[Any], found)] if isinstance(found, list) else plain(found)
        if isinstance(found, Exchange | Outcome):
            told = {**told, "called": dict(self.called)}
        if self.heard is not None:
            begun = max((at for at, delta in enumerate(self.heard) if delta.kind == "attempt"), default=-1) + 1
            told["told"] = "".join(delta.text for delta in self.heard[begun:])
            told["anew"] = sum(delta.kind == "attempt" for delta in self.heard)
            self.heard = None
        if "expect" in said:
            compare(self.value(said["expect"]), told, where)

    def error(self, error: Error | Raised | Pause) -> Said:
        if isinstance(error, Raised):
            return {"raised": str(error)}
        if isinstance(error, Pause):
            return {"paused": error.coordination_id}
        return {"code": error.code.name, "reason": error.reason, "metadata": error.metadata, "message": error.message}

    def value(self, said: Any) -> Any:
        """With what was kept in place of its names."""
        if isinstance(said, Mapping):
            if set(cast(Said, said)) == {"repeated", "times"}:
                return cast(Said, said)["repeated"] * cast(Said, said)["times"]
            return {key: self.value(value) for key, value in cast(Said, said).items()}
        if isinstance(said, list):
            return [self.value(value) for value in cast(list[Any], said)]
        if not isinstance(said, str) or not re.fullmatch(r"\$[a-z_0-9.]+", said):
            return said
        name, *path = said[1:].split(".")
        found: Any = plain(self.kept[name]) if path else self.kept[name]
        for key in path:
            found = found[int(key) if key.isdigit() else key]
        return found

    async def call(self, verb: str, raw: Said) -> Any:
        # The names of what is chosen and the callbacks' own words are looked at when their time has come.
        said = {key: value if key == "decisions" else self.value(value) for key, value in raw.items()}
        client, point = self.client, self.point
        match verb:
            case "prompt":
                return await client.prompt(self.request(said), capture=said.get("capture", False))
            case "capture":
                heard = self.heard = [] if said.get("deltas") else None
                hear = None if heard is None else heard.append
                return await client.capture(self.request(said), thread=self.thread(said), on_delta=hear)
            case "continue":
                return await client.continue_(point(said["from"]), self.input(said))
            case "reply":
                return await client.reply(said["to"], self.input(said), capture=said.get("capture"))
            case "fork":
                source = self.turn(said["from"])
                if "request" in said or "results" in said:
                    return await client.fork(source, self.input(said), thread=self.thread(said))
                return await client.thread((await client.fork(source, thread=self.thread(said))).thread_id)
            case "fork_once":
                allowed = said.get("allow_side_effects", False)
                return await client.fork_once(self.turn(said["from"]), self.request(said), allow_side_effects=allowed)
            case "record":
                transcript = [Message.of(message["role"], message["text"]) for message in said["messages"]]
                after = point(said["after"]) if "after" in said else None
                return await client.record(transcript, after=after, thread=self.thread(said))
            case "chain":
                options = self.given(said, "chain_limit", "token_limit", "cost_limit", "ephemeral")
                after = point(said["after"]) if "after" in said else None
                return await client.chain(
                    self.request(said), self.named(said), after=after, coordination_id=said.get("id"), generate=self.model(said), **options
                )
            case "resume":
                return await client.resume(said["id"], self.named(said))
            case "coordinate":
                options = self.given(said, "tool_round_limit", "token_limit", "cost_limit", "ephemeral")
                return await self.decided(
                    said,
                    lambda callback, cancellation: client.coordinate(
                        point(said["start"]) if "start" in said else self.request(said),
                        said["turns"],
                        callback,
                        thread=self.thread(said),
                        tools=self.named(said) or None,
                        generate=self.model(said),
                        coordination_id=said.get("id"),
                        cancellation=cancellation,
                        **options,
                    ),
                )
            case "attach":
                return await self.decided(
                    said,
                    lambda callback, cancellation: client.attach(
                        said["id"], callback, tools=self.named(said) or None, cancellation=cancellation
                    ),
                )
            case "cancel":
                return await client.cancel(said["id"])
            case "inspect":
                return await client.inspect(said["exchange"])
            case "thread":
                return await client.thread(said["id"])
            case "run":
                return await client.run(said["id"])
            case "coordination":
                return await client.coordination(said["id"])
            case "runs":
                return [run async for run in client.runs(labels=said.get("labels"))]
            case "threads":
                return [thread async for thread in client.threads(said.get("labels"))]
            case _ if verb in VERBS:
                return await keep(client, verb, said)
            case _:
                return await look(client, verb, said, self.request, point)

    async def decided(self, said: Said, begin: Callable[[Any, Cancellation], Any]) -> Any:
        cancellation, left = Cancellation(), list(said["decisions"])

        def decide(decision: Decision) -> Action:
            assert left, f"the callback was called once more, with {plain(decision)}"
            step = left.pop(0)
            self.kept["decision"] = decision
            if "see" in step:
                compare(self.value(step["see"]), plain(decision), "see")
            return self.action(self.value(step["do"]), cancellation)

        found = await begin(decide, cancellation)
        assert not left, f"the callback was not called for {left}"
        return found

    def action(self, said: Any, cancellation: Cancellation) -> Action:
        match said:
            case "stop":
                return Stop()
            case "suspend":
                return Suspend()
            case "cancel":
                cancellation.cancel()
                return Stop()
            case {"continue": request}:
                return Continue(self.request({"request": request}))
            case {"results": results}:
                return Continue(tool_results=[ToolResult(**result) for result in results])
            case {"fail": fail}:
                options: Said = {**fail, "code": grpc.StatusCode[fail["code"]]}
                return Fail(**options)
            case {"raise": text}:
                raise Raised(text)
            case _:
                raise AssertionError(f"there is no action {said}")

    def request(self, said: Said) -> Request:
        given: Said = dict(said["request"])
        renamed = {"prompt": "prompt_id", "profile": "profile_id"}
        options = {renamed.get(key, key): value for key, value in given.items()}
        if "messages" in options:
            options["messages"] = [Message.of(message["role"], message["text"]) for message in options["messages"]]
        if "tools" in options:
            options["tools"] = self.named(given)
        if "history_view" in options:
            options["history_view"] = HistoryView(**options["history_view"])
        if "temperature" in options:
            options["parameters"] = {"temperature": options.pop("temperature")}
        return Request(options.pop("text", ""), **options)

    def input(self, said: Said) -> Request | list[ToolResult]:
        return self.request(said) if "request" in said else [ToolResult(**result) for result in said["results"]]

    def named(self, said: Said) -> list[Tool]:
        return [self.tools[name] for name in said.get("tools", ())]

    def model(self, said: Said) -> Callable[[Generation], str] | None:
        if "generate" not in said:
            return None
        left = list(said["generate"])
        return lambda generation: left.pop(0)

    def given(self, said: Said, *names: str) -> Said:
        return {name: said[name] for name in names if name in said}

    def thread(self, said: Said) -> NewThread | None:
        thread = said.get("thread")
        return thread and NewThread(thread.get("id", ""), thread.get("name", ""), thread.get("labels", {}))

    def point(self, said: Any) -> Any:
        if not isinstance(said, dict):
            return said
        named = cast(Said, said)
        return ThreadPoint(named["thread"], named.get("expected_head", ""))

    def turn(self, said: Any) -> Any:
        if not isinstance(said, dict):
            return said
        named = cast(Said, said)
        return ThreadTurn(named["thread"], after_turn=named.get("after_turn"))


@pytest.mark.parametrize("name", sorted(path.stem for path in SCENARIOS.glob("*.yaml")))
async def test_a_scenario_goes_as_it_is_written(connect: Connect, name: str) -> None:
    scenario: Said = yaml.safe_load((SCENARIOS / f"{name}.yaml").read_text("utf-8"))
    rules = (SCENARIOS / "default.toml").read_text("utf-8").replace("\n# rules\n", f"\n{scenario.get('rules', '')}\n")
    with Server(config=scenario.get("config", rules), files=scenario.get("files", {})) as server:
        player = Player(connect(server.address), scenario)
        for number, step in enumerate(scenario["steps"], 1):
            await player.step(step, f"{name}, step {number}")
        # A connection that is open holds up the end of its server.
        await player.client.close()


def test_the_scenarios_are_well_formed() -> None:
    """Nothing in them is ignored, and the requirements that they name are there."""
    requirements = (SCENARIOS.parents[1] / "docs" / "requirements.md").read_text("utf-8")
    files = sorted(SCENARIOS.glob("*.yaml"))
    assert len(files) >= 15
    for path in files:
        scenario: Said = yaml.safe_load(path.read_text("utf-8"))
        unknown = scenario.keys() - {"about", "covers", "rules", "config", "files", "tools", "steps"}
        assert not unknown and scenario["about"] and scenario["steps"], path.name
        assert not ("rules" in scenario and "config" in scenario), f"{path.name}: `config` has no place for `rules`"
        for number in scenario.get("covers", []):
            assert re.search(rf"\b{number}\b", requirements), f"{path.name}: there is no requirement {number}"
