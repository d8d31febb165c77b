/** What is asked of a model, and from where. Knows nothing of which call takes it. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";

import { Exchange } from "./exchange.js";
import { type Contract, ContractSchema, RepairSchema } from "./gen/antiphon/v1/contract_pb.js";
import {
  type ExecutionRequest,
  ExecutionRequestSchema,
  type HistoryView as RawHistoryView,
  HistoryViewSchema,
  type OnDisconnect as RawOnDisconnect,
  OnDisconnectSchema,
  type Parameters as RawParameters,
  ParametersSchema,
  PromptInputSchema,
  type ToolDriftPolicy,
  ToolDriftPolicySchema,
  ToolResultsSchema,
} from "./gen/antiphon/v1/execution_pb.js";
import type { ToolResults } from "./gen/antiphon/v1/execution_pb.js";
import {
  type ExchangePoint,
  ExchangePointSchema,
  type NewThread as RawNewThread,
  NewThreadSchema,
  OnBusySchema,
  ThreadDefaultsSchema,
  type ThreadPoint as RawThreadPoint,
  ThreadPointSchema,
  type ThreadTurnPoint,
  ThreadTurnPointSchema,
  type UnansweredTools as RawUnansweredTools,
  UnansweredToolsSchema,
} from "./gen/antiphon/v1/thread_pb.js";
import { type ToolChoice, ToolChoiceSchema } from "./gen/antiphon/v1/tool_pb.js";
import { stringify } from "./json.js";
import { Message, rawMessages, type Said } from "./message.js";
import { rawResult, type Schema, toolList, type ToolResult, type Tools } from "./tool.js";
import { number } from "./word.js";

/** What happens when an offered tool has another input schema than the history had under its name. */
export type ToolDrift = "warn" | "refuse";
/** What happens to a run when nobody waits for it any more. */
export type OnDisconnect = "cancel" | "finish";
/** What to do with a new prompt while tool calls are unanswered: refuse, answer each with a marked result, or leave them behind. */
export type UnansweredTools = "reject" | "interrupt" | "abandon";
/** Names and texts of the caller's own, to list by. */
export type Labels = Readonly<Record<string, string>>;

/** Parameters of a call; what is absent is left to the profile, then to the provider. */
export interface Parameters {
  readonly temperature?: number;
  readonly topP?: number;
  readonly maxOutputTokens?: number;
  readonly stopSequences?: readonly string[];
  readonly seed?: number | bigint;
  readonly reasoningEffort?: string;
  readonly parallelToolCalls?: boolean;
  readonly extraJson?: string;
}

/** Reads those that are set; `extraJson` in text. */
export function parametersOf(raw: RawParameters | undefined): Parameters {
  const { $typeName, $unknown, ...set } = raw ?? { $typeName: undefined, $unknown: undefined };
  return Object.fromEntries(Object.entries(set).filter(([, value]) => isSet(value)));
}

/** How much of a history is sent, in whole turns: so many before this one, from an exchange on with which a turn must begin, or as many as fit a budget
 * by the server's own estimate. What is stored is the whole one in any case, and the answer has a warning that says what stayed out. */
export type HistoryView =
  | { readonly lastTurns: number }
  | { readonly fromExchange: string }
  | { readonly tokenBudget: number };

/** One turn. `{ text: "Hello" }` is enough; a plain string does the same wherever a request is taken. */
export interface Request {
  /** One user message, after all others. */
  readonly text?: string;
  /** One system message, before all others. */
  readonly system?: string;
  /** Messages as they are, between the two. */
  readonly messages?: readonly Said[];
  /** A configured prompt to render. */
  readonly promptId?: string;
  /** Values of its variables. */
  readonly vars?: Readonly<Record<string, unknown>>;
  readonly profileId?: string;
  readonly model?: string;
  readonly parameters?: Parameters;
  /** What form the answer must have: a JSON Schema, `"json"`, `"text"`, or the id of a configured one; the prompt's when absent. */
  readonly contract?: string | Schema;
  /** How often at most the model is asked again where its answer misses the contract, 0 for never; as configured when absent. */
  readonly repair?: number;
  /** How much of the history is sent; all of it when absent. */
  readonly historyView?: HistoryView;
  /** Offered in this turn: absent offers what stands, an empty list none. */
  readonly tools?: Tools;
  /** What stands from this turn on; absent leaves it as it is. */
  readonly standingTools?: Tools;
  /** `"auto"`, `"none"`, `"required"`, or the name of a tool. */
  readonly toolChoice?: string;
  readonly sessionId?: string;
  readonly labels?: Labels;
  /** Names the run, so that it can be found again; ours when absent. */
  readonly runId?: string;
  /** Where the run of this id failed, was cancelled or interrupted: try again under the same id. */
  readonly retry?: boolean;
  /** What happens when nobody waits any more; a single turn is cancelled and one of a coordination finished when absent. */
  readonly onDisconnect?: OnDisconnect;
  /** What happens when a tool's input schema is another one than before; a warning when absent. */
  readonly onToolDrift?: ToolDrift;
}

