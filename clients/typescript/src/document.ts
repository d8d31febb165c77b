/** Documents of threads as they are read and written: points, versions, contents, changes. Knows nothing of how they are asked for. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";

import type { Exchange } from "./exchange.js";
import {
  ChangeKindSchema,
  type Document as RawDocument,
  type DocumentDiff,
  type DocumentEditSchema,
  type WorkspacePoint as RawWorkspacePoint,
  WorkspacePointSchema,
  type WorkspaceVersion as RawWorkspaceVersion,
} from "./gen/antiphon/v1/workspace_pb.js";
import { parse, stringify } from "./json.js";
import { exchangePoint, ThreadTurn } from "./request.js";
import { count, word } from "./word.js";

/** A document of up to this many bytes goes whole, in one message; the server's limit. */
export const WHOLE_BYTES = 1 << 20;
/** A piece of a larger one has at most this many bytes; the server's limit. */
export const PIECE_BYTES = 256 * 1024;

/** A document, without its content. */
export class Document {
  constructor(readonly raw: RawDocument) {}

  /** Its name, of which a workspace has one. */
  get name(): string {
    return this.raw.name;
  }

  /** Its media type. */
  get mediaType(): string {
    return this.raw.mediaType;
  }

  /** The length of its content. */
  get sizeBytes(): number {
    return count(this.raw.sizeBytes);
  }

  /** BLAKE3 of its content, in hexadecimal. */
  get contentBlake3(): string {
    return this.raw.contentBlake3;
  }

  /** The caller's own data; undefined when there is none. */
  get metadata(): unknown {
    return this.raw.metadataJson ? parse(this.raw.metadataJson) : undefined;
  }

  /** When this version of it was written. */
  get updateTime(): Date {
    return dateOf(this.raw.updateTime);
  }
}

/** One version of a workspace: a set of documents that never changes, named by its content. */
export interface WorkspaceVersion {
  /** Its name, by which it is read again; empty without documents. */
  readonly root: string;
  readonly documentCount: number;
  /** The sum of the lengths of its documents. */
  readonly sizeBytes: number;
  /** What a write must have seen; empty unless it is what is live on a thread. */
  readonly etag: string;
}

/** Where documents are read: as of an exchange, or its id; before one, what its run started from; on a thread, after a turn or a run, or what is
 * live; or a version, by its name. */
export type WorkspacePoint = Exchange | string | { readonly before: Exchange | string } | ThreadTurn | { readonly root: string };

/** A document with its content. */
export class DocumentContent {
  constructor(
    readonly document: Document,
    readonly data: Uint8Array,
    /** The version that it is of. */
    readonly version: WorkspaceVersion,
  ) {}

  /** The content read as UTF-8. Throws a TypeError where it is none. */
  get text(): string {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(this.data);
  }
}

/** A document in which two versions differ. */
export interface DocumentChange {
  readonly name: string;
  /** `added`, `removed` or `changed`, from left to right. */
  readonly kind: string;
  /** Undefined where only the right has it. */
  readonly left: Document | undefined;
  /** Undefined where only the left has it. */
  readonly right: Document | undefined;
  /** What changed, where it was asked for and both sides are texts of up to 1 MiB; else empty. */
  readonly unifiedDiff: string;
}

/** What came of a write. */
export interface Written {
  /** What is live now, or was right after an earlier call of the same id. */
  readonly version: WorkspaceVersion;
  /** Those that were written and are there now, in the order of the changes. */
  readonly documents: readonly Document[];
  /** This is the stored result of an earlier call. */
  readonly replayed: boolean;
}

/** What a document has beside its content. */
export interface DocumentFacts {
  /** `application/octet-stream` when absent. */
  readonly mediaType?: string | undefined;
  /** Data of your own, a JSON object. */
  readonly metadata?: unknown;
}

