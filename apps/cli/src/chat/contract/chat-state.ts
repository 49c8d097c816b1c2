import type {
  AgentEvent,
  ItemId,
  ItemKind,
  PartId,
  RunId,
  SessionId,
  ToolCallId,
  Usage,
} from '@millrace/core';
import type { Block } from './block.ts';
import type { PendingApproval } from './dialog.ts';
import type { Entry } from './entry.ts';

/** Something that was said while it could not be heard yet. */
export interface QueuedMessage {
  readonly key: string;
  readonly when: 'steer' | 'follow_up';
  readonly text: string;
}

/** The events of a type, or of several. */
export type EventOf<Type extends AgentEvent['type']> = Extract<AgentEvent, { readonly type: Type }>;

/** What the status line counts. Times are those of the records, so that a session counts the same again. */
export interface Numbers {
  readonly model: string | undefined;
  /** Of all attempts but the last. */
  readonly before: Usage;
  readonly last: AttemptNumbers | undefined;
  /** Tokens of the last request and its answer: about what the next one sends. */
  readonly contextTokens: number | undefined;
  readonly firstTokenMs: number | undefined;
  readonly tokensPerSecond: number | undefined;
}

interface AttemptNumbers {
  readonly turn: number;
  readonly attempt: number;
  readonly usage: Usage;
  /** A summary is made: it says nothing about how long the conversation is. */
  readonly isAside: boolean;
  readonly startedAt: number;
  readonly firstAt: number | undefined;
  readonly lastAt: number;
  /** Of what streamed, until the provider counts. */
  readonly length: number;
}

/**
 * What a chat has to know of a session that is not in the scrollback yet, and what it counts. What was
 * printed is not in it. A state is used once: what streams in it is handed on to the next.
 */
export interface ChatState {
  readonly session: SessionId;
  /** What is open, in the order of its begin. */
  readonly entries: readonly Entry[];
  readonly approvals: readonly PendingApproval[];
  readonly queued: readonly QueuedMessage[];
  /** The rules by which something is allowed in this session without being asked about. */
  readonly standing: readonly string[];
  readonly run: { readonly id: RunId; readonly startedAt: number } | undefined;
  /** The next try, and why there is one. */
  readonly retry: NextTry | undefined;
  /** The last run ended with an error: it can be tried again. */
  readonly hasFailed: boolean;
  /** Somebody said stop, and it has not stopped yet. */
  readonly isStopping: boolean;
  /** A turn that is no part of the conversation: a summary is made. */
  readonly isAside: boolean;
  /** The reasoning that was printed last, for whoever wants to see all of it. */
  readonly lastThought: string | undefined;
  readonly numbers: Numbers;
  /** Items that are open, or of the open turn. */
  readonly items: ReadonlyMap<ItemId, ItemKind>;
  /** Parts of the open turn of which something is printed: should they be taken back, that has to be said. */
  readonly printed: ReadonlySet<PartId>;
  /** Calls of the open turn that are printed: nothing more is to be said of them. */
  readonly printedCalls: ReadonlySet<ToolCallId>;
  /** How the last turn ended was said. */
  readonly isEndTold: boolean;
  /** The last request was too long. It may be made shorter: until that is known, nothing is said of it. */
  readonly overflow: string | undefined;
}

export interface NextTry {
  readonly at: number;
  readonly problem: string;
  /** Which one it is, and of how many. */
  readonly attempt: number;
  readonly most: number;
}

export interface ChatStep {
  readonly state: ChatState;
  /** To be printed, in this order. */
  readonly blocks: readonly Block[];
}
