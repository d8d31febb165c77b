"""A loop that asks for refinement until the caller is content, or the budget of turns is used up.

    ANTIPHON_SERVER=127.0.0.1:7373 python analysis_loop.py

The server runs the turns and keeps them. What an answer is worth, and what to ask for next, is decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from antiphon import Action, Client, Continue, Decision, Exchange, Request, Stop


@dataclass
class Analysis:
    """The last answer, and what it still leaves out."""

    exchange: Exchange
    missing: list[str]


def analyse(client: Client, text: str, topics: Sequence[str], additional_turns: int = 3) -> Analysis:
    """Has a text analysed until the analysis treats every topic."""
    latest: list[Analysis] = []

    def next_action(decision: Decision) -> Action:
        answer = decision.exchange.text.lower()
        missing = [topic for topic in topics if topic.lower() not in answer]
        latest.append(Analysis(decision.exchange, missing))
        return Continue(f"Go on: {', '.join(missing)}?") if missing else Stop()

    start = Request(f"Analyse this: {text}", system="Analyse what you are given, in a few sentences.")
    client.coordinate(start, additional_turns, next_action)
    # Whether it stopped or was exhausted, the last answer was seen; `missing` tells which.
    return latest[-1]


def main() -> None:
    with Client.from_env() as client:
        found = analyse(client, "We move the archive to the cellar in spring.", ["risk", "cost"])
        print(found.exchange.text)
        if found.missing:
            print("It never came to:", ", ".join(found.missing))


if __name__ == "__main__":
    main()
