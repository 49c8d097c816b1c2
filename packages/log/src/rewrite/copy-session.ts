import { type DraftRecord, type LogRecord, type SessionId, sessionId } from '@millrace/core';
import { canHash, newChain } from '../chain/link.ts';
import { provideChain } from '../chain/load-chain.ts';
import { createChainCode, sealCopy } from '../chain/seal.ts';
import type { ForkOptions, RestoreOptions } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import { indexRecords, numberRecords } from '../engine/append-records.ts';
import { assertSessionId } from '../engine/check-options.ts';
import { assertForkOptions, assertRestoreOptions } from '../engine/check-rare-options.ts';
import { type LogContext, requireSession } from '../engine/log-context.ts';
import { unfinishedRequests } from '../engine/producer.ts';
import { readableDrafts } from '../engine/readable-draft.ts';
import { withoutLinks } from '../storage/record-line.ts';
import { isInsideSettled } from '../storage/record-list.ts';
import type { StoreTransaction } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import { newSession } from '../storage/session-row.ts';

/** Copies the records of a session up to an offset into a new session, in one transaction. */
export function fork(
  context: LogContext,
  session: SessionId,
  options: ForkOptions,
): Promise<SessionRow> {
  assertForkOptions(options);
  assertSessionId(session);
  const { through: at } = options;
  const into = sessionId(options.into);
  if (context.isChained) provideChain(createChainCode());
  const append = readableDrafts(options.append ?? [], into);
  return context.commits.run((tx) => {
    const row = requireSession(tx, session);
    const { through } = row;
    if (tx.session(into) !== undefined) throw forkTargetExists(into);
    if (!Number.isInteger(at) || at < 0 || at > through) throw outOfRange(session, at, through);
    const all = context.recordsOf(tx, row);
    if (isInsideSettled(all, at)) throw insideSettledTurn(session, at);
    if (at < through && !hasRecordAt(all, at)) throw removedRecord(session, at);
    const records = all.filter(({ offset }) => offset <= at);
    const added = [...laterRedactions(all, at), ...consumeQueuedCommands(records), ...append];
    return createFork(context, tx, into, { session, through: at }, { records, added, row });
  });
}

function createFork(
  context: LogContext,
  tx: StoreTransaction,
  into: SessionId,
  origin: { readonly session: SessionId; readonly through: number },
  copied: {
    readonly records: readonly LogRecord[];
    readonly added: readonly DraftRecord[];
    /** The original session. */
    readonly row: SessionRow;
  },
): SessionRow {
  const { records, added, row } = copied;
  const now = context.clock.now();
  const { through } = origin;
  const empty = { ...newSession(into, tx.nextSession(), now), origin, through };
  const done = numberRecords(empty, added, 'store', now);
  const copy = { ...empty, through: through + done.length };
  const all = [...records, ...done];
  const { chain } = row;
  // The copy of a chained session has a chain of its own. Its links name the end of the original chain.
  const own =
    chain === undefined ? context.chained({ ...copy, through: 0 }) : { chain: newChain(0) };
  if (own.chain === undefined) return storeCopy(tx, copy, all);
  const from = chain === undefined ? '' : ` ${chain.count} ${chain.hash}`;
  const note = `copy ${encodeURIComponent(row.session)} ${through}${from}`;
  const sealed = sealCopy(own.chain, all, note);
  return storeCopy(tx, { ...copy, chain: sealed.chain }, sealed.records);
}

function forkTargetExists(session: SessionId): LogError {
  return new LogError(
    'session_exists',
    `Cannot fork into session ${session}: it already exists. Choose another id`,
    { session },
  );
}

function outOfRange(session: SessionId, offset: number, through: number): LogError {
  const message = `Cannot fork session ${session} at offset ${offset}: its offsets are 0 to ${through}`;
  return new LogError('bad_offset', message, { session, offset, through });
}

function insideSettledTurn(session: SessionId, offset: number): LogError {
  const message = `Cannot fork session ${session} at offset ${offset}: it is inside a settled turn. Fork at the end of the turn`;
  return new LogError('bad_offset', message, { session, offset });
}

