import type { Batch, LogRecord } from '@millrace/core';

/**
 * Returns a record as clients receive it. The instructions of a branch are part of the system prompt. Every
 * reader of the branch can get its records, so the record that a client receives has no instructions. The field
 * `changed` still names them. `GET /tasks/{task_id}/request` shows them to tokens with full access.
 */
export function shownRecord(record: LogRecord): LogRecord {
  const { fact } = record;
  if (fact?.type !== 'branched' || fact.instructions === undefined) return record;
  const { instructions: _, ...shown } = fact;
  return { ...record, fact: shown } as LogRecord;
}

/** Returns a batch as clients receive it. */
export function shownBatch(batch: Batch): Batch {
  const isShown = batch.records.every((record) => shownRecord(record) === record);
  return isShown ? batch : { ...batch, records: batch.records.map(shownRecord) };
}
