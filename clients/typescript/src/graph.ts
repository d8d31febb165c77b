/** The graph of exchanges: walked, compared, drawn, searched, summed. Knows nothing of how turns are made. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";

import { Calls, type CallSettings } from "./calls.js";
import { type Difference, differenceOf } from "./difference.js";
import type { Exchange } from "./exchange.js";
import { GraphDetailSchema, GraphFormatSchema, type UsageScopeSchema } from "./gen/antiphon/v1/graph_pb.js";
import {
  DiffRequestSchema,
  type DiffResponse,
  GetGraphRequestSchema,
  ListAncestorsRequestSchema,
  ListChildrenRequestSchema,
  SearchRequestSchema,
  type SumUsageRequest,
  SumUsageRequestSchema,
} from "./gen/antiphon/v1/graph_service_pb.js";
import { type RunState, RunStateSchema } from "./gen/antiphon/v1/run_pb.js";
import { type Hit, hitOf, Node, type Scope, rawScope, type UsageSum, usageSumOf } from "./node.js";
import { exchangePoint, type Labels } from "./request.js";
import { number } from "./word.js";

/** What is looked for; all that is said must hold. */
export interface SearchQuery {
  /** In its own messages, upper and lower case alike. */
  readonly text?: string;
  /** The part of the graph that it lies in; all of it when absent. */
  readonly scope?: Scope;
  readonly labels?: Labels;
  readonly models?: readonly string[];
  readonly offeredTools?: readonly string[];
  readonly calledTools?: readonly string[];
  /** Those that its run may be in. */
  readonly states?: readonly string[];
  readonly rootsOnly?: boolean;
  readonly since?: Date;
  readonly before?: Date;
}

/** Whose usage is summed: of all runs that any of it names. */
export interface UsageQuery {
  readonly scopes?: readonly Scope[];
  readonly runs?: readonly string[];
  readonly labels?: Labels;
}

/** Reads; nothing here changes anything or calls a model. What lists takes its settings for each page. */
export class Graph extends Calls {
  /** The exchanges before one, the parent first and the root last. */
  async *ancestors(exchange: Exchange | string, settings: CallSettings = {}): AsyncGenerator<Node, void, undefined> {
    const request = create(ListAncestorsRequestSchema, { exchangeId: exchangePoint(exchange).exchangeId });
    for await (const page of this.pages(this.services.graph.listAncestors, request, settings)) {
      for (const node of page.exchanges) yield new Node(node);
    }
  }

  /** The exchanges that follow from one, oldest first. */
  async *children(exchange: Exchange | string, settings: CallSettings = {}): AsyncGenerator<Node, void, undefined> {
    const request = create(ListChildrenRequestSchema, { exchangeId: exchangePoint(exchange).exchangeId });
    for await (const page of this.pages(this.services.graph.listChildren, request, settings)) {
      for (const node of page.exchanges) yield new Node(node);
    }
  }

  /** The last exchange that is on the paths of all; undefined where they have none in common. */
  async commonAncestor(exchanges: readonly (Exchange | string)[], settings: CallSettings = {}): Promise<Node | undefined> {
    const request = { exchanges: exchanges.map(exchangePoint) };
    const { exchange } = await this.call(this.services.graph.getCommonAncestor, request, settings);
    return exchange === undefined ? undefined : new Node(exchange);
  }

  /** In what two exchanges with their histories differ; what is the same stays out. */
  async diff(left: Exchange | string, right: Exchange | string, settings: CallSettings = {}): Promise<Difference> {
    const points = { left: exchangePoint(left), right: exchangePoint(right) };
    const request = create(DiffRequestSchema, { ...points, omitSameMessages: true });
    const pages: DiffResponse[] = [];
    for await (const page of this.pages(this.services.graph.diff, request, settings)) pages.push(page);
    return differenceOf(pages);
  }

  /** A part of the graph, drawn: as text for a terminal, or for Graphviz or Mermaid. */
  async graph(
    scope: Scope,
    form: "text" | "dot" | "mermaid" = "text",
    settings: CallSettings & { readonly detail?: "turns" | "exchanges" | "forks"; readonly previews?: boolean } = {},
  ): Promise<string> {
    const request = create(GetGraphRequestSchema, {
      scope: rawScope(scope),
      format: number(GraphFormatSchema, form),
      detail: number(GraphDetailSchema, settings.detail ?? "turns"),
      includePreviews: settings.previews ?? false,
    });
    let drawn = "";
    for await (const page of this.pages(this.services.graph.getGraph, request, settings)) drawn += page.text;
    return drawn;
  }

  /** All that a query holds for, newest first. */
  async *search(query: SearchQuery, settings: CallSettings = {}): AsyncGenerator<Hit, void, undefined> {
    const { text = "", labels = {}, models = [], offeredTools = [], calledTools = [], states = [], rootsOnly = false } = query;
    const request = create(SearchRequestSchema, {
      text,
      labels: { ...labels },
      models: [...models],
      offeredTools: [...offeredTools],
      calledTools: [...calledTools],
      runStates: states.map((state): RunState => number(RunStateSchema, state)),
      rootsOnly,
    });
    if (query.scope !== undefined) request.scope = rawScope(query.scope);
    if (query.since !== undefined) request.fromTime = timestampFromDate(query.since);
    if (query.before !== undefined) request.beforeTime = timestampFromDate(query.before);
    for await (const page of this.pages(this.services.graph.search, request, settings)) yield* page.hits.map(hitOf);
  }

  /** What the runs of an exchange's whole path, or of whatever a query names, consumed; each is counted once however many branches share it. */
  async usage(of: Exchange | string | UsageQuery, settings: CallSettings = {}): Promise<UsageSum> {
    const query = typeof of === "string" || "exchangeId" in of ? { scopes: [of] } : of;
    return usageSumOf(await this.call(this.services.graph.sumUsage, rawUsageQuery(query), settings));
  }
}

function rawUsageQuery({ scopes = [], runs = [], labels = {} }: UsageQuery): SumUsageRequest {
  const named: MessageInitShape<typeof UsageScopeSchema>[] = scopes.map((scope) => ({ runs: { case: "graph", value: rawScope(scope) } }));
  if (runs.length > 0) named.push({ runs: { case: "runSet", value: { runIds: [...runs] } } });
  if (Object.keys(labels).length > 0) named.push({ runs: { case: "labelSet", value: { labels: { ...labels } } } });
  return create(SumUsageRequestSchema, { scopes: named });
}
