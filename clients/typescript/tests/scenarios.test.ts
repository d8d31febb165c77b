/** Plays `clients/scenarios`; the README there says what the words mean. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";

import {
  type Action,
  AntiphonError,
  Client,
  type CodeName,
  Continue,
  type Decision,
  type Delta,
  Fail,
  type Generate,
  type Hooks,
  type Input,
  Message,
  NewThread,
  type NextAction,
  type Outcome,
  Pause,
  type Request,
  Stop,
  Suspend,
  ThreadPoint,
  ThreadTurn,
  Tool,
  type ToolResult,
} from "antiphon";
import { Server } from "antiphon/testing";
import { parse } from "yaml";

import { keep } from "./documents.js";
import { look } from "./looks.js";
import { compare, isMapping, type Mapping, plain, type Said } from "./told.js";

const SCENARIOS = join(import.meta.dirname, "../../../scenarios");

/** What a callback of a scenario throws. */
class Raised extends Error {}

/** One scenario. */
class Player {
  readonly #kept: Mapping = {};
  readonly #tools: Record<string, Tool>;
  #called: Record<string, number> = {};
  #heard: Delta[] | undefined;

  constructor(
    readonly client: Client,
    scenario: Mapping,
  ) {
    this.#tools = Object.fromEntries(
      Object.entries<Mapping>(scenario["tools"] ?? {}).map(([key, said]) => [key, this.#tool(key, said)]),
    );
  }

  #tool(key: string, said: Mapping): Tool {
    const run = (): string => {
      this.#called[key] = (this.#called[key] ?? 0) + 1;
      if (said["pauses"]) throw new Pause();
      if ("fails" in said) throw new Error(said["fails"]);
      return said["returns"];
    };
    const { schema, name = key, side_effects: sideEffects = false, requires_human: requiresHuman = false } = said;
    return new Tool(run, { name, description: key, schema, sideEffects, requiresHuman });
  }

