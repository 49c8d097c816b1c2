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
  const at = Math.max(0, Math.floor(time)) || 0;
  const first = through + 1;
  // Written out in one piece each, because there are so many.
  return drafts.map(({ turn, attempt, delta, fact }, index): LogRecord => {
    const offset = first + index;
    return delta === undefined
      ? { v: recordVersion, offset, time: at, turn, attempt, producer, fact }
      : { v: recordVersion, offset, time: at, turn, attempt, producer, delta };
  });
}
