/** Makes one call of a tool, with the hooks around it. Knows nothing of streams. */

import type { Hooks } from "./callbacks.js";
import type { NeededToolCall } from "./gen/antiphon/v1/coordination_pb.js";
import type { ToolResult as RawResult } from "./gen/antiphon/v1/message_pb.js";
import { Pause, rawResult, textOf, type Tool, ToolCall, type ToolResult } from "./tool.js";

/** What came of a call: a result, which may be an error for the model; an answer that comes later; or a hook that failed, by whatever it threw. */
export type Called = { readonly result: RawResult } | { readonly pause: Pause } | { readonly thrown: unknown };

/** Makes it. What a failed call says is for the model, which may do better; its siblings keep their results. */
export async function callTool(needed: NeededToolCall, functions: ReadonlyMap<string, Tool>, hooks: Hooks): Promise<Called> {
  const call = needed.call === undefined ? new ToolCall("", "") : ToolCall.of(needed.call);
  let result: ToolResult;
  try {
    const tool = needed.tool === undefined ? undefined : functions.get(call.name);
    if (tool === undefined) throw new ReferenceError(`there is no tool \`${call.name}\``);
    await hooks.beforeCall?.(call);
    result = { callId: call.callId, text: textOf(await tool.run(call.arguments as never)) };
  } catch (thrown) {
    if (thrown instanceof Pause) return { pause: thrown };
    const text = thrown instanceof Error ? `${thrown.constructor.name}: ${thrown.message}` : String(thrown);
    result = { callId: call.callId, text, isError: true };
  }
  try {
    await hooks.afterCall?.(call, result);
  } catch (thrown) {
    return { thrown };
  }
  return { result: rawResult(result) };
}
