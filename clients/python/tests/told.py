"""Results in the words of the scenarios, and whether they are what was expected. Knows nothing of steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from antiphon import (
    CallTools,
    ConfiguredBackend,
    ConfiguredProfile,
    ConfiguredPrompt,
    Coordination,
    Decision,
    Difference,
    Document,
    DocumentChange,
    DocumentContent,
    Drift,
    Exchange,
    Explanation,
    Hit,
    Inspection,
    Message,
    Move,
    Node,
    Outcome,
    Prepared,
    Probe,
    Recorded,
    Run,
    Thread,
    ToolOccurrence,
    UsageSum,
    WorkspaceVersion,
    Written,
)

Said = dict[str, Any]


def messages(found: Sequence[Message]) -> list[Said]:
    def text(message: Message) -> str:
        return message.text or "".join(result.text for result in message.tool_results)

    return [{"role": message.role, "text": text(message)} for message in found]


def exchange(found: Exchange) -> Said:
    calls = [{"call_id": call.call_id, "name": call.name, "arguments_json": call.arguments_json} for call in found.tool_calls]
    return {
        "exchange_id": found.exchange_id,
        "parent_exchange_id": found.parent_exchange_id,
        "run_id": found.run_id,
        "thread_id": found.thread_id,
        "turn": found.turn,
        "text": found.text,
        "stop_reason": found.stop_reason,
        "validation": found.validation,
        "captured": found.captured,
        "tool_calls": calls,
        "tools": [tool.name for tool in found.tools],
        "standing_tools": [tool.name for tool in found.standing_tools],
        "warnings": [warning.code for warning in found.warnings],
        "profile": found.setting("profile_id"),
        "model": found.setting("model"),
        "messages": messages(found.messages),
    }


def plain(found: object) -> Any:
    """A result in the words of the scenarios."""
    match found:
        case Exchange():
            return exchange(found)
        case Probe():
            said = {"text": found.text, "stop_reason": found.stop_reason, "run_id": found.run_id}
            return {**said, "messages": messages(found.messages)}
        case Recorded():
            said = {"exchange_id": found.exchange_id, "exchange_ids": found.exchange_ids}
            return {**said, "stored": found.stored, "matched": found.matched}
        case Inspection():
            return {"messages": messages(found.messages), "path": found.path}
        case Outcome():
            return {"state": found.state, "undelivered": found.undelivered.text if found.undelivered else None}
        case Thread():
            said = {"id": found.thread_id, "name": found.name}
            return {**said, "head": found.head_exchange_id, "turn_count": found.turn_count}
        case Run():
            said = {"id": found.run_id, "state": found.state, "exchange_id": found.exchange_id, "captured": found.captured}
            return {**said, "attempt": found.attempt, "model_calls": found.model_calls}
        case Coordination():
            said = {"id": found.coordination_id, "state": found.state, "exchange_id": found.exchange_id}
            turns = {"turns_started": found.turns_started, "turns_remaining": found.turns_remaining}
            limits = {"token_limit": found.token_limit, "cost_limit": found.cost_limit}
            return {**said, **turns, **limits, "spent": {"tokens": found.spent.tokens, "costs": found.spent.costs}}
        case Decision():
            said = {"exchange": exchange(found.exchange), "starting": found.starting, "stop_reason": found.stop_reason}
            turns = {"turns_started": found.turns_started, "turns_remaining": found.turns_remaining}
            return {**said, **turns, "thread_id": found.thread_id}
        case _:
            return looked(found)


def looked(found: object) -> Any:
    """The same, of what only looks."""
    match found:
        case Node():
            return {"exchange_id": found.exchange_id, "turn": found.turn, "user": found.user, "assistant": found.assistant}
        case Hit():
            return {"exchange_id": found.exchange.exchange_id if found.exchange else "", "run_id": found.run_id}
        case Difference():
            texts = [(change.kind, change.left, change.right) for change in found.messages]
            sides = [(kind, {"left": left and left.text, "right": right and right.text}) for kind, left, right in texts]
            return {
                "common_ancestor_exchange_id": found.common_ancestor_exchange_id,
                "left_count": found.left_count,
                "right_count": found.right_count,
                "messages": [{"kind": kind, **side} for kind, side in sides],
                "settings": {change.name: {"kind": change.kind, "left": change.left, "right": change.right} for change in found.settings},
                "tools": {change.name: {"kind": change.kind} for change in found.tools},
                "documents": {change.name: {"kind": change.kind} for change in found.documents},
            }
        case UsageSum():
            counted = {"input_tokens": found.usage.input_tokens, "output_tokens": found.usage.output_tokens}
            return {"run_count": found.run_count, **counted}
        case Explanation():
            settings = {name: setting.value for name, setting in found.settings.items()}
            names = [tool.name for tool in found.tools]
            return {"messages": messages(found.messages), "settings": settings, "tools": names, "matches": found.matches}
        case Prepared():
            return {"run_id": found.run_id, "messages": messages(found.explanation.messages)}
        case CallTools():
            offered, standing = ([tool.name for tool in tools] for tools in (found.offered, found.standing))
            return {"offered": offered, "standing": standing, "called": found.called, "drifts": [one.name for one in found.drifts]}
        case ToolOccurrence():
            return {"exchange_id": found.exchange_id, "offered": found.offered}
        case Drift():
            ids = {"previous_exchange_id": found.previous_exchange_id, "exchange_id": found.exchange_id}
            return {"name": found.name, **ids}
        case ConfiguredPrompt():
            said = {"id": found.prompt_id, "description": found.description}
            return {**said, "variables": found.variables, "required": found.required}
        case ConfiguredProfile():
            said = {"id": found.profile_id, "backend": found.backend_id}
            return {**said, "model": found.model, "default": found.is_default}
        case ConfiguredBackend():
            return {"id": found.backend_id, "kind": found.kind, "capacity": found.capacity}
        case _:
            return kept(found)


def kept(found: object) -> Any:
    """The same, of documents and of going back."""
    match found:
        case Document():
            said = {"name": found.name, "media_type": found.media_type, "metadata": found.metadata}
            return {**said, "size_bytes": found.size_bytes, "content_blake3": found.content_blake3}
        case WorkspaceVersion():
            return {"root": found.root, "document_count": found.document_count, "size_bytes": found.size_bytes, "etag": found.etag}
        case DocumentContent():
            return {"text": found.text, "document": kept(found.document), "version": kept(found.version)}
        case Written():
            documents = [kept(document) for document in found.documents]
            return {"version": kept(found.version), "documents": documents, "replayed": found.replayed}
        case DocumentChange():
            sides = {"left": found.left and kept(found.left), "right": found.right and kept(found.right)}
            return {"name": found.name, "kind": found.kind, **sides, "unified_diff": found.unified_diff}
        case Move():
            said = {"from": found.from_exchange_id, "to": found.to_exchange_id, "run_id": found.run_id}
            return {**said, "from_root": found.from_root, "to_root": found.to_root}
        case _:
            return found


def compare(expected: Any, found: Any, where: str) -> None:
    """Whether what is expected is a part of what was found."""
    if isinstance(expected, Mapping):
        wanted = cast(Said, expected)
        if list(wanted) == ["contains"]:
            assert wanted["contains"] in found, f"{where}: {found!r} has no {wanted['contains']!r}"
        elif list(wanted) == ["length"]:
            assert len(found) == wanted["length"], f"{where}: {found!r} has not {wanted['length']} items"
        elif list(wanted) == ["differs"]:
            assert found != wanted["differs"], f"{where}: it is {found!r}"
        else:
            for name, value in wanted.items():
                assert name in found, f"{where}: there is no `{name}` in {found!r}"
                compare(value, found[name], f"{where}.{name}")
            if not wanted:
                assert not found, f"{where}: {found!r} is not empty"
    elif isinstance(expected, list):
        items = cast(list[Any], expected)
        assert len(items) == len(found), f"{where}: {found!r} has not {len(items)} items"
        for index, (one, other) in enumerate(zip(items, found, strict=True)):
            compare(one, other, f"{where}.{index}")
    else:
        assert expected == found, f"{where}: it is {found!r}, not {expected!r}"
