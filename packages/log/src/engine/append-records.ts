import {
  type DraftRecord,
  type JsonObject,
  type LogRecord,
  recordVersion,
  type SessionId,
} from '@millrace/core';
import type { Submitted } from '../contract/log.ts';
import { closedError } from '../contract/log-error.ts';
import type { StoreTransaction } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import { newSession, withOpenWork } from '../storage/session-row.ts';
import type { LogContext } from './log-context.ts';
import { readableDrafts } from './readable-draft.ts';

/** A session after records were added to it, and those records. */
export interface AddedRecords {
  readonly row: SessionRow;
  readonly records: readonly LogRecord[];
}

/** Readable drafts become a session's next records. */
export function addRecords(
  tx: StoreTransaction,
  row: SessionRow,
  drafts: readonly DraftRecord[],
  producer: string,
  now: number,
): AddedRecords {
  const records = numberRecords(row, drafts, producer, now);
  // Who only asks what is new changes nothing.
  const changedAt = records.length > 0 ? now : row.changedAt;
  const grown = { ...row, through: row.through + records.length, changedAt };
  tx.putSession(grown);
  tx.insert(row.session, records);
  const next = indexRecords(tx, grown, records);
  if (next !== grown) tx.putSession(next);
  return { row: next, records };
}

/** What has to be known of a session's new records without reading them: work, and commands by key. */
export function indexRecords(
  tx: StoreTransaction,
  row: SessionRow,
  records: readonly LogRecord[],
): SessionRow {
  const { session } = row;
  let { queuedCommands } = row;
  for (const { offset, fact } of records) {
    if (fact?.type !== 'command_queued' && fact?.type !== 'command_consumed') continue;
    const known = tx.command(session, fact.key);
    const isQueued = fact.type === 'command_queued';
    if (isQueued && known === undefined) {
      tx.putCommand(session, fact.key, { offset, isConsumed: false });
      queuedCommands++;
    }
    if (!isQueued && known?.isConsumed === false) {
      tx.putCommand(session, fact.key, { ...known, isConsumed: true });
      queuedCommands--;
    }
  }
  const next = withOpenWork(row, records);
  return queuedCommands === row.queuedCommands ? next : { ...next, queuedCommands };
}

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

/** Leaves a command in a session, once for each key. */
export async function submit(
  { clock, commits, feeds }: LogContext,
  session: SessionId,
  command: JsonObject,
  key: string,
): Promise<Submitted> {
  const fact = { type: 'command_queued', key, command } as const;
  const drafts = readableDrafts([{ turn: 0, attempt: 0, fact }], session);
  const { offset, added } = await commits.run(
    (tx) => {
      const known = tx.command(session, key);
      if (known !== undefined) return { offset: known.offset, added: undefined };
      const now = clock.now();
      const row = tx.session(session) ?? newSession(session, tx.nextSession(), now);
      if (row.isClosed) throw closedError(row);
      const stored = addRecords(tx, row, drafts, 'command', now);
      return { offset: stored.row.through, added: stored };
    },
    { onCommitted: ({ added: stored }) => stored && feeds.push(stored.row, stored.records) },
  );
  return { offset, isRepeat: added === undefined };
}
