/** Exchanges that the caller made itself, and what came of storing them. Knows nothing of the call that does it. */

import { create } from "@bufbuild/protobuf";

import { type RecordedFacts, RecordedFactsSchema, type RecordResponse } from "./gen/antiphon/v1/exchange_service_pb.js";
import { StopReasonSchema } from "./gen/antiphon/v1/run_pb.js";
import { toolList, type Tools } from "./tool.js";
import { rawUsage, type Usage } from "./usage.js";
import { number } from "./word.js";

/** What is known of a call that the caller made. */
export interface Facts {
  /** Which of the messages is its answer, counted from 0. */
  readonly messageIndex: number;
  readonly runId?: string;
  readonly provider?: string;
  readonly model?: string;
  readonly stopReason?: string;
  readonly usage?: Usage;
  /** The tools that were offered; they stand from then on. */
  readonly tools?: Tools;
}

/** As they go out. */
export function rawFacts(facts: Facts): RecordedFacts {
  const { messageIndex, runId = "", provider = "", model = "" } = facts;
  const raw = create(RecordedFactsSchema, { messageIndex, runId, provider, model });
  if (facts.stopReason) raw.stopReason = number(StopReasonSchema, facts.stopReason);
  if (facts.usage !== undefined) raw.usage = rawUsage(facts.usage);
  if (facts.tools !== undefined) raw.tools = toolList(facts.tools);
  return raw;
}

/** What was stored, and what was there. */
export interface Recorded {
  /** The last exchange of the transcript. */
  readonly exchangeId: string;
  /** One for each assistant message, in order. */
  readonly exchangeIds: readonly string[];
  readonly stored: number;
  /** How many were there before. */
  readonly matched: number;
  /** The thread; empty without one. */
  readonly threadId: string;
  /** It is the result of an earlier call under the same request id. */
  readonly replayed: boolean;
  readonly raw: RecordResponse;
}

/** Reads it. */
export function recordedOf(raw: RecordResponse): Recorded {
  return {
    exchangeId: raw.exchangeId,
    exchangeIds: raw.exchanges.map((exchange) => exchange.exchangeId),
    stored: raw.storedCount,
    matched: raw.matchedCount,
    threadId: raw.thread?.threadId ?? "",
    replayed: raw.replayed,
    raw,
  };
}
