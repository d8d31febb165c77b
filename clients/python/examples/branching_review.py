"""Several reviews of one draft, each a branch of its own from the same exchange, all at once.

    ANTIPHON_SERVER=127.0.0.1:7373 python branching_review.py

Branches share the draft and see nothing of one another; the draft stays as it is. Each goes on until its reviewer has no more to ask. How
the branches are scheduled and joined is decided here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from antiphon import Action, AsyncClient, Continue, Decision, Error, Exchange, Stop


@dataclass
class Review:
    """One branch: who asked, what was answered, and why it broke off if it did."""

    reviewer: str
    answers: list[str]
    head: Exchange
    error: Error | None = None


async def review(client: AsyncClient, draft: Exchange, reviewer: str, questions: Sequence[str]) -> Review:
    """Asks a draft's author one reviewer's questions, one turn each."""
    result = Review(reviewer, [], draft)
    left = list(questions)

    async def next_action(decision: Decision) -> Action:
        if not decision.starting:
            result.answers.append(decision.exchange.text)
            result.head = decision.exchange
        # A reviewer may be a person or another model here; nothing is held at the server meanwhile.
        return Continue(f"{reviewer} asks: {left.pop(0)}") if left else Stop()

    try:
        await client.coordinate(draft, len(questions), next_action, labels={"reviewer": reviewer})
    except Error as error:
        # One branch that fails takes no other with it.
        result.error = error
    return result


async def review_all(client: AsyncClient, draft: Exchange, questions: Mapping[str, Sequence[str]]) -> list[Review]:
    """All reviews of a draft, in the order of the reviewers."""
    return await asyncio.gather(*(review(client, draft, reviewer, asked) for reviewer, asked in questions.items()))


async def main() -> None:
    async with AsyncClient.from_env() as client:
        draft = await client.capture("Draft a notice: the archive moves to the cellar in spring.")
        print(draft.text)
        questions = {"Ada": ["Who carries the boxes?", "By when?"], "Bo": ["Is the cellar dry?"]}
        for found in await review_all(client, draft, questions):
            print(f"\n{found.reviewer}:", *(found.answers or [str(found.error)]), sep="\n  ")


if __name__ == "__main__":
    asyncio.run(main())
