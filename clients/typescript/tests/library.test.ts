/** The graph, what is on record of tools, what is configured, what would be sent, and answers that must have a form. */

import assert from "node:assert/strict";
import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";

import { create } from "@bufbuild/protobuf";
import { AntiphonError, Client, type Delta, type Exchange, NewThread, Stop, ThreadPoint, Tool } from "antiphon";
import { ProgressSchema, type Progress } from "antiphon/gen/progress";
import { AttemptKind } from "antiphon/gen/run";
import { Server } from "antiphon/testing";

import { Pieces } from "../src/pieces.js";
import { CONFIG, fresh } from "./support.js";

const CONFIGURED = `
prompts_dir = "prompts"
contracts_dir = "contracts"
default_profile = "canned"

[profiles.canned]
backend = "script"
model = "canned-1"
parameters = { temperature = 0.5 }

[backends.script]
kind = "scripted"
capacity = 3

[[backends.script.rules]]
text = "{last_user}"
usage = { input_tokens = 10, output_tokens = 5 }
`;
const FILES = {
  "prompts/greet.prompt":
    "---\ndescription: Greets\nvariables:\n  - { name: name }\n  - { name: tone, default: kind }\n---\nI am {{ name }}, {{ tone }}.",
  "contracts/verdict.json": '{"description": "Yes or no", "type": "object"}',
};
const FORM = { text: "in its form", contract: "json", repair: 1 };

async function read<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** What was told of an answer, and how often it began anew. */
class Heard {
  text = "";
  anew = 0;

  readonly hear = ({ kind, text }: Delta): void => {
    if (kind === "attempt") [this.text, this.anew] = ["", this.anew + 1];
    else if (kind === "text") this.text += text;
  };
}

