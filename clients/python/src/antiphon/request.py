"""What is asked of a model, and from where. Knows nothing of which call takes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, TypedDict

from antiphon.exchange import Exchange
from antiphon.gen.antiphon.v1 import contract_pb2, execution_pb2, thread_pb2, tool_pb2
from antiphon.message import Message, Said, raw_messages
from antiphon.tool import ToolResult, Tools, tool_list
from antiphon.word import number

ToolDrift = Literal["warn", "refuse"]
"""What happens when an offered tool has another input schema than the history had under its name."""
OnDisconnect = Literal["cancel", "finish"]
"""What happens to a run when nobody waits for it any more."""
UnansweredTools = Literal["reject", "interrupt", "abandon"]
"""What to do with a new prompt while tool calls are unanswered: refuse, answer each with a marked result, or leave them behind."""


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
class HistoryView:
    """How much of a history is sent, in whole turns, by one of three measures. What is stored is the whole one in any case, and the answer has a
    warning that says what stayed out."""

    last_turns: int | None = None
    """So many turns before this one."""
    from_exchange: str = ""
    """From this exchange on, with which a turn must begin."""
    token_budget: int | None = None
    """As many turns as fit, counted by the server's own estimate."""

    def to_raw(self) -> execution_pb2.HistoryView:
        """As it goes out."""
        if (self.last_turns is not None) + bool(self.from_exchange) + (self.token_budget is not None) != 1:
            raise ValueError("a view is the last turns, from an exchange on, or a budget of tokens, one of them")
        raw = execution_pb2.HistoryView()
        if self.last_turns is not None:
            raw.last_turns.turns = self.last_turns
        elif self.token_budget is not None:
            raw.token_budget.tokens = self.token_budget
        else:
            raw.from_exchange.exchange_id = self.from_exchange
        return raw


@dataclass(frozen=True)
class Request:
    """One turn. `Request("Hello")` is enough; a plain string does the same wherever a request is taken."""

    text: str = ""
    """One user message, after all others."""
    _: KW_ONLY
    system: str = ""
    """One system message, before all others."""
    messages: Sequence[Said] = ()
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
    repair: int | None = None
    """How often at most the model is asked again where its answer misses the contract, 0 for never; as configured when absent."""
    history_view: HistoryView | None = None
    """How much of the history is sent; all of it when absent."""
    tools: Tools | None = None
    """Offered in this turn: absent offers what stands, an empty list none."""
    standing_tools: Tools | None = None
    """What stands from this turn on; absent leaves it as it is."""
    tool_choice: str | None = None
    """`"auto"`, `"none"`, `"required"`, or the name of a tool."""
    session_id: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    run_id: str = ""
    """Names the run, so that it can be found again; ours when absent."""
    retry: bool = False
    """Where the run of this id failed, was cancelled or interrupted: try again under the same id."""
    on_disconnect: OnDisconnect | None = None
    """What happens when nobody waits any more; a single turn is cancelled and one of a coordination finished when absent."""
    on_tool_drift: ToolDrift | None = None
    """What happens when a tool's input schema is another one than before; a warning when absent."""

    def to_raw(self) -> execution_pb2.ExecutionRequest:
        """As it goes out."""
        raw = execution_pb2.ExecutionRequest(
            run_id=self.run_id,
            text=self.text,
            messages=raw_messages(self.messages),
            profile_id=self.profile_id,
            model=self.model,
            session_id=self.session_id,
            labels=self.labels,
            retry=self.retry,
        )
        if self.system:
            raw.messages.insert(0, Message.of("system", self.system).raw)
        if self.prompt_id:
            raw.prompt.prompt_id = self.prompt_id
        if self.vars is not None:
            raw.prompt.vars_json = json.dumps(self.vars, ensure_ascii=False)
        if self.parameters:
            raw.parameters.CopyFrom(execution_pb2.Parameters(**self.parameters))
        if self.contract is not None:
            raw.contract.CopyFrom(_contract(self.contract))
        if self.repair is not None:
            raw.repair.attempts = self.repair
        if self.history_view is not None:
            raw.history_view.CopyFrom(self.history_view.to_raw())
        if self.tools is not None:
            raw.tools.CopyFrom(tool_list(self.tools))
        if self.standing_tools is not None:
            raw.standing_tools.CopyFrom(tool_list(self.standing_tools))
        if self.tool_choice is not None:
            raw.tool_choice.CopyFrom(_tool_choice(self.tool_choice))
        if self.on_disconnect is not None:
            raw.on_disconnect = on_disconnect_of(self.on_disconnect)
        if self.on_tool_drift is not None:
            raw.on_tool_drift = on_tool_drift_of(self.on_tool_drift)
        return raw


