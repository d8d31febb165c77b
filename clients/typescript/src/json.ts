/** JSON whose integers keep all of their digits. Knows nothing of what it says. */

import { randomUUID } from "node:crypto";

// What stands for an integer while the platform reads or writes the rest; nobody can guess it.
const MARK = `${randomUUID()}:`;
const TOKENS = /"(?:[^"\\]|\\.)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Reads JSON. An integer that a number would round is a bigint. */
export function parse(text: string): unknown {
  const marked = text.replace(TOKENS, (token) => (isRounded(token) ? `"${MARK}${token}"` : token));
  if (marked === text) return JSON.parse(text);
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === "string" && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value,
  );
}

/** Writes JSON; a bigint is an integer. Throws a TypeError for what JSON has no word for. */
export function stringify(value: unknown): string {
  let marked = false;
  const text = JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== "bigint") return part;
    marked = true;
    return `${MARK}${part}`;
  }) as string | undefined;
  if (text === undefined) throw new TypeError(`${typeof value} has no JSON`);
  return marked ? text.replaceAll(new RegExp(`"${MARK}(-?\\d+)"`, "g"), "$1") : text;
}

function isRounded(token: string): boolean {
  return /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token));
}
