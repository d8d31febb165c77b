/** Numbers of enums as words, and of counters as numbers. Knows nothing of what they are about. */

import type { DescEnum } from "@bufbuild/protobuf";

/** A value as its word, such as `stop`. One that a newer server has and this package does not know is `unknown_` with its number. */
export function word(desc: DescEnum, number: number): string {
  const known = desc.values.find((value) => value.number === number);
  return known === undefined ? `unknown_${number}` : known.name.slice(prefix(desc).length).toLowerCase();
}

/** The value of a word. Throws a RangeError for one that is none of them, and names those that there are. */
export function number(desc: DescEnum, said: string): number {
  const known = desc.values.find((value) => value.name === prefix(desc) + said.toUpperCase());
  if (known !== undefined) return known.number;
  const unknown = /^unknown_(\d+)$/.exec(said);
  if (unknown !== null) return Number(unknown[1]);
  const there = desc.values.filter((value) => value.number !== 0).map((value) => word(desc, value.number));
  throw new RangeError(`'${said}' is none of ${there.join(", ")}`);
}

/** A counter of 64 bits as a number. Throws a RangeError where that would round it; `raw` has it whole. */
export function count(counter: bigint): number {
  const made = Number(counter);
  if (!Number.isSafeInteger(made)) throw new RangeError(`${counter} is more than a number holds; read it from \`raw\``);
  return made;
}

// Each enum has its zero as `PREFIX_UNSPECIFIED`.
function prefix(desc: DescEnum): string {
  return (desc.values.find((value) => value.number === 0)?.name ?? "").replace(/UNSPECIFIED$/, "");
}