/** What a turn is made with: a request, or the results of the calls that are pending. */
export type Input = Request | string | readonly ToolResult[];

/** A thread to go on from and move: at the head that the caller saw, or at whatever is its head then. */
export class ThreadPoint {
  constructor(
    readonly threadId: string,
    readonly options: {
      /** An exchange id; another head is refused. */
      readonly expectedHead?: string;
      /** What to do while another run is at work on it; refuse when absent. */
      readonly onBusy?: "reject" | "enqueue" | "interrupt" | "fork";
      /** What to do with a new prompt while tool calls are unanswered; refuse when absent. */
      readonly unansweredTools?: UnansweredTools;
    } = {},
  ) {}

  /** As it goes out. @internal */
  toRaw(): RawThreadPoint {
    const { expectedHead, onBusy, unansweredTools } = this.options;
    const raw: MessageInitShape<typeof ThreadPointSchema> = { threadId: this.threadId };
    if (expectedHead) raw.expectedHead = { head: { case: "exchange", value: { exchangeId: expectedHead } } };
    if (onBusy !== undefined) raw.onBusy = number(OnBusySchema, onBusy);
    if (unansweredTools !== undefined) raw.unansweredTools = unansweredToolsOf(unansweredTools);
    return create(ThreadPointSchema, raw);
  }
}

/** A point on a thread's path, to branch from: after a turn, counted from 1, or after a run; the head when neither is said. */
export class ThreadTurn {
  constructor(
    readonly threadId: string,
    readonly at: { readonly afterTurn?: number | undefined; readonly afterRun?: string } = {},
  ) {
    if (at.afterTurn !== undefined && at.afterRun) throw new TypeError("a point is after a turn or after a run, not both");
  }

  /** As it goes out. @internal */
  toRaw(): ThreadTurnPoint {
    const { afterTurn, afterRun } = this.at;
    const raw: MessageInitShape<typeof ThreadTurnPointSchema> = { threadId: this.threadId };
    if (afterTurn !== undefined) raw.at = { case: "afterTurn", value: { turn: BigInt(afterTurn) } };
    else if (afterRun) raw.at = { case: "afterRun", value: { runId: afterRun } };
    return create(ThreadTurnPointSchema, raw);
  }
}

/** What a new thread has. */
export interface NewThreadOptions {
  readonly name?: string;
  readonly labels?: Labels;
  /** Data of your own, a JSON object. */
  readonly metadata?: unknown;
  /** What its turns use unless they say otherwise, as the two after it. */
  readonly profileId?: string;
  readonly model?: string;
  readonly tools?: Tools;
}

/** A thread to make; its id is ours when absent. */
export class NewThread {
  constructor(
    readonly threadId: string = "",
    readonly options: NewThreadOptions = {},
  ) {}

  /** The same with something said otherwise. @internal */
  with(options: NewThreadOptions): NewThread {
    return new NewThread(this.threadId, { ...this.options, ...options });
  }

  /** As it goes out. @internal */
  toRaw(): RawNewThread {
    const { name = "", labels = {}, metadata, profileId = "", model = "", tools } = this.options;
    const raw = create(NewThreadSchema, { threadId: this.threadId, name, labels: { ...labels } });
    if (metadata !== undefined) raw.metadataJson = stringify(metadata);
    if (profileId || model || tools !== undefined) raw.defaults = create(ThreadDefaultsSchema, { profileId, model });
    if (raw.defaults !== undefined && tools !== undefined) raw.defaults.standingTools = toolList(tools);
    return raw;
  }
}

/** Whether it is results, and not a request. */
export function isResults(input: Input): input is readonly ToolResult[] {
  return Array.isArray(input);
}

/** A string as a request with that text. */
export function requestOf(request: Request | string): Request {
  return typeof request === "string" ? { text: request } : request;
}

