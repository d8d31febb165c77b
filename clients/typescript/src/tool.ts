/** Tools as plain functions, and results from what they return. Knows nothing of when they are called. */

import { create } from "@bufbuild/protobuf";

import {
  type Part,
  PartSchema,
  type ToolCall as RawCall,
  ToolCallSchema,
  type ToolResult as RawResult,
  ToolResultSchema,
} from "./gen/antiphon/v1/message_pb.js";
import { type Tool as RawTool, ToolListSchema, type ToolChoice, type ToolList, ToolSchema } from "./gen/antiphon/v1/tool_pb.js";
import { parse, stringify } from "./json.js";

/** A JSON Schema. */
export type Schema = { readonly [key: string]: unknown };

/** A model asks for a tool. */
export class ToolCall {
  readonly raw: RawCall;

  /** `argumentsJson` are the arguments as the model wrote them, which need not be JSON; see `arguments`. */
  constructor(
    readonly callId: string,
    readonly name: string,
    readonly argumentsJson: string = "{}",
    raw?: RawCall,
  ) {
    this.raw = raw ?? create(ToolCallSchema, { callId, name, argumentsJson });
  }

  /** The arguments; an integer that a number would round is a bigint. Throws a SyntaxError when they are no JSON object. */
  get arguments(): Record<string, unknown> {
    const found = parse(this.argumentsJson);
    if (typeof found !== "object" || found === null || Array.isArray(found)) {
      throw new SyntaxError(`the arguments of ${this.name} are no JSON object`);
    }
    return found as Record<string, unknown>;
  }

  /** Wraps a call of an answer. @internal */
  static of(raw: RawCall): ToolCall {
    return new ToolCall(raw.callId, raw.name, raw.argumentsJson, raw);
  }

  /** As it goes out. @internal */
  toRaw(): RawCall {
    const { callId, name, argumentsJson } = this;
    return create(ToolCallSchema, { callId, name, argumentsJson, providerCallId: this.raw.providerCallId });
  }
}

/** How freely tools may be called: `auto`, `none`, `required` or a tool's name; undefined where it is left to the model. */
export function chosenTool(raw: ToolChoice | undefined): string | undefined {
  return raw?.choice.case === "named" ? raw.choice.value.name : raw?.choice.case;
}

/** What came of a tool call. */
export interface ToolResult {
  readonly callId: string;
  readonly text: string;
  readonly isError?: boolean;
}

/** Reads a result of a history; what is not text in it stays out. */
export function resultOf(raw: RawResult): ToolResult {
  return { callId: raw.callId, text: textOfParts(raw.parts), isError: raw.isError };
}

/** As it goes out. */
export function rawResult(result: ToolResult): RawResult {
  const { callId, text, isError = false } = result;
  return create(ToolResultSchema, { callId, parts: [textPart(text)], isError });
}

/** Thrown by a tool whose answer comes later, from a person for instance: the coordination is left for that, and `coordinate`, `attach` and `chain`
 * throw it on, once the other calls have their results. Give the answer with `answer` or by the tool itself, after `attach`. */
export class Pause extends Error {
  override readonly name = "Pause";
  /** Of what was left; to attach to, or to answer. */
  coordinationId = "";
  /** The calls that have no result yet. */
  calls: readonly ToolCall[] = [];
}

/** A tool as it was offered to a model. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly schema: Schema;
  /** Tells whether two schemas are one. */
  readonly schemaHash: string;
  readonly sideEffects: boolean;
  readonly requiresHuman: boolean;
}

/** Reads one that is on record. */
export function offeredTool(raw: RawTool): OfferedTool {
  const { name, description, schemaHash, sideEffects, requiresHuman } = raw;
  return { name, description, schema: parse(raw.inputSchemaJson) as Schema, schemaHash, sideEffects, requiresHuman };
}

/** What a model is told of a function. */
export interface ToolOptions {
  /** The name of the function when absent. */
  readonly name?: string;
  readonly description?: string;
  /** The JSON Schema of its one argument, an object. */
  readonly schema: Schema;
  /** Keeps probes from offering it unless they are told to. */
  readonly sideEffects?: boolean;
  /** Its answer may take days, so that a probe never offers it. */
  readonly requiresHuman?: boolean;
}

/** A function that a model may call, with the arguments as one object. What it returns, or promises, is the result: a string as it is, everything
 * else as JSON. */
export class Tool<Arguments = never> {
  readonly name: string;
  readonly description: string;
  readonly schema: Schema;
  readonly sideEffects: boolean;
  readonly requiresHuman: boolean;

  constructor(
    readonly run: (given: Arguments) => unknown,
    options: ToolOptions,
  ) {
    this.name = options.name ?? run.name;
    if (!this.name) throw new TypeError("a tool needs a name: give it one, or a function that has one");
    this.description = options.description ?? "";
    this.schema = options.schema;
    this.sideEffects = options.sideEffects ?? false;
    this.requiresHuman = options.requiresHuman ?? false;
  }

  /** As it is offered. Equal schemas give equal bytes, so that their hash tells a change. @internal */
  toRaw(): RawTool {
    const { name, description, sideEffects, requiresHuman } = this;
    return create(ToolSchema, { name, description, sideEffects, requiresHuman, inputSchemaJson: stringify(this.schema) });
  }
}

/** Tools that are offered, with the functions behind them. */
export type Tools = readonly Tool[];

/** As a request offers them. */
export function toolList(tools: Tools): ToolList {
  return create(ToolListSchema, { tools: tools.map((tool) => tool.toRaw()) });
}

/** A part of a message that is text. */
export function textPart(text: string): Part {
  return create(PartSchema, { kind: { case: "text", value: { text } } });
}

/** The text parts, joined. */
export function textOfParts(parts: readonly Part[]): string {
  return parts.map((part) => (part.kind.case === "text" ? part.kind.value.text : "")).join("");
}

/** What a tool returned as text; nothing is `null`, as JSON has it. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : stringify(value ?? null);
}
