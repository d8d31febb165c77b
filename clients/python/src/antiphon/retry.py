"""Whether a call is made again, and when. Knows nothing of what is called."""

from __future__ import annotations

import time
import uuid
from typing import Protocol

import grpc

from antiphon.error import Error

TRIES = 4
FIRST_PAUSE = 0.2


class Repeatable(Protocol):
    """What begins or goes on with a run: its id and whether to try again under it."""

    run_id: str
    retry: bool


class Tries:
    """How often one call was made, and whether it is made again."""

    def __init__(self, timeout: float | None, run: Repeatable | None) -> None:
        self._until = None if timeout is None else time.monotonic() + timeout
        self._run = run
        self._asked = run is not None and run.retry
        self._count = 0
        self._broke = False
        self.begun = False
        """More was handed on than can be taken back: a run that ended is not tried again."""

    def left(self) -> float | None:
        """How long the next try may take."""
        return None if self._until is None else max(0.0, self._until - time.monotonic())

    def pause(self, error: Error) -> float:
        """How long to wait before the next try. Raises the error when there is none."""
        self._count += 1
        state = error.metadata.get("run_state", "").upper()
        ours = self._broke and error.reason == "RUN_CANCELLED"
        self._broke = self._broke or (error.code is grpc.StatusCode.UNAVAILABLE and not error.reason)
        ended = state in ("FAILED", "CANCELLED") or ours
        pause = FIRST_PAUSE * 2 ** (self._count - 1) if error.retry_after is None else error.retry_after
        late = self._until is not None and time.monotonic() + pause >= self._until
        if not (error.can_retry or ours) or late or self._count >= TRIES or (ended and (self._run is None or self.begun)):
            raise error
        if self._run is not None:
            self._run.retry = ended or self._asked
        return pause


def fresh() -> str:
    """A name for what is made once, kept over every try of it."""
    return str(uuid.uuid4())
