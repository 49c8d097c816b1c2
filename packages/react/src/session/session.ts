import type { ApproveOptions, DenyOptions } from '@millrace/client';
import type { ItemActions } from '../chat/branch/branch-switch.tsx';
import type { ComposedMessage } from '../chat/composer/use-composer.ts';
import type { ChatSource } from '../chat/state/chat-source.ts';
import type { LiveSource } from '../chat/state/live-source.ts';

/** A message to an agent. The field for messages creates one. */
export type OutgoingMessage = Pick<ComposedMessage, 'text'> & Partial<ComposedMessage>;

/**
 * The commands that a user can give in a session. Components show no control for a command that is missing.
 */
export interface SessionCommands extends AnswerTarget {
  /** Sends a message. Rejects if it was not accepted. */
  send(message: OutgoingMessage): Promise<unknown>;
  /** Stops the run. The output so far is kept. */
  stop(): Promise<unknown>;
  /** Withdraws a message that the agent has not read. */
  withdraw?(key: string): Promise<unknown>;
  /** Sends the last request again, after a run that failed. */
  retry?(): Promise<unknown>;
  /** True if a message during a run can join its next request. */
  readonly canSteer: boolean;
  /** True if messages can have files. */
  readonly canAttach: boolean;
}

/**
 * A session that components show. `useTaskSession` returns one for a task of a Millrace server, and
 * `useChatSession` of `@millrace/react/ai-sdk` for the `useChat` of the AI SDK.
 */
export interface Session {
  readonly source: ChatSource;
  /** The commands. Undefined if the user can only read. */
  readonly commands: SessionCommands | undefined;
  /** The actions of the user on an item, for example to edit a message. Default: nothing. */
  readonly actions?: ItemActions | undefined;
  /** The connection to the server. Undefined if another library keeps it. */
  readonly live?: LiveSource | undefined;
}

/** Receives the answers of the user. A task handle is one. */
export interface AnswerTarget {
  /** Approves a call. Rejects if the answer was not accepted. */
  approve(toolCallId: string, options?: ApproveOptions): Promise<unknown>;
  /** Denies a call. Rejects if the answer was not accepted. */
  deny(toolCallId: string, options?: DenyOptions): Promise<unknown>;
  /** False if an answer cannot change the input of a call. Default: true. */
  readonly canChangeInput?: boolean | undefined;
}
