# Made from ../_async by `generate`; not to be edited.
"""Prompts and replies, whether or not anything is kept. Knows nothing of threads."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from antiphon._sync.callbacks import Callbacks, OnDelta
from antiphon._sync.loops import Loops, Take
from antiphon._sync.transport import resolve
from antiphon._sync.turns import continuation
from antiphon.exchange import Delta, Exchange
from antiphon.gen.antiphon.v1 import coordination_pb2, exchange_pb2, exchange_service_pb2, execution_pb2
from antiphon.gen.antiphon.v1 import message_pb2, tool_pb2
from antiphon.message import Message
from antiphon.request import Input, Request, request_of
from antiphon.retry import fresh


class Prompts(Loops):
    """One call to the model, as in a conversation that need not be on record."""

    def prompt(
        self,
        request: Request | str,
        *,
        capture: bool = False,
        on_delta: OnDelta | None = None,
        timeout: float | None = None,
    ) -> Exchange:
        """Executes a request, once: tools that the model calls are left to the caller, see `chain`. Nothing is kept at the server but the
        run's state and usage, unless `capture` asks for it; the answer can be replied to all the same."""
        if capture:
            return self.capture(request, on_delta=on_delta, timeout=timeout)
        raw = request_of(request).to_raw()
        return self._uncaptured(raw, 0, _standing(raw, None), on_delta, timeout)

    def reply(
        self,
        exchange: Exchange,
        request: Input,
        *,
        capture: bool | None = None,
        on_delta: OnDelta | None = None,
        timeout: float | None = None,
    ) -> Exchange:
        """Goes on with the conversation that an exchange belongs to, by one turn, with the exchange's own profile and model unless the request
        names another. No head moves.

        A reply is kept where the exchange is. To one that is not, it is not kept either, and what was said is remembered here; `capture`
        has both kept, and whatever else of the conversation was not, each once."""
        if exchange.captured or capture:
            if capture is False:
                raise ValueError("a reply to an exchange on record is kept; fork_once leaves nothing behind")
            point: Exchange | str = exchange
            if not exchange.captured and _answered(exchange):
                # The server takes one exchange along in the same write; several are stored before.
                point = self._settled(exchange)
            raw = continuation(point, request)
            if raw.HasField("request"):
                _own(raw.request, exchange)
                _offer(raw.request, exchange)
            return self._continue(raw, on_delta, timeout)
        prefix = exchange.prefix()
        if isinstance(request, Request | str):
            again = request_of(request).to_raw()
        else:
            again = execution_pb2.ExecutionRequest(messages=[Message.of("tool", tool_results=request).raw])
        if again.HasField("prompt"):
            raise ValueError("a configured prompt would come before what was said: capture the reply, or the exchange")
        _own(again, exchange)
        standing = _standing(again, exchange.standing)
        _offer(again, exchange)
        again.ClearField("standing_tools")
        said = [*prefix.rendered_messages, prefix.assistant]
        new = list(again.messages)
        del again.messages[:]
        again.messages.extend([*said, *new])
        return self._uncaptured(again, len(said), standing, on_delta, timeout)

    def _uncaptured(
        self,
        raw: execution_pb2.ExecutionRequest,
        before: int,
        standing: tool_pb2.ToolList | None,
        on_delta: OnDelta | None,
        timeout: float | None,
    ) -> Exchange:
        raw.run_id = raw.run_id or fresh()
        if on_delta is None:
            run = exchange_service_pb2.RunRequest(request=raw, include_rendered_messages=True)
            answer = self._call(self._exchanges.Run, run, timeout, run.request)
            return Exchange.uncaptured(answer, before, standing)
        # Only a coordination tells an answer on its way of which nothing is kept.
        take = Take(None)
        told = ""

        def hear(delta: Delta) -> None:
            nonlocal told
            if delta.kind == "attempt":
                told = ""
            elif delta.kind == "text":
                told += delta.text
            resolve(on_delta(delta))

        start = coordination_pb2.CoordinationStart(ephemeral=True, deltas=True, tool_round_limit=0)
        start.initial_request.request.CopyFrom(raw)
        if timeout is not None:
            start.deadline.FromDatetime(datetime.now(timezone.utc) + timedelta(seconds=timeout))
        self._finish("", self._coordinator("", Callbacks(take, None, None, None, hear, None, None)), start)
        text = take.result("").text
        if len(text) > len(told) and text.startswith(told):
            # An answer that was quick may be there before all of its pieces are told.
            resolve(on_delta(Delta("text", text[len(told) :])))
        made = exchange_pb2.Exchange()
        made.CopyFrom(take.result("").raw)
        said = tuple(made.messages[:before])
        del made.messages[:before]
        return Exchange(made, False, said, standing)


def _own(raw: execution_pb2.ExecutionRequest, exchange: Exchange) -> None:
    """Lets a request that names no profile have the exchange's, and its model."""
    if not raw.profile_id:
        raw.profile_id = exchange.setting("profile_id") or ""
        raw.model = raw.model or exchange.setting("model") or ""


def _offer(raw: execution_pb2.ExecutionRequest, exchange: Exchange) -> None:
    """Lets a request that names no tools have those that stand where no record tells. What is stored of an exchange may be that of another
    with the same words and other tools, so they are not left to it."""
    if exchange.standing is None:
        return
    if not raw.HasField("standing_tools"):
        raw.standing_tools.CopyFrom(exchange.standing)
    if not raw.HasField("tools"):
        raw.tools.CopyFrom(raw.standing_tools)


def _answered(exchange: Exchange) -> bool:
    """Whether there are answers before that of an exchange, so that it is more than one when it is stored."""
    return any(message.role == message_pb2.ROLE_ASSISTANT for message in exchange.prefix().rendered_messages)


def _standing(raw: execution_pb2.ExecutionRequest, before: tool_pb2.ToolList | None) -> tool_pb2.ToolList | None:
    """The tools that stand after a request, of which no record tells."""
    if raw.HasField("standing_tools"):
        return raw.standing_tools
    if before is None and raw.HasField("tools"):
        return raw.tools
    return before
