"""What would be sent to a provider, or was. Knows nothing of how that is asked for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from antiphon.exchange import Warning
from antiphon.gen.antiphon.v1 import exchange_service_pb2 as pb
from antiphon.gen.antiphon.v1 import execution_pb2
from antiphon.message import Message
from antiphon.tool import OfferedTool
from antiphon.word import word


@dataclass(frozen=True)
class Setting:
    """A setting with its source."""

    value: Any
    source: str
    """Who said so: `request`, `prompt`, `thread`, `profile`, `default` or `inherited`."""


@dataclass(frozen=True)
class Explanation:
    """A request as a provider gets it. Nothing in it is a credential."""

    messages: list[Message]
    """What is sent, in order."""
    settings: dict[str, Setting]
    """By name, such as `model` or `parameters.temperature`."""
    tools: list[OfferedTool]
    """What is offered."""
    body_json: str
    """The body as it goes out, of a call whose answer comes whole; empty where none can be told."""
    adaptations: list[Warning]
    """What is sent otherwise than it was said, and why."""
    warnings: list[Warning]
    """What the caller should know, as the exchange has it."""
    matches: bool | None
    """Of an exchange: whether this is the body that went out. None of what was not sent."""
    difference: str
    """Why it is another one; empty when it is the same."""
    raw: pb.Explanation

    @classmethod
    def of(cls, raw: pb.Explanation, sent: pb.SentBody | None = None) -> Explanation:
        """Reads it."""
        source = execution_pb2.SettingSource.DESCRIPTOR
        return cls(
            messages=[Message(message) for message in raw.messages],
            settings={one.name: Setting(json.loads(one.value_json), word(source, one.source)) for one in raw.effective_settings},
            tools=[OfferedTool.of(tool) for tool in raw.tools.offered.tools],
            body_json=raw.body_json,
            adaptations=[Warning.of(warning) for warning in raw.adaptations],
            warnings=[Warning.of(warning) for warning in raw.warnings],
            matches=None if sent is None else sent.matches,
            difference="" if sent is None else sent.difference,
            raw=raw,
        )


@dataclass(frozen=True)
class Prepared:
    """A request that is ready to be executed once, exactly as it was shown."""

    prepared_id: str
    run_id: str
    """The run that it will be."""
    expires: datetime
    explanation: Explanation

    @classmethod
    def of(cls, raw: pb.PrepareResponse, run_id: str) -> Prepared:
        """Reads it."""
        expires = raw.expire_time.ToDatetime(timezone.utc)
        return cls(raw.prepared_id, run_id, expires, Explanation.of(raw.explanation))
