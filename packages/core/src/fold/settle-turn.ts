import { encodedLength, roomAroundParts } from '../codec/encoded-length.ts';
import { attemptOf } from '../ids.ts';
import { defaultLimits } from '../limits.ts';
import type { SettledItem } from '../protocol/fact.ts';
import type { DeltaRecord, LogRecord } from '../protocol/record.ts';
import type { FoldState, ItemState } from './fold-state.ts';
import { findLast, toArray } from './sequence.ts';

/**
 * A log in which a finished turn's deltas are one snapshot, at the offset of the last of them. Facts
 * stay, and so do the deltas of others that came in between. `state` is the fold of the log up to
 * that offset or any later one. A turn of which something is open, or whose snapshot would be longer
 * than a document may be, is left as it is.
 */
export function settleTurn(
  records: readonly LogRecord[],
  turn: number,
  state: FoldState,
  maxDocumentLength: number = defaultLimits.maxDocumentLength,
): readonly LogRecord[] {
  // Turn 0 is no turn: what is outside of turns never comes to an end.
  if (turn === 0 || !isOver(state, turn)) return records;
  const items = settledItems(state, turn);
  if (lengthOf(items) + roomAroundParts > maxDocumentLength) return records;
  // What nobody here understands cannot be in the snapshot, and so it stays.
  const isIts = ({ turn: its, delta }: LogRecord) =>
    its === turn && delta !== undefined && delta.type !== 'unknown';
  const first = records.find(isIts);
  const last = records.findLast(isIts);
  if (first === undefined || last?.delta === undefined) return records;
  const snapshot = snapshotAt(last, first.offset, items);
  return records.flatMap((record) => {
    if (record === last) return snapshot;
    return isIts(record) ? [] : record;
  });
}

/** The content of a turn's items: what a snapshot holds instead of its deltas. */
export function settledItems(state: FoldState, turn: number): readonly SettledItem[] {
  const hasContent = (item: ItemState) => item.turn === turn && item.parts.length > 0;
  return toArray(state.items)
    .filter(hasContent)
    .map(({ id: itemId, parts }) => ({
      itemId,
      parts: parts.flatMap(({ id: partId, part }) => (part === undefined ? [] : { partId, part })),
    }));
}

function isOver(state: FoldState, turn: number): boolean {
  const isUnfinished = (item: ItemState) => item.turn === turn && item.finished === undefined;
  return (
    state.open.every((part) => attemptOf(part.id).turn !== turn) &&
    findLast(state.items, isUnfinished) === undefined
  );
}

function lengthOf(items: readonly SettledItem[]): number {
  const parts = items.flatMap((item) => item.parts);
  // An id may have a thousand characters, and some of them six in JSON.
  return parts.reduce((sum, { part }) => sum + encodedLength(part) + 2 ** 13, 0);
}

function snapshotAt(last: DeltaRecord, from: number, items: readonly SettledItem[]): LogRecord {
  const { delta: _settled, ...head } = last;
  return { ...head, attempt: 0, fact: { type: 'snapshot', covers: [from, last.offset], items } };
}
