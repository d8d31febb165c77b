"""Exchanges that the caller made itself, and what came of storing them. Knows nothing of the call that does it."""

from __future__ import annotations

from dataclasses import dataclass

from antiphon.gen.antiphon.v1 import exchange_service_pb2 as pb
from antiphon.gen.antiphon.v1 import run_pb2
from antiphon.tool import Tools, tool_list
from antiphon.usage import Usage
from antiphon.word import number


@dataclass(frozen=True)
class Facts:
    """What is known of a call that the caller made."""

    message_index: int
    """Which of the messages is its answer, counted from 0."""
    run_id: str = ""
    provider: str = ""
    model: str = ""
    stop_reason: str = ""
    usage: Usage | None = None
    tools: Tools | None = None
    """The tools that were offered; they stand from then on."""

    def to_raw(self) -> pb.RecordedFacts:
        """As they go out."""
        raw = pb.RecordedFacts(
            message_index=self.message_index, run_id=self.run_id, provider=self.provider, model=self.model
        )
        if self.stop_reason:
            raw.stop_reason = run_pb2.StopReason.ValueType(number(run_pb2.StopReason.DESCRIPTOR, self.stop_reason))
        if self.usage is not None:
            raw.usage.CopyFrom(self.usage.to_raw())
        if self.tools is not None:
            raw.tools.CopyFrom(tool_list(self.tools))
        return raw


@dataclass(frozen=True)
class Recorded:
    """What was stored, and what was there."""

    exchange_id: str
    """The last exchange of the transcript."""
    exchange_ids: list[str]
    """One for each assistant message, in order."""
    stored: int
    matched: int
    """How many were there before."""
    thread_id: str
    """The thread; empty without one."""
    replayed: bool
    """It is the result of an earlier call under the same request id."""
    raw: pb.RecordResponse

    @classmethod
    def of(cls, raw: pb.RecordResponse) -> Recorded:
        """Reads it."""
        ids = [exchange.exchange_id for exchange in raw.exchanges]
        return cls(raw.exchange_id, ids, raw.stored_count, raw.matched_count, raw.thread.thread_id, raw.replayed, raw)
