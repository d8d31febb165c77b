/** Turns in loops: coordinations that a callback decides, and chains of tools. Knows nothing of how a stream is followed. */

import { create } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromDate } from "@bufbuild/protobuf/wkt";

import { type Callbacks, type Hooks, Memory, type NextAction } from "./callbacks.js";
import { type CallSettings, there } from "./calls.js";
import { type Action, Continue, type Decision, Fail, type Outcome, rawAction, Stop, Suspend } from "./coordination.js";
import { Coordinator } from "./coordinator.js";
import { aborted, AntiphonError, fromConnect } from "./error.js";
import { Exchange } from "./exchange.js";
import { Explain } from "./explain.js";
import { type CoordinationStart, CoordinationStartSchema, InitialRequestSchema } from "./gen/antiphon/v1/coordination_pb.js";
import { AnswerRequestSchema } from "./gen/antiphon/v1/coordination_service_pb.js";
import { type Generated, rawGenerated } from "./generation.js";
import {
  exchangePoint,
  type Labels,
  type NewThread,
  type OnDisconnect,
  onDisconnectOf,
  rawRequest,
  type Request,
  requestOf,
  ThreadPoint,
} from "./request.js";
import { fresh } from "./retry.js";
import { Stream } from "./stream.js";
import { Coordination } from "./thread.js";
import { rawResult, type ToolResult, type Tools } from "./tool.js";
import { rawSpendLimit, type SpendSettings } from "./usage.js";

const CANCEL_TIMEOUT_MS = 5000;

/** How a coordination is begun. */
export interface CoordinateSettings extends Hooks, SpendSettings {
  /** Where a start with a request is executed. */
  readonly thread?: ThreadPoint | NewThread | undefined;
  /** Functions that the model may call in every turn whose request names none of its own. */
  readonly tools?: Tools | undefined;
  readonly toolRoundLimit?: number;
  readonly decisionTimeoutMs?: number;
  readonly deadline?: Date;
  readonly onDisconnect?: OnDisconnect;
  /** Names it, so that it can be attached to; made once when absent. */
  readonly coordinationId?: string | undefined;
  readonly labels?: Labels;
  /** Nothing of it is kept. */
  readonly ephemeral?: boolean;
}

/** How a coordination is taken up again. */
export interface AttachSettings extends Hooks {
  readonly tools?: Tools | undefined;
}

/** How a chain is begun. */
export interface ChainSettings extends Hooks, SpendSettings {
  /** What it goes on from; a first turn when absent. */
  readonly after?: Exchange | ThreadPoint | string | undefined;
  /** Where a first turn is executed. */
  readonly thread?: ThreadPoint | NewThread;
  /** How many rounds of tools there may be; 16 when absent. */
  readonly chainLimit?: number;
  /** Names it, so that it can be resumed; made once when absent. */
  readonly coordinationId?: string | undefined;
  readonly labels?: Labels;
  /** Nothing of it is kept. */
  readonly ephemeral?: boolean;
}

/** Turn after turn on one branch, with the caller's functions. */
export class Loops extends Explain {
  /** Runs up to `additionalTurns` turns of one branch; `nextAction` decides each.
   *
   * It starts from an exchange (or its id, as a string), from the head of a thread, which then moves, or with a `Request` that is executed first, on
   * `thread` if one is given. `nextAction` sees that starting exchange, then each new result, and returns `Continue`, `Stop`, `Fail` or `Suspend`.
   * What it throws ends the coordination FAILED and is thrown here, the same object.
   *
   * `tools` run at once, and one that fails, is not there or is refused by what `beforeCall` throws gives an error result. What `afterCall` or
   * `onDelta` throws cancels the coordination and is thrown here. A tool that throws `Pause` leaves it for later, and that is thrown here with the id
   * to go on with.
   *
   * `generate` is called where the profile's backend is of the kind `client`. With an `AntiphonError` that it throws, the server decides by its code
   * whether it is asked again; anything else fails the turn and is thrown here.
   *
   * A stream that breaks is attached again, and no callback is made twice for one decision. Throws `AntiphonError` when an execution fails, when it
   * was cancelled, or when an answer was refused, in which case the decision stays pending. */
  async coordinate(
    start: Exchange | ThreadPoint | Request | string,
    additionalTurns: number,
    nextAction: NextAction,
    settings: CoordinateSettings = {},
  ): Promise<Outcome> {
    const { thread, toolRoundLimit, decisionTimeoutMs, deadline, onDisconnect, ...hooks } = settings;
    const raw = begin(settings, additionalTurns);
    if (toolRoundLimit !== undefined) raw.toolRoundLimit = toolRoundLimit;
    if (decisionTimeoutMs !== undefined) raw.decisionTimeout = durationFromMs(decisionTimeoutMs);
    if (deadline !== undefined) raw.deadline = timestampFromDate(deadline);
    if (onDisconnect !== undefined) raw.onDisconnect = onDisconnectOf(onDisconnect);
    return this.#start(raw, start, thread, { ...hooks, nextAction });
  }

