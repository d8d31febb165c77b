"""Exchanges as they are read. Knows nothing of how they came about."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from antiphon.gen.antiphon.v1 import contract_pb2, exchange_pb2, message_pb2, run_pb2
from antiphon.tool import ToolCall


@dataclass(frozen=True)
class Usage:
    """Tokens of one model call with its retries and repairs; what the provider did not say is None."""

    input_tokens: int | None
    output_tokens: int | None


@dataclass(frozen=True)
class Exchange:
    """One completed model call. What is on record never changes, and changing `raw` changes only this copy."""

    raw: exchange_pb2.Exchange

    @property
    def exchange_id(self) -> str:
        """Its id."""
        return self.raw.exchange_id

    @property
    def parent_exchange_id(self) -> str:
        """The model call before it; empty at a root."""
        return self.raw.parent_exchange_id

    @property
    def run_id(self) -> str:
        """The run that made it."""
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
    def text(self) -> str:
        """The text parts of the answer, joined."""
        return self.raw.text

    def json(self) -> Any:
        """The answer read as JSON."""
        return json.loads(self.raw.text)

    @property
    def stop_reason(self) -> str:
        """Why the model stopped, such as `stop`, `max_tokens` or `tool_calls`."""
        return stop_reason(self.raw.stop_reason)

    @property
    def validation(self) -> str:
        """Whether the answer has its form: `valid`, `invalid` or `not_applicable`."""
        return contract_pb2.ValidationStatus.Name(self.raw.validation.status).removeprefix("VALIDATION_STATUS_").lower()

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls of the answer that nothing answers yet."""
        return [ToolCall.of(call) for call in self.raw.pending_tool_calls]

    @property
    def usage(self) -> Usage:
        """What it consumed."""
        usage = self.raw.usage
        return Usage(
            usage.input_tokens if usage.HasField("input_tokens") else None,
            usage.output_tokens if usage.HasField("output_tokens") else None,
        )

    def setting(self, name: str) -> Any:
        """A setting as it was used, such as `model`; None when there was none."""
        found = (setting for setting in self.raw.effective_settings if setting.name == name)
        return next((json.loads(setting.value_json) for setting in found), None)


@dataclass(frozen=True)
class Delta:
    """More of an answer on its way."""

    kind: str
    """`text`, `reasoning`, `tool_call` or `refusal`."""
    text: str
    """More of that; of a tool call, more of its arguments."""


def stop_reason(raw: run_pb2.StopReason.ValueType) -> str:
    """The word for why a model stopped."""
    return run_pb2.StopReason.Name(raw).removeprefix("STOP_REASON_").lower()


def message(role: str, text: str) -> message_pb2.Message:
    """A message of one text."""
    part = message_pb2.Part(text=message_pb2.TextPart(text=text))
    return message_pb2.Message(role=message_pb2.Role.Value(f"ROLE_{role.upper()}"), parts=[part])
