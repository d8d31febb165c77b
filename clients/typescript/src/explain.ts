/** What would be sent, before it is: looked at, and kept for one execution. Knows nothing of loops. */

import { create } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";

import { type CallSettings, there } from "./calls.js";
import { Exchange, type Warning } from "./exchange.js";
import {
  type Explanation as RawExplanation,
  ExplainRequestSchema,
  PrepareRequestSchema,
  RunRequestSchema,
  type SentBody,
} from "./gen/antiphon/v1/exchange_service_pb.js";
import { SettingSourceSchema } from "./gen/antiphon/v1/execution_pb.js";
import { parse } from "./json.js";
import { Message } from "./message.js";
import { exchangePoint, type Input, isResults, type NewThread, rawRequest, type Request, ThreadPoint } from "./request.js";
import { fresh } from "./retry.js";
import { type OfferedTool, offeredTool } from "./tool.js";
import { rawCapture, rawTurn, Turns } from "./turns.js";
import { word } from "./word.js";

/** A setting with its source. */
export interface Setting {
  readonly value: unknown;
  /** Who said so: `request`, `prompt`, `thread`, `profile`, `default` or `inherited`. */
  readonly source: string;
}

/** A request as a provider gets it. Nothing in it is a credential. */
export interface Explanation {
  /** What is sent, in order. */
  readonly messages: readonly Message[];
  /** By name, such as `model` or `parameters.temperature`. */
  readonly settings: Readonly<Record<string, Setting>>;
  /** What is offered. */
  readonly tools: readonly OfferedTool[];
  /** The body as it goes out, of a call whose answer comes whole; empty where none can be told. */
  readonly bodyJson: string;
  /** What is sent otherwise than it was said, and why. */
  readonly adaptations: readonly Warning[];
  /** What the caller should know, as the exchange has it. */
  readonly warnings: readonly Warning[];
  /** Of an exchange: whether this is the body that went out. Undefined of what was not sent. */
  readonly matches: boolean | undefined;
  /** Why it is another one; empty when it is the same. */
  readonly difference: string;
  readonly raw: RawExplanation;
}

/** A request that is ready to be executed once, exactly as it was shown. */
export interface Prepared {
  readonly preparedId: string;
  /** The run that it will be. */
  readonly runId: string;
  readonly expires: Date;
  readonly explanation: Explanation;
}

/** Looks ahead: nothing but `execute` calls a model. */
export class Explain extends Turns {
  /** What `capture`, or `continue` where `after` says from what, would send. */
  async explain(
    request: Input,
    settings: CallSettings & {
      readonly after?: Exchange | ThreadPoint | string | undefined;
      readonly thread?: ThreadPoint | NewThread | undefined;
    } = {},
  ): Promise<Explanation> {
    const { after, thread } = settings;
    const raw = create(ExplainRequestSchema);
    if (after !== undefined) raw.subject = { case: "turn", value: rawTurn(after, request) };
    else if (!isResults(request)) raw.subject = { case: "capture", value: rawCapture(request, thread) };
    else throw new TypeError("results of tool calls need `after`, the exchange or thread with the calls");
    const found = await this.call(this.services.exchanges.explain, raw, settings);
    return explanationOf(there(found.explanation), undefined);
  }

  /** What was sent for an exchange, derived again from what is stored; `matches` says whether that is what went out. */
  async explainExchange(exchange: Exchange | string, settings: CallSettings = {}): Promise<Explanation> {
    const raw = create(ExplainRequestSchema, { subject: { case: "exchange", value: exchangePoint(exchange) } });
    const found = await this.call(this.services.exchanges.explain, raw, settings);
    return explanationOf(there(found.explanation), found.sent);
  }

  /** Resolves and renders a request, shows what would be sent, and keeps that for one `execute`. Whether the exchange is kept then is said now. */
  async prepare(
    request: Request | string,
    settings: CallSettings & {
      readonly after?: Exchange | ThreadPoint | string | undefined;
      readonly capture?: boolean | undefined;
      readonly expires?: Date | undefined;
    } = {},
  ): Promise<Prepared> {
    const { after, capture = false, expires } = settings;
    const run = rawRequest(request);
    run.runId ||= fresh();
    const raw = create(PrepareRequestSchema, { request: run, capture });
    if (after instanceof ThreadPoint) raw.from = { case: "thread", value: after.toRaw() };
    else if (after !== undefined) raw.from = { case: "exchange", value: exchangePoint(after) };
    if (expires !== undefined) raw.expireTime = timestampFromDate(expires);
    const made = await this.call(this.services.exchanges.prepare, raw, settings);
    const explanation = explanationOf(there(made.explanation), undefined);
    return { preparedId: made.preparedId, runId: run.runId, expires: timestampDate(there(made.expireTime)), explanation };
  }

  /** Executes what was prepared, exactly as it was shown. Once: again gives the same answer. */
  async execute({ preparedId, runId }: Prepared, settings: CallSettings = {}): Promise<Exchange> {
    const execution = { case: "prepared", value: { preparedId, runId } } as const;
    const raw = create(RunRequestSchema, { execution, includeRenderedMessages: true });
    const answer = await this.call(this.services.exchanges.run, raw, settings);
    return answer.exchange === undefined ? Exchange.uncaptured(answer, 0, undefined) : new Exchange(answer.exchange);
  }
}

function explanationOf(raw: RawExplanation, sent: SentBody | undefined): Explanation {
  const settings = raw.effectiveSettings.map(({ name, valueJson, source }): [string, Setting] => [
    name,
    { value: parse(valueJson), source: word(SettingSourceSchema, source) },
  ]);
  const told = ({ code, message }: Warning): Warning => ({ code, message });
  return {
    messages: raw.messages.map((message) => new Message(message)),
    settings: Object.fromEntries(settings),
    tools: (raw.tools?.offered?.tools ?? []).map(offeredTool),
    bodyJson: raw.bodyJson,
    adaptations: raw.adaptations.map(told),
    warnings: raw.warnings.map(told),
    matches: sent?.matches,
    difference: sent?.difference ?? "",
    raw,
  };
}
