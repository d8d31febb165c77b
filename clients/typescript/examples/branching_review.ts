/** Several reviews of one draft, each a branch of its own from the same exchange, all at once.
 *
 *     ANTIPHON_SERVER=127.0.0.1:7373 node dist/examples/branching_review.js
 *
 * Branches share the draft and see nothing of one another; the draft stays as it is. Each goes on until its reviewer has no more to ask. How the
 * branches are scheduled and joined is decided here. */

import { pathToFileURL } from "node:url";

import { type Action, AntiphonError, Client, Continue, type Decision, type Exchange, Stop } from "antiphon";

/** One branch: who asked, what was answered, and why it broke off if it did. */
export interface Review {
  readonly reviewer: string;
  readonly answers: string[];
  head: Exchange;
  error?: AntiphonError;
}

/** Asks a draft's author one reviewer's questions, one turn each. */
async function review(client: Client, draft: Exchange, reviewer: string, questions: readonly string[]): Promise<Review> {
  const result: Review = { reviewer, answers: [], head: draft };
  const left = [...questions];

  async function nextAction(decision: Decision): Promise<Action> {
    if (!decision.starting) {
      result.answers.push(decision.exchange.text);
      result.head = decision.exchange;
    }
    // A reviewer may be a person or another model here; nothing is held at the server meanwhile.
    const question = left.shift();
    return question === undefined ? new Stop() : new Continue(`${reviewer} asks: ${question}`);
  }

  try {
    await client.coordinate(draft, questions.length, nextAction, { labels: { reviewer } });
  } catch (error) {
    // One branch that fails takes no other with it.
    if (!(error instanceof AntiphonError)) throw error;
    result.error = error;
  }
  return result;
}

/** All reviews of a draft, in the order of the reviewers. */
export async function reviewAll(
  client: Client,
  draft: Exchange,
  questions: Readonly<Record<string, readonly string[]>>,
): Promise<Review[]> {
  return Promise.all(Object.entries(questions).map(([reviewer, asked]) => review(client, draft, reviewer, asked)));
}

async function main(): Promise<void> {
  await using client = Client.fromEnv();
  const draft = await client.capture("Draft a notice: the archive moves to the cellar in spring.");
  console.log(draft.text);
  const questions = { Ada: ["Who carries the boxes?", "By when?"], Bo: ["Is the cellar dry?"] };
  for (const { reviewer, answers, error } of await reviewAll(client, draft, questions)) {
    console.log([`\n${reviewer}:`, ...(answers.length > 0 ? answers : [String(error)])].join("\n  "));
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main();
