# Made from ../_async by `generate`; not to be edited.
"""Drives one coordination: calls the callback and the tools, and attaches again when the stream breaks. Knows nothing of other calls."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

import grpc

from antiphon._sync.callbacks import Callbacks, Memory
from antiphon._sync.transport import Stream, each, invoke, resolve, sleep
from antiphon.coordination import (
    Outcome,
    action_frame,
    cancel_frame,
    decision_of,
    detached,
    failure_frame,
    outcome_of,
    rejection,
)
from antiphon.error import Error, from_rpc
from antiphon.exchange import Delta, Exchange, Warning, listed
from antiphon.gen.antiphon.v1 import coordination_pb2 as pb
from antiphon.gen.antiphon.v1 import exchange_pb2, execution_pb2, message_pb2
from antiphon.generation import Generation, failed_frame, generated_frame
from antiphon.pieces import ANEW, anew
from antiphon.request import Request, on_tool_drift_of, request_of
from antiphon.tool import Pause, Tool, ToolCall, ToolResult, text_of, tool_list, tools_of

HOOK_FAILED = "a hook of the caller failed"
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 2.0
# How long a cancellation may take to be heard, in seconds; then the native exception goes on all the same.
CANCEL_WAIT = 5.0
# With these the stream is taken for broken when the server itself said nothing.
BROKEN = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.CANCELLED)

NO_GENERATE = Error(
    grpc.StatusCode.UNIMPLEMENTED, "this client does not call models itself: give it `generate`, or use another backend"
)
ASKING = ("decision_needed", "tools_needed", "generation_needed")


class Coordinator:
    """One coordination, from its start or from an attach to the end of what this process has to do with it."""

    def __init__(
        self,
        open_stream: Callable[[], Stream],
        cancel: Callable[[str], None],
        callbacks: Callbacks,
        memory: Memory,
        coordination_id: str,
        attach_for: float,
    ) -> None:
        self._open = open_stream
        self._cancel = cancel
        self._callbacks = callbacks
        self._memory = memory
        self._id = coordination_id
        self._attach_for = attach_for
        self._functions: dict[str, Tool] = {tool.name: tool for tool in tools_of(callbacks.tools or ())}
        self._stream: Stream | None = None
        self._batch = pb.ToolsNeeded()
        self._sequence = 0
        self._started = pb.CoordinationStarted()
        self._failure: Exception | None = None
        self._pause_asked: Pause | None = None
        self._paused_calls: set[str] = set()
        self._generation_failure: Exception | None = None
        self._told: list[Warning] = []
        self._told_delta = False
        self._ephemeral = False
        self._history: list[message_pb2.Message] | None = None
        self._trouble_since: float | None = None
        self._pause = FIRST_PAUSE

    def offered(self, request: Request | str) -> execution_pb2.ExecutionRequest:
        """A request with the tools of the coordination, unless it has its own."""
        raw = request_of(request).to_raw()
        if isinstance(request, Request) and request.tools is not None:
            self._functions.update({tool.name: tool for tool in tools_of(request.tools)})
        elif self._callbacks.tools is not None and not self._callbacks.standing:
            raw.tools.CopyFrom(tool_list(self._callbacks.tools))
        if self._callbacks.on_tool_drift is not None and not raw.on_tool_drift:
            raw.on_tool_drift = on_tool_drift_of(self._callbacks.on_tool_drift)
        if not raw.run_id and any(tool.requires_human for tool in raw.tools.tools):
            # The answer of a person is waited for by this name, so it is not left to the server.
            raw.run_id = str(uuid.uuid4())
        return raw

    def run(self, start: pb.CoordinationStart | None) -> Outcome:
        """Follows it until it ended or is left for later; without a start, attaches."""
        if start is not None and start.ephemeral:
            self._ephemeral, self._history = True, [] if start.HasField("initial_request") else None
        try:
            while True:
                opened = time.monotonic()
                stream = self._stream = self._open()
                lost = Error(grpc.StatusCode.UNAVAILABLE, "the stream closed before its coordination ended")
                try:
                    stream.send(self._greeting(start))
                    self._callbacks.cancellation.bind(stream.send)
                    outcome = self._follow(stream)
                    if outcome is not None:
                        return outcome
                except grpc.RpcError as failed:
                    lost = from_rpc(failed)
                self._let_go()
                broken = lost.can_retry or (lost.code in BROKEN and not lost.reason)
                if not broken or (start is not None and start.ephemeral):
                    raise self._failure or lost
                if time.monotonic() - opened > LONGEST_PAUSE:
                    self._trouble_since = None
                self._wait(lost)
        except Exception:
            raise
        except BaseException:
            # The task was cancelled, or a person pressed Ctrl-C.
            self._abandon()
            raise
        finally:
            self._let_go()

    def _greeting(self, start: pb.CoordinationStart | None) -> pb.CoordinateRequest:
        # A start that was perhaps not heard is said again: with the same id it begins nothing twice.
        if start is not None and self._sequence == 0:
            return pb.CoordinateRequest(start=start)
        attach = pb.CoordinationAttach(coordination_id=self._id, after_sequence=self._sequence)
        attach.deltas = self._callbacks.on_delta is not None
        return pb.CoordinateRequest(attach=attach)

    def _let_go(self) -> None:
        self._callbacks.cancellation.bind(None)
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _wait(self, trouble: Error) -> None:
        """Waits before the next try, or raises when it has tried for long enough."""
        now = time.monotonic()
        if self._trouble_since is None:
            self._trouble_since, self._pause = now, FIRST_PAUSE
        if now - self._trouble_since >= self._attach_for:
            raise self._failure or trouble
        sleep(self._pause if trouble.retry_after is None else trouble.retry_after)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def _follow(self, stream: Stream) -> Outcome | None:
        """Reads until the coordination ends or lets go; None when the stream closed before."""
        while (frame := stream.receive()) is not None:
            which = frame.WhichOneof("frame")
            if frame.sequence > self._sequence:
                # Something new, and not only a question that is told again to whoever attaches.
                self._sequence, self._trouble_since = frame.sequence, None
            if which == "started":
                self._started = frame.started
            elif which == "warning":
                self._told.append(Warning.of(frame.warning))
            elif which in ASKING and self._is_past(frame):
                if which == "decision_needed":
                    self._told.clear()
            elif which == "decision_needed":
                self._decide(stream, frame.decision_needed)
            elif which == "tools_needed":
                self._run_tools(stream, frame.tools_needed)
            elif which == "generation_needed":
                self._generate(stream, frame.generation_needed)
            elif which == "rejected":
                self._rejected(stream, frame.rejected)
            elif which == "attempt":
                if anew(frame.attempt) and self._told_delta:
                    self._tell(stream, ANEW)
                self._told_delta = False
            elif which == "delta":
                delta = Delta.of(frame.delta)
                if delta is not None:
                    self._told_delta = True
                    self._tell(stream, delta)
            elif which == "detached":
                left = detached(frame.detached)
                if isinstance(left, Outcome) and self._pause_asked is None:
                    return left
                raise self._failure or (left if isinstance(left, Error) else self._paused(frame.detached))
            elif which == "ended":
                return self._end(stream, frame.ended)
        return None

    def _is_past(self, frame: pb.CoordinateResponse) -> bool:
        """Whether a question is told again that was answered before this stream was attached."""
        asked = frame.decision_needed.decision_id or frame.tools_needed.batch_id or frame.generation_needed.generation_id
        return frame.sequence <= self._started.last_sequence and asked != self._started.pending_id

    def _decide(self, stream: Stream, needed: pb.DecisionNeeded) -> None:
        cancellation = self._callbacks.cancellation
        if cancellation.cancelled:
            return
        answer = self._memory.answers.get(needed.decision_id)
        if answer is None and self._failure is not None:
            answer = cancel_frame(HOOK_FAILED)
        elif answer is None:
            try:
                decision = decision_of(needed, self._id, self._presented(needed))
                action = resolve(self._callbacks.next_action(decision))
                answer = action_frame(needed.decision_id, action, self.offered)
            except Exception as failure:
                self._failure = failure
                answer = failure_frame(needed.decision_id, failure)
            if answer.WhichOneof("frame") == "next_action":
                self._memory.answers[needed.decision_id] = answer
        if not cancellation.cancelled:
            stream.send(answer)

    def _presented(self, needed: pb.DecisionNeeded) -> Exchange:
        """The result with what is known of it beside its record."""
        told = tuple(self._told)
        self._told.clear()
        if not self._ephemeral or (needed.starting and self._history is None):
            return Exchange(needed.exchange, told=told)
        before = None if self._history is None else tuple(self._history)
        self._remember(needed.exchange)
        return Exchange(needed.exchange, False, before, listed(needed.exchange.tools.standing), told)

    def _remember(self, exchange: exchange_pb2.Exchange) -> None:
        """Keeps what was said where no record does."""
        if self._history is not None:
            self._history += [*exchange.messages, exchange.assistant]

    def _generate(self, stream: Stream, needed: pb.GenerationNeeded) -> None:
        if self._callbacks.cancellation.cancelled:
            return
        answer = self._memory.answers.get(needed.generation_id)
        if answer is None and self._failure is not None:
            answer = cancel_frame(HOOK_FAILED)
        elif answer is None:
            answer = self._memory.answers[needed.generation_id] = self._generated(needed)
        if not self._callbacks.cancellation.cancelled:
            stream.send(answer)

    def _generated(self, needed: pb.GenerationNeeded) -> pb.CoordinateRequest:
        if self._callbacks.generate is None:
            return failed_frame(needed.generation_id, NO_GENERATE)
        self._generation_failure = None
        try:
            made = invoke(self._callbacks.generate, [Generation.of(needed, self._id)], {})
            return generated_frame(needed.generation_id, made)
        except Exception as failure:
            self._generation_failure = failure
            return failed_frame(needed.generation_id, failure)

    def _paused(self, frame: pb.CoordinationDetached) -> Pause:
        """What a tool raised, with what is left to be answered."""
        pause = self._pause_asked or Pause()
        pause.coordination_id = frame.coordination_id
        calls = [ToolCall.of(needed.call) for needed in self._batch.calls]
        pause.calls = [call for call in calls if call.call_id in frame.pending_call_ids]
        return pause

    def _run_tools(self, stream: Stream, needed: pb.ToolsNeeded) -> None:
        if self._batch.batch_id != needed.batch_id:
            self._remember(needed.exchange)
        self._batch = needed

        def answer(call: pb.NeededToolCall) -> None:
            result = self._memory.results.get(call.call.call_id)
            if result is None and call.call.call_id not in self._paused_calls:
                result = self._result(call)
            if result is not None:
                # At once, so that a slow sibling puts no finished call at risk.
                self._memory.results[result.call_id] = result
                stream.send(_results(needed, [result]))

        if not self._callbacks.cancellation.cancelled and self._failure is None:
            each(answer, needed.calls)
        if self._failure is not None:
            stream.send(cancel_frame(HOOK_FAILED))
        elif self._pause_asked is not None:
            stream.send(pb.CoordinateRequest(suspend=pb.CoordinationSuspend()))

    def _result(self, needed: pb.NeededToolCall) -> message_pb2.ToolResult | None:
        call = ToolCall.of(needed.call)
        try:
            # What a failed call says is for the model, which may do better; its siblings keep their results.
            try:
                tool = self._functions.get(call.name) if needed.HasField("tool") else None
                if tool is None:
                    raise LookupError(f"there is no tool `{call.name}`")
                if self._callbacks.before_call is not None:
                    resolve(self._callbacks.before_call(call))
                result = ToolResult(call.call_id, text_of(invoke(tool.function, (), call.arguments)))
            except Pause as pause:
                self._pause_asked = pause
                self._paused_calls.add(call.call_id)
                return None
            except Exception as failure:
                result = ToolResult(call.call_id, f"{type(failure).__name__}: {failure}", is_error=True)
            if self._callbacks.after_call is not None:
                resolve(self._callbacks.after_call(call, result))
        except Exception as failure:
            self._failure = failure
            return None
        return result.to_raw()

    def _tell(self, stream: Stream, delta: Delta) -> None:
        if self._callbacks.on_delta is None or self._failure is not None:
            return
        try:
            resolve(self._callbacks.on_delta(delta))
        except Exception as failure:
            self._failure = failure
            stream.send(cancel_frame(HOOK_FAILED))

    def _rejected(self, stream: Stream, rejected: pb.AnswerRejected) -> None:
        """An answer changed nothing. It is given again where waiting helps; else the caller is told, and the decision stays pending."""
        if self._callbacks.cancellation.cancelled:
            return
        error = rejection(rejected, self._id)
        if self._failure is not None and rejected.id not in self._memory.answers:
            # It is being cancelled, and `ended` is on its way.
            return
        answer = self._memory.answers.get(rejected.id)
        if error.reason == "ANSWER_STALE" and answer is not None and answer.HasField("generated"):
            # The attempt had timed out by then. What comes of that, another one or the end, is told next.
            return
        if self._failure is not None or not error.can_retry:
            self._memory.answers.pop(rejected.id, None)
            raise self._failure or error
        self._wait(error)
        if rejected.id == self._batch.batch_id:
            calls = [call.call.call_id for call in self._batch.calls]
            stream.send(_results(self._batch, [self._memory.results[call_id] for call_id in calls]))
        elif rejected.id in self._memory.answers:
            stream.send(self._memory.answers[rejected.id])

    def _end(self, stream: Stream, ended: pb.CoordinationEnded) -> Outcome:
        outcome = outcome_of(ended, self._id)
        try:
            stream.receive()
        except grpc.RpcError as failed:
            # The trailers say the same, and two things more.
            if isinstance(outcome, Error):
                status = from_rpc(failed)
                outcome.request_id, outcome.retry_after = status.request_id, status.retry_after
        self._memory.answers.clear()
        self._memory.results.clear()
        if isinstance(outcome, Outcome):
            return outcome
        if self._failure is not None and not self._callbacks.cancellation.cancelled:
            raise self._failure
        made = self._generation_failure
        if made is not None and not isinstance(made, Error) and ended.HasField("failed"):
            raise made
        raise outcome from self._failure or made

    def _abandon(self) -> None:
        message = "the caller was cancelled"
        if self._stream is not None:
            self._stream.send(cancel_frame(message))
            if self._stream.drain(CANCEL_WAIT):
                return
        if self._id:
            self._cancel(message)


def _results(batch: pb.ToolsNeeded, results: list[message_pb2.ToolResult]) -> pb.CoordinateRequest:
    return pb.CoordinateRequest(tool_results=pb.BatchResults(batch_id=batch.batch_id, run_id=batch.run_id, results=results))
