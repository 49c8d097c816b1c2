import { type Item, type ItemId, itemId } from '@millrace/core';
import type { Compacted } from '../loop/loop-state.ts';

/** What a model is sent of a transcript: without what the summary stands for, and with the summary. */
export function contextOf(
  items: readonly Item[],
  { covered, summary }: Compacted,
): readonly Item[] {
  const left = items.filter(({ id, parts }) => parts.length > 0 && !covered.has(id));
  return summary === undefined ? left : [summaryItem(summary), ...left];
}

export const summaryId: ItemId = itemId('summary');

function summaryItem(text: string): Item {
  return { id: summaryId, kind: 'context', parts: [{ kind: 'text', text }] };
}
