"""Threads, runs and coordinations as they are read. Knows nothing of how they are asked for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from antiphon.error import Error, from_status
from antiphon.exchange import Exchange, stop_reason
from antiphon.gen.antiphon.v1 import coordination_pb2, run_pb2, thread_pb2, thread_service_pb2
from antiphon.message import Message
from antiphon.tool import ToolCall
from antiphon.usage import Spent, Usage
from antiphon.word import word


@dataclass(frozen=True)
class Thread:
    """A named bookmark into the graph, as it was when it was read."""

    raw: thread_pb2.Thread

    @property
    def thread_id(self) -> str:
        """Its id."""
        return self.raw.thread_id

    @property
    def name(self) -> str:
        """A name for people."""
        return self.raw.name

    @property
    def head_exchange_id(self) -> str:
        """The last exchange of its last completed run; empty when there is none."""
        return self.raw.head_exchange_id

    @property
    def turn_count(self) -> int:
        """How many turns lead to the head."""
        return self.raw.turn_count

    @property
    def etag(self) -> str:
        """Changes with every change of it."""
        return self.raw.etag

    @property
    def active_run_id(self) -> str:
        """The run at work, or the one that failed or was interrupted and may be resumed."""
        return self.raw.active_run_id

    @property
    def parent_thread_id(self) -> str:
        """The thread that it was forked from; empty when it was not, or at a bare exchange."""
        return self.raw.parent.thread_id

    @property
    def labels(self) -> dict[str, str]:
        """Its labels."""
        return dict(self.raw.labels)

    @property
    def metadata(self) -> Any:
        """The caller's own data; None when there is none."""
        return json.loads(self.raw.metadata_json) if self.raw.metadata_json else None

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls that wait for results."""
        return [ToolCall.of(call) for call in self.raw.pending.calls]


@dataclass(frozen=True)
class Turn:
    """One turn on a thread's path."""

    number: int
    run_id: str
    exchange_id: str
    user: str
    """The beginning of what was asked."""
    assistant: str
    """The beginning of the answer."""
    stop_reason: str

    @classmethod
    def of(cls, raw: thread_service_pb2.Turn) -> Turn:
        """Reads one."""
        return cls(
            raw.turn, raw.run_id, raw.exchange_id, raw.user_preview, raw.assistant_preview, stop_reason(raw.stop_reason)
        )


@dataclass(frozen=True)
class Move:
    """One move of a thread's head."""

    from_exchange_id: str
    """The head before; empty when there was none."""
    to_exchange_id: str
    """The head after."""
    run_id: str
    """The run that moved it; empty for a restore."""
    time: datetime
    from_root: str
    """The version of the documents before, by its name; empty for none."""
    to_root: str
    """The version of the documents after; empty for none."""

    @classmethod
    def of(cls, raw: thread_service_pb2.ThreadMove) -> Move:
        """Reads one."""
        ids = raw.from_exchange_id, raw.to_exchange_id, raw.run_id
        return cls(*ids, raw.time.ToDatetime(timezone.utc), raw.from_workspace_root, raw.to_workspace_root)


@dataclass(frozen=True)
class Run:
    """One prompt to its final assistant message, as it was when it was read."""

    raw: run_pb2.Run

    @property
    def run_id(self) -> str:
        """Its id."""
        return self.raw.run_id

    @property
    def state(self) -> str:
        """`queued`, `running`, `pending_tools`, `completed`, `failed`, `cancelled` or `interrupted`."""
        return word(run_pb2.RunState.DESCRIPTOR, self.raw.state)

    @property
    def captured(self) -> bool:
        """Whether its exchanges are kept."""
        return self.raw.captured

    @property
    def exchange_id(self) -> str:
        """Its last exchange; empty when it has none."""
        return self.raw.exchange_id

    @property
    def thread_id(self) -> str:
        """The thread that it moves; empty without one."""
        return self.raw.thread_id

    @property
    def attempt(self) -> int:
        """Which attempt under this id the state belongs to."""
        return self.raw.attempt

    @property
    def model_calls(self) -> int:
        """How often a model was called for it."""
        return len(self.raw.observations)

    @property
    def usage(self) -> Usage:
        """What it consumed, each call counted once."""
        return Usage.of(self.raw.usage)

    @property
    def error(self) -> Error | None:
        """Why it failed, was cancelled or interrupted."""
        return from_status(self.raw.error) if self.raw.HasField("error") else None

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the request."""
        return dict(self.raw.labels)


@dataclass(frozen=True)
class RunEvent:
    """Something that happened to a run that is followed."""

    sequence: int
    """Of a state its number, which stays for ever and is given to go on after it; 0 for what is not on record."""
    kind: str
    """`run` for a state, `text_so_far`, or what happened on the way, such as `delta`."""
    run: Run | None
    """The run, when it came to a state."""
    text: str
    """More of the answer's text, or what came of it before."""


@dataclass(frozen=True)
class Coordination:
    """One branch driven turn by turn, as it was when it was read."""

    raw: coordination_pb2.Coordination

    @property
    def coordination_id(self) -> str:
        """Its id."""
        return self.raw.coordination_id

    @property
    def state(self) -> str:
        """`turn_running`, `awaiting_decision`, `awaiting_tools`, `awaiting_generation`, or how it ended."""
        return word(coordination_pb2.CoordinationState.DESCRIPTOR, self.raw.state)

    @property
    def attached(self) -> bool:
        """Whether a stream is attached."""
        return self.raw.attached

    @property
    def pending_id(self) -> str:
        """What it waits for: a decision, a batch of calls, or a generation; empty when for nothing."""
        return self.raw.pending_id

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls that it waits for; only where a single one was asked for."""
        return [ToolCall.of(needed.call) for needed in self.raw.tools_needed.calls]

    @property
    def exchange_id(self) -> str:
        """Its last exchange."""
        return self.raw.exchange_id

    @property
    def turns_started(self) -> int:
        """How many turns were started."""
        return self.raw.turns_started

    @property
    def turns_remaining(self) -> int:
        """How many can still be."""
        return self.raw.turns_remaining

    @property
    def token_limit(self) -> int | None:
        """How many tokens all of its turns may spend together; None without that limit."""
        limit = self.raw.spend_limit
        return limit.tokens if limit.HasField("tokens") else None

    @property
    def cost_limit(self) -> str | None:
        """What they may cost, such as `2.5 USD`; None without that limit."""
        limit = self.raw.spend_limit
        return f"{limit.cost.amount} {limit.cost.currency}" if limit.HasField("cost") else None

    @property
    def spent(self) -> Spent:
        """What they spent, whether or not there is a limit."""
        return Spent.of(self.raw.spent)

    @property
    def labels(self) -> dict[str, str]:
        """Labels to list by."""
        return dict(self.raw.labels)


@dataclass(frozen=True)
class Inspection:
    """One exchange with its history."""

    exchange: Exchange
    messages: list[Message]
    """The whole logical history, the answer included; empty when none was asked for."""
    path: list[str]
    """The exchanges that they come from, by their ids, the root first."""
