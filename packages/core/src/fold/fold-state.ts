import {
  type Attempt,
  attemptOf,
  type ItemId,
  type PartId,
  type RunId,
  type SessionId,
  type ToolCallId,
} from '../ids.ts';
import type { Author, ItemKind } from '../protocol/item.ts';
import type { Metadata, Part } from '../protocol/part.ts';
import type { Stop } from '../protocol/stop.ts';
import type { Usage } from '../protocol/usage.ts';
import type { OpenPart } from './open-part.ts';
import { emptySequence, findLast, type Sequence } from './sequence.ts';

/**
 * What a log says so far. Immutable: folding makes a new state that shares all that did not change,
 * so that holding an old one costs nothing and shows what was true then.
 */
export interface FoldState {
  readonly session: SessionId;
  /** The offset up to which the log is in here; 0 before its first record. */
  readonly through: number;
  /** In the order of their start; `toArray` lists them. */
  readonly items: Sequence<ItemState>;
  /** The parts that are streaming now, in the order of their begin. */
  readonly open: readonly OpenPart[];
  /** Ids that were retracted, until their turn is finished; they are never used again. */
  readonly gone: ReadonlySet<PartId>;
  /** The attempts that were superseded, until their turn is finished; nothing of theirs comes back. */
  readonly superseded: readonly Superseded[];
  /** What attempts used, superseded ones included, as it was reported: the last word on each counts. */
  readonly usage: Sequence<AttemptUsage>;
  /** The run that goes on. */
  readonly run: RunId | undefined;
  /** The calls that wait for somebody to allow them, in the order in which it was asked. */
  readonly asked: readonly AskedApproval[];
  /** Types of facts marked `must_understand` that we do not: such a session is read, not driven. */
  readonly notUnderstood: readonly string[];
}

export interface ItemState {
  readonly id: ItemId;
  readonly kind: ItemKind;
  readonly author: Author | undefined;
  readonly metadata: Metadata | undefined;
  readonly turn: number;
  readonly attempt: number;
  /** The run that went on when it was started. */
  readonly run: RunId | undefined;
  /** The time of its record, which is all that is left of when it streamed once its turn is settled. */
  readonly startedAt: number | undefined;
  readonly parts: readonly PartSlot[];
  /** By which attempt, because with that its end is superseded too. */
  readonly finished: Attempt | undefined;
  readonly finishedAt: number | undefined;
  readonly stop: Stop | undefined;
  readonly redacted: boolean;
}

/** A part's place in its item. While it streams, its content is in `FoldState.open`. */
export interface PartSlot {
  readonly id: PartId;
  readonly part: Part | undefined;
}

/** A call that may not run before somebody answers. */
export interface AskedApproval extends Attempt {
  readonly toolCallId: ToolCallId;
  readonly name: string;
  readonly reason: string | undefined;
  readonly rule: string | undefined;
}

/** The items are those that were started for it, whose ids are used as well. */
export interface Superseded extends Attempt {
  readonly itemIds: readonly ItemId[];
}

export interface AttemptUsage extends Attempt {
  readonly usage: Usage;
}

export function emptyState(session: SessionId): FoldState {
  return {
    session,
    through: 0,
    items: emptySequence(),
    open: [],
    gone: new Set(),
    superseded: [],
    usage: emptySequence(),
    run: undefined,
    asked: [],
    notUnderstood: [],
  };
}

/** Where the part is among the open ones; -1 if it is not. The newest are asked first. */
export function indexOfOpen(open: readonly OpenPart[], id: PartId): number {
  for (let index = open.length - 1; index >= 0; index--) {
    if (open[index]?.id === id) return index;
  }
  return -1;
}

export function findOpen(state: FoldState, id: PartId): OpenPart | undefined {
  return state.open[indexOfOpen(state.open, id)];
}

/** Reads back from the newest: items that are spoken of are mostly those. */
export function findItem(state: FoldState, id: ItemId): ItemState | undefined {
  return findLast(state.items, (item) => item.id === id);
}

/** The item that has the part, open or committed. */
export function findItemOfPart(state: FoldState, id: PartId): ItemState | undefined {
  const { turn } = attemptOf(id);
  const has = (item: ItemState) => item.turn === turn && findSlot(item, id) !== undefined;
  return findLast(state.items, has);
}

export function findSlot(item: ItemState | undefined, id: PartId): PartSlot | undefined {
  return item?.parts.find((slot) => slot.id === id);
}
