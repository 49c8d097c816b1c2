import { lockKey, sortedKeys } from './lock-key.ts';

/** So many blobs are locked one by one; more of them all together. */
const locksAtMost = 256;

interface Question {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** What locks these blobs until the transaction ends. Taken after sessions, always, so that nobody waits in a ring. */
export function blobLocks(schema: string, hashes: readonly string[]): readonly Question[] {
  if (hashes.length === 0) return [];
  const all = lockKey(schema, 'blob', '');
  if (hashes.length > locksAtMost)
    return [{ sql: `SELECT pg_advisory_xact_lock(${all})`, values: [] }];
  const keys = sortedKeys(hashes.map((hash) => lockKey(schema, 'blob', hash))).map(String);
  return [
    { sql: `SELECT pg_advisory_xact_lock_shared(${all})`, values: [] },
    { sql: 'SELECT pg_advisory_xact_lock(key) FROM unnest($1::bigint[]) key', values: [keys] },
  ];
}
