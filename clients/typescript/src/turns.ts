/** Single turns that are kept, probes that are not, and what the caller made itself. Knows nothing of loops. */

import { create } from "@bufbuild/protobuf";
import type { CallOptions } from "@connectrpc/connect";

import type { OnDelta } from "./callbacks.js";
import type { CallSettings } from "./calls.js";
import { Exchange, Probe } from "./exchange.js";
import type { ExecutionRequest, ToolResults } from "./gen/antiphon/v1/execution_pb.js";
import {
  type CaptureRequest,
  CaptureRequestSchema,
  type ContinueRequest,
  ContinueRequestSchema,
  ProbeRequestSchema,
  type ProbeResponse,
  type RecordRequest,
  RecordRequestSchema,
} from "./gen/antiphon/v1/exchange_service_pb.js";
import { rawMessages, type Said } from "./message.js";
import { type Facts, rawFacts, type Recorded, recordedOf } from "./record.js";
import {
  exchangePoint,
  type Input,
  isResults,
  type Labels,
  type NewThread,
  rawRequest,
  type Request,
  resultsOf,
  ThreadPoint,
  ThreadTurn,
} from "./request.js";
import { Response, type StreamEvent } from "./response.js";
import { fresh } from "./retry.js";
import { Workspaces } from "./workspace.js";

/** How one turn is executed. */
export interface TurnSettings extends CallSettings {
  /** Hears the answer as it comes. */
  readonly onDelta?: OnDelta | undefined;
}

/** One call to a model at a time; tools that it asks for are left to the caller. */
export class Turns extends Workspaces {
  /** Executes a request at a root and keeps the exchange, on a thread without exchanges if one is given. */
  async capture(
    request: Request | string,
    settings: TurnSettings & { readonly thread?: ThreadPoint | NewThread | undefined } = {},
  ): Promise<Exchange> {
    const { onDelta, thread } = settings;
    if (onDelta !== undefined) return heard(this.stream(request, settings), onDelta);
    const raw = rawCapture(request, thread);
    return new Exchange((await this.call(this.services.exchanges.capture, raw, settings, executed(raw))).exchange);
  }

  /** A new turn: from an exchange or its id, where no head moves, or from a thread, whose head moves. In place of a request it takes the results
   * of all calls that are pending there, with which the same run goes on. */
  async continue(point: Exchange | ThreadPoint | string, request: Input, settings: TurnSettings = {}): Promise<Exchange> {
    return this.continued(rawTurn(point, request), settings);
  }

  /** `capture`, or `continue` where `after` says from what, as an answer to read as it comes. */
  stream(
    request: Input,
    settings: CallSettings & {
      readonly after?: Exchange | ThreadPoint | string;
      readonly thread?: ThreadPoint | NewThread | undefined;
    } = {},
  ): Response<Exchange> {
    const { after, thread } = settings;
    if (after !== undefined) {
      if (thread !== undefined) throw new TypeError("`thread` is for a first turn; one that goes on has its thread in `after`");
      return this.#streamTurn(rawTurn(after, request), settings);
    }
    if (isResults(request)) throw new TypeError("results of tool calls need `after`, the exchange or thread with the calls");
    const capture = rawCapture(request, thread);
    const open = (options: CallOptions): AsyncIterable<StreamEvent<Captured>> =>
      this.services.exchanges.streamCapture({ capture }, options);
    return this.#response(open, captured, executed(capture), settings);
  }

