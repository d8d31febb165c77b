/** Documents of threads: read as of any point, compared, written, whole and in pieces. Knows nothing of turns. */

import { type CallOptions, type Client as Stub } from "@connectrpc/connect";
import { create, type MessageInitShape } from "@bufbuild/protobuf";

import { type CallSettings, there } from "./calls.js";
import {
  cut,
  Document,
  type DocumentChange,
  documentChangeOf,
  DocumentContent,
  type DocumentEdit,
  type DocumentFacts,
  encoded,
  even,
  metadataJson,
  rawEdit,
  rawPoint,
  versionOf,
  WHOLE_BYTES,
  type WorkspacePoint,
  type WorkspaceVersion,
  type Written,
} from "./document.js";
import { aborted, AntiphonError, fromConnect } from "./error.js";
import type { WorkspacePoint as RawWorkspacePoint } from "./gen/antiphon/v1/workspace_pb.js";
import {
  DiffDocumentsRequestSchema,
  type DocumentOpened,
  ListDocumentsRequestSchema,
  type StreamReadDocumentRequest,
  StreamReadDocumentRequestSchema,
  type StreamWriteDocumentRequestSchema,
  type WorkspaceService,
} from "./gen/antiphon/v1/workspace_service_pb.js";
import { Library } from "./library.js";
import { ThreadTurn } from "./request.js";
import { fresh, sleep, Tries } from "./retry.js";

/** How documents are written. */
export interface WriteSettings extends CallSettings {
  /** The etag of the version that was seen: a workspace that changed meanwhile is refused. */
  readonly etag?: string | undefined;
  /** Makes the call safe to repeat, by hand as well; ours when absent. */
  readonly requestId?: string | undefined;
}

/** Where the content of a document comes from: pieces of whatever size, such as a stream of a file. */
export type Source = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

type Frame = MessageInitShape<typeof StreamWriteDocumentRequestSchema>;
type Opened = { readonly document: Document; readonly version: WorkspaceVersion };

/** What documents need of their client. */
interface Wire {
  readonly service: Stub<typeof WorkspaceService>;
  readonly call: <Asked, Answer>(
    method: (request: Asked, options?: CallOptions) => Promise<Answer>,
    raw: Asked,
    settings: CallSettings,
  ) => Promise<Answer>;
  readonly pages: <Asked extends { pageToken: string }, Page extends { nextPageToken: string }>(
    method: (request: Asked, options?: CallOptions) => Promise<Page>,
    raw: Asked,
    settings: CallSettings,
  ) => AsyncGenerator<Page>;
}

/** A document that is read in pieces: iterate for its bytes. Where a connection breaks, it goes on from there, in the same version, whatever was
 * written meanwhile. Whoever leaves the iteration early may go on with it; `close` or `await using` lets go of what is not read to its end. */
export class DocumentStream implements AsyncIterable<Uint8Array> {
  readonly #pieces: AsyncGenerator<Uint8Array, void>;
  readonly #left: AbortController;

