import type { DraftRecord, LogRecord } from '@millrace/core';
import { numberRecords } from '../rules/number-records.ts';
import { withWork } from '../rules/open-work.ts';
import type { SessionRow } from '../shelf/rows.ts';
import type { ShelfWriter } from '../shelf/shelf.ts';

/** A session after records were added to it, and those records. */
export interface Added {
  readonly row: SessionRow;
  readonly records: readonly LogRecord[];
}

/** Readable drafts become a session's next records. */
export function addRecords(
  shelf: ShelfWriter,
  row: SessionRow,
  drafts: readonly DraftRecord[],
  producer: string,
  now: number,
): Added {
  const records = numberRecords(row, drafts, producer, now);
  // Who only asks what is new changes nothing.
  const changedAt = records.length > 0 ? now : row.changedAt;
  const grown = { ...row, through: row.through + records.length, changedAt };
  shelf.putSession(grown);
  shelf.insert(row.session, records);
  const next = remember(shelf, grown, records);
  if (next !== grown) shelf.putSession(next);
  return { row: next, records };
}

/** What has to be known of a session's new records without reading them: work, and commands by key. */
export function remember(
  shelf: ShelfWriter,
  row: SessionRow,
  records: readonly LogRecord[],
): SessionRow {
  const { session } = row;
  let { queuedCommands } = row;
  for (const { offset, fact } of records) {
    if (fact?.type !== 'command_queued' && fact?.type !== 'command_consumed') continue;
    const known = shelf.command(session, fact.key);
    const isQueued = fact.type === 'command_queued';
    if (isQueued && known === undefined) {
      shelf.putCommand(session, fact.key, { offset, isConsumed: false });
      queuedCommands++;
    }
    if (!isQueued && known?.isConsumed === false) {
      shelf.putCommand(session, fact.key, { ...known, isConsumed: true });
      queuedCommands--;
    }
  }
  const next = withWork(row, records);
  return queuedCommands === row.queuedCommands ? next : { ...next, queuedCommands };
}
