/** Steps of scenarios that change nothing and read more than one thing, and their results. Knows nothing of loops. */

import type { Client, Difference, Explanation, OfferedTool, Request } from "antiphon";

import { type Mapping, plain, type Said } from "./told.js";

/** Plays one, and gives its result in the words of the scenarios, or what another step takes. */
export async function look(
  client: Client,
  verb: string,
  said: Mapping,
  request: (said: Mapping) => Request,
  point: (said: Said) => Said,
): Promise<Said> {
  switch (verb) {
    case "ancestors":
      return all(client.ancestors(said["of"]), plain);
    case "children":
      return all(client.children(said["of"]), plain);
    case "common_ancestor":
      return client.commonAncestor(said["of"]);
    case "search": {
      const found = client.search({ text: said["text"] ?? "", labels: said["labels"] ?? {} });
      return all(found, ({ exchange, runId }) => ({ exchange_id: exchange?.exchangeId ?? "", run_id: runId }));
    }
    case "diff":
      return difference(await client.diff(said["left"], said["right"]));
    case "usage": {
      const { runCount, usage } = await client.usage({ scopes: said["of"] ?? [], labels: said["labels"] ?? {} });
      return { run_count: runCount, input_tokens: usage.inputTokens, output_tokens: usage.outputTokens };
    }
    case "explain":
      if ("exchange" in said) return explanation(await client.explainExchange(said["exchange"]));
      return explanation(await client.explain(request(said["request"]), { after: point(said["after"]) }));
    case "prepare": {
      const made = await client.prepare(request(said["request"]), { after: point(said["after"]), capture: said["capture"] });
      return { ...made, run_id: made.runId, messages: made.explanation.messages.map(({ role, text }) => ({ role, text })) };
    }
    case "execute":
      return client.execute(said["prepared"]);
    case "call_tools": {
      const { offered, standing, called, drifts } = await client.callTools(said["of"]);
      return { offered: names(offered), standing: names(standing), called, drifts: drifts.map(({ name }) => name) };
    }
    case "tool_occurrences": {
      const found = client.toolOccurrences(said["name"], said["kind"] === undefined ? {} : { kind: said["kind"] });
      return all(found, ({ exchangeId, offered }) => ({ exchange_id: exchangeId, offered }));
    }
    case "tool_drifts":
      return all(client.toolDrifts(said["of"]), ({ name, previousExchangeId, exchangeId }) => ({
        name,
        previous_exchange_id: previousExchangeId,
        exchange_id: exchangeId,
      }));
    case "prompts":
      return all(client.prompts(), ({ promptId: id, description, variables, required }) => ({ id, description, variables, required }));
    case "profiles":
      return all(client.profiles(), ({ profileId: id, backendId: backend, model, isDefault }) => ({ id, backend, model, default: isDefault }));
    case "backends":
      return all(client.backends(), ({ backendId: id, kind, capacity }) => ({ id, kind, capacity }));
    default:
      throw new Error(`there is no step \`${verb}\``);
  }
}

function names(tools: readonly OfferedTool[]): string[] {
  return tools.map(({ name }) => name);
}

function difference(found: Difference): Mapping {
  return {
    common_ancestor_exchange_id: found.commonAncestorExchangeId,
    left_count: found.leftCount,
    right_count: found.rightCount,
    messages: found.messages.map(({ kind, left, right }) => ({ kind, left: left?.text, right: right?.text })),
    settings: Object.fromEntries(found.settings.map(({ name, kind, left, right }) => [name, { kind, left, right }])),
    tools: Object.fromEntries(found.tools.map(({ name, kind }) => [name, { kind }])),
    documents: Object.fromEntries(found.documents.map(({ name, kind }) => [name, { kind }])),
  };
}

function explanation(found: Explanation): Mapping {
  return {
    messages: found.messages.map(({ role, text }) => ({ role, text })),
    settings: Object.fromEntries(Object.entries(found.settings).map(([name, { value }]) => [name, value])),
    tools: names(found.tools),
    matches: found.matches,
  };
}

async function all<Item>(items: AsyncIterable<Item>, shown: (item: Item) => Said): Promise<Said[]> {
  const found: Said[] = [];
  for await (const item of items) found.push(shown(item));
  return found;
}
