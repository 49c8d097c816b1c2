import { decodeRecord, encodeRecord } from '../codec/codec.ts';
import { attemptOf } from '../ids.ts';
import type { ContentLimits } from '../limits.ts';
import type { SettledItem } from '../protocol/fact.ts';
import type { DeltaRecord, LogRecord } from '../protocol/record.ts';
import type { FoldState, ItemState } from './fold-state.ts';
import { findLast, toArray } from './sequence.ts';

/**
 * Returns the records with the deltas of a finished turn replaced by one snapshot, at the offset of the last
 * delta. Facts and deltas of other turns stay. `state` is the fold of the log up to that offset or a later
 * offset. The function returns the records unchanged if the turn is not finished, or if a part or item of the
 * turn is open. It also does this if no reader could decode the snapshot.
 */
export function settleTurn(
  records: readonly LogRecord[],
  turn: number,
  state: FoldState,
  limits: Partial<ContentLimits> = {},
): readonly LogRecord[] {
  const settled = records.filter((record) => isSettled(record, turn));
  const [first] = settled;
  const last = settled.at(-1);
  const isNew = last?.delta !== undefined && last.offset <= state.through;
  if (first === undefined || !isNew || !isOver(records, turn, state)) return records;
  const from = first.fact?.type === 'snapshot' ? first.fact.covers[0] : first.offset;
  const snapshot = snapshotAt(last, from, settledItems(state, turn));
  if (!isReadable(snapshot, limits)) return records;
  return records.flatMap((record) => {
    if (record === last) return snapshot;
    return isSettled(record, turn) ? [] : record;
  });
}

/**
 * Returns whether a snapshot of the turn replaces this record: a delta, or an earlier snapshot of
 * the turn. Unknown deltas stay, because a snapshot cannot contain them.
 */
function isSettled({ turn: its, delta, fact }: LogRecord, turn: number): boolean {
  const isDelta = delta !== undefined && delta.type !== 'unknown';
  return its === turn && (isDelta || fact?.type === 'snapshot');
}

/** Returns the content of the items of a turn, which a snapshot stores in place of the deltas. */
export function settledItems(state: FoldState, turn: number): readonly SettledItem[] {
  const hasContent = (item: ItemState) => item.turn === turn && item.parts.length > 0;
  return toArray(state.items)
    .filter(hasContent)
    .map(({ id: itemId, parts }) => ({
      itemId,
      parts: parts.flatMap(({ id: partId, part }) => (part === undefined ? [] : { partId, part })),
    }));
}

/**
 * Returns whether the turn is finished and none of its parts and items is open. Turn 0 contains the records
 * outside of turns, so it never finishes.
 */
function isOver(records: readonly LogRecord[], turn: number, state: FoldState): boolean {
  const isEnd = (record: LogRecord) =>
    record.turn === turn && record.fact?.type === 'turn_finished';
  const isUnfinished = (item: ItemState) => item.turn === turn && item.finished === undefined;
  return (
    turn > 0 &&
    records.some(isEnd) &&
    state.open.every((part) => attemptOf(part.id).turn !== turn) &&
    findLast(state.items, isUnfinished) === undefined
  );
}

/**
 * Returns whether a reader can decode the record. It decodes the record to find out, because readers check
 * more limits than the length of a document.
 */
function isReadable(record: LogRecord, limits: Partial<ContentLimits>): boolean {
  try {
    decodeRecord(encodeRecord(record), limits);
    return true;
  } catch {
    return false;
  }
}

function snapshotAt(last: DeltaRecord, from: number, items: readonly SettledItem[]): LogRecord {
  const { delta: _settled, ...head } = last;
  return { ...head, attempt: 0, fact: { type: 'snapshot', covers: [from, last.offset], items } };
}