describe("library", { timeout: 120_000 }, () => {
  let server: Server;
  let configured: Server;
  let client: Client;
  let other: Client;

  before(async () => {
    server = await new Server({ config: CONFIG }).start();
    configured = await new Server({ config: CONFIGURED, files: FILES }).start();
    client = new Client(server.address);
    other = new Client(configured.address);
  });
  after(async () => {
    client.close();
    other.close();
    await server.stop();
    await configured.stop();
  });

  const tool = (name: string, argument: string): Tool =>
    new Tool(() => "", { name, schema: { type: "object", properties: { [argument]: { type: "string" } }, required: [argument] } });

  test("an answer that missed its form is told anew, however it is asked for", async () => {
    const heard = [1, 2, 3, 4, 5].map(() => new Heard());
    const [kept, loose, chained, probed, coordinated] = heard.map(({ hear }) => hear);
    const answers = [
      await client.capture(FORM, { onDelta: kept }),
      await client.prompt(FORM, { onDelta: loose }),
      await client.chain(FORM, [], { onDelta: chained }),
      await client.forkOnce(await client.capture("one"), FORM, { onDelta: probed }),
    ];
    await client.coordinate(FORM, 0, () => new Stop(), { onDelta: coordinated });
    for (const answer of answers) {
      assert.deepEqual([answer.validation, answer.json(), answer.violations], ["valid", { good: true }, []]);
    }
    for (const { text, anew } of heard) assert.deepEqual([text, anew], [answers[0]?.text, 1]);
    const response = client.stream(FORM);
    const kinds = (await read(response)).map(({ kind }) => kind);
    assert.equal(kinds.filter((kind) => kind === "attempt").length, 1);
    assert.equal((await response.result()).text, answers[0]?.text);
  });

  test("an answer that is not asked for again says what is wrong", async () => {
    const contract = { type: "object", properties: { good: { type: "integer" } } };
    const found = await client.capture({ text: '{"good": true}', contract, repair: 0 });
    assert.equal(found.validation, "invalid");
    assert.match(found.violations.join(), /^\/good: /);
    assert.equal((await client.run(found.runId)).modelCalls, 1);
    assert.equal((await client.run((await client.capture(FORM)).runId)).modelCalls, 2);
  });

  test("a history may be narrowed", async () => {
    const second = await client.reply(await client.capture("one"), "two");
    for (const historyView of [{ lastTurns: 1 }, { fromExchange: second.exchangeId }, { tokenBudget: 1 }]) {
      const third = await client.reply(second, { text: "three", historyView });
      assert.deepEqual([third.turn, third.warnings.map(({ code }) => code)], [3, ["history_narrowed"]]);
    }
    await assert.rejects(client.reply(second, { text: "three", historyView: { lastTurns: 1, tokenBudget: 1 } }), TypeError);
  });

  test("the graph is walked, compared and drawn", async () => {
    const trunk = fresh();
    const root = await client.capture("one", { thread: new NewThread(trunk) });
    const left = await client.continue(new ThreadPoint(trunk), "left");
    const right = await client.reply(root, { text: "right", model: "canned-2" });
    const deeper = await client.reply(right, { text: "deeper", tools: [tool("weather", "city")] });

    const above = await read(client.ancestors(deeper));
    assert.deepEqual(above.map(({ exchangeId }) => exchangeId), [right.exchangeId, root.exchangeId]);
    assert.deepEqual([above[0]?.user, above[0]?.assistant, above[0]?.model, above[0]?.turn], ["right", "right", "canned-2", 2]);
    const below = await read(client.children(root));
    assert.deepEqual(below.map(({ exchangeId }) => exchangeId), [left.exchangeId, right.exchangeId]);
    const common = await client.commonAncestor([left, deeper.exchangeId]);
    assert.deepEqual([common?.exchangeId, common?.childCount], [root.exchangeId, 2]);
    assert.equal(await client.commonAncestor([left, await client.capture("alone")]), undefined);

    const found = await client.diff(left, deeper);
    assert.deepEqual([found.commonAncestorExchangeId, found.leftCount, found.rightCount], [root.exchangeId, 1, 2]);
    assert.deepEqual(
      found.messages.map((change) => [change.kind, change.left?.text, change.right?.text]),
      [
        ["changed", "left", "right"],
        ["changed", "left", "right"],
        ["added", undefined, "deeper"],
        ["added", undefined, "deeper"],
      ],
    );
    const model = found.settings.find(({ name }) => name === "model");
    assert.deepEqual([model?.left, model?.right], ["canned-1", "canned-2"]);
    assert.deepEqual(found.tools.map(({ name, kind, left: none }) => [name, kind, none]), [["weather", "added", undefined]]);

    assert.match(await client.graph({ threadTree: trunk }, "mermaid", { previews: true }), /deeper/);
    const path = await client.graph({ threadPath: trunk }, "text", { previews: true });
    assert.match(path, /left/);
    assert.doesNotMatch(path, /deeper/);
    assert.match(await client.graph({ subtree: right, maxSteps: 1 }, "dot", { detail: "exchanges" }), /digraph/);
  });

  test("what is on record is found", async () => {
    const labels = { story: fresh() };
    const root = await client.capture({ text: "A needle in the hay", labels });
    const hay = await client.reply(root, { text: "the forecast", labels, tools: [tool("weather", "city"), tool("tide", "city")] });
    const [hit, ...more] = await read(client.search({ text: "NEEDLE", scope: { subtree: root } }));
    assert.deepEqual([hit?.runId, hit?.runState, hit?.exchange?.labels, more], [root.runId, "completed", labels, []]);
    assert.match(hit?.snippet ?? "", /needle/i);
    const runs = async (query: Parameters<Client["search"]>[0]): Promise<string[]> =>
      (await read(client.search(query))).map(({ runId }) => runId);
    assert.deepEqual(await runs({ labels }), [hay.runId, root.runId]);
    assert.deepEqual(await runs({ labels, calledTools: ["tide"], states: ["pending_tools"] }), [hay.runId]);
    const hour = new Date(Date.now() - 3_600_000);
    assert.deepEqual(await runs({ labels, before: hour }), []);
    assert.deepEqual(await runs({ labels, since: hour, rootsOnly: true }), [root.runId]);
  });

  test("S4-83: shared work is counted once", async () => {
    const labels = { story: fresh() };
    const root = await other.capture({ text: "one", labels });
    const left = await other.reply(root, { text: "left", labels });
    const right = await other.reply(root, { text: "right", labels });
    const path = await other.usage(left);
    assert.deepEqual([path.runCount, path.usage.inputTokens, path.usage.outputTokens], [2, 20, 10]);
    const both = await other.usage({ scopes: [left, right] });
    assert.deepEqual([both.runCount, both.usage.inputTokens, both.costs], [3, 30, {}]);
    assert.deepEqual((await other.usage({ labels })).usage, both.usage);
    assert.equal((await other.usage({ runs: [root.runId, left.runId] })).runCount, 2);
    assert.deepEqual(both.models.map(({ backendId, model, calls }) => [backendId, model, calls]), [["script", "canned-1", 3]]);
  });

  test("S0-32, S0-33, S0-36: which tools calls had is on record", async () => {
    const name = `t${fresh().slice(0, 8)}`;
    const first = await client.capture({ text: "one", tools: [tool(name, "city")], toolChoice: "none" });
    const found = await client.callTools(first);
    assert.deepEqual([found.offered[0]?.name, found.standing[0]?.name, found.toolChoice], [name, name, "none"]);
    assert.deepEqual([found.called, found.drifts], [[], []]);
    const second = await client.reply(first, { text: "two", tools: [tool(name, "place")] });
    const ids = (exchanges: readonly { readonly exchangeId: string }[]): string[] => exchanges.map(({ exchangeId }) => exchangeId);
    assert.deepEqual(ids(await read(client.toolOccurrences(name))), ids([second, first]));
    const schemaHash = first.tools[0]?.schemaHash ?? "";
    assert.deepEqual(ids(await read(client.toolOccurrences(name, { kind: "offered", schemaHash, scope: second }))), ids([first]));
    const [drift] = await read(client.toolDrifts(second, name));
    assert.deepEqual([drift?.name, drift?.previousExchangeId, drift?.exchangeId], [name, first.exchangeId, second.exchangeId]);
    assert.deepEqual([drift?.previous?.schema["required"], drift?.current?.schema["required"]], [["city"], ["place"]]);
    assert.equal((await client.callTools(second)).drifts[0]?.name, name);
  });

  test("what is configured can be read", async () => {
    const [listed] = await read(other.prompts());
    assert.deepEqual([listed?.promptId, listed?.description, listed?.template], ["greet", "Greets", ""]);
    assert.deepEqual([listed?.variables, listed?.required], [["name", "tone"], ["name"]]);
    assert.match((await other.inspectPrompt("greet")).template, /\{\{ name \}\}/);
    const [profile] = await read(other.profiles());
    assert.deepEqual(profile, await other.inspectProfile("canned"));
    const { backendId, model, parameters, isDefault } = await other.inspectProfile("canned");
    assert.deepEqual([backendId, model, parameters, isDefault], ["script", "canned-1", { temperature: 0.5 }, true]);
    const [backend] = await read(other.backends());
    assert.deepEqual([backend?.kind, backend?.capacity, backend?.baseUrl], ["scripted", 3, ""]);
    assert.ok((await other.inspectBackend("script")).capabilities.includes("tools"));
    const contracts = await read(other.contracts());
    assert.equal(contracts.find(({ contractId }) => contractId === "verdict")?.schema, undefined);
    assert.equal((await other.inspectContract("verdict")).schema?.["type"], "object");
    await assert.rejects(other.inspectPrompt("nothing"), { code: "NOT_FOUND" });
  });

  test("what would be sent is shown before anybody is asked", async () => {
    const start = await client.capture({ text: "one", system: "Be brief." });
    const shown = await client.explain({ text: "two", parameters: { temperature: 0.5 }, tools: [tool("tide", "city")] }, { after: start });
    assert.deepEqual(shown.messages.map(({ text }) => text), ["Be brief.", "one", "one", "two"]);
    assert.deepEqual(shown.settings["model"], { value: "canned-1", source: "profile" });
    assert.deepEqual(shown.settings["parameters.temperature"], { value: 0.5, source: "request" });
    assert.deepEqual([shown.tools[0]?.name, shown.matches], ["tide", undefined]);
    assert.match(shown.bodyJson, /two/);
    assert.deepEqual(await read(client.children(start)), [], "nobody was asked");
    const sent = await client.explainExchange(start);
    assert.deepEqual([sent.matches, sent.difference], [true, ""]);
    await assert.rejects(client.explain([]), TypeError);
  });

  test("what was prepared is executed once, as it was shown", async () => {
    const thread = fresh();
    await client.capture("one", { thread: new NewThread(thread) });
    const prepared = await client.prepare("two", { after: new ThreadPoint(thread), capture: true });
    assert.deepEqual(prepared.explanation.messages.map(({ text }) => text), ["one", "one", "two"]);
    assert.ok(prepared.expires > new Date());
    const answer: Exchange = await client.execute(prepared);
    assert.deepEqual([answer.text, answer.threadId, answer.runId], ["two", thread, prepared.runId]);
    assert.equal((await client.execute(prepared)).exchangeId, answer.exchangeId);
    assert.equal((await client.run(answer.runId)).modelCalls, 1);

    const expires = new Date(Date.now() + 60_000);
    const loose = await client.execute(await client.prepare({ text: "three", runId: fresh() }, { expires }));
    assert.equal(loose.captured, false);
    assert.equal((await client.reply(loose, "four", { capture: true })).turn, 2);
  });

  test("a read takes no longer than it may", async () => {
    // A listener that says nothing stands for a server that hangs.
    const held: Socket[] = [];
    const listener = createServer((socket) => void held.push(socket));
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    const late = new Client(`127.0.0.1:${(listener.address() as AddressInfo).port}`);
    const settings = { timeoutMs: 50 };
    for (const asked of [late.run("r", settings), late.inspect("e", settings), late.usage("e", settings)]) {
      await assert.rejects(asked, (error) => error instanceof AntiphonError && error.code === "DEADLINE_EXCEEDED");
    }
    await assert.rejects(read(late.threads({}, settings)), AntiphonError);
    late.close();
    for (const socket of held) socket.destroy();
    listener.close();
  });
});

