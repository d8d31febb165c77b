/** Threads, runs and coordinations as they are read. Knows nothing of how they are asked for. */

import { dateOf } from "./document.js";
import { type AntiphonError, fromStatus } from "./error.js";
import { deltaOf, type Exchange, stopReason } from "./exchange.js";
import { type Coordination as RawCoordination, CoordinationStateSchema } from "./gen/antiphon/v1/coordination_pb.js";
import { type Run as RawRun, RunStateSchema } from "./gen/antiphon/v1/run_pb.js";
import type { WatchResponse } from "./gen/antiphon/v1/run_service_pb.js";
import type { Thread as RawThread } from "./gen/antiphon/v1/thread_pb.js";
import type { ThreadMove, Turn as RawTurn } from "./gen/antiphon/v1/thread_service_pb.js";
import { parse } from "./json.js";
import type { Message } from "./message.js";
import type { Labels } from "./request.js";
import { ToolCall } from "./tool.js";
import { type Spent, spentOf, type Usage, usageOf } from "./usage.js";
import { count, word } from "./word.js";

/** A named bookmark into the graph, as it was when it was read. */
export class Thread {
  constructor(readonly raw: RawThread) {}

  /** Its id. */
  get threadId(): string {
    return this.raw.threadId;
  }

  /** A name for people. */
  get name(): string {
    return this.raw.name;
  }

  /** The last exchange of its last completed run; empty when there is none. */
  get headExchangeId(): string {
    return this.raw.headExchangeId;
  }

  /** How many turns lead to the head. */
  get turnCount(): number {
    return count(this.raw.turnCount);
  }

  /** Changes with every change of it. */
  get etag(): string {
    return this.raw.etag;
  }

  /** The run at work, or the one that failed or was interrupted and may be resumed. */
  get activeRunId(): string {
    return this.raw.activeRunId;
  }

  /** The thread that it was forked from; empty when it was not, or at a bare exchange. */
  get parentThreadId(): string {
    return this.raw.parent?.threadId ?? "";
  }

  /** Its labels. */
  get labels(): Labels {
    return this.raw.labels;
  }

  /** The caller's own data; undefined when there is none. */
  get metadata(): unknown {
    return this.raw.metadataJson ? parse(this.raw.metadataJson) : undefined;
  }

  /** The calls that wait for results. */
  get toolCalls(): ToolCall[] {
    return (this.raw.pending?.calls ?? []).map((call) => ToolCall.of(call));
  }
}

/** One turn on a thread's path. */
export interface Turn {
  readonly number: number;
  readonly runId: string;
  readonly exchangeId: string;
  /** The beginning of what was asked. */
  readonly user: string;
  /** The beginning of the answer. */
  readonly assistant: string;
  readonly stopReason: string;
}

/** Reads one. */
export function turnOf(raw: RawTurn): Turn {
  return {
    number: count(raw.turn),
    runId: raw.runId,
    exchangeId: raw.exchangeId,
    user: raw.userPreview,
    assistant: raw.assistantPreview,
    stopReason: stopReason(raw.stopReason),
  };
}

/** One move of a thread's head. */
export interface Move {
  /** The head before; empty when there was none. */
  readonly fromExchangeId: string;
  /** The head after. */
  readonly toExchangeId: string;
  /** The run that moved it; empty for a restore. */
  readonly runId: string;
  readonly time: Date;
  /** The version of the documents before, by its name; empty for none. */
  readonly fromRoot: string;
  /** The version of the documents after; empty for none. */
  readonly toRoot: string;
}

/** Reads one. */
export function moveOf(raw: ThreadMove): Move {
  const { fromExchangeId, toExchangeId, runId, fromWorkspaceRoot: fromRoot, toWorkspaceRoot: toRoot } = raw;
  return { fromExchangeId, toExchangeId, runId, time: dateOf(raw.time), fromRoot, toRoot };
}

/** One prompt to its final assistant message, as it was when it was read. */
export class Run {
  constructor(readonly raw: RawRun) {}

  /** Its id. */
  get runId(): string {
    return this.raw.runId;
  }

  /** `queued`, `running`, `pending_tools`, `completed`, `failed`, `cancelled` or `interrupted`. */
  get state(): string {
    return word(RunStateSchema, this.raw.state);
  }

  /** Whether its exchanges are kept. */
  get captured(): boolean {
    return this.raw.captured;
  }

