/** How a connection is made: TLS, keys, and calls that are made again. The peer is a small server here, since only its ear matters. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createSecureServer, createServer, type Http2Server } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";

import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Client, type ClientOptions } from "antiphon";
import { RunService } from "antiphon/gen/run_service";

const KEYS = join(import.meta.dirname, "../../tests/tls");
const [certificate, key] = [join(KEYS, "certificate.pem"), join(KEYS, "key.pem")];

/** Tells what it was called with. */
class Ear {
  readonly heard: Headers[] = [];
  readonly fail: Code[] = [];
  readonly #server: Http2Server;
  readonly #sockets = new Set<Socket>();

  constructor(readonly secure: boolean) {
    const handle = connectNodeAdapter({
      routes: (router) => {
        router.rpc(RunService.method.get, ({ runId }, { requestHeader }) => {
          this.heard.push(requestHeader);
          const failure = this.fail.shift();
          if (failure !== undefined) throw new ConnectError("not now", failure);
          return { run: { runId, state: 99 as number as 0 } };
        });
      },
    });
    const [cert, ca] = [readFileSync(certificate), readFileSync(certificate)];
    this.#server = secure
      ? createSecureServer({ key: readFileSync(key), cert, ca, requestCert: true, rejectUnauthorized: true }, handle)
      : createServer(handle);
    this.#server.on("connection", (socket: Socket) => this.#sockets.add(socket));
  }

  async connect(options: ClientOptions): Promise<Client> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const { port } = this.#server.address() as AddressInfo;
    return new Client(`${this.secure ? "https" : "http"}://127.0.0.1:${port}/`, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

test("both sides show who they are", { timeout: 60_000 }, async () => {
  await using ear = new Ear(true);
  const tls = { ca: certificate, certificate, key, serverName: "antiphon.test" };
  await using client = await ear.connect({ token: "key-1", providerCredential: "sk-1", tls, keepaliveMs: 5000 });
  assert.equal((await client.run("r")).state, "unknown_99", "a word of a newer server");
  assert.equal(ear.heard[0]?.get("authorization"), "Bearer key-1");
  await client.withProviderCredential("sk-2").run("r");
  await client.run("r");
  assert.deepEqual(ear.heard.map((headers) => headers.get("antiphon-provider-credential")), ["sk-1", "sk-2", "sk-1"]);
  assert.equal(ear.heard[1]?.get("authorization"), "Bearer key-1");
});

test("a server that nobody vouches for is not talked to", { timeout: 60_000 }, async () => {
  await using ear = new Ear(true);
  await using stranger = await ear.connect({ token: "key-1", keepaliveMs: null });
  await assert.rejects(stranger.run("r"), { code: "UNAVAILABLE" });
  assert.deepEqual(ear.heard, []);
});

test("a call is made again where that helps and only there", { timeout: 60_000 }, async () => {
  await using ear = new Ear(false);
  await using client = await ear.connect({});
  ear.fail.push(Code.Unavailable, Code.Unavailable);
  assert.equal((await client.run("r")).runId, "r");
  assert.equal(ear.heard.length, 3);
  ear.fail.push(Code.ResourceExhausted);
  await assert.rejects(client.run("r"), { code: "RESOURCE_EXHAUSTED" });
  assert.equal(ear.heard.length, 4);
});
