"""What a coordination asks and is told: decisions, next actions, outcomes. Knows nothing of streams."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import Literal

import grpc

from antiphon.error import CODES, Error, from_status
from antiphon.exchange import Exchange, Warning, stop_reason
from antiphon.gen.antiphon.v1 import coordination_pb2 as pb
from antiphon.gen.antiphon.v1 import execution_pb2
from antiphon.request import Request, UnansweredTools, results_of, unanswered_tools_of
from antiphon.tool import ToolResult
from antiphon.word import word


@dataclass(frozen=True)
class Decision:
    """A result is presented and the next action is asked for. No backend capacity is held meanwhile."""

    decision_id: str
    exchange: Exchange
    """The result; or, when `starting`, what the coordination was started from."""
    starting: bool
    turns_started: int
    turns_remaining: int
    """How many turns can still be started; asking for one when it is 0 ends in `exhausted`."""
    stop_reason: str
    """Why the model stopped, for the turn as a whole: `tool_round_limit` where calls were left unanswered at the limit of rounds."""
    thread_id: str
    """The thread that the next turn moves; empty without one."""
    interrupted_run_id: str
    """A stop of the server interrupted this run, started from the same exchange; its turn stays consumed. Empty when there is none."""
    coordination_id: str
    """Empty when it is ephemeral."""
    raw: pb.DecisionNeeded

    @property
    def warnings(self) -> list[Warning]:
        """What the caller should know of the turn, all of its calls to the model included."""
        return self.exchange.warnings


@dataclass(frozen=True)
class Continue:
    """Another turn, from the exchange that was presented: with a request, or with results of the calls that it left unanswered."""

    request: Request | str | None = None
    tool_results: Sequence[ToolResult] = ()
    unanswered_tools: UnansweredTools | None = None
    """What to do with a request while tool calls are unanswered."""
    detach_thread: bool = False
    """Go on without the thread from here on, as when its head was moved by others."""


@dataclass(frozen=True)
class Stop:
    """The caller has what it wanted."""


@dataclass(frozen=True)
class Fail:
    """The caller failed, in a way that has a code and a reason. An exception does the same with its own class and text."""

    message: str
    code: grpc.StatusCode = grpc.StatusCode.UNKNOWN
    reason: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    details_json: str = ""


@dataclass(frozen=True)
class Suspend:
    """Not now: the decision stays pending, to be taken after an `attach` from anywhere."""


Action = Continue | Stop | Fail | Suspend


@dataclass(frozen=True)
class Outcome:
    """How a coordination went that neither failed nor was cancelled. None of the states says anything about the last result's worth."""

    state: Literal["stopped", "exhausted", "suspended"]
    """The caller said stop; or asked for a turn when none was left; or left it for later."""
    coordination_id: str
    undelivered: Exchange | None = None
    """A completed result that was never presented."""

    @property
    def exhausted(self) -> bool:
        """Whether a turn was asked for and none was left."""
        return self.state == "exhausted"


class Cancellation:
    """Ends a coordination from anywhere, another thread included: give it to `coordinate`, then call `cancel`."""

    def __init__(self) -> None:
        # A signal handler may cancel while the thread that it interrupts holds it.
        self._lock = RLock()
        self._told: Callable[[pb.CoordinateRequest], None] | None = None
        self._message: str | None = None

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._message is not None

    def cancel(self, message: str = "") -> None:
        """Ends it. A callback that is at work is not killed, but no other is made and no further turn starts."""
        with self._lock:
            self._message = message
            if self._told is not None:
                self._told(cancel_frame(message))

    def bind(self, send: Callable[[pb.CoordinateRequest], None] | None) -> None:
        """Names the stream to say it on; for the client's own use."""
        with self._lock:
            self._told = send
            if send is not None and self._message is not None:
                send(cancel_frame(self._message))


def decision_of(raw: pb.DecisionNeeded, coordination_id: str, exchange: Exchange) -> Decision:
    """What the callback sees."""
    return Decision(
        decision_id=raw.decision_id,
        exchange=exchange,
        starting=raw.starting,
        turns_started=raw.turns_started,
        turns_remaining=raw.turns_remaining,
        stop_reason=stop_reason(raw.run.stop_reason or raw.exchange.stop_reason),
        thread_id=raw.thread_id,
        interrupted_run_id=raw.interrupted_run_id,
        coordination_id=coordination_id,
        raw=raw,
    )