/** A request as it goes out. */
export function rawRequest(request: Request | string): ExecutionRequest {
  const said = requestOf(request);
  const system = said.system ? [Message.of("system", said.system).raw] : [];
  const raw = create(ExecutionRequestSchema, {
    runId: said.runId ?? "",
    text: said.text ?? "",
    messages: [...system, ...rawMessages(said.messages ?? [])],
    profileId: said.profileId ?? "",
    model: said.model ?? "",
    sessionId: said.sessionId ?? "",
    labels: { ...said.labels },
    retry: said.retry ?? false,
  });
  if (said.promptId || said.vars !== undefined) {
    raw.prompt = create(PromptInputSchema, { promptId: said.promptId ?? "" });
    if (said.vars !== undefined) raw.prompt.varsJson = stringify(said.vars);
  }
  if (said.parameters !== undefined) {
    const { seed, stopSequences = [], ...others } = said.parameters;
    raw.parameters = create(ParametersSchema, { ...others, stopSequences: [...stopSequences] });
    if (seed !== undefined) raw.parameters.seed = BigInt(seed);
  }
  if (said.contract !== undefined) raw.contract = contractOf(said.contract);
  if (said.repair !== undefined) raw.repair = create(RepairSchema, { attempts: said.repair });
  if (said.historyView !== undefined) raw.historyView = historyViewOf(said.historyView);
  if (said.tools !== undefined) raw.tools = toolList(said.tools);
  if (said.standingTools !== undefined) raw.standingTools = toolList(said.standingTools);
  if (said.toolChoice !== undefined) raw.toolChoice = toolChoiceOf(said.toolChoice);
  if (said.onDisconnect !== undefined) raw.onDisconnect = onDisconnectOf(said.onDisconnect);
  if (said.onToolDrift !== undefined) raw.onToolDrift = onToolDriftOf(said.onToolDrift);
  return raw;
}

/** An exchange, or the id of one, as a place to go on from. */
export function exchangePoint(exchange: Exchange | string): ExchangePoint {
  if (typeof exchange === "string") return create(ExchangePointSchema, { exchangeId: exchange });
  if (!exchange.captured) throw exchange.notCaptured("there is nothing on record to go on from");
  return create(ExchangePointSchema, { exchangeId: exchange.exchangeId });
}

/** Results of pending calls, as they go out. */
export function resultsOf(results: readonly ToolResult[]): ToolResults {
  return create(ToolResultsSchema, { results: results.map(rawResult) });
}

/** As it goes out. */
export function onDisconnectOf(said: OnDisconnect): RawOnDisconnect {
  return number(OnDisconnectSchema, said);
}

/** As it goes out. */
export function onToolDriftOf(said: ToolDrift): ToolDriftPolicy {
  return number(ToolDriftPolicySchema, said);
}

/** As it goes out. */
export function unansweredToolsOf(said: UnansweredTools): RawUnansweredTools {
  return number(UnansweredToolsSchema, said);
}

function historyViewOf(view: HistoryView): RawHistoryView {
  if (Object.keys(view).length !== 1) {
    throw new TypeError("a view is the last turns, from an exchange on, or a budget of tokens, one of them");
  }
  if ("lastTurns" in view) return create(HistoryViewSchema, { view: { case: "lastTurns", value: { turns: view.lastTurns } } });
  if ("tokenBudget" in view) {
    return create(HistoryViewSchema, { view: { case: "tokenBudget", value: { tokens: BigInt(view.tokenBudget) } } });
  }
  return create(HistoryViewSchema, { view: { case: "fromExchange", value: { exchangeId: view.fromExchange } } });
}

function contractOf(contract: string | Schema): Contract {
  if (contract === "text" || contract === "json") return create(ContractSchema, { form: { case: contract, value: {} } });
  if (typeof contract === "string") {
    return create(ContractSchema, { form: { case: "named", value: { contractId: contract } } });
  }
  return create(ContractSchema, { form: { case: "jsonSchema", value: { schemaJson: stringify(contract) } } });
}

function toolChoiceOf(choice: string): ToolChoice {
  if (choice === "auto" || choice === "none" || choice === "required") {
    return create(ToolChoiceSchema, { choice: { case: choice, value: {} } });
  }
  return create(ToolChoiceSchema, { choice: { case: "named", value: { name: choice } } });
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== "" && !(Array.isArray(value) && value.length === 0);
}
