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

/**
 * The part of a session that is not printed yet, and some counters.
 *
 * A state can be folded only once, because the next state reuses its Markdown streams.
 */
export interface ChatState {
  readonly session: SessionId;
  /** Unfinished content, in the order of its start. */
  readonly entries: readonly Entry[];
  readonly approvals: readonly PendingApproval[];
  readonly queued: readonly QueuedMessage[];
  /**
   * Permission rules that are granted for this session, in the text form of the permission policy.
   */
  readonly sessionRules: readonly string[];
  readonly run: { readonly id: RunId; readonly startedAt: number } | undefined;
  /** The scheduled retry and its reason. */
  readonly retry: NextRetry | undefined;
  /** True if the last run ended with an error and can be retried. */
  readonly hasFailed: boolean;
  /** True from the request to stop until the run has stopped. */
  readonly isStopping: boolean;
  /** True if the current turn creates a summary, which is not part of the conversation. */
  readonly isSummarising: boolean;
  /** The last printed reasoning, so that the user can unfold it. */
  readonly lastThought: string | undefined;
  readonly stats: UsageStats;
  /** Open items, and the items of the open turn. */
  readonly items: ReadonlyMap<ItemId, ItemKind>;
  /** Parts of the open turn that are at least partly printed. Their retraction must be reported. */
  readonly printed: ReadonlySet<PartId>;
  /** Printed calls of the open turn. Later events do not change them. */
  readonly printedCalls: ReadonlySet<ToolCallId>;
  /** True after the end of the last turn was reported to the user. */
  readonly isStopReported: boolean;
  /** The error of a request that was too long. It is shown only if compaction does not solve it. */
  readonly overflowError: string | undefined;
}

export interface ChatStep {
  readonly state: ChatState;
  /** The blocks to print, in order. */
  readonly blocks: readonly Block[];
}

export interface NextRetry {
  readonly at: number;
  readonly problem: string;
  /** Number of the retry. `maxAttempts` is the limit. */
  readonly attempt: number;
  readonly maxAttempts: number;
}

/** A message that waits in the queue of the session. */
export interface QueuedMessage {
  readonly key: string;
  readonly when: 'steer' | 'follow_up';
  readonly text: string;
}

/**
 * The values of the status line. Times come from the records, so a replay computes the same values.
 */
export interface UsageStats {
  readonly model: string | undefined;
  /** Usage of all attempts except the last one. */
  readonly before: Usage;
  readonly last: AttemptStats | undefined;
  /** Usage of the sub-agents, by attempt. */
  readonly children: ReadonlyMap<string, ChildUsage>;
  /** Tokens of the last request and its answer: roughly the size of the next request. */
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
   * True if the attempt creates a summary. Its tokens then say nothing about the size of the
   * conversation.
   */
  readonly isSummary: boolean;
  readonly startedAt: number;
  readonly firstAt: number | undefined;
  readonly lastAt: number;
  /** Number of streamed characters. */
  readonly length: number;
}

/** The events of one or several types. */
export type EventOf<Type extends AgentEvent['type']> = Extract<AgentEvent, { readonly type: Type }>;
