/** What the caller brings to a loop: functions, and what this process remembers of having asked them. Knows nothing of when they are called. */

import type { Action, Decision } from "./coordination.js";
import type { Delta } from "./exchange.js";
import type { CoordinateRequest } from "./gen/antiphon/v1/coordination_pb.js";
import type { ToolResult as RawResult } from "./gen/antiphon/v1/message_pb.js";
import type { Generated, Generation } from "./generation.js";
import type { ToolDrift } from "./request.js";
import type { ToolCall, ToolResult, Tools } from "./tool.js";

/** Says what comes next. */
export type NextAction = (decision: Decision) => Action | Promise<Action>;
/** Sees a call before it is made; what it throws refuses the call, and the model is told. */
export type BeforeCall = (call: ToolCall) => void | Promise<void>;
/** Sees each call with its result; what it throws cancels the coordination and is thrown on. */
export type AfterCall = (call: ToolCall, result: ToolResult) => void | Promise<void>;
/** Hears the answer as it comes; what it throws cancels the coordination and is thrown on. */
export type OnDelta = (delta: Delta) => void | Promise<void>;
/** Calls a model, for a profile whose backend is of the kind `client`. */
export type Generate = (generation: Generation) => Generated | string | Promise<Generated | string>;

/** What this process has answered, so that no callback is made twice for one id. Forgotten when the coordination ends. */
export class Memory {
  readonly answers = new Map<string, CoordinateRequest>();
  readonly results = new Map<string, RawResult>();

  /** Whether there is nothing in it. */
  get empty(): boolean {
    return this.answers.size === 0 && this.results.size === 0;
  }
}

/** The hooks of a loop, and what else the caller says of all its turns. */
export interface Hooks {
  readonly beforeCall?: BeforeCall | undefined;
  readonly afterCall?: AfterCall | undefined;
  readonly onDelta?: OnDelta | undefined;
  readonly generate?: Generate | undefined;
  /** Holds for every request that does not say its own. */
  readonly onToolDrift?: ToolDrift | undefined;
  /** Ends the loop, at the server too. */
  readonly signal?: AbortSignal | undefined;
}

/** The caller's part. */
export interface Callbacks extends Hooks {
  readonly nextAction: NextAction;
  readonly tools?: Tools | undefined;
  /** The tools stand at the server already: they are called when the model says so, and not offered anew. */
  readonly standing?: boolean;
}