function removedRecord(session: SessionId, offset: number): LogError {
  const message = `Cannot fork session ${session} at offset ${offset}: the record was removed. Fork at an existing record`;
  return new LogError('bad_offset', message, { session, offset });
}

/** Returns whether there is a record at the offset. Settling and redaction remove records. */
function hasRecordAt(records: readonly LogRecord[], offset: number): boolean {
  return offset === 0 || records.some((record) => record.offset === offset);
}

/**
 * Returns facts for copied items that were redacted after the fork's offset. The original session no longer
 * contains their content, so the copy must mark these items as redacted too.
 */
function laterRedactions(all: readonly LogRecord[], at: number): readonly DraftRecord[] {
  const copied = new Set<string>();
  const redacted = new Map<string, DraftRecord>();
  for (const { offset, fact } of all) {
    if (fact?.type === 'item_started' && offset <= at) copied.add(fact.itemId);
    if (fact?.type === 'item_redacted' && offset > at && copied.has(fact.itemId))
      redacted.set(fact.itemId, { turn: 0, attempt: 0, fact });
  }
  return [...redacted.values()];
}

/**
 * Returns facts that mark all queued commands as consumed. These commands belong to the original session
 * and must not run in the copy.
 */
function consumeQueuedCommands(records: readonly LogRecord[]): readonly DraftRecord[] {
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

/** Creates a session from records that already have offsets, in one transaction. */
export function restore(
  context: LogContext,
  session: SessionId,
  records: readonly LogRecord[],
  options: RestoreOptions,
): Promise<SessionRow> {
  assertRestoreOptions(options, session);
  const now = context.clock.now();
  const { createdAt = now, changedAt = now, isClosed = false, origin } = options;
  const through = Math.max(options.through ?? 0, lastOffset(session, records));
  assertUniqueKeys(session, records);
  const copy = [...records];
  if (context.isChained) provideChain(createChainCode());
  return context.commits.run((tx) => {
    if (tx.session(session) !== undefined) throw restoreTargetExists(session);
    const row = newSession(session, tx.nextSession(), now);
    const restored = { ...row, through, createdAt, changedAt, isClosed, origin };
    if (options.chain !== undefined && canHash())
      return storeCopy(tx, { ...restored, chain: options.chain }, copy);
    const own = context.chained({ ...restored, through: 0 });
    const sealed = own.chain && sealCopy(own.chain, copy, 'copy');
    if (sealed === undefined) return storeCopy(tx, restored, copy.map(withoutLinks));
    return storeCopy(tx, { ...restored, chain: sealed.chain }, sealed.records);
  });
}

/**
 * Stores a new session with copied records. It also stores the rows for its commands, open work and
 * requests.
 */
function storeCopy(
  tx: StoreTransaction,
  row: SessionRow,
  records: readonly LogRecord[],
): SessionRow {
  const { session, through } = row;
  tx.putSession(row);
  if (through > 0) tx.replace(session, 1, through, records);
  const known = indexRecords(tx, row, records);
  tx.putSession(known);
  for (const producer of unfinishedRequests(row, records)) tx.putProducer(producer);
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

function assertUniqueKeys(session: SessionId, records: readonly LogRecord[]): void {
  const keys = new Set<string>();
  for (const { offset, fact } of records) {
    if (fact?.type !== 'command_queued') continue;
    if (keys.has(fact.key)) throw duplicateKey(session, offset);
    keys.add(fact.key);
  }
}

function restoreTargetExists(session: SessionId): LogError {
  const message = `Cannot restore session ${session}: it already exists. Choose another id, or delete the session`;
  return new LogError('session_exists', message, { session });
}

function notRecords(session: SessionId): LogError {
  const message = `Cannot restore session ${session}: each record must have either a delta or a fact`;
  return new LogError('bad_records', message, { session });
}

function outOfOrder(session: SessionId, offset: number, last: number): LogError {
  const message = `Cannot restore session ${session}: offset ${offset} comes after ${last}. Sort the records by offset`;
  return new LogError('bad_records', message, { session, offset });
}

function duplicateKey(session: SessionId, offset: number): LogError {
  const message = `Cannot restore session ${session}: the command at offset ${offset} has the same key as an earlier command`;
  return new LogError('bad_records', message, { session, offset });
}
