/** The graph of exchanges as it is read: nodes, parts, finds and sums. Knows nothing of how they are asked for. */

import { create } from "@bufbuild/protobuf";

import { type Exchange, stopReason } from "./exchange.js";
import { ExchangeOriginSchema } from "./gen/antiphon/v1/exchange_pb.js";
import { type ExchangeNode, type GraphScope, GraphScopeSchema, type SearchHit } from "./gen/antiphon/v1/graph_pb.js";
import type { SumUsageResponse } from "./gen/antiphon/v1/graph_service_pb.js";
import { RunStateSchema } from "./gen/antiphon/v1/run_pb.js";
import { exchangePoint, type Labels } from "./request.js";
import { type Usage, usageOf } from "./usage.js";
import { count, word } from "./word.js";

/** A part of the graph: an exchange or its id, which is the path from the root to it; all that follows from an exchange, or at most so many steps; the
 * path to a thread's head; or the whole tree that this is in, with its siblings. */
export type Scope =
  | Exchange
  | string
  | { readonly subtree: Exchange | string; readonly maxSteps?: number }
  | { readonly threadPath: string }
  | { readonly threadTree: string };

/** As it goes out. */
export function rawScope(scope: Scope): GraphScope {
  if (typeof scope === "string" || "exchangeId" in scope) {
    return create(GraphScopeSchema, { scope: { case: "path", value: { exchangeId: exchangePoint(scope).exchangeId } } });
  }
  if ("threadPath" in scope) return create(GraphScopeSchema, { scope: { case: "threadPath", value: { threadId: scope.threadPath } } });
  if ("threadTree" in scope) return create(GraphScopeSchema, { scope: { case: "threadTree", value: { threadId: scope.threadTree } } });
  const { exchangeId } = exchangePoint(scope.subtree);
  const steps = scope.maxSteps === undefined ? {} : { maxSteps: BigInt(scope.maxSteps) };
  return create(GraphScopeSchema, { scope: { case: "subtree", value: { exchangeId, ...steps } } });
}

/** An exchange in the graph, without its content; `inspect` has that. */
export class Node {
  constructor(readonly raw: ExchangeNode) {}

  /** Its id. */
  get exchangeId(): string {
    return this.raw.exchangeId;
  }

  /** The exchange before it; empty at a root. */
  get parentExchangeId(): string {
    return this.raw.parentExchangeId;
  }

  /** Its run. */
  get runId(): string {
    return this.raw.runId;
  }

  /** The thread that it was made on; empty without one. */
  get threadId(): string {
    return this.raw.threadId;
  }

  /** The number of its turn on its path. */
  get turn(): number {
    return count(this.raw.turn);
  }

  /** How many exchanges are on the path to it, itself included. */
  get depth(): number {
    return count(this.raw.depth);
  }

  /** Whether it is the last exchange of a completed run. */
  get endsTurn(): boolean {
    return this.raw.endsTurn;
  }

  /** How it came to be here: `executed`, `recorded` or `imported`. */
  get origin(): string {
    return word(ExchangeOriginSchema, this.raw.origin);
  }

  /** The model that was asked for; empty where the caller did not say. */
  get model(): string {
    return this.raw.responder?.model ?? "";
  }

  /** Why the model stopped. */
  get stopReason(): string {
    return stopReason(this.raw.stopReason);
  }

  /** What it consumed. */
  get usage(): Usage {
    return usageOf(this.raw.usage);
  }

  /** Its labels. */
  get labels(): Labels {
    return this.raw.labels;
  }

  /** The beginning of what was asked. */
  get user(): string {
    return this.raw.userPreview;
  }

  /** The beginning of the answer. */
  get assistant(): string {
    return this.raw.assistantPreview;
  }

  /** How many exchanges follow from it. */
  get childCount(): number {
    return count(this.raw.childCount);
  }
}

/** Something that was found. */
export interface Hit {
  readonly runId: string;
  readonly runState: string;
  /** Undefined for a run that has none. */
  readonly exchange: Node | undefined;
  /** The text that was looked for, with what is around it; empty without a search for text. */
  readonly snippet: string;
  readonly raw: SearchHit;
}

/** Reads one. */
export function hitOf(raw: SearchHit): Hit {
  const { runId, snippet } = raw;
  const exchange = raw.exchange === undefined ? undefined : new Node(raw.exchange);
  return { runId, runState: word(RunStateSchema, raw.runState), exchange, snippet, raw };
}

/** What the calls to one model consumed. */
export interface ModelUsage {
  /** Empty where callers made the calls. */
  readonly backendId: string;
  readonly model: string;
  readonly usage: Usage;
  /** Those that failed included. */
  readonly calls: number;
}

/** What runs consumed, each counted once. */
export interface UsageSum {
  readonly usage: Usage;
  readonly runCount: number;
  readonly models: readonly ModelUsage[];
  /** What it may have cost, by currency, as decimal numbers in text; empty without prices. */
  readonly costs: Readonly<Record<string, string>>;
  readonly raw: SumUsageResponse;
}

/** Reads it. */
export function usageSumOf(raw: SumUsageResponse): UsageSum {
  return {
    usage: usageOf(raw.usage),
    runCount: count(raw.runCount),
    models: raw.models.map((one) => {
      const { backendId, model } = one;
      return { backendId, model, usage: usageOf(one.usage), calls: count(one.attemptCount) };
    }),
    costs: Object.fromEntries(raw.costEstimates.map(({ currency, amount }) => [currency, amount])),
    raw,
  };
}
