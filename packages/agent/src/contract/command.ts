import type { Item, ItemId, JsonValue, ToolCallId, TraceContext } from '@millrace/core';
import type { ApproveOptions, ClientToolResult, DenyOptions, RunInput } from './run.ts';

/** A command to a session, in the form that `submitCommand` accepts. */
export type SessionCommand =
  /**
   * Input for the agent. With `steer`, the input joins the next request of the current run. With `follow_up`,
   * the agent answers it when the run would otherwise end. Default: `follow_up`.
   */
  | {
      readonly type: 'message';
      readonly input: RunInput;
      readonly when?: 'steer' | 'follow_up' | undefined;
      /** The trace for a run that starts because of this message. */
      readonly trace?: TraceContext | undefined;
    }
  /** Stops the run. The partial answer stays in the transcript. */
  | { readonly type: 'abort'; readonly reason?: string | undefined }
  /** Summarizes older items of the session. */
  | { readonly type: 'compact' }
  /** Withdraws a message that is still queued. `key` is the key of the message. */
  | { readonly type: 'withdraw'; readonly key: string }
  /** Revokes the standing approvals of a rule. */
  | { readonly type: 'revoke'; readonly rule: string }
  /** Gives an item a label for lists. Without a text, the item has no label. */
  | { readonly type: 'label'; readonly itemId: string; readonly text?: string | undefined }
  /** Approves a call that waits for approval. */
  | ({ readonly type: 'approve'; readonly toolCallId: string } & ApproveOptions)
  /** Denies a call that waits for approval. */
  | ({ readonly type: 'deny'; readonly toolCallId: string } & DenyOptions)
  /** The output of a tool that a client runs. The loop validates the output when it reads the command. */
  | ({ readonly type: 'tool_output'; readonly toolCallId: string } & ClientToolResult);

/** A command in the form that the log stores. Commands are encoded as JSON and may come from any process. */
export type Command =
  /**
   * Input for the agent. With `steer`, the input joins the next request of the current run. With `follow_up`,
   * the input starts a turn when the run would otherwise end.
   */
  | {
      readonly type: 'message';
      readonly when: 'steer' | 'follow_up';
      readonly items: readonly Item[];
      /** The trace for a run that starts because of this message. */
      readonly trace?: TraceContext | undefined;
    }
  | { readonly type: 'abort'; readonly reason?: string | undefined }
  /** Compacts the context immediately, whatever its length. */
  | { readonly type: 'compact' }
  /** Withdraws a message that is still queued. `key` is the key with which the message was submitted. */
  | { readonly type: 'withdraw'; readonly key: string }
  /** Revokes the standing approvals of this rule. */
  | { readonly type: 'revoke'; readonly rule: string }
  | LabelCommand
  | Decision
  | OutputCommand;

/** The label of an item. Without a text, the item has no label. The last label of an item counts. */
export interface LabelCommand {
  readonly type: 'label';
  readonly itemId: ItemId;
  readonly text?: string | undefined;
}

/** The output of a tool that a client runs, or the error with which the tool failed. */
export interface OutputCommand {
  readonly type: 'tool_output';
  readonly toolCallId: ToolCallId;
  readonly output?: JsonValue | undefined;
  readonly error?: string | undefined;
  readonly by?: string | undefined;
}

/**
 * Returns the key of the command that contains the output of a call. Each call has exactly one key, because
 * it can have only one output.
 */
export function toolOutputKey(toolCallId: string): string {
  return `tool output ${toolCallId}`;
}

export type Decision =
  | {
      readonly type: 'approve';
      readonly toolCallId: ToolCallId;
      /** The input that replaces the model's input, if the user changed it. */
      readonly input?: JsonValue | undefined;
      /** The state that the user saw. The call runs only in this state. */
      readonly basis?: string | undefined;
      readonly by?: string | undefined;
      /**
       * The time until which other calls with the same rule are allowed too, in milliseconds since 1970.
       * `session` means until the session ends. Default: the approval covers only this call.
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
  /** The agent that an enqueued input names. Undefined for other commands. */
  readonly agent?: string | undefined;
  /**
   * `unreadable` is a command of a known type that cannot be decoded. `unknown` is a command of a type that
   * this version does not have, for example from a later version. The loop removes both from the queue and
   * writes the reason to the log.
   */
  readonly command:
    | Exclude<Command, LabelCommand>
    /** The loop only removes a label from the queue, so it does not decode the fields. */
    | Pick<LabelCommand, 'type'>
    | { readonly type: 'unreadable' }
    | { readonly type: 'unknown'; readonly given: JsonValue };
}