  /** For the client's own use. @internal */
  constructor(
    /** What is read. */
    readonly document: Document,
    /** The version that it is of. */
    readonly version: WorkspaceVersion,
    pieces: AsyncGenerator<Uint8Array, void>,
    left: AbortController,
  ) {
    this.#pieces = pieces;
    this.#left = left;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    // Without a `return`: leaving a loop leaves the stream as it is.
    return { next: () => this.#pieces.next() };
  }

  /** Reads no more. */
  close(): void {
    this.#left.abort();
  }

  /** Reads no more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}

/** The documents at one point: as of an exchange or a turn, of a version, or what is live on a thread. Each call looks anew. */
export class Documents {
  /** @internal */
  protected readonly wire: Wire;
  readonly #point: RawWorkspacePoint;

  /** For the client's own use. @internal */
  constructor(wire: Wire, point: WorkspacePoint) {
    this.wire = wire;
    this.#point = rawPoint(point);
  }

  /** The documents by name, or those whose name begins so; all of one version, whatever is written meanwhile. */
  async *list(prefix = "", settings: CallSettings = {}): AsyncGenerator<Document, void, undefined> {
    const request = create(ListDocumentsRequestSchema, { at: this.#point, namePrefix: prefix });
    for await (const page of this.wire.pages(this.wire.service.listDocuments, request, settings)) {
      for (const document of page.documents) yield new Document(document);
    }
  }

  /** The version that is there: its name, how much is in it, and the etag for a write. */
  async version(settings: CallSettings = {}): Promise<WorkspaceVersion> {
    const request = { at: this.#point, pageSize: 1 };
    return versionOf((await this.wire.call(this.wire.service.listDocuments, request, settings)).version);
  }

  /** A document whole, of whatever size. One of more than 1 MiB takes a second call, which reads it in pieces. */
  async read(name: string, settings: CallSettings = {}): Promise<DocumentContent> {
    try {
      const found = await this.wire.call(this.wire.service.readDocument, { at: this.#point, name }, settings);
      return new DocumentContent(new Document(there(found.document)), found.data, versionOf(found.version));
    } catch (error) {
      if (!(error instanceof AntiphonError) || error.reason !== "LIMIT_EXCEEDED") throw error;
    }
    const stream = await this.readStream(name, settings);
    const pieces: Uint8Array[] = [];
    for await (const piece of stream) pieces.push(piece);
    return new DocumentContent(stream.document, Buffer.concat(pieces), stream.version);
  }

  /** A document in pieces, with so many bytes left out at its beginning. The settings are for all of it. */
  async readStream(name: string, settings: CallSettings & { readonly offset?: number } = {}): Promise<DocumentStream> {
    const offset = BigInt(settings.offset ?? 0);
    const request = create(StreamReadDocumentRequestSchema, { at: this.#point, name, offset });
    const left = new AbortController();
    const parts = reading(this.wire.service, request, settings, left.signal);
    const first = await parts.next();
    if (first.done === true || !("document" in first.value)) throw lacking();
    return new DocumentStream(first.value.document, first.value.version, parts as AsyncGenerator<Uint8Array, void>, left);
  }

  /** In which documents the other side differs from this one, by name; with `unified`, how their texts do. */
  async *diff(
    other: Documents | WorkspacePoint,
    settings: CallSettings & { readonly prefix?: string; readonly unified?: boolean } = {},
  ): AsyncGenerator<DocumentChange, void, undefined> {
    const request = create(DiffDocumentsRequestSchema, {
      left: this.#point,
      right: other instanceof Documents ? other.#point : rawPoint(other),
      namePrefix: settings.prefix ?? "",
      includeUnifiedDiff: settings.unified ?? false,
    });
    for await (const page of this.wire.pages(this.wire.service.diffDocuments, request, settings)) {
      yield* page.documents.map(documentChangeOf);
    }
  }
}

/** The documents of a thread: what is live, to read and to write. What a turn started from is as of it; a fork has those of its point, and from then
 * on its own. */
export class Workspace extends Documents {
  /** For the client's own use. @internal */
  constructor(
    wire: Wire,
    /** The thread's id. */
    readonly threadId: string,
  ) {
    super(wire, new ThreadTurn(threadId));
  }

  /** Those after a turn on the thread's path, counted from 1: what the next one started from. */
  afterTurn(afterTurn: number): Documents {
    return new Documents(this.wire, new ThreadTurn(this.threadId, { afterTurn }));
  }

  /** Those after a run on the thread's path. */
  afterRun(afterRun: string): Documents {
    return new Documents(this.wire, new ThreadTurn(this.threadId, { afterRun }));
  }

  /** Writes a document of whatever size, new or over the one that is there; more than 1 MiB goes in pieces. */
  async write(name: string, data: string | Uint8Array, settings: WriteSettings & DocumentFacts = {}): Promise<Written> {
    const content = encoded(data);
    const { mediaType, metadata } = settings;
    const named = { ...settings, requestId: settings.requestId || fresh() };
    if (content.length <= WHOLE_BYTES) return this.edit([{ put: name, data: content, mediaType, metadata }], named);
    const tries = new Tries(settings.timeoutMs);
    for (;;) {
      let pause: number;
      try {
        return await this.#send(name, cut(content), { ...named, ...tries.left() });
      } catch (failed) {
        pause = tries.pause(fromConnect(failed, settings.signal));
      }
      await sleep(pause, settings.signal);
    }
  }

  /** Writes a document in pieces of whatever size.
   *
   * It is there whole or not at all: what `source` throws comes out, and nothing is written. Since a source is read once, the call is not repeated by
   * itself. With the BLAKE3 of the content, in hexadecimal, another content is refused. */
  async writeStream(
    name: string,
    source: Source,
    settings: WriteSettings & DocumentFacts & { readonly contentBlake3?: string | undefined } = {},
  ): Promise<Written> {
    return this.#send(name, source, { ...settings, requestId: settings.requestId || fresh() });
  }

  /** Removes a document, which must be there. */
  async remove(name: string, settings: WriteSettings = {}): Promise<Written> {
    return this.edit([{ remove: name }], settings);
  }

  /** Takes a document from another point, where it is called `sourceName`, the same when absent, without sending its content. */
  async copy(
    name: string,
    source: WorkspacePoint,
    settings: WriteSettings & { readonly sourceName?: string | undefined } = {},
  ): Promise<Written> {
    return this.edit([{ copy: name, source, sourceName: settings.sourceName }], settings);
  }

  /** Makes changes, in order, all or none. */
  async edit(edits: readonly DocumentEdit[], settings: WriteSettings = {}): Promise<Written> {
    const { etag = "", requestId } = settings;
    const request = { threadId: this.threadId, edits: edits.map(rawEdit), etag, requestId: requestId || fresh() };
    const { version, documents, replayed } = await this.wire.call(this.wire.service.writeDocuments, request, settings);
    return { version: versionOf(version), documents: documents.map((document) => new Document(document)), replayed };
  }

  async #send(
    name: string,
    source: Source,
    settings: WriteSettings & DocumentFacts & { readonly contentBlake3?: string | undefined },
  ): Promise<Written> {
    const { mediaType = "", etag = "", requestId = "", contentBlake3 = "", timeoutMs, signal } = settings;
    const { threadId } = this;
    const opened = { threadId, name, mediaType, metadataJson: metadataJson(settings), etag, requestId };
    const thrown: { readonly error: unknown }[] = [];
    async function* frames(): AsyncGenerator<Frame> {
      yield { part: { case: "open", value: opened } };
      try {
        for await (const data of even(source)) yield { part: { case: "chunk", value: { data } } };
      } catch (error) {
        // A stream that ends without `commit` writes nothing.
        thrown.push({ error });
        return;
      }
      yield { part: { case: "commit", value: { contentBlake3 } } };
    }
    if (signal?.aborted) throw aborted(signal, "the call");
    try {
      const options: CallOptions = { ...(timeoutMs === undefined ? {} : { timeoutMs }), ...(signal === undefined ? {} : { signal }) };
      const { version, document, replayed } = await this.wire.service.streamWriteDocument(frames(), options);
      return { version: versionOf(version), documents: [new Document(there(document))], replayed };
    } catch (failed) {
      const [own] = thrown;
      throw own === undefined ? fromConnect(failed, signal) : own.error;
    }
  }
}

/** Gives the documents of threads and exchanges; nothing here asks the server. */
export class Workspaces extends Library {
  /** The documents of a thread, to read and to write. */
  workspace(threadId: string): Workspace {
    return new Workspace(this.#wire(), threadId);
  }

  /** The documents as of an exchange or a turn, or of a version, to read. */
  documents(point: WorkspacePoint): Documents {
    return new Documents(this.#wire(), point);
  }

  #wire(): Wire {
    return {
      service: this.services.workspaces,
      call: (method, raw, settings) => this.call(method, raw, settings),
      pages: (method, raw, settings) => this.pages(method, raw, settings),
    };
  }
}

/** What is read, once and first, then its bytes. */
async function* reading(
  service: Stub<typeof WorkspaceService>,
  raw: StreamReadDocumentRequest,
  settings: CallSettings,
  left: AbortSignal,
): AsyncGenerator<Opened | Uint8Array, void> {
  const signal = settings.signal === undefined ? left : AbortSignal.any([settings.signal, left]);
  let tries = new Tries(settings.timeoutMs);
  let opened: DocumentOpened | undefined;
  while (!left.aborted) {
    let pause: number;
    try {
      for await (const { part } of service.streamReadDocument(raw, { ...tries.left(), signal })) {
        if (part.case === "opened" && opened === undefined) {
          opened = part.value;
          const document = new Document(there(opened.document));
          const version = versionOf(opened.version);
          // A later call goes on in this version, whatever is written meanwhile.
          raw.at = rawPoint({ root: version.root });
          yield { document, version };
        } else if (part.case === "chunk") {
          raw.offset += BigInt(part.value.data.length);
          tries = new Tries(tries.left().timeoutMs);
          yield part.value.data;
        }
        if (left.aborted) return;
      }
      if (opened !== undefined && raw.offset >= (opened.document?.sizeBytes ?? 0n)) return;
      pause = tries.pause(new AntiphonError("UNAVAILABLE", "the stream closed before the document ended"));
    } catch (failed) {
      if (left.aborted) return;
      pause = tries.pause(fromConnect(failed, signal));
    }
    await sleep(pause, signal);
  }
}

function lacking(): AntiphonError {
  return new AntiphonError("INTERNAL", "the answer of the server lacks what was asked for");
}
