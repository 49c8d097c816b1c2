import type { LogRecord, SessionId } from '@millrace/core';
import { canHash } from '../chain/link.ts';
import { provideChain } from '../chain/load-chain.ts';
import { createChainCode, sealCopy } from '../chain/seal.ts';
import type { RestoreOptions } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import { indexRecords } from '../engine/append-records.ts';
import { assertRestoreOptions } from '../engine/check-rare-options.ts';
import type { LogContext } from '../engine/log-context.ts';
import { UnfinishedRequests } from '../engine/producer.ts';
import { withoutLinks } from '../storage/record-line.ts';
import type { StoreTransaction } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import { newSession } from '../storage/session-row.ts';

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
export function storeCopy(
  tx: StoreTransaction,
  row: SessionRow,
  records: readonly LogRecord[],
): SessionRow {
  const { session, through } = row;
  tx.putSession(row);
  if (through > 0) tx.replace(session, 1, through, records);
  const known = indexRecords(tx, row, records);
  tx.putSession(known);
  const requests = new UnfinishedRequests();
  requests.add(records);
  for (const producer of requests.rows(row)) tx.putProducer(producer);
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
