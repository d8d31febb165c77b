/** Results in the words of the scenarios, and whether they are what was expected. Knows nothing of steps. */

import assert from "node:assert/strict";
import { inspect } from "node:util";

import { Coordination, Exchange, type Message, Node, Probe, Run, Thread } from "antiphon";

// What is read from YAML has no types; the runner checks what it finds.
export type Said = any;
export type Mapping = Record<string, Said>;

function messages(found: readonly Message[]): Said {
  return found.map(({ role, text, toolResults }) => ({ role, text: text || toolResults.map((result) => result.text).join("") }));
}

function exchange(found: Exchange): Mapping {
  return {
    exchange_id: found.exchangeId,
    parent_exchange_id: found.parentExchangeId,
    run_id: found.runId,
    thread_id: found.threadId,
    turn: found.turn,
    text: found.text,
    stop_reason: found.stopReason,
    validation: found.validation,
    captured: found.captured,
    tool_calls: found.toolCalls.map((call) => ({ call_id: call.callId, name: call.name, arguments_json: call.argumentsJson })),
    tools: found.tools.map((tool) => tool.name),
    standing_tools: found.standingTools.map((tool) => tool.name),
    warnings: found.warnings.map((warning) => warning.code),
    profile: found.setting("profile_id"),
    model: found.setting("model"),
    messages: messages(found.messages),
  };
}

/** A result in the words of the scenarios. */
export function plain(found: Said): Said {
  if (found instanceof Exchange) return exchange(found);
  if (found instanceof Probe) {
    return { text: found.text, stop_reason: found.stopReason, run_id: found.runId, messages: messages(found.messages) };
  }
  if (found instanceof Thread) {
    return { id: found.threadId, name: found.name, head: found.headExchangeId, turn_count: found.turnCount };
  }
  if (found instanceof Run) {
    const { runId: id, state, exchangeId: exchange_id, captured, attempt } = found;
    return { id, state, exchange_id, captured, attempt, model_calls: found.modelCalls };
  }
  if (found instanceof Coordination) {
    const { coordinationId: id, state, exchangeId: exchange_id, turnsStarted, turnsRemaining } = found;
    const limits = { token_limit: found.tokenLimit ?? null, cost_limit: found.costLimit ?? null };
    return { id, state, exchange_id, turns_started: turnsStarted, turns_remaining: turnsRemaining, ...limits, spent: found.spent };
  }
  if (found instanceof Node) {
    return { exchange_id: found.exchangeId, turn: found.turn, user: found.user, assistant: found.assistant };
  }
  if (found === undefined || typeof found !== "object") return found;
  if ("exchangeIds" in found) {
    return { exchange_id: found.exchangeId, exchange_ids: found.exchangeIds, stored: found.stored, matched: found.matched };
  }
  if ("path" in found) return { messages: messages(found.messages), path: found.path };
  if ("undelivered" in found) return { state: found.state, undelivered: found.undelivered?.text };
  if ("decisionId" in found) {
    return {
      exchange: exchange(found.exchange),
      starting: found.starting,
      stop_reason: found.stopReason,
      turns_started: found.turnsStarted,
      turns_remaining: found.turnsRemaining,
      thread_id: found.threadId,
    };
  }
  return found;
}

export function isMapping(value: Said): value is Mapping {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Whether what is expected is a part of what was found. */
export function compare(expected: Said, found: Said, where: string): void {
  const shown = (): string => inspect(found);
  if (Array.isArray(expected)) {
    assert.equal(found?.length, expected.length, `${where}: ${shown()} has not ${expected.length} items`);
    expected.forEach((item, index) => compare(item, found[index], `${where}.${index}`));
  } else if (isMapping(expected)) {
    const keys = Object.keys(expected).join();
    if (keys === "contains") {
      assert.ok(found.includes(expected["contains"]), `${where}: ${shown()} has no ${expected["contains"]}`);
    } else if (keys === "length") {
      assert.equal(found.length, expected["length"], `${where}: ${shown()} has not so many items`);
    } else if (keys === "differs") {
      assert.notDeepEqual(found, expected["differs"], where);
    } else if (keys === "") {
      assert.deepEqual(Object.keys(found), [], `${where}: ${shown()} is not empty`);
    } else {
      for (const [name, value] of Object.entries(expected)) {
        assert.ok(found !== undefined && name in found, `${where}: there is no \`${name}\` in ${shown()}`);
        compare(value, found[name], `${where}.${name}`);
      }
    }
  } else {
    assert.deepEqual(found, expected, `${where}: it is ${shown()}, not ${inspect(expected)}`);
  }
}
