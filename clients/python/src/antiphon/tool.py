"""Tools as plain functions: their schemas from type hints, and results from what they return. Knows nothing of when they are called."""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from antiphon.gen.antiphon.v1 import message_pb2, tool_pb2

PRIMITIVES: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Any: {},
    dict: {"type": "object"},
    list: {"type": "array"},
}


@dataclass(frozen=True)
class ToolCall:
    """A model asks for a tool."""

    call_id: str
    name: str
    arguments_json: str = "{}"
    """As the model wrote them, which need not be JSON; see `arguments`."""
    raw: message_pb2.ToolCall = field(default_factory=message_pb2.ToolCall, repr=False, compare=False)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments. Raises ValueError when they are no JSON object."""
        found: Any = json.loads(self.arguments_json)
        if not isinstance(found, dict):
            raise ValueError(f"the arguments of {self.name} are no JSON object")
        return {str(name): value for name, value in found.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]

    @classmethod
    def of(cls, raw: message_pb2.ToolCall) -> ToolCall:
        """Wraps a call of an answer."""
        return cls(raw.call_id, raw.name, raw.arguments_json, raw)

    def to_raw(self) -> message_pb2.ToolCall:
        """As it goes out."""
        raw = message_pb2.ToolCall(call_id=self.call_id, name=self.name, arguments_json=self.arguments_json)
        raw.provider_call_id = self.raw.provider_call_id
        return raw


@dataclass(frozen=True)
class ToolResult:
    """What came of a tool call."""

    call_id: str
    text: str
    is_error: bool = False

    @classmethod
    def of(cls, raw: message_pb2.ToolResult) -> ToolResult:
        """Reads a result of a history; what is not text in it stays out."""
        text = "".join(part.text.text for part in raw.parts if part.HasField("text"))
        return cls(raw.call_id, text, raw.is_error)

    def to_raw(self) -> message_pb2.ToolResult:
        """As it goes out."""
        return message_pb2.ToolResult(call_id=self.call_id, parts=[text_part(self.text)], is_error=self.is_error)


class Pause(Exception):
    """Raised by a tool whose answer comes later, from a person for instance: the coordination is left for that, and `coordinate`, `attach`
    and `chain` raise it on, once the other calls have their results. Give the answer with `answer` or by the tool itself, after `attach`."""

    coordination_id: str = ""
    """Of what was left; to attach to, or to answer."""
    calls: Sequence[ToolCall] = ()
    """The calls that have no result yet."""


@dataclass(frozen=True)
class OfferedTool:
    """A tool as it was offered to a model."""

    name: str
    description: str
    schema: dict[str, Any]
    schema_hash: str
    """Tells whether two schemas are one."""
    side_effects: bool
    requires_human: bool

    @classmethod
    def of(cls, raw: tool_pb2.Tool) -> OfferedTool:
        """Reads one that is on record."""
        schema: dict[str, Any] = json.loads(raw.input_schema_json)
        return cls(raw.name, raw.description, schema, raw.schema_hash, raw.side_effects, raw.requires_human)


class Tool:
    """A function that a model may call. Name, description and schema come from the function unless they are given."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        schema: Mapping[str, Any] | None = None,
        side_effects: bool = False,
        requires_human: bool = False,
    ) -> None:
        """`side_effects` keeps probes from offering it unless they are told to; `requires_human` says that its answer may take days, so
        that a probe never offers it."""
        self.function = function
        self.name = name if name is not None else function.__name__
        self.description = description if description is not None else inspect.getdoc(function) or ""
        self.schema: dict[str, Any] = dict(schema) if schema is not None else schema_of(function)
        self.side_effects = side_effects
        self.requires_human = requires_human

    def to_raw(self) -> tool_pb2.Tool:
        """As it is offered. Equal schemas give equal bytes, so that their hash tells a change."""
        return tool_pb2.Tool(
            name=self.name,
            description=self.description,
            input_schema_json=json.dumps(self.schema, ensure_ascii=False),
            side_effects=self.side_effects,
            requires_human=self.requires_human,
        )


Tools = Sequence[Tool | Callable[..., Any]]
"""Functions, or `Tool`s where a function alone does not say enough."""


def tools_of(tools: Tools) -> list[Tool]:
    """Each as a `Tool`."""
    return [tool if isinstance(tool, Tool) else Tool(tool) for tool in tools]


def tool_list(tools: Tools) -> tool_pb2.ToolList:
    """As a request offers them."""
    return tool_pb2.ToolList(tools=[tool.to_raw() for tool in tools_of(tools)])


def tool_choice(raw: tool_pb2.ToolChoice) -> str | None:
    """How freely tools may be called: `auto`, `none`, `required` or a tool's name; None where it is left to the model."""
    which = raw.WhichOneof("choice")
    return raw.named.name if which == "named" else which


def text_part(text: str) -> message_pb2.Part:
    """A part of a message that is text."""
    return message_pb2.Part(text=message_pb2.TextPart(text=text))


def text_of(value: Any) -> str:
    """What a tool returned as text: strings as they are, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The JSON Schema of a function's arguments. Raises TypeError for a hint that JSON has no word for."""
    hints = get_type_hints(function, include_extras=True)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{function.__name__}: {parameter} cannot be given by name; pass a schema")
        if name not in hints:
            raise TypeError(f"{function.__name__}: `{name}` has no type hint; add one or pass a schema")
        properties[name] = _schema(hints[name], f"{function.__name__}: `{name}`")
        if parameter.default is parameter.empty:
            required.append(name)
        else:
            json.dumps(parameter.default)
            properties[name] = {**properties[name], "default": parameter.default}
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _schema(hint: Any, where: str) -> dict[str, Any]:
    if hint in PRIMITIVES:
        return dict(PRIMITIVES[hint])
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        notes = [note for note in arguments[1:] if isinstance(note, str)]
        return _schema(arguments[0], where) | ({"description": " ".join(notes)} if notes else {})
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(argument, where) for argument in arguments]}
    if origin in (list, Sequence):
        return {"type": "array", "items": _schema(arguments[0], where)}
    if origin in (dict, Mapping) and arguments[0] is str:
        return {"type": "object", "additionalProperties": _schema(arguments[1], where)}
    if is_typeddict(hint):
        fields = get_type_hints(hint, include_extras=True)
        properties = {name: _schema(field, f"{where}.{name}") for name, field in fields.items()}
        return {"type": "object", "properties": properties, "required": sorted(hint.__required_keys__)}
    raise TypeError(f"{where}: {hint!r} has no JSON Schema; use str, int, float, bool, list, dict, Literal, TypedDict, or pass a schema")
