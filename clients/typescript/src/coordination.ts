/** What a coordination asks and is told: decisions, next actions, outcomes. Knows nothing of streams. */

import { create } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";

import { AntiphonError, type CodeName, fromStatus, numberOf } from "./error.js";
import { Exchange, stopReason, type Warning } from "./exchange.js";
import {
  type AnswerRejected,
  type CoordinationDetached,
  type CoordinationEnded,
  type DecisionNeeded,
  DetachReason,
  DetachReasonSchema,
  type FailAction,
  FailActionSchema,
  type NextAction as RawNextAction,
  NextActionSchema,
  NextTurnSchema,
} from "./gen/antiphon/v1/coordination_pb.js";
import type { ExecutionRequest } from "./gen/antiphon/v1/execution_pb.js";
import { isResults, type Input, type Request, resultsOf, type UnansweredTools, unansweredToolsOf } from "./request.js";
import { word } from "./word.js";

/** A result is presented and the next action is asked for. No backend capacity is held meanwhile. */
export class Decision {
  /** The result; or, when `starting`, what the coordination was started from. */
  readonly exchange: Exchange;
  /** Empty when it is ephemeral. */
  readonly coordinationId: string;

  /** For the client's own use. @internal */
  constructor(
    readonly raw: DecisionNeeded,
    coordinationId: string,
    exchange: Exchange,
  ) {
    this.coordinationId = coordinationId;
    this.exchange = exchange;
  }

  /** Names it. */
  get decisionId(): string {
    return this.raw.decisionId;
  }

  /** Whether what is presented is what it was started from. */
  get starting(): boolean {
    return this.raw.starting;
  }

  /** How many turns were started. */
  get turnsStarted(): number {
    return this.raw.turnsStarted;
  }

  /** How many turns can still be started; asking for one when it is 0 ends in `exhausted`. */
  get turnsRemaining(): number {
    return this.raw.turnsRemaining;
  }

  /** Why the model stopped, for the turn as a whole: `tool_round_limit` where calls were left unanswered at the limit of rounds. */
  get stopReason(): string {
    return stopReason(this.raw.run?.stopReason || this.raw.exchange?.stopReason || 0);
  }

  /** The thread that the next turn moves; empty without one. */
  get threadId(): string {
    return this.raw.threadId;
  }

  /** A stop of the server interrupted this run, started from the same exchange; its turn stays consumed. Empty when there is none. */
  get interruptedRunId(): string {
    return this.raw.interruptedRunId;
  }

  /** What the caller should know of the turn, all of its calls to the model included. */
  get warnings(): Warning[] {
    return this.exchange.warnings;
  }
}

/** Another turn, from the exchange that was presented: with a request, or with results of the calls that it left unanswered. */
export class Continue {
  constructor(
    readonly input: Input,
    readonly options: {
      /** What to do with a request while tool calls are unanswered. */
      readonly unansweredTools?: UnansweredTools;
      /** Go on without the thread from here on, as when its head was moved by others. */
      readonly detachThread?: boolean;
    } = {},
  ) {}
}

/** The caller has what it wanted. */
export class Stop {
  readonly kind = "stop";
}

/** The caller failed, in a way that has a code and a reason. What is thrown does the same with its own class and text. */
export class Fail {
  constructor(
    readonly message: string,
    readonly facts: {
      readonly code?: CodeName;
      readonly reason?: string;
      readonly metadata?: Readonly<Record<string, string>>;
      readonly detailsJson?: string;
    } = {},
  ) {}
}

/** Not now: the decision stays pending, to be taken after an `attach` from anywhere. */
export class Suspend {
  readonly kind = "suspend";
}

/** What comes next. */
export type Action = Continue | Stop | Fail | Suspend;

/** How a coordination went that neither failed nor was cancelled. None of the states says anything about the last result's worth. */
export interface Outcome {
  /** The caller said stop; or asked for a turn when none was left; or left it for later. */
  readonly state: "stopped" | "exhausted" | "suspended";
  readonly coordinationId: string;
  /** A completed result that was never presented. */
  readonly undelivered: Exchange | undefined;
}