  async step(said: Mapping, where: string): Promise<void> {
    const verb = Object.keys(said).find((key) => !["as", "expect", "error"].includes(key)) ?? "";
    this.#called = {};
    let found: Said;
    try {
      found = await this.#call(verb, said[verb]);
    } catch (error) {
      if (!("error" in said)) throw error;
      compare(this.#value(said["error"]), this.#error(error), where);
      return;
    }
    assert.ok(!("error" in said), `${where}: it gave ${inspect(plain(found))}`);
    if ("as" in said) this.#kept[said["as"]] = found;
    let told: Said = Array.isArray(found) ? found.map(plain) : plain(found);
    if (isMapping(told)) told = { called: this.#called, ...told };
    if (this.#heard !== undefined) {
      const begun = this.#heard.map(({ kind }) => kind).lastIndexOf("attempt") + 1;
      const anew = this.#heard.filter(({ kind }) => kind === "attempt").length;
      told = { ...told, told: this.#heard.slice(begun).map(({ text }) => text).join(""), anew };
      this.#heard = undefined;
    }
    if ("expect" in said) compare(this.#value(said["expect"]), told, where);
  }

  #error(error: unknown): Mapping {
    if (error instanceof Raised) return { raised: error.message };
    if (error instanceof Pause) return { paused: error.coordinationId };
    if (!(error instanceof AntiphonError)) throw error;
    return { code: error.code, reason: error.reason, metadata: error.metadata, message: error.message };
  }

  /** With what was kept in place of its names. */
  #value(said: Said): Said {
    if (Array.isArray(said)) return said.map((value) => this.#value(value));
    if (isMapping(said) && Object.keys(said).sort().join() === "repeated,times") return said["repeated"].repeat(said["times"]);
    if (isMapping(said)) return Object.fromEntries(Object.entries(said).map(([key, value]) => [key, this.#value(value)]));
    if (typeof said !== "string" || !/^\$[a-z_0-9.]+$/.test(said)) return said;
    const [name = "", ...path] = said.slice(1).split(".");
    const kept = this.#kept[name];
    return path.reduce((found, key) => found[key], path.length > 0 ? plain(kept) : kept);
  }

  async #call(verb: string, raw: Mapping): Promise<Said> {
    // The names of what is chosen and the callbacks' own words are looked at when their time has come.
    const said: Mapping = Object.fromEntries(
      Object.entries(raw).map(([key, value]) => [key, key === "decisions" ? value : this.#value(value)]),
    );
    const { client } = this;
    const thread = said["thread"] && new NewThread(said["thread"].id, { name: said["thread"].name, labels: said["thread"].labels });
    const coordinationId: string | undefined = said["id"];
    const { ephemeral, tool_round_limit: toolRoundLimit, chain_limit: chainLimit } = said;
    const spend = { tokenLimit: said["token_limit"], costLimit: said["cost_limit"] };
    switch (verb) {
      case "prompt":
        return client.prompt(this.#request(said["request"]), { capture: said["capture"] ?? false });
      case "capture":
        this.#heard = said["deltas"] ? [] : undefined;
        return client.capture(this.#request(said["request"]), { thread, onDelta: this.#heard && ((delta) => void this.#heard?.push(delta)) });
      case "continue":
        return client.continue(point(said["from"]), this.#input(said));
      case "reply":
        return client.reply(said["to"], this.#input(said), { capture: said["capture"] });
      case "fork": {
        const source = turn(said["from"]);
        if ("request" in said || "results" in said) return client.fork(source, this.#input(said), { thread });
        return client.thread((await client.fork(source, undefined, { thread })).threadId);
      }
      case "fork_once": {
        const allowSideEffects = said["allow_side_effects"] ?? false;
        return client.forkOnce(turn(said["from"]), this.#request(said["request"]), { allowSideEffects });
      }
      case "record": {
        const transcript = said["messages"].map((message: Mapping) => Message.of(message["role"], message["text"]));
        return client.record(transcript, { after: point(said["after"]), thread });
      }
      case "chain":
        return client.chain(this.#request(said["request"]), this.#named(said), {
          after: point(said["after"]),
          chainLimit,
          ...spend,
          ephemeral,
          coordinationId,
          generate: model(said),
        });
      case "resume":
        return client.resume(said["id"], this.#named(said));
      case "coordinate":
        return this.#decided(said, (decide, hooks) =>
          client.coordinate("start" in said ? point(said["start"]) : this.#request(said["request"]), said["turns"], decide, {
            ...hooks,
            thread,
            toolRoundLimit,
            ...spend,
            ephemeral,
            coordinationId,
            generate: model(said),
          }),
        );
      case "attach":
        return this.#decided(said, (decide, hooks) => client.attach(said["id"], decide, hooks));
      case "cancel":
        return client.cancel(said["id"]);
      case "inspect":
        return client.inspect(said["exchange"]);
      case "thread":
        return client.thread(said["id"]);
      case "run":
        return client.run(said["id"]);
      case "coordination":
        return client.coordination(said["id"]);
      case "runs":
        return all(client.runs({ labels: said["labels"] ?? {} }));
      case "threads":
        return all(client.threads(said["labels"]));
      default:
        return (await keep(client, verb, said)) ?? look(client, verb, said, (given) => this.#request(given), point);
    }
  }

  async #decided(
    said: Mapping,
    begin: (decide: NextAction, hooks: Hooks & { tools: Tool[] | undefined }) => Promise<Outcome>,
  ): Promise<Outcome> {
    const controller = new AbortController();
    const left: Mapping[] = [...said["decisions"]];
    const wrong: unknown[] = [];
    const decide = (decision: Decision): Action => {
      try {
        const step = left.shift();
        assert.ok(step !== undefined, `the callback was called once more, with ${inspect(plain(decision))}`);
        this.#kept["decision"] = decision;
        if ("see" in step) compare(this.#value(step["see"]), plain(decision), "see");
        return this.#action(this.#value(step["do"]), controller);
      } catch (error) {
        if (!(error instanceof Raised)) wrong.push(error);
        throw error;
      }
    };
    const tools = this.#named(said);
    try {
      return await begin(decide, { signal: controller.signal, tools: tools.length > 0 ? tools : undefined });
    } finally {
      assert.deepEqual(wrong, []);
      assert.deepEqual(left, [], "the callback was not called for these");
    }
  }

  #action(said: Said, controller: AbortController): Action {
    if (said === "stop") return new Stop();
    if (said === "suspend") return new Suspend();
    if (said === "cancel") {
      controller.abort();
      return new Stop();
    }
    if ("continue" in said) return new Continue(this.#request(said.continue));
    if ("results" in said) return new Continue(results(said.results));
    if ("fail" in said) {
      const { message, code, reason, metadata } = said.fail;
      return new Fail(message, { code: code as CodeName, reason, metadata });
    }
    if ("raise" in said) throw new Raised(said.raise);
    throw new Error(`there is no action ${inspect(said)}`);
  }

  #request(said: Mapping): Request {
    const known: Record<string, string> = {
      prompt: "promptId",
      profile: "profileId",
      tool_choice: "toolChoice",
      run_id: "runId",
      on_tool_drift: "onToolDrift",
    };
    const plainly = ["text", "system", "vars", "model", "contract", "labels", "repair"];
    const made: Mapping = {};
    for (const [key, value] of Object.entries(said)) {
      if (key === "messages") made[key] = value.map((message: Mapping) => Message.of(message["role"], message["text"]));
      else if (key === "tools") made[key] = this.#named(said);
      else if (key === "history_view") made["historyView"] = historyView(value);
      else if (key === "temperature") made["parameters"] = { temperature: value };
      else if (key in known || plainly.includes(key)) made[known[key] ?? key] = value;
      else throw new Error(`a request has no \`${key}\``);
    }
    return made;
  }

  #input(said: Mapping): Input {
    return "request" in said ? this.#request(said["request"]) : results(said["results"]);
  }

  #named(said: Mapping): Tool[] {
    return (said["tools"] ?? []).map((name: string) => this.#tools[name]);
  }
}

function historyView({ last_turns: lastTurns, from_exchange: fromExchange, token_budget: tokenBudget }: Mapping): Said {
  if (lastTurns !== undefined) return { lastTurns };
  return fromExchange === undefined ? { tokenBudget } : { fromExchange };
}

function point(said: Said): Said {
  return isMapping(said) ? new ThreadPoint(said["thread"], { expectedHead: said["expected_head"] }) : said;
}

function turn(said: Said): Said {
  return isMapping(said) ? new ThreadTurn(said["thread"], { afterTurn: said["after_turn"] }) : said;
}

function results(said: Mapping[]): ToolResult[] {
  return said.map(({ call_id: callId, text, is_error: isError = false }) => ({ callId, text, isError }) as ToolResult);
}

function model(said: Mapping): Generate | undefined {
  if (!("generate" in said)) return undefined;
  const left: string[] = [...said["generate"]];
  return () => left.shift() ?? "";
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const names = readdirSync(SCENARIOS)
  .filter((name) => name.endsWith(".yaml"))
  .map((name) => name.slice(0, -".yaml".length))
  .sort();

test("there are scenarios", () => {
  assert.ok(names.length >= 15);
});

for (const name of names) {
  test(`${name} goes as it is written`, { timeout: 60_000 }, async () => {
    const scenario = parse(readFileSync(join(SCENARIOS, `${name}.yaml`), "utf8")) as Mapping;
    const rules = readFileSync(join(SCENARIOS, "default.toml"), "utf8").replace("\n# rules\n", () => `\n${scenario["rules"] ?? ""}\n`);
    const options = { config: scenario["config"] ?? rules, files: scenario["files"] ?? {} };
    await using server = await new Server(options).start();
    // A connection that is open holds up the end of its server, so it is closed first.
    await using client = new Client(server.address);
    const player = new Player(client, scenario);
    for (const [index, step] of (scenario["steps"] as Mapping[]).entries()) {
      await player.step(step, `${name}, step ${index + 1}`);
    }
  });
}
