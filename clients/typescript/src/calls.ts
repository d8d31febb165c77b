/** The connection, and calls that are repeated where that is safe and helps. Knows nothing of what is asked. */

import { type CallOptions, type Client as Stub, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";

import type { Memory } from "./callbacks.js";
import { aborted, AntiphonError, fromConnect } from "./error.js";
import { CatalogService } from "./gen/antiphon/v1/catalog_service_pb.js";
import { CoordinationService } from "./gen/antiphon/v1/coordination_service_pb.js";
import { ExchangeService } from "./gen/antiphon/v1/exchange_service_pb.js";
import { GraphService } from "./gen/antiphon/v1/graph_service_pb.js";
import { RunService } from "./gen/antiphon/v1/run_service_pb.js";
import { ThreadService } from "./gen/antiphon/v1/thread_service_pb.js";
import { ToolService } from "./gen/antiphon/v1/tool_service_pb.js";
import { WorkspaceService } from "./gen/antiphon/v1/workspace_service_pb.js";
import { type Repeatable, sleep, Tries } from "./retry.js";
import { sessionOptions, type TLS } from "./tls.js";

const PING_TIMEOUT_MS = 20_000;
// A connection is kept for as long as its client, so that one that nobody uses costs nothing but its pings.
const IDLE_MS = 2 ** 31 - 1;

/** How a client connects. */
export interface ClientOptions {
  /** The caller's key. */
  readonly token?: string | undefined;
  /** Secures the connection; so does an address with `https://`. */
  readonly tls?: TLS | boolean;
  /** Used instead of the server's own for its provider. */
  readonly providerCredential?: string;
  /** For how long a broken coordination stream is attached again before that is an error; 60 s when absent. */
  readonly attachForMs?: number;
  /** A connection that says nothing for so long is asked whether it still is there, every minute when absent; null never asks. */
  readonly keepaliveMs?: number | null;
}

/** How one call is made. */
export interface CallSettings {
  /** For the call with all of its tries. */
  readonly timeoutMs?: number | undefined;
  /** Ends the call, and its run at the server, down to the provider. */
  readonly signal?: AbortSignal | undefined;
}

/** What clients share that are made of one another. */
interface Shared {
  readonly manager: Http2SessionManager;
  readonly memories: Map<string, Memory>;
}

type Method<Asked, Answer> = (request: Asked, options?: CallOptions) => Promise<Answer>;

/** A connection to one server. */
export class Calls {
  /** The transport, for the services in `antiphon/gen`. */
  readonly raw: Transport;
  /** @internal */
  protected readonly services: {
    readonly exchanges: Stub<typeof ExchangeService>;
    readonly coordinations: Stub<typeof CoordinationService>;
    readonly threads: Stub<typeof ThreadService>;
    readonly runs: Stub<typeof RunService>;
    readonly graph: Stub<typeof GraphService>;
    readonly tools: Stub<typeof ToolService>;
    readonly catalog: Stub<typeof CatalogService>;
    readonly workspaces: Stub<typeof WorkspaceService>;
  };
  /** @internal */
  protected readonly attachForMs: number;
  /** @internal */
  protected readonly memories: Map<string, Memory>;
  /** What another client is made of that shares the connection. @internal */
  protected readonly origin: { readonly address: string; readonly options: ClientOptions; readonly shared: Shared };

  /** `address` is host and port, or `http://` or `https://` before it. Connects when it is used. */
  constructor(address: string, options?: ClientOptions);
  /** @internal */
  constructor(address: string, options: ClientOptions, shared: Shared);
  constructor(address: string, options: ClientOptions = {}, shared?: Shared) {
    const tls = options.tls ?? address.startsWith("https://");
    const target = address.replace(/^https?:\/\//, "").replace(/\/+$/, "");
    const baseUrl = `${tls ? "https" : "http"}://${target}`;
    const keepaliveMs = options.keepaliveMs === undefined ? 60_000 : options.keepaliveMs;
    const pings =
      // A callback may take days, and a connection that died meanwhile says nothing.
      keepaliveMs === null ? {} : { pingIntervalMs: keepaliveMs, pingTimeoutMs: PING_TIMEOUT_MS, pingIdleConnection: true };
    const files = typeof tls === "object" ? sessionOptions(tls) : undefined;
    const manager = shared?.manager ?? new Http2SessionManager(baseUrl, { ...pings, idleConnectionTimeoutMs: IDLE_MS }, files);
    this.memories = shared?.memories ?? new Map<string, Memory>();
    this.origin = { address, options, shared: { manager, memories: this.memories } };
    const headers: [string, string][] = [];
    if (options.token !== undefined) headers.push(["authorization", `Bearer ${options.token}`]);
    if (options.providerCredential !== undefined) headers.push(["antiphon-provider-credential", options.providerCredential]);
    const named: Interceptor = (next) => (request) => {
      for (const [name, value] of headers) request.header.set(name, value);
      return next(request);
    };
    this.raw = createGrpcTransport({ baseUrl, sessionManager: manager, interceptors: [named] });
    this.attachForMs = options.attachForMs ?? 60_000;
    this.services = {
      exchanges: createClient(ExchangeService, this.raw),
      coordinations: createClient(CoordinationService, this.raw),
      threads: createClient(ThreadService, this.raw),
      runs: createClient(RunService, this.raw),
      graph: createClient(GraphService, this.raw),
      tools: createClient(ToolService, this.raw),
      catalog: createClient(CatalogService, this.raw),
      workspaces: createClient(WorkspaceService, this.raw),
    };
  }

  /** Closes the connection. What is at work on it fails. */
  close(): void {
    this.origin.shared.manager.abort();
  }

  /** Closes the connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  /** Makes a call that is safe to repeat, since it changes nothing or what it does has a name, and repeats it where that helps.
   *
   * `run` is the part of the request that names a run. A run that failed, or that the server cancelled because the connection broke, is on record
   * under its id and would give the same error again, so it is tried again under that id. @internal */
  protected async call<Asked, Answer>(
    method: Method<Asked, Answer>,
    raw: Asked,
    settings: CallSettings = {},
    run?: Repeatable,
  ): Promise<Answer> {
    const { timeoutMs, signal } = settings;
    const tries = new Tries(timeoutMs, run);
    for (;;) {
      if (signal?.aborted) throw aborted(signal, "the call");
      let pause: number;
      try {
        return await method(raw, { ...tries.left(), ...(signal === undefined ? {} : { signal }) });
      } catch (failed) {
        pause = tries.pause(fromConnect(failed, signal));
      }
      await sleep(pause, signal);
    }
  }

  /** Every page of a list, each with these settings. @internal */
  protected async *pages<Asked extends { pageToken: string }, Page extends { nextPageToken: string }>(
    method: Method<Asked, Page>,
    raw: Asked,
    settings: CallSettings = {},
  ): AsyncGenerator<Page> {
    for (;;) {
      const page = await this.call(method, raw, settings);
      yield page;
      if (!page.nextPageToken) return;
      raw.pageToken = page.nextPageToken;
    }
  }
}

/** What an answer always has. */
export function there<Part extends object>(part: Part | undefined): Part {
  if (part === undefined) throw new AntiphonError("INTERNAL", "the answer of the server lacks what was asked for");
  return part;
}
