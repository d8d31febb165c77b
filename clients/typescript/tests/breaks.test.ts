/** What breaks: connections, servers, and the patience of the caller. No callback and no tool is called twice for one thing. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";

import { type Action, AntiphonError, Client, Continue, type Delta, type Decision, Fail, Stop, Tool } from "antiphon";
import { Server } from "antiphon/testing";

import { Proxy } from "./proxy.js";
import { CONFIG, fresh, runState, Script, SLOW, until } from "./support.js";

const CITY = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

describe("breaks", { timeout: 120_000 }, () => {
  let server: Server;
  let proxy: Proxy;
  /** Over the connection that is cut. */
  let client: Client;
  /** Past it. */
  let record: Client;
  const folder = mkdtempSync(join(tmpdir(), "antiphon-data-"));

  before(async () => {
    server = await new Server({ config: CONFIG }).start();
    proxy = await new Proxy(server.address).start();
    client = new Client(proxy.address);
    record = new Client(server.address);
  });
  beforeEach(() => proxy.cut());
  after(async () => {
    client.close();
    record.close();
    proxy.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("a cut while the callback thinks changes nothing", async () => {
    const seen: Decision[] = [];
    const cutting = (decision: Decision): Action => {
      seen.push(decision);
      proxy.cut();
      return new Continue(`turn ${seen.length}`);
    };
    assert.equal((await client.coordinate(await client.capture("zero"), 2, cutting)).state, "exhausted");
    assert.deepEqual(seen.map(({ exchange }) => exchange.text), ["zero", "turn 1", "turn 2"]);
    assert.equal(new Set(seen.map(({ decisionId }) => decisionId)).size, 3);
  });

  test("a cut in a turn lets it finish", async () => {
    const heard: Delta[] = [];
    const onDelta = (delta: Delta): void => {
      if (heard.length === 0) proxy.cut();
      heard.push(delta);
    };
    const script = new Script(new Continue("slow"), new Stop());
    await client.coordinate(await client.capture("zero"), 1, script.decide, { onDelta });
    assert.deepEqual(script.texts, ["zero", SLOW]);
  });

  test("a cut while tools run calls none again", async () => {
    const called: string[] = [];
    const weather = new Tool(
      function weather() {
        called.push("weather");
        return "fine";
      },
      { schema: CITY },
    );
    const tide = new Tool(
      function tide() {
        called.push("tide");
        proxy.cut();
        return "high";
      },
      { schema: CITY },
    );
    assert.equal((await client.chain("the forecast", [weather, tide])).text, "Done.");
    assert.deepEqual(called, ["weather", "tide"]);
  });

  test("a failure of the callback is told after a cut, and comes back as itself", async () => {
    const coordinationId = fresh();
    const raised = new RangeError("no");
    const fails = (): Action => {
      proxy.cut();
      throw raised;
    };
    const start = await client.capture("zero");
    await assert.rejects(client.coordinate(start, 1, fails, { coordinationId }), (error) => error === raised);
    assert.equal((await record.coordination(coordinationId)).state, "failed");
  });

  test("what is thrown need not be an error", async () => {
    const start = await client.capture("zero");
    const fails = (): Action => {
      throw "no";
    };
    await assert.rejects(client.coordinate(start, 1, fails), (error) => error === "no");
  });

  test("a hook that fails as the connection is cut still ends it", async () => {
    const coordinationId = fresh();
    const raised = new Error("the terminal is gone");
    const onDelta = (): void => {
      proxy.cut();
      throw raised;
    };
    const start = await client.capture("zero");
    const script = new Script(new Continue("slow"));
    const going = client.coordinate(start, 1, script.decide, { onDelta, coordinationId });
    await assert.rejects(going, (error) => error === raised);
    assert.equal((await record.coordination(coordinationId)).state, "cancelled");
  });

  test("a server that stays away is an error in the end", async () => {
    await using own = await new Proxy(server.address).start();
    await using brief = new Client(own.address, { attachForMs: 300 });
    const gone = (): Action => {
      own.close();
      return new Stop();
    };
    await assert.rejects(brief.coordinate(await brief.capture("zero"), 1, gone), { code: "UNAVAILABLE", reason: "" });
  });

  test("a server that crashes between decision and answer goes on", async () => {
    const data = join(folder, "between");
    let running = await new Server({ config: CONFIG, data }).start();
    await using own = await new Proxy(running.address).start();
    await using other = new Client(own.address);
    const seen: string[] = [];
    const restart = async (decision: Decision): Promise<Action> => {
      seen.push(decision.exchange.text);
      if (seen.length === 2) {
        await running.kill();
        running = await new Server({ config: CONFIG, data }).start();
        own.target = running.address;
      }
      return new Continue(`turn ${seen.length}`);
    };
    try {
      assert.equal((await other.coordinate(await other.capture("zero"), 2, restart)).state, "exhausted");
      assert.deepEqual(seen, ["zero", "turn 1", "turn 2"]);
    } finally {
      other.close();
      await running.stop();
    }
  });

  test("a crash in a turn consumes it and asks again", async () => {
    const data = join(folder, "within");
    let running = await new Server({ config: CONFIG, data }).start();
    await using own = await new Proxy(running.address).start();
    await using other = new Client(own.address);
    let crashed = false;
    const onDelta = async (): Promise<void> => {
      if (crashed) return;
      crashed = true;
      await running.kill();
      running = await new Server({ config: CONFIG, data }).start();
      own.target = running.address;
    };
    const script = new Script(new Continue("slow"), new Continue("again"), new Stop());
    try {
      await other.coordinate(await other.capture("zero"), 2, script.decide, { onDelta });
      assert.deepEqual(script.texts, ["zero", "zero", "again"]);
      assert.ok(script.seen[1]?.interruptedRunId);
      assert.equal(script.seen[1]?.turnsRemaining, 1);
    } finally {
      other.close();
      await running.stop();
    }
  });

  test("a server that stops in good order says so, and the answer is kept", async () => {
    const data = join(folder, "stopped");
    const first = await new Server({ config: CONFIG, data }).start();
    await using own = await new Proxy(first.address).start();
    await using other = new Client(own.address);
    const coordinationId = fresh();
    const seen: string[] = [];
    const stopping = async (decision: Decision): Promise<Action> => {
      seen.push(decision.exchange.text);
      if (seen.length > 1) return new Stop();
      await first.stop();
      return new Continue("one");
    };
    const start = await other.capture("zero");
    const draining = { code: "UNAVAILABLE", reason: "DRAINING" };
    await assert.rejects(other.coordinate(start, 1, stopping, { coordinationId }), draining);
    await using second = await new Server({ config: CONFIG, data }).start();
    own.target = second.address;
    assert.equal((await other.attach(coordinationId, stopping)).state, "stopped");
    assert.deepEqual(seen, ["zero", "one"], "the first decision was answered with what the callback had said");
    other.close();
  });

  test("a signal ends a coordination whose callback is at work", async () => {
    const coordinationId = fresh();
    const controller = new AbortController();
    const why = new Error("enough");
    const start = await client.capture("zero");
    const thinks = (): Promise<Action> => {
      setImmediate(() => controller.abort(why));
      return new Promise(() => undefined);
    };
    const going = client.coordinate(start, 1, thinks, { coordinationId, signal: controller.signal });
    await assert.rejects(going, (error: unknown) => {
      assert.ok(error instanceof AntiphonError);
      assert.equal(error.code, "CANCELLED");
      assert.equal(error.cause, why);
      return true;
    });
    assert.equal((await record.coordination(coordinationId)).state, "cancelled");
  });

  test("a signal ends a coordination in a turn, and its run", async () => {
    const [coordinationId, runId] = [fresh(), fresh()];
    const controller = new AbortController();
    const start = await client.capture("zero");
    const script = new Script(new Continue({ text: "slow", runId }));
    const going = client.coordinate(start, 1, script.decide, {
      coordinationId,
      signal: controller.signal,
      onDelta: () => controller.abort(),
    });
    await assert.rejects(going, { code: "CANCELLED" });
    assert.equal((await record.coordination(coordinationId)).state, "cancelled");
    await until(() => runState(record, runId), "cancelled");
  });

  test("a signal is told over another call when the stream is cut", async () => {
    const coordinationId = fresh();
    const controller = new AbortController();
    const start = await client.capture("zero");
    const thinks = (): Promise<Action> => {
      proxy.cut();
      setImmediate(() => controller.abort());
      return new Promise(() => undefined);
    };
    const going = client.coordinate(start, 1, thinks, { coordinationId, signal: controller.signal });
    await assert.rejects(going, { code: "CANCELLED" });
    await until(async () => (await record.coordination(coordinationId)).state, "cancelled");
  });

  test("nothing is begun with a signal that was given already", async () => {
    const coordinationId = fresh();
    const start = await client.capture("zero");
    const signal = AbortSignal.abort();
    await assert.rejects(client.coordinate(start, 1, () => new Stop(), { coordinationId, signal }), { code: "CANCELLED" });
    await assert.rejects(client.capture("one", { signal }), { code: "CANCELLED" });
    await assert.rejects(record.coordination(coordinationId), { reason: "COORDINATION_NOT_FOUND" });
  });

  test("an error of the callback keeps its code and facts", async () => {
    const start = await client.capture("zero");
    const metadata = { reviewer: "ada" };
    const fails = (): Action => new Fail("no reviewer", { code: "UNAVAILABLE", reason: "REVIEWER_UNAVAILABLE", metadata });
    const expected = { code: "UNAVAILABLE", reason: "REVIEWER_UNAVAILABLE", message: "no reviewer", metadata };
    await assert.rejects(client.coordinate(start, 1, fails), expected);
  });

  test("a call whose connection breaks is made again under its id", async () => {
    const runId = fresh();
    const going = client.capture({ text: "patience", runId });
    await until(() => runState(record, runId), "running");
    proxy.cut();
    assert.equal((await going).text, "patience");
    assert.equal((await going).runId, runId);
  });

  test("a stream that breaks is joined again without saying anything twice", async () => {
    const response = client.stream({ text: "slow", onDisconnect: "finish" });
    const heard: string[] = [];
    for await (const delta of response) {
      if (heard.length === 2) proxy.cut();
      heard.push(delta.text);
    }
    assert.equal(heard.join(""), SLOW);
    assert.equal((await response.result()).text, SLOW);
  });
});
