/** Documents of threads, and going back: what the scenarios do not play. */

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";

import { AntiphonError, Client, type DocumentEdit, NewThread, type Source, type Workspace } from "antiphon";
import { Server } from "antiphon/testing";

import { Proxy } from "./proxy.js";
import { CONFIG } from "./support.js";

const LARGE = Buffer.alloc(3_072_000, Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)));

async function read<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

function because(reason: string): (error: unknown) => boolean {
  return (error) => error instanceof AntiphonError && error.reason === reason;
}

describe("workspace", { timeout: 120_000 }, () => {
  let server: Server;
  let proxy: Proxy;
  /** Over the connection that is cut. */
  let cut: Client;
  /** Past it. */
  let client: Client;

  before(async () => {
    server = await new Server({ config: CONFIG }).start();
    proxy = await new Proxy(server.address).start();
    cut = new Client(proxy.address);
    client = new Client(server.address);
  });
  beforeEach(() => proxy.cut());
  after(async () => {
    cut.close();
    client.close();
    proxy.close();
    await server.stop();
  });

  async function workspace(): Promise<Workspace> {
    return client.workspace((await client.createThread()).threadId);
  }

  test("S1-3, S1-4, S1-5: a conversation has its documents, and goes back", async () => {
    const talk = await client.conversation(new NewThread());
    const empty = await talk.workspace.version();
    assert.deepEqual({ ...empty, etag: "" }, { root: "", documentCount: 0, sizeBytes: 0, etag: "" });
    assert.notEqual(empty.etag, "");
    const metadata = { n: 12345678901234567890n };
    const { version, documents } = await talk.workspace.write("bytes", new Uint8Array([0, 255]), { metadata });
    assert.deepEqual(documents[0]?.metadata, metadata);
    assert.ok(Math.abs(documents[0].updateTime.getTime() - Date.now()) < 300_000);
    const first = await talk.prompt("one");
    await talk.workspace.copy("kept", version, { sourceName: "bytes" });
    await talk.workspace.remove("bytes", { etag: (await talk.workspace.version()).etag });
    const second = await talk.prompt("two");
    const found = await talk.workspace.read("kept");
    assert.deepEqual([...found.data], [0, 255]);
    assert.deepEqual(found.version, await talk.workspace.version());
    assert.throws(() => found.text, TypeError);
    const changes = await read(client.documents(first).diff(talk.workspace));
    assert.deepEqual(changes.map(({ name, kind }) => [name, kind]), [["bytes", "removed"], ["kept", "added"]]);
    await assert.rejects(talk.restore(first, { expectedHead: first }), because("HEAD_MOVED"));
    assert.equal((await talk.restore(first, { expectedHead: second })).headExchangeId, first.exchangeId);
    const third = await talk.prompt("three");
    assert.equal(third.parentExchangeId, first.exchangeId);
    const moves = await read(talk.moves());
    assert.deepEqual(moves.map(({ toExchangeId, runId }) => [toExchangeId, runId]), [
      [third.exchangeId, third.runId],
      [first.exchangeId, ""],
      [second.exchangeId, second.runId],
      [first.exchangeId, first.runId],
    ]);
    assert.equal(moves[1]?.fromRoot, found.version.root);
    assert.ok((moves[0]?.time.getTime() ?? 0) >= (moves[3]?.time.getTime() ?? Infinity));
    const there = await client.documents({ root: moves[1].fromRoot }).read("kept");
    assert.deepEqual([...there.data], [0, 255]);
  });

  test("many documents come in pages of one version", async () => {
    const docs = await workspace();
    const wanted = Array.from({ length: 120 }, (_, number) => `n/${`${number}`.padStart(3, "0")}`);
    await docs.edit(wanted.map((put): DocumentEdit => ({ put, data: "x" })));
    const names: string[] = [];
    for await (const { name } of docs.list("n/")) {
      if (names.length === 0) await docs.remove("n/100");
      names.push(name);
    }
    assert.deepEqual(names, wanted);
    assert.equal((await docs.version()).documentCount, 119);
  });

  test("content comes from wherever bytes do", async () => {
    const docs = await workspace();
    const small = function* (): Generator<Uint8Array> {
      for (let at = 0; at < LARGE.length; at += 997) yield LARGE.subarray(at, at + 997);
    };
    const sources: Record<string, Source> = {
      "a stream": new Blob([LARGE]).stream(),
      "a list": [LARGE],
      "small pieces": small(),
      "empty pieces": [new Uint8Array(), LARGE, new Uint8Array()],
    };
    const hashes = new Set<string | undefined>();
    for (const [name, source] of Object.entries(sources)) {
      hashes.add((await docs.writeStream(name, source)).documents[0]?.contentBlake3);
    }
    assert.equal(hashes.size, 1);
    assert.ok(LARGE.equals((await docs.read("a stream")).data));
    const [contentBlake3] = hashes;
    await assert.rejects(docs.writeStream("a stream", [LARGE.subarray(1)], { contentBlake3 }), because("INVALID_FIELDS"));
  });

  test("a source that throws, and a caller who gives up, write nothing", async () => {
    const docs = await workspace();
    const thrown = new Error("the disk is gone");
    const controller = new AbortController();
    async function* failing(last: () => void): AsyncGenerator<Uint8Array> {
      yield LARGE;
      last();
      yield LARGE;
    }
    const raises = (): void => {
      throw thrown;
    };
    await assert.rejects(docs.writeStream("a", failing(raises)), (error) => error === thrown);
    await assert.rejects(docs.writeStream("a", LARGE as unknown as Source), TypeError);
    const { signal } = controller;
    const given = docs.writeStream("a", failing(() => controller.abort("enough")), { signal });
    await assert.rejects(given, (error) => error instanceof AntiphonError && error.code === "CANCELLED" && error.cause === "enough");
    assert.deepEqual(await read(docs.list()), []);
  });

  test("a cut while a document is read leaves nothing out, whatever is written meanwhile", async () => {
    const docs = await workspace();
    const { documents, version } = await docs.write("large", LARGE);
    await using stream = await cut.workspace(docs.threadId).readStream("large", { offset: 7 });
    assert.equal(stream.document.contentBlake3, documents[0]?.contentBlake3);
    assert.deepEqual(stream.version, version);
    const pieces: Uint8Array[] = [];
    for await (const piece of stream) {
      if (pieces.length === 0) {
        proxy.cut();
        await docs.write("large", "other");
      }
      pieces.push(piece);
    }
    assert.ok(LARGE.subarray(7).equals(Buffer.concat(pieces)));
  });

  test("what was closed is read no more, and what was left is gone on with", async () => {
    const docs = await workspace();
    await docs.write("large", LARGE);
    const stream = await docs.readStream("large");
    let length = 0;
    for await (const piece of stream) {
      length += piece.length;
      break;
    }
    for await (const piece of stream) length += piece.length;
    assert.equal(length, LARGE.length);
    const other = await docs.readStream("large");
    other.close();
    assert.deepEqual(await read(other), []);
    const gone = await new Proxy(server.address).start();
    gone.close();
    await using nobody = new Client(gone.address);
    await assert.rejects(nobody.workspace(docs.threadId).readStream("large", { timeoutMs: 500 }), (error) => {
      return error instanceof AntiphonError && ["UNAVAILABLE", "DEADLINE_EXCEEDED"].includes(error.code);
    });
  });

  test("a cut while a document is written whole writes it once", async () => {
    const docs = await workspace();
    const { threadId } = docs;
    // The bytes are asked for as they go out, so that the cut comes in the middle of them.
    let asked = 0;
    const data = new Proxied(LARGE, () => {
      asked += 1;
      if (asked === 4) proxy.cut();
    });
    const { documents, replayed } = await cut.workspace(threadId).write("large", data);
    assert.equal(documents[0]?.sizeBytes, LARGE.length);
    assert.ok(!replayed && asked > 12);
    assert.ok(LARGE.equals((await docs.read("large")).data));
  });
});

/** Bytes that tell when a part of them is taken. */
class Proxied extends Uint8Array {
  constructor(
    bytes: Uint8Array,
    private readonly taken: () => void,
  ) {
    super(bytes);
  }

  static get [Symbol.species](): Uint8ArrayConstructor {
    return Uint8Array;
  }

  override subarray(begin?: number, end?: number): Uint8Array<ArrayBuffer> {
    this.taken();
    return super.subarray(begin, end);
  }
}
