import type { AgentEvent, ItemId, ItemKind, PartId, SessionId } from '@millrace/core';
import type { Block } from './block.ts';
import { drain } from './drain.ts';
import type { Entry } from './entry.ts';
import { foldCalls } from './fold-calls.ts';
import { foldContent } from './fold-content.ts';
import { foldFacts } from './fold-facts.ts';
import { foldSettled } from './fold-settled.ts';
import { type Numbers, noNumbers } from './numbers.ts';
import type { PendingApproval, QueuedMessage } from './pending.ts';

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
  readonly run: { readonly startedAt: number } | undefined;
  /** The next try, and why there is one. */
  readonly retry: { readonly at: number; readonly problem: string } | undefined;
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
  /** How the last turn ended was said. */
  readonly isEndTold: boolean;
}

export interface ChatStep {
  readonly state: ChatState;
  /** To be printed, in this order. */
  readonly blocks: readonly Block[];
}

export function emptyChat(session: SessionId): ChatState {
  return {
    ...{ session, entries: [], approvals: [], queued: [], run: undefined },
    ...{ retry: undefined, isStopping: false, isAside: false, lastThought: undefined },
    ...{ numbers: noNumbers, items: new Map(), printed: new Set(), isEndTold: false },
  };
}

/** The state with one more event, and what is to be printed by now. Costs the same however long the session is. */
export function foldChat(state: ChatState, event: AgentEvent): ChatStep {
  const next = foldSettled(foldFacts(foldCalls(foldContent(state, event), event), event), event);
  if (next === state) return { state, blocks: [] };
  const { entries, blocks, parts } = drain(next.entries);
  if (entries === next.entries) return { state: next, blocks };
  const printed = parts.length === 0 ? next.printed : new Set([...next.printed, ...parts]);
  const thought = blocks.findLast((block) => block.type === 'thought');
  const lastThought = thought?.text ?? next.lastThought;
  return { state: { ...next, entries, printed, lastThought }, blocks };
}
