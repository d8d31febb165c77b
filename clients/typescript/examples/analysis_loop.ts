/** A loop that asks for refinement until the caller is content, or the budget of turns is used up.
 *
 *     ANTIPHON_SERVER=127.0.0.1:7373 node dist/examples/analysis_loop.js
 *
 * The server runs the turns and keeps them. What an answer is worth, and what to ask for next, is decided here. */

import { pathToFileURL } from "node:url";

import { type Action, Client, Continue, type Decision, type Exchange, Stop } from "antiphon";

/** The last answer, and what it still leaves out. */
export interface Analysis {
  readonly exchange: Exchange;
  readonly missing: readonly string[];
}

/** Has a text analysed until the analysis treats every topic. */
export async function analyse(client: Client, text: string, topics: readonly string[], additionalTurns = 3): Promise<Analysis> {
  let latest: Analysis | undefined;

  function nextAction({ exchange }: Decision): Action {
    const answer = exchange.text.toLowerCase();
    const missing = topics.filter((topic) => !answer.includes(topic.toLowerCase()));
    latest = { exchange, missing };
    return missing.length > 0 ? new Continue(`Go on: ${missing.join(", ")}?`) : new Stop();
  }

  const start = { text: `Analyse this: ${text}`, system: "Analyse what you are given, in a few sentences." };
  await client.coordinate(start, additionalTurns, nextAction);
  // Whether it stopped or was exhausted, the last answer was seen; `missing` tells which.
  return latest as unknown as Analysis;
}

async function main(): Promise<void> {
  await using client = Client.fromEnv();
  const { exchange, missing } = await analyse(client, "We move the archive to the cellar in spring.", ["risk", "cost"]);
  console.log(exchange.text);
  if (missing.length > 0) console.log("It never came to:", missing.join(", "));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main();
