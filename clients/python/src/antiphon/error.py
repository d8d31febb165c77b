"""The one error of this package, and how it is read from what gRPC says. Knows nothing of what was called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import error_details_pb2, status_pb2

from antiphon.gen.antiphon.v1 import error_pb2

if TYPE_CHECKING:
    from antiphon.exchange import Exchange

CODES = {int(code.value[0]): code for code in grpc.StatusCode}


class Error(Exception):
    """A call was refused or failed, or a coordination ended FAILED or CANCELLED."""

    code: grpc.StatusCode
    message: str
    """For people; says what to do next."""
    reason: str
    """A stable word such as `HEAD_MOVED`, from the list in `error.proto`, or the caller's own; empty when the transport failed."""
    metadata: dict[str, str]
    """The facts that a program needs, by the names that `error.proto` gives for the reason."""
    retry_after: float | None
    """In seconds; only where waiting helps."""
    request_id: str
    """What the server's log has, too."""
    undelivered: Exchange | None
    """A completed result that was on record and never presented when a coordination ended."""

    def __init__(
        self,
        code: grpc.StatusCode,
        message: str,
        *,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        retry_after: float | None = None,
        request_id: str = "",
        undelivered: Exchange | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = reason
        self.metadata = dict(metadata or {})
        self.retry_after = retry_after
        self.request_id = request_id
        self.undelivered = undelivered

    def __str__(self) -> str:
        return f"{self.code.name} {self.reason}: {self.message}" if self.reason else f"{self.code.name}: {self.message}"

    @property
    def can_retry(self) -> bool:
        """Whether the same call may be made again without asking: RUN_INTERRUPTED never is, since the model may have been called."""
        if self.reason == "RUN_INTERRUPTED":
            return False
        waiting_helps = self.code in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.ABORTED) and self.retry_after is not None
        return self.code is grpc.StatusCode.UNAVAILABLE or waiting_helps


def from_rpc(failed: grpc.RpcError) -> Error:
    """Reads what a call failed with."""
    code: grpc.StatusCode = getattr(failed, "code")() or grpc.StatusCode.UNKNOWN
    error = Error(code, getattr(failed, "details")() or "")
    for key, value in getattr(failed, "trailing_metadata")() or ():
        if key == "grpc-status-details-bin":
            for detail in status_pb2.Status.FromString(value).details:
                _add(error, detail)
    return error


def from_status(status: error_pb2.ErrorStatus) -> Error:
    """Reads an error that is part of an answer."""
    code = CODES.get(status.code, grpc.StatusCode.UNKNOWN)
    return Error(code, status.message, reason=status.reason, metadata=status.metadata)


def _add(error: Error, detail: AnyMessage) -> None:
    info, retry, request = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo(), error_details_pb2.RequestInfo()
    if detail.Unpack(info):
        error.reason, error.metadata = info.reason, dict(info.metadata)
    elif detail.Unpack(retry):
        error.retry_after = retry.retry_delay.ToNanoseconds() / 1e9
    elif detail.Unpack(request):
        error.request_id = request.request_id
