"""What came of one branch of a fork. Knows nothing of the call that made it."""

from __future__ import annotations

from dataclasses import dataclass

from antiphon.error import Error, from_status
from antiphon.exchange import Exchange
from antiphon.gen.antiphon.v1 import exchange_service_pb2 as pb


@dataclass(frozen=True)
class Branch:
    """A new thread with its first exchange, or why there is none; the thread is there all the same, at the fork point."""

    thread_id: str
    exchange: Exchange | None
    error: Error | None

    @classmethod
    def of(cls, raw: pb.ForkResult) -> Branch:
        """Reads it."""
        exchange = Exchange(raw.exchange) if raw.HasField("exchange") else None
        return cls(raw.thread.thread_id, exchange, from_status(raw.error) if raw.HasField("error") else None)
