/** Steps of scenarios about documents of threads, and about going back, and their results. Knows nothing of turns. */

import {
  type Client,
  type Document,
  type DocumentChange,
  DocumentContent,
  type DocumentEdit,
  type Documents,
  ThreadTurn,
  type WorkspacePoint,
  type WorkspaceVersion,
  type Written,
} from "antiphon";

import { isMapping, type Mapping, type Said } from "./told.js";

/** Plays one, and gives its result in the words of the scenarios; undefined for a step of another kind. */
export async function keep(client: Client, verb: string, said: Mapping): Promise<Said> {
  switch (verb) {
    case "documents":
      return all(place(client, said["at"]).list(said["prefix"] ?? ""), documented);
    case "version":
      return versioned(await place(client, said["at"]).version());
    case "read":
      return content(await place(client, said["at"]).read(said["name"]));
    case "stream_read": {
      await using stream = await place(client, said["at"]).readStream(said["name"], { offset: said["offset"] ?? 0 });
      const pieces = await all(stream, (piece) => piece);
      return content(new DocumentContent(stream.document, Buffer.concat(pieces), stream.version));
    }
    case "write":
      return written(await client.workspace(said["thread"]).write(said["name"], said["text"], given(said)));
    case "stream_write":
      return written(await client.workspace(said["thread"]).writeStream(said["name"], pieces(said["text"]), given(said)));
    case "edit":
      return written(await client.workspace(said["thread"]).edit(said["edits"].map(edit), given(said)));
    case "diff_documents": {
      const { prefix, unified } = said;
      return all(place(client, said["left"]).diff(point(said["right"]), { prefix, unified }), changed);
    }
    case "restore":
      return client.restore(said["thread"], said["to"], { expectedHead: said["expected_head"], requestId: said["request_id"] });
    case "moves":
      return all(client.moves(said["thread"]), ({ fromExchangeId, toExchangeId, runId, fromRoot, toRoot }) => ({
        from: fromExchangeId,
        to: toExchangeId,
        run_id: runId,
        from_root: fromRoot,
        to_root: toRoot,
      }));
    default:
      return undefined;
  }
}

/** The documents there; a thread's by its own way. */
function place(client: Client, at: Said): Documents {
  if (!isMapping(at) || !("thread" in at)) return client.documents(point(at));
  const workspace = client.workspace(at["thread"]);
  if ("after_turn" in at) return workspace.afterTurn(at["after_turn"]);
  return "after_run" in at ? workspace.afterRun(at["after_run"]) : workspace;
}

function point(at: Said): WorkspacePoint {
  if (!isMapping(at) || !("thread" in at)) return at;
  return new ThreadTurn(at["thread"], { afterTurn: at["after_turn"], afterRun: at["after_run"] });
}

function edit(said: Mapping): DocumentEdit {
  if ("put" in said) return { put: said["put"], data: said["text"], ...given(said) };
  if ("copy" in said) return { copy: said["copy"], source: point(said["from"]), sourceName: said["name"] };
  return { remove: said["remove"] };
}

function given(said: Mapping): Mapping {
  const { media_type: mediaType, metadata, etag, request_id: requestId, content_blake3: contentBlake3 } = said;
  return { mediaType, metadata, etag, requestId, contentBlake3 };
}

/** Content in several pieces, of which none is what a message carries. */
async function* pieces(text: string): AsyncGenerator<Uint8Array> {
  const data = Buffer.from(text, "utf8");
  const step = Math.max(1, Math.min(data.length >> 1, 300_000));
  for (let at = 0; at < data.length; at += step) yield data.subarray(at, at + step);
}

function documented({ name, mediaType, sizeBytes, contentBlake3, metadata }: Document): Mapping {
  return { name, media_type: mediaType, size_bytes: sizeBytes, content_blake3: contentBlake3, metadata: metadata ?? null };
}

function versioned({ root, documentCount, sizeBytes, etag }: WorkspaceVersion): Mapping {
  return { root, document_count: documentCount, size_bytes: sizeBytes, etag };
}

function content({ text, document, version }: DocumentContent): Mapping {
  return { text, document: documented(document), version: versioned(version) };
}

function written({ version, documents, replayed }: Written): Mapping {
  return { version: versioned(version), documents: documents.map(documented), replayed };
}

function changed({ name, kind, left, right, unifiedDiff }: DocumentChange): Mapping {
  return { name, kind, left: left ? documented(left) : null, right: right ? documented(right) : null, unified_diff: unifiedDiff };
}

async function all<Item>(items: AsyncIterable<Item>, shown: (item: Item) => Said): Promise<Said[]> {
  const found: Said[] = [];
  for await (const item of items) found.push(shown(item));
  return found;
}
