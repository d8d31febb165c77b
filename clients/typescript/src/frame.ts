/** Frames of a coordination as they go out, and how the next one is read. Knows nothing of what they are about. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";

import { type AntiphonError, fromConnect } from "./error.js";
import {
  type CoordinateRequest,
  CoordinateRequestSchema,
  type CoordinateResponse,
  type ToolsNeeded,
} from "./gen/antiphon/v1/coordination_pb.js";
import type { ToolResult as RawResult } from "./gen/antiphon/v1/message_pb.js";
import type { Stream } from "./stream.js";

/** The stream itself failed, and no callback did. */
export class Lost extends Error {
  constructor(readonly error: AntiphonError) {
    super(error.message);
  }
}

/** The next frame; undefined when the stream ended well. Throws `Lost` otherwise. */
export async function receive(stream: Stream): Promise<CoordinateResponse | undefined> {
  try {
    return await stream.receive();
  } catch (failed) {
    throw new Lost(fromConnect(failed));
  }
}

/** Whatever is said. */
export function frame(said: NonNullable<MessageInitShape<typeof CoordinateRequestSchema>["frame"]>): CoordinateRequest {
  return create(CoordinateRequestSchema, { frame: said });
}

/** Lets the decision wait. */
export function suspendFrame(): CoordinateRequest {
  return frame({ case: "suspend", value: {} });
}

/** Ends the coordination. */
export function cancelFrame(message: string): CoordinateRequest {
  return frame({ case: "cancel", value: { message: message.slice(0, 1024) } });
}

/** Results of some calls of a batch. */
export function resultsFrame(batch: ToolsNeeded, results: RawResult[]): CoordinateRequest {
  return frame({ case: "toolResults", value: { batchId: batch.batchId, runId: batch.runId, results } });
}
