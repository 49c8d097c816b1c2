import type {
  AgentEvent,
  ItemId,
  ItemKind,
  PartId,
  RunId,
  SessionId,
  ToolCallId,
} from '@millrace/core';
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

export function emptyChat(session: SessionId): ChatState {
  return {
    ...{ session, entries: [], approvals: [], queued: [], standing: [], run: undefined },
    ...{
      retry: undefined,
      hasFailed: false,
      isStopping: false,
      isAside: false,
      lastThought: undefined,
    },
    ...{ numbers: noNumbers, items: new Map(), printed: new Set(), isEndTold: false },
    ...{ printedCalls: new Set(), overflow: undefined },
  };
}

/** The state with one more event, and what is to be printed by now. Costs the same however long the session is. */
export function foldChat(state: ChatState, event: AgentEvent): ChatStep {
  const next = foldSettled(foldFacts(foldCalls(foldContent(state, event), event), event), event);
  if (next === state) return { state, blocks: [] };
  const { entries, blocks, parts } = drain(next.entries);
  if (entries === next.entries) return { state: next, blocks };
  const printed = parts.length === 0 ? next.printed : new Set([...next.printed, ...parts]);
  const calls = blocks.flatMap((block) => (block.type === 'call' ? block.card.id : []));
  const printedCalls =
    calls.length === 0 ? next.printedCalls : new Set([...next.printedCalls, ...calls]);
  const thought = blocks.findLast((block) => block.type === 'thought');
  const lastThought = thought?.text ?? next.lastThought;
  return { state: { ...next, entries, printed, printedCalls, lastThought }, blocks };
}
