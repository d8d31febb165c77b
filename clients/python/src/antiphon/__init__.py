"""Antiphon's client: conversations with language models as a durable, branching graph, driven by plain callbacks.

`Client` blocks and `AsyncClient` is for asyncio; both have the same methods. See the README beside this package.
"""

from antiphon._async.client import AsyncClient
from antiphon._async.conversation import Conversation as AsyncConversation
from antiphon._async.response import Response as AsyncResponse
from antiphon._async.workspace import Documents as AsyncDocuments
from antiphon._async.workspace import DocumentStream as AsyncDocumentStream
from antiphon._async.workspace import Workspace as AsyncWorkspace
from antiphon._sync.client import Client
from antiphon._sync.conversation import Conversation
from antiphon._sync.response import Response
from antiphon._sync.workspace import Documents, DocumentStream, Workspace
from antiphon.audit import CallTools, Drift, ToolOccurrence
from antiphon.branch import Branch
from antiphon.catalog import ConfiguredBackend, ConfiguredContract, ConfiguredProfile, ConfiguredPrompt
from antiphon.coordination import Action, Cancellation, Continue, Decision, Fail, Outcome, Stop, Suspend
from antiphon.error import Error
from antiphon.exchange import Delta, Exchange, Probe, Warning
from antiphon.explanation import Explanation, Prepared, Setting
from antiphon.generation import Generated, Generation
from antiphon.graph import Change, Difference, Hit, ModelUsage, Node, Subtree, ThreadPath, ThreadTree, UsageSum
from antiphon.message import Message
from antiphon.record import Facts, Recorded
from antiphon.request import HistoryView, NewThread, Parameters, Request, ThreadPoint, ThreadTurn
from antiphon.thread import Coordination, Inspection, Move, Run, RunEvent, Thread, Turn
from antiphon.tls import TLS
from antiphon.tool import OfferedTool, Pause, Tool, ToolCall, ToolResult
from antiphon.usage import Spent, Usage
from antiphon.workspace import BeforeExchange, CopyDocument, Document, DocumentChange, DocumentContent, PutDocument
from antiphon.workspace import RemoveDocument, WorkspaceRoot, WorkspaceVersion, Written

__all__ = [
    "TLS",
    "Action",
    "AsyncClient",
    "AsyncConversation",
    "AsyncDocumentStream",
    "AsyncDocuments",
    "AsyncResponse",
    "AsyncWorkspace",
    "BeforeExchange",
    "Branch",
    "CallTools",
    "Cancellation",
    "Change",
    "Client",
    "ConfiguredBackend",
    "ConfiguredContract",
    "ConfiguredProfile",
    "ConfiguredPrompt",
    "Continue",
    "Conversation",
    "Coordination",
    "CopyDocument",
    "Decision",
    "Delta",
    "Difference",
    "Document",
    "DocumentChange",
    "DocumentContent",
    "DocumentStream",
    "Documents",
    "Drift",
    "Error",
    "Exchange",
    "Explanation",
    "Facts",
    "Fail",
    "Generated",
    "Generation",
    "HistoryView",
    "Hit",
    "Inspection",
    "Message",
    "ModelUsage",
    "Move",
    "NewThread",
    "Node",
    "OfferedTool",
    "Outcome",
    "Parameters",
    "Pause",
    "Prepared",
    "Probe",
    "PutDocument",
    "Recorded",
    "RemoveDocument",
    "Request",
    "Response",
    "Run",
    "RunEvent",
    "Setting",
    "Spent",
    "Stop",
    "Subtree",
    "Suspend",
    "Thread",
    "ThreadPath",
    "ThreadPoint",
    "ThreadTree",
    "ThreadTurn",
    "Tool",
    "ToolCall",
    "ToolOccurrence",
    "ToolResult",
    "Turn",
    "Usage",
    "UsageSum",
    "Warning",
    "Workspace",
    "WorkspaceRoot",
    "WorkspaceVersion",
    "Written",
]