def cancel_frame(message: str) -> pb.CoordinateRequest:
    """The frame that ends a coordination."""
    return pb.CoordinateRequest(cancel=pb.CoordinationCancel(message=message[:1024]))


def action_frame(
    decision_id: str,
    action: Action,
    offered: Callable[[Request | str], execution_pb2.ExecutionRequest],
) -> pb.CoordinateRequest:
    """The frame of an action; `offered` writes its request with the tools that the coordination offers."""
    if isinstance(action, Suspend):
        return pb.CoordinateRequest(suspend=pb.CoordinationSuspend())
    answer = pb.NextAction(decision_id=decision_id)
    if not isinstance(action, Action):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"next_action returned {action!r} in place of Continue, Stop, Fail or Suspend")
    if isinstance(action, Stop):
        answer.stop.SetInParent()
    elif isinstance(action, Fail):
        answer.fail.CopyFrom(_fail(action))
    else:
        if (action.request is None) is not bool(action.tool_results):
            raise ValueError("Continue takes either a request or tool_results")
        if action.request is not None:
            answer.turn.request.CopyFrom(offered(action.request))
        else:
            answer.turn.tool_results.CopyFrom(results_of(action.tool_results))
        if action.unanswered_tools is not None:
            answer.turn.unanswered_tools = unanswered_tools_of(action.unanswered_tools)
        answer.turn.detach_thread = action.detach_thread
    return pb.CoordinateRequest(next_action=answer)


def failure_frame(decision_id: str, failure: Exception) -> pb.CoordinateRequest:
    """The frame of a callback that raised: the class of the exception is the reason, unless it says its own."""
    if isinstance(failure, Error):
        code = failure.code if failure.code is not grpc.StatusCode.OK else grpc.StatusCode.UNKNOWN
        fail = Fail(failure.message, code, failure.reason, failure.metadata)
    else:
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(failure).__name__).upper()
        fail = Fail(str(failure), reason=re.sub(r"[^A-Z0-9_]", "_", words)[:63])
    return pb.CoordinateRequest(next_action=pb.NextAction(decision_id=decision_id, fail=_fail(fail)))


def rejection(rejected: pb.AnswerRejected, coordination_id: str) -> Error:
    """Why an answer changed nothing."""
    error = from_status(rejected.error)
    error.metadata.setdefault("coordination_id", coordination_id)
    if rejected.HasField("retry_after"):
        error.retry_after = rejected.retry_after.ToNanoseconds() / 1e9
    return error


def outcome_of(ended: pb.CoordinationEnded, coordination_id: str) -> Outcome | Error:
    """How it ended."""
    undelivered = Exchange(ended.undelivered_exchange) if ended.HasField("undelivered_exchange") else None
    which = ended.WhichOneof("outcome")
    if which == "stopped" or which == "exhausted":
        return Outcome(which, coordination_id, undelivered)
    if which is None:
        # A newer server may have more ways than this package knows.
        error = Error(grpc.StatusCode.UNKNOWN, "the coordination ended in a way that this client does not know: read it by its id")
    else:
        error = from_status(ended.failed.error if which == "failed" else ended.cancelled.error)
    error.undelivered = undelivered
    return error


def detached(frame: pb.CoordinationDetached) -> Outcome | Error:
    """What a stream says that ends before its coordination: asked for with Suspend, or not."""
    if frame.reason == pb.DETACH_REASON_SUSPENDED:
        return Outcome("suspended", frame.coordination_id)
    reason = word(pb.DetachReason.DESCRIPTOR, frame.reason).upper()
    taken = frame.reason == pb.DETACH_REASON_TAKEN_OVER
    return Error(
        grpc.StatusCode.ABORTED if taken else grpc.StatusCode.UNAVAILABLE,
        f"coordination {frame.coordination_id} was detached ({reason}) and goes on without this stream; attach to it "
        + ("where it is not attached already" if taken else "again later"),
        reason=reason,
        metadata={"coordination_id": frame.coordination_id, "pending_id": frame.pending_id},
    )


def _fail(fail: Fail) -> pb.FailAction:
    code = fail.code.value[0]
    if CODES.get(code) is grpc.StatusCode.OK:
        raise ValueError("a failure has a code other than OK")
    return pb.FailAction(
        code=code,
        # At most 4 KiB of UTF-8.
        message=fail.message.encode("utf-8", "replace")[:4096].decode("utf-8", "ignore"),
        reason=fail.reason,
        metadata={key[:63]: value[:1024] for key, value in list(fail.metadata.items())[:64]},
        details_json=fail.details_json,
    )
