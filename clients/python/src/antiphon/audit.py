"""Which tools calls had, as it is on record. Knows nothing of how that is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from antiphon.gen.antiphon.v1 import tool_service_pb2 as pb
from antiphon.tool import OfferedTool, tool_choice


@dataclass(frozen=True)
class Drift:
    """A tool whose input schema is another one than before on the same path."""

    name: str
    previous_exchange_id: str
    """The first exchange with the schema that was the last before."""
    previous: OfferedTool
    exchange_id: str
    """The exchange that has it otherwise."""
    current: OfferedTool

    @classmethod
    def of(cls, raw: pb.ToolDrift) -> Drift:
        """Reads it."""
        previous, current = OfferedTool.of(raw.previous), OfferedTool.of(raw.current)
        return cls(raw.name, raw.previous_exchange_id, previous, raw.exchange_id, current)


@dataclass(frozen=True)
class CallTools:
    """The tools of one call to a model."""

    offered: list[OfferedTool]
    """Those that it could use."""
    standing: list[OfferedTool]
    """Those that the next call offers when it says nothing."""
    tool_choice: str | None
    """`auto`, `none`, `required` or a tool's name; None left it to the model."""
    called: list[str]
    """Those that the answer called, in order."""
    drifts: list[Drift]
    """Those of the offered ones whose schema is another one than before."""
    raw: pb.GetCallToolsResponse

    @classmethod
    def of(cls, raw: pb.GetCallToolsResponse) -> CallTools:
        """Reads it."""
        offered = [OfferedTool.of(tool) for tool in raw.tools.offered.tools]
        standing = [OfferedTool.of(tool) for tool in raw.tools.standing.tools]
        drifts = [Drift.of(drift) for drift in raw.drifts]
        return cls(offered, standing, tool_choice(raw.tool_choice), list(raw.called_tools), drifts, raw)


@dataclass(frozen=True)
class ToolOccurrence:
    """A call to a model that had a tool."""

    exchange_id: str
    run_id: str
    thread_id: str
    """The thread that the exchange was made on; empty without one."""
    offered: bool
    schema_hash: str
    """Tells its input schema there from others; empty where it was not offered."""
    call_ids: list[str]
    """The calls of it in the answer."""

    @classmethod
    def of(cls, raw: pb.ToolOccurrence) -> ToolOccurrence:
        """Reads it."""
        return cls(raw.exchange_id, raw.run_id, raw.thread_id, raw.offered, raw.schema_hash, list(raw.call_ids))
