import type { ItemId, PartId, RunId, SessionId } from '../ids.ts';
import type { JsonValue } from '../json/json-value.ts';
import type { BeginPart } from '../protocol/delta.ts';
import type { Author, ItemKind } from '../protocol/item.ts';
import type { Metadata } from '../protocol/metadata.ts';
import type { Part } from '../protocol/part.ts';
import type { Stop } from '../protocol/stop.ts';
import type { Usage } from '../protocol/usage.ts';
import type { ByteRope } from './byte-rope.ts';

/**
 * What a log says so far. Immutable: folding makes a new state that shares all that did not change,
 * so that holding an old one costs nothing and shows what was true then.
 */
export interface FoldState {
  readonly session: SessionId;
  /** The offset up to which the log is in here; 0 before its first record. */
  readonly through: number;
  /** Items that are done, and stand before all that are not. Apart, so that streaming never copies them. */
  readonly past: readonly ItemState[];
  /** The items after them; some may be done while an earlier one is still open. */
  readonly live: readonly ItemState[];
  /** The parts that are streaming now, in the order of their begin. */
  readonly open: readonly OpenPart[];
  /** Ids that were retracted; they are never used again. */
  readonly gone: ReadonlySet<ItemId | PartId>;
  /** The attempts that were superseded; nothing of theirs comes back. */
  readonly superseded: readonly Attempt[];
  /** The last word on what each attempt used, superseded ones included. */
  readonly usage: readonly AttemptUsage[];
  /** The run that goes on. */
  readonly run: RunId | undefined;
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
  readonly parts: readonly PartSlot[];
  readonly finished: boolean;
  readonly stop: Stop | undefined;
  readonly redacted: boolean;
}

/** A part's place in its item. While it streams, its content is in `FoldState.open`. */
export interface PartSlot {
  readonly id: PartId;
  readonly part: Part | undefined;
}

/** A part that is streaming. It grows in one of three ways, as its kind has it. */
export interface OpenPart {
  readonly id: PartId;
  readonly begin: BeginPart;
  readonly itemKind: ItemKind;
  readonly text: string;
  readonly bytes: ByteRope | undefined;
  readonly value: JsonValue | undefined;
  readonly metadata: Metadata | undefined;
}

/** One try at a turn's request. */
export interface Attempt {
  readonly turn: number;
  readonly attempt: number;
}

export interface AttemptUsage extends Attempt {
  readonly usage: Usage;
}

export function emptyState(session: SessionId): FoldState {
  return {
    session,
    through: 0,
    past: [],
    live: [],
    open: [],
    gone: new Set(),
    superseded: [],
    usage: [],
    run: undefined,
    notUnderstood: [],
  };
}