@dataclass(frozen=True)
class ThreadPoint:
    """A thread to go on from and move: at the head that the caller saw, or at whatever is its head then."""

    thread_id: str
    expected_head: str = ""
    """An exchange id; another head is refused."""
    _: KW_ONLY
    on_busy: Literal["reject", "enqueue", "interrupt", "fork"] | None = None
    """What to do while another run is at work on it; refuse when absent."""
    unanswered_tools: UnansweredTools | None = None
    """What to do with a new prompt while tool calls are unanswered; refuse when absent."""

    def to_raw(self) -> thread_pb2.ThreadPoint:
        """As it goes out."""
        raw = thread_pb2.ThreadPoint(thread_id=self.thread_id)
        if self.expected_head:
            raw.expected_head.exchange.exchange_id = self.expected_head
        if self.on_busy is not None:
            raw.on_busy = thread_pb2.OnBusy.ValueType(number(thread_pb2.OnBusy.DESCRIPTOR, self.on_busy))
        if self.unanswered_tools is not None:
            raw.unanswered_tools = unanswered_tools_of(self.unanswered_tools)
        return raw


@dataclass(frozen=True)
class ThreadTurn:
    """A point on a thread's path, to branch from: after a turn, counted from 1, or after a run; the head when neither is said."""

    thread_id: str
    _: KW_ONLY
    after_turn: int | None = None
    after_run: str = ""

    def to_raw(self) -> thread_pb2.ThreadTurnPoint:
        """As it goes out."""
        if self.after_turn is not None and self.after_run:
            raise ValueError("a point is after a turn or after a run, not both")
        raw = thread_pb2.ThreadTurnPoint(thread_id=self.thread_id)
        if self.after_turn is not None:
            raw.after_turn.turn = self.after_turn
        elif self.after_run:
            raw.after_run.run_id = self.after_run
        return raw


@dataclass(frozen=True)
class NewThread:
    """A thread to make; its id is ours when absent."""

    thread_id: str = ""
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    metadata: Any = None
    """Data of your own, a JSON object."""
    profile_id: str = ""
    """What its turns use unless they say otherwise, as the two after it."""
    model: str = ""
    tools: Tools | None = None

    def to_raw(self) -> thread_pb2.NewThread:
        """As it goes out."""
        raw = thread_pb2.NewThread(thread_id=self.thread_id, name=self.name, labels=self.labels)
        if self.metadata is not None:
            raw.metadata_json = json.dumps(self.metadata, ensure_ascii=False)
        if self.profile_id or self.model:
            raw.defaults.profile_id, raw.defaults.model = self.profile_id, self.model
        if self.tools is not None:
            raw.defaults.standing_tools.CopyFrom(tool_list(self.tools))
        return raw


Input = Request | str | Sequence[ToolResult]
"""What a turn is made with: a request, or the results of the calls that are pending."""


def request_of(request: Request | str) -> Request:
    """A string as a request with that text."""
    return Request(request) if isinstance(request, str) else request


def exchange_point(exchange: Exchange | str) -> thread_pb2.ExchangePoint:
    """An exchange, or the id of one, as a place to go on from."""
    if isinstance(exchange, str):
        return thread_pb2.ExchangePoint(exchange_id=exchange)
    if not exchange.captured:
        raise exchange.not_captured("there is nothing on record to go on from")
    return thread_pb2.ExchangePoint(exchange_id=exchange.exchange_id)


def results_of(results: Sequence[ToolResult]) -> execution_pb2.ToolResults:
    """Results of pending calls, as they go out."""
    return execution_pb2.ToolResults(results=[result.to_raw() for result in results])


def on_disconnect_of(said: OnDisconnect) -> execution_pb2.OnDisconnect.ValueType:
    """As it goes out."""
    return execution_pb2.OnDisconnect.ValueType(number(execution_pb2.OnDisconnect.DESCRIPTOR, said))


def on_tool_drift_of(said: ToolDrift) -> execution_pb2.ToolDriftPolicy.ValueType:
    """As it goes out."""
    return execution_pb2.ToolDriftPolicy.ValueType(number(execution_pb2.ToolDriftPolicy.DESCRIPTOR, said))


def unanswered_tools_of(said: UnansweredTools) -> thread_pb2.UnansweredTools.ValueType:
    """As it goes out."""
    return thread_pb2.UnansweredTools.ValueType(number(thread_pb2.UnansweredTools.DESCRIPTOR, said))


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
