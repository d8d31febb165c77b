# Made from ../_async by `generate`; not to be edited.
"""What would be sent, before it is: looked at, and kept for one execution. Knows nothing of loops."""

from __future__ import annotations

from datetime import datetime

from antiphon._sync.turns import Turns, capture_of, turn_of
from antiphon.exchange import Exchange
from antiphon.explanation import Explanation, Prepared
from antiphon.gen.antiphon.v1 import exchange_service_pb2 as pb
from antiphon.request import Input, NewThread, Request, ThreadPoint, exchange_point, request_of
from antiphon.retry import fresh


class Explain(Turns):
    """Looks ahead: nothing but `execute` calls a model."""

    def explain(
        self,
        request: Input,
        *,
        after: Exchange | ThreadPoint | str | None = None,
        thread: ThreadPoint | NewThread | None = None,
        timeout: float | None = None,
    ) -> Explanation:
        """What `capture`, or `continue_` where `after` says from what, would send."""
        raw = pb.ExplainRequest()
        if after is not None:
            raw.turn.CopyFrom(turn_of(after, request))
        elif isinstance(request, Request | str):
            raw.capture.CopyFrom(capture_of(request, thread))
        else:
            raise ValueError("results of tool calls need `after`, the exchange or thread with the calls")
        return Explanation.of((self._call(self._exchanges.Explain, raw, timeout)).explanation)

    def explain_exchange(self, exchange: Exchange | str, *, timeout: float | None = None) -> Explanation:
        """What was sent for an exchange, derived again from what is stored; `matches` says whether that is what went out."""
        raw = pb.ExplainRequest(exchange=exchange_point(exchange))
        found = self._call(self._exchanges.Explain, raw, timeout)
        return Explanation.of(found.explanation, found.sent)

    def prepare(
        self,
        request: Request | str,
        *,
        after: Exchange | ThreadPoint | str | None = None,
        capture: bool = False,
        expires: datetime | None = None,
        timeout: float | None = None,
    ) -> Prepared:
        """Resolves and renders a request, shows what would be sent, and keeps that for one `execute`. Whether the exchange is kept then is said
        now."""
        raw = pb.PrepareRequest(request=request_of(request).to_raw(), capture=capture)
        raw.request.run_id = raw.request.run_id or fresh()
        if isinstance(after, ThreadPoint):
            raw.thread.CopyFrom(after.to_raw())
        elif after is not None:
            raw.exchange.CopyFrom(exchange_point(after))
        if expires is not None:
            raw.expire_time.FromDatetime(expires)
        return Prepared.of(self._call(self._exchanges.Prepare, raw, timeout), raw.request.run_id)

    def execute(self, prepared: Prepared, *, timeout: float | None = None) -> Exchange:
        """Executes what was prepared, exactly as it was shown. Once: again gives the same answer."""
        execution = pb.PreparedExecution(prepared_id=prepared.prepared_id, run_id=prepared.run_id)
        raw = pb.RunRequest(prepared=execution, include_rendered_messages=True)
        answer = self._call(self._exchanges.Run, raw, timeout)
        if answer.HasField("exchange"):
            return Exchange(answer.exchange)
        return Exchange.uncaptured(answer, 0, None)
