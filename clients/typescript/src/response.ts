/** Answers that are read as they come. Knows nothing of which call they are of. */

import type { CallOptions } from "@connectrpc/connect";

import type { CallSettings } from "./calls.js";
import { AntiphonError, fromConnect } from "./error.js";
import type { Delta, Exchange, Probe } from "./exchange.js";
import type { Progress } from "./gen/antiphon/v1/progress_pb.js";
import { Pieces } from "./pieces.js";
import { type Repeatable, sleep, Tries } from "./retry.js";

/** What such a call says, one after the other. */
export interface StreamEvent<Completed> {
  readonly event:
    | { readonly case: "progress"; readonly value: Progress }
    | { readonly case: "completed"; readonly value: Completed }
    | { readonly case: undefined; readonly value?: undefined };
}

/** How it is asked for and read; for the client's own use. */
export interface Streamed<Completed, Result> {
  readonly open: (options: CallOptions) => AsyncIterable<StreamEvent<Completed>>;
  readonly read: (completed: Completed) => Result;
  readonly run: Repeatable;
  readonly end: (runId: string) => Promise<void>;
}

/** An answer on its way: iterate for its pieces, ask `result` for the whole, `cancel` to end its run.
 *
 * The text pieces joined are the text of the result, whatever became of the connection meanwhile, those since the last piece of the kind `attempt`
 * where the model was asked again: the call is repeated under its run id, which gives what is there or joins what is at work. Only a run that ended
 * after its first piece came is not tried again. Whoever leaves the iteration early may go on with it, or ask for the result; `await using` lets go of
 * what was not read to its end. */
export class Response<Result extends Exchange | Probe> implements AsyncIterable<Delta> {
  readonly #pieces: AsyncGenerator<Delta, Result>;
  readonly #run: Repeatable;
  readonly #end: (runId: string) => Promise<void>;
  readonly #left = new AbortController();
  #result: Result | undefined;

  /** For the client's own use. @internal */
  constructor(streamed: Streamed<never, Result>, settings: CallSettings) {
    this.#run = streamed.run;
    this.#end = streamed.end;
    this.#pieces = this.#read(streamed, settings);
  }

  /** Names the run, from the beginning; empty for a probe. */
  get runId(): string {
    return this.#run.runId;
  }

  [Symbol.asyncIterator](): AsyncIterator<Delta> {
    // Without a `return`: leaving a loop leaves the answer as it is.
    return {
      next: async () => {
        const next = await this.#pieces.next();
        if (next.done !== true) return next;
        this.#result ??= next.value;
        return { done: true, value: undefined };
      },
    };
  }

  /** The whole, once it is there. Throws `AntiphonError` where nothing came of it. */
  async result(): Promise<Result> {
    for await (const _ of this) continue;
    if (this.#result === undefined) throw new AntiphonError("CANCELLED", `run ${this.runId} was cancelled`);
    return this.#result;
  }

  /** Ends the run, unless it has ended; whoever reads this gets an `AntiphonError` with the code CANCELLED. */
  async cancel(): Promise<void> {
    try {
      await this.#end(this.runId);
    } catch (error) {
      // It was never begun, or refused before it was.
      if (!(error instanceof AntiphonError) || error.reason !== "RUN_NOT_FOUND") throw error;
    }
  }

  /** Lets go of what was not read to its end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#left.abort();
  }

  async *#read(streamed: Streamed<never, Result>, settings: CallSettings): AsyncGenerator<Delta, Result> {
    const tries = new Tries(settings.timeoutMs, streamed.run);
    const signal = settings.signal === undefined ? this.#left.signal : AbortSignal.any([settings.signal, this.#left.signal]);
    const pieces = new Pieces();
    let result: Result | undefined;
    while (result === undefined) {
      let pause: number;
      try {
        pieces.connected();
        for await (const { event } of streamed.open({ ...tries.left(), signal })) {
          if (event.case === "completed") result = streamed.read(event.value);
          const delta = event.case === "progress" ? pieces.new(event.value) : undefined;
          if (delta === undefined) continue;
          tries.begun = pieces.begun;
          yield delta;
        }
        if (result !== undefined) break;
        pause = tries.pause(new AntiphonError("UNAVAILABLE", "the stream closed before its run ended"));
      } catch (failed) {
        if (result !== undefined) break;
        pause = tries.pause(fromConnect(failed, signal));
      }
      await sleep(pause, signal);
    }
    // The stored result of an earlier call comes without pieces.
    const rest = pieces.rest(result.text);
    if (rest !== undefined) yield rest;
    return result;
  }
}
