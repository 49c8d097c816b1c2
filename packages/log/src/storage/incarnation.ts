import type { SessionRow } from './rows.ts';

// An incarnation identifies one history of a store. Its number is random, because a store that is
// restored from a backup cannot know which numbers were used after the backup.

/** Every number in this range has eight digits in base 36. */
const [least, limit] = [36 ** 7, 36 ** 8];

/** The incarnation of sessions that were stored before incarnations existed. */
export const firstIncarnation: number = least;

/**
 * How far the counters of epochs and sessions jump with a new incarnation. The numbers that were
 * used after the backup are unknown, and a number must never be used twice.
 */
export const counterJump = 1_000_000_000;

/** Returns a new random incarnation. */
export function randomIncarnation(): number {
  const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
  const fraction = (high + low / 2 ** 32) / 2 ** 32;
  return least + Math.floor(fraction * (limit - least));
}

/**
 * The incarnation of a session: that of its store, and its generation number, which differs for a
 * session that was deleted and created again.
 */
export function incarnationText({
  incarnation,
  made,
}: Pick<SessionRow, 'incarnation' | 'made'>): string {
  return incarnation.toString(36) + made.toString(36);
}
