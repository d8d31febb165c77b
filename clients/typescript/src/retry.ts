/** Whether a call is made again, and when. Knows nothing of what is called. */

import { randomUUID } from "node:crypto";

import { aborted, type AntiphonError } from "./error.js";

const TRIES = 4;
const FIRST_PAUSE_MS = 200;

/** What begins or goes on with a run: its id and whether to try again under it. */
export interface Repeatable {
  runId: string;
  retry: boolean;
}

/** How often one call was made, and whether it is made again. */
export class Tries {
  /** More was handed on than can be taken back: a run that ended is not tried again. */
  begun = false;
  readonly #until: number | undefined;
  readonly #asked: boolean;
  #count = 0;
  #broke = false;

  constructor(
    timeoutMs: number | undefined,
    private readonly run?: Repeatable,
  ) {
    this.#until = timeoutMs === undefined ? undefined : performance.now() + timeoutMs;
    this.#asked = run?.retry ?? false;
  }

  /** How long the next try may take, as an option of the call. */
  left(): { timeoutMs?: number } {
    return this.#until === undefined ? {} : { timeoutMs: Math.max(0, this.#until - performance.now()) };
  }

  /** How long to wait before the next try. Throws the error when there is none. */
  pause(error: AntiphonError): number {
    this.#count += 1;
    const state = (error.metadata["run_state"] ?? "").toUpperCase();
    const ours = this.#broke && error.reason === "RUN_CANCELLED";
    this.#broke ||= error.code === "UNAVAILABLE" && error.reason === "";
    const ended = state === "FAILED" || state === "CANCELLED" || ours;
    const pause = error.retryAfterMs ?? FIRST_PAUSE_MS * 2 ** (this.#count - 1);
    const late = this.#until !== undefined && performance.now() + pause >= this.#until;
    const taken = ended && (this.run === undefined || this.begun);
    if (!(error.canRetry || ours) || late || this.#count >= TRIES || taken) throw error;
    if (this.run !== undefined) this.run.retry = ended || this.#asked;
    return pause;
  }
}

/** A name for what is made once, kept over every try of it. */
export function fresh(): string {
  return randomUUID();
}

/** Waits. Throws when the signal says that nobody does any more. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const give = (): void => {
      clearTimeout(timer);
      reject(aborted(signal as AbortSignal, "the call"));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", give);
      resolve();
    }, milliseconds);
    if (signal?.aborted) give();
    else signal?.addEventListener("abort", give, { once: true });
  });
}
