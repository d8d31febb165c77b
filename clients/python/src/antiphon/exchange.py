"""Exchanges as they are read. Knows nothing of how they came about."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import grpc

from antiphon.error import Error
from antiphon.gen.antiphon.v1 import contract_pb2, exchange_pb2, exchange_service_pb2, execution_pb2
from antiphon.gen.antiphon.v1 import message_pb2, progress_pb2, run_pb2, tool_pb2
from antiphon.message import Message
from antiphon.tool import OfferedTool, ToolCall
from antiphon.usage import Usage
from antiphon.word import word


@dataclass(frozen=True)
class Warning:
    """Something that the caller should know and that stopped nothing."""

    code: str
    """A stable word for programs, such as `tool_schema_drift`."""
    message: str
    """What it is about, for people."""

    @classmethod
    def of(cls, raw: execution_pb2.Warning) -> Warning:
        """Reads one."""
        return cls(raw.code, raw.message)


@dataclass(frozen=True)
class Exchange:
    """One completed model call. What is on record never changes, and changing `raw` changes only this copy."""

    raw: exchange_pb2.Exchange
    captured: bool = True
    """Whether it is on record. One that is not can be replied to, from what is in memory here, and nothing else."""
    before: tuple[message_pb2.Message, ...] | None = field(default=(), repr=False)
    """What was said before it, where it is on no record; None where that is not known here."""
    standing: tool_pb2.ToolList | None = field(default=None, repr=False)
    """The tools that a reply offers when it says nothing, where it is on no record."""
    told: tuple[Warning, ...] = field(default=(), repr=False)
    """Warnings of earlier calls of the same turn, which are not in `raw`."""

    @classmethod
    def uncaptured(cls, raw: exchange_service_pb2.RunResponse, before: int, standing: tool_pb2.ToolList | None) -> Exchange:
        """What a run said that was not captured; so many of its messages were said before it."""
        run = raw.run
        made = exchange_pb2.Exchange(
            run_id=run.run_id,
            messages=raw.rendered_messages[before:],
            assistant=raw.assistant,
            text=raw.text,
            stop_reason=raw.stop_reason,
            stop_reason_raw=raw.stop_reason_raw,
            effective_settings=raw.effective_settings,
            validation=raw.validation,
            usage=run.usage,
            observations=run.observations,
            warnings=raw.warnings,
            labels=run.labels,
            pending_tool_calls=[part.tool_call for part in raw.assistant.parts if part.HasField("tool_call")],
        )
        return cls(made, captured=False, before=tuple(raw.rendered_messages[:before]), standing=standing)

    @property
    def exchange_id(self) -> str:
        """Its id; empty when it is not on record."""
        return self.raw.exchange_id if self.captured else ""

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
    def messages(self) -> list[Message]:
        """What the call added to the history before the answer."""
        return [Message(message) for message in self.raw.messages]

    @property
    def assistant(self) -> Message:
        """The answer."""
        return Message(self.raw.assistant)

    @property
    def text(self) -> str:
        """The text parts of the answer, joined."""
        return self.raw.text

    def json(self) -> Any:
        """The answer read as JSON: the value that was found valid where it had to have a form, else its text."""
        return json.loads(self.raw.validation.value_json or self.raw.text)

    @property
    def stop_reason(self) -> str:
        """Why the model stopped, such as `stop`, `max_tokens` or `tool_calls`."""
        return stop_reason(self.raw.stop_reason)

    @property
    def validation(self) -> str:
        """Whether the answer has its form: `valid`, `invalid` or `not_applicable`."""
        return word(contract_pb2.ValidationStatus.DESCRIPTOR, self.raw.validation.status)

    @property
    def violations(self) -> list[str]:
        """What is wrong with the form of the answer, each with where."""
        return violations(self.raw.validation)

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls of the answer that nothing answers yet."""
        return [ToolCall.of(call) for call in self.raw.pending_tool_calls]

    @property
    def tools(self) -> list[OfferedTool]:
        """The tools that this very call offered."""
        return [OfferedTool.of(tool) for tool in self.raw.tools.offered.tools]

    @property
    def standing_tools(self) -> list[OfferedTool]:
        """The tools that the next call offers when it says nothing."""
        return [OfferedTool.of(tool) for tool in self.raw.tools.standing.tools]

    @property
    def usage(self) -> Usage:
        """What it consumed."""
        return Usage.of(self.raw.usage)

    @property
    def warnings(self) -> list[Warning]:
        """What the caller should know of this call and those before it in the turn, each said once."""
        return list(dict.fromkeys([*self.told, *map(Warning.of, self.raw.warnings)]))

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the request."""
        return dict(self.raw.labels)

    def setting(self, name: str) -> Any:
        """A setting as it was used, such as `model`; None when there was none."""
        found = (setting for setting in self.raw.effective_settings if setting.name == name)
        return next((json.loads(setting.value_json) for setting in found), None)

    def prefix(self) -> exchange_service_pb2.UncapturedPrefix:
        """All of an exchange that is on no record, as it goes out; for the client's own use."""
        if self.before is None:
            raise self.not_captured("what was said before it is known to nobody any more")
        facts = exchange_service_pb2.RecordedFacts(
            model=self.setting("model") or "",
            stop_reason=self.raw.stop_reason,
            usage=self.usage.to_raw(),
            tools=self.standing,
        )
        said = [*self.before, *self.raw.messages]
        return exchange_service_pb2.UncapturedPrefix(
            rendered_messages=said, assistant=self.raw.assistant, run_id=self.run_id, facts=facts
        )

    def not_captured(self, why: str) -> Error:
        """The error of a call that needs it on record; for the client's own use."""
        message = f"run {self.run_id} was not captured, and {why}: capture it, or use reply where a branch is not needed"
        metadata = {"run_id": self.run_id}
        return Error(grpc.StatusCode.FAILED_PRECONDITION, message, reason="NOT_CAPTURED", metadata=metadata)


