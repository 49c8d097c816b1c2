import type { Item, JsonObject, JsonValue, ToolCallId } from '@millrace/core';

/** What somebody wants of a session that is driven, or is to be. It travels as JSON. */
export type Command =
  /** Joins the next request (`steer`), or starts a turn when the run would end (`follow_up`). */
  | {
      readonly type: 'message';
      readonly when: 'steer' | 'follow_up';
      readonly items: readonly Item[];
    }
  | { readonly type: 'abort'; readonly reason?: string | undefined }
  | {
      readonly type: 'approve';
      readonly toolCallId: ToolCallId;
      /** What the call runs with instead. */
      readonly input?: JsonValue | undefined;
      readonly by?: string | undefined;
    }
  | {
      readonly type: 'deny';
      readonly toolCallId: ToolCallId;
      readonly reason?: string | undefined;
      readonly by?: string | undefined;
    };

export interface QueuedCommand {
  readonly key: string;
  readonly command: Command;
}

/** As it is stored: JSON has no undefined. */
export function toJson(command: Command): JsonObject {
  return JSON.parse(JSON.stringify(command)) as JsonObject;
}

/** Undefined where it is none of ours: it stays in the queue for whoever knows it. */
export function commandOf(json: JsonObject): Command | undefined {
  switch (json['type']) {
    case 'message':
      return Array.isArray(json['items']) ? (json as unknown as Command) : undefined;
    case 'abort':
      return json as unknown as Command;
    case 'approve':
    case 'deny':
      return typeof json['toolCallId'] === 'string' ? (json as unknown as Command) : undefined;
    default:
      return undefined;
  }
}
