import type { Item, JsonValue, ToolCallId, TraceContext } from '@millrace/core';

/** A command to a session. Commands travel as JSON and may come from any process. */
export type Command =
  /**
   * Input for the agent: it joins the next request (`steer`), or starts a turn when the run would
   * end (`follow_up`).
   */
  | {
      readonly type: 'message';
      readonly when: 'steer' | 'follow_up';
      readonly items: readonly Item[];
      /** The trace for a run that starts because of this message. */
      readonly trace?: TraceContext | undefined;
    }
  | { readonly type: 'abort'; readonly reason?: string | undefined }
  /** Compacts the context now, whatever its length. */
  | { readonly type: 'compact' }
  /** Withdraws a message that is still queued, by the key that it was submitted with. */
  | { readonly type: 'withdraw'; readonly key: string }
  /** Revokes the standing approvals of this rule. */
  | { readonly type: 'revoke'; readonly rule: string }
  | Decision;

export type Decision =
  | {
      readonly type: 'approve';
      readonly toolCallId: ToolCallId;
      /** Replaces the input of the call. */
      readonly input?: JsonValue | undefined;
      readonly by?: string | undefined;
      /** Also allows other calls with the same rule, until this time or until the session ends. */
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
  /**
   * A command of a known type that cannot be decoded is `unreadable`; the loop removes it from the
   * queue.
   */
  readonly command: Command | { readonly type: 'unreadable' };
}