// The calls to the model that were given up are told again, too, and their pieces were once taken for those of the last.
test("a connection that is made again tells nothing twice", () => {
  const first = [attempt(1, AttemptKind.FIRST), piece("a long answer")];
  const again = [attempt(2, AttemptKind.REPAIR), piece("sho")];
  const pieces = new Pieces();
  const told = (...said: Progress[]): string[] => {
    pieces.connected();
    return said.flatMap((progress) => pieces.new(progress) ?? []).map(({ kind, text }) => `${kind}:${text}`);
  };
  assert.deepEqual(told(...first, ...again), ["text:a long answer", "attempt:", "text:sho"]);
  assert.deepEqual(told(...first, ...again, piece("rt")), ["text:rt"]);
  assert.deepEqual([pieces.rest("short"), pieces.rest("short.")?.text], [undefined, "."]);
});

test("another attempt of a run counts from one again", () => {
  const pieces = new Pieces();
  pieces.connected();
  for (const number of [1, 2, 3]) assert.equal(pieces.new(attempt(number, AttemptKind.RETRY)), undefined);
  pieces.connected();
  assert.equal(pieces.new(attempt(1, AttemptKind.FIRST)), undefined);
  assert.equal(pieces.new(piece("here"))?.text, "here");
});

function attempt(number: number, kind: AttemptKind): Progress {
  return create(ProgressSchema, { event: { case: "attemptStarted", value: { number, kind } } });
}

function piece(text: string): Progress {
  return create(ProgressSchema, { event: { case: "delta", value: { delta: { case: "text", value: { text } } } } });
}
