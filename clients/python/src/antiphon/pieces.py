"""Which pieces of an answer are new, over connections that break and calls to the model that take the place of others. Knows nothing of calls."""

from __future__ import annotations

from antiphon.exchange import Delta
from antiphon.gen.antiphon.v1 import progress_pb2, run_pb2

# What an answer tells when it begins anew.
ANEW = Delta("attempt", "")


def anew(attempt: progress_pb2.AttemptStarted) -> bool:
    """Whether a call to the model takes the place of one before it."""
    return attempt.kind in (run_pb2.ATTEMPT_KIND_RETRY, run_pb2.ATTEMPT_KIND_REPAIR)


class Pieces:
    """What was told of one answer. A connection that is made again tells it from the beginning, every call to the model included."""

    def __init__(self) -> None:
        self.begun = False
        """A piece was told."""
        self._attempt = 0
        self._told: dict[str, int] = {}
        self._at = 0
        self._seen: dict[str, int] = {}

    def connected(self) -> None:
        """A connection tells from the beginning what comes."""
        self._at, self._seen = 0, {}
        if not self.begun:
            # It may be another attempt of the run, whose calls are counted from 1 again.
            self._attempt = 0

    def new(self, progress: progress_pb2.Progress) -> list[Delta]:
        """What of it was not told yet."""
        if progress.HasField("attempt_started"):
            return self._started(progress.attempt_started)
        delta = Delta.of(progress.delta)
        if delta is None or 0 < self._at < self._attempt:
            return []
        before, told = self._seen.get(delta.kind, 0), self._told.get(delta.kind, 0)
        after = self._seen[delta.kind] = before + len(delta.text)
        self._told[delta.kind] = max(told, after)
        self.begun = True
        text = delta.text[max(0, told - before) :]
        return [Delta(delta.kind, text)] if text else []

    def rest(self, whole: str) -> list[Delta]:
        """What of the answer's text no piece told, as with the stored result of an earlier call."""
        text = whole[self._told.get("text", 0) :]
        self._told["text"] = len(whole)
        return [Delta("text", text)] if text else []

    def _started(self, attempt: progress_pb2.AttemptStarted) -> list[Delta]:
        self._at = attempt.number
        if anew(attempt):
            self._seen = {}
        if attempt.number <= self._attempt:
            return []
        self._attempt = attempt.number
        if not anew(attempt) or not self._told:
            return []
        self._told = {}
        return [ANEW]
