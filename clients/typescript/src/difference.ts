/** In what two exchanges differ. Knows nothing of how that is asked for. */

import { type DocumentChange, documentChangeOf } from "./document.js";
import type { DiffResponse } from "./gen/antiphon/v1/graph_service_pb.js";
import { type ChangeKind, ChangeKindSchema } from "./gen/antiphon/v1/workspace_pb.js";
import { parse } from "./json.js";
import { Message } from "./message.js";
import { type OfferedTool, offeredTool } from "./tool.js";
import { count, word } from "./word.js";

/** One thing that differs. */
export interface Change<Item> {
  /** Of a setting or a tool its name; of a message its place after the common ancestor, counted from 0. */
  readonly name: string;
  /** `added`, `removed` or `changed`, from left to right. */
  readonly kind: string;
  /** Undefined where only the right has it. */
  readonly left: Item | undefined;
  /** Undefined where only the left has it. */
  readonly right: Item | undefined;
}

/** In what two exchanges and their histories differ. */
export interface Difference {
  /** The last exchange on both paths; empty where there is none. */
  readonly commonAncestorExchangeId: string;
  /** How many exchanges only the left path has. */
  readonly leftCount: number;
  readonly rightCount: number;
  readonly messages: readonly Change<Message>[];
  readonly settings: readonly Change<unknown>[];
  readonly tools: readonly Change<OfferedTool>[];
  /** Those of the workspaces as of the two. */
  readonly documents: readonly DocumentChange[];
  /** The pages that it was read from. */
  readonly raw: readonly DiffResponse[];
}

interface Sided<Side> {
  readonly kind: ChangeKind;
  readonly left?: Side;
  readonly right?: Side;
}

/** Reads it. */
export function differenceOf(pages: readonly DiffResponse[]): Difference {
  const [first] = pages;
  return {
    commonAncestorExchangeId: first?.commonAncestorExchangeId ?? "",
    leftCount: count(first?.leftCount ?? 0n),
    rightCount: count(first?.rightCount ?? 0n),
    messages: pages.flatMap(({ messages }) => messages.map((one) => change(`${one.index}`, one, (side) => new Message(side)))),
    settings: pages.flatMap(({ settings }) => settings.map((one) => change(one.name, one, (side) => parse(side.valueJson)))),
    tools: pages.flatMap(({ tools }) => tools.map((one) => change(one.name, one, offeredTool))),
    documents: pages.flatMap(({ documents }) => documents.map(documentChangeOf)),
    raw: pages,
  };
}

function change<Side, Item>(name: string, { kind, left, right }: Sided<Side>, read: (side: Side) => Item): Change<Item> {
  const side = (raw: Side | undefined): Item | undefined => (raw === undefined ? undefined : read(raw));
  return { name, kind: word(ChangeKindSchema, kind), left: side(left), right: side(right) };
}
