import { type DraftRecord, type LogRecord, recordVersion } from '@millrace/core';
import type { SessionRow } from '../shelf/rows.ts';

/** Drafts that readers can read, as the next records of a session. */
export function numberRecords(
  { through }: Pick<SessionRow, 'through'>,
  drafts: readonly DraftRecord[],
  producer: string,
  time: number,
): readonly LogRecord[] {
  // To show, not to order by, and whole in every record: whatever the clock says.
  const head = { v: recordVersion, time: Math.max(0, Math.floor(time)) || 0, producer } as const;
  return drafts.map(({ turn, attempt, delta, fact }, index): LogRecord => {
    const place = { ...head, turn, attempt, offset: through + 1 + index };
    return delta === undefined ? { ...place, fact } : { ...place, delta };
  });
}
