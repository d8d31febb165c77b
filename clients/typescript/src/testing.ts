/** A real server for tests: starts the binary and tells its address. Knows nothing of the client. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

const ECHO = `
default_profile = "canned"

[profiles.canned]
backend = "script"
model = "canned-1"

[backends.script]
kind = "scripted"
`;

/** What server it is. */
export interface ServerOptions {
  /** The program; else what ANTIPHON_BINARY names, else `antiphon` on the PATH. */
  readonly binary?: string;
  /** The text of a configuration; without one, whatever is said is echoed. */
  readonly config?: string;
  /** Written beside it, by their paths. */
  readonly files?: Readonly<Record<string, string>>;
  /** Where the store is kept, so that another server can go on with it; else it is gone with the server. */
  readonly data?: string;
}

/** A server of its own: `await using server = await new Server().start()`. Stop clients before it, since an open connection holds up its end. */
export class Server {
  /** Host and port, once it is started. */
  address = "";
  readonly #options: ServerOptions;
  #process: ChildProcess | undefined;
  #folder: string | undefined;

  constructor(options: ServerOptions = {}) {
    this.#options = options;
  }

  /** Starts it and waits until it listens. */
  async start(): Promise<this> {
    const { binary = process.env["ANTIPHON_BINARY"] || "antiphon", config = ECHO, files = {}, data } = this.#options;
    const folder = (this.#folder = mkdtempSync(join(tmpdir(), "antiphon-")));
    for (const [name, text] of Object.entries({ ...files, "antiphon.toml": config })) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    const store = data === undefined ? ["--ephemeral"] : ["--data", data];
    const serve = ["serve", "--config", join(folder, "antiphon.toml"), "--listen", "127.0.0.1:0", ...store];
    const log = openSync(join(folder, "log"), "w");
    const child = (this.#process = spawn(binary, serve, { stdio: ["ignore", "pipe", log] }));
    closeSync(log);
    try {
      await once(child, "spawn");
      const lines = createInterface({ input: child.stdout as NonNullable<typeof child.stdout> });
      const [line] = (await Promise.race([once(lines, "line"), once(lines, "close").then(() => [""])])) as [string];
      if (!line.startsWith("listening on ")) throw new Error(`the server did not start: ${line}\n${this.log()}`);
      this.address = line.slice("listening on ".length).trim();
    } catch (failed) {
      await this.kill();
      throw failed;
    }
    return this;
  }

  /** What it said on standard error. */
  log(): string {
    return this.#folder === undefined ? "" : readFileSync(join(this.#folder, "log"), "utf8");
  }

  /** Stops it in good order. */
  async stop(): Promise<void> {
    await this.#end("SIGTERM");
  }

  /** Stops it as a crash would. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #end(how: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      const exited = once(child, "exit");
      child.kill(how);
      await exited;
    }
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
    this.#folder = undefined;
  }
}
