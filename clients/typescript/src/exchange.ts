/** Exchanges as they are read. Knows nothing of how they came about. */

import { create } from "@bufbuild/protobuf";

import { AntiphonError } from "./error.js";
import { type Validation, ValidationStatusSchema } from "./gen/antiphon/v1/contract_pb.js";
import { type Exchange as RawExchange, ExchangeSchema } from "./gen/antiphon/v1/exchange_pb.js";
import {
  type ProbeResponse,
  RecordedFactsSchema,
  type RunResponse,
  type UncapturedPrefix,
  UncapturedPrefixSchema,
} from "./gen/antiphon/v1/exchange_service_pb.js";
import type { Message as RawMessage } from "./gen/antiphon/v1/message_pb.js";
import type { Delta as RawDelta } from "./gen/antiphon/v1/progress_pb.js";
import { StopReasonSchema } from "./gen/antiphon/v1/run_pb.js";
import { type ToolList, ToolListSchema, type ToolSet, ToolSchema } from "./gen/antiphon/v1/tool_pb.js";
import { parse } from "./json.js";
import { Message } from "./message.js";
import { type OfferedTool, offeredTool, ToolCall } from "./tool.js";
import { rawUsage, type Usage, usageOf } from "./usage.js";
import { count, word } from "./word.js";

/** Something that the caller should know and that stopped nothing. */
export interface Warning {
  /** A stable word for programs, such as `tool_schema_drift`. */
  readonly code: string;
  /** What it is about, for people. */
  readonly message: string;
}

/** What is known of an exchange beside its record. */
interface Beside {
  readonly captured?: boolean;
  /** What was said before it, where it is on no record; undefined where that is not known here. */
  readonly before?: readonly RawMessage[] | undefined;
  /** The tools that a reply offers when it says nothing, where it is on no record. */
  readonly standing?: ToolList | undefined;
  /** Warnings of earlier calls of the same turn, which are not in `raw`. */
  readonly told?: readonly Warning[];
}

/** One completed model call. What is on record never changes, and changing `raw` changes only this copy. */
export class Exchange {
  readonly raw: RawExchange;
  /** Whether it is on record. One that is not can be replied to, from what is in memory here, and nothing else. */
  readonly captured: boolean;
  /** @internal */
  readonly standing: ToolList | undefined;
  readonly #before: readonly RawMessage[] | undefined;
  readonly #told: readonly Warning[];

  /** For the client's own use. @internal */
  constructor(raw: RawExchange | undefined, beside: Beside = {}) {
    this.raw = raw ?? create(ExchangeSchema);
    this.captured = beside.captured ?? true;
    this.standing = beside.standing;
    this.#before = beside.before;
    this.#told = beside.told ?? [];
  }

  /** What a run said that was not captured; so many of its messages were said before it. @internal */
  static uncaptured(raw: RunResponse, before: number, standing: ToolList | undefined): Exchange {
    const { run } = raw;
    const made = create(ExchangeSchema, {
      runId: run?.runId ?? "",
      messages: raw.renderedMessages.slice(before),
      text: raw.text,
      stopReason: raw.stopReason,
      stopReasonRaw: raw.stopReasonRaw,
      effectiveSettings: raw.effectiveSettings,
      observations: run?.observations ?? [],
      warnings: raw.warnings,
      labels: run?.labels ?? {},
      pendingToolCalls: (raw.assistant?.parts ?? []).flatMap((part) =>
        part.kind.case === "toolCall" ? [part.kind.value] : [],
      ),
    });
    if (raw.assistant !== undefined) made.assistant = raw.assistant;
    if (raw.validation !== undefined) made.validation = raw.validation;
    if (run?.usage !== undefined) made.usage = run.usage;
    return new Exchange(made, { captured: false, before: raw.renderedMessages.slice(0, before), standing });
  }

  /** Its id; empty when it is not on record. */
  get exchangeId(): string {
    return this.captured ? this.raw.exchangeId : "";
  }

  /** The model call before it; empty at a root. */
  get parentExchangeId(): string {
    return this.raw.parentExchangeId;
  }

  /** The run that made it. */
  get runId(): string {
    return this.raw.runId;
  }

  /** The thread that it was made on; empty without one. */
  get threadId(): string {
    return this.raw.threadId;
  }

  /** The number of its turn on its path. */
  get turn(): number {
    return count(this.raw.turn);
  }

  /** What the call added to the history before the answer. */
  get messages(): Message[] {
    return this.raw.messages.map((message) => new Message(message));
  }

  /** The answer. */
  get assistant(): Message {
    return this.raw.assistant === undefined ? Message.of("assistant") : new Message(this.raw.assistant);
  }

  /** The text parts of the answer, joined. */
  get text(): string {
    return this.raw.text;
  }

  /** The answer read as JSON: the value that was found valid where it had to have a form, else its text. An integer that a number would round is a
   * bigint. */
  json(): unknown {
    return parse(this.raw.validation?.valueJson || this.raw.text);
  }

  /** Why the model stopped, such as `stop`, `max_tokens` or `tool_calls`. */
  get stopReason(): string {
    return stopReason(this.raw.stopReason);
  }

  /** Whether the answer has its form: `valid`, `invalid` or `not_applicable`. */
  get validation(): string {
    return word(ValidationStatusSchema, this.raw.validation?.status ?? 0);
  }

