import type { Item, JsonValue, ToolCallId, TraceContext } from '@millrace/core';

/** What somebody wants of a session that is driven, or is to be. It travels as JSON. */
export type Command =
  /** Joins the next request (`steer`), or starts a turn when the run would end (`follow_up`). */
  | {
      readonly type: 'message';
      readonly when: 'steer' | 'follow_up';
      readonly items: readonly Item[];
      /** What a run that is begun for it is part of. */
      readonly trace?: TraceContext | undefined;
    }
  | { readonly type: 'abort'; readonly reason?: string | undefined }
  /** What was said long ago is summarised, however long it is. */
  | { readonly type: 'compact' }
  /** A message that still waits, by the key it was submitted with, is not heard. */
  | { readonly type: 'withdraw'; readonly key: string }
  /** What was allowed by this rule for longer than one call is asked about again. */
  | { readonly type: 'revoke'; readonly rule: string }
  | Decision;

export type Decision =
  | {
      readonly type: 'approve';
      readonly toolCallId: ToolCallId;
      /** What the call runs with instead. */
      readonly input?: JsonValue | undefined;
      readonly by?: string | undefined;
      /** Also for what is asked by the same rule, until this time or to the session's end. */
      readonly until?: number | 'session' | undefined;
    }
  | {
      readonly type: 'deny';
      readonly toolCallId: ToolCallId;
      readonly reason?: string | undefined;
      readonly by?: string | undefined;
    };

export interface QueuedCommand {
  readonly key: string;
  /** Where it is one of ours and cannot be read, it is dealt with by taking it off the queue. */
  readonly command: Command | { readonly type: 'unreadable' };
}
