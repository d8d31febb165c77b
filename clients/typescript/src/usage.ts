/** What was consumed. Knows nothing of by what. */

import { create } from "@bufbuild/protobuf";

import { type Usage as RawUsage, UsageCompletenessSchema, UsageSchema } from "./gen/antiphon/v1/usage_pb.js";
import { count, word } from "./word.js";

const COUNTERS = [
  "inputTokens",
  "outputTokens",
  "totalTokens",
  "cachedInputTokens",
  "cacheWrittenTokens",
  "reasoningTokens",
] as const;

/** Tokens of one model call with its retries and repairs, or of a run; what the provider did not say is absent, which is not zero. */
export interface Usage {
  /** All that were read, cached ones included. */
  readonly inputTokens?: number;
  /** All that were written, reasoning included. */
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  readonly cachedInputTokens?: number;
  readonly cacheWrittenTokens?: number;
  readonly reasoningTokens?: number;
  /** `complete`, `partial` where the figures are a lower bound, or `unknown`. */
  readonly completeness?: string;
  /** The caller's word; the server did not see the call. */
  readonly reported?: boolean;
}

/** Reads what the server says. */
export function usageOf(raw: RawUsage | undefined): Usage {
  const known = raw ?? create(UsageSchema);
  const counters = COUNTERS.flatMap((name) => {
    const counter = known[name];
    return counter === undefined ? [] : [[name, count(counter)]];
  });
  const completeness = word(UsageCompletenessSchema, known.completeness);
  return { ...Object.fromEntries(counters), completeness, reported: known.reported };
}

/** As it goes out, with a call that the caller made. */
export function rawUsage(usage: Usage): RawUsage {
  const raw = create(UsageSchema);
  for (const name of COUNTERS) {
    const known = usage[name];
    if (known !== undefined) raw[name] = BigInt(known);
  }
  return raw;
}
