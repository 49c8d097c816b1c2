import type { Clock } from '../../transport/clock.ts';
import { macrotask } from '../macrotask.ts';

/** `instant`: as fast as it is read, one macrotask a chunk; 2: in half of the time that it took. */
export type ReplaySpeed = number | 'instant';

/** Calls back when a moment of the recording has come; what it gives takes that back. */
export type Pace = (ms: number, run: () => void) => () => void;

/** The longest that a timer can wait. */
const maxDelayMs = 2 ** 31 - 1;

/** A pace that starts now. Moments are told from its start, so that delays do not add up. */
export function startPace(speed: ReplaySpeed, clock: Clock): Pace {
  if (speed === 'instant') return (_, run) => macrotask(run);
  const startedAt = clock.now();
  return (ms, run) => {
    const leftMs = startedAt + ms / speed - clock.now();
    if (leftMs > 0) return clock.after(Math.min(leftMs, maxDelayMs), run);
    run();
    return () => {};
  };
}
