/** Antiphon's client: conversations with language models as a durable, branching graph, driven by plain callbacks. See the README of this package. */

export type { CallTools, Drift, ToolOccurrence } from "./audit.js";
export type { Branch } from "./branch.js";
export type { AfterCall, BeforeCall, Generate, Hooks, NextAction, OnDelta } from "./callbacks.js";
export type { CallSettings, ClientOptions } from "./calls.js";
export type { ConfiguredBackend, ConfiguredContract, ConfiguredProfile, ConfiguredPrompt } from "./catalog.js";
export { Client, type ForkSettings } from "./client.js";
export { Conversation, type ConversationSettings } from "./conversation.js";
export { type Action, Continue, type Decision, Fail, type Outcome, Stop, Suspend } from "./coordination.js";
export type { Change, Difference } from "./difference.js";
export {
  Document,
  type DocumentChange,
  DocumentContent,
  type DocumentEdit,
  type DocumentFacts,
  type WorkspacePoint,
  type WorkspaceVersion,
  type Written,
} from "./document.js";
export { AntiphonError, type CodeName } from "./error.js";
export { type Delta, Exchange, Probe, type Warning } from "./exchange.js";
export type { Explanation, Prepared, Setting } from "./explain.js";
export type { Generated, Generation } from "./generation.js";
export type { SearchQuery, UsageQuery } from "./graph.js";
export { parse, stringify } from "./json.js";
export type { AttachSettings, ChainSettings, CoordinateSettings } from "./loops.js";
export { Message, type Role, type Said } from "./message.js";
export { type Hit, type ModelUsage, Node, type Scope, type UsageSum } from "./node.js";
export type { Facts, Recorded } from "./record.js";
export {
  type HistoryView,
  type Input,
  type Labels,
  NewThread,
  type NewThreadOptions,
  type OnDisconnect,
  type Parameters,
  type Request,
  ThreadPoint,
  ThreadTurn,
  type ToolDrift,
  type UnansweredTools,
} from "./request.js";
export type { Response } from "./response.js";
export { Coordination, type Inspection, type Move, Run, type RunEvent, Thread, type Turn } from "./thread.js";
export type { TLS } from "./tls.js";
export { type OfferedTool, Pause, type Schema, Tool, ToolCall, type ToolOptions, type ToolResult, type Tools } from "./tool.js";
export type { TurnSettings } from "./turns.js";
export type { SpendSettings, Spent, Usage } from "./usage.js";
export { Documents, type DocumentStream, type Source, Workspace, type WriteSettings } from "./workspace.js";
