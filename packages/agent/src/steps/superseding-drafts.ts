import { type Attempt, type DraftRecord, type RunId, toArray } from '@millrace/core';
import type { OpenStep } from './open-step.ts';

/**
 * What is written first where a run that failed is done again: all that it said is taken back. Where
 * somebody spoke after it that stays, because it may have been answered.
 */
export function supersedingDrafts(
  { journal, marks }: OpenStep,
  failed: RunId,
): readonly DraftRecord[] {
  const ended = marks.ended.at(-1);
  if (ended?.id !== failed) return [];
  const items = toArray(journal.state.items);
  const first = toArray(ended.before.items).length;
  if (items.length > toArray(ended.after.items).length) return [];
  const tries = new Map<string, Attempt>();
  for (const { turn, attempt } of items.slice(first))
    if (attempt > 0) tries.set(`${turn}.${attempt}`, { turn, attempt });
  const fact = { type: 'attempt_superseded', reason: 'tried again' } as const;
  const turns = new Set([...tries.values()].map(({ turn }) => turn));
  // The turns are over again: no other try of them comes.
  const over = { type: 'turn_finished', stop: ended.stop } as const;
  return [
    ...[...tries.values()].map((tried) => ({ ...tried, fact })),
    ...[...turns].map((turn) => ({ turn, attempt: 0, fact: over })),
  ];
}
