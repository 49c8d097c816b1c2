import { encodeRecord, type LogRecord, type Snapshot } from '@millrace/core';

/**
 * Returns the index of the first record after an offset, by binary search. The records must be sorted by
 * offset. The offsets can have gaps, because settling removes records.
 */
export function indexAfter(records: readonly LogRecord[], offset: number): number {
  let [low, high] = [0, records.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((records[middle]?.offset ?? 0) <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the offset ranges that snapshots replace. A batch must not end inside such a range. */
export function settledRanges(records: readonly LogRecord[]): readonly Snapshot['covers'][] {
  return records.flatMap(({ fact }) => (fact?.type === 'snapshot' ? [fact.covers] : []));
}

/**
 * Returns whether the offset is inside a range that a snapshot replaces. The content at this offset is then
 * unknown.
 */
export function isInsideSettled(records: readonly LogRecord[], offset: number): boolean {
  return records.some(({ fact }) => {
    if (fact?.type !== 'snapshot') return false;
    const [first, last] = fact.covers;
    return offset >= first && offset < last;
  });
}

/** The approximate size of an append record without its chunk, in bytes. */
const appendOverheadBytes = 150;

/**
 * Returns the approximate encoded size of a record in bytes. Text appends are estimated, because encoding
 * them would be slow.
 */
export function approximateBytes(record: LogRecord): number {
  const { delta } = record;
  const isAppend = delta?.type === 'append_text' || delta?.type === 'append_bytes';
  return isAppend ? appendOverheadBytes + delta.chunk.length : encodeRecord(record).length;
}
