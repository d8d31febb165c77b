/** Which pieces of an answer are new, over connections that break and calls to the model that take the place of others. Knows nothing of calls. */

import { type Delta, deltaOf } from "./exchange.js";
import type { AttemptStarted, Progress } from "./gen/antiphon/v1/progress_pb.js";
import { AttemptKind } from "./gen/antiphon/v1/run_pb.js";

/** What an answer tells when it begins anew. */
export const ANEW: Delta = { kind: "attempt", text: "" };

/** Whether a call to the model takes the place of one before it. */
export function isAnew(attempt: AttemptStarted): boolean {
  return attempt.kind === AttemptKind.RETRY || attempt.kind === AttemptKind.REPAIR;
}

/** What was told of one answer. A connection that is made again tells it from the beginning, every call to the model included. */
export class Pieces {
  /** A piece was told. */
  begun = false;
  #attempt = 0;
  #told = new Map<string, number>();
  #at = 0;
  #seen = new Map<string, number>();

  /** A connection tells from the beginning what comes. */
  connected(): void {
    this.#at = 0;
    this.#seen = new Map();
    // It may be another attempt of the run, whose calls are counted from 1 again.
    if (!this.begun) this.#attempt = 0;
  }

  /** What of it was not told yet. */
  new({ event }: Progress): Delta | undefined {
    if (event.case === "attemptStarted") return this.#started(event.value);
    const delta = event.case === "delta" ? deltaOf(event.value) : undefined;
    if (delta === undefined || (this.#at > 0 && this.#at < this.#attempt)) return undefined;
    const before = this.#seen.get(delta.kind) ?? 0;
    const told = this.#told.get(delta.kind) ?? 0;
    const after = before + delta.text.length;
    this.#seen.set(delta.kind, after);
    this.#told.set(delta.kind, Math.max(told, after));
    this.begun = true;
    const text = delta.text.slice(Math.max(0, told - before));
    return text ? { kind: delta.kind, text } : undefined;
  }

  /** What of the answer's text no piece told, as with the stored result of an earlier call. */
  rest(whole: string): Delta | undefined {
    const text = whole.slice(this.#told.get("text") ?? 0);
    this.#told.set("text", whole.length);
    return text ? { kind: "text", text } : undefined;
  }

  #started(attempt: AttemptStarted): Delta | undefined {
    this.#at = attempt.number;
    if (isAnew(attempt)) this.#seen = new Map();
    if (attempt.number <= this.#attempt) return undefined;
    this.#attempt = attempt.number;
    if (!isAnew(attempt) || this.#told.size === 0) return undefined;
    this.#told = new Map();
    return ANEW;
  }
}
