import { hash } from 'node:crypto';

/** The number that stands for something in Postgres' advisory locks, which know numbers only. */
export function lockKey(schema: string, what: 'schema' | 'session' | 'blob', id: string): bigint {
  const digest = hash('sha256', JSON.stringify([schema, what, id]), 'buffer');
  return digest.readBigInt64BE(0);
}

/** In the order in which everybody takes them, so that nobody waits for who waits for him. */
export function sortedKeys(keys: readonly bigint[]): readonly bigint[] {
  return [...new Set(keys)].sort((a, b) => (a < b ? -1 : Number(a > b)));
}

/** So many blobs are locked one by one; more of them all together. */
const maxSingleLocks = 256;

interface LockQuery {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** What locks these blobs until the transaction ends. Taken after sessions, always, so that nobody waits in a ring. */
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
