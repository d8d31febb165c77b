/** The one error of this package, and how it is read from what gRPC says. Knows nothing of what was called. */

import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";

import type { Exchange } from "./exchange.js";
import type { ErrorStatus } from "./gen/antiphon/v1/error_pb.js";

const CODES = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
] as const;

/** A status code by gRPC's name. */
export type CodeName = (typeof CODES)[number];

/** What an error says beside its code and message. */
export interface ErrorFacts {
  readonly reason?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly retryAfterMs?: number | undefined;
  readonly requestId?: string;
  readonly undelivered?: Exchange | undefined;
  readonly cause?: unknown;
}

/** A call was refused or failed, or a coordination ended FAILED or CANCELLED. */
export class AntiphonError extends Error {
  override readonly name = "AntiphonError";
  readonly code: CodeName;
  /** A stable word such as `HEAD_MOVED`, from the list in `error.proto`, or the caller's own; empty when the transport failed. */
  readonly reason: string;
  /** The facts that a program needs, by the names that `error.proto` gives for the reason. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Only where waiting helps. */
  readonly retryAfterMs: number | undefined;
  /** What the server's log has, too. */
  readonly requestId: string;
  /** A completed result that was on record and never presented when a coordination ended. */
  readonly undelivered: Exchange | undefined;

  /** `message` is for people and says what to do next. */
  constructor(code: CodeName, message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = code;
    this.reason = facts.reason ?? "";
    this.metadata = facts.metadata ?? {};
    this.retryAfterMs = facts.retryAfterMs;
    this.requestId = facts.requestId ?? "";
    this.undelivered = facts.undelivered;
  }

  override toString(): string {
    return this.reason ? `${this.code} ${this.reason}: ${this.message}` : `${this.code}: ${this.message}`;
  }

  /** Whether the same call may be made again without asking: RUN_INTERRUPTED never is, since the model may have been called. */
  get canRetry(): boolean {
    if (this.reason === "RUN_INTERRUPTED") return false;
    const waitingHelps = this.code === "RESOURCE_EXHAUSTED" || this.code === "ABORTED";
    return this.code === "UNAVAILABLE" || (waitingHelps && this.retryAfterMs !== undefined);
  }

  /** The same with other facts; for the client's own use. @internal */
  with(facts: ErrorFacts): AntiphonError {
    const { reason, metadata, retryAfterMs, requestId, undelivered, cause } = this;
    return new AntiphonError(this.code, this.message, { reason, metadata, retryAfterMs, requestId, undelivered, cause, ...facts });
  }
}

/** A code by its number; UNKNOWN for one that is none. */
export function codeOf(number: number): CodeName {
  return CODES[number] ?? "UNKNOWN";
}

/** The number of a code. */
export function numberOf(code: CodeName): number {
  return CODES.indexOf(code);
}

/** That the caller gave up, by a signal. */
export function aborted(signal: AbortSignal, what: string): AntiphonError {
  return new AntiphonError("CANCELLED", `${what} was aborted by its caller`, { cause: signal.reason });
}

/** Reads what a call failed with. What is no failure of a call, such as a value that cannot be sent, is thrown as it is. */
export function fromConnect(failed: unknown, signal?: AbortSignal): AntiphonError {
  if (failed instanceof AntiphonError) return failed;
  if (signal?.aborted) return aborted(signal, "the call");
  if (!(failed instanceof ConnectError)) throw failed;
  const facts: { -readonly [Name in keyof ErrorFacts]: ErrorFacts[Name] } = {};
  for (const detail of failed.details) {
    if ("type" in detail && detail.value instanceof Uint8Array) read(detail.type, detail.value, facts);
  }
  if (facts.reason === undefined && isOfTheConnection(failed)) {
    return new AntiphonError("UNAVAILABLE", failed.rawMessage, { cause: failed });
  }
  return new AntiphonError(codeOf(failed.code), failed.rawMessage, facts);
}

/** Reads an error that is part of an answer. */
export function fromStatus(status: ErrorStatus | undefined): AntiphonError {
  if (status === undefined) return new AntiphonError("UNKNOWN", "the server gave no reason");
  return new AntiphonError(codeOf(status.code), status.message, { reason: status.reason, metadata: status.metadata });
}

// What a server says comes with headers or trailers. What the platform says of sockets and sessions has a word as its code, and a stream that went
// down with its connection looks as if somebody had cancelled it.
function isOfTheConnection(failed: ConnectError): boolean {
  for (let cause = failed.cause; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && typeof cause.code === "string") return true;
  }
  return (failed.code === Code.Canceled || failed.code === Code.Aborted) && [...failed.metadata].length === 0;
}

function read(type: string, value: Uint8Array, facts: { -readonly [Name in keyof ErrorFacts]: ErrorFacts[Name] }): void {
  const known = fields(value);
  const text = (number: number): string => Buffer.from(first(known, number)).toString("utf8");
  if (type === "google.rpc.ErrorInfo") {
    facts.reason = text(1);
    const pairs = (known.get(3) ?? []).map((entry) => {
      const pair = fields(entry as Uint8Array);
      return [1, 2].map((number) => Buffer.from(first(pair, number)).toString("utf8"));
    });
    facts.metadata = Object.fromEntries(pairs);
  } else if (type === "google.rpc.RetryInfo") {
    const delay = fields(first(known, 1));
    const [seconds, nanos] = [1, 2].map((number) => Number(delay.get(number)?.[0] ?? 0));
    facts.retryAfterMs = (seconds ?? 0) * 1000 + (nanos ?? 0) / 1e6;
  } else if (type === "google.rpc.RequestInfo") {
    facts.requestId = text(1);
  }
}

/** The fields of a message on the wire, by number: these few are too small for generated code of their own. */
function fields(message: Uint8Array): Map<number, (Uint8Array | bigint | string)[]> {
  const found = new Map<number, (Uint8Array | bigint | string)[]>();
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    if (wire === WireType.LengthDelimited) found.set(number, [...(found.get(number) ?? []), reader.bytes()]);
    else if (wire === WireType.Varint) found.set(number, [reader.int64()]);
    else reader.skip(wire, number);
  }
  return found;
}

function first(found: Map<number, (Uint8Array | bigint | string)[]>, number: number): Uint8Array {
  const value = found.get(number)?.[0];
  return value instanceof Uint8Array ? value : new Uint8Array();
}
