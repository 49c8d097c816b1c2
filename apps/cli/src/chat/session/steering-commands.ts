import {
  encodeTranscript,
  type Item,
  type JsonObject,
  type JsonValue,
  type ToolCallId,
} from '@millrace/core';

/** What is left for a session's driver, whoever that is. */
export function messageCommand(item: Item, when: 'steer' | 'follow_up'): JsonObject {
  const { items } = JSON.parse(encodeTranscript([item])) as { readonly items: JsonValue };
  return { type: 'message', when, items };
}

export interface Approving {
  /** What the call runs with instead. */
  readonly input?: JsonValue | undefined;
  /** Also for what is asked about by the same rule, to the session's end. */
  readonly forSession?: boolean | undefined;
}

export function approveCommand(
  toolCallId: ToolCallId,
  { input, forSession = false }: Approving,
  by: string,
): JsonObject {
  const changed = input === undefined ? {} : { input };
  return { type: 'approve', toolCallId, by, ...changed, ...(forSession && { until: 'session' }) };
}

export function denyCommand(
  toolCallId: ToolCallId,
  reason: string | undefined,
  by: string,
): JsonObject {
  return { type: 'deny', toolCallId, by, ...(reason !== undefined && { reason }) };
}
