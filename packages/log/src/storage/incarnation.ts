import type { SessionRow } from './rows.ts';

// An incarnation identifies one history of a store. It is a random number, because a store that was
// restored from a backup cannot find out which numbers were used after the backup.

/** The range of incarnations. Every number in it has eight digits in base 36. */
const [least, limit] = [36 ** 7, 36 ** 8];

/** The incarnation of sessions that were stored before incarnations existed. */
export const firstIncarnation: number = least;

/** The smallest amount that `counterJump` returns. */
export const leastJump = 1_000_000_000;
/** The number of different amounts that `counterJump` returns. */
export const jumpRange: number = 2 ** 40;

/**
 * Returns the amount that a new incarnation adds to the counters of epochs and sessions. The store cannot
 * know which numbers were used after the backup, and a number must never be used twice. The amount is random,
 * because the same backup can be restored twice.
 */
export function counterJump(): number {
  return leastJump + Math.floor(randomFraction() * jumpRange);
}

/** Returns a new random incarnation. */
export function randomIncarnation(): number {
  return least + Math.floor(randomFraction() * (limit - least));
}

/** Returns a random number from 0 to 1, without 1. */
function randomFraction(): number {
  const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
  return (high + low / 2 ** 32) / 2 ** 32;
}

/**
 * Returns the incarnation of a session as text. It combines the store's incarnation with the session's
 * generation number. If a session is deleted and created again, it has a new generation number.
 */
export function incarnationText({
  incarnation,
  made,
}: Pick<SessionRow, 'incarnation' | 'made'>): string {
  return incarnation.toString(36) + made.toString(36);
}
