import { encodeRecord, type LogRecord, type Snapshot } from '@millrace/core';

/** By halving: records are in the order of their offsets, with holes where turns were settled. */
export function indexAfter(records: readonly LogRecord[], offset: number): number {
  let [low, high] = [0, records.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((records[middle]?.offset ?? 0) <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The stretches that snapshots stand for. A batch ends before one or at its end, never inside. */
export function settledRanges(records: readonly LogRecord[]): readonly Snapshot['covers'][] {
  return records.flatMap(({ fact }) => (fact?.type === 'snapshot' ? [fact.covers] : []));
}

/** Does the offset lie within what a snapshot stands for? Then nobody knows what was there. */
export function isInsideSettled(records: readonly LogRecord[], offset: number): boolean {
  return records.some(({ fact }) => {
    if (fact?.type !== 'snapshot') return false;
    const [first, last] = fact.covers;
    return offset >= first && offset < last;
  });
}

/** What an append takes besides its chunk. */
const appendOverheadBytes = 150;

/** About what a record takes as a line. Most are appends, which need not be written out to tell. */
export function approximateBytes(record: LogRecord): number {
  const { delta } = record;
  const isAppend = delta?.type === 'append_text' || delta?.type === 'append_bytes';
  return isAppend ? appendOverheadBytes + delta.chunk.length : encodeRecord(record).length;
}
