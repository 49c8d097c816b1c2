import {
  type Attempt,
  attemptOf,
  type ItemId,
  type PartId,
  type RunId,
  type SessionId,
  type ToolCallId,
} from '../ids.ts';
import type { JsonValue } from '../json/json-value.ts';
import type { AskingAgent, ChildAttempt } from '../protocol/fact.ts';
import type { Author, ItemKind } from '../protocol/item.ts';
import type { Metadata, Part } from '../protocol/part.ts';
import type { Stop } from '../protocol/stop.ts';
import type { Usage } from '../protocol/usage.ts';
import type { GrowingSet } from './growing-set.ts';
import type { OpenPart } from './open-part.ts';
import { emptySequence, findLast, type Sequence } from './sequence.ts';

/**
 * The state of a session after some records. It is immutable: folding creates a new state that shares
 * everything that did not change. Keeping an old state costs no copy, and the old state shows the session at
 * that time.
 */
export interface FoldState {
  readonly session: SessionId;
  /** The offset up to which batches were folded. It is 0 before the first record. */
  readonly through: number;
  /** The items in the order of their start. Use `toArray` to list them. */
  readonly items: Sequence<ItemState>;
  /** The parts that are streaming now, in the order in which they began. */
  readonly open: readonly OpenPart[];
  /**
   * Ids of retracted parts, kept until their turn finishes. They are never reused. This is a list of sets, so that a
   * further id costs no copy of all ids.
   */
  readonly gone: GrowingSet<PartId>;
  /** Superseded attempts, kept until their turn finishes. They cannot add content. */
  readonly superseded: readonly Superseded[];
  /**
   * The reported usage of all attempts, including superseded attempts and attempts of sub-agents. Only the
   * last report of each attempt counts.
   */
  readonly usage: Sequence<AttemptUsage>;
  /** The current run. */
  readonly run: RunId | undefined;
  /** The calls that wait for an approval, in the order of the questions. */
  readonly asked: readonly AskedApproval[];
  /** The calls that wait for the output of a client, in the order of the questions. */
  readonly awaited: readonly AwaitedOutput[];
  /** Types of unknown facts with `must_understand`. Such a session can be read but not driven. */
  readonly notUnderstood: readonly string[];
}

/** An item in a folded state. */
export interface ItemState {
  readonly id: ItemId;
  readonly kind: ItemKind;
  readonly author: Author | undefined;
  readonly metadata: Metadata | undefined;
  readonly turn: number;
  readonly attempt: number;
  /** The run that was current when the item started. */
  readonly run: RunId | undefined;
  /**
   * The time of the record that started the item. It is stored here, because the deltas of a settled turn no
   * longer show it.
   */
  readonly startedAt: number | undefined;
  readonly parts: readonly PartSlot[];
  /** The attempt that finished the item. If that attempt is superseded, the item is open again. */
  readonly finished: Attempt | undefined;
  readonly finishedAt: number | undefined;
  readonly stop: Stop | undefined;
  readonly redacted: boolean;
}

/**
 * The position of a part in its item. While the part streams, its content is in `FoldState.open`.
 */
export interface PartSlot {
  readonly id: PartId;
  readonly part: Part | undefined;
}

/** A tool call that waits for an answer before it can run. */
export interface AskedApproval extends Attempt {
  readonly toolCallId: ToolCallId;
  readonly name: string;
  readonly reason: string | undefined;
  readonly rule: string | undefined;
  /** The sub-agent or the guardrail that asks. Undefined if a call of this session asks. */
  readonly from: AskingAgent | undefined;
}

/** A tool call that a client runs. Its output has not arrived yet. */
export interface AwaitedOutput extends Attempt {
  readonly toolCallId: ToolCallId;
  readonly name: string;
  /** The input that the client uses, if the user or a guardrail changed the model's input. */
  readonly input: JsonValue | undefined;
}

/** A superseded attempt with the ids of the items that it started. These ids are never reused. */
export interface Superseded extends Attempt {
  readonly itemIds: readonly ItemId[];
}

/** The usage of one attempt. */
export interface AttemptUsage extends Attempt {
  readonly usage: Usage;
  /**
   * The attempt of a sub-agent that this usage belongs to. If `of` is present, `turn` and `attempt` belong to
   * the call that runs the sub-agent. `of` is undefined for attempts of this session.
   */
  readonly of: ChildAttempt | undefined;
}

/** Returns a key for the attempt that the usage belongs to: an attempt of this session or of a sub-agent. */
export function usageKey({ turn, attempt, of }: AttemptUsage): string {
  return of === undefined ? `${turn}.${attempt}` : `${of.turn}.${of.attempt} ${of.session}`;
}

/** Returns the state of a session before its first record. */
export function emptyState(session: SessionId): FoldState {
  return {
    session,
    through: 0,
    items: emptySequence(),
    open: [],
    gone: [],
    superseded: [],
    usage: emptySequence(),
    run: undefined,
    asked: [],
    awaited: [],
    notUnderstood: [],
  };
}

/**
 * Returns the index of the part, or -1. The search starts at both ends, because most records refer to the newest
 * part, and many parts that stream at the same time often end in the order in which they began.
 */
export function indexOfPart(parts: readonly { readonly id: PartId }[], id: PartId): number {
  for (let first = 0, last = parts.length - 1; first <= last; first++, last--) {
    if (parts[last]?.id === id) return last;
    if (parts[first]?.id === id) return first;
  }
  return -1;
}

/** Returns the open part with this id, or undefined if no open part has it. */
export function findOpen(state: FoldState, id: PartId): OpenPart | undefined {
  return state.open[indexOfPart(state.open, id)];
}

/**
 * Returns the item with this id, or undefined. The search starts at the newest item, because most
 * records refer to new items.
 */
export function findItem(state: FoldState, id: ItemId): ItemState | undefined {
  return findLast(state.items, (item) => item.id === id);
}

/** Returns those of the given ids that items have. It reads each item once, however many ids are given. */
export function usedItemIds(
  { items }: Pick<FoldState, 'items'>,
  ids: ReadonlySet<ItemId>,
): ReadonlySet<ItemId> {
  const used = new Set<ItemId>();
  // These are loops without functions, because a long session has many items.
  for (let link: FoldState['items'] | undefined = items; link; link = link.before)
    for (const { id } of link.chunk) if (ids.has(id)) used.add(id);
  return used;
}

/** Returns the item that contains the part, open or committed. */
export function findItemOfPart(state: FoldState, id: PartId): ItemState | undefined {
  const { turn } = attemptOf(id);
  // These are loops without functions, because an edit of an old message reads all newer items.
  for (let link: FoldState['items'] | undefined = state.items; link; link = link.before) {
    for (let at = link.chunk.length - 1; at >= 0; at--) {
      const item = link.chunk[at];
      if (item?.turn !== turn) continue;
      if (indexOfPart(item.parts, id) >= 0) return item;
    }
  }
  return undefined;
}

/**
 * Returns the part of an item with this id, or undefined. The search starts at the newest part, because most
 * records refer to new parts.
 */
export function findSlot(item: ItemState | undefined, id: PartId): PartSlot | undefined {
  return item?.parts.findLast((slot) => slot.id === id);
}
