import {
  type FoldState,
  findOpen,
  type ItemState,
  livePart,
  type OpenPart,
  type Part,
  type PartId,
  toArray,
  totalUsage,
  type Usage,
} from '@millrace/core';
import type { Labels } from '../../labels/labels.ts';
import { partText, partTitle } from '../part-text.ts';

/** A part that differs between two states of a session. */
export interface PartDifference {
  readonly id: PartId;
  readonly title: string;
  readonly change: Change;
  /** The text at the earlier moment. Undefined if the part did not exist. */
  readonly before: string | undefined;
  /** The text at the later moment. Undefined if the part does not exist any more. */
  readonly after: string | undefined;
}

type Change = 'added' | 'removed' | 'changed';

/** An item that differs between two states, with the parts that differ. */
interface ItemDifference {
  readonly id: string;
  readonly kind: ItemState['kind'];
  readonly turn: number;
  readonly change: Change;
  readonly parts: readonly PartDifference[];
}

/** The differences between two states of a session. */
export interface StateDifference {
  readonly items: readonly ItemDifference[];
  /** The number of items that are the same in both states. */
  readonly same: number;
  readonly usage: { readonly before: Usage; readonly after: Usage };
}

/**
 * Returns the items and parts that differ between two states. Unchanged items are the same objects
 * in both states, so this comparison is fast.
 */
export function compareStates(a: FoldState, b: FoldState, t: Labels): StateDifference {
  const before = new Map(toArray(a.items).map((item) => [item.id, item]));
  const after = toArray(b.items);
  const known = new Set(after.map(({ id }) => id));
  const items: ItemDifference[] = [];
  for (const item of after) {
    const old = before.get(item.id);
    const parts = comparedParts(a, old, b, item, t);
    const isSame = old !== undefined && parts.length === 0 && old.finished === item.finished;
    if (isSame) continue;
    const change = old === undefined ? 'added' : 'changed';
    items.push({ id: item.id, kind: item.kind, turn: item.turn, change, parts });
  }
  for (const [id, item] of before) {
    if (known.has(id)) continue;
    const { kind, turn } = item;
    items.push({
      id,
      kind,
      turn,
      change: 'removed',
      parts: comparedParts(a, item, b, undefined, t),
    });
  }
  const usage = { before: totalUsage(a), after: totalUsage(b) };
  return {
    items,
    same: after.length - items.filter((one) => one.change !== 'removed').length,
    usage,
  };
}

function comparedParts(
  a: FoldState,
  old: ItemState | undefined,
  b: FoldState,
  item: ItemState | undefined,
  t: Labels,
): readonly PartDifference[] {
  if (old === item && !hasOpenPart(b, item)) return [];
  const ids = new Set([...(old?.parts ?? []), ...(item?.parts ?? [])].map(({ id }) => id));
  return [...ids].flatMap((id): readonly PartDifference[] => {
    const before = partOf(a, old, id);
    const after = partOf(b, item, id);
    const [was, is] = [before && partText(before), after && partText(after)];
    const shown = after ?? before;
    if (shown === undefined || (was === is && before !== undefined && after !== undefined))
      return [];
    const change = before === undefined ? 'added' : after === undefined ? 'removed' : 'changed';
    return [{ id, title: partTitle(shown, t), change, before: was, after: is }];
  });
}

function hasOpenPart(state: FoldState, item: ItemState | undefined): boolean {
  return item?.parts.some(({ part }) => part === undefined) === true && state.open.length > 0;
}

function partOf(state: FoldState, item: ItemState | undefined, id: PartId): Part | undefined {
  const slot = item?.parts.find((one) => one.id === id);
  if (slot === undefined) return undefined;
  const open: OpenPart | undefined = slot.part === undefined ? findOpen(state, id) : undefined;
  return slot.part ?? (open && livePart(open));
}

/** A change of a text: the common start, the common end, and the different middle parts. */
export interface TextChange {
  readonly start: string;
  readonly removed: string;
  readonly added: string;
  readonly end: string;
}

/** Returns the smallest range that contains all differences between two texts. */
export function textChange(before: string, after: string): TextChange {
  const max = Math.min(before.length, after.length);
  let start = 0;
  while (start < max && before[start] === after[start]) start++;
  let end = 0;
  while (end < max - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  return {
    start: after.slice(0, start),
    removed: before.slice(start, before.length - end),
    added: after.slice(start, after.length - end),
    end: after.slice(after.length - end),
  };
}
