/** Which tools calls had, which calls had a tool, and where its schema changed. Knows nothing of tools that are called now. */

import { create } from "@bufbuild/protobuf";

import type { CallSettings } from "./calls.js";
import type { Exchange } from "./exchange.js";
import type { Tool as RawTool } from "./gen/antiphon/v1/tool_pb.js";
import {
  type GetCallToolsResponse,
  ListToolDriftsRequestSchema,
  ListToolOccurrencesRequestSchema,
  type ToolDrift as RawDrift,
  ToolOccurrenceKindSchema,
} from "./gen/antiphon/v1/tool_service_pb.js";
import { Graph } from "./graph.js";
import { rawScope, type Scope } from "./node.js";
import { exchangePoint } from "./request.js";
import { chosenTool, type OfferedTool, offeredTool } from "./tool.js";
import { number } from "./word.js";

/** A tool whose input schema is another one than before on the same path. */
export interface Drift {
  readonly name: string;
  /** The first exchange with the schema that was the last before. */
  readonly previousExchangeId: string;
  readonly previous: OfferedTool | undefined;
  /** The exchange that has it otherwise. */
  readonly exchangeId: string;
  readonly current: OfferedTool | undefined;
}

/** The tools of one call to a model. */
export interface CallTools {
  /** Those that it could use. */
  readonly offered: readonly OfferedTool[];
  /** Those that the next call offers when it says nothing. */
  readonly standing: readonly OfferedTool[];
  /** `auto`, `none`, `required` or a tool's name; undefined left it to the model. */
  readonly toolChoice: string | undefined;
  /** Those that the answer called, in order. */
  readonly called: readonly string[];
  /** Those of the offered ones whose schema is another one than before. */
  readonly drifts: readonly Drift[];
  readonly raw: GetCallToolsResponse;
}

/** A call to a model that had a tool. */
export interface ToolOccurrence {
  readonly exchangeId: string;
  readonly runId: string;
  /** The thread that the exchange was made on; empty without one. */
  readonly threadId: string;
  readonly offered: boolean;
  /** Tells its input schema there from others; empty where it was not offered. */
  readonly schemaHash: string;
  /** The calls of it in the answer. */
  readonly callIds: readonly string[];
}

/** Reads what is on record of tools. */
export class Audit extends Graph {
  /** The tools of the call that made an exchange: offered, standing and called. */
  async callTools(exchange: Exchange | string, settings: CallSettings = {}): Promise<CallTools> {
    const request = { exchangeId: exchangePoint(exchange).exchangeId };
    const raw = await this.call(this.services.tools.getCallTools, request, settings);
    return {
      offered: offeredTools(raw.tools?.offered?.tools),
      standing: offeredTools(raw.tools?.standing?.tools),
      toolChoice: chosenTool(raw.toolChoice),
      called: raw.calledTools,
      drifts: raw.drifts.map(driftOf),
      raw,
    };
  }

  /** The calls that had a tool, newest first: offered it, or called it, or either; with this schema, in this part of the graph. */
  async *toolOccurrences(
    name: string,
    query: { readonly kind?: "offered" | "called"; readonly schemaHash?: string; readonly scope?: Scope } = {},
    settings: CallSettings = {},
  ): AsyncGenerator<ToolOccurrence, void, undefined> {
    const request = create(ListToolOccurrencesRequestSchema, { name, schemaHash: query.schemaHash ?? "" });
    if (query.kind !== undefined) request.kind = number(ToolOccurrenceKindSchema, query.kind);
    if (query.scope !== undefined) request.scope = rawScope(query.scope);
    for await (const page of this.pages(this.services.tools.listToolOccurrences, request, settings)) {
      for (const { exchangeId, runId, threadId, offered, schemaHash, callIds } of page.occurrences) {
        yield { exchangeId, runId, threadId, offered, schemaHash, callIds };
      }
    }
  }

  /** Where on a path a tool's schema is another one than before, nearest to the root first; of one tool, or of all. */
  async *toolDrifts(scope: Scope, name = "", settings: CallSettings = {}): AsyncGenerator<Drift, void, undefined> {
    const request = create(ListToolDriftsRequestSchema, { scope: rawScope(scope), name });
    for await (const page of this.pages(this.services.tools.listToolDrifts, request, settings)) yield* page.drifts.map(driftOf);
  }
}

function offeredTools(raw: readonly RawTool[] = []): OfferedTool[] {
  return raw.map(offeredTool);
}

function driftOf(raw: RawDrift): Drift {
  const { name, previousExchangeId, exchangeId } = raw;
  const read = (tool: RawTool | undefined): OfferedTool | undefined => (tool === undefined ? undefined : offeredTool(tool));
  return { name, previousExchangeId, previous: read(raw.previous), exchangeId, current: read(raw.current) };
}
