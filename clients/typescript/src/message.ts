/** Messages of a history. Knows nothing of where they are kept. */

import { create } from "@bufbuild/protobuf";

import { type Message as RawMessage, MessageSchema, type Part, PartSchema, RoleSchema } from "./gen/antiphon/v1/message_pb.js";
import { rawResult, resultOf, textOfParts, textPart, ToolCall, type ToolResult } from "./tool.js";
import { number, word } from "./word.js";

/** Who says something in a short message. */
export type Role = "system" | "user" | "assistant";

/** One message. `raw` has all of its parts; images, files and what a provider attached are only there. */
export class Message {
  constructor(readonly raw: RawMessage) {}

  /** Makes one of a role (`system`, `user`, `assistant` or `tool`) with a text, then calls or results. */
  static of(
    role: string,
    text = "",
    also: { readonly toolCalls?: readonly ToolCall[]; readonly toolResults?: readonly ToolResult[] } = {},
  ): Message {
    const calls = (also.toolCalls ?? []).map((call): Part => {
      return create(PartSchema, { kind: { case: "toolCall", value: call.toRaw() } });
    });
    const results = (also.toolResults ?? []).map((result): Part => {
      return create(PartSchema, { kind: { case: "toolResult", value: rawResult(result) } });
    });
    const says = text !== "" || !(calls.length > 0 || results.length > 0 || role === "assistant");
    const parts = [...(says ? [textPart(text)] : []), ...calls, ...results];
    return new Message(create(MessageSchema, { role: number(RoleSchema, role), parts }));
  }

  /** `system`, `user`, `assistant` or `tool`. */
  get role(): string {
    return word(RoleSchema, this.raw.role);
  }

  /** Its text parts, joined. */
  get text(): string {
    return textOfParts(this.raw.parts);
  }

  /** The calls in it. */
  get toolCalls(): ToolCall[] {
    return this.raw.parts.flatMap((part) => (part.kind.case === "toolCall" ? [ToolCall.of(part.kind.value)] : []));
  }

  /** The results in it. */
  get toolResults(): ToolResult[] {
    return this.raw.parts.flatMap((part) => (part.kind.case === "toolResult" ? [resultOf(part.kind.value)] : []));
  }
}

/** A message, or in short its role and text. */
export type Said = Message | readonly [Role, string];

/** As they go out. */
export function rawMessages(messages: readonly Said[]): RawMessage[] {
  return messages.map((said) => (said instanceof Message ? said : Message.of(said[0], said[1])).raw);
}