  /** Goes on with a coordination that was suspended, or whose process or connection is gone, at what is pending. */
  async attach(coordinationId: string, nextAction: NextAction, settings: AttachSettings = {}): Promise<Outcome> {
    const callbacks = { ...settings, nextAction };
    return this.finish(coordinationId, this.coordinator(coordinationId, callbacks), undefined);
  }

  /** Executes a request and the tools that the model calls, until it calls none or there were `chainLimit` rounds of them; then the answer has
   * `toolCalls` that nothing answers.
   *
   * It is a first turn, on `thread` if one is given, or one `after` an exchange or a thread's head. A tool that throws `Pause` leaves it for `resume`.
   * What came of it can be found under the `coordinationId`, yours or one that is made once. */
  async chain(prompt: Request | string, tools: Tools = [], settings: ChainSettings = {}): Promise<Exchange> {
    const take = new Take(requestOf(prompt));
    return this.runChain(take, { ...settings, tools, nextAction: take.decide }, settings);
  }

  /** Goes on with a chain that was paused, or whose process is gone, and gives its result. Calls that have results are not made again. */
  async resume(coordinationId: string, tools: Tools = [], hooks: Hooks = {}): Promise<Exchange> {
    const take = new Take(undefined);
    await this.attach(coordinationId, take.decide, { ...hooks, tools });
    return take.result(coordinationId);
  }

  /** Gives the answer that a coordination waits for, from anywhere and without a stream: results of tool calls, a next action, or what a model said.
   * With the `pendingId` that the caller saw, the same answer may be given again, and another one is refused. */
  async answer(
    coordinationId: string,
    answer: Action | Generated | readonly ToolResult[],
    settings: CallSettings & { readonly pendingId?: string } = {},
  ): Promise<Coordination> {
    const pendingId = settings.pendingId || (await this.coordination(coordinationId, settings)).pendingId;
    const raw = create(AnswerRequestSchema, { coordinationId });
    if (answer instanceof Suspend) {
      throw new TypeError("there is no stream to suspend; a coordination that nobody answers waits by itself");
    } else if (answer instanceof Continue || answer instanceof Stop || answer instanceof Fail) {
      raw.answer = { case: "nextAction", value: rawAction(pendingId, answer, rawRequest) };
    } else if (isResults(answer)) {
      const results = { case: "toolResults", value: { batchId: pendingId, results: answer.map(rawResult) } } as const;
      raw.answer = create(AnswerRequestSchema, { answer: results }).answer;
    } else {
      raw.answer = { case: "generated", value: rawGenerated(pendingId, answer) };
    }
    return new Coordination(there((await this.call(this.services.coordinations.answer, raw, settings)).coordination));
  }

  /** Ends a coordination, wherever it is. Ending one that has ended changes nothing. */
  async cancel(
    coordinationId: string,
    settings: { readonly message?: string; readonly timeoutMs?: number } = {},
  ): Promise<void> {
    const { message = "", timeoutMs } = settings;
    try {
      await this.services.coordinations.cancel({ coordinationId, message }, timeoutMs === undefined ? {} : { timeoutMs });
    } catch (failed) {
      throw fromConnect(failed);
    }
  }

  /** A chain as a conversation has it. @internal */
  async runChain(take: Take, callbacks: Callbacks, settings: ChainSettings): Promise<Exchange> {
    const { after, thread, chainLimit = 16 } = settings;
    const raw = begin({ ...settings, onDelta: callbacks.onDelta }, after === undefined ? 0 : 1);
    raw.toolRoundLimit = chainLimit;
    let start: Exchange | ThreadPoint | Request | string;
    if (after === undefined) {
      start = take.request ?? {};
      take.request = undefined;
    } else if (after instanceof Exchange && !after.captured && !raw.ephemeral) {
      // A branch of turns needs what it goes on from on record, where it lands once, however often it is replied to.
      start = await this.settled(after);
    } else {
      start = after;
    }
    await this.#start(raw, start, thread, callbacks);
    return take.result(raw.coordinationId);
  }

