/** Drives one coordination: calls the callback and the tools, and attaches again when the stream breaks. Knows nothing of other calls. */

import type { Callbacks, Memory } from "./callbacks.js";
import { Decision, detached, type Outcome, outcomeOf, rawAction, rawThrown, rejection, Suspend } from "./coordination.js";
import { aborted, AntiphonError } from "./error.js";
import { type Delta, deltaOf, Exchange, listed, type Warning } from "./exchange.js";
import { cancelFrame, frame, Lost, receive, resultsFrame, suspendFrame } from "./frame.js";
import {
  type AnswerRejected,
  type CoordinateRequest,
  type CoordinationDetached,
  type CoordinationEnded,
  type CoordinationStart,
  type DecisionNeeded,
  type GenerationNeeded,
  type NeededToolCall,
  type ToolsNeeded,
} from "./gen/antiphon/v1/coordination_pb.js";
import type { Exchange as RawExchange } from "./gen/antiphon/v1/exchange_pb.js";
import type { ExecutionRequest } from "./gen/antiphon/v1/execution_pb.js";
import type { Message as RawMessage } from "./gen/antiphon/v1/message_pb.js";
import { Generation, rawFailure, rawGenerated } from "./generation.js";
import { ANEW, isAnew } from "./pieces.js";
import { onToolDriftOf, rawRequest, type Request } from "./request.js";
import { fresh, sleep } from "./retry.js";
import type { Stream } from "./stream.js";
import { Pause, type Tool, ToolCall, toolList } from "./tool.js";
import { callTool } from "./tool_call.js";

const HOOK_FAILED = "a hook of the caller failed";
const ABORTED = "the caller gave up";
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2000;
// How long a cancellation may take to be heard; then the caller goes on all the same.
const CANCEL_WAIT_MS = 5000;
// With these the stream is taken for broken when the server itself said nothing.
const BROKEN = ["UNAVAILABLE", "INTERNAL", "UNKNOWN", "CANCELLED", "ABORTED"];

const NO_GENERATE = new AntiphonError(
  "UNIMPLEMENTED",
  "this client does not call models itself: give it `generate`, or use another backend",
);

/** Something that was thrown, which may be anything. */
interface Thrown {
  readonly value: unknown;
}

/** What a coordinator needs of the client. */
export interface Connection {
  readonly open: () => Stream;
  /** Ends the coordination over another call. */
  readonly cancel: (message: string) => Promise<void>;
  readonly attachForMs: number;
}

