/** What was consumed, and how much may be spent. Knows nothing of by what. */

import { create } from "@bufbuild/protobuf";

import {
  CostAmountSchema,
  type SpendLimit as RawSpendLimit,
  SpendLimitSchema,
  type Spent as RawSpent,
  type Usage as RawUsage,
  UsageCompletenessSchema,
  UsageSchema,
} from "./gen/antiphon/v1/usage_pb.js";
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

/** What all calls to models of a coordination may spend together, the first turn included. The call that reaches a limit is the last: an answer that
 * asks for another one is refused with the reason SPEND_LIMIT, which is thrown and never tried again by itself, and what was pending stays so. What
 * `generate` does is not counted. */
export interface SpendSettings {
  /** Tokens read and written, a whole number of at least 1. A RangeError is thrown for another one. */
  readonly tokenLimit?: number | undefined;
  /** What they cost by the prices of profiles: an amount over 0 with its currency, such as `"2.50 USD"`, with up to 9 digits on each side of the point.
   * A TypeError is thrown for what is no such text. A model without prices in the currency is refused with SPEND_LIMIT. */
  readonly costLimit?: string | undefined;
}

/** What calls to models consumed that the server made, as far as providers said so. */
export interface Spent {
  /** Read and written. */
  readonly tokens: number;
  /** What they may have cost, by currency, as decimal numbers in text; empty without prices. */
  readonly costs: Readonly<Record<string, string>>;
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

/** Reads what the server says. */
export function spentOf(raw: RawSpent | undefined): Spent {
  const costs = Object.fromEntries(raw?.costs.map(({ currency, amount }) => [currency, amount]) ?? []);
  return { tokens: count(raw?.tokens ?? 0n), costs };
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

/** How much may be spent, as it goes out; nothing without a limit. Throws a RangeError for a number and a TypeError for a text that cannot be one. */
export function rawSpendLimit({ tokenLimit, costLimit }: SpendSettings): RawSpendLimit | undefined {
  if (tokenLimit === undefined && costLimit === undefined) return undefined;
  const raw = create(SpendLimitSchema);
  if (tokenLimit !== undefined) {
    if (!Number.isSafeInteger(tokenLimit) || tokenLimit < 1) {
      throw new RangeError(`tokenLimit: ${tokenLimit} is not a whole number of at least 1; leave it out for no limit`);
    }
    raw.tokens = BigInt(tokenLimit);
  }
  if (costLimit !== undefined) {
    const [, amount = "0", currency = ""] = /^(\d{1,9}(?:\.\d{1,9})?) ([A-Z]{3})$/.exec(costLimit) ?? [];
    if (Number(amount) === 0) {
      throw new TypeError(`costLimit: '${costLimit}' is not an amount over 0 with its currency, such as '2.50 USD'`);
    }
    raw.cost = create(CostAmountSchema, { amount, currency });
  }
  return raw;
}
