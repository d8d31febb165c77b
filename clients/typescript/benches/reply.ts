/** What `reply` costs beside its raw stub: both ask the same server in one run, in turns of rounds, and the ratio is printed.
 *
 *     ANTIPHON_BINARY=target/release/antiphon npm run bench [ROUNDS]
 *
 * The server is one of its own, with answers that are there at once, so that what is measured is the client's part as far as it can be. Figures of one
 * run compare with one another and with nothing else. */

import { createClient } from "@connectrpc/connect";
import { Client } from "antiphon";
import { ExchangeService } from "antiphon/gen/exchange_service";
import { Server } from "antiphon/testing";

const CALLS = 50;
const TEXT = "What is it known for?";

/** Microseconds for one call, over a round of them. */
async function measured(call: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  for (let made = 0; made < CALLS; made++) await call();
  return ((performance.now() - begun) / CALLS) * 1000;
}

function median(figures: readonly number[]): number {
  return [...figures].sort((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN;
}

const rounds = Number(process.argv[2] ?? 20);
await using server = await new Server().start();
await using client = new Client(server.address);
const start = await client.capture("Name a city by the sea.");
const stub = createClient(ExchangeService, client.raw);
const from = { case: "exchange", value: { exchangeId: start.exchangeId } } as const;
const raw = (): Promise<unknown> => stub.continue({ from, input: { case: "request", value: { text: TEXT } } });
const reply = (): Promise<unknown> => client.reply(start, TEXT);

await measured(raw);
await measured(reply);
const pairs: [number, number][] = [];
for (let round = 0; round < rounds; round++) pairs.push([await measured(raw), await measured(reply)]);
console.log(`raw stub ${median(pairs.map(([a]) => a)).toFixed(0)} us, reply ${median(pairs.map(([, b]) => b)).toFixed(0)} us a call`);
console.log(`reply / raw stub: ${median(pairs.map(([a, b]) => b / a)).toFixed(2)}, the median of ${rounds} rounds of ${CALLS} calls each`);