/** One coordination, from its start or from an attach to the end of what this process has to do with it. */
export class Coordinator {
  readonly #functions: Map<string, Tool>;
  readonly #pausedCalls = new Set<string>();
  /** Settles when the caller gives up; never otherwise. */
  readonly #gaveUp: Promise<void>;
  /** Aborts once there is nothing more to wait for. */
  readonly #done = new AbortController();
  #stream: Stream | undefined;
  #batch: ToolsNeeded | undefined;
  #sequence = 0n;
  /** What was told when this stream was attached: up to where, and what is pending. */
  #attached = { lastSequence: 0n, pendingId: "" };
  #failure: Thrown | undefined;
  #pauseAsked: Pause | undefined;
  #generationFailure: Thrown | undefined;
  #told: Warning[] = [];
  #toldDelta = false;
  #ephemeral = false;
  #history: RawMessage[] | undefined;
  #troubleSince: number | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #tell: (() => void) | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly callbacks: Callbacks,
    private readonly memory: Memory,
    private readonly id: string,
  ) {
    this.#functions = new Map((callbacks.tools ?? []).map((tool) => [tool.name, tool]));
    this.#gaveUp = new Promise((resolve) => {
      if (callbacks.signal === undefined) return;
      this.#tell = () => {
        this.#stream?.send(cancelFrame(ABORTED));
        resolve();
      };
      callbacks.signal.addEventListener("abort", this.#tell, { once: true });
    });
  }

  /** A request with the tools of the coordination, unless it has its own. */
  offered(request: Request | string): ExecutionRequest {
    const raw = rawRequest(request);
    const { tools, standing = false, onToolDrift } = this.callbacks;
    if (typeof request !== "string" && request.tools !== undefined) {
      for (const tool of request.tools) this.#functions.set(tool.name, tool);
    } else if (tools !== undefined && !standing) {
      raw.tools = toolList(tools);
    }
    if (onToolDrift !== undefined && !raw.onToolDrift) raw.onToolDrift = onToolDriftOf(onToolDrift);
    // The answer of a person is waited for by this name, so it is not left to the server.
    if (raw.tools?.tools.some((tool) => tool.requiresHuman)) raw.runId ||= fresh();
    return raw;
  }

  /** Follows it until it ended or is left for later; without a start, attaches. */
  async run(start: CoordinationStart | undefined): Promise<Outcome> {
    if (start?.ephemeral) {
      this.#ephemeral = true;
      this.#history = start.from.case === "initialRequest" ? [] : undefined;
    }
    try {
      return await Promise.race([this.#loop(start), this.#abandon()]);
    } finally {
      this.#done.abort();
      this.#letGo();
      if (this.#tell !== undefined) this.callbacks.signal?.removeEventListener("abort", this.#tell);
    }
  }

  get #cancelled(): boolean {
    return this.callbacks.signal?.aborted ?? false;
  }

  async #loop(start: CoordinationStart | undefined): Promise<Outcome> {
    for (;;) {
      const opened = performance.now();
      const stream = (this.#stream = this.connection.open());
      let lost = new AntiphonError("UNAVAILABLE", "the stream closed before its coordination ended");
      try {
        stream.send(this.#greeting(start));
        if (this.#cancelled) stream.send(cancelFrame(ABORTED));
        const outcome = await this.#follow(stream);
        if (outcome !== undefined) return outcome;
      } catch (failed) {
        if (!(failed instanceof Lost)) throw failed;
        lost = failed.error;
      }
      this.#letGo();
      if (this.#cancelled) {
        await this.connection.cancel(ABORTED);
        throw this.#aborted();
      }
      const broken = lost.canRetry || (BROKEN.includes(lost.code) && lost.reason === "");
      if (!broken || start?.ephemeral) throw this.#failure === undefined ? lost : this.#failure.value;
      if (performance.now() - opened > LONGEST_PAUSE_MS) this.#troubleSince = undefined;
      await this.#wait(lost);
    }
  }

  /** What the caller gets who gave up, when the stream does not tell in time how it ended. */
  async #abandon(): Promise<never> {
    await this.#gaveUp;
    await sleep(CANCEL_WAIT_MS, this.#done.signal);
    await this.connection.cancel(ABORTED);
    throw this.#aborted();
  }

  #aborted(): AntiphonError {
    return aborted(this.callbacks.signal as AbortSignal, `coordination ${this.id}`);
  }

  #greeting(start: CoordinationStart | undefined): CoordinateRequest {
    // A start that was perhaps not heard is said again: with the same id it begins nothing twice.
    if (start !== undefined && this.#sequence === 0n) return frame({ case: "start", value: start });
    const deltas = this.callbacks.onDelta !== undefined;
    return frame({ case: "attach", value: { coordinationId: this.id, afterSequence: this.#sequence, deltas } });
  }

  #letGo(): void {
    this.#stream?.close();
    this.#stream = undefined;
  }

  /** Waits before the next try, or throws when it has tried for long enough. */
  async #wait(trouble: AntiphonError): Promise<void> {
    const now = performance.now();
    if (this.#troubleSince === undefined) {
      this.#troubleSince = now;
      this.#pauseMs = FIRST_PAUSE_MS;
    }
    if (now - this.#troubleSince >= this.connection.attachForMs) {
      throw this.#failure === undefined ? trouble : this.#failure.value;
    }
    await Promise.race([sleep(trouble.retryAfterMs ?? this.#pauseMs), this.#gaveUp]);
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
  }

  /** Reads until the coordination ends or lets go; undefined when the stream closed before. */
  async #follow(stream: Stream): Promise<Outcome | undefined> {
    for (let response = await receive(stream); response !== undefined; response = await receive(stream)) {
      const { frame: said, sequence } = response;
      if (sequence > this.#sequence) {
        // Something new, and not only a question that is told again to whoever attaches.
        this.#sequence = sequence;
        this.#troubleSince = undefined;
      }
      switch (said.case) {
        case "started":
          this.#attached = said.value;
          break;
        case "warning":
          this.#told.push({ code: said.value.code, message: said.value.message });
          break;
        case "decisionNeeded":
          if (this.#isPast(sequence, said.value.decisionId)) this.#told = [];
          else await this.#decide(stream, said.value);
          break;
        case "toolsNeeded":
          if (!this.#isPast(sequence, said.value.batchId)) await this.#runTools(stream, said.value);
          break;
        case "generationNeeded":
          if (!this.#isPast(sequence, said.value.generationId)) await this.#generate(stream, said.value);
          break;
        case "rejected":
          await this.#rejected(stream, said.value);
          break;
        case "attempt":
          if (this.#toldDelta && isAnew(said.value)) await this.#hear(stream, ANEW);
          this.#toldDelta = false;
          break;
        case "delta":
          this.#toldDelta = true;
          await this.#hear(stream, deltaOf(said.value));
          break;
        case "detached": {
          const left = detached(said.value);
          if (!(left instanceof AntiphonError) && this.#pauseAsked === undefined) return left;
          if (this.#failure !== undefined) throw this.#failure.value;
          throw left instanceof AntiphonError ? left : this.#paused(said.value);
        }
        case "ended":
          return this.#end(stream, said.value);
        default:
          // Started, accepted, a heartbeat, or what a newer server says: nothing to do.
          break;
      }
    }
    return undefined;
  }

  /** Whether a question is told again that was answered before this stream was attached. */
  #isPast(sequence: bigint, asked: string): boolean {
    return sequence <= this.#attached.lastSequence && asked !== this.#attached.pendingId;
  }

  async #decide(stream: Stream, needed: DecisionNeeded): Promise<void> {
    if (this.#cancelled) return;
    const { decisionId } = needed;
    let answer = this.memory.answers.get(decisionId);
    if (answer === undefined && this.#failure !== undefined) answer = cancelFrame(HOOK_FAILED);
    if (answer === undefined) {
      try {
        const decision = new Decision(needed, this.id, this.#presented(needed));
        const action = await this.#unlessGivenUp(this.callbacks.nextAction(decision));
        if (action === undefined) return;
        if (action.value instanceof Suspend) {
          answer = suspendFrame();
        } else {
          const made = rawAction(decisionId, action.value, (request) => this.offered(request));
          answer = frame({ case: "nextAction", value: made });
        }
      } catch (thrown) {
        if (this.#cancelled) return;
        this.#failure = { value: thrown };
        answer = frame({ case: "nextAction", value: rawThrown(decisionId, thrown) });
      }
      if (answer.frame.case === "nextAction") this.memory.answers.set(decisionId, answer);
    }
    if (!this.#cancelled) stream.send(answer);
  }

  /** What a callback promises; undefined when the caller gives up meanwhile. */
  async #unlessGivenUp<Value>(promised: Value | Promise<Value>): Promise<{ readonly value: Value } | undefined> {
    const value = Promise.resolve(promised).then((given) => ({ value: given }));
    const made = await Promise.race([value, this.#gaveUp]);
    return this.#cancelled ? undefined : (made ?? undefined);
  }

  /** The result with what is known of it beside its record. */
  #presented(needed: DecisionNeeded): Exchange {
    const told = this.#told;
    this.#told = [];
    const { exchange } = needed;
    if (!this.#ephemeral || (needed.starting && this.#history === undefined)) return new Exchange(exchange, { told });
    const before = this.#history === undefined ? undefined : [...this.#history];
    this.#remember(exchange);
    return new Exchange(exchange, { captured: false, before, standing: listed(exchange?.tools?.standing), told });
  }

  /** Keeps what was said where no record does. */
  #remember(exchange: RawExchange | undefined): void {
    if (this.#history === undefined || exchange === undefined) return;
    this.#history.push(...exchange.messages);
    if (exchange.assistant !== undefined) this.#history.push(exchange.assistant);
  }

  async #generate(stream: Stream, needed: GenerationNeeded): Promise<void> {
    if (this.#cancelled) return;
    let answer = this.memory.answers.get(needed.generationId);
    if (answer === undefined && this.#failure !== undefined) answer = cancelFrame(HOOK_FAILED);
    if (answer === undefined) {
      answer = await this.#generated(needed);
      if (answer === undefined) return;
      this.memory.answers.set(needed.generationId, answer);
    }
    if (!this.#cancelled) stream.send(answer);
  }

  async #generated(needed: GenerationNeeded): Promise<CoordinateRequest | undefined> {
    const { generationId } = needed;
    if (this.callbacks.generate === undefined) {
      return frame({ case: "generated", value: rawFailure(generationId, NO_GENERATE) });
    }
    this.#generationFailure = undefined;
    try {
      const made = await this.#unlessGivenUp(this.callbacks.generate(new Generation(needed, this.id)));
      return made === undefined ? undefined : frame({ case: "generated", value: rawGenerated(generationId, made.value) });
    } catch (thrown) {
      this.#generationFailure = { value: thrown };
      return frame({ case: "generated", value: rawFailure(generationId, thrown) });
    }
  }

  /** What a tool threw, with what is left to be answered. */
  #paused(left: CoordinationDetached): Pause {
    const pause = this.#pauseAsked ?? new Pause();
    pause.coordinationId = left.coordinationId;
    const calls = (this.#batch?.calls ?? []).flatMap(({ call }) => (call === undefined ? [] : [ToolCall.of(call)]));
    pause.calls = calls.filter((call) => left.pendingCallIds.includes(call.callId));
    return pause;
  }

  async #runTools(stream: Stream, needed: ToolsNeeded): Promise<void> {
    if (this.#batch?.batchId !== needed.batchId) this.#remember(needed.exchange);
    this.#batch = needed;
    const answer = async (call: NeededToolCall): Promise<void> => {
      const callId = call.call?.callId ?? "";
      let result = this.memory.results.get(callId);
      if (result === undefined && !this.#pausedCalls.has(callId)) {
        const called = await callTool(call, this.#functions, this.callbacks);
        if ("thrown" in called) {
          this.#failure ??= { value: called.thrown };
        } else if ("pause" in called) {
          this.#pauseAsked = called.pause;
          this.#pausedCalls.add(callId);
        } else {
          result = called.result;
        }
      }
      if (result === undefined) return;
      // At once, so that a slow sibling puts no finished call at risk.
      this.memory.results.set(callId, result);
      if (!this.#cancelled) stream.send(resultsFrame(needed, [result]));
    };
    if (!this.#cancelled && this.#failure === undefined) {
      await this.#unlessGivenUp(Promise.all(needed.calls.map(answer)));
    }
    if (this.#cancelled) return;
    if (this.#failure !== undefined) stream.send(cancelFrame(HOOK_FAILED));
    else if (this.#pauseAsked !== undefined) stream.send(suspendFrame());
  }

  async #hear(stream: Stream, delta: Delta | undefined): Promise<void> {
    if (delta === undefined || this.callbacks.onDelta === undefined || this.#failure !== undefined || this.#cancelled) return;
    try {
      await this.#unlessGivenUp(this.callbacks.onDelta(delta));
    } catch (thrown) {
      if (this.#cancelled) return;
      this.#failure = { value: thrown };
      stream.send(cancelFrame(HOOK_FAILED));
    }
  }

  /** An answer changed nothing. It is given again where waiting helps; else the caller is told, and the decision stays pending. */
  async #rejected(stream: Stream, rejected: AnswerRejected): Promise<void> {
    if (this.#cancelled) return;
    const error = rejection(rejected, this.id);
    const answer = this.memory.answers.get(rejected.id);
    // It is being cancelled, and `ended` is on its way.
    if (this.#failure !== undefined && answer === undefined) return;
    // The attempt had timed out by then. What comes of that, another one or the end, is told next.
    if (error.reason === "ANSWER_STALE" && answer?.frame.case === "generated") return;
    if (this.#failure !== undefined || !error.canRetry) {
      this.memory.answers.delete(rejected.id);
      throw this.#failure === undefined ? error : this.#failure.value;
    }
    await this.#wait(error);
    if (this.#batch !== undefined && rejected.id === this.#batch.batchId) {
      const known = this.#batch.calls.flatMap(({ call }) => this.memory.results.get(call?.callId ?? "") ?? []);
      stream.send(resultsFrame(this.#batch, known));
    } else if (answer !== undefined) {
      stream.send(answer);
    }
  }

  async #end(stream: Stream, ended: CoordinationEnded): Promise<Outcome> {
    let outcome = outcomeOf(ended, this.id);
    try {
      await receive(stream);
    } catch (failed) {
      if (!(failed instanceof Lost)) throw failed;
      // The trailers say the same, and two things more.
      const { requestId, retryAfterMs } = failed.error;
      if (outcome instanceof AntiphonError) outcome = outcome.with({ requestId, retryAfterMs });
    }
    this.memory.answers.clear();
    this.memory.results.clear();
    if (!(outcome instanceof AntiphonError)) return outcome;
    if (this.#cancelled) throw outcome.with({ cause: this.callbacks.signal?.reason });
    if (this.#failure !== undefined) throw this.#failure.value;
    const made = this.#generationFailure;
    if (made === undefined) throw outcome;
    if (!(made.value instanceof AntiphonError) && ended.outcome.case === "failed") throw made.value;
    throw outcome.with({ cause: made.value });
  }
}
