"""Antiphon's client: conversations with language models as a durable, branching graph, driven by plain callbacks.

`Client` blocks and `AsyncClient` is for asyncio; both have the same methods. See the README beside this package.
"""

from antiphon._async.client import AsyncClient
from antiphon._sync.client import Client
from antiphon.coordination import Action, Cancellation, Continue, Decision, Fail, Outcome, Stop, Suspend
from antiphon.error import Error
from antiphon.exchange import Delta, Exchange, Usage
from antiphon.request import NewThread, Parameters, Request, ThreadPoint
from antiphon.tool import Tool, ToolCall, ToolResult

__all__ = [
    "Action",
    "AsyncClient",
    "Cancellation",
    "Client",
    "Continue",
    "Decision",
    "Delta",
    "Error",
    "Exchange",
    "Fail",
    "NewThread",
    "Outcome",
    "Parameters",
    "Request",
    "Stop",
    "Suspend",
    "ThreadPoint",
    "Tool",
    "ToolCall",
    "ToolResult",
    "Usage",
]
