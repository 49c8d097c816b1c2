import { type CommitPoint, commitPoints } from '../../packages/log/src/storage/record-store.ts';
import type { Randomness } from './randomness.ts';

/** How a process is to die: at a named point, or when the time has come, whatever it does then. */
export interface Death {
  readonly point: CommitPoint | undefined;
  readonly passes: number;
  /** Counted from its start, or from when it is ready. */
  readonly afterMs: number;
  readonly isFromStart: boolean;
}

const latestMs = 2000;

export function randomDeath(random: Randomness, isReader: boolean): Death {
  const isAtPoint = !isReader && !random.oneIn(4);
  const isFromStart = !isAtPoint && random.oneIn(6);
  const soonMs = isFromStart ? random.below(200) : random.below(isReader ? 1000 : 400);
  return {
    point: isAtPoint ? random.oneOf(commitPoints) : undefined,
    passes: random.oneOf([1, 2, random.between(3, 30), random.between(30, 150)]),
    // One that does not come by its point dies all the same.
    afterMs: isAtPoint ? latestMs : soonMs,
    isFromStart,
  };
}
