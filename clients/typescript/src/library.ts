/** What is on record: exchanges, threads, runs, coordinations, read and named. Knows nothing of how turns are made. */

import { create } from "@bufbuild/protobuf";

import { type CallSettings, there } from "./calls.js";
import { Catalog } from "./catalog.js";
import { fromConnect } from "./error.js";
import { Exchange } from "./exchange.js";
import { type CoordinationState, CoordinationStateSchema } from "./gen/antiphon/v1/coordination_pb.js";
import { CoordinationServiceListRequestSchema } from "./gen/antiphon/v1/coordination_service_pb.js";
import { HistoryScope, InspectRequestSchema } from "./gen/antiphon/v1/exchange_service_pb.js";
import { type RunState, RunStateSchema } from "./gen/antiphon/v1/run_pb.js";
import { RunServiceListRequestSchema, WatchRequestSchema } from "./gen/antiphon/v1/run_service_pb.js";
import { ExpectedHeadSchema } from "./gen/antiphon/v1/thread_pb.js";
import {
  ListMovesRequestSchema,
  ListTurnsRequestSchema,
  RestoreRequestSchema,
  ThreadServiceCreateRequestSchema,
  ThreadServiceListRequestSchema,
  ThreadServiceUpdateRequestSchema,
} from "./gen/antiphon/v1/thread_service_pb.js";
import { Message } from "./message.js";
import { exchangePoint, type Labels, NewThread, type NewThreadOptions } from "./request.js";
import { fresh, sleep, Tries } from "./retry.js";
import { Coordination, eventOf, type Inspection, type Move, moveOf, Run, type RunEvent, Thread, type Turn, turnOf } from "./thread.js";
import { number } from "./word.js";

/** Reads; nothing here calls a model. What lists takes its settings for each page. */
export class Library extends Catalog {
  /** One exchange with everything known of it, and the whole history up to its answer unless that is not wanted. */
  async inspect(exchange: Exchange | string, settings: CallSettings & { readonly history?: boolean } = {}): Promise<Inspection> {
    const history = (settings.history ?? true) ? HistoryScope.FULL : HistoryScope.NONE;
    const request = create(InspectRequestSchema, { exchangeId: exchangePoint(exchange).exchangeId, history });
    let found: Exchange | undefined;
    const messages: Message[] = [];
    const path: string[] = [];
    for await (const page of this.pages(this.services.exchanges.inspect, request, settings)) {
      found ??= new Exchange(page.exchange);
      messages.push(...page.messages.map((message) => new Message(message)));
      for (const { exchangeId } of page.path) if (path.at(-1) !== exchangeId) path.push(exchangeId);
    }
    return { exchange: found ?? new Exchange(undefined), messages, path };
  }

  /** Reads a thread. */
  async thread(threadId: string, settings: CallSettings = {}): Promise<Thread> {
    return new Thread(there((await this.call(this.services.threads.get, { threadId }, settings)).thread));
  }

  /** All threads by id, or those that have all these labels. */
  async *threads(labels: Labels = {}, settings: CallSettings = {}): AsyncGenerator<Thread, void, undefined> {
    const request = create(ThreadServiceListRequestSchema, { labels: { ...labels } });
    for await (const page of this.pages(this.services.threads.list, request, settings)) {
      for (const thread of page.threads) yield new Thread(thread);
    }
  }

  /** Makes a thread, empty or with its head at an exchange. */
  async createThread(
    thread: NewThread = new NewThread(),
    settings: CallSettings & { readonly head?: Exchange | string; readonly requestId?: string } = {},
  ): Promise<Thread> {
    const requestId = settings.requestId || fresh();
    const request = create(ThreadServiceCreateRequestSchema, { thread: thread.toRaw(), requestId });
    if (settings.head !== undefined) request.head = exchangePoint(settings.head);
    return new Thread(there((await this.call(this.services.threads.create, request, settings)).thread));
  }

  /** Changes what is given, and leaves the rest and the head. With a thread that was read, one that changed meanwhile is refused. */
  async updateThread(thread: Thread | string, values: Omit<NewThreadOptions, "tools">, settings: CallSettings = {}): Promise<Thread> {
    const known: [string, unknown][] = [
      ["name", values.name],
      ["labels", values.labels],
      ["metadata_json", values.metadata],
      ["defaults.profile_id", values.profileId],
      ["defaults.model", values.model],
    ];
    const request = create(ThreadServiceUpdateRequestSchema, {
      ...named(thread),
      thread: new NewThread("", values).toRaw(),
      updateMask: { paths: known.filter(([, value]) => value !== undefined).map(([path]) => path) },
      requestId: fresh(),
    });
    return new Thread(there((await this.call(this.services.threads.update, request, settings)).thread));
  }

  /** Removes the bookmark; exchanges stay, and so do threads forked from it. One that was read and changed meanwhile is refused. */
  async deleteThread(thread: Thread | string, settings: CallSettings = {}): Promise<void> {
    await this.call(this.services.threads.delete, { ...named(thread), requestId: fresh() }, settings);
  }

