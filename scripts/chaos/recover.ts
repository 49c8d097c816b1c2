import {
  attemptOf,
  type DraftRecord,
  type FoldState,
  type OpenPart,
  toArray,
} from '@millrace/core';

/** Ends what a process that died left open, as the next driver does: texts stay as partial. */
export function recover(state: FoldState, tag: string): readonly DraftRecord[] {
  const parts = state.open.map((part) => closed(part, tag));
  const items = toArray(state.items).filter(({ finished }) => finished === undefined);
  const stop = { reason: 'aborted', cause: 'interrupted', raw: tag } as const;
  return [
    ...parts,
    ...items.map(
      ({ id, turn, attempt }): DraftRecord => ({
        turn,
        attempt,
        fact: { type: 'item_finished', itemId: id, stop },
      }),
    ),
  ];
}

function closed({ id, begin, text }: OpenPart, tag: string): DraftRecord {
  const tried = attemptOf(id);
  if (begin.kind !== 'text')
    return { ...tried, delta: { type: 'retract_part', partId: id, reason: `cut, says ${tag}` } };
  // Says who closed it, so that no two drivers that try it write the same.
  const providerState = { provider: 'chaos', model: tag, data: {} };
  const end = { length: text.length, partial: true, providerState } as const;
  return { ...tried, delta: { type: 'commit_part', partId: id, ...end } };
}
