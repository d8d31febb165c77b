"""What is asked of a model, and from where. Knows nothing of which call takes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, TypedDict

from antiphon.exchange import Exchange, message
from antiphon.gen.antiphon.v1 import contract_pb2, execution_pb2, thread_pb2, tool_pb2
from antiphon.tool import Tools, tool_list

Role = Literal["system", "user", "assistant"]


class Parameters(TypedDict, total=False):
    """Parameters of a call; what is absent is left to the profile, then to the provider."""

    temperature: float
    top_p: float
    max_output_tokens: int
    stop_sequences: Sequence[str]
    seed: int
    reasoning_effort: str
    parallel_tool_calls: bool
    extra_json: str


@dataclass(frozen=True)
class Request:
    """One turn. `Request("Hello")` is enough; a plain string does the same wherever a request is taken."""

    text: str = ""
    """One user message, after all others."""
    _: KW_ONLY
    system: str = ""
    """One system message, before all others."""
    messages: Sequence[tuple[Role, str]] = ()
    """Messages as they are, between the two."""
    prompt_id: str = ""
    """A configured prompt to render."""
    vars: Mapping[str, Any] | None = None
    """Values of its variables."""
    profile_id: str = ""
    model: str = ""
    parameters: Parameters = field(default_factory=Parameters)
    contract: str | Mapping[str, Any] | None = None
    """What form the answer must have: a JSON Schema, `"json"`, `"text"`, or the id of a configured one; the prompt's when absent."""
    tools: Tools | None = None
    """Offered in this turn: absent offers what stands, an empty list none."""
    tool_choice: str | None = None
    """`"auto"`, `"none"`, `"required"`, or the name of a tool."""
    session_id: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    run_id: str = ""
    """Names the run, so that it can be found again; ours when absent."""

    def to_raw(self) -> execution_pb2.ExecutionRequest:
        """As it goes out."""
        raw = execution_pb2.ExecutionRequest(
            run_id=self.run_id,
            text=self.text,
            messages=[message(role, text) for role, text in self.messages],
            profile_id=self.profile_id,
            model=self.model,
            session_id=self.session_id,
            labels=self.labels,
        )
        if self.system:
            raw.messages.insert(0, message("system", self.system))
        if self.prompt_id:
            raw.prompt.prompt_id = self.prompt_id
        if self.vars is not None:
            raw.prompt.vars_json = json.dumps(self.vars, ensure_ascii=False)
        if self.parameters:
            raw.parameters.CopyFrom(execution_pb2.Parameters(**self.parameters))
        if self.contract is not None:
            raw.contract.CopyFrom(_contract(self.contract))
        if self.tools is not None:
            raw.tools.CopyFrom(tool_list(self.tools))
        if self.tool_choice is not None:
            raw.tool_choice.CopyFrom(_tool_choice(self.tool_choice))
        return raw


@dataclass(frozen=True)
class ThreadPoint:
    """A thread to go on from and move: at the head that the caller saw, or at whatever is its head then."""

    thread_id: str
    expected_head: str = ""
    """An exchange id; another head is refused."""

    def to_raw(self) -> thread_pb2.ThreadPoint:
        """As it goes out."""
        raw = thread_pb2.ThreadPoint(thread_id=self.thread_id)
        if self.expected_head:
            raw.expected_head.exchange.exchange_id = self.expected_head
        return raw


@dataclass(frozen=True)
class NewThread:
    """A thread to make; its id is ours when absent."""

    thread_id: str = ""
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])

    def to_raw(self) -> thread_pb2.NewThread:
        """As it goes out."""
        return thread_pb2.NewThread(thread_id=self.thread_id, name=self.name, labels=self.labels)


def request_of(request: Request | str) -> Request:
    """A string as a request with that text."""
    return Request(request) if isinstance(request, str) else request


def exchange_point(exchange: Exchange | str) -> thread_pb2.ExchangePoint:
    """An exchange, or the id of one, as a place to go on from."""
    return thread_pb2.ExchangePoint(exchange_id=exchange if isinstance(exchange, str) else exchange.exchange_id)


def _contract(contract: str | Mapping[str, Any]) -> contract_pb2.Contract:
    if contract == "text":
        return contract_pb2.Contract(text=contract_pb2.TextContract())
    if contract == "json":
        return contract_pb2.Contract(json=contract_pb2.JsonContract())
    if isinstance(contract, str):
        return contract_pb2.Contract(named=contract_pb2.NamedContract(contract_id=contract))
    schema = json.dumps(contract, ensure_ascii=False)
    return contract_pb2.Contract(json_schema=contract_pb2.JsonSchemaContract(schema_json=schema))


def _tool_choice(choice: str) -> tool_pb2.ToolChoice:
    if choice == "auto":
        return tool_pb2.ToolChoice(auto=tool_pb2.ToolChoiceAuto())
    if choice == "none":
        return tool_pb2.ToolChoice(none=tool_pb2.ToolChoiceNone())
    if choice == "required":
        return tool_pb2.ToolChoice(required=tool_pb2.ToolChoiceRequired())
    return tool_pb2.ToolChoice(named=tool_pb2.ToolChoiceNamed(name=choice))
