/** What the tests have in common: a configuration with scripted answers, and callbacks that say what they are told to. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { type Action, type Client, type Decision, type NextAction, Stop } from "antiphon";

export const CONFIG = `
default_profile = "canned"

[profiles.canned]
backend = "script"
model = "canned-1"

[profiles.ours]
backend = "ours"
model = "ours-1"

[backends.ours]
kind = "client"
retry = { attempts = 2, base_ms = 1, max_ms = 2 }

[backends.script]
kind = "scripted"
retry = { attempts = 1 }
chunk_chars = 4

[[backends.script.rules]]
when = "down for good"
fault = { kind = "status", status = 503, message = "down" }

[[backends.script.rules]]
when = "in its form"
text = "I would rather not."
delay_ms = 50

[[backends.script.rules]]
when = "the form that was asked for"
text = """
\`\`\`json
{"good": true}
\`\`\`
"""
delay_ms = 50

[[backends.script.rules]]
when = "slow"
text = "It took a while, and there is much to tell."
chunk_gap_ms = 50

[[backends.script.rules]]
when = "patience"
text = "patience"
delay_ms = 500

[[backends.script.rules]]
when = "forecast"
on = "user"
tool_calls = [{ name = "weather", arguments = { city = "Lisbon" } }, { name = "tide", arguments = { city = "Lisbon" } }]

[[backends.script.rules]]
when = "forecast"
on = "tool"
text = "Done."

[[backends.script.rules]]
when = "big"
on = "user"
tool_calls = [{ name = "weather", arguments_json = '{"city": 12345678901234567890123}' }]

[[backends.script.rules]]
on = "tool"
text = "{last_tool}"

[[backends.script.rules]]
text = "{last_user}"
`;

export const SLOW = "It took a while, and there is much to tell.";

export function fresh(): string {
  return randomUUID();
}

/** Gives its actions one after the other, and keeps what it saw. */
export class Script {
  readonly seen: Decision[] = [];
  readonly #actions: Action[];

  constructor(...actions: Action[]) {
    this.#actions = actions;
  }

  readonly decide: NextAction = (decision) => {
    this.seen.push(decision);
    return this.#actions.shift() ?? new Stop();
  };

  get texts(): string[] {
    return this.seen.map((decision) => decision.exchange.text);
  }
}

/** Waits until something is so: only the attached stream is told of a coordination, and the test must not take it over. */
export async function until(found: () => Promise<string>, ...wanted: string[]): Promise<void> {
  const late = performance.now() + 10_000;
  for (let state = await found(); !wanted.includes(state); state = await found()) {
    assert.ok(performance.now() < late, `it is still ${state}`);
    await sleep(10);
  }
}

/** The state of a run; `unknown` while it is not there. */
export async function runState(client: Client, runId: string): Promise<string> {
  try {
    return (await client.run(runId)).state;
  } catch {
    return "unknown";
  }
}
