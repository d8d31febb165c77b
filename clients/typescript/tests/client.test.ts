/** Single turns, tools, conversations and what is on record, with what a server of today and of tomorrow says. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";

import { create, fromBinary } from "@bufbuild/protobuf";
import {
  AntiphonError,
  Client,
  Continue,
  type Exchange,
  NewThread,
  parse,
  Pause,
  Stop,
  stringify,
  Suspend,
  ThreadPoint,
  ThreadTurn,
  Tool,
  type ToolCall,
  type ToolResult,
} from "antiphon";
import { RunSchema } from "antiphon/gen/run";
import { Server } from "antiphon/testing";

import { Run } from "../src/thread.js";
import { usageOf } from "../src/usage.js";
import { UsageSchema } from "antiphon/gen/usage";
import { Proxy } from "./proxy.js";
import { CONFIG, fresh, runState, Script, SLOW, until } from "./support.js";

const SCHEMA = { type: "object", properties: { city: {} } };

describe("client", { timeout: 120_000 }, () => {
  let server: Server;
  let client: Client;

  before(async () => {
    server = await new Server({ config: CONFIG }).start();
    client = new Client(server.address);
  });
  after(async () => {
    client.close();
    await server.stop();
  });

  const weather = new Tool(({ city }: { city: unknown }) => `fine in ${String(city)}`, { name: "weather", schema: SCHEMA });
  const tide = new Tool(() => "high", { name: "tide", schema: SCHEMA });

  test("S0-27, S0-28: tools run where that is asked for, and the hooks see each call with its result", async () => {
    const single = await client.prompt({ text: "the forecast", tools: [weather, tide] });
    assert.deepEqual(single.toolCalls.map(({ name }) => name), ["weather", "tide"]);
    const seen: [ToolCall, ToolResult][] = [];
    const refuses = ({ name }: ToolCall): void => {
      if (name === "tide") throw new RangeError("not today");
    };
    const answer = await client.chain("the forecast", [weather, tide], {
      beforeCall: refuses,
      afterCall: (call, result) => void seen.push([call, result]),
    });
    assert.equal(answer.text, "Done.");
    const texts = Object.fromEntries(seen.map(([call, result]) => [call.name, [result.text, result.isError ?? false]]));
    assert.deepEqual(texts, { weather: ["fine in Lisbon", false], tide: ["RangeError: not today", true] });
  });

  test("the calls of one answer run at once", async () => {
    let [both, waiting] = [(): void => undefined, 0];
    const met = new Promise<void>((resolve) => (both = resolve));
    const meets = async (): Promise<string> => {
      if (++waiting === 2) both();
      await met;
      return "met";
    };
    const tools = ["weather", "tide"].map((name) => new Tool(meets, { name, schema: SCHEMA }));
    assert.equal((await client.chain("the forecast", tools)).text, "Done.");
  });

  test("a hook that fails afterwards comes back as itself and cancels", async () => {
    const coordinationId = fresh();
    const raised = new Error("no more");
    const going = client.chain("the forecast", [weather, tide], {
      coordinationId,
      afterCall: () => {
        throw raised;
      },
    });
    await assert.rejects(going, (error) => error === raised);
    assert.equal((await client.coordination(coordinationId)).state, "cancelled");
  });

  test("integers of the model keep their digits on the way to a function", async () => {
    const given: unknown[] = [];
    const tool = new Tool(
      ({ city }: { city: unknown }) => {
        given.push(city);
        return { city };
      },
      { name: "weather", schema: SCHEMA },
    );
    const answer = await client.chain("big", [tool]);
    assert.deepEqual(given, [12345678901234567890123n]);
    assert.equal(answer.text, '{"city":12345678901234567890123}');
  });

  test("JSON is read and written without rounding, and is JSON all the same", () => {
    const text = '{"a":9007199254740993,"b":[-123456789012345678901,1.5,1e400],"c":"12345678901234567890 \\" 1","d":1}';
    const read = parse(text) as Record<string, unknown>;
    assert.deepEqual(read, {
      a: 9007199254740993n,
      b: [-123456789012345678901n, 1.5, Infinity],
      c: '12345678901234567890 " 1',
      d: 1,
    });
    assert.equal(stringify({ a: read["a"], c: read["c"] }), '{"a":9007199254740993,"c":"12345678901234567890 \\" 1"}');
    for (const wrong of ["012345678901234567890", "12345678901234567890x", '{"a":', "--12345678901234567890"]) {
      assert.throws(() => parse(wrong), SyntaxError, wrong);
    }
    assert.throws(() => stringify(undefined), TypeError);
  });

  test("words that a newer server has survive, and counters are never rounded", () => {
    assert.equal(new Run(fromBinary(RunSchema, Uint8Array.of(0x10, 77))).state, "unknown_77");
    assert.deepEqual(usageOf(create(UsageSchema, { inputTokens: 7n, completeness: 1 })), {
      inputTokens: 7,
      completeness: "complete",
      reported: false,
    });
    assert.throws(() => usageOf(create(UsageSchema, { inputTokens: 2n ** 60n })), RangeError);
  });

  test("S0-2, S0-23: a conversation keeps its tools and hooks, and its forks have none", async () => {
    const seen: string[] = [];
    const talk = await client.conversation(new NewThread("", { name: "talk" }), {
      tools: [weather, tide],
      afterCall: ({ name }) => void seen.push(name),
    });
    assert.equal((await talk.prompt("one")).turn, 1);
    assert.equal((await talk.chain("the forecast")).text, "Done.");
    assert.deepEqual(seen.sort(), ["tide", "weather"]);
    const other = await talk.fork({ name: "aside", afterTurn: 1 });
    const there = await other.prompt("two");
    assert.deepEqual([there.turn, there.standingTools.map(({ name }) => name)], [2, ["weather", "tide"]]);
    await other.chain("the forecast", [weather, tide]);
    assert.equal(seen.length, 2);
    assert.equal((await talk.forkOnce("three")).text, "three");
    assert.equal((await client.thread(talk.threadId)).turnCount, 2);
  });

  test("S0-10, S0-21: a reply may go to another model from memory; a fork of what is on no record says what to do", async () => {
    const said = await client.prompt({ text: "one", tools: [weather] });
    const reply = await client.reply(said, { text: "two", model: "other-1" });
    assert.deepEqual([reply.captured, reply.setting("model")], [false, "other-1"]);
    assert.deepEqual(reply.tools.map(({ name }) => name), []);
    const kept = await client.reply(reply, "three", { capture: true });
    assert.deepEqual([kept.turn, kept.tools.map(({ name }) => name)], [3, ["weather"]]);
    await assert.rejects(client.fork(said, "four"), { code: "FAILED_PRECONDITION", reason: "NOT_CAPTURED" });
    await assert.rejects(client.continue(said, "four"), { reason: "NOT_CAPTURED" });
    await assert.rejects(client.reply(kept, "four", { capture: false }), TypeError);
  });

  test("several branches run at once, and one that fails takes no other along", async () => {
    const start = await client.capture("zero");
    const [left, right] = await client.forkAll(start, ["left", "down for good"], { threads: [new NewThread("l-1")] });
    assert.deepEqual([left?.threadId, left?.exchange?.text, left?.error], ["l-1", "left", undefined]);
    assert.deepEqual([right?.exchange, right?.error?.reason], [undefined, "PROVIDER_UNAVAILABLE"]);
    const [alone] = await client.forkAll(start, ["down for good"]);
    assert.equal(alone?.error?.reason, "PROVIDER_UNAVAILABLE");
  });

  test("an answer is heard as it comes, whichever turn it is of", async () => {
    const heard: string[] = [];
    const onDelta = ({ text }: { text: string }): void => void heard.push(text);
    const told = (): string => heard.splice(0).join("");
    const first: Exchange = await client.capture("one two three", { onDelta });
    assert.equal(told(), "one two three");
    await client.continue(first, "four five", { onDelta });
    assert.equal(told(), "four five");
    const loose = await client.prompt("six seven", { onDelta });
    assert.deepEqual([told(), loose.captured, loose.exchangeId], ["six seven", false, ""]);
    assert.equal((await client.reply(loose, "eight", { onDelta })).text, told());
    assert.equal((await client.forkOnce(first, "nine", { onDelta })).text, told());
    const response = client.stream("slow", { after: first });
    for await (const delta of response) {
      heard.push(delta.text);
      if (heard.length === 2) break;
    }
    assert.equal((await response.result()).text, SLOW, "what was left half read gives its result all the same");
  });

  test("a stream that is cancelled, or let go of, ends its run", async () => {
    const response = client.stream("slow");
    await assert.rejects(
      async () => {
        for await (const _ of response) await response.cancel();
      },
      { code: "CANCELLED", reason: "RUN_CANCELLED" },
    );
    let runId: string;
    {
      await using left = client.stream("slow");
      runId = left.runId;
      await left[Symbol.asyncIterator]().next();
    }
    await until(() => runState(client, runId), "cancelled");
  });

  test("what is on record is listed, followed and changed", async () => {
    const labels = { story: fresh() };
    const exchange = await client.capture({ text: "slow", labels }, { thread: new NewThread(fresh(), { labels }) });
    const kinds: string[] = [];
    for await (const event of client.watch(exchange.runId)) kinds.push(event.kind);
    assert.equal(kinds.at(-1), "run");
    const runs = [];
    for await (const run of client.runs({ labels, states: ["completed"] })) runs.push(run.runId);
    assert.deepEqual(runs, [exchange.runId]);
    const threads = [];
    for await (const thread of client.threads(labels)) threads.push(thread);
    const [thread] = threads;
    assert.ok(thread !== undefined && threads.length === 1);
    const changed = await client.updateThread(thread, { name: "changed", metadata: { big: 9007199254740993n } });
    assert.deepEqual([changed.name, changed.metadata, changed.labels], ["changed", { big: 9007199254740993n }, labels]);
    await assert.rejects(client.updateThread(thread, { name: "late" }), { code: "ABORTED", reason: "ETAG_MISMATCH" });
    const turns = [];
    for await (const turn of client.turns(thread.threadId)) turns.push(turn.exchangeId);
    assert.deepEqual(turns, [exchange.exchangeId]);
    await client.deleteThread(changed);
    await assert.rejects(client.thread(thread.threadId), { code: "NOT_FOUND", reason: "THREAD_NOT_FOUND" });
    await assert.rejects(async () => {
      for await (const _ of client.runs({ states: ["sleeping"] })) continue;
    }, /none of queued/);
  });

  test("S3-27: a person's answer is given by id, and the chain goes on elsewhere", async () => {
    const coordinationId = fresh();
    const asks = new Tool(
      () => {
        throw new Pause();
      },
      { name: "weather", schema: SCHEMA, requiresHuman: true },
    );
    const paused = await client.chain("the forecast", [asks, tide], { coordinationId }).catch((error: unknown) => error);
    assert.ok(paused instanceof Pause);
    assert.deepEqual([paused.coordinationId, paused.calls.map(({ name }) => name)], [coordinationId, ["weather"]]);
    const results = paused.calls.map(({ callId }) => ({ callId, text: "sunny" }));
    await client.answer(coordinationId, results);
    await using other = new Client(server.address);
    assert.equal((await other.resume(coordinationId)).text, "Done.");
    await assert.rejects(client.answer(coordinationId, new Suspend()), TypeError);
  });

  test("a model of one's own is asked again where its error says that this helps", async () => {
    const asked: string[] = [];
    const generate = (generation: { kind: string; number: number }): string => {
      asked.push(generation.kind);
      if (asked.length === 1) throw new AntiphonError("UNAVAILABLE", "busy");
      return "made here";
    };
    const answer = await client.chain({ text: "zero", profileId: "ours" }, [], { generate });
    assert.deepEqual([answer.text, asked], ["made here", ["first", "retry"]]);
    const raised = new TypeError("a secret");
    const fails = (): string => {
      throw raised;
    };
    const coordinationId = fresh();
    const going = client.chain({ text: "zero", profileId: "ours" }, [], { generate: fails, coordinationId });
    await assert.rejects(going, (error) => error === raised);
    const record = (await client.coordination(coordinationId)).raw;
    assert.ok(!stringify(record).includes("a secret"));
  });

  test("whoever is overtaken is told", async () => {
    const coordinationId = fresh();
    const start = await client.capture("zero");
    await using other = new Client(server.address);
    let taken: Promise<unknown> | undefined;
    const overtaken = client.coordinate(
      start,
      1,
      async () => {
        taken ??= other.attach(coordinationId, new Script(new Continue("one")).decide);
        await taken;
        return new Suspend();
      },
      { coordinationId },
    );
    await assert.rejects(overtaken, { code: "ABORTED", reason: "TAKEN_OVER" });
    assert.equal((await client.coordination(coordinationId)).state, "stopped");
  });

  test("an abort reaches the provider", async () => {
    let asked = (): void => undefined;
    let hungUp = (): void => undefined;
    const [arrived, gone] = [new Promise<void>((resolve) => (asked = resolve)), new Promise<void>((resolve) => (hungUp = resolve))];
    const provider = createServer((_, response) => {
      response.on("close", hungUp);
      asked();
    });
    provider.listen(0, "127.0.0.1");
    await once(provider, "listening");
    const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`;
    const config = `
default_profile = "main"
[profiles.main]
backend = "provider"
model = "some-model"
[backends.provider]
kind = "openai"
base_url = "${url}"
`;
    try {
      await using own = await new Server({ config }).start();
      await using caller = new Client(own.address);
      const controller = new AbortController();
      const going = caller.capture("one", { signal: controller.signal });
      await arrived;
      controller.abort();
      await assert.rejects(going, { code: "CANCELLED" });
      await gone;
    } finally {
      provider.closeAllConnections();
      provider.close();
    }
  });

  test("a timeout is the whole call's", async () => {
    const began = performance.now();
    await assert.rejects(client.capture("patience", { timeoutMs: 100 }), { code: "DEADLINE_EXCEEDED" });
    assert.ok(performance.now() - began < 450);
    await using proxy = await new Proxy("127.0.0.1:1").start();
    await using away = new Client(proxy.address);
    await assert.rejects(away.capture("one", { timeoutMs: 400 }), { code: "UNAVAILABLE" });
  });

  test("an error has its reason, facts and request id", async () => {
    const error = await client.continue(new ThreadPoint("nowhere"), { text: "one", runId: "named" }).catch((failed: unknown) => failed);
    assert.ok(error instanceof AntiphonError);
    assert.deepEqual([error.code, error.reason, error.metadata], ["NOT_FOUND", "THREAD_NOT_FOUND", { run_id: "named" }]);
    assert.ok(error.requestId && !error.canRetry);
    assert.match(String(error), /^NOT_FOUND THREAD_NOT_FOUND: /);
    assert.throws(() => new ThreadTurn("talk", { afterTurn: 1, afterRun: "run" }), TypeError);
    assert.throws(() => client.stream([{ callId: "1", text: "" }]), TypeError);
    assert.throws(() => new Tool(() => "", { schema: SCHEMA }), TypeError);
  });

  test("what cannot be said on a stream is refused at once, and is no broken connection", async () => {
    const start = await client.capture("zero");
    const stop = (): Stop => new Stop();
    const refused = client.coordinate(start, 1, stop, { toolRoundLimit: -1 });
    await assert.rejects(refused, { code: "INVALID_ARGUMENT", message: /^this cannot be sent: .*tool_round_limit.*-1/ });
    assert.equal((await client.coordinate(start, 1, stop, { toolRoundLimit: 1 })).state, "stopped");
  });

  test("a cost that is none is refused before anything is sent", async () => {
    const talk = await client.conversation(new NewThread());
    const coordinationId = fresh();
    const costs = ["", "2.50", "USD 2.50", "2,50 USD", "1e3 USD", "0.00 USD", "-1 USD", "1 usd", "1  USD", "1 USD\n", "1.0000000001 USD"];
    for (const costLimit of costs) {
      const wrong = { name: "TypeError", message: /such as '2.50 USD'/ };
      await assert.rejects(client.coordinate({ text: "one" }, 1, () => new Stop(), { costLimit, coordinationId }), wrong);
      await assert.rejects(client.chain("one", [], { costLimit, coordinationId }), wrong);
      await assert.rejects(talk.chain("one", undefined, { costLimit, coordinationId }), wrong);
    }
    await assert.rejects(client.coordination(coordinationId), { reason: "COORDINATION_NOT_FOUND" });
    assert.equal((await talk.chain("one", undefined, { tokenLimit: 1000 })).text, "one");
    // One that cannot be sent would be taken for a connection that breaks.
    for (const tokenLimit of [0, -1, 1.5, 2 ** 64]) await assert.rejects(talk.chain("two", undefined, { tokenLimit }), RangeError);
    // The model of these tests has no prices.
    await assert.rejects(talk.chain("two", undefined, { costLimit: "1 USD" }), { reason: "SPEND_LIMIT" });
  });

  test("the environment is read only when that is asked for", async () => {
    const before = process.env["ANTIPHON_SERVER"];
    process.env["ANTIPHON_SERVER"] = `http://${server.address}`;
    try {
      await using named = Client.fromEnv({ token: "any" });
      assert.equal((await named.capture("one")).text, "one");
    } finally {
      if (before === undefined) delete process.env["ANTIPHON_SERVER"];
      else process.env["ANTIPHON_SERVER"] = before;
    }
  });
});
