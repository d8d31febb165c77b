/** A conversation: a thread with the caller's functions beside it. Knows nothing of how turns are made, and keeps nothing that the server lacks but
 * those functions. */

import type { AfterCall, BeforeCall, Hooks } from "./callbacks.js";
import type { CallSettings } from "./calls.js";
import type { Client } from "./client.js";
import { AntiphonError } from "./error.js";
import type { Exchange, Probe } from "./exchange.js";
import { Take } from "./loops.js";
import { type Input, isResults, type Request, requestOf, ThreadPoint, ThreadTurn } from "./request.js";
import type { Move, Thread } from "./thread.js";
import type { Tools } from "./tool.js";
import type { TurnSettings } from "./turns.js";
import { rawSpendLimit, type SpendSettings } from "./usage.js";
import type { Workspace } from "./workspace.js";

/** The functions of a conversation. */
export interface ConversationSettings {
  /** Offered in every turn which says nothing else; `chain` runs them. */
  readonly tools?: Tools;
  readonly beforeCall?: BeforeCall;
  readonly afterCall?: AfterCall;
  /** How many rounds of tools a `chain` may have; 16 when absent. */
  readonly chainLimit?: number;
}

/** A thread to talk on, turn after turn. Its tools stand at the server; the functions behind them, and the hooks around them, are here. */
export class Conversation {
  readonly #client: Client;
  readonly #settings: ConversationSettings;
  readonly #standing: boolean;

  /** For the client's own use. @internal */
  constructor(
    client: Client,
    /** The thread's id, by which it is found again. */
    readonly threadId: string,
    settings: ConversationSettings = {},
    standing = false,
  ) {
    this.#client = client;
    this.#settings = settings;
    this.#standing = standing;
  }

  /** The next turn, of one call to the model: tools that it calls are left to the caller, who gives all results to the next `prompt`. With
   * `expectedHead`, an exchange id, a thread that others moved is refused. */
  async prompt(request: Input, settings: TurnSettings & { readonly expectedHead?: string } = {}): Promise<Exchange> {
    const { expectedHead = "", ...turn } = settings;
    const point = new ThreadPoint(this.threadId, { expectedHead });
    if (isResults(request)) return this.#client.continue(point, request, turn);
    const offering = this.#offering(request);
    try {
      return await this.#client.continue(point, offering, turn);
    } catch (error) {
      if (!(error instanceof AntiphonError) || error.reason !== "THREAD_EMPTY") throw error;
    }
    return this.#client.capture(offering, { ...turn, thread: point });
  }

  /** The next turn, with the tools that the model calls run here: the conversation's own, or for this turn `tools`. */
  async chain(
    prompt: Request | string,
    tools?: Tools,
    settings: Pick<Hooks, "onDelta" | "generate" | "signal"> &
      SpendSettings & {
        readonly chainLimit?: number;
        readonly coordinationId?: string;
      } = {},
  ): Promise<Exchange> {
    // What cannot be is said before anything is asked.
    rawSpendLimit(settings);
    const { headExchangeId } = await this.#client.thread(this.threadId);
    const point = new ThreadPoint(this.threadId);
    const { beforeCall, afterCall, chainLimit = 16 } = this.#settings;
    const take = new Take(requestOf(prompt));
    const callbacks = {
      ...settings,
      nextAction: take.decide,
      tools: tools ?? this.#settings.tools,
      beforeCall,
      afterCall,
      standing: tools === undefined && this.#standing,
    };
    const where = headExchangeId ? { after: point } : { thread: point };
    return this.#client.runChain(take, callbacks, { chainLimit, ...settings, ...where });
  }

  /** The thread's documents, to read and to write. */
  get workspace(): Workspace {
    return this.#client.workspace(this.threadId);
  }

  /** Goes back to an earlier exchange, documents included; the next turn goes on from there. Nothing is lost, see `moves`. */
  async restore(
    to: Exchange | string,
    settings: CallSettings & { readonly expectedHead?: Exchange | string | undefined } = {},
  ): Promise<Thread> {
    return this.#client.restore(this.threadId, to, settings);
  }

  /** Where the head was, the newest move first. */
  moves(settings: CallSettings = {}): AsyncGenerator<Move, void, undefined> {
    return this.#client.moves(this.threadId, settings);
  }

  /** A new conversation from here, or from after an earlier turn. Its hooks are none and its tools stand without functions: give them to each
   * `chain`, or to `conversation`. */
  async fork(options: { readonly name?: string; readonly afterTurn?: number } = {}): Promise<Conversation> {
    const { name = "", afterTurn } = options;
    return this.#client.fork(new ThreadTurn(this.threadId, { afterTurn }), undefined, { name });
  }

  /** Asks something on the side, and leaves nothing behind. */
  async forkOnce(request: Request | string, settings: CallSettings = {}): Promise<Probe> {
    return this.#client.forkOnce(new ThreadTurn(this.threadId), request, settings);
  }

  /** A request with the conversation's tools, where they do not stand and it has none of its own. */
  #offering(request: Request | string): Request {
    const said = requestOf(request);
    const { tools } = this.#settings;
    return tools === undefined || this.#standing || said.tools !== undefined ? said : { ...said, tools };
  }
}
