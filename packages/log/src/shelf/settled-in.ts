import type { LogRecord, Snapshot } from '@millrace/core';

/** The stretches that snapshots stand for. A batch ends before one or at its end, never inside. */
export function settledIn(records: readonly LogRecord[]): readonly Snapshot['covers'][] {
  return records.flatMap(({ fact }) => (fact?.type === 'snapshot' ? [fact.covers] : []));
}
