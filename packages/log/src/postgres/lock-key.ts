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
