"""Messages of a history. Knows nothing of where they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from antiphon.gen.antiphon.v1 import message_pb2
from antiphon.tool import ToolCall, ToolResult, text_part
from antiphon.word import number, word

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Message:
    """One message. `raw` has all of its parts; images, files and what a provider attached are only there."""

    raw: message_pb2.Message

    @classmethod
    def of(cls, role: str, text: str = "", *, tool_calls: Sequence[ToolCall] = (), tool_results: Sequence[ToolResult] = ()) -> Message:
        """Makes one of a role (`system`, `user`, `assistant` or `tool`) with a text, then calls or results."""
        parts = [text_part(text)] if text or not (tool_calls or tool_results or role == "assistant") else []
        parts += [message_pb2.Part(tool_call=call.to_raw()) for call in tool_calls]
        parts += [message_pb2.Part(tool_result=result.to_raw()) for result in tool_results]
        # The checker wants one of the names that it knows; a newer server may have others.
        return cls(message_pb2.Message(role=_role(role), parts=parts))

    @property
    def role(self) -> str:
        """`system`, `user`, `assistant` or `tool`."""
        return word(message_pb2.Role.DESCRIPTOR, self.raw.role)

    @property
    def text(self) -> str:
        """Its text parts, joined."""
        return "".join(part.text.text for part in self.raw.parts if part.HasField("text"))

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls in it."""
        return [ToolCall.of(part.tool_call) for part in self.raw.parts if part.HasField("tool_call")]

    @property
    def tool_results(self) -> list[ToolResult]:
        """The results in it."""
        return [ToolResult.of(part.tool_result) for part in self.raw.parts if part.HasField("tool_result")]


Said = Message | tuple[Role, str]
"""A message, or in short its role and text."""


def raw_messages(messages: Sequence[Said]) -> list[message_pb2.Message]:
    """As they go out."""
    return [(said if isinstance(said, Message) else Message.of(*said)).raw for said in messages]


def _role(role: str) -> message_pb2.Role.ValueType:
    return message_pb2.Role.ValueType(number(message_pb2.Role.DESCRIPTOR, role))
