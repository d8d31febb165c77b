# Made from ../_async by `generate`; not to be edited.
"""The graph of exchanges: walked, compared, drawn, searched, summed. Knows nothing of how turns are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Literal

from antiphon._sync.calls import Calls
from antiphon.exchange import Exchange
from antiphon.gen.antiphon.v1 import graph_pb2, run_pb2
from antiphon.gen.antiphon.v1 import graph_service_pb2 as pb
from antiphon.graph import Difference, Hit, Node, Scope, UsageSum, scope_of
from antiphon.request import exchange_point
from antiphon.word import number


class Graph(Calls):
    """Reads; nothing here changes anything or calls a model."""

    def ancestors(self, exchange: Exchange | str, *, timeout: float | None = None) -> Iterator[Node]:
        """The exchanges before one, the parent first and the root last."""
        request = pb.ListAncestorsRequest(exchange_id=exchange_point(exchange).exchange_id)
        for page in self._pages(self._graph.ListAncestors, request, timeout):
            for node in page.exchanges:
                yield Node(node)

    def children(self, exchange: Exchange | str, *, timeout: float | None = None) -> Iterator[Node]:
        """The exchanges that follow from one, oldest first."""
        request = pb.ListChildrenRequest(exchange_id=exchange_point(exchange).exchange_id)
        for page in self._pages(self._graph.ListChildren, request, timeout):
            for node in page.exchanges:
                yield Node(node)

    def common_ancestor(self, exchanges: Sequence[Exchange | str], *, timeout: float | None = None) -> Node | None:
        """The last exchange that is on the paths of all; None where they have none in common."""
        request = pb.GetCommonAncestorRequest(exchanges=map(exchange_point, exchanges))
        found = self._call(self._graph.GetCommonAncestor, request, timeout)
        return Node(found.exchange) if found.HasField("exchange") else None

    def diff(self, left: Exchange | str, right: Exchange | str, *, timeout: float | None = None) -> Difference:
        """In what two exchanges with their histories differ; what is the same stays out."""
        request = pb.DiffRequest(left=exchange_point(left), right=exchange_point(right), omit_same_messages=True)
        pages: list[pb.DiffResponse] = []
        for page in self._pages(self._graph.Diff, request, timeout):
            pages.append(page)
        return Difference.of(pages)

    def graph(
        self,
        scope: Scope,
        form: Literal["text", "dot", "mermaid"] = "text",
        *,
        detail: Literal["turns", "exchanges", "forks"] = "turns",
        previews: bool = False,
        timeout: float | None = None,
    ) -> str:
        """A part of the graph, drawn: as text for a terminal, or for Graphviz or Mermaid."""
        request = pb.GetGraphRequest(
            scope=scope_of(scope),
            format=graph_pb2.GraphFormat.ValueType(number(graph_pb2.GraphFormat.DESCRIPTOR, form)),
            detail=graph_pb2.GraphDetail.ValueType(number(graph_pb2.GraphDetail.DESCRIPTOR, detail)),
            include_previews=previews,
        )
        drawn = ""
        for page in self._pages(self._graph.GetGraph, request, timeout):
            drawn += page.text
        return drawn

    def search(
        self,
        text: str = "",
        *,
        scope: Scope | None = None,
        labels: Mapping[str, str] | None = None,
        models: Sequence[str] = (),
        offered_tools: Sequence[str] = (),
        called_tools: Sequence[str] = (),
        states: Sequence[str] = (),
        roots_only: bool = False,
        since: datetime | None = None,
        before: datetime | None = None,
        timeout: float | None = None,
    ) -> Iterator[Hit]:
        """What all of this holds for, newest first: its own messages have this text, it lies in this part of the graph, its run has these labels and
        is in one of these states, one of these models answered, it offered or called one of these tools."""
        request = pb.SearchRequest(
            text=text,
            labels=labels,
            models=models,
            offered_tools=offered_tools,
            called_tools=called_tools,
            run_states=[run_pb2.RunState.ValueType(number(run_pb2.RunState.DESCRIPTOR, state)) for state in states],
            roots_only=roots_only,
        )
        if scope is not None:
            request.scope.CopyFrom(scope_of(scope))
        if since is not None:
            request.from_time.FromDatetime(since)
        if before is not None:
            request.before_time.FromDatetime(before)
        for page in self._pages(self._graph.Search, request, timeout):
            for hit in page.hits:
                yield Hit.of(hit)

    def usage(
        self,
        *scopes: Scope,
        runs: Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> UsageSum:
        """What all runs of these parts of the graph, with these ids, or with all these labels consumed: those that any of it names, each counted
        once however many branches share it."""
        raw = [graph_pb2.UsageScope(graph=scope_of(scope)) for scope in scopes]
        if runs:
            raw.append(graph_pb2.UsageScope(run_set=graph_pb2.RunSet(run_ids=runs)))
        if labels:
            raw.append(graph_pb2.UsageScope(label_set=graph_pb2.LabelSet(labels=labels)))
        return UsageSum.of(self._call(self._graph.SumUsage, pb.SumUsageRequest(scopes=raw), timeout))
