/** What came of one branch of a fork. Knows nothing of the call that made it. */

import { type AntiphonError, fromStatus } from "./error.js";
import { Exchange } from "./exchange.js";
import type { ForkResult } from "./gen/antiphon/v1/exchange_service_pb.js";

/** A new thread with its first exchange, or why there is none; the thread is there all the same, at the fork point. */
export interface Branch {
  readonly threadId: string;
  readonly exchange: Exchange | undefined;
  readonly error: AntiphonError | undefined;
}

/** Reads it. */
export function branchOf(raw: ForkResult): Branch {
  return {
    threadId: raw.thread?.threadId ?? "",
    exchange: raw.exchange === undefined ? undefined : new Exchange(raw.exchange),
    error: raw.error === undefined ? undefined : fromStatus(raw.error),
  };
}
