/** A connection that can be cut: passes bytes between a client and a server, until told otherwise. Knows nothing of what they say. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** Listens on a port of its own and connects to `target`, host and port, for each connection that comes. */
export class Proxy {
  address = "";
  readonly #open = new Set<Socket>();
  readonly #listener: Server;

  constructor(public target: string) {
    this.#listener = createServer((near) => this.#pass(near));
  }

  async start(): Promise<this> {
    this.#listener.listen(0, "127.0.0.1");
    await once(this.#listener, "listening");
    this.address = `127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
    return this;
  }

  /** Resets every connection that is open. */
  cut(): void {
    for (const end of this.#open) end.resetAndDestroy();
    this.#open.clear();
  }

  /** Lets nobody in any more. */
  close(): void {
    this.#listener.close();
    this.cut();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  #pass(near: Socket): void {
    const [host = "", port = ""] = this.target.split(":");
    const far = connect(Number(port), host);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#open.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        this.#open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }
}
