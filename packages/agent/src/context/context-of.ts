import { type Item, itemId } from '@millrace/core';
import type { Compacted } from '../loop/loop-state.ts';

/** What a model is sent of a transcript: without what the summary stands for, and with the summary. */
export function contextOf(
  items: readonly Item[],
  { covered, summary }: Compacted,
): readonly Item[] {
  // Items of the kind `context` are where summaries were written.
  const left = items.filter(
    ({ id, kind, parts }) => parts.length > 0 && kind !== 'context' && !covered.has(id),
  );
  return summary === undefined ? left : [summaryItem(summary), ...left];
}

function summaryItem(text: string): Item {
  return { id: itemId('summary'), kind: 'context', parts: [{ kind: 'text', text }] };
}