/** One change to a workspace: a document of up to 1 MiB is written, new or over the one that is there; one that is there is removed; or one is taken
 * from another point, where it is called `sourceName`, the same when absent, without sending its content. */
export type DocumentEdit =
  | ({ readonly put: string; readonly data: string | Uint8Array } & DocumentFacts)
  | { readonly remove: string }
  | { readonly copy: string; readonly source: WorkspacePoint; readonly sourceName?: string | undefined };

/** Reads one. */
export function versionOf(raw: RawWorkspaceVersion | undefined): WorkspaceVersion {
  return {
    root: raw?.workspaceRoot ?? "",
    documentCount: count(raw?.documentCount ?? 0n),
    sizeBytes: count(raw?.sizeBytes ?? 0n),
    etag: raw?.etag ?? "",
  };
}

/** Reads one. */
export function documentChangeOf({ name, kind, left, right, unifiedDiff }: DocumentDiff): DocumentChange {
  const side = (raw: RawDocument | undefined): Document | undefined => (raw === undefined ? undefined : new Document(raw));
  return { name, kind: word(ChangeKindSchema, kind), left: side(left), right: side(right), unifiedDiff };
}

/** A time, to the millisecond. */
export function dateOf(raw: Timestamp | undefined): Date {
  return raw === undefined ? new Date(0) : timestampDate(raw);
}

/** Where documents are read, as it goes out. */
export function rawPoint(point: WorkspacePoint): RawWorkspacePoint {
  if (point instanceof ThreadTurn) {
    return create(WorkspacePointSchema, { point: { case: "thread", value: point.toRaw() } });
  }
  if (typeof point === "object" && "root" in point) {
    return create(WorkspacePointSchema, { point: { case: "root", value: { workspaceRoot: point.root } } });
  }
  const before = typeof point === "object" && "before" in point;
  const { exchangeId } = exchangePoint(before ? point.before : point);
  return create(WorkspacePointSchema, { point: { case: "exchange", value: { exchangeId, before } } });
}

/** A change, as it goes out. */
export function rawEdit(edit: DocumentEdit): MessageInitShape<typeof DocumentEditSchema> {
  if ("put" in edit) {
    const { put: name, data, mediaType = "" } = edit;
    return { edit: { case: "put", value: { name, data: encoded(data), mediaType, metadataJson: metadataJson(edit) } } };
  }
  if ("copy" in edit) {
    const { copy: name, source, sourceName = "" } = edit;
    return { edit: { case: "copy", value: { name, source: rawPoint(source), sourceName } } };
  }
  return { edit: { case: "remove", value: { name: edit.remove } } };
}

/** Content, as it goes out; text as UTF-8. */
export function encoded(data: string | Uint8Array): Uint8Array {
  return typeof data === "string" ? new TextEncoder().encode(data) : data;
}

/** The caller's own data, as it goes out. */
export function metadataJson({ metadata }: DocumentFacts): string {
  return metadata === undefined ? "" : stringify(metadata);
}

/** Content in pieces that one message carries each. */
export function* cut(data: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < data.length; at += PIECE_BYTES) yield data.subarray(at, at + PIECE_BYTES);
}

/** Makes of pieces of any size those that one message carries each. */
export async function* even(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let full = new Uint8Array(PIECE_BYTES);
  let length = 0;
  for await (const piece of source) {
    // Bytes by themselves are iterable, too, and would give their numbers.
    if (!(piece instanceof Uint8Array)) throw new TypeError("a source gives Uint8Arrays: put bytes of your own in a list");
    for (let at = 0; at < piece.length; ) {
      const taken = piece.subarray(at, at + PIECE_BYTES - length);
      full.set(taken, length);
      at += taken.length;
      length += taken.length;
      if (length < PIECE_BYTES) continue;
      yield full;
      // What was given may still be on its way.
      [full, length] = [new Uint8Array(PIECE_BYTES), 0];
    }
  }
  if (length > 0) yield full.subarray(0, length);
}
