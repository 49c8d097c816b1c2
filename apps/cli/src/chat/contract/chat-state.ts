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
import type { TodoTask } from '@millrace/tools';
import type { Block } from './block.ts';
import type { PendingApproval } from './dialog.ts';
import type { Entry } from './entry.ts';

/**
 * The content of a session that is not printed yet, and some counters.
 *
 * Fold a state only once, because the next state reuses its Markdown streams.
 */
export interface ChatState {
  readonly session: SessionId;
  /** Unfinished content, sorted by its start. */
  readonly entries: readonly Entry[];
  readonly approvals: readonly PendingApproval[];
  readonly queued: readonly QueuedMessage[];
  /**
   * Permission rules that the user granted for this session, in the text form of the permission
   * policy.
   */
  readonly sessionRules: readonly string[];
  /** True if the last message with a note about the mode was sent in plan mode. */
  readonly isPlanning: boolean;
  /** The task list that the model keeps: the input of its last `todo` call. */
  readonly tasks: readonly TodoTask[];
  readonly run: { readonly id: RunId; readonly startedAt: number } | undefined;
  /** The scheduled retry and its reason. */
  readonly retry: NextRetry | undefined;
  /** True if the last run ended with an error and can be retried. */
  readonly hasFailed: boolean;
  /** True between the request to stop a run and the end of the run. */
  readonly isStopping: boolean;
  /** True if the current turn creates a summary. The summary is not part of the conversation. */
  readonly isSummarising: boolean;
  /** True if the summary of the current turn has text. */
  readonly hasSummary: boolean;
  /** True after a command to summarise the conversation, until there is a summary or the run ends. */
  readonly awaitsSummary: boolean;
  /** The last reasoning that was printed. The user can unfold it. */
  readonly lastThought: string | undefined;
  readonly stats: UsageStats;
  /** The kinds of all open items, and of the items in the open turn. */
  readonly items: ReadonlyMap<ItemId, ItemKind>;
  /**
   * Parts of the open turn that are at least partly printed. If one of them is retracted, a note
   * tells the user.
   */
  readonly printed: ReadonlySet<PartId>;
  /** Calls of the open turn that are printed. Later events do not change them. */
  readonly printedCalls: ReadonlySet<ToolCallId>;
  /** True after the chat has shown how the last turn ended. */
  readonly isStopReported: boolean;
  /** The error of a request that was too long. It is shown only if compaction does not help. */
  readonly overflowError: string | undefined;
  /** True if a summary replaces older messages in requests. */
  readonly isCompacted: boolean;
  /** True if the last run did not end normally. */
  readonly isHeld: boolean;
  /** The last two folders from which messages were sent, the newest last. */
  readonly folders: readonly string[];
  /** True if a part or a message of the session describes a background command. */
  readonly hasCommands: boolean;
}

export interface ChatStep {
  readonly state: ChatState;
  /** The blocks to print, in order. */
  readonly blocks: readonly Block[];
}

export interface NextRetry {
  readonly at: number;
  readonly problem: string;
  /** The number of this retry. The limit is `maxAttempts`. */
  readonly attempt: number;
  readonly maxAttempts: number;
}

/** A message that waits in the queue of the session. */
export interface QueuedMessage {
  readonly key: string;
  readonly when: 'steer' | 'follow_up';
  readonly text: string;
  /** The background command whose end the message reports. Undefined for a message of a person. */
  readonly ended?: { readonly id: string; readonly end: string } | undefined;
}

/**
 * The values of the status line. They use the times of the records, so a replay computes the same
 * values.
 */
export interface UsageStats {
  readonly model: string | undefined;
  /** The total usage of all attempts before the last one. */
  readonly before: Usage;
  readonly last: AttemptStats | undefined;
  /** The usage of each attempt of a sub-agent. */
  readonly children: ReadonlyMap<string, ChildUsage>;
  /** The tokens of the last request and its answer. The next request has about this size. */
  readonly contextTokens: number | undefined;
  readonly firstTokenMs: number | undefined;
  readonly tokensPerSecond: number | undefined;
}

/** The usage of one attempt of a sub-agent. */
export interface ChildUsage {
  readonly agent: string;
  readonly usage: Usage;
}

interface AttemptStats {
  readonly turn: number;
  readonly attempt: number;
  readonly usage: Usage;
  /**
   * True if the attempt creates a summary. In this case, its number of tokens is not the size of
   * the conversation.
   */
  readonly isSummary: boolean;
  readonly startedAt: number;
  readonly firstAt: number | undefined;
  readonly lastAt: number;
  /** Number of streamed characters. */
  readonly length: number;
}

/** Selects the events that have one of these types. */
export type EventOf<Type extends AgentEvent['type']> = Extract<AgentEvent, { readonly type: Type }>;