  async #start(
    raw: CoordinationStart,
    start: Exchange | ThreadPoint | Request | string,
    thread: ThreadPoint | NewThread | undefined,
    callbacks: Callbacks,
  ): Promise<Outcome> {
    const { signal } = callbacks;
    if (signal?.aborted) throw aborted(signal, "a coordination that has not begun");
    const coordinator = this.coordinator(raw.coordinationId, callbacks);
    const asks = !(start instanceof Exchange || start instanceof ThreadPoint || typeof start === "string");
    if (thread !== undefined && !asks) throw new TypeError("`thread` is for a start with a request");
    if (start instanceof ThreadPoint) {
      raw.from = { case: "thread", value: start.toRaw() };
    } else if (start instanceof Exchange || typeof start === "string") {
      raw.from = { case: "exchange", value: exchangePoint(start) };
    } else {
      const value = create(InitialRequestSchema, { request: coordinator.offered(start) });
      if (thread instanceof ThreadPoint) value.thread = { case: "existingThread", value: thread.toRaw() };
      else if (thread !== undefined) value.thread = { case: "newThread", value: thread.toRaw() };
      raw.from = { case: "initialRequest", value };
    }
    return this.finish(raw.coordinationId, coordinator, raw);
  }

  /** @internal */
  protected coordinator(coordinationId: string, callbacks: Callbacks): Coordinator {
    const memory = this.memories.get(coordinationId) ?? new Memory();
    if (coordinationId) this.memories.set(coordinationId, memory);
    const open = (): Stream =>
      new Stream((said, signal) => this.services.exchanges.coordinate(said, { signal }));
    const cancel = async (message: string): Promise<void> => {
      if (!coordinationId) return;
      try {
        await this.cancel(coordinationId, { message, timeoutMs: CANCEL_TIMEOUT_MS });
      } catch (error) {
        // The caller is on its way out, and a server that cannot be reached cannot be told.
        if (!(error instanceof AntiphonError)) throw error;
      }
    };
    return new Coordinator({ open, cancel, attachForMs: this.attachForMs }, callbacks, memory, coordinationId);
  }

  /** @internal */
  protected async finish(
    coordinationId: string,
    coordinator: Coordinator,
    start: CoordinationStart | undefined,
  ): Promise<Outcome> {
    try {
      return await coordinator.run(start);
    } finally {
      if (this.memories.get(coordinationId)?.empty) this.memories.delete(coordinationId);
    }
  }
}

/** The callback of a chain: asks for one turn where it goes on from something, and takes the result. For the client's own use. */
export class Take {
  readonly #found: Exchange[] = [];

  constructor(public request: Request | undefined) {}

  readonly decide = (decision: Decision): Action => {
    if (decision.starting && this.request !== undefined) return new Continue(this.request);
    if (decision.starting && decision.turnsRemaining > 0) return new Suspend();
    this.#found.push(decision.exchange);
    return new Stop();
  };

  /** What came of it. */
  result(coordinationId: string): Exchange {
    const [found] = this.#found;
    if (found !== undefined) return found;
    const message = `chain ${coordinationId} had not begun its turn: attach to it with a callback that says what to ask`;
    throw new AntiphonError("FAILED_PRECONDITION", message, { metadata: { coordination_id: coordinationId } });
  }
}

function begin(
  settings: Pick<CoordinateSettings, "coordinationId" | "ephemeral" | "labels" | "onDelta" | keyof SpendSettings>,
  additionalTurns: number,
): CoordinationStart {
  const { coordinationId, ephemeral = false, labels = {}, onDelta } = settings;
  const spendLimit = rawSpendLimit(settings);
  return create(CoordinationStartSchema, {
    ...(spendLimit && { spendLimit }),
    additionalTurns,
    coordinationId: ephemeral ? "" : coordinationId || fresh(),
    ephemeral,
    labels: { ...labels },
    deltas: onDelta !== undefined,
  });
}

function isResults(answer: unknown): answer is readonly ToolResult[] {
  return Array.isArray(answer);
}
