"""Calls to a model that the client makes: what is asked for, and what came of it. Knows nothing of streams."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import grpc

from antiphon.error import Error
from antiphon.gen.antiphon.v1 import coordination_pb2 as pb
from antiphon.gen.antiphon.v1 import run_pb2, usage_pb2
from antiphon.message import Message
from antiphon.tool import OfferedTool, ToolCall, tool_choice
from antiphon.usage import Usage
from antiphon.word import number, word


@dataclass(frozen=True)
class Generation:
    """A model is to be called, by a profile whose backend is of the kind `client`."""

    generation_id: str
    run_id: str
    coordination_id: str
    """Empty when it is ephemeral."""
    number: int
    """Which call of the run, counted from 1."""
    kind: str
    """`first`, or `retry` after a failure."""
    messages: list[Message]
    """What to send, the whole history."""
    model: str
    backend_id: str
    tools: list[OfferedTool]
    """What to offer."""
    raw: pb.GenerationNeeded

    @classmethod
    def of(cls, raw: pb.GenerationNeeded, coordination_id: str) -> Generation:
        """What the function sees."""
        return cls(
            generation_id=raw.generation_id,
            run_id=raw.run_id,
            coordination_id=coordination_id,
            number=raw.number,
            kind=word(run_pb2.AttemptKind.DESCRIPTOR, raw.kind),
            messages=[Message(message) for message in raw.messages],
            model=raw.model,
            backend_id=raw.backend_id,
            tools=[OfferedTool.of(tool) for tool in raw.tools.tools],
            raw=raw,
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that are set, by their names; `extra_json` in text."""
        return {field.name: value for field, value in self.raw.parameters.ListFields()}

    @property
    def tool_choice(self) -> str | None:
        """`auto`, `none`, `required` or a tool's name; None leaves it to the model."""
        return tool_choice(self.raw.tool_choice)

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema that the answer must follow, where there is one; it is checked by the server in any case."""
        text = self.raw.contract.json_schema.schema_json
        return json.loads(text) if text else None


@dataclass(frozen=True)
class Generated:
    """What a model said, whole. A plain string does for a text."""

    text: str = ""
    tool_calls: Sequence[ToolCall] = ()
    """Each with the provider's id as its `call_id`."""
    _: KW_ONLY
    stop_reason: str = ""
    """`stop`, or `tool_calls` where there are some, when absent."""
    stop_reason_raw: str = ""
    usage: Usage | None = None
    provider: str = ""
    api: str = ""
    response_model: str = ""
    response_id: str = ""
    message: Message | None = None
    """The answer with parts that a text and calls cannot say, in place of both."""

    def to_raw(self) -> pb.GeneratedAnswer:
        """As it goes out."""
        message = self.message or Message.of("assistant", self.text, tool_calls=self.tool_calls)
        reason = self.stop_reason or ("tool_calls" if message.tool_calls else "stop")
        return pb.GeneratedAnswer(
            assistant=message.raw,
            stop_reason=run_pb2.StopReason.ValueType(number(run_pb2.StopReason.DESCRIPTOR, reason)),
            stop_reason_raw=self.stop_reason_raw,
            usage=_usage(self.usage),
            provider=self.provider,
            api=self.api,
            response_model=self.response_model,
            response_id=self.response_id,
        )


def generated_frame(generation_id: str, answer: Generated | str) -> pb.CoordinateRequest:
    """The frame of an answer."""
    if isinstance(answer, str):
        answer = Generated(answer)
    if not isinstance(answer, Generated):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"generate returned {answer!r} in place of Generated or a string")
    return pb.CoordinateRequest(generated=pb.Generated(generation_id=generation_id, answer=answer.to_raw()))


def failed_frame(generation_id: str, failure: Exception) -> pb.CoordinateRequest:
    """The frame of a call that failed. An `Error` says its own code, UNAVAILABLE for instance where another try may help; of everything
    else only the class is told, since its text may have what must not be on record."""
    if isinstance(failure, Error) and failure.code is not grpc.StatusCode.OK:
        raw = pb.GenerationFailure(code=failure.code.value[0], message=failure.message[:1024], provider_code=failure.reason)
        if failure.retry_after is not None:
            raw.retry_after.FromNanoseconds(round(failure.retry_after * 1e9))
    else:
        raw = pb.GenerationFailure(code=grpc.StatusCode.UNKNOWN.value[0], message=type(failure).__name__)
    return pb.CoordinateRequest(generated=pb.Generated(generation_id=generation_id, failure=raw))


def _usage(usage: Usage | None) -> usage_pb2.Usage | None:
    return None if usage is None else usage.to_raw()
