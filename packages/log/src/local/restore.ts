import type { LogRecord, SessionId } from '@millrace/core';
import type { RestoreOptions } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import { newSession } from '../rules/new-session.ts';
import { triedRequests } from '../rules/tried-requests.ts';
import type { SessionRow } from '../shelf/rows.ts';
import type { ShelfWriter } from '../shelf/shelf.ts';
import { remember } from './add-records.ts';
import type { Store } from './store.ts';

/** A session of records that are numbered already. */
export function restore(
  store: Store,
  session: SessionId,
  records: readonly LogRecord[],
  options: RestoreOptions,
): Promise<SessionRow> {
  const now = store.clock.now();
  const { createdAt = now, changedAt = now, isClosed = false, origin } = options;
  const through = Math.max(options.through ?? 0, lastOffset(session, records));
  assertKeys(session, records);
  const copy = [...records];
  return store.commits.run((shelf) => {
    if (shelf.session(session) !== undefined) throw exists(session);
    const row = newSession(session, shelf.nextSession(), now);
    return putCopy(shelf, { ...row, through, createdAt, changedAt, isClosed, origin }, copy);
  });
}

/** A new session with records from elsewhere, and with what the store has to remember of them. */
export function putCopy(
  shelf: ShelfWriter,
  row: SessionRow,
  records: readonly LogRecord[],
): SessionRow {
  const { session, through } = row;
  shelf.putSession(row);
  if (through > 0) shelf.replace(session, 1, through, records);
  const known = remember(shelf, row, records);
  shelf.putSession(known);
  for (const producer of triedRequests(row, records)) shelf.putProducer(producer);
  return known;
}

function lastOffset(session: SessionId, records: readonly LogRecord[]): number {
  let last = 0;
  if (!Array.isArray(records)) throw notRecords(session);
  for (const record of records as readonly LogRecord[]) {
    const { offset, delta, fact } = record ?? {};
    if ((delta === undefined) === (fact === undefined)) throw notRecords(session);
    if (!Number.isSafeInteger(offset) || offset <= last) throw outOfOrder(session, offset, last);
    last = offset;
  }
  return last;
}

function assertKeys(session: SessionId, records: readonly LogRecord[]): void {
  const keys = new Set<string>();
  for (const { offset, fact } of records) {
    if (fact?.type !== 'command_queued') continue;
    if (keys.has(fact.key)) throw twice(session, offset);
    keys.add(fact.key);
  }
}

function exists(session: SessionId): LogError {
  const message = `Cannot restore session ${session}: there is one. Choose another id, or delete it`;
  return new LogError('session_exists', message, { session });
}

function notRecords(session: SessionId): LogError {
  const message = `Cannot restore session ${session}: a record has a delta or a fact`;
  return new LogError('bad_records', message, { session });
}

function outOfOrder(session: SessionId, offset: number, last: number): LogError {
  const message = `Cannot restore session ${session}: offset ${offset} comes after ${last}. Put records in the order of their offsets`;
  return new LogError('bad_records', message, { session, offset });
}

function twice(session: SessionId, offset: number): LogError {
  const message = `Cannot restore session ${session}: the command at offset ${offset} has the key of an earlier one`;
  return new LogError('bad_records', message, { session, offset });
}
