import {
  type DraftRecord,
  type JsonObject,
  type LogRecord,
  recordVersion,
  type SessionId,
} from '@millrace/core';
import { chainCode } from '../chain/load-chain.ts';
import type { SubmitResult } from '../contract/log.ts';
import { closedError } from '../contract/log-error.ts';
import type { StoreTransaction } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import { newSession, withOpenWork } from '../storage/session-row.ts';
import type { LogContext } from './log-context.ts';
import { readableDrafts } from './readable-draft.ts';

/** The session row after an append, and the appended records. */
export interface AddedRecords {
  readonly row: SessionRow;
  readonly records: readonly LogRecord[];
}

/**
 * Numbers and stores drafts that `readableDrafts` has checked. Returns the new session row and the records.
 */
export function addRecords(
  tx: StoreTransaction,
  row: SessionRow,
  drafts: readonly DraftRecord[],
  producer: string,
  now: number,
): AddedRecords {
  const numbered = numberRecords(row, drafts, producer, now);
  const { records, chain } =
    row.chain === undefined ? { records: numbered } : chainCode().sealBatch(row.chain, numbered);
  // An append without drafts does not change the session. Drivers use it to receive new records.
  const changedAt = records.length > 0 ? now : row.changedAt;
  const through = row.through + records.length;
  const grown = { ...row, through, changedAt, ...(chain && { chain }) };
  tx.putSession(grown);
  tx.insert(row.session, records);
  const next = indexRecords(tx, grown, records);
  if (next !== grown) tx.putSession(next);
  return { row: next, records };
}

/**
 * Updates the data that the store keeps in addition to the records: open work, and commands by key. Returns
 * the new session row.
 */
export function indexRecords(
  tx: StoreTransaction,
  row: SessionRow,
  records: readonly LogRecord[],
): SessionRow {
  // Most appends contain only deltas. Deltas do not change this data.
  if (records.every(({ fact }) => fact === undefined)) return row;
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

/** Turns checked drafts into the session's next records, with offsets and a time. */
export function numberRecords(
  { through }: Pick<SessionRow, 'through'>,
  drafts: readonly DraftRecord[],
  producer: string,
  time: number,
): readonly LogRecord[] {
  // The time is for display, not for ordering. It must be a valid whole number, even if the clock returns an
  // invalid value.
  const at = Math.max(0, Math.floor(time)) || 0;
  const first = through + 1;
  // Object literals are faster here than a spread, and this code runs once per record.
  return drafts.map(({ turn, attempt, delta, fact }, index): LogRecord => {
    const offset = first + index;
    return delta === undefined
      ? { v: recordVersion, offset, time: at, turn, attempt, producer, fact }
      : { v: recordVersion, offset, time: at, turn, attempt, producer, delta };
  });
}

/**
 * Stores a command in a session. If the session already has a command with this key, the function stores
 * nothing and returns the offset of that command.
 */
export async function submit(
  context: LogContext,
  session: SessionId,
  command: JsonObject,
  key: string,
): Promise<SubmitResult> {
  const { clock, commits, feeds } = context;
  const fact = { type: 'command_queued', key, command } as const;
  const drafts = readableDrafts([{ turn: 0, attempt: 0, fact }], session);
  const { offset, added } = await commits.run(
    (tx) => {
      const known = tx.command(session, key);
      if (known !== undefined) return { offset: known.offset, added: undefined };
      const now = clock.now();
      // This call never starts a chain for an existing session, because a driver may be writing to the session.
      // Only `open` does that.
      const row =
        tx.session(session) ?? context.chained(newSession(session, tx.nextSession(), now));
      if (row.isClosed) throw closedError(row);
      const stored = addRecords(tx, row, drafts, 'command', now);
      return { offset: stored.row.through, added: stored };
    },
    {
      session,
      onCommitted: ({ added: stored }) => stored && feeds.push(stored.row, stored.records),
    },
  );
  return { offset, isRepeat: added === undefined };
}