  /** Its last exchange; empty when it has none. */
  get exchangeId(): string {
    return this.raw.exchangeId;
  }

  /** The thread that it moves; empty without one. */
  get threadId(): string {
    return this.raw.threadId;
  }

  /** Which attempt under this id the state belongs to. */
  get attempt(): number {
    return this.raw.attempt;
  }

  /** How often a model was called for it. */
  get modelCalls(): number {
    return this.raw.observations.length;
  }

  /** What it consumed, each call counted once. */
  get usage(): Usage {
    return usageOf(this.raw.usage);
  }

  /** Why it failed, was cancelled or interrupted. */
  get error(): AntiphonError | undefined {
    return this.raw.error === undefined ? undefined : fromStatus(this.raw.error);
  }

  /** The labels of the request. */
  get labels(): Labels {
    return this.raw.labels;
  }
}

/** Something that happened to a run that is followed. */
export interface RunEvent {
  /** Of a state its number, which stays for ever and is given to go on after it; 0 for what is not on record. */
  readonly sequence: bigint;
  /** `run` for a state, `text_so_far`, or what happened on the way, such as `delta`. */
  readonly kind: string;
  /** The run, when it came to a state. */
  readonly run: Run | undefined;
  /** More of the answer's text, or what came of it before. */
  readonly text: string;
}

/** Reads one. */
export function eventOf(raw: WatchResponse): RunEvent {
  const { sequence, event } = raw;
  if (event.case === "run") return { sequence, kind: "run", run: new Run(event.value), text: "" };
  if (event.case === "textSoFar") return { sequence, kind: "text_so_far", run: undefined, text: event.value.text };
  const what = event.case === "progress" ? event.value.event : { case: undefined };
  const kind = (what.case ?? "unknown").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const delta = what.case === "delta" ? deltaOf(what.value) : undefined;
  return { sequence, kind, run: undefined, text: delta?.kind === "text" ? delta.text : "" };
}

/** One branch driven turn by turn, as it was when it was read. */
export class Coordination {
  constructor(readonly raw: RawCoordination) {}

  /** Its id. */
  get coordinationId(): string {
    return this.raw.coordinationId;
  }

  /** `turn_running`, `awaiting_decision`, `awaiting_tools`, `awaiting_generation`, or how it ended. */
  get state(): string {
    return word(CoordinationStateSchema, this.raw.state);
  }

  /** Whether a stream is attached. */
  get attached(): boolean {
    return this.raw.attached;
  }

  /** What it waits for: a decision, a batch of calls, or a generation; empty when for nothing. */
  get pendingId(): string {
    return this.raw.pendingId;
  }

  /** The calls that it waits for; only where a single one was asked for. */
  get toolCalls(): ToolCall[] {
    const { pending } = this.raw;
    if (pending.case !== "toolsNeeded") return [];
    return pending.value.calls.flatMap(({ call }) => (call === undefined ? [] : [ToolCall.of(call)]));
  }

  /** Its last exchange. */
  get exchangeId(): string {
    return this.raw.exchangeId;
  }

  /** How many turns were started. */
  get turnsStarted(): number {
    return this.raw.turnsStarted;
  }

  /** How many can still be. */
  get turnsRemaining(): number {
    return this.raw.turnsRemaining;
  }

  /** How many tokens all of its turns may spend together; undefined without that limit. */
  get tokenLimit(): number | undefined {
    const tokens = this.raw.spendLimit?.tokens;
    return tokens === undefined ? undefined : count(tokens);
  }

  /** What they may cost, such as `"2.5 USD"`; undefined without that limit. */
  get costLimit(): string | undefined {
    const cost = this.raw.spendLimit?.cost;
    return cost === undefined ? undefined : `${cost.amount} ${cost.currency}`;
  }

  /** What they spent, whether or not there is a limit. */
  get spent(): Spent {
    return spentOf(this.raw.spent);
  }

  /** Labels to list by. */
  get labels(): Labels {
    return this.raw.labels;
  }
}

/** One exchange with its history. */
export interface Inspection {
  readonly exchange: Exchange;
  /** The whole logical history, the answer included; empty when none was asked for. */
  readonly messages: readonly Message[];
  /** The exchanges that they come from, by their ids, the root first. */
  readonly path: readonly string[];
}