  /** The turns on a thread's path, first to last. */
  async *turns(threadId: string, settings: CallSettings = {}): AsyncGenerator<Turn, void, undefined> {
    for await (const page of this.pages(this.services.threads.listTurns, create(ListTurnsRequestSchema, { threadId }), settings)) {
      yield* page.turns.map(turnOf);
    }
  }

  /** Moves a thread's head to an exchange on its path, or one that its head once was, and its documents to those that were there then. Nothing is lost:
   * the way back is a restore, too. With `expectedHead`, a thread that others moved is refused. */
  async restore(
    threadId: string,
    to: Exchange | string,
    settings: CallSettings & { readonly expectedHead?: Exchange | string | undefined; readonly requestId?: string | undefined } = {},
  ): Promise<Thread> {
    const { expectedHead = "", requestId } = settings;
    const request = create(RestoreRequestSchema, { threadId, to: exchangePoint(to), requestId: requestId || fresh() });
    if (expectedHead) {
      request.expectedHead = create(ExpectedHeadSchema, { head: { case: "exchange", value: exchangePoint(expectedHead) } });
    }
    return new Thread(there((await this.call(this.services.threads.restore, request, settings)).thread));
  }

  /** Where a thread's head was, the newest move first. */
  async *moves(threadId: string, settings: CallSettings = {}): AsyncGenerator<Move, void, undefined> {
    for await (const page of this.pages(this.services.threads.listMoves, create(ListMovesRequestSchema, { threadId }), settings)) {
      yield* page.moves.map(moveOf);
    }
  }

  /** Reads a run, with what it consumed. */
  async run(runId: string, settings: CallSettings = {}): Promise<Run> {
    return new Run(there((await this.call(this.services.runs.get, { runId }, settings)).run));
  }

  /** Runs by id: in one of these states, of this thread, with all these labels. */
  async *runs(
    which: { readonly states?: readonly string[]; readonly threadId?: string; readonly labels?: Labels } = {},
    settings: CallSettings = {},
  ): AsyncGenerator<Run, void, undefined> {
    const { threadId = "", labels = {} } = which;
    const states = (which.states ?? []).map((state): RunState => number(RunStateSchema, state));
    const request = create(RunServiceListRequestSchema, { states, threadId, labels: { ...labels } });
    for await (const page of this.pages(this.services.runs.list, request, settings)) {
      for (const run of page.runs) yield new Run(run);
    }
  }

  /** Ends a run that is at work or waits for results. Ending one that has ended changes nothing. */
  async cancelRun(runId: string, settings: CallSettings = {}): Promise<Run> {
    return new Run(there((await this.call(this.services.runs.cancel, { runId }, settings)).run));
  }

  /** Follows a run until it is over, over connections that break: its states, each once, and what is told of its answer on the way. It only looks:
   * leaving cancels nothing. After a break the text comes again, as `text_so_far`. */
  async *watch(
    runId: string,
    options: { readonly afterSequence?: bigint; readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<RunEvent, void, undefined> {
    const { afterSequence = 0n, signal } = options;
    const request = create(WatchRequestSchema, { runId, afterSequence });
    const tries = new Tries(undefined);
    for (;;) {
      let pause: number;
      try {
        for await (const raw of this.services.runs.watch(request, signal === undefined ? {} : { signal })) {
          if (raw.sequence > request.afterSequence) request.afterSequence = raw.sequence;
          yield eventOf(raw);
        }
        return;
      } catch (failed) {
        pause = tries.pause(fromConnect(failed, signal));
      }
      await sleep(pause, signal);
    }
  }

  /** Reads a coordination, with what it waits for. */
  async coordination(coordinationId: string, settings: CallSettings = {}): Promise<Coordination> {
    return new Coordination(there((await this.call(this.services.coordinations.get, { coordinationId }, settings)).coordination));
  }

  /** Coordinations by id: in one of these states, with or without a stream, on this thread, with all these labels. */
  async *coordinations(
    which: {
      readonly states?: readonly string[];
      readonly attached?: boolean;
      readonly threadId?: string;
      readonly labels?: Labels;
    } = {},
    settings: CallSettings = {},
  ): AsyncGenerator<Coordination, void, undefined> {
    const { threadId = "", labels = {} } = which;
    const states = (which.states ?? []).map((state): CoordinationState => number(CoordinationStateSchema, state));
    const request = create(CoordinationServiceListRequestSchema, { states, threadId, labels: { ...labels } });
    if (which.attached !== undefined) request.attached = which.attached;
    for await (const page of this.pages(this.services.coordinations.list, request, settings)) {
      for (const coordination of page.coordinations) yield new Coordination(coordination);
    }
  }
}

function named(thread: Thread | string): { threadId: string; etag: string } {
  return typeof thread === "string" ? { threadId: thread, etag: "" } : { threadId: thread.threadId, etag: thread.etag };
}
