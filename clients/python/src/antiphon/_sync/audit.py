# Made from ../_async by `generate`; not to be edited.
"""Which tools calls had, which calls had a tool, and where its schema changed. Knows nothing of tools that are called now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from antiphon._sync.calls import Calls
from antiphon.audit import CallTools, Drift, ToolOccurrence
from antiphon.exchange import Exchange
from antiphon.gen.antiphon.v1 import tool_service_pb2 as pb
from antiphon.graph import Scope, scope_of
from antiphon.request import exchange_point
from antiphon.word import number


class Audit(Calls):
    """Reads what is on record of tools."""

    def call_tools(self, exchange: Exchange | str, *, timeout: float | None = None) -> CallTools:
        """The tools of the call that made an exchange: offered, standing and called."""
        request = pb.GetCallToolsRequest(exchange_id=exchange_point(exchange).exchange_id)
        return CallTools.of(self._call(self._tools.GetCallTools, request, timeout))

    def tool_occurrences(
        self,
        name: str,
        *,
        kind: Literal["offered", "called"] | None = None,
        schema_hash: str = "",
        scope: Scope | None = None,
        timeout: float | None = None,
    ) -> Iterator[ToolOccurrence]:
        """The calls that had a tool, newest first: offered it, or called it, or either; with this schema, in this part of the graph."""
        request = pb.ListToolOccurrencesRequest(name=name, schema_hash=schema_hash)
        if kind is not None:
            request.kind = pb.ToolOccurrenceKind.ValueType(number(pb.ToolOccurrenceKind.DESCRIPTOR, kind))
        if scope is not None:
            request.scope.CopyFrom(scope_of(scope))
        for page in self._pages(self._tools.ListToolOccurrences, request, timeout):
            for occurrence in page.occurrences:
                yield ToolOccurrence.of(occurrence)

    def tool_drifts(self, scope: Scope, name: str = "", *, timeout: float | None = None) -> Iterator[Drift]:
        """Where on a path a tool's schema is another one than before, nearest to the root first; of one tool, or of all."""
        request = pb.ListToolDriftsRequest(scope=scope_of(scope), name=name)
        for page in self._pages(self._tools.ListToolDrifts, request, timeout):
            for drift in page.drifts:
                yield Drift.of(drift)
