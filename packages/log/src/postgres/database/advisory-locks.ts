import { hash } from 'node:crypto';

/**
 * Maximum idle time of a transaction in milliseconds. A stalled process cannot block a session for longer.
 */
export const idleInTransactionMs = 5_000;
/**
 * Maximum time in milliseconds to wait for a lock. It is longer than `idleInTransactionMs`, so that a process
 * that waits for a stalled process still gets the lock.
 */
export const lockTimeoutMs = 10_000;

/**
 * The statements that begin a transaction and set its timeouts. The timeouts are local to the transaction,
 * because a connection pooler may use a different connection for each transaction. Without a pooler, the
 * connection itself has these timeouts.
 */
export const beginTransaction: string = `BEGIN; SET LOCAL lock_timeout = ${lockTimeoutMs}; SET LOCAL idle_in_transaction_session_timeout = ${idleInTransactionMs}`;

/** Returns the key of an advisory lock for a schema, a session or a blob. */
export function lockKey(schema: string, what: 'schema' | 'session' | 'blob', id: string): bigint {
  const digest = hash('sha256', JSON.stringify([schema, what, id]), 'buffer');
  return digest.readBigInt64BE(0);
}

/** Sorts the keys and removes duplicates. All processes lock in this order, which prevents deadlocks. */
export function sortedKeys(keys: readonly bigint[]): readonly bigint[] {
  return [...new Set(keys)].sort((a, b) => (a < b ? -1 : Number(a > b)));
}

/** Up to this number of blobs, each blob has its own lock. For more blobs, one lock covers all blobs. */
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
