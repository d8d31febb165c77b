"""The graph of exchanges as it is read: nodes, parts, differences, finds and sums. Knows nothing of how they are asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from antiphon.exchange import Exchange, stop_reason
from antiphon.gen.antiphon.v1 import exchange_pb2, execution_pb2, graph_pb2, graph_service_pb2, run_pb2, workspace_pb2
from antiphon.message import Message
from antiphon.request import exchange_point
from antiphon.tool import OfferedTool
from antiphon.usage import Usage
from antiphon.word import word
from antiphon.workspace import DocumentChange

Item = TypeVar("Item")


@dataclass(frozen=True)
class Subtree:
    """An exchange and all that follows from it, or at most so many steps."""

    exchange: Exchange | str
    max_steps: int | None = None


@dataclass(frozen=True)
class ThreadPath:
    """The path from the root to a thread's head."""

    thread_id: str


@dataclass(frozen=True)
class ThreadTree:
    """The whole tree that a thread's path is in, with its siblings."""

    thread_id: str


Scope = Exchange | str | Subtree | ThreadPath | ThreadTree
"""A part of the graph. An exchange, or its id, is the path from the root to it."""


@dataclass(frozen=True)
class Node:
    """An exchange in the graph, without its content; `inspect` has that."""

    raw: graph_pb2.ExchangeNode

    @property
    def exchange_id(self) -> str:
        """Its id."""
        return self.raw.exchange_id

    @property
    def parent_exchange_id(self) -> str:
        """The exchange before it; empty at a root."""
        return self.raw.parent_exchange_id

    @property
    def run_id(self) -> str:
        """Its run."""
        return self.raw.run_id

    @property
    def thread_id(self) -> str:
        """The thread that it was made on; empty without one."""
        return self.raw.thread_id

    @property
    def turn(self) -> int:
        """The number of its turn on its path."""
        return self.raw.turn

    @property
    def depth(self) -> int:
        """How many exchanges are on the path to it, itself included."""
        return self.raw.depth

    @property
    def ends_turn(self) -> bool:
        """Whether it is the last exchange of a completed run."""
        return self.raw.ends_turn

    @property
    def origin(self) -> str:
        """How it came to be here: `executed`, `recorded` or `imported`."""
        return word(exchange_pb2.ExchangeOrigin.DESCRIPTOR, self.raw.origin)

    @property
    def model(self) -> str:
        """The model that was asked for; empty where the caller did not say."""
        return self.raw.responder.model

    @property
    def stop_reason(self) -> str:
        """Why the model stopped."""
        return stop_reason(self.raw.stop_reason)

    @property
    def usage(self) -> Usage:
        """What it consumed."""
        return Usage.of(self.raw.usage)

    @property
    def labels(self) -> dict[str, str]:
        """Its labels."""
        return dict(self.raw.labels)

    @property
    def user(self) -> str:
        """The beginning of what was asked."""
        return self.raw.user_preview

    @property
    def assistant(self) -> str:
        """The beginning of the answer."""
        return self.raw.assistant_preview

    @property
    def child_count(self) -> int:
        """How many exchanges follow from it."""
        return self.raw.child_count


@dataclass(frozen=True)
class Change(Generic[Item]):
    """One thing that differs."""

    name: str
    """Of a setting or a tool its name; of a message its place after the common ancestor, counted from 0."""
    kind: str
    """`added`, `removed` or `changed`, from left to right."""
    left: Item | None
    right: Item | None


@dataclass(frozen=True)
class Difference:
    """In what two exchanges and their histories differ."""

    common_ancestor_exchange_id: str
    """The last exchange on both paths; empty where there is none."""
    left_count: int
    """How many exchanges only the left path has."""
    right_count: int
    messages: list[Change[Message]]
    settings: list[Change[Any]]
    tools: list[Change[OfferedTool]]
    documents: list[DocumentChange]
    """Those of the workspaces as of the two."""
    raw: list[graph_service_pb2.DiffResponse]
    """The pages that it was read from."""

    @classmethod
    def of(cls, pages: list[graph_service_pb2.DiffResponse]) -> Difference:
        """Reads it."""
        first = pages[0]
        messages = [_change(str(raw.index), raw, Message) for page in pages for raw in page.messages]
        settings = [_change(raw.name, raw, _value) for page in pages for raw in page.settings]
        tools = [_change(raw.name, raw, OfferedTool.of) for page in pages for raw in page.tools]
        documents = [DocumentChange.of(raw) for page in pages for raw in page.documents]
        counts = first.left_count, first.right_count
        return cls(first.common_ancestor_exchange_id, *counts, messages, settings, tools, documents, pages)


@dataclass(frozen=True)
class Hit:
    """Something that was found."""

    run_id: str
    run_state: str
    exchange: Node | None
    """None for a run that has none."""
    snippet: str
    """The text that was looked for, with what is around it; empty without a search for text."""
    raw: graph_pb2.SearchHit

    @classmethod
    def of(cls, raw: graph_pb2.SearchHit) -> Hit:
        """Reads it."""
        node = Node(raw.exchange) if raw.HasField("exchange") else None
        return cls(raw.run_id, word(run_pb2.RunState.DESCRIPTOR, raw.run_state), node, raw.snippet, raw)


@dataclass(frozen=True)
class ModelUsage:
    """What the calls to one model consumed."""

    backend_id: str
    """Empty where callers made the calls."""
    model: str
    usage: Usage
    calls: int
    """Those that failed included."""


@dataclass(frozen=True)
class UsageSum:
    """What runs consumed, each counted once."""

    usage: Usage
    run_count: int
    models: list[ModelUsage]
    costs: dict[str, str]
    """What it may have cost, by currency, as decimal numbers in text; empty without prices."""
    raw: graph_service_pb2.SumUsageResponse

    @classmethod
    def of(cls, raw: graph_service_pb2.SumUsageResponse) -> UsageSum:
        """Reads it."""
        models = [ModelUsage(one.backend_id, one.model, Usage.of(one.usage), one.attempt_count) for one in raw.models]
        costs = {estimate.currency: estimate.amount for estimate in raw.cost_estimates}
        return cls(Usage.of(raw.usage), raw.run_count, models, costs, raw)


def scope_of(scope: Scope) -> graph_pb2.GraphScope:
    """A part of the graph, as it goes out."""
    raw = graph_pb2.GraphScope()
    if isinstance(scope, Subtree):
        raw.subtree.exchange_id = exchange_point(scope.exchange).exchange_id
        if scope.max_steps is not None:
            raw.subtree.max_steps = scope.max_steps
    elif isinstance(scope, ThreadPath):
        raw.thread_path.thread_id = scope.thread_id
    elif isinstance(scope, ThreadTree):
        raw.thread_tree.thread_id = scope.thread_id
    else:
        raw.path.exchange_id = exchange_point(scope).exchange_id
    return raw


class _Sided(Protocol):
    """What a difference of some kind has; which side there is, its `HasField` says."""

    @property
    def kind(self) -> int: ...
    @property
    def left(self) -> Any: ...
    @property
    def right(self) -> Any: ...
    def HasField(self, field_name: Any, /) -> bool: ...


def _change(name: str, raw: _Sided, read: Callable[[Any], Item]) -> Change[Item]:
    left = read(raw.left) if raw.HasField("left") else None
    right = read(raw.right) if raw.HasField("right") else None
    return Change(name, word(workspace_pb2.ChangeKind.DESCRIPTOR, raw.kind), left, right)


def _value(raw: execution_pb2.EffectiveSetting) -> Any:
    return json.loads(raw.value_json)
