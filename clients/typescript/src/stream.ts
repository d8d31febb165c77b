/** Both directions of a coordination's stream. Knows nothing of what is said on it. */

import { toBinary } from "@bufbuild/protobuf";

import { AntiphonError } from "./error.js";
import { CoordinateRequestSchema, type CoordinateRequest, type CoordinateResponse } from "./gen/antiphon/v1/coordination_pb.js";

/** Opens the call: what is said goes in, what is heard comes out. */
export type Open = (said: AsyncIterable<CoordinateRequest>, signal: AbortSignal) => AsyncIterable<CoordinateResponse>;

/** One stream. */
export class Stream {
  readonly #said = new Queue<CoordinateRequest>();
  readonly #heard: AsyncIterator<CoordinateResponse>;
  readonly #controller = new AbortController();

  constructor(open: Open) {
    this.#heard = open(this.#said, this.#controller.signal)[Symbol.asyncIterator]();
  }

  /** Says something. What a broken stream was told is lost; reading tells that it broke. Throws for what cannot be said, which would look like a
   * connection that broke. */
  send(frame: CoordinateRequest): void {
    try {
      toBinary(CoordinateRequestSchema, frame);
    } catch (cause) {
      throw new AntiphonError("INVALID_ARGUMENT", `this cannot be sent: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    }
    this.#said.push(frame);
  }

  /** The next frame; undefined when the stream ended well. Throws what it ended with otherwise. */
  async receive(): Promise<CoordinateResponse | undefined> {
    const next = await this.#heard.next();
    return next.done === true ? undefined : next.value;
  }

  /** Lets go. */
  close(): void {
    this.#said.end();
    this.#controller.abort();
    // That it was let go of is no error, also where nobody listened yet.
    this.#heard.next().catch(() => undefined);
  }
}

/** What is waited for, one after the other. */
class Queue<Item> implements AsyncIterable<Item> {
  readonly #items: Item[] = [];
  #ended = false;
  #wake: (() => void) | undefined;

  push(item: Item): void {
    this.#items.push(item);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item> {
    for (;;) {
      const item = this.#items.shift();
      if (item !== undefined) {
        yield item;
      } else if (this.#ended) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