@dataclass(frozen=True)
class Probe:
    """What a probe brought. Nothing of it is on record; `record` makes it so."""

    raw: exchange_service_pb2.ProbeResponse

    @property
    def text(self) -> str:
        """All text of the answer, joined."""
        return self.raw.text

    def json(self) -> Any:
        """The answer read as JSON: the value that was found valid where it had to have a form, else its text."""
        return json.loads(self.raw.validation.value_json or self.raw.text)

    @property
    def messages(self) -> list[Message]:
        """What the probe added, the answer included; not what was before it."""
        return [Message(message) for message in self.raw.messages]

    @property
    def stop_reason(self) -> str:
        """Why the model stopped."""
        return stop_reason(self.raw.stop_reason)

    @property
    def validation(self) -> str:
        """Whether the answer has its form."""
        return word(contract_pb2.ValidationStatus.DESCRIPTOR, self.raw.validation.status)

    @property
    def violations(self) -> list[str]:
        """What is wrong with the form of the answer, each with where."""
        return violations(self.raw.validation)

    @property
    def usage(self) -> Usage:
        """What it consumed."""
        return Usage.of(self.raw.usage)

    @property
    def run_id(self) -> str:
        """A fresh id, which is on no record."""
        return self.raw.run_id

    @property
    def warnings(self) -> list[Warning]:
        """What the caller should know."""
        return [Warning.of(warning) for warning in self.raw.warnings]


def listed(tools: tool_pb2.ToolSet) -> tool_pb2.ToolList:
    """Tools of a call that was made, as a request offers them again."""
    again = tool_pb2.ToolList(tools=tools.tools)
    for tool in again.tools:
        tool.schema_hash = ""
    return again


@dataclass(frozen=True)
class Delta:
    """More of an answer on its way."""

    kind: str
    """`text`, `reasoning`, `tool_call` or `refusal`; or `attempt` where the answer begins anew, since what was told of it before was of a
    call that failed or whose answer missed its form."""
    text: str
    """More of that; of a tool call, more of its arguments."""

    @classmethod
    def of(cls, raw: progress_pb2.Delta) -> Delta | None:
        """Reads one; None for a kind that this package does not know."""
        which = raw.WhichOneof("delta")
        if which is None:
            return None
        return cls(which, raw.tool_call.arguments_json if which == "tool_call" else getattr(raw, which).text)


def stop_reason(raw: int) -> str:
    """The word for why a model stopped."""
    return word(run_pb2.StopReason.DESCRIPTOR, raw)



def violations(raw: contract_pb2.Validation) -> list[str]:
    """What is wrong, in a line each: where, as a JSON Pointer, and what."""
    return [": ".join(part for part in (found.instance_path, found.message) if part) for found in raw.violations]
