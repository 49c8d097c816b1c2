import { attemptOf, type DraftRecord, type FoldState, toArray } from '@millrace/core';

/**
 * Returns records that close the parts and items that a killed process left open. Their text is
 * kept and marked as partial.
 */
export function closeOpenParts({ open, items }: FoldState): readonly DraftRecord[] {
  const parts = open.map(({ id, text }): DraftRecord => {
    const end = { length: text.length, partial: true } as const;
    return { ...attemptOf(id), delta: { type: 'commit_part', partId: id, ...end } };
  });
  const stop = { reason: 'aborted', cause: 'interrupted' } as const;
  const unfinished = toArray(items).filter(({ finished }) => finished === undefined);
  const ends = unfinished.map(
    ({ id, turn, attempt }): DraftRecord => ({
      turn,
      attempt,
      fact: { type: 'item_finished', itemId: id, stop },
    }),
  );
  return [...parts, ...ends];
}
