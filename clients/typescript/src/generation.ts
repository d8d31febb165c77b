/** Calls to a model that the client makes: what is asked for, and what came of it. Knows nothing of streams. */

import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";

import { AntiphonError, numberOf } from "./error.js";
import {
  type Generated as RawGenerated,
  type GeneratedAnswer,
  GeneratedAnswerSchema,
  GeneratedSchema,
  type GenerationNeeded,
  GenerationFailureSchema,
} from "./gen/antiphon/v1/coordination_pb.js";
import { AttemptKindSchema, StopReasonSchema } from "./gen/antiphon/v1/run_pb.js";
import { parse } from "./json.js";
import { Message } from "./message.js";
import { type Parameters, parametersOf } from "./request.js";
import { chosenTool, type OfferedTool, offeredTool, type Schema, type ToolCall } from "./tool.js";
import { rawUsage, type Usage } from "./usage.js";
import { number, word } from "./word.js";

/** A model is to be called, by a profile whose backend is of the kind `client`. */
export class Generation {
  /** Empty when the coordination is ephemeral. */
  readonly coordinationId: string;

  constructor(
    readonly raw: GenerationNeeded,
    coordinationId: string,
  ) {
    this.coordinationId = coordinationId;
  }

  /** Names the call. */
  get generationId(): string {
    return this.raw.generationId;
  }

  /** The run that it is for. */
  get runId(): string {
    return this.raw.runId;
  }

  /** Which call of the run, counted from 1. */
  get number(): number {
    return this.raw.number;
  }

  /** `first`, or `retry` after a failure. */
  get kind(): string {
    return word(AttemptKindSchema, this.raw.kind);
  }

  /** What to send, the whole history. */
  get messages(): Message[] {
    return this.raw.messages.map((message) => new Message(message));
  }

  /** The model's name. */
  get model(): string {
    return this.raw.model;
  }

  /** The backend of the profile. */
  get backendId(): string {
    return this.raw.backendId;
  }

  /** What to offer. */
  get tools(): OfferedTool[] {
    return (this.raw.tools?.tools ?? []).map(offeredTool);
  }

  /** The parameters that are set; `extraJson` in text. */
  get parameters(): Parameters {
    return parametersOf(this.raw.parameters);
  }

  /** `auto`, `none`, `required` or a tool's name; undefined leaves it to the model. */
  get toolChoice(): string | undefined {
    return chosenTool(this.raw.toolChoice);
  }

  /** The JSON Schema that the answer must follow, where there is one; it is checked by the server in any case. */
  get schema(): Schema | undefined {
    const form = this.raw.contract?.form;
    return form?.case === "jsonSchema" ? (parse(form.value.schemaJson) as Schema) : undefined;
  }
}

/** What a model said, whole. A plain string does for a text. */
export interface Generated {
  readonly text?: string;
  /** Each with the provider's id as its `callId`. */
  readonly toolCalls?: readonly ToolCall[];
  /** `stop`, or `tool_calls` where there are some, when absent. */
  readonly stopReason?: string;
  readonly stopReasonRaw?: string;
  readonly usage?: Usage;
  readonly provider?: string;
  readonly api?: string;
  readonly responseModel?: string;
  readonly responseId?: string;
  /** The answer with parts that a text and calls cannot say, in place of both. */
  readonly message?: Message;
}

/** An answer, as it goes out. */
export function rawGenerated(generationId: string, answer: Generated | string): RawGenerated {
  if (typeof answer !== "string" && (typeof answer !== "object" || answer === null)) {
    throw new TypeError(`generate returned ${String(answer)} in place of an answer or a string`);
  }
  const value = rawAnswer(typeof answer === "string" ? { text: answer } : answer);
  return create(GeneratedSchema, { generationId, outcome: { case: "answer", value } });
}

/** A call that failed, as it goes out. An `AntiphonError` says its own code, UNAVAILABLE for instance where another try may help; of everything else
 * only the class is told, since its text may have what must not be on record. */
export function rawFailure(generationId: string, failure: unknown): RawGenerated {
  const value = create(GenerationFailureSchema, { code: numberOf("UNKNOWN") });
  if (failure instanceof AntiphonError && failure.code !== "OK") {
    value.code = numberOf(failure.code);
    value.message = failure.message.slice(0, 1024);
    value.providerCode = failure.reason;
    if (failure.retryAfterMs !== undefined) value.retryAfter = durationFromMs(Math.round(failure.retryAfterMs));
  } else {
    value.message = failure instanceof Error ? failure.constructor.name : typeof failure;
  }
  return create(GeneratedSchema, { generationId, outcome: { case: "failure", value } });
}

function rawAnswer(answer: Generated): GeneratedAnswer {
  const message = answer.message ?? Message.of("assistant", answer.text ?? "", { toolCalls: answer.toolCalls ?? [] });
  const stopReason = answer.stopReason ?? (message.toolCalls.length > 0 ? "tool_calls" : "stop");
  const { stopReasonRaw = "", provider = "", api = "", responseModel = "", responseId = "" } = answer;
  const raw = create(GeneratedAnswerSchema, { assistant: message.raw, stopReasonRaw, provider, api, responseModel, responseId });
  raw.stopReason = number(StopReasonSchema, stopReason);
  if (answer.usage !== undefined) raw.usage = rawUsage(answer.usage);
  return raw;
}
