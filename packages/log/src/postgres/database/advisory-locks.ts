import { hash } from 'node:crypto';

/** How long a stalled process can block a session inside a transaction. */
export const idleInTransactionMs = 5_000;
/**
 * Longer than `idleInTransactionMs`, so that a process that waits for a stalled one gets the lock.
 */
export const lockTimeoutMs = 10_000;

/**
 * Begins a transaction with its timeouts. They are local to the transaction, because a connection
 * pooler may give each transaction another connection. Other connections have them from their start.
 */
export const beginTransaction: string = `BEGIN; SET LOCAL lock_timeout = ${lockTimeoutMs}; SET LOCAL idle_in_transaction_session_timeout = ${idleInTransactionMs}`;

/** Returns the number that identifies something in Postgres' advisory locks. */
export function lockKey(schema: string, what: 'schema' | 'session' | 'blob', id: string): bigint {
  const digest = hash('sha256', JSON.stringify([schema, what, id]), 'buffer');
  return digest.readBigInt64BE(0);
}

/** Sorts the keys. All processes lock in this order, which prevents deadlocks. */
export function sortedKeys(keys: readonly bigint[]): readonly bigint[] {
  return [...new Set(keys)].sort((a, b) => (a < b ? -1 : Number(a > b)));
}

/** Up to this many blobs are locked individually. Above it, one lock covers all blobs. */
const maxSingleLocks = 256;

interface LockQuery {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/**
 * Returns the queries that lock these blobs until the transaction ends. They always run after the
 * session locks, which prevents deadlocks.
 */
export function blobLocks(schema: string, hashes: readonly string[]): readonly LockQuery[] {
  if (hashes.length === 0) return [];
  const all = lockKey(schema, 'blob', '');
  if (hashes.length > maxSingleLocks)
    return [{ sql: `SELECT pg_advisory_xact_lock(${all})`, values: [] }];
  const keys = sortedKeys(hashes.map((hash) => lockKey(schema, 'blob', hash))).map(String);
  return [
    { sql: `SELECT pg_advisory_xact_lock_shared(${all})`, values: [] },
    { sql: 'SELECT pg_advisory_xact_lock(key) FROM unnest($1::bigint[]) key', values: [keys] },
  ];
}
