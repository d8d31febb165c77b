"""What is configured: prompts, profiles, backends and contracts. Knows nothing of how that is asked for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from antiphon.gen.antiphon.v1 import catalog_pb2


@dataclass(frozen=True)
class ConfiguredPrompt:
    """A template of messages with default settings."""

    prompt_id: str
    description: str
    variables: list[str]
    """The names of those that it declares; what else is known of them is in `raw`."""
    required: list[str]
    """The names of those that must be given."""
    profile_id: str
    """The profile that it asks for; empty for none."""
    contract_id: str
    tool_names: list[str]
    template: str
    """Its text; empty in a list."""
    raw: catalog_pb2.Prompt

    @classmethod
    def of(cls, raw: catalog_pb2.Prompt) -> ConfiguredPrompt:
        """Reads it."""
        return cls(
            prompt_id=raw.prompt_id,
            description=raw.description,
            variables=[variable.name for variable in raw.variables],
            required=[variable.name for variable in raw.variables if variable.required],
            profile_id=raw.profile_id,
            contract_id=raw.contract_id,
            tool_names=list(raw.tool_names),
            template=raw.template,
            raw=raw,
        )


@dataclass(frozen=True)
class ConfiguredProfile:
    """A backend, a model and parameters."""

    profile_id: str
    backend_id: str
    model: str
    parameters: dict[str, Any]
    """Those that are set, by their names."""
    is_default: bool
    """It is used when nothing else names one."""
    raw: catalog_pb2.Profile

    @classmethod
    def of(cls, raw: catalog_pb2.Profile) -> ConfiguredProfile:
        """Reads it."""
        parameters = {field.name: value for field, value in raw.parameters.ListFields()}
        return cls(raw.profile_id, raw.backend_id, raw.model, parameters, raw.is_default, raw)


@dataclass(frozen=True)
class ConfiguredBackend:
    """A provider's endpoint with a capacity."""

    backend_id: str
    kind: str
    """Such as `openai` or `scripted`."""
    base_url: str
    """Without credentials; empty for kinds without one."""
    capacity: int
    """How many calls it takes at once."""
    capabilities: list[str]
    """What it can do, such as `tools` or `json_schema`."""
    in_use: int
    """Calls at work now."""
    queued: int
    """Calls that wait now."""
    raw: catalog_pb2.Backend

    @classmethod
    def of(cls, raw: catalog_pb2.Backend) -> ConfiguredBackend:
        """Reads it."""
        return cls(
            raw.backend_id, raw.kind, raw.base_url, raw.capacity, list(raw.capabilities), raw.in_use, raw.queued, raw
        )


@dataclass(frozen=True)
class ConfiguredContract:
    """A form that answers may have to have."""

    contract_id: str
    description: str
    schema: dict[str, Any] | None
    """Its JSON Schema; None in a list."""
    raw: catalog_pb2.ConfiguredContract

    @classmethod
    def of(cls, raw: catalog_pb2.ConfiguredContract) -> ConfiguredContract:
        """Reads it."""
        schema = json.loads(raw.schema_json) if raw.schema_json else None
        return cls(raw.contract_id, raw.description, schema, raw)
