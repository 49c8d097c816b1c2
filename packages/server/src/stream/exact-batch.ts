import {
  type Batch,
  type DeltaRecord,
  type LogRecord,
  merge,
  type SessionId,
} from '@millrace/core';
import type { Log } from '@millrace/log';

/**
 * Returns whether clients can resume at every offset of the batch. The log may merge appends to one part
 * although appends to a different part lie between them. Clients cannot resume at the offset of such a merged
 * record. If the function cannot decide, it returns false.
 */
export function isExact({ after, records }: Batch): boolean {
  let start = after;
  let length = 0;
  for (const record of records) {
    if (isAppend(record)) {
      length++;
      if (length > 1 && record.offset - start > length) return false;
    } else {
      start = record.offset;
      length = 0;
    }
  }
  return true;
}

/** Reads the records of a batch again, without merging. */
export async function readExact(log: Log, session: SessionId, batch: Batch): Promise<Batch> {
  const { after, through } = batch;
  const records: LogRecord[] = [];
  for (let cursor = after; cursor < through; ) {
    const page = await log.read(session, { from: cursor });
    for (const record of page.records) if (record.offset <= through) records.push(record);
    if (page.through <= cursor) break;
    cursor = page.through;
  }
  return { after, through, records };
}

/** Merges consecutive appends to the same part. Clients can resume at every remaining offset. */
export function mergeAdjacent(records: readonly LogRecord[]): readonly LogRecord[] {
  const merged: LogRecord[] = [];
  for (let index = 0; index < records.length; ) {
    const end = endOfAppends(records, index);
    if (end - index < 2) merged.push(...records.slice(index, end));
    else merged.push(...merge(records.slice(index, end)));
    index = end;
  }
  return merged;
}

function endOfAppends(records: readonly LogRecord[], start: number): number {
  const first = records[start];
  let end = start + 1;
  if (first === undefined || !isAppend(first)) return end;
  for (let next = records[end]; next !== undefined; next = records[++end]) {
    if (!isAppend(next) || next.delta.partId !== first.delta.partId) break;
  }
  return end;
}

type Append = DeltaRecord & {
  readonly delta: Extract<DeltaRecord['delta'], { type: 'append_text' | 'append_bytes' }>;
};

export function isAppend(record: LogRecord): record is Append {
  return record.delta?.type === 'append_text' || record.delta?.type === 'append_bytes';
}
