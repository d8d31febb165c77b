/** The client: everything that can be asked of a server, and conversations and branches made of it. Knows nothing of connections. */

import { create } from "@bufbuild/protobuf";

import { type Branch, branchOf } from "./branch.js";
import type { CallSettings, ClientOptions } from "./calls.js";
import { Conversation, type ConversationSettings } from "./conversation.js";
import { AntiphonError } from "./error.js";
import { Exchange } from "./exchange.js";
import { ForkBranchSchema, type ForkRequest, ForkRequestSchema, type ForkResponse } from "./gen/antiphon/v1/exchange_service_pb.js";
import { Prompts } from "./prompts.js";
import { exchangePoint, type Input, isResults, NewThread, rawRequest, resultsOf, ThreadTurn } from "./request.js";
import { fresh, type Repeatable } from "./retry.js";

/** How a fork is made. */
export interface ForkSettings extends CallSettings {
  readonly thread?: NewThread | undefined;
  /** A name for people, in short. */
  readonly name?: string;
  readonly requestId?: string;
}

/** Talks to one server. Close it when it is done with. */
export class Client extends Prompts {
  /** The server that ANTIPHON_SERVER names, else the one at its usual place on this machine; the key is `token`, else in ANTIPHON_TOKEN if there is
   * one. */
  static fromEnv(options: ClientOptions = {}): Client {
    const { ANTIPHON_SERVER: server = "127.0.0.1:7373", ANTIPHON_TOKEN: token } = process.env;
    return new Client(server, { token, ...options });
  }

  /** The same client for calls whose provider gets this credential in place of the server's own. It shares the connection: closing
   * one closes both. */
  withProviderCredential(providerCredential: string): Client {
    const { address, options, shared } = this.origin;
    return new Client(address, { ...options, providerCredential }, shared);
  }

  /** A conversation on a thread that is there, by its id, or on a new one. Every turn offers its `tools` which says nothing else, and `chain` runs
   * them, with the hooks around them. On a new thread they stand for whoever else goes on with it. */
  async conversation(thread: NewThread | string = new NewThread(), settings: ConversationSettings = {}): Promise<Conversation> {
    if (typeof thread === "string") return new Conversation(this, thread, settings);
    const { tools } = settings;
    const made = await this.createThread(tools === undefined ? thread : thread.with({ tools }));
    return new Conversation(this, made.threadId, settings, true);
  }

  /** A new thread from an exchange or a point of a thread; nothing is copied, and the source stays as it is.
   *
   * With a request, or the results of the calls that are pending there, its first turn is executed and its exchange returned. Without, the
   * conversation is, to go on with. The thread uses the profile and model of its source unless `thread` says otherwise. Hooks and functions do not go
   * along. */
  async fork(source: Exchange | ThreadTurn | string, request?: undefined, settings?: ForkSettings): Promise<Conversation>;
  async fork(source: Exchange | ThreadTurn | string, request: Input, settings?: ForkSettings): Promise<Exchange>;
  async fork(
    source: Exchange | ThreadTurn | string,
    request?: Input,
    settings: ForkSettings = {},
  ): Promise<Conversation | Exchange> {
    const { thread = new NewThread(), name, requestId = "" } = settings;
    const raw = rawFork(source, [[name ? thread.with({ name }) : thread, request]], requestId);
    const input = raw.branches[0]?.input;
    const run: Repeatable | undefined = input?.case === "request" ? input.value : undefined;
    const [result] = (await this.call(this.services.exchanges.fork, raw, settings, run)).results;
    if (request === undefined) return new Conversation(this, result?.thread?.threadId ?? "");
    return new Exchange(result?.exchange);
  }

  /** Several threads from one point, one for each request, whose first turns are executed at once. One that fails has its error, and takes no other
   * with it. */
  async forkAll(
    source: Exchange | ThreadTurn | string,
    requests: readonly Input[],
    settings: CallSettings & { readonly threads?: readonly NewThread[]; readonly requestId?: string } = {},
  ): Promise<Branch[]> {
    const { threads = [], requestId = "" } = settings;
    if (threads.length > requests.length) {
      throw new RangeError(`there are ${threads.length} threads for ${requests.length} requests`);
    }
    const branches = requests.map((request, at): [NewThread, Input] => [threads[at] ?? new NewThread(), request]);
    const raw = rawFork(source, branches, requestId);
    let answer: ForkResponse;
    try {
      answer = await this.call(this.services.exchanges.fork, raw, settings);
    } catch (error) {
      // The answer says so for several only; a single failure is the call's own.
      const threadId = error instanceof AntiphonError ? error.metadata["thread_id"] : undefined;
      if (requests.length !== 1 || threadId === undefined) throw error;
      return [{ threadId, exchange: undefined, error: error as AntiphonError }];
    }
    return answer.results.map(branchOf);
  }
}

function rawFork(
  source: Exchange | ThreadTurn | string,
  branches: readonly (readonly [NewThread, Input | undefined])[],
  requestId: string,
): ForkRequest {
  const raw = create(ForkRequestSchema, { requestId: requestId || fresh() });
  raw.source =
    source instanceof ThreadTurn
      ? { case: "thread", value: source.toRaw() }
      : { case: "exchange", value: exchangePoint(source) };
  for (const [thread, request] of branches) {
    let named = thread;
    if (source instanceof Exchange && !thread.options.profileId) {
      const model = thread.options.model || source.textSetting("model");
      named = thread.with({ profileId: source.textSetting("profile_id"), model });
    }
    const branch = create(ForkBranchSchema, { thread: named.toRaw() });
    if (request !== undefined && isResults(request)) {
      branch.input = { case: "toolResults", value: resultsOf(request) };
    } else if (request !== undefined) {
      branch.input = { case: "request", value: rawRequest(request) };
      branch.input.value.runId ||= fresh();
    }
    raw.branches.push(branch);
  }
  return raw;
}
