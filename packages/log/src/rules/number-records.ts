import { type DraftRecord, type LogRecord, recordVersion } from '@millrace/core';
import type { SessionRow } from '../shelf/rows.ts';
import { withWork } from './open-work.ts';
import { readableDraft } from './readable-draft.ts';

/** The drafts as the next records of a session, and the session after them. */
export function numberRecords(
  row: SessionRow,
  drafts: readonly DraftRecord[],
  producer: string,
  time: number,
): { readonly row: SessionRow; readonly records: readonly LogRecord[] } {
  // To show, not to order by, and whole in every record: whatever the clock says.
  const head = { v: recordVersion, time: Math.max(0, Math.floor(time)) || 0, producer } as const;
  const records = drafts.map((draft, index): LogRecord => {
    const { turn, attempt, delta, fact } = readableDraft(draft, row.session);
    const place = { ...head, turn, attempt, offset: row.through + 1 + index };
    return delta === undefined ? { ...place, fact } : { ...place, delta };
  });
  const through = row.through + records.length;
  return { row: { ...withWork(row, records), through, changedAt: time }, records };
}
