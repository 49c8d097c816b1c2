import type { DraftRecord, LogRecord, SessionId } from '@millrace/core';
import type { ForkOptions, RestoreOptions } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import { numberRecords, remember } from '../engine/append-records.ts';
import { requireSession, type Store } from '../engine/log-context.ts';
import { triedRequests } from '../engine/producer.ts';
import { isInside } from '../storage/record-list.ts';
import type { ShelfWriter } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import { newSession } from '../storage/session-row.ts';

/** Copies the records of a session up to an offset into a new session, in one transaction. */
export function fork(store: Store, session: SessionId, options: ForkOptions): Promise<SessionRow> {
  const { into, through: at } = options;
  return store.commits.run((shelf) => {
    const row = requireSession(shelf, session);
    const { through } = row;
    if (shelf.session(into) !== undefined) throw forkTargetExists(into);
    if (!Number.isInteger(at) || at < 0 || at > through) throw outside(session, at, through);
    const all = store.recordsOf(shelf, row);
    if (isInside(all, at)) throw inside(session, at);
    if (at < through && !isKept(all, at)) throw takenOut(session, at);
    const records = all.filter(({ offset }) => offset <= at);
    return copied(store, shelf, into, { session, through: at }, records);
  });
}

function copied(
  store: Store,
  shelf: ShelfWriter,
  into: SessionId,
  origin: { readonly session: SessionId; readonly through: number },
  records: readonly LogRecord[],
): SessionRow {
  const now = store.clock.now();
  const { through } = origin;
  const empty = { ...newSession(into, shelf.nextSession(), now), origin, through };
  const done = numberRecords(empty, consumeQueued(records), 'store', now);
  const copy = { ...empty, through: through + done.length };
  return putCopy(shelf, copy, [...records, ...done]);
}

function forkTargetExists(session: SessionId): LogError {
  return new LogError(
    'session_exists',
    `Cannot fork into session ${session}: there is one. Choose another id`,
    { session },
  );
}

function outside(session: SessionId, offset: number, through: number): LogError {
  const message = `Cannot fork session ${session} at offset ${offset}: it has 0 to ${through}`;
  return new LogError('bad_offset', message, { session, offset, through });
}

function inside(session: SessionId, offset: number): LogError {
  const message = `Cannot fork session ${session} at offset ${offset}: the turn around it was settled. Fork at its end`;
  return new LogError('bad_offset', message, { session, offset });
}

function takenOut(session: SessionId, offset: number): LogError {
  const message = `Cannot fork session ${session} at offset ${offset}: its record was taken out. Fork at one that is there`;
  return new LogError('bad_offset', message, { session, offset });
}

/** Is the record there, or was it taken out? */
function isKept(records: readonly LogRecord[], offset: number): boolean {
  return offset === 0 || records.some((record) => record.offset === offset);
}

/** Commands that waited are the original's: in the copy they count as done. */
function consumeQueued(records: readonly LogRecord[]): readonly DraftRecord[] {
  const queued = new Set<string>();
  for (const { fact } of records) {
    if (fact?.type === 'command_queued') queued.add(fact.key);
    if (fact?.type === 'command_consumed') queued.delete(fact.key);
  }
  return [...queued].map((key) => ({
    turn: 0,
    attempt: 0,
    fact: { type: 'command_consumed', key },
  }));
}

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
    if (shelf.session(session) !== undefined) throw restoreTargetExists(session);
    const row = newSession(session, shelf.nextSession(), now);
    return putCopy(shelf, { ...row, through, createdAt, changedAt, isClosed, origin }, copy);
  });
}

/** A new session with records from elsewhere, and with what the store has to remember of them. */
function putCopy(shelf: ShelfWriter, row: SessionRow, records: readonly LogRecord[]): SessionRow {
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

function restoreTargetExists(session: SessionId): LogError {
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
