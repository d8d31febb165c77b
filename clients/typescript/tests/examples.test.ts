/** The examples do what they say, as functions and as programs. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";

import { Client, Suspend } from "antiphon";
import { Server } from "antiphon/testing";
import ts from "typescript";

import { analyse } from "../examples/analysis_loop.js";
import { reviewAll } from "../examples/branching_review.js";

const ROOT = join(import.meta.dirname, "../..");
const CONFIG = `
default_profile = "canned"

[profiles.canned]
backend = "script"
model = "canned-1"

[profiles.mine]
backend = "mine"
model = "mine-1"

[backends.mine]
kind = "client"

[backends.script]
kind = "scripted"
retry = { attempts = 1 }

[[backends.script.rules]]
when = "Analyse this"
text = "The risk is water."

[[backends.script.rules]]
when = "Go on: cost?"
text = "The risk is water, the cost is that of pumps."

[[backends.script.rules]]
when = "Draft"
text = "The archive moves in spring."

[[backends.script.rules]]
when = "By when"
fault = { kind = "status", status = 400, message = "no date" }

[[backends.script.rules]]
text = "{turn}: {last_user}"
`;

describe("examples", { timeout: 120_000 }, () => {
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

  test("S4-48, S4-49: the analysis is refined until nothing is missing", async () => {
    const found = await analyse(client, "The archive moves.", ["risk", "cost"]);
    assert.equal(found.exchange.text, "The risk is water, the cost is that of pumps.");
    assert.deepEqual([found.missing, found.exchange.turn], [[], 2]);
    const never = await analyse(client, "The archive moves.", ["risk", "joy"], 1);
    assert.deepEqual([never.missing, never.exchange.turn], [["risk"], 2]);
  });

  test("S4-41, S4-42, S4-T6: reviews are branches of one draft", async () => {
    const draft = await client.capture("Draft a notice.");
    const [ada, bo] = await reviewAll(client, draft, { Ada: ["Who?", "By when?"], Bo: ["Dry?", "Warm?"] });
    assert.deepEqual(ada?.answers, ["2: Ada asks: Who?"]);
    assert.equal(ada?.error?.reason, "PROVIDER_REFUSED_REQUEST");
    assert.deepEqual(bo?.answers, ["2: Bo asks: Dry?", "3: Bo asks: Warm?"]);
    assert.equal(bo?.error, undefined);
    assert.equal(ada?.head.parentExchangeId, draft.exchangeId);
  });

  for (const name of ["analysis_loop", "branching_review"]) {
    test(`${name} runs as a program`, async () => {
      const env = { ...process.env, ANTIPHON_SERVER: `http://${server.address}` };
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [join(ROOT, "dist/examples", `${name}.js`)], { env });
      assert.ok(stdout.trim());
      assert.equal(stderr, "");
    });
  }

  test("what the README shows has the right types, and runs", async () => {
    const readme = readFileSync(join(ROOT, "README.md"), "utf8");
    const pieces = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, piece = ""]) => piece);
    assert.equal(pieces.length, 8);
    await client.coordinate({ text: "zero" }, 3, () => new Suspend(), { coordinationId: "readme" });

    const stdout = await program("readme", pieces, server.address, 'const coordinationId: string = "readme";');
    assert.match(stdout, /^stopped$/m);
    assert.match(stdout, /^HELLO$/m);
  });

  test("S0-42: what the page on continuing and branching shows has the right types, and runs", async () => {
    const page = readFileSync(join(ROOT, "../../docs/continuing-and-branching.md"), "utf8");
    const pieces = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, piece = ""]) => piece);
    assert.equal(pieces.length, 6);
    const shown = "console.log(second.turn, other.setting('model'), byShip.turn, byTrain.threadId !== '', weather.turn, again.turn, plan);";
    assert.equal(await program("branching", [...pieces, shown], server.address, ""), "2 a-larger-model 3 true 3 3 By ship.\n\n");
    assert.equal((await client.workspace("trip").read("plan")).text, "By train.\n");
    await client.deleteThread("trip");
  });
});

/** Compiles and runs one program of all pieces in order, and gives what it prints: each piece sees the names of those before it, and may use them for
 * something else. */
async function program(name: string, pieces: readonly string[], address: string, given: string): Promise<string> {
  const said = pieces.join("").match(/^import .*$/gm) ?? [];
  const bodies = pieces.map((piece) => piece.replace(/^import .*$\n/gm, ""));
  const imports = [...new Map(said.flatMap(imported)).values()].join("\n");
  const body = `${bodies.join("\n{\n")}`
    .replace("127.0.0.1:7373", address)
    .replace('{ binary: "target/debug/antiphon" }', "");
  const folder = join(ROOT, "dist", name);
  const file = join(folder, `${name}.ts`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, `${imports}\n${given}\n${body}\nclient.close();\n${"}".repeat(bodies.length - 1)}\n`);

  const config = ts.readConfigFile(join(ROOT, "tsconfig.json"), (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, ROOT);
  const compiled = ts.createProgram([file], { ...options, rootDir: folder, outDir: folder, declaration: false });
  const problems = ts.getPreEmitDiagnostics(compiled).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
  assert.deepEqual(problems, []);
  compiled.emit();
  return (await promisify(execFile)(process.execPath, [join(folder, `${name}.js`)])).stdout;
}

/** Each name of an import by itself, so that no name is imported twice. */
function imported(line: string): [string, string][] {
  const [, type = "", names = "", module = ""] = /^import (type )?(.*) from "(.*)";$/.exec(line) ?? [];
  if (!names.startsWith("{")) return [[names, line]];
  return names
    .replace(/[{}]/g, "")
    .split(",")
    .map((name) => [name.trim(), `import ${type}{ ${name.trim()} } from "${module}";`]);
}
