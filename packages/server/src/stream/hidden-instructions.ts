import type { DifferenceSide, SessionDiff, SessionDifference } from '@millrace/agent';
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

/**
 * Returns a comparison without the instructions of branches. The comparison still names them as the cause.
 * Only tokens with full access can read instructions.
 */
export function withoutInstructions({ differences, ...diff }: SessionDiff): SessionDiff {
  const shown = differences.map(hideInstructions);
  return { ...diff, differences: shown, divergence: shown[0] };
}

/** Returns a difference without the instructions of branches. */
export function hideInstructions(difference: SessionDifference): SessionDifference {
  const { a, b, changes } = difference;
  if (a?.type !== 'branched' && b?.type !== 'branched') return difference;
  return {
    ...difference,
    a: a && hideValue(a, difference.field),
    b: b && hideValue(b, difference.field),
    changes: changes?.filter(({ path }) => path !== '/instructions'),
  };
}

function hideValue(side: DifferenceSide, field: string): DifferenceSide {
  if (side.type !== 'branched') return side;
  const { value, ...rest } = side;
  if (field === 'instructions') return rest;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return side;
  return {
    ...rest,
    value: Object.fromEntries(Object.entries(value).filter(([key]) => key !== 'instructions')),
  };
}
