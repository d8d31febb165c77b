/** Prompts and replies, whether or not anything is kept. Knows nothing of threads. */

import { clone, create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";

import { type Delta, Exchange } from "./exchange.js";
import { CoordinationStartSchema } from "./gen/antiphon/v1/coordination_pb.js";
import { ExchangeSchema } from "./gen/antiphon/v1/exchange_pb.js";
import { RunRequestSchema } from "./gen/antiphon/v1/exchange_service_pb.js";
import { type ExecutionRequest, ExecutionRequestSchema } from "./gen/antiphon/v1/execution_pb.js";
import { Role } from "./gen/antiphon/v1/message_pb.js";
import type { ToolList } from "./gen/antiphon/v1/tool_pb.js";
import { Loops, Take } from "./loops.js";
import { Message } from "./message.js";
import { type Input, isResults, rawRequest, type Request } from "./request.js";
import { fresh } from "./retry.js";
import { continuation, type TurnSettings } from "./turns.js";

/** One call to the model, as in a conversation that need not be on record. */
export class Prompts extends Loops {
  /** Executes a request, once: tools that the model calls are left to the caller, see `chain`. Nothing is kept at the server but the run's state and
   * usage, unless `capture` asks for it; the answer can be replied to all the same. */
  async prompt(request: Request | string, settings: TurnSettings & { readonly capture?: boolean } = {}): Promise<Exchange> {
    if (settings.capture) return this.capture(request, settings);
    const raw = rawRequest(request);
    return this.#uncaptured(raw, 0, standingAfter(raw, undefined), settings);
  }

  /** Goes on with the conversation that an exchange belongs to, by one turn, with the exchange's own profile and model unless the request names
   * another. No head moves.
   *
   * A reply is kept where the exchange is. To one that is not, it is not kept either, and what was said is remembered here; `capture` has both kept,
   * and whatever else of the conversation was not, each once. */
  async reply(
    exchange: Exchange,
    request: Input,
    settings: TurnSettings & { readonly capture?: boolean | undefined } = {},
  ): Promise<Exchange> {
    const { capture } = settings;
    if (exchange.captured || capture) {
      if (capture === false) throw new TypeError("a reply to an exchange on record is kept; forkOnce leaves nothing behind");
      // The server takes one exchange along in the same write; several are stored before.
      const point = !exchange.captured && isLong(exchange) ? await this.settled(exchange) : exchange;
      const raw = continuation(point, request);
      if (raw.input.case === "request") {
        own(raw.input.value, exchange);
        offer(raw.input.value, exchange);
      }
      return this.continued(raw, settings);
    }
    const prefix = exchange.prefix();
    const again = isResults(request)
      ? create(ExecutionRequestSchema, { messages: [Message.of("tool", "", { toolResults: request }).raw] })
      : rawRequest(request);
    if (again.prompt !== undefined) {
      throw new TypeError("a configured prompt would come before what was said: capture the reply, or the exchange");
    }
    own(again, exchange);
    const standing = standingAfter(again, exchange.standing);
    offer(again, exchange);
    delete again.standingTools;
    const said = [...prefix.renderedMessages, prefix.assistant];
    again.messages = [...said, ...again.messages];
    return this.#uncaptured(again, said.length, standing, settings);
  }

  async #uncaptured(
    raw: ExecutionRequest,
    before: number,
    standing: ToolList | undefined,
    settings: TurnSettings,
  ): Promise<Exchange> {
    raw.runId ||= fresh();
    const { onDelta, timeoutMs, signal } = settings;
    if (onDelta === undefined) {
      const run = create(RunRequestSchema, { execution: { case: "request", value: raw }, includeRenderedMessages: true });
      return Exchange.uncaptured(await this.call(this.services.exchanges.run, run, settings, raw), before, standing);
    }
    // Only a coordination tells an answer on its way of which nothing is kept.
    const take = new Take(undefined);
    let told = "";
    const hear = (delta: Delta): void | Promise<void> => {
      if (delta.kind === "attempt") told = "";
      else if (delta.kind === "text") told += delta.text;
      return onDelta(delta);
    };
    const start = create(CoordinationStartSchema, { ephemeral: true, deltas: true, toolRoundLimit: 0 });
    start.from = create(CoordinationStartSchema, { from: { case: "initialRequest", value: { request: raw } } }).from;
    if (timeoutMs !== undefined) start.deadline = timestampFromDate(new Date(Date.now() + timeoutMs));
    await this.finish("", this.coordinator("", { nextAction: take.decide, onDelta: hear, signal }), start);
    // An answer that was quick may be there before all of its pieces are told.
    const { text } = take.result("");
    if (text.length > told.length && text.startsWith(told)) await onDelta({ kind: "text", text: text.slice(told.length) });
    const made = clone(ExchangeSchema, take.result("").raw);
    const said = made.messages.splice(0, before);
    return new Exchange(made, { captured: false, before: said, standing });
  }
}

/** Lets a request that names no profile have the exchange's, and its model. */
function own(raw: ExecutionRequest, exchange: Exchange): void {
  if (raw.profileId) return;
  raw.profileId = exchange.textSetting("profile_id");
  raw.model ||= exchange.textSetting("model");
}

/** Lets a request that names no tools have those that stand where no record tells. What is stored of an exchange may be that of another with the same
 * words and other tools, so they are not left to it. */
function offer(raw: ExecutionRequest, exchange: Exchange): void {
  if (exchange.standing === undefined) return;
  raw.standingTools ??= exchange.standing;
  raw.tools ??= raw.standingTools;
}

/** Whether there are answers before that of an exchange, so that it is more than one when it is stored. */
function isLong(exchange: Exchange): boolean {
  return exchange.prefix().renderedMessages.some((message) => message.role === Role.ASSISTANT);
}

/** The tools that stand after a request, of which no record tells. */
function standingAfter(raw: ExecutionRequest, before: ToolList | undefined): ToolList | undefined {
  return raw.standingTools ?? before ?? raw.tools;
}
