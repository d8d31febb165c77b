"""The examples do what they say, as functions and as programs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from analysis_loop import analyse
from antiphon.testing import Server
from branching_review import review_all

from antiphon import AsyncClient, Client, Request, Suspend

EXAMPLES = Path(__file__).parent.parent / "examples"
CONFIG = """
default_profile = "canned"

[profiles.canned]
backend = "script"
model = "canned-1"

[profiles.mine]
backend = "mine"
model = "mine-1"

[backends.mine]
kind = "client"

[backends.script]
kind = "scripted"
retry = { attempts = 1 }

[[backends.script.rules]]
when = "Analyse this"
text = "The risk is water."

[[backends.script.rules]]
when = "Go on: cost?"
text = "The risk is water, the cost is that of pumps."

[[backends.script.rules]]
when = "Draft"
text = "The archive moves in spring."

[[backends.script.rules]]
when = "By when"
fault = { kind = "status", status = 400, message = "no date" }

[[backends.script.rules]]
text = "{turn}: {last_user}"
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(config=CONFIG) as running:
        yield running


def test_the_analysis_is_refined_until_nothing_is_missing(server: Server) -> None:
    """S4-48, S4-49."""
    with Client(server.address) as client:
        found = analyse(client, "The archive moves.", ["risk", "cost"])
        assert (found.exchange.text, found.missing) == ("The risk is water, the cost is that of pumps.", [])
        assert found.exchange.turn == 2
        never = analyse(client, "The archive moves.", ["risk", "joy"], additional_turns=1)
        assert never.missing == ["risk"] and never.exchange.turn == 2


async def test_reviews_are_branches_of_one_draft(server: Server) -> None:
    """S4-41, S4-42, S4-T6."""
    async with AsyncClient(server.address) as client:
        draft = await client.capture("Draft a notice.")
        ada, bo = await review_all(client, draft, {"Ada": ["Who?", "By when?"], "Bo": ["Dry?", "Warm?"]})
    assert ada.answers == ["2: Ada asks: Who?"]
    assert ada.error is not None and ada.error.reason == "PROVIDER_REFUSED_REQUEST"
    assert bo.answers == ["2: Bo asks: Dry?", "3: Bo asks: Warm?"] and bo.error is None
    assert ada.head.parent_exchange_id == draft.exchange_id


@pytest.mark.parametrize("name", ["analysis_loop", "branching_review"])
def test_they_run_as_programs(server: Server, name: str) -> None:
    source = str(EXAMPLES.parent / "src")
    environment = {**os.environ, "ANTIPHON_SERVER": f"http://{server.address}", "PYTHONPATH": source}
    command = [sys.executable, str(EXAMPLES / f"{name}.py")]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() and not ran.stderr


def test_the_coordination_of_the_tour_runs(server: Server) -> None:
    with Client(server.address) as client:
        start = client.capture("Where to?")
    environment = {**os.environ, "ANTIPHON_SERVER": server.address, "PYTHONPATH": str(EXAMPLES.parent / "src")}
    command = [sys.executable, str(EXAMPLES / "packing.py"), start.exchange_id]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    first, second, last = ran.stdout.splitlines()
    assert first == f"turn 0 of 2, exchange {start.exchange_id}: 1: Where to?"
    assert second.startswith("turn 1 of 2") and second.endswith(": 2: What would you pack?") and last == "stopped"


def test_what_the_page_on_continuing_and_branching_shows_is_so(server: Server) -> None:
    """S0-42: each piece of Python in it, in order, and what the text says of heads and histories."""
    page = (EXAMPLES.parents[2] / "docs" / "continuing-and-branching.md").read_text("utf-8")
    pieces = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(pieces) == 6
    names: dict[str, Any] = {}
    for piece in pieces:
        exec(compile(piece.replace("127.0.0.1:7373", server.address), "continuing-and-branching.md", "exec"), names)
    client: Client = names["client"]
    first, second, other = names["first"], names["second"], names["other"]
    assert second.parent_exchange_id == other.parent_exchange_id == first.exchange_id
    assert (second.setting("model"), other.setting("model")) == ("canned-1", "a-larger-model")
    ship, train = client.thread(names["by_ship"].thread_id), client.thread(names["by_train"].thread_id)
    assert (ship.name, ship.turn_count, train.name, train.turn_count) == ("by ship", 3, "by train", 3)
    assert ship.head_exchange_id == names["by_ship"].exchange_id
    assert names["weather"].parent_exchange_id == second.exchange_id and names["weather"].thread_id == ""
    assert names["again"].parent_exchange_id == names["answer"].exchange_id and names["plan"] == "By ship.\n"
    assert client.thread("trip").head_exchange_id == names["again"].exchange_id
    assert client.workspace("trip").read("plan").text == "By train.\n"
    client.delete_thread("trip")
    client.close()


def test_what_the_notebook_shows_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cells in order, as a notebook does it, against what the quickstart runs without a model. Nothing that comes with a kernel is needed
    for that, so that no package of a notebook's is among those of the tests."""
    notebook = json.loads((EXAMPLES / "branching.ipynb").read_text("utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) == 8 and all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    scripted = (EXAMPLES.parents[2] / "examples" / "scripted.toml").read_text("utf-8")
    with Server(config=scripted) as quickstart:
        monkeypatch.setenv("ANTIPHON_SERVER", quickstart.address)
        names: dict[str, object] = {}
        for cell in cells:
            exec(compile("".join(cell["source"]), "branching.ipynb", "exec"), names)
    said = capsys.readouterr().out
    for told in ("Lisbon, where the Tagus meets the Atlantic.", "ferry from Madeira", "by way of Porto", "changed", "stopped", "5 runs"):
        assert told in said, said


def test_what_the_readme_shows_runs(server: Server) -> None:
    """Each piece of Python in it, in order, with the names that the text around it speaks of."""
    pieces = re.findall(r"```python\n(.*?)```", (EXAMPLES.parent / "README.md").read_text("utf-8"), re.DOTALL)
    assert len(pieces) == 8
    with Client(server.address) as client:
        names: dict[str, object] = {"coordination_id": "readme"}
        client.coordinate(Request("zero"), 3, lambda decision: Suspend(), coordination_id="readme")
        for piece in pieces:
            names["client"] = client
            piece = piece.replace("127.0.0.1:7373", server.address).replace('"target/debug/antiphon"', "")
            exec(compile(piece, "README.md", "exec"), names)