  /** Asks something from a point of history and leaves nothing behind. One call to the model: calls of tools come back as its stop reason. Tools
   * with side effects are refused unless `allowSideEffects` says otherwise, and those that need a person always. */
  async forkOnce(
    source: Exchange | ThreadTurn | string,
    request: Request | string,
    settings: TurnSettings & { readonly allowSideEffects?: boolean } = {},
  ): Promise<Probe> {
    const { allowSideEffects = false, onDelta } = settings;
    const run = rawRequest(request);
    const from =
      source instanceof ThreadTurn
        ? ({ case: "thread", value: source.toRaw() } as const)
        : ({ case: "exchange", value: exchangePoint(source) } as const);
    const probe = create(ProbeRequestSchema, { request: run, allowSideEffects, from });
    if (onDelta === undefined) return new Probe(await this.call(this.services.exchanges.probe, probe, settings));
    const open = (options: CallOptions): AsyncIterable<StreamEvent<ProbeResponse>> =>
      this.services.exchanges.streamProbe({ probe }, options);
    return heard(this.#response(open, (completed) => new Probe(completed), run, settings), onDelta);
  }

  /** Stores what the caller said and heard itself, cut after each assistant message; what is stored already is found again.
   *
   * The messages are a whole transcript, or what comes `after` an exchange or a thread's head. `thread` is one that goes through the transcript and
   * moves to its end, or one to make. A probe is stored as what it brought. */
  async record(
    messages: readonly Said[] | Probe,
    settings: CallSettings & {
      readonly after?: Exchange | ThreadPoint | string | undefined;
      readonly thread?: ThreadPoint | NewThread | undefined;
      readonly facts?: readonly Facts[];
      readonly labels?: Labels;
      readonly requestId?: string;
    } = {},
  ): Promise<Recorded> {
    const { after, thread, facts = [], labels = {}, requestId } = settings;
    const raw: RecordRequest = create(RecordRequestSchema);
    if (messages instanceof Probe) {
      Object.assign(raw, messages.raw.promotion);
      raw.labels = { ...raw.labels, ...labels };
    } else {
      Object.assign(raw, { messages: rawMessages(messages), facts: facts.map(rawFacts), labels: { ...labels } });
    }
    raw.requestId = requestId || raw.requestId || fresh();
    if (after instanceof ThreadPoint) {
      raw.start = create(RecordRequestSchema, { start: { case: "afterHead", value: {} } }).start;
      raw.thread = { case: "existingThread", value: after.toRaw() };
    } else if (after !== undefined) {
      raw.start = { case: "afterExchange", value: exchangePoint(after) };
    }
    if (thread !== undefined) raw.thread = placed(thread);
    return recordedOf(await this.call(this.services.exchanges.record, raw, settings));
  }

  /** The id of an exchange that was not captured, once it is on record with all that was said before it, each turn by itself. What is there already
   * is found again. @internal */
  protected async settled(exchange: Exchange): Promise<string> {
    const { renderedMessages, assistant, facts } = exchange.prefix();
    const messages = [...renderedMessages, assistant];
    const raw = create(RecordRequestSchema, { messages, facts: facts === undefined ? [] : [facts], requestId: fresh() });
    for (const fact of raw.facts) fact.messageIndex = messages.length - 1;
    return (await this.call(this.services.exchanges.record, raw)).exchangeId;
  }

  /** @internal */
  protected async continued(raw: ContinueRequest, settings: TurnSettings): Promise<Exchange> {
    if (settings.onDelta !== undefined) return heard(this.#streamTurn(raw, settings), settings.onDelta);
    return new Exchange((await this.call(this.services.exchanges.continue, raw, settings, raw.input.value)).exchange);
  }

  #streamTurn(turn: ContinueRequest, settings: CallSettings): Response<Exchange> {
    const open = (options: CallOptions): AsyncIterable<StreamEvent<Captured>> =>
      this.services.exchanges.streamContinue({ turn }, options);
    return this.#response(open, captured, turn.input.value as ExecutionRequest | ToolResults, settings);
  }

  #response<Completed, Result extends Exchange | Probe>(
    open: (options: CallOptions) => AsyncIterable<StreamEvent<Completed>>,
    read: (completed: Completed) => Result,
    run: ExecutionRequest | ToolResults,
    settings: CallSettings,
  ): Response<Result> {
    const end = async (runId: string): Promise<void> => void (await this.cancelRun(runId));
    return new Response({ open: open as never, read, run, end }, settings);
  }
}

type Captured = { readonly exchange?: ConstructorParameters<typeof Exchange>[0] };

/** A new turn, as it goes out; what was not captured goes along with it, in one write. */
export function continuation(point: Exchange | ThreadPoint | string, request: Input): ContinueRequest {
  const raw = create(ContinueRequestSchema);
  if (isResults(request)) {
    raw.input = { case: "toolResults", value: resultsOf(request) };
  } else {
    raw.input = { case: "request", value: rawRequest(request) };
    raw.input.value.runId ||= fresh();
  }
  if (point instanceof ThreadPoint) raw.from = { case: "thread", value: point.toRaw() };
  else if (point instanceof Exchange && !point.captured) raw.from = { case: "uncapturedPrefix", value: point.prefix() };
  else raw.from = { case: "exchange", value: exchangePoint(point) };
  return raw;
}

/** A new turn from what is on record, as it goes out. */
export function rawTurn(point: Exchange | ThreadPoint | string, request: Input): ContinueRequest {
  // Storing what was not captured is for `reply`, which says so.
  if (point instanceof Exchange) exchangePoint(point);
  return continuation(point, request);
}

/** A first turn, as it goes out. */
export function rawCapture(request: Request | string, thread: ThreadPoint | NewThread | undefined): CaptureRequest {
  const value = rawRequest(request);
  value.runId ||= fresh();
  const raw = create(CaptureRequestSchema, { execution: { case: "request", value } });
  if (thread !== undefined) raw.thread = placed(thread);
  return raw;
}

function executed(raw: CaptureRequest): ExecutionRequest {
  return raw.execution.value as ExecutionRequest;
}

function placed(thread: ThreadPoint | NewThread): Exclude<CaptureRequest["thread"], { case: undefined }> {
  return thread instanceof ThreadPoint
    ? { case: "existingThread", value: thread.toRaw() }
    : { case: "newThread", value: thread.toRaw() };
}

function captured(completed: Captured): Exchange {
  return new Exchange(completed.exchange);
}

/** The whole answer, with its pieces told on the way. */
async function heard<Result extends Exchange | Probe>(response: Response<Result>, onDelta: OnDelta): Promise<Result> {
  try {
    for await (const delta of response) await onDelta(delta);
    return await response.result();
  } finally {
    await response[Symbol.asyncDispose]();
  }
}
