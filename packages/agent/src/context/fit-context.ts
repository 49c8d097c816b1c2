import type { Item, ItemId } from '@millrace/core';
import { clipItem, fairShare, itemLength, minClippedLength } from './clip-item.ts';

/** The plan of a compaction. It lists the items that the summary replaces, and the items that are clipped. */
export interface ContextPlan {
  /** The items that the summary replaces, in order. */
  readonly covered: readonly ItemId[];
  /** The number of steps that the summary replaces. */
  readonly steps: number;
  /** The items that requests contain in clipped form, with their maximum length in characters. */
  readonly clipped: readonly ClippedItem[];
  /** The maximum length of the summary, in characters. */
  readonly summaryLength: number;
  /** The length of the context after the compaction, in characters. */
  readonly length: number;
}

/** An item that requests contain in clipped form. */
interface ClippedItem {
  readonly itemId: ItemId;
  readonly maxLength: number;
}

/** The limits that a compaction plan must respect. */
export interface ContextAim {
  /** Maximum number of the newest steps that stay in the context, at least 1. The last step always stays. */
  readonly keepSteps: number;
  /** The maximum length of the context, in characters. */
  readonly maxLength: number;
  /** True if the last step may be clipped. This happens if that step alone is longer than `maxLength`. */
  readonly clips: boolean;
  /** The id of the item with the earlier summary. A new summary always replaces it. */
  readonly summaryId: ItemId;
}

/** The summary may use this share of the maximum length. */
const summaryShare = 0.25;

/**
 * Plans a compaction. It keeps as many of the last steps as fit into the maximum length. If the last step
 * alone is too long, its items are clipped. The plan depends only on the arguments.
 */
export function planCompaction(context: readonly Item[], aim: ContextAim): ContextPlan {
  const { keepSteps, maxLength, clips, summaryId } = aim;
  const steps = toSteps(context.filter(({ id }) => id !== summaryId));
  const summaryLength = Math.max(minClippedLength, Math.floor(maxLength * summaryShare));
  const room = maxLength - summaryLength;
  let first = steps.length;
  for (let length = 0; first > 0 && steps.length - first < keepSteps; first--) {
    length += stepLength(steps[first - 1]);
    // The last step always stays, even if it is too long.
    if (length > room && first < steps.length) break;
  }
  const kept = steps.slice(first).flat();
  const clipped = clips ? clipsFor(kept, room) : [];
  const lengths = new Map(clipped.map(({ itemId, maxLength: most }) => [itemId, most]));
  const sent = kept.map((item) => clipItem(item, lengths.get(item.id) ?? Number.POSITIVE_INFINITY));
  const covered = steps.slice(0, first).flat();
  const hasSummary = covered.length > 0 || covered.length + kept.length < context.length;
  return {
    covered: covered.map(({ id }) => id),
    steps: first,
    clipped,
    summaryLength,
    length: stepLength(sent) + (hasSummary ? summaryLength : 0),
  };
}

/** Returns the length of a context, in characters. */
export function contextLength(context: readonly Item[]): number {
  return stepLength(context);
}

function stepLength(items: readonly Item[] = []): number {
  return items.reduce((total, item) => total + itemLength(item), 0);
}

function clipsFor(items: readonly Item[], room: number): readonly ClippedItem[] {
  const lengths = items.map(itemLength);
  const most = Math.max(minClippedLength, fairShare(lengths, room));
  return items.flatMap(({ id }, index) =>
    (lengths[index] ?? 0) > most ? [{ itemId: id, maxLength: most }] : [],
  );
}

/**
 * Groups the items into steps. A step is an input, or an answer with the results of its calls. A
 * compaction never splits a step.
 */
function toSteps(context: readonly Item[]): readonly (readonly Item[])[] {
  const steps: Item[][] = [];
  for (const item of context) {
    const last = steps.at(-1);
    if (item.kind === 'tool' && last !== undefined) last.push(item);
    else steps.push([item]);
  }
  return steps;
}
