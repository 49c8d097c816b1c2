import type { Item, JsonValue, ToolCallId, TraceContext } from '@millrace/core';
import type { ApproveOptions, ClientToolResult, DenyOptions, RunInput } from './run.ts';

/** A command to a session, as a program submits it with `submitCommand`. */
export type SessionCommand =
  /**
   * Input for the agent. With `steer`, the input joins the next request. With `follow_up`, the agent
   * answers it when the run would otherwise end. Default: `follow_up`.
   */
  | {
      readonly type: 'message';
      readonly input: RunInput;
      readonly when?: 'steer' | 'follow_up' | undefined;
      /** The trace for a run that starts because of this message. */
      readonly trace?: TraceContext | undefined;
    }
  /** Stops the run and keeps the partial answer. */
  | { readonly type: 'abort'; readonly reason?: string | undefined }
  /** Summarizes older items. */
  | { readonly type: 'compact' }
  /** Withdraws a message that is still queued. `key` is the key of the message. */
  | { readonly type: 'withdraw'; readonly key: string }
  /** Revokes the standing approvals of a rule. */
  | { readonly type: 'revoke'; readonly rule: string }
  /** Approves a call that waits for approval. */
  | ({ readonly type: 'approve'; readonly toolCallId: string } & ApproveOptions)
  /** Denies a call that waits for approval. */
  | ({ readonly type: 'deny'; readonly toolCallId: string } & DenyOptions)
  /** The output of a tool that a client runs. The loop validates it when it reads the command. */
  | ({ readonly type: 'tool_output'; readonly toolCallId: string } & ClientToolResult);

/** A command as the log stores it. Commands travel as JSON and may come from any process. */
export type Command =
  /**
   * Input for the agent. With `steer`, it joins the next request. With `follow_up`, it starts a turn when
   * the run would otherwise end.
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
  /** Withdraws a message that is still queued. `key` is the key with which the message was submitted. */
  | { readonly type: 'withdraw'; readonly key: string }
  /** Revokes the standing approvals of this rule. */
  | { readonly type: 'revoke'; readonly rule: string }
  | Decision
  | OutputCommand;

/** The output of a tool that a client runs, or the error with which the tool failed. */
export interface OutputCommand {
  readonly type: 'tool_output';
  readonly toolCallId: ToolCallId;
  readonly output?: JsonValue | undefined;
  readonly error?: string | undefined;
  readonly by?: string | undefined;
}

/** Returns the key of the command with the output of a call. A call has one output, so it has one key. */
export function toolOutputKey(toolCallId: string): string {
  return `tool output ${toolCallId}`;
}

export type Decision =
  | {
      readonly type: 'approve';
      readonly toolCallId: ToolCallId;
      /** The input that replaces the model's input. */
      readonly input?: JsonValue | undefined;
      readonly by?: string | undefined;
      /**
       * The time until which other calls with the same rule are allowed too, in milliseconds since 1970.
       * `session` means until the session ends. Default: only this call is allowed.
       */
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
   * A command of a known type that cannot be decoded is `unreadable`. A command of an `unknown` type
   * comes from a later version or another program. The loop removes both from the queue and writes the
   * reason to the log.
   */
  readonly command:
    | Command
    | { readonly type: 'unreadable' }
    | { readonly type: 'unknown'; readonly given: JsonValue };
}