  /** What is wrong with the form of the answer, each with where. */
  get violations(): string[] {
    return violations(this.raw.validation);
  }

  /** The calls of the answer that nothing answers yet. */
  get toolCalls(): ToolCall[] {
    return this.raw.pendingToolCalls.map((call) => ToolCall.of(call));
  }

  /** The tools that this very call offered. */
  get tools(): OfferedTool[] {
    return (this.raw.tools?.offered?.tools ?? []).map(offeredTool);
  }

  /** The tools that the next call offers when it says nothing. */
  get standingTools(): OfferedTool[] {
    return (this.raw.tools?.standing?.tools ?? []).map(offeredTool);
  }

  /** What it consumed. */
  get usage(): Usage {
    return usageOf(this.raw.usage);
  }

  /** What the caller should know of this call and those before it in the turn, each said once. */
  get warnings(): Warning[] {
    const all = [...this.#told, ...this.raw.warnings.map(({ code, message }) => ({ code, message }))];
    return [...new Map(all.map((warning) => [JSON.stringify([warning.code, warning.message]), warning])).values()];
  }

  /** The labels of the request. */
  get labels(): Readonly<Record<string, string>> {
    return this.raw.labels;
  }

  /** A setting as it was used, such as `model`; undefined when there was none. */
  setting(name: string): unknown {
    const found = this.raw.effectiveSettings.find((setting) => setting.name === name);
    return found === undefined ? undefined : parse(found.valueJson);
  }

  /** A setting that is a text; empty when there was none. @internal */
  textSetting(name: string): string {
    const found = this.setting(name);
    return typeof found === "string" ? found : "";
  }

  /** All of an exchange that is on no record, as it goes out. @internal */
  prefix(): UncapturedPrefix & { readonly assistant: RawMessage } {
    if (this.#before === undefined) throw this.notCaptured("what was said before it is known to nobody any more");
    const facts = create(RecordedFactsSchema, {
      model: this.textSetting("model"),
      stopReason: this.raw.stopReason,
      usage: rawUsage(this.usage),
    });
    if (this.standing !== undefined) facts.tools = this.standing;
    const assistant = this.assistant.raw;
    const renderedMessages = [...this.#before, ...this.raw.messages];
    return { ...create(UncapturedPrefixSchema, { renderedMessages, runId: this.runId, facts }), assistant };
  }

  /** The error of a call that needs it on record. @internal */
  notCaptured(why: string): AntiphonError {
    const message = `run ${this.runId} was not captured, and ${why}: capture it, or use reply where a branch is not needed`;
    return new AntiphonError("FAILED_PRECONDITION", message, { reason: "NOT_CAPTURED", metadata: { run_id: this.runId } });
  }
}

/** What a probe brought. Nothing of it is on record; `record` makes it so. */
export class Probe {
  constructor(readonly raw: ProbeResponse) {}

  /** All text of the answer, joined. */
  get text(): string {
    return this.raw.text;
  }

  /** The answer read as JSON, as that of an exchange is. */
  json(): unknown {
    return parse(this.raw.validation?.valueJson || this.raw.text);
  }

  /** What the probe added, the answer included; not what was before it. */
  get messages(): Message[] {
    return this.raw.messages.map((message) => new Message(message));
  }

  /** Why the model stopped. */
  get stopReason(): string {
    return stopReason(this.raw.stopReason);
  }

  /** Whether the answer has its form. */
  get validation(): string {
    return word(ValidationStatusSchema, this.raw.validation?.status ?? 0);
  }

  /** What is wrong with the form of the answer, each with where. */
  get violations(): string[] {
    return violations(this.raw.validation);
  }

  /** What it consumed. */
  get usage(): Usage {
    return usageOf(this.raw.usage);
  }

  /** A fresh id, which is on no record. */
  get runId(): string {
    return this.raw.runId;
  }

  /** What the caller should know. */
  get warnings(): Warning[] {
    return this.raw.warnings.map(({ code, message }) => ({ code, message }));
  }
}

/** Tools of a call that was made, as a request offers them again. */
export function listed(tools: ToolSet | undefined): ToolList {
  return create(ToolListSchema, { tools: (tools?.tools ?? []).map((tool) => create(ToolSchema, { ...tool, schemaHash: "" })) });
}

/** More of an answer on its way. */
export interface Delta {
  /** `text`, `reasoning`, `tool_call` or `refusal`; or `attempt` where the answer begins anew, since what was told of it before was of a call that
   * failed or whose answer missed its form. */
  readonly kind: string;
  /** More of that; of a tool call, more of its arguments. */
  readonly text: string;
}

/** Reads one; undefined for a kind that this package does not know. */
export function deltaOf(raw: RawDelta | undefined): Delta | undefined {
  const found = raw?.delta;
  if (found?.case === undefined) return undefined;
  if (found.case === "toolCall") return { kind: "tool_call", text: found.value.argumentsJson };
  return { kind: found.case, text: found.value.text };
}

/** What is wrong, in a line each: where, as a JSON Pointer, and what. */
function violations(raw: Validation | undefined): string[] {
  return (raw?.violations ?? []).map(({ instancePath, message }) => [instancePath, message].filter(Boolean).join(": "));
}

/** The word for why a model stopped. */
export function stopReason(raw: number): string {
  return word(StopReasonSchema, raw);
}
