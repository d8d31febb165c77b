"""Single turns that are kept, probes that are not, and what the caller made itself. Knows nothing of loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from antiphon._async.callbacks import OnDelta
from antiphon._async.calls import Calls
from antiphon._async.response import Response, Result
from antiphon._async.transport import resolve
from antiphon.exchange import Exchange, Probe
from antiphon.gen.antiphon.v1 import exchange_service_pb2 as pb
from antiphon.gen.antiphon.v1 import execution_pb2, run_service_pb2
from antiphon.message import Said, raw_messages
from antiphon.record import Facts, Recorded
from antiphon.request import Input, NewThread, Request, ThreadPoint, ThreadTurn, exchange_point, request_of, results_of
from antiphon.retry import fresh


class Turns(Calls):
    """One call to a model at a time; tools that it asks for are left to the caller."""

    async def capture(
        self,
        request: Request | str,
        *,
        thread: ThreadPoint | NewThread | None = None,
        on_delta: OnDelta | None = None,
        timeout: float | None = None,
    ) -> Exchange:
        """Executes a request at a root and keeps the exchange, on a thread without exchanges if one is given."""
        if on_delta is not None:
            return await _heard(self.stream(request, thread=thread, timeout=timeout), on_delta)
        raw = capture_of(request, thread)
        return Exchange((await self._call(self._exchanges.Capture, raw, timeout, raw.request)).exchange)

    async def continue_(
        self,
        point: Exchange | ThreadPoint | str,
        request: Input,
        *,
        on_delta: OnDelta | None = None,
        timeout: float | None = None,
    ) -> Exchange:
        """A new turn: from an exchange or its id, where no head moves, or from a thread, whose head moves. In place of a request it takes
        the results of all calls that are pending there, with which the same run goes on."""
        return await self._continue(turn_of(point, request), on_delta, timeout)

    def stream(
        self,
        request: Input,
        *,
        after: Exchange | ThreadPoint | str | None = None,
        thread: ThreadPoint | NewThread | None = None,
        timeout: float | None = None,
    ) -> Response[Exchange]:
        """`capture`, or `continue_` where `after` says from what, as an answer to read as it comes."""
        if after is not None:
            if thread is not None:
                raise ValueError("`thread` is for a first turn; one that goes on has its thread in `after`")
            return self._stream_turn(turn_of(after, request), timeout)
        if not isinstance(request, Request | str):
            raise ValueError("results of tool calls need `after`, the exchange or thread with the calls")
        raw = capture_of(request, thread)
        streamed = pb.StreamCaptureRequest(capture=raw)
        run = streamed.capture.request
        method = self._exchanges.StreamCapture
        return Response(method, streamed, self._metadata, _captured, run, self._cancel_run, timeout)

    async def fork_once(
        self,
        source: Exchange | ThreadTurn | str,
        request: Request | str,
        *,
        allow_side_effects: bool = False,
        on_delta: OnDelta | None = None,
        timeout: float | None = None,
    ) -> Probe:
        """Asks something from a point of history and leaves nothing behind. One call to the model: calls of tools come back as its stop
        reason. Tools with side effects are refused unless `allow_side_effects` says otherwise, and those that need a person always."""
        raw = pb.ProbeRequest(request=request_of(request).to_raw(), allow_side_effects=allow_side_effects)
        if isinstance(source, ThreadTurn):
            raw.thread.CopyFrom(source.to_raw())
        else:
            raw.exchange.CopyFrom(exchange_point(source))
        if on_delta is None:
            return Probe(await self._call(self._exchanges.Probe, raw, timeout))
        streamed = pb.StreamProbeRequest(probe=raw)
        run = streamed.probe.request
        method = self._exchanges.StreamProbe
        return await _heard(
            Response(method, streamed, self._metadata, Probe, run, self._cancel_run, timeout), on_delta
        )

    async def record(
        self,
        messages: Sequence[Said] | Probe,
        *,
        after: Exchange | ThreadPoint | str | None = None,
        thread: ThreadPoint | NewThread | None = None,
        facts: Sequence[Facts] = (),
        labels: Mapping[str, str] | None = None,
        request_id: str = "",
        timeout: float | None = None,
    ) -> Recorded:
        """Stores what the caller said and heard itself, cut after each assistant message; what is stored already is found again.

        The messages are a whole transcript, or what comes `after` an exchange or a thread's head. `thread` is one that goes through the
        transcript and moves to its end, or one to make. A probe is stored as what it brought.
        """
        if isinstance(messages, Probe):
            raw = pb.RecordRequest()
            raw.CopyFrom(messages.raw.promotion)
            raw.labels.update(labels or {})
        else:
            raw = pb.RecordRequest(
                messages=raw_messages(messages), facts=[fact.to_raw() for fact in facts], labels=labels
            )
        raw.request_id = request_id or raw.request_id or fresh()
        if isinstance(after, ThreadPoint):
            raw.after_head.SetInParent()
            raw.existing_thread.CopyFrom(after.to_raw())
        elif after is not None:
            raw.after_exchange.CopyFrom(exchange_point(after))
        if isinstance(thread, ThreadPoint):
            raw.existing_thread.CopyFrom(thread.to_raw())
        elif thread is not None:
            raw.new_thread.CopyFrom(thread.to_raw())
        return Recorded.of(await self._call(self._exchanges.Record, raw, timeout))

    async def _settled(self, exchange: Exchange) -> str:
        """The id of an exchange that was not captured, once it is on record with all that was said before it, each turn by itself. What is
        there already is found again."""
        prefix = exchange.prefix()
        said = [*prefix.rendered_messages, prefix.assistant]
        raw = pb.RecordRequest(messages=said, facts=[prefix.facts], request_id=fresh())
        raw.facts[0].message_index = len(said) - 1
        return (await self._call(self._exchanges.Record, raw, None)).exchange_id

    async def _continue(self, raw: pb.ContinueRequest, on_delta: OnDelta | None, timeout: float | None) -> Exchange:
        if on_delta is not None:
            return await _heard(self._stream_turn(raw, timeout), on_delta)
        return Exchange((await self._call(self._exchanges.Continue, raw, timeout, _run(raw))).exchange)

    def _stream_turn(self, raw: pb.ContinueRequest, timeout: float | None) -> Response[Exchange]:
        streamed = pb.StreamContinueRequest(turn=raw)
        method = self._exchanges.StreamContinue
        run = _run(streamed.turn)
        return Response(method, streamed, self._metadata, _captured, run, self._cancel_run, timeout)

    async def _cancel_run(self, run_id: str) -> None:
        await self._call(self._runs.Cancel, run_service_pb2.RunServiceCancelRequest(run_id=run_id), None)


def continuation(point: Exchange | ThreadPoint | str, request: Input) -> pb.ContinueRequest:
    """A new turn, as it goes out; what was not captured goes along with it, in one write."""
    raw = pb.ContinueRequest()
    if isinstance(request, Request | str):
        raw.request.CopyFrom(request_of(request).to_raw())
        raw.request.run_id = raw.request.run_id or fresh()
    else:
        raw.tool_results.CopyFrom(results_of(request))
    if isinstance(point, ThreadPoint):
        raw.thread.CopyFrom(point.to_raw())
    elif isinstance(point, Exchange) and not point.captured:
        raw.uncaptured_prefix.CopyFrom(point.prefix())
    else:
        raw.exchange.CopyFrom(exchange_point(point))
    return raw


def turn_of(point: Exchange | ThreadPoint | str, request: Input) -> pb.ContinueRequest:
    """A new turn from what is on record, as it goes out."""
    if isinstance(point, Exchange):
        # Storing what was not captured is for `reply`, which says so.
        exchange_point(point)
    return continuation(point, request)


def _run(raw: pb.ContinueRequest) -> execution_pb2.ExecutionRequest | execution_pb2.ToolResults:
    return raw.request if raw.HasField("request") else raw.tool_results


def capture_of(request: Request | str, thread: ThreadPoint | NewThread | None) -> pb.CaptureRequest:
    """A first turn, as it goes out."""
    raw = pb.CaptureRequest(request=request_of(request).to_raw())
    raw.request.run_id = raw.request.run_id or fresh()
    if isinstance(thread, ThreadPoint):
        raw.existing_thread.CopyFrom(thread.to_raw())
    elif thread is not None:
        raw.new_thread.CopyFrom(thread.to_raw())
    return raw


def _captured(completed: pb.CaptureResponse | pb.ContinueResponse) -> Exchange:
    return Exchange(completed.exchange)


async def _heard(response: Response[Result], on_delta: OnDelta) -> Result:
    """The whole answer, with its pieces told on the way."""
    async with response:
        async for delta in response:
            await resolve(on_delta(delta))
        return await response.result()