/** An action other than `Suspend`, as it goes out; `offered` writes its request with the tools that the coordination offers. */
export function rawAction(
  decisionId: string,
  action: Exclude<Action, Suspend>,
  offered: (request: Request | string) => ExecutionRequest,
): RawNextAction {
  if (action instanceof Stop) return create(NextActionSchema, { decisionId, action: { case: "stop", value: {} } });
  if (action instanceof Fail) return create(NextActionSchema, { decisionId, action: { case: "fail", value: rawFail(action) } });
  if (!(action instanceof Continue)) {
    throw new TypeError(`nextAction returned ${String(action)} in place of Continue, Stop, Fail or Suspend`);
  }
  const { input, options } = action;
  const value = create(NextTurnSchema, {
    input: isResults(input)
      ? { case: "toolResults", value: resultsOf(input) }
      : { case: "request", value: offered(input) },
    detachThread: options.detachThread ?? false,
  });
  if (options.unansweredTools !== undefined) value.unansweredTools = unansweredToolsOf(options.unansweredTools);
  return create(NextActionSchema, { decisionId, action: { case: "turn", value } });
}

/** A callback that threw, as it goes out: the class of what was thrown is the reason, unless it says its own. */
export function rawThrown(decisionId: string, thrown: unknown): RawNextAction {
  let fail: Fail;
  if (thrown instanceof AntiphonError) {
    const { code, reason, metadata } = thrown;
    fail = new Fail(thrown.message, { code: code === "OK" ? "UNKNOWN" : code, reason, metadata });
  } else {
    const name = thrown instanceof Error ? thrown.constructor.name : typeof thrown;
    const words = name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toUpperCase();
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    fail = new Fail(message, { reason: words.replace(/[^A-Z0-9_]/g, "_").slice(0, 63) });
  }
  return create(NextActionSchema, { decisionId, action: { case: "fail", value: rawFail(fail) } });
}

/** Why an answer changed nothing. */
export function rejection(rejected: AnswerRejected, coordinationId: string): AntiphonError {
  const error = fromStatus(rejected.error);
  const metadata = { coordination_id: coordinationId, ...error.metadata };
  return error.with({ metadata, retryAfterMs: rejected.retryAfter === undefined ? undefined : durationMs(rejected.retryAfter) });
}

/** How it ended. */
export function outcomeOf(ended: CoordinationEnded, coordinationId: string): Outcome | AntiphonError {
  const { outcome } = ended;
  const undelivered = ended.undeliveredExchange === undefined ? undefined : new Exchange(ended.undeliveredExchange);
  switch (outcome.case) {
    case "stopped":
    case "exhausted":
      return { state: outcome.case, coordinationId, undelivered };
    case "failed":
    case "cancelled":
      return fromStatus(outcome.value.error).with({ undelivered });
    default:
      // A newer server may have more ways than this package knows.
      return new AntiphonError("UNKNOWN", "the coordination ended in a way that this client does not know: read it by its id", {
        undelivered,
      });
  }
}

/** What a stream says that ends before its coordination: asked for with Suspend, or not. */
export function detached(frame: CoordinationDetached): Outcome | AntiphonError {
  const { coordinationId, pendingId } = frame;
  if (frame.reason === DetachReason.SUSPENDED) return { state: "suspended", coordinationId, undelivered: undefined };
  const reason = word(DetachReasonSchema, frame.reason).toUpperCase();
  const taken = frame.reason === DetachReason.TAKEN_OVER;
  const when = taken ? "where it is not attached already" : "again later";
  const message = `coordination ${coordinationId} was detached (${reason}) and goes on without this stream; attach to it ${when}`;
  const metadata = { coordination_id: coordinationId, pending_id: pendingId };
  return new AntiphonError(taken ? "ABORTED" : "UNAVAILABLE", message, { reason, metadata });
}

function rawFail(fail: Fail): FailAction {
  const { code = "UNKNOWN", reason = "", metadata = {}, detailsJson = "" } = fail.facts;
  if (code === "OK") throw new TypeError("a failure has a code other than OK");
  const kept = Object.entries(metadata).slice(0, 64);
  return create(FailActionSchema, {
    code: numberOf(code),
    message: shortened(fail.message, 4096),
    reason,
    metadata: Object.fromEntries(kept.map(([key, value]) => [key.slice(0, 63), value.slice(0, 1024)])),
    detailsJson,
  });
}

/** At most so many bytes of UTF-8, and no half of a character. */
function shortened(text: string, bytes: number): string {
  const encoded = new TextEncoder().encode(text);
  if (encoded.length <= bytes) return text;
  return new TextDecoder().decode(encoded.subarray(0, bytes), { stream: true });
}
