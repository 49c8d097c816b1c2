import type { SettledItem } from '../protocol/fact.ts';
import type { DeltaRecord, LogRecord } from '../protocol/record.ts';
import type { FoldState, ItemState } from './fold-state.ts';

/** The content of a finished turn's items: what a snapshot holds instead of its deltas. */
export function settledItems(state: FoldState, turn: number): readonly SettledItem[] {
  const hasContent = (item: ItemState) => item.turn === turn && item.parts.length > 0;
  return [...state.past, ...state.live].filter(hasContent).map(({ id: itemId, parts }) => ({
    itemId,
    parts: parts.flatMap(({ id: partId, part }) => (part === undefined ? [] : { partId, part })),
  }));
}

/**
 * A log in which a finished turn's deltas are one snapshot, at the offset of the last of them. Facts
 * stay, and so do the deltas of others that came in between. `state` is the fold of the log up to
 * that offset or any later one.
 */
export function settleTurn(
  records: readonly LogRecord[],
  turn: number,
  state: FoldState,
): readonly LogRecord[] {
  // What nobody here understands cannot be in the snapshot, and so it stays.
  const isIts = ({ turn: its, delta }: LogRecord) =>
    its === turn && delta !== undefined && delta.type !== 'unknown';
  const first = records.find(isIts);
  const last = records.findLast(isIts);
  if (first === undefined || last?.delta === undefined) return records;
  const snapshot = snapshotAt(last, first.offset, settledItems(state, turn));
  return records.flatMap((record) => {
    if (record === last) return snapshot;
    return isIts(record) ? [] : record;
  });
}

function snapshotAt(last: DeltaRecord, from: number, items: readonly SettledItem[]): LogRecord {
  const { delta: _settled, ...head } = last;
  return { ...head, attempt: 0, fact: { type: 'snapshot', covers: [from, last.offset], items } };
}
