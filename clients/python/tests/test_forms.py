"""Answers that must have a form, histories that are narrowed, and pieces of answers that begin anew. Each test runs with both clients."""

from __future__ import annotations

import pytest
from antiphon.gen.antiphon.v1 import progress_pb2, run_pb2
from antiphon.pieces import Pieces

from antiphon import AsyncClient, Delta, Error, HistoryView, Request, Stop

FORM = Request("in its form", contract="json", repair=1)


class Heard:
    """What was told of an answer, and how often it began anew."""

    def __init__(self) -> None:
        self.text = ""
        self.anew = 0

    def __call__(self, delta: Delta) -> None:
        if delta.kind == "attempt":
            self.text, self.anew = "", self.anew + 1
        elif delta.kind == "text":
            self.text += delta.text


async def test_an_answer_that_missed_its_form_is_told_anew_however_it_is_asked_for(client: AsyncClient) -> None:
    kept, loose, chained, coordinated, probed = heard = [Heard() for _ in range(5)]
    answers = [
        await client.capture(FORM, on_delta=kept),
        await client.prompt(FORM, on_delta=loose),
        await client.chain(FORM, on_delta=chained),
        await client.fork_once(await client.capture("one"), FORM, on_delta=probed),
    ]
    await client.coordinate(FORM, 0, lambda decision: Stop(), on_delta=coordinated)
    for answer in answers:
        assert answer.validation == "valid" and answer.json() == {"good": True} and not answer.violations
    for told in heard:
        assert (told.text, told.anew) == (answers[0].text, 1)
    response = client.stream(FORM)
    kinds = [delta.kind async for delta in response]
    assert kinds.count("attempt") == 1 and (await response.result()).text == kept.text


async def test_an_answer_that_is_not_asked_for_again_says_what_is_wrong(client: AsyncClient) -> None:
    form = {"type": "object", "properties": {"good": {"type": "integer"}}}
    found = await client.capture(Request('{"good": true}', contract=form, repair=0))
    assert found.validation == "invalid" and len(found.violations) == 1
    assert found.violations[0].startswith("/good: ")
    assert (await client.run(found.run_id)).model_calls == 1
    mended = await client.capture(FORM)
    assert (await client.run(mended.run_id)).model_calls == 2
    with pytest.raises(Error) as caught:
        await client.capture(Request("x", contract="json", repair=100))
    assert caught.value.reason == "LIMIT_EXCEEDED"


async def test_a_history_may_be_narrowed(client: AsyncClient) -> None:
    first = await client.capture("one")
    second = await client.reply(first, "two")
    views = [HistoryView(last_turns=1), HistoryView(from_exchange=second.exchange_id), HistoryView(token_budget=1)]
    for view in views:
        third = await client.reply(second, Request("three", history_view=view))
        assert third.turn == 3 and [warning.code for warning in third.warnings] == ["history_narrowed"]
        assert len((await client.inspect(third)).messages) == 6
    with pytest.raises(ValueError, match="one of them"):
        await client.reply(second, Request("three", history_view=HistoryView(last_turns=1, token_budget=1)))


def test_a_connection_that_is_made_again_tells_nothing_twice() -> None:
    """The calls to the model that were given up are told again, too, and their pieces were once taken for those of the last."""
    first, again = _attempt(1, run_pb2.ATTEMPT_KIND_FIRST), _attempt(2, run_pb2.ATTEMPT_KIND_REPAIR)
    pieces = Pieces()
    pieces.connected()
    told = [delta for said in (first, _text("a long answer"), again, _text("sho")) for delta in pieces.new(said)]
    assert told == [Delta("text", "a long answer"), Delta("attempt", ""), Delta("text", "sho")]
    pieces.connected()
    told = [delta for said in (first, _text("a long answer"), again, _text("sho"), _text("rt")) for delta in pieces.new(said)]
    assert told == [Delta("text", "rt")]
    assert pieces.rest("short") == [] and pieces.rest("short.") == [Delta("text", ".")]


def test_another_attempt_of_a_run_counts_from_one_again() -> None:
    pieces = Pieces()
    pieces.connected()
    for number in (1, 2, 3):
        assert pieces.new(_attempt(number, run_pb2.ATTEMPT_KIND_RETRY)) == []
    pieces.connected()
    assert pieces.new(_attempt(1, run_pb2.ATTEMPT_KIND_FIRST)) == []
    assert pieces.new(_text("here")) == [Delta("text", "here")]


def test_pieces_of_a_kind_that_is_not_known_are_passed_over() -> None:
    assert Pieces().new(progress_pb2.Progress(delta=progress_pb2.Delta())) == []


def _attempt(number: int, kind: run_pb2.AttemptKind.ValueType) -> progress_pb2.Progress:
    return progress_pb2.Progress(attempt_started=progress_pb2.AttemptStarted(number=number, kind=kind))


def _text(text: str) -> progress_pb2.Progress:
    return progress_pb2.Progress(delta=progress_pb2.Delta(text=progress_pb2.TextDelta(text=text)))
