"""What the caller brings to a loop: functions, and what this process remembers of having asked them. Knows nothing of when they are called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from antiphon.coordination import Action, Cancellation, Decision
from antiphon.exchange import Delta
from antiphon.gen.antiphon.v1 import coordination_pb2 as pb
from antiphon.gen.antiphon.v1 import message_pb2
from antiphon.generation import Generated, Generation
from antiphon.request import ToolDrift
from antiphon.tool import ToolCall, ToolResult, Tools

NextAction = Callable[[Decision], Action | Awaitable[Action]]
BeforeCall = Callable[[ToolCall], None | Awaitable[None]]
AfterCall = Callable[[ToolCall, ToolResult], None | Awaitable[None]]
OnDelta = Callable[[Delta], None | Awaitable[None]]
Generate = Callable[[Generation], Generated | str | Awaitable[Generated | str]]


@dataclass
class Memory:
    """What this process has answered, so that no callback is made twice for one id. Forgotten when the coordination ends."""

    answers: dict[str, pb.CoordinateRequest] = field(default_factory=dict[str, pb.CoordinateRequest])
    results: dict[str, message_pb2.ToolResult] = field(default_factory=dict[str, message_pb2.ToolResult])


@dataclass
class Callbacks:
    """The caller's part."""

    next_action: NextAction
    tools: Tools | None
    before_call: BeforeCall | None
    after_call: AfterCall | None
    on_delta: OnDelta | None
    generate: Generate | None
    given: Cancellation | None
    on_tool_drift: ToolDrift | None = None
    standing: bool = False
    """The tools stand at the server already: they are called when the model says so, and not offered anew."""

    def __post_init__(self) -> None:
        self.cancellation = self.given or Cancellation()

    @property
    def cancelled(self) -> bool:
        """Whether nothing more is to be done."""
        return self.cancellation.cancelled
